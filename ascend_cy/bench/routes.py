"""The ways from Python to a LayerNorm kernel: a framework's operator, an aclnn operator, a direct call of our kernel.

What the call costs, what the kernel takes, and what the caller sees from the call to the result.
"""

from __future__ import annotations

import ascend_cy
from ascend_cy.bench._limits import copy_case
from ascend_cy.bench._measure import Case, Plan, case, keep_freed_memory
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import LayerNormWork, torch_cases
from ascend_cy.bench._table import Table
from ascend_cy.bench.layernorm import make_work, plan_for

SHAPE = (32 * 256, 1024)  # the size of the published comparison


class Direct:
    """A launch on arrays of the device, by itself and with the wait for it."""

    def __init__(self, work: LayerNormWork) -> None:
        self.stream = ascend_cy.Stream()
        arrays = [ascend_cy.asarray(array, stream=self.stream) for array in (work.x, work.gamma, work.beta)]
        out = ascend_cy.empty(work.x.shape, work.x.dtype, stream=self.stream)
        self.names = dict(zip(("x", "g", "b", "y"), (*arrays, out), strict=True))

    def end_to_end(self) -> Case:
        code = "f(x, g, b, out=y, stream=s); wait()"
        stream = self.stream
        return case("ascend_cy", code, f=ascend_cy.layernorm, wait=stream.synchronize, s=stream, **self.names)

    def kernel(self) -> Case:
        """Between two events around it on its stream."""
        stream, x, g, b, y = self.stream, *(self.names[name] for name in "xgby")

        def loop(calls: int) -> float:
            milliseconds = 0.0
            for _ in range(calls):
                begin = stream.record()
                ascend_cy.layernorm(x, g, b, out=y, stream=stream)
                end = stream.record()
                stream.synchronize()
                milliseconds += begin.elapsed_time(end)
            return milliseconds * 1e-3

        return Case("ascend_cy", loop)


def torch_or_nothing(table: Table, work: LayerNormWork) -> list[Case]:
    try:
        return torch_cases(work)
    except Missing as reason:
        table.skip("torch", reason)
        return []


def run(quick: bool, threads: int) -> Table:
    keep_freed_memory()
    table = Table(
        "routes",
        "LayerNorm in float32 by each route from Python: the call, the kernel, end to end",
        threads=threads,
        notes=[
            "call: one element, complete; kernel: between two events around the launch (torch has no such figure on a CPU); end to "
            "end: from the call to the result",
            "ascend_cy: a direct call on arrays of the device, out= given, and the wait for it",
        ],
    )
    table.skip("aclnn", "there are no aclnn operators on the embedded device; CANN brings them")
    small = make_work((1, 1), "float32", threads)
    shape = (SHAPE[0] // 16, SHAPE[1]) if quick else SHAPE
    large = make_work(shape, "float32", threads)
    few = Plan(sample=1e-4, repeats=5, least=3, budget=1.0) if quick else Plan(sample=4e-4, repeats=80, budget=6.0)
    plan = plan_for(2 * large.x.nbytes, quick)
    table.add("call", {"shape": [1, 1]}, [Direct(small).end_to_end(), *torch_or_nothing(table, small)], few)
    direct = Direct(large)
    copy = copy_case(large.out, large.x, threads)
    size = {"shape": list(shape)}
    table.add(f"kernel {shape}", size, [copy, direct.kernel()], plan, limit=copy.name)
    end_to_end = [copy, direct.end_to_end(), *torch_or_nothing(table, large)]
    table.add(f"end to end {shape}", size, end_to_end, plan, limit=copy.name)
    return table
