// SPDX-License-Identifier: Apache-2.0
//
// Filling and spreading: Duplicate, CreateVecIndex, Brcb, Copy.
#ifndef ASCENDC_SIM_VECTOR_FILL_H
#define ASCENDC_SIM_VECTOR_FILL_H

#include "vector_reduce.h"

namespace AscendC {

namespace sim {

template <class T> void RunDuplicate(Core &core, const Lanes &lanes, const Operand<T> &dst, T value)
{
    static_assert(kOneOf<T, int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>,
                  "Duplicate does not take this type");
    if (lanes.empty()) {
        return;
    }
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats);
    Execute(lanes, dst, [value](T *out, uint32_t n) { std::fill(out, out + n, value); });
}

template <class T> void RunVecIndex(Core &core, const Lanes &lanes, const Operand<T> &dst, T first)
{
    static_assert(kOneOf<T, int16_t, half, int32_t, float>, "CreateVecIndex does not take this type");
    if (lanes.empty()) {
        return;
    }
    Writes(core, dst, lanes);
    Charge(core, lanes.repeats);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        T values[kMaxLanes];
        const uint32_t count = lanes.count(r);
        for (uint32_t i = 0; i < count; ++i) {
            values[i] = static_cast<T>(static_cast<ComputeType<T>>(first) + static_cast<ComputeType<T>>(r * lanes.per + i));
        }
        Scattered(dst, r, count, values, lanes);
    }
}

} // namespace sim

template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Duplicate(const LocalTensor<T> &dst, const sim::Identity<T> &value, Mask mask,
                                                      int64_t repeatTime, uint16_t dstBlkStride, uint8_t dstRepStride,
                                                      Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Duplicate", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::MaskForm<isSetMask>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);
    sim::RunDuplicate<T>(core, lanes, sim::MakeOperand(dst, dstBlkStride, dstRepStride, "dst"), value);
}
template <class T>
inline void Duplicate(const LocalTensor<T> &dst, const sim::Identity<T> &value, const int32_t &count,
                      Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Duplicate", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);
    sim::RunDuplicate<T>(core, lanes, sim::MakeDense(dst, lanes, "dst"), value);
}

template <class T, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> CreateVecIndex(const LocalTensor<T> &dst, const sim::Identity<T> &first,
                                                           Mask mask, int64_t repeatTime, uint16_t dstBlkStride,
                                                           uint8_t dstRepStride, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("CreateVecIndex", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::MaskForm<true>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);
    sim::RunVecIndex<T>(core, lanes, sim::MakeOperand(dst, dstBlkStride, dstRepStride, "dst"), first);
}
template <class T>
inline void CreateVecIndex(const LocalTensor<T> &dst, const sim::Identity<T> &first, uint32_t count,
                           Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("CreateVecIndex", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);
    sim::RunVecIndex<T>(core, lanes, sim::MakeDense(dst, lanes, "dst"), first);
}

// Each repeat spreads 8 neighbours over 8 blocks.
template <class T>
inline void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t repeatTime, const BrcbRepeatParams &p,
                 Where where = Where::Here())
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb takes 16-bit and 32-bit types");
    sim::Core &core = sim::Core::Current();
    core.Begin("Brcb", sim::Pipe::V, where);
    sim::CheckRepeats(core, repeatTime);
    if (repeatTime == 0) {
        return;
    }
    if (core.checks() && p.dstBlkStride == 0) {
        core.Fail("dstBlkStride is 0");
    }
    const auto repeats = static_cast<uint32_t>(repeatTime);
    constexpr uint32_t kValues = 8;
    constexpr uint32_t kCopies = sim::kBlockBytes / sizeof(T);
    sim::ReadsPlain(core, src, repeats * kValues * sizeof(T), "src");
    const sim::Lanes all = sim::PrefixLanes(sim::kPerRepeat<T>, repeats, sim::kPerRepeat<T>);
    const auto out = sim::MakeOperand(dst, p.dstBlkStride, p.dstRepStride, "dst");
    sim::Writes(core, out, all);
    sim::Charge(core, repeats);
    const T *in = reinterpret_cast<const T *>(src.bytes());
    for (uint32_t i = 0; core.checks() && i < repeats * kValues; ++i) {
        const auto *block = reinterpret_cast<const uint8_t *>(out.at(i / kValues)) + i % kValues * out.block;
        sim::CheckApart(core, block, sim::kBlockBytes, src.bytes(), repeats * kValues * sizeof(T), "src");
    }
    for (uint32_t r = 0; r < repeats; ++r) {
        T values[kValues];
        std::copy(in + r * kValues, in + (r + 1) * kValues, values);
        for (uint32_t i = 0; i < kValues; ++i) {
            T *block = reinterpret_cast<T *>(reinterpret_cast<uint8_t *>(out.at(r)) + i * out.block);
            std::fill(block, block + kCopies, values[i]);
        }
    }
}

// UB to UB with a mask. In counter mode the mask counts inside every repeat.
namespace sim {
template <class T> void CopyLongRepeats(const Lanes &lanes, const Operand<T> &dst, const Operand<T> &src)
{
    constexpr uint32_t per = Operand<T>::kPerBlock;
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        for (uint32_t lane = 0; lane < lanes.width; lane += per) {
            std::memmove(reinterpret_cast<uint8_t *>(dst.at(r)) + uint64_t(lane / per) * dst.block,
                         reinterpret_cast<const uint8_t *>(src.at(r)) + uint64_t(lane / per) * src.block,
                         std::min(per, lanes.width - lane) * sizeof(T));
        }
    }
}

template <bool isSetMask, class T, class Mask>
void RunCopy(Core &core, const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask, int64_t repeatTime,
             const CopyRepeatParams &p)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Copy takes 16-bit and 32-bit types");
    if (core.checks() && (p.dstStride > 4095 || p.srcStride > 4095 || p.dstRepeatSize > 4095 || p.srcRepeatSize > 4095)) {
        core.Fail("a stride is above 4095");
    }
    CheckRepeats(core, repeatTime);
    const auto in = MakeOperand(src, p.srcStride, p.srcRepeatSize, "src");
    const auto out = MakeOperand(dst, p.dstStride, p.dstRepeatSize, "dst");
    Lanes lanes;
    Core::Registers &registers = core.registers();
    if (registers.counterMode) {
        if constexpr (std::is_integral_v<Mask>) {
            if (isSetMask) {
                registers.mask[0] = mask;
            }
        }
        // Inside a repeat as many elements as the mask says, also more than 256 bytes.
        const auto count = static_cast<uint32_t>(registers.mask[0]);
        lanes = PrefixLanes(count, static_cast<uint32_t>(repeatTime), count);
    } else {
        lanes = MaskForm<isSetMask>(core, AsMask(mask), repeatTime, kPerRepeat<T>);
    }
    if (lanes.empty()) {
        return;
    }
    Reads(core, in, lanes);
    Writes(core, out, lanes);
    Charge(core, lanes.repeats);
    if (lanes.per > kMaxLanes) {
        CopyLongRepeats(lanes, out, in);
        return;
    }
    Execute(lanes, out, [](T *to, const T *from, uint32_t n) { std::memmove(to, from, n * sizeof(T)); }, in);
}
} // namespace sim

template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask,
                                                 int64_t repeatTime, const CopyRepeatParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Copy", sim::Pipe::V, where);
    sim::RunCopy<isSetMask>(core, dst, src, mask, repeatTime, p);
}

// --- the mask register

inline void SetMaskCount()
{
    sim::Core::Current().registers().counterMode = true;
}
inline void SetMaskNorm()
{
    sim::Core::Current().registers().counterMode = false;
}
inline void ResetMask()
{
    auto &registers = sim::Core::Current().registers();
    registers.mask[0] = registers.mask[1] = FULL_MASK;
}
template <class T, MaskMode mode = MaskMode::NORMAL> inline void SetVectorMask(uint64_t high, uint64_t low)
{
    auto &registers = sim::Core::Current().registers();
    registers.mask[0] = low;
    registers.mask[1] = high;
}
template <class T, MaskMode mode = MaskMode::NORMAL> inline void SetVectorMask(int32_t length)
{
    auto &registers = sim::Core::Current().registers();
    if (mode == MaskMode::COUNTER || registers.counterMode) {
        registers.mask[0] = static_cast<uint32_t>(length);
        registers.mask[1] = 0;
        return;
    }
    const auto n = static_cast<uint64_t>(std::min<int32_t>(std::max<int32_t>(length, 0), 128));
    registers.mask[0] = n >= 64 ? ~0ull : (1ull << n) - 1;
    registers.mask[1] = n <= 64 ? 0 : n == 128 ? ~0ull : (1ull << (n - 64)) - 1;
}

// Internal to the vendor's library, yet used by production kernels.
struct AscendCUtils {
    template <class T> static void SetMask(int32_t length) { SetVectorMask<T>(length); }
    template <class T> static void SetMask(uint64_t high, uint64_t low) { SetVectorMask<T>(high, low); }
    static void ResetMask() { AscendC::ResetMask(); }
    static void SetMaskCount() { AscendC::SetMaskCount(); }
    static void SetMaskNorm() { AscendC::SetMaskNorm(); }
};

} // namespace AscendC

#endif // ASCENDC_SIM_VECTOR_FILL_H
