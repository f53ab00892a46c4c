# Layer normalization for other people's Cython code; what the forms have in common is said in _ops.pxd.

from ascend_cy._array cimport DeviceArray
from ascend_cy._stream cimport Stream


cdef int layernorm_f32(const float[:, ::1] x, const float[::1] gamma, const float[::1] beta,
                       float[:, ::1] out, double eps, Stream stream) except -1 nogil
cdef int layernorm_f16(const unsigned short[:, ::1] x, const unsigned short[::1] gamma,
                       const unsigned short[::1] beta, unsigned short[:, ::1] out, double eps,
                       Stream stream) except -1 nogil
cdef int layernorm_bf16(const unsigned short[:, ::1] x, const unsigned short[::1] gamma,
                        const unsigned short[::1] beta, unsigned short[:, ::1] out, double eps,
                        Stream stream) except -1 nogil
# All arrays contiguous and on one device; gamma and beta one-dimensional, as long as the last axis of x.
cdef int layernorm_device(DeviceArray x, DeviceArray gamma, DeviceArray beta, DeviceArray out, double eps,
                          Stream stream) except -1 nogil
