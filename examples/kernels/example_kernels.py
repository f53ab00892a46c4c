"""The kernels of this folder as functions of DeviceArrays: each computes its tiling and launches."""

from functools import cache
from pathlib import Path

import ascend_cy
import numpy as np

CORES = 40  # vector cores of an Ascend 910B; more or fewer work as well
TILE = 4096  # float32 in the on-chip buffer at a time
LONGEST_SOFTMAX = 12288  # columns: three buffers of a row in 192 KiB


@cache
def kernel(name):
    """Compiled at the first use; later processes find it in the cache."""
    return ascend_cy.compile(Path(__file__).with_name(f"{name}.cpp")).kernel(name)


def checked(x, dtype, ndim):
    if x.dtype != dtype or x.ndim != ndim or not x.flags["c_contiguous"]:
        raise ValueError(f"a contiguous {np.dtype(dtype)} array with {ndim} axes is wanted, got {x.dtype} {x.shape}")
    return x


def tile_of(cols):
    return min(TILE, -(-cols // 8) * 8)


def gelu(x, *, stream=None):
    """x * sigmoid(1.702 x) for one axis of float32."""
    y = ascend_cy.empty(checked(x, "f4", 1).shape, stream=stream)
    if x.size:
        per_block = -(-(-(-x.size // CORES)) // 8) * 8
        kernel("gelu")[-(-x.size // per_block), stream](x, y, x.size, per_block, min(TILE, per_block))
    return y


def row_sum(x, *, stream=None):
    """Sums over the last axis of (rows, cols), float32."""
    rows, cols = checked(x, "f4", 2).shape
    y = ascend_cy.zeros(rows, stream=stream)
    if x.size:
        kernel("row_sum")[min(rows, CORES), stream](x, y, rows, cols, tile_of(cols))
    return y


def softmax(x, *, stream=None):
    """Softmax over the last axis of (rows, cols), float32."""
    rows, cols = checked(x, "f4", 2).shape
    if cols > LONGEST_SOFTMAX:
        raise ValueError(f"rows of at most {LONGEST_SOFTMAX} fit the on-chip buffer, got {cols}")
    y = ascend_cy.empty(x.shape, stream=stream)
    if x.size:
        kernel("softmax")[min(rows, CORES), stream](x, y, rows, cols)
    return y


def transpose(x, *, stream=None):
    """The transpose of (rows, cols), float16."""
    rows, cols = checked(x, "f2", 2).shape
    y = ascend_cy.empty((cols, rows), "f2", stream=stream)
    if x.size:
        tiles = -(-rows // 16) * -(-cols // 16)
        kernel("transpose")[min(tiles, CORES), stream](x, y, rows, cols)
    return y


def gather_rows(table, index, *, stream=None):
    """table[index] for float32 (rows, cols) and int32; NaN where there is no such row."""
    table_rows, cols = checked(table, "f4", 2).shape
    (rows,) = checked(index, "i4", 1).shape
    y = ascend_cy.empty((rows, cols), stream=stream)
    if y.size:
        kernel("gather_rows")[min(rows, CORES), stream](table, index, y, table_rows, rows, cols, tile_of(cols))
    return y
