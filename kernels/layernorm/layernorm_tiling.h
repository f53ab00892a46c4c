// SPDX-License-Identifier: Apache-2.0
//
// Arguments and tiling of the layernorm kernels, shared by the launcher and by every target's kernel.
// Plain data and pure functions; no allocation, no I/O.
#ifndef ASCEND_CY_LAYERNORM_TILING_H
#define ASCEND_CY_LAYERNORM_TILING_H

#include <stdint.h>

// Data types of x, gamma and beta: the values of aclDataType.
#define LAYERNORM_FLOAT 0
#define LAYERNORM_FLOAT16 1
#define LAYERNORM_BF16 27

// The argument block of layernorm_fp32, layernorm_fp16 and layernorm_bf16 (named after the type of x and y).
// Only 8-byte slots, so the layout is the same under every rule for kernel arguments.
// x and y are (rows, cols), contiguous; y may be x. Absent pointers are 0. mean and rstd are float32, (rows,).
typedef struct LayerNormArgs {
    uint64_t x;
    uint64_t gamma; // (cols,) of gamma_dtype, or 0: ones
    uint64_t beta;  // (cols,) of beta_dtype, or 0: zeros
    uint64_t y;
    uint64_t mean; // or 0
    uint64_t rstd; // or 0
    int64_t rows;
    int64_t cols;
    int64_t gamma_dtype;
    int64_t beta_dtype;
    int64_t rows_per_block; // block b takes rows [b * rows_per_block, min(rows, (b + 1) * rows_per_block))
    int64_t tile_rows;      // rows of one step on chip (full-row path), or 0: split rows
    int64_t tile_cols;      // elements of one step on chip
    double eps;             // as the caller gave it
    double inv_cols;        // 1 / cols
} LayerNormArgs;

#endif // ASCEND_CY_LAYERNORM_TILING_H
