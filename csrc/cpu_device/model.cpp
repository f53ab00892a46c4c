/* SPDX-License-Identifier: Apache-2.0
 *
 * Executing models, and their life.
 */
#include "model.h"

#include <unistd.h>

#include <algorithm>

#include "device.h"
#include "event.h"
#include "leaks.h"
#include "log.h"
#include "pool.h"

namespace acl_cpu {

std::mutex &capture_lock = *new std::mutex;

namespace {

constexpr uint64_t destroy_patience_ns = 10000000000;
/* While the process exits, workers begin nothing and nobody waits for long. */
constexpr uint64_t exit_patience_ns = 1000000000;
/* Flags of aclmdlRIBindStream, which released headers do not name: a stream that begins with the model, and one that is
 * activated by others (ACL_MODEL_STREAM_FLAG_HEAD, ACL_MODEL_STREAM_FLAG_DEFAULT). */
constexpr uint32_t head_stream = 0;
constexpr uint32_t activated_stream = 0x7FFFFFFF;
std::atomic<uint32_t> next_model_id{0};

/* The end of what was put on a runner. */
struct LaneEndTask final : Task {
    explicit LaneEndTask(Lane *of) : lane(of) {}
    const char *name() const override { return "end of lane"; }
    uint64_t busy_ns() const override { return 0; }
    Step start(Stream &) override
    {
        lane->model->lane_over(*lane);
        return Step::Done;
    }
    void drop() override { lane->model->lane_over(*lane); }
    Lane *const lane;
};

/* Goes on at a position, so that what was updated until now counts. */
struct ContinueTask final : Task {
    ContinueTask(Lane *of, size_t from) : lane(of), position(from) {}
    const char *name() const override { return "continuation"; }
    uint64_t busy_ns() const override { return 0; }
    Step start(Stream &) override
    {
        std::lock_guard<std::mutex> hold(lane->model->lock);
        lane->model->enqueue_from(*lane, position, true);
        return Step::Done;
    }
    void drop() override { lane->model->lane_over(*lane); }
    Lane *const lane;
    const size_t position;
};

} // namespace

/* An execution on the stream of the user. */
struct ModelTask final : Task {
    explicit ModelTask(Model *of) : model(of) {}
    ModelTask(ModelTask &&other) noexcept : Task(std::move(other)), model(other.model), bound(std::move(other.bound)), counted(true)
    {
        other.counted = false;
    }
    ~ModelTask() override
    {
        for (auto &entry : bound) delete entry.second;
        if (!counted) return;
        const void *key = model;
        model->pending.fetch_sub(1, std::memory_order_seq_cst);
        unpark(key);
    }

    const char *name() const override { return "model"; }
    uint64_t busy_ns() const override { return 0; }
    bool is_news() const override { return false; }

    Step start(Stream &) override
    {
        std::lock_guard<std::mutex> hold(model->lock);
        if (cancelled.load(std::memory_order_seq_cst)) {
            give_up();
            return Step::Done;
        }
        if (model->running) model->waiting.push_back(this);
        else begin();
        return Step::Pending;
    }

    /* With the model's lock held, while it does not run. */
    void begin()
    {
        Lane *first = model->lanes.front();
        stream->blocked_on.store(first->runner->handle(), std::memory_order_relaxed);
        model->current = this;
        model->begin([this](aclError code, const std::string &text) {
            stream->blocked_on.store(nullptr, std::memory_order_relaxed);
            if (code != ACL_SUCCESS) set_error(code, text);
            give_up();
            stream->finish_pending(this);
        });
    }

    void drop() override { give_up(); }

    bool withdraw() override
    {
        {
            std::lock_guard<std::mutex> hold(model->lock);
            auto found = std::find(model->waiting.begin(), model->waiting.end(), this);
            if (found != model->waiting.end()) {
                model->waiting.erase(found);
                return true;
            }
            if (!model->running || model->current != this) return false;
        }
        model->cancel(ACL_SUCCESS, "");
        return false;
    }

    /* Events that were to be recorded are complete even so: others wait for them. */
    void give_up()
    {
        for (auto &entry : bound) {
            if (entry.second == nullptr) continue;
            entry.second->drop();
            delete std::exchange(entry.second, nullptr);
        }
    }

    Task *take(const Recorded *recorded)
    {
        for (auto &entry : bound) {
            if (entry.first == recorded) return std::exchange(entry.second, nullptr);
        }
        return nullptr;
    }

    Model *const model;
    /* Copies that were bound to events when the execution was enqueued. */
    std::vector<std::pair<const Recorded *, Task *>> bound;
    bool counted = true;
};

/* ---- executing ---- */

void Model::begin(Ending end)
{
    running = true;
    cancelled = false;
    error = ACL_SUCCESS;
    message.clear();
    on_end = std::move(end);
    reset_joins(*this);
    begin_conditions(*this);
    open_lanes = 0;
    for (Lane *lane : lanes) {
        lane->active = lane->head;
        open_lanes += lane->head;
        lane->starts.clear();
    }
    for (Lane *lane : lanes) {
        if (lane->head) enqueue_from(*lane, 0);
    }
}

void Model::enqueue_from(Lane &lane, size_t position, bool copy_first)
{
    uint32_t last_id = t_state.last_task_id; /* of the user's own tasks */
    bool ends = true;
    for (size_t i = position; i < lane.tasks.size() && !cancelled; ++i) {
        Recorded &recorded = *lane.tasks[i];
        if (recorded.disabled) continue;
        if (recorded.late && !(copy_first && i == position)) {
            lane.runner->append(new ContinueTask(&lane, i));
            ends = false;
            break;
        }
        Task *copy = recorded.external && current != nullptr ? current->take(&recorded) : nullptr;
        lane.runner->append(copy != nullptr ? copy : recorded.copy(*recorded.prototype));
        if (recorded.decides) {
            ends = false;
            break;
        }
    }
    if (ends) lane.runner->append(new LaneEndTask(&lane));
    t_state.last_task_id = last_id;
}

void Model::activate(Lane &lane, size_t position)
{
    if (lane.active) {
        lane.starts.push_back(position);
        return;
    }
    lane.active = true;
    ++open_lanes;
    enqueue_from(lane, position);
}

void Model::lane_over(Lane &lane)
{
    Ending end;
    aclError code;
    std::string text;
    {
        std::lock_guard<std::mutex> hold(lock);
        if (!lane.starts.empty() && !cancelled) {
            size_t position = lane.starts.front();
            lane.starts.pop_front();
            enqueue_from(lane, position);
            return;
        }
        lane.active = false;
        if (--open_lanes != 0) return;
        running = false;
        current = nullptr;
        retired.clear();
        end = std::move(on_end);
        on_end = nullptr;
        code = error;
        text = message;
        if (!waiting.empty()) {
            ModelTask *next = waiting.front();
            waiting.pop_front();
            next->begin();
        }
    }
    unpark(this);
    end(code, text);
}

void Model::cancel(aclError code, const std::string &text)
{
    std::vector<std::pair<Stream *, Task *>> withdrawn;
    {
        std::lock_guard<std::mutex> hold(lock);
        if (!running || cancelled) return;
        cancelled = true;
        error = code;
        message = text;
        for (Lane *lane : lanes) {
            if (!lane->active) continue;
            Stream &runner = *lane->runner;
            std::lock_guard<std::mutex> hold_runner(runner.lock);
            runner.drop_through = Stream::submitted(runner.progress.load());
            runner.trouble.fetch_or(TROUBLE_DROP);
            if (runner.current == nullptr) continue;
            runner.current->cancelled.store(true, std::memory_order_seq_cst);
            if (runner.current->withdraw()) withdrawn.emplace_back(&runner, runner.current);
        }
    }
    for (auto &entry : withdrawn) entry.first->finish_pending(entry.second);
}

void model_task_failed(Stream &runner, const Task &task)
{
    Model &model = *runner.runs.load(std::memory_order_relaxed)->model;
    model.cancel(task.error, format("model %u: %s: %s", model.id, task.name(), task.message != nullptr ? task.message->c_str() : ""));
}

/* ---- tasks that decide what follows ---- */

Step ControlTask::start(Stream &)
{
    Lane &lane = *where->lane;
    Model &model = *lane.model;
    bool goes_on = false;
    {
        std::lock_guard<std::mutex> hold(model.lock);
        if (!model.cancelled) goes_on = decide(model);
    }
    if (!goes_on) model.lane_over(lane);
    return Step::Done;
}

void ControlTask::drop() { where->lane->model->lane_over(*where->lane); }

void ControlTask::go_on(Model &model) { model.enqueue_from(*where->lane, where->index + 1); }

/* ---- life ---- */

Model *new_model(Context &context, bool captured, const void *creator)
{
    if (context.closed.load()) return nullptr;
    Model *model = handles<Model>().create(creator, &context, next_model_id.fetch_add(1), captured);
    if (model != nullptr) context.models.fetch_add(1);
    return model;
}

aclError new_lane(Model &model, Stream &source, bool head, const void *creator, Lane **result)
{
    Stream *runner = create_stream(*source.context, source.priority.load(), 0, creator);
    if (runner == nullptr) return no_stream(*source.context);
    Lane *lane = *result = new Lane;
    lane->model = &model;
    lane->runner = runner;
    lane->source = &source;
    lane->head = head;
    make_internal(*runner);
    runner->runs.store(lane);
    runner->trouble.fetch_or(TROUBLE_CLOSED); /* takes no work but the model's */
    model.lanes.push_back(lane);
    return ACL_SUCCESS;
}

Recorded *add_task(Lane &lane, std::shared_ptr<Task> prototype, CopyTask copy)
{
    Recorded *recorded = handles<Recorded>().create(nullptr, &lane, static_cast<uint32_t>(lane.tasks.size()), std::move(prototype), copy);
    if (recorded == nullptr) return nullptr;
    lane.tasks.push_back(recorded);
    t_last_recorded = recorded->handle();
    t_state.last_task_id = recorded->index + 1;
    return recorded;
}

void retire_lane(Lane &lane)
{
    for (auto &label : lane.labels) label->lane = nullptr;
    lane.labels.clear();
    for (Recorded *recorded : lane.tasks) Handles<Recorded>::retire(recorded);
}

namespace {

/* Nothing leads to the tasks any more, and nothing of the model is under way. */
void destroy_tasks(Lane &lane)
{
    for (Recorded *recorded : lane.tasks) {
        recorded->prototype.reset(); /* refers to events and binaries */
        recorded->next_prototype.reset();
        handles<Recorded>().destroy(recorded);
    }
    lane.tasks.clear();
}

void destroy_lane(Lane &lane)
{
    destroy_stream(*lane.runner, false);
    destroy_tasks(lane);
    delete &lane;
}

} // namespace

aclError no_model(const Context &context)
{
    if (context.closed.load()) return fail(ACL_ERROR_RT_CONTEXT_NULL, "the context is being destroyed by another thread");
    return fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "no room for another runtime instance");
}

/* Nothing of the model is under way. The lock is given back in between, since streams are destroyed. */
void destroy_model(Model &model, std::unique_lock<std::mutex> &capturing)
{
    Handles<Model>::retire(&model);
    if (model.capturing) g_captures.fetch_sub(1);
    for (Lane *lane : model.lanes) {
        if (lane->source != nullptr) stop_recording(*lane->source);
        retire_lane(*lane);
    }
    for (TaskGroup *group : model.groups) {
        Handles<TaskGroup>::retire(group);
        if (group->updated_on != nullptr) stop_recording(*group->updated_on);
    }
    release_joins(model, true);
    for (Model::External &external : model.externals) external.event->release();
    for (Condition *condition : model.conditions) destroy_condition(*condition, capturing);
    capturing.unlock();
    auto callbacks = std::move(model.destroy_callbacks);
    {
        UseScope scope;
        for (auto &callback : callbacks) callback.first(callback.second);
    }
    for (Lane *lane : model.lanes) destroy_lane(*lane);
    for (TaskGroup *group : model.groups) handles<TaskGroup>().destroy(group);
    if (model.own_stream != nullptr) {
        begin_destroy(*model.own_stream);
        destroy_stream(*model.own_stream, false);
    }
    /* The context ends when it has none left, see end_models_of(). */
    model.context->models.fetch_sub(1);
    handles<Model>().destroy(&model);
    capturing.lock();
}

namespace {

/* Waits until no execution is enqueued or under way. */
bool wait_until_unused(Model &model, uint64_t deadline)
{
    std::vector<Model::Use> uses;
    if (pool().stopping()) deadline = std::min(deadline, now_ns() + exit_patience_ns);
    {
        std::lock_guard<std::mutex> hold(capture_lock);
        uses = model.uses;
    }
    for (const Model::Use &use : uses) {
        UseScope scope;
        Stream *stream = Handles<Stream>::find(use.stream);
        if (stream != nullptr) wait_for(*stream, use.task, deadline);
    }
    return park_until(&model, deadline, [&] { return model.pending.load(std::memory_order_seq_cst) == 0; });
}

} // namespace

bool end_models_of(Context &context, bool drop_work)
{
    for (;;) {
        std::vector<Model *> models;
        {
            std::lock_guard<std::mutex> hold(capture_lock);
            if (context.models.load() == 0) return true;
            handles<Model>().for_each_live([&](Model *model) {
                if (model->context == &context && model->parent == nullptr && !model->closing) models.push_back(model);
            });
            for (Model *model : models) model->closing = true;
        }
        for (Model *model : models) {
            if (drop_work) model->cancel(ACL_SUCCESS, "");
            if (!wait_until_unused(*model, NO_DEADLINE)) return false;
        }
        std::unique_lock<std::mutex> hold(capture_lock);
        for (Model *model : models) destroy_model(*model, hold);
        if (!models.empty()) continue;
        /* Another thread is destroying the rest, or tries to. */
        hold.unlock();
        if (pool().stopping()) return false;
        usleep(100);
    }
}

void log_live_models()
{
    handles<Model>().for_each_live([](Model *model) {
        if (model->parent != nullptr) return; /* ends with the other one */
        log_leak(Handles<Model>::creator_of(model), "runtime instance %u (%p) is", model->id, model->handle());
    });
}

/* ---- finding ---- */

aclError find_model(aclmdlRI handle, Model **model)
{
    *model = Handles<Model>::find(handle);
    if (*model != nullptr && !(*model)->closing) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "model_ri %p is no live runtime instance", handle);
}

aclError find_own_model(aclmdlRI handle, Model **model)
{
    RETURN_IF_ERROR(find_model(handle, model));
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    if ((*model)->context == context) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_MODEL_CONTEXT, "model_ri %p belongs to another context than the current one", handle);
}

} // namespace acl_cpu

using namespace acl_cpu;

namespace {

aclError require_complete(const Model &model)
{
    switch (model.state) {
    case Model::State::Ready: return ACL_SUCCESS;
    case Model::State::Recording:
    case Model::State::Invalid:
        if (model.captured) return fail(ACL_ERROR_RT_MODEL_CAPTURED, "model %u is being captured", model.id);
        return fail(ACL_ERROR_RT_MODEL_EXECUTE, "model %u is not built: aclmdlRIBuildEnd was not called", model.id);
    case Model::State::Updating:
        return fail(ACL_ERROR_RT_MODEL_EXECUTE, "tasks of model %u were changed: call aclmdlRIUpdate first", model.id);
    case Model::State::New: break;
    }
    return fail(ACL_ERROR_RT_MODEL_EXECUTE, "model %u has no tasks yet", model.id);
}

aclError refuse_branch(const Model &model)
{
    if (model.parent == nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u is a branch of a conditional task, which has no such call", model.id);
}

/* Enqueues an execution; with the capture lock held, which is given back. */
aclError enqueue(Model &model, Stream &stream, std::unique_lock<std::mutex> &capturing)
{
    RETURN_IF_ERROR(require_complete(model));
    bool has_head = false;
    for (Lane *lane : model.lanes) has_head |= lane->head;
    if (!has_head) return fail(ACL_ERROR_RT_STREAM_MODEL, "model %u has no stream that begins with it", model.id);
    model.pending.fetch_add(1);
    ModelTask task(&model);
    for (Lane *lane : model.lanes) {
        for (Recorded *recorded : lane->tasks) {
            if (!recorded->external || recorded->disabled) continue;
            task.bound.emplace_back(recorded, bind_event_task(*recorded->prototype, stream));
        }
    }
    aclError error = submit(stream, std::move(task));
    if (error != ACL_SUCCESS) {
        task.give_up();
        return error;
    }
    void *handle = stream.handle();
    auto &uses = model.uses;
    uses.erase(std::remove_if(uses.begin(), uses.end(), [&](const Model::Use &use) { return use.stream == handle; }), uses.end());
    uses.push_back({handle, t_state.last_task_id});
    capturing.unlock();
    return ACL_SUCCESS;
}

} // namespace

aclError aclmdlRIExecuteAsync(aclmdlRI model_ri, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    std::unique_lock<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_own_model(model_ri, &model));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(refuse_branch(*model));
    if (target->recording != nullptr) {
        if (target->recording->capturing) return refuse_captured_locked(*target);
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream %d is bound to a model or updates one, so no model can be executed on it",
                    target->id);
    }
    if (target->runs.load() != nullptr || (target->flags & (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream %d has flags %#x: models cannot be executed on such a stream", target->id,
                    target->flags);
    }
    return enqueue(*model, *target, hold);
}

aclError aclmdlRIExecute(aclmdlRI model_ri, int32_t timeout)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    if (timeout == 0 || timeout < -1) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d, it must be positive or -1 (no limit)", timeout);
    }
    uint64_t deadline = deadline_in_ms(timeout);
    std::unique_lock<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_own_model(model_ri, &model));
    if (model->captured) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "model %u was captured: it can be executed by aclmdlRIExecuteAsync only", model->id);
    }
    if (model->own_stream == nullptr) {
        model->own_stream = create_stream(*model->context, 0, 0, nullptr);
        if (model->own_stream == nullptr) return no_stream(*model->context);
        make_internal(*model->own_stream);
    }
    Stream &stream = *model->own_stream;
    Handles<Stream>::use(&stream); /* another thread may destroy the model when the execution is over */
    RETURN_IF_ERROR(enqueue(*model, stream, hold));
    return synchronize(stream, deadline);
}

aclError aclmdlRIAbort(aclmdlRI model_ri)
{
    ACL_ENTRY();
    Model *model;
    {
        std::lock_guard<std::mutex> hold(capture_lock);
        if (model_ri == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "model_ri is NULL");
        RETURN_IF_ERROR(find_own_model(model_ri, &model));
        RETURN_IF_ERROR(refuse_branch(*model));
        if (model->captured) {
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "model %u was captured: only models that were built can be aborted", model->id);
        }
        model->pending.fetch_add(1); /* it stays while it is aborted */
    }
    model->cancel(ACL_ERROR_RT_MODEL_ABORT_NORMAL, format("model %u was aborted", model->id));
    uint64_t deadline = pool().stopping() ? now_ns() + exit_patience_ns : NO_DEADLINE;
    for (Lane *lane : model->lanes) {
        wait_for(*lane->runner, Stream::submitted(lane->runner->progress.load()), deadline);
    }
    park_until(model, deadline, [&] {
        std::lock_guard<std::mutex> hold(model->lock);
        return !model->running || !model->cancelled;
    });
    model->pending.fetch_sub(1);
    unpark(model);
    return ACL_SUCCESS;
}

aclError aclmdlRIDestroy(aclmdlRI model_ri)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(model_ri);
    Model *model;
    {
        std::lock_guard<std::mutex> hold(capture_lock);
        RETURN_IF_ERROR(find_own_model(model_ri, &model));
        RETURN_IF_ERROR(refuse_branch(*model));
        if (model->capturing) {
            return fail(ACL_ERROR_RT_MODEL_CAPTURED, "model %u is being captured", model->id);
        }
        model->closing = true;
    }
    if (!wait_until_unused(*model, now_ns() + destroy_patience_ns)) {
        std::lock_guard<std::mutex> hold(capture_lock);
        model->closing = false;
        return fail(ACL_ERROR_RT_MODEL_RUNNING, "model %u is still being executed after 10 s", model->id);
    }
    std::unique_lock<std::mutex> hold(capture_lock);
    destroy_model(*model, hold);
    return ACL_SUCCESS;
}

/* ---- building ---- */

aclError aclmdlRIBuildBegin(aclmdlRI *model_ri, uint32_t flag)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    if (flag != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %u, it must be 0", flag);
    Context *context;
    RETURN_IF_ERROR(require_context(&context));
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model = new_model(*context, false, __builtin_return_address(0));
    if (model == nullptr) return no_model(*context);
    model->state = Model::State::Recording;
    *model_ri = model->handle();
    return ACL_SUCCESS;
}

namespace {

aclError find_built_model(aclmdlRI handle, Model **model)
{
    RETURN_IF_ERROR(find_own_model(handle, model));
    if (!(*model)->captured) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "model %u was captured, it cannot be built", (*model)->id);
}

/* The lane of a model that records a stream, or nullptr. */
Lane *lane_of(Model &model, const Stream &stream)
{
    for (Lane *lane : model.lanes) {
        if (lane->source == &stream) return lane;
    }
    return nullptr;
}

} // namespace

aclError aclmdlRIBindStream(aclmdlRI model_ri, aclrtStream stream, uint32_t flag)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    if (flag != head_stream && flag != activated_stream) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %#x, not 0 (begins with the model) or 0x7fffffff (activated by another)", flag);
    }
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_built_model(model_ri, &model));
    if (stream == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL: the default stream cannot be bound");
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (target->recording != nullptr && target->recording->capturing) return refuse_captured_locked(*target);
    if ((target->flags & ACL_STREAM_PERSISTENT) == 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "stream %d was made without ACL_STREAM_PERSISTENT", target->id);
    }
    if (target->recording != nullptr) return fail(ACL_ERROR_RT_STREAM_MODEL, "stream %d is bound to a model already", target->id);
    if ((target->flags & ACL_STREAM_DEVICE_USE_ONLY) != 0) {
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %d was made with ACL_STREAM_DEVICE_USE_ONLY", target->id);
    }
    if (target->failure_mode.load() == ACL_STOP_ON_FAILURE || (target->flags & ACL_STREAM_FAST_LAUNCH) != 0) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "streams in stop-on-failure mode or with ACL_STREAM_FAST_LAUNCH cannot be bound");
    }
    if (model->state != Model::State::Recording) {
        return fail(ACL_ERROR_RT_STREAM_MODEL, "model %u is built: no more streams can be bound", model->id);
    }
    RETURN_IF_ERROR(refuse_closed(*target));
    Lane *lane = nullptr;
    RETURN_IF_ERROR(new_lane(*model, *target, flag == head_stream, __builtin_return_address(0), &lane));
    target->recording = new Recording;
    target->recording->lane = lane;
    target->trouble.fetch_or(TROUBLE_RECORDING);
    return ACL_SUCCESS;
}

aclError aclmdlRIUnbindStream(aclmdlRI model_ri, aclrtStream stream)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(model_ri);
    std::unique_lock<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_built_model(model_ri, &model));
    if (stream == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "stream is NULL: the default stream is never bound");
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (target->recording != nullptr && target->recording->capturing) return refuse_captured_locked(*target);
    Lane *lane = lane_of(*model, *target);
    if (lane == nullptr) return fail(ACL_ERROR_RT_STREAM_MODEL, "stream %d is not bound to model %u", target->id, model->id);
    if (model->pending.load() != 0) {
        return fail(ACL_ERROR_RT_MODEL_RUNNING, "model %u is being executed, or an execution is enqueued", model->id);
    }
    stop_recording(*target);
    model->lanes.erase(std::find(model->lanes.begin(), model->lanes.end(), lane));
    retire_lane(*lane);
    hold.unlock();
    destroy_lane(*lane);
    return ACL_SUCCESS;
}

aclError aclmdlRIEndTask(aclmdlRI model_ri, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_built_model(model_ri, &model));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (target->recording != nullptr && target->recording->capturing) return refuse_captured_locked(*target);
    for (Lane *lane : model->lanes) {
        if (lane->ended) return fail(ACL_ERROR_RT_INTERNAL_ERROR, "model %u has an end already: it can have one only", model->id);
    }
    Lane *lane = lane_of(*model, *target);
    if (lane == nullptr) return fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %d is not bound to model %u", target->id, model->id);
    lane->ended = true;
    return ACL_SUCCESS;
}

aclError aclmdlRIBuildEnd(aclmdlRI model_ri, void *reserve)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    REQUIRE(reserve == nullptr, "reserve is %p, it must be NULL", reserve);
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_built_model(model_ri, &model));
    if (model->state == Model::State::Ready) return ACL_SUCCESS;
    bool ended = false;
    for (Lane *lane : model->lanes) ended |= lane->ended;
    if (!ended) {
        return fail(ACL_ERROR_RT_MODEL_EXECUTE, "no stream of model %u was ended by aclmdlRIEndTask", model->id);
    }
    model->state = Model::State::Ready;
    return ACL_SUCCESS;
}

aclError aclrtPersistentTaskClean(aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(stream);
    std::lock_guard<std::mutex> hold(capture_lock);
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    Lane *lane = target->recording != nullptr && !target->recording->capturing ? target->recording->lane : nullptr;
    if (lane == nullptr || lane->model->state != Model::State::Ready) {
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %d is not bound to a model that is built", target->id);
    }
    if (lane->model->pending.load() != 0) {
        return fail(ACL_ERROR_RT_MODEL_RUNNING, "model %u is being executed, or an execution is enqueued", lane->model->id);
    }
    retire_lane(*lane);
    destroy_tasks(*lane);
    lane->cleaned = true;
    return ACL_SUCCESS;
}

/* ---- names, callbacks ---- */

aclError aclmdlRISetName(aclmdlRI model_ri, const char *name)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    REQUIRE_NOT_NULL(name);
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_own_model(model_ri, &model));
    model->name = name;
    return ACL_SUCCESS;
}

aclError aclmdlRIGetName(aclmdlRI model_ri, uint32_t max_len, char *name)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    REQUIRE_NOT_NULL(name);
    if (max_len == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "max_len is 0");
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_own_model(model_ri, &model));
    constexpr size_t longest = 512;
    size_t length = std::min({model->name.size(), size_t{max_len} - 1, longest - 1});
    model->name.copy(name, length);
    name[length] = '\0';
    return ACL_SUCCESS;
}

aclError aclmdlRIGetId(aclmdlRI model_ri, uint32_t *model_riid)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(model_ri);
    REQUIRE_NOT_NULL(model_riid);
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_model(model_ri, &model));
    *model_riid = model->id;
    return ACL_SUCCESS;
}

aclError aclmdlRIDestroyRegisterCallback(aclmdlRI model_ri, aclrtCallback func, void *user_data)
{
    ACL_ENTRY();
    if (model_ri == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "model_ri is NULL");
    if (func == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "func is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_model(model_ri, &model));
    RETURN_IF_ERROR(refuse_branch(*model));
    for (auto &known : model->destroy_callbacks) {
        if (known.first == func) return fail(ACL_ERROR_RT_PARAM_INVALID, "func is registered already");
    }
    model->destroy_callbacks.emplace_back(func, user_data);
    return ACL_SUCCESS;
}

aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI model_ri, aclrtCallback func)
{
    ACL_ENTRY();
    if (model_ri == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "model_ri is NULL");
    if (func == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "func is NULL");
    std::lock_guard<std::mutex> hold(capture_lock);
    Model *model;
    RETURN_IF_ERROR(find_model(model_ri, &model));
    RETURN_IF_ERROR(refuse_branch(*model));
    auto &list = model->destroy_callbacks;
    for (size_t i = 0; i < list.size(); ++i) {
        if (list[i].first != func) continue;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "func is not registered");
}
