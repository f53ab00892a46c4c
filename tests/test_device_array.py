# SPDX-License-Identifier: Apache-2.0
"""Device arrays: making, describing, indexing, copying, closing, and their lifetime."""

from __future__ import annotations

import array
import copy
import decimal
import fractions
import gc
import operator
import pickle
import re
import threading
import weakref

import embedded
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layernorm_reference import bits, dtype_named

import ascend_cy

NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
         "float32", "float64")


@pytest.fixture(params=NAMES)
def dtype(request):
    return dtype_named(request.param)


def ramp(*shape, dtype="f4"):
    return (np.arange(np.prod(shape)) % 120 + 1).reshape(shape).astype(dtype)


def unified() -> bool:
    return ascend_cy.device_info()["unified"]


def needs_unified():
    if not unified():
        pytest.skip(f"device memory is not host memory on {embedded.kind()}")


# ---- making ----


@pytest.mark.parametrize("shape", [(), 3, (3,), [2, 3], (2, 0, 3), (1,) * 5, np.int64(4), (np.int32(2), 3), range(1, 4),
                                   np.array([2, 2])], ids=str)
def test_shapes(shape, dtype):
    wanted = np.empty(shape).shape
    for made in (ascend_cy.empty(shape, dtype), ascend_cy.DeviceArray(shape, dtype)):
        like = np.empty(wanted, dtype)
        assert made.shape == wanted
        assert made.dtype == dtype
        assert (made.ndim, made.size, made.itemsize, made.nbytes) == (like.ndim, like.size, like.itemsize, like.nbytes)
        assert made.flags == {"c_contiguous": True, "writeable": True, "owndata": True}
        assert made.base is None and not made.closed and made.device == 0
        if like.size:
            assert made.strides == like.strides
            assert made.ptr % 64 == 0 and made.ptr != 0


def test_default_dtype():
    assert ascend_cy.empty(3).dtype == np.float32
    assert ascend_cy.zeros(3).dtype == ascend_cy.ones(3).dtype == ascend_cy.full(3, 2).dtype == np.float32
    assert ascend_cy.DeviceArray(3).dtype == np.float32


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (0, 4), (100_003,), (257, 1025)], ids=str)
def test_filled_arrays(shape, dtype):
    np.testing.assert_array_equal(ascend_cy.zeros(shape, dtype).to_numpy(), np.zeros(shape, dtype))
    np.testing.assert_array_equal(ascend_cy.ones(shape, dtype).to_numpy(), np.ones(shape, dtype))
    value = 1 if dtype == bool else 77
    np.testing.assert_array_equal(ascend_cy.full(shape, value, dtype).to_numpy(), np.full(shape, value, dtype))


@pytest.mark.parametrize("value", [0.1, -0.0, np.inf, np.nan, 1e-45, np.float32(1 / 3), np.float64(7)])
def test_fill_keeps_every_bit(value):
    assert bits(ascend_cy.full((3, 33), value).to_numpy()) == bits(np.full((3, 33), value, "f4"))
    device = ascend_cy.empty(1000)
    device.fill(value)
    assert bits(device.to_numpy()) == bits(np.full(1000, value, "f4"))


def test_fill_of_a_view_touches_nothing_else(dtype):
    host = ramp(6, 9, dtype=dtype)
    device = ascend_cy.asarray(host)
    for index in (np.s_[1:3], np.s_[:, ::2], np.s_[::-2, 3], np.s_[2, 4], np.s_[0:0], np.s_[..., 8:]):
        device[index].fill(1)
        host[index] = 1
        assert bits(device.to_numpy()) == bits(host)


@pytest.mark.parametrize(("dtype_", "value", "kind"), [
    ("int32", np.nan, ValueError), ("float32", "text", TypeError), ("float32", [1, 2], TypeError), ("float32", "3", TypeError),
    ("float32", None, TypeError), ("float32", 1j, TypeError), ("int8", object(), TypeError), ("int64", np.inf, OverflowError),
    ("float32", np.complex64(1), TypeError), ("int32", np.datetime64(5, "s"), TypeError), ("bool", None, TypeError),
    ("float32", np.zeros(1, "f4"), TypeError), ("uint8", 300, OverflowError), ("uint8", np.int64(300), OverflowError),
    ("uint8", -1, OverflowError), ("int8", np.float32(-129), OverflowError), ("int64", 2**63, OverflowError),
    ("uint16", np.array(70000), OverflowError), ("float32", 10**400, OverflowError), ("uint8", np.int64(300), OverflowError),
    ("uint8", np.float64(300.5), ValueError), ("int32", 1.5, ValueError), ("int8", -2.5, ValueError),
    ("int64", np.float16(0.5), ValueError), ("int32", decimal.Decimal("7.9"), ValueError),
    ("int32", fractions.Fraction(1, 3), ValueError), ("uint64", np.array(2.75), ValueError),
])
def test_fill_refuses_what_does_not_fit(dtype_, value, kind):
    device = ascend_cy.zeros(4, dtype_)
    live = ascend_cy.live_objects()
    with pytest.raises(kind) as caught:
        device.fill(value)
    if not (isinstance(value, int) and value == 10**400):  # that one is Python's own
        assert "value must be" in str(caught.value)
    with pytest.raises(kind):
        ascend_cy.full(4, value, dtype_)
    assert ascend_cy.live_objects() == live
    assert device.to_numpy().tolist() == [0] * 4


class Whole:
    """A number that knows little of numbers."""

    def __float__(self):
        return 3.0

    def __int__(self):
        return 3


@pytest.mark.parametrize(("dtype_", "value", "result"), [
    ("uint8", 255, 255), ("uint8", np.float64(2), 2), ("int8", -2.0, -2), ("uint64", 2**64 - 1, 2**64 - 1),
    ("int64", np.int64(-2**63), -2**63), ("bool", 3, True), ("bool", 0.0, False), ("float32", np.array(2.5), 2.5),
    ("float16", True, 1.0), ("int16", np.bool_(True), 1), ("float32", fractions.Fraction(1, 4), 0.25),
    ("int32", decimal.Decimal("7.0"), 7), ("int64", fractions.Fraction(2**60), 2**60), ("int64", Whole(), 3),
])
def test_fill_takes_every_number(dtype_, value, result):
    assert ascend_cy.full(3, value, dtype_).to_numpy().tolist() == [result] * 3


def test_items_refuse_what_does_not_fit():
    device = ascend_cy.zeros(4, "int32")
    for value in (1.5, np.float32(1.5), np.array(1.5)):
        with pytest.raises(ValueError, match=r"value must be a whole number for dtype int32, got .*1\.5"):
            device[1:] = value
    device[1:] = 2.0
    assert device.to_numpy().tolist() == [0, 2, 2, 2]


def test_arrays_are_compared_as_objects():
    """Documented: there is no comparison of elements."""
    x = ascend_cy.zeros(3)
    assert (x == x) is True and (x == ascend_cy.zeros(3)) is False and (x != x[:]) is True
    assert len({x, x, x[:]}) == 2


def test_empty_like():
    for prototype in (ramp(3, 4), ascend_cy.asarray(ramp(3, 4)), ramp(3, 4)[:, ::2], ascend_cy.zeros((3, 4))[::-1]):
        made = ascend_cy.empty_like(prototype)
        assert (made.shape, made.dtype) == (prototype.shape, prototype.dtype)
        assert made.flags["c_contiguous"]
        assert ascend_cy.empty_like(prototype, "int8").dtype == np.int8
    assert ascend_cy.empty_like(ramp(2, dtype=">f4")).dtype == np.dtype("f4")
    with pytest.raises(TypeError, match="prototype must be a DeviceArray or a numpy.ndarray, got list"):
        ascend_cy.empty_like([1, 2])


# ---- IO-6 and other bad shapes ----


@pytest.mark.parametrize("shape", [
    (2, 2, 5, 5581, 8681, 49477, 384773), (1 << 62,), (1 << 63,), (1 << 70,), (1 << 32, 1 << 32), (1 << 31, 1 << 31, 4),
    (3, 1 << 62), (0, 1 << 62, 1 << 62),
], ids=str)
@pytest.mark.parametrize("name", ["uint8", "float32", "float64"])
def test_sizes_beyond_the_address_space(shape, name):
    live = ascend_cy.live_objects()
    for make in (ascend_cy.empty, ascend_cy.zeros, ascend_cy.DeviceArray, ascend_cy.empty_pinned):
        if 0 in shape and make is not ascend_cy.empty:
            continue
        with pytest.raises((ValueError, OverflowError, MemoryError)) as caught:
            make(shape, name)
            pytest.fail(f"{make} made an array of {shape}")
        assert str(caught.value)
        del caught
    assert ascend_cy.live_objects() == live


@pytest.mark.parametrize(("shape", "kind", "message"), [
    ((-1, 4), ValueError, "negative.*-1"), (-3, ValueError, "negative.*-3"), ((2, -0x80000000), ValueError, "negative"),
    ((2.0, 3), TypeError, "integers, got float"), (2.5, TypeError, "shape must be .*got float"),
    ("3", TypeError, "integers, got str"), (None, TypeError, "shape must be .*got NoneType"),
    ((None,), TypeError, "integers, got NoneType"), ((True, 2), TypeError, "integers, got bool"),
    ((1,) * 65, ValueError, "at most 64 sides, got 65"), (object(), TypeError, "shape must be .*got object"),
    *[(what, TypeError, f"^shape must be an integer or a sequence of integers, got {type(what).__name__}$")
      for what in (b"3", b"", bytearray(b"3"), "", "12", {2, 3}, set(), frozenset({2}), {2: 3}, {}, {2: 3}.keys(), True)],
], ids=lambda value: str(value)[:20])
def test_shapes_that_cannot_be(shape, kind, message):
    for make in (ascend_cy.empty, ascend_cy.zeros, ascend_cy.ones, ascend_cy.DeviceArray, ascend_cy.empty_pinned):
        with pytest.raises(kind, match=message):
            make(shape)


@pytest.mark.parametrize(("name", "message"), [
    ("complex64", "got complex64"), ("object", "got object"), ("U3", "got <U3"), ("datetime64[s]", "got datetime64"),
    (">f4", "native byte order, got >f4"), (None, "dtype must be a data type, got None"), ("longdouble", "got"),
    ([("a", "f4")], "got"), ("nonsense", "nonsense"), (3, "."), ("V4", "got"),
], ids=str)
def test_dtypes_that_cannot_be(name, message):
    if name == "longdouble":
        name = np.longdouble
    for make in (ascend_cy.empty, ascend_cy.zeros, ascend_cy.DeviceArray, ascend_cy.empty_pinned):
        with pytest.raises(TypeError, match=message):
            make((2, 3), name)


def test_dtype_by_any_name():
    for name in ("f4", "float32", np.float32, np.dtype("f4"), "single", "<f4", "=f4"):
        assert ascend_cy.empty(2, name).dtype == np.float32
    assert ascend_cy.empty(2, float).dtype == np.float64
    assert ascend_cy.empty(2, bool).dtype == np.bool_
    assert ascend_cy.empty(2, np.longlong).dtype == ascend_cy.empty(2, "q").dtype == np.int64


def test_stream_arguments():
    for make in (lambda s: ascend_cy.empty(3, stream=s), lambda s: ascend_cy.zeros(3, stream=s),
                 lambda s: ascend_cy.asarray(ramp(3), stream=s), lambda s: ascend_cy.zeros(3).copy(s),
                 lambda s: ascend_cy.DeviceArray(3, stream=s), lambda s: ascend_cy.zeros(3).to_numpy(stream=s),
                 lambda s: ascend_cy.zeros(3).copy_from(ramp(3), s), lambda s: ascend_cy.zeros(3).fill(1, s)):
        with pytest.raises(TypeError, match="stream"):
            make(0)
        gone = ascend_cy.Stream()
        gone.close()
        with pytest.raises(ValueError, match="stream is closed"):
            make(gone)
        with ascend_cy.Stream() as stream:
            make(stream)


# ---- host data in and out ----


def test_round_trip(dtype):
    for shape in ((), (1,), (3, 5), (2, 0), (64, 1000)):
        host = ramp(*shape, dtype=dtype)
        device = ascend_cy.asarray(host)
        assert (device.shape, device.dtype) == (host.shape, host.dtype)
        back = device.to_numpy()
        assert type(back) is np.ndarray and back.dtype == host.dtype and bits(back) == bits(host)
        assert back.flags.writeable and back.flags.c_contiguous
        assert not np.shares_memory(back, host)


def test_asarray_of_other_things():
    assert ascend_cy.asarray([[1, 2], [3, 4]]).dtype == np.int64
    assert ascend_cy.asarray([1.5]).dtype == np.float64
    assert ascend_cy.asarray(2.5).shape == ()
    assert ascend_cy.asarray(array.array("f", [1, 2])).dtype == np.float32
    assert ascend_cy.asarray(memoryview(ramp(2, 3))).shape == (2, 3)
    assert ascend_cy.asarray(bytearray(b"abc")).to_numpy().tobytes() == b"abc"
    device = ascend_cy.asarray(ramp(3))
    assert ascend_cy.asarray(device) is device
    assert ascend_cy.asarray(device, "f4") is device
    assert ascend_cy.asarray(device, "i4").to_numpy().tolist() == [1, 2, 3]
    assert ascend_cy.asarray([1, 2], "float16").dtype == np.float16


@pytest.mark.parametrize(("obj", "message"), [
    (np.array(["a"]), "obj must have a dtype that devices have, got <U1"), (np.array([1j]), "obj must have a dtype that devices have, got complex128"), ([object()], "obj must have a dtype that devices have, got object"),
    (np.ma.masked_array([1.0], [True]), "obj must not be a masked array"), ({1, 2}, "obj must have a dtype that devices have, got object"),
    (np.zeros(2, [("a", "f4")]), "obj must have a dtype that devices have"), ("text", "obj must have a dtype that devices have, got <U4"), (b"bytes", r"obj must have a dtype that devices have, got \|S5"),
    (None, "obj must have a dtype that devices have, got object"),
], ids=lambda value: str(value)[:16])
def test_asarray_refuses(obj, message):
    live = ascend_cy.live_objects()
    with pytest.raises(TypeError, match=message):
        ascend_cy.asarray(obj)
    assert ascend_cy.live_objects() == live


def test_asarray_of_a_closed_array():
    device = ascend_cy.zeros(3)
    device.close()
    for dtype_ in (None, "f4", "i4"):
        with pytest.raises(ValueError, match="obj is closed"):
            ascend_cy.asarray(device, dtype_)


@pytest.mark.parametrize("order", [">", "<"])
@pytest.mark.parametrize("name", ["i2", "u4", "i8", "f2", "f4", "f8"])
def test_byte_order(name, order):
    host = ramp(3, 4, dtype=order + name)
    device = ascend_cy.asarray(host)
    assert device.dtype == np.dtype(name) and device.dtype.isnative
    assert device.to_numpy().tolist() == host.tolist()
    device = ascend_cy.zeros((3, 4), name)
    device.copy_from(host[::-1])
    assert device.to_numpy().tolist() == host[::-1].tolist()
    target = np.zeros((3, 4), order + name)
    if target.dtype.isnative:
        assert device.to_numpy(out=target) is target
    else:
        with pytest.raises(TypeError, match=f"out must be in native byte order, got {order}{name}"):
            device.to_numpy(out=target)
        assert not target.any()


HOST_VIEWS = [np.s_[:], np.s_[::-1], np.s_[:, ::-1], np.s_[:, ::2], np.s_[1:3, 2:5], np.s_[::-2, ::-3], np.s_[:, 1],
              np.s_[2], np.s_[None, ..., 3:], np.s_[1, 2, ...]]


@pytest.mark.parametrize("index", HOST_VIEWS, ids=str)
def test_strided_host_data(index, dtype):
    host = ramp(4, 7, dtype=dtype)
    for view in (host[index], np.asfortranarray(host)[index], host.T.T[index]):
        device = ascend_cy.asarray(view)
        assert bits(device.to_numpy()) == bits(view)
        target = ascend_cy.empty(view.shape, dtype)
        target.copy_from(view)
        assert bits(target.to_numpy()) == bits(view)
        back = np.zeros((4, 7), dtype)
        assert device.to_numpy(out=back[index]).base is back
        assert bits(back[index]) == bits(view)
        back[index] = 0
        assert not back.astype(bool).any()


def test_copies_into_buffers():
    device = ascend_cy.asarray(ramp(2, 3))
    target = array.array("f", [0] * 6)
    device.copy_to(memoryview(target).cast("B").cast("f", (2, 3)))
    assert target.tolist() == [1, 2, 3, 4, 5, 6]
    frozen = memoryview(target).toreadonly().cast("B").cast("f", (2, 3))
    device.fill(0)
    device.copy_from(frozen)
    with pytest.raises(ValueError, match="read-only"):
        device.copy_to(frozen)
    with pytest.raises(ValueError, match="read-only"):
        device.to_numpy(out=np.broadcast_to(np.zeros(3, "f4"), (2, 3)))
    assert device.to_numpy().tolist() == ramp(2, 3).tolist()


@pytest.mark.parametrize("target", [[[0, 0, 0], [0, 0, 0]], [0.0], None, 3, "text", {1: 2}], ids=str)
def test_copies_into_no_buffer_are_refused(target):
    """NumPy makes a temporary array of a list; the data must not vanish in it."""
    for device in (ascend_cy.zeros((2, 3), "int64"), ascend_cy.zeros((1,), "float64"), ascend_cy.zeros((), "int64")):
        with pytest.raises((TypeError, ValueError)):
            device.copy_to(target)
        if target is not None:  # out=None asks for a new array
            with pytest.raises((TypeError, ValueError)):
                device.to_numpy(out=target)


@pytest.mark.parametrize(("source", "kind", "message"), [
    (ramp(2, 3, dtype="f8"), TypeError, "source must have dtype float32, got float64"),
    (ramp(2, 3, dtype="f2"), TypeError, "source must have dtype float32, got float16"),
    (np.zeros((2, 3), "c8"), TypeError, "source .*complex64"), (ramp(3, 2), ValueError, r"must have shape \(2, 3\), got \(3, 2\)"),
    (ramp(6), ValueError, r"must have shape \(2, 3\), got \(6,\)"), (ramp(1, 3), ValueError, r"got \(1, 3\)"),
    (np.float32(1), ValueError, r"got \(\)"), (np.array([["a"] * 3] * 2), TypeError, "source must have a dtype that devices have, got <U1"),
    (np.ma.masked_array(ramp(2, 3)), TypeError, "source must not be a masked array"), (None, TypeError, "source"),
], ids=lambda value: str(value)[:14])
def test_copy_from_refuses(source, kind, message):
    device = ascend_cy.asarray(ramp(2, 3))
    ascend_cy.synchronize()
    with pytest.raises(kind, match=message):
        device.copy_from(source)
    if isinstance(source, np.ndarray) and source.dtype.kind in "f" and not np.ma.isMaskedArray(source):
        with pytest.raises(kind, match=message):
            device.copy_from(ascend_cy.asarray(source))
        with pytest.raises(kind, match=message.replace("source", "(target|source)")):
            device.copy_to(source)
    assert device.to_numpy().tolist() == ramp(2, 3).tolist()


@pytest.mark.parametrize("slow", [0, 60])
def test_the_source_may_change_after_copy_from(slow, stream):
    """Ordinary memory is read before the call returns, also where the stream is busy."""
    import time

    host = ramp(1000)
    device = ascend_cy.zeros(1000)
    ascend_cy.synchronize()
    if slow:
        stream.add_callback(time.sleep, slow / 1000)
    device.copy_from(host, stream)
    host[:] = -1
    assert bits(device.to_numpy(stream=stream)) == bits(ramp(1000))
    made = ascend_cy.asarray(host, stream=stream)
    host[:] = -2
    assert (made.to_numpy(stream=stream) == -1).all()


def test_pinned_sources_are_kept_until_the_copy_has_passed(stream):
    gate = threading.Event()
    device = ascend_cy.zeros(1000)
    ascend_cy.synchronize()
    pinned = ascend_cy.empty_pinned(1000)
    pinned[:] = ramp(1000)
    gone = weakref.ref(pinned.base if pinned.base is not None else pinned)
    stream.add_callback(gate.wait, 30)
    device.copy_from(pinned, stream)
    assert not stream.query(), "a copy from pinned memory waits for the stream"
    del pinned
    gc.collect()
    assert gone() is not None
    other = ascend_cy.empty_pinned(1000)  # must be other memory
    other[:] = -1
    gate.set()
    assert bits(device.to_numpy(stream=stream)) == bits(ramp(1000))
    stream.synchronize()
    assert ascend_cy.live_objects()["pinned"] == 1
    assert gone() is None


def test_part_of_a_pinned_array(stream):
    pinned = ascend_cy.empty_pinned((50, 40))
    pinned[...] = ramp(50, 40)
    for view in (pinned[10:20], pinned[3, 5:], pinned[:, ::2], pinned.T):
        assert bits(ascend_cy.asarray(view, stream=stream).to_numpy(stream=stream)) == bits(view)
    device = ascend_cy.zeros((10, 40))
    device.to_numpy(out=pinned[5:15])
    assert not pinned[5:15].any() and pinned[4].all() and pinned[15].all()


# ---- description ----


def test_repr_waits_for_nothing(stream):
    gate = threading.Event()
    stream.add_callback(gate.wait, 30)
    device = ascend_cy.zeros((3, 4), "float16", stream=stream)
    text = repr(device)
    assert not stream.query()
    gate.set()
    assert "shape=(3, 4)" in text and "float16" in text and f"0x{device.ptr:x}" in text
    assert "strides=(2, 8)" in repr(device.T)
    device.close()
    assert "closed" in repr(device)


def test_it_is_no_number_and_no_sequence_of_numbers():
    device = ascend_cy.zeros((2, 3))
    with pytest.raises(ValueError, match="ambiguous: use to_numpy"):
        bool(device)
    for convert in (int, float, complex, operator.index):
        with pytest.raises(TypeError, match=r"\(2, 3\)"):
            convert(device)
    with pytest.raises(TypeError):
        device + np.ones((2, 3), "f4")
    with pytest.raises(TypeError):
        np.ones((2, 3), "f4") * device
    assert len(device) == 2
    assert [row.shape for row in device] == [(3,), (3,)]
    nothing = ascend_cy.zeros(())
    for ask in (len, iter):
        with pytest.raises(TypeError, match="without axes"):
            ask(nothing)
    assert device == device and device != ascend_cy.zeros((2, 3))
    assert len({device, device}) == 1
    assert ascend_cy.full((), 7, "int32").item() == 7
    with pytest.raises(ValueError):
        device.item()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_one_element_is_a_number(shape, dtype):
    """Like NumPy's arrays of one element; the number, not the text that int() and float() see in a buffer."""
    for value in (0, 1, 51):
        device = ascend_cy.full(shape, value, dtype)
        number = int(bool(value)) if dtype == "bool" else value
        assert (int(device), float(device), complex(device), bool(device)) == (number, number, number, bool(value))
        assert [type(convert(device)) for convert in (int, float, complex, bool)] == [int, float, complex, bool]
        if shape == () and np.dtype(device.dtype).kind in "iu":
            assert operator.index(device) == value and list(range(100))[device] == value
        else:
            with pytest.raises(TypeError, match="only integer arrays without axes"):
                operator.index(device)


def test_numbers_of_empty_and_closed_arrays():
    nothing = ascend_cy.zeros(0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nothing)
    with pytest.raises(TypeError, match="one element"):
        int(nothing)
    closed = ascend_cy.ones(1)
    closed.close()
    for convert in (bool, int, float, complex):
        with pytest.raises(ValueError, match="closed"):
            convert(closed)
    with pytest.raises(IndexError, match="integers, slices"):
        ascend_cy.zeros(3)[ascend_cy.zeros(2, "int32")]


def test_flags_of_foreign_memory():
    ours = ascend_cy.zeros(6)
    assert ours.flags["owndata"] and not ours[2:].flags["owndata"]
    foreign = ascend_cy.from_pointer(ours.ptr, 6)
    assert foreign.base is None and not foreign.flags["owndata"] and not foreign[::2].flags["owndata"]
    assert ascend_cy.DeviceArray(3).flags["owndata"]


def test_it_is_not_pickled():
    for dump in (pickle.dumps, lambda a: pickle.dumps(a, 2)):
        with pytest.raises(TypeError, match="to_numpy"):
            dump(ascend_cy.zeros(3))


def test_copies_of_the_object():
    device = ascend_cy.asarray(ramp(3, 4))
    for made in (device.copy(), copy.copy(device), copy.deepcopy(device), device[:, ::2].copy()):
        assert made.ptr != device.ptr and made.flags["c_contiguous"] and made.base is None
    assert device[:, ::2].copy().to_numpy().tolist() == ramp(3, 4)[:, ::2].tolist()


def test_attributes_cannot_be_set():
    device = ascend_cy.zeros(3)
    for name in ("shape", "dtype", "ptr", "strides", "base", "stream", "anything"):
        with pytest.raises(AttributeError):
            setattr(device, name, 1)


# ---- views ----

INDICES = [
    np.s_[0], np.s_[-1], np.s_[1:], np.s_[::2], np.s_[::-1], np.s_[5:1:-2], np.s_[..., 0], np.s_[None], np.s_[:, None, 1],
    np.s_[...], np.s_[2, ..., None, 1], np.s_[1, 2, 3], np.s_[3:3], np.s_[100:], np.s_[-100:2], np.s_[:, -1:-9:-1], (), None,
    np.s_[np.int64(1)], np.s_[:, 1:1, 2], np.s_[None, None, ::-1, ..., None],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_like_numpy(index, dtype):
    host = ramp(4, 5, 6, dtype=dtype)
    device = ascend_cy.asarray(host)
    wanted, got = host[index], device[index]
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    assert got.base is device and not got.flags["owndata"]
    assert bits(got.to_numpy()) == bits(wanted)
    if wanted.size:
        assert got.ptr >= device.ptr
        lengths = np.array(wanted.shape) > 1
        view = host[index]
        if isinstance(view, np.ndarray):
            assert np.array(got.strides)[lengths].tolist() == np.array(view.strides)[lengths].tolist()
            assert got.flags["c_contiguous"] == view.flags.c_contiguous


@given(st.data())
def test_any_chain_of_basic_indices(data):
    host = np.arange(3 * 4 * 5 * 2, dtype="i4").reshape(3, 4, 5, 2)
    view, device = host, ascend_cy.asarray(host)
    for _ in range(data.draw(st.integers(1, 3))):
        if view.ndim == 0:
            break
        index = data.draw(hnp.basic_indices(view.shape, allow_newaxis=True, allow_ellipsis=True))
        view, device = np.asarray(view[index]), device[index]
        assert device.shape == view.shape
    assert bits(device.to_numpy()) == bits(view)
    wanted = np.arange(1000, 1000 + view.size, dtype="i4").reshape(view.shape)
    device.copy_from(wanted)
    assert bits(device.to_numpy()) == bits(wanted)
    assert bits(device.copy().to_numpy()) == bits(wanted)
    if view.flags.writeable and view.base is not None:
        view[...] = wanted
        root = device if device.base is None else device.base
        assert bits(root.to_numpy()) == bits(host)


@pytest.mark.parametrize(("index", "message"), [
    (4, "index 4 is out of bounds for axis 0 with size 4"), (-5, "index -5 is out of bounds for axis 0"),
    (np.s_[:, 5], "index 5 is out of bounds for axis 1 with size 5"), (np.s_[0, 0, 0, 0], "too many indices.*3 axes, got 4"),
    (np.s_[..., ...], "one ellipsis"), ("a", "got str"), (1.0, "got float"), (True, "got bool"), ([0, 1], "got list"),
    (np.array([0, 1]), "."), (np.array(True), "."), (1 << 70, "out of bounds"), (np.True_, "got bool"),
], ids=str)
def test_indices_that_cannot_be(index, message):
    device = ascend_cy.zeros((4, 5, 6))
    with pytest.raises(IndexError, match=message):
        device[index]
    with pytest.raises(IndexError, match=message):
        device[index] = 0


def test_very_many_axes():
    device = ascend_cy.asarray(ramp(2, 3)).reshape(*(1,) * 60, 2, 3, 1, 1)
    assert device.ndim == 64
    assert device[...].shape == device.shape
    assert device[0, ..., 0].shape == (1,) * 59 + (2, 3, 1)
    assert device.T.T.to_numpy(out=None).size == 6 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else True
    for index in (np.s_[None], np.s_[None, ...], np.s_[..., None], np.s_[None, None, ..., None, None], (None,) * 100):
        with pytest.raises(IndexError, match="at most 64 axes"):
            device[index]


@pytest.mark.parametrize("shape", [(12,), (2, 6), (3, 2, 2), (-1,), (4, -1), (1, 12, 1), (2, -1, 3), [6, 2]], ids=str)
def test_reshape(shape):
    host = ramp(3, 4)
    device = ascend_cy.asarray(host)
    view = device.reshape(shape)
    assert bits(view.to_numpy()) == bits(host.reshape(shape)) and view.shape == host.reshape(shape).shape
    assert view.ptr == device.ptr and view.base is device
    if isinstance(shape, tuple):
        assert device.reshape(*shape).shape == view.shape
    turned = device.T.reshape(shape)
    assert bits(turned.to_numpy()) == bits(host.T.reshape(shape))
    assert turned.ptr != device.ptr


@pytest.mark.parametrize(("shape", "kind"), [
    ((5,), ValueError), ((-1, 5), ValueError), ((-1, -1), ValueError), ((-2, 6), ValueError), ((0, -1), ValueError),
    (("a",), TypeError), ((2.0, 6), TypeError), ((1 << 62, 1 << 62), ValueError), (None, TypeError), (3.0, TypeError),
    (b"\x0c", TypeError), (bytearray(b"\x0c"), TypeError), ("", TypeError), ({12}, TypeError), ({12: 0}, TypeError),
    (True, TypeError),
], ids=str)
def test_reshape_refuses(shape, kind):
    with pytest.raises(kind):
        ascend_cy.asarray(ramp(3, 4)).reshape(shape)


def test_reshape_of_nothing():
    device = ascend_cy.empty((0, 4))
    assert device.reshape(-1).shape == (0,)
    assert device.reshape(2, 0, 9).shape == (2, 0, 9)
    assert device.reshape(-1, 4).shape == (0, 4)


def test_view_as_another_dtype():
    host = ramp(3, 4, dtype="f4")
    device = ascend_cy.asarray(host)
    for name in ("u1", "i2", "f2", "i4", "i8", "f8", "bool"):
        view = device.view(name)
        assert view.ptr == device.ptr
        assert bits(view.to_numpy()) == bits(host.view(name))
        assert view.shape == host.view(name).shape
    assert bits(device[::2].view("i8").to_numpy()) == bits(host[::2].copy().view("i8"))
    with pytest.raises(ValueError, match="contiguous last axis"):
        device[:, ::2].view("i2")
    with pytest.raises(ValueError, match="does not divide"):
        device[:, :3].view("i8")
    with pytest.raises(ValueError, match="contiguous last axis"):
        ascend_cy.zeros(()).view("i2")
    with pytest.raises(TypeError, match="got complex64"):
        device.view("c8")


def test_astype():
    device = ascend_cy.asarray(ramp(3, 4))
    assert device.astype("i4").to_numpy().tolist() == ramp(3, 4).astype("i4").tolist()
    assert device[:, ::-1].astype("f2").to_numpy().tolist() == ramp(3, 4)[:, ::-1].tolist()
    assert device.astype("f4").ptr != device.ptr
    assert bits(ascend_cy.asarray(np.float32([1 / 3])).astype("f2").to_numpy()) == bits(np.float16([1 / 3]))


def test_transpose():
    host = ramp(2, 3, 4)
    device = ascend_cy.asarray(host)
    assert device.T.shape == (4, 3, 2)
    assert bits(device.T.to_numpy()) == bits(host.T)
    assert not device.T.flags["c_contiguous"] and device.T.T.flags["c_contiguous"]
    assert ascend_cy.zeros(()).T.shape == ()


# ---- assignment and copies on the device ----


def test_assignment():
    host = np.zeros((4, 6), "f4")
    device = ascend_cy.zeros((4, 6))
    other = ascend_cy.asarray(ramp(6))
    for index, value in ((np.s_[0], ramp(6)), (np.s_[1, 2:4], [np.float32(8), np.float32(9)]), (np.s_[2], 3.5),
                         (np.s_[:, 5], np.float32(2)), (np.s_[3, ::-1], ramp(6)), (np.s_[1, 1], np.array(4, "f4"))):
        host[index] = value
        device[index] = np.asarray(value, "f4") if isinstance(value, list) else value
        assert bits(device.to_numpy()) == bits(host)
    device[3] = other
    host[3] = ramp(6)
    device[0, ::-1] = other
    host[0, ::-1] = ramp(6)
    assert bits(device.to_numpy()) == bits(host)
    for index, value, kind in ((0, ramp(5), ValueError), (0, ramp(6, dtype="f8"), TypeError), (0, other[:3], ValueError),
                               (0, None, TypeError), (0, "text", TypeError)):
        with pytest.raises(kind):
            device[index] = value
    assert bits(device.to_numpy()) == bits(host)
    with pytest.raises((TypeError, NotImplementedError)):
        del device[0]


DEVICE_VIEWS = [np.s_[:], np.s_[::-1], np.s_[:, ::2], np.s_[:, ::-1], np.s_[..., ::-2], np.s_[1:3, 1:], np.s_[::2, ::3, ::2]]


@pytest.mark.parametrize("source", DEVICE_VIEWS, ids=str)
@pytest.mark.parametrize("target", DEVICE_VIEWS, ids=str)
def test_strided_copies_on_the_device(source, target):
    host = ramp(4, 6, 5, dtype="i2")
    view = host[source]
    room = np.zeros((8, 12, 10), "i2")
    place = room[target][: view.shape[0], : view.shape[1], : view.shape[2]]
    if place.shape != view.shape:
        pytest.skip("the views have no common shape")
    device_room = ascend_cy.zeros(room.shape, "i2")
    device_place = device_room[target][: view.shape[0], : view.shape[1], : view.shape[2]]
    place[...] = view
    device_place.copy_from(ascend_cy.asarray(host)[source])
    assert bits(device_room.to_numpy()) == bits(room)
    device_place.fill(0)
    ascend_cy.asarray(host)[source].copy_to(device_place)
    assert bits(device_room.to_numpy()) == bits(room)


@pytest.mark.parametrize(("target", "source"), [
    (np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[:], np.s_[::-1]), (np.s_[::-1], np.s_[:]),
    (np.s_[::2], np.s_[:50]), (np.s_[50:], np.s_[::2]), (np.s_[:], np.s_[:]), (np.s_[10:60], np.s_[60:10:-1]),
], ids=str)
@pytest.mark.parametrize("shape", [(100,), (100, 33)], ids=str)
def test_overlapping_copies_are_as_if_through_a_copy(target, source, shape):
    host = ramp(*shape, dtype="i4")
    host = np.arange(host.size, dtype="i4").reshape(shape)
    device = ascend_cy.asarray(host)
    device[target].copy_from(device[source])
    host[target] = host[source].copy()
    assert bits(device.to_numpy()) == bits(host)


def test_an_overlapping_transpose():
    host = ramp(40, 40, dtype="i4")
    host = np.arange(host.size, dtype="i4").reshape(40, 40)
    device = ascend_cy.asarray(host)
    device.copy_from(device.T)
    assert bits(device.to_numpy()) == bits(host.T)


def test_copies_between_streams_are_ordered():
    """A copy on another stream waits for the array's earlier users, and later users wait for it."""
    import time

    slow, other = ascend_cy.Stream(), ascend_cy.Stream()
    with slow:
        slow.add_callback(time.sleep, 0.05)
        x = ascend_cy.full(1000, 3)
    y = x.copy(other)
    z = ascend_cy.empty(1000)
    z.copy_from(y)
    assert (z.to_numpy() == 3).all()
    assert (x.to_numpy(stream=other) == 3).all()


# ---- closing ----

USES = {
    "ptr": lambda a: a.ptr, "device": lambda a: a.device, "stream": lambda a: a.stream, "to_numpy": lambda a: a.to_numpy(),
    "copy": lambda a: a.copy(), "fill": lambda a: a.fill(0), "index": lambda a: a[0], "assign": lambda a: a.__setitem__(0, 1),
    "copy_from": lambda a: a.copy_from(ramp(3)), "copy_to": lambda a: a.copy_to(np.empty(3, "f4")),
    "reshape": lambda a: a.reshape(3), "view": lambda a: a.view("i4"), "T": lambda a: a.T, "astype": lambda a: a.astype("i4"),
    "astype same": lambda a: a.astype("f4"), "item": lambda a: a.item(), "iter": lambda a: list(a), "with": lambda a: a.__enter__(),
    "record_stream": lambda a: a.record_stream(ascend_cy.default_stream()), "array": lambda a: np.asarray(a),
    "as source": lambda a: ascend_cy.zeros(3).copy_from(a), "as target": lambda a: ascend_cy.zeros(3).copy_to(a),
}


@pytest.mark.parametrize("use", USES)
def test_use_after_close(use):
    device = ascend_cy.asarray(ramp(3))
    device.close()
    device.close()
    assert device.closed
    assert (device.shape, device.dtype, device.size) == ((3,), np.float32, 3)
    with pytest.raises((ValueError, BufferError), match="closed"):
        USES[use](device)


def test_memoryview_of_a_closed_array():
    device = ascend_cy.zeros(3)
    device.close()
    with pytest.raises(BufferError, match="closed"):
        memoryview(device)


def test_context_manager():
    live = ascend_cy.live_objects()["buffers"]
    with ascend_cy.zeros(3) as device:
        assert ascend_cy.live_objects()["buffers"] == live + 1
    assert device.closed
    assert ascend_cy.live_objects()["buffers"] == live
    with pytest.raises(RuntimeError, match="mine"), ascend_cy.zeros(3) as device:
        raise RuntimeError("mine")
    assert device.closed


def test_views_keep_the_memory():
    device = ascend_cy.asarray(ramp(3, 4))
    view = device[1]
    device.close()
    other = ascend_cy.zeros((3, 4))  # would take the memory if it were free
    assert view.to_numpy().tolist() == ramp(3, 4)[1].tolist()
    assert other.ptr != view.ptr
    view.close()
    assert view.closed


def test_close_with_work_queued(stream):
    gate = threading.Event()
    x = ascend_cy.asarray(ramp(1000))
    ascend_cy.synchronize()
    stream.add_callback(gate.wait, 30)
    y = x.copy(stream)
    x.close()
    z = ascend_cy.zeros(1000)
    gate.set()
    assert bits(y.to_numpy(stream=stream)) == bits(ramp(1000))
    assert not z.to_numpy().any()


# ---- sharing with the host ----


def test_no_silent_copy_to_the_host():
    device = ascend_cy.zeros((2, 3))
    if unified():
        pytest.skip("host and device share memory here")
    for ask in (np.asarray, memoryview, lambda a: np.ones((2, 3), "f4") + np.asarray(a)):
        with pytest.raises((TypeError, BufferError), match="to_numpy"):
            ask(device)


def test_ndarrays_over_device_memory(dtype):
    needs_unified()
    device = ascend_cy.asarray(ramp(3, 4, dtype=dtype))
    shared = np.asarray(device)
    assert shared.dtype == dtype and shared.ctypes.data == device.ptr
    shared[1] = 0
    assert device.to_numpy()[1].astype("f4").tolist() == [0] * 4
    view = np.asarray(device[::2, ::-1])
    assert view.strides == device[::2, ::-1].strides and bits(view) == bits(shared[::2, ::-1])
    assert np.asarray(device, "f8").dtype == np.float64
    assert np.array(device, copy=True).ctypes.data != device.ptr


def test_memoryviews_of_device_memory():
    needs_unified()
    for name in NAMES:
        if name == "bfloat16":
            continue
        device = ascend_cy.asarray(ramp(3, 4, dtype=name))
        view = memoryview(device)
        assert (view.shape, view.itemsize, view.nbytes, view.readonly) == ((3, 4), device.itemsize, device.nbytes, False)
        assert view.format == np.dtype(name).char.replace("l", "q").replace("L", "Q"), name
        assert view.tobytes() == bits(ramp(3, 4, dtype=name))
        del view
    assert memoryview(ascend_cy.zeros((0, 3))).shape == (0, 3)
    assert memoryview(ascend_cy.zeros(())).shape == ()
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(ascend_cy.zeros(3, dtype_named("bfloat16")))


def test_a_view_waits_for_the_work(stream):
    needs_unified()
    import time

    with stream:
        stream.add_callback(time.sleep, 0.05)
        device = ascend_cy.full(1000, 5)
    assert (np.asarray(device) == 5).all()
    stream.add_callback(time.sleep, 0.05)
    device.fill(6, stream)
    assert memoryview(device)[999] == 6


def test_a_shared_array_cannot_be_closed():
    needs_unified()
    device = ascend_cy.zeros(3)
    shared = np.asarray(device)
    with pytest.raises(BufferError, match="closed"):
        device.close()
    shared[:] = 1
    del shared
    device.close()


def test_shared_memory_outlives_the_array():
    needs_unified()
    shared = np.asarray(ascend_cy.asarray(ramp(1000)))
    gc.collect()
    other = ascend_cy.zeros(1000)
    assert bits(shared) == bits(ramp(1000))
    assert other.ptr != shared.ctypes.data


# ---- lifetime ----


def test_cycles_are_collected():
    class Node:
        pass

    live = ascend_cy.live_objects()["buffers"]
    node = Node()
    node.array = ascend_cy.zeros(10)
    node.view = node.array[2:]
    node.stream = ascend_cy.Stream()
    node.self = node
    gone = weakref.ref(node.array)
    del node
    gc.collect()
    assert gone() is None
    assert ascend_cy.live_objects()["buffers"] == live


def test_weak_references():
    device = ascend_cy.zeros(3)
    assert weakref.ref(device)() is device
    assert weakref.WeakValueDictionary(a=device)["a"] is device


def test_arrays_outlive_their_stream():
    stream = ascend_cy.Stream()
    with stream:
        device = ascend_cy.full(100, 4)
    handle = stream.handle
    stream.close()
    del stream
    assert device.stream.handle == handle
    assert (device.to_numpy() == 4).all()
    assert ascend_cy.live_objects()["streams"] >= 1
    view = device[::2]
    del device
    assert (view.to_numpy() == 4).all()


def test_a_thread_ends_with_live_arrays():
    kept = []

    def work():
        with ascend_cy.Stream():
            kept.append(ascend_cy.full(1000, 9))
            ascend_cy.zeros(1000)

    for _ in range(5):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert all((device.to_numpy() == 9).all() for device in kept)


def test_arrays_are_freed_by_any_thread():
    live = ascend_cy.live_objects()
    made = [ascend_cy.zeros((100, k + 1)) for k in range(40)]
    threads = [threading.Thread(target=made.pop) for _ in range(len(made))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ascend_cy.live_objects() == live


def test_many_threads_at_once():
    """Eight threads, each with its own stream and its own numbers."""
    wrong = []

    def work(number):
        rng = np.random.default_rng(number)
        with ascend_cy.Stream():
            for _ in range(60):
                shape = tuple(rng.integers(1, 30, 2))
                value = float(rng.integers(1000))
                device = ascend_cy.full(shape, value)
                turned = device.T.copy()
                if not (turned.to_numpy() == value).all() or turned.shape != shape[::-1]:
                    wrong.append((number, shape))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_initialising_twice():
    device = ascend_cy.zeros(3)
    with pytest.raises(RuntimeError, match="initialised already"):
        device.__init__(4)
    assert device.shape == (3,)
    bare = ascend_cy.DeviceArray.__new__(ascend_cy.DeviceArray)
    assert re.search("closed", repr(bare))
    with pytest.raises(ValueError, match="closed"):
        bare.to_numpy()
    bare.close()
