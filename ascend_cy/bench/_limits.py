"""The copy limit: the quickest way to move the same bytes on the same threads."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_cy.bench import _native
from ascend_cy.bench._measure import Case, fastest

Array = npt.NDArray[Any]

_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The compiled measuring sticks; `Missing` where there is no compiler."""
    global _library
    if _library is None:
        _library = _native.limits()
    return _library


def copy_case(target: Array, source: Array, threads: int) -> Case:
    """The best streaming or plain copy from `source` to `target` on up to so many threads."""
    try:
        sticks = library()
    except _native.Missing:
        return Case("copy", lambda calls: timed_copyto(target, source, calls))
    return best_of(sticks, "copy", partial(sticks.bench_copy, target.ctypes.data, source.ctypes.data, source.nbytes), threads)


def add_case(target: Array, a: Array, b: Array, threads: int) -> Case | None:
    """The best addition of float32 without anything around it; None where there is no compiler."""
    try:
        sticks = library()
    except _native.Missing:
        return None
    call = partial(sticks.bench_add, target.ctypes.data, a.ctypes.data, b.ctypes.data, a.nbytes)
    return best_of(sticks, "C loop", call, threads)


def best_of(sticks: ctypes.CDLL, name: str, call: Callable[..., float], threads: int) -> Case:
    """The quickest of the kinds that this CPU knows, on one thread or on all."""
    cases = [
        Case(name, partial(call, kind, count))
        for count in {1, threads}
        for kind in range(sticks.bench_kinds())
        if call(kind, count, 1) >= 0
    ]
    return fastest(cases)


def timed_copyto(target: Array, source: Array, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        np.copyto(target, source)
    return time.perf_counter() - start


def touched(*shape: int, dtype: npt.DTypeLike = np.float32) -> Array:
    """A new array as users get them from NumPy, its pages in place."""
    array = np.empty(shape, dtype)
    array.view(np.uint8).fill(0)
    return array
