"""Streams, events, and what the runtime's threads do for Python: callbacks and kept references."""

from cpython.exc cimport PyErr_SetObject, PyErr_WriteUnraisable
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, uint32_t, uintptr_t
from libc.stdlib cimport free, malloc
from libcpp.atomic cimport atomic

from ascend_cy._host cimport *
from ascend_cy._status cimport as_integer, check, raise_status, wait_event, wait_stream

import threading


cdef extern from "_keepalive.h" namespace "ascend_cy_keepalive" nogil:
    cdef struct Entry:
        void *object
        Entry *next
    void push(void *entry) noexcept
    Entry *take_all() noexcept

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030D0000
    #define ASCEND_CY_IS_FINALIZING() Py_IsFinalizing()
    #else
    #define ASCEND_CY_IS_FINALIZING() _Py_IsFinalizing()
    #endif
    """
    int ASCEND_CY_IS_FINALIZING() noexcept nogil

cdef enum:
    STREAM_PRIORITIES = 8       # 0, the highest, to 7 (AscendCL)
    ACL_EVENT_SYNC = 1
    ACL_EVENT_TIME_LINE = 8

# Callbacks that are queued when the interpreter goes away must not take the GIL.
cdef atomic[int] interpreter_exiting  # read by threads that do not have the GIL


# ---- references kept until a stream has passed ----

cdef void drop_passed() noexcept:
    """Drop the references whose stream has passed. Needs the GIL."""
    cdef Entry *entry = take_all()
    cdef Entry *following
    while entry is not NULL:
        following = entry.next
        Py_DECREF(<object>entry.object)
        free(entry)
        entry = following


cdef int keep_until_passed(void *box, object obj) except -1:
    cdef Entry *entry
    cdef bint passed = False
    cdef int code
    drop_passed()
    entry = <Entry *>malloc(sizeof(Entry))
    if entry is NULL:
        raise MemoryError("no memory for a reference to keep until the stream has passed")
    entry.object = <void *>obj
    entry.next = NULL
    Py_INCREF(obj)
    held = wrap_stream(box)
    with nogil:
        code = ascend_cy_stream_add_host_function(<ascend_cy_stream_t *>box, push, entry)
    if code != 0:
        # The work may be running already: wait for it, so that dropping the reference is safe.
        try:
            with nogil:
                wait_stream(<ascend_cy_stream_t *>box)
            passed = True
        finally:
            if not passed:
                with nogil:
                    passed = ascend_cy_stream_synchronize(<ascend_cy_stream_t *>box, -1) == 0
            if passed:  # else nobody knows when it is safe, and the reference stays
                Py_DECREF(obj)
                free(entry)
    return 0


cdef void drop_later(void *entry) noexcept nogil:
    # Any thread may come here, so the next call with the GIL drops the reference.
    if entry is not NULL:
        push(entry)


cdef void *hold_owner(object owner) except NULL:
    cdef Entry *entry = <Entry *>malloc(sizeof(Entry))
    if entry is NULL:
        raise MemoryError("no memory for a reference to an owner")
    Py_INCREF(owner)
    entry.object = <void *>owner
    entry.next = NULL
    return entry


# ---- callbacks ----

cdef void run_callback(void *context) noexcept nogil:
    if interpreter_exiting.load() or ASCEND_CY_IS_FINALIZING():
        return
    run_callback_with_gil(context)


cdef void run_callback_with_gil(void *context) noexcept with gil:
    cdef object job = <object>context
    Py_DECREF(job)  # the queue's reference, now held by `job`
    function, args = job
    try:
        function(*args)
    except BaseException as error:
        report_unraisable(error, function)


cpdef void report_unraisable(object error, object culprit) noexcept:
    """Nobody waits for the result: report the error the way Python reports such errors, and go on."""
    # The one way to sys.unraisablehook that its default takes; the exception keeps its traceback.
    PyErr_SetObject(type(error), error)
    PyErr_WriteUnraisable(culprit)


def refuse_wait_in_callback(str unfinished):
    """AclError where the thread runs a callback of a stream."""
    cdef bytes message = unfinished.encode()
    check(ascend_cy_may_wait(message))


cdef void release_interpreter() noexcept:
    """The interpreter goes away: queued callbacks leave it alone from now on."""
    interpreter_exiting.store(1)


# ---- streams ----

cdef int raise_closed(bint is_stream) except -1 nogil:
    with gil:
        raise ValueError("the stream is closed" if is_stream else "the event is closed")


cdef int raise_not_stream(object stream, str name) except -1:
    raise TypeError(f"{name} must be a Stream or None, got {type(stream).__name__}")


cdef int device_index(object device) except -1:
    """A checked device number; None is the thread's current device."""
    cdef int32_t index
    cdef uint32_t count
    cdef int code
    if device is None:
        with nogil:
            code = ascend_cy_current_device(&index)
        check(code)
        return index
    number = as_integer(device, "device", "an integer or None")
    with nogil:
        code = ascend_cy_device_count(&count)
    check(code)
    if not 0 <= number < count:
        raise ValueError(f"device must be between 0 and {count - 1}, got {number}")
    return number


cdef void *stream_box(Stream stream) except NULL nogil:
    cdef void *box
    if stream is None:
        box = ascend_cy_current_stream()
        if box is NULL:
            raise_status(ascend_cy_last_code())
        return box
    if stream.box is NULL:
        raise_closed(True)
    return stream.box


cdef void *enter_stream(Stream stream, void **previous) except NULL nogil:
    cdef void *box = stream_box(stream)
    previous[0] = NULL
    if stream is not None:
        # The thread's current stream is of its current device already.
        check(ascend_cy_stream_enter(<ascend_cy_stream_t *>box, previous))
    return box


cdef void *stream_handle(Stream stream) except? NULL nogil:
    return ascend_cy_stream_handle(<ascend_cy_stream_t *>stream_box(stream))


cdef int stream_synchronize(Stream stream) except -1 nogil:
    cdef void *box = stream_box(stream)
    return wait_stream(<ascend_cy_stream_t *>box)


cdef Stream wrap_stream(void *box):
    """A new Stream object that shares `box`."""
    cdef Stream stream = Stream.__new__(Stream)
    ascend_cy_stream_retain(<ascend_cy_stream_t *>box)
    stream.box = box
    return stream


cdef void release_stream(Stream stream) noexcept:
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream.box
    if box is not NULL:
        # Dictionaries and sets that hold the object must find it after close() too.
        stream.last_handle = ascend_cy_stream_handle(box)
        stream.last_device = ascend_cy_stream_device(box)
        stream.box = NULL
        # The last reference waits for the stream's work, which may include a Python callback; but not in one.
        with nogil:
            ascend_cy_stream_release(box)


_entered = threading.local()


cdef int note_entered(object block, int device, Stream previous) except -1:
    stack = getattr(_entered, "stack", None)
    if stack is None:
        stack = _entered.stack = []
    stack.append((block, device, previous))
    return 0


cdef int leave_entered(object block) except -1:
    """Go back to what was current before the latest `with block:` of this thread."""
    cdef Py_ssize_t i
    stack = getattr(_entered, "stack", ())
    for i in range(len(stack) - 1, -1, -1):
        if stack[i][0] is block:
            _, device, previous = stack.pop(i)
            return restore(device, previous)
    raise RuntimeError(f"{block!r} is left in a thread that has not entered it")


cdef int restore(int device, Stream stream) except -1:
    """Make `device` and `stream` current in this thread again."""
    cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream.box
    cdef int attempt, code
    if ascend_cy_stream_handle(box) is NULL:
        box = NULL  # no stream was set: go back to following the thread's device
    with nogil:
        # Tried again: the thread would stay on the block's device.
        for attempt in range(2):
            code = ascend_cy_set_device(device)
            if code == 0:
                code = ascend_cy_set_current_stream(box)
            if code == 0:
                break
        if code != 0:
            # Better none than the stream of the block that was left.
            ascend_cy_set_current_stream(NULL)
    if interpreter_exiting.load():
        return 0  # a suspended generator's block is left while the interpreter goes away
    return check(code)


cdef class Stream:
    """A stream of device work, run in order and asynchronously to the host and to other streams.

    A new stream of ``device``. As a context manager it is the thread's current stream inside the block (work with
    ``stream=None`` goes there); leaving the block does not wait.

    Parameters
    ----------
    priority : int, default 0
        0 is the highest, 7 the lowest.
    device : int, optional
        Device number; the thread's current device by default.

    Raises
    ------
    TypeError, ValueError
        For a priority or a device that does not exist.
    AclError
        If the device has no stream left.

    Notes
    -----
    The device stream lives until this object is closed or dropped *and* every array made on it is gone; its work is
    never cut short.

    Examples
    --------
    >>> import ascend_cy
    >>> with ascend_cy.Stream() as stream:
    ...     x = ascend_cy.zeros(4)
    >>> stream.synchronize()
    """

    def __cinit__(self):
        self.box = NULL

    def __init__(self, priority=0, *, device=None):
        cdef ascend_cy_stream_t *box = NULL
        cdef int32_t index
        cdef uint32_t level
        cdef int code
        priority = as_integer(priority, "priority")
        if not 0 <= priority < STREAM_PRIORITIES:
            raise ValueError(f"priority must be between 0 (highest) and {STREAM_PRIORITIES - 1}, got {priority}")
        if self.box is not NULL:
            raise RuntimeError("the stream is initialised already")
        level = priority
        index = device_index(device)
        with nogil:
            code = ascend_cy_stream_create(index, level, 0, &box)
        check(code)
        self.box = box

    @staticmethod
    def from_handle(handle, *, device=None, owner=None):
        """Wrap a stream that somebody else made.

        Parameters
        ----------
        handle : int
            Address of an ``aclrtStream``; 0 is the default stream of ``device``.
        device : int, optional
            The device it belongs to; the thread's current device by default.
        owner : object, optional
            Kept alive as long as anything here uses the stream.

        Returns
        -------
        Stream
            It never destroys the stream behind it.

        Raises
        ------
        TypeError, ValueError
            For a handle that is no address or a device that does not exist.
        """
        cdef Stream stream
        cdef ascend_cy_stream_t *box = NULL
        cdef void *entry = NULL
        cdef int32_t index
        cdef uintptr_t address
        cdef int code
        handle = as_integer(handle, "handle", "an integer address")
        if not 0 <= handle < 2**64:
            raise ValueError(f"handle must be an address below 2**64, got {handle}")
        address = handle
        index = device_index(device)
        if owner is not None:
            entry = hold_owner(owner)
        with nogil:
            code = ascend_cy_stream_wrap(index, <void *>address, drop_later, entry, &box)
        if code != 0:
            drop_later(entry)
            check(code)
        stream = Stream.__new__(Stream)
        stream.box = box
        return stream

    def __dealloc__(self):
        release_stream(self)

    def close(self):
        """Give the stream up. Idempotent; using the object later raises ValueError.

        The device stream is destroyed once its work has passed and no array made on it is left; this may wait for
        the work, without the GIL. In a callback it never waits: the stream goes at a later call.
        """
        release_stream(self)
        drop_passed()

    @property
    def closed(self):
        """bool: Whether the stream was closed."""
        return self.box is NULL

    @property
    def handle(self):
        """int: Address of the ``aclrtStream``; 0 is a device's default stream."""
        return <uintptr_t>stream_handle(self)

    @property
    def device(self):
        """int: Number of the device that the stream belongs to."""
        return ascend_cy_stream_device(<ascend_cy_stream_t *>stream_box(self))

    def synchronize(self):
        """Wait until all work enqueued so far has passed.

        The GIL is released, and Ctrl-C raises KeyboardInterrupt while the work goes on.

        Raises
        ------
        KernelError
            A kernel enqueued here failed.
        AclError
            Other work failed.
        """
        cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(self)
        cdef int done = 0
        # Where nothing is queued on a healthy stream there is nothing to wait for, and the GIL may be kept.
        if ascend_cy_stream_query(box, &done) != 0 or not done:
            ascend_cy_stream_retain(box)  # close() by another thread must not pull it away
            try:
                with nogil:
                    wait_stream(box)
            finally:
                with nogil:
                    ascend_cy_stream_release(box)
        drop_passed()

    def query(self):
        """Whether all work enqueued so far has passed; never waits.

        Returns
        -------
        bool
        """
        cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(self)
        cdef int done = 0
        check(ascend_cy_stream_query(box, &done))
        return bool(done)

    def record(self, Event event=None):
        """Record an event behind the work enqueued so far.

        Parameters
        ----------
        event : Event, optional
            A new one by default.

        Returns
        -------
        Event
        """
        if event is None:
            event = Event(device=self.device)
        event.record(self)
        return event

    def wait(self, other):
        """Let later work here wait, on the device, for an event or for another stream's work so far.

        Parameters
        ----------
        other : Event or Stream

        Raises
        ------
        TypeError
            For anything else.
        """
        cdef ascend_cy_stream_t *box = <ascend_cy_stream_t *>stream_box(self)
        cdef void *that
        cdef int code
        held = wrap_stream(box)  # whatever other threads close meanwhile
        if isinstance(other, Stream):
            that = stream_box(<Stream>other)
            held_too = wrap_stream(that)
            with nogil:
                code = ascend_cy_stream_wait_stream(box, <ascend_cy_stream_t *>that)
        elif isinstance(other, Event):
            that = use_event(<Event>other)
            try:
                with nogil:
                    code = ascend_cy_stream_wait_event(box, <ascend_cy_event_t *>that)
            finally:
                leave_event(<Event>other)
        else:
            raise TypeError(f"other must be an Event or a Stream, got {type(other).__name__}")
        check(code)

    def add_callback(self, function, *args):
        """Call ``function(*args)`` on a thread of the runtime when the work enqueued so far has passed.

        Later work of the stream waits for it. It must not use the device. Waiting there for work that has not passed
        is an AclError, since the work may be queued behind the callback itself, and so is an operator on host memory.
        Streams and arrays may be closed and dropped there. An exception is reported through ``sys.unraisablehook`` and
        harms nothing after it. Callbacks still queued when the interpreter exits are dropped.

        Raises
        ------
        TypeError
            If ``function`` is not callable.
        """
        cdef void *box = stream_box(self)
        cdef int code
        if not callable(function):
            raise TypeError(f"function must be callable, got {type(function).__name__}")
        job = (function, args)
        held = wrap_stream(box)
        Py_INCREF(job)
        with nogil:
            code = ascend_cy_stream_add_host_function(<ascend_cy_stream_t *>box, run_callback, <void *>job)
        if code != 0:
            Py_DECREF(job)
            check(code)

    def future(self, result=None):
        """A future that is done when the work enqueued so far has passed.

        Parameters
        ----------
        result : object, optional
            What the future gives then; kept alive until it does.

        Returns
        -------
        StreamFuture
            A ``concurrent.futures.Future`` that can also be awaited, in any event loop of asyncio. Where the work
            failed, its exception is the KernelError or AclError; so is that of all futures pending on the stream then,
            and :meth:`synchronize` does not raise it again. Cancelling it leaves the work alone.

        Notes
        -----
        Returns at once. A thread of the package waits for the stream, without the GIL.
        """
        from ascend_cy._futures import watch  # knows this module

        stream_box(self)
        return watch(self, result)

    def _share(self):
        """Another Stream object for the same stream: closing this one does not end it."""
        return wrap_stream(stream_box(self))

    def __enter__(self):
        cdef void *box = stream_box(self)
        cdef int32_t device
        cdef int code
        check(ascend_cy_current_device(&device))
        previous = current_stream()
        with nogil:
            code = ascend_cy_set_current_stream(<ascend_cy_stream_t *>box)
        check(code)
        note_entered(self, device, previous)
        return self

    def __exit__(self, *exc_info):
        leave_entered(self)

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return self.box is (<Stream>other).box or (
            self.box is not NULL and (<Stream>other).box is not NULL
            and self.handle == other.handle and self.device == other.device)

    def __hash__(self):
        if self.box is NULL:
            return hash((<uintptr_t>self.last_handle, self.last_device))
        return hash((self.handle, self.device))

    def __reduce__(self):
        raise TypeError("a Stream cannot be pickled: it belongs to this process; make one in the other process")

    def __repr__(self):
        if self.box is NULL:
            return "<Stream closed>"
        if self.handle == 0:
            return f"<Stream default device={self.device}>"
        return f"<Stream 0x{self.handle:x} device={self.device}>"


def current_stream():
    """The calling thread's current stream.

    Returns
    -------
    Stream
        What a ``with stream:`` block set, else the default stream of the thread's device.
    """
    return wrap_stream(stream_box(None))


def default_stream(device=None):
    """The default stream of a device.

    It is an ordinary stream: there is no implicit ordering between it and others.

    Parameters
    ----------
    device : int, optional
        The thread's current device by default.

    Returns
    -------
    Stream
    """
    cdef int32_t index = device_index(device)
    cdef ascend_cy_stream_t *box = ascend_cy_default_stream(index)
    if box is NULL:
        raise_status(ascend_cy_last_code())
    return wrap_stream(box)


# ---- events ----

cdef void *event_box(Event event) except NULL:
    if event.box is NULL:
        raise_closed(False)
    return event.box


cdef void *use_event(Event event) except NULL:
    """The event's box for a call without the GIL; leave_event() must follow."""
    cdef void *box = event_box(event)
    event.users += 1
    return box


cdef void leave_event(Event event) noexcept:
    cdef ascend_cy_event_t *box
    event.users -= 1
    if event.users == 0 and event.parked is not NULL:
        box = <ascend_cy_event_t *>event.parked
        event.parked = NULL
        with nogil:
            ascend_cy_event_release(box)


cdef void release_event(Event event) noexcept:
    cdef ascend_cy_event_t *box = <ascend_cy_event_t *>event.box
    event.box = NULL
    if box is NULL:
        return
    if event.users > 0:
        # Another thread is in a call on it, and gives it back.
        event.parked = box
        return
    if box is not NULL:
        with nogil:
            ascend_cy_event_release(box)


cdef class Event:
    """A point in a stream's work: to wait for, to order other streams by, and to take times between.

    Parameters
    ----------
    timing : bool, default True
        Whether :meth:`elapsed_time` may be asked.
    device : int, optional
        Device number; the thread's current device by default.

    Examples
    --------
    >>> import ascend_cy
    >>> start, end = ascend_cy.Event(), ascend_cy.Event()
    >>> start.record(); x = ascend_cy.zeros((64, 64)); end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0
    True
    """

    def __cinit__(self):
        self.box = NULL

    def __init__(self, *, timing=True, device=None):
        cdef ascend_cy_event_t *box = NULL
        cdef int32_t index = device_index(device)
        cdef uint32_t flags = ACL_EVENT_SYNC | (ACL_EVENT_TIME_LINE if timing else 0)
        cdef int code
        if self.box is not NULL:
            raise RuntimeError("the event is initialised already")
        with nogil:
            code = ascend_cy_event_create(index, flags, &box)
        check(code)
        self.box = box

    def __dealloc__(self):
        release_event(self)

    def close(self):
        """Give the event up. Idempotent, never waits; using the object later raises ValueError."""
        release_event(self)

    @property
    def closed(self):
        """bool: Whether the event was closed."""
        return self.box is NULL

    @property
    def handle(self):
        """int: Address of the ``aclrtEvent``."""
        return <uintptr_t>ascend_cy_event_handle(<ascend_cy_event_t *>event_box(self))

    def record(self, Stream stream=None):
        """Record the event behind the work enqueued on a stream so far; returns at once.

        Parameters
        ----------
        stream : Stream, optional
            The thread's current stream by default.
        """
        cdef void *that = stream_box(stream)
        cdef void *box = use_event(self)
        cdef int code
        try:
            held = wrap_stream(that)
            with nogil:
                code = ascend_cy_event_record(<ascend_cy_event_t *>box, <ascend_cy_stream_t *>that)
            check(code)
        finally:
            leave_event(self)

    def query(self):
        """Whether the latest record has passed; never waits. An event that was never recorded has passed.

        Returns
        -------
        bool
        """
        cdef void *box = event_box(self)
        cdef int done = 0
        check(ascend_cy_event_query(<ascend_cy_event_t *>box, &done))
        return bool(done)

    def synchronize(self):
        """Wait until the latest record has passed, without the GIL; Ctrl-C raises KeyboardInterrupt."""
        cdef void *box = use_event(self)
        try:
            with nogil:
                wait_event(<ascend_cy_event_t *>box)
        finally:
            leave_event(self)
        drop_passed()

    def elapsed_time(self, Event end not None):
        """Device time from this event to ``end``.

        Parameters
        ----------
        end : Event

        Returns
        -------
        float
            Milliseconds.

        Raises
        ------
        ValueError
            If one was never recorded.
        AclError
            If one has not finished, or was made without timing; the message says which.
        """
        cdef void *box = event_box(self)
        cdef void *that = event_box(end)
        cdef float ms = 0
        if not ascend_cy_event_recorded(<ascend_cy_event_t *>box):
            raise ValueError("the start event was not recorded: call its record() before the work")
        if not ascend_cy_event_recorded(<ascend_cy_event_t *>that):
            raise ValueError("the end event was not recorded: call its record() behind the work")
        check(ascend_cy_event_elapsed_ms(<ascend_cy_event_t *>box, <ascend_cy_event_t *>that, &ms))
        return ms

    def __reduce__(self):
        raise TypeError("an Event cannot be pickled: it belongs to this process; make one in the other process")

    def __repr__(self):
        if self.box is NULL:
            return "<Event closed>"
        return f"<Event 0x{self.handle:x}>"
