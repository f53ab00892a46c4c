// SPDX-License-Identifier: Apache-2.0
//
// Kernels that call one function each with arguments that it does not take. The line that breaks the rule carries a mark,
// which tests/test_sim_checks.py compares with the line in the message.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

template <class T = float> __aicore__ inline LocalTensor<T> At(uint32_t address, uint32_t count = 64)
{
    return LocalTensor<T>(TPosition::VECCALC, address, count);
}
// The same with values in it.
template <class T = float> __aicore__ inline LocalTensor<T> Filled(uint32_t address, uint32_t count = 64)
{
    LocalTensor<T> tensor = At<T>(address, count);
    Duplicate(tensor, T(1), static_cast<int32_t>(count));
    return tensor;
}
template <class T = float> __aicore__ inline GlobalTensor<T> Global(GM_ADDR address)
{
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer((__gm__ T *)address);
    return tensor;
}
__aicore__ inline MrgSortSrcList<float> Lists(const LocalTensor<float> &a)
{
    return MrgSortSrcList<float>(a, a, a, a);
}

} // namespace

// ---- places and strides ---------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void operand_on_another_memory(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a(TPosition::A1, 0, 64);
    Adds(At(0), a, 1.0f, 64); // BREAKS operand_on_another_memory
}
extern "C" __global__ __aicore__ void operand_without_memory(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a;
    Adds(At(0), a, 1.0f, 64); // BREAKS operand_without_memory
}
extern "C" __global__ __aicore__ void copy_without_memory(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a;
    DataCopy(a, Global(x), 64); // BREAKS copy_without_memory
}
extern "C" __global__ __aicore__ void count_negative(GM_ADDR x, GM_ADDR y)
{
    Adds(At(0), Filled(256), 1.0f, -8); // BREAKS count_negative
}
extern "C" __global__ __aicore__ void block_stride_zero(GM_ADDR x, GM_ADDR y)
{
    Adds(At(0), Filled(256), 1.0f, static_cast<uint64_t>(64), 1, UnaryRepeatParams{0, 1, 8, 8}); // BREAKS block_stride_zero
}
extern "C" __global__ __aicore__ void spread_stride_zero(GM_ADDR x, GM_ADDR y)
{
    Brcb(At(512, 64), Filled(0), 1, BrcbRepeatParams{0, 8}); // BREAKS spread_stride_zero
}
extern "C" __global__ __aicore__ void global_not_aligned(GM_ADDR x, GM_ADDR y)
{
    DataCopy(At(0), Global(x + 2), 8); // BREAKS global_not_aligned
}
extern "C" __global__ __aicore__ void a_second_allocator(GM_ADDR x, GM_ADDR y)
{
    LocalMemAllocator<Hardware::UB> first;
    LocalMemAllocator<Hardware::UB> second; // BREAKS a_second_allocator
}

// ---- comparison and choice ------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void comparison_has_no_room(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = Filled(0, 256);
    Compare(At<uint8_t>(2048, 16), a, a, CMPMODE::LT, 256); // BREAKS comparison_has_no_room
}
extern "C" __global__ __aicore__ void mask_of_a_choice_too_short(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = Filled(0, 512);
    LocalTensor<uint8_t> mask = Filled<int16_t>(4096, 16).ReinterpretCast<uint8_t>();
    Select(At(8192, 512), mask, a, 2.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 512); // BREAKS mask_of_a_choice_too_short
}
extern "C" __global__ __aicore__ void gather_base_beyond_source(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<uint32_t> offsets = Filled<int32_t>(1024).ReinterpretCast<uint32_t>();
    Gather(At(0), Filled(256), offsets, 260, 8u); // BREAKS gather_base_beyond_source
}
extern "C" __global__ __aicore__ void gather_offsets_too_few(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<uint32_t> offsets = Filled<int32_t>(1024, 8).ReinterpretCast<uint32_t>();
    Gather(At(0), Filled(256), offsets, 0, 16u); // BREAKS gather_offsets_too_few
}
extern "C" __global__ __aicore__ void gathered_block_beyond_source(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<uint32_t> offsets = At<uint32_t>(1024, 8);
    Duplicate(offsets, 256u, 8);
    Gatherb(At(0), Filled(256), offsets, 1, GatherRepeatParams{1, 8}); // BREAKS gathered_block_beyond_source
}

// ---- sorting and transposing ----------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void sort_has_no_room(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<uint32_t> index = Filled<int32_t>(1024).ReinterpretCast<uint32_t>();
    Sort32(At(2048, 64), Filled(0), index, 2); // BREAKS sort_has_no_room
}
extern "C" __global__ __aicore__ void merge_of_one_list(GM_ADDR x, GM_ADDR y)
{
    const uint16_t lengths[4] = {8, 8, 8, 8};
    MrgSort(At(2048), Lists(Filled(0)), MrgSort4Info(lengths, false, 1, 1)); // BREAKS merge_of_one_list
}
extern "C" __global__ __aicore__ void merge_list_too_long(GM_ADDR x, GM_ADDR y)
{
    const uint16_t lengths[4] = {8, 4096, 0, 0};
    MrgSort(At(2048), Lists(Filled(0)), MrgSort4Info(lengths, false, 3, 1)); // BREAKS merge_list_too_long
}
extern "C" __global__ __aicore__ void merge_repeats_of_unequal_lists(GM_ADDR x, GM_ADDR y)
{
    const uint16_t lengths[4] = {8, 8, 8, 4};
    MrgSort(At(2048), Lists(Filled(0)), MrgSort4Info(lengths, false, 15, 2)); // BREAKS merge_repeats_of_unequal_lists
}
extern "C" __global__ __aicore__ void list_address_not_aligned(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<half> a = Filled<half>(0, 512);
    LocalTensor<half> to[16], from[16];
    for (int i = 0; i < 16; ++i) {
        to[i] = At<half>(4096 + 32 * i, 16);
        from[i] = a[i == 3 ? 8 : 16 * i];
    }
    TransDataTo5HD(to, from, TransDataTo5HDParams{}); // BREAKS list_address_not_aligned
}
extern "C" __global__ __aicore__ void transposed_plane_no_block(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<half> a = Filled<half>(0, 64);
    TransposeParamsExt p;
    p.nSize = 1;
    p.cSize = 2;
    p.hSize = 3;
    p.wSize = 5;
    p.transposeType = TransposeType::TRANSPOSE_NCHW2NHWC;
    Transpose(At<half>(4096, 64), a, At<uint8_t>(8192, 1024), p); // BREAKS transposed_plane_no_block
}

// ---- reductions and casts -------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void reduces_nothing(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    ReduceSum(At(2048), Filled(0), At(4096), 0); // BREAKS reduces_nothing
}
extern "C" __global__ __aicore__ void reduces_to_no_room(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    ReduceMax(At(2048, 1), Filled(0), At(4096), 64, true); // BREAKS reduces_to_no_room
}
extern "C" __global__ __aicore__ void reduces_with_negative_stride(GM_ADDR x, GM_ADDR y)
{
    WholeReduceSum(At(2048), Filled(0), 64, 1, -1, 1, 8); // BREAKS reduces_with_negative_stride
}
extern "C" __global__ __aicore__ void half_a_pair_of_int4(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<int4b_t> to = At<int8_t>(2048, 64).ReinterpretCast<int4b_t>();
    Cast(to, Filled<half>(0, 64), RoundMode::CAST_RINT, 15); // BREAKS half_a_pair_of_int4
}

// ---- copies ---------------------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void slices_too_many(GM_ADDR x, GM_ADDR y)
{
    const SliceInfo to[1] = {SliceInfo{0, 8 * 1537 - 1, 0, 1, 8 * 1537}};
    DataCopy(At(0, 8 * 1537), Global(x), to, to, 1); // BREAKS slices_too_many
}
extern "C" __global__ __aicore__ void slice_ends_before_it_starts(GM_ADDR x, GM_ADDR y)
{
    const SliceInfo to[1] = {SliceInfo{8, 0, 0, 1, 64}};
    DataCopy(At(0), Global(x), to, to, 1); // BREAKS slice_ends_before_it_starts
}
extern "C" __global__ __aicore__ void atomic_store_of_another_type(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<uint32_t> a = Filled<int32_t>(0).ReinterpretCast<uint32_t>();
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<float>();
    DataCopy(Global<uint32_t>(y), a, 64); // BREAKS atomic_store_of_another_type
}
extern "C" __global__ __aicore__ void initial_values_past_end(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    InitOutput(Global(y), 65, 0.0f); // BREAKS initial_values_past_end
}
extern "C" __global__ __aicore__ void initial_values_without_pipe(GM_ADDR x, GM_ADDR y)
{
    InitOutput(Global(y), 64, 0.0f); // BREAKS initial_values_without_pipe
}
extern "C" __global__ __aicore__ void dump_beyond_tensor(GM_ADDR x, GM_ADDR y)
{
    DumpTensor(Filled(0), 0, 65); // BREAKS dump_beyond_tensor
}

// ---- buffers and queues ---------------------------------------------------------------------------------------------

extern "C" __global__ __aicore__ void buffer_of_no_bytes(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 0); // BREAKS buffer_of_no_bytes
}
extern "C" __global__ __aicore__ void buffer_above_ub(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 192 * 1024 + 32); // BREAKS buffer_above_ub
}
extern "C" __global__ __aicore__ void buffer_not_initialised(GM_ADDR x, GM_ADDR y)
{
    TBuf<TPosition::VECCALC> buffer;
    LocalTensor<float> a = buffer.Get<float>(); // BREAKS buffer_not_initialised
}
extern "C" __global__ __aicore__ void buffer_get_beyond(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    LocalTensor<float> a = buffer.Get<float>(72); // BREAKS buffer_get_beyond
}
extern "C" __global__ __aicore__ void pipe_pointer_without_pipe(GM_ADDR x, GM_ADDR y)
{
    GetTPipePtr(); // BREAKS pipe_pointer_without_pipe
}
extern "C" __global__ __aicore__ void pool_not_initialised(GM_ADDR x, GM_ADDR y)
{
    TBufPool<TPosition::VECCALC> pool;
    TBuf<TPosition::VECCALC> buffer;
    pool.InitBuffer(buffer, 256); // BREAKS pool_not_initialised
}
extern "C" __global__ __aicore__ void pool_too_small(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> pool;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBufPool(pool, 1024);
    pool.InitBuffer(queue, 2, 544); // BREAKS pool_too_small
}
extern "C" __global__ __aicore__ void pool_above_ub(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> pool;
    pipe.InitBufPool(pool, 193 * 1024); // BREAKS pool_above_ub
}
extern "C" __global__ __aicore__ void pool_in_a_pool_too_large(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> outer, inner;
    pipe.InitBufPool(outer, 1024);
    outer.InitBufPool(inner, 1056); // BREAKS pool_in_a_pool_too_large
}
extern "C" __global__ __aicore__ void pool_has_16_buffers(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC, 16> pool;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBufPool(pool, 1024);
    pool.InitBuffer(queue, 17, 32); // BREAKS pool_has_16_buffers
}
extern "C" __global__ __aicore__ void free_tensor_queued(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 2, 256);
    LocalTensor<float> a = queue.AllocTensor<float>();
    queue.FreeTensor(a);
    queue.EnQue(a); // BREAKS free_tensor_queued
}

// ---- what a reader of the vendor's tables finds at second sight ------------------------------------------------------

extern "C" __global__ __aicore__ void padding_of_8_bytes(GM_ADDR x, GM_ADDR y)
{
    const DataCopyPadExtParams<int64_t> padding{true, 0, 1, 5};
    DataCopyPad(At<int64_t>(0, 8), Global<int64_t>(x), DataCopyExtParams{1, 24, 0, 0, 0}, padding); // BREAKS padding_of_8_bytes
}
extern "C" __global__ __aicore__ void reduces_in_no_order(GM_ADDR x, GM_ADDR y)
{
    WholeReduceMax(At(512), Filled(0), 64, 1, 1, 1, 8, static_cast<ReduceOrder>(4)); // BREAKS reduces_in_no_order
}
extern "C" __global__ __aicore__ void spreads_over_itself(GM_ADDR x, GM_ADDR y)
{
    Brcb(Filled(0), At(0), 1, {1, 8}); // BREAKS spreads_over_itself
}
extern "C" __global__ __aicore__ void sorts_over_its_indices(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<uint32_t> indices = Filled<int32_t>(384, 32).ReinterpretCast<uint32_t>();
    Sort32(At(256), Filled(0, 32), indices, 1); // BREAKS sorts_over_its_indices
}
extern "C" __global__ __aicore__ void gathers_over_itself(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<uint32_t> offsets = Filled<int32_t>(256).ReinterpretCast<uint32_t>();
    Duplicate(offsets, 16u, 64);
    Gather(At(0), Filled(0), offsets, 0u, 64u); // BREAKS gathers_over_itself
}
extern "C" __global__ __aicore__ void adds_over_halves(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = Filled(0);
    Axpy(a, a.ReinterpretCast<half>(), half(1), 64); // BREAKS adds_over_halves
}
extern "C" __global__ __aicore__ void multiplies_shifted(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<float> a = Filled(0, 192);
    MulAddDst(a[8], a, a[128], 64); // BREAKS multiplies_shifted
}
extern "C" __global__ __aicore__ void list_beyond_tensors(GM_ADDR x, GM_ADDR y)
{
    LocalTensor<half> a = Filled<half>(0, 512), from[16], to[16];
    for (uint32_t i = 0; i < 16; ++i) {
        from[i] = At<half>(32 * i, 16);
        to[i] = At<half>(4096 + 32 * i, 16);
    }
    TransDataTo5HD<half>(to, from, TransDataTo5HDParams(false, false, 2, 0, 16)); // BREAKS list_beyond_tensors
}
extern "C" __global__ __aicore__ void reduces_with_negative_source_stride(GM_ADDR x, GM_ADDR y)
{
    WholeReduceSum(At(512), Filled(0), 64, 1, 1, 1, -8); // BREAKS reduces_with_negative_source_stride
}
extern "C" __global__ __aicore__ void takes_out_at_other_positions(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQue<TPosition::VECCALC, 1> queue;
    pipe.InitBuffer(queue, 1, 256);
    LocalTensor<float> a = queue.AllocTensor<float>();
    queue.EnQue<TPosition::GM, TPosition::VECIN>(a);
    a = queue.DeQue<TPosition::VECCALC, TPosition::VECOUT, float>(); // BREAKS takes_out_at_other_positions
}
