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

extern "C" __global__ __aicore__ void sync_of_more_cores_than_there_are(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t *)x);
    SyncAll(gm, LocalTensor<int32_t>(TPosition::VECCALC, 0, 64), GetBlockNum() + 1); // BREAKS sync_of_more_cores_than_there_are
}

extern "C" __global__ __aicore__ void group_that_never_arrives(GM_ADDR x, GM_ADDR y)
{
    GroupBarrier<PipeMode::MTE3_MODE> group(x, 4, 1);
    if (GetBlockIdx() == 0) {
        group.Wait(0); // BREAKS group_that_never_arrives
    } else {
        group.Arrive(GetBlockIdx());
    }
}

extern "C" __global__ __aicore__ void token_never_passed(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t *)x);
    LocalTensor<int32_t> ub(TPosition::VECCALC, 0, 64);
    WaitPreBlock(gm, ub); // BREAKS token_never_passed
}

extern "C" __global__ __aicore__ void workspace_for_fewer_cores(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t *)x);
    SyncAll(gm, LocalTensor<int32_t>(TPosition::VECCALC, 0, 24)); // BREAKS workspace_for_fewer_cores
}

extern "C" __global__ __aicore__ void pair_without_workspace(GM_ADDR x, GM_ADDR y)
{
    GlobalTensor<int32_t> gm;
    gm.SetGlobalBuffer((__gm__ int32_t *)x);
    IBSet(gm, LocalTensor<int32_t>(TPosition::VECCALC, 0, 8)[4], 0, 0); // BREAKS pair_without_workspace
}

extern "C" __global__ __mix__(1, 1) void flags_between_cores_pile_up(GM_ADDR x, GM_ADDR y)
{
    if ASCEND_IS_AIV {
        for (int i = 0; i < 16; ++i) {
            CrossCoreSetFlag<2, PIPE_MTE3>(4); // BREAKS flags_between_cores_pile_up
        }
    }
}

extern "C" __global__ __aicore__ void meets_more_cores_than_a_chip_has(GM_ADDR x, GM_ADDR y)
{
    SyncAll(); // BREAKS meets_more_cores_than_a_chip_has
}

extern "C" __global__ __aicore__ void fails_while_others_wait(GM_ADDR x, GM_ADDR y)
{
    if (GetBlockIdx() == 1) {
        Trap(); // BREAKS fails_while_others_wait
    }
    SyncAll();
}

// ---- the same bytes of global memory, from two cores with nothing between them -------------------------------------

namespace {

struct Numbers {
    LocalTensor<float> local;
    GlobalTensor<float> x, y;
    __aicore__ inline Numbers(GM_ADDR first, GM_ADDR second) : local(TPosition::VECCALC, 0, 64)
    {
        x.SetGlobalBuffer((__gm__ float *)first, 64);
        y.SetGlobalBuffer((__gm__ float *)second, 64);
        Duplicate(local, static_cast<float>(GetBlockIdx() + 1), 64);
        PipeBarrier<PIPE_ALL>();
    }
};

const DataCopyExtParams kOne{1, 4, 0, 0, 0};

} // namespace

extern "C" __global__ __aicore__ void cores_store_to_the_same_bytes(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    DataCopy(n.y[GetBlockIdx() * 7], n.local, 8); // BREAKS cores_store_to_the_same_bytes
}

extern "C" __global__ __aicore__ void core_loads_what_another_stores(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    DataCopyPad(n.y[GetBlockIdx()], n.local, kOne);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(n.local, n.y[(GetBlockIdx() + 1) % GetBlockNum()], kOne, DataCopyPadExtParams<float>{}); // BREAKS core_loads_what_another_stores
}

extern "C" __global__ __aicore__ void core_stores_beside_addition(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    if (GetBlockIdx() != 0) {
        SetAtomicAdd<float>();
    }
    DataCopy(n.y, n.local, 8); // BREAKS core_stores_beside_addition
}

extern "C" __global__ __aicore__ void core_signals_too_early(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t *)x);
    LocalTensor<int32_t> ub(TPosition::VECCALC, 1024, 64);
    if (GetBlockIdx() == 0) {
        IBSet(flags, ub, 0, 0);
        DataCopyPad(n.y, n.local, kOne); // BREAKS core_signals_too_early
    } else if (GetBlockIdx() == 1) {
        IBWait(flags, ub, 0, 0);
        DataCopyPad(n.local, n.y, kOne, DataCopyPadExtParams<float>{}); // BREAKS core_signals_too_early
    }
}

extern "C" __global__ __aicore__ void core_uses_a_cell_after_the_round(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    DataCopyPad(n.y[GetBlockIdx()], n.local, kOne);
    SyncAll();
    DataCopyPad(n.local, n.y[(GetBlockIdx() + 1) % GetBlockNum()], kOne, DataCopyPadExtParams<float>{}); // BREAKS core_uses_a_cell_after_the_round
    PipeBarrier<PIPE_ALL>();
    Adds(n.local, n.local, 0.5f, 1);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(n.y[GetBlockIdx()], n.local, kOne); // BREAKS core_uses_a_cell_after_the_round
}

extern "C" __global__ __aicore__ void core_raises_the_flag_of_another_pipe(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    DataCopyPad(n.y[GetBlockIdx()], n.local, kOne); // BREAKS core_raises_the_flag_of_another_pipe
    CrossCoreSetFlag<0, PIPE_V>(3);
    CrossCoreWaitFlag(3);
    LocalTensor<float> other(TPosition::VECCALC, 256, 64);
    DataCopyPad(other, n.y[(GetBlockIdx() + 1) % GetBlockNum()], kOne, DataCopyPadExtParams<float>{}); // BREAKS core_raises_the_flag_of_another_pipe
}

// ---- and legal ------------------------------------------------------------------------------------------------------

// Neighbours to the byte, additions to one place, loads of what all load, and rounds between barriers.
extern "C" __global__ __aicore__ void legal_shared_memory(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    const int64_t self = GetBlockIdx();
    for (int round = 0; round < 3; ++round) {
        DataCopyPad(n.y[self], n.local, kOne);
        SyncAll();
        LocalTensor<float> all(TPosition::VECCALC, 256, 64);
        DataCopyPad(all, n.y, DataCopyExtParams{1, 4 * static_cast<uint32_t>(GetBlockNum()), 0, 0, 0},
                    DataCopyPadExtParams<float>{});
        SyncAll();
    }
    SetAtomicAdd<float>();
    DataCopy(n.x, n.local, 64);
    SetAtomicNone();
    SyncAll();
    if (self == 0) {
        DataCopy(n.y, n.local, 64);
    }
    SyncAll();
    // A flag of V, which follows the store.
    DataCopyPad(n.y[self], n.local, kOne);
    SetFlag<HardEvent::MTE3_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
    CrossCoreSetFlag<0, PIPE_V>(4);
    CrossCoreWaitFlag(4);
    LocalTensor<float> others(TPosition::VECCALC, 512, 64);
    DataCopyPad(others, n.y, DataCopyExtParams{1, 4 * static_cast<uint32_t>(GetBlockNum()), 0, 0, 0},
                DataCopyPadExtParams<float>{});
    SyncAll();
    // The same bytes from all.
    Duplicate(n.local, 3.0f, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(n.y[8], n.local, 40);
    DataCopyPad(n.y[17], n.local, kOne);
}

// One core tells the next by a flag, by a pair, by a scalar store that the other polls.
extern "C" __global__ __aicore__ void legal_signals(GM_ADDR x, GM_ADDR y)
{
    Numbers n(x, y);
    GlobalTensor<int32_t> flags;
    flags.SetGlobalBuffer((__gm__ int32_t *)x);
    LocalTensor<int32_t> ub(TPosition::VECCALC, 1024, 64);
    const int64_t self = GetBlockIdx();
    if (self == 0) {
        DataCopyPad(n.y[1], n.local, kOne);
        IBSet(flags[32], ub, 0, 0);
    } else if (self == 1) {
        IBWait(flags[32], ub, 0, 0);
        DataCopyPad(n.local, n.y[1], kOne, DataCopyPadExtParams<float>{});
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(n.y[1], n.local, kOne);
        PipeBarrier<PIPE_ALL>();
        WriteGmByPassDCache(flags.GetPhyAddr(0), 1);
    } else if (self == 2) {
        while (ReadGmByPassDCache(flags.GetPhyAddr(0)) == 0) {
        }
        DataCopyPad(n.local, n.y[1], kOne, DataCopyPadExtParams<float>{});
        PipeBarrier<PIPE_ALL>();
        n.y.SetValue(1, 5.0f);
        flags.SetValue(16, 1);
    } else {
        while (flags.GetValue(16) == 0) {
        }
        DataCopyPad(n.local, n.y[1], kOne, DataCopyPadExtParams<float>{});
    }
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
