"""Pipelines: batches from the host through functions on the device and back, with copies and work at the same time."""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from ascend_cy cimport _acl
from ascend_cy._array cimport (DeviceArray, adopt_memory, array_data, as_host, is_unified, new_array, pin, upload, use_on,
                               used_on)
from ascend_cy._dtypes cimport NO_CODE, code_of, dtype_of
from ascend_cy._host cimport *
from ascend_cy._intake cimport as_ndarray, is_array_like, ranges_meet
from ascend_cy._shape cimport MAX_DIMS
from ascend_cy._status cimport check, check_acl, wait_stream
from ascend_cy._stream cimport (Event, Stream, device_index, drop_later, drop_passed, hold_owner, keep_until_passed,
                                restore, stream_box, wrap_stream)
from ascend_cy._transfer cimport is_pinned

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
    # Work for another thread is worth it where this one has more to do meanwhile than to hand it over.
    HAND_OVER_NS = 50000

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

    cdef int leave(self) except -1:
        """Close without waiting: the last user of each stream is an array, whose end never waits."""
        cdef Py_ssize_t nothing = 0
        for stream in (self.upload, self.compute, self.download):
            try:
                array = new_array(1, &nothing, 0, stream_box(stream))
            except AclError:
                array = None  # the device was shut down, or is the parent's: nothing is waited for
            stream.close()
            del array
        return 0


cdef Stream enter(Stream stream, int32_t *device):
    """Make the stream current in this thread; gives what was, for leave(). None: none, so the device's default stream."""
    cdef Stream previous = None
    cdef void *box
    check(ascend_cy_current_device(device))
    box = stream_box(None)
    if ascend_cy_stream_handle(<ascend_cy_stream_t *>box) is not NULL:
        previous = wrap_stream(box)
    check(ascend_cy_set_current_stream(<ascend_cy_stream_t *>stream_box(stream)))
    return previous


cdef int leave(int32_t device, Stream previous) except -1:
    cdef int32_t current
    if previous is None:
        if ascend_cy_current_device(&current) == 0 and current == device and ascend_cy_set_current_stream(NULL) == 0:
            return 0
        previous = wrap_stream(ascend_cy_default_stream(device))
    return restore(device, previous)


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
    """An ndarray over the memory of a contiguous array of the result's own, which may be read when the work has passed."""
    cdef cnp.dtype descr = dtype_of(array.code)
    cdef void *data = array_data(array)
    cdef cnp.ndarray host
    if data is NULL:
        return np.empty(array.shape, descr)
    host = cnp.PyArray_SimpleNewFromData(array.rank, <cnp.npy_intp *>array.dims, descr.type_num, data)
    cnp.set_array_base(host, array)
    array.exports += 1  # a weak reference may lead others to it, who must not close it now
    return host


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


cdef object give(object form, list items):
    """The result, which may be read when the work has passed."""
    cdef Py_ssize_t i
    for i in range(len(items)):
        if isinstance(items[i], DeviceArray):
            items[i] = share_with_host(<DeviceArray>items[i])
    return items[0] if form is None else rebuild(form, items)


cdef int take_back(list shared) except -1:
    """Let go of arrays over the caller's memory, which stays until the batch has passed.

    Where nothing else can use it for longer, the device need not tell when it has.
    """
    cdef DeviceArray array
    cdef ascend_cy_buffer_t *buffer
    cdef Py_ssize_t i
    for i in range(len(shared)):
        array = <DeviceArray>shared[i]
        buffer = <ascend_cy_buffer_t *>array.buffer
        # Owners: the list and this variable.
        if buffer is not NULL and Py_REFCNT(array) == 2 and ascend_cy_buffer_take_back(buffer):
            array.buffer = NULL
            ascend_cy_buffer_release(buffer)
    return 0


cdef bint is_passed_on(object value):
    """What functions get as it is: numbers, texts, arrays that are on the device already."""
    return isinstance(value, (DeviceArray, np.generic, bytes, str)) or not is_array_like(value)


cdef inline bint is_plain(object value):
    """Whether an ndarray is what devices read: contiguous, aligned, native, of a dtype that they have."""
    return (cnp.PyArray_CheckExact(value) and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>value)
            and code_of((<cnp.ndarray>value).descr) != NO_CODE)


cdef inline int64_t now_ns() noexcept:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <int64_t>time.tv_sec * 1000000000 + time.tv_nsec


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
    cdef list flights           # oldest first
    cdef object ready           # a result that was waited for at once, else _END
    cdef list recent            # the hosts of the latest batches, whose memory must not come again; oldest first
    cdef bint copies            # copy in and out, whether or not the device could share
    cdef Py_ssize_t number      # of the next batch
    cdef int64_t given_at       # when the latest result was; 0: another batch was started since
    # From a result to the end of the next batch's start: what the host has to do itself, in the latest two rounds.
    cdef int64_t beside_ns
    cdef int64_t beside_before_ns

    def __init__(self, Pipeline pipeline, _Lane lane):
        self.pipeline = pipeline
        self.lane = lane
        self.flights = []
        self.ready = _END
        self.recent = []
        self.copies = pipeline.copying is True or not is_unified()
        self.given_at = now_ns()

    cdef object take_in(self, object value, list hosts, list shared):
        """A batch's part as the functions get it; its copy is enqueued."""
        cdef DeviceArray array
        cdef void *box
        cdef bint callers = True    # the memory is
        if is_plain(value):
            packed = value
        elif is_passed_on(value):
            return value
        else:
            host = as_host(as_ndarray(value, f"batch {self.number}"), f"batch {self.number}")
            packed = np.ascontiguousarray(host).reshape(host.shape)
            if not packed.flags.aligned:
                packed = packed.copy()
            callers = np.may_share_memory(packed, host)
        if callers and self.pipeline.copying is None:
            self.refuse_reuse(<cnp.ndarray>packed)
        if not self.copies:
            hosts.append(packed)
            array = share_with_device(packed, stream_box(self.lane.compute))
            shared.append(array)
            return array
        box = stream_box(self.lane.upload)
        if self.pipeline.copying is True:
            return send(packed, True, box)
        hosts.append(packed)
        array = send(packed, False, box)
        array.readonly = True  # as where the device works on the caller's memory
        return array

    cdef int refuse_reuse(self, cnp.ndarray host) except -1:
        # Not only those that are under way: whether a source is refused must not depend on how fast the work is.
        cdef size_t nbytes = cnp.PyArray_NBYTES(host)
        cdef Py_ssize_t distance
        cdef cnp.ndarray other
        if nbytes == 0 or not cnp.PyArray_ISWRITEABLE(host):
            return 0
        for distance in range(1, len(self.recent) + 1):
            for other in <list>self.recent[len(self.recent) - distance]:
                if cnp.PyArray_ISWRITEABLE(other) and ranges_meet(cnp.PyArray_DATA(host), nbytes, cnp.PyArray_DATA(other),
                                                                  cnp.PyArray_NBYTES(other)):
                    raise ValueError(
                        f"batch {self.number} shares memory with batch {self.number - distance}, whose work may still read "
                        "it: pass copy=True where the source reuses its memory, copy=False where that does not change")
        return 0

    cdef object call(self, object value):
        """What the functions make of a batch, with the compute stream as current one."""
        cdef int32_t device
        cdef Stream previous = enter(self.lane.compute, &device)
        try:
            for function in self.pipeline.steps:
                if type(value) is DeviceArray:
                    value = function(value)
                elif isinstance(value, Mapping):
                    value = function(**value)
                elif isinstance(value, (tuple, list)):
                    value = function(*value)
                else:
                    value = function(value)
        finally:
            leave(device, previous)
        return value

    cdef int start(self, object batch) except -1:
        """Enqueue all work of a batch, and wait for it where nothing is gained by going ahead."""
        cdef list hosts = []
        cdef list shared = []       # the DeviceArrays over them
        cdef list items
        cdef object value
        cdef object form = None
        if is_plain(batch):
            value = self.take_in(batch, hosts, shared)
        else:
            value = rebuild(batch, [self.take_in(part, hosts, shared) for part in take_apart(batch)])
        batch = None
        value = self.call(value)
        # The form alone, so that the arrays have no owner here but `items`.
        if type(value) is DeviceArray:
            items = [value]
        else:
            items = take_apart(value)
            form = (dict.fromkeys(value) if isinstance(value, Mapping) else
                    type(value)(*range(len(items))) if hasattr(value, "_fields") else
                    type(value)() if isinstance(value, (tuple, list)) else None)
        value = None
        received = self.take_out(items)
        if self.given_at != 0:
            self.beside_before_ns = self.beside_ns
            self.beside_ns = now_ns() - self.given_at
            self.given_at = 0
        if not self.flights and self.waits_at_once():
            result = give(form, items)
            self.wait_for_work()
            self.ready = result
        else:
            self.depart(form, items, hosts, self.lane.download if received else self.lane.compute)
        self.recent.append(hosts)
        if len(self.recent) == self.pipeline.most:
            del self.recent[0]
        self.number += 1
        take_back(shared)
        return 0

    cdef bint take_out(self, list items) except -1:
        """Make the functions' arrays the result's own, and enqueue their copies; whether there is one."""
        cdef DeviceArray array
        cdef bint received = False
        cdef Py_ssize_t i
        for i in range(len(items)):
            if not isinstance(items[i], DeviceArray):
                continue
            array = <DeviceArray>items[i]
            # What the function keeps may change with the next batch, and what it was given is the caller's: both are copied
            # here, in the order of the work. (Owners of a new array: the list and this variable. DLPack holds the memory alone.)
            if (array.base_array is not None or Py_REFCNT(array) > 2 or not array.contiguous
                    or (array.buffer is not NULL and ascend_cy_buffer_owners(<ascend_cy_buffer_t *>array.buffer) > 1)):
                items[i] = array = array.copy(self.lane.compute)
            if self.copies:
                items[i] = receive(array, stream_box(self.lane.download))
                received = True
            else:
                use_on(array, False, stream_box(self.lane.compute))  # it may be another stream's work
        return received

    cdef int depart(self, object form, list items, list hosts, Stream last) except -1:
        """A flight of what was enqueued up to now."""
        cdef _Flight flight = _Flight()
        flight.form = form
        flight.items = items
        flight.hosts = hosts
        flight.event = Event(timing=False, device=self.pipeline.index)
        flight.event.record(last)
        self.flights.append(flight)
        return 0

    cdef bint waits_at_once(self) noexcept:
        """Whether the host has so little to do beside the device's work that nothing is gained by going ahead."""
        # One long round may be another process's doing.
        return not self.copies and min(self.beside_ns, self.beside_before_ns) < HAND_OVER_NS

    cdef int wait_for_work(self) except -1:
        """Wait for all that was enqueued on the compute stream, which nobody closes meanwhile."""
        cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(self.lane.compute)
        cdef int done = 0
        if ascend_cy_stream_query(box, &done) != 0 or not done:
            with nogil:
                wait_stream(box)
        drop_passed()
        return 0

    cdef object finish(self):
        """Wait for the oldest batch, and give its result."""
        cdef _Flight flight
        if self.ready is not _END:
            result = self.ready
            self.ready = _END
        else:
            flight = <_Flight>self.flights[0]
            flight.event.synchronize()
            self.lane.compute.query()
            del self.flights[0]
            result = give(flight.form, flight.items)
        self.given_at = now_ns()
        return result

    cdef bint is_due(self) except -1:
        """Whether a result is to be given before another batch is started."""
        if self.ready is not _END:
            return True
        return len(self.flights) > 0 and (len(self.flights) >= self.pipeline.most or self.waits_at_once()
                                          or (<_Flight>self.flights[0]).event.query())

    cdef int end(self, bint healthy) except -1:
        """Wait for what is left, and give the streams back."""
        try:
            if not healthy:
                self.lane.wait()
                healthy = True
        except AclError:
            pass  # the stream's failure is on its way to the caller already
        finally:
            if not healthy and self.flights:
                self.abandon()
            self.flights.clear()
            self.pipeline.give_back(self.lane, healthy)
        return 0

    cdef int abandon(self) except -1:
        """Keep what the flights' work uses until it has passed."""
        try:
            keep_until_passed(stream_box(self.lane.compute), list(self.flights))
        except AclError:
            pass  # kept for ever: nobody can tell when it has passed, because the process ends
        return 0


def _run(Pipeline pipeline, batches):
    """The batches' results, in order. A generator: what it leaves enqueued is waited for when it ends, however it does."""
    cdef _Run run = _Run(pipeline, pipeline.take_lane())
    healthy = False
    try:
        error = None
        source = iter(batches)
        while True:
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
            while run.is_due():
                yield run.finish()
                if not run.waits_at_once():
                    break
        while run.flights:
            yield run.finish()
        if error is not None:
            raise error
        run.lane.wait()
        healthy = True
    finally:
        run.end(healthy)


cdef class Pipeline:
    """Run functions over batches of host arrays, with copies in, device work and copies out at the same time.

    Calling the pipeline with an iterable of batches gives an iterator over the results, in order. Up to ``slots``
    batches are under way: while the caller uses one result, later batches are copied and computed. Where the device
    shares the host's memory, batches are started ahead only while source, functions and caller together take more
    time for one than handing it to another thread does.

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

    Iterating waits without the GIL, for the oldest batch only. An exception from the source or a function is raised after
    the results of the batches before it. So is a failure on the device with ``slots=1``; with more, it may come up to
    ``slots - 1`` batches early, for a device tells which stream failed, not in which batch. However the iteration
    ends, nothing is left running; the iterator's ``close()`` ends it early. (Ctrl-C does not wait for the work under
    way if it is pressed twice.)

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
        return lane.leave()  # a second Ctrl-C does not wait for what is under way

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
