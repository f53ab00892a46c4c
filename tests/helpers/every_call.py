# SPDX-License-Identifier: Apache-2.0
"""Every public operation with each of its AscendCL calls failing in turn.

An operation is prepared while nothing fails, then run with its k-th AscendCL call failing, for every k, until no call was
left to fail. Each time it must raise the AclError of that failure, or give the right result (where the call is a hint, a
query or a release, or there is another way); nothing may be left on the device; and the next run must be right.

As a program, in a process of its own: ``python every_call.py FOLDER [NAME ...]`` does all of them, or those, on the device
that the environment chooses, and prints what it did as JSON.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import embedded
import numpy as np

import ascend_cy
from ascend_cy import profiler

# A failure without a meaning of its own, and one for which callers may have another way.
CODES = (507899, 207001)
# No operation makes so many calls.
MOST_CALLS = 2000
# How often a failure is repeated to tell a leak from memory and handles that are kept to be used again.
REPEATS = 8
# What releases, and what is left if the device refuses to. Memory is none of it: pools keep it and try again. Handles are not
# tried again: whether the object is gone after all is not known, and what has its address by then may be somebody else's.
RELEASES = {
    "aclrtDestroyEvent": {"device events": 1},
    "aclrtDestroyStream": {"device streams": 1},
    "aclrtBinaryUnLoad": {"device binaries": 1},
}


class Operation(NamedTuple):
    name: str
    run: Callable[[SimpleNamespace], Any]
    prepare: Callable[[], SimpleNamespace]
    covers: tuple[str, ...]
    devices: int  # how many it needs


class Outcome(NamedTuple):
    """What came of one operation."""

    injected: int
    raised: int
    survived: int  # failures that the operation did without
    functions: frozenset[str]


OPERATIONS: dict[str, Operation] = {}  # from Python; those of other languages have tables of their own


def ramp(*shape: int, dtype: str = "f4") -> np.ndarray:
    return (np.arange(np.prod(shape)) % 23 - 7).reshape(shape).astype(dtype)


def host() -> SimpleNamespace:
    """Arrays of the host."""
    return SimpleNamespace(x=ramp(6, 10), y=ramp(6, 10)[::-1] * 2, gamma=ramp(10) + 9, beta=ramp(10) / 2)


def device() -> SimpleNamespace:
    """The same, and on the device; a stream that is not the current one."""
    made = host()
    made.stream = ascend_cy.Stream()
    made.dx, made.dy, made.dgamma, made.dbeta = (ascend_cy.asarray(a) for a in (made.x, made.y, made.gamma, made.beta))
    ascend_cy.synchronize()
    return made


def operation(*covers: str, prepare: Callable[[], SimpleNamespace] = device, devices: int = 1,
              table: dict[str, Operation] = OPERATIONS) -> Callable[..., Any]:
    def add(run: Callable[[SimpleNamespace], Any]) -> Callable[[SimpleNamespace], Any]:
        assert run.__name__ not in table
        table[run.__name__] = Operation(run.__name__, run, prepare, covers, devices)
        return run

    return add


# ---- makers ----


@operation("empty", "zeros", "ones", "full", prepare=host)
def makers(s):
    return [ascend_cy.empty((3, 5)).shape, ascend_cy.zeros((3, 5)), ascend_cy.ones(7, "i2"), ascend_cy.full((2, 3), -2.5)]


@operation("DeviceArray", "empty_like", prepare=device)
def makers_on_a_stream(s):
    made = ascend_cy.DeviceArray((4, 3), "i4", stream=s.stream)
    made.fill(3, s.stream)
    like = ascend_cy.empty_like(s.dx, stream=s.stream)
    like.copy_from(s.dx, s.stream)
    return [made, like, ascend_cy.full(5, 2, "f2", stream=s.stream)]


@operation("asarray", prepare=host)
def asarray_of_host_arrays(s):
    return [ascend_cy.asarray(s.x), ascend_cy.asarray(s.x[::-2, ::3]), ascend_cy.asarray(s.x.astype("f8"), "f4"),
            ascend_cy.asarray([1.0, 2.0])]


@operation("asarray")
def asarray_of_device_arrays(s):
    return [ascend_cy.asarray(s.dx, "i4"), ascend_cy.asarray(s.dx, stream=s.stream)]


@operation("from_pointer")
def from_pointer(s):
    view = ascend_cy.from_pointer(s.dx.ptr, (3, 4), owner=s.dx, stream=s.stream)
    return [view.copy(s.stream), ascend_cy.from_pointer(s.dx.ptr, (3,), strides=(8,), owner=s.dx).copy()]


@operation("empty_pinned", prepare=host)
def pinned(s):
    one = ascend_cy.empty_pinned((4, 5))
    one[...] = 3
    two = ascend_cy.empty_pinned(100000, "i1")
    two[...] = 1
    array = ascend_cy.asarray(one)
    back = ascend_cy.empty_pinned((4, 5))
    array.to_numpy(out=back)
    return [one.copy(), two.sum(), back.copy()]


# ---- copies ----


@operation("DeviceArray.copy_from")
def upload(s):
    s.dx.copy_from(s.y)
    s.dy.copy_from(s.x[::-1], s.stream)
    s.dy[::2].copy_from(s.x[::2], s.stream)
    return [s.dx, s.dy]


@operation("DeviceArray.copy_from")
def upload_from_pinned_memory(s):
    block = ascend_cy.empty_pinned((6, 10))
    block[...] = s.y
    s.dx.copy_from(block)
    s.dy.copy_from(block, s.stream)
    return [s.dx, s.dy]


@operation("DeviceArray.copy_to", "DeviceArray.to_numpy")
def download(s):
    one, two, three = np.zeros((6, 10), "f4"), np.zeros((12, 10), "f4"), np.zeros((3, 10), "f4")
    s.dx.copy_to(one)
    s.dx.copy_to(two[::2], s.stream)
    s.dy[::2].copy_to(three)
    s.dy.to_numpy(out=two[1::2])
    return [one, two, three, s.dx[:, 1:].to_numpy(), s.dx.to_numpy(stream=s.stream)]


@operation("DeviceArray.copy_from", "DeviceArray.copy_to", "DeviceArray.copy")
def device_to_device(s):
    s.dx.copy_from(s.dy)
    s.dy[:, ::2].copy_from(s.dx[:, 1::2], s.stream)
    s.dx.copy_to(s.dx[::-1].copy())
    return [s.dx, s.dy, s.dx.copy(s.stream), s.dy[::-1, 2:4].copy()]


@operation("DeviceArray.fill", "DeviceArray.__setitem__", "DeviceArray.__getitem__")
def fill_and_assign(s):
    s.dx.fill(2)
    s.dx[1:, ::3] = 5.0
    s.dx[0] = s.dy[1]
    s.dx[3, 1:4] = s.y[3, 1:4]
    s.dy.fill(0, s.stream)
    return [s.dx, s.dy, s.dx[2, ::2]]


@operation("DeviceArray.astype")
def astype(s):
    return [s.dx.astype("i4"), s.dx[::2].astype("f2", s.stream), s.dx.astype("f4")]


@operation("DeviceArray.item", "DeviceArray.__int__", "DeviceArray.__float__", "DeviceArray.__complex__",
           "DeviceArray.__bool__", "DeviceArray.__index__")
def numbers(s):
    counter = ascend_cy.full((), 3, "i4")
    return [s.dx[0, 1].item(), int(s.dx[2, 2]), float(s.dy[0, 0]), complex(s.dy[0, 1]), bool(s.dx[0, 7]),
            [10, 11, 12, 13][counter]]


@operation("DeviceArray.__iter__", "DeviceArray.reshape", "DeviceArray.view", "DeviceArray.T")
def views(s):
    rows = [row.copy() for row in s.dx]
    return [*rows[:2], s.dx.reshape(10, 6).copy(), s.dx[::2].reshape(30), s.dx.view("i4"), s.dx.T.copy()]


@operation("DeviceArray.record_stream", "DeviceArray.close", "DeviceArray.__enter__", "DeviceArray.__exit__")
def lifetime(s):
    s.dx.record_stream(s.stream)
    total = s.dx.to_numpy().sum()
    s.dx.close()
    with ascend_cy.zeros(5, stream=s.stream) as array:
        array.record_stream(ascend_cy.default_stream())
    return [total, s.dx.closed, array.closed]


# ---- exchange ----


@operation("DeviceArray.__array__", "DeviceArray.__array_interface__")
def numpy_views(s):
    if not ascend_cy.device_info()["unified"]:
        return []
    s.dx.fill(4, s.stream)
    return [np.asarray(s.dx).copy(), np.array(s.dx.__array_interface__["shape"]), np.array(s.dy), bytes(memoryview(s.dx)),
            s.dy.__array__().copy()]


@operation("DeviceArray.__dlpack__", "DeviceArray.__dlpack_device__", "from_dlpack")
def dlpack(s):
    here = s.dx.__dlpack_device__()
    out = [here[1], ascend_cy.from_dlpack(s.dx), ascend_cy.from_dlpack(s.dy, stream=s.stream),
           ascend_cy.from_dlpack(s.x, copy=True), ascend_cy.from_dlpack(s.dy, copy=True)]
    capsule = s.dx[:3].__dlpack__(max_version=(1, 0), stream=None)
    del capsule
    if ascend_cy.device_info()["unified"]:
        out += [np.from_dlpack(s.dx).copy(), ascend_cy.from_dlpack(s.x)]
    return out


# ---- operators ----


@operation("layernorm", prepare=host)
def layernorm_of_ndarrays(s):
    out = np.zeros((6, 10), "f4")
    ascend_cy.layernorm(s.x, s.gamma, s.beta, out=out)
    return [ascend_cy.layernorm(s.x), out, ascend_cy.layernorm(s.x[::2, ::-1], s.gamma),
            *ascend_cy.layernorm(s.x.astype("f2"), return_stats=True)]


@operation("layernorm")
def layernorm_of_device_arrays(s):
    out = ascend_cy.zeros((6, 10), stream=s.stream)
    ascend_cy.layernorm(s.dx, s.dgamma, s.dbeta, out=out, stream=s.stream)
    return [ascend_cy.layernorm(s.dx), out, ascend_cy.layernorm(s.dx[::2, ::-1], s.dgamma),
            *ascend_cy.layernorm(s.dy, return_stats=True, stream=s.stream)]


@operation("layernorm_backward", prepare=host)
def layernorm_backward_of_ndarrays(s):
    _, mean, rstd = ascend_cy.layernorm(s.x, return_stats=True)
    out = np.zeros((6, 10), "f4")
    ascend_cy.layernorm_backward(s.y, s.x, mean, rstd, out=out)
    return [out, *ascend_cy.layernorm_backward(s.y, s.x, mean, rstd, s.gamma),
            *ascend_cy.layernorm_backward(s.y[::2, ::-1], s.x[::2], mean[::2], rstd[::2], s.gamma)]


def device_with_statistics() -> SimpleNamespace:
    made = device()
    _, made.mean, made.rstd = ascend_cy.layernorm(made.dx, return_stats=True)
    ascend_cy.synchronize()
    return made


@operation("layernorm_backward", prepare=device_with_statistics)
def layernorm_backward_of_device_arrays(s):
    out = ascend_cy.zeros((6, 10))
    ascend_cy.layernorm_backward(s.dy, s.dx, s.mean, s.rstd, out=out)
    return [out, *ascend_cy.layernorm_backward(s.dy, s.dx, s.mean, s.rstd, s.dgamma, stream=s.stream),
            *ascend_cy.layernorm_backward(s.dy[::2, ::-1], s.dx[::2], s.mean[::2], s.rstd[::2], s.dgamma)]


@operation("vector_add", prepare=host)
def vector_add_of_ndarrays(s):
    out = np.zeros((6, 10), "f4")
    ascend_cy.vector_add(s.x, s.y, out=out)
    return [ascend_cy.vector_add(s.x, s.y), out, ascend_cy.vector_add(s.x[:, ::2], s.y[:, 1::2]),
            ascend_cy.vector_add(s.x.astype("f2"), s.y.astype("f2"))]


@operation("vector_add")
def vector_add_of_device_arrays(s):
    out = ascend_cy.zeros((6, 10))
    ascend_cy.vector_add(s.dx, s.dy, out=out, stream=s.stream)
    ascend_cy.vector_add(s.dy, s.dx, out=s.dy)
    return [ascend_cy.vector_add(s.dx, s.dy), out, s.dy, ascend_cy.vector_add(s.dx[:, ::2], s.dy[:, 1::2])]


@operation("matmul", prepare=host)
def matmul_of_ndarrays(s):
    out = np.zeros((6, 6), "f4")
    ascend_cy.matmul(s.x, np.ascontiguousarray(s.y.T), out=out)
    return [ascend_cy.matmul(s.x, s.y.T), out, ascend_cy.matmul(s.x[::2], s.y.T)]


@operation("matmul")
def matmul_of_device_arrays(s):
    out = ascend_cy.zeros((6, 6), stream=s.stream)
    ascend_cy.matmul(s.dx, s.dy.T, out=out, stream=s.stream)
    return [ascend_cy.matmul(s.dx, s.dy.T), out, ascend_cy.matmul(s.dx[::2], s.dy.T)]


# ---- streams, events, devices ----


@operation("Stream", "Stream.__enter__", "Stream.__exit__", "Stream.close", "current_stream", "default_stream")
def streams(s):
    with ascend_cy.Stream(3) as stream:
        same = ascend_cy.current_stream() == stream
        array = ascend_cy.full(8, 2)
        with ascend_cy.default_stream():
            other = ascend_cy.full(8, 3)
        y = ascend_cy.vector_add(array, other)
    stream.close()
    return [same, y, ascend_cy.current_stream() == ascend_cy.default_stream()]


@operation("Stream.synchronize", "Stream.query", "Stream.record", "Stream.wait", "synchronize", "synchronize_all")
def waiting(s):
    s.dx.fill(3, s.stream)
    event = s.stream.record()
    other = ascend_cy.Stream()
    other.wait(event)
    other.wait(s.stream)
    ascend_cy.default_stream().wait(other)
    s.stream.record(event)
    s.stream.synchronize()
    done = s.stream.query()
    ascend_cy.synchronize()
    ascend_cy.synchronize_all()
    return [s.dx, done, event.query()]


@operation("Stream.from_handle")
def foreign_streams(s):
    stream = ascend_cy.Stream.from_handle(s.stream.handle, owner=s.stream)
    s.dx.fill(2, stream)
    stream.synchronize()
    stream.close()
    return [s.dx, ascend_cy.Stream.from_handle(0).device]


@operation("Stream.add_callback")
def callbacks(s):
    seen = []
    s.stream.add_callback(seen.append, 1)
    s.stream.add_callback(seen.append, 2)
    try:
        s.stream.synchronize()
    finally:
        # What was enqueued before the failure runs; it must not run into the next round.
        while not _query(s.stream):
            time.sleep(1e-4)
    return list(seen)


def _query(stream: ascend_cy.Stream) -> bool:
    try:
        return stream.query()
    except ascend_cy.AclError:
        return stream.query()


@operation("Stream.future", "StreamFuture", "StreamFuture.result", "StreamFuture.exception")
def futures(s):
    s.dx.fill(1, s.stream)
    results = []
    pending = [s.stream.future(i) for i in range(3)]
    for future in pending:
        results.append(future.result(30))
        results.append(future.exception(30))
    _watchers_gone()
    return [results, s.dx]


@operation("StreamFuture.__await__")
def awaited(s):
    async def wait():
        return await asyncio.wait_for(s.stream.future("done"), 30)

    result = asyncio.run(wait())
    _watchers_gone()
    return [result]


def _watchers_gone() -> None:
    """The threads behind futures hold their stream until they have looked once more."""
    from ascend_cy import _futures

    while _futures._watchers:
        time.sleep(1e-4)


@operation("Event", "Event.record", "Event.query", "Event.synchronize", "Event.elapsed_time", "Event.close")
def events(s):
    start, end, plain = ascend_cy.Event(), ascend_cy.Event(), ascend_cy.Event(timing=False)
    start.record(s.stream)
    s.dx.fill(3, s.stream)
    end.record(s.stream)
    plain.record()
    plain.synchronize()
    end.synchronize()
    took = start.elapsed_time(end)
    done = [start.query(), end.query()]
    start.close()
    return [took >= 0, done, s.dx]


@operation("Device", "Device.name", "Device.memory", "Device.synchronize", "Device.__enter__", "Device.__exit__")
def devices(s):
    one = ascend_cy.Device(0)
    with one as entered:
        free, total = entered.memory()
        array = ascend_cy.full(4, 1)
    one.synchronize()
    return [one.name, 0 < free <= total, array, ascend_cy.Device() == one]


@operation("Device.__enter__", "Device.__exit__", "synchronize_all", devices=2)
def two_devices(s):
    with ascend_cy.Device(1) as other:
        array = ascend_cy.full((6, 10), 3)
        with ascend_cy.Stream() as stream:
            array = ascend_cy.vector_add(array, array)
        stream.synchronize()
        other.synchronize()
    ascend_cy.synchronize_all()
    return [array.device, ascend_cy.current_stream().device, array]


@operation("DeviceArray.copy_from", "DeviceArray.copy_to", devices=2)
def between_devices(s):
    there = ascend_cy.empty((6, 10), stream=ascend_cy.default_stream(1))
    there.copy_from(s.dx)
    with ascend_cy.Device(1):
        doubled = ascend_cy.vector_add(there, there)
    s.dy.copy_from(doubled)
    doubled[::2].copy_to(s.dx[1::2])
    return [there, s.dx, s.dy]


@operation("device_count", "device_info", "has", "is_initialized", "get_include", "get_library_dir", prepare=host)
def questions(s):
    info = ascend_cy.device_info()
    return [ascend_cy.device_count(), info["kind"], ascend_cy.has("aclrtMalloc"), ascend_cy.is_initialized(),
            ascend_cy.get_include(), ascend_cy.get_library_dir()]


# ---- memory ----


@operation("memory_stats", "set_memory_limit", "trim_memory", "live_objects")
def pool(s):
    blocks = [ascend_cy.empty(n) for n in (100, 70000, 300000)]
    stats = ascend_cy.memory_stats()
    blocks.clear()
    ascend_cy.trim_memory(1 << 10)
    ascend_cy.set_memory_limit(1 << 30)
    try:
        again = ascend_cy.zeros(1000)
    finally:
        ascend_cy.set_memory_limit(None)
    ascend_cy.trim_memory()
    return [stats["in_use"] > 0, again, ascend_cy.live_objects()["streams"] > 0]


@operation("MemoryPool", "MemoryPool.stats", "MemoryPool.reset_peaks", "MemoryPool.trim", "MemoryPool.use", "MemoryPool.__enter__",
           "MemoryPool.__exit__", "current_pool", "default_pool", "reset_peak_memory")
def pools(s):
    made = ascend_cy.MemoryPool(1 << 24, name="every call")
    default = ascend_cy.default_pool()
    try:
        with made:
            x = ascend_cy.full((40, 50), 3)
            inside = ascend_cy.current_pool() == made
        y = ascend_cy.vector_add(x, x, stream=s.stream)
        held = made.stats()["in_use"] > 0
        made.use()
        z = ascend_cy.full(10, 4)
    finally:
        default.use()
    made.reset_peaks()
    ascend_cy.reset_peak_memory()
    made.trim()
    return [inside, held, y, z, ascend_cy.current_pool() == default]


@operation("empty_many")
def many_arrays(s):
    made = ascend_cy.empty_many([3, (4, 5)], ["float32", "int32"], stream=s.stream)
    for array in made:
        array.fill(6, s.stream)
    return made


@operation("DeviceArray", "trim_memory")
def memory_that_other_streams_use(s):
    s.dx.fill(1, s.stream)
    y = ascend_cy.vector_add(s.dx, s.dy, stream=s.stream)
    s.dx.close()
    z = ascend_cy.full((6, 10), 2)
    ascend_cy.trim_memory()
    return [y, z]


# ---- modules ----


def module_source() -> SimpleNamespace:
    made = device()
    made.binary = str(_binary)
    made.content = _binary.read_bytes()
    return made


_binary = Path()

_SIGNATURE = "i64 wait, ptr out, i64 value"


@operation("load", "modules", "Module.kernel", "Module.unload", "Module.__enter__", "Module.__exit__", "Kernel.launch",
           "Kernel.__getitem__", prepare=module_source)
def loaded_modules(s):
    out = ascend_cy.zeros(1, "i8", stream=s.stream)
    again = ascend_cy.zeros(1, "i8")
    with ascend_cy.load(s.binary) as module:
        kernel = module.kernel("slow_store", _SIGNATURE)
        kernel.launch(0, out, 7, blocks=1, stream=s.stream)
        kernel[1](0, again, 8)
        listed = module in ascend_cy.modules()
    other = ascend_cy.load(s.content, name="other", version="2")
    other.unload()
    return [out, again, listed, other.closed, module.closed]


@operation("Module.reload", prepare=module_source)
def reloaded_modules(s):
    out = ascend_cy.zeros(1, "i8")
    with ascend_cy.load(s.binary) as module:
        kernel = module.kernel("slow_store", _SIGNATURE)
        kernel[1](0, out, 1)
        changed = module.reload(s.content + b"\0", warm=lambda trial: trial.kernel("slow_store", _SIGNATURE)[1](0, out, 2))
        first = out.to_numpy()
        kernel[1](0, out, 3)
        return [changed, first, out.to_numpy()]


_SOURCE = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void set_first(GM_ADDR x, float value)
{
    AscendC::GlobalTensor<float> global;
    global.SetGlobalBuffer((__gm__ float *)x, 1);
    global.SetValue(0, value);
}
"""


@operation("compile")
def compiled_modules(s):
    with ascend_cy.compile(_SOURCE) as module:
        module.kernel("set_first")[1](s.dx, 2.5)
        return [module.kernels, s.dx.to_numpy()]


# ---- pipelines and recordings ----


@operation("Pipeline", "Pipeline.__call__", "Pipeline.close", "Pipeline.__enter__", "Pipeline.__exit__", prepare=host)
def pipelines(s):
    batches = [s.x, s.y, s.x[:2]]
    with ascend_cy.Pipeline(ascend_cy.layernorm, slots=2) as pipeline:
        out = list(pipeline(batches))
    with ascend_cy.Pipeline(sum_and_first, ascend_cy.vector_add, copy=True) as pipeline:
        out += list(pipeline((a, a) for a in batches[1:]))
    return [np.array(value) for value in out]


def sum_and_first(a, b):
    return ascend_cy.vector_add(a, b), a


@operation("Pipeline.__call__", prepare=host)
def pipelines_that_are_left(s):
    with ascend_cy.Pipeline(ascend_cy.layernorm, copy=True) as pipeline:
        running = pipeline([s.x, s.y, s.x, s.y])
        first = next(running).copy()
        running.close()
    return [first]


@operation("profiler.profile", "profiler.annotate")
def recordings(s):
    with profiler.profile() as recording:
        with profiler.annotate("step", s.stream):
            y = ascend_cy.layernorm(s.dx, stream=s.stream)
        z = ascend_cy.vector_add(s.dx, s.dy)
    # A range that could not be recorded is missing, and the work is what it would have been.
    assert {each.name for each in recording.ranges} <= {"step", "layernorm_fp32", "vector_add_fp32"}
    return [y, z]


# ---- how it is done ----


class _Live(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), *((name, ctypes.c_uint32) for name in (
        "contexts", "streams", "events", "notifies", "binaries", "allocations", "models")), ("bytes", ctypes.c_uint64)]


def live() -> dict[str, int]:
    """What lives on the device, as the device itself counts it, and what ascend_cy counts."""
    found = _Live(ctypes.sizeof(_Live))
    embedded.acl("ascendcl_cpu_live_objects", ctypes.byref(found))
    counts = {f"device {name}": getattr(found, name) for name, _ in _Live._fields_[1:]}
    return {**counts, **ascend_cy.live_objects()}


def settled() -> dict[str, int]:
    """The same once everything that has passed was given back."""
    gc.collect()
    ascend_cy.synchronize_all()
    ascend_cy.live_objects()  # gives back what was dropped and has passed: modules, and with them their streams
    for index in range(ascend_cy.device_count()):
        ascend_cy.trim_memory(device=index)
    return live()


def seen(value: Any) -> Any:
    """Values that can be compared, and hold nothing on the device."""
    if isinstance(value, (list, tuple)):
        return [seen(each) for each in value]
    if isinstance(value, ascend_cy.DeviceArray):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value


def once(op: Operation) -> Any:
    """The operation with nothing failing."""
    return seen(op.run(op.prepare()))


def runs(op: Operation) -> bool:
    return ascend_cy.device_count() >= op.devices


def fail_each_call(op: Operation) -> Outcome:
    """Fail each AscendCL call of an operation in turn, with each code.

    Raises
    ------
    AssertionError
        For a wrong exception, a wrong result, something left behind, or a next run that is wrong.
    """
    wanted = once(op)
    assert once(op) == wanted, "two runs differ while nothing fails"
    rules = [f"call=*,code={code},{','.join(f'skip={name}' for name in RELEASES)}" for code in CODES]
    rules += [f"call={name},code={CODES[0]}" for name in RELEASES]
    injected = raised = 0
    functions = set()
    for rule in rules:
        for k in range(1, MOST_CALLS):
            struck, function = fail_one_call(op, wanted, f"{rule},at={k}")
            injected += struck
            if function:
                raised += 1
                functions.add(function)
            if not struck:
                break
        else:
            raise AssertionError(f"{op.name}: no end of calls")
    return Outcome(injected, raised, injected - raised, frozenset(functions))


def fail_one_call(op: Operation, wanted: Any, rule: str) -> tuple[int, str]:
    """Run an operation under a rule; how often it struck, and the function that was told of in an exception."""
    where = f"{op.name} with {rule}"
    before = settled()
    struck, function = run_under(op, wanted, rule, where)
    assert once(op) == wanted, f"{where}: the next run is wrong"
    left = more_than(before)
    called = rule.split(",")[0].removeprefix("call=")
    if struck and called in RELEASES:
        allowed = RELEASES[called]
        assert all(allowed.get(name) == count for name, count in left.items()), f"{where}: left {left}"
    elif left:
        # What is kept to be used again may have become more; a leak becomes more every time.
        for _ in range(REPEATS):
            run_under(op, wanted, rule, where)
        again = {name: count for name, count in more_than(before).items() if count > left.get(name, 0) + REPEATS // 2}
        assert not again, f"{where}: left behind {left} the first time, {again} after {REPEATS} times more"
    return struck, function


def run_under(op: Operation, wanted: Any, rule: str, where: str) -> tuple[int, str]:
    function = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state, result, failure = op.prepare(), None, None
        with embedded.faults(rule):
            try:
                result = op.run(state)
            except BaseException as error:
                failure = error
            struck = embedded.fault_counts()[1]
        if failure is None:
            assert seen(result) == wanted, f"{where}: no exception, and a wrong result"
        else:
            code = int(next(part for part in rule.split(",") if part.startswith("code="))[5:])
            function = check_failure(failure, code, where)
            failure.__traceback__ = None
        del state, result, failure
        gc.collect()
    strange = [str(each.message) for each in caught if not issubclass(each.category, ascend_cy.AscendCyResourceWarning)]
    assert not strange, f"{where}: {strange}"
    assert ascend_cy.current_stream() == ascend_cy.default_stream(), f"{where}: a stream was left current"
    assert ascend_cy.Device().index == 0, f"{where}: another device was left current"
    return struck, function


def more_than(before: dict[str, int]) -> dict[str, int]:
    """What there is more than before; threads that give something back get the time to do so."""
    deadline = time.monotonic() + 0.5
    while True:
        after = settled()
        left = {name: after[name] - before[name] for name in after if after[name] > before[name]}
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.002)


def check_failure(failure: BaseException, code: int, where: str) -> str:
    """The failing function's name; the exception is what it must be."""
    assert isinstance(failure, ascend_cy.AclError), f"{where}: {''.join(traceback.format_exception(failure))}"
    assert failure.code == code, f"{where}: {failure}"
    assert failure.function.startswith("acl"), f"{where}: {failure}"
    assert "injected fault" in str(failure), f"{where}: {failure}"
    assert isinstance(failure, ascend_cy.DeviceMemoryError) == (code == 207001), f"{where}: {failure!r}"
    return failure.function


def use_binary(path: Path) -> None:
    """The kernel binary that the operations of modules load."""
    global _binary
    _binary = path


def main(folder: str, *names: str, table: dict[str, Operation] = OPERATIONS) -> None:
    """All operations or some, for a process of its own."""
    os.environ["ASCEND_CY_CACHE_DIR"] = os.path.join(folder, "cache")
    use_binary(embedded.build_kernels(Path(folder)))
    gc.collect()
    gc.freeze()
    report = {}
    for op in [table[name] for name in names or table]:
        if runs(op):
            begin = time.perf_counter()
            outcome = fail_each_call(op)
            report[op.name] = {**outcome._asdict(), "functions": sorted(outcome.functions),
                               "seconds": time.perf_counter() - begin}
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
