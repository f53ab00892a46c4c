"""Plots of a report: how much of the copy speed is reached, what a call costs, latency against size, overlap in a pipeline."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

from ascend_cy._cli_common import CliError, os_reason

# One colour for a name in every plot; ours is the one that stands out.
COLOURS = {
    "ascend_cy": "#c8102e",
    "torch": "#ee9b00",
    "onnxruntime": "#0a9396",
    "numba": "#3a6ea5",
    "jax": "#7b4b94",
    "numpy": "#4d7c0f",
    "nanobind": "#3a6ea5",
    "pybind11": "#0a9396",
    "cffi": "#ee9b00",
    "ctypes": "#8d99ae",
    "by hand": "#7a7a7a",
    "C loop": "#b5b5b5",
    "copy": "#000000",
}
OTHER = "#999999"


def prepare(folder: Path) -> None:
    """Make the folder, or say before anything is measured why plots cannot be drawn."""
    try:
        import matplotlib
    except ImportError:
        raise CliError("--plot needs matplotlib: pip install 'ascend-cy[bench]'") from None
    matplotlib.use("Agg")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CliError(f"cannot write to {folder}: {os_reason(error)}") from None


def draw(report: dict[str, Any], folder: Path) -> list[Path]:
    """Draw what there is figures for.

    Returns
    -------
    list of Path
        The files, PNG.
    """
    import matplotlib.pyplot as plt

    tables = {table["name"]: table for table in report["tables"]}
    files = []
    for name, plot in PLOTS.items():
        table = tables.get(name)
        if table is None or not table["rows"]:
            continue
        with plt.rc_context(STYLE):
            figure = plot(plt, table)
            if figure is None:
                continue
            facts = report["machine"]
            figure.text(
                0.995,
                0.005,
                f"{facts['cpu']}, {facts['cpus']} CPUs, {facts['vectors']}; minimum of interleaved repeats",
                ha="right",
                va="bottom",
                fontsize=7,
                color="#666666",
            )
            file = folder / f"{name}.png"
            try:
                figure.savefig(file, dpi=150)
            except OSError as error:
                raise CliError(f"cannot write {file}: {os_reason(error)}") from None
            plt.close(figure)
            files.append(file)
    return files


STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 10,
    "font.size": 9,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def names_in(rows: list[dict[str, Any]]) -> list[str]:
    """Results in the order of our colours, others behind."""
    found = {name for row in rows for name in row["results"]}
    return [name for name in COLOURS if name in found] + sorted(found - set(COLOURS))


def colour(name: str) -> str:
    return COLOURS.get(name, OTHER)


def seconds(row: dict[str, Any], name: str) -> float:
    result = row["results"].get(name)
    return result["minimum"] if result else math.nan


def roofline(plt: Any, table: dict[str, Any]) -> Any:
    """Share of the copy speed, a panel for each data type."""
    large = [row for row in table["rows"] if row["work"]["bytes"] >= 1 << 20 and row["limit"]]
    kinds = list(dict.fromkeys(row["work"]["dtype"] for row in large))
    if not kinds:
        return None
    most = max(sum(row["work"]["dtype"] == kind for row in large) for kind in kinds)
    figure, axes = plt.subplots(1, len(kinds), figsize=(4.2 * len(kinds), 1.6 + 0.62 * most), squeeze=False)
    names = [name for name in names_in(large) if name != "copy"]
    for axis, kind in zip(axes[0], kinds, strict=True):
        rows = [row for row in large if row["work"]["dtype"] == kind]
        height = 0.8 / len(names)
        for i, name in enumerate(names):
            shares = [seconds(row, row["limit"]) / seconds(row, name) for row in rows]
            places = [place + (i - (len(names) - 1) / 2) * height for place in range(len(rows))]
            bars = axis.barh(places, shares, height, color=colour(name), label=name)
            if name == "ascend_cy":
                axis.bar_label(bars, [f"{share:.0%}" for share in shares], padding=2, fontsize=8, color=colour(name))
        axis.axvline(1, color="black", linewidth=1)
        axis.text(1, -0.62, "copy", ha="center", va="bottom", fontsize=8)
        axis.set_yticks(range(len(rows)), [f"{row['work']['shape'][0]} × {row['work']['shape'][1]}" for row in rows])
        axis.invert_yaxis()
        axis.set_xlim(0, 1.18)
        axis.xaxis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:.0%}"))
        axis.set_title(f"LayerNorm, {kind}", pad=14)
        axis.set_xlabel("share of the speed of a streaming copy of the same bytes")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure


def overhead(plt: Any, table: dict[str, Any]) -> Any:
    """Bars of what a call costs, a group for each way to pass arrays."""
    from ascend_cy.bench._table import time_text

    rows = table["rows"]
    names = [name for name in names_in(rows) if any(name in row["results"] for row in rows)]
    figure, axis = plt.subplots(figsize=(9, 1.4 + 0.95 * len(rows)))
    height = 0.84 / len(names)
    for i, name in enumerate(names):
        times = [seconds(row, name) * 1e6 for row in rows]
        places = [place + (i - (len(names) - 1) / 2) * height for place in range(len(rows))]
        bars = axis.barh(places, times, height, color=colour(name), label=name)
        labels = ["" if math.isnan(time) else time_text(time * 1e-6) for time in times]
        axis.bar_label(bars, labels, padding=2, fontsize=7)
    axis.set_xscale("log")
    axis.set_yticks(range(len(rows)), [row["label"] for row in rows])
    axis.invert_yaxis()
    axis.set_xlabel("time of one call in µs")
    axis.set_title("Call overhead")
    axis.legend(loc="lower right", ncols=2, fontsize=8)
    return figure


def latency(plt: Any, table: dict[str, Any]) -> Any:
    """Time against the number of rows."""
    rows = table["rows"]
    figure, axis = plt.subplots(figsize=(7.5, 5))
    for name in names_in(rows):
        points = [(row["work"]["shape"][0], seconds(row, name) * 1e6) for row in rows]
        points = [point for point in points if not math.isnan(point[1])]
        line = "--" if name == "copy" else "-"
        width = 2.2 if name == "ascend_cy" else 1.2
        marker = "" if name == "copy" else "o"
        axis.plot(*zip(*points, strict=True), line, color=colour(name), linewidth=width, marker=marker, markersize=3, label=name)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlabel(f"rows of {rows[0]['work']['shape'][1]} float32")
    axis.set_ylabel("µs, end to end from Python")
    axis.set_title("LayerNorm: latency against size")
    axis.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axis.legend()
    return figure


def overlap(plt: Any, table: dict[str, Any]) -> Any:
    """Time of one batch in a pipeline, beside what is there to compare with: a plain loop, or the ideal and no overlap."""
    from ascend_cy.bench._table import time_text

    rows = table["rows"]
    figure, axis = plt.subplots(figsize=(8, 1.4 + 0.8 * len(rows)))
    names = [name for name in ("plain loop", "serial", "ideal", "ascend_cy") if any(name in row["results"] for row in rows)]
    height = 0.26
    labelled: set[str] = set()
    top: list[float] = []
    for place, row in enumerate(rows):
        there = [name for name in names if name in row["results"]]
        for i, name in enumerate(there):
            share = seconds(row, name) / seconds(row, row["limit"])
            bar = axis.barh(
                place + (i - (len(there) - 1) / 2) * height,
                share,
                height,
                color=PIPELINE_COLOURS[name],
                label=None if name in labelled else name,
            )
            labelled.add(name)
            axis.bar_label(bar, [time_text(seconds(row, name))], padding=2, fontsize=7)
            top.append(share)
    axis.axvline(1, color="black", linewidth=1)
    axis.set_xlim(0, 1.12 * max(top))
    axis.set_yticks(range(len(rows)), [row["label"] for row in rows])
    axis.invert_yaxis()
    axis.set_xlabel("time of one batch ÷ the plain loop's, or the ideal's on a link")
    axis.set_title("Pipeline: copies and work at the same time")
    figure.legend(loc="outside lower center", ncols=len(names))
    return figure


PIPELINE_COLOURS = {"plain loop": "#b5b5b5", "serial": "#8d99ae", "ideal": "#000000", "ascend_cy": COLOURS["ascend_cy"]}
PLOTS = {"layernorm": roofline, "call": overhead, "latency": latency, "pipeline": overlap}
