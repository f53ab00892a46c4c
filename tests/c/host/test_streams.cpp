// SPDX-License-Identifier: Apache-2.0
//
// Devices, streams, events, host functions and messages, on the fake device. FAKE_ACL_DEVICES is 2.
#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"
#include "fake_acl.h"

using Stream = ascend_cy_stream_t;
using Event = ascend_cy_event_t;

static void hold(Stream *stream, bool on) { fake_acl()->hold(ascend_cy_stream_handle(stream), on ? 1 : 0); }

static int32_t device_of_thread()
{
    int32_t device = -1;
    ascend_cy_acl_get_table()->aclrtGetDevice(&device);
    return device;
}

static void in_thread(void (*body)()) { std::thread(body).join(); }

TEST(contexts)
{
    in_thread([] {
        CHECK_EQ(device_of_thread(), -1);
        int32_t device = -1;
        OK(ascend_cy_current_device(&device));
        CHECK_EQ(device, 0);
        OK(ascend_cy_set_device(1));
        OK(ascend_cy_ensure_context()); // leaves a context that is there alone
        CHECK_EQ(device_of_thread(), 1);
        OK(ascend_cy_current_device(&device));
        CHECK_EQ(device, 1);
        CHECK_EQ(ascend_cy_set_device(2), ACL_ERROR_RT_INVALID_DEVICEID);
        expect_message("fake: no such device");
        expect_message("device ids run from 0");
        CHECK_EQ(std::strcmp(ascend_cy_last_function(), "aclrtSetDevice"), 0);
        CHECK_EQ(ascend_cy_set_device(-1), ACL_ERROR_RT_INVALID_DEVICEID);
        uint32_t count = 0;
        OK(ascend_cy_device_count(&count));
        CHECK_EQ(count, 2u);
    });
}

TEST(default_streams_are_one_per_device)
{
    Stream *zero = ascend_cy_default_stream(0);
    Stream *one = ascend_cy_default_stream(1);
    CHECK(zero != nullptr && one != nullptr && zero != one);
    CHECK(ascend_cy_default_stream(0) == zero);
    CHECK(ascend_cy_stream_handle(zero) == nullptr);
    CHECK_EQ(ascend_cy_stream_device(one), 1);
    CHECK(ascend_cy_default_stream(2) == nullptr);
    expect_message("there is no device 2");
    CHECK(ascend_cy_default_stream(-1) == nullptr);
    for (int i = 0; i < 3; ++i) // releasing what was only borrowed does no harm
        ascend_cy_stream_release(zero);
    Stream *wrapped = nullptr;
    OK(ascend_cy_stream_wrap(0, nullptr, nullptr, nullptr, &wrapped));
    CHECK(wrapped == zero);
    ascend_cy_stream_retain(zero);
}

TEST(current_stream_is_per_thread)
{
    Stream *stream = make_stream(1);
    CHECK(ascend_cy_current_stream() == ascend_cy_default_stream(0));
    OK(ascend_cy_set_current_stream(stream));
    CHECK(ascend_cy_current_stream() == stream);
    CHECK_EQ(device_of_thread(), 1); // its device is current
    in_thread([] { CHECK(ascend_cy_current_stream() == ascend_cy_default_stream(0)); });
    ascend_cy_stream_release(stream); // the thread keeps it
    CHECK_EQ(fake_acl()->streams(), 1);
    OK(ascend_cy_set_current_stream(nullptr));
    CHECK(ascend_cy_current_stream() == ascend_cy_default_stream(1));
    OK(ascend_cy_set_device(0));
    expect_nothing_left();
    // A thread's reference goes with the thread.
    in_thread([] {
        Stream *mine = make_stream(0);
        OK(ascend_cy_set_current_stream(mine));
        ascend_cy_stream_release(mine);
        CHECK_EQ(fake_acl()->streams(), 1);
    });
    expect_nothing_left();
    CHECK_EQ(fake_acl()->streams(), 0);
}

TEST(operations_go_to_their_device)
{
    Stream *one = make_stream(1);
    CHECK_EQ(device_of_thread(), 0); // making it did not move the thread
    aclrtContext previous = nullptr;
    OK(ascend_cy_stream_enter(one, &previous));
    CHECK_EQ(device_of_thread(), 1);
    CHECK(previous != nullptr);
    ascend_cy_stream_leave(previous);
    CHECK_EQ(device_of_thread(), 0);
    OK(ascend_cy_stream_enter(ascend_cy_default_stream(0), &previous)); // nothing to change
    CHECK(previous == nullptr);
    ascend_cy_stream_leave(previous);
    // Every operation on it goes to its device and comes back.
    ascend_cy_event_t *event = nullptr;
    int done = 0;
    OK(ascend_cy_event_create(1, 0, &event));
    OK(ascend_cy_event_record(event, one));
    OK(ascend_cy_event_query(event, &done));
    OK(ascend_cy_event_synchronize(event, -1));
    OK(ascend_cy_stream_wait_event(one, event));
    ascend_cy_event_release(event);
    OK(ascend_cy_stream_query(one, &done));
    OK(ascend_cy_stream_add_host_function(one, [](void *) {}, nullptr));
    OK(ascend_cy_stream_wait_stream(one, ascend_cy_default_stream(0)));
    OK(ascend_cy_stream_wait_stream(ascend_cy_default_stream(0), one));
    OK(ascend_cy_stream_synchronize(one, -1));
    CHECK_EQ(device_of_thread(), 0);
    ascend_cy_buffer_t *buffer = make(4096, one);
    CHECK_EQ(device_of_thread(), 0);
    CHECK_EQ(stats(1).in_use_bytes, 4096u);
    ascend_cy_buffer_release(buffer);
    // Freeing memory of another device, used on two devices, from a thread without a context.
    buffer = make(4096, one);
    OK(ascend_cy_buffer_record_stream(buffer, ascend_cy_default_stream(0)));
    std::thread([&] { ascend_cy_buffer_release(buffer); }).join();
    OK(ascend_cy_pool_trim(1, 0));
    CHECK_EQ(device_of_thread(), 0);
    CHECK_EQ(stats(1).reserved_bytes, 0u);
    // In an explicit context of the same device, which stays current.
    aclrtContext context = nullptr;
    aclrtContext now = nullptr;
    OK(ascend_cy_acl_get_table()->aclrtCreateContext(&context, 0));
    buffer = make(4096, one);
    ascend_cy_buffer_release(buffer);
    OK(ascend_cy_pool_trim(1, 0));
    OK(ascend_cy_acl_get_table()->aclrtGetCurrentContext(&now));
    CHECK(now == context);
    OK(ascend_cy_acl_get_table()->aclrtSetDevice(0));
    ascend_cy_stream_release(one);
    expect_nothing_left();
}

static int releases = 0;

TEST(foreign_streams_are_not_destroyed)
{
    aclrtStream handle = nullptr;
    OK(ascend_cy_ensure_context());
    OK(ascend_cy_acl_get_table()->aclrtCreateStreamWithConfig(&handle, 0, 0));
    Stream *stream = nullptr;
    OK(ascend_cy_stream_wrap(0, handle, [](void *count) { ++*static_cast<int *>(count); }, &releases, &stream));
    CHECK(ascend_cy_stream_handle(stream) == handle);
    ascend_cy_stream_retain(stream);
    ascend_cy_stream_release(stream);
    CHECK_EQ(releases, 0);
    ascend_cy_stream_release(stream);
    CHECK_EQ(releases, 1);
    CHECK_EQ(fake_acl()->streams(), 1);
    OK(ascend_cy_acl_get_table()->aclrtDestroyStream(handle));
    CHECK_EQ(ascend_cy_stream_wrap(7, handle, nullptr, nullptr, &stream), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_EQ(ascend_cy_stream_create(7, 0, 0, &stream), ACL_ERROR_RT_INVALID_DEVICEID);
    fake_acl()->fail("aclrtCreateStreamWithConfig", ACL_ERROR_RT_NO_STREAM_RESOURCE, 0, 1);
    CHECK_EQ(ascend_cy_stream_create(0, 0, 0, &stream), ACL_ERROR_RT_NO_STREAM_RESOURCE);
    expect_message("close streams");
    CHECK_EQ(ascend_cy_stream_synchronize(nullptr, -1), ACL_ERROR_INVALID_PARAM);
    ascend_cy_stream_release(nullptr);
    expect_nothing_left();
}

TEST(waiting_and_asking)
{
    Stream *stream = make_stream();
    Event *event = nullptr;
    OK(ascend_cy_event_create(0, 0, &event));
    CHECK_EQ(ascend_cy_event_recorded(event), 0);
    int done = 0;
    OK(ascend_cy_event_query(event, &done));
    CHECK_EQ(done, 1); // nothing recorded: nothing to wait for
    hold(stream, true);
    OK(ascend_cy_event_record(event, stream));
    CHECK_EQ(ascend_cy_event_recorded(event), 1);
    OK(ascend_cy_event_query(event, &done));
    CHECK_EQ(done, 0);
    OK(ascend_cy_stream_query(stream, &done));
    CHECK_EQ(done, 0);
    for (int timeout : {0, 1, 10}) {
        CHECK_EQ(ascend_cy_stream_synchronize(stream, timeout), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        CHECK_EQ(ascend_cy_event_synchronize(event, timeout), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
        CHECK_EQ(ascend_cy_synchronize_device(timeout), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    }
    CHECK_EQ(ascend_cy_stream_synchronize(stream, -2), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(ascend_cy_event_synchronize(event, -2), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQ(ascend_cy_synchronize_device(-2), ACL_ERROR_RT_PARAM_INVALID);
    hold(stream, false);
    OK(ascend_cy_stream_synchronize(stream, 0));
    OK(ascend_cy_stream_synchronize(stream, -1));
    OK(ascend_cy_event_synchronize(event, -1));
    OK(ascend_cy_synchronize_device(-1));
    OK(ascend_cy_synchronize_device(0));
    ascend_cy_event_retain(event);
    ascend_cy_event_release(event);
    ascend_cy_event_release(event);
    ascend_cy_event_release(nullptr);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(order_between_streams)
{
    Stream *a = make_stream();
    Stream *b = make_stream();
    hold(a, true);
    OK(ascend_cy_stream_wait_stream(a, a));
    OK(ascend_cy_stream_wait_stream(b, a));
    CHECK_EQ(ascend_cy_stream_synchronize(b, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    hold(a, false);
    OK(ascend_cy_stream_synchronize(b, 1000));
    Event *event = nullptr;
    OK(ascend_cy_event_create(0, 0, &event));
    OK(ascend_cy_stream_wait_event(b, event)); // never recorded: no wait
    hold(a, true);
    OK(ascend_cy_event_record(event, a));
    OK(ascend_cy_stream_wait_event(b, event));
    CHECK_EQ(ascend_cy_stream_synchronize(b, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    hold(a, false);
    OK(ascend_cy_stream_synchronize(b, 1000));
    ascend_cy_event_release(event);
    const long events = fake_acl()->events();
    for (int i = 0; i < 1000; ++i)
        OK(ascend_cy_stream_wait_stream(b, a));
    CHECK(fake_acl()->events() <= events + 1); // events are used again
    ascend_cy_stream_release(a);
    ascend_cy_stream_release(b);
    expect_nothing_left();
}

TEST(event_times)
{
    Stream *stream = make_stream();
    Event *start = nullptr;
    Event *end = nullptr;
    OK(ascend_cy_event_create(0, 0, &start));
    OK(ascend_cy_event_create(0, 0, &end));
    float ms = -1.0F;
    CHECK_EQ(ascend_cy_event_elapsed_ms(start, end, &ms), ACL_ERROR_RT_INTERNAL_ERROR);
    expect_message("the start event was not recorded");
    OK(ascend_cy_event_record(start, stream));
    CHECK_EQ(ascend_cy_event_elapsed_ms(start, end, &ms), ACL_ERROR_RT_INTERNAL_ERROR);
    expect_message("the end event was not recorded");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    hold(stream, true);
    OK(ascend_cy_event_record(end, stream));
    CHECK_EQ(ascend_cy_event_elapsed_ms(start, end, &ms), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
    expect_message("the end event is recorded but not finished");
    hold(stream, false);
    OK(ascend_cy_event_elapsed_ms(start, end, &ms));
    CHECK(ms >= 19.0F && ms < 2000.0F);
    ascend_cy_event_release(start);
    ascend_cy_event_release(end);
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

static std::atomic<int> ran{0};

TEST(host_functions)
{
    Stream *stream = make_stream();
    hold(stream, true);
    for (int i = 0; i < 100; ++i)
        OK(ascend_cy_stream_add_host_function(stream, [](void *expected) {
            CHECK_EQ(ran.fetch_add(1), static_cast<int>(reinterpret_cast<intptr_t>(expected)));
        }, reinterpret_cast<void *>(static_cast<intptr_t>(i))));
    CHECK_EQ(ran.load(), 0);
    hold(stream, false);
    OK(ascend_cy_stream_synchronize(stream, 5000));
    CHECK_EQ(ran.load(), 100);
    OK(ascend_cy_stream_add_host_function(ascend_cy_default_stream(0), [](void *) { ++ran; }, nullptr));
    OK(ascend_cy_stream_synchronize(ascend_cy_default_stream(0), 5000));
    CHECK_EQ(ran.load(), 101);
    CHECK_EQ(ascend_cy_stream_add_host_function(stream, nullptr, nullptr), ACL_ERROR_RT_PARAM_INVALID);
    // A stream that is released with a host function queued runs it first.
    hold(stream, true);
    OK(ascend_cy_stream_add_host_function(stream, [](void *) { ++ran; }, nullptr));
    const aclrtStream handle = ascend_cy_stream_handle(stream);
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        fake_acl()->hold(handle, 0);
    });
    ascend_cy_stream_release(stream);
    later.join();
    CHECK_EQ(ran.load(), 102);
    expect_nothing_left();
}

TEST(streams_that_go_in_a_host_function)
{
    // The function's own stream, and one that has work left: neither is waited for, or this would never end.
    static Stream *busy;
    busy = make_stream();
    Stream *stream = make_stream();
    hold(busy, true);
    OK(ascend_cy_stream_add_host_function(busy, [](void *) { ++ran; }, nullptr));
    const int before = ran.load();
    OK(ascend_cy_stream_add_host_function(stream, [](void *own) {
        ascend_cy_stream_release(static_cast<Stream *>(own));
        ascend_cy_stream_release(busy);
        ++ran;
    }, stream));
    while (ran.load() == before)
        std::this_thread::yield();
    ascend_cy_live_counts_t live;
    ascend_cy_live_counts(&live);
    CHECK(live.streams >= 1 && live.streams <= 2); // the function's own may have passed by now
    hold(busy, false);
    while (ran.load() != before + 2)
        std::this_thread::yield();
    for (int i = 0; i < 5000 && live.streams != 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ascend_cy_live_counts(&live); // looks for what was dropped
    }
    expect_nothing_left();
}

TEST(host_functions_do_not_wait)
{
    // With and without a limit: what it would wait for is queued behind the function itself. What has passed is no wait.
    static Stream *stream, *idle;
    static ascend_cy_event_t *behind, *passed;
    static void *pinned;
    stream = make_stream();
    idle = make_stream();
    OK(ascend_cy_event_create(0, 0, &behind));
    OK(ascend_cy_event_create(0, 0, &passed));
    OK(ascend_cy_event_record(passed, idle));
    OK(ascend_cy_stream_synchronize(idle, 5000));
    OK(ascend_cy_pinned_alloc(1 << 20, &pinned));
    OK(ascend_cy_pinned_record_stream(pinned, stream));
    hold(stream, true);
    const int before = ran.load();
    OK(ascend_cy_stream_add_host_function(stream, [](void *) {
        for (const int32_t timeout_ms : {-1, 5000}) {
            CHECK_EQ(ascend_cy_stream_synchronize(stream, timeout_ms), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
            expect_message("a callback must not wait");
            CHECK_EQ(ascend_cy_event_synchronize(behind, timeout_ms), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
            CHECK_EQ(ascend_cy_synchronize_device(timeout_ms), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
            OK(ascend_cy_stream_synchronize(idle, timeout_ms));
            OK(ascend_cy_event_synchronize(passed, timeout_ms));
        }
        CHECK_EQ(ascend_cy_stream_synchronize(stream, 0), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        CHECK_EQ(ascend_cy_event_synchronize(behind, 0), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
        CHECK_EQ(ascend_cy_stream_synchronize(stream, -2), ACL_ERROR_RT_PARAM_INVALID);
        CHECK_EQ(ascend_cy_event_synchronize(behind, -2), ACL_ERROR_RT_PARAM_INVALID);
        CHECK_EQ(ascend_cy_synchronize_device(-2), ACL_ERROR_RT_PARAM_INVALID);
        ascend_cy_pinned_free(pinned);
        OK(ascend_cy_pinned_trim()); // leaves it: the stream uses it
        OK(ascend_cy_pool_trim_to(nullptr, 0, -1));
        ++ran;
    }, nullptr));
    OK(ascend_cy_event_record(behind, stream));
    hold(stream, false);
    OK(ascend_cy_stream_synchronize(stream, 5000));
    CHECK_EQ(ran.load(), before + 1);
    OK(ascend_cy_event_synchronize(behind, -1));
    ascend_cy_event_release(behind);
    ascend_cy_event_release(passed);
    ascend_cy_stream_release(stream);
    ascend_cy_stream_release(idle);
    expect_nothing_left();
}

TEST(late_faults_name_the_launches)
{
    Stream *stream = make_stream();
    OK(ascend_cy_set_device(ascend_cy_stream_device(stream)));
    static float x[64], y[64];
    OK(ascend_cy_layernorm(x, nullptr, nullptr, y, nullptr, nullptr, 4, 16, ACL_FLOAT, 0, 0, 1e-5,
                           ascend_cy_stream_handle(stream)));
    fake_acl()->break_stream(ascend_cy_stream_handle(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(ascend_cy_stream_synchronize(stream, -1), ACL_ERROR_RT_AICORE_EXCEPTION);
    expect_message("fake: a kernel failed");
    expect_message("last launches on this stream, newest first: layernorm_fp32 (");
    Stream *other = make_stream();
    fake_acl()->break_stream(ascend_cy_stream_handle(other), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK_EQ(ascend_cy_stream_synchronize(other, -1), ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK(std::strstr(ascend_cy_last_message(), "layernorm") == nullptr);
    ascend_cy_stream_release(stream);
    ascend_cy_stream_release(other);
    expect_nothing_left();
}

TEST(messages)
{
    in_thread([] { // a thread without a failure has none
        CHECK_EQ(std::strcmp(ascend_cy_last_message(), ""), 0);
        CHECK_EQ(std::strcmp(ascend_cy_last_function(), ""), 0);
        OK(ascend_cy_ensure_context());
        OK(ascend_cy_record_error(0, "x"));
        fake_acl()->fail("aclrtRecordEvent", ACL_ERROR_RT_PARAM_INVALID, 0, 1);
        Event *event = nullptr;
        OK(ascend_cy_event_create(0, 0, &event));
        CHECK_EQ(ascend_cy_event_record(event, ascend_cy_default_stream(0)), ACL_ERROR_RT_PARAM_INVALID);
        CHECK_EQ(std::strcmp(ascend_cy_last_message(), "fake: aclrtRecordEvent was told to fail"), 0);
        CHECK_EQ(std::strcmp(ascend_cy_last_function(), "aclrtRecordEvent"), 0);
        CHECK_EQ(ascend_cy_event_recorded(event), 0);
        ascend_cy_event_release(event);
        // Raw AscendCL: the device's message, or one that says as much as is known.
        void *pointer = nullptr;
        int code = ascend_cy_acl_get_table()->aclrtMalloc(&pointer, 0, ACL_MEM_MALLOC_HUGE_FIRST);
        CHECK_EQ(ascend_cy_record_error(code, "aclrtMalloc"), ACL_ERROR_INVALID_PARAM);
        CHECK_EQ(std::strcmp(ascend_cy_last_message(), "fake: size 0"), 0);
        ascend_cy_record_error(507899, "aclrtFree");
        CHECK_EQ(std::strcmp(ascend_cy_last_message(), "aclrtFree returned 507899 ACL_ERROR_RT_DRV_INTERNAL_ERROR"), 0);
        ascend_cy_record_error(12345, nullptr);
        expect_message("returned 12345");
    });
    in_thread([] { // clean-up that fails says nothing
        Stream *stream = make_stream();
        ascend_cy_buffer_t *buffer = make(4096, stream);
        OK(ascend_cy_buffer_record_stream(buffer, ascend_cy_default_stream(0)));
        fake_acl()->fail("aclrtRecordEvent", ACL_ERROR_RT_PARAM_INVALID, 0, 5);
        ascend_cy_buffer_release(buffer);
        fake_acl()->fail("aclrtRecordEvent", 0, 0, 0);
        fake_acl()->fail("aclrtDestroyStream", ACL_ERROR_RT_INVALID_HANDLE, 0, 1);
        ascend_cy_stream_release(stream);
        OK(ascend_cy_pool_trim(0, 0));
        CHECK_EQ(std::strcmp(ascend_cy_last_message(), ""), 0);
    });
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    return run_tests(argc, argv);
}
