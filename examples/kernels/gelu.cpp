// SPDX-License-Identifier: Apache-2.0
//
// y = x / (1 + exp(-1.702 x)), the sigmoid form of GELU: elementwise in float32, any number of elements. Block b takes
// `perBlock` elements from b * perBlock on, in tiles of `tile`; the last tile is whatever is left.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void gelu(GM_ADDR x, GM_ADDR y, int64_t n, int64_t perBlock, int64_t tile)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    const int64_t first = GetBlockIdx() * perBlock;
    const int64_t count = n - first < perBlock ? n - first : perBlock;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x + first);
    to.SetGlobalBuffer((__gm__ float *)y + first);
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in; // two buffers: the next tile is copied in while this one is computed
    TQue<TPosition::VECOUT, 2> out;
    pipe.InitBuffer(in, 2, tile * sizeof(float));
    pipe.InitBuffer(out, 2, tile * sizeof(float));
    for (int64_t at = 0; at < count; at += tile) {
        const int32_t size = static_cast<int32_t>(count - at < tile ? count - at : tile);
        const DataCopyExtParams copy{1, static_cast<uint32_t>(size * sizeof(float)), 0, 0, 0};
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopyPad(a, from[at], copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
        in.EnQue(a);

        a = in.DeQue<float>();
        LocalTensor<float> b = out.AllocTensor<float>();
        Muls(b, a, -1.702f, size);
        Exp(b, b, size);
        Adds(b, b, 1.0f, size);
        Div(b, a, b, size);
        out.EnQue(b);
        in.FreeTensor(a);

        b = out.DeQue<float>();
        DataCopyPad(to[at], b, copy);
        out.FreeTensor(b);
    }
}
