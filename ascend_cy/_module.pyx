"""The user's kernels: binaries that are loaded, and what is launched from them."""

from cpython.buffer cimport PyObject_CheckBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from ascend_cy._array cimport DeviceArray, is_unified
from ascend_cy._host cimport *
from ascend_cy._intake cimport check_stream, hold, is_array_like, release_held
from ascend_cy._status cimport check, check_signals, text
from ascend_cy._stream cimport Stream, keep_until_passed, stream_box, wrap_stream

import difflib
import hashlib
import math
import os
import struct
import threading
import weakref

import numpy as np

from ascend_cy import _signature

cdef enum:
    # Kinds of parameters, as in _signature.py.
    POINTER = 0
    SIGNED = 1
    UNSIGNED = 2
    FLOAT = 3
    BFLOAT16 = 4
    BOOL = 5
    STRUCT = 6
    INLINE = 7

    MOST_PARAMETERS = 128
    MOST_BYTES = 65536          # of an argument block (AscendCL)
    MOST_PARAMETER_BYTES = 4096
    MOST_INLINE = 16
    MOST_BLOCKS = 65535
    WAIT_SLICE_MS = 100
    ACL_STREAM_SYNC_TIMEOUT = 507046

cdef struct Argument:
    int kind
    int size
    int offset
    bint read_only


# Set while a Module or Kernel is made here: users get theirs from load(), compile() and Module.kernel().
cdef bint making = False


# ---- what is loaded ----

cdef class _Image:
    """One loaded binary. Launches hold it, so that it is unloaded when the last of them has passed."""

    cdef ascend_cy_module_t *handle
    cdef object digest
    cdef object version
    cdef object path

    def __cinit__(self, bytes content, str name, object version, object path):
        cdef const char *data = content
        cdef size_t size = len(content)
        cdef bytes shown = name.encode("utf-8", "surrogateescape")
        cdef const char *label = shown
        cdef int code
        self.digest = hashlib.sha256(content).hexdigest()
        self.version = self.digest[:12] if version is None else version
        self.path = path
        with nogil:
            code = ascend_cy_module_load(data, size, label, &self.handle)
        check(code)

    def __dealloc__(self):
        cdef ascend_cy_module_t *handle = self.handle
        if handle is not NULL:
            with nogil:
                ascend_cy_module_release(handle)

    cdef ascend_cy_kernel_t *find(self, str name) except NULL:
        cdef ascend_cy_kernel_t *kernel = NULL
        if "\0" in name:
            raise ValueError(f"name must not have a NUL character, got {name!r}")
        cdef bytes encoded = name.encode("utf-8", "surrogateescape")
        cdef const char *wanted = encoded
        cdef int code
        with nogil:
            code = ascend_cy_module_kernel(self.handle, wanted, &kernel)
        check(code)
        return kernel

    cdef int wait(self) except -1:
        """Until the launches so far have passed, whatever comes after them; answers Ctrl-C."""
        cdef ascend_cy_launches_t *launches = NULL
        cdef int code
        with nogil:
            code = ascend_cy_module_launches(self.handle, &launches)
        check(code)
        try:
            while True:
                with nogil:
                    code = ascend_cy_launches_wait(launches, WAIT_SLICE_MS)
                if code != ACL_STREAM_SYNC_TIMEOUT:
                    return check(code)
                with nogil:
                    check_signals()
        finally:
            with nogil:
                ascend_cy_launches_release(launches)


cdef list alive(dict references):
    """The live objects of a dict of weak references; other threads may add to it meanwhile."""
    return [thing for thing in [reference() for reference in list(references.values())] if thing is not None]


def remember(dict references, thing):
    """Puts a weak reference into a dict, which it leaves by itself."""
    key = id(thing)
    references[key] = weakref.ref(thing, lambda gone: references.pop(key, None) if references.get(key) is gone else None)


cdef dict _modules = {}  # weak references by id


cdef class Module:
    """A loaded kernel binary: made by :func:`load` and :func:`compile`.

    Examples
    --------
    >>> import ascend_cy
    >>> source = '''
    ... #include "kernel_operator.h"
    ... extern "C" __global__ __aicore__ void set_first(GM_ADDR x, float value)
    ... {
    ...     AscendC::GlobalTensor<float> global;
    ...     global.SetGlobalBuffer((__gm__ float *)x, 1);
    ...     global.SetValue(0, value);
    ... }
    ... '''
    >>> with ascend_cy.compile(source) as module:
    ...     x = ascend_cy.zeros(3)
    ...     module.kernel("set_first")[1](x, 2.5)
    ...     print(x.to_numpy())
    [2.5 0.  0. ]
    """

    cdef _Image image
    cdef object called
    cdef dict signatures        # of kernels whose source is known
    cdef object made_by         # gives the content again: for reload()
    cdef dict kernels_made      # weak references to Kernels by id
    cdef object lock
    cdef object __weakref__

    def __cinit__(self):
        if not making:
            raise TypeError("a Module is made by ascend_cy.load() or ascend_cy.compile()")

    @property
    def name(self):
        """str: What it was called when it was loaded."""
        return self.called

    @property
    def version(self):
        """str: What was given, else the first digits of the digest."""
        return self.loaded().version

    @property
    def digest(self):
        """str: SHA-256 of the binary in hexadecimal digits."""
        return self.loaded().digest

    @property
    def path(self):
        """str or None: The file it was loaded from, or compiled from."""
        return self.loaded().path

    @property
    def kernels(self):
        """list of str: Names of the kernels, where the source is known; empty otherwise."""
        return list(self.signatures)

    @property
    def closed(self):
        """bool: Whether the module was unloaded."""
        return self.image is None

    cdef _Image loaded(self):
        if self.image is None:
            raise ValueError(f"the module {self.called} is unloaded")
        return self.image

    def kernel(self, name, signature=None, *, layout="compiler"):
        """A kernel of the module.

        Parameters
        ----------
        name : str
            As in the source where it is ``extern "C"``, else as the linker knows it.
        signature : str, optional
            Its parameters in order, separated by commas: ``[const] type [name]``. Types are ``ptr`` (memory of the device;
            ``const`` says that it is only read), ``i8`` to ``i64``, ``u8`` to ``u64``, ``f16``, ``bf16``, ``f32``, ``f64``,
            ``bool``, ``struct[size]`` or ``struct[size, alignment]`` (plain data by value) and ``data`` (a pointer to data
            of the host that travels with the launch, such as a tiling); C's names of types are taken too. Modules made by
            :func:`compile` know it.
        layout : {"compiler", "slots"}, default "compiler"
            How the parameters lie in memory: as the compiler reads them (each at a multiple of its size, at least of 4), or
            one to a slot of 8 bytes, as ``aclrtKernelArgsAppend`` lays them.

        Returns
        -------
        Kernel

        Raises
        ------
        AclError
            If the binary has no such kernel.
        TypeError, ValueError
            For a signature that cannot be, is missing, or is not that of the binary (where the binary tells it); for a
            name that the source does not have, where no signature is given.
        """
        cdef Kernel kernel
        cdef _Image image
        if not isinstance(name, str):
            raise TypeError(f"name must be a string, got {type(name).__name__}")
        while True:
            image = self.loaded()
            signatures = self.signatures
            if signature is None:
                declarations = signatures.get(name)
                if declarations is None:
                    raise_unknown(self.called, name, list(signatures))
                parameters = _signature.from_source(declarations, told_layout(image.find(name)))
            else:
                parameters = _signature.parse(signature, layout)
            kernel = new_kernel()
            kernel.module = self
            kernel.called = name
            kernel.take(parameters)
            kernel.resolve(image)
            remember(self.kernels_made, kernel)
            if self.image is image:  # from here on a reload sees the kernel
                return kernel

    def reload(self, source=None, *, version=None, digest=None, warm=None):
        """Put another version in the place of this one, without stopping what runs.

        The new binary is loaded beside the old one; every kernel in use is looked up in it; then all later launches go to
        the new version, whatever thread they come from, and the old one is unloaded when its launches have passed. Where
        anything fails, the old version stays.

        Parameters
        ----------
        source : path or bytes, optional
            Of a binary, or of source code for modules made by :func:`compile`. By default the file that it came from, read
            again.
        version : str, optional
            The first digits of the digest by default.
        digest : str, optional
            The SHA-256 that the binary must have.
        warm : callable, optional
            Called with a Module of the new version before the switch, to launch it once, say. An exception ends the reload.

        Returns
        -------
        bool
            Whether the binary is another one.

        Raises
        ------
        ValueError
            If there is nothing to read again, or the digest is another one.
        AclError
            If the binary cannot be loaded, or lacks a kernel that is in use.

        Notes
        -----
        Waits for the launches of the old version, without the GIL; Ctrl-C ends the wait, not the reload.
        """
        cdef _Image old, new
        cdef Module trial
        cdef Kernel kernel
        cdef list unchecked
        cdef dict checked = {}
        check_text(version, "version")
        if warm is not None and not callable(warm):
            raise TypeError(f"warm must be callable or None, got {type(warm).__name__}")
        with self.lock:
            old = self.loaded()
            if source is None and old.path is None:
                raise ValueError("source must be given: the module was loaded from memory")
            content, path, signatures = self.made_by(old.path if source is None else source)
            check_digest(content, digest)
            new = _Image(content, self.called, version, path)
            trial = new_module(new, self.called, signatures, self.made_by)
            while True:
                unchecked = [kernel for kernel in alive(self.kernels_made) if id(kernel) not in checked]
                for kernel in unchecked:
                    kernel.check_same(new, signatures)
                    checked[id(kernel)] = kernel  # alive until the switch: its id is not another's
                if warm is not None:
                    warm(trial)
                    warm = None
                    continue  # it may have made kernels, as may other threads
                if not unchecked:
                    break
            if self.image is not old:
                raise ValueError(f"the module {self.called} was unloaded during the reload")
            self.signatures = signatures
            self.image = new
            self.let_go(old)
        changed = old.digest != new.digest
        old.wait()
        return changed

    def unload(self):
        """Wait for the module's launches, without the GIL, and unload it. Idempotent; later launches raise ValueError."""
        cdef _Image image = self.image
        self.image = None
        if image is not None:
            self.let_go(image)
            image.wait()

    cdef int let_go(self, _Image image) except -1:
        """Kernels do not hold a binary that is no longer this module's."""
        cdef Kernel kernel
        for kernel in alive(self.kernels_made):
            if kernel.image is image:
                kernel.image = None
        return 0

    def __enter__(self):
        self.loaded()
        return self

    def __exit__(self, *exc_info):
        self.unload()

    def __reduce__(self):
        raise TypeError("a Module cannot be pickled: it belongs to this process; load it in the other process")

    def __repr__(self):
        if self.image is None:
            return f"<Module {self.called} unloaded>"
        return f"<Module {self.called} version={self.image.version}>"


cdef Module new_module(_Image image, str name, dict signatures, object made_by):
    global making
    cdef Module module
    making = True
    try:
        module = Module.__new__(Module)
    finally:
        making = False
    module.image = image
    module.called = name
    module.signatures = signatures
    module.made_by = made_by
    module.kernels_made = {}
    module.lock = threading.Lock()
    return module


cdef int raise_unknown(str module, str name, list known) except -1:
    """A kernel was asked for without a signature, and the source is not known to have it."""
    if not known:
        raise ValueError(f"signature must be given for kernel {name!r}: the source of the module {module} is not known")
    close = difflib.get_close_matches(name, known, 1)
    meant = f"did you mean {close[0]!r}? It" if close else "it"
    raise ValueError(f"name must be a kernel of the module {module}, got {name!r}; {meant} has {', '.join(known)}")


cdef int check_text(object value, str label) except -1:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{label} must be a string or None, got {type(value).__name__}")
    return 0


cdef int check_digest(bytes content, object digest) except -1:
    if digest is None:
        return 0
    if not isinstance(digest, str):
        raise TypeError(f"digest must be a string of hexadecimal digits, got {type(digest).__name__}")
    found = hashlib.sha256(content).hexdigest()
    if digest.lower() != found:
        raise ValueError(f"digest must be {digest.lower()}, but the binary has {found}")
    return 0


def read_binary(source):
    """(content, path, signatures) of a binary: a path or bytes."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        with open(path, "rb") as file:
            return file.read(), os.path.abspath(os.fsdecode(path)), {}
    if PyObject_CheckBuffer(source) and not isinstance(source, np.ndarray):
        return bytes(source), None, {}
    raise TypeError(f"source must be a path or bytes, got {type(source).__name__}")


def check_names(name, version):
    """TypeError where a name or version is neither a string nor None."""
    check_text(name, "name")
    check_text(version, "version")


def make_module(content, path, name, version, digest, signatures, made_by):
    """A registered Module of a binary's content."""
    cdef Module module
    check_names(name, version)
    check_digest(content, digest)
    if name is None:
        name = os.path.splitext(os.path.basename(path))[0] if path is not None else "module"
    module = new_module(_Image(content, name, version, path), name, signatures, made_by)
    remember(_modules, module)
    return module


def load(source, *, name=None, version=None, digest=None):
    """Load a kernel binary: a device ELF for an NPU, a shared object for the embedded device.

    Parameters
    ----------
    source : path or bytes
        Nothing is searched for: the file that is named, or the content.
    name : str, optional
        What messages call it; the file's name by default.
    version : str, optional
        The first digits of the digest by default. Any number of versions may be loaded at the same time.
    digest : str, optional
        The SHA-256 that it must have, in hexadecimal digits.

    Returns
    -------
    Module

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the digest is another one.
    AclError
        If it is no kernel binary for the thread's current device.
    """
    content, path, signatures = read_binary(source)
    return make_module(content, path, name, version, digest, signatures, read_binary)


def modules():
    """The modules that are loaded.

    Returns
    -------
    list of Module
        Ordered by name, then version.
    """
    cdef Module module
    cdef _Image image
    found = []
    for module in alive(_modules):
        image = module.image
        if image is not None:
            found.append((module.called, image.version, len(found), module))
    return [entry[3] for entry in sorted(found)]  # no negative index here: wraparound is off


# ---- launches ----

cdef int raise_range(Argument *argument, str name, object value, str kind) except -1:
    raise OverflowError(f"{name} must fit {kind}{8 * argument.size}, got {value}")


cdef inline bint pack_small(Argument *argument, object value, char *place) noexcept:
    """An int of Python that fits 64 signed bits and the parameter: packed, and True."""
    cdef int bits = 8 * argument.size
    cdef int overflow = 0
    cdef int64_t number
    if not PyLong_CheckExact(value):
        return False
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    if bits < 64:
        if argument.kind == SIGNED:
            if number < -(<int64_t>1 << (bits - 1)) or number >= <int64_t>1 << (bits - 1):
                return False
        elif number < 0 or number >= <int64_t>1 << bits:
            return False
    elif argument.kind == UNSIGNED and number < 0:
        return False
    memcpy(place, &number, argument.size)
    return True


cdef int pack_integer(Argument *argument, str name, object value, char *place) except -1:
    if pack_small(argument, value, place):
        return 0
    cdef bint signed = argument.kind == SIGNED
    cdef object bits = 8 * argument.size  # of Python, so that shifts do not overflow
    cdef int64_t as_signed
    cdef uint64_t as_unsigned
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
    number = value.__index__()
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if not low <= number <= high:
        raise_range(argument, name, value, "i" if signed else "u")
    # Little-endian, as all hosts here are: the low bytes come first.
    if signed:
        as_signed = number
        memcpy(place, &as_signed, argument.size)
    else:
        as_unsigned = number
        memcpy(place, &as_unsigned, argument.size)
    return 0


cdef int pack_float(Argument *argument, str name, object value, char *place) except -1:
    cdef double wide
    cdef float single
    cdef uint32_t bits
    cdef uint16_t half
    if (isinstance(value, (bool, np.bool_, str, bytes)) or (isinstance(value, np.ndarray) and value.ndim != 0)
            or not (hasattr(value, "__float__") or hasattr(value, "__index__"))):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    try:
        wide = float(value)
    except OverflowError:
        raise_range(argument, name, "a larger integer", "f" if argument.kind == FLOAT else "bf")
    if argument.size == 8:
        memcpy(place, &wide, 8)
        return 0
    if argument.kind == FLOAT and argument.size == 2:
        try:
            packed = struct.pack("<e", wide)
        except OverflowError:
            raise_range(argument, name, value, "f")
        memcpy(place, <const char *>packed, 2)
        return 0
    single = <float>wide
    if math.isfinite(wide) and not math.isfinite(single):
        raise_range(argument, name, value, "f" if argument.kind == FLOAT else "bf")
    if argument.size == 4:
        memcpy(place, &single, 4)
        return 0
    memcpy(&bits, &single, 4)
    # To nearest, ties to even; a NaN stays one.
    half = <uint16_t>(bits >> 16 | 0x40) if wide != wide else <uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    if math.isfinite(wide) and half & 0x7FFF == 0x7F80:
        raise_range(argument, name, value, "bf")
    memcpy(place, &half, 2)
    return 0


cdef int pack_bool(str name, object value, char *place) except -1:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and 0 <= value <= 1):
        place[0] = 1 if value else 0
        return 0
    raise TypeError(f"{name} must be a bool, got {type(value).__name__}")


cdef bytes plain_bytes(str name, object value):
    """The bytes of plain data: a structured scalar, an array, a buffer."""
    if isinstance(value, (np.generic, np.ndarray)):
        if value.dtype.hasobject:
            raise TypeError(f"{name} must be plain data, got {value.dtype}")
        return value.tobytes()
    if PyObject_CheckBuffer(value):
        return memoryview(value).tobytes()
    raise TypeError(f"{name} must be bytes, a NumPy structured scalar or array, or a buffer, got {type(value).__name__}")


cdef uintptr_t pointer_of(str name, object value, ascend_cy_stream_t *box, list kept) except? 0:
    """The address of memory that is not a DeviceArray's; what must live until the launch has passed goes to `kept`."""
    if value is None:
        return 0
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be a DeviceArray, a torch tensor, an address or None, got bool")
    if hasattr(value, "__index__") and not hasattr(value, "data_ptr") and not isinstance(value, np.ndarray):
        if not 0 <= value.__index__() < 2**64:
            raise ValueError(f"{name} must be an address, got {value}")
        return value.__index__()
    if hasattr(value, "data_ptr") and hasattr(value, "device"):
        kind = getattr(value.device, "type", "")
        if kind == "npu":
            index = value.device.index or 0
            if index != ascend_cy_stream_device(box):
                raise ValueError(f"{name} is on device {index}, but the stream is of device {ascend_cy_stream_device(box)}")
        elif kind != "cpu" or not is_unified():
            raise TypeError(f"{name} is a tensor on {value.device}, which this device cannot reach: move it with "
                            f"ascend_cy.from_dlpack or ascend_cy.asarray")
        kept.append(value)
        return value.data_ptr()
    if is_array_like(value):
        raise TypeError(f"{name} is in host memory ({type(value).__name__}): move it with ascend_cy.asarray({name})")
    raise TypeError(f"{name} must be a DeviceArray, a torch tensor, an address or None, got {type(value).__name__}")


cdef list told_layout(ascend_cy_kernel_t *kernel):
    """(offset, size) of the parameters as the binary tells them; None where it does not."""
    cdef size_t count = 0
    cdef size_t offset, size, i
    if not ascend_cy_has(b"aclrtFunctionGetParamCount") or not ascend_cy_has(b"aclrtFunctionGetParamInfo"):
        return None
    if ascend_cy_kernel_param_count(kernel, &count) != 0:
        return None
    told = []
    for i in range(count):
        if ascend_cy_kernel_param(kernel, i, &offset, &size) != 0:
            return None
        told.append((offset, size))
    return told


cdef class Kernel:
    """A kernel of a :class:`Module`, with its parameters; made by :meth:`Module.kernel`.

    ``kernel[blocks](…)`` and ``kernel[blocks, stream](…)`` launch it; see :meth:`launch`.
    """

    cdef Module module
    cdef object called
    cdef _Image image           # that `handle` belongs to
    cdef ascend_cy_kernel_t *handle
    cdef list parameters
    cdef list names
    cdef Argument[MOST_PARAMETERS] arguments
    cdef int count
    cdef int params_size
    cdef int inline_count
    cdef object __weakref__

    def __cinit__(self):
        if not making:
            raise TypeError("a Kernel is made by Module.kernel()")

    cdef int take(self, list parameters) except -1:
        if len(parameters) > MOST_PARAMETERS:
            raise ValueError(f"signature must have at most {MOST_PARAMETERS} parameters, got {len(parameters)}")
        self.parameters = parameters
        self.names = [parameter.name for parameter in parameters]
        self.count = len(parameters)
        self.inline_count = 0
        for i, parameter in enumerate(parameters):
            self.arguments[i] = Argument(parameter.kind, parameter.size, parameter.offset, parameter.read_only)
            self.inline_count += parameter.kind == INLINE
        self.params_size = _signature.size_of(parameters)
        if self.params_size > MOST_PARAMETER_BYTES:
            raise ValueError(f"signature must take at most {MOST_PARAMETER_BYTES} bytes, got {self.params_size}")
        if self.inline_count > MOST_INLINE:
            raise ValueError(f"signature must have at most {MOST_INLINE} data parameters, got {self.inline_count}")
        return 0

    cdef int resolve(self, _Image image) except -1:
        """Find the kernel in a binary, and compare the layout where the binary tells it."""
        cdef ascend_cy_kernel_t *handle = image.find(self.called)
        self.compare(handle)
        # An assignment gives the old value up before the new one is there, and giving an image up lets other threads run.
        cdef _Image before = self.image
        self.handle = handle
        self.image = image
        return 0

    cdef _Image follow(self):
        """The binary that the module has now; `handle` is of it."""
        cdef _Image image
        while True:
            image = self.module.loaded()
            if self.image is image:
                return image
            self.resolve(image)  # the module was reloaded

    cdef int compare(self, ascend_cy_kernel_t *handle) except -1:
        told = told_layout(handle)
        if told is None:
            return 0
        if len(told) != self.count:
            raise ValueError(f"signature of {self.called} has {self.count} parameters, but the kernel takes {len(told)}")
        for i, (offset, size) in enumerate(told):
            if size != self.arguments[i].size or offset != self.arguments[i].offset:
                raise ValueError(
                    f"signature of {self.called}: {self.parameters[i].type} {self.names[i]} takes {self.arguments[i].size} "
                    f"bytes at {self.arguments[i].offset}, but the kernel reads {size} bytes at {offset}")
        return 0

    cdef int check_same(self, _Image image, dict signatures) except -1:
        """Whether a new version of the module can take this kernel's launches."""
        cdef ascend_cy_kernel_t *handle = image.find(self.called)
        declarations = signatures.get(self.called)
        if declarations is not None:
            new = _signature.from_source(declarations, told_layout(handle))
            if [(p.kind, p.size, p.offset) for p in new] != [(p.kind, p.size, p.offset) for p in self.parameters]:
                raise ValueError(f"kernel {self.called} is in use with the parameters ({self.signature}), but the new version "
                                 f"takes ({_signature.describe(new)})")
        return self.compare(handle)

    @property
    def name(self):
        """str: Its name."""
        return self.called

    @property
    def signature(self):
        """str: Its parameters."""
        return _signature.describe(self.parameters)

    def __getitem__(self, key):
        launch = _Launch()
        launch.kernel = self
        if isinstance(key, tuple):
            if len(key) != 2:
                raise TypeError(f"kernel[blocks] or kernel[blocks, stream] is wanted, got {len(key)} indices")
            launch.blocks, launch.stream = key
        else:
            launch.blocks, launch.stream = key, None
        return launch

    def __call__(self, *args, **unknown):
        raise TypeError(f"the number of blocks is missing: {self.called}[blocks](…) or {self.called}[blocks, stream](…)")

    def launch(self, *args, blocks, stream=None, **unknown):
        """Enqueue the kernel; returns before it has run.

        Parameters
        ----------
        *args : object
            One for each parameter. ``ptr``: a DeviceArray, a torch tensor that the device can reach, an address, or None for
            NULL. Integers, floats and bools: Python's or NumPy's, in range. ``struct`` and ``data``: a NumPy structured scalar
            or array, or bytes.
        blocks : int
            1 to 65535.
        stream : Stream, optional
            The thread's current stream by default.
        **unknown : object
            Refused: the kernel's own arguments go by position.

        Raises
        ------
        TypeError, ValueError, OverflowError
            For arguments that are not what the kernel takes; nothing was enqueued then.
        AclError
            If it could not be enqueued. What happens in the kernel is told by the stream.

        Notes
        -----
        DeviceArrays are ordered behind what uses them (read-only ones, and those of ``const ptr``, behind what writes them)
        and live until the launch has passed, as do tensors. Whether the kernel stays within an array is the kernel's care;
        ``sim`` checks it.
        """
        if unknown:
            raise_keyword(self, unknown)
        return launch_kernel(self, blocks, stream, args)

    def __reduce__(self):
        raise TypeError("a Kernel cannot be pickled: it belongs to this process; load its module in the other process")

    def __repr__(self):
        return f"<Kernel {self.called}({self.signature}) of {self.module.called}>"


cdef Kernel new_kernel():
    global making
    making = True
    try:
        return Kernel.__new__(Kernel)
    finally:
        making = False


cdef class _Launch:
    """What kernel[blocks, stream] gives: call it with the arguments."""

    cdef Kernel kernel
    cdef object blocks
    cdef object stream

    def __call__(self, *args, **unknown):
        if unknown:
            raise_keyword(self.kernel, unknown)
        return launch_kernel(self.kernel, self.blocks, self.stream, args)


cdef int raise_keyword(Kernel kernel, dict unknown) except -1:
    name = next(iter(unknown))
    raise TypeError(f"{kernel.called} takes its arguments by position ({kernel.signature}), got the keyword {name!r}; "
                    "the number of blocks and the stream are keywords of launch() only")


cdef object launch_kernel(Kernel kernel, object blocks, object stream, tuple args):
    cdef char[MOST_BYTES] block
    cdef ascend_cy_buffer_t *buffers[MOST_PARAMETERS]   # those that are read first
    cdef ascend_cy_buffer_t *written[MOST_PARAMETERS]
    cdef ascend_cy_inline_data_t inline_data[MOST_INLINE]
    cdef ascend_cy_stream_t *box
    cdef ascend_cy_kernel_t *handle
    cdef _Image image
    cdef Argument *argument
    cdef DeviceArray array
    cdef uintptr_t address
    cdef uint32_t grid
    cdef size_t end = kernel.params_size
    cdef int reads = 0
    cdef int writes = 0
    cdef int pieces = 0
    cdef bint launched = False
    cdef bint unified
    cdef int code, i
    cdef list kept = []
    if isinstance(blocks, bool) or not hasattr(blocks, "__index__"):
        raise TypeError(f"blocks must be an integer, got {type(blocks).__name__}")
    if not 1 <= blocks.__index__() <= MOST_BLOCKS:
        raise ValueError(f"blocks must be between 1 and {MOST_BLOCKS}, got {blocks}")
    grid = blocks.__index__()
    if len(args) != kernel.count:
        raise TypeError(f"{kernel.called} takes {kernel.count} arguments ({kernel.signature}), got {len(args)}")
    box = <ascend_cy_stream_t *>stream_box(check_stream(stream))
    held = wrap_stream(box)  # whatever other threads close meanwhile
    unified = ascend_cy_device_info().unified != 0
    memset(block, 0, kernel.params_size)
    try:
        for i in range(kernel.count):
            argument = &kernel.arguments[i]
            value = args[i]
            if argument.kind == POINTER:
                if isinstance(value, DeviceArray):
                    array = <DeviceArray>value
                    if array.buffer is NULL:
                        raise ValueError(f"{kernel.names[i]} is closed")
                    if ascend_cy_stream_device(<ascend_cy_stream_t *>array.home) != ascend_cy_stream_device(box):
                        raise ValueError(f"{kernel.names[i]} is on device {array.device}, but the stream is of device "
                                         f"{ascend_cy_stream_device(box)}")
                    # Held from here on: what is passed next may run code that closes it, and other threads may.
                    if argument.read_only or array.readonly:
                        buffers[reads] = <ascend_cy_buffer_t *>array.buffer
                        hold(&buffers[reads], 1)
                        reads += 1
                    else:
                        written[writes] = <ascend_cy_buffer_t *>array.buffer
                        hold(&written[writes], 1)
                        writes += 1
                    address = <uintptr_t>array.data
                else:
                    address = pointer_of(kernel.names[i], value, box, kept)
                memcpy(block + argument.offset, &address, 8)
            elif argument.kind == SIGNED or argument.kind == UNSIGNED:
                pack_integer(argument, kernel.names[i], value, block + argument.offset)
            elif argument.kind == FLOAT or argument.kind == BFLOAT16:
                pack_float(argument, kernel.names[i], value, block + argument.offset)
            elif argument.kind == BOOL:
                pack_bool(kernel.names[i], value, block + argument.offset)
            else:
                data = plain_bytes(kernel.names[i], value)
                if argument.kind == STRUCT:
                    if len(data) != argument.size:
                        raise ValueError(f"{kernel.names[i]} must have {argument.size} bytes, got {len(data)}")
                    memcpy(block + argument.offset, <const char *>data, argument.size)
                    continue
                if len(data) == 0:
                    raise ValueError(f"{kernel.names[i]} must not be empty")
                while end % 8:
                    block[end] = 0
                    end += 1
                if end + len(data) > MOST_BYTES:
                    raise ValueError(f"{kernel.names[i]} must fit the argument block of {MOST_BYTES} bytes, got {len(data)}")
                memcpy(block + end, <const char *>data, len(data))
                inline_data[pieces] = ascend_cy_inline_data_t(argument.offset, <uint32_t>end, <uint32_t>len(data))
                end += len(data)
                pieces += 1
        image = kernel.follow()  # alive until the launch is under way, whatever is loaded meanwhile
        handle = kernel.handle
        memcpy(&buffers[reads], written, writes * sizeof(written[0]))
        with nogil:
            code = ascend_cy_buffers_order(buffers, reads, reads + writes, box)
            if code == 0:
                code = ascend_cy_kernel_launch(handle, grid, block, kernel.params_size, end, inline_data, pieces, box)
                launched = code == 0
            if launched:
                code = ascend_cy_buffers_record(buffers, reads, reads + writes, box)
        try:
            check(code)
        finally:
            if launched and kept:
                keep_until_passed(box, kept)
    finally:
        release_held(buffers, reads, unified)
        release_held(written, writes, unified)


# ---- for Cython code without the GIL ----

cdef struct Acquired:
    ascend_cy_module_t *module  # retained
    ascend_cy_kernel_t *kernel
    size_t size                 # bytes of its parameters


cdef void *kernel_acquire(object kernel) except NULL:
    cdef Kernel known
    cdef _Image image
    cdef Acquired *acquired
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel, got {type(kernel).__name__}")
    known = <Kernel>kernel
    if known.inline_count:
        raise ValueError(f"kernel {known.called} has data parameters ({known.signature}), which only Kernel.launch() takes: "
                         "declare them as ptr and pass device memory")
    image = known.follow()
    acquired = <Acquired *>malloc(sizeof(Acquired))
    if acquired is NULL:
        raise MemoryError("no memory for a kernel")
    ascend_cy_module_retain(image.handle)
    acquired.module = image.handle
    acquired.kernel = known.handle
    acquired.size = known.params_size
    return acquired


cdef int kernel_launch(void *kernel, unsigned int blocks, const void *args, size_t size, Stream stream) except -1 nogil:
    cdef Acquired *acquired = <Acquired *>kernel
    cdef ascend_cy_stream_t *box
    if acquired is NULL:
        with gil:
            raise ValueError("kernel must be what kernel_acquire() gave, got NULL")
    if not 1 <= blocks <= MOST_BLOCKS:
        with gil:
            raise ValueError(f"blocks must be between 1 and {MOST_BLOCKS}, got {blocks}")
    # A structure may end in padding.
    if not acquired.size <= size <= (acquired.size + 7) // 8 * 8 or (args is NULL and size != 0):
        with gil:
            raise ValueError(f"args must be {acquired.size} bytes of parameters, got {size} bytes at {<uintptr_t>args:#x}")
    box = <ascend_cy_stream_t *>stream_box(stream)
    return check(ascend_cy_kernel_launch(acquired.kernel, blocks, <void *>args, acquired.size, acquired.size, NULL, 0,
                                         box))


cdef void kernel_release(void *kernel) noexcept nogil:
    if kernel is not NULL:
        ascend_cy_module_release((<Acquired *>kernel).module)
        free(kernel)
