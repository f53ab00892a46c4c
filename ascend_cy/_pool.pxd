# Memory pools for other people's Cython code. Handles are void *, so no C header is needed.
# Old consumers index fields by position, and are warned by Cython where the size of a class changes: a new field takes the
# place of the first reserved ones, and a class without methods gets none.


cdef class MemoryPool:
    cdef void *box                # the host library's pool
    cdef object __weakref__
    cdef void *reserved[4]


# All figures of one moment. Append-only: functions are told the size that the caller knows.
cdef struct PoolFigures:
    unsigned long long in_use_bytes
    unsigned long long reserved_bytes
    unsigned long long cached_bytes
    unsigned long long pending_bytes
    unsigned long long largest_free_bytes
    unsigned long long limit_bytes          # 2**64 - 1: none
    unsigned long long peak_in_use_bytes
    unsigned long long peak_reserved_bytes
    unsigned long long allocations
    unsigned long long hits
    unsigned long long device_allocations
    unsigned long long device_frees
    unsigned long long buffers
    unsigned long long free_blocks
    unsigned long long segments
    double hit_rate
    double fragmentation


# In these, `pool` may be None: the current pool of the thread's current device. They need no GIL.
# The figures, of which the first `size` bytes (sizeof(PoolFigures)) are filled.
cdef int pool_figures(MemoryPool pool, PoolFigures *out, size_t size) except -1 nogil
# Makes it the thread's current one of its device; None goes back to the default pool.
cdef int pool_use(MemoryPool pool) except -1 nogil
# Gives cached memory back until at most `keep` bytes stay reserved. May wait; Ctrl-C raises KeyboardInterrupt.
cdef int pool_trim(MemoryPool pool, unsigned long long keep) except -1 nogil
# *Private*: another object for the host library's pool `box`.
cdef MemoryPool wrap_pool(void *box)
