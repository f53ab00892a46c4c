"""LayerNorm beside torch, onnxruntime, numba, JAX and a streaming copy of the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

import ascend_cy
from ascend_cy.bench import _peers
from ascend_cy.bench._limits import copy_case, touched
from ascend_cy.bench._measure import SETTLE, Plan, case, keep_freed_memory
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import LayerNormWork
from ascend_cy.bench._table import Table

FIRST = ((8192, 1024), (1, 768))
SHAPES = (*FIRST, (8192, 1000), (131072, 64), (1024, 8192), (64, 50000), (4096, 768), (16, 1024))
DTYPES = ("float32", "float16", "bfloat16")
# Largest |result - float64 result| that counts as the same work.
TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 8e-2}

LARGE = ((8192, 1024), (8192, 1000), (1024, 8192), (4096, 768))


def reach(shape: tuple[int, int], dtype: str) -> dict[str, float]:
    """What is wanted on two cores with AVX2."""
    if dtype == "float32":
        if shape in LARGE:
            return {"to_limit": 1.15}
        return {
            (131072, 64): {"to_limit": 1.3},
            (64, 50000): {"to_limit": 1.4},
            (16, 1024): {"seconds": 5e-6},
            (1, 768): {"seconds": 0.55e-6},
        }[shape]
    if shape in LARGE[:3]:
        return {"to_limit": 2.3 if dtype == "float16" else 2.8}
    return {"to_peer": 1.7} if shape[0] > 16 else {}


def data_type(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise Missing("ml_dtypes is not installed") from None
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def make_work(shape: tuple[int, int], dtype: str, threads: int) -> LayerNormWork:
    kind = data_type(dtype)
    random = np.random.default_rng(0)
    x, out = touched(*shape, dtype=kind), touched(*shape, dtype=kind)
    # Row by row: no temporary as large as the data.
    for row in range(0, shape[0], 4096):
        part = x[row : row + 4096]
        part[...] = random.standard_normal(part.shape, dtype=np.float32) * 2 + 1
    gamma = (random.standard_normal(shape[1], dtype=np.float32) * 0.1 + 1).astype(kind)
    beta = (random.standard_normal(shape[1], dtype=np.float32) * 0.1).astype(kind)
    return LayerNormWork(dtype, x, gamma, beta, out, threads)


def is_right(work: LayerNormWork) -> bool:
    """Whether `out` is the LayerNorm of a few rows of `x`."""
    x = work.x[:: max(1, work.x.shape[0] // 8)].astype(np.float64)
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    y = y * work.gamma.astype(np.float64) + work.beta.astype(np.float64)
    found = work.out[:: max(1, work.x.shape[0] // 8)].astype(np.float64)
    return bool(np.abs(found - y).max() <= TOLERANCE[work.dtype])


def add_row(table: Table, work: LayerNormWork, plan: Plan, wanted: dict[str, float]) -> None:
    rows, cols = work.x.shape
    cases: list[Any] = [copy_case(work.out, work.x, work.threads)]
    ascend_cy.layernorm(work.x, work.gamma, work.beta, out=work.out)
    if not is_right(work):
        raise RuntimeError(f"layernorm of {rows} x {cols} {work.dtype} is wrong")
    cases.append(
        case(
            "ascend_cy",
            "f(x, g, b, out=y)",
            f=ascend_cy.layernorm,
            x=work.x,
            g=work.gamma,
            b=work.beta,
            y=work.out,
        )
    )
    for name, make in _peers.LAYERNORM.items():
        work.out.view(np.uint8).fill(0)
        try:
            peer = make(work)
            if not is_right(work):
                raise Missing("gives another result")
            cases.append(peer)
        except Missing as reason:
            label = name if str(reason).startswith(("not", "does not")) else f"{name} {work.dtype}"
            table.skip(label, reason)
    table.add(
        f"({rows}, {cols}) {work.dtype}",
        {"shape": [rows, cols], "dtype": work.dtype, "bytes": 2 * work.x.nbytes},
        cases,
        plan,
        limit="copy",
        reach=wanted,
    )


def plan_for(nbytes: int, quick: bool) -> Plan:
    """Large work: one call a sample. A pause lets the threads of the one before fall asleep."""
    if quick:
        return Plan(sample=2e-4, repeats=5, least=3, budget=0.5, settle=5e-4)
    if nbytes > 1 << 20:
        return Plan(sample=1e-3, repeats=25, least=9, budget=4.0, settle=SETTLE)
    return Plan(sample=1e-3, repeats=60, least=9, budget=3.0, settle=SETTLE)


def run(quick: bool, threads: int) -> Table:
    kept = keep_freed_memory()
    table = Table(
        "layernorm",
        "LayerNorm with gamma and beta, end to end from Python",
        threads=threads,
        notes=[
            "all read the same arrays from NumPy; ascend_cy, onnxruntime and numba write to one that is given, torch and"
            + " jax return a new one"
            + (", from memory that was freed before: no page is touched for the first time" if kept else ""),
            "copy: the best of streaming, plain and C library copies of the same bytes, on one thread or on all",
        ],
    )
    shapes = FIRST if quick else SHAPES
    for shape in shapes:
        for dtype in DTYPES:
            if quick and shape[0] > 1:
                shape = (256, 1024)
            try:
                work = make_work(shape, dtype, threads)
            except Missing as reason:
                table.skip(dtype, reason)
                continue
            add_row(
                table, work, plan_for(2 * work.x.nbytes, quick), {} if quick and shape[0] > 1 else reach(shape, dtype)
            )
    return table
