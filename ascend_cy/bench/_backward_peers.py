"""The gradient of LayerNorm by other libraries: each function gives a case and its results, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ascend_cy.bench._measure import Case, case, fastest
from ascend_cy.bench._native import Missing
from ascend_cy.bench._peers import Array, as_torch, imported, no_grad


class BackwardWork(NamedTuple):
    """One gradient: float32, float16 or bfloat16 arrays, all allocated and touched; the statistics are float32."""

    dtype: str
    dy: Array
    x: Array
    mean: Array
    rstd: Array
    gamma: Array
    out: Array
    threads: int


Peer = tuple[Case, tuple[Any, Any, Any]]


def torch_peer(work: BackwardWork) -> Peer:
    """What autograd calls, with statistics of torch's own forward pass."""
    torch = imported("torch")
    torch.set_num_threads(work.threads)
    dy, x, gamma = (as_torch(array) for array in (work.dy, work.x, work.gamma))
    shape, mask = [work.x.shape[-1]], [True, True, True]
    function = torch.ops.aten.native_layer_norm_backward
    with torch.inference_mode():
        _, mean, rstd = torch.native_layer_norm(x, shape, gamma, gamma, 1e-5)
        try:
            results = function(dy, x, shape, mean, rstd, gamma, gamma, mask)
        except RuntimeError:
            raise Missing(f"has no gradient in {work.dtype}") from None
    names = {"f": function, "d": dy, "x": x, "s": shape, "m": mean, "r": rstd, "g": gamma, "w": mask}
    loop = no_grad(torch, case("torch", "f(d, x, s, m, r, g, g, w)", **names).loop)
    dx, dgamma, dbeta = (each.float().numpy() for each in results)
    return Case("torch", loop), (dx, dgamma, dbeta)


@lru_cache
def numba_functions(threads: int) -> tuple[Any, Any]:
    numba = imported("numba")
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))

    def gradient(dy: Any, x: Any, mean: Any, rstd: Any, gamma: Any, out: Any, sums: Any) -> None:
        rows, cols = x.shape
        parts = sums.shape[0]
        for part in numba.prange(parts):
            sums[part] = 0
            for i in range(part * rows // parts, (part + 1) * rows // parts):
                a = np.float32(0)
                b = np.float32(0)
                for j in range(cols):
                    g = dy[i, j] * gamma[j]
                    a += g
                    b += g * ((x[i, j] - mean[i]) * rstd[i])
                a /= np.float32(cols)
                b /= np.float32(cols)
                for j in range(cols):
                    xhat = (x[i, j] - mean[i]) * rstd[i]
                    out[i, j] = (dy[i, j] * gamma[j] - a - xhat * b) * rstd[i]
                    sums[part, 0, j] += dy[i, j] * xhat
                    sums[part, 1, j] += dy[i, j]

    fast = {"reassoc", "contract", "nsz", "arcp"}
    return tuple(numba.njit(parallel=parallel, fastmath=fast)(gradient) for parallel in (True, False))  # type: ignore[return-value]


def numba_peer(work: BackwardWork) -> Peer:
    numba_module = imported("numba")
    del numba_module
    if work.dtype != "float32":
        raise Missing(f"has no {work.dtype}")
    sums = np.zeros((64, 2, work.x.shape[1]), np.float32)
    arguments = (work.dy, work.x, work.mean, work.rstd, work.gamma, work.out, sums)
    cases = []
    for function in numba_functions(work.threads):
        function(*arguments)
        names = dict(zip(("d", "x", "m", "r", "g", "y", "s"), arguments, strict=True))
        cases.append(case("numba", "f(d, x, m, r, g, y, s); s.sum(0)", f=function, **names))
    dgamma, dbeta = sums.sum(0)
    return fastest(cases), (work.out, dgamma, dbeta)


@lru_cache
def jax_function() -> Any:
    jax = imported("jax")
    jnp = jax.numpy

    def gradient(dy: Any, x: Any, mean: Any, rstd: Any, gamma: Any) -> Any:
        wide = dy.astype(jnp.float32)
        xhat = (x.astype(jnp.float32) - mean[:, None]) * rstd[:, None]
        g = wide * gamma.astype(jnp.float32)
        dx = rstd[:, None] * (g - g.mean(1, keepdims=True) - xhat * (g * xhat).mean(1, keepdims=True))
        return dx.astype(x.dtype), (wide * xhat).sum(0).astype(gamma.dtype), wide.sum(0).astype(gamma.dtype)

    return jax.jit(gradient)


def jax_peer(work: BackwardWork) -> Peer:
    jax = imported("jax")
    function = jax_function()
    arrays = [jax.device_put(array) for array in (work.dy, work.x, work.mean, work.rstd, work.gamma)]
    dx, dgamma, dbeta = (np.asarray(each) for each in function(*arrays))
    names = dict(zip(("d", "x", "m", "r", "g"), arrays, strict=True))
    return case("jax", "b(f(d, x, m, r, g))", f=function, b=jax.block_until_ready, **names), (dx, dgamma, dbeta)


BACKWARD: dict[str, Callable[[BackwardWork], Peer]] = {"torch": torch_peer, "numba": numba_peer, "jax": jax_peer}
