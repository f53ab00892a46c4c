# SPDX-License-Identifier: Apache-2.0
"""Every kernel source compiles for the simulator with g++ and with clang++, without a warning, and gives the same bits."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
sys.path.insert(0, str(Path(__file__).parent))
import simdriver  # noqa: E402
import test_sim_vector_add as adding  # noqa: E402

KERNELS = sorted(p for p in (simdriver.ROOT / "kernels").glob("*/*.cpp") if "__global__" in p.read_text())
COMPILERS = ["g++", "clang++"]


def test_all_kernels_are_found():
    assert {"layernorm", "layernorm_backward", "vector_add"} <= {p.stem for p in KERNELS}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source", [*KERNELS, *sorted((simdriver.INCLUDE_ASCENDC / "runtime").glob("*.cpp"))],
                         ids=lambda p: p.stem)
def test_compiles_without_warnings(compiler, source, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    text = source
    if source in KERNELS:
        text = tmp_path / "entries.cpp"
        text.write_text(simdriver.entries.generate(source))
    done = subprocess.run(
        [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{simdriver.INCLUDE_ASCENDC}/include",
         f"-I{simdriver.ROOT}/csrc/include", f"-I{source.parent}", str(text)], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.fixture(scope="module")
def tiling():
    return simdriver.tiling_library("vector_add", "VectorAddArgs", "vector_add_npu_tiling_for(a, b, c, d, args)")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_binary_of_either_compiler(compiler, tiling, monkeypatch):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setenv("CXX", compiler)
    binary = simdriver.Binary(simdriver.build(simdriver.ROOT / "kernels/vector_add/vector_add.cpp"))
    a, b = np.random.default_rng(1).normal(size=(2, 4097)).astype(np.float16)
    a[:4], b[:4] = [np.inf, 60000, np.nan, 6e-8], [-np.inf, 60000, 1, 6e-8]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = a + b
    assert np.array_equal(adding.add(binary, tiling, "fp16", a, b, 7), expected, equal_nan=True)
    # Its checks name lines too.
    broken = simdriver.Binary(simdriver.build(simdriver.HERE / "broken_sync_kernels.cpp", flags=("-O1", "-Wno-unused-parameter")))
    x = simdriver.Buffer(np.zeros(64, np.float32))
    with pytest.raises(simdriver.KernelViolation, match=r"Trap at broken_sync_kernels\.cpp:\d+: the kernel stopped itself"):
        broken.launch("fails_while_others_wait", 4, x, x)
