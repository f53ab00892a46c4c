# SPDX-License-Identifier: Apache-2.0
"""The console script as its users start it: another process, in a folder outside the checkout."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

# A bound that tells a hang from slowness on a busy machine.
HANG = 120

# Runs argv[1:] and prints its largest resident memory in KiB and its exit code. A process inherits the peak of
# the one that it was forked from, so that one must be small.
PEAK = """
import os, resource, sys
status = os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[1]
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, os.waitstatus_to_exitcode(status))
"""


def program() -> str:
    beside = Path(sys.executable).with_name("ascend-cy")
    found = str(beside) if beside.exists() else shutil.which("ascend-cy")
    assert found, "the console script ascend-cy is not installed"
    return found


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """This process's, without what would change the device or the width of messages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASCEND", "COLUMNS"))}
    return {**kept, "PYTHONWARNINGS": "error", **(extra or {})}


def start(*words: object, cwd: Path, env: dict[str, str] | None = None, **kwargs) -> subprocess.Popen:
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
    return subprocess.Popen(
        [program(), *map(str, words)],
        cwd=cwd,
        env=environment(env),
        text=True,
        errors="surrogateescape",
        start_new_session=True,
        **streams,
    )


def run(
    *words: object, cwd: Path, env: dict[str, str] | None = None, **kwargs
) -> subprocess.CompletedProcess:
    process = start(*words, cwd=cwd, env=env, **kwargs)
    return finish(process)


def finish(process: subprocess.Popen) -> subprocess.CompletedProcess:
    try:
        out, err = process.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"the program hung\nstdout:\n{out}\nstderr:\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def good(*words: object, cwd: Path, env: dict[str, str] | None = None, **kwargs) -> str:
    """Standard output of a run that must succeed without a word on stderr."""
    done = run(*words, cwd=cwd, env=env, **kwargs)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def refused(*words: object, cwd: Path, env: dict[str, str] | None = None, code: int = 2, **kwargs) -> str:
    """The one line on stderr of a run that must fail."""
    done = run(*words, cwd=cwd, env=env, **kwargs)
    assert done.returncode == code, done
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), done.stderr
    assert done.stderr.startswith("ascend-cy"), done.stderr
    return done.stderr


def peak_mib(*words: object, cwd: Path) -> float:
    """Largest resident memory of a run that must succeed."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", PEAK, program(), *map(str, words)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    assert done.stderr == ""
    kib, code = done.stdout.split()[-2:]
    assert code == "0", done
    return int(kib) / 1024


def wait_for(condition, what: str) -> None:
    end = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.01)
