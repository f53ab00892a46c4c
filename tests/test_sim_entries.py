# SPDX-License-Identifier: Apache-2.0
"""The generator of entry tables, and the tables that its sources become."""

import ctypes
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
import simdriver  # noqa: E402

entries = simdriver.entries
needs_compiler = pytest.mark.skipif(simdriver.compiler() is None, reason="needs a C++ compiler")

SOURCE = r'''
#include "kernel_operator.h"
/* extern "C" __global__ __aicore__ void in_a_comment(GM_ADDR x) {} */
// __global__ __aicore__ void in_a_line(GM_ADDR x) {} \
   __global__ void continued(GM_ADDR x) {}
static const char *text = "__global__ __aicore__ void in_a_string(GM_ADDR x) {}";

struct Inner {
    double a;
    int8_t b;
};
struct Tiling {
    uint16_t rows;
    Inner inner;
    float scale;
};
struct Small {
    int8_t value;
};
enum class Mode : uint8_t { kOne = 1, kTwo };

extern "C" __global__ __aicore__ void no_arguments() {}
extern "C" __global__ __aicore__ void declared_only(GM_ADDR out);

extern "C" __global__ __vector__ void all_kinds(__gm__ float *out, int8_t a, uint16_t b, int32_t c, int64_t d, float e,
                                                half f, bool g, Mode h, Small i, Tiling j, const __gm__ double *k)
{
    out[0] = a; out[1] = b; out[2] = c; out[3] = static_cast<float>(d); out[4] = e; out[5] = f; out[6] = g;
    out[7] = static_cast<float>(h); out[8] = i.value; out[9] = j.rows; out[10] = static_cast<float>(j.inner.a);
    out[11] = j.inner.b; out[12] = j.scale; out[13] = k == nullptr ? -1.0f : static_cast<float>(*k);
}

namespace outer {
namespace inner {
__global__ __aicore__ void mangled(GM_ADDR out, [[maybe_unused]] uint32_t unused = 3)
{
    ((__gm__ float *)out)[0] = 1.0f;
}
} // namespace inner
}

template <typename T, int n> __global__ __aicore__ void templated(__gm__ T *out)
{
    for (int i = 0; i < n; ++i) {
        out[i] = static_cast<T>(n);
    }
}
template __global__ __aicore__ void templated<float, 3>(__gm__ float *out);
template __global__ __aicore__ void templated<int32_t, 2>(__gm__ int32_t *out);

__mix__(1, 2) __global__ void fused(GM_ADDR out) {}
extern "C" __global__ __aicore__ void typed(GM_ADDR out)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
}
extern "C" __global__ __cube__ void on_cubes(GM_ADDR) {}
'''


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("entries") / "kinds.cpp"
    path.write_text(SOURCE)
    return path


def test_kernels_of_a_source(source):
    kernels = {k.name: k for k in entries.find_kernels(source)}
    assert list(kernels) == ["no_arguments", "all_kinds", "outer::inner::mangled", "templated<float, 3>",
                             "templated<int32_t, 2>", "fused", "typed", "on_cubes"]
    assert kernels["no_arguments"].parameters == []
    assert kernels["all_kinds"].parameters == ["out", *"abcdefghijk"]
    assert kernels["outer::inner::mangled"].parameters == ["out", "unused"]
    assert kernels["on_cubes"].parameters == ["arg0"]
    cores = {name: (k.core_kind, k.cubes, k.vectors) for name, k in kernels.items()}
    assert cores["all_kinds"] == (1, 0, 1) and cores["on_cubes"] == (2, 1, 0)
    assert cores["fused"] == (3, 1, 2) and cores["typed"] == (3, 1, 1)
    assert not any(k.synchronizes for k in kernels.values())


def test_calls_that_make_blocks_wait_are_found_in_included_files(tmp_path):
    (tmp_path / "helper.h").write_text("inline void Meet() { AscendC::SyncAll(); }\n")
    path = tmp_path / "k.cpp"
    path.write_text('#include "helper.h"\nextern "C" __global__ __aicore__ void k(GM_ADDR x) { Meet(); }\n')
    assert entries.find_kernels(path)[0].synchronizes
    path.write_text('// SyncAll\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {}\n')
    assert not entries.find_kernels(path)[0].synchronizes


def test_directives_are_no_kernels_and_a_head_may_have_a_name(tmp_path):
    path = tmp_path / "k.cpp"
    path.write_text("""
#define CHECKED(x) __global__ x
#define KERNEL extern "C" __global__ \\
    __vector__ void
#define KERNELS 3
template <class T> inline T *At(T *p) { return p + KERNELS; }
KERNEL one(GM_ADDR x, float a) {}
KERNEL two(GM_ADDR) {}
extern "C" __global__ __aicore__ void three(GM_ADDR x) {}
""")
    kernels = entries.find_kernels(path)
    assert [(k.name, k.parameters, k.has_c_name) for k in kernels] == [
        ("one", ["x", "a"], True), ("two", ["arg0"], True), ("three", ["x"], True)]
    # A macro alone is no kernel.
    path.write_text('#define KERNEL __global__ void\ninline int f(int x) { return x; }\n')
    with pytest.raises(entries.KernelSourceError, match="no kernel found"):
        entries.find_kernels(path)


def test_conditions_are_left_to_the_preprocessor(tmp_path):
    """It is shown the directives and where kernels are declared; without it, every kernel counts."""
    path = tmp_path / "k.cpp"
    path.write_text("""#ifdef A
extern "C" __global__ __aicore__ void one(GM_ADDR x) {}
#else
extern "C" __global__ __aicore__ void two(GM_ADDR x) {}
#endif
extern "C" __global__ __aicore__ void three(GM_ADDR x) {}
""")
    assert [k.name for k in entries.find_kernels(path)] == ["one", "two", "three"]
    shown = []

    def preprocess(text):
        shown.append(text)
        return "\n".join(line for line in text.split("\n") if "_1" not in line and not line.startswith("#"))

    assert [k.name for k in entries.find_kernels(path, preprocess=preprocess)] == ["one", "three"]
    assert [line.split() for line in shown[0].split("\n")] == [
        ["#ifdef", "A"], ["ascend_cy_kernel_0"], ["#else"], ["ascend_cy_kernel_1"], ["#endif"], ["ascend_cy_kernel_2"], [], []]
    # Nobody is asked where nothing depends on it.
    path.write_text('#ifdef A\n#define B\n#endif\nextern "C" __global__ __aicore__ void one(GM_ADDR x) {}\n')
    assert [k.name for k in entries.find_kernels(path, preprocess=preprocess)] == ["one"] and len(shown) == 1


def test_a_source_without_kernels_is_an_error(tmp_path):
    path = tmp_path / "k.cpp"
    path.write_text('int f() { return 0; }\n// extern "C" __global__ void k() {}\n')
    with pytest.raises(entries.KernelSourceError, match="no kernel found"):
        entries.find_kernels(path)
    script = Path(entries.__file__)
    result = subprocess.run([sys.executable, str(script), str(path), "-o", str(tmp_path / "out.cpp")], capture_output=True,
                            text=True)
    assert result.returncode == 1 and "no kernel found" in result.stderr and not (tmp_path / "out.cpp").exists()


@pytest.fixture(scope="module")
def binary(source):
    return simdriver.Binary(simdriver.build(source, flags=("-O0", "-Wno-unused-parameter")))


@needs_compiler
def test_the_table(binary):
    names = [k.name.decode() for k in binary.kernels()]
    assert names[:2] == ["no_arguments", "all_kinds"] and names[5:] == ["_Z5fusedPh", "typed", "on_cubes"]
    # Without extern "C" the linker's name counts.
    assert names[2] == "_ZN5outer5inner7mangledEPhj"
    assert names[3].startswith("_Z9templatedIfLi3EEvP") and names[4].startswith("_Z9templatedIiLi2EEvP")
    desc = binary.kernels()[1]
    layout = [(p.name.decode(), p.offset, p.size, p.kind) for p in desc.params[: desc.num_params]]
    pointer, integer, real, by_value = 1, 2, 3, 4
    assert layout == [
        ("out", 0, 8, pointer), ("a", 8, 1, integer), ("b", 12, 2, integer), ("c", 16, 4, integer), ("d", 24, 8, integer),
        ("e", 32, 4, real), ("f", 36, 2, real), ("g", 40, 1, integer), ("h", 44, 1, integer), ("i", 48, 1, by_value),
        ("j", 56, 32, by_value), ("k", 88, 8, pointer),
    ]
    assert desc.args_size == 96
    assert [k.instances_per_block for k in binary.kernels()] == [1, 1, 1, 1, 1, 3, 2, 1]


@needs_compiler
def test_arguments_arrive(binary):
    out = simdriver.Buffer(np.zeros(16, np.float32))
    tiling = struct.pack("<Hxxxxxxdbxxxxxxxfxxxx", 300, 2.5, -7, 0.25)
    assert len(tiling) == 32
    block = struct.pack("<Qbxxx Hxx i xxxx q f Hxx ?xxx Bxxx b".replace(" ", ""), out.address, -3, 60000, -5, 1 << 40, 1.5,
                        int(np.float16(-2).view(np.uint16)), True, 2, 9)
    block = block.ljust(56, b"\0") + tiling + struct.pack("<Q", 0)
    binary.launch("all_kinds", 1, block)
    assert out.numpy()[:14].tolist() == [-3, 60000, -5, float(1 << 40), 1.5, -2, 1, 2, 9, 300, 2.5, -7, 0.25, -1]
    binary.launch(binary.kernels()[3].name.decode(), 1, out)
    assert out.numpy()[:4].tolist() == [3, 3, 3, float(1 << 40)]
    with pytest.raises(RuntimeError, match="too few arguments"):
        binary.launch("all_kinds", 1, block[:-8])


@needs_compiler
def test_the_command_for_users_kernels(source, tmp_path):
    """The command works on the layout of the installed package's headers."""
    include = tmp_path / "include"
    include.mkdir()
    (include / "ascendc").symlink_to(simdriver.INCLUDE_ASCENDC)
    (include / "ascend_cy").symlink_to(simdriver.ROOT / "csrc/include/ascend_cy")
    generated = tmp_path / "entries.cpp"
    generated.write_text(entries.generate(source))
    command = entries.sim_compile_command(generated, tmp_path / "k.so", include, compiler=simdriver.compiler(),
                                          extra_flags=["-O0"])
    subprocess.run(command, check=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "k.so"))
    assert library.ascend_kernel_table
    # Nothing of a device is needed.
    symbols = subprocess.run(["nm", "-D", "--undefined-only", str(tmp_path / "k.so")], capture_output=True, text=True).stdout
    assert " acl" not in symbols and "rtKernel" not in symbols
