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

// ---- cpu ----------------------------------------------------------------------------------------------------------
// Bytes of x in one block. A smaller block is not worth the hop to another thread; a larger one leaves threads idle
// at the end. Results do not depend on the split.
#define LAYERNORM_CPU_LEAST_BLOCK_BYTES (32 * 1024)
#define LAYERNORM_CPU_MOST_BLOCK_BYTES (256 * 1024)
#define LAYERNORM_CPU_MOST_BLOCKS 65535

// Fills rows, cols, rows_per_block, tile_rows, tile_cols and inv_cols for the `cpu` kernels and returns the number of
// blocks to launch: 0 where there is nothing to do. `itemsize` is the size of an element of x, `cores` the number of
// threads that share the blocks.
static inline uint32_t layernorm_cpu_tiling(int64_t rows, int64_t cols, int64_t itemsize, int64_t cores,
                                            LayerNormArgs *args) {
    args->rows = rows;
    args->cols = cols;
    args->rows_per_block = rows > 0 ? rows : 0;
    args->tile_rows = 0; // the kernel groups rows by what fits the caches of a core
    args->tile_cols = 0;
    args->inv_cols = cols > 0 ? 1.0 / (double)cols : 0.0;
    if (rows <= 0 || cols <= 0) return 0;
    if (cores < 1) cores = 1;
    // Rows of the least and of the most block, without forming cols * itemsize, which may not fit.
    const int64_t least_elements = LAYERNORM_CPU_LEAST_BLOCK_BYTES / itemsize;
    const int64_t most_elements = LAYERNORM_CPU_MOST_BLOCK_BYTES / itemsize;
    const int64_t least = cols < least_elements ? (least_elements + cols - 1) / cols : 1;
    const int64_t most = cols < most_elements ? most_elements / cols : 1;
    // Four blocks for each core, so that a core which is slow or late costs little.
    const int64_t parts = cores < LAYERNORM_CPU_MOST_BLOCKS ? 4 * cores : 4 * (int64_t)LAYERNORM_CPU_MOST_BLOCKS;
    int64_t per_block = rows / parts + (rows % parts != 0);
    if (per_block > most) per_block = most;
    if (per_block < least) per_block = least;
    const int64_t fewest = rows / LAYERNORM_CPU_MOST_BLOCKS + (rows % LAYERNORM_CPU_MOST_BLOCKS != 0);
    if (per_block < fewest) per_block = fewest;
    if (per_block > rows) per_block = rows;
    args->rows_per_block = per_block;
    return (uint32_t)(rows / per_block + (rows % per_block != 0));
}

#endif // ASCEND_CY_LAYERNORM_TILING_H
