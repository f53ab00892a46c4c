// SPDX-License-Identifier: Apache-2.0
//
// Launcher of layernorm.
#include <cstring>

#include "ascend_cy/launch.h"
#include "errors.h"
#include "kernels.h"
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

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) noexcept
{
    return a < b + b_bytes && b < a + a_bytes;
}

// A NULL never overlaps: its size is counted as 0.
struct Range {
    uint64_t start;
    uint64_t bytes;

    Range(const void *pointer, uint64_t size) noexcept
        : start(reinterpret_cast<uintptr_t>(pointer)), bytes(pointer != nullptr ? size : 0)
    {
    }
    bool meets(const Range &other) const noexcept { return overlap(start, bytes, other.start, other.bytes); }
};

uint32_t tile(const DeviceTraits &traits, int64_t rows, int64_t cols, int64_t size, LayerNormArgs *args) noexcept
{
#ifdef LAYERNORM_HAS_NPU_TILING
    if (traits.kind != ASCEND_CY_KIND_CPU)
        return layernorm_npu_tiling(rows, cols, size, traits.cores, args);
#endif
    return layernorm_cpu_tiling(rows, cols, size, traits.cores, args);
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
    int64_t bytes = 0;
    if (__builtin_mul_overflow(rows, cols, &bytes) || __builtin_mul_overflow(bytes, size, &bytes))
        return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm: the shape (%lld, %lld) is larger than any memory",
                    static_cast<long long>(rows), static_cast<long long>(cols));

    const Range x_range(x, static_cast<uint64_t>(bytes));
    const Range y_range(y, static_cast<uint64_t>(bytes));
    const Range gamma_range(gamma, static_cast<uint64_t>(cols * item_size(gamma_dtype)));
    const Range beta_range(beta, static_cast<uint64_t>(cols * item_size(beta_dtype)));
    const Range mean_range(mean, static_cast<uint64_t>(rows) * 4);
    const Range rstd_range(rstd, static_cast<uint64_t>(rows) * 4);
    if (x != y && y_range.meets(x_range))
        return refuse_overlap("y", "x without being the same");
    if (y_range.meets(gamma_range))
        return refuse_overlap("y", "gamma");
    if (y_range.meets(beta_range))
        return refuse_overlap("y", "beta");
    if (mean != nullptr && (mean_range.meets(y_range) || mean_range.meets(x_range)))
        return refuse_overlap("mean", "x or y");
    if (rstd != nullptr && (rstd_range.meets(y_range) || rstd_range.meets(x_range)))
        return refuse_overlap("rstd", "x or y");
    if (mean != nullptr && rstd != nullptr && mean_range.meets(rstd_range))
        return refuse_overlap("mean", "rstd");

    if (const int error = ready())
        return error;
    int32_t device = -1;
    if (const int error = current_device(&device))
        return error;
    const DeviceTraits *const traits = device_traits(device);
    if (traits == nullptr)
        return ascend_cy_record_error(ACL_ERROR_RT_INVALID_DEVICEID, "aclGetDeviceCapability");

    LayerNormArgs args;
    args.x = x_range.start;
    args.gamma = gamma_range.start;
    args.beta = beta_range.start;
    args.y = y_range.start;
    args.mean = mean_range.start;
    args.rstd = rstd_range.start;
    args.gamma_dtype = gamma != nullptr ? gamma_dtype : ACL_FLOAT;
    args.beta_dtype = beta != nullptr ? beta_dtype : ACL_FLOAT;
    args.eps = eps;
    const uint32_t blocks = tile(*traits, rows, cols, size, &args);
    return launch(kernel, device, blocks, &args, sizeof args, stream);
}
