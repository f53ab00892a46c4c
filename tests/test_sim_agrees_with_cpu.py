# SPDX-License-Identifier: Apache-2.0
"""The same inputs through the `sim` and the `cpu` kernels: both within their bounds of float64, and of each other."""

import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent / "sim"))
sys.path.insert(0, str(Path(__file__).parent))
import simdriver  # noqa: E402
import test_sim_layernorm as layernorm  # noqa: E402
import test_sim_layernorm_backward as layernorm_backward  # noqa: E402
import test_sim_vector_add as vector_add  # noqa: E402

pytestmark = pytest.mark.skipif(simdriver.compiler() is None, reason="needs a C++ compiler")

FLOAT, FLOAT16, BF16 = 0, 1, 27


def cpu_binary(op):
    """The `cpu` kernels of an operator, at the baseline level of this architecture."""
    source = simdriver.ROOT / "kernels" / op / f"{op}_cpu.cpp"
    texts = [p.read_text() for folder in (source.parent, simdriver.ROOT / "kernels/layernorm", simdriver.ROOT / "kernels/include")
             for p in sorted(folder.rglob("*")) if p.suffix in (".h", ".cpp")]
    output = simdriver.cache_dir() / f"{op}-cpu-{simdriver._digest(*texts)}.so"
    if not output.exists():
        march = {"x86_64": ["-march=x86-64"]}.get(platform.machine(), [])
        partial = output.with_suffix(".partial.so")
        subprocess.run([simdriver.compiler(), "-std=c++17", "-O2", "-fPIC", "-shared", "-ffp-contract=off",
                        "-fno-math-errno", "-fvisibility=hidden", *march, f"-I{simdriver.ROOT / 'csrc/include'}",
                        f"-I{simdriver.ROOT / 'kernels/include'}", str(source), "-o", str(partial)], check=True)
        partial.rename(output)
    return simdriver.Binary(output)


class CpuTiling:
    """The tiling of the `cpu` kernels behind the call of the other tiling."""

    def __init__(self, library):
        self._library = library

    def fill(self, args, rows, cols, itemsize, cores, ub):
        return self._library.fill(args, rows, cols, itemsize, cores, 0)


@pytest.fixture(scope="module")
def both():
    sim = simdriver.Binary(simdriver.build(simdriver.ROOT / "kernels/layernorm/layernorm.cpp"))
    sim_tiling = simdriver.tiling_library("layernorm", "LayerNormArgs", "layernorm_npu_tiling_for(a, b, c, d, e, args)")
    cpu_tiling = simdriver.tiling_library("layernorm", "LayerNormArgs", "layernorm_cpu_tiling(a, b, c, d, args)")
    return (sim, sim_tiling), (cpu_binary("layernorm"), CpuTiling(cpu_tiling))


def assert_agree(a, b, dtype, eps):
    layernorm.assert_close(a, dtype, eps)
    layernorm.assert_close(b, dtype, eps)
    largest = np.abs(a.y).max(axis=1, keepdims=True)
    tolerance = 2e-6 * largest + (0 if dtype == FLOAT else layernorm.ulp(a.y, dtype))
    assert np.all(np.abs(a.y - b.y) <= tolerance)
    if a.mean is not None:
        spread = 1 / a.rstd.astype(np.float64)
        assert np.all(np.abs(a.mean - b.mean) <= 1e-6 * (np.abs(a.mean) + spread))
        assert np.all(np.abs(a.rstd / b.rstd - 1) <= 2e-6)


@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, BF16])
@pytest.mark.parametrize("shape", layernorm.SHAPES, ids=str)
def test_ugly_shapes(both, shape, dtype):
    rng = np.random.default_rng(shape[0])
    x = rng.normal(size=shape) * 2 + 3
    gamma, beta = rng.normal(size=shape[1]), rng.normal(size=shape[1])
    results = [layernorm.run(binary, tiling, x, dtype=dtype, gamma=gamma, beta=beta, beta_dtype=FLOAT16)
               for binary, tiling in both]
    assert_agree(*results, dtype, 1e-5)


@pytest.mark.parametrize("cols", [1, 7, 100, 1000, 9001])
@pytest.mark.parametrize("kind", ["far mean", "outlier first", "huge", "tiny", "constant"])
def test_hard_rows(both, cols, kind):
    x = np.random.default_rng(2).normal(size=(3, cols))
    eps = 1e-5
    if kind == "far mean":
        x = (x + 1e6).astype(np.float32)
    elif kind == "outlier first":
        x[:, 0] = 1e4
    elif kind == "huge":
        x *= 1e30
    elif kind == "tiny":
        x, eps = x * 1e-30, 0.0
        if cols == 1:
            pytest.skip("one element without eps has no reciprocal deviation")
    else:
        x[:] = 7.7
    assert_agree(*[layernorm.run(binary, tiling, x, eps=eps) for binary, tiling in both], FLOAT, eps)


class BackwardTiling:
    """The tilings of the `cpu` kernels behind the calls of the others."""

    def __init__(self, library, second):
        self._library, self._second = library, second

    def fill(self, args, a, b, c, d, e):
        if self._second:
            return self._library.fill(args, a, b, c, 0, 0)
        return self._library.fill(args, a, b, 4, c, 0)


@pytest.fixture(scope="module")
def both_backward():
    kernels = simdriver.ROOT / "kernels"
    sim = simdriver.Binary(simdriver.build(kernels / "layernorm_backward/layernorm_backward.cpp",
                                           neighbours=(kernels / "layernorm/layernorm_rows.h",)))

    def tiling(args, call):
        return simdriver.tiling_library("layernorm_backward", args, call)

    first, second = "LayerNormBackwardArgs", "LayerNormBackwardSumArgs"
    return (
        (sim, tiling(first, "layernorm_backward_npu_tiling_for(a, b, c, d, args)"),
         tiling(second, "((void)d, layernorm_backward_npu_sum_tiling(a, b, c, args))")),
        (cpu_binary("layernorm_backward"), BackwardTiling(tiling(first, "layernorm_backward_cpu_tiling(a, b, c, d, args)"), False),
         BackwardTiling(tiling(second, "((void)d, layernorm_backward_cpu_sum_tiling(a, b, c, args))"), True)),
    )


def assert_backward_agrees(both, dy, x, dtype=FLOAT, **options):
    found = [layernorm_backward.backward(*one, dy, x, dtype=dtype, grad_dtype=dtype, **options) for one in both]
    for results, inputs in found:
        layernorm_backward.assert_close(results, inputs, dtype, dtype)
    inputs = found[0][1]
    scale = np.abs(inputs[3][:, None] * inputs[0] * inputs[4]).max(1, keepdims=True)
    size_gamma, size_beta = layernorm_backward.reference(*inputs)[3:]
    sizes = (scale, size_gamma + 0.1 * size_beta, size_beta)
    for a, b, size in zip(found[0][0], found[1][0], sizes, strict=True):
        a, b = (layernorm_backward.decode(v, dtype) for v in (a, b))
        unit = {FLOAT: 0, FLOAT16: 2.0**-10, BF16: 2.0**-7}[dtype]
        assert np.all(np.abs(a - b) <= 4e-6 * size + unit * np.abs(a) + (2.0**-24 if dtype == FLOAT16 else 0))


@pytest.mark.parametrize("dtype", [FLOAT, FLOAT16, BF16])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 8), (7, 9), (100, 64), (97, 65), (1003, 7), (9, 513), (50, 1000),
                                   (20, 4096), (3, 4600), (35, 5003), (2, 20000)], ids=str)
def test_backward_on_ugly_shapes(both_backward, shape, dtype):
    rng = np.random.default_rng(shape[1])
    assert_backward_agrees(both_backward, rng.normal(size=shape), rng.normal(size=shape) + 1, dtype,
                           gamma=rng.normal(size=shape[1]), gamma_dtype=FLOAT16)


@pytest.mark.parametrize("cols", [2, 7, 100, 1000, 9001])
@pytest.mark.parametrize("kind", ["far mean", "outlier first", "huge", "tiny", "constant"])
def test_backward_on_hard_rows(both_backward, cols, kind):
    rng = np.random.default_rng(2)
    dy, x = rng.normal(size=(2, 5, cols))
    eps = 1e-5
    if kind == "far mean":
        x = (x + 1e6).astype(np.float32)
    elif kind == "outlier first":
        x[:, 0] = 1e4
    elif kind == "huge":
        x *= 1e30
    elif kind == "tiny":
        x, eps = x * 1e-30, 0.0
    else:
        x[:] = 7.7
    assert_backward_agrees(both_backward, dy, x, eps=eps)


def test_vector_add_is_the_same_bit_for_bit():
    sim = simdriver.Binary(simdriver.build(simdriver.ROOT / "kernels/vector_add/vector_add.cpp"))
    cpu = cpu_binary("vector_add")
    sim_tiling = simdriver.tiling_library("vector_add", "VectorAddArgs", "vector_add_npu_tiling_for(a, b, c, d, args)")
    cpu_tiling = simdriver.tiling_library("vector_add", "VectorAddArgs", "((void)d, vector_add_cpu_tiling(a, b, c, args))")
    rng = np.random.default_rng(0)
    for n in (1, 31, 1000, 65537):
        bits = rng.integers(0, 2**32, size=(2, n), dtype=np.uint64).astype(np.uint32)
        finite = np.where((bits >> 23 & 0xFF) == 0xFF, bits & 0x7FFFFF, bits)
        for name, data in [("fp32", finite.view(np.float32)), ("int32", bits.view(np.int32)),
                           ("fp16", (rng.normal(size=(2, n)) * 1e4).astype(np.float16)),
                           ("bf16", (finite >> 16).astype(np.uint16))]:
            results = [vector_add.add(binary, tiling, name, data[0], data[1], 7)
                       for binary, tiling in ((sim, sim_tiling), (cpu, cpu_tiling))]
            assert results[0].tobytes() == results[1].tobytes(), name
