# Device arrays for other people's Cython code. Pointers are void *, so no C header is needed.
# Methods are append-only, and new fields take the place of the first reserved ones: old consumers index both by position, and
# are warned by Cython where the size of a class changes.

from ascend_cy._stream cimport Stream

cdef enum:
    INLINE_DIMS = 4


cdef class DeviceArray:
    cdef void *buffer             # the host library's buffer; NULL once closed
    cdef char *data               # device address of the first element
    cdef Py_ssize_t *dims         # shape, then strides in bytes: 2 * rank entries
    cdef Py_ssize_t few_dims[2 * INLINE_DIMS]
    cdef int rank
    cdef int code                 # aclDataType
    cdef int exports              # buffers of ours that Python code holds
    cdef bint contiguous          # in C order
    cdef bint readonly
    cdef object base_array        # what a view is a view of
    cdef object __weakref__
    cdef Py_ssize_t *steps        # strides in elements, made when DLPack's table asks for them
    cdef void *home               # the host library's stream that the buffer belongs to, borrowed from it
    cdef void *reserved[4]

    cdef Py_ssize_t nbytes_(self) noexcept nogil

    cdef bint foreign             # memory that somebody else made


# Device address of the first element; raises ValueError on a closed array. NULL for an empty array.
cdef void *array_data(DeviceArray array) except? NULL nogil
# aclDataType of the elements.
cdef int array_dtype_code(DeviceArray array) noexcept nogil
cdef int array_ndim(DeviceArray array) noexcept nogil
# `ndim` entries each; strides are in bytes. Borrowed: valid while the array lives.
cdef const Py_ssize_t *array_shape(DeviceArray array) noexcept nogil
cdef const Py_ssize_t *array_strides(DeviceArray array) noexcept nogil
# Says that work on `stream` (None: the thread's current stream) uses the array; call it after enqueueing.
cdef int array_record_stream(DeviceArray array, Stream stream) except -1 nogil
# Before work that ascend_cy does not enqueue: `stream` waits for what may still write to the array or, where that work writes
# to it, for all that uses it.
cdef int array_order_stream(DeviceArray array, bint writing, Stream stream) except -1 nogil

# *Private* from here on.
cdef DeviceArray new_array(int rank, const Py_ssize_t *shape, int code, void *stream_box)
# A contiguous array of its own, `offset` bytes into the memory of `block`, which it shares and keeps.
cdef DeviceArray array_within(DeviceArray block, Py_ssize_t offset, int rank, const Py_ssize_t *shape, int code)
cdef int copy_device(DeviceArray target, DeviceArray source, void *stream_box) except -1
cdef int upload(DeviceArray target, object source, void *stream_box) except -1
cdef int download(DeviceArray source, object target, void *stream_box) except -1
cdef bint is_unified() except -1
cdef object as_host(object source, str name)
# An array over foreign memory with the shape and strides in `dims`. give_back(managed) is called once the work that uses
# the memory has passed; where an exception is raised, nothing was taken over.
cdef DeviceArray adopt_memory(void *data, int rank, const Py_ssize_t *dims, int code, bint readonly,
                              void (*give_back)(void *) noexcept nogil, void *managed, object owner, void *stream_box)
# One element of dtype `code` with the value that the caller's argument `name` has, as an ndarray; and a fill with it.
cdef object element_of(object value, int code, str name)
cdef int fill_array(DeviceArray array, object element, void *stream_box) except -1
cdef const Py_ssize_t *element_strides(DeviceArray array) except? NULL
# Orders the stream behind what may still write to the array, or, before writing,
# behind all its earlier users; afterwards, says that work was enqueued.
cdef int use_on(DeviceArray array, bint writing, void *stream_box) except -1 nogil
cdef int used_on(DeviceArray array, bint writing, void *stream_box) except -1 nogil
cdef int wait_for_users(DeviceArray array) except -1
# A view that holds the memory while the GIL is released, whatever other threads close meanwhile.
cdef DeviceArray pin(DeviceArray array)
