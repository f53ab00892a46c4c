// SPDX-License-Identifier: Apache-2.0
//
// Pinned host memory, kept by size.
#ifndef ASCEND_CY_HOST_POOL_PINNED_POOL_H
#define ASCEND_CY_HOST_POOL_PINNED_POOL_H

#include "ascend_cy/pool.h"

namespace ascend_cy {

void count_live_pinned(ascend_cy_live_counts_t *counts) noexcept;

// For shutdown: gives back what can be given back without waiting.
void give_back_idle_pinned_memory() noexcept;

} // namespace ascend_cy

#endif
