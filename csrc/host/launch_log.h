// SPDX-License-Identifier: Apache-2.0
//
// The last launches of each device, for the message of a fault that is noticed long after its launch.
#ifndef ASCEND_CY_HOST_LAUNCH_LOG_H
#define ASCEND_CY_HOST_LAUNCH_LOG_H

#include <atomic>

#include "context.h"

namespace ascend_cy {

class LaunchLog {
public:
    // `kernel` must live as long as the process. Any thread, no lock; an entry that is being overwritten while it is
    // read is skipped.
    void add(const char *kernel, uint32_t blocks, aclrtStream stream) noexcept
    {
        const uint64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
        Entry &entry = entries_[ticket % length];
        entry.ticket.store(0, std::memory_order_relaxed);
        entry.kernel.store(kernel, std::memory_order_release); // whoever sees these sees the 0 as well
        entry.blocks.store(blocks, std::memory_order_release);
        entry.stream.store(stream, std::memory_order_release);
        entry.ticket.store(ticket + 1, std::memory_order_release);
    }

    void describe(aclrtStream stream) const noexcept; // adds to the thread's message

private:
    static constexpr size_t length = 32;

    struct Entry {
        std::atomic<uint64_t> ticket{0}; // 0: empty or being written
        std::atomic<const char *> kernel{nullptr};
        std::atomic<aclrtStream> stream{nullptr};
        std::atomic<uint32_t> blocks{0};
    };

    std::atomic<uint64_t> next_{0};
    Entry entries_[length];
};

extern LaunchLog launch_logs[max_devices];

inline void log_launch(int32_t device, const char *kernel, uint32_t blocks, aclrtStream stream) noexcept
{
    launch_logs[device].add(kernel, blocks, stream);
}

inline void add_launches_to_message(int32_t device, aclrtStream stream) noexcept
{
    launch_logs[device].describe(stream);
}

} // namespace ascend_cy

#endif
