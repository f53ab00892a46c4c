# SPDX-License-Identifier: Apache-2.0
"""LayerNorm in float64, correct rounding to the narrow types, and the tolerances that results are held to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

try:
    import ml_dtypes

    BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BFLOAT16 = None

# Significant bits, the exponent of the least normal number, and the largest finite number.
_FORMATS = {
    "float16": (11, -14, 65504.0),
    "bfloat16": (8, -126, float.fromhex("0x1.fep127")),
    "float32": (24, -126, float.fromhex("0x1.fffffep127")),
}

# DESIGN: float32 results lie this close to the float64 value, measured by the largest result of the row.
FLOAT32_BOUND = 1e-6


def dtype_named(name: str) -> np.dtype:
    if name != "bfloat16":
        return np.dtype(name)
    if BFLOAT16 is None:
        import pytest

        pytest.skip("bfloat16 not tested: ml_dtypes is not installed")
    return BFLOAT16


def round_to(values, dtype: np.dtype) -> np.ndarray:
    """float64 values rounded once, to nearest even, to `dtype`; beyond its range they are infinite."""
    values = np.asarray(values, np.float64)
    bits, least_exponent, largest = _FORMATS[np.dtype(dtype).name]
    with np.errstate(all="ignore"):
        exponent = np.frexp(values)[1] - 1
        quantum = np.ldexp(1.0, np.maximum(exponent, least_exponent) - (bits - 1))
        rounded = np.rint(values / quantum) * quantum
        rounded = np.where(np.abs(rounded) > largest, np.copysign(np.inf, values), rounded)
        rounded = np.where(np.isfinite(values), rounded, values)
        return rounded.astype(np.float32).astype(dtype)


def ordinals(values: np.ndarray) -> np.ndarray:
    """Integers that count the representable numbers, so that a difference of one is a unit in the last place."""
    wide = {2: np.int16, 4: np.int32}[values.dtype.itemsize]
    raw = np.ascontiguousarray(values).view(wide).astype(np.int64)
    return np.where(raw >= 0, raw, -(raw & ((1 << (8 * values.dtype.itemsize - 1)) - 1)))


@dataclass
class Reference:
    """What layernorm should give, as float64."""

    y: np.ndarray
    normalized: np.ndarray
    mean: np.ndarray
    rstd: np.ndarray
    scale: np.ndarray  # of each element: the largest term of its row, or its gamma times the largest normalized value


def layernorm64(x, gamma=None, beta=None, eps=1e-5, normalized_ndim=1) -> Reference:
    """LayerNorm of the given elements (already rounded to their dtype) in float64, by two passes."""
    x = np.asarray(x)
    wide = x.astype(np.float64)
    axes = tuple(range(x.ndim - normalized_ndim, x.ndim))
    if x.size == 0:
        stats = np.full(x.shape[: x.ndim - normalized_ndim], np.nan)
        return Reference(wide, wide, stats, stats, np.zeros([1] * x.ndim))
    with np.errstate(all="ignore"):
        # The mean around the first element: a constant row has deviations of exactly zero.
        pivot = wide[(..., *(slice(0, 1) for _ in axes))]
        shifted = wide - pivot
        shift = shifted.mean(axes, keepdims=True)
        deviation = shifted - shift
        variance = np.square(deviation).mean(axes, keepdims=True)
        rstd = 1.0 / np.sqrt(variance + eps)
        normalized = np.where(deviation == 0, 0.0, deviation * rstd)
        normalized = np.where(np.isfinite(shift), normalized, np.nan)
        g = 1.0 if gamma is None else np.asarray(gamma).astype(np.float64)
        b = 0.0 if beta is None else np.asarray(beta).astype(np.float64)
        y = normalized * g + b
        terms = np.abs(normalized * g) + np.abs(b)
        # The error of a row's statistics reaches each element as gamma has it, also where the element itself is small.
        reached = np.abs(normalized).max(axes, keepdims=True, initial=0.0) * np.abs(g)
        scale = np.fmax(terms.max(axes, keepdims=True, initial=0.0), reached)
    outer = x.shape[: x.ndim - normalized_ndim]
    return Reference(y, normalized, (pivot + shift).reshape(outer), rstd.reshape(outer), scale)


def describe_worst(y, reference, wrong) -> str:
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {y.size} elements; the first at {at}: got {y[at]!r}, float64 gives {reference[at]!r}"


def assert_layernorm(y, x, gamma=None, beta=None, eps=1e-5, normalized_ndim=1, bound=FLOAT32_BOUND) -> None:
    """`y` is layernorm of `x` to the accuracy that the design promises."""
    x = np.asarray(x)
    assert isinstance(y, np.ndarray), type(y)
    assert y.shape == x.shape, (y.shape, x.shape)
    assert y.dtype == x.dtype.newbyteorder("="), (y.dtype, x.dtype)
    expected = layernorm64(x, gamma, beta, eps, normalized_ndim)
    assert_values(y, expected, bound)


def assert_values(y: np.ndarray, expected: Reference, bound: float = FLOAT32_BOUND) -> None:
    rounded = round_to(expected.y, y.dtype)
    with np.errstate(all="ignore"):
        got = y.astype(np.float64)
        special = ~np.isfinite(rounded.astype(np.float64))
        same_special = (np.isnan(got) & np.isnan(expected.y)) | (got == rounded.astype(np.float64))
        if y.dtype == np.float32:
            # Results that underflow have no more digits than the smallest number.
            close = np.abs(got - expected.y) <= bound * expected.scale + 2.0**-149
        else:
            close = np.abs(ordinals(y) - ordinals(rounded)) <= 1
        wrong = np.where(special, ~same_special, ~close)
    assert not wrong.any(), describe_worst(y, expected.y, wrong)


def error_of(y: np.ndarray, expected: Reference) -> float:
    """Largest error of float32 results in units of each row's scale."""
    with np.errstate(all="ignore"):
        return float(np.nanmax(np.abs(y.astype(np.float64) - expected.y) / expected.scale, initial=0.0))


def bits(array: np.ndarray) -> bytes:
    """All bits of an array, to compare exactly."""
    return np.ascontiguousarray(array).tobytes()
