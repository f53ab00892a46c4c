"""One part of a benchmark, in the process made for it."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import traceback
from pathlib import Path


def main(name: str, part: str, quick: bool, answer: str) -> None:
    """Run a part and write its table, or why there is none."""
    from ascend_cy.bench._native import Missing

    threads = len(os.sched_getaffinity(0))
    # Before any of the libraries is loaded: all of them get the same threads.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("POCL_DEVICES", "basic pthread")
    with tempfile.TemporaryDirectory(prefix="ascend-cy-bench-") as scratch:
        try:
            module = importlib.import_module(f"ascend_cy.bench.{name}")
            if part == "run" and hasattr(module, "environment"):
                os.environ.update(module.environment(scratch))
            table = getattr(module, part)(quick, threads)
            found = {"table": table.as_json()}
        except Missing as reason:
            found = {"skipped": str(reason)}
        except Exception as error:
            traceback.print_exc()
            found = {"failed": f"{type(error).__name__}: {error}"}
    Path(answer).write_text(json.dumps(found), encoding="utf-8")
