# SPDX-License-Identifier: Apache-2.0
"""Pipelines: results in order and right, memory bounded, nothing left running however an iteration ends."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import subprocess
import sys
import threading
import time
import weakref
from collections import namedtuple

import embedded
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layernorm_reference import assert_layernorm

import ascend_cy
from ascend_cy import Pipeline

COPY = [None, False, True]


def numbers(count, shape=(3, 5), dtype="f4"):
    return [np.full(shape, i, dtype) for i in range(count)]


def double(x):
    return ascend_cy.vector_add(x, x)


def firsts(results):
    return [float(np.asarray(result).flat[0]) for result in results]


# ---- values ----


@pytest.mark.parametrize("copy", COPY)
@pytest.mark.parametrize("slots", [1, 2, 3, 8])
def test_results_in_order(slots, copy):
    """A plain loop gives the same, bit for bit, whatever the number of slots and batches, the last one smaller."""
    random = np.random.default_rng(slots)
    gamma, beta = (random.standard_normal(70).astype("f4") for _ in "gb")
    d_gamma, d_beta = ascend_cy.asarray(gamma), ascend_cy.asarray(beta)
    pipeline = Pipeline(lambda x: ascend_cy.layernorm(x, d_gamma, d_beta), slots=slots, copy=copy)
    for count in (0, 1, 2, 3, 9):
        batches = [random.standard_normal((40 if i < count - 1 else 7, 70)).astype("f4") for i in range(count)]
        results = list(pipeline(batches))
        assert len(results) == count
        for batch, result in zip(batches, results, strict=True):
            assert result.tobytes() == ascend_cy.layernorm(batch, gamma, beta).tobytes()
            assert result.shape == batch.shape and result.dtype == batch.dtype and result.flags.writeable
            assert_layernorm(result, batch, gamma, beta)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.booleans()), max_size=12), st.integers(1, 5),
       st.sampled_from(COPY), st.sampled_from(["f4", "i4", "f2"]))
def test_any_batches(shapes, slots, copy, dtype):
    """Empty, strided, and of changing shapes."""
    batches = []
    for i, (rows, cols, turned) in enumerate(shapes):
        host = (np.arange(rows * cols) + i).astype(dtype).reshape(rows, cols)
        batches.append(host[::-1, ::-1] if turned else host)
    wanted = [batch + batch for batch in batches]
    for got, want in zip(Pipeline(double, slots=slots, copy=copy)(batches), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


def test_several_operators_and_forms():
    """Functions are chained on the device; tuples are arguments, dictionaries keyword arguments, the rest is passed on."""
    Named = namedtuple("Named", "total tag")
    pipeline = Pipeline(
        lambda a, b, tag: {"x": ascend_cy.vector_add(a, b), "tag": tag},
        lambda x, tag: (x, ascend_cy.layernorm(x), tag),
        lambda x, y, tag: Named(ascend_cy.vector_add(x, y), tag),
    )
    ramp = np.arange(12, dtype="f4").reshape(2, 6)
    batches = [(ramp + i, ramp * i, f"batch {i}") for i in range(5)]
    results = list(pipeline(batches))
    assert [result.tag for result in results] == [f"batch {i}" for i in range(5)]
    for (a, b, _), result in zip(batches, results, strict=True):
        x = ascend_cy.vector_add(a, b)
        assert result.total.tobytes() == ascend_cy.vector_add(x, ascend_cy.layernorm(x)).tobytes()

    by_name = list(Pipeline(lambda *, a, k: {"sum": double(a), "k": k, "none": None})({"a": a, "k": 7} for a in numbers(3)))
    assert [set(result) for result in by_name] == [{"sum", "k", "none"}] * 3
    assert firsts(result["sum"] for result in by_name) == [0, 2, 4]
    assert all(result["k"] == 7 and result["none"] is None for result in by_name)

    as_list = list(Pipeline(lambda x: [x, double(x)])(numbers(2)))
    assert [type(result) for result in as_list] == [list, list]
    assert firsts(result[1] for result in as_list) == [0, 2]


def test_work_on_other_streams():
    """A result is complete whichever stream its work is on, and a batch's memory stays for all that use it."""
    other = ascend_cy.Stream()

    def aside(x):
        return ascend_cy.vector_add(x, x, stream=other)

    for copy in COPY:
        with embedded.slow_kernels(20) if embedded.kind() == "cpu" else contextlib.nullcontext():
            assert [(result == 2 * i).all() for i, result in enumerate(
                Pipeline(aside, copy=copy)(np.full((600, 1000), i, "f4") for i in range(5)))] == [True] * 5


def test_the_current_stream():
    """The functions have the pipeline's, and it is gone when a result is there, however they end."""
    seen = []

    def work(x):
        seen.append(ascend_cy.current_stream())
        with ascend_cy.Stream() as inner:
            assert ascend_cy.current_stream() == inner
        assert ascend_cy.current_stream() == seen[-1]
        if x[0, 0].item() == 3:
            raise LookupError
        return double(x)

    for mine in (ascend_cy.default_stream(), ascend_cy.Stream()):
        with mine:
            with pytest.raises(LookupError):
                for _ in Pipeline(work)(numbers(9)):
                    assert ascend_cy.current_stream() == mine
            assert ascend_cy.current_stream() == mine and mine not in seen
    assert ascend_cy.current_stream() == ascend_cy.default_stream() and len(seen) == 8


def test_what_is_on_the_device_already():
    on_device = ascend_cy.full((3, 5), 10)
    results = list(Pipeline(lambda x, w: ascend_cy.vector_add(x, w))((x, on_device) for x in numbers(3)))
    assert firsts(results) == [10, 11, 12]


@pytest.mark.parametrize("copy", COPY)
@pytest.mark.parametrize("slots", [1, 3])
def test_results_shared_through_dlpack_are_copies(copy, slots):
    """A capsule's consumer holds the memory, not the array."""
    if not ascend_cy.device_info()["unified"]:
        pytest.skip("host and device share no memory here")
    kept = []

    def work(x):
        y = double(x)
        ascend_cy.synchronize()
        if kept:
            kept[0][...] = -99
        else:
            kept.append(np.from_dlpack(y))
        return y

    results = []
    for result in Pipeline(work, copy=copy, slots=slots)(numbers(4)):
        results.append(result)
    assert firsts(results) == [0, 2, 4, 6] and (kept[0] == -99).all()


@pytest.mark.parametrize("copy", COPY)
def test_results_do_not_change_later(copy):
    """Of what the functions keep, change in place or were given, a result is a copy made in the order of the work."""
    total = ascend_cy.zeros((3, 5))

    def add(x):
        ascend_cy.vector_add(total, x, out=total)
        return total, x, x[1:, ::2], total[0]

    batches = numbers(6)
    results = list(Pipeline(add, copy=copy)(batches))
    assert firsts(result[0] for result in results) == [0, 1, 3, 6, 10, 15]
    assert firsts(result[3] for result in results) == [0, 1, 3, 6, 10, 15]
    for batch, result in zip(batches, results, strict=True):
        assert not np.shares_memory(batch, result[1]) and not np.shares_memory(result[1], result[2])
        result[1][...] = -1
        assert (result[2] == batch[1:, ::2]).all() and (batch >= 0).all()


def test_sources_that_reuse_their_memory():
    def source():
        batch = np.empty((50, 60), "f4")
        for i in range(8):
            batch[...] = i
            yield batch

    with pytest.raises(ValueError, match=r"batch 1 shares memory with batch 0.*copy=True"):
        list(Pipeline(double)(source()))
    assert firsts(Pipeline(double, copy=True)(source())) == [2 * i for i in range(8)]
    assert firsts(Pipeline(double, slots=1)(source())) == [2 * i for i in range(8)]
    same = np.ones((4, 4), "f4")
    assert firsts(Pipeline(double, copy=False)(itertools.repeat(same, 6))) == [2] * 6
    frozen = np.arange(20, dtype="f4").reshape(10, 2)
    frozen.flags.writeable = False
    assert firsts(Pipeline(double)(frozen[i : i + 3] for i in range(8))) == [4 * i for i in range(8)]


def test_inputs_are_the_callers():
    with pytest.raises(ValueError, match="out is read-only"):
        list(Pipeline(lambda x: ascend_cy.layernorm(x, out=x), copy=False)(numbers(1)))
    batches = [np.random.default_rng(i).standard_normal((4, 9)).astype("f4") for i in range(5)]
    kept = [batch.copy() for batch in batches]
    results = list(Pipeline(lambda x: ascend_cy.layernorm(x, out=x), copy=True)(batches))
    for batch, before, result in zip(batches, kept, results, strict=True):
        assert batch.tobytes() == before.tobytes()
        assert result.tobytes() == ascend_cy.layernorm(batch).tobytes()


def test_memory_maps_and_pinned_memory(tmp_path):
    path = tmp_path / "rows.npy"
    rows = np.random.default_rng(3).standard_normal((1000, 33)).astype("f4")
    np.save(path, rows)
    mapped = np.load(path, mmap_mode="r")
    results = list(Pipeline(ascend_cy.layernorm)(mapped[i : i + 300] for i in range(0, 1000, 300)))
    assert [len(result) for result in results] == [300, 300, 300, 100]
    assert np.concatenate(results).tobytes() == ascend_cy.layernorm(rows).tobytes()

    def pinned():
        for i in range(5):
            batch = ascend_cy.empty_pinned((20, 33))
            batch[...] = i
            yield batch

    for copy in COPY:
        assert firsts(Pipeline(double, copy=copy)(pinned())) == [0, 2, 4, 6, 8]


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for copy in COPY:
        results = list(Pipeline(double, copy=copy)(numbers(3, dtype=ml_dtypes.bfloat16)))
        assert [result.dtype for result in results] == [np.dtype(ml_dtypes.bfloat16)] * 3
        assert firsts(result.astype("f4") for result in results) == [0, 2, 4]


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    results = list(Pipeline(double)(torch.full((2, 3), float(i)) for i in range(4)))
    assert firsts(results) == [0, 2, 4, 6]


# ---- order of events, memory ----


def test_back_pressure():
    """The source is asked for at most `slots` batches more than results were taken."""
    for slots in (1, 2, 4):
        asked = []

        def source():
            for i in range(20):
                asked.append(i)
                yield np.full((3, 3), i, "f4")

        taken = 0
        for _ in Pipeline(double, slots=slots)(source()):
            assert len(asked) - taken <= slots
            taken += 1
        assert taken == len(asked) == 20


def test_batches_are_started_ahead_where_there_is_time():
    """While a caller or a source with work of its own is busy, the device is too."""
    embedded.require()
    for slow_source in (False, True):
        asked, most = 0, 0

        def source():
            nonlocal asked
            for i in range(12):
                asked += 1
                if slow_source:
                    time.sleep(1e-3)
                yield np.full((600, 1000), i, "f4")

        with embedded.slow_kernels(20):
            for taken, _ in enumerate(Pipeline(double)(source())):
                most = max(most, asked - taken)
                if not slow_source:
                    time.sleep(1e-3)
        assert most == 3


def test_inputs_are_let_go():
    """With the batch, but for those that a function keeps."""
    kept = []

    def work(x, part):
        kept.extend([x[1:]] if part == 5 else [x] if part == 7 else [])
        return double(x)

    for copy in (None, False):
        for pause in (0, 1e-3):  # the second: batches are started ahead
            watched, want = [], []

            def source():
                for i in range(10):
                    batch = np.full((200, 300), i, "f4")
                    watched.append(weakref.ref(batch))
                    yield batch, i

            for result in Pipeline(work, copy=copy)(source()):
                want.append(float(result[0, 0]))
                time.sleep(pause)
            ascend_cy.synchronize()  # references that were waiting are dropped in a call
            gc.collect()
            assert want == [2 * i for i in range(10)]
            scratch = [np.full((200, 300), -1, "f4") for _ in range(12)]
            assert [float(each.to_numpy()[0, 0]) for each in kept] == [5, 7]
            if ascend_cy.device_info()["unified"]:
                assert [i for i, each in enumerate(watched) if each() is not None] == [5, 7]
            kept.clear()
            ascend_cy.synchronize()
            assert [each() for each in watched] == [None] * 10
            del scratch


def test_a_result_cannot_be_closed_under_its_array():
    made = []

    def work(x):
        y = double(x)
        made.append(weakref.ref(y))
        return y

    for copy in COPY:
        for i, result in enumerate(Pipeline(work, copy=copy)(numbers(3))):
            if (array := made.pop(0)()) is not None:
                with pytest.raises(BufferError):
                    array.close()
                del array
            assert (result == 2 * i).all()
        made.clear()


@pytest.mark.parametrize("copy", COPY)
def test_memory_is_bounded(copy):
    shape = (256, 1024)
    pipeline = Pipeline(double, slots=3, copy=copy)
    base = ascend_cy.memory_stats()["in_use"]
    most = pinned = 0
    for result in pipeline(np.ones(shape, "f4") for _ in range(40)):
        most = max(most, ascend_cy.memory_stats()["in_use"] - base)
        pinned = max(pinned, ascend_cy.live_objects()["pinned_bytes"])
        assert result[0, 0] == 2
    del result
    # An input, a result and what waits for a stream to pass, for each slot and the one at the caller.
    assert most <= 4 * 3 * (1 << 20) and pinned <= 4 * 3 * (1 << 20)


def test_results_outlive_the_pipeline():
    results = []
    for copy in COPY:
        with Pipeline(double, copy=copy) as pipeline:
            results += pipeline(numbers(4))
        del pipeline
    gc.collect()
    scratch = [ascend_cy.full((3, 5), 99) for _ in range(40)]
    assert firsts(results) == [0, 2, 4, 6] * 3
    del scratch


# ---- ends ----


def test_a_failing_source_or_function():
    """What came before it is delivered; its exception is the caller's; the pipeline works again."""

    def source():
        yield from numbers(5)
        raise KeyError("source")

    def picky(x):
        if x.shape == (1, 1):
            raise LookupError("function")
        return double(x)

    for copy, batches, error in itertools.product(COPY, (source(), [*numbers(5), np.ones((1, 1), "f4"), *numbers(2)]),
                                                  (LookupError,)):
        pipeline = Pipeline(picky, copy=copy)
        if not isinstance(batches, list):
            batches = source()
        got = []
        with pytest.raises(error):
            for result in pipeline(batches):
                got.append(float(result[0, 0]))
        assert got == [0, 2, 4, 6, 8]
        assert firsts(pipeline(numbers(3))) == [0, 2, 4]


def test_an_early_end_leaves_nothing_running():
    embedded.require()
    pipeline = Pipeline(lambda x: ascend_cy.layernorm(x), slots=4)
    with embedded.slow_kernels(30):
        for _ in pipeline(numbers(10)):
            break
        iterator = pipeline(numbers(10))
        next(iterator)
        iterator.close()
        assert list(iterator) == []
    # Idle streams were given back for the next run.
    live = ascend_cy.live_objects()["streams"]
    assert firsts(pipeline(numbers(2))) == [0, 0]
    assert ascend_cy.live_objects()["streams"] == live


def test_a_kernel_that_faults(kernels):
    def work(x, fault):
        y = double(x)
        if fault:
            kernels.launch("fault", ascend_cy.current_stream(), 0, 507015)
        return y

    for copy in COPY:
        pipeline = Pipeline(work, copy=copy, slots=2)
        got = []
        with pytest.raises(ascend_cy.KernelError, match="fault"):
            for result in pipeline((x, i == 4) for i, x in enumerate(numbers(9))):
                got.append(float(result[0, 0]))
        assert got in ([0, 2], [0, 2, 4], [0, 2, 4, 6])  # batches before may still be under way when the fault is seen
        assert firsts(pipeline((x, False) for x in numbers(3))) == [0, 2, 4]


def test_threads_share_a_pipeline():
    pipeline = Pipeline(double, slots=2)
    failures = []

    def work(start):
        try:
            for _ in range(10):
                batches = [np.full((20, 30), start + i, "f4") for i in range(6)]
                assert firsts(pipeline(batches)) == [2.0 * (start + i) for i in range(6)]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures


def test_ctrl_c_and_exit(tmp_path):
    """An interrupted loop ends at once; one that is suspended does not hold up the end of the process."""
    code = """
    import signal, sys, threading, time
    import numpy as np, ascend_cy
    pipeline = ascend_cy.Pipeline(lambda x: ascend_cy.layernorm(x), slots=2)
    def source():
        for i in range(1000):
            if i == 5:
                signal.raise_signal(signal.SIGINT)
            yield np.ones((30, 40), "f4")
    try:
        for y in pipeline(source()):
            pass
    except KeyboardInterrupt:
        print("interrupted")
    left = pipeline(np.ones((300, 400), "f4") for _ in range(9))
    for _ in range(4):
        kept = next(left)
        time.sleep(1e-3)  # batches are started ahead
    print(kept.sum())
    """
    script = tmp_path / "script.py"
    script.write_text("\n".join(line[4:] for line in code.splitlines()))
    for device in ("cpu", "sim"):
        done = subprocess.run([sys.executable, "-W", "error", str(script)], cwd=tmp_path, text=True, capture_output=True,
                              timeout=60, env={**os.environ, "ASCEND_CY_DEVICE": device})
        assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n0.0\n", "")


# ---- overlap ----


def test_copies_and_work_overlap(tmp_path):
    """With a slow link, three slots take clearly less than one, and about as much as the slowest of the three parts."""
    code = """
    import time
    import numpy as np, ascend_cy
    batches = [np.ones((250, 1000), "f4") for _ in range(12)]
    def seconds(slots):
        pipeline = ascend_cy.Pipeline(lambda x: ascend_cy.layernorm(x), slots=slots, copy=True)
        begin = time.perf_counter()
        for _ in pipeline(batches):
            pass
        return time.perf_counter() - begin
    print(min(seconds(1) for _ in range(3)) / min(seconds(3) for _ in range(3)))
    """
    script = tmp_path / "script.py"
    script.write_text("\n".join(line[4:] for line in code.splitlines()))
    # 1 MB each way at 50 MB/s: 20 ms in, 20 ms out.
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, text=True, capture_output=True, timeout=60,
                          env={**os.environ, "ASCEND_CY_DEVICE": "cpu", "ASCENDCL_CPU_LINK_BANDWIDTH": "50000000"})
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 1.4


# ---- arguments ----


@pytest.mark.parametrize("make, error, text", [
    (lambda: Pipeline(), TypeError, "functions must be at least one callable"),
    (lambda: Pipeline(3), TypeError, "functions must be callable, got int"),
    (lambda: Pipeline(double, slots=0), ValueError, "slots must be between 1 and 1024, got 0"),
    (lambda: Pipeline(double, slots=True), TypeError, "slots must be an integer, got bool"),
    (lambda: Pipeline(double, slots=2.0), TypeError, "slots must be an integer, got float"),
    (lambda: Pipeline(double, slots=10**30), ValueError, "slots must be between"),
    (lambda: Pipeline(double, copy=1), TypeError, "copy must be True, False or None, got int"),
    (lambda: Pipeline(double, device=99), ValueError, "device must be between"),
    (lambda: Pipeline(double)(3), TypeError, "batches must be an iterable of batches, got int"),
    (lambda: list(Pipeline(double)([np.ones(3, "c8")])), TypeError, "batch 0 must have a dtype that devices have, got complex64"),
    (lambda: list(Pipeline(double)([np.ma.ones(3)])), TypeError, "batch 0 must not be a masked array"),
])
def test_bad_arguments(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_closed_pipeline():
    pipeline = Pipeline(double)
    running = pipeline(numbers(5))
    assert firsts([next(running)]) == [0]
    pipeline.close()
    pipeline.close()
    assert pipeline.closed and "closed" in repr(pipeline)
    assert firsts(running) == [2, 4, 6, 8]
    with pytest.raises(ValueError, match="the pipeline is closed"):
        pipeline(numbers(1))


def test_it_says_what_it_is():
    pipeline = Pipeline(double, ascend_cy.layernorm, slots=2)
    assert repr(pipeline) == "<Pipeline double, layernorm slots=2 device=0>"
    assert (pipeline.functions, pipeline.slots, pipeline.copy, pipeline.device) == ((double, ascend_cy.layernorm), 2, None, 0)
    with pytest.raises(TypeError, match="cannot be pickled"):
        __import__("pickle").dumps(pipeline)


def test_other_devices(tmp_path):
    code = """
    import numpy as np, ascend_cy
    with ascend_cy.Device(1):
        pipeline = ascend_cy.Pipeline(lambda x: ascend_cy.vector_add(x, x))
    seen = []
    other = ascend_cy.Pipeline(lambda x: (seen.append(x.device), x)[1], device=1, copy=True)
    assert pipeline.device == 1
    assert [float(y[0]) for y in pipeline(np.full(3, i, "f4") for i in range(4))] == [0, 2, 4, 6]
    assert [float(y[0]) for y in other(np.full(3, i, "f4") for i in range(4))] == [0, 1, 2, 3]
    assert seen == [1] * 4 and ascend_cy.current_stream().device == 0
    """
    script = tmp_path / "script.py"
    script.write_text("\n".join(line[4:] for line in code.splitlines()))
    done = subprocess.run([sys.executable, "-W", "error", str(script)], cwd=tmp_path, text=True, capture_output=True, timeout=60,
                          env={**os.environ, "ASCEND_CY_DEVICE": "cpu", "ASCENDCL_CPU_DEVICES": "2"})
    assert (done.returncode, done.stderr) == (0, "")


def test_every_call_fails_once(quick_collections):
    """The right exception, nothing left, and the next run works."""
    embedded.require()
    batches = [np.random.default_rng(i).standard_normal((5, 40)).astype("f4") for i in range(4)]
    for copy in (None, True):
        with Pipeline(ascend_cy.layernorm, copy=copy, slots=2) as pipeline:
            wanted = [result.tobytes() for result in pipeline(batches)]
            gc.collect()
            ascend_cy.synchronize()
            ascend_cy.trim_memory()
            live = {name: count for name, count in ascend_cy.live_objects().items() if name != "streams"}
            with embedded.counted_calls() as calls:
                assert [result.tobytes() for result in pipeline(batches)] == wanted
                count = calls()
            assert count > 10
            failed = 0
            for k in range(1, count + 1):
                with embedded.faults(f"call=*,at={k},code=507899"):
                    try:
                        results = [result.tobytes() for result in pipeline(batches)]
                    except ascend_cy.AclError as error:
                        failed += 1
                        assert error.code == 507899
                        del error
                    else:
                        assert results == wanted, f"call {k} failed without an exception, and the result is another"
                gc.collect()
                ascend_cy.synchronize()
                ascend_cy.trim_memory()
                now = ascend_cy.live_objects()
                assert {name: now[name] for name in live} == live, f"call {k} leaked"
            assert failed > count // 3
            assert [result.tobytes() for result in pipeline(batches)] == wanted
