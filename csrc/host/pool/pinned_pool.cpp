// SPDX-License-Identifier: Apache-2.0
//
// Pinned host memory belongs to no stream: a block may be used again when the streams it was recorded on have passed.
// Blocks are kept whole, by size class; what is kept beyond a bound goes back at once, because pinned pages are a
// resource of the whole machine.
#include "pinned_pool.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "../deadline.h"
#include "../event.h"
#include "../thread_state.h"

namespace ascend_cy {

namespace {

struct PinnedUse {
    Stream *stream;  // retained; NULL once there is a mark
    int32_t device;  // of the stream
    aclrtEvent mark; // recorded on the stream after the block was freed
};

struct PinnedBlock {
    void *pointer = nullptr;
    size_t bytes = 0;
    std::vector<PinnedUse> uses;
    size_t crowd = 8; // so many uses are looked through for what has passed
};

class PinnedPool {
public:
    int alloc(size_t size, const Deadline &deadline, void **out);
    void free(void *pointer);
    int record(void *pointer, Stream *stream);
    int give_back_idle();
    int trim_waiting(const Deadline &deadline);
    void count_live(ascend_cy_live_counts_t *counts) noexcept;

private:
    using Lock = std::unique_lock<std::mutex>;

    static size_t class_size(size_t size) noexcept;
    bool take_cached(size_t bytes, void **out);
    void poll_pending(size_t most);
    void cache_or_free(const PinnedBlock &block);
    int free_cached() noexcept;
    static bool passed(const PinnedBlock &block) noexcept;
    static bool mark_uses(PinnedBlock *block, const Deadline &deadline);
    bool put_away(PinnedBlock *block, const Deadline &deadline = Deadline());
    bool mark_late(const Deadline &deadline);
    static void finish(PinnedBlock *block) noexcept;
    static bool wait_for(const PinnedBlock &block, const Deadline &deadline) noexcept;
    static int give_back(const PinnedBlock &block) noexcept;
    void keep_pending(std::vector<PinnedBlock> *blocks);

    static constexpr size_t polled_at_once = 8;
    static constexpr size_t largest_cache = size_t{256} << 20;

    std::mutex mutex_; // guards everything below; nothing waits for the device while it is held
    std::unordered_map<void *, PinnedBlock> used_;
    std::unordered_map<size_t, std::vector<void *>> cached_; // by class size
    std::vector<PinnedBlock> pending_;  // all their uses have marks
    std::vector<PinnedBlock> unmarked_; // freed in a host function that could neither mark all uses nor wait for them
    size_t next_polled_ = 0; // in pending_
    size_t cached_bytes_ = 0;
    size_t used_bytes_ = 0;
};

// Steps of an eighth of a power of two, at least a page: little waste, few classes.
size_t PinnedPool::class_size(size_t size) noexcept
{
    constexpr size_t page = 4096;
    if (size <= 8 * page)
        return (size + page - 1) & ~(page - 1);
    const size_t step = size_t{1} << (63 - __builtin_clzll(size - 1) - 3);
    return (size + step - 1) & ~(step - 1);
}

bool PinnedPool::take_cached(size_t bytes, void **out)
{
    const auto found = cached_.find(bytes);
    if (found == cached_.end() || found->second.empty())
        return false;
    *out = found->second.back();
    found->second.pop_back();
    cached_bytes_ -= bytes;
    return true;
}

bool PinnedPool::passed(const PinnedBlock &block) noexcept
{
    for (const PinnedUse &use : block.uses)
        if (!mark_passed(use.mark))
            return false;
    return true;
}

// Leaves only uses that have a mark; false where others are left, because time was up or a host function would have to wait.
// Without the lock: recording waits where the stream's queue is full.
bool PinnedPool::mark_uses(PinnedBlock *block, const Deadline &deadline)
{
    bool all = true;
    for (PinnedUse &use : block->uses) {
        if (use.stream == nullptr) // has one from before
            continue;
        DeviceScope scope(use.device);
        if ((scope.error() != ACL_SUCCESS || mark_stream(use.device, use.stream->handle, &use.mark) != ACL_SUCCESS) &&
            !wait_for_whole_stream(use.stream->handle, deadline)) {
            all = false;
            continue;
        }
        release_stream_without_waiting(use.stream);
        use.stream = nullptr;
    }
    const auto over = [](const PinnedUse &use) { return use.mark == nullptr && use.stream == nullptr; };
    block->uses.erase(std::remove_if(block->uses.begin(), block->uses.end(), over), block->uses.end());
    return all;
}

// Of a block that nobody has any more; false as above.
bool PinnedPool::put_away(PinnedBlock *block, const Deadline &deadline)
{
    const bool marked = mark_uses(block, deadline);
    Lock lock(mutex_);
    if (!marked)
        unmarked_.push_back(std::move(*block));
    else if (block->uses.empty())
        cache_or_free(*block);
    else
        pending_.push_back(std::move(*block));
    return marked;
}

bool PinnedPool::mark_late(const Deadline &deadline)
{
    std::vector<PinnedBlock> blocks;
    {
        Lock lock(mutex_);
        blocks.swap(unmarked_);
    }
    QuietScope quiet;
    bool all = true;
    for (PinnedBlock &block : blocks)
        all = put_away(&block, deadline) && all;
    return all;
}

void PinnedPool::finish(PinnedBlock *block) noexcept
{
    for (const PinnedUse &use : block->uses)
        give_event_back(use.device, use.mark);
    block->uses.clear();
}

void PinnedPool::cache_or_free(const PinnedBlock &block)
{
    if (cached_bytes_ + block.bytes > largest_cache && give_back(block) == ACL_SUCCESS)
        return;
    cached_[block.bytes].push_back(block.pointer);
    cached_bytes_ += block.bytes;
}

// Looks at so many blocks, in turn. An allocation looks at a few only: behind a deep queue thousands wait, and to ask for each of
// them every time would make the queue's cost grow with its square.
void PinnedPool::poll_pending(size_t most)
{
    for (most = std::min(most, pending_.size()); most != 0; --most) {
        if (next_polled_ >= pending_.size())
            next_polled_ = 0;
        PinnedBlock &block = pending_[next_polled_];
        if (!passed(block)) {
            ++next_polled_;
            continue;
        }
        finish(&block);
        cache_or_free(block);
        if (&block != &pending_.back())
            block = std::move(pending_.back());
        pending_.pop_back();
    }
}

// What the device refuses to take stays. Returns the first refusal.
int PinnedPool::free_cached() noexcept
{
    int refusal = ACL_SUCCESS;
    for (auto &[bytes, pointers] : cached_) {
        const auto given_back = [&refusal](void *pointer) {
            const int code = ACY_CALL(aclrtFreeHost, pointer);
            refusal = refusal != ACL_SUCCESS ? refusal : code;
            return code == ACL_SUCCESS;
        };
        const auto left = std::remove_if(pointers.begin(), pointers.end(), given_back);
        cached_bytes_ -= bytes * static_cast<size_t>(pointers.end() - left);
        pointers.erase(left, pointers.end());
    }
    return refusal;
}

int PinnedPool::alloc(size_t size, const Deadline &deadline, void **out)
{
    if (size == 0 || size > SIZE_MAX / 4)
        return fail(size == 0 ? ACL_ERROR_INVALID_PARAM : ACL_ERROR_RT_MEMORY_ALLOCATION, "",
                    "pinned memory: %zu bytes were asked for", size);
    if (const int error = ascend_cy_ensure_context()) // aclrtMallocHost needs one
        return error;
    const size_t bytes = class_size(size);
    void *pointer = nullptr;
    bool got = false;
    {
        Lock lock(mutex_);
        got = take_cached(bytes, &pointer);
        if (!got && !pending_.empty()) {
            poll_pending(polled_at_once);
            got = take_cached(bytes, &pointer);
        }
    }
    if (!got) {
        mark_late(Deadline(0)); // for the next one
        int code = device_table.aclrtMallocHost(&pointer, bytes);
        if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) {
            QuietScope quiet; // what is told is what comes of it
            if (trim_waiting(deadline) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
                return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
            code = device_table.aclrtMallocHost(&pointer, bytes);
        }
        if (code != ACL_SUCCESS)
            return fail_call(code, "aclrtMallocHost");
    }
    Lock lock(mutex_);
    used_[pointer] = PinnedBlock{pointer, bytes, {}};
    used_bytes_ += bytes;
    *out = pointer;
    return ACL_SUCCESS;
}

void PinnedPool::free(void *pointer)
{
    PinnedBlock block;
    {
        Lock lock(mutex_);
        const auto found = used_.find(pointer);
        if (found == used_.end())
            return; // not ours, or freed before
        block = std::move(found->second);
        used_.erase(found);
        used_bytes_ -= block.bytes;
        if (block.uses.empty()) {
            cache_or_free(block);
            return;
        }
    }
    put_away(&block);
}

int PinnedPool::record(void *pointer, Stream *stream)
{
    std::vector<PinnedUse> forgotten;
    {
        Lock lock(mutex_);
        const auto found = used_.find(pointer);
        if (found == used_.end())
            return fail(ACL_ERROR_INVALID_PARAM, "", "%p is no pinned memory from this pool", pointer);
        std::vector<PinnedUse> &uses = found->second.uses;
        for (const PinnedUse &use : uses)
            if (use.stream == stream)
                return ACL_SUCCESS;
        uses.reserve(uses.size() + 1);
        // Memory that lives long does not keep every stream it was ever used on.
        if (uses.size() >= found->second.crowd) {
            const auto busy = [](const PinnedUse &use) { return !stream_is_idle(use.stream); };
            const auto first = std::stable_partition(uses.begin(), uses.end(), busy);
            forgotten.assign(first, uses.end());
            uses.erase(first, uses.end());
            found->second.crowd = std::max(PinnedBlock().crowd, 2 * uses.size());
        }
        uses.push_back({stream, stream->device, nullptr});
        retain_stream(stream);
    }
    for (const PinnedUse &use : forgotten)
        release_stream_without_waiting(use.stream);
    return ACL_SUCCESS;
}

bool PinnedPool::wait_for(const PinnedBlock &block, const Deadline &deadline) noexcept
{
    for (const PinnedUse &use : block.uses)
        if (!wait_for_mark(use.mark, deadline))
            return false;
    return true;
}

int PinnedPool::give_back(const PinnedBlock &block) noexcept
{
    QuietScope quiet;
    return ACY_CALL(aclrtFreeHost, block.pointer);
}

// Gives back what is free.
int PinnedPool::give_back_idle()
{
    if (const int error = ascend_cy_ensure_context())
        return error;
    QuietScope quiet;
    mark_late(Deadline(0));
    Lock lock(mutex_);
    poll_pending(SIZE_MAX);
    free_cached();
    return ACL_SUCCESS;
}

// Gives back what will be free as well. Time up: 507046 without a message, for the caller asks again.
int PinnedPool::trim_waiting(const Deadline &deadline)
{
    if (const int error = give_back_idle())
        return error;
    bool in_time = mark_late(deadline);
    std::vector<PinnedBlock> waiting;
    {
        Lock lock(mutex_);
        waiting.swap(pending_);
    }
    std::vector<PinnedBlock>::iterator left = waiting.begin();
    for (PinnedBlock &block : waiting) {
        if (wait_for(block, deadline)) {
            finish(&block);
            if (give_back(block) == ACL_SUCCESS)
                continue;
        } else {
            in_time = false;
        }
        if (&block != &*left)
            *left = std::move(block);
        ++left;
    }
    waiting.erase(left, waiting.end());
    if (!waiting.empty())
        keep_pending(&waiting);
    if (!in_time && !thread_state.in_host_function) // there, what needs no waiting is all
        return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
    Lock lock(mutex_);
    poll_pending(SIZE_MAX);
    return free_cached(); // what was refused, once more
}

void PinnedPool::keep_pending(std::vector<PinnedBlock> *blocks)
{
    Lock lock(mutex_);
    try {
        pending_.reserve(pending_.size() + blocks->size());
    } catch (const std::bad_alloc &) {
        // Nowhere to note them: rare, and waiting is the one way not to lose them.
        lock.unlock();
        for (PinnedBlock &block : *blocks) {
            if (!wait_for(block, Deadline()))
                continue; // in a host function, which must not wait: lost
            finish(&block);
            give_back(block);
        }
        throw;
    }
    std::move(blocks->begin(), blocks->end(), std::back_inserter(pending_));
}

void PinnedPool::count_live(ascend_cy_live_counts_t *counts) noexcept
{
    Lock lock(mutex_);
    counts->pinned = static_cast<int64_t>(used_.size());
    counts->pinned_bytes = static_cast<int64_t>(used_bytes_);
}

PinnedPool &pinned_pool()
{
    static PinnedPool *const pool = new PinnedPool; // lives as long as the process
    return *pool;
}

// The containers above throw when the host is out of memory; the C interface must not.
template <typename Body> int guarded(Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    }
}

} // namespace

void count_live_pinned(ascend_cy_live_counts_t *counts) noexcept { pinned_pool().count_live(counts); }

void give_back_idle_pinned_memory() noexcept
{
    guarded([] { return pinned_pool().give_back_idle(); });
}

} // namespace ascend_cy

using namespace ascend_cy;

int ascend_cy_pinned_alloc(size_t size, void **out) { return ascend_cy_pinned_alloc_within(size, -1, out); }

int ascend_cy_pinned_alloc_within(size_t size, int32_t timeout_ms, void **out)
{
    *out = nullptr;
    return guarded([&] { return pinned_pool().alloc(size, Deadline(timeout_ms), out); });
}

void ascend_cy_pinned_free(void *pointer)
{
    if (pointer == nullptr || !device_usable())
        return;
    QuietScope quiet;
    guarded([&] {
        pinned_pool().free(pointer);
        return ACL_SUCCESS;
    });
}

int ascend_cy_pinned_record_stream(void *pointer, ascend_cy_stream_t *stream)
{
    if (stream == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the stream is NULL");
    if (const int error = ready())
        return error;
    return guarded([&] { return pinned_pool().record(pointer, stream); });
}

int ascend_cy_pinned_trim(void) { return ascend_cy_pinned_trim_within(-1); }

int ascend_cy_pinned_trim_within(int32_t timeout_ms)
{
    return guarded([&] { return pinned_pool().trim_waiting(Deadline(timeout_ms)); });
}
