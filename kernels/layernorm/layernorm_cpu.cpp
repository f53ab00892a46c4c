// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm for the `cpu` target: layernorm_fp32, layernorm_fp16, layernorm_bf16.
//
// A block of rows is worked through in groups of rows. The statistics of a group come first, then its rows are
// written, one tile of columns after the other, so that a tile of converted weights serves the whole group; while a
// group is written, the next one is fetched. Everything that decides a result depends on its row alone, so the split
// into blocks, groups and tiles changes no bit.
#include <atomic>

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "ascend_cy/kernel_abi.h"
#include "ascend_cy_simd.h"
#include "layernorm_cpu_row.h"
#include "layernorm_tiling.h"

namespace {

constexpr int64_t kTile = 2048;          // columns of one tile: two float tiles of weights take 16 KiB
constexpr int64_t kMaxGroup = 32;        // rows of one group
constexpr int64_t kShortGroup = 8 << 10; // bytes of x in one group, where a row fits a tile: stays in L1
constexpr int64_t kLongGroup = 128 << 10; // the same for longer rows: stays in L2

// gamma or beta of one tile of columns as float32.
struct Weights {
    const void *data; // or null
    int64_t dtype;
    float absent; // what a missing weight is
    bool direct;  // already float32: used where it lies
    float *tile;

    Weights(uint64_t address, int64_t type, float missing, float *buffer)
        : data(reinterpret_cast<const void *>(address)), dtype(type), absent(missing),
          direct(address != 0 && type == LAYERNORM_FLOAT), tile(buffer) {
        if (!data)
            for (int64_t i = 0; i < kTile; i += kLanes) store_f32(tile + i, set_f32(absent));
    }

    const float *columns(int64_t begin, int64_t n) const {
        if (direct) return static_cast<const float *>(data) + begin;
        if (data && dtype == LAYERNORM_FLOAT16) convert<Float16>(begin, n);
        if (data && dtype == LAYERNORM_BF16) convert<BFloat16>(begin, n);
        return tile;
    }

    template <class Element> void convert(int64_t begin, int64_t n) const {
        const uint16_t *from = static_cast<const uint16_t *>(data) + begin;
        int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes) store_f32(tile + i, Element::load(from + i));
        if (i < n) store_f32(tile + i, Element::load_first(from + i, static_cast<int>(n - i)));
    }
};

float largest_magnitude(const float *values, int64_t n) {
    f32v largest = set_f32(0.0f);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) largest = max_magnitude(largest, load_f32(values + i));
    if (i < n) largest = max_magnitude(largest, load_f32_first(values + i, static_cast<int>(n - i)));
    return largest_lane(largest);
}

// Outputs beyond this many bytes, in and out together, would only push other data out of the cache: they are
// streamed past it. Virtual machines report the cache of a whole host, hence the cap.
int64_t streaming_threshold() {
    static std::atomic<int64_t> known{0}; // threads that come first together find the same
    int64_t threshold = known.load(std::memory_order_relaxed);
    if (threshold == 0) {
        long cache = -1;
#ifdef _SC_LEVEL3_CACHE_SIZE
        cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
        const int64_t least = 2 << 20, most = 8 << 20;
        const int64_t share = cache > 0 ? static_cast<int64_t>(cache) / 4 : least;
        threshold = share < least ? least : share > most ? most : share;
        known.store(threshold, std::memory_order_relaxed);
    }
    return threshold;
}

// Below which |y| float arithmetic may be a unit in the last place off, given the largest weights (1 and 0 where
// there are none). The relative error of the normalised value is below 2^-22; c of the fused form is rounded to 2^-25.
template <class Element> float doubtful(const Row &row, float gamma, float beta) {
    double error = beta * 0x1p-22;
    if (row.form == Form::kFused) error += fabs(static_cast<double>(row.offset)) * gamma * 0x1p-25;
    return error <= Element::kLeastUnit ? 0.0f : static_cast<float>(error / Element::kUnit);
}

template <class Element> class Block {
    using T = typename Element::type;

  public:
    Block(const LayerNormArgs &args, float *gamma_tile, float *beta_tile)
        : args_(args), x_(reinterpret_cast<const T *>(args.x)), y_(reinterpret_cast<T *>(args.y)),
          weights_(args.gamma != 0 || args.beta != 0),
          gamma_(args.gamma, args.gamma_dtype, 1.0f, gamma_tile), beta_(args.beta, args.beta_dtype, 0.0f, beta_tile),
          stream_(args.x != args.y && 2 * args.rows > streaming_threshold() / (args.cols * int64_t{sizeof(T)})) {}

    void run(int64_t begin, int64_t end) {
        const int64_t cols = args_.cols;
        const int64_t row_bytes = cols * static_cast<int64_t>(sizeof(T));
        const bool whole = cols <= kTile;
        if (whole) take_columns(0, cols);
        int64_t group = (whole ? kShortGroup : kLongGroup) / row_bytes;
        group = group < 1 ? 1 : group > kMaxGroup ? kMaxGroup : group;
        for (int64_t first = begin; first < end; first += group) {
            const int64_t last = end - first < group ? end : first + group;
            Row rows[kMaxGroup];
            for (int64_t i = first; i < last; ++i) {
                Row &row = rows[i - first];
                row = analyse<Element>(x_ + i * cols, cols, args_.eps);
                if (args_.mean) reinterpret_cast<float *>(args_.mean)[i] = static_cast<float>(row.mean);
                if (args_.rstd) reinterpret_cast<float *>(args_.rstd)[i] = static_cast<float>(row.rstd);
            }
            for (int64_t column = 0; column < cols; column += kTile) {
                const int64_t n = cols - column < kTile ? cols - column : kTile;
                if (!whole) take_columns(column, n);
                for (int64_t i = first; i < last; ++i)
                    write(i, column, n, rows[i - first], i + group < end ? group * row_bytes : 0);
            }
        }
        if (stream_) stream_fence();
    }

  private:
    void take_columns(int64_t column, int64_t n) {
        if (!weights_) return;
        g_ = gamma_.columns(column, n);
        b_ = beta_.columns(column, n);
        if constexpr (Element::kNarrow) {
            largest_gamma_ = largest_magnitude(g_, n);
            largest_beta_ = largest_magnitude(b_, n);
        }
    }

    void write(int64_t i, int64_t column, int64_t n, Row &row, int64_t ahead) {
        const int64_t at = i * args_.cols + column;
        if constexpr (Element::kNarrow) row.doubt = doubtful<Element>(row, largest_gamma_, largest_beta_);
        if (weights_) stream_ ? form<true, true>(at, n, row, ahead) : form<true, false>(at, n, row, ahead);
        else stream_ ? form<false, true>(at, n, row, ahead) : form<false, false>(at, n, row, ahead);
    }

    template <bool kWeights, bool kStream> void form(int64_t at, int64_t n, const Row &row, int64_t ahead) {
        switch (row.form) {
        case Form::kFused:
            return apply<Element, Form::kFused, kWeights, kStream>(x_ + at, y_ + at, g_, b_, n, row, ahead);
        case Form::kShifted:
            return apply<Element, Form::kShifted, kWeights, kStream>(x_ + at, y_ + at, g_, b_, n, row, ahead);
        case Form::kDouble:
            return apply<Element, Form::kDouble, kWeights, false>(x_ + at, y_ + at, g_, b_, n, row, ahead);
        case Form::kConstant:
            return apply<Element, Form::kConstant, kWeights, false>(x_ + at, y_ + at, g_, b_, n, row, ahead);
        }
    }

    const LayerNormArgs &args_;
    const T *x_;
    T *y_;
    bool weights_;
    Weights gamma_, beta_;
    bool stream_;
    const float *g_ = nullptr, *b_ = nullptr; // of the tile at hand
    float largest_gamma_ = 1.0f, largest_beta_ = 0.0f;
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
