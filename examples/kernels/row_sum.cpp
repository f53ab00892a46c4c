// SPDX-License-Identifier: Apache-2.0
//
// y[r] = sum of x[r, :] in float32: a reduction. Blocks take rows in turn; a row of any length goes through the on-chip
// buffer in tiles, whose sums are added up in a register.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void row_sum(GM_ADDR x, GM_ADDR y, int64_t rows, int64_t cols, int64_t tile)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ float *)y, rows);
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> work;
    pipe.InitBuffer(in, 2, tile * sizeof(float));
    pipe.InitBuffer(out, 1, 32);
    pipe.InitBuffer(work, tile * sizeof(float));
    for (int64_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
        float sum = 0;
        LocalTensor<float> total = out.AllocTensor<float>();
        for (int64_t at = 0; at < cols; at += tile) {
            const int32_t size = static_cast<int32_t>(cols - at < tile ? cols - at : tile);
            LocalTensor<float> a = in.AllocTensor<float>();
            DataCopyPad(a, from[row * cols + at], DataCopyExtParams{1, static_cast<uint32_t>(size * sizeof(float)), 0, 0, 0},
                        DataCopyPadExtParams<float>{false, 0, 0, 0});
            in.EnQue(a);
            a = in.DeQue<float>();
            ReduceSum(total, a, work.Get<float>(), size);
            // The scalar unit waits for the vector unit before it reads the result, and the vector unit for the reading.
            const event_t done = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
            SetFlag<HardEvent::V_S>(done);
            WaitFlag<HardEvent::V_S>(done);
            sum += total.GetValue(0);
            const event_t read = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::S_V));
            SetFlag<HardEvent::S_V>(read);
            WaitFlag<HardEvent::S_V>(read);
            in.FreeTensor(a);
        }
        Duplicate(total, sum, 8);
        out.EnQue(total);
        total = out.DeQue<float>();
        DataCopyPad(to[row], total, DataCopyExtParams{1, sizeof(float), 0, 0, 0});
        out.FreeTensor(total);
    }
}
