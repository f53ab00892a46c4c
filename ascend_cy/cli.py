"""The console script ``ascend-cy``: the table of commands, and how errors and signals become exit codes.

A command is one line in `COMMANDS` and one module that has ``add_arguments(parser)`` and ``run(arguments)``.
The module is imported only when its command is asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

from ascend_cy import __version__
from ascend_cy._cli_common import EXIT_ERROR, CliError, one_line
from ascend_cy.errors import AclError, DeviceMemoryError

__all__ = ["main"]

PROGRAM = "ascend-cy"


class Command(NamedTuple):
    """One command: its name, the line that ``ascend-cy --help`` shows, and its module."""

    name: str
    summary: str
    module: str


COMMANDS = (
    Command(
        "demo",
        "run LayerNorm on a small real data set through every layer, checked and timed",
        "ascend_cy._cli_demo",
    ),
    Command("layernorm", "normalize the last axis of a .npy file of any size", "ascend_cy._cli_layernorm"),
    Command("info", "what device work runs on here, and why", "ascend_cy._cli_info"),
    Command("doctor", "what works here, what does not, and what to do about it", "ascend_cy._cli_doctor"),
    Command("config", "where the C headers and the libraries are", "ascend_cy._cli_config"),
    Command(
        "build-kernels",
        "compile the shipped Ascend C sources for this machine's NPUs",
        "ascend_cy._cli_build_kernels",
    ),
    Command("new-kernel", "write a small project to start a kernel from", "ascend_cy._cli_new_kernel"),
    Command("cache", "list or remove the kernels that were compiled on this machine", "ascend_cy._cli_cache"),
    Command("bench", "what work costs here, beside other libraries and the machine's limits", "ascend_cy.bench"),
)


class Terminated(BaseException):
    """A signal asked the process to end; raised in the main thread so that everything open is cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_ERROR, f"{self.prog}: error: {one_line(message)} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words of the command line after the program's name; those of this process by default.

    Returns
    -------
    int
        0: done; 1: the answer is no (no device, a result out of tolerance); 2: bad usage, input or output, or
        a device that fails; 130 after Ctrl-C; 128 + the signal's number after SIGTERM or SIGHUP.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if getattr(sys.stdout, "errors", "") == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a file's name may be any bytes
    keep_standard_numbers()
    try:
        with signals_as_exceptions():
            code = run_command(words)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
    except CliError as error:
        complain(str(error))
        return error.exit_code
    except DeviceMemoryError as error:
        complain(f"the device has not enough memory: {error}")
    except AclError as error:
        complain(str(error))
    except MemoryError as error:
        complain(f"not enough memory: {error}")
    except BrokenPipeError:
        forget_output()  # whoever read it has gone
        return 128 + signal.SIGPIPE
    except OSError as error:
        complain(str(error))
        forget_output()
    except KeyboardInterrupt:
        complain("interrupted")
        return 128 + signal.SIGINT
    except Terminated as stop:
        complain(f"ended by {signal.Signals(stop.number).name}")
        return 128 + stop.number
    return EXIT_ERROR


def run_command(words: list[str]) -> int:
    """Parse the command line and run what it names."""
    chosen = next((word for word in words if not word.startswith("-")), None)
    parser = Parser(
        prog=PROGRAM,
        description="Huawei Ascend NPUs from Python, with an embedded CPU device.",
        epilog=f"'{PROGRAM} COMMAND --help' tells more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        part = commands.add_parser(command.name, help=command.summary, description=command.summary + ".")
        if command.name == chosen:
            module = importlib.import_module(command.module)
            module.add_arguments(part)
            part.set_defaults(run=module.run)
    parsed = parser.parse_args(words)
    return int(parsed.run(parsed))


def complain(message: str) -> None:
    """One line on stderr; a closed stderr is no reason to fail differently."""
    with contextlib.suppress(OSError, ValueError):
        print(f"{PROGRAM}: error: {one_line(message)}", file=sys.stderr, flush=True)


def keep_standard_numbers() -> None:
    """Give closed standard streams a place, lest a file takes their number and gets what libraries print."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one


def forget_output() -> None:
    """Drop what could not be written: Python would fail once more when it flushes at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into `Terminated`, as Python turns SIGINT into KeyboardInterrupt.

    What the process was told to ignore (``nohup``) stays ignored.
    """

    def stop(number: int, frame: object) -> None:
        raise Terminated(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
