// SPDX-License-Identifier: Apache-2.0
//
// Where memory comes from when the bin is empty: the stream's own free memory, that of streams that have passed, the
// device, and when all of that is short, whatever can be given back.
#include "device_pool.h"

#include <algorithm>
#include <climits>
#include <new>

#include "../event.h"
#include "../hazard/hazard.h"
#include "../thread_state.h"
#include "foreign.h"

namespace ascend_cy {

Block *DevicePool::acquire(Lock &lock, Arena *arena, size_t bytes, Refusal *refusal) noexcept
{
    if (__builtin_expect(device_total_ == 0, 0))
        set_capacity();
    if (over_limit(bytes)) {
        refusal->over_limit = true;
        return acquire_when_short(lock, arena, bytes, refusal);
    }
    growth_credit_ = std::min(growth_credit_ + 1, 4 * growth_price);
    const bool small = is_small(bytes);
    if (Bin &bin = arena->bin_of(bytes); bin.bytes == bytes && bin.head != nullptr) {
        Block *const block = bin.head; // came back while the lock was open
        bin.head = block->next;
        arena->free_bytes -= bytes;
        return block;
    }
    if (Block *block = take(arena, arena, bytes, small, every_epoch))
        return block;
    poll_pending(lock);
    if (arena->free_bytes >= bytes) {
        empty_bins(arena);
        if (Block *block = take(arena, arena, bytes, small, every_epoch))
            return block;
    }
    if (Block *block = take_from_others(lock, arena, bytes))
        return block;
    give_back_before_growth(lock, bytes);
    if (Block *block = grow(arena, bytes, Growth::Generous, refusal))
        return block;
    if (refusal->code != ACL_SUCCESS && refusal->code != ACL_ERROR_RT_MEMORY_ALLOCATION &&
        refusal->code != ACL_ERROR_RT_DEVICE_OOM)
        return nullptr; // no question of memory
    return acquire_when_short(lock, arena, bytes, refusal);
}

// Segments that nobody could use for this request go before a new one comes, as far as the goal asks for it.
void DevicePool::give_back_before_growth(Lock &lock, size_t bytes) noexcept
{
    const uint64_t goal = reserve_goal(bytes);
    if (exact_ || is_small(bytes) || reserved_ + bytes <= goal)
        return;
    growth_credit_ -= std::min(growth_credit_, growth_price);
    mark_everything(lock);
    merge_everything();
    give_back_quietly(goal > bytes ? goal - bytes : 0);
}

// One thread at a time waits for memory and takes it, so that nobody reports a shortage while another one is about to end
// it, and nobody overlooks a mark that another one waits for. A host function does not stand in line for that, because who
// waits may wait for that very function: it may come out without the mutex, and then does only what needs no waiting.
DevicePool::Lock DevicePool::begin_reclaiming() const noexcept
{
    Lock reclaiming(reclaim_mutex_, std::try_to_lock);
    if (!reclaiming.owns_lock() && !thread_state.in_host_function)
        reclaiming.lock();
    return reclaiming;
}

// Gives back what is free and retries, then waits for what will be free and retries.
Block *DevicePool::acquire_when_short(Lock &lock, Arena *arena, size_t bytes, Refusal *refusal) noexcept
{
    lock.unlock();
    const Lock reclaiming = begin_reclaiming();
    lock.lock();
    for (const bool wait : {false, true}) {
        if (!wait)
            mark_everything(lock);
        else if (reclaiming.owns_lock())
            refusal->time_is_up = !wait_for_frees(lock, refusal->deadline);
        else
            refusal->time_is_up = true;
        merge_everything();
        if (over_limit(bytes)) {
            give_back_quietly(limit_); // above the limit since that was lowered
            continue;
        }
        // Whole segments go first, so that none has to be split. Below the limit only as much as is needed; a device
        // that is full gets everything.
        give_back_quietly(refusal->over_limit && limit_ >= bytes ? limit_ - bytes : 0);
        if (Block *block = grow(arena, bytes, Growth::Exact, refusal))
            return block;
        if (Block *block = take_anything(arena, bytes))
            return block;
        if (refusal->code == ACL_ERROR_RT_MEMORY_ALLOCATION || refusal->code == ACL_ERROR_RT_DEVICE_OOM) {
            trim_other_pools(lock, wait && reclaiming.owns_lock(), refusal);
            if (Block *block = grow(arena, bytes, Growth::Exact, refusal))
                return block;
        }
    }
    if (refusal->time_is_up)
        return nullptr; // what is waited for may do
    // Holes between buffers count as reserved, but nobody has them: they are no reason to refuse.
    return refusal->over_limit && !over_limit(bytes) ? grow(arena, bytes, Growth::OverLimit, refusal) : nullptr;
}

// The device is full: what other pools of it keep without using it is in the way too.
void DevicePool::trim_other_pools(Lock &lock, bool wait, Refusal *refusal) noexcept
{
    QuietScope quiet;
    lock.unlock();
    for (DevicePool *pool = next_pool(device_, nullptr); pool != nullptr; pool = next_pool(device_, pool)) {
        if (pool == this)
            continue;
        if (!wait)
            pool->give_back_idle();
        else if (pool->trim_alone(0, refusal->deadline, true) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
            refusal->time_is_up = true;
    }
    lock.lock();
}

// Memory of streams that have passed. Streams that have not been asked for a while are marked, which needs the lock
// open; those that are idle are through at once.
Block *DevicePool::take_from_others(Lock &lock, Arena *arena, size_t bytes) noexcept
{
    const bool small = is_small(bytes);
    ++arena->holds; // stays while the lock is open
    Block *block = nullptr;
    for (Arena *other = arenas_; block == nullptr && other != nullptr;) {
        ++other->holds;
        if (other != arena && other->free_bytes >= bytes) {
            empty_bins(other);
            poll_mark(other);
            block = take(other, arena, bytes, small, other->passed);
            if (block == nullptr && other->mark == nullptr && needs_mark(other) &&
                other->store_of(small).find(bytes, exact_, every_epoch) != nullptr && mark(lock, other, nullptr)) {
                poll_mark(other);
                block = take(other, arena, bytes, small, other->passed);
            }
        } else if (other != arena) {
            poll_mark(other);
        }
        --other->holds;
        Arena *const next = other->next;
        settle(other);
        other = next;
    }
    --arena->holds;
    return block;
}

// Any free block that is large enough, small requests from large segments and the other way round.
Block *DevicePool::take_anything(Arena *arena, size_t bytes) noexcept
{
    for (const bool small : {is_small(bytes), !is_small(bytes)})
        for (Arena *from = arenas_; from != nullptr; from = from->next)
            if (Block *block = from->store_of(small).find(bytes, exact_, from == arena ? every_epoch : from->passed, INT_MAX))
                return cut(block, arena, bytes);
    return nullptr;
}

// What there is to share decides how generous to be.
void DevicePool::set_capacity() noexcept
{
    if (device_total_ == 0) {
        size_t free_bytes = 0;
        size_t total = 0;
        QuietScope quiet;
        const int code = device_table.aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total);
        device_total_ = check(code, "aclrtGetMemInfo") == ACL_SUCCESS && total > 0 ? total : UINT64_MAX;
    }
    capacity_ = std::min(limit_, device_total_);
    small_segment_ = least_small_segment;
    while (small_segment_ < huge_page && small_segment_ <= capacity_ / 128)
        small_segment_ *= 2;
}

// A new segment from the device.
Block *DevicePool::grow(Arena *arena, size_t bytes, Growth growth, Refusal *refusal) noexcept
{
    const bool small = is_small(bytes);
    size_t wanted = bytes;
    if (growth == Growth::Generous && !exact_) {
        wanted = small ? small_segment_ : round_up(bytes, bytes >= 8 * huge_page ? huge_page : large_granule);
        if (!small && wanted - bytes > capacity_ / 64)
            wanted = bytes;
    }
    const uint64_t counted = growth == Growth::OverLimit ? in_use_ + pending_bytes_ : reserved_;
    const uint64_t room = limit_ > counted ? limit_ - counted : 0;
    refusal->over_limit = bytes > room;
    refusal->code = ACL_SUCCESS;
    if (bytes > room)
        return nullptr;
    if (wanted > room)
        wanted = bytes;

    auto *const segment = new (std::nothrow) Segment{};
    Block *const block = segment != nullptr ? new_object() : nullptr;
    if (block == nullptr) {
        delete segment;
        refusal->code = ACL_ERROR_BAD_ALLOC;
        return nullptr;
    }
    void *pointer = nullptr;
    int code = device_table.aclrtMalloc(&pointer, wanted + tail_, ACL_MEM_MALLOC_HUGE_FIRST);
    if (code != ACL_SUCCESS && wanted > bytes) {
        wanted = bytes;
        code = device_table.aclrtMalloc(&pointer, wanted + tail_, ACL_MEM_MALLOC_HUGE_FIRST);
    }
    if (code != ACL_SUCCESS) {
        drop_object(block);
        delete segment;
        refusal->code = code;
        return nullptr;
    }
    ++device_allocations_;
    reserved_ += wanted;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
    if (hazard::on())
        hazard::segment_came(pointer, wanted);
    *segment = Segment{pointer, wanted, small, block, segments_, nullptr};
    if (segments_ != nullptr)
        segments_->previous = segment;
    segments_ = segment;
    block->pointer = pointer;
    block->bytes = wanted;
    block->segment = segment;
    block->arena = arena;
    block->epoch = 0; // never used
    block->state = Block::State::Free;
    arena->free_bytes += wanted;
    arena->store_of(small).insert(block);
    return cut(block, arena, bytes);
}

// Gives segments that are wholly free back to the device until `keep` bytes stay reserved or there are no more. What the
// device refuses to take stays in the pool, as free as it was. Returns the first refusal.
int DevicePool::give_back_segments(uint64_t keep) noexcept
{
    int refusal = ACL_SUCCESS;
    Segment *next = nullptr;
    for (Segment *segment = segments_; segment != nullptr && reserved_ > keep; segment = next) {
        next = segment->next;
        Block *const block = segment->first;
        if (block->state != Block::State::Free || block->bytes != segment->bytes || block->epoch > block->arena->passed)
            continue;
        if (hazard::on())
            hazard::segment_goes(segment->pointer); // before somebody else can get it
        if (const int code = ACY_CALL(aclrtFree, segment->pointer)) {
            refusal = refusal != ACL_SUCCESS ? refusal : code;
            if (hazard::on())
                hazard::segment_came(segment->pointer, segment->bytes);
            continue;
        }
        block->arena->store_of(segment->small).remove(block);
        block->arena->free_bytes -= block->bytes;
        ++device_frees_;
        reserved_ -= segment->bytes;
        if (segment->previous != nullptr)
            segment->previous->next = next;
        else
            segments_ = next;
        if (next != nullptr)
            next->previous = segment->previous;
        drop_object(block);
        delete segment;
    }
    return refusal;
}

// For callers who have somebody else to tell, or another way.
void DevicePool::give_back_quietly(uint64_t keep) noexcept
{
    QuietScope quiet;
    give_back_segments(keep);
}

// Marks all streams that have free memory, and learns which of them are through.
void DevicePool::mark_everything(Lock &lock) noexcept
{
    for (Arena *arena = arenas_; arena != nullptr;) {
        ++arena->holds;
        poll_mark(arena);
        if (needs_mark(arena) && mark(lock, arena, nullptr))
            poll_mark(arena);
        --arena->holds;
        Arena *const next = arena->next;
        settle(arena);
        arena = next;
    }
}

// Pending blocks with uses that a host function could neither mark nor wait for. Tries again; false where some are left at
// the deadline, or in a host function.
bool DevicePool::mark_late(Lock &lock, const Deadline &deadline) noexcept
{
    bool all = true;
    Block *blocks = unmarked_;
    unmarked_ = nullptr;
    while (Block *const block = blocks) {
        blocks = block->next;
        lock.unlock();
        const bool marked = mark_uses(block, deadline);
        lock.lock();
        Block *&list = marked ? pending_ : unmarked_;
        block->next = list;
        list = block;
        all = all && marked;
    }
    return all;
}

// Blocks that were freed while other streams used them, and whose streams have passed.
void DevicePool::poll_pending(Lock &lock) noexcept
{
    if (__builtin_expect(unmarked_ != nullptr, 0))
        mark_late(lock, Deadline(0));
    for (Block **link = &pending_; *link != nullptr;) {
        Block *const block = *link;
        bool passed = true;
        for (const Use *use = block->uses; passed && use != nullptr; use = use->next)
            passed = mark_passed(use->mark);
        if (!passed) {
            link = &block->next;
            continue;
        }
        *link = block->next;
        finish(block);
    }
}

// A pending block that was taken out of the list: it is as free as if it had been freed without other users.
void DevicePool::finish(Block *block) noexcept
{
    pending_bytes_ -= block->bytes;
    while (Use *use = block->uses) {
        block->uses = use->next;
        give_event_back(use->device, use->mark);
        delete use;
    }
    Arena *const arena = block->arena;
    put_in_store(block); // with the epoch of its release: its own stream may be gone, and with it the last mark
    --arena->holds;
    settle(arena);
}

// Waits until all free and pending memory is free for everybody; false where time was up first.
bool DevicePool::wait_for_frees(Lock &lock, const Deadline &deadline) noexcept
{
    bool passed = unmarked_ == nullptr || mark_late(lock, deadline);
    Block *waiting = pending_;
    pending_ = nullptr;
    lock.unlock();
    for (const Block *block = waiting; passed && block != nullptr; block = block->next)
        for (const Use *use = block->uses; passed && use != nullptr; use = use->next)
            passed = wait_for_mark(use->mark, deadline);
    lock.lock();
    while (waiting != nullptr) {
        Block *const block = waiting;
        waiting = block->next;
        if (passed) {
            finish(block);
        } else {
            block->next = pending_;
            pending_ = block;
        }
    }
    if (!passed)
        poll_pending(lock); // some may have passed
    mark_everything(lock);
    for (Arena *arena = arenas_; arena != nullptr;) {
        ++arena->holds;
        if (aclrtEvent mark = arena->mark) {
            const uint64_t epoch = arena->marked;
            arena->mark = nullptr;
            lock.unlock();
            const bool arena_passed = wait_for_mark(mark, deadline);
            lock.lock();
            if (arena_passed)
                arena->passed = std::max(arena->passed, epoch);
            passed = passed && arena_passed;
            if (arena_passed || arena->mark != nullptr) // a later mark, made while the lock was open, says more
                give_event_back(device_, mark);
            else
                arena->mark = mark;
        } else if (needs_mark(arena)) {
            passed = wait_for_stream(lock, arena, nullptr, deadline) && passed;
        }
        --arena->holds;
        Arena *const next = arena->next;
        settle(arena);
        arena = next;
    }
    return passed;
}

int DevicePool::trim(uint64_t keep, const Deadline &deadline) noexcept
{
    collect_foreign();
    collect_dropped_streams();
    collect_retired_pools();
    DeviceScope scope(device_);
    if (scope.error() != ACL_SUCCESS)
        return scope.error();
    const Lock reclaiming = begin_reclaiming();
    return trim_alone(keep, deadline, reclaiming.owns_lock());
}

// With the device current. `wait`: for memory that will be free, for which the reclaim mutex is held.
int DevicePool::trim_alone(uint64_t keep, const Deadline &deadline, bool wait) noexcept
{
    Lock lock(mutex_);
    {
        QuietScope quiet;
        poll_pending(lock);
        mark_everything(lock);
        merge_everything();
        give_back_segments(keep);
        if (wait && reserved_ > keep && reserved_ > in_use_) {
            const bool passed = wait_for_frees(lock, deadline);
            merge_everything();
            if (!passed) {
                give_back_segments(keep);
                // Without a message: the caller asks again. In a host function, what needs no waiting was all.
                return thread_state.in_host_function ? ACL_SUCCESS : ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
            }
        }
    }
    return give_back_segments(keep);
}

void DevicePool::give_back_idle() noexcept
{
    DeviceScope scope(device_);
    if (scope.error() != ACL_SUCCESS)
        return;
    Lock lock(mutex_);
    poll_pending(lock);
    mark_everything(lock);
    merge_everything();
    give_back_quietly(0);
}

void DevicePool::set_limit(uint64_t bytes) noexcept
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        limit_ = bytes;
        if (device_total_ != 0)
            set_capacity();
        if (reserved_ <= bytes)
            return;
    }
    QuietScope quiet;
    DeviceScope scope(device_);
    if (scope.error() != ACL_SUCCESS)
        return;
    Lock lock(mutex_);
    mark_everything(lock);
    merge_everything();
    give_back_segments(limit_);
}

} // namespace ascend_cy
