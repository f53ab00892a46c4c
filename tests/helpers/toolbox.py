# SPDX-License-Identifier: Apache-2.0
"""Programs against the host library's C interface, and what they run on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import embedded
import vendor

import ascend_cy

TESTS = Path(__file__).resolve().parents[1]
SOURCES = TESTS / "c" / "host"
KERNEL_HEADERS = TESTS.parent / "kernels"  # the argument blocks, which do not ship


class Toolbox:
    """Builds programs and fake device libraries once, when first asked for, and runs programs on a device."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.include = f"-I{ascend_cy.get_include()}"
        self.library_dir = ascend_cy.get_library_dir()
        self.programs: dict[str, Path] = {}
        self.fakes: dict[str, Path] = {}
        # Kernels of the fake NPU: it opens none of them.
        kernels = folder / "cache" / "kernels" / "ascend910b"
        kernels.mkdir(parents=True)
        for op in ("layernorm", "layernorm_backward"):
            (kernels / f"{op}.o").write_bytes(b"")

    def program(self, name: str) -> Path:
        if name not in self.programs:
            target = self.folder / name
            command = [*embedded.compiler("CXX", "g++"), "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", self.include,
                       f"-I{KERNEL_HEADERS}", str(SOURCES / f"{name}.cpp"), "-o", str(target), f"-L{self.library_dir}",
                       "-lascend_cy", f"-Wl,-rpath,{self.library_dir}", "-ldl", "-lpthread"]
            subprocess.run(command, check=True, cwd=self.folder)
            self.programs[name] = target
        return self.programs[name]

    def fake(self, kind: str) -> Path:
        """A folder that looks like a CANN installation."""
        if kind not in self.fakes:
            self.fakes[kind] = vendor.build(self.folder / f"cann-{kind}", kind)
        return self.fakes[kind]

    def environment(self, device: str | None, fake: str | None = None, **more: str) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("ASCEND", "FAKE_ACL"))}
        env["ASCEND_CY_CACHE_DIR"] = str(self.folder / "cache")
        env["LSAN_OPTIONS"] = "detect_leaks=0"
        if device is not None:
            env["ASCEND_CY_DEVICE"] = device
        if fake is not None:
            env["ASCEND_HOME_PATH"] = str(self.fake(fake))
        return env | more

    def run(self, name: str, *arguments: str, env: dict[str, str], timeout: int = 60) -> subprocess.CompletedProcess:
        return subprocess.run([str(self.program(name)), *arguments], env=env, cwd=self.folder, text=True,
                              capture_output=True, timeout=timeout)

    def show(self, *arguments: str, env: dict[str, str]) -> dict[str, str]:
        """What show.cpp prints."""
        result = self.run("show", *arguments, env=env)
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return dict(line.split(": ", 1) for line in result.stdout.splitlines())

    def run_each(self, name: str, env: dict[str, str]) -> None:
        """Every test of a program in a process of its own; none may say anything on stderr."""
        listed = self.run(name, "--list", env=env)
        tests = listed.stdout.split()
        assert tests, listed.stderr
        failed = []
        for test in tests:
            result = self.run(name, test, env=env)
            if result.returncode != 0 or result.stderr:
                failed.append(f"{test}: exit code {result.returncode}\n{result.stderr}")
        assert not failed, "\n".join(failed)
