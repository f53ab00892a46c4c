/* SPDX-License-Identifier: Apache-2.0
 *
 * The aclrt functions that allocate, free and describe memory.
 */
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "device.h"
#include "log.h"
#include "memory.h"
#include "settings.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

constexpr size_t granule = 32;
/* Larger sizes cannot be rounded up without wrapping around. */
constexpr size_t most_bytes = SIZE_MAX - (size_t{16} << 20);

bool is_huge_1g(aclrtMemMallocPolicy policy)
{
    int plain = static_cast<int>(policy) & 0xFF;
    return plain == ACL_MEM_MALLOC_HUGE1G_ONLY || plain == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

aclError allocate(void **dev_ptr, size_t size, size_t extent, const void *creator)
{
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    if (size > most_bytes) {
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes are more than any device has", size);
    }
    return allocate_device(*context->device, size, extent, MemoryKind::Device, creator, dev_ptr);
}

aclError check_config(const aclrtMallocConfig *cfg)
{
    REQUIRE(cfg == nullptr || cfg->numAttrs == 0 || cfg->attrs != nullptr, "cfg->attrs is NULL, but cfg->numAttrs is %zu",
            cfg->numAttrs);
    return ACL_SUCCESS;
}

bool is_device_kind(MemoryKind kind) { return kind == MemoryKind::Device || kind == MemoryKind::Managed; }
bool is_pinned_kind(MemoryKind kind) { return kind == MemoryKind::Pinned; }

aclError allocate_pinned(void **host_ptr, size_t size, const void *creator)
{
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    Allocation allocation;
    size_t extent = size > most_bytes ? 0 : round_up(size, granule);
    void *memory = extent == 0 ? nullptr : map_memory(extent, &allocation.mapped);
    if (memory == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has no memory for %zu pinned bytes", size);
    allocation.base = reinterpret_cast<uintptr_t>(memory);
    allocation.size = size;
    allocation.extent = extent;
    allocation.kind = MemoryKind::Pinned;
    allocation.device = context->device->id;
    allocation.creator = creator;
    register_range(allocation);
    *host_ptr = memory;
    LOG(MEMORY, "malloc %zu bytes of pinned host memory: %p", size, memory);
    return ACL_SUCCESS;
}

} // namespace

aclError aclrtMalloc(void **dev_ptr, size_t size, aclrtMemMallocPolicy policy)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dev_ptr);
    REQUIRE(size != 0, "size is 0");
    /* The vendor's padding: hardware reads up to 32 bytes past the end. */
    size_t extent = round_up(size, granule) + (is_huge_1g(policy) ? 0 : granule);
    return allocate(dev_ptr, size, extent, __builtin_return_address(0));
}

aclError aclrtMallocAlign32(void **dev_ptr, size_t size, aclrtMemMallocPolicy)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dev_ptr);
    REQUIRE(size != 0, "size is 0");
    return allocate(dev_ptr, size, round_up(size, granule), __builtin_return_address(0));
}

aclError aclrtMallocCached(void **dev_ptr, size_t size, aclrtMemMallocPolicy)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dev_ptr);
    REQUIRE(size != 0, "size is 0");
    return allocate(dev_ptr, size, round_up(size, granule) + granule, __builtin_return_address(0));
}

aclError aclrtMallocWithCfg(void **dev_ptr, size_t size, aclrtMemMallocPolicy, aclrtMallocConfig *cfg)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dev_ptr);
    REQUIRE(size != 0, "size is 0");
    RETURN_IF_ERROR(check_config(cfg));
    return allocate(dev_ptr, size, size, __builtin_return_address(0));
}

aclError aclrtMallocForTaskScheduler(void **dev_ptr, size_t size, aclrtMemMallocPolicy, aclrtMallocConfig *cfg)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dev_ptr);
    REQUIRE(size != 0, "size is 0");
    RETURN_IF_ERROR(check_config(cfg));
    return allocate(dev_ptr, size, size, __builtin_return_address(0));
}

aclError aclrtFree(void *dev_ptr)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(dev_ptr);
    return free_allocation(dev_ptr, is_device_kind, "device memory of aclrtMalloc");
}

aclError aclrtFreeWithDevSync(void *dev_ptr)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(dev_ptr);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(synchronize_device(*context->device, NO_DEADLINE));
    return free_allocation(dev_ptr, is_device_kind, "device memory of aclrtMalloc");
}

aclError aclrtMallocHost(void **host_ptr, size_t size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(host_ptr);
    REQUIRE(size != 0, "size is 0");
    return allocate_pinned(host_ptr, size, __builtin_return_address(0));
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    REQUIRE(size != 0, "size is 0");
    RETURN_IF_ERROR(check_config(cfg));
    return allocate_pinned(ptr, size, __builtin_return_address(0));
}

aclError aclrtFreeHost(void *host_ptr)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(host_ptr);
    return free_allocation(host_ptr, is_pinned_kind, "host memory of aclrtMallocHost");
}

aclError aclrtFreeHostWithDevSync(void *host_ptr)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(host_ptr);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(synchronize_device(*context->device, NO_DEADLINE));
    return free_allocation(host_ptr, is_pinned_kind, "host memory of aclrtMallocHost");
}

aclError aclrtMemFlush(void *dev_ptr, size_t size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dev_ptr);
    REQUIRE(size != 0, "size is 0");
    return ACL_SUCCESS; /* one address space, coherent caches */
}

aclError aclrtMemInvalidate(void *dev_ptr, size_t size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(dev_ptr);
    REQUIRE(size != 0, "size is 0");
    return ACL_SUCCESS;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free_bytes, size_t *total_bytes)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(free_bytes);
    REQUIRE_NOT_NULL(total_bytes);
    if (attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
        return fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE, "attr is %d, not one of aclrtMemAttr", static_cast<int>(attr));
    }
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    uint64_t total = settings().memory_bytes;
    uint64_t used = context->device->memory_used.load();
    *total_bytes = total;
    *free_bytes = used < total ? total - used : 0;
    return ACL_SUCCESS;
}

aclError aclrtGetMemUsageInfo(int32_t device_id, aclrtMemUsageInfo *mem_usage_info, size_t input_num, size_t *output_num)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(mem_usage_info);
    REQUIRE_NOT_NULL(output_num);
    REQUIRE(input_num != 0, "input_num is 0");
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    /* One component is known: the application. */
    memset(mem_usage_info, 0, sizeof *mem_usage_info);
    strncpy(mem_usage_info->name, "APP", sizeof mem_usage_info->name - 1);
    mem_usage_info->curMemSize = device->memory_used.load();
    mem_usage_info->memPeakSize = device->memory_peak.load();
    *output_num = 1;
    return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    REQUIRE_NOT_NULL(attributes);
    *attributes = aclrtPtrAttributes{};
    attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    Allocation found;
    if (!find_allocation(ptr, &found)) return ACL_SUCCESS;
    if (found.kind == MemoryKind::Pinned || found.kind == MemoryKind::Registered) {
        attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
    } else {
        attributes->location.type =
            found.kind == MemoryKind::Managed ? ACL_MEM_LOCATION_TYPE_MANAGED : ACL_MEM_LOCATION_TYPE_DEVICE;
        attributes->location.id = static_cast<uint32_t>(found.device);
    }
    attributes->pageSize = found.mapped ? uint32_t{2} << 20 : static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
    return ACL_SUCCESS;
}

aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    Allocation found;
    if (!find_allocation(ptr, &found) || !found.on_device()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "ptr %p lies in no device memory", ptr);
    }
    if (pbase != nullptr) *pbase = reinterpret_cast<void *>(found.base);
    if (psize != nullptr) *psize = found.size;
    return ACL_SUCCESS;
}

aclError aclrtCheckMemType(void **addr_list, uint32_t size, uint32_t mem_type, uint32_t *check_result, uint32_t reserve)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(addr_list);
    REQUIRE_NOT_NULL(check_result);
    REQUIRE(size != 0, "size is 0");
    REQUIRE(reserve == 0, "reserve is %u, it must be 0", reserve);
    constexpr uint32_t known = ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP | ACL_RT_MEM_TYPE_RSVD;
    if (mem_type == 0 || (mem_type & ~known) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "mem_type is %#x, not made of ACL_RT_MEM_TYPE_* bits", mem_type);
    }
    *check_result = 1;
    for (uint32_t i = 0; i < size; ++i) {
        Allocation found;
        bool device = find_allocation(addr_list[i], &found) && found.on_device();
        if (!device || (mem_type & ACL_RT_MEM_TYPE_DEV) == 0) *check_result = 0;
    }
    return ACL_SUCCESS;
}
