// SPDX-License-Identifier: Apache-2.0
//
// Lines of the embedded device's log, kept for a reader.
#ifndef ASCEND_CY_HOST_DEVICE_LOG_H
#define ASCEND_CY_HOST_DEVICE_LOG_H

#include "ascend_cy/device_log.h"

namespace ascend_cy {

// In the child of fork, where this is the only thread: what is kept is the parent's to read, and nobody holds a lock.
void forget_device_log_of_parent() noexcept;

} // namespace ascend_cy

#endif
