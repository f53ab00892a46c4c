// SPDX-License-Identifier: Apache-2.0
//
// Which arguments our own kernels write. What is known of others is what was ordered for them.
#ifndef ASCEND_CY_HOST_HAZARD_KERNELS_OF_OURS_H
#define ASCEND_CY_HOST_HAZARD_KERNELS_OF_OURS_H

#include "memory.h"

namespace ascend_cy::hazard {

// Of the 8-byte slot in the argument block, `size` bytes long, of kernel `name`.
Access access_of_slot(const char *name, size_t size, size_t slot) noexcept;

} // namespace ascend_cy::hazard

#endif
