# SPDX-License-Identifier: Apache-2.0
"""Other processes: run outside the checkout, with warnings as errors, and held to their exit code and stderr."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

HELPERS = Path(__file__).resolve().parent

# How much slower than usual programs run here, say under a sanitizer (tools/sanitizers.sh).
PATIENCE = float(os.environ.get("ASCEND_CY_TEST_PATIENCE", "1"))
# A bound that tells a hang from slowness on a busy machine, and says nothing about speed.
HANG = 60 * PATIENCE


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    # The package under test, where it is not the installed one (tools/sanitizers.sh).
    site = os.environ.get("ASCEND_CY_TEST_SITE")
    env["PYTHONPATH"] = os.pathsep.join([str(HELPERS), *([site] if site else [])])
    env.update(extra or {})
    return env


def start(code: str, cwd: Path, *, env=None, args=(), warnings="error", **kwargs) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-W", warnings, "-c", textwrap.dedent(code), *map(str, args)],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **kwargs,
    )


def finish(process: subprocess.Popen, timeout: float = HANG) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; a process that hangs is ended with all its children and fails the test."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # Its own session: nothing but the process and its children. SIGABRT lets faulthandler print every thread.
        os.killpg(process.pid, signal.SIGABRT)
        try:
            out, err = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        raise AssertionError(f"the process hung for {timeout} s\nstdout:\n{out}\nstderr:\n{err}") from None
    return process.returncode, out, err


def run(code: str, cwd: Path, *, env=None, args=(), timeout: float = HANG, **kwargs) -> tuple[int, str, str]:
    return finish(start(code, cwd, env=env, args=args, **kwargs), timeout)


def package_without(folder: Path, *files: str) -> str:
    """A copy of the installed package in `folder` that lacks `files`: PYTHONPATH for a child."""
    import ascend_cy

    package = folder / "without" / "ascend_cy"
    shutil.copytree(Path(ascend_cy.__file__).parent, package)
    for file in files:
        (package / file).unlink()
    return str(package.parent)


def check(code: str, cwd: Path, *, env=None, args=(), timeout: float = HANG, **kwargs) -> str:
    """Run `code`; it must end with exit code 0 and nothing on stderr. Gives what it printed."""
    status, out, err = run(code, cwd, env=env, args=args, timeout=timeout, **kwargs)
    assert (status, err) == (0, ""), f"exit code {status}\nstdout:\n{out}\nstderr:\n{err}"
    return out
