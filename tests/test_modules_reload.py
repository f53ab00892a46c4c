# SPDX-License-Identifier: Apache-2.0
"""Modules that are replaced while their kernels run: no call lost, nothing left, whatever happens meanwhile."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import time

import embedded
import numpy as np
import pytest

import ascend_cy


@pytest.fixture(scope="module", autouse=True)
def compiler():
    embedded.require()
    embedded.compiler()


# Adds 1 to x[0], and to the version's own place.
COUNT = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void count(GM_ADDR x)
{
    AscendC::GlobalTensor<float> global;
    global.SetGlobalBuffer((__gm__ float *)x, 8);
    global.SetValue(0, global.GetValue(0) + 1);
    global.SetValue(VERSION, global.GetValue(VERSION) + 1);
}
extern "C" __global__ __aicore__ void other(GM_ADDR x)
{
    AscendC::GlobalTensor<float> global;
    global.SetGlobalBuffer((__gm__ float *)x, 1);
    global.SetValue(0, 100 + VERSION);
}
"""


def version(number):
    """Number 3 has no second kernel."""
    text = COUNT if number != 3 else COUNT[: COUNT.index('extern "C"', COUNT.index("count("))]
    return text.replace("VERSION", str(number))


def live_modules():
    gc.collect()
    return ascend_cy.live_objects()["modules"]


def test_no_call_is_lost_under_load():
    """Every launch adds 1, whichever version ran it; kernels are in flight all the time; old versions go."""
    before = live_modules()
    module = ascend_cy.compile(version(1), name="count")
    kernel = module.kernel("count")
    stop = threading.Event()
    results, failures = [], []

    def work():
        try:
            with ascend_cy.Stream() as stream:
                x = ascend_cy.zeros(8)
                launched = 0
                while not stop.is_set():
                    for _ in range(4):
                        kernel[1, stream](x)
                        launched += 1
                    if launched % 16 == 0:
                        stream.synchronize()
                results.append((launched, x.to_numpy()))
        except BaseException as error:
            failures.append(error)

    with embedded.slow_kernels(2):
        threads = [threading.Thread(target=work) for _ in range(3)]
        [thread.start() for thread in threads]
        for number in (2, 1, 2, 4, 5, 1, 2):
            assert module.reload(version(number), version=str(number))
            assert module.version == str(number)
            time.sleep(0.02)
        stop.set()
        [thread.join() for thread in threads]
    assert not failures
    for launched, x in results:
        assert x[0] == launched
        assert x[1:].sum() == launched
    ran = np.sum([x for _, x in results], axis=0)
    assert ran[2] > 0 and np.count_nonzero(ran[1:]) >= 3  # several versions had their share
    assert live_modules() == before + 1  # the old versions are unloaded
    module.unload()
    assert live_modules() == before


def test_a_reload_does_not_wait_for_later_launches():
    """The queue never runs dry; the launches of the old version pass all the same."""
    module = ascend_cy.compile(version(1))
    kernel = module.kernel("count")
    stop = threading.Event()

    def feed(stream, x):
        for _ in range(6):
            kernel[1, stream](x)
        while not stop.is_set():
            kernel[1, stream](x)
            marks.append(stream.record())
            if len(marks) > 6:
                marks.pop(0).synchronize()

    marks = []
    with embedded.slow_kernels(60), ascend_cy.Stream() as stream:
        x = ascend_cy.zeros(8)
        feeder = threading.Thread(target=feed, args=(stream, x))
        feeder.start()
        time.sleep(0.1)
        reload = threading.Thread(target=module.reload, args=(version(2),))
        reload.start()
        reload.join(20)
        ended = not reload.is_alive()
        stop.set()
        feeder.join()
        reload.join()
        stream.synchronize()
        marks.clear()
    assert ended
    assert x.to_numpy()[2] > 0
    module.unload()


def test_a_module_unloaded_during_a_reload_stays_unloaded():
    before = live_modules()
    module = ascend_cy.compile(version(1))
    with pytest.raises(ValueError, match="was unloaded during the reload"):
        module.reload(version(2), warm=lambda trial: module.unload())
    assert module.closed
    assert live_modules() == before


def test_kernels_made_during_a_reload_are_looked_at():
    module = ascend_cy.compile(version(1))
    made = []
    with pytest.raises(ascend_cy.AclError, match='no kernel "other"'):
        module.reload(version(3), warm=lambda trial: made.append(module.kernel("other")))
    x = ascend_cy.zeros(8)
    made[0][1](x)
    assert x.to_numpy()[0] == 101  # the old version stayed
    assert module.reload(version(2), warm=lambda trial: made.append(module.kernel("count")))
    made[0][1](x)
    assert x.to_numpy()[0] == 102
    # Kernels that are gone are no hindrance.
    made.clear()
    gc.collect()
    assert module.reload(version(3))
    module.unload()


def test_kernels_come_and_go_while_versions_do():
    """Lists of what is alive are looked through while others add to them."""
    module = ascend_cy.compile(version(1), name="busy")
    stop = threading.Event()
    failures = []

    def work():
        try:
            kept = []
            x = ascend_cy.zeros(8)
            while not stop.is_set():
                kernel = module.kernel("count")
                kernel[1](x)
                kept = [*kept[-20:], kernel]
                assert any(m.name == "busy" for m in ascend_cy.modules())
            ascend_cy.synchronize()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    [thread.start() for thread in threads]
    for i in range(12):
        module.reload(version(1 + i % 2))
        ascend_cy.compile(version(4), name="another").unload()
    stop.set()
    [thread.join() for thread in threads]
    assert not failures
    module.unload()


def test_old_versions_live_as_long_as_their_launches():
    before = live_modules()
    module = ascend_cy.compile(version(1))
    kernel = module.kernel("count")
    x = ascend_cy.zeros(8)
    ascend_cy.synchronize()
    with embedded.slow_kernels(200):
        kernel[1](x)
        kernel[1](x)
        del kernel, module
        gc.collect()
        assert ascend_cy.live_objects()["modules"] == before + 1
        assert x.to_numpy()[:2].tolist() == [2, 2]
    assert live_modules() == before


def test_versions_by_name_and_version():
    made = {}
    for number in (2, 1):
        made[number] = ascend_cy.compile(version(number), name="count", version=f"v{number}")
    other = ascend_cy.compile(version(1), name="another")
    assert [(m.name, m.version) for m in ascend_cy.modules() if m.name in ("count", "another")] == [
        ("another", other.digest[:12]), ("count", "v1"), ("count", "v2")]
    x = ascend_cy.zeros(8)
    for number, module in made.items():
        module.kernel("count")[1](x)
    assert x.to_numpy()[:3].tolist() == [2, 1, 1]
    for bad in (3, b"1"):
        with pytest.raises(TypeError, match="version must be a string"):
            other.reload(version(2), version=bad)
    for module in (*made.values(), other):
        module.unload()
    assert not [m for m in ascend_cy.modules() if m.name in ("count", "another")]


def test_expected_digest(tmp_path):
    from ascend_cy import _compile

    content, _, _ = _compile.Request.checked("sim", (), (), None).build(version(1))
    path = tmp_path / "count.so"
    path.write_bytes(content)
    with ascend_cy.load(path) as loaded:
        module_digest = loaded.digest
    with ascend_cy.load(content, digest=module_digest.upper(), name="count") as good:
        assert good.digest == module_digest and good.path is None
    for bad in ("0" * 64, "", module_digest[:-1]):
        with pytest.raises(ValueError, match="digest must be"):
            ascend_cy.load(path, digest=bad)
    with pytest.raises(TypeError, match="digest must be a string"):
        ascend_cy.load(path, digest=b"0")
    with ascend_cy.load(path) as loaded:
        kernel = loaded.kernel("count", "ptr x")
        changed, _, _ = _compile.Request.checked("sim", (), (), None).build(version(2))
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="digest must be"):
            loaded.reload(digest=module_digest)
        assert loaded.digest == module_digest
        assert loaded.reload() and loaded.digest != module_digest
        x = ascend_cy.zeros(8)
        kernel[1](x)
        assert x.to_numpy()[2] == 1
        path.unlink()
        with pytest.raises(FileNotFoundError):
            loaded.reload()
        assert not loaded.closed


def test_every_call_below_fails_once():
    """Compile, look up, launch, reload, unload: the right exception or none, nothing lost, and the next use works."""
    x = ascend_cy.zeros(8)

    def everything():
        module = ascend_cy.compile(version(1))
        try:
            kernel = module.kernel("count")
            kernel[1](x)
            module.reload(version(2))
            kernel[1](x)
            ascend_cy.synchronize()
        finally:
            module.unload()

    everything()
    ascend_cy.synchronize()
    before = {**ascend_cy.live_objects()}
    failed, at = 0, 1
    while True:
        with embedded.faults(f"call=*,at={at},code=500000"):
            counts = ctypes.c_uint64(), ctypes.c_uint64()
            try:
                everything()
            except ascend_cy.AclError as error:
                assert error.code == 500000
                failed += 1
            embedded.library().ascendcl_cpu_fault_counts(*map(ctypes.byref, counts))
        ascend_cy.synchronize()
        assert live_modules() == before["modules"], at
        if counts[1].value == 0:
            break
        at += 1
    assert failed > 10
    x.fill(0)
    everything()
    assert x.to_numpy()[:3].tolist() == [2, 1, 1]
    assert ascend_cy.live_objects() == before


SCRIPTS = {
    "the end with kernels in flight": """
for _ in range(20):
    kernel[1](x)
""",
    "the end in the middle of a thread": """
import threading
def work():
    while True:
        try:
            kernel[1](x)
        except Exception:
            return
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
""",
    "a forked child": """
kernel[1](x)
ascend_cy.synchronize()
child = os.fork()
if child == 0:
    errors = 0
    for use in (lambda: kernel[1](x), lambda: ascend_cy.compile(source), lambda: module.kernel("count"),
                lambda: module.reload(source)):
        try:
            use()
        except ascend_cy.AclError as error:
            errors += "forked" in str(error)
    del kernel, module
    os._exit(0 if errors == 4 else 1)
assert os.waitpid(child, 0)[1] == 0
assert x.to_numpy()[0] == 1
""",
    "a device that was reset": """
import ctypes
kernel[1](x)
ascend_cy.synchronize()
x.close()
module_library = ctypes.CDLL(ascend_cy.device_info()["library"])
assert module_library.aclrtResetDeviceForce(0) == 0
pointer = ctypes.c_void_p()
assert module_library.aclrtSetDevice(0) == 0
assert module_library.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(64), 0) == 0
zero = (ctypes.c_float * 8)()
assert module_library.aclrtMemcpy(pointer, ctypes.c_size_t(32), zero, ctypes.c_size_t(32), 1) == 0
kernel[1](pointer.value)
module.reload(source.replace("SetValue(1", "SetValue(2").replace("GetValue(1", "GetValue(2"))
kernel[1](pointer.value)
ascend_cy.synchronize()
assert module_library.aclrtMemcpy(zero, ctypes.c_size_t(32), pointer, ctypes.c_size_t(32), 2) == 0
assert list(zero)[:3] == [2, 1, 1], list(zero)
""",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_processes(script, tmp_path):
    start = f"import os, sys, time, ascend_cy\nsource = {version(1)!r}\n"
    start += "module = ascend_cy.compile(source)\nkernel = module.kernel('count')\nx = ascend_cy.zeros(8)\n"
    done = subprocess.run([sys.executable, "-c", start + script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
