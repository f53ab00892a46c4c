/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about devices: SoC, cores, attributes, limits, peers.
 */
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "device.h"
#include "settings.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

uint32_t cores(const Device &device, aclrtDevResLimitType type)
{
    const Settings &s = settings();
    uint32_t limit = (type == ACL_RT_DEV_RES_CUBE_CORE ? device.limit_cube : device.limit_vector).load();
    if (limit != 0) return limit;
    return type == ACL_RT_DEV_RES_CUBE_CORE ? s.cube_cores : s.vector_cores;
}

uint32_t all_cores(aclrtDevResLimitType type)
{
    return type == ACL_RT_DEV_RES_CUBE_CORE ? settings().cube_cores : settings().vector_cores;
}

aclError check_resource(aclrtDevResLimitType type)
{
    if (type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "type is %d, not cube (0) or vector cores (1)", static_cast<int>(type));
}

aclError check_limit(aclrtDevResLimitType type, uint32_t value)
{
    RETURN_IF_ERROR(check_resource(type));
    if (value != 0 && value <= all_cores(type)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "value is %u, it must be 1 to %u", value, all_cores(type));
}

/* Limits of the stream that aclrtUseStreamResInCurrentThread named for this thread. */
thread_local void *limiting_stream = nullptr;

aclError require_peers(int32_t first, int32_t second)
{
    if (require_device(first) == nullptr || require_device(second) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    return ACL_SUCCESS;
}

} // namespace

aclError aclrtGetRunMode(aclrtRunMode *run_mode)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(run_mode);
    *run_mode = ACL_HOST;
    return ACL_SUCCESS;
}

aclError aclrtSetTsDevice(aclrtTsId ts_id)
{
    ACL_ENTRY();
    REQUIRE(ts_id == ACL_TS_ID_AICORE || ts_id == ACL_TS_ID_AIVECTOR, "ts_id is %d, not 0 or 1", static_cast<int>(ts_id));
    return ACL_SUCCESS;
}

const char *aclrtGetSocName(void)
{
    t_state.api = __func__;
    if (UNLIKELY(forked_child())) return nullptr;
    return settings().soc->name;
}

aclError aclrtCheckArchCompatibility(const char *soc_version, int32_t *can_compatible)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(soc_version);
    REQUIRE_NOT_NULL(can_compatible);
    *can_compatible = soc_compatible(soc_version, *settings().soc) ? 1 : 0;
    return ACL_SUCCESS;
}

aclError aclGetDeviceCapability(uint32_t device_id, aclDeviceInfo device_info, int64_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    REQUIRE(device_id < device_count(), "device_id is %u, the process has %u devices", device_id, device_count());
    Device &device = *find_device(device_id);
    switch (device_info) {
    case ACL_DEVICE_INFO_AI_CORE_NUM: *value = cores(device, ACL_RT_DEV_RES_CUBE_CORE); return ACL_SUCCESS;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM: *value = cores(device, ACL_RT_DEV_RES_VECTOR_CORE); return ACL_SUCCESS;
    case ACL_DEVICE_INFO_L2_SIZE: *value = static_cast<int64_t>(settings().soc->l2_bytes); return ACL_SUCCESS;
    default: return fail(ACL_ERROR_INVALID_PARAM, "device_info is %d, not one of aclDeviceInfo", static_cast<int>(device_info));
    }
}

aclError aclrtGetDeviceInfo(uint32_t device_id, aclrtDevAttr attr, int64_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    const Settings &s = settings();
    switch (static_cast<int>(attr)) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM: *value = 0; break;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM: *value = cores(*device, ACL_RT_DEV_RES_CUBE_CORE); break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = cores(*device, ACL_RT_DEV_RES_VECTOR_CORE); break;
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE: *value = s.soc->ub_bytes; break;
    case ACL_DEV_ATTR_MAX_BLOCK_PER_GRID: *value = 65535; break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = static_cast<int64_t>(s.memory_bytes); break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE: *value = static_cast<int64_t>(s.soc->l2_bytes); break;
    case ACL_DEV_ATTR_PHY_CHIP_ID: *value = device->id; break;
    case ACL_DEV_ATTR_HD_CONNECT_TYPE: *value = ACL_HOST_DEVICE_CONNECT_TYPE_PCIE; break;
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR: *value = ACL_DEVICE_FORM_FACTOR_PCIE_CARD; break;
    case ACL_DEV_ATTR_IS_VIRTUAL: *value = 1; break;
    case ACL_DEV_ATTR_NPU_ARCH: *value = s.soc->arch; break;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
    case ACL_DEV_ATTR_MAINBOARD_ID: *value = 0; break;
    case ACL_DEV_ATTR_WARP_SIZE:
    case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_MAX_GRID_DIM_X:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Y:
    case ACL_DEV_ATTR_MAX_GRID_DIM_Z:
    case ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_X:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Y:
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Z:
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "attribute %d is about SIMT, which this device has not", static_cast<int>(attr));
    default: return fail(ACL_ERROR_RT_PARAM_INVALID, "attr is %d, not one of aclrtDevAttr", static_cast<int>(attr));
    }
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCapability(int32_t device_id, aclrtDevFeatureType dev_feature_type, int32_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    if (require_device(device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    switch (dev_feature_type) {
    case ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV:
    case ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV: *value = ACL_DEV_FEATURE_NOT_SUPPORT; return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "dev_feature_type is %d, not one of aclrtDevFeatureType",
                static_cast<int>(dev_feature_type));
}

aclError aclGetCannAttributeList(const aclCannAttr **cann_attr_list, size_t *num)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(cann_attr_list);
    REQUIRE_NOT_NULL(num);
    static const aclCannAttr attributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};
    *cann_attr_list = attributes;
    *num = sizeof attributes / sizeof attributes[0];
    return ACL_SUCCESS;
}

aclError aclGetCannAttribute(aclCannAttr cann_attr, int32_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    switch (cann_attr) {
    case ACL_CANN_ATTR_INF_NAN:
    case ACL_CANN_ATTR_BF16: *value = 1; return ACL_SUCCESS;
    case ACL_CANN_ATTR_JIT_COMPILE: *value = 0; return ACL_SUCCESS;
    default: return fail(ACL_ERROR_INVALID_PARAM, "cann_attr is %d, not one of aclCannAttr", static_cast<int>(cann_attr));
    }
}

aclError aclrtQueryDeviceStatus(int32_t device_id, aclrtDeviceStatus *device_status)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(device_status);
    if (require_device(device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    *device_status = ACL_RT_DEVICE_STATUS_NORMAL;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceUtilizationRate(int32_t device_id, aclrtUtilizationInfo *utilization_info)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(utilization_info);
    REQUIRE(utilization_info->utilizationExtend == nullptr, "utilization_info->utilizationExtend must be NULL");
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    int busy = 0;
    for (void *handle : streams_of(*device)) {
        UseScope scope;
        Stream *stream = Handles<Stream>::find(handle);
        if (stream != nullptr && !stream->idle()) busy = 100;
    }
    utilization_info->cubeUtilization = busy;
    utilization_info->vectorUtilization = busy;
    utilization_info->aicpuUtilization = 0;
    utilization_info->memoryUtilization = -1;
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetUuid(int32_t device_id, aclrtUuid *uuid)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(uuid);
    if (require_device(device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    memset(uuid->bytes, 0, sizeof uuid->bytes);
    memcpy(uuid->bytes, "acl-cpu", 7);
    uuid->bytes[15] = static_cast<char>(device_id);
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetPCIBusId(int32_t device_id, char *pci_bus_id, int32_t len)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(pci_bus_id);
    if (require_device(device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    if (len < 13) return fail(ACL_ERROR_RT_PARAM_INVALID, "len is %d, a bus id needs 13 bytes", len);
    snprintf(pci_bus_id, 13, "0000:%02X:00.0", static_cast<unsigned>(device_id) & 0xFFu);
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetByPCIBusId(const char *pci_bus_id, int32_t *device_id)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(pci_bus_id);
    REQUIRE_NOT_NULL(device_id);
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    unsigned function = 0;
    int end = 0;
    int read = sscanf(pci_bus_id, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &end);
    if (read != 4 || pci_bus_id[end] != '\0' || domain != 0 || slot != 0 || function != 0 || bus >= device_count()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "pci_bus_id \"%s\" is no device of this process", pci_bus_id);
    }
    *device_id = static_cast<int32_t>(bus);
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetBareTgid(int32_t *pid)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(pid);
    *pid = getpid();
    return ACL_SUCCESS;
}

/* User, logic and physical ids are the same here: there is no selection of visible devices. */
namespace {
aclError same_id(int32_t id, int32_t *other)
{
    REQUIRE(other != nullptr, "the result is NULL");
    if (require_device(id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    *other = id;
    return ACL_SUCCESS;
}
} // namespace

aclError aclrtGetLogicDevIdByUserDevId(int32_t user_devid, int32_t *logic_dev_id)
{
    ACL_ENTRY();
    return same_id(user_devid, logic_dev_id);
}

aclError aclrtGetUserDevIdByLogicDevId(int32_t logic_dev_id, int32_t *user_devid)
{
    ACL_ENTRY();
    return same_id(logic_dev_id, user_devid);
}

aclError aclrtGetLogicDevIdByPhyDevId(int32_t phy_dev_id, int32_t *logic_dev_id)
{
    ACL_ENTRY();
    return same_id(phy_dev_id, logic_dev_id);
}

aclError aclrtGetPhyDevIdByLogicDevId(int32_t logic_dev_id, int32_t *phy_dev_id)
{
    ACL_ENTRY();
    return same_id(logic_dev_id, phy_dev_id);
}

aclError aclrtGetUserDevIdByPhyDevId(int32_t phy_dev_id, int32_t *user_dev_id)
{
    ACL_ENTRY();
    return same_id(phy_dev_id, user_dev_id);
}

aclError aclrtGetPhyDevIdByUserDevId(int32_t user_dev_id, int32_t *phy_dev_id)
{
    ACL_ENTRY();
    return same_id(user_dev_id, phy_dev_id);
}

/* ---- peers ---- */

aclError aclrtDeviceCanAccessPeer(int32_t *can_access_peer, int32_t device_id, int32_t peer_device_id)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(can_access_peer);
    REQUIRE(device_id != peer_device_id, "device_id and peer_device_id are both %d", device_id);
    RETURN_IF_ERROR(require_peers(device_id, peer_device_id));
    *can_access_peer = 1;
    return ACL_SUCCESS;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peer_device_id, uint32_t flags)
{
    ACL_ENTRY();
    if (flags != 0) return fail(ACL_ERROR_FEATURE_UNSUPPORTED, "flags is %u, it must be 0", flags);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    REQUIRE(peer_device_id != context->device->id, "peer_device_id %d is the current device", peer_device_id);
    if (require_device(peer_device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    context->device->peers.fetch_or(uint64_t{1} << peer_device_id);
    return ACL_SUCCESS;
}

aclError aclrtDeviceDisablePeerAccess(int32_t peer_device_id)
{
    ACL_ENTRY();
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    REQUIRE(peer_device_id != context->device->id, "peer_device_id %d is the current device", peer_device_id);
    if (require_device(peer_device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    context->device->peers.fetch_and(~(uint64_t{1} << peer_device_id));
    return ACL_SUCCESS;
}

aclError aclrtDevicePeerAccessStatus(int32_t device_id, int32_t peer_device_id, int32_t *status)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(status);
    RETURN_IF_ERROR(require_peers(device_id, peer_device_id));
    *status = static_cast<int32_t>(find_device(device_id)->peers.load() >> peer_device_id & 1);
    return ACL_SUCCESS;
}

aclError aclrtGetDevicesTopo(uint32_t device_id, uint32_t other_device_id, uint64_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    RETURN_IF_ERROR(require_peers(static_cast<int32_t>(device_id), static_cast<int32_t>(other_device_id)));
    *value = ACL_RT_DEVS_TOPOLOGY_SYS;
    return ACL_SUCCESS;
}

/* ---- core limits ---- */

aclError aclrtSetDeviceResLimit(int32_t device_id, aclrtDevResLimitType type, uint32_t value)
{
    ACL_ENTRY();
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    RETURN_IF_ERROR(check_limit(type, value));
    (type == ACL_RT_DEV_RES_CUBE_CORE ? device->limit_cube : device->limit_vector).store(value);
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceResLimit(int32_t device_id, aclrtDevResLimitType type, uint32_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    RETURN_IF_ERROR(check_resource(type));
    *value = cores(*device, type);
    return ACL_SUCCESS;
}

aclError aclrtResetDeviceResLimit(int32_t device_id)
{
    ACL_ENTRY();
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    device->limit_cube.store(0);
    device->limit_vector.store(0);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    RETURN_IF_ERROR(check_limit(type, value));
    (type == ACL_RT_DEV_RES_CUBE_CORE ? target->limit_cube : target->limit_vector).store(value);
    return ACL_SUCCESS;
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    RETURN_IF_ERROR(check_resource(type));
    uint32_t own = (type == ACL_RT_DEV_RES_CUBE_CORE ? target->limit_cube : target->limit_vector).load();
    *value = own != 0 ? own : cores(*target->device, type);
    return ACL_SUCCESS;
}

aclError aclrtResetStreamResLimit(aclrtStream stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    target->limit_cube.store(0);
    target->limit_vector.store(0);
    return ACL_SUCCESS;
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    limiting_stream = target->handle();
    return ACL_SUCCESS;
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    if (limiting_stream == target->handle()) limiting_stream = nullptr;
    return ACL_SUCCESS;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    RETURN_IF_ERROR(check_resource(type));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    Stream *stream = Handles<Stream>::find(limiting_stream);
    uint32_t own = 0;
    if (stream != nullptr) own = (type == ACL_RT_DEV_RES_CUBE_CORE ? stream->limit_cube : stream->limit_vector).load();
    *value = own != 0 ? own : cores(*context->device, type);
    return ACL_SUCCESS;
}
