/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory: reserved addresses, physical memory, and mapping one into the other. Physical memory is an anonymous
 * file, so it may be mapped at several places.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "device.h"
#include "handles.h"
#include "leaks.h"
#include "log.h"
#include "memory.h"
#include "settings.h"

namespace acl_cpu {

struct PhysicalMemory {
    static constexpr Kind kind = Kind::Physical;

    PhysicalMemory(Device *on, int descriptor, size_t bytes, const aclrtPhysicalMemProp &properties)
        : device(on), file(descriptor), size(bytes), prop(properties)
    {
    }

    Device *const device; /* nullptr: host memory */
    const int file;
    const size_t size;
    const aclrtPhysicalMemProp prop;
    References handles_given;
    References references; /* the handle and mappings */

    void release()
    {
        if (!references.release()) return;
        close(file);
        if (device != nullptr) device->memory_used.fetch_sub(size);
        handles<PhysicalMemory>().destroy(this);
    }
};

namespace {

constexpr size_t huge = size_t{2} << 20;
constexpr size_t huge_1g = size_t{1} << 30;

struct Reserved {
    size_t size;
    void *mapping; /* what mmap gave, and its length: alignment costs a margin */
    size_t mapping_size;
};
struct Mapping {
    size_t size;
    PhysicalMemory *memory = nullptr;
    aclrtMemAccessFlags access;
};

std::mutex &vmm_lock = *new std::mutex;
std::map<uintptr_t, Reserved> &reserved = *new std::map<uintptr_t, Reserved>;
std::map<uintptr_t, Mapping> &mappings = *new std::map<uintptr_t, Mapping>;

bool is_1g(aclrtMemAttr attr)
{
    return attr == ACL_HBM_MEM_HUGE1G || attr == ACL_HBM_MEM_P2P_HUGE1G || attr == ACL_MEM_HUGE1G || attr == ACL_MEM_P2P_HUGE1G;
}

aclError check_prop(const aclrtPhysicalMemProp &prop)
{
    if (prop.memAttr < ACL_DDR_MEM || prop.memAttr > ACL_MEM_P2P_HUGE1G) {
        return fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE, "prop->memAttr is %d, not one of aclrtMemAttr", static_cast<int>(prop.memAttr));
    }
    if (prop.allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "prop->allocationType is %d, only pinned (0) exists", static_cast<int>(prop.allocationType));
    }
    if (prop.location.type != ACL_MEM_LOCATION_TYPE_DEVICE && prop.location.type != ACL_MEM_LOCATION_TYPE_HOST) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "prop->location.type is %d, not host (0) or device (1)",
                    static_cast<int>(prop.location.type));
    }
    return ACL_SUCCESS;
}

aclError find_physical(void *handle, PhysicalMemory **memory)
{
    REQUIRE(handle != nullptr, "handle is NULL");
    *memory = Handles<PhysicalMemory>::find(handle);
    if (*memory != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "handle %p is no live physical memory", handle);
}

/* Under the lock. */
std::map<uintptr_t, Mapping>::iterator find_mapping(void *address) { return mappings.find(reinterpret_cast<uintptr_t>(address)); }

aclError reserve(void **vir_ptr, size_t size, size_t alignment, void *expect_ptr, const void *creator)
{
    REQUIRE_NOT_NULL(vir_ptr);
    REQUIRE(size != 0, "size is 0");
    if (alignment != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "alignment is %zu, it must be 0", alignment);
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    size_t step = size >= huge_1g ? huge_1g : huge;
    if (size > SIZE_MAX / 4) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no addresses for %zu bytes", size);
    size_t length = round_up(size, huge);
    size_t margin = expect_ptr == nullptr ? step : 0;
    int fixed = expect_ptr == nullptr ? 0 : MAP_FIXED_NOREPLACE;
    void *start = mmap(expect_ptr, length + margin, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (start == MAP_FAILED || (expect_ptr != nullptr && start != expect_ptr)) {
        if (start != MAP_FAILED) munmap(start, length + margin);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no addresses for %zu bytes%s", size, expect_ptr != nullptr ? " at expect_ptr" : "");
    }
    uintptr_t base = margin != 0 ? round_up(reinterpret_cast<uintptr_t>(start), step) : reinterpret_cast<uintptr_t>(start);
    std::lock_guard<std::mutex> hold(vmm_lock);
    reserved[base] = {length, start, length + margin};
    g_reserved.fetch_add(1);
    *vir_ptr = reinterpret_cast<void *>(base);
    track(*vir_ptr, "range of reserved addresses", creator);
    return ACL_SUCCESS;
}

aclError map_physical(void *vir_ptr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags, aclrtMemAccessFlags access,
                      const void *creator)
{
    REQUIRE_NOT_NULL(vir_ptr);
    REQUIRE(size != 0, "size is 0");
    PhysicalMemory *memory = nullptr;
    RETURN_IF_ERROR(find_physical(handle, &memory));
    if (offset != 0 || flags != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "offset is %zu and flags %llu, both must be 0", offset,
                    static_cast<unsigned long long>(flags));
    }
    if (size != memory->size) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "size is %zu, the physical memory has %zu bytes", size, memory->size);
    }
    uintptr_t base = reinterpret_cast<uintptr_t>(vir_ptr);
    std::lock_guard<std::mutex> hold(vmm_lock);
    auto next = reserved.upper_bound(base);
    bool inside = next != reserved.begin() && base - std::prev(next)->first <= std::prev(next)->second.size - size &&
                  size <= std::prev(next)->second.size;
    if (!inside || base % huge != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "vir_ptr %p with %zu bytes lies in no reserved addresses, or not on 2 MiB", vir_ptr, size);
    }
    Allocation range;
    range.base = base;
    range.size = range.extent = size;
    range.kind = memory->device != nullptr ? MemoryKind::Mapped : MemoryKind::Registered;
    range.device = memory->device != nullptr ? memory->device->id : 0;
    range.mapped = true;
    range.creator = creator;
    if (!memory->references.retain()) return fail(ACL_ERROR_RT_INVALID_HANDLE, "the physical memory was freed during the call");
    if (!register_range(range)) {
        memory->release();
        return fail(ACL_ERROR_RT_PARAM_INVALID, "something is mapped at vir_ptr %p already", vir_ptr);
    }
    int protection = access == ACL_RT_MEM_ACCESS_FLAGS_NONE ? PROT_NONE : PROT_READ | PROT_WRITE;
    if (mmap(vir_ptr, size, protection, MAP_SHARED | MAP_FIXED, memory->file, 0) == MAP_FAILED) {
        Allocation removed;
        unregister_range(base, range.kind, &removed);
        aclError error = fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "mapping failed: %s", strerror(errno));
        memory->release();
        return error;
    }
    mappings[base] = {size, memory, access};
    return ACL_SUCCESS;
}

} // namespace

std::atomic<uint32_t> g_reserved{0};

bool in_reserved(const void *address, size_t bytes)
{
    uintptr_t begin = reinterpret_cast<uintptr_t>(address);
    std::lock_guard<std::mutex> hold(vmm_lock);
    auto next = reserved.upper_bound(begin);
    if (next != reserved.end() && next->first - begin < bytes) return true;
    return next != reserved.begin() && begin - std::prev(next)->first < std::prev(next)->second.size;
}

void log_live_physical()
{
    handles<PhysicalMemory>().for_each_live([](PhysicalMemory *memory) {
        log_leak(Handles<PhysicalMemory>::creator_of(memory), "physical memory of %zu bytes (%p) is", memory->size,
                 Handles<PhysicalMemory>::handle_of(memory));
    });
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtReserveMemAddress(void **vir_ptr, size_t size, size_t alignment, void *expect_ptr, uint64_t)
{
    ACL_ENTRY();
    return reserve(vir_ptr, size, alignment, expect_ptr, __builtin_return_address(0));
}

aclError aclrtReserveMemAddressNoUCMemory(void **vir_ptr, size_t size, size_t alignment, void *expect_ptr, uint64_t)
{
    ACL_ENTRY();
    return reserve(vir_ptr, size, alignment, expect_ptr, __builtin_return_address(0));
}

aclError aclrtReleaseMemAddress(void *vir_ptr)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(vir_ptr);
    uintptr_t base = reinterpret_cast<uintptr_t>(vir_ptr);
    std::lock_guard<std::mutex> hold(vmm_lock);
    auto found = reserved.find(base);
    if (found == reserved.end()) return fail(ACL_ERROR_RT_PARAM_INVALID, "no addresses are reserved at %p", vir_ptr);
    auto mapping = mappings.lower_bound(base);
    if (mapping != mappings.end() && mapping->first - base < found->second.size) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "memory is mapped at %p: unmap it first", reinterpret_cast<void *>(mapping->first));
    }
    munmap(found->second.mapping, found->second.mapping_size);
    untrack(vir_ptr);
    reserved.erase(found);
    g_reserved.fetch_sub(1);
    return ACL_SUCCESS;
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(handle);
    REQUIRE_NOT_NULL(prop);
    REQUIRE(size != 0, "size is 0");
    if (flags != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "flags is %llu, it must be 0", static_cast<unsigned long long>(flags));
    RETURN_IF_ERROR(check_prop(*prop));
    size_t granule = is_1g(prop->memAttr) ? huge_1g : huge;
    if (size % granule != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "size is %zu, no multiple of the granularity %zu", size, granule);
    }
    Device *device = nullptr;
    if (prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
        device = require_device(prop->location.id);
        if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
        uint64_t limit = settings().memory_bytes;
        uint64_t used = device->memory_used.load();
        do {
            if (size > limit || used > limit - size) {
                return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %d has no room for %zu bytes: %llu of %llu are in use", device->id,
                            size, static_cast<unsigned long long>(used), static_cast<unsigned long long>(limit));
            }
        } while (!device->memory_used.compare_exchange_weak(used, used + size));
    }
    int file = memfd_create("ascend_memory", MFD_CLOEXEC);
    PhysicalMemory *memory = nullptr;
    if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0) {
        memory = handles<PhysicalMemory>().create(__builtin_return_address(0), device, file, size, *prop);
    }
    if (memory == nullptr) {
        if (file >= 0) close(file);
        if (device != nullptr) device->memory_used.fetch_sub(size);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the operating system has no memory for %zu bytes", size);
    }
    *handle = Handles<PhysicalMemory>::handle_of(memory);
    LOG(MEMORY, "physical memory of %zu bytes: %p", size, *handle);
    return ACL_SUCCESS;
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle)
{
    ACL_ENTRY_RELEASE();
    PhysicalMemory *memory = nullptr;
    RETURN_IF_ERROR(find_physical(handle, &memory));
    bool last = false;
    if (!memory->handles_given.give_back(&last)) return fail(ACL_ERROR_RT_INVALID_HANDLE, "handle %p was freed during the call", handle);
    if (!last) return ACL_SUCCESS;
    Handles<PhysicalMemory>::retire(memory);
    memory->release();
    return ACL_SUCCESS;
}

aclError aclrtMapMem(void *vir_ptr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags)
{
    ACL_ENTRY();
    return map_physical(vir_ptr, size, offset, handle, flags, ACL_RT_MEM_ACCESS_FLAGS_READWRITE, __builtin_return_address(0));
}

aclError aclrtMemMapNoAccess(void *vir_ptr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags)
{
    ACL_ENTRY();
    return map_physical(vir_ptr, size, offset, handle, flags, ACL_RT_MEM_ACCESS_FLAGS_NONE, __builtin_return_address(0));
}

aclError aclrtUnmapMem(void *vir_ptr)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(vir_ptr);
    std::lock_guard<std::mutex> hold(vmm_lock);
    auto found = find_mapping(vir_ptr);
    if (found == mappings.end()) return fail(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped at %p", vir_ptr);
    Allocation removed;
    MemoryKind kind = found->second.memory->device != nullptr ? MemoryKind::Mapped : MemoryKind::Registered;
    unregister_range(found->first, kind, &removed);
    /* The addresses stay reserved. */
    mmap(vir_ptr, found->second.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    found->second.memory->release();
    mappings.erase(found);
    return ACL_SUCCESS;
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(prop);
    REQUIRE_NOT_NULL(granularity);
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM && option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "option is %d, not minimum (0) or recommended (1)", static_cast<int>(option));
    }
    RETURN_IF_ERROR(check_prop(*prop));
    *granularity = is_1g(prop->memAttr) ? huge_1g : huge;
    return ACL_SUCCESS;
}

aclError aclrtMemSetAccess(void *vir_ptr, size_t size, aclrtMemAccessDesc *desc, size_t count)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(vir_ptr);
    REQUIRE_NOT_NULL(desc);
    REQUIRE(count != 0, "count is 0");
    std::lock_guard<std::mutex> hold(vmm_lock);
    auto found = find_mapping(vir_ptr);
    if (found == mappings.end() || found->second.size != size) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "no %zu bytes are mapped at %p", size, vir_ptr);
    }
    /* One address space: whoever gets access, the process has it. */
    int protection = PROT_NONE;
    int access = ACL_RT_MEM_ACCESS_FLAGS_NONE;
    for (size_t i = 0; i < count; ++i) {
        switch (desc[i].flags) {
        case ACL_RT_MEM_ACCESS_FLAGS_NONE: break;
        case ACL_RT_MEM_ACCESS_FLAGS_READ: protection |= PROT_READ; break;
        case ACL_RT_MEM_ACCESS_FLAGS_READWRITE: protection |= PROT_READ | PROT_WRITE; break;
        default: return fail(ACL_ERROR_RT_PARAM_INVALID, "desc[%zu].flags is %d, not 0, 1 or 3", i, static_cast<int>(desc[i].flags));
        }
        access |= desc[i].flags;
    }
    mprotect(vir_ptr, size, protection);
    found->second.access = static_cast<aclrtMemAccessFlags>(access);
    return ACL_SUCCESS;
}

aclError aclrtMemGetAccess(void *vir_ptr, aclrtMemLocation *location, uint64_t *flag)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(vir_ptr);
    REQUIRE_NOT_NULL(location);
    REQUIRE_NOT_NULL(flag);
    std::lock_guard<std::mutex> hold(vmm_lock);
    auto found = find_mapping(vir_ptr);
    if (found == mappings.end()) return fail(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped at %p", vir_ptr);
    *flag = found->second.access;
    return ACL_SUCCESS;
}

aclError aclrtMemRetainAllocationHandle(void *vir_ptr, aclrtDrvMemHandle *handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(vir_ptr);
    REQUIRE_NOT_NULL(handle);
    std::lock_guard<std::mutex> hold(vmm_lock);
    auto found = find_mapping(vir_ptr);
    if (found == mappings.end()) return fail(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped at %p", vir_ptr);
    PhysicalMemory *memory = found->second.memory;
    if (!memory->handles_given.retain()) return fail(ACL_ERROR_RT_INVALID_HANDLE, "the handle of that memory was freed already");
    *handle = Handles<PhysicalMemory>::handle_of(memory);
    return ACL_SUCCESS;
}

aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(prop);
    PhysicalMemory *memory = nullptr;
    RETURN_IF_ERROR(find_physical(handle, &memory));
    *prop = memory->prop;
    return ACL_SUCCESS;
}
