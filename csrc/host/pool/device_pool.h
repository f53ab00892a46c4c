// SPDX-License-Identifier: Apache-2.0
//
// A stream-ordered memory pool of one device. block.h explains how it works, pools.cpp which pools there are.
//
// Lock order: reclaim_mutex_ before mutex_; of several pools' mutex_ never two at a time. With mutex_ held nothing waits for the device and no code of others runs:
// a host function on a stream may release buffers, so waiting for a stream with the lock held would never end.
#ifndef ASCEND_CY_HOST_POOL_DEVICE_POOL_H
#define ASCEND_CY_HOST_POOL_DEVICE_POOL_H

#include <atomic>
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
        : device_(device), exact_(exact), tail_(tail), reclaim_mutex_(reclaim_mutexes[device]), limit_(limit)
    {
        common_.passed = every_epoch;
    }

    int32_t device() const noexcept { return device_; }

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
    // All figures at one moment. Looks at every block.
    void figures(ascend_cy_pool_figures_t *out) noexcept;
    void reset_peaks() noexcept;
    void set_limit(uint64_t bytes) noexcept;
    int trim(uint64_t keep, const Deadline &deadline) noexcept; // 507046 where time is up first
    void give_back_idle() noexcept; // never waits
    void count_live(ascend_cy_live_counts_t *counts) noexcept; // polls pending blocks first

    // False where leave() would have to wait.
    bool may_leave(Seat *seat) noexcept;
    // Unlinks a box that is about to go. For a stream of our own to be followed by arena_passed when the stream is
    // destroyed, and its work with it.
    void leave(Seat *seat) noexcept;
    void arena_passed(Arena *arena) noexcept;

    // Handles of a pool that users made. Once there are none its memory goes back to the device as it becomes free.
    void retain() noexcept;
    void release_handle(bool may_call_device) noexcept;
    const char *name() const noexcept { return name_; }
    bool users_own() const noexcept { return users_own_; }
    // Makes the object, which nobody has a handle of and that holds no memory, a new pool; false where it is none such.
    bool start_over(const char *name, uint64_t limit) noexcept;
    // Gives back what can be; true while there may be more to come.
    bool collect_retired() noexcept;
    void return_to_service() noexcept;
    bool retired() const noexcept { return retired_.load(std::memory_order_relaxed); }

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
    Arena *arena_of(const Stream *stream) const noexcept
    {
        const Seat *seat = stream->seats.load(std::memory_order_acquire);
        while (seat != nullptr && seat->pool != this)
            seat = seat->next_of_box;
        return seat != nullptr ? seat->arena : nullptr;
    }

    // device_pool.cpp
    Block *new_object() noexcept;
    void drop_object(Block *object) noexcept;
    void start_use(Block *block, size_t size, Stream *stream) noexcept;
    [[gnu::noinline]] int create_slowly(size_t size, size_t bytes, Stream *stream, const Deadline &deadline,
                                             Block **out) noexcept;
    [[gnu::noinline]] int create_empty(Stream *stream, Block **out) noexcept;
    [[gnu::noinline]] void release_slowly(Block *block) noexcept;
    static bool mark_uses(Block *block, const Deadline &deadline = Deadline()) noexcept;
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
    bool mark_before_leaving(Lock &lock, Seat *seat) noexcept;
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
    Lock begin_reclaiming() const noexcept;
    int trim_alone(uint64_t keep, const Deadline &deadline, bool wait) noexcept;
    void trim_other_pools(Lock &lock, bool wait, Refusal *refusal) noexcept;
    bool mark_late(Lock &lock, const Deadline &deadline) noexcept;
    void poll_pending(Lock &lock) noexcept;
    void finish(Block *block) noexcept;
    bool wait_for_frees(Lock &lock, const Deadline &deadline) noexcept;
    int give_back_segments(uint64_t keep) noexcept;
    void give_back_quietly(uint64_t keep) noexcept;
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

    static std::mutex reclaim_mutexes[]; // by device
    std::mutex &reclaim_mutex_; // see begin_reclaiming
    std::mutex mutex_;          // guards everything below

    Block *objects_ = nullptr; // without memory, to be used again
    Arena *arenas_ = &common_;
    Segment *segments_ = nullptr;
    Block *pending_ = nullptr;  // all their uses have marks
    Block *unmarked_ = nullptr; // pending as well, see mark_late
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
    uint64_t peak_reserved_ = 0;
    uint64_t pending_bytes_ = 0;
    uint64_t allocations_ = 0;
    uint64_t empty_allocations_ = 0; // without memory
    uint64_t device_allocations_ = 0;
    uint64_t device_frees_ = 0;
    int64_t live_ = 0;
    int64_t settled_live_ = 0; // of a retired pool: live_ when all else was given back; -1: not done yet
    uint32_t handles_ = 0;
    bool users_own_ = false;            // made by a user, not a device's default
    std::atomic<bool> retired_{false};  // nobody has a handle any more; written with the lock
    char name_[64] = "";
    Arena common_{nullptr}; // memory of streams that are gone: free for everybody
};

// The default pool of a device, made at its first use; NULL with a message if there can be none.
DevicePool *pool_of_device(int32_t device) noexcept;
DevicePool *existing_pool(int32_t device) noexcept; // the same, or NULL where it was not made yet

// All pools of a device, one after the other: next_pool(device, NULL) is the first, NULL the end.
DevicePool *next_pool(int32_t device, DevicePool *pool) noexcept;

// Of all devices.
template <typename Visit> void for_each_pool(Visit visit)
{
    for (int32_t device = 0; device < max_devices; ++device)
        for (DevicePool *pool = next_pool(device, nullptr); pool != nullptr; pool = next_pool(device, pool))
            visit(pool);
}

// The pool that the calling thread's buffers on a stream of `device` come from; NULL where the default was not made yet.
DevicePool *current_pool(int32_t device) noexcept;

// Gives back what pools without a handle have, where that needs no waiting. Cheap where there are none.
void collect_retired_pools() noexcept;

// For stream.cpp: see DevicePool::may_leave, leave and arena_passed.
bool may_leave_arenas(Stream *stream) noexcept;
void leave_arenas(Stream *stream) noexcept;
void arenas_passed(Stream *stream) noexcept;
void delete_seats(Stream *stream) noexcept;

// For shutdown: gives back what can be given back without waiting.
void give_back_idle_memory() noexcept;

} // namespace ascend_cy

struct ascend_cy_pool final : ascend_cy::DevicePool {
    using DevicePool::DevicePool;
    ascend_cy_pool *next_of_device = nullptr; // never changes once it is in the list
};

#endif
