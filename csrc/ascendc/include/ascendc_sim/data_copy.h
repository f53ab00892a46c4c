// SPDX-License-Identifier: Apache-2.0
//
// Copies between global memory and UB (MTE2, MTE3) and inside UB (V): contiguous, strided, padded, by slices, and with
// atomic operations on the way out.
#ifndef ASCENDC_SIM_DATA_COPY_H
#define ASCENDC_SIM_DATA_COPY_H

#include "vector_permute.h"

namespace AscendC {

namespace sim {

// Bursts of bytes from one memory to another; steps go from start to start.
struct Bursts {
    uint32_t count;
    uint64_t length;
    uint64_t srcStep;
    uint64_t dstStep;
};

inline void ChargeCopy(Core &core, Pipe pipe, uint64_t bytes, uint32_t bursts)
{
    // From measured copies: about 17 bytes a cycle and vector core when all cores stream, and a start.
    constexpr uint64_t kBytesPerCycle = 17;
    core.counters().cycles[Index(pipe)] += bytes / kBytesPerCycle + 64 + bursts;
}

// The on-chip side of a copy: a known memory of this core, aligned.
template <class T> void CheckLocalSide(Core &core, const LocalTensor<T> &tensor, const char *name)
{
    if (!core.checks()) {
        return;
    }
    if (tensor.bytes() == nullptr) {
        core.Fail("%s has no memory", name);
    }
    LocalMemory &memory = core.MemoryOf(tensor.GetPosition());
    if (memory.OffsetOf(tensor.bytes()) % memory.alignment() != 0) {
        core.Fail("%s starts at byte %u of %s, which is not a multiple of %u (ErrorRead4/ErrorWrite4)", name,
                  memory.OffsetOf(tensor.bytes()), memory.name(), memory.alignment());
    }
}

template <class T> void CheckGlobalAlignment(Core &core, const void *address, const char *name)
{
    if (core.checks() && reinterpret_cast<uintptr_t>(address) % sizeof(T) != 0) {
        core.Fail("%s at %p is not aligned to its element of %zu bytes", name, address, sizeof(T));
    }
}

template <class T> void CopyIn(Core &core, const LocalTensor<T> &dst, const T *src, const Bursts &bursts)
{
    CheckLocalSide(core, dst, "dst");
    CheckGlobalAlignment<T>(core, src, "src");
    if (bursts.count == 0 || bursts.length == 0) {
        return;
    }
    CheckExtent(core, dst, (bursts.count - 1) * bursts.dstStep + bursts.length, "dst");
    const auto *from = reinterpret_cast<const uint8_t *>(src);
    for (uint32_t i = 0; i < bursts.count; ++i) {
        core.CheckGlobal(from, bursts.length, "src");
        uint8_t *to = dst.bytes() + i * bursts.dstStep;
        core.Write(to, static_cast<uint32_t>(bursts.length), "dst");
        core.LoadGlobal(Pipe::MTE2, from, bursts.length, "src", [&] { std::memcpy(to, from, bursts.length); });
        from += bursts.srcStep;
    }
    core.CountGlobal(Pipe::MTE2, bursts.count * bursts.length, false);
    ChargeCopy(core, Pipe::MTE2, bursts.count * bursts.length, bursts.count);
}

// --- atomic stores

template <class T> T Combine(AtomicMode mode, T old, T value)
{
    using C = ComputeType<T>;
    const C a = static_cast<C>(old);
    const C b = static_cast<C>(value);
    switch (mode) {
    case AtomicMode::kAdd:
        return static_cast<T>(AddOp()(a, b));
    case AtomicMode::kMax:
        return static_cast<T>(MaxOp()(a, b));
    default:
        return static_cast<T>(MinOp()(a, b));
    }
}

template <class T> void AtomicStore(AtomicMode mode, T *address, T value)
{
    if constexpr (sizeof(T) <= 4) {
        using Bits = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
        auto *target = reinterpret_cast<Bits *>(address);
        Bits seen = __atomic_load_n(target, __ATOMIC_RELAXED);
        Bits wanted;
        do {
            wanted = BitCast<Bits>(Combine(mode, BitCast<T>(seen), value));
        } while (!__atomic_compare_exchange_n(target, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    } else {
        *address = Combine(mode, *address, value);
    }
}

template <class T> void Store(AtomicMode mode, uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    if (likely(mode == AtomicMode::kNone)) {
        std::memcpy(to, from, bytes);
        return;
    }
    auto *target = reinterpret_cast<T *>(to);
    const auto *values = reinterpret_cast<const T *>(from);
    for (uint64_t i = 0; i < bytes / sizeof(T); ++i) {
        AtomicStore(mode, target + i, values[i]);
    }
}

// `whole`: the copy moves blocks of 32 bytes, not elements.
template <class T> void CopyOut(Core &core, T *dst, const LocalTensor<T> &src, const Bursts &bursts, bool whole = true)
{
    CheckLocalSide(core, src, "src");
    CheckGlobalAlignment<T>(core, dst, "dst");
    if (bursts.count == 0 || bursts.length == 0) {
        return;
    }
    const AtomicMode mode = core.registers().atomic;
    if (mode != AtomicMode::kNone && core.checks() && !kOneOf<T, int8_t, int16_t, half, bfloat16_t, int32_t, float>) {
        core.Fail("atomic stores do not take this type");
    }
    CheckExtent(core, src, (bursts.count - 1) * bursts.srcStep + bursts.length, "src");
    auto *to = reinterpret_cast<uint8_t *>(dst);
    for (uint32_t i = 0; i < bursts.count; ++i) {
        core.CheckGlobal(to, bursts.length, "dst");
        const uint8_t *from = src.bytes() + i * bursts.srcStep;
        if (whole) {
            core.ReadBlocks(from, static_cast<uint32_t>(bursts.length), "src");
        } else {
            core.Read(from, static_cast<uint32_t>(bursts.length), "src");
        }
        core.StoreGlobal(Pipe::MTE3, to, bursts.length, mode == AtomicMode::kNone ? Touch::kWrite : Touch::kAtomic, "dst",
                         from, [&] { Store<T>(mode, to, from, bursts.length); });
        to += bursts.dstStep;
    }
    core.CountGlobal(Pipe::MTE3, bursts.count * bursts.length, true);
    ChargeCopy(core, Pipe::MTE3, bursts.count * bursts.length, bursts.count);
}

// Between on-chip tensors of the same core.
template <class T> void CopyLocal(Core &core, const LocalTensor<T> &dst, const LocalTensor<T> &src, const Bursts &bursts)
{
    CheckLocalSide(core, dst, "dst");
    CheckLocalSide(core, src, "src");
    if (bursts.count == 0 || bursts.length == 0) {
        return;
    }
    CheckExtent(core, src, (bursts.count - 1) * bursts.srcStep + bursts.length, "src");
    CheckExtent(core, dst, (bursts.count - 1) * bursts.dstStep + bursts.length, "dst");
    for (uint32_t i = 0; i < bursts.count; ++i) {
        const uint8_t *from = src.bytes() + i * bursts.srcStep;
        uint8_t *to = dst.bytes() + i * bursts.dstStep;
        core.Read(from, static_cast<uint32_t>(bursts.length), "src");
        core.Write(to, static_cast<uint32_t>(bursts.length), "dst");
        std::memmove(to, from, bursts.length);
    }
    Charge(core, static_cast<uint32_t>((bursts.count * bursts.length + kRepeatBytes - 1) / kRepeatBytes));
}

inline void CheckCopyParams(Core &core, const DataCopyParams &p)
{
    if (core.checks() && p.blockCount > 4095) {
        core.Fail("blockCount %u is not within 0..4095", p.blockCount);
    }
}

// Whole blocks of 32 bytes; a rest is left behind.
inline Bursts WholeBlocks(uint64_t count, size_t size)
{
    const uint64_t bytes = count * size / kBlockBytes * kBlockBytes;
    return Bursts{1, bytes, 0, 0};
}

inline Bursts BlockBursts(const DataCopyParams &p)
{
    return Bursts{p.blockCount, p.blockLen * uint64_t(kBlockBytes), (uint64_t(p.blockLen) + p.srcStride) * kBlockBytes,
                  (uint64_t(p.blockLen) + p.dstStride) * kBlockBytes};
}

inline Pipe LocalCopyPipe(TPosition dst, TPosition src)
{
    const Mem to = MemoryKindOf(dst);
    const Mem from = MemoryKindOf(src);
    if (from == Mem::UB && to == Mem::UB) {
        return Pipe::V;
    }
    return from == Mem::UB ? Pipe::MTE3 : to == Mem::FB ? Pipe::FIX : Pipe::MTE1;
}

} // namespace sim

template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const uint32_t count,
                     Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::Pipe::MTE2, where);
    sim::CopyIn(core, dst, src.GetPhyAddr(), sim::WholeBlocks(count, sizeof(T)));
}
template <class T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count,
                     Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::Pipe::MTE3, where);
    sim::CopyOut(core, dst.GetPhyAddr(0), src, sim::WholeBlocks(count, sizeof(T)));
}
template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::LocalCopyPipe(dst.GetPosition(), src.GetPosition()), where);
    sim::CopyLocal(core, dst, src, sim::WholeBlocks(count, sizeof(T)));
}
template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &p,
                     Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::Pipe::MTE2, where);
    sim::CheckCopyParams(core, p);
    sim::CopyIn(core, dst, src.GetPhyAddr(), sim::BlockBursts(p));
}
template <class T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &p,
                     Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::Pipe::MTE3, where);
    sim::CheckCopyParams(core, p);
    sim::CopyOut(core, dst.GetPhyAddr(0), src, sim::BlockBursts(p));
}
template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &p,
                     Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::LocalCopyPipe(dst.GetPosition(), src.GetPosition()), where);
    sim::CheckCopyParams(core, p);
    sim::CopyLocal(core, dst, src, sim::BlockBursts(p));
}

// --- DataCopyPad

namespace sim {

struct Padding {
    bool isPad;
    uint32_t left;  // elements
    uint32_t right; // elements
};

template <class T>
void PadIn(Core &core, const LocalTensor<T> &dst, const T *src, uint32_t count, uint64_t length, uint64_t srcGap,
           uint64_t dstGap, Padding pad, T value)
{
    CheckLocalSide(core, dst, "dst");
    CheckGlobalAlignment<T>(core, src, "src");
    constexpr uint64_t kLongest = 2097151;
    if (core.checks()) {
        if (count > 4095) {
            core.Fail("blockCount %u is not within 0..4095", count);
        }
        if (length > kLongest || length % sizeof(T) != 0) {
            core.Fail("blockLen %llu is not a multiple of the element's %zu bytes up to 2097151",
                      static_cast<unsigned long long>(length), sizeof(T));
        }
        if (pad.left * sizeof(T) > kBlockBytes || pad.right * sizeof(T) > kBlockBytes) {
            core.Fail("paddings of %u and %u elements: each side takes at most 32 bytes", pad.left, pad.right);
        }
        if constexpr (sizeof(T) == 8) {
            const T zero{};
            if (pad.isPad && std::memcmp(&value, &zero, sizeof(T)) != 0) {
                core.Fail("paddingValue is not 0, the only one for types of 8 bytes");
            }
        }
    }
    if (count == 0 || length == 0) {
        return;
    }
    const bool padded = pad.left != 0 || pad.right != 0;
    const uint64_t used = RoundedUp(pad.left * sizeof(T) + length + pad.right * sizeof(T), kBlockBytes);
    const uint64_t step = used + dstGap * kBlockBytes;
    CheckExtent(core, dst, (count - 1) * step + used, "dst");
    T fill = value;
    if (padded && !pad.isPad) {
        std::memcpy(&fill, &core.registers().padValue, sizeof(T));
    }
    const auto *from = reinterpret_cast<const uint8_t *>(src);
    for (uint32_t i = 0; i < count; ++i) {
        core.CheckGlobal(from, length, "src");
        uint8_t *to = dst.bytes() + i * step;
        core.Write(to, static_cast<uint32_t>(used), "dst");
        if (!padded) {
            // The rest of the last block repeats the first element.
            std::memcpy(&fill, from, sizeof(T));
        }
        auto *out = reinterpret_cast<T *>(to);
        const uint64_t elements = length / sizeof(T);
        std::fill(out, out + pad.left, fill);
        core.LoadGlobal(Pipe::MTE2, from, length, "src", [&] { std::memcpy(out + pad.left, from, length); });
        std::fill(out + pad.left + elements, reinterpret_cast<T *>(to + used), fill);
        from += length + srcGap;
    }
    core.CountGlobal(Pipe::MTE2, count * length, false);
    ChargeCopy(core, Pipe::MTE2, count * length, count);
}

template <class T>
void PadOut(Core &core, T *dst, const LocalTensor<T> &src, uint32_t count, uint64_t length, uint64_t srcGap, uint64_t dstGap)
{
    if (core.checks() && count > 4095) {
        core.Fail("blockCount %u is not within 0..4095", count);
    }
    if (core.checks() && (length > 2097151 || length % sizeof(T) != 0)) {
        core.Fail("blockLen %llu is not a multiple of the element's %zu bytes up to 2097151",
                  static_cast<unsigned long long>(length), sizeof(T));
    }
    CopyOut(core, dst, src, Bursts{count, length, RoundedUp(length, kBlockBytes) + srcGap * kBlockBytes, length + dstGap},
            false);
}

} // namespace sim

template <class T, PaddingMode mode = PaddingMode::Normal>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &p,
                        const DataCopyPadExtParams<T> &pad, Where where = Where::Here())
{
    static_assert(mode == PaddingMode::Normal, "the compact form does not exist on this chip");
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopyPad", sim::Pipe::MTE2, where);
    sim::PadIn(core, dst, src.GetPhyAddr(), p.blockCount, p.blockLen, p.srcStride, p.dstStride,
               sim::Padding{pad.isPad, pad.leftPadding, pad.rightPadding}, pad.paddingValue);
}
template <class T>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &p,
                        const DataCopyPadParams &pad, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopyPad", sim::Pipe::MTE2, where);
    T value;
    std::memcpy(&value, &pad.paddingValue, sizeof(T));
    sim::PadIn(core, dst, src.GetPhyAddr(), p.blockCount, p.blockLen, p.srcStride, p.dstStride,
               sim::Padding{pad.isPad, pad.leftPadding, pad.rightPadding}, value);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &p,
                        Where where = Where::Here())
{
    static_assert(mode == PaddingMode::Normal, "the compact form does not exist on this chip");
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopyPad", sim::Pipe::MTE3, where);
    sim::PadOut(core, dst.GetPhyAddr(0), src, p.blockCount, p.blockLen, p.srcStride, p.dstStride);
}
template <class T>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &p,
                        Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopyPad", sim::Pipe::MTE3, where);
    sim::PadOut(core, dst.GetPhyAddr(0), src, p.blockCount, p.blockLen, p.srcStride, p.dstStride);
}
template <class T, TPosition position = TPosition::MAX> inline void SetPadValue(T value)
{
    auto &registers = sim::Core::Current().registers();
    registers.padValue = 0;
    std::memcpy(&registers.padValue, &value, sizeof(T));
}

// --- slices: both sides describe the same bursts of whole blocks

namespace sim {

// Element offsets of all bursts of a slice, innermost axis first.
template <class T>
std::vector<uint64_t> SliceOffsets(Core &core, const SliceInfo info[], uint32_t dims, const char *name)
{
    std::vector<uint64_t> offsets{0};
    uint64_t pitch = 1;
    for (uint32_t d = 0; d < dims; ++d) {
        const SliceInfo &axis = info[d];
        if (core.checks() && (axis.endIndex < axis.startIndex || (d > 0 && axis.burstLen != 1))) {
            core.Fail("%s: axis %u has an end before its start, or a burst length that is not 1", name, d);
        }
        const uint64_t burst = d == 0 ? axis.burstLen * kBlockBytes / sizeof(T) : axis.burstLen;
        std::vector<uint64_t> next;
        for (uint64_t at = axis.startIndex; at <= axis.endIndex; at += burst + axis.stride) {
            for (const uint64_t offset : offsets) {
                next.push_back(offset + at * pitch);
            }
        }
        offsets = std::move(next);
        pitch *= axis.shapeValue;
    }
    return offsets;
}

template <class T> void CheckSlices(Core &core, const SliceInfo dst[], const SliceInfo src[], size_t a, size_t b)
{
    if (core.checks() && (a != b || dst[0].burstLen != src[0].burstLen)) {
        core.Fail("the two sides describe %zu and %zu bursts of %u and %u blocks", a, b, dst[0].burstLen, src[0].burstLen);
    }
    if (core.checks() && a > 1536) {
        core.Fail("%zu bursts, at most 1536", a);
    }
}

} // namespace sim

template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const SliceInfo dstInfo[],
                     const SliceInfo srcInfo[], const uint32_t dims = 1, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::Pipe::MTE2, where);
    const auto to = sim::SliceOffsets<T>(core, dstInfo, dims, "dst");
    const auto from = sim::SliceOffsets<T>(core, srcInfo, dims, "src");
    sim::CheckSlices<T>(core, dstInfo, srcInfo, to.size(), from.size());
    for (size_t i = 0; i < std::min(to.size(), from.size()); ++i) {
        sim::CopyIn(core, dst[static_cast<uint32_t>(to[i])], src.GetPhyAddr() + from[i],
                    sim::Bursts{1, srcInfo[0].burstLen * uint64_t(sim::kBlockBytes), 0, 0});
    }
}
template <class T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const SliceInfo dstInfo[],
                     const SliceInfo srcInfo[], const uint32_t dims = 1, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("DataCopy", sim::Pipe::MTE3, where);
    const auto to = sim::SliceOffsets<T>(core, dstInfo, dims, "dst");
    const auto from = sim::SliceOffsets<T>(core, srcInfo, dims, "src");
    sim::CheckSlices<T>(core, dstInfo, srcInfo, to.size(), from.size());
    for (size_t i = 0; i < std::min(to.size(), from.size()); ++i) {
        sim::CopyOut(core, dst.GetPhyAddr(to[i]), src[static_cast<uint32_t>(from[i])],
                     sim::Bursts{1, srcInfo[0].burstLen * uint64_t(sim::kBlockBytes), 0, 0});
    }
}

// --- atomic mode of later stores

template <class T> inline void SetAtomicAdd()
{
    sim::Core::Current().registers().atomic = sim::AtomicMode::kAdd;
}
template <class T> inline void SetAtomicMax()
{
    sim::Core::Current().registers().atomic = sim::AtomicMode::kMax;
}
template <class T> inline void SetAtomicMin()
{
    sim::Core::Current().registers().atomic = sim::AtomicMode::kMin;
}
template <class T> inline void SetAtomicType() {}
inline void DisableDmaAtomic()
{
    sim::Core::Current().registers().atomic = sim::AtomicMode::kNone;
}
inline void SetAtomicNone()
{
    DisableDmaAtomic();
}
template <AtomicDtype type, AtomicOp op> inline void SetStoreAtomicConfig()
{
    sim::Core::Current().registers().atomic =
        type == AtomicDtype::ATOMIC_NONE ? sim::AtomicMode::kNone : sim::AtomicMode::kAdd;
}

// Fills global memory through UB, which is why it wants a TPipe and an order behind it.
template <class T>
inline void InitOutput(GlobalTensor<T> gm, uint32_t count, T value = T(0), Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("InitOutput", sim::Pipe::MTE3, where);
    sim::NeedsPipe(core);
    T *out = gm.GetPhyAddr(0);
    core.CheckGlobal(out, static_cast<uint64_t>(count) * sizeof(T), "dst");
    // It waits for its own stores, so that later ones are in order.
    const std::vector<T> values(count, value);
    core.StoreGlobal(sim::Pipe::V, out, count * sizeof(T), sim::Touch::kWrite, "dst", values.data(),
                     [&] { std::fill(out, out + count, value); });
    core.CountGlobal(sim::Pipe::MTE3, static_cast<uint64_t>(count) * sizeof(T), true);
    sim::ChargeCopy(core, sim::Pipe::MTE3, static_cast<uint64_t>(count) * sizeof(T), 1);
}
template <class T> inline void InitGlobalMemory(GlobalTensor<T> &gm, uint64_t count, const T &value)
{
    InitOutput(gm, static_cast<uint32_t>(count), value);
}

// --- scalar access to global memory, and its cache

template <class T> inline T ReadGmByPassDCache(__gm__ T *address, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("ReadGmByPassDCache", sim::Pipe::S, where);
    core.CheckGlobal(address, sizeof(T), "the element");
    T value;
    core.LoadGlobal(sim::Pipe::S, address, sizeof(T), "the element",
                    [&] { __atomic_load(address, &value, __ATOMIC_ACQUIRE); });
    core.AcquireLine(address);
    return value;
}
template <class T> inline void WriteGmByPassDCache(__gm__ T *address, T value, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("WriteGmByPassDCache", sim::Pipe::S, where);
    core.CheckGlobal(address, sizeof(T), "the element");
    core.StoreGlobal(sim::Pipe::S, address, sizeof(T), sim::Touch::kWrite, "the element", &value, [] {});
    core.ReleaseLine(address);
    __atomic_store(address, &value, __ATOMIC_RELEASE);
}
template <class T, CacheLine line, DcciDst dst> inline void DataCacheCleanAndInvalid(const GlobalTensor<T> &) {}
template <class T, CacheLine line> inline void DataCacheCleanAndInvalid(const GlobalTensor<T> &) {}
template <class T, CacheLine line, DcciDst dst> inline void DataCacheCleanAndInvalid(const LocalTensor<T> &) {}
template <class T> inline void DataCachePreload(const GlobalTensor<uint64_t> &, const T) {}
inline void ICachePreLoad(const int64_t) {}

} // namespace AscendC

#endif // ASCENDC_SIM_DATA_COPY_H
