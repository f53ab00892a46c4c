"""Matrix products on ndarrays, buffers, DeviceArrays, and typed memoryviews without the GIL."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t

from ascend_cy._array cimport DeviceArray, copy_device, new_array
from ascend_cy._dtypes cimport ACL_BF16, ACL_FLOAT, ACL_FLOAT16, dtype_of, itemsize_of
from ascend_cy._host cimport *
from ascend_cy._intake cimport (Operand, array_of, check_device_argument, check_float, check_out_shape, check_stream,
                                describe_device, describe_open, hold, refuse_device_overlap, refuse_host_overlap,
                                refuse_mixed, refuse_overlap, release_held, shape_of, take_host_strided, take_out)
from ascend_cy._shape cimport MAX_DIMS
from ascend_cy._staging cimport (FEW_ELEMENTS, begin_host_call, room_on_device, settle_host_call, settle_views, to_device,
                                 to_host)
from ascend_cy._status cimport check
from ascend_cy._stream cimport Stream, enter_stream, stream_box, wrap_stream

import numpy as np

cnp.import_array()


cdef struct Product:
    # One call, wherever its memory is: out[i] = a[i] @ b[i], rows of out contiguous.
    ascend_cy_matrices_t a
    ascend_cy_matrices_t b
    void *out
    int64_t out_row_stride
    int64_t out_batch_stride
    int64_t batch
    int64_t m
    int64_t n
    int64_t k
    int code


cdef int launch_matmul(const Product *job, ascend_cy_stream_t *box) noexcept nogil:
    return ascend_cy_matmul(&job.a, &job.b, job.out, job.out_row_stride, job.out_batch_stride, job.batch, job.m, job.n,
                            job.k, job.code, ascend_cy_stream_handle(box))


cdef int launch_ordered(const Product *job, ascend_cy_buffer_t *const *buffers, ascend_cy_stream_t *box) noexcept nogil:
    """Launch on device memory: behind what a and b wait for and all that uses out, which is buffers[2]."""
    cdef int code = ascend_cy_buffers_order(buffers, 2, 3, box)
    if code == 0:
        code = launch_matmul(job, box)
    if code == 0:
        code = ascend_cy_buffers_record(buffers, 2, 3, box)
    return code


cdef int64_t matrices(const ascend_cy_matrices_t *operand, int64_t batch) noexcept nogil:
    return 1 if operand.batch_stride == 0 else batch


cdef int stage_matmul(const Product *job, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue the call on a device with memory of its own. Operands and result are contiguous here."""
    cdef ascend_cy_buffer_t *a = NULL
    cdef ascend_cy_buffer_t *b = NULL
    cdef ascend_cy_buffer_t *out = NULL
    cdef size_t itemsize = itemsize_of(job.code)
    cdef size_t out_bytes = job.batch * job.m * job.n * itemsize
    cdef Product staged = job[0]
    try:
        to_device(job.a.data, matrices(&job.a, job.batch) * job.m * job.k * itemsize, box, &a)
        to_device(job.b.data, matrices(&job.b, job.batch) * job.k * job.n * itemsize, box, &b)
        room_on_device(job.out, out_bytes, box, &out)
        staged.a.data = ascend_cy_buffer_pointer(a) if a is not NULL else NULL
        staged.b.data = ascend_cy_buffer_pointer(b) if b is not NULL else NULL
        staged.out = ascend_cy_buffer_pointer(out)
        check(launch_matmul(&staged, box))
        to_host(job.out, out, out_bytes, box)
    finally:
        # Stream-ordered: the memory is reused behind the work above.
        ascend_cy_buffer_release(a)
        ascend_cy_buffer_release(b)
        ascend_cy_buffer_release(out)
    return 0


cdef int enqueue_matmul(const Product *job, bint unified, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue a call on host memory. The stream's device is current."""
    begin_host_call()
    if unified:
        return check(launch_matmul(job, box))
    return stage_matmul(job, box)


# ---- shapes ----

cdef int raise_shapes(const Operand *a, const Operand *b, str why) except -1 nogil:
    with gil:
        raise ValueError(f"a and b do not fit: {why}; got shapes {shape_of(a)} and {shape_of(b)}")


cdef int batch_axes(const Operand *operand) noexcept nogil:
    return max(operand.rank - 2, 0)


cdef int check_operands(const Operand *a, const Operand *b, Product *job) except -1 nogil:
    """Check dtypes and shapes, and fill the sizes."""
    cdef const Operand *batched = a if a.rank >= b.rank else b
    cdef int axis
    check_float(a.code, "a")
    if b.code != a.code:
        with gil:
            raise TypeError(f"b must have dtype {dtype_of(a.code)} like a, got {dtype_of(b.code)}")
    if a.rank == 0 or b.rank == 0:
        raise_shapes(a, b, "both need at least 1 axis")
    job.m = a.shape[a.rank - 2] if a.rank > 1 else 1
    job.k = a.shape[a.rank - 1]
    job.n = b.shape[b.rank - 1] if b.rank > 1 else 1
    if b.shape[b.rank - 2 if b.rank > 1 else 0] != job.k:
        raise_shapes(a, b, "the columns of a and the rows of b differ")
    if batch_axes(a) and batch_axes(b):
        if a.rank != b.rank:
            raise_shapes(a, b, "they have different numbers of batch axes (only one matrix goes with a whole batch)")
        for axis in range(a.rank - 2):
            if a.shape[axis] != b.shape[axis]:
                raise_shapes(a, b, "their batch axes differ (nothing is broadcast but one matrix for a whole batch)")
    job.batch = 1
    for axis in range(batch_axes(batched)):
        job.batch *= batched.shape[axis]
    job.code = a.code
    return 0


cdef int result_shape(const Operand *a, const Operand *b, Py_ssize_t *shape) noexcept nogil:
    """As numpy.matmul: the batch axes, then rows unless a has one axis, then columns unless b has one."""
    cdef const Operand *batched = a if a.rank >= b.rank else b
    cdef int rank = 0
    cdef int axis
    for axis in range(batch_axes(batched)):
        shape[rank] = batched.shape[axis]
        rank += 1
    if a.rank > 1:
        shape[rank] = a.shape[a.rank - 2]
        rank += 1
    if b.rank > 1:
        shape[rank] = b.shape[b.rank - 1]
        rank += 1
    return rank


cdef bint describe_matrices(const Operand *operand, const Py_ssize_t *strides, bint left,
                            ascend_cy_matrices_t *out) noexcept nogil:
    """Fill `out`; False where the batch axes are not equally far apart or strides are no multiple of the item size."""
    cdef int itemsize = itemsize_of(operand.code)
    cdef int rank = operand.rank
    cdef Py_ssize_t reach = 0
    cdef bint seen = False
    cdef int axis
    for axis in range(rank):
        if strides[axis] % itemsize:
            return False
    out.data = operand.data
    out.batch_stride = 0
    if rank == 1:
        # A vector is one row on the left, one column on the right.
        out.row_stride = 0 if left else strides[0] // itemsize
        out.col_stride = strides[0] // itemsize if left else 0
        return True
    out.row_stride = strides[rank - 2] // itemsize
    out.col_stride = strides[rank - 1] // itemsize
    for axis in range(rank - 3, -1, -1):
        if operand.shape[axis] == 1:
            continue
        if not seen:
            out.batch_stride = strides[axis] // itemsize
            seen = True
        elif strides[axis] != reach:
            return False
        reach = strides[axis] * operand.shape[axis]
    return True


cdef void describe_contiguous_out(Product *job) noexcept nogil:
    job.out_row_stride = max(job.n, 1)
    job.out_batch_stride = max(job.m * job.n, 1)


# ---- from Python ----

cdef object host_matrices(object obj, str name, Operand *operand, bint copy_all):
    """An ndarray with any strides that the kernel takes, or a contiguous copy."""
    cdef object array = take_host_strided(obj, name, operand)
    if copy_all and not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>array):
        array = take_host_strided(np.ascontiguousarray(array), name, operand)
    return array


cdef object matmul_host(object a, object b, object out, ascend_cy_stream_t *box):
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Operand a_operand, b_operand, out_operand
    cdef Product job
    cdef object left, right, target
    cdef object out_array = None
    cdef bint unified = ascend_cy_device_info().unified != 0
    cdef bint few
    cdef int rank
    left = host_matrices(a, "a", &a_operand, not unified)
    refuse_mixed(b, "b", "a", False)
    right = host_matrices(b, "b", &b_operand, not unified)
    check_operands(&a_operand, &b_operand, &job)
    rank = result_shape(&a_operand, &b_operand, shape)
    wanted = tuple([shape[i] for i in range(rank)])
    if out is None:
        out = target = np.empty(wanted, dtype_of(job.code))
    else:
        refuse_mixed(out, "out", "a", False)
        out_array = target = take_out(out, "out", &out_operand)
        check_out_shape(&out_operand, job.code, rank, shape)
        refuse_host_overlap(out_array, array_of(a, left), "a", False)
        refuse_host_overlap(out_array, array_of(b, right), "b", False)
        if not cnp.PyArray_ISCARRAY(<cnp.ndarray>out_array):
            target = np.empty(wanted, dtype_of(job.code))
    if not describe_matrices(&a_operand, <const Py_ssize_t *>cnp.PyArray_STRIDES(<cnp.ndarray>left), True, &job.a):
        left = host_matrices(np.ascontiguousarray(left), "a", &a_operand, True)
        describe_matrices(&a_operand, <const Py_ssize_t *>cnp.PyArray_STRIDES(<cnp.ndarray>left), True, &job.a)
    if not describe_matrices(&b_operand, <const Py_ssize_t *>cnp.PyArray_STRIDES(<cnp.ndarray>right), False, &job.b):
        right = host_matrices(np.ascontiguousarray(right), "b", &b_operand, True)
        describe_matrices(&b_operand, <const Py_ssize_t *>cnp.PyArray_STRIDES(<cnp.ndarray>right), False, &job.b)
    job.out = cnp.PyArray_DATA(<cnp.ndarray>target)
    describe_contiguous_out(&job)
    if job.batch * job.m * job.n != 0:
        few = unified and job.batch * job.m * job.n * max(job.k, 1) <= FEW_ELEMENTS
        if few:
            enqueue_matmul(&job, unified, box)
        else:
            with nogil:
                enqueue_matmul(&job, unified, box)
        settle_host_call(box, few, left, right, target, None, None, None)
    if out_array is not None and target is not out_array:
        out_array[...] = target
    return out


cdef object matmul_device_arrays(object a, object b, object out, ascend_cy_stream_t *box):
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Operand a_operand, b_operand, out_operand
    cdef Product job
    cdef DeviceArray left, right, target, result
    cdef ascend_cy_buffer_t *buffers[3]
    cdef ascend_cy_buffer_t *held[3]
    cdef bint unified
    cdef int code, rank
    describe_device(a, "a", "a", &a_operand, box)
    describe_device(b, "b", "a", &b_operand, box)
    check_operands(&a_operand, &b_operand, &job)
    rank = result_shape(&a_operand, &b_operand, shape)
    if out is not None:
        describe_device(out, "out", "a", &out_operand, box)
        check_out_shape(&out_operand, job.code, rank, shape)
        if (<DeviceArray>out).readonly:
            raise ValueError("out is read-only")
        refuse_device_overlap(<DeviceArray>out, <DeviceArray>a, "a", False)
        refuse_device_overlap(<DeviceArray>out, <DeviceArray>b, "b", False)
    unified = ascend_cy_device_info().unified != 0
    held[0] = <ascend_cy_buffer_t *>(<DeviceArray>a).buffer
    held[1] = <ascend_cy_buffer_t *>(<DeviceArray>b).buffer
    held[2] = <ascend_cy_buffer_t *>(<DeviceArray>out).buffer if out is not None else NULL
    hold(held, 3)  # whatever other threads close meanwhile
    try:
        result = <DeviceArray>out if out is not None else new_array(rank, shape, job.code, box)
        if job.batch * job.m * job.n == 0:
            return result
        left = fitting(<DeviceArray>a, &a_operand, True, &job.a, box)
        right = fitting(<DeviceArray>b, &b_operand, False, &job.b, box)
        target = result if result.contiguous else new_array(rank, shape, job.code, box)
        job.out = out_operand.data if target is out else target.data
        describe_contiguous_out(&job)
        buffers[0] = held[0] if left is a else <ascend_cy_buffer_t *>left.buffer
        buffers[1] = held[1] if right is b else <ascend_cy_buffer_t *>right.buffer
        buffers[2] = held[2] if target is out else <ascend_cy_buffer_t *>target.buffer
        if unified and job.batch * job.m * job.n * max(job.k, 1) <= FEW_ELEMENTS:
            code = launch_ordered(&job, buffers, box)
        else:
            with nogil:
                code = launch_ordered(&job, buffers, box)
        check(code)
        if target is not result:
            copy_device(result, target, box)
        return result
    finally:
        release_held(held, 3, unified)


cdef DeviceArray fitting(DeviceArray array, const Operand *given, bint left, ascend_cy_matrices_t *out,
                         ascend_cy_stream_t *box):
    """Describe the array; where its strides cannot be described, a contiguous copy of it."""
    cdef Operand operand
    if not describe_matrices(given, array.dims + array.rank, left, out):
        packed = new_array(array.rank, array.dims, array.code, box)
        copy_device(packed, array, box)
        array = packed
        describe_open(array, &operand)
        describe_matrices(&operand, array.dims + array.rank, left, out)
    return array


@cython.binding(False)
def matmul(a, b, *, out=None, stream=None):
    """Matrix product of two arrays, by the rules of ``numpy.matmul`` for shapes.

    Sums are taken in float32 and rounded once to a 16-bit dtype. Results do not depend on the number of threads.

    Parameters
    ----------
    a : array, shape (..., M, K) or (K,), float32, float16 or bfloat16
    b : array, shape (..., K, N) or (K,), the same dtype
        ndarrays or other buffers in host memory, or DeviceArrays. Only read. Any strides work, and transposed matrices
        without a copy. The batch axes (...) must be the same, or one operand has none: its one matrix goes with the whole
        batch.
    out : array, optional
        Where the result goes; it must not overlap a or b.
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    numpy.ndarray or DeviceArray, shape (..., M, N)
        ``out`` where it was given, else a new array. M or N is missing where a or b has one axis.

    Raises
    ------
    TypeError
        For a dtype that is not converted silently, for different dtypes, for host and device arguments mixed.
    ValueError
        For shapes that do not fit, a closed array or stream, a read-only or overlapping ``out``.
    DeviceMemoryError, AclError
        If the device fails, or has no matmul kernel.

    Notes
    -----
    With host arrays the call is synchronous: the result is complete on return. With DeviceArrays the work is enqueued on
    ``stream``, the call returns before it is done, and the arguments are kept from reuse until it has passed.

    Examples
    --------
    >>> import numpy as np, ascend_cy
    >>> ascend_cy.matmul(np.eye(2, dtype=np.float32), np.float32([[1, 2], [3, 4]]))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    cdef void *previous
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>enter_stream(check_stream(stream), &previous)
    held = None if stream is None else wrap_stream(box)  # whatever other threads close meanwhile
    try:
        if isinstance(a, DeviceArray):
            return matmul_device_arrays(a, b, out, box)
        return matmul_host(a, b, out, box)
    finally:
        ascend_cy_stream_leave(previous)


# ---- from Cython, without the GIL ----

cdef int raise_none() except -1 nogil:
    with gil:
        raise TypeError("a, b and out must be arrays, got None")


cdef int raise_sizes(Py_ssize_t a_rows, Py_ssize_t a_cols, Py_ssize_t b_rows, Py_ssize_t b_cols, Py_ssize_t out_rows,
                     Py_ssize_t out_cols) except -1 nogil:
    with gil:
        raise ValueError(f"the shapes do not fit: a ({a_rows}, {a_cols}), b ({b_rows}, {b_cols}), "
                         f"out ({out_rows}, {out_cols})")


cdef size_t span(const Py_ssize_t *strides, Py_ssize_t rows, Py_ssize_t cols, size_t itemsize, char **low) noexcept nogil:
    """Bytes between the first and the last element; moves `low` to the lowest address."""
    cdef size_t total = itemsize
    cdef int axis
    cdef Py_ssize_t reach
    for axis in range(2):
        reach = ((rows if axis == 0 else cols) - 1) * strides[axis]
        if reach < 0:
            low[0] += reach
            reach = -reach
        total += reach
    return total


cdef int run_views(void *a, const Py_ssize_t *a_strides, void *b, const Py_ssize_t *b_strides, void *out, Py_ssize_t m,
                   Py_ssize_t k, Py_ssize_t n, int code, Stream stream) except -1 nogil:
    """The body of the memoryview forms, on pointers and sizes alone; complete on return."""
    cdef Product job
    cdef ascend_cy_stream_t *box
    cdef void *previous
    cdef size_t itemsize = itemsize_of(code)
    cdef char *a_low = <char *>a
    cdef char *b_low = <char *>b
    cdef size_t a_span, b_span
    cdef bint unified = ascend_cy_device_info().unified != 0
    if m == 0 or n == 0:
        return 0
    if k != 0:
        a_span = span(a_strides, m, k, itemsize, &a_low)
        b_span = span(b_strides, k, n, itemsize, &b_low)
        refuse_overlap(out, m * n * itemsize, a_low, a_span, b"a", False)
        refuse_overlap(out, m * n * itemsize, b_low, b_span, b"b", False)
        if not unified and (a_strides[1] != <Py_ssize_t>itemsize or a_strides[0] != k * <Py_ssize_t>itemsize
                            or b_strides[1] != <Py_ssize_t>itemsize or b_strides[0] != n * <Py_ssize_t>itemsize):
            with gil:
                raise ValueError("a and b must be contiguous where the device has memory of its own")
    job.a.data = a
    job.a.batch_stride = 0
    job.a.row_stride = a_strides[0] // <Py_ssize_t>itemsize
    job.a.col_stride = a_strides[1] // <Py_ssize_t>itemsize
    job.b.data = b
    job.b.batch_stride = 0
    job.b.row_stride = b_strides[0] // <Py_ssize_t>itemsize
    job.b.col_stride = b_strides[1] // <Py_ssize_t>itemsize
    job.out = out
    job.batch = 1
    job.m = m
    job.n = n
    job.k = k
    job.code = code
    describe_contiguous_out(&job)
    box = <ascend_cy_stream_t *>enter_stream(stream, &previous)
    try:
        enqueue_matmul(&job, unified, box)
        return settle_views(box)
    finally:
        ascend_cy_stream_leave(previous)


cdef int matmul_f32(const float[:, :] a, const float[:, :] b, float[:, ::1] out, Stream stream) except -1 nogil:
    if a is None or b is None or out is None:
        raise_none()
    if a.shape[1] != b.shape[0] or out.shape[0] != a.shape[0] or out.shape[1] != b.shape[1]:
        raise_sizes(a.shape[0], a.shape[1], b.shape[0], b.shape[1], out.shape[0], out.shape[1])
    return run_views(<void *>&a[0, 0] if a.shape[0] and a.shape[1] else NULL, &a.strides[0],
                     <void *>&b[0, 0] if b.shape[0] and b.shape[1] else NULL, &b.strides[0],
                     <void *>&out[0, 0] if out.shape[0] and out.shape[1] else NULL,
                     a.shape[0], a.shape[1], b.shape[1], ACL_FLOAT, stream)


cdef int matmul_16(const unsigned short[:, :] a, const unsigned short[:, :] b, unsigned short[:, ::1] out, int code,
                   Stream stream) except -1 nogil:
    if a is None or b is None or out is None:
        raise_none()
    if a.shape[1] != b.shape[0] or out.shape[0] != a.shape[0] or out.shape[1] != b.shape[1]:
        raise_sizes(a.shape[0], a.shape[1], b.shape[0], b.shape[1], out.shape[0], out.shape[1])
    return run_views(<void *>&a[0, 0] if a.shape[0] and a.shape[1] else NULL, &a.strides[0],
                     <void *>&b[0, 0] if b.shape[0] and b.shape[1] else NULL, &b.strides[0],
                     <void *>&out[0, 0] if out.shape[0] and out.shape[1] else NULL,
                     a.shape[0], a.shape[1], b.shape[1], code, stream)


cdef int matmul_f16(const unsigned short[:, :] a, const unsigned short[:, :] b, unsigned short[:, ::1] out,
                    Stream stream) except -1 nogil:
    return matmul_16(a, b, out, ACL_FLOAT16, stream)


cdef int matmul_bf16(const unsigned short[:, :] a, const unsigned short[:, :] b, unsigned short[:, ::1] out,
                     Stream stream) except -1 nogil:
    return matmul_16(a, b, out, ACL_BF16, stream)


cdef int matmul_device(DeviceArray a, DeviceArray b, DeviceArray out, Stream stream) except -1 nogil:
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(stream)
    cdef void *previous
    cdef int code
    cdef int32_t device = ascend_cy_stream_device(box)
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Operand a_operand, b_operand, out_operand
    cdef ascend_cy_buffer_t *buffers[3]
    cdef Product job
    cdef int rank
    check_device_argument(a, "a", device, False)
    check_device_argument(b, "b", device, False)
    check_device_argument(out, "out", device, True)
    describe_open(a, &a_operand)
    describe_open(b, &b_operand)
    describe_open(out, &out_operand)
    check_operands(&a_operand, &b_operand, &job)
    rank = result_shape(&a_operand, &b_operand, shape)
    check_out_shape(&out_operand, job.code, rank, shape)
    if out.readonly:
        with gil:
            raise ValueError("out is read-only")
    refuse_device_overlap(out, a, "a", False)
    refuse_device_overlap(out, b, "b", False)
    if job.batch * job.m * job.n == 0:
        return 0
    if (not describe_matrices(&a_operand, a.dims + a.rank, True, &job.a)
            or not describe_matrices(&b_operand, b.dims + b.rank, False, &job.b)):
        with gil:
            raise ValueError("the batch axes of a and b must be equally far apart: take a copy()")
    job.out = out.data
    describe_contiguous_out(&job)
    buffers[0] = <ascend_cy_buffer_t *>a.buffer
    buffers[1] = <ascend_cy_buffer_t *>b.buffer
    buffers[2] = <ascend_cy_buffer_t *>out.buffer
    enter_stream(stream, &previous)
    code = launch_ordered(&job, buffers, box)
    ascend_cy_stream_leave(previous)
    return check(code)
