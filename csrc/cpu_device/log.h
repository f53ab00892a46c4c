/* SPDX-License-Identifier: Apache-2.0
 *
 * A log with topics, off by default: LOG(MEMORY, "malloc %zu", size) costs one load and branch when off.
 */
#ifndef ASCENDCL_CPU_LOG_H
#define ASCENDCL_CPU_LOG_H

#include <atomic>
#include <cstdint>

#include "ascendcl_cpu.h"

namespace acl_cpu {

extern std::atomic<uint32_t> g_log_topics;

inline bool logs(uint32_t topic) { return (g_log_topics.load(std::memory_order_relaxed) & topic) != 0; }

[[gnu::cold, gnu::format(printf, 2, 3)]] void log_line(uint32_t topic, const char *format, ...);

/* "memory,launches" or "all" to a mask. Returns false and names the bad word otherwise. */
bool parse_log_topics(const char *text, uint32_t *topics, const char **bad_word);
/* What the environment says; ascendcl_cpu_set_log_topics stands against it. */
void adopt_log_topics(uint32_t topics);

/* In the child, whose other threads are gone with what they held. */
void reset_log_locks_after_fork();

} // namespace acl_cpu

#define LOG(topic, ...)                                                  \
    do {                                                                 \
        if (__builtin_expect(::acl_cpu::logs(ASCENDCL_CPU_LOG_##topic), 0)) \
            ::acl_cpu::log_line(ASCENDCL_CPU_LOG_##topic, __VA_ARGS__);  \
    } while (0)

#endif
