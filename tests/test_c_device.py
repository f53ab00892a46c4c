# SPDX-License-Identifier: Apache-2.0
"""The embedded device, judged from C: programs that know only the AscendCL headers (tests/c/device)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_cy

SOURCES = Path(__file__).resolve().parent / "c" / "device"
# Test programs that are given one way to behave each.
WAYS = {
    "test_callback": [(), ("1",)],
    "test_in_use": [(), ("no_membarrier",)],
    "test_lifetimes": [(), ("20", "no_membarrier")],
    "test_threads": [("3", "40"), ("1", "20")],
    "test_process": [
        (way,)
        for way in (
            "fork_unused",
            "fork_used",
            "fork_states",
            "exit_running",
            "exit_endless",
            "exit_many_binaries",
            "exit_in_callback",
            "exit_waiting",
            "exit_with_waiting_thread",
            "exit_handler",
            "exit_handler_stuck",
            "exit_executing",
            "exit_handler_models",
            "finalize_with_work",
            "settings_by_call",
        )
    ],
}
PROGRAMS = sorted(path.stem for path in SOURCES.glob("test_*.c*"))

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None or shutil.which("gcc") is None, reason="no C and C++ compiler"
)


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory):
    """A folder with the test kernels in it."""
    folder = tmp_path_factory.mktemp("c_device")
    for target, number in (("cpu", 1), ("sim", 2)):
        compile_one(
            SOURCES / "kernels.cpp",
            folder / f"test_kernels_{target}.so",
            ["-O1", "-fPIC", "-shared", f"-DTARGET={number}"],
        )
    return folder


def compile_one(source, output, options=()):
    compiler = ["g++", "-std=c++17"] if source.suffix == ".cpp" else ["gcc", "-std=gnu11"]
    command = [*compiler, "-g", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", f"-I{ascend_cy.get_include()}"]
    subprocess.run([*command, str(source), "-o", str(output), *options], check=True)


def environment(folder, **extra):
    """The variables of this process without those that would change the device.

    Upper bounds of times are checked only where DEVICE_TEST_TIMES is set: on a machine that others use as well they say
    nothing. That calls are asynchronous is shown by order, not by the clock, in test_streams_events.py.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASCENDCL_CPU_")}
    if "DEVICE_TEST_TIMES" not in kept:
        kept["DEVICE_TEST_SLOW"] = "1"
    return {**kept, "DEVICE_TEST_KERNELS": str(folder), **extra}


@pytest.fixture(scope="session")
def program(build_folder):
    """Compiles a test program once and gives its path."""
    built = {}

    def build(name):
        if name not in built:
            (source,) = SOURCES.glob(name + ".c*")
            library = ascend_cy.get_library_dir()
            options = [f"-L{library}", "-lascendcl_cpu", f"-Wl,-rpath,{library}", "-lpthread", "-lm"]
            compile_one(source, build_folder / name, options)
            built[name] = build_folder / name
        return built[name]

    return build


def run(program, *arguments, folder, timeout=60, **extra):
    return subprocess.run(
        [str(program), *arguments],
        env=environment(folder, **extra),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, arguments) for name in PROGRAMS for arguments in WAYS.get(name, [()])],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_program(program, build_folder, name, arguments):
    result = run(program(name), *arguments, folder=build_folder)
    if result.returncode == 77:
        pytest.skip(result.stdout.strip())
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ASCENDCL_CPU_DEVICES", "65"),
        ("ASCENDCL_CPU_DEVICES", "two"),
        ("ASCENDCL_CPU_MEMORY", "lots"),
        ("ASCENDCL_CPU_MEMORY", "0"),
        ("ASCENDCL_CPU_LINK_BANDWIDTH", "-1"),
        ("ASCENDCL_CPU_WORKERS", "0"),
        ("ASCENDCL_CPU_WORKERS", "5000"),
        ("ASCENDCL_CPU_SOC", "Ascend1"),
        ("ASCENDCL_CPU_CORES", "0"),
        ("ASCENDCL_CPU_LOG", "memory,nonsense"),
        ("ASCENDCL_CPU_FAULT", "call=aclrtMalloc,sometimes"),
    ],
)
def test_bad_setting(program, build_folder, variable, value):
    result = run(program("test_process"), "settings_bad", folder=build_folder, **{variable: value})
    assert result.returncode == 0, result.stderr
    assert variable in result.stderr and value in result.stderr


def test_bad_setting_without_initialisation(program, build_folder):
    result = run(
        program("test_process"), "settings_bad_without_init", folder=build_folder, ASCENDCL_CPU_DEVICES="lots"
    )
    assert result.returncode == 0, result.stderr
    assert "ignored" in result.stderr


def test_settings(program, build_folder):
    result = run(
        program("test_process"),
        "settings_cores",
        folder=build_folder,
        ASCENDCL_CPU_SOC="Ascend310P3",
        ASCENDCL_CPU_CORES="5",
    )
    assert "Ascend310P3 5 cores" in result.stdout
    result = run(program("test_process"), "settings_no_device", folder=build_folder, ASCENDCL_CPU_DEVICES="0")
    assert result.returncode == 0, result.stderr
    result = run(
        program("test_process"), "settings_faults", folder=build_folder, ASCENDCL_CPU_FAULT="call=aclrtMalloc,code=207001"
    )
    assert result.returncode == 0, result.stderr


# Rules, and what the calls of fault_sequence (test_process.c) then return: in each of four rounds aclrtGetDevice, aclrtMalloc,
# aclrtFree, a launch of two kernels, aclrtSynchronizeStream; at last, how often add_value ran. Before them come aclInit, which reads
# the variable, and four more calls.
FAULTS = {
    "call=aclrtMalloc,code=207001,at=2": ["0 0 0 0 0", "0 207001 0 0 0", "0 0 0 0 0", "0 0 0 0 0", "4"],
    "call=aclrtMalloc,times=2;call=aclrtGetDevice,code=107001,at=4":
        ["0 507899 0 0 0", "0 507899 0 0 0", "0 0 0 0 0", "107001 0 0 0 0", "4"],
    "call=aclrtMalloc,times=always": ["0 507899 0 0 0"] * 4 + ["4"],
    "call=*,at=6,skip=aclInit,skip=aclrtGetDevice": ["0 0 507899 0 0", "0 0 0 0 0", "0 0 0 0 0", "0 0 0 0 0", "4"],
    "call=aclrtMalloc,delay=30ms,times=2": ["0 0 0 0 0 slow", "0 0 0 0 0 slow", "0 0 0 0 0", "0 0 0 0 0", "4"],
    "call=aclrtMalloc,delay=30ms,code=207001": ["0 207001 0 0 0 slow", "0 0 0 0 0", "0 0 0 0 0", "0 0 0 0 0", "4"],
    "kernel=add_value,at=3": ["0 0 0 0 0", "0 0 0 0 0", "0 0 0 0 507015", "0 0 0 0 0", "3"],
    "kernel=*,code=507014,times=2": ["0 0 0 0 507014", "0 0 0 0 0", "0 0 0 0 0", "0 0 0 0 0", "3"],
    "kernel=empty,delay=30ms,at=4": ["0 0 0 0 0", "0 0 0 0 0", "0 0 0 0 0", "0 0 0 0 0 slow", "4"],
    "device=lost,at=11,skip=aclInit":
        ["0 0 0 0 0", "507010 507010 0 507010 507010", "507010 507010 0 507010 507010", "507010 507010 0 507010 507010", "1"],
}


def fault_sequence(program, folder, **variables):
    result = run(program("test_process"), "fault_sequence", folder=folder, **variables)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[:5]


@pytest.mark.parametrize("way", ["ASCENDCL_CPU_FAULT", "TEST_FAULTS"], ids=["environment", "function"])
@pytest.mark.parametrize("rules", FAULTS)
def test_faults(program, build_folder, way, rules):
    """Every kind of rule, by environment and by function call."""
    lines = fault_sequence(program, build_folder, **{way: rules})
    for line, expected in zip(lines, FAULTS[rules], strict=True):
        # A round that must be slow is; one that need not be may be, on a busy machine.
        assert line == expected or line == expected + " slow", lines


def test_faults_with_probability(program, build_folder):
    """The same seed gives the same failures in every process, another seed others; about as many as asked for."""
    rules = "call=*,probability=0.4,seed={},skip=aclInit,skip=aclrtSetDevice,skip=aclrtBinaryLoadFromFile,skip=aclrtBinaryGetFunction"

    def failures(seed, **extra):
        lines = fault_sequence(program, build_folder, ASCENDCL_CPU_FAULT=rules.format(seed))[:4]
        return [code for line in lines for code in line.replace(" slow", "").split()]

    seen = [failures(seed) for seed in range(1, 9)]
    assert failures(3) == seen[2]
    assert len({tuple(codes) for codes in seen}) > 6
    share = sum(code == "507899" for codes in seen for code in codes) / (8 * 20)
    assert 0.2 < share < 0.6


def test_log_by_environment(program, build_folder):
    result = run(program("test_process"), "works", folder=build_folder, ASCENDCL_CPU_LOG="memory,launches")
    assert result.returncode == 0
    assert "[memory]" in result.stderr and "kernel sleep_us, 4 blocks" in result.stderr
    assert "[streams]" not in result.stderr


@pytest.mark.parametrize("workers", ["1", "2", "7"])
def test_worker_counts(program, build_folder, workers):
    """Correct, and never stuck, with any number of workers."""
    for name in ("test_smoke", "test_event", "test_tasks"):
        result = run(program(name), folder=build_folder, ASCENDCL_CPU_WORKERS=workers, DEVICE_TEST_SLOW="1")
        assert result.returncode == 0, result.stdout + result.stderr


def test_leaks_can_be_resolved(program, build_folder):
    """The report of leaks names, for each object, an offset in a file that addr2line turns into the line that made it."""
    if shutil.which("addr2line") is None:
        pytest.skip("no addr2line")
    result = run(program("test_faults"), folder=build_folder, DEVICE_TEST_SHOW_LEAKS="1")
    assert result.returncode == 0, result.stdout + result.stderr
    source = (SOURCES / "test_faults.c").read_text().splitlines()
    makers = set()
    for line in result.stdout.splitlines():
        if "alive, made by " not in line:
            continue
        place = line.rpartition("made by ")[2]
        file, _, offset = re.search(r"\(?([^ (]+?)(\+)(0x[0-9a-f]+)\)?$", place).groups()
        found = subprocess.run(["addr2line", "-e", file, offset], capture_output=True, text=True, check=True).stdout
        name, _, number = found.split()[0].rpartition(":")
        assert name.endswith("test_faults.c"), (line, found)
        makers.update(re.findall(r"\b(acl\w+)\(", source[int(number) - 1]))
    assert {"aclrtCreateStream", "aclrtCreateEvent", "aclrtMalloc", "aclrtMapMem", "aclCreateDataBuffer"} <= makers, makers
    assert len(makers) >= 16


# Functions that give no aclError, or cannot refuse anything.
NEVER_REFUSE = {
    "aclCreateDataBuffer", "aclDataTypeSize", "aclFloat16ToFloat", "aclFloatToFloat16", "aclGetDataBufferAddr",
    "aclGetDataBufferSize", "aclGetDataBufferSizeV2", "aclGetRecentErrMsg", "aclrtAllocatorCreateDesc", "aclrtCreateBinary",
    "aclrtCreateStreamConfigHandle", "aclrtGetArgsFromExceptionInfo", "aclrtGetDeviceIdFromExceptionInfo",
    "aclrtGetErrorCodeFromExceptionInfo", "aclrtGetFuncHandleFromExceptionInfo", "aclrtGetSocName",
    "aclrtGetStreamIdFromExceptionInfo", "aclrtGetTaskIdFromExceptionInfo", "aclrtGetThreadIdFromExceptionInfo",
    "aclrtSetExceptionInfoCallback", "aclrtSetOpExecuteTimeOut", "aclrtSetOpExecuteTimeOutWithMs", "aclrtSetOpWaitTimeout",
    "ascendcl_cpu_fault_counts", "ascendcl_cpu_get_log_topics", "ascendcl_cpu_get_workers", "ascendcl_cpu_set_log_callback",
    "ascendcl_cpu_reset_log_topics", "ascendcl_cpu_set_log_topics",
}


def test_every_function_is_tested():
    """Each exported function is called by a C test for what it does, and, if it can refuse, for an error that it gives."""
    text = "".join(path.read_text() for path in sorted(SOURCES.glob("test_*.c*")))
    refusal = r"(?:FAILS\(\w+, (acl\w+|ascendcl_cpu_\w+)\()|(?:\b(acl\w+|ascendcl_cpu_\w+)\([^;]*?\) == \d{6}\b)"
    refused = {name for pair in re.findall(refusal, text) for name in pair if name}
    called = set(re.findall(r"\b(acl\w+|ascendcl_cpu_\w+)\(", re.sub(r"FAILS\(\w+, acl\w+\(", "", text)))
    # Called through a pointer, or by the helpers of check.h.
    called |= {"aclrtBinaryGetFunction", "aclrtProcessReport", "aclrtProcessHostFunc"}
    names = exported()
    assert len(names) > 280
    assert sorted(names - called) == [], "never called by a C test"
    assert sorted(names - refused - NEVER_REFUSE) == [], "no C test sees an error of these"


def exported():
    library = Path(ascend_cy.get_library_dir()) / "libascendcl_cpu.so"
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True)
    return {line.split()[-1] for line in listing.stdout.splitlines()}


def test_the_documentation_links_a_program(tmp_path):
    """The program of docs/device.md, built by the command that stands there, does what it says."""
    page = SOURCES.parents[2] / "docs" / "device.md"
    text = page.read_text()
    (command,) = [block for block in re.findall(r"```sh\n(.*?)```", text, re.S) if block.startswith("cc program.c")]
    (source,) = [block for block in re.findall(r"```c\n(.*?)```", text, re.S) if "int main" in block]
    (tmp_path / "program.c").write_text(source)
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    variables = {**os.environ, "PATH": os.pathsep.join(folders), "ASCENDCL_CPU_SOC": "Ascend310P3"}
    built = subprocess.run(["sh", "-ec", command.replace("cc ", "cc -Wall -Wextra -Werror ", 1)], cwd=tmp_path, env=variables,
                           capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    result = subprocess.run(["./program"], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "Ascend310P3: 0, 4\n"), result.stderr


def test_exports():
    """The library shows AscendCL and its own extension, nothing else; every function has its prototype in acl.h."""
    library = Path(ascend_cy.get_library_dir()) / "libascendcl_cpu.so"
    names = exported()
    header = (Path(ascend_cy.get_include()) / "ascend_cy" / "acl_functions.h").read_text()
    for name in names:
        assert name.startswith("ascendcl_cpu_") or f" {name}," in header, name
    undefined = subprocess.run(["nm", "-D", "--undefined-only", str(library)], check=True, capture_output=True, text=True)
    assert not [line for line in undefined.stdout.splitlines() if line.split()[-1].startswith("acl")]
