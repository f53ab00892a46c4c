// SPDX-License-Identifier: Apache-2.0
//
// Arguments and tiling of the matmul kernels, shared by the launcher and by every target's kernel.
// Plain data and pure functions; no allocation, no I/O.
#ifndef ASCEND_CY_MATMUL_TILING_H
#define ASCEND_CY_MATMUL_TILING_H

#include <stdint.h>

// The argument block of matmul_fp32, matmul_fp16 and matmul_bf16: c[i] = a[i] * b[i] for `batch` matrices,
// a[i] of (m, k), b[i] of (k, n), c[i] of (m, n), all of the type in the kernel's name, sums in float32. Only
// 8-byte slots, so the layout is the same under every rule for kernel arguments. Strides count elements. A
// row stride of 1 is a transposed matrix; a batch stride of 0 uses one matrix for the whole batch. The rows
// of c are contiguous.
typedef struct MatmulArgs {
    uint64_t a;
    uint64_t b;
    uint64_t c;
    int64_t batch;
    int64_t m;
    int64_t n;
    int64_t k;
    int64_t a_row_stride;
    int64_t a_col_stride;
    int64_t a_batch_stride;
    int64_t b_row_stride;
    int64_t b_col_stride;
    int64_t b_batch_stride;
    int64_t c_row_stride;
    int64_t c_batch_stride;
    int64_t
        tile_m; // c is cut into tiles of tile_m x tile_n, counted along rows first, then down, then by batch
    int64_t tile_n;
    int64_t tile_k;          // elements of k of one step on chip; the `cpu` kernels do not read it
    int64_t tiles_per_block; // block i takes tiles [i * tiles_per_block, (i + 1) * tiles_per_block)
} MatmulArgs;

static inline int64_t matmul_ceil_div(int64_t x, int64_t y) { return x / y + (x % y != 0); }

// Tiles of the whole product.
static inline int64_t matmul_tiles(const MatmulArgs *args) {
    return args->batch * matmul_ceil_div(args->m, args->tile_m) * matmul_ceil_div(args->n, args->tile_n);
}

// ---- cpu
// ----------------------------------------------------------------------------------------------------------
// Up to so many rows (or columns) a product is bound by the memory of the other operand and takes a path of
// its own.
#define MATMUL_CPU_THIN 4
// The largest tile: what is copied for it stays in the second-level cache, mostly. A larger one is a few per
// cent more efficient and leaves threads idle at the end.
#define MATMUL_CPU_MOST_SIDE 512
#define MATMUL_CPU_LEAST_SIDE 32
// Multiply-adds of the least tile, some 6 us: not worth cutting further.
#define MATMUL_CPU_LEAST_TILE (512 * 1024)
// Smaller problems are cut until there are so many tiles.
#define MATMUL_CPU_WANTED_TILES 4
#define MATMUL_CPU_MOST_BLOCKS 65535

// a * b, or `most` where that is smaller. a and b are positive.
static inline int64_t matmul_capped_product(int64_t a, int64_t b, int64_t most) {
    return a > most / b ? most : a * b;
}

// Half of a tile's side, rounded up to what the kernels of BLAS libraries divide by.
static inline int64_t matmul_half(int64_t side) {
    const int64_t half = (side + 1) / 2;
    return half >= 64 ? (half + 63) / 64 * 64 : (half + 15) / 16 * 16;
}

// Fills tile_m, tile_n, tile_k and tiles_per_block for the `cpu` kernels, from batch, m, n and k, and returns
// the number of blocks to launch: 0 where c has no elements. `cores` is the number of threads that share the
// blocks.
//
// A BLAS may sum in another order for another size of tile. So tiles come from the shape alone; `cores` only
// says how many go into one block, which changes no result.
static inline uint32_t matmul_cpu_tiling(int64_t cores, MatmulArgs *args) {
    const int64_t m = args->m, n = args->n, k = args->k > 0 ? args->k : 1;
    args->tile_m = m > 0 ? m : 1;
    args->tile_n = n > 0 ? n : 1;
    args->tile_k = 0;
    args->tiles_per_block = 1;
    if (args->batch <= 0 || m <= 0 || n <= 0) return 0;
    if (cores < 1) cores = 1;
    if (cores > MATMUL_CPU_MOST_BLOCKS) cores = MATMUL_CPU_MOST_BLOCKS;
    const int64_t huge = INT64_MAX / 4;
    int64_t least = MATMUL_CPU_LEAST_TILE; // multiply-adds of a block that is worth the hop to another thread
    if (m <= MATMUL_CPU_THIN || n <= MATMUL_CPU_THIN) {
        // Each element of the larger operand is used m (or n) times: count these elements instead.
        int64_t *const side = m <= MATMUL_CPU_THIN ? &args->tile_n : &args->tile_m;
        least = 64 * 1024;
        int64_t columns = matmul_ceil_div(2 * least, k);
        columns = (columns + 63) / 64 * 64;
        if (columns < *side) *side = columns;
    } else {
        if (args->tile_m > MATMUL_CPU_MOST_SIDE) args->tile_m = MATMUL_CPU_MOST_SIDE;
        if (args->tile_n > MATMUL_CPU_MOST_SIDE) args->tile_n = MATMUL_CPU_MOST_SIDE;
        while (matmul_tiles(args) < MATMUL_CPU_WANTED_TILES) {
            int64_t *const side = args->tile_m > args->tile_n ? &args->tile_m : &args->tile_n;
            const int64_t half = matmul_half(*side);
            const int64_t other = side == &args->tile_m ? args->tile_n : args->tile_m;
            if (half >= *side || half < MATMUL_CPU_LEAST_SIDE ||
                matmul_capped_product(half * other, k, huge) < MATMUL_CPU_LEAST_TILE)
                break;
            *side = half;
        }
    }
    const int64_t tiles = matmul_tiles(args);
    // A block holds a worthwhile amount of work, but no more than lets every core have four.
    const int64_t narrow = m < n ? m : n;
    const int64_t uses = narrow <= MATMUL_CPU_THIN ? narrow : 1;
    const int64_t tile_work = matmul_capped_product(args->tile_m * args->tile_n / uses, k, huge);
    int64_t per_block = least / (tile_work > 0 ? tile_work : 1);
    const int64_t share = matmul_ceil_div(tiles, 4 * cores);
    if (per_block > share) per_block = share;
    const int64_t fewest = matmul_ceil_div(tiles, MATMUL_CPU_MOST_BLOCKS);
    if (per_block < fewest) per_block = fewest;
    if (per_block < 1) per_block = 1;
    args->tiles_per_block = per_block;
    return (uint32_t)matmul_ceil_div(tiles, per_block);
}

// ---- npu and sim --------------------------------------------------------------------------------------------------
// One step on chip. a and b in their type and as float, b once more with its axes exchanged, two tiles of sums, and the
// tile of c: below 160 KiB of the 192 for float32.
#define MATMUL_NPU_TILE_M 32
#define MATMUL_NPU_TILE_N 128
#define MATMUL_NPU_TILE_K 64

// Fills tile_m, tile_n, tile_k and tiles_per_block for the Ascend C kernels, from batch, m and n, and returns the number of
// blocks to launch: 0 where c has no elements, never more than `vector_cores` or 65535. Tiles come from the shape alone.
static inline uint32_t matmul_npu_tiling(int64_t vector_cores, MatmulArgs *args) {
    args->tile_m = MATMUL_NPU_TILE_M;
    args->tile_n = MATMUL_NPU_TILE_N;
    args->tile_k = MATMUL_NPU_TILE_K;
    args->tiles_per_block = 1;
    if (args->batch <= 0 || args->m <= 0 || args->n <= 0) return 0;
    if (vector_cores < 1) vector_cores = 1;
    if (vector_cores > 65535) vector_cores = 65535;
    const int64_t tiles = matmul_tiles(args);
    args->tiles_per_block = matmul_ceil_div(tiles, vector_cores);
    return (uint32_t)matmul_ceil_div(tiles, args->tiles_per_block);
}

#define MATMUL_HAS_NPU_TILING 1

#endif // ASCEND_CY_MATMUL_TILING_H
