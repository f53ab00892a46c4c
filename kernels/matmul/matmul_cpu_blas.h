// SPDX-License-Identifier: Apache-2.0
//
// One tile of a product through the BLAS: c (m, n) = a (m, k) * b (k, n) with one sgemm of one thread where
// the operands are float32 as a BLAS wants them, else over panels converted to float. Included by
// matmul_cpu.cpp only.
#ifndef ASCEND_CY_MATMUL_CPU_BLAS_H
#define ASCEND_CY_MATMUL_CPU_BLAS_H

#include <limits.h>
#include <stdint.h>

#include <mutex>
#include <type_traits>

#include <cblas.h>

#include "ascend_cy_simd.h"
#include "matmul_cpu_matrix.h"

namespace {

// The blocks of a launch are its threads; a BLAS that made more of its own would only be in their way, and
// its sums would depend on how many. The setting belongs to the whole library, hence to whoever else uses
// this copy of it (NumPy and SciPy bring their own): it is looked at before each tile.
inline void use_one_thread() {
    if (__builtin_expect(scipy_openblas_get_num_threads() == 1, 1)) return;
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    if (scipy_openblas_get_num_threads() != 1) scipy_openblas_set_num_threads(1);
}

// An operand of sgemm.
struct Operand {
    CBLAS_TRANSPOSE trans;
    const float *data;
    blasint stride;
};

// How a BLAS sees a matrix of float: false where it cannot.
inline bool blas_operand(const Matrix<const float> &matrix, int64_t rows, int64_t cols, Operand *operand) {
    // The stride of a single row or column says nothing.
    const int64_t row_stride = rows == 1 ? cols : matrix.row_stride;
    const int64_t col_stride = cols == 1 ? rows : matrix.col_stride;
    operand->data = matrix.data;
    if ((matrix.col_stride == 1 || cols == 1) && row_stride >= cols && row_stride <= INT_MAX) {
        *operand = {CblasNoTrans, matrix.data, static_cast<blasint>(row_stride)};
        return true;
    }
    if ((matrix.row_stride == 1 || rows == 1) && col_stride >= rows && col_stride <= INT_MAX) {
        *operand = {CblasTrans, matrix.data, static_cast<blasint>(col_stride)};
        return true;
    }
    return false;
}

// c = a * b, or c += a * b. Without `accumulate`, c is not read.
inline void sgemm(const Operand &a, const Operand &b, float *c, int64_t c_stride, int64_t m, int64_t n,
                  int64_t k, bool accumulate) {
    scipy_cblas_sgemm(CblasRowMajor, a.trans, b.trans, static_cast<blasint>(m), static_cast<blasint>(n),
                      static_cast<blasint>(k), 1.0f, a.data, a.stride, b.data, b.stride,
                      accumulate ? 1.0f : 0.0f, c, static_cast<blasint>(c_stride));
}

// Distance of two lines of a panel: not a power of two, since those would compete for the same sets of the
// cache.
inline int64_t panel_stride(int64_t length) { return padded(length) + 16; }

// Floats that a panel takes, with its lines in either direction.
inline int64_t panel_room(int64_t rows, int64_t cols) {
    const int64_t by_row = rows * panel_stride(cols), by_column = cols * panel_stride(rows);
    return by_row > by_column ? by_row : by_column;
}

// A panel as float, its lines in the direction in which the matrix is contiguous.
template <class Element>
Operand convert_panel(const Matrix<const typename Element::type> &matrix, int64_t rows, int64_t cols,
                      float *to) {
    const bool by_column = matrix.row_stride == 1 && matrix.col_stride != 1;
    const Matrix<const typename Element::type> lines = by_column ? matrix.transposed() : matrix;
    const int64_t count = by_column ? cols : rows, length = by_column ? rows : cols;
    const int64_t stride = panel_stride(length);
    for (int64_t i = 0; i < count; ++i)
        widen<Element>(lines.at(i, 0), lines.col_stride, to + i * stride, length);
    return Operand{by_column ? CblasTrans : CblasNoTrans, to, static_cast<blasint>(stride)};
}

constexpr int64_t kPanelDepth = 512; // of k in one panel

// False where there is no memory for the panels.
template <class Element>
bool panel_product(const Matrix<const typename Element::type> &a,
                   const Matrix<const typename Element::type> &b, const Matrix<typename Element::type> &c,
                   int64_t m, int64_t n, int64_t k) {
    static thread_local Scratch scratch;
    const int64_t depth = k < kPanelDepth ? k : kPanelDepth;
    const int64_t a_room = panel_room(m, depth), b_room = panel_room(depth, n);
    const int64_t c_stride = panel_stride(n);
    float *const a_panel = scratch.get(a_room + b_room + m * c_stride);
    if (!a_panel) return false;
    float *const b_panel = a_panel + a_room, *const sums = b_panel + b_room;
    for (int64_t first = 0; first < k; first += kPanelDepth) {
        const int64_t now = k - first < kPanelDepth ? k - first : kPanelDepth;
        const Operand a_operand = convert_panel<Element>(a.part(0, first), m, now, a_panel);
        const Operand b_operand = convert_panel<Element>(b.part(first, 0), now, n, b_panel);
        sgemm(a_operand, b_operand, sums, c_stride, m, n, now, first != 0);
    }
    for (int64_t i = 0; i < m; ++i) narrow<Element>(sums + i * c_stride, c.at(i, 0), n);
    return true;
}

template <class Element>
bool tile_product(const Matrix<const typename Element::type> &a,
                  const Matrix<const typename Element::type> &b, const Matrix<typename Element::type> &c,
                  int64_t m, int64_t n, int64_t k) {
    use_one_thread();
    if constexpr (std::is_same<Element, Float32>::value) {
        Operand a_operand, b_operand;
        const int64_t c_stride = m == 1 ? n : c.row_stride;
        if (k <= INT_MAX && c_stride <= INT_MAX && blas_operand(a, m, k, &a_operand) &&
            blas_operand(b, k, n, &b_operand)) {
            sgemm(a_operand, b_operand, c.data, c_stride, m, n, k, false);
            return true;
        }
    }
    return panel_product<Element>(a, b, c, m, n, k);
}

} // namespace
#endif // ASCEND_CY_MATMUL_CPU_BLAS_H
