"""Device arrays: memory of the device with a shape and a data type."""

cimport numpy as cnp
from cpython.buffer cimport (PyBUF_ANY_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_F_CONTIGUOUS, PyBUF_FORMAT, PyBUF_ND,
                             PyBUF_STRIDES, PyBUF_WRITABLE, PyObject_CheckBuffer)
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ascend_cy cimport _acl
from ascend_cy._dtypes cimport (ACL_BF16, NO_CODE, code_of, dtype_of, itemsize_of, name_of, parse_dtype)
from ascend_cy._host cimport *
from ascend_cy._shape cimport (MAX_DIMS, checked_nbytes, contiguous_strides, count_elements, extent, is_contiguous,
                               parse_index, parse_new_shape, parse_shape, sides)
from ascend_cy._pool cimport wrap_pool
from ascend_cy._status cimport check, check_acl, create_buffer, wait_stream
from ascend_cy._stream cimport Stream, drop_passed, keep_until_passed, stream_box, wrap_stream
from ascend_cy._transfer cimport copy_strided, fill_elements, is_pinned

import copy
import numbers
import operator
import sys
import threading

import numpy as np

cnp.import_array()

cdef enum:
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2


# ---- basics ----

cdef bint is_unified() except -1:
    """Whether host pointers are device pointers; loads the device library."""
    cdef const ascend_cy_device_info_t *info
    with nogil:
        info = ascend_cy_device_info()
    if info.error != 0:
        check(ascend_cy_init())
    return info.unified != 0


cdef int raise_closed() except -1 nogil:
    with gil:
        raise ValueError("the DeviceArray is closed")


cdef inline int check_open(DeviceArray array) except -1 nogil:
    if array.buffer is NULL:
        return raise_closed()
    return 0


cdef void *array_data(DeviceArray array) except? NULL nogil:
    check_open(array)
    return array.data


cdef int array_dtype_code(DeviceArray array) noexcept nogil:
    return array.code


cdef int array_ndim(DeviceArray array) noexcept nogil:
    return array.rank


cdef const Py_ssize_t *array_shape(DeviceArray array) noexcept nogil:
    return array.dims


cdef const Py_ssize_t *array_strides(DeviceArray array) noexcept nogil:
    return array.dims + array.rank


cdef int array_record_stream(DeviceArray array, Stream stream) except -1 nogil:
    check_open(array)
    cdef void *box = stream_box(stream)
    return check(ascend_cy_buffer_record_stream(<ascend_cy_buffer_t *>array.buffer, <ascend_cy_stream_t *>box))


cdef int array_order_stream(DeviceArray array, bint writing, Stream stream) except -1 nogil:
    check_open(array)
    cdef void *box = stream_box(stream)
    cdef int32_t home = ascend_cy_stream_device(<ascend_cy_stream_t *>array.home)
    cdef int32_t device = ascend_cy_stream_device(<ascend_cy_stream_t *>box)
    if writing and array.readonly:
        with gil:
            raise ValueError("array is read-only")
    if home != device:
        with gil:
            raise ValueError(f"array is on device {home}, but the stream is of device {device}")
    return use_on(array, writing, box)


cdef DeviceArray bare_array(int rank, int code):
    """An array object without memory, shape or strides."""
    cdef DeviceArray array = DeviceArray.__new__(DeviceArray)
    if rank > INLINE_DIMS:
        array.dims = <Py_ssize_t *>malloc(2 * rank * sizeof(Py_ssize_t))
        if array.dims is NULL:
            array.dims = array.few_dims
            raise MemoryError("no memory for the shape of an array")
    array.rank = rank
    array.code = code
    return array


cdef void set_contiguous_strides(DeviceArray array) noexcept:
    contiguous_strides(array.rank, array.dims, itemsize_of(array.code), array.dims + array.rank)
    array.contiguous = True


cdef void note_contiguity(DeviceArray array) noexcept:
    array.contiguous = is_contiguous(array.rank, array.dims, array.dims + array.rank, itemsize_of(array.code))


cdef DeviceArray new_array(int rank, const Py_ssize_t *shape, int code, void *box):
    """A new contiguous array with undefined contents, allocated on stream `box`."""
    cdef Py_ssize_t nbytes = checked_nbytes(rank, shape, itemsize_of(code))
    cdef DeviceArray array = bare_array(rank, code)
    cdef ascend_cy_buffer_t *buffer = NULL
    memcpy(array.dims, shape, rank * sizeof(Py_ssize_t))
    set_contiguous_strides(array)
    if not ascend_cy_buffer_try_create(nbytes, <ascend_cy_stream_t *>box, &buffer):
        # It may wait for work, which may be waiting for the GIL.
        held = wrap_stream(box)
        with nogil:
            create_buffer(nbytes, <ascend_cy_stream_t *>box, &buffer)
    array.buffer = buffer
    array.home = box
    array.data = <char *>ascend_cy_buffer_pointer(buffer)
    return array


cdef DeviceArray array_within(DeviceArray block, Py_ssize_t offset, int rank, const Py_ssize_t *shape, int code):
    cdef DeviceArray array = new_view(block, rank, code)
    memcpy(array.dims, shape, rank * sizeof(Py_ssize_t))
    set_contiguous_strides(array)
    array.base_array = None
    if count_elements(rank, shape) > 0:
        array.data = block.data + offset
    return array


cdef DeviceArray adopt_memory(void *data, int rank, const Py_ssize_t *dims, int code, bint readonly,
                              void (*give_back)(void *) noexcept nogil, void *managed, object owner, void *box):
    cdef DeviceArray array = bare_array(rank, code)
    cdef ascend_cy_buffer_t *buffer = NULL
    cdef char *low
    cdef char *high
    memcpy(array.dims, dims, 2 * rank * sizeof(Py_ssize_t))
    note_contiguity(array)
    extent(<char *>data, rank, dims, dims + rank, itemsize_of(code), &low, &high)
    check(ascend_cy_buffer_wrap(low, high - low, <ascend_cy_stream_t *>box, give_back, managed, &buffer))
    array.buffer = buffer
    array.home = box
    array.data = <char *>data
    array.readonly = readonly
    array.base_array = owner
    array.foreign = True
    return array


cdef const Py_ssize_t *element_strides(DeviceArray array) except? NULL:
    cdef int axis
    if array.steps is NULL and array.rank > 0:
        array.steps = <Py_ssize_t *>malloc(array.rank * sizeof(Py_ssize_t))
        if array.steps is NULL:
            raise MemoryError("no memory for the strides of an array")
        for axis in range(array.rank):
            array.steps[axis] = array.dims[array.rank + axis] // itemsize_of(array.code)
    return array.steps


cdef DeviceArray new_view(DeviceArray base, int rank, int code):
    """A view of the same memory, its shape and strides still to be filled."""
    cdef DeviceArray array
    check_open(base)
    array = bare_array(rank, code)
    ascend_cy_buffer_retain(<ascend_cy_buffer_t *>base.buffer)
    array.buffer = base.buffer
    array.home = base.home
    array.data = base.data
    array.readonly = base.readonly
    array.foreign = base.foreign
    array.base_array = base if base.base_array is None else base.base_array
    return array


# ---- copies ----

cdef int use_on(DeviceArray array, bint writing, void *box) except -1 nogil:
    cdef ascend_cy_buffer_t *buffer = <ascend_cy_buffer_t *>array.buffer
    return check(ascend_cy_buffers_order(&buffer, 0 if writing else 1, 1, <ascend_cy_stream_t *>box))


cdef int used_on(DeviceArray array, bint writing, void *box) except -1 nogil:
    cdef ascend_cy_buffer_t *buffer = <ascend_cy_buffer_t *>array.buffer
    return check(ascend_cy_buffers_record(&buffer, 0 if writing else 1, 1, <ascend_cy_stream_t *>box))


cdef DeviceArray pin(DeviceArray array):
    """A view that holds the memory while the GIL is released, whatever other threads close meanwhile."""
    cdef DeviceArray held = new_view(array, array.rank, array.code)
    memcpy(held.dims, array.dims, 2 * array.rank * sizeof(Py_ssize_t))
    held.contiguous = array.contiguous
    return held


cdef bint overlap_in_part(DeviceArray a, DeviceArray b) noexcept:
    """Whether the arrays share memory in another way than being the same view."""
    cdef char *a_low
    cdef char *a_high
    cdef char *b_low
    cdef char *b_high
    cdef int i
    if a.buffer is not b.buffer and a.base_array is None and b.base_array is None:
        return False
    extent(a.data, a.rank, a.dims, a.dims + a.rank, itemsize_of(a.code), &a_low, &a_high)
    extent(b.data, b.rank, b.dims, b.dims + b.rank, itemsize_of(b.code), &b_low, &b_high)
    if a_low >= b_high or b_low >= a_high:
        return False
    if a.data is not b.data:
        return True
    for i in range(a.rank):
        if a.dims[a.rank + i] != b.dims[b.rank + i] and a.dims[i] > 1:
            return True
    return False


cdef int copy_device(DeviceArray target, DeviceArray source, void *box) except -1:
    """Enqueue target[...] = source; same shape and dtype. Overlapping views work as if there were no overlap."""
    cdef void *handle = ascend_cy_stream_handle(<ascend_cy_stream_t *>box)
    cdef void *previous
    cdef void *range
    held = wrap_stream(box)  # whatever other threads close meanwhile
    if overlap_in_part(target, source):
        packed = new_array(source.rank, source.dims, source.code, box)
        copy_device(packed, source, box)
        source = packed
    target = pin(target)
    source = pin(source)
    with nogil:
        use_on(target, True, box)
        use_on(source, False, box)
        check(ascend_cy_stream_enter(<ascend_cy_stream_t *>box, &previous))
        range = ascend_cy_range_begin(b"copy", <ascend_cy_stream_t *>box)
        try:
            copy_strided(handle, target.data, target.dims + target.rank, source.data, source.dims + source.rank,
                         target.dims, target.rank, itemsize_of(target.code))
        finally:
            ascend_cy_range_end(range)
            ascend_cy_stream_leave(previous)
            # Also where it failed half-way: what was enqueued uses both.
            used_on(source, False, box)
            used_on(target, True, box)
    return 0


cdef int copy_host(void *dst, const void *src, Py_ssize_t nbytes, int kind, bint pinned, void *box) except -1 nogil:
    """Enqueue a copy from or to host memory."""
    cdef void *previous
    cdef void *range
    if not pinned:
        # The copy would wait for the stream by itself, but not answer Ctrl-C.
        wait_stream(<ascend_cy_stream_t *>box)
    check(ascend_cy_stream_enter(<ascend_cy_stream_t *>box, &previous))
    range = ascend_cy_range_begin(b"copy to device" if kind == HOST_TO_DEVICE else b"copy to host",
                                  <ascend_cy_stream_t *>box)
    try:
        return check_acl(_acl.aclrtMemcpyAsync(dst, nbytes, src, nbytes, <_acl.aclrtMemcpyKind>kind,
                                               ascend_cy_stream_handle(<ascend_cy_stream_t *>box)),
                         b"aclrtMemcpyAsync")
    finally:
        ascend_cy_range_end(range)
        ascend_cy_stream_leave(previous)


cdef int upload(DeviceArray target, object source, void *box) except -1:
    """target[...] = source, a contiguous native ndarray of the same shape and dtype.

    Returns once `source` may be changed, except where it is pinned: then the copy is only enqueued, and `source` is
    kept until it has passed.
    """
    cdef DeviceArray staged = target
    cdef Py_ssize_t nbytes = target.nbytes_()
    cdef char *data = <char *>cnp.PyArray_DATA(<cnp.ndarray>source)
    cdef bint pinned = False
    if nbytes == 0:
        return 0
    held = wrap_stream(box)
    if not target.contiguous:
        staged = new_array(target.rank, target.dims, target.code, box)
    else:
        staged = target = pin(target)
    with nogil:
        pinned = is_pinned(data)
        use_on(staged, True, box)
        copy_host(staged.data, data, nbytes, HOST_TO_DEVICE, pinned, box)
        used_on(staged, True, box)
    if pinned:
        keep_until_passed(box, source)
    if staged is not target:
        copy_device(target, staged, box)
    return 0


cdef int download(DeviceArray source, object target, void *box) except -1:
    """target[...] = source, into a contiguous writable native ndarray; returns when it is there."""
    cdef DeviceArray staged = source
    cdef Py_ssize_t nbytes = source.nbytes_()
    cdef char *data = <char *>cnp.PyArray_DATA(<cnp.ndarray>target)
    if nbytes == 0:
        return 0
    held = wrap_stream(box)
    if not source.contiguous:
        staged = new_array(source.rank, source.dims, source.code, box)
        copy_device(staged, source, box)
    else:
        staged = pin(source)
    with nogil:
        use_on(staged, False, box)
        copy_host(data, staged.data, nbytes, DEVICE_TO_HOST, is_pinned(data), box)
        used_on(staged, False, box)
    try:
        with nogil:
            wait_stream(<ascend_cy_stream_t *>box)
    except BaseException:
        # Interrupted: the copy may still write into the target.
        keep_until_passed(box, target)
        raise
    drop_passed()
    return 0


cdef object as_host(object source, str name):
    """A native ndarray over `source`, which may be anything NumPy takes; refuses what would lose meaning."""
    if isinstance(source, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array: the mask would be lost; use .filled()")
    array = source if isinstance(source, np.ndarray) else np.asarray(source)
    if code_of((<cnp.ndarray>array).descr) == NO_CODE:
        raise TypeError(f"{name} must have a dtype that devices have, got {array.dtype}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


cdef object as_writable(object target, str name):
    """The ndarray that shares the memory of `target`."""
    if isinstance(target, np.ndarray):
        return target
    if isinstance(target, DeviceArray):
        raise TypeError(f"{name} must be in host memory, got a DeviceArray: use copy_to()")
    if not PyObject_CheckBuffer(target):
        raise TypeError(f"{name} must be a numpy.ndarray or a writable buffer, got {type(target).__name__}")
    return np.asarray(memoryview(target))  # a view of bytes too, which are text to NumPy


cdef object copy_into(DeviceArray array, object host, str name, void *box):
    """Copy the elements into an ndarray; `name` is the argument that gave it."""
    cdef int code = code_of((<cnp.ndarray>host).descr)
    if not host.dtype.isnative:
        raise TypeError(f"{name} must be in native byte order, got {host.dtype.str}")
    if not host.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if code == NO_CODE:
        raise TypeError(f"{name} must have dtype {name_of(array.code)}, got {host.dtype}")
    check_same(array, code, host.shape, name)
    if host.flags.c_contiguous:
        download(array, host, box)
    else:
        staged = np.empty(array.shape, host.dtype)
        download(array, staged, box)
        host[...] = staged
    return host


# ---- the array ----

cdef class DeviceArray:
    """An array in device memory.

    ``DeviceArray(shape, dtype)`` allocates contiguous memory with undefined contents on a stream, without waiting;
    see also :func:`empty`, :func:`zeros`, :func:`asarray`. Slices are views that share the memory.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : data type, default float32
        float16, bfloat16 (with ml_dtypes), float32, float64, the integers of 8 to 64 bits, bool.
    stream : Stream, optional
        Where it is allocated, and where its memory is given back: reuse of the memory is ordered behind the work
        enqueued there. The thread's current stream by default.

    Raises
    ------
    TypeError, ValueError
        For a shape or a dtype that cannot be.
    DeviceMemoryError
        If the device has no memory left.

    Examples
    --------
    >>> import numpy as np, ascend_cy
    >>> x = ascend_cy.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    >>> x[:, ::-1].to_numpy()
    array([[2., 1., 0.],
           [5., 4., 3.]], dtype=float32)
    """

    __array_ufunc__ = None  # mixing with ndarrays in expressions is an error, not a silent copy

    def __cinit__(self):
        self.dims = self.few_dims

    def __init__(self, shape, dtype="float32", *, Stream stream=None):
        cdef Py_ssize_t[MAX_DIMS] dims
        cdef ascend_cy_buffer_t *buffer = NULL
        cdef int code, rank
        cdef DeviceArray made
        if self.home is not NULL:  # closed or not
            raise RuntimeError("the DeviceArray is initialised already")
        parse_dtype(dtype, &code)
        rank = parse_shape(shape, dims)
        made = new_array(rank, dims, code, stream_box(stream))
        take_over(self, made)

    def __dealloc__(self):
        if self.buffer is not NULL:
            release_buffer(self)
        if self.dims is not self.few_dims:
            free(self.dims)
        free(self.steps)

    cdef Py_ssize_t nbytes_(self) noexcept nogil:
        return count_elements(self.rank, self.dims) * itemsize_of(self.code)

    # -- what it is --

    @property
    def shape(self):
        """tuple of int: Length of each axis."""
        return sides(self.dims, self.rank)

    @property
    def strides(self):
        """tuple of int: Bytes from one element to the next along each axis."""
        return sides(self.dims + self.rank, self.rank)

    @property
    def ndim(self):
        """int: Number of axes."""
        return self.rank

    @property
    def size(self):
        """int: Number of elements."""
        return count_elements(self.rank, self.dims)

    @property
    def itemsize(self):
        """int: Bytes of one element."""
        return itemsize_of(self.code)

    @property
    def nbytes(self):
        """int: Bytes of all elements."""
        return self.nbytes_()

    @property
    def dtype(self):
        """numpy.dtype: Data type of the elements."""
        return dtype_of(self.code)

    @property
    def ptr(self):
        """int: Device address of the first element."""
        return <uintptr_t>array_data(self)

    @property
    def device(self):
        """int: Number of the device that holds the memory."""
        check_open(self)
        return ascend_cy_stream_device(<ascend_cy_stream_t *>self.home)

    @property
    def stream(self):
        """Stream: The stream it was allocated on, behind whose work the memory is given back."""
        check_open(self)
        return wrap_stream(self.home)

    @property
    def pool(self):
        """MemoryPool: The pool that its memory goes back to; memory of other makers counts to the default one."""
        check_open(self)
        return wrap_pool(ascend_cy_buffer_pool(<ascend_cy_buffer_t *>self.buffer))

    @property
    def base(self):
        """object: The array that this is a view of, the owner of foreign memory, or None."""
        return self.base_array

    @property
    def flags(self):
        """dict: ``c_contiguous``, ``writeable`` and ``owndata`` (False for views and for memory of other makers)."""
        return {"c_contiguous": bool(self.contiguous), "writeable": not self.readonly,
                "owndata": self.base_array is None and not self.foreign}

    @property
    def closed(self):
        """bool: Whether the array was closed."""
        return self.buffer is NULL

    @property
    def T(self):
        """DeviceArray: A view with the axes in reverse order."""
        cdef DeviceArray view = new_view(self, self.rank, self.code)
        cdef int axis
        for axis in range(self.rank):
            view.dims[axis] = self.dims[self.rank - 1 - axis]
            view.dims[self.rank + axis] = self.dims[2 * self.rank - 1 - axis]
        note_contiguity(view)
        return view

    def __len__(self):
        if self.rank == 0:
            raise TypeError("len() of an array without axes")
        return self.dims[0]

    def __iter__(self):
        if self.rank == 0:
            raise TypeError("iteration over an array without axes")
        check_open(self)
        return (self[i] for i in range(self.dims[0]))

    # Numbers, where there is one element: they wait for it, as item() does.

    def __bool__(self):
        if count_elements(self.rank, self.dims) != 1:
            raise ValueError(f"the truth of an array of shape {self.shape} is ambiguous: use to_numpy() with any() or all()")
        return bool(only_element(self, "a bool"))

    def __int__(self):
        return int(only_element(self, "an int"))

    def __float__(self):
        return float(only_element(self, "a float"))

    def __complex__(self):
        return complex(only_element(self, "a complex"))

    def __index__(self):
        if self.rank != 0 or dtype_of(self.code).kind not in "iu":
            raise TypeError("only integer arrays without axes can be used as an index, got shape "
                            f"{self.shape} and dtype {name_of(self.code)}")
        return int(only_element(self, "an index"))

    def __repr__(self):
        if self.buffer is NULL:
            return f"<DeviceArray closed shape={self.shape} dtype={name_of(self.code)}>"
        return (f"<DeviceArray shape={self.shape} dtype={name_of(self.code)} device={self.device} "
                f"ptr=0x{self.ptr:x}{'' if self.contiguous else f' strides={self.strides}'}>")

    def __reduce__(self):
        raise TypeError("a DeviceArray cannot be pickled: its memory belongs to this process; send to_numpy()")

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    # -- views --

    def __getitem__(self, key):
        return index_view(self, key)

    def __setitem__(self, key, value):
        cdef DeviceArray target = index_view(self, key)
        if np.isscalar(value) or (isinstance(value, np.ndarray) and value.ndim == 0):
            target.fill(value)
        else:
            target.copy_from(value)

    def reshape(self, *shape):
        """The same elements in C order under another shape.

        Parameters
        ----------
        *shape : int or one sequence of int
            One side may be -1.

        Returns
        -------
        DeviceArray
            A view where the array is contiguous, else a contiguous copy, enqueued on the current stream.

        Raises
        ------
        ValueError
            If the number of elements differs.
        """
        cdef Py_ssize_t[MAX_DIMS] dims
        cdef DeviceArray source = self
        cdef DeviceArray view
        cdef int rank
        check_open(self)
        rank = parse_new_shape(shape, self.size, self.shape, itemsize_of(self.code), dims)
        if not self.contiguous:
            source = self.copy()
        view = new_view(source, rank, self.code)
        memcpy(view.dims, dims, rank * sizeof(Py_ssize_t))
        set_contiguous_strides(view)
        return view

    def view(self, dtype):
        """The same memory under another data type.

        Parameters
        ----------
        dtype : data type
            Where its size differs, the last axis must be contiguous and is scaled.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError, ValueError
            For a dtype that is unknown or does not divide the last axis.
        """
        cdef int code
        cdef int old = itemsize_of(self.code)
        cdef int new
        cdef DeviceArray view
        parse_dtype(dtype, &code)
        new = itemsize_of(code)
        view = new_view(self, self.rank, code)
        memcpy(view.dims, self.dims, 2 * self.rank * sizeof(Py_ssize_t))
        if new != old:
            if self.rank == 0 or self.dims[2 * self.rank - 1] != old:
                raise ValueError(f"a view as {name_of(code)} needs a contiguous last axis of "
                                 f"{name_of(self.code)} elements")
            if self.dims[self.rank - 1] * old % new:
                raise ValueError(f"dtype {name_of(code)} does not divide the last axis: "
                                 f"{self.dims[self.rank - 1]} elements of {old} bytes")
            view.dims[self.rank - 1] = self.dims[self.rank - 1] * old // new
            view.dims[2 * self.rank - 1] = new
        note_contiguity(view)
        return view

    # -- copies --

    def copy_from(self, source, Stream stream=None):
        """Overwrite the elements with those of ``source``.

        Parameters
        ----------
        source : DeviceArray, numpy.ndarray or buffer, of the same shape and dtype
            Any strides; host data in foreign byte order is converted.
        stream : Stream, optional
            The thread's current stream by default. It is ordered behind the array's earlier users.

        Raises
        ------
        TypeError
            If the dtype differs; nothing is converted silently.
        ValueError
            If the shape differs, or the array is closed or read-only.

        Notes
        -----
        From another DeviceArray and from pinned memory the copy is only enqueued (pinned memory is kept alive and must
        not be changed until it has passed); from ordinary host memory it waits until the source may be changed.
        """
        cdef void *box
        check_open(self)
        if self.readonly:
            raise ValueError("the DeviceArray is read-only")
        box = stream_box(stream)
        if isinstance(source, DeviceArray):
            check_open(<DeviceArray>source)
            check_same(self, (<DeviceArray>source).code, (<DeviceArray>source).shape)
            copy_device(self, <DeviceArray>source, box)
            return
        held = wrap_stream(box)  # the source's own code may close anything
        host = as_host(source, "source")
        check_same(self, code_of((<cnp.ndarray>host).descr), host.shape)
        upload(self, np.ascontiguousarray(host), box)

    def copy_to(self, target, Stream stream=None):
        """Copy the elements into ``target``.

        Parameters
        ----------
        target : DeviceArray, numpy.ndarray or writable buffer, of the same shape and dtype
        stream : Stream, optional
            The thread's current stream by default. It is ordered behind the array's earlier users.

        Raises
        ------
        TypeError, ValueError
            As for :meth:`copy_from`.

        Notes
        -----
        Into another DeviceArray the copy is only enqueued; into host memory it waits until the data is there.
        """
        if isinstance(target, DeviceArray):
            target.copy_from(self, stream)
            return
        check_open(self)
        copy_into(self, as_writable(target, "target"), "target", stream_box(stream))

    def to_numpy(self, *, out=None, Stream stream=None):
        """The elements as a NumPy array in host memory; waits until they are there.

        Parameters
        ----------
        out : numpy.ndarray or writable buffer, optional
            Same shape and dtype; a new array by default.
        stream : Stream, optional
            The thread's current stream by default. It is ordered behind the array's earlier users.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        TypeError, ValueError
            If ``out`` does not match or is read-only.
        KernelError, AclError
            If work enqueued before failed.
        """
        check_open(self)
        if out is None:
            result = np.empty(self.shape, dtype_of(self.code))
            download(self, result, stream_box(stream))
            return result
        return copy_into(self, as_writable(out, "out"), "out", stream_box(stream))

    def copy(self, Stream stream=None):
        """A contiguous copy in device memory, enqueued on ``stream`` (the thread's current one by default).

        Returns
        -------
        DeviceArray
        """
        cdef DeviceArray result
        cdef void *box
        check_open(self)
        box = stream_box(stream)
        result = new_array(self.rank, self.dims, self.code, box)
        copy_device(result, self, box)
        return result

    def fill(self, value, Stream stream=None):
        """Set every element to ``value``; enqueued, returns before the work is done.

        Parameters
        ----------
        value : number
            Python's, NumPy's or an array without axes. For an integer dtype it must be a whole number (2.0 is one) in the
            range of the dtype.
        stream : Stream, optional
            The thread's current stream by default.

        Raises
        ------
        TypeError, ValueError, OverflowError
            If the value is no number or does not fit the dtype.
        """
        cdef void *box
        check_open(self)
        if self.readonly:
            raise ValueError("the DeviceArray is read-only")
        box = stream_box(stream)
        fill_array(self, element_of(value, self.code, "value"), box)

    def astype(self, dtype, Stream stream=None):
        """A copy converted to another data type.

        The conversion runs on the host by NumPy's rules, so the call waits for the data.

        Parameters
        ----------
        dtype : data type
        stream : Stream, optional
            The thread's current stream by default.

        Returns
        -------
        DeviceArray
        """
        cdef DeviceArray result
        cdef int code
        cdef void *box
        check_open(self)
        box = stream_box(stream)
        descr = parse_dtype(dtype, &code)
        if code == self.code:
            return self.copy(stream)
        held = wrap_stream(box)
        host = self.to_numpy(stream=stream).astype(descr)
        result = new_array(self.rank, self.dims, code, box)
        upload(result, host, box)
        return result

    def item(self):
        """The only element as a Python scalar; waits for it."""
        return self.to_numpy().item()

    def record_stream(self, Stream stream):
        """Say that work on ``stream`` uses the array; call it after that work was enqueued.

        Needed only where code that is not ascend_cy's used :attr:`ptr`: the memory is then not reused before that
        stream has passed.
        """
        array_record_stream(self, stream)

    def close(self):
        """Give the memory up, ordered behind the work enqueued so far. Idempotent; later use raises ValueError.

        Views keep the memory until they are gone too.

        Raises
        ------
        BufferError
            While a memoryview or an ndarray shares the memory.
        """
        if self.exports > 0:
            raise BufferError("the DeviceArray cannot be closed while a memoryview or an ndarray shares its memory")
        if self.buffer is not NULL:
            release_buffer(self)
        drop_passed()

    def __enter__(self):
        check_open(self)
        return self

    def __exit__(self, *exc_info):
        self.close()

    # -- sharing with the host --

    def __getbuffer__(self, Py_buffer *view, int flags):
        fill_buffer(self, view, flags)

    def __releasebuffer__(self, Py_buffer *view):
        self.exports -= 1
        # An array that was dropped is still held by the view; nothing else to do.

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule over the memory.

        Parameters
        ----------
        stream : int, optional
            The consumer's: None is the default stream, -1 asks for no ordering, another integer is the address of an
            ``aclrtStream`` (0 is accepted as the default stream). On unified memory the export waits for the array's work
            instead, and only None and -1 are accepted.
        max_version : tuple of int, optional
            The consumer's DLPack version; without it a legacy capsule is made.
        dl_device : tuple of int, optional
            The array's own device, or (1, 0) to get a copy in host memory.
        copy : bool, optional
            True makes a copy; False and None share the memory.

        Raises
        ------
        BufferError
            If the memory cannot be shared as asked.
        """
        return _dlpack_module().export_array(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self):
        """tuple of int: DLPack device type and number; (1, 0), the CPU, on unified memory."""
        return _dlpack_module().export_device(self)

    @property
    def __array_interface__(self):
        """dict: NumPy's array interface, on unified memory only; waits for the array's work."""
        check_open(self)
        raise_lost(False)
        if not is_unified() or self.code == ACL_BF16:
            raise AttributeError("device memory is not host memory here: use to_numpy()")
        wait_for_users(self)
        return {"version": 3, "shape": self.shape, "typestr": dtype_of(self.code).str, "strides": self.strides,
                "data": (self.ptr, bool(self.readonly))}

    def __array__(self, dtype=None, copy=None):
        raise_lost(True)
        check_open(self)
        if not is_unified():
            raise TypeError("a DeviceArray is not copied to the host silently: use to_numpy()")
        if copy or (dtype is not None and np.dtype(dtype) != dtype_of(self.code)):
            if copy is False:
                raise ValueError("a conversion needs a copy")
            host = self.to_numpy()
            return host if dtype is None else host.astype(dtype, copy=False)
        return share_memory(self)


def _dlpack_module():
    # Not at the top: that module knows this one.
    from ascend_cy import _dlpack

    return _dlpack


cdef void take_over(DeviceArray array, DeviceArray made) noexcept:
    """Move everything from `made`, which is given up, into the empty `array`."""
    array.buffer = made.buffer
    array.home = made.home
    array.data = made.data
    array.rank = made.rank
    array.code = made.code
    array.contiguous = made.contiguous
    array.foreign = made.foreign
    if made.dims is made.few_dims:
        memcpy(array.few_dims, made.few_dims, sizeof(made.few_dims))
    else:
        array.dims = made.dims
        made.dims = made.few_dims
    made.buffer = NULL
    made.rank = 0


cdef void release_buffer(DeviceArray array) noexcept:
    cdef ascend_cy_buffer_t *buffer = <ascend_cy_buffer_t *>array.buffer
    array.buffer = NULL
    array.data = NULL
    # With other streams to tell it may have to wait for work, which may be a callback that wants the GIL.
    if ascend_cy_device_info().unified and not ascend_cy_buffer_is_shared(buffer):
        ascend_cy_buffer_release(buffer)
    else:
        with nogil:
            ascend_cy_buffer_release(buffer)


cdef int check_same(DeviceArray array, int code, tuple shape, str name="source") except -1:
    if code != array.code:
        raise TypeError(f"{name} must have dtype {name_of(array.code)}, got {name_of(code)}")
    if shape != array.shape:
        raise ValueError(f"{name} must have shape {array.shape}, got {shape}")
    return 0


cdef DeviceArray index_view(DeviceArray array, object key):
    cdef Py_ssize_t[MAX_DIMS] shape
    cdef Py_ssize_t[MAX_DIMS] strides
    cdef Py_ssize_t offset
    cdef DeviceArray view
    check_open(array)
    cdef int rank = parse_index(key, array.rank, array.dims, shape, strides, &offset)
    view = new_view(array, rank, array.code)
    memcpy(view.dims, shape, rank * sizeof(Py_ssize_t))
    memcpy(view.dims + rank, strides, rank * sizeof(Py_ssize_t))
    note_contiguity(view)
    if count_elements(rank, shape) > 0:
        view.data = array.data + offset
    return view


cdef object only_element(DeviceArray array, str what):
    if count_elements(array.rank, array.dims) != 1:
        raise TypeError(f"only an array of one element can be converted to {what}, got shape {array.shape}")
    return array.to_numpy().reshape(())[()]


cdef object whole_number(object value, int code, str name):
    """`value` for an integer dtype: nothing is cut off silently."""
    try:
        return int(value) if isinstance(value, np.bool_) else operator.index(value)  # as an index that one is deprecated
    except TypeError:  # no integer by its type, but perhaps by its value
        pass
    try:
        number = int(value)
    except (ValueError, OverflowError) as error:
        raise type(error)(f"{name} must be finite for dtype {name_of(code)}, got {value!r}") from None
    if number != (value if isinstance(value, numbers.Number) else float(value)):
        raise ValueError(f"{name} must be a whole number for dtype {name_of(code)}, got {value!r}")
    return number


cdef object element_of(object value, int code, str name):
    descr = dtype_of(code)
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise TypeError(f"{name} must be a number, got an array of shape {value.shape}: use copy_from()")
        value = value[()]
    if (value is None or isinstance(value, (str, bytes, DeviceArray))
            or not (hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
                    or isinstance(value, complex))
            or (isinstance(value, np.generic) and value.dtype.kind not in "biufcV")):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    if isinstance(value, (complex, np.complexfloating)) and descr.kind != "b":
        raise TypeError(f"{name} must be a real number for dtype {name_of(code)}, got {value!r}")
    element = np.empty(1, descr)
    if descr.kind in "iu":
        limits = np.iinfo(descr)
        number = whole_number(value, code, name)
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"{name} must be between {limits.min} and {limits.max} for dtype {name_of(code)}, "
                                f"got {number}")
        element[0] = number
    else:
        element[0] = value
    return element


cdef int fill_array(DeviceArray array, object element, void *box) except -1:
    """Enqueue array[...] = element[0]."""
    cdef DeviceArray target = array
    cdef Py_ssize_t nbytes = array.nbytes_()
    cdef const void *data = cnp.PyArray_DATA(<cnp.ndarray>element)
    cdef void *previous
    cdef void *range
    if nbytes == 0:
        return 0
    held = wrap_stream(box)
    if not array.contiguous:
        target = new_array(array.rank, array.dims, array.code, box)
    else:
        target = array = pin(array)
    with nogil:
        use_on(target, True, box)
        check(ascend_cy_stream_enter(<ascend_cy_stream_t *>box, &previous))
        range = ascend_cy_range_begin(b"fill", <ascend_cy_stream_t *>box)
        try:
            fill_elements(<ascend_cy_stream_t *>box, target.data, nbytes, data, itemsize_of(target.code))
        finally:
            ascend_cy_range_end(range)
            ascend_cy_stream_leave(previous)
            used_on(target, True, box)
    if target is not array:
        copy_device(array, target, box)
    return 0


# ---- the buffer protocol, where host and device share memory ----

# numpy.asarray() drops whatever the buffer protocol raises, then asks for __array_interface__ and __array__. An interrupted
# or failed wait must not be lost on that way, so it is raised there again: within the same call of the same Python code.
_dropped = threading.local()


cdef tuple calling_place():
    try:
        frame = sys._getframe()
    except ValueError:  # no Python code in this thread
        return None
    return id(frame), frame.f_lasti


cdef int raise_lost(bint last) except -1:
    error = getattr(_dropped, "error", None)
    if error is None:
        return 0
    if _dropped.place != calling_place():
        _dropped.error = None
        return 0
    if last:
        _dropped.error = None
        raise error
    raise twin(error)


cdef object twin(object error):
    """Another such error: the one that is raised gets a traceback, which holds the frames of whoever handles it."""
    try:
        return copy.copy(error)
    except Exception:
        return error


cdef int note_lost(object error) except -1:
    _dropped.error = twin(error)
    _dropped.place = calling_place()
    return 0

cdef dict _formats = {0: b"f", 1: b"e", 2: b"b", 3: b"i", 4: b"B", 6: b"h", 7: b"H", 8: b"I", 9: b"q", 10: b"Q",
                      11: b"d", 12: b"?"}


cdef int wait_for_users(DeviceArray array) except -1:
    """Wait until the work that uses the array has passed."""
    cdef void *box
    array = pin(array)
    box = array.home
    with nogil:
        # The host may write to shared memory, so readers have to be through as well.
        use_on(array, True, box)
        wait_stream(<ascend_cy_stream_t *>box)
    return 0


cdef int fill_buffer(DeviceArray array, Py_buffer *view, int flags) except -1:
    cdef bint c_order = (
        (flags & PyBUF_STRIDES) != PyBUF_STRIDES
        or (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS
        or (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS)
    view.obj = None
    if getattr(_dropped, "error", None) is not None:
        _dropped.error = None
    if array.buffer is NULL:
        raise BufferError("the DeviceArray is closed")
    if not is_unified():
        raise BufferError("device memory is not host memory here: use to_numpy()")
    if array.code == ACL_BF16:
        raise BufferError("bfloat16 has no buffer format: use np.asarray(), to_numpy() or view('uint16')")
    if flags & PyBUF_WRITABLE and array.readonly:
        raise BufferError("the DeviceArray is read-only")
    if c_order and not array.contiguous:
        raise BufferError("the DeviceArray is not contiguous")
    if (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS and array.rank > 1:
        raise BufferError("the DeviceArray is not contiguous in Fortran order")
    # Counted before the wait, which lets other threads in: close() must find the array in use.
    array.exports += 1
    try:
        wait_for_users(array)
    except BaseException as error:
        array.exports -= 1
        note_lost(error)
        raise
    view.buf = array.data
    view.len = array.nbytes_()
    view.itemsize = itemsize_of(array.code)
    view.readonly = array.readonly
    view.ndim = array.rank
    view.format = <char *><bytes>_formats[array.code] if flags & PyBUF_FORMAT else NULL
    view.shape = array.dims if flags & PyBUF_ND else NULL
    view.strides = array.dims + array.rank if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
    view.suboffsets = NULL
    view.internal = NULL
    view.obj = array
    return 0


cdef object share_memory(DeviceArray array):
    """An ndarray over the same bytes, on unified memory."""
    if array.code != ACL_BF16:
        return np.asarray(memoryview(array))
    # bfloat16 has no buffer format, so its bytes travel as uint16.
    return np.asarray(memoryview(array.view("uint16"))).view(dtype_of(ACL_BF16))
