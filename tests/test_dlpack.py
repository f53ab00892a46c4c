"""DLPack in and out, with NumPy, torch and JAX as partners, and by hand where a partner would not go wrong."""

import ctypes
import gc
import threading
import weakref

import ascend_cy
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not ascend_cy.device_info()["unified"], reason="shares host memory, which this device does not"
)

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


# ---- capsules made by hand ----


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    pass


LEGACY_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Legacy))
Legacy._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", LEGACY_DELETER)]


class Versioned(ctypes.Structure):
    pass


VERSIONED_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Versioned))
Versioned._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("context", ctypes.c_void_p),
    ("deleter", VERSIONED_DELETER),
    ("flags", ctypes.c_uint64),
    ("tensor", DLTensor),
]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """A foreign array that counts how often its tensor is given back."""

    def __init__(
        self, array, *, versioned=True, shape=None, strides=(), byte_offset=0, flags=0, version=(1, 1), device=(1, 0), code=None
    ):
        self.array = array
        self.freed = 0
        shape = array.shape if shape is None else shape
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = None if strides == () else (ctypes.c_int64 * max(len(strides), 1))(*strides)
        self.device = device
        kind = {"f": 2, "i": 0, "u": 1, "b": 6}[array.dtype.kind]
        managed = Versioned() if versioned else Legacy()
        tensor = managed.tensor
        tensor.data = array.ctypes.data
        tensor.device_type, tensor.device_id = device
        tensor.ndim = len(shape)
        tensor.code, tensor.bits, tensor.lanes = code or (kind, array.itemsize * 8, 1)
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)) if self.strides else None
        tensor.byte_offset = byte_offset
        managed.deleter = (VERSIONED_DELETER if versioned else LEGACY_DELETER)(self._count)
        if versioned:
            managed.major, managed.minor = version
            managed.flags = flags
        self.managed = managed
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def _count(self, _pointer):
        self.freed += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, copy=None, dl_device=None):
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


def settle():
    gc.collect()
    ascend_cy.synchronize()
    ascend_cy.live_objects()


@pytest.mark.parametrize("versioned", [True, False])
def test_import_without_strides_is_contiguous(versioned):
    producer = Producer(np.arange(6, dtype="f4"), shape=(2, 3), versioned=versioned)
    array = ascend_cy.from_dlpack(producer)
    assert array.shape == (2, 3)
    assert array.strides == (12, 4)
    np.testing.assert_array_equal(array.to_numpy(), np.arange(6, dtype="f4").reshape(2, 3))
    assert producer.freed == 0
    del array
    settle()
    assert producer.freed == 1


def test_import_with_a_byte_offset():
    data = np.arange(10, dtype="i4")
    array = ascend_cy.from_dlpack(Producer(data, shape=(3,), strides=(2,), byte_offset=8))
    np.testing.assert_array_equal(array.to_numpy(), [2, 4, 6])


@pytest.mark.parametrize("strides", [(), (-1,), (0,)])
def test_import_with_any_strides(strides):
    data = np.arange(4, dtype="f4")
    offset = 12 if strides == (-1,) else 0
    expected = {(): data, (-1,): data[::-1], (0,): data[[0, 0, 0, 0]]}[strides]
    array = ascend_cy.from_dlpack(Producer(data, shape=(4,), strides=strides, byte_offset=offset))
    np.testing.assert_array_equal(array.to_numpy(), expected)


@pytest.mark.parametrize("shape", [(), (0,), (0, 2048), (1, 3, 1, 4, 1), (2, 0, 3)])
@pytest.mark.parametrize("versioned", [True, False])
def test_import_of_every_shape(shape, versioned):
    data = np.arange(max(int(np.prod(shape)), 1), dtype="f4")
    producer = Producer(data, shape=shape, versioned=versioned)
    array = ascend_cy.from_dlpack(producer)
    assert array.shape == shape
    np.testing.assert_array_equal(array.to_numpy().ravel(), data[: int(np.prod(shape))])
    del array
    settle()
    assert producer.freed == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(version=(2, 0)), "newer"),
        (dict(code=(5, 64, 1)), "no counterpart"),
        (dict(code=(2, 32, 4)), "no counterpart"),
        (dict(code=(2, 8, 1)), "no counterpart"),
        (dict(shape=(-1,)), "negative side"),
        (dict(shape=(2**40, 2**40)), "larger"),
        (dict(shape=(2,), strides=(2**62,)), "stride"),
        (dict(device=(2, 0)), "not reachable"),
        (dict(device=(12, 0)), "NPU"),
        (dict(device=(21, 0)), "NPU"),
    ],
)
def test_what_cannot_be_imported_is_refused_and_left_alone(change, message):
    producer = Producer(np.arange(4, dtype="f4"), **change)
    capsule = producer.__dlpack__()

    class Once:
        __dlpack_device__ = producer.__dlpack_device__

        def __dlpack__(self, **_):
            return capsule

    with pytest.raises(BufferError, match=message):
        ascend_cy.from_dlpack(Once())
    settle()
    # The capsule still owns the tensor: its own destructor frees it (ours has none).
    assert producer.freed == 0
    assert capsule_pointer(capsule, b"dltensor_versioned")


def test_a_capsule_is_consumed_once():
    producer = Producer(np.arange(4, dtype="f4"))
    capsule = producer.__dlpack__()

    class Once:
        __dlpack_device__ = producer.__dlpack_device__

        def __dlpack__(self, **_):
            return capsule

    array = ascend_cy.from_dlpack(Once())
    with pytest.raises(BufferError, match="consumed"):
        ascend_cy.from_dlpack(Once())
    del array
    settle()
    assert producer.freed == 1


def test_import_keeps_read_only():
    data = np.arange(4, dtype="f4")
    array = ascend_cy.from_dlpack(Producer(data, flags=1))
    assert not array.flags["writeable"]
    with pytest.raises(ValueError, match="read-only"):
        array.fill(0)
    with pytest.raises(ValueError, match="read-only"):
        ascend_cy.layernorm(ascend_cy.zeros(4), out=array)


def test_foreign_memory_outlives_the_work_that_reads_it():
    producer = Producer(np.arange(4096, dtype="f4").reshape(64, 64))
    stream = ascend_cy.Stream()
    gate = threading.Event()
    stream.add_callback(gate.wait, 60)
    x = ascend_cy.from_dlpack(producer, stream=stream)
    y = ascend_cy.layernorm(x, stream=stream)
    del x
    gc.collect()
    ascend_cy.live_objects()
    assert producer.freed == 0, "given back while the kernel was still queued"
    gate.set()
    expected = ascend_cy.layernorm(producer.array)
    np.testing.assert_array_equal(y.to_numpy(stream=stream), expected)
    settle()
    assert producer.freed == 1


def test_objects_that_do_not_speak_dlpack():
    with pytest.raises(TypeError, match="obj must have __dlpack__"):
        ascend_cy.from_dlpack([1, 2, 3])
    with pytest.raises(TypeError, match="copy must be"):
        ascend_cy.from_dlpack(np.zeros(3, "f4"), copy=1)


# ---- NumPy ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_there_and_back_shares_memory(dtype):
    data = np.arange(12).astype(dtype).reshape(3, 4)
    array = ascend_cy.from_dlpack(data)
    assert array.ptr == data.ctypes.data
    back = np.from_dlpack(array)
    assert back.ctypes.data == data.ctypes.data
    np.testing.assert_array_equal(back, data)


@pytest.mark.parametrize("shape", [(), (0, 2048), (1, 3, 1, 4, 1), (2, 3)])
def test_export_fills_the_strides_of_a_contiguous_array(shape):
    array = ascend_cy.zeros(shape)
    tensor = ctypes.cast(capsule_pointer(array.__dlpack__(), b"dltensor"), ctypes.POINTER(Legacy)).contents.tensor
    assert tensor.ndim == len(shape)
    expected = []
    step = 1
    for side in reversed(shape):
        expected.insert(0, step)
        step *= max(side, 1)
    assert [tensor.strides[i] for i in range(tensor.ndim)] == expected
    assert np.from_dlpack(array).shape == shape


def test_export_sees_the_work_enqueued_before():
    stream = ascend_cy.Stream()
    import time

    x = ascend_cy.zeros(1000, stream=stream)
    stream.add_callback(time.sleep, 0.05)
    x.fill(7, stream)
    assert np.from_dlpack(x)[500] == 7


def test_exported_memory_outlives_the_array():
    array = ascend_cy.full(1000, 3)
    shared = np.from_dlpack(array)
    reference = weakref.ref(array)
    array.close()
    del array
    assert reference() is None
    other = ascend_cy.full(1000, 4)
    assert shared[0] == 3
    assert other[0].item() == 4


def test_an_unused_capsule_frees_what_it_holds():
    array = ascend_cy.full(1000, 3)
    before = ascend_cy.live_objects()["buffers"]
    for version in (None, (1, 0), (1, 3)):
        capsule = array.__dlpack__(max_version=version)
        del capsule
    array.close()
    assert ascend_cy.live_objects()["buffers"] == before - 1


def test_export_flags_and_versions():
    array = ascend_cy.full((2, 3), 1)
    capsule = array.__dlpack__(max_version=(1, 0), copy=True)
    managed = ctypes.cast(capsule_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(Versioned)).contents
    assert managed.flags == 2
    assert managed.tensor.data != array.ptr
    assert managed.major == 1
    read_only = ascend_cy.from_dlpack(Producer(np.arange(4, dtype="f4"), flags=1))
    with pytest.raises(BufferError, match="read-only"):
        read_only.__dlpack__()
    capsule = read_only.__dlpack__(max_version=(1, 0))
    managed = ctypes.cast(capsule_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(Versioned)).contents
    assert managed.flags == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (dict(stream=1), ValueError, "stream must be None or -1"),
        (dict(max_version=1), TypeError, "max_version"),
        (dict(dl_device=(2, 0)), BufferError, "not moved"),
    ],
)
def test_export_refuses_what_it_cannot_do(arguments, error, message):
    with pytest.raises(error, match=message):
        ascend_cy.zeros(3).__dlpack__(**arguments)


def test_a_closed_array_is_not_exported():
    array = ascend_cy.zeros(3)
    array.close()
    with pytest.raises(ValueError, match="closed"):
        array.__dlpack__()
    with pytest.raises(ValueError, match="closed"):
        array.__dlpack_device__()


def test_bfloat16_travels_to_and_from_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = ascend_cy.asarray(np.arange(4).astype(ml_dtypes.bfloat16))
    tensor = ctypes.cast(capsule_pointer(x.__dlpack__(), b"dltensor"), ctypes.POINTER(Legacy)).contents.tensor
    assert (tensor.code, tensor.bits, tensor.lanes) == (4, 16, 1)
    again = ascend_cy.from_dlpack(x)
    assert again.dtype == ml_dtypes.bfloat16


# ---- the exchange table ----


class ExchangeTable(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.POINTER(Versioned)))),
        ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Versioned), ctypes.POINTER(ctypes.c_void_p))),
        ("view_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))),
        ("current_stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))),
    ]


def exchange_table():
    capsule = ascend_cy.DeviceArray.__dlpack_c_exchange_api__
    return ctypes.cast(capsule_pointer(capsule, b"dlpack_exchange_api"), ctypes.POINTER(ExchangeTable)).contents


def test_the_exchange_table_views_and_exports():
    table = exchange_table()
    assert (table.major, table.minor) == (1, 3)
    array = ascend_cy.asarray(np.arange(12, dtype="f4").reshape(3, 4))[:, ::2]
    view = DLTensor()
    assert table.view_object(array, ctypes.byref(view)) == 0
    assert view.data == array.ptr
    assert [view.shape[0], view.shape[1]] == [3, 2]
    assert [view.strides[0], view.strides[1]] == [4, 2]
    out = ctypes.POINTER(Versioned)()
    assert table.from_object(array, ctypes.byref(out)) == 0
    made = ctypes.c_void_p()
    assert table.to_object(out, ctypes.byref(made)) == 0
    again = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(again))
    np.testing.assert_array_equal(again.to_numpy(), array.to_numpy())
    stream = ctypes.c_void_p()
    assert table.current_stream(1, 0, ctypes.byref(stream)) == 0


def test_the_exchange_table_reports_errors_as_exceptions():
    table = exchange_table()
    out = ctypes.POINTER(Versioned)()
    with pytest.raises(TypeError, match="DeviceArray is needed"):
        table.from_object("text", ctypes.byref(out))


# ---- torch and JAX ----


def test_torch_there_and_back_shares_memory():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    array = ascend_cy.from_dlpack(tensor)
    assert array.ptr == tensor.data_ptr()
    back = torch.from_dlpack(array)
    assert back.data_ptr() == tensor.data_ptr()
    ascend_cy.layernorm(array, out=array)
    ascend_cy.synchronize()
    expected = torch.nn.functional.layer_norm(torch.arange(12, dtype=torch.float32).reshape(3, 4), (4,))
    torch.testing.assert_close(tensor, expected, rtol=1e-5, atol=1e-6)


def test_torch_bfloat16_and_strides():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("ml_dtypes")
    tensor = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4).t()
    array = ascend_cy.from_dlpack(tensor)
    assert array.shape == (4, 3)
    np.testing.assert_array_equal(array.to_numpy().astype("f4"), tensor.float().numpy())


def test_jax_reads_our_memory():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    array = ascend_cy.asarray(np.arange(12, dtype="f4").reshape(3, 4))
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(array)), array.to_numpy())
