// SPDX-License-Identifier: Apache-2.0
//
// What the layernorm kernels for Ascend 910B have in common: rows in UB at a fixed pitch, their sums as trees, numbers of
// rows spread over the rows, weights of columns, loading and storing. Device code.
#ifndef ASCEND_CY_LAYERNORM_ROWS_H
#define ASCEND_CY_LAYERNORM_ROWS_H

#include "kernel_operator.h"

#include "layernorm_tiling.h"

namespace layernorm_rows {

using namespace AscendC;

constexpr int64_t kLanes = 64;      // floats of one repeat
constexpr int64_t kBlockFloats = 8; // floats of one block of 32 bytes
constexpr int64_t kMostRepeats = 248;

__aicore__ inline int64_t RoundUp(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}
__aicore__ inline int64_t Min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
__aicore__ inline float FloatOfBits(uint32_t bits)
{
    return *reinterpret_cast<float *>(&bits);
}
__aicore__ inline uint32_t BitsOfFloat(float value)
{
    return *reinterpret_cast<uint32_t *>(&value);
}

// The core has no double: rounds the bits of one that is not negative to float.
__aicore__ inline float FloatOfDoubleBits(uint64_t bits)
{
    const int64_t exponent = static_cast<int64_t>(bits >> 52 & 0x7ff) - 1023;
    const uint64_t fraction = bits & 0xfffffffffffffull;
    if (exponent > 127) {
        return FloatOfBits(0x7f800000u);
    }
    if (exponent < -149) {
        return 0.0f;
    }
    if (exponent < -126) {
        const int64_t shift = 29 + (-126 - exponent);
        return FloatOfBits(static_cast<uint32_t>(((1ull << 52 | fraction) + (1ull << (shift - 1))) >> shift));
    }
    return FloatOfBits(static_cast<uint32_t>(static_cast<uint64_t>(exponent + 127) << 23) +
                       static_cast<uint32_t>((fraction + (1ull << 28)) >> 29));
}

// 2^k that brings a finite value other than zero near 1; its reciprocal is a normal number too.
__aicore__ inline float ScaleFor(float largest)
{
    int64_t field = 254 - static_cast<int64_t>(BitsOfFloat(largest) >> 23 & 0xff);
    field = field < 1 ? 1 : field > 227 ? 227 : field;
    return FloatOfBits(static_cast<uint32_t>(field) << 23);
}
__aicore__ inline float ReciprocalOfPower(float power)
{
    return FloatOfBits((254u << 23) - BitsOfFloat(power));
}
__aicore__ inline bool IsFinite(float value)
{
    return value - value == 0.0f;
}

// ---- loading and storing

// `count` columns of `rows` rows, `pitch` elements apart on chip, padded with zeros to whole blocks.
template <typename T>
__aicore__ inline void LoadRows(const LocalTensor<T> &dst, const GlobalTensor<T> &src, int64_t rows, int64_t count,
                                int64_t pitch)
{
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    const int64_t used = RoundUp(bytes, 32);
    const DataCopyExtParams copy{static_cast<uint16_t>(rows), static_cast<uint32_t>(bytes), 0,
                                 static_cast<uint32_t>((pitch * static_cast<int64_t>(sizeof(T)) - used) / 32), 0};
    DataCopyPadExtParams<T> pad;
    pad.isPad = true;
    pad.rightPadding = static_cast<uint8_t>((used - bytes) / static_cast<int64_t>(sizeof(T)));
    DataCopyPad(dst, src, copy, pad);
}

template <typename T>
__aicore__ inline void StoreRows(const GlobalTensor<T> &dst, const LocalTensor<T> &src, int64_t rows, int64_t count,
                                 int64_t pitch)
{
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    const DataCopyExtParams copy{
        static_cast<uint16_t>(rows), static_cast<uint32_t>(bytes),
        static_cast<uint32_t>((pitch * static_cast<int64_t>(sizeof(T)) - RoundUp(bytes, 32)) / 32), 0, 0};
    DataCopyPad(dst, src, copy);
}

template <typename W>
__aicore__ inline void LoadWeightAs(const LocalTensor<float> &dst, GM_ADDR address, int64_t column, int64_t count,
                                    int64_t pitch)
{
    GlobalTensor<W> weight;
    weight.SetGlobalBuffer((__gm__ W *)address);
    // 16-bit weights land in the upper half of their place and widen downwards.
    LocalTensor<W> raw = dst.template ReinterpretCast<W>();
    if constexpr (sizeof(W) != sizeof(float)) {
        raw = raw[pitch];
    }
    const DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(W)), 0, 0, 0};
    DataCopyPadExtParams<W> pad;
    DataCopyPad(raw, weight[column], copy, pad);
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
    SetFlag<HardEvent::MTE2_V>(id);
    WaitFlag<HardEvent::MTE2_V>(id);
    if constexpr (sizeof(W) != sizeof(float)) {
        Cast(dst, raw, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    }
}

// Columns of gamma or beta as float. `dst` has room for `pitch` floats.
__aicore__ inline void LoadWeight(const LocalTensor<float> &dst, GM_ADDR address, int64_t type, int64_t column,
                                  int64_t count, int64_t pitch)
{
    if (type == LAYERNORM_FLOAT) {
        LoadWeightAs<float>(dst, address, column, count, pitch);
    } else if (type == LAYERNORM_FLOAT16) {
        LoadWeightAs<half>(dst, address, column, count, pitch);
    } else {
        LoadWeightAs<bfloat16_t>(dst, address, column, count, pitch);
    }
}

// ---- arithmetic on rows

enum class Operation { kAdd, kSub, kMul };

template <Operation op>
__aicore__ inline void Apply(const LocalTensor<float> &dst, const LocalTensor<float> &a, const LocalTensor<float> &b,
                             uint64_t mask, uint8_t repeat, const BinaryRepeatParams &params)
{
    if constexpr (op == Operation::kAdd) {
        Add(dst, a, b, mask, repeat, params);
    } else if constexpr (op == Operation::kSub) {
        Sub(dst, a, b, mask, repeat, params);
    } else {
        Mul(dst, a, b, mask, repeat, params);
    }
}
template <Operation op>
__aicore__ inline void Apply(const LocalTensor<float> &dst, const LocalTensor<float> &a, const LocalTensor<float> &b,
                             int64_t count)
{
    if constexpr (op == Operation::kAdd) {
        Add(dst, a, b, static_cast<int32_t>(count));
    } else if constexpr (op == Operation::kSub) {
        Sub(dst, a, b, static_cast<int32_t>(count));
    } else {
        Mul(dst, a, b, static_cast<int32_t>(count));
    }
}

// A tile of rows of `cols` floats, `pitch` apart. Narrow rows are handled a column of 64 floats at a time for all rows of
// the tile, wide ones row by row; where wide rows are summed, what stands behind their columns must be zero.
class RowMath {
public:
    __aicore__ inline RowMath() {}

    __aicore__ inline void Init(TPipe *pipe, int64_t rows, int64_t cols, int64_t pitch)
    {
        cols_ = cols;
        pitch_ = pitch;
        const int64_t numbers = RoundUp(rows, kBlockFloats);
        pipe->InitBuffer(sumBuffer_,
                         static_cast<uint32_t>((Narrow() ? rows * kLanes : rows * pitch / kBlockFloats) * sizeof(float)));
        pipe->InitBuffer(partBuffer_, static_cast<uint32_t>(numbers * 16 * sizeof(float)));
        pipe->InitBuffer(spreadBuffer_, static_cast<uint32_t>(numbers * kBlockFloats * sizeof(float)));
        sums_ = sumBuffer_.template Get<float>();
        parts_ = partBuffer_.template Get<float>();
        spread_ = spreadBuffer_.template Get<float>();
    }

    __aicore__ inline bool Narrow() const { return pitch_ <= LAYERNORM_NPU_NARROW_COLS; }
    // Room for other uses between two sums: 64 floats a row, or an eighth of the tile; 16 floats a row.
    __aicore__ inline LocalTensor<float> sums() const { return sums_; }
    __aicore__ inline LocalTensor<float> parts() const { return parts_; }

    // sums[r] = sum of row r of `src`, rows * pitch. Wide rows must end in zeros.
    __aicore__ inline void RowSums(const LocalTensor<float> &sums, const LocalTensor<float> &src, int64_t rows)
    {
        if (Narrow()) {
            NarrowRowSums(sums, src, rows);
        } else {
            WideRowSums(sums, src, rows, pitch_);
        }
    }

    // dst = src op numbers[row], for every row of the tile.
    template <Operation op>
    __aicore__ inline void ApplyNumbers(const LocalTensor<float> &dst, const LocalTensor<float> &src,
                                        const LocalTensor<float> &numbers, int64_t rows)
    {
        Brcb(spread_, numbers, static_cast<uint8_t>(RoundUp(rows, kBlockFloats) / kBlockFloats), BrcbRepeatParams{1, 8});
        if (Narrow()) {
            const uint8_t step = static_cast<uint8_t>(pitch_ / kBlockFloats);
            for (int64_t c = 0; c < cols_; c += kLanes) {
                Apply<op>(dst[c], src[c], spread_, static_cast<uint64_t>(Min(kLanes, cols_ - c)), static_cast<uint8_t>(rows),
                          BinaryRepeatParams{1, 1, 0, step, step, 1});
            }
            return;
        }
        const int64_t full = cols_ / kLanes;
        const uint64_t tail = static_cast<uint64_t>(cols_ % kLanes);
        for (int64_t r = 0; r < rows; ++r) {
            const LocalTensor<float> number = spread_[r * kBlockFloats];
            Apply<op>(dst[r * pitch_], src[r * pitch_], number, static_cast<uint64_t>(kLanes), static_cast<uint8_t>(full),
                      BinaryRepeatParams{1, 1, 0, 8, 8, 0});
            if (tail != 0) {
                const int64_t at = r * pitch_ + full * kLanes;
                Apply<op>(dst[at], src[at], number, tail, 1, BinaryRepeatParams{1, 1, 0, 8, 8, 0});
            }
        }
    }

    // data = data op weight[column], for `count` columns of every row.
    template <Operation op>
    __aicore__ inline void ApplyWeight(const LocalTensor<float> &data, const LocalTensor<float> &weight, int64_t rows,
                                       int64_t count)
    {
        if (!Narrow()) {
            for (int64_t r = 0; r < rows; ++r) {
                Apply<op>(data[r * pitch_], data[r * pitch_], weight, count);
            }
            return;
        }
        const uint8_t step = static_cast<uint8_t>(pitch_ / kBlockFloats);
        for (int64_t c = 0; c < count; c += kLanes) {
            Apply<op>(data[c], data[c], weight[c], static_cast<uint64_t>(Min(kLanes, count - c)),
                      static_cast<uint8_t>(rows), BinaryRepeatParams{1, 1, 1, step, step, 0});
        }
    }

    // dst = a * b, element by element.
    __aicore__ inline void Products(const LocalTensor<float> &dst, const LocalTensor<float> &a, const LocalTensor<float> &b,
                                    int64_t rows)
    {
        if (!Narrow()) {
            Mul(dst, a, b, static_cast<int32_t>(rows * pitch_));
            return;
        }
        const uint8_t step = static_cast<uint8_t>(pitch_ / kBlockFloats);
        for (int64_t c = 0; c < cols_; c += kLanes) {
            Mul(dst[c], a[c], b[c], static_cast<uint64_t>(Min(kLanes, cols_ - c)), static_cast<uint8_t>(rows),
                BinaryRepeatParams{1, 1, 1, step, step, step});
        }
    }

    // dst = 1 / sqrt(variances + eps), for `count` numbers. Rsqrt is only an approximation.
    __aicore__ inline void ReciprocalRoots(const LocalTensor<float> &dst, const LocalTensor<float> &variances, float eps,
                                           int64_t count)
    {
        const int32_t n = static_cast<int32_t>(count);
        Adds(dst, variances, eps, n);
        Sqrt(dst, dst, n);
        Duplicate(spread_, 1.0f, n);
        Div(dst, spread_, dst, n);
    }

    // The sum of `count` neighbours, which are followed by room up to a multiple of 64; at most one pitch. `scratch` takes
    // the result.
    __aicore__ inline float SliceSum(const LocalTensor<float> &scratch, const LocalTensor<float> &src, int64_t count)
    {
        const int64_t padded = RoundUp(count, kLanes);
        if (padded != count) {
            // The lanes of the last repeat behind the columns.
            const int64_t last = padded - kLanes;
            uint64_t behind[2] = {~0ull << (count - last), 0};
            Duplicate(src[last], 0.0f, behind, 1, 1, 8);
        }
        if (padded <= LAYERNORM_NPU_NARROW_COLS) {
            ReduceSum(scratch, src, scratch, static_cast<int32_t>(padded));
        } else {
            WideRowSums(scratch, src, 1, padded);
        }
        return scratch.GetValue(0);
    }

private:
    __aicore__ inline void NarrowRowSums(const LocalTensor<float> &sums, const LocalTensor<float> &src, int64_t rows)
    {
        const uint8_t repeat = static_cast<uint8_t>(rows);
        const uint8_t step = static_cast<uint8_t>(pitch_ / kBlockFloats);
        const int32_t longStep = static_cast<int32_t>(pitch_ / kBlockFloats);
        if (cols_ <= kLanes) {
            WholeReduceSum(sums, src, static_cast<int32_t>(cols_), repeat, 1, 1, longStep);
            return;
        }
        // All columns of 64 onto one, then a tree for each row.
        const int64_t full = cols_ / kLanes;
        const uint64_t tail = static_cast<uint64_t>(cols_ % kLanes);
        if (full > 1) {
            Add(sums_, src, src[kLanes], static_cast<uint64_t>(kLanes), repeat, BinaryRepeatParams{1, 1, 1, 8, step, step});
        } else {
            Adds(sums_, src, 0.0f, static_cast<uint64_t>(kLanes), repeat, UnaryRepeatParams{1, 1, 8, step});
        }
        for (int64_t c = 2; c < full; ++c) {
            Add(sums_, sums_, src[c * kLanes], static_cast<uint64_t>(kLanes), repeat,
                BinaryRepeatParams{1, 1, 1, 8, 8, step});
        }
        if (tail != 0) {
            Add(sums_, sums_, src[full * kLanes], tail, repeat, BinaryRepeatParams{1, 1, 1, 8, 8, step});
        }
        WholeReduceSum(sums, sums_, static_cast<int32_t>(kLanes), repeat, 1, 1, 8);
    }

    __aicore__ inline void WideRowSums(const LocalTensor<float> &sums, const LocalTensor<float> &src, int64_t rows, int64_t pitch)
    {
        // A tree all the way up: blocks of 8 over the whole tile, then the blocks of each row.
        const int64_t repeats = rows * pitch / kLanes;
        for (int64_t r = 0; r < repeats; r += kMostRepeats) {
            BlockReduceSum(sums_[r * kBlockFloats], src[r * kLanes], static_cast<int32_t>(Min(kMostRepeats, repeats - r)),
                           static_cast<int32_t>(kLanes), 1, 1, 8);
        }
        const int64_t blocks = pitch / kBlockFloats; // of one row; a multiple of 8
        if (blocks <= kLanes) {
            WholeReduceSum(sums, sums_, static_cast<int32_t>(blocks), static_cast<int32_t>(rows), 1, 1,
                           static_cast<int32_t>(blocks / kBlockFloats));
            return;
        }
        const int64_t full = blocks / kLanes;
        const int64_t tail = blocks % kLanes;
        for (int64_t r = 0; r < rows; ++r) {
            WholeReduceSum(parts_[r * 16], sums_[r * blocks], static_cast<int32_t>(kLanes), static_cast<int32_t>(full), 1, 1,
                           8);
            if (tail != 0) {
                WholeReduceSum(parts_[r * 16 + full], sums_[r * blocks + full * kLanes], static_cast<int32_t>(tail), 1, 1, 1,
                               8);
            }
        }
        WholeReduceSum(sums, parts_, static_cast<int32_t>(full + (tail != 0 ? 1 : 0)), static_cast<int32_t>(rows), 1, 1, 2);
    }

    TBuf<TPosition::VECCALC> sumBuffer_, partBuffer_, spreadBuffer_;
    LocalTensor<float> sums_, parts_;
    LocalTensor<float> spread_; // one block for each row
    int64_t cols_ = 0;
    int64_t pitch_ = 0;
};

} // namespace layernorm_rows

#endif // ASCEND_CY_LAYERNORM_ROWS_H
