/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream-ordered memory pools (aclrtMemPool*).
 */
#ifndef ASCENDCL_CPU_MEMPOOL_H
#define ASCENDCL_CPU_MEMPOOL_H

#include <atomic>
#include <cstdint>

namespace acl_cpu {

struct Device;

extern std::atomic<uint32_t> g_memory_pools;

/* A stream or the device was synchronized: pools give back what exceeds their thresholds. */
void trim_pools(Device &device);
inline void trim_pools_if_any(Device &device)
{
    if (__builtin_expect(g_memory_pools.load(std::memory_order_relaxed) != 0, 0)) trim_pools(device);
}

} // namespace acl_cpu
#endif
