"""Futures of streams: for ``await`` and for ``concurrent.futures``."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import numbers
import threading
from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ascend_cy._stream import refuse_wait_in_callback, report_unraisable
from ascend_cy.errors import AclError

if TYPE_CHECKING:
    from ascend_cy import Event, Stream

T = TypeVar("T")

# A thread without a stream waits this long for another one before it ends.
IDLE_SECONDS = 1.0


class StreamFuture(concurrent.futures.Future, Generic[T]):
    """A future for work of a stream: a ``concurrent.futures.Future`` that can be awaited.

    Made by :meth:`Stream.future`.
    """

    _settled_by: Watcher | None = None

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self).__await__()

    def result(self, timeout: float | None = None) -> T:
        """What was given to :meth:`Stream.future`, once the work has passed; waits without the GIL.

        Parameters
        ----------
        timeout : float, optional
            Seconds; no limit by default.

        Returns
        -------
        object
            The result.

        Raises
        ------
        TypeError
            For a timeout that is no number.
        TimeoutError, CancelledError
            Of ``concurrent.futures``.
        KernelError, AclError
            If work of the stream failed. AclError, too, in a callback of a stream, where the wait might never end.
        RuntimeError
            In a done-callback of another future of the stream, likewise.
        """
        self._check_wait(timeout)
        return cast(T, super().result(timeout))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What failed, once the work has passed; waits without the GIL.

        Parameters
        ----------
        timeout : float, optional
            Seconds; no limit by default.

        Returns
        -------
        BaseException or None
            The error of the work; None where it passed.

        Raises
        ------
        TypeError
            For a timeout that is no number.
        TimeoutError, CancelledError
            Of ``concurrent.futures``.
        AclError, RuntimeError
            Where the wait might never end: see :meth:`result`.
        """
        self._check_wait(timeout)
        return super().exception(timeout)

    def _check_wait(self, timeout: float | None) -> None:
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, numbers.Real)):
            raise TypeError(f"timeout must be a number of seconds or None, got {type(timeout).__name__}")
        watcher = self._settled_by
        if watcher is None or self.done():
            return
        if watcher.thread == threading.get_ident():
            raise RuntimeError("a done-callback must not wait for another future of its stream: it is the thread that settles it")
        refuse_wait_in_callback("a future is not done")


class Watcher:
    """What is waited for on one stream, in order; holds the stream while there is anything."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.waiting: deque[tuple[Event, StreamFuture[Any], Any]] = deque()
        self.thread: int | None = None  # that settles them

    def run(self) -> None:
        """Settle all futures."""
        self.thread = threading.get_ident()
        while True:
            with _changed:
                if not self.waiting:
                    del _watchers[self.stream]
                    break
                event, future, result = self.waiting.popleft()
            failure = wait(self.stream, event)
            pending = [] if failure is None else self.read_failure()
            settle(future, result, failure)
            for event, future, result in pending:
                event.close()
                settle(future, result, failure)
            # Nothing here keeps the result until the next one comes.
            del event, future, result, failure, pending
        self.stream.close()

    def read_failure(self) -> list[tuple[Event, StreamFuture[Any], Any]]:
        """Read the stream's failure, which hides later ones: so whoever waits for work enqueued by then gets it too.

        Before anybody is told of it, so that what is asked for afterwards is not mistaken for that work.
        """
        with contextlib.suppress(AclError):
            self.stream.synchronize()
        with _changed:
            pending = list(self.waiting)
            self.waiting.clear()
        return pending


class Threads:
    """The threads that wait: one for each stream with futures; idle ones stay for a while."""

    def __init__(self) -> None:
        self.jobs: deque[Watcher] = deque()
        self.idle = 0

    def give(self, watcher: Watcher) -> None:
        """Let a thread run `watcher`. Called with the lock."""
        if self.idle > len(self.jobs):
            self.jobs.append(watcher)
            _changed.notify()
        else:
            threading.Thread(target=self.work, args=(watcher,), name="ascend_cy futures", daemon=True).start()

    def work(self, watcher: Watcher | None) -> None:
        while watcher is not None:
            watcher.run()
            watcher = None
            with _changed:
                self.idle += 1
                if _changed.wait_for(lambda: self.jobs, IDLE_SECONDS):
                    watcher = self.jobs.popleft()
                self.idle -= 1


def wait(stream: Stream, event: Event) -> BaseException | None:
    """Wait for an event; what failed on its stream."""
    try:
        event.synchronize()
        stream.query()
    except BaseException as error:
        return error
    finally:
        event.close()
    return None


def settle(future: StreamFuture[T], result: T, failure: BaseException | None) -> None:
    """Tell a future, unless it was cancelled."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)
    except BaseException as error:  # of a callback: SystemExit, KeyboardInterrupt; others the future reports itself
        report_unraisable(error, future)


_changed = threading.Condition()
_watchers: dict[Stream, Watcher] = {}
_threads = Threads()


def watch(stream: Stream, result: T) -> StreamFuture[T]:
    """A future for what is enqueued on `stream` by now."""
    future: StreamFuture[T] = StreamFuture()
    event = stream.record()
    with _changed:
        watcher = _watchers.get(stream)
        if watcher is None:
            shared = stream._share()
            watcher = Watcher(shared)
            watcher.waiting.append((event, future, result))
            _threads.give(watcher)
            _watchers[shared] = watcher
        else:
            watcher.waiting.append((event, future, result))
        future._settled_by = watcher
    return future
