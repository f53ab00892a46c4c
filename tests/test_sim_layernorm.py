# SPDX-License-Identifier: Apache-2.0
"""The Ascend C LayerNorm under the simulator, every check on, without the package: values against float64."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
import simdriver  # noqa: E402

pytestmark = pytest.mark.skipif(simdriver.compiler() is None, reason="needs a C++ compiler")

FLOAT, FLOAT16, BF16 = 0, 1, 27
SUFFIX = {FLOAT: "fp32", FLOAT16: "fp16", BF16: "bf16"}
UB = 192 * 1024 - 256


class Args(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("x", "gamma", "beta", "y", "mean", "rstd")]
    _fields_ += [(n, ctypes.c_int64) for n in ("rows", "cols", "gamma_dtype", "beta_dtype", "rows_per_block",
                                               "tile_rows", "tile_cols")]
    _fields_ += [("eps", ctypes.c_double), ("inv_cols", ctypes.c_double)]


@pytest.fixture(scope="module")
def tiling():
    return simdriver.tiling_library("layernorm", "LayerNormArgs",
                                    "layernorm_npu_tiling_for(a, b, c, d, e, args)",
                                    extra="layernorm_npu_ub_needed")


@pytest.fixture(scope="module")
def binary():
    return simdriver.Binary(simdriver.build(simdriver.ROOT / "kernels/layernorm/layernorm.cpp"))


def encode(values, dtype):
    if dtype == FLOAT:
        return np.asarray(values, np.float32)
    if dtype == FLOAT16:
        return np.asarray(values, np.float32).astype(np.float16)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def decode(array, dtype):
    if dtype == BF16:
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def reference(x, gamma, beta, eps):
    mean = x.mean(1, keepdims=True)
    variance = ((x - mean) ** 2).mean(1, keepdims=True)
    y = (x - mean) / np.sqrt(variance + eps)
    if gamma is not None:
        y = y * gamma
    if beta is not None:
        y = y + beta
    return y, mean[:, 0], 1 / np.sqrt(variance[:, 0] + eps)


class Result:
    pass


def run(binary, tiling, x, *, dtype=FLOAT, gamma=None, beta=None, gamma_dtype=FLOAT, beta_dtype=FLOAT, eps=1e-5, cores=48,
        stats=True, in_place=False, threads=2):
    rows, cols = x.shape
    args = Args()
    blocks = tiling.fill(args, rows, cols, 4 if dtype == FLOAT else 2, cores, UB)
    source = encode(x, dtype)
    bx = simdriver.Buffer(source)
    by = bx if in_place else simdriver.Buffer(np.zeros_like(source))
    bg = None if gamma is None else simdriver.Buffer(encode(gamma, gamma_dtype))
    bb = None if beta is None else simdriver.Buffer(encode(beta, beta_dtype))
    bm = simdriver.Buffer(np.full(rows, 7, np.float32)) if stats else None
    br = simdriver.Buffer(np.full(rows, 7, np.float32)) if stats else None
    binary.launch(f"layernorm_{SUFFIX[dtype]}", blocks, bx, bg, bb, by, bm, br, rows, cols, gamma_dtype, beta_dtype,
                  args.rows_per_block, args.tile_rows, args.tile_cols, float(eps), 1.0 / cols, threads=threads)
    for buffer in (bx, by, bg, bb, bm, br):
        assert buffer is None or buffer.untouched_around()
    result = Result()
    result.y = decode(by.numpy(), dtype)
    result.raw = by.numpy()
    result.mean = bm.numpy() if stats else None
    result.rstd = br.numpy() if stats else None
    result.x = decode(source, dtype)
    result.gamma = None if gamma is None else decode(encode(gamma, gamma_dtype), gamma_dtype)
    result.beta = None if beta is None else decode(encode(beta, beta_dtype), beta_dtype)
    return result


def ulp(values, dtype):
    """The distance of neighbours in a 16-bit type around each value."""
    bits, smallest = (10, -14) if dtype == FLOAT16 else (7, -126)
    exponent = np.floor(np.log2(np.maximum(np.abs(values), 2.0**smallest)))
    return 2.0 ** (np.maximum(exponent, smallest) - bits)


def assert_close(result, dtype, eps):
    expected, mean, rstd = reference(result.x, result.gamma, result.beta, eps)
    largest = np.abs(expected).max(axis=1, keepdims=True)
    # Near zero a unit of a 16-bit type is less than what float arithmetic leaves of a row.
    tolerance = 1e-6 * largest if dtype == FLOAT else 3e-7 * largest + ulp(expected, dtype)
    assert np.all(np.abs(result.y - expected) <= tolerance)
    if result.mean is not None:
        spread = 1 / rstd
        assert np.all(np.abs(result.mean - mean) <= 5e-7 * (np.abs(mean) + spread))
        assert np.all(np.abs(result.rstd / rstd - 1) <= 1e-6)


SHAPES = [(1, 1), (3, 3), (5, 8), (7, 9), (4, 63), (100, 64), (97, 65), (33, 100), (300, 126), (1003, 7), (9, 512), (9, 513),
          (41, 768), (50, 1000), (64, 1024), (33, 1536), (20, 4096), (3, 5000), (3, 7900), (3, 8065), (2, 20000), (1, 100003)]


@pytest.mark.parametrize("dtype", [FLOAT16, BF16])
def test_16_bit_values_near_zero(binary, tiling, dtype):
    """Elements close to the mean: the mean's own rounding must not show in them. Without gamma and beta, that is all there is."""
    for rows, cols in [*((300, cols) for cols in range(1, 40)), (100, 109), (20, 257), (20, 1000), (9, 4097), (5, 20000)]:
        x = np.random.default_rng(2 + cols).normal(size=(rows, cols)) + 5
        result = run(binary, tiling, x, dtype=dtype)
        expected, _, _ = reference(result.x, None, None, 1e-5)
        largest = np.abs(expected).max(axis=1, keepdims=True)
        assert np.all(np.abs(result.y - expected) <= np.maximum(ulp(expected, dtype), 6e-8 * largest)), cols


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(binary, tiling, shape, dtype):
    rng = np.random.default_rng(shape[1])
    x = rng.normal(size=shape) + 1
    gamma, beta = rng.normal(size=shape[1]), rng.normal(size=shape[1])
    assert_close(run(binary, tiling, x, dtype=dtype, gamma=gamma, beta=beta), dtype, 1e-5)


@pytest.mark.parametrize("cores", [1, 2, 7, 20, 40, 48])
@pytest.mark.parametrize("shape", [(1, 5), (48, 40), (101, 257), (13, 1030), (50, 9001)], ids=str)
def test_core_counts_agree(binary, tiling, shape, cores):
    rng = np.random.default_rng(3)
    x = rng.normal(size=shape) * 3 - 2
    gamma = rng.normal(size=shape[1])
    one = run(binary, tiling, x, gamma=gamma, cores=1)
    other = run(binary, tiling, x, gamma=gamma, cores=cores, threads=3)
    assert_close(other, FLOAT, 1e-5)
    # Which rows share a tile must not show in the result.
    assert one.raw.tobytes() == other.raw.tobytes()
    assert one.mean.tobytes() == other.mean.tobytes() and one.rstd.tobytes() == other.rstd.tobytes()


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("weights", SUFFIX)
@pytest.mark.parametrize("which", ["gamma", "beta", "both", "neither"])
@pytest.mark.parametrize("cols", [40, 1000, 9000])
def test_mixed_weights(binary, tiling, dtype, weights, which, cols):
    rng = np.random.default_rng(5)
    gamma = rng.normal(size=cols) if which in ("gamma", "both") else None
    beta = rng.normal(size=cols) if which in ("beta", "both") else None
    result = run(binary, tiling, rng.normal(size=(5, cols)), dtype=dtype, gamma=gamma, beta=beta, gamma_dtype=weights,
                 beta_dtype=weights, stats=False)
    assert_close(result, dtype, 1e-5)


@pytest.mark.parametrize("cols", [1, 2, 7, 8, 9, 63, 100, 513, 1000, 4097, 8065, 20000, 100003])
@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_mean_far_from_zero(binary, tiling, cols, offset):
    x = (np.random.default_rng(cols).normal(size=(2, cols)) + offset).astype(np.float32)
    assert_close(run(binary, tiling, x), FLOAT, 1e-5)


@pytest.mark.parametrize("cols", [5, 100, 700, 9000])
def test_pivot_is_an_outlier(binary, tiling, cols):
    x = np.random.default_rng(1).normal(size=(3, cols))
    x[:, 0] = 1e4
    assert_close(run(binary, tiling, x), FLOAT, 1e-5)


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("eps", [1e-5, 0.0])
@pytest.mark.parametrize("cols", [1, 7, 64, 1000, 9001])
def test_constant_rows_give_beta_bit_for_bit(binary, tiling, dtype, eps, cols):
    x = np.full((3, cols), 7.7)
    x[1] = 1e4
    x[2] = 0.0
    beta = np.random.default_rng(2).normal(size=cols)
    result = run(binary, tiling, x, dtype=dtype, gamma=np.full(cols, 123.0), beta=beta, beta_dtype=dtype, eps=eps)
    assert (result.raw == encode(beta, dtype)).all()


@pytest.mark.parametrize("cols", [4, 100, 1000, 9000])
@pytest.mark.parametrize("scale,eps", [(1e30, 1e-5), (3e37, 0.0), (1e-30, 0.0), (1e-37, 1e-60)])
def test_squares_out_of_range(binary, tiling, cols, scale, eps):
    x = np.random.default_rng(6).normal(size=(3, cols))
    x[0] *= scale
    x[2] *= scale
    assert_close(run(binary, tiling, x), FLOAT, 1e-5)
    assert_close(run(binary, tiling, x, dtype=BF16), BF16, 1e-5)
    assert_close(run(binary, tiling, x[[0, 2]], eps=eps), FLOAT, eps)


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("cols", [4, 65, 1000, 9001])
def test_nan_and_infinity_stay_in_their_row(binary, tiling, dtype, cols):
    rng = np.random.default_rng(8)
    for position in {0, cols // 2, cols - 1}:
        x = rng.normal(size=(4, cols))
        clean = run(binary, tiling, x, dtype=dtype)
        x[1, position] = np.nan
        x[2, position] = np.inf
        result = run(binary, tiling, x, dtype=dtype)
        assert np.isnan(result.y[1]).all() and np.isnan(result.y[2]).all()
        assert (result.raw[[0, 3]] == clean.raw[[0, 3]]).all()


def test_known_values(binary, tiling):
    for m, expected in [(0, (-1.3416408, -0.0894427, 1.3416407)), (10000, (-1.3313334, -0.0887556, 1.3313334))]:
        y = run(binary, tiling, (m + np.arange(16) * 1e-3)[None]).y[0]
        assert np.allclose(y[[0, 7, 15]], expected, atol=1e-6)
    y = run(binary, tiling, np.array([[1e30, -1e30, 2e30, -2e30]])).y[0]
    assert np.allclose(y, [0.6324555, -0.6324555, 1.2649111, -1.2649111], atol=1e-6)
    y = run(binary, tiling, np.array([[512.0, -512, 512, -512]]), dtype=FLOAT16).y[0]
    assert y.tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize("cols", [100, 1000, 9000])
def test_in_place(binary, tiling, cols):
    x = np.random.default_rng(9).normal(size=(60, cols))
    x[5] *= 1e30
    assert run(binary, tiling, x, in_place=True).raw.tobytes() == run(binary, tiling, x).raw.tobytes()


def test_traffic_of_whole_rows(binary, tiling):
    """x once in, y once out, gamma and beta once a core."""
    rows, cols, cores = 480, 1024, 48
    rng = np.random.default_rng(0)
    run(binary, tiling, rng.normal(size=(rows, cols)), gamma=rng.normal(size=cols), beta=rng.normal(size=cols), cores=cores)
    report = binary.report()
    assert report["kernel"] == "layernorm_fp32" and report["completed"] and len(report["cores"]) == cores
    assert report["gm_read"] == rows * cols * 4 + cores * 2 * cols * 4
    assert report["gm_written"] == rows * cols * 4 + rows * 8
    assert report["bytes"]["MTE2"] == report["gm_read"] and report["bytes"]["MTE3"] == report["gm_written"]
    assert report["peak"]["UB"] <= UB


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("cores", [1, 7, 8, 20, 24, 40, 48, 72])
def test_tiling(tiling, itemsize, cores):
    """Every row exactly once, UB never exceeded, blocks within the cores."""
    widths = [1, 2, 7, 8, 9, 15, 16, 17, 64, 100, 511, 512, 513, 1000, 1024, 2047, 4096, 7936, 8000, 8001, 12288, 65536,
              100003, 2**31 + 3, 2**40]
    for ub in (UB, 256 * 1024 - 256, 248 * 1024 - 256):
        for cols in widths:
            for rows in (1, 2, 7, 47, 48, 49, 1000, 65535, 65537, 10**6, 2**33):
                args = Args()
                blocks = tiling.fill(args, rows, cols, itemsize, cores, ub)
                assert 1 <= blocks <= min(cores, 65535)
                assert args.rows_per_block * blocks >= rows > args.rows_per_block * (blocks - 1)
                assert args.inv_cols == 1.0 / cols
                assert args.tile_cols % 16 == 0 and args.tile_cols > 0
                held = max(args.tile_rows, 1)
                assert tiling.extra(held, args.tile_cols) <= ub
                if args.tile_rows:
                    assert cols <= args.tile_cols < cols + 64 and args.tile_rows <= min(248, args.rows_per_block)
                else:
                    assert args.tile_cols % 64 == 0 and args.tile_cols <= cols
    args = Args()
    assert tiling.fill(args, 0, 5, itemsize, cores, UB) == 0 and tiling.fill(args, 5, 0, itemsize, cores, UB) == 0
