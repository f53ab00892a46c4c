"""From status codes to exceptions, and waiting that answers Ctrl-C."""

from cpython.exc cimport PyErr_CheckSignals
from libcpp.atomic cimport atomic

from ascend_cy._host cimport *

import threading

from ascend_cy.errors import (AclError, DeviceMemoryError, DeviceNotFoundError, KernelError, KernelNotFoundError,
                              MemoryHazardError)

cdef extern from "Python.h" nogil:
    int PyGILState_Check()
    void *PyEval_SaveThread()

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()

cdef extern from "<unistd.h>" nogil:
    int pause()

cdef enum:
    ACL_ERROR_KERNEL_NOT_FOUND = 100029
    ACL_ERROR_FAILURE = 500001
    ACL_STREAM_SYNC_TIMEOUT = 507046
    ACL_EVENT_SYNC_TIMEOUT = 507047
    ACL_EVENT_SYNC = 1
    # Long enough to cost nothing, short enough for Ctrl-C to feel immediate.
    WAIT_SLICE_MS = 100

_MEMORY_CODES = frozenset((200000, 207001, 207018))
_KERNEL_CODES = frozenset((507014, 507015, 507016, 507034, 507035, 507036, 507042, 507043, 507044, 507045, 507048,
                           507049, 507050))
_NO_DEVICE_CODES = frozenset((207004,))


cdef object text(const char *value):
    return value.decode("utf-8", "replace") if value is not NULL else ""


cdef object make_error(int code):
    kind = AclError
    if code in _MEMORY_CODES:
        kind = DeviceMemoryError
    elif code in _KERNEL_CODES:
        kind = KernelError
    elif code in _NO_DEVICE_CODES or ascend_cy_device_info().error == code:
        kind = DeviceNotFoundError
    elif code == ACL_ERROR_KERNEL_NOT_FOUND and not ascend_cy_last_function()[0]:
        kind = KernelNotFoundError  # our own finding, not the device library's
    elif code == ACL_ERROR_FAILURE and text(ascend_cy_last_message()).startswith("memory hazard: "):
        kind = MemoryHazardError  # likewise
    return kind(code, text(ascend_cy_error_name(code)), text(ascend_cy_last_function()),
                text(ascend_cy_last_message()))


cdef int raise_status(int code) except -1 nogil:
    park_at_exit()
    # The message belongs to this thread and stays until its next call, so taking the GIL does not lose it.
    with gil:
        raise make_error(code)


cdef int raise_acl_status(int code, const char *function) except -1 nogil:
    ascend_cy_record_error(code, function)
    return raise_status(code)


# Python handles signals in its main thread only, so other threads need no GIL to wait on.
cdef unsigned long main_thread = threading.main_thread().ident
cdef atomic[int] interpreter_exiting  # read by threads that do not have the GIL


cdef void note_interpreter_exit() noexcept:
    interpreter_exiting.store(1)


cdef bint in_main_thread() noexcept nogil:
    return PyThread_get_thread_ident() == main_thread


cdef void park_at_exit() noexcept nogil:
    """Never returns in a thread that outlives the interpreter: there is no GIL left to take."""
    if interpreter_exiting.load() and not in_main_thread():
        if PyGILState_Check():
            PyEval_SaveThread()  # the interpreter still needs it
        while True:
            pause()


cdef int check_signals() except -1 nogil:
    if not in_main_thread():
        return 0
    with gil:
        return PyErr_CheckSignals()


cdef int wait_stream(ascend_cy_stream_t *stream) except -1 nogil:
    """Block until the work that is on `stream` by now has passed; call it without the GIL. Ctrl-C raises KeyboardInterrupt."""
    cdef ascend_cy_event_t *now = NULL
    cdef int failure
    cdef int code = ascend_cy_stream_synchronize(stream, WAIT_SLICE_MS)
    if code != ACL_STREAM_SYNC_TIMEOUT:
        return check(code)
    # Each further slice would wait for what other threads enqueued meanwhile, and so perhaps for ever.
    if (ascend_cy_event_create(ascend_cy_stream_device(stream), ACL_EVENT_SYNC, &now) == 0
            and ascend_cy_event_record(now, stream) != 0):
        ascend_cy_event_release(now)
        now = NULL
    try:
        while True:
            check_signals()
            if now is not NULL:
                code = ascend_cy_event_synchronize(now, WAIT_SLICE_MS)
                if code == ACL_EVENT_SYNC_TIMEOUT:
                    continue
                failure = failure_of(stream)
                if failure != 0:
                    code = failure
            else:
                code = ascend_cy_stream_synchronize(stream, WAIT_SLICE_MS)
            if code != ACL_STREAM_SYNC_TIMEOUT:
                return check(code)
    finally:
        if now is not NULL:
            ascend_cy_event_release(now)


cdef int failure_of(ascend_cy_stream_t *stream) noexcept nogil:
    """What failed on a stream of which something has passed; read, as by a wait for all of it."""
    cdef int done = 0
    cdef int code = ascend_cy_stream_query(stream, &done)
    if code == 0 and not done:
        return 0
    # A stream that failed has nothing to do.
    return ascend_cy_stream_synchronize(stream, WAIT_SLICE_MS)


cdef int wait_event(ascend_cy_event_t *event) except -1 nogil:
    cdef int code
    while True:
        code = ascend_cy_event_synchronize(event, WAIT_SLICE_MS)
        if code != ACL_EVENT_SYNC_TIMEOUT:
            return check(code)
        check_signals()


cdef int wait_device() except -1 nogil:
    cdef int code
    while True:
        code = ascend_cy_synchronize_device(WAIT_SLICE_MS)
        if code != ACL_STREAM_SYNC_TIMEOUT:
            return check(code)
        check_signals()


# ---- memory that may have to be waited for ----

cdef int create_buffer(size_t nbytes, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out) except -1 nogil:
    cdef int code
    while True:
        code = ascend_cy_buffer_create_within(nbytes, stream, WAIT_SLICE_MS, out)
        if code != ACL_STREAM_SYNC_TIMEOUT:
            return check(code)
        check_signals()


cdef int trim_pool(ascend_cy_pool_t *pool, unsigned long long keep) except -1 nogil:
    cdef int code
    while True:
        code = ascend_cy_pool_trim_to(pool, keep, WAIT_SLICE_MS)
        if code != ACL_STREAM_SYNC_TIMEOUT:
            return check(code)
        check_signals()


cdef int create_pinned(size_t nbytes, void **out) except -1 nogil:
    cdef int code
    while True:
        code = ascend_cy_pinned_alloc_within(nbytes, WAIT_SLICE_MS, out)
        if code != ACL_STREAM_SYNC_TIMEOUT:
            return check(code)
        check_signals()


cdef int trim_pinned() except -1 nogil:
    cdef int code
    while True:
        code = ascend_cy_pinned_trim_within(WAIT_SLICE_MS)
        if code != ACL_STREAM_SYNC_TIMEOUT:
            return check(code)
        check_signals()


# ---- arguments ----

cdef object as_integer(object value, str name, str need="an integer"):
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"{name} must be {need}, got {type(value).__name__}")
    try:
        return value.__index__()
    except TypeError as error:  # arrays have the method, but most are no integer
        raise TypeError(f"{name} must be {need}, got {type(value).__name__}: {error}") from error
