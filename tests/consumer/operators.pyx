# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False
"""vector_add, matmul, kernels of one's own and the fields of the extension types, without the GIL."""

from ascend_cy cimport (DeviceArray, Event, MemoryPool, PoolFigures, Stream, array_data, array_order_stream,
                        array_record_stream, kernel_acquire, kernel_launch, kernel_release, matmul_bf16, matmul_device,
                        matmul_f16, matmul_f32, pool_figures, pool_trim, pool_use, stream_synchronize, vector_add_bf16,
                        vector_add_device, vector_add_f16, vector_add_f32, vector_add_i32)
from libc.stdint cimport int32_t, uintptr_t


# ---- vector_add ----

def add_float(const float[::1] a, const float[::1] b, float[::1] out, Stream stream=None):
    with nogil:
        vector_add_f32(a, b, out, stream)


def add_half(const unsigned short[::1] a, const unsigned short[::1] b, unsigned short[::1] out, Stream stream=None):
    with nogil:
        vector_add_f16(a, b, out, stream)


def add_brain(const unsigned short[::1] a, const unsigned short[::1] b, unsigned short[::1] out, Stream stream=None):
    with nogil:
        vector_add_bf16(a, b, out, stream)


def add_int(const int[::1] a, const int[::1] b, int[::1] out, Stream stream=None):
    with nogil:
        vector_add_i32(a, b, out, stream)


def add_device(DeviceArray a, DeviceArray b, DeviceArray out, Stream stream=None):
    with nogil:
        vector_add_device(a, b, out, stream)


# ---- matmul ----

def product_float(const float[:, :] a, const float[:, :] b, float[:, ::1] out, Stream stream=None):
    with nogil:
        matmul_f32(a, b, out, stream)


def product_half(const unsigned short[:, :] a, const unsigned short[:, :] b, unsigned short[:, ::1] out,
                 Stream stream=None):
    with nogil:
        matmul_f16(a, b, out, stream)


def product_brain(const unsigned short[:, :] a, const unsigned short[:, :] b, unsigned short[:, ::1] out,
                  Stream stream=None):
    with nogil:
        matmul_bf16(a, b, out, stream)


def product_device(DeviceArray a, DeviceArray b, DeviceArray out, Stream stream=None):
    with nogil:
        matmul_device(a, b, out, stream)


# ---- a chain, and an error on its way ----

cdef int double_and_wait(DeviceArray x, DeviceArray out, int times, Stream stream) except -1 nogil:
    cdef int i
    for i in range(times):
        vector_add_device(x, x, out, stream)
    return stream_synchronize(stream)


def doubled_until_it_fails(DeviceArray x, DeviceArray good, DeviceArray bad, Stream stream=None):
    """An exception of the second call crosses two functions and a block without the GIL; gives what it was."""
    cdef int finished = 0
    try:
        with nogil:
            double_and_wait(x, good, 3, stream)
            finished += 1
            double_and_wait(x, bad, 3, stream)
            finished += 1
    except ValueError as error:
        return finished, str(error)
    return finished, None


def add_times(const float[::1] a, float[::1] out, int times):
    """`times` calls in one block without the GIL: out += a."""
    cdef int i
    with nogil:
        for i in range(times):
            vector_add_f32(a, out, out, None)


# ---- fields ----

def array_fields(DeviceArray array):
    """(address, rank, dtype code, C order, read-only, shape) straight from the object."""
    cdef char *data
    cdef int rank, code
    cdef bint contiguous, readonly
    cdef Py_ssize_t rows
    with nogil:
        data, rank, code = array.data, array.rank, array.code
        contiguous, readonly = array.contiguous, array.readonly
        rows = array.dims[0] if rank else 1
    return <uintptr_t>data, rank, code, contiguous, readonly, rows


def is_open(obj):
    """Whether a stream, an event or an array still has what it stands for."""
    if isinstance(obj, Stream):
        return (<Stream>obj).box is not NULL
    if isinstance(obj, Event):
        return (<Event>obj).box is not NULL
    return (<DeviceArray?>obj).buffer is not NULL


# ---- kernels of one's own ----

cdef struct Arguments:
    void *x
    int32_t place
    float step


def launch_add(kernel, DeviceArray x, int32_t place, float step, int times, Stream stream=None, unsigned int blocks=1,
              size_t size=sizeof(Arguments)):
    """Enqueue x[place] += step so many times."""
    cdef void *handle = kernel_acquire(kernel)
    cdef Arguments arguments
    cdef int i
    try:
        with nogil:
            array_order_stream(x, True, stream)
            arguments = Arguments(array_data(x), place, step)
            try:
                for i in range(times):
                    kernel_launch(handle, blocks, &arguments, size, stream)
            finally:
                array_record_stream(x, stream)  # launches before one that failed use it
    finally:
        kernel_release(handle)


cdef class Held:
    """A kernel that is kept as it was."""

    cdef void *handle

    def __cinit__(self, kernel):
        self.handle = kernel_acquire(kernel)

    def add(self, DeviceArray x, int32_t place, float step):
        cdef Arguments arguments = Arguments(array_data(x), place, step)
        with nogil:
            kernel_launch(self.handle, 1, &arguments, sizeof(arguments), None)

    def __dealloc__(self):
        with nogil:
            kernel_release(self.handle)


def launch_nothing():
    kernel_release(NULL)
    with nogil:
        kernel_launch(NULL, 1, NULL, 0, None)


def order(DeviceArray x, bint writing, Stream stream=None):
    with nogil:
        array_order_stream(x, writing, stream)


# ---- memory pools ----

def pool_facts(MemoryPool pool):
    """Bytes in use, buffers, the rate of hits and the limit, without the GIL."""
    cdef PoolFigures now
    with nogil:
        pool_figures(pool, &now, sizeof(now))
    return now.in_use_bytes, now.buffers, now.hit_rate, now.limit_bytes


def first_bytes_of_pool_facts(MemoryPool pool):
    """As a consumer that was built when the structure had one field: nothing behind it is written."""
    cdef PoolFigures now
    now.reserved_bytes = 12345
    with nogil:
        pool_figures(pool, &now, sizeof(unsigned long long))
    return now.in_use_bytes, now.reserved_bytes


def use_pool(MemoryPool pool):
    with nogil:
        pool_use(pool)


def trim_pool(MemoryPool pool, unsigned long long keep):
    with nogil:
        pool_trim(pool, keep)
