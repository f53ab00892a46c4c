"""The log of the embedded device, handed to Python's logging."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable
from types import TracebackType

from ascend_cy import _device_log
from ascend_cy._stream import report_unraisable

# The numbers of ascendcl_cpu.h, and how important what they say is.
TOPICS = {
    "memory": (1 << 0, logging.DEBUG),
    "streams": (1 << 1, logging.DEBUG),
    "launches": (1 << 2, logging.DEBUG),
    "errors": (1 << 3, logging.WARNING),
    "leaks": (1 << 4, logging.WARNING),
}
ALL = sum(bit for bit, _ in TOPICS.values())

# So long the end of the process waits for handlers.
EXIT_SECONDS = 5.0

_logger = logging.getLogger("ascend_cy.device")
_loggers = {bit: (_logger.getChild(name), level) for name, (bit, level) in TOPICS.items()}

_switching = threading.Lock()  # held while it is turned on or off
_topics = 0
_reader: threading.Thread | None = None


class _Previous:
    """What log_to_logging gives: as a context manager it goes back to what was before."""

    def __init__(self, topics: int) -> None:
        self._topics = topics

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        _switch(self._topics)


def log_to_logging(topics: str | Iterable[str] | None = "memory,streams,launches,errors") -> _Previous:
    """Hand the embedded device's log to Python's ``logging``, or turn that off again.

    Each line becomes a record of the logger ``ascend_cy.device.<topic>``, level DEBUG; those of ``errors`` and
    ``leaks`` have level WARNING. It holds for the whole process. As a context manager it goes back to what was before.

    Parameters
    ----------
    topics : str or iterable of str, optional
        Names separated by commas, or each by itself: ``memory``, ``streams``, ``launches``, ``errors`` (calls of
        AscendCL that return one, and work that fails), ``leaks`` (what is alive when the process ends, with what the
        package keeps for itself), or ``all``. None goes back to stderr and to what ``ASCENDCL_CPU_LOG`` says, once the
        lines so far are handled.

    Returns
    -------
    context manager
        The call itself has done it already.

    Raises
    ------
    TypeError, ValueError
        For topics that there are not.
    AclError
        Where the device library has no such log (CANN's), or can no longer be used.
    DeviceNotFoundError
        If no device library was found.
    RuntimeError
        In a handler of these records.

    Notes
    -----
    The device never waits for handlers, which run in a thread of their own: where they fall 10000 lines behind,
    further ones are dropped, and ``ascend_cy.device`` warns how many. ``created`` of a record is the time of the line,
    ``thread`` the system's number of the thread that wrote it (``threading.get_native_id()``), ``threadName`` its
    name. What handlers do with the device is not logged. Nothing is initialised.

    Examples
    --------
    >>> import logging
    >>> import ascend_cy
    >>> logging.getLogger("ascend_cy.device").setLevel(logging.DEBUG)
    >>> with ascend_cy.log_to_logging("memory,errors"):
    ...     x = ascend_cy.zeros(4)
    """
    return _Previous(_switch(_mask(topics)))


def _mask(topics: str | Iterable[str] | None) -> int:
    if topics is None:
        return 0
    need = f"topics must be names of {', '.join(TOPICS)} or all, separated by commas or in an iterable, or None"
    if isinstance(topics, str):
        names = [name.strip() for name in topics.split(",")]
    elif isinstance(topics, (bytes, bytearray, memoryview)) or not isinstance(topics, Iterable):
        raise TypeError(f"{need}, got {type(topics).__name__}")
    else:
        names = list(topics)
    mask = 0
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{need}, got {type(name).__name__} in it")
        if name not in TOPICS and name != "all":
            raise ValueError(f"{need}, got {name!r}")
        mask |= ALL if name == "all" else TOPICS[name][0]
    if not mask:
        raise ValueError(f"{need}, got none")
    return mask


def _switch(topics: int) -> int:
    """Log these topics, 0 for none; gives those that were."""
    global _topics
    if threading.current_thread() is _reader:
        raise RuntimeError("a handler of the device's log cannot turn that log on or off")
    code = 0
    with _switching:
        before = _topics
        if topics:
            code = _device_log.start(topics)
            if code == 0 and not before:
                _start_reader()
            _topics = topics if code == 0 else before
        elif before:
            _stop(None)
    if code != 0:
        _device_log.refuse(code)
    return before


def _start_reader() -> None:
    global _reader
    _reader = threading.Thread(target=_read, name="ascend_cy log", daemon=True)
    try:
        _reader.start()
    except BaseException:
        _reader = None
        _device_log.stop()
        raise


def _stop(timeout: float | None) -> None:
    global _topics
    _device_log.stop()
    _topics = 0
    if _reader is not None:
        _reader.join(timeout)


def finish() -> None:
    """At the interpreter's exit: what was logged is handled before logging.shutdown; what hangs is left behind."""
    if threading.current_thread() is not _reader and _switching.acquire(timeout=EXIT_SECONDS):
        if _topics:
            _stop(EXIT_SECONDS)
        _switching.release()


def _after_fork_in_child() -> None:
    global _switching, _topics, _reader
    _switching = threading.Lock()
    _reader = None
    if _topics and not _device_log.is_forked_child():
        _start_reader()
    else:
        _topics = 0


os.register_at_fork(after_in_child=_after_fork_in_child)


# ---- the thread that handles lines ----


def _read() -> None:
    me = threading.current_thread()
    while (taken := _device_log.take()) is not None:
        lines, lost = taken
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        for topic, text, written, thread, name in lines:
            logger, level = _loggers[topic]
            _handle(logger, level, text, written, thread, names.get(thread, name))
        if lost:
            text = f"{lost} lines of the device's log were dropped: they came faster than they were handled"
            _handle(_logger, logging.WARNING, text, None, me.native_id, me.name)
        if _reader is not me:
            break  # in a child that was forked by a handler: another thread has taken over


def _handle(logger: logging.Logger, level: int, text: str, written: int | None, thread: int | None, name: str) -> None:
    """What Logger.log does, for a line of another thread and an earlier time."""
    try:
        if not logger.isEnabledFor(level):
            return
        record = logger.makeRecord(logger.name, level, "libascendcl_cpu.so", 0, text, (), None)
        if written is not None:
            created = written / 1e9
            record.relativeCreated += (created - record.created) * 1e3
            record.created = created
            record.msecs = float(written // 1_000_000 % 1000)
        record.thread = thread
        record.threadName = name
        logger.handle(record)
    except BaseException as error:  # of a handler or filter: nobody waits for it, and the lines behind it matter
        if logging.raiseExceptions:
            report_unraisable(error, logger)
