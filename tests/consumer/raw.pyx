# SPDX-License-Identifier: Apache-2.0
"""AscendCL itself, through `ascend_cy._acl`: raw calls on the streams and arrays of the package."""

from ascend_cy cimport Stream, _acl, array_data, DeviceArray, stream_handle
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, malloc

import ascend_cy


def device_count():
    cdef uint32_t count = 0
    cdef int code = _acl.aclrtGetDeviceCount(&count)
    return code, count


def constants():
    return {"ACL_SUCCESS": _acl.ACL_SUCCESS, "ACL_ERROR_RT_PARAM_INVALID": _acl.ACL_ERROR_RT_PARAM_INVALID,
            "ACL_MEMCPY_DEVICE_TO_HOST": _acl.ACL_MEMCPY_DEVICE_TO_HOST}


def round_trip(bytes payload, Stream stream):
    """Device memory of our own, filled and read back on a stream, without the GIL. Gives the bytes that came back."""
    cdef const char *source = payload
    cdef size_t size = len(payload)
    cdef void *memory = NULL
    cdef char *result = <char *>malloc(size)
    cdef void *handle = stream_handle(stream)
    cdef int code
    if result is NULL:
        raise MemoryError
    try:
        with nogil:
            code = _acl.aclrtMalloc(&memory, size, _acl.ACL_MEM_MALLOC_HUGE_FIRST)
            if code == 0:
                code = _acl.aclrtMemcpyAsync(memory, size, source, size, _acl.ACL_MEMCPY_HOST_TO_DEVICE, handle)
            if code == 0:
                code = _acl.aclrtMemcpyAsync(result, size, memory, size, _acl.ACL_MEMCPY_DEVICE_TO_HOST, handle)
            if code == 0:
                code = _acl.aclrtSynchronizeStream(handle)
            if memory is not NULL:
                _acl.aclrtFree(memory)
        if code != 0:
            raise RuntimeError(f"AscendCL returned {code}")
        return result[:size]
    finally:
        free(result)


def clear(DeviceArray array, Stream stream):
    """Zero an array with a raw call on a stream."""
    cdef void *handle = stream_handle(stream)
    cdef void *data = array_data(array)
    cdef size_t size = array.nbytes
    cdef int code
    with nogil:
        code = _acl.aclrtMemsetAsync(data, size, 0, size, handle)
    return code


def bad_free():
    """An address that AscendCL never gave."""
    return _acl.aclrtFree(<void *>64)
