"""``ascend-cy demo``: LayerNorm on a small real data set through every layer, checked and timed."""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.resources
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import ascend_cy
from ascend_cy._cli_common import (
    CliError,
    add_device_argument,
    on_device,
    os_reason,
    require_device,
    time_text,
)
from ascend_cy._cli_device import DeviceLibrary, launch_lines, loaded_files, loaded_kernels
from ascend_cy._cli_layernorm import Job, normalize_file

TABLE = "breast_cancer_wisconsin.csv"
EPS = 1e-5
DTYPES = (np.dtype(np.float32), np.dtype(np.float16))
REPEATS = 3

# What is promised: float32 within 1e-6 of the row's largest |y|; float16 within one unit in the last place
# (or those 1e-6, if they are more) of the float64 result rounded to float16.
FLOAT32_TOLERANCE = 1e-6
FLOAT16_TOLERANCE = 1.0

T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Normalize a small real data set through every layer: from a file to a file as 'ascend-cy layernorm' "
        "does it, and with device arrays on a stream. Checks both against NumPy in float64, tells what ran "
        "where and how long each stage took. The exit code is 1 where a result is out of tolerance."
    )
    parser.add_argument("--keep", metavar="DIR", help="leave the .npy files in this folder")
    add_device_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run every stage, print the report; 1 if a check failed."""
    info = require_device(arguments.device)
    with folder_for(arguments.keep) as folder, on_device(arguments.device):
        report = Report()
        table = report.timed("table", "read the table", read_table)
        print_data(table)
        files = report.timed("table", "write it as .npy files", lambda: write_inputs(folder, table))
        checks = []
        for dtype in DTYPES:
            arrays = files.arrays(dtype)
            checks += run_files(files, arrays, report) + run_arrays(arrays, report)
        print_layers(info, arguments.device[1] if arguments.device else 0, launch_line(files))
        report.print()
        good = print_checks(checks)
        if arguments.keep:
            print(f"\nThe files are in {folder}.")
    return 0 if good else 1


@contextlib.contextmanager
def folder_for(keep: str | None) -> Iterator[Path]:
    """The folder to keep, made if need be, or one that goes away."""
    try:
        if keep is not None:
            Path(keep).mkdir(parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(prefix="ascend-cy-demo-") if keep is None else None
    except OSError as error:
        raise CliError(
            f"cannot make the folder {keep or 'for temporary files'}: {os_reason(error)}"
        ) from error
    if temporary is None:
        yield Path(str(keep))
    else:
        with temporary as name:
            yield Path(name)


# ---- the data ----


@dataclass(frozen=True)
class Table:
    """A table of numbers with the names of its columns."""

    names: list[str]
    values: np.ndarray


def read_table() -> Table:
    """Read the table that came with the package."""
    resource = importlib.resources.files("ascend_cy").joinpath("examples", TABLE)
    try:
        names, *rows = csv.reader(resource.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        reason = os_reason(error)
        raise CliError(f"the data set {TABLE} is missing from this installation: {reason}") from error
    return Table(names, np.array([[float(cell) for cell in row] for row in rows]))


@dataclass(frozen=True)
class Arrays:
    """The inputs of one run, in memory."""

    x: np.ndarray
    gamma: np.ndarray
    beta: np.ndarray

    def inputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, gamma and beta."""
        return self.x, self.gamma, self.beta

    def reference(self) -> np.ndarray:
        """LayerNorm in float64, of the values as their dtypes hold them."""
        x, gamma, beta = (array.astype(np.float64) for array in self.inputs())
        mean = x.mean(axis=-1, keepdims=True)
        variance = np.square(x - mean).mean(axis=-1, keepdims=True)
        result: np.ndarray = (x - mean) / np.sqrt(variance + EPS) * gamma + beta
        return result


@dataclass(frozen=True)
class Files:
    """The .npy files of the demo in one folder."""

    folder: Path

    def path(self, name: str) -> str:
        """Path of one of them."""
        return str(self.folder / f"{name}.npy")

    def arrays(self, dtype: np.dtype) -> Arrays:
        """The inputs, read back."""
        return Arrays(
            np.load(self.path(f"x_{dtype}")), np.load(self.path("gamma")), np.load(self.path("beta"))
        )


def write_inputs(folder: Path, table: Table) -> Files:
    """Write x in each dtype, and a scale and a shift that differ by column: a mixed-up column shows."""
    files = Files(folder)
    columns = table.values.shape[1]
    try:
        for dtype in DTYPES:
            np.save(files.path(f"x_{dtype}"), table.values.astype(dtype))
        np.save(files.path("gamma"), np.linspace(0.5, 1.5, columns, dtype=np.float32))
        np.save(files.path("beta"), np.linspace(-1, 1, columns, dtype=np.float32))
    except OSError as error:
        raise CliError(f"cannot write into {folder}: {os_reason(error)}") from error
    return files


# ---- the stages ----


@dataclass
class Report:
    """Times of the stages, by column."""

    times: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, column: str, stage: str, seconds: float) -> None:
        """Note a time; of several for the same stage the shortest stays."""
        row = self.times.setdefault(stage, {})
        row[column] = min(seconds, row.get(column, math.inf))

    def timed(self, column: str, stage: str, work: Callable[[], T]) -> T:
        """Do some work and note how long it took."""
        start = time.perf_counter()
        result = work()
        self.add(column, stage, time.perf_counter() - start)
        return result

    def print(self) -> None:
        """Print the table of times."""
        columns = ("table", *map(str, DTYPES))
        print(
            f"\n{f'How long it took (the shortest of {REPEATS} runs)':<48}"
            + "".join(f"{c:>11}" for c in columns[1:])
        )
        for stage, row in self.times.items():
            if "table" in row:
                cells = f"{time_text(row['table']):>22}"
            else:
                cells = "".join(
                    f"{time_text(row[column]) if column in row else '':>11}" for column in columns[1:]
                )
            print(f"  {stage:<46}{cells}")


@dataclass(frozen=True)
class Check:
    """A result beside its reference."""

    name: str
    result: np.ndarray
    arrays: Arrays

    def error(self) -> float:
        """The largest error, in the unit of :meth:`tolerance`; infinite for a wrong shape, dtype or NaN."""
        reference = self.arrays.reference()
        if self.result.shape != reference.shape or self.result.dtype != self.arrays.x.dtype:
            return math.inf
        largest_y = np.abs(reference).max(axis=-1, keepdims=True)
        if self.result.dtype == np.float32:
            distance = np.abs(self.result - reference) / largest_y
        else:
            rounded = reference.astype(np.float16)
            # Where gamma's and beta's terms cancel, a unit is less than float32 arithmetic can give.
            units = np.maximum(np.spacing(np.abs(rounded)), FLOAT32_TOLERANCE * largest_y)
            distance = np.abs(self.result.astype(np.float64) - rounded.astype(np.float64)) / units
        largest = float(distance.max())
        return largest if math.isfinite(largest) else math.inf

    def tolerance(self) -> float:
        """What :meth:`error` may be."""
        return FLOAT32_TOLERANCE if self.arrays.x.dtype == np.float32 else FLOAT16_TOLERANCE


def run_files(files: Files, arrays: Arrays, report: Report) -> list[Check]:
    """From file to file, as ``ascend-cy layernorm`` does it."""
    dtype = str(arrays.x.dtype)
    job = Job(
        files.path(f"x_{dtype}"), files.path(f"y_{dtype}"), files.path("gamma"), files.path("beta"), EPS
    )
    for _ in range(REPEATS):
        report.timed(dtype, "file to file, with reading and writing", lambda: normalize_file(job))
    return [Check(f"{dtype}, file to file", np.load(job.output), arrays)]


def run_arrays(arrays: Arrays, report: Report) -> list[Check]:
    """With host arrays, then with device arrays on a stream of their own, on the device in use."""
    dtype = str(arrays.x.dtype)
    for _ in range(REPEATS):
        on_host = report.timed(dtype, "ndarray in, ndarray out", lambda: normalize(*arrays.inputs()))
        on_stream = run_stream(arrays, report)
    return [
        Check(f"{dtype}, ndarray", on_host, arrays),
        Check(f"{dtype}, DeviceArray on a stream", on_stream, arrays),
    ]


def run_stream(arrays: Arrays, report: Report) -> np.ndarray:
    """Upload, enqueue and download on a new stream; the kernel is timed by the device's own events."""
    dtype = str(arrays.x.dtype)
    with ascend_cy.Stream(device=ascend_cy.current_stream().device) as stream:
        inputs = report.timed(
            dtype, "DeviceArrays: upload", lambda: [ascend_cy.asarray(array) for array in arrays.inputs()]
        )
        start, end = ascend_cy.Event(), ascend_cy.Event()
        start.record(stream)
        y = report.timed(dtype, "DeviceArrays: enqueue on a stream", lambda: normalize(*inputs))
        end.record(stream)
        stream.synchronize()
        report.add(dtype, "DeviceArrays: kernel, between two events", start.elapsed_time(end) / 1e3)
        return report.timed(dtype, "DeviceArrays: download", y.to_numpy)


def normalize(x: Any, gamma: Any, beta: Any) -> Any:
    """The operator with the demo's eps."""
    return ascend_cy.layernorm(x, gamma, beta, EPS)


def launch_line(files: Files) -> str | None:
    """What the embedded device logs about a launch; None where it logs nothing."""
    arrays = files.arrays(DTYPES[0])
    with launch_lines() as lines:
        normalize(*arrays.inputs())
    return next((line for line in lines if "kernel" in line), None)


# ---- the report ----


def print_data(table: Table) -> None:
    """Say what is normalized."""
    rows, cols = table.values.shape
    largest = table.values.max(axis=0).argmax()
    smallest = table.values.max(axis=0).argmin()
    print(f"LayerNorm of each row: y = (x - mean) / sqrt(variance + {EPS:g}) * gamma + beta\n")
    print(
        f"Data    {TABLE}: {rows} rows of {cols} features, from {table.names[smallest]} "
        f"(up to {table.values[:, smallest].max():g})\n"
        f"        to {table.names[largest]} (up to {table.values[:, largest].max():g}). "
        "Source: UCI Machine Learning Repository, CC BY 4.0."
    )


def print_layers(info: dict[str, Any], index: int, launch: str | None) -> None:
    """Say which files ran, from Python down to the kernel."""
    root = ascend_cy.get_library_dir()
    workers = DeviceLibrary(info["library"]).workers()
    kernels = [str(path) for path in loaded_kernels()]
    print(f"\nWhat ran, in {root}")
    for name, text in (
        ("Python", str(ascend_cy.__file__)),
        ("Cython", str(sys.modules[ascend_cy.layernorm.__module__].__file__)),
        ("host library", ", ".join(str(path) for path in loaded_files("libascend_cy.so"))),
        ("device library", info["library"]),
        ("", f"{info['kind']}, device {index}: {info['reason']}"),
        ("kernel binary", ", ".join(kernels) or "in the device's memory"),
        ("launch", launch or ""),
        ("threads", f"{workers}, which share the blocks" if workers is not None else ""),
    ):
        if text:
            print(f"  {name:<15} {text.replace(root + '/', '')}")


def print_checks(checks: list[Check]) -> bool:
    """Print the errors beside the tolerances; whether all of them are good."""
    print(f"\n{'Largest error against NumPy in float64':<40}{'error':>12}{'allowed':>12}")
    good = True
    for check in checks:
        fits = check.error() <= check.tolerance()
        verdict = "ok" if fits else "WRONG"
        good &= fits
        print(f"  {check.name:<38}{check.error():>12.2g}{check.tolerance():>12.2g}   {verdict}")
    print("  (float32: relative to the row's largest |y|; float16: in units in the last place)")
    print(f"\n{'All results are within tolerance.' if good else 'Some results are out of tolerance.'}")
    return good
