"""Huawei Ascend NPUs that feel native in Python: arrays, streams, and Ascend C operators.

Nothing is initialised at import; the first use of a device does it. ``ASCEND_CY_DEVICE`` (auto, npu, cpu, sim) chooses
where work runs.
"""

from __future__ import annotations

import os as _os

try:
    from ascend_cy._build_info import version as __version__
except ModuleNotFoundError:  # the build writes it
    raise ImportError(
        f"{_os.path.dirname(_os.path.abspath(__file__))} is the package's sources, not an installed package: run "
        "`pip install .` in the folder above it, and start Python in another folder (or with PYTHONSAFEPATH=1)"
    ) from None
from ascend_cy._compile import compile  # noqa: A004
from ascend_cy._core import (
    Device,
    DeviceArray,
    Event,
    MemoryPool,
    Stream,
    asarray,
    current_pool,
    current_stream,
    default_pool,
    default_stream,
    device_count,
    device_info,
    empty,
    empty_like,
    empty_many,
    empty_pinned,
    from_dlpack,
    from_pointer,
    full,
    has,
    is_initialized,
    live_objects,
    memory_hazards,
    memory_stats,
    ones,
    reset_peak_memory,
    set_memory_limit,
    synchronize,
    synchronize_all,
    trim_memory,
    zeros,
)
from ascend_cy._futures import StreamFuture
from ascend_cy._logging import log_to_logging
from ascend_cy._module import Kernel, Module, load, modules
from ascend_cy._ops import layernorm, layernorm_backward, matmul, vector_add
from ascend_cy._paths import PACKAGE as _PACKAGE
from ascend_cy._pipeline import Pipeline
from ascend_cy.errors import (
    AclError,
    AscendCyResourceWarning,
    CompileError,
    DeviceMemoryError,
    DeviceNotFoundError,
    KernelError,
    KernelNotFoundError,
    MemoryHazardError,
)

__all__ = [
    "AclError",
    "AscendCyResourceWarning",
    "CompileError",
    "Device",
    "DeviceArray",
    "DeviceMemoryError",
    "DeviceNotFoundError",
    "Event",
    "Kernel",
    "KernelError",
    "KernelNotFoundError",
    "MemoryHazardError",
    "MemoryPool",
    "Module",
    "Pipeline",
    "Stream",
    "StreamFuture",
    "__version__",
    "asarray",
    "compile",
    "current_pool",
    "current_stream",
    "default_pool",
    "default_stream",
    "device_count",
    "device_info",
    "empty",
    "empty_like",
    "empty_many",
    "empty_pinned",
    "from_dlpack",
    "from_pointer",
    "full",
    "get_include",
    "get_library_dir",
    "has",
    "is_initialized",
    "layernorm",
    "layernorm_backward",
    "live_objects",
    "load",
    "log_to_logging",
    "matmul",
    "memory_hazards",
    "memory_stats",
    "modules",
    "ones",
    "reset_peak_memory",
    "set_memory_limit",
    "synchronize",
    "synchronize_all",
    "trim_memory",
    "vector_add",
    "zeros",
]


def get_include() -> str:
    """Folder to put on a C or C++ include path; the headers are in ``ascend_cy/`` below it."""
    return str(_PACKAGE / "include")


def get_library_dir() -> str:
    """Folder that holds ``libascend_cy.so`` and ``libascendcl_cpu.so``."""
    return str(_PACKAGE)
