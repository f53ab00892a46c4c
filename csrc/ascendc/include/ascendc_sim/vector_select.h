// SPDX-License-Identifier: Apache-2.0
//
// Comparing, selecting and gathering.
#ifndef ASCENDC_SIM_VECTOR_SELECT_H
#define ASCENDC_SIM_VECTOR_SELECT_H

#include "vector_fill.h"

namespace AscendC {

namespace sim {

template <class C> bool Holds(CMPMODE mode, C a, C b)
{
    switch (mode) {
    case CMPMODE::LT:
        return a < b;
    case CMPMODE::GT:
        return a > b;
    case CMPMODE::EQ:
        return a == b;
    case CMPMODE::LE:
        return a <= b;
    case CMPMODE::GE:
        return a >= b;
    default:
        return !(a == b);
    }
}

// Bits are packed from the lowest of the first byte on.
inline void PutBit(uint8_t *bits, uint64_t index, bool value)
{
    const auto bit = static_cast<uint8_t>(1u << (index % 8));
    bits[index / 8] = static_cast<uint8_t>(value ? bits[index / 8] | bit : bits[index / 8] & ~bit);
}
inline bool GetBit(const uint8_t *bits, uint64_t index)
{
    return (bits[index / 8] >> (index % 8) & 1) != 0;
}

template <class T> void CheckCompareType(Core &core, CMPMODE mode)
{
    static_assert(kOneOf<T, half, float, int32_t>, "Compare does not take this type");
    if (core.checks() && std::is_same_v<T, int32_t> && mode != CMPMODE::EQ) {
        core.Fail("int32 compares only with EQ");
    }
}

// One bit for each element, `per` bits a repeat. The mask plays no part on this chip.
template <class T, class U>
void RunCompare(Core &core, uint32_t repeats, const LocalTensor<U> &dst, const Operand<T> &a, const Operand<T> *b, T scalar,
                CMPMODE mode)
{
    static_assert(kOneOf<U, uint8_t, int8_t>, "Compare writes bits into uint8");
    CheckCompareType<T>(core, mode);
    if (repeats == 0) {
        return;
    }
    constexpr uint32_t per = kPerRepeat<T>;
    const Lanes lanes = PrefixLanes(per, repeats, per);
    Reads(core, a, lanes);
    if (b != nullptr) {
        Reads(core, *b, lanes);
    }
    WritesPlain(core, dst, static_cast<uint64_t>(repeats) * per / 8, "dst");
    Charge(core, repeats);
    std::vector<uint8_t> bits(static_cast<size_t>(repeats) * per / 8);
    for (uint32_t r = 0; r < repeats; ++r) {
        T buffer_a[kMaxLanes];
        T buffer_b[kMaxLanes];
        const T *x = Gathered(a, r, per, buffer_a);
        const T *y = b != nullptr ? Gathered(*b, r, per, buffer_b) : nullptr;
        for (uint32_t i = 0; i < per; ++i) {
            using C = ComputeType<T>;
            PutBit(bits.data(), r * per + i, Holds<C>(mode, C(x[i]), C(y != nullptr ? y[i] : scalar)));
        }
    }
    std::memcpy(dst.bytes(), bits.data(), bits.size());
}

template <class T> uint32_t CompareRepeats(Core &core, uint64_t count)
{
    if (core.checks() && count * sizeof(T) % kRepeatBytes != 0) {
        core.Fail("%llu elements of %zu bytes are no multiple of 256 bytes; the rest would be dropped",
                  static_cast<unsigned long long>(count), sizeof(T));
    }
    core.FullMask();
    return static_cast<uint32_t>(count * sizeof(T) / kRepeatBytes);
}

// The library's scratch at the end of UB, which some functions use behind the kernel's back.
inline void UsesScratch(Core &core)
{
    if (core.checks() && core.allocation().used[static_cast<int>(Mem::UB)] > TMP_UB_OFFSET) {
        core.Fail("uses the 8 KiB of UB at byte %u, where buffers of this kernel lie (they end at %u)", TMP_UB_OFFSET,
                  core.allocation().used[static_cast<int>(Mem::UB)]);
    }
}

template <class T, class U>
void RunSelect(Core &core, const Lanes &lanes, const Operand<T> &dst, const LocalTensor<U> &mask, const Operand<T> &a,
               const Operand<T> *b, T scalar, SELMODE mode)
{
    static_assert(kOneOf<T, half, float>, "Select takes half and float");
    if (lanes.empty()) {
        return;
    }
    if (mode != SELMODE::VSEL_CMPMASK_SPR) {
        UsesScratch(core);
    }
    const bool same = mode == SELMODE::VSEL_CMPMASK_SPR; // the same bits for every repeat
    const uint64_t bits = same ? lanes.per : (static_cast<uint64_t>(lanes.repeats - 1) * lanes.per + lanes.last);
    ReadsPlain(core, mask, (bits + 7) / 8, "selMask");
    Reads(core, a, lanes);
    if (b != nullptr) {
        Reads(core, *b, lanes);
    }
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats);
    const std::vector<uint8_t> chosen(mask.bytes(), mask.bytes() + (bits + 7) / 8);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        T buffer_a[kMaxLanes];
        T buffer_b[kMaxLanes];
        T results[kMaxLanes];
        const uint32_t count = lanes.count(r);
        const T *x = Gathered(a, r, count, buffer_a);
        const T *y = b != nullptr ? Gathered(*b, r, count, buffer_b) : nullptr;
        for (uint32_t i = 0; i < count; ++i) {
            results[i] = GetBit(chosen.data(), same ? i : static_cast<uint64_t>(r) * lanes.per + i)
                             ? x[i]
                             : (y != nullptr ? y[i] : scalar);
        }
        Scattered(dst, r, count, results, lanes);
    }
}

} // namespace sim

// --- Compare: with a tensor, with a scalar, into the register

template <class T, class U, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0,
                                                    const LocalTensor<T> &src1, CMPMODE mode, Mask, int64_t repeatTime,
                                                    const BinaryRepeatParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Compare", sim::Pipe::V, where);
    sim::CheckRepeats(core, repeatTime);
    const auto b = sim::MakeOperand(src1, p.src1BlkStride, p.src1RepStride, "src1");
    sim::RunCompare<T>(core, static_cast<uint32_t>(repeatTime), dst,
                       sim::MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0"), &b, T(0), mode);
}
template <class T, class U>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode,
                    uint32_t count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Compare", sim::Pipe::V, where);
    const uint32_t repeats = sim::CompareRepeats<T>(core, count);
    const auto b = sim::MakeOperand(src1, 1, 8, "src1");
    sim::RunCompare<T>(core, repeats, dst, sim::MakeOperand(src0, 1, 8, "src0"), &b, T(0), mode);
}

#define ASCENDC_SIM_COMPARE_SCALAR(Name)                                                                               \
    template <class T, class U, bool isSetMask = true, class Mask>                                                     \
    inline std::enable_if_t<sim::kIsMask<Mask>> Name(const LocalTensor<U> &dst, const LocalTensor<T> &src0,            \
                                                     const sim::Identity<T> scalar, CMPMODE mode, Mask,                \
                                                     int64_t repeatTime, const UnaryRepeatParams &p,                   \
                                                     Where where = Where::Here())                                      \
    {                                                                                                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        sim::CheckRepeats(core, repeatTime);                                                                           \
        sim::RunCompare<T>(core, static_cast<uint32_t>(repeatTime), dst,                                               \
                           sim::MakeOperand(src0, p.srcBlkStride, p.srcRepStride, "src0"), nullptr, scalar, mode);     \
    }                                                                                                                  \
    template <class T, class U>                                                                                        \
    inline void Name(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const sim::Identity<T> scalar,             \
                     CMPMODE mode, uint32_t count, Where where = Where::Here())                                        \
    {                                                                                                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const uint32_t repeats = sim::CompareRepeats<T>(core, count);                                                  \
        sim::RunCompare<T>(core, repeats, dst, sim::MakeOperand(src0, 1, 8, "src0"), nullptr, scalar, mode);           \
    }
ASCENDC_SIM_COMPARE_SCALAR(Compares)
ASCENDC_SIM_COMPARE_SCALAR(CompareScalar)

template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Compare(const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode,
                                                    Mask mask, const BinaryRepeatParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Compare", sim::Pipe::V, where);
    sim::CheckCompareType<T>(core, mode);
    constexpr uint32_t per = sim::kPerRepeat<T>;
    const sim::Lanes lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), 1, per);
    const auto a = sim::MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0");
    const auto b = sim::MakeOperand(src1, p.src1BlkStride, p.src1RepStride, "src1");
    sim::Reads(core, a, lanes);
    sim::Reads(core, b, lanes);
    sim::Charge(core, 1);
    T buffer_a[sim::kMaxLanes];
    T buffer_b[sim::kMaxLanes];
    const T *x = sim::Gathered(a, 0, lanes.last, buffer_a);
    const T *y = sim::Gathered(b, 0, lanes.last, buffer_b);
    using C = sim::ComputeType<T>;
    for (uint32_t i = 0; i < lanes.last; ++i) {
        if (lanes.active(i)) {
            sim::PutBit(core.registers().compareMask, i, sim::Holds<C>(mode, C(x[i]), C(y[i])));
        }
    }
}
template <class T> inline void GetCmpMask(const LocalTensor<T> &dst, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("GetCmpMask", sim::Pipe::V, where);
    sim::WritesPlain(core, dst, 16, "dst", 16);
    std::memcpy(dst.bytes(), core.registers().compareMask, 16);
}
template <class T> inline void SetCmpMask(const LocalTensor<T> &src, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("SetCmpMask", sim::Pipe::V, where);
    sim::ReadsPlain(core, src, 16, "src", 16);
    std::memcpy(core.registers().compareMask, src.bytes(), 16);
}

// --- Select

template <class T, class U, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask,
                                                   const LocalTensor<T> &src0, const LocalTensor<T> &src1, SELMODE mode,
                                                   Mask mask, int64_t repeatTime, const BinaryRepeatParams &p,
                                                   Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Select", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);
    const auto b = sim::MakeOperand(src1, p.src1BlkStride, p.src1RepStride, "src1");
    sim::RunSelect(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"), selMask,
                   sim::MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0"), &b, T(0), mode);
}
template <class T, class U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,
                   const LocalTensor<T> &src1, SELMODE mode, uint32_t count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Select", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);
    const auto b = sim::MakeDense(src1, lanes, "src1");
    sim::RunSelect(core, lanes, sim::MakeDense(dst, lanes, "dst"), selMask, sim::MakeDense(src0, lanes, "src0"), &b, T(0),
                   mode);
}
template <class T, class U, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask,
                                                   const LocalTensor<T> &src0, const sim::Identity<T> scalar, SELMODE mode,
                                                   Mask mask, int64_t repeatTime, const BinaryRepeatParams &p,
                                                   Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Select", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);
    sim::RunSelect<T>(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"), selMask,
                      sim::MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0"), nullptr, scalar, mode);
}
template <class T, class U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,
                   const sim::Identity<T> scalar, SELMODE mode, uint32_t count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Select", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);
    sim::RunSelect<T>(core, lanes, sim::MakeDense(dst, lanes, "dst"), selMask, sim::MakeDense(src0, lanes, "src0"), nullptr,
                      scalar, mode);
}

namespace sim {
// The forms that choose by the register; how many lanes take part is the mask register's business.
template <class T>
void SelectByRegister(Core &core, const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,
                      int64_t repeatTime, const BinaryRepeatParams &p)
{
    CheckRepeats(core, repeatTime);
    const Lanes lanes = RegisterLanes(core, static_cast<uint32_t>(repeatTime), kPerRepeat<T>);
    if (lanes.empty()) {
        return;
    }
    const auto out = MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst");
    const auto a = MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0");
    Reads(core, a, lanes);
    const auto b = MakeOperand(src1, p.src1BlkStride, p.src1RepStride, "src1");
    Reads(core, b, lanes);
    Writes(core, out, lanes);
    Charge(core, lanes.repeats);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        T buffer_a[kMaxLanes];
        T buffer_b[kMaxLanes];
        T results[kMaxLanes];
        const uint32_t count = lanes.count(r);
        const T *x = Gathered(a, r, count, buffer_a);
        const T *y = Gathered(b, r, count, buffer_b);
        for (uint32_t i = 0; i < count; ++i) {
            results[i] = GetBit(core.registers().compareMask, i) ? x[i] : y[i];
        }
        Scattered(out, r, count, results, lanes);
    }
}
} // namespace sim

template <class T, SELMODE mode>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, int64_t repeatTime,
                   const BinaryRepeatParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Select", sim::Pipe::V, where);
    sim::SelectByRegister<T>(core, dst, src0, src1, repeatTime, p);
}

// The scalar comes from the compare register.
template <class T, class U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0, int64_t repeatTime,
                   const BinaryRepeatParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Select", sim::Pipe::V, where);
    sim::CheckRepeats(core, repeatTime);
    const sim::Lanes lanes = sim::RegisterLanes(core, static_cast<uint32_t>(repeatTime), sim::kPerRepeat<T>);
    T scalar;
    std::memcpy(&scalar, core.registers().compareMask, sizeof(T));
    sim::RunSelect<T>(core, lanes, sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst"), selMask,
                      sim::MakeOperand(src0, p.src0BlkStride, p.src0RepStride, "src0"), nullptr, scalar,
                      SELMODE::VSEL_TENSOR_SCALAR_MODE);
}

// --- Gather: elements, and blocks, by byte offsets

namespace sim {

template <class T>
void RunGather(Core &core, const Lanes &lanes, const Operand<T> &dst, const LocalTensor<T> &src,
               const LocalTensor<uint32_t> &offsets, uint32_t base)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather takes 16-bit and 32-bit types");
    if (lanes.empty()) {
        return;
    }
    CheckPlace(core, src, kBlockBytes, "src");
    if (core.checks() && base > src.GetLength()) {
        core.Fail("base offset %u lies beyond src, which has %u bytes", base, src.GetLength());
    }
    const uint64_t count = static_cast<uint64_t>(lanes.repeats - 1) * lanes.per + lanes.last;
    ReadsPlain(core, offsets, count * 4, "the offsets");
    Writes(core, dst, lanes);
    // What a strided destination leaves out may hold the source.
    const uint64_t written = lanes.contiguous() && dst.dense(lanes) ? count * sizeof(T) : 0;
    CheckApart(core, dst.tensor.bytes(), written, offsets.bytes(), count * 4, "the offsets");
    core.counters().cycles[Index(Pipe::V)] += count / 5;
    Charge(core, lanes.repeats);
    const auto *offset = reinterpret_cast<const uint32_t *>(offsets.bytes());
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        T results[kMaxLanes];
        for (uint32_t i = 0; i < lanes.count(r); ++i) {
            if (!lanes.active(i)) {
                continue;
            }
            const uint64_t at = static_cast<uint64_t>(base) + offset[r * lanes.per + i];
            if (core.checks() && (at % sizeof(T) != 0 || at + sizeof(T) > src.GetLength())) {
                core.Fail("offset %llu of element %u is not an element of src, which has %u bytes",
                          static_cast<unsigned long long>(at), r * lanes.per + i, src.GetLength());
            }
            CheckApart(core, dst.tensor.bytes(), written, src.bytes() + at, sizeof(T), "src");
            core.Read(src.bytes() + at, sizeof(T), "src");
            std::memcpy(&results[i], src.bytes() + at, sizeof(T));
        }
        Scattered(dst, r, lanes.count(r), results, lanes);
    }
}

} // namespace sim

template <class T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &offsets,
                   const uint32_t base, const uint32_t count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Gather", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);
    sim::RunGather(core, lanes, sim::MakeDense(dst, lanes, "dst"), src, offsets, base);
}
template <class T, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                                   const LocalTensor<uint32_t> &offsets, const uint32_t base, Mask mask,
                                                   int64_t repeatTime, const uint16_t dstRepStride,
                                                   Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Gather", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::MaskForm<true>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);
    sim::RunGather(core, lanes, sim::MakeOperand(dst, 1, dstRepStride, "dst"), src, offsets, base);
}
template <class T>
inline void Gatherb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &offsets,
                    int64_t repeatTime, const GatherRepeatParams &p, Where where = Where::Here())
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gatherb takes 16-bit and 32-bit types");
    sim::Core &core = sim::Core::Current();
    core.Begin("Gatherb", sim::Pipe::V, where);
    sim::CheckRepeats(core, repeatTime);
    const auto repeats = static_cast<uint32_t>(repeatTime);
    if (repeats == 0) {
        return;
    }
    sim::CheckPlace(core, src, sim::kBlockBytes, "src");
    sim::ReadsPlain(core, offsets, repeats * 8ull * 4, "the offsets");
    const sim::Lanes lanes = sim::PrefixLanes(sim::kPerRepeat<T>, repeats, sim::kPerRepeat<T>);
    const auto out = sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst");
    sim::Writes(core, out, lanes);
    sim::Charge(core, repeats, 3);
    const auto *offset = reinterpret_cast<const uint32_t *>(offsets.bytes());
    for (uint32_t i = 0; i < repeats * 8; ++i) {
        if (core.checks() && (offset[i] % sim::kBlockBytes != 0 || offset[i] + sim::kBlockBytes > src.GetLength())) {
            core.Fail("offset %u of block %u is not a block of src, which has %u bytes", offset[i], i, src.GetLength());
        }
        core.Read(src.bytes() + offset[i], sim::kBlockBytes, "src");
        std::memcpy(reinterpret_cast<uint8_t *>(out.at(i / 8)) + i % 8 * out.block, src.bytes() + offset[i],
                    sim::kBlockBytes);
    }
}

// --- GatherMask: keeps chosen elements, side by side

namespace sim {

inline bool InPattern(uint32_t pattern, uint32_t index)
{
    switch (pattern) {
    case 1:
        return index % 2 == 0;
    case 2:
        return index % 2 == 1;
    case 7:
        return true;
    default:
        return index % 4 == pattern - 3;
    }
}

template <class T, class Keep>
uint64_t RunGatherMask(Core &core, const LocalTensor<T> &dst, const LocalTensor<T> &src, bool reduceMode, uint32_t mask,
                       const GatherMaskParams &p, Keep keep)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "GatherMask takes 16-bit and 32-bit types");
    const uint32_t count = reduceMode ? mask : kPerRepeat<T>;
    core.FullMask();
    if (p.repeatTimes == 0 || count == 0) {
        return 0;
    }
    constexpr uint32_t per_block = kBlockBytes / sizeof(T);
    const uint64_t blocks = (count + per_block - 1) / per_block;
    CheckPlace(core, src, kBlockBytes, "src0");
    CheckPlace(core, dst, kBlockBytes, "dst");
    CheckExtent(core, src,
                (p.repeatTimes - 1) * static_cast<uint64_t>(p.src0RepeatStride) * kBlockBytes +
                    (blocks - 1) * p.src0BlockStride * kBlockBytes + ((count - 1) % per_block + 1) * sizeof(T),
                "src0");
    std::vector<T> kept;
    for (uint32_t r = 0; r < p.repeatTimes; ++r) {
        for (uint32_t i = 0; i < count; ++i) {
            if (!keep(r, i)) {
                continue;
            }
            const uint8_t *from = src.bytes() + static_cast<uint64_t>(r) * p.src0RepeatStride * kBlockBytes +
                                  static_cast<uint64_t>(i / per_block) * p.src0BlockStride * kBlockBytes +
                                  i % per_block * sizeof(T);
            core.Read(from, sizeof(T), "src0");
            T value;
            std::memcpy(&value, from, sizeof(T));
            kept.push_back(value);
        }
    }
    CheckExtent(core, dst, kept.size() * sizeof(T), "dst");
    core.Write(dst.bytes(), static_cast<uint32_t>(kept.size() * sizeof(T)), "dst");
    Charge(core, p.repeatTimes, 2);
    std::memcpy(dst.bytes(), kept.data(), kept.size() * sizeof(T));
    return kept.size();
}

} // namespace sim

template <class T, GatherMaskMode mode = GatherMaskMode::VERSION_V1>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const uint8_t pattern, const bool reduceMode,
                       const uint32_t mask, const GatherMaskParams &p, uint64_t &rsvdCnt, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("GatherMask", sim::Pipe::V, where);
    if (core.checks() && (pattern < 1 || pattern > 7)) {
        core.Fail("pattern %u is not within 1..7", pattern);
    }
    rsvdCnt = sim::RunGatherMask(core, dst, src0, reduceMode, mask, p,
                                 [pattern](uint32_t, uint32_t i) { return sim::InPattern(pattern, i); });
}
template <class T, class U, GatherMaskMode mode = GatherMaskMode::VERSION_V1>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<U> &pattern,
                       const bool reduceMode, const uint32_t mask, const GatherMaskParams &p, uint64_t &rsvdCnt,
                       Where where = Where::Here())
{
    static_assert(sizeof(T) == sizeof(U), "the pattern is uint16 for 16-bit and uint32 for 32-bit types");
    sim::Core &core = sim::Core::Current();
    core.Begin("GatherMask", sim::Pipe::V, where);
    const uint32_t count = reduceMode ? mask : sim::kPerRepeat<T>;
    const uint64_t step = static_cast<uint64_t>(p.src1RepeatStride) * sim::kBlockBytes;
    if (p.repeatTimes != 0) {
        sim::ReadsPlain(core, pattern, (p.repeatTimes - 1) * step + (count + 7) / 8, "src1");
    }
    rsvdCnt = sim::RunGatherMask(core, dst, src0, reduceMode, mask, p, [&](uint32_t r, uint32_t i) {
        return sim::GetBit(pattern.bytes() + r * step, i);
    });
}

// --- whole-tensor operators

namespace sim {

template <class T, class U> void Assign(const LocalTensor<T> &dst, const TensorExpression<U> &expression)
{
    using Op = typename TensorExpression<U>::Op;
    const auto count = static_cast<int32_t>(expression.left.GetSize());
    if constexpr (std::is_same_v<T, U>) {
        if constexpr (kOneOf<T, int16_t, half, int32_t, float>) {
            switch (expression.op) {
            case Op::kAdd:
                return Add(dst, expression.left, expression.right, count);
            case Op::kSub:
                return Sub(dst, expression.left, expression.right, count);
            case Op::kMul:
                return Mul(dst, expression.left, expression.right, count);
            default:
                break;
            }
        }
        if constexpr (kOneOf<T, half, float>) {
            if (expression.op == Op::kDiv) {
                return Div(dst, expression.left, expression.right, count);
            }
        }
        if constexpr (kOneOf<T, int16_t, uint16_t>) {
            if (expression.op == Op::kOr) {
                return Or(dst, expression.left, expression.right, count);
            }
            if (expression.op == Op::kAnd) {
                return And(dst, expression.left, expression.right, count);
            }
        }
    } else if constexpr (kOneOf<U, half, float, int32_t> && kOneOf<T, uint8_t, int8_t>) {
        if (expression.op == Op::kCompare) {
            return Compare(dst, expression.left, expression.right, expression.compare, static_cast<uint32_t>(count));
        }
    }
    Core::Current().Fail("this operator does not exist for the types of the tensors");
}

} // namespace sim

} // namespace AscendC

#endif // ASCENDC_SIM_VECTOR_SELECT_H
