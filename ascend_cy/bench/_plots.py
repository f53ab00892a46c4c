"""Plots of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_cy._cli_common import CliError


def require() -> None:
    """Say early that plots cannot be drawn."""
    try:
        import matplotlib
    except ImportError:
        raise CliError("--plot needs matplotlib: pip install matplotlib") from None
    matplotlib.use("Agg")


def draw(report: dict[str, Any], folder: Path) -> list[Path]:
    return []
