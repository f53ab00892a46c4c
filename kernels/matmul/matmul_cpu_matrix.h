// SPDX-License-Identifier: Apache-2.0
//
// Matrices in memory, runs of elements to float and back, and memory for such copies. Included by the other
// files of the `cpu` matmul only.
#ifndef ASCEND_CY_MATMUL_CPU_MATRIX_H
#define ASCEND_CY_MATMUL_CPU_MATRIX_H

#include <stdint.h>
#include <stdlib.h>

#include "ascend_cy_simd.h"

namespace {

using namespace ascend_cy::simd;

// Strides count elements and may be anything for a matrix that is only read.
template <class T> struct Matrix {
    T *data;
    int64_t row_stride, col_stride;
    T *at(int64_t row, int64_t col) const { return data + row * row_stride + col * col_stride; }
    // From an element on.
    Matrix part(int64_t row, int64_t col) const { return Matrix{at(row, col), row_stride, col_stride}; }
    Matrix transposed() const { return Matrix{data, col_stride, row_stride}; }
};

constexpr int64_t padded(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// n elements to float. `to` has room for padded(n).
template <class Element>
void widen(const typename Element::type *from, int64_t stride, float *to, int64_t n) {
    int64_t i = 0;
    if (stride == 1) {
        for (; i + kLanes <= n; i += kLanes) store_f32(to + i, Element::load(from + i));
        if (i < n) store_f32(to + i, Element::load_first(from + i, static_cast<int>(n - i)));
    } else {
        for (; i < n; ++i) to[i] = Element::get(from[i * stride]);
    }
}

// n floats to elements, rounded once. `from` may be read up to padded(n).
template <class Element> void narrow(const float *from, typename Element::type *to, int64_t n) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) Element::store(to + i, load_f32(from + i));
    if (i < n) Element::store_first(to + i, load_f32(from + i), static_cast<int>(n - i));
}

// Room for the panels of one thread; kept, since mapping some MiB anew for each tile would cost more than a
// small product.
class Scratch {
  public:
    ~Scratch() { free(data_); }
    // NULL where there is no memory. The content is lost.
    float *get(int64_t floats) {
        if (floats > size_) {
            free(data_);
            const size_t bytes = static_cast<size_t>((floats + 15) / 16 * 16) * sizeof(float);
            data_ = static_cast<float *>(aligned_alloc(kCacheLine, bytes));
            size_ = data_ ? floats : 0;
        }
        return data_;
    }

  private:
    float *data_ = nullptr;
    int64_t size_ = 0;
};

} // namespace
#endif // ASCEND_CY_MATMUL_CPU_MATRIX_H
