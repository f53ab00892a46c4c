// SPDX-License-Identifier: Apache-2.0
// x86-64-v3: AVX2, FMA, F16C. Included by ascend_cy_simd.h only.
#ifndef ASCEND_CY_SIMD_AVX2_H
#define ASCEND_CY_SIMD_AVX2_H

#include <immintrin.h>

namespace ascend_cy {
namespace simd {

#define ASCEND_CY_SIMD_LEVEL "x86-64-v3"
constexpr int kLanes = 8;
using f32v = __m256;
using f64v = __m256d;

inline __m256i first_lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// float
inline f32v set_f32(float v) { return _mm256_set1_ps(v); }
inline f32v load_f32(const float *p) { return _mm256_loadu_ps(p); }
inline f32v load_f32_first(const float *p, int n) { return _mm256_maskload_ps(p, first_lanes(n)); }
inline void store_f32(float *p, f32v v) { _mm256_storeu_ps(p, v); }
inline void store_f32_first(float *p, f32v v, int n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
inline void stream_f32(float *p, f32v v) { _mm256_stream_ps(p, v); }
inline f32v add(f32v a, f32v b) { return _mm256_add_ps(a, b); }
inline f32v sub(f32v a, f32v b) { return _mm256_sub_ps(a, b); }
inline f32v mul(f32v a, f32v b) { return _mm256_mul_ps(a, b); }
inline f32v fma(f32v a, f32v b, f32v c) { return _mm256_fmadd_ps(a, b, c); }
inline f32v min(f32v a, f32v b) { return _mm256_min_ps(a, b); }
inline f32v abs(f32v v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v); }
inline f32v set_sign(f32v v) { return _mm256_or_ps(v, _mm256_set1_ps(-0.0f)); }
inline f32v keep_first(f32v v, int n) { return _mm256_and_ps(v, _mm256_castsi256_ps(first_lanes(n))); }
// Lanes that are, by turns, sums of lanes of a and of b.
inline f32v interleaved_sum(f32v a, f32v b) { return _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)); }
inline bool any_less(f32v a, f32v b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)) != 0; }
inline f32v if_less(f32v a, f32v b, f32v then, f32v otherwise) {
    return _mm256_blendv_ps(otherwise, then, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
inline bool any_differ(f32v a, f32v b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ)) != 0; }
// The larger |value| of each lane, by bits: infinity beats numbers and NaN beats infinity. `largest` holds no sign.
inline f32v max_magnitude(f32v largest, f32v v) {
    return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_castps_si256(largest), _mm256_castps_si256(abs(v))));
}
inline float largest_lane(f32v magnitudes) {
    const __m256i eight = _mm256_castps_si256(magnitudes);
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(1, 0, 3, 2)));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, _MM_SHUFFLE(2, 3, 0, 1)));
    return float_of(static_cast<uint32_t>(_mm_cvtsi128_si32(m)));
}

// double
inline f64v set_f64(double v) { return _mm256_set1_pd(v); }
inline f64v low_f64(f32v v) { return _mm256_cvtps_pd(_mm256_castps256_ps128(v)); }
inline f64v high_f64(f32v v) { return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)); }
inline f32v to_f32(f64v low, f64v high) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
}
inline f64v add(f64v a, f64v b) { return _mm256_add_pd(a, b); }
inline f64v sub(f64v a, f64v b) { return _mm256_sub_pd(a, b); }
inline f64v mul(f64v a, f64v b) { return _mm256_mul_pd(a, b); }
// The sum of all lanes.
inline double sum(f64v v) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
// The sum of the even lanes and the sum of the odd lanes.
inline void store_two_sums(double *p, f64v v) {
    _mm_storeu_pd(p, _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1)));
}

// 16-bit elements: AVX2 masks whole 32-bit lanes only, so tails pass through a small buffer.
inline __m128i load_first_16(const uint16_t *p, int n) {
    alignas(16) uint16_t few[8] = {};
    copy_few(few, p, static_cast<size_t>(n) * 2);
    return _mm_load_si128(reinterpret_cast<const __m128i *>(few));
}
inline void store_first_16(uint16_t *p, __m128i v, int n) {
    alignas(16) uint16_t few[8];
    _mm_store_si128(reinterpret_cast<__m128i *>(few), v);
    copy_few(p, few, static_cast<size_t>(n) * 2);
}
inline __m128i load_16(const uint16_t *p) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p)); }
inline void store_16(uint16_t *p, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i *>(p), v); }
inline void stream_16(uint16_t *p, __m128i v) { _mm_stream_si128(reinterpret_cast<__m128i *>(p), v); }

// float16
inline float get_f16(uint16_t h) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h))); }
inline __m128i to_f16(f32v v) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline f32v load_f16(const uint16_t *p) { return _mm256_cvtph_ps(load_16(p)); }
inline f32v load_f16_first(const uint16_t *p, int n) { return _mm256_cvtph_ps(load_first_16(p, n)); }
inline void store_f16(uint16_t *p, f32v v) { store_16(p, to_f16(v)); }
inline void store_f16_first(uint16_t *p, f32v v, int n) { store_first_16(p, to_f16(v), n); }
inline void stream_f16(uint16_t *p, f32v v) { stream_16(p, to_f16(v)); }

// bfloat16
inline f32v from_bf16(__m128i h) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}
inline __m256i round_bf16(__m256i bits) { // right for all but NaN
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
}
inline __m128i upper_halves(__m256i v) {
    const __m256i high = _mm256_srli_epi32(v, 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
}
inline __m128i number_to_bf16(f32v v) { return upper_halves(round_bf16(_mm256_castps_si256(v))); }
inline __m128i to_bf16(f32v v) {
    const __m256i rounded = round_bf16(_mm256_castps_si256(v));
    const __m256 quiet = _mm256_or_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x400000)));
    const __m256 result = _mm256_blendv_ps(_mm256_castsi256_ps(rounded), quiet, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    return upper_halves(_mm256_castps_si256(result));
}
inline f32v load_bf16(const uint16_t *p) { return from_bf16(load_16(p)); }
inline f32v load_bf16_first(const uint16_t *p, int n) { return from_bf16(load_first_16(p, n)); }
inline void store_bf16(uint16_t *p, f32v v) { store_16(p, to_bf16(v)); }
inline void store_bf16_first(uint16_t *p, f32v v, int n) { store_first_16(p, to_bf16(v), n); }
inline void stream_bf16(uint16_t *p, f32v v) { stream_16(p, to_bf16(v)); }
// The same for vectors that hold no NaN.
inline void store_bf16_number(uint16_t *p, f32v v) { store_16(p, number_to_bf16(v)); }
inline void stream_bf16_number(uint16_t *p, f32v v) { stream_16(p, number_to_bf16(v)); }

// Both vectors of 2 * kLanes elements, in an order of its own.
#define ASCEND_CY_SIMD_BF16_PAIRS
inline void load_two_bf16(const uint16_t *p, f32v &a, f32v &b) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
    a = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
    b = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}
// Packs numbers two vectors at a time, rounding to nearest with ties away from zero, and knows afterwards whether there
// was a tie, or a result smaller than a limit: such vectors are to be packed again, with care.
class WatchBf16 {
  public:
    using packed = __m256i;
    ASCEND_CY_INLINE packed pack(f32v a, f32v b) {
        const __m256i half = _mm256_set1_epi32(0x8000);
        const __m256i low = _mm256_add_epi32(_mm256_castps_si256(a), half);
        const __m256i high = _mm256_add_epi32(_mm256_castps_si256(b), half);
        ties_ = _mm256_min_epu16(ties_, _mm256_min_epu16(low, high)); // of a tie, the lower half is 0 now
        const __m256i both = _mm256_packus_epi32(_mm256_srli_epi32(low, 16), _mm256_srli_epi32(high, 16));
        const __m256i result = _mm256_permute4x64_epi64(both, _MM_SHUFFLE(3, 1, 2, 0));
        least_ = _mm256_min_epi16(least_, _mm256_and_si256(result, _mm256_set1_epi16(0x7fff)));
        return result;
    }
    static __m256i limit(float least) { // above any bfloat16 that a smaller number rounds to
        return _mm256_set1_epi16(static_cast<short>(least > 0.0f ? (bits_of(least) >> 16) + 2 : 0));
    }
    ASCEND_CY_INLINE bool any(__m256i limit) const {
        const __m256i found = _mm256_or_si256(_mm256_cmpeq_epi16(ties_, _mm256_setzero_si256()),
                                              _mm256_cmpgt_epi16(limit, least_));
        return !_mm256_testz_si256(found, found);
    }

  private:
    __m256i ties_ = _mm256_set1_epi16(-1), least_ = _mm256_set1_epi16(0x7fff);
};
inline void store_pair_bf16(uint16_t *p, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), v); }
inline void stream_pair_bf16(uint16_t *p, __m256i v) { _mm256_stream_si256(reinterpret_cast<__m256i *>(p), v); }

inline void stream_fence() { _mm_sfence(); }

} // namespace simd
} // namespace ascend_cy
#endif // ASCEND_CY_SIMD_AVX2_H
