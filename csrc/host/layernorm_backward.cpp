// SPDX-License-Identifier: Apache-2.0
//
// Launcher of layernorm_backward: two kernels on one stream, with a workspace between them from the pool.
#include "ascend_cy/launch.h"
#include "ascend_cy/pool.h"
#include "errors.h"
#include "kernels.h"
#include "launch_checks.h"
#include "layernorm_backward/layernorm_backward_tiling.h"

using namespace ascend_cy;

namespace {

Kernel rows_fp32{"layernorm_backward", "layernorm_backward_fp32"};
Kernel rows_fp16{"layernorm_backward", "layernorm_backward_fp16"};
Kernel rows_bf16{"layernorm_backward", "layernorm_backward_bf16"};
Kernel sum_fp32{"layernorm_backward", "layernorm_backward_sum_fp32"};
Kernel sum_fp16{"layernorm_backward", "layernorm_backward_sum_fp16"};
Kernel sum_bf16{"layernorm_backward", "layernorm_backward_sum_bf16"};

// 0 for a type that layernorm_backward does not take.
constexpr int64_t item_size(int dtype) noexcept
{
    return dtype == ACL_FLOAT ? 4 : dtype == ACL_FLOAT16 || dtype == ACL_BF16 ? 2 : 0;
}

Kernel *rows_kernel(int dtype) noexcept
{
    return dtype == ACL_FLOAT ? &rows_fp32 : dtype == ACL_FLOAT16 ? &rows_fp16 : &rows_bf16;
}

Kernel *sum_kernel(int dtype) noexcept
{
    return dtype == ACL_FLOAT ? &sum_fp32 : dtype == ACL_FLOAT16 ? &sum_fp16 : &sum_bf16;
}

[[gnu::cold, gnu::noinline]] int refuse(const char *what) noexcept
{
    return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm_backward: %s", what);
}

[[gnu::cold, gnu::noinline]] int refuse_shape(int64_t rows, int64_t cols, const char *why) noexcept
{
    return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm_backward: the shape (%lld, %lld) %s", static_cast<long long>(rows),
                static_cast<long long>(cols), why);
}

[[gnu::cold, gnu::noinline]] int refuse_dtype(const char *argument, int dtype) noexcept
{
    return fail(ACL_ERROR_INVALID_PARAM, "",
                "layernorm_backward: %s is %d; it is ACL_FLOAT (0), ACL_FLOAT16 (1) or ACL_BF16 (27)", argument, dtype);
}

struct Argument {
    const char *name;
    const void *pointer;
    int64_t count;
    int64_t size;
    ByteRange range;
};

// dx may be dy or x; otherwise what is written shares no byte with anything else.
int check_overlap(const Argument *arguments, int reads, int count) noexcept
{
    for (int w = reads; w < count; ++w)
        for (int other = 0; other < w; ++other) {
            const Argument &out = arguments[w], &in = arguments[other];
            if (out.pointer == nullptr || in.pointer == nullptr || !out.range.meets(in.range))
                continue;
            const bool in_place = w == reads && other < 2 && out.pointer == in.pointer;
            if (!in_place)
                return fail(ACL_ERROR_INVALID_PARAM, "", "layernorm_backward: %s overlaps %s%s", out.name, in.name,
                            w == reads && other < 2 ? " without being the same" : "");
        }
    return ACL_SUCCESS;
}

// The stream's device is current.
int enqueue(LayerNormBackwardArgs *args, LayerNormBackwardSumArgs *sums, int dtype, ascend_cy_stream_t *stream) noexcept
{
    int32_t device = -1;
    const DeviceTraits *traits = nullptr;
    if (const int error = launch_device(&device, &traits))
        return error;
    const aclrtStream handle = ascend_cy_stream_handle(stream);
    const bool cpu = traits->kind == ASCEND_CY_KIND_CPU;
    const int64_t ub_bytes = traits->ub_bytes != 0 ? traits->ub_bytes : LAYERNORM_BACKWARD_NPU_UB_BYTES;
    const uint32_t blocks = cpu ? layernorm_backward_cpu_tiling(args->rows, args->cols, item_size(dtype), traits->cores, args)
                                : layernorm_backward_npu_tiling_for(args->rows, args->cols, traits->cores, ub_bytes, args);
    const bool wants_sums = sums->dgamma != 0 || sums->dbeta != 0;
    ascend_cy_buffer_t *workspace = nullptr;
    args->workspace = 0;
    if (wants_sums) {
        if (const int error = ascend_cy_buffer_create(layernorm_backward_workspace_bytes(args), stream, &workspace))
            return error;
        args->workspace = reinterpret_cast<uintptr_t>(ascend_cy_buffer_pointer(workspace));
    }
    int error = launch(rows_kernel(dtype), device, blocks, args, sizeof *args, handle);
    if (error == ACL_SUCCESS && wants_sums) {
        sums->workspace = args->workspace;
        const uint32_t sum_blocks = cpu ? layernorm_backward_cpu_sum_tiling(args->cols, args->parts, traits->cores, sums)
                                        : layernorm_backward_npu_sum_tiling(args->cols, args->parts, traits->cores, sums);
        error = launch(sum_kernel(static_cast<int>(args->gamma_dtype)), device, sum_blocks, sums, sizeof *sums, handle);
    }
    ascend_cy_buffer_release(workspace); // its memory is reused behind the work above
    return error;
}

// No rows: the sums over them are zero, which is all bits zero in every type.
int enqueue_zeros(void *dgamma, void *dbeta, size_t bytes, ascend_cy_stream_t *stream) noexcept
{
    for (void *sum : {dgamma, dbeta})
        if (sum != nullptr)
            if (const int error = ACY_CALL(aclrtMemsetAsync, sum, bytes, 0, bytes, ascend_cy_stream_handle(stream)))
                return error;
    return ACL_SUCCESS;
}

} // namespace

int ascend_cy_layernorm_backward(const void *dy, const void *x, const float *mean, const float *rstd, const void *gamma,
                                 void *dx, void *dgamma, void *dbeta, int64_t rows, int64_t cols, int dtype,
                                 int gamma_dtype, ascend_cy_stream_t *stream)
{
    const int64_t size = item_size(dtype);
    const bool wants_sums = dgamma != nullptr || dbeta != nullptr;
    if (size == 0)
        return refuse_dtype("dtype", dtype);
    const int64_t gamma_size = item_size(gamma_dtype);
    if (gamma_size == 0 && (gamma != nullptr || wants_sums))
        return refuse_dtype("gamma_dtype", gamma_dtype);
    if (rows < 0 || cols < 0)
        return refuse_shape(rows, cols, "holds a negative size");
    if (cols == 0 || (dx == nullptr && !wants_sums) || (rows == 0 && !wants_sums))
        return ACL_SUCCESS;
    if (rows > 0 && (dy == nullptr || x == nullptr || mean == nullptr || rstd == nullptr))
        return refuse(dy == nullptr ? "dy is NULL" : x == nullptr ? "x is NULL" : mean == nullptr ? "mean is NULL" : "rstd is NULL");
    int64_t elements = 0;
    if (__builtin_mul_overflow(rows, cols, &elements))
        return refuse_shape(rows, cols, "is larger than any memory");
    constexpr int kReads = 5, kCount = 8;
    Argument arguments[kCount] = {
        {"dy", dy, elements, size, {}},
        {"x", x, elements, size, {}},
        {"mean", mean, rows, sizeof(float), {}},
        {"rstd", rstd, rows, sizeof(float), {}},
        {"gamma", gamma, cols, gamma_size, {}},
        {"dx", dx, elements, size, {}},
        {"dgamma", dgamma, cols, gamma_size, {}},
        {"dbeta", dbeta, cols, gamma_size, {}},
    };
    for (Argument &each : arguments)
        if (!byte_range(each.pointer, each.pointer != nullptr ? each.count : 0, each.size, &each.range))
            return refuse_shape(rows, cols, "is larger than any memory");
    if (const int error = check_overlap(arguments, kReads, kCount))
        return error;

    LayerNormBackwardArgs args{};
    args.dy = arguments[0].range.begin;
    args.x = arguments[1].range.begin;
    args.mean = arguments[2].range.begin;
    args.rstd = arguments[3].range.begin;
    args.gamma = arguments[4].range.begin;
    args.dx = arguments[5].range.begin;
    args.rows = rows;
    args.cols = cols;
    args.gamma_dtype = gamma != nullptr || wants_sums ? gamma_dtype : ACL_FLOAT;
    LayerNormBackwardSumArgs sums{};
    sums.dgamma = arguments[6].range.begin;
    sums.dbeta = arguments[7].range.begin;

    if (stream == nullptr) {
        if (const int error = ascend_cy_ensure_context())
            return error;
        stream = ascend_cy_current_stream();
        if (stream == nullptr)
            return ascend_cy_record_error(ACL_ERROR_BAD_ALLOC, "");
    }
    aclrtContext previous = nullptr;
    if (const int error = ascend_cy_stream_enter(stream, &previous))
        return error;
    const int error = rows == 0 ? enqueue_zeros(dgamma, dbeta, static_cast<size_t>(cols * gamma_size), stream)
                                : enqueue(&args, &sums, dtype, stream);
    ascend_cy_stream_leave(previous);
    return error;
}
