// SPDX-License-Identifier: Apache-2.0
//
// Mean and variance of rows for the `cpu` layernorm. Included by layernorm_cpu.cpp only.
//
// What makes the numbers right (a test fails without each of these):
// * Sums run over x - p with a pivot p taken from the row, so a large common offset cancels exactly before squaring.
//   Where the mean turns out to lie far from p, the row is summed again with p = the mean.
// * The mean is kept as m + r, with m a float and r what rounding it left over.
// * Where a float cannot carry the row (squares beyond its range, NaN, infinity), double does.
// Everything here depends on the row alone, never on its neighbours, its address or the thread.
#ifndef ASCEND_CY_LAYERNORM_CPU_STATS_H
#define ASCEND_CY_LAYERNORM_CPU_STATS_H

#include <math.h>
#include <stdint.h>

#include "ascend_cy_simd.h"

namespace {

using namespace ascend_cy::simd;

constexpr int kUnroll = 4;
constexpr int64_t kStep = kUnroll * kLanes;

// How a row is normalised.
enum Form : int32_t {
    kFused,    // x * rstd + c, c = -mean * rstd: only where |mean| <= 4 sigma, so that c costs no digits
    kShifted,  // ((x - m) - r) * rstd
    kDouble,   // (x - mean) * rstd in double
    kConstant, // beta
};

// The numbers of a group of rows, one array a number so that the compiler can work on several rows at once.
constexpr int kMaxGroup = 32;
struct alignas(64) Group {
    int64_t first; // row of the array
    int rows;
    f64v total[kMaxGroup];     // sums so far, as Sums gives them
    double sums[kMaxGroup][2]; // of p - x and of its square
    float pivot[kMaxGroup];    // p
    double mean[kMaxGroup], rstd[kMaxGroup];
    float scale[kMaxGroup], offset[kMaxGroup]; // rstd and c
    float m[kMaxGroup], r[kMaxGroup];
    float doubt[kMaxGroup]; // narrow types: results smaller than this are computed again in double; see apply
    int32_t good[kMaxGroup];
    int32_t form[kMaxGroup];
};

// The sum of p - x (this way round, the subtraction itself reads x from memory) and the sum of its squares over n
// elements, lane by lane in turns (see store_two_sums).
//
// Float sums are added into doubles after kBlock steps. For float32 that is at most 512 elements, and at most eight terms
// in one lane: equal elements are rounded the same way again and again, and a mean that is off by that shows where
// weights differ by many powers of ten. Float16 and bfloat16 results must be right to a unit in the last place even
// where x - mean or x * gamma + beta almost cancels, so their statistics must be good to more than float32: sums of
// eight narrow numbers or of their squares are exact in float, or nearly so.
template <class Element> class Sums {
    using T = typename Element::type;
    static constexpr int kBlock = 8; // steps of float32

  public:
    // Elements of one step: a whole block of narrow ones.
    static constexpr int64_t kStepped = Element::kNarrow ? 2 * kStep : kStep;
    static constexpr uintptr_t kAhead = 1536; // bytes

    ASCEND_CY_INLINE Sums(const T *x, int64_t n, float pivot) : x_(x), n_(n), p_(set_f32(pivot)) { clear(); }

    // One step where one is left.
    ASCEND_CY_INLINE void step() {
        if (i_ + kStepped > n_) return;
        // Two lines ahead for two that are read: what the processor fetches by itself stops at pages, and begins late.
        prefetch_l1(reinterpret_cast<uintptr_t>(x_ + i_) + kAhead);
        prefetch_l1(reinterpret_cast<uintptr_t>(x_ + i_) + kAhead + kCacheLine);
        if constexpr (Element::kNarrow) {
            f32v t[2 * kUnroll];
            for (int u = 0; u < 2 * kUnroll; u += 2) {
                Element::load_two(x_ + i_ + u * kLanes, t[u], t[u + 1]);
                t[u] = sub(p_, t[u]);
                t[u + 1] = sub(p_, t[u + 1]);
            }
            f32v first[kUnroll], second[kUnroll];
            for (int u = 0; u < kUnroll; ++u) {
                first[u] = add(t[2 * u], t[2 * u + 1]);
                second[u] = fma(t[2 * u + 1], t[2 * u + 1], mul(t[2 * u], t[2 * u]));
            }
            add_block(first, second);
            i_ += kStepped;
        } else {
            for (int u = 0; u < kUnroll; ++u) add_one(sub(p_, Element::load(x_ + i_ + u * kLanes)), u);
            i_ += kStepped;
            if (++steps_ == kBlock) add_block();
        }
    }

    // All that is left.
    ASCEND_CY_INLINE f64v finish() {
        while (i_ + kStepped <= n_) step();
        for (; i_ + kLanes <= n_; i_ += kLanes) add_one(sub(p_, Element::load(x_ + i_)), 0);
        if (i_ < n_) {
            const int rest = static_cast<int>(n_ - i_);
            add_one(keep_first(sub(p_, Element::load_first(x_ + i_, rest)), rest), 1); // padding lanes count nothing
        }
        add_block();
        return total_;
    }

  private:
    ASCEND_CY_INLINE void clear() {
        steps_ = 0;
        for (int u = 0; u < kUnroll; ++u) first_[u] = second_[u] = set_f32(0.0f);
    }
    ASCEND_CY_INLINE void add_one(f32v t, int u) {
        first_[u] = add(first_[u], t);
        second_[u] = fma(t, t, second_[u]);
    }
    ASCEND_CY_INLINE void add_block(const f32v (&first)[kUnroll], const f32v (&second)[kUnroll]) {
        const f32v both = interleaved_sum(add(add(first[0], first[1]), add(first[2], first[3])),
                                          add(add(second[0], second[1]), add(second[2], second[3])));
        total_ = add(total_, add(low_f64(both), high_f64(both)));
    }
    ASCEND_CY_INLINE void add_block() {
        add_block(first_, second_);
        clear();
    }

    const T *x_;
    int64_t n_, i_ = 0;
    int steps_;
    f32v p_, first_[kUnroll], second_[kUnroll];
    f64v total_ = set_f64(0.0);
};

// The same for a short row, at once: less to begin and to end.
constexpr int64_t kShortRow = 128;
template <class Element> inline f64v short_sums(const typename Element::type *x, int64_t n, float pivot) {
    const f32v p = set_f32(pivot);
    f64v total = set_f64(0.0);
    auto add_block = [&](f32v first, f32v second) {
        const f32v both = interleaved_sum(first, second);
        total = add(total, add(low_f64(both), high_f64(both)));
    };
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
        f32v t[kUnroll], squares[kUnroll];
        for (int u = 0; u < kUnroll; ++u) {
            t[u] = sub(p, Element::load(x + i + u * kLanes));
            squares[u] = mul(t[u], t[u]);
        }
        add_block(add(add(t[0], t[1]), add(t[2], t[3])), add(add(squares[0], squares[1]), add(squares[2], squares[3])));
    }
    if (i < n) { // fewer than kUnroll vectors and a tail
        f32v first = set_f32(0.0f), second = first;
        for (; i + kLanes <= n; i += kLanes) {
            const f32v t = sub(p, Element::load(x + i));
            first = add(first, t);
            second = fma(t, t, second);
        }
        if (i < n) {
            const int rest = static_cast<int>(n - i);
            const f32v t = keep_first(sub(p, Element::load_first(x + i, rest)), rest); // padding lanes count nothing
            first = add(first, t);
            second = fma(t, t, second);
        }
        add_block(first, second);
    }
    return total;
}

// The pivot of a row: the value in the middle of three, so that a lone outlier never becomes the pivot. For short
// float32 rows, finding it would take longer than to sum an unlucky row again.
template <class Element> inline float pivot_of(const typename Element::type *x, int64_t n) {
    const float a = Element::get(x[n / 2]);
    if (!Element::kNarrow && n <= kShortRow) return a;
    const float b = Element::get(x[0]), c = Element::get(x[n - 1]);
    const float low = a < b ? a : b, high = a < b ? b : a;
    const float rest = c < high ? c : high;
    return rest > low ? rest : low;
}

// From sums to statistics, for rows [begin, end) of the group. A row that is not good needs another look.
template <class Element> inline void settle(Group &group, int begin, int end, int64_t n, double eps) {
    // How far, in squared sigma, the mean may lie from the pivot: the variance loses digits as that grows.
    constexpr double kFar = Element::kNarrow ? 1.0 : 9.0;
    const double count = static_cast<double>(n), part = 1.0 / count;
    for (int i = begin; i < end; ++i) {
        const double d = -group.sums[i][0] / count; // a true division: the mean of 1, 2, 3 is 2 and nothing near it
        const double variance = group.sums[i][1] * part - d * d;
        const double mean = static_cast<double>(group.pivot[i]) + d;
        const double rstd = 1.0 / sqrt(variance + eps);
        const float m = static_cast<float>(mean), scale = static_cast<float>(rstd);
        group.mean[i] = mean;
        group.rstd[i] = rstd;
        group.scale[i] = scale;
        group.offset[i] = static_cast<float>(-mean * static_cast<double>(scale));
        group.m[i] = m;
        group.r[i] = static_cast<float>(mean - static_cast<double>(m));
        // Every comparison is false for NaN. Below 2^-100 a float square may have lost digits, or all of them.
        group.good[i] = (d * d <= kFar * variance) & (group.sums[i][1] > 0.0) & (group.sums[i][1] < 3e38) &
                        (variance + eps >= 0x1p-100);
        group.form[i] = mean * mean <= 16.0 * variance ? kFused : kShifted;
    }
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

struct Moments {
    double mean, variance;
};

// Two passes in double: any finite row, and NaN for a row with a NaN or an infinity in it.
template <class Element> Moments moments_in_double(const typename Element::type *x, int64_t n) {
    const double p = static_cast<double>(Element::get(x[0]));
    const f64v pivot = set_f64(p);
    double result[2] = {0.0, 0.0};
    for (int pass = 0; pass < 2; ++pass) {
        const f64v d = set_f64(result[0]);
        f64v low = set_f64(0.0), high = low;
        for (int64_t i = 0; i < n; i += kLanes) {
            const int rest = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
            const f32v v = rest == kLanes ? Element::load(x + i) : Element::load_first(x + i, rest);
            f64v t_low = sub(sub(low_f64(v), pivot), d), t_high = sub(sub(high_f64(v), pivot), d);
            if (pass == 1) {
                t_low = mul(t_low, t_low);
                t_high = mul(t_high, t_high);
            }
            if (rest < kLanes) { // padding lanes count nothing
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
        double halves[2];
        store_two_sums(halves, add(low, high));
        result[pass] = (halves[0] + halves[1]) / static_cast<double>(n);
    }
    return Moments{p + result[0], result[1]};
}

// A row whose first sums did not do: constant, or with its mean far from the pivot, or with numbers too large or too
// small to square in float, or with NaN or infinity in it.
template <class Element>
__attribute__((noinline)) void look_again(Group &group, int i, const typename Element::type *x, int64_t n, double eps) {
    if (group.sums[i][1] == 0.0 && is_constant<Element>(x, n)) {
        group.form[i] = kConstant;
        group.mean[i] = static_cast<double>(Element::get(x[0]));
        group.rstd[i] = 1.0 / sqrt(eps);
        return;
    }
    float pivot = static_cast<float>(group.mean[i]);
    if (Element::kNarrow) pivot = float_of(bits_of(pivot) & 0xffff0000u); // as few bits as x, so that x - p is exact
    group.pivot[i] = pivot;
    store_two_sums(group.sums[i], Sums<Element>(x, n, pivot).finish());
    settle<Element>(group, i, i + 1, n, eps);
    if (group.good[i]) return;
    const Moments moments = moments_in_double<Element>(x, n);
    group.form[i] = moments.variance == 0.0 ? kConstant : kDouble;
    group.mean[i] = moments.mean;
    group.rstd[i] = 1.0 / sqrt(moments.variance + eps);
}

} // namespace
#endif // ASCEND_CY_LAYERNORM_CPU_STATS_H
