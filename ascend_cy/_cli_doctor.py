# SPDX-License-Identifier: Apache-2.0
"""``ascend-cy doctor``: what this machine has for ascend_cy, what is wrong with it, and what to do."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any

from ascend_cy import _cli_doctor_facts as look
from ascend_cy._cli_common import add_device_argument, choose_device, no_device, size_text
from ascend_cy._cli_info import named_once, operators_of

FLOOR = "8.1.RC1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.description = (
        "Look at everything that decides whether ascend_cy works here, and say what to do about what is wrong. "
        "Without --smoke no device context is made. The exit code is 1 where something that was asked for cannot work."
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--smoke", action="store_true", help="run an operator on the device and check its values")
    add_device_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found, and the advice; 1 if there is an error among it."""
    choose_device(arguments.device)
    facts = gather(arguments.device[1] if arguments.device else 0, smoke=arguments.smoke)
    if arguments.json:
        print(json.dumps(facts, indent=2))
    else:
        for name, text in lines_of(facts):
            print(f"{name:<12} {text}".rstrip())
        for item in facts["advice"]:
            print(f"\n{item['level']}: {item['problem']}\n    {item['advice']}")
    return 1 if any(item["level"] == "error" for item in facts["advice"]) else 0


def gather(index: int, *, smoke: bool) -> dict[str, Any]:
    """All facts, as plain data for JSON."""
    facts: dict[str, Any] = {
        "package": look.package(),
        "environment": look.environment(os.environ),
        "cann": look.cann(os.environ),
        "driver": look.driver(),
        "device": {**look.device(), "number": index},
        "compilers": look.compilers(os.environ),
        "kernels": look.kernels(),
        "cache": look.cache(),
        "smoke": None,
    }
    usable = facts["device"]["kind"] != "none" and index < facts["device"]["device_count"]
    if smoke and usable:
        facts["smoke"] = look.smoke(index)
    facts["advice"] = [dict(zip(("level", "problem", "advice"), item, strict=True)) for item in advice(facts)]
    return facts


# ---- what it means ----

Advice = tuple[str, str, str]


def advice(facts: dict[str, Any]) -> Iterator[Advice]:
    """(level, problem, what to do) for each known trouble: an ``error`` stops what was asked for, a ``warning`` some of it."""
    package = facts["package"]
    if package["missing_files"]:
        yield (
            "error",
            f"files of the package are missing: {', '.join(package['missing_files'])}",
            "The installation is damaged: pip install --force-reinstall --no-deps ascend-cy",
        )
    yield from about_device(facts)
    yield from about_npu(facts)
    yield from about_functions(facts["device"])
    compiler = facts["compilers"]["CXX"]
    if compiler["version"] is None:
        trouble = "does not run" if compiler["path"] else "is not there"
        yield (
            "warning",
            f"no C++ compiler: {compiler['command']} {trouble}",
            "Only ascend_cy.compile for sim and cpu needs one: install g++ or clang, or name one with CXX",
        )
    if facts["cache"]["problem"]:
        yield (
            "warning",
            f"kernels compiled here cannot be kept: {facts['cache']['problem']}",
            "Make it yours alone (chmod go-w), or set ASCEND_CY_CACHE_DIR to a folder of your own",
        )
    if facts["smoke"] and facts["smoke"]["problem"]:
        yield (
            "error",
            f"the smoke run failed on device {facts['smoke']['device']}: {facts['smoke']['problem']}",
            "Try --device cpu: where that passes, the device or its driver is at fault, else this installation",
        )


def about_device(facts: dict[str, Any]) -> Iterator[Advice]:
    """There is none, or not the one asked for."""
    device = facts["device"]
    requested = device["requested"]
    if requested not in ("auto", "npu", "cpu", "sim"):
        yield ("error", device["reason"], "Unset ASCEND_CY_DEVICE, or set it to one of these")
    elif device["kind"] == "none" or device["device_count"] == 0:
        hint = "Unset ASCEND_CY_DEVICE to run on the embedded CPU device meanwhile" if requested == "npu" else (
            "ASCENDCL_CPU_DEVICES says how many devices the embedded library has" if device["kind"] != "none"
            else "Install the package again"
        )
        yield ("error", no_device(device), hint)
    elif device["number"] >= device["device_count"]:
        yield (
            "error",
            f"there is no device {device['number']}: devices are 0 to {device['device_count'] - 1}",
            "Name another one with --device KIND:N",
        )


def about_npu(facts: dict[str, Any]) -> Iterator[Advice]:
    """NPUs that are there and not used: an error where they were asked for, else a warning."""
    device, driver, roots, variables = facts["device"], facts["driver"], facts["cann"], facts["environment"]
    cards = [path for path in driver["device_files"] if path.rsplit("davinci", 1)[-1].isdigit()]
    level = "error" if device["requested"] == "npu" else "warning"
    if device["kind"] == "npu":
        targets = {*facts["kernels"]["package"], *facts["kernels"]["cache"]} - {"cpu", "sim"}
        if not targets:
            yield (
                level,
                "no kernels for NPUs: this package was built without CANN, and none were compiled on this machine",
                "ascend-cy build-kernels, with CANN's set_env.sh sourced",
            )
        return
    if device["requested"] in ("cpu", "sim"):
        return
    tried = " ".join(device["tried"])
    if driver["not_accessible"]:
        yield (
            level,
            f"this user may not open {', '.join(driver['not_accessible'])}",
            "Add the user to the group of these files (HwHiAiUser), and log in again",
        )
    if roots and not any(variables.get(name) for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")):
        yield (
            level,
            f"CANN is in {roots[0]['folder']}, but its environment is not set",
            f"source {roots[0]['folder']}/set_env.sh (older releases: ../set_env.sh) in the shell that starts Python",
        )
    elif cards and not roots:
        yield (
            level,
            f"there are NPUs ({', '.join(cards)}), but no CANN",
            f"Install CANN {FLOOR} or later, and source its set_env.sh",
        )
    if "link-time stub" in tried:
        yield (
            level,
            "the library that was found is the link-time stub",
            "Take CANN's devlib folder out of LD_LIBRARY_PATH; lib64 and the driver's lib64 belong there",
        )
    if "GLIBCXX" in tried or "CXXABI" in tried:
        yield (
            level,
            "CANN's library needs a newer libstdc++ than the one this Python has loaded",
            "In conda: conda install 'libstdcxx-ng>=12'; elsewhere let LD_LIBRARY_PATH find the system's libstdc++ first",
        )
    if "libascend_hal" in tried or (roots and roots[0]["library"] and not driver["folder"] and not cards):
        yield (
            level,
            "CANN is here, but no driver",
            "Install the driver and firmware on the host; in a container, start it with the Ascend runtime or pass "
            "/dev/davinci*, " + ", ".join(f"/dev/{name}" for name in look.SHARED_NODES) + " and the driver's folder",
        )
    if "it reports no device" in tried or "aclrtGetDeviceCount returned" in tried:
        limited = {name: variables[name] for name in ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES") if name in variables}
        yield (
            level,
            "CANN's library was loaded, and finds no device"
            + "".join(f"; {name} is {value!r}" for name, value in limited.items()),
            "Check that npu-smi info lists the cards and none is taken by another container"
            + (f", and what {' and '.join(limited)} leaves visible" if limited else ""),
        )


def about_functions(device: dict[str, Any]) -> Iterator[Advice]:
    """CANN older than the oldest release that is supported. (What the embedded device lacks is in docs/device.md.)"""
    missing = device["missing_functions"]
    if device["kind"] == "npu" and missing.get(FLOOR):
        yield (
            "warning",
            f"{device['library']} lacks functions of CANN {FLOOR}: {', '.join(missing[FLOOR])}",
            f"Install CANN {FLOOR} or later",
        )


# ---- for people ----


def lines_of(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts: a name and a text each line."""
    package, driver, device = facts["package"], facts["driver"], facts["device"]
    lines = [
        ("package", f"ascend_cy {package['version']} in {package['folder']} ({package['build']})"),
        ("python", f"{package['python']}, NumPy {package['numpy']}; {package['system']}"),
    ]
    lines += named_once("environment", [f"{name}={value}" for name, value in facts["environment"].items()] or ["nothing set"])
    lines += named_once(
        "CANN",
        [
            f"{root['version'] or 'version unknown'} in {root['folder']}; compiler: {root['compiler'] or 'none'}"
            for root in facts["cann"]
        ]
        or ["none found"],
    )
    lines.append(("driver", f"{driver['version'] or 'version unknown'} in {driver['folder']}" if driver["folder"] else "none found"))
    lines.append(("device files", ", ".join(driver["device_files"]) or "none"))
    if device["kind"] == "none":
        lines.append(("device", f"none: {device['reason']}"))
    else:
        version = f", runtime {device['runtime_version']}" if device["runtime_version"] else ""
        lines.append(("device", f"{device['kind']}, {device['device_count']} visible: {device['reason']}"))
        lines.append(("library", device["library"] + version))
        missing = [
            f"{len(names)} of CANN {release}: {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"
            for release, names in device["missing_functions"].items()
        ]
        lines += named_once("missing", missing or ["no function"])
    lines += named_once("tried", device["tried"])
    for variable, compiler in facts["compilers"].items():
        lines.append((variable, f"{compiler['path'] or compiler['command']}: {compiler['version'] or 'not usable'}"))
    for place, targets in facts["kernels"].items():
        texts = [f"{target}: {operators_of(files)} ({place})" for target, files in targets.items()]
        lines += named_once("kernels" if place == "package" else "", texts)
    cache = facts["cache"]
    lines.append(("cache", f"{cache['folder']}: {cache['entries']} kernels, {size_text(cache['bytes'])}"))
    if facts["smoke"]:
        smoke = facts["smoke"]
        result = smoke["problem"] or f"layernorm within {smoke['error']:.1e} of float64"
        lines.append(("smoke run", f"device {smoke['device']} ({smoke['soc']}): {result}"))
    return lines
