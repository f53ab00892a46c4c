/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the user: binaries loaded from memory, and launches of what is in them. The ownership words are those of
 * runtime.h.
 */
#ifndef ASCEND_CY_MODULE_H
#define ASCEND_CY_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include "ascend_cy/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ascend_cy_module ascend_cy_module_t;
typedef struct ascend_cy_kernel ascend_cy_kernel_t;

/* Gives a module of the kernels in a binary image, which is copied. It is loaded on the calling thread's device now, and
 * on others when a kernel is launched there first. `name` is for messages. May block. */
ASCEND_CY_API int ascend_cy_module_load(const void *image, size_t size, const char *name, ascend_cy_module_t **out);
ASCEND_CY_API void ascend_cy_module_retain(ascend_cy_module_t *module);
/* Never waits for queued work: the binary is unloaded once the launches enqueued by then have passed, at the latest when
 * the process ends. NULL is allowed. */
ASCEND_CY_API void ascend_cy_module_release(ascend_cy_module_t *module);
/* Waits up to timeout_ms (-1: without limit) for the launches enqueued by now; 507046 when time is up. What failed in them is
 * told by their streams, not here. */
ASCEND_CY_API int ascend_cy_module_wait(ascend_cy_module_t *module, int32_t timeout_ms);

/* The launches enqueued by now, to wait for in slices: later launches on the same streams do not make it longer. */
typedef struct ascend_cy_launches ascend_cy_launches_t;
ASCEND_CY_API int ascend_cy_module_launches(ascend_cy_module_t *module, ascend_cy_launches_t **out);
ASCEND_CY_API int ascend_cy_launches_wait(ascend_cy_launches_t *launches, int32_t timeout_ms);
ASCEND_CY_API void ascend_cy_launches_release(ascend_cy_launches_t *launches); /* NULL is allowed */

/* Modules that are loaded, those included that wait for their launches to pass. Lets go of streams whose work has passed. */
ASCEND_CY_API int64_t ascend_cy_live_modules(void);

/* The kernel of a name; borrowed from the module. May block where the thread's device has not loaded the module yet. */
ASCEND_CY_API int ascend_cy_module_kernel(ascend_cy_module_t *module, const char *name, ascend_cy_kernel_t **out);
/* Number of parameters as the binary tells it; an error where it does not (or the device library is too old to ask). */
ASCEND_CY_API int ascend_cy_kernel_param_count(ascend_cy_kernel_t *kernel, size_t *count);
ASCEND_CY_API int ascend_cy_kernel_param(ascend_cy_kernel_t *kernel, size_t index, size_t *offset, size_t *size);

/* Data that travels in the argument block behind the parameters; a pointer to its copy on the device is one of them. */
typedef struct ascend_cy_inline_data {
    uint32_t slot; /* bytes from the start of the block to the pointer, a multiple of 8 */
    uint32_t data; /* to the data, a multiple of 8, behind all parameters */
    uint32_t size; /* bytes of it */
} ascend_cy_inline_data_t;

/* Enqueues `blocks` blocks (1 to 65535). `args` holds the parameters as the kernel reads them, `size` bytes with the inline
 * data of `count` entries (at most 16, in the order of their slots) behind `params_size` bytes of parameters; it is copied. Memory that the kernel uses is ordered and
 * recorded by the caller (pool.h). On an NPU a full queue blocks. */
ASCEND_CY_API int ascend_cy_kernel_launch(ascend_cy_kernel_t *kernel, uint32_t blocks, void *args, size_t params_size,
                                          size_t size, const ascend_cy_inline_data_t *inline_data, size_t count,
                                          ascend_cy_stream_t *stream);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_MODULE_H */
