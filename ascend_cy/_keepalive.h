// SPDX-License-Identifier: Apache-2.0
//
// References that a stream holds until its work has passed.
//
// The runtime's threads must not take the GIL to drop a reference (a thread that holds the GIL may be waiting for
// them), so they push the finished entry onto a lock-free stack, and the next call with the GIL empties it.
#ifndef ASCEND_CY_KEEPALIVE_H
#define ASCEND_CY_KEEPALIVE_H

#include <atomic>
#include <cstdlib>

namespace ascend_cy_keepalive {

struct Entry {
    void *object; // PyObject *, owned
    Entry *next;
};

inline std::atomic<Entry *> &finished() {
    static std::atomic<Entry *> head{nullptr};
    return head;
}

// Runs on a thread of the runtime, without the GIL.
inline void push(void *entry) {
    auto *mine = static_cast<Entry *>(entry);
    Entry *head = finished().load(std::memory_order_relaxed);
    do {
        mine->next = head;
    } while (!finished().compare_exchange_weak(head, mine, std::memory_order_release, std::memory_order_relaxed));
}

inline Entry *take_all() {
    // The common case is an empty stack: a load is cheaper than an exchange.
    if (finished().load(std::memory_order_relaxed) == nullptr) return nullptr;
    return finished().exchange(nullptr, std::memory_order_acquire);
}

} // namespace ascend_cy_keepalive

#endif // ASCEND_CY_KEEPALIVE_H
