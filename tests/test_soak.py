# SPDX-License-Identifier: Apache-2.0
"""tools/soak.py in its short form: nothing grows; and it notices what does."""

from __future__ import annotations

import json
import os
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
