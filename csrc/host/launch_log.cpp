// SPDX-License-Identifier: Apache-2.0
#include "launch_log.h"

#include <map>
#include <mutex>
#include <string>

namespace ascend_cy {

LaunchLog launch_logs[max_devices];

namespace {

constexpr uint32_t most_kernels = 4096;
std::atomic<const char *> kernel_names[most_kernels]; // by id; [0] stays NULL
std::atomic<uint32_t> kernel_count{1};

} // namespace

uint32_t launch_log_id(const char *kernel) noexcept
{
    const uint32_t id = kernel_count.fetch_add(1, std::memory_order_relaxed);
    if (id >= most_kernels) {
        kernel_count.store(most_kernels, std::memory_order_relaxed);
        return 0;
    }
    kernel_names[id].store(kernel, std::memory_order_release);
    return id;
}

uint32_t launch_log_id_of(const char *kernel)
{
    static std::mutex mutex;
    static auto *const known = new std::map<std::string, uint32_t>; // never destroyed: messages point into it
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = known->emplace(kernel, 0);
    if (found.second)
        found.first->second = launch_log_id(found.first->first.c_str());
    return found.first->second;
}

void LaunchLog::describe(aclrtStream stream) const noexcept
{
    constexpr int most = 4;
    int told = 0;
    const uint32_t end = next_.load(std::memory_order_relaxed);
    for (uint32_t back = 1; back <= length && told < most; ++back) {
        const uint64_t entry = entries_[(end - back) % length].load(std::memory_order_relaxed);
        const auto blocks = static_cast<uint32_t>(entry >> 12 & 0xFFFFF);
        if (blocks == 0 || entry >> 32 != pack(0, 0, stream) >> 32)
            continue; // never written, or of another stream
        const char *kernel = kernel_names[entry & 0xFFF].load(std::memory_order_acquire);
        add_to_message("%s%s (%u block%s)", told == 0 ? "; last launches on this stream, newest first: " : ", ",
                       kernel != nullptr ? kernel : "a kernel", blocks, blocks == 1 ? "" : "s");
        ++told;
    }
}

} // namespace ascend_cy
