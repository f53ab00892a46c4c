# SPDX-License-Identifier: Apache-2.0
"""tools/soak.py in its short form: nothing grows; and it notices what does."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import embedded
import pytest
from child import HANG, environment

SOAK = Path(__file__).resolve().parents[1] / "tools" / "soak.py"

pytestmark = [
    pytest.mark.timeout(3 * HANG),
    pytest.mark.skipif("ASCEND_CY_TEST_PATIENCE" in os.environ, reason="a sanitizer keeps memory and takes time of its own"),
]


def soak(folder, *words, status):
    embedded.require()
    done = subprocess.run([sys.executable, "-W", "error", SOAK, "--quiet", "--json", "found.json", *words], cwd=folder, text=True,
                          capture_output=True, timeout=2 * HANG, env=environment())
    assert (done.returncode, done.stderr) == (status, ""), done.stdout + done.stderr
    return json.loads((folder / "found.json").read_text())


def test_nothing_grows(tmp_path):
    # Whether latency grows is not judged here: what else the machine does is not known.
    found = soak(tmp_path, "--ops", "40000", "--seconds", "12", "--latency", "1e9", status=0)
    assert found["operations"] > 1000 and not found["grown"] and found["failed"] == 0


def test_nothing_grows_while_calls_fail(tmp_path):
    found = soak(tmp_path, "--ops", "8000", "--windows", "8", "--faults", "2e-3", "--latency", "1e9", status=0)
    assert found["failed"] > 10 and not found["grown"]


@pytest.mark.parametrize("leak, count", [
    ("array", "ascend_cy buffers"), ("event", "ascend_cy events"), ("stream", "device streams"), ("pinned", "ascend_cy pinned"),
    ("host", "process bytes"), ("file", "files"), ("thread", "threads"),
])
def test_a_leak_is_noticed(tmp_path, leak, count):
    found = soak(tmp_path, "--ops", "3000", "--windows", "8", "--threads", "2", "--latency", "1e9", "--leak", leak, status=1)
    assert count in found["grown"]


def test_growing_latency_is_noticed(tmp_path):
    found = soak(tmp_path, "--ops", "6000", "--windows", "8", "--threads", "1", "--leak", "time", status=1)
    assert found["latency"] > 1.5


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("soak", SOAK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("disturbed, ours, machine, grown", [
    ((0.1, 0.8), 1, 1, False),  # other processes take the processors for most of the time
    ((0.8, 0.1), 1, 1, False),
    ((0.1, 0.1), 2, 1, True),
    ((0.1, 0.8), 2, 1, True),
    ((0.1, 0.1), 2, 2, False),  # a slower clock
    ((0.1, 0.1), 4, 2, True),
    ((0.1, 0.1), 1, 0.5, False),  # what the machine did before, an operation without threads had felt more
])
def test_the_machines_other_work_is_not_ours(tool, disturbed, ours, machine, grown):
    """Shares of operations that are disturbed, in the first and the second half, and what everything takes in the second."""
    chance = random.Random(7)
    soak = tool.Soak.__new__(tool.Soak)
    soak.names = [f"do_{i}" for i in range(9)] + ["do_nothing_of_ours"]
    soak.latency = []
    for window in range(20):
        late = window >= 10
        found = {}
        for i, name in enumerate(soak.names):
            factor = (machine if name == "do_nothing_of_ours" else ours) if late else 1
            # What takes no other thread is disturbed less.
            share = disturbed[late] / (4 if name == "do_nothing_of_ours" else 1)
            times = [factor * (1 + i) * chance.uniform(1, 1.5) * (chance.uniform(2, 50) if chance.random() < share else 1)
                     for _ in range(300)]
            found[name] = tool.undisturbed(times)
        soak.latency.append(found)
    assert (soak.slower() > 1.5) == grown
