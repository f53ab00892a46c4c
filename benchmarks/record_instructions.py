# SPDX-License-Identifier: Apache-2.0
"""Writes instructions.json from the JSON of ``ascend-cy bench instructions``: the counts of our own layers."""

import json
import sys
import sysconfig
from pathlib import Path

from ascend_cy import _build_info

LAYERS = ["ascend_cy Cython", "libascend_cy", "embedded device"]

report = json.loads(Path(sys.argv[1]).read_text())
(table,) = report["tables"]
record = {
    "toolchain": {
        "compiler": _build_info.compiler,
        "buildtype": _build_info.buildtype,
        "machine": _build_info.machine,
        "python": sysconfig.get_python_version(),
    },
    "layers": LAYERS,
    "counts": {row["label"]: sum(row["counts"][layer] for layer in LAYERS) for row in table["rows"]},
}
Path(__file__).with_name("instructions.json").write_text(json.dumps(record, indent=1) + "\n")
print(json.dumps(record["counts"], indent=1))
