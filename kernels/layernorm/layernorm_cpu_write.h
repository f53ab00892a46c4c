// SPDX-License-Identifier: Apache-2.0
//
// Normalisation of rows for the `cpu` layernorm, once their statistics are known. Included by layernorm_cpu.cpp only.
// Each result depends on its own element and on its row's numbers, never on where a vector begins or how it is stored.
#ifndef ASCEND_CY_LAYERNORM_CPU_WRITE_H
#define ASCEND_CY_LAYERNORM_CPU_WRITE_H

#include <math.h>
#include <stdint.h>

#include <type_traits>

#include "ascend_cy_simd.h"
#include "layernorm_cpu_stats.h"

namespace {

template <int kNumber> using Count = std::integral_constant<int, kNumber>;

// The numbers of a row in registers: results may lie where the compiler cannot tell them from the row.
struct Coefficients {
    Coefficients(const Group &group, int i)
        : scale(set_f32(group.scale[i])), offset(set_f32(group.offset[i])), m(set_f32(group.m[i])),
          r(set_f32(group.r[i])), doubt(set_f32(group.doubt[i])), mean(set_f64(group.mean[i])),
          rstd(set_f64(group.rstd[i])) {}
    f32v scale, offset, m, r, doubt;
    f64v mean, rstd;
};

// One vector of a row in the given form. g and b are not read where there are no weights.
template <Form kForm, bool kWeights> inline f32v normalised(f32v x, f32v g, f32v b, const Coefficients &row) {
    if constexpr (kForm == kConstant) {
        // 0 * gamma is NaN where gamma is no number, else made -0, which leaves every beta as it is.
        return kWeights ? add(b, set_sign(mul(g, set_f32(0.0f)))) : set_f32(0.0f);
    } else if constexpr (kForm == kDouble) {
        f64v low = mul(sub(low_f64(x), row.mean), row.rstd), high = mul(sub(high_f64(x), row.mean), row.rstd);
        if (kWeights) {
            low = add(mul(low, low_f64(g)), low_f64(b));
            high = add(mul(high, high_f64(g)), high_f64(b));
        }
        return to_f32(low, high);
    } else {
        const f32v y = kForm == kFused ? fma(x, row.scale, row.offset) : mul(sub(sub(x, row.m), row.r), row.scale);
        return kWeights ? fma(y, g, b) : y;
    }
}

// Below which |y| float arithmetic may be a unit in the last place of a narrow type off, given the largest weights (1
// and 0 where there are none). The relative error of the normalised value is below 2^-22; c is rounded to 2^-25.
template <class Element> inline void set_doubt(Group &group, float gamma, float beta) {
    for (int i = 0; i < group.rows; ++i) {
        const float fused = fabsf(group.offset[i]) * gamma * 0x1p-25f;
        const float error = beta * 0x1p-22f + (group.form[i] == kFused ? fused : 0.0f);
        group.doubt[i] = error <= Element::kLeastUnit ? 0.0f : error * Element::kNumbersInUnit;
    }
}

// A few vectors of a row, with results in doubt computed again in double. A function of its own that begins
// anew, so that the hot path need not keep anything for it.
template <class Element, Form kForm, bool kWeights>
__attribute__((noinline)) void apply_carefully(const typename Element::type *x, typename Element::type *y,
                                               const float *gamma, const float *beta, int vectors, const Group &group,
                                               int index) {
    const Coefficients row(group, index);
    for (int i = 0; i < vectors * kLanes; i += kLanes) {
        const f32v v = Element::load(x + i);
        const f32v g = kWeights ? load_f32(gamma + i) : v, b = kWeights ? load_f32(beta + i) : v;
        const f32v result = normalised<kForm, kWeights>(v, g, b, row);
        const f32v again = normalised<kDouble, kWeights>(v, g, b, row);
        Element::store(y + i, if_less(abs(result), row.doubt, again, result));
    }
}

// Normalise n elements of a row: x to y (which may be x), with n weights. between() is called after every kStep
// elements or so: reads that take turns with writes keep memory busy both ways.
template <class Element, Form kForm, bool kWeights, bool kStream, class Between>
ASCEND_CY_INLINE void apply(const typename Element::type *x, typename Element::type *y, const float *gamma, const float *beta,
                  int64_t n, const Group &group, int index, Between between) {
    using T = typename Element::type;
    const Coefficients row(group, index);
    // Float results of narrow types have an error of some 2^-22 of the terms that make them up. Where those nearly
    // cancel, that is more than a unit in the last place of the result; such results, one in a thousand at most, are
    // computed again in double.
    constexpr bool kDoubt = Element::kNarrow && (kForm == kFused || kForm == kShifted);
    constexpr int kLineVectors = kCacheLine / (kLanes * sizeof(T));
    constexpr int kChunk = kLineVectors > kUnroll ? kLineVectors : kUnroll; // whole lines
    constexpr int kTurn = static_cast<int>(Sums<Element>::kStepped / kLanes);
    static_assert(kTurn % kChunk == 0, "a step of reading takes turns with whole chunks of writing");
    const f32v none = set_f32(0.0f);
    const auto doubt = Element::doubt(group.doubt[index]);

    auto vectors = [&](auto how_many, auto streaming, int64_t i) {
        constexpr int kCount = how_many.value;
        f32v result[kCount];
        for (int u = 0; u < kCount; ++u) {
            const int64_t k = i + u * kLanes;
            const f32v g = kWeights ? load_f32(gamma + k) : none, b = kWeights ? load_f32(beta + k) : none;
            result[u] = normalised<kForm, kWeights>(Element::load(x + k), g, b, row);
        }
        if constexpr (kDoubt && Element::kPairs && kCount % 2 == 0) {
            typename Element::Watch watch;
            decltype(watch.pack(none, none)) packed[kCount / 2];
            for (int u = 0; u < kCount / 2; ++u) packed[u] = watch.pack(result[2 * u], result[2 * u + 1]);
            if (__builtin_expect(watch.any(doubt), 0))
                return apply_carefully<Element, kForm, kWeights>(x + i, y + i, gamma + i, beta + i, kCount, group, index);
            for (int u = 0; u < kCount / 2; ++u) {
                if constexpr (decltype(streaming)::value) Element::stream_pair(y + i + 2 * u * kLanes, packed[u]);
                else Element::store_pair(y + i + 2 * u * kLanes, packed[u]);
            }
            return;
        }
        if constexpr (kDoubt) {
            f32v least = abs(result[0]);
            for (int u = 1; u < kCount; ++u) least = min(least, abs(result[u]));
            if (__builtin_expect(any_less(least, row.doubt), 0))
                return apply_carefully<Element, kForm, kWeights>(x + i, y + i, gamma + i, beta + i, kCount, group, index);
        }
        for (int u = 0; u < kCount; ++u) {
            if constexpr (decltype(streaming)::value) Element::stream_number(y + i + u * kLanes, result[u]);
            else if constexpr (kDoubt) Element::store_number(y + i + u * kLanes, result[u]);
            else Element::store(y + i + u * kLanes, result[u]);
        }
    };
    auto few = [&](int64_t i, int count) {
        const f32v v = Element::load_first(x + i, count);
        const f32v g = kWeights ? load_f32_first(gamma + i, count) : none;
        const f32v b = kWeights ? load_f32_first(beta + i, count) : none;
        f32v result = normalised<kForm, kWeights>(v, g, b, row);
        if constexpr (kDoubt)
            result = if_less(abs(result), row.doubt, normalised<kDouble, kWeights>(v, g, b, row), result);
        Element::store_first(y + i, result, count);
    };
    auto up_to = [&](int64_t i, int64_t end) {
        for (; i + kLanes <= end; i += kLanes) vectors(Count<1>(), Count<0>(), i);
        if (i < end) few(i, static_cast<int>(end - i));
    };

    int64_t i = 0;
    if constexpr (kStream) {
        // Only whole lines are streamed: a line of which a part is streamed and a part is in the cache costs dearly.
        const int64_t head = static_cast<int64_t>((0 - reinterpret_cast<uintptr_t>(y)) % kCacheLine / sizeof(T));
        if (head > 0) {
            i = head < n ? head : n;
            up_to(0, i);
        }
    }
    for (; i + kTurn * kLanes <= n; i += kTurn * kLanes) {
        between();
        for (int part = 0; part < kTurn; part += kChunk) vectors(Count<kChunk>(), Count<kStream>(), i + part * kLanes);
    }
    if constexpr (kChunk < kTurn)
        for (; i + kChunk * kLanes <= n; i += kChunk * kLanes) vectors(Count<kChunk>(), Count<kStream>(), i);
    if constexpr (kStream && kLineVectors < kChunk)
        for (; i + kLineVectors * kLanes <= n; i += kLineVectors * kLanes)
            vectors(Count<kLineVectors>(), Count<true>(), i);
    up_to(i, n);
}

} // namespace
#endif // ASCEND_CY_LAYERNORM_CPU_WRITE_H
