// SPDX-License-Identifier: Apache-2.0
//
// Which pools there are: the default one of each device, those that users made, and the current ones of each thread.
//
// Pools live as long as the process: buffers may be released while it ends, and streams keep their places in them. One
// that nobody has a handle of and that holds no memory any more is taken for the next one that is made.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "../env.h"
#include "../thread_state.h"
#include "device_pool.h"

namespace ascend_cy {

std::mutex DevicePool::reclaim_mutexes[max_devices];

namespace {

std::atomic<ascend_cy_pool *> default_pools[max_devices];
std::atomic<ascend_cy_pool *> users_pools[max_devices]; // only ever gets new ones at its head
std::mutex making_mutex;                                 // one thread makes a pool at a time
std::atomic<int> retired_pools{0};                       // that may have memory

ascend_cy_pool *make_pool(int32_t device, uint64_t limit) noexcept
{
    const bool exact = loaded_device()->info.kind == ASCEND_CY_KIND_SIM;
    // The vendor lets hardware read 32 bytes past the end of an allocation and adds them itself, except here.
    const char *soc = device_table.aclrtGetSocName();
    const size_t tail = soc != nullptr && std::strncmp(soc, "Ascend950", 9) == 0 ? 32 : 0;
    auto *const made = new (std::nothrow) ascend_cy_pool(device, limit, exact, tail);
    if (made == nullptr)
        fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    return made;
}

bool in_range(int32_t device) noexcept { return device >= 0 && device < max_devices; }

// The pool that a C caller means: NULL is the thread's current one of its current device.
int chosen_pool(ascend_cy_pool_t *pool, DevicePool **out) noexcept
{
    if (const int error = ready())
        return error;
    *out = pool != nullptr ? pool : ascend_cy_current_pool(-1);
    return *out != nullptr ? ACL_SUCCESS : ascend_cy_last_code();
}

int resolve_device(int32_t *device) noexcept
{
    if (const int error = ready())
        return error;
    if (*device == -1)
        return current_device(device);
    return check_device_id(*device);
}

} // namespace

DevicePool *existing_pool(int32_t device) noexcept
{
    return in_range(device) ? default_pools[device].load(std::memory_order_acquire) : nullptr;
}

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
    ascend_cy_pool *const made = make_pool(device, limit);
    if (made == nullptr)
        return nullptr;
    ascend_cy_pool *there = nullptr;
    if (default_pools[device].compare_exchange_strong(there, made, std::memory_order_acq_rel))
        return made;
    delete made; // another thread was faster
    return there;
}

DevicePool *next_pool(int32_t device, DevicePool *pool) noexcept
{
    if (!in_range(device))
        return nullptr;
    DevicePool *const first = existing_pool(device);
    if (pool == nullptr && first != nullptr)
        return first;
    if (pool == nullptr || pool == first)
        return users_pools[device].load(std::memory_order_acquire);
    return static_cast<ascend_cy_pool *>(pool)->next_of_device;
}

DevicePool *current_pool(int32_t device) noexcept
{
    if (__builtin_expect(thread_state.pools != nullptr, 0))
        if (ascend_cy_pool *pool = thread_state.pools[device])
            return pool;
    return existing_pool(device);
}

void forget_thread_pools() noexcept
{
    ascend_cy_pool **const pools = thread_state.pools;
    thread_state.pools = nullptr;
    if (pools == nullptr)
        return;
    for (int32_t device = 0; device < max_devices; ++device)
        if (pools[device] != nullptr)
            pools[device]->release_handle(false);
    delete[] pools;
}

// ---- pools that users made ----

void DevicePool::retain() noexcept
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (handles_++ == 0 && users_own_)
        return_to_service(); // found through a buffer
}

// With the lock.
void DevicePool::return_to_service() noexcept
{
    if (settled_live_ != 0)
        retired_pools.fetch_sub(1, std::memory_order_relaxed);
    settled_live_ = 0;
    retired_.store(false, std::memory_order_relaxed);
}

void DevicePool::release_handle(bool may_call_device) noexcept
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!users_own_ || --handles_ != 0)
            return;
        retired_.store(true, std::memory_order_relaxed);
        retired_pools.fetch_add(1, std::memory_order_relaxed);
        settled_live_ = -1;
    }
    if (may_call_device && device_usable())
        give_back_idle();
}

bool DevicePool::start_over(const char *name, uint64_t limit) noexcept
{
    std::lock_guard<std::mutex> lock(mutex_);
    if (users_own_ && (handles_ != 0 || live_ != 0 || reserved_ != 0))
        return false;
    return_to_service();
    users_own_ = true;
    handles_ = 1;
    limit_ = limit;
    if (device_total_ != 0)
        set_capacity();
    growth_credit_ = 0;
    peak_in_use_ = peak_reserved_ = 0;
    allocations_ = empty_allocations_ = device_allocations_ = device_frees_ = 0;
    std::snprintf(name_, sizeof name_, "%s", name);
    return true;
}

bool DevicePool::collect_retired() noexcept
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!retired() || settled_live_ == 0)
            return false;
        if (settled_live_ == live_)
            return true; // nothing came back since the last look
    }
    give_back_idle();
    std::lock_guard<std::mutex> lock(mutex_);
    if (!retired() || settled_live_ == 0)
        return false; // another thread looked at the same time: it is counted out once
    // A mark may be out of sight: another thread waits for it, or nobody could set one on a stream that is going.
    bool settled = pending_bytes_ == 0 && (live_ != 0 || reserved_ == 0);
    for (const Arena *arena = arenas_; settled && arena != nullptr; arena = arena->next)
        settled = arena->free_bytes == 0 || arena->newest <= arena->passed;
    if (!settled)
        return true;
    settled_live_ = live_;
    if (live_ != 0)
        return true;
    retired_pools.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

void collect_retired_pools() noexcept
{
    if (__builtin_expect(retired_pools.load(std::memory_order_relaxed) == 0, 1) || !device_usable())
        return;
    for_each_pool([](DevicePool *pool) {
        if (pool->retired())
            pool->collect_retired();
    });
}

void give_back_idle_memory() noexcept
{
    for_each_pool([](DevicePool *pool) { pool->give_back_idle(); });
}

// ---- the places of a stream ----

bool may_leave_arenas(Stream *stream) noexcept
{
    QuietScope quiet;
    DeviceScope scope(stream->device);
    for (Seat *seat = stream->seats.load(std::memory_order_acquire); seat != nullptr; seat = seat->next_of_box)
        if (!seat->pool->may_leave(seat))
            return false;
    return true;
}

void leave_arenas(Stream *stream) noexcept
{
    for (Seat *seat = stream->seats.load(std::memory_order_acquire); seat != nullptr; seat = seat->next_of_box)
        seat->pool->leave(seat);
}

void arenas_passed(Stream *stream) noexcept
{
    for (Seat *seat = stream->seats.load(std::memory_order_acquire); seat != nullptr; seat = seat->next_of_box)
        seat->pool->arena_passed(seat->arena);
}

void delete_seats(Stream *stream) noexcept
{
    for (Seat *seat = stream->seats.exchange(nullptr, std::memory_order_acquire); seat != nullptr;) {
        Seat *const next = seat->next_of_box;
        delete seat;
        seat = next;
    }
}

} // namespace ascend_cy

using namespace ascend_cy;

int ascend_cy_pool_create(int32_t device, const char *name, uint64_t limit, ascend_cy_pool_t **out)
{
    *out = nullptr;
    if (const int error = resolve_device(&device))
        return error;
    if (name == nullptr)
        name = "";
    collect_retired_pools();
    std::lock_guard<std::mutex> lock(making_mutex);
    for (ascend_cy_pool *pool = users_pools[device].load(std::memory_order_acquire); pool != nullptr;
         pool = pool->next_of_device)
        if (pool->start_over(name, limit)) {
            *out = pool;
            return ACL_SUCCESS;
        }
    ascend_cy_pool *const made = make_pool(device, limit);
    if (made == nullptr)
        return ACL_ERROR_BAD_ALLOC;
    made->start_over(name, limit);
    made->next_of_device = users_pools[device].load(std::memory_order_relaxed);
    users_pools[device].store(made, std::memory_order_release);
    *out = made;
    return ACL_SUCCESS;
}

void ascend_cy_pool_retain(ascend_cy_pool_t *pool) { pool->retain(); }

void ascend_cy_pool_release(ascend_cy_pool_t *pool)
{
    if (pool != nullptr && !ascend_cy_is_forked_child()) // there the lock may never open
        pool->release_handle(true);
}

int32_t ascend_cy_pool_device(const ascend_cy_pool_t *pool) { return pool->device(); }

const char *ascend_cy_pool_name(const ascend_cy_pool_t *pool) { return pool->name(); }

ascend_cy_pool_t *ascend_cy_default_pool(int32_t device)
{
    return resolve_device(&device) == ACL_SUCCESS ? static_cast<ascend_cy_pool *>(pool_of_device(device)) : nullptr;
}

ascend_cy_pool_t *ascend_cy_current_pool(int32_t device)
{
    if (resolve_device(&device) != ACL_SUCCESS)
        return nullptr;
    DevicePool *const pool = current_pool(device);
    return static_cast<ascend_cy_pool *>(pool != nullptr ? pool : pool_of_device(device));
}

int ascend_cy_set_current_pool(int32_t device, ascend_cy_pool_t *pool)
{
    if (pool != nullptr && (device == -1 || device == pool->device()))
        device = pool->device();
    else if (const int error = resolve_device(&device))
        return error;
    if (pool != nullptr && pool->device() != device)
        return fail(ACL_ERROR_INVALID_PARAM, "", "the pool is of device %d, not of device %d", pool->device(), device);
    if (thread_state.pools == nullptr) {
        if (pool == nullptr || !pool->users_own())
            return ACL_SUCCESS;
        thread_state.pools = new (std::nothrow) ascend_cy_pool_t *[max_devices]();
        if (thread_state.pools == nullptr)
            return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
        watch_thread_exit();
    }
    ascend_cy_pool_t *const now = pool != nullptr && pool->users_own() ? pool : nullptr;
    if (now != nullptr)
        now->retain();
    ascend_cy_pool_t *const before = thread_state.pools[device];
    thread_state.pools[device] = now;
    if (before != nullptr)
        before->release_handle(true);
    return ACL_SUCCESS;
}

ascend_cy_pool_t *ascend_cy_buffer_pool(const ascend_cy_buffer_t *buffer)
{
    return static_cast<ascend_cy_pool *>(buffer->pool);
}

int ascend_cy_pool_figures(ascend_cy_pool_t *pool, ascend_cy_pool_figures_t *out, size_t size)
{
    ascend_cy_pool_figures_t now;
    std::memset(&now, 0, sizeof now);
    std::memset(out, 0, size);
    DevicePool *chosen = nullptr;
    if (const int error = chosen_pool(pool, &chosen))
        return error;
    chosen->figures(&now);
    std::memcpy(out, &now, size < sizeof now ? size : sizeof now); // callers may know fewer fields, or more
    return ACL_SUCCESS;
}

int ascend_cy_pool_reset_peaks(ascend_cy_pool_t *pool)
{
    DevicePool *chosen = nullptr;
    if (const int error = chosen_pool(pool, &chosen))
        return error;
    chosen->reset_peaks();
    return ACL_SUCCESS;
}

int ascend_cy_pool_limit_to(ascend_cy_pool_t *pool, uint64_t bytes)
{
    DevicePool *chosen = nullptr;
    if (const int error = chosen_pool(pool, &chosen))
        return error;
    chosen->set_limit(bytes);
    return ACL_SUCCESS;
}

int ascend_cy_pool_trim_to(ascend_cy_pool_t *pool, uint64_t keep, int32_t timeout_ms)
{
    DevicePool *chosen = nullptr;
    if (const int error = chosen_pool(pool, &chosen))
        return error;
    return chosen->trim(keep, Deadline(timeout_ms));
}
