// SPDX-License-Identifier: Apache-2.0
//
// Events: those handed out, and the ones this library uses for itself.
#ifndef ASCEND_CY_HOST_EVENT_H
#define ASCEND_CY_HOST_EVENT_H

#include "deadline.h"
#include "stream.h"

namespace ascend_cy {

// Events for our own use, kept per device and used again. The device must be current.
// An event can be given back as soon as its waits are enqueued.
int take_event(int32_t device, aclrtEvent *event) noexcept;
void give_event_back(int32_t device, aclrtEvent event) noexcept;

// Takes an event and records it on the stream.
int mark_stream(int32_t device, aclrtStream stream, aclrtEvent *event) noexcept;

// True when everything before the mark has run. A device that cannot tell any more has nothing running either.
bool mark_passed(aclrtEvent event) noexcept;
// Waits for that until the deadline; false where time was up first. In a host function it never waits.
bool wait_for_mark(aclrtEvent event, const Deadline &deadline = Deadline()) noexcept;

// For a stream that cannot be marked, because no event is left or it is of another context: waits for all of it, the same way.
bool wait_for_whole_stream(aclrtStream stream, const Deadline &deadline = Deadline()) noexcept;

int64_t live_events() noexcept;

} // namespace ascend_cy

#endif
