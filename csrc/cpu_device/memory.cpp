/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <shared_mutex>

#include "device.h"
#include "log.h"
#include "settings.h"

namespace acl_cpu {
namespace {

/* By base address. Never destroyed: memory may be freed while the process exits. */
struct Registry {
    std::shared_mutex lock;
    std::map<uintptr_t, Allocation> ranges;
    /* Grows with every change; what a thread remembers is good as long as it has not. */
    std::atomic<uint64_t> generation{1};
    uint64_t bytes = 0;

    void changed() { generation.fetch_add(1, std::memory_order_release); }

    const Allocation *find(uintptr_t address) const
    {
        auto next = ranges.upper_bound(address);
        if (next == ranges.begin()) return nullptr;
        const Allocation &candidate = std::prev(next)->second;
        return candidate.holds(address) ? &candidate : nullptr;
    }
};
Registry &registry = *new Registry;

constexpr size_t huge_page = size_t{2} << 20;
/* From here on memory comes from mmap, aligned for huge pages. */
constexpr size_t map_threshold = size_t{1} << 20;

/* The last answers a thread got. In static TLS like ThreadState, since every copy asks. */
struct Remembered {
    uint64_t generation;
    Allocation allocation;
};
__attribute__((tls_model("initial-exec"))) __thread Remembered remembered[2] = {};
__attribute__((tls_model("initial-exec"))) __thread unsigned remembered_next = 0;

const char *kind_name(MemoryKind kind)
{
    switch (kind) {
    case MemoryKind::Device: return "device memory";
    case MemoryKind::Pinned: return "host memory of aclrtMallocHost";
    case MemoryKind::Registered: return "registered host memory";
    case MemoryKind::Managed: return "managed memory";
    case MemoryKind::PoolBlock: return "a block of a memory pool";
    case MemoryKind::Mapped: return "mapped physical memory";
    case MemoryKind::None: break;
    }
    return "unknown memory";
}

} // namespace

/* ---- raw memory ---- */

void *map_memory(size_t bytes, bool *mapped)
{
    *mapped = bytes >= map_threshold;
    if (!*mapped) return aligned_alloc(64, round_up(bytes, 64));
    size_t length = round_up(bytes, huge_page);
    /* A stretch one huge page longer surely holds an aligned one; the rest is given back. */
    void *start = mmap(nullptr, length + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    uintptr_t from = reinterpret_cast<uintptr_t>(start);
    uintptr_t aligned = round_up(from, huge_page);
    if (aligned > from) munmap(start, aligned - from);
    size_t behind = from + huge_page - aligned;
    if (behind != 0) munmap(reinterpret_cast<void *>(aligned + length), behind);
    void *result = reinterpret_cast<void *>(aligned);
    madvise(result, length, MADV_HUGEPAGE);
    return result;
}

void unmap_memory(void *address, size_t bytes, bool mapped)
{
    if (mapped) munmap(address, round_up(bytes, huge_page));
    else free(address);
}

/* ---- registry ---- */

bool find_allocation(const void *address, Allocation *found)
{
    uintptr_t value = reinterpret_cast<uintptr_t>(address);
    uint64_t generation = registry.generation.load(std::memory_order_acquire);
    for (const Remembered &entry : remembered) {
        if (entry.generation == generation && entry.allocation.holds(value)) {
            *found = entry.allocation;
            return true;
        }
    }
    std::shared_lock<std::shared_mutex> hold(registry.lock);
    const Allocation *allocation = registry.find(value);
    if (allocation == nullptr) return false;
    *found = *allocation;
    remembered[remembered_next++ % 2] = {registry.generation.load(std::memory_order_relaxed), *allocation};
    return true;
}

bool register_range(const Allocation &range)
{
    std::unique_lock<std::shared_mutex> hold(registry.lock);
    auto next = registry.ranges.lower_bound(range.base);
    if (next != registry.ranges.end() && next->second.base < range.base + range.extent) return false;
    if (next != registry.ranges.begin() && std::prev(next)->second.holds(range.base)) return false;
    registry.ranges.emplace_hint(next, range.base, range);
    registry.bytes += range.extent;
    registry.changed();
    return true;
}

bool unregister_range(uintptr_t base, MemoryKind kind, Allocation *removed)
{
    std::unique_lock<std::shared_mutex> hold(registry.lock);
    auto found = registry.ranges.find(base);
    if (found == registry.ranges.end() || found->second.kind != kind) return false;
    *removed = found->second;
    registry.bytes -= removed->extent;
    registry.ranges.erase(found);
    registry.changed();
    return true;
}

aclError allocate_device(Device &device, size_t size, size_t extent, MemoryKind kind, const void *creator, void **result)
{
    uint64_t limit = settings().memory_bytes;
    uint64_t used = device.memory_used.load(std::memory_order_relaxed);
    do {
        if (extent > limit || used > limit - extent) {
            return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %d has no room for %zu bytes: %llu of %llu are in use", device.id,
                        size, static_cast<unsigned long long>(used), static_cast<unsigned long long>(limit));
        }
    } while (!device.memory_used.compare_exchange_weak(used, used + extent));
    Allocation allocation;
    void *memory = map_memory(extent, &allocation.mapped);
    if (memory == nullptr) {
        device.memory_used.fetch_sub(extent);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the operating system has no memory for %zu bytes of device %d", size,
                    device.id);
    }
    uint64_t peak = device.memory_peak.load(std::memory_order_relaxed);
    while (peak < used + extent && !device.memory_peak.compare_exchange_weak(peak, used + extent)) {
    }
    allocation.base = reinterpret_cast<uintptr_t>(memory);
    allocation.size = size;
    allocation.extent = extent;
    allocation.kind = kind;
    allocation.device = device.id;
    allocation.creator = creator;
    register_range(allocation);
    *result = memory;
    LOG(MEMORY, "malloc %zu bytes on device %d: %p", size, device.id, memory);
    return ACL_SUCCESS;
}

aclError free_allocation(void *address, bool (*is_kind)(MemoryKind), const char *wanted)
{
    uintptr_t base = reinterpret_cast<uintptr_t>(address);
    Allocation allocation;
    {
        std::unique_lock<std::shared_mutex> hold(registry.lock);
        auto found = registry.ranges.find(base);
        if (found == registry.ranges.end() || !is_kind(found->second.kind)) {
            const Allocation *around = registry.find(base);
            if (around == nullptr) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not %s: it was freed already or never allocated", address, wanted);
            }
            if (around->base != base) {
                return fail(ACL_ERROR_RT_PARAM_INVALID, "%p lies %zu bytes inside %s at %p; only the start can be freed", address,
                            static_cast<size_t>(base - around->base), kind_name(around->kind),
                            reinterpret_cast<void *>(around->base));
            }
            return fail(ACL_ERROR_RT_PARAM_INVALID, "%p is not %s but %s", address, wanted, kind_name(around->kind));
        }
        allocation = found->second;
        registry.bytes -= allocation.extent;
        registry.ranges.erase(found);
        registry.changed();
    }
    unmap_memory(address, allocation.extent, allocation.mapped);
    if (allocation.on_device()) {
        if (Device *device = find_device(allocation.device)) device->memory_used.fetch_sub(allocation.extent);
    }
    LOG(MEMORY, "free %p (%zu bytes)", address, allocation.size);
    return ACL_SUCCESS;
}

aclError check_range(const void *address, size_t bytes, const char *what, Allocation *found)
{
    if (!find_allocation(address, found)) {
        *found = Allocation();
        if (UNLIKELY(g_reserved.load(std::memory_order_relaxed) != 0) && in_reserved(address, bytes)) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "%s %p lies in reserved addresses to which no memory is mapped", what, address);
        }
        return ACL_SUCCESS;
    }
    size_t behind = found->base + found->extent - reinterpret_cast<uintptr_t>(address);
    if (LIKELY(bytes <= behind)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s %p has %zu bytes left in %s of %zu bytes at %p, but %zu are to be used", what,
                address, behind, kind_name(found->kind), found->size, reinterpret_cast<void *>(found->base), bytes);
}

uint64_t live_allocations(uint64_t *bytes)
{
    std::shared_lock<std::shared_mutex> hold(registry.lock);
    if (bytes != nullptr) *bytes = registry.bytes;
    return registry.ranges.size();
}

void for_each_allocation(void (*visit)(const Allocation &, void *), void *context)
{
    std::shared_lock<std::shared_mutex> hold(registry.lock);
    for (const auto &entry : registry.ranges) visit(entry.second, context);
}

} // namespace acl_cpu
