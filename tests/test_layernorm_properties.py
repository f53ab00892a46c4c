# SPDX-License-Identifier: Apache-2.0
"""Properties of layernorm that hold for any shape, strides, dtype, weights and values."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layernorm_reference import (
    assert_layernorm,
    assert_values,
    bits,
    layernorm64,
    round_to,
)
from layernorm_strategies import FLOATS, biased, dtypes, seeds, strided, upload, values

import ascend_cy

epsilons = st.sampled_from([1e-5, 1e-5, 1e-12, 1e-3, 0.0, 1.0])


@st.composite
def problems(draw, most_columns=300):
    """(x, gamma, beta, eps, normalized_ndim)"""
    dtype = draw(dtypes)
    rank = draw(st.integers(1, 4))
    ndim = draw(st.integers(1, rank))
    shape = [draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 6)) for _ in range(rank)]
    if draw(st.booleans()):
        shape[-1] = draw(st.integers(1, most_columns))
    shape = tuple(shape)
    x = draw(strided(draw(values(shape, dtype))))
    weights = []
    for mean in (1.0, 0.3):
        if draw(st.booleans()):
            weight = draw(values(shape[-ndim:], draw(dtypes))) if draw(st.integers(0, 4)) == 0 else round_to(
                biased(np.random.default_rng(draw(seeds)), shape[-ndim:], mean, 0.5), draw(dtypes))
            assume(np.isfinite(weight.astype(np.float64)).all())
            weights.append(draw(strided(weight)))
        else:
            weights.append(None)
    return x, *weights, draw(epsilons), ndim


@given(problems())
def test_host_arrays_against_float64(problem):
    x, gamma, beta, eps, ndim = problem
    kept = bits(x)
    y, mean, rstd = ascend_cy.layernorm(x, gamma, beta, eps, normalized_ndim=ndim, return_stats=True)
    expected = layernorm64(x, gamma, beta, eps, ndim)
    if x.size:
        assert_values(y, expected)
        finite = np.isfinite(expected.rstd) & (expected.rstd < 1e30)
        np.testing.assert_allclose(rstd[finite], expected.rstd[finite], rtol=2e-6)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    assert mean.shape == rstd.shape == x.shape[: x.ndim - ndim]
    assert bits(x) == kept


@given(problems(), st.booleans(), st.sampled_from(["new", "out", "strided out"]))
def test_device_arrays_agree_with_host_arrays(problem, strided_input, target):
    x, gamma, beta, eps, ndim = problem
    expected = ascend_cy.layernorm(x, gamma, beta, eps, normalized_ndim=ndim)
    out = None
    if target == "out":
        out = ascend_cy.empty(x.shape, x.dtype)
    elif target == "strided out":
        out = ascend_cy.zeros((*x.shape[:-1], 3 * x.shape[-1]), x.dtype)[..., ::3]
    device = [upload(a, strided_input) for a in (x, gamma, beta)]
    y = ascend_cy.layernorm(*device, eps, normalized_ndim=ndim, out=out)
    assert bits(y.to_numpy()) == bits(expected)


@given(problems(), st.data())
def test_any_out_gives_the_same_bits(problem, data):
    x, gamma, beta, eps, ndim = problem
    expected = ascend_cy.layernorm(x, gamma, beta, eps, normalized_ndim=ndim)
    out = data.draw(strided(np.zeros(x.shape, x.dtype)))
    assert ascend_cy.layernorm(x, gamma, beta, eps, normalized_ndim=ndim, out=out) is out
    assert bits(out) == bits(expected)
    packed = np.array(x, order="C")
    ascend_cy.layernorm(packed, gamma, beta, eps, normalized_ndim=ndim, out=packed)
    assert bits(packed) == bits(expected)


@given(st.integers(1, 9), st.integers(1, 3000), dtypes, st.data())
@settings(max_examples=60)
def test_wide_rows(rows, columns, dtype, data):
    x = data.draw(values((rows, columns), dtype))
    assert_layernorm(ascend_cy.layernorm(x), x)


@given(st.integers(1, 40), st.integers(1, 200), dtypes, st.data())
def test_order_of_rows_does_not_matter(rows, columns, dtype, data):
    x = data.draw(values((rows, columns), dtype))
    order = np.random.default_rng(data.draw(seeds)).permutation(rows)
    assert bits(ascend_cy.layernorm(x[order])) == bits(ascend_cy.layernorm(x)[order])
    half = rows // 2
    if half:
        assert bits(ascend_cy.layernorm(x[half:])) == bits(ascend_cy.layernorm(x)[half:])


@given(st.integers(1, 200), st.integers(-2**15, 2**15), st.data())
def test_a_common_offset_changes_nothing(columns, offset, data):
    """Integers up to 2**16 and their sums with the offset are exact in float32, so the answers are the same numbers."""
    rng = np.random.default_rng(data.draw(seeds))
    x = rng.integers(0, 50, (3, columns)).astype(np.float32)
    moved = x + np.float32(offset)
    assert_values(ascend_cy.layernorm(moved), layernorm64(x))


@given(st.integers(1, 200), st.integers(-100, 100), st.data())
def test_a_common_factor_changes_nothing_without_eps(columns, exponent, data):
    x = data.draw(values((3, columns), np.dtype("f4")))
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(x, exponent)
    assume(np.isfinite(scaled).all())
    assume((np.ldexp(scaled, -exponent) == x).all())
    assert_values(ascend_cy.layernorm(scaled, eps=0.0), layernorm64(x, eps=0.0))


@given(hnp.arrays(np.float32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=20),
                  elements=st.floats(width=32, allow_nan=True, allow_infinity=True)))
def test_any_bits_at_all(x):
    """Whatever floats there are: no exception, no warning, rows with a NaN or an infinity are NaN, others right."""
    y = ascend_cy.layernorm(x)
    rows = x.reshape(-1, x.shape[-1])
    finite = np.isfinite(rows).all(axis=1)
    result = y.reshape(rows.shape)
    assert np.isnan(result[~finite]).all()
    assert_layernorm(result[finite], rows[finite])


@given(st.integers(0, 2**16 - 1), st.integers(1, 70), st.sampled_from(FLOATS[1:]))
@settings(max_examples=300)
def test_any_constant_narrow_row(pattern, columns, dtype):
    x = np.full((2, columns), pattern, np.uint16).view(dtype)
    beta = round_to(np.arange(columns) / 7.0 + 0.1, dtype)
    y = ascend_cy.layernorm(x, None, beta, 0.0)
    if np.isfinite(x[0, 0].astype(np.float64)):
        assert bits(y) == bits(np.broadcast_to(beta, x.shape))
    else:
        assert np.isnan(y.astype(np.float64)).all()
