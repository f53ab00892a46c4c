"""Products of square matrices beside NumPy, torch and JAX."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import ascend_cy
from ascend_cy.bench._limits import touched
from ascend_cy.bench._measure import SETTLE_BLAS, Plan, case, keep_freed_memory
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import as_torch, imported
from ascend_cy.bench._table import Table

SIZES = (64, 256, 512, 1024, 2048)
DTYPES = ("float32", "float16")
# A peer that takes longer for one product is not asked for one of eight times the work.
PATIENCE = 1.0


def run(quick: bool, threads: int) -> Table:
    if not hasattr(ascend_cy, "matmul"):
        raise Missing("ascend_cy has no matmul")
    keep_freed_memory()
    table = Table("matmul", "a @ b of square matrices, result to an array that is given", threads=threads)
    if os.environ.get("OPENBLAS_CORETYPE"):
        table.notes.append(f"OPENBLAS_CORETYPE is {os.environ['OPENBLAS_CORETYPE']}, which slows NumPy down")
    for dtype in DTYPES:
        for n in SIZES[:2] if quick else SIZES:
            add_size(table, n, dtype, quick, threads)
    speeds = []
    for row in table.rows:
        best = min(row.results.values(), key=lambda result: result.minimum)
        ours = row.results["ascend_cy"].minimum
        row.extra["gflops"] = row.work["flops"] / ours / 1e9
        speeds.append(f"{row.label}: {row.extra['gflops']:.0f} of {row.work['flops'] / best.minimum / 1e9:.0f}")
    table.notes.append("GFLOP/s, ours of the best: " + "; ".join(speeds))
    return table


def add_size(table: Table, n: int, dtype: str, quick: bool, threads: int) -> None:
    random = np.random.default_rng(0)
    a, b, y = (touched(n, n, dtype=dtype) for _ in range(3))
    a[...] = random.standard_normal((n, n), dtype=np.float32)
    b[...] = random.standard_normal((n, n), dtype=np.float32)
    names = {"a": a, "b": b, "y": y}
    slow = {}
    for row in table.rows:
        if row.work["dtype"] == dtype:
            slow = {name: result.minimum for name, result in row.results.items() if result.minimum > PATIENCE}
    cases: list[Any] = [case("ascend_cy", "f(a, b, out=y)", f=ascend_cy.matmul, **names)]
    if dtype == "float32" or n <= 256:  # NumPy has no quick product of float16
        cases.append(case("numpy", "f(a, b, out=y)", f=np.matmul, **names))
    try:
        torch = imported("torch")
        torch.set_num_threads(threads)
        tensors = {name: as_torch(array) for name, array in names.items()}
        cases.append(case("torch", "f(a, b, out=y)", f=torch.mm, **tensors))
    except Missing as reason:
        table.skip("torch", reason)
    try:
        jax = imported("jax")
        pair = {"a": jax.device_put(a), "b": jax.device_put(b)}
        cases.append(case("jax", "f(a, b).block_until_ready()", f=jax.jit(jax.numpy.matmul), **pair))
    except Missing as reason:
        table.skip("jax", reason)
    for each in [each for each in cases if each.name in slow]:
        cases.remove(each)
        table.skip(f"{each.name} {n} {dtype}", f"took {slow[each.name]:.1f} s for the size before")
    plan = Plan(repeats=25, budget=5.0, settle=SETTLE_BLAS)
    if quick:
        plan = Plan(sample=2e-4, repeats=5, least=3, budget=0.5, settle=5e-4)
    work = {"size": n, "dtype": dtype, "flops": 2 * n**3}
    table.add(f"{n} {dtype}", work, cases, plan, reach={"to_peer": 0.95})
