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

// For the end of a wait that was not begun, since the thread runs a host function and what it would wait for is not over:
// that may be queued behind the host function itself. Such a wait never begins; what needs none goes on as ever.
int refuse_to_wait(const char *unfinished) noexcept;

// Ends our thread, if there is one. False if it is inside somebody's host function and cannot be waited for.
bool stop_host_function_thread() noexcept;

} // namespace ascend_cy

#endif
