// SPDX-License-Identifier: Apache-2.0
//
// Kernels that break one rule each, and a few that only look as if they did. The line that breaks it carries a mark,
// which tests/test_sim_checks.py compares with the line in the message.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kCount = 64; // floats of x and y

__aicore__ inline GlobalTensor<float> Global(GM_ADDR address)
{
    GlobalTensor<float> tensor;
    tensor.SetGlobalBuffer((__gm__ float *)address, kCount);
    return tensor;
}
__aicore__ inline LocalTensor<float> At(uint32_t address, uint32_t count = kCount)
{
    return LocalTensor<float>(TPosition::VECCALC, address, count);
}

} // namespace

// ---- memory ---------------------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void buffers_above_ub(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 64 * 1024);
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 64 * 1024 + 32); // BREAKS buffers_above_ub
}

extern "C" __global__ __aicore__ void allocator_above_ub(GM_ADDR x, GM_ADDR y)
{
    LocalMemAllocator<Hardware::UB> allocator;
    LocalTensor<float> a = allocator.Alloc<float>(40000);
    LocalTensor<float> b = allocator.Alloc<float>(10000); // BREAKS allocator_above_ub
}

extern "C" __global__ __aicore__ void tensor_above_ub(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a(TPosition::VECCALC, 192 * 1024 - 32, 16); // BREAKS tensor_above_ub
}

extern "C" __global__ __aicore__ void tensor_not_aligned(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a(TPosition::VECCALC, 100, 16); // BREAKS tensor_not_aligned
}

extern "C" __global__ __aicore__ void operand_not_aligned(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    Adds(a[1], a[1], 1.0f, 8); // BREAKS operand_not_aligned
}

extern "C" __global__ __aicore__ void copy_not_aligned(GM_ADDR x, GM_ADDR y)
{
    DataCopy(At(0)[4], Global(x), 8); // BREAKS copy_not_aligned
}

extern "C" __global__ __aicore__ void count_beyond_tensor(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 65); // BREAKS count_beyond_tensor
}

extern "C" __global__ __aicore__ void stride_beyond_tensor(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0, 128);
    Duplicate(a, 1.0f, 128);
    Adds(a, a, 1.0f, static_cast<uint64_t>(64), 2, UnaryRepeatParams{1, 1, 8, 9}); // BREAKS stride_beyond_tensor
}

extern "C" __global__ __aicore__ void spreads_too_few(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> nine = At(0, 9);
    Duplicate(At(0), 1.0f, 64);
    Brcb(At(256, 128), nine, 2, BrcbRepeatParams{1, 8}); // BREAKS spreads_too_few
}

extern "C" __global__ __aicore__ void view_beyond_tensor(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    LocalTensor<float> b = a[65];
    Duplicate(b, 1.0f, 8);
}

extern "C" __global__ __aicore__ void index_beyond_tensor(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    a.SetValue(64, 1.0f); // BREAKS index_beyond_tensor
}

extern "C" __global__ __aicore__ void reads_what_nobody_wrote(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 60);
    Adds(At(256), a, 1.0f, 64); // BREAKS reads_what_nobody_wrote
}

extern "C" __global__ __aicore__ void stores_what_nobody_wrote(GM_ADDR x, GM_ADDR y)
{
    DataCopy(Global(y), At(0), 8); // BREAKS stores_what_nobody_wrote
}

extern "C" __global__ __aicore__ void scalar_reads_what_nobody_wrote(GM_ADDR x, GM_ADDR y)
{
    const float value = At(0).GetValue(3); // BREAKS scalar_reads_what_nobody_wrote
    At(32).SetValue(0, value);
}

extern "C" __global__ __aicore__ void global_read_past_end(GM_ADDR x, GM_ADDR y)
{
    DataCopy(At(0, 128), Global(x), 72); // BREAKS global_read_past_end
}

extern "C" __global__ __aicore__ void global_write_past_end(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(Global(y)[60], a, DataCopyExtParams{1, 20, 0, 0, 0}); // BREAKS global_write_past_end
}

extern "C" __global__ __aicore__ void global_before_start(GM_ADDR x, GM_ADDR y)
{
    DataCopy(At(0), Global(x - 64), 8); // BREAKS global_before_start
}

extern "C" __global__ __aicore__ void global_null(GM_ADDR x, GM_ADDR y)
{
    DataCopy(At(0), Global(nullptr), 8); // BREAKS global_null
}

extern "C" __global__ __aicore__ void global_scalar_past_end(GM_ADDR x, GM_ADDR y)
{
    Global(y).SetValue(64, 1.0f); // BREAKS global_scalar_past_end
}

// ---- arguments ------------------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void repeat_above_255(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0, 32768);
    Duplicate(a, 1.0f, static_cast<uint64_t>(64), 256, 1, 8); // BREAKS repeat_above_255
}

extern "C" __global__ __aicore__ void mask_above_lanes(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0, 128);
    Duplicate(a, 1.0f, static_cast<uint64_t>(65), 1, 1, 8); // BREAKS mask_above_lanes
}

extern "C" __global__ __aicore__ void copy_stride_above_4095(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0, 32768);
    Duplicate(a, 1.0f, 64);
    Copy(a, a, static_cast<uint64_t>(64), 1, CopyRepeatParams{1, 1, 4096, 8}); // BREAKS copy_stride_above_4095
}

extern "C" __global__ __aicore__ void block_count_above_4095(GM_ADDR x, GM_ADDR y)
{
    DataCopy(At(0), Global(x), DataCopyParams{4096, 1, 0, 0}); // BREAKS block_count_above_4095
}

extern "C" __global__ __aicore__ void pad_length_no_element(GM_ADDR x, GM_ADDR y)
{
    DataCopyPadExtParams<float> pad;
    DataCopyPad(At(0), Global(x), DataCopyExtParams{1, 6, 0, 0, 0}, pad); // BREAKS pad_length_no_element
}

extern "C" __global__ __aicore__ void padding_above_block(GM_ADDR x, GM_ADDR y)
{
    DataCopyPadExtParams<float> pad{true, 0, 9, 0.0f};
    DataCopyPad(At(0), Global(x), DataCopyExtParams{1, 8, 0, 0, 0}, pad); // BREAKS padding_above_block
}

extern "C" __global__ __aicore__ void round_mode_not_there(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    Cast(At(256).ReinterpretCast<int32_t>(), a, RoundMode::CAST_NONE, 64); // BREAKS round_mode_not_there
}

extern "C" __global__ __aicore__ void compare_count_no_repeat(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    Compare(At(256).ReinterpretCast<uint8_t>(), a, a, CMPMODE::LT, 63); // BREAKS compare_count_no_repeat
}

extern "C" __global__ __aicore__ void compare_int32_less(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<int32_t> a = At(0).ReinterpretCast<int32_t>();
    Duplicate(a, 1, 64);
    Compare(At(256).ReinterpretCast<uint8_t>(), a, a, CMPMODE::LT, 64); // BREAKS compare_int32_less
}

extern "C" __global__ __aicore__ void pattern_not_there(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    uint64_t kept = 0;
    GatherMask(At(256), a, 8, false, 0, GatherMaskParams{1, 1, 8, 8}, kept); // BREAKS pattern_not_there
}

extern "C" __global__ __aicore__ void gather_beyond_source(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    LocalTensor<uint32_t> offsets = At(256).ReinterpretCast<uint32_t>();
    Duplicate(offsets, 256u, 8);
    Gather(At(512), a, offsets, 0, 8u); // BREAKS gather_beyond_source
}

extern "C" __global__ __aicore__ void merge_list_empty(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    const uint16_t lengths[4] = {16, 0, 0, 0};
    MrgSort(At(256), MrgSortSrcList<float>(a, a, a, a), MrgSort4Info(lengths, false, 3, 1)); // BREAKS merge_list_empty
}

extern "C" __global__ __aicore__ void reduce_tmp_too_small(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    LocalTensor<float> a = At(0, 1024);
    Duplicate(a, 1.0f, 1024);
    ReduceMax(At(8192), a, At(8448, 24), 1024, true); // BREAKS reduce_tmp_too_small
}

extern "C" __global__ __aicore__ void reduce_without_pipe(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    ReduceSum(a, a, a, 64); // BREAKS reduce_without_pipe
}

extern "C" __global__ __aicore__ void pair_destination_not_aligned(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    WholeReduceMax(At(256)[1], a, 64, 1, 1, 1, 8); // BREAKS pair_destination_not_aligned
}

extern "C" __global__ __aicore__ void scratch_overlaps_buffers(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 190 * 1024);
    LocalTensor<float> a = buffer.Get<float>();
    Duplicate(a, 1.0f, 64);
    LocalTensor<uint8_t> mask = a[64].ReinterpretCast<uint8_t>();
    Compare(mask, a, a, CMPMODE::EQ, 64);
    Select(a[128], mask, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64); // BREAKS scratch_overlaps_buffers
}

extern "C" __global__ __aicore__ void slices_do_not_match(GM_ADDR x, GM_ADDR y)
{
    const SliceInfo to[1] = {SliceInfo{0, 15, 0, 1, 16}};
    const SliceInfo from[1] = {SliceInfo{0, 7, 0, 1, 64}};
    DataCopy(At(0), Global(x), to, from, 1); // BREAKS slices_do_not_match
}

extern "C" __global__ __aicore__ void buffer_get_no_block(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> a = buffer.Get<float>(7); // BREAKS buffer_get_no_block
}

extern "C" __global__ __aicore__ void overlap_in_a_repeat(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0, 128);
    Duplicate(a, 1.0f, 128);
    Add(a[8], a, a, 64); // BREAKS overlap_in_a_repeat
}

extern "C" __global__ __aicore__ void overlap_of_later_repeats(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0, 256);
    Duplicate(a, 1.0f, 256);
    Adds(a[64], a, 1.0f, 192); // BREAKS overlap_of_later_repeats
}

// ---- queues ---------------------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void queue_not_initialised(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    LocalTensor<float> a = queue.AllocTensor<float>(); // BREAKS queue_not_initialised
}

extern "C" __global__ __aicore__ void queue_exhausted(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 256);
    for (int i = 0; i < 3; ++i) {
        LocalTensor<float> a = queue.AllocTensor<float>(); // BREAKS queue_exhausted
    }
}

extern "C" __global__ __aicore__ void queue_empty(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 256);
    LocalTensor<float> a = queue.DeQue<float>(); // BREAKS queue_empty
}

extern "C" __global__ __aicore__ void queue_too_deep(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 256);
    for (int i = 0; i < 2; ++i) {
        LocalTensor<float> a = queue.AllocTensor<float>();
        DataCopy(a, Global(x), 64);
        queue.EnQue(a); // BREAKS queue_too_deep
    }
}

extern "C" __global__ __aicore__ void tensor_freed_twice(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 256);
    LocalTensor<float> a = queue.AllocTensor<float>();
    queue.FreeTensor(a);
    queue.FreeTensor(a); // BREAKS tensor_freed_twice
}

extern "C" __global__ __aicore__ void tensor_of_another_queue(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue, other;
    pipe.InitBuffer(queue, 1, 256);
    pipe.InitBuffer(other, 1, 256);
    LocalTensor<float> a = queue.AllocTensor<float>();
    other.EnQue(a); // BREAKS tensor_of_another_queue
}

extern "C" __global__ __aicore__ void tensor_queued_twice(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 2> queue;
    pipe.InitBuffer(queue, 1, 256);
    LocalTensor<float> a = queue.AllocTensor<float>();
    queue.EnQue(a);
    queue.EnQue(a); // BREAKS tensor_queued_twice
}

extern "C" __global__ __aicore__ void tensor_left_in_queue(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 1, 256);
    LocalTensor<float> a = queue.AllocTensor<float>();
    queue.EnQue(a);
}

extern "C" __global__ __aicore__ void too_many_buffers(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue, other;
    pipe.InitBuffer(queue, 40, 32);
    pipe.InitBuffer(other, 25, 32); // BREAKS too_many_buffers
}

extern "C" __global__ __aicore__ void second_pipe(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TPipe other; // BREAKS second_pipe
}

// ---- order ----------------------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void computes_before_loaded(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    DataCopy(a, Global(x), 64);
    Adds(a, a, 1.0f, 64); // BREAKS computes_before_loaded
}

extern "C" __global__ __aicore__ void stores_before_computed(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    DataCopy(Global(y), a, 64); // BREAKS stores_before_computed
}

extern "C" __global__ __aicore__ void loads_over_what_is_read(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    Adds(At(256), a, 1.0f, 64);
    DataCopy(a, Global(x), 64); // BREAKS loads_over_what_is_read
}

extern "C" __global__ __aicore__ void computes_over_what_is_stored(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(Global(y), a, 64);
    Adds(a, a, 1.0f, 64); // BREAKS computes_over_what_is_stored
}

extern "C" __global__ __aicore__ void loads_over_what_is_stored(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    DataCopy(a, Global(x), 64);
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
    DataCopy(Global(y), a, 64);
    DataCopy(a, Global(x), 64); // BREAKS loads_over_what_is_stored
}

extern "C" __global__ __aicore__ void queue_used_without_dequeue(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 256);
    LocalTensor<float> a = queue.AllocTensor<float>();
    DataCopy(a, Global(x), 64);
    queue.EnQue(a);
    Adds(a, a, 1.0f, 64); // BREAKS queue_used_without_dequeue
}

extern "C" __global__ __aicore__ void flag_without_wait(GM_ADDR x, GM_ADDR y)
{
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0); // BREAKS flag_without_wait
}

extern "C" __global__ __aicore__ void wait_without_flag(GM_ADDR x, GM_ADDR y)
{
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID1); // BREAKS wait_without_flag
}

extern "C" __global__ __aicore__ void flag_raised_twice(GM_ADDR x, GM_ADDR y)
{
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0); // BREAKS flag_raised_twice
}

extern "C" __global__ __aicore__ void event_id_8(GM_ADDR x, GM_ADDR y)
{
    SetFlag<HardEvent::MTE2_V>(8); // BREAKS event_id_8
}

extern "C" __global__ __aicore__ void event_ids_exhausted(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    for (int i = 0; i < 9; ++i) {
        pipe.AllocEventID<HardEvent::V_MTE3>(); // BREAKS event_ids_exhausted
    }
}

extern "C" __global__ __aicore__ void flag_of_the_other_core(GM_ADDR x, GM_ADDR y)
{
    SetFlag<HardEvent::MTE1_M>(EVENT_ID0); // BREAKS flag_of_the_other_core
}

// Two copies of one pipe may overtake each other.
extern "C" __global__ __aicore__ void loads_overtake_each_other(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    DataCopy(a, Global(x), 64);
    DataCopy(a[56], Global(x), 8); // BREAKS loads_overtake_each_other
}

extern "C" __global__ __aicore__ void stores_overtake_each_other(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 32);
    Duplicate(a[32], 2.0f, 32);
    PipeBarrier<PIPE_ALL>();
    DataCopy(Global(y), a, 32);
    DataCopyPad(Global(y)[31], a[32], DataCopyExtParams{1, 8, 0, 0, 0}); // BREAKS stores_overtake_each_other
}

extern "C" __global__ __aicore__ void loads_what_it_just_stored(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(Global(y), a, 64);
    DataCopy(At(256), Global(y)[32], 8); // BREAKS loads_what_it_just_stored
}

extern "C" __global__ __aicore__ void barrier_of_the_scalar_unit(GM_ADDR x, GM_ADDR y)
{
    PipeBarrier<PIPE_S>(); // BREAKS barrier_of_the_scalar_unit
}

extern "C" __global__ __aicore__ void barrier_of_the_other_core(GM_ADDR x, GM_ADDR y)
{
    PipeBarrier<PIPE_M>(); // BREAKS barrier_of_the_other_core
}

// ---- the kernel itself ----------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void asserts(GM_ADDR x, GM_ADDR y)
{
    const int blocks = static_cast<int>(GetBlockNum());
    ascendc_assert(blocks == 77, "blocks is %d", blocks); // BREAKS asserts
}

extern "C" __global__ __aicore__ void traps(GM_ADDR x, GM_ADDR y)
{
    Trap(); // BREAKS traps
}

extern "C" __global__ __aicore__ void never_ends(GM_ADDR x, GM_ADDR y)
{
    while (Global(x).GetValue(0) == 0.0f) { // BREAKS never_ends
    }
}

extern "C" __global__ __aicore__ void one_block_fails(GM_ADDR x, GM_ADDR y)
{
    if (GetBlockIdx() == 3) {
        Duplicate(At(0)[1], 1.0f, 8); // BREAKS one_block_fails
    }
}

// ---- legal, however it looks ----------------------------------------------------------------------------------------

// The compiler orders V with V, and V, MTE2, MTE3 with scalar accesses.
extern "C" __global__ __aicore__ void legal_automatic_order(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    Adds(a, a, 1.0f, 64);
    a.SetValue(0, a.GetValue(1) + 1.0f);
    Adds(a, a, 1.0f, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(Global(y), a, 64);
    a.SetValue(5, 0.0f);
    LocalTensor<float> b = At(256);
    DataCopy(b, Global(x), 64);
    a.SetValue(6, b.GetValue(0));
}

// Buffers keep their bytes across FreeTensor and AllocTensor.
extern "C" __global__ __aicore__ void legal_old_bytes(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, 256);
    pipe.InitBuffer(out, 1, 256);
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, Global(x), 64);
    in.EnQue(a);
    a = in.DeQue<float>();
    in.FreeTensor(a);
    a = in.AllocTensor<float>();
    LocalTensor<float> b = out.AllocTensor<float>();
    Adds(b, a, 1.0f, 64);
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(Global(y), b, 64);
    out.FreeTensor(b);
    in.FreeTensor(a);
}

// All repeats into one place; a destination below its source; halves onto each other.
extern "C" __global__ __aicore__ void legal_overlaps(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0, 512);
    Duplicate(a, 1.0f, 512);
    Add(a, a[64], a, static_cast<uint64_t>(64), 7, BinaryRepeatParams{1, 1, 1, 0, 8, 0});
    Adds(a, a[64], 1.0f, 192);
    Add(a, a, a[256], 256);
    LocalTensor<half> raw = a.ReinterpretCast<half>()[512];
    Cast(a, raw, RoundMode::CAST_NONE, 512);
}

// An id from FetchEventID is not reserved: the next call gives it again.
extern "C" __global__ __aicore__ void legal_event_reuse(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    LocalTensor<float> a = At(0);
    for (int i = 0; i < 20; ++i) {
        const event_t loaded = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
        DataCopy(a, Global(x), 64);
        SetFlag<HardEvent::MTE2_V>(loaded);
        WaitFlag<HardEvent::MTE2_V>(loaded);
        Adds(a, a, 1.0f, 64);
        const event_t done = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_MTE2));
        SetFlag<HardEvent::V_MTE2>(done);
        WaitFlag<HardEvent::V_MTE2>(done);
    }
}

// Copies onto the same bytes, in order: by a barrier, by flags there and back, by addition; and copies side by side.
extern "C" __global__ __aicore__ void legal_copies_in_order(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    LocalTensor<float> b = At(256);
    Duplicate(b, 1.0f, 64);
    DataCopy(a, Global(x), 32);
    DataCopy(a[32], Global(x), 32);
    PipeBarrier<PIPE_MTE2>();
    DataCopy(a, Global(x), 64);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Adds(b, a, 1.0f, 64);
    SetFlag<HardEvent::V_MTE2>(0);
    WaitFlag<HardEvent::V_MTE2>(0);
    DataCopy(a, Global(x), 64);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopyPad(Global(y), b, DataCopyExtParams{1, 4, 0, 0, 0});
    DataCopyPad(Global(y)[1], b, DataCopyExtParams{1, 4, 0, 0, 0});
    PipeBarrier<PIPE_MTE3>();
    SetAtomicAdd<float>();
    DataCopy(Global(y), b, 64);
    DataCopy(Global(y), b, 64);
    SetAtomicNone();
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    DataCopy(At(512), Global(y), 64);
}

// Destinations of reductions stand at any element; one value a repeat may go to the same place.
extern "C" __global__ __aicore__ void legal_reduce_destinations(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = At(0);
    Duplicate(a, 1.0f, 64);
    for (uint32_t i = 0; i < 8; ++i) {
        WholeReduceSum(At(256)[i], a, 64, 1, 0, 1, 8);
    }
    Adds(At(512), At(256), 0.0f, 8);
}
