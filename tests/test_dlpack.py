"""DLPack in and out, with NumPy, torch and JAX as partners, and by hand where a partner would not go wrong."""

import ctypes
import gc
import threading
import weakref

import ascend_cy
import child
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
    if dtype == "bool" and np.lib.NumpyVersion(np.__version__) < "1.25.0":
        pytest.skip("this NumPy does not export bool")
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


SET_ERROR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class ExchangeTable(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        (
            "allocate",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(ctypes.POINTER(Versioned)), ctypes.c_void_p, SET_ERROR
            ),
        ),
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


def test_the_exchange_table_allocates_and_gives_back():
    table = exchange_table()
    shape = (ctypes.c_int64 * 2)(3, 5)
    prototype = DLTensor(None, 1, 0, 2, 2, 16, 1, shape, None, 0)
    out = ctypes.POINTER(Versioned)()
    raised = []
    report = SET_ERROR(lambda _, kind, message: raised.append((kind.decode(), message.decode())))
    before = ascend_cy.live_objects()["buffers"]
    assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, report) == 0
    tensor = out.contents.tensor
    assert (tensor.code, tensor.bits, tensor.shape[:2], tensor.strides[:2]) == (2, 16, [3, 5], [5, 1])
    assert ascend_cy.live_objects()["buffers"] == before + 1
    out.contents.deleter(out)
    assert ascend_cy.live_objects()["buffers"] == before
    prototype.code, prototype.bits = 5, 64
    assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, report) == -1
    prototype.code, prototype.bits, shape[0] = 2, 32, -1
    assert table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, report) == -1
    assert [kind for kind, _ in raised] == ["BufferError", "ValueError"]
    assert "no counterpart" in raised[0][1] and "-1" in raised[1][1]


def test_the_exchange_table_takes_what_others_made():
    table = exchange_table()
    producer = Producer(np.arange(6, dtype="i2"), shape=(2, 3), flags=1)
    made = ctypes.c_void_p()
    assert table.to_object(ctypes.byref(producer.managed), ctypes.byref(made)) == 0
    array = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))
    np.testing.assert_array_equal(array.to_numpy(), np.arange(6, dtype="i2").reshape(2, 3))
    assert not array.flags["writeable"]
    del array
    settle()
    assert producer.freed == 1
    newer = Producer(np.arange(6, dtype="i2"), version=(2, 0))
    with pytest.raises(BufferError, match="newer"):
        table.to_object(ctypes.byref(newer.managed), ctypes.byref(made))
    settle()
    assert newer.freed == 0


def test_the_exchange_table_refuses_closed_arrays():
    table = exchange_table()
    array = ascend_cy.zeros(3)
    array.close()
    out, view = ctypes.POINTER(Versioned)(), DLTensor()
    for call in (lambda: table.from_object(array, ctypes.byref(out)), lambda: table.view_object(array, ctypes.byref(view))):
        with pytest.raises(ValueError, match="closed"):
            call()


# ---- torch ----

PARTNER_SHAPES = [(), (1,), (0,), (2, 0, 3), (0, 2048), (1, 3, 1, 4, 1), (5, 7)]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


def test_torch_there_and_back_shares_memory(torch):
    tensor = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    array = ascend_cy.from_dlpack(tensor)
    assert array.ptr == tensor.data_ptr()
    back = torch.from_dlpack(array)
    assert back.data_ptr() == tensor.data_ptr()
    ascend_cy.layernorm(array, out=array)
    ascend_cy.synchronize()
    expected = torch.nn.functional.layer_norm(torch.arange(12, dtype=torch.float32).reshape(3, 4), (4,))
    torch.testing.assert_close(tensor, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*DTYPES, "bfloat16"])
def test_torch_takes_and_gives_every_dtype(torch, name):
    dtype = getattr(torch, name)
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    tensor = (torch.arange(12) % 7).to(dtype).reshape(3, 4)
    array = ascend_cy.from_dlpack(tensor)
    assert array.dtype.name == name and array.ptr == tensor.data_ptr()
    np.testing.assert_array_equal(array.to_numpy().astype("f8"), tensor.double().numpy())
    for back in (torch.from_dlpack(array), torch.utils.dlpack.from_dlpack(array.__dlpack__())):
        assert back.dtype == dtype and back.data_ptr() == tensor.data_ptr()
        assert torch.equal(back, tensor)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("shape", PARTNER_SHAPES)
def test_torch_of_every_shape(torch, shape, legacy):
    array = ascend_cy.asarray(np.arange(int(np.prod(shape)), dtype="f4").reshape(shape))
    tensor = torch.utils.dlpack.from_dlpack(array.__dlpack__()) if legacy else torch.from_dlpack(array)
    assert tuple(tensor.shape) == shape
    np.testing.assert_array_equal(tensor.numpy(), array.to_numpy())
    again = ascend_cy.from_dlpack(tensor)
    assert again.shape == shape
    np.testing.assert_array_equal(again.to_numpy(), array.to_numpy())


def test_torch_of_any_strides(torch):
    tensor = torch.arange(60, dtype=torch.float32).reshape(3, 4, 5)
    array = ascend_cy.asarray(tensor.numpy())
    # Positive strides only: on negative ones torch ends the process, as it does with NumPy's arrays.
    transpose = {id(array): lambda: array.T, id(tensor): lambda: tensor.permute(2, 1, 0)}
    for cut in (lambda t: t[1:, ::2], lambda t: t[..., 3], lambda t: t[2, 1:3, 1:], lambda t: transpose[id(t)]()):
        mine, theirs = cut(array), cut(tensor)
        shared = torch.from_dlpack(mine)
        assert shared.data_ptr() == mine.ptr
        assert torch.equal(shared, theirs)
        np.testing.assert_array_equal(ascend_cy.from_dlpack(theirs).to_numpy(), theirs.numpy())
    spread = ascend_cy.from_dlpack(torch.ones(2).expand(3, 2))
    assert spread.strides == (0, 4)
    np.testing.assert_array_equal(ascend_cy.layernorm(spread).to_numpy(), np.zeros((3, 2), "f4"))


def test_torch_bfloat16_and_strides(torch):
    pytest.importorskip("ml_dtypes")
    tensor = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4).t()
    array = ascend_cy.from_dlpack(tensor)
    assert array.shape == (4, 3)
    np.testing.assert_array_equal(array.to_numpy().astype("f4"), tensor.float().numpy())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda torch: torch.ones(3, requires_grad=True), "gradient"),
        (lambda torch: torch.ones(3, dtype=torch.complex64), "no counterpart"),
        (lambda torch: torch.ones(3, dtype=torch.float8_e5m2), "no counterpart"),
        (lambda torch: torch.ones(3, 3).to_sparse(), "layout"),
    ],
)
def test_tensors_that_cannot_be_shared(torch, make, message):
    with pytest.raises(BufferError, match=message):
        ascend_cy.from_dlpack(make(torch))


def test_copies_between_torch_and_us(torch):
    tensor = torch.ones(3)
    assert ascend_cy.from_dlpack(tensor, copy=False).ptr == tensor.data_ptr()
    copied = ascend_cy.from_dlpack(tensor, copy=True)
    assert copied.ptr != tensor.data_ptr()
    assert torch.from_dlpack(copied, copy=False).data_ptr() == copied.ptr
    assert torch.from_dlpack(copied, device="cpu").data_ptr() == copied.ptr
    assert torch.from_dlpack(copied, copy=True).data_ptr() != copied.ptr


def test_torch_waits_for_our_work_and_outlives_the_array(torch):
    stream = ascend_cy.Stream()
    gate = threading.Event()
    stream.add_callback(gate.wait, 60)
    array = ascend_cy.full(5000, 7, stream=stream)
    threading.Timer(0.05, gate.set).start()
    tensor = torch.from_dlpack(array)
    assert bool((tensor == 7).all())
    stream.close()
    array.close()
    others = [ascend_cy.full(5000, 3) for _ in range(4)]
    ascend_cy.synchronize()
    assert bool((tensor == 7).all())
    before = ascend_cy.live_objects()["buffers"]
    del tensor
    assert ascend_cy.live_objects()["buffers"] == before - 1
    del others


def test_our_work_outlives_a_tensor(torch):
    tensor = torch.full((64, 64), 3.0) + torch.arange(64)
    expected = torch.nn.functional.layer_norm(tensor, (64,)).numpy()
    stream = ascend_cy.Stream()
    gate = threading.Event()
    stream.add_callback(gate.wait, 60)
    y = ascend_cy.layernorm(ascend_cy.from_dlpack(tensor, stream=stream), stream=stream)
    del tensor
    gc.collect()
    others = [torch.zeros(64, 64) for _ in range(4)]
    gate.set()
    np.testing.assert_allclose(y.to_numpy(stream=stream), expected, rtol=1e-5, atol=1e-5)
    del others


def test_torch_refuses_a_capsule_that_was_used(torch):
    capsule = ascend_cy.ones(3).__dlpack__()
    tensor = torch.utils.dlpack.from_dlpack(capsule)
    with pytest.raises((RuntimeError, BufferError)):
        torch.utils.dlpack.from_dlpack(capsule)
    del capsule
    assert bool((tensor == 1).all())

    class Used:
        capsule = torch.utils.dlpack.to_dlpack(torch.ones(3))

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self):  # from before DLPack 1.0
            return self.capsule

    np.testing.assert_array_equal(ascend_cy.from_dlpack(Used()).to_numpy(), np.ones(3, "f4"))
    with pytest.raises(BufferError, match="consumed already"):
        ascend_cy.from_dlpack(Used())


# ---- JAX ----


@pytest.fixture
def jax():
    module = pytest.importorskip("jax", reason="jax is not installed")
    before = module.config.jax_enable_x64
    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", [*DTYPES, "bfloat16"])
def test_jax_takes_and_gives_every_dtype(jax, name):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    theirs = (jax.numpy.arange(12) % 7).astype(name).reshape(3, 4)
    array = ascend_cy.from_dlpack(theirs)
    assert array.dtype.name == name and array.ptr == theirs.unsafe_buffer_pointer()
    np.testing.assert_array_equal(array.to_numpy(), np.asarray(theirs))
    back = jax.dlpack.from_dlpack(array)
    assert back.dtype.name == name
    np.testing.assert_array_equal(np.asarray(back), np.asarray(theirs))


@pytest.mark.parametrize("shape", PARTNER_SHAPES)
def test_jax_of_every_shape(jax, shape):
    array = ascend_cy.asarray(np.arange(int(np.prod(shape)), dtype="f4").reshape(shape))
    theirs = jax.dlpack.from_dlpack(array)
    assert theirs.shape == shape
    np.testing.assert_array_equal(np.asarray(theirs), array.to_numpy())
    again = ascend_cy.from_dlpack(theirs)
    assert again.shape == shape
    np.testing.assert_array_equal(again.to_numpy(), array.to_numpy())


GIVEN_BACK_UNDER_A_CALLBACK = """
import sys, time
import ascend_cy, embedded
import numpy as np
exec(sys.argv[1])
seen = []
def slow():
    time.sleep(0.1)     # lets the main thread give the memory back with the GIL
    seen.append(1)
stream = ascend_cy.Stream()
x = ascend_cy.asarray(np.ones(1000, "f4"))
held = export(x)
stream.add_callback(slow)
x.record_stream(stream)
x.close()
# Without an event the pool waits for the stream before it gives the memory to others.
with embedded.faults("call=aclrtRecordEvent,code=507899,times=always"):
    del held
assert seen == [1]
stream.close()
print("done")
"""


@pytest.mark.parametrize("export", ["export = lambda x: x.__dlpack__(stream=-1)",
                                    "export = lambda x: x.__dlpack__(stream=-1, max_version=(1, 0))",
                                    "export = np.from_dlpack"], ids=["legacy", "versioned", "consumed"])
def test_giving_back_lets_callbacks_have_the_gil(tmp_path, export):
    """The deleter is called with the GIL held, and waits for a stream whose work needs it."""
    assert child.check(GIVEN_BACK_UNDER_A_CALLBACK, tmp_path, args=[export], timeout=0.5 * child.HANG) == "done\n"


def test_deleters_are_called_with_and_without_the_gil():
    """ctypes calls through CDLL without it and through PyDLL with it; other libraries from threads Python has not seen."""
    stream = ascend_cy.Stream()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    used = ctypes.c_char_p(b"used_dltensor_versioned")  # lives as long as the capsules that have it
    before = ascend_cy.live_objects()["buffers"]
    for prototype in (ctypes.CFUNCTYPE, ctypes.PYFUNCTYPE):
        for shared in (False, True):
            array = ascend_cy.ones(1000)
            capsule = array.__dlpack__(max_version=(1, 0))
            if shared:
                array.record_stream(stream)
            pointer = get(capsule, b"dltensor_versioned")
            rename(capsule, used)
            array.close()
            deleter = ctypes.cast(Versioned.from_address(pointer).deleter, ctypes.c_void_p).value
            call = prototype(None, ctypes.c_void_p)(deleter)
            thread = threading.Thread(target=call, args=(pointer,))
            thread.start()
            thread.join()
            assert ascend_cy.live_objects()["buffers"] == before
    stream.close()


def test_jax_takes_transposed_arrays_and_refuses_other_strides(jax):
    array = ascend_cy.asarray(np.arange(12, dtype="f4").reshape(3, 4))
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(array.T)), array.T.to_numpy())
    before = ascend_cy.live_objects()["buffers"]
    for view in (array[::2], array[:, 1:3], array[::-1]):
        with pytest.raises(Exception, match="strid"):
            jax.dlpack.from_dlpack(view)
        np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(view.copy())), view.to_numpy())
    gc.collect()
    assert ascend_cy.live_objects()["buffers"] == before, "a refused capsule was not given back"


def test_jax_computes_on_our_memory_and_outlives_the_array(jax):
    array = ascend_cy.asarray(np.arange(4096, dtype="f4").reshape(64, 64))
    expected = array.to_numpy()
    theirs = jax.dlpack.from_dlpack(array)
    shared = theirs.unsafe_buffer_pointer() == array.ptr
    array.close()
    others = [ascend_cy.full((64, 64), 3) for _ in range(4)]
    ascend_cy.synchronize()
    np.testing.assert_array_equal(np.asarray(theirs), expected)
    np.testing.assert_array_equal(np.asarray(theirs * 2), expected * 2)
    assert shared
    del others, theirs


def test_our_work_outlives_a_jax_array(jax):
    theirs = jax.numpy.arange(4096, dtype="float32").reshape(64, 64) * 2
    expected = ascend_cy.layernorm(np.asarray(theirs))
    stream = ascend_cy.Stream()
    gate = threading.Event()
    stream.add_callback(gate.wait, 60)
    y = ascend_cy.layernorm(ascend_cy.from_dlpack(theirs, stream=stream), stream=stream)
    del theirs
    gc.collect()
    others = [jax.numpy.zeros((64, 64), "float32") for _ in range(4)]
    gate.set()
    np.testing.assert_array_equal(y.to_numpy(stream=stream), expected)
    del others
