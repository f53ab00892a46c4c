"""The copy limit: the quickest way to move the same bytes on the same threads."""

from __future__ import annotations

import ctypes
import time
from functools import partial

import numpy as np
import numpy.typing as npt

from ascend_cy.bench import _native
from ascend_cy.bench._measure import Case, fastest

_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The compiled measuring sticks; `Missing` where there is no compiler."""
    global _library
    if _library is None:
        _library = _native.limits()
    return _library


def copy_case(target: npt.NDArray[np.generic], source: npt.NDArray[np.generic], threads: int) -> Case:
    """The best streaming or plain copy from `source` to `target` on up to so many threads."""
    try:
        sticks = library()
    except _native.Missing:
        return Case("copy", lambda calls: timed_copyto(target, source, calls))
    to, origin, nbytes = target.ctypes.data, source.ctypes.data, source.nbytes
    cases = []
    for count in {1, threads}:
        for kind in range(sticks.bench_copy_kinds()):
            if sticks.bench_copy(to, origin, nbytes, kind, count, 1) >= 0:
                cases.append(Case("copy", partial(sticks.bench_copy, to, origin, nbytes, kind, count)))
    return fastest(cases)


def timed_copyto(target: npt.NDArray[np.generic], source: npt.NDArray[np.generic], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        np.copyto(target, source)
    return time.perf_counter() - start


def touched(*shape: int, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[np.generic]:
    """A new array as users get them from NumPy, its pages in place."""
    array = np.empty(shape, dtype)
    array.view(np.uint8).fill(0)
    return array
