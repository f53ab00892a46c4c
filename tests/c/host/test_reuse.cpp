// SPDX-License-Identifier: Apache-2.0
//
// RT-1 on a real device: memory that work still reads is not given to another stream, whoever freed it.
#include <cmath>
#include <thread>

#include "check.h"

using Stream = ascend_cy_stream_t;
using Buffer = ascend_cy_buffer_t;

static int rounds = 100;
constexpr int64_t rows = 512;
constexpr int64_t cols = 2048;
constexpr size_t bytes = rows * cols * sizeof(float);

static const std::vector<float> &pattern()
{
    static const std::vector<float> values = [] {
        std::vector<float> made(rows * cols);
        for (size_t i = 0; i < made.size(); ++i)
            made[i] = i % 2 == 0 ? 3.0F : -3.0F;
        return made;
    }();
    return values;
}

static const ascend_cy_acl_table *acl() { return ascend_cy_acl_get_table(); }

static void normalize(Buffer *x, Buffer *y, Stream *stream)
{
    OK(ascend_cy_set_device(ascend_cy_stream_device(stream)));
    OK(ascend_cy_layernorm(ascend_cy_buffer_pointer(x), nullptr, nullptr, ascend_cy_buffer_pointer(y), nullptr, nullptr,
                           rows, cols, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, 0.0, ascend_cy_stream_handle(stream)));
}

static void expect_ones(Buffer *y)
{
    static thread_local std::vector<float> host(rows * cols);
    OK(acl()->aclrtMemcpy(host.data(), bytes, ascend_cy_buffer_pointer(y), bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t i = 0; i < host.size(); i += 7)
        CHECK(std::fabs(host[i] - (i % 2 == 0 ? 1.0F : -1.0F)) < 1e-5F);
}

// b is read on stream a, then dropped; stream `other` gets memory of the same size and fills it.
static void one_round(Stream *a, Stream *other, bool made_on_other)
{
    Buffer *b = make(bytes, made_on_other ? other : a);
    Buffer *y = make(bytes, a);
    OK(acl()->aclrtMemcpy(ascend_cy_buffer_pointer(b), bytes, pattern().data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    for (int i = 0; i < 3; ++i)
        normalize(b, y, a);
    if (made_on_other)
        OK(ascend_cy_buffer_record_stream(b, a));
    ascend_cy_buffer_release(b);
    Buffer *next = make(bytes, other);
    OK(ascend_cy_set_device(ascend_cy_stream_device(other)));
    OK(acl()->aclrtMemsetAsync(ascend_cy_buffer_pointer(next), bytes, 0x55, bytes, ascend_cy_stream_handle(other)));
    ascend_cy_buffer_release(next);
    OK(ascend_cy_stream_synchronize(a, -1));
    expect_ones(y);
    ascend_cy_buffer_release(y);
    OK(ascend_cy_stream_synchronize(other, -1));
}

TEST(one_thread)
{
    Stream *a = make_stream();
    for (int i = 0; i < rounds; ++i) { // a new stream has nothing of its own to reuse
        Stream *b = make_stream();
        one_round(a, b, i % 2 == 0);
        ascend_cy_stream_release(b);
    }
    Stream *b = make_stream();
    OK(ascend_cy_pool_set_limit(0, 3 * bytes + 4096)); // where waiting is needed
    for (int i = 0; i < rounds / 4; ++i)
        one_round(a, b, i % 2 == 0);
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    ascend_cy_stream_release(a);
    ascend_cy_stream_release(b);
    expect_nothing_left();
}

TEST(two_threads)
{
    std::vector<std::thread> threads;
    static Stream *common = make_stream();
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([t] {
            Stream *mine = make_stream();
            OK(ascend_cy_set_current_stream(mine));
            for (int i = 0; i < rounds / 2; ++i)
                one_round(mine, t == 0 ? common : ascend_cy_default_stream(0), i % 2 == 0);
            ascend_cy_stream_release(mine);
        });
    for (std::thread &thread : threads)
        thread.join();
    ascend_cy_stream_release(common);
    expect_nothing_left();
}

int main(int argc, char **argv)
{
    if (const char *text = std::getenv("ROUNDS"))
        rounds = std::atoi(text);
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
