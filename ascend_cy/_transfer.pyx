"""Copies and fills within device memory, on plain pointers."""

from libc.string cimport memcpy

from ascend_cy cimport _acl
from ascend_cy._host cimport *
from ascend_cy._shape cimport MAX_DIMS
from ascend_cy._status cimport check, check_acl, create_pinned

cdef enum:
    HOST_TO_DEVICE = 1
    DEVICE_TO_DEVICE = 3
    MAX_2D_WIDTH = 5000000          # limits of aclrtMemcpy2dAsync
    MAX_2D_HEIGHT = 5 * 1048576
    FILL_PATTERN = 65536            # bytes of a pattern that is uploaded before it is doubled on the device


cdef int copy_run(void *handle, char *dst, Py_ssize_t dst_pitch, const char *src, Py_ssize_t src_pitch,
                  Py_ssize_t width, Py_ssize_t height) except -1 nogil:
    """Enqueue `height` runs of `width` bytes within the device."""
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t rows
    if height > 1 and width <= dst_pitch and width <= src_pitch and width <= MAX_2D_WIDTH:
        while row < height:
            rows = min(height - row, <Py_ssize_t>MAX_2D_HEIGHT)
            check_acl(_acl.aclrtMemcpy2dAsync(dst + row * dst_pitch, dst_pitch, src + row * src_pitch, src_pitch,
                                              width, rows, <_acl.aclrtMemcpyKind>DEVICE_TO_DEVICE, handle),
                      b"aclrtMemcpy2dAsync")
            row += rows
        return 0
    for row in range(height):
        check_acl(_acl.aclrtMemcpyAsync(dst + row * dst_pitch, width, src + row * src_pitch, width,
                                        <_acl.aclrtMemcpyKind>DEVICE_TO_DEVICE, handle),
                  b"aclrtMemcpyAsync")
    return 0


cdef int copy_strided(void *handle, char *dst, const Py_ssize_t *dst_strides, const char *src,
                      const Py_ssize_t *src_strides, const Py_ssize_t *shape, int rank,
                      Py_ssize_t itemsize) except -1 nogil:
    """Enqueue a copy of `shape` elements within the device, whatever the strides."""
    cdef Py_ssize_t[MAX_DIMS] n
    cdef Py_ssize_t[MAX_DIMS] d
    cdef Py_ssize_t[MAX_DIMS] s
    cdef Py_ssize_t[MAX_DIMS] at
    cdef Py_ssize_t width, height, dst_pitch, src_pitch
    cdef int count = 0
    cdef int axis, outer
    for axis in range(rank):
        if shape[axis] == 0:
            return 0
        if shape[axis] == 1:
            continue
        # Two axes that lie behind each other on both sides are one.
        if (count > 0 and d[count - 1] == shape[axis] * dst_strides[axis]
                and s[count - 1] == shape[axis] * src_strides[axis]):
            n[count - 1] *= shape[axis]
            d[count - 1] = dst_strides[axis]
            s[count - 1] = src_strides[axis]
        else:
            n[count] = shape[axis]
            d[count] = dst_strides[axis]
            s[count] = src_strides[axis]
            count += 1
    for axis in range(count):
        at[axis] = 0
        # Backwards on the writing side is forwards on both.
        if d[axis] < 0:
            dst += (n[axis] - 1) * d[axis]
            src += (n[axis] - 1) * s[axis]
            d[axis] = -d[axis]
            s[axis] = -s[axis]
    width = itemsize
    outer = count
    if outer > 0 and d[outer - 1] == itemsize and s[outer - 1] == itemsize:
        outer -= 1
        width = n[outer] * itemsize
    height = 1
    dst_pitch = src_pitch = width
    if outer > 0 and d[outer - 1] >= width and s[outer - 1] >= width:
        outer -= 1
        height = n[outer]
        dst_pitch = d[outer]
        src_pitch = s[outer]
    while True:
        copy_run(handle, dst, dst_pitch, src, src_pitch, width, height)
        axis = outer - 1
        while axis >= 0:
            at[axis] += 1
            dst += d[axis]
            src += s[axis]
            if at[axis] < n[axis]:
                break
            dst -= n[axis] * d[axis]
            src -= n[axis] * s[axis]
            at[axis] = 0
            axis -= 1
        if axis < 0:
            return 0


cdef bint is_pinned(const void *pointer) noexcept nogil:
    cdef _acl.aclrtPtrAttributes attributes
    if _acl.aclrtPointerGetAttributes(pointer, &attributes) != 0:
        return False
    return attributes.location.type == _acl.ACL_MEM_LOCATION_TYPE_HOST


cdef int fill_elements(ascend_cy_stream_t *box, char *target, Py_ssize_t nbytes, const void *element,
                       Py_ssize_t itemsize) except -1 nogil:
    """Enqueue `nbytes` bytes of copies of one element, contiguous."""
    cdef const unsigned char *byte = <const unsigned char *>element
    cdef void *handle = ascend_cy_stream_handle(box)
    cdef Py_ssize_t filled = min(nbytes, <Py_ssize_t>FILL_PATTERN)
    cdef Py_ssize_t part, i
    cdef bint one_byte = True
    cdef void *pattern = NULL
    for i in range(1, itemsize):
        if byte[i] != byte[0]:
            one_byte = False
    if one_byte:
        return check_acl(_acl.aclrtMemsetAsync(target, nbytes, byte[0], nbytes, handle), b"aclrtMemsetAsync")
    create_pinned(filled, &pattern)
    try:
        for i in range(filled // itemsize):
            memcpy(<char *>pattern + i * itemsize, element, itemsize)
        check_acl(_acl.aclrtMemcpyAsync(target, nbytes, pattern, filled, <_acl.aclrtMemcpyKind>HOST_TO_DEVICE,
                                        handle), b"aclrtMemcpyAsync")
        check(ascend_cy_pinned_record_stream(pattern, box))
    finally:
        ascend_cy_pinned_free(pattern)
    while filled < nbytes:
        part = min(filled, nbytes - filled)
        check_acl(_acl.aclrtMemcpyAsync(target + filled, nbytes - filled, target, part,
                                        <_acl.aclrtMemcpyKind>DEVICE_TO_DEVICE, handle), b"aclrtMemcpyAsync")
        filled += part
    return 0
