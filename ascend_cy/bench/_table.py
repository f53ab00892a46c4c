"""Tables of figures: how they are kept, compared, and printed.

A row holds one piece of work done in several ways. One of them is ours; *floors* are limits, not competitors; all others
are peers. Times are seconds of one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ascend_cy.bench._measure import Case, Plan, Result, fastest, measure

OURS = "ascend_cy"


class Row:
    """One piece of work.

    Parameters
    ----------
    label : str
        What people read.
    work : dict
        The same as data, for JSON and plots.
    results : dict of str to Result
    limit : str, optional
        The result that is the limit.
    floors : sequence of str
        Results that are measuring sticks, the limit included.
    reach : dict, optional
        What we want to reach: ``to_limit``, ``seconds`` or ``to_peer``, one of them.
    ours : str
        The result that is compared.
    """

    def __init__(
        self,
        label: str,
        work: dict[str, Any],
        results: dict[str, Result],
        *,
        limit: str | None = None,
        floors: Sequence[str] = (),
        reach: dict[str, float] | None = None,
        ours: str = OURS,
        extra: dict[str, float] | None = None,
    ) -> None:
        self.label = label
        self.work = work
        self.results = results
        self.limit = limit
        self.floors = [*floors, *([limit] if limit and limit not in floors else [])]
        self.reach = reach or {}
        self.ours = ours
        self.extra = extra or {}

    def as_json(self) -> dict[str, Any]:
        ours = self.results.get(self.ours)
        peers = {
            name: result
            for name, result in self.results.items()
            if name not in self.floors and not name.startswith(OURS)
        }
        best = min(peers, key=lambda name: peers[name].minimum, default=None)
        row: dict[str, Any] = {
            "label": self.label,
            "work": self.work,
            "results": {name: result.as_json() for name, result in self.results.items()},
            "limit": self.limit,
            "floors": self.floors,
            "ours": self.ours if ours else None,
            "to_limit": None,
            "best_peer": best,
            "to_peer": None,
            "extra": self.extra,
            "reach": self.reach,
            "met": None,
        }
        if ours is None:
            return row
        if self.limit in self.results:
            row["to_limit"] = ours.minimum / self.results[self.limit].minimum
        if best is not None:
            row["to_peer"] = peers[best].minimum / ours.minimum
        row["met"] = self.met(row, ours)
        return row

    def met(self, row: dict[str, Any], ours: Result) -> bool | None:
        tests: dict[str, Callable[[float], bool | None]] = {
            "seconds": lambda wanted: ours.minimum <= wanted,
            "to_limit": lambda wanted: row["to_limit"] <= wanted if row["to_limit"] is not None else None,
            "to_peer": lambda wanted: row["to_peer"] >= wanted if row["to_peer"] is not None else None,
            "gain": lambda wanted: row["extra"]["gain"] >= wanted if "gain" in row["extra"] else None,
        }
        answers = [tests[name](wanted) for name, wanted in self.reach.items()]
        if any(answer is None for answer in answers) or not answers:
            return None
        return all(answers)


class Table:
    """One benchmark's rows and what is to be known about them."""

    def __init__(self, name: str, title: str, *, threads: int, notes: Sequence[str] = ()) -> None:
        self.name = name
        self.title = title
        self.threads = threads
        self.notes = list(notes)
        self.rows: list[Row] = []
        self.skipped: dict[str, str] = {}

    def add(
        self,
        label: str,
        work: dict[str, Any],
        cases: Sequence[Case | Sequence[Case]],
        plan: Plan,
        **more: Any,
    ) -> dict[str, Result]:
        """Measure a row. A case given as several is the fastest of them."""
        chosen = [one if isinstance(one, Case) else fastest(one) for one in cases if one]
        results = measure(chosen, plan)
        self.rows.append(Row(label, work, results, **more))
        return results

    def skip(self, peer: str, reason: object) -> None:
        self.skipped.setdefault(peer, str(reason))

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "threads": self.threads,
            "notes": self.notes,
            "skipped": self.skipped,
            "rows": [row.as_json() for row in self.rows],
        }


# ---- printing ----


def time_text(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * scale:
            value = seconds / scale
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    value = seconds * 1e9
    return f"{value:.{0 if value >= 10 else 1}f} ns"


def result_text(result: dict[str, Any]) -> str:
    return f"{time_text(result['minimum'])} ({time_text(result['median'])})"


def reach_text(reach: dict[str, float], met: bool | None) -> str:
    words = []
    for name, wanted in reach.items():
        if name == "seconds":
            words.append(f"≤ {time_text(wanted)}")
        elif name == "to_limit":
            words.append(f"≤ {wanted:g} × limit")
        elif name == "gain":
            words.append(f"≥ {wanted:g} ×")
        else:
            words.append(f"{wanted:g} × peer")
    if not words:
        return ""
    return " ".join(words) + {True: " met", False: " MISSED", None: ""}[met]


def columns_of(table: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for row in table["rows"]:
        for name in row["results"]:
            if name not in names:
                names.append(name)
    return names


def grid(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Lines with the first column to the left and all others to the right."""
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]

    def text(cells: Sequence[str]) -> str:
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([cells[0].ljust(widths[0]), *rest]).rstrip()

    return [text(head), *map(text, body)]


def print_counts(table: dict[str, Any]) -> str:
    """A table of counts as lines of text."""
    layers = list(table["rows"][0]["counts"]) if table["rows"] else []
    body = [
        [row["label"], *(f"{row['counts'].get(layer, 0)}" for layer in layers), str(row["total"])] for row in table["rows"]
    ]
    lines = [f"{table['name']}: {table['title']}", *grid(["", *layers, "all"], body)]
    return "\n".join(lines + [f"  {note}" for note in table["notes"]])


def print_table(table: dict[str, Any]) -> str:
    """The table as lines of text."""
    if table.get("kind") == "counts":
        return print_counts(table)
    names = columns_of(table)
    rows = table["rows"]
    head = ["", *names]
    with_limit = any(row["to_limit"] is not None for row in rows)
    with_peer = any(row["to_peer"] is not None for row in rows)
    extras = [key for key in ("gain",) if any(key in row["extra"] for row in rows)]
    with_reach = any(row["reach"] for row in rows)
    if with_limit:
        head.append("÷ limit")
    if with_peer:
        head.append("best peer ÷ ours")
    head += extras
    if with_reach:
        head.append("reach")
    body = []
    for row in rows:
        cells = [row["label"]]
        cells += [result_text(row["results"][name]) if name in row["results"] else "–" for name in names]
        if with_limit:
            cells.append(f"{row['to_limit']:.2f}" if row["to_limit"] is not None else "–")
        if with_peer:
            cells.append(f"{row['to_peer']:.2f} {row['best_peer']}" if row["to_peer"] is not None else "–")
        cells += [f"{row['extra'][key]:.2f}" if key in row["extra"] else "–" for key in extras]
        if with_reach:
            cells.append(reach_text(row["reach"], row["met"]))
        body.append(cells)
    counts = sorted({result["repeats"] for row in rows for result in row["results"].values()})
    repeats = "–".join(str(n) for n in ([counts[0], counts[-1]] if len(counts) > 1 else counts))
    lines = [f"{table['name']}: {table['title']}"]
    lines += grid(head, body)
    lines.append(f"  minimum (median) of {repeats} interleaved repeats, {table['threads']} threads")
    lines += [f"  {note}" for note in table["notes"]]
    lines += [f"  skipped: {peer}: {reason}" for peer, reason in table["skipped"].items()]
    return "\n".join(lines)
