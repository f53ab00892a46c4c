// SPDX-License-Identifier: Apache-2.0
//
// How one vector instruction runs: which lanes of which repeats take part, where the operands lie, what is checked, and
// the order of execution (repeat by repeat: read all sources, then write).
#ifndef ASCENDC_SIM_VECTOR_ENGINE_H
#define ASCENDC_SIM_VECTOR_ENGINE_H

#include "pipe.h"

namespace AscendC::sim {

constexpr uint32_t kRepeatBytes = 256;
constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kMaxLanes = 256;

// The lanes of an instruction. Either a prefix of every repeat (`width`, the last repeat may be shorter) or a bit mask.
struct Lanes {
    uint32_t repeats = 0;
    uint32_t per = 0;   // elements of a full repeat
    uint32_t width = 0; // active prefix: of every repeat but the last
    uint32_t last = 0;  // of the last one
    bool masked = false;
    uint64_t bits[2] = {};

    uint32_t count(uint32_t repeat) const { return repeat + 1 == repeats ? last : width; }
    // Of the longest repeat.
    uint32_t most() const { return repeats > 1 ? width : last; }
    // All elements, where the repeats stand side by side and are full.
    uint32_t total() const { return repeats == 0 ? 0 : (repeats - 1) * per + last; }
    bool contiguous() const { return !masked && (repeats <= 1 || width == per); }
    bool active(uint32_t lane) const { return !masked || (bits[lane / 64] >> (lane % 64) & 1) != 0; }
    bool empty() const { return repeats == 0 || (width == 0 && last == 0); }
};

// One operand: its tensor, and the strides of its blocks and repeats in bytes.
template <class T> struct Operand {
    using Type = T;
    const LocalTensor<T> &tensor;
    uint32_t block;
    uint32_t repeat;
    const char *name;

    T *address() const { return reinterpret_cast<T *>(tensor.bytes()); }
    static constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);
    T *at(uint32_t r) const { return reinterpret_cast<T *>(tensor.bytes() + static_cast<uint64_t>(r) * repeat); }
    bool dense(const Lanes &lanes) const
    {
        return block == kBlockBytes && (lanes.repeats <= 1 || repeat == lanes.per * sizeof(T));
    }
};

template <class T>
Operand<T> MakeOperand(const LocalTensor<T> &tensor, uint32_t blkStride, uint32_t repStride, const char *name)
{
    return Operand<T>{tensor, blkStride * kBlockBytes, repStride * kBlockBytes, name};
}
// An operand of the count forms: repeats of `per` elements side by side.
template <class T> Operand<T> MakeDense(const LocalTensor<T> &tensor, const Lanes &lanes, const char *name)
{
    return Operand<T>{tensor, kBlockBytes, static_cast<uint32_t>(lanes.per * sizeof(T)), name};
}

// --- lanes

inline Lanes CountLanes(uint64_t total, uint32_t per)
{
    Lanes lanes;
    lanes.per = per;
    lanes.width = per;
    lanes.repeats = static_cast<uint32_t>((total + per - 1) / per);
    lanes.last = lanes.repeats == 0 ? 0 : static_cast<uint32_t>(total - static_cast<uint64_t>(lanes.repeats - 1) * per);
    return lanes;
}

// The lanes of a count form, which leaves Norm mode and a full mask behind.
inline Lanes CountForm(Core &core, int64_t count, uint32_t per)
{
    if (count < 0) {
        core.Fail("count %lld is negative", static_cast<long long>(count));
    }
    core.FullMask();
    return CountLanes(static_cast<uint64_t>(count), per);
}

inline Lanes PrefixLanes(uint64_t mask, uint32_t repeats, uint32_t per)
{
    Lanes lanes;
    lanes.per = per;
    lanes.repeats = repeats;
    lanes.width = lanes.last = static_cast<uint32_t>(std::min<uint64_t>(mask, per));
    return lanes;
}

inline Lanes BitLanes(uint64_t low, uint64_t high, uint32_t repeats, uint32_t per)
{
    if (per <= 64) {
        high = 0;
        low &= per == 64 ? ~0ull : (1ull << per) - 1;
    }
    // A mask that is a prefix takes the fast way.
    const int top = high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
    const int set = __builtin_popcountll(low) + __builtin_popcountll(high);
    Lanes lanes = PrefixLanes(static_cast<uint64_t>(top), repeats, per);
    if (set != top) {
        lanes.masked = true;
        lanes.bits[0] = low;
        lanes.bits[1] = high;
    }
    return lanes;
}

// What the mask register stands for now.
inline Lanes RegisterLanes(Core &core, uint32_t repeats, uint32_t per)
{
    const Core::Registers &registers = core.registers();
    if (registers.counterMode) {
        return CountLanes(registers.mask[0] & 0xffffffffu, per);
    }
    return BitLanes(registers.mask[0], registers.mask[1], repeats, per);
}

inline void CheckRepeats(Core &core, int64_t repeats)
{
    if (repeats < 0 || repeats > MAX_REPEAT_TIMES) {
        core.Fail("repeatTime %lld is not within 0..255", static_cast<long long>(repeats));
    }
}

// The lanes of the forms with a mask. In counter mode the mask is the total and repeatTime does not count.
template <bool isSetMask> Lanes MaskForm(Core &core, uint64_t mask, int64_t repeats, uint32_t per)
{
    CheckRepeats(core, repeats);
    Core::Registers &registers = core.registers();
    if (isSetMask) {
        if (registers.counterMode) {
            registers.mask[0] = mask;
            registers.mask[1] = 0;
        } else {
            if (core.checks() && mask > per) {
                core.Fail("mask %llu is above the %u elements of a repeat", static_cast<unsigned long long>(mask), per);
            }
            const uint64_t n = std::min<uint64_t>(mask, 128);
            registers.mask[0] = n >= 64 ? ~0ull : (1ull << n) - 1;
            registers.mask[1] = n <= 64 ? 0 : n == 128 ? ~0ull : (1ull << (n - 64)) - 1;
            return PrefixLanes(mask, static_cast<uint32_t>(repeats), per);
        }
    }
    return RegisterLanes(core, static_cast<uint32_t>(repeats), per);
}
template <bool isSetMask> Lanes MaskForm(Core &core, const uint64_t mask[], int64_t repeats, uint32_t per)
{
    CheckRepeats(core, repeats);
    if (isSetMask) {
        Core::Registers &registers = core.registers();
        registers.mask[0] = mask[0];
        registers.mask[1] = per > 64 ? mask[1] : 0;
    }
    return RegisterLanes(core, static_cast<uint32_t>(repeats), per);
}

// --- checks

template <class T> void CheckPlace(Core &core, const LocalTensor<T> &tensor, uint32_t alignment, const char *name)
{
    if (!core.checks()) {
        return;
    }
    const TPosition position = tensor.GetPosition();
    if (unlikely(position != TPosition::VECIN && position != TPosition::VECOUT && position != TPosition::VECCALC)) {
        core.Fail("%s is in %s, vector instructions work on VECIN, VECOUT and VECCALC", name,
                  tensor.bytes() == nullptr ? "no memory" : NameOf(position));
    }
    if (unlikely(reinterpret_cast<uintptr_t>(tensor.bytes()) % alignment != 0)) {
        core.Fail("%s starts at byte %u of UB, which is not a multiple of %u (ErrorRead4/ErrorWrite4)", name,
                  core.memory(Mem::UB).OffsetOf(tensor.bytes()), alignment);
    }
}

// The end of what the operand covers, in bytes from its start.
template <class T> uint64_t ExtentOf(const Operand<T> &operand, const Lanes &lanes)
{
    const auto tail = [&](uint32_t count) -> uint64_t {
        if (count == 0) {
            return 0;
        }
        const uint32_t lane = count - 1;
        return static_cast<uint64_t>(lane / operand.kPerBlock) * operand.block +
               (lane % operand.kPerBlock + 1) * sizeof(T);
    };
    uint64_t end = static_cast<uint64_t>(lanes.repeats - 1) * operand.repeat + tail(lanes.last);
    if (lanes.repeats > 1 && lanes.last < lanes.width) {
        end = std::max(end, static_cast<uint64_t>(lanes.repeats - 2) * operand.repeat + tail(lanes.width));
    }
    return end;
}

template <class T> void CheckExtent(Core &core, const LocalTensor<T> &tensor, uint64_t bytes, const char *name)
{
    if (core.checks() && unlikely(bytes > tensor.GetLength())) {
        core.Fail("%s covers %llu bytes, its tensor has %u (ErrorRead3/ErrorWrite2)", name,
                  static_cast<unsigned long long>(bytes), tensor.GetLength());
    }
}

// Calls `run(address, bytes)` for every stretch of bytes that the operand touches.
template <class T, class Run> void ForEachRun(const Operand<T> &operand, const Lanes &lanes, Run run)
{
    const uint8_t *start = operand.tensor.bytes();
    if (lanes.contiguous() && operand.dense(lanes)) {
        run(start, static_cast<uint32_t>(lanes.total() * sizeof(T)));
        return;
    }
    const uint32_t different = operand.repeat == 0 ? 1 : lanes.repeats;
    for (uint32_t r = 0; r < different; ++r) {
        const uint8_t *base = start + static_cast<uint64_t>(r) * operand.repeat;
        const uint32_t count = operand.repeat == 0 ? lanes.most() : lanes.count(r);
        if (!lanes.masked && operand.block == kBlockBytes) {
            run(base, static_cast<uint32_t>(count * sizeof(T)));
            continue;
        }
        for (uint32_t lane = 0; lane < count;) {
            const uint32_t block_end = std::min(count, (lane / operand.kPerBlock + 1) * operand.kPerBlock);
            if (!lanes.active(lane)) {
                ++lane;
                continue;
            }
            uint32_t end = lane + 1;
            while (end < block_end && lanes.active(end)) {
                ++end;
            }
            run(base + lane / operand.kPerBlock * operand.block + lane % operand.kPerBlock * sizeof(T),
                static_cast<uint32_t>((end - lane) * sizeof(T)));
            lane = end;
        }
        if (operand.block == 0 && operand.repeat == 0) {
            break;
        }
    }
}

template <class T> void Reads(Core &core, const Operand<T> &operand, const Lanes &lanes, uint32_t alignment = kBlockBytes)
{
    CheckPlace(core, operand.tensor, alignment, operand.name);
    CheckExtent(core, operand.tensor, ExtentOf(operand, lanes), operand.name);
    ForEachRun(operand, lanes, [&](const uint8_t *p, uint32_t n) { core.Read(p, n, operand.name); });
}

template <class T> void Writes(Core &core, const Operand<T> &operand, const Lanes &lanes, uint32_t alignment = kBlockBytes)
{
    CheckPlace(core, operand.tensor, alignment, operand.name);
    CheckExtent(core, operand.tensor, ExtentOf(operand, lanes), operand.name);
    if (core.checks() && operand.block == 0 && lanes.most() > operand.kPerBlock) {
        core.Fail("%s has block stride 0", operand.name);
    }
    ForEachRun(operand, lanes, [&](const uint8_t *p, uint32_t n) { core.Write(p, n, operand.name); });
}

// The rule of overlap: within a repeat source and destination are the same elements or have none in common, and what an
// earlier repeat wrote is no source of a later one. Instructions that accumulate (all repeats into one place) are an
// exception, and so are conversions between widths, which do not ask here.
template <class T> void CheckOverlap(Core &core, const Operand<T> &dst, const Operand<T> &src, const Lanes &lanes)
{
    if (!core.checks() || dst.block != kBlockBytes || src.block != kBlockBytes || lanes.masked) {
        return;
    }
    const auto *to = dst.tensor.bytes();
    const auto *from = src.tensor.bytes();
    if (to == from) {
        return;
    }
    const uint64_t once = lanes.most() * sizeof(T);
    const bool side_by_side = dst.dense(lanes) && src.dense(lanes) && lanes.contiguous();
    const uint64_t all = side_by_side ? lanes.total() * sizeof(T) : once;
    // Above its source a destination meets what later repeats read; below it, only the repeat itself counts.
    const bool broken = to > from ? static_cast<uint64_t>(to - from) < all : static_cast<uint64_t>(from - to) < once;
    if (unlikely(broken)) {
        core.Fail("dst overlaps %s, %lld bytes apart: neither the same elements nor others", src.name,
                  static_cast<long long>(to - from));
    }
}

// For instructions that take no overlap at all.
inline void CheckApart(Core &core, const uint8_t *dst, uint64_t written, const uint8_t *src, uint64_t read, const char *name)
{
    if (core.checks() && unlikely(dst < src + read && src < dst + written)) {
        core.Fail("dst overlaps %s, %lld bytes apart: this instruction takes no overlap", name,
                  static_cast<long long>(dst - src));
    }
}

// Reads and writes of a plain tensor that is no strided operand.
template <class T>
void ReadsPlain(Core &core, const LocalTensor<T> &tensor, uint64_t bytes, const char *name, uint32_t alignment = kBlockBytes)
{
    CheckPlace(core, tensor, alignment, name);
    CheckExtent(core, tensor, bytes, name);
    core.Read(tensor.bytes(), static_cast<uint32_t>(bytes), name);
}
template <class T>
void WritesPlain(Core &core, const LocalTensor<T> &tensor, uint64_t bytes, const char *name,
                 uint32_t alignment = kBlockBytes)
{
    CheckPlace(core, tensor, alignment, name);
    CheckExtent(core, tensor, bytes, name);
    core.Write(tensor.bytes(), static_cast<uint32_t>(bytes), name);
}

// Cycles of an instruction: its repeats at `perRepeat` cycles each, and the start.
inline void Charge(Core &core, uint32_t repeats, uint32_t perRepeat = 1)
{
    constexpr uint32_t kStart = 22;
    core.counters().cycles[Index(Pipe::V)] += static_cast<uint64_t>(repeats) * perRepeat + kStart;
    core.counters().repeats += repeats;
}

// --- execution

// The elements of repeat r, side by side: where they are, or copied into `buffer`.
template <class T> const T *Gathered(const Operand<T> &operand, uint32_t r, uint32_t count, T *buffer)
{
    const T *base = operand.at(r);
    if (operand.block == kBlockBytes) {
        return base;
    }
    constexpr uint32_t per = Operand<T>::kPerBlock;
    for (uint32_t lane = 0; lane < count; lane += per) {
        std::memcpy(buffer + lane, reinterpret_cast<const uint8_t *>(base) + lane / per * operand.block,
                    std::min(per, count - lane) * sizeof(T));
    }
    return buffer;
}

template <class T> void Scattered(const Operand<T> &operand, uint32_t r, uint32_t count, const T *values, const Lanes &lanes)
{
    auto *base = reinterpret_cast<uint8_t *>(operand.at(r));
    constexpr uint32_t per = Operand<T>::kPerBlock;
    for (uint32_t lane = 0; lane < count; lane += per) {
        auto *block = reinterpret_cast<T *>(base + lane / per * operand.block);
        const uint32_t here = std::min(per, count - lane);
        if (!lanes.masked) {
            std::memcpy(block, values + lane, here * sizeof(T));
            continue;
        }
        for (uint32_t i = 0; i < here; ++i) {
            if (lanes.active(lane + i)) {
                block[i] = values[lane + i];
            }
        }
    }
}

inline bool Disjoint(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    const auto *pa = static_cast<const uint8_t *>(a);
    const auto *pb = static_cast<const uint8_t *>(b);
    return pa + a_bytes <= pb || pb + b_bytes <= pa;
}

// The same elements, or none in common: then a loop may go through both in any order.
template <class D, class S> bool Compatible(const D *dst, const S *src, uint32_t count)
{
    if (sizeof(D) == sizeof(S) && static_cast<const void *>(dst) == static_cast<const void *>(src)) {
        return true;
    }
    return Disjoint(dst, count * sizeof(D), src, count * sizeof(S));
}

// The elements of one source, repeat by repeat. A block that is spread over every repeat is put together once, unless the
// instruction writes over it.
template <class T> class SourceReader {
public:
    template <class D>
    SourceReader(const Operand<T> &operand, const Operand<D> &dst, const Lanes &lanes) : operand_(operand)
    {
        const uint32_t count = lanes.most();
        if (operand.repeat == 0 && operand.block == 0 && count != 0 &&
            Disjoint(operand.address(), kBlockBytes, dst.address(), ExtentOf(dst, lanes))) {
            Gathered(operand, 0, count, buffer_);
            spread_ = true;
        }
    }
    const T *At(uint32_t r, uint32_t count) { return spread_ ? buffer_ : Gathered(operand_, r, count, buffer_); }

private:
    const Operand<T> &operand_;
    bool spread_ = false;
    T buffer_[kMaxLanes];
};

// Runs dst = function(src…). `function(out, in…, n)` works on n elements side by side.
template <class D, class Function, class... S>
void Execute(const Lanes &lanes, const Operand<D> &dst, Function function, const Operand<S> &...src)
{
    if (lanes.contiguous() && dst.dense(lanes) && (src.dense(lanes) && ...) &&
        (Compatible(dst.address(), src.address(), lanes.total()) && ...)) {
        function(dst.address(), static_cast<const S *>(src.address())..., lanes.total());
        return;
    }
    D results[kMaxLanes];
    const auto run = [&](auto &&...reader) {
        for (uint32_t r = 0; r < lanes.repeats; ++r) {
            const uint32_t count = lanes.count(r);
            if (count == 0) {
                continue;
            }
            const auto go = [&](const auto *...in) {
                if (dst.block == kBlockBytes && !lanes.masked && (Compatible(dst.at(r), in, count) && ...)) {
                    function(dst.at(r), in..., count);
                } else {
                    function(results, in..., count);
                    Scattered(dst, r, count, results, lanes);
                }
            };
            go(reader.At(r, count)...);
        }
    };
    run(SourceReader<S>(src, dst, lanes)...);
}

} // namespace AscendC::sim

#endif // ASCENDC_SIM_VECTOR_ENGINE_H
