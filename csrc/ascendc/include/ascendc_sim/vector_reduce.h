// SPDX-License-Identifier: Apache-2.0
//
// Reductions inside a repeat, a block and a pair, and over whole tensors. Sums go up a binary tree of neighbours; 16-bit
// sums round at every node, as the hardware does.
#ifndef ASCENDC_SIM_VECTOR_REDUCE_H
#define ASCENDC_SIM_VECTOR_REDUCE_H

#include "vector_cast.h"

namespace AscendC {

namespace sim {

template <class T> inline T TreeAdd(T a, T b)
{
    return static_cast<T>(static_cast<float>(a) + static_cast<float>(b));
}

// Adds neighbours until one value is left. Odd ends move up unchanged: they met a zero.
template <class T> T TreeSum(T *values, uint32_t count)
{
    if (count == 0) {
        return T(0.0f);
    }
    while (count > 1) {
        const uint32_t pairs = count / 2;
        for (uint32_t i = 0; i < pairs; ++i) {
            values[i] = TreeAdd(values[2 * i], values[2 * i + 1]);
        }
        if (count % 2 != 0) {
            values[pairs] = values[count - 1];
        }
        count = pairs + count % 2;
    }
    return values[0];
}

// The active lanes of one repeat: others become `neutral`. `values` holds `per` elements.
template <class T>
const T *ActiveLanes(const Operand<T> &src, const Lanes &lanes, uint32_t r, T neutral, T *values)
{
    const uint32_t count = lanes.count(r);
    const T *in = Gathered(src, r, count, values);
    if (in != values) {
        std::memcpy(values, in, count * sizeof(T));
    }
    if (lanes.masked) {
        for (uint32_t i = 0; i < count; ++i) {
            if (!lanes.active(i)) {
                values[i] = neutral;
            }
        }
    }
    return values;
}

template <ReduceType type, class T> T Neutral()
{
    if (type == ReduceType::SUM) {
        return T(0.0f);
    }
    const float infinity = std::numeric_limits<float>::infinity();
    return T(type == ReduceType::MAX ? -infinity : infinity);
}

template <ReduceType type, class T> bool Better(T a, T b)
{
    return type == ReduceType::MAX ? float(a) > float(b) : float(a) < float(b);
}

// The first best of the active lanes.
template <ReduceType type, class T> uint32_t BestLane(const T *values, const Lanes &lanes, uint32_t count)
{
    uint32_t best = count;
    for (uint32_t i = 0; i < count; ++i) {
        if (lanes.active(i) && (best == count || Better<type>(values[i], values[best]))) {
            best = i;
        }
    }
    return best;
}

template <class T> T IndexAs(uint32_t index)
{
    if constexpr (sizeof(T) == 2) {
        return BitCast<T>(static_cast<uint16_t>(index));
    } else {
        return BitCast<T>(index);
    }
}

// A whole repeat becomes one value, or a value and its index.
template <ReduceType type, class T>
void ReduceRepeats(Core &core, const Lanes &lanes, const LocalTensor<T> &dst, const Operand<T> &src, int64_t dstRepStride,
                   ReduceOrder order)
{
    static_assert(kOneOf<T, half, float>, "reductions take half and float");
    if (lanes.empty()) {
        return;
    }
    const bool pair = type != ReduceType::SUM &&
                      (order == ReduceOrder::ORDER_VALUE_INDEX || order == ReduceOrder::ORDER_INDEX_VALUE);
    const bool index_only = type != ReduceType::SUM && order == ReduceOrder::ORDER_ONLY_INDEX;
    const uint32_t unit = index_only ? 4 : static_cast<uint32_t>(sizeof(T)) * (pair ? 2 : 1);
    if (core.checks() && dstRepStride < 0) {
        core.Fail("dstRepStride %lld is negative", static_cast<long long>(dstRepStride));
    }
    if (core.checks() && order > ReduceOrder::ORDER_ONLY_INDEX) {
        core.Fail("order %u is not within 0..3", static_cast<unsigned>(order));
    }
    Reads(core, src, lanes);
    CheckPlace(core, dst, unit, "dst");
    CheckExtent(core, dst, (lanes.repeats - 1) * static_cast<uint64_t>(dstRepStride) * unit + unit, "dst");
    Charge(core, lanes.repeats, 7);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        uint8_t *out = dst.bytes() + static_cast<uint64_t>(r) * dstRepStride * unit;
        if (dstRepStride != 1 || r == 0) {
            core.Write(out, dstRepStride == 1 ? lanes.repeats * unit : unit, "dst");
        }
        T values[kMaxLanes];
        const uint32_t count = lanes.count(r);
        const T *in = ActiveLanes(src, lanes, r, Neutral<type, T>(), values);
        if constexpr (type == ReduceType::SUM) {
            const T sum = TreeSum(values, count);
            std::memcpy(out, &sum, sizeof(T));
            core.registers().accumulator = float(sum);
        } else {
            const uint32_t best = BestLane<type>(in, lanes, count);
            if (best == count) {
                continue;
            }
            const T value = in[best];
            const T index = IndexAs<T>(best);
            if (index_only) {
                std::memcpy(out, &best, 4);
            } else {
                std::memcpy(out + (order == ReduceOrder::ORDER_INDEX_VALUE ? sizeof(T) : 0), &value, sizeof(T));
                if (pair) {
                    std::memcpy(out + (order == ReduceOrder::ORDER_INDEX_VALUE ? 0 : sizeof(T)), &index, sizeof(T));
                }
            }
            core.registers().maxMinValue = 0;
            std::memcpy(&core.registers().maxMinValue, &value, sizeof(T));
            core.registers().maxMinIndex = best;
        }
    }
}

// Every group of `group` neighbours becomes one value; a group without an active lane leaves dst as it was.
template <ReduceType type, class T>
void ReduceGroups(Core &core, const Lanes &lanes, const LocalTensor<T> &dst, const Operand<T> &src, int64_t dstRepStride,
                  uint32_t group, uint32_t alignment)
{
    static_assert(kOneOf<T, half, float>, "reductions take half and float");
    if (lanes.empty()) {
        return;
    }
    const uint32_t values_per_repeat = lanes.per / group;
    const uint64_t step = static_cast<uint64_t>(dstRepStride) * values_per_repeat;
    if (core.checks() && dstRepStride < 0) {
        core.Fail("dstRepStride %lld is negative", static_cast<long long>(dstRepStride));
    }
    Reads(core, src, lanes);
    const auto groups_of = [&](uint32_t r) { return (lanes.count(r) + group - 1) / group; };
    CheckPlace(core, dst, alignment, "dst");
    CheckExtent(core, dst, ((lanes.repeats - 1) * step + groups_of(lanes.repeats - 1)) * sizeof(T), "dst");
    Charge(core, lanes.repeats);
    T *out = reinterpret_cast<T *>(dst.bytes());
    if (lanes.contiguous() && step == values_per_repeat) {
        core.Write(out, static_cast<uint32_t>((lanes.total() + group - 1) / group * sizeof(T)), "dst");
    } else if (!lanes.masked) {
        for (uint32_t r = 0; r < lanes.repeats; ++r) {
            core.Write(out + r * step, static_cast<uint32_t>(groups_of(r) * sizeof(T)), "dst");
        }
    }
    // The common case: floats side by side, whole blocks of 8.
    if constexpr (type == ReduceType::SUM && std::is_same_v<T, float>) {
        if (group == 8 && lanes.contiguous() && lanes.total() % 8 == 0 && src.dense(lanes) && step == values_per_repeat &&
            Disjoint(out, lanes.total() / 2, src.address(), lanes.total() * 4)) {
            const float *in = src.address();
            for (uint32_t i = 0; i < lanes.total() / 8; ++i, in += 8) {
                out[i] = ((in[0] + in[1]) + (in[2] + in[3])) + ((in[4] + in[5]) + (in[6] + in[7]));
            }
            return;
        }
    }
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        T values[kMaxLanes];
        const uint32_t count = lanes.count(r);
        ActiveLanes(src, lanes, r, Neutral<type, T>(), values);
        T results[kMaxLanes];
        bool any[kMaxLanes];
        for (uint32_t g = 0; g < groups_of(r); ++g) {
            const uint32_t first = g * group;
            const uint32_t here = std::min(group, count - first);
            any[g] = false;
            for (uint32_t i = 0; i < here; ++i) {
                any[g] = any[g] || lanes.active(first + i);
            }
            if constexpr (type == ReduceType::SUM) {
                T tree[kMaxLanes];
                std::copy(values + first, values + first + here, tree);
                results[g] = TreeSum(tree, here);
            } else {
                T best = Neutral<type, T>();
                for (uint32_t i = 0; i < here; ++i) {
                    best = Better<type>(values[first + i], best) ? values[first + i] : best;
                }
                results[g] = best;
            }
        }
        for (uint32_t g = 0; g < groups_of(r); ++g) {
            if (any[g]) {
                if (lanes.masked) {
                    core.Write(out + r * step + g, sizeof(T), "dst");
                }
                out[r * step + g] = results[g];
            }
        }
    }
}

template <class T> Operand<T> ReduceSource(Core &core, const LocalTensor<T> &src, int64_t blk, int64_t rep)
{
    if (blk < 0 || rep < 0 || blk > 0xffff || rep > 0xffff) {
        core.Fail("source strides %lld and %lld are not within 0..65535", static_cast<long long>(blk),
                  static_cast<long long>(rep));
    }
    return MakeOperand(src, static_cast<uint32_t>(blk), static_cast<uint32_t>(rep), "src");
}

template <ReduceType type, bool isSetMask, class T, class Mask>
void WholeRepeat(const char *api, const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask, int64_t repeat,
                 int64_t dstRep, int64_t srcBlk, int64_t srcRep, ReduceOrder order, Where where)
{
    Core &core = Core::Current();
    core.Begin(api, Pipe::V, where);
    const Lanes lanes = MaskForm<isSetMask>(core, AsMask(mask), repeat, kPerRepeat<T>);
    ReduceRepeats<type>(core, lanes, dst, ReduceSource(core, src, srcBlk, srcRep), dstRep, order);
}

template <ReduceType type, bool isSetMask, class T, class Mask>
void Groups(const char *api, const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask, int64_t repeat, int64_t dstRep,
            int64_t srcBlk, int64_t srcRep, bool pairs, Where where)
{
    Core &core = Core::Current();
    core.Begin(api, Pipe::V, where);
    const Lanes lanes = MaskForm<isSetMask>(core, AsMask(mask), repeat, kPerRepeat<T>);
    ReduceGroups<type>(core, lanes, dst, ReduceSource(core, src, srcBlk, srcRep), dstRep,
                       pairs ? 2 : kBlockBytes / sizeof(T), pairs ? 32 : 8 * sizeof(T));
}

} // namespace sim

// Current names: (dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride).
template <ReduceType type, class T, class U = T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> ReduceRepeat(const LocalTensor<T> &dst, const LocalTensor<U> &src, Mask mask,
                                                         int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                                                         int64_t srcRepStride,
                                                         ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                                                         Where where = Where::Here())
{
    sim::WholeRepeat<type, isSetMask>("ReduceRepeat", dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride,
                                      order, where);
}
template <ReduceType type, class T, class U = T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> ReduceDataBlock(const LocalTensor<T> &dst, const LocalTensor<U> &src, Mask mask,
                                                            int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                                                            int64_t srcRepStride, Where where = Where::Here())
{
    sim::Groups<type, isSetMask>("ReduceDataBlock", dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride,
                                 false, where);
}
template <ReduceType type, class T, class U = T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> ReducePairElem(const LocalTensor<T> &dst, const LocalTensor<U> &src, Mask mask,
                                                           int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                                                           int64_t srcRepStride, Where where = Where::Here())
{
    static_assert(type == ReduceType::SUM, "ReducePairElem only adds");
    sim::Groups<type, isSetMask>("ReducePairElem", dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, true,
                                 where);
}

// Older names. Whole*: mask before repeat.
template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask,
                                                           int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                                                           int64_t srcRepStride, Where where = Where::Here())
{
    sim::WholeRepeat<ReduceType::SUM, isSetMask>("WholeReduceSum", dst, src, mask, repeatTime, dstRepStride, srcBlkStride,
                                                 srcRepStride, ReduceOrder::ORDER_ONLY_VALUE, where);
}
template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>>
WholeReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask, int64_t repeatTime, int64_t dstRepStride,
               int64_t srcBlkStride, int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
               Where where = Where::Here())
{
    sim::WholeRepeat<ReduceType::MAX, isSetMask>("WholeReduceMax", dst, src, mask, repeatTime, dstRepStride, srcBlkStride,
                                                 srcRepStride, order, where);
}
template <class T, bool isSetMask = true, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>>
WholeReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask, int64_t repeatTime, int64_t dstRepStride,
               int64_t srcBlkStride, int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
               Where where = Where::Here())
{
    sim::WholeRepeat<ReduceType::MIN, isSetMask>("WholeReduceMin", dst, src, mask, repeatTime, dstRepStride, srcBlkStride,
                                                 srcRepStride, order, where);
}
// Block* and Pair*: repeat before mask.
#define ASCENDC_SIM_BLOCK_REDUCE(Name, type, pairs)                                                                    \
    template <class T, bool isSetMask = true, class Mask>                                                              \
    inline std::enable_if_t<sim::kIsMask<Mask>> Name(const LocalTensor<T> &dst, const LocalTensor<T> &src,             \
                                                     int64_t repeatTime, Mask mask, int64_t dstRepStride,              \
                                                     int64_t srcBlkStride, int64_t srcRepStride,                       \
                                                     Where where = Where::Here())                                      \
    {                                                                                                                  \
        sim::Groups<ReduceType::type, isSetMask>(#Name, dst, src, mask, repeatTime, dstRepStride, srcBlkStride,        \
                                                 srcRepStride, pairs, where);                                          \
    }
ASCENDC_SIM_BLOCK_REDUCE(BlockReduceSum, SUM, false)
ASCENDC_SIM_BLOCK_REDUCE(BlockReduceMax, MAX, false)
ASCENDC_SIM_BLOCK_REDUCE(BlockReduceMin, MIN, false)
ASCENDC_SIM_BLOCK_REDUCE(PairReduceSum, SUM, true)

template <class T, bool isSetMask = true>
inline void RepeatReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t repeatTime, int64_t mask,
                            int64_t, int64_t srcBlkStride, int64_t dstRepStride, int64_t srcRepStride,
                            Where where = Where::Here())
{
    sim::WholeRepeat<ReduceType::SUM, isSetMask>("RepeatReduceSum", dst, src, mask, repeatTime, dstRepStride, srcBlkStride,
                                                 srcRepStride, ReduceOrder::ORDER_ONLY_VALUE, where);
}

namespace sim {

inline void NeedsPipe(Core &core)
{
    if (core.checks() && core.pipe == nullptr) {
        core.Fail("needs a TPipe: it takes event ids");
    }
}

inline uint64_t RoundedUp(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

// Elements that ReduceMax and ReduceMin need in their temporary tensor.
template <class T> uint64_t ReduceTmpElements(uint64_t repeats, bool index)
{
    const uint64_t block = kBlockBytes / sizeof(T);
    uint64_t level = RoundedUp(2 * repeats, block);
    uint64_t sum = level;
    while (index && level > block) {
        level = RoundedUp(2 * ((level + kPerRepeat<T> - 1) / kPerRepeat<T>), block);
        sum += level;
        if (level <= 2) {
            break;
        }
    }
    return sum;
}

// The sum of ReduceSum(count): a tree in every repeat, the repeats one after another.
template <class T>
void ReduceSumCount(Core &core, const LocalTensor<T> &dst, const LocalTensor<T> &src, int64_t count)
{
    static_assert(kOneOf<T, half, float>, "reductions take half and float");
    NeedsPipe(core);
    if (core.checks() && (count < 1 || static_cast<uint64_t>(count) * sizeof(T) > TOTAL_UB_SIZE)) {
        core.Fail("count %lld is not within 1..%zu", static_cast<long long>(count), TOTAL_UB_SIZE / sizeof(T));
    }
    const Lanes lanes = CountForm(core, count, kPerRepeat<T>);
    const Operand<T> source = MakeDense(src, lanes, "src");
    Reads(core, source, lanes);
    CheckPlace(core, dst, sizeof(T), "dst");
    CheckExtent(core, dst, sizeof(T), "dst");
    Charge(core, lanes.repeats, 7);
    T sum = T(0.0f);
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        T values[kMaxLanes];
        const uint32_t n = lanes.count(r);
        std::memcpy(values, source.at(r), n * sizeof(T));
        const T part = TreeSum(values, n);
        sum = r == 0 ? part : TreeAdd(sum, part);
    }
    core.registers().accumulator = float(sum);
    // The scalar unit fetches the accumulator and stores it.
    core.ScalarRead(src.bytes(), sizeof(T));
    core.ScalarWrite(dst.bytes(), sizeof(T));
    std::memcpy(dst.bytes(), &sum, sizeof(T));
}

template <class T>
void ReduceSumRepeats(Core &core, const Lanes &lanes, const LocalTensor<T> &dst, const LocalTensor<T> &src,
                      const LocalTensor<T> &tmp, int64_t srcRep)
{
    NeedsPipe(core);
    if (core.checks() && lanes.repeats == 0) {
        core.Fail("repeatTime is 0");
    }
    const uint64_t wanted = RoundedUp(lanes.repeats, kBlockBytes / sizeof(T)) * sizeof(T);
    CheckExtent(core, tmp, wanted, "the temporary tensor");
    const Operand<T> source = ReduceSource(core, src, 1, srcRep);
    ReduceRepeats<ReduceType::SUM>(core, lanes, tmp, source, 1, ReduceOrder::ORDER_ONLY_VALUE);
    std::vector<T> level(lanes.repeats);
    std::memcpy(level.data(), tmp.bytes(), lanes.repeats * sizeof(T));
    while (level.size() > 1) {
        std::vector<T> next;
        for (size_t i = 0; i < level.size(); i += kPerRepeat<T>) {
            const auto n = static_cast<uint32_t>(std::min<size_t>(kPerRepeat<T>, level.size() - i));
            next.push_back(TreeSum(level.data() + i, n));
        }
        level = std::move(next);
    }
    CheckPlace(core, dst, sizeof(T), "dst");
    CheckExtent(core, dst, sizeof(T), "dst");
    core.Write(dst.bytes(), sizeof(T), "dst");
    std::memcpy(dst.bytes(), &level[0], sizeof(T));
}

template <ReduceType type, class T>
void ReduceExtreme(Core &core, const Lanes &lanes, const LocalTensor<T> &dst, const LocalTensor<T> &src,
                   const LocalTensor<T> &tmp, uint32_t srcRepBytes, bool index)
{
    static_assert(kOneOf<T, half, float>, "reductions take half and float");
    NeedsPipe(core);
    if (core.checks() && lanes.empty()) {
        core.Fail("nothing to reduce");
    }
    const Operand<T> source{src, kBlockBytes, srcRepBytes, "src"};
    Reads(core, source, lanes);
    CheckExtent(core, tmp, ReduceTmpElements<T>(lanes.repeats, index) * sizeof(T), "the temporary tensor");
    core.Write(tmp.bytes(), static_cast<uint32_t>(2 * lanes.repeats * sizeof(T)), "the temporary tensor");
    CheckPlace(core, dst, sizeof(T), "dst");
    CheckExtent(core, dst, (index ? 2 : 1) * sizeof(T), "dst");
    core.Write(dst.bytes(), (index ? 2 : 1) * sizeof(T), "dst");
    Charge(core, lanes.repeats, 7);
    T best = Neutral<type, T>();
    uint64_t place = 0;
    bool found = false;
    for (uint32_t r = 0; r < lanes.repeats; ++r) {
        const T *in = source.at(r);
        const uint32_t lane = BestLane<type>(in, lanes, lanes.count(r));
        if (lane < lanes.count(r) && (!found || Better<type>(in[lane], best))) {
            best = in[lane];
            place = static_cast<uint64_t>(r) * (srcRepBytes / sizeof(T)) + lane;
            found = true;
        }
    }
    T *out = reinterpret_cast<T *>(dst.bytes());
    out[0] = best;
    if (index) {
        out[1] = IndexAs<T>(static_cast<uint32_t>(place));
    }
    core.registers().maxMinValue = 0;
    std::memcpy(&core.registers().maxMinValue, &best, sizeof(T));
    core.registers().maxMinIndex = place;
}

} // namespace sim

template <class T, bool isSetMask = true>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &, const int32_t count,
                      Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("ReduceSum", sim::Pipe::V, where);
    sim::ReduceSumCount(core, dst, src, count);
}
template <class T, class Mask>
inline std::enable_if_t<sim::kIsMask<Mask>> ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                                      const LocalTensor<T> &tmp, Mask mask, int32_t repeatTime,
                                                      int32_t srcRepStride, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("ReduceSum", sim::Pipe::V, where);
    const sim::Lanes lanes = sim::MaskForm<true>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);
    sim::ReduceSumRepeats(core, lanes, dst, src, tmp, srcRepStride);
}

#define ASCENDC_SIM_REDUCE_EXTREME(Name, type)                                                                         \
    template <class T>                                                                                                 \
    inline void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp,                  \
                     const int32_t count, bool calIndex = false, Where where = Where::Here())                          \
    {                                                                                                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const sim::Lanes lanes = sim::CountForm(core, count, sim::kPerRepeat<T>);                                      \
        sim::ReduceExtreme<ReduceType::type>(core, lanes, dst, src, tmp, sim::kRepeatBytes, calIndex);                 \
    }                                                                                                                  \
    template <class T, class Mask>                                                                                     \
    inline std::enable_if_t<sim::kIsMask<Mask>> Name(                                                                  \
        const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp, Mask mask,                    \
        int32_t repeatTime, int32_t srcRepStride, bool calIndex = false, Where where = Where::Here())                  \
    {                                                                                                                  \
        sim::Core &core = sim::Core::Current();                                                                        \
        core.Begin(#Name, sim::Pipe::V, where);                                                                        \
        const sim::Lanes lanes = sim::MaskForm<true>(core, sim::AsMask(mask), repeatTime, sim::kPerRepeat<T>);         \
        sim::ReduceExtreme<ReduceType::type>(core, lanes, dst, src, tmp, srcRepStride * sim::kBlockBytes, calIndex);   \
    }
ASCENDC_SIM_REDUCE_EXTREME(ReduceMax, MAX)
ASCENDC_SIM_REDUCE_EXTREME(ReduceMin, MIN)

template <class T> inline T GetReduceRepeatSumSpr()
{
    sim::Core &core = sim::Core::Current();
    core.Join(sim::Pipe::S, core.Snapshot(sim::Pipe::V));
    return static_cast<T>(static_cast<float>(core.registers().accumulator));
}
template <class T> inline T GetAccVal()
{
    return GetReduceRepeatSumSpr<T>();
}
template <class T> inline void GetReduceRepeatMaxMinSpr(T &value, T &index)
{
    sim::Core &core = sim::Core::Current();
    core.Join(sim::Pipe::S, core.Snapshot(sim::Pipe::V));
    std::memcpy(&value, &core.registers().maxMinValue, sizeof(T));
    index = sim::IndexAs<T>(static_cast<uint32_t>(core.registers().maxMinIndex));
}
template <class T> inline void GetReduceRepeatMaxMinSpr(T &value)
{
    T index;
    GetReduceRepeatMaxMinSpr(value, index);
}
template <class T> inline void GetReduceMaxMinCount(T &value, T &index)
{
    GetReduceRepeatMaxMinSpr(value, index);
}
template <class T> inline void GetReduceMaxMinCount(T &value)
{
    GetReduceRepeatMaxMinSpr(value);
}

} // namespace AscendC

#endif // ASCENDC_SIM_VECTOR_REDUCE_H
