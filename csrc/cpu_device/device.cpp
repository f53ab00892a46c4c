/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <algorithm>
#include <memory>

#include "mempool.h"
#include "settings.h"
#include "stream.h"

namespace acl_cpu {

namespace {

/* Devices are made as they are asked for and live for ever. */
constexpr uint32_t most_devices = 64;
std::atomic<Device *> devices[most_devices];
std::mutex &devices_lock = *new std::mutex;

} // namespace

uint32_t device_count() { return settings().devices; }

Device *find_device(int64_t id)
{
    if (id < 0 || id >= static_cast<int64_t>(device_count())) return nullptr;
    std::atomic<Device *> &place = devices[id];
    if (Device *known = place.load(std::memory_order_acquire)) return known;
    std::lock_guard<std::mutex> hold(devices_lock);
    if (place.load() == nullptr) place.store(new Device(static_cast<int32_t>(id)));
    return place.load();
}

Device *require_device(int64_t id)
{
    if (Device *device = find_device(id)) return device;
    fail(ACL_ERROR_RT_INVALID_DEVICEID, "there is no device %lld: the process has %u", static_cast<long long>(id),
         device_count());
    return nullptr;
}

void make_current(Context *context)
{
    set_current_slot(context != nullptr ? Handles<Context>::slot_for_use(context) : nullptr);
    t_state.context = context;
    /* It may be gone by now; 1 is no tag, so that it is found out. */
    uint32_t tag = context != nullptr ? Handles<Context>::live_tag(context) : 0;
    t_state.context_tag = tag != 0 ? tag : 1;
}

std::vector<void *> streams_of(Device &device)
{
    std::vector<void *> result;
    std::lock_guard<std::mutex> hold(device.lock);
    for (Context *context : device.contexts) {
        std::lock_guard<std::mutex> hold_context(context->lock);
        for (Stream *stream = context->streams; stream != nullptr; stream = stream->next_in_context) {
            result.push_back(stream->handle());
        }
    }
    return result;
}

aclError synchronize_device(Device &device, uint64_t deadline)
{
    aclError first = ACL_SUCCESS;
    for (void *handle : streams_of(device)) {
        UseScope scope;
        Stream *stream = Handles<Stream>::find(handle);
        if (stream == nullptr) continue; /* destroyed by another thread, hence done */
        if (stream->idle() && stream->trouble.load(std::memory_order_relaxed) == 0) continue;
        aclError error = synchronize(*stream, deadline);
        if (first == ACL_SUCCESS) first = error;
        if (error == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) return error;
    }
    trim_pools_if_any(device);
    return first;
}

uint64_t reserve_link(Device &device, bool upload, uint64_t bytes)
{
    uint64_t rate = settings().link_bytes_per_second;
    if (rate == 0) return 0;
    uint64_t duration = static_cast<uint64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(rate));
    std::atomic<uint64_t> &busy_until = upload ? device.upload_busy_until : device.download_busy_until;
    uint64_t before = busy_until.load(std::memory_order_relaxed);
    uint64_t end;
    do {
        end = std::max(before, now_ns()) + duration;
    } while (!busy_until.compare_exchange_weak(before, end));
    return end;
}

} // namespace acl_cpu
