# SPDX-License-Identifier: Apache-2.0
"""The Ascend C matmul under the simulator, every check on, without the package."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
import simdriver  # noqa: E402

pytestmark = pytest.mark.skipif(simdriver.compiler() is None, reason="needs a C++ compiler")

NAMES = ("batch", "m", "n", "k", "a_row_stride", "a_col_stride", "a_batch_stride", "b_row_stride", "b_col_stride",
         "b_batch_stride", "c_row_stride", "c_batch_stride", "tile_m", "tile_n", "tile_k", "tiles_per_block")


class Args(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("a", "b", "c")] + [(n, ctypes.c_int64) for n in NAMES]


@pytest.fixture(scope="module")
def tiling():
    call = "(args->batch = a, args->m = b, args->n = c, args->k = d, matmul_npu_tiling(e, args))"
    return simdriver.tiling_library("matmul", "MatmulArgs", call)


@pytest.fixture(scope="module")
def binary():
    return simdriver.Binary(simdriver.build(simdriver.ROOT / "kernels/matmul/matmul.cpp"))


def encode(x, dtype):
    x = np.asarray(x, np.float32)
    if dtype == "bf16":
        bits = x.view(np.uint32)
        return ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return x.astype(np.float16 if dtype == "fp16" else np.float32)


def decode(x):
    if x.dtype == np.uint16:
        x = (x.astype(np.uint32) << 16).view(np.float32)
    return x.astype(np.float64)


def product(binary, tiling, dtype, a, b, cores=48, pitch=None):
    """a of (batch, m, k) and b of (batch, k, n), with any strides; c has rows of `pitch` elements."""
    (batch, m, k), n = a.shape, b.shape[2]
    pitch = pitch or n
    args = Args()
    blocks = tiling.fill(args, batch, m, n, k, cores)
    assert 1 <= blocks <= cores
    buffers, starts, strides = [], [], []
    for x in (a, b):
        whole = x if x.base is None else x.base
        while whole.base is not None:
            whole = whole.base
        buffers.append(simdriver.Buffer(whole))
        starts.append(x.__array_interface__["data"][0] - whole.__array_interface__["data"][0])
        strides.append([s // x.itemsize for s in (x.strides[1], x.strides[2], x.strides[0])])
    buffers.append(simdriver.Buffer(np.zeros((batch, m, pitch), a.dtype)))
    pointers = [buffers[0].address + starts[0], buffers[1].address + starts[1], buffers[2]]
    binary.launch(f"matmul_{dtype}", blocks, *pointers, batch, m, n, k, *strides[0], *strides[1], pitch, m * pitch,
                  args.tile_m, args.tile_n, args.tile_k, args.tiles_per_block)
    assert all(buffer.untouched_around() for buffer in buffers)
    c = buffers[2].numpy().reshape(batch, m, pitch)
    assert (c[:, :, n:] == 0).all()
    return c[:, :, :n]


def assert_close(c, a, b, dtype):
    a, b = decode(a), decode(b)
    expected = a @ b
    tolerance = 2e-6 * (np.abs(a) @ np.abs(b))
    if dtype != "fp32":
        tolerance += np.maximum(np.abs(expected) * {"fp16": 2.0**-10, "bf16": 2.0**-7}[dtype], 2.0**-24)
    assert np.all(np.abs(decode(c) - expected) <= tolerance)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 1, 1, 100), (1, 7, 9, 8), (2, 33, 31, 65), (1, 64, 129, 64), (3, 1, 300, 5),
                                   (2, 40, 1, 130), (1, 32, 128, 1000), (1, 3, 2, 20011)], ids=str)
def test_values(binary, tiling, shape, dtype):
    batch, m, n, k = shape
    rng = np.random.default_rng(k)
    a, b = encode(rng.normal(size=(batch, m, k)), dtype), encode(rng.normal(size=(batch, k, n)), dtype)
    assert_close(product(binary, tiling, dtype, a, b), a, b, dtype)


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("form", ["a transposed", "b transposed", "both transposed", "one b for all", "backwards", "every other",
                                  "a row again and again", "wide c"])
def test_strides(binary, tiling, form, dtype):
    rng = np.random.default_rng(1)
    batch, m, n, k = 2, 35, 130, 67
    a, b = encode(rng.normal(size=(batch, m, k)), dtype), encode(rng.normal(size=(batch, k, n)), dtype)
    pitch = None
    if form in ("a transposed", "both transposed"):
        a = np.ascontiguousarray(a.transpose(0, 2, 1)).transpose(0, 2, 1)
    if form in ("b transposed", "both transposed"):
        b = np.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1)
    if form == "one b for all":
        b = np.broadcast_to(b[0], b.shape)
    elif form == "backwards":
        a, b = a[:, ::-1, ::-1], b[:, ::-1]
    elif form == "every other":
        a, b = np.repeat(a, 2, axis=2)[:, :, ::2], np.repeat(b, 3, axis=2)[:, :, ::3]
    elif form == "a row again and again":
        a = np.broadcast_to(a[:, :1], a.shape)
    elif form == "wide c":
        pitch = n + 5
    assert_close(product(binary, tiling, dtype, a, b, pitch=pitch), a, b, dtype)


@pytest.mark.parametrize("cores", [1, 2, 7, 20, 40])
def test_core_counts_agree(binary, tiling, cores):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(3, 70, 90)).astype("f4"), rng.normal(size=(3, 90, 150)).astype("f4")
    assert product(binary, tiling, "fp32", a, b, cores).tobytes() == product(binary, tiling, "fp32", a, b).tobytes()


def test_special_values(binary, tiling):
    a, b = np.ones((1, 3, 4), np.float16), np.ones((1, 4, 5), np.float16)
    a[0, 1, 2], b[0, 3, 4] = np.nan, np.inf
    a[0, 2] = 60000
    with np.errstate(all="ignore"):
        expected = (decode(a) @ decode(b)).astype(np.float16)
    assert np.array_equal(product(binary, tiling, "fp16", a, b), expected, equal_nan=True)


@pytest.mark.parametrize("cores", [-1, 0, 1, 2, 7, 20, 24, 40, 48, 65535, 10**6])
def test_tiling(tiling, cores):
    rng = np.random.default_rng(3)
    for _ in range(300):
        batch, m, n, k = (int(v) for v in 2 ** rng.uniform(0, [5, 14, 14, 14]))
        args = Args()
        blocks = tiling.fill(args, batch, m, n, k, cores)
        tiles = batch * -(-m // args.tile_m) * -(-n // args.tile_n)
        assert 1 <= blocks <= min(max(cores, 1), 65535)
        assert (blocks - 1) * args.tiles_per_block < tiles <= blocks * args.tiles_per_block
    for empty in ((0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1)):
        assert tiling.fill(Args(), *empty, cores) == 0
