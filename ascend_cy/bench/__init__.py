"""``ascend-cy bench``: what ascend_cy costs, beside other libraries and the limits of the machine.

Every benchmark runs in a process of its own, so that no library's threads or settings disturb another benchmark.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from ascend_cy._cli_common import CliError, os_reason

FORMAT = 1

# A part that has not ended by then never will; a full one takes a minute or two, compilers included.
PART_SECONDS = 900.0
QUICK_PART_SECONDS = 300.0


class Benchmark(NamedTuple):
    """One name on the command line."""

    name: str
    summary: str
    # Functions of the module that each make rows, each in a process of its own.
    parts: tuple[str, ...] = ("run",)


BENCHMARKS = (
    Benchmark("call", "one call of the same launcher through six bindings", ("run", "run_real")),
    Benchmark("layernorm", "LayerNorm in three data types beside torch, onnxruntime, numba, JAX and a copy"),
    Benchmark("backward", "the gradient of LayerNorm beside torch, numba, JAX and an addition of the same bytes"),
    Benchmark("latency", "LayerNorm from one row to 8192"),
    Benchmark("vector_add", "addition of vectors beside NumPy, torch and JAX"),
    Benchmark("matmul", "products of matrices beside NumPy, torch and JAX"),
    Benchmark("launch", "launch and wait beside PoCL"),
    Benchmark("kernel", "launch a kernel of one's own beside a bare AscendCL call through ctypes"),
    Benchmark("enqueue", "enqueue on a busy stream beside PoCL"),
    Benchmark("allocation", "make and drop arrays beside NumPy, torch and pyopencl"),
    Benchmark("routes", "LayerNorm by a framework's operator and by a direct call: call, kernel, end to end"),
    Benchmark("pipeline", "a Pipeline beside a plain loop, and on an emulated link", ("run", "run_link")),
    Benchmark("threads", "more workers, and more Python threads"),
    Benchmark("sim", "Ascend C under the simulator, with and without checks, beside the kernels of the CPU"),
    Benchmark("instructions", "machine instructions of the hot paths; needs valgrind"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    names = "\n".join(f"  {each.name:<12} {each.summary}" for each in BENCHMARKS)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Measure what ascend_cy costs here, beside other libraries and the limits of the machine. Libraries that are not\n"
        "installed are skipped by name; pip install 'ascend-cy[bench]' brings those that are small.\n\n"
        f"benchmarks:\n{names}"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks; all of them by default")
    parser.add_argument("--quick", action="store_true", help="few repeats and small work: a look, no figures to quote")
    parser.add_argument(
        "--peers",
        metavar="NAME,…",
        help="compare with these alone (torch, numba, pybind11 …), or with none; with all that are installed by default",
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--plot", metavar="FOLDER", help="draw plots there; needs matplotlib")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 1 if a benchmark failed."""
    from ascend_cy.bench import _machine
    from ascend_cy.bench._native import PEERS_VARIABLE, peers_named
    from ascend_cy.bench._table import print_table

    known = {each.name: each for each in BENCHMARKS}
    for name in arguments.names:
        if name not in known:
            raise CliError(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    chosen = [known[name] for name in dict.fromkeys(arguments.names)] or list(BENCHMARKS)
    if arguments.peers is not None:
        os.environ[PEERS_VARIABLE] = ",".join(peers_named(arguments.peers))
    # What can be refused is refused now, not after ten minutes of work.
    if arguments.plot:
        from ascend_cy.bench import _plots

        _plots.prepare(Path(arguments.plot))
    if arguments.json:
        write(Path(arguments.json), "")
    words = ["ascend-cy", "bench", *arguments.names]
    words += ["--quick"] if arguments.quick else []
    words += ["--peers", arguments.peers] if arguments.peers is not None else []
    facts, versions = _machine.machine(), _machine.versions()
    report: dict[str, Any] = {
        "format": FORMAT,
        "machine": facts,
        "versions": versions,
        "command": words,
        "quick": arguments.quick,
        "tables": [],
        "skipped": {},
        "failed": {},
    }
    print("\n".join(_machine.lines(facts, versions, words)), flush=True)
    start = time.monotonic()
    for benchmark in chosen:
        for part in measure(benchmark, arguments.quick, report):
            merge(report["tables"], part)
        table = next((each for each in report["tables"] if each["name"] == benchmark.name), None)
        if table is not None:
            print(f"\n{print_table(table)}", flush=True)
        elif benchmark.name in report["skipped"]:
            print(f"\n{benchmark.name}: skipped: {report['skipped'][benchmark.name]}", flush=True)
        if benchmark.name in report["failed"]:
            print(f"\n{benchmark.name}: failed: {report['failed'][benchmark.name]}", file=sys.stderr, flush=True)
    report["seconds"] = time.monotonic() - start
    print(f"\nmeasured in {report['seconds']:.0f} s")
    if arguments.json:
        write(Path(arguments.json), json.dumps(report, indent=1) + "\n")
    if arguments.plot:
        files = _plots.draw(report, Path(arguments.plot))
        for file in files:
            print(file)
        if not files:
            print(f"there was nothing to draw: plots are made of {', '.join(_plots.PLOTS)}")
    return 1 if report["failed"] else 0


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot write {path}: {os_reason(error)}") from None


def measure(benchmark: Benchmark, quick: bool, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables of a benchmark's parts."""
    tables = []
    for part in benchmark.parts:
        answer = run_part(benchmark.name, part, quick)
        if "table" in answer:
            tables.append(answer["table"])
        elif "skipped" in answer:
            report["skipped"].setdefault(benchmark.name, answer["skipped"])
        else:
            report["failed"][benchmark.name] = answer["failed"]
    return tables


def merge(tables: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Put a part's rows into the table of its name."""
    for table in tables:
        if table["name"] == part["name"]:
            table["rows"] += part["rows"]
            table["notes"] += [note for note in part["notes"] if note not in table["notes"]]
            table["skipped"] = {**part["skipped"], **table["skipped"]}
            return
    tables.append(part)


def run_part(name: str, part: str, quick: bool, seconds: float | None = None) -> dict[str, Any]:
    """Run one part in a new process, which is ended with its children when `seconds` have passed.

    Returns
    -------
    dict
        ``table``, or why there is none: ``skipped`` or ``failed``.
    """
    if seconds is None:
        seconds = QUICK_PART_SECONDS if quick else PART_SECONDS
    # In an empty folder: Python would look for modules in the current one.
    with tempfile.TemporaryDirectory(prefix="ascend-cy-bench-") as scratch:
        answer = Path(scratch) / "answer.json"
        code = f"from ascend_cy.bench._child import main; main({name!r}, {part!r}, {quick!r}, {str(answer)!r})"
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=scratch,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that it can be ended with its children
        )
        try:
            _, errors = process.communicate(timeout=seconds)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                return {"failed": f"{part} did not end within {seconds:g} s"}
            raise
        try:
            found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError):
            lines = errors.strip().splitlines()
            return {"failed": lines[-1] if lines else f"ended with code {process.returncode}"}
