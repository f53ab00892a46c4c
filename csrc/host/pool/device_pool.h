// SPDX-License-Identifier: Apache-2.0
//
// The stream-ordered memory pool of one device. block.h explains how it works.
//
// Lock order: reclaim_mutex_ before mutex_. With mutex_ held nothing waits for the device and no code of others runs:
// a host function on a stream may release buffers, so waiting for a stream with the lock held would never end.
#ifndef ASCEND_CY_HOST_POOL_DEVICE_POOL_H
#define ASCEND_CY_HOST_POOL_DEVICE_POOL_H

#include <mutex>

#include "../deadline.h"
#include "ascend_cy/pool.h"
#include "block.h"

namespace ascend_cy {

class DevicePool {
public:
    // `exact`: every buffer is a device allocation of just the bytes asked for, so that a device that checks addresses
    // (`sim`) sees each buffer's true bounds. `tail`: readable bytes that the device does not add by itself.
    DevicePool(int32_t device, uint64_t limit, bool exact, size_t tail) noexcept
        : device_(device), exact_(exact), tail_(tail), limit_(limit)
    {
        common_.passed = every_epoch;
    }

    // 507046 where memory is short and time is up before everything that could be waited for was.
    int create(size_t size, Stream *stream, const Deadline &deadline, Block **out) noexcept;
    // A block of a size seen before on the stream; false where it takes more than that.
    bool try_create(size_t size, Stream *stream, Block **out) noexcept;
    int wrap(void *pointer, size_t size, Stream *stream, void (*on_release)(void *), void *context,
             Block **out) noexcept;
    void release(Block *block) noexcept; // its last reference went
    int record(Block *block, Stream *stream, bool wrote) noexcept;
    // After everything that uses the buffer, or only after what may write to it.
    int order(Block *block, Stream *stream, bool writers_only) noexcept;

    void stats(ascend_cy_pool_stats_t *out) noexcept;
    void set_limit(uint64_t bytes) noexcept;
    int trim(uint64_t keep, const Deadline &deadline) noexcept; // 507046 where time is up first
    void give_back_idle() noexcept; // never waits
    void count_live(ascend_cy_live_counts_t *counts) noexcept; // polls pending blocks first

    // Unlinks a box that is about to go; gives its arena, held, or NULL. To be followed by arena_passed when the stream
    // is destroyed, and its work with it.
    Arena *leave(Stream *stream) noexcept;
    void arena_passed(Arena *arena) noexcept;

private:
    using Lock = std::unique_lock<std::mutex>;

    // Why no memory was given.
    struct Refusal {
        int code = ACL_SUCCESS;    // of aclrtMalloc, or ACL_SUCCESS where the limit refused
        bool over_limit = false;
        Deadline deadline;         // for waiting
        bool time_is_up = false;   // before all waits were over
    };

    static size_t round_up(size_t size, size_t step) noexcept { return (size + step - 1) & ~(step - 1); }
    size_t rounded(size_t size) const noexcept { return exact_ ? size : round_up(size, alignment); }
    bool is_small(size_t bytes) const noexcept { return bytes <= small_segment_ / 2; }
    bool over_limit(size_t bytes) const noexcept { return bytes > limit_ || in_use_ + pending_bytes_ > limit_ - bytes; }
    uint64_t reserve_goal(size_t bytes) const noexcept;
    bool may_split(const Block *block, size_t bytes) const noexcept;
    void set_capacity() noexcept;

    // device_pool.cpp
    Block *new_object() noexcept;
    void drop_object(Block *object) noexcept;
    void start_use(Block *block, size_t size, Stream *stream) noexcept;
    [[gnu::noinline]] int create_slowly(size_t size, size_t bytes, Stream *stream, const Deadline &deadline,
                                             Block **out) noexcept;
    [[gnu::noinline]] int create_empty(Stream *stream, Block **out) noexcept;
    [[gnu::noinline]] void release_slowly(Block *block) noexcept;
    static void mark_uses(Block *block) noexcept;
    // Gives their streams, ended by NULL, to be released without the lock and deleted; NULL where memory is short.
    static Stream **forget_passed_uses(Block *block) noexcept;
    int refuse(size_t size, const Refusal &refusal) noexcept;

    // arenas.cpp
    Arena *attach(Stream *stream) noexcept;
    void put_in_bin(Block *block) noexcept;
    void empty_bin(Arena *arena, Bin *bin) noexcept;
    void empty_bins(Arena *arena) noexcept;
    void put_in_store(Block *block) noexcept;
    bool join(Block *left, Block *right) noexcept;
    void merge_everything() noexcept;
    Block *take(Arena *from, Arena *to, size_t bytes, bool small, uint64_t up_to_epoch) noexcept;
    Block *cut(Block *block, Arena *to, size_t bytes) noexcept;
    bool needs_mark(const Arena *arena) const noexcept;
    static Stream *hold_box(const Arena *arena) noexcept;
    bool mark(Lock &lock, Arena *arena, Stream *box) noexcept;
    bool wait_for_stream(Lock &lock, Arena *arena, Stream *box, const Deadline &deadline = Deadline()) noexcept;
    void poll_mark(Arena *arena) noexcept;
    void settle(Arena *arena) noexcept;

    // reclaim.cpp
    Block *acquire(Lock &lock, Arena *arena, size_t bytes, Refusal *refusal) noexcept;
    Block *acquire_when_short(Lock &lock, Arena *arena, size_t bytes, Refusal *refusal) noexcept;
    Block *take_from_others(Lock &lock, Arena *arena, size_t bytes) noexcept;
    Block *take_anything(Arena *arena, size_t bytes) noexcept;
    enum class Growth {
        Generous,  // larger than needed, for what will be asked next
        Exact,
        OverLimit, // exact, and only what is in use counts for the limit
    };
    Block *grow(Arena *arena, size_t bytes, Growth growth, Refusal *refusal) noexcept;
    void give_back_before_growth(Lock &lock, size_t bytes) noexcept;
    void poll_pending() noexcept;
    void finish(Block *block) noexcept;
    bool wait_for_frees(Lock &lock, const Deadline &deadline) noexcept;
    void give_back_segments(uint64_t keep) noexcept;
    void mark_everything(Lock &lock) noexcept;

    static constexpr size_t alignment = 64;
    static constexpr size_t huge_page = size_t{2} << 20; // aclrtMalloc takes these from this size on
    static constexpr size_t large_granule = size_t{64} << 10;
    static constexpr size_t least_small_segment = size_t{4} << 10;
    static constexpr unsigned growth_price = 32;
    static constexpr size_t largest_request = size_t{1} << 62;

    const int32_t device_;
    const bool exact_;
    const size_t tail_;

    std::mutex reclaim_mutex_; // held by the one thread that gives memory back because it ran short
    std::mutex mutex_;         // guards everything below

    Block *objects_ = nullptr; // without memory, to be used again
    Arena *arenas_ = &common_;
    Segment *segments_ = nullptr;
    Block *pending_ = nullptr;
    uint64_t limit_;
    uint64_t device_total_ = 0;  // memory of the device; 0: not asked yet
    uint64_t capacity_ = 0;      // the smaller one of these two
    size_t small_segment_ = huge_page;
    // Every request that its bin could not serve earns one; giving segments back in order to grow costs the price.
    // So sizes that take turns do not send each other's memory back and forth.
    unsigned growth_credit_ = 0;
    uint64_t in_use_ = 0;
    uint64_t peak_in_use_ = 0;
    uint64_t reserved_ = 0;
    uint64_t pending_bytes_ = 0;
    uint64_t allocations_ = 0;
    uint64_t device_allocations_ = 0;
    int64_t live_ = 0;
    Arena common_{nullptr}; // memory of streams that are gone: free for everybody
};

// The pool of a device, made at its first use; NULL with a message if there can be none.
DevicePool *pool_of_device(int32_t device) noexcept;

// For stream.cpp: see DevicePool::leave and arena_passed.
Arena *leave_arena(Stream *stream) noexcept;
void arena_passed(int32_t device, Arena *arena) noexcept;

// For shutdown: gives back what can be given back without waiting.
void give_back_idle_memory() noexcept;

} // namespace ascend_cy

#endif
