// SPDX-License-Identifier: Apache-2.0
#include "launch_log.h"

namespace ascend_cy {

LaunchLog launch_logs[max_devices];

void LaunchLog::describe(aclrtStream stream) const noexcept
{
    constexpr int most = 4;
    int told = 0;
    const uint64_t end = next_.load(std::memory_order_acquire);
    for (uint64_t back = 1; back <= length && back <= end && told < most; ++back) {
        const Entry &entry = entries_[(end - back) % length];
        const uint64_t ticket = entry.ticket.load(std::memory_order_acquire);
        const char *kernel = entry.kernel.load(std::memory_order_acquire);
        const uint32_t blocks = entry.blocks.load(std::memory_order_acquire);
        const aclrtStream on = entry.stream.load(std::memory_order_acquire);
        if (ticket != end - back + 1 || entry.ticket.load(std::memory_order_relaxed) != ticket || on != stream)
            continue;
        add_to_message("%s%s (%u block%s)", told == 0 ? "; last launches on this stream, newest first: " : ", ", kernel,
                       blocks, blocks == 1 ? "" : "s");
        ++told;
    }
}

} // namespace ascend_cy
