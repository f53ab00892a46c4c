/* SPDX-License-Identifier: Apache-2.0
 *
 * Callbacks that the user's own threads run: aclrtSubscribeReport, aclrtLaunchCallback, aclrtProcessReport, and the
 * same for host functions.
 */
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "callbacks.h"
#include "device.h"
#include "pool.h"
#include "stream.h"

namespace acl_cpu {
namespace {

struct Call {
    void (*function)(void *);
    void *argument;
    Task *task; /* whose end waits for the call, or nullptr */
};

/* What waits for one thread. */
struct Inbox {
    std::condition_variable arrived;
    std::deque<Call> calls;
    std::set<void *> streams; /* handles */
};

/* One exchange for reports, one for host functions. */
class Exchange {
public:
    aclError subscribe(uint64_t thread, Stream &stream)
    {
        std::lock_guard<std::mutex> hold(lock_);
        RETURN_IF_ERROR(refuse_closed(stream));
        void *handle = stream.handle();
        if (by_stream_.count(handle) != 0) {
            return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %d is subscribed already", stream.id);
        }
        by_stream_[handle] = thread;
        std::shared_ptr<Inbox> &inbox = inboxes_[thread];
        if (inbox == nullptr) inbox = std::make_shared<Inbox>();
        inbox->streams.insert(handle);
        subscriptions_.store(by_stream_.size(), std::memory_order_relaxed);
        return ACL_SUCCESS;
    }

    aclError unsubscribe(uint64_t thread, Stream &stream)
    {
        std::lock_guard<std::mutex> hold(lock_);
        auto found = by_stream_.find(stream.handle());
        if (found == by_stream_.end()) return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream %d is not subscribed", stream.id);
        if (found->second != thread) {
            return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "stream %d is subscribed by another thread than %llu", stream.id,
                        static_cast<unsigned long long>(thread));
        }
        remove(found);
        return ACL_SUCCESS;
    }

    void forget(Stream &stream)
    {
        std::lock_guard<std::mutex> hold(lock_);
        auto found = by_stream_.find(stream.handle());
        if (found != by_stream_.end()) remove(found);
    }

    bool has(Stream &stream)
    {
        if (subscriptions_.load(std::memory_order_relaxed) == 0) return false;
        std::lock_guard<std::mutex> hold(lock_);
        return by_stream_.count(stream.handle()) != 0;
    }

    /* False where the stream is not subscribed (any more). */
    bool post(Stream &stream, const Call &call)
    {
        std::lock_guard<std::mutex> hold(lock_);
        auto found = by_stream_.find(stream.handle());
        if (found == by_stream_.end()) return false;
        Inbox &inbox = *inboxes_[found->second];
        inbox.calls.push_back(call);
        inbox.arrived.notify_one();
        return true;
    }

    /* Takes a call out that nobody has begun. */
    bool withdraw(const Task *task)
    {
        std::lock_guard<std::mutex> hold(lock_);
        for (auto &entry : inboxes_) {
            auto &calls = entry.second->calls;
            for (size_t i = 0; i < calls.size(); ++i) {
                if (calls[i].task != task) continue;
                calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(i));
                return true;
            }
        }
        return false;
    }

    aclError process(int32_t timeout)
    {
        REQUIRE(timeout == -1 || timeout > 0, "timeout is %d, it must be positive or -1 (no limit)", timeout);
        std::shared_ptr<Inbox> inbox;
        std::deque<Call> calls;
        {
            std::unique_lock<std::mutex> hold(lock_);
            auto found = inboxes_.find(static_cast<uint64_t>(pthread_self()));
            if (found == inboxes_.end()) return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "no stream is subscribed for this thread");
            inbox = found->second;
            auto arrived = [&] { return !inbox->calls.empty(); };
            if (timeout < 0) inbox->arrived.wait(hold, arrived);
            else inbox->arrived.wait_for(hold, std::chrono::milliseconds(timeout), arrived);
            calls.swap(inbox->calls);
        }
        if (calls.empty()) return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "no callback arrived within %d ms", timeout);
        for (const Call &call : calls) {
            call.function(call.argument);
            if (call.task != nullptr) call.task->stream->finish_pending(call.task);
        }
        return ACL_SUCCESS;
    }

private:
    void remove(std::map<void *, uint64_t>::iterator entry)
    {
        auto inbox = inboxes_.find(entry->second);
        inbox->second->streams.erase(entry->first);
        /* Calls that arrived are still run; an inbox without streams and calls goes. */
        if (inbox->second->streams.empty() && inbox->second->calls.empty()) inboxes_.erase(inbox);
        by_stream_.erase(entry);
        subscriptions_.store(by_stream_.size(), std::memory_order_relaxed);
    }

    std::mutex lock_;
    std::map<void *, uint64_t> by_stream_;
    std::map<uint64_t, std::shared_ptr<Inbox>> inboxes_;
    std::atomic<size_t> subscriptions_{0};
};

Exchange &reports = *new Exchange;
Exchange &host_functions = *new Exchange;

struct ReportTask final : Task {
    ReportTask(Exchange *through, void (*function)(void *), void *argument, bool blocks)
        : exchange(through), call{function, argument, nullptr}, blocking(blocks)
    {
    }
    ReportTask(ReportTask &&other) noexcept
        : Task(std::move(other)), exchange(other.exchange), call(other.call), blocking(other.blocking)
    {
    }

    const char *name() const override { return "callback"; }
    /* The subscription is one of the stream it is enqueued on, not of the one that executes a model. */
    bool can_be_recorded() const override { return false; }
    uint64_t busy_ns() const override { return 0; }

    Step start(Stream &on) override
    {
        if (cancelled.load()) return Step::Done;
        if (blocking) call.task = this;
        bool waits = blocking; /* after the call is posted this object may be gone */
        if (exchange->post(on, call)) return waits ? Step::Pending : Step::Done;
        set_error(ACL_ERROR_RT_STREAM_NO_CB_REG, "the stream's subscription ended before its callback");
        return Step::Done;
    }

    bool withdraw() override { return exchange->withdraw(this); }

    Exchange *const exchange;
    Call call;
    const bool blocking;
};

} // namespace

void forget_report_stream(Stream &stream)
{
    reports.forget(stream);
    host_functions.forget(stream);
}

bool has_host_function_thread(Stream &stream) { return host_functions.has(stream); }

aclError submit_to_host_function_thread(Stream &stream, void (*function)(void *), void *argument)
{
    return submit(stream, ReportTask(&host_functions, function, argument, true));
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtSubscribeReport(uint64_t thread_id, aclrtStream stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return reports.subscribe(thread_id, *target);
}

aclError aclrtUnSubscribeReport(uint64_t thread_id, aclrtStream stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    return reports.unsubscribe(thread_id, *target);
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *user_data, aclrtCallbackBlockType block_type, aclrtStream stream)
{
    ACL_ENTRY();
    if (fn == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "fn is NULL");
    REQUIRE(block_type == ACL_CALLBACK_NO_BLOCK || block_type == ACL_CALLBACK_BLOCK,
            "block_type is %d, not ACL_CALLBACK_NO_BLOCK (0) or ACL_CALLBACK_BLOCK (1)", static_cast<int>(block_type));
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (!reports.has(*target)) {
        return fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "stream %d is not subscribed: call aclrtSubscribeReport first", target->id);
    }
    return submit(*target, ReportTask(&reports, fn, user_data, block_type == ACL_CALLBACK_BLOCK));
}

aclError aclrtProcessReport(int32_t timeout)
{
    ACL_ENTRY();
    return reports.process(timeout);
}

aclError aclrtSubscribeHostFunc(uint64_t host_func_thread_id, aclrtStream exe_stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_stream(exe_stream, &target));
    return host_functions.subscribe(host_func_thread_id, *target);
}

aclError aclrtUnSubscribeHostFunc(uint64_t host_func_thread_id, aclrtStream exe_stream)
{
    ACL_ENTRY();
    Stream *target;
    RETURN_IF_ERROR(find_stream(exe_stream, &target));
    return host_functions.unsubscribe(host_func_thread_id, *target);
}

aclError aclrtProcessHostFunc(int32_t timeout)
{
    ACL_ENTRY();
    return host_functions.process(timeout);
}
