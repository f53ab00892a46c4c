// SPDX-License-Identifier: Apache-2.0
// aarch64: NEON as every ARMv8 core has it (float16 conversions included). Included by ascend_cy_simd.h only.
#ifndef ASCEND_CY_SIMD_NEON_H
#define ASCEND_CY_SIMD_NEON_H

#include <arm_neon.h>

namespace ascend_cy {
namespace simd {

#define ASCEND_CY_SIMD_LEVEL "aarch64"
constexpr int kLanes = 4;
using f32v = float32x4_t;
using f64v = float64x2_t;

inline uint32x4_t first_lanes(int n) {
    const uint32_t order[4] = {0, 1, 2, 3};
    return vcltq_u32(vld1q_u32(order), vdupq_n_u32(static_cast<uint32_t>(n)));
}

// float
inline f32v set_f32(float v) { return vdupq_n_f32(v); }
inline f32v load_f32(const float *p) { return vld1q_f32(p); }
inline f32v load_f32_first(const float *p, int n) {
    float few[4] = {};
    copy_few(few, p, static_cast<size_t>(n) * 4);
    return vld1q_f32(few);
}
inline void store_f32(float *p, f32v v) { vst1q_f32(p, v); }
inline void store_f32_first(float *p, f32v v, int n) {
    float few[4];
    vst1q_f32(few, v);
    copy_few(p, few, static_cast<size_t>(n) * 4);
}
// aarch64 cores notice whole lines being written and stop reading them first; a plain store is the streaming store.
inline void stream_f32(float *p, f32v v) { vst1q_f32(p, v); }
inline f32v add(f32v a, f32v b) { return vaddq_f32(a, b); }
inline f32v sub(f32v a, f32v b) { return vsubq_f32(a, b); }
inline f32v mul(f32v a, f32v b) { return vmulq_f32(a, b); }
inline f32v fma(f32v a, f32v b, f32v c) { return vfmaq_f32(c, a, b); }
inline f32v min(f32v a, f32v b) { return vminq_f32(a, b); }
inline f32v abs(f32v v) { return vabsq_f32(v); }
inline f32v set_sign(f32v v) {
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(0x80000000u)));
}
inline f32v keep_first(f32v v, int n) {
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), first_lanes(n)));
}
// Lanes that are, by turns, sums of lanes of a and of b.
inline f32v interleaved_sum(f32v a, f32v b) { return vaddq_f32(vzip1q_f32(a, b), vzip2q_f32(a, b)); }
inline bool any_less(f32v a, f32v b) { return vmaxvq_u32(vcltq_f32(a, b)) != 0; }
inline f32v if_less(f32v a, f32v b, f32v then, f32v otherwise) { return vbslq_f32(vcltq_f32(a, b), then, otherwise); }
inline bool any_differ(f32v a, f32v b) { return vminvq_u32(vceqq_f32(a, b)) == 0; }
// The larger |value| of each lane, by bits: infinity beats numbers and NaN beats infinity. `largest` holds no sign.
inline f32v max_magnitude(f32v largest, f32v v) {
    return vreinterpretq_f32_u32(vmaxq_u32(vreinterpretq_u32_f32(largest), vreinterpretq_u32_f32(abs(v))));
}
inline float largest_lane(f32v magnitudes) { return float_of(vmaxvq_u32(vreinterpretq_u32_f32(magnitudes))); }

// double
inline f64v set_f64(double v) { return vdupq_n_f64(v); }
inline f64v low_f64(f32v v) { return vcvt_f64_f32(vget_low_f32(v)); }
inline f64v high_f64(f32v v) { return vcvt_high_f64_f32(v); }
inline f32v to_f32(f64v low, f64v high) { return vcvt_high_f32_f64(vcvt_f32_f64(low), high); }
inline f64v add(f64v a, f64v b) { return vaddq_f64(a, b); }
inline f64v sub(f64v a, f64v b) { return vsubq_f64(a, b); }
inline f64v mul(f64v a, f64v b) { return vmulq_f64(a, b); }
// The sum of all lanes.
inline double sum(f64v v) { return vaddvq_f64(v); }
// The sum of the even lanes and the sum of the odd lanes.
inline void store_two_sums(double *p, f64v v) { vst1q_f64(p, v); }

// 16-bit elements
inline uint16x4_t load_first_16(const uint16_t *p, int n) {
    uint16_t few[4] = {};
    copy_few(few, p, static_cast<size_t>(n) * 2);
    return vld1_u16(few);
}
inline void store_first_16(uint16_t *p, uint16x4_t v, int n) {
    uint16_t few[4];
    vst1_u16(few, v);
    copy_few(p, few, static_cast<size_t>(n) * 2);
}

// float16
inline float get_f16(uint16_t h) { return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0); }
inline f32v from_f16(uint16x4_t h) { return vcvt_f32_f16(vreinterpret_f16_u16(h)); }
inline uint16x4_t to_f16(f32v v) { return vreinterpret_u16_f16(vcvt_f16_f32(v)); }
inline f32v load_f16(const uint16_t *p) { return from_f16(vld1_u16(p)); }
inline f32v load_f16_first(const uint16_t *p, int n) { return from_f16(load_first_16(p, n)); }
inline void store_f16(uint16_t *p, f32v v) { vst1_u16(p, to_f16(v)); }
inline void store_f16_first(uint16_t *p, f32v v, int n) { store_first_16(p, to_f16(v), n); }
inline void stream_f16(uint16_t *p, f32v v) { store_f16(p, v); }

// bfloat16
inline f32v from_bf16(uint16x4_t h) { return vreinterpretq_f32_u32(vshll_n_u16(h, 16)); }
inline uint32x4_t round_bf16(uint32x4_t bits) { // right for all but NaN
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    return vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
}
inline uint16x4_t to_bf16(f32v v) {
    const uint32x4_t bits = vreinterpretq_u32_f32(v);
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), round_bf16(bits), quiet), 16);
}
inline f32v load_bf16(const uint16_t *p) { return from_bf16(vld1_u16(p)); }
inline f32v load_bf16_first(const uint16_t *p, int n) { return from_bf16(load_first_16(p, n)); }
inline void store_bf16(uint16_t *p, f32v v) { vst1_u16(p, to_bf16(v)); }
inline void store_bf16_first(uint16_t *p, f32v v, int n) { store_first_16(p, to_bf16(v), n); }
inline void stream_bf16(uint16_t *p, f32v v) { store_bf16(p, v); }
// The same for vectors that hold no NaN.
inline void store_bf16_number(uint16_t *p, f32v v) { vst1_u16(p, vshrn_n_u32(round_bf16(vreinterpretq_u32_f32(v)), 16)); }
inline void stream_bf16_number(uint16_t *p, f32v v) { store_bf16_number(p, v); }

inline void stream_fence() {}

} // namespace simd
} // namespace ascend_cy
#endif // ASCEND_CY_SIMD_NEON_H
