// SPDX-License-Identifier: Apache-2.0
//
// Which work is ordered behind which: a clock for every stream, and what each stream has waited for by now.
#ifndef ASCEND_CY_HOST_HAZARD_ORDER_H
#define ASCEND_CY_HOST_HAZARD_ORDER_H

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ascend_cy/acl.h"

namespace ascend_cy::hazard {

// A moment of a stream.
struct Moment {
    uint32_t stream = 0;
    uint64_t clock = 0;
};

// Not locked: its owner does that.
class Order {
public:
    // The number of a stream; new handles get one. `device` is where it would be.
    uint32_t stream(aclrtStream handle, int32_t device);
    void rename(aclrtStream handle, aclrtStream now); // unless `now` has a number of its own
    Moment enqueue(uint32_t stream) { return {stream, ++streams_[stream].clock}; } // one more piece of work

    // Whether work that is enqueued on `stream` now runs after the moment.
    bool ordered(const Moment &moment, uint32_t stream) const;
    bool passed(const Moment &moment) const { return moment.clock <= streams_[moment.stream].passed; }
    // The same where the package's own questions count as well.
    bool known_to_have_passed(const Moment &moment) const
    {
        return passed(moment) || moment.clock <= streams_[moment.stream].known;
    }

    // What an event that is recorded now will stand for; to be kept once the device has recorded it.
    std::vector<uint64_t> record(uint32_t stream);
    void recorded(aclrtEvent event, std::vector<uint64_t> before) { events_[event] = std::move(before); }
    void wait(uint32_t stream, aclrtEvent event);
    void event_passed(aclrtEvent event);
    void event_known_to_have_passed(aclrtEvent event);
    void forget_event(aclrtEvent event) { events_.erase(event); }
    // By stream, what is ordered before the next work of a stream, its own included; and of all streams of a device.
    using Clocks = std::vector<uint64_t>;
    Clocks before(uint32_t stream) const;
    Clocks before_all(int32_t device); // what comes later is other work
    void have_passed(const Clocks &clocks);
    void are_known_to_have_passed(const Clocks &clocks);
    void follows(uint32_t stream, const Clocks &clocks) { join(&streams_[stream].seen, clocks); } // and its work later on
    void stream_ends(aclrtStream handle); // its work has passed; its number is used again

    std::string name(uint32_t stream) const;

private:
    struct Stream {
        aclrtStream handle = nullptr;
        int32_t device = 0;
        bool alive = false;
        uint64_t clock = 0;         // of the latest work; goes on where the number is used again
        uint64_t passed = 0;        // the host saw that work up to here has passed
        uint64_t known = 0;         // the same where the package asked for its own ends
        std::vector<uint64_t> seen; // by stream: up to where it was waited for
    };

    static void join(Clocks *into, const Clocks &from);

    std::vector<Stream> streams_;
    std::vector<uint32_t> idle_;
    std::unordered_map<aclrtStream, uint32_t> numbers_;
    std::unordered_map<aclrtEvent, Clocks> events_;
};

} // namespace ascend_cy::hazard

#endif
