/* SPDX-License-Identifier: Apache-2.0
 * The refusals that many functions share: no context, a stream of another context, handles that are gone, NULL.
 * And the few functions that belong nowhere else. */
#include <pthread.h>

#include "check.h"

static aclrtBinHandle binary;
static aclrtFuncHandle empty;
static char *memory, *pinned;
static aclrtNotify notify;
static aclrtCntNotify counting;
static aclrtEvent event;
static aclrtMemPool pool;
static void *pooled;

static void nothing(void *unused) { (void)unused; }

/* A thread that has no context. */
static void *without_context(void *unused)
{
    (void)unused;
    void *p;
    size_t bytes, total;
    int64_t option;
    uint32_t number;
    int32_t device;
    char host[16] = {0};
    aclrtStream stream;
    aclrtEvent made;
    aclrtNotify other;
    aclrtFloatOverflowMode mode;
    FAILS(107002, aclrtBinaryUnLoad(binary));
    FAILS(107002, aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &p));
    FAILS(107002, aclrtCreateStreamWithConfig(&stream, 0, 0));
    FAILS(107002, aclrtCreateEvent(&made));
    FAILS(107002, aclrtCreateEventExWithFlag(&made, ACL_EVENT_SYNC));
    FAILS(107002, aclrtCreateNotify(&other, 0));
    FAILS(107002, aclrtCtxGetCurrentDefaultStream(&stream));
    FAILS(107002, aclrtCtxGetFloatOverflowAddr(&p));
    FAILS(107002, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &option));
    FAILS(107002, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    FAILS(107002, aclrtDeviceEnablePeerAccess(1, 0));
    FAILS(107002, aclrtDeviceDisablePeerAccess(1));
    FAILS(107002, aclrtDeviceL2CacheFlush(NULL));
    FAILS(107002, aclrtFreeWithDevSync(memory));
    FAILS(107002, aclrtFreeHostWithDevSync(pinned));
    FAILS(107002, aclrtGetDevice(&device));
    FAILS(107002, aclrtGetDeviceSatMode(&mode));
    FAILS(107002, aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    FAILS(107002, aclrtGetEventAvailNum(&number));
    FAILS(107002, aclrtGetStreamAvailableNum(&number));
    FAILS(107002, aclrtGetHardwareSyncAddr(&p));
    FAILS(107002, aclrtGetMemInfo(ACL_HBM_MEM, &bytes, &total));
    FAILS(107002, aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &number));
    FAILS(107002, aclrtMallocAlign32(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(107002, aclrtMallocCached(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(107002, aclrtMallocWithCfg(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    FAILS(107002, aclrtMallocForTaskScheduler(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, NULL));
    FAILS(107002, aclrtMallocHostWithCfg(&p, 64, NULL));
    FAILS(107002, aclrtMemAllocManaged(&p, 64, ACL_RT_MEM_ATTACH_GLOBAL));
    FAILS(107002, aclrtHostRegisterV2(host, 16, ACL_HOST_REG_MAPPED));
    FAILS(107002, aclrtReserveMemAddress(&p, 2 << 20, 0, NULL, 0));
    FAILS(107002, aclrtMemcpy(memory, 64, host, 16, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(107002, aclrtMemcpy2d(memory, 8, host, 8, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(107002, aclrtMemset(memory, 64, 0, 16));
    FAILS(107002, aclrtMemsetD32(memory, 64, 0, 4));
    FAILS(107002, aclrtSynchronizeDevice());
    FAILS(107002, aclrtSynchronizeDeviceWithTimeout(100));
    FAILS(107002, aclrtSynchronizeEvent(event));
    FAILS(107002, aclrtSynchronizeEventWithTimeout(event, 100));
    /* the default stream is the context's: every enqueuing call needs one too */
    FAILS(107002, run(empty, 1, NULL, NULL, 0));
    FAILS(107002, aclrtMemsetAsync(memory, 64, 0, 64, NULL));
    FAILS(107002, aclrtRecordEvent(event, NULL));
    FAILS(107002, aclrtStreamWaitEvent(NULL, event));
    FAILS(107002, aclrtLaunchHostFunc(NULL, nothing, NULL));
    FAILS(107002, aclrtRecordNotify(notify, NULL));
    FAILS(107002, aclrtSynchronizeStream(NULL));
    return NULL;
}

/* Descriptions and random numbers, prepared by main(). */
static void *copy_description, *cmo_description;
static aclrtRandomNumTaskInfo numbers;
static struct {
    void *dst, *src;
} *addresses; /* in device memory */

/* Every call that enqueues, and every other that is for the streams of the current context only. */
static void for_own_streams_only(aclError code, aclrtStream stream)
{
    char host[16] = {0};
    aclrtCntNotifyRecordInfo record = {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    aclrtCntNotifyWaitInfo wait = {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 3, 0, 1, {0}};
    aclrtStreamAttrValue attribute = {.userCustomTag = 7};
    uint64_t args[2] = {0};
    uint32_t flag;
    void *p;
    size_t failed, size = 8, index = 0;
    void *dst = memory, *src = pinned;
    aclrtMemcpyBatchAttr batch = {.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE}, .srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST}};
    aclrtArgsHandle list;
    OK(aclrtKernelArgsInit(empty, &list));
    OK(aclrtKernelArgsFinalize(list));
    FAILS(code, aclrtLaunchKernelWithHostArgs(empty, 1, stream, NULL, args, 8, NULL, 0));
    FAILS(code, aclrtLaunchKernelWithConfig(empty, 1, stream, NULL, list, NULL));
    FAILS(code, aclrtLaunchKernelWithArgsArray(empty, 1, stream, NULL, NULL));
    FAILS(code, aclrtLaunchKernel(empty, 1, memory, 8, stream));
    FAILS(code, aclrtLaunchKernelV2(empty, 1, memory, 8, NULL, stream));
    FAILS(code, aclrtMemcpyAsync(memory, 64, pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(code, aclrtMemcpyAsync(memory, 64, host, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream)); /* pageable */
    FAILS(code, aclrtMemcpy2dAsync(memory, 8, pinned, 8, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    FAILS(code, aclrtMemcpyBatchAsync(&dst, &size, &src, &size, 1, &batch, &index, 1, &failed, stream));
    FAILS(code, aclrtMemcpyBatchAsyncV2(&dst, &size, &src, &size, 1, &batch, &index, 1, stream));
    FAILS(code, aclrtMemsetAsync(memory, 64, 0, 64, stream));
    FAILS(code, aclrtMemsetD32Async(memory, 64, 0, 4, stream));
    FAILS(code, aclrtReduceAsync(memory, memory + 32, 16, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream, NULL));
    FAILS(code, aclrtValueWrite(memory, 1, 0, stream));
    FAILS(code, aclrtValueWait(memory, 1, 0, stream));
    FAILS(code, aclrtCmoAsync(memory, 64, ACL_RT_CMO_TYPE_PREFETCH, stream));
    FAILS(code, aclrtCmoAsyncWithDesc(cmo_description, ACL_RT_CMO_TYPE_PREFETCH, stream, NULL));
    FAILS(code, aclrtMemcpyAsyncWithDesc(copy_description, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
    FAILS(code, aclrtMemcpyAsyncWithOffset(&addresses->dst, 64, 0, (const void **)&addresses->src, 8, 0,
                                           ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
    FAILS(code, aclrtRandomNumAsync(&numbers, stream, NULL));
    FAILS(code, aclrtGetFloatOverflowStatus(memory, 64, stream));
    FAILS(code, aclrtResetFloatOverflowStatus(stream));
    FAILS(code, aclrtNpuClearFloatOverFlowStatus(0, stream));
    FAILS(code, aclrtRecordEvent(event, stream));
    FAILS(code, aclrtRecordEventWithFlag(event, stream, 0));
    FAILS(code, aclrtResetEvent(event, stream));
    FAILS(code, aclrtStreamWaitEvent(stream, event));
    FAILS(code, aclrtStreamWaitEventWithTimeout(stream, event, 1));
    FAILS(code, aclrtStreamWaitEventWithFlag(stream, event, 1, 0));
    FAILS(code, aclrtRecordNotify(notify, stream));
    FAILS(code, aclrtWaitAndResetNotify(notify, stream, 1));
    FAILS(code, aclrtCntNotifyRecord(counting, stream, &record));
    FAILS(code, aclrtCntNotifyReset(counting, stream));
    FAILS(code, aclrtCntNotifyWaitWithTimeout(counting, stream, &wait));
    FAILS(code, aclrtLaunchHostFunc(stream, nothing, NULL));
    FAILS(code, aclrtLaunchCallback(nothing, NULL, ACL_CALLBACK_BLOCK, stream));
    FAILS(code, aclrtSubscribeReport((uint64_t)pthread_self(), stream));
    FAILS(code, aclrtUnSubscribeReport((uint64_t)pthread_self(), stream));
    FAILS(code, aclrtSubscribeHostFunc((uint64_t)pthread_self(), stream));
    FAILS(code, aclrtUnSubscribeHostFunc((uint64_t)pthread_self(), stream));
    FAILS(code, aclrtMemPoolMallocAsync(&p, 64, pool, stream));
    FAILS(code, aclrtMemPoolFreeAsync(pooled, stream));
    FAILS(code, aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &attribute));
    FAILS(code, aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
    FAILS(code, aclrtSetStreamOverflowSwitch(stream, 1));
    FAILS(code, aclrtGetStreamOverflowSwitch(stream, &flag));
    FAILS(code, aclrtGetOverflowStatus(memory, 64, stream));
    FAILS(code, aclrtResetOverflowStatus(stream));
    FAILS(code, aclrtStreamAbort(stream));
    FAILS(code, aclrtStreamStop(stream));
    FAILS(code, aclrtDestroyStream(stream));
    FAILS(code, aclrtDestroyStreamForce(stream));
}

static void foreign_and_stale_streams(void)
{
    aclrtContext mine, other;
    aclrtStream stream;
    OK(aclrtGetCurrentContext(&mine));
    void *p;
    OK(aclrtSetDevice(1)); /* the pool is on device 0 */
    FAILS(107000, aclrtMemPoolMallocAsync(&p, 64, pool, NULL));
    aclrtStream default_stream;
    OK(aclrtCtxGetCurrentDefaultStream(&default_stream));
    FAILS(107000, aclrtStreamStop(default_stream));
    OK(aclrtResetDevice(1));
    OK(aclrtSetCurrentContext(mine));
    OK(aclrtCreateContext(&other, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtSetCurrentContext(mine));
    for_own_streams_only(107003, stream);
    /* nothing of that reached the stream, and what works across contexts does */
    aclrtStreamStatus status;
    uint32_t number;
    int32_t id;
    OK(aclrtStreamQuery(stream, &status));
    CHECK(status == ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtSynchronizeStreamWithTimeout(stream, 1000));
    OK(aclrtStreamGetId(stream, &id));
    OK(aclrtStreamGetFlags(stream, &number));
    OK(aclrtStreamGetPriority(stream, &number));
    OK(aclrtSetCurrentContext(other));
    OK(aclrtDestroyStream(stream));
    OK(aclrtSetCurrentContext(mine));
    OK(aclrtDestroyContext(other));
    for_own_streams_only(107017, stream);
    for_own_streams_only(107017, (aclrtStream)event); /* of another kind */
    aclrtStreamAttrValue attribute;
    FAILS(107017, aclrtStreamQuery(stream, &status));
    FAILS(107017, aclrtSynchronizeStreamWithTimeout(stream, 1000));
    FAILS(107017, aclrtStreamGetId(stream, &id));
    FAILS(107017, aclrtStreamGetFlags(stream, &number));
    FAILS(107017, aclrtStreamGetPriority(stream, &number));
    FAILS(107017, aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &attribute));
    FAILS(107017, aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &number));
    FAILS(107017, aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 1));
    FAILS(107017, aclrtResetStreamResLimit(stream));
    FAILS(107017, aclrtUseStreamResInCurrentThread(stream));
    FAILS(107017, aclrtUnuseStreamResInCurrentThread(stream));
    aclrtAllocatorDesc description = aclrtAllocatorCreateDesc(), found;
    aclrtAllocator object;
    aclrtAllocatorAllocFunc allocate;
    aclrtAllocatorFreeFunc release;
    aclrtAllocatorAllocAdviseFunc near;
    aclrtAllocatorGetAddrFromBlockFunc address;
    FAILS(107017, aclrtAllocatorRegister(stream, description));
    FAILS(107017, aclrtAllocatorUnregister(stream));
    FAILS(107017, aclrtAllocatorGetByStream(stream, &found, &object, &allocate, &release, &near, &address));
    OK(aclrtAllocatorDestroyDesc(description));
}

static void stale_handles(void)
{
    aclrtEvent gone;
    aclrtEventRecordedStatus recorded;
    aclrtEventStatus old;
    aclrtEventWaitStatus waits;
    aclrtNotify no_notify;
    aclrtCntNotify no_counter;
    aclrtMemPool no_pool;
    aclrtBinHandle no_binary, found;
    aclrtCntNotifyRecordInfo record = {ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1};
    aclrtCntNotifyWaitInfo wait = {ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 3, 0, 1, {0}};
    uint64_t us, args[2] = {0}, threshold = 0;
    uint32_t number;
    float ms;
    OK(aclrtCreateEvent(&gone));
    OK(aclrtDestroyEvent(gone));
    FAILS(107017, aclrtDestroyEvent(gone));
    FAILS(107017, aclrtEventElapsedTime(&ms, event, gone));
    FAILS(107017, aclrtEventElapsedTime(&ms, gone, event));
    FAILS(107017, aclrtEventGetTimestamp(gone, &us));
    FAILS(107017, aclrtGetEventId(gone, &number));
    FAILS(107017, aclrtQueryEvent(gone, &old));
    FAILS(107017, aclrtQueryEventStatus(gone, &recorded));
    FAILS(107017, aclrtQueryEventWaitStatus(gone, &waits));
    FAILS(107017, aclrtRecordEvent(gone, NULL));
    FAILS(107017, aclrtResetEvent(gone, NULL));
    FAILS(107017, aclrtStreamWaitEvent(NULL, gone));
    FAILS(107017, aclrtSynchronizeEvent(gone));
    FAILS(107017, aclrtSynchronizeEventWithTimeout(gone, 100));

    OK(aclrtCreateNotify(&no_notify, 0));
    OK(aclrtDestroyNotify(no_notify));
    FAILS(107017, aclrtDestroyNotify(no_notify));
    FAILS(107017, aclrtGetNotifyId(no_notify, &number));
    FAILS(107017, aclrtRecordNotify(no_notify, NULL));
    FAILS(107017, aclrtWaitAndResetNotify(no_notify, NULL, 1));
    FAILS(107017, aclrtNotifyBatchReset(&no_notify, 1));
    OK(aclrtCntNotifyCreate(&no_counter, 0));
    OK(aclrtCntNotifyDestroy(no_counter));
    FAILS(107017, aclrtCntNotifyDestroy(no_counter));
    FAILS(107017, aclrtCntNotifyGetId(no_counter, &number));
    FAILS(107017, aclrtCntNotifyRecord(no_counter, NULL, &record));
    FAILS(107017, aclrtCntNotifyWaitWithTimeout(no_counter, NULL, &wait));

    aclrtMemPoolProps props = {.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    OK(aclrtMemPoolCreate(&no_pool, &props));
    OK(aclrtMemPoolDestroy(no_pool));
    FAILS(107017, aclrtMemPoolDestroy(no_pool));
    FAILS(107017, aclrtMemPoolSetAttr(no_pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    FAILS(107017, aclrtMemPoolGetAttr(no_pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    FAILS(107017, aclrtMemPoolTrimTo(no_pool, 0));
    FAILS(100000, aclrtMemPoolTrimTo(NULL, 0));

    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &no_binary));
    aclrtFuncHandle no_function = kernel(no_binary, "empty"), function;
    OK(aclrtBinaryUnLoad(no_binary));
    void *p;
    size_t size, offset;
    int64_t value;
    aclrtArgsHandle list;
    char name[32];
    FAILS(107017, aclrtBinaryGetFunction(no_binary, "empty", &function));
    FAILS(107017, aclrtBinaryGetFunctionByEntry(no_binary, 0, &function));
    FAILS(107017, aclrtBinaryGetGlobal(no_binary, "x", &p, &size));
    FAILS(107017, run(no_function, 1, NULL, NULL, 0));
    FAILS(107017, aclrtLaunchKernel(no_function, 1, memory, 8, NULL));
    FAILS(107017, aclrtLaunchKernelV2(no_function, 1, memory, 8, NULL, NULL));
    FAILS(107017, aclrtLaunchKernelWithArgsArray(no_function, 1, NULL, NULL, NULL));
    OK(aclrtKernelArgsInit(empty, &list));
    OK(aclrtKernelArgsFinalize(list));
    FAILS(107017, aclrtLaunchKernelWithConfig(no_function, 1, NULL, NULL, list, NULL));
    FAILS(107017, aclrtKernelArgsInit(no_function, &list));
    FAILS(107017, aclrtKernelArgsGetHandleMemSize(no_function, &size));
    FAILS(107017, aclrtKernelArgsGetMemSize(no_function, 16, &size));
    FAILS(107017, aclrtKernelArgsInitByUserMem(no_function, memory, args, sizeof args));
    FAILS(107017, aclrtFunctionGetBinary(no_function, &found));
    FAILS(107017, aclrtFunctionGetParamCount(no_function, &size));
    FAILS(107017, aclrtFunctionGetParamInfo(no_function, 0, &offset, &size));
    FAILS(107017, aclrtGetFunctionAddr(no_function, &p, &p));
    FAILS(107017, aclrtGetFunctionAttribute(no_function, ACL_FUNC_ATTR_KERNEL_TYPE, &value));
    FAILS(107017, aclrtGetFunctionName(no_function, sizeof name, name));
}

static void null_pointers(void)
{
    aclrtCntNotify counting_2;
    void *p;
    size_t size, offset, index = 0;
    uint64_t flag;
    uint32_t number;
    int32_t status;
    char text[64];
    aclrtFuncHandle function;
    aclrtBinHandle found;
    aclrtArgsHandle list;
    aclrtParamHandle parameter;
    aclrtMemLocation location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtPhysicalMemProp prop;
    aclrtDrvMemHandle physical;
    aclrtMemcpyBatchAttr batch = {.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE}, .srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST}};
    aclrtUtilizationInfo use = {0};
    aclrtAllocatorDesc description = aclrtAllocatorCreateDesc();
    FAILS(107001, aclrtGetDeviceUtilizationRate(9, &use));
    FAILS(100000, aclrtAllocatorSetAllocAdviseFuncToDesc(description, NULL));
    FAILS(100000, aclrtAllocatorSetGetAddrFromBlockFuncToDesc(description, NULL));
    OK(aclrtAllocatorDestroyDesc(description));
    FAILS(100000, aclrtCntNotifyCreate(NULL, 0));
    FAILS(107000, aclrtCntNotifyCreate(&counting_2, 7));
    FAILS(100000, aclrtReserveMemAddressNoUCMemory(NULL, 2 << 20, 0, NULL, 0));
    FAILS(100000, aclrtReserveMemAddressNoUCMemory(&p, 0, 0, NULL, 0));
    FAILS(100000, aclrtBinaryGetFunctionByEntry(NULL, 0, &function));
    FAILS(100000, aclrtBinaryGetFunctionByEntry(binary, 0, NULL));
    FAILS(100000, aclrtCntNotifyGetId(NULL, &number));
    FAILS(100000, aclrtCntNotifyGetId(counting, NULL));
    FAILS(100000, aclrtCntNotifyReset(NULL, NULL));
    FAILS(100000, aclrtCtxGetFloatOverflowAddr(NULL));
    FAILS(100000, aclrtDeviceGetBareTgid(NULL));
    FAILS(100000, aclrtDeviceGetByPCIBusId(NULL, &status));
    FAILS(100000, aclrtDeviceGetPCIBusId(0, NULL, 32));
    FAILS(107001, aclrtDeviceGetPCIBusId(9, text, 32));
    FAILS(100000, aclrtDeviceGetUuid(0, NULL));
    FAILS(100000, aclrtDevicePeerAccessStatus(0, 1, NULL));
    FAILS(100000, aclrtExceptionInfoCallbackUnregister(NULL));
    FAILS(100000, aclrtFreePhysical(NULL));
    FAILS(100000, aclrtFunctionGetBinary(NULL, &found));
    FAILS(100000, aclrtFunctionGetBinary(empty, NULL));
    FAILS(100000, aclrtFunctionGetParamInfo(NULL, 0, &offset, &size));
    FAILS(100000, aclrtGetDeviceCapability(0, ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV, NULL));
    FAILS(107001, aclrtGetDeviceResLimit(9, ACL_RT_DEV_RES_CUBE_CORE, &number));
    FAILS(100000, aclrtGetDevicesTopo(0, 1, NULL));
    FAILS(100000, aclrtGetFunctionAddr(NULL, &p, &p));
    FAILS(100000, aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, NULL));
    FAILS(100000, aclrtHostRegisterV2(NULL, 64, ACL_HOST_REG_MAPPED));
    FAILS(100000, aclrtKernelArgsAppendPlaceHolder(NULL, &parameter));
    FAILS(100000, aclrtKernelArgsFinalize(NULL));
    OK(aclrtKernelArgsInit(empty, &list));
    FAILS(100000, aclrtKernelArgsAppendPlaceHolder(list, NULL));
    FAILS(100000, aclrtKernelArgsParaUpdate(list, NULL, text, 8));
    FAILS(100000, aclrtMemGetAccess(NULL, &location, &flag));
    FAILS(100000, aclrtMemGetAllocationPropertiesFromHandle(NULL, &prop));
    FAILS(107017, aclrtMemGetAllocationPropertiesFromHandle((aclrtDrvMemHandle)event, &prop));
    FAILS(100000, aclrtMemRetainAllocationHandle(NULL, &physical));
    FAILS(100000, aclrtMemRetainAllocationHandle(memory, NULL));
    FAILS(107000, aclrtMemRetainAllocationHandle(memory, &physical)); /* not mapped */
    FAILS(100000, aclrtMemSetAccess(NULL, 64, NULL, 1));
    FAILS(100000, aclrtMemcpyBatchAsync(NULL, &size, &p, &size, 1, &batch, &index, 1, &offset, NULL));
    FAILS(100000, aclrtQueryEvent(NULL, NULL));
    FAILS(100000, aclrtReleaseMemAddress(NULL));
    FAILS(100000, aclrtResetEvent(NULL, NULL));
    FAILS(100000, aclrtSynchronizeEventWithTimeout(NULL, 100));
    FAILS(100000, aclrtUnmapMem(NULL));
    FAILS(100000, aclrtWaitAndResetNotify(NULL, NULL, 1));
    prop = (aclrtPhysicalMemProp){.memAttr = ACL_HBM_MEM_HUGE, .location = {9, ACL_MEM_LOCATION_TYPE_DEVICE}};
    FAILS(107001, aclrtMallocPhysical(&physical, 2 << 20, &prop, 0));
}

static int aborts[2];
static int32_t on_abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *args)
{
    CHECK(device == 0 && timeout == 1000 && args == aborts);
    ++aborts[stage];
    return 0;
}
static int32_t refuse_abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *args)
{
    (void)device, (void)stage, (void)timeout, (void)args;
    return 5;
}

static void set_parameter(aclrtRandomParaInfo *parameter, uint64_t value)
{
    memset(parameter, 0, sizeof *parameter);
    memcpy(parameter->valueOrAddr, &value, 8);
    parameter->size = 8;
}

static void prepare_descriptions(void)
{
    size_t size;
    float zero = 0, one = 1;
    OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &size));
    OK(aclrtMalloc(&copy_description, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtSetMemcpyDesc(copy_description, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, memory + 32, memory, 32, NULL));
    OK(aclrtCmoGetDescSize(&size));
    OK(aclrtMalloc(&cmo_description, size, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtCmoSetDesc(cmo_description, memory, 64));
    OK(aclrtMalloc((void **)&addresses, sizeof *addresses, ACL_MEM_MALLOC_HUGE_FIRST));
    addresses->dst = memory;
    addresses->src = memory + 64;
    numbers.dataType = ACL_FLOAT;
    numbers.randomResultAddr = memory;
    numbers.randomCounterAddr = memory + 64;
    numbers.randomNumFuncParaInfo.funcType = ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS;
    set_parameter(&numbers.randomSeed, 42);
    set_parameter(&numbers.randomNum, 4);
    aclrtRandomParaInfo *low = &numbers.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min;
    aclrtRandomParaInfo *high = &numbers.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max;
    memcpy(low->valueOrAddr, &zero, 4);
    memcpy(high->valueOrAddr, &one, 4);
    low->size = high->size = 4;
    OK(aclrtRandomNumAsync(&numbers, NULL, NULL)); /* good, so what is refused below is the stream */
    OK(aclrtSynchronizeStream(NULL));
}

/* Numbers of devices, memory errors, callbacks of aborted devices. */
static void rarely_used(void)
{
    int32_t id = 7;
    size_t count = 7;
    aclrtMemUceInfo errors[2] = {{.addr = memory, .len = 64}};
    aclrtErrorInfo info;
    for (int32_t device = 0; device < 2; ++device) {
        OK(aclrtGetLogicDevIdByPhyDevId(device, &id));
        CHECK(id == device);
        OK(aclrtGetLogicDevIdByUserDevId(device, &id));
        CHECK(id == device);
        OK(aclrtGetUserDevIdByLogicDevId(device, &id));
        CHECK(id == device);
        OK(aclrtGetUserDevIdByPhyDevId(device, &id));
        CHECK(id == device);
        OK(aclrtGetPhyDevIdByUserDevId(device, &id));
        CHECK(id == device);
    }
    FAILS(107001, aclrtGetPhyDevIdByLogicDevId(2, &id));
    FAILS(107001, aclrtGetLogicDevIdByUserDevId(2, &id));
    FAILS(107001, aclrtGetUserDevIdByLogicDevId(2, &id));
    FAILS(107001, aclrtGetLogicDevIdByPhyDevId(2, &id));
    FAILS(107001, aclrtGetUserDevIdByPhyDevId(2, &id));
    FAILS(107001, aclrtGetPhyDevIdByUserDevId(-1, &id));
    FAILS(100000, aclrtGetLogicDevIdByPhyDevId(0, NULL));
    FAILS(100000, aclrtGetUserDevIdByPhyDevId(0, NULL));
    FAILS(100000, aclrtGetPhyDevIdByUserDevId(0, NULL));

    OK(aclrtGetMemUceInfo(0, errors, 2, &count));
    CHECK(count == 0);
    FAILS(100000, aclrtGetMemUceInfo(0, NULL, 2, &count));
    FAILS(100000, aclrtGetMemUceInfo(0, errors, 2, NULL));
    FAILS(100000, aclrtGetMemUceInfo(0, errors, 0, &count));
    FAILS(107001, aclrtGetMemUceInfo(9, errors, 2, &count));
    OK(aclrtMemUceRepair(0, errors, 1));
    FAILS(100000, aclrtMemUceRepair(0, NULL, 1));
    FAILS(100000, aclrtMemUceRepair(0, errors, 0));
    FAILS(100000, aclrtMemUceRepair(0, errors, ACL_RT_MEM_UCE_INFO_MAX_NUM + 1));
    FAILS(107001, aclrtMemUceRepair(9, errors, 1));
    OK(aclrtGetErrorVerbose(0, &info));
    FAILS(107001, aclrtRepairError(9, &info));

    OK(aclrtSynchronizeDeviceWithTimeout(10000));
    OK(aclrtSetDeviceTaskAbortCallback("one", on_abort, aborts));
    FAILS(107000, aclrtSetDeviceTaskAbortCallback("one", on_abort, aborts));
    FAILS(100000, aclrtSetDeviceTaskAbortCallback(NULL, on_abort, aborts));
    FAILS(100000, aclrtSetDeviceTaskAbortCallback("", on_abort, aborts));
    FAILS(107000, aclrtSetDeviceTaskAbortCallback("two", NULL, NULL));
    OK(aclrtDeviceTaskAbort(0, 1000));
    CHECK(aborts[ACL_RT_DEVICE_TASK_ABORT_PRE] == 1 && aborts[ACL_RT_DEVICE_TASK_ABORT_POST] == 1);
    FAILS(107001, aclrtDeviceTaskAbort(9, 1000));
    OK(aclrtSetDeviceTaskAbortCallback("two", refuse_abort, NULL));
    FAILS(507000, aclrtDeviceTaskAbort(0, 1000));
    OK(aclrtSetDeviceTaskAbortCallback("two", NULL, NULL));
    OK(aclrtSetDeviceTaskAbortCallback("one", NULL, NULL));
    int before = aborts[0];
    OK(aclrtDeviceTaskAbort(0, 1000));
    CHECK(aborts[0] == before);

    /* mapped without access, until it is given */
    aclrtPhysicalMemProp prop = {.memAttr = ACL_HBM_MEM_HUGE, .location = {0, ACL_MEM_LOCATION_TYPE_DEVICE}}, same;
    aclrtMemAccessDesc access = {.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE, .location = {0, ACL_MEM_LOCATION_TYPE_DEVICE}};
    aclrtDrvMemHandle physical, again;
    uint64_t flags = 77;
    char *address;
    OK(aclrtMallocPhysical(&physical, 2 << 20, &prop, 0));
    OK(aclrtMemGetAllocationPropertiesFromHandle(physical, &same));
    CHECK(same.memAttr == ACL_HBM_MEM_HUGE && same.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
    FAILS(100000, aclrtMemGetAllocationPropertiesFromHandle(physical, NULL));
    OK(aclrtReserveMemAddress((void **)&address, 2 << 20, 0, NULL, 0));
    OK(aclrtMemMapNoAccess(address, 2 << 20, 0, physical, 0));
    FAILS(107000, aclrtMemMapNoAccess(address, 2 << 20, 0, physical, 0));
    FAILS(100000, aclrtMemMapNoAccess(NULL, 2 << 20, 0, physical, 0));
    OK(aclrtMemGetAccess(address, &access.location, &flags));
    CHECK(flags == ACL_RT_MEM_ACCESS_FLAGS_NONE);
    OK(aclrtMemSetAccess(address, 2 << 20, &access, 1));
    OK(aclrtMemGetAccess(address, &access.location, &flags));
    CHECK(flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
    memset(address, 5, 2 << 20);
    CHECK(address[12345] == 5);
    OK(aclrtMemRetainAllocationHandle(address, &again));
    CHECK(again == physical);
    OK(aclrtFreePhysical(again));
    OK(aclrtUnmapMem(address));
    OK(aclrtReleaseMemAddress(address));
    OK(aclrtFreePhysical(physical));
}

int main(void)
{
    pthread_t thread;
    setenv("ASCENDCL_CPU_DEVICES", "2", 1);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtBinaryLoadFromFile(kernel_path("cpu"), NULL, &binary));
    empty = kernel(binary, "empty");
    aclrtMemPoolProps props = {.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    OK(aclrtMalloc((void **)&memory, 128, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&pinned, 128));
    OK(aclrtCreateEvent(&event));
    OK(aclrtRecordEvent(event, NULL));
    OK(aclrtCreateNotify(&notify, 0));
    OK(aclrtCntNotifyCreate(&counting, 0));
    OK(aclrtMemPoolCreate(&pool, &props));
    OK(aclrtMemPoolMallocAsync(&pooled, 64, pool, NULL));
    prepare_descriptions();
    pthread_create(&thread, NULL, without_context, NULL);
    pthread_join(thread, NULL);
    foreign_and_stale_streams();
    stale_handles();
    null_pointers();
    rarely_used();
    OK(aclrtMemPoolFreeAsync(pooled, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtMemPoolDestroy(pool));
    OK(aclrtCntNotifyDestroy(counting));
    OK(aclrtDestroyNotify(notify));
    OK(aclrtDestroyEvent(event));
    OK(aclrtFree(copy_description));
    OK(aclrtFree(cmo_description));
    OK(aclrtFree(addresses));
    OK(aclrtFreeHost(pinned));
    OK(aclrtFree(memory));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtResetDeviceForce(0));
    OK(aclFinalize());
    return check_result("refusals");
}
