"""``ascend-cy cache``: what compiled kernels take, and how to be rid of them."""

from __future__ import annotations

import argparse
import time

from ascend_cy import _cache
from ascend_cy._cli_common import CliError, os_reason, size_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "List the kernels that ascend_cy.compile keeps (in ASCEND_CY_CACHE_DIR, else below ~/.cache), or remove them. "
        "Modules that are loaded go on; the next compile of a removed one takes its time again."
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--clear", action="store_true", help="remove everything")
    what.add_argument("--dir", action="store_true", help="only print the folder")


def run(arguments: argparse.Namespace) -> int:
    """List, or remove."""
    try:
        folder = _cache.cache_folder()
        if arguments.dir:
            print(folder)
        elif arguments.clear:
            count = _cache.clear()
            print(f"{count} compiled kernel file{'' if count == 1 else 's'} removed from {folder}")
        else:
            show(folder)
    except RuntimeError as error:
        raise CliError(str(error)) from error
    except OSError as error:
        raise CliError(f"{error.filename or _cache.cache_folder()}: {os_reason(error)}") from error
    return 0


def show(folder: object) -> None:
    """A line an entry, newest first."""
    entries = _cache.entries()
    for entry in entries:
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        options = " ".join(entry.facts.get("options", []))
        print(f"{made}  {entry.facts['target']:<10}  {size_text(entry.nbytes):>10}  {entry.facts['source']} {options}".rstrip())
    total = sum(entry.nbytes for entry in entries)
    print(f"{len(entries)} file{'' if len(entries) == 1 else 's'}, {size_text(total)} in {folder}")
