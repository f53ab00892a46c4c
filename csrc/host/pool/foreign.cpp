// SPDX-License-Identifier: Apache-2.0
//
// Foreign memory goes back to its owner once every stream that used it has passed.
#include "foreign.h"

#include <mutex>
#include <new>

#include "../event.h"
#include "../host_function.h"
#include "../thread_state.h"

namespace ascend_cy {

namespace {

// One for the caller and one for every stream that is still busy; the last one hands the memory over.
struct Handover {
    std::atomic<int> left{1};
    void (*on_release)(void *);
    void *context;
};

void passed(void *context)
{
    auto *const handover = static_cast<Handover *>(context);
    if (handover->left.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    handover->on_release(handover->context);
    delete handover;
}

// A stream that a host function found busy, and could not enqueue another one on.
struct Late {
    Stream *stream;
    Handover *handover;
    Late *next;
};

std::mutex late_mutex;
Late *late = nullptr; // guarded by late_mutex
std::atomic<int> late_count{0};

void push_late(Late *one) noexcept
{
    std::lock_guard<std::mutex> lock(late_mutex);
    one->next = late;
    late = one;
    late_count.fetch_add(1, std::memory_order_relaxed);
}

// False where it would have to wait in a host function.
bool wait_for(Stream *stream, Handover *handover) noexcept
{
    DeviceScope scope(stream->device); // where it cannot be entered, the calls are refused at worst
    if (stream_has_passed(stream))
        return true;
    if (handover != nullptr) {
        handover->left.fetch_add(1, std::memory_order_relaxed);
        if (enqueue_host_function(stream, passed, handover) == ACL_SUCCESS)
            return true;
        if (thread_state.in_host_function)
            if (auto *const one = new (std::nothrow) Late{stream, handover, nullptr}) {
                retain_stream(stream);
                push_late(one);
                return true;
            }
        handover->left.fetch_sub(1, std::memory_order_relaxed);
    }
    // No host function can be had: the memory is not ours to leak, so this is the one place that waits.
    return wait_for_whole_stream(stream->handle);
}

} // namespace

void give_back_foreign(Stream *own, const Use *uses, void (*on_release)(void *), void *context) noexcept
{
    QuietScope quiet;
    auto *const handover = new (std::nothrow) Handover{{1}, on_release, context};
    bool safe = wait_for(own, handover);
    for (const Use *use = uses; use != nullptr; use = use->next)
        safe = wait_for(use->stream, handover) && safe;
    if (!safe)
        return; // a host function without memory for a note: never given back
    if (handover != nullptr)
        passed(handover);
    else
        on_release(context);
}

void collect_foreign() noexcept
{
    if (__builtin_expect(late_count.load(std::memory_order_relaxed) == 0, 1) || !device_usable() ||
        thread_state.in_host_function)
        return;
    Late *candidates;
    {
        std::lock_guard<std::mutex> lock(late_mutex);
        candidates = late;
        late = nullptr;
        late_count.store(0, std::memory_order_relaxed);
    }
    QuietScope quiet;
    while (Late *const one = candidates) {
        candidates = one->next;
        DeviceScope scope(one->stream->device);
        if (scope.error() != ACL_SUCCESS || !stream_has_passed(one->stream)) {
            push_late(one);
            continue;
        }
        passed(one->handover);
        release_stream_without_waiting(one->stream);
        delete one;
    }
}

} // namespace ascend_cy
