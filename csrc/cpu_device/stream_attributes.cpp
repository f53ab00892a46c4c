/* SPDX-License-Identifier: Apache-2.0
 *
 * Attributes of streams, configuration handles, stopping.
 */
#include <cstring>

#include "device.h"
#include "leaks.h"
#include "pool.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

aclError check_switch(uint32_t value, const char *name)
{
    if (value <= 1) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s is %u, not 0 or 1", name, value);
}

aclError check_attribute(aclrtStreamAttr attr)
{
    if (attr >= ACL_STREAM_ATTR_FAILURE_MODE && attr <= ACL_STREAM_ATTR_PRIORITY) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "stm_attr_type is %d, not one of aclrtStreamAttr", static_cast<int>(attr));
}

/* The sizes that aclrtSetStreamConfigOpt wants. */
size_t size_of_config(aclrtStreamConfigAttr attr)
{
    switch (attr) {
    case ACL_RT_STREAM_WORK_ADDR_PTR: return sizeof(void *);
    case ACL_RT_STREAM_WORK_SIZE:
    case ACL_RT_STREAM_FLAG: return sizeof(size_t);
    case ACL_RT_STREAM_PRIORITY: return sizeof(uint32_t);
    }
    return 0;
}

} // namespace

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stm_attr_type, aclrtStreamAttrValue *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    RETURN_IF_ERROR(check_attribute(stm_attr_type));
    if (stm_attr_type == ACL_STREAM_ATTR_FAILURE_MODE) return aclrtSetStreamFailureMode(stream, value->failureMode);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    switch (stm_attr_type) {
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        RETURN_IF_ERROR(check_switch(value->overflowSwitch, "value->overflowSwitch"));
        target->overflow_switch.store(value->overflowSwitch);
        break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG: target->user_tag.store(value->userCustomTag); break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        RETURN_IF_ERROR(check_switch(value->cacheOpInfoSwitch, "value->cacheOpInfoSwitch"));
        target->cache_op_info.store(value->cacheOpInfoSwitch);
        break;
    case ACL_STREAM_ATTR_PRIORITY:
        if (value->streamPriority > 7) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "value->streamPriority is %u, not 0 to 7", value->streamPriority);
        }
        target->priority.store(value->streamPriority);
        break;
    case ACL_STREAM_ATTR_FAILURE_MODE: break;
    }
    return ACL_SUCCESS;
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stm_attr_type, aclrtStreamAttrValue *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    RETURN_IF_ERROR(check_attribute(stm_attr_type));
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    memset(value, 0, sizeof *value);
    switch (stm_attr_type) {
    case ACL_STREAM_ATTR_FAILURE_MODE: value->failureMode = target->failure_mode.load(); break;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK: value->overflowSwitch = target->overflow_switch.load(); break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG: value->userCustomTag = target->user_tag.load(); break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO: value->cacheOpInfoSwitch = target->cache_op_info.load(); break;
    case ACL_STREAM_ATTR_PRIORITY: value->streamPriority = target->priority.load(); break;
    }
    return ACL_SUCCESS;
}

/* ---- configuration handles ---- */

aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void)
{
    t_state.api = __func__;
    aclrtStreamConfigHandle *handle = new aclrtStreamConfigHandle{};
    track(handle, "stream configuration", __builtin_return_address(0));
    return handle;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(handle);
    untrack(handle);
    delete handle;
    return ACL_SUCCESS;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attr_value,
                                 size_t value_size)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(handle);
    REQUIRE_NOT_NULL(attr_value);
    size_t size = size_of_config(attr);
    REQUIRE(size != 0, "attr is %d, not one of aclrtStreamConfigAttr", static_cast<int>(attr));
    /* A flag is a size_t in the handle; a 32-bit one is what programs have at hand. */
    bool short_flag = attr == ACL_RT_STREAM_FLAG && value_size == sizeof(uint32_t);
    REQUIRE(value_size == size || short_flag, "value_size is %zu, attribute %d has %zu bytes", value_size, static_cast<int>(attr), size);
    switch (attr) {
    case ACL_RT_STREAM_WORK_ADDR_PTR: memcpy(&handle->workptr, attr_value, size); break;
    case ACL_RT_STREAM_WORK_SIZE: memcpy(&handle->workSize, attr_value, size); break;
    case ACL_RT_STREAM_FLAG:
        handle->flag = 0;
        memcpy(&handle->flag, attr_value, value_size);
        break;
    case ACL_RT_STREAM_PRIORITY: memcpy(&handle->priority, attr_value, size); break;
    }
    return ACL_SUCCESS;
}

aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    if (handle == nullptr) return aclrtCreateStream(stream);
    return aclrtCreateStreamWithConfig(stream, handle->priority, static_cast<uint32_t>(handle->flag));
}

/* ---- stopping ---- */

aclError aclrtStreamStop(aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE(stream != nullptr, "the default stream cannot be stopped");
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (target->is_default()) return fail(ACL_ERROR_RT_PARAM_INVALID, "the default stream cannot be stopped");
    uint32_t running = 0;
    Task *withdrawn = nullptr;
    {
        std::lock_guard<std::mutex> hold(target->lock);
        if (target->current == nullptr) return ACL_SUCCESS;
        running = target->current->id;
        target->current->cancelled.store(true);
        if (target->current->withdraw()) withdrawn = target->current;
    }
    if (withdrawn != nullptr) target->finish_pending(withdrawn);
    /* What comes behind the stopped task is not touched. */
    wait_for(*target, running, NO_DEADLINE);
    return ACL_SUCCESS;
}
