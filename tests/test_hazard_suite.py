# SPDX-License-Identifier: Apache-2.0
"""The tests in hazard mode (docs/memory.md), each file in a process of its own: they pass, and nothing is found.

By default those that take seconds; `tools/hazard.sh` runs all.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import child
import embedded
import pytest

HERE = Path(__file__).resolve().parent

# Files that are not run, by reason.
LEFT_OUT = {
    "C and C++ programs, which get an environment of their own, and headers":
        ["test_abi_headers.py", "test_c_device.py", "test_c_host.py", "test_c_kernels.py", "test_c_matmul.py",
         "test_fragmentation.py"],
    "the simulator or its tools without the package":
        ["test_sim_agrees_with_cpu.py", "test_sim_checks.py", "test_sim_compilers.py", "test_sim_entries.py",
         "test_sim_exact.py", "test_sim_layernorm.py", "test_sim_layernorm_backward.py", "test_sim_matmul.py",
         "test_sim_samples_tool.py", "test_sim_vector_add.py"],
    "builds packages and kernels, or reads sources and reports; no memory of a device":
        ["test_downstream.py", "test_npu_cases.py", "test_packaging.py", "test_sanitizer_reports.py",
         "test_sim_npu_build.py"],
    "measures, and the mode costs microseconds a call": ["test_bench.py"],
    "sets the mode itself, test by test": ["test_hazards.py"],
    "runs other tests": ["test_hazard_suite.py", "test_memcheck.py"],
}
# What takes long and is left to tools/hazard.sh: tests of a file, or all of them.
ALL = ()
LONG = {
    "test_cli_kernels.py": ALL,
    "test_cli_layernorm.py": ALL,
    "test_docs.py": ["test_cython_snippets"],
    "test_every_call_fails.py": ["test_where_every_argument_is_copied",
                                 "test_where_every_argument_of_cython_callers_is_copied"],
    "test_layernorm_numbers.py": ["test_output_larger_than_the_cache"],
    "test_modules_cache.py": ["test_a_hundred_processes_at_once"],
    "test_modules_npu.py": ALL,
    "test_modules_reload.py": ["test_no_call_is_lost_under_load"],
    "test_package.py": ["test_stubs_agree_with_the_code", "test_a_typed_program_passes_mypy"],
    "test_process.py": ["test_memory_is_flat_over_thousands_of_rounds"],
}
# Starts pytest as `python -m pytest` does, but for the folder that this would look for packages in.
PYTEST = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
LIMIT = 15 * child.HANG

pytestmark = [
    pytest.mark.timeout(LIMIT + child.HANG),
    pytest.mark.skipif(os.environ.get("ASCEND_CY_POOL_HAZARD", "0") != "0", reason="this is such a run"),
]


def what_is_wrong(folder: Path, *arguments: object, **more: str) -> str:
    """A run of pytest in hazard mode, from a folder: what is wrong with it, "" for nothing."""
    env = {"ASCEND_CY_POOL_HAZARD": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    status, out, err = child.run(PYTEST, folder, env={**env, **more}, args=["-q", "-p", "no:cacheprovider", *arguments],
                                 warnings="default", timeout=LIMIT)
    if status != 0:
        return f"exit code {status}\n{out[-10000:]}{err[-5000:]}"
    if not re.search(r"^=+ hazard mode =+\nnothing was found$", out, re.MULTILINE):
        return f"hazard mode was not on\n{out[-2000:]}"
    if not re.search(r"^[1-9][0-9]* passed", out, re.MULTILINE):
        return f"no test ran\n{out[-2000:]}"
    if "memory hazard" in err:
        return f"found when the process ended\n{err[-5000:]}"
    return ""


LEFT_OUT_FILES = [file for files in LEFT_OUT.values() for file in files]
FILES = sorted({path.name for path in HERE.glob("test_*.py")}.difference(LEFT_OUT_FILES))


@pytest.fixture
def built(request):
    """What this run has compiled is not compiled again."""
    embedded.require()
    cache = {"ASCEND_CY_TEST_RUN_CACHE": os.environ["ASCEND_CY_CACHE_DIR"]}
    if not re.search("consumer|call_paths", (HERE / request.getfixturevalue("file")).read_text()):
        return cache
    return {**cache, "ASCEND_CY_TEST_CONSUMER": str(request.getfixturevalue("consumer").folder)}


@pytest.mark.parametrize("file", [file for file in FILES if LONG.get(file) != ALL])
def test_file(file, built):
    long = [f"--deselect=tests/{file}::{name}" for name in LONG.get(file, ALL)]
    wrong = what_is_wrong(HERE, file, *long, **built)
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("file", LONG)
def test_what_takes_long(file, built):
    wrong = what_is_wrong(HERE, *([f"{file}::{name}" for name in LONG[file]] or [file]), **built)
    assert not wrong, wrong


def test_the_lists_name_what_there_is():
    assert [file for file in LEFT_OUT_FILES if not (HERE / file).is_file()] == []
    for file, names in LONG.items():
        assert file in FILES
        source = (HERE / file).read_text()
        assert [name for name in names if f"\ndef {name}(" not in source] == []


PROGRAM = """
import atexit
import ascend_cy
import pytest

def unordered(x, stream):
    x.fill(0)
    ascend_cy.from_pointer(x.ptr, x.shape, "float32", stream=stream).fill(0, stream=stream)

def found_and_not_told(x, stream):
    with pytest.raises(ascend_cy.MemoryHazardError):
        unordered(x, stream)

def at_the_end():
    unordered(ascend_cy.zeros(1000), ascend_cy.Stream())

@pytest.fixture(scope="module")
def both():
    x, stream = ascend_cy.zeros(1000), ascend_cy.Stream()
    yield x, stream
    AFTERWARDS
    ascend_cy.synchronize_all()
    x.close()
    stream.close()

def test_one(both):
    x, stream = both
    TEST
    ascend_cy.synchronize_all()
"""
NOTHING = {"TEST": "pass", "AFTERWARDS": "pass"}
WRONG = {
    "a test that fails": ({"TEST": "assert not x.size"}, "1 failed"),
    "a hazard": ({"TEST": "unordered(x, stream)"}, "MemoryHazardError"),
    "a hazard that the test does not tell of": ({"TEST": "found_and_not_told(x, stream)"}, "found by hazard mode"),
    "a hazard between tests": ({"AFTERWARDS": "found_and_not_told(x, stream)"}, "is not ordered behind"),
    "a hazard at the end of the process": ({"TEST": "atexit.register(at_the_end)"}, "found when the process ended"),
    "no test that runs": ({"TEST": "pytest.skip('not here')"}, "no test ran"),
    "no test": ({"def test_one": "def one"}, "exit code 5"),
    "no use of the package": ({PROGRAM: "def test_one(): pass"}, "hazard mode was not on"),
}


def what_is_wrong_with(folder, changes):
    program = PROGRAM
    for old, new in [*changes.items(), *NOTHING.items()]:
        program = program.replace(old, new)
    (folder / "test_it.py").write_text(program)
    shutil.copy(HERE / "conftest.py", folder)
    return what_is_wrong(folder, "-c", HERE.parent / "pyproject.toml", "--rootdir", folder, "test_it.py")


@pytest.mark.parametrize("name", WRONG)
def test_such_a_run_fails_with(name, tmp_path):
    embedded.require()
    changes, said = WRONG[name]
    assert said in what_is_wrong_with(tmp_path, changes)


def test_such_a_run_does_not_fail_for_nothing(tmp_path):
    embedded.require()
    assert what_is_wrong_with(tmp_path, {}) == ""
