# SPDX-License-Identifier: Apache-2.0
"""What went wrong in other people's kernels and bindings for NPUs, tried with ours on `cpu` and `sim`, each in a process of its own."""

from __future__ import annotations

import textwrap
from pathlib import Path

import child
import embedded
import pytest
import vendor

import ascend_cy

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "kernels"

SHARED = f"""
import sys
sys.path.insert(0, {str(EXAMPLES)!r})
""" + """
import numpy as np
import ascend_cy, embedded

def launches(work):
    with embedded.counted_calls("aclrtLaunchKernelWithHostArgs") as calls:
        result = work()
        ascend_cy.synchronize()
        return calls(), result

def normalized(x, eps=1e-5):
    wide = x.astype(np.float64)
    return (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + eps)
"""


@pytest.fixture(params=["cpu", "sim"])
def on(request, tmp_path):
    """Runs code on the device; what it prints, once it ended well."""
    if ascend_cy.device_info()["kind"] not in ("cpu", "sim"):
        pytest.skip("needs the embedded device")

    def run(code):
        return child.check(SHARED + textwrap.dedent(code), tmp_path, env={"ASCEND_CY_DEVICE": request.param}, timeout=200)

    return run


def test_nothing_to_do(on):
    """NPU-1: shapes with a 0 in them, after a call with data: no launch, and the right shape and dtype."""
    on("""
    for dtype in ("f4", "f2"):
        full = np.ones((3, 8), dtype)
        work = {
            "layernorm": lambda x: ascend_cy.layernorm(x),
            "vector_add": lambda x: ascend_cy.vector_add(x, x),
            "copy": lambda x: x.copy(),
        }
        for name, call in work.items():
            call(ascend_cy.asarray(full))                       # data first
            for shape in ((0, 8), (3, 0), (0, 0), (2, 0, 4), (0,)):
                for x in (np.empty(shape, dtype), ascend_cy.empty(shape, dtype)):
                    count, y = launches(lambda: call(x))
                    assert count == 0 and y.shape == shape and y.dtype == dtype, (name, shape, count)
        x = ascend_cy.empty((0, 8), dtype)
        assert launches(lambda: x.fill(3))[0] == 0
        x.copy_from(np.empty((0, 8), dtype))
        assert x.to_numpy().shape == (0, 8)
        assert ascend_cy.asarray(full)[1:1].to_numpy().shape == (0, 8)
    # Gradients of no rows are zeros where there are columns.
    statistics = np.empty(0, "f4")
    dx, dgamma, dbeta = ascend_cy.layernorm_backward(np.empty((0, 8), "f4"), np.empty((0, 8), "f4"), statistics, statistics,
                                                     np.ones(8, "f4"))
    assert dx.shape == (0, 8) and dgamma.tolist() == dbeta.tolist() == [0] * 8
    y, mean, rstd = ascend_cy.layernorm(np.empty((0, 8), "f4"), return_stats=True)
    assert y.shape == (0, 8) and mean.shape == rstd.shape == (0,)
    """)


def test_rows_that_are_no_multiple_of_32_bytes(on):
    """NPU-2: values are right, and the memory before, between and after the rows is neither read nor written."""
    on("""
    rng = np.random.default_rng(0)

    def framed(values, dtype):
        # Rows in the middle of a buffer of NaN, at an address that is a multiple of the element only.
        buffer = np.full(values.size + 37, np.nan, dtype)
        buffer[19:19 + values.size] = values.ravel()
        whole = ascend_cy.asarray(buffer)
        return whole, whole[19:19 + values.size].reshape(values.shape)

    def untouched(whole, count):
        data = whole.to_numpy()
        return np.isnan(data[:19]).all() and np.isnan(data[19 + count:]).all() and not np.isnan(data[19:19 + count]).any()

    for dtype, tolerance in (("f4", 2e-6), ("f2", 2e-3)):
        for columns in {"f4": (4, 100, 126), "f2": (9, 100)}[dtype]:
            for rows in (1, 3, 50):
                x = rng.normal(3, 2, (rows, columns)).astype(dtype)
                count = x.size
                whole_x, dx = framed(x, dtype)
                whole_y, dy = framed(np.zeros_like(x), dtype)
                ascend_cy.layernorm(dx, out=dy)
                scale = np.abs(normalized(x)).max()
                assert np.abs(dy.to_numpy() - normalized(x)).max() <= tolerance * scale, (dtype, columns, rows)
                assert untouched(whole_x, count) and untouched(whole_y, count)
                ascend_cy.vector_add(dx, dx, out=dy)
                assert np.array_equal(dy.to_numpy(), x + x)
                assert untouched(whole_x, count) and untouched(whole_y, count)

                y, mean, rstd = ascend_cy.layernorm(dx, return_stats=True)
                whole_g, grad = framed(np.ones_like(x), dtype)
                gx, ggamma, gbeta = ascend_cy.layernorm_backward(grad, dx, mean, rstd, ascend_cy.ones(columns, dtype))
                assert np.abs(gx.to_numpy()).max() <= 20 * tolerance, "the gradient of a constant sum is zero"
                assert np.abs(gbeta.to_numpy() - rows).max() <= tolerance * rows
                assert np.abs(ggamma.to_numpy() - normalized(x).sum(0)).max() <= 4 * tolerance * max(1, rows)
                assert untouched(whole_x, count) and untouched(whole_g, count)
    """)


def test_a_loop_that_keeps_nothing(on):
    """NPU-3: what a queued call needs (a workspace, its arrays) lives until it ran, and not longer."""
    on("""
    x = np.random.default_rng(0).normal(3, 2, (16, 40)).astype("f4")
    device, ones, gamma = ascend_cy.asarray(x), ascend_cy.ones((16, 40)), ascend_cy.ones(40)
    y, mean, rstd = ascend_cy.layernorm(device, return_stats=True)
    expected = [part.to_numpy() for part in ascend_cy.layernorm_backward(ones, device, mean, rstd, gamma)]
    held = []
    for turn in range(1000):
        result = ascend_cy.layernorm_backward(ones, device, mean, rstd, gamma)
        if turn % 100 == 99:
            for part, right in zip(result, expected):
                assert np.array_equal(part.to_numpy(), right)
            del part
            held.append(ascend_cy.memory_stats()["in_use"])
    assert held[1:] == held[:-1], held
    """)


def test_rows_that_do_not_fit_on_chip(on):
    """NPU-3: such rows are split, with the same values."""
    on("""
    for columns in (48000, 65536, 100003):
        x = np.random.default_rng(columns).normal(3, 2, (2, columns)).astype("f4")
        y = ascend_cy.layernorm(x)
        right = normalized(x)
        assert (np.abs(y - right).max(1) <= 1e-6 * np.abs(right).max(1)).all(), columns
    """)


def test_addresses_that_are_none(tmp_path):
    """NPU-4: under `sim`, where host memory is no device memory, a launch with a host address or freed memory is an error that
    names the kernel, and a new stream works after it."""
    code = """
    host = np.ones((4, 8), "f4")
    foreign = ascend_cy.from_pointer(host.ctypes.data, (4, 8), "float32", device=0, owner=host)
    gone = ascend_cy.ones((4, 8))
    pointer = gone.ptr
    gone.close()
    ascend_cy.trim_memory()
    freed = ascend_cy.from_pointer(pointer, (4, 8), "float32", device=0, owner=None)
    for wrong in (foreign, freed):
        stream = ascend_cy.Stream()
        try:
            ascend_cy.layernorm(wrong, stream=stream)
            stream.synchronize()
        except ascend_cy.AclError as error:
            assert "layernorm" in str(error), error
        else:
            raise AssertionError("an address that is none of the device's was taken")
        with ascend_cy.Stream() as fresh:
            assert ascend_cy.layernorm(np.ones((2, 8), "f4")).shape == (2, 8)
            assert not ascend_cy.layernorm(ascend_cy.ones((2, 8))).to_numpy(stream=fresh).any()
        stream.close()
    """
    child.check(SHARED + textwrap.dedent(code), tmp_path, env={"ASCEND_CY_DEVICE": "sim"}, timeout=200)


# ---- the same with kernels of the user's own ----


@pytest.fixture
def own(on):
    """Runs code that compiles kernels, and tells whether it came to its end."""
    embedded.compiler()

    def run(code):
        assert on(textwrap.dedent(code) + "\nprint('the end')\n") == "the end\n"

    return run


def test_ones_own_kernels_keep_to_their_rows(own):
    """NPU-2: rows that fill no 32 bytes, at addresses that are a multiple of the element only, between NaN on all sides."""
    own("""
    import example_kernels
    rng = np.random.default_rng(0)

    def framed(values):
        buffer = np.full(values.size + 37, np.nan, values.dtype)
        buffer[19:19 + values.size] = values.ravel()
        whole = ascend_cy.asarray(buffer)
        return whole, whole[19:19 + values.size].reshape(values.shape)

    def check(name, x, right, tolerance, blocks, *arguments):
        whole_x, dx = framed(x)
        whole_y, dy = framed(np.full(right.shape, 77, x.dtype))
        example_kernels.kernel(name)[blocks](dx, dy, *arguments)
        error = np.abs(dy.to_numpy().astype("f8") - right).max()
        assert error <= tolerance * max(1, np.abs(right).max()), (name, x.shape, error)
        for whole, count in ((whole_x, x.size), (whole_y, right.size)):
            data = whole.to_numpy()
            assert np.isnan(data[:19]).all() and np.isnan(data[19 + count:]).all(), (name, x.shape)

    for columns in (4, 9, 100, 126):
        for rows in (1, 3, 50):
            x = rng.normal(3, 2, (rows, columns)).astype("f4")
            wide = np.exp(x.astype("f8") - x.max(-1, keepdims=True).astype("f8"))
            check("softmax", x, wide / wide.sum(-1, keepdims=True), 2e-6, min(rows, 7), rows, columns)
            check("row_sum", x, x.astype("f8").sum(-1), 2e-6, min(rows, 7), rows, columns, -(-columns // 8) * 8)
            half = x.astype("f2")
            check("transpose", half, half.T.astype("f8"), 0, 3, rows, columns)
    for size in (1, 9, 100, 4099):
        x = rng.normal(0, 2, size).astype("f4")
        per_block = -(-(-(-size // 5)) // 8) * 8
        check("gelu", x, x / (1 + np.exp(-1.702 * x.astype("f8"))), 2e-6, -(-size // per_block), size, per_block, per_block)
    example_kernels.kernel.cache_clear()
    """)


WORKSPACE = """
    source = '''
    #include "kernel_operator.h"
    extern "C" __global__ __aicore__ void through(GM_ADDR total, GM_ADDR workspace, uint32_t n, float value)
    {
        AscendC::GlobalTensor<float> sum, kept;
        sum.SetGlobalBuffer((__gm__ float *)total, n);
        kept.SetGlobalBuffer((__gm__ float *)workspace, n);
        for (uint32_t i = 0; i < n; ++i)
            kept.SetValue(i, value);
        for (uint32_t i = 0; i < n; ++i)
            sum.SetValue(i, sum.GetValue(i) + kept.GetValue(i));
    }
    '''
    module = ascend_cy.compile(source)
    kernel = module.kernel("through")
"""


def test_workspaces_of_ones_own_kernels(own):
    """NPU-3: 1000 launches on two streams, their workspaces kept by nobody: each has its own, and bytes in use stay flat."""
    own(WORKSPACE + """
    streams = [ascend_cy.Stream() for _ in range(2)]
    totals = [ascend_cy.zeros(64, stream=stream) for stream in streams]
    held = []
    for turn in range(1000):
        stream = streams[turn % 2]
        kernel[1, stream](totals[turn % 2], ascend_cy.empty(64, stream=stream), 64, turn)
        if turn % 100 == 99:
            ascend_cy.synchronize()
            held.append(ascend_cy.memory_stats()["in_use"])
    assert held[1:] == held[:-1], held
    # Whole numbers below 2**24: exact in float32.
    assert totals[0].to_numpy().tolist() == [sum(range(0, 1000, 2))] * 64
    assert totals[1].to_numpy().tolist() == [sum(range(1, 1000, 2))] * 64
    """)


def test_a_workspace_is_not_given_away_too_early(own):
    """NPU-3: it is freed while the launch waits; what is made meanwhile on another stream is other memory."""
    own(WORKSPACE + """
    import threading
    one, two = ascend_cy.Stream(), ascend_cy.Stream()
    for turn in range(20):
        total = ascend_cy.zeros(64, stream=one)
        gate = threading.Event()
        one.add_callback(gate.wait)
        workspace = ascend_cy.empty(64, stream=one)
        address = workspace.ptr
        kernel[1, one](total, workspace, 64, 3)
        del workspace
        other = ascend_cy.full(64, 5, stream=two)
        assert other.ptr != address
        gate.set()
        assert total.to_numpy(stream=one).tolist() == [3] * 64 and other.to_numpy(stream=two).tolist() == [5] * 64
    """)


def test_ones_own_kernel_that_faults(own):
    """NPU-3: one error, which names kernel and block; the kernel works on a new stream. What does not fit on chip is told so."""
    own("""
    import example_kernels
    source = '''
    #include "kernel_operator.h"
    extern "C" __global__ __aicore__ void faulty(GM_ADDR x, uint32_t n, int32_t bad)
    {
        AscendC::GlobalTensor<float> global;
        global.SetGlobalBuffer((__gm__ float *)x, n);
        const int32_t block = AscendC::GetBlockIdx();
        global.SetValue(block == bad ? 1 << 28 : block, 1.0f);
    }
    '''
    kernel = ascend_cy.compile(source).kernel("faulty")
    x = ascend_cy.zeros(8)
    stream = ascend_cy.Stream()
    kernel[8, stream](x, 8, 3)
    for attempt in range(2):
        try:
            stream.synchronize()
            assert attempt == 1, "nothing was told"       # told once
        except ascend_cy.KernelError as error:
            assert "faulty" in str(error) and "block 3" in str(error), error
    stream.close()
    with ascend_cy.Stream() as fresh:
        y = ascend_cy.zeros(8)
        kernel[8, fresh](y, 8, -1)
        assert y.to_numpy(stream=fresh).tolist() == [1] * 8

    long = ascend_cy.ones((1, 50000))
    with ascend_cy.Stream() as other:
        example_kernels.kernel("softmax")[1, other](long, ascend_cy.empty_like(long), 1, 50000)
        try:
            other.synchronize()
            raise SystemExit("it ran")
        except ascend_cy.KernelError as error:
            assert "softmax: block 0: TPipe::InitBuffer at softmax.cpp" in str(error) and "does not fit into UB" in str(error), error
    example_kernels.kernel.cache_clear()
    """)


def test_wrong_arguments_of_ones_own_kernel(tmp_path):
    """NPU-4: what can be known is told before anything runs, and names the kernel or the argument."""
    embedded.require()
    embedded.compiler()
    code = WORKSPACE + """
    host = np.ones(64, "f4")
    good, work = ascend_cy.zeros(64), ascend_cy.empty(64)
    gone = ascend_cy.ones(64)
    pointer = gone.ptr
    gone.close()
    ascend_cy.trim_memory()
    for wrong in (host.ctypes.data, pointer, ascend_cy.from_pointer(host.ctypes.data, 64, "float32", device=0, owner=host)):
        with ascend_cy.Stream() as stream:
            try:
                kernel[1, stream](good, wrong, 64, 1)
                stream.synchronize()
                raise SystemExit("an address that is none of the device's was taken")
            except ascend_cy.AclError as error:
                assert "through" in str(error) and "workspace" in str(error), error
    for arguments, kind in (((good, gone, 64, 1), ValueError), ((good, host, 64, 1), TypeError), ((good, work, 64), TypeError),
                            ((good, work, 64, 1, 2), TypeError), ((good, work, -1, 1), OverflowError)):
        count = 0
        with embedded.counted_calls("aclrtLaunchKernelWithHostArgs") as calls:
            try:
                kernel[1](*arguments)
                raise SystemExit("it was launched")
            except kind:
                assert calls() == 0
    kernel[1](good, work, 64, 2)
    assert good.to_numpy().tolist() == [2] * 64
    print("the end")
    """
    assert child.check(SHARED + textwrap.dedent(code), tmp_path, env={"ASCEND_CY_DEVICE": "sim"}, timeout=200) == "the end\n"


@pytest.mark.parametrize("release", ["8.1", "full"])
def test_another_cann(tmp_path, release):
    """NPU-4: the package imports and works on a device library that lacks what came after CANN 8.1, and on one that has it."""
    embedded.require()
    cann = vendor.build(tmp_path / "cann", release)
    code = """
    import ctypes, struct
    release, library, *controls = sys.argv[1:]
    assert ascend_cy.device_info()["library"] == library and ascend_cy.device_info()["kind"] == "npu", ascend_cy.device_info()
    newer = ("aclrtBinaryLoadFromData", "aclrtLaunchKernelWithHostArgs", "aclrtFunctionGetParamCount")
    assert [ascend_cy.has(name) for name in newer] == [release == "full"] * 3

    # Arrays, streams, events; and what neither library has is told at its first use, by name.
    with ascend_cy.Stream() as stream:
        array = ascend_cy.empty((5, 12))
        event = stream.record()
        event.synchronize()
        assert stream.future("done").result(30) == "done" and array[1:3].nbytes == 96
        try:
            array.copy_from(np.ones((5, 12), "f4"))
            raise SystemExit("it was copied")
        except ascend_cy.AclError as error:
            assert error.code == 207000 and "aclrtMemcpyAsync is not in the device library" in str(error) and "8.1" in str(error), error
    stream = ascend_cy.Stream()

    # So are kernels, with what to do.
    try:
        ascend_cy.layernorm(array)
        raise SystemExit("there are no kernels for this NPU")
    except ascend_cy.KernelNotFoundError as error:
        assert "layernorm" in str(error) and "build-kernels" in str(error), error
    # A kernel of the user's own: the argument block is the same, however it gets there.
    class Control(ctypes.Structure):
        _fields_ = [(name, ctypes.c_void_p) for name in controls]

    control = Control.in_dll(ctypes.CDLL(library), "fake_acl_controls")

    def last():
        size = ctypes.c_size_t()
        address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t))(control.last_args)(ctypes.byref(size))
        return (ctypes.CFUNCTYPE(ctypes.c_char_p)(control.last_kernel)(), ctypes.CFUNCTYPE(ctypes.c_uint32)(control.last_blocks)(),
                ctypes.string_at(address, size.value))

    module = ascend_cy.load(b"\\x7fELF, an image for an NPU")
    kernel = module.kernel("scale", "ptr x, i32 n")
    kernel[40, stream](array, -7)
    name, blocks, block = last()
    assert (name, blocks) == (b"scale", 40) and block[:12] == struct.pack("<Qi", array.ptr, -7), (name, blocks, block)
    signature = "ptr x, i8 a, f64 b, data tiling, u16 c"
    values = (array, -1, 0.5, np.arange(3, dtype="i4"), 9)
    if release == "full":
        try:
            module.kernel("scale", signature)
            raise SystemExit("the binary has other parameters")
        except ValueError as error:
            assert "has 5 parameters, but the kernel takes 2" in str(error), error
    else:
        for layout, places in (("compiler", (0, 8, 16, 24, 32)), ("slots", (0, 8, 16, 24, 32))):
            module.kernel("scale", signature, layout=layout)[1, stream](*values)
            block = last()[2]
            for place, form, value in zip(places, ("<Q", "<b", "<d", "<Q", "<H"), (array.ptr, -1, 0.5, 40, 9)):
                assert struct.unpack_from(form, block, place)[0] == value, (layout, place, block)
            assert block[40:52] == struct.pack("<3i", 0, 1, 2)
        for layout, place in (("compiler", 12), ("slots", 16)):
            module.kernel("scale", "ptr x, i8 a, i32 b", layout=layout)[1, stream](array, -1, 1000)
            assert struct.unpack_from("<i", last()[2], place)[0] == 1000
    module.unload()
    print("the end")
    """
    library = cann / "lib64" / "libascendcl.so"
    done = child.check(SHARED + textwrap.dedent(code), tmp_path, args=[release, library, *vendor.controls()],
                       env={"ASCEND_CY_DEVICE": "npu", "ASCEND_HOME_PATH": str(cann), "HOME": str(tmp_path)})
    assert done == "the end\n"
