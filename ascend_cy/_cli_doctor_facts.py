# SPDX-License-Identifier: Apache-2.0
"""What ``ascend-cy doctor`` finds out: each function looks at one part of the machine and changes nothing.

No function here makes a device context; :func:`smoke` does, and is called only when it was asked for. Where NPUs leave
their traces on a machine (device files, the driver's files) is taken from the vendor's documents; no NPU was at hand.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import ascend_cy
from ascend_cy import _build_info, _cache, _npu_build
from ascend_cy._cli_common import one_line
from ascend_cy._cli_device import DeviceLibrary, kernel_files

PREFIXES = ("ASCEND", "CANN", "NPU_")
VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "CC", "CXX", "CPATH", "PYTHONPATH", "XDG_CACHE_HOME")
# What a process must be able to open to use an NPU, beside /dev/davinci0, davinci1, ...
SHARED_NODES = ("davinci_manager", "devmm_svm", "hisi_hdc")
LISTED = re.compile(r"\bX\(\w+, ([A-Z]), [^,()]+, (\w+),")
RELEASE = re.compile(r'#define ASCEND_CY_ACL_SINCE_([A-Z]) "(?:a release after )?([^"]+)"')


def package() -> dict[str, Any]:
    """The installation itself; what is missing from it is in ``missing_files``."""
    folder = Path(ascend_cy.get_library_dir())
    wanted = ("libascend_cy.so", "libascendcl_cpu.so", "device_sim.json", "__init__.pxd", "include/ascend_cy/acl.h")
    kernels = kernel_files()
    missing = [name for name in wanted if not (folder / name).is_file()]
    missing += [f"kernels/{target}/" for target in ("cpu", "sim") if target not in kernels]
    return {
        "version": ascend_cy.__version__,
        "folder": str(folder),
        "build": f"{_build_info.buildtype}, {_build_info.compiler}, {_build_info.machine}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}, {' '.join(platform.libc_ver())}",
        "missing_files": missing,
    }


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that change what happens."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if name.startswith(PREFIXES) or name in VARIABLES
    }


def cann(variables: Mapping[str, str]) -> list[dict[str, Any]]:
    """Installations of CANN in the usual places and where the environment says, best first."""
    found = []
    for root in _npu_build.candidate_roots(variables):
        if not root.is_dir():
            continue
        toolchain = _npu_build.toolchain_in(root)
        found.append(
            {
                "folder": str(root),
                "version": version_in(
                    root / f"{platform.machine()}-linux/ascend_toolkit_install.info",
                    root / "ascend_toolkit_install.info",
                    root / "share/info/runtime/version.info",
                    root / "version.info",
                ),
                "library": next(
                    (str(path) for path in (root / "lib64/libascendcl.so", root / "lib64/libacl_rt.so") if path.exists()), None
                ),
                "compiler": str(toolchain.compiler) if toolchain else None,
            }
        )
    return found


def version_in(*files: Path) -> str | None:
    """The value of ``version=`` in the first of these files that has one."""
    for file in files:
        with contextlib.suppress(OSError):
            match = re.search(r"(?im)^\s*version\s*=\s*\[?([^\s\]]+)", file.read_text(errors="replace"))
            if match:
                return match[1]
    return None


def driver(system: Path = Path("/")) -> dict[str, Any]:
    """The kernel driver's traces below `system`, which is another folder in tests only."""
    folder = system / "usr/local/Ascend/driver"
    with contextlib.suppress(OSError):
        told = (system / "etc/ascend_install.info").read_text(errors="replace")
        match = re.search(r"(?m)^Driver_Install_Path_Param=(.+)$", told)
        if match:
            folder = system / match[1].strip().lstrip("/") / "driver"
    nodes = []
    with contextlib.suppress(OSError):
        nodes = sorted(path for path in (system / "dev").iterdir() if re.fullmatch(r"davinci\d+", path.name))
    nodes += [path for name in SHARED_NODES if (path := system / "dev" / name).exists()]
    return {
        "folder": str(folder) if folder.is_dir() else None,
        "version": version_in(folder / "version.info"),
        "npu_smi": shutil.which("npu-smi"),
        "device_files": [str(path) for path in nodes],
        "not_accessible": [str(path) for path in nodes if not os.access(path, os.R_OK | os.W_OK)],
    }


def listed_functions() -> dict[str, list[str]]:
    """AscendCL's functions as the package knows them, by the CANN release that brought them."""
    text = Path(ascend_cy.get_include(), "ascend_cy", "acl_functions.h").read_text(encoding="utf-8")
    releases = dict(RELEASE.findall(text))
    found: dict[str, list[str]] = {}
    for letter, name in sorted(LISTED.findall(text)):
        found.setdefault(releases[letter], []).append(name)
    return found


def device() -> dict[str, Any]:
    """The device library in use, its version, and which functions it lacks. Creates no context."""
    info = dict(ascend_cy.device_info())
    info["runtime_version"] = None
    info["missing_functions"] = {}
    if info["kind"] != "none":
        lacking = {
            release: names
            for release, every in listed_functions().items()
            if (names := [name for name in every if not ascend_cy.has(name)])
        }
        info["missing_functions"] = lacking
        with contextlib.suppress(OSError, AttributeError):
            parts = [ctypes.c_int32() for _ in range(3)]
            if ctypes.CDLL(info["library"]).aclrtGetVersion(*map(ctypes.byref, parts)) == 0:
                info["runtime_version"] = ".".join(str(part.value) for part in parts)
    return info


def compilers(variables: Mapping[str, str]) -> dict[str, Any]:
    """The host compilers that builds and `ascend_cy.compile` would run: command, path, and what it calls itself."""
    found = {}
    for variable, usual in (("CXX", "c++"), ("CC", "cc")):
        command = variables.get(variable) or usual
        words = shlex.split(command) or [usual]
        path = shutil.which(words[0], path=variables.get("PATH"))
        told = None
        if path is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                done = subprocess.run(
                    [*words, "--version"], capture_output=True, text=True, errors="replace", timeout=20, stdin=subprocess.DEVNULL
                )
                if done.returncode == 0:
                    told = next(iter(done.stdout.splitlines()), None)
        found[variable] = {"command": command, "path": path, "version": told}
    return found


def kernels() -> dict[str, dict[str, list[str]]]:
    """Kernel binaries by where they are (``package``, ``cache``) and by target: cpu, sim, or a family of SoCs."""
    found = {"package": {target: [file.name for file in files] for target, files in kernel_files().items() if target != "src"}}
    own: dict[str, list[str]] = {}
    with contextlib.suppress(RuntimeError, OSError):
        root = _cache.cache_folder().parent / "kernels"
        for folder in sorted(root.iterdir()):
            if folder.is_dir() and (files := sorted(file.name for file in folder.iterdir() if file.is_file())):
                own[folder.name] = files
    return {**found, "cache": own}


def cache() -> dict[str, Any]:
    """The folder of compiled kernels: whether it could be used, and what it holds. It is not made."""
    facts: dict[str, Any] = {"folder": None, "exists": False, "problem": None, "entries": 0, "bytes": 0}
    try:
        folder = _cache.cache_folder()
    except RuntimeError as error:
        return {**facts, "problem": str(error)}
    facts.update(folder=str(folder), exists=folder.is_dir())
    if facts["exists"]:
        status = folder.stat()
        if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            facts["problem"] = f"{folder} is not private: others may write to it, and what is in it would be run"
        else:
            kept = _cache.entries()
            facts.update(entries=len(kept), bytes=sum(entry.nbytes for entry in kept))
        writable = folder
    else:
        writable = next(parent for parent in folder.parents if parent.exists())
    if facts["problem"] is None and not os.access(writable, os.W_OK | os.X_OK):
        facts["problem"] = f"{writable} is not writable"
    return facts


def smoke(index: int) -> dict[str, Any]:
    """Run layernorm and a copy on device `index`, against float64; this makes a context on it."""
    facts: dict[str, Any] = {"device": index, "soc": None, "memory": None, "error": None, "problem": None}
    x = np.random.default_rng(0).normal(3, 2, (37, 1000)).astype(np.float32)
    try:
        with ascend_cy.Stream(device=index) as stream:
            library = DeviceLibrary(ascend_cy.device_info()["library"])
            facts.update(soc=library.soc_name(), memory=library.memory())
            on_device = ascend_cy.asarray(x)
            if not np.array_equal(on_device.to_numpy(), x):
                facts["problem"] = "a copy to the device and back changed the data"
            y = ascend_cy.layernorm(on_device).to_numpy()
            stream.synchronize()
    except (ascend_cy.AclError, OSError) as error:
        return {**facts, "problem": one_line(str(error))}
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    facts["error"] = float((np.abs(y - expected).max(1) / np.abs(expected).max(1)).max())
    if facts["problem"] is None and not facts["error"] <= 1e-6:
        facts["problem"] = f"layernorm is wrong by {facts['error']:.1e} of the row's largest value, where 1e-6 is allowed"
    return facts
