"""Batches through LayerNorm: a Pipeline beside a plain loop, and how much of copies and work overlaps on a slow link."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import ascend_cy
from ascend_cy.bench import _native
from ascend_cy.bench._measure import Case, Plan, keep_freed_memory
from ascend_cy.bench._native import Missing
from ascend_cy.bench._table import Table

Batches = list[npt.NDArray[np.float32]]

SHAPES = {"(16, 1024)": (16, 1024), "(256, 1024)": (256, 1024), "(2048, 1024)": (2048, 1024), "(8192, 1024)": (8192, 1024)}
# So slow that the copy of a batch takes about as long as the work on it: 2 MB in 4 ms, in each direction.
LINK_BYTES_PER_SECOND = 500_000_000
LINK_SHAPE = (512, 1024)
LINK_WORK = 6


def make_batches(shape: tuple[int, ...], count: int) -> Batches:
    rng = np.random.default_rng(0)
    return [rng.normal(3, 2, shape).astype(np.float32) for _ in range(count)]


def per_batch(name: str, batches: Batches, once: Callable[[Batches], None]) -> Case:
    """A case of which one call is one pass over all batches; its time is told for one batch."""

    def loop(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            once(batches)
        return (time.perf_counter() - start) / len(batches)

    return Case(name, loop)


def run(quick: bool, threads: int) -> Table:
    keep_freed_memory()
    table = Table(
        "pipeline",
        "LayerNorm of float32 over host batches, a new result for each; time of one batch",
        threads=threads,
        notes=[
            "plain loop: y = layernorm(x) for each batch on the CPU device, which shares the host's memory: nothing can overlap",
        ],
    )
    pipeline = ascend_cy.Pipeline(ascend_cy.layernorm)

    def loop(batches: Batches) -> None:
        for x in batches:
            _ = ascend_cy.layernorm(x)  # kept until the next is there, as a pipeline's result is

    def ours(batches: Batches) -> None:
        for _ in pipeline(batches):
            pass

    for label, shape in SHAPES.items():
        if quick and shape[0] > 256:
            continue
        batches = make_batches(shape, 4 if quick else 16)
        cases = [per_batch("plain loop", batches, loop), per_batch("ascend_cy", batches, ours)]
        plan = Plan(sample=1e-5, repeats=5, least=3, budget=0.5) if quick else Plan(sample=1e-4, repeats=60, budget=8.0)
        row = {"shape": list(shape), "link": None}
        # Below, the microsecond that a batch costs is more than that.
        reach = {"to_limit": 1.03} if shape[0] >= 256 else {}
        table.add(label, row, cases, plan, limit="plain loop", reach=reach)
    return table


def run_link(quick: bool, threads: int) -> Table:
    """On a link so slow that copies take as long as the work."""
    os.environ["ASCENDCL_CPU_LINK_BANDWIDTH"] = str(LINK_BYTES_PER_SECOND)  # the device reads it at its first use
    _native.device_library()  # or there is no such link
    if ascend_cy.device_info()["kind"] != "cpu":
        raise Missing("needs the device of the CPU")
    table = Table(
        "pipeline",
        "LayerNorm of float32 over host batches, a new result for each; time of one batch",
        threads=threads,
        notes=[
            f"link: emulated, {LINK_BYTES_PER_SECOND / 1e6:.0f} MB/s in each direction; work: {LINK_WORK} times LayerNorm; serial: copy in, work, copy out, one after "
            "the other; ideal: all copies in without a pause, then the work and the copy out of the last batch",
            "gain: how much quicker than serial",
        ],
    )
    batches = make_batches(LINK_SHAPE, 6 if quick else 24)
    pinned: Batches = []
    for x in batches:
        pinned.append(ascend_cy.empty_pinned(LINK_SHAPE))
        pinned[-1][...] = x
    result = ascend_cy.empty_pinned(LINK_SHAPE)

    def work(x: ascend_cy.DeviceArray) -> ascend_cy.DeviceArray:
        for _ in range(LINK_WORK):
            x = ascend_cy.layernorm(x)
        return x

    pipeline = ascend_cy.Pipeline(work, copy=True)

    def serial(batches: Batches) -> None:
        for x in batches:
            work(ascend_cy.asarray(x)).copy_to(result)
            ascend_cy.synchronize()

    def ours(batches: Batches) -> None:
        for _ in pipeline(batches):
            pass

    def ideal(batches: Batches) -> None:
        device = ascend_cy.empty(LINK_SHAPE)
        for x in batches:
            device.copy_from(x)
        work(device).copy_to(result)
        ascend_cy.synchronize()

    cases: list[Any] = [
        per_batch("ideal", pinned, ideal),
        per_batch("ascend_cy", batches, ours),
        per_batch("serial", pinned, serial),
    ]
    plan = Plan(sample=1e-5, repeats=3, least=3, budget=1.0) if quick else Plan(sample=1e-4, repeats=15, budget=8.0)
    row = {"shape": list(LINK_SHAPE), "link": LINK_BYTES_PER_SECOND}
    results = table.add(f"{LINK_SHAPE} × {LINK_WORK}, link", row, cases, plan, limit="ideal", floors=["serial"], reach={"to_limit": 1.1})
    table.rows[-1].extra["gain"] = results["serial"].minimum / results["ascend_cy"].minimum
    return table
