/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASCENDCL_CPU_OPTIONS_H
#define ASCENDCL_CPU_OPTIONS_H

#include <atomic>
#include <cstdint>

namespace acl_cpu {

/* Limit for kernels that bring none of their own, 0: none (aclrtSetOpExecuteTimeOut). */
extern std::atomic<uint64_t> g_op_execute_timeout_us;

} // namespace acl_cpu
#endif
