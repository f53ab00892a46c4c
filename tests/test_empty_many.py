# SPDX-License-Identifier: Apache-2.0
"""Many arrays in one allocation: where they lie, what keeps their memory, and what is refused."""

from __future__ import annotations

import gc
import threading

import child
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ascend_cy

SOON = 30 * child.PATIENCE
SHAPES = [3, (2, 5), (), (7,), (0, 4), (33, 3), 1]
DTYPES = ["float32", "int8", "float64", "bool", "int32", "float16", "uint8"]


def span(array):
    return array.ptr, array.ptr + array.nbytes


def test_one_allocation_holds_them_all():
    before = ascend_cy.memory_stats()
    arrays = ascend_cy.empty_many(SHAPES, DTYPES)
    after = ascend_cy.memory_stats()
    assert after["allocations"] == before["allocations"] + 1 and after["buffers"] == before["buffers"] + 1
    assert [a.shape for a in arrays] == [(3,), (2, 5), (), (7,), (0, 4), (33, 3), (1,)]
    assert [a.dtype.name for a in arrays] == DTYPES
    assert all(a.flags["c_contiguous"] and a.flags["owndata"] and a.base is None for a in arrays)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40))
def test_every_array_has_its_place(sizes):
    """AscendCL's rule: starts are multiples of 64, and 32 bytes behind each array belong to nobody else."""
    arrays = [a for a in ascend_cy.empty_many(sizes, "uint8") if a.nbytes]
    assert all(a.ptr % 64 == 0 for a in arrays)
    for one, two in zip(arrays, arrays[1:], strict=False):
        assert 32 <= two.ptr - span(one)[1] < 96


def test_values_do_not_meet():
    arrays = ascend_cy.empty_many(SHAPES, DTYPES)
    hosts = [np.full(a.shape, 1 if a.dtype == bool else i + 2, a.dtype) for i, a in enumerate(arrays)]
    for array, host in zip(arrays, hosts, strict=True):
        array.copy_from(host)
    for array, host in zip(arrays, hosts, strict=True):
        assert (array.to_numpy() == host).all()
    x, y, out = ascend_cy.empty_many([(8, 64)] * 3)
    x.fill(1)
    y.fill(2)
    assert (ascend_cy.vector_add(x, y, out=out).to_numpy() == 3).all()


def test_memory_lives_as_long_as_the_last_of_them():
    gc.collect()
    before = ascend_cy.memory_stats()["in_use"]
    arrays = ascend_cy.empty_many([100] * 10, "int32")
    block = ascend_cy.memory_stats()["in_use"] - before
    assert block >= 4000
    arrays[7].fill(7)
    view = arrays[7][50:]
    for array in arrays[:5]:
        array.close()
    assert ascend_cy.memory_stats()["in_use"] == before + block
    with pytest.raises(ValueError, match="closed"):
        arrays[0].to_numpy()
    del arrays, array
    assert ascend_cy.memory_stats()["in_use"] == before + block
    ascend_cy.zeros(1000, "int32")
    assert (view.to_numpy() == 7).all()
    del view
    assert ascend_cy.memory_stats()["in_use"] == before


def test_a_stream_that_uses_one_of_them_keeps_the_block(stream):
    gate = threading.Event()
    with stream:
        stream.add_callback(gate.wait, SOON)
    arrays = ascend_cy.empty_many([1000] * 4)
    address = arrays[0].ptr
    arrays[2].record_stream(stream)
    arrays.clear()
    again = ascend_cy.empty_many([1000] * 4)
    assert again[0].ptr != address
    gate.set()
    stream.synchronize()


def test_they_come_from_the_current_pool_and_stream(stream):
    pool = ascend_cy.MemoryPool()
    with pool:
        one, two = ascend_cy.empty_many([1, 2], stream=stream)
    assert one.pool == two.pool == pool and one.stream == two.stream == stream
    assert pool.stats()["buffers"] == 1


def test_nothing_and_empty_ones():
    before = ascend_cy.memory_stats()["in_use"]
    assert ascend_cy.empty_many([]) == ascend_cy.empty_many(()) == ascend_cy.empty_many([], []) == []
    arrays = ascend_cy.empty_many([0, (3, 0)])
    assert [a.shape for a in arrays] == [(0,), (3, 0)] and arrays[1].to_numpy().shape == (3, 0)
    assert ascend_cy.memory_stats()["in_use"] == before


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: ascend_cy.empty_many(3), TypeError, "shapes must be a sequence of shapes, got int"),
    (lambda: ascend_cy.empty_many("33"), TypeError, "shapes must be a sequence of shapes, got str"),
    (lambda: ascend_cy.empty_many([1, -2]), ValueError, r"shapes\[1\]: "),
    (lambda: ascend_cy.empty_many([1, 2, "x"]), TypeError, r"shapes\[2\]: "),
    (lambda: ascend_cy.empty_many([1, 2], ["f4"]), ValueError, "one for each of 2 shapes, got 1"),
    (lambda: ascend_cy.empty_many([1, 2], ["f4", "O"]), TypeError, r"dtype\[1\]: "),
    (lambda: ascend_cy.empty_many([1, 2], "complex64"), TypeError, "dtype"),
    (lambda: ascend_cy.empty_many([], "complex64"), TypeError, "dtype"),
    (lambda: ascend_cy.empty_many([1 << 61, 1 << 61], "uint8"), (ValueError, MemoryError), "."),
    (lambda: ascend_cy.empty_many([1 << 62] * 3, "uint8"), ValueError, "fit in memory together"),
    (lambda: ascend_cy.empty_many([1], stream=3), TypeError, "stream"),
], ids=str)
def test_arguments_that_cannot_be(call, kind, message):
    live = ascend_cy.live_objects()
    with pytest.raises(kind, match=message):
        call()
    assert ascend_cy.live_objects() == live
