// SPDX-License-Identifier: Apache-2.0
//
// Host functions in stream order.
#ifndef ASCEND_CY_HOST_HOST_FUNCTION_H
#define ASCEND_CY_HOST_HOST_FUNCTION_H

#include "stream.h"

namespace ascend_cy {

// The stream's device must be current.
int enqueue_host_function(Stream *stream, void (*function)(void *), void *context) noexcept;

// Before an own stream is destroyed.
void unsubscribe_host_functions(Stream *stream) noexcept;

// Ends our thread, if there is one. False if it is inside somebody's host function and cannot be waited for.
bool stop_host_function_thread() noexcept;

} // namespace ascend_cy

#endif
