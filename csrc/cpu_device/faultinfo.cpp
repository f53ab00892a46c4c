/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of faults of the device, and aborting all its work.
 */
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"
#include "memory.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

struct AbortCallback {
    aclrtDeviceTaskAbortCallback function;
    void *argument;
};
std::mutex &abort_lock = *new std::mutex;
std::map<std::string, AbortCallback> &abort_callbacks = *new std::map<std::string, AbortCallback>;

aclError notify_abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout)
{
    std::vector<AbortCallback> callbacks;
    {
        std::lock_guard<std::mutex> hold(abort_lock);
        for (const auto &entry : abort_callbacks) callbacks.push_back(entry.second);
    }
    for (const AbortCallback &callback : callbacks) {
        if (int32_t code = callback.function(device, stage, timeout, callback.argument)) {
            return fail(ACL_ERROR_RT_INTERNAL_ERROR, "a callback of aclrtSetDeviceTaskAbortCallback returned %d", code);
        }
    }
    return ACL_SUCCESS;
}

} // namespace

aclError aclrtGetErrorVerbose(int32_t device_id, aclrtErrorInfo *error_info)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(error_info);
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    memset(error_info, 0, sizeof *error_info);
    error_info->errorType = ACL_RT_NO_ERROR;
    if (device->core_faults.load() != 0) {
        error_info->errorType = ACL_RT_ERROR_AICORE;
        error_info->hasDetail = 1;
        error_info->detail.aicoreErrType = ACL_RT_AICORE_ERROR_SW;
    }
    return ACL_SUCCESS;
}

aclError aclrtRepairError(int32_t device_id, const aclrtErrorInfo *error_info)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(error_info);
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    device->core_faults.store(0);
    return ACL_SUCCESS;
}

aclError aclrtGetMemUceInfo(int32_t device_id, aclrtMemUceInfo *mem_uce_info_array, size_t array_size, size_t *ret_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(mem_uce_info_array);
    REQUIRE_NOT_NULL(ret_size);
    REQUIRE(array_size != 0, "array_size is 0");
    if (require_device(device_id) == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    *ret_size = 0; /* host memory corrects its errors or ends the process */
    return ACL_SUCCESS;
}

aclError aclrtMemUceRepair(int32_t device_id, aclrtMemUceInfo *mem_uce_info_array, size_t array_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(mem_uce_info_array);
    REQUIRE(array_size != 0 && array_size <= ACL_RT_MEM_UCE_INFO_MAX_NUM, "array_size is %zu, it must be 1 to %d", array_size,
            ACL_RT_MEM_UCE_INFO_MAX_NUM);
    return require_device(device_id) != nullptr ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_DEVICEID;
}

aclError aclrtSetDeviceTaskAbortCallback(const char *reg_name, aclrtDeviceTaskAbortCallback callback, void *args)
{
    ACL_ENTRY();
    REQUIRE(reg_name != nullptr && reg_name[0] != '\0', "reg_name is NULL or empty");
    std::lock_guard<std::mutex> hold(abort_lock);
    if (callback == nullptr) {
        if (abort_callbacks.erase(reg_name) != 0) return ACL_SUCCESS;
        return fail(ACL_ERROR_RT_PARAM_INVALID, "no callback is registered as \"%s\"", reg_name);
    }
    if (!abort_callbacks.emplace(reg_name, AbortCallback{callback, args}).second) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "\"%s\" is registered already", reg_name);
    }
    return ACL_SUCCESS;
}

aclError aclrtDeviceTaskAbort(int32_t device_id, uint32_t timeout)
{
    ACL_ENTRY();
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    constexpr uint32_t most_ms = 36 * 60 * 1000;
    if (timeout > most_ms) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %u ms, at most %u are possible", timeout, most_ms);
    RETURN_IF_ERROR(notify_abort(device_id, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout));
    for (void *handle : streams_of(*device)) {
        UseScope scope;
        Stream *stream = Handles<Stream>::find(handle);
        if (stream == nullptr) continue;
        stream->abort_count.fetch_add(1);
        abort_work(*stream);
    }
    return notify_abort(device_id, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
}
