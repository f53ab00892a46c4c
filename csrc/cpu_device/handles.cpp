/* SPDX-License-Identifier: Apache-2.0 */
#include "handles.h"

#include <sys/mman.h>

/* Present under the leak sanitizer: objects in the stretch hold memory that must not be taken for lost. */
extern "C" __attribute__((weak)) void __lsan_register_root_region(const void *begin, size_t size);

namespace acl_cpu {
namespace handle_arena {

/* Address space only: pages are made accessible as they are needed, so that strict overcommit settings see no more
 * than what is used. 512 MiB hold about a million events. */
constexpr size_t reserved_bytes = size_t{512} << 20;
constexpr size_t commit_bytes = size_t{256} << 10;

std::atomic<uintptr_t> base{0};
std::atomic<uintptr_t> used{0};

namespace {
std::mutex &lock = *new std::mutex;
uintptr_t committed = 0;
} // namespace

Slot *extend(size_t bytes)
{
    std::lock_guard<std::mutex> hold(lock);
    uintptr_t start = base.load(std::memory_order_relaxed);
    if (start == 0) {
        void *reserved = mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserved == MAP_FAILED) return nullptr;
        start = reinterpret_cast<uintptr_t>(reserved);
        base.store(start, std::memory_order_relaxed);
    }
    uintptr_t offset = used.load(std::memory_order_relaxed);
    if (offset + bytes > reserved_bytes) return nullptr;
    while (offset + bytes > committed) {
        if (mprotect(reinterpret_cast<void *>(start + committed), commit_bytes, PROT_READ | PROT_WRITE) != 0) return nullptr;
        if (__lsan_register_root_region != nullptr) {
            __lsan_register_root_region(reinterpret_cast<void *>(start + committed), commit_bytes);
        }
        committed += commit_bytes;
    }
    /* Fresh pages are zero, hence the tag is 0 and the generation 0 without writing. */
    used.store(offset + bytes, std::memory_order_release);
    return reinterpret_cast<Slot *>(start + offset);
}

} // namespace handle_arena
} // namespace acl_cpu
