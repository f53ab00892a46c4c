"""Data types: NumPy's on one side, aclDataType on the other."""

cimport numpy as cnp

import numpy as np

cnp.import_array()

cdef enum:
    CODES = 28
    FIRST_USER_TYPE = 256   # NPY_USERDEF

# aclDataType by NumPy type number, and what each code is.
cdef int code_by_num[32]
cdef int item_size[CODES]
cdef list names = [None] * CODES
cdef list descrs = [None] * CODES

# ml_dtypes registers its type at run time; the number is known from the first array or dtype that we see.
cdef int bfloat16_num = -1


cdef void register(int code, object descr):
    cdef cnp.dtype native = np.dtype(descr)
    code_by_num[native.num] = code
    item_size[code] = native.itemsize
    names[code] = native.name
    descrs[code] = native


cdef int index
for index in range(32):
    code_by_num[index] = NO_CODE
for _code, _descr in ((0, "f4"), (1, "f2"), (2, "i1"), (3, "i4"), (4, "u1"), (6, "i2"), (7, "u2"), (8, "u4"),
                      (9, "i8"), (10, "u8"), (11, "f8"), (12, "?")):
    register(_code, _descr)
# On LP64 there are two 64-bit integer types; which one "i8" is differs by platform.
for _alias, _descr in (("longlong", "i8"), ("ulonglong", "u8")):
    code_by_num[np.dtype(_alias).num] = code_by_num[np.dtype(_descr).num]
item_size[ACL_BF16] = 2
names[ACL_BF16] = "bfloat16"


cdef int code_of(cnp.dtype descr) noexcept:
    global bfloat16_num
    cdef int num = descr.type_num
    if 0 <= num < 32:
        return code_by_num[num]
    if num == bfloat16_num and num >= 0:
        return ACL_BF16
    if num >= FIRST_USER_TYPE and descr.itemsize == 2 and descr.name == "bfloat16":
        bfloat16_num = num
        if descrs[ACL_BF16] is None:
            descrs[ACL_BF16] = descr.newbyteorder("=") if not descr.isnative else descr
        return ACL_BF16
    return NO_CODE


cdef cnp.dtype dtype_of(int code):
    cdef object descr = descrs[code]
    if descr is None:
        try:
            import ml_dtypes
        except ImportError:
            ml_dtypes = None
        if ml_dtypes is None:  # Cython's import gives None where sys.modules has it, the usual way to hide a package
            raise ImportError("bfloat16 arrays in NumPy need the package ml_dtypes: pip install ml_dtypes")
        descr = descrs[ACL_BF16] = np.dtype(ml_dtypes.bfloat16)
    return <cnp.dtype>descr


cdef int itemsize_of(int code) noexcept nogil:
    return item_size[code]


cdef str name_of(int code):
    return names[code]


# What users write most ("float32", np.float32), parsed once: np.dtype() costs more than the allocation.
cdef dict parsed = {}


cdef cnp.dtype parse_dtype(object dtype, int *code):
    cdef cnp.dtype descr
    if type(dtype) is str or type(dtype) is type:
        known = parsed.get(dtype)
        if known is None:
            descr = checked_dtype(numpy_dtype(dtype) if dtype != "bfloat16" else dtype_of(ACL_BF16), code)
            parsed[dtype] = (descr, code[0])
            return descr
        code[0] = (<tuple>known)[1]
        return <cnp.dtype>(<tuple>known)[0]
    if isinstance(dtype, cnp.dtype):
        return checked_dtype(<cnp.dtype>dtype, code)
    if dtype is None:
        # np.dtype(None) is float64, which nobody means here.
        raise TypeError("dtype must be a data type, got None")
    return checked_dtype(numpy_dtype(dtype), code)


cdef object numpy_dtype(object dtype):
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise TypeError(f"dtype must be one of {', '.join(name for name in names if name)}, got {dtype!r}: "
                        f"{error}") from error


cdef cnp.dtype checked_dtype(cnp.dtype descr, int *code):
    code[0] = code_of(descr)
    if code[0] == NO_CODE:
        raise TypeError(f"dtype must be one of {', '.join(name for name in names if name)}, got {descr}")
    if not descr.isnative:
        raise TypeError(f"dtype must be in native byte order, got {descr.str}")
    return dtype_of(code[0])
