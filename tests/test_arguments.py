# SPDX-License-Identifier: Apache-2.0
"""Every bad argument of every public function: the exception, a message that says which argument, what it got and what it
needs, nothing enqueued, nothing left. A public function or parameter without a row fails the last test.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import embedded
import numpy as np
import pytest
from stub import signatures

import ascend_cy

SIGNATURES = signatures(Path(ascend_cy.__file__).parent)

# What would put work on a stream or take memory.
WORK = ("aclrtLaunchKernelWithHostArgs", "aclrtLaunchKernel", "aclrtLaunchKernelWithConfig", "aclrtMemcpyAsync",
        "aclrtMemcpy2dAsync", "aclrtMemcpy", "aclrtMemsetAsync", "aclrtLaunchHostFunc", "aclrtLaunchCallback",
        "aclrtRecordEvent", "aclrtStreamWaitEvent", "aclrtMalloc", "aclrtMallocHost", "aclrtCreateStreamWithConfig",
        "aclrtCreateEventExWithFlag", "aclrtBinaryLoadFromData", "aclrtBinaryLoadFromFile")


def with_array(function):
    array = device(2, 3)
    return lambda **arguments: function(array, **arguments)


def off_again(function):
    def call(**arguments):
        with function(**arguments):
            pass

    return call


def with_kernel(function):
    launched = kernel()
    return lambda **arguments: function(launched, **arguments)


class Made:
    """A value that is made anew for each test."""

    def __init__(self, make: Callable[[], Any], name: str) -> None:
        self.make, self.name = make, name

    def __repr__(self) -> str:
        return self.name


def closed(make: Callable[[], Any], name: str) -> Made:
    def made():
        value = make()
        value.close()
        return value

    return Made(made, f"closed {name}")


def ramp(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def device(*shape: int, dtype: str = "f4") -> ascend_cy.DeviceArray:
    return ascend_cy.asarray(ramp(*shape, dtype=dtype))


def refusal_of_numpy() -> type[Exception]:
    """What NumPy itself raises for data that it cannot export: it was another class in old versions."""
    with pytest.raises((BufferError, TypeError)) as caught:
        ramp(2).astype(SWAPPED).__dlpack__()
    return caught.type


def readonly_device(*shape: int) -> ascend_cy.DeviceArray:
    if not ascend_cy.device_info()["unified"]:
        pytest.skip("read-only arrays come from host memory that is shared")
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy does not export what is read-only")
    host = ramp(*shape)
    host.flags.writeable = False
    return ascend_cy.from_dlpack(host)


def frozen(*shape: int) -> np.ndarray:
    array = ramp(*shape)
    array.flags.writeable = False
    return array


class OnlyArray:
    """What NumPy can read but nobody can write to."""

    def __array__(self, dtype=None, copy=None):
        return ramp(2, 3)


@functools.lru_cache(maxsize=None)
def binary() -> Path:
    """A kernel binary that lives as long as the tests."""
    folder = tempfile.TemporaryDirectory(prefix="ascend_cy-arguments-")
    atexit.register(folder.cleanup)
    return embedded.build_kernels(Path(folder.name))


def kernel() -> ascend_cy.Kernel:
    return ascend_cy.load(binary()).kernel("slow_store", "i64 ns, ptr target, i64 value")


def compile_for_cpu(**arguments):
    if embedded.kind() != "cpu" and arguments == compile_arguments():
        pytest.skip("the embedded device of sim does not load what is compiled for cpu")
    return ascend_cy.compile(**arguments)


def compile_arguments() -> dict[str, Any]:
    return dict(source=embedded.KERNEL_SOURCE, target="cpu", options=["-DTARGET=ASCEND_KERNEL_TARGET_CPU", "-O0"], include_dirs=(),
                name=None, version=None, compiler=None)


def launch_arguments(*changed: tuple[int, Any]) -> tuple:
    arguments = [0, ascend_cy.zeros(1, "i8"), 1]
    for place, value in changed:
        arguments[place] = value.make() if isinstance(value, Made) else value
    return tuple(arguments)


def changed(place: int, value: Any) -> Made:
    return Made(lambda: launch_arguments((place, value)), f"{value!r} as argument {place}")


CLOSED_ARRAY = closed(lambda: device(2, 3), "array")
SWAPPED = np.dtype("f4").newbyteorder()

SHAPE = [(TypeError, 1.5), (TypeError, "3"), (TypeError, None), (TypeError, True), (TypeError, (2, 1.5)), (TypeError, (2, "a")),
         (TypeError, (2, None)), (ValueError, -1), (ValueError, (2, -1)), (ValueError, (2**62, 2**62)), (ValueError, 2**63),
         (ValueError, (1,) * 65)]
DTYPE = [(TypeError, "nonsense"), (TypeError, "c8"), (TypeError, None), (TypeError, SWAPPED), (TypeError, object),
         (TypeError, "U3"), (TypeError, 5), (TypeError, {})]
STREAM = [(TypeError, "stream"), (TypeError, 0), (TypeError, Made(ascend_cy.Event, "an event")),
          (ValueError, closed(ascend_cy.Stream, "stream"))]
DEVICE = [(TypeError, "0"), (TypeError, True), (TypeError, 0.0), (ValueError, -1), (ValueError, 10**6), (ValueError, 2**70)]
BYTES = [(TypeError, "1"), (TypeError, 1.5), (TypeError, True), (ValueError, -1), (ValueError, 2**64)]
NUMBER = [(TypeError, None), (TypeError, "3"), (TypeError, [1]), (TypeError, 1j), (TypeError, object()),
          (TypeError, Made(lambda: np.zeros(2), "an array")), (TypeError, Made(lambda: device(1), "a device array"))]
BLOCKS = [(TypeError, None), (TypeError, "1"), (TypeError, True), (TypeError, 1.0), (ValueError, 0), (ValueError, -1),
          (ValueError, 65536), (ValueError, 2**70)]
LAUNCH = [(TypeError, (0,), "slow_store takes 3 arguments .*, got 1"), (TypeError, changed(0, "0"), "ns must be an integer, got str"),
          (TypeError, changed(0, True), "ns must be an integer, got bool"), (TypeError, changed(0, 1.0), "ns must be an integer, got float"),
          (OverflowError, changed(0, 2**63), "ns must fit i64, got"),
          (TypeError, changed(1, "x"), "target must be a DeviceArray, .*got str"), (TypeError, changed(1, True), "target must be .* got bool"),
          (TypeError, changed(1, 1.0), "target must be .* got float"), (ValueError, changed(1, -1), "target must be an address, got -1"),
          (ValueError, changed(1, 2**64), "target must be an address, got"),
          (TypeError, changed(1, Made(lambda: ramp(1), "host memory")), r"target is in host memory \(ndarray\): move it with"),
          (ValueError, changed(1, Made(lambda: CLOSED_ARRAY.make(), "closed")), "target is closed")]
STRING = [(TypeError, 3), (TypeError, b"bytes"), (TypeError, ["x"])]
DIGEST = [(TypeError, 3), (TypeError, b"00"), (ValueError, "0" * 64, "digest must be 0+, but the binary has [0-9a-f]+")]
BINARY = [(TypeError, 3), (TypeError, [1]), (TypeError, Made(lambda: ramp(3), "an array")),
          (FileNotFoundError, "/nowhere/kernel.so", "/nowhere/kernel.so"), (IsADirectoryError, "/", "."),
          (ascend_cy.AclError, b"no binary", "aclrtBinaryLoad")]
CALLABLE = [(TypeError, None), (TypeError, "f"), (TypeError, 3)]
SECONDS = [(TypeError, "1"), (TypeError, True), (TypeError, 1j), (TypeError, [1])]


def no_array(first: bool = True) -> list[tuple]:
    return [(TypeError, None if first else 5), (TypeError, "text"), (TypeError, 3.5), (TypeError, object()), (TypeError, [1.0, 2.0]),
            (TypeError, Made(lambda: np.ma.masked_array(ramp(2, 3), True), "masked"), "must not be a masked array|MaskedArray"),
            (TypeError, Made(lambda: ramp(2, 3, dtype="c8"), "complex")),
            (TypeError, Made(lambda: np.array([["a"] * 3] * 2), "strings"))]


def out_like(shape: tuple[int, ...], on_device: bool) -> list[tuple]:
    make = device if on_device else ramp
    other = [(TypeError, Made(lambda: ramp(*shape) if on_device else device(*shape), "the other memory"),
              r"\bout\b.*(DeviceArray|host memory)")]
    common = [(TypeError, "text"), (TypeError, 3), (TypeError, Made(lambda: make(*shape, dtype="f8"), "float64")),
              (ValueError, Made(lambda: make(9, 9), "another shape")), (ValueError, Made(lambda: make(), "no axes"))]
    if on_device:
        return [*other, *common, (ValueError, closed(lambda: device(*shape), "array"), "out is closed"),
                (ValueError, Made(lambda: readonly_device(*shape), "read-only"), "out is read-only")]
    return [*other, *common, (ValueError, Made(lambda: frozen(*shape), "read-only"), "out is read-only"),
            (TypeError, Made(lambda: ramp(*shape).astype(SWAPPED), "swapped")), (TypeError, Made(OnlyArray, "__array__"))]


Kwargs = dict[str, Any]
# name (and a variant) -> what makes a call that works: the function and its keyword arguments.
GOOD: dict[str, Callable[[], tuple[Callable[..., Any], Kwargs]]] = {
    "empty": lambda: (ascend_cy.empty, dict(shape=(2, 3), dtype="f4", stream=None)),
    "zeros": lambda: (ascend_cy.zeros, dict(shape=(2, 3), dtype="f4", stream=None)),
    "ones": lambda: (ascend_cy.ones, dict(shape=(2, 3), dtype="f4", stream=None)),
    "full": lambda: (ascend_cy.full, dict(shape=(2, 3), fill_value=1, dtype="f4", stream=None)),
    "full of bytes": lambda: (ascend_cy.full, dict(shape=(2, 3), fill_value=1, dtype="u1", stream=None)),
    "empty_like": lambda: (ascend_cy.empty_like, dict(prototype=ramp(2), dtype=None, stream=None)),
    "asarray": lambda: (ascend_cy.asarray, dict(obj=ramp(2), dtype=None, stream=None)),
    "from_dlpack": lambda: (ascend_cy.from_dlpack, dict(obj=device(2), copy=None, stream=None)),
    "from_pointer": lambda: (ascend_cy.from_pointer, dict(ptr=4096, shape=(2, 3), dtype="f4", device=0, owner=None, strides=None,
                                                           stream=None)),
    "empty_pinned": lambda: (ascend_cy.empty_pinned, dict(shape=(2, 3), dtype="f4")),
    "DeviceArray.__init__": lambda: (ascend_cy.DeviceArray, dict(shape=(2, 3), dtype="f4", stream=None)),
    "Stream.__init__": lambda: (ascend_cy.Stream, dict(priority=0, device=None)),
    "Stream.from_handle": lambda: (ascend_cy.Stream.from_handle, dict(handle=0, device=None, owner=None)),
    "Event.__init__": lambda: (ascend_cy.Event, dict(timing=True, device=None)),
    "Device.__init__": lambda: (ascend_cy.Device, dict(index=None)),
    "default_stream": lambda: (ascend_cy.default_stream, dict(device=None)),
    **{name: lambda name=name: (getattr(ascend_cy, name), dict(device=None))
       for name in ("current_pool", "default_pool", "reset_peak_memory")},
    "empty_many": lambda: (ascend_cy.empty_many, dict(shapes=[2, (2, 3)], dtype="f4", stream=None)),
    "MemoryPool.__init__": lambda: (ascend_cy.MemoryPool, dict(limit=None, name="", device=None)),
    "MemoryPool.limit": lambda: (lambda value: setattr(ascend_cy.MemoryPool(), "limit", value), dict(value=1)),
    "MemoryPool.trim": lambda: (ascend_cy.MemoryPool().trim, dict(keep=0)),
    "memory_stats": lambda: (ascend_cy.memory_stats, dict(device=None)),
    "set_memory_limit": lambda: (ascend_cy.set_memory_limit, dict(nbytes=None, device=None)),
    "trim_memory": lambda: (ascend_cy.trim_memory, dict(keep=0, device=None)),
    "log_to_logging": lambda: (off_again(ascend_cy.log_to_logging), dict(topics="errors")),
    "has": lambda: (ascend_cy.has, dict(function="aclrtMalloc")),
    "Stream.record": lambda: (ascend_cy.Stream().record, dict(event=None)),
    "Stream.wait": lambda: (ascend_cy.Stream().wait, dict(other=ascend_cy.Event())),
    "Stream.add_callback": lambda: (ascend_cy.default_stream().add_callback, dict(function=int)),
    "StreamFuture.result": lambda: (future().result, dict(timeout=None)),
    "StreamFuture.exception": lambda: (future().exception, dict(timeout=30)),
    "Event.record": lambda: (ascend_cy.Event().record, dict(stream=None)),
    "Event.elapsed_time": lambda: (finished().elapsed_time, dict(end=finished())),
    "DeviceArray.reshape": lambda: (with_array(lambda array, shape: array.reshape(*shape)), dict(shape=(3, 2))),
    "DeviceArray.view": lambda: (device(2, 3).view, dict(dtype="i4")),
    "DeviceArray.copy_from": lambda: (device(2, 3).copy_from, dict(source=ramp(2, 3), stream=None)),
    "DeviceArray.copy_to": lambda: (device(2, 3).copy_to, dict(target=ramp(2, 3), stream=None)),
    "DeviceArray.to_numpy": lambda: (device(2, 3).to_numpy, dict(out=None, stream=None)),
    "DeviceArray.copy": lambda: (device(2, 3).copy, dict(stream=None)),
    "DeviceArray.fill": lambda: (device(2, 3).fill, dict(value=1, stream=None)),
    "DeviceArray.astype": lambda: (device(2, 3).astype, dict(dtype="i4", stream=None)),
    "DeviceArray.record_stream": lambda: (device(2, 3).record_stream, dict(stream=ascend_cy.default_stream())),
    "DeviceArray.__getitem__": lambda: (with_array(lambda array, key: array[key]), dict(key=0)),
    "DeviceArray.__setitem__": lambda: (with_array(lambda array, key, value: array.__setitem__(key, value)), dict(key=0, value=1)),
    "DeviceArray.__dlpack__": lambda: (device(2, 3).__dlpack__, dict(stream=None, max_version=(1, 0), dl_device=None, copy=None)),
    "DeviceArray.__array__": lambda: (device(2, 3).__array__, dict(dtype=None, copy=None)),
    "Pipeline.__init__": lambda: (lambda functions, **rest: ascend_cy.Pipeline(*functions, **rest).close(),
                                  dict(functions=(len,), slots=1, copy=None, device=None)),
    "Pipeline.__call__": lambda: (ascend_cy.Pipeline(ascend_cy.layernorm), dict(batches=[ramp(2, 3)])),
    "load": lambda: (ascend_cy.load, dict(source=binary(), name=None, version=None, digest=None)),
    "compile": lambda: (compile_for_cpu, compile_arguments()),
    "Module.kernel": lambda: (ascend_cy.load(binary()).kernel, dict(name="fault", signature="i64 block, i64 code", layout="compiler")),
    "Module.reload": lambda: (ascend_cy.load(binary()).reload, dict(source=binary(), version=None, digest=None, warm=None)),
    "Module.reload of bytes": lambda: (ascend_cy.load(binary().read_bytes()).reload, dict(source=binary())),
    "Kernel.launch": lambda: (with_kernel(lambda kernel, args, blocks, stream: kernel.launch(*args, blocks=blocks, stream=stream)),
                              dict(args=launch_arguments(), blocks=1, stream=None)),
    "Kernel.__getitem__": lambda: (with_kernel(lambda kernel, key, args=launch_arguments(): kernel[key](*args)), dict(key=1)),
    "_Launcher.__call__": lambda: (with_kernel(lambda kernel, args: kernel[1](*args)), dict(args=launch_arguments())),
    "layernorm_backward": lambda: (ascend_cy.layernorm_backward, dict(
        dy=ramp(2, 3), x=ramp(2, 3), mean=ramp(2), rstd=ramp(2), gamma=ramp(3), normalized_ndim=1, out=ramp(2, 3), stream=None)),
    "layernorm_backward on the device": lambda: (ascend_cy.layernorm_backward, dict(
        dy=device(2, 3), x=device(2, 3), mean=device(2), rstd=device(2), gamma=device(3), normalized_ndim=1, out=device(2, 3),
        stream=None)),
    "layernorm": lambda: (ascend_cy.layernorm, dict(x=ramp(2, 3), gamma=ramp(3), beta=ramp(3), eps=1e-5, normalized_ndim=1,
                                                     out=ramp(2, 3), return_stats=False, stream=None)),
    "layernorm on the device": lambda: (ascend_cy.layernorm, dict(
        x=device(2, 3), gamma=device(3), beta=device(3), eps=1e-5, normalized_ndim=1, out=device(2, 3), return_stats=False,
        stream=None)),
    "vector_add": lambda: (ascend_cy.vector_add, dict(a=ramp(2, 3), b=ramp(2, 3), out=ramp(2, 3), stream=None)),
    "vector_add on the device": lambda: (ascend_cy.vector_add, dict(a=device(2, 3), b=device(2, 3), out=device(2, 3), stream=None)),
    "matmul": lambda: (ascend_cy.matmul, dict(a=ramp(2, 3), b=ramp(3, 4), out=ramp(2, 4), stream=None)),
    "matmul on the device": lambda: (ascend_cy.matmul, dict(a=device(2, 3), b=device(3, 4), out=device(2, 4), stream=None)),
}


def future() -> ascend_cy.StreamFuture:
    made = ascend_cy.default_stream().future()
    made.result(30)
    return made


def finished() -> ascend_cy.Event:
    event = ascend_cy.Event()
    event.record()
    event.synchronize()
    return event


def operator_rows(name: str, shapes: dict[str, tuple[int, ...]], out: tuple[int, ...], optional: tuple[str, ...] = ()) -> dict:
    """Rows of an operator on host memory and on the device."""
    rows: dict[str, dict[str, list]] = {name: {}, f"{name} on the device": {}}
    for parameter, shape in shapes.items():
        f8 = (TypeError, Made(lambda shape=shape: ramp(*shape, dtype="f8"), "float64"))
        wrong = (ValueError, Made(lambda: ramp(7, 5, 6, 9), "another shape"))
        first = parameter == next(iter(shapes))
        host = [*no_array(parameter not in optional), f8]
        on_device = [(TypeError, Made(lambda shape=shape: device(*shape, dtype="f8"), "float64")),
                     (ValueError, closed(lambda shape=shape: device(*shape), "array"), f"{parameter} is closed")]
        if not first:
            host += [wrong, (TypeError, Made(lambda shape=shape: device(*shape), "on the device"), rf"\b{parameter}\b.*DeviceArray")]
            on_device += [(ValueError, Made(lambda: device(7, 5, 6, 9), "another shape")), *no_array(parameter not in optional),
                          (TypeError, Made(lambda shape=shape: ramp(*shape), "on the host"), rf"\b{parameter}\b.*host memory")]
        rows[name][parameter] = host
        rows[f"{name} on the device"][parameter] = on_device
    rows[name]["out"] = out_like(out, False)
    rows[f"{name} on the device"]["out"] = out_like(out, True)
    rows[name]["stream"] = rows[f"{name} on the device"]["stream"] = STREAM
    return rows


BAD: dict[str, dict[str, list]] = {
    **{name: {"shape": SHAPE, "dtype": DTYPE, "stream": STREAM} for name in ("empty", "zeros", "ones", "DeviceArray.__init__")},
    "full": {"shape": SHAPE, "dtype": DTYPE, "stream": STREAM, "fill_value": NUMBER},
    "full of bytes": {"fill_value": [*NUMBER, (OverflowError, 300), (OverflowError, np.int64(300)), (OverflowError, -1),
                                     (ValueError, np.nan), (OverflowError, np.inf)]},
    "empty_like": {"prototype": [(TypeError, None), (TypeError, [1]), (TypeError, 3), (ValueError, closed(lambda: device(2), "array"), "prototype is closed")],
                   "dtype": [row for row in DTYPE if row[1] is not None], "stream": STREAM},
    "asarray": {"obj": [(TypeError, object()), (TypeError, "text"), (TypeError, None), (TypeError, 1j),
                        (TypeError, Made(lambda: np.ma.masked_array(ramp(2), True), "masked"), "must not be a masked array|MaskedArray"),
                        (ValueError, CLOSED_ARRAY, "obj is closed")],
                "dtype": [row for row in DTYPE if row[1] is not None], "stream": STREAM},
    "from_dlpack": {"obj": [(TypeError, None), (TypeError, [1]), (TypeError, b"bytes"), (ValueError, CLOSED_ARRAY, "closed"),
                            (BufferError, Made(lambda: ramp(2, dtype="c8"), "complex"), "DLPack type .* no counterpart"),
                            (refusal_of_numpy(), Made(lambda: ramp(2).astype(SWAPPED), "swapped"), ".")],
                    "copy": [(TypeError, "yes"), (TypeError, 1), (TypeError, 0.0)], "stream": STREAM},
    "from_pointer": {"ptr": [(TypeError, None), (TypeError, "0"), (TypeError, 1.5), (TypeError, True), (ValueError, -1),
                             (ValueError, 2**64), (ValueError, 0), (ValueError, 4097), (ValueError, 2**62 * 2 - 8),
                             (ValueError, 2**64 - 4)],
                     "shape": [*SHAPE, (ValueError, (2**60, 3))], "dtype": DTYPE, "device": DEVICE,
                     "strides": [(TypeError, 4), (TypeError, ("a", 4)), (TypeError, (4.0, 4)), (TypeError, (True, 4)),
                                 (TypeError, "ab"), (ValueError, (4,)), (ValueError, (4, 4, 4)), (ValueError, (2, 4)),
                                 (ValueError, (2**63, 4)), (ValueError, (2**62, 2**62)), (ValueError, (-4096, -4))],
                     "stream": STREAM},
    "empty_pinned": {"shape": SHAPE, "dtype": DTYPE},
    "Stream.__init__": {"priority": [(TypeError, "0"), (TypeError, None), (TypeError, True), (TypeError, 0.0), (ValueError, -1),
                                     (ValueError, 8), (ValueError, 2**70)], "device": DEVICE},
    "Stream.from_handle": {"handle": [(TypeError, None), (TypeError, "0"), (TypeError, True), (TypeError, 1.0), (ValueError, -1),
                                      (ValueError, 2**64)], "device": DEVICE},
    "Event.__init__": {"device": DEVICE},
    "Device.__init__": {"index": [(*row, "device must be .* got") for row in DEVICE]},
    "default_stream": {"device": DEVICE},
    **{name: {"device": DEVICE} for name in ("current_pool", "default_pool", "reset_peak_memory")},
    "empty_many": {"shapes": [(TypeError, 3), (TypeError, None), (TypeError, "33"), (TypeError, [1, 1.5]), (TypeError, [1, None]),
                              (ValueError, [1, -1], r"shapes\[1\]"), (ValueError, [2**62, 2**62])],
                   "dtype": [*DTYPE, (TypeError, ["f4", None]), (TypeError, ["f4", "c8"]), (ValueError, ["f4"])], "stream": STREAM},
    "MemoryPool.__init__": {"limit": BYTES, "name": [*STRING, (TypeError, None), (ValueError, "a\0b")], "device": DEVICE},
    "MemoryPool.limit": {"value": [(*row, "limit must be|limit must not be") for row in BYTES]},
    "MemoryPool.trim": {"keep": [*BYTES, (TypeError, None)]},
    "memory_stats": {"device": DEVICE},
    "set_memory_limit": {"nbytes": BYTES, "device": DEVICE},
    "trim_memory": {"keep": [*BYTES, (TypeError, None)], "device": DEVICE},
    "log_to_logging": {"topics": [(TypeError, 3), (TypeError, b"errors"), (TypeError, [None]), (ValueError, "error"), (ValueError, ""),
                                  (ValueError, []), (ValueError, ["errors,memory"])]},
    "has": {"function": [(TypeError, None), (TypeError, b"aclrtMalloc"), (TypeError, 3)]},
    "Stream.record": {"event": [(TypeError, 3), (TypeError, Made(ascend_cy.Stream, "a stream")),
                                (ValueError, closed(ascend_cy.Event, "event"))]},
    "Stream.wait": {"other": [(TypeError, None), (TypeError, 3), (ValueError, closed(ascend_cy.Event, "event"), "the event is closed"),
                              (ValueError, closed(ascend_cy.Stream, "stream"), "the stream is closed")]},
    "Stream.add_callback": {"function": CALLABLE},
    "StreamFuture.result": {"timeout": SECONDS},
    "StreamFuture.exception": {"timeout": SECONDS},
    "Event.record": {"stream": STREAM},
    "Event.elapsed_time": {"end": [(TypeError, None), (TypeError, 3), (ValueError, closed(ascend_cy.Event, "event"), "the event is closed"),
                                   (ValueError, Made(ascend_cy.Event, "not recorded"), "the end event was not recorded")]},
    "DeviceArray.reshape": {"shape": [(TypeError, (1.5,)), (TypeError, ("ab",)), (TypeError, (None,)), (TypeError, (True,)),
                                      (TypeError, (-1.0,)), (TypeError, ((2, None),)), (ValueError, (4, 2), "reshape.*\\(4, 2\\)"),
                                      (ValueError, (-1, -1), "reshape.*\\(-1, -1\\)"), (ValueError, (-2, -3), "."),
                                      (ValueError, (-1, 4), "reshape.*\\(-1, 4\\)"), (ValueError, (2**62, 2**62))]},
    "DeviceArray.view": {"dtype": [*DTYPE, (ValueError, "f8", "does not divide the last axis")]},
    "DeviceArray.copy_from": {"source": [(TypeError, None), (TypeError, "text"), (TypeError, Made(lambda: ramp(2, 3, dtype="f8"), "float64")),
                                         (ValueError, Made(lambda: ramp(3, 2), "another shape")),
                                         (ValueError, Made(lambda: device(3, 2), "another shape on the device")),
                                         (TypeError, Made(lambda: device(2, 3, dtype="i4"), "int32 on the device")),
                                         (TypeError, Made(lambda: np.ma.masked_array(ramp(2, 3), True), "masked"), "must not be a masked array|MaskedArray"),
                                         (ValueError, CLOSED_ARRAY, "closed")], "stream": STREAM},
    "DeviceArray.copy_to": {"target": [(TypeError, None), (TypeError, [1]), (TypeError, "text"), (ValueError, bytes(24), "target is read-only"),
                                       (ValueError, Made(lambda: frozen(2, 3), "read-only"), "target is read-only"),
                                       (TypeError, Made(lambda: ramp(2, 3, dtype="f8"), "float64")), (TypeError, bytearray(24)),
                                       (TypeError, Made(lambda: ramp(2, 3, dtype="c8"), "complex")),
                                       (TypeError, Made(lambda: ramp(2, 3).astype(SWAPPED), "swapped")),
                                       (ValueError, Made(lambda: ramp(3, 2), "another shape")),
                                       (ValueError, Made(lambda: readonly_device(2, 3), "read-only on the device"), "is read-only"),
                                       (ValueError, CLOSED_ARRAY, "closed")], "stream": STREAM},
    "DeviceArray.to_numpy": {"out": [(TypeError, 3), (TypeError, [1]), (ValueError, Made(lambda: frozen(2, 3), "read-only"), "out is read-only"),
                                     (TypeError, Made(lambda: ramp(2, 3, dtype="f8"), "float64")),
                                     (TypeError, Made(lambda: ramp(2, 3).astype(SWAPPED), "swapped")),
                                     (ValueError, Made(lambda: ramp(3, 2), "another shape")),
                                     (TypeError, Made(lambda: device(2, 3), "on the device"))], "stream": STREAM},
    "DeviceArray.copy": {"stream": STREAM},
    "DeviceArray.fill": {"value": NUMBER, "stream": STREAM},
    "DeviceArray.astype": {"dtype": DTYPE, "stream": STREAM},
    "DeviceArray.record_stream": {"stream": STREAM},
    "DeviceArray.__getitem__": {"key": [(IndexError, 5, "index 5 is out of bounds"), (IndexError, -3, "out of bounds"), (IndexError, "a", "got str"),
                                        (IndexError, 1.0, "got float"), (IndexError, True, "got bool"), (IndexError, (0, 0, 0), "too many indices"),
                                        (IndexError, [0, 1], "got list"), (IndexError, (..., ...), "one ellipsis"),
                                        (IndexError, np.array([True, False]), "got ndarray"),
                                        (IndexError, Made(lambda: device(2, dtype="i4"), "a device array"), "got DeviceArray"),
                                        (ValueError, slice(None, None, 0), "zero"), (TypeError, slice(1.5), ".")]},
    "DeviceArray.__setitem__": {"key": [(IndexError, 5, "index 5 is out of bounds"), (IndexError, "a", "got str")],
                                "value": [(TypeError, None, "got object"), (TypeError, "text"), (TypeError, 1j),
                                          (ValueError, Made(lambda: ramp(5), "another shape"), "shape"),
                                          (TypeError, Made(lambda: ramp(3, dtype="f8"), "float64"), "dtype"),
                                          (ValueError, closed(lambda: device(3), "array"), "closed")]},
    "DeviceArray.__dlpack__": {"stream": [(TypeError, "0"), (TypeError, True), (ValueError, -2), (ValueError, 2**64)],
                               "max_version": [(TypeError, 1), (TypeError, "1"), (TypeError, (1,)), (TypeError, ("a", "b"))],
                               "dl_device": [(TypeError, 1), (TypeError, (1,)), (TypeError, ("cpu", 0)), (BufferError, (2, 0), "is not moved to")]},
    "DeviceArray.__array__": {"dtype": [(TypeError, "nonsense", ".")]},
    "Pipeline.__init__": {"functions": [(TypeError, ()), (TypeError, (None,)), (TypeError, (len, 3))],
                          "slots": [(TypeError, "1"), (TypeError, None), (TypeError, True), (TypeError, 1.0), (ValueError, 0), (ValueError, -1),
                                    (ValueError, 2**70)],
                          "copy": [(TypeError, "yes"), (TypeError, 1)], "device": DEVICE},
    "Pipeline.__call__": {"batches": [(TypeError, None), (TypeError, 3)]},
    **operator_rows("layernorm", {"x": (2, 3), "gamma": (3,), "beta": (3,)}, (2, 3), ("gamma", "beta")),
    "load": {"source": [(TypeError, None), *BINARY], "name": STRING, "version": STRING, "digest": DIGEST},
    "compile": {"source": [(TypeError, None), (TypeError, 3), (TypeError, b"kernel.cpp"), (FileNotFoundError, "/nowhere/kernel.cpp", "/nowhere"),
                           (IsADirectoryError, "/", ".")],
                "target": [(TypeError, 3), (TypeError, b"cpu"), (ValueError, "gpu"), (ValueError, "")],
                "options": [(TypeError, None), (TypeError, 3), (TypeError, "-O2"), (TypeError, b"-O2"), (TypeError, [3]), (TypeError, [None])],
                "include_dirs": [(TypeError, None), (TypeError, 3), (TypeError, "/"), (TypeError, Path("/")), (TypeError, [3])],
                "name": STRING, "version": STRING,
                "compiler": [(TypeError, 3), (TypeError, ["c++"]), (ValueError, " "), (ValueError, "'c++"),
                             (ascend_cy.CompileError, "no-such-compiler", "no C\\+\\+ compiler: no-such-compiler is not there; install")]},
    "Module.kernel": {"name": [(TypeError, None), (TypeError, 3), (TypeError, b"fault"), (ascend_cy.AclError, "nothing", "nothing")],
                      "signature": [(TypeError, 3), (TypeError, ["i64"]), (ValueError, None, "signature must be given for kernel 'fault'"), (ValueError, "int65 x", "signature is not understood: 'int65 x'"),
                                    (ValueError, "i64 a, i64 a", "two parameters called 'a'"), (ValueError, "i64 a", "signature of fault has 1 parameters, but"),
                                    (ValueError, "i32 a, i64 b", "signature of fault: i32 a takes 4 bytes at 0, but")],
                      "layout": [(TypeError, 3), (TypeError, None), (ValueError, "packed")]},
    "Module.reload": {"source": BINARY, "version": STRING, "digest": DIGEST, "warm": [(TypeError, 3), (TypeError, "f")]},
    "Module.reload of bytes": {"source": [(ValueError, None, "source must be given: the module was loaded from memory")]},
    "Kernel.launch": {"args": LAUNCH, "blocks": BLOCKS, "stream": STREAM},
    "Kernel.__getitem__": {"key": [*[(kind, value, "blocks must be .*got") for kind, value in BLOCKS],
                                   *[(kind, Made(lambda value=value: (1, value.make() if isinstance(value, Made) else value), f"1, {value!r}"),
                                      "stream must be|the stream is closed") for kind, value in STREAM],
                                   (TypeError, (1, None, 3), "is wanted, got 3 indices"), (TypeError, (), "is wanted, got 0 indices")]},
    "_Launcher.__call__": {"args": LAUNCH},
    **operator_rows("layernorm_backward", {"dy": (2, 3), "x": (2, 3), "mean": (2,), "rstd": (2,), "gamma": (3,)}, (2, 3), ("gamma",)),
    **operator_rows("vector_add", {"a": (2, 3), "b": (2, 3)}, (2, 3)),
    **operator_rows("matmul", {"a": (2, 3), "b": (3, 4)}, (2, 4)),
}
for _name in ("layernorm", "layernorm on the device"):
    BAD[_name]["eps"] = [(TypeError, None), (TypeError, "1e-5"), (TypeError, True), (TypeError, 1j), (TypeError, [1e-5]),
                         (TypeError, Made(lambda: np.ones(2), "an array")), (ValueError, -1e-5), (ValueError, float("nan")),
                         (ValueError, float("inf")), (ValueError, 10**400)]
for _name in ("layernorm", "layernorm on the device", "layernorm_backward", "layernorm_backward on the device"):
    BAD[_name]["normalized_ndim"] = [(TypeError, None), (TypeError, "1"), (TypeError, True), (TypeError, 1.0), (ValueError, 0),
                                     (ValueError, 3), (ValueError, -1), (ValueError, 2**70)]

# Parameters that take anything, and why.
ANYTHING = {
    "from_pointer": {"owner"},                 # only kept
    "Stream.from_handle": {"owner"},
    "Stream.add_callback": {"args"},           # handed to the function
    "Stream.future": {"result"},               # handed back
    "layernorm": {"return_stats"},             # any truth value
    "Event.__init__": {"timing"},              # any truth value
    "Kernel.__call__": {"args", "unknown"},    # never works: it says that the blocks are missing (test_modules.py)
    "Kernel.launch": {"unknown"},              # refused by position (test_modules.py)
    "DeviceArray.__dlpack__": {"copy"},        # any truth value, as the protocol has it
    "DeviceArray.__array__": {"copy"},
    "Stream.__eq__": {"other"}, "Device.__eq__": {"other"}, "MemoryPool.__eq__": {"other"},
    **{f"{name}.__exit__": {"exc_type", "exc_value", "traceback"} for name in ("Stream", "DeviceArray", "Device", "Module", "Pipeline", "MemoryPool")},
}

CASES = [pytest.param(name, parameter, kind, value, *(message or [None]), id=f"{name}-{parameter}-{value!r}"[:100])
         for name, parameters in BAD.items() for parameter, rows in parameters.items() for kind, value, *message in rows]

pytestmark = pytest.mark.usefixtures("quick_collections")


@contextlib.contextmanager
def work_counted():
    """How many calls that put work on a stream or take memory were made inside the block."""
    embedded.require()
    result = SimpleNamespace(calls=0)
    with embedded.faults(";".join(f"call={name},at=1000000000000" for name in WORK)):
        yield result
        result.calls = embedded.fault_counts()[0]


def skip_what_sim_has_not(name):
    if embedded.kind() == "sim" and name.startswith("matmul"):
        pytest.skip("no kernel for matmul")
    if name == "DeviceArray.__array__" and not ascend_cy.device_info()["unified"]:
        pytest.skip("device memory is not host memory here")


@pytest.mark.parametrize("name", GOOD)
def test_the_call_works_with_good_arguments(name):
    skip_what_sim_has_not(name)
    function, arguments = GOOD[name]()
    function(**arguments)


@pytest.mark.parametrize(("name", "parameter", "kind", "value", "message"), CASES)
def test_bad_argument(name, parameter, kind, value, message):
    skip_what_sim_has_not(name)
    function, arguments = GOOD[name]()
    arguments[parameter] = value.make() if isinstance(value, Made) else value
    gc.collect()
    ascend_cy.synchronize()
    live = ascend_cy.live_objects()
    in_use = ascend_cy.memory_stats()["in_use"]
    with work_counted() as work, pytest.raises(kind) as caught:
        function(**arguments)
    assert type(caught.value) is kind
    text = str(caught.value)
    if message is not None:
        assert re.search(message, text), text
    else:
        assert re.search(rf"\b{parameter}\b", text), f"which argument? {text}"
        assert re.search(r"\bgot\b|holds|closed|larger than|is in host memory", text), f"what was it? {text}"
        assert re.search(r"must|needs|expected|larger than|cannot|do(es)? not|closed|move it", text), f"what must it be? {text}"
    assert "\n" not in text
    work_done = 0 if kind is ascend_cy.AclError else work.calls
    assert work_done == MAKES.get(name, 0), "work was enqueued"
    del caught
    gc.collect()
    assert ascend_cy.live_objects() == live
    assert ascend_cy.memory_stats()["in_use"] == in_use


# What the call of the table itself does before the function under test looks at its argument.
MAKES: dict[str, int] = {}


def test_every_parameter_of_every_public_function_has_a_row():
    missing = []
    for name, parameters in SIGNATURES.items():
        rows = {parameter for key, found in BAD.items() if key == name or key.startswith(f"{name} ") for parameter in found}
        covered = rows | ANYTHING.get(name, set())
        missing += [f"{name}({parameter})" for parameter in parameters if parameter not in covered]
    assert not missing, missing
    known = set(SIGNATURES)
    assert {re.sub(r" .*", "", name) for name in (*BAD, *GOOD)} <= known
    assert set(ANYTHING) <= known
    public = {name for name in ascend_cy.__all__ if callable(getattr(ascend_cy, name)) and not isinstance(getattr(ascend_cy, name), type)}
    assert public <= known, public - known


# ---- objects with code of their own ----


class Trouble(Exception):
    """No exception of the package's."""


class Failing:
    """An array whose conversion fails."""

    def __array__(self, dtype=None, copy=None):
        raise Trouble("no data today")


class FailingProducer(Failing):
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **keywords):
        raise Trouble("no data today")


def run_pipeline(batch):
    return list(ascend_cy.Pipeline(ascend_cy.layernorm)([batch]))


CONVERSIONS = {
    "asarray": ascend_cy.asarray,
    "from_dlpack": ascend_cy.from_dlpack,
    "copy_from": lambda obj: TARGETS["array"].copy_from(obj),
    "assignment": lambda obj: TARGETS["array"].__setitem__(slice(None), obj),
    "layernorm": ascend_cy.layernorm,
    "gamma": lambda obj: ascend_cy.layernorm(ramp(2, 3), obj),
    "layernorm_backward": lambda obj: ascend_cy.layernorm_backward(ramp(2, 3), obj, ramp(2), ramp(2)),
    "vector_add": lambda obj: ascend_cy.vector_add(ramp(2, 3), obj),
    "matmul": lambda obj: ascend_cy.matmul(ramp(2, 3), obj),
    "pipeline": run_pipeline,
}
TARGETS: dict[str, ascend_cy.DeviceArray] = {}


@pytest.mark.parametrize("make", [Failing, FailingProducer])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_the_exception_of_a_conversion_passes_through(name, make):
    """What an object's own code raises reaches the caller as it is, and nothing is left."""
    if name == "from_dlpack" and make is Failing:
        pytest.skip("has no DLPack")
    TARGETS["array"] = device(2, 3)
    obj = make()
    ascend_cy.synchronize()
    gc.collect()
    live = {key: count for key, count in ascend_cy.live_objects().items() if key != "streams"}
    with pytest.raises(Trouble, match="no data today") as caught:
        CONVERSIONS[name](obj)
    del caught
    gc.collect()
    ascend_cy.synchronize()
    now = ascend_cy.live_objects()
    assert {key: now[key] for key in live} == live
    assert (TARGETS.pop("array").to_numpy() == ramp(2, 3)).all()


class Closing:
    """An array whose conversion closes something."""

    def __init__(self, *closed) -> None:
        self.closed = closed

    def __array__(self, dtype=None, copy=None):
        for each in self.closed:
            each.close()
        return ramp(2, 3) + 1

    def __dlpack_device__(self):
        return ramp(1).__dlpack_device__()

    def __dlpack__(self, **keywords):
        return self.__array__().__dlpack__()

    def __index__(self):
        self.__array__()
        return 1


def test_what_a_conversion_closes():
    """The stream of the call lives until the call is over; an array that is closed meanwhile is refused, or used to the end."""
    stream, array = ascend_cy.Stream(), device(2, 3)
    array.copy_from(Closing(stream), stream)
    assert stream.closed and (array.to_numpy() == ramp(2, 3) + 1).all()
    with pytest.raises(ValueError, match="closed"):
        array.copy_from(Closing(array))
    array = device(4, 6)[::2, ::2]
    with pytest.raises(ValueError, match="closed"):
        array.copy_from(Closing(array))
    stream = ascend_cy.Stream()
    for copy in (None, True):
        if ascend_cy.device_info()["unified"] or copy:
            shared = ascend_cy.from_dlpack(Closing(stream), copy=copy, stream=stream if not stream.closed else None)
            assert stream.closed and (shared.to_numpy() == ramp(2, 3) + 1).all()
    stream = ascend_cy.Stream()
    assert (ascend_cy.layernorm(Closing(stream), stream=stream) == ascend_cy.layernorm(ramp(2, 3) + 1)).all()
    stream = ascend_cy.Stream()
    assert (ascend_cy.vector_add(ramp(2, 3), Closing(stream), stream=stream) == 2 * ramp(2, 3) + 1).all()
    launched = kernel()
    stream, array = ascend_cy.Stream(), ascend_cy.zeros(1, "i8")
    view = array[:]
    launched[1, stream](0, array, Closing(array, stream))
    assert array.closed and view.to_numpy().tolist() == [1]


def test_an_array_is_initialised_once():
    array = device(1, 2, 3, 1, 2)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="initialised already"):
            array.__init__((2,))
        assert array.shape == (1, 2, 3, 1, 2)
        array.close()
