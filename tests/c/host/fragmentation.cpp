// SPDX-License-Identifier: Apache-2.0
//
// How much of what the pool reserves nobody asked for, at the peak of what is asked for: on traces like those of training and of
// serving, recorded (tests/traces) and generated, beside a pool that gives the first free block that is large enough and never
// splits. Prints a line a trace; tests/test_fragmentation.py says what the figures must be.
//
//     fragmentation [FILE...]
#include <algorithm>
#include <fstream>
#include <list>
#include <random>
#include <utility>

#include "check.h"

struct Step {
    int id;      // of a buffer
    size_t size; // 0: free it
};
using Trace = std::vector<Step>;

// Forward keeps activations, backward frees them in reverse and makes gradients; sizes depend on the layer and, for
// ragged batches, on the step.
static Trace training(unsigned seed, bool ragged)
{
    std::mt19937 random(seed);
    Trace trace;
    int id = 0;
    std::vector<size_t> widths;
    for (int layer = 0; layer < 24; ++layer)
        widths.push_back((random() % 24 + 1) * 256);
    std::vector<int> parameters;
    for (size_t width : widths) {
        parameters.push_back(id);
        trace.push_back({id++, width * 1024 * 4});
        trace.push_back({id++, width * 4});
    }
    for (int step = 0; step < 20; ++step) {
        const size_t batch = ragged ? 64 + random() % 448 : 512;
        std::vector<int> kept;
        for (size_t width : widths) {
            trace.push_back({id, batch * width * 4});
            kept.push_back(id++);
            trace.push_back({id, batch * width * 2}); // a temporary
            trace.push_back({id++, 0});
            trace.push_back({id, batch * 4}); // mean
            kept.push_back(id++);
        }
        while (!kept.empty()) {
            const size_t width = widths[kept.size() / 2 % widths.size()];
            trace.push_back({id, batch * width * 4});
            trace.push_back({kept.back(), 0});
            kept.pop_back();
            trace.push_back({id++, 0});
        }
    }
    return trace;
}

// Requests come and go: sizes over four decades, lifetimes without order.
static Trace serving(unsigned seed)
{
    std::mt19937 random(seed);
    Trace trace;
    std::vector<int> live;
    int id = 0;
    for (int i = 0; i < 40000; ++i) {
        if (live.size() < 40 || (live.size() < 400 && random() % 2 == 0)) {
            const double decade = 2 + 5.5 * static_cast<double>(random()) / 4294967296.0;
            size_t size = 1;
            for (double d = 0; d < decade; d += 0.1)
                size = size * 1259 / 1000 + 1;
            trace.push_back({id, size});
            live.push_back(id++);
        } else {
            std::swap(live[random() % live.size()], live.back());
            trace.push_back({live.back(), 0});
            live.pop_back();
        }
    }
    return trace;
}

// What tools/record_allocations.py wrote: sizes, and -k for the end of what the k-th size asked for.
static Trace recorded(const char *file)
{
    std::ifstream in(file);
    std::string line;
    CHECK(std::getline(in, line) && line[0] == '#');
    Trace trace;
    int id = 0;
    for (long long number = 0; in >> number;)
        if (number > 0)
            trace.push_back({id++, static_cast<size_t>(number)});
        else
            trace.push_back({static_cast<int>(-number - 1), 0});
    CHECK(in.eof() && !trace.empty());
    return trace;
}

struct Figures {
    uint64_t peak = 0; // of the bytes asked for
    uint64_t reserved_then = 0;
    uint64_t most_reserved = 0;
    uint64_t device_calls = 0;

    void look(uint64_t asked, uint64_t reserved)
    {
        if (asked > peak) {
            peak = asked;
            reserved_then = reserved;
        }
        most_reserved = std::max(most_reserved, reserved);
    }
};

static Figures ours(const Trace &trace)
{
    ascend_cy_pool_t *pool = nullptr;
    OK(ascend_cy_pool_create(0, "fragmentation", UINT64_MAX, &pool));
    OK(ascend_cy_set_current_pool(0, pool));
    ascend_cy_stream_t *stream = ascend_cy_default_stream(0);
    std::vector<ascend_cy_buffer_t *> buffers(trace.size());
    Figures figures;
    uint64_t asked = 0;
    ascend_cy_pool_figures_t now;
    for (const Step &step : trace) {
        ascend_cy_buffer_t *&buffer = buffers[static_cast<size_t>(step.id)];
        if (step.size > 0) {
            buffer = make(step.size, stream);
            asked += step.size;
        } else {
            asked -= ascend_cy_buffer_size(buffer);
            ascend_cy_buffer_release(std::exchange(buffer, nullptr));
        }
        OK(ascend_cy_pool_figures(pool, &now, sizeof now));
        CHECK(now.in_use_bytes >= asked);
        figures.look(asked, now.reserved_bytes);
    }
    figures.device_calls = now.device_allocations;
    for (ascend_cy_buffer_t *buffer : buffers)
        ascend_cy_buffer_release(buffer);
    OK(ascend_cy_set_current_pool(0, nullptr));
    ascend_cy_pool_release(pool);
    return figures;
}

static Figures naive(const Trace &trace)
{
    std::list<size_t> free_blocks;
    std::vector<size_t> block(trace.size());
    std::vector<size_t> size(trace.size());
    Figures figures;
    uint64_t asked = 0;
    uint64_t reserved = 0;
    for (const Step &step : trace) {
        const auto id = static_cast<size_t>(step.id);
        if (step.size == 0) {
            asked -= size[id];
            free_blocks.push_back(block[id]);
            continue;
        }
        const auto found = std::find_if(free_blocks.begin(), free_blocks.end(), [&](size_t b) { return b >= step.size; });
        if (found != free_blocks.end()) {
            block[id] = *found;
            free_blocks.erase(found);
        } else {
            block[id] = step.size;
            reserved += step.size;
            ++figures.device_calls;
        }
        size[id] = step.size;
        asked += step.size;
        figures.look(asked, reserved);
    }
    return figures;
}

static double unused(const Figures &f)
{
    return 1.0 - static_cast<double>(f.peak) / static_cast<double>(f.reserved_then);
}

static double unused_of_most(const Figures &f)
{
    return 1.0 - static_cast<double>(f.peak) / static_cast<double>(f.most_reserved);
}

static void report(const std::string &name, const Trace &trace)
{
    const Figures a = ours(trace);
    const Figures b = naive(trace);
    CHECK_EQ(a.peak, b.peak);
    std::printf("%s; %.1f; %.4f; %.4f; %llu; %.4f; %.4f; %llu; %lld\n", name.c_str(), static_cast<double>(a.peak) / MiB, unused(a),
                unused_of_most(a), static_cast<unsigned long long>(a.device_calls), unused(b), unused_of_most(b),
                static_cast<unsigned long long>(b.device_calls),
                static_cast<long long>(std::count_if(trace.begin(), trace.end(), [](const Step &step) { return step.size > 0; })));
}

int main(int argc, char **argv)
{
    OK(ascend_cy_ensure_context());
    std::puts("trace; peak MiB; ours at the peak; ours at the most; device calls; naive at the peak; naive at the most; device calls; allocations");
    for (int i = 1; i < argc; ++i)
        report(argv[i], recorded(argv[i]));
    for (unsigned seed = 1; seed <= 4; ++seed) {
        report("training " + std::to_string(seed), training(seed, false));
        report("training, ragged " + std::to_string(seed), training(seed, true));
        report("serving " + std::to_string(seed), serving(seed));
    }
    return 0;
}
