// SPDX-License-Identifier: Apache-2.0
//
// The functions of pool.h that are about buffers, and the figures of default pools.
#include <cstring>
#include <mutex>

#include "../event.h"
#include "../hazard/hazard.h"
#include "device_pool.h"
#include "foreign.h"
#include "pinned_pool.h"

namespace ascend_cy {

namespace {

int null_argument(const char *what) noexcept { return fail(ACL_ERROR_INVALID_PARAM, "", "the %s is NULL", what); }

} // namespace

} // namespace ascend_cy

using namespace ascend_cy;

namespace {

// The pool a call is about; device -1 is the calling thread's.
int find_pool(int32_t device, DevicePool **pool) noexcept
{
    if (const int error = ready())
        return error;
    if (device == -1)
        if (const int error = current_device(&device))
            return error;
    *pool = pool_of_device(device);
    return *pool != nullptr ? ACL_SUCCESS : ascend_cy_last_code();
}

} // namespace

int ascend_cy_buffer_create(size_t size, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out)
{
    return ascend_cy_buffer_create_within(size, stream, -1, out);
}

int ascend_cy_buffer_create_within(size_t size, ascend_cy_stream_t *stream, int32_t timeout_ms, ascend_cy_buffer_t **out)
{
    *out = nullptr;
    if (stream == nullptr)
        return null_argument("stream");
    if (const int error = ready())
        return error;
    DevicePool *pool = current_pool(stream->device);
    if (__builtin_expect(pool == nullptr, 0))
        if (const int error = find_pool(stream->device, &pool))
            return error;
    return pool->create(size, stream, Deadline(timeout_ms), out);
}

int ascend_cy_buffer_try_create(size_t size, ascend_cy_stream_t *stream, ascend_cy_buffer_t **out)
{
    *out = nullptr;
    if (stream == nullptr || !device_usable())
        return 0;
    DevicePool *const pool = current_pool(stream->device);
    return pool != nullptr && pool->try_create(size, stream, out);
}

int ascend_cy_buffer_wrap(void *pointer, size_t size, ascend_cy_stream_t *stream, void (*on_release)(void *),
                          void *context, ascend_cy_buffer_t **out)
{
    *out = nullptr;
    if (stream == nullptr)
        return null_argument("stream");
    DevicePool *pool = nullptr;
    if (const int error = find_pool(stream->device, &pool))
        return error;
    return pool->wrap(pointer, size, stream, on_release, context, out);
}

void ascend_cy_buffer_retain(ascend_cy_buffer_t *buffer)
{
    buffer->references.fetch_add(1, std::memory_order_relaxed);
}

int ascend_cy_buffer_is_shared(const ascend_cy_buffer_t *buffer)
{
    return __atomic_load_n(&buffer->uses, __ATOMIC_ACQUIRE) != nullptr || buffer->special != 0;
}

uint32_t ascend_cy_buffer_owners(const ascend_cy_buffer_t *buffer)
{
    return buffer->references.load(std::memory_order_acquire);
}

int ascend_cy_buffer_take_back(ascend_cy_buffer_t *buffer)
{
    // Who has the only reference keeps others from getting one meanwhile.
    if ((buffer->special & block_is_foreign) == 0 || buffer->references.load(std::memory_order_acquire) != 1 ||
        __atomic_load_n(&buffer->uses, __ATOMIC_ACQUIRE) != nullptr)
        return 0;
    void (*const on_release)(void *) = buffer->on_release;
    buffer->on_release = nullptr;
    if (on_release != nullptr)
        on_release(buffer->context);
    return 1;
}

void ascend_cy_buffer_release(ascend_cy_buffer_t *buffer)
{
    if (buffer == nullptr)
        return;
    // The only reference needs no atomic write: nobody else can have one to copy.
    if (buffer->references.load(std::memory_order_acquire) != 1 &&
        buffer->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (__builtin_expect(device_usable(), 1)) {
        buffer->pool->release(buffer);
        return;
    }
    // The process ends, or this is a forked child where the pool's lock may never open: let the memory be.
    Stream *const stream = buffer->stream;
    if (buffer->on_release != nullptr)
        buffer->on_release(buffer->context);
    release_stream_without_waiting(stream);
}

void *ascend_cy_buffer_pointer(const ascend_cy_buffer_t *buffer) { return buffer->pointer; }

size_t ascend_cy_buffer_size(const ascend_cy_buffer_t *buffer) { return buffer->size; }

ascend_cy_stream_t *ascend_cy_buffer_stream(const ascend_cy_buffer_t *buffer) { return buffer->stream; }

int ascend_cy_buffer_record_stream(ascend_cy_buffer_t *buffer, ascend_cy_stream_t *stream)
{
    if (buffer == nullptr || stream == nullptr)
        return null_argument(buffer == nullptr ? "buffer" : "stream");
    if (const int error = ready())
        return error;
    return buffer->pool->record(buffer, stream, true); // nothing is known: it may have written
}

int ascend_cy_buffer_order(ascend_cy_buffer_t *buffer, ascend_cy_stream_t *stream)
{
    if (buffer == nullptr || stream == nullptr)
        return null_argument(buffer == nullptr ? "buffer" : "stream");
    if (const int error = ready())
        return error;
    return buffer->pool->order(buffer, stream, false);
}

int ascend_cy_buffer_layout(const size_t *sizes, size_t count, size_t *offsets, size_t *total)
{
    size_t end = 0;
    *total = 0;
    for (size_t i = 0; i < count; ++i) {
        offsets[i] = end;
        if (sizes[i] == 0)
            continue;
        if (sizes[i] > PTRDIFF_MAX - end || sizes[i] + end > PTRDIFF_MAX - 128)
            return fail(ACL_ERROR_INVALID_PARAM, "", "piece %zu of %zu bytes: the buffer is larger than any memory", i, sizes[i]);
        const size_t with_tail = (sizes[i] + 31) / 32 * 32 + 32;
        end += (with_tail + 63) / 64 * 64;
    }
    *total = end;
    return ACL_SUCCESS;
}

namespace {

// The usual case, a buffer that only ever was on the stream at hand, is a compare.
inline bool needs_care(const ascend_cy_buffer_t *buffer, const ascend_cy_stream_t *stream) noexcept
{
    return buffer != nullptr &&
           (buffer->stream != stream || __atomic_load_n(&buffer->uses, __ATOMIC_ACQUIRE) != nullptr);
}

} // namespace

int ascend_cy_buffers_order(ascend_cy_buffer_t *const *buffers, int reads, int count, ascend_cy_stream_t *stream)
{
    if (hazard::on())
        hazard::expect(buffers, reads, count, stream->handle);
    for (int i = 0; i < count; ++i) {
        if (__builtin_expect(!needs_care(buffers[i], stream), 1))
            continue;
        if (const int error = ready())
            return error;
        if (const int error = buffers[i]->pool->order(buffers[i], stream, i < reads))
            return error;
    }
    return ACL_SUCCESS;
}

int ascend_cy_buffers_record(ascend_cy_buffer_t *const *buffers, int reads, int count, ascend_cy_stream_t *stream)
{
    int result = ACL_SUCCESS;
    if (hazard::on())
        hazard::expect(buffers, 0, 0, stream->handle);
    for (int i = 0; i < count; ++i) {
        if (__builtin_expect(buffers[i] == nullptr || buffers[i]->stream == stream, 1))
            continue;
        int error = ready();
        if (error == ACL_SUCCESS)
            error = buffers[i]->pool->record(buffers[i], stream, i >= reads);
        if (result == ACL_SUCCESS)
            result = error; // the others are recorded all the same: their work is under way
    }
    return result;
}

int ascend_cy_pool_stats(int32_t device, ascend_cy_pool_stats_t *out)
{
    std::memset(out, 0, sizeof *out);
    DevicePool *pool = nullptr;
    if (const int error = find_pool(device, &pool))
        return error;
    pool->stats(out);
    return ACL_SUCCESS;
}

int ascend_cy_pool_set_limit(int32_t device, uint64_t bytes)
{
    DevicePool *pool = nullptr;
    if (const int error = find_pool(device, &pool))
        return error;
    pool->set_limit(bytes);
    return ACL_SUCCESS;
}

int ascend_cy_pool_trim(int32_t device, uint64_t keep) { return ascend_cy_pool_trim_within(device, keep, -1); }

int ascend_cy_pool_trim_within(int32_t device, uint64_t keep, int32_t timeout_ms)
{
    DevicePool *pool = nullptr;
    if (const int error = find_pool(device, &pool))
        return error;
    return pool->trim(keep, Deadline(timeout_ms));
}

void ascend_cy_live_counts(ascend_cy_live_counts_t *out)
{
    std::memset(out, 0, sizeof *out);
    if (ascend_cy_is_forked_child())
        return; // the parent's objects
    collect_foreign();
    collect_dropped_streams(); // whose memory then is everybody's
    collect_retired_pools();
    for_each_pool([out](DevicePool *pool) { pool->count_live(out); });
    count_live_pinned(out);
    collect_dropped_streams(); // of those that the pools just let go as well
    out->streams = live_streams();
    out->events = live_events();
}
