// SPDX-License-Identifier: Apache-2.0
//
// Streams with shared ownership.
#ifndef ASCEND_CY_HOST_STREAM_H
#define ASCEND_CY_HOST_STREAM_H

#include <atomic>

#include "context.h"

namespace ascend_cy {
struct Seat;
}

struct ascend_cy_stream {
    enum class Kind : uint8_t {
        Own,     // made by us, destroyed by us
        Foreign, // somebody else's
        Default  // of a device; lives as long as the process and counts no references
    };

    std::atomic<uint32_t> references{1};
    const int32_t device;
    const Kind kind;
    const aclrtStream handle;
    void (*const on_release)(void *);
    void *const context;

    std::atomic<ascend_cy::Seat *> seats{nullptr}; // its place in each memory pool that it has had a buffer of; only grows
    bool subscribed = false;                       // to our host function thread; guarded by host_function.cpp
    ascend_cy_stream *next_dropped = nullptr;      // waiting for destruction; guarded by stream.cpp
    aclrtEvent dropped_mark = nullptr;             // passes when the work queued before the drop has passed

    ascend_cy_stream(int32_t device_, Kind kind_, aclrtStream handle_, void (*on_release_)(void *), void *context_)
        : device(device_), kind(kind_), handle(handle_), on_release(on_release_), context(context_)
    {
    }
};

namespace ascend_cy {

using Stream = ascend_cy_stream;

inline void retain_stream(Stream *stream) noexcept
{
    if (stream->kind != Stream::Kind::Default)
        stream->references.fetch_add(1, std::memory_order_relaxed);
}

// False if the last reference is gone already: somebody is taking the stream down.
bool try_retain_stream(Stream *stream) noexcept;

[[gnu::cold]] void drop_stream_when_idle(Stream *stream) noexcept;

// Gives one reference back without ever waiting: a stream with work left, or given up in a host function, is destroyed
// at a later call.
inline void release_stream_without_waiting(Stream *stream) noexcept
{
    if (stream->kind == Stream::Kind::Default)
        return;
    if (stream->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
        drop_stream_when_idle(stream);
}

// The same, and calls nothing of the device library: for the end of a thread.
void drop_stream_later(Stream *stream) noexcept;

// True when everything enqueued on the stream has passed and no failure waits to be read. Never waits.
bool stream_is_idle(Stream *stream) noexcept;

// True when everything enqueued on the stream has passed, with or without a failure. Its device must be current.
bool stream_has_passed(aclrtStream handle) noexcept;
inline bool stream_has_passed(const Stream *stream) noexcept { return stream_has_passed(stream->handle); }

// Destroys dropped streams whose work has passed. Never waits; cheap when there are none.
void collect_dropped_streams() noexcept;

// An error for NULL, and where the device cannot be used.
int usable(const Stream *stream) noexcept;

inline int enter_stream(const Stream *stream) noexcept { return enter_device(stream->device); }

// Code and message of a wait on `stream` that failed: names the launches before it if a kernel is to blame.
[[gnu::cold]] int fail_wait(int code, const char *function, int32_t device, aclrtStream stream) noexcept;

int64_t live_streams() noexcept;

// Later work of `stream` waits for what `other` has by now. Both must be alive.
int order_after(Stream *stream, Stream *other) noexcept;
// The same where `other` has work left; else there is nothing to wait for.
int order_after_busy(Stream *stream, Stream *other) noexcept;

} // namespace ascend_cy

#endif
