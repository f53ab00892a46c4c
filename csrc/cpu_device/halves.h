/* SPDX-License-Identifier: Apache-2.0
 *
 * IEEE half and bfloat16, with infinities and NaN (unlike the vendor's aclFloat16ToFloat).
 */
#ifndef ASCENDCL_CPU_HALVES_H
#define ASCENDCL_CPU_HALVES_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace acl_cpu {

inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline float float_of_half(uint16_t half)
{
    uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1F;
    uint32_t mantissa = half & 0x3FF;
    if (exponent == 31) return float_of_bits(sign | 0x7F800000 | mantissa << 13);
    if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    float size = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -size : size;
}

/* To nearest, ties to even. */
inline uint16_t half_of_float(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t size = bits & 0x7FFFFFFF;
    if (size > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | (size >> 13 & 0x3FF));
    if (size >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00); /* from 65520 on */
    if (size < 0x38800000) {
        /* below 2^-14: steps of 2^-24 */
        return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(std::fabs(value) * 0x1p24f)));
    }
    uint32_t rounded = size + 0xFFF + (size >> 13 & 1) - (112u << 23);
    return static_cast<uint16_t>(sign | rounded >> 13);
}

inline float float_of_bfloat(uint16_t value) { return float_of_bits(static_cast<uint32_t>(value) << 16); }

inline uint16_t bfloat_of_float(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

} // namespace acl_cpu
#endif
