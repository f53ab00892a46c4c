// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on the vector cores of Ascend 910B (dav-2201): any sizes and strides, float32 sums. The cube unit is not
// used, so this is for what has no cube kernel and for the simulator; it is right, and slow.
//
// A step loads tile_m x tile_k of a and tile_k x tile_n of b, as float, and adds a(i, l) times row l of b to row i of the
// step's sums; those are added to the tile's. A tile is whole in k, so its sums depend on the shape alone.
#include "kernel_operator.h"

#include "matmul_tiling.h"

using namespace AscendC;

namespace {

// Part of a matrix in global memory: element (i, j) at i * rowStride + j * colStride.
template <typename T> struct Part {
    __gm__ T *data;
    int64_t rowStride;
    int64_t colStride;
    int32_t rows;
    int32_t cols;
};

template <typename T> class MatMul {
public:
    __aicore__ inline MatMul(TPipe *pipe)
    {
        pipe->InitBuffer(aQueue_, 1, kA * sizeof(T));
        pipe->InitBuffer(bQueue_, 1, kB * sizeof(T));
        pipe->InitBuffer(cQueue_, 1, kC * sizeof(T));
        pipe->InitBuffer(aBuffer_, kA * sizeof(float));
        pipe->InitBuffer(bBuffer_, kB * sizeof(float));
        pipe->InitBuffer(turnedBuffer_, kB * sizeof(float));
        pipe->InitBuffer(stepBuffer_, kC * sizeof(float));
        pipe->InitBuffer(sumBuffer_, kC * sizeof(float));
    }

    // c gets a * b; c has at most kTileM rows and kTileN columns.
    __aicore__ inline void Tile(const Part<T> &a, const Part<T> &b, const Part<T> &c, int64_t k, int32_t stepK)
    {
        LocalTensor<float> sum = sumBuffer_.template Get<float>();
        Duplicate(sum, 0.0f, c.rows * kTileN);
        for (int64_t at = 0; at < k; at += stepK) {
            const int32_t depth = static_cast<int32_t>(k - at < stepK ? k - at : stepK);
            Step({a.data + at * a.colStride, a.rowStride, a.colStride, c.rows, depth},
                 {b.data + at * b.rowStride, b.rowStride, b.colStride, depth, c.cols});
        }
        Store(c);
    }

private:
    static constexpr int32_t kTileM = MATMUL_NPU_TILE_M;
    static constexpr int32_t kTileN = MATMUL_NPU_TILE_N;
    static constexpr int32_t kTileK = MATMUL_NPU_TILE_K;
    static constexpr int32_t kA = kTileM * kTileK;
    static constexpr int32_t kB = kTileK * kTileN;
    static constexpr int32_t kC = kTileM * kTileN;
    static constexpr bool kWide = IsSameType<T, float>::value;

    // Lines of `length` elements, `stride` apart, into rows of `pitch` elements.
    __aicore__ inline void LoadLines(const LocalTensor<T> &to, __gm__ T *from, int64_t stride, int32_t lines, int32_t length,
                                     int32_t pitch)
    {
        const DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pad;
        GlobalTensor<T> line;
        for (int32_t i = 0; i < lines; ++i) {
            line.SetGlobalBuffer(from + i * stride);
            DataCopyPad(to[i * pitch], line, copy, pad);
        }
    }

    // The same of elements that lie apart, by the scalar unit.
    __aicore__ inline void LoadElements(const LocalTensor<T> &to, const Part<T> &part, int32_t pitch)
    {
        GlobalTensor<T> element;
        for (int32_t i = 0; i < part.rows; ++i) {
            for (int32_t j = 0; j < part.cols; ++j) {
                element.SetGlobalBuffer(part.data + i * part.rowStride + j * part.colStride);
                to.SetValue(i * pitch + j, element.GetValue(0));
            }
        }
    }

    // The part into a buffer of the queue, rows of rowPitch elements where `turned` is false, else columns of colPitch.
    template <class Queue>
    __aicore__ inline void Load(Queue &queue, const Part<T> &part, int32_t rowPitch, int32_t colPitch, bool turned)
    {
        LocalTensor<T> raw = queue.template AllocTensor<T>();
        if (turned) {
            LoadLines(raw, part.data, part.colStride, part.cols, part.rows, colPitch);
        } else if (part.colStride == 1 || part.cols == 1) {
            LoadLines(raw, part.data, part.rowStride, part.rows, part.cols, rowPitch);
        } else {
            LoadElements(raw, part, rowPitch);
        }
        queue.EnQue(raw);
    }

    // Only where rows are not contiguous, but columns are.
    __aicore__ inline bool Turned(const Part<T> &part) const
    {
        return part.colStride != 1 && part.cols != 1 && (part.rowStride == 1 || part.rows == 1);
    }

    // What the buffer holds as float. The lines were filled up to whole blocks; what lies behind them is not looked at.
    __aicore__ inline LocalTensor<float> Widen(const LocalTensor<T> &raw, TBuf<TPosition::VECCALC> &buffer, int32_t lines,
                                               int32_t length, int32_t pitch)
    {
        if constexpr (kWide) {
            return raw;
        } else {
            LocalTensor<float> wide = buffer.template Get<float>();
            for (int32_t i = 0; i < lines; ++i) {
                Cast(wide[i * pitch], raw[i * pitch], RoundMode::CAST_NONE, static_cast<uint32_t>(length));
            }
            return wide;
        }
    }

    __aicore__ inline void Step(const Part<T> &a, const Part<T> &b)
    {
        const bool aTurned = Turned(a);
        const bool bTurned = Turned(b);
        Load(aQueue_, a, kTileK, kTileM, aTurned);
        Load(bQueue_, b, kTileN, kTileK, bTurned);
        LocalTensor<T> aRaw = aQueue_.template DeQue<T>();
        LocalTensor<T> bRaw = bQueue_.template DeQue<T>();
        const LocalTensor<float> left =
            aTurned ? Widen(aRaw, aBuffer_, a.cols, a.rows, kTileM) : Widen(aRaw, aBuffer_, a.rows, a.cols, kTileK);
        LocalTensor<float> right =
            bTurned ? Widen(bRaw, bBuffer_, b.cols, b.rows, kTileK) : Widen(bRaw, bBuffer_, b.rows, b.cols, kTileN);
        if (bTurned) {
            LocalTensor<float> straight = turnedBuffer_.template Get<float>();
            for (int32_t l = 0; l < b.rows; ++l) {
                for (int32_t j = 0; j < b.cols; ++j) {
                    straight.SetValue(l * kTileN + j, right.GetValue(j * kTileK + l));
                }
            }
            right = straight;
        }
        const int32_t alongRow = aTurned ? 1 : kTileK;
        const int32_t alongCol = aTurned ? kTileM : 1;
        LocalTensor<float> step = stepBuffer_.template Get<float>();
        LocalTensor<float> sum = sumBuffer_.template Get<float>();
        Duplicate(step, 0.0f, a.rows * kTileN);
        for (int32_t i = 0; i < a.rows; ++i) {
            for (int32_t l = 0; l < a.cols; ++l) {
                Axpy(step[i * kTileN], right[l * kTileN], left.GetValue(i * alongRow + l * alongCol), b.cols);
            }
        }
        Add(sum, sum, step, a.rows * kTileN);
        aQueue_.FreeTensor(aRaw);
        bQueue_.FreeTensor(bRaw);
    }

    __aicore__ inline void Store(const Part<T> &c)
    {
        LocalTensor<float> sum = sumBuffer_.template Get<float>();
        LocalTensor<T> out = cQueue_.template AllocTensor<T>();
        if constexpr (kWide) {
            DataCopy(out, sum, static_cast<uint32_t>(c.rows * kTileN));
        } else {
            Cast(out, sum, RoundMode::CAST_RINT, static_cast<uint32_t>(c.rows * kTileN));
        }
        cQueue_.EnQue(out);
        out = cQueue_.template DeQue<T>();
        GlobalTensor<T> line;
        for (int32_t i = 0; i < c.rows; ++i) {
            line.SetGlobalBuffer(c.data + i * c.rowStride);
            DataCopyPad(line, out[i * kTileN], DataCopyExtParams{1, static_cast<uint32_t>(c.cols * sizeof(T)), 0, 0, 0});
        }
        cQueue_.FreeTensor(out);
    }

    TQue<TPosition::VECIN, 1> aQueue_, bQueue_;
    TQue<TPosition::VECOUT, 1> cQueue_;
    TBuf<TPosition::VECCALC> aBuffer_, bBuffer_, turnedBuffer_, stepBuffer_, sumBuffer_;
};

// Arguments in the order of MatmulArgs.
template <typename T>
__aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR c, int64_t batch, int64_t m, int64_t n, int64_t k, int64_t aRow,
                           int64_t aCol, int64_t aBatch, int64_t bRow, int64_t bCol, int64_t bBatch, int64_t cRow,
                           int64_t cBatch, int64_t tileM, int64_t tileN, int64_t tileK, int64_t tilesPerBlock)
{
    TPipe pipe;
    MatMul<T> product(&pipe);
    const int64_t across = (n + tileN - 1) / tileN;
    const int64_t down = (m + tileM - 1) / tileM;
    const int64_t all = batch * down * across;
    const int64_t first = GetBlockIdx() * tilesPerBlock;
    const int64_t end = first + tilesPerBlock < all ? first + tilesPerBlock : all;
    for (int64_t tile = first; tile < end; ++tile) {
        const int64_t row = tile / across % down * tileM;
        const int64_t col = tile % across * tileN;
        const int64_t matrix = tile / across / down;
        const int32_t rows = static_cast<int32_t>(m - row < tileM ? m - row : tileM);
        const int32_t cols = static_cast<int32_t>(n - col < tileN ? n - col : tileN);
        product.Tile({(__gm__ T *)a + matrix * aBatch + row * aRow, aRow, aCol, rows, 0},
                     {(__gm__ T *)b + matrix * bBatch + col * bCol, bRow, bCol, 0, cols},
                     {(__gm__ T *)c + matrix * cBatch + row * cRow + col, cRow, 1, rows, cols}, k,
                     static_cast<int32_t>(tileK));
    }
}

} // namespace

extern "C" __global__ __aicore__ void matmul_fp32(GM_ADDR a, GM_ADDR b, GM_ADDR c, int64_t batch, int64_t m, int64_t n,
                                                  int64_t k, int64_t aRow, int64_t aCol, int64_t aBatch, int64_t bRow,
                                                  int64_t bCol, int64_t bBatch, int64_t cRow, int64_t cBatch, int64_t tileM,
                                                  int64_t tileN, int64_t tileK, int64_t tilesPerBlock)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<float>(a, b, c, batch, m, n, k, aRow, aCol, aBatch, bRow, bCol, bBatch, cRow, cBatch, tileM, tileN, tileK,
               tilesPerBlock);
}

extern "C" __global__ __aicore__ void matmul_fp16(GM_ADDR a, GM_ADDR b, GM_ADDR c, int64_t batch, int64_t m, int64_t n,
                                                  int64_t k, int64_t aRow, int64_t aCol, int64_t aBatch, int64_t bRow,
                                                  int64_t bCol, int64_t bBatch, int64_t cRow, int64_t cBatch, int64_t tileM,
                                                  int64_t tileN, int64_t tileK, int64_t tilesPerBlock)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<half>(a, b, c, batch, m, n, k, aRow, aCol, aBatch, bRow, bCol, bBatch, cRow, cBatch, tileM, tileN, tileK,
              tilesPerBlock);
}

extern "C" __global__ __aicore__ void matmul_bf16(GM_ADDR a, GM_ADDR b, GM_ADDR c, int64_t batch, int64_t m, int64_t n,
                                                  int64_t k, int64_t aRow, int64_t aCol, int64_t aBatch, int64_t bRow,
                                                  int64_t bCol, int64_t bBatch, int64_t cRow, int64_t cBatch, int64_t tileM,
                                                  int64_t tileN, int64_t tileK, int64_t tilesPerBlock)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<bfloat16_t>(a, b, c, batch, m, n, k, aRow, aCol, aBatch, bRow, bCol, bBatch, cRow, cBatch, tileM, tileN, tileK,
                    tilesPerBlock);
}
