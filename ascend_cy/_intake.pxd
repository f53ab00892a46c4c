# What users pass as arrays, as plain C description. Private to the package.

cimport numpy as cnp

from libc.stdint cimport int32_t

from ascend_cy._array cimport DeviceArray
from ascend_cy._host cimport ascend_cy_stream_t
from ascend_cy._stream cimport Stream


cdef struct Operand:
    void *data
    const Py_ssize_t *shape
    int rank
    int code                # aclDataType


# A contiguous, aligned, native ndarray with the elements of `obj` (itself where it is one already); fills `operand`,
# which stays valid while the result lives. TypeError where obj is no array or has no device dtype.
cdef object take_host(object obj, str name, Operand *operand)
# The same with any strides, aligned and native.
cdef object take_host_strided(object obj, str name, Operand *operand)
# The ndarray behind a writable `out`, any strides; ValueError where it is read-only.
cdef object take_out(object obj, str name, Operand *operand)
# The contiguous DeviceArray with the elements of `array`, which was checked: itself, or a copy enqueued on stream `box`.
cdef DeviceArray take_device(DeviceArray array, Operand *operand, void *box)
# TypeError that tells mixed host and device arguments apart from what is no array at all; `first` is the argument that
# says where the call works.
cdef int refuse_mixed(object obj, str name, str first, bint device) except -1
# ValueError where `out` overlaps `source` without being the same array; `exact_allowed` says whether that is fine.
cdef int refuse_host_overlap(object out, object source, str name, bint exact_allowed) except -1
cdef int refuse_device_overlap(DeviceArray out, DeviceArray source, str name, bint exact_allowed) except -1 nogil
# The same on plain memory; `name` is what `source` is called.
cdef int refuse_overlap(const void *out, size_t out_bytes, const void *source, size_t source_bytes,
                        const char *name) except -1 nogil
cdef int raise_dtype(int code, str name) except -1 nogil
# TypeError unless `code` is float32, float16 or bfloat16.
cdef int check_float(int code, str name) except -1 nogil
cdef tuple shape_of(const Operand *operand)
# TypeError or ValueError unless `out` has the dtype and the shape of `x`, which the caller calls `first`.
cdef int check_out(const Operand *x, str first, const Operand *out) except -1 nogil
# The same for a result of another dtype and shape.
cdef int check_out_shape(const Operand *out, int code, int rank, const Py_ssize_t *shape) except -1 nogil
cdef bint same_shape(int rank, const Py_ssize_t *shape, const Operand *operand) noexcept nogil
cdef Stream check_stream(object stream)
# The caller's own memory behind what was taken in, for overlap checks.
cdef object array_of(object given, object taken)
cdef object new_host_like(const Operand *operand, object array)
# Says that work on `box` uses the array; None is allowed.
cdef int record(DeviceArray array, ascend_cy_stream_t *box) except -1 nogil
cdef void describe_open(DeviceArray array, Operand *operand) noexcept nogil
# Checks that `obj` is an open DeviceArray on the stream's device and describes it; enqueues nothing.
cdef int describe_device(object obj, str name, str first, Operand *operand, ascend_cy_stream_t *box) except -1
# The same for typed callers; contiguous arrays only by default.
cdef int check_device_argument(DeviceArray array, str name, int32_t device, bint contiguous=*) except -1 nogil
