// SPDX-License-Identifier: Apache-2.0
//
// A range is a pair of timed events on its stream. Their times are the device's; a pair of readings when a device is first
// met in a recording sets them against the host's clock.
#include "profile.h"

#include "ascend_cy/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "event.h"
#include "hazard/hazard.h"
#include "stream.h"

namespace ascend_cy {

std::atomic<bool> ranges_wanted{false};

struct OpenRange {
    ascend_cy_range_t facts;
    aclrtEvent begin;
    aclrtEvent end;
    uint64_t recording; // 0: told to the tool library only
    uint64_t tool_id;
};

namespace {

constexpr unsigned timed = ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE;
constexpr size_t pending_before_a_look = 512; // a device has 65536 events for all processes

struct ToolLibrary {
    uint64_t (*start)(const char *message, aclrtStream stream) = nullptr; // mstxRangeStartA
    void (*end)(uint64_t id) = nullptr;                                   // mstxRangeEnd
};
ToolLibrary tools; // written before ranges_wanted

std::mutex mutex; // guards everything below; under it nothing is waited for
uint64_t recordings = 0;
uint64_t current = 0; // 0: none
size_t lost = 0;
size_t open_count = 0;
std::deque<OpenRange *> pending; // ended, oldest first
std::vector<ascend_cy_range_t> done;
std::vector<aclrtEvent> idle_events[max_devices];
double offset_us[max_devices]; // host's time minus the device's
uint64_t offset_of[max_devices] = {}; // the recording that an offset belongs to

const char *interned(const char *name)
{
    static auto *const names = new std::set<std::string>; // never destroyed: results point into it
    return names->insert(name).first->c_str();
}

double host_us() noexcept
{
    using namespace std::chrono;
    return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

int take_timed_event(int32_t device, aclrtEvent *event) noexcept
{
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (!idle_events[device].empty()) {
            *event = idle_events[device].back();
            idle_events[device].pop_back();
            return ACL_SUCCESS;
        }
    }
    return ACY_CALL(aclrtCreateEventExWithFlag, event, timed);
}

void give_back(int32_t device, aclrtEvent event) noexcept
{
    if (event == nullptr)
        return;
    try {
        std::lock_guard<std::mutex> lock(mutex);
        idle_events[device].push_back(event);
    } catch (const std::bad_alloc &) {
        device_table.aclrtDestroyEvent(event);
    }
}

bool device_us(aclrtEvent event, double *us) noexcept
{
    uint64_t stamp = 0;
    if (ACY_CALL(aclrtEventGetTimestamp, event, &stamp) != ACL_SUCCESS)
        return false;
    *us = static_cast<double>(stamp);
    return true;
}

// On a stream of its own, so that it waits for nobody's work.
bool set_clock(int32_t device, uint64_t recording) noexcept
{
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    double there = 0;
    double here = 0;
    bool good = ACY_CALL(aclrtCreateStream, &stream) == ACL_SUCCESS && take_timed_event(device, &event) == ACL_SUCCESS;
    if (good) {
        good = ACY_CALL(aclrtRecordEvent, event, stream) == ACL_SUCCESS &&
               ACY_CALL(aclrtSynchronizeStream, stream) == ACL_SUCCESS && device_us(event, &there);
        here = host_us();
    }
    if (stream != nullptr)
        device_table.aclrtDestroyStream(stream);
    give_back(device, event);
    if (!good)
        return false;
    std::lock_guard<std::mutex> lock(mutex);
    offset_us[device] = here - there;
    offset_of[device] = recording;
    return true;
}

// Reads the times of a range whose end has passed.
void finish(OpenRange *range) noexcept
{
    const int32_t device = range->facts.device;
    DeviceScope scope(device);
    double begin = 0;
    float ms = 0;
    const bool good = scope.error() == ACL_SUCCESS && device_us(range->begin, &begin) &&
                      ACY_CALL(aclrtEventElapsedTime, &ms, range->begin, range->end) == ACL_SUCCESS;
    give_back(device, range->begin);
    give_back(device, range->end);
    try {
        std::lock_guard<std::mutex> lock(mutex);
        if (range->recording != current) {
            // of a recording that has ended without it
        } else if (!good) {
            ++lost;
        } else {
            range->facts.begin_us = begin + offset_us[device];
            range->facts.end_us = range->facts.begin_us + 1e3 * static_cast<double>(ms);
            done.push_back(range->facts);
        }
    } catch (const std::bad_alloc &) {
        std::lock_guard<std::mutex> lock(mutex);
        ++lost;
    }
    delete range;
}

// So that a long recording does not keep an event for everything that ever ran.
void finish_what_has_passed() noexcept
{
    for (;;) {
        OpenRange *range = nullptr;
        {
            std::lock_guard<std::mutex> lock(mutex);
            if (pending.empty() || !mark_passed(pending.front()->end))
                return;
            range = pending.front();
            pending.pop_front();
        }
        finish(range);
    }
}

void lose(OpenRange *range) noexcept
{
    give_back(range->facts.device, range->begin);
    give_back(range->facts.device, range->end);
    std::lock_guard<std::mutex> lock(mutex);
    if (range->recording == current)
        ++lost;
    range->recording = 0;
}

} // namespace

void find_tool_library(bool may_load) noexcept
{
    void *start = dlsym(RTLD_DEFAULT, "mstxRangeStartA");
    void *end = dlsym(RTLD_DEFAULT, "mstxRangeEnd");
    if (start == nullptr && may_load) {
        if (void *library = dlopen("libms_tools_ext.so", RTLD_NOW | RTLD_LOCAL)) {
            start = dlsym(library, "mstxRangeStartA");
            end = dlsym(library, "mstxRangeEnd");
        }
    }
    if (start == nullptr || end == nullptr)
        return;
    tools.start = reinterpret_cast<uint64_t (*)(const char *, aclrtStream)>(start);
    tools.end = reinterpret_cast<void (*)(uint64_t)>(end);
    ranges_wanted.store(true, std::memory_order_release);
}

OpenRange *begin_range(const char *name, int32_t device, aclrtStream stream) noexcept
{
    QuietScope quiet; // whoever is being watched is not to be disturbed
    auto *const range = new (std::nothrow) OpenRange{{}, nullptr, nullptr, 0, 0};
    if (range == nullptr)
        return nullptr;
    if (hazard::on())
        hazard::push_name(name);
    range->facts.device = device;
    range->facts.stream = reinterpret_cast<uintptr_t>(stream);
    if (tools.start != nullptr)
        range->tool_id = tools.start(name, stream);
    bool clock_is_set = false;
    try {
        std::lock_guard<std::mutex> lock(mutex);
        range->recording = current;
        if (current != 0) {
            range->facts.name = interned(name);
            clock_is_set = offset_of[device] == current;
            ++open_count;
        }
    } catch (const std::bad_alloc &) {
        range->recording = 0;
    }
    if (range->recording == 0)
        return range;
    if ((!clock_is_set && !set_clock(device, range->recording)) ||
        take_timed_event(device, &range->begin) != ACL_SUCCESS || take_timed_event(device, &range->end) != ACL_SUCCESS ||
        ACY_CALL(aclrtRecordEvent, range->begin, stream) != ACL_SUCCESS) {
        lose(range);
        std::lock_guard<std::mutex> lock(mutex);
        --open_count;
        return range;
    }
    range->facts.enqueued_us = host_us();
    return range;
}

void end_range(OpenRange *range) noexcept
{
    QuietScope quiet;
    if (hazard::on())
        hazard::pop_name();
    if (range->tool_id != 0 && tools.end != nullptr)
        tools.end(range->tool_id);
    if (range->recording == 0) {
        delete range;
        return;
    }
    const bool recorded =
        ACY_CALL(aclrtRecordEvent, range->end, reinterpret_cast<aclrtStream>(static_cast<uintptr_t>(range->facts.stream))) ==
        ACL_SUCCESS;
    bool look = false;
    bool kept = false;
    try {
        std::lock_guard<std::mutex> lock(mutex);
        --open_count;
        if (recorded && range->recording == current) {
            pending.push_back(range);
            kept = true;
            look = pending.size() > pending_before_a_look;
        }
    } catch (const std::bad_alloc &) {
        kept = false;
    }
    if (!kept) {
        lose(range);
        delete range;
    }
    if (look)
        finish_what_has_passed();
}

} // namespace ascend_cy

using namespace ascend_cy;

int ascend_cy_profile_start(void)
{
    if (const int error = ready())
        return error;
    std::lock_guard<std::mutex> lock(mutex);
    if (current != 0)
        return fail(ACL_ERROR_PROF_ALREADY_RUN, "", "a recording runs already");
    current = ++recordings;
    lost = 0;
    done.clear();
    ranges_wanted.store(true, std::memory_order_release);
    return ACL_SUCCESS;
}

int ascend_cy_profile_stop(ascend_cy_range_t **ranges, size_t *count, size_t *lost_count)
{
    *ranges = nullptr;
    *count = *lost_count = 0;
    if (const int error = ascend_cy_may_wait("a recording ends when its ranges have"))
        return error;
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (current == 0)
            return fail(ACL_ERROR_PROF_NOT_RUN, "", "no recording runs");
        ranges_wanted.store(tools.start != nullptr || hazard::on(), std::memory_order_release);
    }
    for (;;) {
        OpenRange *range = nullptr;
        {
            std::lock_guard<std::mutex> lock(mutex);
            if (pending.empty())
                break;
            range = pending.front();
            pending.pop_front();
        }
        {
            QuietScope quiet; // failures of work belong to those who wait for their streams
            DeviceScope scope(range->facts.device);
            if (scope.error() == ACL_SUCCESS)
                device_table.aclrtSynchronizeEvent(range->end);
        }
        QuietScope quiet;
        finish(range);
    }
    std::vector<aclrtEvent> events[max_devices];
    std::vector<ascend_cy_range_t> found;
    {
        std::lock_guard<std::mutex> lock(mutex);
        *lost_count = lost + open_count; // what other threads are in the middle of
        current = 0;
        found.swap(done);
        for (int32_t device = 0; device < max_devices; ++device)
            events[device].swap(idle_events[device]);
    }
    for (int32_t device = 0; device < max_devices; ++device) {
        if (events[device].empty())
            continue;
        QuietScope quiet;
        DeviceScope scope(device);
        for (const aclrtEvent event : events[device])
            device_table.aclrtDestroyEvent(event);
    }
    std::sort(found.begin(), found.end(),
              [](const ascend_cy_range_t &a, const ascend_cy_range_t &b) { return a.begin_us < b.begin_us; });
    auto *const out = static_cast<ascend_cy_range_t *>(std::malloc((found.size() + 1) * sizeof(ascend_cy_range_t)));
    if (out == nullptr)
        return fail(ACL_ERROR_BAD_ALLOC, "", "out of host memory");
    std::copy(found.begin(), found.end(), out);
    *ranges = out;
    *count = found.size();
    return ACL_SUCCESS;
}

void ascend_cy_profile_free(ascend_cy_range_t *ranges) { std::free(ranges); }

void *ascend_cy_range_begin(const char *name, ascend_cy_stream_t *stream)
{
    if (!ranges_wanted.load(std::memory_order_relaxed) || name == nullptr || stream == nullptr || !device_usable())
        return nullptr;
    QuietScope quiet;
    DeviceScope scope(stream->device);
    return scope.error() == ACL_SUCCESS ? begin_range(name, stream->device, stream->handle) : nullptr;
}

void ascend_cy_range_end(void *range)
{
    if (range == nullptr)
        return;
    auto *const open = static_cast<OpenRange *>(range);
    QuietScope quiet;
    DeviceScope scope(open->facts.device);
    end_range(open);
}
