/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry of users' allocators: kept per stream for operator libraries to find.
 */
#ifndef ASCENDCL_CPU_ALLOCATOR_H
#define ASCENDCL_CPU_ALLOCATOR_H

namespace acl_cpu {

struct Stream;

void forget_allocator(Stream &stream);

} // namespace acl_cpu
#endif
