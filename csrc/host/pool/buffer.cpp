// SPDX-License-Identifier: Apache-2.0
//
// The functions of pool.h over the pools of all devices.
#include <cstring>
#include <mutex>
#include <new>

#include "../env.h"
#include "../event.h"
#include "device_pool.h"
#include "pinned_pool.h"

namespace ascend_cy {

namespace {

// Pools live as long as the process: buffers may be released while it ends.
std::atomic<DevicePool *> pools[max_devices];

DevicePool *existing_pool(int32_t device) noexcept
{
    return device >= 0 && device < max_devices ? pools[device].load(std::memory_order_acquire) : nullptr;
}

int null_argument(const char *what) noexcept { return fail(ACL_ERROR_INVALID_PARAM, "", "the %s is NULL", what); }

} // namespace

DevicePool *pool_of_device(int32_t device) noexcept
{
    if (DevicePool *pool = existing_pool(device))
        return pool;
    if (check_device_id(device) != ACL_SUCCESS)
        return nullptr;
    uint64_t limit = UINT64_MAX;
    const std::string text = env_text("ASCEND_CY_POOL_LIMIT");
    if (!text.empty() && !parse_bytes(text, &limit)) {
        fail(ACL_ERROR_INVALID_PARAM, "", "ASCEND_CY_POOL_LIMIT is \"%s\"; it is a number of bytes, or one with K, M, G or T",
             text.c_str());
        return nullptr;
    }
    const bool exact = loaded_device()->info.kind == ASCEND_CY_KIND_SIM;
    // The vendor lets hardware read 32 bytes past the end of an allocation and adds them itself, except here.
    const char *soc = device_table.aclrtGetSocName();
    const size_t tail = soc != nullptr && std::strncmp(soc, "Ascend950", 9) == 0 ? 32 : 0;
    auto *made = new (std::nothrow) DevicePool(device, limit, exact, tail);
    if (made == nullptr) {
        fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
        return nullptr;
    }
    DevicePool *there = nullptr;
    if (pools[device].compare_exchange_strong(there, made, std::memory_order_acq_rel))
        return made;
    delete made; // another thread was faster
    return there;
}

Arena *leave_arena(Stream *stream) noexcept
{
    DevicePool *const pool = existing_pool(stream->device);
    return pool != nullptr ? pool->leave(stream) : nullptr;
}

void arena_passed(int32_t device, Arena *arena) noexcept
{
    if (arena != nullptr)
        existing_pool(device)->arena_passed(arena);
}

void give_back_idle_memory() noexcept
{
    for (int32_t device = 0; device < max_devices; ++device)
        if (DevicePool *pool = existing_pool(device))
            pool->give_back_idle();
}

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
    return *pool != nullptr ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
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
    DevicePool *pool = existing_pool(stream->device);
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
    DevicePool *const pool = existing_pool(stream->device);
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

void ascend_cy_buffer_release(ascend_cy_buffer_t *buffer)
{
    if (buffer == nullptr)
        return;
    // The only reference needs no atomic write: nobody else can have one to copy.
    if (buffer->references.load(std::memory_order_acquire) != 1 &&
        buffer->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (__builtin_expect(device_usable(), 1)) {
        existing_pool(buffer->stream->device)->release(buffer);
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
    return existing_pool(buffer->stream->device)->record(buffer, stream, true); // nothing is known: it may have written
}

int ascend_cy_buffer_order(ascend_cy_buffer_t *buffer, ascend_cy_stream_t *stream)
{
    if (buffer == nullptr || stream == nullptr)
        return null_argument(buffer == nullptr ? "buffer" : "stream");
    if (const int error = ready())
        return error;
    return existing_pool(buffer->stream->device)->order(buffer, stream, false);
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
    for (int i = 0; i < count; ++i) {
        if (__builtin_expect(!needs_care(buffers[i], stream), 1))
            continue;
        if (const int error = ready())
            return error;
        if (const int error = existing_pool(buffers[i]->stream->device)->order(buffers[i], stream, i < reads))
            return error;
    }
    return ACL_SUCCESS;
}

int ascend_cy_buffers_record(ascend_cy_buffer_t *const *buffers, int reads, int count, ascend_cy_stream_t *stream)
{
    int result = ACL_SUCCESS;
    for (int i = 0; i < count; ++i) {
        if (__builtin_expect(buffers[i] == nullptr || buffers[i]->stream == stream, 1))
            continue;
        int error = ready();
        if (error == ACL_SUCCESS)
            error = existing_pool(buffers[i]->stream->device)->record(buffers[i], stream, i >= reads);
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
    for (int32_t device = 0; device < max_devices; ++device)
        if (DevicePool *pool = existing_pool(device))
            pool->count_live(out);
    count_live_pinned(out);
    collect_dropped_streams(); // of those that the pools just let go as well
    out->streams = live_streams();
    out->events = live_events();
}
