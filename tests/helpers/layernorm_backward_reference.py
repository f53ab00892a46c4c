# SPDX-License-Identifier: Apache-2.0
"""The gradient of LayerNorm in float64, and the tolerances that results are held to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from layernorm_reference import ordinals, round_to

# float32 results lie this close to the float64 value, measured by the largest terms they are made of: of dx in its row,
# of dgamma and dbeta the sum of the terms' magnitudes over the rows.
BOUND = 1e-6


@dataclass
class Gradients:
    """What layernorm_backward should give, as float64, and the size of the terms behind each result."""

    dx: np.ndarray
    dgamma: np.ndarray
    dbeta: np.ndarray
    dx_scale: np.ndarray
    dgamma_scale: np.ndarray
    dbeta_scale: np.ndarray


def backward64(dy, x, rstd, gamma=None, normalized_ndim=1) -> Gradients:
    """The gradients for the given elements. The mean is taken from x; rstd, which depends on eps, is given."""
    dy, x = np.asarray(dy).astype(np.float64), np.asarray(x).astype(np.float64)
    axes = tuple(range(x.ndim - normalized_ndim, x.ndim))
    outer = tuple(range(x.ndim - normalized_ndim))
    if x.size == 0:
        zeros = np.zeros(x.shape[x.ndim - normalized_ndim :])
        return Gradients(x, zeros, zeros, x, zeros, zeros)
    with np.errstate(all="ignore"):
        rstd = np.asarray(rstd).astype(np.float64).reshape(x.shape[: x.ndim - normalized_ndim] + (1,) * normalized_ndim)
        pivot = x[(..., *(slice(0, 1) for _ in axes))]
        deviation = x - pivot
        deviation = deviation - deviation.mean(axes, keepdims=True)
        xhat = deviation * rstd
        g = dy if gamma is None else dy * np.asarray(gamma).astype(np.float64)
        a = g.mean(axes, keepdims=True)
        b = (g * xhat).mean(axes, keepdims=True)
        dx = rstd * (g - a - xhat * b)
        scale = rstd * (np.abs(g) + np.abs(a) + np.abs(xhat * b))
        # What float32 keeps of xhat is an error of its own next to 1, as a mean near xhat = 0 was taken off.
        size = np.abs(dy) * (np.abs(xhat) + 1)
        return Gradients(dx, (dy * xhat).sum(outer), dy.sum(outer), scale.max(axes, keepdims=True), size.sum(outer),
                         np.abs(dy).sum(outer))


def assert_gradient(name, got, expected, scale, bound=BOUND) -> None:
    """float32 within the bound; 16-bit within a unit in the last place of the rounded value, or within the bound."""
    rounded = round_to(expected, got.dtype)
    with np.errstate(all="ignore"):
        wide = got.astype(np.float64)
        close = np.abs(wide - expected) <= bound * scale + 2.0**-148
        if got.dtype != np.float32:
            close |= np.abs(ordinals(got) - ordinals(rounded)) <= 1
        finite = np.isfinite(rounded.astype(np.float64))
        # Beyond the range: infinity where the value rounds to it, or the largest number where it nearly did.
        wrong = np.where(finite, ~close, np.isfinite(wide) & ~close)
    assert not wrong.any(), (
        f"{name}: {int(wrong.sum())} of {got.size} elements; the first at {tuple(np.argwhere(wrong)[0])}: "
        f"got {wide[wrong][0]!r}, float64 gives {expected[wrong][0]!r}, scale {np.broadcast_to(scale, got.shape)[wrong][0]!r}"
    )


def assert_gradients(results, dy, x, rstd, gamma=None, normalized_ndim=1, bound=BOUND) -> None:
    """The three results have the shapes, dtypes and values that are promised."""
    dx, dgamma, dbeta = results
    x = np.asarray(x)
    expected = backward64(dy, x, rstd, gamma, normalized_ndim)
    assert (dx.shape, dx.dtype) == (x.shape, x.dtype.newbyteorder("="))
    assert_gradient("dx", dx, expected.dx, expected.dx_scale, bound)
    if gamma is None:
        assert dgamma is None and dbeta is None
        return
    gamma = np.asarray(gamma)
    for name, got in (("dgamma", dgamma), ("dbeta", dbeta)):
        assert (got.shape, got.dtype) == (gamma.shape, gamma.dtype.newbyteorder("="))
        assert_gradient(name, got, getattr(expected, name), getattr(expected, f"{name}_scale"), bound)
