"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

import ascend_cy
from ascend_cy import _build_info
from ascend_cy.bench._native import version_of

PACKAGES = (
    "numpy",
    "torch",
    "onnxruntime",
    "numba",
    "jax",
    "pyopencl",
    "pocl-binary-distribution",
    "pybind11",
    "nanobind",
    "cffi",
    "ml_dtypes",
)


def machine() -> dict[str, Any]:
    """Facts about this machine, as plain data."""
    cpuinfo = read("/proc/cpuinfo")
    name = re.search(r"^(?:model name|Model|CPU part)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    flags = set((re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo, re.MULTILINE) or [""])[0].split())
    memory = re.search(r"^MemTotal:\s*(\d+) kB", read("/proc/meminfo"), re.MULTILINE)
    return {
        "cpu": name.group(1).strip() if name else platform.machine(),
        "architecture": platform.machine(),
        "vectors": next((text for flag, text in VECTORS if flag in flags), ""),
        "virtual": "hypervisor" in flags,
        "cpus": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "memory": int(memory.group(1)) * 1024 if memory else None,
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load": list(os.getloadavg()),
        "hugepages": re.sub(r".*\[(\w+)\].*", r"\1", read("/sys/kernel/mm/transparent_hugepage/enabled")).strip(),
    }


VECTORS = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sse2", "SSE2"), ("asimd", "NEON"))


def versions() -> dict[str, str]:
    """Versions of everything that takes part and is installed."""
    found = {"ascend_cy": f"{ascend_cy.__version__} ({_build_info.buildtype}, {_build_info.compiler})"}
    found.update({package: version_of(package) for package in PACKAGES})
    return {package: version for package, version in found.items() if version}


def read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def caches() -> str:
    """``L1 48K, L2 2048K, L3 …`` of the first CPU."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if read(str(folder / "type")).strip() != "Instruction":
            found[read(str(folder / "level")).strip()] = read(str(folder / "size")).strip()
    return ", ".join(f"L{level} {size}" for level, size in sorted(found.items()))


def lines(facts: dict[str, Any], found: dict[str, str], command: list[str]) -> list[str]:
    """The same for people."""
    caches = f"; {facts['caches']}" if facts["caches"] else ""
    virtual = ", virtual machine" if facts["virtual"] else ""
    memory = f", {facts['memory'] / 2**30:.0f} GiB" if facts["memory"] else ""
    return [
        f"machine   {facts['cpu']}, {facts['cpus']} CPUs usable, {facts['vectors']}{caches}{memory}{virtual}",
        f"system    {facts['system']}, {facts['python']}, load {facts['load'][0]:.1f}",
        "versions  " + ", ".join(f"{name} {version}" for name, version in found.items()),
        "command   " + " ".join(command),
    ]


