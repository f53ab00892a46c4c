// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <algorithm>
#include <cstdio>

namespace ascend_cy::hazard {

namespace {

std::string text_of(Range range)
{
    char text[80];
    if (range.end - range.begin == 1) // of a kernel it is not known how far it goes
        std::snprintf(text, sizeof text, "from %p on", reinterpret_cast<void *>(range.begin));
    else
        std::snprintf(text, sizeof text, "%zu bytes at %p", static_cast<size_t>(range.end - range.begin),
                      reinterpret_cast<void *>(range.begin));
    return text;
}

const char *verb(Access access)
{
    return access == Access::Read ? "reads" : access == Access::Write ? "writes" : "uses";
}

} // namespace

void Memory::segment_came(Range range) { segments_[range.begin] = Segment{range.end, {}, {}}; }

void Memory::segment_goes(uintptr_t begin) { segments_.erase(begin); }

const Memory::Segment *Memory::find(uintptr_t address) const
{
    auto found = segments_.upper_bound(address);
    if (found == segments_.begin())
        return nullptr;
    --found;
    return address < found->second.end ? &found->second : nullptr;
}

bool Memory::known(uintptr_t address) const { return find(address) != nullptr; }

std::map<uintptr_t, Memory::Block>::iterator Memory::at_or_before(Segment *segment, uintptr_t address)
{
    auto found = segment->blocks.upper_bound(address);
    return found == segment->blocks.begin() ? segment->blocks.end() : --found;
}

bool Memory::block_used(Range range, const std::string &made_on)
{
    Segment *const segment = find(range.begin);
    if (segment == nullptr)
        return false;
    bool clean = false;
    // Freed ones that were there before make room; what is left of one at the end stays freed.
    auto old = at_or_before(segment, range.begin);
    if (old == segment->blocks.end())
        old = segment->blocks.begin();
    while (old != segment->blocks.end() && old->first < range.end) {
        if (old->second.end <= range.begin) {
            ++old;
            continue;
        }
        Block rest = old->second;
        clean = clean || !rest.poisoned;
        const uintptr_t begin = old->first;
        old = segment->blocks.erase(old);
        if (begin < range.begin) {
            const uintptr_t end = rest.end;
            rest.end = range.begin;
            segment->blocks[begin] = rest;
            rest.end = end;
        }
        if (rest.end > range.end)
            segment->blocks[range.end] = rest;
    }
    segment->blocks[range.begin] = Block{range.end, true, false, made_on, "", ""};
    forget_passed(range, host); // before it gave the memory out, the pool asked
    return clean;
}

void Memory::forget_passed(Range range, uint32_t stream)
{
    Segment *const segment = find(range.begin);
    if (segment == nullptr)
        return;
    std::vector<Use> &uses = segment->uses;
    uses.erase(std::remove_if(uses.begin(), uses.end(),
                              [&](const Use &use) {
                                  return use.range.meets(range) && (stream == host || use.moment.stream == stream) &&
                                         order_->known_to_have_passed(use.moment);
                              }),
               uses.end());
}

std::string Memory::describe(const Use &use) const
{
    std::string text = use.what;
    text += std::string(" (") + verb(use.access) + " " + text_of(use.range) + ") on " + order_->name(use.moment.stream);
    return text + ", work number " + std::to_string(use.moment.clock) + " there";
}

std::string Memory::block_freed(Range range, uint32_t stream, const std::set<uint32_t> &recorded)
{
    Segment *const segment = find(range.begin);
    if (segment == nullptr)
        return "";
    const auto found = segment->blocks.find(range.begin);
    if (found == segment->blocks.end())
        return "";
    Block &block = found->second;
    block.live = false;
    block.poisoned = recorded.empty();
    block.freed_on = order_->name(stream);
    std::string wrong;
    for (const Use &use : segment->uses) {
        if (!use.range.meets(range))
            continue;
        block.last = describe(use);
        if (wrong.empty() && recorded.count(use.moment.stream) == 0 && !order_->ordered(use.moment, stream))
            wrong = "memory of " + text_of(range) + ", made on " + block.made_on + " and freed there, is still used by " +
                    block.last + ": neither is the stream it was made on ordered behind that, nor was it recorded"
                    " (record_stream)";
    }
    return wrong;
}

std::string Memory::look(Range range, Access access, uint32_t stream, const char *what) const
{
    const Segment *const segment = find(range.begin);
    if (segment == nullptr)
        return "";
    const auto here = [&] {
        return std::string(what) + " (" + verb(access) + " " + text_of(range) + ") on " +
               (stream == host ? "the host" : order_->name(stream));
    };
    auto block = segment->blocks.upper_bound(range.begin);
    if (block != segment->blocks.begin() && (--block)->second.end > range.begin && !block->second.live) {
        const Block &freed = block->second;
        std::string text = here() + " uses memory after it was freed: it was made on " + freed.made_on + " and freed on " +
                           freed.freed_on;
        return freed.last.empty() ? text : text + "; last used by " + freed.last;
    }
    for (const Use &use : segment->uses) {
        if (!use.range.meets(range) || (access != Access::Write && use.access != Access::Write))
            continue;
        if (stream == host ? order_->passed(use.moment) : order_->ordered(use.moment, stream))
            continue;
        return here() + " is not ordered behind " + describe(use) + ": no event, wait or common stream lies between them";
    }
    return "";
}

void Memory::note(Range range, Access access, const Moment &moment, const char *what)
{
    Segment *const segment = find(range.begin);
    if (segment == nullptr)
        return;
    std::vector<Use> &uses = segment->uses;
    const char *const kept = keep(what);
    // A strided copy is many small ones, element behind element and with nothing in between: one use that grows.
    constexpr size_t few = 4;
    constexpr size_t many = 64;
    for (size_t i = 0; i < uses.size() && i < few; ++i) {
        Use &last = uses[uses.size() - 1 - i];
        if (last.moment.stream != moment.stream || last.moment.clock + 1 != moment.clock || last.access != access || last.what != kept ||
            (last.range.end != range.begin && range.end != last.range.begin))
            continue;
        last.range = {std::min(last.range.begin, range.begin), std::max(last.range.end, range.end)};
        last.moment = moment;
        if (uses.size() < many)
            return;
        range = last.range; // and makes room for what it covers
        uses.erase(uses.end() - 1 - static_cast<std::ptrdiff_t>(i));
        break;
    }
    // Later work that is ordered behind this one is so behind what this one follows.
    uses.erase(std::remove_if(uses.begin(), uses.end(),
                              [&](const Use &old) {
                                  return order_->passed(old.moment) ||
                                         (range.holds(old.range) && order_->ordered(old.moment, moment.stream) &&
                                          (access == Access::Write ||
                                           (old.access == access && old.moment.stream == moment.stream)));
                              }),
               uses.end());
    uses.push_back(Use{range, access, moment, kept});
}

void Memory::announce(Range range, Access access, const Moment &moment, const char *what)
{
    if (Segment *const segment = find(range.begin))
        segment->uses.push_back(Use{range, access, moment, keep(what)});
}

void Memory::withdraw(Range range, const Moment &moment)
{
    Segment *const segment = find(range.begin);
    if (segment == nullptr)
        return;
    std::vector<Use> &uses = segment->uses;
    uses.erase(std::remove_if(uses.begin(), uses.end(),
                              [&](const Use &use) {
                                  return use.moment.stream == moment.stream && use.moment.clock == moment.clock;
                              }),
               uses.end());
}

} // namespace ascend_cy::hazard
