/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages and last errors of threads.
 */
#ifndef ASCENDCL_CPU_ERRORS_H
#define ASCENDCL_CPU_ERRORS_H

#include <string>

#include "entry.h"

namespace acl_cpu {

/* "ACL_ERROR_RT_PARAM_INVALID" for 107000; "unknown error" for codes that AscendCL does not have. */
const char *error_name(aclError code);

std::string format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* err_msg_mode of aclInit's file: one message for the process instead of one for each thread. */
void set_process_wide_messages(bool on);

} // namespace acl_cpu
#endif
