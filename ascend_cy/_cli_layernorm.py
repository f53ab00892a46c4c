"""``ascend-cy layernorm``: normalize the last axis of a .npy file, a batch of rows at a time."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

import ascend_cy
from ascend_cy._cli_common import (
    CliError,
    add_device_argument,
    on_device,
    require_device,
    size_text,
    time_text,
)
from ascend_cy._cli_npy import NpySource, NpyTarget

# Small enough that a batch is still in the caches when it is written, large enough that calls and transfers
# are cheap.
BATCH_BYTES = 4 << 20
# In Fortran order a batch is one run of bytes a column; larger batches make longer runs.
FORTRAN_BATCH_BYTES = 32 << 20
# One batch is read while another is computed.
SLOTS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Normalize the rows of a .npy file, that is its last axis: "
        "(x - mean) / sqrt(var + eps) * gamma + beta. The file may be of any size and rank; rows go through "
        "memory a batch at a time. The result has the shape, dtype and order of the input, and appears under "
        "its name only when it is whole."
    )
    parser.add_argument("input", metavar="IN.npy", help="float32 or float16 (bfloat16: see --dtype)")
    parser.add_argument("output", metavar="OUT.npy", help="written anew; it may be IN.npy itself")
    parser.add_argument(
        "--gamma", metavar="G.npy", help="scale, as many elements as the last axis; ones by default"
    )
    parser.add_argument(
        "--beta", metavar="B.npy", help="shift, as many elements as the last axis; zeros by default"
    )
    parser.add_argument(
        "--eps", metavar="E", type=parse_eps, default=1e-5, help="added to the variance (default %(default)s)"
    )
    parser.add_argument(
        "--batch-rows",
        metavar="N",
        type=parse_count,
        help=f"rows in memory at a time (default: what {size_text(BATCH_BYTES)} hold)",
    )
    parser.add_argument(
        "--dtype",
        choices=["bfloat16"],
        help="take 2-byte elements without a type ('|V2', or uint16) as bfloat16; needs ml_dtypes",
    )
    add_device_argument(parser)
    parser.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show a progress bar (default: when stderr is a terminal)",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors")


def parse_eps(text: str) -> float:
    """A finite number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"must be a finite number, 0 or larger, got {text!r}")
    return value


def parse_count(text: str) -> int:
    """An integer of at least 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be an integer, 1 or larger, got {text!r}")
    return value


@dataclass(frozen=True)
class Job:
    """One file to normalize; the fields are the arguments of the command."""

    input: str
    output: str
    gamma: str | None = None
    beta: str | None = None
    eps: float = 1e-5
    batch_rows: int | None = None
    bfloat16: bool = False
    progress: bool | None = False


@dataclass(frozen=True)
class Done:
    """What was normalized."""

    shape: tuple[int, ...]
    dtype: np.dtype
    nbytes: int
    batches: int


def run(arguments: argparse.Namespace) -> int:
    """Normalize the file and say what was done."""
    job = Job(
        arguments.input,
        arguments.output,
        arguments.gamma,
        arguments.beta,
        arguments.eps,
        arguments.batch_rows,
        arguments.dtype == "bfloat16",
        False if arguments.quiet else arguments.progress,
    )
    info = require_device(arguments.device)
    start = time.perf_counter()
    with on_device(arguments.device):
        done = normalize_file(job)
    seconds = time.perf_counter() - start
    if not arguments.quiet:
        print(
            f"{job.output}: {done.shape} {done.dtype}, {size_text(done.nbytes)} in {time_text(seconds)} "
            f"({size_text(done.nbytes / seconds)}/s) on {info['kind']}"
        )
    return 0


def normalize_file(job: Job) -> Done:
    """Normalize one file on the current stream.

    Raises
    ------
    CliError
        If a file is not what it should be, or cannot be read or written. Then no output was made, and a file
        that was there under its name is as it was.
    """
    with NpySource(job.input, job.bfloat16) as source:
        gamma = read_weight(job.gamma, "--gamma", source, job.bfloat16)
        beta = read_weight(job.beta, "--beta", source, job.bfloat16)
        with NpyTarget(job.output, source.header) as target:
            try:
                batches = normalize_rows(source, target, gamma, beta, job)
            except MemoryError as error:
                raise CliError(no_memory(source, error)) from error
            target.commit()
    return Done(source.header.shape, source.dtype, source.header.nbytes, batches)


def read_weight(path: str | None, name: str, source: NpySource, bfloat16: bool) -> np.ndarray | None:
    """Read gamma or beta, if a file was named."""
    if path is None:
        return None
    with NpySource(path, bfloat16) as weight:
        return weight.read_vector(source.rows.cols, name)


def normalize_rows(
    source: NpySource, target: NpyTarget, gamma: np.ndarray | None, beta: np.ndarray | None, job: Job
) -> int:
    """Read, normalize and write every batch; return how many there were."""
    rows, cols = source.rows.rows, source.rows.cols
    if rows == 0 or cols == 0:
        return 0
    row_bytes = cols * source.dtype.itemsize
    batch = batch_rows(rows, row_bytes, source.rows.by_column, job.batch_rows)
    hidden = sys.stderr is None or (None if job.progress is None else not job.progress)
    bar = tqdm(
        total=rows * row_bytes,
        unit="B",
        unit_scale=True,
        unit_divisor=1024,
        desc="layernorm",
        disable=hidden,
    )
    scale, shift = (None if weight is None else ascend_cy.asarray(weight) for weight in (gamma, beta))
    pipeline = ascend_cy.Pipeline(lambda x: ascend_cy.layernorm(x, scale, shift, job.eps), slots=SLOTS)
    start = 0
    with contextlib.closing(bar), pipeline, contextlib.closing(pipeline(read_batches(source, batch))) as results:
        for result in results:
            target.rows.write(start, result)
            start += len(result)
            bar.update(result.nbytes)
    return -(-rows // batch)


def read_batches(source: NpySource, batch: int) -> Iterator[np.ndarray]:
    """The rows of a file, `batch` at a time, each in memory of its own."""
    rows, cols = source.rows.rows, source.rows.cols
    for start in range(0, rows, batch):
        block = ascend_cy.empty_pinned((min(batch, rows - start), cols), source.dtype)
        source.rows.read(start, block)
        yield block


def batch_rows(rows: int, row_bytes: int, by_column: bool, wanted: int | None) -> int:
    """Rows of a batch: what was asked for or what fits the usual size; at least one, at most all."""
    usual = (FORTRAN_BATCH_BYTES if by_column else BATCH_BYTES) // row_bytes
    return max(1, min(rows, usual if wanted is None else wanted))


def no_memory(source: NpySource, error: MemoryError) -> str:
    """The message where a batch does not fit memory."""
    row = size_text(source.rows.cols * source.dtype.itemsize)
    return f"not enough memory: one row of {source.path} takes {row}; fewer --batch-rows take less ({error})"
