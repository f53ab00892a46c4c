"""What one call costs: the same C launcher through several bindings, and through the whole of ours.

Two launchers: an empty C function, which leaves the binding alone, and `ascend_cy_layernorm` of libascend_cy on an
embedded device whose kernel does nothing, which adds what every route shares. Ours has no route to the empty function.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ascend_cy.bench import _native
from ascend_cy.bench._measure import Case, Plan, case
from ascend_cy.bench._native import Missing
from ascend_cy.bench._table import Table

SHAPE = (1, 768)
BINDINGS = ("ctypes", "cffi", "pybind11", "nanobind")
FLOORS = ("C loop", "by hand")


def environment(scratch: str) -> dict[str, str]:
    """Settings of the process in which the kernel is an empty one."""
    return {
        "ASCEND_CY_PACKAGE_DIR": str(_native.empty_kernel_folder(Path(scratch))),
        "ASCEND_CY_DEVICE": "cpu",
    }


class Arguments:
    """Four arrays, and the same memory as each binding takes it."""

    def __init__(self, shape: tuple[int, int]) -> None:
        cols = shape[1]
        random = np.random.default_rng(0)
        self.arrays = [
            random.standard_normal(shape, dtype=np.float32),
            np.ones(cols, np.float32),
            np.zeros(cols, np.float32),
            np.empty(shape, np.float32),
        ]
        self.shape = shape
        self.addresses = [array.ctypes.data for array in self.arrays]
        self.names = dict(zip("xgby", self.arrays, strict=True))

    def as_buffers(self, kind: Callable[..., Any]) -> dict[str, Any]:
        rows, cols = self.shape
        sizes = ((rows, cols), (1, cols), (1, cols), (rows, cols))
        made = [kind(address, *size) for address, size in zip(self.addresses, sizes, strict=True)]
        return dict(zip("xgby", made, strict=True))

    @property
    def pointers(self) -> dict[str, int]:
        return {**dict(zip("xgby", self.addresses, strict=True)), "r": self.shape[0], "c": self.shape[1]}


LAUNCHER_ARGUMENTS = [ctypes.c_void_p] * 6 + [ctypes.c_int64] * 2 + [ctypes.c_int] * 3 + [ctypes.c_double, ctypes.c_void_p]


def ctypes_cases(address: int, given: Arguments) -> dict[str, Case]:
    _native.require_wanted("ctypes")
    launch = ctypes.CFUNCTYPE(ctypes.c_int, *LAUNCHER_ARGUMENTS)(address)
    rest = "None, None, r, c, 0, 0, 0, 1e-5, None"
    rows, cols = given.shape
    pointers = {name: ctypes.c_void_p(value) for name, value in zip("xgby", given.addresses, strict=True)}
    return {
        "arrays": case(
            "ctypes",
            "f(x.ctypes.data, g.ctypes.data, b.ctypes.data, y.ctypes.data, None, None, *x.shape, 0, 0, 0, 1e-5, None)",
            f=launch,
            **given.names,
        ),
        "buffers": case("ctypes", f"f(x, g, b, y, {rest})", f=launch, **pointers, r=rows, c=cols),
        "pointers": case("ctypes", f"f(x, g, b, y, {rest})", f=launch, **given.pointers),
    }


def cffi_cases(address: int, given: Arguments) -> dict[str, Case]:
    module = _native.peer_cffi()
    module.lib.set_launcher(address)
    take, cast = module.ffi.from_buffer, module.ffi.cast
    rows, cols = given.shape
    names = {"f": module.lib.launch, "t": take, "v": cast}
    pointers = {name: cast("void *", value) for name, value in zip("xgby", given.addresses, strict=True)}
    return {
        "arrays": case("cffi", "f(t(x), t(g), t(b), t(y), *x.shape, 1e-5)", **names, **given.names),
        "buffers": case("cffi", "f(x, g, b, y, r, c, 1e-5)", **names, **pointers, r=rows, c=cols),
        "pointers": case(
            "cffi",
            "f(v('void *', x), v('void *', g), v('void *', b), v('void *', y), r, c, 1e-5)",
            **names,
            **given.pointers,
        ),
    }


def module_cases(name: str, module: Any, address: int, given: Arguments) -> dict[str, Case]:
    module.set_launcher(address)
    return {
        "arrays": case(name, "f(x, g, b, y)", f=module.arrays, **given.names),
        "buffers": case(name, "f(x, g, b, y)", f=module.buffers, **given.as_buffers(module.Buffer)),
        "pointers": case(name, "f(x, g, b, y, r, c)", f=module.pointers, **given.pointers),
    }


def pybind11_cases(address: int, given: Arguments) -> dict[str, Case]:
    return module_cases("pybind11", _native.peer_pybind11(), address, given)


def nanobind_cases(address: int, given: Arguments) -> dict[str, Case]:
    return module_cases("nanobind", _native.peer_nanobind(), address, given)


MAKERS: dict[str, Callable[[int, Arguments], dict[str, Case]]] = {
    "ctypes": ctypes_cases,
    "cffi": cffi_cases,
    "pybind11": pybind11_cases,
    "nanobind": nanobind_cases,
}


def by_hand(address: int, given: Arguments) -> dict[str, Case]:
    module = _native.peer_cpython()
    module.set_launcher(address)
    return {"arrays": case("by hand", "f(x, g, b, y)", f=module.arrays, **given.names)}


def c_loop(launcher: int, given: Arguments) -> Case:
    sticks = _native.limits()
    rows, cols = given.shape
    return Case("C loop", lambda calls: sticks.bench_calls(launcher, *given.addresses, rows, cols, 0, calls))


def our_cases(given: Arguments) -> dict[str, Case]:
    import ascend_cy

    device = {name: ascend_cy.asarray(array) for name, array in given.names.items()}
    ascend_cy.synchronize()
    return {
        "arrays": case("ascend_cy", "f(x, g, b, out=y)", f=ascend_cy.layernorm, **given.names),
        "buffers": case("ascend_cy", "f(x, g, b, out=y)", f=ascend_cy.layernorm, **device),
    }


WAYS = {"arrays": "4 ndarrays", "buffers": "4 own arrays", "pointers": "4 pointers"}


def run(quick: bool, threads: int) -> Table:
    """The rows with the empty function and with the empty kernel; to be called where `environment` holds."""
    table = Table(
        "call",
        "one call of a launcher with out= given",
        threads=threads,
        notes=[
            "binding alone: the launcher is an empty C function",
            "whole stack: it is ascend_cy_layernorm, and the kernel on the embedded device does nothing",
            "own arrays: DeviceArray, c_void_p (ctypes), cdata (cffi), a class with pointer and shape (pybind11, nanobind)",
            "C loop: the launcher called from C; by hand: a CPython function written for nothing else, arguments checked",
            "the loop around each call is part of every figure but that of the C loop",
        ],
    )
    missing = _native.build_all(
        [_native.limits, _native.peer_cpython, _native.peer_pybind11, _native.peer_nanobind]
    )
    given = Arguments(SHAPE)
    ours = our_cases(given)
    launchers: dict[str, int | None] = {}
    if "limits" not in missing:
        launchers["binding alone"] = _native.address_of(_native.limits(), "bench_empty_launcher")
    launchers["whole stack"] = _native.address_of(_native.host_library(), "ascend_cy_layernorm")
    plan = Plan(sample=2e-4, repeats=5, least=3, budget=0.3) if quick else Plan(sample=5e-4, repeats=150, budget=5.0)
    wanted = {"arrays": {"seconds": 0.18e-6}, "buffers": {"seconds": 0.16e-6}, "pointers": {}}
    for stack, address in launchers.items():
        assert address is not None
        cases = collect(table, address, given, missing)
        for way, label in WAYS.items():
            chosen: list[Any] = []
            if "limits" not in missing:
                chosen.append(c_loop(address, given))
            chosen += [found[way] for found in cases.values() if way in found]
            whole = stack == "whole stack"
            if whole and way in ours:
                chosen.append(ours[way])
            table.add(
                f"{label}, {stack}",
                {"way": way, "stack": stack, "shape": list(SHAPE)},
                chosen,
                plan,
                limit="C loop" if "limits" not in missing else None,
                floors=FLOORS,
                reach=wanted[way] if whole else {},
            )
    return table


def collect(
    table: Table, address: int, given: Arguments, missing: dict[str, str]
) -> dict[str, dict[str, Case]]:
    cases = {}
    for name, make in {"by hand": by_hand, **MAKERS}.items():
        try:
            cases[name] = make(address, given)
        except Missing as reason:
            table.skip(name, reason)
    return cases


def run_real(quick: bool, threads: int) -> Table:
    """The row with the real kernel."""
    table = Table("call", "", threads=threads)
    given = Arguments(SHAPE)
    try:
        address = _native.address_of(_native.host_library(), "ascend_cy_layernorm")
        cases = collect(table, address, given, {})
        floor = [c_loop(address, given)]
    except Missing:
        floor = []
    plan = Plan(sample=2e-4, repeats=5, least=3, budget=0.3) if quick else Plan(sample=5e-4, repeats=150, budget=5.0)
    ours = our_cases(given)
    for way in ("arrays", "buffers"):
        table.add(
            f"{WAYS[way]}, kernel of (1, 768)",
            {"way": way, "stack": "real kernel", "shape": list(SHAPE)},
            [*floor, *(found[way] for found in cases.values() if way in found), ours[way]],
            plan,
            limit="C loop" if floor else None,
            floors=FLOORS,
            reach={"seconds": 0.55e-6} if way == "arrays" else {},
        )
    return table


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ascend_cy-bench-", dir=os.environ.get("TMPDIR"))
