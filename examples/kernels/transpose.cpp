// SPDX-License-Identifier: Apache-2.0
//
// y = transpose of x, (rows, cols) of 16-bit elements: tiles of 16 x 16, which the vector unit transposes with one
// instruction. Blocks take tiles in turn; tiles at the edges are padded on chip and copied out as far as they go.
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t TILE = 16;

extern "C" __global__ __aicore__ void transpose(GM_ADDR x, GM_ADDR y, int64_t rows, int64_t cols)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half *)x, rows * cols);
    to.SetGlobalBuffer((__gm__ half *)y, rows * cols);
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    pipe.InitBuffer(in, 2, TILE * TILE * sizeof(half));
    pipe.InitBuffer(out, 2, TILE * TILE * sizeof(half));
    const int64_t across = (cols + TILE - 1) / TILE;
    const int64_t tiles = (rows + TILE - 1) / TILE * across;
    for (int64_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
        const int64_t row = tile / across * TILE;
        const int64_t col = tile % across * TILE;
        const uint16_t height = static_cast<uint16_t>(rows - row < TILE ? rows - row : TILE);
        const uint16_t width = static_cast<uint16_t>(cols - col < TILE ? cols - col : TILE);
        LocalTensor<half> a = in.AllocTensor<half>();
        Duplicate(a, static_cast<half>(0.0f), TILE * TILE); // what the tile lacks
        const event_t zeroed = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_MTE2));
        SetFlag<HardEvent::V_MTE2>(zeroed);
        WaitFlag<HardEvent::V_MTE2>(zeroed);
        for (uint16_t i = 0; i < height; ++i)
            DataCopyPad(a[i * TILE], from[(row + i) * cols + col],
                        DataCopyExtParams{1, static_cast<uint32_t>(width * sizeof(half)), 0, 0, 0},
                        DataCopyPadExtParams<half>{false, 0, 0, 0});
        in.EnQue(a);

        a = in.DeQue<half>();
        LocalTensor<half> b = out.AllocTensor<half>();
        Transpose(b, a);
        out.EnQue(b);
        in.FreeTensor(a);

        b = out.DeQue<half>();
        for (uint16_t i = 0; i < width; ++i)
            DataCopyPad(to[(col + i) * rows + row], b[i * TILE],
                        DataCopyExtParams{1, static_cast<uint32_t>(height * sizeof(half)), 0, 0, 0});
        out.FreeTensor(b);
    }
}
