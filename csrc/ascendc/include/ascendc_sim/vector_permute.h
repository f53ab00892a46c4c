// SPDX-License-Identifier: Apache-2.0
//
// Transposing and sorting.
#ifndef ASCENDC_SIM_VECTOR_PERMUTE_H
#define ASCENDC_SIM_VECTOR_PERMUTE_H

#include "vector_select.h"

namespace AscendC {

namespace sim {

// 16 source rows become columns. Addresses are those of the first repeat; strides move all of them by blocks.
template <class T>
void RunTransData(Core &core, uint8_t *const dst[NCHW_CONV_ADDR_LIST_SIZE], uint8_t *const src[NCHW_CONV_ADDR_LIST_SIZE],
                  const TransDataTo5HDParams &p)
{
    static_assert(sizeof(T) <= 4, "TransDataTo5HD takes 8-bit, 16-bit and 32-bit types");
    constexpr int kRows = NCHW_CONV_ADDR_LIST_SIZE;
    for (int i = 0; i < kRows; ++i) {
        if (core.checks() && (reinterpret_cast<uintptr_t>(dst[i]) % kBlockBytes != 0 ||
                              reinterpret_cast<uintptr_t>(src[i]) % kBlockBytes != 0)) {
            core.Fail("address %d of a list is not a multiple of 32", i);
        }
    }
    // With one repeat the strides count all the same, before the first one.
    const uint32_t start = p.repeatTimes == 1 ? 1 : 0;
    for (uint32_t r = start; r < start + p.repeatTimes; ++r) {
        const uint64_t to = static_cast<uint64_t>(r) * p.dstRepStride * kBlockBytes;
        const uint64_t from = static_cast<uint64_t>(r) * p.srcRepStride * kBlockBytes;
        T in[kRows][kBlockBytes / sizeof(T)];
        for (int i = 0; i < kRows; ++i) {
            core.Read(src[i] + from, kBlockBytes, "a source block");
            std::memcpy(in[i], src[i] + from, kBlockBytes);
        }
        for (int row = 0; row < kRows; ++row) {
            uint8_t *out = dst[row] + to;
            if constexpr (sizeof(T) == 2) {
                core.Write(out, kBlockBytes, "a destination block");
                for (int i = 0; i < kRows; ++i) {
                    std::memcpy(out + i * sizeof(T), &in[i][row], sizeof(T));
                }
            } else if constexpr (sizeof(T) == 4) {
                // Row r of 16 goes to a pair of destinations, left and right half.
                core.Write(out, kBlockBytes, "a destination block");
                for (int i = 0; i < 8; ++i) {
                    std::memcpy(out + i * sizeof(T), &in[row % 2 * 8 + i][row / 2], sizeof(T));
                }
            } else {
                const int left = p.dstHighHalf ? 16 : 0;
                core.Write(out + left, 16, "a destination block");
                for (int i = 0; i < kRows; ++i) {
                    out[left + i] = static_cast<uint8_t>(in[i][(p.srcHighHalf ? 16 : 0) + row]);
                }
            }
        }
    }
    Charge(core, p.repeatTimes, 2);
}

} // namespace sim

template <class T>
inline void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                           const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE], const TransDataTo5HDParams &p,
                           Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("TransDataTo5HD", sim::Pipe::V, where);
    uint8_t *dst[NCHW_CONV_ADDR_LIST_SIZE];
    uint8_t *src[NCHW_CONV_ADDR_LIST_SIZE];
    const uint64_t steps = p.repeatTimes > 1 ? p.repeatTimes - 1 : p.repeatTimes;
    for (int i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
        if (p.repeatTimes != 0) {
            sim::CheckExtent(core, srcList[i], (steps * p.srcRepStride + 1) * sim::kBlockBytes, "a source of the list");
            sim::CheckExtent(core, dstList[i], (steps * p.dstRepStride + 1) * sim::kBlockBytes, "a destination of the list");
        }
        dst[i] = dstList[i].bytes();
        src[i] = srcList[i].bytes();
    }
    sim::RunTransData<T>(core, dst, src, p);
}
template <class T>
inline void TransDataTo5HD(LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                           LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE], const TransDataTo5HDParams &p,
                           Where where = Where::Here())
{
    const auto &dst = reinterpret_cast<const LocalTensor<T>(&)[NCHW_CONV_ADDR_LIST_SIZE]>(dstList);
    const auto &src = reinterpret_cast<const LocalTensor<T>(&)[NCHW_CONV_ADDR_LIST_SIZE]>(srcList);
    TransDataTo5HD<T>(dst, src, p, where);
}
template <class T>
inline void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                           const TransDataTo5HDParams &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("TransDataTo5HD", sim::Pipe::V, where);
    uint8_t *dst[NCHW_CONV_ADDR_LIST_SIZE];
    uint8_t *src[NCHW_CONV_ADDR_LIST_SIZE];
    for (int i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
        dst[i] = reinterpret_cast<uint8_t *>(dstList[i]);
        src[i] = reinterpret_cast<uint8_t *>(srcList[i]);
    }
    sim::RunTransData<T>(core, dst, src, p);
}

// 16 x 16 elements of 16 bits.
template <class T> inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, Where where = Where::Here())
{
    static_assert(sizeof(T) == 2, "Transpose takes 16-bit types");
    sim::Core &core = sim::Core::Current();
    core.Begin("Transpose", sim::Pipe::V, where);
    sim::ReadsPlain(core, src, 512, "src");
    sim::WritesPlain(core, dst, 512, "dst");
    sim::Charge(core, 2);
    T in[256];
    std::memcpy(in, src.bytes(), 512);
    T *out = reinterpret_cast<T *>(dst.bytes());
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
            out[j * 16 + i] = in[i * 16 + j];
        }
    }
}

template <class T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &tmp,
                      const TransposeParamsExt &p, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Transpose", sim::Pipe::V, where);
    const uint64_t plane = static_cast<uint64_t>(p.hSize) * p.wSize;
    const uint64_t channels = p.cSize;
    const bool nd = p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16;
    if (core.checks() && p.transposeType != TransposeType::TRANSPOSE_NCHW2NHWC &&
        p.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW && !nd) {
        core.Fail("this kind of transposition is not there");
    }
    if (core.checks() && !nd && plane * sizeof(T) % sim::kBlockBytes != 0) {
        core.Fail("height times width, %llu elements, is no multiple of 32 bytes", static_cast<unsigned long long>(plane));
    }
    const uint64_t total = nd ? 256 : p.nSize * channels * plane;
    sim::ReadsPlain(core, src, total * sizeof(T), "src");
    sim::WritesPlain(core, dst, total * sizeof(T), "dst");
    if (!nd) {
        sim::CheckPlace(core, tmp, sim::kBlockBytes, "the temporary tensor");
    }
    sim::Charge(core, static_cast<uint32_t>(total * sizeof(T) / sim::kRepeatBytes + 1), 2);
    const T *in = reinterpret_cast<const T *>(src.bytes());
    const std::vector<T> copy(in, in + total);
    T *out = reinterpret_cast<T *>(dst.bytes());
    const uint64_t rows = nd ? 16 : p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC ? channels : plane;
    const uint64_t columns = total / (nd ? 1 : p.nSize) / rows;
    for (uint64_t n = 0; n < total; n += rows * columns) {
        for (uint64_t i = 0; i < rows; ++i) {
            for (uint64_t j = 0; j < columns; ++j) {
                out[n + j * rows + i] = copy[n + i * columns + j];
            }
        }
    }
}

// --- sorting: records of 8 bytes, the score in front (half: padded), the index behind

namespace sim {

template <class T> struct SortRecord {
    T score;
    uint8_t padding[2];
    uint32_t index;
};
template <> struct SortRecord<float> {
    float score;
    uint32_t index;
};
static_assert(sizeof(SortRecord<half>) == 8 && sizeof(SortRecord<float>) == 8, "records have 8 bytes");

} // namespace sim

template <class T>
inline void Sort32(const LocalTensor<T> &dst, const LocalTensor<T> &scores, const LocalTensor<uint32_t> &indices,
                   const int32_t repeatTime, Where where = Where::Here())
{
    static_assert(sim::kOneOf<T, half, float>, "Sort32 takes half and float");
    sim::Core &core = sim::Core::Current();
    core.Begin("Sort32", sim::Pipe::V, where);
    sim::CheckRepeats(core, repeatTime);
    const uint64_t count = static_cast<uint64_t>(repeatTime) * 32;
    if (count == 0) {
        return;
    }
    sim::ReadsPlain(core, scores, count * sizeof(T), "src0");
    sim::ReadsPlain(core, indices, count * 4, "src1");
    sim::WritesPlain(core, dst, count * 8, "dst");
    sim::CheckApart(core, dst.bytes(), count * 8, scores.bytes(), count * sizeof(T), "src0");
    sim::CheckApart(core, dst.bytes(), count * 8, indices.bytes(), count * 4, "src1");
    sim::Charge(core, static_cast<uint32_t>(repeatTime), 16);
    using Record = sim::SortRecord<T>;
    std::vector<Record> records(count);
    for (uint64_t i = 0; i < count; ++i) {
        std::memset(&records[i], 0, sizeof(Record));
        std::memcpy(&records[i].score, scores.bytes() + i * sizeof(T), sizeof(T));
        std::memcpy(&records[i].index, indices.bytes() + i * 4, 4);
    }
    for (uint64_t i = 0; i < count; i += 32) {
        std::stable_sort(records.begin() + i, records.begin() + i + 32,
                         [](const Record &a, const Record &b) { return float(a.score) > float(b.score); });
    }
    std::memcpy(dst.bytes(), records.data(), count * 8);
}

template <class T>
inline void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &lists, const MrgSort4Info &p,
                    Where where = Where::Here())
{
    static_assert(sim::kOneOf<T, half, float>, "MrgSort takes half and float");
    sim::Core &core = sim::Core::Current();
    core.Begin("MrgSort", sim::Pipe::V, where);
    if (core.checks() && p.validBit != 3 && p.validBit != 7 && p.validBit != 15) {
        core.Fail("validBit %u is none of 3, 7, 15", p.validBit);
    }
    const int ways = p.validBit == 3 ? 2 : p.validBit == 7 ? 3 : 4;
    uint64_t total = 0;
    bool equal = true;
    for (int i = 0; i < ways; ++i) {
        if (core.checks() && (p.elementLengths[i] == 0 || p.elementLengths[i] > 4095)) {
            core.Fail("list %d has %u elements, which is not within 1..4095", i, p.elementLengths[i]);
        }
        total += p.elementLengths[i];
        equal = equal && p.elementLengths[i] == p.elementLengths[0];
    }
    if (core.checks() && (p.repeatTimes == 0 || (p.repeatTimes > 1 && (!equal || ways != 4)))) {
        core.Fail("repeatTimes %u: more than one needs four lists of equal length", p.repeatTimes);
    }
    const LocalTensor<T> *sources[4] = {&lists.src1, &lists.src2, &lists.src3, &lists.src4};
    using Record = sim::SortRecord<T>;
    std::vector<Record> merged;
    uint16_t taken[4] = {};
    for (uint32_t repeat = 0; repeat < p.repeatTimes; ++repeat) {
        std::vector<Record> in[4];
        for (int i = 0; i < ways; ++i) {
            sim::CheckPlace(core, *sources[i], 8, "a source list");
            const uint64_t at = repeat * total * 8;
            sim::CheckExtent(core, *sources[i], at + p.elementLengths[i] * 8ull, "a source list");
            core.Read(sources[i]->bytes() + at, p.elementLengths[i] * 8u, "a source list");
            in[i].resize(p.elementLengths[i]);
            std::memcpy(in[i].data(), sources[i]->bytes() + at, p.elementLengths[i] * 8ull);
            taken[i] = 0;
        }
        for (uint64_t n = 0; n < total; ++n) {
            int best = -1;
            for (int i = 0; i < ways; ++i) {
                if (taken[i] < in[i].size() &&
                    (best < 0 || float(in[i][taken[i]].score) > float(in[best][taken[best]].score))) {
                    best = i;
                }
            }
            merged.push_back(in[best][taken[best]++]);
            if (p.ifExhaustedSuspension && taken[best] == in[best].size()) {
                break;
            }
        }
    }
    sim::WritesPlain(core, dst, merged.size() * 8, "dst");
    std::memcpy(dst.bytes(), merged.data(), merged.size() * 8);
    std::copy(taken, taken + 4, core.registers().mergeCounts);
    sim::Charge(core, static_cast<uint32_t>(merged.size() / 2));
}
inline void GetMrgSortResult(uint16_t &list1, uint16_t &list2, uint16_t &list3, uint16_t &list4)
{
    const auto &counts = sim::Core::Current().registers().mergeCounts;
    list1 = counts[0];
    list2 = counts[1];
    list3 = counts[2];
    list4 = counts[3];
}

template <class T> inline uint32_t GetSortOffset(const uint32_t elements)
{
    return elements * 8 / sizeof(T);
}
template <class T> inline uint32_t GetSortLen(const uint32_t elements)
{
    return elements * 8 / sizeof(T);
}

// Takes sorted records apart.
template <class T>
inline void Extract(const LocalTensor<T> &values, const LocalTensor<uint32_t> &indices, const LocalTensor<T> &sorted,
                    const int32_t repeatTime, Where where = Where::Here())
{
    sim::Core &core = sim::Core::Current();
    core.Begin("Extract", sim::Pipe::V, where);
    sim::CheckRepeats(core, repeatTime);
    const uint64_t count = static_cast<uint64_t>(repeatTime) * 32;
    if (count == 0) {
        return;
    }
    sim::ReadsPlain(core, sorted, count * 8, "sorted");
    sim::WritesPlain(core, values, count * sizeof(T), "dstValue");
    sim::WritesPlain(core, indices, count * 4, "dstIndex");
    sim::Charge(core, static_cast<uint32_t>(repeatTime), 4);
    for (uint64_t i = 0; i < count; ++i) {
        std::memmove(values.bytes() + i * sizeof(T), sorted.bytes() + i * 8, sizeof(T));
        std::memmove(indices.bytes() + i * 4, sorted.bytes() + i * 8 + 4, 4);
    }
}

} // namespace AscendC

#endif // ASCENDC_SIM_VECTOR_PERMUTE_H
