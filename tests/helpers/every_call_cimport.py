# SPDX-License-Identifier: Apache-2.0
"""The functions that `cimport ascend_cy` offers with each of their AscendCL calls failing in turn: every_call.py, by way of
the Cython modules of tests/consumer.

As a program: ``python every_call_cimport.py FOLDER CONSUMER``, the latter being where these modules were built.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import every_call
import numpy as np
from every_call import device, host, operation

import ascend_cy

TABLE: dict[str, every_call.Operation] = {}
EPS = 1e-5

_plain = _operators = None
_kernels = (Path(__file__).resolve().parents[1] / "consumer" / "add.cpp").read_text()


def use_consumer(plain, operators) -> None:
    """The modules through which everything is called."""
    global _plain, _operators
    _plain, _operators = plain, operators


def half(array: np.ndarray) -> np.ndarray:
    return array.astype("f2").view("u2")


def brain(array: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(array).view("u4") >> 16).astype("u2")


def like(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.zeros_like(array) for array in arrays]


# ---- operators ----


@operation("layernorm_f32", "layernorm_f16", "layernorm_bf16", prepare=host, table=TABLE)
def layernorm_of_memoryviews(s):
    out = [np.zeros((6, 10), dtype) for dtype in ("f4", "f4", "u2", "u2")]
    with ascend_cy.Stream() as stream:
        _plain.layernorm_float(s.x, None, None, out[0], EPS)
        _plain.layernorm_float(s.x, s.gamma, s.beta, out[1], EPS, ascend_cy.default_stream())
        _plain.layernorm_half(half(s.x), half(s.gamma), None, out[2], EPS)
        _plain.layernorm_brain(brain(s.x), None, brain(s.beta), out[3], EPS, stream)
    return out


@operation("layernorm_device", "stream_synchronize", table=TABLE)
def layernorm_of_device_arrays_without_the_gil(s):
    first, second = ascend_cy.zeros((6, 10)), ascend_cy.zeros((6, 10), stream=s.stream)
    _plain.layernorm_device_arrays(s.dx, None, s.dbeta, first, EPS)
    _plain.layernorm_device_arrays(s.dy, s.dgamma, None, second, EPS, s.stream)
    _plain.wait_for(s.stream)
    return [first, second]


def with_statistics() -> SimpleNamespace:
    made = device()
    _, made.mean, made.rstd = ascend_cy.layernorm(made.x, return_stats=True)
    made.dmean, made.drstd = ascend_cy.asarray(made.mean), ascend_cy.asarray(made.rstd)
    made.y = np.ascontiguousarray(made.y)
    ascend_cy.synchronize()
    return made


@operation("layernorm_backward_f32", "layernorm_backward_f16", "layernorm_backward_bf16", prepare=with_statistics, table=TABLE)
def layernorm_backward_of_memoryviews(s):
    out = []
    for call, form in ((_plain.backward_float, np.ascontiguousarray), (_plain.backward_half, half), (_plain.backward_brain, brain)):
        dy, x, gamma = form(s.y), form(s.x), form(s.gamma)
        for weights in ((None, None, None), (gamma, *like(gamma, gamma))):
            (dx,) = like(x)
            call(dy, x, s.mean, s.rstd, weights[0], dx, *weights[1:])
            out += [dx, *weights[1:]]
    return out


@operation("layernorm_backward_device", prepare=with_statistics, table=TABLE)
def layernorm_backward_of_device_arrays_without_the_gil(s):
    dx, dgamma, dbeta = ascend_cy.zeros((6, 10)), ascend_cy.zeros(10), ascend_cy.zeros(10)
    _plain.backward_device(s.dy, s.dx, s.dmean, s.drstd, s.dgamma, dx, dgamma, dbeta, s.stream)
    return [dx, dgamma, dbeta]


@operation("vector_add_f32", "vector_add_f16", "vector_add_bf16", "vector_add_i32", prepare=host, table=TABLE)
def vector_add_of_memoryviews(s):
    a, b = np.arange(70, dtype="f4"), np.arange(70, dtype="f4")[::-1].copy()
    out = [np.zeros(70, dtype) for dtype in ("f4", "u2", "u2", "i4")]
    _operators.add_float(a, b, out[0])
    _operators.add_half(half(a), half(b), out[1])
    _operators.add_brain(brain(a), brain(b), out[2], ascend_cy.default_stream())
    _operators.add_int(a.astype("i4"), b.astype("i4"), out[3])
    return out


@operation("vector_add_device", table=TABLE)
def vector_add_of_device_arrays_without_the_gil(s):
    out = ascend_cy.zeros((6, 10))
    _operators.add_device(s.dx, s.dy, out, s.stream)
    _operators.add_device(s.dx, s.dy, s.dx)
    good = ascend_cy.zeros((6, 10), stream=s.stream)
    finished, message = _operators.doubled_until_it_fails(s.dy, good, ascend_cy.zeros(3), s.stream)
    return [out, s.dx, good, finished, message]


@operation("matmul_f32", "matmul_f16", "matmul_bf16", prepare=host, table=TABLE)
def matmul_of_memoryviews(s):
    a, b = s.x, np.ascontiguousarray(s.y.T)
    out = [np.zeros((6, 6), dtype) for dtype in ("f4", "u2", "u2")]
    _operators.product_float(a, b, out[0])
    _operators.product_half(half(a), half(b), out[1], ascend_cy.default_stream())
    _operators.product_brain(brain(a), brain(b), out[2])
    return out


@operation("matmul_device", table=TABLE)
def matmul_of_device_arrays_without_the_gil(s):
    first, second = ascend_cy.zeros((6, 6), stream=s.stream), ascend_cy.zeros((3, 6))
    _operators.product_device(s.dx, s.dy.T, first, s.stream)
    _operators.product_device(s.dx[::2], s.dy.T, second)
    return [first, second]


# ---- arrays, streams, kernels, pools ----


@operation("array_data", "array_dtype_code", "array_ndim", "array_shape", "array_strides", "array_record_stream",
           "array_order_stream", "stream_handle", "check_abi", table=TABLE)
def arrays_and_streams(s):
    view = s.dx[::2]
    s.dx.fill(3, s.stream)
    _operators.order(view, True, ascend_cy.default_stream())
    _operators.order(s.dy, False, s.stream)
    _plain.record(view, s.stream)
    facts = _plain.describe(view)
    same = _plain.handle_of(s.stream) == s.stream.handle
    return [facts[1:], facts[0] == view.ptr, same, _plain.abi_check(1), s.dx]


def with_kernel() -> SimpleNamespace:
    made = device()
    made.module = ascend_cy.compile(_kernels, name="add")
    made.place = ascend_cy.zeros(8)
    ascend_cy.synchronize()
    return made


@operation("kernel_acquire", "kernel_launch", "kernel_release", prepare=with_kernel, table=TABLE)
def kernels_without_the_gil(s):
    kernel = s.module.kernel("add")
    _operators.launch_add(kernel, s.place, 3, 0.5, 4)
    _operators.launch_add(kernel, s.place, 4, 2, 3, s.stream)
    held = _operators.Held(kernel)
    s.stream.synchronize()
    held.add(s.place, 5, 1.5)
    result = s.place.to_numpy()
    del held, kernel
    s.module.unload()
    return [result]


@operation("pool_figures", "pool_use", "pool_trim", table=TABLE)
def pools_without_the_gil(s):
    pool = ascend_cy.MemoryPool(1 << 24)
    try:
        _operators.use_pool(pool)
        x = ascend_cy.full((40, 50), 3)
        used = _operators.pool_facts(pool)[0]
        y = ascend_cy.vector_add(x, x, stream=s.stream)
        x.close()
    finally:
        _operators.use_pool(None)
    _operators.trim_pool(pool, 0)
    return [used > 0, y]


def main(folder: str, consumer: str) -> None:
    """All of them, for a process of its own."""
    sys.path.insert(0, consumer)
    use_consumer(importlib.import_module("plain"), importlib.import_module("operators"))
    every_call.main(folder, table=TABLE)


if __name__ == "__main__":
    main(*sys.argv[1:])
