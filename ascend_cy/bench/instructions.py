"""Machine instructions of the hot paths, counted by valgrind's callgrind: the same in every run of the same build.

What a path costs is told by layer, from Python's interpreter down to the kernel, which is an empty one here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ascend_cy.bench import _native
from ascend_cy.bench._native import Missing
from ascend_cy.bench.call import environment

CALLS = 200

# Each is called through one Python function, whose cost ("nothing") is taken off.
PATHS = {
    "nothing": "None",
    "layernorm of 4 ndarrays, out=": "layernorm(x, g, b, out=y)",
    "layernorm of 4 DeviceArrays, out=": "layernorm(dx, dg, db, out=dy)",
    "layernorm of 4 DeviceArrays, synchronize": "(layernorm(dx, dg, db, out=dy), synchronize())",
    "vector_add of 3 DeviceArrays, out=": "vector_add(dx, dx, out=dy)",
    "empty((256, 1024)) and drop": "empty(shape)",
}

PROGRAM = """
import importlib.util
import numpy as np
import ascend_cy
spec = importlib.util.spec_from_file_location("peer_cpython", {peer!r})
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)
layernorm, vector_add, empty = ascend_cy.layernorm, getattr(ascend_cy, "vector_add", None), ascend_cy.empty
x, g, b, y = np.ones((1, 768), "f4"), np.ones(768, "f4"), np.zeros(768, "f4"), np.ones((1, 768), "f4")
dx, dg, db, dy = map(ascend_cy.asarray, (x, g, b, y))
synchronize = ascend_cy.current_stream().synchronize
shape = (256, 1024)
for function in ({functions}):
    for _ in range(50):
        function()
    peer.region(function, {calls})
"""

# Where a shared object belongs, by its path; the first that fits.
LAYERS = (
    (r"/libpython|/python3?[.\d]*$", "Python"),
    (r"/numpy/", "NumPy"),
    (r"/ascend_cy/_", "ascend_cy Cython"),
    (r"/libascend_cy\.so", "libascend_cy"),
    (r"/libascendcl_cpu\.so", "embedded device"),
    (r"empty_kernel", "kernel"),
    (r"peer_cpython", "Python"),
)


C_LIBRARY = "C library"


def layer_of(path: str) -> str:
    for pattern, layer in LAYERS:
        if re.search(pattern, path):
            return layer
    return C_LIBRARY


def costs_by_object(text: str) -> dict[str, int]:
    """Instructions by shared object, of one of callgrind's files."""
    names: dict[str, str] = {}
    costs: dict[str, int] = {}
    current = ""
    called = False
    for line in text.splitlines():
        found = re.match(r"ob=\((\d+)\)(?: (.*))?$", line)
        if found:
            if found.group(2):
                names[found.group(1)] = found.group(2)
            current = names[found.group(1)]
        elif re.match(r"c(ob|fi|fl)=", line):
            found = re.match(r"cob=\((\d+)\) (.*)$", line)
            if found:
                names[found.group(1)] = found.group(2)
        elif line.startswith("calls="):
            called = True  # the line behind it is the cost of what was called, counted there
        elif re.match(r"[+\-*\d]", line):
            if not called:
                costs[current] = costs.get(current, 0) + int(line.split()[1])
            called = False
    return costs


def count(paths: dict[str, str]) -> Iterator[tuple[str, dict[str, int]]]:
    """Instructions of one call of each path, by layer."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Missing("valgrind is not installed")
    peer = Path(_native.peer_cpython().__file__ or "")
    program = PROGRAM.format(
        peer=str(peer), calls=CALLS, functions=", ".join(f"lambda: {code}" for code in paths.values())
    )
    with tempfile.TemporaryDirectory(prefix="ascend-cy-bench-") as folder:
        out = Path(folder) / "callgrind.out"
        done = subprocess.run(
            [
                valgrind,
                "--tool=callgrind",
                f"--callgrind-out-file={out}",
                "--toggle-collect=bench_region",
                "--dump-after=bench_region",
                sys.executable,
                "-c",
                program,
            ],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if not line.startswith("==")]
            raise RuntimeError(f"valgrind ended with code {done.returncode}: {lines[-1] if lines else ''}")
        for number, path in enumerate(paths, 1):
            counts: dict[str, int] = {}
            for name, cost in costs_by_object(Path(f"{out}.{number}").read_text()).items():
                layer = layer_of(name)
                counts[layer] = counts.get(layer, 0) + cost
            yield path, {layer: round(cost / CALLS) for layer, cost in counts.items()}


class Counts:
    """A table of instructions; what `Table` is for times."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def as_json(self) -> dict[str, Any]:
        return {
            "name": "instructions",
            "kind": "counts",
            "title": "machine instructions of one call, by layer",
            "threads": 1,
            "notes": ["the kernel is an empty one; the loop around the calls is taken off"],
            "skipped": {},
            "rows": self.rows,
        }


def run(quick: bool, threads: int) -> Counts:
    import ascend_cy

    paths = {name: code for name, code in PATHS.items() if "vector_add" not in code or hasattr(ascend_cy, "vector_add")}
    counted = dict(count(paths))
    nothing = counted.pop("nothing")
    table = Counts()
    for name, counts in counted.items():
        layers = dict.fromkeys([*(layer for _, layer in LAYERS), C_LIBRARY])
        own = {layer: counts.get(layer, 0) - nothing.get(layer, 0) for layer in layers}
        table.rows.append({"label": name, "counts": own, "total": sum(own.values())})
    return table


__all__ = ["environment", "run"]
