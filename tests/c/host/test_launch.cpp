// SPDX-License-Identifier: Apache-2.0
//
// The launcher of layernorm on the fake device, which keeps what was launched: nothing is computed here.
#include <cmath>
#include <limits>

#include "check.h"
#include "fake_acl.h"
#include "layernorm/layernorm_tiling.h"

alignas(64) static float x[1024], y[1024], gamma_[64], beta_[64], mean_[64], rstd_[64];

static long launches()
{
    return fake_acl()->calls("aclrtLaunchKernelWithHostArgs") + fake_acl()->calls("aclrtLaunchKernelWithConfig");
}

struct Call { // with what layernorm is called, unless a test changes it
    const void *x = ::x;
    const void *gamma = gamma_;
    const void *beta = beta_;
    void *y = ::y;
    float *mean = mean_;
    float *rstd = rstd_;
    int64_t rows = 16;
    int64_t cols = 32;
    int dtype = ACL_FLOAT;
    int gamma_dtype = ACL_FLOAT;
    int beta_dtype = ACL_FLOAT;
    double eps = 1e-5;

    void accepted() const { OK(run()); }
    int run() const
    {
        return ascend_cy_layernorm(x, gamma, beta, y, mean, rstd, rows, cols, dtype, gamma_dtype, beta_dtype, eps, nullptr);
    }
};

static void refused(const Call &call, const char *message)
{
    const long before = launches();
    CHECK_EQ(call.run(), ACL_ERROR_INVALID_PARAM);
    expect_message(message);
    CHECK_EQ(launches(), before);
}

TEST(bad_arguments)
{
    Call call;
    call.dtype = ACL_DOUBLE, refused(call, "dtype is 11"), call = {};
    call.gamma_dtype = ACL_INT8, refused(call, "gamma_dtype is 2"), call = {};
    call.beta_dtype = -1, refused(call, "beta_dtype is -1"), call = {};
    call.rows = -1, refused(call, "(-1, 32)"), call = {};
    call.cols = -5, refused(call, "(16, -5)"), call = {};
    call.eps = -1e-9, refused(call, "eps is -1e-09"), call = {};
    call.eps = std::numeric_limits<double>::quiet_NaN(), refused(call, "eps is"), call = {};
    call.x = nullptr, refused(call, "x is NULL"), call = {};
    call.y = nullptr, refused(call, "y is NULL"), call = {};
    call.rows = INT64_MAX / 32, refused(call, "larger than any memory"), call = {};
    call.rows = INT64_MAX, call.cols = INT64_MAX, refused(call, "larger than any memory"), call = {};
}

TEST(overlaps)
{
    Call call;
    call.y = x + 1, refused(call, "y overlaps x"), call = {};
    call.y = x + 511, refused(call, "y overlaps x"), call = {};
    call.x = y + 1, refused(call, "y overlaps x"), call = {};
    call.gamma = y + 511, refused(call, "y overlaps gamma"), call = {};
    call.beta = y + 500, refused(call, "y overlaps beta"), call = {};
    call.mean = y + 3, refused(call, "mean overlaps"), call = {};
    call.mean = x + 3, refused(call, "mean overlaps"), call = {};
    call.rstd = y + 511, refused(call, "rstd overlaps"), call = {};
    call.rstd = mean_ + 15, refused(call, "mean overlaps rstd"), call = {};
    const long before = launches();
    call.y = x, call.accepted(), call = {}; // in place
    call.y = x + 512, call.accepted(), call = {}; // side by side
    call.rstd = mean_ + 16, call.accepted(), call = {};
    call.beta = gamma_, call.accepted(), call = {}; // both are only read
    CHECK_EQ(launches(), before + 4);
}

TEST(nothing_to_do)
{
    const long before = launches();
    const long binaries = fake_acl()->calls("aclrtBinaryLoadFromFile");
    Call call;
    call.rows = 0, call.accepted(), call = {};
    call.cols = 0, call.accepted(), call = {};
    call.rows = 0, call.cols = INT64_MAX, call.x = nullptr, call.y = nullptr, call.accepted();
    CHECK_EQ(launches(), before);
    CHECK_EQ(fake_acl()->calls("aclrtBinaryLoadFromFile"), binaries);
}

TEST(the_argument_block)
{
    struct {
        int dtype;
        const char *entry;
    } const types[] = {{ACL_FLOAT, "layernorm_fp32"}, {ACL_FLOAT16, "layernorm_fp16"}, {ACL_BF16, "layernorm_bf16"}};
    for (const auto &type : types) {
        Call call;
        call.dtype = type.dtype;
        call.gamma_dtype = ACL_FLOAT;
        call.beta_dtype = ACL_FLOAT16;
        call.rstd = nullptr;
        call.eps = 0.25;
        OK(call.run());
        size_t size = 0;
        LayerNormArgs args;
        const void *seen = fake_acl()->last_args(&size);
        CHECK_EQ(size, sizeof args);
        std::memcpy(&args, seen, sizeof args);
        CHECK_EQ(std::strcmp(fake_acl()->last_kernel(), type.entry), 0);
        CHECK(args.x == reinterpret_cast<uintptr_t>(x) && args.y == reinterpret_cast<uintptr_t>(y));
        CHECK(args.gamma == reinterpret_cast<uintptr_t>(gamma_) && args.beta == reinterpret_cast<uintptr_t>(beta_));
        CHECK(args.mean == reinterpret_cast<uintptr_t>(mean_) && args.rstd == 0);
        CHECK(args.rows == 16 && args.cols == 32 && args.eps == 0.25 && args.inv_cols == 1.0 / 32);
        CHECK(args.gamma_dtype == ACL_FLOAT && args.beta_dtype == ACL_FLOAT16);
        CHECK(args.rows_per_block > 0);
        CHECK_EQ(fake_acl()->last_blocks(), (16 + args.rows_per_block - 1) / args.rows_per_block);
    }
}

TEST(the_binary_is_loaded_once)
{
    Call call;
    OK(call.run());
    const long binaries = fake_acl()->calls("aclrtBinaryLoadFromFile");
    const long functions = fake_acl()->calls("aclrtBinaryGetFunction");
    for (int i = 0; i < 100; ++i)
        OK(call.run());
    CHECK_EQ(fake_acl()->calls("aclrtBinaryLoadFromFile"), binaries);
    CHECK_EQ(fake_acl()->calls("aclrtBinaryGetFunction"), functions);
    // A reset of the device takes the function away: it is loaded anew.
    const bool older = fake_acl()->calls("aclrtLaunchKernelWithHostArgs") == 0;
    const char *const launch = older ? "aclrtLaunchKernelWithConfig" : "aclrtLaunchKernelWithHostArgs";
    fake_acl()->fail(launch, ACL_ERROR_RT_INVALID_HANDLE, 0, 1);
    OK(call.run());
    CHECK_EQ(fake_acl()->calls("aclrtBinaryLoadFromFile"), binaries + 1);
    fake_acl()->fail(launch, ACL_ERROR_RT_INVALID_HANDLE, 0, 2); // but only once
    CHECK_EQ(call.run(), ACL_ERROR_RT_INVALID_HANDLE);
    // A stream that is gone is no reason to load it.
    const long before = fake_acl()->calls("aclrtBinaryLoadFromFile");
    fake_acl()->fail(launch, ACL_ERROR_RT_INVALID_HANDLE, 0, 1);
    fake_acl()->fail("aclrtStreamQuery", ACL_ERROR_RT_INVALID_HANDLE, 0, 1);
    CHECK_EQ(call.run(), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), launch), 0);
    CHECK_EQ(fake_acl()->calls("aclrtBinaryLoadFromFile"), before);
    fake_acl()->fail("aclrtStreamQuery", 0, 0, 0);
    fake_acl()->fail(launch, ACL_ERROR_RT_PARAM_INVALID, 0, 1);
    CHECK_EQ(call.run(), ACL_ERROR_RT_PARAM_INVALID);
    expect_message("was told to fail");
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), launch), 0);
    OK(call.run());
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
