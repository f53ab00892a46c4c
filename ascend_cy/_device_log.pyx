"""Lines of the embedded device's log, for _logging.py."""

from libc.stdint cimport uint32_t, uint64_t

from ascend_cy._host cimport *
from ascend_cy._status cimport check, text


def start(uint32_t topics):
    """Keep lines of these topics for take(). Gives the code, for refuse() where it is not 0."""
    cdef int code
    with nogil:
        code = ascend_cy_device_log_start(topics)
    return code


def refuse(int code):
    """Raise what start() has found. Call it without locks: a thread that outlives the interpreter stops here."""
    check(code)


def stop():
    """Keep no more lines."""
    with nogil:
        ascend_cy_device_log_stop()


def take():
    """Wait for lines: (topic, text, ns since 1970, thread, its name) of each, and how many were lost after them.

    None once the log was stopped and all was taken. What the calling thread causes is never kept.
    """
    cdef ascend_cy_log_line_t *lines = NULL
    cdef ascend_cy_log_line_t *line
    cdef uint64_t lost = 0
    with nogil:
        ascend_cy_device_log_take(&lines, &lost)
    if lines is NULL and lost == 0:
        return None
    found = []
    try:
        line = lines
        while line is not NULL:
            found.append((line.topic, text(line.text), line.written_ns, line.thread, text(line.thread_name)))
            line = line.next
    finally:
        ascend_cy_device_log_free(lines)
    return found, lost


def is_forked_child():
    """Whether the device cannot be used any more because the parent used it."""
    return bool(ascend_cy_is_forked_child())
