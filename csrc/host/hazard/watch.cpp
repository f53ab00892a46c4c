// SPDX-License-Identifier: Apache-2.0
//
// What stands in the function table in hazard mode, and what the pools tell.
#include "hazard.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "../context.h"
#include "../env.h"
#include "../event.h"
#include "ascend_cy/pool.h"
#include "kernels_of_ours.h"
#include "memory.h"

namespace ascend_cy::hazard {

Mode mode = Mode::Off;

namespace {

constexpr int hazard_code = ACL_ERROR_FAILURE;
constexpr size_t most_kept = 1000;

ascend_cy_acl_table real; // the device library's functions

// Everything below is guarded by the mutex; with it held nothing is called but the device's questions about a context.
struct State {
    std::mutex mutex;
    Order order;
    Memory memory{&order};
    std::map<int32_t, aclrtStream> defaults; // by device, the handle of NULL that was seen last
    std::vector<std::string> found; // grows to most_kept, so that texts stay where they are
    size_t count = 0;
};

State &state()
{
    static State *const made = [] {
        auto *const fresh = new State; // outlives everything: work may be enqueued while the process ends
        fresh->found.reserve(most_kept);
        return fresh;
    }();
    return *made;
}

using Lock = std::lock_guard<std::mutex>;

constexpr size_t most_names = 16;
constexpr int most_expected = 64;

struct ThreadNames {
    const char *names[most_names];
    size_t count;
    struct {
        Range range;
        bool written;
    } expected[most_expected];
    int expected_count;
    aclrtStream expected_stream;
};
thread_local ThreadNames thread;
thread_local int own_questions = 0;
thread_local Order::Clocks last_idle; // what had passed of the stream that an own question found idle

const char *current_name(const char *function)
{
    return thread.count > 0 ? thread.names[(thread.count < most_names ? thread.count : most_names) - 1] : function;
}

int32_t current_device() noexcept
{
    int32_t device = 0;
    return real.aclrtGetDevice(&device) == ACL_SUCCESS ? device : 0;
}

// NULL and the explicit handle of a default stream are one stream, also where the question for the handle fails once. With
// the lock.
aclrtStream handle_of(aclrtStream stream)
{
    if (stream != nullptr)
        return stream;
    const int32_t device = current_device();
    const auto stand_in = reinterpret_cast<aclrtStream>(static_cast<uintptr_t>(device) + 1);
    aclrtStream &known = state().defaults[device];
    aclrtStream handle = nullptr;
    if (device_has[ASCEND_CY_ACL_INDEX_aclrtCtxGetCurrentDefaultStream] &&
        real.aclrtCtxGetCurrentDefaultStream(&handle) == ACL_SUCCESS && handle != nullptr) {
        if (known == stand_in)
            state().order.rename(stand_in, handle);
        known = handle;
    } else if (known == nullptr) {
        known = stand_in;
    }
    return known;
}

uint32_t number_of(aclrtStream stream) { return state().order.stream(handle_of(stream), current_device()); }

Range range_of(const void *pointer, size_t bytes)
{
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    return {begin, begin + bytes};
}

// ---- reports ----

// With the lock.
void keep(const std::string &text)
{
    State &s = state();
    ++s.count;
    if (s.found.size() < most_kept)
        s.found.push_back(text);
    if (mode == Mode::Report)
        std::fprintf(stderr, "ascend_cy: memory hazard: %s\n", text.c_str());
}

// What becomes of a call that would be a hazard: its code.
int judge(const std::string &text, const char *function)
{
    keep(text);
    if (mode == Mode::Report)
        return ACL_SUCCESS;
    note_absent(hazard_code, function, ("memory hazard: " + text).c_str());
    return hazard_code;
}

struct Touch {
    Range range;
    Access access;
};

// Looks at what is about to be enqueued, enqueues it where it may be, and notes it where the device took it. It is
// announced before: of two threads that enqueue at the same moment, one sees the other.
template <typename Call>
int enqueue(const char *function, const char *what, const Touch *touches, size_t count, aclrtStream stream, Call call)
{
    State &s = state();
    Moment moment;
    {
        Lock lock(s.mutex);
        const uint32_t number = number_of(stream);
        for (size_t i = 0; i < count; ++i) {
            const std::string wrong = s.memory.look(touches[i].range, touches[i].access, number, what);
            if (wrong.empty())
                continue;
            if (const int code = judge(wrong, function))
                return code;
            break; // one report is enough of one call
        }
        moment = s.order.enqueue(number);
        for (size_t i = 0; i < count; ++i)
            s.memory.announce(touches[i].range, touches[i].access, moment, what);
    }
    const int code = call();
    Lock lock(s.mutex);
    for (size_t i = 0; i < count; ++i)
        s.memory.withdraw(touches[i].range, moment);
    for (size_t i = 0; i < count && code == ACL_SUCCESS; ++i)
        s.memory.note(touches[i].range, touches[i].access, moment, what);
    return code;
}

// Looks at what the host waits for.
int enter_now(const char *function, const Touch *touches, size_t count)
{
    State &s = state();
    Lock lock(s.mutex);
    for (size_t i = 0; i < count; ++i) {
        const std::string wrong = s.memory.look(touches[i].range, touches[i].access, host, current_name(function));
        if (!wrong.empty())
            return judge(wrong, function);
    }
    return ACL_SUCCESS;
}

// A wait that said something else than "time is up" or "no such thing" is over: the work has run, well or not.
bool over(int code)
{
    return code == ACL_SUCCESS || (code >= 500000 && code != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT &&
                                   code != ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
}

// ---- copies ----

aclError memcpy_async(void *dst, size_t room, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream)
{
    const Touch touches[] = {{range_of(src, count), Access::Read}, {range_of(dst, count), Access::Write}};
    return enqueue("aclrtMemcpyAsync", current_name("aclrtMemcpyAsync"), touches, 2, stream,
                   [=] { return real.aclrtMemcpyAsync(dst, room, src, count, kind, stream); });
}

// Of rows with gaps only the first: the gaps are others'.
size_t bytes_of_rows(size_t pitch, size_t width, size_t height) { return pitch == width ? width * height : width; }

aclError memcpy_2d_async(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         aclrtMemcpyKind kind, aclrtStream stream)
{
    const Touch touches[] = {{range_of(src, bytes_of_rows(spitch, width, height)), Access::Read},
                             {range_of(dst, bytes_of_rows(dpitch, width, height)), Access::Write}};
    return enqueue("aclrtMemcpy2dAsync", current_name("aclrtMemcpy2dAsync"), touches, 2, stream,
                   [=] { return real.aclrtMemcpy2dAsync(dst, dpitch, src, spitch, width, height, kind, stream); });
}

aclError memset_async(void *pointer, size_t room, int32_t value, size_t count, aclrtStream stream)
{
    const Touch touch = {range_of(pointer, count), Access::Write};
    return enqueue("aclrtMemsetAsync", current_name("aclrtMemsetAsync"), &touch, 1, stream,
                   [=] { return real.aclrtMemsetAsync(pointer, room, value, count, stream); });
}

aclError memcpy_now(void *dst, size_t room, const void *src, size_t count, aclrtMemcpyKind kind)
{
    const Touch touches[] = {{range_of(src, count), Access::Read}, {range_of(dst, count), Access::Write}};
    if (const int code = enter_now("aclrtMemcpy", touches, 2))
        return code;
    return real.aclrtMemcpy(dst, room, src, count, kind);
}

aclError memset_now(void *pointer, size_t room, int32_t value, size_t count)
{
    const Touch touch = {range_of(pointer, count), Access::Write};
    if (const int code = enter_now("aclrtMemset", &touch, 1))
        return code;
    return real.aclrtMemset(pointer, room, value, count);
}

// ---- launches ----

aclError launch(aclrtFuncHandle function, uint32_t blocks, aclrtStream stream, aclrtLaunchKernelCfg *config, void *args,
                size_t size, aclrtPlaceHolderInfo *places, size_t place_count)
{
    constexpr size_t most_touches = 64;
    Touch touches[most_touches];
    size_t count = 0;
    const char *const name = current_name("aclrtLaunchKernelWithHostArgs");
    {
        State &s = state();
        Lock lock(s.mutex);
        for (size_t slot = 0; (slot + 1) * 8 <= size && count < most_touches; ++slot) {
            uint64_t value = 0;
            std::memcpy(&value, static_cast<const char *>(args) + slot * 8, 8);
            const Range range = {static_cast<uintptr_t>(value), static_cast<uintptr_t>(value) + 1};
            if (value == 0 || value == UINT64_MAX || !s.memory.known(range.begin))
                continue;
            Access access = access_of_slot(name, size, slot);
            if (access == Access::Unknown && thread.expected_count > 0 && thread.expected_stream == stream)
                for (int i = 0; i < thread.expected_count; ++i)
                    if (thread.expected[i].range.holds(range) && access != Access::Write)
                        access = thread.expected[i].written ? Access::Write : Access::Read;
            touches[count++] = {range, access};
        }
    }
    return enqueue("aclrtLaunchKernelWithHostArgs", name, touches, count, stream, [=] {
        return real.aclrtLaunchKernelWithHostArgs(function, blocks, stream, config, args, size, places, place_count);
    });
}

// ---- host functions: when one runs, what was enqueued before it has passed ----

struct HostCall {
    void (*function)(void *);
    void *context;
    Order::Clocks before;
};

void run_host_call(void *context)
{
    const std::unique_ptr<HostCall> call(static_cast<HostCall *>(context));
    {
        State &s = state();
        Lock lock(s.mutex);
        s.order.have_passed(call->before);
    }
    call->function(call->context);
}

HostCall *host_call(void (*function)(void *), void *context, aclrtStream stream)
{
    State &s = state();
    Lock lock(s.mutex);
    const uint32_t number = number_of(stream);
    s.order.enqueue(number);
    return new HostCall{function, context, s.order.before(number)};
}

aclError launch_host_func(aclrtStream stream, aclrtHostFunc function, void *context)
{
    HostCall *const call = host_call(function, context, stream);
    const int code = real.aclrtLaunchHostFunc(stream, run_host_call, call);
    if (code != ACL_SUCCESS)
        delete call;
    return code;
}

aclError launch_callback(aclrtCallback function, void *context, aclrtCallbackBlockType type, aclrtStream stream)
{
    HostCall *const call = host_call(function, context, stream);
    const int code = real.aclrtLaunchCallback(run_host_call, call, type, stream);
    if (code != ACL_SUCCESS)
        delete call;
    return code;
}

// ---- order ----

// What the device refuses orders nothing.
aclError record_event(aclrtEvent event, aclrtStream stream)
{
    State &s = state();
    Order::Clocks before;
    {
        Lock lock(s.mutex);
        before = s.order.record(number_of(stream));
    }
    const int code = real.aclrtRecordEvent(event, stream);
    if (code == ACL_SUCCESS) {
        Lock lock(s.mutex);
        s.order.recorded(event, std::move(before));
    }
    return code;
}

int after_wait(int code, aclrtStream stream, aclrtEvent event)
{
    if (code == ACL_SUCCESS) {
        State &s = state();
        Lock lock(s.mutex);
        s.order.wait(number_of(stream), event);
    }
    return code;
}

aclError wait_event(aclrtStream stream, aclrtEvent event)
{
    return after_wait(real.aclrtStreamWaitEvent(stream, event), stream, event);
}

aclError wait_event_for(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
    return after_wait(real.aclrtStreamWaitEventWithTimeout(stream, event, timeout), stream, event);
}

// What was enqueued before a wait began has passed when it is over; what others enqueued meanwhile may not have.
template <typename Wait> int wait_for(const Order::Clocks &before, Wait wait)
{
    const int code = wait();
    if (over(code)) {
        State &s = state();
        Lock lock(s.mutex);
        s.order.have_passed(before);
    }
    return code;
}

Order::Clocks before_stream(aclrtStream stream)
{
    State &s = state();
    Lock lock(s.mutex);
    const uint32_t number = number_of(stream);
    s.order.enqueue(number); // what comes later is other work
    return s.order.before(number);
}

Order::Clocks before_device()
{
    State &s = state();
    Lock lock(s.mutex);
    return s.order.before_all(current_device());
}

aclError synchronize_stream(aclrtStream stream)
{
    return wait_for(before_stream(stream), [=] { return real.aclrtSynchronizeStream(stream); });
}

aclError synchronize_stream_for(aclrtStream stream, int32_t timeout)
{
    return wait_for(before_stream(stream), [=] { return real.aclrtSynchronizeStreamWithTimeout(stream, timeout); });
}

aclError synchronize_device()
{
    return wait_for(before_device(), [] { return real.aclrtSynchronizeDevice(); });
}

aclError synchronize_device_for(int32_t timeout)
{
    return wait_for(before_device(), [=] { return real.aclrtSynchronizeDeviceWithTimeout(timeout); });
}

aclError query_stream(aclrtStream stream, aclrtStreamStatus *status)
{
    const Order::Clocks before = before_stream(stream);
    const int code = real.aclrtStreamQuery(stream, status);
    if (code == ACL_SUCCESS ? *status == ACL_STREAM_STATUS_COMPLETE : over(code)) {
        State &s = state();
        Lock lock(s.mutex);
        if (own_questions == 0) {
            s.order.have_passed(before);
        } else {
            s.order.are_known_to_have_passed(before);
            last_idle = before;
        }
    }
    return code;
}

void passed(aclrtEvent event)
{
    State &s = state();
    Lock lock(s.mutex);
    if (own_questions == 0)
        s.order.event_passed(event);
    else
        s.order.event_known_to_have_passed(event);
}

aclError synchronize_event(aclrtEvent event)
{
    const int code = real.aclrtSynchronizeEvent(event);
    if (over(code))
        passed(event);
    return code;
}

aclError synchronize_event_for(aclrtEvent event, int32_t timeout)
{
    const int code = real.aclrtSynchronizeEventWithTimeout(event, timeout);
    if (over(code))
        passed(event);
    return code;
}

aclError query_event_status(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    const int code = real.aclrtQueryEventStatus(event, status);
    if (code == ACL_SUCCESS && *status == ACL_EVENT_RECORDED_STATUS_COMPLETE)
        passed(event);
    return code;
}

aclError query_event(aclrtEvent event, aclrtEventStatus *status)
{
    const int code = real.aclrtQueryEvent(event, status);
    if (code == ACL_SUCCESS && *status == ACL_EVENT_STATUS_COMPLETE)
        passed(event);
    return code;
}

aclError destroy_event(aclrtEvent event)
{
    {
        State &s = state();
        Lock lock(s.mutex);
        s.order.forget_event(event);
    }
    return real.aclrtDestroyEvent(event);
}

// Its number may be taken for another stream only when the handle is gone, and the handle may be so at once.
template <typename Destroy> int end_stream(aclrtStream stream, Destroy destroy)
{
    const Order::Clocks before = before_stream(stream);
    State &s = state();
    if (real.aclrtSynchronizeStream(stream) != ACL_SUCCESS)
        real.aclGetRecentErrMsg(); // destroying says what there is to say
    {
        Lock lock(s.mutex);
        s.order.have_passed(before);
        s.order.stream_ends(stream);
    }
    return destroy(stream);
}

aclError destroy_stream(aclrtStream stream) { return end_stream(stream, real.aclrtDestroyStream); }

aclError force_stream(aclrtStream stream)
{
    {
        State &s = state();
        Lock lock(s.mutex);
        s.order.stream_ends(stream);
    }
    return real.aclrtDestroyStreamForce(stream);
}

} // namespace

std::string start()
{
    const std::string text = env_text("ASCEND_CY_POOL_HAZARD");
    if (text.empty() || text == "0")
        return "";
    if (text != "1" && text != "raise" && text != "report")
        return "ASCEND_CY_POOL_HAZARD is \"" + text + "\"; allowed are 0, 1 (or raise) and report";
    mode = text == "report" ? Mode::Report : Mode::Raise;
    real = device_table;
    const auto put = [](auto *entry, auto function, int index) {
        if (device_has[index])
            *entry = function;
    };
#define PUT(name, function) put(&device_table.name, function, ASCEND_CY_ACL_INDEX_##name)
    PUT(aclrtMemcpyAsync, memcpy_async);
    PUT(aclrtMemcpy2dAsync, memcpy_2d_async);
    PUT(aclrtMemsetAsync, memset_async);
    PUT(aclrtMemcpy, memcpy_now);
    PUT(aclrtMemset, memset_now);
    PUT(aclrtLaunchKernelWithHostArgs, launch);
    PUT(aclrtLaunchHostFunc, launch_host_func);
    PUT(aclrtLaunchCallback, launch_callback);
    PUT(aclrtRecordEvent, record_event);
    PUT(aclrtStreamWaitEvent, wait_event);
    PUT(aclrtStreamWaitEventWithTimeout, wait_event_for);
    PUT(aclrtSynchronizeStream, synchronize_stream);
    PUT(aclrtSynchronizeStreamWithTimeout, synchronize_stream_for);
    PUT(aclrtStreamQuery, query_stream);
    PUT(aclrtSynchronizeDevice, synchronize_device);
    PUT(aclrtSynchronizeDeviceWithTimeout, synchronize_device_for);
    PUT(aclrtSynchronizeEvent, synchronize_event);
    PUT(aclrtSynchronizeEventWithTimeout, synchronize_event_for);
    PUT(aclrtQueryEventStatus, query_event_status);
    PUT(aclrtQueryEvent, query_event);
    PUT(aclrtDestroyEvent, destroy_event);
    PUT(aclrtDestroyStream, destroy_stream);
    PUT(aclrtDestroyStreamForce, force_stream);
#undef PUT
    return "";
}

// ---- what the pools tell ----

void segment_came(const void *pointer, size_t bytes) noexcept
{
    State &s = state();
    Lock lock(s.mutex);
    s.memory.segment_came(range_of(pointer, bytes));
}

void segment_goes(const void *pointer) noexcept
{
    State &s = state();
    Lock lock(s.mutex);
    s.memory.segment_goes(reinterpret_cast<uintptr_t>(pointer));
}

namespace {

// With the lock. Other than for calls of AscendCL no device needs to be current.
uint32_t number_of_box(const Stream *stream)
{
    const aclrtStream handle = stream->handle;
    if (handle != nullptr)
        return state().order.stream(handle, stream->device);
    DeviceScope scope(stream->device);
    return state().order.stream(handle_of(nullptr), stream->device);
}

// NaN to every type of float, -1 to integers. Behind what the block's stream has, so that nobody who is in order sees it.
void poison(const Block *block) noexcept
{
    constexpr int32_t value = 0xFF;
    QuietScope quiet;
    DeviceScope scope(block->stream->device);
    if (scope.error() == ACL_SUCCESS)
        check(real.aclrtMemsetAsync(block->pointer, block->bytes, value, block->bytes, block->stream->handle),
              "aclrtMemsetAsync");
}

} // namespace

void block_used(const Block *block) noexcept
{
    State &s = state();
    bool clean = false;
    {
        Lock lock(s.mutex);
        clean = s.memory.block_used(range_of(block->pointer, block->bytes), s.order.name(number_of_box(block->stream)));
    }
    if (clean)
        poison(block);
}

void block_freed(const Block *block) noexcept
{
    State &s = state();
    const Range range = range_of(block->pointer, block->bytes);
    const bool alone = block->uses == nullptr;
    {
        Lock lock(s.mutex);
        std::set<uint32_t> recorded;
        for (const Use *use = block->uses; use != nullptr; use = use->next)
            recorded.insert(number_of_box(use->stream));
        const std::string wrong = s.memory.block_freed(range, number_of_box(block->stream), recorded);
        if (!wrong.empty()) {
            keep(wrong);
            if (mode != Mode::Report) // nothing that frees can fail
                std::fprintf(stderr, "ascend_cy: memory hazard: %s\n", wrong.c_str());
        }
    }
    if (alone) // else when it is given out again: its stream is not behind what others do with it
        poison(block);
}

void expect(const Block *const *buffers, int reads, int count, aclrtStream stream) noexcept
{
    thread.expected_count = 0;
    thread.expected_stream = stream;
    for (int i = 0; i < count; ++i)
        if (buffers[i] != nullptr && thread.expected_count < most_expected) {
            const Block *const buffer = buffers[i];
            thread.expected[thread.expected_count++] = {range_of(buffer->pointer, buffer->bytes > 0 ? buffer->bytes : buffer->size),
                                                        i >= reads};
        }
}

void OwnQuestion::begin() noexcept { ++own_questions; }

void OwnQuestion::end() noexcept { --own_questions; }

void follows_idle(const Stream *stream) noexcept
{
    State &s = state();
    Lock lock(s.mutex);
    s.order.follows(number_of_box(stream), last_idle);
}

void use_forgotten(const Block *block, const Stream *stream) noexcept
{
    State &s = state();
    Lock lock(s.mutex);
    s.memory.forget_passed(range_of(block->pointer, block->bytes), number_of_box(stream));
}

void push_name(const char *name) noexcept
{
    if (thread.count < most_names)
        thread.names[thread.count] = name;
    ++thread.count;
}

void pop_name() noexcept
{
    if (thread.count > 0)
        --thread.count;
}

} // namespace ascend_cy::hazard

using namespace ascend_cy;

int ascend_cy_pool_hazard_mode(void)
{
    loaded_device(); // where the mode is decided
    return static_cast<int>(hazard::mode);
}

size_t ascend_cy_pool_hazards(void)
{
    if (!hazard::on())
        return 0;
    hazard::State &s = hazard::state();
    hazard::Lock lock(s.mutex);
    return s.count;
}

const char *ascend_cy_pool_hazard(size_t index)
{
    if (!hazard::on())
        return nullptr;
    hazard::State &s = hazard::state();
    hazard::Lock lock(s.mutex);
    return index < s.found.size() ? s.found[index].c_str() : nullptr;
}
