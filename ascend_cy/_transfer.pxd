# Copies and fills within device memory, on plain pointers. Private to the package.

from ascend_cy._host cimport ascend_cy_stream_t

# Enqueues a copy of `shape` elements within the device, whatever the strides (in bytes).
cdef int copy_strided(void *handle, char *dst, const Py_ssize_t *dst_strides, const char *src,
                      const Py_ssize_t *src_strides, const Py_ssize_t *shape, int rank,
                      Py_ssize_t itemsize) except -1 nogil
# Enqueues `nbytes` bytes of copies of one element, contiguous.
cdef int fill_elements(ascend_cy_stream_t *box, char *target, Py_ssize_t nbytes, const void *element,
                       Py_ssize_t itemsize) except -1 nogil
# Whether copies from or to this host memory are asynchronous.
cdef bint is_pinned(const void *pointer) noexcept nogil
