# cython: boundscheck=False, wraparound=False
"""Per-dtype functions of ascend_cy inside an extension type."""

from ascend_cy cimport (ABI_VERSION, DeviceArray, Stream, check_abi, layernorm_f16, layernorm_f32, stream_synchronize,
                        vector_add_device)

check_abi(ABI_VERSION)


cdef class Normalizer:
    """LayerNorm with weights of its own; one object can be used by several threads at a time."""

    cdef const float[::1] gamma
    cdef const float[::1] beta
    cdef readonly double eps

    def __init__(self, const float[::1] gamma, const float[::1] beta, double eps=1e-5):
        self.gamma = gamma
        self.beta = beta
        self.eps = eps

    def apply(self, const float[:, ::1] x, float[:, ::1] out, int times=1, Stream stream=None):
        """Write the normalized rows of x into out, `times` times; bad shapes are ValueErrors of ascend_cy."""
        cdef int i
        with nogil:
            for i in range(times):
                self.rows(x, out, stream)

    cdef int rows(self, const float[:, ::1] x, float[:, ::1] out, Stream stream) except -1 nogil:
        return layernorm_f32(x, self.gamma, self.beta, out, self.eps, stream)


def normalize_half(const unsigned short[:, ::1] x, unsigned short[:, ::1] out):
    """Float16 rows; Cython has no half type, so callers pass array.view(np.uint16)."""
    with nogil:
        layernorm_f16(x, None, None, out, 1e-5, None)


def add_bias(DeviceArray x, DeviceArray bias, Stream stream=None):
    """x += bias on the device, complete on return."""
    with nogil:
        vector_add_device(x, bias, x, stream)
        stream_synchronize(stream)
