// SPDX-License-Identifier: Apache-2.0
//
// A device that refuses to take memory back still has it, and so do the pools: it stays in their figures, serves the next
// request, and goes at the next try. Against the fake device library.
#include "check.h"
#include "fake_acl.h"

namespace {

constexpr int refusal = 507899;

using Buffer = ascend_cy_buffer_t;
using Stream = ascend_cy_stream_t;

void refuse(const char *function, int count) { fake_acl()->fail(function, refusal, 0, count); }

} // namespace

TEST(trim_tells_and_keeps_what_was_refused)
{
    Stream *stream = ascend_cy_default_stream(0);
    Buffer *first = make(20 * MiB, stream);
    Buffer *second = make(30 * MiB, stream);
    void *const kept = ascend_cy_buffer_pointer(first);
    ascend_cy_buffer_release(first);
    ascend_cy_buffer_release(second);
    refuse("aclrtFree", 1000);
    CHECK_EQ(ascend_cy_pool_trim(0, 0), refusal);
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), "aclrtFree"), 0);
    CHECK_EQ(ascend_cy_last_code(), refusal);
    CHECK_EQ(stats().reserved_bytes, 50 * MiB);
    CHECK_EQ(stats().cached_bytes, 50 * MiB);
    ascend_cy_pool_figures_t figures;
    OK(ascend_cy_pool_figures(nullptr, &figures, sizeof figures));
    CHECK_EQ(figures.device_frees, 0U);
    CHECK_EQ(fake_acl()->device_bytes(), 50 * MiB);
    // It is as good as before.
    first = make(20 * MiB, stream);
    CHECK(ascend_cy_buffer_pointer(first) == kept);
    CHECK_EQ(stats().reserved_bytes, 50 * MiB);
    ascend_cy_buffer_release(first);
    refuse("aclrtFree", 0);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0U);
    CHECK_EQ(fake_acl()->device_bytes(), 0U);
    OK(ascend_cy_pool_figures(nullptr, &figures, sizeof figures));
    CHECK_EQ(figures.device_frees, 2U);
    expect_nothing_left();
}

TEST(one_refusal_does_not_keep_the_others)
{
    Stream *stream = ascend_cy_default_stream(0);
    Buffer *buffers[4];
    for (Buffer *&buffer : buffers)
        buffer = make(20 * MiB, stream);
    for (int i = 0; i < 3; ++i)
        ascend_cy_buffer_release(buffers[i]);
    // trim tries once more before it tells.
    fake_acl()->fail("aclrtFree", refusal, 0, 1);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 20 * MiB);
    CHECK_EQ(fake_acl()->device_bytes(), 20 * MiB);
    ascend_cy_buffer_release(buffers[3]);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(fake_acl()->device_bytes(), 0U);
}

TEST(requests_do_without_what_was_refused)
{
    Stream *stream = ascend_cy_default_stream(0);
    OK(ascend_cy_pool_set_limit(0, 64 * MiB));
    ascend_cy_buffer_release(make(40 * MiB, stream));
    refuse("aclrtFree", 1000);
    // Nobody has the 40 MiB, so they are no reason to refuse 60.
    Buffer *large = make(60 * MiB, stream);
    CHECK_EQ(stats().in_use_bytes, 60 * MiB);
    CHECK_EQ(stats().reserved_bytes, 100 * MiB);
    CHECK_EQ(std::strcmp(ascend_cy_last_message(), ""), 0);
    ascend_cy_buffer_release(large);
    OK(ascend_cy_pool_set_limit(0, 16 * MiB)); // gives back what it can
    CHECK_EQ(stats().reserved_bytes, 100 * MiB);
    CHECK_EQ(stats().in_use_bytes, 0U);
    Buffer *small = make(8 * MiB, stream);
    CHECK_EQ(stats().reserved_bytes, 100 * MiB);
    ascend_cy_buffer_release(small);
    // The device is full, and nothing can be given back: what is told is that.
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    fake_acl()->fail("aclrtMalloc", ACL_ERROR_RT_MEMORY_ALLOCATION, 0, 1000);
    Buffer *none = nullptr;
    CHECK_EQ(ascend_cy_buffer_create(200 * MiB, stream, &none), ACL_ERROR_RT_MEMORY_ALLOCATION);
    expect_message("asked for 209715200 bytes");
    CHECK_EQ(stats().reserved_bytes, 100 * MiB);
    fake_acl()->fail("aclrtMalloc", 0, 0, 0);
    refuse("aclrtFree", 0);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(fake_acl()->device_bytes(), 0U);
    expect_nothing_left();
}

TEST(a_pool_that_was_dropped_tries_again)
{
    Stream *stream = make_stream();
    ascend_cy_pool_t *pool = nullptr;
    OK(ascend_cy_pool_create(0, "dropped", UINT64_MAX, &pool));
    OK(ascend_cy_set_current_pool(-1, pool));
    Buffer *buffer = make(4 * MiB, stream);
    OK(ascend_cy_set_current_pool(0, nullptr));
    ascend_cy_buffer_release(buffer);
    refuse("aclrtFree", 1000);
    ascend_cy_pool_release(pool);
    CHECK_EQ(fake_acl()->device_bytes(), 4 * MiB);
    refuse("aclrtFree", 0);
    ascend_cy_buffer_release(make(8 * MiB, stream)); // looks after pools that were dropped
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(fake_acl()->device_bytes(), 0U);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(pinned_memory)
{
    Stream *stream = make_stream();
    void *idle = nullptr;
    void *busy = nullptr;
    OK(ascend_cy_pinned_alloc(MiB, &idle));
    OK(ascend_cy_pinned_alloc(2 * MiB, &busy));
    OK(ascend_cy_pinned_record_stream(busy, stream));
    ascend_cy_pinned_free(idle);
    ascend_cy_pinned_free(busy);
    refuse("aclrtFreeHost", 1000);
    CHECK_EQ(ascend_cy_pinned_trim(), refusal);
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), "aclrtFreeHost"), 0);
    CHECK_EQ(fake_acl()->host_bytes(), 3 * MiB);
    void *again = nullptr;
    OK(ascend_cy_pinned_alloc(MiB, &again));
    CHECK(again == idle);
    ascend_cy_pinned_free(again);
    OK(ascend_cy_pinned_alloc(2 * MiB, &again));
    CHECK(again == busy);
    ascend_cy_pinned_free(again);
    // The device has none left, and takes none back: what is told is that.
    fake_acl()->fail("aclrtMallocHost", ACL_ERROR_RT_MEMORY_ALLOCATION, 0, 2);
    CHECK_EQ(ascend_cy_pinned_alloc(4 * MiB, &again), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), "aclrtMallocHost"), 0);
    refuse("aclrtFreeHost", 0);
    OK(ascend_cy_pinned_trim());
    CHECK_EQ(fake_acl()->host_bytes(), 0U);
    // What is more than is kept goes at once, or stays until it does.
    std::vector<void *> many;
    for (int i = 0; i < 5; ++i) {
        OK(ascend_cy_pinned_alloc(100 * MiB, &again));
        many.push_back(again);
    }
    refuse("aclrtFreeHost", 1000);
    for (void *each : many)
        ascend_cy_pinned_free(each);
    refuse("aclrtFreeHost", 0);
    CHECK(fake_acl()->host_bytes() > 256 * MiB);
    OK(ascend_cy_pinned_trim());
    CHECK_EQ(fake_acl()->host_bytes(), 0U);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
