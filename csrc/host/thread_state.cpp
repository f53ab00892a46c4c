// SPDX-License-Identifier: Apache-2.0
#include "thread_state.h"

#include "stream.h"

namespace ascend_cy {

thread_local ThreadState thread_state;

namespace {

struct ThreadExit {
    bool armed = false;
    ~ThreadExit()
    {
        // The device library's own thread-locals may be gone by now, so nothing here calls it.
        if (ascend_cy_stream_t *stream = thread_state.stream) {
            thread_state.stream = nullptr;
            drop_stream_later(stream);
        }
        forget_thread_pools();
        free_thread_message();
    }
};

thread_local ThreadExit thread_exit;

} // namespace

void watch_thread_exit() noexcept { thread_exit.armed = true; }

} // namespace ascend_cy
