# SPDX-License-Identifier: Apache-2.0
"""Several memory pools: which one is current, where memory goes back to, and what each of them is told apart by."""

from __future__ import annotations

import gc
import threading

import child
import embedded
import numpy as np
import pytest

import ascend_cy

MIB = 1 << 20
SOON = 30 * child.PATIENCE


def raw(nbytes, **kwargs):
    return ascend_cy.empty(nbytes, "uint8", **kwargs)


def in_use(pool=None):
    return (pool or ascend_cy.default_pool()).stats()["in_use"]


@pytest.fixture(autouse=True)
def default_is_current():
    yield
    assert ascend_cy.current_pool() == ascend_cy.default_pool()


# ---- which one is current ----


def test_a_block_allocates_from_its_pool_only():
    pool = ascend_cy.MemoryPool(name="mine")
    before = in_use()
    with pool as entered:
        assert entered is pool
        assert ascend_cy.current_pool() == pool
        inside = raw(MIB)
    outside = raw(MIB)
    assert inside.pool == pool and outside.pool == ascend_cy.default_pool() != pool
    assert in_use(pool) == MIB and in_use() == before + MIB
    assert ascend_cy.memory_stats()["in_use"] == before + MIB, "memory_stats is about the default pool"
    assert inside[10:].pool == pool


def test_blocks_nest_and_exceptions_leave_them():
    first, second = ascend_cy.MemoryPool(), ascend_cy.MemoryPool()
    with first:
        with pytest.raises(ZeroDivisionError), second:
            assert ascend_cy.current_pool() == second
            with first, first:
                assert ascend_cy.current_pool() == first
            assert ascend_cy.current_pool() == second
            1 / 0  # noqa: B018
        assert ascend_cy.current_pool() == first
        with ascend_cy.default_pool():
            assert raw(10).pool == ascend_cy.default_pool()
        assert raw(10).pool == first


def test_use_lasts_until_another_or_the_end_of_the_block():
    first, second = ascend_cy.MemoryPool(), ascend_cy.MemoryPool()
    assert first.use() is first
    assert raw(1).pool == first
    second.use()
    assert raw(1).pool == second
    ascend_cy.default_pool().use()
    assert raw(1).pool == ascend_cy.default_pool()
    with first:
        second.use()
        assert raw(1).pool == second
    assert ascend_cy.current_pool() == ascend_cy.default_pool()


def test_every_thread_has_its_own_current_pool():
    pools = [ascend_cy.MemoryPool(name=str(i)) for i in range(4)]
    together = threading.Barrier(4)
    seen = [None] * 4

    def work(number):
        assert ascend_cy.current_pool() == ascend_cy.default_pool()
        with pools[number]:
            together.wait(SOON)
            held = [raw(1000 + number) for _ in range(50)]
            seen[number] = {array.pool == pools[number] for array in held}
            together.wait(SOON)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    with pools[0]:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
        assert seen == [{True}] * 4
    assert [in_use(pool) for pool in pools] == [0] * 4


def test_a_thread_that_ends_with_a_pool_in_use_gives_it_up():
    def work():
        ascend_cy.MemoryPool(name="of a thread").use()
        kept.append(raw(MIB))

    kept: list = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(SOON)
    assert kept[0].pool.name == "of a thread"
    kept[0].fill(5)
    assert (kept[0].to_numpy() == 5).all()
    kept.clear()


def test_leaving_a_block_that_this_thread_has_not_entered():
    pool = ascend_cy.MemoryPool()
    with pytest.raises(RuntimeError, match="has not entered"):
        pool.__exit__(None, None, None)


TWO_DEVICES = """
import ascend_cy
pool = ascend_cy.MemoryPool(device=1, name="second")
assert pool.device == 1 and ascend_cy.current_pool(1) != pool
other = ascend_cy.MemoryPool(device=0)
with pool, other:
    assert ascend_cy.current_pool(1) == pool and ascend_cy.current_pool(0) == other == ascend_cy.current_pool()
    here = ascend_cy.empty(100)
    with ascend_cy.Device(1):
        there = ascend_cy.empty(100)
        assert ascend_cy.current_pool() == pool
assert here.pool == other and there.pool == pool
assert here.device == 0 and there.device == 1
print("done")
"""


def test_each_device_has_a_current_pool(tmp_path):
    embedded.require()
    assert child.check(TWO_DEVICES, tmp_path, env={"ASCENDCL_CPU_DEVICES": "2"}) == "done\n"


# ---- where memory goes back to ----


def test_arrays_outlive_the_object_of_their_pool():
    pool = ascend_cy.MemoryPool(name="dropped")
    with pool:
        held = [ascend_cy.full(1000, i, "int32") for i in range(20)]
    del pool
    gc.collect()
    assert held[3].pool.name == "dropped"
    for i, array in enumerate(held):
        assert (array.to_numpy() == i).all()
    again = held[0].pool
    del held[1:], array
    assert again.stats()["buffers"] == 1
    held.clear()
    assert again.stats()["buffers"] == 0
    assert again.stats()["cached"] > 0, "a pool that is found again through an array is as good as before"
    with again:
        assert raw(10).pool == again


def device_free():
    return ascend_cy.Device().memory()[0]


def settle():
    """What is free is given back by whatever looks for memory, once the work before it has passed."""
    ascend_cy.synchronize()
    ascend_cy.live_objects()


def test_a_dropped_pool_gives_its_memory_back_once_it_is_free():
    ascend_cy.synchronize()
    before = device_free()
    pool = ascend_cy.MemoryPool()
    with pool:
        first, second = raw(8 * MIB), raw(8 * MIB)
    del first
    assert before - device_free() >= 16 * MIB
    del pool
    gc.collect()
    settle()
    assert 8 * MIB <= before - device_free() < 16 * MIB, "what is cached goes with the last object"
    second.fill(1)
    assert (second.to_numpy() == 1).all()
    del second
    settle()
    assert device_free() == before


def test_a_dropped_pool_whose_streams_are_busy_gives_back_later(stream):
    before = device_free()
    gate = threading.Event()
    with ascend_cy.MemoryPool():
        held = raw(8 * MIB, stream=stream)
    stream.add_callback(gate.wait, SOON)
    held.fill(3)
    del held
    gc.collect()
    assert before - device_free() >= 8 * MIB
    gate.set()
    stream.synchronize()
    settle()
    assert device_free() == before


def test_memory_freed_by_another_thread_goes_back_to_its_pool():
    pool = ascend_cy.MemoryPool()
    with pool:
        held = [raw(10_000) for _ in range(64)]
    assert pool.stats()["buffers"] == 64

    def drop(which):
        with ascend_cy.MemoryPool():
            for i in which:
                held[i] = None

    threads = [threading.Thread(target=drop, args=(range(start, 64, 4),)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    stats = pool.stats()
    assert stats["buffers"] == stats["in_use"] == 0
    with pool:
        again = [raw(10_000) for _ in range(64)]
        assert pool.stats()["device_allocations"] == stats["device_allocations"]
    del again


def test_pools_share_nothing_and_streams_serve_all_of_them(stream):
    pools = [ascend_cy.MemoryPool() for _ in range(3)]
    addresses = []
    with stream:
        for pool in pools:
            with pool:
                x = raw(4 * MIB)
                addresses.append(x.ptr)
                del x
        assert len(set(addresses)) == 3
        for pool, address in zip(pools, addresses, strict=True):
            with pool:
                assert raw(4 * MIB).ptr == address
    pools[0].trim()
    assert [pool.stats()["reserved"] for pool in pools] == [0, 4 * MIB, 4 * MIB]


def test_pools_come_and_go_on_streams_that_come_and_go():
    """Places of streams in pools and of pools in streams are cleared away whichever goes first."""
    rng = np.random.default_rng(4)
    pools, streams, held = [], [], []
    for _ in range(600):
        choice = rng.integers(6)
        if choice == 0 or not pools:
            pools.append(ascend_cy.MemoryPool())
        elif choice == 1 or not streams:
            streams.append(ascend_cy.Stream())
        elif choice == 2 and len(pools) > 3:
            pools.pop(rng.integers(len(pools)))
        elif choice == 3 and len(streams) > 3:
            streams.pop(rng.integers(len(streams)))
        else:
            value = int(rng.integers(100))
            with pools[rng.integers(len(pools))], streams[rng.integers(len(streams))]:
                held.append((value, ascend_cy.full(int(rng.integers(1, 5000)), value, "int32")))
        if len(held) > 20:
            value, array = held.pop(rng.integers(len(held)))
            assert (array.to_numpy() == value).all()
    held.clear()
    ascend_cy.synchronize()
    for pool in pools:
        pool.trim()
        assert pool.stats()["reserved"] == 0


def test_threads_share_a_pool_and_drop_it():
    wrong: list = []

    def work(number):
        for turn in range(30):
            with ascend_cy.MemoryPool(name=f"{number}-{turn}"), ascend_cy.Stream():
                arrays = [ascend_cy.full(int(n), number, "int32") for n in (10, 2000, 70_000)]
            out[number].append(arrays)
            for array in out[(number + 1) % 4][-1:]:
                wrong.extend(a for a in array if not (a.to_numpy() == (number + 1) % 4).all())
            if len(out[number]) > 3:
                out[number].pop(0)

    out: list[list] = [[], [], [], []]
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
        assert not thread.is_alive()
    assert not wrong
    out.clear()


# ---- limits ----


def test_a_limit_is_of_one_pool():
    pool = ascend_cy.MemoryPool(limit=4 * MIB, name="small one")
    assert pool.limit == pool.stats()["limit"] == 4 * MIB
    with pool:
        first = raw(3 * MIB)
        with pytest.raises(ascend_cy.DeviceMemoryError) as caught:
            raw(2 * MIB)
        message = str(caught.value)
        for part in ('"small one"', f"asked for {2 * MIB} bytes", f"reserved {3 * MIB} bytes", f"in use {3 * MIB}",
                     "cached 0", f"limit is {4 * MIB}"):
            assert part in message, (part, message)
        del caught
        with ascend_cy.default_pool():
            raw(8 * MIB)
        pool.limit = None
        assert pool.limit is None
        raw(8 * MIB)
        settle()
        pool.limit = 5 * MIB  # what is cached above it goes
        assert pool.stats()["reserved"] <= 5 * MIB
    assert ascend_cy.memory_stats()["limit"] is None
    first.fill(0)


FULL = """
import ascend_cy
MIB = 1 << 20
greedy = ascend_cy.MemoryPool(name="greedy")
with greedy:
    held = [ascend_cy.empty(10 * MIB, "uint8") for _ in range(5)]
    kept = held.pop()
    held.clear()
assert greedy.stats()["cached"] == 40 * MIB
big = ascend_cy.empty(40 * MIB, "uint8")   # 64 MiB in all: only what the other pool has cached makes room
assert greedy.stats()["cached"] == 0 and greedy.stats()["in_use"] == 10 * MIB
try:
    ascend_cy.empty(40 * MIB, "uint8")
except ascend_cy.DeviceMemoryError as error:
    assert f"reserved {40 * MIB} bytes" in str(error), error
else:
    raise AssertionError("there are not 80 MiB")
print("done")
"""


def test_a_full_device_takes_what_other_pools_have_cached(tmp_path):
    embedded.require()
    assert child.check(FULL, tmp_path, env={"ASCENDCL_CPU_MEMORY": "64MiB"}) == "done\n"


def test_peaks_are_of_one_pool():
    pool = ascend_cy.MemoryPool()
    with pool:
        held = raw(2 * MIB)
        raw(MIB)
    assert pool.stats()["peak_in_use"] == 3 * MIB <= pool.stats()["peak_reserved"]
    pool.reset_peaks()
    assert pool.stats()["peak_in_use"] == held.nbytes


# ---- arguments and words ----


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: ascend_cy.MemoryPool(-1), ValueError, "limit must not be negative, got -1"),
    (lambda: ascend_cy.MemoryPool("1G"), TypeError, "limit must be an integer or None, got str"),
    (lambda: ascend_cy.MemoryPool(1 << 64), ValueError, "limit must be a number of bytes"),
    (lambda: ascend_cy.MemoryPool(name=3), TypeError, "name must be a string, got int"),
    (lambda: ascend_cy.MemoryPool(name="a\0b"), ValueError, "name must not have NUL"),
    (lambda: ascend_cy.MemoryPool(device=99), ValueError, "device must be between 0 and"),
    (lambda: ascend_cy.MemoryPool(1, "x"), TypeError, "positional"),
    (lambda: ascend_cy.MemoryPool().trim(-1), ValueError, "keep must not be negative"),
    (lambda: ascend_cy.MemoryPool().trim(1.5), TypeError, "keep must be an integer"),
    (lambda: setattr(ascend_cy.MemoryPool(), "limit", -1), ValueError, "limit must not be negative"),
    (lambda: ascend_cy.MemoryPool().__init__(), RuntimeError, "initialised already"),
    (lambda: ascend_cy.MemoryPool.__new__(ascend_cy.MemoryPool).stats(), ValueError, "not initialised"),
    (lambda: ascend_cy.current_pool(99), ValueError, "device must be between 0 and"),
    (lambda: ascend_cy.default_pool("0"), TypeError, "device must be an integer"),
    (lambda: ascend_cy.reset_peak_memory(-2), ValueError, "device must be between 0 and"),
], ids=str)
def test_arguments_that_cannot_be(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_names_and_equality():
    pool = ascend_cy.MemoryPool(name="é" * 40)
    assert pool.name == "é" * 31
    assert repr(pool).startswith("<MemoryPool 'é") and "device 0" in repr(pool)
    assert "default" in repr(ascend_cy.default_pool())
    assert ascend_cy.default_pool() == ascend_cy.default_pool(0) == ascend_cy.current_pool()
    assert len({ascend_cy.default_pool(), ascend_cy.default_pool(), pool}) == 2
    assert pool != ascend_cy.MemoryPool() and pool != 3
