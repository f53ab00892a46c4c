/* SPDX-License-Identifier: Apache-2.0
 *
 * Work on a stream.
 *
 * A stream runs its tasks one after the other. start() either does the work and returns Done, or arranges for it to
 * happen elsewhere and returns Pending; whoever ends it then calls finish_pending(). A task that is waiting (for an
 * event, a host function, time) is state, never a blocked thread.
 */
#ifndef ASCENDCL_CPU_TASK_H
#define ASCENDCL_CPU_TASK_H

#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>

#include "entry.h"

namespace acl_cpu {

struct Stream;
struct Function;

enum class Step { Done, Pending };

constexpr uint64_t UNKNOWN_COST = UINT64_MAX;
/* Work up to this may be done in the calling thread, when the stream is idle. */
constexpr uint64_t TINY_NS = 20000;

struct Task {
    virtual ~Task() = default;

    virtual const char *name() const = 0;
    /* After Pending is decided the task may end, and with it task and stream be gone, before start() returns. */
    virtual Step start(Stream &stream) = 0;
    /* Called instead of start() when the stream drops its work: what others rely on (an event to be recorded, a
     * staging buffer) is settled, the work itself is left undone. */
    virtual void drop() {}
    /* Ask a started task to end early. True: it was only waiting, is withdrawn, and the caller must finish it. Called
     * with the stream's lock held, after `cancelled` was set. */
    virtual bool withdraw() { return false; }
    /* Expected duration on one thread; UNKNOWN_COST also for what may not run in the calling thread. */
    virtual uint64_t cost_ns() const { return UNKNOWN_COST; }
    /* How long start() may keep the thread that calls it: 0 for tasks that only wait for something. */
    virtual uint64_t busy_ns() const { return cost_ns(); }
    /* Whether it can be a task of a runtime instance. */
    virtual bool can_be_recorded() const { return true; }
    /* False for a failure that was reported where it happened. */
    virtual bool is_news() const { return true; }
    /* For exception callbacks. */
    virtual void *function_handle() const { return nullptr; }
    virtual const void *arguments(uint32_t *size) const
    {
        *size = 0;
        return nullptr;
    }
    /* What aclmdlRITaskGetType and aclmdlRITaskGetParams say of the task. */
    virtual aclmdlRITaskType task_type() const { return ACL_MODEL_RI_TASK_DEFAULT; }
    virtual void describe(aclmdlRITaskParams &) const {}
    /* A task like this one with other parameters. Reports its errors. */
    virtual aclError with_params(const aclmdlRITaskParams &, std::shared_ptr<Task> *) const { return ACL_ERROR_RT_PARAM_INVALID; }
    /* Copies of the task will run, it will not. */
    virtual void become_prototype() {}
    /* Copies what the caller may change after the call; runs when the task does not run at once. */
    void keep_arguments() {}
    /* Whether start_elsewhere() may replace start(): it puts the work where other threads find it, and returns. */
    bool hands_out_blocks() const { return false; }
    void start_elsewhere() {}

    /* The first error counts. */
    void set_error(aclError code, std::string text)
    {
        if (error != ACL_SUCCESS) return;
        error = code;
        message.reset(new std::string(std::move(text)));
    }

    Task *next = nullptr;
    uint32_t id = 0; /* in its stream, from 1 */
    aclError error = ACL_SUCCESS;
    std::unique_ptr<std::string> message;
    std::atomic<bool> cancelled{false};
    Stream *stream = nullptr;
    uint64_t thread = 0; /* pthread_self() of who enqueued it */

    Task() = default;
    /* Moving happens only before the task is shared. */
    Task(Task &&other) noexcept : thread(other.thread) {}
    Task &operator=(Task &&) = delete;
};

} // namespace acl_cpu
#endif
