// SPDX-License-Identifier: Apache-2.0
//
// The end of things: fork, shutdown, exit. Each test is a process of its own; those called exit_* are judged by their
// exit code and their silence. Runs on the fake and on the embedded device.
#include <atomic>
#include <chrono>
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check.h"

using Stream = ascend_cy_stream_t;

// Runs body in a forked child, which must exit by itself within ten seconds; gives its exit code.
template <typename Body> static int in_child(Body body)
{
    std::fflush(nullptr);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        body();
        std::fflush(nullptr);
        _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(fork_before_the_first_use)
{
    const auto use = [] {
        CHECK_EQ(ascend_cy_is_forked_child(), 0);
        ascend_cy_buffer_release(make(4096, ascend_cy_default_stream(0)));
        OK(ascend_cy_stream_synchronize(ascend_cy_default_stream(0), -1));
    };
    CHECK_EQ(in_child(use), 0);
    use();
    CHECK_EQ(in_child([] { CHECK_EQ(ascend_cy_is_forked_child(), 1); }), 0);
}

TEST(fork_after_use)
{
    Stream *stream = make_stream();
    ascend_cy_buffer_t *buffer = make(4096, stream);
    ascend_cy_buffer_t *shared = make(4096, stream);
    OK(ascend_cy_buffer_record_stream(shared, ascend_cy_default_stream(0)));
    ascend_cy_event_t *event = nullptr;
    OK(ascend_cy_event_create(0, 0, &event));
    OK(ascend_cy_set_current_stream(stream));
    void *pinned = nullptr;
    OK(ascend_cy_pinned_alloc(100, &pinned));
    CHECK_EQ(in_child([&] {
        CHECK_EQ(ascend_cy_is_forked_child(), 1);
        ascend_cy_buffer_t *none = nullptr;
        CHECK_EQ(ascend_cy_buffer_create(64, stream, &none), ACL_ERROR_UNINITIALIZE);
        expect_message("spawn");
        CHECK(ascend_cy_ensure_context() != 0);
        CHECK(ascend_cy_stream_synchronize(stream, -1) != 0);
        CHECK(ascend_cy_event_record(event, stream) != 0);
        float number = 1;
        CHECK_EQ(ascend_cy_layernorm(&number, nullptr, nullptr, &number, nullptr, nullptr, 1, 1, 0, 0, 0, 0.0, nullptr),
                 ACL_ERROR_UNINITIALIZE);
        uint32_t count = 0;
        CHECK(ascend_cy_device_count(&count) != 0);
        CHECK_EQ(ascend_cy_device_info()->error, 0);
        // Raw AscendCL says the same, through a table that was fetched before.
        void *pointer = nullptr;
        CHECK_EQ(ascend_cy_acl_get_table()->aclrtMalloc(&pointer, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_UNINITIALIZE);
        CHECK(std::strstr(ascend_cy_acl_get_table()->aclGetRecentErrMsg(), "spawn") != nullptr);
        // What was inherited can be let go.
        ascend_cy_buffer_release(buffer);
        ascend_cy_buffer_release(shared);
        ascend_cy_event_release(event);
        OK(ascend_cy_set_current_stream(nullptr));
        ascend_cy_stream_release(stream);
        ascend_cy_pinned_free(pinned);
        ascend_cy_shutdown();
    }), 0);
    // The parent has lost nothing.
    ascend_cy_buffer_release(buffer);
    ascend_cy_buffer_release(shared);
    ascend_cy_event_release(event);
    ascend_cy_pinned_free(pinned);
    OK(ascend_cy_set_current_stream(nullptr));
    OK(ascend_cy_stream_synchronize(stream, -1));
    ascend_cy_stream_release(stream);
    expect_nothing_left();
}

TEST(fork_while_threads_allocate)
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            Stream *stream = make_stream();
            while (!stop) {
                ascend_cy_buffer_t *buffer = make(4096, stream);
                OK(ascend_cy_buffer_record_stream(buffer, ascend_cy_default_stream(0)));
                ascend_cy_buffer_release(buffer);
            }
            ascend_cy_stream_release(stream);
        });
    ascend_cy_buffer_t *buffer = make(4096, ascend_cy_default_stream(0));
    for (int i = 0; i < 50; ++i)
        CHECK_EQ(in_child([&] {
            ascend_cy_buffer_t *none = nullptr;
            CHECK(ascend_cy_buffer_create(64, ascend_cy_default_stream(0), &none) != 0);
            ascend_cy_buffer_release(buffer);
            ascend_cy_live_counts_t live;
            ascend_cy_live_counts(&live);
        }), 0);
    stop = true;
    for (std::thread &thread : threads)
        thread.join();
    ascend_cy_buffer_release(buffer);
    expect_nothing_left();
}

TEST(shutdown_ends_everything)
{
    Stream *stream = make_stream();
    ascend_cy_buffer_t *buffer = make(4096, stream);
    ascend_cy_event_t *event = nullptr;
    OK(ascend_cy_event_create(0, 0, &event));
    void *pinned = nullptr;
    OK(ascend_cy_pinned_alloc(100, &pinned));
    // Objects of wrapped memory are used again for other buffers, without their owner.
    int early = 0;
    ascend_cy_buffer_t *others[64];
    for (ascend_cy_buffer_t *&other : others)
        OK(ascend_cy_buffer_wrap(&early, 4, stream, [](void *n) { ++*static_cast<int *>(n); }, &early, &other));
    for (ascend_cy_buffer_t *other : others)
        ascend_cy_buffer_release(other);
    CHECK_EQ(early, 64);
    for (ascend_cy_buffer_t *&other : others)
        other = make(1000, stream);
    int count = 0;
    ascend_cy_buffer_t *wrapped = nullptr;
    OK(ascend_cy_buffer_wrap(&count, 4, stream, [](void *n) { ++*static_cast<int *>(n); }, &count, &wrapped));
    ascend_cy_shutdown();
    ascend_cy_shutdown();
    ascend_cy_buffer_t *none = nullptr;
    CHECK_EQ(ascend_cy_buffer_create(64, stream, &none), ACL_ERROR_UNINITIALIZE);
    expect_message("shut down");
    ascend_cy_buffer_release(buffer);
    ascend_cy_buffer_release(wrapped);
    CHECK_EQ(count, 1);
    for (ascend_cy_buffer_t *other : others)
        ascend_cy_buffer_release(other);
    CHECK_EQ(early, 64);
    ascend_cy_event_release(event);
    ascend_cy_pinned_free(pinned);
    ascend_cy_stream_release(stream);
}

TEST(shutdown_before_any_use)
{
    ascend_cy_shutdown();
    CHECK(ascend_cy_init() != 0);
}

// ---- ways out with everything alive ----

static void leave_things_alive()
{
    Stream *stream = make_stream();
    OK(ascend_cy_set_current_stream(stream));
    ascend_cy_stream_release(stream); // the thread has the last reference
    make(4096, stream);
    ascend_cy_buffer_release(make(MiB, stream));
    ascend_cy_event_t *event = nullptr;
    OK(ascend_cy_event_create(0, 0, &event));
    OK(ascend_cy_event_record(event, stream));
    void *pinned = nullptr;
    OK(ascend_cy_pinned_alloc(100, &pinned));
}

TEST(exit_from_main) { leave_things_alive(); }

TEST(exit_after_shutdown)
{
    leave_things_alive();
    ascend_cy_shutdown();
}

TEST(exit_from_another_thread)
{
    std::thread([] {
        leave_things_alive();
        std::exit(0);
    }).join();
}

TEST(exit_by_quick_exit)
{
    leave_things_alive();
    std::quick_exit(0);
}

TEST(exit_at_once)
{
    leave_things_alive();
    _exit(0);
}

TEST(exit_with_threads_at_work)
{
    for (int i = 0; i < 2; ++i)
        std::thread([] {
            leave_things_alive();
            for (;;)
                ascend_cy_buffer_release(make(4096, ascend_cy_current_stream()));
        }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST(exit_with_threads_that_ended)
{
    for (int i = 0; i < 20; ++i)
        std::thread(leave_things_alive).join();
}

TEST(exit_with_a_host_function_queued)
{
    Stream *stream = make_stream();
    for (int i = 0; i < 10; ++i)
        OK(ascend_cy_stream_add_host_function(stream, [](void *) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }, nullptr));
    ascend_cy_shutdown();
}

static void release_late() { ascend_cy_buffer_release(make(4096, ascend_cy_default_stream(0))); }

TEST(exit_with_use_in_atexit)
{
    std::atexit(release_late); // registered first, runs last
    leave_things_alive();
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fputs("one test a process\n", stderr);
        return 2;
    }
    return run_tests(argc, argv);
}
