/* SPDX-License-Identifier: Apache-2.0
 *
 * The aclrt functions of streams.
 */
#include <algorithm>

#include "device.h"
#include "errors.h"
#include "mempool.h"
#include "model.h"
#include "state_callbacks.h"
#include "stream.h"

using namespace acl_cpu;

namespace {

constexpr uint32_t known_flags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT | ACL_STREAM_HUGE |
                                 ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
/* Streams of these kinds have nothing a host could wait for. */
constexpr uint32_t unsynchronized_flags = ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
constexpr uint32_t lowest_priority = 7;

aclError create(aclrtStream *stream, uint32_t priority, uint32_t flags, const void *creator)
{
    REQUIRE_NOT_NULL(stream);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    Stream *created = create_stream(*context, std::min(priority, lowest_priority), flags & known_flags, creator);
    if (created == nullptr) return no_stream(*context);
    *stream = created->handle();
    notify_stream_state(*created, ACL_RT_STREAM_STATE_CREATE_POST);
    return ACL_SUCCESS;
}

aclError destroy(aclrtStream stream, bool drop_work)
{
    REQUIRE_NOT_NULL(stream);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    REQUIRE(!target->is_default(), "the default stream of a context cannot be destroyed");
    RETURN_IF_ERROR(refuse_captured(*target));
    if (target->runs.load() != nullptr) return refusal(*target);
    if (!begin_destroy(*target)) return fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %p is being destroyed", stream);
    notify_stream_state(*target, ACL_RT_STREAM_STATE_DESTROY_PRE);
    destroy_stream(*target, drop_work);
    return ACL_SUCCESS;
}

aclError check_timeout(int32_t timeout)
{
    if (timeout == 0 || timeout < -1) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d, it must be positive or -1 (no limit)", timeout);
    }
    return ACL_SUCCESS;
}

} // namespace

aclError aclrtCreateStream(aclrtStream *stream)
{
    ACL_ENTRY();
    return create(stream, 0, 0, __builtin_return_address(0));
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    ACL_ENTRY();
    return create(stream, priority, flag, __builtin_return_address(0));
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    ACL_ENTRY_RELEASE();
    return destroy(stream, false);
}

aclError aclrtDestroyStreamForce(aclrtStream stream)
{
    ACL_ENTRY_RELEASE();
    return destroy(stream, true);
}

aclError aclrtSynchronizeStream(aclrtStream stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    if (LIKELY(target->idle() && target->trouble.load(std::memory_order_acquire) == 0 &&
               target->context->failure.load(std::memory_order_relaxed) == ACL_SUCCESS)) {
        trim_pools_if_any(*target->device);
        return ACL_SUCCESS;
    }
    RETURN_IF_ERROR(refuse_captured(*target));
    if ((target->flags & unsynchronized_flags) != 0) return ACL_SUCCESS;
    return synchronize(*target, NO_DEADLINE);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout)
{
    ACL_ENTRY();
    RETURN_IF_ERROR(check_timeout(timeout));
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    RETURN_IF_ERROR(refuse_captured(*target));
    if ((target->flags & unsynchronized_flags) != 0) return ACL_SUCCESS;
    return synchronize(*target, deadline_in_ms(timeout));
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(status);
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    *status = target->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    aclError failure = target->context->failure.load(std::memory_order_relaxed);
    if (LIKELY(target->trouble.load(std::memory_order_acquire) == 0 && failure == ACL_SUCCESS)) return ACL_SUCCESS;
    RETURN_IF_ERROR(refuse_captured(*target));
    /* A query looks at the error, only a synchronization takes it. */
    aclError error;
    std::string message;
    {
        std::lock_guard<std::mutex> hold(target->lock);
        error = target->error;
        message = target->error_message;
    }
    if (error != ACL_SUCCESS) return fail_with(error, message.c_str());
    return context_failure(*target->context);
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *stream_id)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream_id);
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    *stream_id = target->id;
    return ACL_SUCCESS;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(priority);
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    *priority = target->priority.load();
    return ACL_SUCCESS;
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(flags);
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    *flags = target->flags;
    return ACL_SUCCESS;
}

aclError aclrtGetStreamAvailableNum(uint32_t *stream_count)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream_count);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    std::lock_guard<std::mutex> hold(context->device->lock);
    *stream_count = max_streams() - context->device->streams;
    return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode)
{
    ACL_ENTRY();
    if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "mode is %llu, not ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1)",
                    static_cast<unsigned long long>(mode));
    }
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if ((target->flags & ACL_STREAM_DEVICE_USE_ONLY) != 0) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "stream %d was made with ACL_STREAM_DEVICE_USE_ONLY", target->id);
    }
    if (mode == ACL_CONTINUE_ON_FAILURE && target->failure_mode.load() == ACL_STOP_ON_FAILURE) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stop-on-failure cannot be taken back");
    }
    target->failure_mode.store(static_cast<uint32_t>(mode));
    if (mode == ACL_STOP_ON_FAILURE) target->context->stop_on_failure.store(true);
    return ACL_SUCCESS;
}

aclError aclrtStreamAbort(aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    target->abort_count.fetch_add(1);
    abort_work(*target);
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t *least_priority, int32_t *greatest_priority)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(least_priority);
    REQUIRE_NOT_NULL(greatest_priority);
    *least_priority = lowest_priority;
    *greatest_priority = 0;
    return ACL_SUCCESS;
}

aclError aclrtGetThreadLastTaskId(uint32_t *task_id)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(task_id);
    *task_id = t_state.last_task_id;
    return ACL_SUCCESS;
}
