// SPDX-License-Identifier: Apache-2.0
//
// What launchers have in common: ranges of memory, and the device that a launch goes to.
#ifndef ASCEND_CY_HOST_LAUNCH_CHECKS_H
#define ASCEND_CY_HOST_LAUNCH_CHECKS_H

#include <cstdint>

#include "context.h"
#include "errors.h"
#include "kernels.h"

namespace ascend_cy {

// The bytes [begin, end) of memory.
struct ByteRange {
    uint64_t begin = 0;
    uint64_t end = 0;

    bool meets(const ByteRange &other) const noexcept { return begin < other.end && other.begin < end; }
};

// n elements of `size` bytes from `pointer` on; false where no memory is that large.
inline bool byte_range(const void *pointer, int64_t n, int64_t size, ByteRange *range) noexcept
{
    uint64_t bytes = 0;
    range->begin = reinterpret_cast<uintptr_t>(pointer);
    return !__builtin_mul_overflow(static_cast<uint64_t>(n), static_cast<uint64_t>(size), &bytes) &&
           bytes <= INT64_MAX && !__builtin_add_overflow(range->begin, bytes, &range->end);
}

// The calling thread's device, initialised, and what a tiling must know about it.
inline int launch_device(int32_t *device, const DeviceTraits **traits) noexcept
{
    if (const int error = ready())
        return error;
    if (const int error = current_device(device))
        return error;
    *traits = device_traits(*device);
    return *traits != nullptr ? ACL_SUCCESS : ascend_cy_last_code();
}

} // namespace ascend_cy

#endif
