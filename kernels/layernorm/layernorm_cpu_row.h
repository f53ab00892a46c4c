// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm of one row on the host: its statistics, and its normalisation. Included by layernorm_cpu.cpp only.
//
// What makes the numbers right (each of these has a test that fails without it):
// * Sums run over x - p with a pivot p taken from the row, so a large common offset cancels exactly before squaring.
//   Where the mean turns out to lie more than 4 sigma from p, the row is summed again with p = the mean.
// * The mean is kept as m + r, with m a float and r what rounding it left over: y = ((x - m) - r) * rstd.
// * Where a float cannot carry the row (squares beyond its range, NaN, infinity), double does.
#ifndef ASCEND_CY_LAYERNORM_CPU_ROW_H
#define ASCEND_CY_LAYERNORM_CPU_ROW_H

#include <math.h>
#include <stdint.h>

#include "ascend_cy_simd.h"

namespace {

using namespace ascend_cy::simd;

constexpr int kUnroll = 4;
constexpr int64_t kStep = kUnroll * kLanes;

struct Sums {
    double first;  // of x - p
    double second; // of (x - p)^2
};

// Float sums are added into doubles after kBlock steps. For float32 that is at most 2048 elements, and at most 32
// terms in one lane. Float16 and bfloat16 results must be right to a unit in the last place even where x - mean or
// x * gamma + beta almost cancels, so their statistics must be good to more than float32: sums of eight narrow
// numbers or of their squares are exact in float, or nearly so.
template <class Element> inline Sums shifted_sums(const typename Element::type *x, int64_t n, float pivot) {
    constexpr int64_t kBlock = Element::kNarrow ? 2 : 32;
    const f32v p = set_f32(pivot);
    f64v first_low = set_f64(0.0), first_high = first_low, second_low = first_low, second_high = first_low;
    int64_t i = 0;
    while (i + kStep <= n) {
        const int64_t left = (n - i) / kStep;
        const int64_t steps = left < kBlock ? left : kBlock;
        f32v first[kUnroll], second[kUnroll];
        for (int u = 0; u < kUnroll; ++u) first[u] = second[u] = set_f32(0.0f);
        for (int64_t step = 0; step < steps; ++step, i += kStep)
            for (int u = 0; u < kUnroll; ++u) {
                const f32v t = sub(Element::load(x + i + u * kLanes), p);
                first[u] = add(first[u], t);
                second[u] = fma(t, t, second[u]);
            }
        const f32v block1 = add(add(first[0], first[1]), add(first[2], first[3]));
        const f32v block2 = add(add(second[0], second[1]), add(second[2], second[3]));
        first_low = add(first_low, low_f64(block1));
        first_high = add(first_high, high_f64(block1));
        second_low = add(second_low, low_f64(block2));
        second_high = add(second_high, high_f64(block2));
    }
    if (i < n) { // fewer than kUnroll vectors and a tail
        f32v first = set_f32(0.0f), second = first;
        for (; i + kLanes <= n; i += kLanes) {
            const f32v t = sub(Element::load(x + i), p);
            first = add(first, t);
            second = fma(t, t, second);
        }
        if (i < n) {
            const int rest = static_cast<int>(n - i);
            const f32v t = keep_first(sub(Element::load_first(x + i, rest), p), rest); // padding lanes count nothing
            first = add(first, t);
            second = fma(t, t, second);
        }
        first_low = add(first_low, low_f64(first));
        first_high = add(first_high, high_f64(first));
        second_low = add(second_low, low_f64(second));
        second_high = add(second_high, high_f64(second));
    }
    return Sums{sum(add(first_low, first_high)), sum(add(second_low, second_high))};
}

struct Moments {
    double mean;
    double variance;
};

// Two passes in double: any finite row, and NaN for a row with a NaN or an infinity in it.
template <class Element> Moments moments_in_double(const typename Element::type *x, int64_t n) {
    const double p = Element::get(x[0]);
    const f64v pv = set_f64(p);
    double shift = 0.0, result[2] = {0.0, 0.0};
    for (int pass = 0; pass < 2; ++pass) {
        const f64v d = set_f64(shift);
        f64v low = set_f64(0.0), high = low;
        for (int64_t i = 0; i < n; i += kLanes) {
            const int rest = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
            const f32v v = rest == kLanes ? Element::load(x + i) : Element::load_first(x + i, rest);
            f64v t_low = sub(sub(low_f64(v), pv), d), t_high = sub(sub(high_f64(v), pv), d);
            if (pass == 1) {
                t_low = mul(t_low, t_low);
                t_high = mul(t_high, t_high);
            }
            if (rest < kLanes) { // padding lanes count nothing; every value here is far inside the range of double
                alignas(64) double lanes[kLanes];
                memcpy(lanes, &t_low, sizeof t_low);
                memcpy(lanes + kLanes / 2, &t_high, sizeof t_high);
                for (int k = rest; k < kLanes; ++k) lanes[k] = 0.0;
                memcpy(&t_low, lanes, sizeof t_low);
                memcpy(&t_high, lanes + kLanes / 2, sizeof t_high);
            }
            low = add(low, t_low);
            high = add(high, t_high);
        }
        result[pass] = sum(add(low, high)) / static_cast<double>(n);
        shift = result[0];
    }
    return Moments{p + result[0], result[1]};
}

template <class Element> bool is_constant(const typename Element::type *x, int64_t n) {
    const float value = Element::get(x[0]);
    const f32v v = set_f32(value);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        if (any_differ(Element::load(x + i), v)) return false;
    for (; i < n; ++i)
        if (!(Element::get(x[i]) == value)) return false;
    return true;
}

// How a row is normalised.
enum class Form : int32_t {
    kFused,    // x * rstd + c, c = -mean * rstd: only where |mean| <= 4 sigma, so that c costs no digits
    kShifted,  // ((x - m) - r) * rstd
    kDouble,   // (x - mean) * rstd in double
    kConstant, // beta
};

struct Row {
    Form form;
    float scale;  // rstd
    float offset; // c
    float m, r;
    float doubt; // narrow types: results smaller than this are computed again in double; see apply
    double mean, rstd;
};

// The value in the middle of three: a lone outlier never becomes the pivot.
inline float middle(float a, float b, float c) {
    const float low = a < b ? a : b, high = a < b ? b : a;
    const float rest = c < high ? c : high;
    return rest > low ? rest : low;
}

// Statistics of a row, and the form they ask for.
template <class Element> Row analyse(const typename Element::type *x, int64_t n, double eps) {
    // How far, in squared sigma, the mean may lie from the pivot: the variance loses digits as that grows.
    constexpr double kFar = Element::kNarrow ? 1.0 : 16.0;
    const double count = static_cast<double>(n);
    Row row = {};
    float pivot = middle(Element::get(x[0]), Element::get(x[n / 2]), Element::get(x[n - 1]));
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Sums sums = shifted_sums<Element>(x, n, pivot);
        const double d = sums.first / count;
        const double variance = sums.second / count - d * d;
        row.mean = pivot + d;
        // Every comparison is false for NaN. Below 2^-100 a float square may have lost digits, or all of them.
        if (d * d <= kFar * variance && sums.second > 0.0 && sums.second < 3e38 && variance + eps >= 0x1p-100) {
            row.rstd = 1.0 / sqrt(variance + eps);
            row.scale = static_cast<float>(row.rstd);
            row.m = static_cast<float>(row.mean);
            row.r = static_cast<float>(row.mean - row.m);
            row.offset = static_cast<float>(-row.mean * row.scale);
            row.form = row.mean * row.mean <= 16.0 * variance ? Form::kFused : Form::kShifted;
            return row;
        }
        if (sums.second == 0.0 && is_constant<Element>(x, n)) {
            row.form = Form::kConstant;
            row.mean = Element::get(x[0]);
            row.rstd = 1.0 / sqrt(eps);
            return row;
        }
        pivot = static_cast<float>(row.mean);
        if (Element::kNarrow) pivot = float_of(bits_of(pivot) & 0xffff0000u); // as few bits as x, so that x - p is exact
    }
    const Moments moments = moments_in_double<Element>(x, n);
    row.form = moments.variance == 0.0 ? Form::kConstant : Form::kDouble;
    row.mean = moments.mean;
    row.rstd = 1.0 / sqrt(moments.variance + eps);
    return row;
}

// The numbers of a row in registers: results may lie where the compiler cannot tell them from the row.
struct Coefficients {
    explicit Coefficients(const Row &row)
        : scale(set_f32(row.scale)), offset(set_f32(row.offset)), m(set_f32(row.m)), r(set_f32(row.r)),
          doubt(set_f32(row.doubt)), mean(set_f64(row.mean)), rstd(set_f64(row.rstd)) {}
    f32v scale, offset, m, r, doubt;
    f64v mean, rstd;
};

// One vector of a row in the given form. g and b are not read where there are no weights.
template <Form kForm, bool kWeights> inline f32v normalised(f32v x, f32v g, f32v b, const Coefficients &row) {
    if constexpr (kForm == Form::kConstant) {
        // 0 * gamma is NaN where gamma is no number, else made -0, which leaves every beta as it is.
        return kWeights ? add(b, set_sign(mul(g, set_f32(0.0f)))) : set_f32(0.0f);
    } else if constexpr (kForm == Form::kDouble) {
        f64v low = mul(sub(low_f64(x), row.mean), row.rstd), high = mul(sub(high_f64(x), row.mean), row.rstd);
        if (kWeights) {
            low = add(mul(low, low_f64(g)), low_f64(b));
            high = add(mul(high, high_f64(g)), high_f64(b));
        }
        return to_f32(low, high);
    } else {
        const f32v y = kForm == Form::kFused ? fma(x, row.scale, row.offset)
                                             : mul(sub(sub(x, row.m), row.r), row.scale);
        return kWeights ? fma(y, g, b) : y;
    }
}

// Normalise n elements of a row: x to y (which may be x), with n weights. `ahead` is how far behind x lies what the
// thread will read next, or 0: writing is the time to fetch it.
template <class Element, Form kForm, bool kWeights, bool kStream>
void apply(const typename Element::type *x, typename Element::type *y, const float *gamma, const float *beta,
           int64_t n, const Row &numbers, int64_t ahead) {
    using T = typename Element::type;
    // Float results of narrow types have an error of some 2^-22 of the terms that make them up. Where those nearly
    // cancel, that is more than a unit in the last place of the result; such results, one in a thousand at most, are
    // computed again in double.
    constexpr bool kDoubt = Element::kNarrow && (kForm == Form::kFused || kForm == Form::kShifted);
    const Coefficients row(numbers);
    const f32v none = set_f32(0.0f);

    auto one = [&](int64_t i) {
        const f32v v = Element::load(x + i);
        const f32v g = kWeights ? load_f32(gamma + i) : none, b = kWeights ? load_f32(beta + i) : none;
        f32v result = normalised<kForm, kWeights>(v, g, b, row);
        if constexpr (kDoubt)
            if (__builtin_expect(any_less(abs(result), row.doubt), 0))
                result = if_less(abs(result), row.doubt, normalised<Form::kDouble, kWeights>(v, g, b, row), result);
        return result;
    };
    auto few = [&](int64_t i, int count) {
        const f32v v = Element::load_first(x + i, count);
        const f32v g = kWeights ? load_f32_first(gamma + i, count) : none;
        const f32v b = kWeights ? load_f32_first(beta + i, count) : none;
        f32v result = normalised<kForm, kWeights>(v, g, b, row);
        if constexpr (kDoubt)
            result = if_less(abs(result), row.doubt, normalised<Form::kDouble, kWeights>(v, g, b, row), result);
        Element::store_first(y + i, result, count);
    };

    int64_t i = 0;
    if constexpr (kStream) { // up to the first address that a streaming store takes
        constexpr uintptr_t kBytes = kLanes * sizeof(T);
        const int64_t head = static_cast<int64_t>((0 - reinterpret_cast<uintptr_t>(y)) % kBytes / sizeof(T));
        if (head > 0) {
            i = head < n ? head : n;
            few(0, static_cast<int>(i));
        }
    }
    for (; i + kStep <= n; i += kStep) {
        if (ahead)
            for (size_t line = 0; line < kStep * sizeof(T); line += kCacheLine)
                prefetch_l1(reinterpret_cast<uintptr_t>(x + i) + static_cast<uintptr_t>(ahead) + line);
        f32v result[kUnroll];
        for (int u = 0; u < kUnroll; ++u) result[u] = one(i + u * kLanes);
        for (int u = 0; u < kUnroll; ++u) {
            if constexpr (kStream) Element::stream(y + i + u * kLanes, result[u]);
            else Element::store(y + i + u * kLanes, result[u]);
        }
    }
    for (; i + kLanes <= n; i += kLanes) {
        if (ahead) prefetch_l1(reinterpret_cast<uintptr_t>(x + i) + static_cast<uintptr_t>(ahead));
        const f32v result = one(i);
        if constexpr (kStream) Element::stream(y + i, result);
        else Element::store(y + i, result);
    }
    if (i < n) few(i, static_cast<int>(n - i));
}

} // namespace
#endif // ASCEND_CY_LAYERNORM_CPU_ROW_H
