// SPDX-License-Identifier: Apache-2.0
#include "ascendc_sim/races.h"

#include <algorithm>
#include <cstring>

namespace AscendC::sim {

namespace {

bool Ordered(const Access &old, const Access &access, const CoreClock &clock)
{
    return old.core == access.core || (old.core < clock.size() && clock[old.core] > old.epoch);
}

bool Conflicting(const Access &a, const Access &b)
{
    if (a.scalar && b.scalar) {
        return false;
    }
    if (a.touch == Touch::kRead || b.touch == Touch::kRead) {
        return a.touch != b.touch;
    }
    return a.touch != Touch::kAtomic || b.touch != Touch::kAtomic;
}

} // namespace

void Races::Split(uint64_t at)
{
    const auto next = cells_.upper_bound(at);
    if (next == cells_.begin()) {
        return;
    }
    const auto cell = std::prev(next);
    if (cell->first == at || cell->second.end <= at) {
        return;
    }
    Cell upper{cell->second.end, cell->second.accesses};
    cell->second.end = at;
    cells_.emplace_hint(next, at, std::move(upper));
}

void Races::Add(std::vector<Access> &accesses, const Access &access, const CoreClock &clock)
{
    if (access.touch == Touch::kWrite) {
        // Who comes after this write comes after all that it is ordered with.
        accesses.erase(std::remove_if(accesses.begin(), accesses.end(),
                                      [&](const Access &old) { return Ordered(old, access, clock); }),
                       accesses.end());
        accesses.push_back(access);
        return;
    }
    size_t readers = 0;
    for (Access &old : accesses) {
        if (old.core == access.core && old.touch == access.touch && old.scalar == access.scalar) {
            old = access;
            return;
        }
        readers += old.touch == Touch::kRead ? 1 : 0;
    }
    // Where nothing orders cores, two readers stand for all: any writer conflicts with one of them.
    if (access.touch != Touch::kRead || !clock.empty() || readers < 2) {
        accesses.push_back(access);
    }
}

Races::Conflict Races::Enter(uint64_t start, uint64_t end, const Access &access, const CoreClock &clock,
                             const uint8_t *data)
{
    Split(start);
    Split(end);
    auto cell = cells_.lower_bound(start);
    for (uint64_t at = start; at < end;) {
        if (cell == cells_.end() || cell->first > at) {
            const uint64_t until = cell == cells_.end() ? end : std::min(end, cell->first);
            // Tile after tile of one call makes one stretch.
            if (cell != cells_.begin()) {
                Cell &before = std::prev(cell)->second;
                if (before.end == at && before.accesses.size() == 1 && before.accesses[0] == access) {
                    before.end = until;
                    at = until;
                    continue;
                }
            }
            cells_.emplace_hint(cell, at, Cell{until, {access}});
            at = until;
            continue;
        }
        Cell &here = cell->second;
        for (const Access &old : here.accesses) {
            if (Ordered(old, access, clock) || !Conflicting(old, access)) {
                continue;
            }
            if (access.touch == Touch::kWrite && old.touch != Touch::kAtomic && data != nullptr &&
                std::memcmp(reinterpret_cast<const void *>(at), data + (at - start), here.end - at) == 0) {
                continue;
            }
            return Conflict{true, at, here.end, old};
        }
        Add(here.accesses, access, clock);
        at = here.end;
        ++cell;
    }
    return Conflict{};
}

} // namespace AscendC::sim
