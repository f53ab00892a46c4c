// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <mutex>
#include <new>

#include "event.h"
#include "hazard/hazard.h"
#include "host_function.h"
#include "launch_log.h"
#include "pool/device_pool.h"
#include "thread_state.h"

namespace ascend_cy {

namespace {

std::atomic<int64_t> live_own_streams{0};

std::atomic<Stream *> default_streams[max_devices];

// Streams whose last reference went where nobody could wait for their work.
std::mutex dropped_mutex;
Stream *dropped_streams = nullptr; // guarded by dropped_mutex
std::atomic<int> dropped_count{0};

void forget(Stream *stream) noexcept
{
    if (stream->kind == Stream::Kind::Own)
        live_own_streams.fetch_sub(1, std::memory_order_relaxed);
    delete_seats(stream);
    delete stream;
}

// Ends a stream nobody refers to. Waits for its work if it has any.
void destroy(Stream *stream) noexcept
{
    void (*const on_release)(void *) = stream->on_release;
    void *const context = stream->context;
    if (device_usable()) {
        QuietScope quiet; // there is nobody to tell
        DeviceScope scope(stream->device);
        leave_arenas(stream);
        if (stream->kind == Stream::Kind::Own) {
            unsubscribe_host_functions(stream);
            device_table.aclrtDestroyStream(stream->handle); // waits
            arenas_passed(stream);
        }
    }
    forget(stream);
    if (on_release != nullptr)
        on_release(context);
}

void push_dropped(Stream *stream) noexcept
{
    std::lock_guard<std::mutex> lock(dropped_mutex);
    stream->next_dropped = dropped_streams;
    dropped_streams = stream;
    dropped_count.fetch_add(1, std::memory_order_relaxed);
}

// True when the work queued at the time of the drop has passed; marks the stream if that has not been done.
bool dropped_is_idle(Stream *stream) noexcept
{
    if (stream->dropped_mark == nullptr) {
        DeviceScope scope(stream->device);
        if (scope.error() != ACL_SUCCESS)
            return false;
        if (stream_has_passed(stream))
            return true;
        if (mark_stream(stream->device, stream->handle, &stream->dropped_mark) != ACL_SUCCESS)
            return false;
    }
    if (!mark_passed(stream->dropped_mark))
        return false;
    give_event_back(stream->device, stream->dropped_mark);
    stream->dropped_mark = nullptr;
    return true;
}

int null_stream() noexcept { return fail(ACL_ERROR_INVALID_PARAM, "", "the stream is NULL"); }

} // namespace

bool try_retain_stream(Stream *stream) noexcept
{
    if (stream->kind == Stream::Kind::Default)
        return true;
    uint32_t count = stream->references.load(std::memory_order_relaxed);
    while (count != 0)
        if (stream->references.compare_exchange_weak(count, count + 1, std::memory_order_relaxed))
            return true;
    return false;
}

void drop_stream_when_idle(Stream *stream) noexcept
{
    if (!device_usable()) {
        destroy(stream); // nothing to wait for
        return;
    }
    if (stream->kind == Stream::Kind::Foreign) {
        // Its work is not waited for, except where its memory cannot be marked: not in a host function.
        if (thread_state.in_host_function && !may_leave_arenas(stream))
            push_dropped(stream);
        else
            destroy(stream);
        return;
    }
    if (thread_state.in_host_function) { // not the place for calls to the device
        push_dropped(stream);
        return;
    }
    QuietScope quiet;
    if (dropped_is_idle(stream))
        destroy(stream);
    else
        push_dropped(stream);
}

void drop_stream_later(Stream *stream) noexcept
{
    if (stream->kind == Stream::Kind::Default || stream->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (device_usable())
        push_dropped(stream);
    else
        destroy(stream);
}

void collect_dropped_streams() noexcept
{
    if (__builtin_expect(dropped_count.load(std::memory_order_relaxed) == 0, 1) || !device_usable() ||
        thread_state.in_host_function)
        return;
    Stream *candidates;
    {
        std::lock_guard<std::mutex> lock(dropped_mutex);
        candidates = dropped_streams;
        dropped_streams = nullptr;
        dropped_count.store(0, std::memory_order_relaxed);
    }
    QuietScope quiet;
    while (candidates != nullptr) {
        Stream *stream = candidates;
        candidates = stream->next_dropped;
        if (stream->kind == Stream::Kind::Foreign || dropped_is_idle(stream))
            destroy(stream);
        else
            push_dropped(stream);
    }
}

int fail_wait(int code, const char *function, int32_t device, aclrtStream stream) noexcept
{
    fail_call(code, function);
    switch (code) {
    case ACL_ERROR_RT_AICORE_TIMEOUT:
    case ACL_ERROR_RT_AICORE_EXCEPTION:
    case ACL_ERROR_RT_AICORE_TRAP_EXCEPTION:
    case ACL_ERROR_RT_AICPU_TIMEOUT:
    case ACL_ERROR_RT_AICPU_EXCEPTION:
    case ACL_ERROR_RT_VECTOR_CORE_TIMEOUT:
    case ACL_ERROR_RT_VECTOR_CORE_EXCEPTION:
    case ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION:
        add_launches_to_message(device, stream);
        break;
    default:
        break;
    }
    return code;
}

int64_t live_streams() noexcept { return live_own_streams.load(std::memory_order_relaxed); }

int usable(const Stream *stream) noexcept { return stream == nullptr ? null_stream() : ready(); }

int order_after(Stream *stream, Stream *other) noexcept
{
    if (stream == other || (stream->handle == other->handle && stream->device == other->device))
        return ACL_SUCCESS;
    aclrtEvent event = nullptr;
    {
        DeviceScope scope(other->device);
        if (scope.error() != ACL_SUCCESS)
            return scope.error();
        if (const int error = mark_stream(other->device, other->handle, &event))
            return error;
    }
    DeviceScope scope(stream->device);
    int error = scope.error();
    if (error == ACL_SUCCESS)
        error = ACY_CALL(aclrtStreamWaitEvent, stream->handle, event);
    give_event_back(other->device, event);
    return error;
}

bool stream_has_passed(aclrtStream handle) noexcept
{
    hazard::OwnQuestion asks;
    // A stream that reports a failure has nothing running, and reports it again; a call that failed does not.
    for (int attempt = 0; attempt < 2; ++attempt) {
        aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
        if (device_table.aclrtStreamQuery(handle, &status) == ACL_SUCCESS)
            return status == ACL_STREAM_STATUS_COMPLETE;
    }
    return true;
}

bool stream_is_idle(Stream *stream) noexcept
{
    hazard::OwnQuestion asks;
    DeviceScope scope(stream->device);
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    return scope.error() == ACL_SUCCESS && device_table.aclrtStreamQuery(stream->handle, &status) == ACL_SUCCESS &&
           status == ACL_STREAM_STATUS_COMPLETE;
}

int order_after_busy(Stream *stream, Stream *other) noexcept
{
    if (stream == other || (stream->handle == other->handle && stream->device == other->device))
        return ACL_SUCCESS;
    // A stream that failed is ordered by event: its error belongs to whoever waits for it, not here.
    if (!stream_is_idle(other))
        return order_after(stream, other);
    if (hazard::on())
        hazard::follows_idle(stream);
    return ACL_SUCCESS;
}

} // namespace ascend_cy

using namespace ascend_cy;

int ascend_cy_stream_create(int32_t device, uint32_t priority, uint32_t flags, ascend_cy_stream_t **out)
{
    *out = nullptr;
    if (const int error = ready())
        return error;
    collect_dropped_streams();
    if (const int error = check_device_id(device))
        return error;
    DeviceScope scope(device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    aclrtStream handle = nullptr;
    if (const int error = ACY_CALL(aclrtCreateStreamWithConfig, &handle, priority, flags))
        return error;
    auto *stream = new (std::nothrow) Stream(device, Stream::Kind::Own, handle, nullptr, nullptr);
    if (stream == nullptr) {
        device_table.aclrtDestroyStream(handle);
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    }
    live_own_streams.fetch_add(1, std::memory_order_relaxed);
    note_device_use(device);
    *out = stream;
    return ACL_SUCCESS;
}

int ascend_cy_stream_wrap(int32_t device, aclrtStream handle, void (*on_release)(void *), void *context,
                          ascend_cy_stream_t **out)
{
    *out = nullptr;
    if (const int error = ready())
        return error;
    if (handle == nullptr && on_release == nullptr) {
        *out = ascend_cy_default_stream(device);
        return *out != nullptr ? ACL_SUCCESS : ascend_cy_last_code();
    }
    if (const int error = check_device_id(device))
        return error;
    note_device_use(device);
    *out = new (std::nothrow) Stream(device, Stream::Kind::Foreign, handle, on_release, context);
    return *out != nullptr ? ACL_SUCCESS : fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
}

void ascend_cy_stream_retain(ascend_cy_stream_t *stream) { retain_stream(stream); }

void ascend_cy_stream_release(ascend_cy_stream_t *stream)
{
    if (stream == nullptr || stream->kind == Stream::Kind::Default)
        return;
    if (thread_state.in_host_function) {
        // The work to wait for may be this very function, or one that runs after it.
        release_stream_without_waiting(stream);
        return;
    }
    if (stream->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
        destroy(stream);
    collect_dropped_streams();
}

aclrtStream ascend_cy_stream_handle(const ascend_cy_stream_t *stream) { return stream->handle; }

int32_t ascend_cy_stream_device(const ascend_cy_stream_t *stream) { return stream->device; }

ascend_cy_stream_t *ascend_cy_default_stream(int32_t device)
{
    if (device >= 0 && device < max_devices)
        if (Stream *stream = default_streams[device].load(std::memory_order_acquire))
            return stream;
    if (ready() != ACL_SUCCESS || check_device_id(device) != ACL_SUCCESS)
        return nullptr;
    note_device_use(device);
    auto *made = new (std::nothrow) Stream(device, Stream::Kind::Default, nullptr, nullptr, nullptr);
    if (made == nullptr) {
        fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
        return nullptr;
    }
    Stream *there = nullptr;
    if (default_streams[device].compare_exchange_strong(there, made, std::memory_order_acq_rel))
        return made;
    delete made; // another thread was faster
    return there;
}

ascend_cy_stream_t *ascend_cy_current_stream(void)
{
    if (thread_state.stream != nullptr)
        return thread_state.stream;
    int32_t device = -1;
    if (ready() != ACL_SUCCESS || current_device(&device) != ACL_SUCCESS)
        return nullptr;
    return ascend_cy_default_stream(device);
}

int ascend_cy_set_current_stream(ascend_cy_stream_t *stream)
{
    if (stream != nullptr) {
        if (const int error = ready())
            return error;
        if (const int error = enter_stream(stream))
            return error;
        retain_stream(stream);
        watch_thread_exit();
    }
    Stream *const before = thread_state.stream;
    thread_state.stream = stream;
    if (before != nullptr)
        release_stream_without_waiting(before);
    return ACL_SUCCESS;
}

int ascend_cy_stream_enter(ascend_cy_stream_t *stream, aclrtContext *previous)
{
    *previous = nullptr;
    if (const int error = usable(stream))
        return error;
    DeviceScope scope(stream->device);
    *previous = scope.release();
    return scope.error();
}

void ascend_cy_stream_leave(aclrtContext previous)
{
    if (device_usable())
        go_back_to(previous);
}

int ascend_cy_stream_synchronize(ascend_cy_stream_t *stream, int32_t timeout_ms)
{
    if (const int error = usable(stream))
        return error;
    DeviceScope scope(stream->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    int code;
    const char *function;
    if (timeout_ms == 0 || (timeout_ms >= -1 && thread_state.in_host_function)) { // AscendCL has no such wait
        int done = 0;
        if (const int error = ascend_cy_stream_query(stream, &done))
            return error;
        constexpr const char *unfinished = "the stream has work that is not finished";
        return done              ? ACL_SUCCESS
               : timeout_ms == 0 ? fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "", "%s", unfinished)
                                 : refuse_to_wait(unfinished);
    }
    if (timeout_ms == -1) {
        code = device_table.aclrtSynchronizeStream(stream->handle);
        function = "aclrtSynchronizeStream";
    } else if (timeout_ms > 0) {
        code = device_table.aclrtSynchronizeStreamWithTimeout(stream->handle, timeout_ms);
        function = "aclrtSynchronizeStreamWithTimeout";
    } else {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "", "timeout_ms is %d; it is -1 (no limit) or not negative", timeout_ms);
    }
    return __builtin_expect(code == ACL_SUCCESS, 1) ? ACL_SUCCESS
                                                    : fail_wait(code, function, stream->device, stream->handle);
}

int ascend_cy_stream_query(ascend_cy_stream_t *stream, int *done)
{
    *done = 0;
    if (const int error = usable(stream))
        return error;
    DeviceScope scope(stream->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    const int code = device_table.aclrtStreamQuery(stream->handle, &status);
    if (code != ACL_SUCCESS)
        return fail_wait(code, "aclrtStreamQuery", stream->device, stream->handle);
    *done = status == ACL_STREAM_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

int ascend_cy_stream_wait_stream(ascend_cy_stream_t *stream, ascend_cy_stream_t *other)
{
    if (stream == nullptr || other == nullptr)
        return null_stream();
    if (const int error = ready())
        return error;
    return order_after(stream, other);
}

int ascend_cy_may_wait(const char *what)
{
    return __builtin_expect(thread_state.in_host_function, 0) ? refuse_to_wait(what) : ACL_SUCCESS;
}

int ascend_cy_stream_add_host_function(ascend_cy_stream_t *stream, void (*function)(void *), void *context)
{
    if (function == nullptr)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "", "the host function is NULL");
    if (const int error = usable(stream))
        return error;
    DeviceScope scope(stream->device);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    return enqueue_host_function(stream, function, context);
}
