// SPDX-License-Identifier: Apache-2.0
#ifndef ASCEND_CY_HOST_POOL_FOREIGN_H
#define ASCEND_CY_HOST_POOL_FOREIGN_H

#include "block.h"

namespace ascend_cy {

// Calls on_release(context) once the work enqueued so far on `own` and on the streams of `uses` has passed: at once where
// they are idle, else on a thread of the runtime. No lock may be held.
void give_back_foreign(Stream *own, const Use *uses, void (*on_release)(void *), void *context) noexcept;

} // namespace ascend_cy

#endif
