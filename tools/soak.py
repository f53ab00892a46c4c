#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A million mixed operations over threads and streams; fails when memory, handles or latency grow, or a value is wrong.

    python tools/soak.py                              # a million operations
    python tools/soak.py --seconds 15                 # as many as go in 15 s
    python tools/soak.py --threads 8 --streams 6 --seed 7 --faults 1e-4 --json soak.json
    python tools/soak.py --ops 20000 --leak event     # does it notice? ends with 1

The run is a row of windows. Between two of them all threads stand still, everything that has passed is given back, and
what is left is counted: memory of the process, memory and handles of the device as the device itself counts them, files and
threads. A count has grown when its least value in the last quarter of the windows is above its greatest in the first
quarter (the first window, in which caches fill, is left out) by more than its slack. Latency has grown when the typical
operation takes more than `--latency` times as long in the last quarter as in the first. What an operation takes is the time
that nine of ten exceed: the others also wait for processors that somebody else has, which on a machine with other work is most
of them. How much slower the machine itself became, seen by an operation that is nothing but Python and NumPy, is divided out;
where it became faster, which operations feel in different ways, nothing is.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import gc
import itertools
import json
import os
import random
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import ascend_cy

# What a count may grow without being a leak: the C library keeps some of its heap, ascend_cy up to 256 events to be used
# again, and the threads that wait for futures some time after the last.
SLACK = {"process bytes": 12 << 20, "device events": 256, "threads": 16}
RELEASES = ("aclrtDestroyEvent", "aclrtDestroyStream", "aclrtFree", "aclrtFreeHost", "aclrtBinaryUnLoad")
HANG_SECONDS = 180


# ---- the work ----


class Shared:
    """What all threads work on: streams, and arrays that hold one value each and are never written again."""

    def __init__(self, streams: int, faulty: bool) -> None:
        self.streams = [ascend_cy.Stream(i % 8) for i in range(streams)] + [ascend_cy.default_stream()]
        self.arrays: deque[tuple[ascend_cy.DeviceArray, float]] = deque(maxlen=48)
        self.unified = ascend_cy.device_info()["unified"]
        self.faulty = faulty
        rng = np.random.default_rng(1)
        self.inputs = [rng.normal(3, 2, (rows, cols)).astype(np.float32) for rows, cols in ((1, 7), (16, 64), (33, 200))]
        self.outputs = [ascend_cy.layernorm(x) for x in self.inputs]
        self.gradients = []
        for x in self.inputs:
            _, mean, rstd = ascend_cy.layernorm(x, return_stats=True)
            self.gradients.append((mean, rstd, ascend_cy.layernorm_backward(x, x, mean, rstd)[0]))
        self.open_pipelines()
        folder = Path(ascend_cy.get_library_dir()) / "kernels" / ascend_cy.device_info()["kind"]
        self.binary = next(iter(sorted(folder.glob("vector_add*"))), None)
        self.leaked: list[Any] = []

    def open_pipelines(self) -> None:
        self.pipelines = [ascend_cy.Pipeline(ascend_cy.layernorm), ascend_cy.Pipeline(ascend_cy.layernorm, copy=True, slots=2)]

    def let_go(self) -> None:
        """Drop what is kept between operations: arrays, and the streams of pipelines."""
        self.arrays.clear()
        for pipeline in self.pipelines:
            pipeline.close()

    def close(self) -> None:
        self.let_go()
        for stream in self.streams[:-1]:
            stream.close()


class Worker:
    """One thread's operations. Each is a method whose name begins with ``do_``; its value is checked where it is made."""

    def __init__(self, shared: Shared, number: int, seed: int) -> None:
        self.shared = shared
        self.random = random.Random(f"{seed}/{number}")
        self.callbacks = 0
        self.called_back: list[None] = []

    def stream(self) -> ascend_cy.Stream:
        return self.random.choice(self.shared.streams)

    def shape(self) -> tuple[int, ...]:
        return self.random.choice([(5,), (16, 64), (3, 4, 5), (64, 256), (1000,), (200, 333)])

    def value(self) -> float:
        return float(self.random.randrange(-50, 50))

    def array(self) -> tuple[ascend_cy.DeviceArray, float]:
        try:
            return self.random.choice(self.shared.arrays)
        except (IndexError, RuntimeError):  # empty, or another thread has just changed it
            return self.do_full()

    def keep(self, array: ascend_cy.DeviceArray, value: float) -> tuple[ascend_cy.DeviceArray, float]:
        self.shared.arrays.append((array, value))
        return array, value

    # -- makers and copies --

    def do_full(self) -> tuple[ascend_cy.DeviceArray, float]:
        value = self.value()
        return self.keep(ascend_cy.full(self.shape(), value, stream=self.stream()), value)

    def do_upload(self) -> None:
        value = self.value()
        self.keep(ascend_cy.asarray(np.full(self.shape(), value, np.float32), stream=self.stream()), value)

    def do_upload_pinned(self) -> None:
        value = self.value()
        block = ascend_cy.empty_pinned(self.shape())
        block[...] = value
        self.keep(ascend_cy.asarray(block, stream=self.stream()), value)

    def do_download(self) -> None:
        array, value = self.array()
        assert (array.to_numpy(stream=self.stream()) == value).all()

    def do_download_pinned(self) -> None:
        array, value = self.array()
        block = ascend_cy.empty_pinned(array.shape)
        array.copy_to(block)
        assert (block == value).all()

    def do_slices(self) -> None:
        array, value = self.array()
        part = array[..., ::2].copy(self.stream())
        assert (part.to_numpy() == value).all()

    def do_assign(self) -> None:
        stream, value = self.stream(), self.value()
        array = ascend_cy.zeros((40, 50), stream=stream)
        array[::2] = value
        array[1].fill(3, self.stream())
        seen = array.to_numpy()
        assert (seen[::2] == value).all() and (seen[1] == 3).all() and (seen[3::2] == 0).all()

    def do_astype(self) -> None:
        array, value = self.array()
        assert (array.astype("i4").to_numpy() == int(value)).all()

    def do_close(self) -> None:
        with ascend_cy.empty(self.shape(), stream=self.stream()) as array:
            array.record_stream(self.stream())

    # -- operators --

    def do_add(self) -> None:
        array, value = self.array()
        if abs(value) < 1e5:
            self.keep(ascend_cy.vector_add(array, array, stream=self.stream()), 2 * value)

    def do_add_out(self) -> None:
        array, value = self.array()
        out = ascend_cy.empty(array.shape, stream=self.stream())
        ascend_cy.vector_add(array, array, out=out, stream=self.stream())
        assert (out.to_numpy() == 2 * value).all()

    def do_layernorm(self) -> None:
        array, _ = self.array()
        # Rows of one value: exactly zero.
        assert not ascend_cy.layernorm(array, stream=self.stream()).to_numpy().any()

    def do_layernorm_of_host(self) -> None:
        i = self.random.randrange(3)
        out = np.empty_like(self.shared.inputs[i])
        ascend_cy.layernorm(self.shared.inputs[i], out=out)
        assert out.tobytes() == self.shared.outputs[i].tobytes()

    def do_layernorm_of_views(self) -> None:
        i = self.random.randrange(3)
        x = ascend_cy.asarray(self.shared.inputs[i], stream=self.stream())
        y = ascend_cy.layernorm(x[::-1], stream=self.stream()).to_numpy()
        assert y[::-1].tobytes() == self.shared.outputs[i].tobytes()

    def do_backward(self) -> None:
        i = self.random.randrange(3)
        mean, rstd, wanted = self.shared.gradients[i]
        x = self.shared.inputs[i]
        assert ascend_cy.layernorm_backward(x, x, mean, rstd)[0].tobytes() == wanted.tobytes()

    def do_matmul(self) -> None:
        one = ascend_cy.ones((8, 16), stream=self.stream())
        two = ascend_cy.full((16, 4), 2, stream=self.stream())
        assert (ascend_cy.matmul(one, two, stream=self.stream()).to_numpy() == 32).all()

    # -- streams --

    def do_current_stream(self) -> None:
        value = self.value()
        with self.stream() as stream:
            array = ascend_cy.full(30, value)
            event = stream.record()
        other = self.stream()
        other.wait(event)
        event.query()
        assert (array.to_numpy(stream=other) == value).all()

    def do_new_stream(self) -> None:
        value = self.value()
        with ascend_cy.Stream() as stream:
            self.keep(ascend_cy.full(self.shape(), value), value)
        stream.close()

    def do_events(self) -> None:
        stream = self.stream()
        start, end = ascend_cy.Event(), ascend_cy.Event()
        start.record(stream)
        ascend_cy.zeros(500, stream=stream)
        end.record(stream)
        end.synchronize()
        start.elapsed_time(end)

    def do_callback(self) -> None:
        self.stream().add_callback(self.called_back.append, None)
        self.callbacks += 1

    def do_future(self) -> None:
        mark = object()
        assert self.stream().future(mark).result(60) is mark

    def do_synchronize(self) -> None:
        self.stream().synchronize()

    # -- larger things --

    def do_pipeline(self) -> None:
        pipeline = self.random.choice(self.shared.pipelines)
        x, wanted = self.shared.inputs[1], self.shared.outputs[1].tobytes()
        for i, y in enumerate(pipeline(x.copy() for _ in range(4))):
            assert y.tobytes() == wanted
            if i == 2 and self.random.random() < 0.5:
                break

    def do_exchange(self) -> None:
        array, value = self.array()
        if self.shared.unified:
            assert (np.from_dlpack(array) == value).all()
        back = ascend_cy.from_dlpack(array)
        assert (ascend_cy.from_dlpack(np.full(9, value), copy=True).to_numpy() == value).all()
        assert back.shape == array.shape

    def do_refused(self) -> None:
        array, _ = self.array()
        for call, error in ((lambda: ascend_cy.layernorm(array, eps=-1), ValueError), (lambda: array.reshape(7, 7, 7, 7), ValueError),
                            (lambda: ascend_cy.empty(3, "c16"), TypeError)):
            try:
                call()
            except error:
                continue
            raise AssertionError("a bad argument was taken")

    def do_module(self) -> None:
        if self.shared.binary is not None:
            with ascend_cy.load(self.shared.binary) as module:
                assert module in ascend_cy.modules()

    def do_trim(self) -> None:
        assert ascend_cy.memory_stats()["in_use"] >= 0
        ascend_cy.trim_memory(1 << 20)

    def do_thread(self) -> None:
        failures: list[BaseException] = []

        def work() -> None:
            try:
                self.do_current_stream()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    def do_nothing_of_ours(self) -> None:
        """What the machine does without us: latency is compared with it."""
        total = np.zeros(256, np.float32)
        for i in range(12):
            total += i
        assert total[0] == 66


# How often, where it is not ten times.
WEIGHTS = {"do_new_stream": 3, "do_future": 3, "do_pipeline": 1, "do_module": 0.2, "do_trim": 0.3, "do_thread": 1}

LEAKS: dict[str, Callable[[Worker], Any]] = {
    "array": lambda worker: worker.shared.leaked.append(ascend_cy.empty(16)),
    "event": lambda worker: worker.shared.leaked.append(ascend_cy.Event()),
    "stream": lambda worker: worker.shared.leaked.append(ascend_cy.Stream()),
    "pinned": lambda worker: worker.shared.leaked.append(ascend_cy.empty_pinned(16)),
    "host": lambda worker: worker.shared.leaked.append(bytearray(200_000)),
    "file": lambda worker: worker.shared.leaked.append(os.open("/dev/null", os.O_RDONLY)),
    "thread": lambda worker: threading.Thread(target=threading.Event().wait, daemon=True).start(),
    "time": lambda worker: worker.shared.leaked.append(None),  # every operation takes longer by what was leaked
}
# In all; less than the files, threads and streams that a process may have.
MOST_LEAKS = 400


# ---- the run ----


def undisturbed(times: list[float]) -> float:
    """What nine of ten exceed."""
    return sorted(times)[len(times) // 10]


class _Live(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), *((name, ctypes.c_uint32) for name in (
        "contexts", "streams", "events", "notifies", "binaries", "allocations", "models")), ("bytes", ctypes.c_uint64)]


def embedded_library() -> ctypes.CDLL | None:
    """The embedded device, which counts what lives on it; None on another one."""
    library = ctypes.CDLL(ascend_cy.device_info()["library"])
    return library if hasattr(library, "ascendcl_cpu_live_objects") else None


def counts(library: ctypes.CDLL | None) -> dict[str, int]:
    """What there is once everything that has passed was given back."""
    for _ in range(2):
        gc.collect()
        ascend_cy.synchronize_all()
        ascend_cy.trim_memory()
    found = {f"ascend_cy {name}": count for name, count in ascend_cy.live_objects().items()}
    stats = ascend_cy.memory_stats()
    found |= {"pool bytes in use": stats["in_use"], "pool bytes reserved": stats["reserved"]}
    if library is not None:
        live = _Live(ctypes.sizeof(_Live))
        library.ascendcl_cpu_live_objects(ctypes.byref(live))
        found |= {f"device {name}": getattr(live, name) for name, _ in _Live._fields_[1:]}
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        pass
    with open("/proc/self/statm") as file:
        found["process bytes"] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    found["files"] = len(os.listdir("/proc/self/fd"))
    found["threads"] = len(os.listdir("/proc/self/task"))
    return found


class Soak:
    """Workers, windows, and what was seen."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.shared = Shared(options.streams, options.faults > 0)
        self.workers = [Worker(self.shared, i, options.seed) for i in range(options.threads)]
        self.names = [name for name in dir(Worker) if name.startswith("do_")]
        self.weights = list(itertools.accumulate(WEIGHTS.get(name, 10) for name in self.names))
        self.failure: BaseException | None = None
        self.failed = 0  # operations that an injected failure ended
        self.done = [0] * options.threads
        self.windows: list[dict[str, int]] = []
        self.latency: list[dict[str, float]] = []  # undisturbed time of each operation in each window

    def run_window(self, seconds: float | None, bar: Any) -> None:
        quota = -(-self.options.ops // self.options.windows // self.options.threads)
        end = None if seconds is None else time.perf_counter() + seconds
        times: list[dict[str, list[float]]] = [{name: [] for name in self.names} for _ in self.workers]
        threads = [threading.Thread(target=self.work, args=(i, quota, end, times[i])) for i in range(len(self.workers))]
        before = sum(self.done)
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
                now = sum(self.done)
                bar.update(now - before)
                before = now
        bar.update(sum(self.done) - before)
        if self.failure is not None:
            raise self.failure
        # No more than this is kept: all times of a million operations would themselves be growing memory.
        together = {name: [t for each in times for t in each[name]] for name in self.names}
        self.latency.append({name: undisturbed(found) for name, found in together.items() if found})

    def work(self, number: int, quota: int, end: float | None, times: dict[str, list[float]]) -> None:
        worker = self.workers[number]
        leak = LEAKS.get(self.options.leak)
        often = max(1, self.options.ops // MOST_LEAKS)
        clock = time.perf_counter
        for _ in range(quota):
            name = worker.random.choices(self.names, cum_weights=self.weights)[0]
            start = clock()
            try:
                getattr(worker, name)()
                if leak is not None and self.done[number] % often == 0:
                    leak(worker)
                if self.options.leak == "time" and name != "do_nothing_of_ours":
                    while clock() - start < 1e-6 * len(self.shared.leaked):
                        pass
            except ascend_cy.AclError as error:
                if not (self.shared.faulty and "injected fault" in str(error)):
                    self.fail(number, name, error)
                self.failed += 1
            except BaseException as error:
                self.fail(number, name, error)
            times[name].append(clock() - start)
            self.done[number] += 1
            if self.failure is not None or (end is not None and clock() > end):
                return

    def fail(self, number: int, name: str, error: BaseException) -> None:
        where = f"operation {name[3:]}, number {self.done[number] + 1} of thread {number}, seed {self.options.seed}"
        failure = RuntimeError(f"{where}: {type(error).__name__}: {error}")
        failure.__cause__ = error
        self.failure = self.failure or failure

    def settle(self) -> None:
        """Between two windows: nothing runs, and nothing is kept but what was leaked."""
        self.shared.let_go()
        for stream in self.shared.streams:
            stream.synchronize()
        for worker in self.workers:
            if len(worker.called_back) != worker.callbacks:
                raise AssertionError(f"{worker.callbacks} callbacks were enqueued, {len(worker.called_back)} ran")
            worker.callbacks = 0
            worker.called_back.clear()
        self.windows.append(counts(self.library))
        self.shared.open_pipelines()

    def run(self) -> None:
        self.library = embedded_library()
        options = self.options
        seconds = options.seconds and options.seconds / options.windows
        faults = f"call=*,probability={options.faults},seed={options.seed + 1}" if options.faults else None
        if faults:  # what the device refuses to release is left
            faults += "".join(f",skip={name}" for name in RELEASES)
        if faults and self.library is None:
            raise SystemExit("--faults needs the embedded device")
        with tqdm(total=options.ops, unit=" ops", disable=options.quiet) as bar:
            for _ in range(options.windows):
                faulthandler.dump_traceback_later(HANG_SECONDS + (seconds or 0), exit=True)
                with injected(self.library, faults):
                    self.run_window(seconds, bar)
                self.settle()
                if sum(self.done) >= options.ops:
                    break
        faulthandler.cancel_dump_traceback_later()

    def grown(self) -> dict[str, tuple[int, int]]:
        """Counts that have grown: the greatest at the beginning, the least at the end."""
        early, late = self.quarters(self.windows)
        found = {}
        for name in self.windows[-1]:
            before, after = max(each[name] for each in early), min(each[name] for each in late)
            if after > before + SLACK.get(name, 0):
                found[name] = (before, after)
        return found

    def ratios(self) -> dict[str, float]:
        """How many times slower each operation became; the machine's own is do_nothing_of_ours."""
        early, late = self.quarters(self.latency)
        ratios = {}
        for name in self.names:
            before = [each[name] for each in early if name in each]
            after = [each[name] for each in late if name in each]
            if before and after:
                ratios[name] = statistics.median(after) / statistics.median(before)
        return ratios

    def slower(self) -> float:
        """How many times slower the typical operation became, beyond what the machine did."""
        ratios = self.ratios()
        machine = ratios.pop("do_nothing_of_ours")
        return statistics.median(ratios.values()) / max(1.0, machine)

    def quarters(self, windows: list[Any]) -> tuple[list[Any], list[Any]]:
        quarter = max(1, len(windows) // 4)
        return windows[1 : 1 + quarter], windows[-quarter:]


def injected(library: ctypes.CDLL | None, faults: str | None) -> Any:
    """Faults are injected inside the block."""
    if library is None or faults is None:
        return nullcontext()

    class Faults:
        def __enter__(self) -> None:
            assert library.ascendcl_cpu_set_faults(faults.encode()) == 0

        def __exit__(self, *_: object) -> None:
            library.ascendcl_cpu_set_faults(None)

    return Faults()


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=1_000_000, help="operations in all (default: a million)")
    parser.add_argument("--seconds", type=float, help="end earlier, after about so long")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--streams", type=int, default=4, help="that all threads share, beside the default stream")
    parser.add_argument("--windows", type=int, default=20, help="at least 5")
    parser.add_argument("--seed", type=int, default=0, help="every thread's operations follow from it")
    parser.add_argument("--latency", type=float, default=1.5, help="how many times slower is too slow (default: 1.5)")
    parser.add_argument("--faults", type=float, default=0.0, metavar="P",
                        help="each AscendCL call but those that release fails with this probability")
    parser.add_argument("--leak", choices=sorted(LEAKS), help=f"leak this up to {MOST_LEAKS} times, to see that it is noticed")
    parser.add_argument("--json", metavar="FILE", help="write what was counted there")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(words)
    for name, least in (("ops", 1), ("threads", 1), ("streams", 1), ("windows", 5)):
        if getattr(options, name) < least:
            parser.error(f"--{name} must be at least {least}, got {getattr(options, name)}")
    return options


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    soak = Soak(options)
    start = time.perf_counter()
    soak.run()
    seconds = time.perf_counter() - start
    grown, slower = soak.grown(), soak.slower()
    first, last = soak.windows[1], soak.windows[-1]
    print(f"{sum(soak.done)} operations of {len(soak.names)} kinds on {options.threads} threads and {len(soak.shared.streams)} "
          f"streams in {seconds:.0f} s, seed {options.seed}" + (f", {soak.failed} ended by an injected failure" if options.faults else ""))
    for name in first:
        print(f"  {name:<24} {first[name]:>14} {last[name]:>14}" + ("   GROWN" if name in grown else ""))
    print(f"  latency: {slower:.2f} times that of the beginning" + ("   GROWN" if slower > options.latency else ""))
    if options.json:
        found = {"operations": sum(soak.done), "failed": soak.failed, "seconds": seconds, "seed": options.seed,
                 "threads": options.threads, "grown": grown, "latency": slower,
                 "latencies": soak.ratios(), "windows": soak.windows}
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if not options.leak:
        soak.shared.close()
    return 1 if grown or slower > options.latency else 0


if __name__ == "__main__":
    sys.exit(main())
