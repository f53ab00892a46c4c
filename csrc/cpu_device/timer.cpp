/* SPDX-License-Identifier: Apache-2.0 */
#include "timer.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>

#include "parking.h"

namespace acl_cpu {

Timer &Timer::instance()
{
    static Timer &timer = *new Timer;
    return timer;
}

Timer::Id Timer::add(uint64_t time, std::function<void()> action)
{
    std::lock_guard<std::mutex> hold(lock_);
    if (!running_) {
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        int error = pthread_create(
            &thread, nullptr,
            [](void *timer) -> void * {
                static_cast<Timer *>(timer)->run();
                return nullptr;
            },
            this);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (error != 0) return 0;
        pthread_detach(thread);
        pthread_setname_np(thread, "acl-timer");
        running_ = true;
    }
    Id id = next_++;
    bool soonest = actions_.empty() || time < actions_.begin()->first.first;
    actions_.emplace(std::make_pair(time, id), std::move(action));
    times_[id] = time;
    if (soonest) changed_.notify_one();
    return id;
}

void Timer::cancel(Id id)
{
    std::lock_guard<std::mutex> hold(lock_);
    auto found = times_.find(id);
    if (found == times_.end()) return;
    actions_.erase({found->second, id});
    times_.erase(found);
}

void Timer::run()
{
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
        if (actions_.empty()) {
            changed_.wait(hold);
            continue;
        }
        auto first = actions_.begin();
        uint64_t time = first->first.first;
        uint64_t now = now_ns();
        if (time > now) {
            changed_.wait_for(hold, std::chrono::nanoseconds(time - now));
            continue;
        }
        std::function<void()> action = std::move(first->second);
        times_.erase(first->first.second);
        actions_.erase(first);
        hold.unlock();
        action();
        hold.lock();
    }
}

} // namespace acl_cpu
