# SPDX-License-Identifier: Apache-2.0
"""The embedded device below ascend_cy: its controls, and raw AscendCL calls for kernels of the tests' own."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import ascend_cy

KERNEL_SOURCE = Path(__file__).resolve().parent / "kernels" / "test_kernels.cpp"


def kind() -> str:
    return ascend_cy.device_info()["kind"]


def require() -> None:
    if kind() not in ("cpu", "sim"):
        pytest.skip(f"needs the embedded device, work runs on {kind()}")


@functools.cache
def library() -> ctypes.CDLL:
    """The device library that ascend_cy has loaded; a second name for it, not a second copy."""
    require()
    return ctypes.CDLL(ascend_cy.device_info()["library"])


def acl(name: str, *args) -> None:
    """Call an AscendCL function of the embedded device; the GIL is released."""
    function = getattr(library(), name)
    function.restype = ctypes.c_int
    code = function(*args)
    assert code == 0, f"{name} returned {code}"


@contextlib.contextmanager
def faults(spec: str):
    """Fault injection of the embedded device inside the block (see ascendcl_cpu.h for the syntax)."""
    acl("ascendcl_cpu_set_faults", spec.encode())
    try:
        yield
    finally:
        acl("ascendcl_cpu_set_faults", None)


def fault_counts() -> tuple[int, int]:
    """Calls that the rules in force covered, and failures they gave."""
    calls = ctypes.c_uint64()
    given = ctypes.c_uint64()
    library().ascendcl_cpu_fault_counts(ctypes.byref(calls), ctypes.byref(given))
    return calls.value, given.value


@contextlib.contextmanager
def counted_calls(name: str = "*"):
    """Gives a function that tells how many AscendCL calls of this name were made inside the block."""
    with faults(f"call={name},at=1000000000000"):
        yield lambda: fault_counts()[0]


@contextlib.contextmanager
def slow_kernels(milliseconds: int, kernel: str = "*"):
    """Every launch of a kernel takes at least so long."""
    with faults(f"kernel={kernel},delay={milliseconds}ms,times=always"):
        yield


# ---- kernels of our own ----


def compiler(variable: str = "CXX", fallback: str = "g++") -> list[str]:
    command = shlex.split(os.environ.get(variable, fallback))
    if not command or shutil.which(command[0]) is None:
        pytest.skip(f"no C++ compiler: {' '.join(command) or variable + ' is empty'}")
    return command


def build_kernels(folder: Path) -> Path:
    """A kernel binary for the embedded device, built with the installed header alone."""
    target = folder / "test_kernels.so"
    # The binary's target must be what this device runs.
    define = "-DTARGET=" + {"cpu": "ASCEND_KERNEL_TARGET_CPU", "sim": "ASCEND_KERNEL_TARGET_SIM"}[kind()]
    command = [*compiler(), "-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", define,
               f"-I{ascend_cy.get_include()}", str(KERNEL_SOURCE), "-o", str(target)]
    subprocess.run(command, check=True, cwd=folder)
    return target


class Kernels:
    """Kernels loaded through AscendCL from a file."""

    def __init__(self, path: Path) -> None:
        ascend_cy.synchronize()  # a context for this thread
        self.binary = ctypes.c_void_p()
        acl("aclrtBinaryLoadFromFile", str(path).encode(), None, ctypes.byref(self.binary))

    def unload(self) -> None:
        acl("aclrtBinaryUnLoad", self.binary)

    @functools.lru_cache(maxsize=None)
    def function(self, name: str) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        acl("aclrtBinaryGetFunction", self.binary, name.encode(), ctypes.byref(handle))
        return handle

    def launch(self, name: str, stream: ascend_cy.Stream, *args: int, blocks: int = 1) -> None:
        """Enqueue a kernel whose parameters are 8-byte slots."""
        slots = (ctypes.c_int64 * len(args))(*args)
        acl("aclrtLaunchKernelWithHostArgs", self.function(name), ctypes.c_uint32(blocks),
            ctypes.c_void_p(stream.handle), None, slots, ctypes.c_size_t(ctypes.sizeof(slots)), None,
            ctypes.c_size_t(0))
