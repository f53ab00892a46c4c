"""``ascend-cy info``: what device work runs on, and why."""

from __future__ import annotations

import argparse
import json
import platform
from typing import Any

import numpy as np

import ascend_cy
from ascend_cy import _build_info
from ascend_cy._cli_common import CliError, add_device_argument, choose_device, no_device, one_line, size_text
from ascend_cy._cli_device import DeviceLibrary, kernel_files
from ascend_cy.errors import AclError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Tell what device work runs on here, and why. The exit code is 1 where there is no device."
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_device_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what is known; 1 if no device can be used."""
    choose_device(arguments.device)
    facts = gather(arguments.device[1] if arguments.device else 0)
    if arguments.json:
        print(json.dumps(facts, indent=2))
    else:
        print("\n".join(f"{name:<9} {text}".rstrip() for name, text in lines_of(facts)))
    if facts["problem"]:
        raise CliError(facts["problem"], exit_code=1)
    return 0


def gather(index: int) -> dict[str, Any]:
    """Everything the command tells, as plain data for JSON."""
    device = ascend_cy.device_info()
    facts: dict[str, Any] = {
        "version": ascend_cy.__version__,
        "build": {
            "type": _build_info.buildtype,
            "compiler": _build_info.compiler,
            "machine": _build_info.machine,
        },
        "python": platform.python_version(),
        "numpy": np.__version__,
        "folder": ascend_cy.get_library_dir(),
        "device": {**device, "number": index, "soc": None, "cores": None, "threads": None, "memory": None},
        "kernels": {target: [file.name for file in files] for target, files in kernel_files().items()},
        "problem": None,
    }
    if device["kind"] == "none" or device["device_count"] == 0:
        facts["problem"] = no_device(device)
    elif index >= device["device_count"]:
        facts["problem"] = f"there is no device {index}, only {device['device_count']}, counted from 0"
    else:
        try:
            ask_device(facts["device"], index)
        except (AclError, OSError) as error:
            facts["problem"] = one_line(str(error))
    return facts


def ask_device(device: dict[str, Any], index: int) -> None:
    """Add what only the device knows; this makes a context on it."""
    library = DeviceLibrary(device["library"])
    with ascend_cy.Stream(device=index):
        memory = library.memory()
        device.update(
            soc=library.soc_name(),
            cores=library.cores(index),
            threads=library.workers(),
            memory=memory and {"free": memory[0], "total": memory[1]},
        )


def lines_of(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts for people: a name and a text each line."""
    build, device = facts["build"], facts["device"]
    lines = [
        (
            "version",
            f"ascend_cy {facts['version']} ({build['type']}, {build['compiler']}, {build['machine']}), "
            f"Python {facts['python']}, NumPy {facts['numpy']}",
        ),
        ("folder", facts["folder"]),
    ]
    if facts["problem"]:
        lines.append(("device", "none"))
    else:
        lines += [("device", f"{device['kind']}: {device['reason']}"), ("library", device["library"])]
        lines += [("devices", str(device["device_count"])), *own_lines(device)]
    kernels = [f"{target}: {operators_of(names)}" for target, names in facts["kernels"].items()]
    return lines + named_once("kernels", kernels or ["none found"]) + named_once("tried", device["tried"])


def operators_of(files: list[str]) -> str:
    """``layernorm.x86-64-v1.so, layernorm.x86-64-v3.so`` as ``layernorm (x86-64-v1, x86-64-v3)``."""
    levels: dict[str, list[str]] = {}
    for file in files:
        operator, _, level = file.rsplit(".", 1)[0].partition(".")
        levels.setdefault(operator, []).extend([level] if level else [])
    return ", ".join(f"{name} ({', '.join(own)})" if own else name for name, own in levels.items())


def named_once(name: str, texts: list[str]) -> list[tuple[str, str]]:
    """Lines that belong together: the first has the name."""
    return [(name if place == 0 else "", text) for place, text in enumerate(texts)]


def own_lines(device: dict[str, Any]) -> list[tuple[str, str]]:
    """What the device told of itself."""
    lines = [("chip", f"{device['soc'] or 'unknown'}, {device['cores'] or 'unknown'} vector cores")]
    if device["memory"]:
        memory = device["memory"]
        lines.append(("memory", f"{size_text(memory['free'])} free of {size_text(memory['total'])}"))
    if device["threads"] is not None:
        lines.append(("threads", f"{device['threads']} run the blocks of kernels"))
    return lines
