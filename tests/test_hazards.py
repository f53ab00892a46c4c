# SPDX-License-Identifier: Apache-2.0
"""Hazard mode: wrong uses of pool memory are found whether they do harm or not, with the names of both sides; right ones are not."""

from __future__ import annotations

import child
import embedded
import pytest

import ascend_cy

START = """
import ctypes, gc, sys, threading
import embedded
import numpy as np
import ascend_cy
from ascend_cy import MemoryHazardError

a, b = ascend_cy.Stream(), ascend_cy.Stream()

def alias(array, stream, n=None):
    # Memory that is known by its address alone, as to code that is not ours.
    address = array if isinstance(array, int) else array.ptr
    return ascend_cy.from_pointer(address, n or array.shape, "float32", stream=stream)

def expect(*parts):
    class Expect:
        def __enter__(self):
            self.before = len(ascend_cy.memory_hazards())
        def __exit__(self, kind, error, traceback):
            assert kind is MemoryHazardError, (kind, error)
            for part in parts:
                assert part in str(error), (part, str(error))
            found = ascend_cy.memory_hazards()[self.before:]
            assert len(found) == 1 and found[0] in str(error), found
            return True
    return Expect()

def address(stream):
    return f"stream 0x{stream.handle:x}"

def ended(stream):
    # Seen by nobody who is asked: behind AscendCL's functions, as another library is.
    status = ctypes.c_int()
    embedded.acl("aclrtStreamQuery", ctypes.c_void_p(stream.handle), ctypes.byref(status))
    return status.value == 0

with a:
    x = ascend_cy.empty(1024)
    out = ascend_cy.empty(1024)
"""
END = """
del x, out
gc.collect()
ascend_cy.synchronize()
print("hazards", len(ascend_cy.memory_hazards()))
"""

WRONG = {
    "read behind no event": """
x.fill(1, stream=a)
seen = alias(x, b)
target = ascend_cy.empty(1024, stream=b)
with expect("vector_add_fp32 (reads", address(b), "is not ordered behind", "fill (writes", address(a)):
    ascend_cy.vector_add(seen, seen, out=target, stream=b)
""",
    "read by a copy": """
x.fill(1, stream=a)
with expect("copy to host (reads", address(b), "fill (writes", address(a)), b:
    alias(x, b).to_numpy()
""",
    "write behind no event": """
ascend_cy.vector_add(out, out, out=x, stream=a)
with expect("fill (writes", address(b), "vector_add_fp32 (writes", address(a)):
    alias(x, b).fill(3, stream=b)
""",
    "write before it was read": """
x.fill(1, stream=a)
b.wait(a)
seen = alias(x, b)
y = ascend_cy.vector_add(seen, seen, stream=b)
with expect("fill (writes", address(a), "is not ordered behind", "vector_add_fp32 (reads", address(b)):
    x.fill(2, stream=a)
b.synchronize()
""",
    "an event that was recorded too early": """
event = a.record()
x.fill(1, stream=a)
b.wait(event)
with expect("copy to host", "fill"):
    alias(x, b).to_numpy()
""",
    "the other half is in order": """
x[:512].fill(1, stream=a)
b.wait(a)
x[512:].fill(2, stream=a)
alias(x, b, 512).to_numpy()
with expect("copy to host", "fill"):
    alias(x.ptr + 2048, b, 512).to_numpy()
""",
    "use after it was freed": """
x.fill(1, stream=a)
gone = x.ptr
x.close()
x = None
with expect("copy to host (reads 4096 bytes", "uses memory after it was freed", "made on " + address(a), "last used by fill"):
    alias(gone, a, 1024).to_numpy()
""",
    "a launch after it was freed": """
gone = alias(x, a)
x.close()
x = None
with expect("vector_add_fp32 (reads", "after it was freed"):
    ascend_cy.vector_add(gone, gone, out=out, stream=a)
""",
    "the pinned pool saw that it had passed": """
x.fill(1, stream=a)                             # from pinned memory
while not ended(a):
    pass
with expect("fill (writes", address(b), "fill (writes", address(a)):
    alias(x, b).fill(2, stream=b)               # which looks whether that can be had again
""",
    "the pool saw that it had passed": """
y = ascend_cy.empty(1024, stream=a)
y.record_stream(b)
alias(x, b).fill(0, stream=b)
while not ended(b):
    pass
y.close()                                       # behind what b has
z = ascend_cy.empty(1 << 20, stream=a)          # looks for memory
with expect("copy to host", "fill (writes", address(b)):
    x.to_numpy(stream=a)
b.synchronize()
""",
    "another stream did not need an event": """
c = ascend_cy.Stream()
x.fill(0, stream=a)
while not ended(a):
    pass
y = ascend_cy.vector_add(x, x, stream=b)        # behind what `a` did, which has passed
with expect("copy to host", address(c), "fill (writes", address(a)):
    alias(x, c).to_numpy(stream=c)
""",
    "an event that the device refuses to record": """
event = a.record()
x.fill(1, stream=a)
with embedded.faults("call=aclrtRecordEvent,code=507899"):
    try:
        a.record(event)
    except ascend_cy.AclError:
        pass
    else:
        raise AssertionError("it was recorded")
b.wait(event)
with expect("copy to host", "fill"):
    alias(x, b).to_numpy()
""",
    "a wait that the device refuses": """
x.fill(1, stream=a)
event = a.record()
with embedded.faults("call=aclrtStreamWaitEvent,code=507899"):
    try:
        b.wait(event)
    except ascend_cy.AclError:
        pass
    else:
        raise AssertionError("it waits")
with expect("copy to host", "fill"):
    alias(x, b).to_numpy()
""",
    "after work that the device refused": """
x.fill(1, stream=a)
with embedded.faults("call=aclrtMemsetAsync,code=507899"):
    try:
        x.fill(0, stream=a)
    except ascend_cy.AclError:
        pass
    else:
        raise AssertionError("it was filled")
with expect("copy to host", "fill (writes 4096 bytes"):
    alias(x, b).to_numpy()
""",
    "matmul": """
x.fill(1, stream=a)
with expect("matmul_fp32 (reads", "fill (writes"):
    m = alias(x, b).reshape(32, 32)
    ascend_cy.matmul(m, m, stream=b)
""",
    "layernorm": """
ascend_cy.layernorm(x.reshape(8, 128), out=out.reshape(8, 128), stream=a)
target = ascend_cy.empty((8, 128), stream=b)
with expect("layernorm_fp32 (reads", address(b), "is not ordered behind layernorm_fp32 (writes", address(a)):
    ascend_cy.layernorm(alias(out, b).reshape(8, 128), out=target, stream=b)
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_uses_are_found_with_both_names(name, tmp_path):
    embedded.require()
    out = child.check(START + WRONG[name] + END, tmp_path, env={"ASCEND_CY_POOL_HAZARD": "1"})
    assert out == "hazards 1\n"


FREED = """
x.fill(1, stream=a)
b.wait(a)
seen = alias(x, b)
y = ascend_cy.vector_add(seen, seen, stream=b)
RECORD
x.close()
found = ascend_cy.memory_hazards()
print(len(found), *(part in found[0] for part in ("vector_add_fp32 (reads", address(b), address(a), "record_stream") if found))
"""


def test_memory_that_is_freed_while_another_stream_uses_it(tmp_path):
    embedded.require()
    status, out, err = child.run(START + FREED.replace("RECORD", ""), tmp_path, env={"ASCEND_CY_POOL_HAZARD": "1"})
    assert (status, out) == (0, "1 True True True True\n"), err
    assert "ascend_cy: memory hazard: memory of 4096 bytes" in err
    for record in ("x.record_stream(b)", "a.wait(b)", "b.synchronize()"):
        assert child.check(START + FREED.replace("RECORD", record), tmp_path, env={"ASCEND_CY_POOL_HAZARD": "1"}) == "0\n"


RIGHT = {
    "streams, events and waits": """
x.fill(1, stream=a)
b.wait(a)
seen = alias(x, b)
y = ascend_cy.vector_add(seen, seen, stream=b)
event = b.record()
a.wait(event)
x.fill(2, stream=a)
a.synchronize()
assert (alias(x, b).to_numpy() == 2).all() and (y.to_numpy() == 2).all()
""",
    "through a third stream": """
c = ascend_cy.Stream()
x.fill(1, stream=a)
c.wait(a)
b.wait(c)
assert (alias(x, b).to_numpy() == 1).all()
""",
    "both only read": """
x.fill(1, stream=a)
b.wait(a)
ascend_cy.vector_add(x, x, out=out, stream=a)
seen = alias(x, b)
ascend_cy.vector_add(seen, seen, stream=b)
b.synchronize()
""",
    "what operators order by themselves": """
with b:
    y = ascend_cy.layernorm(x.reshape(8, 128), out=out.reshape(8, 128))
    z = ascend_cy.matmul(y, y.T)
with a:
    w = ascend_cy.vector_add(z, z)
x.fill(3, stream=b)
del y, z
assert w.to_numpy().shape == (8, 8)
""",
    "a callback that says so": """
done = threading.Event()
x.fill(1, stream=a)
a.add_callback(done.set)
done.wait(60)
assert (alias(x, b).to_numpy() == 1).all()
""",
    "memory that goes from stream to stream": """
for i in range(200):
    with (a, b)[i % 2]:
        y = ascend_cy.full(1 + 97 * i, i)
        z = ascend_cy.vector_add(y, y)
    z.record_stream(a)
    if i % 3 == 0:
        assert (z.to_numpy() == 2 * i).all()
""",
    "threads with streams of their own": """
def work(number):
    with ascend_cy.Stream(), ascend_cy.MemoryPool():
        for i in range(50):
            y = ascend_cy.full(1000, i)
            assert (ascend_cy.vector_add(y, y).to_numpy() == 2 * i).all()
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
""",
    "a pipeline": """
batches = [np.full((64, 32), i, "float32") for i in range(20)]
def twice(batch):
    return ascend_cy.vector_add(batch, batch)
pipe = ascend_cy.Pipeline(twice)
for i, result in enumerate(pipe(batches)):
    assert (result == 2 * i).all()
""",
    "work that the device refuses": """
c = ascend_cy.Stream()
for call, work in (("aclrtMemsetAsync", lambda y: y.fill(0, stream=b)),
                   ("aclrtMemcpyAsync", lambda y: y.copy_from(np.ones(1024, "float32"), stream=b)),
                   ("aclrtLaunchKernelWithHostArgs", lambda y: ascend_cy.vector_add(x, x, out=y, stream=b))):
    for turn in range(3):
        y = ascend_cy.empty(1024, stream=a)
        with embedded.faults(f"call={call},code=507899"):
            try:
                work(y)
            except ascend_cy.AclError as error:
                assert error.code == 507899
                del error
            else:
                raise AssertionError(call + " was to fail")
        if turn == 0:
            y.close()                           # nothing uses it
        elif turn == 1:
            y.fill(1, stream=c)                 # behind nothing
            a.wait(c)
        else:
            assert ascend_cy.memory_stats()["in_use"]
        del y
""",
    "memory that a busy stream has freed": """
gate = threading.Event()
a.add_callback(gate.wait, 60)
y = ascend_cy.full(8 << 20, 1, "uint8", stream=a)
del y
z = ascend_cy.full(8 << 20, 2, "uint8", stream=b)
gate.set()
assert (z.to_numpy() == 2).all()
""",
    "the default stream's handle is not to be had once": """
for turn in range(3):
    y = ascend_cy.empty(1024)
    with embedded.faults("call=aclrtCtxGetCurrentDefaultStream,code=507899"):
        y.fill(turn)
    assert (y.to_numpy() == turn).all()
    y.fill(7)
""",
    "many streams in turn, of which the pool forgets those that ended": """
streams = [ascend_cy.Stream() for i in range(40)]
y = ascend_cy.empty(1024, stream=a)
for turn in range(3):
    for i, each in enumerate(streams):
        y.fill(i, stream=each)
        if i % 3 == 0:
            while not ended(each):
                pass
    assert (y.to_numpy(stream=b) == len(streams) - 1).all()
del y
""",
    "memory of streams that ended": """
for i in range(100):
    y = ascend_cy.full(64 << 10, i, stream=a)
    z = ascend_cy.vector_add(y, y, stream=b)
    while i % 3 == 0 and not (ended(a) and ended(b)):
        pass
    del y
    y = ascend_cy.full(64 << 10, i, stream=b)
    while i % 2 == 0 and not ended(b):
        pass
    ascend_cy.trim_memory()
    assert (z.to_numpy(stream=a) == 2 * i).all()
    del y, z
""",
    "many in one block": """
one, two = ascend_cy.empty_many([100, 100], stream=a)
one.fill(1, stream=a)
two.fill(2, stream=b)
assert one.to_numpy()[0] == 1 and two.to_numpy()[0] == 2
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_silent(name, tmp_path):
    embedded.require()
    assert child.check(START + RIGHT[name] + END, tmp_path, env={"ASCEND_CY_POOL_HAZARD": "1"}) == "hazards 0\n"


POISON = """
x.fill(1, stream=a)
gone = x.ptr
x.close()
x = None
print(np.isnan(alias(gone, a, 1024).to_numpy()).all())
"""


def test_report_goes_on_and_freed_memory_is_poisoned(tmp_path):
    embedded.require()
    status, out, err = child.run(START + POISON + END, tmp_path, env={"ASCEND_CY_POOL_HAZARD": "report"})
    assert (status, out) == (0, "True\nhazards 1\n"), err
    assert err.count("ascend_cy: memory hazard: copy to host (reads 4096 bytes") == 1


SHARED = """
y = ascend_cy.full(1 << 20, 1, stream=a)
z = ascend_cy.vector_add(y, y, stream=b)        # records it
place = y.ptr
b.synchronize()
y.close()
got = [ascend_cy.empty(1 << 20, stream=a) for i in range(3)]
print([bool(np.isnan(y.to_numpy(stream=a)).all()) for y in got if y.ptr == place])
del y, z, got
"""


def test_freed_memory_that_another_stream_used_is_poisoned_when_it_is_given_out(tmp_path):
    embedded.require()
    out = child.check(START + SHARED + END, tmp_path, env={"ASCEND_CY_POOL_HAZARD": "1"})
    assert out == "[True]\nhazards 0\n"


def test_without_the_mode_nothing_is_watched(tmp_path):
    embedded.require()
    off = POISON.replace("print(np.isnan(", "print(not np.isnan(")
    assert child.check(START + off + END, tmp_path, env={"ASCEND_CY_POOL_HAZARD": "0"}) == "True\nhazards 0\n"


def test_a_value_that_cannot_be(tmp_path):
    code = """
import ascend_cy
try:
    ascend_cy.zeros(3)
except ascend_cy.AclError as error:
    print(error)
"""
    out = child.check(code, tmp_path, env={"ASCEND_CY_POOL_HAZARD": "yes"})
    assert 'ASCEND_CY_POOL_HAZARD is "yes"; allowed are 0, 1 (or raise) and report' in out


def test_the_error_is_one_of_ascendcl():
    assert issubclass(ascend_cy.MemoryHazardError, ascend_cy.AclError)
    assert not issubclass(ascend_cy.MemoryHazardError, MemoryError)  # there is enough of it
