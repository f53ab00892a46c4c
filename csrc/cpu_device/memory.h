/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry of all memory that AscendCL knows: what was allocated on devices and on the host, registered, mapped.
 */
#ifndef ASCENDCL_CPU_MEMORY_H
#define ASCENDCL_CPU_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "entry.h"

namespace acl_cpu {

struct Device;

enum class MemoryKind : uint8_t {
    None,
    Device,     /* aclrtMalloc and relatives */
    Pinned,     /* aclrtMallocHost */
    Registered, /* the user's own, aclrtHostRegister */
    Managed,    /* aclrtMemAllocManaged */
    PoolBlock,  /* part of a stream-ordered pool */
    Mapped      /* physical memory mapped into reserved addresses */
};

struct Allocation {
    uintptr_t base = 0;
    size_t size = 0;     /* as the caller asked */
    size_t extent = 0;   /* usable bytes, padding included */
    MemoryKind kind = MemoryKind::None;
    int32_t device = 0;
    bool mapped = false; /* from mmap, else from malloc */
    const void *creator = nullptr;

    bool holds(uintptr_t address) const { return address - base < extent; }
    bool on_device() const { return kind != MemoryKind::Pinned && kind != MemoryKind::Registered && kind != MemoryKind::None; }
};

/* Number of stretches of reserved addresses (aclrtReserveMemAddress), and whether one of them has these bytes, or some of
 * them. Where nothing is mapped there, whoever touches them is killed. */
extern std::atomic<uint32_t> g_reserved;
bool in_reserved(const void *address, size_t bytes);

/* The allocation around an address. Cheap when asked again about the same one. */
bool find_allocation(const void *address, Allocation *found);

/* Memory of a device: charged against its size. Reports 207001. */
aclError allocate_device(Device &device, size_t size, size_t extent, MemoryKind kind, const void *creator, void **result);
/* Frees what starts exactly at `address` and is of the kind; reports 107000 and what the pointer really is. */
aclError free_allocation(void *address, bool (*is_kind)(MemoryKind), const char *wanted);

/* For memory that is managed elsewhere: enters or removes a range. False where ranges overlap. */
bool register_range(const Allocation &range);
bool unregister_range(uintptr_t base, MemoryKind kind, Allocation *removed);

/* Checks one side of a copy: an address in known memory must have `bytes` behind it. */
aclError check_range(const void *address, size_t bytes, const char *what, Allocation *found);

uint64_t live_allocations(uint64_t *bytes);
/* Calls `visit` for each; used for the report of leaks. */
void for_each_allocation(void (*visit)(const Allocation &allocation, void *context), void *context);

/* Raw memory with the alignment and huge pages that fit its size. */
void *map_memory(size_t bytes, bool *mapped);
void unmap_memory(void *address, size_t bytes, bool mapped);

constexpr size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

} // namespace acl_cpu
#endif
