// SPDX-License-Identifier: Apache-2.0
//
// Launcher of vector_add.
#include "ascend_cy/launch.h"
#include "errors.h"
#include "kernels.h"
#include "launch_checks.h"
#include "vector_add/vector_add_tiling.h"

using namespace ascend_cy;

namespace {

Kernel vector_add_fp32{"vector_add", "vector_add_fp32"};
Kernel vector_add_fp16{"vector_add", "vector_add_fp16"};
Kernel vector_add_bf16{"vector_add", "vector_add_bf16"};
Kernel vector_add_int32{"vector_add", "vector_add_int32"};

Kernel *kernel_of(int dtype, int64_t *size) noexcept
{
    switch (dtype) {
    case ACL_FLOAT:
        *size = 4;
        return &vector_add_fp32;
    case ACL_FLOAT16:
        *size = 2;
        return &vector_add_fp16;
    case ACL_BF16:
        *size = 2;
        return &vector_add_bf16;
    case ACL_INT32:
        *size = 4;
        return &vector_add_int32;
    default:
        return nullptr;
    }
}

uint32_t tile(const DeviceTraits &traits, int64_t n, int64_t size, VectorAddArgs *args) noexcept
{
    if (traits.kind == ASCEND_CY_KIND_CPU)
        return vector_add_cpu_tiling(n, size, traits.cores, args);
    const int64_t ub_bytes = traits.ub_bytes != 0 ? traits.ub_bytes : VECTOR_ADD_NPU_UB_BYTES;
    return vector_add_npu_tiling_for(n, size, traits.cores, ub_bytes, args);
}

} // namespace

int ascend_cy_vector_add(const void *a, const void *b, void *y, int64_t n, int dtype, aclrtStream stream)
{
    int64_t size = 0;
    Kernel *const kernel = kernel_of(dtype, &size);
    if (kernel == nullptr)
        return fail(
            ACL_ERROR_INVALID_PARAM, "",
            "vector_add: dtype is %d; it is ACL_FLOAT (0), ACL_FLOAT16 (1), ACL_INT32 (3) or ACL_BF16 (27)",
            dtype);
    if (n < 0)
        return fail(ACL_ERROR_INVALID_PARAM, "", "vector_add: n is %lld; sizes are not negative",
                    static_cast<long long>(n));
    if (n == 0)
        return ACL_SUCCESS;
    if (a == nullptr || b == nullptr || y == nullptr)
        return fail(ACL_ERROR_INVALID_PARAM, "", "vector_add: %s is NULL",
                    a == nullptr   ? "a"
                    : b == nullptr ? "b"
                                   : "y");
    ByteRange a_range, b_range, y_range;
    if (!byte_range(a, n, size, &a_range) || !byte_range(b, n, size, &b_range) ||
        !byte_range(y, n, size, &y_range))
        return fail(ACL_ERROR_INVALID_PARAM, "", "vector_add: n = %lld is larger than any memory",
                    static_cast<long long>(n));
    if ((y != a && y_range.meets(a_range)) || (y != b && y_range.meets(b_range)))
        return fail(ACL_ERROR_INVALID_PARAM, "", "vector_add: y overlaps %s without being the same",
                    y != a && y_range.meets(a_range) ? "a" : "b");

    int32_t device = -1;
    const DeviceTraits *traits = nullptr;
    if (const int error = launch_device(&device, &traits))
        return error;
    VectorAddArgs args;
    args.a = a_range.begin;
    args.b = b_range.begin;
    args.y = y_range.begin;
    const uint32_t blocks = tile(*traits, n, size, &args);
    return launch(kernel, device, blocks, &args, sizeof args, stream);
}
