# SPDX-License-Identifier: Apache-2.0
"""Fetches CANN's AscendCL headers for comparison.

They come out of the PyPI wheel of torch-npu, which carries them: a wheel is a zip, so it is neither installed
nor imported. The headers have a licence of their own; they stay in the user's cache and out of this project.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "2.14.0"
INSIDE = "torch_npu/include/third_party/acl/inc/"
WHEEL_VARIABLE = "ASCEND_CY_TORCH_NPU_WHEEL"


class HeadersUnavailable(Exception):
    """There is no wheel to take them from."""


def vendor_include_dir() -> Path:
    """The folder to give to -I. Downloads the wheel once."""
    given = os.environ.get(WHEEL_VARIABLE)
    if given:
        wheel = Path(given)
        if not wheel.is_file():
            raise HeadersUnavailable(f"{WHEEL_VARIABLE} names {given}, which is no file")
        stat = wheel.stat()
        folder = cache_dir() / f"acl-{wheel.stem}-{stat.st_size}-{stat.st_mtime_ns}"
        return folder if complete(folder) else unpack(wheel, folder)
    folder = cache_dir() / f"acl-torch-npu-{VERSION}"
    if complete(folder):
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        return unpack(download(Path(scratch)), folder)


def cache_dir() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "ascend-cy-tests"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"ascend-cy-tests-{os.getuid()}"
        folder.mkdir(exist_ok=True)
    return folder


def complete(folder: Path) -> bool:
    return (folder / "acl/acl_rt.h").is_file()


def download(folder: Path) -> Path:
    # Any one platform's wheel will do, whatever this machine is: only headers are wanted.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version=3.11", "--implementation=cp", "--abi=cp311"]
    command += ["--platform=manylinux_2_28_x86_64", "--dest", str(folder), f"torch-npu=={VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        raise HeadersUnavailable(f"downloading torch-npu {VERSION} took too long") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise HeadersUnavailable(f"torch-npu {VERSION} could not be downloaded: {last}")
    return wheels[0]


def unpack(wheel: Path, folder: Path) -> Path:
    """Unzip the headers; by way of a rename, so that an interrupted run leaves no half of them."""
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(INSIDE + "acl/") and name.endswith(".h"):
                    target = scratch / "headers" / name[len(INSIDE) :]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
        if not complete(scratch / "headers"):
            raise HeadersUnavailable(f"{wheel.name} holds no AscendCL headers")
        try:
            os.rename(scratch / "headers", folder)
        except OSError:
            if not complete(folder):  # else another test run was faster
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder
