"""``ascend-cy config``: what a build that uses the C headers needs to know."""

from __future__ import annotations

import argparse
import shlex

from ascend_cy import get_include, get_library_dir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Print where the C headers and the libraries are. What cimports ascend_cy needs neither: "
        "they are for C and C++."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--include-dir", action="store_true", help="the folder above ascend_cy/acl.h")
    what.add_argument("--cflags", action="store_true", help="the same as an argument for a compiler")
    what.add_argument(
        "--lib-dir", action="store_true", help="the folder of libascend_cy.so and libascendcl_cpu.so"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what was asked for."""
    if arguments.include_dir:
        print(get_include())
    elif arguments.cflags:
        print(shlex.quote("-I" + get_include()))
    else:
        print(get_library_dir())
    return 0
