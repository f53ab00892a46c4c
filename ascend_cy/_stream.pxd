# Streams and events for other people's Cython code. Handles are void *, so no C header is needed.
# Old consumers index fields by position, and are warned by Cython where the size of a class changes: a new field takes the
# place of the first reserved ones, and a class without methods gets none (they would put a table before the fields).


cdef class Stream:
    cdef void *box                # the host library's shared stream; NULL once closed
    cdef object __weakref__
    cdef void *reserved[4]
    cdef void *last_handle        # what the stream was before close(), for its hash
    cdef int last_device


cdef class Event:
    cdef void *box                # the host library's event; NULL once closed
    cdef object __weakref__
    cdef int users                # calls under way without the GIL
    cdef void *parked             # closed during such a call, which gives it back
    cdef void *reserved[4]


# The aclrtStream behind `stream` (None: the thread's current stream); NULL is the default stream, so errors
# are told apart by an exception. Needs no GIL.
cdef void *stream_handle(Stream stream) except? NULL nogil
# Waits without the GIL; KeyboardInterrupt is raised where Ctrl-C was pressed.
cdef int stream_synchronize(Stream stream) except -1 nogil
# *Private*: the host library's stream behind `stream` (None: the thread's current stream), borrowed.
cdef void *stream_box(Stream stream) except NULL nogil
# *Private*: the same, and its device is current in this thread until ascend_cy_stream_leave(previous[0]).
cdef void *enter_stream(Stream stream, void **previous) except NULL nogil
cdef Stream wrap_stream(void *box)
# *Private*: keeps a reference to `obj` until the work enqueued on `box` by now has passed.
cdef int keep_until_passed(void *box, object obj) except -1
cdef void drop_passed() noexcept
cdef void release_interpreter() noexcept
cdef int device_index(object device) except -1
# *Private*: a reference to `owner` in C's hands, and its release from any thread (NULL is allowed).
cdef void *hold_owner(object owner) except NULL
cdef void drop_later(void *entry) noexcept nogil
# *Private*: what `with block:` left behind, for its end; and a device and a stream made current in this thread again.
cdef int note_entered(object block, int device, Stream previous) except -1
cdef int leave_entered(object block) except -1
cdef int restore(int device, Stream stream) except -1
