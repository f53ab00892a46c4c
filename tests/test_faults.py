# SPDX-License-Identifier: Apache-2.0
"""Kernels that fault, and AscendCL calls that fail: the right exception, nothing leaked, and the next use works."""

from __future__ import annotations

import gc
import pickle
import threading
import warnings

import embedded
import numpy as np
import pytest
from layernorm_reference import assert_layernorm, bits

import ascend_cy


@pytest.fixture(autouse=True)
def only_embedded():
    embedded.require()


def ramp(*shape):
    return (np.arange(np.prod(shape)) % 251 + 1).reshape(shape).astype("f4")


def settled():
    """Live objects once everything that has passed is given back."""
    gc.collect()
    ascend_cy.synchronize()
    ascend_cy.trim_memory()
    return ascend_cy.live_objects()


@pytest.mark.parametrize("code", [507015, 507035])
def test_a_kernel_that_faults(kernels, code):
    """One error, which names the kernel and the block and what it said; a new stream works after it."""
    stream = ascend_cy.Stream()
    ascend_cy.synchronize()
    kernels.launch("fault", stream, 3, code, blocks=8)
    with pytest.raises(ascend_cy.KernelError) as caught:
        stream.synchronize()
    text = str(caught.value)
    assert caught.value.code == code
    assert "fault" in text and "the test asked for a fault" in text and "block 3" in text
    with ascend_cy.Stream():
        assert_layernorm(ascend_cy.layernorm(ascend_cy.asarray(ramp(9, 9))).to_numpy(), ramp(9, 9))
    assert_layernorm(ascend_cy.layernorm(ramp(9, 9)), ramp(9, 9))


def test_a_fault_is_met_wherever_one_waits(kernels):
    for wait in (lambda s: s.synchronize(), lambda s: ascend_cy.zeros(3, stream=s).to_numpy(stream=s)):
        stream = ascend_cy.Stream()
        kernels.launch("fault", stream, 0, 507015)
        with pytest.raises(ascend_cy.KernelError, match="fault"):
            wait(stream)


@pytest.mark.parametrize("convert", [np.asarray, np.array, memoryview, lambda a: a.__array__()])
def test_a_fault_reaches_numpy(kernels, convert):
    """NumPy drops what the buffer protocol raises; the memory that the failed kernel should have written is no result."""
    if not ascend_cy.device_info()["unified"]:
        pytest.skip("host and device share no memory here")
    stream = ascend_cy.Stream()
    array = ascend_cy.zeros(3, stream=stream)
    kernels.launch("fault", stream, 0, 507015)
    with pytest.raises(ascend_cy.KernelError, match="fault"):
        convert(array)


def test_errors_carry_what_happened(stream):
    with embedded.faults("call=aclrtRecordEvent,code=207001"), pytest.raises(ascend_cy.DeviceMemoryError) as caught:
        ascend_cy.Event().record(stream)
    error = caught.value
    assert isinstance(error, MemoryError) and isinstance(error, RuntimeError)
    assert (error.code, error.name, error.function) == (207001, "ACL_ERROR_RT_MEMORY_ALLOCATION", "aclrtRecordEvent")
    assert "injected fault" in error.detail and "aclrtRecordEvent" in str(error)
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), copied.code, copied.detail, str(copied)) == (type(error), 207001, error.detail, str(error))


@pytest.mark.parametrize("function", ["aclrtCreateStreamWithConfig", "aclrtCreateEventExWithFlag", "aclrtRecordEvent",
                                      "aclrtStreamWaitEvent", "aclrtSynchronizeStreamWithTimeout", "aclrtMemsetAsync",
                                      "aclrtMemcpyAsync", "aclrtStreamQuery", "aclrtQueryEventStatus"])
def test_a_failing_call_leaks_nothing(function):
    """Whatever this function is used for below fails once; the same steps work right after."""

    def steps():
        with ascend_cy.Stream() as stream:
            x = ascend_cy.full((3, 5), 2)
            y = x[:, ::2].copy()
            event = stream.record()
            ascend_cy.default_stream().wait(event)
            event.query()
            stream.query()
            stream.synchronize()
            return y.to_numpy()

    steps()
    live = settled()
    with embedded.faults(f"call={function}"):
        try:
            steps()
        except ascend_cy.AclError as error:
            assert error.function == function  # noqa: PT017
            del error
    assert settled() == live
    assert (steps() == 2).all()


@pytest.mark.parametrize("function", ["aclrtQueryEventStatus", "aclrtStreamQuery", "aclrtSynchronizeEventWithTimeout"])
def test_a_question_that_fails_is_no_answer(function):
    """Memory that a stream still reads is not used again because the call that asks whether it has passed fails."""
    home, reader = ascend_cy.Stream(), ascend_cy.Stream()
    for k in range(1, 5):
        gate = threading.Event()
        x = ascend_cy.full((50, 100), 7, stream=home)
        home.synchronize()
        reader.add_callback(gate.wait, 30)
        y = ascend_cy.vector_add(x, x, stream=reader)
        del x
        try:
            with embedded.faults(f"call={function},at={k}"):
                others = [ascend_cy.full((50, 100), -1, stream=home) for _ in range(4)]
        finally:
            gate.set()
        assert (y.to_numpy(stream=reader) == 14).all()
        del others
        ascend_cy.trim_memory()


def everything():
    """One of each: its results are compared, so a failure that was swallowed would show."""
    x = ramp(40, 130)
    with ascend_cy.Stream() as stream:
        device = ascend_cy.asarray(x)
        y, mean, _ = ascend_cy.layernorm(device[:, ::2], return_stats=True)
        start = stream.record()
        filled = ascend_cy.full((40, 65), 3)
        filled[1:, ::3] = 5.0
        ascend_cy.default_stream().wait(start)
        moved = filled.copy(ascend_cy.default_stream())
        pinned = ascend_cy.empty_pinned((40, 65))
        pinned[...] = 1
        moved.copy_from(pinned, stream)
        stream.record().synchronize()
        seen = []
        stream.add_callback(seen.append, 1)
        stream.synchronize()
        return [y.to_numpy(), mean.to_numpy(), filled.to_numpy(), moved.to_numpy(stream=stream), ascend_cy.layernorm(x)], seen


def same(one, two) -> bool:
    return [bits(a) for a in one[0]] == [bits(a) for a in two[0]] and one[1] == two[1]


@pytest.mark.usefixtures("quick_collections")
def test_every_call_fails_once():
    """The k-th AscendCL call of one run through everything fails, for every k."""
    wanted = everything()
    live = settled()
    default = ascend_cy.default_stream()
    codes = (507899, 207001)
    failed = []
    for k in range(1, 400):
        code = codes[k % 2]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with embedded.faults(f"call=*,at={k},code={code}"):
                try:
                    result = everything()
                except ascend_cy.AclError as error:
                    failed.append(error.function)
                    assert error.code == code and error.function.startswith("acl"), error  # noqa: PT017
                    assert "injected fault" in str(error)
                    assert isinstance(error, MemoryError) == (code == 207001)
                    del error
                else:
                    # A call whose failure harms nothing (a query, a hint, a release), or none was left to fail.
                    assert same(result, wanted), f"call {k} failed without an exception, and the result is another"
                    del result
                struck = embedded.fault_counts()[1]
            gc.collect()
        assert all(issubclass(warning.category, ascend_cy.AscendCyResourceWarning) for warning in caught), caught
        assert ascend_cy.current_stream() == default, f"call {k} ({failed[-1:]}) left a stream current"
        assert settled() == live, f"call {k} ({failed[-1:]}) leaked"
        if not struck:
            break
        if k % 7 == 0:
            assert same(everything(), wanted)
            assert settled() == live
    else:
        pytest.fail("no end of calls")
    assert k > 30 and len(set(failed)) > 8, (k, set(failed))
    assert same(everything(), wanted)


def test_a_lost_device():
    """Everything fails while it is lost, with its code; what was made before can be dropped; it works again later."""
    wanted = everything()
    stream = ascend_cy.Stream()
    array = ascend_cy.asarray(ramp(9, 9), stream=stream)
    ascend_cy.synchronize()
    with warnings.catch_warnings(), embedded.faults("device=lost"):
        warnings.simplefilter("ignore", ascend_cy.AscendCyResourceWarning)
        for use in (everything, array.to_numpy, lambda: ascend_cy.layernorm(array).to_numpy(),
                    lambda: ascend_cy.layernorm(ramp(3, 4)), lambda: array.fill(1)):
            with pytest.raises(ascend_cy.AclError) as caught:
                use()
            assert caught.value.code == 507010
            del caught
        array.close()
        stream.close()
        gc.collect()
    assert same(everything(), wanted)
