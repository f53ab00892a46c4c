# SPDX-License-Identifier: Apache-2.0
"""Arrays of all shapes, strides, dtypes and kinds of values, for Hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from layernorm_reference import BFLOAT16, round_to

import ascend_cy

FLOATS = [np.dtype("f4"), np.dtype("f2")] + ([BFLOAT16] if BFLOAT16 is not None else [])

dtypes = st.sampled_from(FLOATS)
seeds = st.integers(0, 2**32 - 1)


def biased(rng, shape, mean, sigma):
    return mean + sigma * rng.standard_normal(shape)


@st.composite
def values(draw, shape, dtype):
    """Rows of one of the kinds that real data and mistakes bring, rounded to the dtype."""
    rng = np.random.default_rng(draw(seeds))
    largest = 3e4 if dtype == np.float16 else 1e25
    kind = draw(st.sampled_from(["normal", "offset", "rows", "few", "outlier", "scaled", "constant"]))
    event(kind)
    if kind == "normal":
        data = biased(rng, shape, 1.0, 1.0)
    elif kind == "offset":
        data = biased(rng, shape, draw(st.floats(-1e3, 1e3)), draw(st.floats(1e-3, 10)))
    elif kind == "rows":
        offset = largest ** rng.uniform(-0.5, 1, (*shape[:-1], 1))
        data = offset * (1 + 1e-2 * rng.standard_normal(shape))
    elif kind == "few":
        data = rng.choice([-2.0, 0.5, 3.0], shape)
    elif kind == "outlier":
        data = biased(rng, shape, 3.0, 0.5)
        if data.size:
            data.reshape(-1)[rng.integers(data.size)] = draw(st.sampled_from([1e4, -3e4, 600.0]))
    elif kind == "scaled":
        data = biased(rng, shape, 2.0, 1.0) * 2.0 ** draw(st.integers(-20, 10))
    else:
        data = np.full(shape, draw(st.floats(-3e4, 3e4, width=16)))
    return round_to(data, dtype)


@st.composite
def strided(draw, array):
    """The same elements in memory with other strides: padded, stepped, reversed, permuted."""
    if array.ndim == 0 or draw(st.booleans()):
        return array
    order = draw(st.permutations(range(array.ndim)))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in range(array.ndim)]
    moved = array.transpose(order)
    room = np.full([abs(s) * n + draw(st.integers(0, 3)) for s, n in zip(steps, moved.shape, strict=True)], 77.0)
    room = room.astype(array.dtype)
    view = room[tuple(slice(None, abs(s) * n, abs(s)) for s, n in zip(steps, moved.shape, strict=True))]
    view = view[tuple(slice(None, None, -1 if s < 0 else 1) for s in steps)]
    view[...] = moved
    return view.transpose(np.argsort(order))


def upload(array, how):
    """A device array of the same elements: packed, or a view with strides of its own."""
    if array is None:
        return None
    if how and array.ndim:
        room = ascend_cy.empty((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        view = room[..., 1::2]
        view.copy_from(array)
        return view
    return ascend_cy.asarray(array)
