/* SPDX-License-Identifier: Apache-2.0
 *
 * What is alive at the end, and where it was made.
 */
#ifndef ASCENDCL_CPU_LEAKS_H
#define ASCENDCL_CPU_LEAKS_H

#include <string>

namespace acl_cpu {

/* The code behind a return address: "function (file:line)" where the library was built with debug information and
 * libbacktrace, else "symbol+offset (file+offset)", of which addr2line -e file takes the second offset. */
std::string place(const void *return_address);

/* One line of the log's topic "leaks": what it is, and the place that made it. */
[[gnu::cold, gnu::format(printf, 2, 3)]] void log_leak(const void *creator, const char *format, ...);

/* For objects that have no handle of their own and no registry: plain structs, reserved addresses. */
void track(const void *object, const char *what, const void *creator);
void untrack(const void *object);

/* Names everything that was made and not destroyed, if the topic "leaks" is on. */
void log_live_objects();

/* Parts of it, where the kinds are defined. */
void log_live_notifies();
void log_live_pools();
void log_live_physical();
void log_live_registrations();
void log_live_labels();
void log_live_models();

} // namespace acl_cpu
#endif
