/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads for blocks that wait for each other: one each, so that all make progress however few workers there are.
 */
#ifndef ASCENDCL_CPU_GANG_H
#define ASCENDCL_CPU_GANG_H

#include <cstdint>

#include "pool.h"

namespace acl_cpu {

/* More blocks than this cannot be run so. */
constexpr uint32_t most_gang_threads = 1024;

/* Starts all blocks of the job, each on a thread of its own; the last to end calls blocks_done(). False if there are
 * not enough threads; then nothing was started. */
bool run_gang(Job &job, uint32_t blocks);

} // namespace acl_cpu
#endif
