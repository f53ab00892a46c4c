// SPDX-License-Identifier: Apache-2.0
//
// Buffers coming and going. The usual way, a size seen before on the same stream, is create() and release() alone: one
// bin, one lock, no call of the device library.
#include "device_pool.h"

#include <algorithm>
#include <cinttypes>
#include <new>

#include "../event.h"
#include "../hazard/hazard.h"
#include "../thread_state.h"
#include "foreign.h"

namespace ascend_cy {

Block *DevicePool::new_object() noexcept
{
    if (objects_ == nullptr) {
        // Objects are never given back, so they come in handfuls.
        constexpr int handful = 32;
        Block *const made = new (std::nothrow) Block[handful];
        if (made == nullptr)
            return nullptr;
        for (int i = 0; i < handful; ++i) {
            made[i].pool = this;
            drop_object(&made[i]);
        }
    }
    Block *object = objects_;
    objects_ = object->next;
    object->next = nullptr;
    return object;
}

void DevicePool::drop_object(Block *object) noexcept
{
    object->state = Block::State::Idle;
    object->special = 0;
    object->on_release = nullptr;
    object->pointer = nullptr;
    object->bytes = 0;
    object->stream = nullptr;
    object->arena = nullptr;
    object->segment = nullptr;
    object->before = nullptr;
    object->after = nullptr;
    object->previous = nullptr;
    object->next = objects_;
    objects_ = object;
}

// With the lock: the block becomes a buffer with one reference.
inline void DevicePool::start_use(Block *block, size_t size, Stream *stream) noexcept
{
    block->state = Block::State::Used;
    block->size = size;
    block->stream = stream;
    block->references.store(1, std::memory_order_relaxed);
    in_use_ += block->bytes;
    if (in_use_ > peak_in_use_)
        peak_in_use_ = in_use_;
    ++allocations_;
    ++live_;
}

bool DevicePool::try_create(size_t size, Stream *stream, Block **out) noexcept
{
    const size_t bytes = rounded(size);
    Arena *const arena = arena_of(stream);
    if (__builtin_expect(arena == nullptr || size == 0 || size > largest_request, 0))
        return false;
    mutex_.lock();
    Bin &bin = arena->bin_of(bytes);
    Block *const block = bin.head;
    if (__builtin_expect(block == nullptr || bin.bytes != bytes || over_limit(bytes), 0)) {
        mutex_.unlock();
        return false;
    }
    bin.head = block->next;
    arena->free_bytes -= bytes;
    start_use(block, size, stream);
    mutex_.unlock();
    retain_stream(stream);
    *out = block;
    return true;
}

int DevicePool::create(size_t size, Stream *stream, const Deadline &deadline, Block **out) noexcept
{
    return __builtin_expect(try_create(size, stream, out), 1)
               ? ACL_SUCCESS
               : create_slowly(size, rounded(size), stream, deadline, out);
}

int DevicePool::create_slowly(size_t size, size_t bytes, Stream *stream, const Deadline &deadline, Block **out) noexcept
{
    if (size == 0)
        return create_empty(stream, out);
    Refusal refusal;
    refusal.deadline = deadline;
    if (size > largest_request) {
        refusal.over_limit = true;
        return refuse(size, refusal);
    }
    collect_foreign();
    collect_dropped_streams();
    collect_retired_pools();
    DeviceScope scope(device_);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    Lock lock(mutex_);
    Arena *arena = arena_of(stream);
    if (arena == nullptr)
        arena = attach(stream);
    Block *const block = arena != nullptr ? acquire(lock, arena, bytes, &refusal) : nullptr;
    if (block == nullptr) {
        lock.unlock();
        return arena != nullptr ? refuse(size, refusal) : fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    }
    start_use(block, size, stream);
    lock.unlock();
    if (hazard::on()) {
        block->special = block_is_watched;
        hazard::block_used(block);
    }
    retain_stream(stream);
    *out = block;
    return ACL_SUCCESS;
}

int DevicePool::create_empty(Stream *stream, Block **out) noexcept
{
    return wrap(nullptr, 0, stream, nullptr, nullptr, out);
}

int DevicePool::wrap(void *pointer, size_t size, Stream *stream, void (*on_release)(void *), void *context,
                     Block **out) noexcept
{
    std::lock_guard<std::mutex> lock(mutex_);
    Block *const object = new_object();
    if (object == nullptr)
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    object->special = block_is_foreign;
    object->pointer = pointer;
    object->on_release = on_release;
    object->context = context;
    object->size = size;
    object->stream = stream;
    object->state = Block::State::Used;
    object->references.store(1, std::memory_order_relaxed);
    ++live_;
    if (pointer == nullptr) { // an empty buffer of ours
        ++allocations_;
        ++empty_allocations_;
    }
    retain_stream(stream);
    *out = object;
    return ACL_SUCCESS;
}

void DevicePool::release(Block *block) noexcept
{
    if (__builtin_expect(block->uses != nullptr || block->special != 0, 0)) {
        release_slowly(block);
        return;
    }
    Stream *const stream = block->stream;
    mutex_.lock();
    in_use_ -= block->bytes;
    --live_;
    put_in_bin(block);
    const bool last = __builtin_expect(retired_.load(std::memory_order_relaxed), 0) && live_ == 0;
    mutex_.unlock();
    if (__builtin_expect(last, 0))
        give_back_idle();
    release_stream_without_waiting(stream);
}

void DevicePool::release_slowly(Block *block) noexcept
{
    Stream *const stream = block->stream;
    if ((block->special & block_is_foreign) != 0) {
        Use *uses = block->uses;
        block->uses = nullptr;
        void (*const on_release)(void *) = block->on_release;
        void *const context = block->context;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            --live_;
            drop_object(block);
        }
        if (on_release != nullptr)
            give_back_foreign(stream, uses, on_release, context);
        while (Use *use = uses) {
            uses = use->next;
            release_stream_without_waiting(use->stream);
            delete use;
        }
        release_stream_without_waiting(stream);
        return;
    }
    const bool watched = (block->special & block_is_watched) != 0;
    if (__builtin_expect(watched, 0)) {
        hazard::block_freed(block);
        block->special = 0;
    }
    const bool marked = mark_uses(block);
    bool last = false;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        in_use_ -= block->bytes;
        --live_;
        last = retired() && live_ == 0;
        if (block->uses == nullptr && watched) { // past the fast way, which hazard mode does not see
            block->epoch = block->arena->newest = block->arena->epoch;
            put_in_store(block);
        } else if (block->uses == nullptr) {
            put_in_bin(block);
        } else {
            Arena *const arena = block->arena;
            block->epoch = arena->newest = arena->epoch;
            ++arena->holds;
            pending_bytes_ += block->bytes;
            block->state = Block::State::Pending;
            Block *&list = marked ? pending_ : unmarked_;
            block->next = list;
            list = block;
        }
    }
    if (last)
        give_back_idle();
    release_stream_without_waiting(stream);
}

// Everything enqueued so far on the streams the block was recorded on has to pass before its memory is used again.
// Leaves only uses that have a mark; false where others are left, because time was up or a host function would have to wait.
// Without the lock: recording waits where the stream's queue is full.
bool DevicePool::mark_uses(Block *block, const Deadline &deadline) noexcept
{
    QuietScope quiet;
    bool all = true;
    for (Use **link = &block->uses; *link != nullptr;) {
        Use *const use = *link;
        Stream *const stream = use->stream;
        if (stream == nullptr) { // has one from before
            link = &use->next;
            continue;
        }
        DeviceScope scope(use->device);
        if (scope.error() == ACL_SUCCESS && mark_stream(use->device, stream->handle, &use->mark) == ACL_SUCCESS) {
            use->stream = nullptr;
            link = &use->next;
        } else if (wait_for_whole_stream(stream->handle, deadline)) {
            *link = use->next;
            delete use;
        } else {
            all = false;
            link = &use->next;
            continue;
        }
        release_stream_without_waiting(stream);
    }
    return all;
}

// Forgets uses whose work has passed, so that a buffer that lives long does not keep every stream it was ever used on.
// A use may be forgotten between another thread's launch and its record, which then makes it anew.
Stream **DevicePool::forget_passed_uses(Block *block) noexcept
{
    QuietScope quiet;
    size_t count = 0;
    for (const Use *use = block->uses; use != nullptr; use = use->next)
        ++count;
    auto **const forgotten = new (std::nothrow) Stream *[count + 1];
    if (forgotten == nullptr)
        return nullptr;
    size_t done = 0;
    for (Use **link = &block->uses; *link != nullptr;) {
        Use *const use = *link;
        if (!stream_is_idle(use->stream)) {
            link = &use->next;
            continue;
        }
        if (hazard::on())
            hazard::use_forgotten(block, use->stream);
        forgotten[done++] = use->stream;
        __atomic_store_n(link, use->next, __ATOMIC_RELEASE);
        delete use;
    }
    forgotten[done] = nullptr;
    // Where all are busy it takes as many again before the next look.
    block->crowd = static_cast<uint32_t>(std::max<size_t>(ascend_cy_buffer::first_crowd, 2 * (count - done)));
    return forgotten;
}

int DevicePool::record(Block *block, Stream *stream, bool wrote) noexcept
{
    const Stream *const own = block->stream;
    if (stream == own || (stream->handle == own->handle && stream->device == own->device))
        return ACL_SUCCESS;
    Stream **forgotten = nullptr;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        uint32_t count = 0;
        for (Use *use = block->uses; use != nullptr; use = use->next, ++count)
            if (use->stream == stream) {
                use->wrote = use->wrote || wrote;
                return ACL_SUCCESS;
            }
        if (count == 0)
            block->crowd = ascend_cy_buffer::first_crowd;
        Use *const use = new (std::nothrow) Use{stream, stream->device, nullptr, nullptr, wrote};
        if (use == nullptr)
            return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
        if (count >= block->crowd)
            forgotten = forget_passed_uses(block);
        retain_stream(stream);
        use->next = block->uses;
        __atomic_store_n(&block->uses, use, __ATOMIC_RELEASE); // whether there are any is read without the lock
    }
    // Without the lock: a stream that goes takes its arena out of the pool.
    for (Stream **gone = forgotten; gone != nullptr && *gone != nullptr; ++gone)
        release_stream_without_waiting(*gone);
    delete[] forgotten;
    return ACL_SUCCESS;
}

int DevicePool::order(Block *block, Stream *stream, bool writers_only) noexcept
{
    if (const int error = order_after_busy(stream, block->stream))
        return error;
    // Ordering may wait, so the streams are held for it while the lock is open.
    constexpr size_t few = 8;
    Stream *on_stack[few];
    Stream **held = on_stack;
    size_t count = 0;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        for (const Use *use = block->uses; use != nullptr; use = use->next)
            ++count;
        if (count > few)
            held = new (std::nothrow) Stream *[count];
        if (held == nullptr)
            return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
        count = 0;
        for (const Use *use = block->uses; use != nullptr; use = use->next)
            if (!writers_only || use->wrote) {
                retain_stream(use->stream);
                held[count++] = use->stream;
            }
    }
    int result = ACL_SUCCESS;
    for (size_t i = 0; i < count; ++i) {
        if (result == ACL_SUCCESS)
            result = order_after_busy(stream, held[i]);
        release_stream_without_waiting(held[i]);
    }
    if (held != on_stack)
        delete[] held;
    return result;
}

int DevicePool::refuse(size_t size, const Refusal &refusal) noexcept
{
    if (refusal.code == ACL_ERROR_BAD_ALLOC)
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    if (refusal.time_is_up && !thread_state.in_host_function)
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "", "memory is short, and work that holds some is not finished");
    if (refusal.code != ACL_SUCCESS && refusal.code != ACL_ERROR_RT_MEMORY_ALLOCATION &&
        refusal.code != ACL_ERROR_RT_DEVICE_OOM)
        return fail_call(refusal.code, "aclrtMalloc");
    ascend_cy_pool_stats_t now;
    stats(&now);
    const uint64_t pending = now.reserved_bytes - now.in_use_bytes - now.cached_bytes;
    if (refusal.code != ACL_SUCCESS)
        device_table.aclGetRecentErrMsg(); // says the same; must not turn up in a later failure
    fail(ACL_ERROR_RT_MEMORY_ALLOCATION, refusal.code != ACL_SUCCESS ? "aclrtMalloc" : "",
         "out of memory on device %d: asked for %zu bytes; the pool%s%s%s has reserved %" PRIu64 " bytes (in use %" PRIu64
         ", cached %" PRIu64 ", waiting for streams %" PRIu64 ")",
         device_, size, name_[0] != 0 ? " \"" : "", name_, name_[0] != 0 ? "\"" : "", now.reserved_bytes, now.in_use_bytes, now.cached_bytes, pending);
    if (now.limit_bytes == UINT64_MAX)
        add_to_message(", no limit is set");
    else
        add_to_message(", its limit is %" PRIu64, now.limit_bytes);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (refusal.code != ACL_SUCCESS && device_table.aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes) == 0)
        add_to_message("; the device has %zu of %zu bytes free", free_bytes, total_bytes);
    if (refusal.time_is_up)
        add_to_message("; some is free once work has passed, but a callback must not wait");
    add_to_message(" (release arrays or use smaller batches%s)",
                   now.limit_bytes == UINT64_MAX || refusal.code != ACL_SUCCESS ? "" : ", or raise the limit");
    return ACL_ERROR_RT_MEMORY_ALLOCATION;
}

void DevicePool::stats(ascend_cy_pool_stats_t *out) noexcept
{
    std::lock_guard<std::mutex> lock(mutex_);
    out->in_use_bytes = in_use_;
    out->reserved_bytes = reserved_;
    out->cached_bytes = reserved_ - in_use_ - pending_bytes_;
    out->peak_in_use_bytes = peak_in_use_;
    out->limit_bytes = limit_;
    out->allocations = allocations_;
    out->device_allocations = device_allocations_;
}

void DevicePool::figures(ascend_cy_pool_figures_t *out) noexcept
{
    std::lock_guard<std::mutex> lock(mutex_);
    out->in_use_bytes = in_use_;
    out->reserved_bytes = reserved_;
    out->cached_bytes = reserved_ - in_use_ - pending_bytes_;
    out->pending_bytes = pending_bytes_;
    out->limit_bytes = limit_;
    out->peak_in_use_bytes = peak_in_use_;
    out->peak_reserved_bytes = peak_reserved_;
    out->allocations = allocations_;
    out->device_allocations = device_allocations_;
    out->device_frees = device_frees_;
    out->hits = allocations_ - empty_allocations_ - device_allocations_;
    out->buffers = static_cast<uint64_t>(live_);
    for (const Segment *segment = segments_; segment != nullptr; segment = segment->next) {
        ++out->segments;
        uint64_t run = 0; // neighbours that are not merged yet can be
        for (const Block *block = segment->first; block != nullptr; block = block->after) {
            const bool is_free = block->state == Block::State::Free || block->state == Block::State::Binned;
            out->free_blocks += is_free ? 1 : 0;
            run = is_free ? run + block->bytes : 0;
            out->largest_free_bytes = std::max(out->largest_free_bytes, run);
        }
    }
    const uint64_t asked = out->hits + device_allocations_;
    out->hit_rate = asked > 0 ? static_cast<double>(out->hits) / static_cast<double>(asked) : 0;
    out->fragmentation = reserved_ > 0 ? static_cast<double>(reserved_ - in_use_) / static_cast<double>(reserved_) : 0;
}

void DevicePool::reset_peaks() noexcept
{
    std::lock_guard<std::mutex> lock(mutex_);
    peak_in_use_ = in_use_;
    peak_reserved_ = reserved_;
}

void DevicePool::count_live(ascend_cy_live_counts_t *counts) noexcept
{
    Lock lock(mutex_);
    if (device_usable())
        poll_pending(lock);
    counts->buffers += live_;
    counts->buffer_bytes += static_cast<int64_t>(in_use_);
}

} // namespace ascend_cy
