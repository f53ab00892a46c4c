/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: in-order queues without a thread of their own.
 *
 * `progress` holds the number of tasks that are done (upper half) and of those that are not (lower half). Whoever
 * raises the lower half from zero has the right to execute the stream, and only he; he passes the right on (to the
 * pool, to the end of a pending task) or brings the lower half back to zero. An idle stream is thus taken by one
 * compare-and-swap and given back by one addition, which is all that the inline path pays.
 */
#ifndef ASCENDCL_CPU_STREAM_H
#define ASCENDCL_CPU_STREAM_H

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "handles.h"
#include "parking.h"
#include "task.h"

namespace acl_cpu {

struct Context;
struct Device;
struct Lane;
struct Recording;
class Job;

/* Bits of Stream::trouble. */
enum : uint32_t {
    TROUBLE_ERROR = 1u << 0,   /* an error waits to be read */
    TROUBLE_STOPPED = 1u << 1, /* failed in stop-on-failure mode: drops all work */
    TROUBLE_DROP = 1u << 2,    /* tasks up to drop_through are dropped */
    TROUBLE_CLOSED = 1u << 3,  /* being destroyed */
    TROUBLE_RECORDING = 1u << 4, /* tasks go to a recorder (model.h), not to the executor */
    TROUBLE_DEVICE_ONLY = 1u << 5 /* made for the device's own use: takes no work, for its whole life */
};

struct Stream {
    static constexpr Kind kind = Kind::Stream;

    Stream(Context *owner, Device *on, int32_t number, uint32_t stream_priority, uint32_t stream_flags)
        : context(owner), device(on), id(number), priority(stream_priority), flags(stream_flags)
    {
    }

    /* What every call and the executor touch comes first, so that it fits into two cache lines. */
    std::atomic<uint64_t> progress{0};
    std::atomic<uint32_t> trouble{0};
    /* The pool's, under its lock; may be read without as a hint. */
    std::atomic<bool> ready{false};
    Context *const context;
    std::mutex lock;
    /* ---- under the lock ---- */
    Task *first = nullptr;
    Task *last = nullptr;
    Task *current = nullptr; /* started and not finished; not set for inline work */
    /* ---- the pool's, under its lock; may be read without as hints ---- */
    std::atomic<Job *> open_job{nullptr};
    std::atomic<void *> blocked_on{nullptr}; /* handle of a stream whose work the current task waits for */
    Stream *next_ready = nullptr;
    Stream *previous_ready = nullptr;

    Device *const device;
    const int32_t id;
    std::atomic<uint32_t> priority;
    const uint32_t flags;

    /* ---- under the lock ---- */
    uint32_t drop_through = 0;
    bool shut = false; /* about to be destroyed: takes nothing more */
    aclError error = ACL_SUCCESS;
    std::string error_message;
    aclError last_error = ACL_SUCCESS; /* the newest one, kept for all threads that waited for it */
    std::string last_error_message;
    std::atomic<uint32_t> error_count{0};
    std::atomic<uint32_t> abort_count{0};

    /* ---- attributes ---- */
    std::atomic<uint32_t> failure_mode{0};
    std::atomic<uint32_t> overflow_switch{0};
    std::atomic<uint32_t> user_tag{0};
    std::atomic<uint32_t> cache_op_info{0};
    std::atomic<uint64_t> report_thread{0}; /* of aclrtSubscribeReport */
    std::atomic<uint32_t> limit_cube{0};    /* core limits, 0: the device's */
    std::atomic<uint32_t> limit_vector{0};

    /* ---- runtime instances, see model.h ---- */
    std::atomic<Lane *> runs{nullptr}; /* whose tasks it executes: a stream that no user enqueues to */
    Recording *recording = nullptr;    /* under the capture lock */
    bool internal = false;             /* of the device itself: no leak */

    /* ---- the context's list of streams, under the device's lock ---- */
    Stream *next_in_context = nullptr;
    Stream *previous_in_context = nullptr;

    void *handle() const { return Handles<Stream>::handle_of(this); }
    bool is_default() const;

    static uint32_t pending(uint64_t progress) { return static_cast<uint32_t>(progress); }
    static uint32_t done(uint64_t progress) { return static_cast<uint32_t>(progress >> 32); }
    static uint32_t submitted(uint64_t progress) { return done(progress) + pending(progress); }

    bool idle() const { return pending(progress.load(std::memory_order_acquire)) == 0; }
    bool reached(uint32_t target) const
    {
        return static_cast<int32_t>(done(progress.load(std::memory_order_seq_cst)) - target) >= 0;
    }

    /* Takes the right to execute an idle stream; *task_id is the number of the task that will run. */
    bool try_begin(uint32_t *task_id)
    {
        uint64_t seen = progress.load(std::memory_order_relaxed);
        if (pending(seen) != 0) return false;
        *task_id = done(seen) + 1;
        return progress.compare_exchange_strong(seen, seen + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
    }

    /* One task is done. True: there are more, and the caller still has the right to execute. Otherwise the stream may
     * be gone when this returns. */
    bool end()
    {
        uint64_t before = progress.fetch_add((uint64_t{1} << 32) - 1, std::memory_order_seq_cst);
        unpark(this);
        return pending(before) != 1;
    }

    /* ---- for tasks ---- */

    /* Ends a task whose start() returned Pending, from any thread. */
    void finish_pending(Task *task);
    /* The same for threads that can go on with the stream themselves: true if they have to. */
    bool finish(Task *task);
    /* Second half of finish(): the task is forgotten and counted as done. */
    bool conclude(Task *task);
    /* Executes tasks until the stream is idle or one is pending; the caller has the right to execute. It stops early
     * and hands on when a waiter's target is reached, or when other streams wait for an executor. */
    void execute(uint32_t target, bool has_target);
    /* Enqueues. False, with an error report, if the stream is destroyed meanwhile: the task is dropped then. */
    bool append(Task *task);
    /* An idle stream takes no more work: false if it has some. Calls under way may still use it. */
    bool shut_down();
    /* Makes the task the current one; the caller took the right to execute and gives it to the end of the task. */
    void hand_out(Task *task);
    /* Whether the calling thread has the time for the first task. The stream is in the pool's hands. */
    bool has_time_for_next();
    /* Records the failure of a task that ran. */
    void note_error(const Task &task);
};

/* ---- enqueuing ---- */

/* The stream behind a handle (nullptr: the default stream of the current context), which must belong to the current
 * context. Reports its errors. */
aclError find_stream(aclrtStream handle, Stream **stream);
/* The same for calls that work across contexts. */
aclError find_any_stream(aclrtStream handle, Stream **stream);

/* Slow part of submit(): why the stream takes no work, or ACL_SUCCESS. */
aclError refusal(Stream &stream);
/* 107017 for a stream that is being destroyed. What is entered somewhere for a stream is entered after this, under the
 * lock that destroy_stream() takes to forget it. */
aclError refuse_closed(const Stream &stream);
void finish_inline(Stream &stream, Task &task);
void schedule_rest(Stream &stream);

/* A stream whose tasks are recorded keeps the task, or what becomes of it in a recording. */
using CopyTask = Task *(*)(Task &);
aclError record_kept(Stream &stream, Task *prototype, CopyTask copy);
template <class T> aclError record_task(Stream &stream, T &task)
{
    task.thread = pthread_self();
    T *kept = new T(std::move(task));
    kept->keep_arguments();
    return record_kept(stream, kept, [](Task &prototype) -> Task * { return new T(std::move(static_cast<T &>(prototype))); });
}

/* What keeps work from running in the calling thread: it is refused, recorded, or dropped in order. */
constexpr uint32_t TROUBLE_DETOUR = TROUBLE_STOPPED | TROUBLE_DROP | TROUBLE_CLOSED | TROUBLE_RECORDING | TROUBLE_DEVICE_ONLY;

/* Puts work on a stream: runs it here and now if it is tiny and the stream idle, else in order behind what is there. */
template <class T> aclError submit(Stream &stream, T &&task)
{
    bool detour = (stream.trouble.load(std::memory_order_relaxed) & TROUBLE_DETOUR) != 0;
    if (UNLIKELY(detour)) {
        RETURN_IF_ERROR(refusal(stream));
        if ((stream.trouble.load(std::memory_order_relaxed) & TROUBLE_RECORDING) != 0) return record_task(stream, task);
    }
    uint32_t id;
    if (task.cost_ns() <= TINY_NS && LIKELY(!detour) && stream.try_begin(&id)) {
        task.id = id;
        task.stream = &stream;
        t_state.last_task_id = id;
        task.T::start(stream);
        if (LIKELY(task.error == ACL_SUCCESS)) {
            if (UNLIKELY(stream.end())) schedule_rest(stream);
        } else {
            finish_inline(stream, task);
        }
        return ACL_SUCCESS;
    }
    task.thread = pthread_self();
    T *kept = new T(std::move(task));
    kept->keep_arguments();
    /* A task that is for other threads anyway needs no executor if the stream is idle. */
    if (kept->hands_out_blocks() && !detour && stream.try_begin(&id)) {
        kept->id = id;
        stream.hand_out(kept);
        kept->T::start_elsewhere();
        return ACL_SUCCESS;
    }
    return stream.append(kept) ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_HANDLE;
}

/* Ends the pending task `id` of a stream from outside, if it is still the current one and can be withdrawn; with a code
 * it fails. For timers, which may come too late for the task and even for the stream. */
void end_current(void *stream_handle, uint32_t id, aclError code, const std::string &message);

/* ---- waiting ---- */

enum class Wait { Done, TimedOut, Gone };
/* Waits until `target` tasks of the stream are done, and works meanwhile. */
Wait wait_for(Stream &stream, uint32_t target, uint64_t deadline);
/* Waits for all that was enqueued before the call and gives the stream's error, once. */
aclError synchronize(Stream &stream, uint64_t deadline);

/* ---- life ---- */

/* nullptr when the device has no stream left, or the context is being destroyed. */
Stream *create_stream(Context &context, uint32_t priority, uint32_t flags, const void *creator);
/* False if another thread destroys the stream already. */
bool begin_destroy(Stream &stream);
/* Waits for the work (or drops it) and destroys; after begin_destroy(). */
void destroy_stream(Stream &stream, bool drop_work);
/* Drops queued work, stops what runs as soon as it can be, and waits until nothing is left. */
void abort_work(Stream &stream);
uint32_t max_streams();
/* Reports why create_stream() gave none. */
aclError no_stream(const Context &context);
/* Marks a stream as one of the device's own; the number of such. */
void make_internal(Stream &stream);
uint32_t internal_streams();

} // namespace acl_cpu
#endif
