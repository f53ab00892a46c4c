/* SPDX-License-Identifier: Apache-2.0
 * Devices and contexts: current context, reference counts, questions. The process has three devices. */
#include <pthread.h>

#include "check.h"

static int device_events[16], device_event_count;
static void on_device(int32_t device, aclrtDeviceState state, void *args)
{
    CHECK(args == &device_event_count);
    device_events[device_event_count++] = device * 10 + (int)state;
}

static void *fresh_thread(void *context)
{
    int32_t device;
    aclrtContext current;
    void *memory;
    aclrtStream stream;
    FAILS(107002, aclrtGetDevice(&device));
    FAILS(107002, aclrtGetCurrentContext(&current));
    FAILS(107002, aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(107002, aclrtMallocHost(&memory, 16));
    FAILS(107002, aclrtCreateStream(&stream));
    FAILS(107002, aclrtSynchronizeStream(NULL));
    FAILS(107002, aclrtSynchronizeDevice());
    OK(aclrtSetCurrentContext(context));
    OK(aclrtGetDevice(&device));
    CHECK(device == 1);
    return NULL;
}

static void setting_and_resetting(void)
{
    int32_t device, active;
    uint32_t count;
    aclrtContext first, second, explicit_context;
    OK(aclrtGetDeviceCount(&count));
    CHECK(count == 3);
    FAILS(100000, aclrtGetDeviceCount(NULL));
    FAILS(107001, aclrtSetDevice(3));
    FAILS(107001, aclrtSetDevice(-1));
    FAILS(107002, aclrtGetDevice(&device));
    FAILS(507007, aclrtResetDevice(0));
    FAILS(107001, aclrtResetDevice(9));
    FAILS(107001, aclrtResetDeviceForce(9));
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    CHECK(active == 0);

    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&first));
    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&second));
    CHECK(first == second);
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    CHECK(active == 1);
    uint32_t flags;
    FAILS(107000, aclrtGetPrimaryCtxState(0, &flags, &active));
    FAILS(100000, aclrtGetPrimaryCtxState(0, NULL, NULL));
    FAILS(107001, aclrtGetPrimaryCtxState(5, NULL, &active));

    OK(aclrtCreateContext(&explicit_context, 1));
    OK(aclrtGetDevice(&device));
    CHECK(device == 1);
    FAILS(107001, aclrtCreateContext(&second, 3));
    FAILS(100000, aclrtCreateContext(NULL, 0));
    OK(aclrtSetCurrentContext(first));
    OK(aclrtGetDevice(&device));
    CHECK(device == 0);
    FAILS(100000, aclrtSetCurrentContext(NULL));
    FAILS(107000, aclrtSetCurrentContext((aclrtContext)&device));
    FAILS(100000, aclrtGetCurrentContext(NULL));

    pthread_t thread;
    pthread_create(&thread, NULL, fresh_thread, explicit_context);
    pthread_join(thread, NULL);

    FAILS(100000, aclrtDestroyContext(NULL));
    FAILS(107002, aclrtDestroyContext(first)); /* the primary one */
    OK(aclrtDestroyContext(explicit_context));
    FAILS(107002, aclrtDestroyContext(explicit_context));
    FAILS(107000, aclrtSetCurrentContext(explicit_context));

    OK(aclrtResetDevice(0)); /* two sets, so the context lives on */
    OK(aclrtGetDevice(&device));
    OK(aclrtResetDevice(0));
    FAILS(107002, aclrtGetDevice(&device));
    FAILS(507007, aclrtResetDevice(0));
    FAILS(107000, aclrtSetCurrentContext(first));
    OK(aclrtSetDevice(0));
    OK(aclrtSetDevice(0));
    OK(aclrtResetDeviceForce(0));
    FAILS(507007, aclrtResetDeviceForce(0));
}

static void default_streams(void)
{
    aclrtContext context;
    aclrtStream primary, own;
    aclrtStream stream;
    OK(aclrtSetDevice(0));
    OK(aclrtCtxGetCurrentDefaultStream(&primary));
    FAILS(100000, aclrtCtxGetCurrentDefaultStream(NULL));
    OK(aclrtCreateContext(&context, 0));
    OK(aclrtCtxGetCurrentDefaultStream(&own));
    CHECK(own != primary);
    OK(aclrtSynchronizeStream(primary)); /* works across contexts */
    void *memory;
    OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(107003, aclrtMemsetAsync(memory, 64, 0, 64, primary));
    OK(aclrtMemsetAsync(memory, 64, 0, 64, NULL));
    FAILS(100000, aclrtDestroyStream(own));
    OK(aclrtCreateStream(&stream));
    OK(aclrtDestroyContext(context)); /* takes the stream along */
    FAILS(107002, aclrtDestroyStream(stream));
    OK(aclrtSetDevice(0));
    FAILS(107017, aclrtDestroyStream(stream));
    OK(aclrtFree(memory));
    OK(aclrtResetDeviceForce(0));
}

static void state_callbacks(void)
{
    OK(aclrtRegDeviceStateCallback("test", on_device, &device_event_count));
    FAILS(107000, aclrtRegDeviceStateCallback("test", on_device, &device_event_count));
    FAILS(100000, aclrtRegDeviceStateCallback(NULL, on_device, NULL));
    FAILS(100000, aclrtRegDeviceStateCallback("", on_device, NULL));
    OK(aclrtSetDevice(2));
    OK(aclrtResetDevice(2));
    CHECK(device_event_count == 4);
    for (int i = 0; i < 4; ++i) CHECK(device_events[i] == 20 + i);
    OK(aclrtRegDeviceStateCallback("test", NULL, NULL));
    FAILS(107000, aclrtRegDeviceStateCallback("test", NULL, NULL));
    OK(aclrtSetDevice(2));
    OK(aclrtResetDevice(2));
    CHECK(device_event_count == 4);
}

static void questions(void)
{
    aclrtRunMode mode;
    int64_t value;
    int32_t answer;
    aclrtDeviceStatus status;
    aclrtUtilizationInfo utilization = {0};
    aclrtUuid first, second;
    char bus[16];
    OK(aclrtGetRunMode(&mode));
    CHECK(mode == ACL_HOST);
    FAILS(100000, aclrtGetRunMode(NULL));
    CHECK(strcmp(aclrtGetSocName(), "Ascend910B1") == 0);
    OK(aclrtCheckArchCompatibility("Ascend910B3", &answer));
    CHECK(answer == 1);
    OK(aclrtCheckArchCompatibility("Ascend310P3", &answer));
    CHECK(answer == 0);
    OK(aclrtCheckArchCompatibility("nonsense", &answer));
    CHECK(answer == 0);
    FAILS(100000, aclrtCheckArchCompatibility(NULL, &answer));
    FAILS(100000, aclrtCheckArchCompatibility("Ascend910B3", NULL));
    OK(aclrtQueryDeviceStatus(0, &status));
    CHECK(status == ACL_RT_DEVICE_STATUS_NORMAL);
    FAILS(107001, aclrtQueryDeviceStatus(7, &status));
    FAILS(100000, aclrtQueryDeviceStatus(0, NULL));
    OK(aclrtGetDeviceUtilizationRate(0, &utilization));
    CHECK(utilization.memoryUtilization == -1 && utilization.cubeUtilization == 0);
    utilization.utilizationExtend = (aclrtUtilizationExtendInfo *)&utilization;
    FAILS(100000, aclrtGetDeviceUtilizationRate(0, &utilization));
    FAILS(100000, aclrtGetDeviceUtilizationRate(0, NULL));

    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
    CHECK(value >= 1);
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value));
    CHECK(value == 192ll << 20);
    FAILS(100000, aclGetDeviceCapability(3, ACL_DEVICE_INFO_L2_SIZE, &value));
    FAILS(100000, aclGetDeviceCapability(0, (aclDeviceInfo)9, &value));
    FAILS(100000, aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, NULL));
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &value));
    CHECK(value == 2201);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
    CHECK(value > 0);
    FAILS(107001, aclrtGetDeviceInfo(3, ACL_DEV_ATTR_NPU_ARCH, &value));
    FAILS(107000, aclrtGetDeviceInfo(0, (aclrtDevAttr)999, &value));
    FAILS(207000, aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value));
    FAILS(100000, aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, NULL));
    OK(aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &answer));
    FAILS(107000, aclrtGetDeviceCapability(0, (aclrtDevFeatureType)5, &answer));
    FAILS(107001, aclrtGetDeviceCapability(4, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &answer));
    const aclCannAttr *list;
    size_t count;
    OK(aclGetCannAttributeList(&list, &count));
    CHECK(count == 2 && list[0] == ACL_CANN_ATTR_INF_NAN);
    FAILS(100000, aclGetCannAttributeList(NULL, &count));
    FAILS(100000, aclGetCannAttributeList(&list, NULL));
    OK(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &answer));
    CHECK(answer == 1);
    FAILS(100000, aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &answer));
    FAILS(100000, aclGetCannAttribute(ACL_CANN_ATTR_BF16, NULL));
    OK(aclrtDeviceGetUuid(0, &first));
    OK(aclrtDeviceGetUuid(1, &second));
    CHECK(memcmp(&first, &second, sizeof first) != 0);
    FAILS(107001, aclrtDeviceGetUuid(3, &first));
    OK(aclrtDeviceGetPCIBusId(2, bus, sizeof bus));
    OK(aclrtDeviceGetByPCIBusId(bus, &answer));
    CHECK(answer == 2);
    FAILS(107000, aclrtDeviceGetPCIBusId(2, bus, 12));
    FAILS(107000, aclrtDeviceGetByPCIBusId("0000:33:00.0", &answer));
    FAILS(107000, aclrtDeviceGetByPCIBusId("nonsense", &answer));
    OK(aclrtGetPhyDevIdByLogicDevId(1, &answer));
    CHECK(answer == 1);
    FAILS(107001, aclrtGetLogicDevIdByUserDevId(8, &answer));
    FAILS(100000, aclrtGetUserDevIdByLogicDevId(0, NULL));
    FAILS(100000, aclrtSetTsDevice((aclrtTsId)5));
    OK(aclrtSetTsDevice(ACL_TS_ID_AIVECTOR));
    OK(aclrtDeviceGetBareTgid(&answer));
    CHECK(answer == getpid());
}

static void core_limits(void)
{
    uint32_t all, value;
    aclrtStream stream;
    OK(aclrtSetDevice(0));
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &all));
    OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 1));
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    CHECK(value == 1);
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
    CHECK(value == 1);
    OK(aclrtResetDeviceResLimit(0));
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    CHECK(value == all);
    FAILS(107000, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 0));
    FAILS(107000, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, all + 1));
    FAILS(107000, aclrtSetDeviceResLimit(0, (aclrtDevResLimitType)2, 1));
    FAILS(107001, aclrtSetDeviceResLimit(3, ACL_RT_DEV_RES_VECTOR_CORE, 1));
    FAILS(100000, aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, NULL));
    FAILS(107000, aclrtGetDeviceResLimit(0, (aclrtDevResLimitType)2, &value));
    FAILS(107001, aclrtResetDeviceResLimit(3));
    OK(aclrtCreateStream(&stream));
    OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 1));
    OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    CHECK(value == 1);
    OK(aclrtUseStreamResInCurrentThread(stream));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    CHECK(value == 1);
    OK(aclrtUnuseStreamResInCurrentThread(stream));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    CHECK(value == all);
    OK(aclrtResetStreamResLimit(stream));
    FAILS(107000, aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, all + 1));
    FAILS(100000, aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, NULL));
    OK(aclrtDestroyStream(stream));
    FAILS(107017, aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 1));
    FAILS(107017, aclrtUseStreamResInCurrentThread(stream));
    OK(aclrtResetDevice(0));
}

static void peers(void)
{
    int32_t can, status;
    uint64_t topology;
    OK(aclrtSetDevice(0));
    OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    FAILS(100000, aclrtDeviceCanAccessPeer(&can, 1, 1));
    FAILS(100000, aclrtDeviceCanAccessPeer(NULL, 0, 1));
    FAILS(107001, aclrtDeviceCanAccessPeer(&can, 0, 3));
    OK(aclrtDevicePeerAccessStatus(0, 1, &status));
    CHECK(status == 0);
    FAILS(200006, aclrtDeviceEnablePeerAccess(1, 1));
    FAILS(100000, aclrtDeviceEnablePeerAccess(0, 0));
    FAILS(107001, aclrtDeviceEnablePeerAccess(3, 0));
    OK(aclrtDeviceEnablePeerAccess(1, 0));
    OK(aclrtDevicePeerAccessStatus(0, 1, &status));
    CHECK(status == 1);
    OK(aclrtDevicePeerAccessStatus(1, 0, &status)); /* one direction only */
    CHECK(status == 0);
    int *here, *there;
    int value = 4711, back = 0;
    OK(aclrtMalloc((void **)&here, sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtSetDevice(1));
    OK(aclrtMalloc((void **)&there, sizeof(int), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemcpy(here, sizeof(int), &value, sizeof(int), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(there, sizeof(int), here, sizeof(int), ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemcpyAsync(there, sizeof(int), here, sizeof(int), ACL_MEMCPY_DEVICE_TO_DEVICE, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtMemcpy(&back, sizeof(int), there, sizeof(int), ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(back == value);
    aclrtPtrAttributes attributes;
    OK(aclrtPointerGetAttributes(there, &attributes));
    CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && attributes.location.id == 1);
    OK(aclrtFree(there));
    OK(aclrtFree(here));
    OK(aclrtSetDevice(0));
    OK(aclrtDeviceDisablePeerAccess(1));
    FAILS(100000, aclrtDeviceDisablePeerAccess(0));
    FAILS(107001, aclrtDeviceDisablePeerAccess(3));
    OK(aclrtGetDevicesTopo(0, 1, &topology));
    FAILS(107001, aclrtGetDevicesTopo(0, 3, &topology));
    OK(aclrtResetDeviceForce(0));
    OK(aclrtResetDeviceForce(1));
}

static void options(void)
{
    int64_t value;
    uint32_t ms;
    uint64_t us;
    size_t size;
    OK(aclrtSetDevice(0));
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK(value == 0);
    OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    CHECK(value == 1);
    FAILS(107000, aclrtSetSysParamOpt((aclSysParamOpt)9, 1));
    FAILS(107000, aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 2));
    FAILS(107000, aclrtGetSysParamOpt((aclSysParamOpt)9, &value));
    FAILS(100000, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, NULL));
    FAILS(107021, aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
    OK(aclrtCtxSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 1));
    OK(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
    CHECK(value == 1);
    FAILS(107000, aclrtCtxSetSysParamOpt((aclSysParamOpt)-1, 1));
    FAILS(100000, aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, NULL));
    OK(aclrtSetOpExecuteTimeOut(2));
    OK(aclrtGetOpExecuteTimeout(&ms));
    CHECK(ms == 2000);
    OK(aclrtSetOpExecuteTimeOutWithMs(30));
    OK(aclrtGetOpExecuteTimeout(&ms));
    CHECK(ms == 30);
    OK(aclrtGetOpTimeOutInterval(&us));
    CHECK(us == 1000);
    OK(aclrtSetOpExecuteTimeOutV2(1500, &us));
    CHECK(us == 2000);
    OK(aclrtSetOpExecuteTimeOutV2(0, &us));
    CHECK(us == UINT64_MAX);
    FAILS(100000, aclrtSetOpExecuteTimeOutV2(1, NULL));
    FAILS(100000, aclrtGetOpExecuteTimeout(NULL));
    FAILS(100000, aclrtGetOpTimeOutInterval(NULL));
    OK(aclrtSetOpWaitTimeout(0));
    OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 65536));
    OK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &size));
    CHECK(size == 65536);
    FAILS(207000, aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 1));
    FAILS(207000, aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, &size));
    FAILS(107000, aclrtDeviceSetLimit((aclrtDeviceLimit)77, 1));
    FAILS(100000, aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, NULL));
    OK(aclrtDeviceL2CacheFlush(NULL));
    FAILS(100000, aclrtDeviceL2CacheFlush(&size));
    aclrtErrorInfo info;
    OK(aclrtGetErrorVerbose(0, &info));
    CHECK(info.errorType == ACL_RT_NO_ERROR);
    FAILS(107001, aclrtGetErrorVerbose(9, &info));
    FAILS(100000, aclrtGetErrorVerbose(0, NULL));
    FAILS(100000, aclrtRepairError(0, NULL));
    OK(aclrtResetDevice(0));
}

int main(void)
{
    setenv("ASCENDCL_CPU_DEVICES", "3", 1);
    OK(aclInit(NULL));
    setting_and_resetting();
    default_streams();
    state_callbacks();
    questions();
    core_limits();
    peers();
    options();
    OK(aclFinalize());
    return check_result("device_context");
}
