# SPDX-License-Identifier: Apache-2.0
"""Kernels of the user on an NPU: compiled by CANN's compiler and launched, where stand-ins take the place of both."""

from __future__ import annotations

import textwrap

import child
import embedded
import pytest
from cann import Cann

import ascend_cy

SHARED = '''
import sys
from pathlib import Path
import numpy as np
import ascend_cy

folder = Path(sys.argv[1])
HEAD = """
#include "kernel_operator.h"
using namespace AscendC;
"""
SOURCE = HEAD + """
#include "factor.h"
struct Tiling {
    uint32_t n;
    float shift;
};
extern "C" __global__ __aicore__ void scale(GM_ADDR x, const __gm__ float *y, GM_ADDR tiling, float more)
{
    GlobalTensor<float> from, to, numbers;
    auto t = (__gm__ Tiling *)tiling;
    to.SetGlobalBuffer((__gm__ float *)x, t->n);
    from.SetGlobalBuffer((__gm__ float *)y, t->n);
    for (uint32_t i = GetBlockIdx(); i < t->n; i += GetBlockNum())
        to.SetValue(i, FACTOR * from.GetValue(i) + t->shift + more);
}
"""

def compile_scale(source, **more):
    return ascend_cy.compile(source, include_dirs=[folder], **more)

tiling = np.array((5, 0.5), dtype=[("n", "u4"), ("shift", "f4")])

def values(module):
    x, y = ascend_cy.zeros(6), ascend_cy.asarray(np.arange(6, dtype="f4"))
    with ascend_cy.Stream() as stream:
        module.kernel("scale", "ptr x, const ptr y, data tiling, f32 more")[3, stream](x, y, tiling, 0.25)
        return x.to_numpy(stream=stream).tolist()

def expected(factor):
    return [*(factor * i + 0.75 for i in range(5)), 0]
'''


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def cann(tmp_path, kept):
    """Makes an installation, which runs code in a process that has an NPU."""
    embedded.require()
    embedded.compiler()

    class Here(Cann):
        def check(self, code, **more):
            env = {**self.environment, "ASCEND_CY_CACHE_DIR": str(tmp_path / "cache"), **more}
            code = SHARED + textwrap.dedent(code).strip() + "\nprint('done')\n"
            assert child.check(code, tmp_path, args=[tmp_path], env=env, timeout=200) == "done\n"

    def install(version="8.5.0"):
        made = Here(tmp_path / "cann", version)
        made.environment = made.device_library(kept)
        return made

    (tmp_path / "factor.h").write_text("#ifndef FACTOR\n#define FACTOR 2.0f\n#endif\n")
    return install


def test_from_the_source_to_the_values(cann):
    """The device's family is the target; options, headers and the cache are as for the simulator."""
    made = cann()
    made.check("""
    assert ascend_cy.device_info()["kind"] == "npu", ascend_cy.device_info()
    (folder / "scale.cpp").write_text(SOURCE)
    with compile_scale(folder / "scale.cpp") as module:
        assert values(module) == expected(2) and module.kernels == ["scale"], values(module)
        assert module.kernel("scale").signature == "ptr x, const ptr y, ptr tiling, f32 more"
    with compile_scale(folder / "scale.cpp", options=["-DFACTOR=3.0f"], target="ascend910b") as module:
        assert values(module) == expected(3)
    with compile_scale(folder / "scale.cpp") as module:      # from the cache
        assert values(module) == expected(2)
        (folder / "factor.h").write_text("#define FACTOR 4.0f\\n")
        assert module.reload() and values(module) == expected(4)
    """)
    calls = made.calls()
    assert [call[0] for call in calls] == ["bisheng", "ld.lld"] * 3
    assert "--npu-arch=dav-2201" in calls[0] and "-DFACTOR=3.0f" in calls[2] and "-DFACTOR=3.0f" not in calls[0]
    # Another process, and another compiler under the same name.
    again = "assert values(compile_scale(folder / 'scale.cpp')) == expected(4)"
    made.check(again)
    assert len(made.calls()) == 6
    program = made.bin / "bisheng"
    program.write_text(program.read_text().replace("import cann", "import cann\nif '--version' in sys.argv: print('newer')", 1))
    made.check(again)
    assert len(made.calls()) == 8


def test_with_an_older_cann(cann):
    made = cann("8.1.RC1")
    made.check("assert values(compile_scale(SOURCE, options=['-DFACTOR=3.0f'])) == expected(3)")
    assert "--cce-aicore-arch=dav-c220-vec" in made.calls()[0]


def test_errors_name_the_users_lines(cann):
    made = cann()
    made.check("""
    (folder / "wrong.cpp").write_text(SOURCE.replace("to.SetValue", "nonsense.SetValue"))
    line = SOURCE[:SOURCE.index("to.SetValue")].count("\\n") + 1
    for source, shown in ((folder / "wrong.cpp", folder / "wrong.cpp"), ((folder / "wrong.cpp").read_text(), "<source>")):
        try:
            compile_scale(source)
            raise SystemExit("it was compiled")
        except ascend_cy.CompileError as error:
            assert str(error).startswith(f"{shown} does not compile for ascend910b:"), error
            assert f"{shown}:{line}:" in str(error) and "nonsense" in error.log and "bisheng" in error.command[0], error
    """)
    made.check("""
    try:
        compile_scale(SOURCE)
        raise SystemExit("it was linked")
    except ascend_cy.CompileError as error:
        assert "no such intrinsic" in error.log and error.command[0].endswith("ld.lld"), error
    """, STAND_IN_FAILS="ld.lld")


def test_kernels_in_conditions(cann):
    """Those count that CANN's compiler compiles."""
    made = cann()
    made.check("""
    source = HEAD + '''
    #include "factor.h"
    #ifdef WIDE
    extern "C" __global__ __aicore__ void put(GM_ADDR x, uint64_t n) { ((__gm__ float *)x)[0] = n; }
    #else
    extern "C" __global__ __aicore__ void put(GM_ADDR x, uint32_t n) { ((__gm__ float *)x)[0] = n + FACTOR; }
    #endif
    '''
    x = ascend_cy.zeros(1)
    for options, signature, value in (([], "ptr x, u32 n", 9), (["-DWIDE"], "ptr x, u64 n", 7)):
        kernel = compile_scale(source, options=options).kernel("put")
        assert kernel.signature == signature
        kernel[1](x, 7)
        assert x.to_numpy()[0] == value
    """)


def test_without_its_compiler(cann, tmp_path):
    """The message lists where it was looked for."""
    made = cann()
    made.environment["HOME"] = str(tmp_path)
    (made.bin / "ld.lld").unlink()
    made.check("""
    try:
        compile_scale(SOURCE)
        raise SystemExit("it was compiled")
    except ascend_cy.CompileError as error:
        text = str(error)
    assert "no CANN compiler (bisheng and ld.lld) found in: " in text and str(folder / "cann") in text, text
    assert "source CANN's set_env.sh" in text and "ASCEND_HOME_PATH" in text, text
    """)
    # A file that cannot be run.
    (made.bin / "ld.lld").write_text("")
    (made.bin / "ld.lld").chmod(0o755)
    (made.bin / "bisheng").write_bytes(b"\x7fELF")
    made.check("""
    try:
        compile_scale(SOURCE)
        raise SystemExit("it was compiled")
    except ascend_cy.CompileError as error:
        assert "cannot run the compiler" in str(error) and "bisheng" in str(error), error
    """)


def test_where_no_npu_is(cann, tmp_path):
    """What is compiled for an NPU is not for the embedded device."""
    made = cann()
    made.environment |= {"ASCEND_CY_DEVICE": "cpu", "STAND_IN_COMPILES": ""}
    made.check("""
    try:
        compile_scale(SOURCE, target="ascend910b")
        raise SystemExit("it was loaded")
    except ValueError as error:
        assert "no NPU is in use, got 'ascend910b'; the source does compile for it" in str(error), error
    assert ascend_cy.modules() == [] and not ascend_cy.live_objects()["modules"]
    """)
    assert len(made.calls()) == 2


def test_other_chips_are_refused_by_name(cann):
    made = cann()
    made.check("""
    try:
        compile_scale(SOURCE)
        raise SystemExit("it was compiled")
    except ascend_cy.CompileError as error:
        assert str(error) == "kernels are compiled for ascend910b, ascend910_93; not for this device's ascend310p3", error
    """, ASCENDCL_CPU_SOC="Ascend310P3")
    assert made.calls() == []
