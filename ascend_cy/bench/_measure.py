"""How things are timed: interleaved repeats, and what one of them says.

A *case* is one way to do a piece of work. All cases of a row are measured together: in every round each case gets one
sample, the order rotates from round to round, and so a disturbance meets all of them alike. A sample is many calls in
one loop; calls before it, untimed, bring caches and sleeping threads back. The loop's own cost, some ten nanoseconds, is
part of the figures.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

Loop = Callable[[int], float]

# Until the threads of the case before are asleep and leave the CPUs to the next: those of OpenMP spin for some 6 ms after
# their work, those of OpenBLAS for 2**26 cycles.
SETTLE = 10e-3
SETTLE_BLAS = 30e-3


class Case(NamedTuple):
    """One way to do a piece of work; ``loop(n)`` does it n times and returns seconds."""

    name: str
    loop: Loop


class Plan(NamedTuple):
    """How long to measure.

    ``sample`` is the least time of one sample in seconds, ``repeats`` the wanted samples of each case, ``budget`` the
    seconds for a row (fewer repeats are made where they would take longer, but ``least``), ``settle`` the pause before a
    sample in which threads of the case before fall asleep. A case that is slow for such a budget gets fewer samples than
    the others: one where a call takes half of it, else three or as many as the budget has room for.
    """

    sample: float = 1e-3
    repeats: int = 60
    budget: float = 4.0
    least: int = 7
    settle: float = 0.0


# Samples of a case that takes the budget of a row for itself.
LEAST_OF_SLOW = 3


class Result(NamedTuple):
    """Seconds of one call: the minimum and the median over the samples."""

    minimum: float
    median: float
    repeats: int
    calls: int
    faults: float

    def as_json(self) -> dict[str, Any]:
        return self._asdict()


def statement(code: str, **names: object) -> Loop:
    """A loop around a Python statement, which reads `names` as local variables."""
    arguments = "".join(f", {name}={name}" for name in names)
    source = (
        f"def loop(calls, clock=clock, repeat=repeat{arguments}):\n"
        "    calls = repeat(None, calls)\n"
        "    start = clock()\n"
        "    for _ in calls:\n"
        f"        {code}\n"
        "    return clock() - start\n"
    )
    namespace: dict[str, Any] = {**names, "clock": time.perf_counter, "repeat": repeat}
    exec(compile(source, f"<{code}>", "exec"), namespace)
    loop: Loop = namespace["loop"]
    return loop


def case(name: str, code: str, **names: object) -> Case:
    """A case that is a Python statement."""
    return Case(name, statement(code, **names))


def calls_for(loop: Loop, sample: float) -> int:
    """How many calls make a sample; warms up on the way."""
    loop(1)
    calls = 1
    while True:
        seconds = loop(calls)
        if seconds >= sample:
            return calls
        aim = sample / max(seconds, 1e-9) * 1.05
        calls = max(calls + 1, min(10 * calls, int(calls * aim) + 1))


def fastest(cases: Sequence[Case], tries: int = 5) -> Case:
    """The case that is quickest in a few tries, for peers that can do the work in more than one way."""
    if len(cases) == 1:
        return cases[0]
    times = []
    for each in cases:
        calls = calls_for(each.loop, 2e-4)
        times.append(min(each.loop(calls) / calls for _ in range(tries)))
    return cases[times.index(min(times))]


def measure(cases: Sequence[Case], plan: Plan) -> dict[str, Result]:
    """Measure cases together.

    Returns
    -------
    dict of str to Result
        One for each case, by its name.
    """
    slow = {}
    for each in cases:
        seconds = each.loop(1)
        if plan.budget / 2 < seconds < 10 * plan.budget:
            seconds = each.loop(1)  # the first call may have compiled
        if seconds > plan.budget / 2:
            slow[each.name] = seconds
    results = {name: Result(seconds, seconds, 1, 1, 0.0) for name, seconds in slow.items()}
    results |= measure_in_turn([each for each in cases if each.name not in slow], plan)
    return {each.name: results[each.name] for each in cases}


def measure_in_turn(cases: Sequence[Case], plan: Plan) -> dict[str, Result]:
    """One sample of each case in every round."""
    calls = {each.name: calls_for(each.loop, plan.sample) for each in cases}
    warm = {}
    for each in cases:
        # As long as threads take to wake up, but not half of the time of large work.
        warm[each.name] = max(1, min(calls[each.name] // 4, 200))
    samples: dict[str, list[float]] = {each.name: [] for each in cases}
    spent = dict.fromkeys(samples, 0.0)
    faults = dict.fromkeys(samples, 0)
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        for turn in range(plan.repeats):
            for position in range(len(cases)):
                each = cases[(position + turn) % len(cases)]
                if spent[each.name] > plan.budget and len(samples[each.name]) >= LEAST_OF_SLOW:
                    continue
                if plan.settle:
                    time.sleep(plan.settle)
                spent[each.name] += each.loop(warm[each.name])
                before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
                seconds = each.loop(calls[each.name])
                samples[each.name].append(seconds / calls[each.name])
                spent[each.name] += seconds
                faults[each.name] += resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
            if turn + 1 >= plan.least and time.perf_counter() - start > plan.budget:
                break
    finally:
        if enabled:
            gc.enable()
    return {
        name: Result(min(times), statistics.median(times), len(times), calls[name], faults[name] / len(times) / calls[name])
        for name, times in samples.items()
    }


def keep_freed_memory() -> bool:
    """Tell the C library to keep freed memory, large blocks too, so that who returns a new array does not pay for fresh
    pages at every call. False where there is no such switch."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    trim_threshold, mmap_threshold = -1, -3
    # 0x7fffffff is the largest int; blocks up to 32 MiB may be taken from the heap on every system, here all.
    return bool(mallopt(mmap_threshold, 1 << 30)) and bool(mallopt(trim_threshold, 0x7FFFFFFF))
