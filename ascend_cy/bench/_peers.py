"""LayerNorm by other libraries: each function gives cases for one pair of arrays, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_cy.bench._measure import Case, case
from ascend_cy.bench._native import Missing, require_wanted

Array = npt.NDArray[Any]


class LayerNormWork:
    """One LayerNorm: float32, float16 or bfloat16 arrays, all allocated and touched."""

    def __init__(self, dtype: str, x: Array, gamma: Array, beta: Array, out: Array, threads: int) -> None:
        self.dtype = dtype
        self.x, self.gamma, self.beta, self.out = x, gamma, beta, out
        self.threads = threads


def imported(name: str) -> Any:
    """A module, or `Missing`."""
    require_wanted(name)
    try:
        return __import__(name)
    except ImportError:
        raise Missing("not installed") from None
    except Exception as error:
        raise Missing(f"does not load: {type(error).__name__}") from None


# ---- torch ----


def as_torch(array: Array) -> Any:
    """A tensor over the same bytes."""
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_cases(work: LayerNormWork) -> list[Case]:
    torch = imported("torch")
    torch.set_num_threads(work.threads)
    x, gamma, beta, out = (as_torch(array) for array in (work.x, work.gamma, work.beta, work.out))
    shape = (work.x.shape[-1],)
    with torch.no_grad():
        out.copy_(torch.nn.functional.layer_norm(x, shape, gamma, beta, 1e-5))
    names = {"f": torch.nn.functional.layer_norm, "x": x, "g": gamma, "b": beta, "s": shape}
    return [Case("torch", no_grad(torch, case("torch", "f(x, s, g, b)", **names).loop))]


def no_grad(torch: Any, loop: Callable[[int], float]) -> Callable[[int], float]:
    def quiet(calls: int) -> float:
        with torch.inference_mode():
            return loop(calls)

    return quiet


# ---- onnxruntime ----


def varint(value: int) -> bytes:
    out = bytearray()
    value &= 2**64 - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | bytes | str) -> bytes:
    """A protocol buffer field: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def layernorm_model(element: int) -> bytes:
    """An ONNX model of one LayerNormalization node; `element` is the ONNX number of the data type."""

    def tensor(name: str, rank: int) -> bytes:
        axes = b"".join(field(1, field(2, f"{name}{axis}")) for axis in range(rank))
        return field(1, name) + field(2, field(1, field(1, element) + field(2, axes)))

    node = field(1, "x") + field(1, "gamma") + field(1, "beta") + field(2, "y") + field(4, "LayerNormalization")
    node += field(5, field(1, "axis") + field(3, -1) + field(20, 2))
    inputs = field(11, tensor("x", 2)) + field(11, tensor("gamma", 1)) + field(11, tensor("beta", 1))
    graph = field(1, node) + field(2, "layernorm") + inputs + field(12, tensor("y", 2))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


@lru_cache
def onnx_session(element: int, threads: int) -> Any:
    ort = imported("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(layernorm_model(element), options, providers=["CPUExecutionProvider"])
    except Exception:
        raise Missing("has no such LayerNormalization") from None


def onnxruntime_cases(work: LayerNormWork) -> list[Case]:
    imported("onnxruntime")
    if work.dtype == "bfloat16":
        raise Missing("has no LayerNormalization in bfloat16")
    session = onnx_session(1 if work.dtype == "float32" else 10, work.threads)
    binding = session.io_binding()
    element = np.dtype(work.dtype).type
    for name, array in (("x", work.x), ("gamma", work.gamma), ("beta", work.beta)):
        binding.bind_input(name, "cpu", 0, element, array.shape, array.ctypes.data)
    binding.bind_output("y", "cpu", 0, element, work.out.shape, work.out.ctypes.data)
    session.run_with_iobinding(binding)
    return [case("onnxruntime", "run(binding)", run=session.run_with_iobinding, binding=binding)]


# ---- numba ----


@lru_cache
def numba_functions(threads: int) -> tuple[Any, Any]:
    numba = imported("numba")
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))

    def normalize(x: Any, gamma: Any, beta: Any, out: Any, eps: Any) -> None:
        cols = x.shape[1]
        for i in numba.prange(x.shape[0]):
            total = np.float32(0)
            for j in range(cols):
                total += x[i, j]
            mean = total / np.float32(cols)
            squares = np.float32(0)
            for j in range(cols):
                d = x[i, j] - mean
                squares += d * d
            rstd = np.float32(1) / np.sqrt(squares / np.float32(cols) + eps)
            for j in range(cols):
                out[i, j] = (x[i, j] - mean) * rstd * gamma[j] + beta[j]

    fast = {"reassoc", "contract", "nsz", "arcp"}
    return (
        numba.njit(parallel=True, fastmath=fast)(normalize),
        numba.njit(parallel=False, fastmath=fast)(normalize),
    )


def numba_cases(work: LayerNormWork) -> list[Case]:
    if work.dtype != "float32":
        imported("numba")
        raise Missing(f"has no {work.dtype}")
    cases = []
    for function in numba_functions(work.threads):
        names = {"f": function, "x": work.x, "g": work.gamma, "b": work.beta, "y": work.out, "e": np.float32(1e-5)}
        cases.append(case("numba", "f(x, g, b, y, e)", **names))
        function(work.x, work.gamma, work.beta, work.out, np.float32(1e-5))
    return cases


# ---- jax ----


@lru_cache
def jax_function() -> Any:
    jax = imported("jax")
    jnp = jax.numpy

    def normalize(x: Any, gamma: Any, beta: Any) -> Any:
        wide = x.astype(jnp.float32)
        mean = wide.mean(axis=-1, keepdims=True)
        centred = wide - mean
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        y = centred * jax.lax.rsqrt(variance + 1e-5) * gamma.astype(jnp.float32) + beta.astype(jnp.float32)
        return y.astype(x.dtype)

    return jax.jit(normalize)


def jax_cases(work: LayerNormWork) -> list[Case]:
    jax = imported("jax")
    function = jax_function()
    x, gamma, beta = (jax.device_put(array) for array in (work.x, work.gamma, work.beta))
    work.out[...] = np.asarray(function(x, gamma, beta))
    return [case("jax", "f(x, g, b).block_until_ready()", f=function, x=x, g=gamma, b=beta)]


LAYERNORM: dict[str, Callable[[LayerNormWork], Sequence[Case]]] = {
    "torch": torch_cases,
    "onnxruntime": onnxruntime_cases,
    "numba": numba_cases,
    "jax": jax_cases,
}
