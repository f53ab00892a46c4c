# SPDX-License-Identifier: Apache-2.0
"""LayerNorm's numbers, against float64 and, where a result is exact by nature, bit for bit.

Tolerances are those of the design: float32 within 1e-6 of the row's largest result, float16 and bfloat16 within one unit
in the last place of the correctly rounded value. No data here is centred on zero unless the case is about that.
"""

from __future__ import annotations

import numpy as np
import pytest
from call_paths import PATHS, caller
from layernorm_reference import (
    assert_layernorm,
    assert_values,
    bits,
    dtype_named,
    layernorm64,
    ordinals,
    round_to,
)

import ascend_cy

FLOATS = ("float32", "float16", "bfloat16")
NARROW = ("float16", "bfloat16")


@pytest.fixture(params=PATHS)
def layernorm(request):
    return caller(request.param, request)


@pytest.fixture(params=FLOATS)
def dtype(request):
    return dtype_named(request.param)


def sample(shape, dtype, *, mean=1.0, sigma=1.0, seed=0):
    """Normals with a mean, rounded to the dtype."""
    rng = np.random.default_rng(seed)
    return round_to(mean + sigma * rng.standard_normal(shape), np.dtype(dtype))


# ---- LN-1: large offset, small spread ----

LARGE_OFFSETS = {
    0.0: (-1.3416408, -0.0894427, 1.3416407),
    100.0: (-1.3415277, -0.0887870, 1.3413571),
    1000.0: (-1.3415078, -0.0859766, 1.3442372),
    10000.0: (-1.3313334, -0.0887556, 1.3313334),
}


@pytest.mark.parametrize("offset", LARGE_OFFSETS)
def test_large_offset_small_spread(layernorm, offset):
    x = (offset + np.arange(16) * 1e-3).astype(np.float32)[None]
    y = layernorm(x)
    np.testing.assert_allclose(y[0, [0, 7, 15]], LARGE_OFFSETS[offset], atol=1e-4, rtol=0)
    assert_layernorm(y, x)


@pytest.mark.parametrize("columns", [16, 33, 1000, 4099])
def test_every_row_has_its_own_offset(layernorm, dtype, columns):
    largest = 6e4 if dtype == np.float16 else 1e30
    offsets = np.concatenate([[0.0], np.geomspace(1e-3, largest, 40), -np.geomspace(1e-3, largest, 40)])
    spread = np.random.default_rng(1).standard_normal((offsets.size, columns))
    x = round_to(offsets[:, None] * (1 + 1e-3 * spread), dtype)
    assert_layernorm(layernorm(x), x)


@pytest.mark.parametrize("ratio", [1.0, 3.9, 4.1, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("columns", [3, 16, 257, 4096, 100003])
def test_mean_of_many_sigma(columns, ratio):
    """|mean| up to a million sigma; a mean rounded to float32 would cost up to 6 % of a sigma here."""
    sigma = np.array([[1e-3], [1.0], [7e5], [1.0]])
    sign = np.array([[1.0], [1.0], [1.0], [-1.0]])
    noise = np.random.default_rng(2).standard_normal((4, columns))
    x = (sign * sigma * (ratio + noise)).astype(np.float32)
    for path in (ascend_cy.layernorm, lambda a: ascend_cy.layernorm(ascend_cy.asarray(a)).to_numpy()):
        assert_layernorm(path(x), x)


@pytest.mark.parametrize("seed", range(8))
def test_runs_of_nearly_equal_elements_with_weights_far_apart(seed):
    rng = np.random.default_rng(seed)
    levels = np.array([2e15, 3.36e17, 1.31e17, 0.0])[:, None]  # the third run lies near the mean
    x = round_to((levels * (1 + 0.01 * rng.standard_normal((4, 244)))).reshape(1, -1), np.dtype(np.float32))
    gamma = np.where(np.arange(976) // 244 == 2, 3e20, 1e-8).astype(np.float32)
    wanted = layernorm64(x, gamma).y
    error = np.abs(ascend_cy.layernorm(x, gamma) - wanted)
    assert error.max() <= 1e-6 * np.abs(wanted).max()  # stricter than what every row can be promised


def test_the_mean_keeps_what_rounding_it_leaves_over():
    """Rows whose true mean lies half a float32 step beside a number, where deviations are of a few steps only."""
    for offset in (2.0**23, 2.0**21 + 1, 3e6, 16777215.0 / 2):
        step = float(np.spacing(np.float32(offset)))
        for columns in (2, 6, 50, 1001):
            x = (offset + step * (np.arange(columns) % 2)).astype(np.float32)[None]
            y = ascend_cy.layernorm(x, eps=0.0)
            assert_layernorm(y, x, eps=0.0)


@pytest.mark.parametrize("columns", [8, 64, 1000, 5000, 100003])
@pytest.mark.parametrize("where", ["first", "second", "middle", "last"])
def test_an_outlier_is_no_pivot(columns, where):
    """One element far from the others, at a place that a one-pass sum may take as its pivot."""
    x = sample((1, columns), "float32", mean=3.0, sigma=0.5, seed=3)
    at = {"first": 0, "second": 1, "middle": columns // 2, "last": columns - 1}[where]
    rows = []
    for outlier in (1e3, -1e5, 1e7, 3e9):
        rows.append(x[0].copy())
        rows[-1][at] = outlier
    x = np.array(rows)
    assert_layernorm(ascend_cy.layernorm(x), x)


def test_a_run_of_equal_elements_before_the_others():
    """Long constant stretches, then data elsewhere: any pivot taken from the front lies far from the mean."""
    for columns, quiet in ((1000, 10), (4096, 64), (20000, 1999), (100003, 3)):
        x = np.full((1, columns), 7.0, np.float32)
        x[0, quiet:] = sample(columns - quiet, "float32", mean=-5e4, sigma=1.0, seed=4)
        assert_layernorm(ascend_cy.layernorm(x), x)


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("columns", [7, 64, 1024, 10007])
def test_narrow_types_with_a_mean(name, columns):
    dtype = dtype_named(name)
    for ratio in (0.5, 10.0, 200.0):
        x = sample((3, columns), dtype, mean=ratio, sigma=1.0, seed=5)
        for path in (ascend_cy.layernorm, lambda a: ascend_cy.layernorm(ascend_cy.asarray(a)).to_numpy()):
            assert_layernorm(path(x), x)


# ---- LN-2: deviations that are zero give beta, bit for bit ----


@pytest.mark.parametrize("gamma", [0.0, 2.0, 123.0])
def test_one_element_per_row(layernorm, dtype, gamma):
    x = np.array([[6e4 if dtype == np.float16 else 1e6]]).astype(dtype)
    y = layernorm(x, np.array([gamma]).astype(dtype), np.array([3.0]).astype(dtype))
    assert bits(y) == bits(np.array([[3.0]]).astype(dtype))


CONSTANTS = [0.0, -0.0, 1.0, 0.1, -1 / 3, 255.5, -6e4, 1e6, 16777217.0, 1e30, 3.4e38, -1e-30, 1e-39, 1e-45]


@pytest.mark.parametrize("eps", [0.0, 1e-45, 1e-12, 1e-5, 1.0])
@pytest.mark.parametrize("columns", [1, 2, 3, 7, 8, 16, 31, 100, 1000, 4097, 20011])
def test_constant_rows_give_beta_exactly(dtype, columns, eps):
    values = round_to(CONSTANTS, dtype)
    values = values[np.isfinite(values.astype(np.float64))]
    x = np.ascontiguousarray(np.broadcast_to(values[:, None], (values.size, columns)))
    gamma = sample(columns, dtype, mean=2.0, seed=6)
    beta = sample(columns, dtype, mean=-1.0, seed=7)
    wanted = bits(np.broadcast_to(beta, x.shape))
    assert bits(ascend_cy.layernorm(x, gamma, beta, eps)) == wanted
    assert bits(ascend_cy.layernorm(ascend_cy.asarray(x), ascend_cy.asarray(gamma), ascend_cy.asarray(beta),
                                    eps).to_numpy()) == wanted
    assert not np.any(ascend_cy.layernorm(x, gamma, None, eps).astype(np.float64))


# ---- LN-3: zero variance, small variance, eps as given ----


def test_zeros_with_an_eps_that_float16_does_not_hold(layernorm):
    y = layernorm(np.zeros((1, 10), np.float16), eps=1e-12)
    assert bits(y) == bits(np.zeros((1, 10), np.float16))


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ([2] * 6, [0] * 6),
        ([-2, 2] * 3, [-0.9999988, 0.9999988] * 3),
        ([-2, 0, 2] * 2, [-1.2247426, 0, 1.2247426] * 2),
        ([0, 1, 2, 3, 4, 5], [-1.4638476, -0.8783086, -0.2927695, 0.2927695, 0.8783086, 1.4638476]),
    ],
)
def test_small_rows(layernorm, row, wanted):
    x = np.array([row], np.float32)
    y = layernorm(x)
    np.testing.assert_allclose(y[0], wanted, atol=2e-7, rtol=0)
    assert_layernorm(y, x)


@pytest.mark.parametrize("columns", [2, 8, 10, 64, 126, 128, 256, 1000, 4098])
@pytest.mark.parametrize("name", NARROW)
def test_halfway_results_go_to_the_even_neighbour(name, columns):
    dtype = dtype_named(name)
    x = np.where(np.arange(3 * columns).reshape(3, columns) % 2, 1, -1).astype(dtype)  # normalised already
    unit = {"float16": 2.0**-10, "bfloat16": 2.0**-7}[name]
    for halfway, even in ((1 + unit / 2, 1.0), (1 + 3 * unit / 2, 1 + 2 * unit)):
        gamma = np.full(columns, halfway, np.float32)
        y = ascend_cy.layernorm(x, gamma, eps=0.0)
        assert np.array_equal(y.astype(np.float64), even * x.astype(np.float64))


@pytest.mark.parametrize("eps", [0.0, 1e-300, 1e-45, 1e-12, 1e-7, 1e-5, 1e-3, 1.0, 1e6, 1e30, 1e300])
def test_eps_is_the_number_given(layernorm, dtype, eps):
    spreads = np.array([1e-4, 1e-2, 1.0, 1e2])[:, None]
    x = round_to(spreads * (0.25 + np.arange(12) % 5), dtype)
    assert_layernorm(layernorm(x, eps=eps), x, eps=eps)


def test_eps_belongs_under_the_root(layernorm):
    x = np.array([[-1e-3, 1e-3] * 8], np.float32)
    variance = float(np.float32(1e-3)) ** 2
    np.testing.assert_allclose(layernorm(x, eps=variance)[0, 1], np.sqrt(0.5), rtol=1e-6)
    np.testing.assert_allclose(layernorm(x, eps=0.0)[0, 1], 1.0, rtol=1e-6)


@pytest.mark.parametrize("eps", [np.float64(1e-5), np.float32(0.5), 1, True + 0.5, np.int64(2)])
def test_eps_of_any_number_type(eps):
    x = sample((2, 9), "float32")
    assert_layernorm(ascend_cy.layernorm(x, eps=eps), x, eps=float(eps))


# ---- LN-4: overflow and underflow on the way to an ordinary result ----


def test_squares_beyond_float16(layernorm):
    y = layernorm(np.array([[512, -512, 512, -512]], np.float16))
    assert bits(y) == bits(np.array([[1, -1, 1, -1]], np.float16))


def test_squares_beyond_float32(layernorm):
    y = layernorm(np.array([[1e30, -1e30, 2e30, -2e30]], np.float32))
    np.testing.assert_allclose(y[0], [0.6324555, -0.6324555, 1.2649111, -1.2649111], rtol=2e-7)


@pytest.mark.parametrize("columns", [2, 5, 16, 100, 5000])
def test_any_power_of_two(dtype, columns):
    """Rows from the smallest denormal number to the largest finite one; eps = 0 keeps their results ordinary."""
    lowest, highest = (-24, 16) if dtype == np.float16 else (-149 if dtype == np.float32 else -133, 128)
    pattern = np.random.default_rng(8).integers(-255, 256, columns) / 256.0
    pattern[:2] = -1.0, 0.75
    scales = np.ldexp(1.0, np.arange(lowest, highest))
    x = round_to(np.minimum(scales, 0.99 * scales[-1])[:, None] * pattern, dtype)
    x = x[np.ptp(x.astype(np.float64), axis=1) > 0]
    assert np.isfinite(x.astype(np.float64)).all()
    for path in (ascend_cy.layernorm, lambda a, **kw: ascend_cy.layernorm(ascend_cy.asarray(a), **kw).to_numpy()):
        assert_layernorm(path(x, eps=0.0), x, eps=0.0)
        assert_layernorm(path(x), x)


@pytest.mark.parametrize("columns", [2, 9, 64, 1000, 100003])
def test_the_largest_numbers(layernorm, dtype, columns):
    """Sums and deviations overflow: all near the largest number, and at both ends of the range."""
    largest = float(round_to(6.55e4 if dtype == np.float16 else 3.38e38, dtype))
    near = largest * (1 - 0.01 * (np.arange(columns) % 7))
    ends = np.where(np.arange(columns) % 3 == 0, -largest, largest)
    x = round_to(np.array([near, -near, ends]), dtype)
    assert_layernorm(layernorm(x), x)


def test_denormal_deviations_beside_a_normal_offset(layernorm):
    tiny = float(np.finfo(np.float32).smallest_normal)
    x = (tiny * (4 + np.arange(24) / 8.0)).astype(np.float32).reshape(2, 12)
    assert_layernorm(layernorm(x, eps=0.0), x, eps=0.0)


def test_results_beyond_the_range_are_infinite(dtype):
    x = np.array([[-1.0, 1.0]]).astype(dtype)
    largest = np.array([60000.0 if dtype == np.float16 else 3e38] * 2).astype(dtype)
    y = ascend_cy.layernorm(x, largest, largest, 0.0)
    assert y.astype(np.float64).tolist() == [[0.0, np.inf]]


# ---- LN-5: NaN and infinity stay where they are ----


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_element_spoils_its_own_row(layernorm, dtype, bad):
    x = np.tile(np.array([1, 2, 3, 4.0]), (4, 1)).astype(dtype)
    x[1, 2] = np.nan
    x[2, 0] = bad
    y = layernorm(x).astype(np.float64)
    assert np.isnan(y[1:3]).all()
    np.testing.assert_allclose(y[[0, 3]], [[-1.3416354, -0.4472118, 0.4472118, 1.3416354]] * 2,
                               rtol=1e-6 if dtype == np.float32 else 2.0**-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("columns", [1, 2, 7, 16, 33, 63, 130])
def test_a_bad_element_at_any_place(dtype, columns, bad):
    """One row for each place; good rows between them, which must not change by a bit."""
    good = sample((1, columns), dtype, mean=2.0, seed=9)
    x = np.ascontiguousarray(np.repeat(good, 2 * columns + 1, axis=0))
    x[2 * np.arange(columns) + 1, np.arange(columns)] = bad
    beta = sample(columns, dtype, mean=0.5, seed=10)
    for path in (ascend_cy.layernorm, lambda a, g, b: ascend_cy.layernorm(ascend_cy.asarray(a), None,
                                                                         ascend_cy.asarray(b)).to_numpy()):
        y = path(x, None, beta)
        assert np.isnan(y[1::2].astype(np.float64)).all()
        assert bits(y[::2]) == bits(np.repeat(path(good, None, beta), columns + 1, axis=0))


@pytest.mark.parametrize("columns", [4096, 4099, 100003])
def test_a_bad_element_in_a_long_row(columns):
    x = sample((3, columns), "float32", mean=-3.0, seed=11)
    for at in (0, columns // 2, columns - 1):
        spoiled = x.copy()
        spoiled[1, at] = np.nan
        y = ascend_cy.layernorm(spoiled)
        assert np.isnan(y[1]).all()
        assert_layernorm(y[[0, 2]], x[[0, 2]])


def test_opposite_infinities(layernorm, dtype):
    x = np.array([[np.inf, -np.inf, 1, 2], [np.inf] * 4, [1, 2, 3, 5]]).astype(dtype)
    y = layernorm(x).astype(np.float64)
    assert np.isnan(y[:2]).all()
    assert np.isfinite(y[2]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["gamma", "beta"])
def test_a_bad_weight_spoils_its_own_column(layernorm, dtype, which, bad):
    x = sample((5, 37), dtype, mean=4.0, seed=12)
    for column in (0, 2, 31, 32, 36):
        weights = {"gamma": sample(37, dtype, mean=2.0, seed=13), "beta": sample(37, dtype, mean=2.0, seed=14)}
        weights[which][column] = bad
        y = layernorm(x, weights["gamma"], weights["beta"])
        others = np.delete(np.arange(37), column)
        assert np.isfinite(y[:, others].astype(np.float64)).all()
        if which == "beta" or np.isnan(bad):
            expected = np.full(5, bad)
        else:
            expected = np.sign(layernorm64(x).normalized[:, column]) * bad
        np.testing.assert_array_equal(y[:, column].astype(np.float64), expected)


# ---- LN-6: widths that fill no vector ----


def test_three_columns(layernorm):
    y = layernorm(np.array([[1, 2, 3], [10, 11, 12]], np.float32))
    np.testing.assert_allclose(y, [[-1.2247357, 0, 1.2247357]] * 2, atol=2e-7, rtol=0)


WIDTHS = [*range(1, 140), 255, 256, 257, 511, 513, 768, 1000, 1024, 1025, 1536, 2047, 2048, 2049, 2111, 4095, 4096, 4097,
          6000, 8191, 12289]


def test_every_width(dtype):
    """Several rows, so that a row follows whatever the tail of the one before it left."""
    for columns in WIDTHS:
        x = sample((3, columns), dtype, mean=1.0, seed=columns)
        gamma = sample(columns, dtype, mean=1.5, sigma=0.2, seed=columns + 1)
        beta = sample(columns, dtype, mean=-0.5, seed=columns + 2)
        assert_layernorm(ascend_cy.layernorm(x), x)
        assert_layernorm(ascend_cy.layernorm(x, gamma, beta), x, gamma, beta)


@pytest.mark.parametrize("columns", [1, 3, 9, 31, 100, 513, 768, 1000, 1536, 4097])
def test_widths_on_every_path(layernorm, dtype, columns):
    x = sample((4, columns), dtype, mean=1.0, seed=15)
    gamma = sample(columns, dtype, mean=1.5, sigma=0.2, seed=16)
    beta = sample(columns, dtype, mean=-0.5, seed=17)
    assert_layernorm(layernorm(x, gamma, beta), x, gamma, beta)


@pytest.mark.parametrize("columns", [48000, 65536, 100003])
def test_long_rows(dtype, columns):
    x = sample((2, columns), dtype, mean=1.0, seed=18)
    gamma = sample(columns, dtype, mean=1.5, sigma=0.2, seed=19)
    assert_layernorm(ascend_cy.layernorm(x, gamma), x, gamma)


def test_one_row_of_a_million():
    x = sample((1, 1 << 20), "float32", mean=100.0, sigma=3.0, seed=20)
    assert_layernorm(ascend_cy.layernorm(x), x)


@pytest.mark.parametrize("columns", [1, 3, 4, 9, 16, 100, 126, 1000])
def test_memory_around_the_rows_is_left_alone(dtype, columns):
    """Input between NaN, output between marks, at every element offset that a vector register knows."""
    rows, margin = 5, 64
    good = sample((rows, columns), dtype, mean=1.0, seed=21)
    expected = layernorm64(good)
    size = rows * columns
    for offset in range(0, 33, 1 if columns < 20 else 5):
        source = np.full(size + 2 * margin, np.nan).astype(dtype)
        target = np.full(size + 2 * margin, 77.0).astype(dtype)
        x = source[offset : offset + size].reshape(rows, columns)
        x[...] = good
        out_at = margin - offset
        out = target[out_at : out_at + size].reshape(rows, columns)
        ascend_cy.layernorm(x, out=out)
        assert_values(out, expected)
        assert (target[:out_at] == 77).all()
        assert (target[out_at + size :] == 77).all()
        device = ascend_cy.asarray(target)
        placed = ascend_cy.asarray(source)[offset : offset + size].reshape(rows, columns)
        ascend_cy.layernorm(placed, out=device[out_at : out_at + size].reshape(rows, columns))
        around = device.to_numpy()
        assert bits(around) == bits(target)


# ---- LN-7: mixed dtypes, one rounding ----


@pytest.mark.parametrize("gamma_name", [None, *FLOATS])
@pytest.mark.parametrize("beta_name", [None, *FLOATS])
@pytest.mark.parametrize("columns", [5, 128, 1000])
def test_weights_of_another_dtype(dtype, gamma_name, beta_name, columns):
    x = sample((8, columns), dtype, mean=0.5, seed=22)
    gamma = None if gamma_name is None else sample(columns, dtype_named(gamma_name), mean=1.0, sigma=0.5, seed=23)
    beta = None if beta_name is None else sample(columns, dtype_named(beta_name), mean=0.3, seed=24)
    assert_layernorm(ascend_cy.layernorm(x, gamma, beta), x, gamma, beta)
    moved = [None if a is None else ascend_cy.asarray(a) for a in (x, gamma, beta)]
    assert_layernorm(ascend_cy.layernorm(*moved).to_numpy(), x, gamma, beta)


@pytest.mark.parametrize("name", NARROW)
def test_the_result_is_rounded_once(name):
    """float32 weights that a narrow type would round: rounding them, or the normalised value, first would show."""
    dtype = dtype_named(name)
    x = sample((64, 256), dtype, mean=0.5, seed=25)
    gamma = (1.0 + np.arange(256) * 2.0**-13).astype(np.float32)
    beta = (np.arange(256) * 2.0**-15 - 3e-3).astype(np.float32)
    y = ascend_cy.layernorm(x, gamma, beta)
    assert_layernorm(y, x, gamma, beta)
    nearest = round_to(layernorm64(x, gamma, beta).y, dtype)
    # One unit off is allowed, yet only where the exact value lies all but half-way between two numbers.
    assert np.mean(ordinals(y) != ordinals(nearest)) < 0.005


# ---- LN-8: many rows ----


@pytest.mark.parametrize("rows", [65535, 65536, 65537])
def test_many_rows(layernorm, dtype, rows):
    x = sample((rows, 8), dtype, mean=2.0, seed=26)
    assert_layernorm(layernorm(x), x)


def test_many_rows_of_one_and_two_columns():
    x = sample((300_000, 2), "float32", mean=2.0, seed=27)
    assert_layernorm(ascend_cy.layernorm(x), x)
    assert bits(ascend_cy.layernorm(x.reshape(-1, 1))) == bytes(x.nbytes)


def test_output_larger_than_the_cache(dtype):
    """Large enough for stores that bypass the cache, rows at uneven addresses."""
    x = sample((6000, 1003), dtype, mean=1.0, sigma=2.0, seed=28)
    gamma = sample(1003, dtype, mean=1.5, sigma=0.2, seed=29)
    y = ascend_cy.layernorm(x, gamma)
    assert_layernorm(y, x, gamma)
    assert bits(ascend_cy.layernorm(x[:7], gamma)) == bits(y[:7])


# ---- rows alone decide ----


def test_a_row_does_not_depend_on_its_neighbours(dtype):
    x = sample((101, 131), dtype, mean=-2.0, seed=30)
    y = ascend_cy.layernorm(x)
    for rows in (1, 2, 7, 100):
        assert bits(ascend_cy.layernorm(x[:rows])) == bits(y[:rows])
    assert bits(ascend_cy.layernorm(x[::-1])) == bits(y[::-1])


def test_all_paths_agree_bit_for_bit(layernorm, dtype):
    x = sample((17, 129), dtype, mean=3.0, seed=31)
    gamma = sample(129, dtype, mean=1.5, seed=32)
    assert bits(layernorm(x, gamma)) == bits(ascend_cy.layernorm(x, gamma))


# ---- mean and rstd ----


@pytest.mark.parametrize("columns", [1, 2, 33, 1000, 20000])
@pytest.mark.parametrize("ratio", [0.3, 30.0, 1e5])
def test_statistics(dtype, columns, ratio):
    if dtype != np.float32 and ratio > 1e3:
        ratio = 100.0
    x = sample((5, columns), dtype, mean=ratio, seed=33)
    expected = layernorm64(x)
    for y, mean, rstd in (
        ascend_cy.layernorm(x, return_stats=True),
        (array.to_numpy() for array in ascend_cy.layernorm(ascend_cy.asarray(x), return_stats=True)),
    ):
        assert_values(y, expected)
        assert mean.dtype == rstd.dtype == np.float32
        assert mean.shape == rstd.shape == (5,)
        np.testing.assert_allclose(mean, expected.mean, rtol=2e-7, atol=1e-6)
        np.testing.assert_allclose(rstd, expected.rstd, rtol=1e-6)


def test_statistics_of_rows_out_of_range():
    x = np.array([[1e30, -1e30, 2e30, -2e30], [3e38] * 4, [1e-40, 2e-40, 3e-40, 4e-40], [1, np.nan, 1, 1],
                  [1, np.inf, 1, 1]], np.float32)
    _, mean, rstd = ascend_cy.layernorm(x, eps=0.0, return_stats=True)
    expected = layernorm64(x, eps=0.0)
    np.testing.assert_allclose(mean[:3], expected.mean[:3], rtol=1e-6)
    assert rstd[0] == pytest.approx(expected.rstd[0], rel=1e-6)
    assert rstd[1] == np.inf
    assert rstd[2] == np.inf or rstd[2] == pytest.approx(expected.rstd[2], rel=1e-6)
    assert np.isnan(mean[3]) and np.isnan(rstd[3:]).all()
    assert not np.isfinite(mean[4])
