"""Shapes, strides and indices as plain numbers."""

from libc.stdlib cimport labs as abs

from ascend_cy._status cimport as_integer

from collections.abc import Mapping, Set

import numpy as np

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX
    Py_ssize_t as_ssize_t "PyLong_AsSsize_t"(object) noexcept  # -1 where it does not fit, with an exception set
    void PyErr_Clear() noexcept


cdef Py_ssize_t count_elements(int rank, const Py_ssize_t *shape) noexcept nogil:
    cdef Py_ssize_t total = 1
    cdef int axis
    for axis in range(rank):
        total *= shape[axis]
    return total


cdef Py_ssize_t checked_nbytes(int rank, const Py_ssize_t *shape, int itemsize) except -1:
    """Bytes of a contiguous array; ValueError where the product does not fit."""
    cdef Py_ssize_t total = itemsize
    cdef bint empty = False
    cdef int axis
    # A side of 0 makes the array empty, but the others must still have strides that fit.
    for axis in range(rank):
        if shape[axis] < 0:
            raise ValueError(f"shape must not hold negative sides, got {shape[axis]}")
        if shape[axis] == 0:
            empty = True
            continue
        # (Two numbers of 31 bits fit without a division.)
        if (total | shape[axis]) >> 31 != 0 and total > PY_SSIZE_T_MAX // shape[axis]:
            sides = tuple([shape[i] for i in range(rank)])
            raise ValueError(f"shape {sides} with {itemsize} bytes an element is larger than memory addresses can be")
        total *= shape[axis]
    return 0 if empty else total


cdef void contiguous_strides(int rank, const Py_ssize_t *shape, int itemsize, Py_ssize_t *strides) noexcept nogil:
    cdef Py_ssize_t step = itemsize
    cdef int axis
    for axis in range(rank - 1, -1, -1):
        strides[axis] = step
        if shape[axis] > 1:
            step *= shape[axis]


cdef bint is_contiguous(int rank, const Py_ssize_t *shape, const Py_ssize_t *strides, int itemsize) noexcept nogil:
    cdef Py_ssize_t step = itemsize
    cdef bint contiguous = True
    cdef int axis
    for axis in range(rank - 1, -1, -1):
        if shape[axis] == 0:
            return True
        if shape[axis] != 1:
            if strides[axis] != step:
                contiguous = False
            step *= shape[axis]
    return contiguous


cdef void extent(char *data, int rank, const Py_ssize_t *shape, const Py_ssize_t *strides, int itemsize, char **low,
                 char **high) noexcept nogil:
    cdef int axis
    low[0] = high[0] = data
    for axis in range(rank):
        if shape[axis] == 0:
            high[0] = low[0]
            return
        if strides[axis] < 0:
            low[0] += (shape[axis] - 1) * strides[axis]
        else:
            high[0] += (shape[axis] - 1) * strides[axis]
    high[0] += itemsize


cdef bint may_overlap_itself(int rank, const Py_ssize_t *shape, const Py_ssize_t *strides, int itemsize) noexcept nogil:
    cdef bint[MAX_DIMS] taken
    cdef Py_ssize_t reach = itemsize
    cdef Py_ssize_t least
    cdef int axis, turn, next_axis
    for axis in range(rank):
        if shape[axis] == 0:
            return False
        taken[axis] = shape[axis] == 1
    # From the closest axis to the widest: each step has to clear what the closer axes span.
    for turn in range(rank):
        next_axis = -1
        least = 0
        for axis in range(rank):
            if not taken[axis] and (next_axis < 0 or abs(strides[axis]) < least):
                next_axis = axis
                least = abs(strides[axis])
        if next_axis < 0:
            return False
        if least < reach:
            return True
        taken[next_axis] = True
        reach += (shape[next_axis] - 1) * least
    return False


cdef tuple tuple_of_sides(object shape, str wanted):
    if hasattr(shape, "__index__") and not getattr(shape, "ndim", 0) and not isinstance(shape, bool):
        return (shape,)
    # These can be iterated, and bytes even give integers, but nobody means a shape by them.
    if not isinstance(shape, (str, bytes, bytearray, Set, Mapping)):
        try:
            return tuple(shape)
        except TypeError:
            pass
    raise TypeError(f"shape must be {wanted}, got {type(shape).__name__}")


cdef int parse_shape(object shape, Py_ssize_t *dims) except -1:
    cdef int rank = 0
    if type(shape) is int:
        dims[0] = parse_side(shape)
        return 1
    if type(shape) is not tuple:
        shape = tuple_of_sides(shape, "an integer or a sequence of integers")
    if len(<tuple>shape) > MAX_DIMS:
        raise ValueError(f"shape must have at most {MAX_DIMS} sides, got {len(shape)}")
    for side in <tuple>shape:
        dims[rank] = parse_side(side)
        rank += 1
    return rank


cdef inline Py_ssize_t parse_side(object side) except -1:
    cdef Py_ssize_t number
    if type(side) is int:
        number = as_ssize_t(side)
        if number >= 0:
            return number
        PyErr_Clear()
    return parse_side_slowly(side)


cdef Py_ssize_t parse_side_slowly(object side) except -1:
    cdef Py_ssize_t number
    if type(side) is not int:
        side = as_integer(side, "shape", "an integer or a sequence of integers")
    try:
        number = side
    except OverflowError:
        raise ValueError(f"shape holds {side}, which is larger than memory addresses can be" if side > 0
                         else f"shape must not hold negative sides, got {side}") from None
    if number < 0:
        raise ValueError(f"shape must not hold negative sides, got {number}")
    return number


cdef int parse_new_shape(tuple shape, object size, tuple old, int itemsize, Py_ssize_t *dims) except -1:
    cdef int rank
    wanted = shape[0] if len(shape) == 1 else shape
    if not isinstance(wanted, tuple):
        wanted = tuple_of_sides(wanted, "integers or a sequence of integers")
    wanted = tuple([as_integer(side, "shape", "integers or a sequence of integers") for side in wanted])
    if -1 in wanted:
        known = 1
        for side in wanted:
            known *= 1 if side == -1 else side
        if wanted.count(-1) > 1 or known <= 0 or size % known:
            raise ValueError(f"cannot reshape an array of shape {old} into {wanted}")
        wanted = tuple([size // known if side == -1 else side for side in wanted])
    rank = parse_shape(wanted, dims)
    checked_nbytes(rank, dims, itemsize)
    if count_elements(rank, dims) != size:
        raise ValueError(f"cannot reshape an array of shape {old} into {wanted}")
    return rank


cdef tuple sides(const Py_ssize_t *values, int count):
    cdef int i
    return tuple([values[i] for i in range(count)])


cdef int parse_index(object key, int array_rank, const Py_ssize_t *dims, Py_ssize_t *shape, Py_ssize_t *strides,
                     Py_ssize_t *offset) except -1:
    cdef Py_ssize_t start, step, length, index
    cdef int rank = 0
    cdef int axis = 0
    cdef int used, new_axes, dropped, ellipses
    offset[0] = 0
    if type(key) is not tuple:
        key = (key,)
    used = 0
    new_axes = 0
    dropped = 0
    ellipses = 0
    for part in key:
        if part is Ellipsis:
            ellipses += 1
        elif part is None:
            new_axes += 1
        else:
            used += 1
            dropped += type(part) is not slice
    if ellipses > 1:
        raise IndexError("an index can hold one ellipsis only")
    if used > array_rank:
        raise IndexError(f"too many indices: the array has {array_rank} axes, got {used}")
    if array_rank - dropped + new_axes > MAX_DIMS:
        raise IndexError(f"an array has at most {MAX_DIMS} axes, the index gives {array_rank - dropped + new_axes}")
    if not ellipses:
        key = key + (Ellipsis,)
    for part in key:
        if part is None:
            shape[rank] = 1
            strides[rank] = 0
            rank += 1
        elif part is Ellipsis:
            for _ in range(array_rank - used):
                shape[rank] = dims[axis]
                strides[rank] = dims[array_rank + axis]
                rank += 1
                axis += 1
        elif type(part) is slice:
            start, stop, step = part.indices(dims[axis])
            length = len(range(start, stop, step))
            if length > 0:
                offset[0] += start * dims[array_rank + axis]
            shape[rank] = length
            strides[rank] = step * dims[array_rank + axis]
            rank += 1
            axis += 1
        elif type(part) is int or (hasattr(part, "__index__") and not isinstance(part, (bool, np.bool_))
                                   and not isinstance(part, np.ndarray)):
            try:
                number = part.__index__()
            except TypeError as error:
                raise IndexError("a DeviceArray is indexed by integers, slices, Ellipsis and None, got "
                                 f"{type(part).__name__}: {error}") from error
            if not -dims[axis] <= number < dims[axis]:
                raise IndexError(f"index {number} is out of bounds for axis {axis} with size {dims[axis]}")
            index = number
            if index < 0:
                index += dims[axis]
            offset[0] += index * dims[array_rank + axis]
            axis += 1
        else:
            raise IndexError("a DeviceArray is indexed by integers, slices, Ellipsis and None, got "
                             f"{type(part).__name__}")
    return rank


cdef str beyond_addresses(object address, int rank, const Py_ssize_t *dims, int itemsize):
    """What is wrong with foreign memory that would reach beyond what addresses can be; None where nothing is."""
    cdef int axis
    low = high = address
    for axis in range(rank):
        if dims[axis] == 0:
            return None
        reach = (<object>dims[axis] - 1) * dims[rank + axis]
        if reach < 0:
            low += reach
        else:
            high += reach
    if low < 0 or high + itemsize > PY_SSIZE_T_MAX:
        return f"elements from {hex(low)} to {hex(high)}"
    return None
