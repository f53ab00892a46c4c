/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of the process: first use, fork, exit.
 */
#ifndef ASCENDCL_CPU_PROCESS_H
#define ASCENDCL_CPU_PROCESS_H

namespace acl_cpu {

/* The device is used from now on (a context, threads): a fork after this leaves the child without device. */
void mark_used();

/* Lets workers stop before exit handlers registered so far run; `owner` is an address by which that is undone. */
void quiesce_at_exit(void *owner);
/* Takes the handler out again, so that the list does not grow with each binary that was loaded. */
void forget_exit_of(void *owner);

} // namespace acl_cpu
#endif
