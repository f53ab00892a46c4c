// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of rows for the `cpu` layernorm_backward. Included by layernorm_backward_cpu.cpp only.
//
// With z = (x - mean) * rstd and g = dy * gamma, three sums over a row lead to everything:
//     r = mean(z)                      what the float mean lacked; xhat = z - r
//     a = mean(g)
//     b = mean(g * z) - r * a          which is mean(g * xhat)
//     dx = (g - a - xhat * b) * rstd
// z is scaled, so rows of huge and of tiny numbers need no care. Sums run in float for 32 steps and then in double. A row
// whose sums leave the range of float, or are no numbers, is done again in double. Each dx depends on its row alone; the
// order of the sums over rows depends on the shape alone.
#ifndef ASCEND_CY_LAYERNORM_BACKWARD_CPU_ROWS_H
#define ASCEND_CY_LAYERNORM_BACKWARD_CPU_ROWS_H

#include <math.h>
#include <stdint.h>

#include "ascend_cy_simd.h"

namespace {

using namespace ascend_cy::simd;

struct Row {
    float mean, rstd;
    double sum_z, sum_g, sum_gz; // so far
    float r, a, b;
    bool wild; // float cannot carry it
    double wide_r, wide_a, wide_b;

    void start(float row_mean, float row_rstd) {
        mean = row_mean;
        rstd = row_rstd;
        sum_z = sum_g = sum_gz = 0.0;
        wild = false;
    }

    // Not by division: what rounding the reciprocal costs is far below a float.
    void settle(double inv_cols) {
        wide_r = sum_z * inv_cols;
        wide_a = sum_g * inv_cols;
        wide_b = sum_gz * inv_cols - wide_r * wide_a;
        r = static_cast<float>(wide_r);
        a = static_cast<float>(wide_a);
        b = static_cast<float>(wide_b);
    }

    // Every comparison is false for NaN.
    bool tame() const { return (fabs(sum_z) < 1e37) & (fabs(sum_g) < 1e37) & (fabs(sum_gz) < 1e37); }
};

// Adds n columns of kRows rows, `pitch` apart, to their sums.
template <class Element, int kRows>
__attribute__((noinline)) void measure(const typename Element::type *dy, const typename Element::type *x, int64_t pitch,
                                       const float *gamma, int64_t n, Row *rows) {
    constexpr int64_t kBlock = 32 * kLanes;
    f32v mean[kRows], rstd[kRows];
    // Two sums share a vector, by turns of lanes: z and g of a row; g * z of two rows, where there are two.
    constexpr int kPairs = (kRows + 1) / 2;
    f64v total[kRows], total_gz[kPairs];
    for (int k = 0; k < kRows; ++k) {
        mean[k] = set_f32(rows[k].mean);
        rstd[k] = set_f32(rows[k].rstd);
        total[k] = total_gz[k / 2] = set_f64(0.0);
    }
    for (int64_t start = 0; start < n; start += kBlock) {
        const int64_t end = n - start < kBlock ? n : start + kBlock;
        f32v sum_z[kRows], sum_g[kRows], sum_gz[kRows];
        for (int k = 0; k < kRows; ++k) sum_z[k] = sum_g[k] = sum_gz[k] = set_f32(0.0f);
        int64_t i = start;
        for (; i + kLanes <= end; i += kLanes) {
            const f32v w = load_f32(gamma + i);
            for (int k = 0; k < kRows; ++k) {
                const f32v z = mul(sub(Element::load(x + k * pitch + i), mean[k]), rstd[k]);
                const f32v g = mul(Element::load(dy + k * pitch + i), w);
                sum_z[k] = add(sum_z[k], z);
                sum_g[k] = add(sum_g[k], g);
                sum_gz[k] = fma(g, z, sum_gz[k]);
            }
        }
        if (i < end) {
            const int rest = static_cast<int>(end - i);
            const f32v w = load_f32_first(gamma + i, rest);
            for (int k = 0; k < kRows; ++k) {
                // Padding lanes count nothing.
                const f32v z = keep_first(mul(sub(Element::load_first(x + k * pitch + i, rest), mean[k]), rstd[k]), rest);
                const f32v g = mul(Element::load_first(dy + k * pitch + i, rest), w);
                sum_z[k] = add(sum_z[k], z);
                sum_g[k] = add(sum_g[k], g);
                sum_gz[k] = fma(g, z, sum_gz[k]);
            }
        }
        for (int k = 0; k < kRows; ++k) {
            const f32v both = interleaved_sum(sum_z[k], sum_g[k]);
            total[k] = add(total[k], add(low_f64(both), high_f64(both)));
        }
        for (int k = 0; k < kRows; k += 2) {
            const f32v both = interleaved_sum(sum_gz[k], sum_gz[k + 1 < kRows ? k + 1 : k]);
            total_gz[k / 2] = add(total_gz[k / 2], add(low_f64(both), high_f64(both)));
        }
    }
    for (int k = 0; k < kRows; ++k) {
        double two[2];
        store_two_sums(two, total[k]);
        rows[k].sum_z += two[0];
        rows[k].sum_g += two[1];
    }
    for (int k = 0; k < kRows; k += 2) {
        double two[2];
        store_two_sums(two, total_gz[k / 2]);
        rows[k].sum_gz += two[0];
        if (k + 1 < kRows) rows[k + 1].sum_gz += two[1];
    }
}

// The same for one long row. Long rows take turns: several at once, a power of two apart, would fight for the same places
// of a cache.
template <class Element>
__attribute__((noinline)) void measure_long(const typename Element::type *dy, const typename Element::type *x,
                                            const float *gamma, int64_t n, Row &row) {
    constexpr int kUnroll = 4;
    constexpr int64_t kStep = kUnroll * kLanes, kBlock = 32 * kStep;
    const f32v mean = set_f32(row.mean), rstd = set_f32(row.rstd), zero = set_f32(0.0f);
    f64v total_z = set_f64(0.0), total_g = total_z, total_gz = total_z;
    for (int64_t start = 0; start < n; start += kBlock) {
        const int64_t end = n - start < kBlock ? n : start + kBlock;
        f32v sum_z[kUnroll], sum_g[kUnroll], sum_gz[kUnroll];
        for (int u = 0; u < kUnroll; ++u) sum_z[u] = sum_g[u] = sum_gz[u] = zero;
        auto one = [&](int64_t i, int u) {
            const f32v z = mul(sub(Element::load(x + i), mean), rstd);
            const f32v g = mul(Element::load(dy + i), load_f32(gamma + i));
            sum_z[u] = add(sum_z[u], z);
            sum_g[u] = add(sum_g[u], g);
            sum_gz[u] = fma(g, z, sum_gz[u]);
        };
        int64_t i = start;
        for (; i + kStep <= end; i += kStep)
            for (int u = 0; u < kUnroll; ++u) one(i + u * kLanes, u);
        for (; i + kLanes <= end; i += kLanes) one(i, 0);
        if (i < end) {
            const int rest = static_cast<int>(end - i);
            const f32v z = keep_first(mul(sub(Element::load_first(x + i, rest), mean), rstd), rest);
            const f32v g = mul(Element::load_first(dy + i, rest), load_f32_first(gamma + i, rest));
            sum_z[1] = add(sum_z[1], z);
            sum_g[1] = add(sum_g[1], g);
            sum_gz[1] = fma(g, z, sum_gz[1]);
        }
        auto all = [](const f32v *s) {
            const f32v four = add(add(s[0], s[1]), add(s[2], s[3]));
            return add(low_f64(four), high_f64(four));
        };
        total_z = add(total_z, all(sum_z));
        total_g = add(total_g, all(sum_g));
        total_gz = add(total_gz, all(sum_gz));
    }
    row.sum_z += sum(total_z);
    row.sum_g += sum(total_g);
    row.sum_gz += sum(total_gz);
}

// From n columns of kRows rows, and their numbers: dx, rows side by side, where it is wanted; and their terms of dgamma and
// dbeta, added to `sum_gamma` and `sum_beta`, where those are wanted. While at it, what lies `ahead` elements further is
// fetched. dx may lie where dy or x does.
template <class Element, int kRows, bool kDx, bool kSums>
__attribute__((noinline)) void write(const typename Element::type *dy, const typename Element::type *x, int64_t pitch,
                                     typename Element::type *dx, const float *gamma, float *sum_gamma, float *sum_beta,
                                     int64_t n, const Row *rows, int64_t ahead) {
    using T = typename Element::type;
    constexpr int64_t kLine = kCacheLine / sizeof(T);
    f32v mean[kRows], rstd[kRows], r[kRows], a[kRows], minus_b[kRows];
    for (int k = 0; k < kRows; ++k) {
        mean[k] = set_f32(rows[k].mean);
        rstd[k] = set_f32(rows[k].rstd);
        r[k] = set_f32(rows[k].r);
        a[k] = set_f32(rows[k].a);
        minus_b[k] = set_f32(-rows[k].b);
    }
    auto terms = [&](int k, f32v y, f32v v, f32v w, f32v &to_gamma, f32v &to_beta) {
        // Not fused: where there is one element in a row, z and r are the same number.
        const f32v xhat = sub(mul(sub(v, mean[k]), rstd[k]), r[k]);
        if constexpr (kSums) {
            to_gamma = k == 0 ? mul(y, xhat) : fma(y, xhat, to_gamma);
            to_beta = k == 0 ? y : add(to_beta, y);
        }
        return mul(fma(minus_b[k], xhat, sub(mul(y, w), a[k])), rstd[k]);
    };
    auto vectors = [&](int64_t i) {
        const f32v w = load_f32(gamma + i);
        f32v to_gamma = w, to_beta = w;
        for (int k = 0; k < kRows; ++k) {
            const f32v result =
                terms(k, Element::load(dy + k * pitch + i), Element::load(x + k * pitch + i), w, to_gamma, to_beta);
            if constexpr (kDx) Element::store(dx + k * n + i, result);
        }
        if constexpr (kSums) {
            store_f32(sum_gamma + i, add(load_f32(sum_gamma + i), to_gamma));
            store_f32(sum_beta + i, add(load_f32(sum_beta + i), to_beta));
        }
    };
    int64_t i = 0;
    for (; i + kLine <= n; i += kLine) {
        for (int k = 0; k < kRows; ++k) {
            prefetch_l2(reinterpret_cast<uintptr_t>(x + k * pitch + i) + static_cast<uintptr_t>(ahead) * sizeof(T));
            prefetch_l2(reinterpret_cast<uintptr_t>(dy + k * pitch + i) + static_cast<uintptr_t>(ahead) * sizeof(T));
        }
        for (int64_t v = 0; v < kLine; v += kLanes) vectors(i + v);
    }
    for (; i + kLanes <= n; i += kLanes) vectors(i);
    if (i < n) {
        const int rest = static_cast<int>(n - i);
        const f32v w = load_f32_first(gamma + i, rest);
        f32v to_gamma = w, to_beta = w;
        for (int k = 0; k < kRows; ++k) {
            const f32v result = terms(k, Element::load_first(dy + k * pitch + i, rest),
                                      Element::load_first(x + k * pitch + i, rest), w, to_gamma, to_beta);
            if constexpr (kDx) Element::store_first(dx + k * n + i, result, rest);
        }
        if constexpr (kSums) {
            store_f32_first(sum_gamma + i, add(load_f32_first(sum_gamma + i, rest), to_gamma), rest);
            store_f32_first(sum_beta + i, add(load_f32_first(sum_beta + i, rest), to_beta), rest);
        }
    }
}

// The same for a row that float cannot carry, an element at a time: any finite numbers; NaN and infinity as they come.
template <class Element>
__attribute__((noinline)) void measure_in_double(const typename Element::type *dy, const typename Element::type *x,
                                                 const float *gamma, int64_t n, Row &row) {
    for (int64_t i = 0; i < n; ++i) {
        const double z = (static_cast<double>(Element::get(x[i])) - static_cast<double>(row.mean)) * static_cast<double>(row.rstd);
        const double g = static_cast<double>(Element::get(dy[i])) * static_cast<double>(gamma[i]);
        row.sum_z += z;
        row.sum_g += g;
        row.sum_gz += g * z;
    }
}

template <class Element>
__attribute__((noinline)) void write_in_double(const typename Element::type *dy, const typename Element::type *x,
                                               typename Element::type *dx, const float *gamma, float *sum_gamma,
                                               float *sum_beta, int64_t n, const Row &row) {
    for (int64_t i = 0; i < n; ++i) {
        const double rstd = static_cast<double>(row.rstd), y = static_cast<double>(Element::get(dy[i]));
        const double z = (static_cast<double>(Element::get(x[i])) - static_cast<double>(row.mean)) * rstd;
        const double xhat = z - row.wide_r;
        if (sum_gamma) {
            sum_gamma[i] += static_cast<float>(y * xhat);
            sum_beta[i] += static_cast<float>(y);
        }
        if (dx) {
            const double result = (y * static_cast<double>(gamma[i]) - row.wide_a - xhat * row.wide_b) * rstd;
            Element::store_first(dx + i, set_f32(static_cast<float>(result)), 1);
        }
    }
}

} // namespace
#endif // ASCEND_CY_LAYERNORM_BACKWARD_CPU_ROWS_H
