/* SPDX-License-Identifier: Apache-2.0
 *
 * Launchers: each checks its arguments, computes the tiling, packs the argument block and enqueues one kernel.
 *
 * All of them return an aclError (0 on success) and enqueue only: results are there once `stream` has passed the
 * launch. NULL is the current context's default stream. Where an argument is refused (100000, 107000) nothing was
 * enqueued, and ascend_cy_last_message() tells why. Pointers are device pointers; on unified memory (the `cpu`
 * device) host pointers are device pointers. They can be called from any thread, without Python.
 */
#ifndef ASCEND_CY_LAUNCH_H
#define ASCEND_CY_LAUNCH_H

#include <stdint.h>

#include "ascend_cy/acl.h"
#include "ascend_cy/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = (x - mean(x)) / sqrt(var(x) + eps) * gamma + beta over the last axis of x, (rows, cols), biased variance.
 * dtype of x and y, gamma_dtype and beta_dtype: ACL_FLOAT, ACL_FLOAT16 or ACL_BF16. gamma, beta, mean, rstd may be
 * NULL; mean and rstd are float32. y may equal x, otherwise they must not overlap. rows = 0 or cols = 0 enqueues
 * nothing. */
ASCEND_CY_API int ascend_cy_layernorm(const void *x, const void *gamma, const void *beta, void *y, float *mean,
                                      float *rstd, int64_t rows, int64_t cols, int dtype, int gamma_dtype,
                                      int beta_dtype, double eps, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_LAUNCH_H */
