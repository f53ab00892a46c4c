# Shapes, strides and indices as plain numbers. Private to the package.
# `dims` of an array are its shape and behind it its strides in bytes, `rank` entries each.

cdef enum:
    MAX_DIMS = 64


cdef Py_ssize_t count_elements(int rank, const Py_ssize_t *shape) noexcept nogil
# Bytes of a contiguous array; ValueError where the product does not fit.
cdef Py_ssize_t checked_nbytes(int rank, const Py_ssize_t *shape, int itemsize) except -1
cdef void contiguous_strides(int rank, const Py_ssize_t *shape, int itemsize, Py_ssize_t *strides) noexcept nogil
cdef bint is_contiguous(int rank, const Py_ssize_t *shape, const Py_ssize_t *strides, int itemsize) noexcept nogil
# Bytes from low up to high hold all elements; equal where there are none.
cdef void extent(char *data, int rank, const Py_ssize_t *shape, const Py_ssize_t *strides, int itemsize, char **low,
                 char **high) noexcept nogil
# Fills `dims` (room for MAX_DIMS) from what users write, and returns the rank.
cdef int parse_shape(object shape, Py_ssize_t *dims) except -1
# The same for reshape(*shape) of an array with `size` elements; one side may be -1.
cdef int parse_new_shape(tuple shape, object size, tuple old, int itemsize, Py_ssize_t *dims) except -1
cdef tuple sides(const Py_ssize_t *values, int count)
# Resolves array[key] for integers, slices, Ellipsis and None: fills shape, strides and the offset in bytes, and returns
# the rank of the view.
cdef int parse_index(object key, int array_rank, const Py_ssize_t *dims, Py_ssize_t *shape, Py_ssize_t *strides,
                     Py_ssize_t *offset) except -1
# What is wrong with foreign memory at `address` (shape and strides in `dims`) that reaches beyond addresses, or None.
cdef str beyond_addresses(object address, int rank, const Py_ssize_t *dims, int itemsize)
# Whether two elements may share memory, as in broadcast views. (Some unusual strides that do not are counted too.)
cdef bint may_overlap_itself(int rank, const Py_ssize_t *shape, const Py_ssize_t *strides, int itemsize) noexcept nogil
