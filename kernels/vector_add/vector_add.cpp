// SPDX-License-Identifier: Apache-2.0
//
// y = a + b for the vector cores of Ascend 910B (dav-2201), over any number of elements. float32 and float16 add as they
// are (float16 rounds once), int32 wraps, bfloat16 adds in float and rounds once: this chip has no bfloat16 arithmetic.
#include "kernel_operator.h"

#include "vector_add_tiling.h"

using namespace AscendC;

namespace {

template <typename T> class VectorAdd {
public:
    __aicore__ inline VectorAdd() {}

    __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR y, int64_t n, int64_t perBlock, int64_t tile, TPipe *pipe)
    {
        const int64_t first = GetBlockIdx() * perBlock;
        count_ = n - first < perBlock ? n - first : perBlock;
        tile_ = tile;
        aGm_.SetGlobalBuffer((__gm__ T *)a + first);
        bGm_.SetGlobalBuffer((__gm__ T *)b + first);
        yGm_.SetGlobalBuffer((__gm__ T *)y + first);
        const uint32_t bytes = static_cast<uint32_t>(tile * sizeof(T));
        pipe->InitBuffer(aQueue_, 2, bytes);
        pipe->InitBuffer(bQueue_, 2, bytes);
        pipe->InitBuffer(yQueue_, 2, bytes);
        if constexpr (kThroughFloat) {
            pipe->InitBuffer(floatBuffer_, static_cast<uint32_t>(2 * tile * sizeof(float)));
        }
    }

    __aicore__ inline void Process()
    {
        if (count_ <= 0) {
            return;
        }
        Load(0);
        for (int64_t at = 0; at < count_; at += tile_) {
            LocalTensor<T> a = aQueue_.template DeQue<T>();
            LocalTensor<T> b = bQueue_.template DeQue<T>();
            if (at + tile_ < count_) {
                Load(at + tile_);
            }
            LocalTensor<T> y = yQueue_.template AllocTensor<T>();
            Compute(y, a, b, static_cast<int32_t>(Size(at)));
            yQueue_.EnQue(y);
            aQueue_.FreeTensor(a);
            bQueue_.FreeTensor(b);
            Store(at);
        }
    }

private:
    static constexpr bool kThroughFloat = IsSameType<T, bfloat16_t>::value;

    __aicore__ inline int64_t Size(int64_t at) const { return count_ - at < tile_ ? count_ - at : tile_; }

    __aicore__ inline void Load(int64_t at)
    {
        LocalTensor<T> a = aQueue_.template AllocTensor<T>();
        LocalTensor<T> b = bQueue_.template AllocTensor<T>();
        const DataCopyExtParams copy{1, static_cast<uint32_t>(Size(at) * sizeof(T)), 0, 0, 0};
        DataCopyPadExtParams<T> pad;
        DataCopyPad(a, aGm_[at], copy, pad);
        DataCopyPad(b, bGm_[at], copy, pad);
        aQueue_.EnQue(a);
        bQueue_.EnQue(b);
    }

    __aicore__ inline void Compute(const LocalTensor<T> &y, const LocalTensor<T> &a, const LocalTensor<T> &b, int32_t n)
    {
        if constexpr (kThroughFloat) {
            LocalTensor<float> wideA = floatBuffer_.template Get<float>();
            LocalTensor<float> wideB = wideA[tile_];
            Cast(wideA, a, RoundMode::CAST_NONE, static_cast<uint32_t>(n));
            Cast(wideB, b, RoundMode::CAST_NONE, static_cast<uint32_t>(n));
            Add(wideA, wideA, wideB, n);
            Cast(y, wideA, RoundMode::CAST_RINT, static_cast<uint32_t>(n));
        } else {
            Add(y, a, b, n);
        }
    }

    __aicore__ inline void Store(int64_t at)
    {
        LocalTensor<T> y = yQueue_.template DeQue<T>();
        DataCopyPad(yGm_[at], y, DataCopyExtParams{1, static_cast<uint32_t>(Size(at) * sizeof(T)), 0, 0, 0});
        yQueue_.FreeTensor(y);
    }

    GlobalTensor<T> aGm_, bGm_, yGm_;
    TQue<TPosition::VECIN, 1> aQueue_, bQueue_;
    TQue<TPosition::VECOUT, 1> yQueue_;
    TBuf<TPosition::VECCALC> floatBuffer_;
    int64_t count_ = 0; // elements of this block
    int64_t tile_ = 0;
};

template <typename T>
__aicore__ inline void Run(GM_ADDR a, GM_ADDR b, GM_ADDR y, int64_t n, int64_t perBlock, int64_t tile)
{
    TPipe pipe;
    VectorAdd<T> kernel;
    kernel.Init(a, b, y, n, perBlock, tile, &pipe);
    kernel.Process();
}

} // namespace

// Parameters in the order of VectorAddArgs.

extern "C" __global__ __aicore__ void vector_add_fp32(GM_ADDR a, GM_ADDR b, GM_ADDR y, int64_t n, int64_t elementsPerBlock,
                                                      int64_t tileElements)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<float>(a, b, y, n, elementsPerBlock, tileElements);
}

extern "C" __global__ __aicore__ void vector_add_fp16(GM_ADDR a, GM_ADDR b, GM_ADDR y, int64_t n, int64_t elementsPerBlock,
                                                      int64_t tileElements)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<half>(a, b, y, n, elementsPerBlock, tileElements);
}

extern "C" __global__ __aicore__ void vector_add_bf16(GM_ADDR a, GM_ADDR b, GM_ADDR y, int64_t n, int64_t elementsPerBlock,
                                                      int64_t tileElements)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<bfloat16_t>(a, b, y, n, elementsPerBlock, tileElements);
}

extern "C" __global__ __aicore__ void vector_add_int32(GM_ADDR a, GM_ADDR b, GM_ADDR y, int64_t n,
                                                       int64_t elementsPerBlock, int64_t tileElements)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    Run<int32_t>(a, b, y, n, elementsPerBlock, tileElements);
}
