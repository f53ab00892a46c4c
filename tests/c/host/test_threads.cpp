// SPDX-License-Identifier: Apache-2.0
//
// Threads on everything at once; also built with ThreadSanitizer and AddressSanitizer. Takes the number of rounds.
// Runs on the fake and on the embedded device.
#include <atomic>
#include <random>
#include <thread>

#include "check.h"

using Stream = ascend_cy_stream_t;
using Buffer = ascend_cy_buffer_t;

static int rounds = 2000;
constexpr int thread_count = 4;

template <typename Body> static void in_threads(Body body)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i)
        threads.emplace_back([=] { body(i); });
    for (std::thread &thread : threads)
        thread.join();
}

// Buffers made in one thread and released in another, on streams of their own and of others.
TEST(buffers_travel)
{
    struct Slot {
        std::atomic<Buffer *> buffer{nullptr};
    };
    static Slot slots[64];
    static Stream *streams[thread_count];
    for (Stream *&stream : streams)
        stream = make_stream();
    OK(ascend_cy_pool_set_limit(0, 32 * MiB));
    in_threads([](int me) {
        std::mt19937 random(static_cast<unsigned>(me));
        for (int i = 0; i < rounds; ++i) {
            const size_t size = random() % 8 == 0 ? random() % MiB : random() % 5000;
            Buffer *buffer = nullptr;
            Stream *stream = streams[random() % thread_count];
            const int code = ascend_cy_buffer_create(size, stream, &buffer);
            CHECK(code == 0 || code == ACL_ERROR_RT_MEMORY_ALLOCATION);
            if (code == 0) {
                if (size > 0)
                    std::memset(ascend_cy_buffer_pointer(buffer), me, size < 64 ? size : 64);
                if (random() % 4 == 0)
                    OK(ascend_cy_buffer_record_stream(buffer, streams[random() % thread_count]));
                if (random() % 8 == 0)
                    OK(ascend_cy_buffer_order(buffer, streams[random() % thread_count]));
                if (random() % 4 == 0) {
                    ascend_cy_buffer_retain(buffer);
                    ascend_cy_buffer_release(buffer);
                }
            }
            ascend_cy_buffer_release(slots[random() % 64].buffer.exchange(buffer));
            if (random() % 256 == 0)
                OK(ascend_cy_pool_trim(0, random() % (8 * MiB)));
            if (random() % 64 == 0)
                stats();
        }
    });
    for (Slot &slot : slots)
        ascend_cy_buffer_release(slot.buffer.exchange(nullptr));
    for (Stream *stream : streams)
        ascend_cy_stream_release(stream);
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    OK(ascend_cy_pool_trim(0, 0));
    CHECK_EQ(stats().reserved_bytes, 0u);
    expect_nothing_left();
}

// The first use of everything from all threads at the same moment.
TEST(first_use)
{
    static std::atomic<int> waiting{0};
    in_threads([](int me) {
        ++waiting;
        while (waiting < thread_count) {
        }
        Stream *stream = ascend_cy_current_stream();
        CHECK(stream != nullptr);
        CHECK(stream == ascend_cy_default_stream(0));
        Buffer *buffer = make(256, stream);
        void *const x = ascend_cy_buffer_pointer(buffer);
        OK(ascend_cy_acl_get_table()->aclrtMemsetAsync(x, 256, me, 256, nullptr));
        OK(ascend_cy_layernorm(x, nullptr, nullptr, x, nullptr, nullptr, 1, 64, 0, 0, 0, 1e-5, nullptr));
        ascend_cy_buffer_release(buffer);
        OK(ascend_cy_stream_synchronize(stream, -1));
    });
}

// Streams come and go while buffers and current streams still refer to them.
TEST(streams_come_and_go)
{
    in_threads([](int me) {
        std::mt19937 random(static_cast<unsigned>(me));
        Buffer *kept[8] = {};
        for (int i = 0; i < rounds / 4; ++i) {
            Stream *stream = make_stream();
            OK(ascend_cy_set_current_stream(stream));
            Buffer *&place = kept[random() % 8];
            ascend_cy_buffer_release(place);
            place = make(random() % 20000, stream);
            if (random() % 2 == 0) {
                Stream *box = nullptr;
                OK(ascend_cy_stream_wrap(0, ascend_cy_stream_handle(stream), nullptr, nullptr, &box));
                Buffer *other = make(1000, box);
                OK(ascend_cy_buffer_record_stream(other, ascend_cy_default_stream(0)));
                ascend_cy_buffer_release(other);
                ascend_cy_stream_release(box);
            }
            OK(ascend_cy_stream_wait_stream(stream, ascend_cy_default_stream(0)));
            ascend_cy_stream_release(stream);
            if (random() % 16 == 0)
                OK(ascend_cy_set_current_stream(nullptr));
        }
        for (Buffer *buffer : kept)
            ascend_cy_buffer_release(buffer);
    });
    OK(ascend_cy_synchronize_device(-1));
    expect_nothing_left();
}

TEST(pinned_and_events)
{
    static Stream *streams[2];
    for (Stream *&stream : streams)
        stream = make_stream();
    in_threads([](int me) {
        std::mt19937 random(static_cast<unsigned>(me));
        ascend_cy_event_t *event = nullptr;
        OK(ascend_cy_event_create(0, 0, &event));
        for (int i = 0; i < rounds / 4; ++i) {
            void *pointer = nullptr;
            OK(ascend_cy_pinned_alloc(random() % 100000 + 1, &pointer));
            *static_cast<char *>(pointer) = 1;
            if (random() % 2 == 0)
                OK(ascend_cy_pinned_record_stream(pointer, streams[random() % 2]));
            ascend_cy_pinned_free(pointer);
            OK(ascend_cy_event_record(event, streams[random() % 2]));
            OK(ascend_cy_event_synchronize(event, -1));
            if (random() % 64 == 0)
                OK(ascend_cy_pinned_trim());
        }
        ascend_cy_event_release(event);
    });
    for (Stream *stream : streams)
        ascend_cy_stream_release(stream);
    expect_nothing_left();
}

// Every thread asks for memory that only fits when the others have given theirs back: nobody may be refused.
TEST(short_of_memory)
{
    OK(ascend_cy_pool_trim(0, 0));
    OK(ascend_cy_pool_set_limit(0, thread_count * MiB));
    in_threads([](int me) {
        std::mt19937 random(static_cast<unsigned>(me));
        Stream *stream = make_stream();
        for (int i = 0; i < rounds / 4; ++i) {
            Buffer *buffer = make(random() % MiB, stream);
            if (random() % 4 == 0)
                OK(ascend_cy_buffer_record_stream(buffer, ascend_cy_default_stream(0)));
            ascend_cy_buffer_release(buffer);
        }
        ascend_cy_stream_release(stream);
    });
    OK(ascend_cy_pool_set_limit(0, UINT64_MAX));
    expect_nothing_left();
}

// Pools made and dropped by every thread, with buffers that others release on streams that others use.
TEST(pools_come_and_go)
{
    struct Slot {
        std::atomic<Buffer *> buffer{nullptr};
    };
    static Slot slots[32];
    static Stream *streams[2];
    static ascend_cy_pool_t *shared;
    for (Stream *&stream : streams)
        stream = make_stream();
    OK(ascend_cy_pool_create(0, "shared", 64 * MiB, &shared));
    in_threads([](int me) {
        std::mt19937 random(static_cast<unsigned>(me));
        for (int i = 0; i < rounds / 8; ++i) {
            ascend_cy_pool_t *pool = nullptr;
            if (random() % 4 == 0)
                ascend_cy_pool_retain(pool = shared);
            else
                OK(ascend_cy_pool_create(0, "own", random() % 2 == 0 ? UINT64_MAX : 16 * MiB, &pool));
            OK(ascend_cy_set_current_pool(0, pool));
            Stream *own = random() % 2 == 0 ? make_stream() : nullptr;
            for (int k = 0; k < 6; ++k) {
                Stream *const stream = own != nullptr ? own : streams[random() % 2];
                Buffer *buffer = make(random() % 8 == 0 ? random() % MiB : random() % 5000, stream);
                CHECK(ascend_cy_buffer_pool(buffer) == pool || ascend_cy_buffer_size(buffer) == 0);
                if (random() % 4 == 0)
                    OK(ascend_cy_buffer_record_stream(buffer, streams[random() % 2]));
                Buffer *const before = slots[random() % 32].buffer.exchange(buffer);
                if (before != nullptr && random() % 4 == 0) { // found again through a buffer
                    ascend_cy_pool_t *const found = ascend_cy_buffer_pool(before);
                    ascend_cy_pool_retain(found);
                    ascend_cy_buffer_release(before);
                    ascend_cy_pool_figures_t now;
                    OK(ascend_cy_pool_figures(found, &now, sizeof now));
                    CHECK_EQ(now.in_use_bytes + now.cached_bytes + now.pending_bytes, now.reserved_bytes);
                    if (random() % 4 == 0)
                        OK(ascend_cy_pool_trim_to(found, 0, -1));
                    ascend_cy_pool_release(found);
                } else {
                    ascend_cy_buffer_release(before);
                }
            }
            if (random() % 2 == 0)
                OK(ascend_cy_set_current_pool(0, nullptr)); // else the end of the thread or the next pool takes it
            ascend_cy_pool_release(pool);
            ascend_cy_stream_release(own);
            if (random() % 4 == 0) {
                ascend_cy_live_counts_t live;
                ascend_cy_live_counts(&live);
            }
        }
    });
    for (Slot &slot : slots)
        ascend_cy_buffer_release(slot.buffer.exchange(nullptr));
    OK(ascend_cy_synchronize_device(-1));
    ascend_cy_pool_figures_t left;
    OK(ascend_cy_pool_trim_to(shared, 0, -1));
    OK(ascend_cy_pool_figures(shared, &left, sizeof left));
    CHECK_EQ(left.reserved_bytes, 0u);
    CHECK_EQ(left.buffers, 0u);
    ascend_cy_pool_release(shared);
    for (Stream *stream : streams)
        ascend_cy_stream_release(stream);
    expect_nothing_left();
}

int main(int argc, char **argv)
{
    if (const char *text = std::getenv("ROUNDS"))
        rounds = std::atoi(text);
    return run_tests(argc, argv);
}
