/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <algorithm>

#include "device.h"
#include "log.h"
#include "pool.h"
#include "stream.h"
#include "waiting.h"

namespace acl_cpu {

constexpr uint32_t max_events = 65536;
std::atomic<uint32_t> live_events{0};
std::atomic<int32_t> next_event_id{0};

void Event::release()
{
    if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    handles<Event>().destroy(this);
}

/* The stream waits for a ticket. */
struct EventWaitTask final : WaitingTask {
    EventWaitTask(Event *waited, uint64_t of, uint64_t limit_ns) : WaitingTask(limit_ns), event(waited), ticket(of) {}
    EventWaitTask(EventWaitTask &&other) noexcept : WaitingTask(std::move(other)), event(other.event), ticket(other.ticket)
    {
        event->retain();
        event->waits_under_way.fetch_add(1);
        owns_reference = true;
    }
    ~EventWaitTask() override
    {
        if (!owns_reference) return;
        event->waits_under_way.fetch_sub(1);
        event->release();
    }

    const char *name() const override { return "event wait"; }

    Step start(Stream &on) override
    {
        /* Once the lock is released the wait may be over and this object gone: nothing is touched after it. */
        std::lock_guard<std::mutex> hold(event->lock);
        if (event->is_done(ticket) || cancelled.load(std::memory_order_seq_cst)) return Step::Done;
        event->waiting.push_back(this);
        /* Who waits for this stream may help the other one, unless the wait may end before that is done. */
        if (timeout_ns == 0) on.blocked_on.store(event->recorder, std::memory_order_relaxed);
        begin_timeout(on);
        return Step::Pending;
    }

    bool withdraw() override
    {
        std::lock_guard<std::mutex> hold(event->lock);
        if (!take_out(event->waiting, this)) return false;
        detach();
        return true;
    }

    /* No longer in the event's list. */
    void detach()
    {
        stream->blocked_on.store(nullptr, std::memory_order_relaxed);
        end_timeout();
    }

    Event *const event;
    const uint64_t ticket;
    bool owns_reference = false;
};

namespace {

void issue(Event &event, Stream &stream, uint64_t *ticket)
{
    *ticket = ++event.issued;
    event.was_reset = false;
    event.recorder = stream.handle();
}

/* After a ticket is done: lets those go who waited for it. */
void let_go(Event &event, std::vector<EventWaitTask *> *freed)
{
    auto &list = event.waiting;
    for (size_t i = 0; i < list.size();) {
        if (!event.is_done(list[i]->ticket)) {
            ++i;
            continue;
        }
        list[i]->detach();
        freed->push_back(list[i]);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

void stamp(Event &event)
{
    event.has_timestamp = (event.flags & ACL_EVENT_TIME_LINE) != 0;
    if (event.has_timestamp) event.timestamp_ns = now_ns();
}

struct EventRecordTask final : Task {
    EventRecordTask(Event *recorded, Stream *on) : event(recorded), where(on) {}
    EventRecordTask(EventRecordTask &&other) noexcept : Task(std::move(other)), event(other.event), where(other.where)
    {
        event->retain();
        owns_reference = true;
    }
    ~EventRecordTask() override
    {
        if (owns_reference) event->release();
    }

    const char *name() const override { return "event record"; }
    uint64_t cost_ns() const override { return 0; }

    void keep_arguments()
    {
        std::lock_guard<std::mutex> hold(event->lock);
        issue(*event, *where, &ticket);
        event->outstanding.push_back(ticket);
    }

    Step start(Stream &) override
    {
        std::vector<EventWaitTask *> freed;
        {
            std::lock_guard<std::mutex> hold(event->lock);
            if (ticket == 0) {
                /* In the calling thread: asked for and done in one step. */
                issue(*event, *where, &ticket);
                stamp(*event);
            } else {
                auto &list = event->outstanding;
                list.erase(std::find(list.begin(), list.end(), ticket));
                if (ticket == event->issued) stamp(*event);
            }
            if (UNLIKELY(!event->waiting.empty())) let_go(*event, &freed);
        }
        unpark(event);
        for (EventWaitTask *task : freed) task->stream->finish_pending(task);
        return Step::Done;
    }

    /* A stream that drops its work must not hold up others for ever. */
    void drop() override
    {
        {
            std::lock_guard<std::mutex> hold(event->lock);
            event->aborted = ticket;
        }
        start(*where);
    }

    Event *const event;
    Stream *const where;
    uint64_t ticket = 0;
    bool owns_reference = false;
};

struct EventResetTask final : Task {
    explicit EventResetTask(Event *target) : event(target)
    {
        std::lock_guard<std::mutex> hold(event->lock);
        ticket = event->issued;
    }
    EventResetTask(EventResetTask &&other) noexcept : Task(std::move(other)), event(other.event), ticket(other.ticket)
    {
        event->retain();
        owns_reference = true;
    }
    ~EventResetTask() override
    {
        if (owns_reference) event->release();
    }

    const char *name() const override { return "event reset"; }
    uint64_t cost_ns() const override { return 0; }

    Step start(Stream &) override
    {
        std::lock_guard<std::mutex> hold(event->lock);
        /* A record enqueued after the reset counts. */
        if (event->issued == ticket) event->was_reset = true;
        return Step::Done;
    }

    Event *const event;
    uint64_t ticket;
    bool owns_reference = false;
};

aclError find_event(aclrtEvent handle, const char *what, Event **event)
{
    REQUIRE(handle != nullptr, "%s is NULL", what);
    *event = Handles<Event>::find(handle);
    if (LIKELY(*event != nullptr)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "%s %p is no live event", what, handle);
}

aclError create_event(aclrtEvent *event, uint32_t flags, bool reusable, const void *creator)
{
    REQUIRE_NOT_NULL(event);
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    constexpr uint32_t known = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE |
                               ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;
    if (flags == 0 || (flags & ~known) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %#x, it must be made of the ACL_EVENT_* bits", flags);
    }
    for (uint32_t alone : {ACL_EVENT_DEVICE_USE_ONLY, ACL_EVENT_EXTERNAL, ACL_EVENT_IPC}) {
        if ((flags & alone) != 0 && flags != alone) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %#x, but the bit %#x stands alone", flags, alone);
        }
    }
    if ((flags & ACL_EVENT_IPC) != 0) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "events cannot be shared between processes on this device");
    }
    Event *created = nullptr;
    if (live_events.fetch_add(1) < max_events) {
        created = handles<Event>().create(creator, context->device, next_event_id.fetch_add(1), flags, reusable);
    }
    if (created == nullptr) {
        live_events.fetch_sub(1);
        return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "%u events exist, which is the limit", max_events);
    }
    *event = created->handle();
    return ACL_SUCCESS;
}

/* 207000 where the event is of the kind without reset cycle. */
aclError require_resettable(const Event &event)
{
    if (!event.reusable) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the event was made by aclrtCreateEventExWithFlag, which has no such call");
}

aclError require_sync(const Event &event)
{
    constexpr uint32_t usable = ACL_EVENT_SYNC | ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL;
    if ((event.flags & usable) != 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the event was made without ACL_EVENT_SYNC");
}

aclError record(aclrtEvent handle, aclrtStream stream)
{
    Event *event = nullptr;
    RETURN_IF_ERROR(find_event(handle, "event", &event));
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return submit(*target, EventRecordTask(event, target));
}

aclError stream_wait(aclrtStream stream, aclrtEvent handle, uint64_t timeout_s)
{
    Event *event = nullptr;
    RETURN_IF_ERROR(find_event(handle, "event", &event));
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(require_sync(*event));
    uint64_t ticket;
    {
        std::lock_guard<std::mutex> hold(event->lock);
        ticket = event->issued;
        if (ticket == 0) {
            if (event->reusable) return ACL_SUCCESS;
            return fail(ACL_ERROR_RT_PARAM_INVALID, "the event was never recorded");
        }
        if (event->was_reset) ++ticket; /* the next record */
        else if (event->is_done(ticket)) return ACL_SUCCESS;
    }
    return submit(*target, EventWaitTask(event, ticket, timeout_s * 1000000000u));
}

aclError synchronize_event(Event &event, uint64_t deadline)
{
    uint64_t ticket;
    void *recorder;
    {
        std::lock_guard<std::mutex> hold(event.lock);
        ticket = event.issued;
        recorder = event.recorder;
    }
    if (ticket == 0) return ACL_SUCCESS;
    auto done = [&] {
        std::lock_guard<std::mutex> hold(event.lock);
        return event.is_done(ticket);
    };
    uint64_t give_up = NO_DEADLINE;
    event.retain();
    aclError result = ACL_SUCCESS;
    for (;;) {
        if (done()) break;
        Stream *stream = Handles<Stream>::find(recorder);
        uint32_t target = stream != nullptr ? Stream::submitted(stream->progress.load()) : 0;
        if (stream != nullptr && pool().help(*stream, target, deadline)) continue;
        uint64_t now = now_ns();
        if (pool().stopping() && give_up == NO_DEADLINE) give_up = now + 1000000000u;
        if (now >= std::min(deadline, give_up)) {
            result = fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "event %d is not complete in time", event.id);
            break;
        }
        if (pool().spins()) {
            uint64_t until = now + SPIN_NS;
            bool over;
            do {
                for (int i = 0; i < 64; ++i) cpu_relax();
                over = done();
            } while (!over && now_ns() < until && !(stream != nullptr && Pool::may_help(*stream)));
            if (over) break;
            if (stream != nullptr && pool().help(*stream, target, deadline)) continue;
        }
        park_until(&event, std::min(deadline, give_up), done);
    }
    bool aborted;
    {
        std::lock_guard<std::mutex> hold(event.lock);
        aborted = event.aborted == ticket;
    }
    event.release();
    if (result == ACL_SUCCESS && aborted) {
        return fail(ACL_ERROR_RT_STREAM_ABORT, "the record of event %d was dropped with the work of its stream", event.id);
    }
    return result;
}

} // namespace
} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtCreateEvent(aclrtEvent *event)
{
    ACL_ENTRY();
    return create_event(event, ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE, false,
                        __builtin_return_address(0));
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    ACL_ENTRY();
    return create_event(event, flag, false, __builtin_return_address(0));
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag)
{
    ACL_ENTRY();
    return create_event(event, flag, true, __builtin_return_address(0));
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
    ACL_ENTRY_RELEASE();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    if (!Handles<Event>::retire(target)) return fail(ACL_ERROR_RT_INVALID_HANDLE, "event %p is being destroyed", event);
    live_events.fetch_sub(1);
    target->release();
    return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
    ACL_ENTRY();
    return record(event, stream);
}

aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag)
{
    ACL_ENTRY();
    if (flag > ACL_EVENT_RECORD_EXTERNAL) return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, not 0 or 1", flag);
    return record(event, stream);
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    Stream *on = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &on));
    RETURN_IF_ERROR(require_resettable(*target));
    RETURN_IF_ERROR(require_sync(*target));
    return submit(*on, EventResetTask(target));
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    ACL_ENTRY();
    return stream_wait(stream, event, g_op_wait_timeout_s.load(std::memory_order_relaxed));
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
    ACL_ENTRY();
    if (timeout < 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d s, it must not be negative", timeout);
    return stream_wait(stream, event, static_cast<uint64_t>(timeout));
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag)
{
    ACL_ENTRY();
    if (flag > ACL_EVENT_WAIT_EXTERNAL) return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, not 0 or 1", flag);
    return stream_wait(stream, event, timeout);
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    REQUIRE_NOT_NULL(status);
    std::lock_guard<std::mutex> hold(target->lock);
    bool complete = target->issued == 0 ? target->reusable : target->is_done(target->issued) && !target->was_reset;
    *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    REQUIRE_NOT_NULL(status);
    RETURN_IF_ERROR(require_resettable(*target));
    std::lock_guard<std::mutex> hold(target->lock);
    *status = target->is_done(target->issued) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    REQUIRE_NOT_NULL(status);
    RETURN_IF_ERROR(require_resettable(*target));
    *status = target->waits_under_way.load() == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(synchronize_event(*target, NO_DEADLINE));
    return context_failure(*context);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout)
{
    ACL_ENTRY();
    if (timeout == 0 || timeout < -1) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d, it must be positive or -1 (no limit)", timeout);
    }
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    RETURN_IF_ERROR(synchronize_event(*target, deadline_in_ms(timeout)));
    return context_failure(*context);
}

namespace {

/* The time of the newest record, or why there is none. */
aclError time_of(Event &event, const char *which, uint64_t *ns)
{
    std::lock_guard<std::mutex> hold(event.lock);
    if (event.issued == 0) return fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s was never recorded", which);
    if (!event.is_done(event.issued)) return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "%s is not complete", which);
    if (!event.has_timestamp) {
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "%s was made without ACL_EVENT_TIME_LINE", which);
    }
    *ns = event.timestamp_ns;
    return ACL_SUCCESS;
}

} // namespace

aclError aclrtEventElapsedTime(float *ms, aclrtEvent start_event, aclrtEvent end_event)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ms);
    Event *start = nullptr;
    Event *end = nullptr;
    RETURN_IF_ERROR(find_event(start_event, "start_event", &start));
    RETURN_IF_ERROR(find_event(end_event, "end_event", &end));
    uint64_t from;
    uint64_t to;
    RETURN_IF_ERROR(time_of(*start, "start_event", &from));
    RETURN_IF_ERROR(time_of(*end, "end_event", &to));
    *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(to - from)) * 1e-6);
    return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    REQUIRE_NOT_NULL(timestamp);
    uint64_t ns;
    RETURN_IF_ERROR(time_of(*target, "event", &ns));
    *timestamp = ns / 1000;
    return ACL_SUCCESS;
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t *event_id)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    REQUIRE_NOT_NULL(event_id);
    *event_id = static_cast<uint32_t>(target->id);
    return ACL_SUCCESS;
}

aclError aclrtGetEventAvailNum(uint32_t *event_count)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(event_count);
    Context *context = nullptr;
    RETURN_IF_ERROR(require_context(&context));
    *event_count = max_events - live_events.load();
    return ACL_SUCCESS;
}
