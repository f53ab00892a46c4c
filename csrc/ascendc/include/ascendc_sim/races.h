// SPDX-License-Identifier: Apache-2.0
//
// Which cores of a launch touched which bytes of global memory, and whether anything orders two that conflict.
#ifndef ASCENDC_SIM_RACES_H
#define ASCENDC_SIM_RACES_H

#include <map>
#include <mutex>
#include <vector>

#include "types.h"

namespace AscendC::sim {

// How many releases of every core of the launch a core knows of; empty where it never waited for another.
using CoreClock = std::vector<uint32_t>;

inline void JoinClock(CoreClock &into, const CoreClock &from)
{
    if (into.size() < from.size()) {
        into.resize(from.size());
    }
    for (size_t i = 0; i < from.size(); ++i) {
        into[i] = std::max(into[i], from[i]);
    }
}

enum class Touch : uint8_t { kRead, kWrite, kAtomic };

// One access of one core.
struct Access {
    uint32_t core = 0;
    uint32_t epoch = 0; // releases of that core before it
    Touch touch = Touch::kRead;
    bool scalar = false; // by the scalar unit: programs poll and signal that way, so two of them are no race
    int line = 0;
    const char *api = nullptr;

    bool operator==(const Access &o) const
    {
        return core == o.core && epoch == o.epoch && touch == o.touch && scalar == o.scalar && line == o.line && api == o.api;
    }
};

class Races {
public:
    struct Conflict {
        bool found = false;
        uint64_t start = 0; // bytes that both touch
        uint64_t end = 0;
        Access other;
    };

    // Held from the entry of a store until its bytes are there, so that they are those of the last store in the books.
    std::mutex &mutex() { return mutex_; }
    // Enters an access to bytes [start, end) by a core that knows `clock` of the others. `data`: what a store is about to
    // write. Storing what is there already does no harm, and shipped kernels do it.
    Conflict Enter(uint64_t start, uint64_t end, const Access &access, const CoreClock &clock, const uint8_t *data);

private:
    struct Cell {
        uint64_t end;
        std::vector<Access> accesses;
    };

    void Split(uint64_t at);
    static void Add(std::vector<Access> &accesses, const Access &access, const CoreClock &clock);

    std::mutex mutex_;
    std::map<uint64_t, Cell> cells_; // by the first byte; they do not overlap
};

} // namespace AscendC::sim

#endif // ASCENDC_SIM_RACES_H
