// SPDX-License-Identifier: Apache-2.0
//
// Launcher of layernorm.
#include "ascend_cy/launch.h"
#include "errors.h"
#include "kernels.h"
#include "launch_checks.h"
#include "layernorm/layernorm_tiling.h"

static_assert(LAYERNORM_FLOAT == ACL_FLOAT && LAYERNORM_FLOAT16 == ACL_FLOAT16 && LAYERNORM_BF16 == ACL_BF16,
              "the kernels take the values of aclDataType");

using namespace ascend_cy;

namespace {

Kernel layernorm_fp32{"layernorm", "layernorm_fp32"};
Kernel layernorm_fp16{"layernorm", "layernorm_fp16"};
Kernel layernorm_bf16{"layernorm", "layernorm_bf16"};

Kernel *kernel_of(int dtype) noexcept
{
    switch (dtype) {
    case ACL_FLOAT:
        return &layernorm_fp32;
    case ACL_FLOAT16:
        return &layernorm_fp16;
    case ACL_BF16:
        return &layernorm_bf16;
    default:
        return nullptr;
    }
}

// 0 for a type that layernorm does not take.
constexpr int64_t item_size(int dtype) noexcept
{
    return dtype == ACL_FLOAT ? 4 : dtype == ACL_FLOAT16 || dtype == ACL_BF16 ? 2 : 0;
}

[[gnu::cold, gnu::noinline]] int refuse_dtype(const char *argument, int dtype) noexcept
{
    return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm: %s is %d; it is ACL_FLOAT (0), ACL_FLOAT16 (1) or ACL_BF16 (27)",
                argument, dtype);
}

[[gnu::cold, gnu::noinline]] int refuse_overlap(const char *a, const char *b) noexcept
{
    return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm: %s overlaps %s", a, b);
}

uint32_t tile(const DeviceTraits &traits, int64_t rows, int64_t cols, int64_t size, LayerNormArgs *args) noexcept
{
    if (traits.kind == ASCEND_CY_KIND_CPU) // with a literal size, half of the divisions are gone
        return size == 4 ? layernorm_cpu_tiling(rows, cols, 4, traits.cores, args)
                         : layernorm_cpu_tiling(rows, cols, 2, traits.cores, args);
    const int64_t ub_bytes = traits.ub_bytes != 0 ? traits.ub_bytes : LAYERNORM_NPU_UB_BYTES;
    return layernorm_npu_tiling_for(rows, cols, size, traits.cores, ub_bytes, args);
}

// The tilings a thread used last. A model calls with few shapes, and the divisions of a tiling would be half of the
// launcher's time.
struct CachedTiling {
    const DeviceTraits *traits; // NULL: empty
    int64_t rows;
    int64_t cols;
    int64_t size;
    int64_t rows_per_block;
    int64_t tile_rows;
    int64_t tile_cols;
    double inv_cols;
    uint32_t blocks;
};

thread_local CachedTiling cached_tilings[4];

uint32_t tile_once(const DeviceTraits *traits, int64_t rows, int64_t cols, int64_t size, LayerNormArgs *args) noexcept
{
    const uint64_t mixed = static_cast<uint64_t>(rows) * 31 + static_cast<uint64_t>(cols + size);
    CachedTiling &cached = cached_tilings[(mixed ^ mixed >> 7) % 4];
    if (cached.rows != rows || cached.cols != cols || cached.size != size || cached.traits != traits) {
        const uint32_t blocks = tile(*traits, rows, cols, size, args);
        cached = {traits, rows, cols, size, args->rows_per_block, args->tile_rows, args->tile_cols, args->inv_cols, blocks};
        return blocks;
    }
    args->rows = rows;
    args->cols = cols;
    args->rows_per_block = cached.rows_per_block;
    args->tile_rows = cached.tile_rows;
    args->tile_cols = cached.tile_cols;
    args->inv_cols = cached.inv_cols;
    return cached.blocks;
}

} // namespace

int ascend_cy_layernorm(const void *x, const void *gamma, const void *beta, void *y, float *mean, float *rstd,
                        int64_t rows, int64_t cols, int dtype, int gamma_dtype, int beta_dtype, double eps,
                        aclrtStream stream)
{
    Kernel *const kernel = kernel_of(dtype);
    const int64_t size = item_size(dtype);
    if (kernel == nullptr)
        return refuse_dtype("dtype", dtype);
    if (gamma != nullptr && item_size(gamma_dtype) == 0)
        return refuse_dtype("gamma_dtype", gamma_dtype);
    if (beta != nullptr && item_size(beta_dtype) == 0)
        return refuse_dtype("beta_dtype", beta_dtype);
    if (rows < 0 || cols < 0)
        return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm: the shape is (%lld, %lld); sizes are not negative",
                    static_cast<long long>(rows), static_cast<long long>(cols));
    if (!(eps >= 0.0)) // NaN as well
        return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm: eps is %g; it is not negative", eps);
    if (rows == 0 || cols == 0)
        return ACL_SUCCESS;
    if (x == nullptr || y == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm: %s is NULL", x == nullptr ? "x" : "y");
    int64_t elements = 0;
    ByteRange x_range, y_range, gamma_range, beta_range, mean_range, rstd_range;
    if (__builtin_mul_overflow(rows, cols, &elements) || !byte_range(x, elements, size, &x_range) ||
        !byte_range(y, elements, size, &y_range) ||
        (gamma != nullptr && !byte_range(gamma, cols, item_size(gamma_dtype), &gamma_range)) ||
        (beta != nullptr && !byte_range(beta, cols, item_size(beta_dtype), &beta_range)) ||
        (mean != nullptr && !byte_range(mean, rows, sizeof(float), &mean_range)) ||
        (rstd != nullptr && !byte_range(rstd, rows, sizeof(float), &rstd_range)))
        return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm: the shape (%lld, %lld) is larger than any memory",
                    static_cast<long long>(rows), static_cast<long long>(cols));
    if (x != y && y_range.meets(x_range))
        return refuse_overlap("y", "x without being the same");
    if (y_range.meets(gamma_range))
        return refuse_overlap("y", "gamma");
    if (y_range.meets(beta_range))
        return refuse_overlap("y", "beta");
    if (mean != nullptr || rstd != nullptr) {
        for (const ByteRange *other : {&x_range, &y_range, &gamma_range, &beta_range})
            if (mean_range.meets(*other) || rstd_range.meets(*other))
                return refuse_overlap(mean_range.meets(*other) ? "mean" : "rstd", "x, y, gamma or beta");
        if (mean_range.meets(rstd_range))
            return refuse_overlap("mean", "rstd");
    }

    int32_t device = -1;
    const DeviceTraits *traits = nullptr;
    if (const int error = launch_device(&device, &traits))
        return error;
    LayerNormArgs args;
    args.x = x_range.begin;
    args.gamma = gamma_range.begin;
    args.beta = beta_range.begin;
    args.y = y_range.begin;
    args.mean = mean_range.begin;
    args.rstd = rstd_range.begin;
    args.gamma_dtype = gamma != nullptr ? gamma_dtype : ACL_FLOAT;
    args.beta_dtype = beta != nullptr ? beta_dtype : ACL_FLOAT;
    args.eps = eps;
    const uint32_t blocks = tile_once(traits, rows, cols, size, &args);
    return launch(kernel, device, blocks, &args, sizeof args, stream);
}
