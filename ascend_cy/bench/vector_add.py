"""Addition of vectors beside NumPy, torch, JAX and a copy of as many bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

import ascend_cy
from ascend_cy.bench._limits import add_case, copy_case, touched
from ascend_cy.bench._measure import SETTLE, Plan, case, keep_freed_memory
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import as_torch, imported
from ascend_cy.bench._table import Table

SIZES = {"1 K": 1 << 10, "1 M": 1 << 20, "64 M": 64 << 20}


def run(quick: bool, threads: int) -> Table:
    if not hasattr(ascend_cy, "vector_add"):
        raise Missing("ascend_cy has no vector_add")
    keep_freed_memory()
    table = Table(
        "vector_add",
        "a + b of float32, result to an array that is given",
        threads=threads,
        notes=[
            "C loop: the best of streaming and plain additions on one thread or on all, the limit",
            "copy: half of the bytes of the three arrays to the other half; it writes more of them than an addition does",
        ],
    )
    for label, n in SIZES.items():
        if quick and n > 1 << 20:
            continue
        # Three arrays in one stretch, so that the limit can copy one half of it to the other.
        memory = touched(3 * n)
        a, b, y = (memory[i * n : (i + 1) * n] for i in range(3))
        a[...] = 1
        b[...] = 2
        half = memory.size // 2
        names = {"a": a, "b": b, "y": y}
        loop = add_case(y, a, b, threads)
        cases: list[Any] = [
            *([loop] if loop else []),
            copy_case(memory[half:], memory[:half], threads),
            case("ascend_cy", "f(a, b, out=y)", f=ascend_cy.vector_add, **names),
            case("numpy", "f(a, b, out=y)", f=np.add, **names),
        ]
        try:
            torch = imported("torch")
            torch.set_num_threads(threads)
            tensors = {name: as_torch(array) for name, array in names.items()}
            cases.append(case("torch", "f(a, b, out=y)", f=torch.add, **tensors))
        except Missing as reason:
            table.skip("torch", reason)
        try:
            jax = imported("jax")
            pair = {"a": jax.device_put(a), "b": jax.device_put(b)}
            cases.append(case("jax", "f(a, b).block_until_ready()", f=jax.jit(jax.numpy.add), **pair))
        except Missing as reason:
            table.skip("jax", reason)
        plan = Plan(repeats=40, budget=5.0, settle=SETTLE)
        if quick:
            plan = Plan(sample=2e-4, repeats=5, least=3, budget=0.5, settle=5e-4)
        reach = {"to_limit": 1.1, "to_peer": 1.0} if n >= 1 << 26 else {"to_peer": 1.0}
        limit = "C loop" if loop else "copy"
        work = {"elements": n, "bytes": 12 * n}
        table.add(f"{label} elements", work, cases, plan, limit=limit, floors=("copy",), reach=reach)
        a[...] = 1
    return table
