"""What the commands of the console script share: errors, the choice of a device, numbers for people."""

from __future__ import annotations

import argparse
import contextlib
import os
from contextlib import AbstractContextManager
from typing import Any

import ascend_cy

EXIT_ERROR = 2

KINDS = ("auto", "cpu", "sim", "npu")


class CliError(Exception):
    """What the user is told in one line instead of a traceback.

    Parameters
    ----------
    message : str
    exit_code : int, default 2
    """

    def __init__(self, message: str, exit_code: int = EXIT_ERROR) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def one_line(text: str) -> str:
    """`text` with every run of white space, line ends included, as one blank."""
    return " ".join(text.split())


def os_reason(error: OSError) -> str:
    """The system's words for an error, without Python's number and file name."""
    return error.strerror or str(error)


# ---- the device ----


def add_device_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--device``."""
    parser.add_argument(
        "--device",
        metavar="KIND[:N]",
        type=parse_device,
        help="where to run: auto, cpu, sim or npu, and which one of several; overrules ASCEND_CY_DEVICE",
    )


def parse_device(text: str) -> tuple[str, int]:
    """``npu:1`` as ``("npu", 1)``; without a number it is device 0."""
    kind, colon, number = text.partition(":")
    if kind not in KINDS or (colon and not (number.isascii() and number.isdigit())):
        raise argparse.ArgumentTypeError(
            f"must be one of {', '.join(KINDS)}, with :N for the N-th device of several, got {text!r}"
        )
    return kind, int(number or 0)


def choose_device(device: tuple[str, int] | None) -> None:
    """Let ``--device`` decide; to be called before the first use of a device."""
    if device is not None:
        os.environ["ASCEND_CY_DEVICE"] = device[0]


def require_device(device: tuple[str, int] | None) -> dict[str, Any]:
    """Choose and find the device.

    Returns
    -------
    dict
        `ascend_cy.device_info()`.

    Raises
    ------
    CliError
        If there is no such device.
    """
    choose_device(device)
    info = ascend_cy.device_info()
    if info["kind"] == "none" or info["device_count"] == 0:
        raise CliError(f"{no_device(info)}; 'ascend-cy info' with the same setting lists what was tried")
    if device is not None and device[1] >= info["device_count"]:
        raise CliError(
            f"--device {device[0]}:{device[1]}: there are {info['device_count']} devices, counted from 0"
        )
    return info


def no_device(info: dict[str, Any]) -> str:
    """Why there is no device, in one line."""
    if info["kind"] != "none":
        return f"{info['library']} reports no device"
    if info["requested"] == "npu":
        return (
            "no NPU can be used: source CANN's set_env.sh and check the driver with npu-smi, or take "
            "--device cpu"
        )
    reason = info["reason"].removesuffix("; tried:")
    return f"no device can be used: {reason}"


def on_device(device: tuple[str, int] | None) -> AbstractContextManager[object]:
    """A context in which work goes to the chosen device."""
    if device is None or device[1] == 0:
        return contextlib.nullcontext()
    return ascend_cy.Stream(device=device[1])


# ---- numbers for people ----


def size_text(nbytes: float) -> str:
    """``2147483648`` as ``2.0 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} B" if unit == "B" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} TiB"


def time_text(seconds: float) -> str:
    """``0.00123`` as ``1.23 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.0f} ns"
