# SPDX-License-Identifier: Apache-2.0
"""Builds Ascend C sources into `sim` binaries and runs them on the small device of driver.cpp, without the package."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INCLUDE_ASCENDC = ROOT / "csrc" / "ascendc"
GUARD = 4096


def _load_generator():
    spec = importlib.util.spec_from_file_location("_kernel_entries", ROOT / "ascend_cy" / "_kernel_entries.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


entries = _load_generator()


def compiler() -> str | None:
    return os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


def cache_dir() -> Path:
    """Where compiled binaries stay between test runs."""
    base = Path(os.environ.get("ASCEND_CY_TEST_CACHE") or Path(tempfile.gettempdir()) / f"ascend_cy-sim-{os.getuid()}")
    base.mkdir(parents=True, exist_ok=True)
    return base


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def _headers_digest() -> str:
    files = sorted(p for p in INCLUDE_ASCENDC.rglob("*") if p.suffix in (".h", ".cpp"))
    files.append(ROOT / "csrc/include/ascend_cy/kernel_abi.h")
    return _digest(*(p.read_text() for p in files))


def _run(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{result.stderr[:6000]}")


def _runtime_objects(flags: list[str]) -> list[str]:
    """The simulator's own sources, compiled once for all test kernels."""
    sources = sorted((INCLUDE_ASCENDC / "runtime").glob("*.cpp"))
    objects = []
    for source in sources:
        target = cache_dir() / f"{source.stem}-{_digest(_headers_digest(), str(compiler()), *flags)}.o"
        if not target.exists():
            partial = target.with_suffix(f".{os.getpid()}.o")
            _run([compiler(), *flags, "-c", str(source), "-o", str(partial)])
            partial.rename(target)
        objects.append(str(target))
    return objects


def build(source: Path, *, flags: tuple[str, ...] = (), include: tuple[Path, ...] = (),
          neighbours: tuple[Path, ...] = ()) -> Path:
    """The `sim` binary of a source; compiled unless an equal one is in the cache.

    `neighbours` are files of other folders that it includes.
    """
    source = Path(source).resolve()
    texts = [p.read_text() for p in [*sorted(source.parent.glob("*.h")), *neighbours]]
    key = _digest(source.read_text(), str(source), *texts, _headers_digest(), str(compiler()), *flags,
                  (ROOT / "ascend_cy/_kernel_entries.py").read_text())
    output = cache_dir() / f"{source.stem}-{key}.so"
    if output.exists():
        return output
    common = [*entries.SIM_FLAGS, f"-I{INCLUDE_ASCENDC / 'include'}", f"-I{ROOT / 'csrc/include'}",
              *(f"-I{i}" for i in include)]
    generated = cache_dir() / f"{source.stem}-{key}.{os.getpid()}.cpp"
    generated.write_text(entries.generate(source))
    partial = output.with_suffix(f".{os.getpid()}.so")
    _run([compiler(), *common, *flags, str(generated), *_runtime_objects(common), "-o", str(partial),
          *entries.SIM_LINK_FLAGS])
    partial.rename(output)
    generated.unlink()
    return output


def build_text(name: str, text: str, **options) -> Path:
    """Like build(), from the text of a source."""
    path = cache_dir() / f"{name}-{_digest(text)}" / f"{name}.cpp"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_text(text)
    return build(path, **options)


def _driver() -> ctypes.CDLL:
    source = HERE / "driver.cpp"
    target = cache_dir() / f"driver-{_digest(source.read_text())}.so"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}.so")
        _run([compiler(), "-std=c++17", "-O1", "-fPIC", "-shared", "-pthread", f"-I{ROOT / 'csrc/include'}",
              str(source), "-o", str(partial), "-ldl"])
        partial.rename(target)
    library = ctypes.CDLL(str(target))
    library.driver_open.restype = ctypes.c_void_p
    library.driver_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.driver_alloc.restype = ctypes.c_void_p
    library.driver_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    library.driver_free.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.driver_launch.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_char_p,
                                      ctypes.c_size_t, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t,
                                      ctypes.c_char_p, ctypes.c_size_t]
    library.driver_num_kernels.argtypes = [ctypes.c_void_p]
    library.driver_target.argtypes = [ctypes.c_void_p]
    library.driver_kernel.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    library.driver_kernel.restype = ctypes.POINTER(KernelDesc)
    library.driver_report.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    library.driver_report.restype = ctypes.c_size_t
    return library


class KernelParam(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_uint32), ("size", ctypes.c_uint32),
                ("kind", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class KernelDesc(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("entry", ctypes.c_void_p), ("cost_ns", ctypes.c_void_p),
                ("params", ctypes.POINTER(KernelParam)), ("num_params", ctypes.c_uint32),
                ("args_size", ctypes.c_uint32), ("core_kind", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("instances_per_block", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    global _library
    if _library is None:
        _library = _driver()
    return _library


class KernelViolation(Exception):
    """What the simulator reported, with the code that a stream would return."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class Buffer:
    """Device memory of the test device, surrounded by bytes that belong to nobody."""

    def __init__(self, array: np.ndarray):
        self.nbytes = max(array.nbytes, 1)
        self.shape, self.dtype = array.shape, array.dtype
        self.address = library().driver_alloc(self.nbytes, GUARD)
        self._before = (ctypes.c_uint8 * GUARD).from_address(self.address - GUARD)
        self._after = (ctypes.c_uint8 * GUARD).from_address(self.address + self.nbytes)
        ctypes.memset(self._before, 0xA5, GUARD)
        ctypes.memset(self._after, 0xA5, GUARD)
        data = np.ascontiguousarray(array)
        ctypes.memmove(self.address, data.ctypes.data, array.nbytes)

    def numpy(self) -> np.ndarray:
        out = np.empty(self.shape, self.dtype)
        ctypes.memmove(out.ctypes.data, self.address, out.nbytes)
        return out

    def untouched_around(self) -> bool:
        return bytes(self._before) == b"\xa5" * GUARD and bytes(self._after) == b"\xa5" * GUARD

    def __del__(self):
        library().driver_free(self.address, GUARD)


class Binary:
    def __init__(self, path: Path):
        error = ctypes.create_string_buffer(512)
        self._handle = library().driver_open(str(path).encode(), error, len(error))
        if not self._handle:
            raise RuntimeError(error.value.decode())
        self.printed = ""

    def kernels(self) -> list[KernelDesc]:
        return [library().driver_kernel(self._handle, i).contents
                for i in range(library().driver_num_kernels(self._handle))]

    def launch(self, name: str, blocks: int, *args, threads: int = 2) -> None:
        """Arguments are Buffers, None (an absent pointer), ints (64 bits), floats (as double), or bytes as they are."""
        block = b""
        for a in args:
            if isinstance(a, bytes):
                block += a
            elif isinstance(a, Buffer):
                block += struct.pack("<Q", a.address)
            elif a is None:
                block += struct.pack("<Q", 0)
            elif isinstance(a, float):
                block += struct.pack("<d", a)
            else:
                block += struct.pack("<q", a)
        message, printed = ctypes.create_string_buffer(2048), ctypes.create_string_buffer(1 << 20)
        code = library().driver_launch(self._handle, name.encode(), blocks, block, len(block), threads, message,
                                       len(message), printed, len(printed))
        self.printed = printed.value.decode()
        if code in (-1, -2):
            raise RuntimeError("unknown kernel" if code == -1 else "too few arguments")
        if code != 0:
            raise KernelViolation(code, message.value.decode())

    def report(self) -> dict:
        size = library().driver_report(self._handle, None, 0)
        text = ctypes.create_string_buffer(size + 1)
        library().driver_report(self._handle, text, size + 1)
        return json.loads(text.value.decode())


class Tiling:
    """A tiling header compiled on its own: fill(args, five integers) returns the number of blocks."""

    def __init__(self, path: Path, has_extra: bool):
        self._library = ctypes.CDLL(str(path))
        self._library.tiling_fill.restype = ctypes.c_uint32
        if has_extra:
            self._library.tiling_extra.restype = ctypes.c_int64

    def fill(self, args: ctypes.Structure, *numbers: int) -> int:
        return self._library.tiling_fill(*(ctypes.c_int64(n) for n in numbers), ctypes.byref(args))

    def extra(self, *numbers: int) -> int:
        return self._library.tiling_extra(*(ctypes.c_int64(n) for n in numbers))


def tiling_library(op: str, struct_name: str, call: str, extra: str | None = None) -> Tiling:
    """`call` uses a, b, c, d, e and args; `extra` names a function of two integers."""
    header = ROOT / "kernels" / op / f"{op}_tiling.h"
    text = (f'#include "{header}"\n'
            f"unsigned tiling_fill(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, {struct_name} *args)\n"
            f"{{ (void)e; return {call}; }}\n")
    if extra:
        text += f"int64_t tiling_extra(int64_t a, int64_t b) {{ return {extra}(a, b); }}\n"
    target = cache_dir() / f"tiling-{op}-{_digest(text, header.read_text())}.so"
    if not target.exists():
        source = target.with_suffix(f".{os.getpid()}.c")
        source.write_text(text)
        partial = target.with_suffix(f".{os.getpid()}.so")
        _run([os.environ.get("CC") or "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared",
              str(source), "-o", str(partial)])
        partial.rename(target)
        source.unlink()
    return Tiling(target, extra is not None)
