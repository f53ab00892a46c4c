# The gradient of layer normalization for other people's Cython code; what the forms have in common is said in _ops.pxd.

from ascend_cy._array cimport DeviceArray
from ascend_cy._stream cimport Stream


# mean and rstd are those of the forward pass. gamma may be None (ones), and so may dx, dgamma and dbeta: not wanted.
# dx may be dy or x.
cdef int layernorm_backward_f32(const float[:, ::1] dy, const float[:, ::1] x, const float[::1] mean,
                                const float[::1] rstd, const float[::1] gamma, float[:, ::1] dx,
                                float[::1] dgamma, float[::1] dbeta, Stream stream) except -1 nogil
cdef int layernorm_backward_f16(const unsigned short[:, ::1] dy, const unsigned short[:, ::1] x,
                                const float[::1] mean, const float[::1] rstd, const unsigned short[::1] gamma,
                                unsigned short[:, ::1] dx, unsigned short[::1] dgamma,
                                unsigned short[::1] dbeta, Stream stream) except -1 nogil
cdef int layernorm_backward_bf16(const unsigned short[:, ::1] dy, const unsigned short[:, ::1] x,
                                 const float[::1] mean, const float[::1] rstd, const unsigned short[::1] gamma,
                                 unsigned short[:, ::1] dx, unsigned short[::1] dgamma,
                                 unsigned short[::1] dbeta, Stream stream) except -1 nogil
# All arrays contiguous and on one device; mean and rstd float32, as many elements as dy has rows; gamma, dgamma and
# dbeta one-dimensional, as long as the last axis of dy, and of one dtype.
cdef int layernorm_backward_device(DeviceArray dy, DeviceArray x, DeviceArray mean, DeviceArray rstd,
                                   DeviceArray gamma, DeviceArray dx, DeviceArray dgamma, DeviceArray dbeta,
                                   Stream stream) except -1 nogil
