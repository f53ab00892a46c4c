# SPDX-License-Identifier: Apache-2.0
"""The user's own kernels: compiled, loaded, launched with every kind of argument, replaced while they run."""

from __future__ import annotations

import threading
import time

import embedded
import numpy as np
import pytest

import ascend_cy
from ascend_cy import sim


@pytest.fixture(scope="module", autouse=True)
def compiler():
    embedded.require()
    embedded.compiler()


ARGUMENTS = """
#include "kernel_operator.h"
using namespace AscendC;
struct Tiling {
    uint32_t n;
    float scale;
};
extern "C" __global__ __aicore__ void scalars(GM_ADDR out, int8_t a, uint16_t b, int32_t c, uint64_t d, float e, half f,
                                              bfloat16_t g, bool h, Tiling t)
{
    GlobalTensor<float> x;
    x.SetGlobalBuffer((__gm__ float *)out, 10);
    x.SetValue(0, (float)a);
    x.SetValue(1, (float)b);
    x.SetValue(2, (float)c);
    x.SetValue(3, (float)d);
    x.SetValue(4, e);
    x.SetValue(5, (float)f);
    x.SetValue(6, ToFloat(g));
    x.SetValue(7, h ? 1.0f : 0.0f);
    x.SetValue(8, (float)t.n);
    x.SetValue(9, t.scale);
}
extern "C" __global__ __aicore__ void with_tiling(GM_ADDR out, GM_ADDR tiling)
{
    GlobalTensor<float> x, t;
    t.SetGlobalBuffer((__gm__ float *)tiling, 3);
    x.SetGlobalBuffer((__gm__ float *)out, 3);
    for (int i = 0; i < 3; ++i)
        x.SetValue(i, t.GetValue(i) + GetBlockNum());
}
template <class T> __global__ __aicore__ void set_first(GM_ADDR out, float value)
{
    GlobalTensor<T> x;
    x.SetGlobalBuffer((__gm__ T *)out, 1);
    x.SetValue(0, (T)value);
}
template __global__ __aicore__ void set_first<float>(GM_ADDR out, float value);
template __global__ __aicore__ void set_first<int32_t>(GM_ADDR out, float value);
"""


@pytest.fixture(scope="module")
def arguments(compiler):
    with ascend_cy.compile(ARGUMENTS) as module:
        yield module


def test_every_kind_of_argument(arguments):
    kernel = arguments.kernel("scalars")
    out = ascend_cy.zeros(10)
    tiling = np.array((123456, 0.75), dtype=[("n", "u4"), ("scale", "f4")])[()]
    kernel[1](out, -5, np.uint16(65535), -(2**31), 2**40, 1.5, np.float16(0.25), 3.0, True, tiling)
    assert out.to_numpy().tolist() == [-5, 65535, -(2.0**31), 2.0**40, 1.5, 0.25, 3, 1, 123456, 0.75]
    kernel.launch(out, 127, 0, 7, 0, 2, 65504.0, -1e38, np.False_, tiling.tobytes(), blocks=1)
    assert out.to_numpy()[:8].tolist() == pytest.approx([127, 0, 7, 0, 2, 65504, -1e38, 0], rel=1e-2)


def test_the_simulators_report_of_ones_own_kernel(compiler):
    """Modules are loaded without a file's name; asking leaves nothing loaded behind."""
    source = ARGUMENTS.replace("void scalars", "void reported")
    out = ascend_cy.zeros(3)
    with ascend_cy.compile(source) as module, ascend_cy.compile(ARGUMENTS) as other:
        module.kernel("with_tiling")[5](out, out)
        ascend_cy.synchronize()
        report = sim.last_report()
        assert (report["kernel"], report["blocks"], report["completed"], len(report["cores"])) == ("with_tiling", 5, True, 5)
        other.kernel("set_first<float>")[2](out, 1)
        ascend_cy.synchronize()
        assert sim.last_report()["blocks"] == 2
        assert sim.last_report("with_tiling")["blocks"] == 5
    assert (sim.last_report("with_tiling") or {}).get("blocks") != 5


def test_reports_are_asked_for_while_modules_come_and_go(arguments):
    out = ascend_cy.zeros(3)
    stop = threading.Event()
    failures = []

    def ask():
        while not stop.is_set():
            try:
                sim.last_report()
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            with ascend_cy.compile(ARGUMENTS) as module:
                module.kernel("set_first<float>")[1](out, 1)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures


def test_data_that_travels_along(arguments):
    kernel = arguments.kernel("with_tiling", "ptr out, data tiling")
    out = ascend_cy.zeros(3)
    for tiling in (np.arange(3, dtype="f4"), np.arange(3, dtype="f4").tobytes(), bytearray(np.arange(3, dtype="f4"))):
        kernel[2](out, tiling)
        assert out.to_numpy().tolist() == [2, 3, 4]
    # The source says GM_ADDR: memory of the device is as good.
    arguments.kernel("with_tiling")[1](out, ascend_cy.asarray(np.ones(3, "f4")))
    assert out.to_numpy().tolist() == [2, 2, 2]


def test_templates_are_found_under_the_sources_name(arguments):
    assert arguments.kernels == ["scalars", "with_tiling", "set_first<float>", "set_first<int32_t>"]
    x, y = ascend_cy.zeros(3), ascend_cy.zeros(3, "i4")
    arguments.kernel("set_first<float>")[1](x, 2.5)
    arguments.kernel("set_first<int32_t>")[1](y, 2.5)
    assert (x.to_numpy()[0], y.to_numpy()[0]) == (2.5, 2)


def test_pointers(arguments, stream):
    kernel = arguments.kernel("set_first<float>")
    out = ascend_cy.zeros(4, stream=stream)
    kernel[1, stream](out[2:], 1)
    kernel[1, stream](out.ptr, 2)
    assert out.to_numpy(stream=stream).tolist() == [2, 0, 1, 0]
    torch = pytest.importorskip("torch")
    if embedded.kind() == "cpu":
        shared = torch.from_dlpack(out)
        kernel[1, stream](shared, 7)
        assert out.to_numpy(stream=stream)[0] == 7
        # What `sim` knows of a pointer holds on the cpu device, too.
        with pytest.raises(ascend_cy.AclError, match="no live device memory"):
            kernel[1, stream](torch.zeros(3), 7)
    else:
        with pytest.raises(TypeError, match="out is a tensor on cpu, which this device cannot reach"):
            kernel[1, stream](torch.zeros(3), 7)


def test_launches_are_ordered_with_everything_else(arguments):
    """On two streams, without a word: behind what writes, before what writes later."""
    one, two = ascend_cy.Stream(), ascend_cy.Stream()
    kernel = arguments.kernel("set_first<float>")
    for _ in range(20):
        x = ascend_cy.full(1000, 3, stream=one)
        one.add_callback(time.sleep, 0.001)
        x.fill(4, one)
        kernel[1, two](x, 5)
        y = ascend_cy.vector_add(x, x, stream=one)
        x.fill(0, two)
        assert y.to_numpy()[:2].tolist() == [10, 8]
        del x, y


@pytest.mark.parametrize("launch, error, text", [
    (lambda k, o: k[1](o), TypeError, r"set_first<float> takes 2 arguments \(ptr out, f32 value\), got 1"),
    (lambda k, o: k[0](o, 1), ValueError, "blocks must be between 1 and 65535, got 0"),
    (lambda k, o: k[65536](o, 1), ValueError, "blocks must be between 1 and 65535, got 65536"),
    (lambda k, o: k["8"](o, 1), TypeError, "blocks must be an integer, got str"),
    (lambda k, o: k[True](o, 1), TypeError, "blocks must be an integer, got bool"),
    (lambda k, o: k[1, "s"](o, 1), TypeError, "stream must be a Stream or None, got str"),
    (lambda k, o: k[1, None, 3](o, 1), TypeError, "got 3 indices"),
    (lambda k, o: k(o, 1), TypeError, "the number of blocks is missing"),
    (lambda k, o: k[1](np.ones(3), 1), TypeError, r"out is in host memory \(ndarray\): move it with ascend_cy.asarray"),
    (lambda k, o: k[1]("x", 1), TypeError, "out must be a DeviceArray, a torch tensor, an address or None, got str"),
    (lambda k, o: k[1](-1, 1), ValueError, "out must be an address, got -1"),
    (lambda k, o: k[1](2**64, 1), ValueError, "out must be an address"),
    (lambda k, o: k[1](o, "1"), TypeError, "value must be a number, got str"),
    (lambda k, o: k[1](o, True), TypeError, "value must be a number, got bool"),
    (lambda k, o: k[1](o, 1e39), OverflowError, "value must fit f32, got 1e"),
])
def test_bad_launches(arguments, launch, error, text):
    kernel = arguments.kernel("set_first<float>")
    out = ascend_cy.zeros(3)
    ascend_cy.synchronize()
    with embedded.counted_calls("aclrtLaunchKernelWithHostArgs") as calls:
        with pytest.raises(error, match=text):
            launch(kernel, out)
        assert calls() == 0


@pytest.mark.parametrize("place, value, text", [
    (1, 128, "a must fit i8, got 128"), (1, -129, "a must fit i8"), (2, -1, "b must fit u16, got -1"),
    (3, 2**31, "c must fit i32"), (4, 2**64, "d must fit u64"), (6, 65520.0, "f must fit f16"), (7, 3.4e38, "g must fit bf16"),
    (3, 1.0, "c must be an integer, got float"), (3, np.float32(1), "c must be an integer, got float32"),
    (8, 2, "h must be a bool, got int"), (9, b"1234567", "t must have 8 bytes, got 7"), (9, 5, "t must be bytes"),
])
def test_values_out_of_range(arguments, place, value, text):
    good = [ascend_cy.zeros(10), 1, 1, 1, 1, 1.0, 1.0, 1.0, True, bytes(8)]
    good[place] = value
    with pytest.raises((TypeError, ValueError, OverflowError), match=text):
        arguments.kernel("scalars")[1](*good)


@pytest.mark.parametrize("signature, text", [
    ("ptr, f64", "f64 arg1 takes 8 bytes at 8, but the kernel reads 4 bytes at 8"),
    ("ptr", "has 1 parameters, but the kernel takes 2"),
    ("ptr x, f32 x", "two parameters called 'x'"),
    ("ptr, quad", "parameter 1 of the signature is not understood: 'quad'"),
    ("ptr, f32 a b", "is not understood"),
    ("ptr **x, f32", "no pointers to pointers"),
    ("ptr, struct[6, 4]", "a multiple of its alignment"),
    ("ptr,,f32", "is not understood"),
])
def test_bad_signatures(arguments, signature, text):
    with pytest.raises(ValueError, match=text):
        arguments.kernel("set_first<float>", signature)


def test_other_mistakes(arguments, tmp_path):
    with pytest.raises(ValueError, match="a kernel of the module source, got 'nope'; it has scalars, with_tiling"):
        arguments.kernel("nope")
    with pytest.raises(ValueError, match="got 'scalar'; did you mean 'scalars'[?] It has scalars, with_tiling"):
        arguments.kernel("scalar")
    with pytest.raises(ascend_cy.AclError, match='no kernel "nope"; it has scalars, with_tiling'):
        arguments.kernel("nope", "ptr")
    with pytest.raises(ValueError, match="layout must be 'compiler' or 'slots'"):
        arguments.kernel("scalars", "ptr", layout="packed")
    with pytest.raises(TypeError, match="name must be a string"):
        arguments.kernel(3)
    with pytest.raises(FileNotFoundError):
        ascend_cy.load(tmp_path / "none.so")
    with pytest.raises(TypeError, match="source must be a path or bytes, got int"):
        ascend_cy.load(3)
    with pytest.raises(ascend_cy.AclError, match="no ELF image"):
        ascend_cy.load(b"not a binary")
    for kind in (ascend_cy.Module, ascend_cy.Kernel):
        with pytest.raises(TypeError, match="is made by|takes no arguments"):
            kind()
        with pytest.raises(TypeError, match="is made by|takes no arguments|exactly 0"):
            kind(tmp_path)
    closed = ascend_cy.zeros(3)
    closed.close()
    with pytest.raises(ValueError, match="out is closed"):
        arguments.kernel("set_first<float>")[1](closed, 1)


def test_launches_take_no_keywords():
    x = ascend_cy.zeros(1)
    with ascend_cy.compile(ONE_LINE) as module:
        kernel = module.kernel("put")
        wrong = [lambda: kernel[1](x, value=2), lambda: kernel[1](x=x, value=2), lambda: kernel.launch(x, blocks=1, value=2),
                 lambda: kernel.launch(x, 2, blocks=1, steam=None), lambda: kernel[1](x, 2, blocks=1)]
        for call, name in zip(wrong, ["value", "x", "value", "steam", "blocks"], strict=True):
            with pytest.raises(TypeError, match=rf"put takes its arguments by position \(ptr x, f32 value\), got the keyword '{name}'"):
                call()
        with pytest.raises(TypeError, match="the number of blocks is missing"):
            kernel(x, 2, blocks=1)
        assert x.to_numpy()[0] == 0


# ---- compiling ----

ONE_LINE = '''#include "kernel_operator.h"
extern "C" __global__ __aicore__ void put(GM_ADDR x, float value) { ((__gm__ float *)x)[0] = value; }
'''


def test_one_line_of_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = ONE_LINE.splitlines()[1]
    with ascend_cy.compile(line) as module:
        assert module.kernels == ["put"] and module.path is None
    for text in ("k.cpp", "no source", "folder (2)/k.cpp", "a;b.h"):
        with pytest.raises(FileNotFoundError, match="source code where it has a line break") as caught:
            ascend_cy.compile(text)
        assert caught.value.filename == str(tmp_path / text)
    with pytest.raises(FileNotFoundError):
        ascend_cy.compile(tmp_path / "f() {}")
    (tmp_path / "f() {}").write_text(ONE_LINE)
    with ascend_cy.compile("f() {}") as module:
        assert module.path == str(tmp_path / "f() {}")


@pytest.mark.parametrize("text", ["int x;", "int x;\n", "", "// __global__\n", '#include "kernel_operator.h"\nint x;\n'])
def test_no_kernel_and_no_target(text):
    with pytest.raises(ascend_cy.CompileError, match="^<source>: no kernel found") as caught:
        ascend_cy.compile(text)
    assert "compile for cpu" not in str(caught.value)


def test_what_is_taken_as_plain_cpp_says_why():
    with pytest.raises(ascend_cy.CompileError, match="does not compile for cpu, as C.. without a __global__ function"):
        ascend_cy.compile("#include <cstddef>\nnonsense\n")
    with pytest.raises(ascend_cy.CompileError, match="does not compile for cpu:"):
        ascend_cy.compile("#include <cstddef>\nnonsense\n", target="cpu")


@pytest.mark.parametrize("source, text", [
    ("#include \"kernel_operator.h\"\nextern \"C\" __global__ __aicore__ void k(GM_ADDR x)\n{\n    nonsense(x);\n}\n",
     r"<source>:4:5: error: 'nonsense' was not declared"),
    ("// nothing\n", "no kernel found"),
    ("#include \"nothing.h\"\nextern \"C\" __global__ __aicore__ void k(GM_ADDR x)\n{\n}\n", r"<source>:1:10: fatal error: nothing.h"),
])
def test_errors_of_the_compiler_name_the_users_lines(source, text):
    with pytest.raises(ascend_cy.CompileError, match=text) as caught:
        ascend_cy.compile(source, target="sim")
    assert "/tmp/ascend_cy-" not in str(caught.value)


CONDITIONS = """
#include "kernel_operator.h"
#include "level.h"
#define TEXT "a /* string"
/*
#if 1
*/
#define PUT(name, value) \\
    extern "C" __global__ __aicore__ void name(GM_ADDR x) { ((__gm__ float *)x)[0] = value; }
#if 0 /* not
         yet */
extern "C" __global__ __aicore__ void never(GM_ADDR x) { nonsense }
#elif LEVEL > 1 && defined(WIDE)
extern "C" __global__ __aicore__ void put(GM_ADDR x, float value) { ((__gm__ float *)x)[0] = value; }
#else
#define HEAD extern "C" __global__ __aicore__ void
HEAD put(GM_ADDR x) { ((__gm__ float *)x)[0] = LEVEL; }
template <class T> __global__ __aicore__ void of(GM_ADDR x) { ((__gm__ T *)x)[0] = 5; }
#   ifdef HALVES
template __global__ __aicore__ void of<half>(GM_ADDR x);
#   endif
template __global__ __aicore__ void of<float>(GM_ADDR x);
#endif
"""


def test_kernels_in_conditions(tmp_path):
    """Those count that the compiler compiles, with its options and with what the source includes."""
    (tmp_path / "level.h").write_text("#define LEVEL 2\n")
    x = ascend_cy.zeros(1)
    with ascend_cy.compile(CONDITIONS, include_dirs=[tmp_path]) as module:
        assert module.kernels == ["put", "of<float>"]
        module.kernel("put")[1](x)
        assert x.to_numpy()[0] == 2
        module.kernel("of<float>")[1](x)
        assert x.to_numpy()[0] == 5
    with ascend_cy.compile(CONDITIONS, include_dirs=[tmp_path], options=["-DWIDE"]) as module:
        assert module.kernels == ["put"]
        module.kernel("put")[1](x, 7)
        assert x.to_numpy()[0] == 7
    with ascend_cy.compile(CONDITIONS, include_dirs=[tmp_path], options=["-DHALVES"]) as module:
        assert module.kernels == ["put", "of<half>", "of<float>"]
    with pytest.raises(ascend_cy.CompileError, match="<source>: no kernel found.*conditions that are not met do not count"):
        ascend_cy.compile("#if 0\n__global__ void k(GM_ADDR x) {}\n#endif\n", target="sim")
    (tmp_path / "level.h").unlink()
    with pytest.raises(ascend_cy.CompileError, match=r"<source>:3:10: fatal error: level.h"):
        ascend_cy.compile(CONDITIONS, include_dirs=[tmp_path])
    with pytest.raises(ascend_cy.CompileError, match=r"<source>:1:2: error: #error it is old") as caught:
        ascend_cy.compile("#error it is old\n#ifndef X\n__global__ void k(GM_ADDR x) {}\n#endif\n", target="sim")
    assert "conditions.cpp" not in str(caught.value)


def test_a_file_that_includes_another(tmp_path):
    """A change of what is included makes another binary; what was compiled before is found again."""
    header, source = tmp_path / "value.h", tmp_path / "k.cpp"
    source.write_text('#include "kernel_operator.h"\n#include "value.h"\nextern "C" __global__ __aicore__ void k(GM_ADDR x)\n'
                      "{\n    AscendC::GlobalTensor<float> g;\n    g.SetGlobalBuffer((__gm__ float *)x, 1);\n"
                      "    g.SetValue(0, VALUE);\n}\n")
    out = ascend_cy.zeros(1)
    digests = []
    for value in (1, 2, 1):
        header.write_text(f"#define VALUE {value}.0f\n")
        with ascend_cy.compile(source) as module:
            module.kernel("k")[1](out)
            assert out.to_numpy()[0] == value
            assert (module.name, module.path) == ("k", str(source))
            digests.append(module.digest)
    assert digests[0] == digests[2] != digests[1]
    with ascend_cy.compile(source, options=["-DOTHER"]) as module:
        assert module.kernels == ["k"]


def test_the_same_source_again_is_not_compiled(tmp_path):
    source = ARGUMENTS.replace("set_first", "set_one")
    ascend_cy.compile(source).unload()
    # A compiler that cannot work: only its --version is asked.
    fake = tmp_path / "c++"
    real = embedded.compiler()[0]
    fake.write_text(f"#!/bin/sh\ncase \"$*\" in *--version*) exec {real} --version;; esac\nexit 3\n")
    fake.chmod(0o755)
    with pytest.raises(ascend_cy.CompileError):
        ascend_cy.compile(source, compiler=str(fake))
    ascend_cy.compile(source).unload()


# ---- versions ----

VALUE = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void set_value(GM_ADDR x)
{{
    AscendC::GlobalTensor<float> global;
    global.SetGlobalBuffer((__gm__ float *)x, 1);
    global.SetValue(0, {value});
}}
"""


def test_versions_side_by_side():
    made = [ascend_cy.compile(VALUE.format(value=f"{i}.0f"), name="value", version=str(i)) for i in (1, 2)]
    assert [(m.name, m.version) for m in ascend_cy.modules() if m.name == "value"] == [("value", "1"), ("value", "2")]
    out = ascend_cy.zeros(1)
    for i, module in enumerate(made, 1):
        module.kernel("set_value")[1](out)
        assert out.to_numpy()[0] == i
    binary = made[0]
    digest = binary.digest
    made[0].unload()
    assert [m.version for m in ascend_cy.modules() if m.name == "value"] == ["2"]
    with pytest.raises(ValueError, match="the module value is unloaded"):
        binary.kernel("set_value")
    assert binary.closed and len(digest) == 64
    made[1].unload()


def test_a_callback_does_not_wait_for_launches():
    """It is one of the things they wait for. The module is unloaded all the same, as the launches have passed."""
    module = ascend_cy.compile(VALUE.format(value="3.0f"), name="behind a callback")
    stream, out = ascend_cy.Stream(), ascend_cy.zeros(1)
    launched, seen = threading.Event(), []

    def work():
        launched.wait(60)
        try:
            module.unload()
        except ascend_cy.AclError as error:
            seen.append(str(error))

    stream.add_callback(work)
    module.kernel("set_value")[1, stream](out)
    launched.set()
    stream.synchronize()
    assert len(seen) == 1 and "a callback must not wait" in seen[0]
    assert out.to_numpy()[0] == 3 and module.closed
    assert module not in ascend_cy.modules()


def test_reload_under_load():
    """No call is lost and none sees a mixture, while versions come and go."""
    module = ascend_cy.compile(VALUE.format(value="1.0f"))
    kernel = module.kernel("set_value")
    stop = threading.Event()
    seen, failures = set(), []

    def work():
        try:
            with ascend_cy.Stream() as stream:
                out = ascend_cy.zeros(1)
                while not stop.is_set():
                    kernel[1, stream](out)
                    seen.add(float(out.to_numpy()[0]))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    [thread.start() for thread in threads]
    for value in (2, 3, 1, 2):
        assert module.reload(VALUE.format(value=f"{value}.0f"))
        time.sleep(0.05)
    stop.set()
    [thread.join() for thread in threads]
    assert not failures
    assert seen <= {1.0, 2.0, 3.0} and 2.0 in seen
    out = ascend_cy.zeros(1)
    kernel[1](out)
    assert out.to_numpy()[0] == 2
    module.unload()
    with pytest.raises(ValueError, match="is unloaded"):
        kernel[1](out)


def test_a_reload_that_fails_changes_nothing():
    module = ascend_cy.compile(VALUE.format(value="1.0f"))
    kernel = module.kernel("set_value")
    with pytest.raises(ascend_cy.CompileError):
        module.reload(VALUE.format(value="nonsense"))
    with pytest.raises(ascend_cy.AclError, match="no kernel"):
        module.reload(VALUE.format(value="2.0f").replace("set_value", "other_name"))
    for text in ("int x;", "#include <cstddef>\nint x;\n"):
        with pytest.raises(ascend_cy.CompileError, match="^<source>: no kernel found .a __global__ function"):
            module.reload(text)
    with pytest.raises(ValueError, match="is in use with the parameters"):
        module.reload(VALUE.format(value="2.0f").replace("GM_ADDR x", "GM_ADDR x, float y"))
    with pytest.raises(ValueError, match="digest must be 00, but"):
        module.reload(VALUE.format(value="2.0f"), digest="00")

    def refuse(trial):
        out = ascend_cy.zeros(1)
        trial.kernel("set_value")[1](out)
        raise LookupError(out.to_numpy()[0])

    with pytest.raises(LookupError, match="2.0"):
        module.reload(VALUE.format(value="2.0f"), warm=refuse)
    with pytest.raises(ValueError, match="source must be given"):
        module.reload()
    out = ascend_cy.zeros(1)
    kernel[1](out)
    assert out.to_numpy()[0] == 1
    assert not module.reload(VALUE.format(value="1.0f"))
    module.unload()
