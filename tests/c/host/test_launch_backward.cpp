// SPDX-License-Identifier: Apache-2.0
//
// The launcher of layernorm_backward on the fake device, which keeps what was launched: nothing is computed here.
#include "ascend_cy/pool.h"
#include "check.h"
#include "fake_acl.h"
#include "layernorm_backward/layernorm_backward_tiling.h"

alignas(64) static float dy[1024], x[1024], dx[1024], gamma_[64], dgamma[64], dbeta[64], mean_[64], rstd_[64];

static long launches()
{
    return fake_acl()->calls("aclrtLaunchKernelWithHostArgs") + fake_acl()->calls("aclrtLaunchKernelWithConfig");
}

struct Call { // with what layernorm_backward is called, unless a test changes it
    const void *dy = ::dy;
    const void *x = ::x;
    const float *mean = mean_;
    const float *rstd = rstd_;
    const void *gamma = gamma_;
    void *dx = ::dx;
    void *dgamma = ::dgamma;
    void *dbeta = ::dbeta;
    int64_t rows = 16;
    int64_t cols = 32;
    int dtype = ACL_FLOAT;
    int gamma_dtype = ACL_FLOAT;

    void accepted() const { OK(run()); }
    int run() const
    {
        return ascend_cy_layernorm_backward(dy, x, mean, rstd, gamma, dx, dgamma, dbeta, rows, cols, dtype, gamma_dtype,
                                            nullptr);
    }
};

static void refused(const Call &call, const char *message)
{
    const long before = launches();
    const uint64_t allocations = stats().allocations;
    CHECK_EQ(call.run(), ACL_ERROR_INVALID_PARAM);
    expect_message(message);
    CHECK_EQ(launches(), before);
    CHECK_EQ(stats().allocations, allocations);
}

TEST(bad_arguments)
{
    Call call;
    call.dtype = ACL_DOUBLE, refused(call, "layernorm_backward: dtype is 11"), call = {};
    call.gamma_dtype = ACL_INT8, refused(call, "gamma_dtype is 2"), call = {};
    call.gamma = nullptr, call.gamma_dtype = -1, refused(call, "gamma_dtype is -1"), call = {}; // of dgamma
    call.rows = -1, refused(call, "(-1, 32)"), call = {};
    call.cols = -5, refused(call, "(16, -5)"), call = {};
    call.dy = nullptr, refused(call, "dy is NULL"), call = {};
    call.x = nullptr, refused(call, "x is NULL"), call = {};
    call.mean = nullptr, refused(call, "mean is NULL"), call = {};
    call.rstd = nullptr, refused(call, "rstd is NULL"), call = {};
    call.rows = INT64_MAX / 32, refused(call, "larger than any memory"), call = {};
    call.rows = INT64_MAX, call.cols = INT64_MAX, refused(call, "larger than any memory"), call = {};
}

TEST(overlaps)
{
    Call call;
    call.dx = dy + 1, refused(call, "dx overlaps dy without being the same"), call = {};
    call.dx = x + 511, refused(call, "dx overlaps x without being the same"), call = {};
    call.gamma = dx + 500, refused(call, "dx overlaps gamma"), call = {};
    call.mean = dx + 511, refused(call, "dx overlaps mean"), call = {};
    call.rstd = dx, refused(call, "dx overlaps rstd"), call = {};
    call.dgamma = gamma_, refused(call, "dgamma overlaps gamma"), call = {};
    call.dbeta = dgamma + 31, refused(call, "dbeta overlaps dgamma"), call = {};
    call.dbeta = x + 3, refused(call, "dbeta overlaps x"), call = {};
    call.dgamma = dx + 3, refused(call, "dgamma overlaps dx"), call = {};
    const long before = launches();
    call.dx = dy, call.accepted(), call = {}; // in place
    call.dx = x, call.accepted(), call = {};
    call.dy = x, call.accepted(), call = {}; // both are only read
    call.rstd = mean_, call.accepted(), call = {};
    call.dx = x + 512, call.accepted(), call = {}; // side by side
    CHECK_EQ(launches(), before + 10);
}

TEST(nothing_to_do)
{
    const long before = launches();
    const long zeroed = fake_acl()->calls("aclrtMemsetAsync");
    Call call;
    call.cols = 0, call.accepted(), call = {};
    call.dx = call.dgamma = call.dbeta = nullptr, call.accepted(), call = {};
    call.rows = 0, call.dgamma = call.dbeta = nullptr, call.accepted(), call = {};
    CHECK_EQ(fake_acl()->calls("aclrtMemsetAsync"), zeroed);
    call.rows = 0, call.dy = call.x = nullptr, call.mean = nullptr, call.accepted(), call = {}; // sums of no rows are zero
    CHECK_EQ(fake_acl()->calls("aclrtMemsetAsync"), zeroed + 2);
    call.rows = 0, call.dbeta = nullptr, call.accepted(), call = {};
    CHECK_EQ(fake_acl()->calls("aclrtMemsetAsync"), zeroed + 3);
    CHECK_EQ(launches(), before);
}

TEST(the_argument_blocks)
{
    struct {
        int dtype;
        const char *rows;
        const char *sum;
    } const types[] = {{ACL_FLOAT, "layernorm_backward_fp32", "layernorm_backward_sum_fp32"},
                       {ACL_FLOAT16, "layernorm_backward_fp16", "layernorm_backward_sum_fp16"},
                       {ACL_BF16, "layernorm_backward_bf16", "layernorm_backward_sum_bf16"}};
    for (const auto &type : types)
        for (const auto &grad : types) {
            Call call;
            call.dtype = type.dtype;
            call.gamma_dtype = grad.dtype;
            call.dgamma = call.dbeta = nullptr;
            long before = launches();
            OK(call.run()); // dx alone: one launch, no workspace
            CHECK_EQ(launches(), before + 1);
            size_t size = 0;
            LayerNormBackwardArgs args;
            const void *seen = fake_acl()->last_args(&size);
            CHECK_EQ(size, sizeof args);
            std::memcpy(&args, seen, sizeof args);
            CHECK_EQ(std::strcmp(fake_acl()->last_kernel(), type.rows), 0);
            CHECK(args.dy == reinterpret_cast<uintptr_t>(dy) && args.x == reinterpret_cast<uintptr_t>(x));
            CHECK(args.mean == reinterpret_cast<uintptr_t>(mean_) && args.rstd == reinterpret_cast<uintptr_t>(rstd_));
            CHECK(args.gamma == reinterpret_cast<uintptr_t>(gamma_) && args.dx == reinterpret_cast<uintptr_t>(dx));
            CHECK(args.workspace == 0 && args.rows == 16 && args.cols == 32 && args.gamma_dtype == grad.dtype);
            CHECK(args.parts > 0 && args.rows_per_part > 0 && args.inv_cols == 1.0 / 32);

            call.dbeta = dbeta; // dbeta alone: two launches and a workspace
            before = launches();
            const uint64_t allocations = stats().allocations, in_use = stats().in_use_bytes;
            OK(call.run());
            CHECK_EQ(launches(), before + 2);
            CHECK_EQ(stats().allocations, allocations + 1);
            CHECK_EQ(stats().in_use_bytes, in_use); // given back
            LayerNormBackwardSumArgs sums;
            seen = fake_acl()->last_args(&size);
            CHECK_EQ(size, sizeof sums);
            std::memcpy(&sums, seen, sizeof sums);
            CHECK_EQ(std::strcmp(fake_acl()->last_kernel(), grad.sum), 0);
            CHECK(sums.workspace != 0 && sums.dgamma == 0 && sums.dbeta == reinterpret_cast<uintptr_t>(dbeta));
            CHECK(sums.cols == 32 && sums.parts == args.parts && sums.cols_per_block > 0);
        }
}

TEST(failures)
{
    Call call;
    OK(call.run());
    const bool older = fake_acl()->calls("aclrtLaunchKernelWithHostArgs") == 0;
    const char *const launch = older ? "aclrtLaunchKernelWithConfig" : "aclrtLaunchKernelWithHostArgs";
    const uint64_t in_use = stats().in_use_bytes;
    for (int skip : {0, 1}) { // the first launch, the second
        const long before = launches();
        fake_acl()->fail(launch, ACL_ERROR_RT_PARAM_INVALID, skip, 1);
        CHECK_EQ(call.run(), ACL_ERROR_RT_PARAM_INVALID);
        expect_message("was told to fail");
        CHECK_EQ(launches(), before + skip + 1);
        CHECK_EQ(stats().in_use_bytes, in_use);
    }
    OK(call.run());
    // No memory for the workspace: nothing was enqueued.
    OK(ascend_cy_pool_set_limit(-1, 0));
    const long before = launches();
    CHECK_EQ(call.run(), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(launches(), before);
    OK(ascend_cy_pool_set_limit(-1, UINT64_MAX));
    OK(call.run());
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
