# Data types: NumPy's on one side, aclDataType on the other. Private to the package.

cimport numpy as cnp

cdef enum:
    NO_CODE = -1
    ACL_FLOAT = 0
    ACL_FLOAT16 = 1
    ACL_BF16 = 27


# aclDataType of a NumPy dtype, whatever its byte order; NO_CODE where there is none.
cdef int code_of(cnp.dtype descr) noexcept
# The native dtype of a code; ImportError that says so where it is bfloat16 and ml_dtypes is missing.
cdef cnp.dtype dtype_of(int code)
cdef int itemsize_of(int code) noexcept nogil
cdef str name_of(int code)
# From what users write ("float32", np.float16, "bfloat16") to a checked native dtype; fills the code.
cdef cnp.dtype parse_dtype(object dtype, int *code)
