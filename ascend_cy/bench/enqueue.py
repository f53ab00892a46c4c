"""Enqueueing on a stream that is busy: what the caller pays when nothing can run at once."""

from __future__ import annotations

import threading
import time
from typing import Any

import ascend_cy
from ascend_cy.bench._measure import Case, Plan
from ascend_cy.bench._native import Missing
from ascend_cy.bench._table import Table
from ascend_cy.bench.launch import pocl_queues

MOST = 1000


def our_case() -> Case:
    stream = ascend_cy.Stream()
    x, y = (ascend_cy.zeros((1, 1), stream=stream) for _ in range(2))
    stream.synchronize()
    vector_add = getattr(ascend_cy, "vector_add", None)

    def loop(calls: int) -> float:
        seconds = 0.0
        while calls > 0:
            gate = threading.Event()
            stream.add_callback(gate.wait)
            part = range(min(calls, MOST))
            f = ascend_cy.layernorm
            if vector_add is None:
                start = time.perf_counter()
                for _ in part:
                    f(x, out=y, stream=stream)
                seconds += time.perf_counter() - start
            else:
                start = time.perf_counter()
                for _ in part:
                    vector_add(x, x, out=y, stream=stream)
                seconds += time.perf_counter() - start
            busy = not stream.query()
            gate.set()
            stream.synchronize()
            if not busy:
                raise RuntimeError("the stream was not busy")
            calls -= MOST
        return seconds

    return Case("ascend_cy", loop)


def pocl_case(name: str, cl: Any, context: Any, queue: Any, kernel: Any, memory: Any) -> Case:
    def loop(calls: int, memory: Any = memory) -> float:
        seconds = 0.0
        enqueue = cl.enqueue_nd_range_kernel
        while calls > 0:
            gate = cl.UserEvent(context)
            enqueue(queue, kernel, (1,), (1,), wait_for=[gate])
            part = range(min(calls, MOST))
            start = time.perf_counter()
            for _ in part:
                enqueue(queue, kernel, (1,), (1,))
            seconds += time.perf_counter() - start
            gate.set_status(cl.command_execution_status.COMPLETE)
            queue.finish()
            calls -= MOST
        return seconds

    return Case(name, loop)


def run(quick: bool, threads: int) -> Table:
    table = Table(
        "enqueue",
        "enqueue one element's work on a stream that is held up",
        threads=threads,
        notes=["the stream waits for a host callback (PoCL: a user event) while the calls are timed, and works off after"],
    )
    cases = [our_case()]
    try:
        for name, what in pocl_queues().items():
            if "basic" in name:
                table.skip(name, "works in the calling thread")
                continue
            cases.append(pocl_case(name, *what))
    except Missing as reason:
        table.skip("PoCL", reason)
    plan = Plan(sample=1e-4, repeats=5, least=3, budget=1.0) if quick else Plan(sample=4e-4, repeats=80, budget=8.0)
    table.add("one element", {"elements": 1}, cases, plan, reach={"seconds": 0.8e-6})
    return table
