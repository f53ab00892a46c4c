/* SPDX-License-Identifier: Apache-2.0 */
#include "callbacks.h"

#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <vector>

#include "device.h"
#include "kernel.h"
#include "pool.h"
#include "stream.h"

namespace acl_cpu {

std::atomic<uint32_t> g_exception_callbacks{0};

/* ---- host threads ---- */

bool HostThread::post(std::function<void()> call)
{
    std::lock_guard<std::mutex> hold(lock_);
    if (!running_) {
        struct Start {
            std::shared_ptr<HostThread> self;
        };
        Start *start = new Start{shared_from_this()};
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        int error = pthread_create(
            &thread, &attributes,
            [](void *argument) -> void * {
                std::unique_ptr<Start> owned(static_cast<Start *>(argument));
                owned->self->run();
                return nullptr;
            },
            start);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        pthread_attr_destroy(&attributes);
        if (error != 0) {
            delete start;
            return false;
        }
        pthread_setname_np(thread, "acl-host-func");
        running_ = true;
    }
    calls_.push_back(std::move(call));
    changed_.notify_one();
    return true;
}

void HostThread::end()
{
    std::lock_guard<std::mutex> hold(lock_);
    ending_ = true;
    changed_.notify_one();
}

void HostThread::run()
{
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
        changed_.wait(hold, [this] { return !calls_.empty() || ending_; });
        if (calls_.empty()) {
            running_ = false;
            return;
        }
        std::function<void()> call = std::move(calls_.front());
        calls_.pop_front();
        hold.unlock();
        /* While the process exits no user code is begun. */
        if (!pool().stopping()) call();
        hold.lock();
    }
}

std::shared_ptr<HostThread> host_thread(Context &context)
{
    std::lock_guard<std::mutex> hold(context.lock);
    if (context.host_thread == nullptr) context.host_thread = std::make_shared<HostThread>();
    return context.host_thread;
}

namespace {

struct HostFunctionTask final : Task {
    HostFunctionTask(aclrtHostFunc function, void *argument) : function_(function), argument_(argument) {}
    const char *name() const override { return "host function"; }
    uint64_t busy_ns() const override { return 0; }

    Step start(Stream &on) override
    {
        Stream *where = &on;
        bool posted = host_thread(*on.context)->post([this, where] {
            if (!cancelled.load()) function_(argument_);
            where->finish_pending(this);
        });
        if (posted) return Step::Pending;
        set_error(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no thread could be started for host functions");
        return Step::Done;
    }

private:
    aclrtHostFunc function_;
    void *argument_;
};

/* ---- exceptions ---- */

/* What rtExceptionInfo points to here; callers only pass it back to the getters. */
struct ExceptionInfo {
    uint32_t task_id;
    uint32_t stream_id;
    uint32_t thread_id;
    uint32_t device_id;
    uint32_t code;
    const void *arguments;
    uint32_t arguments_size;
    void *function;
};

struct ExceptionCallbacks {
    std::mutex lock;
    aclrtExceptionInfoCallback single = nullptr; /* of aclrtSetExceptionInfoCallback */
    std::vector<aclrtExceptionInfoCallback> several;
    struct OfBinary {
        void *binary;
        aclrtOpExceptionCallback function;
        void *user_data;
    };
    std::vector<OfBinary> of_binaries;

    void count()
    {
        g_exception_callbacks.store(static_cast<uint32_t>((single != nullptr) + several.size() + of_binaries.size()));
    }
};
ExceptionCallbacks &exceptions = *new ExceptionCallbacks;

struct KeptTask final : Task {
    const char *name() const override { return "failed task"; }
    Step start(Stream &) override { return Step::Done; }
    void *function_handle() const override { return function; }
    const void *arguments(uint32_t *size) const override
    {
        *size = static_cast<uint32_t>(bytes.size());
        return bytes.data();
    }
    void *function = nullptr;
    std::string bytes;
};

void call_exception_callbacks(Stream &stream, const Task &task)
{
    ExceptionInfo info = {};
    info.task_id = task.id;
    info.stream_id = static_cast<uint32_t>(stream.id);
    info.thread_id = static_cast<uint32_t>(task.thread);
    info.device_id = static_cast<uint32_t>(stream.device->id);
    info.code = static_cast<uint32_t>(task.error);
    info.arguments = task.arguments(&info.arguments_size);
    info.function = task.function_handle();

    std::vector<aclrtExceptionInfoCallback> general;
    std::vector<ExceptionCallbacks::OfBinary> special;
    {
        std::lock_guard<std::mutex> hold(exceptions.lock);
        if (exceptions.single != nullptr) general.push_back(exceptions.single);
        general.insert(general.end(), exceptions.several.begin(), exceptions.several.end());
        for (const auto &entry : exceptions.of_binaries) {
            UseScope scope;
            if (info.function != nullptr && binary_of_function(info.function) == entry.binary) special.push_back(entry);
        }
    }
    aclrtExceptionInfo *opaque = reinterpret_cast<aclrtExceptionInfo *>(&info);
    for (aclrtExceptionInfoCallback callback : general) callback(opaque);
    for (const auto &entry : special) entry.function(opaque, entry.user_data);
}

} // namespace

bool run_exception_callbacks(Stream &stream, Task *task)
{
    Stream *where = &stream;
    return host_thread(*stream.context)->post([where, task] {
        call_exception_callbacks(*where, *task);
        if (where->conclude(task)) pool().schedule(*where);
    });
}

Task *keep_failed_task(const Task &task)
{
    KeptTask *kept = new KeptTask;
    kept->id = task.id;
    kept->error = task.error;
    kept->stream = task.stream;
    kept->thread = pthread_self();
    kept->function = task.function_handle();
    uint32_t size;
    const void *bytes = task.arguments(&size);
    if (bytes != nullptr) kept->bytes.assign(static_cast<const char *>(bytes), size);
    return kept;
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args)
{
    ACL_ENTRY();
    if (fn == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "fn is NULL");
    Stream *target;
    RETURN_IF_ERROR(find_stream(stream, &target));
    if (has_host_function_thread(*target)) return submit_to_host_function_thread(*target, fn, args);
    return submit(*target, HostFunctionTask(fn, args));
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback)
{
    ACL_ENTRY();
    std::lock_guard<std::mutex> hold(exceptions.lock);
    exceptions.single = callback;
    exceptions.count();
    return ACL_SUCCESS;
}

aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(callback);
    std::lock_guard<std::mutex> hold(exceptions.lock);
    for (aclrtExceptionInfoCallback known : exceptions.several) {
        if (known == callback) return fail(ACL_ERROR_RT_PARAM_INVALID, "callback is registered already");
    }
    exceptions.several.push_back(callback);
    exceptions.count();
    return ACL_SUCCESS;
}

aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(callback);
    std::lock_guard<std::mutex> hold(exceptions.lock);
    for (size_t i = 0; i < exceptions.several.size(); ++i) {
        if (exceptions.several[i] != callback) continue;
        exceptions.several.erase(exceptions.several.begin() + static_cast<std::ptrdiff_t>(i));
        exceptions.count();
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "callback is not registered");
}

aclError aclrtBinarySetExceptionCallback(aclrtBinHandle bin_handle, aclrtOpExceptionCallback callback, void *user_data)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(bin_handle);
    if (!is_binary(bin_handle)) return fail(ACL_ERROR_RT_INVALID_HANDLE, "bin_handle %p is no loaded binary", bin_handle);
    std::lock_guard<std::mutex> hold(exceptions.lock);
    auto &list = exceptions.of_binaries;
    for (size_t i = 0; i < list.size(); ++i) {
        if (list[i].binary != bin_handle) continue;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        break;
    }
    if (callback != nullptr) list.push_back({bin_handle, callback, user_data});
    exceptions.count();
    return ACL_SUCCESS;
}

namespace {
const ExceptionInfo *info_of(const aclrtExceptionInfo *opaque) { return reinterpret_cast<const ExceptionInfo *>(opaque); }
constexpr uint32_t no_answer = 0xFFFFFFFFu;
} // namespace

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info != nullptr ? info_of(info)->task_id : no_answer;
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info != nullptr ? info_of(info)->stream_id : no_answer;
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info != nullptr ? info_of(info)->thread_id : no_answer;
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info != nullptr ? info_of(info)->device_id : no_answer;
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info)
{
    return info != nullptr ? info_of(info)->code : no_answer;
}

aclError aclrtGetArgsFromExceptionInfo(const aclrtExceptionInfo *info, void **dev_args_ptr, uint32_t *dev_args_len)
{
    ACL_ENTRY();
    if (info == nullptr) return static_cast<aclError>(no_answer);
    REQUIRE_NOT_NULL(dev_args_ptr);
    REQUIRE_NOT_NULL(dev_args_len);
    *dev_args_ptr = const_cast<void *>(info_of(info)->arguments);
    *dev_args_len = info_of(info)->arguments_size;
    return ACL_SUCCESS;
}

aclError aclrtGetFuncHandleFromExceptionInfo(const aclrtExceptionInfo *info, aclrtFuncHandle *func)
{
    ACL_ENTRY();
    if (info == nullptr) return static_cast<aclError>(no_answer);
    REQUIRE_NOT_NULL(func);
    *func = info_of(info)->function;
    return ACL_SUCCESS;
}
