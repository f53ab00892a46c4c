# SPDX-License-Identifier: Apache-2.0
"""Processes: how they end, fork and are interrupted; and what holds however many threads work for them."""

from __future__ import annotations

import os
import signal
import time

import child
import embedded
import pytest
from programs import ALIVE, EMBEDDED, INTERRUPT, check, fork_check


@pytest.fixture(autouse=True)
def only_embedded():
    embedded.require()


# ---- import ----


def test_import_touches_no_device(tmp_path):
    code = """
    import os, pathlib, numpy
    before = os.listdir("/proc/self/task")
    import ascend_cy
    maps = pathlib.Path("/proc/self/maps")
    assert "libascend_cy.so" in maps.read_text()
    assert "libascendcl" not in maps.read_text(), "a device library was loaded by import"
    assert os.listdir("/proc/self/task") == before, "import started threads"
    assert ascend_cy.live_objects() == dict.fromkeys(ascend_cy.live_objects(), 0)
    assert "libascendcl" not in maps.read_text(), "live_objects() loaded a device library"
    """
    check(code, tmp_path)


def test_harmless_questions_start_no_threads(tmp_path):
    code = """
    import os, numpy
    before = os.listdir("/proc/self/task")
    import ascend_cy
    assert ascend_cy.device_count() >= 1
    assert ascend_cy.device_info()["kind"] in ("cpu", "sim")
    assert ascend_cy.has("aclrtMalloc")
    assert os.listdir("/proc/self/task") == before
    """
    check(code, tmp_path)


@pytest.mark.parametrize("value", ["npu", "cpu", "sim", "auto", "gpu", ""])
def test_device_choice(tmp_path, value):
    code = """
    import sys, numpy as np, ascend_cy
    asked = sys.argv[1]
    info = ascend_cy.device_info()
    x = np.ones((2, 4), np.float32)
    if asked in ("cpu", "sim", "auto", ""):
        assert info["kind"] in ("cpu", "sim", "npu"), info
        assert asked in ("auto", "") or info["kind"] == asked, info
        assert info["requested"] == (asked or "auto")
        assert info["reason"]
        if asked != "sim":
            assert not ascend_cy.layernorm(x).any()
    else:
        for use in (lambda: ascend_cy.layernorm(x), ascend_cy.device_count, ascend_cy.Stream, ascend_cy.synchronize,
                    lambda: ascend_cy.empty(3), lambda: ascend_cy.empty_pinned(3), ascend_cy.memory_stats):
            try:
                use()
            except ascend_cy.DeviceNotFoundError as error:
                text = str(error)
                assert asked in text, text
                if asked == "npu":
                    assert "libascendcl.so" in text and "ASCEND_CY_DEVICE" in text, text
                else:
                    assert all(name in text for name in ("auto", "npu", "cpu", "sim")), text
            else:
                assert asked == "npu" and info["kind"] == "npu", use
        assert info["device_count"] == 0 or info["kind"] == "npu"
        assert info["tried"] or asked == "gpu"
    """
    env = {"ASCEND_CY_DEVICE": value, "ASCEND_HOME_PATH": "", "ASCEND_TOOLKIT_HOME": ""}
    child.check(code, tmp_path, env=env, args=[value])


# ---- RT-4: the end of a process ----

ENDINGS = {
    "falling off the end": "",
    "sys.exit": "import sys; sys.exit(0)",
    "sys.exit in a function with frames alive": "import sys\ndef f():\n    held = ascend_cy.zeros(3)\n    sys.exit()\nf()",
    "os._exit": "import os; os._exit(0)",
    "reference cycle": "class Node: pass\nn = Node(); n.n = n; n.s = stream; n.a = array; del n, stream, array, view",
    "module attributes cleared by hand": "import sys; sys.modules['__main__'].__dict__.update(stream=None, array=None)",
    "atexit handlers that use the device": """
import atexit
atexit.register(lambda: array.to_numpy())
atexit.register(lambda: ascend_cy.layernorm(array).to_numpy())
""",
    "used after the package's own exit handler": """
import sys
class Late:
    def __del__(self, array=array, stream=stream, event=event):
        for use in (lambda: array.to_numpy(), lambda: stream.query(), lambda: event.query(), lambda: array.close(),
                    lambda: stream.close()):
            try:
                use()
            except Exception:
                pass
late = Late()
sys.late = late
""",
    "callbacks queued": "stream.add_callback(time.sleep, 0.2)\n[stream.add_callback(print, 'no') for _ in range(100)]",
    "a callback running": "stream.add_callback(time.sleep, 0.3); time.sleep(0.05)",
    "kernels queued": """
for _ in range(200):
    inner = ascend_cy.layernorm(array, stream=stream)
""",
    "a daemon thread at work": """
def work():
    with ascend_cy.Stream():
        while True:
            ascend_cy.layernorm(ascend_cy.ones((64, 64))).to_numpy()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
    "a daemon thread whose calls are refused at the end": """
def work():
    while True:
        ascend_cy.Stream().close()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
    "a daemon thread that waits": """
gate = threading.Event()
stream.add_callback(gate.wait, 30)
threading.Thread(target=stream.synchronize, daemon=True).start()
time.sleep(0.05)
""",
    "a thread that goes on after main": """
def work():
    time.sleep(0.1)
    assert not ascend_cy.zeros(10).to_numpy().any()
threading.Thread(target=work).start()
""",
    "a thread with its stream current": """
def work():
    ascend_cy.Stream().__enter__()
    ascend_cy.zeros(10)
thread = threading.Thread(target=work); thread.start(); thread.join()
""",
    "main stream left current": "stream.__enter__()",
    "device memory in a module": "import types; ascend_cy.kept = (array, stream, event, pinned)",
}


@pytest.mark.parametrize("how", ENDINGS)
def test_exit_with_everything_alive(tmp_path, how):
    # An exit function from before the import runs last, and lets other threads go on for a while.
    late = "import atexit, time; atexit.register(time.sleep, 0.1)\n"
    assert check(late + ALIVE + ENDINGS[how], tmp_path, timeout=30 * child.PATIENCE) == ""


@pytest.mark.parametrize("order", ["import first", "import last"])
def test_exit_without_use(tmp_path, order):
    check("import ascend_cy, threading, multiprocessing, numpy" if order == "import first"
          else "import numpy, threading, multiprocessing, ascend_cy", tmp_path)


def test_exit_by_an_exception(tmp_path):
    status, _, err = child.run(ALIVE + "raise SystemError('the test')", tmp_path, env=EMBEDDED)
    assert status == 1
    assert err.strip().endswith("SystemError: the test")
    assert "Fatal" not in err and "Segmentation" not in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_exit_by_a_signal(tmp_path, number):
    process = child.start(ALIVE + "print('ready', flush=True); time.sleep(60)", tmp_path, env=EMBEDDED)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    status, _, err = child.finish(process)
    assert (status, err) == (-number, "")


def test_exit_with_leaked_raw_stderr_is_empty_under_every_log_topic_off(tmp_path):
    """Nothing is logged where nobody asked for a log."""
    check(ALIVE, tmp_path, env={"ASCENDCL_CPU_LOG": ""})


# ---- fork ----

def test_fork_before_use(tmp_path):
    code = """
    def work():
        assert np.isfinite(ascend_cy.layernorm(x)).all()
        assert ascend_cy.zeros(3).to_numpy().tolist() == [0, 0, 0]
        with ascend_cy.Stream():
            ascend_cy.layernorm(ascend_cy.asarray(x)).to_numpy()
        ascend_cy.synchronize()
    in_child(work)
    ascend_cy.device_info()
    ascend_cy.device_count()
    in_child(lambda: works_or_says_why(work))
    work()
    """
    fork_check(code.replace("\n    ", "\n"), tmp_path)


USES_IN_CHILD = {
    "host layernorm": "ascend_cy.layernorm(x)",
    "empty": "ascend_cy.empty(3)",
    "zeros": "ascend_cy.zeros(1000).to_numpy()",
    "asarray": "ascend_cy.asarray(x)",
    "Stream": "ascend_cy.Stream()",
    "Event": "ascend_cy.Event()",
    "synchronize": "ascend_cy.synchronize()",
    "pinned": "ascend_cy.empty_pinned(100)",
    "current_stream": "ascend_cy.current_stream()",
    "memory_stats": "ascend_cy.memory_stats()",
    "trim_memory": "ascend_cy.trim_memory()",
    "inherited array": "array.to_numpy()",
    "inherited array copy": "array.copy()",
    "inherited array fill": "array.fill(1)",
    "inherited array layernorm": "ascend_cy.layernorm(array)",
    "inherited stream": "stream.synchronize()",
    "inherited stream query": "stream.query()",
    "inherited event": "event.synchronize()",
    "inherited stream record": "stream.record()",
    "inherited stream current": "stream.__enter__()",
    "callback": "stream.add_callback(print)",
    "device_info": "ascend_cy.device_info()",
    "live_objects": "ascend_cy.live_objects()",
    "trim": "ascend_cy.trim_memory()",
}


def test_fork_after_use(tmp_path):
    """Each use in a child of its own: a fresh device or one clear error, in good time; the parent goes on."""
    lines = "\n".join(f"    ({name!r}, lambda: {use})," for name, use in USES_IN_CHILD.items())
    code = f"""
stream = ascend_cy.Stream()
event = stream.record()
array = ascend_cy.asarray(x, stream=stream)
stream.synchronize()
expected = ascend_cy.layernorm(x)
for name, use in [
{lines}
]:
    try:
        in_child(lambda: works_or_says_why(use))
    except AssertionError as error:
        raise AssertionError(f"{{name}}: exit code {{error}}") from None
    assert ascend_cy.layernorm(x).tobytes() == expected.tobytes()
assert array.to_numpy().tobytes() == x.tobytes()
stream.synchronize()
event.synchronize()
"""
    fork_check(code, tmp_path)


def test_fork_with_work_queued_and_threads_running(tmp_path):
    code = """
import threading, time
stream = ascend_cy.Stream()
gate = threading.Event()
stream.add_callback(gate.wait, 30)
array = ascend_cy.asarray(x, stream=ascend_cy.default_stream())
y = ascend_cy.layernorm(array, stream=stream)
stop = threading.Event()
def busy():
    with ascend_cy.Stream():
        while not stop.is_set():
            ascend_cy.layernorm(ascend_cy.ones((100, 100))).to_numpy()
threads = [threading.Thread(target=busy) for _ in range(2)]
[thread.start() for thread in threads]
def child():
    works_or_says_why(lambda: ascend_cy.layernorm(x))
    works_or_says_why(lambda: y.to_numpy(stream=stream))
    works_or_says_why(stream.synchronize)
for _ in range(10):
    in_child(child)
gate.set()
stop.set()
[thread.join() for thread in threads]
assert y.to_numpy(stream=stream).tobytes() == ascend_cy.layernorm(x).tobytes()
"""
    fork_check(code, tmp_path)


def test_inherited_objects_are_freed_in_the_child(tmp_path):
    """By hand, by the collector and at exit, without touching the parent's."""
    code = """
import gc
def everything():
    stream = ascend_cy.Stream()
    array = ascend_cy.asarray(x, stream=stream)
    return {"stream": stream, "event": stream.record(), "array": array, "view": array[1:], "pinned": ascend_cy.empty_pinned(1000),
            "shared": np.asarray(array) if ascend_cy.device_info()["unified"] else None}
held = everything()
ascend_cy.synchronize()
def by_hand():
    held.pop("shared", None)
    for name in ("view", "array", "event", "stream"):
        held[name].close()
    held.clear()
    gc.collect()
in_child(by_hand)
in_child(lambda: (held.clear(), gc.collect()))
pid = os.fork()
if pid == 0:
    sys.exit(0)  # the interpreter's own way out
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert held["array"].to_numpy().tobytes() == x.tobytes()
held.pop("shared")
held["array"].close()
held["stream"].close()
"""
    fork_check(code, tmp_path)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing(tmp_path, method):
    (tmp_path / "work.py").write_text(
        "import numpy as np, ascend_cy\n"
        "def work(n):\n"
        "    return float(ascend_cy.layernorm(np.arange(n, dtype=np.float32)).max())\n")
    code = """
    import multiprocessing, sys
    sys.path.insert(0, ".")
    import ascend_cy, numpy as np
    import work
    if __name__ == "__main__":
        ascend_cy.layernorm(np.ones(4, np.float32))
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            assert pool.map(work.work, [4, 4, 4]) == [work.work(4)] * 3
            pool.close()
            pool.join()
    """
    (tmp_path / "main.py").write_text(__import__("textwrap").dedent(code))
    check("import runpy, sys; sys.argv = ['main.py', sys.argv[1]]; runpy.run_path('main.py', run_name='__main__')", tmp_path,
          args=[method])


# ---- Ctrl-C ----

WAITS = {
    "stream": "stream.synchronize()",
    "device": "ascend_cy.synchronize()",
    "event": "event.synchronize()",
    "to_numpy": "array.to_numpy(stream=stream)",
    "host layernorm": "ascend_cy.layernorm(x, stream=stream)",
    "copy from ordinary memory": "array.copy_from(x, stream)",
    "download into pinned memory": "array.to_numpy(out=pinned, stream=stream)",
    "layernorm into out": "ascend_cy.layernorm(x, out=out, stream=stream)",
}

@pytest.mark.parametrize("what", WAITS)
def test_ctrl_c_while_waiting(tmp_path, what):
    code = INTERRUPT.replace("WAIT", WAITS[what])
    if what == "copy from ordinary memory":
        code = code.replace("assert ascend_cy.layernorm(array).to_numpy().tobytes() == expected.tobytes()\n",
                            "array.to_numpy(stream=stream)\n")
    check(code, tmp_path)


def test_ctrl_c_reaches_numpy(tmp_path):
    """NumPy drops what the buffer protocol raises, and goes on to other ways: the interrupt must not be lost there."""
    code = """
    import os, signal, sys, threading, time
    import numpy as np
    import ascend_cy
    convert = eval(sys.argv[1])
    array = ascend_cy.full((3, 4), 2.5)
    gate = threading.Event()
    array.stream.add_callback(gate.wait, 30)
    patience = float(os.environ.get("ASCEND_CY_TEST_PATIENCE", "1"))
    threading.Timer(0.1 * patience, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        convert(array)
    except KeyboardInterrupt:
        assert not gate.is_set()
    else:
        raise AssertionError("no KeyboardInterrupt")
    gate.set()
    assert array.__array_interface__["shape"] == (3, 4)      # nothing of it is left
    assert (np.asarray(array) == 2.5).all()
    """
    for convert in ("np.asarray", "np.array", "lambda a: np.stack([a, a])", "memoryview"):
        check(code, tmp_path, args=[convert])


def test_ctrl_c_while_memory_is_waited_for(tmp_path):
    code = """
    import os, signal, sys, threading, time
    import numpy as np
    import ascend_cy
    ask = eval(sys.argv[1])
    stream = ascend_cy.Stream()
    ascend_cy.zeros(4).to_numpy()
    gate = threading.Event()
    array = ascend_cy.zeros(1 << 20, "uint8", stream=stream)
    stream.add_callback(gate.wait, 30)
    array.close()                       # in use by the stream until the gate opens
    ascend_cy.set_memory_limit((1 << 20) + 4096)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        ask(ascend_cy)
    except KeyboardInterrupt:
        assert not gate.is_set()
    else:
        raise AssertionError("no KeyboardInterrupt")
    threading.Timer(0.3, gate.set).start()
    assert ascend_cy.zeros(1 << 20, "uint8").to_numpy().sum() == 0     # waits, and gets it
    ascend_cy.set_memory_limit(None)
    """
    for ask in ("lambda a: a.zeros(1 << 20, 'uint8')", "lambda a: a.trim_memory()"):
        check(code, tmp_path, args=[ask])


def test_ctrl_c_while_pinned_memory_is_waited_for(tmp_path):
    code = """
    import os, signal, sys, threading
    import numpy as np
    import ascend_cy, embedded
    ask = eval(sys.argv[1])
    stream = ascend_cy.Stream()
    ascend_cy.full(1000, 1.5).to_numpy()
    ascend_cy.trim_memory()
    gate = threading.Event()
    array = ascend_cy.empty(1000, stream=stream)
    stream.add_callback(gate.wait, 30)
    array.fill(1.5, stream)             # its pattern is in pinned memory, in use until the gate opens
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with embedded.faults("call=aclrtMallocHost,times=always,code=207001"):
        try:
            ask(ascend_cy)
        except KeyboardInterrupt:
            assert not gate.is_set()
        else:
            raise AssertionError("no KeyboardInterrupt")
    threading.Timer(0.3, gate.set).start()
    ascend_cy.trim_memory(1 << 40)      # waits for it
    assert gate.is_set()
    assert (array.to_numpy(stream=stream) == 1.5).all()
    """
    for ask in ("lambda a: a.trim_memory(1 << 40)", "lambda a: a.empty_pinned(1000)", "lambda a: a.full(1000, 2.5)"):
        check(code, tmp_path, args=[ask])


def test_other_signals_while_waiting(tmp_path):
    """A Python signal handler runs while one waits: its exception comes out, and without one the wait goes on."""
    code = """
    import signal, threading, time
    import ascend_cy
    class Alarm(Exception):
        pass
    def ring(number, frame):
        raise Alarm
    seen = []
    signal.signal(signal.SIGALRM, ring)
    signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    stream = ascend_cy.Stream()
    gate = threading.Event()
    stream.add_callback(gate.wait, 30)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    begun = time.monotonic()
    try:
        stream.synchronize()
    except Alarm:
        assert time.monotonic() - begun < 5
    else:
        raise AssertionError("no Alarm")
    threading.Timer(0.1, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)).start()
    threading.Timer(0.4, gate.set).start()
    stream.synchronize()
    assert gate.is_set() and seen
    """
    check(code, tmp_path)


@pytest.mark.parametrize("what", ["stream", "exit"])
def test_ctrl_c_from_outside(tmp_path, what):
    """The signal of a terminal, while a job of 30 s is queued; also while the process ends."""
    code = f"""
import sys, time
import ascend_cy
stream = ascend_cy.Stream()
stream.add_callback(time.sleep, 30)
print("ready", flush=True)
if {what!r} == "stream":
    try:
        stream.synchronize()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        import os
        os._exit(0)
"""
    process = child.start(code, tmp_path, env=EMBEDDED)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    begun = time.monotonic()
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    status, out, err = child.finish(process, 20)
    assert time.monotonic() - begun < 15
    if what == "stream":
        assert (status, out, err) == (0, "interrupted\n", "")
    else:
        assert status in (0, 1, -signal.SIGINT, 130)


def test_exit_does_not_wait_for_a_long_job(tmp_path):
    """Queued work may be dropped at exit; a process that is done must not seem to hang for its length."""
    begun = time.monotonic()
    check("""
    import threading, ascend_cy
    stream = ascend_cy.Stream()
    stream.add_callback(threading.Event().wait, 50)
    """, tmp_path, timeout=40)
    assert time.monotonic() - begun < 30


# ---- the number of worker threads changes no bit ----

HASH = """
import hashlib, sys
import numpy as np
import ascend_cy

digest = hashlib.sha256()
rng = np.random.default_rng(1)
dtypes = ["f4", "f2"]
try:
    import ml_dtypes
    dtypes.append(ml_dtypes.bfloat16)
except ImportError:
    pass
for dtype in dtypes:
    for rows, cols in ((1, 1), (1, 768), (3, 100003), (7, 4097), (64, 33), (513, 1000), (5000, 129), (65537, 8)):
        x = (3 + rng.standard_normal((rows, cols))).astype(np.float32)
        x[::5, 0] = 1e4
        x = x.astype(dtype)
        gamma = (1 + rng.random(cols)).astype(np.float32)
        for result in (ascend_cy.layernorm(x, gamma, return_stats=True),
                       [a.to_numpy() for a in ascend_cy.layernorm(ascend_cy.asarray(x), ascend_cy.asarray(gamma),
                                                                  return_stats=True)]):
            for part in result:
                digest.update(np.ascontiguousarray(part).tobytes())
print(digest.hexdigest())
"""


def test_results_do_not_depend_on_the_number_of_workers(tmp_path):
    digests = {workers: check(HASH, tmp_path, env={"ASCENDCL_CPU_WORKERS": str(workers)}, timeout=120)
               for workers in (1, 2, 7)}
    assert len(digests[1]) == 65
    assert len(set(digests.values())) == 1, digests


def test_idle_workers_cost_no_time(tmp_path):
    """Half a second of doing nothing after work on seven threads takes next to no processor time."""
    code = """
    import time, numpy as np, ascend_cy
    ascend_cy.layernorm(np.ones((5000, 1000), np.float32))
    stream = ascend_cy.Stream()
    time.sleep(0.1)
    begun = time.process_time()
    time.sleep(0.5)
    used = time.process_time() - begun
    assert used < 0.1, used
    """
    check(code, tmp_path, env={"ASCENDCL_CPU_WORKERS": "7"})


def test_affinity_limits_the_workers(tmp_path):
    code = """
    import os, pathlib, numpy as np
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import ascend_cy
    x = np.ones((3000, 1000), np.float32)
    for _ in range(3):
        ascend_cy.layernorm(x)
    names = [path.read_text().strip() for path in pathlib.Path("/proc/self/task").glob("*/comm")]
    # The caller takes blocks too: with one CPU at most one more thread is of any use.
    assert len([name for name in names if name.startswith("acl-worker")]) <= 1, names
    """
    check(code, tmp_path)


# ---- first use ----


def test_first_use_from_many_threads_at_once(tmp_path):
    code = """
    import threading, numpy as np, ascend_cy
    x = np.ones((50, 50), np.float32)
    x[:, 0] = 3
    barrier = threading.Barrier(8)
    results, errors = [], []
    def work(number):
        try:
            barrier.wait()
            if number % 2:
                results.append(ascend_cy.layernorm(x).tobytes())
            else:
                with ascend_cy.Stream():
                    results.append(ascend_cy.layernorm(ascend_cy.asarray(x)).to_numpy().tobytes())
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors, errors
    assert len(set(results)) == 1 and len(results) == 8
    """
    check(code, tmp_path)


CLOSING = """
import random, sys, threading, time
import numpy as np
import ascend_cy

class Box:
    pass

box = Box()
def renew():
    box.stream = ascend_cy.Stream()
    box.event = ascend_cy.Event()
    box.array = ascend_cy.full((40, 50), 3)
    box.gamma = ascend_cy.full(50, 2)
    box.mean = ascend_cy.full(40, 3)
    box.rstd = ascend_cy.full(40, 1)
    box.out = ascend_cy.empty((40, 50))
renew()
stop = time.monotonic() + 1.5
unexpected = []
uses = [
    lambda: ascend_cy.layernorm(box.array, box.gamma, stream=box.stream),
    lambda: ascend_cy.layernorm(box.array, out=box.array),
    lambda: ascend_cy.layernorm_backward(box.array, box.array, box.mean, box.rstd, box.gamma, stream=box.stream),
    lambda: ascend_cy.layernorm_backward(box.array[:, ::-1], box.array, box.mean, box.rstd, box.gamma, out=box.out),
    lambda: ascend_cy.from_dlpack(box.array, copy=True, stream=box.stream).to_numpy(),
    lambda: box.array.astype("float16", box.stream),
    lambda: box.array.to_numpy(stream=box.stream),
    lambda: box.array[3:, ::2].copy(box.stream).to_numpy(),
    lambda: box.array.fill(1, box.stream),
    lambda: box.array.copy_from(np.zeros((40, 50), np.float32), box.stream),
    lambda: np.asarray(box.array.T).sum() if ascend_cy.device_info()["unified"] else None,
    lambda: repr(box.array) + repr(box.stream) + repr(box.event),
    lambda: (box.array.ptr, box.array.device, box.array.stream, box.array.shape),
    lambda: box.stream.synchronize(),
    lambda: box.stream.query(),
    lambda: box.event.record(box.stream),
    lambda: box.event.synchronize(),
    lambda: box.stream.wait(box.event),
    lambda: box.stream.add_callback(int),
    lambda: ascend_cy.layernorm(np.ones((3, 40), np.float32), stream=box.stream),
]
def use(seed):
    chosen = random.Random(seed)
    while time.monotonic() < stop:
        try:
            chosen.choice(uses)()
        except (ValueError, BufferError) as error:
            if "closed" not in str(error):
                unexpected.append(error)
        except ascend_cy.MemoryHazardError:
            pass  # in hazard mode: threads that write to one array at once have no order
        except BaseException as error:
            unexpected.append(error)
def close(seed):
    chosen = random.Random(seed)
    while time.monotonic() < stop:
        old = chosen.choice((box.array, box.gamma, box.mean, box.rstd, box.out) if sys.argv[1] == "arrays" else
                            (box.array, box.stream, box.event))
        try:
            old.close()
        except BufferError:
            pass
        renew()
        time.sleep(0.0005)
threads = [threading.Thread(target=use, args=(n,)) for n in range(4)] + [threading.Thread(target=close, args=(9,))]
[t.start() for t in threads]
[t.join() for t in threads]
assert not unexpected, unexpected[:5]
box.__dict__.clear()
ascend_cy.synchronize()
ascend_cy.trim_memory()
live = ascend_cy.live_objects()
assert live == dict.fromkeys(live, 0), live
"""


@pytest.mark.parametrize("what", ["arrays", "streams and events"])
def test_closing_what_other_threads_use(tmp_path, what):
    """A use either works or says "closed"; nothing crashes, and nothing is left."""
    check(CLOSING, tmp_path, args=[what], timeout=20)


SOAK = """
import gc
import numpy as np
import ascend_cy

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

x = np.random.default_rng(1).standard_normal((64, 256)).astype(np.float32) + 1
def round():
    with ascend_cy.Stream() as stream:
        device = ascend_cy.asarray(x)
        y, mean, rstd = ascend_cy.layernorm(device[:, ::-1], return_stats=True)
        view = y[3:, ::2]
        filled = ascend_cy.full((64, 256), 2.5)
        filled.copy_from(y)
        stream.add_callback(len, "text")
        event = stream.record()
        pinned = ascend_cy.empty_pinned((64, 256))
        filled.to_numpy(out=pinned)
        ascend_cy.layernorm(x, out=pinned)
        try:
            ascend_cy.layernorm(x, eps=-1)
        except ValueError:
            pass
        event.synchronize()
for _ in range(300):
    round()
gc.collect()
before, live = resident(), ascend_cy.live_objects()
for _ in range(3000):
    round()
gc.collect()
grown = resident() - before
assert grown < 4 << 20, f"{grown} bytes more after 3000 rounds"
assert ascend_cy.live_objects()["buffers"] == live["buffers"]
"""


@pytest.mark.skipif("ASCEND_CY_TEST_PATIENCE" in os.environ, reason="a sanitizer keeps memory of its own")
def test_memory_is_flat_over_thousands_of_rounds(tmp_path):
    check(SOAK, tmp_path)


def test_an_operator_without_a_kernel(tmp_path):
    code = """
    import numpy as np, pytest
    import ascend_cy
    assert ascend_cy.vector_add(np.ones(3, "f4"), np.ones(3, "f4")).tolist() == [2, 2, 2]
    a = np.ones((2, 3), np.float32)
    for one, two in ((a, a.T), (ascend_cy.asarray(a), ascend_cy.asarray(a.T))):
        live = ascend_cy.live_objects()
        with pytest.raises(NotImplementedError, match="no matmul kernel for this device.*ASCEND_CY_DEVICE=cpu") as caught:
            ascend_cy.matmul(one, two)
        assert isinstance(caught.value, ascend_cy.KernelNotFoundError)
        del caught
        ascend_cy.synchronize()
        assert ascend_cy.live_objects() == live
    for shapes in (((0, 3), (3, 2)), ((2, 3), (3, 0)), ((2, 0), (0, 4)), ((5, 2, 0), (5, 0, 4))):
        one, two = (np.ones(shape, np.float32) for shape in shapes)
        expected = one @ two
        got = ascend_cy.matmul(one, two)
        assert got.shape == expected.shape and (got == expected).all()
        got = ascend_cy.matmul(ascend_cy.asarray(one), ascend_cy.asarray(two)).to_numpy()
        assert got.shape == expected.shape and (got == expected).all()
    """
    check(code, tmp_path, env={"ASCEND_CY_DEVICE": "sim", "PYTHONPATH": child.package_without(tmp_path, "kernels/sim/matmul.so")})


def test_dlpack_of_host_memory_on_sim(tmp_path):
    """Host memory is not device memory there: copied where a copy is asked for, else refused with advice."""
    code = """
    import numpy as np, pytest
    import ascend_cy
    for dtype in ("f4", "f2", "i8", "u1", "?"):
        for index in (np.s_[:], np.s_[::-1, ::2], np.s_[1, 2], np.s_[0:0]):
            host = (np.arange(24) % 7).astype(dtype).reshape(4, 6)[index]
            host = np.asarray(host)
            array = ascend_cy.from_dlpack(host, copy=True)
            assert array.flags["owndata"] and array.dtype == host.dtype and array.shape == host.shape
            assert (array.to_numpy() == host).all()
    for copy in (None, False):
        with pytest.raises(BufferError, match="copy=True or ascend_cy.asarray"):
            ascend_cy.from_dlpack(host, copy=copy)
    try:
        import torch
    except ImportError:
        pass
    else:
        source = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
        array = ascend_cy.from_dlpack(source, copy=True)
        assert array.view("uint16").to_numpy().tolist() == source.contiguous().view(torch.int16).tolist()
    """
    check(code, tmp_path, env={"ASCEND_CY_DEVICE": "sim"}, warnings="default")


def test_several_devices(tmp_path):
    code = """
    import numpy as np, ascend_cy
    assert ascend_cy.device_count() == 3
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = ascend_cy.layernorm(x).tobytes()
    streams = [ascend_cy.Stream(device=n) for n in range(3)]
    assert [s.device for s in streams] == [0, 1, 2]
    arrays = [ascend_cy.asarray(x, stream=s) for s in streams]
    assert [a.device for a in arrays] == [0, 1, 2]
    for array, stream in zip(arrays, streams):
        assert ascend_cy.layernorm(array, stream=stream).to_numpy(stream=stream).tobytes() == expected
        assert ascend_cy.layernorm(x, stream=stream).tobytes() == expected
        with stream:
            assert ascend_cy.zeros(3).device == stream.device
            assert ascend_cy.default_stream().device == stream.device
    assert ascend_cy.zeros(3).device == 0
    for call in (lambda: ascend_cy.layernorm(arrays[0], stream=streams[1]),
                 lambda: ascend_cy.layernorm(arrays[1], arrays[0][0], stream=streams[1]),
                 lambda: ascend_cy.layernorm(arrays[1], out=arrays[2], stream=streams[1])):
        try:
            call()
        except ValueError as error:
            assert "is on device" in str(error), error
        else:
            raise AssertionError("arrays of two devices in one call")
    assert ascend_cy.memory_stats(1)["in_use"] > 0
    with ascend_cy.Stream(device=2):
        assert ascend_cy.memory_stats() == ascend_cy.memory_stats(2)
    for bad in (3, -1):
        try:
            ascend_cy.Stream(device=bad)
        except ValueError as error:
            assert "between 0 and 2" in str(error)
        else:
            raise AssertionError(bad)
    """
    check(code, tmp_path, env={"ASCENDCL_CPU_DEVICES": "3"})


def test_no_devices(tmp_path):
    code = """
    import ascend_cy
    assert ascend_cy.device_info()["device_count"] == 0
    try:
        ascend_cy.zeros(3)
    except ascend_cy.AclError as error:
        assert isinstance(error, ascend_cy.DeviceNotFoundError) or "device" in str(error)
    else:
        raise AssertionError("zeros without a device")
    """
    check(code, tmp_path, env={"ASCENDCL_CPU_DEVICES": "0"})


def test_a_bad_setting_is_an_error_that_names_it(tmp_path):
    code = """
    import ascend_cy
    try:
        ascend_cy.zeros(3)
    except ascend_cy.AclError as error:
        assert "ASCENDCL_CPU_WORKERS" in str(error) and "many" in str(error), error
    else:
        raise AssertionError("a bad setting was taken")
    """
    status, _, err = child.run(code, tmp_path, env={**EMBEDDED, "ASCENDCL_CPU_WORKERS": "many"})
    assert status == 0 and "Traceback" not in err, err
