"""The C++ parts: measuring sticks and the bindings to compare with, compiled when they are first needed."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import ascend_cy
from ascend_cy._cli_common import CliError

SOURCES = Path(__file__).parent / "native"

# What --peers says, for the processes of the benchmarks.
PEERS_VARIABLE = "ASCEND_CY_BENCH_PEERS"

# All that --peers can name. (NumPy is always there, so it is never left out.)
PEERS = ("torch", "numba", "onnxruntime", "jax", "numpy", "pyopencl", "pybind11", "nanobind", "cffi", "ctypes")


class Missing(Exception):
    """Something cannot be measured here; the message says why, in a few words."""


def peers_named(text: str) -> list[str]:
    """The names in what --peers was given; none of them for ``none``."""
    names = [name.strip() for name in text.split(",")]
    if names == ["none"]:
        return []
    for name in names:
        if name not in PEERS:
            raise CliError(f"there is no library {name!r} to compare with; there are {', '.join(PEERS)}, and none")
    return names


def require_wanted(peer: str) -> None:
    """`Missing` where the caller of the program did not ask for this peer."""
    assert peer in PEERS, peer
    wanted = os.environ.get(PEERS_VARIABLE)
    if wanted is not None and peer not in wanted.split(","):
        raise Missing("not asked for")


class Recipe(NamedTuple):
    """How one shared object is made."""

    sources: tuple[Path, ...]
    flags: tuple[str, ...]
    versions: str


def version_of(package: str) -> str:
    """Version of an installed distribution, or ``""``."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def compiler() -> list[str]:
    """The C++ compiler's command."""
    words = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    for name in (words[0], "g++", "clang++"):
        if shutil.which(name):
            return [name, *words[1:]]
    raise Missing("there is no C++ compiler")


def cache_folder() -> Path:
    """Where compiled objects are kept."""
    root = os.environ.get("ASCEND_CY_CACHE_DIR")
    if not root:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ascend_cy")
    return Path(root) / "bench"


def source_folder() -> Path:
    """The folder with the C++ sources: beside this file where the package is installed, else in the checkout."""
    if SOURCES.is_dir():
        return SOURCES
    return Path(__file__).parents[2] / "benchmarks"


def build(name: str, recipe: Recipe) -> Path:
    """Compile a shared object, or take it from the cache."""
    command = compiler()
    key = hashlib.sha256()
    for source in (*recipe.sources, *sorted(source_folder().rglob("*.h"))):
        key.update(source.read_bytes())
    about = (command, recipe.flags, recipe.versions, sys.version, ascend_cy.__version__, sysconfig.get_platform())
    key.update(repr(about).encode())
    folder = cache_folder()
    target = folder / f"{name}.{key.hexdigest()[:16]}.so"
    if target.exists():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir())
        target = folder / target.name
    # Another process may be at the same: whoever is last replaces one good file by another.
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / target.name
        words = [*command, "-std=c++17", "-O3", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-w"]
        words += [*recipe.flags, "-o", str(made), *map(str, recipe.sources)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            raise Missing(f"{name} does not compile: {first.strip()}")
        os.replace(made, target)
    return target


def python_flags() -> tuple[str, ...]:
    include = sysconfig.get_paths()["include"]
    if not (Path(include) / "Python.h").exists():
        raise Missing("Python's C headers are not installed")
    return (f"-I{include}",)


def load_module(name: str, recipe: Recipe) -> ModuleType:
    """Compile and import an extension module."""
    path = build(name, recipe)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numpy_include() -> str:
    import numpy as np

    return np.get_include()


# ---- measuring sticks ----


@cache
def limits() -> ctypes.CDLL:
    """The library of copies and of calls without Python."""
    library = ctypes.CDLL(str(build("limits", Recipe((source_folder() / "limits.cpp",), (), ""))))
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.bench_copy.restype = library.bench_add.restype = ctypes.c_double
    library.bench_copy.argtypes = [pointer, pointer, size, number, number, ctypes.c_long]
    library.bench_add.argtypes = [pointer, pointer, pointer, size, number, number, ctypes.c_long]
    library.bench_calls.restype = ctypes.c_double
    library.bench_calls.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int64] * 2 + [ctypes.c_int, ctypes.c_long]
    library.bench_malloc.restype = library.bench_buffers.restype = ctypes.c_double
    library.bench_malloc.argtypes = [size, ctypes.c_long]
    library.bench_buffers.argtypes = [pointer, pointer, pointer, size, ctypes.c_long]
    library.bench_touch.restype = None
    library.bench_touch.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


def address_of(library: ctypes.CDLL, function: str) -> int:
    """Address of a function of a library that is loaded."""
    address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
    assert address is not None
    return address


def host_library() -> ctypes.CDLL:
    """libascend_cy, which the package has loaded."""
    return ctypes.CDLL(os.path.join(ascend_cy.get_library_dir(), "libascend_cy.so"))


def device_library() -> ctypes.CDLL:
    """The embedded device's library.

    Raises
    ------
    Missing
        Where another device is in use.
    """
    path = ascend_cy.device_info()["library"]
    if not path.endswith("libascendcl_cpu.so"):
        raise Missing("the embedded device is not in use")
    return ctypes.CDLL(path)


# ---- bindings ----


@cache
def peer_cpython() -> ModuleType:
    flags = (*python_flags(), f"-I{numpy_include()}")
    recipe = Recipe((source_folder() / "peers" / "peer_cpython.cpp",), flags, version_of("numpy"))
    return load_module("peer_cpython", recipe)


@cache
def peer_pybind11() -> ModuleType:
    require_wanted("pybind11")
    try:
        import pybind11
    except ImportError:
        raise Missing("pybind11 is not installed") from None
    flags = (*python_flags(), f"-I{pybind11.get_include()}")
    recipe = Recipe((source_folder() / "peers" / "peer_pybind11.cpp",), flags, version_of("pybind11"))
    return load_module("peer_pybind11", recipe)


@cache
def peer_nanobind() -> ModuleType:
    require_wanted("nanobind")
    try:
        import nanobind
    except ImportError:
        raise Missing("nanobind is not installed") from None
    root = Path(nanobind.include_dir()).parent
    flags = (
        *python_flags(),
        f"-I{nanobind.include_dir()}",
        f"-I{root / 'ext' / 'robin_map' / 'include'}",
        "-fno-strict-aliasing",
        "-DNB_COMPACT_ASSERTIONS",
    )
    sources = (source_folder() / "peers" / "peer_nanobind.cpp", Path(nanobind.source_dir()) / "nb_combined.cpp")
    return load_module("peer_nanobind", Recipe(sources, flags, version_of("nanobind")))


CFFI_DECLARATIONS = """
void set_launcher(uintptr_t address);
int launch(const void *x, const void *gamma, const void *beta, void *y, int64_t rows, int64_t cols, double eps);
"""


@cache
def peer_cffi() -> Any:
    """The launcher through cffi in its fast, compiled (API) mode."""
    require_wanted("cffi")
    try:
        import cffi
    except ImportError:
        raise Missing("cffi is not installed") from None
    builder = cffi.FFI()
    builder.cdef(CFFI_DECLARATIONS)
    builder.set_source(
        "peer_cffi",
        '#include "launcher.h"\nvoid set_launcher(uintptr_t address) { launcher = (launcher_t)address; }\n',
    )
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "peer_cffi.c"
        builder.emit_c_code(str(source))
        flags = (*python_flags(), "-x", "c", "-std=c11", f"-I{source_folder() / 'peers'}")
        return load_module("peer_cffi", Recipe((source,), flags, version_of("cffi")))


EMPTY_OPERATORS = ("layernorm", "vector_add")


def empty_kernel_folder(scratch: Path) -> Path:
    """A copy of the package's device folder in which some operators' kernels do nothing."""
    kernel = build(
        "empty_kernel",
        Recipe((source_folder() / "peers" / "empty_kernel.cpp",), (f"-I{ascend_cy.get_include()}",), ""),
    )
    package = Path(ascend_cy.get_library_dir())
    for file in package.iterdir():
        if file.name != "kernels":
            (scratch / file.name).symlink_to(file)
    cpu = scratch / "kernels" / "cpu"
    cpu.mkdir(parents=True)
    for file in (package / "kernels" / "cpu").glob("*.so"):
        empty = file.name.split(".")[0] in EMPTY_OPERATORS
        (cpu / file.name).symlink_to(kernel if empty else file)
    return scratch


def build_all(wanted: Sequence[Callable[[], object]]) -> dict[str, str]:
    """Compile several objects at once; returns what is missing, by name."""
    from concurrent.futures import ThreadPoolExecutor

    def attempt(make: Callable[[], object]) -> tuple[str, str]:
        try:
            make()
        except Missing as reason:
            return make.__name__, str(reason)
        return make.__name__, ""

    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        return {name: reason for name, reason in pool.map(attempt, wanted) if reason}
