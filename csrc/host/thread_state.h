// SPDX-License-Identifier: Apache-2.0
//
// What this library keeps per thread. Plain data, so that reading it needs no initialisation and it stays readable
// in any order of thread exit.
#ifndef ASCEND_CY_HOST_THREAD_STATE_H
#define ASCEND_CY_HOST_THREAD_STATE_H

#include "ascend_cy/pool.h"

namespace ascend_cy {

struct ThreadMessage;

struct ThreadState {
    ascend_cy_stream_t *stream; // current stream, one reference; NULL: the default stream of the current device
    ThreadMessage *message;     // made at the first failure
    ascend_cy_pool_t **pools;   // current pool by device, one reference each; NULL: none was ever set
    bool quiet;                 // failures leave no message
    bool in_host_function;      // this thread runs one, so that it must not wait for work of a stream
};

extern thread_local ThreadState thread_state;

// Arranges that what thread_state owns is given back when the thread ends. Call it whenever something was stored.
void watch_thread_exit() noexcept;

void free_thread_message() noexcept;
void forget_thread_pools() noexcept; // calls nothing of the device library

} // namespace ascend_cy

#endif
