// SPDX-License-Identifier: Apache-2.0
//
// CANN has aclrtLaunchHostFunc, with a thread of its own behind it, since 8.5.0. Before, callbacks run in a thread that
// the application provides: it subscribes to streams and processes what they report. That thread is here.
#include "host_function.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <pthread.h>
#include <system_error>
#include <thread>

#include "thread_state.h"

namespace ascend_cy {

namespace {

class ReportThread {
public:
    int subscribe(Stream *stream) noexcept;
    void unsubscribe(Stream *stream) noexcept;
    bool stop() noexcept;

private:
    void run(int32_t device) noexcept;

    // A stop is noticed after at most this long; a report wakes the thread at once.
    static constexpr int32_t poll_ms = 100;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool started_ = false;  // guarded by mutex_
    bool stopping_ = false; // guarded by mutex_
    bool ended_ = false;    // guarded by mutex_
    uint64_t id_ = 0;       // guarded by mutex_
    bool has_streams_ = false;
};

int ReportThread::subscribe(Stream *stream) noexcept
{
    std::unique_lock<std::mutex> lock(mutex_);
    if (stream->subscribed)
        return ACL_SUCCESS;
    if (!started_) {
        try {
            std::thread([this, device = stream->device] { run(device); }).detach();
        } catch (const std::system_error &error) {
            return fail(ACL_ERROR_BAD_ALLOC, "", "no thread for host functions: %s", error.what());
        }
        started_ = true;
        changed_.wait(lock, [this] { return id_ != 0; });
    }
    const int code = device_table.aclrtSubscribeReport(id_, stream->handle);
    // Somebody else serves this stream's callbacks (torch_npu does): ours run in their thread then.
    if (code != ACL_SUCCESS && code != ACL_ERROR_RT_STREAM_SUBSCRIBE)
        return fail_call(code, "aclrtSubscribeReport");
    stream->subscribed = code == ACL_SUCCESS;
    has_streams_ = has_streams_ || stream->subscribed;
    changed_.notify_all();
    return ACL_SUCCESS;
}

void ReportThread::unsubscribe(Stream *stream) noexcept
{
    if (!stream->subscribed)
        return;
    device_table.aclrtSynchronizeStream(stream->handle); // callbacks still queued need the subscription to run
    std::lock_guard<std::mutex> lock(mutex_);
    device_table.aclrtUnSubscribeReport(id_, stream->handle);
    stream->subscribed = false;
}

void ReportThread::run(int32_t device) noexcept
{
    device_table.aclrtSetDevice(device);
    std::unique_lock<std::mutex> lock(mutex_);
    id_ = static_cast<uint64_t>(pthread_self());
    changed_.notify_all();
    changed_.wait(lock, [this] { return has_streams_ || stopping_; }); // processing needs a subscription
    while (!stopping_) {
        lock.unlock();
        const int code = device_table.aclrtProcessReport(poll_ms);
        if (code != ACL_SUCCESS && code != ACL_ERROR_RT_REPORT_TIMEOUT) {
            device_table.aclGetRecentErrMsg(); // "not subscribed" while no stream is left is no news
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        lock.lock();
    }
    ended_ = true;
    changed_.notify_all();
}

bool ReportThread::stop() noexcept
{
    std::unique_lock<std::mutex> lock(mutex_);
    if (!started_)
        return true;
    stopping_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::milliseconds(3 * poll_ms), [this] { return ended_; });
}

ReportThread *the_report_thread() noexcept
{
    static ReportThread *const thread = new ReportThread; // outlives main(): its thread is never joined
    return thread;
}

struct HostCall {
    void (*function)(void *);
    void *context;
};

void run_host_call(void *context)
{
    const HostCall call = *static_cast<HostCall *>(context);
    delete static_cast<HostCall *>(context);
    const bool before = thread_state.in_host_function;
    thread_state.in_host_function = true;
    call.function(call.context);
    thread_state.in_host_function = before;
}

int launch(Stream *stream, HostCall *call) noexcept
{
    if (device_has[ASCEND_CY_ACL_INDEX_aclrtLaunchHostFunc])
        return ACY_CALL(aclrtLaunchHostFunc, stream->handle, run_host_call, call);
    if (const int error = the_report_thread()->subscribe(stream))
        return error;
    return ACY_CALL(aclrtLaunchCallback, run_host_call, call, ACL_CALLBACK_BLOCK, stream->handle);
}

} // namespace

int enqueue_host_function(Stream *stream, void (*function)(void *), void *context) noexcept
{
    auto *const call = new (std::nothrow) HostCall{function, context};
    if (call == nullptr)
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    const int error = launch(stream, call);
    if (error != ACL_SUCCESS)
        delete call;
    return error;
}

int refuse_to_wait(const char *unfinished) noexcept
{
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "", "%s, and a callback must not wait: it may be what is waited for", unfinished);
}

void unsubscribe_host_functions(Stream *stream) noexcept
{
    if (!device_has[ASCEND_CY_ACL_INDEX_aclrtLaunchHostFunc])
        the_report_thread()->unsubscribe(stream);
}

bool stop_host_function_thread() noexcept
{
    return device_has[ASCEND_CY_ACL_INDEX_aclrtLaunchHostFunc] || the_report_thread()->stop();
}

} // namespace ascend_cy
