/* SPDX-License-Identifier: Apache-2.0
 *
 * Named ranges of work on streams: when each began and ended on its device.
 *
 * While a recording runs, launches of this library are ranges by themselves, and callers add their own. Where the vendor's
 * tool library is in the process (mstxRangeStartA), every range is told to it too, recording or not.
 */
#ifndef ASCEND_CY_PROFILE_H
#define ASCEND_CY_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "ascend_cy/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ascend_cy_range {
    const char *name;      /* lives as long as the process */
    uint64_t stream;       /* the stream's handle; 0: the device's default stream */
    int32_t device;
    int32_t reserved;
    double enqueued_us;    /* these three on the host's monotonic clock */
    double begin_us;
    double end_us;
} ascend_cy_range_t;

/* Starts recording; 100042 where one runs already. */
ASCEND_CY_API int ascend_cy_profile_start(void);
/* Ends it (100043 where none runs), waits for the ranges that were begun, and gives them, ordered by begin_us, to be freed with
 * ascend_cy_profile_free. `lost` counts those that could not be recorded or did not pass. May block. */
ASCEND_CY_API int ascend_cy_profile_stop(ascend_cy_range_t **ranges, size_t *count, size_t *lost);
ASCEND_CY_API void ascend_cy_profile_free(ascend_cy_range_t *ranges);

/* A range around what is enqueued on `stream` between the two calls; NULL, which costs next to nothing, while nobody
 * records. `name` is copied. Every range that began must end. */
ASCEND_CY_API void *ascend_cy_range_begin(const char *name, ascend_cy_stream_t *stream);
ASCEND_CY_API void ascend_cy_range_end(void *range);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_PROFILE_H */
