# SPDX-License-Identifier: Apache-2.0
"""What layernorm_backward refuses, in Python and through cimport: by type and message, before anything is enqueued."""

from __future__ import annotations

import re
import threading

import embedded
import numpy as np
import pytest
from layernorm_backward_reference import assert_gradients
from layernorm_reference import bits, dtype_named
from refusals import nothing_enqueued

import ascend_cy


def ramp(*shape, dtype="f4"):
    return (np.arange(np.prod(shape)) % 251 + 1).reshape(shape).astype(dtype)


def on_device(value):
    return ascend_cy.asarray(value) if isinstance(value, np.ndarray) else value


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


X, S, W = ramp(3, 4), ramp(3), ramp(4)


def refusals():
    """name, exception, message, changes of the arguments dy, x, mean, rstd, gamma and of keywords"""
    number = r"must have dtype float32, float16 or bfloat16, got"
    yield from [
        ("dy float64", TypeError, rf"^dy {number} float64", {"dy": X.astype("f8"), "x": X.astype("f8")}),
        ("dy int32", TypeError, rf"^dy {number} int32", {"dy": X.astype("i4")}),
        ("x of another dtype", TypeError, r"^x must have dtype float32 like dy, got float16", {"x": X.astype("f2")}),
        ("x float64", TypeError, r"^x must have dtype float32 like dy, got float64", {"x": X.astype("f8")}),
        ("mean float64", TypeError, r"^mean must have dtype float32, as layernorm returns it, got float64",
         {"mean": S.astype("f8")}),
        ("rstd float16", TypeError, r"^rstd must have dtype float32, as layernorm returns it, got float16",
         {"rstd": S.astype("f2")}),
        ("gamma float64", TypeError, rf"^gamma {number} float64", {"gamma": W.astype("f8")}),
        ("dy without axes", ValueError, r"^dy must have at least 1 axis", {"dy": np.array(1, "f4"), "x": np.array(1, "f4")}),
        ("x of another shape", ValueError, r"^x must have shape \(3, 4\) like dy, got \(4, 3\)", {"x": ramp(4, 3)}),
        ("x of another rank", ValueError, r"^x must have shape \(3, 4\) like dy, got \(12,\)", {"x": ramp(12)}),
        ("mean too long", ValueError, r"^mean must have shape \(3,\), the axes of x that are not normalized, got \(4,\)",
         {"mean": ramp(4)}),
        ("mean with an axis of one", ValueError, r"^mean must have shape \(3,\).*got \(3, 1\)", {"mean": ramp(3, 1)}),
        ("rstd without axes", ValueError, r"^rstd must have shape \(3,\).*got \(\)", {"rstd": np.array(1, "f4")}),
        ("rstd of the shape of x", ValueError, r"^rstd must have shape \(3,\).*got \(3, 4\)", {"rstd": X}),
        ("gamma too long", ValueError, r"^gamma must have shape \(4,\), the normalized axes of x, got \(5,\)",
         {"gamma": ramp(5)}),
        ("gamma with a row axis", ValueError, r"^gamma must have shape \(4,\).*got \(1, 4\)", {"gamma": ramp(1, 4)}),
        ("statistics of one axis for two", ValueError, r"^mean must have shape \(\).*got \(3,\)", {"normalized_ndim": 2}),
        ("normalized_ndim 0", ValueError, r"^normalized_ndim must be between 1 and the 2 axes of x, got 0",
         {"normalized_ndim": 0}),
        ("normalized_ndim 3", ValueError, r"^normalized_ndim .*got 3", {"normalized_ndim": 3}),
        ("normalized_ndim float", TypeError, r"^normalized_ndim must be an integer, got float", {"normalized_ndim": 1.0}),
        ("out of another dtype", TypeError, r"^out must have dtype float32 like dy, got float16", {"out": X.astype("f2")}),
        ("out of another shape", ValueError, r"^out must have shape \(3, 4\) like dy, got \(4, 3\)", {"out": ramp(4, 3)}),
        ("stream a number", TypeError, r"^stream must be a Stream or None, got int", {"stream": 0}),
    ]
    for name in ("x", "mean", "rstd"):
        yield f"{name} None", TypeError, rf"^{name} must be (an array|a DeviceArray).*got NoneType", {name: None}
    for name in ("gamma", "out"):
        yield f"{name} a list", TypeError, rf"^{name} must be (an array|a DeviceArray).*got list", {name: [1.0]}


CASES = list(refusals())


def call(changes, place=lambda value: value):
    arguments = {"dy": X, "x": X, "mean": S, "rstd": S, "gamma": W, **changes}
    arguments = {name: place(value) for name, value in arguments.items()}
    positional = [arguments.pop(name) for name in ("dy", "x", "mean", "rstd", "gamma")]
    return positional, arguments


def refused(kind, message, changes, place=lambda value: value):
    positional, named = call(changes, place)
    with nothing_enqueued(), pytest.raises(kind) as caught:
        ascend_cy.layernorm_backward(*positional, **named)
    assert re.search(message, str(caught.value)), str(caught.value)
    assert not isinstance(caught.value, ascend_cy.AclError)


@pytest.mark.parametrize("place", [lambda value: value, on_device], ids=["host", "device"])
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_refused(case, place):
    refused(*case[1:], place)


def test_what_is_no_array_is_refused():
    for what in (None, [[1.0, 2.0]], 3.5, "text", object()):
        refused(TypeError, rf"^dy must be an array .*got {type(what).__name__}", {"dy": what})
    with pytest.raises(TypeError):
        ascend_cy.layernorm_backward(X, X, S)
    with pytest.raises(TypeError):
        ascend_cy.layernorm_backward(X, X, S, S, W, 1)


def test_host_and_device_mixed():
    for name, value in (("x", X), ("mean", S), ("rstd", S), ("gamma", W), ("out", X)):
        refused(TypeError, rf"^{name} is a DeviceArray but dy is in host memory: move dy with ascend_cy.asarray\(dy\)",
                {name: on_device(value)})
    positional, _ = call({}, on_device)
    for place, name, value in ((1, "x", X), (2, "mean", S), (3, "rstd", S), (4, "gamma", W)):
        mixed = [value if i == place else a for i, a in enumerate(positional)]
        with nothing_enqueued(), pytest.raises(TypeError, match=rf"^{name} is in host memory .*dy is a DeviceArray"):
            ascend_cy.layernorm_backward(*mixed)


@pytest.mark.parametrize("place", [lambda value: value, on_device], ids=["host", "device"])
def test_overlapping_out(place):
    memory = place(ramp(96))
    inside = memory[8:20].reshape(3, 4)
    for name in ("dy", "x"):
        for at in (0, 4, 7, 9, 12, 19):
            positional, _ = call({name: X}, place)
            positional[name == "x"] = inside
            with nothing_enqueued(), pytest.raises(ValueError, match=rf"^out overlaps {name} in part"):
                ascend_cy.layernorm_backward(*positional, out=memory[at : at + 12].reshape(3, 4))
    for index, name, size in ((2, "mean", 3), (3, "rstd", 3), (4, "gamma", 4)):
        positional, _ = call({}, place)
        positional[index] = memory[40 : 40 + size]
        with nothing_enqueued(), pytest.raises(ValueError, match=rf"^out must not share memory with {name}"):
            ascend_cy.layernorm_backward(*positional, out=memory[36:48].reshape(3, 4))


def test_read_only_out_and_closed_arguments():
    refused(ValueError, r"^out is read-only", {"out": read_only(X)})
    refused(TypeError, r"^out must be in native byte order", {"out": X.astype(">f4")})
    for name, value in (("dy", X), ("x", X), ("mean", S), ("rstd", S), ("gamma", W), ("out", X)):
        gone = on_device(value)
        gone.close()
        refused(ValueError, rf"^{name} is closed", {name: gone}, on_device)
    stream = ascend_cy.Stream()
    stream.close()
    refused(ValueError, r"stream is closed", {"stream": stream})
    assert ascend_cy.layernorm_backward(*map(read_only, (X, X, S, S, W)))[0].flags.writeable


def test_a_failed_launch_leaves_nothing_behind():
    """Either of the two launches, and the workspace: the error of the device, nothing leaked, and the next call works."""
    embedded.require()
    arguments = [on_device(a) for a in (ramp(70, 30), ramp(70, 30), ramp(70), ramp(70), ramp(30))]
    expected = [a.to_numpy() for a in ascend_cy.layernorm_backward(*arguments)]
    out = ascend_cy.empty((70, 30))
    ascend_cy.synchronize()
    live = ascend_cy.live_objects()
    for call_number in (1, 2):
        with embedded.faults(f"call=aclrtLaunchKernelWithHostArgs,at={call_number},code=507899"):
            with pytest.raises(ascend_cy.AclError):
                ascend_cy.layernorm_backward(*arguments, out=out)
        ascend_cy.synchronize()
        assert ascend_cy.live_objects() == live
    results = [a.to_numpy() for a in ascend_cy.layernorm_backward(*arguments, out=out)]
    assert [bits(a) for a in results] == [bits(a) for a in expected]


# ---- cimport ----


def narrow(array):
    return array if array is None or array.dtype == np.float32 else array.view(np.uint16)


@pytest.fixture(scope="module")
def plain(consumer):
    return consumer.plain


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (70, 129), (300, 1000), (0, 4), (4, 0)], ids=str)
def test_memoryviews(plain, shape, name):
    dtype = dtype_named(name)
    rng = np.random.default_rng(0)
    x, dy = (rng.standard_normal(shape).astype(np.float32).astype(dtype) for _ in range(2))
    gamma = np.linspace(-1, 2, shape[1]).astype(dtype)
    _, mean, rstd = ascend_cy.layernorm(x, return_stats=True)
    backward = {"float32": plain.backward_float, "float16": plain.backward_half, "bfloat16": plain.backward_brain}[name]
    expected = ascend_cy.layernorm_backward(dy, x, mean, rstd, gamma)
    out = [np.full_like(a, 7) for a in expected]
    backward(narrow(dy), narrow(x), mean, rstd, narrow(gamma), *map(narrow, out))
    assert [bits(a) for a in out] == [bits(a) for a in expected]
    if x.size:
        assert_gradients(out, dy, x, rstd, gamma)
    for wanted in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (0, 0, 0)):
        some = [np.full_like(a, 7) if yes else None for a, yes in zip(expected, wanted, strict=True)]
        backward(narrow(dy), narrow(x), mean, rstd, narrow(gamma), *map(narrow, some))
        assert all(a is None or bits(a) == bits(b) for a, b in zip(some, expected, strict=True))
    for place in (0, 1):  # in place
        inputs = [dy.copy(), x.copy()]
        backward(narrow(inputs[0]), narrow(inputs[1]), mean, rstd, narrow(gamma), narrow(inputs[place]), None, None)
        assert bits(inputs[place]) == bits(expected[0])
    ones = [np.full_like(a, 7) for a in expected]
    backward(narrow(dy), narrow(x), mean, rstd, None, *map(narrow, ones))
    other = ascend_cy.layernorm_backward(dy, x, mean, rstd, np.ones_like(gamma))
    assert [bits(a) for a in ones] == [bits(a) for a in other]


def test_memoryviews_refused(plain):
    memory = ramp(64)
    good = {"dy": X, "x": X, "mean": S, "rstd": S, "gamma": W, "dx": np.zeros((3, 4), "f4"), "dgamma": np.zeros(4, "f4"),
            "dbeta": np.zeros(4, "f4")}
    gone = ascend_cy.Stream()
    gone.close()
    cases = [
        ({"dy": None}, TypeError, r"dy must be an array, got None"), ({"x": None}, TypeError, r"x must be an array, got None"),
        ({"mean": None}, TypeError, r"mean must be"), ({"rstd": None}, TypeError, r"rstd must be an array, got None"),
        ({"x": ramp(4, 3)}, ValueError, r"x must have shape \(3, 4\) like dy, got \(4, 3\)"),
        ({"dx": ramp(2, 4)}, ValueError, r"dx must have shape \(3, 4\) like dy, got \(2, 4\)"),
        ({"mean": ramp(4)}, ValueError, r"mean must have shape \(3,\), one number for each row of dy, got \(4,\)"),
        ({"rstd": ramp(2)}, ValueError, r"rstd must have shape \(3,\).*got \(2,\)"),
        ({"gamma": ramp(3)}, ValueError, r"gamma must have shape \(4,\), the last axis of dy, got \(3,\)"),
        ({"dgamma": ramp(5)}, ValueError, r"dgamma must have shape \(4,\).*got \(5,\)"),
        ({"dbeta": ramp(0)}, ValueError, r"dbeta must have shape \(4,\).*got \(0,\)"),
        ({"dy": memory[4:16].reshape(3, 4), "dx": memory[8:20].reshape(3, 4)}, ValueError, r"dx overlaps dy"),
        ({"mean": memory[4:7], "dx": memory[0:12].reshape(3, 4)}, ValueError, r"dx overlaps mean"),
        ({"dgamma": memory[0:4], "dbeta": memory[3:7]}, ValueError, r"dbeta overlaps dgamma"),
        ({"gamma": W, "dgamma": W}, ValueError, r"dgamma overlaps gamma"),
        ({"stream": gone}, ValueError, r"stream is closed"),
    ]
    for changes, kind, message in cases:
        with nothing_enqueued(), pytest.raises(kind, match=message):
            plain.backward_float(**{**good, **changes})
    assert not any(good[name].any() for name in ("dx", "dgamma", "dbeta"))


def test_device_form(plain, stream):
    rng = np.random.default_rng(1)
    x, dy = rng.standard_normal((2, 5, 7, 33)).astype(np.float16)
    gamma = np.linspace(1, 2, 33).astype(np.float32)
    _, mean, rstd = ascend_cy.layernorm(x, return_stats=True)
    expected = ascend_cy.layernorm_backward(dy, x, mean, rstd, gamma)
    inputs = [ascend_cy.asarray(a) for a in (dy, x, mean, rstd, gamma)]
    out = [ascend_cy.zeros(a.shape, a.dtype) for a in expected]
    ascend_cy.synchronize()
    gate = threading.Event()
    stream.add_callback(gate.wait, 60)
    plain.backward_device(*inputs, *out, stream)
    assert not stream.query()
    inputs[0].close()  # recorded on the stream: its memory stays until the work has passed
    others = [ascend_cy.full((5, 7, 33), np.nan, "f2") for _ in range(4)]
    gate.set()
    assert [bits(a.to_numpy(stream=stream)) for a in out] == [bits(a) for a in expected]
    del others


def test_device_form_refused(plain):
    dy, x, dx = (ascend_cy.asarray(X) for _ in range(3))
    mean, rstd = (ascend_cy.asarray(S) for _ in range(2))
    gamma, dgamma, dbeta = (ascend_cy.asarray(W) for _ in range(3))
    good = {"dy": dy, "x": x, "mean": mean, "rstd": rstd, "gamma": gamma, "dx": dx, "dgamma": dgamma, "dbeta": dbeta}
    half = ascend_cy.zeros(4, "f2")
    gone = ascend_cy.zeros((3, 4))
    gone.close()
    cases = [
        ({"dy": None}, TypeError, r"dy must be a DeviceArray, got None"),
        ({"mean": None}, TypeError, r"mean must be a DeviceArray, got None"),
        ({"x": gone}, ValueError, r"x is closed"), ({"dx": gone}, ValueError, r"dx is closed"),
        ({"dy": ascend_cy.zeros((4, 3)).T}, ValueError, r"dy must be contiguous"),
        ({"x": ascend_cy.zeros((3, 4), "f2")}, TypeError, r"x must have dtype float32 like dy, got float16"),
        ({"x": ascend_cy.zeros((4, 3))}, ValueError, r"x must have shape \(3, 4\) like dy, got \(4, 3\)"),
        ({"dy": ascend_cy.zeros((3, 4), "i4")}, TypeError, r"dy must have dtype .*got int32"),
        ({"dy": ascend_cy.zeros(())}, ValueError, r"dy must have at least 1 axis"),
        ({"mean": ascend_cy.zeros(3, "f2")}, TypeError, r"mean must have dtype float32.*got float16"),
        ({"rstd": ascend_cy.zeros(4)}, ValueError, r"rstd must have shape \(3,\).*got \(4,\)"),
        ({"gamma": ascend_cy.zeros(5)}, ValueError, r"gamma must have shape \(4,\), got \(5,\)"),
        ({"dgamma": half}, TypeError, r"dgamma must have dtype float32 like gamma.*got float16"),
        ({"gamma": None, "dbeta": half}, TypeError, r"dbeta must have dtype float32.*got float16"),
        ({"dx": dx[::1].reshape(4, 3)}, ValueError, r"dx must have shape \(3, 4\) like dy, got \(4, 3\)"),
        ({"dgamma": gamma}, ValueError, r"dgamma overlaps gamma"),
        ({"dbeta": dgamma}, ValueError, r"dbeta overlaps dgamma"),
    ]
    ascend_cy.synchronize()
    for changes, kind, message in cases:
        with nothing_enqueued(), pytest.raises(kind, match=message):
            plain.backward_device(**{**good, **changes})
    assert bits(dx.to_numpy()) == bits(X) and bits(dgamma.to_numpy()) == bits(W)
