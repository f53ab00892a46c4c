// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include <chrono>
#include <mutex>
#include <new>
#include <thread>

#include "hazard/hazard.h"

#include "host_function.h"
#include "thread_state.h"

struct ascend_cy_event {
    std::atomic<uint32_t> references{1};
    const int32_t device;
    const aclrtEvent handle;
    std::atomic<bool> recorded{false};

    ascend_cy_event(int32_t device_, aclrtEvent handle_) : device(device_), handle(handle_) {}
};

namespace ascend_cy {

namespace {

using Event = ascend_cy_event;

std::atomic<int64_t> live_event_count{0};

constexpr size_t max_idle_events = 256; // a device has 65536 for all processes

// Events of ours that nobody waits for on the host any more, oldest first. The last record of one may still be under
// way, and streams wait for it: it is not recorded again before that.
struct EventStore {
    std::mutex mutex;
    size_t first = 0;                 // guarded by mutex
    size_t count = 0;                 // guarded by mutex
    aclrtEvent idle[max_idle_events]; // guarded by mutex; a ring
};

EventStore event_stores[max_devices];

int null_event() noexcept { return fail(ACL_ERROR_INVALID_PARAM, "", "the event is NULL"); }

} // namespace

int take_event(int32_t device, aclrtEvent *event) noexcept
{
    EventStore &store = event_stores[device];
    {
        std::lock_guard<std::mutex> lock(store.mutex);
        if (store.count > 0 && mark_passed(store.idle[store.first])) {
            *event = store.idle[store.first];
            store.first = (store.first + 1) % max_idle_events;
            --store.count;
            return ACL_SUCCESS;
        }
    }
    // The "Ex" kind may be recorded again and again without a reset.
    return ACY_CALL(aclrtCreateEventExWithFlag, event, ACL_EVENT_SYNC);
}

void give_event_back(int32_t device, aclrtEvent event) noexcept
{
    if (event == nullptr || !device_usable())
        return;
    EventStore &store = event_stores[device];
    {
        std::lock_guard<std::mutex> lock(store.mutex);
        if (store.count < max_idle_events) {
            store.idle[(store.first + store.count++) % max_idle_events] = event;
            return;
        }
    }
    device_table.aclrtDestroyEvent(event);
}

int mark_stream(int32_t device, aclrtStream stream, aclrtEvent *event) noexcept
{
    if (const int error = take_event(device, event))
        return error;
    const int error = ACY_CALL(aclrtRecordEvent, *event, stream);
    if (error != ACL_SUCCESS) {
        give_event_back(device, *event);
        *event = nullptr;
    }
    return error;
}

bool mark_passed(aclrtEvent event) noexcept
{
    hazard::OwnQuestion asks;
    // One call may fail while the work goes on; a device that does not answer the second time either has none.
    for (int attempt = 0; attempt < 2; ++attempt) {
        aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
        if (device_table.aclrtQueryEventStatus(event, &status) == ACL_SUCCESS)
            return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
    }
    return true;
}

bool wait_for_mark(aclrtEvent event, const Deadline &deadline) noexcept
{
    if (thread_state.in_host_function)
        return mark_passed(event);
    for (;;) {
        const int32_t left = deadline.limited() ? deadline.left_ms() : 1;
        if (left == 0)
            return mark_passed(event);
        const int code = deadline.limited() ? device_table.aclrtSynchronizeEventWithTimeout(event, left)
                                            : device_table.aclrtSynchronizeEvent(event);
        if (code == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT)
            return false;
        // What failed may be the wait alone.
        if (code == ACL_SUCCESS || mark_passed(event))
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

bool wait_for_whole_stream(aclrtStream stream, const Deadline &deadline) noexcept
{
    const int32_t left = deadline.limited() ? deadline.left_ms() : 1;
    if (thread_state.in_host_function || left == 0)
        return stream_has_passed(stream);
    if (deadline.limited())
        return device_table.aclrtSynchronizeStreamWithTimeout(stream, left) != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
    device_table.aclrtSynchronizeStream(stream);
    return true;
}

int64_t live_events() noexcept { return live_event_count.load(std::memory_order_relaxed); }

} // namespace ascend_cy

using namespace ascend_cy;

namespace {

int usable(const ascend_cy_event_t *event) noexcept { return event == nullptr ? null_event() : ready(); }

} // namespace

int ascend_cy_event_create(int32_t device, uint32_t flags, ascend_cy_event_t **out)
{
    *out = nullptr;
    if (const int error = ready())
        return error;
    if (const int error = check_device_id(device))
        return error;
    DeviceScope scope(device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    aclrtEvent handle = nullptr;
    if (flags == 0)
        flags = ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE;
    if (const int error = ACY_CALL(aclrtCreateEventExWithFlag, &handle, flags))
        return error;
    auto *event = new (std::nothrow) Event(device, handle);
    if (event == nullptr) {
        device_table.aclrtDestroyEvent(handle);
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    }
    live_event_count.fetch_add(1, std::memory_order_relaxed);
    *out = event;
    return ACL_SUCCESS;
}

void ascend_cy_event_retain(ascend_cy_event_t *event) { event->references.fetch_add(1, std::memory_order_relaxed); }

void ascend_cy_event_release(ascend_cy_event_t *event)
{
    if (event == nullptr || event->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (device_usable()) {
        QuietScope quiet;
        DeviceScope scope(event->device);
        device_table.aclrtDestroyEvent(event->handle);
    }
    live_event_count.fetch_sub(1, std::memory_order_relaxed);
    delete event;
}

aclrtEvent ascend_cy_event_handle(const ascend_cy_event_t *event) { return event->handle; }

int ascend_cy_event_record(ascend_cy_event_t *event, ascend_cy_stream_t *stream)
{
    if (event == nullptr)
        return null_event();
    if (const int error = usable(stream))
        return error;
    DeviceScope scope(stream->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    if (const int error = ACY_CALL(aclrtRecordEvent, event->handle, stream->handle))
        return error;
    event->recorded.store(true, std::memory_order_release);
    return ACL_SUCCESS;
}

int ascend_cy_event_recorded(const ascend_cy_event_t *event)
{
    return event->recorded.load(std::memory_order_acquire) ? 1 : 0;
}

int ascend_cy_event_query(ascend_cy_event_t *event, int *done)
{
    *done = 0;
    if (const int error = usable(event))
        return error;
    DeviceScope scope(event->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    if (const int error = ACY_CALL(aclrtQueryEventStatus, event->handle, &status))
        return error;
    *done = status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

int ascend_cy_event_synchronize(ascend_cy_event_t *event, int32_t timeout_ms)
{
    if (const int error = usable(event))
        return error;
    DeviceScope scope(event->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    const bool may_wait = !thread_state.in_host_function;
    if (timeout_ms == -1 && may_wait)
        return ACY_CALL(aclrtSynchronizeEvent, event->handle);
    if (timeout_ms > 0 && may_wait)
        return ACY_CALL(aclrtSynchronizeEventWithTimeout, event->handle, timeout_ms);
    if (timeout_ms < -1)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "", "timeout_ms is %d; it is -1 (no limit) or not negative", timeout_ms);
    int done = 0;
    if (const int error = ascend_cy_event_query(event, &done))
        return error;
    constexpr const char *unfinished = "the event has not been reached";
    return done              ? ACL_SUCCESS
           : timeout_ms == 0 ? fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "", "%s", unfinished)
                             : refuse_to_wait(unfinished);
}

int ascend_cy_stream_wait_event(ascend_cy_stream_t *stream, ascend_cy_event_t *event)
{
    if (event == nullptr)
        return null_event();
    if (const int error = usable(stream))
        return error;
    DeviceScope scope(stream->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    return ACY_CALL(aclrtStreamWaitEvent, stream->handle, event->handle);
}

int ascend_cy_event_elapsed_ms(ascend_cy_event_t *start, ascend_cy_event_t *end, float *ms)
{
    *ms = 0.0F;
    if (end == nullptr)
        return null_event();
    if (const int error = usable(start))
        return error;
    DeviceScope scope(start->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    // Each mistake has a message of its own; the device library answers some of them with one code.
    for (const ascend_cy_event_t *event : {start, end})
        if (!event->recorded.load(std::memory_order_acquire))
            return fail(ACL_ERROR_RT_INTERNAL_ERROR, "aclrtEventElapsedTime", "the %s event was not recorded",
                        event == start ? "start" : "end");
    for (ascend_cy_event_t *event : {start, end}) {
        int done = 0;
        if (const int error = ascend_cy_event_query(event, &done))
            return error;
        if (!done)
            return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "",
                        "the %s event is recorded but not finished; wait for it first", event == start ? "start" : "end");
    }
    return ACY_CALL(aclrtEventElapsedTime, ms, start->handle, end->handle);
}
