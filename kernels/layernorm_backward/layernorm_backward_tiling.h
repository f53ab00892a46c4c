// SPDX-License-Identifier: Apache-2.0
//
// Arguments and tiling of the layernorm_backward kernels, shared by the launcher and by every target's kernels.
// Plain data and pure functions; no allocation, no I/O.
//
// Two launches on one stream: layernorm_backward_<type of x> writes dx and, for every part of the rows, the sums of its
// rows for dgamma and dbeta into a workspace; layernorm_backward_sum_<type of dgamma> adds the parts up. Which rows make
// a part and in which order they are added depends on the shape alone, so results do not depend on the number of cores.
#ifndef ASCEND_CY_LAYERNORM_BACKWARD_TILING_H
#define ASCEND_CY_LAYERNORM_BACKWARD_TILING_H

#include <stdint.h>

// The argument block of layernorm_backward_fp32, _fp16 and _bf16 (named after the type of dy, x and dx). Only 8-byte
// slots. dy, x and dx are (rows, cols), contiguous; dx may be dy or x. mean and rstd are float32, (rows,), as the forward
// kernel wrote them. Absent pointers are 0.
typedef struct LayerNormBackwardArgs {
    uint64_t dy;
    uint64_t x;
    uint64_t mean;
    uint64_t rstd;
    uint64_t gamma;     // (cols,) of gamma_dtype, or 0: ones
    uint64_t dx;        // or 0
    uint64_t workspace; // layernorm_backward_workspace_bytes(), aligned to 32; or 0: no dgamma and dbeta
    int64_t rows;
    int64_t cols;
    int64_t gamma_dtype; // as in layernorm_tiling.h
    int64_t parts;
    int64_t rows_per_part; // part p has rows [p * rows_per_part, min(rows, (p + 1) * rows_per_part))
    int64_t tile_rows;     // rows of one step on chip, or 0: split rows
    int64_t tile_cols;     // elements of one step on chip
    double inv_cols;       // 1 / cols
} LayerNormBackwardArgs;

// The argument block of layernorm_backward_sum_fp32, _fp16 and _bf16 (named after the type of dgamma and dbeta).
typedef struct LayerNormBackwardSumArgs {
    uint64_t workspace;
    uint64_t dgamma; // (cols,), or 0
    uint64_t dbeta;  // (cols,), or 0
    int64_t cols;
    int64_t parts;
    int64_t cols_per_block; // block b takes columns [b * cols_per_block, min(cols, (b + 1) * cols_per_block))
} LayerNormBackwardSumArgs;

static inline int64_t layernorm_backward_round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Floats from one row of sums in the workspace to the next. Part p has two: for dgamma 2 p, for dbeta 2 p + 1.
static inline int64_t layernorm_backward_sum_pitch(int64_t cols) { return layernorm_backward_round_up(cols, 8); }

// ---- cpu ----------------------------------------------------------------------------------------------------------
// Parts of the rows: 64 where there are enough rows, so that many threads find work. Not more than 64 rows in one, for
// the digits of its sums and at the price of a 32nd of x in the workspace; not fewer than 8, or the workspace would be
// as large as x.
#define LAYERNORM_BACKWARD_CPU_PARTS 64
#define LAYERNORM_BACKWARD_CPU_MOST_ROWS 64
#define LAYERNORM_BACKWARD_CPU_LEAST_ROWS 8
// Bytes of x in one block of the first launch, and of sums in one of the second.
#define LAYERNORM_BACKWARD_CPU_LEAST_BLOCK_BYTES (16 * 1024)
#define LAYERNORM_BACKWARD_CPU_LEAST_SUM_BYTES (64 * 1024)
#define LAYERNORM_BACKWARD_CPU_MOST_BLOCKS 65535

// Fills everything but pointers and gamma_dtype for the `cpu` kernels and returns the number of blocks of the first
// launch: 0 where there is nothing to do. Block b of n takes parts [b * parts / n, (b + 1) * parts / n).
static inline uint32_t layernorm_backward_cpu_tiling(int64_t rows, int64_t cols, int64_t itemsize, int64_t cores,
                                                     LayerNormBackwardArgs *args) {
    args->rows = rows;
    args->cols = cols;
    args->parts = 0;
    args->rows_per_part = rows > 0 ? rows : 0;
    args->tile_rows = 0;
    args->tile_cols = 0;
    args->inv_cols = cols > 0 ? 1.0 / (double)cols : 0.0;
    if (rows <= 0 || cols <= 0) return 0;
    if (cores < 1) cores = 1;
    int64_t per_part = rows / LAYERNORM_BACKWARD_CPU_PARTS + (rows % LAYERNORM_BACKWARD_CPU_PARTS != 0);
    if (per_part > LAYERNORM_BACKWARD_CPU_MOST_ROWS) per_part = LAYERNORM_BACKWARD_CPU_MOST_ROWS;
    if (per_part < LAYERNORM_BACKWARD_CPU_LEAST_ROWS) per_part = LAYERNORM_BACKWARD_CPU_LEAST_ROWS;
    if (per_part > rows) per_part = rows;
    args->rows_per_part = per_part;
    args->parts = rows / per_part + (rows % per_part != 0);
    // Parts of the least block, without forming cols * itemsize, which may not fit.
    const int64_t least_elements = LAYERNORM_BACKWARD_CPU_LEAST_BLOCK_BYTES / itemsize;
    int64_t least = 1;
    if (cols < least_elements && per_part * cols < least_elements)
        least = (least_elements + per_part * cols - 1) / (per_part * cols);
    int64_t blocks = args->parts / least;
    if (blocks > 4 * (int64_t)LAYERNORM_BACKWARD_CPU_MOST_BLOCKS || blocks > 4 * cores) blocks = 4 * cores;
    if (blocks > LAYERNORM_BACKWARD_CPU_MOST_BLOCKS) blocks = LAYERNORM_BACKWARD_CPU_MOST_BLOCKS;
    return (uint32_t)(blocks < 1 ? 1 : blocks);
}

// ---- npu and sim --------------------------------------------------------------------------------------------------
#define LAYERNORM_BACKWARD_NPU_UB_BYTES (192 * 1024 - 256)
#define LAYERNORM_BACKWARD_NPU_NARROW_COLS 512
#define LAYERNORM_BACKWARD_NPU_MOST_TILE_ROWS 248
#define LAYERNORM_BACKWARD_NPU_ROW_BYTES 192
#define LAYERNORM_BACKWARD_NPU_FIXED_BYTES 3072
// Parts: enough to fill 20, 24, 40 and 48 cores evenly.
#define LAYERNORM_BACKWARD_NPU_PARTS 240
// Split rows keep their numbers on the core: so many make a part.
#define LAYERNORM_BACKWARD_NPU_SPLIT_ROWS 32
// Columns that one step of the second launch adds up, and parts that it loads at once.
#define LAYERNORM_BACKWARD_NPU_SUM_COLS 1024
#define LAYERNORM_BACKWARD_NPU_SUM_PARTS 16

static inline int64_t layernorm_backward_npu_pitch(int64_t cols) {
    return layernorm_backward_round_up(cols, cols <= LAYERNORM_BACKWARD_NPU_NARROW_COLS ? 16 : 64);
}

// Bytes of UB for a tile. Of every element: dy, x and dx twice, and a float besides (of 16-bit types three), an eighth
// of a float for sums. Of every column: gamma and two sums as float.
static inline int64_t layernorm_backward_npu_ub_needed(int64_t tile_rows, int64_t pitch) {
    const int64_t sums = pitch <= LAYERNORM_BACKWARD_NPU_NARROW_COLS ? 64 * 4 : pitch / 2;
    return tile_rows * (28 * pitch + sums + LAYERNORM_BACKWARD_NPU_ROW_BYTES) + 12 * pitch +
           LAYERNORM_BACKWARD_NPU_FIXED_BYTES;
}

// Fills everything but pointers and gamma_dtype and returns the number of blocks of the first launch: 0 where there is
// nothing to do, never more than `vector_cores` or 65535.
static inline uint32_t layernorm_backward_npu_tiling_for(int64_t rows, int64_t cols, int64_t vector_cores,
                                                         int64_t ub_bytes, LayerNormBackwardArgs *args) {
    args->rows = rows;
    args->cols = cols;
    args->parts = 0;
    args->rows_per_part = rows > 0 ? rows : 0;
    args->tile_rows = 0;
    args->tile_cols = 0;
    args->inv_cols = cols > 0 ? 1.0 / (double)cols : 0.0;
    if (rows <= 0 || cols <= 0) return 0;
    if (vector_cores < 1) vector_cores = 1;
    if (vector_cores > 65535) vector_cores = 65535;
    int64_t per_part = rows / LAYERNORM_BACKWARD_NPU_PARTS + (rows % LAYERNORM_BACKWARD_NPU_PARTS != 0);
    if (cols <= ub_bytes / 28) {
        const int64_t pitch = layernorm_backward_npu_pitch(cols);
        const int64_t one_row = layernorm_backward_npu_ub_needed(1, pitch);
        if (one_row <= ub_bytes) {
            // Short rows: not more parts than make a step worthwhile.
            const int64_t least = cols < 1024 ? 1024 / cols : 1;
            if (per_part < least) per_part = least < rows ? least : rows;
            const int64_t each = layernorm_backward_npu_ub_needed(2, pitch) - one_row;
            int64_t tile = 1 + (ub_bytes - one_row) / each;
            if (tile > LAYERNORM_BACKWARD_NPU_MOST_TILE_ROWS) tile = LAYERNORM_BACKWARD_NPU_MOST_TILE_ROWS;
            const int64_t steps = (per_part + tile - 1) / tile;
            args->tile_rows = (per_part + steps - 1) / steps;
            args->tile_cols = pitch;
        }
    }
    if (args->tile_rows == 0) {
        if (per_part > LAYERNORM_BACKWARD_NPU_SPLIT_ROWS) per_part = LAYERNORM_BACKWARD_NPU_SPLIT_ROWS;
        int64_t most = ub_bytes / 28 / 64 * 64;
        while (most > 64 && layernorm_backward_npu_ub_needed(1, most) > ub_bytes) most -= 64;
        const int64_t tiles = cols / most + (cols % most != 0);
        args->tile_cols = layernorm_backward_round_up(cols / tiles + (cols % tiles != 0), 64);
    }
    args->rows_per_part = per_part;
    args->parts = rows / per_part + (rows % per_part != 0);
    return (uint32_t)(args->parts < vector_cores ? args->parts : vector_cores);
}

static inline uint32_t layernorm_backward_npu_tiling(int64_t rows, int64_t cols, int64_t vector_cores,
                                                     LayerNormBackwardArgs *args) {
    return layernorm_backward_npu_tiling_for(rows, cols, vector_cores, LAYERNORM_BACKWARD_NPU_UB_BYTES, args);
}

// Bytes of the workspace between the two launches, once `args` is filled; 0 where neither dgamma nor dbeta is wanted.
static inline uint64_t layernorm_backward_workspace_bytes(const LayerNormBackwardArgs *args) {
    return (uint64_t)args->parts * 2u * (uint64_t)layernorm_backward_sum_pitch(args->cols) * 4u;
}

// Fills cols, parts and cols_per_block for the `cpu` kernels and returns the number of blocks of the second launch.
static inline uint32_t layernorm_backward_cpu_sum_tiling(int64_t cols, int64_t parts, int64_t cores,
                                                         LayerNormBackwardSumArgs *args) {
    args->cols = cols;
    args->parts = parts;
    args->cols_per_block = cols > 0 ? cols : 0;
    if (cols <= 0 || parts <= 0) return 0;
    if (cores < 1) cores = 1;
    if (cores > LAYERNORM_BACKWARD_CPU_MOST_BLOCKS) cores = LAYERNORM_BACKWARD_CPU_MOST_BLOCKS;
    int64_t least = LAYERNORM_BACKWARD_CPU_LEAST_SUM_BYTES / 8 / parts;
    if (least < 1) least = 1;
    int64_t per_block = cols / cores + (cols % cores != 0);
    if (per_block < least) per_block = least;
    args->cols_per_block = layernorm_backward_round_up(per_block, 64);
    return (uint32_t)(cols / args->cols_per_block + (cols % args->cols_per_block != 0));
}

// Fills cols, parts and cols_per_block and returns the number of blocks of the second launch.
static inline uint32_t layernorm_backward_npu_sum_tiling(int64_t cols, int64_t parts, int64_t vector_cores,
                                                         LayerNormBackwardSumArgs *args) {
    args->cols = cols;
    args->parts = parts;
    args->cols_per_block = cols > 0 ? cols : 0;
    if (cols <= 0 || parts <= 0) return 0;
    if (vector_cores < 1) vector_cores = 1;
    if (vector_cores > 65535) vector_cores = 65535;
    args->cols_per_block = layernorm_backward_round_up(cols / vector_cores + (cols % vector_cores != 0), 64);
    return (uint32_t)(cols / args->cols_per_block + (cols % args->cols_per_block != 0));
}

#endif // ASCEND_CY_LAYERNORM_BACKWARD_TILING_H
