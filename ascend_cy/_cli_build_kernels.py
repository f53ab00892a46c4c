# SPDX-License-Identifier: Apache-2.0
"""``ascend-cy build-kernels``: compiles the shipped Ascend C sources for this machine's NPUs."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from ascend_cy import _npu_build
from ascend_cy._cli_common import CliError, one_line
from ascend_cy._paths import PACKAGE


def sources() -> dict[str, Path]:
    """Operator -> its Ascend C source in the package."""
    found = sorted((PACKAGE / "kernels" / "src").glob("*/*.cpp"))
    return {path.stem: path for path in found if path.stem == path.parent.name}


def cache_folder() -> Path | None:
    """Where the library looks for kernels that were compiled on this machine."""
    if root := os.environ.get("ASCEND_CY_CACHE_DIR"):
        return Path(root) / "kernels"
    if root := os.environ.get("XDG_CACHE_HOME"):
        return Path(root) / "ascend_cy" / "kernels"
    if root := os.environ.get("HOME"):
        return Path(root) / ".cache" / "ascend_cy" / "kernels"
    return None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Compile the shipped Ascend C sources with the compiler of a CANN installation, into the cache where the "
        "library looks for them. Not needed where the installed package was built with CANN."
    )
    parser.add_argument(
        "--soc", action="append", choices=sorted(_npu_build.FAMILIES),
        help="family to compile for; may be given several times (default: ascend910b)",
    )
    parser.add_argument("--op", action="append", help="operator to compile; may be given several times (default: all)")
    parser.add_argument("--cann", metavar="FOLDER", help="CANN's folder (default: where its environment says)")
    parser.add_argument("--output", metavar="FOLDER", help="folder to write to (default: the user's cache)")
    parser.add_argument("--dry-run", action="store_true", help="print the commands instead of running them")


def run(arguments: argparse.Namespace) -> int:
    """Compile; one line a binary."""
    known = sources()
    wanted = arguments.op or list(known)
    unknown = [op for op in wanted if op not in known]
    if unknown:
        raise CliError(f"no source for {', '.join(unknown)}; there is {', '.join(known) or 'none'}")
    folder = Path(arguments.output) if arguments.output else cache_folder()
    if folder is None:
        raise CliError("no folder to write to: give --output, or set ASCEND_CY_CACHE_DIR or HOME")
    try:
        toolchain = _npu_build.find_toolchain(arguments.cann)
        for family in dict.fromkeys(arguments.soc or ["ascend910b"]):
            for op in wanted:
                output = folder / family / f"{op}.o"
                if arguments.dry_run:
                    for line in _npu_build.commands(toolchain, known[op], output, family):
                        print(shlex.join(line))
                    continue
                _npu_build.build(toolchain, known[op], output, family)
                print(output)
    except _npu_build.CannError as error:
        raise CliError(one_line(str(error))) from error
    except OSError as error:
        raise CliError(f"{error.filename or folder}: {error.strerror}") from error
    return 0
