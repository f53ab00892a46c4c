/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool hands out blocks at once; a block that was freed on a stream may be used again by the same stream at once, by
 * others when that stream has passed the free.
 */
#include "mempool.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "device.h"
#include "handles.h"
#include "leaks.h"
#include "log.h"
#include "model.h"
#include "memory.h"
#include "settings.h"
#include "stream.h"

namespace acl_cpu {

std::atomic<uint32_t> g_memory_pools{0};

struct MemoryPool {
    static constexpr Kind kind = Kind::Pool;

    MemoryPool(Device *on, size_t limit) : device(on), max_bytes(limit) {}

    enum class State { Used, Freed /* the stream has not come to the free yet */, Free };
    struct Block {
        uintptr_t base;
        size_t bytes;
        bool mapped;
        State state;
        void *stream;      /* handle, of the free */
        uint64_t freeing;  /* number of the free, so that an overtaken one is recognised */
    };

    Device *const device;
    const size_t max_bytes; /* 0: as much as the device has */
    std::mutex lock;
    /* ---- under the lock ---- */
    std::map<uintptr_t, Block> blocks;
    uint64_t freeings = 0;
    uint64_t reserved = 0;
    uint64_t reserved_high = 0;
    uint64_t used = 0;
    uint64_t used_high = 0;
    uint64_t threshold = 0;
    uint32_t reuse[3] = {1, 1, 1};
    bool closed = false; /* being destroyed: gives no more memory */
    References references; /* the handle and queued frees */

    void release()
    {
        if (references.release()) handles<MemoryPool>().destroy(this);
    }
};

void log_live_pools()
{
    handles<MemoryPool>().for_each_live([](MemoryPool *pool) {
        log_leak(Handles<MemoryPool>::creator_of(pool), "memory pool %p of device %d is", Handles<MemoryPool>::handle_of(pool),
                 pool->device->id);
    });
}

namespace {

constexpr size_t block_granule = 512;

/* Which pool a block belongs to; frees name only the address. */
std::mutex &owners_lock = *new std::mutex;
std::map<uintptr_t, MemoryPool *> &owners = *new std::map<uintptr_t, MemoryPool *>;
std::set<MemoryPool *> &all_pools = *new std::set<MemoryPool *>;

aclError find_pool(void *handle, MemoryPool **pool)
{
    REQUIRE(handle != nullptr, "mem_pool is NULL");
    *pool = Handles<MemoryPool>::find(handle);
    if (*pool != nullptr) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "mem_pool %p is no live pool", handle);
}

/* The stream's free of a block. */
struct PoolFreeTask final : Task {
    PoolFreeTask(MemoryPool *from, uintptr_t address, uint64_t number) : owner(from), base(address), freeing(number) {}
    PoolFreeTask(PoolFreeTask &&other) noexcept
        : Task(std::move(other)), owner(other.owner), base(other.base), freeing(other.freeing)
    {
        owns_reference = owner->references.retain(); /* the caller has one */
    }
    ~PoolFreeTask() override
    {
        if (owns_reference) owner->release();
    }
    const char *name() const override { return "pool free"; }
    uint64_t cost_ns() const override { return 0; }
    Step start(Stream &) override
    {
        std::lock_guard<std::mutex> hold(owner->lock);
        auto found = owner->blocks.find(base);
        /* The stream may have taken the block again already. */
        if (found == owner->blocks.end() || found->second.freeing != freeing) return Step::Done;
        found->second.state = MemoryPool::State::Free;
        Allocation removed;
        unregister_range(base, MemoryKind::PoolBlock, &removed);
        return Step::Done;
    }
    void drop() override { start(*stream); }

    MemoryPool *const owner;
    const uintptr_t base;
    const uint64_t freeing;
    bool owns_reference = false;
};

void enter(MemoryPool &pool, MemoryPool::Block &block, size_t size, const void *creator)
{
    block.state = MemoryPool::State::Used;
    block.freeing = 0;
    Allocation range;
    /* A block that its stream takes back before the free came to pass is registered still, with the former size. */
    unregister_range(block.base, MemoryKind::PoolBlock, &range);
    range = Allocation();
    range.base = block.base;
    range.size = size;
    range.extent = block.bytes;
    range.kind = MemoryKind::PoolBlock;
    range.device = pool.device->id;
    range.mapped = block.mapped;
    range.creator = creator;
    register_range(range);
    pool.used += block.bytes;
    pool.used_high = std::max(pool.used_high, pool.used);
}

/* Gives free blocks back to the system until at most `keep` bytes are reserved. Under the pool's lock. */
void trim(MemoryPool &pool, uint64_t keep)
{
    for (auto entry = pool.blocks.begin(); entry != pool.blocks.end() && pool.reserved > keep;) {
        MemoryPool::Block &block = entry->second;
        if (block.state != MemoryPool::State::Free) {
            ++entry;
            continue;
        }
        unmap_memory(reinterpret_cast<void *>(block.base), block.bytes, block.mapped);
        pool.device->memory_used.fetch_sub(block.bytes);
        pool.reserved -= block.bytes;
        {
            std::lock_guard<std::mutex> hold(owners_lock);
            owners.erase(block.base);
        }
        entry = pool.blocks.erase(entry);
    }
}

aclError grow(MemoryPool &pool, size_t bytes, MemoryPool::Block *block)
{
    uint64_t limit = settings().memory_bytes;
    uint64_t used = pool.device->memory_used.load();
    bool over_own_limit = pool.max_bytes != 0 && pool.reserved + bytes > pool.max_bytes;
    if (over_own_limit || bytes > limit || used > limit - bytes) {
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no room for %zu bytes: the pool has reserved %llu of %llu, the device uses %llu of %llu",
                    bytes, static_cast<unsigned long long>(pool.reserved), static_cast<unsigned long long>(pool.max_bytes),
                    static_cast<unsigned long long>(used), static_cast<unsigned long long>(limit));
    }
    void *memory = map_memory(bytes, &block->mapped);
    if (memory == nullptr) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the operating system has no memory for %zu bytes", bytes);
    pool.device->memory_used.fetch_add(bytes);
    block->base = reinterpret_cast<uintptr_t>(memory);
    block->bytes = bytes;
    pool.reserved += bytes;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    std::lock_guard<std::mutex> hold(owners_lock);
    owners[block->base] = &pool;
    return ACL_SUCCESS;
}

/* The smallest block that may be used by the stream now, at most twice as large as needed. */
MemoryPool::Block *find_block(MemoryPool &pool, size_t bytes, void *stream)
{
    MemoryPool::Block *best = nullptr;
    for (auto &entry : pool.blocks) {
        MemoryPool::Block &block = entry.second;
        bool usable = block.state == MemoryPool::State::Free || (block.state == MemoryPool::State::Freed && block.stream == stream);
        if (usable && block.bytes >= bytes && block.bytes / 2 <= bytes && (best == nullptr || block.bytes < best->bytes)) best = &block;
    }
    return best;
}

} // namespace

void trim_pools(Device &device)
{
    std::vector<MemoryPool *> pools;
    {
        std::lock_guard<std::mutex> hold(owners_lock);
        for (MemoryPool *pool : all_pools) {
            if (pool->device == &device && pool->references.retain()) pools.push_back(pool);
        }
    }
    for (MemoryPool *pool : pools) {
        {
            std::lock_guard<std::mutex> hold(pool->lock);
            trim(*pool, std::max(pool->threshold, pool->used));
        }
        pool->release();
    }
}

} // namespace acl_cpu

using namespace acl_cpu;

aclError aclrtMemPoolCreate(aclrtMemPool *mem_pool, const aclrtMemPoolProps *pool_props)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(mem_pool);
    REQUIRE_NOT_NULL(pool_props);
    if (pool_props->allocType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "pool_props->allocType is %d, only pinned (0) exists",
                    static_cast<int>(pool_props->allocType));
    }
    if (pool_props->handleType != ACL_MEM_HANDLE_TYPE_NONE) {
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "pool_props->handleType is %d; pools cannot be shared between processes",
                    static_cast<int>(pool_props->handleType));
    }
    if (pool_props->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "pool_props->location.type is %d, it must be a device (1)",
                    static_cast<int>(pool_props->location.type));
    }
    Device *device = require_device(pool_props->location.id);
    if (device == nullptr) return ACL_ERROR_RT_INVALID_DEVICEID;
    MemoryPool *pool = handles<MemoryPool>().create(__builtin_return_address(0), device, pool_props->maxSize);
    if (pool == nullptr) return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "too many pools exist");
    {
        std::lock_guard<std::mutex> hold(owners_lock);
        all_pools.insert(pool);
    }
    g_memory_pools.fetch_add(1);
    *mem_pool = Handles<MemoryPool>::handle_of(pool);
    return ACL_SUCCESS;
}

aclError aclrtMemPoolDestroy(aclrtMemPool mem_pool)
{
    ACL_ENTRY_RELEASE();
    MemoryPool *pool = nullptr;
    RETURN_IF_ERROR(find_pool(mem_pool, &pool));
    {
        std::lock_guard<std::mutex> hold(pool->lock);
        if (pool->closed) return fail(ACL_ERROR_RT_INVALID_HANDLE, "mem_pool %p is being destroyed", mem_pool);
        if (pool->used != 0) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "%llu bytes of the pool are in use: free them first",
                        static_cast<unsigned long long>(pool->used));
        }
        pool->closed = true;
    }
    Handles<MemoryPool>::retire(pool);
    {
        std::lock_guard<std::mutex> hold(owners_lock);
        all_pools.erase(pool);
    }
    /* Streams that have not come to their frees yet may still use the blocks. Their tasks take the lock. */
    std::set<void *> streams;
    {
        std::lock_guard<std::mutex> hold(pool->lock);
        for (const auto &entry : pool->blocks) {
            if (entry.second.state == MemoryPool::State::Freed) streams.insert(entry.second.stream);
        }
    }
    for (void *handle : streams) {
        UseScope scope;
        Stream *stream = Handles<Stream>::find(handle);
        if (stream != nullptr) wait_for(*stream, Stream::submitted(stream->progress.load()), NO_DEADLINE);
    }
    {
        std::lock_guard<std::mutex> hold(pool->lock);
        trim(*pool, 0);
    }
    g_memory_pools.fetch_sub(1);
    pool->release();
    return ACL_SUCCESS;
}

aclError aclrtMemPoolMallocAsync(void **ptr, size_t size, aclrtMemPool mem_pool, aclrtStream stream)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(ptr);
    REQUIRE(size != 0, "size is 0");
    MemoryPool *pool = nullptr;
    RETURN_IF_ERROR(find_pool(mem_pool, &pool));
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(refuse_recorded(*target, "memory of a pool"));
    if (target->device != pool->device) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the pool is on device %d, the stream on device %d", pool->device->id,
                    target->device->id);
    }
    if (size > SIZE_MAX / 2) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes are more than any device has", size);
    size_t bytes = round_up(size, block_granule);
    std::lock_guard<std::mutex> hold(pool->lock);
    if (pool->closed) return fail(ACL_ERROR_RT_INVALID_HANDLE, "mem_pool %p is being destroyed", mem_pool);
    MemoryPool::Block *block = find_block(*pool, bytes, target->handle());
    if (block == nullptr) {
        MemoryPool::Block fresh = {};
        aclError error = grow(*pool, bytes, &fresh);
        if (error != ACL_SUCCESS) {
            /* What lies idle may make the room; the second attempt decides. */
            trim(*pool, pool->used);
            RETURN_IF_ERROR(grow(*pool, bytes, &fresh));
        }
        block = &(pool->blocks[fresh.base] = fresh);
    }
    enter(*pool, *block, size, __builtin_return_address(0));
    *ptr = reinterpret_cast<void *>(block->base);
    LOG(MEMORY, "pool malloc %zu bytes on stream %d: %p", size, target->id, *ptr);
    return ACL_SUCCESS;
}

aclError aclrtMemPoolFreeAsync(void *ptr, aclrtStream stream)
{
    ACL_ENTRY_RELEASE();
    REQUIRE_NOT_NULL(ptr);
    Stream *target = nullptr;
    RETURN_IF_ERROR(find_stream(stream, &target));
    RETURN_IF_ERROR(refuse_recorded(*target, "memory of a pool"));
    uintptr_t base = reinterpret_cast<uintptr_t>(ptr);
    MemoryPool *pool = nullptr;
    {
        std::lock_guard<std::mutex> hold(owners_lock);
        auto found = owners.find(base);
        if (found != owners.end()) {
            pool = found->second;
            if (!pool->references.retain()) pool = nullptr;
        }
    }
    if (pool == nullptr) return fail(ACL_ERROR_RT_PARAM_INVALID, "ptr %p was not allocated by aclrtMemPoolMallocAsync", ptr);
    uint64_t number = 0;
    {
        std::lock_guard<std::mutex> hold(pool->lock);
        auto found = pool->blocks.find(base);
        if (found != pool->blocks.end() && found->second.state == MemoryPool::State::Used) {
            MemoryPool::Block &block = found->second;
            number = ++pool->freeings;
            block.state = MemoryPool::State::Freed;
            block.stream = target->handle();
            block.freeing = number;
            pool->used -= block.bytes;
        }
    }
    aclError error = number != 0 ? submit(*target, PoolFreeTask(pool, base, number))
                                 : fail(ACL_ERROR_RT_PARAM_INVALID, "ptr %p was freed already", ptr);
    pool->release();
    return error;
}

aclError aclrtMemPoolTrimTo(aclrtMemPool mem_pool, size_t min_bytes_to_keep)
{
    ACL_ENTRY();
    MemoryPool *pool = nullptr;
    RETURN_IF_ERROR(find_pool(mem_pool, &pool));
    std::lock_guard<std::mutex> hold(pool->lock);
    trim(*pool, min_bytes_to_keep);
    return ACL_SUCCESS;
}

aclError aclrtMemPoolSetAttr(aclrtMemPool mem_pool, aclrtMemPoolAttr attr, void *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    MemoryPool *pool = nullptr;
    RETURN_IF_ERROR(find_pool(mem_pool, &pool));
    std::lock_guard<std::mutex> hold(pool->lock);
    switch (attr) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
        uint32_t on = *static_cast<uint32_t *>(value);
        if (on > 1) return fail(ACL_ERROR_RT_PARAM_INVALID, "*value is %u, not 0 or 1", on);
        pool->reuse[attr - ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES] = on;
        return ACL_SUCCESS;
    }
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD: pool->threshold = *static_cast<uint64_t *>(value); return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH: {
        if (*static_cast<uint64_t *>(value) != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "a peak can only be set to 0");
        bool of_reserved = attr == ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH;
        (of_reserved ? pool->reserved_high : pool->used_high) = of_reserved ? pool->reserved : pool->used;
        return ACL_SUCCESS;
    }
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT:
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT: return fail(ACL_ERROR_RT_PARAM_INVALID, "attribute %d is read-only", static_cast<int>(attr));
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "attr is %d, not one of aclrtMemPoolAttr", static_cast<int>(attr));
}

aclError aclrtMemPoolGetAttr(aclrtMemPool mem_pool, aclrtMemPoolAttr attr, void *value)
{
    ACL_ENTRY();
    REQUIRE_NOT_NULL(value);
    MemoryPool *pool = nullptr;
    RETURN_IF_ERROR(find_pool(mem_pool, &pool));
    std::lock_guard<std::mutex> hold(pool->lock);
    uint64_t *number = static_cast<uint64_t *>(value);
    switch (attr) {
    case ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC:
    case ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *static_cast<uint32_t *>(value) = pool->reuse[attr - ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES];
        return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD: *number = pool->threshold; return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT: *number = pool->reserved; return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH: *number = pool->reserved_high; return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT: *number = pool->used; return ACL_SUCCESS;
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH: *number = pool->used_high; return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "attr is %d, not one of aclrtMemPoolAttr", static_cast<int>(attr));
}
