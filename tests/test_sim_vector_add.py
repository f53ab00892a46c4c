# SPDX-License-Identifier: Apache-2.0
"""The Ascend C vector_add under the simulator, every check on, without the package."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
import simdriver  # noqa: E402

pytestmark = pytest.mark.skipif(simdriver.compiler() is None, reason="needs a C++ compiler")

UB = 192 * 1024 - 256


class Args(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("a", "b", "y")]
    _fields_ += [(n, ctypes.c_int64) for n in ("n", "elements_per_block", "tile_elements")]


@pytest.fixture(scope="module")
def tiling():
    return simdriver.tiling_library("vector_add", "VectorAddArgs", "vector_add_npu_tiling_for(a, b, c, d, args)")


@pytest.fixture(scope="module")
def binary():
    return simdriver.Binary(simdriver.build(simdriver.ROOT / "kernels/vector_add/vector_add.cpp"))


def add(binary, tiling, name, a, b, cores):
    args = Args()
    blocks = tiling.fill(args, a.size, a.itemsize, cores, UB, 0)
    buffers = [simdriver.Buffer(v) for v in (a, b, np.zeros_like(a))]
    binary.launch(f"vector_add_{name}", blocks, *buffers, a.size, args.elements_per_block, args.tile_elements)
    assert all(buffer.untouched_around() for buffer in buffers)
    return buffers[2].numpy()


SIZES = [1, 7, 8, 31, 32, 1000, 4096, 4097, 65536, 100003, 1 << 20]


@pytest.mark.parametrize("cores", [1, 2, 7, 20, 40, 48])
@pytest.mark.parametrize("n", SIZES)
def test_values(binary, tiling, n, cores):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(2, n)).astype(np.float32)
    assert (add(binary, tiling, "fp32", a, b, cores) == a + b).all()
    ha, hb = a.astype(np.float16), b.astype(np.float16)
    assert (add(binary, tiling, "fp16", ha, hb, cores) == ha + hb).all()
    ia, ib = rng.integers(-(2**31), 2**31, size=(2, n)).astype(np.int32)
    with np.errstate(over="ignore"):
        assert (add(binary, tiling, "int32", ia, ib, cores) == ia + ib).all()
    ba, bb = (v.view(np.uint32) >> 16 for v in (a, b))
    exact = ((ba << 16).view(np.float32) + (bb << 16).view(np.float32)).view(np.uint32)
    expected = ((exact + 0x7FFF + ((exact >> 16) & 1)) >> 16).astype(np.uint16)
    assert (add(binary, tiling, "bf16", ba.astype(np.uint16), bb.astype(np.uint16), cores) == expected).all()


def test_special_values(binary, tiling):
    a = np.array([np.inf, -np.inf, np.inf, np.nan, 65504, 6e-8, -0.0], np.float16)
    b = np.array([1, np.inf, np.inf, 1, 65504, 6e-8, 0.0], np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = a + b
    result = add(binary, tiling, "fp16", a, b, 48)
    assert np.array_equal(result, expected, equal_nan=True)


def test_traffic(binary, tiling):
    a = np.ones(100003, np.float32)
    add(binary, tiling, "fp32", a, a, 48)
    report = binary.report()
    assert report["gm_read"] == 2 * a.nbytes and report["gm_written"] == a.nbytes


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("cores", [1, 7, 8, 20, 24, 40, 48, 72, 100000])
def test_tiling(tiling, itemsize, cores):
    for ub in (UB, 256 * 1024 - 256):
        for n in [*range(1, 40), 511, 512, 513, 4095, 4096, 4097, 10**5, 10**6 + 1, 2**31 + 5, 2**42 + 1]:
            args = Args()
            blocks = tiling.fill(args, n, itemsize, cores, ub, 0)
            assert 1 <= blocks <= min(cores, 65535)
            assert args.elements_per_block * blocks >= n > args.elements_per_block * (blocks - 1)
            assert args.tile_elements > 0 and args.tile_elements * itemsize % 512 == 0
            assert args.tile_elements * (6 * itemsize + (8 if itemsize == 2 else 0)) <= ub
            if blocks > 1:
                assert args.elements_per_block * itemsize % 512 == 0
    args = Args()
    assert tiling.fill(args, 0, itemsize, cores, UB, 0) == 0
