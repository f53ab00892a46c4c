// SPDX-License-Identifier: Apache-2.0
// x86-64-v4: AVX-512 F, BW, CD, DQ, VL. Included by ascend_cy_simd.h only.
#ifndef ASCEND_CY_SIMD_AVX512_H
#define ASCEND_CY_SIMD_AVX512_H

#include <immintrin.h>

namespace ascend_cy {
namespace simd {

#define ASCEND_CY_SIMD_LEVEL "x86-64-v4"
constexpr int kLanes = 16;
using f32v = __m512;
using f64v = __m512d;

inline __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1u); }

// float
inline f32v set_f32(float v) { return _mm512_set1_ps(v); }
inline f32v load_f32(const float *p) { return _mm512_loadu_ps(p); }
inline f32v load_f32_first(const float *p, int n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void store_f32(float *p, f32v v) { _mm512_storeu_ps(p, v); }
inline void store_f32_first(float *p, f32v v, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
inline void stream_f32(float *p, f32v v) { _mm512_stream_ps(p, v); }
inline f32v add(f32v a, f32v b) { return _mm512_add_ps(a, b); }
inline f32v sub(f32v a, f32v b) { return _mm512_sub_ps(a, b); }
inline f32v mul(f32v a, f32v b) { return _mm512_mul_ps(a, b); }
inline f32v fma(f32v a, f32v b, f32v c) { return _mm512_fmadd_ps(a, b, c); }
inline f32v min(f32v a, f32v b) { return _mm512_min_ps(a, b); }
inline f32v abs(f32v v) { return _mm512_abs_ps(v); }
inline f32v set_sign(f32v v) { return _mm512_or_ps(v, _mm512_set1_ps(-0.0f)); }
inline f32v keep_first(f32v v, int n) { return _mm512_maskz_mov_ps(first_lanes(n), v); }
// Lanes that are, by turns, sums of lanes of a and of b.
inline f32v interleaved_sum(f32v a, f32v b) { return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)); }
inline bool any_less(f32v a, f32v b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ) != 0; }
inline f32v if_less(f32v a, f32v b, f32v then, f32v otherwise) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), otherwise, then);
}
inline bool any_differ(f32v a, f32v b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ) != 0; }
// The larger |value| of each lane, by bits: infinity beats numbers and NaN beats infinity. `largest` holds no sign.
inline f32v max_magnitude(f32v largest, f32v v) {
    return _mm512_castsi512_ps(_mm512_max_epu32(_mm512_castps_si512(largest), _mm512_castps_si512(abs(v))));
}
inline float largest_lane(f32v magnitudes) {
    return float_of(_mm512_reduce_max_epu32(_mm512_castps_si512(magnitudes)));
}

// double
inline f64v set_f64(double v) { return _mm512_set1_pd(v); }
inline f64v low_f64(f32v v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(v)); }
inline f64v high_f64(f32v v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)); }
inline f32v to_f32(f64v low, f64v high) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}
inline f64v add(f64v a, f64v b) { return _mm512_add_pd(a, b); }
inline f64v sub(f64v a, f64v b) { return _mm512_sub_pd(a, b); }
inline f64v mul(f64v a, f64v b) { return _mm512_mul_pd(a, b); }
// The sum of all lanes.
inline double sum(f64v v) {
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
// The sum of the even lanes and the sum of the odd lanes.
inline void store_two_sums(double *p, f64v v) {
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    _mm_storeu_pd(p, _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1)));
}

// float16
inline float get_f16(uint16_t h) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h))); }
inline f32v load_f16(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
inline f32v load_f16_first(const uint16_t *p, int n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
inline __m256i to_f16(f32v v) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline void store_f16(uint16_t *p, f32v v) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), to_f16(v)); }
inline void store_f16_first(uint16_t *p, f32v v, int n) { _mm256_mask_storeu_epi16(p, first_lanes(n), to_f16(v)); }
inline void stream_f16(uint16_t *p, f32v v) { _mm256_stream_si256(reinterpret_cast<__m256i *>(p), to_f16(v)); }

// bfloat16
inline f32v from_bf16(__m256i h) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
inline f32v load_bf16(const uint16_t *p) {
    return from_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
inline f32v load_bf16_first(const uint16_t *p, int n) {
    return from_bf16(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
inline __m512i round_bf16(__m512i bits) { // right for all but NaN
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
}
inline __m256i number_to_bf16(f32v v) {
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(round_bf16(_mm512_castps_si512(v)), 16));
}
inline __m256i to_bf16(f32v v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i result = _mm512_mask_or_epi32(round_bf16(bits), nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(result, 16));
}
inline void store_bf16(uint16_t *p, f32v v) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), to_bf16(v)); }
inline void store_bf16_first(uint16_t *p, f32v v, int n) { _mm256_mask_storeu_epi16(p, first_lanes(n), to_bf16(v)); }
inline void stream_bf16(uint16_t *p, f32v v) { _mm256_stream_si256(reinterpret_cast<__m256i *>(p), to_bf16(v)); }
// The same for vectors that hold no NaN.
inline void store_bf16_number(uint16_t *p, f32v v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), number_to_bf16(v));
}
inline void stream_bf16_number(uint16_t *p, f32v v) {
    _mm256_stream_si256(reinterpret_cast<__m256i *>(p), number_to_bf16(v));
}

inline void stream_fence() { _mm_sfence(); }

} // namespace simd
} // namespace ascend_cy
#endif // ASCEND_CY_SIMD_AVX512_H
