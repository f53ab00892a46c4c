// SPDX-License-Identifier: Apache-2.0
//
// The 16-bit floating point types. Bit patterns with conversions; arithmetic happens in float and rounds once, which for
// + - * / gives the correctly rounded 16-bit result (float carries more than 2 p + 2 bits).
#ifndef ASCENDC_SIM_HALF_H
#define ASCENDC_SIM_HALF_H

#include "qualifiers.h"

namespace AscendC::sim {

template <class To, class From> inline To BitCast(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "BitCast keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

// The conversions have no branches, so that loops over them become vector code.

inline float HalfBitsToFloat(uint16_t bits)
{
    const uint32_t magnitude = bits & 0x7fffu;
    // Moving the exponent by a multiplication also normalises subnormals.
    uint32_t value = BitCast<uint32_t>(BitCast<float>(magnitude << 13) * 0x1p112f);
    value |= magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return BitCast<float>(value | (static_cast<uint32_t>(bits & 0x8000u) << 16));
}

inline uint16_t FloatToHalfBits(float from)
{
    const uint32_t bits = BitCast<uint32_t>(from);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Ordinary results: round to nearest even on the integer, the carry moves into the exponent (up to infinity).
    const uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
    // Subnormal results: adding 0.5 rounds at the bit of weight 2^-24.
    const uint32_t subnormal = BitCast<uint32_t>(BitCast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x47800000u ? special : result;
    return static_cast<uint16_t>(sign | (result & 0x7fffu));
}

inline float Bfloat16BitsToFloat(uint16_t bits)
{
    return BitCast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t FloatToBfloat16Bits(float from)
{
    const uint32_t bits = BitCast<uint32_t>(from);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t nan = (bits >> 16) | 0x40u;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

} // namespace AscendC::sim

struct half {
    uint16_t bits;

    half() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    half(T value) : bits(AscendC::sim::FloatToHalfBits(static_cast<float>(value)))
    {
    }
    operator float() const { return AscendC::sim::HalfBitsToFloat(bits); }

    half &operator+=(half other) { return *this = half(float(*this) + float(other)); }
    half &operator-=(half other) { return *this = half(float(*this) - float(other)); }
    half &operator*=(half other) { return *this = half(float(*this) * float(other)); }
    half &operator/=(half other) { return *this = half(float(*this) / float(other)); }
};

struct bfloat16_t {
    uint16_t bits;

    bfloat16_t() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    bfloat16_t(T value) : bits(AscendC::sim::FloatToBfloat16Bits(static_cast<float>(value)))
    {
    }
    operator float() const { return AscendC::sim::Bfloat16BitsToFloat(bits); }
};

// Two to a byte; only its name is needed to compile signatures.
struct int4b_t {
    uint8_t bits;
};

using float16_t = half;

namespace AscendC {
using ::bfloat16_t;
using ::half;
using ::int4b_t;

inline float ToFloat(const bfloat16_t &value)
{
    return value;
}
inline bfloat16_t ToBfloat16(const float &value)
{
    return bfloat16_t(value);
}
inline float Cast(const bfloat16_t &value)
{
    return value;
}
inline bfloat16_t Cast(const float &value)
{
    return bfloat16_t(value);
}
} // namespace AscendC

#endif // ASCENDC_SIM_HALF_H
