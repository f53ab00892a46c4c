# SPDX-License-Identifier: Apache-2.0
"""A folder that looks like a CANN installation: its compiler and linker are stand-ins that write down how they are called.

With ``STAND_IN_COMPILES`` (the package's headers) set in the environment they do their work as well: the host's compiler makes the sources into
binaries that the embedded device takes, and ``Cann.device_library`` puts that device where CANN's library would lie.
"""

from __future__ import annotations

import json
import os
import platform
import stat
import sys
from pathlib import Path

ENTRIES = Path(__file__).resolve().parents[2] / "ascend_cy" / "_kernel_entries.py"

PROGRAM = """#!{python}
import sys
sys.path.insert(0, {helpers!r})
import cann
sys.exit(cann.main(sys.argv, {log!r}))
"""


class Cann:
    """The folder."""

    def __init__(self, root: Path, version: str | None = None) -> None:
        self.root = root
        self.log = root / "calls.jsonl"
        machine = "aarch64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
        self.bin = root / f"{machine}-linux" / "ccec_compiler" / "bin"
        self.bin.mkdir(parents=True)
        for name in ("bisheng", "ld.lld"):
            program = self.bin / name
            program.write_text(PROGRAM.format(python=sys.executable, helpers=str(Path(__file__).parent), log=str(self.log)))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        if version:
            (root / f"{machine}-linux" / "ascend_toolkit_install.info").write_text(
                f"package_name=Ascend-cann-toolkit\nversion={version}\narch={machine}\n")

    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def device_library(self, kept: Path) -> dict[str, str]:
        """The environment in which this installation has one NPU, which is the embedded device by another name.

        What all its kernels need is compiled once, into the folder `kept`.
        """
        import ascend_cy

        (self.root / "lib64").mkdir()
        (self.root / "lib64" / "libascendcl.so").symlink_to(Path(ascend_cy.__file__).parent / "libascendcl_cpu.so")
        return {"ASCEND_HOME_PATH": str(self.root), "ASCEND_CY_DEVICE": "npu", "STAND_IN_COMPILES": ascend_cy.get_include(),
                "STAND_IN_KEEPS": str(kept)}


def main(words: list[str], log: str) -> int | str:
    """bisheng, or ld.lld."""
    program = os.path.basename(words[0])
    if "--version" in words:
        print(program, "that stands in")
        return 0
    with open(log, "a") as file:
        file.write(json.dumps([program, *words[1:]]) + "\n")
    if os.environ.get("STAND_IN_FAILS") == program:
        return "kernel.cpp:7: error: no such intrinsic"
    output = Path(words[words.index("-o") + 1])
    include = os.environ.get("STAND_IN_COMPILES")
    if not include:
        output.write_text(f"made by {program}")
        return 0
    if program == "ld.lld":
        output.write_bytes(Path(next(word for word in words[1:] if word.endswith(".o"))).read_bytes())
        return 0
    return compile_for_the_embedded_device(words, output, Path(include))


def compile_for_the_embedded_device(words: list[str], output: Path, include: Path) -> int:
    import importlib.util
    import subprocess

    spec = importlib.util.spec_from_file_location("_kernel_entries", ENTRIES)
    entries = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = entries
    spec.loader.exec_module(entries)
    source = Path(next(word for word in words if word.endswith(".cpp")))
    # Of CANN's own options the host's compiler knows nothing.
    known = [word for word in words[1:] if word.startswith(("-I", "-D"))]
    flags = [*entries.SIM_FLAGS, "-O0", f"-I{include / 'ascendc' / 'include'}", f"-I{include}", *known]

    def run(*more: object) -> int:
        return subprocess.call([os.environ.get("CXX", "c++"), *flags, *map(str, more)])

    if "-E" in words:
        return run("-E", source, "-o", output)

    def preprocess(text: str) -> str:
        work = output.with_suffix(".conditions.cpp")
        work.write_text(text)
        if run(f"-I{source.parent}", "-include", "kernel_operator.h", "-E", work, "-o", work.with_suffix(".i")) != 0:
            sys.exit(1)
        return work.with_suffix(".i").read_text()

    table = output.with_suffix(".entries.cpp")
    table.write_text(entries.generate(source, kernels=entries.find_kernels(source, preprocess=preprocess)))
    compiled = output.with_suffix(".compiled.o")
    depends = words[words.index("-MD") : words.index("-MD") + 3] if "-MD" in words else []
    if run("-c", table, "-o", compiled, *depends) != 0:
        return 1
    objects = []
    for part in sorted((include / "ascendc" / "runtime").glob("*.cpp")):
        objects.append(Path(os.environ["STAND_IN_KEEPS"]) / f"{part.stem}.o")
        if not objects[-1].exists() and run("-c", part, "-o", objects[-1]) != 0:
            return 1
    return run(compiled, *objects, "-o", output, *entries.SIM_LINK_FLAGS)
