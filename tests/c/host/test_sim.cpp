// SPDX-License-Identifier: Apache-2.0
//
// On `sim` every buffer is an allocation of its own of just the bytes asked for, so that a kernel that goes past its end
// is caught.
#include "check.h"

TEST(the_device_sees_true_bounds)
{
    ascend_cy_stream_t *stream = ascend_cy_default_stream(0);
    OK(ascend_cy_ensure_context());
    ascend_cy_buffer_t *x = make(4 * 64 * sizeof(float), stream);
    ascend_cy_buffer_t *beside = make(4 * 64 * sizeof(float), stream);
    ascend_cy_buffer_t *y = make(5 * 64 * sizeof(float), stream);
    const ascend_cy_acl_table *acl = ascend_cy_acl_get_table();
    OK(acl->aclrtMemset(ascend_cy_buffer_pointer(x), 1024, 0, 1024));
    const auto run = [&](int64_t rows) {
        int code = ascend_cy_layernorm(ascend_cy_buffer_pointer(x), nullptr, nullptr, ascend_cy_buffer_pointer(y), nullptr,
                                       nullptr, rows, 64, ACL_FLOAT, 0, 0, 1e-5, nullptr);
        return code != 0 ? code : ascend_cy_stream_synchronize(stream, -1);
    };
    OK(run(4));
    CHECK(run(5) != 0); // a row more than x holds
    std::puts(ascend_cy_last_message());
    expect_message("layernorm_fp32");
    for (ascend_cy_buffer_t *buffer : {x, beside, y})
        ascend_cy_buffer_release(buffer);
}

TEST(only_the_same_size_is_reused)
{
    ascend_cy_stream_t *stream = ascend_cy_default_stream(0);
    OK(ascend_cy_pool_trim(-1, 0));
    ascend_cy_buffer_t *buffer = make(1000, stream);
    void *const pointer = ascend_cy_buffer_pointer(buffer);
    CHECK_EQ(stats().in_use_bytes, 1000u);
    CHECK_EQ(stats().reserved_bytes, 1000u);
    ascend_cy_buffer_release(buffer);
    buffer = make(999, stream);
    CHECK(ascend_cy_buffer_pointer(buffer) != pointer);
    ascend_cy_buffer_t *again = make(1000, stream);
    CHECK(ascend_cy_buffer_pointer(again) == pointer);
    ascend_cy_buffer_release(buffer);
    ascend_cy_buffer_release(again);
    OK(ascend_cy_pool_trim(-1, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
    expect_nothing_left();
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
