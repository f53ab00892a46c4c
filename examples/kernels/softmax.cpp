// SPDX-License-Identifier: Apache-2.0
//
// Softmax of rows in float32: y = exp(x - max) / sum(exp(x - max)). A row lies in the on-chip buffer as a whole, so
// `cols` is limited (softmax.py says to what); blocks take rows in turn.
#include "kernel_operator.h"

using namespace AscendC;

// Results of the vector unit go through a register: each side waits for the other.
template <HardEvent event> __aicore__ inline void Wait()
{
    const event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(event));
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

extern "C" __global__ __aicore__ void softmax(GM_ADDR x, GM_ADDR y, int64_t rows, int64_t cols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const int32_t size = static_cast<int32_t>(cols);
    const uint32_t bytes = static_cast<uint32_t>((cols + 7) / 8 * 32);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ float *)y, rows * cols);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> work, result;
    pipe.InitBuffer(in, 1, bytes);
    pipe.InitBuffer(out, 1, bytes);
    pipe.InitBuffer(work, bytes);
    pipe.InitBuffer(result, 32);
    const DataCopyExtParams copy{1, static_cast<uint32_t>(cols * sizeof(float)), 0, 0, 0};
    LocalTensor<float> one = result.Get<float>();
    for (int64_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopyPad(a, from[row * cols], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        in.EnQue(a);

        a = in.DeQue<float>();
        LocalTensor<float> b = out.AllocTensor<float>();
        ReduceMax(one, a, work.Get<float>(), size, false);
        Wait<HardEvent::V_S>();
        const float largest = one.GetValue(0);
        Wait<HardEvent::S_V>();
        Adds(b, a, -largest, size);
        Exp(b, b, size);
        ReduceSum(one, b, work.Get<float>(), size);
        Wait<HardEvent::V_S>();
        const float sum = one.GetValue(0);
        Wait<HardEvent::S_V>();
        Muls(b, b, 1.0f / sum, size);
        out.EnQue(b);
        in.FreeTensor(a);

        b = out.DeQue<float>();
        DataCopyPad(to[row * cols], b, copy);
        out.FreeTensor(b);
    }
}
