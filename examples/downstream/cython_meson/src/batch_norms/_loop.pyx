# cython: language_level=3, boundscheck=False, wraparound=False
"""LayerNorm on memoryviews and on device arrays, in loops without the GIL."""

from ascend_cy cimport (ABI_VERSION, DeviceArray, Stream, array_ndim, array_shape, check_abi, layernorm_device, layernorm_f32,
                        stream_synchronize)

# Once, at import: a readable error instead of a crash after an incompatible update of ascend_cy.
check_abi(ABI_VERSION)


def normalize_batches(const float[:, :, ::1] batches, const float[::1] gamma, const float[::1] beta, float[:, :, ::1] out,
                      Py_ssize_t first, Py_ssize_t last, Stream stream=None):
    """Normalize the batches first <= i < last. No GIL is held, so threads can share the work between them."""
    cdef Py_ssize_t i
    if not 0 <= first <= last <= batches.shape[0] or out.shape[0] != batches.shape[0]:
        raise ValueError(f"there are {batches.shape[0]} batches and room for {out.shape[0]}, got first={first}, last={last}")
    with nogil:
        for i in range(first, last):
            layernorm_f32(batches[i], gamma, beta, out[i], 1e-5, stream)


def normalize_on_device(DeviceArray x, DeviceArray out, int times, Stream stream=None):
    """Normalize x, then its result, `times` times in all (at least once); gives the number of rows once the device is done."""
    cdef Py_ssize_t rows = 1
    cdef int i
    with nogil:
        layernorm_device(x, None, None, out, 1e-5, stream)  # only enqueued
        for i in range(1, times):
            layernorm_device(out, None, None, out, 1e-5, stream)
        stream_synchronize(stream)
        for i in range(array_ndim(out) - 1):
            rows *= array_shape(out)[i]
    return rows
