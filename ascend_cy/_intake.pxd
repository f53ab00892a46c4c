# What users pass as arrays, as plain C description. Private to the package.

cimport numpy as cnp

from libc.stdint cimport int32_t

from ascend_cy._array cimport DeviceArray
from ascend_cy._dtypes cimport ACL_BF16, ACL_FLOAT, ACL_FLOAT16
from ascend_cy._host cimport ascend_cy_buffer_release, ascend_cy_buffer_retain, ascend_cy_buffer_t, ascend_cy_stream_t
from ascend_cy._stream cimport Stream


cdef struct Operand:
    void *data
    const Py_ssize_t *shape
    int rank
    int code                # aclDataType


# *Slow paths* of the inline functions below.
cdef object take_host_slowly(object obj, str name, str first, Operand *operand)
cdef int describe_device_slowly(object obj, str name, str first, Operand *operand, ascend_cy_stream_t *box) except -1


# Whether `obj` is an ndarray with memory, these flags and a float type of NumPy's own, as users mostly have them; fills
# `operand`.
cdef inline bint is_plain_ndarray(object obj, Operand *operand, int flags) noexcept:
    cdef int num
    if not cnp.PyArray_CheckExact(obj) or not cnp.PyArray_CHKFLAGS(<cnp.ndarray>obj, flags):
        return False
    num = cnp.PyArray_TYPE(<cnp.ndarray>obj)
    if (num != cnp.NPY_FLOAT32 and num != cnp.NPY_FLOAT16) or not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>obj):
        return False
    operand.data = cnp.PyArray_DATA(<cnp.ndarray>obj)
    operand.shape = <const Py_ssize_t *>cnp.PyArray_DIMS(<cnp.ndarray>obj)
    operand.rank = cnp.PyArray_NDIM(<cnp.ndarray>obj)
    operand.code = ACL_FLOAT if num == cnp.NPY_FLOAT32 else ACL_FLOAT16
    return operand.data is not NULL


# A contiguous, aligned, native ndarray with the elements of `obj` (itself where it is one already); fills `operand`,
# which stays valid while the result lives. TypeError where obj is no array, is a DeviceArray, or has no device dtype;
# `first` is the argument that says where the call works.
cdef inline object take_host(object obj, str name, str first, Operand *operand):
    if is_plain_ndarray(obj, operand, cnp.NPY_ARRAY_CARRAY_RO):
        return obj
    return take_host_slowly(obj, name, first, operand)


# Whether `obj` is an open DeviceArray that was made on the stream, and so is on its device; fills `operand`.
cdef inline bint is_streams_own(object obj, Operand *operand, const void *box) noexcept:
    if type(obj) is not DeviceArray or (<DeviceArray>obj).buffer is NULL or (<DeviceArray>obj).home is not box:
        return False
    operand.data = (<DeviceArray>obj).data
    operand.shape = (<DeviceArray>obj).dims
    operand.rank = (<DeviceArray>obj).rank
    operand.code = (<DeviceArray>obj).code
    return True


# The same of a contiguous one with elements.
cdef inline bint is_plain_array(object obj, Operand *operand, const void *box) noexcept:
    return is_streams_own(obj, operand, box) and (<DeviceArray>obj).contiguous and operand.data is not NULL


# Checks that `obj` is an open DeviceArray on the stream's device and describes it; enqueues nothing.
cdef inline int describe_device(object obj, str name, str first, Operand *operand, ascend_cy_stream_t *box) except -1:
    if is_streams_own(obj, operand, box):
        return 0
    return describe_device_slowly(obj, name, first, operand, box)


# Whether two ranges of memory share a byte.
cdef inline bint ranges_meet(const void *a, size_t a_bytes, const void *b, size_t b_bytes) noexcept nogil:
    return <const char *>a < <const char *>b + b_bytes and <const char *>b < <const char *>a + a_bytes


# The same with any strides, aligned and native.
cdef object take_host_strided(object obj, str name, Operand *operand)
# The ndarray behind a writable `out`, any strides; ValueError where it is read-only.
cdef object take_out(object obj, str name, Operand *operand)
# A contiguous copy of a DeviceArray, enqueued on stream `box`.
cdef DeviceArray pack_device(DeviceArray array, void *box)


# The contiguous DeviceArray with the elements of `array`, which was checked and described: itself, or a copy.
cdef inline DeviceArray take_device(DeviceArray array, Operand *operand, void *box):
    cdef DeviceArray packed
    if array.contiguous:
        return array
    packed = pack_device(array, box)
    operand.data = packed.data
    operand.shape = packed.dims
    return packed
# TypeError that tells mixed host and device arguments apart from what is no array at all; `first` is the argument that
# says where the call works.
cdef int refuse_mixed(object obj, str name, str first, bint device) except -1
# ValueError where `out` overlaps `source` without being the same array; `exact_allowed` says whether that is fine.
cdef int refuse_host_overlap(object out, object source, str name, bint exact_allowed) except -1
cdef int refuse_device_overlap(DeviceArray out, DeviceArray source, str name, bint exact_allowed) except -1 nogil
# On plain memory, where the caller has asked whether both are the same; `name` is what `source` is called.
cdef int refuse_overlap(const void *out, size_t out_bytes, const void *source, size_t source_bytes,
                        const char *name, bint exact_allowed) except -1 nogil
cdef int raise_dtype(int code, str name) except -1 nogil


# TypeError unless `code` is float32, float16 or bfloat16.
cdef inline int check_float(int code, str name) except -1 nogil:
    if code != ACL_FLOAT and code != ACL_FLOAT16 and code != ACL_BF16:
        return raise_dtype(code, name)
    return 0


cdef tuple shape_of(const Operand *operand)
# TypeError or ValueError unless `out` has the dtype and the shape of `x`, which the caller calls `first`.
cdef int check_out(const Operand *x, str first, const Operand *out) except -1 nogil
# The same for a result of another dtype and shape.
cdef int check_out_shape(const Operand *out, int code, int rank, const Py_ssize_t *shape) except -1 nogil


cdef inline bint same_shape(int rank, const Py_ssize_t *shape, const Operand *operand) noexcept nogil:
    cdef int axis
    if operand.rank != rank:
        return False
    for axis in range(rank):
        if operand.shape[axis] != shape[axis]:
            return False
    return True


# Whether an object shares its memory as an array, and the ndarray over it.
cdef bint is_array_like(object obj)
cdef object as_ndarray(object obj, str name)
# Of the layernorm operators: gamma or beta against the last axes of x, and how many axes those are.
cdef int check_weight(const Operand *x, const Operand *weight, int normalized_ndim, str name) except -1
cdef int check_normalized_ndim(object normalized_ndim, object x) except -1
cdef int raise_stream(object stream) except -1


cdef inline Stream check_stream(object stream):
    if stream is not None and not isinstance(stream, Stream):
        raise_stream(stream)
    return <Stream>stream


# The caller's own memory behind what was taken in, for overlap checks.
cdef object array_of(object given, object taken)
cdef object new_host_like(const Operand *operand, object array)
cdef void describe_open(DeviceArray array, Operand *operand) noexcept nogil
# Checks an argument of a typed caller; contiguous arrays only by default.
cdef int check_device_argument(DeviceArray array, str name, int32_t device, bint contiguous=*) except -1 nogil


# Hold the arguments of a launch while the GIL is released, whatever other threads close meanwhile. NULL is allowed.
cdef inline void hold(ascend_cy_buffer_t *const *buffers, int count) noexcept nogil:
    cdef int i
    for i in range(count):
        if buffers[i] is not NULL:
            ascend_cy_buffer_retain(buffers[i])


cdef void release_held(ascend_cy_buffer_t *const *buffers, int count, bint unified) noexcept


cdef inline void let_go(ascend_cy_buffer_t *const *buffers, int count) noexcept nogil:
    cdef int i
    for i in range(count):
        ascend_cy_buffer_release(buffers[i])
