// SPDX-License-Identifier: Apache-2.0
//
// One tile of a product with a kernel of our own: c (m, n) = a (m, k) * b (k, n). Included by matmul_cpu.cpp
// only.
//
// The usual scheme: c is worked through in pieces of kRows x kColumns whose sums stay in registers while k
// runs. b is laid out in panels of kColumns columns that stay in the second-level cache, a in panels of kRows
// rows that stay in the first; both are converted to float on the way, so 16-bit types cost next to nothing.
//
// An element of c is the sum of one chain of multiply-adds over each kDepth of k. Where it lies in a tile
// does not matter, so no split changes a bit.
#ifndef ASCEND_CY_MATMUL_CPU_PACKED_H
#define ASCEND_CY_MATMUL_CPU_PACKED_H

#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "ascend_cy_simd.h"
#include "matmul_cpu_matrix.h"

namespace {

// 24 sums of 32 registers, or 12 of 16: the rest holds a row of b and an element of a.
#if defined(__aarch64__)
constexpr int kRows = 8, kVectors = 3;
#else
constexpr int kRows = kLanes == 16 ? 12 : 6, kVectors = 2;
#endif
constexpr int kColumns = kVectors * kLanes;
constexpr int64_t kDepth = 256;
// Not a multiple of the distance at which addresses compete for one set of the cache.
constexpr int64_t kAStride = kDepth + 16;
constexpr int64_t kBStride = kDepth * kColumns + 32;
// Rows of b not further apart than this many floats are read where they lie.
constexpr int64_t kNearRows = 256;

// ---- transposing

#if defined(ASCEND_CY_SIMD_SCALAR) || !(defined(__SSE2__) || defined(__aarch64__))
inline void transpose(f32v (&v)[kLanes]) {
    float from[kLanes][kLanes], to[kLanes][kLanes];
    for (int i = 0; i < kLanes; ++i) store_f32(from[i], v[i]);
    for (int i = 0; i < kLanes; ++i)
        for (int j = 0; j < kLanes; ++j) to[j][i] = from[i][j];
    for (int i = 0; i < kLanes; ++i) v[i] = load_f32(to[i]);
}
#else
// The lanes of a and b in turn, from lane kFirst on.
template <int kFirst, int... I> inline f32v zip(f32v a, f32v b, std::integer_sequence<int, I...>) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, (kFirst + I / 2 + I % 2 * kLanes)...);
#else
    typedef int Indices __attribute__((vector_size(kLanes * 4)));
    return __builtin_shuffle(a, b, Indices{(kFirst + I / 2 + I % 2 * kLanes)...});
#endif
}

// Lane j of vector i becomes lane i of vector j: log2(kLanes) perfect shuffles of all elements.
inline void transpose(f32v (&v)[kLanes]) {
    constexpr std::make_integer_sequence<int, kLanes> lanes{};
    for (int stage = 1; stage < kLanes; stage *= 2) {
        f32v next[kLanes];
        for (int i = 0; i < kLanes / 2; ++i) {
            next[2 * i] = zip<0>(v[i], v[i + kLanes / 2], lanes);
            next[2 * i + 1] = zip<kLanes / 2>(v[i], v[i + kLanes / 2], lanes);
        }
        for (int i = 0; i < kLanes; ++i) v[i] = next[i];
    }
}
#endif

// A matrix as rows of float, `stride` apart. Each row has room for padded(cols).
template <class Element>
void pack(const Matrix<const typename Element::type> &from, int64_t rows, int64_t cols, float *to,
          int64_t stride) {
    if (from.row_stride != 1 || from.col_stride == 1) {
        for (int64_t i = 0; i < rows; ++i)
            widen<Element>(from.at(i, 0), from.col_stride, to + i * stride, cols);
        return;
    }
    for (int64_t row = 0; row < rows; row += kLanes) {
        const int64_t height = rows - row < kLanes ? rows - row : kLanes;
        for (int64_t col = 0; col < cols; col += kLanes) {
            f32v v[kLanes];
            for (int i = 0; i < kLanes; ++i)
                v[i] = col + i >= cols ? set_f32(0.0f)
                       : height == kLanes
                           ? Element::load(from.at(row, col + i))
                           : Element::load_first(from.at(row, col + i), static_cast<int>(height));
            transpose(v);
            for (int64_t i = 0; i < height; ++i) store_f32(to + (row + i) * stride + col, v[i]);
        }
    }
}

// b (depth, n) as panels, kBStride apart, of kColumns columns whose rows follow one another.
template <class Element>
void pack_b(const Matrix<const typename Element::type> &b, int64_t depth, int64_t n, float *to) {
    if (n % kColumns)
        memset(to + n / kColumns * kBStride, 0, static_cast<size_t>(depth * kColumns) * sizeof(float));
    if (b.col_stride == 1) { // along the rows, as memory likes it
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t j = 0; j < n; j += kColumns)
                widen<Element>(b.at(k, j), 1, to + j / kColumns * kBStride + k * kColumns,
                               n - j < kColumns ? n - j : kColumns);
        return;
    }
    for (int64_t j = 0; j < n; j += kColumns)
        pack<Element>(b.part(0, j), depth, n - j < kColumns ? n - j : kColumns, to + j / kColumns * kBStride,
                      kColumns);
}

// ---- the inner kernel

// c (kHeight, columns) = or += a * b, with a packed and the rows of b b_stride apart.
template <class BElement, int kHeight>
inline void add_product(const float *a, const typename BElement::type *b, int64_t b_stride, float *c,
                        int64_t c_stride, int columns, int64_t depth, bool first) {
    f32v sums[kHeight][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kHeight; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] = set_f32(0.0f);
#pragma GCC unroll 1
    for (int64_t k = 0; k < depth; ++k, b += b_stride) {
        f32v row[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) row[v] = BElement::load(b + v * kLanes);
#pragma GCC unroll 16
        for (int r = 0; r < kHeight; ++r) {
            const f32v factor = set_f32(a[r * kAStride + k]);
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(factor, row[v], sums[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kHeight; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            float *const to = c + r * c_stride + v * kLanes;
            const int n = columns - v * kLanes;
            if (n >= kLanes) store_f32(to, first ? sums[r][v] : add(load_f32(to), sums[r][v]));
            else if (n > 0)
                store_f32_first(to, first ? sums[r][v] : add(load_f32_first(to, n), sums[r][v]), n);
        }
}

// b of one step in k: panels, of which whole ones may be read where they lie instead.
template <class Element> struct BPanels {
    const float *packed;
    const typename Element::type *direct; // or NULL
    int64_t direct_stride;
};

template <class Element, int kHeight>
void add_row_panel(const float *a, const BPanels<Element> &b, float *c, int64_t c_stride, int64_t n,
                   int64_t depth, bool first) {
    int64_t j = 0;
    if (b.direct)
        for (; j + kColumns <= n; j += kColumns)
            add_product<Element, kHeight>(a, b.direct + j, b.direct_stride, c + j, c_stride, kColumns, depth,
                                          first);
    for (; j < n; j += kColumns)
        add_product<Float32, kHeight>(a, b.packed + j / kColumns * kBStride, kColumns, c + j, c_stride,
                                      static_cast<int>(n - j < kColumns ? n - j : kColumns), depth, first);
}

template <class Element, int kHeight = kRows>
void add_rows_panel(int64_t height, const float *a, const BPanels<Element> &b, float *c, int64_t c_stride,
                    int64_t n, int64_t depth, bool first) {
    if (height == kHeight) add_row_panel<Element, kHeight>(a, b, c, c_stride, n, depth, first);
    else if constexpr (kHeight > 1)
        add_rows_panel<Element, kHeight - 1>(height, a, b, c, c_stride, n, depth, first);
}

// False where there is no memory for the panels.
template <class Element>
bool tile_product(const Matrix<const typename Element::type> &a,
                  const Matrix<const typename Element::type> &b, const Matrix<typename Element::type> &c,
                  int64_t m, int64_t n, int64_t k) {
    // Whether c itself holds the sums. Not where they are taken up again: the rows of c may be far apart.
    const bool in_place = std::is_same<Element, Float32>::value && k <= kDepth;
    static thread_local Scratch scratch;
    const int64_t row_panels = (m + kRows - 1) / kRows;
    const auto first_row = [=](int64_t panel) { return panel * m / row_panels; }; // all of about one height
    // Copying b pays where its rows are far apart, or where several row panels read the converted copy.
    const bool near = b.col_stride == 1 && b.row_stride <= kNearRows;
    const bool direct = near && (row_panels == 1 || std::is_same<Element, Float32>::value);
    const int64_t b_room = (n + kColumns - 1) / kColumns * kBStride;
    int64_t sums_stride = padded(n) + 16;
    float *const b_panels = scratch.get(b_room + (in_place ? 0 : m * sums_stride));
    if (!b_panels) return false;
    alignas(64) float a_panel[kRows * kAStride];
    float *sums = b_panels + b_room;
    if (in_place) {
        sums = reinterpret_cast<float *>(c.data);
        sums_stride = c.row_stride;
    }
    const int64_t whole = direct ? n / kColumns * kColumns : 0; // columns that are not packed
    for (int64_t first = 0; first < k; first += kDepth) {
        const int64_t depth = k - first < kDepth ? k - first : kDepth;
        if (whole < n)
            pack_b<Element>(b.part(first, whole), depth, n - whole, b_panels + whole / kColumns * kBStride);
        const BPanels<Element> panels{b_panels, direct ? b.at(first, 0) : nullptr, b.row_stride};
        for (int64_t panel = 0; panel < row_panels; ++panel) {
            const int64_t row = first_row(panel), height = first_row(panel + 1) - row;
            pack<Element>(a.part(row, first), height, depth, a_panel, kAStride);
            add_rows_panel<Element>(height, a_panel, panels, sums + row * sums_stride, sums_stride, n, depth,
                                    first == 0);
        }
    }
    if (!in_place)
        for (int64_t i = 0; i < m; ++i) narrow<Element>(sums + i * sums_stride, c.at(i, 0), n);
    return true;
}

} // namespace
#endif // ASCEND_CY_MATMUL_CPU_PACKED_H
