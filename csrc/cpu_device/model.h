/* SPDX-License-Identifier: Apache-2.0
 *
 * Runtime instances (models): work that is recorded once and executed many times.
 *
 * A model has lanes, one for each stream that was captured or bound. A lane is a list of recorded tasks and a stream of
 * its own, the runner, that nobody enqueues to but the model. To execute a model means to put copies of the recorded
 * tasks on the runners; the task that stands for the execution on the user's stream ends when all lanes have ended.
 * Tasks that decide what comes next (jumps, switches) are the last ones that are put on a runner; they put the rest there.
 *
 * Locks, in this order: capture_lock (what is being recorded, which models there are), Model::lock (what is being
 * executed), locks of streams.
 */
#ifndef ASCENDCL_CPU_MODEL_H
#define ASCENDCL_CPU_MODEL_H

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "errors.h"
#include "handles.h"
#include "stream.h"

namespace acl_cpu {

struct Condition;
struct Event;
struct Join;
struct Lane;
struct Model;
struct ModelTask;
struct TaskGroup;

extern std::mutex &capture_lock;
/* Number of captures under way in the process; a hint that may be read without the lock. */
extern std::atomic<uint32_t> g_captures;

/* A task of a lane. What runs is a copy of the prototype, which keeps what copies point to (arguments). */
struct Recorded {
    static constexpr Kind kind = Kind::ModelTask;

    Recorded(Lane *of, uint32_t number, std::shared_ptr<Task> first, CopyTask how)
        : lane(of), index(number), prototype(std::move(first)), copy(how)
    {
    }

    Lane *const lane;
    const uint32_t index;
    std::shared_ptr<Task> prototype; /* under the model's lock */
    CopyTask copy;                   /* the same */
    bool decides = false;            /* what follows is the task's own decision */
    bool late = false;               /* copied when the lane gets there, so that updates until then count */
    bool external = false;           /* an event outside of the model: bound when the execution is enqueued */
    bool disabled = false;           /* under the model's lock, like the next ones */
    TaskGroup *group = nullptr;
    std::string op_info;      /* of aclrtCacheLastTaskOpInfo, under the capture lock */
    std::string extend_info;  /* of aclrtCacheLastTaskExtendInfo, the same */
    /* What aclmdlRITaskSetParams and aclmdlRITaskDisable asked for, until aclmdlRIUpdate. */
    std::shared_ptr<Task> next_prototype;
    CopyTask next_copy = nullptr;
    bool next_disabled = false;

    void *handle() const { return Handles<Recorded>::handle_of(this); }
};

/* Where a label is. Shared by the label, label lists and recorded jumps, which may outlive each other. */
struct LabelPlace {
    Lane *lane = nullptr; /* under the capture lock; nullptr: not set, or the model is gone */
    size_t index = 0;
    bool in_list = false;
};

struct Lane {
    Model *model = nullptr;
    Stream *runner = nullptr;
    Stream *source = nullptr; /* which is recorded, while it is; under the capture lock */
    bool origin = false;      /* of a capture */
    bool head = false;        /* begins with the model; others are activated */
    bool ended = false;       /* aclmdlRIEndTask */
    bool cleaned = false;     /* aclrtPersistentTaskClean: takes tasks again */
    std::vector<Recorded *> tasks;
    std::vector<std::shared_ptr<LabelPlace>> labels;
    /* ---- under the model's lock ---- */
    bool active = false;
    std::deque<size_t> starts; /* positions to begin at when it ends */
};

/* What a stream that is not executed does with its tasks; under the capture lock. */
struct Recording {
    Lane *lane = nullptr; /* nullptr: an update of a task group */
    bool capturing = false;
    TaskGroup *group = nullptr; /* open */
    TaskGroup *updating = nullptr;
    std::vector<std::pair<std::shared_ptr<Task>, CopyTask>> updates;
};

/* Tasks of a capture that may be replaced. Lives as long as its model. */
struct TaskGroup {
    static constexpr Kind kind = Kind::TaskGroup;
    explicit TaskGroup(Model *of) : model(of) {}
    Model *const model;
    std::vector<Recorded *> tasks;
    Stream *updated_on = nullptr; /* while it is updated; under the capture lock */
    void *handle() const { return Handles<TaskGroup>::handle_of(this); }
};

using Ending = std::function<void(aclError, const std::string &)>;

struct Model {
    static constexpr Kind kind = Kind::Model;
    enum class State { New, Recording, Invalid, Ready, Updating };

    Model(Context *in, uint32_t number, bool is_captured) : context(in), id(number), captured(is_captured) {}

    Context *const context;
    const uint32_t id;
    const bool captured;
    Condition *parent = nullptr; /* of a model that is a branch of a conditional task */

    /* ---- under the capture lock ---- */
    State state = State::New;
    bool closing = false;
    bool capturing = false; /* from the begin to the end of the capture */
    aclError group_error = ACL_SUCCESS;
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    uint64_t thread = 0; /* that began the capture */
    std::string name;
    std::vector<std::pair<aclrtCallback, void *>> destroy_callbacks;
    std::vector<Lane *> lanes;
    std::vector<Join *> joins;
    std::vector<TaskGroup *> groups;
    std::vector<Condition *> conditions;
    struct External {
        Event *event;
        bool records;
    };
    std::vector<External> externals;
    struct Use {
        void *stream;
        uint32_t task;
    };
    std::vector<Use> uses; /* last execution on each stream */
    Stream *own_stream = nullptr; /* of aclmdlRIExecute */

    std::atomic<uint32_t> pending{0}; /* executions enqueued and not done */

    std::mutex lock;
    /* ---- under the lock ---- */
    bool running = false;
    bool cancelled = false;
    uint32_t open_lanes = 0;
    aclError error = ACL_SUCCESS;
    std::string message;
    Ending on_end;
    ModelTask *current = nullptr;
    std::deque<ModelTask *> waiting;
    std::vector<std::shared_ptr<Task>> retired; /* prototypes that were replaced while copies may run */

    void *handle() const { return Handles<Model>::handle_of(this); }

    /* Begins to execute; with the lock held, while nothing is running. */
    void begin(Ending end);
    /* Puts the tasks of a lane from a position on its runner; with the lock held. `copy_first`: the first one now, even
     * if it is a late one. */
    void enqueue_from(Lane &lane, size_t position, bool copy_first = false);
    /* Begins another lane, or the same again once it ends; with the lock held. */
    void activate(Lane &lane, size_t position);
    /* The lane has no more to do. May be the last use of the model. */
    void lane_over(Lane &lane);
    /* Drops what is left of the execution. */
    void cancel(aclError code, const std::string &text);
};

/* ---- recording ---- */

template <class T> Task *copy_of(Task &prototype) { return new T(std::move(static_cast<T &>(prototype))); }

/* A task that decides what follows in its lane. */
struct ControlTask : Task {
    ControlTask() = default;
    ControlTask(ControlTask &&other) noexcept : Task(std::move(other)), where(other.where) {}
    Step start(Stream &on) override;
    void drop() override;
    /* With the model's lock held; false: the lane ends here. */
    virtual bool decide(Model &model) = 0;
    /* Goes on behind this task; with the lock held. */
    void go_on(Model &model);
    Recorded *where = nullptr;
};

/* Handle of the task that the thread recorded last. */
extern __thread void *t_last_recorded __attribute__((tls_model("initial-exec")));

/* With the capture lock held: */
aclError new_lane(Model &model, Stream &source, bool head, const void *creator, Lane **lane);
/* No handle leads to the lane any more: its labels and tasks. Call destroy_lane() then, without the lock. */
void retire_lane(Lane &lane);
/* Ends the recording of a stream. */
void stop_recording(Stream &stream);
Recorded *add_task(Lane &lane, std::shared_ptr<Task> prototype, CopyTask copy);

inline bool is_recording(const Stream &stream)
{
    return UNLIKELY((stream.trouble.load(std::memory_order_relaxed) & TROUBLE_RECORDING) != 0);
}
/* Whether a capture is under way on the stream; bound streams are no such. */
bool is_capturing(Stream &stream);
/* 107027 with a message. */
aclError refuse_captured_locked(Stream &stream);
/* The same when the stream is captured. */
aclError refuse_captured(Stream &stream);
/* 207000 for what cannot be recorded. */
aclError refuse_recorded(Stream &stream, const char *what);
/* 107027 when any stream of the context is. */
aclError refuse_captured_streams(Context &context);
/* Host-blocking calls that are unsafe while somebody captures: 107030. */
aclError check_capture_mode_slowly(Context &context);
inline aclError check_capture_mode(Context &context)
{
    if (LIKELY(g_captures.load(std::memory_order_relaxed) == 0)) return ACL_SUCCESS;
    return check_capture_mode_slowly(context);
}
/* The stream, or its context, is being destroyed. */
void forget_recording(Stream &stream);
/* False, at exit, if their work does not end. */
bool end_models_of(Context &context, bool drop_work);
/* A task failed on a runner. */
void model_task_failed(Stream &runner, const Task &task);

/* ---- models ---- */

/* With the capture lock held: */
Model *new_model(Context &context, bool captured, const void *creator);
/* Reports why new_model() gave none. */
aclError no_model(const Context &context);
void destroy_model(Model &model, std::unique_lock<std::mutex> &capturing);
aclError find_model(aclmdlRI handle, Model **model);
/* The model must belong to the current context. */
aclError find_own_model(aclmdlRI handle, Model **model);

/* ---- events that join captured streams ---- */

/* One record of an event within a capture, and the waits for it. In each execution the record frees the waits. */
struct Join {
    Join(Lane *of, Event *recorded) : recorder(of), event(recorded) {}
    Lane *const recorder;
    Event *const event; /* retained */
    bool waited = false; /* under the capture lock, like the next one */
    bool waited_by_origin = false;
    std::mutex lock;
    /* ---- under the lock ---- */
    bool done = false;
    std::vector<struct JoinWaitTask *> waiting;
};

void reset_joins(Model &model);
/* Forgets the events of a capture that ended: they are ordinary ones again. `destroy`: and the joins. */
void release_joins(Model &model, bool destroy);
/* With the capture lock held. The stream is captured; the event is of the kind that joins streams. */
aclError record_join(Event &event, Stream &stream);
/* The event was recorded in a capture that is under way: the stream becomes a part of it. */
aclError wait_for_join(Event &event, Stream &stream, uint64_t timeout_ns);
/* Puts a task of an event into the recording of the stream; with the capture lock held. */
aclError record_event_task(Stream &stream, std::unique_ptr<Task> prototype, CopyTask copy, Event *external, bool records);
/* A copy of the record of, or the wait for, an external event as of now, for an execution on the stream (event.cpp). */
Task *bind_event_task(Task &prototype, Stream &stream);
/* Why a stream takes no more tasks for its recording, or ACL_SUCCESS; with the capture lock held. */
aclError recording_refusal(Stream &stream);

/* ---- conditions ---- */

void begin_conditions(Model &model);
void destroy_condition(Condition &condition, std::unique_lock<std::mutex> &capturing);
bool conditions_are_complete(Model &model);

} // namespace acl_cpu
#endif
