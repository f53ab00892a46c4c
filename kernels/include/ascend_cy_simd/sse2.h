// SPDX-License-Identifier: Apache-2.0
// The x86-64 baseline: SSE2 and nothing later. Included by ascend_cy_simd.h only.
#ifndef ASCEND_CY_SIMD_SSE2_H
#define ASCEND_CY_SIMD_SSE2_H

#include <emmintrin.h>

namespace ascend_cy {
namespace simd {

#define ASCEND_CY_SIMD_LEVEL "x86-64-v1"
constexpr int kLanes = 4;
using f32v = __m128;
using f64v = __m128d;

inline __m128i first_lanes(int n) { return _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3)); }
// Lanes of `a` where the mask is set, of `b` elsewhere.
inline __m128i select(__m128i mask, __m128i a, __m128i b) {
    return _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b));
}

// float
inline f32v set_f32(float v) { return _mm_set1_ps(v); }
inline f32v load_f32(const float *p) { return _mm_loadu_ps(p); }
inline f32v load_f32_first(const float *p, int n) {
    alignas(16) float few[4] = {};
    copy_few(few, p, static_cast<size_t>(n) * 4);
    return _mm_load_ps(few);
}
inline void store_f32(float *p, f32v v) { _mm_storeu_ps(p, v); }
inline void store_f32_first(float *p, f32v v, int n) {
    alignas(16) float few[4];
    _mm_store_ps(few, v);
    copy_few(p, few, static_cast<size_t>(n) * 4);
}
inline void stream_f32(float *p, f32v v) { _mm_stream_ps(p, v); }
inline f32v add(f32v a, f32v b) { return _mm_add_ps(a, b); }
inline f32v sub(f32v a, f32v b) { return _mm_sub_ps(a, b); }
inline f32v mul(f32v a, f32v b) { return _mm_mul_ps(a, b); }
inline f32v fma(f32v a, f32v b, f32v c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
inline f32v min(f32v a, f32v b) { return _mm_min_ps(a, b); }
inline f32v abs(f32v v) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), v); }
inline f32v set_sign(f32v v) { return _mm_or_ps(v, _mm_set1_ps(-0.0f)); }
inline f32v keep_first(f32v v, int n) { return _mm_and_ps(v, _mm_castsi128_ps(first_lanes(n))); }
// Lanes that are, by turns, sums of lanes of a and of b.
inline f32v interleaved_sum(f32v a, f32v b) { return _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b)); }
inline bool any_less(f32v a, f32v b) { return _mm_movemask_ps(_mm_cmplt_ps(a, b)) != 0; }
inline f32v if_less(f32v a, f32v b, f32v then, f32v otherwise) {
    const f32v less = _mm_cmplt_ps(a, b);
    return _mm_or_ps(_mm_and_ps(less, then), _mm_andnot_ps(less, otherwise));
}
inline bool any_differ(f32v a, f32v b) { return _mm_movemask_ps(_mm_cmpneq_ps(a, b)) != 0; }
// The larger |value| of each lane, by bits: infinity beats numbers and NaN beats infinity. `largest` holds no sign.
inline f32v max_magnitude(f32v largest, f32v v) {
    const __m128i a = _mm_castps_si128(largest), b = _mm_castps_si128(abs(v));
    return _mm_castsi128_ps(select(_mm_cmpgt_epi32(a, b), a, b));
}
inline float largest_lane(f32v magnitudes) {
    f32v m = max_magnitude(magnitudes, _mm_shuffle_ps(magnitudes, magnitudes, _MM_SHUFFLE(1, 0, 3, 2)));
    m = max_magnitude(m, _mm_shuffle_ps(m, m, _MM_SHUFFLE(2, 3, 0, 1)));
    return float_of(static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_castps_si128(m))));
}

// double
inline f64v set_f64(double v) { return _mm_set1_pd(v); }
inline f64v low_f64(f32v v) { return _mm_cvtps_pd(v); }
inline f64v high_f64(f32v v) { return _mm_cvtps_pd(_mm_movehl_ps(v, v)); }
inline f32v to_f32(f64v low, f64v high) { return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high)); }
inline f64v add(f64v a, f64v b) { return _mm_add_pd(a, b); }
inline f64v sub(f64v a, f64v b) { return _mm_sub_pd(a, b); }
inline f64v mul(f64v a, f64v b) { return _mm_mul_pd(a, b); }
// The sum of all lanes.
inline double sum(f64v v) { return _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v))); }
// The sum of the even lanes and the sum of the odd lanes.
inline void store_two_sums(double *p, f64v v) { _mm_storeu_pd(p, v); }

// 16-bit elements: four at a time, in the low half of a register
inline __m128i load_16(const uint16_t *p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p)); }
inline __m128i load_first_16(const uint16_t *p, int n) {
    alignas(8) uint16_t few[4] = {};
    copy_few(few, p, static_cast<size_t>(n) * 2);
    return load_16(few);
}
inline void store_16(uint16_t *p, __m128i v) { _mm_storel_epi64(reinterpret_cast<__m128i *>(p), v); }
inline void store_first_16(uint16_t *p, __m128i v, int n) {
    alignas(8) uint16_t few[4];
    store_16(few, v);
    copy_few(p, few, static_cast<size_t>(n) * 2);
}
inline void stream_16(uint16_t *p, __m128i v) {
    _mm_stream_si64(reinterpret_cast<long long *>(p), _mm_cvtsi128_si64(v));
}
// The low 16 bits of each 32-bit lane, which must hold a number below 2^16; SSE2 packs with signed saturation only.
inline __m128i narrow_16(__m128i v) {
    const __m128i extended = _mm_srai_epi32(_mm_slli_epi32(v, 16), 16);
    return _mm_packs_epi32(extended, extended);
}

// float16, as half_to_float and float_to_half above
inline float get_f16(uint16_t h) { return half_to_float(h); }
inline f32v from_f16(__m128i h) {
    const __m128i wide = _mm_unpacklo_epi16(h, _mm_setzero_si128());
    const __m128i sign = _mm_slli_epi32(_mm_and_si128(wide, _mm_set1_epi32(0x8000)), 16);
    const __m128i magnitude = _mm_slli_epi32(_mm_and_si128(wide, _mm_set1_epi32(0x7fff)), 13);
    const __m128i normal = _mm_add_epi32(magnitude, _mm_set1_epi32(112 << 23));
    const __m128i extreme = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x0f7fffff));
    const __m128i tiny = _mm_cmpgt_epi32(_mm_set1_epi32(0x00800000), magnitude);
    const __m128i offset = _mm_set1_epi32(113 << 23);
    const __m128i subnormal = _mm_castps_si128(
        _mm_sub_ps(_mm_castsi128_ps(_mm_add_epi32(magnitude, offset)), _mm_castsi128_ps(offset)));
    const __m128i finite = select(tiny, subnormal, normal);
    const __m128i shifted = _mm_add_epi32(finite, _mm_and_si128(extreme, _mm_set1_epi32(112 << 23)));
    return _mm_castsi128_ps(_mm_or_si128(sign, shifted));
}
inline __m128i to_f16(f32v v) {
    const __m128i bits = _mm_castps_si128(v);
    const __m128i sign = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(0x8000));
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
    const __m128i odd = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(1));
    const __m128i bias = _mm_set1_epi32(0xfff - (112 << 23));
    const __m128i normal = _mm_srli_epi32(_mm_add_epi32(_mm_add_epi32(magnitude, bias), odd), 13);
    const __m128 half = _mm_set1_ps(0.5f);
    const __m128i subnormal =
        _mm_sub_epi32(_mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(magnitude), half)), _mm_castps_si128(half));
    const __m128i nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000));
    const __m128i infinite = _mm_or_si128(_mm_set1_epi32(0x7c00), _mm_and_si128(nan, _mm_set1_epi32(0x200)));
    __m128i result = select(_mm_cmpgt_epi32(_mm_set1_epi32(113 << 23), magnitude), subnormal, normal);
    result = select(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x477fffff)), infinite, result);
    return narrow_16(_mm_or_si128(sign, result));
}
inline f32v load_f16(const uint16_t *p) { return from_f16(load_16(p)); }
inline f32v load_f16_first(const uint16_t *p, int n) { return from_f16(load_first_16(p, n)); }
inline void store_f16(uint16_t *p, f32v v) { store_16(p, to_f16(v)); }
inline void store_f16_first(uint16_t *p, f32v v, int n) { store_first_16(p, to_f16(v), n); }
inline void stream_f16(uint16_t *p, f32v v) { stream_16(p, to_f16(v)); }

// bfloat16
inline f32v from_bf16(__m128i h) { return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), h)); }
inline __m128i round_bf16(__m128i bits) { // right for all but NaN
    const __m128i odd = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(1));
    return _mm_add_epi32(_mm_add_epi32(bits, _mm_set1_epi32(0x7fff)), odd);
}
inline __m128i number_to_bf16(f32v v) { return narrow_16(_mm_srli_epi32(round_bf16(_mm_castps_si128(v)), 16)); }
inline __m128i to_bf16(f32v v) {
    const __m128i bits = _mm_castps_si128(v);
    const __m128i quiet = _mm_or_si128(bits, _mm_set1_epi32(0x400000));
    const __m128i nan = _mm_castps_si128(_mm_cmpunord_ps(v, v));
    return narrow_16(_mm_srli_epi32(select(nan, quiet, round_bf16(bits)), 16));
}
inline f32v load_bf16(const uint16_t *p) { return from_bf16(load_16(p)); }
inline f32v load_bf16_first(const uint16_t *p, int n) { return from_bf16(load_first_16(p, n)); }
inline void store_bf16(uint16_t *p, f32v v) { store_16(p, to_bf16(v)); }
inline void store_bf16_first(uint16_t *p, f32v v, int n) { store_first_16(p, to_bf16(v), n); }
inline void stream_bf16(uint16_t *p, f32v v) { stream_16(p, to_bf16(v)); }
// The same for vectors that hold no NaN.
inline void store_bf16_number(uint16_t *p, f32v v) { store_16(p, number_to_bf16(v)); }
inline void stream_bf16_number(uint16_t *p, f32v v) { stream_16(p, number_to_bf16(v)); }

inline void stream_fence() { _mm_sfence(); }

} // namespace simd
} // namespace ascend_cy
#endif // ASCEND_CY_SIMD_SSE2_H
