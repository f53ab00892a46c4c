"""Launch and synchronise, one element, from Python; PoCL on the same machine for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

import ascend_cy
from ascend_cy.bench._measure import Case, Plan, case
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import imported
from ascend_cy.bench._table import Table

SOURCE = "kernel void add(global const float *a, global const float *b, global float *c) { c[0] = a[0] + b[0]; }"
# PoCL's drivers: one that works in the calling thread, one with threads.
DRIVERS = {"basic": "PoCL basic", "pthread": "PoCL threads", "cpu": "PoCL threads"}


def pocl_queues() -> dict[str, Any]:
    """A queue and a kernel with its arguments for each driver of PoCL."""
    cl = imported("pyopencl")
    found: dict[str, Any] = {}
    try:
        platforms = cl.get_platforms()
    except cl.LogicError:
        raise Missing("there is no OpenCL platform") from None
    for platform in platforms:
        if "Portable" not in platform.name:
            continue
        for device in platform.get_devices():
            driver = device.name.split("-")[0]
            context = cl.Context([device])
            queue = cl.CommandQueue(context)
            kernel = cl.Program(context, SOURCE).build().add
            flags = cl.mem_flags
            memory = [cl.Buffer(context, flags.READ_WRITE, 64) for _ in range(3)]
            kernel.set_args(*memory)
            found[DRIVERS.get(driver, f"PoCL {driver}")] = (cl, context, queue, kernel, memory)
    if not found:
        raise Missing("PoCL is not installed")
    return found


def ours(stream: ascend_cy.Stream) -> list[Case]:
    one = np.ones((1, 1), np.float32)
    x, y = ascend_cy.asarray(one), ascend_cy.asarray(one)
    names: dict[str, Any] = {"s": stream.synchronize, "x": x, "y": y, "stream": stream}
    if hasattr(ascend_cy, "vector_add"):
        return [case("ascend_cy", "f(x, x, out=y, stream=stream); s()", f=ascend_cy.vector_add, **names)]
    return [case("ascend_cy", "f(x, out=y, stream=stream); s()", f=ascend_cy.layernorm, **names)]


def run(quick: bool, threads: int) -> Table:
    operator = "vector_add" if hasattr(ascend_cy, "vector_add") else "layernorm"
    table = Table(
        "launch",
        "launch one element's work and wait for it, arrays on the device",
        threads=threads,
        notes=[
            f"ascend_cy: {operator} of DeviceArrays with out=, then Stream.synchronize()",
            "PoCL: a kernel that adds one element, then finish() of its queue; torch: add with out=, which needs no wait",
        ],
    )
    stream = ascend_cy.Stream()
    cases: list[Any] = [ours(stream)]
    try:
        for name, (cl, _, queue, kernel, memory) in pocl_queues().items():
            names = {"f": cl.enqueue_nd_range_kernel, "q": queue, "k": kernel, "s": queue.finish}
            # A kernel does not keep its arguments alive.
            cases.append(case(name, "f(q, k, (1,), (1,)); s()", **names, memory=memory))
    except Missing as reason:
        table.skip("PoCL", reason)
    try:
        torch = imported("torch")
        a = torch.ones(1)
        cases.append(case("torch", "f(a, a, out=c)", f=torch.add, a=a, c=torch.ones(1)))
    except Missing as reason:
        table.skip("torch", reason)
    plan = Plan(sample=5e-4, repeats=5, least=3, budget=0.5) if quick else Plan(sample=2e-3, repeats=100, budget=6.0)
    plan = plan._replace(settle=1e-3)
    table.add("one element", {"elements": 1}, cases, plan, reach={"seconds": 1.2e-6})
    return table
