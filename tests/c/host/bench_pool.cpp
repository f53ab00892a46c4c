// SPDX-License-Identifier: Apache-2.0
//
// What the host library costs by itself: nanoseconds a call, the best of several rounds. Prints, asserts nothing.
#include <chrono>
#include <thread>

#include "check.h"

template <typename Body> static double best_ns(Body body, int calls = 4000, int rounds = 400)
{
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i)
            body();
        const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
        best = std::min(best, taken.count() / calls);
    }
    return best;
}

static void report(const char *what, double ns) { std::printf("%-58s %8.1f ns\n", what, ns); }

int main()
{
    OK(ascend_cy_ensure_context());
    ascend_cy_stream_t *own = make_stream();
    ascend_cy_stream_t *standard = ascend_cy_default_stream(0);
    void *volatile sink = nullptr;

    report("malloc + free, 4096 bytes", best_ns([&] {
               sink = std::malloc(4096);
               std::free(sink);
           }));
    const auto create_release = [](size_t size, ascend_cy_stream_t *stream) {
        return best_ns([=] { ascend_cy_buffer_release(make(size, stream)); });
    };
    report("buffer create + release, 4096 bytes, default stream", create_release(4096, standard));
    report("buffer create + release, 4096 bytes, own stream", create_release(4096, own));
    report("buffer create + release, 64 MiB, default stream", create_release(64 * MiB, standard));
    report("buffer create + release, empty", create_release(0, standard));
    report("three sizes in turn, each", best_ns([=] {
               ascend_cy_buffer_t *a = make(4096, standard);
               ascend_cy_buffer_t *b = make(256, standard);
               ascend_cy_buffer_t *c = make(100000, standard);
               ascend_cy_buffer_release(a);
               ascend_cy_buffer_release(b);
               ascend_cy_buffer_release(c);
           }) / 3);
    size_t size = 64;
    report("a new size each time", best_ns([&] {
               size = size % 500000 + 1024;
               ascend_cy_buffer_release(make(size, standard));
           }));
    report("buffer wrap + release", best_ns([=] {
               ascend_cy_buffer_t *buffer = nullptr;
               ascend_cy_buffer_wrap(standard, 64, standard, nullptr, nullptr, &buffer);
               ascend_cy_buffer_release(buffer);
           }));
    report("pinned alloc + free, 4096 bytes", best_ns([=] {
               void *pointer = nullptr;
               ascend_cy_pinned_alloc(4096, &pointer);
               ascend_cy_pinned_free(pointer);
           }));
    report("current_stream", best_ns([&] { sink = ascend_cy_current_stream(); }));
    report("stream_enter", best_ns([=] {
               aclrtContext previous = nullptr;
               ascend_cy_stream_enter(own, &previous);
               ascend_cy_stream_leave(previous);
           }));
    int32_t device = 0;
    report("aclrtGetDevice of the device library", best_ns([&] { ascend_cy_acl_get_table()->aclrtGetDevice(&device); }));

    static float x[64], y[64];
    report("layernorm, refused", best_ns([=] { ascend_cy_layernorm(x, nullptr, nullptr, y, nullptr, nullptr, -1, 64, 0, 0, 0, 1e-5, nullptr); }));
    report("layernorm, empty", best_ns([=] { ascend_cy_layernorm(x, nullptr, nullptr, y, nullptr, nullptr, 0, 64, 0, 0, 0, 1e-5, nullptr); }));
    if (ascend_cy_layernorm(x, nullptr, nullptr, y, nullptr, nullptr, 1, 64, 0, 0, 0, 1e-5, nullptr) == 0) {
        OK(ascend_cy_stream_synchronize(standard, -1));
        report("layernorm (1, 64), launched", best_ns([=] {
                   ascend_cy_layernorm(x, nullptr, nullptr, y, nullptr, nullptr, 1, 64, 0, 0, 0, 1e-5, nullptr);
               }, 1000));
        OK(ascend_cy_stream_synchronize(standard, -1));
    }
    // The launcher alone: a device that does nothing in the places it calls.
    auto *table = const_cast<ascend_cy_acl_table *>(ascend_cy_acl_get_table());
    const ascend_cy_acl_table saved = *table;
    table->aclrtGetDevice = [](int32_t *id) -> aclError { return *id = 0; };
    table->aclrtLaunchKernelWithHostArgs = [](aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg *, void *,
                                              size_t, aclrtPlaceHolderInfo *, size_t) -> aclError { return 0; };
    report("layernorm launcher alone, (1, 64)", best_ns([=] {
               ascend_cy_layernorm(x, nullptr, nullptr, y, nullptr, nullptr, 1, 64, 0, 0, 0, 1e-5, nullptr);
           }));
    report("layernorm launcher alone, (8192, 1024), all arguments", best_ns([=] {
               ascend_cy_layernorm(reinterpret_cast<void *>(64), reinterpret_cast<void *>(1L << 40),
                                   reinterpret_cast<void *>(2L << 40), reinterpret_cast<void *>(3L << 40),
                                   reinterpret_cast<float *>(4L << 40), reinterpret_cast<float *>(5L << 40), 8192, 1024, 0,
                                   0, 0, 1e-5, nullptr);
           }));
    *table = saved;

    double two = 0.0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&, t] {
            ascend_cy_stream_t *stream = make_stream();
            const double ns = best_ns([=] { ascend_cy_buffer_release(make(4096, stream)); });
            if (t == 0)
                two = ns;
            ascend_cy_stream_release(stream);
        });
    for (std::thread &thread : threads)
        thread.join();
    report("buffer create + release, two threads with own streams", two);
    ascend_cy_stream_release(own);
    return 0;
}
