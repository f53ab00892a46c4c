# SPDX-License-Identifier: Apache-2.0
"""The kernels of examples/kernels through compile, against float64, on sizes that fill nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import embedded
import numpy as np
import pytest

import ascend_cy

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "kernels"


@pytest.fixture(scope="module")
def examples():
    embedded.require()
    embedded.compiler()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        import example_kernels

        for name in ("gelu", "row_sum", "softmax", "transpose", "gather_rows"):  # now, so that no test leaves a module behind
            example_kernels.kernel(name)
        yield example_kernels
        example_kernels.kernel.cache_clear()
        sys.modules.pop("example_kernels")


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000, 40 * 8 + 1, 40 * 4096 + 3])
def test_gelu(examples, size):
    x = normal(size) * 4
    y = examples.gelu(ascend_cy.asarray(x)).to_numpy()
    wide = x.astype("f8")
    np.testing.assert_allclose(y, wide / (1 + np.exp(-1.702 * wide)), rtol=2e-6, atol=1e-6)


SHAPES = [(0, 5), (1, 1), (3, 7), (41, 8), (100, 33), (2, 4097), (3, 12288)]


@pytest.mark.parametrize("shape", [*SHAPES, (5, 0), (2, 30011)])
def test_row_sum(examples, shape):
    x = normal(*shape) + 1
    y = examples.row_sum(ascend_cy.asarray(x)).to_numpy()
    wide = x.astype("f8")
    assert np.all(np.abs(y - wide.sum(1)) <= 1e-6 * np.abs(wide).sum(1))


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(examples, shape):
    x = normal(*shape) * 5 + 80  # exp(80) would overflow
    y = examples.softmax(ascend_cy.asarray(x)).to_numpy()
    wide = np.exp(x.astype("f8") - (x.max(1, keepdims=True) if x.size else 0))
    np.testing.assert_allclose(y, wide / wide.sum(1, keepdims=True), rtol=5e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (16, 16), (15, 17), (1, 33), (100, 7), (129, 65)])
def test_transpose(examples, shape):
    x = normal(*shape).astype("f2")
    y = examples.transpose(ascend_cy.asarray(x)).to_numpy()
    assert np.array_equal(y, x.T)


@pytest.mark.parametrize("cols", [1, 7, 8, 4099])
def test_gather_rows(examples, cols):
    table = normal(11, cols)
    index = np.array([3, 0, 10, 3, -1, 11, 2**31 - 1, *range(11), *range(11), *range(11), *range(11)], "i4")
    y = examples.gather_rows(ascend_cy.asarray(table), ascend_cy.asarray(index)).to_numpy()
    inside = (index >= 0) & (index < 11)
    assert np.array_equal(y[inside], table[index[inside]])
    assert np.isnan(y[~inside]).all()
    assert examples.gather_rows(ascend_cy.asarray(table), ascend_cy.empty(0, "i4")).shape == (0, cols)


def test_what_they_refuse(examples):
    with pytest.raises(ValueError, match="at most 12288 fit"):
        examples.softmax(ascend_cy.zeros((1, 12289)))
    with pytest.raises(ValueError, match="contiguous float32 array with 2 axes"):
        examples.row_sum(ascend_cy.zeros((3, 4), "f2"))
