# From status codes to exceptions. Private to the package.

from ascend_cy._host cimport ascend_cy_buffer_t, ascend_cy_event_t, ascend_cy_pool_t, ascend_cy_stream_t


# The exception for a code, with the thread's last message.
cdef object make_error(int code)
cdef int raise_status(int code) except -1 nogil
cdef int raise_acl_status(int code, const char *function) except -1 nogil


cdef inline int check(int code) except -1 nogil:
    # For functions of the host library, which keeps the message and the name of the AscendCL function.
    if code != 0:
        return raise_status(code)
    return 0


cdef inline int check_acl(int code, const char *function) except -1 nogil:
    # For AscendCL functions called through the table.
    if code != 0:
        return raise_acl_status(code, function)
    return 0


# KeyboardInterrupt, or what another signal's handler raised; only in the main thread.
cdef int check_signals() except -1 nogil
cdef int wait_stream(ascend_cy_stream_t *stream) except -1 nogil
cdef int wait_event(ascend_cy_event_t *event) except -1 nogil
cdef int wait_device() except -1 nogil
# Memory from the pool. Where it has to wait for some, Ctrl-C raises KeyboardInterrupt.
cdef int create_buffer(size_t nbytes, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out) except -1 nogil
cdef int trim_pool(ascend_cy_pool_t *pool, unsigned long long keep) except -1 nogil
cdef int create_pinned(size_t nbytes, void **out) except -1 nogil
cdef int trim_pinned() except -1 nogil
# `value` as an int; TypeError "<name> must be <need>" where it is none. A bool is none.
cdef object as_integer(object value, str name, str need=*)
cdef object text(const char *value)
# The interpreter goes away: threads that are left waiting never touch it again.
cdef void note_interpreter_exit() noexcept
