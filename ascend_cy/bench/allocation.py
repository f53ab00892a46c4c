"""Making an array and dropping it, of a size that was seen before."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import numpy as np

import ascend_cy
from ascend_cy.bench import _limits, _native
from ascend_cy.bench._measure import Case, Plan, case
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import imported
from ascend_cy.bench._table import Table

# From a loop in C: what Python adds to a call is no part of them.
IN_C = ("malloc", "ascend_cy in C")

SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20}


def pyopencl_pool() -> Any:
    cl = imported("pyopencl")
    from pyopencl import tools

    try:
        context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    except (cl.LogicError, IndexError):
        raise Missing("there is no OpenCL platform") from None
    return tools.MemoryPool(tools.ImmediateAllocator(cl.CommandQueue(context)))


def in_c(nbytes: int) -> list[Case]:
    """malloc and free, and a buffer of our pool, each from a loop in C."""
    sticks = _limits.library()
    host = _native.host_library()
    host.ascend_cy_default_stream.restype = ctypes.c_void_p
    stream = host.ascend_cy_default_stream(0)
    ours = [_native.address_of(host, f"ascend_cy_buffer_{what}") for what in ("create", "release")]
    return [Case(IN_C[0], partial(sticks.bench_malloc, nbytes)),
            Case(IN_C[1], partial(sticks.bench_buffers, *ours, stream, nbytes))]


def run(quick: bool, threads: int) -> Table:
    table = Table(
        "allocation",
        "make an array of float32 without filling it, and drop it",
        threads=threads,
        notes=["every size was made and dropped before; the first touch of fresh pages is not part of it",
               "malloc is malloc and free, ascend_cy in C the pool's buffers, each from a loop in C"],
    )
    plan = Plan(sample=2e-4, repeats=5, least=3, budget=0.3) if quick else Plan(sample=5e-4, repeats=120, budget=4.0)
    for label, nbytes in SIZES.items():
        n = nbytes // 4
        cases = [
            case("ascend_cy", "f(n)", f=ascend_cy.empty, n=n),
            case("numpy", "f(n, t)", f=np.empty, n=n, t=np.float32),
        ]
        try:
            torch = imported("torch")
            cases.append(case("torch", "f(n)", f=torch.empty, n=n))
        except Missing as reason:
            table.skip("torch", reason)
        try:
            cases.append(case("pyopencl pool", "f(n)", f=pyopencl_pool().allocate, n=nbytes))
        except Missing as reason:
            table.skip("pyopencl pool", reason)
        try:
            cases += in_c(nbytes)
        except Missing as reason:
            table.skip("malloc", reason)
        table.add(f"{label}", {"bytes": nbytes, "touch": False}, cases, plan, floors=IN_C, reach={"seconds": 0.35e-6})
    if not quick:
        first_touch(table)
    return table


def first_touch(table: Table) -> None:
    """64 MiB with one byte of each page written: who gives memory back to the system pays for it again."""
    nbytes = SIZES["64 MiB"]
    try:
        touch = _limits.library().bench_touch
    except Missing as reason:
        table.skip("first touch", reason)
        return
    n = nbytes // 4
    names = {"touch": touch, "size": nbytes, "n": n}
    # The array has to live until it was touched.
    cases = [
        case("ascend_cy", "a = f(n); touch(a.ptr, size); a = None", f=ascend_cy.empty, **names),
        case("numpy", "a = f(n, t); touch(a.ctypes.data, size); a = None", f=np.empty, t=np.float32, **names),
    ]
    try:
        torch = imported("torch")
        cases.append(case("torch", "a = f(n); touch(a.data_ptr(), size); a = None", f=torch.empty, **names))
    except Missing:
        pass
    results = table.add(
        "64 MiB, every page touched", {"bytes": nbytes, "touch": True}, cases, Plan(sample=1e-3, repeats=15, budget=4.0)
    )
    faults = ", ".join(f"{name} {result.faults:.0f}" for name, result in results.items())
    table.notes.append(f"page faults of one call in the last row: {faults}")
