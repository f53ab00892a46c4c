# SPDX-License-Identifier: Apache-2.0
"""What went wrong in other people's kernels and bindings for NPUs, tried with ours on `cpu` and `sim`, each in a process of its own."""

from __future__ import annotations

import child
import pytest

import ascend_cy

SHARED = """
import sys
import numpy as np
import ascend_cy, embedded

def launches(work):
    with embedded.counted_calls("aclrtLaunchKernelWithHostArgs") as calls:
        result = work()
        ascend_cy.synchronize()
        return calls(), result

def normalized(x, eps=1e-5):
    wide = x.astype(np.float64)
    return (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + eps)
"""


@pytest.fixture(params=["cpu", "sim"])
def on(request, tmp_path):
    """Runs code on the device; what it prints, once it ended well."""
    if ascend_cy.device_info()["kind"] not in ("cpu", "sim"):
        pytest.skip("needs the embedded device")

    def run(code):
        import textwrap

        return child.check(SHARED + textwrap.dedent(code), tmp_path, env={"ASCEND_CY_DEVICE": request.param}, timeout=200)

    return run


def test_nothing_to_do(on):
    """NPU-1: shapes with a 0 in them, after a call with data: no launch, and the right shape and dtype."""
    on("""
    for dtype in ("f4", "f2"):
        full = np.ones((3, 8), dtype)
        work = {
            "layernorm": lambda x: ascend_cy.layernorm(x),
            "vector_add": lambda x: ascend_cy.vector_add(x, x),
            "copy": lambda x: x.copy(),
        }
        for name, call in work.items():
            call(ascend_cy.asarray(full))                       # data first
            for shape in ((0, 8), (3, 0), (0, 0), (2, 0, 4), (0,)):
                for x in (np.empty(shape, dtype), ascend_cy.empty(shape, dtype)):
                    count, y = launches(lambda: call(x))
                    assert count == 0 and y.shape == shape and y.dtype == dtype, (name, shape, count)
        x = ascend_cy.empty((0, 8), dtype)
        assert launches(lambda: x.fill(3))[0] == 0
        x.copy_from(np.empty((0, 8), dtype))
        assert x.to_numpy().shape == (0, 8)
        assert ascend_cy.asarray(full)[1:1].to_numpy().shape == (0, 8)
    # Gradients of no rows are zeros where there are columns.
    statistics = np.empty(0, "f4")
    dx, dgamma, dbeta = ascend_cy.layernorm_backward(np.empty((0, 8), "f4"), np.empty((0, 8), "f4"), statistics, statistics,
                                                     np.ones(8, "f4"))
    assert dx.shape == (0, 8) and dgamma.tolist() == dbeta.tolist() == [0] * 8
    y, mean, rstd = ascend_cy.layernorm(np.empty((0, 8), "f4"), return_stats=True)
    assert y.shape == (0, 8) and mean.shape == rstd.shape == (0,)
    """)


def test_rows_that_are_no_multiple_of_32_bytes(on):
    """NPU-2: values are right, and the memory before, between and after the rows is neither read nor written."""
    on("""
    rng = np.random.default_rng(0)

    def framed(values, dtype):
        # Rows in the middle of a buffer of NaN, at an address that is a multiple of the element only.
        buffer = np.full(values.size + 37, np.nan, dtype)
        buffer[19:19 + values.size] = values.ravel()
        whole = ascend_cy.asarray(buffer)
        return whole, whole[19:19 + values.size].reshape(values.shape)

    def untouched(whole, count):
        data = whole.to_numpy()
        return np.isnan(data[:19]).all() and np.isnan(data[19 + count:]).all() and not np.isnan(data[19:19 + count]).any()

    for dtype, tolerance in (("f4", 2e-6), ("f2", 2e-3)):
        for columns in {"f4": (4, 100, 126), "f2": (9, 100)}[dtype]:
            for rows in (1, 3, 50):
                x = rng.normal(3, 2, (rows, columns)).astype(dtype)
                count = x.size
                whole_x, dx = framed(x, dtype)
                whole_y, dy = framed(np.zeros_like(x), dtype)
                ascend_cy.layernorm(dx, out=dy)
                scale = np.abs(normalized(x)).max()
                assert np.abs(dy.to_numpy() - normalized(x)).max() <= tolerance * scale, (dtype, columns, rows)
                assert untouched(whole_x, count) and untouched(whole_y, count)
                ascend_cy.vector_add(dx, dx, out=dy)
                assert np.array_equal(dy.to_numpy(), x + x)
                assert untouched(whole_x, count) and untouched(whole_y, count)

                y, mean, rstd = ascend_cy.layernorm(dx, return_stats=True)
                whole_g, grad = framed(np.ones_like(x), dtype)
                gx, ggamma, gbeta = ascend_cy.layernorm_backward(grad, dx, mean, rstd, ascend_cy.ones(columns, dtype))
                assert np.abs(gx.to_numpy()).max() <= 20 * tolerance, "the gradient of a constant sum is zero"
                assert np.abs(gbeta.to_numpy() - rows).max() <= tolerance * rows
                assert np.abs(ggamma.to_numpy() - normalized(x).sum(0)).max() <= 4 * tolerance * max(1, rows)
                assert untouched(whole_x, count) and untouched(whole_g, count)
    """)


def test_a_loop_that_keeps_nothing(on):
    """NPU-3: what a queued call needs (a workspace, its arrays) lives until it ran, and not longer."""
    on("""
    x = np.random.default_rng(0).normal(3, 2, (16, 40)).astype("f4")
    device, ones, gamma = ascend_cy.asarray(x), ascend_cy.ones((16, 40)), ascend_cy.ones(40)
    y, mean, rstd = ascend_cy.layernorm(device, return_stats=True)
    expected = [part.to_numpy() for part in ascend_cy.layernorm_backward(ones, device, mean, rstd, gamma)]
    held = []
    for turn in range(1000):
        result = ascend_cy.layernorm_backward(ones, device, mean, rstd, gamma)
        if turn % 100 == 99:
            for part, right in zip(result, expected):
                assert np.array_equal(part.to_numpy(), right)
            del part
            held.append(ascend_cy.memory_stats()["in_use"])
    assert held[1:] == held[:-1], held
    """)


def test_rows_that_do_not_fit_on_chip(on):
    """NPU-3: such rows are split, with the same values."""
    on("""
    for columns in (48000, 65536, 100003):
        x = np.random.default_rng(columns).normal(3, 2, (2, columns)).astype("f4")
        y = ascend_cy.layernorm(x)
        right = normalized(x)
        assert (np.abs(y - right).max(1) <= 1e-6 * np.abs(right).max(1)).all(), columns
    """)


def test_addresses_that_are_none(tmp_path):
    """NPU-4: under `sim`, where host memory is no device memory, a launch with a host address or freed memory is an error that
    names the kernel, and a new stream works after it."""
    code = """
    host = np.ones((4, 8), "f4")
    foreign = ascend_cy.from_pointer(host.ctypes.data, (4, 8), "float32", device=0, owner=host)
    gone = ascend_cy.ones((4, 8))
    pointer = gone.ptr
    gone.close()
    ascend_cy.trim_memory()
    freed = ascend_cy.from_pointer(pointer, (4, 8), "float32", device=0, owner=None)
    for wrong in (foreign, freed):
        stream = ascend_cy.Stream()
        try:
            ascend_cy.layernorm(wrong, stream=stream)
            stream.synchronize()
        except ascend_cy.AclError as error:
            assert "layernorm" in str(error), error
        else:
            raise AssertionError("an address that is none of the device's was taken")
        with ascend_cy.Stream() as fresh:
            assert ascend_cy.layernorm(np.ones((2, 8), "f4")).shape == (2, 8)
            assert not ascend_cy.layernorm(ascend_cy.ones((2, 8))).to_numpy(stream=fresh).any()
        stream.close()
    """
    import textwrap

    child.check(SHARED + textwrap.dedent(code), tmp_path, env={"ASCEND_CY_DEVICE": "sim"}, timeout=200)
