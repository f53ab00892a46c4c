// SPDX-License-Identifier: Apache-2.0
//
// Writing of short rows for the `cpu` layernorm: two at a time, so that weights are read once for both. Included by
// layernorm_cpu.cpp only.
#ifndef ASCEND_CY_LAYERNORM_CPU_SHORT_H
#define ASCEND_CY_LAYERNORM_CPU_SHORT_H

#include <stdint.h>

#include "ascend_cy_simd.h"
#include "layernorm_cpu_stats.h"
#include "layernorm_cpu_write.h"

namespace {

// Normalise rows i and i + 1 of a group, n elements each, one after the other in x and in y. Both are of form
// kFused. x and y lie apart, or are the same memory and not of a narrow type: rows with results in doubt are read again.
template <class Element, bool kWeights>
ASCEND_CY_INLINE void apply_two(const typename Element::type *x, typename Element::type *y, const float *gamma,
                                const float *beta, int64_t n, const Group &group, int i) {
    const Coefficients row[2] = {Coefficients(group, i), Coefficients(group, i + 1)};
    const f32v none = set_f32(0.0f);
    auto result = [&](int r, f32v v, f32v g, f32v b) { return normalised<kFused, kWeights>(v, g, b, row[r]); };
    // Which row has results in doubt is asked once, at its end: it is written again then.
    bool doubt[2] = {false, false};
    int64_t k = 0;
    if constexpr (Element::kPairs) {
        typename Element::Watch watch[2];
        for (; k + 2 * kLanes <= n; k += 2 * kLanes) {
            const f32v g[2] = {kWeights ? load_f32(gamma + k) : none, kWeights ? load_f32(gamma + k + kLanes) : none};
            const f32v b[2] = {kWeights ? load_f32(beta + k) : none, kWeights ? load_f32(beta + k + kLanes) : none};
            for (int r = 0; r < 2; ++r) {
                const auto *from = x + r * n + k;
                Element::store_pair(y + r * n + k, watch[r].pack(result(r, Element::load(from), g[0], b[0]),
                                                                 result(r, Element::load(from + kLanes), g[1], b[1])));
            }
        }
        for (int r = 0; r < 2; ++r) doubt[r] = watch[r].any(Element::doubt(group.doubt[i + r]));
    }
    f32v least[2] = {set_f32(INFINITY), set_f32(INFINITY)};
    auto vector = [&](int64_t at) {
        const f32v g = kWeights ? load_f32(gamma + at) : none, b = kWeights ? load_f32(beta + at) : none;
        for (int r = 0; r < 2; ++r) {
            const f32v v = result(r, Element::load(x + r * n + at), g, b);
            if constexpr (Element::kNarrow) least[r] = min(least[r], abs(v));
            Element::store_number(y + r * n + at, v);
        }
    };
    for (; k + 2 * kLanes <= n; k += 2 * kLanes) {
        vector(k);
        vector(k + kLanes);
    }
    for (; k + kLanes <= n; k += kLanes) vector(k);
    if (k < n) {
        const int rest = static_cast<int>(n - k);
        const f32v g = kWeights ? load_f32_first(gamma + k, rest) : none, b = kWeights ? load_f32_first(beta + k, rest) : none;
        for (int r = 0; r < 2; ++r) {
            const f32v v = Element::load_first(x + r * n + k, rest);
            f32v few = result(r, v, g, b);
            if constexpr (Element::kNarrow)
                few = if_less(abs(few), row[r].doubt, normalised<kDouble, kWeights>(v, g, b, row[r]), few);
            Element::store_first(y + r * n + k, few, rest);
        }
    }
    if constexpr (Element::kNarrow)
        for (int r = 0; r < 2; ++r)
            if (__builtin_expect(doubt[r] || any_less(least[r], row[r].doubt), 0))
                apply_carefully<Element, kFused, kWeights>(x + r * n, y + r * n, gamma, beta, static_cast<int>(n / kLanes), group,
                                                           i + r);
}

} // namespace
#endif // ASCEND_CY_LAYERNORM_CPU_SHORT_H
