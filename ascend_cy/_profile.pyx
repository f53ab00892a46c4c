"""Recordings of ranges of work, for ascend_cy.profiler."""

from ascend_cy._host cimport *
from ascend_cy._status cimport check, text
from ascend_cy._stream cimport Stream, stream_box, wrap_stream


def start():
    """Start recording."""
    cdef int code
    with nogil:
        code = ascend_cy_profile_start()
    check(code)


def stop():
    """End the recording: (name, device, stream's handle, enqueued, begin, end) of each range in us, and how many were lost."""
    cdef ascend_cy_range_t *ranges = NULL
    cdef size_t count = 0
    cdef size_t lost = 0
    cdef size_t i
    cdef int code
    with nogil:
        code = ascend_cy_profile_stop(&ranges, &count, &lost)
    check(code)
    try:
        return [(text(ranges[i].name), ranges[i].device, ranges[i].stream, ranges[i].enqueued_us, ranges[i].begin_us,
                 ranges[i].end_us) for i in range(count)], lost
    finally:
        ascend_cy_profile_free(ranges)


cdef class Range:
    """An open range on a stream; ended by end(), at the latest when it goes."""

    cdef void *handle
    cdef object stream

    def __init__(self, str name, Stream stream):
        cdef bytes encoded = name.encode()
        cdef const char *label = encoded
        cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(stream)
        self.stream = wrap_stream(box)
        with nogil:
            self.handle = ascend_cy_range_begin(label, box)

    def end(self):
        """End it. Idempotent."""
        cdef void *handle = self.handle
        self.handle = NULL
        if handle is not NULL:
            with nogil:
                ascend_cy_range_end(handle)

    def __dealloc__(self):
        if self.handle is not NULL:
            with nogil:
                ascend_cy_range_end(self.handle)
