# The door to streams, events and arrays for `cimport`. Append-only.

from ascend_cy._array cimport (DeviceArray, array_data, array_dtype_code, array_ndim, array_order_stream,
                               array_record_stream, array_shape, array_strides)
from ascend_cy._pool cimport MemoryPool, PoolFigures, pool_figures, pool_trim, pool_use
from ascend_cy._stream cimport Event, Stream, stream_handle, stream_synchronize

# Of the binary interface of the public .pxd files; grows with every incompatible change.
cdef enum:
    ABI_VERSION = 1

# Raises ImportError with a readable message where the installed package has another binary interface than the one
# that the caller was compiled against: call check_abi(ABI_VERSION) once at import.
cdef int check_abi(int compiled_against) except -1
