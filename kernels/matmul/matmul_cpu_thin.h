// SPDX-License-Identifier: Apache-2.0
//
// Products with at most four rows: y (R, n) = x (R, k) * w (k, n), each of any strides. Every element of w is
// used R times only, so the memory that carries w decides the speed: w is read once, in the order in which it
// lies, in its own type. Included by matmul_cpu.cpp only.
//
// A column of y depends on its column of w alone, in the same order of operations wherever it lies, so no
// split of the columns changes a bit. Sums longer than kThinDepth are blocked.
#ifndef ASCEND_CY_MATMUL_CPU_THIN_H
#define ASCEND_CY_MATMUL_CPU_THIN_H

#include <stdint.h>

#include <type_traits>

#include "ascend_cy_simd.h"
#include "matmul_cpu_matrix.h"

namespace {

constexpr int64_t kThinDepth = 1024; // of k in one go: x as float takes 16 KiB at most
template <int R> constexpr int64_t kThinColumns = 2048 / R / 64 * 64; // so that their sums stay in L1

inline float sum_of_lanes(f32v v) { return static_cast<float>(sum(add(low_f64(v), high_f64(v)))); }

// sums[r][j] += x[r][0 : depth] * w[0 : depth][j] where the rows of w are contiguous.
template <class Element, int R>
void add_rows(const float (*x)[kThinDepth], const typename Element::type *w, int64_t row_stride,
              int64_t depth, int64_t columns, float (*sums)[kThinColumns<R>]) {
    constexpr int kRows = 4; // of w at a time: each sum is then loaded and stored once in four steps
    auto add_some = [=](int64_t k, auto rows) {
        constexpr int kCount = decltype(rows)::value;
        f32v factor[R][kCount];
        for (int r = 0; r < R; ++r)
            for (int i = 0; i < kCount; ++i) factor[r][i] = set_f32(x[r][k + i]);
        const typename Element::type *from = w + k * row_stride;
        auto add_vector = [&](int64_t j, auto load) {
            f32v v[kCount];
            for (int i = 0; i < kCount; ++i) v[i] = load(from + i * row_stride + j);
            for (int r = 0; r < R; ++r) {
                f32v total = load_f32(sums[r] + j);
                for (int i = 0; i < kCount; ++i) total = fma(factor[r][i], v[i], total);
                store_f32(sums[r] + j, total);
            }
        };
        int64_t j = 0;
        for (; j + kLanes <= columns; j += kLanes)
            add_vector(j, [](const auto *p) { return Element::load(p); });
        const int rest = static_cast<int>(columns - j);
        if (rest > 0) add_vector(j, [=](const auto *p) { return Element::load_first(p, rest); });
    };
    int64_t k = 0;
    for (; k + kRows <= depth; k += kRows) add_some(k, std::integral_constant<int, kRows>());
    for (; k < depth; ++k) add_some(k, std::integral_constant<int, 1>());
}

// The same where the columns of w are contiguous.
template <class Element, int R>
void add_columns(const float (*x)[kThinDepth], const typename Element::type *w, int64_t col_stride,
                 int64_t depth, int64_t columns, float (*sums)[kThinColumns<R>]) {
    auto add_some = [=](int64_t j, auto together) {
        constexpr int kCount = decltype(together)::value;
        f32v totals[R][kCount];
        for (int r = 0; r < R; ++r)
            for (int i = 0; i < kCount; ++i) totals[r][i] = set_f32(0.0f);
        const typename Element::type *from = w + j * col_stride;
        auto add_vector = [&](int64_t k, auto load, auto load_x) {
            f32v v[kCount];
            for (int i = 0; i < kCount; ++i) v[i] = load(from + i * col_stride + k);
            for (int r = 0; r < R; ++r) {
                const f32v factor = load_x(x[r] + k);
                for (int i = 0; i < kCount; ++i) totals[r][i] = fma(factor, v[i], totals[r][i]);
            }
        };
        int64_t k = 0;
        for (; k + kLanes <= depth; k += kLanes)
            add_vector(
                k, [](const auto *p) { return Element::load(p); },
                [](const float *p) { return load_f32(p); });
        const int rest = static_cast<int>(depth - k);
        if (rest > 0) // lanes beyond the end read as zero on both sides
            add_vector(
                k, [=](const auto *p) { return Element::load_first(p, rest); },
                [=](const float *p) { return load_f32_first(p, rest); });
        for (int r = 0; r < R; ++r)
            for (int i = 0; i < kCount; ++i) sums[r][j + i] += sum_of_lanes(totals[r][i]);
    };
    constexpr int kTogether = R <= 2 ? 4 : 2; // columns: what the registers hold
    int64_t j = 0;
    for (; j + kTogether <= columns; j += kTogether) add_some(j, std::integral_constant<int, kTogether>());
    for (; j < columns; ++j) add_some(j, std::integral_constant<int, 1>());
}

// Columns [0, n) of y. One of the strides of w is 1.
template <class Element, int R>
void thin_product(Matrix<const typename Element::type> x, Matrix<const typename Element::type> w,
                  Matrix<typename Element::type> y, int64_t n, int64_t k) {
    using T = typename Element::type;
    constexpr int64_t kColumns = kThinColumns<R>;
    alignas(64) float factors[R][kThinDepth], sums[R][kColumns], totals[R][kColumns];
    for (int64_t column = 0; column < n; column += kColumns) {
        const int64_t columns = n - column < kColumns ? n - column : kColumns;
        const size_t padded = static_cast<size_t>((columns + kLanes - 1) / kLanes * kLanes);
        for (int r = 0; r < R; ++r) memset(totals[r], 0, padded * sizeof(float));
        for (int64_t first = 0; first < k; first += kThinDepth) {
            const int64_t depth = k - first < kThinDepth ? k - first : kThinDepth;
            for (int r = 0; r < R; ++r) widen<Element>(x.at(r, first), x.col_stride, factors[r], depth);
            float (*into)[kColumns] = first == 0 ? totals : sums;
            if (first != 0)
                for (int r = 0; r < R; ++r) memset(sums[r], 0, padded * sizeof(float));
            const T *from = w.at(first, column);
            if (w.col_stride == 1) add_rows<Element, R>(factors, from, w.row_stride, depth, columns, into);
            else add_columns<Element, R>(factors, from, w.col_stride, depth, columns, into);
            if (first != 0)
                for (int r = 0; r < R; ++r)
                    for (size_t j = 0; j < padded; j += kLanes)
                        store_f32(totals[r] + j, add(load_f32(totals[r] + j), load_f32(sums[r] + j)));
        }
        for (int r = 0; r < R; ++r) {
            if (y.col_stride == 1) {
                narrow<Element>(totals[r], y.at(r, column), columns);
                continue;
            }
            T *const few = reinterpret_cast<T *>(sums[r]);
            narrow<Element>(totals[r], few, columns);
            for (int64_t j = 0; j < columns; ++j) *y.at(r, column + j) = few[j];
        }
    }
}

} // namespace
#endif // ASCEND_CY_MATMUL_CPU_THIN_H
