// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose blocks wait for each other: right ones, and ones that would wait for ever.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void sync_all_missed(GM_ADDR x, GM_ADDR y)
{
    if (GetBlockIdx() != 2) {
        SyncAll(); // BREAKS sync_all_missed
    }
}

extern "C" __global__ __aicore__ void signal_never_sent(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t *)x);
    LocalTensor<int32_t> ub(TPosition::VECCALC, 0, 64);
    if (GetBlockIdx() == 0) {
        IBWait(gm, ub, 1, 0); // BREAKS signal_never_sent
    }
}

extern "C" __global__ __aicore__ void fails_while_others_wait(GM_ADDR x, GM_ADDR y)
{
    if (GetBlockIdx() == 1) {
        Trap(); // BREAKS fails_while_others_wait
    }
    SyncAll();
}

// Every block adds its number, all wait, every block reads the sum.
extern "C" __global__ __aicore__ void sum_of_all(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 64);
    GlobalTensor<float> sum, result;
    sum.SetGlobalBuffer((__gm__ float *)x);
    result.SetGlobalBuffer((__gm__ float *)y + GetBlockIdx());
    LocalTensor<float> a = buffer.Get<float>();
    Duplicate(a, static_cast<float>(GetBlockIdx() + 1), 8);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<float>();
    DataCopyPad(sum, a, DataCopyExtParams{1, 4, 0, 0, 0});
    SetAtomicNone();
    SyncAll();
    DataCopyPad(a, sum, DataCopyExtParams{1, 4, 0, 0, 0}, DataCopyPadExtParams<float>{});
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(result, a, DataCopyExtParams{1, 4, 0, 0, 0});
}

// Blocks pass a token: the additions happen in block order.
extern "C" __global__ __aicore__ void in_block_order(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t *)x);
    GlobalTensor<int32_t> log;
    log.SetGlobalBuffer((__gm__ int32_t *)y);
    LocalTensor<int32_t> ub(TPosition::VECCALC, 0, 64);
    InitDetermineComputeWorkspace(gm, ub);
    for (int32_t round = 0; round < 3; ++round) {
        WaitPreBlock(gm, ub);
        const int32_t place = log.GetValue(0);
        log.SetValue(0, place + 1);
        log.SetValue(place + 1, static_cast<int32_t>(GetBlockIdx()));
        NotifyNextBlock(gm, ub);
    }
}

// One cube core and two vector cores a block, handing numbers to each other.
extern "C" __global__ __mix__(1, 2) void cube_and_vectors(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t *)y);
    if ASCEND_IS_AIC {
        gm.SetValue(16 + GetBlockIdx(), static_cast<int32_t>(100 + GetBlockIdx()));
        CrossCoreSetFlag<2, PIPE_FIX>(3);
        CrossCoreWaitFlag(4);
        gm.SetValue(24 + GetBlockIdx(), gm.GetValue(GetBlockIdx() * 2) + gm.GetValue(GetBlockIdx() * 2 + 1));
    }
    if ASCEND_IS_AIV {
        CrossCoreWaitFlag(3);
        gm.SetValue(GetBlockIdx(), gm.GetValue(16 + GetBlockIdx() / GetTaskRatio()) + static_cast<int32_t>(GetSubBlockIdx()));
        CrossCoreSetFlag<2, PIPE_MTE3>(4);
    }
}
