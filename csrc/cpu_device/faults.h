/* SPDX-License-Identifier: Apache-2.0
 *
 * Fault injection; the syntax of the rules stands in ascendcl_cpu.h.
 */
#ifndef ASCENDCL_CPU_FAULTS_H
#define ASCENDCL_CPU_FAULTS_H

#include <atomic>
#include <string>

#include "entry.h"

namespace acl_cpu {

/* False if the spec cannot be understood; `problem` then says what it should be. */
bool check_fault_spec(const char *spec, std::string *problem);
/* Replaces the rules by those of a checked spec. */
void set_fault_spec(const char *spec);
/* Whether ascendcl_cpu_set_faults was called. */
bool faults_chosen();

/* Rules for calls; sleeps where a rule says so. Reports the error it returns. */
aclError call_fault(const char *api);

/* Rules for kernels: false when there are none. Consulted when the kernel starts to run. */
extern std::atomic<bool> g_kernel_faults;
struct KernelFault {
    aclError code; /* ACL_SUCCESS: run it */
    uint64_t delay_ns;
};
KernelFault kernel_fault(const char *kernel);

void reset_fault_lock_after_fork();

} // namespace acl_cpu
#endif
