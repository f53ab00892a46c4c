// SPDX-License-Identifier: Apache-2.0
//
// Cast and the scalar conversions: which pairs exist on 2201, rounding, saturation.
#ifndef ASCENDC_SIM_VECTOR_CAST_H
#define ASCENDC_SIM_VECTOR_CAST_H

#include "vector_arith.h"

namespace AscendC {

namespace sim {

constexpr uint32_t ModeBit(RoundMode mode)
{
    return 1u << static_cast<uint32_t>(mode);
}

// The rounding modes that a pair of types takes, as bits; 0: no such conversion.
template <class From, class To> constexpr uint32_t CastModes()
{
    constexpr uint32_t none = ModeBit(RoundMode::CAST_NONE);
    constexpr uint32_t rounding = ModeBit(RoundMode::CAST_RINT) | ModeBit(RoundMode::CAST_FLOOR) |
                                  ModeBit(RoundMode::CAST_CEIL) | ModeBit(RoundMode::CAST_ROUND) |
                                  ModeBit(RoundMode::CAST_TRUNC);
    constexpr uint32_t odd = ModeBit(RoundMode::CAST_ODD);
    if (std::is_same_v<From, half>) {
        return std::is_same_v<To, float>                 ? none
               : kOneOf<To, int32_t, int16_t>            ? rounding
               : kOneOf<To, int8_t, uint8_t>             ? none | rounding
                                                         : 0;
    }
    if (std::is_same_v<From, bfloat16_t>) {
        return std::is_same_v<To, float> ? none : std::is_same_v<To, int32_t> ? rounding : 0;
    }
    if (std::is_same_v<From, float>) {
        return std::is_same_v<To, half>                              ? none | rounding | odd
               : kOneOf<To, bfloat16_t, int16_t, int32_t, int64_t>   ? rounding
               : std::is_same_v<To, float>                           ? rounding
                                                                     : 0;
    }
    if (kOneOf<From, int8_t, uint8_t>) {
        return std::is_same_v<To, half> ? none : 0;
    }
    if (std::is_same_v<From, int16_t>) {
        return std::is_same_v<To, half> ? none | rounding : std::is_same_v<To, float> ? none : 0;
    }
    if (std::is_same_v<From, int32_t>) {
        return std::is_same_v<To, float> ? none | rounding : kOneOf<To, int16_t, int64_t, half> ? none : 0;
    }
    if (std::is_same_v<From, int64_t>) {
        return std::is_same_v<To, int32_t> ? none : std::is_same_v<To, float> ? rounding : 0;
    }
    return 0;
}

inline double RoundIntegral(double value, RoundMode mode)
{
    switch (mode) {
    case RoundMode::CAST_FLOOR:
        return std::floor(value);
    case RoundMode::CAST_CEIL:
        return std::ceil(value);
    case RoundMode::CAST_ROUND:
        return std::round(value);
    case RoundMode::CAST_TRUNC:
        return std::trunc(value);
    case RoundMode::CAST_ODD: {
        const double down = std::trunc(value);
        return down == value || std::fmod(down, 2.0) != 0 ? down : down + std::copysign(1.0, value);
    }
    default:
        return std::nearbyint(value);
    }
}

template <class To> To ToInteger(double value, RoundMode mode, bool saturate)
{
    if (std::isnan(value)) {
        return 0;
    }
    const double rounded = RoundIntegral(value, mode);
    constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
    // Of int64_t the largest value is no double; the first double above it is.
    constexpr double above = static_cast<double>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (rounded >= low && rounded < above) {
        return static_cast<To>(rounded);
    }
    if (saturate) {
        return rounded < 0 ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
    }
    return std::fabs(rounded) < 9e18 ? static_cast<To>(static_cast<int64_t>(rounded)) : To(0);
}

// Rounds to a binary format of `precision` bits whose smallest normal exponent is `emin`.
inline float RoundToFormat(double value, int precision, int emin, double largest, RoundMode mode)
{
    if (value == 0 || !std::isfinite(value)) {
        return static_cast<float>(value);
    }
    int exponent;
    std::frexp(value, &exponent); // |value| in [2^(exponent-1), 2^exponent)
    const int unit = std::max(exponent - 1, emin) - (precision - 1);
    const double rounded = std::ldexp(RoundIntegral(std::ldexp(value, -unit), mode), unit);
    if (std::fabs(rounded) <= largest) {
        return static_cast<float>(rounded);
    }
    const bool toward_zero = mode == RoundMode::CAST_TRUNC || mode == RoundMode::CAST_ODD ||
                             (mode == RoundMode::CAST_FLOOR && value > 0) || (mode == RoundMode::CAST_CEIL && value < 0);
    return static_cast<float>(std::copysign(toward_zero ? largest : std::numeric_limits<double>::infinity(), value));
}

template <class To, class From> To Convert(From from, RoundMode mode, const Core::Registers &registers)
{
    if constexpr (std::is_integral_v<To>) {
        if constexpr (std::is_same_v<From, int64_t> || std::is_same_v<From, int32_t>) {
            // Integers to integers: clamp, or keep the low bits.
            if (!registers.saturateCast) {
                return static_cast<To>(from);
            }
            if constexpr (sizeof(To) >= sizeof(From)) {
                return static_cast<To>(from);
            } else {
                return static_cast<To>(std::min<int64_t>(std::max<int64_t>(from, std::numeric_limits<To>::min()),
                                                         std::numeric_limits<To>::max()));
            }
        } else {
            return ToInteger<To>(static_cast<double>(static_cast<float>(from)), mode, registers.saturateCast);
        }
    } else if constexpr (std::is_same_v<To, half> && std::is_same_v<From, int32_t>) {
        return half(static_cast<float>(from) * 0x1p-17f * registers.deqScale * 0x1p17f);
    } else {
        double value;
        if constexpr (std::is_integral_v<From>) {
            value = static_cast<double>(from);
        } else {
            value = static_cast<double>(static_cast<float>(from));
        }
        if constexpr (std::is_same_v<To, half>) {
            return half(RoundToFormat(value, 11, -14, 65504.0, mode));
        } else if constexpr (std::is_same_v<To, bfloat16_t>) {
            return bfloat16_t(RoundToFormat(value, 8, -126, 0x1.fep127, mode));
        } else if constexpr (std::is_integral_v<From>) {
            return RoundToFormat(value, 24, -126, 0x1.fffffep127, mode);
        } else if constexpr (std::is_same_v<From, float>) {
            return static_cast<float>(RoundIntegral(value, mode));
        } else {
            return static_cast<float>(from);
        }
    }
}

template <class To, class From> constexpr bool kWidens = kOneOf<From, half, bfloat16_t> && std::is_same_v<To, float>;
template <class To, class From> constexpr bool kNarrows = kOneOf<To, half, bfloat16_t> && std::is_same_v<From, float>;

template <class To, class From>
void RunCast(Core &core, const Lanes &lanes, const Operand<To> &dst, const Operand<From> &src, RoundMode mode)
{
    static_assert(CastModes<From, To>() != 0, "Cast does not know this pair of types");
    if (core.checks() && (CastModes<From, To>() & ModeBit(mode)) == 0) {
        core.Fail("this pair of types does not take round mode %u", static_cast<unsigned>(mode));
    }
    if (lanes.empty()) {
        return;
    }
    Reads(core, src, lanes);
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats);
    const bool nearest = mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT;
    if constexpr (kWidens<To, From> || kNarrows<To, From>) {
        // The conversions of the types themselves round to nearest even.
        if (nearest) {
            Execute(lanes, dst, Map1<To, From>(core, [](float a) { return a; }), src);
            return;
        }
    }
    const Core::Registers registers = core.registers();
    Execute(
        lanes, dst,
        [&core, mode, &registers](To *out, const From *in, uint32_t n) {
            for (uint32_t i = 0; i < n; ++i) {
                out[i] = Convert<To>(in[i], mode, registers);
            }
            Saturate(core, out, n);
        },
        src);
}

// --- int4b_t: two to a byte, the first in the low half

inline Lanes HalfAsMany(Core &core, Lanes lanes)
{
    if (core.checks() && (lanes.masked || lanes.width % 2 != 0 || lanes.last % 2 != 0)) {
        core.Fail("int4b_t comes in pairs: the number of elements is even, and masks are prefixes");
    }
    lanes.per /= 2;
    lanes.width /= 2;
    lanes.last /= 2;
    return lanes;
}

inline void RunCastToInt4(Core &core, const Lanes &lanes, const Operand<uint8_t> &dst, const Operand<half> &src,
                          RoundMode mode)
{
    if (lanes.empty()) {
        return;
    }
    const Lanes pairs = HalfAsMany(core, lanes);
    Reads(core, src, lanes);
    Writes(core, dst, pairs);
    Charge(core, lanes.repeats);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        half buffer[kMaxLanes];
        uint8_t results[kMaxLanes];
        const half *in = Gathered(src, r, lanes.count(r), buffer);
        const auto nibble = [&](uint32_t i) {
            const double rounded = RoundIntegral(static_cast<float>(in[i]), mode);
            return static_cast<unsigned>(static_cast<int>(std::isnan(rounded) ? 0 : std::clamp(rounded, -8.0, 7.0))) & 15u;
        };
        for (uint32_t i = 0; i < pairs.count(r); ++i) {
            results[i] = static_cast<uint8_t>(nibble(2 * i) | nibble(2 * i + 1) << 4);
        }
        Scattered(dst, r, pairs.count(r), results, pairs);
    }
}

inline void RunCastFromInt4(Core &core, const Lanes &lanes, const Operand<half> &dst, const Operand<uint8_t> &src)
{
    if (lanes.empty()) {
        return;
    }
    const Lanes pairs = HalfAsMany(core, lanes);
    Reads(core, src, pairs);
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        uint8_t buffer[kMaxLanes];
        half results[kMaxLanes];
        const uint8_t *in = Gathered(src, r, pairs.count(r), buffer);
        for (uint32_t i = 0; i < lanes.count(r); ++i) {
            const int value = in[i / 2] >> (i % 2 * 4) & 15;
            results[i] = half(value < 8 ? value : value - 16);
        }
        Scattered(dst, r, lanes.count(r), results, lanes);
    }
}

// Chooses between the plain conversions and those of int4b_t.
template <class T, class U>
void CastAny(Core &core, const Lanes &lanes, const LocalTensor<T> &dst, const LocalTensor<U> &src, RoundMode mode,
             const UnaryRepeatParams &p)
{
    if constexpr (std::is_same_v<T, int4b_t>) {
        static_assert(std::is_same_v<U, half>, "only half becomes int4b_t");
        const auto bytes = dst.template ReinterpretCast<uint8_t>();
        RunCastToInt4(core, lanes, MakeOperand(bytes, p.dstBlkStride, p.dstRepStride, "dst"),
                      MakeOperand(src, p.srcBlkStride, p.srcRepStride, "src"), mode);
    } else if constexpr (std::is_same_v<U, int4b_t>) {
        static_assert(std::is_same_v<T, half>, "int4b_t becomes only half");
        const auto bytes = src.template ReinterpretCast<uint8_t>();
        RunCastFromInt4(core, lanes, MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),
                        MakeOperand(bytes, p.srcBlkStride, p.srcRepStride, "src"));
    } else {
        RunCast(core, lanes, MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),
                MakeOperand(src, p.srcBlkStride, p.srcRepStride, "src"), mode);
    }
}

// Repeats side by side, for a repeat of `per` elements.
template <class T> constexpr uint8_t DenseRepeat(uint32_t per)
{
    return static_cast<uint8_t>((std::is_same_v<T, int4b_t> ? per / 2 : per * sizeof(T)) / kBlockBytes);
}

} // namespace sim

template <class T, class U, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src,
                                                 const RoundMode &mode, Mask mask, int64_t repeatTime,
                                                 const UnaryRepeatParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Cast", sim::Pipe::V, where);
    const auto lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeatOf<T, U>);
    sim::CastAny(core, lanes, dst, src, mode, p);
}
template <class T, class U>
inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, const RoundMode &mode, const uint32_t count,
                 Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Cast", sim::Pipe::V, where);
    constexpr uint32_t per = sim::kPerRepeatOf<T, U>;
    const sim::Lanes lanes = sim::CountForm(core, count, per);
    sim::CastAny(core, lanes, dst, src, mode, UnaryRepeatParams(1, 1, sim::DenseRepeat<T>(per), sim::DenseRepeat<U>(per)));
}

// Conversion of one value by the scalar unit.
template <class T, class U, RoundMode mode> inline U ScalarCast(T value)
{
    return sim::Convert<U>(value, mode, sim::Core::Current().registers());
}
template <class T, class U, RoundMode mode> inline U Cast(T value)
{
    return ScalarCast<T, U, mode>(value);
}

inline void SetDeqScale(half scale)
{
    sim::Core::Current().registers().deqScale = scale;
}
inline void SetDeqScale(float scale, int16_t, bool)
{
    sim::Core::Current().registers().deqScale = scale;
}

// dst = (int32 sum, scaled to half, then relu)
namespace sim {
inline void RunAddDeqRelu(Core &core, const Lanes &lanes, const Operand<half> &dst, const Operand<int32_t> &a,
                          const Operand<int32_t> &b)
{
    if (lanes.empty()) {
        return;
    }
    Reads(core, a, lanes);
    Reads(core, b, lanes);
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats);
    const Core::Registers registers = core.registers();
    Execute(
        lanes, dst,
        [&registers](half *out, const int32_t *x, const int32_t *y, uint32_t n) {
            for (uint32_t i = 0; i < n; ++i) {
                const half sum = Convert<half>(AddOp()(x[i], y[i]), RoundMode::CAST_NONE, registers);
                out[i] = half(ReluOp()(static_cast<float>(sum)));
            }
        },
        a, b);
}
} // namespace sim

inline void AddDeqRelu(const LocalTensor<half> &dst, const LocalTensor<int32_t> &a, const LocalTensor<int32_t> &b,
                       const int32_t &count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("AddDeqRelu", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::CountForm(core, count, 64);
    sim::RunAddDeqRelu(core, lanes, sim::MakeDense(dst, lanes, "dst"), sim::MakeDense(a, lanes, "src0"),
                       sim::MakeDense(b, lanes, "src1"));
}

// Saturation of the control register; CAST concerns conversions to integers.
template <SaturationMode mode> inline void SetSaturationFlag(bool enable)
{
    auto &registers = sim::Core::Current().registers();
    (mode == SaturationMode::CAST ? registers.saturateCast : registers.saturateFloat) = enable;
}
template <SaturationMode mode> inline bool GetSaturationFlag()
{
    const auto &registers = sim::Core::Current().registers();
    return mode == SaturationMode::CAST ? registers.saturateCast : registers.saturateFloat;
}
template <int8_t first, int8_t last> inline void SetCtrlSpr(int64_t value)
{
    static_assert(first <= last && last < 64, "SetCtrlSpr: bits out of order");
    auto &registers = sim::Core::Current().registers();
    const uint64_t field = (last - first == 63 ? ~0ull : (1ull << (last - first + 1)) - 1) << first;
    registers.ctrl = (registers.ctrl & ~field) | ((static_cast<uint64_t>(value) << first) & field);
    registers.saturateFloat = (registers.ctrl >> 48 & 1) == 0;
}
template <int8_t first, int8_t last> inline int64_t GetCtrlSpr()
{
    const uint64_t width = last - first == 63 ? ~0ull : (1ull << (last - first + 1)) - 1;
    return static_cast<int64_t>(sim::Core::Current().registers().ctrl >> first & width);
}
template <int8_t first, int8_t last> inline void ResetCtrlSpr()
{
    SetCtrlSpr<first, last>(static_cast<int64_t>((1ull << 48) >> first));
}

} // namespace AscendC

#endif // ASCENDC_SIM_VECTOR_CAST_H
