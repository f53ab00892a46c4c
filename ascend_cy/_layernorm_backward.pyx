"""The gradient of layer normalization on ndarrays, buffers, DeviceArrays, and typed memoryviews without the GIL."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ascend_cy._array cimport DeviceArray, copy_device, new_array
from ascend_cy._dtypes cimport ACL_BF16, ACL_FLOAT, ACL_FLOAT16, dtype_of, itemsize_of, name_of
from ascend_cy._host cimport *
from ascend_cy._intake cimport (Operand, array_of, check_device_argument, check_float, check_normalized_ndim, check_out,
                                check_stream, check_weight, describe_device, describe_open, hold,
                                new_host_like, refuse_device_overlap, refuse_host_overlap, refuse_mixed,
                                release_held, same_shape, shape_of, take_device, take_host, take_out)
from ascend_cy._shape cimport sides
from ascend_cy._staging cimport (FEW_ELEMENTS, begin_host_call, room_on_device, settle_host_call, settle_views, to_device,
                                 to_host)
from ascend_cy._status cimport check, raise_status
from ascend_cy._stream cimport Stream, enter_stream, stream_box, wrap_stream

import numpy as np

cnp.import_array()

# ---- one call, wherever its memory is ----

cdef enum:
    READS = 5
    COUNT = 8


cdef struct Backward:
    const void *dy
    const void *x
    const float *mean
    const float *rstd
    const void *gamma
    void *dx
    void *dgamma
    void *dbeta
    int64_t rows
    int64_t cols
    int code
    int gamma_code          # of dgamma and dbeta too


cdef int launch_backward(const Backward *job, ascend_cy_stream_t *box) noexcept nogil:
    return ascend_cy_layernorm_backward(job.dy, job.x, job.mean, job.rstd, job.gamma, job.dx, job.dgamma, job.dbeta,
                                        job.rows, job.cols, job.code, job.gamma_code, box)


cdef int launch_ordered(const Backward *job, ascend_cy_buffer_t *const *buffers,
                        ascend_cy_stream_t *box) noexcept nogil:
    """Launch on device memory: behind what the inputs wait for and all that uses the outputs, the last three."""
    cdef int code = ascend_cy_buffers_order(buffers, READS, COUNT, box)
    cdef int recorded
    if code == 0:
        code = launch_backward(job, box)
        # Also where it failed: the first of its kernels may be under way.
        recorded = ascend_cy_buffers_record(buffers, READS, COUNT, box)
        if code == 0:
            code = recorded
    return code


cdef int stage_backward(const Backward *job, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue the call on a device with memory of its own: copy in, launch, copy out."""
    cdef ascend_cy_buffer_t *buffers[COUNT]
    cdef Backward staged = job[0]
    cdef size_t nbytes = job.rows * job.cols * itemsize_of(job.code)
    cdef size_t stat_bytes = job.rows * sizeof(float)
    cdef size_t weight_bytes = job.cols * itemsize_of(job.gamma_code)
    cdef int i
    for i in range(COUNT):
        buffers[i] = NULL
    try:
        to_device(job.dy, nbytes, box, &buffers[0])
        to_device(job.x, nbytes, box, &buffers[1])
        to_device(job.mean, stat_bytes, box, &buffers[2])
        to_device(job.rstd, stat_bytes, box, &buffers[3])
        to_device(job.gamma, weight_bytes, box, &buffers[4])
        room_on_device(job.dx, nbytes, box, &buffers[5])
        room_on_device(job.dgamma, weight_bytes, box, &buffers[6])
        room_on_device(job.dbeta, weight_bytes, box, &buffers[7])
        staged.dy = ascend_cy_buffer_pointer(buffers[0])
        staged.x = ascend_cy_buffer_pointer(buffers[1])
        staged.mean = <const float *>ascend_cy_buffer_pointer(buffers[2])
        staged.rstd = <const float *>ascend_cy_buffer_pointer(buffers[3])
        staged.gamma = ascend_cy_buffer_pointer(buffers[4]) if buffers[4] is not NULL else NULL
        staged.dx = ascend_cy_buffer_pointer(buffers[5]) if buffers[5] is not NULL else NULL
        staged.dgamma = ascend_cy_buffer_pointer(buffers[6]) if buffers[6] is not NULL else NULL
        staged.dbeta = ascend_cy_buffer_pointer(buffers[7]) if buffers[7] is not NULL else NULL
        check(launch_backward(&staged, box))
        to_host(job.dx, buffers[5], nbytes, box)
        to_host(job.dgamma, buffers[6], weight_bytes, box)
        to_host(job.dbeta, buffers[7], weight_bytes, box)
    finally:
        # Stream-ordered: the memory is reused behind the work above.
        for i in range(COUNT):
            ascend_cy_buffer_release(buffers[i])
    return 0


cdef int enqueue_backward(const Backward *job, bint unified, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue a call on host memory. The stream's device is current."""
    cdef int code
    begin_host_call()
    if not unified:
        return stage_backward(job, box)
    code = launch_backward(job, box)
    if code != 0:
        try:
            raise_status(code)
        finally:
            # The first of its kernels may be under way, on memory that the caller lets go now.
            ascend_cy_stream_synchronize(box, -1)
    return 0


cdef bint is_empty(const Backward *job) noexcept nogil:
    """Whether there is nothing to enqueue for host memory; then the sums, which are zero, are written."""
    if job.rows != 0 and job.cols != 0:
        return False
    if job.dgamma is not NULL:
        memset(job.dgamma, 0, job.cols * itemsize_of(job.gamma_code))
    if job.dbeta is not NULL:
        memset(job.dbeta, 0, job.cols * itemsize_of(job.gamma_code))
    return True


# ---- layernorm_backward from Python ----

cdef int raise_like(str name, object need, object got, bint dtype) except -1:
    if dtype:
        raise TypeError(f"{name} must have dtype {need} like dy, got {got}")
    raise ValueError(f"{name} must have shape {need} like dy, got {got}")


cdef int check_dy_and_x(const Operand *dy, const Operand *x, int normalized_ndim, Backward *job) except -1:
    """Check what belongs to dy and x, and split their axes into rows and columns."""
    cdef int axis
    check_float(dy.code, "dy")
    if dy.rank == 0:
        raise ValueError("dy must have at least 1 axis, got an array without axes")
    if not 1 <= normalized_ndim <= dy.rank:
        raise ValueError(f"normalized_ndim must be between 1 and the {dy.rank} axes of dy, got {normalized_ndim}")
    if x.code != dy.code:
        raise_like("x", name_of(dy.code), name_of(x.code), True)
    if not same_shape(dy.rank, dy.shape, x):
        raise_like("x", shape_of(dy), shape_of(x), False)
    job.rows = job.cols = 1
    for axis in range(dy.rank):
        if axis < dy.rank - normalized_ndim:
            job.rows *= dy.shape[axis]
        else:
            job.cols *= dy.shape[axis]
    job.code = dy.code
    job.gamma = NULL
    job.gamma_code = ACL_FLOAT
    job.dgamma = job.dbeta = NULL
    return 0


cdef int check_statistic(const Operand *x, const Operand *statistic, int normalized_ndim, str name) except -1:
    if statistic.code != ACL_FLOAT:
        raise TypeError(f"{name} must have dtype float32, as layernorm returns it, got {name_of(statistic.code)}")
    if not same_shape(x.rank - normalized_ndim, x.shape, statistic):
        raise ValueError(f"{name} must have shape {shape_of(x)[:x.rank - normalized_ndim]}, the axes of x that are not "
                         f"normalized, got {shape_of(statistic)}")
    return 0


cdef object backward_host(object dy, object x, object mean, object rstd, object gamma, int normalized_ndim, object out,
                          void *stream):
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream
    cdef Operand dy_operand, x_operand, mean_operand, rstd_operand, gamma_operand, out_operand
    cdef Backward job
    cdef object target, dgamma, dbeta
    cdef object out_array = None
    cdef object gradient = take_host(dy, "dy", "dy", &dy_operand)
    cdef object source = take_host(x, "x", "dy", &x_operand)
    cdef object means, scales
    cdef object weight = None
    cdef bint unified
    check_dy_and_x(&dy_operand, &x_operand, normalized_ndim, &job)
    job.dy = dy_operand.data
    job.x = x_operand.data
    means = take_host(mean, "mean", "dy", &mean_operand)
    check_statistic(&x_operand, &mean_operand, normalized_ndim, "mean")
    job.mean = <const float *>mean_operand.data
    scales = take_host(rstd, "rstd", "dy", &rstd_operand)
    check_statistic(&x_operand, &rstd_operand, normalized_ndim, "rstd")
    job.rstd = <const float *>rstd_operand.data
    if gamma is not None:
        weight = take_host(gamma, "gamma", "dy", &gamma_operand)
        check_weight(&x_operand, &gamma_operand, normalized_ndim, "gamma")
        job.gamma = gamma_operand.data
        job.gamma_code = gamma_operand.code
    if out is None:
        out = target = new_host_like(&dy_operand, gradient)
    else:
        refuse_mixed(out, "out", "dy", False)
        out_array = target = take_out(out, "out", &out_operand)
        check_out(&dy_operand, "dy", &out_operand)
        refuse_host_overlap(out_array, array_of(dy, gradient), "dy", True)
        refuse_host_overlap(out_array, array_of(x, source), "x", True)
        refuse_host_overlap(out_array, array_of(mean, means), "mean", False)
        refuse_host_overlap(out_array, array_of(rstd, scales), "rstd", False)
        refuse_host_overlap(out_array, array_of(gamma, weight), "gamma", False)
        if not cnp.PyArray_ISCARRAY(<cnp.ndarray>out_array):
            target = np.empty(shape_of(&dy_operand), dtype_of(dy_operand.code))
    job.dx = cnp.PyArray_DATA(<cnp.ndarray>target)
    dgamma = dbeta = None
    if gamma is not None:
        dgamma = new_host_like(&gamma_operand, weight)
        dbeta = new_host_like(&gamma_operand, weight)
        job.dgamma = cnp.PyArray_DATA(<cnp.ndarray>dgamma)
        job.dbeta = cnp.PyArray_DATA(<cnp.ndarray>dbeta)
    if not is_empty(&job):
        unified = ascend_cy_device_info().unified != 0
        with nogil:
            # Always: the workspace may have to wait for memory.
            enqueue_backward(&job, unified, box)
        settle_host_call(box, unified and job.rows * job.cols <= FEW_ELEMENTS, (gradient, source), (means, scales), weight,
                         target, dgamma, dbeta)
    if out_array is not None and target is not out_array:
        out_array[...] = target
    return out, dgamma, dbeta


cdef object backward_device_arrays(object dy, object x, object mean, object rstd, object gamma, int normalized_ndim,
                                   object out, void *stream):
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream
    cdef Operand dy_operand, x_operand, mean_operand, rstd_operand, gamma_operand, out_operand
    cdef Backward job
    cdef DeviceArray gradient, source, means, scales, target, result
    cdef DeviceArray weight = None
    cdef DeviceArray dgamma = None
    cdef DeviceArray dbeta = None
    cdef ascend_cy_buffer_t *buffers[COUNT]
    cdef ascend_cy_buffer_t *held[6]
    cdef bint unified
    cdef int code
    # Everything is checked on what was passed before anything is enqueued, copies of strided inputs included.
    describe_device(dy, "dy", "dy", &dy_operand, box)
    describe_device(x, "x", "dy", &x_operand, box)
    check_dy_and_x(&dy_operand, &x_operand, normalized_ndim, &job)
    describe_device(mean, "mean", "dy", &mean_operand, box)
    check_statistic(&x_operand, &mean_operand, normalized_ndim, "mean")
    describe_device(rstd, "rstd", "dy", &rstd_operand, box)
    check_statistic(&x_operand, &rstd_operand, normalized_ndim, "rstd")
    if gamma is not None:
        describe_device(gamma, "gamma", "dy", &gamma_operand, box)
        check_weight(&x_operand, &gamma_operand, normalized_ndim, "gamma")
    if out is not None:
        describe_device(out, "out", "dy", &out_operand, box)
        check_out(&dy_operand, "dy", &out_operand)
        if (<DeviceArray>out).readonly:
            raise ValueError("out is read-only")
        refuse_device_overlap(<DeviceArray>out, <DeviceArray>dy, "dy", True)
        refuse_device_overlap(<DeviceArray>out, <DeviceArray>x, "x", True)
        refuse_device_overlap(<DeviceArray>out, <DeviceArray>mean, "mean", False)
        refuse_device_overlap(<DeviceArray>out, <DeviceArray>rstd, "rstd", False)
        refuse_device_overlap(<DeviceArray>out, <DeviceArray>gamma, "gamma", False)
    unified = ascend_cy_device_info().unified != 0
    held[0] = <ascend_cy_buffer_t *>(<DeviceArray>dy).buffer
    held[1] = <ascend_cy_buffer_t *>(<DeviceArray>x).buffer
    held[2] = <ascend_cy_buffer_t *>(<DeviceArray>mean).buffer
    held[3] = <ascend_cy_buffer_t *>(<DeviceArray>rstd).buffer
    held[4] = <ascend_cy_buffer_t *>(<DeviceArray>gamma).buffer if gamma is not None else NULL
    held[5] = <ascend_cy_buffer_t *>(<DeviceArray>out).buffer if out is not None else NULL
    hold(held, 6)  # whatever other threads close meanwhile
    try:
        result = (<DeviceArray>out if out is not None else
                  new_array(dy_operand.rank, dy_operand.shape, dy_operand.code, box))
        if gamma is not None:
            dgamma = new_array(gamma_operand.rank, gamma_operand.shape, gamma_operand.code, box)
            dbeta = new_array(gamma_operand.rank, gamma_operand.shape, gamma_operand.code, box)
            job.dgamma = dgamma.data
            job.dbeta = dbeta.data
        if job.cols == 0 or (job.rows == 0 and gamma is None):
            return result, dgamma, dbeta
        gradient = take_device(<DeviceArray>dy, &dy_operand, box)
        source = gradient if x is dy else take_device(<DeviceArray>x, &x_operand, box)
        means = take_device(<DeviceArray>mean, &mean_operand, box)
        scales = take_device(<DeviceArray>rstd, &rstd_operand, box)
        job.dy = dy_operand.data
        job.x = dy_operand.data if x is dy else x_operand.data
        job.mean = <const float *>mean_operand.data
        job.rstd = <const float *>rstd_operand.data
        buffers[0] = held[0] if gradient is dy else <ascend_cy_buffer_t *>gradient.buffer
        buffers[1] = buffers[0] if x is dy else held[1] if source is x else <ascend_cy_buffer_t *>source.buffer
        buffers[2] = held[2] if means is mean else <ascend_cy_buffer_t *>means.buffer
        buffers[3] = held[3] if scales is rstd else <ascend_cy_buffer_t *>scales.buffer
        buffers[4] = buffers[6] = buffers[7] = NULL
        if gamma is not None:
            weight = take_device(<DeviceArray>gamma, &gamma_operand, box)
            job.gamma = gamma_operand.data
            job.gamma_code = gamma_operand.code
            buffers[4] = held[4] if weight is gamma else <ascend_cy_buffer_t *>weight.buffer
            buffers[6] = <ascend_cy_buffer_t *>dgamma.buffer
            buffers[7] = <ascend_cy_buffer_t *>dbeta.buffer
        target = result if result.contiguous else new_array(result.rank, result.dims, result.code, box)
        job.dx = out_operand.data if target is out else target.data
        buffers[5] = held[5] if target is out else <ascend_cy_buffer_t *>target.buffer
        with nogil:
            code = launch_ordered(&job, buffers, box)
        check(code)
        if target is not result:
            copy_device(result, target, box)
        return result, dgamma, dbeta
    finally:
        release_held(held, 6, unified)


@cython.binding(False)
def layernorm_backward(dy, x, mean, rstd, gamma=None, *, normalized_ndim=1, out=None, stream=None):
    """The gradient of ``layernorm``: what a loss changes by with x, gamma and beta, given how it changes with y.

    With ``xhat = (x - mean) * rstd`` and ``g = dy * gamma``, and means over the normalized axes::

        dx     = rstd * (g - mean(g) - xhat * mean(g * xhat))
        dgamma = sum of dy * xhat over the other axes
        dbeta  = sum of dy over the other axes

    Sums are taken in float32 at least, and each result is rounded once. All three are the same bit for bit whatever the
    number of threads or cores is.

    Parameters
    ----------
    dy : array, shape (..., D), float32, float16 or bfloat16
        The gradient of the result of ``layernorm``: an ndarray or another buffer in host memory, or a DeviceArray. Only
        read. Strided input and foreign byte order work through a copy.
    x : array, the shape and dtype of dy
        What was normalized.
    mean, rstd : array, float32, the shape of the axes that are not normalized
        The statistics of ``layernorm(..., return_stats=True)``.
    gamma : array, the shape of the normalized axes, optional
        The scale of the forward pass, where dy is; float32, float16 or bfloat16, whatever dy is.
    normalized_ndim : int, default 1
        How many of the last axes were normalized together.
    out : array, optional
        Where dx goes: the shape and dtype of dy. It may be dy itself or x itself, but share memory with an argument in no
        other way.
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    dx : numpy.ndarray or DeviceArray
        ``out`` where it was given, else a new array like dy.
    dgamma, dbeta : the same kind, the shape and dtype of gamma
        Both None without gamma, as there is nothing to learn then. (Where the forward pass had beta alone, pass ones.)

    Raises
    ------
    TypeError
        For a dtype that is not converted silently (float64), for host and device arguments mixed, for what is no array.
    ValueError
        For shapes that do not fit, a closed array or stream, a read-only or overlapping ``out``.
    DeviceMemoryError, AclError
        If the device fails.

    Notes
    -----
    With host arrays the call is synchronous: the results are complete on return. With DeviceArrays the work is enqueued on
    ``stream``, the call returns before it is done, and the arguments are kept from reuse until it has passed.

    What ``mean`` lost when it was rounded to float32 is found again from x, so a mean of a million sigma costs no digits.
    Where ``rstd`` is infinite (a constant row with ``eps=0``) there is no gradient: dx is NaN.

    Examples
    --------
    >>> import numpy as np, ascend_cy
    >>> x = np.array([[1.0, 2.0, 4.0], [2.0, 0.0, 1.0]], np.float32)
    >>> gamma = np.ones(3, np.float32)
    >>> y, mean, rstd = ascend_cy.layernorm(x, gamma, return_stats=True)
    >>> dy = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.float32)
    >>> dx, dgamma, dbeta = ascend_cy.layernorm_backward(dy, x, mean, rstd, gamma)
    >>> dx.round(3)
    array([[ 0.229, -0.344,  0.115],
           [-0.408, -0.408,  0.816]], dtype=float32)
    >>> dbeta
    array([1., 0., 1.], dtype=float32)
    """
    cdef int ndim = 1
    cdef void *previous
    cdef void *box
    if type(normalized_ndim) is not int or normalized_ndim != 1:
        ndim = check_normalized_ndim(normalized_ndim, x)
    box = enter_stream(check_stream(stream), &previous)
    held = None if stream is None else wrap_stream(box)  # whatever other threads close meanwhile
    try:
        if isinstance(dy, DeviceArray):
            return backward_device_arrays(dy, x, mean, rstd, gamma, ndim, out, box)
        return backward_host(dy, x, mean, rstd, gamma, ndim, out, box)
    finally:
        ascend_cy_stream_leave(previous)


# ---- layernorm_backward from Cython, without the GIL ----

cdef int raise_none(const char *name) except -1 nogil:
    with gil:
        raise TypeError(f"{name.decode()} must be an array, got None")


cdef int check_matrix(str name, Py_ssize_t rows, Py_ssize_t cols, const Backward *job) except -1 nogil:
    if rows != job.rows or cols != job.cols:
        with gil:
            raise ValueError(f"{name} must have shape {(job.rows, job.cols)} like dy, got {(rows, cols)}")
    return 0


cdef int check_vector(str name, Py_ssize_t got, Py_ssize_t need, bint rows) except -1 nogil:
    if got != need:
        with gil:
            what = "one number for each row of dy" if rows else "the last axis of dy"
            raise ValueError(f"{name} must have shape {(need,)}, {what}, got {(got,)}")
    return 0


cdef struct Range:
    const char *name
    const void *data
    size_t nbytes


cdef int refuse_overlaps(const Backward *job) except -1 nogil:
    """ValueError where an output shares memory with anything else, unless dx is dy or x."""
    cdef size_t nbytes = job.rows * job.cols * itemsize_of(job.code)
    cdef size_t weight = job.cols * itemsize_of(job.gamma_code)
    cdef Range ranges[COUNT]
    cdef int out, other
    ranges[0] = Range(b"dy", job.dy, nbytes)
    ranges[1] = Range(b"x", job.x, nbytes)
    ranges[2] = Range(b"mean", job.mean, job.rows * sizeof(float))
    ranges[3] = Range(b"rstd", job.rstd, job.rows * sizeof(float))
    ranges[4] = Range(b"gamma", job.gamma, weight)
    ranges[5] = Range(b"dx", job.dx, nbytes)
    ranges[6] = Range(b"dgamma", job.dgamma, weight)
    ranges[7] = Range(b"dbeta", job.dbeta, weight)
    for out in range(READS, COUNT):
        for other in range(out):
            if ranges[out].data is NULL or ranges[other].data is NULL:
                continue
            if out == READS and other < 2 and ranges[out].data == ranges[other].data:
                continue
            if (<const char *>ranges[out].data < <const char *>ranges[other].data + ranges[other].nbytes
                    and <const char *>ranges[other].data < <const char *>ranges[out].data + ranges[out].nbytes):
                with gil:
                    raise ValueError(f"{ranges[out].name.decode()} overlaps {ranges[other].name.decode()}: pass dy or x "
                                     "itself as dx to work in place, or memory of its own")
    return 0


cdef int run_views(const Backward *job, Stream stream) except -1 nogil:
    """A call on host memory; complete on return."""
    cdef void *previous
    cdef void *box
    refuse_overlaps(job)
    if is_empty(job) or (job.dx is NULL and job.dgamma is NULL and job.dbeta is NULL):
        return 0
    box = enter_stream(stream, &previous)
    try:
        enqueue_backward(job, ascend_cy_device_info().unified != 0, <ascend_cy_stream_t *>box)
        return settle_views(<ascend_cy_stream_t *>box)
    finally:
        ascend_cy_stream_leave(previous)


cdef int layernorm_backward_f32(const float[:, ::1] dy, const float[:, ::1] x, const float[::1] mean,
                                const float[::1] rstd, const float[::1] gamma, float[:, ::1] dx,
                                float[::1] dgamma, float[::1] dbeta, Stream stream) except -1 nogil:
    cdef Backward job
    if dy is None or x is None or mean is None or rstd is None:
        raise_none(b"dy" if dy is None else b"x" if x is None else b"mean" if mean is None else b"rstd")
    job.rows = dy.shape[0]
    job.cols = dy.shape[1]
    job.code = job.gamma_code = ACL_FLOAT
    job.gamma = job.dx = job.dgamma = job.dbeta = NULL
    check_matrix("x", x.shape[0], x.shape[1], &job)
    check_vector("mean", mean.shape[0], job.rows, True)
    check_vector("rstd", rstd.shape[0], job.rows, True)
    # What is empty has no first element to point to.
    job.dy = &dy[0, 0] if job.rows and job.cols else NULL
    job.x = &x[0, 0] if job.rows and job.cols else NULL
    job.mean = &mean[0] if job.rows else NULL
    job.rstd = &rstd[0] if job.rows else NULL
    if gamma is not None:
        check_vector("gamma", gamma.shape[0], job.cols, False)
        job.gamma = &gamma[0] if job.cols else NULL
    if dx is not None:
        check_matrix("dx", dx.shape[0], dx.shape[1], &job)
        job.dx = &dx[0, 0] if job.rows and job.cols else NULL
    if dgamma is not None:
        check_vector("dgamma", dgamma.shape[0], job.cols, False)
        job.dgamma = &dgamma[0] if job.cols else NULL
    if dbeta is not None:
        check_vector("dbeta", dbeta.shape[0], job.cols, False)
        job.dbeta = &dbeta[0] if job.cols else NULL
    return run_views(&job, stream)


cdef int backward_16(const unsigned short[:, ::1] dy, const unsigned short[:, ::1] x, const float[::1] mean,
                     const float[::1] rstd, const unsigned short[::1] gamma, unsigned short[:, ::1] dx,
                     unsigned short[::1] dgamma, unsigned short[::1] dbeta, int code,
                     Stream stream) except -1 nogil:
    cdef Backward job
    if dy is None or x is None or mean is None or rstd is None:
        raise_none(b"dy" if dy is None else b"x" if x is None else b"mean" if mean is None else b"rstd")
    job.rows = dy.shape[0]
    job.cols = dy.shape[1]
    job.code = job.gamma_code = code
    job.gamma = job.dx = job.dgamma = job.dbeta = NULL
    check_matrix("x", x.shape[0], x.shape[1], &job)
    check_vector("mean", mean.shape[0], job.rows, True)
    check_vector("rstd", rstd.shape[0], job.rows, True)
    job.dy = &dy[0, 0] if job.rows and job.cols else NULL
    job.x = &x[0, 0] if job.rows and job.cols else NULL
    job.mean = &mean[0] if job.rows else NULL
    job.rstd = &rstd[0] if job.rows else NULL
    if gamma is not None:
        check_vector("gamma", gamma.shape[0], job.cols, False)
        job.gamma = &gamma[0] if job.cols else NULL
    if dx is not None:
        check_matrix("dx", dx.shape[0], dx.shape[1], &job)
        job.dx = &dx[0, 0] if job.rows and job.cols else NULL
    if dgamma is not None:
        check_vector("dgamma", dgamma.shape[0], job.cols, False)
        job.dgamma = &dgamma[0] if job.cols else NULL
    if dbeta is not None:
        check_vector("dbeta", dbeta.shape[0], job.cols, False)
        job.dbeta = &dbeta[0] if job.cols else NULL
    return run_views(&job, stream)


cdef int layernorm_backward_f16(const unsigned short[:, ::1] dy, const unsigned short[:, ::1] x,
                                const float[::1] mean, const float[::1] rstd, const unsigned short[::1] gamma,
                                unsigned short[:, ::1] dx, unsigned short[::1] dgamma,
                                unsigned short[::1] dbeta, Stream stream) except -1 nogil:
    return backward_16(dy, x, mean, rstd, gamma, dx, dgamma, dbeta, ACL_FLOAT16, stream)


cdef int layernorm_backward_bf16(const unsigned short[:, ::1] dy, const unsigned short[:, ::1] x,
                                 const float[::1] mean, const float[::1] rstd, const unsigned short[::1] gamma,
                                 unsigned short[:, ::1] dx, unsigned short[::1] dgamma,
                                 unsigned short[::1] dbeta, Stream stream) except -1 nogil:
    return backward_16(dy, x, mean, rstd, gamma, dx, dgamma, dbeta, ACL_BF16, stream)


cdef int check_device_statistic(DeviceArray array, str name, int32_t device, int64_t rows) except -1 nogil:
    cdef int axis
    cdef int64_t count = 1
    check_device_argument(array, name, device)
    if array.code != ACL_FLOAT:
        with gil:
            raise TypeError(f"{name} must have dtype float32, as layernorm returns it, got {name_of(array.code)}")
    for axis in range(array.rank):
        count *= array.dims[axis]
    return check_vector(name, count, rows, True)


cdef int check_device_weight(DeviceArray array, str name, int32_t device, Backward *job, bint first) except -1 nogil:
    check_device_argument(array, name, device)
    if array.rank != 1 or array.dims[0] != job.cols:
        with gil:
            raise ValueError(f"{name} must have shape ({job.cols},), got {array.shape}")
    check_float(array.code, name)
    if first:
        job.gamma_code = array.code
    elif array.code != job.gamma_code:
        with gil:
            raise TypeError(f"{name} must have dtype {name_of(job.gamma_code)} like gamma and the other gradient, "
                            f"got {name_of(array.code)}")
    return 0


cdef int check_device_like_dy(DeviceArray array, str name, int32_t device, const Operand *dy) except -1 nogil:
    cdef Operand operand
    check_device_argument(array, name, device)
    describe_open(array, &operand)
    if operand.code != dy.code:
        with gil:
            raise_like(name, name_of(dy.code), name_of(operand.code), True)
    if not same_shape(dy.rank, dy.shape, &operand):
        with gil:
            raise_like(name, sides(dy.shape, dy.rank), array.shape, False)
    return 0


cdef int check_written(DeviceArray array, str name) except -1 nogil:
    if array is not None and array.readonly:
        with gil:
            raise ValueError(f"{name} is read-only")
    return 0


cdef int layernorm_backward_device(DeviceArray dy, DeviceArray x, DeviceArray mean, DeviceArray rstd,
                                   DeviceArray gamma, DeviceArray dx, DeviceArray dgamma, DeviceArray dbeta,
                                   Stream stream) except -1 nogil:
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(stream)
    cdef void *previous
    cdef int code
    cdef int32_t device = ascend_cy_stream_device(box)
    cdef Operand dy_operand
    cdef ascend_cy_buffer_t *buffers[COUNT]
    cdef Backward job
    cdef int axis
    check_device_argument(dy, "dy", device)
    check_float(dy.code, "dy")
    if dy.rank == 0:
        with gil:
            raise ValueError("dy must have at least 1 axis, got an array without axes")
    describe_open(dy, &dy_operand)
    check_device_like_dy(x, "x", device, &dy_operand)
    job.rows = 1
    for axis in range(dy.rank - 1):
        job.rows *= dy.dims[axis]
    job.cols = dy.dims[dy.rank - 1]
    job.code = dy.code
    job.gamma_code = ACL_FLOAT
    check_device_statistic(mean, "mean", device, job.rows)
    check_device_statistic(rstd, "rstd", device, job.rows)
    if gamma is not None:
        check_device_weight(gamma, "gamma", device, &job, True)
    if dgamma is not None:
        check_device_weight(dgamma, "dgamma", device, &job, gamma is None)
    if dbeta is not None:
        check_device_weight(dbeta, "dbeta", device, &job, gamma is None and dgamma is None)
    if dx is not None:
        check_device_like_dy(dx, "dx", device, &dy_operand)
    check_written(dx, "dx")
    check_written(dgamma, "dgamma")
    check_written(dbeta, "dbeta")
    job.dy = dy.data
    job.x = x.data
    job.mean = <const float *>mean.data
    job.rstd = <const float *>rstd.data
    job.gamma = gamma.data if gamma is not None else NULL
    job.dx = dx.data if dx is not None else NULL
    job.dgamma = dgamma.data if dgamma is not None else NULL
    job.dbeta = dbeta.data if dbeta is not None else NULL
    refuse_overlaps(&job)
    buffers[0] = <ascend_cy_buffer_t *>dy.buffer
    buffers[1] = <ascend_cy_buffer_t *>x.buffer
    buffers[2] = <ascend_cy_buffer_t *>mean.buffer
    buffers[3] = <ascend_cy_buffer_t *>rstd.buffer
    buffers[4] = <ascend_cy_buffer_t *>gamma.buffer if gamma is not None else NULL
    buffers[5] = <ascend_cy_buffer_t *>dx.buffer if dx is not None else NULL
    buffers[6] = <ascend_cy_buffer_t *>dgamma.buffer if dgamma is not None else NULL
    buffers[7] = <ascend_cy_buffer_t *>dbeta.buffer if dbeta is not None else NULL
    enter_stream(stream, &previous)
    code = launch_ordered(&job, buffers, box)
    ascend_cy_stream_leave(previous)
    return check(code)
