"""The gradient of LayerNorm beside torch, numba, JAX and a streaming addition, which moves the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

import ascend_cy
from ascend_cy.bench import _backward_peers
from ascend_cy.bench._backward_peers import BackwardWork
from ascend_cy.bench._limits import add_case, copy_case, touched
from ascend_cy.bench._measure import Case, case, keep_freed_memory
from ascend_cy.bench._native import Missing
from ascend_cy.bench._table import Table
from ascend_cy.bench.layernorm import DTYPES, data_type, plan_for

SHAPES = ((8192, 1024), (8192, 1000), (131072, 64), (1024, 8192), (4096, 768))
# Largest error that counts as the same work, of the largest gradient of its kind.
TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


def make_work(shape: tuple[int, int], dtype: str, threads: int) -> BackwardWork:
    kind = data_type(dtype)
    random = np.random.default_rng(0)
    dy, x, out = (touched(*shape, dtype=kind) for _ in range(3))
    # Row by row: no temporary as large as the data.
    for row in range(0, shape[0], 4096):
        for array, mean in ((dy, 0), (x, 1)):
            part = array[row : row + 4096]
            part[...] = random.standard_normal(part.shape, dtype=np.float32) + mean
    gamma = (random.standard_normal(shape[1], dtype=np.float32) * 0.1 + 1).astype(kind)
    _, mean, rstd = ascend_cy.layernorm(x, out=out, return_stats=True)
    return BackwardWork(dtype, dy, x, mean, rstd, gamma, out, threads)


class Check:
    """What the gradients are, in float64: of a few rows dx, of all rows dgamma and dbeta."""

    def __init__(self, work: BackwardWork) -> None:
        self.work = work
        rows, cols = work.x.shape
        self.rows = slice(None, None, max(1, rows // 8))
        self.dgamma, self.dbeta = np.zeros(cols), np.zeros(cols)
        for row in range(0, rows, 4096):
            dy, xhat, _ = self.parts(slice(row, row + 4096))
            self.dgamma += (dy * xhat).sum(0)
            self.dbeta += dy.sum(0)
        dy, xhat, rstd = self.parts(self.rows)
        g = dy * work.gamma.astype(np.float64)
        self.dx = rstd * (g - g.mean(1, keepdims=True) - xhat * (g * xhat).mean(1, keepdims=True))

    def parts(self, rows: slice) -> tuple[Any, Any, Any]:
        x = self.work.x[rows].astype(np.float64)
        rstd = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        return self.work.dy[rows].astype(np.float64), (x - x.mean(1, keepdims=True)) * rstd, rstd

    def __call__(self, dx: Any, dgamma: Any, dbeta: Any) -> bool:
        pairs = ((dx[self.rows], self.dx), (dgamma, self.dgamma), (dbeta, self.dbeta))
        return all(
            np.abs(np.asarray(found).astype(np.float64) - exact).max() <= TOLERANCE[self.work.dtype] * np.abs(exact).max()
            for found, exact in pairs
        )


def limit_case(work: BackwardWork) -> Case:
    """Two arrays in, one out, on the same threads; where there is no compiler, a copy."""
    arrays = [touched(work.x.nbytes // 4) for _ in range(3)]
    found = add_case(*arrays, work.threads)
    if found is None:
        return copy_case(work.out, work.x, work.threads)

    def loop(calls: int, measured: Any = found.loop, kept: Any = arrays) -> float:
        seconds: float = measured(calls)  # which knows addresses only
        return seconds

    return Case("two in, one out", loop)


def add_row(table: Table, work: BackwardWork, quick: bool, wanted: dict[str, float]) -> None:
    rows, cols = work.x.shape
    right = Check(work)
    arguments = (work.dy, work.x, work.mean, work.rstd, work.gamma)
    if not right(*ascend_cy.layernorm_backward(*arguments, out=work.out)):
        raise RuntimeError(f"layernorm_backward of {rows} x {cols} {work.dtype} is wrong")
    limit = limit_case(work)
    names = dict(zip(("d", "x", "m", "r", "g"), arguments, strict=True))
    cases: list[Any] = [
        limit,
        case("ascend_cy", "f(d, x, m, r, g, out=y)", f=ascend_cy.layernorm_backward, y=work.out, **names),
    ]
    for name, make in _backward_peers.BACKWARD.items():
        try:
            peer, results = make(work)
            if not right(*results):
                raise Missing("gives another result")
            cases.append(peer)
        except Missing as reason:
            label = name if str(reason).startswith(("not", "does not")) else f"{name} {work.dtype}"
            table.skip(label, reason)
    table.add(
        f"({rows}, {cols}) {work.dtype}",
        {"shape": [rows, cols], "dtype": work.dtype, "bytes": 3 * work.x.nbytes},
        cases,
        plan_for(3 * work.x.nbytes, quick),
        limit=limit.name,
        reach=wanted,
    )


def run(quick: bool, threads: int) -> Table:
    kept = keep_freed_memory()
    table = Table(
        "backward",
        "The gradient of LayerNorm: dx, dgamma and dbeta, end to end from Python",
        threads=threads,
        notes=[
            "all read the same arrays from NumPy; ascend_cy and numba write dx to one that is given, torch and jax return a"
            + " new one" + (", from memory that was freed before: no page is touched for the first time" if kept else ""),
            "two in, one out: the best streaming or plain addition of arrays of as many bytes, on one thread or on all",
        ],
    )
    for shape in ((256, 1024),) if quick else SHAPES:
        for dtype in DTYPES:
            try:
                work = make_work(shape, dtype, threads)
            except Missing as reason:
                table.skip(dtype, reason)
                continue
            add_row(table, work, quick, {"to_peer": 1.5} if dtype == "float32" and not quick else {})
    return table
