// SPDX-License-Identifier: Apache-2.0
#ifndef ASCEND_CY_HOST_POOL_FOREIGN_H
#define ASCEND_CY_HOST_POOL_FOREIGN_H

#include "block.h"

namespace ascend_cy {

// Calls on_release(context) once the work enqueued so far on `own` and on the streams of `uses` has passed: at once where
// they are idle, else on a thread of the runtime, or (in a host function that cannot have another one) when
// collect_foreign() finds it. No lock may be held.
void give_back_foreign(Stream *own, const Use *uses, void (*on_release)(void *), void *context) noexcept;

// Hands over what could not be so far. Never waits; cheap where there is nothing.
void collect_foreign() noexcept;

} // namespace ascend_cy

#endif
