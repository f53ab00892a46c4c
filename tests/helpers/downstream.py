# SPDX-License-Identifier: Apache-2.0
"""Projects of others that are built against the installed package, in folders of their own, and need no network for it."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import child
import embedded
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "downstream"
# A bound that tells a hang from slowness on a busy machine.
HANG = 280


def needs(*modules: str) -> None:
    """Skip by name where a module of the building side is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if "setuptools" in modules and int(importlib.metadata.version("setuptools").split(".")[0]) < 71:
        pytest.skip("setuptools is older than 71, so it makes no wheels by itself")
    embedded.compiler("CC", "cc")
    embedded.compiler("CXX", "c++")


def environment(folder: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    """Tools are those of the Python that runs the tests: `python` and `cython` on the PATH may belong to another."""
    tools = folder / ".tools"
    if not tools.is_dir():
        tools.mkdir(parents=True)
        for name, words in (("python", ""), ("cython", "-m cython")):
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (tools / name).chmod(0o755)
    beside = os.path.dirname(sys.executable)
    path = os.pathsep.join([str(tools), beside, os.environ.get("PATH", os.defpath)])
    # Compiled without optimization: what is tested here is that it builds and runs.
    return child.environment({"PATH": path, "CFLAGS": "-O0", "CXXFLAGS": "-O0", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                              "PYTHONPATH": "", **(extra or {})})


def command(words: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(words, cwd=folder, env=env, text=True, capture_output=True, timeout=HANG, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def build(name: str, folder: Path, *options: str) -> Path:
    """The wheel of an example, built from a copy of it in `folder`; by default with what is installed here alone."""
    source = folder / name
    shutil.copytree(EXAMPLES / name, source)
    env = environment(folder)
    options = options or ("-q", "--no-build-isolation", "--no-index")
    command([sys.executable, "-m", "pip", "wheel", *options, "--no-deps", "-w", "wheels", "."], source, env)
    (wheel,) = (source / "wheels").glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a folder of its own, for PYTHONPATH."""
    site = folder / "site"
    command([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site), str(wheel)], folder,
            environment(folder))
    return site


def own_wheel(folder: Path) -> Path:
    """The installed package as a wheel again, for environments that do not have it."""
    distribution = importlib.metadata.distribution("ascend-cy")
    files = [file for file in distribution.files or [] if not file.as_posix().startswith("..") and "__pycache__" not in file.parts
             and not re.search(r"\.dist-info/(INSTALLER|REQUESTED|direct_url\.json|RECORD)$", file.as_posix())]
    if not any(file.as_posix() == "ascend_cy/__init__.pxd" for file in files):
        pytest.skip("the package in use is not installed as a wheel (an editable install)")
    (tag,) = re.findall(r"(?m)^Tag: (\S+)", distribution.read_text("WHEEL") or "")
    (about,) = {file.parts[0] for file in files if file.parts[0].endswith(".dist-info")}
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"ascend_cy-{distribution.version}-{tag}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for file in files:
            content = Path(distribution.locate_file(file)).read_bytes()
            archive.writestr(file.as_posix(), content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{file.as_posix()},sha256={digest},{len(content)}")
        archive.writestr(f"{about}/RECORD", "\n".join([*record, f"{about}/RECORD,,"]) + "\n")
    return wheel


@functools.cache
def index_reached() -> bool:
    """Whether pip gets packages here."""
    words = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--no-deps", "wheel"]
    return subprocess.run(words, capture_output=True, timeout=HANG).returncode == 0


def needs_index() -> None:
    if not index_reached():
        pytest.skip("pip reaches no package index here")
