"""What ran on which stream, and when: recordings of work, to look at in Perfetto or in Chrome's chrome://tracing.

Kernels, copies and fills are ranges by themselves; :func:`annotate` adds one's own. Times are taken by events on the
streams, so a recording shows the device's time, not the host's. Where CANN's tool library is in the process (``msprof``
with mstx), every range is told to it as well, and this module is not needed for that.

Examples
--------
>>> import ascend_cy
>>> from ascend_cy import profiler
>>> with profiler.profile() as recording:
...     with profiler.annotate("step"):
...         x = ascend_cy.layernorm(ascend_cy.full((64, 256), 3))
>>> sorted({each.name for each in recording.ranges})
['fill', 'layernorm_fp32', 'step']
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ascend_cy import Stream, _profile, current_stream

__all__ = ["Range", "Recording", "annotate", "profile"]


@dataclass(frozen=True)
class Range:
    """One piece of work on a stream.

    Attributes
    ----------
    name : str
    device : int
    stream : int
        Address of the ``aclrtStream``; 0 is the device's default stream.
    enqueued, begin, end : float
        Microseconds on one clock, the host's: when it was enqueued, and when it ran on the device.
    """

    name: str
    device: int
    stream: int
    enqueued: float
    begin: float
    end: float

    @property
    def duration(self) -> float:
        """float: Microseconds on the device."""
        return self.end - self.begin


class Recording:
    """What was recorded: made by :func:`profile`.

    Attributes
    ----------
    ranges : list of Range
        In the order in which they began; there once the block was left.
    lost : int
        Ranges that could not be recorded, or that other threads were in the middle of.
    """

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        self.lost = 0

    def __enter__(self) -> Recording:
        _profile.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        found, self.lost = _profile.stop()
        self.ranges = [Range(*facts) for facts in found]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recording in Chrome's trace format, which Perfetto reads too.

        Parameters
        ----------
        path : path
            Replaced if it is there.
        """
        temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            with open(temporary, "w") as file:
                json.dump({"traceEvents": self.events(), "displayTimeUnit": "ns"}, file)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def events(self) -> list[dict[str, Any]]:
        """The recording as Chrome's trace events: a process for each device, a thread for each stream."""
        numbers: dict[tuple[int, int], int] = {}
        events: list[dict[str, Any]] = []
        start = min((each.begin for each in self.ranges), default=0.0)
        for each in self.ranges:
            stream = numbers.setdefault((each.device, each.stream), len(numbers))
            events.append({
                "name": each.name, "ph": "X", "pid": each.device, "tid": stream, "ts": each.begin - start,
                "dur": each.duration, "args": {"enqueued": each.enqueued - start},
            })
        for (device, handle), stream in numbers.items():
            label = f"stream 0x{handle:x}" if handle else "default stream"
            events.append({"name": "thread_name", "ph": "M", "pid": device, "tid": stream, "args": {"name": label}})
            events.append({"name": "process_name", "ph": "M", "pid": device, "args": {"name": f"device {device}"}})
        return events


def profile() -> Recording:
    """Record what runs inside a ``with`` block, on all streams and from all threads.

    Leaving the block waits for what was enqueued in it.

    Returns
    -------
    Recording
        A context manager.

    Raises
    ------
    AclError
        On entering, if a recording runs already.
    """
    return Recording()


@contextlib.contextmanager
def annotate(name: str, stream: Stream | None = None) -> Iterator[None]:
    """Give a name to what is enqueued on a stream inside a ``with`` block.

    Costs next to nothing while nobody records.

    Parameters
    ----------
    name : str
    stream : Stream, optional
        The thread's current stream by default.
    """
    open_range = _profile.Range(name, stream if stream is not None else current_stream())
    try:
        yield
    finally:
        open_range.end()
