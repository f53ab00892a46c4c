# SPDX-License-Identifier: Apache-2.0
"""What the simulator counted: ``ascend_cy.sim.last_report()``.

Every `sim` kernel binary keeps the report of its last launch and exports a function that copies it. Nothing here goes
through the device: the binaries that this process has loaded are asked directly. Wait for the launch (synchronise its
stream) before asking.
"""

from __future__ import annotations

import _ctypes
import ctypes
import json
import os

__all__ = ["last_report", "modelled_time", "SOCS"]

_FUNCTION = "ascend_sim_last_report"

#: Clock in MHz and vector cores of the chips that dav-2201 stands for.
SOCS = {
    "Ascend910B1": (1850, 48),
    "Ascend910B2": (1800, 48),
    "Ascend910B3": (1800, 40),
    "Ascend910B4": (1500, 40),
}


class _Symbol(ctypes.Structure):
    """Dl_info of dladdr."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def _loaded_binaries() -> list[str]:
    """Shared objects of this process that are not of the system, by the names under which dlopen knows them.

    Binaries that were loaded from memory never were a file, and dladdr alone knows their names. It needs no call back
    into Python, in which the GIL could change hands below the linker's lock.
    """
    names = []
    dladdr = ctypes.PyDLL(None).dladdr
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) < 6 or "x" not in fields[1]:
                continue
            name = fields[5].rstrip("\n")
            if name.startswith("/memfd:"):
                found = _Symbol()
                address = ctypes.c_void_p(int(fields[0].split("-")[0], 16))
                name = os.fsdecode(found.file) if dladdr(address, ctypes.byref(found)) and found.file else ""
            elif ".so" not in os.path.basename(name):
                continue
            if name.startswith("/") and name not in names:
                names.append(name)
    return names


def _report_of(name: str) -> tuple[int, str] | None:
    """When the binary's last launch ended, and its report; None if it is no `sim` binary or ran nothing."""
    try:
        library = ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    try:
        function = getattr(library, _FUNCTION, None)
        if function is None:
            return None
        function.restype = ctypes.c_size_t
        function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint64)]
        stamp = ctypes.c_uint64(0)
        size = function(None, 0, ctypes.byref(stamp))
        while stamp.value != 0:
            text = ctypes.create_string_buffer(size + 1)
            actual = function(text, size + 1, ctypes.byref(stamp))
            if actual <= size:
                return stamp.value, text.value.decode()
            size = actual  # another launch ended in between
        return None
    finally:
        # The binary belongs to its module, which may be closed any time.
        _ctypes.dlclose(library._handle)


def last_report(kernel: str | None = None) -> dict | None:
    """The report of the last `sim` launch that ended, or None.

    With `kernel`, only binaries whose last launch was of that name count.

    Keys: ``kernel``, ``blocks``, ``completed``; ``instructions``, ``bytes`` and modelled ``cycles`` by pipe;
    ``gm_read`` and ``gm_written`` in bytes; ``vector_repeats``; ``peak`` bytes in use by memory; ``apis``, calls by
    name; and ``cores``, the same for every core by itself.
    """
    newest: tuple[int, dict] | None = None
    for path in _loaded_binaries():
        found = _report_of(path)
        if found is None:
            continue
        stamp, text = found
        report = json.loads(text)
        if kernel is not None and report["kernel"] != kernel:
            continue
        if newest is None or stamp > newest[0]:
            newest = (stamp, report)
    return newest[1] if newest else None


def modelled_time(report: dict, soc: str = "Ascend910B1") -> float:
    """Seconds that the launch would take on `soc`, by a rough model: each core is as busy as its busiest pipe, and the
    blocks go round the chip's vector cores. A guide for comparing kernels, not a promise."""
    megahertz, cores = SOCS[soc]
    busiest = [max(core["cycles"].values(), default=0) for core in report["cores"]]
    waves = [max(busiest[i : i + cores]) for i in range(0, len(busiest), cores)]
    return sum(waves) / (megahertz * 1e6)
