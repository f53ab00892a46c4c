"""vector_add and matmul from Python: values against float64, shapes, strides, and bad arguments."""

import ascend_cy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layernorm_strategies import seeds, strided, upload

ml_dtypes = pytest.importorskip("ml_dtypes")
FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]


def values(shape, dtype, seed=0, offset=1.0):
    return (np.random.default_rng(seed).normal(offset, 2, shape)).astype(dtype)


def on(where, array):
    return ascend_cy.asarray(array) if where == "device" else array


def host(result):
    return result.to_numpy() if isinstance(result, ascend_cy.DeviceArray) else result


def ulp(reference, dtype):
    """One unit in the last place of the reference, rounded to dtype."""
    bits = {np.float32: 23, np.float16: 10, ml_dtypes.bfloat16: 7}[dtype]
    least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    return np.maximum(2.0 ** (np.floor(np.log2(np.maximum(np.abs(reference), 1e-300))) - bits), least)


# ---- vector_add ----


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 0, 3), (1000, 33), (70001,)])
def test_sum_is_rounded_once(where, dtype, shape):
    a, b = values(shape, dtype, 1), values(shape, dtype, 2, offset=-3)
    y = host(ascend_cy.vector_add(on(where, a), on(where, b)))
    assert y.dtype == a.dtype and y.shape == a.shape
    np.testing.assert_array_equal(y, (a.astype("f8") + b.astype("f8")).astype(np.float32).astype(dtype))


@pytest.mark.parametrize("where", ["host", "device"])
def test_int32_wraps_around(where):
    a = np.array([2**31 - 1, -(2**31), 5], np.int32)
    y = host(ascend_cy.vector_add(on(where, a), on(where, np.array([1, -1, 6], np.int32))))
    np.testing.assert_array_equal(y, np.array([-(2**31), 2**31 - 1, 11], np.int32))


def test_nan_and_infinity_stay_in_place():
    a = np.array([1, np.nan, np.inf, -np.inf, 2], "f4")
    y = ascend_cy.vector_add(a, np.array([1, 1, 1, np.inf, 3], "f4"))
    np.testing.assert_array_equal(y, np.array([2, np.nan, np.inf, np.nan, 5], "f4"))


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("which", ["a", "b", "both"])
def test_in_place(where, which):
    a, b = values(5000, "f4", 1), values(5000, "f4", 2)
    expected = a + (a if which == "both" else b)
    x, y = on(where, a), on(where, b)
    out = x if which in ("a", "both") else y
    result = ascend_cy.vector_add(x, x if which == "both" else y, out=out)
    assert result is out
    np.testing.assert_array_equal(host(out), expected)


@pytest.mark.parametrize("where", ["host", "device"])
def test_strided_arguments_and_out(where):
    a, b = values((6, 8), "f4", 1), values((8, 6), "f4", 2)
    x, y = on(where, a), on(where, b)
    out = on(where, np.zeros((6, 16), "f4"))
    ascend_cy.vector_add(x[::-1, ::-1], y.T, out=out[:, ::2])
    np.testing.assert_array_equal(host(out)[:, ::2], a[::-1, ::-1] + b.T)
    np.testing.assert_array_equal(host(out)[:, 1::2], np.zeros((6, 8), "f4"))


@st.composite
def filled(draw, shape, dtype):
    """Elements of that shape, far from zero or not, a few of them special, in memory of any strides and alignment."""
    rng = np.random.default_rng(draw(seeds))
    if dtype == np.int32:
        array = rng.integers(-(2**31), 2**31, shape).astype(np.int32)
    else:
        scale = 10.0 ** draw(st.integers(-8, 4))
        array = ((rng.normal(draw(st.sampled_from([0, 3, -1000])), 2, shape)) * scale).astype(np.float32).astype(dtype)
        if array.size and draw(st.integers(0, 3)) == 0:
            special = draw(st.sampled_from([np.inf, -np.inf, np.nan, 0.0, -0.0, 6e4, 1e-7]))
            array.reshape(-1)[rng.integers(array.size)] = special
    return draw(strided(array))


def anywhere(array, where):
    """The array as an operator takes it: as it is, packed on the device, or a view of device memory with strides."""
    return array if where == "host" else upload(array, where == "strided")


places = st.sampled_from(["host", "device", "strided"])


@given(st.data(), st.sampled_from([*FLOATS, np.int32]), places)
@np.errstate(over="ignore", invalid="ignore")
def test_any_sum(data, dtype, where):
    shape = tuple(data.draw(st.lists(st.integers(0, 9), max_size=3))) + (data.draw(st.integers(0, 400)),)
    a, b = data.draw(filled(shape, dtype)), data.draw(filled(shape, dtype))
    expected = a + b if dtype == np.int32 else (a.astype("f8") + b.astype("f8")).astype(np.float32).astype(dtype)
    x, y = anywhere(a, where), anywhere(b, where)
    np.testing.assert_array_equal(host(ascend_cy.vector_add(x, y)), expected)
    if data.draw(st.booleans()):
        out = anywhere(np.full(shape, 7, dtype), where)
        assert ascend_cy.vector_add(x, y, out=out) is out
        np.testing.assert_array_equal(host(out), expected)
    else:  # in place
        assert ascend_cy.vector_add(x, y, out=x) is x
        np.testing.assert_array_equal(host(x), expected)


# ---- matmul ----


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((1, 1), (1, 1)),
        ((3, 5), (5, 2)),
        ((5,), (5, 2)),
        ((3, 5), (5,)),
        ((5,), (5,)),
        ((4, 3, 5), (5, 2)),
        ((3, 5), (4, 5, 2)),
        ((2, 3, 7, 5), (2, 3, 5, 9)),
        ((65, 130), (130, 67)),
        ((1, 700), (700, 300)),
        ((3, 0), (0, 4)),
        ((0, 3), (3, 4)),
        ((2, 0, 3), (3, 4)),
    ],
)
def test_product(where, dtype, left, right):
    a, b = values(left, dtype, 1), values(right, dtype, 2)
    y = host(ascend_cy.matmul(on(where, a), on(where, b)))
    reference = np.matmul(a.astype("f8"), b.astype("f8"))
    assert y.dtype == a.dtype and y.shape == reference.shape
    # Sums are float32: an error of K units in the last place of the largest partial sum, then one rounding.
    bound = np.matmul(np.abs(a.astype("f8")), np.abs(b.astype("f8"))) * 2.0**-23 * max(left[-1], 1) + ulp(reference, dtype)
    assert np.all(np.abs(y.astype("f8") - reference) <= bound)


@given(st.data(), st.sampled_from(FLOATS), places)
def test_any_product(data, dtype, where):
    """Against float64 at any shape, strides and values; what is no number stays in its row and column."""
    sides = st.one_of(st.integers(0, 9), st.integers(10, 150))
    m, k, n = data.draw(sides), data.draw(sides), data.draw(sides)
    batch = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2)))
    left, right = data.draw(st.sampled_from([(batch, batch), (batch, ()), ((), batch)]))
    rng = np.random.default_rng(data.draw(seeds))
    scale = 10.0 ** data.draw(st.integers(-2, 0 if dtype == np.float16 else 1))  # float16 ends at 65504
    a, b = ((rng.normal(data.draw(st.sampled_from([0, 1])), 1, shape) * scale).astype(np.float32).astype(dtype)
            for shape in ((*left, m, k), (*right, k, n)))
    spoiled = a.size > 0 and data.draw(st.integers(0, 4)) == 0
    if spoiled:
        place = int(rng.integers(a.size))
        a.reshape(-1)[place] = data.draw(st.sampled_from([np.nan, np.inf]))
    a, b = data.draw(strided(a)), data.draw(strided(b))
    y = host(ascend_cy.matmul(anywhere(a, where), anywhere(b, where)))
    wide_a, wide_b = a.astype("f8"), b.astype("f8")
    with np.errstate(invalid="ignore"):
        reference = np.matmul(wide_a, wide_b)
        assert y.dtype == a.dtype and y.shape == reference.shape
        bound = np.matmul(np.abs(wide_a), np.abs(wide_b)) * 2.0**-23 * max(k, 1)
        fine = np.isfinite(reference)
        error = np.abs(y.astype("f8") - reference)
    assert (error[fine] <= bound[fine] + ulp(reference[fine], dtype)).all()
    if spoiled:
        assert not np.isfinite(y.astype("f8")[~fine]).any()


@pytest.mark.parametrize("where", ["host", "device"])
def test_transposed_sliced_and_reversed_operands(where):
    a, b = values((40, 30), "f4", 1), values((50, 40), "f4", 2)
    x, y = on(where, a), on(where, b)
    for left, right, le, ri in [
        (x.T, y.T, a.T, b.T),
        (x[::2].T, y[:, ::2].T, a[::2].T, b[:, ::2].T),
        (x[::-1, ::-1].T, y[::-1].T, a[::-1, ::-1].T, b[::-1].T),
    ]:
        np.testing.assert_allclose(host(ascend_cy.matmul(left, right)), le.astype("f8") @ ri.astype("f8"), rtol=1e-4, atol=1e-4)


def test_what_out_held_does_not_matter():
    a, b = values((9, 4), "f4", 1), values((4, 6), "f4", 2)
    out = np.full((9, 6), np.nan, "f4")
    assert ascend_cy.matmul(a, b, out=out) is out
    np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)
    wide = np.full((9, 12), np.nan, "f4")
    ascend_cy.matmul(a, b, out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], out)
    assert np.isnan(wide[:, 1::2]).all()


def test_no_inner_axis_gives_zeros_and_nan_stays_in_its_row():
    np.testing.assert_array_equal(ascend_cy.matmul(np.zeros((2, 0), "f4"), np.zeros((0, 3), "f4")), np.zeros((2, 3), "f4"))
    a = values((4, 5), "f4")
    a[2, 3] = np.nan
    y = ascend_cy.matmul(a, values((5, 6), "f4"))
    np.testing.assert_array_equal(np.isnan(y).all(axis=1), [False, False, True, False])
    assert not np.isnan(y[[0, 1, 3]]).any()


# ---- bad arguments: the right exception, and nothing enqueued or left behind ----

F4 = np.ones((3, 4), "f4")
READ_ONLY = np.ones((3, 4), "f4")
READ_ONLY.flags.writeable = False
MEMORY = np.ones(40, "f4")


def sharing(shape, strides):
    """A writable array whose elements share memory."""
    return np.lib.stride_tricks.as_strided(np.zeros(40, "f4"), shape, strides)



@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ascend_cy.vector_add(F4.astype("f8"), F4.astype("f8")), TypeError, "a must have dtype .*float64"),
        (lambda: ascend_cy.vector_add(F4, F4.astype("f2")), TypeError, "b must have dtype float32 like a, got float16"),
        (lambda: ascend_cy.vector_add(F4, F4[0]), ValueError, r"b must have shape \(3, 4\) like a .*broadcast.*\(4,\)"),
        (lambda: ascend_cy.vector_add([1.0], F4), TypeError, "a must be an array"),
        (lambda: ascend_cy.vector_add(F4, ascend_cy.ones((3, 4))), TypeError, "b is a DeviceArray but a is in host memory"),
        (lambda: ascend_cy.vector_add(ascend_cy.ones((3, 4)), F4), TypeError, "b is in host memory"),
        (lambda: ascend_cy.vector_add(F4, F4, out=READ_ONLY), ValueError, "out is read-only"),
        (lambda: ascend_cy.vector_add(F4, F4, out=np.ones((4, 3), "f4")), ValueError, r"out must have shape \(3, 4\) like a"),
        (lambda: ascend_cy.vector_add(F4, F4, out=np.ones((3, 4), "i4")), TypeError, "out must have dtype float32 like a"),
        (lambda: ascend_cy.vector_add(MEMORY[:30], MEMORY[10:40], out=MEMORY[5:35]), ValueError, "out overlaps a in part"),
        (lambda: ascend_cy.vector_add(F4, F4, out=sharing((3, 4), (4, 4))), ValueError, "out has elements that share memory"),
        (lambda: ascend_cy.layernorm(F4, out=sharing((3, 4), (0, 4))), ValueError, "out has elements that share memory"),
        (lambda: ascend_cy.vector_add(F4, F4, stream=0), TypeError, "stream must be a Stream or None, got int"),
        (lambda: ascend_cy.matmul(F4, F4), ValueError, r"a and b do not fit: .*\(3, 4\) and \(3, 4\)"),
        (lambda: ascend_cy.matmul(F4[0, 0], F4), ValueError, "at least 1 axis"),
        (lambda: ascend_cy.matmul(F4, F4.T.astype("f2")), TypeError, "b must have dtype float32 like a, got float16"),
        (lambda: ascend_cy.matmul(F4.astype("i4"), F4.T.astype("i4")), TypeError, "a must have dtype .*int32"),
        (lambda: ascend_cy.matmul(np.ones((2, 3, 4), "f4"), np.ones((5, 4, 3), "f4")), ValueError, "batch axes differ"),
        (lambda: ascend_cy.matmul(np.ones((2, 3, 4), "f4"), np.ones((1, 2, 4, 3), "f4")), ValueError, "batch axes"),
        (lambda: ascend_cy.matmul(F4, F4.T, out=np.ones((4, 4), "f4")), ValueError, r"out must have shape \(3, 3\), got \(4, 4\)"),
        (lambda: ascend_cy.matmul(F4, F4.T, out=F4[:, :3]), ValueError, "out .*a"),
        (lambda: ascend_cy.matmul(F4, ascend_cy.ones((4, 3))), TypeError, "b is a DeviceArray but a is in host memory"),
    ],
)
def test_bad_arguments(call, error, message):
    before = ascend_cy.live_objects()
    allocations = ascend_cy.memory_stats()["in_use"]
    with pytest.raises(error, match=message):
        call()
    assert ascend_cy.current_stream().query()
    assert ascend_cy.live_objects() == before
    assert ascend_cy.memory_stats()["in_use"] == allocations
