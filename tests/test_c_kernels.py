# SPDX-License-Identifier: Apache-2.0
"""The `cpu` layernorm kernel without a device: every level against long double, and proof that the test can fail."""

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

# Each takes away one thing that makes the numbers right.
MUTATIONS = {
    "mean-rounded": ("static_cast<float>(mean - static_cast<double>(m))", "0.0f"),
    "no-pivot-guard": ("(d * d <= kFar * variance) & ", ""),
    "padding-counted": (
        "keep_first(sub(Element::load_first(x + i, rest), p), rest)",
        "sub(Element::load_first(x + i, rest), p)",
    ),
    "padding-counted-in-long-rows": (
        "keep_first(sub(Element::load_first(x_ + i_, rest), p_), rest)",
        "sub(Element::load_first(x_ + i_, rest), p_)",
    ),
}


def binaries() -> list[Path]:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    level = {file: file.name[len("layernorm.") : -len(".so")] for file in KERNELS.glob("layernorm.*.so")}
    return sorted(file for file, name in level.items() if LEVEL_FLAGS.get(name, set()) <= flags)


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("kernels") / "test_layernorm"
    source = HERE / "c" / "kernels" / "test_layernorm.cpp"
    includes = [f"-I{ROOT / part}" for part in ("csrc/include", "kernels/layernorm")]
    command = [*embedded.compiler(), "-std=c++17", "-O1", *includes, str(source), "-o", str(built), "-ldl"]
    subprocess.run(command, check=True, timeout=300)
    return built


def run(program: Path, binary: Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(program), str(binary), "--short"], text=True, capture_output=True, timeout=300)


def build(folder: Path, old: str = "", new: str = "", *flags: str) -> Path:
    """The kernel from a copy of its sources in which `old`, if given, is replaced."""
    for part in ("kernels/include", "kernels/layernorm"):
        shutil.copytree(ROOT / part, folder / part)
    if old:
        header = folder / "kernels" / "layernorm" / "layernorm_cpu_stats.h"
        text = header.read_text()
        assert text.count(old) == 1, f"the source no longer says {old!r} once"
        header.write_text(text.replace(old, new))
    built = folder / "layernorm.so"
    includes = [f"-I{folder / 'kernels/include'}", f"-I{ROOT / 'csrc/include'}"]
    source = folder / "kernels" / "layernorm" / "layernorm_cpu.cpp"
    command = [*embedded.compiler(), *KERNEL_FLAGS, *flags, *includes, str(source), "-o", str(built)]
    subprocess.run(command, check=True, timeout=300)
    return built


def test_every_level_is_built():
    assert binaries(), f"no layernorm kernels in {KERNELS}"


@pytest.mark.parametrize("binary", binaries(), ids=lambda file: file.stem)
def test_layernorm_kernels(program, binary):
    done = run(program, binary)
    assert done.returncode == 0, done.stdout + done.stderr


def test_portable_body(program, tmp_path):
    done = run(program, build(tmp_path, "", "", "-DASCEND_CY_SIMD_SCALAR"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_kernel_is_noticed(program, tmp_path, name):
    done = run(program, build(tmp_path, *MUTATIONS[name]))
    assert done.returncode == 1 and "FAIL" in done.stdout, done.stdout + done.stderr


def test_the_baseline_has_no_avx():
    binary = KERNELS / "layernorm.x86-64-v1.so"
    if not binary.exists() or not shutil.which("objdump"):
        pytest.skip("needs an x86-64 build and objdump")
    listing = subprocess.run(["objdump", "-d", str(binary)], text=True, capture_output=True, check=True).stdout
    assert "%xmm" in listing
    assert not re.search(r"%[yz]mm|\tv[a-z0-9]+ ", listing), "AVX in the object for every x86-64"
