// SPDX-License-Identifier: Apache-2.0
//
// Launcher of matmul.
#include "ascend_cy/launch.h"
#include "errors.h"
#include "kernels.h"
#include "launch_checks.h"
#include "matmul/matmul_tiling.h"

using namespace ascend_cy;

namespace {

Kernel matmul_fp32{"matmul", "matmul_fp32"};
Kernel matmul_fp16{"matmul", "matmul_fp16"};
Kernel matmul_bf16{"matmul", "matmul_bf16"};

Kernel *kernel_of(int dtype, int64_t *size) noexcept
{
    *size = dtype == ACL_FLOAT ? 4 : 2;
    switch (dtype) {
    case ACL_FLOAT:
        return &matmul_fp32;
    case ACL_FLOAT16:
        return &matmul_fp16;
    case ACL_BF16:
        return &matmul_bf16;
    default:
        return nullptr;
    }
}

// A batch of matrices none of whose sizes is 0.
struct Extent {
    const void *data;
    int64_t sizes[3]; // batch, rows, columns
    int64_t strides[3];
};

// The bytes from the lowest to the highest element, whatever the signs of the strides; false where they leave
// the address space.
bool byte_range(const Extent &extent, int64_t size, ByteRange *range) noexcept
{
    __int128 lowest = reinterpret_cast<uintptr_t>(extent.data);
    __int128 highest = lowest + size;
    for (int i = 0; i < 3; ++i) {
        const __int128 reach = static_cast<__int128>(extent.sizes[i] - 1) * extent.strides[i];
        if (reach > INT64_MAX || reach < INT64_MIN)
            return false;
        (reach < 0 ? lowest : highest) += reach * size;
    }
    range->begin = static_cast<uint64_t>(lowest);
    range->end = static_cast<uint64_t>(highest);
    return lowest >= 0 && highest <= INT64_MAX;
}

[[gnu::cold, gnu::noinline]] int refuse_extent(const char *name) noexcept
{
    return fail(ACL_ERROR_INVALID_PARAM, "",
                "matmul: %s with these sizes and strides is larger than any memory", name);
}

uint32_t tile(const DeviceTraits &traits, MatmulArgs *args) noexcept
{
#ifdef MATMUL_HAS_NPU_TILING
    if (traits.kind != ASCEND_CY_KIND_CPU)
        return matmul_npu_tiling(traits.cores, args);
#endif
    return matmul_cpu_tiling(traits.cores, args);
}

} // namespace

int ascend_cy_matmul(const ascend_cy_matrices_t *a, const ascend_cy_matrices_t *b, void *c,
                     int64_t c_row_stride, int64_t c_batch_stride, int64_t batch, int64_t m, int64_t n,
                     int64_t k, int dtype, aclrtStream stream)
{
    int64_t size = 0;
    Kernel *const kernel = kernel_of(dtype, &size);
    if (kernel == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "",
                    "matmul: dtype is %d; it is ACL_FLOAT (0), ACL_FLOAT16 (1) or ACL_BF16 (27)", dtype);
    if (batch < 0 || m < 0 || n < 0 || k < 0)
        return fail(ACL_ERROR_INVALID_PARAM, "",
                    "matmul: batch, m, n, k are %lld, %lld, %lld, %lld; sizes are not negative",
                    static_cast<long long>(batch), static_cast<long long>(m), static_cast<long long>(n),
                    static_cast<long long>(k));
    if (batch == 0 || m == 0 || n == 0)
        return ACL_SUCCESS;
    if (a == nullptr || b == nullptr || c == nullptr ||
        (k != 0 && (a->data == nullptr || b->data == nullptr)))
        return fail(ACL_ERROR_INVALID_PARAM, "", "matmul: %s is NULL",
                    c == nullptr                         ? "c"
                    : a == nullptr || a->data == nullptr ? "a"
                                                         : "b");

    // The rows of c lie one behind the other, none within another: two blocks never write the same element.
    ByteRange c_range;
    if (m > 1 && c_row_stride < n)
        return fail(ACL_ERROR_INVALID_PARAM, "", "matmul: c_row_stride is %lld; rows of c have %lld elements",
                    static_cast<long long>(c_row_stride), static_cast<long long>(n));
    if (!byte_range({c, {1, m, n}, {0, c_row_stride, 1}}, size, &c_range))
        return refuse_extent("c");
    if (batch > 1 && c_batch_stride < static_cast<int64_t>(c_range.end - c_range.begin) / size)
        return fail(ACL_ERROR_INVALID_PARAM, "",
                    "matmul: c_batch_stride is %lld; a matrix of c spans %lld elements",
                    static_cast<long long>(c_batch_stride),
                    static_cast<long long>(c_range.end - c_range.begin) / size);
    if (!byte_range({c, {batch, m, n}, {c_batch_stride, c_row_stride, 1}}, size, &c_range))
        return refuse_extent("c");
    if (k != 0) { // else a and b have no elements
        ByteRange a_range, b_range;
        if (!byte_range({a->data, {batch, m, k}, {a->batch_stride, a->row_stride, a->col_stride}}, size,
                        &a_range))
            return refuse_extent("a");
        if (!byte_range({b->data, {batch, k, n}, {b->batch_stride, b->row_stride, b->col_stride}}, size,
                        &b_range))
            return refuse_extent("b");
        if (c_range.meets(a_range) || c_range.meets(b_range))
            return fail(ACL_ERROR_INVALID_PARAM, "", "matmul: c overlaps %s",
                        c_range.meets(a_range) ? "a" : "b");
    }

    int32_t device = -1;
    const DeviceTraits *traits = nullptr;
    if (const int error = launch_device(&device, &traits))
        return error;
    if (k == 0 && traits->kind != ASCEND_CY_KIND_CPU) {
        // Empty sums need no kernel, and not every device has one.
        for (int64_t matrix = 0; matrix < batch; ++matrix)
            for (int64_t row = 0; row < m; ++row) {
                char *const begin = static_cast<char *>(c) + (matrix * c_batch_stride + row * c_row_stride) * size;
                const size_t bytes = static_cast<size_t>(n * size);
                if (const int error = ACY_CALL(aclrtMemsetAsync, begin, bytes, 0, bytes, stream))
                    return error;
            }
        return ACL_SUCCESS;
    }
    MatmulArgs args;
    args.a = reinterpret_cast<uintptr_t>(a->data);
    args.b = reinterpret_cast<uintptr_t>(b->data);
    args.c = reinterpret_cast<uintptr_t>(c);
    args.batch = batch;
    args.m = m;
    args.n = n;
    args.k = k;
    args.a_row_stride = a->row_stride;
    args.a_col_stride = a->col_stride;
    args.a_batch_stride = a->batch_stride;
    args.b_row_stride = b->row_stride;
    args.b_col_stride = b->col_stride;
    args.b_batch_stride = b->batch_stride;
    args.c_row_stride = c_row_stride;
    args.c_batch_stride = c_batch_stride;
    const uint32_t blocks = tile(*traits, &args);
    return launch(kernel, device, blocks, &args, sizeof args, stream);
}
