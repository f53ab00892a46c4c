# SPDX-License-Identifier: Apache-2.0
"""Small cases of the simulator's vector and copy functions whose results are known to the last bit."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
import simdriver  # noqa: E402

pytestmark = pytest.mark.skipif(simdriver.compiler() is None, reason="needs a C++ compiler")

f4, f2 = np.float32, np.float16


@pytest.fixture(scope="module")
def run():
    binary = simdriver.Binary(simdriver.build(simdriver.HERE / "exact_kernels.cpp", flags=("-O1",)))

    def call(name, *inputs, dtype=f4):
        """The output, 8192 bytes, as `dtype`; missing inputs are absent."""
        buffers = []
        for values in inputs:
            if values is None:
                buffers.append(None)
                continue
            raw = np.zeros(1024, np.uint8)
            data = np.ascontiguousarray(values).view(np.uint8).ravel()
            raw[: data.size] = data
            buffers.append(simdriver.Buffer(raw))
        buffers += [None] * (3 - len(buffers))
        out = simdriver.Buffer(np.full(8192, 0xEE, np.uint8))
        binary.launch(name, 1, *buffers, out)
        return out.numpy().view(dtype)

    call.report = binary.report
    return call


def tree(values, dtype=f4):
    values = [dtype(v) for v in values]
    while len(values) > 1:
        values = [dtype(values[i] + values[i + 1]) if i + 1 < len(values) else values[i]
                  for i in range(0, len(values), 2)]
    return values[0]


RNG = np.random.default_rng(42)
RANDOM = RNG.normal(size=256).astype(f4)
HALVES = np.arange(1, 65).astype(f2)


def test_copies_drop_what_fills_no_block(run):
    assert not run("copy_10_half", HALVES, dtype=f2).any()
    out = run("copy_20_half", HALVES, dtype=f2)
    assert (out[:16] == HALVES[:16]).all() and not out[16:].any()


def test_data_copy_pad(run):
    a = HALVES
    assert run("pad_none", a, dtype=f2)[:32].tolist() == [*a[:3], *[a[0]] * 13, *a[3:6], *[a[3]] * 13]
    assert run("pad_right", a, dtype=f2)[:32].tolist() == [*a[:3], *[9] * 13, *a[3:6], *[9] * 13]
    assert run("pad_left", a, dtype=f2)[:32].tolist() == [9, *a[:3], *[9] * 12, 9, *a[3:6], *[9] * 12]
    assert run("pad_set_value", a, dtype=f2)[:16].tolist() == [*a[:3], *[4] * 13]
    out = run("pad_gaps", a, dtype=f2)
    # A gap of 4 bytes in global memory, of one block on chip.
    assert out[:3].tolist() == a[:3].tolist() and not out[16:32].any() and out[32:35].tolist() == a[5:8].tolist()
    assert run("pad_narrow_params", a, dtype=f2)[:32].tolist() == [*a[:3], *[9] * 13, *a[3:6], *[9] * 13]


def test_data_copy_pad_to_global_memory(run):
    # The gap of 4 bytes between the blocks, and all behind them, keeps what was there.
    untouched = np.full(8192, 0xEE, np.uint8).view(f2)
    out = run("pad_out", HALVES, dtype=f2)
    assert out[:3].tolist() == HALVES[:3].tolist() and out[5:8].tolist() == HALVES[16:19].tolist()
    assert (out[3:5] == untouched[3:5]).all() and (out[8:] == untouched[8:]).all()


def test_bank_groups(run):
    """The modelled cycles: 10 repeats that read two sources from one group take 10 cycles more."""
    cycles = {}
    for name in ("banks_of_one_group", "banks_of_two_groups"):
        run(name)
        cycles[name] = run.report()["cycles"]["V"]
    assert cycles["banks_of_one_group"] == cycles["banks_of_two_groups"] + 10


def test_spreading(run):
    assert (run("brcb_8", HALVES, dtype=f2)[:128] == np.repeat(HALVES[:8], 16)).all()
    assert (run("brcb_9", HALVES, dtype=f2)[:256] == np.repeat(HALVES[:16], 16)).all()
    out = run("duplicate_strided")
    assert (np.flatnonzero(out) == [*range(8), *range(16, 24), *range(32, 40)]).all() and set(out[out != 0]) == {5}
    assert run("vec_index")[:101].tolist() == [*range(3, 103), 0]


def test_accumulation_runs_repeat_by_repeat(run):
    x = (RNG.normal(size=192) * 10.0 ** RNG.integers(-3, 4, size=192)).astype(f4)
    expected = ((x[:64] + f4(0)) + x[64:128]) + x[128:]
    assert (run("accumulate", x)[:64] == expected).all()


def test_reduce_sum_order(run):
    x = (RANDOM * 1000).astype(f4)
    expected = f4(f4(tree(x[:64]) + tree(x[64:128])) + f4(x[128] + x[129]))
    out = run("reduce_sum_130", x)
    assert out[0] == expected and out[1] == expected
    h = (RANDOM * 10).astype(f2)
    expected = f2(tree(h[:128], f2) + f2(h[128] + h[129]))
    assert run("reduce_sum_130_half", h, dtype=f2)[0] == expected


def test_reductions(run):
    x = RANDOM[:128].copy()
    x[10] = x[20] = 50  # the first of equals wins
    out = run("reduce_repeat_max", x)
    index = out.view(np.uint32)
    assert out[0] == 50 and index[1] == 10
    assert out[2] == x[64:].max() and index[3] == x[64:].argmax()
    assert run("reduce_repeat_max_value", x)[:3].tolist() == [50, x[64:].max(), 0]
    h = RANDOM.astype(f2)
    out = run("reduce_repeat_min_index_first", h, dtype=f2)
    assert out.view(np.uint16)[0] == h[:128].argmin() and out[1] == h[:128].min()
    assert out.view(np.uint16)[2] == h[128:].argmin() and out[3] == h[128:].min()
    blocks = [tree(x[i : i + 8]) for i in range(0, 128, 8)]
    assert run("reduce_data_block", x)[:17].tolist() == [*blocks, 0]
    assert run("block_reduce_old_order", x)[:17].tolist() == [*blocks, 0]
    assert run("reduce_data_block_20", x)[:8].tolist() == [blocks[0], blocks[1], tree(x[16:20]), 7, 7, 7, 7, 7]
    assert run("reduce_pair", x)[:33].tolist() == [*(x[0:64:2] + x[1:64:2]), 0]


def test_compare_and_select(run):
    a, b = np.zeros(128, f4), np.zeros(128, f4)
    a[:] = np.arange(128)
    b[0::2], b[1::2] = a[0::2] + 1, a[1::2] - 1
    assert run("compare_lt", a, b, dtype=np.uint8)[:9].tolist() == [0x55] * 8 + [0]
    even = np.arange(128) % 2 == 0
    assert (run("select_tensors", a, b)[:64] == np.where(even, a, b)[:64]).all()
    assert (run("select_scalar", a, b)[:64] == np.where(even, a, -1)[:64]).all()
    assert (run("select_same_bits", a, b)[:128] == np.where(even, a, b)).all()


def test_gather(run):
    out = run("gather_mask_even", RANDOM)
    assert (out[:32] == RANDOM[0:64:2]).all() and out[1000] == 32 and not out[32:1000].any()
    out = run("gather_mask_reduce", RANDOM)
    assert out[:10].tolist() == [*RANDOM[1:10:2], *RANDOM[65:74:2]] and out[1000] == 10
    bits = np.array([0x80000001, 0x00000002], np.uint32)
    out = run("gather_mask_bits", RANDOM, bits)
    assert out[:4].tolist() == [RANDOM[0], RANDOM[31], RANDOM[33], 0] and out[1000] == 3
    offsets = RNG.permutation(200)[:16].astype(np.uint32)
    assert (run("gather_offsets", RANDOM, offsets * 4)[:16] == RANDOM[offsets + 2]).all()
    blocks = np.array([7, 3, 3, 0, 1, 2, 9, 30], np.uint32)
    assert (run("gather_blocks", RANDOM, blocks * 32)[:64].reshape(8, 8) == RANDOM.reshape(-1, 8)[blocks]).all()


def test_masks_and_strides(run):
    out = run("counter_mode", RANDOM)
    assert (out[:100] == RANDOM[:100] * 2).all() and not out[100:].any()
    expected = np.zeros(128, f4)
    for i in (0, 15, 64, 79):
        expected[i] = RANDOM[i] + f4(1)
    assert (run("bit_mask", RANDOM)[:128] == expected).all()
    factors = np.repeat(RANDOM[128:144].reshape(2, 1, 8), 8, axis=1).reshape(128)
    assert (run("broadcast_block", RANDOM, RANDOM[128:])[:128] == RANDOM[:128] * factors).all()
    out = run("copy_strided", RANDOM)
    for block in range(16):
        at = block // 8 * 128 + block % 8 * 16
        assert (out[at : at + 8] == RANDOM[block * 8 : block * 8 + 8]).all() and not out[at + 8 : at + 16].any()


def test_casts(run):
    h = RANDOM[:128].astype(f2)
    assert (run("cast_half_to_float", h)[:128] == h.astype(f4)).all()
    x = np.array([2.5, -2.5, 3.5, 0.49999997, 3e9, -3e9, np.nan, 7], f4)
    out = run("cast_to_int", x, dtype=np.int32)[:40].reshape(5, 8)
    big, small = 2**31 - 1, -(2**31)
    assert out[0].tolist() == [2, -2, 4, 0, big, small, 0, 7]  # RINT
    assert out[1].tolist() == [3, -3, 4, 0, big, small, 0, 7]  # ROUND
    assert out[2].tolist() == [2, -3, 3, 0, big, small, 0, 7]  # FLOOR
    assert out[3].tolist() == [3, -2, 4, 1, big, small, 0, 7]  # CEIL
    assert out[4].tolist() == [2, -2, 3, 0, big, small, 0, 7]  # TRUNC
    x = np.array([70000, -70000, 1.5, np.inf, np.nan, 65519, 65520, 1e-8], f4)
    out = run("cast_to_half", x, dtype=f2)
    with np.errstate(over="ignore"):
        assert np.array_equal(out[:8], x.astype(f2), equal_nan=True)
    assert out[16:24].tolist() == [65504, -65504, 1.5, 65504, 0, 65504, 65504, 0]


def test_cast_rounding_of_narrow_floats(run):
    x = np.array([1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-11, 1 + 2**-13, 1, 2**-25, 3 * 2**-25, -(2**-26)], f4)
    out = run("cast_half_modes", x, dtype=f2)[:96].reshape(6, 16)[:, :8].astype(np.float64)
    u, s = 2.0**-10, 2.0**-24
    assert out[0].tolist() == [1, 1 + 2 * u, -1, 1, 1, 0, 2 * s, 0]  # RINT, ties to even
    assert out[1].tolist() == [1, 1 + u, -1 - u, 1, 1, 0, s, -s]  # FLOOR
    assert out[2].tolist() == [1 + u, 1 + 2 * u, -1, 1 + u, 1, s, 2 * s, 0]  # CEIL
    assert out[3].tolist() == [1 + u, 1 + 2 * u, -1 - u, 1, 1, s, 2 * s, 0]  # ROUND, ties away
    assert out[4].tolist() == [1, 1 + u, -1, 1, 1, 0, s, 0]  # TRUNC
    assert out[5].tolist() == [1 + u, 1 + u, -1 - u, 1 + u, 1, s, s, -s]  # ODD
    x = np.array([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 3.4e38], f4)
    out = (run("cast_bf16_modes", x, dtype=np.uint16)[:48].astype(np.uint32) << 16).view(f4).reshape(3, 16)[:, :4]
    u = 2.0**-7
    assert out[0].tolist() == [1, 1 + 2 * u, -1, np.inf]
    assert out[1].tolist() == [1 + u, 1 + 2 * u, -1 - u, np.inf]
    assert out[2].tolist() == [1, 1 + u, -1, f4(3.3895314e38)]


def test_in_place_widening(run):
    h = RANDOM.astype(f2)
    assert (run("cast_widen_in_place", h)[:256] == h.astype(f4)).all()


def test_half_overflow(run):
    h = np.array([60000, -60000, 1], f2)
    out = run("half_overflow", h, dtype=f2)
    assert out[:3].tolist() == [np.inf, -np.inf, 2] and out[128:131].tolist() == [65504, -65504, 2]


def test_mixed_axpy(run):
    h = RANDOM[:128].astype(f2)
    assert (run("axpy_mixed", h)[:128] == h.astype(f4) * f4(0.5)).all()


def test_sorting(run):
    x = RNG.integers(0, 20, size=128).astype(f4)  # with equal scores
    index = np.arange(128, dtype=np.uint32)
    order = np.argsort(-x[:32], kind="stable")
    out = run("sort_32", x, index)
    assert (out[0:64:2] == x[order]).all() and (out.view(np.uint32)[1:64:2] == order).all()
    order = np.argsort(-x, kind="stable")
    out = run("merge_sort", x, index)
    assert (out[0:256:2] == x[order]).all() and (out.view(np.uint32)[1:256:2] == order).all()


def test_transposing(run):
    h = np.arange(256).astype(f2)
    for name in ("transdata_half", "transpose_16"):
        assert (run(name, h, dtype=f2)[:256].reshape(16, 16) == h.reshape(16, 16).T).all()
    x = np.arange(128).astype(f4)
    assert (run("transdata_float", x)[:128].reshape(8, 16) == x.reshape(16, 8).T).all()


def test_integers(run):
    x = np.array([5, -5, 7, -8, 2**30, -(2**31), 1, 0], np.int32)
    out = run("shift_right", x, dtype=np.int32)
    assert (out[:8] == x >> 2).all() and (out[8:16] == x << 3).all()
    a = RNG.integers(-(2**15), 2**15, size=16).astype(np.int16)
    b = RNG.integers(-(2**15), 2**15, size=16).astype(np.int16)
    out = run("logic", a, b, dtype=np.int16)
    assert (out[:16] == a & b).all() and (out[16:32] == a | b).all() and (out[32:48] == ~a).all()
    out = run("integers_wrap", a, b, dtype=np.int16)
    with np.errstate(over="ignore"):
        assert (out[:16] == a + b).all() and (out[16:32] == a * b).all()
