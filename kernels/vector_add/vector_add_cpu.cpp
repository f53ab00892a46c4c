// SPDX-License-Identifier: Apache-2.0
//
// y = a + b for the `cpu` target: vector_add_fp32, vector_add_fp16, vector_add_bf16, vector_add_int32.
//
// Memory decides the speed: two streams are read and one is written, past the cache where the arrays outgrow
// it. 16-bit numbers are added in float32 and rounded once. Every element depends on its own two inputs only,
// so the split into blocks changes no number. (Where both inputs are NaN, so is the sum, with the payload of
// either.)
#include <stdint.h>

#include "ascend_cy/kernel_abi.h"
#include "ascend_cy_simd.h"
#include "vector_add_tiling.h"

namespace {

using namespace ascend_cy::simd;

constexpr int kUnroll = 4;
constexpr int64_t kStep = kUnroll * kLanes;

// Three arrays beyond so many bytes, together, would only push other data out of the cache.
constexpr int64_t kStreamingBytes = 8 << 20;

template <class Element> struct Sum : Element {
    static f32v of(f32v a, f32v b) { return add(a, b); }
};

// int32 in the vectors of float: loads and stores move bits, the sum is the compiler's, modulo 2^32.
struct Int32 : Float32 {};
template <> struct Sum<Int32> : Int32 {
    static f32v of(f32v a, f32v b) {
        typedef uint32_t Lanes __attribute__((vector_size(kLanes * 4)));
        Lanes x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x += y;
        memcpy(&a, &x, sizeof x);
        return a;
    }
};

template <class Element, bool kStream>
void add_range(const typename Element::type *a, const typename Element::type *b, typename Element::type *y,
               int64_t n) {
    using T = typename Element::type;
    using S = Sum<Element>;
    auto few = [=](int64_t i, int count) {
        S::store_first(y + i, S::of(S::load_first(a + i, count), S::load_first(b + i, count)), count);
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
        f32v sum[kUnroll];
        for (int u = 0; u < kUnroll; ++u)
            sum[u] = S::of(S::load(a + i + u * kLanes), S::load(b + i + u * kLanes));
        for (int u = 0; u < kUnroll; ++u) {
            if constexpr (kStream) S::stream(y + i + u * kLanes, sum[u]);
            else S::store(y + i + u * kLanes, sum[u]);
        }
    }
    for (; i + kLanes <= n; i += kLanes) S::store(y + i, S::of(S::load(a + i), S::load(b + i)));
    if (i < n) few(i, static_cast<int>(n - i));
    if constexpr (kStream) stream_fence();
}

template <class Element>
void run_block(uint32_t block, uint32_t, const void *arguments, const ascend_kernel_services_t *) {
    using T = typename Element::type;
    const VectorAddArgs &args = *static_cast<const VectorAddArgs *>(arguments);
    if (args.n <= 0 || args.elements_per_block <= 0) return;
    int64_t begin;
    if (__builtin_mul_overflow(static_cast<int64_t>(block), args.elements_per_block, &begin) ||
        begin >= args.n)
        return;
    const int64_t left = args.n - begin;
    const int64_t n = left < args.elements_per_block ? left : args.elements_per_block;
    const T *a = reinterpret_cast<const T *>(args.a) + begin;
    const T *b = reinterpret_cast<const T *>(args.b) + begin;
    T *y = reinterpret_cast<T *>(args.y) + begin;
    // In place, the lines to be written are in the cache already.
    const bool stream =
        args.y != args.a && args.y != args.b && args.n > kStreamingBytes / (3 * int64_t{sizeof(T)});
    stream ? add_range<Element, true>(a, b, y, n) : add_range<Element, false>(a, b, y, n);
}

// What one core needs with its data in the second-level cache.
uint64_t cost_ns(const void *arguments, uint32_t num_blocks) {
    const VectorAddArgs &args = *static_cast<const VectorAddArgs *>(arguments);
    if (args.n <= 0) return 0;
    return 10 + static_cast<uint64_t>(args.n) / 8 + 20 * static_cast<uint64_t>(num_blocks);
}

#define VECTOR_ADD_PARAM(field, kind) {#field, offsetof(VectorAddArgs, field), 8, kind, 0}
const ascend_kernel_param_t params[] = {
    VECTOR_ADD_PARAM(a, ASCEND_KERNEL_PARAM_POINTER),
    VECTOR_ADD_PARAM(b, ASCEND_KERNEL_PARAM_POINTER),
    VECTOR_ADD_PARAM(y, ASCEND_KERNEL_PARAM_POINTER),
    VECTOR_ADD_PARAM(n, ASCEND_KERNEL_PARAM_INTEGER),
    VECTOR_ADD_PARAM(elements_per_block, ASCEND_KERNEL_PARAM_INTEGER),
    VECTOR_ADD_PARAM(tile_elements, ASCEND_KERNEL_PARAM_INTEGER),
};
#undef VECTOR_ADD_PARAM
constexpr uint32_t kNumParams = sizeof params / sizeof params[0];
static_assert(sizeof(VectorAddArgs) == 8 * kNumParams, "only 8-byte slots, and all of them described");

#define VECTOR_ADD_KERNEL(name, Element)                                                                     \
    {name,                                                                                                   \
     run_block<Element>,                                                                                     \
     cost_ns,                                                                                                \
     params,                                                                                                 \
     kNumParams,                                                                                             \
     sizeof(VectorAddArgs),                                                                                  \
     ASCEND_KERNEL_CORE_VECTOR,                                                                              \
     0,                                                                                                      \
     1,                                                                                                      \
     0}
const ascend_kernel_desc_t kernels[] = {
    VECTOR_ADD_KERNEL("vector_add_fp32", Float32),
    VECTOR_ADD_KERNEL("vector_add_fp16", Float16),
    VECTOR_ADD_KERNEL("vector_add_bf16", BFloat16),
    VECTOR_ADD_KERNEL("vector_add_int32", Int32),
};
#undef VECTOR_ADD_KERNEL

} // namespace

extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION,
    sizeof(ascend_kernel_table_t),
    sizeof(ascend_kernel_desc_t),
    ASCEND_KERNEL_TARGET_CPU,
    sizeof kernels / sizeof kernels[0],
    0,
    kernels,
    "vector_add " ASCEND_CY_SIMD_LEVEL " " __VERSION__,
};
