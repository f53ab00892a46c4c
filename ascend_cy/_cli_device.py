"""Questions that the commands put to the libraries in use: a device's own answers, and what is loaded."""

from __future__ import annotations

import contextlib
import ctypes
import logging
from collections.abc import Iterator
from pathlib import Path

import ascend_cy

ACL_HBM_MEM = 1
ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1


class DeviceLibrary:
    """The AscendCL library that ascend_cy uses.

    Parameters
    ----------
    path : str
        As `ascend_cy.device_info()` names it; the copy that is loaded already is taken.
    """

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)

    def soc_name(self) -> str | None:
        """Name of the chip, such as ``Ascend910B1``."""
        with contextlib.suppress(AttributeError):
            ask = self._library.aclrtGetSocName
            ask.restype = ctypes.c_char_p
            name = ask()
            return name.decode() if name else None
        return None

    def cores(self, device: int) -> int | None:
        """Vector cores of a device, each of which runs one block at a time."""
        value = ctypes.c_int64()
        with contextlib.suppress(AttributeError):
            if (
                self._library.aclGetDeviceCapability(
                    ctypes.c_uint32(device), ACL_DEVICE_INFO_VECTOR_CORE_NUM, ctypes.byref(value)
                )
                == 0
            ):
                return value.value
        return None

    def memory(self) -> tuple[int, int] | None:
        """Free and total bytes of the calling thread's device, which must have a context."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with contextlib.suppress(AttributeError):
            if self._library.aclrtGetMemInfo(ACL_HBM_MEM, ctypes.byref(free), ctypes.byref(total)) == 0:
                return free.value, total.value
        return None

    def workers(self) -> int | None:
        """Threads that run the blocks of kernels; None where the device is no embedded one."""
        with contextlib.suppress(AttributeError):
            ask = self._library.ascendcl_cpu_get_workers
            ask.restype = ctypes.c_uint32
            return int(ask())
        return None


class _Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


@contextlib.contextmanager
def launch_lines() -> Iterator[list[str]]:
    """Collect the lines that the embedded device logs about launches; none where the device is no embedded one."""
    handler = _Lines()
    logger = logging.getLogger("ascend_cy.device.launches")
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        with contextlib.ExitStack() as logged:
            with contextlib.suppress(ascend_cy.AclError):
                logged.enter_context(ascend_cy.log_to_logging("launches"))
            yield handler.found
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


def kernel_files() -> dict[str, list[Path]]:
    """Kernel binaries that came with the package, by target; folders without any are left out."""
    root = Path(ascend_cy.get_library_dir(), "kernels")
    found = {}
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        files = sorted(file for file in folder.iterdir() if file.is_file()) if folder.is_dir() else []
        if files:
            found[folder.name] = files
    return found


def loaded_files(name: str = "") -> list[Path]:
    """Files that are mapped into this process now; those whose name begins with `name`."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        rows = [line.rstrip("\n").split(maxsplit=5) for line in maps]
    paths = {Path(row[5]) for row in rows if len(row) == 6 and row[5].startswith("/")}
    return sorted(path for path in paths if path.name.startswith(name))


def loaded_kernels() -> list[Path]:
    """Kernel binaries that are mapped now; an NPU's are not, they are in the device's memory."""
    kernels = {file.resolve() for files in kernel_files().values() for file in files}
    return [path for path in loaded_files() if path.resolve() in kernels]
