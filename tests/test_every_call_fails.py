# SPDX-License-Identifier: Apache-2.0
"""Every public operation with each of its AscendCL calls failing in turn (helpers/every_call.py); none is left out."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import embedded
import every_call
import every_call_cimport
import numpy as np
import pytest
from child import HANG, environment

import ascend_cy
from ascend_cy import profiler

pytestmark = pytest.mark.timeout(6 * HANG)


@pytest.fixture(scope="module", autouse=True)
def binary(tmp_path_factory):
    embedded.require()
    folder = tmp_path_factory.mktemp("every_call")
    every_call.use_binary(embedded.build_kernels(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_CY_CACHE_DIR", str(folder / "cache"))
        yield


@pytest.mark.usefixtures("quick_collections")
@pytest.mark.parametrize("name", every_call.OPERATIONS)
def test_every_call_fails(name):
    op = every_call.OPERATIONS[name]
    if not every_call.runs(op):
        pytest.skip("needs two devices: test_on_two_devices has them")
    outcome = every_call.fail_each_call(op)
    assert outcome.injected > 0 or name == "questions"


@pytest.mark.usefixtures("quick_collections")
@pytest.mark.parametrize("name", every_call_cimport.TABLE)
def test_every_call_of_cython_callers_fails(consumer, name):
    every_call_cimport.use_consumer(consumer.plain, consumer.operators)
    outcome = every_call.fail_each_call(every_call_cimport.TABLE[name])
    assert outcome.injected > 5 and outcome.raised > 0


def on_two_devices(folder, kind, names, program=every_call):
    env = environment({"ASCEND_CY_DEVICE": kind, "ASCENDCL_CPU_DEVICES": "2"})
    command = [sys.executable, "-X", "faulthandler", "-W", "error", program.__file__, folder, *names]
    done = subprocess.run(command, cwd=folder, env=env, text=True, capture_output=True, timeout=5 * HANG)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_on_two_devices(tmp_path):
    names = [op.name for op in every_call.OPERATIONS.values() if op.devices > 1]
    report = on_two_devices(tmp_path, "cpu", names)
    assert set(report) == set(names)
    assert all(each["raised"] > 10 for each in report.values())


def test_where_every_argument_is_copied(tmp_path):
    """`sim`, which works as an NPU does: on device memory alone, whose addresses are checked."""
    report = on_two_devices(tmp_path, "sim", [])
    assert set(report) == set(every_call.OPERATIONS)
    assert sum(each["injected"] for each in report.values()) > 2000
    assert sum(each["raised"] for each in report.values()) > 1000
    assert len(set().union(*(each["functions"] for each in report.values()))) > 15


def test_where_every_argument_of_cython_callers_is_copied(tmp_path, consumer):
    report = on_two_devices(tmp_path, "sim", [consumer.folder], every_call_cimport)
    assert set(report) == set(every_call_cimport.TABLE)
    assert all(each["raised"] > 5 for each in report.values())


FIRST_USE = """
import os, signal, sys
import ascend_cy, embedded
import numpy as np

def use():
    x = ascend_cy.asarray(np.full((3, 8), 2, "f4"))
    with ascend_cy.Stream() as stream:
        y = ascend_cy.vector_add(x, x)
    return y.to_numpy()

embedded.library()                                  # found, and not used yet
assert not ascend_cy.is_initialized()
raised = 0
for k in range(1, 200):
    child = os.fork()
    if child == 0:
        status = 3
        signal.alarm(30)
        try:
            with embedded.faults(f"call=*,at={k},code=507899"):
                try:
                    right = bool((use() == 4).all())
                    status = 0 if right else 4
                except ascend_cy.AclError as error:
                    status = 1 if error.code == 507899 and "injected fault" in str(error) else 5
                struck = embedded.fault_counts()[1]
            if not (use() == 4).all():
                status = 6
            if not struck:
                status = 2
        except BaseException as error:
            print(k, repr(error), file=sys.stderr)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 1, 2), (k, status)
    raised += status == 1
    if status == 2:
        break
print(k - 1, raised)
"""


def test_the_first_use_of_a_process(tmp_path):
    """Initialisation, the first context, the first kernel: what failed once works at the next try."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", FIRST_USE], cwd=tmp_path, env=environment(), text=True,
                          capture_output=True, timeout=3 * HANG)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    injected, raised = map(int, done.stdout.split())
    assert injected > 10 and raised > 5


# ---- that none is left out ----

# Special methods that say nothing of the device, whatever class they are of.
PLUMBING = {"__new__", "__init__", "__repr__", "__str__", "__reduce__", "__reduce_cython__", "__setstate_cython__",
            "__setstate__", "__doc__", "__pyx_vtable__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__module__",
            "__weakref__", "__dict__", "__test__", "__orig_bases__", "__parameters__", "__class_getitem__",
            "__annotations__", "__firstlineno__", "__static_attributes__"}

NO_DEVICE = {
    "__version__": "a text",
    "DeviceArray.__len__": "reads a field",
    "memory_hazards": "a list that the host keeps",
    "log_to_logging": "calls nothing of AscendCL",
    "DeviceArray.__copy__": "refuses, or is copy()",
    "DeviceArray.__deepcopy__": "is copy()",
    "DeviceArray.__delitem__": "always raises",
    "DeviceArray.__array_ufunc__": "None: NumPy's functions are refused",
    "DeviceArray.__dlpack_c_exchange_api__": "a capsule; its functions do what __dlpack__ and from_dlpack do",
    "Kernel.__call__": "always raises: a number of blocks is missing",
}


def is_property(thing) -> bool:
    return inspect.isdatadescriptor(thing) and not callable(thing)


def public() -> dict[str, object]:
    """Functions and methods by name; exceptions only carry facts."""
    found: dict[str, object] = {}
    names = {name: getattr(ascend_cy, name) for name in ascend_cy.__all__}
    names |= {f"profiler.{name}": getattr(profiler, name) for name in ("profile", "annotate")}
    for name, thing in names.items():
        if not isinstance(thing, type):
            found[name] = thing
        elif not issubclass(thing, Exception):
            if not any(covered.startswith(f"{name}.") for covered in covered_names()):
                found[name] = thing
            for attribute, value in vars(thing).items():
                private = attribute.startswith("_") and not (attribute.startswith("__") and attribute.endswith("__"))
                if not private and attribute not in PLUMBING and not is_property(value):
                    found[f"{name}.{attribute}"] = value
    return found


def covered_names() -> set[str]:
    return {name for op in every_call.OPERATIONS.values() for name in op.covers}


def test_the_table_covers_what_is_public():
    """A function or method is in the table, or is exempt with a reason; properties are looked at below."""
    wanted, covered = set(public()), covered_names()
    assert wanted - covered - set(NO_DEVICE) == set(), "not in the table of helpers/every_call.py"
    assert not covered & set(NO_DEVICE)
    for name in covered | set(NO_DEVICE):
        owner, _, attribute = name.rpartition(".")
        holder = ascend_cy if not owner else profiler if owner == "profiler" else getattr(ascend_cy, owner)
        assert hasattr(holder, attribute), f"there is no {name}"


def test_the_table_covers_what_cython_callers_have():
    surface = (Path(every_call.__file__).parent / "pxd_surface.txt").read_text()
    functions = set(re.findall(r"(?m)^cdef .*?\*?(\w+)\(", surface.split("[functions]")[1].split("[class")[0]))
    assert "layernorm_f32" in functions and "array_data" in functions
    assert functions == {name for op in every_call_cimport.TABLE.values() for name in op.covers}


def test_properties_make_no_call():
    """So there is nothing in them that could fail."""
    x = ascend_cy.asarray(np.ones((3, 4), "f4"))
    stream = ascend_cy.Stream()
    module = ascend_cy.load(every_call._binary)
    things = [x, x[1:], stream, stream.record(), ascend_cy.Device(0), module, ascend_cy.Pipeline(ascend_cy.layernorm),
              module.kernel("slow_store", every_call._SIGNATURE)]
    ascend_cy.synchronize_all()
    for thing in things:
        for name, value in vars(type(thing)).items():
            if is_property(value) and not name.startswith("_") and f"{type(thing).__name__}.{name}" not in covered_names():
                with embedded.counted_calls() as calls:
                    getattr(thing, name)
                    assert calls() == 0, f"{type(thing).__name__}.{name}"
    module.unload()
    stream.close()
