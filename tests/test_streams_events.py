# SPDX-License-Identifier: Apache-2.0
"""Streams and events: order, overlap, callbacks, waiting, times; and that the host is never in the way."""

from __future__ import annotations

import gc
import pickle
import sys
import textwrap
import threading
import time
import weakref

import child
import embedded
import numpy as np
import pytest
from layernorm_reference import assert_layernorm, bits

import ascend_cy

# Bounds that tell a hang from a slow machine.
SOON = 30 * child.PATIENCE


def ramp(*shape):
    return (np.arange(np.prod(shape)) % 251 + 1).reshape(shape).astype("f4")


def in_threads(count, work):
    """Run work(number) in threads; the first exception is raised here."""
    errors = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


# ---- asynchronous with respect to the host ----


def test_a_launch_returns_while_the_kernel_runs(kernels, stream):
    target = ascend_cy.zeros(1, "int64")
    ascend_cy.synchronize()
    kernels.launch("slow_store", stream, 50_000_000, target.ptr, 7)
    assert not stream.query(), "the launch waited for the kernel"
    after_launch = np.asarray(target) if ascend_cy.device_info()["unified"] else None
    stream.synchronize()
    assert stream.query()
    assert target.to_numpy()[0] == 7
    del after_launch


def test_two_streams_overlap(kernels):
    """Two kernels that each wait for 60 ms: both are running at the same moment, shown by events, not by the clock."""
    first, second = ascend_cy.Stream(), ascend_cy.Stream()
    target = ascend_cy.zeros(2, "int64")
    ascend_cy.synchronize()
    events = [[s.record(ascend_cy.Event()) for s in (first, second)]]
    for number, stream in enumerate((first, second)):
        kernels.launch("slow_store", stream, 60_000_000, target.ptr + 8 * number, number + 1)
    events.append([s.record(ascend_cy.Event()) for s in (first, second)])
    ascend_cy.synchronize()
    assert target.to_numpy().tolist() == [1, 2]
    alone = [events[0][k].elapsed_time(events[1][k]) for k in range(2)]
    together = max(events[0][0].elapsed_time(events[1][k]) for k in range(2))
    assert min(alone) >= 59
    assert together < sum(alone) - 10, f"{alone} ms one after the other, {together} ms for both"


def test_streams_overlap_while_one_waits_for_the_host():
    """A stream held by a callback holds no other: the second finishes while the first has not begun."""
    gate = threading.Event()
    held, free = ascend_cy.Stream(), ascend_cy.Stream()
    held.add_callback(gate.wait, SOON)
    x = ascend_cy.asarray(ramp(300, 1000), stream=free)
    y = ascend_cy.layernorm(x, stream=free)
    free.synchronize()
    assert not held.query()
    gate.set()
    assert_layernorm(y.to_numpy(stream=free), ramp(300, 1000))
    held.synchronize()


def test_many_blocks_run_in_parallel_and_all_run(kernels, stream):
    target = ascend_cy.zeros(500, "int64")
    ascend_cy.synchronize()
    kernels.launch("slow_store", stream, 0, target.ptr, 5, blocks=500)
    assert (target.to_numpy(stream=stream) == 5).all()


def test_work_of_one_stream_is_in_order(kernels, stream):
    target = ascend_cy.zeros(1, "int64", stream=stream)
    seen = []
    for value in range(20):
        kernels.launch("slow_store", stream, 1_000_000 if value % 3 else 0, target.ptr, value)
        copied = target.copy(stream)
        stream.add_callback(seen.append, value)
        assert copied.to_numpy(stream=stream).tolist() == [value]
    stream.synchronize()
    assert seen == list(range(20))


def test_feeding_a_deep_queue_does_not_look_through_it(stream):
    """What is staged for queued work is not asked for again and again: the calls grow with the queue, not with its square."""
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    x = ascend_cy.zeros((4, 8), stream=stream)
    counts = []
    with embedded.counted_calls("aclrtQueryEventStatus") as count:
        for step in range(1000):
            x.fill(step, stream)
            if step in (499, 999):
                counts.append(count())
    gate.set()
    assert (x.to_numpy(stream=stream) == 999).all()
    assert counts[1] <= 20 * 1000, counts


def test_a_deep_queue_is_fed_without_waiting(stream):
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    x = ascend_cy.zeros((4, 8), stream=stream)
    for step in range(3000):
        x.fill(step, stream)
    assert not stream.query()
    gate.set()
    assert (x.to_numpy(stream=stream) == 2999).all()


def test_waiting_releases_the_gil(stream):
    """Another Python thread runs while one waits: it is what lets the wait end."""
    for wait in (stream.synchronize, ascend_cy.synchronize, lambda: stream.record().synchronize()):
        gate = threading.Event()
        stream.add_callback(gate.wait, SOON)
        opener = threading.Timer(0.02, gate.set)
        opener.start()
        wait()
        assert gate.is_set()
        opener.join()


def test_query_never_waits(stream):
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    event = stream.record()
    assert stream.query() is False and event.query() is False
    gate.set()
    stream.synchronize()
    assert stream.query() is True and event.query() is True


# ---- order between streams ----


@pytest.mark.parametrize("through", ["event", "stream"])
def test_one_stream_waits_for_another(kernels, through):
    first, second = ascend_cy.Stream(), ascend_cy.Stream()
    source = ascend_cy.zeros(1, "int64")
    ascend_cy.synchronize()
    kernels.launch("slow_store", first, 40_000_000, source.ptr, 9)
    second.wait(first.record() if through == "event" else first)
    target = ascend_cy.empty(1, "int64", stream=second)
    kernels.launch("slow_copy", second, 0, source.ptr, target.ptr, 2)
    assert not second.query()
    assert target.to_numpy(stream=second).tolist() == [9]
    assert first.query()


def test_wait_is_for_the_work_so_far():
    first, second = ascend_cy.Stream(), ascend_cy.Stream()
    gate = threading.Event()
    second.wait(first)
    first.add_callback(gate.wait, SOON)
    second.synchronize()
    gate.set()
    first.synchronize()


def test_waiting_for_an_event_that_was_never_recorded_is_nothing(stream):
    stream.wait(ascend_cy.Event())
    stream.wait(stream)
    stream.synchronize()


@pytest.mark.parametrize("other", [None, 3, "stream", object(), ascend_cy.Stream])
def test_wait_refuses_other_things(stream, other):
    with pytest.raises(TypeError, match="other must be an Event or a Stream, got"):
        stream.wait(other)


def test_an_event_recorded_again_stands_for_the_later_place(stream):
    event = ascend_cy.Event()
    event.record(stream)
    stream.synchronize()
    assert event.query()
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    event.record(stream)
    assert not event.query()
    gate.set()
    event.synchronize()
    assert event.query()


# ---- current stream ----


def test_the_current_stream_of_a_block():
    default = ascend_cy.default_stream()
    assert ascend_cy.current_stream() == default
    a, b = ascend_cy.Stream(), ascend_cy.Stream()
    with a as entered:
        assert entered is a
        assert ascend_cy.current_stream() == a
        with b:
            assert ascend_cy.current_stream() == b
            with a:
                assert ascend_cy.current_stream() == a
            assert ascend_cy.zeros(3).stream == b
        assert ascend_cy.current_stream() == a
    assert ascend_cy.current_stream() == default
    with pytest.raises(RuntimeError, match="mine"), a:
        raise RuntimeError("mine")
    assert ascend_cy.current_stream() == default


def test_every_thread_has_its_own_current_stream():
    barrier = threading.Barrier(4)

    def work(number):
        stream = ascend_cy.Stream()
        assert ascend_cy.current_stream() == ascend_cy.default_stream()
        with stream:
            barrier.wait(SOON)
            assert ascend_cy.current_stream() == stream
            assert ascend_cy.zeros(number + 1).stream == stream
            barrier.wait(SOON)
        assert ascend_cy.current_stream() == ascend_cy.default_stream()

    in_threads(4, work)


def test_a_block_does_not_wait(stream):
    gate = threading.Event()
    with stream:
        stream.add_callback(gate.wait, SOON)
    assert not stream.query()
    gate.set()


def test_closing_the_current_stream():
    stream = ascend_cy.Stream()
    with stream:
        stream.close()
        assert ascend_cy.zeros(3).to_numpy().tolist() == [0] * 3
    assert ascend_cy.current_stream() == ascend_cy.default_stream()


def test_the_default_stream_is_a_stream():
    default = ascend_cy.default_stream()
    assert default == ascend_cy.default_stream(0) and default.handle == 0 and default.device == 0
    assert "default" in repr(default)
    assert ascend_cy.zeros(3).stream == default
    default.close()
    assert ascend_cy.default_stream().query() in (True, False)


# ---- identity, closing, misuse ----


def test_streams_compare_by_what_they_are():
    a, b = ascend_cy.Stream(), ascend_cy.Stream()
    same = ascend_cy.Stream.from_handle(a.handle)
    assert a == a and a != b and a == same and hash(a) == hash(same) and a != 3
    assert len({a, b, same}) == 2
    assert f"0x{a.handle:x}" in repr(a)
    with a:
        assert ascend_cy.current_stream() == a


def test_foreign_streams_are_not_destroyed():
    class Owner:
        pass

    stream = ascend_cy.Stream()
    owner = Owner()
    gone = weakref.ref(owner)
    foreign = ascend_cy.Stream.from_handle(stream.handle, owner=owner)
    del owner
    array = ascend_cy.zeros(10, stream=foreign)
    assert array.stream == stream
    foreign.close()
    del foreign
    gc.collect()
    assert gone() is not None, "an array still uses the stream"
    assert not array.to_numpy().any()
    del array
    ascend_cy.synchronize()
    ascend_cy.trim_memory()
    ascend_cy.live_objects()  # owners are dropped by the next call
    assert gone() is None
    assert ascend_cy.zeros(3, stream=stream).to_numpy().tolist() == [0] * 3


@pytest.mark.parametrize(("handle", "kind", "message"), [
    (None, TypeError, "handle must be an integer address, got NoneType"), ("0", TypeError, "got str"),
    (True, TypeError, "got bool"), (-1, ValueError, "handle must be an address below 2\\*\\*64, got -1"), (1.0, TypeError, "got float"),
    (1 << 80, ValueError, "handle must be an address below"),
], ids=str)
def test_handles_that_cannot_be(handle, kind, message):
    with pytest.raises(kind, match=message):
        ascend_cy.Stream.from_handle(handle)


@pytest.mark.parametrize(("arguments", "kind", "message"), [
    (((-1,), {}), ValueError, "priority must be between 0 .* and 7, got -1"), (((8,), {}), ValueError, "got 8"),
    ((("high",), {}), TypeError, "priority must be an integer, got str"), (((0.5,), {}), TypeError, "got float"),
    (((True,), {}), TypeError, "got bool"), (((1 << 80,), {}), ValueError, "priority"),
    (((), {"device": 99}), ValueError, "device must be between 0 and .*, got 99"),
    (((), {"device": -1}), ValueError, "got -1"), (((), {"device": "0"}), TypeError, "device must be an integer or None, got str"),
    (((), {"device": True}), TypeError, "got bool"),
], ids=str)
def test_streams_that_cannot_be(arguments, kind, message):
    live = ascend_cy.live_objects()
    with pytest.raises(kind, match=message):
        ascend_cy.Stream(*arguments[0], **arguments[1])
    assert ascend_cy.live_objects() == live


def test_priorities():
    for priority in range(8):
        ascend_cy.Stream(priority).synchronize()
    ascend_cy.Stream(np.int64(3), device=np.int32(0)).synchronize()


STREAM_USES = {
    "synchronize": lambda s: s.synchronize(), "query": lambda s: s.query(), "record": lambda s: s.record(),
    "wait": lambda s: s.wait(ascend_cy.Event()), "waited for": lambda s: ascend_cy.default_stream().wait(s),
    "add_callback": lambda s: s.add_callback(print), "with": lambda s: s.__enter__(), "handle": lambda s: s.handle,
    "device": lambda s: s.device, "event": lambda s: ascend_cy.Event().record(s), "array": lambda s: ascend_cy.zeros(2, stream=s),
}


@pytest.mark.parametrize("use", STREAM_USES)
def test_use_of_a_closed_stream(use):
    stream = ascend_cy.Stream()
    stream.close()
    stream.close()
    assert stream.closed and "closed" in repr(stream)
    live = ascend_cy.live_objects()
    with pytest.raises(ValueError, match="stream is closed"):
        STREAM_USES[use](stream)
    assert ascend_cy.live_objects() == live


EVENT_USES = {
    "synchronize": lambda e: e.synchronize(), "query": lambda e: e.query(), "record": lambda e: e.record(),
    "recorded": lambda e: ascend_cy.default_stream().record(e), "waited for": lambda e: ascend_cy.default_stream().wait(e),
    "handle": lambda e: e.handle, "start": lambda e: e.elapsed_time(ascend_cy.Event()),
    "end": lambda e: ascend_cy.Event().elapsed_time(e),
}


@pytest.mark.parametrize("use", EVENT_USES)
def test_use_of_a_closed_event(use):
    event = ascend_cy.Event()
    event.close()
    event.close()
    assert event.closed and "closed" in repr(event)
    with pytest.raises(ValueError, match="event is closed"):
        EVENT_USES[use](event)


def test_streams_and_events_are_not_pickled():
    for obj in (ascend_cy.Stream(), ascend_cy.Event()):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(obj)


def test_initialising_twice():
    for obj in (ascend_cy.Stream(), ascend_cy.Event()):
        with pytest.raises(RuntimeError, match="initialised already"):
            obj.__init__()
    for kind in (ascend_cy.Stream, ascend_cy.Event):
        bare = kind.__new__(kind)
        assert bare.closed
        with pytest.raises(ValueError, match="closed"):
            bare.synchronize()


def test_closing_a_stream_lets_its_work_finish():
    done = []
    stream = ascend_cy.Stream()
    stream.add_callback(time.sleep, 0.03)
    stream.add_callback(done.append, 1)
    x = ascend_cy.full(1000, 2, stream=stream)
    stream.close()
    assert (x.to_numpy() == 2).all()
    del x
    ascend_cy.synchronize()
    deadline = time.monotonic() + SOON
    while not done and time.monotonic() < deadline:
        time.sleep(0.001)
    assert done == [1]


def test_dropping_streams_with_work_queued():
    done = []
    for number in range(50):
        stream = ascend_cy.Stream()
        stream.add_callback(done.append, number)
        if number % 2:
            del stream
        else:
            stream.close()
    deadline = time.monotonic() + SOON
    while len(done) < 50 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert sorted(done) == list(range(50))


def test_very_many_streams_and_events():
    for _ in range(3):
        streams = [ascend_cy.Stream() for _ in range(60)]
        events = [ascend_cy.Event() for _ in range(200)]
        for number, event in enumerate(events):
            event.record(streams[number % 60])
        for event in events:
            event.synchronize()
        assert ascend_cy.live_objects()["events"] >= 200


# ---- RT-1: reuse across streams ----


def test_memory_is_not_reused_under_a_kernel_that_reads_it(kernels):
    a, b = ascend_cy.Stream(), ascend_cy.Stream()
    target = ascend_cy.zeros(64)
    ascend_cy.synchronize()
    wrong = 0
    for turn in range(1000):
        with a:
            source = ascend_cy.full(64, turn)
            kernels.launch("slow_copy", a, 100_000, source.ptr, target.ptr, 64)
            del source
        with b:
            other = ascend_cy.full(64, -1)
        wrong += not (target.to_numpy(stream=a) == turn).all()
        del other
    assert wrong == 0


@pytest.mark.parametrize("free", ["del", "close", "thread", "collector"])
def test_memory_used_on_a_stream_that_is_not_its_own(free):
    """Made on one stream, read on another by our own operators, freed by anyone: recorded without being asked."""
    gate = threading.Event()
    home, reader, third = ascend_cy.Stream(), ascend_cy.Stream(), ascend_cy.Stream()
    with home:
        x = ascend_cy.asarray(ramp(50, 100))
        gamma = ascend_cy.full(100, 2)
    home.synchronize()
    reader.add_callback(gate.wait, SOON)
    y = ascend_cy.layernorm(x, gamma, stream=reader)
    if free == "close":
        x.close()
        gamma.close()
    elif free == "thread":
        box = [x, gamma]
        del x, gamma
        in_threads(1, lambda _: box.clear())
    elif free == "collector":
        cycle = [x, gamma]
        cycle.append(cycle)
        del x, gamma, cycle
        gc.collect()
    else:
        del x, gamma
    others = []
    for stream in (home, third, ascend_cy.default_stream()):
        with stream:
            others += [ascend_cy.full((50, 100), np.nan) for _ in range(3)]
            others += [ascend_cy.full(100, np.nan) for _ in range(3)]
    home.synchronize()
    third.synchronize()
    gate.set()
    assert_layernorm(y.to_numpy(stream=reader), ramp(50, 100), np.full(100, 2, "f4"))


def test_memory_given_back_and_used_on_another_stream_before_its_own_has_passed(kernels):
    """A block freed on a busy stream is handed out again there; using it elsewhere must still wait for that stream."""
    busy, other = ascend_cy.Stream(), ascend_cy.Stream()
    target = ascend_cy.zeros((64, 64))
    x = ascend_cy.asarray(ramp(64, 64))
    ascend_cy.synchronize()
    for _ in range(5):
        with busy:
            source = ascend_cy.full((64, 64), 3)
            kernels.launch("slow_copy", busy, 20_000_000, source.ptr, target.ptr, 64 * 64)
            del source
            out = ascend_cy.empty((64, 64))  # may be the same memory, behind the copy on this stream
        ascend_cy.layernorm(x, out=out, stream=other)
        assert_layernorm(out.to_numpy(stream=other), ramp(64, 64))
        assert (target.to_numpy(stream=busy) == 3).all()
        del out


def test_work_on_another_stream_follows_the_work_that_made_its_arguments():
    """The arguments are still being written on their own stream when the operator is called on another."""
    home, other = ascend_cy.Stream(), ascend_cy.Stream()
    with home:
        home.add_callback(time.sleep, 0.03)
        x = ascend_cy.asarray(ramp(9, 100), stream=home) if False else ascend_cy.full((9, 100), 2)
        x[:, ::2] = ascend_cy.full((9, 50), 4)
    y = ascend_cy.layernorm(x, stream=other)
    expected = np.full((9, 100), 2, "f4")
    expected[:, ::2] = 4
    assert_layernorm(y.to_numpy(stream=other), expected)


def test_recording_by_hand(kernels):
    home, reader = ascend_cy.Stream(), ascend_cy.Stream()
    target = ascend_cy.zeros(1000)
    with home:
        x = ascend_cy.full(1000, 6)
    home.synchronize()
    kernels.launch("slow_copy", reader, 30_000_000, x.ptr, target.ptr, 1000)
    x.record_stream(reader)
    del x
    with home:
        others = [ascend_cy.full(1000, -1) for _ in range(4)]
        home.synchronize()
    assert (target.to_numpy(stream=reader) == 6).all()
    del others
    for bad in (None, 3):
        if bad is not None:
            with pytest.raises(TypeError, match="stream"):
                target.record_stream(bad)


def test_two_threads_with_their_own_streams():
    def work(number):
        with ascend_cy.Stream():
            for turn in range(150):
                x = ascend_cy.full((8, 16), number + 10 * turn)
                x[:, 0] = 0.0
                y = ascend_cy.layernorm(x)
                del x
                other = ascend_cy.full((8, 16), -7)
                expected = np.full((8, 16), number + 10 * turn, "f4")
                expected[:, 0] = 0
                assert_layernorm(y.to_numpy(), expected)
                assert (other.to_numpy() == -7).all()

    in_threads(4, work)


def test_a_chain_of_calls_that_keeps_nothing():
    """A thousand asynchronous calls from a loop: the values are right, and the memory in use stays flat."""
    host = ramp(32, 100)
    x = ascend_cy.asarray(host)
    base = ascend_cy.memory_stats()["in_use"]
    for _ in range(1000):
        x = ascend_cy.layernorm(x[:, ::-1], eps=0.5)
        host = ascend_cy.layernorm(host[:, ::-1], eps=0.5)
        assert ascend_cy.memory_stats()["in_use"] <= 4 * base
    assert bits(x.to_numpy()) == bits(host)


def test_host_calls_from_many_threads():
    expected = {number: bits(ascend_cy.layernorm(ramp(50, 60 + number))) for number in range(8)}

    def work(number):
        for _ in range(100):
            assert bits(ascend_cy.layernorm(ramp(50, 60 + number))) == expected[number]

    in_threads(8, work)


# ---- RT-2: callbacks ----


def test_callbacks_run_once_and_in_order():
    streams = [ascend_cy.Stream() for _ in range(4)]
    seen = [[] for _ in streams]
    stop = threading.Event()

    def feed(number):
        with streams[number] as stream:
            for turn in range(200):
                x = ascend_cy.full(64, turn)
                stream.add_callback(seen[number].append, turn)
                y = x.copy()
                del x, y

    def disturb():
        while not stop.is_set():
            ascend_cy.synchronize()
            ascend_cy.Stream().close()
            ascend_cy.zeros(1000).close()
            ascend_cy.memory_stats()

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        in_threads(4, feed)
        for stream in streams:
            stream.synchronize()
    finally:
        stop.set()
        disturber.join(SOON)
    assert not disturber.is_alive()
    assert seen == [list(range(200))] * 4


def test_an_exception_in_a_callback_is_reported_and_harms_nothing(stream, monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def bad(number):
        raise ZeroDivisionError(f"number {number}")

    seen = []
    for number in range(3):
        stream.add_callback(bad, number)
        stream.add_callback(seen.append, number)
    x = ascend_cy.full(10, 4, stream=stream)
    stream.synchronize()
    assert seen == [0, 1, 2]
    assert (x.to_numpy(stream=stream) == 4).all()
    assert [str(report.exc_value) for report in reported] == ["number 0", "number 1", "number 2"]
    assert all(report.exc_type is ZeroDivisionError and report.object is bad for report in reported)
    reported.clear()


def test_pythons_own_report_of_an_exception_in_a_callback(tmp_path):
    """With the hook that Python has: it takes nothing but its own reports."""
    code = """
import ascend_cy

def bad():
    raise ZeroDivisionError("of mine")

stream = ascend_cy.Stream()
stream.add_callback(bad)
stream.synchronize()
"""
    status, _, err = child.run(code, tmp_path, timeout=SOON)
    assert status == 0
    assert err.startswith("Exception ignored in: <function bad at 0x") and err.endswith("ZeroDivisionError: of mine\n"), err
    assert err.count("Traceback") == 1 and "in bad" in err, err


def test_callbacks_are_refused_when_they_cannot_be_called(stream):
    for bad in (None, 3, "print"):
        with pytest.raises(TypeError, match="function must be callable, got"):
            stream.add_callback(bad)


def test_a_callback_keeps_its_arguments_and_lets_them_go(stream):
    class Thing:
        pass

    thing = Thing()
    gone = weakref.ref(thing)
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    stream.add_callback(lambda held: None, thing)
    del thing
    gc.collect()
    assert gone() is not None
    gate.set()
    stream.synchronize()
    deadline = time.monotonic() + SOON
    while gone() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert gone() is None


def test_a_callback_runs_off_the_callers_thread(stream):
    names = []
    stream.add_callback(lambda: names.append(threading.get_ident()))
    stream.synchronize()
    assert names and names[0] != threading.get_ident()


def test_later_work_waits_for_a_callback(stream):
    order = []
    stream.add_callback(lambda: (time.sleep(0.03), order.append("callback")))
    event = stream.record()
    event.synchronize()
    order.append("event")
    assert order == ["callback", "event"]


def test_waiting_does_not_last_while_others_enqueue(stream):
    """What is enqueued later is not waited for, and so a wait ends where another thread keeps the stream busy."""
    x = ascend_cy.zeros(1 << 20, stream=stream)
    room, stop = threading.Semaphore(20), threading.Event()

    def work():
        time.sleep(0.02)
        room.release()

    def keep_busy():
        while not stop.is_set():
            if room.acquire(timeout=0.1):
                stream.add_callback(work)

    worker = threading.Thread(target=keep_busy)
    worker.start()
    try:
        for wait in (stream.synchronize, x.to_numpy):
            time.sleep(0.2)
            begun = time.monotonic()
            wait()
            assert time.monotonic() - begun < SOON
            assert not stream.query()  # 0.4 s of work, more than the slices of a wait are long
    finally:
        stop.set()
        worker.join(SOON)
    assert not worker.is_alive()


# What a callback does with the last reference to a stream that has work left. Waiting for that work there would end all
# callbacks of the process: it is the thread that runs them.
DROPS = {
    "a cycle that the garbage collection finds": """
        gc.enable()

        class Job:
            def __init__(self):
                self.stream = ascend_cy.Stream()
                self.cycle = self
                self.stream.add_callback(time.sleep, 0.05)
                self.stream.add_callback(work)

        def work():
            [[] for _ in range(200_000)]
            done.append(1)

        Job()
    """,
    "the arguments of the callback": """
        def work(stream):
            time.sleep(0.05)
            done.append(1)

        stream = ascend_cy.Stream()
        stream.add_callback(work, stream)
        stream.add_callback(time.sleep, 0.05)
        del stream
    """,
    "a stream that waits for the one of the callback": """
        class Node:
            pass

        def work():
            time.sleep(0.05)
            gc.collect()
            done.append(1)

        node = Node()
        node.cycle = node
        node.stream = ascend_cy.Stream()
        other.add_callback(work)
        node.stream.wait(other)
        del node
    """,
    "close in the stream's own callback": """
        def work(stream):
            time.sleep(0.05)
            stream.close()
            stream.close()
            done.append(stream.closed)

        stream = ascend_cy.Stream()
        stream.add_callback(work, stream)
        stream.add_callback(time.sleep, 0.05)
        del stream
    """,
    "an array that is the last on its stream": """
        def work(held):
            time.sleep(0.05)
            held.clear()
            done.append(1)

        stream = ascend_cy.Stream()
        stream.add_callback(work, [ascend_cy.zeros(1000, stream=stream)])
        stream.add_callback(time.sleep, 0.05)
        del stream
    """,
}


@pytest.mark.parametrize("drop", DROPS)
def test_a_stream_that_goes_in_a_callback_is_not_waited_for(tmp_path, drop):
    code = """
import gc, time
import ascend_cy

gc.disable()
done = []
other = ascend_cy.Stream()
before = ascend_cy.live_objects()["streams"]
""" + textwrap.dedent(DROPS[drop]) + """
deadline = time.monotonic() + float(SOON)
while not done and time.monotonic() < deadline:
    time.sleep(0.001)
other.add_callback(done.append, 2)
other.synchronize()
ascend_cy.synchronize()
assert done[-1] == 2 and len(done) == 2, done
while ascend_cy.live_objects()["streams"] != before and time.monotonic() < deadline:
    time.sleep(0.001)
assert ascend_cy.live_objects()["streams"] == before
"""
    child.check(code.replace("float(SOON)", str(SOON / 2)), tmp_path, timeout=SOON)


def test_a_stream_that_went_in_the_last_callback_does_not_delay_the_end(tmp_path):
    code = """
import time
import ascend_cy

stream = ascend_cy.Stream()
stream.add_callback(lambda mine: time.sleep(0.05), stream)
del stream
time.sleep(0.2)
"""
    child.check(code, tmp_path, timeout=SOON)


# What a callback that waits could wait for is itself.
WAITS = {
    "its own stream": "stream.synchronize()",
    "an event behind it": "behind.synchronize()",
    "the device": "ascend_cy.synchronize()",
    "all devices": "ascend_cy.synchronize_all()",
    "an array of its stream": "array.to_numpy()",
    "a stream behind its own": "follower.synchronize()",
    "an operator on its stream": "with stream: ascend_cy.layernorm(rows)",
    "a small operator on another stream": "ascend_cy.layernorm(rows[:1, :100])",
    "the sum of ndarrays": "ascend_cy.vector_add(rows, rows, out=rows)",
    "the product of ndarrays": "ascend_cy.matmul(rows[:50, :60], rows[:60, :70])",
    "the gradient of ndarrays": "ascend_cy.layernorm_backward(rows, rows, rows[:, 0].copy(), rows[:, 1].copy())",
    "a future": "future.result()",
    "a future, with a limit": "future.exception(timeout=60)",
    "the end of a recording": "recording.__exit__(None, None, None)",
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_callback_that_waits_is_refused(tmp_path, wait):
    code = f"""
import threading
import numpy as np
import ascend_cy, ascend_cy.profiler

stream, follower, behind = ascend_cy.Stream(), ascend_cy.Stream(), ascend_cy.Event()
array, rows = ascend_cy.zeros(1000, stream=stream), np.ones((2000, 3000), np.float32)
recording = ascend_cy.profiler.profile()
recording.__enter__()
ready, seen = threading.Event(), []

def work():
    ready.wait({SOON})
    try:
        {WAITS[wait]}
    except ascend_cy.AclError as error:
        seen.append(error)

stream.add_callback(work)
behind.record(stream)
follower.wait(stream)
array.fill(1, stream)
future = stream.future()
ready.set()
stream.synchronize()
[error] = seen
assert "a callback must not wait" in str(error), error
assert (array.to_numpy() == 1).all() and (rows == 1).all()
ascend_cy.synchronize_all()
assert future.result() is None
recording.__exit__(None, None, None)
"""
    child.check(code, tmp_path, timeout=SOON)


def test_a_callback_may_ask_what_has_passed_and_allocate(tmp_path):
    """Waits that are over before they begin; and memory that would have to be waited for is out of memory."""
    code = f"""
import ascend_cy

stream, other = ascend_cy.Stream(), ascend_cy.Stream()
pool = ascend_cy.MemoryPool(limit=4 << 20)
with pool, stream:
    held = ascend_cy.zeros(3 << 20, "u1")
event = other.record()
event.synchronize()
seen = []

def work():
    global held
    event.synchronize()
    other.synchronize()
    with pool, other:
        for size in (1 << 20, 2 << 20):
            try:
                seen.append(ascend_cy.empty(size, "u1", stream=other).nbytes)
            except ascend_cy.DeviceMemoryError as error:
                seen.append(error)
        pool.trim()
    ascend_cy.trim_memory()
    ascend_cy.empty_pinned(1 << 20)[:] = 1

stream.add_callback(work)
held.record_stream(stream)
del held
stream.synchronize()
assert seen[0] == 1 << 20 and isinstance(seen[1], MemoryError) and "a callback must not wait" in str(seen[1]), seen
with pool:
    assert ascend_cy.empty(4 << 20, "u1", stream=other).nbytes == 4 << 20
"""
    child.check(code, tmp_path, timeout=SOON)


def test_a_callback_is_not_kept_by_threads_that_wait_for_memory_behind_it(tmp_path):
    """They stand in line for memory; the callback, which they wait for, does not."""
    code = f"""
import threading, time
import ascend_cy

stream, other, ready, told = ascend_cy.Stream(), ascend_cy.Stream(), threading.Event(), threading.Event()
ascend_cy.set_memory_limit(2 << 20)
held = [ascend_cy.empty(3 << 19, "u1", stream=other)]
seen = []

def work():
    ready.wait({SOON})
    time.sleep(0.5)
    for call in (lambda: ascend_cy.empty(1 << 20, "u1", stream=other), ascend_cy.trim_memory):
        try:
            seen.append(call())
        except ascend_cy.DeviceMemoryError as error:
            seen.append(error)
    told.set()

def want():
    while not told.is_set():
        array = ascend_cy.empty(3 << 19, "u1", stream=other)

stream.add_callback(work)
held[0].fill(1, stream)
held.clear()
threads = [threading.Thread(target=want) for _ in range(8)]
for thread in threads:
    thread.start()
ready.set()
begun = time.perf_counter()
assert told.wait({SOON})
took = time.perf_counter() - begun - 0.5
ascend_cy.set_memory_limit(None)
for thread in threads:
    thread.join()
assert isinstance(seen[0], MemoryError) and "a callback must not wait" in str(seen[0]) and seen[1] is None, seen
assert took < 0.8 * {child.PATIENCE}, took
"""
    child.check(code, tmp_path, timeout=SOON)


def test_memory_of_others_that_goes_in_a_callback_is_not_waited_for(tmp_path):
    """Not even where no callback can be had that would hand it back."""
    embedded.require()
    code = f"""
import threading, weakref
import numpy as np
import ascend_cy, embedded

class Owner:
    pass

rows, owner, stream = np.zeros(1000, np.float32), Owner(), ascend_cy.Stream()
gone = threading.Event()
weakref.finalize(owner, gone.set)
held = [ascend_cy.from_pointer(rows.ctypes.data, 1000, "float32", owner=owner, stream=stream)]
del owner
enqueued, seen = threading.Event(), []

def work():
    enqueued.wait({SOON})
    with embedded.faults("call=aclrtLaunchHostFunc,times=always"):
        held.clear()
    seen.append(gone.is_set())

stream.add_callback(work)
held[0].fill(1)  # on the default stream, behind the callback
enqueued.set()
ascend_cy.synchronize()
assert seen == [False], "given back while work used it"
ascend_cy.live_objects()
assert gone.wait({SOON}) and (rows == 1).all()
"""
    child.check(code, tmp_path, timeout=SOON)


def test_a_callback_that_could_not_be_enqueued_never_runs(stream):
    embedded.require()
    seen = []
    arguments = object()
    before = sys.getrefcount(arguments)
    for name in ("aclrtLaunchHostFunc", "aclrtLaunchCallback"):
        with embedded.faults(f"call={name},times=always"):
            try:
                stream.add_callback(seen.append, arguments)
            except ascend_cy.AclError as error:
                assert error.function == name
                break
    else:
        pytest.fail("the fault was not met")
    stream.synchronize()
    assert not seen
    assert sys.getrefcount(arguments) == before


# ---- RT-5: event times ----


def test_times_between_events(kernels, stream):
    start, end = ascend_cy.Event(), ascend_cy.Event()
    begun = time.perf_counter()
    start.record(stream)
    kernels.launch("slow_store", stream, 50_000_000, 0 or ascend_cy_target().ptr, 1)
    end.record(stream)
    end.synchronize()
    wall = (time.perf_counter() - begun) * 1e3
    elapsed = start.elapsed_time(end)
    assert isinstance(elapsed, float)
    assert 49 <= elapsed <= wall + 1
    assert elapsed >= wall / 2 or wall > 100, (elapsed, wall)
    assert start.elapsed_time(start) == 0


_target = []


def ascend_cy_target():
    return _target[0]


@pytest.fixture(autouse=True)
def scratch():
    """Device memory for kernels whose result nobody reads."""
    _target[:] = [ascend_cy.zeros(8, "int64")]
    ascend_cy.synchronize()
    yield
    _target.clear()


def test_times_are_never_negative(stream):
    events = []
    for _ in range(50):
        events.append(stream.record())
        ascend_cy.zeros(10, stream=stream)
    stream.synchronize()
    for first, second in zip(events, events[1:], strict=False):
        assert first.elapsed_time(second) >= 0
    assert events[0].elapsed_time(events[-1]) >= events[0].elapsed_time(events[1])


def test_times_of_events_that_were_never_recorded(stream):
    never, done = ascend_cy.Event(), stream.record()
    stream.synchronize()
    for start, end in ((never, done), (done, never), (never, never)):
        which = "start" if start is never else "end"
        with pytest.raises(ValueError, match=f"the {which} event was not recorded: call its record"):
            start.elapsed_time(end)


def test_times_of_events_that_have_not_finished(stream):
    done = stream.record()
    stream.synchronize()
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    pending = stream.record()
    for start, end in ((done, pending), (pending, pending)):
        with pytest.raises(ascend_cy.AclError, match="not finished") as caught:
            start.elapsed_time(end)
        assert "not recorded" not in str(caught.value)
    gate.set()
    stream.synchronize()
    assert done.elapsed_time(pending) >= 0


def test_times_of_events_made_without_timing(stream):
    plain = ascend_cy.Event(timing=False)
    plain.record(stream)
    timed = stream.record()
    stream.synchronize()
    for start, end in ((plain, timed), (timed, plain)):
        with pytest.raises(ascend_cy.AclError, match="timing|TIME_LINE") as caught:
            start.elapsed_time(end)
        assert "not recorded" not in str(caught.value) and "not finished" not in str(caught.value)
    stream.wait(plain)
    assert plain.query()


@pytest.mark.parametrize("end", [None, 3, "event", object()])
def test_times_up_to_other_things(end):
    with pytest.raises(TypeError, match="end"):
        ascend_cy.Event().elapsed_time(end)


def test_an_event_that_was_never_recorded_has_passed():
    event = ascend_cy.Event()
    assert event.query() is True
    event.synchronize()


@pytest.mark.parametrize(("kwargs", "kind"), [({"device": 99}, ValueError), ({"device": "0"}, TypeError), ({"device": -1}, ValueError)])
def test_events_that_cannot_be(kwargs, kind):
    with pytest.raises(kind, match="device must be"):
        ascend_cy.Event(**kwargs)
    with pytest.raises(TypeError):
        ascend_cy.Event(True)


def test_record_makes_or_takes_an_event(stream):
    event = ascend_cy.Event()
    assert stream.record(event) is event
    assert isinstance(stream.record(), ascend_cy.Event)
    with pytest.raises(TypeError, match="event"):
        stream.record("event")
    event.record()  # on the current stream
    event.synchronize()


# ---- faults ----


# ---- several devices are asked for by number only ----


def test_questions_about_devices():
    info = ascend_cy.device_info()
    assert info["kind"] in ("npu", "cpu", "sim")
    assert info["device_count"] == ascend_cy.device_count() >= 1
    assert set(info) == {"kind", "requested", "library", "reason", "tried", "unified", "device_count"}
    assert ascend_cy.has("aclrtMalloc") is True
    assert ascend_cy.has("aclrtNoSuchFunction") is False
    with pytest.raises(TypeError, match="function must be a string, got int"):
        ascend_cy.has(3)
    for ask in (ascend_cy.memory_stats, ascend_cy.default_stream, ascend_cy.trim_memory):
        keyword = {} if ask is not ascend_cy.trim_memory else {"device": 99}
        with pytest.raises(ValueError, match="device must be between 0 and"):
            ask(**keyword) if keyword else ask(99)


def test_live_objects_count_what_lives():
    before = ascend_cy.live_objects()
    stream, event, array, pinned = ascend_cy.Stream(), ascend_cy.Event(), ascend_cy.empty(1000), ascend_cy.empty_pinned(1000)
    after = ascend_cy.live_objects()
    grown = {name: after[name] - before[name] for name in after}
    assert (grown["streams"], grown["events"], grown["buffers"], grown["pinned"]) == (1, 1, 1, 1)
    assert grown["buffer_bytes"] >= 4000 and grown["pinned_bytes"] >= 4000
    array.close()
    event.close()
    stream.close()
    del pinned
    assert ascend_cy.live_objects() == before


def test_bits_of_results_on_streams_are_those_of_the_host_call():
    x = ramp(33, 65)
    results = []

    def work(_):
        with ascend_cy.Stream():
            results.append(bits(ascend_cy.layernorm(ascend_cy.asarray(x)).to_numpy()))

    in_threads(4, work)
    assert set(results) == {bits(ascend_cy.layernorm(x))}


# ---- what is left of a closed stream; blocks that are left without having been entered ----


def test_a_closed_stream_keeps_its_place_in_sets_and_dictionaries():
    stream = ascend_cy.Stream()
    held, number = {stream: 1}, hash(stream)
    stream.close()
    assert hash(stream) == number and held[stream] == 1 and stream in held
    assert stream == stream and stream != ascend_cy.default_stream()


@pytest.mark.parametrize("make", [ascend_cy.Stream, lambda: ascend_cy.Device(0)], ids=["Stream", "Device"])
def test_leaving_a_block_that_was_not_entered(make):
    one, other = make(), make()
    with pytest.raises(RuntimeError, match="not entered"):
        one.__exit__(None, None, None)
    with one:
        with pytest.raises(RuntimeError, match="not entered"):
            other.__exit__(None, None, None)
        if isinstance(one, ascend_cy.Stream):
            assert ascend_cy.current_stream() == one
    assert ascend_cy.current_stream() == ascend_cy.default_stream()


def test_a_block_is_entered_twice():
    one, other = ascend_cy.Stream(), ascend_cy.Stream()
    with one, other, one:
        assert ascend_cy.current_stream() == one
        one.__exit__(None, None, None)
        assert ascend_cy.current_stream() == other
        one.__enter__()
    assert ascend_cy.current_stream() == ascend_cy.default_stream()


@pytest.mark.parametrize("moment", ["synchronize", "close", "wait", "to_numpy", "host call", "trim_memory", "live_objects"])
def test_when_a_kept_reference_goes(moment):
    """As docs/streams.md says: not by itself, but at the next such call after the work."""
    stream, gate = ascend_cy.Stream(), threading.Event()
    array = ascend_cy.zeros(1000)
    ascend_cy.synchronize()
    pinned = ascend_cy.empty_pinned(1000)
    pinned[:] = 3
    kept = weakref.ref(pinned)
    stream.add_callback(gate.wait, 60)
    array.copy_from(pinned, stream)
    event = stream.record()
    del pinned
    gate.set()
    while not event.query():
        time.sleep(0.001)
    assert kept() is not None
    {"synchronize": ascend_cy.synchronize, "close": ascend_cy.Stream().close, "wait": event.synchronize, "to_numpy": array.to_numpy,
     "host call": lambda: ascend_cy.layernorm(np.ones((2, 3), "f4")), "trim_memory": ascend_cy.trim_memory,
     "live_objects": ascend_cy.live_objects}[moment]()
    assert kept() is None
    assert (array.to_numpy() == 3).all()
    stream.close()
