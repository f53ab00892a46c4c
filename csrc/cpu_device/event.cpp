/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <algorithm>

#include "device.h"
#include "log.h"
#include "model.h"
#include "pool.h"
#include "stream.h"
#include "waiting.h"

namespace acl_cpu {

constexpr uint32_t max_events = 65536;
std::atomic<uint32_t> live_events{0};
std::atomic<int32_t> next_event_id{0};

void Event::release()
{
    if (!references.release()) return;
    {
        std::lock_guard<std::mutex> hold(lock);
        gone = true;
    }
    handles<Event>().destroy(this);
}

/* As a ticket: the record that is the newest, or the next one after a reset, when the task starts. That is how events
 * within runtime instances work, where each execution is as the first. */
constexpr uint64_t BOUND_AT_START = UINT64_MAX;

/* The stream waits for a ticket. */
struct EventWaitTask final : WaitingTask {
    EventWaitTask(Event *waited, uint64_t of, uint64_t limit_ns) : WaitingTask(limit_ns), event(waited), ticket(of) {}
    EventWaitTask(EventWaitTask &&other) noexcept : WaitingTask(std::move(other)), event(other.event), ticket(other.ticket)
    {
        owns_reference = event->retain();
        lost = !owns_reference;
        if (owns_reference) event->waits_under_way.fetch_add(1);
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
        if (UNLIKELY(lost)) return Step::Done; /* the event may be another one by now */
        /* Once the lock is released the wait may be over and this object gone: nothing is touched after it. */
        std::lock_guard<std::mutex> hold(event->lock);
        if (UNLIKELY(event->gone)) return Step::Done;
        if (UNLIKELY(ticket == BOUND_AT_START)) ticket = event->issued + (event->issued == 0 || event->was_reset);
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

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_EVENT_WAIT; }
    void describe(aclmdlRITaskParams &params) const override
    {
        params.eventWaitTaskParams = {event->handle(), event->flags, event->wait_flag.load() == 1};
    }

    Event *const event;
    uint64_t ticket;
    bool owns_reference = false;
    bool lost = false; /* the event was destroyed during the call: there is nothing to wait for */
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
        owns_reference = event->retain();
        lost = !owns_reference;
    }
    ~EventRecordTask() override
    {
        if (owns_reference) event->release();
    }

    const char *name() const override { return "event record"; }
    uint64_t cost_ns() const override { return 0; }

    void keep_arguments()
    {
        if (lost) return;
        std::lock_guard<std::mutex> hold(event->lock);
        issue(*event, *where, &ticket);
        event->outstanding.push_back(ticket);
    }

    Step start(Stream &) override
    {
        if (UNLIKELY(lost)) return Step::Done;
        std::vector<EventWaitTask *> freed;
        {
            std::lock_guard<std::mutex> hold(event->lock);
            if (ticket == 0) {
                /* In the calling thread: asked for and done in one step. No harm if the event is gone meanwhile. */
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
        if (lost) return;
        {
            std::lock_guard<std::mutex> hold(event->lock);
            event->aborted = ticket;
        }
        start(*where);
    }

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_EVENT_RECORD; }
    void describe(aclmdlRITaskParams &params) const override
    {
        params.eventRecordTaskParams = {event->handle(), event->flags, event->record_flag.load() == 1};
    }

    Event *const event;
    Stream *const where;
    uint64_t ticket = 0;
    bool owns_reference = false;
    bool lost = false; /* the event was destroyed during the call: as if it had been recorded before */
};

struct EventResetTask final : Task {
    explicit EventResetTask(Event *target) : event(target)
    {
        std::lock_guard<std::mutex> hold(event->lock);
        ticket = event->issued;
    }
    EventResetTask(EventResetTask &&other) noexcept : Task(std::move(other)), event(other.event), ticket(other.ticket)
    {
        owns_reference = event->retain();
        lost = !owns_reference;
    }
    ~EventResetTask() override
    {
        if (owns_reference) event->release();
    }

    const char *name() const override { return "event reset"; }
    uint64_t cost_ns() const override { return 0; }

    Step start(Stream &) override
    {
        if (lost) return Step::Done;
        std::lock_guard<std::mutex> hold(event->lock);
        if (event->gone) return Step::Done;
        /* A record enqueued after the reset counts. */
        bool newest = ticket == BOUND_AT_START ? event->issued != 0 && event->is_done(event->issued) : event->issued == ticket;
        if (newest) event->was_reset = true;
        return Step::Done;
    }

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_EVENT_RESET; }
    void describe(aclmdlRITaskParams &params) const override { params.eventResetTaskParams = {event->handle(), event->flags, 0}; }

    Event *const event;
    uint64_t ticket;
    bool owns_reference = false;
    bool lost = false;
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
        created = handles<Event>().create(creator, next_event_id.fetch_add(1), flags, reusable);
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

/* ---- within runtime instances ---- */

/* Events that streams of a runtime instance cannot use: those of aclrtCreateEvent and of aclrtCreateEventExWithFlag. */
aclError require_bindable(const Event &event)
{
    constexpr uint32_t of_create_event = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;
    if (!event.reusable && event.flags != of_create_event) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "a stream that is bound to a model takes events of aclrtCreateEventWithFlag only, with flags other than all");
}

aclError refuse_update(const char *what)
{
    return fail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, "a task group can be updated by kernels only, not by an event %s", what);
}

/* In a capture, only these are not bound to it: they connect it with the world outside. */
bool is_outer(const Event &event) { return (event.flags & ACL_EVENT_EXTERNAL) != 0; }

template <class T> std::unique_ptr<Task> kept_copy(T &&task) { return std::unique_ptr<Task>(new T(std::move(task))); }

/* A record on a stream whose tasks are recorded. */
aclError record_task(Stream &stream, EventRecordTask &task)
{
    std::unique_lock<std::mutex> hold(capture_lock);
    Event &event = *task.event;
    if (stream.recording == nullptr) { /* the recording has just ended */
        hold.unlock();
        EventRecordTask *kept = new EventRecordTask(std::move(task));
        kept->keep_arguments();
        return stream.append(kept) ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_HANDLE;
    }
    if (stream.recording->updating != nullptr) return refuse_update("record");
    if (!stream.recording->capturing) RETURN_IF_ERROR(require_bindable(event));
    else if (!is_outer(event)) {
        if (!event.reusable) {
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a capture takes events of aclrtCreateEventExWithFlag only, or with ACL_EVENT_EXTERNAL");
        }
        if ((event.flags & ACL_EVENT_SYNC) == 0) return ACL_SUCCESS; /* nobody can wait for it */
        event.record_flag.store(0, std::memory_order_relaxed);
        return record_join(event, stream);
    }
    EventRecordTask inner(&event, stream.recording->lane->runner);
    return record_event_task(stream, kept_copy(std::move(inner)), copy_of<EventRecordTask>, nullptr, true);
}

aclError record_task(Stream &stream, EventResetTask &task)
{
    std::unique_lock<std::mutex> hold(capture_lock);
    Event &event = *task.event;
    if (stream.recording == nullptr) {
        hold.unlock();
        return stream.append(new EventResetTask(std::move(task))) ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_HANDLE;
    }
    if (stream.recording->updating != nullptr) return refuse_update("reset");
    if (stream.recording->capturing && !is_outer(event)) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "in a capture only events with ACL_EVENT_EXTERNAL can be reset");
    }
    if (!stream.recording->capturing) RETURN_IF_ERROR(require_bindable(event));
    EventResetTask inner(&event);
    inner.ticket = BOUND_AT_START;
    return record_event_task(stream, kept_copy(std::move(inner)), copy_of<EventResetTask>, nullptr, false);
}

/* A wait on a stream whose tasks are recorded, or for an event that was recorded in a capture. *ordinary: it is none. */
aclError record_wait(Event &event, Stream &stream, uint64_t timeout_ns, bool *ordinary)
{
    *ordinary = false;
    std::lock_guard<std::mutex> hold(capture_lock);
    if (event.captured.load() != nullptr) {
        if (stream.recording != nullptr && stream.recording->lane != nullptr && !stream.recording->capturing) return require_bindable(event);
        return wait_for_join(event, stream, timeout_ns);
    }
    if (stream.recording == nullptr) {
        *ordinary = true;
        return ACL_SUCCESS;
    }
    if (stream.recording->updating != nullptr) return refuse_update("wait");
    if (!stream.recording->capturing) RETURN_IF_ERROR(require_bindable(event));
    else if (!is_outer(event)) {
        if (!event.reusable) {
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a capture takes events of aclrtCreateEventExWithFlag only, or with ACL_EVENT_EXTERNAL");
        }
        std::lock_guard<std::mutex> hold_event(event.lock);
        if (event.issued == 0) return ACL_SUCCESS; /* never recorded: nothing to wait for */
        return fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                    "event %d was recorded outside of the capture; aclrtStreamWaitEventWithFlag with ACL_EVENT_WAIT_EXTERNAL waits for such",
                    event.id);
    }
    return record_event_task(stream, kept_copy(EventWaitTask(&event, BOUND_AT_START, timeout_ns)), copy_of<EventWaitTask>, nullptr, false);
}

/* 107000 if the event was used with the other flag before. */
aclError check_flag(std::atomic<uint32_t> &known, uint32_t flag, const char *what)
{
    uint32_t before = known.load(std::memory_order_relaxed);
    if (LIKELY(before == flag)) return ACL_SUCCESS;
    before = Event::NO_FLAG;
    if (known.compare_exchange_strong(before, flag, std::memory_order_relaxed) || before == flag) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, but the event was %s with flag %u before", flag, what, before);
}

/* An event that connects a captured model with the world outside, each time it is executed. */
aclError use_external(aclrtStream stream, Event &event, bool records, uint64_t timeout_ns)
{
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (!event.reusable || event.flags != ACL_EVENT_SYNC) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "external use needs an event of aclrtCreateEventExWithFlag with ACL_EVENT_SYNC");
    }
    RETURN_IF_ERROR(check_flag(records ? event.record_flag : event.wait_flag, 1, records ? "recorded" : "waited for"));
    std::lock_guard<std::mutex> hold(capture_lock);
    if (target->recording == nullptr || !target->recording->capturing) {
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream %d is not being captured", target->id);
    }
    Stream *runner = target->recording->lane->runner;
    if (records) return record_event_task(*target, kept_copy(EventRecordTask(&event, runner)), copy_of<EventRecordTask>, &event, true);
    return record_event_task(*target, kept_copy(EventWaitTask(&event, 0, timeout_ns)), copy_of<EventWaitTask>, &event, false);
}

/* 107028 for events that were recorded in a capture which is under way. */
aclError refuse_captured_event(const Event &event)
{
    if (LIKELY(event.captured.load(std::memory_order_relaxed) == nullptr)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_EVENT_CAPTURED, "event %d was recorded in a capture that is under way", event.id);
}

} // namespace

Task *bind_event_task(Task &prototype, Stream &stream)
{
    if (EventRecordTask *record = dynamic_cast<EventRecordTask *>(&prototype)) {
        EventRecordTask *bound = new EventRecordTask(EventRecordTask(record->event, &stream));
        bound->thread = pthread_self();
        bound->keep_arguments();
        return bound;
    }
    EventWaitTask *bound = new EventWaitTask(std::move(static_cast<EventWaitTask &>(prototype)));
    std::lock_guard<std::mutex> hold(bound->event->lock);
    bound->ticket = bound->event->issued;
    return bound;
}

namespace {

/* ---- calls ---- */

aclError record(aclrtEvent handle, aclrtStream stream)
{
    Event *event = nullptr;
    RETURN_IF_ERROR(find_event(handle, "event", &event));
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (UNLIKELY(event->record_flag.load(std::memory_order_relaxed) == 1)) RETURN_IF_ERROR(check_flag(event->record_flag, 0, "recorded"));
    return submit(*target, EventRecordTask(event, target));
}

aclError stream_wait(aclrtStream stream, aclrtEvent handle, uint64_t timeout_s)
{
    Event *event = nullptr;
    RETURN_IF_ERROR(find_event(handle, "event", &event));
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(require_sync(*event));
    RETURN_IF_ERROR(check_flag(event->wait_flag, 0, "waited for"));
    if (UNLIKELY(event->captured.load(std::memory_order_relaxed) != nullptr) || is_recording(*target)) {
        bool ordinary;
        aclError error = record_wait(*event, *target, timeout_s * 1000000000u, &ordinary);
        if (error != ACL_SUCCESS || !ordinary) return error;
    }
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
    if (!event.retain()) return fail(ACL_ERROR_RT_INVALID_HANDLE, "the event was destroyed during the call");
    aclError result = ACL_SUCCESS;
    for (;;) {
        if (done()) break;
        UseScope scope;
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
    if (flag == 0) return record(event, stream);
    Event *target;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    {
        std::lock_guard<std::mutex> hold(target->lock);
        if (target->issued != 0 && target->record_flag.load() == Event::NO_FLAG) target->record_flag.store(0);
    }
    return use_external(stream, *target, true, 0);
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
    if (flag == 0) return stream_wait(stream, event, timeout);
    Event *target;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    return use_external(stream, *target, false, timeout * uint64_t{1000000000});
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    ACL_ENTRY();
    Event *target = nullptr;
    RETURN_IF_ERROR(find_event(event, "event", &target));
    REQUIRE_NOT_NULL(status);
    RETURN_IF_ERROR(refuse_captured_event(*target));
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
    RETURN_IF_ERROR(refuse_captured_event(*target));
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
    RETURN_IF_ERROR(refuse_captured_event(*target));
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
    RETURN_IF_ERROR(refuse_captured_event(*target));
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
    RETURN_IF_ERROR(refuse_captured_event(*target));
    RETURN_IF_ERROR(synchronize_event(*target, deadline_in_ms(timeout)));
    return context_failure(*context);
}

namespace {

/* The time of the newest record, or why there is none. */
aclError time_of(Event &event, const char *which, uint64_t *ns)
{
    RETURN_IF_ERROR(refuse_captured_event(event));
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
