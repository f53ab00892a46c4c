# SPDX-License-Identifier: Apache-2.0
"""The Ascend C LayerNorm backward under the simulator, every check on, without the package."""

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
    _fields_ = [(n, ctypes.c_uint64) for n in ("dy", "x", "mean", "rstd", "gamma", "dx", "workspace")]
    _fields_ += [(n, ctypes.c_int64) for n in ("rows", "cols", "gamma_dtype", "parts", "rows_per_part", "tile_rows",
                                               "tile_cols")]
    _fields_ += [("inv_cols", ctypes.c_double)]


class SumArgs(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("workspace", "dgamma", "dbeta")]
    _fields_ += [(n, ctypes.c_int64) for n in ("cols", "parts", "cols_per_block")]


@pytest.fixture(scope="module")
def tiling():
    return simdriver.tiling_library("layernorm_backward", "LayerNormBackwardArgs",
                                    "layernorm_backward_npu_tiling_for(a, b, c, d, args)",
                                    extra="layernorm_backward_npu_ub_needed")


@pytest.fixture(scope="module")
def sum_tiling():
    return simdriver.tiling_library("layernorm_backward", "LayerNormBackwardSumArgs",
                                    "((void)d, layernorm_backward_npu_sum_tiling(a, b, c, args))")


@pytest.fixture(scope="module")
def binary():
    return simdriver.Binary(simdriver.build(simdriver.ROOT / "kernels/layernorm_backward/layernorm_backward.cpp",
                                            neighbours=(simdriver.ROOT / "kernels/layernorm/layernorm_rows.h",)))


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


def backward(binary, tiling, sum_tiling, dy, x, *, dtype=FLOAT, gamma=None, gamma_dtype=FLOAT, grad_dtype=FLOAT, eps=1e-5,
             cores=48, want_dx=True, want_sums=True, in_place=False, threads=2):
    """dx, dgamma, dbeta, and the inputs as the kernel saw them; mean and rstd as a forward kernel writes them."""
    rows, cols = x.shape
    sx, sdy = encode(x, dtype), encode(dy, dtype)
    vx = decode(sx, dtype)
    mean = vx.mean(1)
    rstd = 1 / np.sqrt(vx.var(1) + eps)
    args, sums = Args(), SumArgs()
    blocks = tiling.fill(args, rows, cols, cores, UB, 0)
    pitch = (cols + 7) // 8 * 8
    bx, bdy = simdriver.Buffer(sx), simdriver.Buffer(sdy)
    bm, br = simdriver.Buffer(mean.astype(np.float32)), simdriver.Buffer(rstd.astype(np.float32))
    bg = None if gamma is None else simdriver.Buffer(encode(gamma, gamma_dtype))
    bdx = None if not want_dx else bdy if in_place else simdriver.Buffer(np.zeros_like(sx))
    bw = simdriver.Buffer(np.full((args.parts, 2, pitch), np.nan, np.float32)) if want_sums else None
    binary.launch(f"layernorm_backward_{SUFFIX[dtype]}", blocks, bdy, bx, bm, br, bg, bdx, bw, rows, cols, gamma_dtype,
                  args.parts, args.rows_per_part, args.tile_rows, args.tile_cols, 1.0 / cols, threads=threads)
    dgamma = dbeta = None
    if want_sums:
        bdg = simdriver.Buffer(encode(np.zeros(cols), grad_dtype))
        bdb = simdriver.Buffer(encode(np.zeros(cols), grad_dtype))
        blocks = sum_tiling.fill(sums, cols, args.parts, cores, 0, 0)
        binary.launch(f"layernorm_backward_sum_{SUFFIX[grad_dtype]}", blocks, bw, bdg, bdb, cols, args.parts,
                      sums.cols_per_block, threads=threads)
        assert bdg.untouched_around() and bdb.untouched_around()
        dgamma, dbeta = bdg.numpy(), bdb.numpy()
    for buffer in (bx, bdy, bm, br, bg, bdx, bw):
        assert buffer is None or buffer.untouched_around()
    seen_gamma = np.ones(cols) if gamma is None else decode(encode(gamma, gamma_dtype), gamma_dtype)
    return (bdx.numpy() if want_dx else None, dgamma, dbeta), (decode(sdy, dtype), vx, mean, rstd, seen_gamma)


def reference(dy, x, mean, rstd, gamma):
    xhat = (x - mean[:, None]) * rstd[:, None]
    g = dy * gamma
    dx = rstd[:, None] * (g - g.mean(1, keepdims=True) - xhat * (g * xhat).mean(1, keepdims=True))
    return dx, (dy * xhat).sum(0), dy.sum(0), np.abs(dy * xhat).sum(0), np.abs(dy).sum(0)


def assert_close(results, inputs, dtype=FLOAT, grad_dtype=FLOAT):
    dx, dgamma, dbeta = results
    edx, edgamma, edbeta, size_gamma, size_beta = reference(*inputs)
    dy, x, mean, rstd, gamma = inputs
    unit = {FLOAT: 0, FLOAT16: 2.0**-11, BF16: 2.0**-8}
    if dx is not None:
        scale = np.abs(rstd[:, None] * dy * gamma).max(1, keepdims=True)
        tolerance = 3e-6 * scale + unit[dtype] * np.abs(edx) + (2.0**-25 if dtype == FLOAT16 else 0)
        assert np.all(np.abs(decode(dx, dtype) - edx) <= tolerance)
    if dgamma is not None:
        extra = 2.0**-25 if grad_dtype == FLOAT16 else 0
        # Near the mean, xhat has an error of its own, that of the mean: some 2^-24 deviations.
        tolerance = 2e-6 * size_gamma + 1e-7 * size_beta + unit[grad_dtype] * np.abs(edgamma) + extra
        assert np.all(np.abs(decode(dgamma, grad_dtype) - edgamma) <= tolerance)
        assert np.all(np.abs(decode(dbeta, grad_dtype) - edbeta) <= 2e-6 * size_beta + unit[grad_dtype] * np.abs(edbeta) + extra)


@pytest.mark.parametrize("dtype", SUFFIX)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 8), (7, 9), (100, 64), (97, 65), (300, 126), (1003, 7), (9, 512),
                                   (9, 513), (50, 1000), (300, 1024), (20, 4096), (3, 4600), (35, 5003), (2, 20000)], ids=str)
def test_values(binary, tiling, sum_tiling, shape, dtype):
    rng = np.random.default_rng(shape[1])
    results, inputs = backward(binary, tiling, sum_tiling, rng.normal(size=shape), rng.normal(size=shape) + 1, dtype=dtype,
                               gamma=rng.normal(size=shape[1]), gamma_dtype=dtype, grad_dtype=dtype)
    assert_close(results, inputs, dtype, dtype)


@pytest.mark.parametrize("shape", [(5, 40), (6, 700), (3, 9000)], ids=str)
@pytest.mark.parametrize("want_dx,want_sums", [(True, False), (False, True)])
@pytest.mark.parametrize("with_gamma", [True, False])
def test_parts_of_the_result(binary, tiling, sum_tiling, shape, want_dx, want_sums, with_gamma):
    rng = np.random.default_rng(1)
    gamma = rng.normal(size=shape[1]) if with_gamma else None
    results, inputs = backward(binary, tiling, sum_tiling, rng.normal(size=shape), rng.normal(size=shape), gamma=gamma,
                               gamma_dtype=FLOAT16, want_dx=want_dx, want_sums=want_sums)
    assert (results[0] is not None) == want_dx and (results[1] is not None) == want_sums
    assert_close(results, inputs)


@pytest.mark.parametrize("cores", [1, 2, 7, 20, 40, 48])
@pytest.mark.parametrize("shape", [(1, 5), (1000, 40), (101, 257), (333, 1030), (70, 9001)], ids=str)
def test_results_do_not_depend_on_cores(binary, tiling, sum_tiling, shape, cores):
    rng = np.random.default_rng(3)
    dy, x, gamma = rng.normal(size=shape), rng.normal(size=shape) * 3 - 2, rng.normal(size=shape[1])
    one, _ = backward(binary, tiling, sum_tiling, dy, x, gamma=gamma, cores=1)
    other, _ = backward(binary, tiling, sum_tiling, dy, x, gamma=gamma, cores=cores, threads=3)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, other))


def test_mean_far_from_zero(binary, tiling, sum_tiling):
    """The float mean lacks up to half a unit of the last place, which is a good part of the deviation here."""
    rng = np.random.default_rng(4)
    x = (rng.normal(size=(40, 700)) + 1e6).astype(np.float32)
    assert_close(*backward(binary, tiling, sum_tiling, rng.normal(size=x.shape), x))
    x = (rng.normal(size=(4, 9000)) + 1e6).astype(np.float32)
    assert_close(*backward(binary, tiling, sum_tiling, rng.normal(size=x.shape), x))


def test_one_element_a_row(binary, tiling, sum_tiling):
    dy = np.random.default_rng(5).normal(size=(7, 1)).astype(np.float32)
    (dx, dgamma, dbeta), _ = backward(binary, tiling, sum_tiling, dy, np.full((7, 1), 1e6), gamma=np.array([123.0]))
    assert not dx.any() and not dgamma.any()
    (dx, _, dbeta), _ = backward(binary, tiling, sum_tiling, dy[:1], np.full((1, 1), 1e6))
    assert dbeta[0] == dy[0, 0] and not dx.any()


def test_sums_over_many_rows(binary, tiling, sum_tiling):
    x = np.tile(np.array([[-1.0, 1.0]], np.float32), (70000, 1))
    (dx, dgamma, dbeta), _ = backward(binary, tiling, sum_tiling, np.ones_like(x), x, gamma=np.ones(2))
    assert dbeta.tolist() == [70000, 70000]
    assert np.allclose(dgamma, [-69999.65, 69999.65], rtol=1e-5, atol=0)
    assert np.abs(dx).max() <= 1e-6
    (_, dgamma, dbeta), _ = backward(binary, tiling, sum_tiling, np.ones((40000, 3)), np.tile([[-1.0, 0, 1]], (40000, 1)),
                                     dtype=BF16, grad_dtype=FLOAT)
    assert dbeta.tolist() == [40000] * 3 and np.allclose(dgamma[[0, 2]], [-48989.43, 48989.43], rtol=1e-5)


def test_nan_stays_in_its_row(binary, tiling, sum_tiling):
    rng = np.random.default_rng(6)
    for shape in ((5, 100), (5, 1000), (5, 9000)):
        dy, x = rng.normal(size=shape), rng.normal(size=shape)
        (clean, _, _), _ = backward(binary, tiling, sum_tiling, dy, x)
        dy[2, 7] = np.nan
        (dx, _, dbeta), _ = backward(binary, tiling, sum_tiling, dy, x)
        assert np.isnan(dx[2]).all() and (dx[[0, 1, 3, 4]] == clean[[0, 1, 3, 4]]).all()
        assert np.isnan(dbeta[7]) and np.isfinite(np.delete(dbeta, 7)).all()


@pytest.mark.parametrize("shape", [(60, 100), (60, 1000), (40, 9000)], ids=str)
def test_in_place(binary, tiling, sum_tiling, shape):
    rng = np.random.default_rng(9)
    dy, x = rng.normal(size=shape), rng.normal(size=shape)
    (a, _, _), _ = backward(binary, tiling, sum_tiling, dy, x)
    (b, _, _), _ = backward(binary, tiling, sum_tiling, dy, x, in_place=True)
    assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("cores", [1, 7, 20, 24, 40, 48, 72])
def test_tiling(tiling, sum_tiling, cores):
    for ub in (UB, 256 * 1024 - 256):
        for cols in (1, 2, 7, 8, 9, 64, 511, 512, 513, 1000, 4096, 4672, 5000, 65536, 100003, 2**33 + 1):
            shape_only = None
            for rows in (1, 2, 7, 239, 240, 241, 1000, 65537, 10**6, 2**33):
                args = Args()
                blocks = tiling.fill(args, rows, cols, cores, ub, 0)
                assert 1 <= blocks <= min(cores, args.parts)
                assert args.rows_per_part * args.parts >= rows > args.rows_per_part * (args.parts - 1)
                assert tiling.extra(max(args.tile_rows, 1), args.tile_cols) <= ub
                if args.tile_rows:
                    assert cols <= args.tile_cols and args.tile_rows <= min(248, args.rows_per_part)
                else:
                    assert args.rows_per_part <= 32 and args.tile_cols % 64 == 0
                shape_only = Args()
                tiling.fill(shape_only, rows, cols, 1, ub, 0)
                assert (args.parts, args.rows_per_part, args.tile_rows) == (shape_only.parts, shape_only.rows_per_part,
                                                                           shape_only.tile_rows)
            sums = SumArgs()
            blocks = sum_tiling.fill(sums, cols, 240, cores, 0, 0)
            assert 1 <= blocks <= cores and sums.cols_per_block * blocks >= cols > sums.cols_per_block * (blocks - 1)
