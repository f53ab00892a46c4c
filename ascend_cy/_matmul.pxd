# Matrix products for other people's Cython code; what the forms have in common is said in _ops.pxd.

from ascend_cy._array cimport DeviceArray
from ascend_cy._stream cimport Stream


# out = a @ b; a and b may have any strides, transposed ones included.
cdef int matmul_f32(const float[:, :] a, const float[:, :] b, float[:, ::1] out, Stream stream) except -1 nogil
cdef int matmul_f16(const unsigned short[:, :] a, const unsigned short[:, :] b, unsigned short[:, ::1] out,
                    Stream stream) except -1 nogil
cdef int matmul_bf16(const unsigned short[:, :] a, const unsigned short[:, :] b, unsigned short[:, ::1] out,
                     Stream stream) except -1 nogil
# Two axes or more each, as for ascend_cy.matmul; out contiguous.
cdef int matmul_device(DeviceArray a, DeviceArray b, DeviceArray out, Stream stream) except -1 nogil
