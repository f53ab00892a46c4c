# SPDX-License-Identifier: Apache-2.0
"""Futures of streams: awaited, waited for, cancelled, and told of failures."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import child
import numpy as np
import pytest

import ascend_cy


@pytest.fixture
def gate(stream):
    """Holds the stream up until it is set."""
    made = threading.Event()
    stream.add_callback(made.wait, 30)
    yield made
    made.set()
    stream.synchronize()


def test_it_is_done_when_the_work_has_passed(stream, gate):
    result = object()
    future = stream.future(result)
    assert isinstance(future, concurrent.futures.Future) and isinstance(future, ascend_cy.StreamFuture)
    assert not future.done()
    with pytest.raises(concurrent.futures.TimeoutError):
        future.result(timeout=0.05)
    gate.set()
    assert future.result(timeout=30) is result
    assert stream.future().result(timeout=30) is None


def test_await(stream):
    async def total(count):
        x = np.arange(20, dtype="f4").reshape(4, 5)
        with stream:
            arrays = [ascend_cy.vector_add(ascend_cy.asarray(x), ascend_cy.full((4, 5), i)) for i in range(count)]
        return [(await stream.future(array)).to_numpy()[0, 0] for array in arrays]

    assert asyncio.run(total(5)) == [0, 1, 2, 3, 4]


def test_many_streams_at_once():
    """One event loop waits for many streams, of which the first made is the last done."""

    async def run():
        streams = [ascend_cy.Stream() for _ in range(12)]
        ended = []

        async def one(number):
            assert await streams[number].future(number) == number
            ended.append(number)

        for number in reversed(range(12)):
            if number < 11:
                streams[number].wait(streams[number + 1])
            streams[number].add_callback(time.sleep, 0.005)
        await asyncio.gather(*(one(number) for number in range(12)))
        return ended

    assert sorted(asyncio.run(run())) == list(range(12))


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_callback_that_wants_to_exit_stops_no_other_future(stream, monkeypatch, error):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append((report.exc_type, report.object)))

    def leave(future):
        raise error

    gate = threading.Event()
    stream.add_callback(gate.wait, 30)
    futures = [stream.future(i) for i in range(3)]
    futures[0].add_done_callback(leave)
    gate.set()
    assert [each.result(30) for each in futures] == [0, 1, 2]
    assert seen[-1] == (error, futures[0])
    assert stream.future("later").result(30) == "later"


def test_that_is_reported_by_pythons_own_hook(tmp_path):
    code = """
import threading
import ascend_cy

def leave(future):
    raise SystemExit("of mine")

stream, gate = ascend_cy.Stream(), threading.Event()
stream.add_callback(gate.wait, 30)
futures = [stream.future(i) for i in range(2)]
futures[0].add_done_callback(leave)
gate.set()
assert futures[1].result(30) == 1
assert stream.future("later").result(30) == "later"
"""
    status, _, err = child.run(code, tmp_path)
    assert status == 0
    assert err.startswith("Exception ignored in: <StreamFuture at ") and err.endswith("SystemExit: of mine\n"), err


def test_a_done_callback_that_waits_for_its_own_thread_is_refused(stream, gate):
    """That of all futures of the stream. What is done is no wait, and other streams have threads of their own."""
    other, seen = ascend_cy.Stream(), []
    elsewhere = other.future("elsewhere")
    first, second = stream.future("first"), stream.future("second")

    def wait(future):
        seen.append(first.result())
        seen.append(elsewhere.result(30))
        for ask in (second.result, second.exception):
            with pytest.raises(RuntimeError, match="must not wait for another future of its stream"):
                ask()
            seen.append("refused")

    first.add_done_callback(wait)
    gate.set()
    assert second.result(30) == "second"
    assert seen == ["first", "elsewhere", "refused", "refused"]
    assert stream.future("later").result(30) == "later"


def test_the_loop_runs_meanwhile(stream, gate):
    async def run():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.002)
                ticks += 1
                if ticks == 5:
                    gate.set()

        ticker = asyncio.create_task(tick())
        await stream.future()
        ticker.cancel()
        return ticks

    assert asyncio.run(run()) >= 5


def test_with_the_tools_of_concurrent_futures(stream, gate):
    other = ascend_cy.Stream()
    slow, quick = stream.future("slow"), other.future("quick")
    done, pending = concurrent.futures.wait([slow, quick], timeout=30, return_when=concurrent.futures.FIRST_COMPLETED)
    assert (done, pending) == ({quick}, {slow})
    seen = []
    slow.add_done_callback(lambda future: seen.append(future.result()))
    gate.set()
    assert list(concurrent.futures.as_completed([slow], timeout=30)) == [slow]
    stream.future().result(timeout=30)  # behind the callback
    assert seen == ["slow"]


def test_cancelling(stream, gate):
    first, second = stream.future(1), stream.future(2)
    assert first.cancel() and first.cancelled()
    gate.set()
    assert second.result(timeout=30) == 2
    with pytest.raises(concurrent.futures.CancelledError):
        first.result(timeout=1)


def test_a_timeout_of_asyncio(stream, gate):
    async def run():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(stream.future(), 0.03)
        gate.set()
        return await stream.future("after")

    assert asyncio.run(run()) == "after"


def test_failures(kernels):
    stream = ascend_cy.Stream()
    good = stream.future("good")
    assert good.result(timeout=30) == "good"
    kernels.launch("fault", stream, 0, 507015)
    bad = stream.future()
    with pytest.raises(ascend_cy.KernelError, match="fault"):
        bad.result(timeout=30)
    assert isinstance(bad.exception(), ascend_cy.KernelError)

    async def run():
        kernels.launch("fault", stream, 0, 507015)
        with pytest.raises(ascend_cy.KernelError, match="fault"):
            await stream.future()
        return await stream.future("works again")

    assert asyncio.run(run()) == "works again"


def test_a_failure_reaches_all_that_wait_behind_it(kernels):
    """AscendCL keeps one failure of a stream, so nobody may be told that later work went well."""
    stream = ascend_cy.Stream()
    gate = threading.Event()
    stream.add_callback(gate.wait, 30)
    before = stream.future("before")
    kernels.launch("fault", stream, 0, 507015)
    behind = [stream.future(i) for i in range(5)]
    behind[2].cancel()
    gate.set()
    for future in [*behind[:2], *behind[3:]]:
        with pytest.raises(ascend_cy.KernelError, match="fault"):
            future.result(timeout=30)
    assert before.done()  # with or without the failure: it was there when it was looked for, or not
    assert stream.future("works again").result(timeout=30) == "works again"


def test_the_stream_may_be_closed_and_the_future_dropped(stream):
    held = ascend_cy.Stream()
    gate = threading.Event()
    held.add_callback(gate.wait, 30)
    future = held.future(7)
    closing = threading.Thread(target=held.close)
    closing.start()
    gate.set()
    closing.join()
    assert future.result(timeout=30) == 7
    with pytest.raises(ValueError, match="the stream is closed"):
        held.future()

    class Thing:
        pass

    thing = Thing()
    gone = weakref.ref(thing)
    stream.future(thing)
    del thing
    stream.future().result(timeout=30)
    gc.collect()
    assert gone() is None


def test_from_many_threads(stream):
    results = []

    def work(number):
        results.extend(stream.future((number, i)).result(timeout=30) for i in range(50))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(results) == [(n, i) for n in range(8) for i in range(50)]


def test_threads_end_when_nothing_is_waited_for(stream):
    def watching():
        return [thread for thread in threading.enumerate() if thread.name == "ascend_cy futures"]

    def ended():
        deadline = time.monotonic() + 20
        while watching() and time.monotonic() < deadline:
            time.sleep(0.05)
        return not watching()

    assert ended()
    for _ in range(20):
        stream.future().result(timeout=30)
    assert len(watching()) <= 2
    assert ended()


def test_exit_with_futures_pending(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import threading, ascend_cy
stream = ascend_cy.Stream()
stream.add_callback(threading.Event().wait, 0.5)
futures = [stream.future(i) for i in range(5)]
print("end")
""")
    done = subprocess.run([sys.executable, "-W", "error", str(script)], cwd=tmp_path, text=True, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


# ---- all devices ----


def test_synchronize_all(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import time
import ascend_cy
ascend_cy.synchronize_all()
assert not ascend_cy.is_initialized()
seen = []
streams = [ascend_cy.Stream(device=device) for device in (0, 2)]
with ascend_cy.Device(1):
    ascend_cy.zeros(3)
    ascend_cy.default_stream().add_callback(lambda: (time.sleep(0.1), seen.append(1)))
for stream in streams:
    stream.add_callback(lambda: (time.sleep(0.1), seen.append(2)))
ascend_cy.synchronize_all()
assert sorted(seen) == [1, 2, 2], seen
assert ascend_cy.current_stream() == ascend_cy.default_stream(0)
""")
    done = subprocess.run([sys.executable, "-W", "error", str(script)], cwd=tmp_path, text=True, capture_output=True, timeout=30,
                          env={**os.environ, "ASCEND_CY_DEVICE": "cpu", "ASCENDCL_CPU_DEVICES": "4"})
    assert (done.returncode, done.stderr) == (0, "")


def test_synchronize_all_reports_a_failure_and_waits_for_the_rest(kernels):
    bad, slow = ascend_cy.Stream(), ascend_cy.Stream()
    seen = []
    slow.add_callback(lambda: (time.sleep(0.1), seen.append(1)))
    kernels.launch("fault", bad, 0, 507015)
    with pytest.raises(ascend_cy.KernelError, match="fault"):
        ascend_cy.synchronize_all()
    assert seen == [1]
    ascend_cy.synchronize_all()
