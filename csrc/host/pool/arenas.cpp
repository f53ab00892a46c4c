// SPDX-License-Identifier: Apache-2.0
//
// Free memory: bins, merging of neighbours, and the epochs by which memory passes from one stream to another.
#include "device_pool.h"

#include <algorithm>
#include <new>

#include "../event.h"
#include "../thread_state.h"

namespace ascend_cy {

namespace {

bool free_for_everybody(const Block *block) noexcept { return block->epoch <= block->arena->passed; }

} // namespace

Arena *DevicePool::attach(Stream *stream) noexcept
{
    Arena *arena = arenas_;
    while (arena != nullptr && (arena == &common_ || arena->seats == nullptr || arena->handle != stream->handle))
        arena = arena->next;
    auto *const seat = new (std::nothrow) Seat{stream, this, arena, nullptr, nullptr};
    if (seat == nullptr)
        return nullptr;
    if (arena == nullptr) {
        arena = seat->arena = new (std::nothrow) Arena(stream->handle);
        if (arena == nullptr) {
            delete seat;
            return nullptr;
        }
        arena->next = arenas_;
        arenas_ = arena;
    }
    seat->next_in_arena = arena->seats;
    arena->seats = seat;
    // Other pools may do the same at this moment.
    seat->next_of_box = stream->seats.load(std::memory_order_relaxed);
    while (!stream->seats.compare_exchange_weak(seat->next_of_box, seat, std::memory_order_release,
                                                std::memory_order_relaxed)) {
    }
    return arena;
}

void DevicePool::put_in_bin(Block *block) noexcept
{
    Arena *const arena = block->arena;
    block->epoch = arena->epoch;
    arena->newest = arena->epoch;
    arena->free_bytes += block->bytes;
    Bin &bin = arena->bin_of(block->bytes);
    if (__builtin_expect(bin.bytes != block->bytes, 0)) {
        empty_bin(arena, &bin);
        bin.bytes = block->bytes;
    }
    block->state = Block::State::Binned;
    block->next = bin.head;
    bin.head = block;
}

void DevicePool::empty_bin(Arena *arena, Bin *bin) noexcept
{
    while (bin->head != nullptr) {
        Block *const block = bin->head;
        bin->head = block->next;
        arena->free_bytes -= block->bytes; // counted again by put_in_store
        put_in_store(block);
    }
}

void DevicePool::empty_bins(Arena *arena) noexcept
{
    for (Bin &bin : arena->bins)
        empty_bin(arena, &bin);
}

void DevicePool::put_in_store(Block *block) noexcept
{
    block->state = Block::State::Free;
    block->arena->free_bytes += block->bytes;
    block->arena->store_of(block->segment->small).insert(block);
    if (Block *const before = block->before; before != nullptr && join(before, block))
        block = before;
    if (block->after != nullptr)
        join(block, block->after);
}

// Makes one of two neighbours if both are free and their memory may belong together: that of one arena, or that which
// is free for everybody with any other. `left` is the one that stays.
bool DevicePool::join(Block *left, Block *right) noexcept
{
    if (left->state != Block::State::Free || right->state != Block::State::Free)
        return false;
    Arena *const left_arena = left->arena;
    Arena *const right_arena = right->arena;
    Arena *arena = left_arena;
    uint64_t epoch = left->epoch;
    if (left_arena == right_arena)
        epoch = std::max(left->epoch, right->epoch);
    else if (free_for_everybody(left)) {
        arena = right_arena;
        epoch = right->epoch;
    } else if (!free_for_everybody(right)) {
        return false;
    }
    const bool small = left->segment->small;
    left_arena->store_of(small).remove(left);
    right_arena->store_of(small).remove(right);
    left_arena->free_bytes -= left->bytes;
    right_arena->free_bytes -= right->bytes;
    left->arena = arena;
    left->epoch = epoch;
    left->bytes += right->bytes;
    left->after = right->after;
    if (left->after != nullptr)
        left->after->before = left;
    drop_object(right);
    arena->free_bytes += left->bytes;
    arena->store_of(small).insert(left);
    return true;
}

// Merges what could not be merged when it was freed, because it belonged to streams that have passed since.
void DevicePool::merge_everything() noexcept
{
    for (Arena *arena = arenas_; arena != nullptr; arena = arena->next)
        empty_bins(arena);
    for (Segment *segment = segments_; segment != nullptr; segment = segment->next)
        for (Block *block = segment->first; block != nullptr; block = block->after)
            while (block->after != nullptr && join(block, block->after)) {
            }
}

// What may be reserved without regret: an eighth more than is needed now, or was at the peak.
uint64_t DevicePool::reserve_goal(size_t bytes) const noexcept
{
    const uint64_t needed = std::max(in_use_ + pending_bytes_ + bytes, peak_in_use_);
    return needed + needed / 8;
}

// Splitting a segment that is wholly free keeps it from going back to the device while a part is in use, and holes are
// what makes memory run out early. So a large one is only split for a request of four fifths of its size or more (half of it
// leaves a sixth of all memory in holes where sizes are spread over decades: tests/test_fragmentation.py), unless a new
// segment would be beyond the goal and cannot be afforded. One that is a good part of all there is stays whole even then.
bool DevicePool::may_split(const Block *block, size_t bytes) const noexcept
{
    if (block->segment->small || block->bytes != block->segment->bytes)
        return true;
    const size_t rest = block->bytes - bytes;
    if (block->bytes > capacity_ / 32)
        return rest <= block->bytes / 64;
    return rest <= block->bytes / 5 || (reserved_ + bytes > reserve_goal(bytes) && growth_credit_ < growth_price);
}

// Takes a free block of `from` for use on `to`, and leaves what is too much of it with `from`.
Block *DevicePool::take(Arena *from, Arena *to, size_t bytes, bool small, uint64_t up_to_epoch) noexcept
{
    Block *const block = from->store_of(small).find(bytes, exact_, up_to_epoch);
    return block != nullptr && may_split(block, bytes) ? cut(block, to, bytes) : nullptr;
}

Block *DevicePool::cut(Block *block, Arena *to, size_t bytes) noexcept
{
    Arena *const from = block->arena;
    FreeStore &store = from->store_of(block->segment->small);
    store.remove(block);
    from->free_bytes -= block->bytes;
    Block *const rest = block->bytes > bytes ? new_object() : nullptr; // without an object the whole block is given
    if (rest != nullptr) {
        rest->pointer = static_cast<char *>(block->pointer) + bytes;
        rest->bytes = block->bytes - bytes;
        rest->epoch = block->epoch;
        rest->arena = from;
        rest->segment = block->segment;
        rest->before = block;
        rest->after = block->after;
        if (rest->after != nullptr)
            rest->after->before = rest;
        rest->state = Block::State::Free;
        block->after = rest;
        block->bytes = bytes;
        from->free_bytes += rest->bytes;
        store.insert(rest);
    }
    block->state = Block::State::Used; // at once: a neighbour that is freed next must not be joined with it
    block->arena = to;
    return block;
}

// True where the arena has free memory that no mark stands for.
bool DevicePool::needs_mark(const Arena *arena) const noexcept
{
    return arena->free_bytes > 0 && arena->newest > std::max(arena->marked, arena->passed);
}

// A box of the arena, retained; NULL if all are on their way out.
Stream *DevicePool::hold_box(const Arena *arena) noexcept
{
    const Seat *seat = arena->seats;
    while (seat != nullptr && !try_retain_stream(seat->box))
        seat = seat->next_in_arena;
    return seat != nullptr ? seat->box : nullptr;
}

// Ends the arena's epoch with a mark on its stream, for which the lock is opened. False if that is impossible.
// `box`: a box of the arena that is sure to stay, or NULL: one is looked for.
bool DevicePool::mark(Lock &lock, Arena *arena, Stream *box) noexcept
{
    Stream *const held = box == nullptr ? hold_box(arena) : nullptr;
    if (box == nullptr && held == nullptr)
        return false;
    const uint64_t epoch = arena->epoch++;
    ++arena->holds;
    lock.unlock();
    aclrtEvent event = nullptr;
    int error;
    bool idle = false;
    {
        QuietScope quiet;
        aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
        error = ACY_CALL(aclrtStreamQuery, arena->handle, &status);
        idle = error == ACL_SUCCESS && status == ACL_STREAM_STATUS_COMPLETE; // saves the event
        if (!idle)
            error = mark_stream(device_, arena->handle, &event);
    }
    if (held != nullptr)
        release_stream_without_waiting(held);
    lock.lock();
    --arena->holds;
    if (error != ACL_SUCCESS)
        return false;
    if (idle) {
        arena->passed = std::max(arena->passed, epoch);
        return true;
    }
    if (epoch > arena->marked) {
        std::swap(arena->mark, event); // the later mark stands for the earlier one as well
        arena->marked = epoch;
    }
    if (event != nullptr)
        give_event_back(device_, event);
    return true;
}

// Where a stream cannot be marked (no event left, a stream of another context): waits for all of it instead. False where
// time was up first, or a host function would have to wait: then the memory stays with the stream.
bool DevicePool::wait_for_stream(Lock &lock, Arena *arena, Stream *box, const Deadline &deadline) noexcept
{
    Stream *const held = box == nullptr ? hold_box(arena) : nullptr;
    if (box == nullptr && held == nullptr)
        return true;
    const uint64_t epoch = arena->epoch++;
    ++arena->holds;
    lock.unlock();
    const bool passed = wait_for_whole_stream(arena->handle, deadline);
    if (held != nullptr)
        release_stream_without_waiting(held);
    lock.lock();
    --arena->holds;
    if (passed)
        arena->passed = std::max(arena->passed, epoch);
    return passed;
}

void DevicePool::poll_mark(Arena *arena) noexcept
{
    if (arena->mark == nullptr || (arena->marked > arena->passed && !mark_passed(arena->mark)))
        return;
    give_event_back(device_, arena->mark);
    arena->mark = nullptr;
    arena->passed = std::max(arena->passed, arena->marked);
}

// An arena whose stream is gone and whose memory is free for everybody hands it to the common one and ends.
void DevicePool::settle(Arena *arena) noexcept
{
    if (arena == &common_ || arena->seats != nullptr || arena->holds != 0 || arena->mark != nullptr)
        return;
    if (arena->free_bytes > 0 && arena->newest > arena->passed)
        return;
    empty_bins(arena);
    for (const bool small : {true, false}) {
        FreeStore &store = arena->store_of(small);
        while (Block *block = store.any()) {
            store.remove(block);
            block->arena = &common_;
            block->epoch = 0;
            common_.free_bytes += block->bytes;
            common_.store_of(small).insert(block);
        }
    }
    Arena **link = &arenas_;
    while (*link != arena)
        link = &(*link)->next;
    *link = arena->next;
    delete arena;
}

// Nobody can mark a foreign stream once its last box is gone, but its work goes on. Pending blocks need the mark too.
bool DevicePool::mark_before_leaving(Lock &lock, Seat *seat) noexcept
{
    Arena *const arena = seat->arena;
    return seat->box->kind != Stream::Kind::Foreign || arena->seats != seat || seat->next_in_arena != nullptr ||
           arena->newest <= std::max(arena->marked, arena->passed) || mark(lock, arena, seat->box);
}

bool DevicePool::may_leave(Seat *seat) noexcept
{
    Lock lock(mutex_);
    return mark_before_leaving(lock, seat);
}

void DevicePool::leave(Seat *seat) noexcept
{
    Lock lock(mutex_);
    Stream *const stream = seat->box;
    Arena *const arena = seat->arena;
    if (!mark_before_leaving(lock, seat))
        wait_for_stream(lock, arena, stream);
    Seat **link = &arena->seats;
    while (*link != seat)
        link = &(*link)->next_in_arena;
    *link = seat->next_in_arena;
    if (stream->kind == Stream::Kind::Own)
        ++arena->holds; // until arena_passed
    else
        settle(arena);
}

void DevicePool::arena_passed(Arena *arena) noexcept
{
    std::lock_guard<std::mutex> lock(mutex_);
    --arena->holds;
    arena->passed = std::max(arena->passed, arena->epoch++);
    if (arena->mark != nullptr) {
        give_event_back(device_, arena->mark);
        arena->mark = nullptr;
    }
    settle(arena);
}

} // namespace ascend_cy
