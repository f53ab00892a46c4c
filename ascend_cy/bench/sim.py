"""The simulator of the AI core, with all checks and with none, beside the kernels of the CPU."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from ascend_cy.bench._measure import Case, Plan, Result
from ascend_cy.bench._native import Missing
from ascend_cy.bench._table import Row, Table

SHAPES = ((8192, 1024), (8192, 1000), (64, 50000), (16, 1024))
LENGTHS = (1 << 22,)
# A process each, because a process has one device.
DEVICES = {
    "cpu": {"ASCEND_CY_DEVICE": "cpu"},
    "ascend_cy": {"ASCEND_CY_DEVICE": "sim", "ASCEND_CY_SIM_CHECKS": "on"},
    "ascend_cy, no checks": {"ASCEND_CY_DEVICE": "sim", "ASCEND_CY_SIM_CHECKS": "off"},
}
# How many times as long as on the cpu device is good enough.
REACH = {"to_limit": 30.0}


def serve() -> None:
    """The other process: reads a piece of work or a number of calls from each line, and answers with seconds."""
    import numpy as np

    import ascend_cy

    call: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        if isinstance(request, int):
            before = resource.getrusage(resource.RUSAGE_SELF)
            start = time.perf_counter()
            for _ in range(request):
                call()
            seconds = time.perf_counter() - start
            after = resource.getrusage(resource.RUSAGE_SELF)
            used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            print(json.dumps([seconds, used]), flush=True)
            continue
        random = np.random.default_rng(0)
        x, y = random.standard_normal((2, *request["shape"]), dtype=np.float32)
        out = np.zeros_like(x)
        if request["op"] == "layernorm":
            gamma, beta = random.standard_normal((2, request["shape"][-1]), dtype=np.float32)
            wide = x.astype(np.float64)
            expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gamma + beta

            def call(x: Any = x, gamma: Any = gamma, beta: Any = beta, out: Any = out) -> None:
                ascend_cy.layernorm(x, gamma, beta, out=out)
        else:
            expected = x + y

            def call(x: Any = x, y: Any = y, out: Any = out) -> None:
                ascend_cy.vector_add(x, y, out=out)

        call()
        print(json.dumps(bool(np.abs(out - expected).max() <= 1e-4)), flush=True)


class Other:
    """A process with a device of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.processor: list[float] = []
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from ascend_cy.bench.sim import serve; serve()"],
            env={**os.environ, **DEVICES[name]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Other:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def ask(self, request: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            assert self._process.stderr is not None
            lines = self._process.stderr.read().strip().splitlines()
            raise Missing(lines[-1] if lines else f"the process for {self.name} ended")
        return json.loads(answer)

    def loop(self, calls: int) -> float:
        seconds, used = self.ask(calls)
        self.processor.append(used / calls)
        return float(seconds)


def run(quick: bool, threads: int) -> Table:
    table = Table(
        "sim",
        "Ascend C under the simulator beside the kernels of the CPU, from NumPy to NumPy",
        threads=threads,
        notes=["processor time: of all threads of the process; it changes less where other programs run too"],
    )
    works: list[tuple[str, tuple[int, ...]]] = [("layernorm", shape) for shape in (SHAPES[-1:] if quick else SHAPES)]
    works += [("vector_add", (n,)) for n in LENGTHS if not quick]
    plan = Plan(sample=1e-3, repeats=3, least=3, budget=1.0) if quick else Plan(sample=5e-3, repeats=15, least=7, budget=20.0)
    with ExitStack() as stack:
        others = [stack.enter_context(Other(name)) for name in DEVICES]
        for op, shape in works:
            for other in others:
                if not other.ask({"op": op, "shape": shape}):
                    raise RuntimeError(f"{op} of {shape} is wrong on {other.name}")
                other.processor.clear()
            label = f"{op} {shape if len(shape) > 1 else f'({shape[0]},)'} float32"
            work = {"op": op, "shape": list(shape), "dtype": "float32"}
            reach = REACH if (op, shape) == ("layernorm", SHAPES[0]) else {}
            results = table.add(label, work, [Case(o.name, o.loop) for o in others], plan, limit="cpu", reach=reach)
            used = {}
            for other in others:
                times = other.processor[-results[other.name].repeats :]
                used[other.name] = Result(min(times), statistics.median(times), len(times), results[other.name].calls, 0.0)
            table.rows.append(Row("  its processor time", work | {"time": "processor"}, used, limit="cpu", reach=reach))
    return table
