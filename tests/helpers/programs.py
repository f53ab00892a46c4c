# SPDX-License-Identifier: Apache-2.0
"""Pieces of programs that end, fork and are interrupted, for processes of their own on the embedded device."""

from __future__ import annotations

import os

import child

EMBEDDED = {"ASCEND_CY_DEVICE": os.environ.get("ASCEND_CY_DEVICE", "cpu")}


def check(code, tmp_path, **kwargs):
    kwargs["env"] = {**EMBEDDED, **kwargs.get("env", {})}
    return child.check(code, tmp_path, **kwargs)


# Objects of each kind, alive.
ALIVE = """
import threading, time
import numpy as np
import ascend_cy

stream = ascend_cy.Stream()
event = ascend_cy.Event()
array = ascend_cy.zeros((1000, 100))
view = array[::2]
pinned = ascend_cy.empty_pinned(1000)
with stream:
    inner = ascend_cy.ones((10, 10))
event.record(stream)
host = ascend_cy.layernorm(np.ones((500, 100), np.float32))
shared = np.asarray(array) if ascend_cy.device_info()["unified"] else None
"""

FORK = """
import os, sys, signal, traceback
import numpy as np
import ascend_cy

def in_child(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
            code = 1
        sys.stderr.flush()
        os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)

def works_or_says_why(use):
    try:
        use()
    except ascend_cy.AclError as error:
        text = str(error).lower()
        assert "fork" in text and ("spawn" in text or "new process" in text), error
    except ValueError as error:
        assert "fork" in str(error).lower(), error

x = np.ones((300, 300), np.float32)
x[:, 0] = 5
"""

# Python warns about fork in a process with threads from 3.12 on; that is the caller's matter.
FORK_WARNINGS = "ignore::DeprecationWarning"


def fork_check(code, tmp_path, **kwargs):
    return check(FORK + code, tmp_path, warnings=FORK_WARNINGS, **kwargs)


# Ctrl-C after 0.1 s, in place of WAIT; `gate` opens the stream.
INTERRUPT = """
import os, signal, sys, threading, time
import numpy as np
import ascend_cy

x = np.ones((300, 300), np.float32)
x[:, 0] = 4
out = np.zeros_like(x)
pinned = ascend_cy.empty_pinned(x.shape)
expected = ascend_cy.layernorm(x)
stream = ascend_cy.Stream()
array = ascend_cy.asarray(x)
ascend_cy.synchronize()
gate = threading.Event()
stream.add_callback(gate.wait, 30)
event = stream.record()
begun = []
def press():
    time.sleep(0.1)
    begun.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    WAIT
except KeyboardInterrupt:
    took = time.monotonic() - begun[0]
    assert took < 1, took
else:
    raise AssertionError("no KeyboardInterrupt")
assert not stream.query()
assert ascend_cy.layernorm(x).tobytes() == expected.tobytes()   # the device works
x[:], out[:] = 7, 7
del out
gate.set()
stream.synchronize()
assert ascend_cy.layernorm(array).to_numpy().tobytes() == expected.tobytes()
array.close()
stream.close()
event.close()
del pinned
ascend_cy.synchronize()
until = time.monotonic() + 20
while any((live := ascend_cy.live_objects()).values()) and time.monotonic() < until:
    time.sleep(0.01)  # a thread that waited for a future lets go of its stream
assert live == dict.fromkeys(live, 0), live
"""
