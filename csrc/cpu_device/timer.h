/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread for things that happen at a time: timeouts of waits, ends of copies on emulated links. It starts with the
 * first of them and sleeps while there is none.
 */
#ifndef ASCENDCL_CPU_TIMER_H
#define ASCENDCL_CPU_TIMER_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace acl_cpu {

class Timer {
public:
    using Id = uint64_t;
    static Timer &instance();

    /* Calls `action` at `time` (of now_ns()) on the timer's thread. It must not block. 0 if there is no thread. */
    Id add(uint64_t time, std::function<void()> action);
    /* Forgets an action that has not begun. One that has goes on, and must find out itself that it came too late. */
    void cancel(Id id);

private:
    void run();
    std::mutex lock_;
    std::condition_variable changed_;
    std::map<std::pair<uint64_t, Id>, std::function<void()>> actions_;
    std::map<Id, uint64_t> times_;
    Id next_ = 1;
    bool running_ = false;
};

} // namespace acl_cpu
#endif
