// SPDX-License-Identifier: Apache-2.0
//
// What the test programs of libascend_cy share. A program holds several tests; it runs the one named on its command
// line, or all. A failed check ends it.
#ifndef CHECK_H
#define CHECK_H

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ascend_cy/launch.h"
#include "ascend_cy/pool.h"
#include "ascend_cy/runtime.h"

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            std::fprintf(stderr, "%s:%d: %s is false; last message: %s\n", __FILE__, __LINE__, #condition, \
                         ascend_cy_last_message());                                                        \
            std::exit(1);                                                                                  \
        }                                                                                                  \
    } while (0)

#define CHECK_EQ(a, b)                                                                                            \
    do {                                                                                                          \
        const auto a_ = (a);                                                                                      \
        const auto b_ = (b);                                                                                      \
        if (!(a_ == b_)) {                                                                                        \
            std::fprintf(stderr, "%s:%d: %s is %lld, not %s = %lld; last message: %s\n", __FILE__, __LINE__, #a,  \
                         static_cast<long long>(a_), #b, static_cast<long long>(b_), ascend_cy_last_message()); \
            std::exit(1);                                                                                         \
        }                                                                                                         \
    } while (0)

#define OK(call) CHECK_EQ(call, 0)

inline void expect_message(const char *part)
{
    if (std::strstr(ascend_cy_last_message(), part) == nullptr) {
        std::fprintf(stderr, "\"%s\" is not in the message: %s\n", part, ascend_cy_last_message());
        std::exit(1);
    }
}

struct Test {
    const char *name;
    void (*run)();
};

inline std::vector<Test> &tests()
{
    static std::vector<Test> list;
    return list;
}

struct Registered {
    Registered(const char *name, void (*run)()) { tests().push_back({name, run}); }
};

#define TEST(name)                                  \
    static void name();                             \
    static const Registered registered_##name(#name, name); \
    static void name()

inline int run_tests(int argc, char **argv)
{
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (const Test &test : tests())
            std::puts(test.name);
        return 0;
    }
    int ran = 0;
    for (const Test &test : tests())
        if (argc < 2 || std::strcmp(argv[1], test.name) == 0) {
            test.run();
            ++ran;
        }
    return ran > 0 ? 0 : 2;
}

// ---- shorthands ----

inline ascend_cy_buffer_t *make(size_t size, ascend_cy_stream_t *stream)
{
    ascend_cy_buffer_t *buffer = nullptr;
    OK(ascend_cy_buffer_create(size, stream, &buffer));
    return buffer;
}

inline ascend_cy_stream_t *make_stream(int device = 0)
{
    ascend_cy_stream_t *stream = nullptr;
    OK(ascend_cy_stream_create(device, 0, 0, &stream));
    return stream;
}

inline ascend_cy_pool_stats_t stats(int device = 0)
{
    ascend_cy_pool_stats_t now;
    OK(ascend_cy_pool_stats(device, &now));
    CHECK(now.in_use_bytes + now.cached_bytes <= now.reserved_bytes);
    CHECK(now.in_use_bytes <= now.peak_in_use_bytes);
    return now;
}

inline void expect_nothing_left()
{
    ascend_cy_live_counts_t live;
    ascend_cy_live_counts(&live);
    CHECK_EQ(live.streams, 0);
    CHECK_EQ(live.events, 0);
    CHECK_EQ(live.buffers, 0);
    CHECK_EQ(live.buffer_bytes, 0);
    CHECK_EQ(live.pinned, 0);
    CHECK_EQ(live.pinned_bytes, 0);
}

constexpr size_t KiB = 1024;
constexpr size_t MiB = 1024 * KiB;

#endif
