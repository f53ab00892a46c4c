# SPDX-License-Identifier: Apache-2.0
"""Fork, exit and signals while pools, pipelines, modules, recordings, futures and hazard mode are in use.

test_process.py has what streams, events and arrays do; the pieces of programs are from there.
"""

from __future__ import annotations

import signal
import time

import child
import embedded
import pytest
from programs import ALIVE, EMBEDDED, INTERRUPT, check, fork_check


@pytest.fixture(autouse=True)
def only_embedded():
    embedded.require()


# A kernel that the child builds itself.
KERNEL = '''
SOURCE = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void set_first(GM_ADDR x, float value)
{
    AscendC::GlobalTensor<float> global;
    global.SetGlobalBuffer((__gm__ float *)x, 1);
    global.SetValue(0, value);
}
"""
module = ascend_cy.compile(SOURCE)
kernel = module.kernel("set_first")
'''

EVERYTHING = KERNEL + """
import asyncio, itertools
from ascend_cy import profiler
busy = ascend_cy.Stream()
gate = threading.Event()
pool = ascend_cy.MemoryPool(1 << 24, name="kept")
pool.use()
of_pool = ascend_cy.ones((50, 60))
ascend_cy.synchronize()
def slowly(a):
    return ascend_cy.vector_add(a, a)
pipeline = ascend_cy.Pipeline(slowly, slots=2)
running = pipeline(np.full((20, 30), i, "f4") for i in itertools.count())
assert next(running)[0, 0] == 0
recording = profiler.profile()
recording.__enter__()
busy.add_callback(gate.wait, 30)
kernel.launch(of_pool, 2.0, blocks=1, stream=busy)
future = busy.future("done")
capsule = of_pool.__dlpack__(stream=-1)
"""

# ---- the end of a process ----

ENDINGS = {
    "falling off the end": "",
    "sys.exit": "import sys; sys.exit(0)",
    "os._exit": "import os; os._exit(0)",
    "everything in a cycle": "class Node: pass\nn = Node(); n.n = n; n.rest = dict(globals()); globals().clear()",
    "a daemon thread in a pipeline": """
def work():
    for result in pipeline(np.ones((20, 30), "f4") for _ in itertools.count()):
        pass
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
    "daemon threads with operators": """
def work():
    with ascend_cy.MemoryPool(1 << 24), ascend_cy.Stream():
        a = np.ones((64, 64), "f4")
        while True:
            ascend_cy.matmul(a, a); ascend_cy.vector_add(ascend_cy.asarray(a), ascend_cy.ones((64, 64))).to_numpy()
[threading.Thread(target=work, daemon=True).start() for _ in range(3)]
time.sleep(0.1)
""",
    "a daemon thread that waits for a future": "threading.Thread(target=future.result, daemon=True).start(); time.sleep(0.05)",
    "a daemon thread that waits for memory": """
def work():
    with ascend_cy.MemoryPool(1 << 12):
        held = ascend_cy.empty(600)
        held.record_stream(busy)
        held.close()
        ascend_cy.empty(900)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""",
    "an event loop that awaits": """
async def wait():
    await asyncio.wait_for(busy.future(), 0.1)
try:
    asyncio.run(wait())
except (TimeoutError, asyncio.TimeoutError):
    pass
""",
    "exit handlers before and after": """
import atexit
atexit.register(lambda: ascend_cy.full((3, 4), 2).to_numpy())
atexit.register(lambda: next(running))
atexit.register(lambda: recording.__exit__(None, None, None))
atexit.register(gate.set)
""",
}


@pytest.mark.parametrize("hazards", ["0", "report"])
@pytest.mark.parametrize("how", ENDINGS)
def test_exit_in_the_middle_of_everything(tmp_path, how, hazards):
    begun = time.monotonic()
    assert check(ALIVE + EVERYTHING + ENDINGS[how], tmp_path, env={"ASCEND_CY_POOL_HAZARD": hazards}) == ""
    assert time.monotonic() - begun < 25 * child.PATIENCE, "it waited for a job of 30 s"


def test_an_exit_handler_from_before_the_import(tmp_path):
    """It runs after the package's own, when the device is gone: an error that says so, or a result."""
    code = """
import atexit
def late():
    import ascend_cy, numpy as np
    for use in (lambda: ascend_cy.layernorm(np.ones((3, 4), "f4")), lambda: ascend_cy.zeros(3), ascend_cy.Stream, array.to_numpy,
                pool.trim, stream.synchronize):
        try:
            use()
        except (ascend_cy.AclError, ValueError) as error:
            assert "exit" in str(error) or "shut" in str(error) or "end" in str(error), error
    print("late")
atexit.register(late)
""" + ALIVE + "pool = ascend_cy.MemoryPool(1 << 20)\n"
    assert check(code, tmp_path) == "late\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_exit_by_a_signal_in_the_middle_of_everything(tmp_path, number):
    """SIGTERM and SIGHUP end the process as they do others; Ctrl-C outside a call of ours is Python's."""
    process = child.start(ALIVE + EVERYTHING + "print('ready', flush=True); time.sleep(60)", tmp_path, env=EMBEDDED)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    status, _, err = child.finish(process, 30 * child.PATIENCE)
    assert status == -number
    assert err == "" if number != signal.SIGINT else err.strip().endswith("KeyboardInterrupt")


def test_an_exception_in_the_middle_of_everything(tmp_path):
    status, _, err = child.run(ALIVE + EVERYTHING + "raise SystemError('the test')", tmp_path, env=EMBEDDED)
    assert status == 1 and err.strip().endswith("SystemError: the test")
    assert "Fatal" not in err and "Segmentation" not in err


# ---- fork ----

USES_IN_CHILD = {
    "operators": "ascend_cy.vector_add(x, x); ascend_cy.matmul(x, x)",
    "empty_many": "ascend_cy.empty_many([3, 4])",
    "a new pool": "ascend_cy.MemoryPool(1 << 20)",
    "the inherited pool": "pool.use(); ascend_cy.zeros(100).to_numpy()",
    "trim of the inherited pool": "pool.trim()",
    "figures of the inherited pool": "pool.stats()",
    "a new pipeline": "list(ascend_cy.Pipeline(slowly)([x, x]))",
    "the inherited pipeline": "list(pipeline([x]))",
    "the inherited iteration": "next(running)",
    "closing the pipeline": "running.close(); pipeline.close()",
    "launch": "kernel[1](of_pool, 3.0)",
    "unload": "module.unload()",
    "reload": "module.reload(SOURCE + '// again')",
    "compile": "ascend_cy.compile(SOURCE)",
    "a recording": "profiler.profile().__enter__()",
    "the inherited recording": "recording.__exit__(None, None, None)",
    "a future": "busy.future()",
    "the inherited future": "future.result(0.2)",
    "synchronize_all": "ascend_cy.synchronize_all()",
    "from_dlpack": "ascend_cy.from_dlpack(of_pool)",
    "dropping all": "globals().update(capsule=None, of_pool=None, pool=None, kernel=None, module=None, busy=None, future=None)",
    "memory_hazards": "ascend_cy.memory_hazards()",
}


@pytest.mark.parametrize("hazards", ["0", "report"])
def test_fork_in_the_middle_of_everything(tmp_path, hazards):
    """Each use in a child of its own: a fresh device or one clear error, in good time; the parent goes on."""
    lines = "\n".join(f"    ({name!r}, {use!r})," for name, use in USES_IN_CHILD.items())
    code = f"""
import concurrent.futures, threading, time
{EVERYTHING}
def attempt(use):
    try:
        works_or_says_why(lambda: exec(use, globals()))
    except (TimeoutError, concurrent.futures.TimeoutError, StopIteration):
        pass
for name, use in [
{lines}
]:
    try:
        in_child(lambda: attempt(use))
    except AssertionError as error:
        raise AssertionError(f"{{name}}: exit code {{error}}") from None
pid = os.fork()
if pid == 0:
    sys.exit(0)  # the interpreter's own way out
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
gate.set()
assert future.result(30) == "done"
recording.__exit__(None, None, None)
assert next(running)[0, 0] == 2
running.close()
assert of_pool.to_numpy()[0, :2].tolist() == [2, 1]
module.unload()
"""
    fork_check(code, tmp_path, env={"ASCEND_CY_POOL_HAZARD": hazards}, timeout=2 * child.HANG)


def test_multiprocessing_by_fork(tmp_path):
    """A pool of workers that were forked before the device was used works; after that each task tells why it does not."""
    code = """
import multiprocessing
def work(n):
    return float(ascend_cy.layernorm(np.arange(n, dtype=np.float32)).max())
def tell(n):
    works_or_says_why(lambda: work(n))
    return n
context = multiprocessing.get_context("fork")
with context.Pool(2) as workers:
    results = workers.map(work, [4, 5, 6])
    assert results == [work(n) for n in (4, 5, 6)]
    workers.close(); workers.join()
with context.Pool(2) as workers:
    assert workers.map(tell, [4, 5, 6]) == [4, 5, 6]
    workers.close(); workers.join()
"""
    fork_check(code, tmp_path)


# ---- Ctrl-C ----

MORE_WAITS = {
    "all devices": "ascend_cy.synchronize_all()",
    "a device": "ascend_cy.Device(0).synchronize()",
    "vector_add": "ascend_cy.vector_add(x, x, stream=stream)",
    "matmul": "ascend_cy.matmul(x, x, stream=stream)",
    "layernorm_backward": "ascend_cy.layernorm_backward(x, x, x[:, 0].copy(), x[:, 0].copy(), stream=stream)",
    "a number": "with stream: array[0, 0].item()",
    "copy to the host": "array.copy_to(out, stream)",
    "a strided copy": "array[::2].copy_to(out[::2], stream)",
    "a future": "stream.future().result()",
    "an awaited future": "import asyncio\n    async def wait(): await stream.future()\n    asyncio.run(wait())",
    "a compiler": """
    wrapper = os.path.join(os.getcwd(), "slow-compiler")
    with open(wrapper, "w") as file:
        file.write("#!/bin/sh\\nsleep 30\\n")
    os.chmod(wrapper, 0o755)
    os.environ["CXX"] = wrapper
    os.environ["ASCEND_CY_CACHE_DIR"] = os.getcwd()
    ascend_cy.compile('#include "kernel_operator.h"\\nextern "C" __global__ __aicore__ void f(GM_ADDR x) {}\\n')
""",
}


@pytest.mark.parametrize("what", MORE_WAITS)
def test_ctrl_c_while_waiting_for_more(tmp_path, what):
    code = INTERRUPT.replace("    WAIT\n", f"    {MORE_WAITS[what].strip()}\n")
    check(code, tmp_path)


def test_ctrl_c_in_a_pipeline(tmp_path):
    """It waits for what is under way, so that nothing is left running; a second one ends that wait too."""
    waits = """
    def behind(a):
        ascend_cy.current_stream().wait(event)
        return ascend_cy.vector_add(a, a)
    pipeline = ascend_cy.Pipeline(behind, slots=2)
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    for result in pipeline(np.full((300, 300), i, "f4") for i in range(9)):
        pass
"""
    code = INTERRUPT.replace("    WAIT\n", f"    {waits.strip()}\n").replace("assert took < 1, took", "assert 0.2 < took < 2, took")
    code = code.replace("gate.set()\n", """gate.set()
assert [result[0, 0] for result in pipeline(np.full((300, 300), i, "f4") for i in range(9))] == [2 * i for i in range(9)]
pipeline.close()
""", 1)
    check(code, tmp_path)
