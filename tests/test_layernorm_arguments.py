# SPDX-License-Identifier: Apache-2.0
"""What layernorm takes, and what it refuses: by type and message, before anything is enqueued, with nothing leaked."""

from __future__ import annotations

import array
import ctypes
import mmap
import re

import child
import embedded
import numpy as np
import pytest
from layernorm_reference import BFLOAT16, assert_layernorm, bits, dtype_named
from refusals import nothing_enqueued

import ascend_cy

FLOATS = ("float32", "float16", "bfloat16")


@pytest.fixture(params=FLOATS)
def dtype(request):
    return dtype_named(request.param)


def ramp(*shape, dtype="f4"):
    return (np.arange(np.prod(shape)) % 251 + 1).reshape(shape).astype(dtype)


def on_device(obj):
    return ascend_cy.asarray(obj)


# ---- refusals ----


def closed(obj):
    obj.close()
    return obj


def read_only(obj):
    obj = obj.copy()
    obj.flags.writeable = False
    return obj


def common_refusals():
    """Calls on ndarrays that are refused in the same words on device arrays: name, exception, message, arguments."""
    x = ramp(3, 4)
    w = ramp(4)
    return [
        # dtypes
        ("x float64", TypeError, r"x must have dtype float32, float16 or bfloat16, got float64", (x.astype("f8"),), {}),
        ("x int32", TypeError, r"x must have dtype .*, got int32", (x.astype("i4"),), {}),
        ("x uint8", TypeError, r"x must have dtype .*, got uint8", (x.astype("u1"),), {}),
        ("x bool", TypeError, r"x must have dtype .*, got bool", (x.astype("?"),), {}),
        ("gamma float64", TypeError, r"gamma must have dtype .*, got float64", (x, w.astype("f8")), {}),
        ("beta int64", TypeError, r"beta must have dtype .*, got int64", (x, None, w.astype("i8")), {}),
        # shapes
        ("x without axes", ValueError, r"x must have at least 1 axis", (np.array(1.0, "f4"),), {}),
        ("gamma too long", ValueError, r"gamma must have shape \(4,\).*got \(5,\)", (x, ramp(5)), {}),
        ("gamma too short", ValueError, r"gamma must have shape \(4,\).*got \(1,\)", (x, ramp(1)), {}),
        ("gamma without axes", ValueError, r"gamma must have shape \(4,\).*got \(\)", (x, np.array(2.0, "f4")), {}),
        ("gamma of the shape of x", ValueError, r"gamma must have shape \(4,\).*got \(3, 4\)", (x, x), {}),
        ("gamma with a row axis", ValueError, r"gamma must have shape \(4,\).*got \(1, 4\)", (x, ramp(1, 4)), {}),
        ("gamma empty", ValueError, r"gamma must have shape \(4,\).*got \(0,\)", (x, ramp(0)), {}),
        ("beta too long", ValueError, r"beta must have shape \(4,\).*got \(3,\)", (x, None, ramp(3)), {}),
        ("gamma of two axes too few", ValueError, r"gamma must have shape \(3, 4\).*got \(4,\)", (x, w),
         {"normalized_ndim": 2}),
        ("normalized_ndim 0", ValueError, r"normalized_ndim must be between 1 and the 2 axes of x, got 0", (x,),
         {"normalized_ndim": 0}),
        ("normalized_ndim 3", ValueError, r"normalized_ndim .*2 axes of x, got 3", (x,), {"normalized_ndim": 3}),
        ("normalized_ndim negative", ValueError, r"normalized_ndim .*got -1", (x,), {"normalized_ndim": -1}),
        ("normalized_ndim huge", ValueError, r"normalized_ndim .*got 5000000000", (x,), {"normalized_ndim": 5 * 10**9}),
        ("normalized_ndim float", TypeError, r"normalized_ndim must be an integer, got float", (x,),
         {"normalized_ndim": 1.0}),
        ("normalized_ndim None", TypeError, r"normalized_ndim must be an integer, got NoneType", (x,),
         {"normalized_ndim": None}),
        ("normalized_ndim bool", TypeError, r"normalized_ndim must be an integer, got bool", (x,),
         {"normalized_ndim": True}),
        # eps
        ("eps negative", ValueError, r"eps must be finite and not negative, got -1e-05", (x, None, None, -1e-5), {}),
        ("eps NaN", ValueError, r"eps must be finite and not negative, got nan", (x,), {"eps": np.nan}),
        ("eps infinite", ValueError, r"eps must be finite and not negative, got inf", (x,), {"eps": np.inf}),
        ("eps a string", TypeError, r"eps must be a number, got str", (x,), {"eps": "1e-5"}),
        ("eps None", TypeError, r"eps must be a number, got NoneType", (x,), {"eps": None}),
        ("eps complex", TypeError, r"eps must be a number, got complex", (x,), {"eps": 1e-5j}),
        ("eps bool", TypeError, r"eps must be a number, got bool", (x,), {"eps": True}),
        ("eps too large", (OverflowError, ValueError), r"eps|int too large", (x,), {"eps": 10**400}),
        # out
        ("out of another dtype", TypeError, r"out must have dtype float32 like x, got float16", (x,),
         {"out": x.astype("f2")}),
        ("out of another shape", ValueError, r"out must have shape \(3, 4\) like x, got \(4, 3\)", (x,),
         {"out": ramp(4, 3)}),
        ("out with another rank", ValueError, r"out must have shape \(3, 4\) like x, got \(12,\)", (x,),
         {"out": ramp(12)}),
        ("out one row too many", ValueError, r"out must have shape \(3, 4\) like x, got \(4, 4\)", (x,),
         {"out": ramp(4, 4)}),
        # stream
        ("stream a number", TypeError, r"stream must be a Stream or None, got int", (x,), {"stream": 0}),
        ("stream an event class", TypeError, r"stream must be a Stream or None, got type", (x,),
         {"stream": ascend_cy.Event}),
    ]


COMMON = common_refusals()


def refused(kind, message, *args, **kwargs):
    with nothing_enqueued(), pytest.raises(kind) as caught:
        ascend_cy.layernorm(*args, **kwargs)
    assert re.search(message, str(caught.value)), str(caught.value)
    # ValueError and TypeError themselves: an AclError would mean that the device had to say it.
    assert not isinstance(caught.value, ascend_cy.AclError)


def ids(cases):
    return [case[0] for case in cases]


@pytest.mark.parametrize("case", COMMON, ids=ids(COMMON))
def test_refused_on_host_arrays(case):
    _, kind, message, args, kwargs = case
    kept = [bits(a) if isinstance(a, np.ndarray) else a for a in (*args, kwargs.get("out"))]
    refused(kind, message, *args, **kwargs)
    assert [bits(a) if isinstance(a, np.ndarray) else a for a in (*args, kwargs.get("out"))] == kept


@pytest.mark.parametrize("case", COMMON, ids=ids(COMMON))
def test_refused_on_device_arrays(case):
    _, kind, message, args, kwargs = case
    args = [on_device(a) if isinstance(a, np.ndarray) else a for a in args]
    kwargs = {name: on_device(a) if isinstance(a, np.ndarray) else a for name, a in kwargs.items()}
    refused(kind, message, *args, **kwargs)


@pytest.mark.parametrize(
    ("x", "got"),
    [(None, "NoneType"), ([[1.0, 2.0]], "list"), (3.5, "float"), ("text", "str"), (object(), "object"), ({}, "dict")],
    ids=lambda value: str(value)[:12],
)
def test_what_is_no_array_is_refused(x, got):
    refused(TypeError, rf"x must be an array .*got {got}", x)
    if x is not None:
        refused(TypeError, rf"gamma must be an array .*got {got}", ramp(2, 2), x)
        refused(TypeError, rf"beta must be an array .*got {got}", ramp(2, 2), None, x)
        refused(TypeError, rf"out must be an array .*got {got}", ramp(2, 2), out=x)
        refused(TypeError, rf"gamma must be a DeviceArray, got {got}", on_device(ramp(2, 2)), x)


@pytest.mark.parametrize(
    "x",
    [np.array(["a", "b"]), np.array([b"a", b"b"]), np.array([1 + 2j], "c8"), np.array([None, 1], object),
     np.zeros(2, [("a", "f4")]), np.zeros(2, "M8[s]"), np.zeros(2, np.longdouble), np.zeros((2, 2), "V2"), b"bytes",
     bytearray(8), memoryview(b"12345678")],
    ids=["str", "bytes array", "complex64", "object", "record", "datetime", "longdouble", "void", "bytes", "bytearray",
         "memoryview of bytes"],
)
def test_other_dtypes_are_refused_by_name(x):
    refused(TypeError, r"^x (has|must have)( a)? dtype", x)
    refused(TypeError, r"^gamma (has|must have)( a)? dtype", ramp(1, 2), x)


def test_types_that_only_look_like_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="other narrow types not tested: ml_dtypes is not installed")
    for name in ("float8_e4m3fn", "float8_e5m2", "int4"):
        x = np.ones((2, 4), getattr(ml_dtypes, name))
        refused(TypeError, rf"x must have a dtype that devices have, got {name}", x)


def test_masked_arrays_are_refused():
    x = np.ma.masked_array(ramp(2, 3), mask=[[0, 1, 0], [0, 0, 0]])
    refused(TypeError, r"x must not be a masked array.*filled", x)
    refused(TypeError, r"out must not be a masked array", ramp(2, 3), out=x)


def test_read_only_out():
    x = ramp(3, 4)
    refused(ValueError, r"out is read-only", x, out=read_only(x))
    refused(ValueError, r"out is read-only", x, out=np.frombuffer(bytes(x.nbytes), "f4").reshape(3, 4))
    refused(ValueError, r"out is read-only", x, out=memoryview(x).toreadonly())
    refused(ValueError, r"out is read-only", x, out=np.broadcast_to(np.zeros(4, "f4"), (3, 4)))
    frozen = read_only(x)
    refused(ValueError, r"out is read-only", frozen, out=frozen)


@pytest.mark.parametrize("place", [lambda a: a, on_device], ids=["host", "device"])
def test_partly_overlapping_out(place):
    memory = place(ramp(64))
    x = memory[8:20].reshape(3, 4)
    for at in (0, 1, 4, 7, 9, 12, 19):
        refused(ValueError, r"out overlaps x in part", x, out=memory[at : at + 12].reshape(3, 4))
    refused(ValueError, r"out overlaps x in part", memory[0:24].reshape(6, 4)[::2],
            out=memory[4:28].reshape(6, 4)[:3])
    refused(ValueError, r"out overlaps x in part", memory[0:16].reshape(4, 4), out=memory[0:16].reshape(4, 4)[::-1])
    refused(ValueError, r"out must not share memory with gamma", x, memory[30:34],
            out=memory[24:36].reshape(3, 4))
    refused(ValueError, r"out must not share memory with beta", x, None, memory[35:39],
            out=memory[24:36].reshape(3, 4))
    row = memory[40:44]
    refused(ValueError, r"out must not share memory with gamma", place(ramp(4)), row, out=row)
    refused(ValueError, r"out must not share memory with gamma", row, row, out=row)


@pytest.mark.parametrize("place", [lambda a: a, on_device], ids=["host", "device"])
def test_neighbours_do_not_overlap(place):
    memory = place(ramp(64))
    expected = ramp(64)[8:20].reshape(3, 4)
    for at in (20, 40):
        y = ascend_cy.layernorm(memory[8:20].reshape(3, 4), out=memory[at : at + 12].reshape(3, 4))
        assert_layernorm(np.array(y) if place is not on_device else y.to_numpy(), expected)


def test_interleaved_rows_do_not_overlap():
    memory = ramp(6, 4)
    expected = memory[::2].copy()
    out = memory[1::2]
    ascend_cy.layernorm(memory[::2], out=out)
    assert_layernorm(out.copy(), expected)
    np.testing.assert_array_equal(memory[::2], expected)


def test_host_and_device_mixed():
    x, w = ramp(3, 4), ramp(4)
    refused(TypeError, r"gamma is a DeviceArray but x is in host memory.*asarray\(x\).*gamma\.to_numpy\(\)", x, on_device(w))
    refused(TypeError, r"beta is a DeviceArray but x is in host memory", x, w, on_device(w))
    refused(TypeError, r"out is a DeviceArray but x is in host memory", x, out=on_device(x))
    for host in (w, memoryview(w), array.array("f", w)):
        refused(TypeError, r"gamma is in host memory.*x is a DeviceArray.*asarray\(gamma\)", on_device(x), host)
    refused(TypeError, r"beta is in host memory", on_device(x), on_device(w), w)
    refused(TypeError, r"out is in host memory", on_device(x), out=x)


def test_closed_arguments():
    x, w = on_device(ramp(3, 4)), on_device(ramp(4))
    gone = closed(on_device(ramp(3, 4)))
    gone_weight = closed(on_device(ramp(4)))
    refused(ValueError, r"x is closed", gone)
    refused(ValueError, r"gamma is closed", x, gone_weight)
    refused(ValueError, r"beta is closed", x, w, gone_weight)
    refused(ValueError, r"out is closed", x, out=gone)
    stream = closed(ascend_cy.Stream())
    refused(ValueError, r"stream is closed", ramp(3, 4), stream=stream)
    refused(ValueError, r"stream is closed", x, stream=stream)


def test_out_in_foreign_byte_order():
    x = ramp(3, 4)
    refused(TypeError, r"out must be in native byte order, got >f4", x, out=x.astype(">f4"))


def test_arguments_by_position_and_name():
    x = ramp(2, 4)
    for args, kwargs in (((), {}), ((x, None, None, 1e-5, 1), {}), ((x,), {"axis": 1}), ((x,), {"x": x})):
        with nothing_enqueued(), pytest.raises(TypeError):
            ascend_cy.layernorm(*args, **kwargs)


def test_a_huge_x_that_is_not_there():
    """A shape of 2**62 bytes over one element: copied into contiguous memory it can only be refused."""
    x = np.broadcast_to(np.zeros((), "f4"), (1 << 30, 1 << 30))
    with nothing_enqueued(), pytest.raises((MemoryError, ValueError)):
        ascend_cy.layernorm(x)


# ---- IO-1: read-only inputs ----


@pytest.mark.parametrize("make", [
    read_only,
    lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    lambda a: memoryview(a).toreadonly(),
    lambda a: memoryview(a.tobytes()).cast("f", a.shape),
], ids=["flag", "frombuffer", "memoryview", "cast"])
def test_read_only_inputs(make):
    x, gamma, beta = ramp(3, 4), ramp(4), -ramp(4)
    frozen = [make(a) for a in (x, gamma, beta)]
    y = ascend_cy.layernorm(*frozen)
    assert_layernorm(y, x, gamma, beta)
    assert y.flags.writeable and y.flags.owndata and y.flags.c_contiguous
    assert [bytes(a) if isinstance(a, memoryview) else bits(a) for a in frozen] == [bits(a) for a in (x, gamma, beta)]
    moved = [on_device(a) for a in frozen]
    assert bits(ascend_cy.layernorm(*moved).to_numpy()) == bits(y)
    moved[0].copy_from(frozen[0])
    moved[0][1].copy_from(frozen[1])
    assert moved[0].to_numpy()[1].tolist() == gamma.tolist()


def test_inputs_stay_as_they_are(dtype):
    x, gamma, beta = ramp(5, 37, dtype=dtype), ramp(37, dtype=dtype), ramp(37, dtype=dtype)
    kept = [bits(a) for a in (x, gamma, beta)]
    ascend_cy.layernorm(x, gamma, beta)
    moved = [on_device(a) for a in (x, gamma, beta)]
    ascend_cy.layernorm(*moved)
    assert [bits(a) for a in (x, gamma, beta)] == kept
    assert [bits(a.to_numpy()) for a in moved] == kept


# ---- IO-2: strides ----


def strided_views():
    x = np.arange(12, dtype="f4").reshape(3, 4)
    big = ramp(4, 5, 6, 7)
    bytes_ = np.zeros(13 * 4 + 1, "u1")
    odd = bytes_[1:].view(np.uint8)[: 12 * 4].view("f4").reshape(3, 4)
    odd[...] = x
    yield from {
        "columns reversed": x[:, ::-1],
        "rows reversed": x[::-1],
        "both reversed": x[::-1, ::-1],
        "transposed": x.T,
        "Fortran": np.asfortranarray(x),
        "every second column": x[:, ::2],
        "every second row": x[::2],
        "one column": x[:, 1:2],
        "zero stride": np.broadcast_to(x[0], (5, 4)),
        "one element broadcast": np.broadcast_to(x[1, 1], (3, 4)),
        "sliding window": np.lib.stride_tricks.sliding_window_view(ramp(40), 7),
        "four axes": big.transpose(2, 0, 3, 1),
        "four axes with steps": big[::-2, 1::3, ::-1, ::2],
        "field of a record": np.zeros((3, 4), [("a", "i2"), ("b", "f4")])["b"],
        "new axis": x[:, None, :],
        "unaligned": odd,
        "diagonal": np.lib.stride_tricks.as_strided(x, (3, 2), (20, 4)),
    }.items()


VIEWS = dict(strided_views())


@pytest.mark.parametrize("name", VIEWS)
def test_any_strides(name):
    view = VIEWS[name]
    packed = np.array(view, order="C")
    expected = ascend_cy.layernorm(packed)
    assert_layernorm(expected, packed)
    assert bits(ascend_cy.layernorm(view)) == bits(expected)
    out = np.empty(view.shape, "f4")
    assert ascend_cy.layernorm(view, out=out) is out
    assert bits(out) == bits(expected)
    if view.flags.aligned:
        assert bits(ascend_cy.layernorm(memoryview(view))) == bits(expected)
    device = on_device(view)
    assert bits(ascend_cy.layernorm(device).to_numpy()) == bits(expected)
    target = ascend_cy.empty(view.shape)
    target.copy_from(view)
    assert bits(target.to_numpy()) == bits(packed)


def test_values_of_strided_rows():
    x = np.arange(12, dtype="f4").reshape(3, 4)
    y = ascend_cy.layernorm(x[:, ::-1])
    np.testing.assert_allclose(y, [[1.3416354, 0.4472118, -0.4472118, -1.3416354]] * 3, atol=2e-7, rtol=0)
    np.testing.assert_allclose(ascend_cy.layernorm(x.T), [[-1.2247443, 0, 1.2247443]] * 4, atol=2e-7, rtol=0)


DEVICE_VIEWS = {
    "columns reversed": np.s_[:, :, ::-1],
    "rows reversed": np.s_[::-1],
    "every second column": np.s_[..., ::2],
    "some rows": np.s_[1:, ::3],
    "one column": np.s_[:, :, 4],
    "new axis": np.s_[:, None, 2:5, 1:],
}


@pytest.mark.parametrize("name", DEVICE_VIEWS)
def test_strided_device_arrays(name, dtype):
    host = ramp(4, 7, 9, dtype=dtype)
    index = DEVICE_VIEWS[name]
    device = on_device(host)
    gamma = ramp(2 * host[index].shape[-1], dtype=dtype)
    y = ascend_cy.layernorm(device[index], on_device(gamma)[::2], on_device(gamma)[::-2])
    assert y.flags["c_contiguous"]
    assert_layernorm(y.to_numpy(), host[index], gamma[::2], gamma[::-2])
    assert_layernorm(ascend_cy.layernorm(device.T).to_numpy(), host.T)


def test_strided_weights():
    x = ramp(3, 4)
    pool = ramp(4, 8)
    for weight in (pool[0, ::2], pool[0, 3::-1], pool[:, 2], np.broadcast_to(np.float32(2), 4), pool.astype(">f4")[1, :4]):
        assert_layernorm(ascend_cy.layernorm(x, weight, weight), x, weight, weight)


@pytest.mark.parametrize("place", [lambda a: a, on_device], ids=["host", "device"])
def test_strided_out(place):
    x = ramp(3, 4)
    expected = ascend_cy.layernorm(x)
    memory = place(np.full((6, 8), 77, "f4"))
    for index in (np.s_[::2, ::2], np.s_[2::-1, 3::-1], np.s_[:3, 4:]):
        memory[...] = np.full((6, 8), 77, "f4")
        out = memory[index]
        assert ascend_cy.layernorm(place(x), out=out) is out
        whole = memory if place is not on_device else memory.to_numpy()
        untouched = np.full((6, 8), 77, "f4")
        untouched[index] = expected
        assert bits(whole) == bits(untouched)


def test_transposed_out():
    x = ramp(3, 4)
    out = np.empty((4, 3), "f4").T
    ascend_cy.layernorm(x, out=out)
    assert_layernorm(np.ascontiguousarray(out), x)
    device = ascend_cy.empty((4, 3))
    ascend_cy.layernorm(on_device(x), out=device.T)
    assert_layernorm(device.to_numpy().T.copy(), x)


# ---- IO-3: byte order ----


@pytest.mark.parametrize("name", [">f4", ">f2"])
def test_foreign_byte_order(name):
    x, gamma, beta = ramp(3, 4, dtype=name), ramp(4, dtype=name), -ramp(4, dtype=name)
    native = [a.astype(a.dtype.newbyteorder("=")) for a in (x, gamma, beta)]
    y = ascend_cy.layernorm(x, gamma, beta)
    assert y.dtype.isnative
    assert bits(y) == bits(ascend_cy.layernorm(*native))
    assert bits(ascend_cy.layernorm(x[:, ::-1], gamma)) == bits(ascend_cy.layernorm(native[0][:, ::-1], native[1]))
    assert bits(ascend_cy.layernorm(native[0], gamma, beta)) == bits(y)
    moved = [on_device(a) for a in (x, gamma, beta)]
    assert moved[0].dtype.isnative
    assert bits(moved[0].to_numpy()) == bits(native[0])
    assert bits(ascend_cy.layernorm(*moved).to_numpy()) == bits(y)
    moved[0].copy_from(2 * x)
    assert moved[0].to_numpy().tolist() == (2 * native[0]).tolist()


@pytest.mark.parametrize("kind", ["f4", "f2"])
def test_a_buffer_in_foreign_byte_order(kind):
    x = ramp(3, 4, dtype=">" + kind)
    try:
        y = ascend_cy.layernorm(memoryview(x))
    except TypeError as error:
        assert "byte order" in str(error)
    else:
        assert bits(y) == bits(ascend_cy.layernorm(x))


def test_bfloat16_in_foreign_byte_order():
    """Swapped bfloat16 is either read as the numbers that it holds, or refused by name."""
    x = ramp(3, 4, dtype=dtype_named("bfloat16"))
    try:
        swapped = x.astype(x.dtype.newbyteorder(">"))
    except (TypeError, ValueError):
        pytest.skip("NumPy makes no swapped bfloat16 here")
    if swapped.dtype.isnative:
        pytest.skip("ml_dtypes has no swapped bfloat16")
    assert bits(ascend_cy.layernorm(swapped)) == bits(ascend_cy.layernorm(x))


# ---- IO-4: the 16-bit types ----


def test_float16_buffers():
    x, gamma = ramp(4, 9, dtype="f2"), ramp(9, dtype="f2")
    y = ascend_cy.layernorm(memoryview(x), memoryview(gamma))
    assert isinstance(y, np.ndarray) and y.dtype == np.float16
    assert bits(y) == bits(ascend_cy.layernorm(x, gamma))
    assert on_device(memoryview(x)).dtype == np.float16


def test_bfloat16_in_bfloat16_out():
    x = ramp(4, 9, dtype=dtype_named("bfloat16"))
    with pytest.raises((ValueError, TypeError, BufferError)):
        memoryview(x)
    y = ascend_cy.layernorm(x)
    assert y.dtype == BFLOAT16 and y.itemsize == 2
    device = on_device(x)
    assert device.dtype == BFLOAT16 and device.itemsize == 2
    assert bits(device.to_numpy()) == bits(x)
    assert bits(ascend_cy.layernorm(device).to_numpy()) == bits(y)


NO_ML_DTYPES = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "ml_dtypes":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if sys.argv[1] == "absent":
    sys.meta_path.insert(0, Absent())
else:
    sys.modules["ml_dtypes"] = None
import numpy as np
import ascend_cy

x = np.arange(12, dtype=np.float16).reshape(3, 4)
y = ascend_cy.layernorm(x)
assert y.dtype == np.float16
assert ascend_cy.layernorm(memoryview(x)).tobytes() == y.tobytes()
assert ascend_cy.layernorm(ascend_cy.asarray(x)).to_numpy().tobytes() == y.tobytes()
assert ascend_cy.layernorm(x.astype("f4")).dtype == np.float32
assert ascend_cy.zeros(3, "int8").to_numpy().tolist() == [0, 0, 0]
for ask in (lambda: ascend_cy.empty(3, "bfloat16"), lambda: ascend_cy.zeros((2, 2), "bfloat16").fill(0)):
    try:
        ask()
    except (ImportError, TypeError) as error:
        assert "ml_dtypes" in str(error), error
    else:
        raise AssertionError("bfloat16 without ml_dtypes")
assert ascend_cy.live_objects()["buffers"] == 0
"""


@pytest.mark.parametrize("how", ["absent", "hidden"])
def test_without_ml_dtypes(tmp_path, how):
    child.check(NO_ML_DTYPES, tmp_path, args=[how])


# ---- other things that are arrays ----


class Interface:
    """Only an array interface."""

    def __init__(self, a):
        self.kept, self.__array_interface__ = a, a.__array_interface__


class Capsule:
    """Only DLPack."""

    def __init__(self, a):
        self.kept = a

    def __dlpack__(self, **kwargs):
        return self.kept.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.kept.__dlpack_device__()


class Subclass(np.ndarray):
    pass


def test_every_kind_of_array(tmp_path):
    x = ramp(3, 4)
    np.save(tmp_path / "x.npy", x)
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page[: x.nbytes] = x.tobytes()
    table = (ctypes.c_float * 4 * 3).from_buffer_copy(x)
    given = {
        "memmap": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "mmap": np.frombuffer(page, "f4", 12).reshape(3, 4),
        "ctypes": table,
        "interface": Interface(x),
        "dlpack": Capsule(x),
        "subclass": x.view(Subclass),
        "matrix": x.view(np.matrix),
        "pinned": ascend_cy.empty_pinned((3, 4)),
    }
    given["pinned"][...] = x
    for name, obj in given.items():
        y = ascend_cy.layernorm(obj)
        assert type(y) is np.ndarray, name
        assert bits(y) == bits(ascend_cy.layernorm(x)), name
    row = array.array("f", [1, 2, 3, 4])
    assert bits(ascend_cy.layernorm(row)) == bits(ascend_cy.layernorm(np.array(row)))
    del given, obj
    page.close()


def test_out_may_be_any_writable_buffer():
    x = ramp(3, 4)
    expected = bits(ascend_cy.layernorm(x))
    target = np.zeros((3, 4), "f4")
    view = memoryview(target)
    assert ascend_cy.layernorm(x, out=view) is view
    assert bits(target) == expected
    table = (ctypes.c_float * 4 * 3)()
    assert ascend_cy.layernorm(x, out=table) is table
    assert bytes(table) == expected
    sub = np.zeros((3, 4), "f4").view(Subclass)
    assert ascend_cy.layernorm(x, out=sub) is sub
    assert bits(sub) == expected


# ---- in place ----


def test_in_place(dtype):
    for shape in ((3, 4), (7, 1000), (300, 333)):
        x = ramp(*shape, dtype=dtype)
        gamma = ramp(shape[-1], dtype=dtype)
        expected = bits(ascend_cy.layernorm(x, gamma))
        device = on_device(x)
        assert ascend_cy.layernorm(device, on_device(gamma), out=device) is device
        assert bits(device.to_numpy()) == expected
        other = x[:]
        assert ascend_cy.layernorm(x, gamma, out=other) is other
        assert bits(x) == expected


def test_in_place_on_strided_memory():
    memory = ramp(6, 8)
    before = memory.copy()
    x = memory[::2, ::-2]
    expected = ascend_cy.layernorm(x)
    ascend_cy.layernorm(x, out=x)
    before[::2, ::-2] = expected
    assert bits(memory) == bits(before)
    device = on_device(ramp(6, 8))
    ascend_cy.layernorm(device[::2, ::-2], out=device[::2, ::-2])
    assert bits(device.to_numpy()) == bits(before)


def test_in_place_through_buffers():
    x = ramp(3, 4)
    expected = bits(ascend_cy.layernorm(x))
    ascend_cy.layernorm(memoryview(x), out=memoryview(x))
    assert bits(x) == expected


# ---- shapes, statistics, empties ----


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4, 5), (1, 1, 7), (2,) * 12, (3, 1, 1)])
def test_any_rank(shape, dtype):
    x = ramp(*shape, dtype=dtype)
    assert_layernorm(ascend_cy.layernorm(x), x)
    assert_layernorm(ascend_cy.layernorm(on_device(x)).to_numpy(), x)


def test_more_axes_than_are_kept_inline():
    x = ramp(*(1,) * 29, 2, 3)
    assert_layernorm(ascend_cy.layernorm(x, normalized_ndim=2), x, normalized_ndim=2)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_several_axes_normalized_together(ndim, dtype):
    x = ramp(2, 3, 4, 5, dtype=dtype)
    inner = x.shape[-ndim:]
    gamma, beta = ramp(*inner, dtype=dtype), -ramp(*inner, dtype=dtype)
    y, mean, rstd = ascend_cy.layernorm(x, gamma, beta, normalized_ndim=ndim, return_stats=True)
    assert_layernorm(y, x, gamma, beta, normalized_ndim=ndim)
    assert mean.shape == rstd.shape == x.shape[:-ndim]
    given = [on_device(a) for a in (x, gamma, beta)]
    device = ascend_cy.layernorm(*given, normalized_ndim=np.int64(ndim), return_stats=True)
    assert [bits(a.to_numpy()) for a in device] == [bits(a) for a in (y, mean, rstd)]
    assert [a.shape for a in device] == [y.shape, mean.shape, rstd.shape]


def test_all_axes_normalized():
    x = ramp(4, 5)
    y, mean, rstd = ascend_cy.layernorm(x, normalized_ndim=2, return_stats=True)
    assert_layernorm(y, x, normalized_ndim=2)
    assert mean.shape == rstd.shape == ()
    device = ascend_cy.layernorm(on_device(x), normalized_ndim=2, return_stats=True)
    assert device[1].shape == ()
    assert device[1].item() == mean


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (0,), (3, 0, 5), (3, 5, 0), (0, 2048)])
def test_empty_arrays(shape, dtype):
    """After a call with data: no launch, no division, the right shape and dtype back."""
    ascend_cy.layernorm(ramp(2, 3))
    x = np.empty(shape, dtype)
    weight = np.ones(shape[-1], dtype)
    with nothing_enqueued():
        y = ascend_cy.layernorm(x, weight, weight)
    assert (y.shape, y.dtype) == (shape, dtype)
    out = np.empty(shape, dtype)
    assert ascend_cy.layernorm(x, weight, out=out) is out
    device = ascend_cy.layernorm(on_device(x), on_device(weight))
    assert (device.shape, device.dtype) == (shape, dtype)
    assert device.to_numpy().shape == shape
    for given in (x, on_device(x)):
        y, mean, rstd = ascend_cy.layernorm(given, return_stats=True)
        assert mean.shape == rstd.shape == shape[:-1]
        for stat in (mean, rstd):
            values = stat if isinstance(stat, np.ndarray) else stat.to_numpy()
            assert np.isnan(values).all()


def test_empty_arrays_are_checked_like_others():
    x = np.empty((0, 4), "f4")
    refused(ValueError, r"gamma must have shape \(4,\)", x, ramp(3))
    refused(TypeError, r"x must have dtype", np.empty((0, 4)))
    refused(ValueError, r"eps", x, eps=-1.0)


def test_the_result_is_new_memory():
    x = ramp(3, 4)
    y = ascend_cy.layernorm(x)
    assert not np.shares_memory(x, y)
    device = on_device(x)
    assert ascend_cy.layernorm(device).ptr != device.ptr


# ---- host calls are synchronous, device calls are not ----


def test_a_host_call_is_complete_on_return(stream):
    embedded.require()
    x = ramp(40, 1000)
    with embedded.slow_kernels(30):
        assert_layernorm(ascend_cy.layernorm(x, stream=stream), x)
        small = ramp(2, 4)
        assert_layernorm(ascend_cy.layernorm(small, stream=stream), small)
        assert stream.query()


def test_a_device_call_returns_before_the_work_is_done(stream):
    embedded.require()
    x = on_device(ramp(300, 1000))
    ascend_cy.synchronize()
    with embedded.slow_kernels(50):
        y = ascend_cy.layernorm(x, stream=stream)
        assert not stream.query()
        stream.synchronize()
    assert_layernorm(y.to_numpy(), ramp(300, 1000))


def test_the_stream_given_is_the_stream_used(stream):
    """Behind a slow job on that stream the work waits; on another it does not."""
    import threading

    gate = threading.Event()
    x = on_device(ramp(3, 4))
    ascend_cy.synchronize()
    stream.add_callback(gate.wait, 30)
    y = ascend_cy.layernorm(x, stream=stream)
    with stream:
        z = ascend_cy.layernorm(x)
    assert not stream.query()
    assert_layernorm(ascend_cy.layernorm(x).to_numpy(), ramp(3, 4))
    assert not stream.query()
    gate.set()
    assert_layernorm(y.to_numpy(stream=stream), ramp(3, 4))
    assert_layernorm(z.to_numpy(stream=stream), ramp(3, 4))


def test_a_failed_launch_leaks_nothing():
    embedded.require()
    x = ramp(40, 1000)
    device = on_device(x)
    ascend_cy.synchronize()
    live = ascend_cy.live_objects()
    for name in ("aclrtLaunchKernelWithHostArgs",):
        for call in (lambda: ascend_cy.layernorm(x), lambda: ascend_cy.layernorm(device),
                     lambda: ascend_cy.layernorm(device, return_stats=True)):
            with embedded.faults(f"call={name}"), pytest.raises(ascend_cy.AclError) as caught:
                call()
            assert caught.value.function == name
            assert caught.value.code == 507899
            del caught
            assert ascend_cy.live_objects() == live
            call()
    assert ascend_cy.live_objects() == live


def test_a_faulting_kernel_is_an_error_that_names_it(stream):
    embedded.require()
    device = on_device(ramp(40, 1000))
    ascend_cy.synchronize()
    with embedded.faults("kernel=layernorm_fp32"), pytest.raises(ascend_cy.KernelError, match="layernorm_fp32"):
        ascend_cy.layernorm(device, stream=stream)
        stream.synchronize()
    with embedded.faults("kernel=layernorm_fp32"), pytest.raises(ascend_cy.KernelError, match="layernorm_fp32"):
        ascend_cy.layernorm(ramp(40, 1000), stream=ascend_cy.Stream())
    with ascend_cy.Stream():
        assert_layernorm(ascend_cy.layernorm(device).to_numpy(), ramp(40, 1000))
