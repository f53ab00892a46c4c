/* SPDX-License-Identifier: Apache-2.0
 *
 * What the embedded AscendCL device offers beyond AscendCL. A program that uses only acl*.h never needs this.
 * Every function may be called from any thread, before or after aclInit.
 */
#ifndef ASCENDCL_CPU_H
#define ASCENDCL_CPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASCENDCL_CPU_API __attribute__((visibility("default")))

/* ---- worker threads ---- */

/* Threads that run the blocks of kernels, the waiting caller included. 0: as many as this process has CPUs.
 * Results never depend on it. May be changed while kernels run; 107000 above 1024.
 * This call, ascendcl_cpu_set_faults and ascendcl_cpu_set_log_topics stand against the environment, whenever aclInit reads it. */
ASCENDCL_CPU_API int ascendcl_cpu_set_workers(uint32_t count);
ASCENDCL_CPU_API uint32_t ascendcl_cpu_get_workers(void);

/* ---- fault injection ---- */

/* Replaces all rules; NULL or "" removes them. `spec` has the syntax of the variable ASCENDCL_CPU_FAULT: rules
 * separated by ';', each a list of key=value separated by ',':
 *
 *   call=NAME      fails AscendCL calls of this name (of a function that there is); * is every call that returns an aclError
 *   kernel=NAME    fails launches of this kernel when they run; * is every kernel (code default 507015)
 *   device=lost    from the chosen call on, every call fails with 507010 until the rules are replaced
 *   code=N         the error to return (default 507899 for calls)
 *   at=K           only from the K-th match on, counting from 1 (default 1)
 *   times=N        N failures, then none; "always" for no end (default 1; "always" when probability is given)
 *   probability=P  each match fails with this probability; seed=N makes the sequence another one
 *   delay=T        waits before the call or kernel (units ns, us, ms, s); without code= nothing fails
 *   skip=NAME      with call=*: this call neither counts nor fails (may be repeated)
 *
 * Returns 0, or 100000 when the spec cannot be understood (aclGetRecentErrMsg says where). */
ASCENDCL_CPU_API int ascendcl_cpu_set_faults(const char *spec);
/* Calls that the rules have looked at since they were set, and faults given. Either pointer may be NULL. */
ASCENDCL_CPU_API void ascendcl_cpu_fault_counts(uint64_t *calls, uint64_t *faults);

/* ---- log ---- */

enum {
    ASCENDCL_CPU_LOG_MEMORY = 1 << 0,
    ASCENDCL_CPU_LOG_STREAMS = 1 << 1,
    ASCENDCL_CPU_LOG_LAUNCHES = 1 << 2,
    ASCENDCL_CPU_LOG_ERRORS = 1 << 3,
    ASCENDCL_CPU_LOG_LEAKS = 1 << 4,
    ASCENDCL_CPU_LOG_ALL = (1 << 5) - 1
};

/* Chooses topics (replaces ASCENDCL_CPU_LOG). */
ASCENDCL_CPU_API void ascendcl_cpu_set_log_topics(uint32_t topics);
ASCENDCL_CPU_API uint32_t ascendcl_cpu_get_log_topics(void);
/* Goes back to what ASCENDCL_CPU_LOG says, read by now or later. */
ASCENDCL_CPU_API void ascendcl_cpu_reset_log_topics(void);
/* Sends log lines to `callback` instead of stderr; NULL goes back. It is called from any thread, also from the
 * device's own, with a lock of the log held, so for one line at a time: it must not call AscendCL nor this function,
 * and wait for nobody who may. It must stay valid until another one was set; then it runs no more. */
ASCENDCL_CPU_API void ascendcl_cpu_set_log_callback(void (*callback)(uint32_t topic, const char *line, void *context),
                                                    void *context);

/* ---- live objects ---- */

typedef struct ascendcl_cpu_live {
    uint32_t struct_size; /* set it to sizeof(ascendcl_cpu_live_t) */
    uint32_t contexts;    /* explicit ones */
    uint32_t streams;     /* without the default streams */
    uint32_t events;
    uint32_t notifies;
    uint32_t binaries;
    uint32_t allocations; /* device and host */
    uint32_t models;      /* runtime instances */
    uint64_t bytes;
} ascendcl_cpu_live_t;

/* What was made and not yet destroyed. aclFinalize logs the same with the topic "leaks". */
ASCENDCL_CPU_API int ascendcl_cpu_live_objects(ascendcl_cpu_live_t *live);

#ifdef __cplusplus
}
#endif
#endif /* ASCENDCL_CPU_H */
