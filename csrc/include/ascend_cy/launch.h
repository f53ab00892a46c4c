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
#include "ascend_cy/runtime.h"

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

/* The gradient of layernorm, from the gradient dy of y: with xhat = (x - mean) * rstd and g = dy * gamma,
 *     dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), each mean over a row,
 *     dgamma = sum over the rows of dy * xhat, dbeta = sum over the rows of dy.
 * dy, x and dx are (rows, cols) of `dtype`; mean and rstd (rows,), float32, as ascend_cy_layernorm wrote them; gamma,
 * dgamma and dbeta (cols,) of `gamma_dtype`. gamma may be NULL (ones), and so may each of dx, dgamma and dbeta (not wanted).
 * Sums are float32 at least, and the same bit for bit on any number of cores. dx may equal dy or x; apart from that,
 * what is written must overlap nothing else. cols = 0 enqueues nothing; rows = 0 writes zeros to dgamma and dbeta.
 * `stream` is NULL for the calling thread's current stream. Enqueues two kernels where dgamma or dbeta is wanted, with a
 * workspace from the stream's pool in between. */
ASCEND_CY_API int ascend_cy_layernorm_backward(const void *dy, const void *x, const float *mean, const float *rstd,
                                               const void *gamma, void *dx, void *dgamma, void *dbeta, int64_t rows,
                                               int64_t cols, int dtype, int gamma_dtype, ascend_cy_stream_t *stream);

/* y = a + b over n contiguous elements. dtype of all three: ACL_FLOAT, ACL_FLOAT16 and ACL_BF16 (added in
 * float32, rounded once), or ACL_INT32 (modulo 2^32). y may equal a, b or both, otherwise it must overlap
 * neither. n = 0 enqueues nothing. */
ASCEND_CY_API int ascend_cy_vector_add(const void *a, const void *b, void *y, int64_t n, int dtype,
                                       aclrtStream stream);

/* A batch of matrices that are read. Strides count elements and may be 0 or negative: batch_stride 0 uses
 * one matrix for the whole batch, row_stride 1 is a transposed matrix. Fastest where row_stride or
 * col_stride is 1; other matrices are copied by the `cpu` kernel, piece by piece. The stride of a size of 1
 * is not used. */
typedef struct ascend_cy_matrices {
    const void *data; /* element [0, 0] of the first */
    int64_t batch_stride;
    int64_t row_stride;
    int64_t col_stride;
} ascend_cy_matrices_t;

/* c[i] = a[i] * b[i] for i < batch; a[i] is (m, k), b[i] is (k, n), c[i] is (m, n). dtype of all three:
 * ACL_FLOAT, ACL_FLOAT16 or ACL_BF16; sums are float32, rounded once to a 16-bit dtype. Rows of c are
 * contiguous, c_row_stride >= n elements apart where m > 1; its matrices are c_batch_stride elements apart,
 * at least what one spans, where batch > 1. (A c with contiguous columns: swap a and b, m and n, and the
 * strides of rows and columns.) c is only written, and the memory from its first to its last element must
 * not overlap that of a or b. k = 0 writes zeros and looks at neither data pointer; batch, m or n = 0
 * enqueues nothing. The structures are read before it returns. */
ASCEND_CY_API int ascend_cy_matmul(const ascend_cy_matrices_t *a, const ascend_cy_matrices_t *b, void *c,
                                   int64_t c_row_stride, int64_t c_batch_stride, int64_t batch, int64_t m,
                                   int64_t n, int64_t k, int dtype, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif /* ASCEND_CY_LAUNCH_H */
