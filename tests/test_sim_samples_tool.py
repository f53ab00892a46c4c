# SPDX-License-Identifier: Apache-2.0
"""The parts of tools/asc_samples that need none of the vendor's files: the rewritten launch, and our own hosts."""

import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent / "tools" / "asc_samples"


@pytest.fixture(scope="module", autouse=True)
def _path():
    sys.path.insert(0, str(TOOL))
    yield
    sys.path.remove(str(TOOL))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("add<<<8, 0, stream>>>(x, y);",
         '::asc_samples::Launch("add", false, {8, 0, stream}, [](auto... asc_a) { add(asc_a...); }, x, y);'),
        ("if (a < b) ns::add<T, sizeof(T) * 2><<<n>>>();",
         'if (a < b) ::asc_samples::Launch("ns::add", false, {n}, [](auto... asc_a) { ns::add<T, sizeof(T) * 2>(asc_a...); });'),
        ("k<pair<int, 3>><<<f(1, 2), 0, s>>>\n    ((float *)(p), g(q));",
         '::asc_samples::Launch("k", false, {f(1, 2), 0, s}, [](auto... asc_a) { k<pair<int, 3>>(asc_a...); }, '
         "(float *)(p), g(q));"),
        ("// k<<<1>>>()\nconst char *t = \"k<<<1>>>()\";", "// k<<<1>>>()\nconst char *t = \"k<<<1>>>()\";"),
        ("void d() { SyncAll(); }\nk<<<2, 0, s>>>(x);",
         'void d() { SyncAll(); }\n::asc_samples::Launch("k", true, {2, 0, s}, [](auto... asc_a) { k(asc_a...); }, x);'),
    ],
)
def test_only_the_launch_changes(source, expected):
    import asc_compiler

    assert asc_compiler.rewrite(source) == expected


def test_commands_come_from_the_readme(tmp_path):
    import run

    (tmp_path / "README.md").write_text(
        "```bash \ncmake -DSCENARIO_NUM=3 -DCMAKE_ASC_RUN_MODE=cpu ..\n```\ntext\n```bash\nSCENARIO_NUM=1\n"
        "cmake -DSCENARIO_NUM=6 -DCMAKE_ASC_ARCHITECTURES=dav-2201 ..;make -j;  # builds\n"
        "python3 ../scripts/gen_data.py -s=$SCENARIO_NUM   # inputs\n./demo\n"
        "python3 ../scripts/verify_result.py a b  # judges\n```\n")
    assert run.readme_lines(tmp_path) == (
        "cmake -DSCENARIO_NUM=$SCENARIO_NUM -DCMAKE_ASC_ARCHITECTURES=dav-2201 ..",
        "python3 ../scripts/gen_data.py -s=$SCENARIO_NUM", "python3 ../scripts/verify_result.py a b")


def test_61_samples_are_listed():
    import own_hosts
    import samples

    folders = [s.folder for s in samples.SAMPLES] + [k.folder for k in own_hosts.SAMPLES]
    assert len(folders) == len(set(folders)) == 61


@pytest.mark.parametrize("right", [True, False])
def test_a_host_of_ours_judges(tmp_path, right):
    import own_hosts

    if own_hosts.simdriver.compiler() is None:
        pytest.skip("needs a C++ compiler")
    operation = "Add" if right else "Sub"
    (tmp_path / "k.asc").write_text(
        '#include <torch/extension.h>\n#include "kernel_operator.h"\n'
        "__global__ __vector__ void add_custom(__gm__ float *x, __gm__ float *y, __gm__ float *z)\n{\n"
        "    AscendC::GlobalTensor<float> a, b, c;\n    a.SetGlobalBuffer(x + block_idx * 64);\n"
        "    b.SetGlobalBuffer(y + block_idx * 64);\n    c.SetGlobalBuffer(z + block_idx * 64);\n"
        "    AscendC::LocalTensor<float> u(AscendC::TPosition::VECCALC, 0, 64), v(AscendC::TPosition::VECCALC, 256, 64);\n"
        "    AscendC::DataCopy(u, a, 64);\n    AscendC::DataCopy(v, b, 64);\n    AscendC::PipeBarrier<PIPE_ALL>();\n"
        f"    AscendC::{operation}(u, u, v, 64);\n    AscendC::PipeBarrier<PIPE_ALL>();\n    AscendC::DataCopy(c, u, 64);\n}}\n"
        "namespace host {\nat::Tensor host_code();\n}\n")
    kernels = own_hosts.Kernels("", "k.asc", (own_hosts.Launch("add_custom", count=256, blocks=4),), until="namespace host {")
    compiles, why = own_hosts.run(kernels, tmp_path)
    assert compiles and (why == "" if right else "of 256 values differ" in why)
