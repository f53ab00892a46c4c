# SPDX-License-Identifier: Apache-2.0
"""log_to_logging: the embedded device's log as records of Python's logging."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import re
import sys
import threading
import time

import child
import embedded
import numpy as np
import pytest
import vendor
from programs import ALIVE, EMBEDDED, check, fork_check

import ascend_cy

TOPICS = ("memory", "streams", "launches", "errors", "leaks")


class Records(logging.Handler):
    """Keeps records, and does something with each before."""

    def __init__(self, do=lambda record: None) -> None:
        super().__init__()
        self.found: list[logging.LogRecord] = []
        self.do = do

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record)
        self.do(record)

    def messages(self, topic: str = "") -> list[str]:
        return [record.getMessage() for record in self.found if record.name.endswith(topic)]


@contextlib.contextmanager
def handled(handler: logging.Handler, level: int = logging.DEBUG):
    """With a handler for the device's log, which is off afterwards."""
    embedded.require()
    logger = logging.getLogger("ascend_cy.device")
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield handler
    finally:
        try:
            ascend_cy.log_to_logging(None)
        finally:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
            logger.propagate = True


@pytest.fixture
def records():
    ascend_cy.synchronize()  # a context for this thread, before the log is on
    with handled(Records()) as handler:
        yield handler


def memory_lines(size: int = 333, library: ctypes.CDLL | None = None) -> None:
    """Two lines of the topic memory."""
    block = ctypes.c_void_p()
    library = library or embedded.library()
    assert library.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(size), 0) == 0
    assert library.aclrtFree(block) == 0


def context() -> None:
    """One for this thread: raw calls need it."""
    assert embedded.library().aclrtSetDevice(0) == 0


def error_line() -> None:
    assert embedded.library().aclrtFree(ctypes.c_void_p(64)) == 107000


def topics_of_the_device() -> int:
    return embedded.library().ascendcl_cpu_get_log_topics()


# ---- what a record is ----


def test_each_topic_has_its_logger_and_level(records):
    with ascend_cy.log_to_logging("all"):
        memory_lines()
        stream = ascend_cy.Stream()
        with stream:
            ascend_cy.vector_add(ascend_cy.ones(5), ascend_cy.ones(5)).to_numpy()
        address = stream.handle
        stream.close()
        ascend_cy.synchronize()
        error_line()
    assert {record.name.rpartition(".")[2] for record in records.found} == {"memory", "streams", "launches", "errors"}
    for record in records.found:
        important = record.name == "ascend_cy.device.errors"
        assert record.levelno == (logging.WARNING if important else logging.DEBUG)
        assert record.name.startswith("ascend_cy.device.")
        assert not record.args and record.exc_info is None
        assert not re.search(r"ascendcl_cpu |\btid \d|^\[", record.getMessage())
    assert re.fullmatch(r"malloc \d+ bytes on device 0: 0x[0-9a-f]+", records.messages("memory")[0])
    assert any(f"({address:#x}) created on device 0" in line for line in records.messages("streams"))
    assert any("kernel vector_add_fp32" in line for line in records.messages("launches"))
    assert records.messages("errors")[-1].startswith("aclrtFree returns 107000 ")


def test_a_record_has_the_writers_time_and_thread():
    """And not those of the thread that handles it, late."""
    ascend_cy.synchronize()
    go_on = threading.Event()
    with handled(Records(lambda record: go_on.wait(30))) as records, ascend_cy.log_to_logging("memory"):
        memory_lines(64)  # whose handling keeps the rest waiting
        before = time.time()
        writer = []

        def write():
            writer.append(threading.get_native_id())
            context()
            memory_lines(12345)

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        after = time.time()
        time.sleep(0.2)
        plain = logging.makeLogRecord({})
        go_on.set()
        ascend_cy.log_to_logging(None)
    (record,) = [record for record in records.found if "malloc 12345 " in record.getMessage()]
    assert before <= record.created <= after
    assert abs(record.msecs - record.created % 1 * 1000) < 2
    assert abs((record.created - plain.created) * 1e3 - (record.relativeCreated - plain.relativeCreated)) < 1
    assert record.thread == writer[0] != records.found[0].thread == threading.get_native_id()
    assert records.found[0].threadName == threading.current_thread().name


def test_names_of_threads(records):
    """Python's where the thread is one of Python's that lives, else the system's."""
    go_on = threading.Event()
    done = threading.Event()

    def write():
        context()
        memory_lines(777)
        done.set()
        go_on.wait(30)

    ascend_cy.log_to_logging("memory,errors")
    thread = threading.Thread(target=write, name="my thread")
    thread.start()
    assert done.wait(30)
    ascend_cy.log_to_logging("errors")
    until = time.monotonic() + child.HANG
    while len(records.messages("memory")) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    go_on.set()
    thread.join()
    assert {record.threadName for record in records.found if record.name.endswith("memory")} == {"my thread"}
    records.found.clear()

    stream = ascend_cy.Stream()
    x = ascend_cy.ones(1000, stream=stream)
    gate = threading.Event()
    with embedded.faults("kernel=vector_add_fp32"):
        stream.add_callback(gate.wait, 30)
        ascend_cy.vector_add(x, x, stream=stream)
        gate.set()
        while not records.messages("errors") and time.monotonic() < until:
            time.sleep(0.01)  # nobody waits for the stream: a thread of the device runs the kernel
    ascend_cy.log_to_logging(None)
    (record,) = [record for record in records.found if "failed with 507015" in record.getMessage()]
    assert record.threadName.startswith("acl-")
    assert record.thread not in {thread.native_id for thread in threading.enumerate()}
    with pytest.raises(ascend_cy.KernelError):
        stream.synchronize()
    x.close()
    stream.close()


def test_text_is_not_a_format(records):
    """A line that has a percent sign."""
    ascend_cy.log_to_logging("errors")
    embedded.library().ascendcl_cpu_set_faults(b"call=%s%d")  # refused, and the message quotes it
    ascend_cy.log_to_logging(None)
    assert any("%s%d" in line for line in records.messages("errors"))


# ---- which ----


@pytest.mark.parametrize("topics", ["memory", " memory ", "memory,memory", ["memory"], {"memory"}, iter(["memory"])],
                         ids=lambda topics: str(topics) if isinstance(topics, str) else type(topics).__name__)
def test_chosen_topics_only(records, topics):
    ascend_cy.log_to_logging(topics)
    assert topics_of_the_device() == 1
    memory_lines()
    error_line()
    ascend_cy.log_to_logging(None)
    assert {record.name for record in records.found} == {"ascend_cy.device.memory"}
    assert len(records.found) == 2


def test_several_topics(records):
    ascend_cy.log_to_logging("memory, errors")
    assert topics_of_the_device() == 9
    ascend_cy.log_to_logging(["launches", "all"])
    assert topics_of_the_device() == 31
    ascend_cy.log_to_logging(TOPICS)
    assert topics_of_the_device() == 31
    ascend_cy.log_to_logging()
    assert topics_of_the_device() == 15  # leaks name what the package keeps as well, so they are asked for by name
    ascend_cy.log_to_logging("launches")
    memory_lines()
    ascend_cy.log_to_logging("memory")
    memory_lines()
    ascend_cy.log_to_logging(None)
    assert len(records.found) == 2
    assert topics_of_the_device() == 0


@pytest.mark.parametrize(("topics", "kind", "got"), [
    ("memori", ValueError, "'memori'"), ("", ValueError, "''"), ("memory,", ValueError, "''"), ([], ValueError, "none"),
    (["memory,errors"], ValueError, "'memory,errors'"), ("MEMORY", ValueError, "'MEMORY'"),
    (["memory", None], TypeError, "NoneType in it"),
    (3, TypeError, "int"), (b"memory", TypeError, "bytes"), (True, TypeError, "bool"),
    ([["memory"]], TypeError, "list in it"),
])
def test_bad_topics(records, topics, kind, got):
    ascend_cy.log_to_logging("errors")
    with pytest.raises(kind) as caught:
        ascend_cy.log_to_logging(topics)
    assert str(caught.value) == (f"topics must be names of {', '.join(TOPICS)} or all, separated by commas or in an "
                                 f"iterable, or None, got {got}")
    assert topics_of_the_device() == 8, "the log is as it was"


def test_levels_are_asked(records):
    """Nothing is made of lines that no logger wants."""
    made = []
    factory = logging.getLogRecordFactory()
    logging.setLogRecordFactory(lambda *args, **kwargs: made.append(factory(*args, **kwargs)) or made[-1])
    logger = logging.getLogger("ascend_cy.device.memory")
    logger.setLevel(logging.INFO)
    try:
        with ascend_cy.log_to_logging("memory,errors"):
            memory_lines()
            error_line()
        assert [record.name for record in made] == ["ascend_cy.device.errors"]
        assert records.found == made
        logging.disable(logging.CRITICAL)
        with ascend_cy.log_to_logging("errors"):
            error_line()
        assert len(made) == 1
    finally:
        logging.disable(logging.NOTSET)
        logger.setLevel(logging.NOTSET)
        logging.setLogRecordFactory(factory)


def test_filters_of_loggers(records):
    logger = logging.getLogger("ascend_cy.device.memory")

    def no_frees(record):
        return not record.getMessage().startswith("free")

    logger.addFilter(no_frees)
    try:
        with ascend_cy.log_to_logging("memory"):
            memory_lines()
    finally:
        logger.removeFilter(no_frees)
    assert len(records.found) == 1 and "malloc" in records.messages()[0]


# ---- on and off ----


def test_off_hands_over_everything_first():
    """So that what was logged is there when the call returns, however slow the handlers are."""
    ascend_cy.synchronize()
    with handled(Records(lambda record: time.sleep(0.001))) as records:
        for round_ in range(1, 4):
            ascend_cy.log_to_logging("memory")
            for _ in range(50):
                memory_lines()
            ascend_cy.log_to_logging(None)
            assert len(records.found) == 100 * round_
            memory_lines()
    assert len(records.found) == 300


def test_off_where_it_is_off(records):
    for _ in range(3):
        assert ascend_cy.log_to_logging(None) is not None
    memory_lines()
    assert not records.found


def test_as_a_context_manager(records):
    with ascend_cy.log_to_logging("memory"):
        with ascend_cy.log_to_logging("errors"):
            assert topics_of_the_device() == 8
            with ascend_cy.log_to_logging(None):
                assert topics_of_the_device() == 0
                error_line()
            error_line()
        assert topics_of_the_device() == 1
        memory_lines()
        with pytest.raises(ZeroDivisionError), ascend_cy.log_to_logging("launches"):
            1 / 0  # noqa: B018
        assert topics_of_the_device() == 1
    assert topics_of_the_device() == 0
    assert [record.name.rpartition(".")[2] for record in records.found] == ["errors", "memory", "memory"]


def test_one_thread_while_it_is_on(records):
    def readers():
        return [thread for thread in threading.enumerate() if thread.name == "ascend_cy log"]

    assert not readers()
    ascend_cy.log_to_logging("memory")
    ascend_cy.log_to_logging("errors")
    assert len(readers()) == 1 and readers()[0].daemon
    ascend_cy.log_to_logging(None)
    assert not readers()


def test_a_thread_that_cannot_be_started(records, monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            ascend_cy.log_to_logging("memory")
    assert topics_of_the_device() == 0
    with ascend_cy.log_to_logging("memory"):
        memory_lines()
    assert len(records.found) == 2


def test_nothing_is_initialised(tmp_path):
    code = """
    import os, pathlib, threading, ascend_cy
    maps = pathlib.Path("/proc/self/maps")
    threads = len(os.listdir("/proc/self/task"))
    for nonsense in ("no such", 3):
        try:
            ascend_cy.log_to_logging(nonsense)
        except (TypeError, ValueError):
            pass
    ascend_cy.log_to_logging(None)
    assert "libascendcl" not in maps.read_text(), "a device library was loaded for nothing"
    assert len(os.listdir("/proc/self/task")) == threads
    with ascend_cy.log_to_logging():
        assert len(os.listdir("/proc/self/task")) == threads + 1
        assert not ascend_cy.is_initialized()
    assert threading.active_count() == 1
    assert not ascend_cy.is_initialized()
    """
    check(code, tmp_path)


def test_off_is_stderr_and_the_variable(tmp_path):
    """Whether the device read the variable before the log was turned on, or after it was turned off."""
    code = """
    import ctypes, logging, sys, ascend_cy
    from test_device_log import Records, handled, memory_lines, error_line
    if sys.argv[1] == "before":
        ascend_cy.synchronize()
    with handled(Records()) as records:
        ascend_cy.log_to_logging("errors,memory")
        if sys.argv[1] != "after":
            ascend_cy.synchronize()
            memory_lines(1111)
            error_line()
        ascend_cy.log_to_logging(None)
        ascend_cy.synchronize()
        memory_lines(2222)
        error_line()
    print(len(records.messages("memory")))
    """
    for when, seen in (("before", 2), ("meanwhile", 2), ("after", 0)):
        env = {**EMBEDDED, "ASCENDCL_CPU_LOG": "memory", "PYTHONPATH": paths()}
        status, out, err = child.run(code, tmp_path, args=[when], env=env)
        assert (status, int(out)) == (0, seen), err
        lines = [line for line in err.splitlines() if "malloc" in line]
        assert len(lines) == 1 and re.match(r"ascendcl_cpu [\d.]+ \[memory\] tid \d+: malloc 2222 bytes", lines[0]), err
        assert "[errors]" not in err and "[leaks]" not in err


def paths() -> str:
    """For children that use this file."""
    return os.pathsep.join([child.environment()["PYTHONPATH"], str(child.HELPERS.parent)])


def test_the_vendors_library_has_no_such_log(tmp_path):
    cann = vendor.build(tmp_path / "cann", "full")
    code = """
    import ascend_cy, threading
    try:
        ascend_cy.log_to_logging("errors")
    except ascend_cy.AclError as error:
        assert error.code == 207000 and ascend_cy.device_info()["library"] in str(error), error
        assert "embedded device" in str(error) and "ASCEND_SLOG_PRINT_TO_STDOUT" in str(error), error
    else:
        raise AssertionError("no error")
    assert threading.active_count() == 1 and not ascend_cy.is_initialized()
    ascend_cy.log_to_logging(None)
    """
    child.check(code, tmp_path, env={"ASCEND_CY_DEVICE": "npu", "ASCEND_HOME_PATH": str(cann)})
    code = """
    import ascend_cy
    try:
        ascend_cy.log_to_logging("errors")
    except ascend_cy.DeviceNotFoundError as error:
        assert "gpu" in str(error), error
    else:
        raise AssertionError("no error")
    """
    child.check(code, tmp_path, env={"ASCEND_CY_DEVICE": "gpu"})


# ---- handlers that do what they should not ----


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_exceptions_of_handlers(monkeypatch, kind):
    """Reported where logging.raiseExceptions asks for it; the lines behind are handled."""
    ascend_cy.synchronize()
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def fail(record):
        if "malloc" in record.getMessage():
            raise kind("of the handler")

    for raises in (True, False):
        monkeypatch.setattr(logging, "raiseExceptions", raises)
        with handled(Records(fail)) as records, ascend_cy.log_to_logging("memory"):
            memory_lines()
            memory_lines()
        assert len(records.found) == 4
        assert len(reported) == 2, "reported twice where it is wanted, and never where it is not"
    assert all(each.exc_type is kind and each.object is logging.getLogger("ascend_cy.device.memory") for each in reported)
    reported.clear()


def test_exceptions_that_logging_handles(capsys):
    """A stream handler whose stream is closed says so on stderr, as it does elsewhere."""
    ascend_cy.synchronize()

    class Broken:
        def write(self, text):
            raise OSError("no space")

    with handled(logging.StreamHandler(Broken())), ascend_cy.log_to_logging("memory"):
        memory_lines()
    assert capsys.readouterr().err.count("OSError: no space") == 2


def test_what_handlers_do_is_not_logged():
    """A handler that uses the device would feed itself."""
    ascend_cy.synchronize()
    with handled(Records(lambda record: (context(), memory_lines(64)))) as records, ascend_cy.log_to_logging("all"):
        for _ in range(10):
            memory_lines(4096)
        until = time.monotonic() + child.HANG
        while len(records.found) < 20 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.1)
    assert len(records.messages("memory")) == 20
    assert not [line for line in records.messages("memory") if line.startswith("malloc 64 ")]


def test_a_handler_cannot_turn_it_off(tmp_path):
    """It would wait for itself."""
    code = """
    import ascend_cy
    from test_device_log import Records, handled, memory_lines
    caught = []
    def turn_off(record):
        for topics in (None, "errors"):
            try:
                ascend_cy.log_to_logging(topics)
            except RuntimeError as error:
                caught.append(str(error))
    ascend_cy.synchronize()
    with handled(Records(turn_off)), ascend_cy.log_to_logging("memory"):
        memory_lines()
    assert caught == ["a handler of the device's log cannot turn that log on or off"] * 4, caught
    """
    check(code, tmp_path, env={"PYTHONPATH": paths()})


def test_lines_that_come_too_fast_are_counted():
    """The device waits for no handler; the oldest lines are kept, and the log says how many are missing, and where."""
    ascend_cy.synchronize()
    go_on = threading.Event()
    busy = threading.Event()
    with handled(Records(lambda record: busy.set() or go_on.wait(child.HANG))) as records:
        ascend_cy.log_to_logging("memory")
        memory_lines(100)
        assert busy.wait(30)
        for size in range(1, 7001):
            memory_lines(64 * size)
        go_on.set()
        ascend_cy.log_to_logging(None)
    lost = [record for record in records.found if record.name == "ascend_cy.device"]
    assert len(lost) == 1 and records.found[-1] is lost[0]
    assert lost[0].levelno == logging.WARNING
    count = int(re.match(r"(\d+) lines of the device's log were dropped", lost[0].getMessage())[1])
    assert len(records.found) - 1 + count == 2 + 14000
    assert 9990 <= len(records.found) <= 10010
    sizes = [int(line.split()[1]) for line in records.messages("memory") if line.startswith("malloc")]
    assert sizes[1:] == sorted(sizes[1:])


# ---- threads ----


def test_many_threads(records):
    """Each thread's lines in its order, none lost, none mixed with another's."""
    threads, rounds = 6, 150
    ids = {}

    def work(number):
        ids[threading.get_native_id()] = number
        context()
        with ascend_cy.Stream() as stream:
            for i in range(rounds):
                memory_lines(64 * (1 + number * rounds + i))
                ascend_cy.layernorm(np.ones((3, 8), "f4"), stream=stream)
        stream.close()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    with ascend_cy.log_to_logging("all"):
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
    for thread, number in ids.items():
        mine = [record.getMessage() for record in records.found
                if record.thread == thread and record.name.endswith("memory")]
        sizes = [int(line.split()[1]) for line in mine if line.startswith("malloc") and "pinned" not in line]
        wanted = [64 * (1 + number * rounds + i) for i in range(rounds)]
        assert [size for size in sizes if size in set(wanted)] == wanted
    assert len(records.messages("launches")) >= threads * rounds
    assert not [record for record in records.found if record.name == "ascend_cy.device"]


def test_turned_on_and_off_by_many_threads(records):
    stop = threading.Event()

    def switch(topics):
        context()
        while not stop.is_set():
            with ascend_cy.log_to_logging(topics):
                memory_lines()

    def write():
        context()
        while not stop.is_set():
            memory_lines()
            error_line()

    workers = [threading.Thread(target=switch, args=(topics,)) for topics in ("memory", "errors", None)]
    workers += [threading.Thread(target=write) for _ in range(2)]
    [worker.start() for worker in workers]
    time.sleep(1)
    stop.set()
    [worker.join(child.HANG) for worker in workers]
    assert not any(worker.is_alive() for worker in workers)
    ascend_cy.log_to_logging(None)
    assert topics_of_the_device() == 0
    count = len(records.found)
    memory_lines()
    assert len(records.found) == count


def test_writers_that_have_the_gil(tmp_path):
    """And writers that have not: whoever writes never waits for the GIL, or they would wait for each other."""
    code = """
    import ctypes, threading, ascend_cy
    from test_device_log import Records, context, handled, memory_lines
    ascend_cy.synchronize()
    path = ascend_cy.device_info()["library"]
    kinds = [ctypes.CDLL(path), ctypes.PyDLL(path)]
    def work(library):
        context()
        for _ in range(1500):
            memory_lines(640, library)
    threads = [threading.Thread(target=work, args=(kind,)) for kind in kinds * 2]
    with handled(Records()) as records:
        with ascend_cy.log_to_logging("memory"):
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        dropped = sum(int(line.split()[0]) for line in records.messages("device"))
        assert len(records.messages("memory")) + dropped == 4 * 3000, len(records.found)
    """
    check(code, tmp_path, env={"PYTHONPATH": paths()})


# ---- the end of a process ----

# Counts what a handler got when logging closes it, which comes after the exit functions of those who imported it.
COUNTED = """
import ctypes, logging, sys, threading, time
import ascend_cy
class Last(logging.Handler):
    lines = []
    def emit(self, record):
        self.lines.append((record.name.rpartition(".")[2], record.getMessage()))
    def close(self):
        leaks = [line for name, line in self.lines if name == "leaks"]
        print(sum("malloc 672 " in line for _, line in self.lines), len(leaks), flush=True)
        super().close()
logger = logging.getLogger("ascend_cy.device")
logger.propagate = False
logger.setLevel(logging.DEBUG)
last = Last()
logger.addHandler(last)
ascend_cy.log_to_logging("all")
ascend_cy.synchronize()
def lines(count):
    library = ctypes.CDLL(ascend_cy.device_info()["library"])
    block = ctypes.c_void_p()
    for _ in range(count):
        assert library.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(672), 0) == 0
        assert library.aclrtFree(block) == 0
"""

ENDINGS = {
    "falling off the end": "lines(50)",
    "sys.exit": "lines(50); sys.exit()",
    "an exit function that uses the device": "import atexit\natexit.register(lines, 20)\nlines(30)",
    "a slow handler": "last.emit = lambda record, emit=last.emit: (time.sleep(0.002), emit(record))\nlines(50)",
    "kernels queued": "lines(50)\nfor _ in range(200):\n    inner = ascend_cy.layernorm(array, stream=stream)",
    "a callback running": "lines(50)\nstream.add_callback(time.sleep, 0.3); time.sleep(0.05)",
    "a daemon thread at work": """
lines(50)
def work():
    with ascend_cy.Stream():
        while True:
            ascend_cy.layernorm(ascend_cy.ones((64, 64))).to_numpy()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
    "a daemon thread that switches": """
lines(50)
def work():
    while True:
        ascend_cy.log_to_logging("memory,leaks")
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
    "a failing handler": """
def fail(record, emit=last.emit):
    emit(record)
    raise ValueError
logging.raiseExceptions = False
last.emit = fail
lines(50)
""",
}


@pytest.mark.parametrize("how", ENDINGS)
def test_exit_with_the_log_on(tmp_path, how):
    """All that was written is handled before logging ends: the leaks as well, which are found last."""
    out = check(COUNTED + ALIVE + ENDINGS[how], tmp_path, timeout=30 * child.PATIENCE)
    lines, leaks = map(int, out.split())
    assert lines == 50
    assert leaks >= 2  # the stream and the array


def test_exit_with_a_filter_that_hangs(tmp_path):
    """It is left behind. (logging.shutdown itself waits for handlers that hang.)"""
    begun = time.monotonic()
    hang = """
logging.getLogger("ascend_cy.device.memory").addFilter(lambda record: time.sleep(1000))
lines(50)
"""
    assert check(COUNTED + hang, tmp_path, timeout=40 * child.PATIENCE) == "0 0\n"
    assert time.monotonic() - begun < 20 * child.PATIENCE


def test_exit_with_the_log_off(tmp_path):
    assert check(COUNTED + ALIVE + "lines(20); ascend_cy.log_to_logging(None); lines(20)", tmp_path) == "20 0\n"


def test_after_the_devices_end(tmp_path):
    """An exit function from before the import runs when the device is gone."""
    code = """
import atexit
def late():
    ascend_cy.log_to_logging(None)
    try:
        ascend_cy.log_to_logging()
    except ascend_cy.AclError as error:
        print("about to end" in str(error))
atexit.register(late)
""" + COUNTED
    assert check(code, tmp_path).splitlines()[-1] == "True"


# ---- fork ----


def test_fork_after_use(tmp_path):
    """The child is off and says why; the parent goes on, threads that log and all."""
    code = COUNTED + """
stop = threading.Event()
def work():
    with ascend_cy.Stream():
        while not stop.is_set():
            lines(5)
            ascend_cy.layernorm(x)
def switch():
    while not stop.is_set():
        with ascend_cy.log_to_logging("memory"):
            pass
threads = [threading.Thread(target=target, daemon=True) for target in (work, work, switch)]
[thread.start() for thread in threads]
def child():
    works_or_says_why(ascend_cy.log_to_logging)
    works_or_says_why(lambda: ascend_cy.log_to_logging("memory").__enter__())
    ascend_cy.log_to_logging(None)
    works_or_says_why(lambda: ascend_cy.zeros(3))
    logger.warning("the handlers still work")
    assert threading.active_count() == 1
for _ in range(15):
    in_child(child)
pid = os.fork()
if pid == 0:
    sys.exit(0)  # the interpreter's own way out
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
[thread.join() for thread in threads]
ascend_cy.log_to_logging(None)
ascend_cy.log_to_logging("memory,leaks")
last.lines.clear()
lines(7)
"""
    out = fork_check(code, tmp_path).splitlines()
    assert out[-1].startswith("7 "), out


def test_fork_before_use(tmp_path):
    """Parent and child each log what they do themselves."""
    code = COUNTED.replace("ascend_cy.synchronize()\n", "") + """
def child():
    assert ascend_cy.log_to_logging("memory,errors") is not None
    ascend_cy.synchronize()
    lines(9)
    ascend_cy.log_to_logging(None)
    assert sum("malloc 672 " in line for _, line in last.lines) == 9, last.lines
in_child(child)
def without_a_call():
    ascend_cy.synchronize()
    lines(9)
    ascend_cy.log_to_logging(None)
    assert sum("malloc 672 " in line for _, line in last.lines) == 9, last.lines
in_child(without_a_call)
pid = os.fork()
if pid == 0:
    ascend_cy.synchronize()
    lines(11)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
ascend_cy.synchronize()
lines(13)
"""
    out = fork_check(code, tmp_path).splitlines()
    assert [line.split()[0] for line in out] == ["11", "13"], out


def test_a_handler_that_forks(tmp_path):
    """The child of the thread that handles lines does not read the log."""
    code = COUNTED + """
import os
forked = []
def fork(record, emit=last.emit):
    emit(record)
    if not forked and "malloc 672 " in record.getMessage():
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            try:
                ascend_cy.log_to_logging(None)
                os._exit(0)
            finally:
                os._exit(1)
        forked.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
last.emit = fork
lines(6)
ascend_cy.log_to_logging(None)
assert forked == [0], forked
"""
    assert fork_check(code, tmp_path).split()[0] == "6"
