// SPDX-License-Identifier: Apache-2.0
//
// The pieces of the memory pool: segments, the blocks they are cut into, and the arenas that keep free blocks.
//
// A segment is one allocation of the device. It is cut into blocks that lie side by side without gaps; a block that is
// in use is what callers know as a buffer. A free block belongs to the arena of the stream it was freed on: work on
// that stream may use it at once, because it runs after everything that was enqueued before the free. Other streams
// may use it when an event, recorded on the stream after the free, has passed. Arenas count in epochs for that: a free
// block carries the epoch of its free, an event ("mark") ends the current epoch, and when the mark has passed, all
// blocks up to that epoch are free for everybody.
#ifndef ASCEND_CY_HOST_POOL_BLOCK_H
#define ASCEND_CY_HOST_POOL_BLOCK_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../stream.h"

namespace ascend_cy {

struct Arena;
class DevicePool;
struct Segment;
struct Use;

} // namespace ascend_cy

struct ascend_cy_buffer {
    enum class State : uint8_t {
        Idle,    // an object without memory, in the pool's store
        Used,    // a buffer
        Binned,  // free, in a bin of its arena: not merged with its neighbours
        Free,    // free, in a free store of its arena
        Pending, // freed, but streams it was recorded on have not passed
    };

    std::atomic<uint32_t> references{0};
    State state = State::Idle;
    uint8_t special = 0; // block_is_foreign, block_is_watched, or 0
    void *pointer = nullptr;
    size_t size = 0;            // as asked for
    size_t bytes = 0;           // as allocated; 0: no memory of the pool
    ascend_cy_stream *stream = nullptr;
    ascend_cy::DevicePool *pool = nullptr; // whose object this is, always

    // Guarded by the pool's mutex from here on.
    ascend_cy::Arena *arena = nullptr;
    uint64_t epoch = 0;                  // of the arena, when it was freed
    ascend_cy::Segment *segment = nullptr;
    ascend_cy_buffer *before = nullptr;  // neighbours in the segment, by address
    ascend_cy_buffer *after = nullptr;
    ascend_cy_buffer *next = nullptr;    // in a bin, in a free store, in the store of objects
    ascend_cy_buffer *previous = nullptr;
    ascend_cy::Use *uses = nullptr;      // other streams whose work uses the buffer
    static constexpr uint32_t first_crowd = 8;
    uint32_t crowd = first_crowd;        // so many uses are looked through for what has passed
    void (*on_release)(void *) = nullptr;
    void *context = nullptr;
};

namespace ascend_cy {

using Block = ascend_cy_buffer;

// What giving back a block takes, beyond its memory. (Not in the struct, where `block->block_is_foreign` would be a constant.)
constexpr uint8_t block_is_foreign = 1; // wraps memory that is not the pool's
constexpr uint8_t block_is_watched = 2; // hazard mode follows it

// Says that work on a stream uses a block.
struct Use {
    Stream *stream;  // retained; NULL once there is a mark
    int32_t device;  // of the stream
    aclrtEvent mark; // recorded on the stream after the block was freed
    Use *next;
    bool wrote; // work there wrote to the buffer; only ever set while the buffer lives
};

struct Segment {
    void *pointer;
    size_t bytes;
    bool small; // cut for small requests
    Block *first;
    Segment *next;
    Segment *previous;
};

// Free blocks ordered by size: 16 classes for every power of two, a list for each, and bits that say which are not
// empty. Everything is linked through the blocks, so that nothing here allocates or fails.
class FreeStore {
public:
    void insert(Block *block) noexcept;
    void remove(Block *block) noexcept;

    // The smallest block of at least `bytes`, or of exactly that many; only blocks of an epoch up to `up_to_epoch`.
    // Does not take it out. Best fit by class, and within a class among its first `look` blocks.
    Block *find(size_t bytes, bool exactly, uint64_t up_to_epoch, int look = 64) const noexcept;

    Block *any() const noexcept;

private:
    static constexpr unsigned steps_log2 = 4;
    static constexpr unsigned steps = 1U << steps_log2;
    static constexpr unsigned levels = 64 - steps_log2;

    struct Place {
        unsigned level;
        unsigned step;
    };
    static Place place_of(size_t bytes) noexcept;
    bool next_not_empty(Place *place) const noexcept;

    uint64_t level_bits_ = 0;
    uint16_t step_bits_[levels] = {};
    Block *heads_[levels][steps] = {};
};

// Blocks of one size, freed on one stream and not merged with their neighbours, because the same size is likely to be
// asked for again. The way most buffers come and go.
struct Bin {
    size_t bytes;
    Block *head;
};

// The place of a stream in the arena of one pool. Several boxes may stand for one stream (each wrapping of a foreign one
// makes a box): they share an arena.
struct Seat {
    Stream *box;
    DevicePool *pool;
    Arena *arena;
    Seat *next_in_arena; // guarded by the pool
    Seat *next_of_box;   // in other pools
};

constexpr uint64_t every_epoch = UINT64_MAX;

// Free memory of one stream in one pool.
struct Arena {
    static constexpr unsigned bin_count = 64;

    const aclrtStream handle;
    Seat *seats = nullptr;    // of alive boxes of that stream; without any, the handle may be stale
    unsigned holds = 0;       // reasons to stay: threads at work on it with the lock open, pending blocks
    uint64_t epoch = 1;       // of blocks freed now
    uint64_t newest = 0;      // epoch of the block freed last
    uint64_t marked = 0;      // the newest mark stands for blocks up to this epoch
    uint64_t passed = 0;      // blocks up to this epoch are free for everybody
    aclrtEvent mark = nullptr; // not known to have passed
    size_t free_bytes = 0;    // in bins and stores
    Arena *next = nullptr;
    Bin bins[bin_count] = {};
    FreeStore small;
    FreeStore large;

    explicit Arena(aclrtStream handle_) : handle(handle_) {}

    Bin &bin_of(size_t bytes) noexcept
    {
        // Sizes that differ by a few units of 64 bytes fall into different bins, and so do multiples of powers of two.
        return bins[(static_cast<uint64_t>(bytes) * 0x9E3779B97F4A7C15U) >> 58];
    }
    FreeStore &store_of(bool for_small) noexcept { return for_small ? small : large; }
};

} // namespace ascend_cy

#endif
