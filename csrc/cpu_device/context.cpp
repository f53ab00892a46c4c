/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting and resetting devices, contexts and their life.
 */
#include <sched.h>

#include <algorithm>

#include "callbacks.h"
#include "device.h"
#include "log.h"
#include "model.h"
#include "process.h"
#include "settings.h"
#include "state_callbacks.h"
#include "stream.h"

namespace acl_cpu {
namespace {

/* Call with the device's lock not held. */
Context *new_context(Device &device, bool primary, const void *creator)
{
    mark_used();
    Context *context = handles<Context>().create(creator, &device, primary);
    if (context == nullptr) return nullptr;
    context->default_stream = create_stream(*context, 0, 0, creator);
    if (context->default_stream == nullptr) {
        handles<Context>().destroy(context);
        return nullptr;
    }
    context->default_handle = context->default_stream->handle();
    std::lock_guard<std::mutex> hold(device.lock);
    device.contexts.push_back(context);
    return context;
}

/* Ends a context that nobody else ends: its streams are destroyed with it. */
void end_context(Context &context, bool drop_work)
{
    Device &device = *context.device;
    context.closed.store(true);
    if (!end_models_of(context, drop_work)) return; /* the process exits, and they may still need it */
    for (;;) {
        Stream *stream;
        {
            std::lock_guard<std::mutex> hold(context.lock);
            stream = context.streams;
        }
        if (stream == nullptr) break;
        if (!begin_destroy(*stream)) { /* another thread is at it */
            sched_yield();
            continue;
        }
        if (stream != context.default_stream) notify_stream_state(*stream, ACL_RT_STREAM_STATE_DESTROY_PRE);
        destroy_stream(*stream, drop_work);
    }
    {
        std::lock_guard<std::mutex> hold(device.lock);
        device.contexts.erase(std::remove(device.contexts.begin(), device.contexts.end(), &context), device.contexts.end());
    }
    std::shared_ptr<HostThread> host_thread;
    {
        std::lock_guard<std::mutex> hold(context.lock);
        host_thread.swap(context.host_thread);
    }
    if (host_thread != nullptr) host_thread->end();
    handles<Context>().destroy(&context);
}

/* The last reference is gone, or the caller insists. */
aclError reset_device(int32_t id, bool force)
{
    Device *device = require_device(id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    Context *last = nullptr;
    {
        std::lock_guard<std::mutex> hold(device->lock);
        if (device->primary == nullptr || device->set_count == 0) {
            return fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "device %d is not set, or was reset already", id);
        }
        device->set_count = force ? 0 : device->set_count - 1;
        if (device->set_count == 0) {
            last = device->primary;
            device->primary = nullptr;
        }
    }
    if (last == nullptr) return ACL_SUCCESS;
    notify_device_state(id, ACL_RT_DEVICE_STATE_RESET_PRE);
    /* Work may still need the context, so it is done before the handle stops being valid. A failure is no concern of
     * the reset: whoever wanted to know has had the chance to ask. */
    for (void *handle : streams_of(*device)) {
        UseScope scope;
        if (Stream *stream = Handles<Stream>::find(handle)) {
            if (stream->context != last) continue;
            wait_for(*stream, Stream::submitted(stream->progress.load()), NO_DEADLINE);
        }
    }
    if (t_state.context == last) make_current(nullptr);
    end_context(*last, force);
    notify_device_state(id, ACL_RT_DEVICE_STATE_RESET_POST);
    LOG(STREAMS, "device %d reset", id);
    return ACL_SUCCESS;
}

aclError use_device(Device &device, bool count, const void *creator)
{
    Context *context;
    {
        std::lock_guard<std::mutex> hold(device.lock);
        context = device.primary;
        if (context != nullptr && count) ++device.set_count;
        if (context != nullptr) make_current(context); /* no reset comes in between */
    }
    if (context == nullptr) {
        if (count) notify_device_state(device.id, ACL_RT_DEVICE_STATE_SET_PRE);
        context = new_context(device, true, creator);
        if (context == nullptr) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no room for a context on device %d", device.id);
        Context *other;
        {
            std::lock_guard<std::mutex> hold(device.lock);
            other = device.primary;
            if (other == nullptr) device.primary = context;
            ++device.set_count;
            make_current(device.primary);
        }
        if (other != nullptr) end_context(*context, true); /* another thread was faster */
        if (count) notify_device_state(device.id, ACL_RT_DEVICE_STATE_SET_POST);
        LOG(STREAMS, "device %d set", device.id);
    }
    return ACL_SUCCESS;
}

} // namespace

aclError require_context(Context **context)
{
    *context = current_context();
    if (*context != nullptr) return ACL_SUCCESS;
    int32_t id = settings().default_device;
    if (id >= 0) {
        RETURN_IF_ERROR(use_device(*find_device(id), false, __builtin_return_address(0)));
        *context = t_state.context;
        return ACL_SUCCESS;
    }
    if (t_state.context != nullptr) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "the thread's context was destroyed or its device reset: call aclrtSetDevice or "
                                               "aclrtSetCurrentContext");
    }
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "the thread has no context: call aclrtSetDevice or aclrtSetCurrentContext first");
}

} // namespace acl_cpu

using namespace acl_cpu;

/* ---- devices ---- */

aclError aclrtSetDevice(int32_t device_id)
{
    ACL_ENTRY();
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    return use_device(*device, true, __builtin_return_address(0));
}

aclError aclrtResetDevice(int32_t device_id)
{
    ACL_ENTRY_RELEASE();
    return reset_device(device_id, false);
}

aclError aclrtResetDeviceForce(int32_t device_id)
{
    ACL_ENTRY_RELEASE();
    return reset_device(device_id, true);
}

aclError aclrtGetDevice(int32_t *device_id)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(device_id);
    Context *context = current_context();
    if (UNLIKELY(context == nullptr)) RETURN_IF_ERROR(require_context(&context));
    *device_id = context->device->id;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(count);
    *count = device_count();
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice(void)
{
    ACL_ENTRY();
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(refuse_captured_streams(*context));
    return synchronize_device(*context->device, NO_DEADLINE);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout)
{
    ACL_ENTRY();
    if (timeout == 0 || timeout < -1) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d, it must be positive or -1 (no limit)", timeout);
    }
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(refuse_captured_streams(*context));
    return synchronize_device(*context->device, deadline_in_ms(timeout));
}

/* ---- contexts ---- */

aclError aclrtCreateContext(aclrtContext *context, int32_t device_id)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(context);
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    Context *created = new_context(*device, false, __builtin_return_address(0));
    if (created == nullptr) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no room for a context on device %d", device_id);
    make_current(created);
    *context = created->handle();
    return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(context);
    Context *target = Handles<Context>::find(context);
    if (target == nullptr || target->primary) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "context %p %s", context,
                    target == nullptr ? "is no live context" : "belongs to aclrtSetDevice: only aclrtResetDevice ends it");
    }
    if (target->ending.exchange(true)) {
        return fail(ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "context %p is being destroyed by another thread", context);
    }
    if (t_state.context == target) make_current(nullptr);
    end_context(*target, false);
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(context);
    Context *target = Handles<Context>::find(context);
    if (target == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "context %p is no live context", context);
    make_current(target);
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(context);
    Context *current;
    RETURN_IF_ERROR(require_context(&current));
    *context = current->handle();
    return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    Context *current;
    RETURN_IF_ERROR(require_context(&current));
    *stream = current->default_stream->handle();
    return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t device_id, uint32_t *flags, int32_t *active)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(active);
    if (flags != nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "flags must be NULL");
    Device *device = require_device(device_id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    std::lock_guard<std::mutex> hold(device->lock);
    *active = device->primary != nullptr ? 1 : 0;
    return ACL_SUCCESS;
}
