// SPDX-License-Identifier: Apache-2.0
//
// One kernel for each small case whose result is known exactly; tests/test_sim_exact.py feeds and reads them.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

constexpr uint32_t kInputs = 1024;  // bytes of each input
constexpr uint32_t kOutput = 8192;  // bytes of the output

// Up to three inputs of 1024 bytes at 0, 1024, 2048; the result, zeroed, at 4096; scratch behind it.
template <typename T> struct Case {
    LocalTensor<T> a, b, c, d;
    LocalTensor<uint8_t> scratch;
    GM_ADDR out;

    __aicore__ inline Case(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR result) : out(result)
    {
        InitSocState();
        a = LocalTensor<T>(TPosition::VECCALC, 0, kInputs / sizeof(T));
        b = LocalTensor<T>(TPosition::VECCALC, 1024, kInputs / sizeof(T));
        c = LocalTensor<T>(TPosition::VECCALC, 2048, kInputs / sizeof(T));
        d = LocalTensor<T>(TPosition::VECCALC, 4096, kOutput / sizeof(T));
        scratch = LocalTensor<uint8_t>(TPosition::VECCALC, 16384, 8192);
        Duplicate(d.template ReinterpretCast<int32_t>(), 0, kOutput / 4);
        Load(a, x);
        Load(b, y);
        Load(c, z);
        PipeBarrier<PIPE_ALL>();
    }
    __aicore__ inline void Load(const LocalTensor<T> &to, GM_ADDR from)
    {
        if (from != nullptr) {
            GlobalTensor<T> gm;
            gm.SetGlobalBuffer((__gm__ T *)from);
            DataCopy(to, gm, kInputs / sizeof(T));
        }
    }
    __aicore__ inline void Store()
    {
        PipeBarrier<PIPE_ALL>();
        GlobalTensor<T> gm;
        gm.SetGlobalBuffer((__gm__ T *)out);
        DataCopy(gm, d, kOutput / sizeof(T));
        PipeBarrier<PIPE_ALL>();
    }
};

} // namespace

extern "C" __global__ __aicore__ void copy_10_half(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopy(t.d, gm, 10);
    t.Store();
}

extern "C" __global__ __aicore__ void copy_20_half(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopy(t.d, gm, 20);
    t.Store();
}

extern "C" __global__ __aicore__ void pad_none(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopyPad(t.d, gm, DataCopyExtParams{2, 6, 0, 0, 0}, DataCopyPadExtParams<half>{false, 0, 0, half(0)});
    t.Store();
}

extern "C" __global__ __aicore__ void pad_right(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopyPad(t.d, gm, DataCopyExtParams{2, 6, 0, 0, 0}, DataCopyPadExtParams<half>{true, 0, 2, half(9)});
    t.Store();
}

extern "C" __global__ __aicore__ void pad_left(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopyPad(t.d, gm, DataCopyExtParams{2, 6, 0, 0, 0}, DataCopyPadExtParams<half>{true, 1, 0, half(9)});
    t.Store();
}

extern "C" __global__ __aicore__ void pad_set_value(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    SetPadValue(half(4));
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopyPad(t.d, gm, DataCopyExtParams{1, 6, 0, 0, 0}, DataCopyPadExtParams<half>{false, 0, 2, half(9)});
    t.Store();
}

extern "C" __global__ __aicore__ void pad_gaps(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopyPad(t.d, gm, DataCopyExtParams{2, 6, 4, 1, 0}, DataCopyPadExtParams<half>{true, 0, 1, half(0)});
    t.Store();
}

// To global memory only the elements go, however full the blocks are.
extern "C" __global__ __aicore__ void pad_out(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)out);
    DataCopyPad(gm, t.a, DataCopyExtParams{2, 6, 0, 4, 0});
}

extern "C" __global__ __aicore__ void pad_narrow_params(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer((__gm__ half *)x);
    DataCopyPad(t.d, gm, DataCopyParams{2, 6, 0, 0}, DataCopyPadParams{true, 0, 2, 0x4880});
    t.Store();
}

extern "C" __global__ __aicore__ void brcb_8(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    Brcb(t.d, t.a, 1, BrcbRepeatParams{1, 8});
    t.Store();
}

// 9 rows need 2 repeats, and a source of 16.
extern "C" __global__ __aicore__ void brcb_9(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    Brcb(t.d, LocalTensor<half>(TPosition::VECCALC, 0, 16), 2, BrcbRepeatParams{1, 8});
    t.Store();
}

extern "C" __global__ __aicore__ void duplicate_strided(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Duplicate(t.d, 5.0f, static_cast<uint64_t>(8), 3, 1, 2);
    t.Store();
}

extern "C" __global__ __aicore__ void accumulate(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Add(t.d, t.a, t.d, static_cast<uint64_t>(64), 3, BinaryRepeatParams{1, 1, 1, 0, 8, 0});
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_sum_130(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    TPipe pipe;
    ReduceSum(t.d, t.a, t.a, 130);
    t.d.SetValue(1, GetAccVal<float>());
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_sum_130_half(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    TPipe pipe;
    ReduceSum(t.d, t.a, t.a, 130);
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_repeat_max(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    ReduceRepeat<ReduceType::MAX>(t.d, t.a, 64, 2, 1, 1, 8);
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_repeat_max_value(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    ReduceRepeat<ReduceType::MAX>(t.d, t.a, 64, 2, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_repeat_min_index_first(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    WholeReduceMin(t.d, t.a, 128, 2, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE);
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_data_block(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    ReduceDataBlock<ReduceType::SUM>(t.d, t.a, 64, 2, 1, 1, 8);
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_data_block_20(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Duplicate(t.d, 7.0f, 8);
    ReduceDataBlock<ReduceType::SUM>(t.d, t.a, 20, 1, 1, 1, 8);
    t.Store();
}

extern "C" __global__ __aicore__ void block_reduce_old_order(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    BlockReduceSum(t.d, t.a, 2, 64, 1, 1, 8);
    t.Store();
}

extern "C" __global__ __aicore__ void reduce_pair(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    ReducePairElem<ReduceType::SUM>(t.d, t.a, 64, 1, 1, 1, 8);
    t.Store();
}

extern "C" __global__ __aicore__ void compare_lt(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<uint8_t> m = t.d.ReinterpretCast<uint8_t>();
    Compare(m, t.a, t.b, CMPMODE::LT, 64);
    t.Store();
}

extern "C" __global__ __aicore__ void select_tensors(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<uint8_t> m = t.scratch;
    Compare(m, t.a, t.b, CMPMODE::LT, 64);
    Select(t.d, m, t.a, t.b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);
    t.Store();
}

extern "C" __global__ __aicore__ void select_scalar(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<uint8_t> m = t.scratch;
    Compare(m, t.a, t.b, CMPMODE::LT, 64);
    Select(t.d, m, t.a, -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
    t.Store();
}

extern "C" __global__ __aicore__ void select_same_bits(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<uint8_t> m = t.scratch;
    Compare(m, t.a, t.b, CMPMODE::LT, 64);
    Select(t.d, m, t.a, t.b, SELMODE::VSEL_CMPMASK_SPR, static_cast<uint64_t>(64), 2, BinaryRepeatParams{1, 1, 1, 8, 8, 8});
    t.Store();
}

extern "C" __global__ __aicore__ void gather_mask_even(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    uint64_t n = 0;
    GatherMask(t.d, t.a, 1, false, 0, GatherMaskParams{1, 1, 8, 8}, n);
    t.d.SetValue(1000, static_cast<float>(n));
    t.Store();
}

extern "C" __global__ __aicore__ void gather_mask_reduce(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    uint64_t n = 0;
    GatherMask(t.d, t.a, 2, true, 10, GatherMaskParams{1, 2, 8, 8}, n);
    t.d.SetValue(1000, static_cast<float>(n));
    t.Store();
}

extern "C" __global__ __aicore__ void gather_mask_bits(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    uint64_t n = 0;
    GatherMask(t.d, t.a, t.b.ReinterpretCast<uint32_t>(), false, 0, GatherMaskParams{1, 1, 8, 0}, n);
    t.d.SetValue(1000, static_cast<float>(n));
    t.Store();
}

extern "C" __global__ __aicore__ void counter_mode(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(0, 100);
    Muls<float, false>(t.d, t.a, 2.0f, MASK_PLACEHOLDER, 1, UnaryRepeatParams{1, 1, 8, 8});
    SetMaskNorm();
    ResetMask();
    t.Store();
}

extern "C" __global__ __aicore__ void cast_half_to_float(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    Cast(t.d.ReinterpretCast<float>(), t.a, RoundMode::CAST_NONE, static_cast<uint64_t>(64), 2, UnaryRepeatParams{1, 1, 8, 4});
    t.Store();
}

extern "C" __global__ __aicore__ void cast_to_int(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<int32_t> i = t.d.ReinterpretCast<int32_t>();
    Cast(i, t.a, RoundMode::CAST_RINT, 8);
    Cast(i[8], t.a, RoundMode::CAST_ROUND, 8);
    Cast(i[16], t.a, RoundMode::CAST_FLOOR, 8);
    Cast(i[24], t.a, RoundMode::CAST_CEIL, 8);
    Cast(i[32], t.a, RoundMode::CAST_TRUNC, 8);
    t.Store();
}

extern "C" __global__ __aicore__ void cast_to_half(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<half> h = t.d.ReinterpretCast<half>();
    Cast(h, t.a, RoundMode::CAST_NONE, 16);
    SetSaturationFlag<SaturationMode::FLOAT>(true);
    Cast(h[16], t.a, RoundMode::CAST_NONE, 16);
    t.Store();
}

extern "C" __global__ __aicore__ void cast_half_modes(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<half> h = t.d.ReinterpretCast<half>();
    Cast(h, t.a, RoundMode::CAST_RINT, 16);
    Cast(h[16], t.a, RoundMode::CAST_FLOOR, 16);
    Cast(h[32], t.a, RoundMode::CAST_CEIL, 16);
    Cast(h[48], t.a, RoundMode::CAST_ROUND, 16);
    Cast(h[64], t.a, RoundMode::CAST_TRUNC, 16);
    Cast(h[80], t.a, RoundMode::CAST_ODD, 16);
    t.Store();
}

extern "C" __global__ __aicore__ void cast_bf16_modes(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<bfloat16_t> h = t.d.ReinterpretCast<bfloat16_t>();
    Cast(h, t.a, RoundMode::CAST_RINT, 16);
    Cast(h[16], t.a, RoundMode::CAST_ROUND, 16);
    Cast(h[32], t.a, RoundMode::CAST_TRUNC, 16);
    t.Store();
}

extern "C" __global__ __aicore__ void sort_32(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Sort32(t.d, t.a, t.b.ReinterpretCast<uint32_t>(), 1);
    t.Store();
}

extern "C" __global__ __aicore__ void merge_sort(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<float> s = t.scratch.ReinterpretCast<float>();
    Sort32(s, t.a, t.b.ReinterpretCast<uint32_t>(), 4);
    const uint16_t n[4] = {32, 32, 32, 32};
    MrgSort(t.d, MrgSortSrcList<float>(s, s[64], s[128], s[192]), MrgSort4Info(n, false, 15, 1));
    t.Store();
}

extern "C" __global__ __aicore__ void transdata_half(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    LocalTensor<half> in[16], to[16];
    for (int i = 0; i < 16; ++i) { in[i] = t.a[16 * i]; to[i] = t.d[16 * i]; }
    TransDataTo5HD<half>(to, in, TransDataTo5HDParams{false, false, 1, 0, 0});
    t.Store();
}

extern "C" __global__ __aicore__ void transdata_float(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    LocalTensor<float> in[16], to[16];
    for (int i = 0; i < 16; ++i) { in[i] = t.a[8 * i]; to[i] = t.d[8 * i]; }
    TransDataTo5HD<float>(to, in, TransDataTo5HDParams{false, false, 1, 0, 0});
    t.Store();
}

extern "C" __global__ __aicore__ void transpose_16(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    Transpose(t.d, t.a);
    t.Store();
}

extern "C" __global__ __aicore__ void gather_offsets(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Gather(t.d, t.a, t.b.ReinterpretCast<uint32_t>(), 8, 16u);
    t.Store();
}

extern "C" __global__ __aicore__ void gather_blocks(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Gatherb(t.d, t.a, t.b.ReinterpretCast<uint32_t>(), 1, GatherRepeatParams{1, 8});
    t.Store();
}

extern "C" __global__ __aicore__ void bit_mask(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    uint64_t m[2] = {0x8001, 0};
    Adds(t.d, t.a, 1.0f, m, 2, UnaryRepeatParams{1, 1, 8, 8});
    t.Store();
}

extern "C" __global__ __aicore__ void broadcast_block(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Mul(t.d, t.a, t.b, static_cast<uint64_t>(64), 2, BinaryRepeatParams{1, 1, 0, 8, 8, 1});
    t.Store();
}

extern "C" __global__ __aicore__ void cast_widen_in_place(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    LocalTensor<float> f = t.d.ReinterpretCast<float>();
    LocalTensor<half> up = t.d[256];
    DataCopy(up, t.a, 256);
    Cast(f, up, RoundMode::CAST_NONE, 256);
    t.Store();
}

extern "C" __global__ __aicore__ void half_overflow(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    Add(t.d, t.a, t.a, 128);
    SetSaturationFlag<SaturationMode::FLOAT>(true);
    Add(t.d[128], t.a, t.a, 128);
    t.Store();
}

extern "C" __global__ __aicore__ void axpy_mixed(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<half> t(x, y, z, out);
    Axpy(t.d.ReinterpretCast<float>(), t.a, half(0.5f), 128);
    t.Store();
}

extern "C" __global__ __aicore__ void vec_index(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    CreateVecIndex(t.d, 3.0f, 100u);
    t.Store();
}

extern "C" __global__ __aicore__ void shift_right(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<int32_t> t(x, y, z, out);
    ShiftRight(t.d, t.a, 2, 8);
    ShiftLeft(t.d[8], t.a, 3, 8);
    t.Store();
}

extern "C" __global__ __aicore__ void logic(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<int16_t> t(x, y, z, out);
    And(t.d, t.a, t.b, 16);
    Or(t.d[16], t.a, t.b, 16);
    Not(t.d[32], t.a, 16);
    t.Store();
}

extern "C" __global__ __aicore__ void integers_wrap(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<int16_t> t(x, y, z, out);
    Add(t.d, t.a, t.b, 16);
    Mul(t.d[16], t.a, t.b, 16);
    t.Store();
}

extern "C" __global__ __aicore__ void copy_strided(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    Case<float> t(x, y, z, out);
    Copy(t.d, t.a, static_cast<uint64_t>(64), 2, CopyRepeatParams{2, 1, 16, 8});
    t.Store();
}

// Sources in one group of banks, and in two.
extern "C" __global__ __aicore__ void banks_of_one_group(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    LocalTensor<float> a(TPosition::VECCALC, 0x10020, 640), b(TPosition::VECCALC, 0x20020, 640);
    Duplicate(a, 1.0f, 640);
    Duplicate(b, 2.0f, 640);
    Add(LocalTensor<float>(TPosition::VECCALC, 0, 640), a, b, 640);
}

extern "C" __global__ __aicore__ void banks_of_two_groups(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out)
{
    LocalTensor<float> a(TPosition::VECCALC, 0x10020, 640), b(TPosition::VECCALC, 0x10000 + 2560 + 512, 640);
    Duplicate(a, 1.0f, 640);
    Duplicate(b, 2.0f, 640);
    Add(LocalTensor<float>(TPosition::VECCALC, 0, 640), a, b, 640);
}
