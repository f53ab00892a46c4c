/* SPDX-License-Identifier: Apache-2.0
 *
 * Events. Every record gets a ticket when it is enqueued; a wait is for one ticket, the newest at the time of the call.
 */
#ifndef ASCENDCL_CPU_EVENT_H
#define ASCENDCL_CPU_EVENT_H

#include <atomic>
#include <mutex>
#include <vector>

#include "handles.h"
#include "task.h"

namespace acl_cpu {

struct EventWaitTask;
struct Join;

struct Event {
    static constexpr Kind kind = Kind::Event;

    Event(int32_t number, uint32_t event_flags, bool is_reusable) : id(number), flags(event_flags), reusable(is_reusable) {}

    const int32_t id;
    const uint32_t flags;
    const bool reusable; /* made by aclrtCreateEventExWithFlag */
    /* The handle and every queued task; the slot is freed with the last. */
    References references;
    std::atomic<uint32_t> waits_under_way{0};
    /* Its newest record in a capture that is under way; the object is valid under the capture lock only. */
    std::atomic<Join *> captured{nullptr};
    /* An event is used with one flag only (of aclrtRecordEventWithFlag, of aclrtStreamWaitEventWithFlag). */
    std::atomic<uint32_t> record_flag{NO_FLAG};
    std::atomic<uint32_t> wait_flag{NO_FLAG};
    static constexpr uint32_t NO_FLAG = UINT32_MAX;

    std::mutex lock;
    /* ---- under the lock ---- */
    uint64_t issued = 0;                /* ticket of the newest record, 0: never recorded */
    void *recorder = nullptr;           /* handle of the stream of the newest record */
    uint64_t timestamp_ns = 0;          /* of the newest record that is done */
    bool has_timestamp = false;
    bool was_reset = false;             /* since the newest record */
    bool gone = false;                  /* no reference is left */
    std::vector<EventWaitTask *> waiting;
    std::vector<uint64_t> outstanding;  /* tickets not yet done */
    uint64_t aborted = 0;               /* newest ticket that was dropped */

    bool is_done(uint64_t ticket) const
    {
        if (ticket > issued) return false;
        for (uint64_t open : outstanding) {
            if (open == ticket) return false;
        }
        return true;
    }

    void *handle() const { return Handles<Event>::handle_of(this); }
    bool retain() { return references.retain(); }
    void release();
};

} // namespace acl_cpu
#endif
