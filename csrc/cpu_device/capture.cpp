/* SPDX-License-Identifier: Apache-2.0
 *
 * Capturing streams: what is recorded, which streams join, what is refused meanwhile.
 */
#include <pthread.h>

#include <algorithm>

#include "device.h"
#include "event.h"
#include "log.h"
#include "model.h"
#include "waiting.h"

namespace acl_cpu {

std::atomic<uint32_t> g_captures{0};
__thread void *t_last_recorded = nullptr;

namespace {

/* What aclmdlRICaptureThreadExchangeMode set for the thread. */
__thread int32_t t_capture_mode __attribute__((tls_model("initial-exec"))) = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

void invalidate(Model &model)
{
    if (model.state == Model::State::Recording) model.state = Model::State::Invalid;
}

} // namespace

/* ---- recording ---- */

aclError recording_refusal(Stream &stream)
{
    const Recording &recording = *stream.recording;
    const Model &model = *recording.lane->model;
    if (recording.capturing) {
        if (model.state != Model::State::Invalid) return ACL_SUCCESS;
        return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture of stream %d was invalidated by an earlier error", stream.id);
    }
    if (model.state == Model::State::Recording || (recording.lane->cleaned && model.pending.load() == 0)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_MODEL, "stream %d is bound to model %u, which is built and takes no more tasks", stream.id, model.id);
}

Recorded *add_task_of_stream(Stream &stream, std::shared_ptr<Task> prototype, CopyTask copy)
{
    Recording &recording = *stream.recording;
    Recorded *recorded = add_task(*recording.lane, std::move(prototype), copy);
    if (recorded == nullptr) {
        fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "no room for another recorded task");
        return nullptr;
    }
    if (recording.group != nullptr) {
        recorded->group = recording.group;
        recorded->late = true;
        recording.group->tasks.push_back(recorded);
    }
    return recorded;
}

aclError record_kept(Stream &stream, Task *prototype, CopyTask copy)
{
    std::unique_ptr<Task> kept(prototype);
    std::unique_lock<std::mutex> hold(capture_lock);
    Recording *recording = stream.recording;
    if (recording == nullptr) { /* the recording has just ended */
        hold.unlock();
        return stream.append(kept.release()) ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_HANDLE;
    }
    kept->become_prototype();
    bool is_kernel = kept->function_handle() != nullptr;
    if (recording->updating != nullptr) {
        if (!is_kernel) return fail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, "a task group can be updated by kernels only, not by a %s", kept->name());
        if (recording->updates.size() >= recording->updating->tasks.size()) {
            return fail(ACL_ERROR_RT_INTERNAL_ERROR, "the task group has %zu tasks, this would be one more", recording->updating->tasks.size());
        }
        recording->updates.emplace_back(std::move(kept), copy);
        return ACL_SUCCESS;
    }
    RETURN_IF_ERROR(recording_refusal(stream));
    if (!kept->can_be_recorded()) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a %s cannot be a task of a runtime instance", kept->name());
    }
    if (recording->group != nullptr && !is_kernel) {
        recording->lane->model->group_error = ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT;
        return fail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, "a task group is made of kernels, a %s cannot be part of it", kept->name());
    }
    if (add_task_of_stream(stream, std::move(kept), copy) == nullptr) return ACL_ERROR_RT_NO_MODEL_RESOURCE;
    return ACL_SUCCESS;
}

aclError record_event_task(Stream &stream, std::unique_ptr<Task> prototype, CopyTask copy, Event *external, bool records)
{
    RETURN_IF_ERROR(recording_refusal(stream));
    if (stream.recording->group != nullptr) {
        stream.recording->lane->model->group_error = ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT;
        return fail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, "a task group is made of kernels, a %s cannot be part of it", prototype->name());
    }
    Model &model = *stream.recording->lane->model;
    if (external != nullptr) {
        if (model.parent != nullptr) {
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "external events are not possible in the branch of a conditional task");
        }
        for (const Model::External &known : model.externals) {
            if (known.event != external) continue;
            return fail(ACL_ERROR_RT_PARAM_INVALID, "event %d is an external one of model %u already; each execution can do one thing with it",
                        external->id, model.id);
        }
    }
    if (external != nullptr && !external->retain()) return fail(ACL_ERROR_RT_INVALID_HANDLE, "the event was destroyed during the call");
    Recorded *recorded = add_task_of_stream(stream, std::move(prototype), copy);
    if (recorded == nullptr) {
        if (external != nullptr) external->release();
        return ACL_ERROR_RT_NO_MODEL_RESOURCE;
    }
    if (external != nullptr) {
        recorded->external = true;
        model.externals.push_back({external, records});
    }
    return ACL_SUCCESS;
}

void stop_recording(Stream &stream)
{
    Recording *recording = std::exchange(stream.recording, nullptr);
    if (recording == nullptr) return;
    stream.trouble.fetch_and(~TROUBLE_RECORDING);
    if (recording->lane != nullptr) recording->lane->source = nullptr;
    if (recording->updating != nullptr) recording->updating->updated_on = nullptr;
    delete recording;
}

void forget_recording(Stream &stream)
{
    /* Nobody begins to record the stream after this, see refuse_closed(). */
    std::lock_guard<std::mutex> hold(capture_lock);
    if (stream.recording == nullptr) return;
    if (stream.recording->capturing) invalidate(*stream.recording->lane->model);
    stop_recording(stream);
}

bool is_capturing(Stream &stream)
{
    if (!is_recording(stream)) return false;
    std::lock_guard<std::mutex> hold(capture_lock);
    return stream.recording != nullptr && stream.recording->capturing;
}

aclError refuse_captured_locked(Stream &stream)
{
    return fail(ACL_ERROR_RT_STREAM_CAPTURED, "stream %d is being captured", stream.id);
}

aclError refuse_captured(Stream &stream) { return is_capturing(stream) ? refuse_captured_locked(stream) : ACL_SUCCESS; }

aclError refuse_recorded(Stream &stream, const char *what)
{
    if (!is_recording(stream)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s cannot be a task of a runtime instance", what);
}

aclError refuse_captured_streams(Context &context)
{
    if (g_captures.load(std::memory_order_relaxed) == 0) return ACL_SUCCESS;
    std::lock_guard<std::mutex> hold(capture_lock);
    std::lock_guard<std::mutex> hold_context(context.lock);
    for (Stream *stream = context.streams; stream != nullptr; stream = stream->next_in_context) {
        if (stream->recording != nullptr && stream->recording->capturing) return refuse_captured_locked(*stream);
    }
    return ACL_SUCCESS;
}

/* The strictest mode of the captures in the context decides, and that of the captures that this thread began. */
aclError check_capture_mode_slowly(Context &context)
{
    constexpr int32_t none = ACL_MODEL_RI_CAPTURE_MODE_RELAXED + 1;
    int32_t in_context = none;
    int32_t in_thread = none;
    {
        std::lock_guard<std::mutex> hold(capture_lock);
        uint64_t self = pthread_self();
        handles<Model>().for_each_live([&](Model *model) {
            if (!model->capturing) return;
            if (model->context == &context) in_context = std::min(in_context, static_cast<int32_t>(model->mode));
            if (model->thread == self) in_thread = std::min(in_thread, static_cast<int32_t>(model->mode));
        });
    }
    bool refused = false;
    if (in_context == none || t_capture_mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) return ACL_SUCCESS;
    if (t_capture_mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
        refused = in_context == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || in_thread == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
    } else {
        refused = in_thread <= ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
    }
    if (!refused) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
                "a stream is being captured in mode %d, so the call is refused; aclmdlRICaptureThreadExchangeMode lifts that for a thread",
                in_context);
}

/* ---- events that join streams ---- */

struct JoinWaitTask final : WaitingTask {
    JoinWaitTask(Join *waited, uint64_t limit_ns) : WaitingTask(limit_ns), join(waited) {}
    JoinWaitTask(JoinWaitTask &&other) noexcept : WaitingTask(std::move(other)), join(other.join) {}
    const char *name() const override { return "event wait"; }

    Step start(Stream &on) override
    {
        std::lock_guard<std::mutex> hold(join->lock);
        if (join->done || cancelled.load(std::memory_order_seq_cst)) return Step::Done;
        join->waiting.push_back(this);
        if (timeout_ns == 0) on.blocked_on.store(join->recorder->runner->handle(), std::memory_order_relaxed);
        begin_timeout(on);
        return Step::Pending;
    }

    bool withdraw() override
    {
        std::lock_guard<std::mutex> hold(join->lock);
        if (!take_out(join->waiting, this)) return false;
        detach();
        return true;
    }

    void detach()
    {
        stream->blocked_on.store(nullptr, std::memory_order_relaxed);
        end_timeout();
    }

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_EVENT_WAIT; }
    void describe(aclmdlRITaskParams &params) const override
    {
        params.eventWaitTaskParams = {join->event->handle(), join->event->flags, 0};
    }

    Join *const join;
};

namespace {

struct JoinRecordTask final : Task {
    explicit JoinRecordTask(Join *recorded) : join(recorded) {}
    JoinRecordTask(JoinRecordTask &&other) noexcept : Task(std::move(other)), join(other.join) {}
    const char *name() const override { return "event record"; }
    uint64_t cost_ns() const override { return 0; }

    Step start(Stream &) override
    {
        std::vector<JoinWaitTask *> freed;
        {
            std::lock_guard<std::mutex> hold(join->lock);
            join->done = true;
            freed.swap(join->waiting);
            for (JoinWaitTask *task : freed) task->detach();
        }
        for (JoinWaitTask *task : freed) task->stream->finish_pending(task);
        return Step::Done;
    }

    aclmdlRITaskType task_type() const override { return ACL_MODEL_RI_TASK_EVENT_RECORD; }
    void describe(aclmdlRITaskParams &params) const override
    {
        params.eventRecordTaskParams = {join->event->handle(), join->event->flags, 0};
    }

    Join *const join;
};

aclError require_capturable(const Stream &stream)
{
    constexpr uint32_t unfit = ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
    if ((stream.flags & unfit) == 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %d has flags %#x: streams of its kind cannot be captured", stream.id, stream.flags);
}

Recording *start_recording(Stream &stream, Lane *lane)
{
    Recording *recording = new Recording;
    recording->lane = lane;
    recording->capturing = lane != nullptr;
    stream.recording = recording;
    stream.trouble.fetch_or(TROUBLE_RECORDING);
    return recording;
}

} // namespace

aclError record_join(Event &event, Stream &stream)
{
    RETURN_IF_ERROR(recording_refusal(stream));
    Lane *lane = stream.recording->lane;
    Model &model = *lane->model;
    Join *before = event.captured.load();
    if (before != nullptr && before->recorder->model != &model) {
        invalidate(*before->recorder->model);
        invalidate(model);
        return fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, "event %d belongs to another capture than stream %d; both are invalid now", event.id,
                    stream.id);
    }
    if (!event.retain()) return fail(ACL_ERROR_RT_INVALID_HANDLE, "the event was destroyed during the call");
    Join *join = new Join(lane, &event);
    std::unique_ptr<Task> prototype(new JoinRecordTask(join));
    aclError error = record_event_task(stream, std::move(prototype), copy_of<JoinRecordTask>, nullptr, true);
    if (error != ACL_SUCCESS) {
        delete join;
        event.release();
        return error;
    }
    model.joins.push_back(join);
    event.captured.store(join);
    return ACL_SUCCESS;
}

aclError wait_for_join(Event &event, Stream &stream, uint64_t timeout_ns)
{
    Join *join = event.captured.load();
    Model &model = *join->recorder->model;
    RETURN_IF_ERROR(require_capturable(stream));
    if (stream.is_default()) {
        return fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, "event %d was recorded in a capture, which the default stream cannot join", event.id);
    }
    if (stream.recording != nullptr && stream.recording->updating != nullptr) {
        return fail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, "a task group can be updated by kernels only, not by an event wait");
    }
    if (stream.recording == nullptr) {
        if (model.state == Model::State::Invalid) {
            return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture of event %d was invalidated by an earlier error", event.id);
        }
        RETURN_IF_ERROR(refusal(stream));
        Lane *lane = nullptr;
        if (aclError error = new_lane(model, stream, true, nullptr, &lane)) {
            invalidate(model);
            return error;
        }
        start_recording(stream, lane);
    }
    Lane *lane = stream.recording->lane;
    if (lane->model != &model) {
        invalidate(*lane->model);
        invalidate(model);
        return fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, "event %d belongs to another capture than stream %d; both are invalid now", event.id,
                    stream.id);
    }
    std::unique_ptr<Task> prototype(new JoinWaitTask(join, timeout_ns));
    RETURN_IF_ERROR(record_event_task(stream, std::move(prototype), copy_of<JoinWaitTask>, nullptr, false));
    join->waited = true;
    join->waited_by_origin |= lane->origin && join->recorder != lane;
    return ACL_SUCCESS;
}

void reset_joins(Model &model)
{
    for (Join *join : model.joins) {
        std::lock_guard<std::mutex> hold(join->lock);
        join->done = false;
    }
}

void release_joins(Model &model, bool destroy)
{
    for (Join *join : model.joins) {
        Join *mine = join;
        join->event->captured.compare_exchange_strong(mine, nullptr);
        if (!destroy) continue;
        join->event->release();
        delete join;
    }
    if (destroy) model.joins.clear();
}

namespace {

/* Whether all streams of a capture came back to the one that it began with. */
aclError check_joined(const Model &model)
{
    bool alone = true;
    bool joined = false;
    for (const Lane *lane : model.lanes) {
        if (lane->origin) continue;
        alone = false;
        const Task *last = lane->tasks.empty() ? nullptr : lane->tasks.back()->prototype.get();
        const JoinRecordTask *record = dynamic_cast<const JoinRecordTask *>(last);
        if (record == nullptr) {
            return fail(ACL_ERROR_RT_STREAM_UNJOINED, "the last task of a stream that joined the capture is a %s, not the record of an event",
                        last != nullptr ? last->name() : "nothing");
        }
        if (!record->join->waited) {
            return fail(ACL_ERROR_RT_STREAM_UNJOINED, "nobody in the capture waits for event %d, which a joined stream recorded last",
                        record->join->event->id);
        }
        joined |= record->join->waited_by_origin;
    }
    if (alone || joined) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_UNJOINED, "the stream that began the capture waits for none of those that joined it");
}

/* Gives the streams of a capture back. */
void leave_capture(Model &model)
{
    for (Lane *lane : model.lanes) {
        if (lane->source != nullptr) stop_recording(*lane->source);
    }
    release_joins(model, false);
    model.capturing = false;
    g_captures.fetch_sub(1);
}

/* A capture that failed; a branch of a conditional task goes with its parent. */
aclError discard(Model &model, std::unique_lock<std::mutex> &hold, aclError error)
{
    leave_capture(model);
    model.state = Model::State::Invalid;
    if (model.parent == nullptr) {
        uint32_t last = t_state.last_task_id;
        destroy_model(model, hold);
        t_state.last_task_id = last;
    }
    return error;
}

aclError begin_capture(Stream &stream, Model *model, aclmdlRICaptureMode mode, const void *creator)
{
    if (mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "mode is %d, not one of aclmdlRICaptureMode", static_cast<int>(mode));
    }
    RETURN_IF_ERROR(require_capturable(stream));
    if (stream.recording != nullptr && stream.recording->capturing) return refuse_captured_locked(stream);
    if (stream.recording != nullptr) return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream %d updates a task group", stream.id);
    if (stream.runs.load() != nullptr) return refusal(stream);
    if (stream.is_default()) return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the default stream cannot be captured");
    RETURN_IF_ERROR(refuse_closed(stream));
    bool fresh = model == nullptr;
    if (fresh) {
        model = new_model(*stream.context, true, creator);
        if (model == nullptr) return no_model(*stream.context);
    }
    Lane *lane = nullptr;
    if (aclError error = new_lane(*model, stream, true, creator, &lane)) {
        if (fresh) {
            stream.context->models.fetch_sub(1);
            handles<Model>().destroy(model);
        }
        return error;
    }
    lane->origin = true;
    model->state = Model::State::Recording;
    model->capturing = true;
    model->mode = mode;
    model->thread = pthread_self();
    start_recording(stream, lane);
    g_captures.fetch_add(1);
    return ACL_SUCCESS;
}

} // namespace
} // namespace acl_cpu

using namespace acl_cpu;

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return begin_capture(*target, nullptr, mode, __builtin_return_address(0));
}

aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI model_ri, aclmdlRICaptureMode mode)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    REQUIRE_NOT_NULL(model_ri);
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Model *model;
    RETURN_IF_ERROR(find_model(model_ri, &model));
    if (model->parent == nullptr) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "model %u is no branch of a conditional task", model->id);
    }
    if (model->state != Model::State::New) return fail(ACL_ERROR_RT_MODEL_CAPTURED, "model %u was captured already", model->id);
    return begin_capture(*target, model, mode, __builtin_return_address(0));
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *model_ri)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    REQUIRE(status != nullptr || model_ri != nullptr, "status and model_ri are both NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_any_stream(stream, &target));
    aclmdlRICaptureStatus now = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    Model *model = nullptr;
    if (target->recording != nullptr && target->recording->capturing) {
        model = target->recording->lane->model;
        now = model->state == Model::State::Invalid ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
    }
    if (status != nullptr) *status = now;
    if (model_ri != nullptr) *model_ri = model != nullptr ? model->handle() : nullptr;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *model_ri)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    std::unique_lock<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(require_capturable(*target));
    if (target->is_default()) return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the default stream cannot be captured");
    if (target->recording == nullptr || !target->recording->capturing) {
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream %d is not being captured", target->id);
    }
    Lane *lane = target->recording->lane;
    Model &model = *lane->model;
    if (model_ri == nullptr && model.parent == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "model_ri is NULL");
    if (!lane->origin) {
        return fail(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture was not begun on stream %d, which joined it", target->id);
    }
    if (model_ri != nullptr && model.parent == nullptr) *model_ri = nullptr;
    if (model.mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && model.thread != static_cast<uint64_t>(pthread_self())) {
        return discard(model, hold,
                       fail(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread, and not in relaxed mode"));
    }
    if (model.state == Model::State::Invalid) {
        return discard(model, hold,
                       fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture of stream %d was invalidated by an earlier error", target->id));
    }
    if (!conditions_are_complete(model)) {
        return discard(model, hold,
                       fail(ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING, "branches of a conditional task of model %u were not captured to their end",
                            model.id));
    }
    for (Lane *each : model.lanes) {
        if (each->source != nullptr && each->source->recording->group != nullptr) {
            return discard(model, hold, fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "a task group of the capture was not ended"));
        }
    }
    if (aclError error = check_joined(model)) return discard(model, hold, error);
    leave_capture(model);
    model.state = Model::State::Ready;
    if (model_ri != nullptr) *model_ri = model.handle();
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(mode);
    if (*mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || *mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "*mode is %d, not one of aclmdlRICaptureMode", static_cast<int>(*mode));
    }
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    *mode = static_cast<aclmdlRICaptureMode>(std::exchange(t_capture_mode, static_cast<int32_t>(*mode)));
    return ACL_SUCCESS;
}

/* ---- task groups ---- */

namespace {

aclError find_captured_stream(aclrtStream stream, Stream **target)
{
    RETURN_IF_ERROR(find_stream(stream, target));
    if ((*target)->recording != nullptr && (*target)->recording->capturing) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream %d is not being captured", (*target)->id);
}

/* Replaces the tasks of a group, in the order of the stream. */
struct UpdateTask final : Task {
    using Updates = std::vector<std::pair<std::shared_ptr<Task>, CopyTask>>;
    UpdateTask(TaskGroup *what, Updates by) : group(what), updates(std::move(by)) { group->model->pending.fetch_add(1); }
    UpdateTask(UpdateTask &&other) noexcept : Task(std::move(other)), group(other.group), updates(std::move(other.updates))
    {
        group->model->pending.fetch_add(1);
    }
    ~UpdateTask() override
    {
        Model *model = group->model;
        model->pending.fetch_sub(1, std::memory_order_seq_cst);
        unpark(model);
    }
    const char *name() const override { return "update of a task group"; }
    uint64_t cost_ns() const override { return 100; }
    Step start(Stream &) override
    {
        Model &model = *group->model;
        std::lock_guard<std::mutex> hold(model.lock);
        for (size_t i = 0; i < updates.size(); ++i) {
            Recorded &recorded = *group->tasks[i];
            if (model.running) model.retired.push_back(std::move(recorded.prototype));
            recorded.prototype = std::move(updates[i].first);
            recorded.copy = updates[i].second;
        }
        return Step::Done;
    }
    TaskGroup *const group;
    Updates updates;
};

} // namespace

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_captured_stream(stream, &target));
    Recording &recording = *target->recording;
    if (recording.group != nullptr) return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream %d has an open task group already", target->id);
    Model &model = *recording.lane->model;
    TaskGroup *group = handles<TaskGroup>().create(__builtin_return_address(0), &model);
    if (group == nullptr) return fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "no room for another task group");
    model.groups.push_back(group);
    recording.group = group;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    REQUIRE_NOT_NULL(handle);
    *handle = nullptr;
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_captured_stream(stream, &target));
    Recording &recording = *target->recording;
    if (recording.group == nullptr) return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream %d has no open task group", target->id);
    Model &model = *recording.lane->model;
    TaskGroup *group = std::exchange(recording.group, nullptr);
    if (model.group_error != ACL_SUCCESS) {
        aclError error = std::exchange(model.group_error, ACL_SUCCESS);
        return fail(error, "the task group failed at an earlier call");
    }
    RETURN_IF_ERROR(recording_refusal(*target));
    *handle = group->handle();
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    REQUIRE_NOT_NULL(handle);
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    TaskGroup *group = Handles<TaskGroup>::find(handle);
    if (group == nullptr || group->model->closing) return fail(ACL_ERROR_RT_INVALID_HANDLE, "handle %p is no live task group", handle);
    if (target->recording != nullptr && target->recording->capturing) return refuse_captured_locked(*target);
    if (target->recording != nullptr && target->recording->updating != nullptr) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream %d updates a task group already", target->id);
    }
    if (target->recording != nullptr || target->runs.load() != nullptr) {
        return fail(ACL_ERROR_RT_STREAM_MODEL, "stream %d is bound to a model", target->id);
    }
    RETURN_IF_ERROR(refuse_closed(*target));
    if (group->updated_on != nullptr) return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "the task group is being updated on another stream");
    if (group->model->state != Model::State::Ready) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "the capture of model %u, which the task group belongs to, has not ended", group->model->id);
    }
    group->updated_on = target;
    start_recording(*target, nullptr)->updating = group;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    std::unique_lock<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (target->recording != nullptr && target->recording->capturing) return refuse_captured_locked(*target);
    if (target->recording != nullptr && target->recording->updating == nullptr) {
        return fail(ACL_ERROR_RT_STREAM_MODEL, "stream %d is bound to a model", target->id);
    }
    if (target->recording == nullptr) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "stream %d updates no task group", target->id);
    }
    TaskGroup *group = target->recording->updating;
    auto updates = std::move(target->recording->updates);
    stop_recording(*target);
    if (group->model->closing) {
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "model %u, which the task group belongs to, is being destroyed", group->model->id);
    }
    if (updates.size() != group->tasks.size()) {
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "the task group has %zu tasks, %zu were given; none is replaced", group->tasks.size(),
                    updates.size());
    }
    UpdateTask task(group, std::move(updates));
    hold.unlock();
    return submit(*target, std::move(task));
}
