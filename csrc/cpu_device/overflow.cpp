/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating-point overflow: modes and status. Host code computes with infinities and NaN and raises no overflow flag,
 * so saturation mode can be chosen and asked for, and the status is always clear.
 */
#include <cstring>

#include "copy.h"
#include "device.h"
#include "memory.h"
#include "model.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

constexpr size_t status_bytes = 64;

/* 207000 unless the device is in saturation mode. */
aclError require_saturation(const Device &device)
{
    if (device.overflow_mode.load() == ACL_RT_OVERFLOW_MODE_SATURATION) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "overflow detection needs saturation mode (aclrtSetDeviceSatMode)");
}

aclError clear_status(void *output_addr, size_t output_size, aclrtStream stream)
{
    REQUIRE_NOT_NULL(output_addr);
    if (output_size < status_bytes) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "output_size is %zu, the status has %zu bytes", output_size, status_bytes);
    }
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(refuse_captured(*target));
    RETURN_IF_ERROR(require_saturation(*target->device));
    Allocation found;
    RETURN_IF_ERROR(check_range(output_addr, status_bytes, "output_addr", &found));
    return enqueue_fill(*target, output_addr, 0, 1, status_bytes);
}

aclError reset_status(aclrtStream stream)
{
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(refuse_captured(*target));
    return require_saturation(*target->device);
}

aclError check_mode(uint32_t check_mode)
{
    if (check_mode <= 1) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "check_mode is %u, not 0 or 1", check_mode);
}

} // namespace

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode)
{
    ACL_ENTRY();
    REQUIRE(mode >= ACL_RT_OVERFLOW_MODE_SATURATION && mode < ACL_RT_OVERFLOW_MODE_UNDEF,
            "mode is %d, not saturation (0) or infinity and NaN (1)", static_cast<int>(mode));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    context->device->overflow_mode.store(mode);
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(mode);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    *mode = static_cast<aclrtFloatOverflowMode>(context->device->overflow_mode.load());
    return ACL_SUCCESS;
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag)
{
    ACL_ENTRY();
    if (flag > 1) return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, not 0 or 1", flag);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(refuse_captured(*target));
    RETURN_IF_ERROR(require_saturation(*target->device));
    target->overflow_switch.store(flag);
    return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(flag);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(require_saturation(*target->device));
    *flag = target->overflow_switch.load();
    return ACL_SUCCESS;
}

aclError aclrtGetOverflowStatus(void *output_addr, size_t output_size, aclrtStream stream)
{
    ACL_ENTRY();
    return clear_status(output_addr, output_size, stream);
}

aclError aclrtResetOverflowStatus(aclrtStream stream)
{
    ACL_ENTRY();
    return reset_status(stream);
}

aclError aclrtGetFloatOverflowStatus(void *output_addr, uint64_t output_size, aclrtStream stream)
{
    ACL_ENTRY();
    return clear_status(output_addr, output_size, stream);
}

aclError aclrtResetFloatOverflowStatus(aclrtStream stream)
{
    ACL_ENTRY();
    return reset_status(stream);
}

aclError aclrtNpuGetFloatOverFlowStatus(void *output_addr, uint64_t output_size, uint32_t mode, aclrtStream stream)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_mode(mode));
    return clear_status(output_addr, output_size, stream);
}

aclError aclrtNpuClearFloatOverFlowStatus(uint32_t mode, aclrtStream stream)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_mode(mode));
    return reset_status(stream);
}

aclError aclrtCtxGetFloatOverflowAddr(void **overflow_addr)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(overflow_addr);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(require_saturation(*context->device));
    alignas(64) static uint8_t flags[status_bytes];
    *overflow_addr = flags;
    return ACL_SUCCESS;
}
