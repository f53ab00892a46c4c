# SPDX-License-Identifier: Apache-2.0
"""The `cpu` layernorm kernels without a device: every level against long double, and proof that the tests can fail."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import embedded
import pytest

import ascend_cy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
KERNELS = Path(ascend_cy.get_library_dir()) / "kernels" / "cpu"

# What /proc/cpuinfo says of a machine that has the level; nothing for levels that every machine has.
LEVEL_FLAGS = {
    "x86-64-v3": {"avx2", "fma", "f16c", "bmi2", "movbe", "abm"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}

# How the kernel is compiled: see kernels/meson.build.
KERNEL_FLAGS = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno"]

# The tests, and the headers that they need.
PROGRAMS = {
    "layernorm": ("kernels/test_layernorm.cpp", ["kernels/layernorm"]),
    "layernorm_backward": ("kernels_backward/test_layernorm_backward.cpp", ["kernels/layernorm", "kernels/layernorm_backward"]),
}

# Each takes away one thing that makes the numbers right: operator, file, what, what instead.
MUTATIONS = {
    "mean-rounded": ("layernorm", "layernorm_cpu_stats.h", "static_cast<float>(mean - static_cast<double>(m))", "0.0f"),
    "no-pivot-guard": ("layernorm", "layernorm_cpu_stats.h", "(d * d <= kFar * variance) & ", ""),
    "padding-counted": (
        "layernorm",
        "layernorm_cpu_stats.h",
        "keep_first(sub(p, Element::load_first(x + i, rest)), rest)",
        "sub(p, Element::load_first(x + i, rest))",
    ),
    "padding-counted-in-long-rows": (
        "layernorm",
        "layernorm_cpu_stats.h",
        "keep_first(sub(p_, Element::load_first(x_ + i_, rest)), rest)",
        "sub(p_, Element::load_first(x_ + i_, rest))",
    ),
    "backward-mean-rounded": ("layernorm_backward", "layernorm_backward_cpu_rows.h", "wide_r = sum_z * inv_cols;", "wide_r = 0.0;"),
    "backward-padding-counted": (
        "layernorm_backward",
        "layernorm_backward_cpu_rows.h",
        "keep_first(mul(sub(Element::load_first(x + k * pitch + i, rest), mean[k]), rstd[k]), rest)",
        "mul(sub(Element::load_first(x + k * pitch + i, rest), mean[k]), rstd[k])",
    ),
    "backward-padding-counted-in-long-rows": (
        "layernorm_backward",
        "layernorm_backward_cpu_rows.h",
        "keep_first(mul(sub(Element::load_first(x + i, rest), mean), rstd), rest)",
        "mul(sub(Element::load_first(x + i, rest), mean), rstd)",
    ),
    "backward-never-in-double": (
        "layernorm_backward",
        "layernorm_backward_cpu_rows.h",
        "return (fabs(sum_z) < 1e37) & (fabs(sum_g) < 1e37) & (fabs(sum_gz) < 1e37);",
        "return true;",
    ),
    "backward-sums-not-cleared": (
        "layernorm_backward",
        "layernorm_backward_cpu.cpp",
        "memset(to_beta_, 0, static_cast<size_t>(cols_) * sizeof(float));",
        "",
    ),
    "backward-end-of-a-line-lost": (
        "layernorm_backward",
        "../layernorm/layernorm_cpu_stage.h",
        "memcpy(to_, buffer_, static_cast<size_t>(held_) * sizeof(T));",
        "",
    ),
}


def binaries() -> list[Path]:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    files = [file for op in PROGRAMS for file in sorted(KERNELS.glob(f"{op}.*.so"))]
    return [file for file in files if LEVEL_FLAGS.get(file.name.split(".")[1], set()) <= flags]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The test program of an operator, built when first asked for."""
    built: dict[str, Path] = {}

    def program(op: str) -> Path:
        if op not in built:
            source, headers = PROGRAMS[op]
            target = tmp_path_factory.mktemp("kernels") / f"test_{op}"
            includes = [f"-I{ROOT / part}" for part in ("csrc/include", *headers)]
            command = [*embedded.compiler(), "-std=c++17", "-O1", *includes, str(HERE / "c" / source), "-o", str(target), "-ldl"]
            subprocess.run(command, check=True, timeout=300)
            built[op] = target
        return built[op]

    return program


def run(program: Path, binary: Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(program), str(binary), "--short"], text=True, capture_output=True, timeout=300)


def build(folder: Path, op: str, file: str = "", old: str = "", new: str = "", *flags: str) -> Path:
    """The kernel from a copy of its sources in which `old`, if given, is replaced."""
    for part in ("kernels/include", "kernels/layernorm", "kernels/layernorm_backward"):
        shutil.copytree(ROOT / part, folder / part)
    if old:
        changed = folder / "kernels" / op / file
        text = changed.read_text()
        assert text.count(old) == 1, f"the source no longer says {old!r} once"
        changed.write_text(text.replace(old, new))
    built = folder / f"{op}.so"
    includes = [f"-I{folder / 'kernels/include'}", f"-I{ROOT / 'csrc/include'}"]
    source = folder / "kernels" / op / f"{op}_cpu.cpp"
    command = [*embedded.compiler(), *KERNEL_FLAGS, *flags, *includes, str(source), "-o", str(built)]
    subprocess.run(command, check=True, timeout=300)
    return built


def test_every_level_is_built():
    assert {file.name.split(".")[0] for file in binaries()} == set(PROGRAMS), f"kernels are missing in {KERNELS}"


@pytest.mark.parametrize("binary", binaries(), ids=lambda file: file.stem)
def test_kernels(programs, binary):
    done = run(programs(binary.name.split(".")[0]), binary)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("op", PROGRAMS)
def test_portable_body(programs, tmp_path, op):
    done = run(programs(op), build(tmp_path, op, "", "", "", "-DASCEND_CY_SIMD_SCALAR"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_kernel_is_noticed(programs, tmp_path, name):
    done = run(programs(MUTATIONS[name][0]), build(tmp_path, *MUTATIONS[name]))
    assert done.returncode == 1 and "FAIL" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("op", PROGRAMS)
def test_the_baseline_has_no_avx(op):
    binary = KERNELS / f"{op}.x86-64-v1.so"
    if not binary.exists() or not shutil.which("objdump"):
        pytest.skip("needs an x86-64 build and objdump")
    listing = subprocess.run(["objdump", "-d", str(binary)], text=True, capture_output=True, check=True).stdout
    assert "%xmm" in listing
    assert not re.search(r"%[yz]mm|\tv[a-z0-9]+ ", listing), "AVX in the object for every x86-64"
