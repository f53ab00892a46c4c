# SPDX-License-Identifier: Apache-2.0
"""What the package's stub says of its functions."""

from __future__ import annotations

import ast
from pathlib import Path


def signatures(package: Path) -> dict[str, list[str]]:
    """Parameters of every function of the stub, self left out."""
    found: dict[str, list[str]] = {}

    def take(node: ast.FunctionDef, prefix: str) -> None:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *([arguments.vararg] if arguments.vararg else []),
                 *arguments.kwonlyargs, *([arguments.kwarg] if arguments.kwarg else [])]
        found[prefix + node.name] = [argument.arg for argument in every if argument.arg not in ("self", "cls")]

    for node in ast.parse((package / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            take(node, "")
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    take(item, node.name + ".")
    return found
