"""What users pass as arrays, as plain C description.

ndarrays are read through NumPy's C API: asking for a typed memoryview or a Python attribute costs more than a small
kernel.
"""

cimport numpy as cnp
from cpython.buffer cimport PyObject_CheckBuffer

from libc.stdint cimport int32_t

from ascend_cy._array cimport DeviceArray, copy_device, new_array
from ascend_cy._dtypes cimport ACL_BF16, ACL_FLOAT, ACL_FLOAT16, NO_CODE, code_of, dtype_of, itemsize_of, name_of
from ascend_cy._host cimport *
from ascend_cy._shape cimport MAX_DIMS, extent, may_overlap_itself, sides
from ascend_cy._status cimport as_integer, check
from ascend_cy._stream cimport Stream

import numpy as np

cnp.import_array()


cdef int refuse_mixed(object obj, str name, str first, bint device) except -1:
    if device:
        if isinstance(obj, DeviceArray):
            return 0
        if is_array_like(obj):
            raise TypeError(f"{name} is in host memory ({type(obj).__name__}) but {first} is a DeviceArray: "
                            f"move it with ascend_cy.asarray({name})")
        raise TypeError(f"{name} must be a DeviceArray, got {type(obj).__name__}")
    if isinstance(obj, DeviceArray):
        raise TypeError(f"{name} is a DeviceArray but {first} is in host memory: move {first} with ascend_cy.asarray({first}), "
                        f"or {name} with {name}.to_numpy()")
    return 0


cdef bint is_array_like(object obj):
    return shares_memory(obj) or (hasattr(obj, "__array__") and not isinstance(obj, type))


cdef bint shares_memory(object obj):
    return (isinstance(obj, np.ndarray) or PyObject_CheckBuffer(obj) or hasattr(obj, "__array_interface__")
            or hasattr(obj, "__array_struct__") or hasattr(obj, "__dlpack__"))


cdef object as_ndarray(object obj, str name):
    """An ndarray with the elements of `obj`, and its memory where shares_memory()."""
    if isinstance(obj, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array: the mask would be lost; use .filled()")
    if isinstance(obj, np.ndarray):
        return np.asarray(obj)
    if PyObject_CheckBuffer(obj) or hasattr(obj, "__array_interface__") or hasattr(obj, "__array_struct__"):
        try:
            return np.asarray(obj)
        except (ValueError, BufferError) as error:
            raise TypeError(f"{name} has a buffer that NumPy does not understand: {error}") from error
    if hasattr(obj, "__dlpack__"):
        try:
            return np.from_dlpack(obj)
        except (BufferError, RuntimeError) as error:
            raise TypeError(f"{name} does not share its memory through DLPack: {error}") from error
    if is_array_like(obj):
        return np.asarray(obj)
    raise TypeError(f"{name} must be an array (numpy.ndarray, buffer or DeviceArray), got {type(obj).__name__}")


cdef inline void describe(cnp.ndarray array, int code, Operand *operand) noexcept:
    operand.data = cnp.PyArray_DATA(array)
    operand.shape = <const Py_ssize_t *>cnp.PyArray_DIMS(array)
    operand.rank = cnp.PyArray_NDIM(array)
    operand.code = code


cdef int array_code(cnp.ndarray array, str name) except -1:
    cdef int code = code_of(array.descr)
    if code == NO_CODE:
        raise TypeError(f"{name} must have a dtype that devices have, got {array.dtype}")
    return code


cdef object take_host_slowly(object obj, str name, str first, Operand *operand):
    refuse_mixed(obj, name, first, False)
    cdef object array = obj if cnp.PyArray_CheckExact(obj) else as_ndarray(obj, name)
    cdef int code = array_code(<cnp.ndarray>array, name)
    if not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>array):
        # Strided, unaligned or byte-swapped: the kernels read a native contiguous copy.
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True, subok=False)
    describe(<cnp.ndarray>array, code, operand)
    return array


cdef object take_host_strided(object obj, str name, Operand *operand):
    cdef object array = obj if cnp.PyArray_CheckExact(obj) else as_ndarray(obj, name)
    cdef int code = array_code(<cnp.ndarray>array, name)
    if not (cnp.PyArray_ISALIGNED(<cnp.ndarray>array) and cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>array)):
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True, subok=False)
    describe(<cnp.ndarray>array, code, operand)
    return array


cdef object shared_ndarray(object obj, str name):
    if is_array_like(obj) and not shares_memory(obj):
        raise TypeError(f"{name} must be an array whose memory can be written to (numpy.ndarray, buffer or DeviceArray), "
                        f"got {type(obj).__name__}, which has __array__ alone")
    return as_ndarray(obj, name)


cdef object take_out(object obj, str name, Operand *operand):
    cdef object array = obj if cnp.PyArray_CheckExact(obj) else shared_ndarray(obj, name)
    cdef int code = array_code(<cnp.ndarray>array, name)
    if not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>array):
        raise TypeError(f"{name} must be in native byte order, got {array.dtype.str}")
    if not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>array):
        raise ValueError(f"{name} is read-only")
    describe(<cnp.ndarray>array, code, operand)
    if (not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>array)
            and may_overlap_itself(operand.rank, operand.shape,
                                   <const Py_ssize_t *>cnp.PyArray_STRIDES(<cnp.ndarray>array), itemsize_of(code))):
        raise ValueError(f"{name} has elements that share memory with each other, got strides {array.strides}")
    return array


cdef void release_held(ascend_cy_buffer_t *const *buffers, int count, bint unified) noexcept:
    # The last reference may go here; on the embedded device nothing in that can block.
    if unified:
        let_go(buffers, count)
    else:
        with nogil:
            let_go(buffers, count)


cdef DeviceArray pack_device(DeviceArray array, void *box):
    cdef DeviceArray packed = new_array(array.rank, array.dims, array.code, box)
    copy_device(packed, array, box)
    return packed


cdef int raise_overlap(str name, bint exact_allowed) except -1:
    if not exact_allowed:
        raise ValueError(f"out must not share memory with {name}")
    raise ValueError(f"out overlaps {name} in part: pass the same array to work in place, or one of its own")


cdef int refuse_host_overlap(object out, object source, str name, bint exact_allowed) except -1:
    cdef cnp.ndarray a
    cdef cnp.ndarray b
    cdef char *a_data
    cdef char *b_data
    cdef int axis
    cdef bint same
    if source is None:
        return 0
    if out is source:
        return 0 if exact_allowed else raise_overlap(name, False)
    a = <cnp.ndarray>out
    b = <cnp.ndarray>source
    a_data = <char *>cnp.PyArray_DATA(a)
    b_data = <char *>cnp.PyArray_DATA(b)
    if cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_C_CONTIGUOUS(b):
        if a_data >= b_data + cnp.PyArray_NBYTES(b) or b_data >= a_data + cnp.PyArray_NBYTES(a):
            return 0
    elif not np.may_share_memory(out, source):
        return 0
    same = a_data == b_data and cnp.PyArray_NDIM(a) == cnp.PyArray_NDIM(b)
    if same:
        for axis in range(cnp.PyArray_NDIM(a)):
            if (cnp.PyArray_DIM(a, axis) != cnp.PyArray_DIM(b, axis)
                    or (cnp.PyArray_STRIDE(a, axis) != cnp.PyArray_STRIDE(b, axis) and cnp.PyArray_DIM(a, axis) > 1)):
                same = False
    if same and exact_allowed:
        return 0
    if not same:
        try:
            if not np.shares_memory(out, source, max_work=100000):
                return 0
        except np.exceptions.TooHardError if hasattr(np, "exceptions") else np.TooHardError:
            pass  # not known to be apart
    return raise_overlap(name, exact_allowed)


cdef int refuse_device_overlap(DeviceArray out, DeviceArray source, str name, bint exact_allowed) except -1 nogil:
    cdef char *out_low
    cdef char *out_high
    cdef char *low
    cdef char *high
    cdef int axis
    cdef bint same
    if not out.contiguous and may_overlap_itself(out.rank, out.dims, out.dims + out.rank, itemsize_of(out.code)):
        with gil:
            raise ValueError(f"out has elements that share memory with each other, got strides {out.strides}")
    if source is None:
        return 0
    extent(out.data, out.rank, out.dims, out.dims + out.rank, itemsize_of(out.code), &out_low, &out_high)
    extent(source.data, source.rank, source.dims, source.dims + source.rank, itemsize_of(source.code), &low, &high)
    if out_low >= high or low >= out_high:
        return 0
    same = out.data == source.data and out.rank == source.rank
    if same:
        for axis in range(out.rank):
            if out.dims[axis] != source.dims[axis] or (
                    out.dims[axis] > 1 and out.dims[out.rank + axis] != source.dims[source.rank + axis]):
                same = False
    if same and exact_allowed:
        return 0
    with gil:
        return raise_overlap(name, exact_allowed)


cdef int refuse_overlap(const void *out, size_t out_bytes, const void *source, size_t source_bytes,
                        const char *name, bint exact_allowed) except -1 nogil:
    if source is NULL or <char *>out >= <char *>source + source_bytes or <char *>source >= <char *>out + out_bytes:
        return 0
    with gil:
        return raise_overlap(name.decode(), exact_allowed)


# ---- checks that operators share ----

cdef int raise_dtype(int code, str name) except -1 nogil:
    with gil:
        raise TypeError(f"{name} must have dtype float32, float16 or bfloat16, got {name_of(code)}")


cdef tuple shape_of(const Operand *operand):
    cdef int axis
    return tuple([operand.shape[axis] for axis in range(operand.rank)])


cdef int check_out(const Operand *x, str first, const Operand *out) except -1 nogil:
    if out.code != x.code:
        with gil:
            raise TypeError(f"out must have dtype {name_of(x.code)} like {first}, got {name_of(out.code)}")
    if not same_shape(x.rank, x.shape, out):
        with gil:
            raise ValueError(f"out must have shape {shape_of(x)} like {first}, got {shape_of(out)}")
    return 0


cdef int check_out_shape(const Operand *out, int code, int rank, const Py_ssize_t *shape) except -1 nogil:
    if out.code != code:
        with gil:
            raise TypeError(f"out must have dtype {name_of(code)}, got {name_of(out.code)}")
    if not same_shape(rank, shape, out):
        with gil:
            raise ValueError(f"out must have shape {sides(shape, rank)}, got {shape_of(out)}")
    return 0


cdef int check_weight(const Operand *x, const Operand *weight, int normalized_ndim, str name) except -1:
    check_float(weight.code, name)
    if not same_shape(normalized_ndim, x.shape + x.rank - normalized_ndim, weight):
        raise ValueError(f"{name} must have shape {shape_of(x)[x.rank - normalized_ndim:]}, the normalized axes of x, "
                         f"got {shape_of(weight)}")
    return 0


cdef int check_normalized_ndim(object normalized_ndim, object x) except -1:
    cdef int rank
    number = as_integer(normalized_ndim, "normalized_ndim")
    rank = getattr(x, "ndim", MAX_DIMS)  # what x is, if it is no array, is told later
    if not 1 <= number <= max(rank, 1):
        raise ValueError(f"normalized_ndim must be between 1 and the {rank} axes of x, got {number}")
    return number


cdef int raise_stream(object stream) except -1:
    raise TypeError(f"stream must be a Stream or None, got {type(stream).__name__}")


cdef object array_of(object given, object taken):
    """The caller's own memory, for the overlap check: what was copied at intake cannot overlap."""
    if given is None or cnp.PyArray_CheckExact(given):
        return given
    # A buffer or a subclass: `taken` shares its memory, or is a copy and overlaps nothing.
    return taken


cdef object new_host_like(const Operand *operand, object array):
    """A new ndarray of the same shape and dtype."""
    if operand.code == ACL_BF16:
        return np.empty(shape_of(operand), dtype_of(ACL_BF16))
    return cnp.PyArray_EMPTY(operand.rank, <cnp.npy_intp *>operand.shape, cnp.PyArray_TYPE(<cnp.ndarray>array), 0)


# ---- device arguments ----

cdef int check_device(DeviceArray array, str name, int32_t wanted) except -1 nogil:
    cdef int32_t device = ascend_cy_stream_device(<ascend_cy_stream_t *>array.home)
    if device != wanted:
        with gil:
            raise ValueError(f"{name} is on device {device}, but the stream is of device {wanted}")
    return 0


cdef void describe_open(DeviceArray array, Operand *operand) noexcept nogil:
    operand.data = array.data
    operand.shape = array.dims
    operand.rank = array.rank
    operand.code = array.code


cdef int describe_device_slowly(object obj, str name, str first, Operand *operand, ascend_cy_stream_t *box) except -1:
    refuse_mixed(obj, name, first, True)
    if (<DeviceArray>obj).buffer is NULL:
        raise ValueError(f"{name} is closed")
    check_device(<DeviceArray>obj, name, ascend_cy_stream_device(box))
    describe_open(<DeviceArray>obj, operand)
    return 0


cdef int check_device_argument(DeviceArray array, str name, int32_t device, bint contiguous=True) except -1 nogil:
    if array is None:
        with gil:
            raise TypeError(f"{name} must be a DeviceArray, got None")
    if array.buffer is NULL:
        with gil:
            raise ValueError(f"{name} is closed")
    if contiguous and not array.contiguous:
        with gil:
            raise ValueError(f"{name} must be contiguous")
    return check_device(array, name, device)
