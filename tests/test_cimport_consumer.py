# SPDX-License-Identifier: Apache-2.0
"""A downstream Cython project, built with setuptools in another folder, against the installed package alone."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import child
import embedded
import numpy as np
import pytest
from layernorm_reference import assert_layernorm, bits, dtype_named

import ascend_cy

SOON = 60 * child.PATIENCE
ADD = (Path(__file__).resolve().parent / "consumer" / "add.cpp").read_text()


def ramp(*shape, dtype="f4"):
    return (np.arange(np.prod(shape)) % 251 + 1).reshape(shape).astype(dtype)


def raw_bits(array):
    return array.view(np.uint16)


@pytest.fixture(params=["newest", "oldest"])
def built(request):
    """The consumer, as built with the newest and with the oldest Cython."""
    return request.getfixturevalue({"newest": "consumer", "oldest": "old_consumer"}[request.param])


@pytest.fixture
def plain(built):
    return built.plain


@pytest.fixture
def operators(built):
    return built.operators


# ---- the build ----


def test_only_the_installed_package_was_used(built):
    """No checkout on the path, no link to our libraries, one copy of them in the process."""
    generated = (built.folder / "plain.c").read_text()
    assert "ascend_cy/acl.h" not in generated, "cimport ascend_cy needs a C header"
    assert "ascend_cy/acl.h" in (built.folder / "raw.c").read_text()
    package = os.path.dirname(ascend_cy.__file__)
    for module in (built.plain, built.plain_cpp, built.operators, built.raw):
        needed = subprocess.run(["readelf", "-d", module.__file__], capture_output=True, text=True).stdout
        assert "ascend" not in needed.replace(str(built.folder), "")
    with open("/proc/self/maps") as file:
        maps = {line.split()[-1] for line in file if "libascend_cy.so" in line}
    assert maps == {os.path.join(os.path.realpath(package), "libascend_cy.so")}


def test_import_warns_of_nothing(built, tmp_path):
    child.check("import sys; sys.path.insert(0, sys.argv[1]); import plain, plain_cpp, operators, raw", tmp_path, args=[built.folder])


def test_import_of_the_consumer_imports_the_package(consumer, tmp_path):
    code = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import raw
    assert "ascend_cy" in sys.modules
    code, count = raw.device_count()
    assert code == 0 and count >= 1
    """
    child.check(code, tmp_path, args=[consumer.folder])


def test_the_binary_interface_is_compared(plain):
    with pytest.raises(ImportError, match="compiled against binary interface 999 .*build it again"):
        plain.abi_check(999)


# ---- layernorm on memoryviews ----


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (17, 129), (300, 1000), (0, 4), (4, 0)], ids=str)
def test_layernorm(plain, name, shape):
    dtype = dtype_named(name)
    x, gamma, beta = ramp(*shape, dtype=dtype), ramp(shape[1], dtype=dtype), -ramp(shape[1], dtype=dtype)
    for weights in ((None, None), (gamma, None), (None, beta), (gamma, beta)):
        y = plain.layernorm(x, *weights)
        assert bits(y) == bits(ascend_cy.layernorm(x, *weights))
        if x.size:
            assert_layernorm(y, x, *weights)


def test_layernorm_from_cplusplus(built):
    x, gamma, out = ramp(5, 33), ramp(33), np.empty((5, 33), "f4")
    built.plain_cpp.layernorm(x, gamma, None, out, 1e-5)
    assert bits(out) == bits(ascend_cy.layernorm(x, gamma))
    assert built.plain_cpp.shape_of(ascend_cy.zeros((2, 3))) == (2, 3)


def test_read_only_memory(plain):
    x = np.frombuffer(ramp(3, 4).tobytes(), "f4").reshape(3, 4)
    gamma = ramp(4)
    gamma.flags.writeable = False
    assert bits(plain.layernorm(x, gamma)) == bits(ascend_cy.layernorm(x, gamma))
    half = ramp(3, 4, dtype="f2")
    half.flags.writeable = False
    assert bits(plain.layernorm(half)) == bits(ascend_cy.layernorm(half))
    frozen = np.empty((3, 4), "f4")
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="read-?only"):
        plain.layernorm(ramp(3, 4), out=frozen)


def test_in_place(plain):
    x = ramp(30, 40)
    expected = bits(ascend_cy.layernorm(x))
    plain.layernorm(x, out=x)
    assert bits(x) == expected


def test_a_stream_of_ones_own(plain, stream):
    embedded.require()
    with embedded.slow_kernels(30):
        y = plain.layernorm(ramp(30, 40), stream=stream)
        assert stream.query(), "the call returned before its work was done"
    assert_layernorm(y, ramp(30, 40))


def test_bad_arguments(plain):
    """The same mistakes that Python callers make, found without the GIL, before anything is enqueued."""
    x, w = ramp(3, 4), ramp(4)
    memory = ramp(32)
    gone = ascend_cy.Stream()
    gone.close()
    cases = [
        ((x, ramp(5), None, np.zeros((3, 4), "f4"), 1e-5), {}, ValueError, r"gamma must have shape \(4,\).*got \(5,\)"),
        ((x, None, ramp(3), np.zeros((3, 4), "f4"), 1e-5), {}, ValueError, r"beta must have shape \(4,\).*got \(3,\)"),
        ((x, ramp(0), None, np.zeros((3, 4), "f4"), 1e-5), {}, ValueError, r"gamma"),
        ((x, w, w, np.zeros((4, 3), "f4"), 1e-5), {}, ValueError, r"out must "),
        ((x, w, w, np.zeros((2, 4), "f4"), 1e-5), {}, ValueError, r"out must "),
        ((x, w, w, np.zeros((3, 4), "f4"), -1.0), {}, ValueError, r"eps must be finite and not negative, got -1"),
        ((x, w, w, np.zeros((3, 4), "f4"), np.nan), {}, ValueError, r"eps must be finite and not negative, got nan"),
        ((x, w, w, np.zeros((3, 4), "f4"), np.inf), {}, ValueError, r"eps must be finite"),
        ((None, w, w, np.zeros((3, 4), "f4"), 1e-5), {}, TypeError, r"x must be an array, got None"),
        ((x, w, w, None, 1e-5), {}, TypeError, r"out must be an array, got None"),
        ((memory[4:16].reshape(3, 4), None, None, memory[8:20].reshape(3, 4), 1e-5), {}, ValueError, r"out overlaps x"),
        ((x, memory[4:8], None, memory[4:16].reshape(3, 4), 1e-5), {}, ValueError, r"^out must not share memory with gamma$"),
        ((x, None, memory[7:11], memory[8:20].reshape(3, 4), 1e-5), {}, ValueError, r"^out must not share memory with beta$"),
        ((x, w, w, np.zeros((3, 4), "f4"), 1e-5), {"stream": gone}, ValueError, r"stream is closed"),
    ]
    live = ascend_cy.live_objects()
    for args, kwargs, kind, message in cases:
        with pytest.raises(kind, match=message):
            plain.layernorm_float(*args, **kwargs)
        if "overlaps" not in message and "share memory" not in message:  # copies overlap no more
            narrow = [raw_bits(a.astype("f2")) if isinstance(a, np.ndarray) else a for a in args]
            for call in (plain.layernorm_half, plain.layernorm_brain):
                with pytest.raises(kind, match=message):
                    call(*narrow, **kwargs)
    assert ascend_cy.live_objects() == live


def test_the_shapes_of_a_wrong_out_are_told(plain):
    for shape in ((4, 3), (2, 4), (3, 5)):
        with pytest.raises(ValueError, match=rf"out must .*\(3, 4\).*got \({shape[0]}, {shape[1]}\)"):
            plain.layernorm(ramp(3, 4), out=np.empty(shape, "f4"))


def test_buffers_that_do_not_fit_the_declaration(plain):
    """Cython refuses these before our code runs."""
    out = np.empty((3, 4), "f4")
    for x in (ramp(3, 4, dtype="f8"), ramp(3, 8)[:, ::2], ramp(4, 3).T, ramp(12), ramp(3, 4, dtype=">f4")):
        with pytest.raises((ValueError, TypeError)):
            plain.layernorm_float(x, None, None, out, 1e-5)


# ---- threads ----


def in_threads(count, work):
    errors = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def test_nogil_calls_from_several_threads(plain):
    x = ramp(64, 100)
    expected = bits(ascend_cy.layernorm(x))

    def work(number):
        out = np.empty_like(x)
        with ascend_cy.Stream() as stream:
            plain.layernorm_times(x, out, 200, stream if number % 2 else None)
        assert bits(out) == expected

    in_threads(6, work)


def test_the_gil_is_free_while_nogil_code_runs(plain):
    """Python code of other threads goes on during one long nogil call."""
    embedded.require()
    x, out = ramp(64, 1000), np.empty((64, 1000), "f4")
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    with embedded.slow_kernels(60):
        ticker.start()
        before = len(ticks)
        plain.layernorm_times(x, out, 2, None)
        gained = len(ticks) - before
        stop.set()
    ticker.join(SOON)
    assert gained > 10, f"{gained} ticks in 120 ms"


def test_threads_that_python_did_not_make(plain):
    x = ramp(64, 100)
    out = np.zeros_like(x)
    assert plain.layernorm_on_foreign_threads(x, out, 8, 50) == 0
    assert bits(out) == bits(ascend_cy.layernorm(x))
    gc.collect()


# ---- device arrays ----


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_layernorm_on_device_arrays(plain, name):
    dtype = dtype_named(name)
    for shape in ((3, 4), (2, 3, 33), (0, 5), (7,), (300, 1000)):
        x, gamma, beta = ramp(*shape, dtype=dtype), ramp(shape[-1], dtype=dtype), -ramp(shape[-1], dtype="f4")
        y = plain.layernorm_on_device(x, gamma, beta)
        assert bits(y) == bits(ascend_cy.layernorm(x, gamma, beta))
    assert bits(plain.layernorm_on_device(x)) == bits(ascend_cy.layernorm(x))


def test_a_device_call_only_enqueues(plain, stream):
    gate = threading.Event()
    x = ascend_cy.asarray(ramp(30, 40))
    out = ascend_cy.zeros((30, 40))
    ascend_cy.synchronize()
    stream.add_callback(gate.wait, SOON)
    plain.layernorm_device_arrays(x, None, None, out, 1e-5, stream)
    assert not stream.query()
    x.close()  # recorded on the stream: its memory stays until the work has passed
    others = [ascend_cy.full((30, 40), np.nan) for _ in range(4)]
    gate.set()
    assert_layernorm(out.to_numpy(stream=stream), ramp(30, 40))
    del others


def test_bad_device_arguments(plain):
    x, w, out = ascend_cy.asarray(ramp(3, 4)), ascend_cy.asarray(ramp(4)), ascend_cy.zeros((3, 4))
    gone = ascend_cy.zeros((3, 4))
    gone.close()
    gone_weight = ascend_cy.zeros(4)
    gone_weight.close()
    memory = ascend_cy.zeros(40)
    ascend_cy.synchronize()
    closed = ascend_cy.Stream()
    closed.close()
    cases = [
        ((None, w, w, out), {}, TypeError, r"x must be a DeviceArray, got None"),
        ((x, w, w, None), {}, TypeError, r"out must be a DeviceArray, got None"),
        ((gone, w, w, out), {}, ValueError, r"x is closed"), ((x, gone_weight, w, out), {}, ValueError, r"gamma is closed"),
        ((x, w, gone_weight, out), {}, ValueError, r"beta is closed"), ((x, w, w, gone), {}, ValueError, r"out is closed"),
        ((x.T, None, None, out), {}, ValueError, r"x must be contiguous"),
        ((x, None, None, ascend_cy.zeros((4, 3)).T), {}, ValueError, r"out must be contiguous"),
        ((x, ascend_cy.zeros(8)[::2], None, out), {}, ValueError, r"gamma must be contiguous"),
        ((x, ascend_cy.zeros(5), None, out), {}, ValueError, r"gamma must have shape \(4,\), got \(5,\)"),
        ((x, ascend_cy.zeros((1, 4)), None, out), {}, ValueError, r"gamma must have shape \(4,\), got \(1, 4\)"),
        ((x, None, ascend_cy.zeros(3), out), {}, ValueError, r"beta must have shape \(4,\), got \(3,\)"),
        ((x, ascend_cy.zeros(4, "f8"), None, out), {}, TypeError, r"gamma must have dtype .*got float64"),
        ((ascend_cy.zeros((3, 4), "i4"), None, None, out), {}, TypeError, r"x must have dtype .*got int32"),
        ((x, None, None, ascend_cy.zeros((3, 4), "f2")), {}, TypeError, r"out must have dtype float32 like x, got float16"),
        ((x, None, None, ascend_cy.zeros((4, 4))), {}, ValueError, r"out must have shape \(3, 4\) like x, got \(4, 4\)"),
        ((ascend_cy.zeros(()), None, None, ascend_cy.zeros(())), {}, ValueError, r"x must have at least 1 axis"),
        ((memory[0:12].reshape(3, 4), None, None, memory[4:16].reshape(3, 4)), {}, ValueError, r"out overlaps x"),
        ((x, memory[0:4], None, memory[0:12].reshape(3, 4)), {}, ValueError, r"^out must not share memory with gamma$"),
        ((x, w, w, out), {"eps": -1.0}, ValueError, r"eps must be finite"),
        ((x, w, w, out), {"eps": float("nan")}, ValueError, r"eps must be finite"),
        ((x, w, w, out), {"stream": closed}, ValueError, r"stream is closed"),
    ]
    ascend_cy.synchronize()
    live = ascend_cy.live_objects()
    for args, kwargs, kind, message in cases:
        with pytest.raises(kind, match=message):
            plain.layernorm_device_arrays(*args, kwargs.get("eps", 1e-5), kwargs.get("stream"))
    assert ascend_cy.live_objects() == live
    assert not out.to_numpy().any()
    for wrong in (np.zeros((3, 4), "f4"), "array", 3):
        with pytest.raises(TypeError, match="incorrect type"):
            plain.layernorm_device_arrays(wrong, None, None, out, 1e-5)


def test_device_arrays_are_described(plain):
    device = ascend_cy.asarray(ramp(4, 5, 6, dtype="f2"))
    for array in (device, device[1:, ::-1], device.T, device[2, 3], ascend_cy.zeros((1,) * 9), ascend_cy.zeros(())):
        address, code, shape, strides = plain.describe(array)
        assert (address, shape, strides) == (array.ptr, array.shape, array.strides)
        assert code == {"float16": 1, "float32": 0}[array.dtype.name]
    device.close()
    with pytest.raises(ValueError, match="closed"):
        plain.describe(device)


# ---- the other operators ----


def two(shape, name, seed=0):
    rng = np.random.default_rng(seed)
    dtype = dtype_named(name)
    return tuple(rng.normal(1, 2, shape).astype("f4").astype(dtype) for _ in range(2))


def by_bits(call, *arrays):
    """The 16-bit forms take the bits."""
    return call(*(array.view(np.uint16) if array.itemsize == 2 else array for array in arrays))


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("size", [0, 1, 7, 1000, 70001])
def test_vector_add(operators, name, size):
    a, b = two(size, name)
    call = {"float32": operators.add_float, "float16": operators.add_half, "bfloat16": operators.add_brain,
            "int32": operators.add_int}[name]
    wide = a.astype("f8") + b.astype("f8")
    expected = wide.astype("f4").astype(a.dtype) if name != "int32" else a + b
    out = np.full_like(a, 7)
    by_bits(call, a, b, out)
    assert bits(out) == bits(expected)
    by_bits(call, a, b, a)  # in place
    assert bits(a) == bits(expected)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_matmul(operators, name):
    call = {"float32": operators.product_float, "float16": operators.product_half,
            "bfloat16": operators.product_brain}[name]
    for m, k, n in ((1, 1, 1), (7, 5, 3), (65, 130, 67), (3, 0, 4), (0, 4, 3)):
        a, b = two((m, k), name)[0], two((k, n), name, 1)[0]
        strided = ((np.asfortranarray(a), b), (a[::-1], b[:, ::-1]), (a, np.repeat(b, 2, axis=1)[:, ::2]))
        # A device with memory of its own takes views of host memory as they are, contiguous.
        for left, right in ((a, b), *(() if embedded.kind() == "sim" else strided)):
            out = np.full((m, n), 7, a.dtype)
            by_bits(call, left, right, out)
            assert bits(out) == bits(ascend_cy.matmul(left, right))
            wide = left.astype("f8") @ right.astype("f8")
            step = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[name]
            bound = np.abs(left.astype("f8")) @ np.abs(right.astype("f8")) * k * 2.0**-23 + step * np.abs(wide) + 1e-7
            assert (np.abs(out.astype("f8") - wide) <= bound).all()


def test_operators_on_device_arrays(operators, stream):
    a, b = two((4, 5), "float32")
    x, y, out = ascend_cy.asarray(a), ascend_cy.asarray(b), ascend_cy.zeros((4, 5))
    ascend_cy.synchronize()
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    operators.add_device(x, y, out, stream)
    assert not stream.query()
    x.close()  # its memory stays until the work has passed
    others = [ascend_cy.full((4, 5), np.nan) for _ in range(4)]
    gate.set()
    assert bits(out.to_numpy(stream=stream)) == bits(a + b)
    del others
    if embedded.kind() != "sim":
        product = ascend_cy.zeros((4, 4))
        operators.product_device(out, y.T, product)
        assert bits(product.to_numpy()) == bits(ascend_cy.matmul(a + b, b.T))


def test_memoryviews_in_a_callback_are_refused_before_anything_runs(built):
    """The caller lets go of its memory when the call fails, and the wait for the work would be refused there."""
    operators = built.operators
    stream = ascend_cy.Stream()
    x, out = ramp(1000), np.zeros(1000, "f4")
    enqueued, seen = threading.Event(), []

    def work():
        enqueued.wait(SOON)
        for call in (lambda: operators.add_float(x, x, out, stream), lambda: operators.add_float(x, x, out)):
            try:
                call()
            except ascend_cy.AclError as error:
                seen.append(str(error))

    stream.add_callback(work)
    behind = ascend_cy.zeros(10, stream=stream)
    enqueued.set()
    stream.synchronize()
    assert len(seen) == 2 and all("a callback must not wait" in each for each in seen), seen
    assert not out.any() and not behind.to_numpy().any()
    operators.add_float(x, x, out, stream)
    assert (out == 2 * x).all()


def test_bad_arguments_of_the_other_operators(operators):
    f, h = ramp(6), ramp(6, dtype="f2").view(np.uint16)
    m = ramp(2, 3)
    gone = ascend_cy.Stream()
    gone.close()
    x = ascend_cy.zeros(6)
    closed = ascend_cy.zeros(6)
    closed.close()
    out, device_out, square = np.zeros(6, "f4"), ascend_cy.zeros(6), np.zeros((2, 2), "f4")
    ascend_cy.synchronize()
    cases = [
        (lambda: operators.add_float(f, ramp(5), out), ValueError, r"same length, got 6, 5 and 6"),
        (lambda: operators.add_half(h, h, h[:4]), ValueError, r"same length, got 6, 6 and 4"),
        (lambda: operators.add_brain(None, h, h), TypeError, r"\ba\b.* must be .*array.*, got None"),
        (lambda: operators.add_int(np.zeros(3, "i4"), None, np.zeros(3, "i4")), TypeError,
         r"\bb\b.* must be .*array.*, got None"),
        (lambda: operators.add_float(f, f, None), TypeError, r"\bout\b.* must be .*array.*, got None"),
        (lambda: operators.add_float(f[:4], f[:4], f[1:5]), ValueError, r"out overlaps a in part"),
        (lambda: operators.product_float(square, square, square), ValueError, r"^out must not share memory with a$"),
        (lambda: operators.add_float(f, f, out, gone), ValueError, r"stream is closed"),
        (lambda: operators.add_device(x, closed, device_out), ValueError, r"b is closed"),
        (lambda: operators.add_device(x, None, device_out), TypeError, r"b must be a DeviceArray, got None"),
        (lambda: operators.add_device(x, x, ascend_cy.zeros(6, "f2")), TypeError, r"out must have dtype float32 like a"),
        (lambda: operators.add_device(x, ascend_cy.zeros((2, 3)), device_out), ValueError, r"b must have shape \(6,\)"),
        (lambda: operators.product_float(m, m, square), ValueError, r"do not fit: a \(2, 3\), b \(2, 3\)"),
        (lambda: operators.product_float(m, m.T, np.zeros((3, 3), "f4")), ValueError, r"do not fit.*out \(3, 3\)"),
        (lambda: operators.product_float(m, None, square), TypeError, r"\bb\b.* must be .*array.*, got None"),
        (lambda: operators.product_device(x, closed, device_out), ValueError, r"b is closed"),
    ]
    live = ascend_cy.live_objects()
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()
        assert ascend_cy.current_stream().query()
    ascend_cy.synchronize()
    assert ascend_cy.live_objects() == live
    assert not out.any() and not square.any() and not device_out.to_numpy().any()


# ---- kernels of one's own ----


@pytest.fixture(scope="module")
def add_module():
    embedded.require()
    embedded.compiler()
    with ascend_cy.compile(ADD, name="add") as module:
        yield module


def test_ones_own_kernel_without_the_gil(operators, add_module, stream):
    kernel = add_module.kernel("add")
    x = ascend_cy.zeros(8)
    operators.launch_add(kernel, x, 3, 0.5, 10)
    operators.launch_add(kernel, x, 4, 2, 100, stream)    # ordered behind the launches above
    x.fill(1)                                            # and this behind those
    operators.launch_add(kernel, x, 0, 1, 3, stream)
    assert x.to_numpy().tolist() == [4, *[1] * 7]


def test_ones_own_kernel_from_several_threads(operators, add_module):
    """Each on its own stream, while the module is reloaded: no launch is lost, and the old binary goes."""
    kernel = add_module.kernel("add")
    arrays, failures = [ascend_cy.zeros(8) for _ in range(4)], []

    def work(x):
        try:
            with ascend_cy.Stream() as stream:
                for _ in range(20):
                    operators.launch_add(kernel, x, 5, 1, 10, stream)
                stream.synchronize()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for turn in range(3):
        add_module.reload(ADD + f"// version {turn}\n")
    for thread in threads:
        thread.join()
    assert not failures
    assert [x.to_numpy()[5] for x in arrays] == [200] * 4


def test_a_kernel_that_is_held_outlives_its_module(operators):
    x = ascend_cy.zeros(8)
    with ascend_cy.compile(ADD.replace("+ step", "+ 2 * step")) as module:
        held = operators.Held(module.kernel("add"))
        module.reload(ADD)
        held.add(x, 0, 1)
        operators.launch_add(module.kernel("add"), x, 1, 1, 1)
    held.add(x, 2, 1)
    assert x.to_numpy().tolist() == [2, 1, 2, 0, 0, 0, 0, 0]
    before = ascend_cy.live_objects()
    del held
    after = ascend_cy.live_objects()
    assert after["modules"] == before["modules"] - 1


def test_bad_launches_of_ones_own_kernel(operators, add_module, stream):
    kernel = add_module.kernel("add")
    x = ascend_cy.zeros(8)
    with pytest.raises(TypeError, match="kernel must be a Kernel, got str"):
        operators.launch_add("add", x, 0, 1, 1)
    with pytest.raises(ValueError, match="data parameters.*which only Kernel.launch"):
        operators.launch_add(add_module.kernel("tiled", "ptr x, data tiling"), x, 0, 1, 1)
    with pytest.raises(ValueError, match="args must be 16 bytes of parameters, got 12 bytes at 0x"):
        operators.launch_add(kernel, x, 0, 1, 1, size=12)
    with pytest.raises(ValueError, match="got 24 bytes"):
        operators.launch_add(kernel, x, 0, 1, 1, size=24)
    for blocks in (0, 65536):
        with pytest.raises(ValueError, match=f"blocks must be between 1 and 65535, got {blocks}"):
            operators.launch_add(kernel, x, 0, 1, 1, blocks=blocks)
    with pytest.raises(ValueError, match=r"kernel must be what kernel_acquire\(\) gave, got NULL"):
        operators.launch_nothing()
    closed = ascend_cy.Stream()
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        operators.launch_add(kernel, x, 0, 1, 1, closed)
    gone = ascend_cy.zeros(8)
    gone.close()
    with pytest.raises(ValueError, match="closed"):
        operators.launch_add(kernel, gone, 0, 1, 1)
    assert not x.to_numpy().any()


def test_order_is_checked(operators, stream):
    x = ascend_cy.zeros(3)
    operators.order(x, True, stream)
    if embedded.kind() == "cpu" and np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # older ones do not export what is read-only
        fixed = ascend_cy.from_dlpack(np.frombuffer(bytes(12), "f4"))
        operators.order(fixed, False)
        with pytest.raises(ValueError, match="array is read-only"):
            operators.order(fixed, True)


def test_an_error_crosses_functions_without_the_gil(operators, stream):
    x, good, bad = ascend_cy.ones(5), ascend_cy.zeros(5), ascend_cy.zeros(6)
    finished, message = operators.doubled_until_it_fails(x, good, bad, stream)
    assert finished == 1 and "out must have shape (5,)" in message
    assert (good.to_numpy() == 2).all() and not bad.to_numpy().any()
    assert operators.doubled_until_it_fails(x, good, good) == (2, None)


def test_errors_of_threads_without_the_gil_stay_their_own(operators):
    """Half of the threads fail in every call, the others never."""

    def work(number):
        a, out = ramp(50 + number), np.zeros(50 + number, "f4")
        for _ in range(20):
            if number % 2:
                with pytest.raises(ValueError, match=rf"same length, got {len(a)}, {number} and {number}"):
                    operators.add_times(a, np.zeros(number, "f4"), 1)
            else:
                operators.add_times(a, out, 5)
        assert bits(out) == bits(np.zeros_like(a) if number % 2 else 100 * a)

    in_threads(6, work)


def test_fields_of_the_extension_types(operators, stream):
    array = ascend_cy.asarray(ramp(4, 5, 6, dtype="i8"))
    frozen = np.zeros(3, "f4")
    frozen.flags.writeable = False
    cases = [array, array[1:, ::-1], array.T, array[2, 3], ascend_cy.zeros((1,) * 9), ascend_cy.zeros(())]
    if ascend_cy.device_info()["unified"]:
        cases.append(ascend_cy.from_dlpack(frozen))
    for each in cases:
        rows = each.shape[0] if each.ndim else 1
        code = {"int64": 9, "float32": 0}[each.dtype.name]
        flags = each.flags
        assert operators.array_fields(each) == (each.ptr, each.ndim, code, flags["c_contiguous"], not flags["writeable"], rows)
    event = ascend_cy.Event()
    for each in (array, stream, event):
        assert operators.is_open(each)
        each.close()
        assert not operators.is_open(each)
    with pytest.raises(TypeError):
        operators.is_open(frozen)


# ---- streams ----


def test_stream_handles(plain, stream):
    assert plain.handle_of(stream) == stream.handle
    assert plain.handle_of(None) == ascend_cy.default_stream().handle == 0
    with stream:
        assert plain.handle_of(None) == stream.handle
    stream.close()
    with pytest.raises(ValueError, match="stream is closed"):
        plain.handle_of(stream)
    with pytest.raises(TypeError):
        plain.handle_of(3)


def test_waiting_without_the_gil(plain, stream):
    gate = threading.Event()
    stream.add_callback(gate.wait, SOON)
    opener = threading.Timer(0.02, gate.set)
    opener.start()
    plain.wait_for(stream)
    assert gate.is_set() and stream.query()
    opener.join()
    plain.wait_for(None)


def test_ctrl_c_while_a_consumer_waits(consumer, tmp_path):
    embedded.require()
    code = """
    import os, signal, sys, threading, time
    sys.path.insert(0, sys.argv[1])
    import ascend_cy, plain
    stream = ascend_cy.Stream()
    gate = threading.Event()
    stream.add_callback(gate.wait, 30)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    try:
        plain.wait_for(stream)
    except KeyboardInterrupt:
        assert time.monotonic() - begun < 5
    else:
        raise AssertionError("no KeyboardInterrupt")
    gate.set()
    plain.wait_for(stream)
    """
    child.check(code, tmp_path, args=[consumer.folder])


def test_recording_from_cython(plain, stream):
    array = ascend_cy.zeros(100)
    plain.record(array, stream)
    plain.record(array, None)
    array.close()
    with pytest.raises(ValueError, match="closed"):
        plain.record(array, stream)


def test_extension_types_are_the_packages_own(plain):
    assert plain.is_event(ascend_cy.Event()) and not plain.is_event(ascend_cy.default_stream())


# ---- AscendCL itself ----


def test_raw_calls(built, stream):
    raw = built.raw
    code, count = raw.device_count()
    assert code == 0 and count == ascend_cy.device_count()
    assert raw.constants() == {"ACL_SUCCESS": 0, "ACL_ERROR_RT_PARAM_INVALID": 107000, "ACL_MEMCPY_DEVICE_TO_HOST": 2}
    payload = bytes(range(256)) * 100
    assert raw.round_trip(payload, stream) == payload
    assert raw.round_trip(payload, None) == payload
    array = ascend_cy.asarray(ramp(100), stream=stream)
    assert raw.clear(array, stream) == 0
    assert not array.to_numpy(stream=stream).any()
    assert raw.bad_free() != 0


def test_raw_calls_from_several_threads(consumer):
    def work(number):
        with ascend_cy.Stream() as stream:
            for turn in range(50):
                payload = bytes([number, turn]) * 500
                assert consumer.raw.round_trip(payload, stream) == payload

    in_threads(4, work)


def test_raw_calls_before_the_package_is_there(consumer, tmp_path):
    """A C program that forgot to import ascend_cy is told so."""
    source = tmp_path / "early.c"
    source.write_text('#include "ascend_cy/acl.h"\n'
                      "int main(void) { uint32_t n; return ascend_cy_acl()->aclrtGetDeviceCount(&n); }\n")
    program = tmp_path / "early"
    subprocess.run([*embedded.compiler("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-std=c99",
                    f"-I{ascend_cy.get_include()}", str(source), "-o", str(program), "-ldl"], check=True)
    ran = subprocess.run([program], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode < 0
    assert "import ascend_cy" in ran.stderr


# ---- Cython's versions and languages ----


def test_every_public_header_is_valid_c_and_cplusplus(tmp_path):
    """Each header alone, as C99 and C++17, with every warning an error."""
    headers = sorted(Path(ascend_cy.get_include(), "ascend_cy").glob("*.h"))
    assert {"acl.h", "launch.h", "pool.h", "runtime.h", "kernel_abi.h"} <= {header.name for header in headers}
    for suffix, command in ((".c", [*embedded.compiler("CC", "cc"), "-std=c99"]),
                            (".cpp", [*embedded.compiler("CXX", "c++"), "-std=c++17"])):
        for header in headers:
            source = tmp_path / (header.stem + suffix)
            source.write_text(f'#include "ascend_cy/{header.name}"\nint {header.stem}_used;\n')
        sources = [str(path) for path in sorted(tmp_path.glob("*" + suffix))]
        built = subprocess.run([*command, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                                f"-I{ascend_cy.get_include()}", *sources], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr


def test_the_consumer_does_not_see_the_checkout(consumer):
    checkout = Path(__file__).resolve().parents[1]
    assert checkout not in consumer.folder.parents
    assert not str(Path(ascend_cy.__file__).resolve()).startswith(str(checkout / "ascend_cy")) or any(
        "editable" in name for name in sys.modules)


# ---- memory pools ----


def test_pools_without_the_gil(operators):
    pool = ascend_cy.MemoryPool(limit=1 << 20)
    operators.use_pool(pool)
    try:
        kept = ascend_cy.empty(1000, "uint8")
        ascend_cy.empty(1000, "uint8").close()
        assert ascend_cy.empty(1000, "uint8").pool == pool
        assert operators.pool_facts(None) == operators.pool_facts(pool) == (1024, 1, 2 / 3, 1 << 20)
        assert operators.first_bytes_of_pool_facts(pool) == (1024, 12345)
    finally:
        operators.use_pool(None)
    assert ascend_cy.current_pool() == ascend_cy.default_pool()
    kept.close()
    operators.trim_pool(pool, 0)
    assert pool.stats()["reserved"] == 0
