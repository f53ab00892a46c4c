// SPDX-License-Identifier: Apache-2.0
//
// Elementwise arithmetic: binary, unary, with a scalar, and the fused forms.
#ifndef ASCENDC_SIM_VECTOR_ARITH_H
#define ASCENDC_SIM_VECTOR_ARITH_H

#include "vector_engine.h"

namespace AscendC {

namespace sim {

template <class T, class... Allowed> constexpr bool kOneOf = (std::is_same_v<T, Allowed> || ...);

// 16-bit floats are computed in float and rounded once; integers wrap.
template <class T> using ComputeType = std::conditional_t<kOneOf<T, half, bfloat16_t>, float, T>;

template <class T> inline T Wrapped(int64_t value)
{
    return static_cast<T>(static_cast<uint64_t>(value));
}

// In saturating mode 16-bit results keep to finite numbers.
template <class T> void Saturate(Core &core, T *values, uint32_t count)
{
    if constexpr (std::is_same_v<T, half>) {
        if (unlikely(core.registers().saturateFloat)) {
            for (uint32_t i = 0; i < count; ++i) {
                const uint16_t magnitude = values[i].bits & 0x7fff;
                if (magnitude > 0x7c00) {
                    values[i].bits = 0;
                } else if (magnitude == 0x7c00) {
                    values[i].bits = static_cast<uint16_t>(values[i].bits - 1);
                }
            }
        }
    }
}

// These turn an operation on one element into a function for Execute.

template <class D, class A, class Op> auto Map1(Core &core, Op op)
{
    return [&core, op](D *out, const A *a, uint32_t n) {
        ASCENDC_SIM_VECTOR_LOOP
        for (uint32_t i = 0; i < n; ++i) {
            out[i] = static_cast<D>(op(static_cast<ComputeType<A>>(a[i])));
        }
        Saturate(core, out, n);
    };
}
template <class D, class A, class Op> auto Map2(Core &core, Op op)
{
    return [&core, op](D *out, const A *a, const A *b, uint32_t n) {
        ASCENDC_SIM_VECTOR_LOOP
        for (uint32_t i = 0; i < n; ++i) {
            out[i] = static_cast<D>(op(static_cast<ComputeType<A>>(a[i]), static_cast<ComputeType<A>>(b[i])));
        }
        Saturate(core, out, n);
    };
}
// out = op(old out, a, b)
template <class D, class A, class Op> auto Map3(Core &core, Op op)
{
    return [&core, op](D *out, const D *old, const A *a, const A *b, uint32_t n) {
        ASCENDC_SIM_VECTOR_LOOP
        for (uint32_t i = 0; i < n; ++i) {
            out[i] = static_cast<D>(op(static_cast<ComputeType<D>>(old[i]), static_cast<ComputeType<A>>(a[i]),
                                       static_cast<ComputeType<A>>(b[i])));
        }
        Saturate(core, out, n);
    };
}
template <class D, class A, class Op> auto MapInto(Core &core, Op op)
{
    return [&core, op](D *out, const D *old, const A *a, uint32_t n) {
        ASCENDC_SIM_VECTOR_LOOP
        for (uint32_t i = 0; i < n; ++i) {
            out[i] = static_cast<D>(op(static_cast<ComputeType<D>>(old[i]), static_cast<ComputeType<A>>(a[i])));
        }
        Saturate(core, out, n);
    };
}

// --- operations on one element (float, or an integer)

struct AddOp {
    template <class T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            return Wrapped<T>(static_cast<int64_t>(a) + b);
        } else {
            return a + b;
        }
    }
};
struct SubOp {
    template <class T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            return Wrapped<T>(static_cast<int64_t>(a) - b);
        } else {
            return a - b;
        }
    }
};
struct MulOp {
    template <class T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            return Wrapped<T>(static_cast<int64_t>(a) * b);
        } else {
            return a * b;
        }
    }
};
struct DivOp {
    template <class T> T operator()(T a, T b) const { return a / b; }
};
struct MaxOp {
    template <class T> T operator()(T a, T b) const { return a > b ? a : b; }
};
struct MinOp {
    template <class T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct AndOp {
    template <class T> T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
struct OrOp {
    template <class T> T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
struct AbsOp {
    template <class T> T operator()(T a) const { return std::fabs(a); }
};
struct ExpOp {
    template <class T> T operator()(T a) const { return std::exp(a); }
};
struct LnOp {
    template <class T> T operator()(T a) const { return std::log(a); }
};
struct SqrtOp {
    template <class T> T operator()(T a) const { return std::sqrt(a); }
};
// The hardware's are table approximations; the exact values stand for them.
struct RsqrtOp {
    template <class T> T operator()(T a) const { return T(1) / std::sqrt(a); }
};
struct ReciprocalOp {
    template <class T> T operator()(T a) const { return T(1) / a; }
};
struct ReluOp {
    template <class T> T operator()(T a) const { return a > T(0) ? a : T(0); }
};
struct NotOp {
    template <class T> T operator()(T a) const { return static_cast<T>(~a); }
};
struct AddReluOp {
    template <class T> T operator()(T a, T b) const { return ReluOp()(AddOp()(a, b)); }
};
struct SubReluOp {
    template <class T> T operator()(T a, T b) const { return ReluOp()(SubOp()(a, b)); }
};

template <class T> constexpr uint32_t kPerRepeat = kRepeatBytes / sizeof(T);

// UB has 16 groups of banks, by blocks of 32 bytes. Two sources in one group are read one after the other.
template <class T> bool ShareBankGroup(const Operand<T> &a, const Operand<T> &b)
{
    constexpr uintptr_t kGroups = 16;
    const auto x = reinterpret_cast<uintptr_t>(a.tensor.bytes());
    const auto y = reinterpret_cast<uintptr_t>(b.tensor.bytes());
    return x != y && x / kBlockBytes % kGroups == y / kBlockBytes % kGroups;
}

// --- the three kinds of instructions, with what they check

template <class T, class Op>
void RunBinary(Core &core, const Lanes &lanes, const Operand<T> &dst, const Operand<T> &a, const Operand<T> &b, Op op,
               uint32_t cycles)
{
    if (lanes.empty()) {
        return;
    }
    CheckOverlap(core, dst, a, lanes);
    CheckOverlap(core, dst, b, lanes);
    Reads(core, a, lanes);
    Reads(core, b, lanes);
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats, cycles + (ShareBankGroup(a, b) ? 1 : 0));
    Execute(lanes, dst, Map2<T, T>(core, op), a, b);
}

template <class D, class A, class Op>
void RunUnary(Core &core, const Lanes &lanes, const Operand<D> &dst, const Operand<A> &a, Op op, uint32_t cycles)
{
    if (lanes.empty()) {
        return;
    }
    if constexpr (std::is_same_v<D, A>) {
        CheckOverlap(core, dst, a, lanes);
    }
    Reads(core, a, lanes);
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats, cycles);
    Execute(lanes, dst, Map1<D, A>(core, op), a);
}

} // namespace sim

namespace sim {

// A mask argument is a number of elements or an array of bits.
template <class M>
constexpr bool kIsMask = std::is_integral_v<M> || std::is_same_v<M, uint64_t *> || std::is_same_v<M, const uint64_t *>;
template <class M> auto AsMask(M mask)
{
    if constexpr (std::is_integral_v<M>) {
        return static_cast<uint64_t>(mask);
    } else {
        return static_cast<const uint64_t *>(mask);
    }
}

} // namespace sim

// The forms of a binary instruction: with a bit mask, with a mask length, with a count.
#define ASCENDC_SIM_BINARY(Name, Op, cycles, ...)                                                                      \
    template <class T, bool isSetMask = true, class Mask>                                                              \
    inline std::enable_if_t<sim::kIsMask<Mask>> Name(const LocalTensor<T> &dst, const LocalTensor<T> &src0,            \
                                                     const LocalTensor<T> &src1, Mask mask, int64_t repeatTime,        \
                                                     const BinaryRepeatParams &p, Where where = Where::Here())         \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, __VA_ARGS__>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const sim::Lanes lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);    \
        sim::RunBinary(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),                      \
                       sim::MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0"),                               \
                       sim::MakeOperand(src1, p.src1BlkStride, p.src1RepStride, "src1"), sim::Op(), cycles);           \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    inline void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,                \
                     const int32_t &count, Where where = Where::Here())                                                \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, __VA_ARGS__>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);                                      \
        sim::RunBinary(core, lanes, sim::MakeDense(dst, lanes, "dst"), sim::MakeDense(src0, lanes, "src0"),            \
                       sim::MakeDense(src1, lanes, "src1"), sim::Op(), cycles);                                        \
    }

#define ASCENDC_SIM_UNARY(Name, Op, cycles, ...)                                                                       \
    template <class T, bool isSetMask = true, class Mask>                                                              \
    inline std::enable_if_t<sim::kIsMask<Mask>> Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask,  \
                                                     int64_t repeatTime, const UnaryRepeatParams &p,                   \
                                                     Where where = Where::Here())                                      \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, __VA_ARGS__>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const sim::Lanes lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);    \
        sim::RunUnary(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),                       \
                      sim::MakeOperand(src, p.srcBlkStride, p.srcRepStride, "src"), sim::Op(), cycles);                \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    inline void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t &count,                       \
                     Where where = Where::Here())                                                                      \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, __VA_ARGS__>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);                                      \
        sim::RunUnary(core, lanes, sim::MakeDense(dst, lanes, "dst"), sim::MakeDense(src, lanes, "src"), sim::Op(),    \
                      cycles);                                                                                         \
    }

// dst = op(src, scalar)
#define ASCENDC_SIM_SCALAR(Name, expression, ...)                                                                      \
    template <class T, bool isSetMask = true, class Mask>                                                              \
    inline std::enable_if_t<sim::kIsMask<Mask>> Name(                                                                  \
        const LocalTensor<T> &dst, const LocalTensor<T> &src, const sim::Identity<T> &scalar, Mask mask,               \
        int64_t repeatTime, const UnaryRepeatParams &p, Where where = Where::Here())                                   \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, __VA_ARGS__>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const auto s = static_cast<sim::ComputeType<T>>(scalar);                                                       \
        const sim::Lanes lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);    \
        sim::RunUnary(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),                       \
                      sim::MakeOperand(src, p.srcBlkStride, p.srcRepStride, "src"),                                    \
                      [s](auto a) { return expression; }, 1);                                                          \
    }                                                                                                                  \
    template <class T, bool isSetMask = true>                                                                          \
    inline void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const sim::Identity<T> &scalar,             \
                     const int32_t &count, Where where = Where::Here())                                                \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, __VA_ARGS__>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const auto s = static_cast<sim::ComputeType<T>>(scalar);                                                       \
        const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);                                      \
        sim::RunUnary(core, lanes, sim::MakeDense(dst, lanes, "dst"), sim::MakeDense(src, lanes, "src"),               \
                      [s](auto a) { return expression; }, 1);                                                          \
    }

ASCENDC_SIM_BINARY(Add, AddOp, 1, int16_t, half, int32_t, float)
ASCENDC_SIM_BINARY(Sub, SubOp, 1, int16_t, half, int32_t, float)
ASCENDC_SIM_BINARY(Mul, MulOp, 1, int16_t, half, int32_t, float)
ASCENDC_SIM_BINARY(Div, DivOp, (sizeof(T) == 2 ? 4 : 2), half, float)
ASCENDC_SIM_BINARY(Max, MaxOp, 1, int16_t, half, int32_t, float)
ASCENDC_SIM_BINARY(Min, MinOp, 1, int16_t, half, int32_t, float)
ASCENDC_SIM_BINARY(And, AndOp, 1, int16_t, uint16_t, int32_t, uint32_t)
ASCENDC_SIM_BINARY(Or, OrOp, 1, int16_t, uint16_t, int32_t, uint32_t)
ASCENDC_SIM_BINARY(AddRelu, AddReluOp, 1, int16_t, half, float)
ASCENDC_SIM_BINARY(SubRelu, SubReluOp, 1, int16_t, half, float)

ASCENDC_SIM_UNARY(Abs, AbsOp, 1, half, float)
ASCENDC_SIM_UNARY(Exp, ExpOp, (sizeof(T) == 2 ? 4 : 2), half, float)
ASCENDC_SIM_UNARY(Ln, LnOp, (sizeof(T) == 2 ? 4 : 2), half, float)
ASCENDC_SIM_UNARY(Sqrt, SqrtOp, (sizeof(T) == 2 ? 4 : 2), half, float)
ASCENDC_SIM_UNARY(Rsqrt, RsqrtOp, 1, half, float)
ASCENDC_SIM_UNARY(Reciprocal, ReciprocalOp, 1, half, float)
ASCENDC_SIM_UNARY(Relu, ReluOp, 1, half, int32_t, float)
ASCENDC_SIM_UNARY(Not, NotOp, 1, int16_t, uint16_t)

ASCENDC_SIM_SCALAR(Adds, sim::AddOp()(a, s), int16_t, half, int32_t, float)
ASCENDC_SIM_SCALAR(Muls, sim::MulOp()(a, s), int16_t, half, int32_t, float)
ASCENDC_SIM_SCALAR(Maxs, sim::MaxOp()(a, s), int16_t, half, int32_t, float)
ASCENDC_SIM_SCALAR(Mins, sim::MinOp()(a, s), int16_t, half, int32_t, float)
ASCENDC_SIM_SCALAR(LeakyRelu, (a >= 0 ? a : a * s), half, float)

// --- shifts: the scalar is a number of bits

namespace sim {

template <bool left, class T> auto ShiftOf(int64_t bits, bool round)
{
    return [bits, round](T a) -> T {
        if (bits < 0 || bits >= static_cast<int64_t>(sizeof(T) * 8)) {
            return !left && std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T(0);
        }
        if (left) {
            return Wrapped<T>(static_cast<int64_t>(static_cast<std::make_unsigned_t<T>>(a)) << bits);
        }
        int64_t value = static_cast<int64_t>(a);
        if (round && bits > 0) {
            value += int64_t(1) << (bits - 1);
        }
        return static_cast<T>(value >> bits);
    };
}

template <bool left, class T, class Shape>
void RunShift(const char *api, const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t bits, bool round, Where where,
              Shape shape)
{
    static_assert(kOneOf<T, uint16_t, int16_t, uint32_t, int32_t>, "shifts do not take this type");
    Core &core = Core::Current();
    core.Begin(api, Pipe::V, where);
    const auto [lanes, dst_operand, src_operand] = shape(core);
    RunUnary(core, lanes, dst_operand, src_operand, ShiftOf<left, T>(bits, round), 1);
    (void)dst;
    (void)src;
}

template <class T> auto CountShape(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t count)
{
    return [&dst, &src, count](Core &core) {
        const Lanes lanes = CountForm(core, count, kPerRepeat<T>);
        return std::make_tuple(lanes, MakeDense(dst, lanes, "dst"), MakeDense(src, lanes, "src"));
    };
}
template <bool isSetMask, class T, class Mask>
auto MaskShape(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask, int64_t repeats, const UnaryRepeatParams &p)
{
    return [&dst, &src, mask, repeats, p](Core &core) {
        const Lanes lanes = MaskForm<isSetMask>(core, AsMask(mask), repeats, kPerRepeat<T>);
        return std::make_tuple(lanes, MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),
                               MakeOperand(src, p.srcBlkStride, p.srcRepStride, "src"));
    };
}

} // namespace sim

template <class T>
inline void ShiftLeft(const LocalTensor<T> &dst, const LocalTensor<T> &src, const sim::Identity<T> &bits,
                      const int32_t &count, Where where = Where::Here())
{
    sim::RunShift<true>("ShiftLeft", dst, src, bits, false, where, sim::CountShape(dst, src, count));
}
template <class T>
inline void ShiftRight(const LocalTensor<T> &dst, const LocalTensor<T> &src, const sim::Identity<T> &bits,
                       const int32_t &count, Where where = Where::Here())
{
    sim::RunShift<false>("ShiftRight", dst, src, bits, false, where, sim::CountShape(dst, src, count));
}
template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> ShiftLeft(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                                      const sim::Identity<T> &bits, Mask mask, int64_t repeatTime,
                                                      const UnaryRepeatParams &p, Where where = Where::Here())
{
    sim::RunShift<true>("ShiftLeft", dst, src, bits, false, where, sim::MaskShape<isSetMask>(dst, src, mask, repeatTime, p));
}
template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> ShiftRight(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                                       const sim::Identity<T> &bits, Mask mask, int64_t repeatTime,
                                                       const UnaryRepeatParams &p, bool round = false,
                                                       Where where = Where::Here())
{
    sim::RunShift<false>("ShiftRight", dst, src, bits, round, where,
                         sim::MaskShape<isSetMask>(dst, src, mask, repeatTime, p));
}

// --- operations that also read their destination

namespace sim {

template <class T, class U> constexpr uint32_t kPerRepeatOf = kRepeatBytes / std::max(sizeof(T), sizeof(U));

template <class T, class U>
void RunAxpy(Core &core, const Lanes &lanes, const Operand<T> &dst, const Operand<U> &src, float scalar)
{
    static_assert(kOneOf<T, half, float> && (std::is_same_v<T, U> || std::is_same_v<U, half>), "Axpy: half, float, half->float");
    if (lanes.empty()) {
        return;
    }
    if constexpr (std::is_same_v<T, U>) {
        CheckOverlap(core, dst, src, lanes);
    } else if (lanes.contiguous() && dst.dense(lanes) && src.dense(lanes)) {
        CheckApart(core, dst.tensor.bytes(), lanes.total() * sizeof(T), src.tensor.bytes(), lanes.total() * sizeof(U), "src");
    }
    Reads(core, src, lanes);
    Reads(core, dst, lanes);
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats);
    Execute(lanes, dst, MapInto<T, U>(core, [scalar](float old, float a) { return old + a * scalar; }), dst, src);
}

template <class T, class U, class Op>
void RunTernary(Core &core, const Lanes &lanes, const Operand<T> &dst, const Operand<U> &a, const Operand<U> &b, Op op)
{
    if (lanes.empty()) {
        return;
    }
    if constexpr (std::is_same_v<T, U>) {
        CheckOverlap(core, dst, a, lanes);
        CheckOverlap(core, dst, b, lanes);
    }
    Reads(core, a, lanes);
    Reads(core, b, lanes);
    Reads(core, dst, lanes);
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats, 2);
    Execute(lanes, dst, Map3<T, U>(core, op), dst, a, b);
}

} // namespace sim

template <class T, class U, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src,
                                                 const sim::Identity<U> &scalar, Mask mask, int64_t repeatTime,
                                                 const UnaryRepeatParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Axpy", sim::Pipe::V, where);
    const auto lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeatOf<T, U>);
    sim::RunAxpy(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),
                 sim::MakeOperand(src, p.srcBlkStride, p.srcRepStride, "src"), scalar);
}
template <class T, class U>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const sim::Identity<U> &scalar, const int32_t &count,
                 Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Axpy", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeatOf<T, U>);
    sim::RunAxpy(core, lanes, sim::MakeDense(dst, lanes, "dst"), sim::MakeDense(src, lanes, "src"), scalar);
}

#define ASCENDC_SIM_TERNARY(Name, expression)                                                                          \
    template <class T, class U, bool isSetMask = true, class Mask>                                                     \
    inline std::enable_if_t<sim::kIsMask<Mask>> Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0,            \
                                                     const LocalTensor<U> &src1, Mask mask, int64_t repeatTime,        \
                                                     const BinaryRepeatParams &p, Where where = Where::Here())         \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, half, float>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const auto lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeatOf<T, U>);     \
        sim::RunTernary(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"),                     \
                        sim::MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0"),                              \
                        sim::MakeOperand(src1, p.src1BlkStride, p.src1RepStride, "src1"),                              \
                        [](float old, float a, float b) { return expression; });                                       \
    }                                                                                                                  \
    template <class T, class U>                                                                                        \
    inline void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<U> &src1,                \
                     const int32_t &count, Where where = Where::Here())                                                \
    {                                                                                                                  \
        static_assert(sim::kOneOf<T, half, float>, #Name " does not take this type");                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeatOf<T, U>);                                 \
        sim::RunTernary(core, lanes, sim::MakeDense(dst, lanes, "dst"), sim::MakeDense(src0, lanes, "src0"),           \
                        sim::MakeDense(src1, lanes, "src1"), [](float old, float a, float b) { return expression; });  \
    }

ASCENDC_SIM_TERNARY(MulAddDst, old + a * b)
ASCENDC_SIM_TERNARY(FusedMulAdd, a * old + b)
ASCENDC_SIM_TERNARY(MulAddRelu, sim::ReluOp()(a * old + b))
ASCENDC_SIM_TERNARY(FusedMulAddRelu, sim::ReluOp()(a * old + b))

} // namespace AscendC

#endif // ASCENDC_SIM_VECTOR_ARITH_H
