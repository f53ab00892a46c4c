"""LayerNorm from one row to many: where the call ends and the work begins."""

from __future__ import annotations

from ascend_cy.bench._measure import keep_freed_memory
from ascend_cy.bench._table import Table
from ascend_cy.bench.layernorm import add_row, make_work, plan_for

COLUMNS = 1024


def run(quick: bool, threads: int) -> Table:
    keep_freed_memory()
    table = Table("latency", "LayerNorm of float32 rows of 1024, from one row to many", threads=threads)
    powers = range(0, 14, 2) if quick else range(14)
    for power in [power for power in powers if not quick or power < 8]:
        work = make_work((2**power, COLUMNS), "float32", threads)
        plan = plan_for(2 * work.x.nbytes, quick)
        add_row(table, work, plan._replace(budget=plan.budget / 2), {})
    return table
