// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm backward for the vector cores of Ascend 910B (dav-2201). With xhat = (x - mean) * rstd and g = dy * gamma:
// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), dgamma = sum of dy * xhat and dbeta = sum of dy over the rows.
//
// mean comes rounded to float; what it lacks is found as the mean of x - mean and taken off as well. dgamma and dbeta are
// summed in parts of the rows, by trees inside a tile, and the parts are added by a second kernel: the order depends on
// the shape alone. All in float; 16-bit types round once, at the end.
#include "kernel_operator.h"

#include "../layernorm/layernorm_rows.h"
#include "layernorm_backward_tiling.h"

using namespace AscendC;
using namespace layernorm_rows;

namespace {

// What the first pass over a split row finds.
struct SplitRow {
    float mean;
    float rstd;
    float residual; // mean of x - mean
    float meanOfG;
    float meanOfProduct; // of g * xhat
};

// dst row 0 = sum of the rows of src, a tree. dst may be src; otherwise src stays as it is.
__aicore__ inline void ColumnSums(const LocalTensor<float> &dst, const LocalTensor<float> &src, int64_t rows, int64_t pitch,
                                  bool inPlace)
{
    int64_t left = rows;
    if (!inPlace) {
        const int64_t half = left / 2;
        if (half > 0) {
            Add(dst, src, src[(left - half) * pitch], static_cast<int32_t>(half * pitch));
        }
        if (left % 2 != 0) {
            Adds(dst[half * pitch], src[half * pitch], 0.0f, static_cast<int32_t>(pitch));
        }
        left -= half;
    }
    while (left > 1) {
        const int64_t half = left / 2;
        Add(dst, dst, dst[(left - half) * pitch], static_cast<int32_t>(half * pitch));
        left -= half;
    }
}

// T is the type of dy, x and dx.
template <typename T> class LayerNormBackward {
public:
    __aicore__ inline LayerNormBackward() {}

    __aicore__ inline void Init(GM_ADDR dy, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd, GM_ADDR gamma, GM_ADDR dx,
                                GM_ADDR workspace, int64_t rows, int64_t cols, int64_t gammaType, int64_t parts,
                                int64_t rowsPerPart, int64_t tileRows, int64_t tileCols, uint64_t invCols, TPipe *pipe)
    {
        rows_ = rows;
        cols_ = cols;
        parts_ = parts;
        rowsPerPart_ = rowsPerPart;
        tileRows_ = tileRows;
        pitch_ = tileCols;
        gamma_ = gamma;
        gammaType_ = gammaType;
        hasDx_ = dx != nullptr;
        hasSums_ = workspace != nullptr;
        invCols_ = FloatOfDoubleBits(invCols);
        sumPitch_ = layernorm_backward_sum_pitch(cols);
        dyGm_.SetGlobalBuffer((__gm__ T *)dy);
        xGm_.SetGlobalBuffer((__gm__ T *)x);
        dxGm_.SetGlobalBuffer((__gm__ T *)dx);
        meanGm_.SetGlobalBuffer((__gm__ float *)mean);
        rstdGm_.SetGlobalBuffer((__gm__ float *)rstd);
        sumGm_.SetGlobalBuffer((__gm__ float *)workspace);

        held_ = tileRows_ > 0 ? tileRows_ : 1;
        numbers_ = RoundUp(held_, kBlockFloats);
        const uint32_t bytes = static_cast<uint32_t>(held_ * pitch_ * sizeof(T));
        pipe->InitBuffer(dyQueue_, 2, bytes);
        pipe->InitBuffer(xQueue_, 2, bytes);
        pipe->InitBuffer(dxQueue_, 2, bytes);
        pipe->InitBuffer(numberQueue_, 2, static_cast<uint32_t>(2 * numbers_ * sizeof(float)));
        pipe->InitBuffer(sumQueue_, 1, static_cast<uint32_t>(2 * pitch_ * sizeof(float)));
        pipe->InitBuffer(gammaBuffer_, static_cast<uint32_t>(pitch_ * sizeof(float)));
        pipe->InitBuffer(floatBuffer_,
                         static_cast<uint32_t>((sizeof(T) == sizeof(float) ? 1 : 3) * held_ * pitch_ * sizeof(float)));
        pipe->InitBuffer(scratchBuffer_, static_cast<uint32_t>(2 * numbers_ * sizeof(float)));
        math_.Init(pipe, held_, cols, pitch_);
        gammaLocal_ = gammaBuffer_.template Get<float>();
        work_ = floatBuffer_.template Get<float>();
        first_ = scratchBuffer_.template Get<float>();
        second_ = first_[numbers_];
        Duplicate(first_, 0.0f, static_cast<int32_t>(2 * numbers_));
    }

    __aicore__ inline void Process()
    {
        if (tileRows_ > 0) {
            ClearBuffers();
            if (gamma_ != nullptr) {
                LoadWeight(gammaLocal_, gamma_, gammaType_, 0, cols_, pitch_);
            }
        }
        for (int64_t part = GetBlockIdx(); part < parts_; part += GetBlockNum()) {
            const int64_t firstRow = part * rowsPerPart_;
            const int64_t endRow = Min(rows_, firstRow + rowsPerPart_);
            if (tileRows_ > 0) {
                ProcessWholeRows(part, firstRow, endRow);
            } else {
                ProcessSplitRows(part, firstRow, endRow);
            }
        }
    }

private:
    // Sums run over whole repeats: what stands behind the columns is zero from here on.
    __aicore__ inline void ClearBuffers()
    {
        const int32_t n = static_cast<int32_t>(held_ * pitch_);
        ClearQueue(dyQueue_, n);
        ClearQueue(xQueue_, n);
        ClearQueue(dxQueue_, n);
        Duplicate(work_, 0.0f, (sizeof(T) == sizeof(float) ? 1 : 3) * n);
        LocalTensor<float> numbers[2];
        for (int i = 0; i < 2; ++i) {
            numbers[i] = numberQueue_.template AllocTensor<float>();
            Duplicate(numbers[i], 0.0f, static_cast<int32_t>(2 * numbers_));
        }
        numberQueue_.FreeTensor(numbers[0]);
        numberQueue_.FreeTensor(numbers[1]);
    }
    template <typename Queue> __aicore__ inline void ClearQueue(Queue &queue, int32_t count)
    {
        LocalTensor<T> a = queue.template AllocTensor<T>();
        LocalTensor<T> b = queue.template AllocTensor<T>();
        Duplicate(a, static_cast<T>(0.0f), count);
        Duplicate(b, static_cast<T>(0.0f), count);
        queue.FreeTensor(a);
        queue.FreeTensor(b);
    }

    __aicore__ inline void Load(int64_t offset, int64_t rows, int64_t count)
    {
        LocalTensor<T> dy = dyQueue_.template AllocTensor<T>();
        LocalTensor<T> x = xQueue_.template AllocTensor<T>();
        LoadRows(dy, dyGm_[offset], rows, count, pitch_);
        LoadRows(x, xGm_[offset], rows, count, pitch_);
        dyQueue_.EnQue(dy);
        xQueue_.EnQue(x);
    }

    __aicore__ inline void LoadNumbers(int64_t row, int64_t rows)
    {
        LocalTensor<float> numbers = numberQueue_.template AllocTensor<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(rows * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad;
        DataCopyPad(numbers, meanGm_[row], copy, pad);
        DataCopyPad(numbers[numbers_], rstdGm_[row], copy, pad);
        numberQueue_.EnQue(numbers);
    }

    // The float tile of a 16-bit one in place `index` of the float buffer, or the tile itself.
    __aicore__ inline LocalTensor<float> Widened(const LocalTensor<T> &tile, int64_t index, int64_t count)
    {
        if constexpr (sizeof(T) == sizeof(float)) {
            return tile.template ReinterpretCast<float>();
        } else {
            const LocalTensor<float> wide = work_[index * held_ * pitch_];
            Cast(wide, tile, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
            return wide;
        }
    }

    __aicore__ inline void StoreSums(const LocalTensor<float> &sums, int64_t part, int64_t column, int64_t count)
    {
        sumQueue_.EnQue(sums);
        LocalTensor<float> out = sumQueue_.template DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPad(sumGm_[2 * part * sumPitch_ + column], out, copy);
        DataCopyPad(sumGm_[(2 * part + 1) * sumPitch_ + column], out[pitch_], copy);
        sumQueue_.FreeTensor(out);
    }

    // ---- whole rows -------------------------------------------------------------------------------------------------

    __aicore__ inline void ProcessWholeRows(int64_t part, int64_t firstRow, int64_t endRow)
    {
        LocalTensor<float> sums = sumQueue_.template AllocTensor<float>();
        Duplicate(sums, 0.0f, static_cast<int32_t>(2 * pitch_));
        const int64_t start = Min(tileRows_, endRow - firstRow);
        Load(firstRow * cols_, start, cols_);
        LoadNumbers(firstRow, start);
        for (int64_t row = firstRow; row < endRow; row += tileRows_) {
            const int64_t rows = Min(tileRows_, endRow - row);
            LocalTensor<T> dy = dyQueue_.template DeQue<T>();
            LocalTensor<T> x = xQueue_.template DeQue<T>();
            LocalTensor<float> numbers = numberQueue_.template DeQue<float>();
            const int64_t next = row + tileRows_;
            if (next < endRow) {
                Load(next * cols_, Min(tileRows_, endRow - next), cols_);
                LoadNumbers(next, Min(tileRows_, endRow - next));
            }
            ComputeTile(dy, x, numbers, sums, rows);
            dyQueue_.FreeTensor(dy);
            xQueue_.FreeTensor(x);
            numberQueue_.FreeTensor(numbers);
            if (hasDx_) {
                LocalTensor<T> dx = dxQueue_.template DeQue<T>();
                StoreRows(dxGm_[row * cols_], dx, rows, cols_, pitch_);
                dxQueue_.FreeTensor(dx);
            }
        }
        if (hasSums_) {
            StoreSums(sums, part, 0, cols_);
        } else {
            sumQueue_.FreeTensor(sums);
        }
    }

    __aicore__ inline void ComputeTile(const LocalTensor<T> &dyTile, const LocalTensor<T> &xTile,
                                       const LocalTensor<float> &means, const LocalTensor<float> &sums, int64_t rows)
    {
        const int32_t n = static_cast<int32_t>(rows);
        const int32_t all = static_cast<int32_t>(rows * pitch_);
        const LocalTensor<float> rstds = means[numbers_];
        const LocalTensor<float> xhat = Widened(xTile, 1, all);
        const LocalTensor<float> g = Widened(dyTile, 2, all);

        math_.ApplyNumbers<Operation::kSub>(xhat, xhat, means, rows);
        math_.RowSums(first_, xhat, rows);
        Muls(first_, first_, invCols_, n);
        math_.ApplyNumbers<Operation::kSub>(xhat, xhat, first_, rows);
        math_.ApplyNumbers<Operation::kMul>(xhat, xhat, rstds, rows);
        if (hasSums_) {
            Mul(work_, g, xhat, all);
            ColumnSums(work_, work_, rows, pitch_, true);
            Add(sums, sums, work_, static_cast<int32_t>(pitch_));
            ColumnSums(work_, g, rows, pitch_, false);
            Add(sums[pitch_], sums[pitch_], work_, static_cast<int32_t>(pitch_));
        }
        if (!hasDx_) {
            return;
        }
        if (gamma_ != nullptr) {
            math_.ApplyWeight<Operation::kMul>(g, gammaLocal_, rows, cols_);
        }
        Mul(work_, g, xhat, all);
        math_.RowSums(first_, g, rows);
        math_.RowSums(second_, work_, rows);
        Muls(first_, first_, invCols_, n);
        Muls(second_, second_, invCols_, n);
        math_.ApplyNumbers<Operation::kSub>(g, g, first_, rows);
        math_.ApplyNumbers<Operation::kMul>(xhat, xhat, second_, rows);
        Sub(g, g, xhat, all);
        LocalTensor<T> dx = dxQueue_.template AllocTensor<T>();
        if constexpr (sizeof(T) == sizeof(float)) {
            math_.ApplyNumbers<Operation::kMul>(dx.template ReinterpretCast<float>(), g, rstds, rows);
        } else {
            math_.ApplyNumbers<Operation::kMul>(g, g, rstds, rows);
            Cast(dx, g, RoundMode::CAST_RINT, static_cast<uint32_t>(all));
        }
        dxQueue_.EnQue(dx);
    }

    // ---- split rows -------------------------------------------------------------------------------------------------

    __aicore__ inline void ProcessSplitRows(int64_t part, int64_t firstRow, int64_t endRow)
    {
        SplitRow split[LAYERNORM_BACKWARD_NPU_SPLIT_ROWS];
        const int64_t rows = endRow - firstRow;
        for (int64_t r = 0; r < rows; ++r) {
            Measure(firstRow + r, split[r]);
        }
        for (int64_t column = 0; column < cols_; column += pitch_) {
            const int64_t count = Min(pitch_, cols_ - column);
            LoadGamma(column, count);
            LocalTensor<float> sums = sumQueue_.template AllocTensor<float>();
            Duplicate(sums, 0.0f, static_cast<int32_t>(2 * pitch_));
            Load(firstRow * cols_ + column, 1, count);
            for (int64_t r = 0; r < rows; ++r) {
                const int64_t offset = (firstRow + r) * cols_ + column;
                LocalTensor<T> dy = dyQueue_.template DeQue<T>();
                LocalTensor<T> x = xQueue_.template DeQue<T>();
                if (r + 1 < rows) {
                    Load(offset + cols_, 1, count);
                }
                ComputeSlice(dy, x, split[r], sums, count);
                dyQueue_.FreeTensor(dy);
                xQueue_.FreeTensor(x);
                if (hasDx_) {
                    LocalTensor<T> dx = dxQueue_.template DeQue<T>();
                    StoreRows(dxGm_[offset], dx, 1, count, pitch_);
                    dxQueue_.FreeTensor(dx);
                }
            }
            if (hasSums_) {
                StoreSums(sums, part, column, count);
            } else {
                sumQueue_.FreeTensor(sums);
            }
        }
    }

    __aicore__ inline void LoadGamma(int64_t column, int64_t count)
    {
        if (gamma_ == nullptr) {
            return;
        }
        const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_MTE2));
        SetFlag<HardEvent::V_MTE2>(id);
        WaitFlag<HardEvent::V_MTE2>(id);
        LoadWeight(gammaLocal_, gamma_, gammaType_, column, count, pitch_);
    }

    // The sums over a split row that its gradient needs.
    __aicore__ inline void Measure(int64_t row, SplitRow &split)
    {
        split.mean = meanGm_.GetValue(row);
        split.rstd = rstdGm_.GetValue(row);
        float sum = 0.0f;
        float sumOfG = 0.0f;
        float sumOfProduct = 0.0f;
        if (hasDx_ || hasSums_) {
            for (int64_t column = 0; column < cols_; column += pitch_) {
                const int64_t count = Min(pitch_, cols_ - column);
                const int32_t n = static_cast<int32_t>(count);
                LoadGamma(column, count);
                Load(row * cols_ + column, 1, count);
                LocalTensor<T> dy = dyQueue_.template DeQue<T>();
                LocalTensor<T> x = xQueue_.template DeQue<T>();
                const LocalTensor<float> d = Widened(x, 1, n);
                const LocalTensor<float> g = Widened(dy, 2, n);
                Adds(d, d, -split.mean, n);
                if (gamma_ != nullptr) {
                    Mul(g, g, gammaLocal_, n);
                }
                Mul(work_, g, d, n);
                sumOfProduct += math_.SliceSum(first_, work_, count);
                sum += math_.SliceSum(first_, d, count);
                sumOfG += math_.SliceSum(first_, g, count);
                dyQueue_.FreeTensor(dy);
                xQueue_.FreeTensor(x);
            }
        }
        split.residual = sum * invCols_;
        split.meanOfG = sumOfG * invCols_;
        split.meanOfProduct = (sumOfProduct - split.residual * sumOfG) * split.rstd * invCols_;
    }

    __aicore__ inline void ComputeSlice(const LocalTensor<T> &dyTile, const LocalTensor<T> &xTile, const SplitRow &split,
                                        const LocalTensor<float> &sums, int64_t count)
    {
        const int32_t n = static_cast<int32_t>(count);
        const LocalTensor<float> xhat = Widened(xTile, 1, n);
        const LocalTensor<float> g = Widened(dyTile, 2, n);
        Adds(xhat, xhat, -split.mean, n);
        Adds(xhat, xhat, -split.residual, n);
        Muls(xhat, xhat, split.rstd, n);
        if (hasSums_) {
            Mul(work_, g, xhat, n);
            Add(sums, sums, work_, n);
            Add(sums[pitch_], sums[pitch_], g, n);
        }
        if (!hasDx_) {
            return;
        }
        if (gamma_ != nullptr) {
            Mul(g, g, gammaLocal_, n);
        }
        Adds(g, g, -split.meanOfG, n);
        Muls(xhat, xhat, split.meanOfProduct, n);
        Sub(g, g, xhat, n);
        LocalTensor<T> dx = dxQueue_.template AllocTensor<T>();
        if constexpr (sizeof(T) == sizeof(float)) {
            Muls(dx.template ReinterpretCast<float>(), g, split.rstd, n);
        } else {
            Muls(g, g, split.rstd, n);
            Cast(dx, g, RoundMode::CAST_RINT, static_cast<uint32_t>(n));
        }
        dxQueue_.EnQue(dx);
    }

    GlobalTensor<T> dyGm_, xGm_, dxGm_;
    GlobalTensor<float> meanGm_, rstdGm_, sumGm_;
    GM_ADDR gamma_ = nullptr;
    TQue<TPosition::VECIN, 1> dyQueue_, xQueue_;
    TQue<TPosition::VECIN, 1> numberQueue_; // means, then reciprocal deviations
    TQue<TPosition::VECOUT, 1> dxQueue_;
    TQue<TPosition::VECOUT, 1> sumQueue_; // of a part: for dgamma, then for dbeta
    TBuf<TPosition::VECCALC> gammaBuffer_, floatBuffer_, scratchBuffer_;
    RowMath math_;
    LocalTensor<float> gammaLocal_;
    LocalTensor<float> work_;           // a tile
    LocalTensor<float> first_, second_; // a number for each row
    int64_t rows_ = 0;
    int64_t cols_ = 0;
    int64_t parts_ = 0;
    int64_t rowsPerPart_ = 0;
    int64_t tileRows_ = 0;
    int64_t held_ = 0; // rows that the buffers hold
    int64_t pitch_ = 0;
    int64_t numbers_ = 0;
    int64_t sumPitch_ = 0;
    int64_t gammaType_ = 0;
    bool hasDx_ = false;
    bool hasSums_ = false;
    float invCols_ = 0.0f;
};

// Adds the parts up, for the columns of this block. T is the type of dgamma and dbeta.
template <typename T> class LayerNormBackwardSum {
public:
    __aicore__ inline LayerNormBackwardSum() {}

    __aicore__ inline void Init(GM_ADDR workspace, int64_t cols, int64_t parts, int64_t colsPerBlock, TPipe *pipe)
    {
        first_ = GetBlockIdx() * colsPerBlock;
        end_ = Min(cols, first_ + colsPerBlock);
        parts_ = parts;
        sumPitch_ = layernorm_backward_sum_pitch(cols);
        sumGm_.SetGlobalBuffer((__gm__ float *)workspace);
        pipe->InitBuffer(inQueue_, 2,
                         static_cast<uint32_t>(LAYERNORM_BACKWARD_NPU_SUM_PARTS * kCols * sizeof(float)));
        pipe->InitBuffer(outQueue_, 2, static_cast<uint32_t>(kCols * sizeof(float)));
        pipe->InitBuffer(totalBuffer_, static_cast<uint32_t>(kCols * sizeof(float)));
        total_ = totalBuffer_.template Get<float>();
    }

    // `which` is 0 for dgamma, 1 for dbeta.
    __aicore__ inline void Process(GM_ADDR result, int64_t which)
    {
        GlobalTensor<T> out;
        out.SetGlobalBuffer((__gm__ T *)result);
        for (int64_t column = first_; column < end_; column += kCols) {
            const int64_t count = Min(kCols, end_ - column);
            const int32_t n = static_cast<int32_t>(count);
            Load(0, which, column, count);
            for (int64_t part = 0; part < parts_; part += LAYERNORM_BACKWARD_NPU_SUM_PARTS) {
                const int64_t here = Min(LAYERNORM_BACKWARD_NPU_SUM_PARTS, parts_ - part);
                LocalTensor<float> in = inQueue_.template DeQue<float>();
                if (part + LAYERNORM_BACKWARD_NPU_SUM_PARTS < parts_) {
                    Load(part + LAYERNORM_BACKWARD_NPU_SUM_PARTS, which, column, count);
                }
                ColumnSums(in, in, here, RoundUp(count, kBlockFloats), true);
                if (part == 0) {
                    Adds(total_, in, 0.0f, n);
                } else {
                    Add(total_, total_, in, n);
                }
                inQueue_.FreeTensor(in);
            }
            LocalTensor<T> y = outQueue_.template AllocTensor<T>();
            if constexpr (sizeof(T) == sizeof(float)) {
                Adds(y.template ReinterpretCast<float>(), total_, 0.0f, n);
            } else {
                Cast(y, total_, RoundMode::CAST_RINT, static_cast<uint32_t>(n));
            }
            outQueue_.EnQue(y);
            y = outQueue_.template DeQue<T>();
            DataCopyPad(out[column], y, DataCopyExtParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0});
            outQueue_.FreeTensor(y);
        }
    }

private:
    static constexpr int64_t kCols = LAYERNORM_BACKWARD_NPU_SUM_COLS;

    // The sums of up to 16 parts, side by side at a pitch of whole blocks.
    __aicore__ inline void Load(int64_t part, int64_t which, int64_t column, int64_t count)
    {
        LocalTensor<float> in = inQueue_.template AllocTensor<float>();
        const int64_t parts = Min(LAYERNORM_BACKWARD_NPU_SUM_PARTS, parts_ - part);
        const DataCopyExtParams copy{static_cast<uint16_t>(parts), static_cast<uint32_t>(count * sizeof(float)),
                                     static_cast<uint32_t>((2 * sumPitch_ - count) * sizeof(float)), 0, 0};
        DataCopyPadExtParams<float> pad;
        DataCopyPad(in, sumGm_[(2 * part + which) * sumPitch_ + column], copy, pad);
        inQueue_.EnQue(in);
    }

    GlobalTensor<float> sumGm_;
    TQue<TPosition::VECIN, 1> inQueue_;
    TQue<TPosition::VECOUT, 1> outQueue_;
    TBuf<TPosition::VECCALC> totalBuffer_;
    LocalTensor<float> total_;
    int64_t first_ = 0;
    int64_t end_ = 0;
    int64_t parts_ = 0;
    int64_t sumPitch_ = 0;
};

template <typename T>
__aicore__ inline void Run(GM_ADDR dy, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd, GM_ADDR gamma, GM_ADDR dx, GM_ADDR workspace,
                           int64_t rows, int64_t cols, int64_t gammaType, int64_t parts, int64_t rowsPerPart,
                           int64_t tileRows, int64_t tileCols, uint64_t invCols)
{
    TPipe pipe;
    LayerNormBackward<T> kernel;
    kernel.Init(dy, x, mean, rstd, gamma, dx, workspace, rows, cols, gammaType, parts, rowsPerPart, tileRows, tileCols,
                invCols, &pipe);
    kernel.Process();
}

template <typename T>
__aicore__ inline void RunSum(GM_ADDR workspace, GM_ADDR dgamma, GM_ADDR dbeta, int64_t cols, int64_t parts,
                              int64_t colsPerBlock)
{
    TPipe pipe;
    LayerNormBackwardSum<T> kernel;
    kernel.Init(workspace, cols, parts, colsPerBlock, &pipe);
    if (dgamma != nullptr) {
        kernel.Process(dgamma, 0);
    }
    if (dbeta != nullptr) {
        kernel.Process(dbeta, 1);
    }
}

} // namespace

// Parameters in the order of LayerNormBackwardArgs and LayerNormBackwardSumArgs; invCols are the bits of a double.

extern "C" __global__ __aicore__ void layernorm_backward_fp32(GM_ADDR dy, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd,
                                                              GM_ADDR gamma, GM_ADDR dx, GM_ADDR workspace, int64_t rows,
                                                              int64_t cols, int64_t gammaType, int64_t parts,
                                                              int64_t rowsPerPart, int64_t tileRows, int64_t tileCols,
                                                              uint64_t invCols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<float>(dy, x, mean, rstd, gamma, dx, workspace, rows, cols, gammaType, parts, rowsPerPart, tileRows, tileCols,
               invCols);
}

extern "C" __global__ __aicore__ void layernorm_backward_fp16(GM_ADDR dy, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd,
                                                              GM_ADDR gamma, GM_ADDR dx, GM_ADDR workspace, int64_t rows,
                                                              int64_t cols, int64_t gammaType, int64_t parts,
                                                              int64_t rowsPerPart, int64_t tileRows, int64_t tileCols,
                                                              uint64_t invCols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<half>(dy, x, mean, rstd, gamma, dx, workspace, rows, cols, gammaType, parts, rowsPerPart, tileRows, tileCols,
              invCols);
}

extern "C" __global__ __aicore__ void layernorm_backward_bf16(GM_ADDR dy, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd,
                                                              GM_ADDR gamma, GM_ADDR dx, GM_ADDR workspace, int64_t rows,
                                                              int64_t cols, int64_t gammaType, int64_t parts,
                                                              int64_t rowsPerPart, int64_t tileRows, int64_t tileCols,
                                                              uint64_t invCols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<bfloat16_t>(dy, x, mean, rstd, gamma, dx, workspace, rows, cols, gammaType, parts, rowsPerPart, tileRows, tileCols,
                    invCols);
}

extern "C" __global__ __aicore__ void layernorm_backward_sum_fp32(GM_ADDR workspace, GM_ADDR dgamma, GM_ADDR dbeta,
                                                                  int64_t cols, int64_t parts, int64_t colsPerBlock)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    RunSum<float>(workspace, dgamma, dbeta, cols, parts, colsPerBlock);
}

extern "C" __global__ __aicore__ void layernorm_backward_sum_fp16(GM_ADDR workspace, GM_ADDR dgamma, GM_ADDR dbeta,
                                                                  int64_t cols, int64_t parts, int64_t colsPerBlock)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    RunSum<half>(workspace, dgamma, dbeta, cols, parts, colsPerBlock);
}

extern "C" __global__ __aicore__ void layernorm_backward_sum_bf16(GM_ADDR workspace, GM_ADDR dgamma, GM_ADDR dbeta,
                                                                  int64_t cols, int64_t parts, int64_t colsPerBlock)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    RunSum<bfloat16_t>(workspace, dgamma, dbeta, cols, parts, colsPerBlock);
}
