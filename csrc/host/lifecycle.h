// SPDX-License-Identifier: Apache-2.0
//
// From the first use of the device to the end of the process: loading, aclInit, fork, shutdown.
#ifndef ASCEND_CY_HOST_LIFECYCLE_H
#define ASCEND_CY_HOST_LIFECYCLE_H

#include <atomic>

#include "loader.h"

namespace ascend_cy {

// True between aclInit and shutdown, never in a forked child: the device may be called.
extern std::atomic<bool> device_ready;

inline bool device_usable() noexcept { return device_ready.load(std::memory_order_acquire); }

// Loads and initialises if that has not happened; the error that forbids using the device otherwise.
[[gnu::cold]] int make_ready() noexcept;

// The error of a forked child, or of a process that is about to end, where the device cannot be used any more.
[[gnu::cold]] int beyond_use() noexcept;

inline int ready() noexcept { return __builtin_expect(device_usable(), 1) ? ACL_SUCCESS : make_ready(); }

// The device library, loaded if it has not been. Never NULL.
const LoadedDevice *loaded_device() noexcept;

} // namespace ascend_cy

#endif
