/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of the embedded device (ascendcl_cpu.h), kept for one reader instead of written to stderr. The device's
 * threads never wait for the reader: where too many lines are kept, later ones are counted and dropped.
 */
#ifndef ASCEND_CY_DEVICE_LOG_H
#define ASCEND_CY_DEVICE_LOG_H

#include <stdint.h>

#include "ascend_cy/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ascend_cy_log_line {
    struct ascend_cy_log_line *next; /* NULL: the last one */
    const char *text;                /* without the time and so on that stand before it on stderr */
    int64_t written_ns;              /* since 1970 */
    int64_t thread;                  /* the writer's number in the system */
    char thread_name[16];            /* and its name there */
    uint32_t topic;                  /* ASCENDCL_CPU_LOG_* */
    uint32_t reserved;
} ascend_cy_log_line_t;

/* Keeps lines of these topics from now on, or of others than before. Loads the device library and initialises nothing;
 * 207000 where it has no such log. */
ASCEND_CY_API int ascend_cy_device_log_start(uint32_t topics);
/* Back to stderr and to what ASCENDCL_CPU_LOG says. What is kept can still be taken. Does nothing where it is off. */
ASCEND_CY_API void ascend_cy_device_log_stop(void);
/* Waits for lines and gives all there are, the oldest first, to be freed with ascend_cy_device_log_free; `lost` counts
 * those that were dropped after them. No lines and none lost: it was stopped, and everything was taken. From the first
 * call on nothing is kept that the calling thread causes: the log would feed itself. Blocks. */
ASCEND_CY_API void ascend_cy_device_log_take(ascend_cy_log_line_t **lines, uint64_t *lost);
ASCEND_CY_API void ascend_cy_device_log_free(ascend_cy_log_line_t *lines);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_DEVICE_LOG_H */
