// SPDX-License-Identifier: Apache-2.0
//
// Finds kernel binaries and hands out function handles, kept per device.
#ifndef ASCEND_CY_HOST_KERNELS_H
#define ASCEND_CY_HOST_KERNELS_H

#include <atomic>

#include "context.h"

namespace ascend_cy {

// One kernel of one operator's binary; in static storage, one per kernel.
class Kernel {
public:
    constexpr Kernel(const char *op, const char *entry) : op_(op), entry_(entry) {}

    // The handle on `device`, which must be current. No lock and no allocation after the first time.
    int function(int32_t device, aclrtFuncHandle *out) noexcept
    {
        *out = handles_[device].load(std::memory_order_acquire);
        return __builtin_expect(*out != nullptr, 1) ? ACL_SUCCESS : load(device, out);
    }

    // The device was reset since: the next call of function() loads again.
    void forget(int32_t device, aclrtFuncHandle stale) noexcept;

    const char *name() const noexcept { return entry_; }
    uint32_t log_id() const noexcept { return log_id_.load(std::memory_order_relaxed); } // once function() succeeded

private:
    [[gnu::cold]] int load(int32_t device, aclrtFuncHandle *out) noexcept;

    const char *const op_;
    const char *const entry_;
    std::atomic<uint32_t> log_id_{0}; // written before the first handle is published
    std::atomic<aclrtFuncHandle> handles_[max_devices] = {};
};

// What launchers need to know about a device: constant while the process lives.
struct DeviceTraits {
    int kind;         // ASCEND_CY_KIND_*
    int64_t cores;    // that share the blocks of a vector kernel
    int64_t ub_bytes; // what one of them leaves to a kernel of its on-chip buffer; 0: it does not tell
};

extern std::atomic<const DeviceTraits *> device_traits_table[max_devices];
[[gnu::cold]] const DeviceTraits *learn_device_traits(int32_t device) noexcept;

// NULL with a message if the device cannot be asked.
inline const DeviceTraits *device_traits(int32_t device) noexcept
{
    const DeviceTraits *traits = device_traits_table[device].load(std::memory_order_acquire);
    return __builtin_expect(traits != nullptr, 1) ? traits : learn_device_traits(device);
}

// Enqueues a kernel whose argument block holds 8-byte slots only. The device must be current.
int launch(Kernel *kernel, int32_t device, uint32_t blocks, const void *args, size_t size, aclrtStream stream) noexcept;

} // namespace ascend_cy

#endif
