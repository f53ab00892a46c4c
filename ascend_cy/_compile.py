"""Compiling kernels of the user: Ascend C for the simulator and for NPUs, plain C++ for the embedded device."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_cy import _cache, _kernel_entries, _npu_build
from ascend_cy._build_info import compiler as built_by
from ascend_cy._build_info import version as package_version
from ascend_cy._core import Device, device_info
from ascend_cy._module import check_names, make_module
from ascend_cy._paths import PACKAGE
from ascend_cy.errors import CompileError

INCLUDE = PACKAGE / "include"
TARGETS = ("sim", "cpu", *_npu_build.FAMILIES)

CPU_FLAGS = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"]
CPU_LINK_FLAGS = ["-shared", "-pthread", "-Wl,-Bsymbolic"]

# Variables that tell compilers where to look, or what to do.
COMPILER_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH",
                      "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH")
# Options that name a place, perhaps from the current folder; and those that take the machine as it is.
NAMES_A_PLACE = re.compile(r"-[ILB]|-i(?:nclude|system|quote|dirafter|macros)|@|--sysroot|[^-]")
OF_THIS_CPU = re.compile(r"-m(?:arch|cpu|tune)=native")

# One line of it; names of files end in a suffix.
LOOKS_LIKE_CODE = re.compile(r"[{(;].*(?<!\.\w)(?<!\.\w\w)(?<!\.\w\w\w)$")

#: What messages call source code that is in no file.
NO_FILE = "<source>"


def compile(source, *, target=None, options=(), include_dirs=(), name=None, version=None, compiler=None):  # noqa: A001
    """Compile kernels and load them; what was compiled before comes from a cache.

    Parameters
    ----------
    source : path or str
        A file, or source code: a string with a line break in it, or one line that no file is called and that has one of
        ``{``, ``(`` and ``;`` in it. Ascend C; or, for ``target="cpu"``, C++ that defines an ``ascend_kernel_table`` as
        ``ascend_cy/kernel_abi.h`` says.
    target : {"sim", "cpu", "ascend910b", "ascend910_93"}, optional
        By default what the thread's current device runs: on an NPU its family; on the embedded device ``"sim"`` where the
        source has ``__global__`` functions or includes ``kernel_operator.h``, else ``"cpu"``. A reload keeps to ``"sim"``.
    options : sequence of str, optional
        More options for the compiler.
    include_dirs : sequence of path, optional
        Folders of headers. The folder of a source file is looked in by itself.
    name, version : str, optional
        As for :func:`load`.
    compiler : str, optional
        Command of a C++17 compiler; ``CXX`` or ``c++`` by default. For NPUs CANN's own compiler is used.

    Returns
    -------
    Module
        It knows the kernels' signatures where the source is Ascend C.

    Raises
    ------
    CompileError
        If the compiler is missing or refuses the source, or the source has no kernel. Its message has the compiler's
        errors, with the lines of the source.
    OSError
        If a file cannot be read, or others may write to the cache's folder. Where the cache cannot be written, a
        RuntimeWarning says so and the kernel is compiled all the same.
    TypeError, ValueError
        For arguments that cannot be.
    AclError
        If the binary cannot be loaded.

    Notes
    -----
    The cache's key is the content of the source and of every file it includes, the options, the compiler and the
    version of this package. It lies in ``ASCEND_CY_CACHE_DIR`` (by default below ``~/.cache``); ``ascend-cy cache``
    lists and clears it. Several processes that compile the same at once compile it once. :class:`Module` has an
    example.
    """
    request = Request.checked(target, options, include_dirs, compiler)
    check_names(name, version)  # before the compiler takes its time
    content, path, signatures = request.build(source)
    if signatures:  # of Ascend C: what is loaded in its place is, too
        request = replace(request, ascend_c=True)
    if target in _npu_build.FAMILIES and device_info()["kind"] != "npu":
        raise ValueError(f"target must be 'sim' or 'cpu' where no NPU is in use, got {target!r}; the source does compile for it")
    return make_module(content, path, name or (None if path else "source"), version, None, signatures, request.build)


@dataclass(frozen=True)
class Request:
    """How to compile."""

    target: str | None
    options: tuple[str, ...]
    include_dirs: tuple[str, ...]
    compiler: tuple[str, ...]
    #: Whether the source is known to be Ascend C; else the target says, or the source itself.
    ascend_c: bool = False

    @classmethod
    def checked(cls, target: Any, options: Any, include_dirs: Any, compiler: Any) -> Request:
        if target is not None and not isinstance(target, str):
            raise TypeError(f"target must be a string or None, got {type(target).__name__}")
        if target is not None and target not in TARGETS:
            raise ValueError(f"target must be one of {', '.join(TARGETS)} or None, got {target!r}")
        options = sequence_of(options, str, "options must be a sequence of strings")
        folders = sequence_of(include_dirs, (str, os.PathLike), "include_dirs must be a sequence of paths")
        if compiler is not None and not isinstance(compiler, str):
            raise TypeError(f"compiler must be a string or None, got {type(compiler).__name__}")
        command = compiler or os.environ.get("CXX") or "c++"
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"compiler must be a command as a shell takes it, got {command!r}: {error}") from None
        if not words:
            raise ValueError(f"compiler must be a command as a shell takes it, got {command!r}")
        return cls(target, options, tuple(os.path.abspath(os.fsdecode(folder)) for folder in folders), tuple(words))

    def build(self, source: Any) -> tuple[bytes, str | None, dict[str, list[str]]]:
        """(content, path, signatures) of a source."""
        text, path = read_source(source)
        return Build(self, text, path, self.target or default_target(text, path, self.ascend_c)).run()


def sequence_of(values: Any, kind: Any, need: str) -> tuple[Any, ...]:
    """`values` as a tuple; a single string or path is no sequence of them."""
    if isinstance(values, (str, bytes, os.PathLike)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{need}, got {values!r}")
    values = tuple(values)
    if not all(isinstance(value, kind) for value in values):
        raise TypeError(f"{need}, got {values!r}")
    return values


def read_source(source: Any) -> tuple[str, str | None]:
    """The text, and where it was read from."""
    if isinstance(source, str) and ("\n" in source or not source):
        return source, None
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"source must be a path or a string of source code, got {type(source).__name__}")
    if isinstance(source, str) and LOOKS_LIKE_CODE.search(source) and not os.path.exists(source):
        return source, None
    path = os.path.abspath(os.fsdecode(source))
    try:
        return Path(path).read_text(errors="surrogateescape"), path
    except FileNotFoundError as error:
        advice = "; a string is source code where it has a line break, or one of { ( ; in it"
        raise FileNotFoundError(error.errno, f"{error.strerror}{advice}", path) from None


def default_target(text: str, path: str | None, ascend_c: bool) -> str:
    """What the thread's current device runs."""
    kind = device_info()["kind"]
    if kind == "npu":
        soc = Device().name.lower()
        for family in _npu_build.FAMILIES:
            if re.match(family + r"\d", soc):  # plain Ascend910B is of an older family
                return family
        raise CompileError(f"kernels are compiled for {', '.join(_npu_build.FAMILIES)}; not for this device's {soc}")
    code = _kernel_entries.strip_comments(text)
    if ascend_c or re.search(r"\b__global__\b|#\s*include\s*[<\"]kernel_operator\.h\b", code):
        return "sim"
    if not re.search(r"\bascend_kernel_table\b|#\s*include\b", code):  # what is included may have it
        raise CompileError(f"{path or NO_FILE}: no kernel found: neither a __global__ function (Ascend C) nor an "
                           "ascend_kernel_table (C++ for the target cpu)")
    return "cpu"


@dataclass(frozen=True)
class Build:
    """One source, compiled for one target."""

    request: Request
    text: str
    path: str | None
    target: str

    def run(self) -> tuple[bytes, str | None, dict[str, list[str]]]:
        facts = {
            "source": self.path or NO_FILE,
            "target": self.target,
            "options": list(self.request.options),
        }
        content, made = _cache.find_or_make(self.key(), facts, self.make)
        return content, self.path, made["signatures"]

    def key(self) -> str:
        """Everything that the binary depends on but for what is included."""
        parts = {
            "text": hashlib.sha256(self.text.encode(errors="surrogateescape")).hexdigest(),
            # Included names are looked up from here.
            "path": self.path,
            "target": self.target,
            "options": self.request.options,
            "include_dirs": self.request.include_dirs,
            "compiler": self.compiler_identity(),
            "package": [package_version, package_identity()],
            "machine": platform.machine(),
            "variables": {name: os.environ[name] for name in COMPILER_VARIABLES if name in os.environ},
            "folder": os.getcwd() if any(map(NAMES_A_PLACE.match, self.request.options)) else None,
            "cpu": cpu_identity() if any(map(OF_THIS_CPU.match, [*self.request.options, *self.request.compiler])) else None,
        }
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]

    def compiler_identity(self) -> list[Any]:
        if self.target in _npu_build.FAMILIES:
            compiler = self.toolchain().compiler
            status = os.stat(compiler)
            return [str(compiler), says_of_itself((str(compiler),), status.st_mtime_ns, status.st_size)]
        return list(host_compiler(self.request.compiler))

    def toolchain(self) -> _npu_build.Toolchain:
        try:
            return _npu_build.find_toolchain()
        except _npu_build.CannError as error:
            raise CompileError(f"{error} in ASCEND_HOME_PATH") from None

    def make(self) -> _cache.Made:
        with tempfile.TemporaryDirectory(prefix="ascend_cy-") as folder:
            work = Path(folder)
            if self.path is None:
                source = work / "source.cpp"
                source.write_text(self.text, errors="surrogateescape")
            else:
                source = Path(self.path)
            kernels = [] if self.target == "cpu" else self.kernels(work, source)
            output = work / "kernel.bin"
            if self.target == "sim":
                self.compile_sim(work, source, output, kernels)
            elif self.target == "cpu":
                self.compile_cpu(work, source, output)
            else:
                self.compile_npu(work, source, output)
            files = [path for path in dependencies(work) if not path.startswith(folder + "/")]
            try:
                content = output.read_bytes()
            except FileNotFoundError:
                raise CompileError(f"{self.path or NO_FILE}: the compiler for {self.target} wrote nothing") from None
            signatures = {kernel.name: kernel.declarations for kernel in kernels}
            return _cache.Made(content, files, {"signatures": signatures}, self.absent(files))

    def absent(self, files: list[str]) -> tuple[str, ...]:
        """Files that would have been included in the place of `files`: the same names in folders that come first."""
        own = [] if self.path is None else [os.path.dirname(self.path)]
        folders = [*own, *self.request.include_dirs, str(INCLUDE / "ascendc" / "include"), str(INCLUDE)]
        found = set()
        for file in files:
            for i, folder in enumerate(folders):
                if file.startswith(folder + "/"):
                    found.update(os.path.join(earlier, os.path.relpath(file, folder)) for earlier in folders[:i])
        return tuple(sorted(path for path in found if not os.path.lexists(path)))

    def kernels(self, work: Path, source: Path) -> list[_kernel_entries.Kernel]:
        """Those of an Ascend C source that are compiled."""

        def preprocess(directives: str) -> str:
            # Errors in the directives are told with the lines of the source.
            shown = str(source).replace("\\", "\\\\").replace('"', '\\"')
            file, output = work / "conditions.cpp", work / "conditions.i"
            first = '#include "kernel_operator.h"\n' if self.target == "sim" else ""
            file.write_text(f'{first}#line 1 "{shown}"\n{directives}', errors="surrogateescape")
            if self.target == "sim":
                line = [*self.sim_compile_line(file, output, source), "-E"]
            else:
                line = ["-E" if word == "-c" else word for word in self.npu_lines(file, source, output, output)[0]]
            self.call(line, work)
            return output.read_text(errors="replace")

        try:
            return _kernel_entries.find_kernels(source, list(self.request.include_dirs), preprocess=preprocess)
        except _kernel_entries.KernelSourceError as error:
            raise CompileError(self.shown(str(error), str(work))) from None

    def sim_compile_line(self, file: Path, output: Path, source: Path) -> list[str]:
        """The command for `file`, which takes the place of `source`, without what it is for: -c or -E."""
        command = _kernel_entries.sim_compile_command(
            file,
            output,
            INCLUDE,
            extra_include_dirs=[*self.request.include_dirs, source.parent],
            extra_flags=list(self.request.options),
        )
        command[:1] = self.request.compiler  # the compiler may be several words: ccache g++
        dropped = {*sim_runtime_sources(), *_kernel_entries.SIM_LINK_FLAGS}
        return [part for part in command if part not in dropped]

    def compile_sim(self, work: Path, source: Path, output: Path, kernels: list[_kernel_entries.Kernel]) -> None:
        entries, compiled = work / "entries.cpp", work / "kernel.o"
        entries.write_text(_kernel_entries.generate(source, source_names=True, kernels=kernels))
        self.call([*self.sim_compile_line(entries, compiled, source), "-c", "-MD", "-MF", str(work / "kernel.d")], work)
        (work / "runtime.o").write_bytes(sim_runtime(self.request.compiler))
        objects = [str(compiled), str(work / "runtime.o")]
        self.call([*self.request.compiler, *objects, "-o", str(output), *_kernel_entries.SIM_LINK_FLAGS], work)

    def compile_cpu(self, work: Path, source: Path, output: Path) -> None:
        folders = [f"-I{folder}" for folder in [str(INCLUDE), *self.request.include_dirs]]
        depends = ["-MD", "-MF", str(work / "kernel.d")]
        command = [*self.request.compiler, *CPU_FLAGS, *folders, *self.request.options, *depends, str(source), "-o", str(output)]
        self.call([*command, *CPU_LINK_FLAGS], work)

    def npu_lines(self, file: Path, source: Path, compiled: Path, linked: Path) -> list[list[str]]:
        """The compile and the link line for `file`, which takes the place of `source`."""
        compile_line, link_line = _npu_build.commands(self.toolchain(), file, linked, self.target, temporary=compiled)
        folders = [f"-I{folder}" for folder in [*self.request.include_dirs, source.parent]]
        return [[*compile_line, *folders, *self.request.options], link_line]

    def compile_npu(self, work: Path, source: Path, output: Path) -> None:
        compile_line, link_line = self.npu_lines(source, source, work / "kernel.tmp.o", output)
        self.call([*compile_line, "-MD", "-MF", str(work / "kernel.d")], work)
        self.call(link_line, work)

    def call(self, command: list[str], work: Path) -> None:
        result = run_compiler(command, work)
        if result.returncode != 0:
            log = self.shown(result.stderr or result.stdout, str(work))
            # Nobody may have asked for that target.
            why = ", as C++ without a __global__ function" if self.target == "cpu" and self.request.target is None else ""
            raise CompileError(f"{self.path or NO_FILE} does not compile for {self.target}{why}:\n{log}", log, command)

    def shown(self, log: str, work: str) -> str:
        """The compiler's words, without the names of temporary files."""
        if self.path is None:
            log = log.replace(f"{work}/source.cpp", NO_FILE)
        lines = [line for line in log.splitlines() if f"{work}/entries.cpp" not in line or "error" in line]
        return "\n".join(lines).replace(f"{work}/entries.cpp", "<table of its kernels>").strip()


def run_compiler(command: Sequence[str], work: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(work)}
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   env=environment)
    except OSError as error:
        raise CompileError(f"cannot run the compiler {command[0]}: {error.strerror}") from None
    with process:
        try:
            out, err = process.communicate()
        except BaseException:
            process.kill()
            process.wait()  # subprocess.run does not at Ctrl-C, and warns of it later
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def dependencies(work: Path) -> list[str]:
    """The files that the compiler says it read."""
    try:
        text = (work / "kernel.d").read_text(errors="surrogateescape")
    except OSError:
        return []
    text = text.replace("\\\n", " ").split(":", 1)[-1]
    names = [name.replace("\\ ", " ").replace("$$", "$") for name in re.findall(r"(?:\\ |\S)+", text)]
    return sorted({os.path.abspath(name) for name in names})


@functools.lru_cache(maxsize=None)
def package_identity() -> str:
    """Tells one build of this package from another, as far as compiled kernels go."""
    state = hashlib.sha256(repr((package_version, built_by)).encode())
    for path in sorted((INCLUDE / "ascendc").rglob("*")):
        if path.is_file():
            state.update(path.read_bytes())
    return state.hexdigest()


def host_compiler(command: tuple[str, ...]) -> tuple[str, str]:
    """(path, what it says of itself)."""
    path = shutil.which(command[0])
    if path is None:
        raise CompileError(f"no C++ compiler: {command[0]} is not there; install one, or name it with CXX")
    status = os.stat(path)
    # Run under the name it has: some programs go by that.
    return os.path.realpath(path), says_of_itself((path, *command[1:]), status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=None)
def says_of_itself(command: tuple[str, ...], changed: int, size: int) -> str:
    """The compiler's version; asked again when the program is another one."""
    with tempfile.TemporaryDirectory(prefix="ascend_cy-") as work:
        return run_compiler([*command, "--version"], Path(work)).stdout


@functools.lru_cache(maxsize=None)
def cpu_identity() -> str:
    """What code for "native" depends on."""
    try:
        text = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0]
    except OSError:
        text = platform.processor()
    lines = [line for line in text.splitlines() if re.match(r"(flags|Features|model|vendor_id|cpu family|CPU)", line)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def sim_runtime_sources() -> list[str]:
    return sorted(map(str, (INCLUDE / "ascendc" / "runtime").glob("*.cpp")))


def sim_runtime(compiler: tuple[str, ...]) -> bytes:
    """The simulator's own part of a binary, compiled once and kept: a relocatable object."""
    sources = sim_runtime_sources()
    flags = [*_kernel_entries.SIM_FLAGS, f"-I{INCLUDE / 'ascendc' / 'include'}", f"-I{INCLUDE}"]
    parts = ["sim runtime", host_compiler(compiler), flags, package_identity(), platform.machine()]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]

    def make() -> _cache.Made:
        with tempfile.TemporaryDirectory(prefix="ascend_cy-") as folder:
            work = Path(folder)
            objects = []
            for source in sources:
                target = work / (Path(source).stem + ".o")
                check_runtime(run_compiler([*compiler, *flags, "-c", source, "-o", str(target)], work))
                objects.append(str(target))
            check_runtime(run_compiler([*compiler, "-r", "-nostdlib", *objects, "-o", str(work / "runtime.o")], work))
            return _cache.Made((work / "runtime.o").read_bytes(), list(sources), {})

    facts = {"source": "the simulator's runtime", "target": "sim", "options": []}
    return _cache.find_or_make(key, facts, make)[0]


def check_runtime(result: subprocess.CompletedProcess[str]) -> None:
    if result.returncode != 0:
        raise CompileError(f"the simulator's runtime does not compile:\n{result.stderr}", result.stderr, list(result.args))
