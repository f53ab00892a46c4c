"""``ascend-cy new-kernel``: a small project to start a kernel from."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
import tempfile
from pathlib import Path

from ascend_cy._cli_common import CliError, os_reason

TAKEN = ("ascend_cy", "conftest", "numpy", "pytest")
TEMPLATES = Path(__file__).resolve().parent / "templates" / "kernel"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Write a small working project: an Ascend C kernel, the header of its tiling, and a test in Python that runs it "
        "under the simulator. Change the kernel, run pytest, and go on from there."
    )
    parser.add_argument("name", metavar="NAME", help="of the kernel and of the folder: lower case letters, digits and _")
    parser.add_argument("--dir", metavar="FOLDER", default=".", help="folder to write NAME/ into (default: the current one)")


def run(arguments: argparse.Namespace) -> int:
    """Write the project, whole or not at all."""
    name = arguments.name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise CliError(f"NAME must be lower case letters, digits and _, and begin with a letter; got {name!r}")
    if keyword.iskeyword(name) or name in sys.stdlib_module_names or name in TAKEN:
        raise CliError(f"NAME must not be a word of Python or a module that the project imports; got {name!r}")
    target = Path(arguments.dir) / name
    if target.exists():
        raise CliError(f"{target} is there already")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=arguments.dir) as folder:
            made = Path(folder) / name
            made.mkdir()
            for template in TEMPLATES.glob("*.template"):  # so that nothing takes them for modules of this package
                text = template.read_text().replace("scale_add", name).replace("ScaleAdd", class_name(name))
                (made / template.stem.replace("scale_add", name)).write_text(text)
            made.rename(target)
    except OSError as error:
        raise CliError(f"cannot write {target}: {os_reason(error)}") from error
    for path in sorted(target.rglob("*")):
        if path.is_file():
            print(path)
    print(f"\ncd {target} && pytest")
    return 0


def class_name(name: str) -> str:
    """``my_kernel`` as ``MyKernel``."""
    return "".join(part.capitalize() for part in name.split("_"))
