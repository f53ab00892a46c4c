"""The door to the runtime: devices, streams, events, arrays, memory."""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from ascend_cy cimport _acl
from ascend_cy._dtypes cimport parse_dtype
from ascend_cy._host cimport *
from ascend_cy._shape cimport MAX_DIMS, checked_nbytes, parse_shape, sides
from ascend_cy._status cimport check, check_acl, create_pinned, note_interpreter_exit, text, wait_device
from ascend_cy._stream cimport (Event, Stream, device_index, drop_passed, leave_entered, note_entered,
                                release_interpreter)

import atexit

import numpy as np

from ascend_cy import _array, _pool, _stream
from ascend_cy._dlpack import from_dlpack
from ascend_cy._logging import finish as finish_log  # imports logging, whose exit function so runs after ours
from ascend_cy._makers import asarray, empty, empty_like, empty_many, from_pointer, full, ones, zeros
from ascend_cy._pool import (current_pool, default_pool, memory_hazards, memory_stats, reset_peak_memory,
                             set_memory_limit, trim_memory)
from ascend_cy._stream import current_stream, default_stream
from ascend_cy.errors import AclError

cnp.import_array()

# Names that are types to Cython are not assigned by an import statement.
globals().update(DeviceArray=_array.DeviceArray, Event=_stream.Event, MemoryPool=_pool.MemoryPool, Stream=_stream.Stream)

cdef dict _kinds = {ASCEND_CY_KIND_NPU: "npu", ASCEND_CY_KIND_CPU: "cpu", ASCEND_CY_KIND_SIM: "sim",
                    ASCEND_CY_KIND_NONE: "none"}


cdef int check_abi(int compiled_against) except -1:
    if compiled_against != ABI_VERSION:
        raise ImportError(f"this module was compiled against binary interface {compiled_against} of ascend_cy, but the "
                          f"installed ascend_cy has {ABI_VERSION}: build it again")
    return 0


# ---- devices ----

def device_info():
    """What runs device work here, and why. Creates no context.

    Returns
    -------
    dict
        ``kind`` ("npu", "cpu", "sim" or "none"), ``requested`` (the value of ``ASCEND_CY_DEVICE``), ``library`` (path of
        the device library), ``reason`` (one line), ``tried`` (what was looked at, in order), ``unified`` (whether host
        pointers are device pointers), ``device_count``.
    """
    cdef const ascend_cy_device_info_t *info
    cdef uint32_t count = 0
    cdef int code = 0
    with nogil:
        info = ascend_cy_device_info()
        if info.error == 0:
            code = ascend_cy_device_count(&count)
    return {
        "kind": _kinds.get(info.kind, "none"),
        "requested": text(info.requested),
        "library": text(info.library),
        "reason": text(info.reason),
        "tried": text(info.tried).splitlines(),
        "unified": bool(info.unified),
        "device_count": count if code == 0 else 0,
    }


def device_count():
    """Number of devices. Creates no context.

    Returns
    -------
    int

    Raises
    ------
    DeviceNotFoundError
        If no usable device library was found.
    """
    cdef uint32_t count = 0
    cdef int code
    with nogil:
        code = ascend_cy_device_count(&count)
    check(code)
    return count


def is_initialized():
    """Whether the device library was initialised in this process. Neither loads nor initialises anything.

    Returns
    -------
    bool
        False in a forked child, and after the interpreter's exit functions ran.
    """
    return bool(ascend_cy_is_initialized())


class Device:
    """A device by its number. As a context manager it is the thread's current device inside the block.

    New streams and events, and work without a stream, go to the current device; leaving the block goes back to the device
    and the stream that were current before.

    Parameters
    ----------
    index : int, optional
        The thread's current device by default.

    Attributes
    ----------
    index : int
        The device's number.

    Raises
    ------
    TypeError, ValueError
        If there is no such device.

    Examples
    --------
    >>> import ascend_cy
    >>> with ascend_cy.Device(0):
    ...     x = ascend_cy.zeros(4)
    >>> x.device
    0
    """

    def __init__(self, index=None):
        self.index = device_index(index)

    @property
    def name(self):
        """str: Name of the SoC, such as Ascend910B1."""
        cdef const char *name
        with self:
            name = _acl.aclrtGetSocName()
        return text(name)

    def memory(self):
        """Free and total bytes of the device's memory.

        Returns
        -------
        free, total : int
        """
        cdef size_t free = 0
        cdef size_t total = 0
        with self:
            check_acl(_acl.aclrtGetMemInfo(_acl.ACL_HBM_MEM, &free, &total), b"aclrtGetMemInfo")
        return free, total

    def synchronize(self):
        """Wait until all work of the device has passed, without the GIL; Ctrl-C raises KeyboardInterrupt."""
        with self:
            synchronize()

    def __enter__(self):
        cdef int32_t index = self.index
        cdef int32_t before
        cdef int code
        check(ascend_cy_current_device(&before))
        previous = current_stream()
        with nogil:
            code = ascend_cy_set_device(index)
            if code == 0 and index != before:
                code = ascend_cy_set_current_stream(NULL)
        check(code)
        note_entered(self, before, previous)
        return self

    def __exit__(self, *exc_info):
        leave_entered(self)

    def __eq__(self, other):
        return self.index == other.index if isinstance(other, Device) else NotImplemented

    def __hash__(self):
        return hash((Device, self.index))

    def __repr__(self):
        return f"Device({self.index})"


def has(function):
    """Whether the device library in use has an AscendCL function.

    Parameters
    ----------
    function : str
        Such as ``"aclrtLaunchHostFunc"``.

    Returns
    -------
    bool
        Where it is False, calling the function returns 207000 with a message that names it.
    """
    cdef bytes name
    if not isinstance(function, str):
        raise TypeError(f"function must be a string, got {type(function).__name__}")
    name = function.encode()
    return bool(ascend_cy_has(name))


def synchronize():
    """Wait until all work of the thread's current device has passed, without the GIL.

    Ctrl-C raises KeyboardInterrupt while the work goes on.

    Raises
    ------
    KernelError, AclError
        If work failed.
    """
    with nogil:
        check(ascend_cy_ensure_context())
        wait_device()
    drop_passed()


def synchronize_all():
    """Wait until all work of every device that this process used through ascend_cy has passed, without the GIL.

    Ctrl-C raises KeyboardInterrupt while the work goes on. Devices that were not used stay untouched.

    Raises
    ------
    KernelError, AclError
        If work failed: the failure of the first such device, once all were waited for.
    """
    cdef uint64_t used = ascend_cy_devices_used()
    cdef int index
    failure = None
    for index in range(64):
        if used >> index & 1:
            try:
                Device(index).synchronize()
            except AclError as error:
                failure = failure or error
    if failure is not None:
        raise failure


# ---- memory ----

cdef class _PinnedBlock:
    """Owns one pinned block; ndarrays over it keep it as their base."""

    cdef void *data
    cdef Py_ssize_t nbytes

    def __cinit__(self, Py_ssize_t nbytes):
        self.data = NULL
        self.nbytes = nbytes
        with nogil:
            create_pinned(nbytes, &self.data)

    def __dealloc__(self):
        cdef void *data = self.data
        if data is not NULL:
            with nogil:
                ascend_cy_pinned_free(data)


def empty_pinned(shape, dtype="float32"):
    """An ndarray in pinned host memory, contents undefined.

    Copies between it and a device are asynchronous. The memory is pooled and given back when the last array over it is
    gone; asynchronous copies keep it alive.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data type, default float32

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    TypeError, ValueError
        For a shape or dtype that cannot be.
    DeviceMemoryError
        If no memory is left.
    """
    cdef int code
    cdef cnp.dtype descr = parse_dtype(dtype, &code)
    cdef _PinnedBlock block
    cdef Py_ssize_t[MAX_DIMS] wanted
    cdef cnp.npy_intp dims = 0
    cdef int rank = parse_shape(shape, wanted)
    cdef Py_ssize_t nbytes = checked_nbytes(rank, wanted, descr.itemsize)
    cdef object raw
    if nbytes == 0:
        return np.empty(sides(wanted, rank), descr)
    block = _PinnedBlock(nbytes)
    dims = block.nbytes
    raw = cnp.PyArray_SimpleNewFromData(1, &dims, cnp.NPY_UINT8, block.data)
    cnp.set_array_base(raw, block)
    return raw.view(descr).reshape(sides(wanted, rank))


# ---- life of the process ----

def live_objects():
    """Counts of what is held on devices, for leak checks.

    Returns
    -------
    dict of str to int
        ``streams``, ``events``, ``buffers``, ``buffer_bytes``, ``pinned``, ``pinned_bytes``, ``modules``.
    """
    cdef ascend_cy_live_counts_t counts
    cdef int64_t modules = ascend_cy_live_modules()
    with nogil:  # may destroy streams that were dropped, and hand over what waited for them
        ascend_cy_live_counts(&counts)
    drop_passed()
    with nogil:
        ascend_cy_live_counts(&counts)
    return {"streams": counts.streams, "events": counts.events, "buffers": counts.buffers,
            "buffer_bytes": counts.buffer_bytes, "pinned": counts.pinned, "pinned_bytes": counts.pinned_bytes,
            "modules": modules}


def _at_exit():
    release_interpreter()
    note_interpreter_exit()
    with nogil:
        ascend_cy_shutdown()
    finish_log()  # after what the shutdown has to say


atexit.register(_at_exit)
