"""Host memory as arguments of device work: copies through pooled device memory, and the wait at the end."""

from ascend_cy cimport _acl
from ascend_cy._host cimport *
from ascend_cy._status cimport check, check_acl, create_buffer, make_error, wait_stream
from ascend_cy._stream cimport drop_passed, keep_until_passed

cdef enum:
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2


cdef int begin_host_call() except -1 nogil:
    return check(ascend_cy_may_wait(b"an operator on host memory waits for its result"))


cdef int to_device(const void *data, size_t nbytes, ascend_cy_stream_t *box,
                   ascend_cy_buffer_t **buffer) except -1 nogil:
    buffer[0] = NULL
    if data is NULL:
        return 0
    create_buffer(nbytes, box, buffer)
    # Copies of ordinary memory wait for the stream, and could not be interrupted.
    wait_stream(box)
    cdef void *range = ascend_cy_range_begin(b"copy to device", box)
    cdef int code = _acl.aclrtMemcpyAsync(ascend_cy_buffer_pointer(buffer[0]), nbytes, data, nbytes,
                                          <_acl.aclrtMemcpyKind>HOST_TO_DEVICE, ascend_cy_stream_handle(box))
    if code != 0:
        ascend_cy_record_error(code, b"aclrtMemcpyAsync")
    ascend_cy_range_end(range)
    return check(code)


cdef int room_on_device(const void *wanted, size_t nbytes, ascend_cy_stream_t *box,
                        ascend_cy_buffer_t **buffer) except -1 nogil:
    buffer[0] = NULL
    if wanted is NULL:
        return 0
    return create_buffer(nbytes, box, buffer)


cdef int to_host(void *data, ascend_cy_buffer_t *buffer, size_t nbytes, ascend_cy_stream_t *box) except -1 nogil:
    if data is NULL:
        return 0
    wait_stream(box)
    cdef void *range = ascend_cy_range_begin(b"copy to host", box)
    cdef int code = _acl.aclrtMemcpyAsync(data, nbytes, ascend_cy_buffer_pointer(buffer), nbytes,
                                          <_acl.aclrtMemcpyKind>DEVICE_TO_HOST, ascend_cy_stream_handle(box))
    if code != 0:
        ascend_cy_record_error(code, b"aclrtMemcpyAsync")
    ascend_cy_range_end(range)
    return check(code)


cdef int settle_host_call(ascend_cy_stream_t *box, bint few, object a, object b, object c, object d, object e,
                          object f) except -1:
    cdef int done = 0
    cdef int code
    failure = None
    if few:
        # Enqueueing does not block on the embedded device, and small work on an idle stream is done by now.
        code = ascend_cy_stream_query(box, &done)
        if code != 0:
            # Of the call alone, or of the work: in either case the caller's memory stays until the work has passed.
            failure = make_error(code)
            done = 0
    if not done:
        try:
            with nogil:
                wait_stream(box)
        except BaseException:
            keep_until_passed(box, (a, b, c, d, e, f))
            raise
    drop_passed()
    if failure is not None:
        raise failure
    return 0


cdef int settle_views(ascend_cy_stream_t *box) except -1 nogil:
    cdef bint passed = False
    try:
        wait_stream(box)
        passed = True
    finally:
        if not passed:
            # Ctrl-C: the caller's memory must not be let go while a kernel may write to it.
            ascend_cy_stream_synchronize(box, -1)
    return 0
