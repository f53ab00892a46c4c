// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm backward for the `cpu` target: layernorm_backward_fp32, _fp16, _bf16, which write dx and the sums of each
// part of the rows, and layernorm_backward_sum_fp32, _fp16, _bf16, which add the parts up.
//
// A row, or a few, are read and added up, then read again from a near cache to be written, while the next ones are
// fetched: memory sees every element once.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../layernorm/layernorm_cpu_stage.h"
#include "../layernorm/layernorm_cpu_weights.h"
#include "ascend_cy/kernel_abi.h"
#include "ascend_cy_simd.h"
#include "layernorm_backward_cpu_rows.h"
#include "layernorm_backward_tiling.h"

namespace {

constexpr int64_t kTile = 1024;      // columns of one tile: its weights and its sums over rows stay in L1
constexpr int64_t kShortRow = 256;   // columns up to which four rows are worked on side by side
constexpr int kShortRows = 4;
constexpr int kMostRows = 8;         // rows of one group where a row has several tiles
constexpr int64_t kGroup = 128 << 10;    // bytes of dy and x in such a group: they stay in L2
constexpr int64_t kConvertedGroup = 256 << 10; // where a tile of gamma is converted for each group: worth more rows
constexpr int64_t kLeastAhead = 4 << 10; // bytes to fetch ahead

template <class Element> class Block {
    using T = typename Element::type;

  public:
    Block(const LayerNormBackwardArgs &args, float *gamma_tile)
        : args_(args), cols_(args.cols), inv_cols_(1.0 / static_cast<double>(args.cols)),
          pitch_(layernorm_backward_sum_pitch(args.cols)),
          dy_(reinterpret_cast<const T *>(args.dy)), x_(reinterpret_cast<const T *>(args.x)),
          dx_(reinterpret_cast<T *>(args.dx)), sums_(reinterpret_cast<float *>(args.workspace)),
          stream_(args.dx != 0 && args.dx != args.dy && args.dx != args.x &&
                  args.rows > streaming_threshold() / (args.cols * 3 * int64_t{sizeof(T)})),
          gamma_(args.gamma, args.gamma_dtype, 1.0f, gamma_tile, kTile) {}

    void run(int64_t first_part, int64_t end_part) {
        if (cols_ <= kTile) g_ = gamma_.columns(0, cols_);
        const int64_t bytes = gamma_.converted() ? kConvertedGroup : kGroup;
        int64_t group = cols_ <= kTile ? 1 : bytes / 2 / static_cast<int64_t>(sizeof(T)) / cols_;
        group = group < 1 ? 1 : group > kMostRows ? kMostRows : group;
        const int64_t least = kLeastAhead / static_cast<int64_t>(sizeof(T));
        ahead_ = group * cols_ < least ? least : group * cols_; // of short rows, several
        for (int64_t part = first_part; part < end_part; ++part) {
            int64_t row = part * args_.rows_per_part;
            const int64_t end = args_.rows - row < args_.rows_per_part ? args_.rows : row + args_.rows_per_part;
            if (sums_) {
                to_gamma_ = sums_ + 2 * part * pitch_;
                to_beta_ = to_gamma_ + pitch_;
                memset(to_gamma_, 0, static_cast<size_t>(cols_) * sizeof(float));
                memset(to_beta_, 0, static_cast<size_t>(cols_) * sizeof(float));
            }
            if (cols_ <= kShortRow) {
                for (; row + kShortRows <= end; row += kShortRows) rows_side_by_side<kShortRows>(row);
                for (; row < end; ++row) rows_side_by_side<1>(row); // added up in the same order
            }
            for (; row < end; row += group) rows_in_turn(row, static_cast<int>(end - row < group ? end - row : group));
        }
        if (stream_) {
            stage_.finish();
            stream_fence();
        }
    }

  private:
    int64_t tile_from(int64_t column) const { return cols_ - column < kTile ? cols_ - column : kTile; }

    const float *gamma_from(int64_t column) { return cols_ <= kTile ? g_ : gamma_.columns(column, tile_from(column)); }

    void start(Row &numbers, int64_t row) const {
        numbers.start(reinterpret_cast<const float *>(args_.mean)[row], reinterpret_cast<const float *>(args_.rstd)[row]);
    }

    void rows_in_turn(int64_t first, int count) {
        Row numbers[kMostRows];
        for (int k = 0; k < count; ++k) start(numbers[k], first + k);
        for (int64_t column = 0; column < cols_; column += kTile) {
            const float *gamma = gamma_from(column);
            const int64_t n = tile_from(column), at = first * cols_ + column;
            for (int k = 0; k < count; ++k)
                measure_long<Element>(dy_ + at + k * cols_, x_ + at + k * cols_, gamma, n, numbers[k]);
        }
        for (int k = 0; k < count; ++k) {
            numbers[k].settle(inv_cols_);
            if (__builtin_expect(!numbers[k].tame(), 0)) measure_wild(first + k, numbers[k]);
        }
        for (int64_t column = 0; column < cols_; column += kTile) {
            const float *gamma = gamma_from(column);
            for (int k = 0; k < count; ++k) write_one(first + k, numbers[k], column, gamma);
        }
    }

    // Whole short rows.
    template <int kRows> void rows_side_by_side(int64_t first) {
        Row numbers[kRows];
        bool wild = false;
        for (int k = 0; k < kRows; ++k) start(numbers[k], first + k);
        const int64_t at = first * cols_;
        measure<Element, kRows>(dy_ + at, x_ + at, cols_, g_, cols_, numbers);
        for (int k = 0; k < kRows; ++k) {
            numbers[k].settle(inv_cols_);
            if (__builtin_expect(!numbers[k].tame(), 0)) {
                measure_wild(first + k, numbers[k]);
                wild = true;
            }
        }
        if (!wild) return write_rows<kRows>(at, cols_, numbers, 0, g_);
        for (int k = 0; k < kRows; ++k) write_one(first + k, numbers[k], 0, g_);
    }

    void write_one(int64_t row, const Row &numbers, int64_t column, const float *gamma) {
        const int64_t at = row * cols_ + column, n = tile_from(column);
        if (__builtin_expect(!numbers.wild, 1)) return write_rows<1>(at, n, &numbers, column, gamma);
        T *const out = dx_ && stream_ ? stage_.next(dx_ + at) : dx_ ? dx_ + at : nullptr;
        write_in_double<Element>(dy_ + at, x_ + at, out, gamma, sums_ ? to_gamma_ + column : nullptr,
                                 sums_ ? to_beta_ + column : nullptr, n, numbers);
        if (stream_) stage_.push(n);
    }

    template <int kRows>
    void write_rows(int64_t at, int64_t n, const Row *numbers, int64_t column, const float *gamma) {
        if (!dx_)
            return write<Element, kRows, false, true>(dy_ + at, x_ + at, cols_, nullptr, gamma, to_gamma_ + column,
                                                      to_beta_ + column, n, numbers, ahead_);
        T *const out = stream_ ? stage_.next(dx_ + at) : dx_ + at;
        if (sums_)
            write<Element, kRows, true, true>(dy_ + at, x_ + at, cols_, out, gamma, to_gamma_ + column, to_beta_ + column, n,
                                              numbers, ahead_);
        else
            write<Element, kRows, true, false>(dy_ + at, x_ + at, cols_, out, gamma, nullptr, nullptr, n, numbers, ahead_);
        if (stream_) stage_.push(kRows * n);
    }

    __attribute__((noinline)) void measure_wild(int64_t row, Row &numbers) {
        start(numbers, row);
        for (int64_t column = 0; column < cols_; column += kTile) {
            const int64_t at = row * cols_ + column;
            measure_in_double<Element>(dy_ + at, x_ + at, gamma_from(column), tile_from(column), numbers);
        }
        numbers.settle(inv_cols_);
        numbers.wild = true;
    }

    const LayerNormBackwardArgs &args_;
    const int64_t cols_;
    const double inv_cols_;
    const int64_t pitch_;
    const T *const dy_;
    const T *const x_;
    T *const dx_;
    float *const sums_;
    const bool stream_;
    const Weights gamma_;
    const float *g_ = nullptr;                       // where one tile holds all columns
    float *to_gamma_ = nullptr, *to_beta_ = nullptr; // of the part at hand
    int64_t ahead_ = 0;
    Stage<Element, kTile> stage_;
};

template <class Element>
void run_block(uint32_t block, uint32_t blocks, const void *arguments, const ascend_kernel_services_t *) {
    const LayerNormBackwardArgs &args = *static_cast<const LayerNormBackwardArgs *>(arguments);
    if (args.rows <= 0 || args.cols <= 0 || args.parts <= 0 || (args.dx == 0 && args.workspace == 0)) return;
    const int64_t n = blocks, quotient = args.parts / n, rest = args.parts % n;
    auto first_of = [&](int64_t b) { return b * quotient + b * rest / n; }; // b * parts / n, which may not fit
    alignas(64) float gamma_tile[kTile];
    Block<Element>(args, gamma_tile).run(first_of(block), first_of(int64_t{block} + 1));
}

// Adds the parts in their order, in double.
template <class Element>
__attribute__((noinline)) void add_parts(const float *sums, int64_t pitch, int64_t parts, typename Element::type *out,
                                         int64_t begin, int64_t end) {
    constexpr int64_t kColumns = 512;
    for (int64_t column = begin; column < end; column += kColumns) {
        const int64_t n = end - column < kColumns ? end - column : kColumns;
        f64v total[2 * kColumns / kLanes];
        const int64_t vectors = n / kLanes;
        const int rest = static_cast<int>(n % kLanes);
        for (f64v &t : total) t = set_f64(0.0);
        for (int64_t part = 0; part < parts; ++part) {
            const float *from = sums + 2 * part * pitch + column;
            for (int64_t v = 0; v < vectors; ++v) {
                const f32v s = load_f32(from + v * kLanes);
                total[2 * v] = add(total[2 * v], low_f64(s));
                total[2 * v + 1] = add(total[2 * v + 1], high_f64(s));
            }
            if (rest) {
                const f32v s = load_f32_first(from + vectors * kLanes, rest);
                total[2 * vectors] = add(total[2 * vectors], low_f64(s));
                total[2 * vectors + 1] = add(total[2 * vectors + 1], high_f64(s));
            }
        }
        for (int64_t v = 0; v < vectors; ++v)
            Element::store(out + column + v * kLanes, to_f32(total[2 * v], total[2 * v + 1]));
        if (rest)
            Element::store_first(out + column + vectors * kLanes, to_f32(total[2 * vectors], total[2 * vectors + 1]), rest);
    }
}

template <class Element>
void run_sum(uint32_t block, uint32_t, const void *arguments, const ascend_kernel_services_t *) {
    using T = typename Element::type;
    const LayerNormBackwardSumArgs &args = *static_cast<const LayerNormBackwardSumArgs *>(arguments);
    if (args.cols <= 0 || args.parts <= 0 || args.cols_per_block <= 0) return;
    const int64_t begin = static_cast<int64_t>(block) * args.cols_per_block;
    if (begin >= args.cols) return;
    const int64_t end = args.cols - begin < args.cols_per_block ? args.cols : begin + args.cols_per_block;
    const int64_t pitch = layernorm_backward_sum_pitch(args.cols);
    const float *sums = reinterpret_cast<const float *>(args.workspace);
    if (args.dgamma) add_parts<Element>(sums, pitch, args.parts, reinterpret_cast<T *>(args.dgamma), begin, end);
    if (args.dbeta) add_parts<Element>(sums + pitch, pitch, args.parts, reinterpret_cast<T *>(args.dbeta), begin, end);
}

uint64_t nanoseconds(double cost) { return cost < 1e18 ? static_cast<uint64_t>(cost) : UINT64_MAX; }

// What one core needs with its data in cache.
uint64_t cost_ns(const void *arguments, uint32_t num_blocks) {
    const LayerNormBackwardArgs &args = *static_cast<const LayerNormBackwardArgs *>(arguments);
    if (args.rows <= 0 || args.cols <= 0) return 0;
    return nanoseconds(static_cast<double>(args.rows) * (40.0 + 0.35 * static_cast<double>(args.cols)) + 20.0 * num_blocks);
}

uint64_t sum_cost_ns(const void *arguments, uint32_t num_blocks) {
    const LayerNormBackwardSumArgs &args = *static_cast<const LayerNormBackwardSumArgs *>(arguments);
    if (args.cols <= 0 || args.parts <= 0) return 0;
    return nanoseconds(static_cast<double>(args.parts) * (10.0 + 0.3 * static_cast<double>(args.cols)) + 20.0 * num_blocks);
}

#define BACKWARD_PARAM(field, kind) {#field, offsetof(LayerNormBackwardArgs, field), 8, ASCEND_KERNEL_PARAM_##kind, 0}
const ascend_kernel_param_t params[] = {
    BACKWARD_PARAM(dy, POINTER),          BACKWARD_PARAM(x, POINTER),
    BACKWARD_PARAM(mean, POINTER),        BACKWARD_PARAM(rstd, POINTER),
    BACKWARD_PARAM(gamma, POINTER),       BACKWARD_PARAM(dx, POINTER),
    BACKWARD_PARAM(workspace, POINTER),   BACKWARD_PARAM(rows, INTEGER),
    BACKWARD_PARAM(cols, INTEGER),        BACKWARD_PARAM(gamma_dtype, INTEGER),
    BACKWARD_PARAM(parts, INTEGER),       BACKWARD_PARAM(rows_per_part, INTEGER),
    BACKWARD_PARAM(tile_rows, INTEGER),   BACKWARD_PARAM(tile_cols, INTEGER),
    BACKWARD_PARAM(inv_cols, FLOAT),
};
#undef BACKWARD_PARAM
#define SUM_PARAM(field, kind) {#field, offsetof(LayerNormBackwardSumArgs, field), 8, ASCEND_KERNEL_PARAM_##kind, 0}
const ascend_kernel_param_t sum_params[] = {
    SUM_PARAM(workspace, POINTER), SUM_PARAM(dgamma, POINTER), SUM_PARAM(dbeta, POINTER),
    SUM_PARAM(cols, INTEGER),      SUM_PARAM(parts, INTEGER),  SUM_PARAM(cols_per_block, INTEGER),
};
#undef SUM_PARAM
constexpr uint32_t kNumParams = sizeof params / sizeof params[0];
constexpr uint32_t kNumSumParams = sizeof sum_params / sizeof sum_params[0];
static_assert(sizeof(LayerNormBackwardArgs) == 8 * kNumParams && sizeof(LayerNormBackwardSumArgs) == 8 * kNumSumParams,
              "only 8-byte slots, and all of them described");

#define BACKWARD_KERNEL(suffix, Element)                                                                               \
    {"layernorm_backward_" suffix, run_block<Element>, cost_ns, params, kNumParams, sizeof(LayerNormBackwardArgs),     \
     ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},                                                                              \
    {"layernorm_backward_sum_" suffix, run_sum<Element>, sum_cost_ns, sum_params, kNumSumParams,                       \
     sizeof(LayerNormBackwardSumArgs), ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0}
const ascend_kernel_desc_t kernels[] = {
    BACKWARD_KERNEL("fp32", Float32),
    BACKWARD_KERNEL("fp16", Float16),
    BACKWARD_KERNEL("bf16", BFloat16),
};
#undef BACKWARD_KERNEL

} // namespace

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION,
    sizeof(ascend_kernel_table_t),
    sizeof(ascend_kernel_desc_t),
    ASCEND_KERNEL_TARGET_CPU,
    sizeof kernels / sizeof kernels[0],
    0,
    kernels,
    "layernorm_backward " ASCEND_CY_SIMD_LEVEL " " __VERSION__,
};
