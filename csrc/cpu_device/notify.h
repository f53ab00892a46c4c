/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASCENDCL_CPU_NOTIFY_H
#define ASCENDCL_CPU_NOTIFY_H

#include <cstdint>

namespace acl_cpu {

/* Notifies made and not destroyed, both kinds. */
uint32_t live_notify_count();

} // namespace acl_cpu
#endif
