// SPDX-License-Identifier: Apache-2.0
//
// The calling thread's current device.
#ifndef ASCEND_CY_HOST_CONTEXT_H
#define ASCEND_CY_HOST_CONTEXT_H

#include "errors.h"
#include "lifecycle.h"

namespace ascend_cy {

// Tables by device have this many places; AscendCL numbers the visible devices from 0.
constexpr int32_t max_devices = 64;

[[gnu::cold]] int enter_device_slowly(int32_t device, int code) noexcept;

// Makes `device` current in the calling thread. Asks the device library each time: other code in the process
// (torch_npu) changes the current device behind our back, so a copy of our own would go stale.
inline int enter_device(int32_t device) noexcept
{
    int32_t current = -1;
    const int code = device_table.aclrtGetDevice(&current);
    if (__builtin_expect(code == ACL_SUCCESS && current == device, 1))
        return ACL_SUCCESS;
    return enter_device_slowly(device, code);
}

// Gives the calling thread's device; makes device 0 current if there is none.
[[gnu::cold]] int current_device_slowly(int code, int32_t *device) noexcept;

inline int current_device(int32_t *device) noexcept
{
    const int code = device_table.aclrtGetDevice(device);
    return __builtin_expect(code == ACL_SUCCESS, 1) ? ACL_SUCCESS : current_device_slowly(code, device);
}

// Works on a device and puts the thread's current context back: for frees and other work that may happen in any
// thread at any time, and must not move that thread to another device.
class DeviceScope {
public:
    explicit DeviceScope(int32_t device) noexcept;
    ~DeviceScope();
    DeviceScope(const DeviceScope &) = delete;
    DeviceScope &operator=(const DeviceScope &) = delete;

    int error() const noexcept { return error_; }

    // The device stays current; the context to go back to, NULL where nothing changed, is the caller's from here on.
    aclrtContext release() noexcept
    {
        const aclrtContext previous = previous_;
        previous_ = nullptr;
        return previous;
    }

private:
    aclrtContext previous_ = nullptr;
    int error_ = ACL_SUCCESS;
};

// Makes the thread's earlier context current again; nothing to do for NULL.
void go_back_to(aclrtContext previous) noexcept;

// Remembers that work may be enqueued on a device.
void note_device_use(int32_t device) noexcept;

// 107001 with a message unless 0 <= device < device count.
int check_device_id(int32_t device) noexcept;

} // namespace ascend_cy

#endif
