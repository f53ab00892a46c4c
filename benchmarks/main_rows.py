# SPDX-License-Identifier: Apache-2.0
"""Prints rows of the JSON of ``ascend-cy bench`` as Markdown: the main ones, or with ``--reach`` all that have an aim."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ascend_cy.bench._table import reach_text, time_text

MAIN = {
    "call": ["4 ndarrays, whole stack", "4 own arrays, whole stack"],
    "layernorm": [
        "(1, 768) float32",
        "(16, 1024) float32",
        "(8192, 1024) float32",
        "(8192, 1024) float16",
        "(8192, 1024) bfloat16",
        "(131072, 64) float32",
        "(64, 50000) float32",
    ],
    "backward": ["(8192, 1024) float32"],
    "vector_add": ["1 K elements", "64 M elements"],
    "matmul": ["1024 float32", "1024 float16"],
    "launch": ["one element"],
    "enqueue": ["one element"],
    "allocation": ["1 MiB"],
}


def line(table: str, row: dict[str, Any], with_reach: bool) -> str:
    ours = row["results"][row["ours"]]["minimum"]
    cells = [f"{table}: {row['label']}", time_text(ours)]
    if row["best_peer"] is None:
        cells.append("–")
    else:
        cells.append(f"{row['best_peer']} {time_text(row['results'][row['best_peer']]['minimum'])}, {row['to_peer']:.2f} ×")
    cells.append("–" if row["to_limit"] is None or table == "call" else f"{row['to_limit']:.2f}")
    if with_reach:
        cells.append(reach_text(row["reach"], row["met"]))
    return f"| {' | '.join(cells)} |"


def main(path: str, with_reach: bool) -> None:
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    head = ["work", "ascend_cy", "best peer, its time ÷ ours", "÷ limit", *(["aim"] if with_reach else [])]
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for table in report["tables"]:
        for row in table["rows"]:
            if row.get("reach") if with_reach else row["label"] in MAIN.get(table["name"], ()):
                print(line(table["name"], row, with_reach))


if __name__ == "__main__":
    main(sys.argv[1], "--reach" in sys.argv[2:])
