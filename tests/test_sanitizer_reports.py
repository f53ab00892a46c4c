# SPDX-License-Identifier: Apache-2.0
"""The judge of leaks in runs under AddressSanitizer (tests/sanitizers/leaks_of.py), on reports as it writes them."""

import subprocess
import sys
from pathlib import Path

import pytest

JUDGE = Path(__file__).resolve().parent / "sanitizers" / "leaks_of.py"
INTERPRETER = """
Direct leak of 952 byte(s) in 17 object(s) allocated from:
    #0 0x7fd143ab89cf in __interceptor_malloc ../../src/libsanitizer/asan/asan_malloc_linux.cpp:69
    #1 0x7fd1436bcd74 in gc_alloc Modules/gcmodule.c:2283
    #2 0x7fd1500bcd74 in __pyx_pw_9ascend_cy_7_stream_1 (/opt/install/ascend_cy/_stream.cpython-311-x86_64-linux-gnu.so+0x1234)
"""
OURS = """
Direct leak of 48 byte(s) in 1 object(s) allocated from:
    #0 0x7fd143ab94c8 in operator new(unsigned long) ../../src/libsanitizer/asan/asan_new_delete.cpp:95
    #1 0x7fd14f65d9ed in std::string::_M_create(unsigned long&, unsigned long) (/usr/lib/x86_64-linux-gnu/libstdc++.so.6+0x13bd)
    #2 0x7fd1500de9ed in make_pool (/opt/install/ascend_cy/libascend_cy.so+0x1e9ed)
    #3 0x7fd1436bcd74 in _PyEval_EvalFrameDefault Python/ceval.c:2318
"""
BEHIND_OURS = OURS.replace("Direct", "Indirect")


@pytest.mark.parametrize(("report", "ours"), [
    (INTERPRETER, 0), (OURS, 1), (INTERPRETER + OURS, 1), (BEHIND_OURS, 0), (OURS + OURS.replace("make_pool", "make_stream"), 2),
    ("no leaks at all", 0),
])
def test_leaks_are_judged_by_where_they_were_allocated(tmp_path, report, ours):
    (tmp_path / "asan.1").write_text(report + "\nSUMMARY: AddressSanitizer: 48 byte(s) leaked in 1 allocation(s).\n")
    result = subprocess.run([sys.executable, str(JUDGE), "/opt/install/", str(tmp_path / "asan.1")], capture_output=True, text=True)
    assert result.returncode == (1 if ours else 0)
    assert f"{ours} kinds of ours" in result.stdout
    assert ("libascend_cy.so" in result.stdout) == (ours > 0)
