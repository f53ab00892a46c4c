/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that devices may use: registered and managed memory. There is one address space here, so the device's
 * address of host memory is the host's.
 */
#include <unistd.h>

#include "device.h"
#include "leaks.h"
#include "log.h"
#include "memory.h"
#include "settings.h"

#include <map>
#include <mutex>

namespace acl_cpu {
namespace {

/* What was registered. Memory of aclrtMallocHost has an entry in the allocation registry already and may be registered
 * as well, so registrations are kept by themselves too. */
struct Registration {
    size_t size;
    bool mapped;  /* has a device address */
    bool entered; /* stands in the allocation registry */
    const void *creator;
};

struct Registrations {
    std::mutex lock;
    std::map<uintptr_t, Registration> ranges;

    bool overlaps(uintptr_t base, size_t size) const
    {
        auto next = ranges.lower_bound(base);
        if (next != ranges.end() && next->first < base + size) return true;
        if (next == ranges.begin()) return false;
        auto before = std::prev(next);
        return base - before->first < before->second.size;
    }
};
Registrations &registrations = *new Registrations;

aclError register_host(void *ptr, uint64_t size, bool mapped, bool pins, const void *creator)
{
    REQUIRE_NOT_NULL(ptr);
    REQUIRE(size != 0, "size is 0");
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    uintptr_t base = reinterpret_cast<uintptr_t>(ptr);
    uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    Allocation found;
    bool known = find_allocation(ptr, &found);
    /* On an NPU memory of aclrtMallocHost starts at a page and passes this test, so here it may lie anywhere. */
    bool may_lie_anywhere = known && found.kind == MemoryKind::Pinned;
    if ((base % page != 0 && !may_lie_anywhere) || size > UINTPTR_MAX - base) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "ptr %p is not aligned to a page of %zu bytes", ptr, static_cast<size_t>(page));
    }
    if (known && found.kind != MemoryKind::Pinned && found.kind != MemoryKind::Registered) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "ptr %p is device memory, only host memory can be registered", ptr);
    }
    if (known && pins && found.kind == MemoryKind::Pinned) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "ptr %p is pinned already: it is memory of aclrtMallocHost", ptr);
    }
    std::lock_guard<std::mutex> hold(registrations.lock);
    if (registrations.overlaps(base, size)) {
        return fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%llu bytes at %p are registered already, at least in part",
                    static_cast<unsigned long long>(size), ptr);
    }
    Allocation range;
    range.base = base;
    range.size = range.extent = size;
    range.kind = MemoryKind::Registered;
    range.device = context->device->id;
    bool entered = !known && register_range(range);
    registrations.ranges[base] = {size, mapped, entered, creator};
    LOG(MEMORY, "%llu bytes of host memory registered at %p", static_cast<unsigned long long>(size), ptr);
    return ACL_SUCCESS;
}

} // namespace

void log_live_registrations()
{
    std::lock_guard<std::mutex> hold(registrations.lock);
    for (const auto &[base, range] : registrations.ranges) {
        log_leak(range.creator, "the registration of %zu bytes at %p is", range.size, reinterpret_cast<void *>(base));
    }
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **dev_ptr)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    REQUIRE_NOT_NULL(dev_ptr);
    if (type != ACL_HOST_REGISTER_MAPPED) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "type is %d, only ACL_HOST_REGISTER_MAPPED (0) is supported",
                    static_cast<int>(type));
    }
    RETURN_IF_ERROR(register_host(ptr, size, true, false, __builtin_return_address(0)));
    *dev_ptr = ptr;
    return ACL_SUCCESS;
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    constexpr uint32_t known = ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY | ACL_HOST_REG_PINNED;
    if (flag == 0 || (flag & ~known) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %#x, not made of ACL_HOST_REG_* bits", flag);
    }
    if ((flag & (ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY)) != 0) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "flag is %#x; IO memory and read-only registration are not supported", flag);
    }
    return register_host(ptr, size, (flag & ACL_HOST_REG_MAPPED) != 0, (flag & ACL_HOST_REG_PINNED) != 0,
                         __builtin_return_address(0));
}

aclError aclrtHostUnregister(void *ptr)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(ptr);
    std::lock_guard<std::mutex> hold(registrations.lock);
    auto found = registrations.ranges.find(reinterpret_cast<uintptr_t>(ptr));
    if (found == registrations.ranges.end()) {
        return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "no host memory is registered at %p", ptr);
    }
    Allocation removed;
    if (found->second.entered) unregister_range(found->first, MemoryKind::Registered, &removed);
    registrations.ranges.erase(found);
    return ACL_SUCCESS;
}

aclError aclrtHostGetDevicePointer(void *p_host, void **p_device, uint32_t flag)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(p_host);
    REQUIRE_NOT_NULL(p_device);
    REQUIRE(flag == 0, "flag is %u, it must be 0", flag);
    std::lock_guard<std::mutex> hold(registrations.lock);
    uintptr_t address = reinterpret_cast<uintptr_t>(p_host);
    auto next = registrations.ranges.upper_bound(address);
    bool inside = next != registrations.ranges.begin() && address - std::prev(next)->first < std::prev(next)->second.size;
    if (!inside || !std::prev(next)->second.mapped) {
        return fail(inside ? ACL_ERROR_RT_PARAM_INVALID : ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "p_host %p %s", p_host,
                    inside ? "was registered without ACL_HOST_REG_MAPPED" : "lies in no registered memory");
    }
    *p_device = p_host;
    return ACL_SUCCESS;
}

aclError aclrtHostMemMapCapabilities(uint32_t device_id, aclrtHacType hac_type, aclrtHostMemMapCapability *capabilities)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(capabilities);
    if (require_device(device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    if (hac_type < ACL_RT_HAC_TYPE_STARS || hac_type > ACL_RT_HAC_TYPE_CCU) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "hac_type is %d, not one of aclrtHacType", static_cast<int>(hac_type));
    }
    bool cores = hac_type == ACL_RT_HAC_TYPE_AIC || hac_type == ACL_RT_HAC_TYPE_AIV;
    *capabilities = cores ? ACL_RT_HOST_MEM_MAP_SUPPORTED : ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED;
    return ACL_SUCCESS;
}

aclError aclrtMemAllocManaged(void **ptr, uint64_t size, uint32_t flag)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    REQUIRE(size != 0, "size is 0");
    if (flag != ACL_RT_MEM_ATTACH_GLOBAL) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, only ACL_RT_MEM_ATTACH_GLOBAL (1) exists", flag);
    }
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    constexpr size_t granule = size_t{2} << 20;
    if (size > SIZE_MAX - 4 * granule) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "size is more than any device has");
    return allocate_device(*context->device, size, round_up(size, granule), MemoryKind::Managed, __builtin_return_address(0), ptr);
}
