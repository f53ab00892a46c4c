# Host memory as arguments of device work. Private to the package.

from ascend_cy._host cimport ascend_cy_buffer_t, ascend_cy_stream_t

cdef enum:
    # Below this many elements a kernel on the embedded device takes less than releasing the GIL is worth (some 2 us).
    FEW_ELEMENTS = 4096


# Before anything is enqueued on host memory: an AclError where the wait for it would be refused.
cdef int begin_host_call() except -1 nogil
# A pooled device copy of host memory, enqueued; NULL stays NULL.
cdef int to_device(const void *data, size_t nbytes, ascend_cy_stream_t *box,
                   ascend_cy_buffer_t **buffer) except -1 nogil
# Device memory for a result that the caller wants at `wanted`; NULL where that is NULL.
cdef int room_on_device(const void *wanted, size_t nbytes, ascend_cy_stream_t *box,
                        ascend_cy_buffer_t **buffer) except -1 nogil
# Enqueues the copy of a result to host memory, if that is wanted.
cdef int to_host(void *data, ascend_cy_buffer_t *buffer, size_t nbytes, ascend_cy_stream_t *box) except -1 nogil
# Waits for a call on host memory that was just enqueued. `few`: it may be done already, so look before releasing the GIL.
# Where the wait is interrupted, the arrays stay alive until the work has passed.
cdef int settle_host_call(ascend_cy_stream_t *box, bint few, object a, object b, object c, object d, object e,
                          object f) except -1
# The same for typed memoryviews, which cannot be kept alive from here: where the wait is interrupted, the exception is
# raised once the work has passed.
cdef int settle_views(ascend_cy_stream_t *box) except -1 nogil
