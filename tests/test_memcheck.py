# SPDX-License-Identifier: Apache-2.0
"""tools/valgrind.sh in its short form: our code reads and writes nothing that it must not; and the tool notices what does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import child
import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "tools" / "valgrind.sh"

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
    pytest.mark.skipif("ASCEND_CY_TEST_SITE" in os.environ, reason="a sanitizer watches already"),
]

# Reads 4 bytes behind a block of the C library's heap.
TOO_FAR = """
import ctypes
import ascend_cy


def test_too_far():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    foreign = ascend_cy.from_pointer(libc.malloc(96), 100, "uint8")
    assert foreign.copy().shape == (100,)
"""


def valgrind(*args):
    """Exit code and all that was printed."""
    bin_folder = Path(sys.executable).parent
    env = {**child.environment(), "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "ASCEND_CY_DEVICE": "cpu"}
    done = subprocess.run([SCRIPT, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=env)
    return done.returncode, done.stdout


def test_nothing_is_read_or_written_that_must_not_be():
    status, text = valgrind()
    assert status == 0 and " passed" in text and "failed" not in text, text


def test_what_is_read_too_far_is_noticed(tmp_path):
    (tmp_path / "test_too_far.py").write_text(TOO_FAR)
    status, text = valgrind("--rootdir", tmp_path, "-c", os.devnull, tmp_path / "test_too_far.py")
    assert status == 9 and "1 passed" in text, text
    assert "Invalid read of size" in text and "libascend" in text, text
