"""Elementwise addition on ndarrays, buffers, DeviceArrays, and typed memoryviews without the GIL."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t

from ascend_cy._array cimport DeviceArray, copy_device, new_array
from ascend_cy._dtypes cimport ACL_BF16, ACL_FLOAT, ACL_FLOAT16, dtype_of, itemsize_of, name_of
from ascend_cy._host cimport *
from ascend_cy._intake cimport (Operand, array_of, check_device_argument, check_out, check_stream, describe_device,
                                describe_open, hold, new_host_like, ranges_meet, refuse_device_overlap,
                                refuse_host_overlap, refuse_mixed, refuse_overlap, release_held, same_shape, shape_of,
                                take_device, take_host, take_out)
from ascend_cy._shape cimport count_elements
from ascend_cy._staging cimport (FEW_ELEMENTS, begin_host_call, room_on_device, settle_host_call, settle_views, to_device,
                                 to_host)
from ascend_cy._status cimport check
from ascend_cy._stream cimport Stream, enter_stream, stream_box, wrap_stream

import numpy as np

cnp.import_array()

cdef enum:
    ACL_INT32 = 3


cdef struct VectorAdd:
    const void *a
    const void *b
    void *y
    int64_t n
    int code


cdef int launch_vector_add(const VectorAdd *job, ascend_cy_stream_t *box) noexcept nogil:
    return ascend_cy_vector_add(job.a, job.b, job.y, job.n, job.code, ascend_cy_stream_handle(box))


cdef int launch_ordered(const VectorAdd *job, ascend_cy_buffer_t *const *buffers, ascend_cy_stream_t *box) noexcept nogil:
    """Launch on device memory: behind what a and b wait for and all that uses y, which is buffers[2]."""
    cdef int code = ascend_cy_buffers_order(buffers, 2, 3, box)
    if code == 0:
        code = launch_vector_add(job, box)
    if code == 0:
        code = ascend_cy_buffers_record(buffers, 2, 3, box)
    return code


cdef int stage_vector_add(const VectorAdd *job, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue the call on a device with memory of its own: copy in, launch, copy out."""
    cdef ascend_cy_buffer_t *a = NULL
    cdef ascend_cy_buffer_t *b = NULL
    cdef ascend_cy_buffer_t *y = NULL
    cdef size_t nbytes = job.n * itemsize_of(job.code)
    cdef VectorAdd staged = job[0]
    try:
        to_device(job.a, nbytes, box, &a)
        to_device(job.b, nbytes, box, &b)
        room_on_device(job.y, nbytes, box, &y)
        staged.a = ascend_cy_buffer_pointer(a)
        staged.b = ascend_cy_buffer_pointer(b)
        staged.y = ascend_cy_buffer_pointer(y)
        check(launch_vector_add(&staged, box))
        to_host(job.y, y, nbytes, box)
    finally:
        # Stream-ordered: the memory is reused behind the work above.
        ascend_cy_buffer_release(a)
        ascend_cy_buffer_release(b)
        ascend_cy_buffer_release(y)
    return 0


cdef int enqueue_vector_add(const VectorAdd *job, bint unified, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue a call on host memory. The stream's device is current."""
    begin_host_call()
    if unified:
        return check(launch_vector_add(job, box))
    return stage_vector_add(job, box)


# ---- from Python ----

cdef int check_dtype(int code, str name) except -1 nogil:
    if code != ACL_FLOAT and code != ACL_FLOAT16 and code != ACL_BF16 and code != ACL_INT32:
        with gil:
            raise TypeError(f"{name} must have dtype float32, float16, bfloat16 or int32, got {name_of(code)}")
    return 0


cdef int check_b(const Operand *a, const Operand *b) except -1 nogil:
    if a.code != b.code:
        with gil:
            raise TypeError(f"b must have dtype {name_of(a.code)} like a, got {name_of(b.code)}")
    if not same_shape(a.rank, a.shape, b):
        with gil:
            raise ValueError(f"b must have shape {shape_of(a)} like a (nothing is broadcast), got {shape_of(b)}")
    return 0


cdef object vector_add_host(object a, object b, object out, ascend_cy_stream_t *box):
    cdef Operand a_operand, b_operand, out_operand
    cdef VectorAdd job
    cdef object target
    cdef object out_array = None
    cdef object left, right
    cdef size_t nbytes
    cdef bint unified, few
    left = take_host(a, "a", "a", &a_operand)
    check_dtype(a_operand.code, "a")
    right = take_host(b, "b", "a", &b_operand)
    check_b(&a_operand, &b_operand)
    if out is None:
        out = target = new_host_like(&a_operand, left)
    else:
        refuse_mixed(out, "out", "a", False)
        out_array = target = take_out(out, "out", &out_operand)
        check_out(&a_operand, "a", &out_operand)
        nbytes = count_elements(a_operand.rank, a_operand.shape) * itemsize_of(a_operand.code)
        if (left is not a or right is not b or not cnp.PyArray_ISCARRAY(<cnp.ndarray>out_array)
                or (out_operand.data != a_operand.data and ranges_meet(out_operand.data, nbytes, a_operand.data, nbytes))
                or (out_operand.data != b_operand.data and ranges_meet(out_operand.data, nbytes, b_operand.data, nbytes))):
            refuse_host_overlap(out_array, array_of(a, left), "a", True)
            refuse_host_overlap(out_array, array_of(b, right), "b", True)
        if not cnp.PyArray_ISCARRAY(<cnp.ndarray>out_array):
            target = np.empty(shape_of(&a_operand), dtype_of(a_operand.code))
    job.a = a_operand.data
    job.b = b_operand.data
    job.y = cnp.PyArray_DATA(<cnp.ndarray>target)
    job.n = count_elements(a_operand.rank, a_operand.shape)
    job.code = a_operand.code
    if job.n != 0:
        unified = ascend_cy_device_info().unified != 0
        few = unified and job.n <= FEW_ELEMENTS
        if few:
            enqueue_vector_add(&job, unified, box)
        else:
            with nogil:
                enqueue_vector_add(&job, unified, box)
        settle_host_call(box, few, left, right, target, None, None, None)
    if out_array is not None and target is not out_array:
        out_array[...] = target
    return out


cdef inline bint meets(DeviceArray array, const void *out, size_t nbytes) noexcept nogil:
    # A cheap answer for contiguous arrays, and where both are the same; others are looked at closely.
    return not array.contiguous or (array.data is not out and ranges_meet(out, nbytes, array.data, nbytes))


cdef object vector_add_device_arrays(object a, object b, object out, ascend_cy_stream_t *box):
    cdef Operand a_operand, b_operand, out_operand
    cdef VectorAdd job
    cdef DeviceArray left, right, target, result
    cdef ascend_cy_buffer_t *buffers[3]
    cdef ascend_cy_buffer_t *held[3]
    cdef bint unified, few
    cdef int code, holding
    cdef size_t nbytes
    describe_device(a, "a", "a", &a_operand, box)
    check_dtype(a_operand.code, "a")
    describe_device(b, "b", "a", &b_operand, box)
    check_b(&a_operand, &b_operand)
    if out is not None:
        describe_device(out, "out", "a", &out_operand, box)
        check_out(&a_operand, "a", &out_operand)
        if (<DeviceArray>out).readonly:
            raise ValueError("out is read-only")
        nbytes = (<DeviceArray>out).nbytes_()
        if not (<DeviceArray>out).contiguous or meets(<DeviceArray>a, out_operand.data, nbytes):
            refuse_device_overlap(<DeviceArray>out, <DeviceArray>a, "a", True)
        if not (<DeviceArray>out).contiguous or meets(<DeviceArray>b, out_operand.data, nbytes):
            refuse_device_overlap(<DeviceArray>out, <DeviceArray>b, "b", True)
    unified = ascend_cy_device_info().unified != 0
    held[0] = <ascend_cy_buffer_t *>(<DeviceArray>a).buffer
    held[1] = <ascend_cy_buffer_t *>(<DeviceArray>b).buffer
    held[2] = <ascend_cy_buffer_t *>(<DeviceArray>out).buffer if out is not None else NULL
    # Whatever other threads close meanwhile; where nothing below can let them in, there is nothing to hold.
    job.n = count_elements(a_operand.rank, a_operand.shape)
    few = unified and job.n <= FEW_ELEMENTS
    holding = 3
    if (few and out is not None and (<DeviceArray>out).contiguous and (<DeviceArray>a).contiguous
            and (<DeviceArray>b).contiguous):
        holding = 0
    hold(held, holding)
    try:
        result = <DeviceArray>out if out is not None else new_array(a_operand.rank, a_operand.shape, a_operand.code, box)
        if job.n == 0:
            return result
        left = take_device(<DeviceArray>a, &a_operand, box)
        right = take_device(<DeviceArray>b, &b_operand, box)
        target = result if result.contiguous else new_array(result.rank, result.dims, result.code, box)
        job.a = a_operand.data
        job.b = b_operand.data
        job.y = out_operand.data if target is out else target.data
        job.code = a_operand.code
        buffers[0] = held[0] if left is a else <ascend_cy_buffer_t *>left.buffer
        buffers[1] = held[1] if right is b else <ascend_cy_buffer_t *>right.buffer
        buffers[2] = held[2] if target is out else <ascend_cy_buffer_t *>target.buffer
        if few:
            code = launch_ordered(&job, buffers, box)
        else:
            with nogil:
                code = launch_ordered(&job, buffers, box)
        check(code)
        if target is not result:
            copy_device(result, target, box)
        return result
    finally:
        release_held(held, holding, unified)


@cython.binding(False)
def vector_add(a, b, *, out=None, stream=None):
    """Elementwise sum of two arrays of the same shape and dtype.

    16-bit types are added in float32 and rounded once; int32 wraps around.

    Parameters
    ----------
    a, b : array, float32, float16, bfloat16 or int32
        ndarrays or other buffers in host memory, or DeviceArrays; any shape, the same for both: nothing is broadcast. Only
        read. Strided input and foreign byte order work through a copy.
    out : array, optional
        Where the result goes: the same shape and dtype. It may be a or b itself, but overlap them in no other way.
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    numpy.ndarray or DeviceArray
        ``out`` where it was given, else a new array.

    Raises
    ------
    TypeError
        For a dtype that is not converted silently, for different dtypes, for host and device arguments mixed.
    ValueError
        For different shapes, a closed array or stream, a read-only or overlapping ``out``.
    DeviceMemoryError, AclError
        If the device fails.

    Notes
    -----
    With host arrays the call is synchronous: the result is complete on return. With DeviceArrays the work is enqueued on
    ``stream``, the call returns before it is done, and the arguments are kept from reuse until it has passed.

    Examples
    --------
    >>> import numpy as np, ascend_cy
    >>> ascend_cy.vector_add(np.arange(3, dtype=np.int32), np.full(3, 10, np.int32))
    array([10, 11, 12], dtype=int32)
    """
    cdef void *previous
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>enter_stream(check_stream(stream), &previous)
    held = None if stream is None else wrap_stream(box)  # whatever other threads close meanwhile
    try:
        if isinstance(a, DeviceArray):
            return vector_add_device_arrays(a, b, out, box)
        return vector_add_host(a, b, out, box)
    finally:
        ascend_cy_stream_leave(previous)


# ---- from Cython, without the GIL ----

cdef int run_views(const void *a, const void *b, Py_ssize_t b_size, void *out, Py_ssize_t out_size, Py_ssize_t size,
                   int code, Stream stream) except -1 nogil:
    """The body of the memoryview forms, on pointers and sizes alone; complete on return."""
    cdef VectorAdd job
    cdef ascend_cy_stream_t *box
    cdef void *previous
    cdef size_t nbytes = size * itemsize_of(code)
    if b_size != size or out_size != size:
        with gil:
            raise ValueError(f"a, b and out must have the same length, got {size}, {b_size} and {out_size}")
    if size == 0:
        return 0
    if out != a:
        refuse_overlap(out, nbytes, a, nbytes, b"a", True)
    if out != b:
        refuse_overlap(out, nbytes, b, nbytes, b"b", True)
    job.a = a
    job.b = b
    job.y = out
    job.n = size
    job.code = code
    box = <ascend_cy_stream_t *>enter_stream(stream, &previous)
    try:
        enqueue_vector_add(&job, ascend_cy_device_info().unified != 0, box)
        return settle_views(box)
    finally:
        ascend_cy_stream_leave(previous)


cdef int raise_none() except -1 nogil:
    with gil:
        raise TypeError("a, b and out must be arrays, got None")


cdef int vector_add_f32(const float[::1] a, const float[::1] b, float[::1] out, Stream stream) except -1 nogil:
    if a is None or b is None or out is None:
        raise_none()
    return run_views(&a[0] if a.shape[0] else NULL, &b[0] if b.shape[0] else NULL, b.shape[0],
                     &out[0] if out.shape[0] else NULL, out.shape[0], a.shape[0], ACL_FLOAT, stream)


cdef int vector_add_16(const unsigned short[::1] a, const unsigned short[::1] b, unsigned short[::1] out, int code,
                       Stream stream) except -1 nogil:
    if a is None or b is None or out is None:
        raise_none()
    return run_views(&a[0] if a.shape[0] else NULL, &b[0] if b.shape[0] else NULL, b.shape[0],
                     &out[0] if out.shape[0] else NULL, out.shape[0], a.shape[0], code, stream)


cdef int vector_add_f16(const unsigned short[::1] a, const unsigned short[::1] b, unsigned short[::1] out,
                        Stream stream) except -1 nogil:
    return vector_add_16(a, b, out, ACL_FLOAT16, stream)


cdef int vector_add_bf16(const unsigned short[::1] a, const unsigned short[::1] b, unsigned short[::1] out,
                         Stream stream) except -1 nogil:
    return vector_add_16(a, b, out, ACL_BF16, stream)


cdef int vector_add_i32(const int[::1] a, const int[::1] b, int[::1] out, Stream stream) except -1 nogil:
    if a is None or b is None or out is None:
        raise_none()
    return run_views(&a[0] if a.shape[0] else NULL, &b[0] if b.shape[0] else NULL, b.shape[0],
                     &out[0] if out.shape[0] else NULL, out.shape[0], a.shape[0], ACL_INT32, stream)


cdef int vector_add_device(DeviceArray a, DeviceArray b, DeviceArray out, Stream stream) except -1 nogil:
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(stream)
    cdef void *previous
    cdef int code
    cdef int32_t device = ascend_cy_stream_device(box)
    cdef Operand a_operand, b_operand, out_operand
    cdef ascend_cy_buffer_t *buffers[3]
    cdef VectorAdd job
    check_device_argument(a, "a", device)
    check_device_argument(b, "b", device)
    check_device_argument(out, "out", device)
    check_dtype(a.code, "a")
    describe_open(a, &a_operand)
    describe_open(b, &b_operand)
    describe_open(out, &out_operand)
    check_b(&a_operand, &b_operand)
    check_out(&a_operand, "a", &out_operand)
    if out.readonly:
        with gil:
            raise ValueError("out is read-only")
    refuse_device_overlap(out, a, "a", True)
    refuse_device_overlap(out, b, "b", True)
    job.a = a.data
    job.b = b.data
    job.y = out.data
    job.n = count_elements(a.rank, a.dims)
    job.code = a.code
    if job.n == 0:
        return 0
    buffers[0] = <ascend_cy_buffer_t *>a.buffer
    buffers[1] = <ascend_cy_buffer_t *>b.buffer
    buffers[2] = <ascend_cy_buffer_t *>out.buffer
    enter_stream(stream, &previous)
    code = launch_ordered(&job, buffers, box)
    ascend_cy_stream_leave(previous)
    return check(code)
