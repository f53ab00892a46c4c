"""What more threads give: one call on several workers, and several Python threads with a stream each."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import ascend_cy
from ascend_cy.bench import _native
from ascend_cy.bench._limits import copy_case
from ascend_cy.bench._measure import SETTLE, Case, Plan, case, keep_freed_memory
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import imported, torch_cases
from ascend_cy.bench._table import Table
from ascend_cy.bench.layernorm import make_work


def set_workers(count: int) -> None:
    library = _native.device_library()
    try:
        function = library.ascendcl_cpu_set_workers
    except AttributeError:
        raise Missing("the number of workers cannot be set") from None
    function.argtypes = [ctypes.c_uint32]
    ascend_cy.synchronize()  # the device reads its settings at its first use
    if function(count) != 0:
        raise Missing("the number of workers cannot be set")


def run(quick: bool, threads: int) -> Table:
    keep_freed_memory()
    table = Table(
        "threads",
        "LayerNorm of float32 on more and more threads",
        threads=threads,
        notes=["gain: how much quicker than the same with one thread"],
    )
    shape = (512, 1024) if quick else (8192, 1024)
    plan = Plan(sample=2e-4, repeats=5, least=3, budget=0.5, settle=5e-4) if quick else Plan(repeats=25, settle=SETTLE)
    counts = sorted({1, threads, *(2**i for i in range(1, 12) if 2**i < threads)})
    try:
        alone: float | None = None
        for count in counts:
            set_workers(count)
            work = make_work(shape, "float32", count)
            cases: list[Any] = [
                copy_case(work.out, work.x, count),
                case(
                    "ascend_cy",
                    "f(x, g, b, out=y)",
                    f=ascend_cy.layernorm,
                    x=work.x,
                    g=work.gamma,
                    b=work.beta,
                    y=work.out,
                ),
            ]
            try:
                cases.append(torch_cases(work))
            except Missing as reason:
                table.skip("torch", reason)
            row = {"shape": list(shape), "workers": count}
            results = table.add(f"{shape}, workers {count}", row, cases, plan, limit="copy")
            alone = alone or results["ascend_cy"].minimum
            table.rows[-1].extra["gain"] = alone / results["ascend_cy"].minimum
        set_workers(1)
        add_python_threads(table, quick)
    except Missing as reason:
        table.skip("workers", reason)
    return table


# ---- Python threads ----


class Crew:
    """Python threads that each do their own work the same number of times."""

    def __init__(self, jobs: list[Any]) -> None:
        self.jobs = jobs

    def loop(self, calls: int) -> float:
        """Seconds for `calls` calls, shared by the threads."""
        each = max(1, calls // len(self.jobs))
        barrier = threading.Barrier(len(self.jobs))
        spans: list[tuple[float, float]] = []

        def work(job: Any) -> None:
            job(2)
            barrier.wait()
            start = time.perf_counter()
            job(each)
            spans.append((start, time.perf_counter()))

        threads = [threading.Thread(target=work, args=(job,)) for job in self.jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # From when the first began to when the last was done.
        seconds = max(end for _, end in spans) - min(start for start, _ in spans)
        return seconds * calls / (each * len(self.jobs))


def add_python_threads(table: Table, quick: bool) -> None:
    """Calls a second of one and of two Python threads, one worker a stream."""
    shape = (256, 1024)

    def ours() -> Any:
        work = make_work(shape, "float32", 1)
        stream = ascend_cy.Stream()
        names = {"f": ascend_cy.layernorm, "x": work.x, "g": work.gamma, "b": work.beta, "y": work.out, "s": stream}
        return case("ascend_cy", "f(x, g, b, out=y, stream=s)", **names).loop

    def theirs() -> Any:
        return torch_cases(make_work(shape, "float32", 1))[0].loop

    makers = {"ascend_cy": ours}
    try:
        imported("torch")
        makers["torch"] = theirs
    except Missing as reason:
        table.skip("torch", reason)
    plan = Plan(sample=5e-3, repeats=5, least=3, budget=0.5) if quick else Plan(sample=2e-2, repeats=40, budget=6.0)
    cases = []
    for name, make in makers.items():
        cases.append(Case(f"{name} alone", Crew([make()]).loop))
        cases.append(Case(name, Crew([make(), make()]).loop))
    results = table.add(f"{shape}, 2 Python threads", {"shape": list(shape), "python_threads": 2}, cases, plan)
    row = table.rows[-1]
    row.floors = [f"{name} alone" for name in makers]
    row.reach = {"gain": 1.8}
    row.extra["gain"] = results["ascend_cy alone"].minimum / results["ascend_cy"].minimum
    gains = ", ".join(f"{name} {results[f'{name} alone'].minimum / results[name].minimum:.2f}" for name in makers)
    table.notes.append(
        f"2 Python threads: time of a call, counted over both, own streams and one worker; quicker than alone: {gains}"
    )
