// SPDX-License-Identifier: Apache-2.0
//
// How much of what the pool reserves is not in use at the peak, on traces like those of training and of serving, beside
// a pool that gives the first free block that is large enough and never splits. Prints, asserts nothing.
#include <algorithm>
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

struct Figures {
    uint64_t peak_in_use = 0;
    uint64_t reserved_then = 0;
    uint64_t most_reserved = 0;
    uint64_t device_calls = 0;

    void look(uint64_t in_use, uint64_t reserved)
    {
        if (in_use > peak_in_use) {
            peak_in_use = in_use;
            reserved_then = reserved;
        }
        most_reserved = std::max(most_reserved, reserved);
    }
};

static Figures ours(const Trace &trace)
{
    ascend_cy_stream_t *stream = ascend_cy_default_stream(0);
    OK(ascend_cy_pool_trim(0, 0));
    const uint64_t before = stats().device_allocations;
    std::vector<ascend_cy_buffer_t *> buffers(trace.size());
    Figures figures;
    for (const Step &step : trace) {
        if (step.size > 0)
            buffers[static_cast<size_t>(step.id)] = make(step.size, stream);
        else
            ascend_cy_buffer_release(std::exchange(buffers[static_cast<size_t>(step.id)], nullptr));
        const auto now = stats();
        figures.look(now.in_use_bytes, now.reserved_bytes);
    }
    for (ascend_cy_buffer_t *buffer : buffers)
        ascend_cy_buffer_release(buffer);
    figures.device_calls = stats().device_allocations - before;
    return figures;
}

static Figures naive(const Trace &trace)
{
    std::list<size_t> free_blocks;
    std::vector<size_t> block(trace.size());
    std::vector<size_t> asked(trace.size());
    Figures figures;
    uint64_t in_use = 0;
    uint64_t reserved = 0;
    for (const Step &step : trace) {
        const auto id = static_cast<size_t>(step.id);
        if (step.size == 0) {
            in_use -= asked[id];
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
        asked[id] = step.size;
        in_use += step.size;
        figures.look(in_use, reserved);
    }
    return figures;
}

static void report(const char *name, const Figures &f)
{
    std::printf("%-34s peak %7.1f MiB, fragmentation at the peak %5.1f %%, most reserved %7.1f MiB, %6llu device calls\n",
                name, static_cast<double>(f.peak_in_use) / MiB,
                100.0 * (1.0 - static_cast<double>(f.peak_in_use) / static_cast<double>(f.reserved_then)),
                static_cast<double>(f.most_reserved) / MiB, static_cast<unsigned long long>(f.device_calls));
}

int main()
{
    OK(ascend_cy_ensure_context());
    struct {
        const char *name;
        Trace trace;
    } const traces[] = {{"training, fixed batch", training(1, false)}, {"training, ragged batches", training(2, true)},
                        {"serving", serving(3)}};
    for (const auto &each : traces) {
        report(each.name, ours(each.trace));
        report("  first that fits, no splitting", naive(each.trace));
    }
    return 0;
}
