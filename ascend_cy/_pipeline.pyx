"""Pipelines: batches from the host through functions on the device and back, with copies and work at the same time."""

cimport numpy as cnp

from ascend_cy cimport _acl
from ascend_cy._array cimport (DeviceArray, adopt_memory, as_host, copy_device, is_unified, new_array, pin, upload, use_on,
                               used_on)
from ascend_cy._dtypes cimport code_of, dtype_of
from ascend_cy._host cimport *
from ascend_cy._intake cimport as_ndarray, is_array_like
from ascend_cy._shape cimport MAX_DIMS
from ascend_cy._status cimport check, check_acl
from ascend_cy._stream cimport Event, Stream, device_index, drop_later, hold_owner, stream_box
from ascend_cy._transfer cimport is_pinned

from collections import deque
from collections.abc import Mapping
import threading

import numpy as np

from ascend_cy._core import empty_pinned
from ascend_cy.errors import AclError

cnp.import_array()

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(object)

cdef enum:
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    MAX_SLOTS = 1024

_END = object()


# ---- the streams of one run ----

cdef class _Lane:
    """Three streams: copies in, work, copies out. Used by one run at a time."""

    cdef Stream upload
    cdef Stream compute
    cdef Stream download

    def __init__(self, device):
        self.upload = Stream(device=device)
        self.compute = Stream(device=device)
        self.download = Stream(device=device)

    cdef int wait(self) except -1:
        self.upload.synchronize()
        self.compute.synchronize()
        self.download.synchronize()
        return 0

    cdef int close(self) except -1:
        self.upload.close()
        self.compute.close()
        self.download.close()
        return 0


# ---- arrays on their way in ----

cdef int enqueue_copy(void *target, const void *source, size_t nbytes, int kind, void *box) except -1 nogil:
    """An asynchronous copy; the host's side is pinned memory."""
    cdef void *previous
    cdef void *range
    check(ascend_cy_stream_enter(<ascend_cy_stream_t *>box, &previous))
    range = ascend_cy_range_begin(b"copy to device" if kind == HOST_TO_DEVICE else b"copy to host",
                                  <ascend_cy_stream_t *>box)
    try:
        return check_acl(_acl.aclrtMemcpyAsync(target, nbytes, source, nbytes, <_acl.aclrtMemcpyKind>kind,
                                               ascend_cy_stream_handle(<ascend_cy_stream_t *>box)), b"aclrtMemcpyAsync")
    finally:
        ascend_cy_range_end(range)
        ascend_cy_stream_leave(previous)


cdef DeviceArray share_with_device(object host, void *box):
    """The host's own memory as a read-only device array, where the device can read it."""
    cdef Py_ssize_t[2 * MAX_DIMS] dims
    cdef cnp.ndarray array = <cnp.ndarray>host
    cdef int rank = cnp.PyArray_NDIM(array)
    cdef int axis
    cdef void *entry
    for axis in range(rank):
        dims[axis] = cnp.PyArray_DIM(array, axis)
        dims[rank + axis] = cnp.PyArray_STRIDE(array, axis)
    entry = hold_owner(host)
    try:
        return adopt_memory(cnp.PyArray_DATA(array), rank, dims, code_of(array.descr), True, drop_later, entry, host, box)
    except BaseException:
        drop_later(entry)
        raise


cdef DeviceArray send(object host, bint staged, void *box):
    """Enqueue the copy of a contiguous ndarray to a new device array."""
    cdef cnp.ndarray array = <cnp.ndarray>host
    cdef DeviceArray target = new_array(cnp.PyArray_NDIM(array), <const Py_ssize_t *>cnp.PyArray_DIMS(array),
                                        code_of(array.descr), box)
    cdef size_t nbytes = cnp.PyArray_NBYTES(array)
    cdef void *block
    if nbytes == 0:
        return target
    if not staged and is_pinned(cnp.PyArray_DATA(array)):
        upload(target, host, box)
        return target
    # A copy from ordinary memory would wait for the stream; one from pinned memory does not.
    pinned = empty_pinned(nbytes, np.uint8)
    np.copyto(pinned, host.reshape(-1).view(np.uint8))
    block = cnp.PyArray_DATA(<cnp.ndarray>pinned)
    with nogil:
        enqueue_copy(target.data, block, nbytes, HOST_TO_DEVICE, box)
        used_on(target, True, box)
        check(ascend_cy_pinned_record_stream(block, <ascend_cy_stream_t *>box))
    return target


# ---- arrays on their way out ----

cdef object receive(DeviceArray source, void *box):
    """Enqueue the copy of a contiguous device array to a new ndarray in pinned memory."""
    cdef object host = empty_pinned(source.shape, dtype_of(source.code))
    cdef void *data = cnp.PyArray_DATA(<cnp.ndarray>host)
    cdef Py_ssize_t nbytes = source.nbytes_()
    if nbytes == 0:
        return host
    source = pin(source)  # a weak reference may lead another thread to it
    with nogil:
        use_on(source, False, box)
        enqueue_copy(data, source.data, nbytes, DEVICE_TO_HOST, box)
        used_on(source, False, box)
        # Its memory may be given back at any moment from here on.
        check(ascend_cy_pinned_record_stream(data, <ascend_cy_stream_t *>box))
    return host


cdef object share_with_host(DeviceArray array):
    """An ndarray over the memory of a contiguous array whose work has passed."""
    cdef cnp.npy_intp nbytes = array.nbytes_()
    cdef object raw
    if nbytes == 0:
        return np.empty(array.shape, dtype_of(array.code))
    raw = cnp.PyArray_SimpleNewFromData(1, &nbytes, cnp.NPY_UINT8, array.data)
    cnp.set_array_base(raw, pin(array))
    return raw.view(dtype_of(array.code)).reshape(array.shape)


# ---- batches ----

cdef object rebuild(object like, list items):
    """`items` in the form of `like`: one value, a tuple, a list or a dictionary."""
    if isinstance(like, Mapping):
        return dict(zip(like, items))
    if isinstance(like, tuple):
        return type(like)(*items) if hasattr(like, "_fields") else tuple(items)
    if isinstance(like, list):
        return items
    return items[0]


cdef list take_apart(object value):
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (tuple, list)):
        return list(value)
    return [value]


cdef bint is_passed_on(object value):
    """What functions get as it is: numbers, texts, arrays that are on the device already."""
    return isinstance(value, (DeviceArray, np.generic, bytes, str)) or not is_array_like(value)


cdef class _Flight:
    """A batch whose work was enqueued."""

    cdef object form            # of the result
    cdef list items             # DeviceArrays that are shared, ndarrays that are copied to, values passed on
    cdef list hosts             # the caller's arrays that are read meanwhile
    cdef Event event            # behind the work


cdef class _Run:
    """One pass over a source of batches."""

    cdef Pipeline pipeline
    cdef _Lane lane
    cdef object flights         # deque of _Flight, oldest first
    cdef object recent          # the hosts of the latest batches, whose memory must not come again
    cdef bint copies            # copy in and out, whether or not the device could share
    cdef object number          # of the next batch

    def __init__(self, Pipeline pipeline, _Lane lane):
        self.pipeline = pipeline
        self.lane = lane
        self.flights = deque()
        self.recent = deque(maxlen=pipeline.most - 1)
        self.copies = pipeline.copying is True or not is_unified()
        self.number = 0

    cdef object take_in(self, object value, list hosts):
        """A batch's part as the functions get it; its copy is enqueued."""
        cdef DeviceArray array
        cdef void *box
        if is_passed_on(value):
            return value
        host = as_host(as_ndarray(value, f"batch {self.number}"), f"batch {self.number}")
        packed = np.ascontiguousarray(host).reshape(host.shape)
        if not packed.flags.aligned:
            packed = packed.copy()
        if self.pipeline.copying is None and np.may_share_memory(packed, host):
            self.refuse_reuse(packed)
        if not self.copies:
            hosts.append(packed)
            return share_with_device(packed, stream_box(self.lane.compute))
        box = stream_box(self.lane.upload)
        if self.pipeline.copying is True:
            return send(packed, True, box)
        hosts.append(packed)
        array = send(packed, False, box)
        array.readonly = True  # as where the device works on the caller's memory
        return array

    cdef int refuse_reuse(self, object host) except -1:
        # Not only those that are under way: whether a source is refused must not depend on how fast the work is.
        if host.flags.writeable:
            for distance, hosts in enumerate(reversed(self.recent), 1):
                for other in hosts:
                    if other.flags.writeable and np.may_share_memory(host, other):
                        raise ValueError(
                            f"batch {self.number} shares memory with batch {self.number - distance}, whose work may still read "
                            "it: pass copy=True where the source reuses its memory, copy=False where that does not change")
        return 0

    cdef object start(self, object batch):
        """Enqueue all work of a batch."""
        cdef _Flight flight = _Flight()
        cdef list hosts = []
        cdef list items
        cdef DeviceArray array
        cdef bint received = False
        cdef Py_ssize_t i
        cdef object value = batch
        arguments = [self.take_in(part, hosts) for part in take_apart(batch)]
        flight.hosts = hosts
        value = rebuild(batch, arguments)
        arguments = batch = None
        with self.lane.compute:
            for function in self.pipeline.steps:
                if isinstance(value, Mapping):
                    value = function(**value)
                elif isinstance(value, (tuple, list)):
                    value = function(*value)
                else:
                    value = function(value)
        items = take_apart(value)
        # The form alone, so that the arrays have no owner here but `items`.
        flight.form = (dict.fromkeys(value) if isinstance(value, Mapping) else
                       type(value)(*range(len(items))) if hasattr(value, "_fields") else
                       type(value)() if isinstance(value, (tuple, list)) else None)
        value = None
        for i in range(len(items)):
            if not isinstance(items[i], DeviceArray):
                continue
            array = <DeviceArray>items[i]
            # What the function keeps may change with the next batch, and what it was given is the caller's: both are copied
            # here, in the order of the work. (Owners of a new array: the list and this variable.)
            if array.base_array is not None or Py_REFCNT(array) > 2 or not array.contiguous:
                array = array.copy(self.lane.compute)
            items[i] = array
            if self.copies:
                items[i] = receive(array, stream_box(self.lane.download))
                received = True
        flight.items = items
        flight.event = Event(timing=False, device=self.pipeline.index)
        flight.event.record(self.lane.download if received else self.lane.compute)
        self.recent.append(hosts)
        self.number += 1
        self.flights.append(flight)

    cdef object finish(self):
        """Wait for the oldest batch, and give its result."""
        cdef _Flight flight = self.flights[0]
        cdef Py_ssize_t i
        flight.event.synchronize()
        self.lane.compute.query()
        self.flights.popleft()
        for i in range(len(flight.items)):
            if isinstance(flight.items[i], DeviceArray):
                flight.items[i] = share_with_host(<DeviceArray>flight.items[i])
        return rebuild(flight.form, flight.items)

    cdef bint has_passed(self) except -1:
        return (<_Flight>self.flights[0]).event.query()


def _run(Pipeline pipeline, batches):
    """The batches' results, in order. A generator: what it leaves enqueued is waited for when it ends, however it does."""
    cdef _Run run = _Run(pipeline, pipeline.take_lane())
    healthy = False
    try:
        error = None
        source = iter(batches)
        while error is None:
            # A failing source or function comes after the results of the batches before it, as in a plain loop.
            try:
                batch = next(source, _END)
                if batch is _END:
                    break
                run.start(batch)
                batch = None
            except Exception as raised:
                error = raised
                break
            if len(run.flights) >= pipeline.most or run.has_passed():
                yield run.finish()
        while run.flights:
            yield run.finish()
        if error is not None:
            raise error
        run.lane.wait()
        healthy = True
    finally:
        run.flights.clear()
        if not healthy:
            try:
                run.lane.wait()
                healthy = True
            except AclError:
                pass  # the stream's failure is on its way to the caller already
        pipeline.give_back(run.lane, healthy)


cdef class Pipeline:
    """Run functions over batches of host arrays, with copies in, device work and copies out at the same time.

    Calling the pipeline with an iterable of batches gives an iterator over the results, in order. Up to ``slots``
    batches are under way: while the caller uses one result, later batches are copied and computed.

    Parameters
    ----------
    *functions : callable
        Called one after the other for each batch, in the calling thread, with the pipeline's compute stream as
        current stream: they enqueue work and should not wait for it. The first gets the batch with its arrays as
        DeviceArrays, each other one what the one before returned. A tuple or list is passed as arguments, a
        dictionary as keyword arguments.
    slots : int, default 3
        The most batches that are under way; bounds the memory. With 1 a batch is read when the one before is done.
    copy : bool, optional
        How batches reach the device.
        None and False: without a copy where the device shares the host's memory, from pinned memory directly, else
        through pinned memory. A batch must not change until its result is there; None refuses batches that share
        writable memory with one of the ``slots - 1`` before. The functions' inputs are read-only.
        True: through pinned memory of the pipeline's own, on every device; the source may reuse its memory at once,
        and the functions may work in place.
    device : int, optional
        The thread's current device, at the time of this call, by default.

    Raises
    ------
    TypeError, ValueError
        For functions that cannot be called, or slots, copy or a device that cannot be.

    Notes
    -----
    A batch is an array, or a tuple, list or dictionary of arrays; DeviceArrays, numbers and texts in it are passed on
    as they are. The results' DeviceArrays become ndarrays, which the caller owns; where the device shares the host's
    memory these hold pooled device memory.

    Iterating waits without the GIL, for the oldest batch only. An exception from the source, a function or the device
    is raised after the results of the batches before it. However the iteration ends, nothing is left running; the
    iterator's ``close()`` ends it early.

    One pipeline may serve several threads at once; each iteration has streams of its own.

    Examples
    --------
    >>> import numpy as np, ascend_cy
    >>> batches = (np.full((2, 3), i, np.float32) for i in range(3))
    >>> pipeline = ascend_cy.Pipeline(lambda x: ascend_cy.vector_add(x, x))
    >>> [float(result[0, 0]) for result in pipeline(batches)]
    [0.0, 2.0, 4.0]
    """

    cdef tuple steps
    cdef int most
    cdef object copying
    cdef int index
    cdef list idle              # lanes
    cdef object lock
    cdef bint is_closed
    cdef object __weakref__

    def __init__(self, *functions, slots=3, copy=None, device=None):
        if not functions:
            raise TypeError("functions must be at least one callable, got none")
        for function in functions:
            if not callable(function):
                raise TypeError(f"functions must be callable, got {type(function).__name__}")
        if isinstance(slots, bool) or not hasattr(slots, "__index__"):
            raise TypeError(f"slots must be an integer, got {type(slots).__name__}")
        if not 1 <= slots.__index__() <= MAX_SLOTS:
            raise ValueError(f"slots must be between 1 and {MAX_SLOTS}, got {slots}")
        if copy is not None and not isinstance(copy, bool):
            raise TypeError(f"copy must be True, False or None, got {type(copy).__name__}")
        self.index = device_index(device)
        self.steps = functions
        self.most = slots.__index__()
        self.copying = copy
        self.idle = []
        self.lock = threading.Lock()
        self.is_closed = False

    def __call__(self, batches):
        """Run over ``batches``.

        Parameters
        ----------
        batches : iterable
            Asked for the next batch in the iterating thread.

        Returns
        -------
        iterator
            A generator of the results, in order. Nothing is enqueued before the first ``next()``.

        Raises
        ------
        TypeError
            If ``batches`` is not iterable.
        ValueError
            If the pipeline is closed.
        """
        if not hasattr(batches, "__iter__") and not hasattr(batches, "__getitem__"):
            raise TypeError(f"batches must be an iterable of batches, got {type(batches).__name__}")
        if self.is_closed:
            raise ValueError("the pipeline is closed")
        return _run(self, batches)

    cdef _Lane take_lane(self):
        with self.lock:
            if self.is_closed:
                raise ValueError("the pipeline is closed")
            if self.idle:
                return self.idle.pop()
        return _Lane(self.index)

    cdef int give_back(self, _Lane lane, bint healthy) except -1:
        with self.lock:
            if healthy and not self.is_closed:
                self.idle.append(lane)
                return 0
        return lane.close()

    @property
    def functions(self):
        """tuple of callable: What is called for each batch, in order."""
        return self.steps

    @property
    def slots(self):
        """int: The most batches that are under way."""
        return self.most

    @property
    def copy(self):
        """bool or None: How batches reach the device."""
        return self.copying

    @property
    def device(self):
        """int: Number of the device."""
        return self.index

    def close(self):
        """Give the streams up. Idempotent; iterations that are under way go on. Calling it later raises ValueError."""
        with self.lock:
            self.is_closed = True
            idle, self.idle = self.idle, []
        for lane in idle:
            (<_Lane>lane).close()

    @property
    def closed(self):
        """bool: Whether the pipeline was closed."""
        return self.is_closed

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def __reduce__(self):
        raise TypeError("a Pipeline cannot be pickled: it belongs to this process; make one in the other process")

    def __repr__(self):
        names = ", ".join(getattr(function, "__name__", repr(function)) for function in self.functions)
        return f"<Pipeline {names} slots={self.slots} device={self.device}{' closed' if self.is_closed else ''}>"
