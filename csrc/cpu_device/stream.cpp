/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <algorithm>

#include "allocator.h"
#include "callbacks.h"
#include "device.h"
#include "errors.h"
#include "log.h"
#include "mempool.h"
#include "model.h"
#include "pool.h"

namespace acl_cpu {

bool Stream::is_default() const { return context->default_stream == this; }

aclError context_failure(const Context &context)
{
    aclError failure = context.failure.load(std::memory_order_relaxed);
    if (LIKELY(failure == ACL_SUCCESS)) return ACL_SUCCESS;
    return fail(failure, "a stream of the context stopped at a failure (stop-on-failure mode)");
}

/* ---- finding ---- */

aclError find_any_stream(aclrtStream handle, Stream **stream)
{
    Context *context = current_context();
    if (UNLIKELY(context == nullptr)) RETURN_IF_ERROR(require_context(&context));
    *stream = Handles<Stream>::find(handle != nullptr ? handle : context->default_handle);
    if (UNLIKELY(*stream == nullptr)) {
        if (handle == nullptr) return fail(ACL_ERROR_RT_CONTEXT_NULL, "the thread's context is being destroyed by another thread");
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %p is no live stream", handle);
    }
    if (LIKELY((*stream)->context == context)) return ACL_SUCCESS;
    /* The context of a live stream is alive, and stays what it is if the stream is alive still. */
    Handles<Context>::use((*stream)->context);
    if (LIKELY(Handles<Stream>::find(handle) != nullptr)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %p is no live stream", handle);
}

aclError find_stream(aclrtStream handle, Stream **stream)
{
    RETURN_IF_ERROR(find_any_stream(handle, stream));
    if (LIKELY((*stream)->context == t_state.context)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_STREAM_CONTEXT, "stream %p belongs to another context than the current one", handle);
}

aclError refusal(Stream &stream)
{
    uint32_t trouble = stream.trouble.load();
    if (stream.runs.load(std::memory_order_relaxed) != nullptr) {
        return fail(ACL_ERROR_RT_STREAM_MODEL, "stream %d executes a runtime instance and takes no other work", stream.id);
    }
    RETURN_IF_ERROR(refuse_closed(stream));
    if ((trouble & TROUBLE_DEVICE_ONLY) != 0) {
        return fail(ACL_ERROR_RT_INTERNAL_ERROR, "stream %d was made with ACL_STREAM_DEVICE_USE_ONLY: it takes no work from the host",
                    stream.id);
    }
    return ACL_SUCCESS;
}

aclError refuse_closed(const Stream &stream)
{
    if ((stream.trouble.load() & TROUBLE_CLOSED) == 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %d is being destroyed", stream.id);
}

/* ---- executing ---- */

bool Stream::append(Task *task)
{
    task->stream = this;
    uint64_t before;
    {
        std::unique_lock<std::mutex> hold(lock);
        if (UNLIKELY(shut)) {
            hold.unlock();
            task->drop();
            delete task;
            fail(ACL_ERROR_RT_INVALID_HANDLE, "stream %d was destroyed during the call", id);
            return false;
        }
        before = progress.fetch_add(1, std::memory_order_seq_cst);
        task->id = submitted(before) + 1;
        task->next = nullptr;
        if (last != nullptr) last->next = task;
        else first = task;
        last = task;
        t_state.last_task_id = task->id;
    }
    if (pending(before) == 0) pool().schedule(*this);
    return true;
}

bool Stream::shut_down()
{
    std::lock_guard<std::mutex> hold(lock);
    uint32_t task_id;
    /* The right to execute is never given back, so nothing runs in a calling thread either. */
    if (!try_begin(&task_id)) return false;
    shut = true;
    return true;
}

void Stream::hand_out(Task *task)
{
    task->stream = this;
    t_state.last_task_id = task->id;
    std::lock_guard<std::mutex> hold(lock);
    current = task;
}

bool Stream::has_time_for_next()
{
    std::lock_guard<std::mutex> hold(lock);
    return first == nullptr || Pool::has_time_for(first->busy_ns());
}

void Stream::execute(uint32_t target, bool has_target)
{
    for (uint32_t rounds = 1;; ++rounds) {
        Task *task;
        bool dropped;
        {
            std::lock_guard<std::mutex> hold(lock);
            task = first;
            first = task->next;
            if (first == nullptr) last = nullptr;
            uint32_t state = trouble.load(std::memory_order_relaxed);
            dropped = (state & TROUBLE_STOPPED) != 0 ||
                      ((state & TROUBLE_DROP) != 0 && static_cast<int32_t>(drop_through - task->id) >= 0);
            if (!dropped) current = task;
        }
        if (dropped) {
            task->drop();
            LOG(STREAMS, "stream %d drops task %u (%s)", id, task->id, task->name());
        } else if (task->start(*this) == Step::Pending) {
            return;
        }
        if (!finish(task)) return;
        /* Others get their turn, and a waiter does no more than what he waits for. */
        bool enough = has_target ? reached(target) : rounds >= 4 && pool().others_wait();
        if (enough || (pool().stopping() && !has_target) || !has_time_for_next()) {
            pool().schedule(*this);
            return;
        }
    }
}

bool Stream::finish(Task *task)
{
    if (UNLIKELY(task->error != ACL_SUCCESS)) {
        note_error(*task);
        /* The context's host thread concludes it when the callbacks have returned. */
        if (has_exception_callbacks() && task->is_news() && run_exception_callbacks(*this, task)) return false;
    }
    return conclude(task);
}

bool Stream::conclude(Task *task)
{
    {
        std::lock_guard<std::mutex> hold(lock);
        if (current == task) current = nullptr;
    }
    delete task;
    return end();
}

void Stream::finish_pending(Task *task)
{
    /* `this` stays valid as long as the task is not finished. */
    if (finish(task)) pool().schedule(*this);
}

void finish_inline(Stream &stream, Task &task)
{
    stream.note_error(task);
    if (has_exception_callbacks() && run_exception_callbacks(stream, keep_failed_task(task))) return;
    if (stream.end()) pool().schedule(stream);
}

void schedule_rest(Stream &stream) { pool().schedule(stream); }

void end_current(void *stream_handle, uint32_t id, aclError code, const std::string &message)
{
    UseScope scope;
    Stream *stream = Handles<Stream>::find(stream_handle);
    if (stream == nullptr) return;
    Task *task;
    {
        std::lock_guard<std::mutex> hold(stream->lock);
        task = stream->current;
        if (task == nullptr || task->id != id || !task->withdraw()) return;
    }
    if (code != ACL_SUCCESS) task->set_error(code, message);
    stream->finish_pending(task);
}

void Stream::note_error(const Task &task)
{
    const char *text = task.message != nullptr ? task.message->c_str() : "";
    LOG(ERRORS, "stream %d: task %u (%s) failed with %d %s: %s", id, task.id, task.name(), task.error,
        error_name(task.error), text);
    if (task.function_handle() != nullptr) device->core_faults.fetch_add(1, std::memory_order_relaxed);
    /* The stream on which the model is executed reports it. */
    if (runs.load(std::memory_order_relaxed) != nullptr) return model_task_failed(*this, task);
    std::lock_guard<std::mutex> hold(lock);
    if (error == ACL_SUCCESS) {
        error = task.error;
        error_message = text;
    }
    last_error = task.error;
    last_error_message = text;
    error_count.fetch_add(1, std::memory_order_seq_cst);
    uint32_t bits = TROUBLE_ERROR;
    if (context->stop_on_failure.load(std::memory_order_relaxed)) {
        aclError none = ACL_SUCCESS;
        context->failure.compare_exchange_strong(none, task.error);
        bits |= TROUBLE_STOPPED;
    }
    trouble.fetch_or(bits, std::memory_order_seq_cst);
}

/* ---- waiting ---- */

constexpr uint64_t EXIT_PATIENCE_NS = 1000000000;

Wait wait_for(Stream &stream, uint32_t target, uint64_t deadline)
{
    auto gone = [&] { return Handles<Stream>::live_tag(&stream) == 0; };
    auto over = [&] { return stream.reached(target) || gone(); };
    uint64_t give_up = NO_DEADLINE;
    for (;;) {
        if (stream.reached(target)) return Wait::Done;
        if (gone()) return Wait::Gone;
        if (pool().help(stream, target, deadline)) continue;

        uint64_t now = now_ns();
        if (now >= deadline) return Wait::TimedOut;
        if (UNLIKELY(pool().stopping())) {
            /* The process exits: host threads and timers may be gone, so nobody waits for long. */
            if (give_up == NO_DEADLINE) give_up = now + EXIT_PATIENCE_NS;
            if (now >= give_up) return Wait::Gone;
        }
        if (pool().spins()) {
            uint64_t until = now + SPIN_NS;
            bool look = false;
            do {
                for (int i = 0; i < 32 && !look; ++i) {
                    cpu_relax();
                    look = stream.reached(target) || stream.ready.load(std::memory_order_relaxed) ||
                           stream.open_job.load(std::memory_order_relaxed) != nullptr;
                }
            } while (!look && now_ns() < until);
            if (over()) continue;
            if (look && pool().help(stream, target, deadline)) continue;
        }
        park_until(&stream, std::min(deadline, give_up), [&] {
            return over() || (pool().stopping() && stream.ready.load(std::memory_order_seq_cst));
        });
    }
}

namespace {

/* The stream's error for one waiter, who began to wait when `errors` had been counted. */
aclError collect_error(Stream &stream, uint32_t errors_before)
{
    aclError code = ACL_SUCCESS;
    std::string message;
    {
        std::lock_guard<std::mutex> hold(stream.lock);
        if (stream.error != ACL_SUCCESS) {
            code = stream.error;
            message = stream.error_message;
            /* Read once, unless the stream stands still because of it. */
            if ((stream.trouble.load() & TROUBLE_STOPPED) == 0) {
                stream.error = ACL_SUCCESS;
                stream.trouble.fetch_and(~TROUBLE_ERROR);
            }
        } else if (stream.error_count.load() != errors_before) {
            /* Another thread that waited as well was faster; the failure is news for this one too. */
            code = stream.last_error;
            message = stream.last_error_message;
        }
    }
    if (code != ACL_SUCCESS) return fail_with(code, message.c_str());
    return context_failure(*stream.context);
}

} // namespace

aclError synchronize(Stream &stream, uint64_t deadline)
{
    uint32_t errors = stream.error_count.load(std::memory_order_relaxed);
    uint32_t aborts = stream.abort_count.load(std::memory_order_relaxed);
    uint32_t target = Stream::submitted(stream.progress.load(std::memory_order_seq_cst));
    switch (wait_for(stream, target, deadline)) {
    case Wait::TimedOut:
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %d has not done its work in time", stream.id);
    case Wait::Gone:
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "the stream was destroyed during the wait, or the process is exiting");
    case Wait::Done: break;
    }
    if (stream.abort_count.load(std::memory_order_relaxed) != aborts) {
        return fail(ACL_ERROR_RT_STREAM_ABORT, "stream %d was aborted during the wait", stream.id);
    }
    trim_pools_if_any(*stream.device);
    return collect_error(stream, errors);
}

/* ---- life ---- */

uint32_t max_streams() { return 1984; }

aclError no_stream(const Context &context)
{
    if (context.closed.load()) return fail(ACL_ERROR_RT_CONTEXT_NULL, "the context is being destroyed by another thread");
    return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "device %d has %u streams, which is the limit", context.device->id, max_streams());
}

namespace {
std::atomic<uint32_t> internals{0};
} // namespace

void make_internal(Stream &stream)
{
    stream.internal = true;
    internals.fetch_add(1);
}

uint32_t internal_streams() { return internals.load(); }

Stream *create_stream(Context &context, uint32_t priority, uint32_t flags, const void *creator)
{
    Device &device = *context.device;
    int32_t id;
    {
        std::lock_guard<std::mutex> hold(device.lock);
        if (device.streams >= max_streams()) return nullptr;
        ++device.streams;
        id = device.next_stream_id++;
    }
    Stream *stream = handles<Stream>().create(creator, &context, &device, id, priority, flags);
    if (stream == nullptr) {
        std::lock_guard<std::mutex> hold(device.lock);
        --device.streams;
        return nullptr;
    }
    if ((flags & ACL_STREAM_DEVICE_USE_ONLY) != 0) stream->trouble.store(TROUBLE_DEVICE_ONLY);
    std::unique_lock<std::mutex> hold(context.lock);
    if (context.closed.load()) {
        hold.unlock();
        handles<Stream>().destroy(stream);
        std::lock_guard<std::mutex> hold_device(device.lock);
        --device.streams;
        return nullptr;
    }
    stream->next_in_context = context.streams;
    if (context.streams != nullptr) context.streams->previous_in_context = stream;
    context.streams = stream;
    LOG(STREAMS, "stream %d (%p) created on device %d, priority %u, flags %#x", id, stream->handle(), device.id, priority,
        flags);
    return stream;
}

void abort_work(Stream &stream)
{
    Task *withdrawn = nullptr;
    uint32_t target;
    {
        std::lock_guard<std::mutex> hold(stream.lock);
        target = Stream::submitted(stream.progress.load());
        stream.drop_through = target;
        stream.trouble.fetch_or(TROUBLE_DROP);
        if (stream.current != nullptr) {
            stream.current->cancelled.store(true, std::memory_order_seq_cst);
            if (stream.current->withdraw()) withdrawn = stream.current;
        }
    }
    if (withdrawn != nullptr) stream.finish_pending(withdrawn);
    wait_for(stream, target, NO_DEADLINE);
    std::lock_guard<std::mutex> hold(stream.lock);
    if (stream.drop_through == target) stream.trouble.fetch_and(~TROUBLE_DROP);
}

bool begin_destroy(Stream &stream) { return (stream.trouble.fetch_or(TROUBLE_CLOSED) & TROUBLE_CLOSED) == 0; }

void destroy_stream(Stream &stream, bool drop_work)
{
    if (drop_work) abort_work(stream);
    /* Calls that began before may enqueue still. At exit the work may never end. */
    while (wait_for(stream, Stream::submitted(stream.progress.load()), NO_DEADLINE) == Wait::Done && !stream.shut_down()) {
    }
    Context &context = *stream.context;
    Device &device = *stream.device;
    forget_report_stream(stream);
    forget_allocator(stream);
    forget_recording(stream);
    LOG(STREAMS, "stream %d (%p) destroyed", stream.id, stream.handle());
    {
        std::lock_guard<std::mutex> hold(context.lock);
        if (stream.previous_in_context != nullptr) stream.previous_in_context->next_in_context = stream.next_in_context;
        else context.streams = stream.next_in_context;
        if (stream.next_in_context != nullptr) stream.next_in_context->previous_in_context = stream.previous_in_context;
    }
    {
        std::lock_guard<std::mutex> hold(device.lock);
        --device.streams;
    }
    if (stream.internal) internals.fetch_sub(1);
    handles<Stream>().destroy(&stream);
    unpark(&stream);
}

} // namespace acl_cpu
