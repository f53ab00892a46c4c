# SPDX-License-Identifier: Apache-2.0
"""What a refused call must not do."""

from __future__ import annotations

import contextlib
import ctypes

import embedded

import ascend_cy


@contextlib.contextmanager
def nothing_enqueued():
    """No work reaches the device inside, no memory is taken, nothing lives longer."""
    ascend_cy.synchronize()
    allocations = ascend_cy.memory_stats()["allocations"]
    live = ascend_cy.live_objects()
    embedded.require()
    with embedded.faults("call=*,at=1000000000000,skip=aclrtGetDeviceCount,skip=aclrtSetDevice,skip=aclrtGetDevice,"
                         "skip=aclrtGetCurrentContext,skip=aclrtSetCurrentContext,skip=aclrtSynchronizeStream"
                         ",skip=aclrtStreamQuery,skip=aclrtPointerGetAttributes"):
        yield
        counted = ctypes.c_uint64()
        embedded.library().ascendcl_cpu_fault_counts(ctypes.byref(counted), None)
        assert counted.value == 0, "the refused call reached the device"
    assert ascend_cy.live_objects() == live
    assert ascend_cy.memory_stats()["allocations"] == allocations
    assert ascend_cy.current_stream().query()
