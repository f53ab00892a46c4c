# SPDX-License-Identifier: Apache-2.0
"""The ways in which layernorm is called: each takes ndarrays and gives an ndarray."""

from __future__ import annotations

import numpy as np
import pytest

import ascend_cy

HOST_PATHS = ("ndarray", "memoryview", "out")
PATHS = (*HOST_PATHS, "device", "device_out", "cimport", "cimport_device")


def _view(array):
    """The array's buffer; bfloat16 ndarrays have none and go as they are."""
    if array is None or array.dtype.name == "bfloat16":
        return array
    return memoryview(array)


def _upload(array):
    return None if array is None else ascend_cy.asarray(array)


def call_ndarray(x, gamma, beta, eps):
    return ascend_cy.layernorm(x, gamma, beta, eps)


def call_memoryview(x, gamma, beta, eps):
    return ascend_cy.layernorm(_view(x), _view(gamma), _view(beta), eps)


def call_out(x, gamma, beta, eps):
    out = np.empty(x.shape, x.dtype)
    assert ascend_cy.layernorm(x, gamma, beta, eps, out=out) is out
    return out


def call_device(x, gamma, beta, eps):
    y = ascend_cy.layernorm(_upload(x), _upload(gamma), _upload(beta), eps)
    assert isinstance(y, ascend_cy.DeviceArray)
    return y.to_numpy()


def call_device_out(x, gamma, beta, eps):
    out = ascend_cy.empty(x.shape, x.dtype)
    assert ascend_cy.layernorm(_upload(x), _upload(gamma), _upload(beta), eps, out=out) is out
    return out.to_numpy()


_CALLS = {
    "ndarray": call_ndarray,
    "memoryview": call_memoryview,
    "out": call_out,
    "device": call_device,
    "device_out": call_device_out,
}


def caller(path: str, request: pytest.FixtureRequest):
    """A function (x, gamma=None, beta=None, eps=1e-5) -> y. The compiled paths are built on first use."""
    if path in _CALLS:
        call = _CALLS[path]
    else:
        consumer = request.getfixturevalue("consumer")
        call = {"cimport": consumer.plain.layernorm, "cimport_device": consumer.plain.layernorm_on_device}[path]

    def layernorm(x, gamma=None, beta=None, eps=1e-5):
        return call(x, gamma, beta, eps)

    return layernorm
