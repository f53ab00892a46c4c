"""Functions that make device arrays."""

cimport numpy as cnp

from ascend_cy._array cimport DeviceArray, MAX_DIMS, as_host, new_array, parse_shape, upload
from ascend_cy._dtypes cimport code_of, parse_dtype
from ascend_cy._stream cimport Stream, stream_box

import numpy as np

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
    fill_value : scalar
    dtype : data type, default float32
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    DeviceArray
    """
    array = empty(shape, dtype, stream=stream)
    array.fill(fill_value, stream)
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
        What to convert to (on the host); the dtype of ``obj`` by default.
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
