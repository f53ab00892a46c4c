// SPDX-License-Identifier: Apache-2.0
//
// Arguments and tiling of the vector_add kernels, shared by the launcher and by every target's kernel.
// Plain data and pure functions; no allocation, no I/O.
#ifndef ASCEND_CY_VECTOR_ADD_TILING_H
#define ASCEND_CY_VECTOR_ADD_TILING_H

#include <stdint.h>

// The argument block of vector_add_fp32, vector_add_fp16, vector_add_bf16 and vector_add_int32: y = a + b
// over n contiguous elements. Only 8-byte slots, so the layout is the same under every rule for kernel
// arguments. y may be a, b or both; otherwise it overlaps neither.
typedef struct VectorAddArgs {
    uint64_t a;
    uint64_t b;
    uint64_t y;
    int64_t n;
    int64_t elements_per_block; // block i takes elements [i * elements_per_block, min(n, (i + 1) *
                                // elements_per_block))
    int64_t tile_elements;      // elements of one step on chip; the `cpu` kernels do not read it
} VectorAddArgs;

// ---- cpu
// ----------------------------------------------------------------------------------------------------------
// Bytes of y in one block. A smaller block is not worth the hop to another thread; a larger one leaves
// threads idle at the end. Results do not depend on the split.
#define VECTOR_ADD_CPU_LEAST_BLOCK_BYTES (64 * 1024)
#define VECTOR_ADD_CPU_MOST_BLOCK_BYTES (512 * 1024)
#define VECTOR_ADD_CPU_MOST_BLOCKS 65535
// Blocks begin at multiples of so many elements: if y is aligned to cache lines, then so is every block of
// it.
#define VECTOR_ADD_CPU_GRAIN 64

// Fills n, elements_per_block and tile_elements for the `cpu` kernels and returns the number of blocks to
// launch: 0 where there is nothing to do. `itemsize` is the size of an element, `cores` the number of threads
// that share the blocks.
static inline uint32_t vector_add_cpu_tiling(int64_t n, int64_t itemsize, int64_t cores,
                                             VectorAddArgs *args) {
    args->n = n;
    args->elements_per_block = n > 0 ? n : 0;
    args->tile_elements = 0;
    if (n <= 0) return 0;
    if (cores < 1) cores = 1;
    if (cores > VECTOR_ADD_CPU_MOST_BLOCKS) cores = VECTOR_ADD_CPU_MOST_BLOCKS;
    const int64_t least = VECTOR_ADD_CPU_LEAST_BLOCK_BYTES / itemsize;
    const int64_t most = VECTOR_ADD_CPU_MOST_BLOCK_BYTES / itemsize;
    // Four blocks for each core, so that a core which is slow or late costs little.
    const int64_t parts = 4 * cores;
    int64_t per_block = n / parts + (n % parts != 0);
    if (per_block > most) per_block = most;
    if (per_block < least) per_block = least;
    const int64_t fewest = n / VECTOR_ADD_CPU_MOST_BLOCKS + (n % VECTOR_ADD_CPU_MOST_BLOCKS != 0);
    if (per_block < fewest) per_block = fewest;
    if (per_block >= n) return 1;
    const int64_t ragged = per_block % VECTOR_ADD_CPU_GRAIN;
    if (ragged) per_block += VECTOR_ADD_CPU_GRAIN - ragged;
    args->elements_per_block = per_block;
    return (uint32_t)(n / per_block + (n % per_block != 0));
}

// ---- npu and sim --------------------------------------------------------------------------------------------------
// What one vector core of Ascend 910B leaves to a kernel: 192 KiB without the message box at the end.
#define VECTOR_ADD_NPU_UB_BYTES (192 * 1024 - 256)
// Blocks and steps begin at multiples of 512 bytes, where the memory is fastest.
#define VECTOR_ADD_NPU_GRAIN_BYTES 512
#define VECTOR_ADD_NPU_LEAST_BLOCK_BYTES 4096
// Elements of one step: two buffers each for a, b and y; for 16-bit types two floats more, in which bfloat16 is added.
#define VECTOR_ADD_NPU_BYTES_PER_ELEMENT(itemsize) (6 * (itemsize) + ((itemsize) == 2 ? 8 : 0))

// Fills n, elements_per_block and tile_elements for the Ascend C kernels and returns the number of blocks to launch: 0
// where there is nothing to do, never more than `vector_cores` or 65535.
static inline uint32_t vector_add_npu_tiling_for(int64_t n, int64_t itemsize, int64_t vector_cores, int64_t ub_bytes,
                                                 VectorAddArgs *args) {
    args->n = n;
    args->elements_per_block = n > 0 ? n : 0;
    args->tile_elements = 0;
    if (n <= 0) return 0;
    if (vector_cores < 1) vector_cores = 1;
    if (vector_cores > 65535) vector_cores = 65535;
    const int64_t grain = VECTOR_ADD_NPU_GRAIN_BYTES / itemsize;
    const int64_t least = VECTOR_ADD_NPU_LEAST_BLOCK_BYTES / itemsize;
    int64_t per_block = n / vector_cores + (n % vector_cores != 0);
    if (per_block < least) per_block = least;
    if (per_block > n) per_block = n;
    if (per_block < n && per_block % grain != 0) per_block += grain - per_block % grain;
    if (per_block > n) per_block = n;
    args->elements_per_block = per_block;
    int64_t tile = ub_bytes / VECTOR_ADD_NPU_BYTES_PER_ELEMENT(itemsize) / grain * grain;
    if (tile < grain) tile = grain;
    if (tile > per_block) tile = (per_block + grain - 1) / grain * grain;
    args->tile_elements = tile;
    return (uint32_t)(n / per_block + (n % per_block != 0));
}

#define VECTOR_ADD_HAS_NPU_TILING 1
static inline uint32_t vector_add_npu_tiling(int64_t n, int64_t itemsize, int64_t vector_cores, VectorAddArgs *args) {
    return vector_add_npu_tiling_for(n, itemsize, vector_cores, VECTOR_ADD_NPU_UB_BYTES, args);
}

#endif // ASCEND_CY_VECTOR_ADD_TILING_H
