"""Memory pools: figures, limits, trimming, and several pools with a current one in each thread."""

from libc.stdint cimport int32_t, uint64_t, uintptr_t

from ascend_cy._host cimport *
from ascend_cy._status cimport as_integer, check, text, trim_pinned, trim_pool
from ascend_cy._stream cimport device_index, drop_passed

import threading

from ascend_cy.errors import AclError

cdef enum:
    MAX_NAME = 63  # bytes that the host library keeps of a name


# ---- for Cython ----

cdef ascend_cy_pool_t *box_of(MemoryPool pool) noexcept nogil:
    if pool is None:
        return NULL
    return <ascend_cy_pool_t *>pool.box


cdef int pool_figures(MemoryPool pool, PoolFigures *out, size_t size) except -1 nogil:
    return check(ascend_cy_pool_figures(box_of(pool), <ascend_cy_pool_figures_t *>out, size))


cdef int pool_use(MemoryPool pool) except -1 nogil:
    return check(ascend_cy_set_current_pool(-1, box_of(pool)))


cdef int pool_trim(MemoryPool pool, unsigned long long keep) except -1 nogil:
    return trim_pool(box_of(pool), keep)


cdef MemoryPool wrap_pool(void *box):
    cdef MemoryPool pool = MemoryPool.__new__(MemoryPool)
    if box is NULL:
        check(ascend_cy_last_code())
    ascend_cy_pool_retain(<ascend_cy_pool_t *>box)
    pool.box = box
    return pool


# ---- figures and limits ----

cdef dict figures_of(ascend_cy_pool_t *pool):
    cdef ascend_cy_pool_figures_t now
    cdef int code
    with nogil:
        code = ascend_cy_pool_figures(pool, &now, sizeof(now))
    check(code)
    return {
        "in_use": now.in_use_bytes,
        "reserved": now.reserved_bytes,
        "cached": now.cached_bytes,
        "pending": now.pending_bytes,
        "largest_free": now.largest_free_bytes,
        "limit": limit_as_object(now.limit_bytes),
        "peak_in_use": now.peak_in_use_bytes,
        "peak_reserved": now.peak_reserved_bytes,
        "allocations": now.allocations,
        "hits": now.hits,
        "device_allocations": now.device_allocations,
        "device_frees": now.device_frees,
        "buffers": now.buffers,
        "free_blocks": now.free_blocks,
        "segments": now.segments,
        "hit_rate": now.hit_rate,
        "fragmentation": now.fragmentation,
    }


cdef object limit_as_object(uint64_t limit):
    return None if limit == <uint64_t>-1 else limit


cdef uint64_t byte_count(object value, str name, str need) except? 0:
    value = as_integer(value, name, need)
    if value < 0:
        raise ValueError(f"{name} must not be negative, got {value}")
    if value >= 2**64 - 1:
        raise ValueError(f"{name} must be a number of bytes below 2**64 - 1, got {value}")
    return value


cdef uint64_t limit_of(object nbytes, str name) except? 0:
    return <uint64_t>-1 if nbytes is None else byte_count(nbytes, name, "an integer or None")


cdef ascend_cy_pool_t *default_box(object device) except NULL:
    cdef int32_t index = device_index(device)
    cdef ascend_cy_pool_t *box
    with nogil:
        box = ascend_cy_default_pool(index)
    if box is NULL:
        check(ascend_cy_last_code())
    return box


def memory_stats(device=None):
    """Figures of a device's default memory pool, all of one moment.

    Parameters
    ----------
    device : int, optional
        The thread's current device by default.

    Returns
    -------
    dict of str to int, float or None
        Bytes: ``in_use`` (of live arrays, as allocated), ``reserved`` (taken from the device), ``cached`` (free for some
        stream), ``pending`` (freed, but used by work on other streams), ``largest_free`` (the longest piece of cached
        memory without a gap), ``limit`` (None where there is none), ``peak_in_use``, ``peak_reserved``. Counts:
        ``allocations`` (empty ones included), ``hits`` (served from cached memory), ``device_allocations`` (those that
        had to ask the device), ``device_frees``, ``buffers`` (that live), ``free_blocks`` (pieces of cached memory),
        ``segments`` (device allocations held). And ``hit_rate`` = hits / (hits + device_allocations), ``fragmentation`` =
        (reserved - in use) / reserved; both are 0.0 where nothing was asked for or reserved.

    See Also
    --------
    MemoryPool.stats : the same of any pool.
    reset_peak_memory : starts the peaks over.
    """
    return figures_of(default_box(device))


def reset_peak_memory(device=None):
    """Start the peaks of a device's default memory pool over, at what is in use and reserved now.

    Parameters
    ----------
    device : int, optional
        The thread's current device by default.
    """
    check(ascend_cy_pool_reset_peaks(default_box(device)))


def set_memory_limit(nbytes, device=None):
    """Limit what the default pool takes from a device.

    Parameters
    ----------
    nbytes : int or None
        Bytes; None lifts the limit.
    device : int, optional
        The thread's current device by default.
    """
    cdef ascend_cy_pool_t *box = default_box(device)
    cdef uint64_t limit = limit_of(nbytes, "nbytes")
    cdef int code
    with nogil:
        code = ascend_cy_pool_limit_to(box, limit)
    check(code)


def trim_memory(keep=0, device=None):
    """Give cached device memory of the default pool and cached pinned memory back; may wait, without the GIL, for work that
    still uses it.

    Ctrl-C raises KeyboardInterrupt; what was not given back by then stays cached.

    Parameters
    ----------
    keep : int, default 0
        Bytes of device memory that may stay reserved.
    device : int, optional
        The thread's current device by default.

    Raises
    ------
    AclError
        If the device refuses to take memory back, which then stays cached; all else went.
    """
    cdef ascend_cy_pool_t *box = default_box(device)
    cdef uint64_t target = byte_count(keep, "keep", "an integer")
    drop_passed()
    try:
        with nogil:
            trim_pool(box, target)
    except AclError:
        with nogil:
            trim_pinned()
        raise
    with nogil:
        trim_pinned()


def memory_hazards():
    """What hazard mode (``ASCEND_CY_POOL_HAZARD``) found in this process.

    Returns
    -------
    list of str
        In the order of their finding, the first 1000; always empty without the mode. Each names what used memory, on which
        stream, and what it met.
    """
    cdef size_t index = 0
    cdef const char *found
    found_all = []
    while True:
        found = ascend_cy_pool_hazard(index)
        if found is NULL:
            return found_all
        found_all.append(text(found))
        index += 1


# ---- several pools ----

_entered = threading.local()


cdef class MemoryPool:
    """A pool of device memory beside the default one of its device.

    As a context manager it is the thread's current pool inside the block: memory of arrays that this thread makes on
    streams of ``device`` comes from it. Leaving the block, also by an exception, goes back to the pool that was current
    before. Memory goes back to the pool it came from, whoever drops the array, wherever, and whenever; a pool whose last
    object was dropped gives its memory back to the device as it becomes free. Pools share nothing; only where a device is
    full, what others have cached is given back for a request of one.

    Parameters
    ----------
    limit : int, optional
        Bytes that the pool may take from the device; no limit by default.
    name : str, default ""
        For error messages; 63 bytes of it are kept.
    device : int, optional
        The thread's current device by default.

    Raises
    ------
    TypeError, ValueError
        For a limit, name or device that cannot be.

    See Also
    --------
    current_pool, default_pool

    Examples
    --------
    >>> import ascend_cy
    >>> pool = ascend_cy.MemoryPool(limit=64 << 20, name="activations")
    >>> with pool:
    ...     x = ascend_cy.empty((1024, 1024))
    >>> pool.stats()["in_use"]
    4194304
    >>> x.pool == pool
    True
    """

    def __init__(self, limit=None, *, name="", device=None):
        cdef ascend_cy_pool_t *box = NULL
        cdef uint64_t most = limit_of(limit, "limit")
        cdef int32_t index = device_index(device)
        cdef bytes encoded
        cdef const char *label
        cdef int code
        if self.box is not NULL:
            raise RuntimeError("the MemoryPool is initialised already")
        if not isinstance(name, str):
            raise TypeError(f"name must be a string, got {type(name).__name__}")
        if "\0" in name:
            raise ValueError(f"name must not have NUL characters, got {name!r}")
        # Not cut within a character.
        encoded = name.encode("utf-8", "replace")[:MAX_NAME].decode("utf-8", "ignore").encode()
        label = encoded
        with nogil:
            code = ascend_cy_pool_create(index, label, most, &box)
        check(code)
        self.box = box

    def __dealloc__(self):
        cdef ascend_cy_pool_t *box = <ascend_cy_pool_t *>self.box
        if box is not NULL:
            with nogil:
                ascend_cy_pool_release(box)

    @property
    def device(self):
        """int: Number of the device that the memory is of."""
        return ascend_cy_pool_device(checked(self))

    @property
    def name(self):
        """str: What error messages call it; "" where it has no name."""
        return text(ascend_cy_pool_name(checked(self)))

    @property
    def limit(self):
        """int or None: Bytes that the pool may take from the device. May be set; cached memory above it is given back."""
        return figures_of(checked(self))["limit"]

    @limit.setter
    def limit(self, value):
        cdef ascend_cy_pool_t *box = checked(self)
        cdef uint64_t limit = limit_of(value, "limit")
        cdef int code
        with nogil:
            code = ascend_cy_pool_limit_to(box, limit)
        check(code)

    def stats(self):
        """Figures of the pool, all of one moment.

        Returns
        -------
        dict of str to int, float or None
            As :func:`memory_stats`.
        """
        return figures_of(checked(self))

    def reset_peaks(self):
        """Start ``peak_in_use`` and ``peak_reserved`` over, at what is in use and reserved now."""
        check(ascend_cy_pool_reset_peaks(checked(self)))

    def trim(self, keep=0):
        """Give cached memory back to the device; may wait, without the GIL, for work that still uses it.

        Ctrl-C raises KeyboardInterrupt; what was not given back by then stays cached.

        Parameters
        ----------
        keep : int, default 0
            Bytes that may stay reserved.

        Raises
        ------
        AclError
            If the device refuses to take memory back, which then stays cached; all else went.
        """
        cdef ascend_cy_pool_t *box = checked(self)
        cdef uint64_t target = byte_count(keep, "keep", "an integer")
        drop_passed()
        with nogil:
            trim_pool(box, target)

    def use(self):
        """Make it the thread's current pool of its device, until another one is used or a surrounding block is left.

        Returns
        -------
        MemoryPool
            This one.
        """
        checked(self)
        pool_use(self)
        return self

    def __enter__(self):
        cdef ascend_cy_pool_t *box = checked(self)
        previous = wrap_pool(ascend_cy_current_pool(ascend_cy_pool_device(box)))
        stack = getattr(_entered, "stack", None)
        if stack is None:
            stack = _entered.stack = []
        pool_use(self)
        stack.append((self, previous))
        return self

    def __exit__(self, *exc_info):
        cdef Py_ssize_t i
        stack = getattr(_entered, "stack", ())
        for i in range(len(stack) - 1, -1, -1):
            if stack[i][0] is self:
                _, previous = stack.pop(i)
                pool_use(previous)
                return
        raise RuntimeError(f"{self!r} is left in a thread that has not entered it")

    def __eq__(self, other):
        return self.box is (<MemoryPool>other).box if isinstance(other, MemoryPool) else NotImplemented

    def __hash__(self):
        return hash((MemoryPool, <uintptr_t>self.box))

    def __repr__(self):
        if self.box is NULL:
            return "<MemoryPool, not initialised>"
        label = f" {self.name!r}" if self.name else ""
        if self == default_pool(self.device):
            label = ", the default"
        return f"<MemoryPool{label} of device {self.device}>"


cdef ascend_cy_pool_t *checked(MemoryPool pool) except NULL:
    if pool.box is NULL:
        raise ValueError("the MemoryPool was not initialised")
    return <ascend_cy_pool_t *>pool.box


def current_pool(device=None):
    """The pool that memory of arrays made by this thread comes from.

    Parameters
    ----------
    device : int, optional
        The device of the array's stream; the thread's current device by default.

    Returns
    -------
    MemoryPool
    """
    cdef int32_t index = device_index(device)
    cdef ascend_cy_pool_t *box
    with nogil:
        box = ascend_cy_current_pool(index)
    return wrap_pool(box)


def default_pool(device=None):
    """The pool that a device has from the start.

    Parameters
    ----------
    device : int, optional
        The thread's current device by default.

    Returns
    -------
    MemoryPool
    """
    return wrap_pool(default_box(device))
