# Elementwise addition for other people's Cython code; what the forms have in common is said in _ops.pxd.

from ascend_cy._array cimport DeviceArray
from ascend_cy._stream cimport Stream


cdef int vector_add_f32(const float[::1] a, const float[::1] b, float[::1] out, Stream stream) except -1 nogil
cdef int vector_add_f16(const unsigned short[::1] a, const unsigned short[::1] b, unsigned short[::1] out,
                        Stream stream) except -1 nogil
cdef int vector_add_bf16(const unsigned short[::1] a, const unsigned short[::1] b, unsigned short[::1] out,
                         Stream stream) except -1 nogil
cdef int vector_add_i32(const int[::1] a, const int[::1] b, int[::1] out, Stream stream) except -1 nogil
# All arrays contiguous, of one shape and dtype, on one device.
cdef int vector_add_device(DeviceArray a, DeviceArray b, DeviceArray out, Stream stream) except -1 nogil
