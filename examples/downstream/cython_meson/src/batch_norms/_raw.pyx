# cython: language_level=3
"""AscendCL itself, on the arrays and streams of ascend_cy."""

from ascend_cy cimport DeviceArray, Stream, _acl, array_data, array_order_stream, array_record_stream, stream_handle

import ascend_cy


def doubled(DeviceArray source, Stream stream=None):
    """Two copies of a one-dimensional array behind each other, copied by AscendCL on the stream."""
    cdef DeviceArray target
    cdef size_t size = source.nbytes
    cdef void *handle
    cdef char *data
    cdef int code
    if source.ndim != 1 or not source.flags["c_contiguous"]:
        raise ValueError(f"source must be one contiguous row, got shape {source.shape}")
    target = ascend_cy.empty(2 * source.size, source.dtype, stream=stream)
    handle = stream_handle(stream)
    data = <char *>array_data(target)
    with nogil:
        array_order_stream(source, False, stream)  # behind what may still write it
        code = _acl.aclrtMemcpyAsync(data, size, array_data(source), size, _acl.ACL_MEMCPY_DEVICE_TO_DEVICE, handle)
        if code == 0:
            code = _acl.aclrtMemcpyAsync(data + size, size, array_data(source), size, _acl.ACL_MEMCPY_DEVICE_TO_DEVICE, handle)
        # Work that ascend_cy did not enqueue uses these arrays: their memory must not be reused before it has passed.
        array_record_stream(source, stream)
        array_record_stream(target, stream)
    if code != 0:
        raise RuntimeError(f"aclrtMemcpyAsync returned {code}")
    return target
