/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls from the device into user code: host functions, exception callbacks, report threads.
 */
#ifndef ASCENDCL_CPU_CALLBACKS_H
#define ASCENDCL_CPU_CALLBACKS_H

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "task.h"

namespace acl_cpu {

/* A thread that runs user code for one context, so that such code never occupies a worker. It starts with the first
 * call and ends, detached, when its context is gone and nothing is left. */
class HostThread : public std::enable_shared_from_this<HostThread> {
public:
    /* Runs `call` behind those before it. False if there is no thread and none can be started. */
    bool post(std::function<void()> call);
    void end();

private:
    void run();
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> calls_;
    bool running_ = false;
    bool ending_ = false;
};

/* The host thread of a context, made if need be. */
std::shared_ptr<HostThread> host_thread(Context &context);

extern std::atomic<uint32_t> g_exception_callbacks;
inline bool has_exception_callbacks()
{
    return g_exception_callbacks.load(std::memory_order_relaxed) != 0;
}
/* Runs the callbacks for a failed task on the context's host thread, which then concludes the task. False if that is
 * not possible; the caller concludes it then. */
bool run_exception_callbacks(Stream &stream, Task *task);
/* What exception callbacks may ask about a task that ran in the caller's thread and will be gone. */
Task *keep_failed_task(const Task &task);

/* ---- report.cpp ---- */

/* A stream is destroyed: its subscriptions end. */
void forget_report_stream(Stream &stream);
/* Whether a thread of the user runs the host functions of the stream (aclrtSubscribeHostFunc). */
bool has_host_function_thread(Stream &stream);
aclError submit_to_host_function_thread(Stream &stream, void (*function)(void *), void *argument);

} // namespace acl_cpu
#endif
