# SPDX-License-Identifier: Apache-2.0
"""Recordings: what ran, on which stream, when; and what the vendor's tool library is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import embedded
import numpy as np
import pytest

import ascend_cy
from ascend_cy import profiler


def test_what_runs_is_a_range(stream):
    host = np.ones((64, 256), "f4")
    with profiler.profile() as recording, stream:
        x = ascend_cy.asarray(host)
        y = ascend_cy.layernorm(x)
        ascend_cy.vector_add(x, y)
        x.T.copy()
        x.fill(3)
        y.to_numpy()
    names = [each.name for each in recording.ranges]
    assert names == ["copy to device", "layernorm_fp32", "vector_add_fp32", "copy", "fill", "copy to host"]
    assert recording.lost == 0
    assert {each.stream for each in recording.ranges} == {stream.handle} and {each.device for each in recording.ranges} == {0}
    for each in recording.ranges:
        # Events of a device have a resolution of a microsecond here.
        assert each.begin <= each.end and each.enqueued <= each.end + 2 and each.duration >= 0
    for before, after in zip(recording.ranges, recording.ranges[1:], strict=False):
        assert before.end <= after.begin + 2


def test_nothing_is_recorded_outside():
    ascend_cy.zeros(9)
    with profiler.profile() as recording:
        pass
    ascend_cy.zeros(9)
    assert recording.ranges == []
    with profiler.profile() as recording:
        ascend_cy.zeros(9)
    assert [each.name for each in recording.ranges] == ["fill"]


def test_durations_are_those_of_the_device():
    embedded.require()
    with embedded.slow_kernels(30), profiler.profile() as recording:
        ascend_cy.layernorm(ascend_cy.zeros((4, 8)))
    kernel = next(each for each in recording.ranges if each.name == "layernorm_fp32")
    assert 30e3 <= kernel.duration
    assert kernel.begin - kernel.enqueued < kernel.duration


def test_annotations(stream):
    with profiler.profile() as recording:
        with profiler.annotate("outer", stream):
            with profiler.annotate("inner", stream):
                ascend_cy.zeros(5, stream=stream)
            ascend_cy.zeros(5, stream=stream)
    ranges = {each.name: each for each in recording.ranges}
    assert set(ranges) == {"outer", "inner", "fill"}
    assert ranges["outer"].begin <= ranges["inner"].begin and ranges["inner"].end <= ranges["outer"].end + 2
    with profiler.annotate("nobody records"):
        pass
    with pytest.raises(ValueError, match="the stream is closed"), profiler.annotate("closed", closed_stream()):
        pass


def closed_stream():
    made = ascend_cy.Stream()
    made.close()
    return made


def test_one_at_a_time():
    with profiler.profile() as recording:
        with pytest.raises(ascend_cy.AclError, match="a recording runs already"), profiler.profile():
            pass
        ascend_cy.zeros(3)
    assert len(recording.ranges) == 1


def test_many_ranges_take_few_events(stream):
    """A long recording gives its events back as it goes."""
    embedded.require()
    with embedded.counted_calls("aclrtCreateEventExWithFlag") as made, profiler.profile() as recording:
        for _ in range(5000):
            ascend_cy.zeros(3, stream=stream)
        created = made()
    assert len(recording.ranges) == 5000 and recording.lost == 0
    assert created < 4000


def test_threads_and_streams():
    def work():
        with ascend_cy.Stream():
            for _ in range(50):
                ascend_cy.layernorm(ascend_cy.zeros((3, 4)))

    with profiler.profile() as recording:
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert len(recording.ranges) == 400 and recording.lost == 0


def test_failing_events_lose_ranges_and_nothing_else():
    embedded.require()
    with profiler.profile() as recording:
        with embedded.faults("call=aclrtRecordEvent,times=always"):
            x = ascend_cy.full(5, 3)
            assert (ascend_cy.vector_add(x, x).to_numpy() == 6).all()
        ascend_cy.zeros(5)
    assert recording.lost == 3
    assert [each.name for each in recording.ranges] == ["fill"]


def test_a_trace_for_perfetto(tmp_path):
    path = tmp_path / "trace.json"
    pipeline = ascend_cy.Pipeline(ascend_cy.layernorm, copy=True)
    with profiler.profile() as recording:
        for _ in pipeline(np.ones((20, 30), "f4") for _ in range(4)):
            pass
    recording.save(path)
    events = json.loads(path.read_text())["traceEvents"]
    work = [event for event in events if event["ph"] == "X"]
    assert len(work) == 12 and min(event["ts"] for event in work) == 0
    assert {event["name"] for event in work} == {"copy to device", "layernorm_fp32", "copy to host"}
    threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert len(threads) == 3 and {event["tid"] for event in work} == set(threads)
    assert sorted(os.listdir(tmp_path)) == ["trace.json"]
    with pytest.raises(OSError):
        recording.save(tmp_path / "nowhere" / "trace.json")


def test_the_vendors_tool_library_is_told(tmp_path):
    """A library that exports mstxRangeStartA and mstxRangeEnd, as CANN's tools do, hears of every range."""
    source = tmp_path / "tool.c"
    source.write_text("""
#include <stdint.h>
#include <stdio.h>
uint64_t mstxRangeStartA(const char *message, void *stream) { static uint64_t id; printf("begin %s\\n", message); return ++id; }
void mstxRangeEnd(uint64_t id) { printf("end %llu\\n", (unsigned long long)id); fflush(stdout); }
""")
    library = tmp_path / "libtool.so"
    subprocess.run([*embedded.compiler("CC", "cc"), "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    code = """
import ascend_cy
from ascend_cy import profiler
with profiler.annotate("before anything"):
    pass
ascend_cy.full(3, 2)
with profiler.profile() as recording, profiler.annotate("mine"):
    pass
assert [each.name for each in recording.ranges] == ["mine"]
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, text=True, capture_output=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": f"{os.environ.get('LD_PRELOAD', '')} {library}".strip()})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["begin before anything", "end 1", "begin fill", "end 2", "begin mine", "end 3"]
