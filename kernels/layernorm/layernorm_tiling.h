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
#define LAYERNORM_CPU_MOST_BLOCK_BYTES (1024 * 1024)
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

// ---- npu and sim --------------------------------------------------------------------------------------------------
// What one vector core of Ascend 910B leaves to a kernel: 192 KiB without the message box at the end.
#define LAYERNORM_NPU_UB_BYTES (192 * 1024 - 256)
// Rows up to this width are handled a column of 64 elements at a time for all rows of the tile, wider ones row by row.
#define LAYERNORM_NPU_NARROW_COLS 512
// One instruction goes through at most 255 rows; a multiple of 8, because 8 numbers fill a block of 32 bytes.
#define LAYERNORM_NPU_MOST_TILE_ROWS 248
// Beyond the rows themselves: numbers of one row (pivot, mean, variance, …, each also spread over a block), and fixed
// buffers.
#define LAYERNORM_NPU_ROW_BYTES 192
#define LAYERNORM_NPU_FIXED_BYTES 2048
// A block with fewer bytes of x is not worth a core.
#define LAYERNORM_NPU_LEAST_BLOCK_BYTES 2048

static inline int64_t layernorm_round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Elements from the start of one row on chip to the start of the next.
static inline int64_t layernorm_npu_pitch(int64_t cols) {
    return layernorm_round_up(cols, cols <= LAYERNORM_NPU_NARROW_COLS ? 16 : 64);
}

// Bytes of UB that a tile of `tile_rows` rows of `pitch` elements needs. Of every element: two buffers for loading and
// two for storing (of 16-bit types half as large, but with two of float between them), and an eighth of a float for
// sums. Of every column: gamma and beta as float.
static inline int64_t layernorm_npu_ub_needed(int64_t tile_rows, int64_t pitch) {
    const int64_t sums = pitch <= LAYERNORM_NPU_NARROW_COLS ? 64 * 4 : pitch / 2;
    return tile_rows * (16 * pitch + sums + LAYERNORM_NPU_ROW_BYTES) + 8 * pitch + LAYERNORM_NPU_FIXED_BYTES;
}

// Fills rows, cols, rows_per_block, tile_rows, tile_cols and inv_cols for the Ascend C kernels and returns the number
// of blocks to launch: 0 where there is nothing to do, never more than `vector_cores` or 65535.
// tile_rows > 0: that many whole rows, tile_cols elements apart on chip, make a step. tile_rows == 0: a row does not
// fit, and a step takes tile_cols columns of one row.
static inline uint32_t layernorm_npu_tiling_for(int64_t rows, int64_t cols, int64_t itemsize, int64_t vector_cores,
                                                int64_t ub_bytes, LayerNormArgs *args) {
    args->rows = rows;
    args->cols = cols;
    args->rows_per_block = rows > 0 ? rows : 0;
    args->tile_rows = 0;
    args->tile_cols = 0;
    args->inv_cols = cols > 0 ? 1.0 / (double)cols : 0.0;
    if (rows <= 0 || cols <= 0) return 0;
    if (vector_cores < 1) vector_cores = 1;
    if (vector_cores > 65535) vector_cores = 65535;
    int64_t least_rows = 1;
    if (cols < LAYERNORM_NPU_LEAST_BLOCK_BYTES / itemsize)
        least_rows = LAYERNORM_NPU_LEAST_BLOCK_BYTES / itemsize / cols;
    int64_t per_block = rows / vector_cores + (rows % vector_cores != 0);
    if (per_block < least_rows) per_block = least_rows;
    if (per_block > rows) per_block = rows;
    args->rows_per_block = per_block;

    if (cols <= ub_bytes / 16) {
        const int64_t pitch = layernorm_npu_pitch(cols);
        const int64_t one_row = layernorm_npu_ub_needed(1, pitch);
        if (one_row <= ub_bytes) {
            const int64_t each = layernorm_npu_ub_needed(2, pitch) - one_row;
            int64_t tile = 1 + (ub_bytes - one_row) / each;
            if (tile > LAYERNORM_NPU_MOST_TILE_ROWS) tile = LAYERNORM_NPU_MOST_TILE_ROWS;
            if (tile >= per_block) {
                tile = per_block;
            } else {
                // Steps of nearly the same size, so that the last one is not a short one.
                const int64_t steps = (per_block + tile - 1) / tile;
                tile = (per_block + steps - 1) / steps;
            }
            args->tile_rows = tile;
            args->tile_cols = pitch;
        }
    }
    if (args->tile_rows == 0) {
        // The widest tile of one row, a multiple of 64; then tiles of nearly the same size.
        int64_t most = ub_bytes / 16 / 64 * 64;
        while (most > 64 && layernorm_npu_ub_needed(1, most) > ub_bytes) most -= 64;
        const int64_t tiles = cols / most + (cols % most != 0);
        args->tile_cols = layernorm_round_up(cols / tiles + (cols % tiles != 0), 64);
    }
    return (uint32_t)(rows / per_block + (rows % per_block != 0));
}

#define LAYERNORM_HAS_NPU_TILING 1
static inline uint32_t layernorm_npu_tiling(int64_t rows, int64_t cols, int64_t itemsize, int64_t vector_cores,
                                            LayerNormArgs *args) {
    return layernorm_npu_tiling_for(rows, cols, itemsize, vector_cores, LAYERNORM_NPU_UB_BYTES, args);
}

#endif // ASCEND_CY_LAYERNORM_TILING_H
