# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False
"""Calls every function that `cimport ascend_cy` offers, most of them without the GIL."""

cimport ascend_cy
from ascend_cy cimport (ABI_VERSION, DeviceArray, Event, Stream, array_data, array_dtype_code, array_ndim,
                        array_record_stream, array_shape, array_strides, check_abi, layernorm_bf16, layernorm_device,
                        layernorm_f16, layernorm_f32, stream_handle, stream_synchronize)
from libc.stdint cimport uintptr_t
from libc.string cimport memset

import ascend_cy as runtime
import numpy as np

check_abi(ABI_VERSION)


cdef extern from "<pthread.h>" nogil:
    ctypedef unsigned long pthread_t
    int pthread_create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument)
    int pthread_join(pthread_t thread, void **result)


def abi_check(int version):
    return check_abi(version)


# ---- layernorm on memoryviews ----

def layernorm_float(const float[:, ::1] x, const float[::1] gamma, const float[::1] beta, float[:, ::1] out, double eps,
                    Stream stream=None):
    with nogil:
        ascend_cy.layernorm_f32(x, gamma, beta, out, eps, stream)


def layernorm_half(const unsigned short[:, ::1] x, const unsigned short[::1] gamma, const unsigned short[::1] beta,
                   unsigned short[:, ::1] out, double eps, Stream stream=None):
    with nogil:
        layernorm_f16(x, gamma, beta, out, eps, stream)


def layernorm_brain(const unsigned short[:, ::1] x, const unsigned short[::1] gamma, const unsigned short[::1] beta,
                    unsigned short[:, ::1] out, double eps, Stream stream=None):
    with nogil:
        layernorm_bf16(x, gamma, beta, out, eps, stream)


def raw_bits(array):
    return None if array is None else array.view(np.uint16)


def layernorm(x, gamma=None, beta=None, eps=1e-5, out=None, stream=None):
    """Two-dimensional, contiguous ndarrays of one dtype."""
    if out is None:
        out = np.empty(x.shape, x.dtype)
    if x.dtype == np.float32:
        layernorm_float(x, gamma, beta, out, eps, stream)
    else:
        call = layernorm_half if x.dtype == np.float16 else layernorm_brain
        call(raw_bits(x), raw_bits(gamma), raw_bits(beta), raw_bits(out), eps, stream)
    return out


def layernorm_times(const float[:, ::1] x, float[:, ::1] out, int times, Stream stream=None):
    """One nogil block for many calls; other Python threads run meanwhile."""
    cdef int i
    with nogil:
        for i in range(times):
            layernorm_f32(x, None, None, out, 1e-5, stream)


cdef struct Job:
    const float *x
    float *out
    Py_ssize_t rows
    Py_ssize_t cols
    int times
    int status


cdef int run_job(Job *job) except -1 nogil:
    cdef const float[:, ::1] x
    cdef float[:, ::1] out
    cdef int i
    with gil:
        x = <const float[:job.rows, :job.cols]>job.x
        out = <float[:job.rows, :job.cols]>job.out
    try:
        for i in range(job.times):
            layernorm_f32(x, None, None, out, 1e-5, None)
    finally:
        with gil:
            x = None
            out = None
    return 0


cdef void *thread_main(void *argument) noexcept nogil:
    cdef Job *job = <Job *>argument
    with gil:
        try:
            with nogil:
                run_job(job)
            job.status = 0
        except BaseException:
            job.status = 1
    return NULL


def layernorm_on_foreign_threads(const float[:, ::1] x, float[:, ::1] out, int threads, int times):
    """Threads that Python did not make; each takes its share of the rows. Gives the number that failed."""
    cdef Job[16] jobs
    cdef pthread_t[16] ids
    cdef Py_ssize_t share = x.shape[0] // threads
    cdef int i, failed = 0
    memset(jobs, 0, sizeof(jobs))
    for i in range(threads):
        jobs[i].x = &x[i * share, 0]
        jobs[i].out = &out[i * share, 0]
        jobs[i].rows = share
        jobs[i].cols = x.shape[1]
        jobs[i].times = times
        if pthread_create(&ids[i], NULL, thread_main, &jobs[i]) != 0:
            raise RuntimeError("no thread")
    with nogil:
        for i in range(threads):
            pthread_join(ids[i], NULL)
    for i in range(threads):
        failed += jobs[i].status
    return failed


# ---- layernorm on device arrays ----

def layernorm_device_arrays(DeviceArray x, DeviceArray gamma, DeviceArray beta, DeviceArray out, double eps,
                            Stream stream=None):
    with nogil:
        layernorm_device(x, gamma, beta, out, eps, stream)


def layernorm_on_device(x, gamma=None, beta=None, eps=1e-5):
    moved = [None if array is None else runtime.asarray(array) for array in (x, gamma, beta)]
    out = runtime.empty(x.shape, x.dtype)
    layernorm_device_arrays(*moved, out, eps)
    return out.to_numpy()


# ---- streams and arrays ----

def handle_of(Stream stream):
    cdef void *handle
    with nogil:
        handle = stream_handle(stream)
    return <uintptr_t>handle


def wait_for(Stream stream):
    with nogil:
        stream_synchronize(stream)


def describe(DeviceArray array):
    """(address, dtype code, shape, strides), all read without the GIL."""
    cdef void *data
    cdef const Py_ssize_t *shape
    cdef const Py_ssize_t *strides
    cdef int code, ndim, i
    with nogil:
        data = array_data(array)
        code = array_dtype_code(array)
        ndim = array_ndim(array)
        shape = array_shape(array)
        strides = array_strides(array)
    return <uintptr_t>data, code, tuple([shape[i] for i in range(ndim)]), tuple([strides[i] for i in range(ndim)])


def record(DeviceArray array, Stream stream):
    with nogil:
        array_record_stream(array, stream)


def is_event(obj):
    return isinstance(obj, Event)


# ---- layernorm_backward ----

def backward_float(const float[:, ::1] dy, const float[:, ::1] x, const float[::1] mean, const float[::1] rstd,
                   const float[::1] gamma, float[:, ::1] dx, float[::1] dgamma, float[::1] dbeta, Stream stream=None):
    with nogil:
        ascend_cy.layernorm_backward_f32(dy, x, mean, rstd, gamma, dx, dgamma, dbeta, stream)


def backward_half(const unsigned short[:, ::1] dy, const unsigned short[:, ::1] x, const float[::1] mean,
                  const float[::1] rstd, const unsigned short[::1] gamma, unsigned short[:, ::1] dx,
                  unsigned short[::1] dgamma, unsigned short[::1] dbeta, Stream stream=None):
    with nogil:
        ascend_cy.layernorm_backward_f16(dy, x, mean, rstd, gamma, dx, dgamma, dbeta, stream)


def backward_brain(const unsigned short[:, ::1] dy, const unsigned short[:, ::1] x, const float[::1] mean,
                   const float[::1] rstd, const unsigned short[::1] gamma, unsigned short[:, ::1] dx,
                   unsigned short[::1] dgamma, unsigned short[::1] dbeta, Stream stream=None):
    with nogil:
        ascend_cy.layernorm_backward_bf16(dy, x, mean, rstd, gamma, dx, dgamma, dbeta, stream)


def backward_device(DeviceArray dy, DeviceArray x, DeviceArray mean, DeviceArray rstd, DeviceArray gamma, DeviceArray dx,
                    DeviceArray dgamma, DeviceArray dbeta, Stream stream=None):
    with nogil:
        ascend_cy.layernorm_backward_device(dy, x, mean, rstd, gamma, dx, dgamma, dbeta, stream)
