"""DLPack in and out, versioned and legacy, and the C exchange table of DLPack 1.3.

Memory of the `cpu` device is host memory and travels as CPU; memory of an NPU as Ascend (21) where the consumer knows that
type, else as the extension device (12) that torch_npu uses.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New, PyCapsule_SetName
from cpython.object cimport PyTypeObject
from cpython.pystate cimport PyThreadState
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ascend_cy._array cimport (DeviceArray, adopt_memory, array_data, element_strides, is_unified, new_array, pin,
                               upload, use_on, used_on, wait_for_users)
from ascend_cy._dtypes cimport ACL_BF16, itemsize_of
from ascend_cy._host cimport *
from ascend_cy._shape cimport MAX_DIMS, beyond_addresses, extent, sides
from ascend_cy._status cimport as_integer, check
from ascend_cy._stream cimport Stream, stream_box, wrap_stream

import sys

import numpy as np

cnp.import_array()


cdef extern from "_dlpack.h" nogil:
    struct DlDevice:
        int32_t type
        int32_t id
    struct DlDataType:
        uint8_t code
        uint8_t bits
        uint16_t lanes
    struct DlTensor:
        void *data
        DlDevice device
        int32_t ndim
        DlDataType dtype
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset
    struct DlVersion:
        uint32_t major
        uint32_t minor
    struct DlManagedTensor:
        DlTensor tensor
        void *context
        void (*deleter)(DlManagedTensor *self) noexcept nogil
    struct DlManagedTensorVersioned:
        DlVersion version
        void *context
        void (*deleter)(DlManagedTensorVersioned *self) noexcept nogil
        uint64_t flags
        DlTensor tensor
    struct DlExchangeHeader:
        DlVersion version
        DlExchangeHeader *previous
    struct DlExchangeApi:
        DlExchangeHeader header
        int (*allocate)(DlTensor *prototype, DlManagedTensorVersioned **out, void *context,
                        void (*set_error)(void *context, const char *kind, const char *message) noexcept) noexcept
        int (*from_object)(void *object, DlManagedTensorVersioned **out) noexcept
        int (*to_object)(DlManagedTensorVersioned *tensor, void **object) noexcept
        int (*view_object)(void *object, DlTensor *out) noexcept
        int (*current_stream)(int32_t device_type, int32_t device_id, void **stream) noexcept
    PyThreadState *open_gil_if_held()
    void take_gil_again(PyThreadState *opened)

cdef enum:
    VERSION_MAJOR = 1
    VERSION_MINOR = 3

    DEVICE_CPU = 1
    DEVICE_CUDA_HOST = 3            # pinned host memory of other makers is host memory to us
    DEVICE_ROCM_HOST = 11
    DEVICE_EXTENSION = 12
    DEVICE_ASCEND = 21
    ASCEND_SINCE_MINOR = 4          # DLPack got the type after 1.3

    TYPE_INT = 0
    TYPE_UINT = 1
    TYPE_FLOAT = 2
    TYPE_BFLOAT = 4
    TYPE_BOOL = 6

    FLAG_READ_ONLY = 1
    FLAG_IS_COPIED = 2

# aclDataType by (DLPack type code, bits).
cdef dict code_by_type = {
    (TYPE_FLOAT, 32): 0, (TYPE_FLOAT, 16): 1, (TYPE_FLOAT, 64): 11, (TYPE_BFLOAT, 16): ACL_BF16, (TYPE_BOOL, 8): 12,
    (TYPE_INT, 8): 2, (TYPE_INT, 16): 6, (TYPE_INT, 32): 3, (TYPE_INT, 64): 9,
    (TYPE_UINT, 8): 4, (TYPE_UINT, 16): 7, (TYPE_UINT, 32): 8, (TYPE_UINT, 64): 10}
cdef DlDataType[28] type_by_code
for _type, _code in code_by_type.items():
    type_by_code[<int>_code].code = _type[0]
    type_by_code[<int>_code].bits = _type[1]
    type_by_code[<int>_code].lanes = 1


# ---- out ----

cdef struct Export:
    # What a capsule owns, in one block: both forms of the structure, and the shape and strides behind them.
    DlManagedTensorVersioned versioned
    DlManagedTensor legacy
    ascend_cy_buffer_t *buffer
    ascend_cy_stream_t *consumer    # the consumer's stream, or NULL
    int64_t[1] dims


cdef void release_export(Export *export) noexcept nogil:
    cdef PyThreadState *opened = NULL
    # It may have to wait for work, which may be a callback that wants the GIL (as in release_buffer of _array.pyx).
    if export.consumer is not NULL or not ascend_cy_device_info().unified or ascend_cy_buffer_is_shared(export.buffer):
        opened = open_gil_if_held()
    if export.consumer is not NULL:
        # What the consumer enqueued by now must pass before the memory is used again. An error has no channel here.
        ascend_cy_buffer_record_stream(export.buffer, export.consumer)
        ascend_cy_stream_release(export.consumer)
    ascend_cy_buffer_release(export.buffer)
    free(export)
    take_gil_again(opened)


cdef void delete_versioned(DlManagedTensorVersioned *self) noexcept nogil:
    release_export(<Export *>self.context)


cdef void delete_legacy(DlManagedTensor *self) noexcept nogil:
    release_export(<Export *>self.context)


cdef void destroy_capsule(object capsule) noexcept:
    # A consumed capsule has another name, and its tensor another owner.
    cdef DlManagedTensorVersioned *versioned
    cdef DlManagedTensor *legacy
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        versioned = <DlManagedTensorVersioned *>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        versioned.deleter(versioned)
    elif PyCapsule_IsValid(capsule, b"dltensor"):
        legacy = <DlManagedTensor *>PyCapsule_GetPointer(capsule, b"dltensor")
        legacy.deleter(legacy)


cdef int32_t device_type(bint unified, int minor) noexcept:
    if unified:
        return DEVICE_CPU
    return DEVICE_ASCEND if minor >= ASCEND_SINCE_MINOR else DEVICE_EXTENSION


cdef Export *new_export(DeviceArray array, int minor, uint64_t flags, ascend_cy_stream_t *consumer) except NULL:
    """Everything that a capsule hands over, filled. Keeps the buffer and the consumer's stream."""
    cdef int rank = array.rank
    cdef bint unified = is_unified()
    cdef Export *export = <Export *>malloc(sizeof(Export) + 2 * rank * sizeof(int64_t))
    cdef DlTensor *tensor
    cdef int axis
    if export is NULL:
        raise MemoryError("no memory for a DLPack capsule")
    memset(export, 0, sizeof(Export))
    tensor = &export.versioned.tensor
    tensor.data = array.data if array.size else NULL
    tensor.device.type = device_type(unified, minor)
    tensor.device.id = 0 if unified else array.device
    tensor.ndim = rank
    tensor.dtype = type_by_code[array.code]
    tensor.shape = &export.dims[0]
    tensor.strides = tensor.shape + rank
    for axis in range(rank):
        tensor.shape[axis] = array.dims[axis]
        tensor.strides[axis] = array.dims[rank + axis] // itemsize_of(array.code)
    export.versioned.version.major = VERSION_MAJOR
    export.versioned.version.minor = VERSION_MINOR if minor < VERSION_MINOR else minor
    export.versioned.flags = flags | (FLAG_READ_ONLY if array.readonly else 0)
    export.versioned.context = export
    export.versioned.deleter = delete_versioned
    export.legacy.tensor = tensor[0]
    export.legacy.context = export
    export.legacy.deleter = delete_legacy
    export.buffer = <ascend_cy_buffer_t *>array.buffer
    ascend_cy_buffer_retain(export.buffer)
    if consumer is not NULL:
        ascend_cy_stream_retain(consumer)
        export.consumer = consumer
    return export


cdef int check_exportable(DeviceArray array) except -1:
    cdef int axis
    if array.buffer is NULL:
        raise ValueError("the DeviceArray is closed")
    for axis in range(array.rank):
        if array.dims[array.rank + axis] % itemsize_of(array.code):
            raise BufferError("DLPack has strides in elements only; take a copy() first")
    return 0


cdef object parse_version(object max_version):
    if max_version is None:
        return None
    try:
        major, minor = max_version
        return int(major), int(minor)
    except (TypeError, ValueError):
        raise TypeError(f"max_version must be None or a pair of integers, got {max_version!r}") from None


def export_array(DeviceArray array, stream, max_version, dl_device, copy):
    """The body of ``DeviceArray.__dlpack__``."""
    cdef bint unified = is_unified()
    cdef ascend_cy_stream_t *consumer = NULL
    cdef ascend_cy_stream_t *box
    cdef Export *export
    cdef uint64_t flags = 0
    cdef int minor = 0
    cdef int32_t device
    cdef uintptr_t handle
    version = parse_version(max_version)
    check_exportable(array)
    array = pin(array)  # the waits below let other threads in
    if dl_device is not None:
        try:
            kind, index = dl_device
            dl_device = int(kind), int(index)
        except (TypeError, ValueError):
            raise TypeError(f"dl_device must be None or a pair of integers, got {dl_device!r}") from None
    if stream is not None:
        stream = as_integer(stream, "stream", "None or an integer")
        if not -1 <= stream < 2**64:
            raise ValueError(f"stream must be None, -1 or an address below 2**64, got {stream}")
    if version is not None and version[0] >= VERSION_MAJOR:
        minor = version[1] if version[0] == VERSION_MAJOR else VERSION_MINOR
    device = array.device
    own = (device_type(unified, minor), 0 if unified else device)
    if dl_device is not None and dl_device != own:
        if dl_device == (DEVICE_CPU, 0) and copy is not False:
            host = array.to_numpy()
            return host.__dlpack__() if version is None else host.__dlpack__(max_version=max_version)
        raise BufferError(f"the array is on device {own} and is not moved to {dl_device}")
    if copy:
        array = array.copy()
        flags = FLAG_IS_COPIED
    if array.readonly and version is None:
        raise BufferError("the array is read-only, which a legacy DLPack capsule cannot say; ask with max_version")
    if unified:
        # A consumer of CPU memory has no stream to order, so the producer's work has to be over.
        if stream is not None and stream != -1:
            raise ValueError(f"stream must be None or -1 for memory that is exported as CPU, got {stream!r}")
        if stream is None:
            wait_for_users(array)
    elif stream is None or stream != -1:
        handle = 0 if stream is None else stream
        check(ascend_cy_stream_wrap(device, <void *>handle, NULL, NULL, &consumer))
        try:
            with nogil:
                use_on(array, True, consumer)
                used_on(array, True, consumer)
        except BaseException:
            ascend_cy_stream_release(consumer)
            raise
    try:
        export = new_export(array, minor, flags, consumer)
    finally:
        if consumer is not NULL:
            ascend_cy_stream_release(consumer)  # the export keeps its own
    try:
        if version is not None and version[0] >= VERSION_MAJOR:
            return PyCapsule_New(&export.versioned, b"dltensor_versioned", destroy_capsule)
        return PyCapsule_New(&export.legacy, b"dltensor", destroy_capsule)
    except BaseException:
        release_export(export)
        raise


def export_device(DeviceArray array):
    """The body of ``DeviceArray.__dlpack_device__``."""
    if array.buffer is NULL:
        raise ValueError("the DeviceArray is closed")
    if is_unified():
        return (DEVICE_CPU, 0)
    return (DEVICE_EXTENSION, array.device)


# ---- in ----

cdef void return_versioned(void *managed) noexcept nogil:
    cdef DlManagedTensorVersioned *tensor = <DlManagedTensorVersioned *>managed
    if tensor.deleter is not NULL:
        tensor.deleter(tensor)


cdef void return_legacy(void *managed) noexcept nogil:
    cdef DlManagedTensor *tensor = <DlManagedTensor *>managed
    if tensor.deleter is not NULL:
        tensor.deleter(tensor)


cdef bint on_host(const DlTensor *tensor) noexcept:
    return tensor.device.type in (DEVICE_CPU, DEVICE_CUDA_HOST, DEVICE_ROCM_HOST)


cdef int read_tensor(const DlTensor *tensor, bint to_copy, Py_ssize_t *dims) except -1:
    """Shape and strides in bytes of `tensor`; gives its aclDataType. BufferError where it cannot be represented."""
    cdef bint unified = is_unified()
    cdef int rank = tensor.ndim
    cdef int axis, itemsize
    cdef object size = 1
    code = code_by_type.get((tensor.dtype.code, tensor.dtype.bits))
    if code is None or tensor.dtype.lanes != 1:
        raise BufferError(f"DLPack type (code {tensor.dtype.code}, {tensor.dtype.bits} bits, {tensor.dtype.lanes} "
                          f"lanes) has no counterpart on devices")
    if not 0 <= rank <= MAX_DIMS:
        raise BufferError(f"a DLPack tensor must have 0 to {MAX_DIMS} axes, got {rank}")
    if rank > 0 and tensor.shape is NULL:
        raise BufferError("a DLPack tensor with axes has no shape")
    if on_host(tensor):
        if not unified and not to_copy:
            raise BufferError("host memory is not device memory here: copy it with copy=True or ascend_cy.asarray()")
    elif tensor.device.type in (DEVICE_EXTENSION, DEVICE_ASCEND):
        if unified:
            raise BufferError("the tensor is on an NPU, but ascend_cy runs on the embedded device in this process")
    else:
        raise BufferError(f"memory of DLPack device type {tensor.device.type} is not reachable here")
    itemsize = itemsize_of(code)
    for axis in range(rank):
        if tensor.shape[axis] < 0:
            raise BufferError(f"a DLPack tensor has a negative side: {tensor.shape[axis]}")
        dims[axis] = tensor.shape[axis]
        size *= tensor.shape[axis]
    if size * itemsize > 2**63 - 1:
        raise BufferError("a DLPack tensor is larger than memory addresses can be")
    step = itemsize
    for axis in range(rank - 1, -1, -1):
        if tensor.strides is not NULL:
            if abs(<object>tensor.strides[axis]) * itemsize > 2**63 - 1:
                raise BufferError(f"a DLPack tensor has a stride beyond memory addresses: {tensor.strides[axis]}")
            dims[rank + axis] = tensor.strides[axis] * itemsize
        else:
            dims[rank + axis] = step if size else 0
        step *= max(tensor.shape[axis], 1)
    if size and tensor.data is NULL:
        raise BufferError("a DLPack tensor with elements has no data")
    beyond = beyond_addresses(<uintptr_t>tensor.data + tensor.byte_offset, rank, dims, itemsize)
    if beyond is not None:
        raise BufferError(f"a DLPack tensor reaches beyond what addresses can be: {beyond}")
    return code


cdef char *tensor_data(const DlTensor *tensor) noexcept:
    return <char *>tensor.data + tensor.byte_offset if tensor.data is not NULL else NULL


cdef DeviceArray import_tensor(const DlTensor *tensor, bint readonly, void (*give_back)(void *) noexcept nogil,
                               void *managed, object owner, void *box):
    """A DeviceArray over the memory of `tensor`; the tensor is given back once the work that uses it has passed.

    BufferError, with nothing taken over, where the tensor cannot be represented.
    """
    cdef Py_ssize_t[2 * MAX_DIMS] dims
    cdef int code = read_tensor(tensor, False, dims)
    return adopt_memory(tensor_data(tensor), tensor.ndim, dims, code, readonly, give_back, managed, owner, box)


cdef DeviceArray upload_tensor(const DlTensor *tensor, void *box):
    """A new DeviceArray with the elements of `tensor`, which is in host memory and stays the caller's."""
    cdef Py_ssize_t[2 * MAX_DIMS] dims
    cdef int code = read_tensor(tensor, True, dims)
    cdef int rank = tensor.ndim
    cdef DeviceArray array = new_array(rank, dims, code, box)
    cdef char *data = tensor_data(tensor)
    cdef char *low
    cdef char *high
    cdef cnp.npy_intp nbytes
    if array.size == 0:
        return array
    extent(data, rank, dims, dims + rank, itemsize_of(code), &low, &high)
    nbytes = high - low
    around = cnp.PyArray_SimpleNewFromData(1, &nbytes, cnp.NPY_UINT8, low)
    # The bits are what counts: NumPy knows no bfloat16.
    host = np.ndarray(sides(dims, rank), f"V{itemsize_of(code)}", around, data - low, sides(dims + rank, rank))
    upload(array, np.array(host, copy=True, order="C"), box)
    return array


cdef object take_capsule(object capsule, object owner, bint to_copy, void *box):
    """A DeviceArray from a capsule; `to_copy` allows a copy where host memory cannot be shared."""
    cdef DlManagedTensorVersioned *versioned
    cdef DlManagedTensor *legacy
    cdef DeviceArray array
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        versioned = <DlManagedTensorVersioned *>PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        if versioned.version.major > VERSION_MAJOR:
            # Only the deleter may be relied on, and the capsule calls it.
            raise BufferError(f"DLPack {versioned.version.major}.{versioned.version.minor} is newer than "
                              f"{VERSION_MAJOR}.{VERSION_MINOR}, which this package understands")
        if to_copy and on_host(&versioned.tensor) and not is_unified():
            return upload_tensor(&versioned.tensor, box)  # the capsule keeps the tensor, and gives it back
        array = import_tensor(&versioned.tensor, versioned.flags & FLAG_READ_ONLY != 0, return_versioned, versioned,
                              owner, box)
        # From here on the array owns the tensor, so the capsule must not.
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        return array
    if PyCapsule_IsValid(capsule, b"dltensor"):
        legacy = <DlManagedTensor *>PyCapsule_GetPointer(capsule, b"dltensor")
        if to_copy and on_host(&legacy.tensor) and not is_unified():
            return upload_tensor(&legacy.tensor, box)
        array = import_tensor(&legacy.tensor, False, return_legacy, legacy, owner, box)
        PyCapsule_SetName(capsule, b"used_dltensor")
        return array
    raise BufferError("__dlpack__ gave no usable DLPack capsule (it may be consumed already)")


def from_dlpack(obj, *, copy=None, Stream stream=None):
    """A device array over the memory of another library's array.

    On unified memory (the `cpu` device) host arrays of NumPy, torch or JAX are shared without a copy. Memory of an NPU is
    shared with torch_npu and others; the producer orders its work before ``stream``.

    Parameters
    ----------
    obj : object with ``__dlpack__`` and ``__dlpack_device__``
    copy : bool, optional
        True: always copy; False: never; None: only where the producer must.
    stream : Stream, optional
        Where the array is used first; the thread's current stream by default.

    Returns
    -------
    DeviceArray
        It keeps the producer's memory until the work that uses it has passed. Read-only where the producer says so.

    Raises
    ------
    TypeError
        If ``obj`` does not speak DLPack.
    BufferError
        If the memory or the data type cannot be shared; the producer's array is then left as it was.
    """
    cdef void *box = stream_box(stream)
    cdef void *handle
    cdef DeviceArray array
    held = wrap_stream(box)  # the producer's code and other threads may close it
    if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
        raise TypeError(f"obj must have __dlpack__ and __dlpack_device__, got {type(obj).__name__}")
    if copy is not None and not isinstance(copy, bool):
        raise TypeError(f"copy must be True, False or None, got {type(copy).__name__}")
    arguments = {}
    if obj.__dlpack_device__()[0] in (DEVICE_EXTENSION, DEVICE_ASCEND):
        handle = ascend_cy_stream_handle(<ascend_cy_stream_t *>box)
        arguments["stream"] = <uintptr_t>handle if handle is not NULL else None
    modern = dict(arguments, max_version=(VERSION_MAJOR, VERSION_MINOR))
    if copy is not None:
        modern["copy"] = copy
    try:
        capsule = obj.__dlpack__(**modern)
        copied = copy
    except TypeError:
        # A producer from before DLPack 1.0 knows neither keyword, and never copies.
        capsule = obj.__dlpack__(**arguments)
        copied = False
    array = take_capsule(capsule, obj, copy is True, box)
    return array.copy(held) if copy and not copied and array.foreign else array


# ---- the C exchange table ----

cdef int table_allocate(DlTensor *prototype, DlManagedTensorVersioned **out, void *context,
                        void (*set_error)(void *context, const char *kind, const char *message) noexcept) noexcept with gil:
    cdef Py_ssize_t[MAX_DIMS] dims
    cdef DeviceArray array
    cdef int axis
    try:
        code = code_by_type.get((prototype.dtype.code, prototype.dtype.bits))
        if code is None or prototype.dtype.lanes != 1:
            raise BufferError("the data type has no counterpart on devices")
        if not 0 <= prototype.ndim <= MAX_DIMS:
            raise BufferError(f"a tensor must have 0 to {MAX_DIMS} axes, got {prototype.ndim}")
        for axis in range(prototype.ndim):
            dims[axis] = prototype.shape[axis]
        array = new_array(prototype.ndim, dims, code, stream_box(None))
        out[0] = &new_export(array, VERSION_MINOR, 0, NULL).versioned
        return 0
    except BaseException as error:
        set_error(context, type(error).__name__.encode(), str(error).encode())
        return -1


cdef int table_from_object(void *obj, DlManagedTensorVersioned **out) noexcept with gil:
    cdef DeviceArray array
    try:
        if not isinstance(<object>obj, DeviceArray):
            raise TypeError(f"a DeviceArray is needed, got {type(<object>obj).__name__}")
        array = <DeviceArray><object>obj
        check_exportable(array)
        array = pin(array)  # another thread may close it
        out[0] = &new_export(array, VERSION_MINOR, 0, NULL).versioned
        return 0
    except BaseException:
        return set_python_error()


cdef int table_to_object(DlManagedTensorVersioned *tensor, void **out) noexcept with gil:
    cdef DeviceArray array
    try:
        if tensor.version.major > VERSION_MAJOR:
            raise BufferError(f"DLPack {tensor.version.major}.{tensor.version.minor} is newer than this package")
        array = import_tensor(&tensor.tensor, tensor.flags & FLAG_READ_ONLY != 0, return_versioned, tensor, None,
                              stream_box(None))
        Py_INCREF(array)
        out[0] = <void *>array
        return 0
    except BaseException:
        return set_python_error()


cdef int table_view_object(void *obj, DlTensor *out) noexcept with gil:
    cdef DeviceArray array
    cdef bint unified
    try:
        if not isinstance(<object>obj, DeviceArray):
            raise TypeError(f"a DeviceArray is needed, got {type(<object>obj).__name__}")
        array = <DeviceArray><object>obj
        unified = is_unified()  # lets other threads in
        array_data(array)  # refuses a closed array
        out.data = array.data if array.size else NULL
        out.device.type = device_type(unified, VERSION_MINOR)
        out.device.id = 0 if unified else array.device
        out.ndim = array.rank
        out.dtype = type_by_code[array.code]
        out.shape = <int64_t *>array.dims
        out.strides = <int64_t *>element_strides(array)
        out.byte_offset = 0
        return 0
    except BaseException:
        return set_python_error()


cdef int table_current_stream(int32_t type, int32_t device, void **stream) noexcept with gil:
    try:
        # CPU consumers have no stream.
        stream[0] = NULL if type == DEVICE_CPU else ascend_cy_stream_handle(<ascend_cy_stream_t *>stream_box(None))
        return 0
    except BaseException:
        return set_python_error()


cdef extern from "Python.h":
    # Declared without an exception value: what it sets is meant to stay.
    void set_error_indicator "PyErr_SetObject"(object type, object value)
    void PyType_Modified(type)


cdef int set_python_error() noexcept:
    """Leave the exception being handled set, as the table's contract asks, and return -1."""
    error = sys.exc_info()[1]
    set_error_indicator(type(error), error)
    return -1


cdef DlExchangeApi api
memset(&api, 0, sizeof(api))
api.header.version.major = VERSION_MAJOR
api.header.version.minor = VERSION_MINOR
api.allocate = table_allocate
api.from_object = table_from_object
api.to_object = table_to_object
api.view_object = table_view_object
api.current_stream = table_current_stream


# Consumers look the table up on the type, which is a static one, so it goes into its dictionary.
(<dict>(<PyTypeObject *>DeviceArray).tp_dict)["__dlpack_c_exchange_api__"] = PyCapsule_New(
    &api, b"dlpack_exchange_api", NULL)
PyType_Modified(DeviceArray)
