# SPDX-License-Identifier: Apache-2.0
"""Where the arguments of the user's kernels lie, byte for byte, and launches on devices other than the one that loaded."""

from __future__ import annotations

import struct
import textwrap

import child
import embedded
import numpy as np
import pytest

import ascend_cy


@pytest.fixture(scope="module", autouse=True)
def device():
    embedded.require()
    embedded.compiler()


# A kernel that gives its argument block back as it came.
ECHO = """
#include <string.h>
#include "ascend_cy/kernel_abi.h"
static void entry(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *)
{
    void *out;
    memcpy(&out, args, sizeof out);
    memcpy(out, args, SIZE);
}
static const ascend_kernel_desc_t kernels[] = {
    {"echo", entry, nullptr, nullptr, 0, SIZE, ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},
};
extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
    ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t), sizeof(ascend_kernel_desc_t), TARGET, 1, 0, kernels, "echo",
};
"""
SIGNATURE = "ptr out, u8 a, i16 b, i32 c, u64 d, f16 e, f32 f, bf16 g, bool h, f64 i, struct[12, 4] j, i8 k"
VALUES = (200, -3, -100000, 2**50, 0.5, 1.25, 3.0, True, -0.125, b"twelve bytes", -7)
# How struct spells each, and the bits of what it cannot spell.
SPELLED = [("<B", 200), ("<h", -3), ("<i", -100000), ("<Q", 2**50), ("<e", 0.5), ("<f", 1.25), ("<H", 0x4040), ("<B", 1),
           ("<d", -0.125), ("12s", b"twelve bytes"), ("<b", -7)]
OFFSETS = {"compiler": (8, 12, 16, 24, 32, 36, 40, 44, 48, 56, 68), "slots": (8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96)}
SIZES = {"compiler": 69, "slots": 97}


def target() -> str:
    return {"cpu": "ASCEND_KERNEL_TARGET_CPU", "sim": "ASCEND_KERNEL_TARGET_SIM"}[embedded.kind()]


def compiled(size: int) -> ascend_cy.Module:
    return ascend_cy.compile(ECHO, target="cpu", options=[f"-DSIZE={size}", f"-DTARGET={target()}"])


def untold():
    """A device library that tells nothing of a kernel's parameters."""
    return embedded.faults("call=aclrtFunctionGetParamCount,code=507000,times=always")


@pytest.mark.parametrize("layout", OFFSETS)
def test_every_byte_of_the_arguments(layout):
    out = ascend_cy.full(128, 255, "uint8")
    with compiled(SIZES[layout]) as module:
        with untold():
            kernel = module.kernel("echo", SIGNATURE, layout=layout)
        kernel[1](out, *VALUES)
        seen = out.to_numpy().tobytes()
    expected = bytearray(SIZES[layout])
    struct.pack_into("<Q", expected, 0, out.ptr)
    for offset, (spelled, value) in zip(OFFSETS[layout], SPELLED, strict=True):
        struct.pack_into(spelled, expected, offset, value)
    assert seen[: SIZES[layout]] == bytes(expected)
    assert set(seen[SIZES[layout] :]) == {255}


@pytest.mark.parametrize("kind", [int, np.int64, np.uint64])
def test_the_ends_of_every_integer_type(kind):
    """The least and the greatest pass bit for bit; one beyond does not."""
    out = ascend_cy.zeros(128, "uint8")
    types = {name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name[0] == "i" else (0, 2**bits - 1)
             for bits in (8, 16, 32, 64) for name in (f"i{bits}", f"u{bits}")}
    with compiled(72) as module:
        with untold():
            kernel = module.kernel("echo", "ptr, " + ", ".join(types), layout="slots")
        for end in (0, 1):
            values = [limits[end] for limits in types.values()]
            fitting = [value if kind is not int and not np.iinfo(kind).min <= value <= np.iinfo(kind).max else kind(value)
                       for value in values]
            kernel[1](out, *fitting)
            seen = out.to_numpy().tobytes()
            for place, (name, value) in enumerate(zip(types, values, strict=True), 1):
                size = int(name[1:]) // 8
                assert int.from_bytes(seen[8 * place : 8 * place + size], "little", signed=name[0] == "i") == value, name
            for place, value in enumerate(values):
                beyond = [*values[:place], value + (1 if end else -1), *values[place + 1 :]]
                with pytest.raises(OverflowError, match=f"arg{place + 1} must fit {list(types)[place]}, got"):
                    kernel[1](out, *beyond)


def test_the_other_layout_is_refused(stream):
    """Where the binary does not tell its layout, the device still knows how many bytes it needs."""
    with compiled(SIZES["slots"]) as module:
        with pytest.raises(ValueError, match="signature of echo has 12 parameters, but the kernel takes 0"):
            module.kernel("echo", SIGNATURE, layout="slots")
        with untold():
            kernel = module.kernel("echo", SIGNATURE)
        with pytest.raises(ascend_cy.AclError, match="97"):
            kernel[1, stream](ascend_cy.zeros(128, "uint8"), *VALUES)


def test_data_in_slots():
    """A pointer to data of the host takes a slot as well; the data lies behind all of them."""
    source = """
    #include <string.h>
    #include "ascend_cy/kernel_abi.h"
    struct Slots { float *out; int64_t n; const float *data; double more; };
    static void entry(uint32_t, uint32_t, const void *args, const ascend_kernel_services_t *)
    {
        const Slots *slots = static_cast<const Slots *>(args);
        for (int i = 0; i < static_cast<int32_t>(slots->n); ++i)
            slots->out[i] = slots->data[i] + static_cast<float>(slots->more);
    }
    static const ascend_kernel_param_t parameters[] = {
        {"out", 0, 8, ASCEND_KERNEL_PARAM_POINTER, 0}, {"n", 8, 4, ASCEND_KERNEL_PARAM_INTEGER, 0},
        {"data", 16, 8, ASCEND_KERNEL_PARAM_STRUCT, 0}, {"more", 24, 8, ASCEND_KERNEL_PARAM_FLOAT, 0},
    };
    static const ascend_kernel_desc_t kernels[] = {
        {"slots", entry, nullptr, parameters, 4, 32, ASCEND_KERNEL_CORE_VECTOR, 0, 1, 0},
    };
    extern "C" ASCEND_KERNEL_EXPORT const ascend_kernel_table_t ascend_kernel_table = {
        ASCEND_KERNEL_ABI_VERSION, sizeof(ascend_kernel_table_t), sizeof(ascend_kernel_desc_t), TARGET, 1, 0, kernels, "slots",
    };
    """
    out = ascend_cy.zeros(4)
    with ascend_cy.compile(source, target="cpu", options=[f"-DTARGET={target()}"]) as module:
        kernel = module.kernel("slots", "ptr out, i32 n, data data, f64 more", layout="slots")
        for turn in range(3):
            kernel[1](out, 3, np.arange(turn, turn + 3, dtype="f4"), 0.5)
            assert out.to_numpy().tolist() == [turn + 0.5, turn + 1.5, turn + 2.5, 0]
        # The same parameters, but not where the compiler would have them: f64 is at 24 either way, so an i32 more shows it.
        with pytest.raises(ValueError, match="has 5 parameters, but the kernel takes 4"):
            module.kernel("slots", "ptr out, i32 n, i32 pad, data data, f64 more", layout="slots")


@pytest.mark.parametrize("kind", ["cpu", "sim"])
def test_launches_on_another_device(tmp_path, kind):
    """A module is loaded where it is first launched, and its launches go where their stream is."""
    code = '''
    import ascend_cy
    import numpy as np
    source = """
    #include "kernel_operator.h"
    extern "C" __global__ __aicore__ void add(GM_ADDR x, const __gm__ float *y, float step)
    {
        AscendC::GlobalTensor<float> to, from;
        to.SetGlobalBuffer((__gm__ float *)x, 8);
        from.SetGlobalBuffer((__gm__ float *)y, 8);
        for (int i = 0; i < 8; ++i)
            to.SetValue(i, from.GetValue(i) + STEPS * step);
    }
    """
    module = ascend_cy.compile(source, options=["-DSTEPS=1"])          # on device 0
    kernel = module.kernel("add")
    y = np.arange(8, dtype="f4")
    for index in (2, 1, 0, 2):
        with ascend_cy.Device(index):
            here, x = ascend_cy.asarray(y), ascend_cy.zeros(8)         # on the device's default stream
            with ascend_cy.Stream() as stream:
                kernel[1](x, here, 0.5)
                kernel[1, stream](x, x, 0.5)
                assert x.to_numpy().tolist() == (y + 1).tolist() and x.device == index
    # From the thread of one device on a stream of another.
    there = ascend_cy.Stream(device=1)
    far = ascend_cy.asarray(y, stream=there)
    kernel[1, there](far, far, 2)
    assert far.to_numpy(stream=there).tolist() == (y + 2).tolist() and far.device == 1
    near = ascend_cy.asarray(y)
    for arguments, launcher in (((near, far, 1), kernel[1]), ((near, near, 1), kernel[1, there])):
        try:
            launcher(*arguments)
            raise SystemExit("it was launched")
        except ValueError as error:
            assert "is on device" in str(error) and "but the stream is of device" in str(error), error
    assert near.to_numpy().tolist() == y.tolist()
    # A new version is loaded on all of them, too.
    assert module.reload(source.replace("STEPS *", "10 * STEPS *"))
    kernel[1, there](far, far, 1)
    kernel[1](near, near, 1)
    assert far.to_numpy(stream=there).tolist() == (y + 12).tolist() and near.to_numpy().tolist() == (y + 10).tolist()
    module.unload()
    there.close()
    print("done")
    '''
    done = child.check(textwrap.dedent(code), tmp_path, env={"ASCEND_CY_DEVICE": kind, "ASCENDCL_CPU_DEVICES": "3"}, timeout=200)
    assert done == "done\n"
