// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <algorithm>
#include <cstdio>

namespace ascend_cy::hazard {

uint32_t Order::stream(aclrtStream handle, int32_t device)
{
    const auto found = numbers_.find(handle);
    if (found != numbers_.end())
        return found->second;
    uint32_t number = 0;
    if (!idle_.empty()) {
        number = idle_.back();
        idle_.pop_back();
    } else {
        number = static_cast<uint32_t>(streams_.size());
        streams_.emplace_back();
    }
    numbers_.emplace(handle, number);
    Stream &made = streams_[number];
    made.handle = handle;
    made.device = device;
    made.alive = true;
    return number;
}

void Order::rename(aclrtStream handle, aclrtStream now)
{
    const auto found = numbers_.find(handle);
    if (found == numbers_.end() || numbers_.count(now) != 0)
        return;
    const uint32_t number = found->second;
    numbers_.erase(found);
    numbers_.emplace(now, number);
    streams_[number].handle = now;
}

bool Order::ordered(const Moment &moment, uint32_t stream) const
{
    if (moment.stream == stream || passed(moment))
        return true;
    const std::vector<uint64_t> &seen = streams_[stream].seen;
    return moment.stream < seen.size() && moment.clock <= seen[moment.stream];
}

Order::Clocks Order::before(uint32_t stream) const
{
    Clocks clocks = streams_[stream].seen;
    if (clocks.size() <= stream)
        clocks.resize(stream + 1);
    clocks[stream] = streams_[stream].clock;
    return clocks;
}

Order::Clocks Order::before_all(int32_t device)
{
    Clocks clocks;
    for (uint32_t number = 0; number < streams_.size(); ++number)
        if (streams_[number].alive && streams_[number].device == device) {
            enqueue(number);
            join(&clocks, before(number));
        }
    return clocks;
}

void Order::join(Clocks *into, const Clocks &from)
{
    if (into->size() < from.size())
        into->resize(from.size());
    for (size_t i = 0; i < from.size(); ++i)
        (*into)[i] = std::max((*into)[i], from[i]);
}

Order::Clocks Order::record(uint32_t stream)
{
    enqueue(stream);
    return before(stream);
}

void Order::wait(uint32_t stream, aclrtEvent event)
{
    const auto found = events_.find(event);
    if (found != events_.end())
        join(&streams_[stream].seen, found->second);
}

void Order::have_passed(const Clocks &clocks)
{
    for (size_t i = 0; i < clocks.size(); ++i)
        streams_[i].passed = std::max(streams_[i].passed, clocks[i]);
}

void Order::are_known_to_have_passed(const Clocks &clocks)
{
    for (size_t i = 0; i < clocks.size(); ++i)
        streams_[i].known = std::max(streams_[i].known, clocks[i]);
}

void Order::event_known_to_have_passed(aclrtEvent event)
{
    const auto found = events_.find(event);
    if (found != events_.end())
        are_known_to_have_passed(found->second);
}

void Order::event_passed(aclrtEvent event)
{
    const auto found = events_.find(event);
    if (found != events_.end())
        have_passed(found->second);
}

void Order::stream_ends(aclrtStream handle)
{
    const auto found = numbers_.find(handle);
    if (found == numbers_.end())
        return;
    const uint32_t number = found->second;
    have_passed(before(number));
    streams_[number].alive = false;
    streams_[number].seen.clear();
    streams_[number].handle = nullptr;
    idle_.push_back(number);
    numbers_.erase(found);
}

std::string Order::name(uint32_t stream) const
{
    char text[64];
    if (streams_[stream].alive)
        std::snprintf(text, sizeof text, "stream %p of device %d", streams_[stream].handle, streams_[stream].device);
    else
        std::snprintf(text, sizeof text, "a stream of device %d that is gone", streams_[stream].device);
    return text;
}

} // namespace ascend_cy::hazard
