// SPDX-License-Identifier: Apache-2.0
//
// The one header through which `cpu` kernels see the machine: vectors of float and double, float16 and bfloat16 in
// memory, prefetch and streaming stores. A kernel is written once against these names; a build picks one body by its
// -march flags:
//
//   avx512.h  x86-64-v4        avx2.h  x86-64-v3        sse2.h  x86-64 baseline        neon.h  aarch64
//   scalar.h  anything else, or -DASCEND_CY_SIMD_SCALAR
//
// Rules that every body keeps, and that kernels rely on:
// * f32v has kLanes lanes; an f64v has half as many. low_f64/high_f64 widen the two halves, to_f32 narrows them back.
// * No load or store touches a byte outside the elements it names. The *_first forms take 1 <= n < kLanes elements;
//   lanes beyond n read as zero and are not written.
// * load and store take any element-aligned address; stream takes an address aligned to the bytes that it writes.
// * fma is fused where the level has it, mul then add where it has not. Build with -ffp-contract=off, so that nothing
//   else is fused and the order of operations is what the source says.
// * NaN goes in as NaN and comes out as NaN in every conversion; narrowing rounds to nearest even.
//
// One shared object holds one level only: the linker keeps a single body of an inline function, so two levels in one
// file would run the wider one on machines that lack it.
#ifndef ASCEND_CY_SIMD_H
#define ASCEND_CY_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// For what must be inlined lest vectors that live in registers go through memory.
#define ASCEND_CY_INLINE inline __attribute__((always_inline))

namespace ascend_cy {
namespace simd {

constexpr size_t kCacheLine = 64;

inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Conversions of one element, in integer arithmetic: right on every machine, whatever its float16 support.

inline float bf16_to_float(uint16_t h) { return float_of(static_cast<uint32_t>(h) << 16); }

inline uint16_t float_to_bf16(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) // a carry out of the payload would turn this NaN into a number
        return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float half_to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
    if (magnitude >= 0x0f800000u) // infinity and NaN: the exponent becomes all ones
        return float_of(sign | (magnitude + (224u << 23)));
    if (magnitude < 0x00800000u) // subnormal: let an exact subtraction find the leading bit
        return float_of(sign | bits_of(float_of(magnitude + (113u << 23)) - float_of(113u << 23)));
    return float_of(sign | (magnitude + (112u << 23)));
}

inline uint16_t float_to_half(float value) {
    const uint32_t bits = bits_of(value);
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude >= 0x47800000u) // 65536 and up, infinity, NaN
        return static_cast<uint16_t>(sign | (magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (magnitude < (113u << 23)) // below the smallest normal: 0.5 has the unit of a half's subnormals
        return static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
    return static_cast<uint16_t>(sign | ((magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}

// Prefetches never fault, so an address past the end of an array is harmless.
inline void prefetch_l1(uintptr_t address) { __builtin_prefetch(reinterpret_cast<const void *>(address), 0, 3); }
inline void prefetch_l2(uintptr_t address) { __builtin_prefetch(reinterpret_cast<const void *>(address), 0, 2); }

// Copy an even number of bytes below 16 without a library call: tails are in the hot path.
inline void copy_few(void *to, const void *from, size_t bytes) {
    char *t = static_cast<char *>(to);
    const char *f = static_cast<const char *>(from);
    if (bytes & 8) { memcpy(t, f, 8); t += 8; f += 8; }
    if (bytes & 4) { memcpy(t, f, 4); t += 4; f += 4; }
    if (bytes & 2) memcpy(t, f, 2);
}

} // namespace simd
} // namespace ascend_cy

#if defined(ASCEND_CY_SIMD_SCALAR)
#include "ascend_cy_simd/scalar.h"
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "ascend_cy_simd/avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "ascend_cy_simd/avx2.h"
#elif defined(__SSE2__)
#include "ascend_cy_simd/sse2.h"
#elif defined(__aarch64__)
#include "ascend_cy_simd/neon.h"
#else
#include "ascend_cy_simd/scalar.h"
#endif

namespace ascend_cy {
namespace simd {

// How the kernels see an element type: one type per dtype with the same static functions. The *_number forms are for
// vectors that hold no NaN.
struct Float32 {
    using type = float;
    static constexpr bool kNarrow = false; // as precise as the arithmetic
    static constexpr bool kPairs = false;
    static float doubt(float least) { return least; }
    static float get(type v) { return v; }
    static f32v load(const type *p) { return load_f32(p); }
    static f32v load_first(const type *p, int n) { return load_f32_first(p, n); }
    static void store(type *p, f32v v) { store_f32(p, v); }
    static void store_first(type *p, f32v v, int n) { store_f32_first(p, v, n); }
    static void stream(type *p, f32v v) { stream_f32(p, v); }
    static void store_number(type *p, f32v v) { store_f32(p, v); }
    static void stream_number(type *p, f32v v) { stream_f32(p, v); }
};

struct Float16 {
    using type = uint16_t;
    static constexpr bool kNarrow = true;
    // A unit in the last place of v is more than |v| / kNumbersInUnit, and never less than kLeastUnit.
    static constexpr float kNumbersInUnit = 0x1p11f, kLeastUnit = 0x1p-24f;
    static constexpr bool kPairs = false;
    static float doubt(float least) { return least; }
    static void load_two(const type *p, f32v &a, f32v &b) { a = load(p); b = load(p + kLanes); }
    static float get(type v) { return get_f16(v); }
    static f32v load(const type *p) { return load_f16(p); }
    static f32v load_first(const type *p, int n) { return load_f16_first(p, n); }
    static void store(type *p, f32v v) { store_f16(p, v); }
    static void store_first(type *p, f32v v, int n) { store_f16_first(p, v, n); }
    static void stream(type *p, f32v v) { stream_f16(p, v); }
    static void store_number(type *p, f32v v) { store_f16(p, v); }
    static void stream_number(type *p, f32v v) { stream_f16(p, v); }
};

struct BFloat16 {
    using type = uint16_t;
    static constexpr bool kNarrow = true;
    static constexpr float kNumbersInUnit = 0x1p8f, kLeastUnit = 0x1p-133f;
#ifdef ASCEND_CY_SIMD_BF16_PAIRS
    static constexpr bool kPairs = true;
    using Watch = WatchBf16;
    static auto doubt(float least) { return Watch::limit(least); }
    static void load_two(const type *p, f32v &a, f32v &b) { load_two_bf16(p, a, b); }
    static void store_pair(type *p, Watch::packed v) { store_pair_bf16(p, v); }
    static void stream_pair(type *p, Watch::packed v) { stream_pair_bf16(p, v); }
#else
    static constexpr bool kPairs = false;
    static float doubt(float least) { return least; }
    static void load_two(const type *p, f32v &a, f32v &b) { a = load(p); b = load(p + kLanes); }
#endif
    static float get(type v) { return bf16_to_float(v); }
    static f32v load(const type *p) { return load_bf16(p); }
    static f32v load_first(const type *p, int n) { return load_bf16_first(p, n); }
    static void store(type *p, f32v v) { store_bf16(p, v); }
    static void store_first(type *p, f32v v, int n) { store_bf16_first(p, v, n); }
    static void stream(type *p, f32v v) { stream_bf16(p, v); }
    static void store_number(type *p, f32v v) { store_bf16_number(p, v); }
    static void stream_number(type *p, f32v v) { stream_bf16_number(p, v); }
};

} // namespace simd
} // namespace ascend_cy
#endif // ASCEND_CY_SIMD_H
