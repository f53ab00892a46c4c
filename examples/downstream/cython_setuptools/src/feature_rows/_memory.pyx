"""AscendCL itself: device memory of one's own, lent to ascend_cy as an array."""

from ascend_cy cimport _acl
from libc.stdint cimport uintptr_t

import ascend_cy


cdef class Block:
    """Owns one piece of device memory."""

    cdef void *data

    def __cinit__(self, size_t size):
        cdef int code
        ascend_cy.synchronize()  # a context for this thread
        with nogil:
            code = _acl.aclrtMalloc(&self.data, size, _acl.ACL_MEM_MALLOC_HUGE_FIRST)
        if code != 0:
            raise MemoryError(f"aclrtMalloc of {size} bytes returned {code}")

    def __dealloc__(self):
        if self.data is not NULL:
            with nogil:
                _acl.aclrtFree(self.data)


def patterned(size_t size, int value):
    """A device array of `size` bytes over memory of our own, each of them `value`."""
    cdef Block block = Block(size)
    cdef int code
    with nogil:
        code = _acl.aclrtMemset(block.data, size, value, size)
    if code != 0:
        raise RuntimeError(f"aclrtMemset returned {code}")
    # The array keeps the block alive, and frees nothing that it did not make.
    return ascend_cy.from_pointer(<uintptr_t>block.data, (size,), "uint8", device=0, owner=block)


def free_bytes():
    """Free memory of the current device."""
    cdef size_t free = 0
    cdef size_t total = 0
    cdef int code
    ascend_cy.synchronize()
    code = _acl.aclrtGetMemInfo(_acl.ACL_HBM_MEM, &free, &total)
    if code != 0:
        raise RuntimeError(f"aclrtGetMemInfo returned {code}")
    return free
