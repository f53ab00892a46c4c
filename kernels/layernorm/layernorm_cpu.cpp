// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm for the `cpu` target: layernorm_fp32, layernorm_fp16, layernorm_bf16.
//
// A block of rows is worked through in groups. While a group is normalised and written, the next one is read and added
// up, in turns of a few vectors: so memory is kept busy both ways, and the data of a group is still in a near cache
// when its turn to be written comes. Columns beyond kTile are taken tile by tile, so that a tile of converted weights
// serves all rows of a group. Everything that decides a result depends on its row alone, so the split into blocks and
// groups changes no bit.
#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "ascend_cy/kernel_abi.h"
#include "ascend_cy_simd.h"
#include "layernorm_cpu_short.h"
#include "layernorm_cpu_stage.h"
#include "layernorm_cpu_stats.h"
#include "layernorm_cpu_weights.h"
#include "layernorm_cpu_write.h"
#include "layernorm_tiling.h"

namespace {

constexpr int64_t kTile = 2048;           // columns of one tile: two float tiles of weights take 16 KiB
constexpr uintptr_t kShortAhead = 2 << 10; // bytes to fetch ahead in short rows
constexpr int64_t kNearGroup = 4 << 10;   // bytes of x in one group, where a row fits a tile: stays in L1
constexpr int64_t kFarGroup = 64 << 10;   // the same for longer rows: stays in L2
constexpr int64_t kConvertedGroup = 256 << 10; // where a tile of weights is converted for each group: worth more rows

template <class Element> class Block {
    using T = typename Element::type;

  public:
    Block(const LayerNormArgs &args, float *gamma_tile, float *beta_tile)
        : args_(args), cols_(args.cols), x_(reinterpret_cast<const T *>(args.x)), y_(reinterpret_cast<T *>(args.y)),
          weights_(args.gamma != 0 || args.beta != 0),
          stream_(args.x != args.y && args.rows > streaming_threshold() / (args.cols * 2 * int64_t{sizeof(T)})),
          gamma_(args.gamma, args.gamma_dtype, 1.0f, gamma_tile, kTile),
          beta_(args.beta, args.beta_dtype, 0.0f, beta_tile, kTile) {}

    void run(int64_t begin, int64_t end) {
        const bool whole = cols_ <= kTile;
        if constexpr (Element::kNarrow) {
            largest_gamma_ = gamma_.largest(cols_);
            largest_beta_ = beta_.largest(cols_);
            // What the fast forms leave out of account: weights that may lead to infinity or NaN.
            wild_ = !(largest_gamma_ < 0x1p100f && largest_beta_ < 0x1p100f);
        }
        if (whole) take_columns(0, cols_);
        if (cols_ <= kShortRow) return weights_ ? run_short<true>(begin, end) : run_short<false>(begin, end);
        const int64_t bytes = whole ? kNearGroup : gamma_.converted() || beta_.converted() ? kConvertedGroup : kFarGroup;
        int64_t size = bytes / (cols_ * static_cast<int64_t>(sizeof(T)));
        size = size < 1 ? 1 : size > kMaxGroup ? kMaxGroup : size;
        Group groups[2];
        start(groups[0], begin, end, size);
        for (int64_t column = 0; column < cols_; column += kTile)
            for (int i = 0; i < groups[0].rows; ++i) add_up(groups[0], i, column, tile_from(column));
        total_up(groups[0]);
        int now = 0;
        for (int64_t first = begin; first < end; first += size, now ^= 1) {
            Group &next = groups[now ^ 1];
            if constexpr (Element::kNarrow) set_doubt<Element>(groups[now], largest_gamma_, largest_beta_);
            start(next, first + size, end, size);
            for (int64_t column = 0; column < cols_; column += kTile) {
                if (!whole) take_columns(column, tile_from(column));
                if (weights_) stream_ ? pass<true, true>(groups[now], next, column) : pass<true, false>(groups[now], next, column);
                else stream_ ? pass<false, true>(groups[now], next, column) : pass<false, false>(groups[now], next, column);
            }
            total_up(next);
        }
        if (stream_) stream_fence();
    }

  private:
    template <bool kWeights> __attribute__((noinline)) void run_short(int64_t begin, int64_t end) {
        int64_t size = kNearGroup / (cols_ * static_cast<int64_t>(sizeof(T)));
        size = size > kMaxGroup ? kMaxGroup : size;
        Group groups[2];
        add_up_short(groups[0], begin, end, size);
        Stage<Element, kNearGroup / static_cast<int64_t>(sizeof(T))> stage;
        for (int now = 0; groups[now].rows > 0; now ^= 1) {
            Group &group = groups[now];
            add_up_short(groups[now ^ 1], group.first + size, end, size);
            if constexpr (Element::kNarrow) set_doubt<Element>(group, largest_gamma_, largest_beta_);
            T *const to = y_ + group.first * cols_;
            write_short<kWeights>(group, stream_ ? stage.next(to) : to);
            if (stream_) stage.push(group.rows * cols_);
        }
        stage.finish();
        if (stream_) stream_fence();
    }

    void add_up_short(Group &group, int64_t first, int64_t end, int64_t size) const {
        start(group, first, end, size);
        const T *row = x_ + first * cols_;
        const uintptr_t row_bytes = static_cast<uintptr_t>(cols_) * sizeof(T);
        for (int i = 0; i < group.rows; ++i, row += cols_) {
            const uintptr_t ahead = reinterpret_cast<uintptr_t>(row) + kShortAhead;
            for (uintptr_t line = ahead; line < ahead + row_bytes; line += kCacheLine) prefetch_l1(line);
            group.pivot[i] = pivot_of<Element>(row, cols_);
            store_two_sums(group.sums[i], short_sums<Element>(row, cols_, group.pivot[i]));
        }
        finish(group);
    }

    template <bool kWeights> void write_short(const Group &group, T *to) const {
        const bool apart = !Element::kNarrow || args_.x != args_.y;
        const T *row = x_ + group.first * cols_;
        for (int i = 0, count; i < group.rows; i += count, row += count * cols_, to += count * cols_) {
            const bool two = apart && i + 1 < group.rows && group.form[i] == kFused && group.form[i + 1] == kFused && !wild_;
            count = two ? 2 : 1;
            if (two) apply_two<Element, kWeights>(row, to, g_, b_, cols_, group, i);
            else write<kWeights, false>(group, i, row, to, cols_);
        }
    }

    int64_t tile_from(int64_t column) const { return cols_ - column < kTile ? cols_ - column : kTile; }

    void take_columns(int64_t column, int64_t n) {
        if (!weights_) return;
        g_ = gamma_.columns(column, n);
        b_ = beta_.columns(column, n);
    }

    static void start(Group &group, int64_t first, int64_t end, int64_t size) {
        group.first = first;
        group.rows = static_cast<int>(end <= first ? 0 : end - first < size ? end - first : size);
    }

    // The sums of n columns of row i, still to be taken.
    ASCEND_CY_INLINE Sums<Element> sums_of(Group &group, int i, int64_t column, int64_t n) const {
        const T *row = x_ + (group.first + i) * cols_;
        if (column == 0) {
            group.pivot[i] = pivot_of<Element>(row, cols_);
            // The pivot of the row after this one: nothing can be added up before it is there.
            prefetch_l1(reinterpret_cast<uintptr_t>(row) + static_cast<uintptr_t>(cols_) * sizeof(T));
            prefetch_l1(reinterpret_cast<uintptr_t>(row) + static_cast<uintptr_t>(cols_ + cols_ / 2) * sizeof(T));
            prefetch_l1(reinterpret_cast<uintptr_t>(row) + static_cast<uintptr_t>(2 * cols_ - 1) * sizeof(T));
        }
        return Sums<Element>(row + column, n, group.pivot[i]);
    }

    static void keep(Group &group, int i, int64_t column, f64v sums) {
        group.total[i] = column ? add(group.total[i], sums) : sums;
    }

    void add_up(Group &group, int i, int64_t column, int64_t n) const {
        keep(group, i, column, sums_of(group, i, column, n).finish());
    }

    void total_up(Group &group) const {
        for (int i = 0; i < group.rows; ++i) store_two_sums(group.sums[i], group.total[i]);
        finish(group);
    }

    void finish(Group &group) const {
        settle<Element>(group, 0, group.rows, cols_, args_.eps);
        for (int i = 0; i < group.rows; ++i)
            if (__builtin_expect(!group.good[i], 0))
                look_again<Element>(group, i, x_ + (group.first + i) * cols_, cols_, args_.eps);
        if (args_.mean)
            for (int i = 0; i < group.rows; ++i)
                reinterpret_cast<float *>(args_.mean)[group.first + i] = static_cast<float>(group.mean[i]);
        if (args_.rstd)
            for (int i = 0; i < group.rows; ++i)
                reinterpret_cast<float *>(args_.rstd)[group.first + i] = static_cast<float>(group.rstd[i]);
    }

    // One tile of columns: write the rows of one group, add up the rows of the next.
    template <bool kWeights, bool kStream>
    __attribute__((noinline)) void pass(const Group &now, Group &next, int64_t column) {
        const int64_t n = tile_from(column);
        for (int i = 0; i < now.rows; ++i) {
            const int64_t at = (now.first + i) * cols_ + column;
            if (i < next.rows && now.form[i] == kFused && !wild_) {
                Sums<Element> sums = sums_of(next, i, column, n);
                apply<Element, kFused, kWeights, kStream>(x_ + at, y_ + at, g_, b_, n, now, i, [&] { sums.step(); });
                keep(next, i, column, sums.finish());
                continue;
            }
            if (i < next.rows) add_up(next, i, column, n);
            write<kWeights, kStream>(now, i, x_ + at, y_ + at, n);
        }
    }

    // n columns of row i, in its form.
    template <bool kWeights, bool kStream>
    __attribute__((noinline)) void write(const Group &group, int i, const T *from, T *to, int64_t n) const {
        const auto in_form = [&](auto form, auto stream) {
            apply<Element, form.value, kWeights, stream.value>(from, to, g_, b_, n, group, i, [] {});
        };
        using Kept = std::false_type; // forms of few rows are not streamed
        if (group.form[i] == kConstant) in_form(std::integral_constant<Form, kConstant>(), Kept());
        else if (group.form[i] == kDouble || wild_) in_form(std::integral_constant<Form, kDouble>(), Kept());
        else if (group.form[i] == kShifted) in_form(std::integral_constant<Form, kShifted>(), std::bool_constant<kStream>());
        else in_form(std::integral_constant<Form, kFused>(), std::bool_constant<kStream>());
    }

    const LayerNormArgs &args_;
    const int64_t cols_;
    const T *const x_;
    T *const y_;
    const bool weights_, stream_;
    const Weights gamma_, beta_;
    const float *g_ = nullptr, *b_ = nullptr; // of the tile at hand
    float largest_gamma_ = 1.0f, largest_beta_ = 0.0f;
    bool wild_ = false;
};

template <class Element>
void run_block(uint32_t block, uint32_t, const void *arguments, const ascend_kernel_services_t *) {
    const LayerNormArgs &args = *static_cast<const LayerNormArgs *>(arguments);
    if (args.rows <= 0 || args.cols <= 0 || args.rows_per_block <= 0) return;
    const int64_t begin = static_cast<int64_t>(block) * args.rows_per_block;
    if (begin >= args.rows) return;
    const int64_t end = args.rows - begin < args.rows_per_block ? args.rows : begin + args.rows_per_block;
    alignas(64) float gamma_tile[kTile], beta_tile[kTile];
    Block<Element>(args, gamma_tile, beta_tile).run(begin, end);
}

// A fifth of a nanosecond an element, and a little for each row: what one core needs with its data in cache.
uint64_t cost_ns(const void *arguments, uint32_t num_blocks) {
    const LayerNormArgs &args = *static_cast<const LayerNormArgs *>(arguments);
    if (args.rows <= 0 || args.cols <= 0) return 0;
    const double cost = static_cast<double>(args.rows) * (30.0 + 0.15 * static_cast<double>(args.cols)) + 20.0 * num_blocks;
    return cost < 1e18 ? static_cast<uint64_t>(cost) : UINT64_MAX;
}

#define LAYERNORM_PARAM(field, kind) {#field, offsetof(LayerNormArgs, field), 8, kind, 0}
const ascend_kernel_param_t params[] = {
    LAYERNORM_PARAM(x, ASCEND_KERNEL_PARAM_POINTER),
    LAYERNORM_PARAM(gamma, ASCEND_KERNEL_PARAM_POINTER),
    LAYERNORM_PARAM(beta, ASCEND_KERNEL_PARAM_POINTER),
    LAYERNORM_PARAM(y, ASCEND_KERNEL_PARAM_POINTER),
    LAYERNORM_PARAM(mean, ASCEND_KERNEL_PARAM_POINTER),
    LAYERNORM_PARAM(rstd, ASCEND_KERNEL_PARAM_POINTER),
    LAYERNORM_PARAM(rows, ASCEND_KERNEL_PARAM_INTEGER),
    LAYERNORM_PARAM(cols, ASCEND_KERNEL_PARAM_INTEGER),
    LAYERNORM_PARAM(gamma_dtype, ASCEND_KERNEL_PARAM_INTEGER),
    LAYERNORM_PARAM(beta_dtype, ASCEND_KERNEL_PARAM_INTEGER),
    LAYERNORM_PARAM(rows_per_block, ASCEND_KERNEL_PARAM_INTEGER),
    LAYERNORM_PARAM(tile_rows, ASCEND_KERNEL_PARAM_INTEGER),
    LAYERNORM_PARAM(tile_cols, ASCEND_KERNEL_PARAM_INTEGER),
    LAYERNORM_PARAM(eps, ASCEND_KERNEL_PARAM_FLOAT),
    LAYERNORM_PARAM(inv_cols, ASCEND_KERNEL_PARAM_FLOAT),
};
#undef LAYERNORM_PARAM
constexpr uint32_t kNumParams = sizeof params / sizeof params[0];
static_assert(sizeof(LayerNormArgs) == 8 * kNumParams, "only 8-byte slots, and all of them described");

const ascend_kernel_desc_t kernels[] = {
    {"layernorm_fp32", run_block<Float32>, cost_ns, params, kNumParams, sizeof(LayerNormArgs),
     ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},
    {"layernorm_fp16", run_block<Float16>, cost_ns, params, kNumParams, sizeof(LayerNormArgs),
     ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},
    {"layernorm_bf16", run_block<BFloat16>, cost_ns, params, kNumParams, sizeof(LayerNormArgs),
     ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},
};

} // namespace

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION,
    sizeof(ascend_kernel_table_t),
    sizeof(ascend_kernel_desc_t),
    ASCEND_KERNEL_TARGET_CPU,
    sizeof kernels / sizeof kernels[0],
    0,
    kernels,
    "layernorm " ASCEND_CY_SIMD_LEVEL " " __VERSION__,
};
