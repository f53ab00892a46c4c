"""Exceptions and warnings of ascend_cy."""

from __future__ import annotations

__all__ = [
    "AclError",
    "AscendCyResourceWarning",
    "CompileError",
    "DeviceMemoryError",
    "DeviceNotFoundError",
    "KernelError",
    "KernelNotFoundError",
    "MemoryHazardError",
]


class AclError(RuntimeError):
    """An AscendCL call failed.

    Parameters
    ----------
    code : int
        The numeric ``aclError``.
    name : str
        Its symbolic name, such as ``ACL_ERROR_RT_PARAM_INVALID``; empty where the code has none.
    function : str
        The function that failed; empty where it is not known.
    detail : str
        The device library's own message and, for known causes, what to do.

    Attributes
    ----------
    code, name, function, detail
        As above.
    """

    def __init__(self, code: int, name: str = "", function: str = "", detail: str = "") -> None:
        self.code = code
        self.name = name
        self.function = function
        self.detail = detail
        what = f"{function} failed: " if function else ""
        label = f"{name} ({code})" if name else f"error {code}"
        super().__init__(f"{what}{label}" + (f": {detail}" if detail else ""))

    def __reduce__(self):
        # Exceptions cross process borders (multiprocessing, Ray) by pickle.
        return (type(self), (self.code, self.name, self.function, self.detail))


class DeviceMemoryError(AclError, MemoryError):
    """Device memory is used up, after cached memory was given back and pending work was waited for."""


class DeviceNotFoundError(AclError):
    """No usable device library or no device; the message lists what was tried."""


class KernelError(AclError):
    """A kernel failed on the device (AI Core or vector core exception, time-out, a rule broken under `sim`)."""


class KernelNotFoundError(AclError, NotImplementedError):
    """The operator has no kernel for the device in use; the message says where one was looked for."""


class MemoryHazardError(AclError):
    """Work uses memory of a pool after it was freed, or without being ordered behind what it must follow.

    Only in hazard mode (``ASCEND_CY_POOL_HAZARD``). The work was not enqueued.
    """


class CompileError(RuntimeError):
    """A kernel does not compile, or there is no compiler.

    Parameters
    ----------
    message : str
        What failed, with the compiler's words.
    log : str
        The compiler's words alone.
    command : list of str, optional
        The command that failed.

    Attributes
    ----------
    log, command
        As above.
    """

    def __init__(self, message: str, log: str = "", command: list[str] | None = None) -> None:
        super().__init__(message)
        self.log = log
        self.command = command or []

    def __reduce__(self):
        return (type(self), (self.args[0], self.log, self.command))


class AscendCyResourceWarning(ResourceWarning):
    """Something went wrong while a resource was released; destructors warn and never raise."""
