// SPDX-License-Identifier: Apache-2.0
//
// LayerNorm forward for the vector cores of Ascend 910B (dav-2201).
//
// Numbers. Every row is taken relative to a pivot p, its first element: d = x - p, m = mean(d), e = d - m,
// v = mean(e * e), y = e / sqrt(v + eps) * gamma + beta, mean = p + m. Rows with equal elements give exactly beta, and a
// mean far from zero costs no digits. All in float; 16-bit types round once, at the end, and take the mean of e, which the
// rounding of m left, off e: near zero their units are finer than that. Rows for which that is not enough are found by
// their mean and variance and done again: scaled by a power of two where squares leave the range of float, around the
// mean where the pivot lies far from it. Other rows pay nothing for it.
//
// Shapes. Whole rows, several to a tile, double buffered: x is read once, y written once, gamma and beta read once a
// core. Rows that do not fit are split: one pass over their tiles for mean and variance (combined after Chan), one for y.
#include "kernel_operator.h"

#include "layernorm_rows.h"
#include "layernorm_tiling.h"

using namespace AscendC;
using namespace layernorm_rows;

namespace {

constexpr int64_t kGroupRows = 32;   // split rows that share one load of gamma and beta
constexpr float kFarPivot = 16.0f;   // a pivot is far if m * m is above so many variances
constexpr float kTinyVariance = 8.077935669463161e-28f; // 2^-90: below it squares may have lost digits

struct RowStats {
    float scale; // of x, before anything else
    float pivot; // of the scaled row
    float shift; // mean of (scaled x - pivot), rounded
    float residual; // what that left
    float multiplier;
    float mean;
    float rstd;
};

// T is the type of x and y.
template <typename T> class LayerNorm {
    static constexpr bool kSixteenBits = sizeof(T) != sizeof(float);

public:
    __aicore__ inline LayerNorm() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean, GM_ADDR rstd, int64_t rows,
                                int64_t cols, int64_t gammaType, int64_t betaType, int64_t rowsPerBlock, int64_t tileRows,
                                int64_t tileCols, uint64_t eps, uint64_t invCols, TPipe *pipe)
    {
        cols_ = cols;
        firstRow_ = GetBlockIdx() * rowsPerBlock;
        endRow_ = Min(rows, firstRow_ + rowsPerBlock);
        tileRows_ = tileRows;
        pitch_ = tileCols;
        gamma_ = gamma;
        beta_ = beta;
        gammaType_ = gammaType;
        betaType_ = betaType;
        hasMean_ = mean != nullptr;
        hasRstd_ = rstd != nullptr;
        epsBits_ = eps;
        eps_ = FloatOfDoubleBits(eps);
        invCols_ = FloatOfDoubleBits(invCols);
        xGm_.SetGlobalBuffer((__gm__ T *)x);
        yGm_.SetGlobalBuffer((__gm__ T *)y);
        meanGm_.SetGlobalBuffer((__gm__ float *)mean);
        rstdGm_.SetGlobalBuffer((__gm__ float *)rstd);

        const int64_t held = tileRows_ > 0 ? tileRows_ : 1;
        numbers_ = RoundUp(held, kBlockFloats);
        pipe->InitBuffer(xQueue_, 2, static_cast<uint32_t>(held * pitch_ * sizeof(T)));
        pipe->InitBuffer(yQueue_, 2, static_cast<uint32_t>(held * pitch_ * sizeof(T)));
        pipe->InitBuffer(statQueue_, 2, static_cast<uint32_t>(2 * numbers_ * sizeof(float)));
        pipe->InitBuffer(weightBuffer_, static_cast<uint32_t>(2 * pitch_ * sizeof(float)));
        math_.Init(pipe, held, cols, pitch_);
        pipe->InitBuffer(numberBuffer_, static_cast<uint32_t>(5 * numbers_ * sizeof(float)));
        gammaLocal_ = weightBuffer_.template Get<float>();
        betaLocal_ = gammaLocal_[pitch_];
        pivots_ = numberBuffer_.template Get<float>();
        shifts_ = pivots_[numbers_];
        variances_ = pivots_[2 * numbers_];
        multipliers_ = pivots_[3 * numbers_];
        scratch_ = pivots_[4 * numbers_];
        if constexpr (sizeof(T) != sizeof(float)) {
            pipe->InitBuffer(floatBuffer_, static_cast<uint32_t>(2 * held * pitch_ * sizeof(float)));
        }
        // Instructions on whole blocks read numbers of rows that the tile does not have.
        Duplicate(pivots_, 0.0f, static_cast<int32_t>(5 * numbers_));
    }

    __aicore__ inline void Process()
    {
        if (firstRow_ >= endRow_) {
            return;
        }
        if (tileRows_ > 0) {
            ProcessWholeRows();
        } else {
            ProcessSplitRows();
        }
    }

private:
    // ---- loading and storing ----------------------------------------------------------------------------------------

    __aicore__ inline void LoadTile(int64_t offset, int64_t rows, int64_t count)
    {
        LocalTensor<T> x = xQueue_.template AllocTensor<T>();
        LoadRows(x, xGm_[offset], rows, count, pitch_);
        xQueue_.EnQue(x);
    }

    __aicore__ inline void StoreTile(int64_t offset, int64_t rows, int64_t count)
    {
        LocalTensor<T> y = yQueue_.template DeQue<T>();
        StoreRows(yGm_[offset], y, rows, count, pitch_);
        yQueue_.FreeTensor(y);
    }

    __aicore__ inline void StoreStats(int64_t row, int64_t rows)
    {
        LocalTensor<float> stats = statQueue_.template DeQue<float>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(rows * sizeof(float)), 0, 0, 0};
        if (hasMean_) {
            DataCopyPad(meanGm_[row], stats, copy);
        }
        if (hasRstd_) {
            DataCopyPad(rstdGm_[row], stats[numbers_], copy);
        }
        statQueue_.FreeTensor(stats);
    }

    __aicore__ inline void LoadWeights(int64_t column, int64_t count)
    {
        const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_MTE2));
        SetFlag<HardEvent::V_MTE2>(id);
        WaitFlag<HardEvent::V_MTE2>(id);
        if (gamma_ != nullptr) {
            LoadWeight(gammaLocal_, gamma_, gammaType_, column, count, pitch_);
        }
        if (beta_ != nullptr) {
            LoadWeight(betaLocal_, beta_, betaType_, column, count, pitch_);
        }
    }

    // The float tile to compute on: x itself, or x widened.
    __aicore__ inline LocalTensor<float> Widened(const LocalTensor<T> &x, int64_t rows)
    {
        if constexpr (sizeof(T) == sizeof(float)) {
            return x.template ReinterpretCast<float>();
        } else {
            LocalTensor<float> wide = floatBuffer_.template Get<float>();
            Cast(wide, x, RoundMode::CAST_NONE, static_cast<uint32_t>(rows * pitch_));
            return wide;
        }
    }
    // The float tile for the result: y itself, or a buffer that Narrowed() rounds into y.
    __aicore__ inline LocalTensor<float> ResultTile(const LocalTensor<T> &y)
    {
        if constexpr (sizeof(T) == sizeof(float)) {
            return y.template ReinterpretCast<float>();
        } else {
            return floatBuffer_.template Get<float>()[(tileRows_ > 0 ? tileRows_ : 1) * pitch_];
        }
    }
    __aicore__ inline void Narrowed(const LocalTensor<T> &y, const LocalTensor<float> &result, int64_t rows, int64_t count)
    {
        if constexpr (sizeof(T) != sizeof(float)) {
            if (!math_.Narrow() || count == pitch_) {
                Cast(y, result, RoundMode::CAST_RINT, static_cast<uint32_t>((rows - 1) * pitch_ + count));
                return;
            }
            for (int64_t c = 0; c < count; c += kLanes) {
                Cast(y[c], result[c], RoundMode::CAST_RINT, static_cast<uint64_t>(Min(kLanes, count - c)),
                     static_cast<uint8_t>(rows),
                     UnaryRepeatParams{1, 1, static_cast<uint8_t>(pitch_ / 16), static_cast<uint8_t>(pitch_ / 8)});
            }
        }
    }

    __aicore__ inline void ApplyWeights(const LocalTensor<float> &data, int64_t rows, int64_t count)
    {
        if (gamma_ != nullptr) {
            math_.ApplyWeight<Operation::kMul>(data, gammaLocal_, rows, count);
        }
        if (beta_ != nullptr) {
            math_.ApplyWeight<Operation::kAdd>(data, betaLocal_, rows, count);
        }
    }

    // ---- whole rows -------------------------------------------------------------------------------------------------

    __aicore__ inline void ProcessWholeRows()
    {
        if (!math_.Narrow() && cols_ != pitch_) {
            ClearPadding();
        }
        LoadTile(firstRow_ * cols_, Min(tileRows_, endRow_ - firstRow_), cols_);
        LoadWeights(0, cols_);
        for (int64_t row = firstRow_; row < endRow_; row += tileRows_) {
            const int64_t rows = Min(tileRows_, endRow_ - row);
            LocalTensor<T> x = xQueue_.template DeQue<T>();
            const int64_t next = row + tileRows_;
            if (next < endRow_) {
                LoadTile(next * cols_, Min(tileRows_, endRow_ - next), cols_);
            }
            ComputeTile(x, row, rows);
            xQueue_.FreeTensor(x);
            StoreTile(row * cols_, rows, cols_);
            StoreStats(row, rows);
        }
    }

    // Sums run over whole repeats: what stands behind the columns must be zero, and stays so, because nothing but whole
    // blocks of loads and the columns themselves are written afterwards.
    __aicore__ inline void ClearPadding()
    {
        LocalTensor<T> x[2];
        LocalTensor<T> y[2];
        for (int i = 0; i < 2; ++i) {
            x[i] = xQueue_.template AllocTensor<T>();
            Duplicate(x[i], static_cast<T>(0.0f), static_cast<int32_t>(tileRows_ * pitch_));
            y[i] = yQueue_.template AllocTensor<T>();
            Duplicate(y[i], static_cast<T>(0.0f), static_cast<int32_t>(tileRows_ * pitch_));
        }
        for (int i = 0; i < 2; ++i) {
            xQueue_.FreeTensor(x[i]);
            yQueue_.FreeTensor(y[i]);
        }
        if constexpr (sizeof(T) != sizeof(float)) {
            Duplicate(floatBuffer_.template Get<float>(), 0.0f, static_cast<int32_t>(2 * tileRows_ * pitch_));
        }
    }

    __aicore__ inline void ComputeTile(const LocalTensor<T> &x, int64_t row, int64_t rows)
    {
        LocalTensor<T> y = yQueue_.template AllocTensor<T>();
        LocalTensor<float> stats = statQueue_.template AllocTensor<float>();
        const LocalTensor<float> a = Widened(x, rows); // x, then x - pivot, then squares
        const LocalTensor<float> b = ResultTile(y);    // deviations, then y
        const int32_t n = static_cast<int32_t>(rows);

        WholeReduceSum(pivots_, a, 1, n, 1, 1, static_cast<int32_t>(pitch_ / kBlockFloats));
        math_.ApplyNumbers<Operation::kSub>(a, a, pivots_, rows);
        math_.RowSums(shifts_, a, rows);
        Muls(shifts_, shifts_, invCols_, n);
        math_.ApplyNumbers<Operation::kSub>(b, a, shifts_, rows);
        if constexpr (kSixteenBits) {
            // What the rounded mean left: near zero a unit of a 16-bit type is less than that.
            math_.RowSums(scratch_, b, rows);
            Muls(scratch_, scratch_, invCols_, n);
            math_.ApplyNumbers<Operation::kSub>(b, b, scratch_, rows);
        }
        math_.Products(a, b, b, rows);
        math_.RowSums(variances_, a, rows);
        Muls(variances_, variances_, invCols_, n);
        math_.ReciprocalRoots(multipliers_, variances_, eps_, rows);
        Add(stats, pivots_, shifts_, n);
        Adds(stats[numbers_], multipliers_, 0.0f, n);
        if (NeedsRescue(rows)) {
            RescueRows(x, a, b, stats, row, rows);
        }
        math_.ApplyNumbers<Operation::kMul>(b, b, multipliers_, rows);
        ApplyWeights(b, rows, cols_);
        Narrowed(y, b, rows, cols_);
        yQueue_.EnQue(y);
        statQueue_.EnQue(stats);
    }

    // Whether a row of the tile has to be done again. One or two scalars a tile tell.
    __aicore__ inline bool NeedsRescue(int64_t rows)
    {
        const int32_t n = static_cast<int32_t>(rows);
        // What m * m has above kFarPivot * v, or NaN where v is not finite: zero for ordinary rows.
        Mul(scratch_, shifts_, shifts_, n);
        Muls(math_.parts(), variances_, -kFarPivot, n);
        Add(scratch_, scratch_, math_.parts(), n);
        Maxs(scratch_, scratch_, 0.0f, n);
        Sub(math_.parts(), variances_, variances_, n);
        Add(scratch_, scratch_, math_.parts(), n);
        ReduceSum(scratch_, scratch_, scratch_, n);
        if (!(scratch_.GetValue(0) == 0.0f)) {
            return true;
        }
        if (eps_ >= kTinyVariance) {
            return false;
        }
        ReduceMin(scratch_, variances_, math_.parts(), n);
        return scratch_.GetValue(0) < kTinyVariance;
    }
    __aicore__ inline bool OutOfRange(float variance) const
    {
        return !IsFinite(variance) || (eps_ < kTinyVariance && variance < kTinyVariance);
    }

    __aicore__ inline void RescueRows(const LocalTensor<T> &x, const LocalTensor<float> &a, const LocalTensor<float> &b,
                                      const LocalTensor<float> &stats, int64_t row, int64_t rows)
    {
        for (int64_t r = 0; r < rows; ++r) {
            const float variance = variances_.GetValue(static_cast<uint32_t>(r));
            const float shift = shifts_.GetValue(static_cast<uint32_t>(r));
            if (OutOfRange(variance) || shift * shift > kFarPivot * variance) {
                RescueRow(x, a[r * pitch_], b[r * pitch_], stats, row + r, r);
            }
        }
    }

    // Does row r of the tile again from its source. The deviations of the scaled row end in `b`.
    __aicore__ inline void RescueRow(const LocalTensor<T> &x, const LocalTensor<float> &a, const LocalTensor<float> &b,
                                     const LocalTensor<float> &stats, int64_t row, int64_t r)
    {
        const int32_t n = static_cast<int32_t>(cols_);
        const uint32_t place = static_cast<uint32_t>(r);
        PipeBarrier<PIPE_ALL>();
        const LocalTensor<T> xRow = x[r * pitch_];
        LoadRows(xRow, xGm_[row * cols_], 1, cols_, pitch_);
        PipeBarrier<PIPE_ALL>();
        if constexpr (sizeof(T) != sizeof(float)) {
            Cast(a, xRow, RoundMode::CAST_NONE, static_cast<uint32_t>(n));
        }
        // A row that is not finite has no result: NaN in every place.
        Sub(b, a, a, n);
        ReduceSum(scratch_, b, scratch_, n);
        if (!(scratch_.GetValue(0) == 0.0f)) {
            Duplicate(b, FloatOfBits(0x7fc00000u), n);
            multipliers_.SetValue(place, FloatOfBits(0x7fc00000u));
            stats.SetValue(static_cast<uint32_t>(numbers_ + r), FloatOfBits(0x7fc00000u));
            return;
        }
        Abs(b, a, n);
        ReduceMax(scratch_, b, math_.sums(), n);
        const float largest = scratch_.GetValue(0);
        const float scale = largest == 0.0f ? 1.0f : ScaleFor(largest);
        Muls(a, a, scale, n);
        // The first element leads to a pivot near the mean; of equal elements it is the mean.
        float pivot = a.GetValue(0);
        Adds(b, a, -pivot, n);
        math_.RowSums(scratch_, b, 1);
        pivot += scratch_.GetValue(0) * invCols_;
        Adds(a, a, -pivot, n);
        math_.RowSums(scratch_, a, 1);
        const float shift = scratch_.GetValue(0) * invCols_;
        Adds(b, a, -shift, n);
        Mul(a, b, b, n);
        math_.RowSums(scratch_, a, 1);
        const float variance = scratch_.GetValue(0) * invCols_;
        const float eps = ScaledEps(scale);
        multipliers_.SetValue(place, RootOf(variance, eps));
        stats.SetValue(place, (pivot + shift) * ReciprocalOfPower(scale));
        stats.SetValue(static_cast<uint32_t>(numbers_ + r),
                       variance + eps == 0.0f ? FloatOfBits(0x7f800000u) : RootOf(variance, eps) * scale);
    }

    // eps * scale * scale for a power of two, also where eps itself is below the range of float.
    __aicore__ inline float ScaledEps(float scale) const
    {
        if (epsBits_ == 0) {
            return 0.0f;
        }
        const int64_t exponent = static_cast<int64_t>(BitsOfFloat(scale) >> 23) - 127;
        const int64_t bits = static_cast<int64_t>(epsBits_) + exponent * 2 * (int64_t(1) << 52);
        return bits > 0 ? FloatOfDoubleBits(static_cast<uint64_t>(bits)) : 0.0f;
    }

    // 1 / sqrt(variance + eps), and 0 where nothing deviates: then every deviation is 0 and so is the result.
    __aicore__ inline float RootOf(float variance, float eps)
    {
        if (variance + eps == 0.0f) {
            return 0.0f;
        }
        Duplicate(math_.parts(), variance, static_cast<int32_t>(kBlockFloats));
        math_.ReciprocalRoots(math_.parts(), math_.parts(), eps, kBlockFloats);
        return math_.parts().GetValue(0);
    }

    // ---- split rows -------------------------------------------------------------------------------------------------

    __aicore__ inline void ProcessSplitRows()
    {
        RowStats stats[kGroupRows];
        for (int64_t first = firstRow_; first < endRow_; first += kGroupRows) {
            const int64_t rows = Min(kGroupRows, endRow_ - first);
            for (int64_t r = 0; r < rows; ++r) {
                SplitStats(first + r, stats[r]);
            }
            for (int64_t column = 0; column < cols_; column += pitch_) {
                const int64_t count = Min(pitch_, cols_ - column);
                LoadWeights(column, count);
                LoadTile(first * cols_ + column, 1, count);
                for (int64_t r = 0; r < rows; ++r) {
                    LocalTensor<T> x = xQueue_.template DeQue<T>();
                    if (r + 1 < rows) {
                        LoadTile((first + r + 1) * cols_ + column, 1, count);
                    }
                    NormalizeSlice(x, stats[r], count);
                    xQueue_.FreeTensor(x);
                    StoreTile((first + r) * cols_ + column, 1, count);
                }
            }
        }
    }

    __aicore__ inline void NormalizeSlice(const LocalTensor<T> &x, const RowStats &row, int64_t count)
    {
        const int32_t n = static_cast<int32_t>(count);
        LocalTensor<T> y = yQueue_.template AllocTensor<T>();
        const LocalTensor<float> a = WidenedSlice(x, row.scale, n);
        const LocalTensor<float> b = ResultTile(y);
        Adds(a, a, -row.pivot, n);
        Adds(a, a, -row.shift, n);
        if constexpr (kSixteenBits) {
            Adds(a, a, -row.residual, n);
        }
        Muls(b, a, row.multiplier, n);
        ApplyWeights(b, 1, count);
        Narrowed(y, b, 1, count);
        yQueue_.EnQue(y);
    }

    __aicore__ inline LocalTensor<float> WidenedSlice(const LocalTensor<T> &x, float scale, int32_t count)
    {
        LocalTensor<float> a;
        if constexpr (sizeof(T) == sizeof(float)) {
            a = x.template ReinterpretCast<float>();
        } else {
            a = floatBuffer_.template Get<float>();
            Cast(a, x, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
        }
        if (scale != 1.0f) {
            Muls(a, a, scale, count);
        }
        return a;
    }

    // Mean and variance of a row over its tiles.
    __aicore__ inline void SplitStats(int64_t row, RowStats &stats)
    {
        float variance = SplitMoments(row, 1.0f, false, stats);
        if (OutOfRange(variance)) {
            const float largest = SplitLargest(row);
            if (IsFinite(largest)) {
                variance = SplitMoments(row, largest == 0.0f ? 1.0f : ScaleFor(largest), false, stats);
            } else {
                variance = FloatOfBits(0x7fc00000u);
            }
        }
        if (stats.shift * stats.shift > kFarPivot * variance) {
            stats.pivot += stats.shift;
            variance = SplitMoments(row, stats.scale, true, stats);
        }
        const float eps = ScaledEps(stats.scale);
        stats.mean = (stats.pivot + stats.shift) * ReciprocalOfPower(stats.scale);
        stats.multiplier = RootOf(variance, eps);
        stats.rstd = variance + eps == 0.0f ? FloatOfBits(0x7f800000u) : stats.multiplier * stats.scale;
        if (hasMean_ || hasRstd_) {
            LocalTensor<float> out = statQueue_.template AllocTensor<float>();
            Duplicate(out, stats.mean, static_cast<int32_t>(kBlockFloats));
            Duplicate(out[numbers_], stats.rstd, static_cast<int32_t>(kBlockFloats));
            statQueue_.EnQue(out);
            StoreStats(row, 1);
        }
    }

    // Fills scale, shift and, unless it is given, pivot; returns the variance of the scaled row.
    __aicore__ inline float SplitMoments(int64_t row, float scale, bool pivotGiven, RowStats &stats)
    {
        float done = 0.0f;
        float mean = 0.0f;
        float residual = 0.0f; // what the rounding of `mean` left
        float squares = 0.0f;
        stats.scale = scale;
        LoadTile(row * cols_, 1, Min(pitch_, cols_));
        for (int64_t column = 0; column < cols_; column += pitch_) {
            const int64_t count = Min(pitch_, cols_ - column);
            const int32_t n = static_cast<int32_t>(count);
            LocalTensor<T> x = xQueue_.template DeQue<T>();
            if (column + pitch_ < cols_) {
                LoadTile(row * cols_ + column + pitch_, 1, Min(pitch_, cols_ - column - pitch_));
            }
            LocalTensor<T> y = yQueue_.template AllocTensor<T>();
            const LocalTensor<float> a = WidenedSlice(x, scale, n);
            const LocalTensor<float> b = ResultTile(y);
            if (column == 0 && !pivotGiven) {
                stats.pivot = a.GetValue(0);
            }
            const float size = static_cast<float>(count);
            Adds(a, a, -stats.pivot, n);
            const float tileMean = math_.SliceSum(scratch_, a, count) / size;
            Adds(b, a, -tileMean, n);
            float tileResidual = 0.0f;
            if constexpr (kSixteenBits) {
                tileResidual = math_.SliceSum(scratch_, b, count) / size;
            }
            Mul(a, b, b, n);
            const float tileSquares = math_.SliceSum(scratch_, a, count);
            const float delta = tileMean - mean;
            const float total = done + size;
            const float part = size / total;
            const float next = mean + delta * part;
            residual += (tileResidual - residual) * part + (delta * part - (next - mean));
            mean = next;
            squares += tileSquares + delta * delta * (done * (size / total));
            done = total;
            yQueue_.FreeTensor(y);
            xQueue_.FreeTensor(x);
        }
        stats.shift = mean;
        stats.residual = residual;
        return squares * invCols_;
    }

    // The largest magnitude of a row, or a number that is not finite if an element is not.
    __aicore__ inline float SplitLargest(int64_t row)
    {
        float largest = 0.0f;
        for (int64_t column = 0; column < cols_; column += pitch_) {
            const int64_t count = Min(pitch_, cols_ - column);
            const int32_t n = static_cast<int32_t>(count);
            LoadTile(row * cols_ + column, 1, count);
            LocalTensor<T> x = xQueue_.template DeQue<T>();
            LocalTensor<T> y = yQueue_.template AllocTensor<T>();
            const LocalTensor<float> a = WidenedSlice(x, 1.0f, n);
            const LocalTensor<float> b = ResultTile(y);
            Sub(b, a, a, n);
            ReduceSum(scratch_, b, scratch_, n);
            const float zero = scratch_.GetValue(0);
            Abs(b, a, n);
            ReduceMax(scratch_, b, math_.sums(), n);
            const float here = scratch_.GetValue(0);
            yQueue_.FreeTensor(y);
            xQueue_.FreeTensor(x);
            if (!(zero == 0.0f)) {
                return FloatOfBits(0x7fc00000u);
            }
            largest = here > largest ? here : largest;
        }
        return largest;
    }

    GlobalTensor<T> xGm_, yGm_;
    GlobalTensor<float> meanGm_, rstdGm_;
    GM_ADDR gamma_ = nullptr;
    GM_ADDR beta_ = nullptr;
    TQue<TPosition::VECIN, 1> xQueue_;
    TQue<TPosition::VECOUT, 1> yQueue_;
    TQue<TPosition::VECOUT, 1> statQueue_; // means, then reciprocal deviations
    TBuf<TPosition::VECCALC> weightBuffer_, numberBuffer_, floatBuffer_;
    RowMath math_;
    LocalTensor<float> gammaLocal_, betaLocal_;
    // One number for each row of the tile.
    LocalTensor<float> pivots_, shifts_, variances_, multipliers_, scratch_;
    int64_t cols_ = 0;
    int64_t firstRow_ = 0;
    int64_t endRow_ = 0;
    int64_t tileRows_ = 0;
    int64_t pitch_ = 0;
    int64_t numbers_ = 0; // rows of a tile in whole blocks
    int64_t gammaType_ = 0;
    int64_t betaType_ = 0;
    bool hasMean_ = false;
    bool hasRstd_ = false;
    uint64_t epsBits_ = 0; // as the caller gave it
    float eps_ = 0.0f;
    float invCols_ = 0.0f;
};

template <typename T>
__aicore__ inline void Run(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean, GM_ADDR rstd, int64_t rows,
                           int64_t cols, int64_t gammaType, int64_t betaType, int64_t rowsPerBlock, int64_t tileRows,
                           int64_t tileCols, uint64_t eps, uint64_t invCols)
{
    TPipe pipe;
    LayerNorm<T> kernel;
    kernel.Init(x, gamma, beta, y, mean, rstd, rows, cols, gammaType, betaType, rowsPerBlock, tileRows, tileCols, eps,
                invCols, &pipe);
    kernel.Process();
}

} // namespace

// Parameters in the order of LayerNormArgs; eps and invCols are the bits of double.

extern "C" __global__ __aicore__ void layernorm_fp32(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean,
                                                     GM_ADDR rstd, int64_t rows, int64_t cols, int64_t gammaType,
                                                     int64_t betaType, int64_t rowsPerBlock, int64_t tileRows,
                                                     int64_t tileCols, uint64_t eps, uint64_t invCols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<float>(x, gamma, beta, y, mean, rstd, rows, cols, gammaType, betaType, rowsPerBlock, tileRows, tileCols, eps,
               invCols);
}

extern "C" __global__ __aicore__ void layernorm_fp16(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean,
                                                     GM_ADDR rstd, int64_t rows, int64_t cols, int64_t gammaType,
                                                     int64_t betaType, int64_t rowsPerBlock, int64_t tileRows,
                                                     int64_t tileCols, uint64_t eps, uint64_t invCols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<half>(x, gamma, beta, y, mean, rstd, rows, cols, gammaType, betaType, rowsPerBlock, tileRows, tileCols, eps, invCols);
}

extern "C" __global__ __aicore__ void layernorm_bf16(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR mean,
                                                     GM_ADDR rstd, int64_t rows, int64_t cols, int64_t gammaType,
                                                     int64_t betaType, int64_t rowsPerBlock, int64_t tileRows,
                                                     int64_t tileCols, uint64_t eps, uint64_t invCols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<bfloat16_t>(x, gamma, beta, y, mean, rstd, rows, cols, gammaType, betaType, rowsPerBlock, tileRows, tileCols, eps,
                    invCols);
}
