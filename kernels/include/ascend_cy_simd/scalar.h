// SPDX-License-Identifier: Apache-2.0
// Any other machine: four lanes as plain C++. Slow and right. Included by ascend_cy_simd.h only.
#ifndef ASCEND_CY_SIMD_SCALAR_H
#define ASCEND_CY_SIMD_SCALAR_H

#include <math.h>

namespace ascend_cy {
namespace simd {

#define ASCEND_CY_SIMD_LEVEL "generic"
constexpr int kLanes = 4;
struct f32v {
    float lane[4];
};
struct f64v {
    double lane[2];
};

template <class Function> inline f32v each_f32(Function function) {
    return f32v{{function(0), function(1), function(2), function(3)}};
}
template <class Function> inline f64v each_f64(Function function) { return f64v{{function(0), function(1)}}; }
template <class Function> inline bool any_lane(Function function) {
    return function(0) || function(1) || function(2) || function(3);
}

// float
inline f32v set_f32(float v) { return f32v{{v, v, v, v}}; }
inline f32v load_f32(const float *p) { return each_f32([=](int i) { return p[i]; }); }
inline f32v load_f32_first(const float *p, int n) { return each_f32([=](int i) { return i < n ? p[i] : 0.0f; }); }
inline void store_f32_first(float *p, f32v v, int n) {
    for (int i = 0; i < n; ++i) p[i] = v.lane[i];
}
inline void store_f32(float *p, f32v v) { store_f32_first(p, v, kLanes); }
inline void stream_f32(float *p, f32v v) { store_f32(p, v); }
inline f32v add(f32v a, f32v b) { return each_f32([&](int i) { return a.lane[i] + b.lane[i]; }); }
inline f32v sub(f32v a, f32v b) { return each_f32([&](int i) { return a.lane[i] - b.lane[i]; }); }
inline f32v mul(f32v a, f32v b) { return each_f32([&](int i) { return a.lane[i] * b.lane[i]; }); }
inline f32v fma(f32v a, f32v b, f32v c) { return add(mul(a, b), c); }
inline f32v min(f32v a, f32v b) { return each_f32([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; }); }
inline f32v abs(f32v v) { return each_f32([&](int i) { return float_of(bits_of(v.lane[i]) & 0x7fffffffu); }); }
inline f32v set_sign(f32v v) { return each_f32([&](int i) { return float_of(bits_of(v.lane[i]) | 0x80000000u); }); }
inline f32v keep_first(f32v v, int n) { return each_f32([&](int i) { return i < n ? v.lane[i] : 0.0f; }); }
// Lanes that are, by turns, sums of lanes of a and of b.
inline f32v interleaved_sum(f32v a, f32v b) {
    return each_f32([&](int i) { return i % 2 ? b.lane[i / 2] + b.lane[i / 2 + 2] : a.lane[i / 2] + a.lane[i / 2 + 2]; });
}
inline bool any_less(f32v a, f32v b) { return any_lane([&](int i) { return a.lane[i] < b.lane[i]; }); }
inline f32v if_less(f32v a, f32v b, f32v then, f32v otherwise) {
    return each_f32([&](int i) { return a.lane[i] < b.lane[i] ? then.lane[i] : otherwise.lane[i]; });
}
inline bool any_differ(f32v a, f32v b) { return any_lane([&](int i) { return !(a.lane[i] == b.lane[i]); }); }
// The larger |value| of each lane, by bits: infinity beats numbers and NaN beats infinity. `largest` holds no sign.
inline f32v max_magnitude(f32v largest, f32v v) {
    const f32v other = abs(v);
    return each_f32([&](int i) {
        return bits_of(largest.lane[i]) > bits_of(other.lane[i]) ? largest.lane[i] : other.lane[i];
    });
}
inline float largest_lane(f32v magnitudes) {
    uint32_t largest = 0;
    for (float lane : magnitudes.lane) largest = bits_of(lane) > largest ? bits_of(lane) : largest;
    return float_of(largest);
}

// double
inline f64v set_f64(double v) { return f64v{{v, v}}; }
inline f64v low_f64(f32v v) { return f64v{{v.lane[0], v.lane[1]}}; }
inline f64v high_f64(f32v v) { return f64v{{v.lane[2], v.lane[3]}}; }
inline f32v to_f32(f64v low, f64v high) {
    return each_f32([&](int i) { return static_cast<float>(i < 2 ? low.lane[i] : high.lane[i - 2]); });
}
inline f64v add(f64v a, f64v b) { return each_f64([&](int i) { return a.lane[i] + b.lane[i]; }); }
inline f64v sub(f64v a, f64v b) { return each_f64([&](int i) { return a.lane[i] - b.lane[i]; }); }
inline f64v mul(f64v a, f64v b) { return each_f64([&](int i) { return a.lane[i] * b.lane[i]; }); }
// The sum of all lanes.
inline double sum(f64v v) { return v.lane[0] + v.lane[1]; }
// The sum of the even lanes and the sum of the odd lanes.
inline void store_two_sums(double *p, f64v v) {
    p[0] = v.lane[0];
    p[1] = v.lane[1];
}

// float16 and bfloat16
inline float get_f16(uint16_t h) { return half_to_float(h); }
inline f32v load_f16_first(const uint16_t *p, int n) {
    return each_f32([=](int i) { return i < n ? half_to_float(p[i]) : 0.0f; });
}
inline f32v load_f16(const uint16_t *p) { return load_f16_first(p, kLanes); }
inline void store_f16_first(uint16_t *p, f32v v, int n) {
    for (int i = 0; i < n; ++i) p[i] = float_to_half(v.lane[i]);
}
inline void store_f16(uint16_t *p, f32v v) { store_f16_first(p, v, kLanes); }
inline void stream_f16(uint16_t *p, f32v v) { store_f16(p, v); }
inline f32v load_bf16_first(const uint16_t *p, int n) {
    return each_f32([=](int i) { return i < n ? bf16_to_float(p[i]) : 0.0f; });
}
inline f32v load_bf16(const uint16_t *p) { return load_bf16_first(p, kLanes); }
inline void store_bf16_first(uint16_t *p, f32v v, int n) {
    for (int i = 0; i < n; ++i) p[i] = float_to_bf16(v.lane[i]);
}
inline void store_bf16(uint16_t *p, f32v v) { store_bf16_first(p, v, kLanes); }
inline void stream_bf16(uint16_t *p, f32v v) { store_bf16(p, v); }
// The same for vectors that hold no NaN.
inline void store_bf16_number(uint16_t *p, f32v v) { store_bf16(p, v); }
inline void stream_bf16_number(uint16_t *p, f32v v) { store_bf16(p, v); }

inline void stream_fence() {}

} // namespace simd
} // namespace ascend_cy
#endif // ASCEND_CY_SIMD_SCALAR_H
