/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks that wait for something other streams, kernels or the host bring about: notifies, values in memory.
 */
#ifndef ASCENDCL_CPU_WAITING_H
#define ASCENDCL_CPU_WAITING_H

#include <algorithm>
#include <vector>

#include "errors.h"
#include "stream.h"
#include "timer.h"

namespace acl_cpu {

/* A waiting task is in the list of what it waits for, under that object's lock. Whoever takes it out of the list ends
 * it; derived classes say how. */
struct WaitingTask : Task {
    explicit WaitingTask(uint64_t limit_ns) : timeout_ns(limit_ns) {}
    WaitingTask(WaitingTask &&other) noexcept : Task(std::move(other)), timeout_ns(other.timeout_ns) {}

    uint64_t busy_ns() const override { return 0; }

    /* After the task entered the list, still under the lock. */
    void begin_timeout(Stream &on)
    {
        if (timeout_ns == 0) return;
        timer = Timer::instance().add(now_ns() + timeout_ns, [handle = on.handle(), task = id, what = name()] {
            end_current(handle, task, ACL_ERROR_RT_TASK_TIMEOUT, format("the %s took longer than its timeout", what));
        });
    }
    /* After it left the list. */
    void end_timeout()
    {
        if (timeout_ns != 0) Timer::instance().cancel(timer);
    }

    const uint64_t timeout_ns; /* 0: none */
    Timer::Id timer = 0;
};

/* Takes a task out of a list; false if somebody else did. */
template <class T> bool take_out(std::vector<T *> &list, T *task)
{
    auto found = std::find(list.begin(), list.end(), task);
    if (found == list.end()) return false;
    list.erase(found);
    return true;
}

/* Timeout of event waits that name none: aclrtSetOpWaitTimeout, in seconds. */
extern std::atomic<uint32_t> g_op_wait_timeout_s;

/* Ends the waits for values in memory that are satisfied by now; called after whatever wrote memory. */
extern std::atomic<uint32_t> g_value_waits;
void check_value_waits();

} // namespace acl_cpu
#endif
