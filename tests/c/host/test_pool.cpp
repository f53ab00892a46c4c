// SPDX-License-Identifier: Apache-2.0
//
// The memory pool, on a fake device whose streams stand still when the test says so.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "fake_acl.h"

using Buffer = ascend_cy_buffer_t;
using Stream = ascend_cy_stream_t;

static void hold(Stream *stream, bool on) { fake_acl()->hold(ascend_cy_stream_handle(stream), on ? 1 : 0); }

// Work that stays in the stream until it is let go.
static ascend_cy_event_t *block(Stream *stream)
{
    hold(stream, true);
    ascend_cy_event_t *event = nullptr;
    OK(ascend_cy_event_create(0, 0, &event));
    OK(ascend_cy_event_record(event, stream));
    return event;
}

TEST(a_size_seen_before_calls_nothing)
{
    Stream *stream = make_stream();
    Buffer *first = make(4096, stream);
    void *const pointer = ascend_cy_buffer_pointer(first);
    ascend_cy_buffer_release(first);
    const long before = fake_acl()->calls(nullptr);
    for (int i = 0; i < 1000; ++i) {
        Buffer *buffer = make(4096, stream);
        CHECK(ascend_cy_buffer_pointer(buffer) == pointer);
        ascend_cy_buffer_release(buffer);
    }
    CHECK_EQ(fake_acl()->calls(nullptr), before);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(sizes_and_alignment)
{
    Stream *stream = ascend_cy_default_stream(0);
    const uint64_t before = stats().in_use_bytes;
    for (size_t size : {size_t{0}, size_t{1}, size_t{31}, size_t{64}, size_t{65}, size_t{4097}, MiB, MiB + 1, 3 * MiB}) {
        Buffer *buffer = make(size, stream);
        CHECK_EQ(ascend_cy_buffer_size(buffer), size);
        CHECK((ascend_cy_buffer_pointer(buffer) == nullptr) == (size == 0));
        CHECK_EQ(reinterpret_cast<uintptr_t>(ascend_cy_buffer_pointer(buffer)) % 64, 0u);
        CHECK(ascend_cy_buffer_stream(buffer) == stream);
        if (size > 0)
            std::memset(ascend_cy_buffer_pointer(buffer), 1, size);
        CHECK_EQ(stats().in_use_bytes, before + (size + 63) / 64 * 64);
        ascend_cy_buffer_release(buffer);
        CHECK_EQ(stats().in_use_bytes, before);
    }
    Buffer *buffer = nullptr;
    CHECK_EQ(ascend_cy_buffer_create(SIZE_MAX, stream, &buffer), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(ascend_cy_buffer_create(SIZE_MAX / 2, stream, &buffer), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(ascend_cy_buffer_create(64, nullptr, &buffer), ACL_ERROR_INVALID_PARAM);
    CHECK(buffer == nullptr);
}

TEST(neighbours_are_cut_and_merged)
{
    Stream *stream = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
    std::vector<Buffer *> buffers;
    for (int i = 0; i < 32; ++i)
        buffers.push_back(make(64 * KiB, stream));
    CHECK_EQ(stats().reserved_bytes, 2 * MiB); // one segment holds them all
    std::set<char *> pointers;
    for (Buffer *buffer : buffers)
        pointers.insert(static_cast<char *>(ascend_cy_buffer_pointer(buffer)));
    CHECK_EQ(pointers.size(), 32u);
    CHECK_EQ(*pointers.rbegin() - *pointers.begin(), static_cast<std::ptrdiff_t>(31 * 64 * KiB));
    std::shuffle(buffers.begin(), buffers.end(), std::mt19937(1));
    for (Buffer *buffer : buffers)
        ascend_cy_buffer_release(buffer);
    const auto calls = fake_acl()->calls("aclrtMalloc");
    Buffer *whole = make(MiB, stream); // needs 16 of the pieces joined
    Buffer *other = make(MiB, stream);
    CHECK_EQ(fake_acl()->calls("aclrtMalloc"), calls);
    ascend_cy_buffer_release(whole);
    ascend_cy_buffer_release(other);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
    CHECK_EQ(fake_acl()->device_bytes(), 0u);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(best_fit)
{
    Stream *stream = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    Buffer *large = make(40 * MiB, stream);
    Buffer *middle = make(20 * MiB, stream);
    Buffer *small = make(10 * MiB, stream);
    void *const where = ascend_cy_buffer_pointer(middle);
    for (Buffer *buffer : {large, middle, small})
        ascend_cy_buffer_release(buffer);
    Buffer *fitting = make(18 * MiB, stream);
    CHECK(ascend_cy_buffer_pointer(fitting) == where);
    ascend_cy_buffer_release(fitting);
    ascend_cy_stream_release(stream);
}

// RT-1: work still running on the stream of a freed block must not see it reused by another stream.
TEST(other_streams_wait_for_the_event)
{
    Stream *a = make_stream();
    Stream *b = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    for (size_t size : {4 * KiB, 4 * MiB}) {
        Buffer *buffer = make(size, a);
        void *const pointer = ascend_cy_buffer_pointer(buffer);
        ascend_cy_event_t *work = block(a);
        ascend_cy_buffer_release(buffer);
        // The same stream has it back at once, while its work still waits.
        buffer = make(size, a);
        CHECK(ascend_cy_buffer_pointer(buffer) == pointer);
        ascend_cy_buffer_release(buffer);
        std::vector<Buffer *> taken;
        for (int i = 0; i < 100; ++i) {
            taken.push_back(make(size, b));
            CHECK(ascend_cy_buffer_pointer(taken.back()) != pointer);
        }
        hold(a, false);
        bool reused = false;
        for (int i = 0; i < 600 && !reused; ++i) { // small ones fill the segment first
            taken.push_back(make(size, b));
            reused = ascend_cy_buffer_pointer(taken.back()) == pointer;
        }
        CHECK(reused);
        for (Buffer *each : taken)
            ascend_cy_buffer_release(each);
        ascend_cy_event_release(work);
    }
    ascend_cy_stream_release(a);
    ascend_cy_stream_release(b);
    expect_nothing_left();
}

TEST(reuse_after_a_mark_does_not_reach_later_frees)
{
    Stream *a = make_stream();
    Stream *b = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    Buffer *early = make(4 * MiB, a);
    Buffer *late = make(4 * MiB, a);
    void *const late_pointer = ascend_cy_buffer_pointer(late);
    ascend_cy_buffer_release(early);
    Buffer *got = make(4 * MiB, b); // takes the early one: a is idle
    ascend_cy_event_t *work = block(a);
    ascend_cy_buffer_release(late); // after the mark, with work before it
    Buffer *other = make(4 * MiB, b);
    CHECK(ascend_cy_buffer_pointer(other) != late_pointer);
    hold(a, false);
    Buffer *third = make(4 * MiB, b);
    CHECK(ascend_cy_buffer_pointer(third) == late_pointer);
    for (Buffer *each : {got, other, third})
        ascend_cy_buffer_release(each);
    ascend_cy_event_release(work);
    ascend_cy_stream_release(a);
    ascend_cy_stream_release(b);
    expect_nothing_left();
}

TEST(foreign_memory_is_shared)
{
    Stream *a = make_stream();
    Buffer *foreign = nullptr;
    OK(ascend_cy_buffer_wrap(&a, sizeof a, a, nullptr, nullptr, &foreign));
    CHECK(ascend_cy_buffer_is_shared(foreign));
    ascend_cy_buffer_release(foreign);
    ascend_cy_stream_release(a);
    expect_nothing_left();
}

TEST(recorded_streams_are_waited_for)
{
    Stream *a = make_stream();
    Stream *b = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    Buffer *buffer = make(4 * MiB, a);
    void *const pointer = ascend_cy_buffer_pointer(buffer);
    OK(ascend_cy_buffer_record_stream(buffer, a)); // its own: nothing to do
    CHECK(!ascend_cy_buffer_is_shared(buffer));
    hold(b, true);
    OK(ascend_cy_buffer_record_stream(buffer, b));
    CHECK(ascend_cy_buffer_is_shared(buffer));
    OK(ascend_cy_buffer_record_stream(buffer, b));
    ascend_cy_buffer_release(buffer);
    auto now = stats();
    CHECK_EQ(now.in_use_bytes, 0u);
    CHECK_EQ(now.cached_bytes, 0u); // neither in use nor free
    CHECK_EQ(now.reserved_bytes, 4 * MiB);
    Buffer *next = make(4 * MiB, a); // not even its own stream
    CHECK(ascend_cy_buffer_pointer(next) != pointer);
    hold(b, false);
    Buffer *third = make(4 * MiB, a);
    CHECK(ascend_cy_buffer_pointer(third) == pointer);
    ascend_cy_buffer_release(next);
    ascend_cy_buffer_release(third);
    ascend_cy_stream_release(a);
    ascend_cy_stream_release(b);
    expect_nothing_left();
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
}

TEST(order_waits_for_all_users)
{
    Stream *a = make_stream();
    Stream *b = make_stream();
    Stream *c = make_stream();
    Buffer *buffer = make(4096, a);
    OK(ascend_cy_buffer_record_stream(buffer, b));
    for (Stream *slow : {a, b}) {
        ascend_cy_event_t *work = block(slow);
        OK(ascend_cy_buffer_order(buffer, c));
        int done = 1;
        OK(ascend_cy_stream_query(c, &done));
        CHECK(!done);
        hold(slow, false);
        OK(ascend_cy_stream_synchronize(c, 1000));
        ascend_cy_event_release(work);
    }
    ascend_cy_buffer_release(buffer);
    for (Stream *stream : {a, b, c})
        ascend_cy_stream_release(stream);
    expect_nothing_left();
}

// Weights live long, and every request may bring a stream of its own.
TEST(streams_that_have_passed_are_forgotten)
{
    Stream *home = make_stream();
    Stream *busy = make_stream();
    Buffer *buffer = make(4096, home);
    void *pinned = nullptr;
    OK(ascend_cy_pinned_alloc(4096, &pinned));
    ascend_cy_event_t *work = block(busy);
    OK(ascend_cy_buffer_record_stream(buffer, busy));
    OK(ascend_cy_pinned_record_stream(pinned, busy));
    ascend_cy_live_counts_t live;
    for (int i = 0; i < 100; ++i) {
        Stream *passing = make_stream();
        OK(ascend_cy_buffer_order(buffer, passing));
        OK(ascend_cy_buffer_record_stream(buffer, passing));
        OK(ascend_cy_pinned_record_stream(pinned, passing));
        hold(busy, false);
        OK(ascend_cy_stream_synchronize(passing, 1000));
        ascend_cy_event_release(work);
        work = block(busy);
        ascend_cy_stream_release(passing);
        ascend_cy_live_counts(&live);
        CHECK(live.streams <= 2 + 2 * 9 + 1);
    }
    // What is still busy was not forgotten.
    Stream *next = make_stream();
    OK(ascend_cy_buffer_order(buffer, next));
    int done = 1;
    OK(ascend_cy_stream_query(next, &done));
    CHECK(!done);
    hold(busy, false);
    OK(ascend_cy_stream_synchronize(next, 1000));
    ascend_cy_event_release(work);
    ascend_cy_buffer_release(buffer);
    ascend_cy_pinned_free(pinned);
    for (Stream *stream : {home, busy, next})
        ascend_cy_stream_release(stream);
    expect_nothing_left();
}

// Streams come and go on several threads while a buffer is ordered and recorded on all of them.
TEST(uses_are_forgotten_while_others_order_behind_them)
{
    Stream *home = make_stream();
    Buffer *buffer = make(4096, home);
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n)
        threads.emplace_back([buffer] {
            for (int i = 0; i < 300; ++i) {
                Stream *stream = make_stream();
                Buffer *both[] = {buffer, nullptr};
                OK(ascend_cy_buffers_order(both, i % 2, 2, stream));
                OK(ascend_cy_buffers_record(both, i % 2, 2, stream));
                ascend_cy_stream_release(stream);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    ascend_cy_live_counts_t live;
    ascend_cy_live_counts(&live);
    CHECK(live.streams < 200);
    ascend_cy_buffer_release(buffer);
    ascend_cy_stream_release(home);
    expect_nothing_left();
}

// RT-3: memory that is free but cached.
TEST(cached_memory_counts_as_free)
{
    Stream *stream = ascend_cy_default_stream(0);
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_pool_set_limit(0, 16 * MiB));
    Buffer *eight = make(8 * MiB, stream);
    CHECK_EQ(stats().in_use_bytes, 8 * MiB);
    ascend_cy_buffer_release(eight);
    CHECK_EQ(stats().in_use_bytes, 0u);
    Buffer *twelve = make(12 * MiB, stream);
    CHECK_EQ(stats().in_use_bytes, 12 * MiB);
    ascend_cy_buffer_release(twelve);
    for (uint64_t limit : {uint64_t{16 * MiB}, uint64_t{10 * MiB}, uint64_t{7 * MiB}, uint64_t{1000000}, uint64_t{100000}}) {
        OK(ascend_cy_pool_trim(0, 0));
        OK(ascend_cy_pool_set_limit(0, limit));
        Buffer *first = make(limit * 3 / 10, stream);
        Buffer *second = make(limit * 3 / 10, stream);
        ascend_cy_buffer_release(second);
        Buffer *third = make(limit * 6 / 10, stream);
        CHECK(stats().reserved_bytes <= limit);
        CHECK_EQ(stats().in_use_bytes,
                 (ascend_cy_buffer_size(first) + 63) / 64 * 64 + (ascend_cy_buffer_size(third) + 63) / 64 * 64);
        ascend_cy_buffer_release(first);
        ascend_cy_buffer_release(third);
        // All of the limit can be used.
        first = make(limit / 128 * 64, stream);
        second = make(limit / 128 * 64, stream);
        const auto before = stats();
        Buffer *none = nullptr;
        CHECK_EQ(ascend_cy_buffer_create(4096, stream, &none), ACL_ERROR_RT_MEMORY_ALLOCATION);
        CHECK(none == nullptr);
        expect_message("asked for 4096 bytes");
        expect_message(("its limit is " + std::to_string(limit)).c_str());
        expect_message(("in use " + std::to_string(before.in_use_bytes)).c_str());
        CHECK_EQ(std::strcmp(ascend_cy_last_function(), ""), 0);
        CHECK_EQ(stats().in_use_bytes, before.in_use_bytes);
        ascend_cy_buffer_release(first);
        ascend_cy_buffer_release(second);
    }
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(fake_acl()->device_bytes(), 0u);
}

TEST(the_device_is_full)
{
    Stream *stream = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    // 1 GiB: what is cached in small and in large pieces has to go back before the whole fits.
    std::vector<Buffer *> buffers;
    for (size_t size : {1 * KiB, 100 * KiB, 5 * MiB, 300 * MiB, 200 * MiB})
        buffers.push_back(make(size, stream));
    for (Buffer *buffer : buffers)
        ascend_cy_buffer_release(buffer);
    Buffer *whole = make(1024 * MiB, stream);
    CHECK_EQ(stats().reserved_bytes, 1024 * MiB);
    Buffer *none = nullptr;
    CHECK_EQ(ascend_cy_buffer_create(1, stream, &none), ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), "aclrtMalloc"), 0);
    expect_message("asked for 1 bytes");
    expect_message("no limit is set");
    expect_message("the device has 0 of 1073741824 bytes free");
    ascend_cy_buffer_release(whole);
    // Small requests can use a large segment of which a part is in use.
    Buffer *large = make(600 * MiB, stream);
    Buffer *second = make(1024 * MiB - 600 * MiB, stream);
    ascend_cy_buffer_release(large);
    Buffer *part = make(300 * MiB, stream);
    Buffer *tiny = make(100, stream);
    for (Buffer *buffer : {second, part, tiny})
        ascend_cy_buffer_release(buffer);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(pending_memory_is_waited_for)
{
    Stream *a = make_stream();
    Stream *b = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_pool_set_limit(0, 10 * MiB));
    for (const bool recorded : {false, true}) {
        Buffer *buffer = make(8 * MiB, a);
        if (recorded)
            OK(ascend_cy_buffer_record_stream(buffer, b));
        ascend_cy_event_t *work = block(recorded ? b : a);
        ascend_cy_buffer_release(buffer);
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            hold(recorded ? b : a, false);
        });
        Buffer *other = make(9 * MiB, b); // has to wait for the work, then gives the 8 back
        int done = 0;
        OK(ascend_cy_event_query(work, &done));
        CHECK(done);
        later.join();
        ascend_cy_buffer_release(other);
        ascend_cy_event_release(work);
        OK(ascend_cy_pool_trim(0, 0));
    }
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    ascend_cy_stream_release(a);
    ascend_cy_stream_release(b);
    expect_nothing_left();
}

TEST(device_errors_pass_through)
{
    Stream *stream = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    const auto before = stats();
    Buffer *none = nullptr;
    fake_acl()->fail("aclrtMalloc", ACL_ERROR_RT_DRV_INTERNAL_ERROR, 0, 2);
    CHECK_EQ(ascend_cy_buffer_create(4096, stream, &none), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    expect_message("fake: aclrtMalloc was told to fail");
    CHECK_EQ(std::strcmp(ascend_cy_last_function(), "aclrtMalloc"), 0);
    CHECK(none == nullptr);
    CHECK_EQ(stats().reserved_bytes, before.reserved_bytes);
    // A passing shortage is no error.
    fake_acl()->fail("aclrtMalloc", ACL_ERROR_RT_MEMORY_ALLOCATION, 0, 2);
    ascend_cy_buffer_release(make(4096, stream));
    // Where no event can be had, whole streams are waited for.
    Stream *other = make_stream();
    for (const bool recorded : {false, true}) {
        OK(ascend_cy_pool_trim(0, 0));
        Buffer *buffer = make(8 * MiB, stream);
        if (recorded)
            OK(ascend_cy_buffer_record_stream(buffer, other));
        fake_acl()->fail("aclrtRecordEvent", ACL_ERROR_RT_STREAM_CONTEXT, 0, 1000);
        ascend_cy_buffer_release(buffer);
        OK(ascend_cy_pool_trim(0, 0));
        fake_acl()->fail("aclrtRecordEvent", 0, 0, 0);
        CHECK_EQ(stats().reserved_bytes, 0u);
    }
    ascend_cy_stream_release(stream);
    ascend_cy_stream_release(other);
    expect_nothing_left();
}

TEST(memory_outlives_its_stream)
{
    OK(ascend_cy_pool_trim(0, 0));
    Stream *own = make_stream();
    Stream *heir = make_stream();
    Buffer *buffer = make(4 * MiB, own);
    void *const pointer = ascend_cy_buffer_pointer(buffer);
    ascend_cy_stream_release(own); // the buffer keeps it
    CHECK_EQ(fake_acl()->streams(), 2);
    ascend_cy_buffer_release(buffer);
    CHECK_EQ(fake_acl()->streams(), 1);
    buffer = make(4 * MiB, heir);
    CHECK(ascend_cy_buffer_pointer(buffer) == pointer);
    ascend_cy_buffer_release(buffer);

    // A foreign stream goes on after its last box: its memory must wait.
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_ensure_context());
    aclrtStream handle = nullptr;
    OK(ascend_cy_acl_get_table()->aclrtCreateStreamWithConfig(&handle, 0, 0));
    Stream *box = nullptr;
    Stream *second_box = nullptr;
    OK(ascend_cy_stream_wrap(0, handle, nullptr, nullptr, &box));
    OK(ascend_cy_stream_wrap(0, handle, nullptr, nullptr, &second_box));
    buffer = make(4 * MiB, box);
    void *const foreign = ascend_cy_buffer_pointer(buffer);
    ascend_cy_buffer_release(buffer);
    buffer = make(4 * MiB, second_box); // the same stream
    CHECK(ascend_cy_buffer_pointer(buffer) == foreign);
    fake_acl()->hold(handle, 1);
    ascend_cy_event_t *work = nullptr;
    OK(ascend_cy_event_create(0, 0, &work));
    OK(ascend_cy_event_record(work, box));
    ascend_cy_stream_release(box);
    ascend_cy_buffer_release(buffer);
    ascend_cy_stream_release(second_box);
    Buffer *other = make(4 * MiB, heir);
    CHECK(ascend_cy_buffer_pointer(other) != foreign);
    fake_acl()->hold(handle, 0);
    OK(ascend_cy_acl_get_table()->aclrtDestroyStream(handle));
    Buffer *third = make(4 * MiB, heir);
    CHECK(ascend_cy_buffer_pointer(third) == foreign);
    ascend_cy_buffer_release(other);
    ascend_cy_buffer_release(third);
    ascend_cy_event_release(work);
    ascend_cy_stream_release(heir);
    expect_nothing_left();
}

static Stream *leaving = nullptr;
static std::vector<Buffer *> leaving_with_it;

// A stream goes, with the neighbours of the block that is being taken from it, while the pool's lock is open for a mark.
TEST(a_block_being_taken_is_not_joined_with_its_neighbours)
{
    OK(ascend_cy_pool_trim(0, 0));
    auto *table = const_cast<ascend_cy_acl_table *>(ascend_cy_acl_get_table());
    const auto query = table->aclrtStreamQuery;
    leaving = make_stream();
    Stream *heir = make_stream();
    Buffer *first = make(4096, leaving);
    for (int i = 0; i < 511; ++i) // the whole segment: what was never used is free for everybody
        leaving_with_it.push_back(make(4096, leaving));
    ascend_cy_buffer_release(first);
    table->aclrtStreamQuery = [](aclrtStream, aclrtStreamStatus *status) -> aclError {
        if (!leaving_with_it.empty()) {
            std::vector<Buffer *> all;
            all.swap(leaving_with_it);
            for (Buffer *buffer : all)
                ascend_cy_buffer_release(buffer);
            ascend_cy_stream_release(leaving);
        }
        *status = ACL_STREAM_STATUS_COMPLETE;
        return 0;
    };
    Buffer *one = make(4096, heir);
    Buffer *two = make(4096, heir);
    table->aclrtStreamQuery = query;
    CHECK(ascend_cy_buffer_pointer(one) != ascend_cy_buffer_pointer(two));
    ascend_cy_buffer_release(one);
    ascend_cy_buffer_release(two);
    ascend_cy_stream_release(heir);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
    expect_nothing_left();
}

TEST(releasing_never_waits)
{
    Stream *stream = make_stream();
    Buffer *buffer = make(4096, stream);
    hold(stream, true);
    ascend_cy_event_t *work = block(stream);
    Buffer *last = make(64, stream);
    hold(stream, true);
    // The last reference to a busy stream goes with a buffer.
    ascend_cy_live_counts_t live;
    ascend_cy_buffer_release(buffer);
    std::thread([&] {
        OK(ascend_cy_set_current_stream(stream));
        ascend_cy_buffer_release(last);
    }).join(); // the thread's reference goes at its end
    const auto handle = ascend_cy_stream_handle(stream);
    Buffer *keeper = make(64, stream);
    std::thread([&] { ascend_cy_stream_retain(stream), ascend_cy_buffer_release(keeper); }).join();
    ascend_cy_buffer_t *end = make(128, stream);
    std::thread release([&] { // would wait
        ascend_cy_stream_release(stream);
        ascend_cy_stream_release(stream);
    });
    release.join();
    ascend_cy_buffer_release(end); // destroys the stream, but later
    ascend_cy_live_counts(&live);
    CHECK_EQ(live.streams, 1);
    fake_acl()->hold(handle, 0);
    ascend_cy_live_counts(&live);
    CHECK_EQ(live.streams, 0);
    ascend_cy_event_release(work);
    expect_nothing_left();
}

static int released = 0;

TEST(wrapped_memory)
{
    Stream *stream = make_stream();
    static char memory[256];
    Buffer *buffer = nullptr;
    OK(ascend_cy_buffer_wrap(memory, sizeof memory, stream, [](void *context) { ++*static_cast<int *>(context); },
                             &released, &buffer));
    CHECK(ascend_cy_buffer_pointer(buffer) == memory);
    CHECK_EQ(ascend_cy_buffer_size(buffer), sizeof memory);
    OK(ascend_cy_buffer_record_stream(buffer, ascend_cy_default_stream(0)));
    ascend_cy_buffer_retain(buffer);
    ascend_cy_buffer_release(buffer);
    CHECK_EQ(released, 0);
    ascend_cy_buffer_release(buffer);
    CHECK_EQ(released, 1);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(wrapped_memory_is_taken_back)
{
    Stream *stream = make_stream();
    static char memory[256];
    const auto wrap = [stream] {
        Buffer *buffer = nullptr;
        OK(ascend_cy_buffer_wrap(memory, sizeof memory, stream, [](void *context) { ++*static_cast<int *>(context); },
                                 &released, &buffer));
        return buffer;
    };
    released = 0;
    // Not while somebody else has a reference, nor where another stream may use it; and there is nobody to give ours to.
    Buffer *held_twice = wrap();
    CHECK_EQ(ascend_cy_buffer_owners(held_twice), 1u);
    ascend_cy_buffer_retain(held_twice);
    CHECK_EQ(ascend_cy_buffer_owners(held_twice), 2u);
    CHECK_EQ(ascend_cy_buffer_take_back(held_twice), 0);
    ascend_cy_buffer_release(held_twice);
    Buffer *used = wrap();
    OK(ascend_cy_buffer_record_stream(used, ascend_cy_default_stream(0)));
    CHECK_EQ(ascend_cy_buffer_take_back(used), 0);
    Buffer *ours = make(1000, stream);
    CHECK_EQ(ascend_cy_buffer_take_back(ours), 0);
    CHECK_EQ(released, 0);
    ascend_cy_buffer_release(ours);
    ascend_cy_buffer_release(used);
    CHECK_EQ(released, 1);
    // Its own stream is not asked.
    ascend_cy_event_t *work = block(stream);
    CHECK_EQ(ascend_cy_buffer_take_back(held_twice), 1);
    CHECK_EQ(released, 2);
    ascend_cy_buffer_release(held_twice);
    CHECK_EQ(released, 2);
    Buffer *late = wrap();
    ascend_cy_buffer_release(late);
    CHECK_EQ(released, 2);
    hold(stream, false);
    OK(ascend_cy_stream_synchronize(stream, -1));
    CHECK_EQ(released, 3);
    ascend_cy_event_release(work);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(a_host_function_may_release_while_the_pool_waits)
{
    // The pool waits for stream a; a waits for a host function that releases a buffer. With the pool's lock held during
    // the wait this would hang.
    Stream *a = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_pool_set_limit(0, 16 * MiB));
    Buffer *inside = make(4 * MiB, a);
    Buffer *buffer = make(10 * MiB, a);
    hold(a, true);
    OK(ascend_cy_stream_add_host_function(
        a,
        [](void *argument) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ascend_cy_buffer_release(static_cast<Buffer *>(argument));
        },
        inside));
    ascend_cy_buffer_release(buffer);
    std::thread later([&] { hold(a, false); });
    Buffer *big = make(12 * MiB, ascend_cy_default_stream(0));
    later.join();
    ascend_cy_buffer_release(big);
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    ascend_cy_stream_release(a);
    expect_nothing_left();
}

TEST(a_host_function_may_allocate_while_the_pool_waits)
{
    // The same with a host function that is out of memory itself: it does not stand in line behind who waits for it.
    static std::atomic<int> refused;
    Stream *a = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_pool_set_limit(0, 16 * MiB));
    ascend_cy_buffer_release(make(10 * MiB, a));
    hold(a, true);
    OK(ascend_cy_stream_add_host_function(
        a,
        [](void *) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            Buffer *buffer = nullptr;
            CHECK_EQ(ascend_cy_buffer_create(12 * MiB, ascend_cy_default_stream(0), &buffer), ACL_ERROR_RT_MEMORY_ALLOCATION);
            expect_message("a callback must not wait");
            OK(ascend_cy_pool_trim(0, 0)); // what needs no waiting
            ++refused;
        },
        nullptr));
    std::thread later([&] { hold(a, false); });
    Buffer *big = make(12 * MiB, ascend_cy_default_stream(0));
    later.join();
    CHECK_EQ(refused.load(), 1);
    ascend_cy_buffer_release(big);
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    ascend_cy_stream_release(a);
    expect_nothing_left();
}

TEST(a_host_function_without_events_does_not_wait)
{
    // What it releases was used on the stream that it runs on, which cannot be marked: tried again later.
    static Buffer *buffer, *on_foreign;
    static void *pinned;
    static Stream *foreign;
    static std::atomic<int> done;
    static int gone;
    Stream *a = make_stream();
    Stream *other = make_stream();
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_stream_wrap(0, ascend_cy_stream_handle(a), [](void *) { ++gone; }, nullptr, &foreign));
    hold(a, true);
    buffer = make(3 * MiB, other);
    OK(ascend_cy_buffer_record_stream(buffer, a));
    on_foreign = make(MiB, foreign);
    OK(ascend_cy_pinned_alloc(MiB, &pinned));
    OK(ascend_cy_pinned_record_stream(pinned, a));
    const void *const pointer = ascend_cy_buffer_pointer(buffer);
    OK(ascend_cy_stream_add_host_function(
        a,
        [](void *) {
            fake_acl()->fail("aclrtCreateEventExWithFlag", ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 0, 1000);
            fake_acl()->fail("aclrtRecordEvent", ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 0, 1000);
            ascend_cy_buffer_release(buffer);
            ascend_cy_buffer_release(on_foreign);
            ascend_cy_pinned_free(pinned);
            ascend_cy_stream_release(foreign);
            OK(ascend_cy_pinned_trim()); // neither gives back what is in use nor waits for it
            OK(ascend_cy_pool_trim(0, 0));
            ++done;
        },
        nullptr));
    ascend_cy_event_t *behind = block(a); // where the host function stands last, the stream may have passed too soon
    hold(a, false);
    while (done.load() == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    OK(ascend_cy_stream_synchronize(a, 5000));
    ascend_cy_pool_figures_t now;
    OK(ascend_cy_pool_figures(nullptr, &now, sizeof now));
    CHECK_EQ(now.in_use_bytes, 0u);
    CHECK_EQ(now.reserved_bytes, 5 * MiB); // small buffers share segments of two
    CHECK_EQ(now.pending_bytes, 3 * MiB);
    CHECK_EQ(fake_acl()->host_bytes(), MiB);
    // Events still cannot be had, but the streams are idle: nothing is lost.
    Buffer *again = make(3 * MiB, other);
    CHECK(ascend_cy_buffer_pointer(again) == pointer);
    ascend_cy_buffer_release(again);
    OK(ascend_cy_pinned_trim());
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(fake_acl()->host_bytes(), 0u);
    CHECK_EQ(fake_acl()->device_bytes(), 0u);
    CHECK_EQ(gone, 1);
    fake_acl()->fail("aclrtCreateEventExWithFlag", 0, 0, 0);
    fake_acl()->fail("aclrtRecordEvent", 0, 0, 0);
    ascend_cy_event_release(behind);
    ascend_cy_stream_release(a);
    ascend_cy_stream_release(other);
    expect_nothing_left();
}

TEST(pinned_memory)
{
    Stream *stream = make_stream();
    void *pointer = nullptr;
    OK(ascend_cy_pinned_alloc(64 * MiB, &pointer));
    CHECK_EQ(reinterpret_cast<uintptr_t>(pointer) % 64, 0u);
    ascend_cy_pinned_free(pointer);
    for (int i = 0; i < 50; ++i) { // RT-6: one block at most is kept
        void *again = nullptr;
        OK(ascend_cy_pinned_alloc(64 * MiB, &again));
        CHECK(again == pointer);
        ascend_cy_pinned_free(again);
    }
    CHECK_EQ(fake_acl()->host_bytes(), 64 * MiB);
    OK(ascend_cy_pinned_alloc(64 * MiB, &pointer));
    OK(ascend_cy_pinned_record_stream(pointer, stream));
    hold(stream, true);
    ascend_cy_pinned_free(pointer);
    void *other = nullptr;
    OK(ascend_cy_pinned_alloc(64 * MiB, &other));
    CHECK(other != pointer);
    hold(stream, false);
    void *third = nullptr;
    OK(ascend_cy_pinned_alloc(64 * MiB, &third));
    CHECK(third == pointer);
    ascend_cy_pinned_free(other);
    ascend_cy_pinned_free(third);
    ascend_cy_pinned_free(third); // again: ignored
    CHECK_EQ(ascend_cy_pinned_record_stream(other, stream), ACL_ERROR_INVALID_PARAM);
    CHECK_EQ(ascend_cy_pinned_alloc(0, &other), ACL_ERROR_INVALID_PARAM);
    std::vector<void *> many;
    for (int i = 0; i < 8; ++i) {
        OK(ascend_cy_pinned_alloc(100 * MiB, &pointer));
        many.push_back(pointer);
    }
    for (void *each : many)
        ascend_cy_pinned_free(each);
    CHECK(fake_acl()->host_bytes() <= 256 * MiB); // the cache is bounded
    OK(ascend_cy_pinned_trim());
    CHECK_EQ(fake_acl()->host_bytes(), 0u);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(pinned_memory_waits_within_a_time)
{
    Stream *stream = make_stream();
    Stream *idle = make_stream();
    void *blocks[3] = {};
    for (void *&block : blocks) {
        OK(ascend_cy_pinned_alloc(MiB, &block));
        OK(ascend_cy_pinned_record_stream(block, &block == &blocks[1] ? idle : stream));
    }
    hold(stream, true);
    for (void *block : blocks)
        ascend_cy_pinned_free(block);
    for (const int32_t timeout_ms : {0, 5}) {
        CHECK_EQ(ascend_cy_pinned_trim_within(timeout_ms), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        CHECK_EQ(fake_acl()->host_bytes(), 2 * MiB); // what nobody uses went
    }
    void *more = nullptr;
    fake_acl()->fail("aclrtMallocHost", ACL_ERROR_RT_MEMORY_ALLOCATION, 0, 1);
    CHECK_EQ(ascend_cy_pinned_alloc_within(MiB, 5, &more), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK(more == nullptr);
    CHECK_EQ(fake_acl()->host_bytes(), 2 * MiB); // nothing has changed
    OK(ascend_cy_pinned_alloc_within(MiB, 5, &more)); // the device has some again
    ascend_cy_pinned_free(more);
    hold(stream, false);
    OK(ascend_cy_pinned_trim_within(-1));
    CHECK_EQ(fake_acl()->host_bytes(), 0u);
    OK(ascend_cy_pinned_trim_within(0)); // nothing to wait for
    ascend_cy_stream_release(stream);
    ascend_cy_stream_release(idle);
    expect_nothing_left();
}

// Against a simple model: no two live buffers overlap, counts are exact, nothing is left.
TEST(random_use)
{
    std::mt19937 random(7);
    Stream *streams[] = {make_stream(), make_stream(), ascend_cy_default_stream(0)};
    struct Live {
        Buffer *buffer;
        unsigned char mark;
    };
    std::vector<Live> live;
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_pool_set_limit(0, 64 * MiB));
    uint64_t in_use = 0;
    uint64_t most_reserved = 0;
    std::atomic<bool> stop{false};
    std::thread releaser([&] { // lets held streams go, so that waits end
        while (!stop) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            for (Stream *stream : streams)
                hold(stream, false);
        }
    });
    for (int step = 0; step < 30000; ++step) {
        const unsigned choice = random() % 100;
        if (choice < 52) {
            const size_t size = choice < 40 ? random() % 3000 : choice < 50 ? random() % 200000 : random() % (6 * MiB);
            Buffer *buffer = nullptr;
            const int code = ascend_cy_buffer_create(size, streams[random() % 3], &buffer);
            // Out of memory is an error exactly when it is true.
            CHECK_EQ(code, in_use + (size + 63) / 64 * 64 <= 64 * MiB ? 0 : ACL_ERROR_RT_MEMORY_ALLOCATION);
            if (code == 0) {
                const auto mark = static_cast<unsigned char>(random());
                if (size > 0)
                    std::memset(ascend_cy_buffer_pointer(buffer), mark, size);
                live.push_back({buffer, mark});
                in_use += (size + 63) / 64 * 64;
            }
        } else if (!live.empty() && choice < 98) {
            std::swap(live[random() % live.size()], live.back());
            const Live last = live.back();
            live.pop_back();
            const size_t size = ascend_cy_buffer_size(last.buffer);
            const auto *bytes = static_cast<const unsigned char *>(ascend_cy_buffer_pointer(last.buffer));
            for (size_t i = 0; i < size; i += size / 16 + 1)
                CHECK_EQ(bytes[i], last.mark);
            if (size > 0)
                CHECK_EQ(bytes[size - 1], last.mark);
            if (choice > 90)
                OK(ascend_cy_buffer_record_stream(last.buffer, streams[random() % 3]));
            ascend_cy_buffer_release(last.buffer);
            in_use -= (size + 63) / 64 * 64;
        } else if (choice == 98) {
            hold(streams[random() % 3], true);
        } else if (random() % 8 == 0) {
            OK(ascend_cy_pool_trim(0, random() % (64 * MiB)));
        }
        if (step % 16 == 0) {
            const auto now = stats();
            CHECK_EQ(now.in_use_bytes, in_use);
            most_reserved = std::max(most_reserved, now.reserved_bytes);
            CHECK_EQ(now.reserved_bytes, fake_acl()->device_bytes());
        }
        if (live.size() > 400)
            while (live.size() > 50) {
                in_use -= (ascend_cy_buffer_size(live.back().buffer) + 63) / 64 * 64;
                ascend_cy_buffer_release(live.back().buffer);
                live.pop_back();
            }
    }
    stop = true;
    releaser.join();
    for (Stream *stream : streams)
        hold(stream, false);
    std::printf("limit 64 MiB, peak in use %.1f MiB, reserved %.1f MiB\n", static_cast<double>(stats().peak_in_use_bytes) / MiB,
                static_cast<double>(most_reserved) / MiB);
    for (const Live &each : live)
        ascend_cy_buffer_release(each.buffer);
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
    CHECK_EQ(fake_acl()->device_bytes(), 0u);
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    ascend_cy_stream_release(streams[0]);
    ascend_cy_stream_release(streams[1]);
    expect_nothing_left();
}

// ---- several pools, and many pieces in one buffer ----

static ascend_cy_pool_figures_t figures(ascend_cy_pool_t *pool)
{
    ascend_cy_pool_figures_t now;
    OK(ascend_cy_pool_figures(pool, &now, sizeof now));
    CHECK_EQ(now.in_use_bytes + now.cached_bytes + now.pending_bytes, now.reserved_bytes);
    return now;
}

TEST(buffers_come_from_the_current_pool_and_go_back_to_theirs)
{
    OK(ascend_cy_ensure_context());
    ascend_cy_stream_t *stream = ascend_cy_default_stream(0);
    ascend_cy_pool_t *pool = nullptr;
    OK(ascend_cy_pool_create(-1, "mine", UINT64_MAX, &pool));
    CHECK_EQ(ascend_cy_pool_device(pool), 0);
    CHECK(std::strcmp(ascend_cy_pool_name(pool), "mine") == 0);
    CHECK(ascend_cy_current_pool(0) == ascend_cy_default_pool(0));
    OK(ascend_cy_set_current_pool(-1, pool));
    CHECK(ascend_cy_current_pool(-1) == pool);
    ascend_cy_buffer_t *inside = make(MiB, stream);
    OK(ascend_cy_set_current_pool(0, nullptr));
    ascend_cy_buffer_t *outside = make(MiB, stream);
    CHECK(ascend_cy_buffer_pool(inside) == pool);
    CHECK(ascend_cy_buffer_pool(outside) == ascend_cy_default_pool(0));
    CHECK_EQ(figures(pool).in_use_bytes, MiB);
    CHECK_EQ(figures(nullptr).buffers, 1U); // of the current pool
    CHECK_EQ(stats().in_use_bytes, MiB);
    OK(ascend_cy_set_current_pool(0, pool));
    ascend_cy_buffer_t *second = make(MiB, stream);
    ascend_cy_buffer_release(outside); // whatever is current
    CHECK_EQ(stats().in_use_bytes, 0U);
    CHECK_EQ(figures(pool).in_use_bytes, 2 * MiB);
    OK(ascend_cy_set_current_pool(0, nullptr));
    ascend_cy_buffer_release(second);
    CHECK_EQ(stats().in_use_bytes, 0U);
    CHECK_EQ(figures(pool).in_use_bytes, MiB);
    ascend_cy_pool_release(pool); // the last handle
    ascend_cy_live_counts_t live;
    ascend_cy_live_counts(&live);
    CHECK_EQ(live.buffers, 1);
    ascend_cy_buffer_release(inside);
    expect_nothing_left();
    // Nothing is left in it, so that its object is taken for the next one.
    ascend_cy_pool_t *next = nullptr;
    OK(ascend_cy_pool_create(0, nullptr, 5 * MiB, &next));
    const ascend_cy_pool_figures_t fresh = figures(next);
    CHECK_EQ(fresh.reserved_bytes, 0U);
    CHECK_EQ(fresh.allocations, 0U);
    CHECK_EQ(fresh.peak_in_use_bytes, 0U);
    CHECK_EQ(fresh.limit_bytes, 5 * MiB);
    CHECK(std::strcmp(ascend_cy_pool_name(next), "") == 0);
    ascend_cy_pool_release(next);
    ascend_cy_pool_release(nullptr);
    ascend_cy_pool_release(ascend_cy_default_pool(0)); // which always stays
    CHECK(ascend_cy_default_pool(0) != nullptr);
}

// A pool whose last handle goes while its buffer's stream is on its way out: no mark can be set there, and yet it is
// not forgotten.
TEST(a_dropped_pool_outlives_a_stream_that_is_going)
{
    OK(ascend_cy_pool_trim(0, 0));
    const size_t before = fake_acl()->device_bytes();
    Stream *stream = make_stream();
    void *const handle = ascend_cy_stream_handle(stream);
    ascend_cy_pool_t *pool = nullptr;
    OK(ascend_cy_pool_create(0, "", UINT64_MAX, &pool));
    OK(ascend_cy_set_current_pool(0, pool));
    Buffer *buffer = make(4 * MiB, stream);
    OK(ascend_cy_set_current_pool(0, nullptr));
    ascend_cy_event_t *event = block(stream);
    ascend_cy_stream_release(stream); // the buffer keeps it
    ascend_cy_buffer_release(buffer);
    ascend_cy_pool_release(pool);
    ascend_cy_live_counts_t live;
    ascend_cy_live_counts(&live);
    CHECK_EQ(fake_acl()->device_bytes(), before + 4 * MiB);
    fake_acl()->hold(handle, 0);
    ascend_cy_live_counts(&live);
    CHECK_EQ(fake_acl()->device_bytes(), before);
    ascend_cy_event_release(event);
    expect_nothing_left();
}

TEST(threads_that_look_after_a_dropped_pool_at_the_same_time)
{
    OK(ascend_cy_pool_trim(0, 0));
    const size_t before = fake_acl()->device_bytes();
    Stream *stream = make_stream();
    // A thread that ends gives its pool up without asking the device about the memory in it.
    const auto leave_a_pool = [&] {
        std::thread([&] {
            ascend_cy_pool_t *pool = nullptr;
            OK(ascend_cy_pool_create(0, "", UINT64_MAX, &pool));
            OK(ascend_cy_set_current_pool(0, pool));
            ascend_cy_pool_release(pool);
            ascend_cy_buffer_release(make(4 * MiB, stream));
        }).join();
        CHECK_EQ(fake_acl()->device_bytes(), before + 4 * MiB);
    };
    const auto look = [] {
        ascend_cy_live_counts_t live;
        ascend_cy_live_counts(&live);
    };
    leave_a_pool();
    fake_acl()->meet("aclrtStreamQuery", 2);
    std::thread other(look);
    look();
    other.join();
    CHECK_EQ(fake_acl()->device_bytes(), before);
    // A pool that was counted out twice would hide the next one.
    leave_a_pool();
    look();
    CHECK_EQ(fake_acl()->device_bytes(), before);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(a_pool_keeps_its_own_limit_and_says_so)
{
    OK(ascend_cy_ensure_context());
    ascend_cy_stream_t *stream = ascend_cy_default_stream(0);
    ascend_cy_pool_t *pool = nullptr;
    OK(ascend_cy_pool_create(0, "small", 3 * MiB, &pool));
    OK(ascend_cy_set_current_pool(0, pool));
    ascend_cy_buffer_t *kept = make(2 * MiB, stream);
    ascend_cy_buffer_t *refused = nullptr;
    CHECK_EQ(ascend_cy_buffer_create(2 * MiB, stream, &refused), 207001);
    CHECK(refused == nullptr);
    expect_message("the pool \"small\" has reserved 2097152 bytes");
    expect_message("limit is 3145728");
    OK(ascend_cy_pool_limit_to(pool, UINT64_MAX));
    ascend_cy_buffer_release(make(2 * MiB, stream));
    ascend_cy_buffer_release(kept);
    OK(ascend_cy_pool_trim_to(nullptr, 0, -1));
    CHECK_EQ(figures(pool).reserved_bytes, 0U);
    OK(ascend_cy_pool_reset_peaks(pool));
    CHECK_EQ(figures(pool).peak_reserved_bytes, 0U);
    OK(ascend_cy_set_current_pool(0, nullptr));
    ascend_cy_pool_release(pool);
    CHECK_EQ(ascend_cy_pool_create(7, "", 1, &pool), 107001);
    CHECK(pool == nullptr && ascend_cy_current_pool(7) == nullptr && ascend_cy_default_pool(7) == nullptr);
}

TEST(figures_for_callers_that_know_fewer_or_more)
{
    OK(ascend_cy_ensure_context());
    ascend_cy_buffer_t *buffer = make(100, ascend_cy_default_stream(0));
    struct {
        uint64_t in_use;
        uint64_t other;
    } old = {0, 77};
    OK(ascend_cy_pool_figures(nullptr, reinterpret_cast<ascend_cy_pool_figures_t *>(&old), sizeof old.in_use));
    CHECK_EQ(old.in_use, 128U);
    CHECK_EQ(old.other, 77U);
    struct {
        ascend_cy_pool_figures_t known;
        uint64_t later;
    } longer;
    longer.later = 77;
    OK(ascend_cy_pool_figures(nullptr, &longer.known, sizeof longer));
    CHECK_EQ(longer.known.in_use_bytes, 128U);
    CHECK_EQ(longer.later, 0U);
    ascend_cy_buffer_release(buffer);
}

TEST(pieces_of_one_buffer)
{
    const size_t sizes[] = {1, 32, 33, 0, 64, 1000};
    size_t offsets[6];
    size_t total = 0;
    OK(ascend_cy_buffer_layout(sizes, 6, offsets, &total));
    const size_t expected[] = {0, 64, 128, 256, 256, 384};
    for (int i = 0; i < 6; ++i)
        CHECK_EQ(offsets[i], expected[i]);
    CHECK_EQ(total, 384 + 1088U);
    OK(ascend_cy_buffer_layout(nullptr, 0, nullptr, &total));
    CHECK_EQ(total, 0U);
    const size_t huge[] = {SIZE_MAX / 4, SIZE_MAX / 4, SIZE_MAX / 4};
    CHECK_EQ(ascend_cy_buffer_layout(huge, 3, offsets, &total), 100000);
    CHECK_EQ(total, 0U);
    expect_message("larger than any memory");
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
