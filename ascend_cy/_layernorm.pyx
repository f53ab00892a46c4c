"""Layer normalization on ndarrays, buffers, DeviceArrays, and typed memoryviews without the GIL."""

cimport cython
cimport numpy as cnp
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t

from ascend_cy._array cimport DeviceArray, copy_device, new_array
from ascend_cy._dtypes cimport ACL_BF16, ACL_FLOAT, ACL_FLOAT16, dtype_of, itemsize_of
from ascend_cy._host cimport *
from ascend_cy._intake cimport (Operand, array_of, check_device_argument, check_float, check_normalized_ndim,
                                check_out, check_stream, check_weight, describe_device, describe_open, hold,
                                is_plain_array, is_plain_ndarray, new_host_like, ranges_meet, refuse_device_overlap,
                                refuse_host_overlap, refuse_mixed, refuse_overlap, release_held, shape_of, take_device,
                                take_host, take_out)
from ascend_cy._staging cimport (FEW_ELEMENTS, begin_host_call, room_on_device, settle_host_call, settle_views, to_device,
                                 to_host)
from ascend_cy._status cimport check
from ascend_cy._stream cimport Stream, enter_stream, stream_box, wrap_stream

import numpy as np

cnp.import_array()

# ---- one call, wherever its memory is ----

cdef struct LayerNorm:
    const void *x
    const void *gamma
    const void *beta
    void *y
    float *mean
    float *rstd
    int64_t rows
    int64_t cols
    int code
    int gamma_code
    int beta_code
    double eps


cdef int launch_layernorm(const LayerNorm *job, ascend_cy_stream_t *box) noexcept nogil:
    return ascend_cy_layernorm(job.x, job.gamma, job.beta, job.y, job.mean, job.rstd, job.rows, job.cols, job.code,
                               job.gamma_code, job.beta_code, job.eps, ascend_cy_stream_handle(box))


cdef int launch_ordered(const LayerNorm *job, ascend_cy_buffer_t *const *buffers, ascend_cy_stream_t *box) noexcept nogil:
    """Launch on device memory: behind what x, gamma and beta wait for and all that uses y, which is buffers[3]."""
    cdef int code = ascend_cy_buffers_order(buffers, 3, 4, box)
    if code == 0:
        code = launch_layernorm(job, box)
    if code == 0:
        code = ascend_cy_buffers_record(buffers, 3, 4, box)
    return code


cdef int stage_layernorm(const LayerNorm *job, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue the call on a device with memory of its own: copy in, launch, copy out."""
    cdef ascend_cy_buffer_t *x = NULL
    cdef ascend_cy_buffer_t *gamma = NULL
    cdef ascend_cy_buffer_t *beta = NULL
    cdef ascend_cy_buffer_t *y = NULL
    cdef ascend_cy_buffer_t *mean = NULL
    cdef ascend_cy_buffer_t *rstd = NULL
    cdef size_t nbytes = job.rows * job.cols * itemsize_of(job.code)
    cdef size_t stat_bytes = job.rows * sizeof(float)
    cdef LayerNorm staged = job[0]
    try:
        to_device(job.x, nbytes, box, &x)
        to_device(job.gamma, job.cols * itemsize_of(job.gamma_code), box, &gamma)
        to_device(job.beta, job.cols * itemsize_of(job.beta_code), box, &beta)
        room_on_device(job.y, nbytes, box, &y)
        room_on_device(job.mean, stat_bytes, box, &mean)
        room_on_device(job.rstd, stat_bytes, box, &rstd)
        staged.x = ascend_cy_buffer_pointer(x)
        staged.gamma = ascend_cy_buffer_pointer(gamma) if gamma is not NULL else NULL
        staged.beta = ascend_cy_buffer_pointer(beta) if beta is not NULL else NULL
        staged.y = ascend_cy_buffer_pointer(y)
        staged.mean = <float *>ascend_cy_buffer_pointer(mean) if mean is not NULL else NULL
        staged.rstd = <float *>ascend_cy_buffer_pointer(rstd) if rstd is not NULL else NULL
        check(launch_layernorm(&staged, box))
        to_host(job.y, y, nbytes, box)
        to_host(job.mean, mean, stat_bytes, box)
        to_host(job.rstd, rstd, stat_bytes, box)
    finally:
        # Stream-ordered: the memory is reused behind the work above.
        ascend_cy_buffer_release(x)
        ascend_cy_buffer_release(gamma)
        ascend_cy_buffer_release(beta)
        ascend_cy_buffer_release(y)
        ascend_cy_buffer_release(mean)
        ascend_cy_buffer_release(rstd)
    return 0


cdef int enqueue_layernorm(const LayerNorm *job, bint unified, ascend_cy_stream_t *box) except -1 nogil:
    """Enqueue a call on host memory. The stream's device is current."""
    begin_host_call()
    if unified:
        return check(launch_layernorm(job, box))
    return stage_layernorm(job, box)


cdef int run_layernorm(const LayerNorm *job, void *stream) except -1 nogil:
    """A call on host memory, from code without the GIL; complete on return."""
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream
    if job.rows == 0 or job.cols == 0:
        return 0
    enqueue_layernorm(job, ascend_cy_device_info().unified != 0, box)
    return settle_views(box)


# ---- layernorm from Python ----

cdef int check_finite(double eps) except -1 nogil:
    if not isfinite(eps) or eps < 0:
        with gil:
            raise ValueError(f"eps must be finite and not negative, got {eps}")
    return 0


cdef int check_x(const Operand *x, int normalized_ndim, LayerNorm *job) except -1:
    """Check what belongs to x, and split its axes into rows and columns."""
    cdef int axis
    check_float(x.code, "x")
    if x.rank == 0:
        raise ValueError("x must have at least 1 axis, got an array without axes")
    if not 1 <= normalized_ndim <= x.rank:
        raise ValueError(f"normalized_ndim must be between 1 and the {x.rank} axes of x, got {normalized_ndim}")
    job.rows = job.cols = 1
    for axis in range(x.rank):
        if axis < x.rank - normalized_ndim:
            job.rows *= x.shape[axis]
        else:
            job.cols *= x.shape[axis]
    job.x = x.data
    job.code = x.code
    return 0


cdef inline int check_eps(object eps, double *value) except -1:
    if type(eps) is float:
        value[0] = <double>eps
        return check_finite(value[0])
    return check_eps_slowly(eps, value)


cdef int check_eps_slowly(object eps, double *value) except -1:
    if isinstance(eps, (bool, str, bytes)) or not hasattr(eps, "__float__"):
        raise TypeError(f"eps must be a number, got {type(eps).__name__}")
    try:
        value[0] = eps
    except OverflowError:
        raise ValueError("eps must be finite and not negative, got an integer beyond any float") from None
    except TypeError as error:  # arrays have __float__ too
        raise TypeError(f"eps must be a number, got {type(eps).__name__}: {error}") from error
    return check_finite(value[0])


cdef inline size_t weight_bytes(const LayerNorm *job, int code) noexcept nogil:
    return job.cols * itemsize_of(code)


# ---- calls with nothing to look into ----
# Small launches cost little more than their checks. So what most calls pass is recognised first, in few instructions; where
# anything is otherwise, the functions below look closely, and say what is wrong.

cdef inline size_t float_size(int code) noexcept nogil:
    """Bytes of an element; 0 for what layernorm does not take."""
    return 4 if code == ACL_FLOAT else 2 if code == ACL_FLOAT16 or code == ACL_BF16 else 0


cdef inline bint fits_as_weight(const Operand *weight, const LayerNorm *job, size_t nbytes) noexcept nogil:
    cdef size_t size = float_size(weight.code)
    return (size != 0 and weight.rank == 1 and weight.shape[0] == job.cols
            and not ranges_meet(job.y, nbytes, weight.data, job.cols * size))


cdef bint is_plain(const Operand *x, const Operand *gamma, const Operand *beta, const Operand *out, double eps,
                   LayerNorm *job) noexcept nogil:
    """Whether contiguous operands make a small call over the last axis; fills `job`. Weights without data are absent."""
    cdef size_t size = float_size(x.code)
    cdef size_t nbytes
    cdef int axis
    if size == 0 or x.rank == 0 or out.rank != x.rank or out.code != x.code:
        return False
    job.rows = 1
    job.cols = x.shape[x.rank - 1]
    if out.shape[x.rank - 1] != job.cols:
        return False
    for axis in range(x.rank - 1):
        if out.shape[axis] != x.shape[axis]:
            return False
        job.rows *= x.shape[axis]
    if not 0 < job.rows * job.cols <= FEW_ELEMENTS:
        return False
    nbytes = job.rows * job.cols * size
    job.x = x.data
    job.y = out.data
    if job.y != job.x and ranges_meet(job.y, nbytes, job.x, nbytes):
        return False
    job.gamma = job.beta = NULL
    job.gamma_code = job.beta_code = ACL_FLOAT
    if gamma.data is not NULL:
        if not fits_as_weight(gamma, job, nbytes):
            return False
        job.gamma = gamma.data
        job.gamma_code = gamma.code
    if beta.data is not NULL:
        if not fits_as_weight(beta, job, nbytes):
            return False
        job.beta = beta.data
        job.beta_code = beta.code
    job.mean = job.rstd = NULL
    job.code = x.code
    job.eps = eps
    return True


cdef object layernorm_host(object x, object gamma, object beta, double eps, int normalized_ndim, object out,
                           bint return_stats, void *stream):
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream
    cdef Operand x_operand, gamma_operand, beta_operand, out_operand
    cdef LayerNorm job
    cdef object target, mean, rstd
    cdef object out_array = None
    cdef object source = None
    cdef object scale = None
    cdef object shift = None
    cdef size_t nbytes
    cdef bint unified, few
    gamma_operand.data = beta_operand.data = NULL
    if (normalized_ndim == 1 and not return_stats and is_plain_ndarray(out, &out_operand, cnp.NPY_ARRAY_CARRAY)
            and is_plain_ndarray(x, &x_operand, cnp.NPY_ARRAY_CARRAY_RO)
            and (gamma is None or is_plain_ndarray(gamma, &gamma_operand, cnp.NPY_ARRAY_CARRAY_RO))
            and (beta is None or is_plain_ndarray(beta, &beta_operand, cnp.NPY_ARRAY_CARRAY_RO))
            and is_plain(&x_operand, &gamma_operand, &beta_operand, &out_operand, eps, &job)
            and ascend_cy_device_info().unified):
        begin_host_call()
        check(launch_layernorm(&job, box))
        settle_host_call(box, True, x, gamma, beta, out, None, None)
        return out
    source = take_host(x, "x", "x", &x_operand)
    check_x(&x_operand, normalized_ndim, &job)
    job.eps = eps
    job.gamma = job.beta = NULL
    job.gamma_code = job.beta_code = ACL_FLOAT
    job.mean = job.rstd = NULL
    if gamma is not None:
        scale = take_host(gamma, "gamma", "x", &gamma_operand)
        check_weight(&x_operand, &gamma_operand, normalized_ndim, "gamma")
        job.gamma = gamma_operand.data
        job.gamma_code = gamma_operand.code
    if beta is not None:
        shift = take_host(beta, "beta", "x", &beta_operand)
        check_weight(&x_operand, &beta_operand, normalized_ndim, "beta")
        job.beta = beta_operand.data
        job.beta_code = beta_operand.code
    if out is None:
        out = target = new_host_like(&x_operand, source)
    else:
        refuse_mixed(out, "out", "x", False)
        out_array = target = take_out(out, "out", &out_operand)
        check_out(&x_operand, "x", &out_operand)
        nbytes = job.rows * job.cols * itemsize_of(job.code)
        if (source is not x or not cnp.PyArray_ISCARRAY(<cnp.ndarray>out_array)
                or (out_operand.data != x_operand.data and ranges_meet(out_operand.data, nbytes, x_operand.data, nbytes))
                or ranges_meet(out_operand.data, nbytes, job.gamma, weight_bytes(&job, job.gamma_code))
                or ranges_meet(out_operand.data, nbytes, job.beta, weight_bytes(&job, job.beta_code))):
            refuse_host_overlap(out_array, array_of(x, source), "x", True)
            refuse_host_overlap(out_array, array_of(gamma, scale), "gamma", False)
            refuse_host_overlap(out_array, array_of(beta, shift), "beta", False)
        if not cnp.PyArray_ISCARRAY(<cnp.ndarray>out_array):
            target = np.empty(shape_of(&x_operand), dtype_of(x_operand.code))
    job.y = cnp.PyArray_DATA(<cnp.ndarray>target)
    mean = rstd = None
    if return_stats:
        # Rows without columns have no mean: NaN, as NumPy says.
        mean = np.full(shape_of(&x_operand)[:x_operand.rank - normalized_ndim], np.nan, np.float32)
        rstd = mean.copy()
        job.mean = <float *>cnp.PyArray_DATA(<cnp.ndarray>mean)
        job.rstd = <float *>cnp.PyArray_DATA(<cnp.ndarray>rstd)
    if job.rows != 0 and job.cols != 0:
        unified = ascend_cy_device_info().unified != 0
        few = unified and job.rows * job.cols <= FEW_ELEMENTS
        if few:
            enqueue_layernorm(&job, unified, box)
        else:
            with nogil:
                enqueue_layernorm(&job, unified, box)
        settle_host_call(box, few, source, scale, shift, target, mean, rstd)
    if out_array is not None and target is not out_array:
        out_array[...] = target
    return (out, mean, rstd) if return_stats else out


cdef inline bint may_meet(DeviceArray weight, const void *out, size_t nbytes) noexcept nogil:
    # A cheap answer for contiguous weights; others are looked at closely.
    return not weight.contiguous or ranges_meet(out, nbytes, weight.data, weight.nbytes_())


cdef object layernorm_device_arrays(object x, object gamma, object beta, double eps, int normalized_ndim, object out,
                                    bint return_stats, void *stream):
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream
    cdef Operand x_operand, gamma_operand, beta_operand, out_operand
    cdef LayerNorm job
    cdef DeviceArray source, target, mean, rstd
    cdef DeviceArray scale = None
    cdef DeviceArray shift = None
    cdef DeviceArray result
    cdef ascend_cy_buffer_t *buffers[4]
    cdef ascend_cy_buffer_t *held[4]
    cdef bint unified, few
    cdef int holding
    cdef size_t nbytes
    cdef int code
    buffers[0] = buffers[1] = buffers[2] = buffers[3] = NULL
    gamma_operand.data = beta_operand.data = NULL
    if (normalized_ndim == 1 and not return_stats and is_plain_array(out, &out_operand, box)
            and not (<DeviceArray>out).readonly and is_plain_array(x, &x_operand, box)
            and (gamma is None or is_plain_array(gamma, &gamma_operand, box))
            and (beta is None or is_plain_array(beta, &beta_operand, box))
            and is_plain(&x_operand, &gamma_operand, &beta_operand, &out_operand, eps, &job)
            and ascend_cy_device_info().unified):
        buffers[0] = <ascend_cy_buffer_t *>(<DeviceArray>x).buffer
        if gamma is not None:
            buffers[1] = <ascend_cy_buffer_t *>(<DeviceArray>gamma).buffer
        if beta is not None:
            buffers[2] = <ascend_cy_buffer_t *>(<DeviceArray>beta).buffer
        buffers[3] = <ascend_cy_buffer_t *>(<DeviceArray>out).buffer
        check(launch_ordered(&job, buffers, box))
        return out
    # Everything is checked on what was passed before anything is enqueued, copies of strided inputs included.
    describe_device(x, "x", "x", &x_operand, box)
    check_x(&x_operand, normalized_ndim, &job)
    job.eps = eps
    job.gamma = job.beta = NULL
    job.gamma_code = job.beta_code = ACL_FLOAT
    job.mean = job.rstd = NULL
    mean = rstd = None
    if gamma is not None:
        describe_device(gamma, "gamma", "x", &gamma_operand, box)
        check_weight(&x_operand, &gamma_operand, normalized_ndim, "gamma")
    if beta is not None:
        describe_device(beta, "beta", "x", &beta_operand, box)
        check_weight(&x_operand, &beta_operand, normalized_ndim, "beta")
    if out is not None:
        describe_device(out, "out", "x", &out_operand, box)
        check_out(&x_operand, "x", &out_operand)
        if (<DeviceArray>out).readonly:
            raise ValueError("out is read-only")
        nbytes = job.rows * job.cols * itemsize_of(job.code)
        if (not (<DeviceArray>out).contiguous or not (<DeviceArray>x).contiguous
                or (out_operand.data != x_operand.data and ranges_meet(out_operand.data, nbytes, x_operand.data, nbytes))
                or (gamma is not None and may_meet(<DeviceArray>gamma, out_operand.data, nbytes))
                or (beta is not None and may_meet(<DeviceArray>beta, out_operand.data, nbytes))):
            refuse_device_overlap(<DeviceArray>out, <DeviceArray>x, "x", True)
            refuse_device_overlap(<DeviceArray>out, <DeviceArray>gamma, "gamma", False)
            refuse_device_overlap(<DeviceArray>out, <DeviceArray>beta, "beta", False)
    unified = ascend_cy_device_info().unified != 0
    held[0] = <ascend_cy_buffer_t *>(<DeviceArray>x).buffer
    held[1] = <ascend_cy_buffer_t *>(<DeviceArray>gamma).buffer if gamma is not None else NULL
    held[2] = <ascend_cy_buffer_t *>(<DeviceArray>beta).buffer if beta is not None else NULL
    held[3] = <ascend_cy_buffer_t *>(<DeviceArray>out).buffer if out is not None else NULL
    # Whatever other threads close meanwhile; where nothing below can let them in, there is nothing to hold.
    few = unified and job.rows * job.cols <= FEW_ELEMENTS
    holding = 4
    if (few and out is not None and not return_stats and (<DeviceArray>out).contiguous and (<DeviceArray>x).contiguous
            and (gamma is None or (<DeviceArray>gamma).contiguous) and (beta is None or (<DeviceArray>beta).contiguous)):
        holding = 0
    hold(held, holding)
    try:
        result = <DeviceArray>out if out is not None else new_array(x_operand.rank, x_operand.shape, x_operand.code, box)
        if return_stats:
            mean = new_array(x_operand.rank - normalized_ndim, x_operand.shape, ACL_FLOAT, box)
            rstd = new_array(x_operand.rank - normalized_ndim, x_operand.shape, ACL_FLOAT, box)
            job.mean = <float *>mean.data
            job.rstd = <float *>rstd.data
            if job.cols == 0:
                mean.fill(np.nan)
                rstd.fill(np.nan)
        if job.rows == 0 or job.cols == 0:
            return (result, mean, rstd) if return_stats else result
        source = take_device(<DeviceArray>x, &x_operand, box)
        job.x = x_operand.data
        buffers[0] = held[0] if source is x else <ascend_cy_buffer_t *>source.buffer
        if gamma is not None:
            scale = take_device(<DeviceArray>gamma, &gamma_operand, box)
            job.gamma = gamma_operand.data
            job.gamma_code = gamma_operand.code
            buffers[1] = held[1] if scale is gamma else <ascend_cy_buffer_t *>scale.buffer
        if beta is not None:
            shift = take_device(<DeviceArray>beta, &beta_operand, box)
            job.beta = beta_operand.data
            job.beta_code = beta_operand.code
            buffers[2] = held[2] if shift is beta else <ascend_cy_buffer_t *>shift.buffer
        target = result if result.contiguous else new_array(result.rank, result.dims, result.code, box)
        job.y = out_operand.data if target is out else target.data
        buffers[3] = held[3] if target is out else <ascend_cy_buffer_t *>target.buffer
        if few:
            code = launch_ordered(&job, buffers, box)
        else:
            with nogil:
                code = launch_ordered(&job, buffers, box)
        check(code)
        if target is not result:
            copy_device(result, target, box)
        return (result, mean, rstd) if return_stats else result
    finally:
        release_held(held, holding, unified)


@cython.binding(False)
def layernorm(x, gamma=None, beta=None, eps=1e-5, *, normalized_ndim=1, out=None, return_stats=False, stream=None):
    """Layer normalization: ``(x - mean) / sqrt(var + eps) * gamma + beta`` over the last axes.

    The variance is the biased one (Ba, Kiros, Hinton, *Layer Normalization*, 2016). Statistics are taken in float32 at
    least, and the result is rounded once.

    Parameters
    ----------
    x : array, shape (..., D), float32, float16 or bfloat16
        An ndarray or another buffer in host memory, or a DeviceArray. Only read. Strided input and foreign byte order
        work through a copy.
    gamma, beta : array, the shape of the normalized axes, optional
        Scale and shift, where x is; float32, float16 or bfloat16 each, whatever x is. Ones and zeros by default.
    eps : float, default 1e-5
        Added to the variance; finite and not negative.
    normalized_ndim : int, default 1
        How many of the last axes are normalized together.
    out : array, optional
        Where the result goes: the shape and dtype of x. It may be x itself, but overlap x in no other way.
    return_stats : bool, default False
        Whether mean and 1 / sqrt(var + eps) of each row are returned too.
    stream : Stream, optional
        The thread's current stream by default.

    Returns
    -------
    y : numpy.ndarray or DeviceArray
        ``out`` where it was given, else a new array like x.
    mean, rstd : the same kind, float32, shape of the other axes
        Only with ``return_stats``.

    Raises
    ------
    TypeError
        For a dtype that is not converted silently (float64), for host and device arguments mixed, for what is no array.
    ValueError
        For shapes that do not fit, an eps that cannot be, a closed array or stream, a read-only or overlapping ``out``.
    DeviceMemoryError, AclError
        If the device fails.

    Notes
    -----
    With host arrays the call is synchronous: the result is complete on return. With DeviceArrays the work is enqueued on
    ``stream``, the call returns before it is done, and the arguments are kept from reuse until it has passed.

    Examples
    --------
    >>> import numpy as np, ascend_cy
    >>> ascend_cy.layernorm(np.array([[1.0, 2.0, 3.0, 4.0]], np.float32)).round(3)
    array([[-1.342, -0.447,  0.447,  1.342]], dtype=float32)
    """
    cdef double epsilon
    cdef int ndim = 1
    cdef void *previous
    cdef void *box
    check_eps(eps, &epsilon)
    if type(normalized_ndim) is not int or normalized_ndim != 1:
        ndim = check_normalized_ndim(normalized_ndim, x)
    box = enter_stream(check_stream(stream), &previous)
    held = None if stream is None else wrap_stream(box)  # whatever other threads close meanwhile
    try:
        if isinstance(x, DeviceArray):
            return layernorm_device_arrays(x, gamma, beta, epsilon, ndim, out, return_stats, box)
        return layernorm_host(x, gamma, beta, epsilon, ndim, out, return_stats, box)
    finally:
        ascend_cy_stream_leave(previous)


# ---- layernorm from Cython, without the GIL ----

cdef int raise_weight(str name, Py_ssize_t got, Py_ssize_t need) except -1 nogil:
    with gil:
        raise ValueError(f"{name} must have shape {(need,)}, the last axis of x, got {(got,)}")


cdef int raise_none(const char *name) except -1 nogil:
    with gil:
        raise TypeError(f"{name.decode()} must be an array, got None")


cdef int run_views(const void *x, const void *gamma, Py_ssize_t gamma_size, const void *beta, Py_ssize_t beta_size,
                   void *out, Py_ssize_t out_rows, Py_ssize_t out_cols, Py_ssize_t rows, Py_ssize_t cols, int code,
                   double eps, Stream stream) except -1 nogil:
    """The body of the memoryview forms, on pointers and shapes alone."""
    cdef LayerNorm job
    cdef size_t nbytes
    cdef void *previous
    cdef void *box
    if out_rows != rows or out_cols != cols:
        with gil:
            raise ValueError(f"out must have shape {(rows, cols)} like x, got {(out_rows, out_cols)}")
    if gamma_size >= 0 and gamma_size != cols:
        raise_weight("gamma", gamma_size, cols)
    if beta_size >= 0 and beta_size != cols:
        raise_weight("beta", beta_size, cols)
    check_finite(eps)
    nbytes = rows * cols * itemsize_of(code)
    if out != x:
        refuse_overlap(out, nbytes, x, nbytes, b"x", True)
    refuse_overlap(out, nbytes, gamma, cols * itemsize_of(code), b"gamma", False)
    refuse_overlap(out, nbytes, beta, cols * itemsize_of(code), b"beta", False)
    job.x = x
    job.gamma = gamma
    job.beta = beta
    job.y = out
    job.mean = job.rstd = NULL
    job.rows = rows
    job.cols = cols
    job.code = job.gamma_code = job.beta_code = code
    job.eps = eps
    box = enter_stream(stream, &previous)
    try:
        return run_layernorm(&job, box)
    finally:
        ascend_cy_stream_leave(previous)


cdef int layernorm_f32(const float[:, ::1] x, const float[::1] gamma, const float[::1] beta,
                       float[:, ::1] out, double eps, Stream stream) except -1 nogil:
    if x is None or out is None:
        raise_none(b"x" if x is None else b"out")
    return run_views(
        &x[0, 0] if x.shape[0] and x.shape[1] else NULL,
        &gamma[0] if gamma is not None and gamma.shape[0] else NULL, gamma.shape[0] if gamma is not None else -1,
        &beta[0] if beta is not None and beta.shape[0] else NULL, beta.shape[0] if beta is not None else -1,
        &out[0, 0] if out.shape[0] and out.shape[1] else NULL, out.shape[0], out.shape[1],
        x.shape[0], x.shape[1], ACL_FLOAT, eps, stream)


cdef int layernorm_16(const unsigned short[:, ::1] x, const unsigned short[::1] gamma,
                      const unsigned short[::1] beta, unsigned short[:, ::1] out, int code, double eps,
                      Stream stream) except -1 nogil:
    if x is None or out is None:
        raise_none(b"x" if x is None else b"out")
    return run_views(
        &x[0, 0] if x.shape[0] and x.shape[1] else NULL,
        &gamma[0] if gamma is not None and gamma.shape[0] else NULL, gamma.shape[0] if gamma is not None else -1,
        &beta[0] if beta is not None and beta.shape[0] else NULL, beta.shape[0] if beta is not None else -1,
        &out[0, 0] if out.shape[0] and out.shape[1] else NULL, out.shape[0], out.shape[1],
        x.shape[0], x.shape[1], code, eps, stream)


cdef int layernorm_f16(const unsigned short[:, ::1] x, const unsigned short[::1] gamma,
                       const unsigned short[::1] beta, unsigned short[:, ::1] out, double eps,
                       Stream stream) except -1 nogil:
    return layernorm_16(x, gamma, beta, out, ACL_FLOAT16, eps, stream)


cdef int layernorm_bf16(const unsigned short[:, ::1] x, const unsigned short[::1] gamma,
                        const unsigned short[::1] beta, unsigned short[:, ::1] out, double eps,
                        Stream stream) except -1 nogil:
    return layernorm_16(x, gamma, beta, out, ACL_BF16, eps, stream)


cdef int check_device_weight(DeviceArray array, str name, int32_t device, int64_t cols) except -1 nogil:
    check_device_argument(array, name, device)
    if array.rank != 1 or array.dims[0] != cols:
        with gil:
            raise ValueError(f"{name} must have shape ({cols},), got {array.shape}")
    return check_float(array.code, name)


cdef int layernorm_device(DeviceArray x, DeviceArray gamma, DeviceArray beta, DeviceArray out, double eps,
                          Stream stream) except -1 nogil:
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(stream)
    cdef void *previous
    cdef int code
    cdef int32_t device = ascend_cy_stream_device(box)
    cdef Operand x_operand, out_operand
    cdef ascend_cy_buffer_t *buffers[4]
    cdef LayerNorm job
    cdef int axis
    check_device_argument(x, "x", device)
    check_device_argument(out, "out", device)
    check_float(x.code, "x")
    if x.rank == 0:
        with gil:
            raise ValueError("x must have at least 1 axis, got an array without axes")
    describe_open(x, &x_operand)
    describe_open(out, &out_operand)
    check_out(&x_operand, "x", &out_operand)
    if out.readonly:
        with gil:
            raise ValueError("out is read-only")
    check_finite(eps)
    refuse_device_overlap(out, x, "x", True)
    refuse_device_overlap(out, gamma, "gamma", False)
    refuse_device_overlap(out, beta, "beta", False)
    job.rows = 1
    for axis in range(x.rank - 1):
        job.rows *= x.dims[axis]
    job.cols = x.dims[x.rank - 1]
    job.gamma = job.beta = NULL
    job.gamma_code = job.beta_code = ACL_FLOAT
    if gamma is not None:
        check_device_weight(gamma, "gamma", device, job.cols)
        job.gamma = gamma.data
        job.gamma_code = gamma.code
    if beta is not None:
        check_device_weight(beta, "beta", device, job.cols)
        job.beta = beta.data
        job.beta_code = beta.code
    job.x = x.data
    job.y = out.data
    job.mean = job.rstd = NULL
    job.code = x.code
    job.eps = eps
    if job.rows == 0 or job.cols == 0:
        return 0
    buffers[0] = <ascend_cy_buffer_t *>x.buffer
    buffers[1] = <ascend_cy_buffer_t *>gamma.buffer if gamma is not None else NULL
    buffers[2] = <ascend_cy_buffer_t *>beta.buffer if beta is not None else NULL
    buffers[3] = <ascend_cy_buffer_t *>out.buffer
    enter_stream(stream, &previous)
    code = launch_ordered(&job, buffers, box)
    ascend_cy_stream_leave(previous)
    return check(code)
