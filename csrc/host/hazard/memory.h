// SPDX-License-Identifier: Apache-2.0
//
// Pool memory and who used it: the live and the freed blocks of every segment, and the uses that later ones may meet.
#ifndef ASCEND_CY_HOST_HAZARD_MEMORY_H
#define ASCEND_CY_HOST_HAZARD_MEMORY_H

#include <map>
#include <set>
#include <string>

#include "order.h"

namespace ascend_cy::hazard {

enum class Access : uint8_t {
    Read,
    Write,
    Unknown, // a kernel's pointer that nobody has told about: only met by what is known to write
};

struct Range {
    uintptr_t begin;
    uintptr_t end;

    bool meets(const Range &other) const { return begin < other.end && other.begin < end; }
    bool holds(const Range &other) const { return begin <= other.begin && other.end <= end; }
};

constexpr uint32_t host = UINT32_MAX; // in the place of a stream: a copy that the host waits for

// Not locked: its owner does that.
class Memory {
public:
    explicit Memory(Order *order) : order_(order) {}

    void segment_came(Range range);
    void segment_goes(uintptr_t begin);
    // Whether some of it was freed without poison.
    bool block_used(Range range, const std::string &made_on);
    // What is wrong with freeing it on `stream` while `recorded` streams are looked after; "" for nothing.
    // It is poisoned if there are none.
    std::string block_freed(Range range, uint32_t stream, const std::set<uint32_t> &recorded);

    bool known(uintptr_t address) const;
    // What is wrong with using the range now on `stream`; "" for nothing.
    std::string look(Range range, Access access, uint32_t stream, const char *what) const;
    void note(Range range, Access access, const Moment &moment, const char *what);
    // The same until it is known whether the device takes the work; nothing that was noted before is given up for it.
    void announce(Range range, Access access, const Moment &moment, const char *what);
    void withdraw(Range range, const Moment &moment); // what was announced
    // Uses of the range, on a stream or (`host`) on any, that are known to have passed no longer count.
    void forget_passed(Range range, uint32_t stream);

private:
    struct Use {
        Range range;
        Access access;
        Moment moment;
        const char *what;
    };
    struct Block {
        uintptr_t end;
        bool live;
        bool poisoned;
        std::string made_on;
        std::string freed_on;
        std::string last; // what used it last when it was freed
    };
    struct Segment {
        uintptr_t end;
        std::map<uintptr_t, Block> blocks;
        std::vector<Use> uses;
    };

    const Segment *find(uintptr_t address) const;
    Segment *find(uintptr_t address) { return const_cast<Segment *>(static_cast<const Memory *>(this)->find(address)); }
    static std::map<uintptr_t, Block>::iterator at_or_before(Segment *segment, uintptr_t address);
    std::string describe(const Use &use) const;
    const char *keep(const char *what) { return names_.insert(what).first->c_str(); }

    Order *order_;
    std::map<uintptr_t, Segment> segments_;
    std::set<std::string> names_;
};

} // namespace ascend_cy::hazard

#endif
