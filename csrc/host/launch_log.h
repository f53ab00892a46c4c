// SPDX-License-Identifier: Apache-2.0
//
// The last launches of each device, for the message of a fault that is noticed long after its launch.
#ifndef ASCEND_CY_HOST_LAUNCH_LOG_H
#define ASCEND_CY_HOST_LAUNCH_LOG_H

#include <atomic>

#include "context.h"

namespace ascend_cy {

// A number for a kernel's name, which must live as long as the process; 0 when there are too many.
uint32_t launch_log_id(const char *kernel) noexcept;

// The same for a name that may go away; equal names share a number.
uint32_t launch_log_id_of(const char *kernel);

// An entry is one word, so that it is whole whatever threads do at the same time, and a launch pays two plain stores.
// Two launches at the very same moment may leave one entry: what is lost is a line of a message.
class LaunchLog {
public:
    void add(uint32_t kernel_id, uint32_t blocks, aclrtStream stream) noexcept
    {
        const uint32_t place = next_.load(std::memory_order_relaxed);
        entries_[place % length].store(pack(kernel_id, blocks, stream), std::memory_order_relaxed);
        next_.store(place + 1, std::memory_order_relaxed);
    }

    void describe(aclrtStream stream) const noexcept; // adds to the thread's message

private:
    static constexpr uint32_t length = 64;

    // From the top: 32 bits of the stream's handle, 20 of the number of blocks, 12 of the kernel. Never 0.
    static uint64_t pack(uint32_t kernel_id, uint32_t blocks, aclrtStream stream) noexcept
    {
        return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(stream) >> 4) << 32 |
               static_cast<uint64_t>(blocks & 0xFFFFF) << 12 | kernel_id;
    }

    std::atomic<uint32_t> next_{0};
    std::atomic<uint64_t> entries_[length] = {};
};

extern LaunchLog launch_logs[max_devices];

inline void log_launch(int32_t device, uint32_t kernel_id, uint32_t blocks, aclrtStream stream) noexcept
{
    launch_logs[device].add(kernel_id, blocks, stream);
}

inline void add_launches_to_message(int32_t device, aclrtStream stream) noexcept
{
    launch_logs[device].describe(stream);
}

} // namespace ascend_cy

#endif
