// SPDX-License-Identifier: Apache-2.0
//
// Matrix products for the `cpu` target: matmul_fp32, matmul_fp16, matmul_bf16.
//
// A block takes a run of tiles of c. Each tile is whole in k, so its sums are its own; how the device spreads
// the blocks over threads changes nothing.
#include <stdint.h>
#include <string.h>

#include "ascend_cy/kernel_abi.h"
#include "ascend_cy_simd.h"
#include "matmul_cpu_matrix.h"
#include "matmul_cpu_thin.h"
#include "matmul_tiling.h"
// Where our own kernel was measured to be at least as fast as the best BLAS, it is used; elsewhere a BLAS is.
#if defined(ASCEND_CY_MATMUL_BLAS)
#include "matmul_cpu_blas.h"
#define ASCEND_CY_MATMUL_KERNEL "BLAS"
#else
#include "matmul_cpu_packed.h"
#define ASCEND_CY_MATMUL_KERNEL "own"
#endif

namespace {

constexpr int32_t kVectorCoreException = 507035;

// A product of whole tiles with few rows, w being the operand that counts.
template <class Element>
void thin(const Matrix<const typename Element::type> &x, const Matrix<const typename Element::type> &w,
          const Matrix<typename Element::type> &y, int64_t rows, int64_t n, int64_t k) {
    static_assert(MATMUL_CPU_THIN == 4, "one case for each number of rows");
    switch (rows) {
    case 1:
        return thin_product<Element, 1>(x, w, y, n, k);
    case 2:
        return thin_product<Element, 2>(x, w, y, n, k);
    case 3:
        return thin_product<Element, 3>(x, w, y, n, k);
    case 4:
        return thin_product<Element, 4>(x, w, y, n, k);
    }
}

template <class T> bool has_contiguous_lines(const Matrix<T> &w) {
    return w.row_stride == 1 || w.col_stride == 1;
}

// A matrix whose missing dimension may have any stride: make that 1 where it helps.
template <class T> Matrix<T> normalised(Matrix<T> matrix, int64_t rows, int64_t cols) {
    if (cols == 1 && matrix.row_stride != 1) matrix.col_stride = 1;
    if (rows == 1 && matrix.col_stride != 1) matrix.row_stride = 1;
    return matrix;
}

template <class Element> class Product {
    using T = typename Element::type;

  public:
    explicit Product(const MatmulArgs &args)
        : args_(args), tile_columns_(matmul_ceil_div(args.n, args.tile_n)),
          tile_rows_(matmul_ceil_div(args.m, args.tile_m)) {}

    // False where there is no memory for conversions.
    bool tile(int64_t index) const {
        const int64_t column = index % tile_columns_ * args_.tile_n;
        const int64_t row = index / tile_columns_ % tile_rows_ * args_.tile_m;
        const int64_t batch = index / tile_columns_ / tile_rows_;
        const int64_t m = args_.m - row < args_.tile_m ? args_.m - row : args_.tile_m;
        const int64_t n = args_.n - column < args_.tile_n ? args_.n - column : args_.tile_n;
        const int64_t k = args_.k;
        Matrix<const T> a{reinterpret_cast<const T *>(args_.a) + batch * args_.a_batch_stride,
                          args_.a_row_stride, args_.a_col_stride};
        Matrix<const T> b{reinterpret_cast<const T *>(args_.b) + batch * args_.b_batch_stride,
                          args_.b_row_stride, args_.b_col_stride};
        Matrix<T> c{reinterpret_cast<T *>(args_.c) + batch * args_.c_batch_stride, args_.c_row_stride, 1};
        c = c.part(row, column);
        if (k == 0) { // an empty sum
            for (int64_t i = 0; i < m; ++i) memset(c.at(i, 0), 0, static_cast<size_t>(n) * sizeof(T));
            return true;
        }
        a = normalised(a.part(row, 0), args_.m, k);
        b = normalised(b.part(0, column), k, args_.n);
        // By the whole matrix's shape, never by the tile's: a narrow tile at the edge is none of these.
        if (args_.m <= MATMUL_CPU_THIN && has_contiguous_lines(b)) thin<Element>(a, b, c, m, n, k);
        else if (args_.n <= MATMUL_CPU_THIN && has_contiguous_lines(a))
            thin<Element>(b.transposed(), a.transposed(), c.transposed(), n, m, k);
        else return tile_product<Element>(a, b, c, m, n, k);
        return true;
    }

  private:
    const MatmulArgs &args_;
    int64_t tile_columns_, tile_rows_;
};

template <class Element>
void run_block(uint32_t block, uint32_t, const void *arguments, const ascend_kernel_services_t *services) {
    const MatmulArgs &args = *static_cast<const MatmulArgs *>(arguments);
    if (args.batch <= 0 || args.m <= 0 || args.n <= 0 || args.tile_m <= 0 || args.tile_n <= 0) return;
    const Product<Element> product(args);
    const int64_t tiles = matmul_tiles(&args);
    const int64_t first = static_cast<int64_t>(block) * args.tiles_per_block;
    for (int64_t i = first; i < tiles && i < first + args.tiles_per_block; ++i) {
        if (*services->stop) return;
        if (!product.tile(i))
            return services->violation(services, block, kVectorCoreException,
                                       "no memory to convert a tile of the operands to float32");
    }
}

// What one core needs with its data in cache.
uint64_t cost_ns(const void *arguments, uint32_t num_blocks) {
    const MatmulArgs &args = *static_cast<const MatmulArgs *>(arguments);
    if (args.batch <= 0 || args.m <= 0 || args.n <= 0) return 0;
    const double m = static_cast<double>(args.m), n = static_cast<double>(args.n),
                 k = static_cast<double>(args.k);
    const bool is_thin = args.m <= MATMUL_CPU_THIN || args.n <= MATMUL_CPU_THIN;
    const double work =
        is_thin ? 0.04 * m * n * k + 0.05 * (m + n) * k : 0.015 * m * n * k + 0.1 * (m + n) * k;
    const double cost = static_cast<double>(args.batch) * (60.0 + work + 0.1 * m * n) + 20.0 * num_blocks;
    return cost < 1e18 ? static_cast<uint64_t>(cost) : UINT64_MAX;
}

#define MATMUL_PARAM(field, kind) {#field, offsetof(MatmulArgs, field), 8, kind, 0}
const ascend_kernel_param_t params[] = {
    MATMUL_PARAM(a, ASCEND_KERNEL_PARAM_POINTER),
    MATMUL_PARAM(b, ASCEND_KERNEL_PARAM_POINTER),
    MATMUL_PARAM(c, ASCEND_KERNEL_PARAM_POINTER),
    MATMUL_PARAM(batch, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(m, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(n, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(k, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(a_row_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(a_col_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(a_batch_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(b_row_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(b_col_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(b_batch_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(c_row_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(c_batch_stride, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(tile_m, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(tile_n, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(tile_k, ASCEND_KERNEL_PARAM_INTEGER),
    MATMUL_PARAM(tiles_per_block, ASCEND_KERNEL_PARAM_INTEGER),
};
#undef MATMUL_PARAM
constexpr uint32_t kNumParams = sizeof params / sizeof params[0];
static_assert(sizeof(MatmulArgs) == 8 * kNumParams, "only 8-byte slots, and all of them described");

#define MATMUL_KERNEL(name, Element)                                                                         \
    {                                                                                                        \
        name,                                                                                                \
        run_block<Element>,                                                                                  \
        cost_ns,                                                                                             \
        params,                                                                                              \
        kNumParams,                                                                                          \
        sizeof(MatmulArgs),                                                                                  \
        ASCEND_KERNEL_CORE_CUBE,                                                                             \
        0,                                                                                                   \
        1,                                                                                                   \
        0}
const ascend_kernel_desc_t kernels[] = {
    MATMUL_KERNEL("matmul_fp32", Float32),
    MATMUL_KERNEL("matmul_fp16", Float16),
    MATMUL_KERNEL("matmul_bf16", BFloat16),
};
#undef MATMUL_KERNEL

} // namespace

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION,
    sizeof(ascend_kernel_table_t),
    sizeof(ascend_kernel_desc_t),
    ASCEND_KERNEL_TARGET_CPU,
    sizeof kernels / sizeof kernels[0],
    0,
    kernels,
    "matmul " ASCEND_CY_SIMD_LEVEL " " ASCEND_CY_MATMUL_KERNEL " " __VERSION__,
};
