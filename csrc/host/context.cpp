// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <atomic>

#include "host_function.h"
#include "thread_state.h"

namespace ascend_cy {

namespace {

std::atomic<uint64_t> devices_used{0};

} // namespace

void note_device_use(int32_t device) noexcept
{
    static_assert(max_devices == 64, "a bit a device");
    devices_used.fetch_or(uint64_t{1} << device, std::memory_order_relaxed);
}

int enter_device_slowly(int32_t device, int code) noexcept
{
    if (code != ACL_SUCCESS && code != ACL_ERROR_RT_CONTEXT_NULL)
        return fail_call(code, "aclrtGetDevice");
    return ACY_CALL(aclrtSetDevice, device);
}

int current_device_slowly(int code, int32_t *device) noexcept
{
    if (code != ACL_ERROR_RT_CONTEXT_NULL)
        return fail_call(code, "aclrtGetDevice");
    if (const int error = ACY_CALL(aclrtSetDevice, 0))
        return error;
    *device = 0;
    return ACL_SUCCESS;
}

DeviceScope::DeviceScope(int32_t device) noexcept
{
    int32_t current = -1;
    const char *function = "aclrtGetDevice";
    int code = device_table.aclrtGetDevice(&current);
    if (code == ACL_SUCCESS && current == device)
        return;
    if (code == ACL_ERROR_RT_CONTEXT_NULL && device != 0) {
        // There is no way to leave a thread without a context again, so it gets the one it would have got.
        function = "aclrtSetDevice";
        code = device_table.aclrtSetDevice(0);
        current = 0;
    }
    if (code == ACL_SUCCESS) {
        function = "aclrtGetCurrentContext";
        code = device_table.aclrtGetCurrentContext(&previous_);
    } else if (code == ACL_ERROR_RT_CONTEXT_NULL) {
        code = ACL_SUCCESS;
    }
    error_ = check(code, function);
    if (error_ == ACL_SUCCESS && current != device)
        error_ = ACY_CALL(aclrtSetDevice, device);
}

DeviceScope::~DeviceScope() { go_back_to(previous_); }

void go_back_to(aclrtContext previous) noexcept
{
    // Tried again: the thread must not stay on another device without knowing it.
    if (previous != nullptr && device_table.aclrtSetCurrentContext(previous) != ACL_SUCCESS)
        device_table.aclrtSetCurrentContext(previous);
}

int check_device_id(int32_t device) noexcept
{
    uint32_t count = 0;
    if (const int error = ACY_CALL(aclrtGetDeviceCount, &count))
        return error;
    if (device < 0 || static_cast<uint32_t>(device) >= count)
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "", "there is no device %d: device ids run from 0 to %u", device,
                    count == 0 ? 0 : count - 1);
    if (device >= max_devices)
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "", "device %d: only the first %d devices are supported", device,
                    max_devices);
    return ACL_SUCCESS;
}

} // namespace ascend_cy

using namespace ascend_cy;

int ascend_cy_ensure_context(void)
{
    int32_t device = -1;
    return ascend_cy_current_device(&device);
}

int ascend_cy_current_device(int32_t *device)
{
    if (const int error = ready())
        return error;
    return current_device(device);
}

int ascend_cy_set_device(int32_t device)
{
    if (const int error = ready())
        return error;
    return enter_device(device);
}

int ascend_cy_device_count(uint32_t *count)
{
    *count = 0;
    const ascend_cy_device_info_t *info = ascend_cy_device_info();
    if (info->error != 0)
        return ready(); // leaves the message
    return ACY_CALL(aclrtGetDeviceCount, count);
}

uint64_t ascend_cy_devices_used(void) { return devices_used.load(std::memory_order_relaxed); }

int ascend_cy_synchronize_device(int32_t timeout_ms)
{
    if (timeout_ms < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "", "timeout_ms is %d; it is -1 (no limit) or not negative", timeout_ms);
    if (const int error = ascend_cy_ensure_context())
        return error;
    if (thread_state.in_host_function) // is work of a device itself
        return refuse_to_wait("a device has work that is not finished");
    if (timeout_ms == -1)
        return ACY_CALL(aclrtSynchronizeDevice);
    // AscendCL refuses 0; a millisecond is the shortest wait it has.
    return ACY_CALL(aclrtSynchronizeDeviceWithTimeout, timeout_ms == 0 ? 1 : timeout_ms);
}
