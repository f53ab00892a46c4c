// SPDX-License-Identifier: Apache-2.0
//
// y[i, :] = table[index[i], :] in float32, the lookup of an embedding: rows of any length. Blocks take rows of y in turn.
// An index outside the table gives a row of NaN, not a read of foreign memory.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void gather_rows(GM_ADDR table, GM_ADDR index, GM_ADDR y, int64_t tableRows, int64_t rows,
                                                  int64_t cols, int64_t tile)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> from, to;
    GlobalTensor<int32_t> which;
    from.SetGlobalBuffer((__gm__ float *)table, tableRows * cols);
    which.SetGlobalBuffer((__gm__ int32_t *)index, rows);
    to.SetGlobalBuffer((__gm__ float *)y, rows * cols);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> through;
    TQue<TPosition::VECOUT, 1> missing;
    pipe.InitBuffer(through, 2, tile * sizeof(float));
    pipe.InitBuffer(missing, 1, tile * sizeof(float));
    for (int64_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
        const int32_t source = which.GetValue(row);
        const bool there = source >= 0 && source < tableRows;
        for (int64_t at = 0; at < cols; at += tile) {
            const int64_t size = cols - at < tile ? cols - at : tile;
            const DataCopyExtParams copy{1, static_cast<uint32_t>(size * sizeof(float)), 0, 0, 0};
            if (there) {
                LocalTensor<float> a = through.AllocTensor<float>();
                DataCopyPad(a, from[source * cols + at], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
                through.EnQue(a);
                a = through.DeQue<float>();
                DataCopyPad(to[row * cols + at], a, copy);
                through.FreeTensor(a);
            } else {
                LocalTensor<float> a = missing.AllocTensor<float>();
                Duplicate(a, __builtin_nanf(""), static_cast<int32_t>(size));
                missing.EnQue(a);
                a = missing.DeQue<float>();
                DataCopyPad(to[row * cols + at], a, copy);
                missing.FreeTensor(a);
            }
        }
    }
}
