# SPDX-License-Identifier: Apache-2.0
"""The memory pool: exact figures, reuse, limits, running out, and giving back."""

from __future__ import annotations

import gc
import pickle
import threading
import time

import child
import embedded
import numpy as np
import pytest

import ascend_cy

MIB = 1 << 20
SOON = 30 * child.PATIENCE


@pytest.fixture(autouse=True)
def empty_pool():
    """Start from a pool that holds nothing, so that figures are exact."""
    gc.collect()
    ascend_cy.synchronize()
    ascend_cy.trim_memory()
    yield
    ascend_cy.set_memory_limit(None)
    gc.collect()
    ascend_cy.synchronize()
    ascend_cy.trim_memory()


def in_use() -> int:
    return ascend_cy.memory_stats()["in_use"]


def raw(nbytes, **kwargs):
    return ascend_cy.empty(nbytes, "uint8", **kwargs)


def check(stats):
    assert stats["in_use"] >= 0
    assert stats["reserved"] >= stats["in_use"] + 0
    assert stats["peak_in_use"] >= stats["in_use"]
    assert stats["cached"] <= stats["reserved"]
    assert stats["device_allocations"] <= stats["allocations"]


# ---- figures ----


def test_what_the_figures_are():
    stats = ascend_cy.memory_stats()
    assert set(stats) == {
        "in_use", "reserved", "cached", "pending", "largest_free", "limit", "peak_in_use", "peak_reserved", "allocations", "hits",
        "device_allocations", "device_frees", "buffers", "free_blocks", "segments", "hit_rate", "fragmentation"}
    assert stats["limit"] is None
    assert stats["in_use"] == stats["buffers"] == stats["segments"] == stats["free_blocks"] == stats["largest_free"] == 0
    assert stats["fragmentation"] == 0.0
    check(stats)


def test_hits_and_the_rate_of_them():
    before = ascend_cy.memory_stats()
    for _ in range(10):
        raw(3 * MIB)
    ascend_cy.empty(0)  # asks for nothing, so it is neither
    after = ascend_cy.memory_stats()
    assert after["device_allocations"] == before["device_allocations"] + 1
    assert after["hits"] == before["hits"] + 9
    assert after["allocations"] == before["allocations"] + 11
    assert after["hit_rate"] == after["hits"] / (after["hits"] + after["device_allocations"])
    pool = ascend_cy.MemoryPool()
    assert pool.stats()["hit_rate"] == 0.0
    with pool:
        for _ in range(4):
            raw(100)
    assert pool.stats()["hit_rate"] == 0.75


def test_fragmentation_and_the_largest_free_piece():
    held = [raw(4 * MIB) for _ in range(4)]
    assert ascend_cy.memory_stats()["largest_free"] < 4 * MIB
    held.pop(1)
    held.pop(2)
    stats = ascend_cy.memory_stats()
    assert stats["buffers"] == 2 and stats["free_blocks"] >= 2
    assert 4 * MIB <= stats["largest_free"] <= stats["cached"]
    assert stats["fragmentation"] == pytest.approx(1 - stats["in_use"] / stats["reserved"])
    assert 0.4 < stats["fragmentation"] < 0.6


def test_neighbours_that_are_free_are_one_piece():
    """A small segment is cut into equal blocks: all of it is one piece again, merged or not."""
    pool = ascend_cy.MemoryPool()
    with pool:
        held = [raw(1024) for _ in range(8)]
    assert pool.stats()["segments"] == 1
    held.clear()
    stats = pool.stats()
    assert stats["largest_free"] == stats["cached"] == stats["reserved"] > 8 * 1024
    assert stats["fragmentation"] == 1.0


def test_memory_that_other_streams_still_use_is_pending(stream):
    gate = threading.Event()
    held = raw(MIB)
    stream.add_callback(gate.wait, SOON)
    held.record_stream(stream)
    del held
    stats = ascend_cy.memory_stats()
    assert stats["pending"] == MIB and stats["in_use"] == 0
    assert stats["cached"] == stats["reserved"] - MIB
    gate.set()
    stream.synchronize()
    ascend_cy.trim_memory()
    assert ascend_cy.memory_stats()["pending"] == 0


def test_figures_agree_while_threads_allocate():
    """Every look is at one moment: sums that hold at rest hold in every one."""
    stop = threading.Event()

    def work():
        rng = np.random.default_rng(threading.get_ident() % 1000)
        held = []
        while not stop.is_set():
            held.append(raw(int(rng.integers(1, 200_000))))
            if len(held) > 20:
                del held[rng.integers(len(held))]

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        last = ascend_cy.memory_stats()
        empty = last["allocations"] - last["hits"] - last["device_allocations"]
        for _ in range(2000):
            now = ascend_cy.memory_stats()
            assert now["in_use"] + now["cached"] + now["pending"] == now["reserved"]
            assert now["hits"] + now["device_allocations"] + empty == now["allocations"]
            assert now["in_use"] <= now["peak_in_use"] <= now["peak_reserved"]
            assert now["reserved"] <= now["peak_reserved"] and now["largest_free"] <= now["cached"]
            assert now["segments"] - last["segments"] == (now["device_allocations"] - last["device_allocations"]
                                                          - now["device_frees"] + last["device_frees"])
            assert now["allocations"] >= last["allocations"] and now["device_frees"] >= last["device_frees"]
            last = now
    finally:
        stop.set()
        for thread in threads:
            thread.join(SOON)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("nbytes", [1, 63, 64, 65, 1000, 4096, 100_000, MIB, 3 * MIB + 1, 17 * MIB])
def test_bytes_in_use_are_exact_at_every_step(nbytes):
    """In use grows by the size as allocated: at least what was asked for, never more than a little above it."""
    before = ascend_cy.memory_stats()
    arrays, last = [], before["in_use"]
    for count in range(1, 5):
        arrays.append(raw(nbytes))
        now = ascend_cy.memory_stats()
        step = now["in_use"] - last
        last = now["in_use"]
        assert nbytes <= step <= nbytes * 1.25 + 1024
        assert now["allocations"] == before["allocations"] + count
        check(now)
    assert ascend_cy.live_objects()["buffer_bytes"] >= 4 * nbytes
    while arrays:
        arrays.pop()
        now = ascend_cy.memory_stats()
        assert now["in_use"] == before["in_use"] + len(arrays) * step
        check(now)


def test_peak():
    peak = ascend_cy.memory_stats()["peak_in_use"]
    held = raw(peak + 5 * MIB)
    assert ascend_cy.memory_stats()["peak_in_use"] >= peak + 5 * MIB
    held.close()
    assert ascend_cy.memory_stats()["peak_in_use"] >= peak + 5 * MIB
    small = raw(MIB)
    ascend_cy.reset_peak_memory()
    stats = ascend_cy.memory_stats()
    assert stats["peak_in_use"] == stats["in_use"] == MIB == small.nbytes
    assert stats["peak_reserved"] == stats["reserved"]


def test_empty_arrays_take_no_memory():
    before = in_use()
    arrays = [ascend_cy.empty((0, 1000)), ascend_cy.zeros((3, 0)), ascend_cy.asarray(np.empty(0, "f4"))]
    assert in_use() == before
    assert [a.to_numpy().size for a in arrays] == [0, 0, 0]


def test_views_take_no_memory():
    device = ascend_cy.zeros((100, 100))
    before = in_use()
    views = [device[1:], device.T, device.reshape(-1), device.view("i4"), device[::2, 3]]
    assert in_use() == before
    device.close()
    assert in_use() == before
    views.clear()
    assert in_use() == 0


# ---- reuse ----


def test_a_block_freed_on_a_stream_is_reused_there_at_once(stream):
    with stream:
        first = raw(MIB)
        address = first.ptr
        del first
        asked = ascend_cy.memory_stats()["device_allocations"]
        for _ in range(100):
            again = raw(MIB)
            assert again.ptr == address
            del again
        assert ascend_cy.memory_stats()["device_allocations"] == asked


def test_a_block_freed_behind_pending_work_is_reused_on_its_stream_only(stream):
    gate = threading.Event()
    other = ascend_cy.Stream()
    with stream:
        first = raw(MIB)
        address = first.ptr
        stream.add_callback(gate.wait, SOON)
        first.fill(1)
        first.close()
        again = raw(MIB)
        assert again.ptr == address
        again.close()
    with other:
        elsewhere = raw(MIB)
        assert elsewhere.ptr != address
    gate.set()
    stream.synchronize()
    other.synchronize()


def test_a_loop_keeps_memory_flat():
    x = ascend_cy.zeros((64, 256))
    ascend_cy.layernorm(x)
    reserved = ascend_cy.memory_stats()["reserved"]
    for _ in range(1000):
        ascend_cy.layernorm(x, return_stats=True)
    ascend_cy.synchronize()
    assert ascend_cy.memory_stats()["reserved"] <= reserved + 4 * MIB
    assert in_use() == ascend_cy.live_objects()["buffer_bytes"]


def test_many_sizes_do_not_fragment_the_pool():
    """Random sizes, a quarter freed at random: what is reserved stays near the peak of what was in use."""
    rng = np.random.default_rng(1)
    held = []
    for _ in range(4000):
        held.append(raw(int(2 ** rng.uniform(4, 18))))
        if len(held) > 200:
            for _ in range(50):
                held.pop(rng.integers(len(held)))
    stats = ascend_cy.memory_stats()
    check(stats)
    total = sum(a.nbytes for a in held)
    assert stats["in_use"] <= 1.5 * total
    assert stats["reserved"] <= 3 * stats["peak_in_use"] + 64 * MIB
    held.clear()
    assert in_use() == 0
    ascend_cy.synchronize()
    ascend_cy.trim_memory()
    assert ascend_cy.memory_stats()["reserved"] == 0


def test_arrays_never_share_memory():
    rng = np.random.default_rng(2)
    held = {}
    for turn in range(2000):
        nbytes = int(rng.integers(1, 20_000))
        array = raw(nbytes)
        held[turn] = (array.ptr, array.ptr + nbytes, array)
        assert array.ptr % 64 == 0
        if len(held) > 100:
            held.pop(list(held)[rng.integers(len(held))])
    spans = sorted(span[:2] for span in held.values())
    assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:], strict=False))


def test_threads_share_one_pool():
    wrong = []

    def work(number):
        rng = np.random.default_rng(number)
        with ascend_cy.Stream():
            held = []
            for turn in range(200):
                value = number * 1000 + turn
                held.append((value, ascend_cy.full(int(rng.integers(1, 5000)), value, "int32")))
                if len(held) > 10:
                    value, array = held.pop(rng.integers(len(held)))
                    if not (array.to_numpy() == value).all():
                        wrong.append(value)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
        assert not thread.is_alive()
    assert not wrong
    assert in_use() == 0


# ---- trim ----


def test_what_lives_long_does_not_keep_every_stream_it_was_used_on():
    """Weights and a stream of its own for every request: more streams than a device has, one after the other."""
    x = np.ones((4, 64), "f4")
    weight = ascend_cy.asarray(x[0])
    at_first = ascend_cy.live_objects()["streams"]
    for _ in range(2500):
        with ascend_cy.Stream():
            result = ascend_cy.layernorm(ascend_cy.asarray(x), weight)
            assert result.to_numpy()[0, 0] == 0
        del result
    assert ascend_cy.live_objects()["streams"] - at_first < 20


def test_trim_gives_everything_back():
    arrays = [raw(MIB) for _ in range(20)]
    arrays.clear()
    ascend_cy.synchronize()
    assert ascend_cy.memory_stats()["reserved"] >= 20 * MIB
    ascend_cy.trim_memory()
    assert ascend_cy.memory_stats()["reserved"] == ascend_cy.memory_stats()["cached"] == 0


@pytest.mark.parametrize("function", ["aclrtFree", "aclrtFreeHost"])
def test_trim_raises_what_the_device_refuses(function):
    """The memory stays in the figures, all else goes, and the next try may do."""
    embedded.require()
    raw(20 * MIB)
    ascend_cy.empty_pinned(20 * MIB, "uint8")
    reserved = ascend_cy.memory_stats()["reserved"]
    with embedded.faults(f"call={function},code=507899,times=always"):
        with pytest.raises(ascend_cy.AclError, match="injected fault") as caught:
            ascend_cy.trim_memory()
    assert caught.value.function == function
    assert ascend_cy.memory_stats()["reserved"] == (reserved if function == "aclrtFree" else 0)
    with embedded.counted_calls("aclrtMalloc" if function == "aclrtFree" else "aclrtMallocHost") as calls:
        raw(20 * MIB) if function == "aclrtFree" else ascend_cy.empty_pinned(20 * MIB, "uint8")
        assert calls() == 0, "what was refused does not serve"
    ascend_cy.trim_memory()
    assert ascend_cy.memory_stats()["reserved"] == 0
    with embedded.counted_calls(function) as calls:
        ascend_cy.trim_memory()
        assert calls() == 0, "something was left"


def test_trim_keeps_what_it_is_told_and_what_is_in_use():
    held = raw(MIB)
    arrays = [raw(40 * MIB) for _ in range(3)]
    arrays.clear()
    ascend_cy.trim_memory(keep=90 * MIB)
    assert MIB <= ascend_cy.memory_stats()["reserved"] <= 90 * MIB
    held.fill(3)
    ascend_cy.trim_memory()
    assert (held.to_numpy() == 3).all()
    assert ascend_cy.memory_stats()["reserved"] >= MIB


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: ascend_cy.trim_memory(-1), ValueError, "keep must not be negative, got -1"),
    (lambda: ascend_cy.trim_memory(1.5), TypeError, "keep must be an integer, got float"),
    (lambda: ascend_cy.trim_memory(None), TypeError, "keep must be an integer, got NoneType"),
    (lambda: ascend_cy.trim_memory(1 << 70), (ValueError, OverflowError), "."),
    (lambda: ascend_cy.set_memory_limit(-1), ValueError, "nbytes must not be negative, got -1"),
    (lambda: ascend_cy.set_memory_limit("1G"), TypeError, "nbytes must be an integer or None, got str"),
    (lambda: ascend_cy.set_memory_limit(True), TypeError, "got bool"),
    (lambda: ascend_cy.set_memory_limit(1 << 70), (ValueError, OverflowError), "."),
    (lambda: ascend_cy.set_memory_limit(1, device=99), ValueError, "device must be between 0 and"),
], ids=str)
def test_arguments_that_cannot_be(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
    assert ascend_cy.memory_stats()["limit"] is None


# ---- RT-3: limits ----


def test_memory_that_is_free_but_cached():
    ascend_cy.set_memory_limit(16 * MIB)
    assert ascend_cy.memory_stats()["limit"] == 16 * MIB
    first = raw(8 * MIB)
    assert in_use() >= 8 * MIB
    del first
    assert in_use() == 0
    second = raw(12 * MIB)
    assert 12 * MIB <= in_use() <= 16 * MIB
    second.fill(7)
    assert (second.to_numpy() == 7).all()


def test_thirty_thirty_sixty():
    limit = 40 * MIB
    ascend_cy.set_memory_limit(limit)
    first = raw(limit * 3 // 10)
    second = raw(limit * 3 // 10)
    held = in_use()
    del second
    assert in_use() == held // 2
    third = raw(limit * 6 // 10)
    assert in_use() <= limit
    assert first.ptr != third.ptr


PENDING = """
import time
import ascend_cy

MIB = 1 << 20
ascend_cy.set_memory_limit(16 * MIB)
busy = ascend_cy.Stream()
with busy:
    first = ascend_cy.empty(12 * MIB, "uint8")
    busy.add_callback(time.sleep, 0.05)
    first.fill(1)
    del first
second = ascend_cy.empty(12 * MIB, "uint8")
second.fill(2)
assert (second.to_numpy() == 2).all()
"""


def test_free_but_pending_on_another_stream(tmp_path):
    """The memory is free behind work of a stream: running short waits for that work, which may need the GIL."""
    child.check(PENDING, tmp_path, timeout=20)


@pytest.mark.parametrize("sizes", [(16 * MIB + 1,), (9 * MIB, 9 * MIB), (1 << 40,), (1 << 62,)], ids=str)
def test_beyond_the_limit(sizes):
    ascend_cy.set_memory_limit(16 * MIB)
    held = [raw(size) for size in sizes[:-1]]
    before = ascend_cy.memory_stats()
    live = ascend_cy.live_objects()
    for _ in range(3):
        with pytest.raises(ascend_cy.DeviceMemoryError) as caught:
            raw(sizes[-1])
        text = str(caught.value)
        assert isinstance(caught.value, MemoryError)
        assert str(sizes[-1]) in text.replace(",", ""), f"the size asked for is missing: {text}"
        assert "limit" in text and "in use" in text
        assert pickle.loads(pickle.dumps(caught.value)).detail == caught.value.detail
        del caught
        after = ascend_cy.memory_stats()
        assert (after["in_use"], after["allocations"]) == (before["in_use"], before["allocations"])
        assert ascend_cy.live_objects() == live
    small = raw(MIB)
    small.fill(1)
    ascend_cy.set_memory_limit(None)
    assert (small.to_numpy() == 1).all()
    assert len(held) == len(sizes) - 1


def test_running_out_within_an_operator_leaves_nothing():
    x = ascend_cy.zeros((1024, 1024))
    ascend_cy.layernorm(ascend_cy.zeros((2, 2)))
    ascend_cy.set_memory_limit(5 * MIB)
    live = ascend_cy.live_objects()
    for call in (lambda: ascend_cy.layernorm(x), lambda: x.copy(), lambda: x[:, ::2].astype("f8"), lambda: x.T.reshape(-1),
                 lambda: ascend_cy.layernorm(x[:, ::-1], out=x[:, ::-1])):
        with pytest.raises(ascend_cy.DeviceMemoryError):
            call()
        assert ascend_cy.live_objects() == live
    assert not x.to_numpy().any()
    ascend_cy.set_memory_limit(None)
    ascend_cy.layernorm(x)


def test_a_limit_below_what_is_in_use():
    held = raw(8 * MIB)
    ascend_cy.set_memory_limit(MIB)
    with pytest.raises(ascend_cy.DeviceMemoryError):
        raw(1)
    held.fill(1)
    assert (held.to_numpy() == 1).all()
    held.close()
    assert raw(MIB // 2).nbytes == MIB // 2


def test_what_is_freed_above_a_limit_goes_at_the_next_refusal():
    """A limit that was lowered below what is in use: memory freed since does not stay cached above it."""
    kept, freed = raw(8 * MIB), raw(8 * MIB)
    ascend_cy.set_memory_limit(4 * MIB)
    del freed
    with pytest.raises(ascend_cy.DeviceMemoryError, match=f"its limit is {4 * MIB}"):
        raw(MIB)
    assert ascend_cy.memory_stats()["reserved"] == in_use() == 8 * MIB
    del kept
    ascend_cy.synchronize()  # in hazard mode it is being filled
    assert raw(4 * MIB).nbytes == ascend_cy.memory_stats()["reserved"] == 4 * MIB


OUT_OF_MEMORY = """
import numpy as np
import ascend_cy

MIB = 1 << 20
held = []
for _ in range(100):
    try:
        held.append(ascend_cy.full(4 * MIB, 5, "uint8"))
    except ascend_cy.DeviceMemoryError as error:
        text = str(error)
        break
else:
    raise AssertionError("400 MiB on a device with 64")
assert 10 <= len(held) <= 16, len(held)
assert str(4 * MIB) in text.replace(",", ""), text
for _ in range(50):  # everything freed is to be had again, in another size
    held.clear()
    held.append(ascend_cy.full(40 * MIB, 6, "uint8"))
    held.clear()
    held += [ascend_cy.full(4 * MIB, 7, "uint8") for _ in range(10)]
assert all((a.to_numpy() == 7).all() for a in held)

big = np.ones((64, 1 << 18), np.float32)  # as much host memory as the device has
if ascend_cy.device_info()["unified"]:
    y = ascend_cy.layernorm(big)
    assert not y.any()
held.clear()
assert ascend_cy.live_objects()["buffers"] == 0
print("done")
"""


def test_a_device_that_really_is_full(tmp_path):
    embedded.require()
    assert child.check(OUT_OF_MEMORY, tmp_path, env={"ASCENDCL_CPU_MEMORY": "64MiB"}) == "done\n"


def test_an_operator_on_more_host_memory_than_the_device_has(tmp_path):
    """On unified memory no copy is made: 64 MiB on a device with 1 MiB."""
    if not ascend_cy.device_info()["unified"]:
        pytest.skip("host memory is copied to the device here")
    code = """
    import numpy as np, ascend_cy
    x = np.ones((1 << 14, 1024), np.float32)
    x[:, ::2] = 3
    y = ascend_cy.layernorm(x, out=np.empty_like(x))
    assert abs(abs(y) - 1).max() < 1e-5
    assert ascend_cy.memory_stats()["allocations"] == 0
    """
    child.check(code, tmp_path, env={"ASCENDCL_CPU_MEMORY": "1MiB"})


# ---- pinned memory ----


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_pinned_arrays():
    for shape, dtype in (((3, 4), "float32"), (5, "int16"), ((), "float64"), ((2, 0), "float16"), ([2, 3], "bool")):
        pinned = ascend_cy.empty_pinned(shape, dtype)
        assert type(pinned) is np.ndarray
        assert pinned.shape == np.empty(shape).shape and pinned.dtype == np.dtype(dtype)
        assert pinned.flags.writeable and pinned.flags.c_contiguous
        pinned[...] = 1
        if pinned.size:
            assert pinned.ctypes.data % 64 == 0
    for shape, kind in (((-1, 4), ValueError), ("3", TypeError), (None, TypeError), (1.5, TypeError), ((2.5,), TypeError)):
        with pytest.raises(kind):
            ascend_cy.empty_pinned(shape)


def test_views_of_pinned_memory_keep_it():
    view = ascend_cy.empty_pinned((100, 100))[3:5, ::2]
    gc.collect()
    assert ascend_cy.live_objects()["pinned"] == 1
    others = [ascend_cy.empty_pinned((100, 100)) for _ in range(3)]
    view[...] = 1
    for other in others:
        other[...] = 2
    assert (view == 1).all()
    del view
    assert ascend_cy.live_objects()["pinned"] == 3


def test_pinned_memory_is_given_back():
    """50 times 64 MiB, touched and dropped: resident memory comes back to within one block."""
    nbytes = 64 * MIB
    ascend_cy.empty_pinned(nbytes, "uint8")[::4096] = 1
    before = resident()
    for _ in range(50):
        ascend_cy.empty_pinned(nbytes, "uint8")[::4096] = 1
    assert resident() - before <= nbytes + 16 * MIB
    ascend_cy.trim_memory()
    assert resident() <= before + 16 * MIB
    assert ascend_cy.live_objects()["pinned"] == 0


def test_pinned_sizes_that_grow_do_not_pile_up():
    before = resident()
    for size in range(1, 40):
        ascend_cy.empty_pinned(size * MIB, "uint8")[::4096] = 1
    ascend_cy.trim_memory()
    assert resident() <= before + 48 * MIB
