"""Where the package's files lie."""

from __future__ import annotations

from pathlib import Path

from ascend_cy._build_info import __file__ as built_file

PACKAGE = Path(__file__).resolve().parent
if not (PACKAGE / "include").is_dir():
    # An editable install: the build has linked together what an installation has (tools/stage_package.py).
    PACKAGE = Path(built_file).resolve().parents[1] / "staged" / "ascend_cy"
