# SPDX-License-Identifier: Apache-2.0
"""Runs every Ascend C operator and type under the simulator on every number of cores from 1 to 48, checks on.

    python tests/sim/all_cores.py [most cores]

Values are compared with float64, and every result with that of one core, bit for bit. The tests do the same for some
numbers of cores; this takes some minutes.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import simdriver  # noqa: E402
import test_sim_layernorm as forward  # noqa: E402
import test_sim_layernorm_backward as back  # noqa: E402
import test_sim_vector_add as adding  # noqa: E402

SHAPES = [(1, 1), (7, 9), (97, 65), (300, 126), (49, 513), (50, 1000), (3, 9001)]
SIZES = [1, 31, 4097, 100003]


def main() -> int:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    kernels = simdriver.ROOT / "kernels"
    ln = simdriver.Binary(simdriver.build(kernels / "layernorm/layernorm.cpp"))
    ln_tiling = simdriver.tiling_library("layernorm", "LayerNormArgs", "layernorm_npu_tiling_for(a, b, c, d, e, args)")
    lb = simdriver.Binary(simdriver.build(kernels / "layernorm_backward/layernorm_backward.cpp",
                                          neighbours=(kernels / "layernorm/layernorm_rows.h",)))
    lb_tiling = simdriver.tiling_library("layernorm_backward", "LayerNormBackwardArgs",
                                         "layernorm_backward_npu_tiling_for(a, b, c, d, args)")
    sum_tiling = simdriver.tiling_library("layernorm_backward", "LayerNormBackwardSumArgs",
                                          "((void)d, layernorm_backward_npu_sum_tiling(a, b, c, args))")
    va = simdriver.Binary(simdriver.build(kernels / "vector_add/vector_add.cpp"))
    va_tiling = simdriver.tiling_library("vector_add", "VectorAddArgs", "vector_add_npu_tiling_for(a, b, c, d, args)")
    first = {}
    launches = 0
    start = time.monotonic()

    def same(key, *arrays):
        blob = b"".join(a.tobytes() for a in arrays)
        assert first.setdefault(key, blob) == blob, f"{key}: the result depends on the number of cores"

    for cores in range(1, most + 1):
        rng = np.random.default_rng(0)
        for shape in SHAPES:
            x, dy, gamma, beta = (rng.normal(size=s) for s in (shape, shape, shape[1], shape[1]))
            for dtype in forward.SUFFIX:
                result = forward.run(ln, ln_tiling, x, dtype=dtype, gamma=gamma, beta=beta, cores=cores)
                forward.assert_close(result, dtype, 1e-5)
                same(("layernorm", shape, dtype), result.raw, result.mean, result.rstd)
                results, inputs = back.backward(lb, lb_tiling, sum_tiling, dy, x, dtype=dtype, gamma=gamma,
                                                gamma_dtype=dtype, grad_dtype=dtype, cores=cores)
                back.assert_close(results, inputs, dtype, dtype)
                same(("layernorm_backward", shape, dtype), *results)
                launches += 3
        for n in SIZES:
            a, b = rng.normal(size=(2, n)).astype(np.float32)
            for name, data in [("fp32", (a, b)), ("fp16", (a.astype(np.float16), b.astype(np.float16))),
                               ("int32", (a.view(np.int32), b.view(np.int32))),
                               ("bf16", tuple((v.view(np.uint32) >> 16).astype(np.uint16) for v in (a, b)))]:
                same(("vector_add", n, name), adding.add(va, va_tiling, name, *data, cores))
                launches += 1
        print(f"{cores} cores: right, {launches} launches so far, {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
