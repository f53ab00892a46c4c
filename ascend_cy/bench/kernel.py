"""A launch of a kernel of the user's own, through `Module.kernel` and as a bare AscendCL call through ctypes."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import Any

import ascend_cy
from ascend_cy.bench import _native
from ascend_cy.bench._measure import Case, Plan, case
from ascend_cy.bench._native import Missing
from ascend_cy.bench._table import Table

# It does nothing, at once: what is left is the way there.
SOURCE = """
#include "ascend_cy/kernel_abi.h"
static void entry(uint32_t, uint32_t, const void *, const ascend_kernel_services_t *) {}
static uint64_t cost_ns(const void *, uint32_t) { return 0; }
static const ascend_kernel_param_t parameters[] = {
    {"x", 0, 8, ASCEND_KERNEL_PARAM_POINTER, 0},
    {"n", 8, 4, ASCEND_KERNEL_PARAM_INTEGER, 0},
};
static const ascend_kernel_desc_t kernels[] = {
    {"one", entry, cost_ns, parameters, 2, 12, ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},
};
extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t), sizeof(ascend_kernel_desc_t), ASCEND_KERNEL_TARGET_CPU,
    1, 0, kernels, "bench",
};
"""


class Parameters(ctypes.Structure):
    """Of the kernel above."""

    _fields_ = [("x", ctypes.c_void_p), ("n", ctypes.c_uint32)]


def binary() -> Path:
    """The kernel, compiled."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "user_kernel.cpp"
        source.write_text(SOURCE)
        return _native.build("user_kernel", _native.Recipe((source,), (f"-I{ascend_cy.get_include()}",), ""))


def ctypes_case(path: Path, x: ascend_cy.DeviceArray, stream: ascend_cy.Stream) -> Case:
    """aclrtLaunchKernelWithHostArgs with all its arguments made beforehand."""
    _native.require_wanted("ctypes")
    library = _native.device_library()
    loaded, function = ctypes.c_void_p(), ctypes.c_void_p()
    for name, arguments in (
        ("aclrtBinaryLoadFromFile", (str(path).encode(), None, ctypes.byref(loaded))),
        ("aclrtBinaryGetFunction", (loaded, b"one", ctypes.byref(function))),
    ):
        code = getattr(library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} returned {code}")
    parameters = Parameters(x.ptr, 1)
    handle, size = ctypes.c_void_p(stream.handle), ctypes.c_size_t(12)
    names: dict[str, Any] = {
        "f": library.aclrtLaunchKernelWithHostArgs,
        "k": function,
        "b": ctypes.c_uint32(1),
        "s": handle,
        "p": ctypes.byref(parameters),
        "n": size,
        "z": ctypes.c_size_t(0),
    }
    return case("ctypes, bare", "f(k, b, s, None, p, n, None, z)", **names, kept=parameters)


def run(quick: bool, threads: int) -> Table:
    table = Table(
        "kernel",
        "launch an empty kernel of one's own on an idle stream, from Python",
        threads=threads,
        notes=[
            "ascend_cy: count, kind and range of the arguments, device and order of the array are checked or kept",
            "ctypes, bare: aclrtLaunchKernelWithHostArgs, its arguments made beforehand; nothing is checked or kept alive",
        ],
    )
    path = binary()
    module = ascend_cy.load(path)
    kernel = module.kernel("one", "ptr x, u32 n")
    stream = ascend_cy.Stream()
    x = ascend_cy.zeros(1, stream=stream)
    stream.synchronize()
    names: dict[str, Any] = {"k": kernel, "s": stream, "x": x}
    cases: list[Any] = [
        case("ascend_cy", "k[1, s](x, 1)", **names),
        case("ascend_cy, bound", "f(x, 1)", f=kernel[1, stream], x=x),
    ]
    try:
        cases.append(ctypes_case(path, x, stream))
    except Missing as reason:
        table.skip("ctypes, bare", reason)
    plan = Plan(sample=5e-4, repeats=5, least=3, budget=0.5) if quick else Plan(sample=1e-3, repeats=100, budget=6.0)
    table.add("two arguments", {"arguments": 2}, cases, plan)
    return table
