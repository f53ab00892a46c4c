// SPDX-License-Identifier: Apache-2.0
//
// What the `cpu` kernels of layernorm and of its gradient share: weights of any type as float32, and from which size on
// results are streamed. Included by their .cpp files only.
#ifndef ASCEND_CY_LAYERNORM_CPU_WEIGHTS_H
#define ASCEND_CY_LAYERNORM_CPU_WEIGHTS_H

#include <atomic>

#include <stdint.h>
#include <unistd.h>

#include "ascend_cy_simd.h"
#include "layernorm_tiling.h"

namespace {

using namespace ascend_cy::simd;

// gamma or beta of one tile of columns as float32. `buffer` holds `size` floats, whole vectors.
struct Weights {
    const void *data; // or null
    int64_t dtype;
    float absent; // what a missing weight is
    bool direct;  // already float32: used where it lies
    float *tile;

    Weights(uint64_t address, int64_t type, float missing, float *buffer, int64_t size)
        : data(reinterpret_cast<const void *>(address)), dtype(type), absent(missing),
          direct(address != 0 && type == LAYERNORM_FLOAT), tile(buffer) {
        if (!data)
            for (int64_t i = 0; i < size; i += kLanes) store_f32(tile + i, set_f32(absent));
    }

    bool converted() const { return data && !direct; }

    const float *columns(int64_t begin, int64_t n) const {
        if (direct) return static_cast<const float *>(data) + begin;
        if (data && dtype == LAYERNORM_FLOAT16) convert<Float16>(begin, n);
        if (data && dtype == LAYERNORM_BF16) convert<BFloat16>(begin, n);
        return tile;
    }

    // The largest |weight| of n columns: infinity beats numbers, NaN beats infinity.
    float largest(int64_t n) const {
        if (!data) return absent;
        if (dtype == LAYERNORM_FLOAT16) return largest_magnitude<Float16>(n);
        if (dtype == LAYERNORM_BF16) return largest_magnitude<BFloat16>(n);
        return largest_magnitude<Float32>(n);
    }

    template <class Element> float largest_magnitude(int64_t n) const {
        const auto *values = static_cast<const typename Element::type *>(data);
        f32v largest = set_f32(0.0f);
        int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes) largest = max_magnitude(largest, Element::load(values + i));
        if (i < n) largest = max_magnitude(largest, Element::load_first(values + i, static_cast<int>(n - i)));
        return largest_lane(largest);
    }

    template <class Element> void convert(int64_t begin, int64_t n) const {
        const uint16_t *from = static_cast<const uint16_t *>(data) + begin;
        int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes) store_f32(tile + i, Element::load(from + i));
        if (i < n) store_f32(tile + i, Element::load_first(from + i, static_cast<int>(n - i)));
    }
};

// Outputs beyond this many bytes, in and out together, would only push other data out of the cache: they are
// streamed past it. Virtual machines report the cache of a whole host, hence the cap.
int64_t streaming_threshold() {
    static std::atomic<int64_t> known{0}; // threads that come first together find the same
    int64_t threshold = known.load(std::memory_order_relaxed);
    if (threshold == 0) {
        long cache = -1;
#ifdef _SC_LEVEL3_CACHE_SIZE
        cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
        const int64_t least = 2 << 20, most = 8 << 20;
        const int64_t share = cache > 0 ? static_cast<int64_t>(cache) / 4 : least;
        threshold = share < least ? least : share > most ? most : share;
        known.store(threshold, std::memory_order_relaxed);
    }
    return threshold;
}

} // namespace
#endif // ASCEND_CY_LAYERNORM_CPU_WEIGHTS_H
