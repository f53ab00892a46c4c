// SPDX-License-Identifier: Apache-2.0
//
// How the `cpu` kernels of layernorm and of its gradient stream rows that are no whole number of cache lines. Included by
// their .cpp files only.
#ifndef ASCEND_CY_LAYERNORM_CPU_STAGE_H
#define ASCEND_CY_LAYERNORM_CPU_STAGE_H

#include <stdint.h>
#include <string.h>

#include "ascend_cy_simd.h"

namespace {

using namespace ascend_cy::simd;

// Copies lines past the cache, to where a line begins.
template <class Element>
__attribute__((noinline)) void stream_lines(typename Element::type *to, const typename Element::type *from, int64_t lines) {
    constexpr int64_t kVector = sizeof(f32v) / sizeof(*to);
    const typename Element::type *const end = from + lines * (kCacheLine / static_cast<int64_t>(sizeof(*to)));
    for (; from < end; from += kVector, to += kVector)
        stream_f32(reinterpret_cast<float *>(to), load_f32(reinterpret_cast<const float *>(from)));
}

// Results on their way past the cache: whole lines are streamed, and what is left of a line waits for what follows.
// kRoom elements may be put between two calls of next.
template <class Element, int64_t kRoom> class Stage {
    using T = typename Element::type;
    static constexpr int64_t kLine = kCacheLine / sizeof(T);

  public:
    // Where the next elements are to be put, which will go to `to`.
    T *next(T *to) {
        if (held_ > 0 && to == to_ + held_) return buffer_ + held_;
        finish();
        to_ = to;
        return buffer_;
    }
    // `n` elements were put there.
    void push(int64_t n) {
        const int64_t count = held_ + n;
        int64_t i = static_cast<int64_t>((0 - reinterpret_cast<uintptr_t>(to_)) % kCacheLine / sizeof(T));
        i = i < count ? i : count;
        if (i > 0) memcpy(to_, buffer_, static_cast<size_t>(i) * sizeof(T)); // up to the first line
        const int64_t lines = (count - i) / kLine;
        stream_lines<Element>(to_ + i, buffer_ + i, lines);
        i += lines * kLine;
        held_ = count - i;
        to_ += i;
        if (held_ > 0) memmove(buffer_, buffer_ + i, static_cast<size_t>(held_) * sizeof(T));
    }
    void finish() {
        if (held_ > 0) memcpy(to_, buffer_, static_cast<size_t>(held_) * sizeof(T));
        held_ = 0;
    }

  private:
    T *to_ = nullptr;
    int64_t held_ = 0; // elements of the buffer that belong to `to_`, the start of a line
    alignas(64) T buffer_[kRoom + kLine];
};

} // namespace
#endif // ASCEND_CY_LAYERNORM_CPU_STAGE_H
