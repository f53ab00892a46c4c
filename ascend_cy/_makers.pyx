"""Functions that make device arrays."""

cimport numpy as cnp

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uintptr_t

from ascend_cy._array cimport (DeviceArray, adopt_memory, array_within, as_host, element_of, fill_array, new_array,
                               upload)
from ascend_cy._dtypes cimport code_of, itemsize_of, parse_dtype
from ascend_cy._host cimport ascend_cy_buffer_layout, ascend_cy_last_message
from ascend_cy._shape cimport MAX_DIMS, beyond_addresses, checked_nbytes, parse_shape
from ascend_cy._status cimport as_integer, text
from ascend_cy._stream cimport Stream, device_index, drop_later, hold_owner, stream_box

import numpy as np

from ascend_cy._stream import current_stream, default_stream

cnp.import_array()


def empty(shape, dtype="float32", *, Stream stream=None):
    """A new array with undefined contents.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data type, default float32
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    DeviceArray
    """
    cdef Py_ssize_t[MAX_DIMS] dims
    cdef int code
    parse_dtype(dtype, &code)
    cdef int rank = parse_shape(shape, dims)
    return new_array(rank, dims, code, stream_box(stream))


def empty_many(shapes, dtype="float32", *, Stream stream=None):
    """New arrays with undefined contents, side by side in one allocation.

    Cheaper than as many calls of :func:`empty`, and without the rounding of many small blocks. Every array starts at a
    multiple of 64 bytes and is followed by at least 32 bytes that hardware may read, as AscendCL asks of those who divide
    memory themselves. To the memory pool they are one block: it is given back when the last of the arrays is gone, and a
    stream that uses one of them is waited for by all.

    Parameters
    ----------
    shapes : sequence of shapes
        An int or a sequence of int each.
    dtype : data type or list of data types, default float32
        One for all arrays, or a list or tuple with one for each.
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    list of DeviceArray
        None of them is a view of another.

    Raises
    ------
    TypeError, ValueError
        For a shape or dtype that cannot be; the message names its index.
    DeviceMemoryError
        If the device has no memory left. Nothing was allocated then.

    Examples
    --------
    >>> import ascend_cy
    >>> mean, rstd, out = ascend_cy.empty_many([128, 128, (128, 64)], ["float32", "float32", "float16"])
    >>> out.ptr - rstd.ptr
    576
    """
    cdef Py_ssize_t[MAX_DIMS] dims
    cdef Py_ssize_t count, i, nbytes
    cdef int rank, code, bytes_code
    cdef size_t total = 0
    cdef int status
    cdef size_t *sizes
    cdef size_t *offsets
    cdef DeviceArray block
    cdef void *box
    if isinstance(shapes, (str, bytes)):
        raise TypeError(f"shapes must be a sequence of shapes, got {type(shapes).__name__}")
    try:
        shapes = list(shapes)
    except TypeError:
        raise TypeError(f"shapes must be a sequence of shapes, got {type(shapes).__name__}") from None
    count = len(shapes)
    many = type(dtype) in (list, tuple)
    if many and len(dtype) != count:
        raise ValueError(f"dtype must be one data type, or one for each of {count} shapes, got {len(dtype)}")
    if count == 0:
        parse_dtype("uint8" if many else dtype, &code)
        return []
    box = stream_box(stream)
    sizes = <size_t *>PyMem_Malloc(2 * count * sizeof(size_t))
    if sizes is NULL:
        raise MemoryError("no memory for the sizes of arrays")
    offsets = sizes + count
    try:
        for i in range(count):
            try:
                parse_dtype(dtype[i] if many else dtype, &code)
            except (TypeError, ValueError) as error:
                raise (type(error)(f"dtype[{i}]: {error}") if many else error) from None
            try:
                rank = parse_shape(shapes[i], dims)
                sizes[i] = checked_nbytes(rank, dims, itemsize_of(code))
            except (TypeError, ValueError) as error:
                raise type(error)(f"shapes[{i}]: {error}") from None
        status = ascend_cy_buffer_layout(sizes, count, offsets, &total)
        if status != 0:
            raise ValueError(f"shapes must fit in memory together: {text(ascend_cy_last_message())}")
        nbytes = total
        parse_dtype("uint8", &bytes_code)
        block = new_array(1, &nbytes, bytes_code, box)
        arrays = []
        for i in range(count):
            parse_dtype(dtype[i] if many else dtype, &code)
            rank = parse_shape(shapes[i], dims)
            if checked_nbytes(rank, dims, itemsize_of(code)) != <Py_ssize_t>sizes[i]:
                raise ValueError(f"shapes[{i}] changed while it was read")
            arrays.append(array_within(block, offsets[i], rank, dims, code))
    finally:
        PyMem_Free(sizes)
    return arrays


def zeros(shape, dtype="float32", *, Stream stream=None):
    """A new array of zeros; enqueued, returns before the work is done. Parameters as for :func:`empty`.

    Returns
    -------
    DeviceArray
    """
    return full(shape, 0, dtype, stream=stream)


def ones(shape, dtype="float32", *, Stream stream=None):
    """A new array of ones; enqueued, returns before the work is done. Parameters as for :func:`empty`.

    Returns
    -------
    DeviceArray
    """
    return full(shape, 1, dtype, stream=stream)


def full(shape, fill_value, dtype="float32", *, Stream stream=None):
    """A new array with every element ``fill_value``; enqueued, returns before the work is done.

    Parameters
    ----------
    shape : int or sequence of int
    fill_value : number
        As for :meth:`DeviceArray.fill`.
    dtype : data type, default float32
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError, ValueError, OverflowError
        For a shape or dtype that cannot be, for a value that is no number or does not fit the dtype.
    """
    cdef int code
    parse_dtype(dtype, &code)
    element = element_of(fill_value, code, "fill_value")  # before anything is allocated
    array = empty(shape, dtype, stream=stream)
    fill_array(array, element, stream_box(stream))
    return array


def empty_like(prototype, dtype=None, *, Stream stream=None):
    """A new contiguous array of the shape and, by default, the dtype of ``prototype``, contents undefined.

    Parameters
    ----------
    prototype : DeviceArray or numpy.ndarray
    dtype : data type, optional
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    DeviceArray
    """
    if not isinstance(prototype, (DeviceArray, np.ndarray)):
        raise TypeError(f"prototype must be a DeviceArray or a numpy.ndarray, got {type(prototype).__name__}")
    if isinstance(prototype, DeviceArray) and (<DeviceArray>prototype).buffer is NULL:
        raise ValueError("prototype is closed")
    if dtype is None:
        dtype = prototype.dtype.newbyteorder("=") if not prototype.dtype.isnative else prototype.dtype
    return empty(prototype.shape, dtype, stream=stream)


def asarray(obj, dtype=None, *, Stream stream=None):
    """Host data as a new device array; a DeviceArray is returned as it is.

    Parameters
    ----------
    obj : DeviceArray, numpy.ndarray, buffer, or anything ``numpy.asarray`` takes
        Any strides and byte order.
    dtype : data type, optional
        What to convert to, on the host and as NumPy's ``astype`` does; the dtype of ``obj`` by default.
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError
        For data that devices do not have (objects, strings, complex numbers, masked arrays).
    """
    cdef DeviceArray array
    cdef int code
    cdef void *box
    if isinstance(obj, DeviceArray):
        if (<DeviceArray>obj).buffer is NULL:
            raise ValueError("obj is closed")
        if dtype is None:
            return obj
        parse_dtype(dtype, &code)
        return obj if code == (<DeviceArray>obj).code else obj.astype(dtype, stream)
    host = as_host(obj, "obj")
    if dtype is not None:
        host = host.astype(parse_dtype(dtype, &code), copy=False)
    # Not np.ascontiguousarray alone: it makes arrays without axes one-dimensional.
    host = np.ascontiguousarray(host).reshape(host.shape)
    code = code_of((<cnp.ndarray>host).descr)
    box = stream_box(stream)
    array = new_array(host.ndim, <const Py_ssize_t *>cnp.PyArray_DIMS(<cnp.ndarray>host), code, box)
    upload(array, host, box)
    return array


def from_pointer(ptr, shape, dtype="float32", *, device=None, owner=None, strides=None, stream=None):
    """A device array over memory that somebody else allocated.

    Parameters
    ----------
    ptr : int
        Device address of the first element.
    shape : int or sequence of int
    dtype : data type, default float32
    device : int, optional
        The device that holds the memory; the thread's current device by default.
    owner : object, optional
        Kept alive until the work that uses the array has passed. The memory itself is never freed from here.
    strides : sequence of int, optional
        Bytes from one element to the next along each axis; C order by default.
    stream : Stream, optional
        Where the array is used first; the thread's current stream by default, or the device's default stream where
        ``device`` is another one.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError, ValueError
        For an address, shape, dtype, strides or device that cannot be.
    """
    cdef Py_ssize_t[2 * MAX_DIMS] dims
    cdef uintptr_t address
    cdef DeviceArray array
    cdef void *entry = NULL
    cdef void *box
    cdef int code, axis
    cdef int rank
    ptr = as_integer(ptr, "ptr", "an integer address")
    if not 0 <= ptr < 2**64:
        raise ValueError(f"ptr must be an address below 2**64, got {ptr}")
    address = ptr
    parse_dtype(dtype, &code)
    rank = parse_shape(shape, dims)
    checked_nbytes(rank, dims, itemsize_of(code))
    if address % itemsize_of(code):
        raise ValueError(f"ptr must be a multiple of the item size {itemsize_of(code)}, got 0x{address:x}")
    if strides is None:
        step = itemsize_of(code)
        for axis in range(rank - 1, -1, -1):
            dims[rank + axis] = step
            step *= max(dims[axis], 1)
    else:
        try:
            strides = tuple(strides)
        except TypeError:
            raise TypeError(f"strides must be a sequence of integers or None, got {type(strides).__name__}") from None
        strides = tuple([as_integer(step, "strides", "a sequence of integers") for step in strides])
        if len(strides) != rank:
            raise ValueError(f"strides must have {rank} entries like shape, got {len(strides)}")
        for axis in range(rank):
            if strides[axis] % itemsize_of(code):
                raise ValueError(f"strides must be multiples of the item size {itemsize_of(code)}, got {strides[axis]}")
            if not -2**63 <= strides[axis] < 2**63:
                raise ValueError(f"strides must be below 2**63 bytes, got {strides[axis]}")
            dims[rank + axis] = strides[axis]
    size = 1
    for axis in range(rank):
        size *= dims[axis]
    if address == 0 and size:
        raise ValueError("ptr must not be 0 for an array with elements, got 0")
    beyond = beyond_addresses(ptr, rank, dims, itemsize_of(code))
    if beyond is not None:
        raise ValueError(f"ptr, shape and strides must stay within what addresses can be, got {beyond}")
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(f"stream must be a Stream or None, got {type(stream).__name__}")
    if stream is None and device is not None:
        index = device_index(device)
        stream = current_stream()
        if stream.device != index:
            stream = default_stream(index)
    elif stream is not None and device is not None and stream.device != device_index(device):
        raise ValueError(f"stream is of device {stream.device}, not of device {device}")
    box = stream_box(stream)
    if owner is not None:
        entry = hold_owner(owner)
    try:
        array = adopt_memory(<void *>address, rank, dims, code, False, drop_later, entry, owner, box)
    except BaseException:
        drop_later(entry)
        raise
    return array
