# SPDX-License-Identifier: Apache-2.0
"""Compiles Ascend C sources into kernel binaries of NPUs, with the compiler of a CANN installation.

Used by the build (``python _npu_build.py …``) and by ``ascend-cy build-kernels``. Standard library only.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FAMILIES", "CannError", "Toolchain", "build", "commands", "find_toolchain"]

#: SoC families whose kernels the shipped sources are written for, and their architecture as the older compilers name it.
FAMILIES = {"ascend910b": "dav-c220-vec", "ascend910_93": "dav-c220-vec"}
_NPU_ARCH = "dav-2201"

# From here on the compiler takes Ascend C as a language of its own.
_ASC_LANGUAGE_SINCE = (8, 5)


class CannError(RuntimeError):
    """No usable CANN installation, or its compiler refused a source."""


@dataclass(frozen=True)
class Toolchain:
    """The compiler and the linker of one CANN installation."""

    root: Path
    compiler: Path
    linker: Path
    version: tuple[int, int] | None  # None: not told anywhere

    @property
    def has_asc_language(self) -> bool:
        """Whether the compiler takes Ascend C as a language of its own; what does not tell its version is taken as new."""
        return self.version is None or self.version >= _ASC_LANGUAGE_SINCE


def _machine_folder() -> str:
    machine = platform.machine()
    return ("aarch64" if machine in ("aarch64", "arm64") else "x86_64") + "-linux"


def candidate_roots(environment: Mapping[str, str]) -> list[Path]:
    """Where CANN may be installed, best first."""
    named = [environment.get(n) for n in ("ASCEND_INSTALL_PATH", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")]
    home = environment.get("HOME")
    usual = [
        *([f"{home}/Ascend/cann", f"{home}/Ascend/ascend-toolkit/latest"] if home else []),
        "/usr/local/Ascend/cann",
        "/usr/local/Ascend/ascend-toolkit/latest",
        "/opt/Ascend/cann",
    ]
    return [Path(p) for p in dict.fromkeys([*(n for n in named if n), *usual])]


def _version(root: Path) -> tuple[int, int] | None:
    for info in (
        root / _machine_folder() / "ascend_toolkit_install.info",
        root / "ascend_toolkit_install.info",
        root / "share/info/runtime/version.info",
        root / "version.info",
    ):
        try:
            text = info.read_text(errors="replace")
        except OSError:
            continue
        match = re.search(r"^\s*version\s*=\s*(\d+)\.(\d+)", text, re.IGNORECASE | re.MULTILINE)
        if match:
            return int(match.group(1)), int(match.group(2))
    return None


def toolchain_in(root: Path) -> Toolchain | None:
    """The toolchain of an installation, or None."""
    for folder in (
        root / _machine_folder() / "ccec_compiler/bin",
        root / "compiler/ccec_compiler/bin",
        root / "tools/ccec_compiler/bin",
        root / "bin",
    ):
        compiler, linker = folder / "bisheng", folder / "ld.lld"
        if all(p.is_file() and os.access(p, os.X_OK) for p in (compiler, linker)):
            return Toolchain(root, compiler, linker, _version(root))
    return None


def find_toolchain(root: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Toolchain:
    """The toolchain in `root`, or the first one found in the usual places."""
    roots = [Path(root)] if root else candidate_roots(os.environ if environment is None else environment)
    for candidate in roots:
        toolchain = toolchain_in(candidate)
        if toolchain is not None:
            return toolchain
    raise CannError(
        "no CANN compiler (bisheng and ld.lld) found in: " + ", ".join(map(str, roots))
        + "; source CANN's set_env.sh, or name its folder"
    )


def commands(
    toolchain: Toolchain, source: str | Path, output: str | Path, family: str, *, temporary: str | Path | None = None
) -> list[list[str]]:
    """The compile and the link line that turn `source` into the device binary `output`."""
    if family not in FAMILIES:
        raise CannError(f"kernels are written for {', '.join(FAMILIES)}; not for {family}")
    unlinked = str(temporary or f"{output}.tmp.o")
    if toolchain.has_asc_language:
        compile_line = [
            str(toolchain.compiler),
            f"--npu-arch={_NPU_ARCH}",
            "--aicore-only",
            "-std=c++17",
            "-O3",
            "-DASCENDC_DUMP=0",
            "-c",
            "-x",
            "asc",
            str(source),
            "-o",
            unlinked,
        ]
    else:
        framework = next(
            (p for p in (toolchain.root / _machine_folder() / "tikcpp/tikcfw", toolchain.root / "compiler/tikcpp/tikcfw")
             if p.is_dir()),
            toolchain.root / _machine_folder() / "tikcpp/tikcfw",
        )
        compile_line = [
            str(toolchain.compiler),
            "-c",
            "-x",
            "cce",
            "-O3",
            str(source),
            f"--cce-aicore-arch={FAMILIES[family]}",
            "--cce-aicore-only",
            "--cce-auto-sync",
            "-std=c++17",
            "--cce-disable-kernel-global-attr-check",
            *(f for o in ("stack-size=0x8000", "function-stack-size=0x8000", "dcci-insert-for-scalar=false")
              for f in ("-mllvm", f"-cce-aicore-{o}")),
            "-DASCENDC_DUMP=0",
            "-DTILING_KEY_VAR=0",
            *(f"-I{framework / part}" for part in ("", "impl", "interface")),
            "-o",
            unlinked,
        ]
    link_line = [str(toolchain.linker), "-m", "aicorelinux", "-Ttext=0", unlinked, "-static", "-o", str(output)]
    return [compile_line, link_line]


def build(toolchain: Toolchain, source: str | Path, output: str | Path, family: str) -> None:
    """Compile and link; `output` appears whole or not at all."""
    target = Path(output)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".ascend_cy-", dir=target.parent) as folder:
        linked = Path(folder) / target.name
        for line in commands(toolchain, source, linked, family, temporary=Path(folder) / "kernel.tmp.o"):
            try:
                result = subprocess.run(line, capture_output=True, text=True, errors="replace")
            except OSError as error:
                raise CannError(f"{line[0]}: {error.strerror}") from error
            if result.returncode != 0:
                reason = (result.stderr or result.stdout).strip()
                raise CannError(f"{Path(line[0]).name} failed on {source} ({result.returncode}):\n{reason[-4000:]}")
        if not linked.is_file():
            raise CannError(f"{toolchain.linker} wrote nothing for {source}")
        os.replace(linked, target)


def main(arguments: Sequence[str] | None = None) -> int:
    """The build's entry: compiles one source, or with ``--find`` tells where the toolchain is."""
    import argparse  # for builds only

    parser = argparse.ArgumentParser(description="Compiles an Ascend C source with CANN's compiler.")
    parser.add_argument("source", nargs="?")
    parser.add_argument("-o", "--output")
    parser.add_argument("--family", default="ascend910b", choices=sorted(FAMILIES))
    parser.add_argument("--cann", help="CANN's folder")
    parser.add_argument("--find", action="store_true", help="only print the folder of the toolchain")
    options = parser.parse_args(arguments)
    try:
        toolchain = find_toolchain(options.cann)
        if options.find:
            print(toolchain.root)
            return 0
        if not options.source or not options.output:
            parser.error("a source and --output are wanted")
        build(toolchain, options.source, options.output, options.family)
    except CannError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
