# What users pass as arrays, as plain C description. Private to the package.

cimport numpy as cnp

from ascend_cy._array cimport DeviceArray


cdef struct Operand:
    void *data
    const Py_ssize_t *shape
    int rank
    int code                # aclDataType


# A contiguous, aligned, native ndarray with the elements of `obj` (itself where it is one already); fills `operand`,
# which stays valid while the result lives. TypeError where obj is no array or has no device dtype.
cdef object take_host(object obj, str name, Operand *operand)
# The ndarray behind a writable `out`, any strides; ValueError where it is read-only.
cdef object take_out(object obj, str name, Operand *operand)
# The contiguous DeviceArray with the elements of `obj`: itself, or a copy enqueued on stream `box`.
cdef DeviceArray take_device(object obj, str name, Operand *operand, void *box)
# TypeError that tells mixed host and device arguments apart from what is no array at all.
cdef int refuse_mixed(object obj, str name, bint device) except -1
# ValueError where `out` overlaps `source` without being the same array; `exact_allowed` says whether that is fine.
cdef int refuse_host_overlap(object out, object source, str name, bint exact_allowed) except -1
cdef int refuse_device_overlap(DeviceArray out, DeviceArray source, str name, bint exact_allowed) except -1 nogil
