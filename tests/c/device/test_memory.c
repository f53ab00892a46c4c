/* SPDX-License-Identifier: Apache-2.0
 * Memory: allocation, freeing, attributes, registration, managed memory, pools, virtual memory. The device has 64 MiB. */
#include <sys/mman.h>

#include "check.h"

#define MIB ((size_t)1 << 20)

static aclrtBinHandle binary;

static void allocation(void)
{
    void *p, *q;
    size_t free_before, free_after, total;
    int on_stack;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    CHECK(total == 64 * MIB && free_before == total);
    FAILS(100000, aclrtGetMemInfo(ACL_HBM_MEM, NULL, &total));
    FAILS(100000, aclrtGetMemInfo(ACL_HBM_MEM, &free_before, NULL));
    FAILS(107016, aclrtGetMemInfo((aclrtMemAttr)99, &free_before, &total));
    FAILS(100000, aclrtMalloc(NULL, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtMallocAlign32(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtMallocCached(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtMallocWithCfg(NULL, 8, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    aclrtMallocConfig config = {NULL, 1};
    FAILS(100000, aclrtMallocWithCfg(&p, 8, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    FAILS(100000, aclrtMallocForTaskScheduler(&p, 8, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    FAILS(100000, aclrtMallocHostWithCfg(&p, 8, &config));

    /* rounded up to 32 and 32 more */
    OK(aclrtMalloc(&p, 1, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK((uintptr_t)p % 64 == 0);
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    CHECK(free_before - free_after == 64);
    OK(aclrtFree(p));
    OK(aclrtMallocAlign32(&p, 33, ACL_MEM_MALLOC_NORMAL_ONLY));
    OK(aclrtGetMemInfo(ACL_DDR_MEM, &free_after, &total));
    CHECK(free_before - free_after == 64);
    OK(aclrtFree(p));
    config.numAttrs = 0;
    OK(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, &config));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    CHECK(free_before - free_after == 100);
    OK(aclrtFree(p));
    OK(aclrtMallocForTaskScheduler(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    OK(aclrtFree(p));
    OK(aclrtMalloc(&p, 3 * MIB, (aclrtMemMallocPolicy)0x777)); /* unknown policies are fine */
    CHECK((uintptr_t)p % (2 * MIB) == 0);
    memset(p, 1, 3 * MIB + 32);
    OK(aclrtFree(p));
    OK(aclrtMallocCached(&p, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemFlush(p, 1000));
    OK(aclrtMemInvalidate(p, 1000));
    FAILS(100000, aclrtMemFlush(NULL, 1));
    FAILS(100000, aclrtMemFlush(p, 0));
    FAILS(100000, aclrtMemInvalidate(NULL, 1));
    FAILS(100000, aclrtMemInvalidate(p, 0));
    OK(aclrtFreeWithDevSync(p));
    FAILS(100000, aclrtFreeWithDevSync(NULL));

    /* freeing what is not to be freed */
    OK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtFree(NULL));
    FAILS(107000, aclrtFree(&on_stack));
    FAILS(107000, aclrtFree((char *)p + 64));
    FAILS(107000, aclrtFreeHost(p));
    OK(aclrtFree(p));
    FAILS(107000, aclrtFree(p));
    q = malloc(100);
    FAILS(107000, aclrtFree(q));
    FAILS(107000, aclrtFreeHost(q));
    free(q);
    OK(aclrtMallocHost(&p, 100));
    CHECK((uintptr_t)p % 64 == 0);
    FAILS(107000, aclrtFree(p));
    OK(aclrtFreeHost(p));
    FAILS(107000, aclrtFreeHost(p));
    FAILS(100000, aclrtFreeHost(NULL));
    FAILS(100000, aclrtMallocHost(&p, 0));
    FAILS(100000, aclrtMallocHost(NULL, 8));
    OK(aclrtMallocHostWithCfg(&p, 5 * MIB, NULL));
    OK(aclrtFreeHostWithDevSync(p));
    FAILS(100000, aclrtFreeHostWithDevSync(NULL));

    /* out of memory is real, and over when something is freed */
    FAILS(207001, aclrtMalloc(&p, 65 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(207001, aclrtMalloc(&p, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(207001, aclrtMallocHost(&p, SIZE_MAX));
    OK(aclrtMalloc(&p, 40 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&q, 40 * MIB, ACL_MEM_MALLOC_HUGE_FIRST) == 207001);
    const char *text = check_message();
    CHECK(strstr(text, "41943040") != NULL && strstr(text, "67108864") != NULL);
    (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    OK(aclrtFree(p));
    OK(aclrtMalloc(&q, 40 * MIB, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(q));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    CHECK(free_after == free_before);

    aclrtMemUsageInfo usage;
    size_t count;
    OK(aclrtGetMemUsageInfo(0, &usage, 1, &count));
    CHECK(count == 1 && usage.curMemSize == 0 && usage.memPeakSize >= 40 * MIB);
    FAILS(107001, aclrtGetMemUsageInfo(9, &usage, 1, &count));
    FAILS(100000, aclrtGetMemUsageInfo(0, NULL, 1, &count));
    FAILS(100000, aclrtGetMemUsageInfo(0, &usage, 0, &count));
    FAILS(100000, aclrtGetMemUsageInfo(0, &usage, 1, NULL));
}

static void attributes(void)
{
    void *device, *host, *base;
    int on_stack;
    size_t size;
    uint32_t result;
    aclrtPtrAttributes info;
    OK(aclrtMalloc(&device, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&host, 1000));
    OK(aclrtPointerGetAttributes((char *)device + 500, &info));
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && info.location.id == 0);
    OK(aclrtPointerGetAttributes(host, &info));
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    OK(aclrtPointerGetAttributes(&on_stack, &info));
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    FAILS(100000, aclrtPointerGetAttributes(NULL, &info));
    FAILS(100000, aclrtPointerGetAttributes(device, NULL));
    OK(aclrtMemGetAddressRange((char *)device + 999, &base, &size));
    CHECK(base == device && size == 1000);
    FAILS(107000, aclrtMemGetAddressRange(host, &base, &size));
    FAILS(107000, aclrtMemGetAddressRange(&on_stack, &base, &size));
    FAILS(100000, aclrtMemGetAddressRange(NULL, &base, &size));
    void *list[2] = {device, (char *)device + 10};
    OK(aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
    CHECK(result == 1);
    list[1] = host;
    OK(aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
    CHECK(result == 0);
    FAILS(100000, aclrtCheckMemType(NULL, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
    FAILS(100000, aclrtCheckMemType(list, 0, ACL_RT_MEM_TYPE_DEV, &result, 0));
    FAILS(100000, aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, NULL, 0));
    FAILS(107000, aclrtCheckMemType(list, 2, 0x40, &result, 0));
    OK(aclrtFree(device));
    OK(aclrtPointerGetAttributes(device, &info));
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    OK(aclrtFreeHost(host));
}

static void registration(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *device;
    aclrtPtrAttributes info;
    FAILS(100000, aclrtHostRegister(NULL, page, ACL_HOST_REGISTER_MAPPED, &device));
    FAILS(100000, aclrtHostRegister(memory, 0, ACL_HOST_REGISTER_MAPPED, &device));
    FAILS(100000, aclrtHostRegister(memory, page, ACL_HOST_REGISTER_MAPPED, NULL));
    FAILS(107000, aclrtHostRegister(memory + 8, page, ACL_HOST_REGISTER_MAPPED, &device));
    FAILS(207000, aclrtHostRegister(memory, page, ACL_HOST_REGISTER_READONLY, &device));
    FAILS(507911, aclrtHostUnregister(memory));
    OK(aclrtHostRegister(memory, 4 * page, ACL_HOST_REGISTER_MAPPED, &device));
    OK(aclrtPointerGetAttributes(memory + page, &info));
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    FAILS(507910, aclrtHostRegister(memory, 4 * page, ACL_HOST_REGISTER_MAPPED, &device));
    FAILS(507910, aclrtHostRegisterV2(memory + page, page, ACL_HOST_REG_MAPPED));
    void *same;
    OK(aclrtHostGetDevicePointer(memory, &same, 0));
    CHECK(same == device);
    FAILS(100000, aclrtHostGetDevicePointer(memory, &same, 1));
    FAILS(100000, aclrtHostGetDevicePointer(NULL, &same, 0));
    FAILS(507911, aclrtHostGetDevicePointer(memory + 6 * page, &same, 0));
    /* a kernel works on it */
    memset(memory, 0, 4 * page);
    OK(run_with(kernel(binary, "add_value"), 1, NULL, device, 42));
    OK(aclrtSynchronizeStream(NULL));
    CHECK(*(int64_t *)memory == 42);
    OK(aclrtHostUnregister(memory));
    FAILS(507911, aclrtHostUnregister(memory));
    FAILS(100000, aclrtHostUnregister(NULL));
    OK(aclrtPointerGetAttributes(memory, &info));
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    FAILS(107000, aclrtHostRegisterV2(memory, page, 0));
    FAILS(107000, aclrtHostRegisterV2(memory, page, 0x40));
    FAILS(207000, aclrtHostRegisterV2(memory, page, ACL_HOST_REG_READONLY));
    OK(aclrtHostRegisterV2(memory, page, ACL_HOST_REG_PINNED));
    FAILS(107000, aclrtHostGetDevicePointer(memory, &same, 0)); /* pinned, not mapped */
    OK(aclrtHostUnregister(memory));
    munmap(memory, 8 * page);
    /* memory of aclrtMallocHost may be registered as well */
    OK(aclrtMallocHost(&device, 4 * MIB));
    OK(aclrtHostRegisterV2(device, 4 * MIB, ACL_HOST_REG_MAPPED));
    OK(aclrtHostGetDevicePointer(device, &same, 0));
    OK(aclrtHostUnregister(device));
    FAILS(107000, aclrtHostRegisterV2(device, 4 * MIB, ACL_HOST_REG_PINNED));
    OK(aclrtFreeHost(device));
    /* of any size: here small blocks do not begin at a page, as an NPU's do; neighbours are not taken for each other */
    char *small[4];
    for (int i = 0; i < 4; ++i) OK(aclrtMallocHost((void **)&small[i], 24 + 40 * i));
    for (int i = 0; i < 4; ++i) {
        OK(aclrtHostRegister(small[i], 24 + 40 * i, ACL_HOST_REGISTER_MAPPED, &device));
        CHECK(device == small[i]);
        FAILS(507910, aclrtHostRegisterV2(small[i], 8, ACL_HOST_REG_MAPPED));
    }
    for (int i = 0; i < 4; ++i) {
        OK(aclrtHostGetDevicePointer(small[i] + 16, &same, 0));
        memset(small[i], 0, 24);
        OK(run_with(kernel(binary, "add_value"), 1, NULL, small[i], 5 + i));
        OK(aclrtSynchronizeStream(NULL));
        CHECK(*(int64_t *)small[i] == 5 + i);
        OK(aclrtHostUnregister(small[i]));
        FAILS(507911, aclrtHostUnregister(small[i]));
        OK(aclrtPointerGetAttributes(small[i], &info));
        CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_HOST); /* pinned memory still */
        OK(aclrtFreeHost(small[i]));
    }
    aclrtHostMemMapCapability capability;
    OK(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_AIV, &capability));
    CHECK(capability == ACL_RT_HOST_MEM_MAP_SUPPORTED);
    FAILS(107000, aclrtHostMemMapCapabilities(0, (aclrtHacType)33, &capability));
    FAILS(107001, aclrtHostMemMapCapabilities(9, ACL_RT_HAC_TYPE_AIV, &capability));
    FAILS(100000, aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_AIV, NULL));

    void *managed;
    FAILS(107000, aclrtMemAllocManaged(&managed, 100, 2));
    FAILS(100000, aclrtMemAllocManaged(NULL, 100, 1));
    FAILS(100000, aclrtMemAllocManaged(&managed, 0, 1));
    OK(aclrtMemAllocManaged(&managed, 100, ACL_RT_MEM_ATTACH_GLOBAL));
    OK(aclrtPointerGetAttributes(managed, &info));
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_MANAGED);
    OK(aclrtFree(managed));
}

static uint64_t pool_value(aclrtMemPool pool, aclrtMemPoolAttr attr)
{
    uint64_t value = UINT64_MAX;
    OK(aclrtMemPoolGetAttr(pool, attr, &value));
    return value;
}

static void pools(void)
{
    aclrtMemPool pool;
    aclrtMemPoolProps props = {0};
    aclrtStream stream, other;
    void *p, *q;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = 16 * MIB;
    FAILS(100000, aclrtMemPoolCreate(NULL, &props));
    FAILS(100000, aclrtMemPoolCreate(&pool, NULL));
    props.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    FAILS(107000, aclrtMemPoolCreate(&pool, &props));
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = 9;
    FAILS(107001, aclrtMemPoolCreate(&pool, &props));
    props.location.id = 0;
    props.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
    FAILS(207000, aclrtMemPoolCreate(&pool, &props));
    props.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    OK(aclrtMemPoolCreate(&pool, &props));

    FAILS(100000, aclrtMemPoolMallocAsync(NULL, 8, pool, stream));
    FAILS(100000, aclrtMemPoolMallocAsync(&p, 0, pool, stream));
    FAILS(100000, aclrtMemPoolMallocAsync(&p, 8, NULL, stream));
    FAILS(107017, aclrtMemPoolMallocAsync(&p, 8, stream, stream));
    OK(aclrtMemPoolMallocAsync(&p, 1000, pool, stream));
    CHECK(pool_value(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT) == 1024);
    FAILS(107000, aclrtFree(p));
    FAILS(107000, aclrtMemPoolDestroy(pool)); /* in use */
    OK(aclrtMemsetAsync(p, 1000, 7, 1000, stream));
    /* freed behind long work: the own stream may have it back at once, another one not */
    OK(run_with(kernel(binary, "sleep_us"), 1, stream, NULL, 30000));
    OK(aclrtMemPoolFreeAsync(p, stream));
    FAILS(107000, aclrtMemPoolFreeAsync(p, stream));
    OK(aclrtMemPoolMallocAsync(&q, 1000, pool, other));
    CHECK(q != p);
    OK(aclrtMemPoolFreeAsync(q, other));
    OK(aclrtMemPoolMallocAsync(&q, 900, pool, stream));
    CHECK(q == p);
    OK(aclrtMemsetAsync(q, 900, 1, 900, stream));
    OK(aclrtSynchronizeStream(stream));
    aclrtPtrAttributes info;
    OK(aclrtPointerGetAttributes(q, &info)); /* the overtaken free did not take it away */
    CHECK(info.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
    OK(aclrtMemPoolFreeAsync(q, stream));
    FAILS(107000, aclrtMemPoolFreeAsync(&info, stream));
    FAILS(100000, aclrtMemPoolFreeAsync(NULL, stream));

    /* a synchronization gives back what lies idle, down to the threshold */
    OK(aclrtSynchronizeStream(stream));
    CHECK(pool_value(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    uint64_t value = MIB;
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
    OK(aclrtMemPoolMallocAsync(&p, MIB, pool, stream));
    OK(aclrtMemPoolFreeAsync(p, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(pool_value(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == MIB);
    OK(aclrtMemPoolTrimTo(pool, 0));
    CHECK(pool_value(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    CHECK(pool_value(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH) >= MIB);
    value = 0;
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &value));
    CHECK(pool_value(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH) == 0);
    value = 5;
    FAILS(107000, aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value));
    FAILS(107000, aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &value));
    FAILS(107000, aclrtMemPoolSetAttr(pool, (aclrtMemPoolAttr)99, &value));
    FAILS(107000, aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)99, &value));
    FAILS(100000, aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, NULL));
    FAILS(100000, aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, NULL));
    uint32_t reuse = 2;
    FAILS(107000, aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
    reuse = 0;
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &reuse));
    /* the pool's own limit */
    FAILS(207001, aclrtMemPoolMallocAsync(&p, 17 * MIB, pool, stream));
    OK(aclrtMemPoolDestroy(pool));
    FAILS(107017, aclrtMemPoolDestroy(pool));
    FAILS(100000, aclrtMemPoolDestroy(NULL));
    FAILS(107017, aclrtMemPoolTrimTo(pool, 0));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(other));
}

static void virtual_memory(void)
{
    void *address, *second;
    aclrtDrvMemHandle memory, again;
    size_t granule, free_before, free_now, total;
    uint64_t access;
    aclrtPhysicalMemProp prop = {0};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &granule));
    CHECK(granule == 2 * MIB);
    FAILS(107000, aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &granule));
    FAILS(100000, aclrtMemGetAllocationGranularity(NULL, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granule));
    FAILS(100000, aclrtReserveMemAddress(NULL, granule, 0, NULL, 0));
    FAILS(100000, aclrtReserveMemAddress(&address, 0, 0, NULL, 0));
    FAILS(107000, aclrtReserveMemAddress(&address, granule, 4096, NULL, 0));
    OK(aclrtReserveMemAddress(&address, 4 * granule, 0, NULL, 0));
    OK(aclrtReserveMemAddressNoUCMemory(&second, granule, 0, NULL, 0));
    FAILS(107000, aclrtMallocPhysical(&memory, granule + 1, &prop, 0));
    FAILS(107000, aclrtMallocPhysical(&memory, granule, &prop, 1));
    FAILS(100000, aclrtMallocPhysical(&memory, 0, &prop, 0));
    FAILS(207001, aclrtMallocPhysical(&memory, 100 * granule, &prop, 0));
    OK(aclrtMallocPhysical(&memory, granule, &prop, 0));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    CHECK(free_before - free_now == granule);
    FAILS(107000, aclrtMapMem(address, 2 * granule, 0, memory, 0));
    FAILS(107000, aclrtMapMem(address, granule, 1, memory, 0));
    FAILS(107017, aclrtMapMem(address, granule, 0, address, 0));
    FAILS(107000, aclrtMapMem(&prop, granule, 0, memory, 0));
    OK(aclrtMapMem((char *)address + granule, granule, 0, memory, 0));
    FAILS(107000, aclrtMapMem((char *)address + granule, granule, 0, memory, 0));
    OK(aclrtMapMem(second, granule, 0, memory, 0)); /* the same bytes again */
    FAILS(107000, aclrtReleaseMemAddress(address));
    OK(aclrtMemset((char *)address + granule, granule, 5, granule));
    /* no memory is mapped in front of it and behind it */
    FAILS(107000, aclrtMemset((char *)address + 2 * granule, granule, 5, granule));
    FAILS(107000, aclrtMemcpy(&access, sizeof access, address, sizeof access, ACL_MEMCPY_DEVICE_TO_HOST));
    FAILS(107000, aclrtMemsetAsync((char *)address + 64, 64, 0, 64, NULL));
    CHECK(((char *)second)[granule - 1] == 5);
    OK(aclrtMemGetAccess(second, &prop.location, &access));
    CHECK(access == ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
    aclrtMemAccessDesc desc = {0};
    desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
    OK(aclrtMemSetAccess(second, granule, &desc, 1));
    CHECK(((char *)second)[0] == 5);
    FAILS(107000, aclrtMemSetAccess(second, 5, &desc, 1));
    FAILS(107000, aclrtMemGetAccess(address, &prop.location, &access));
    OK(aclrtMemRetainAllocationHandle(second, &again));
    CHECK(again == memory);
    OK(aclrtMemGetAllocationPropertiesFromHandle(memory, &prop));
    CHECK(prop.memAttr == ACL_HBM_MEM_HUGE);
    OK(aclrtFreePhysical(memory)); /* two handles were given */
    OK(aclrtFreePhysical(memory));
    FAILS(107017, aclrtFreePhysical(memory));
    CHECK(((char *)second)[0] == 5); /* mappings keep it */
    OK(aclrtUnmapMem((char *)address + granule));
    FAILS(107000, aclrtUnmapMem((char *)address + granule));
    OK(aclrtUnmapMem(second));
    OK(aclrtReleaseMemAddress(address));
    OK(aclrtReleaseMemAddress(second));
    FAILS(107000, aclrtReleaseMemAddress(second));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
    CHECK(free_before == free_now);
}

int main(void)
{
    setenv("ASCENDCL_CPU_MEMORY", "64MiB", 1);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    allocation();
    attributes();
    registration();
    pools();
    virtual_memory();
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("memory");
}
