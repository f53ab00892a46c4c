# SPDX-License-Identifier: Apache-2.0
"""Arrays on several streams, used in any order and dropped at any moment, against NumPy arrays that do the same.

Copies, fills and operators order themselves behind whoever used an array before, on whatever stream; memory goes back and
forth between streams meanwhile. Jobs that keep a stream busy make what is not ordered visible.
"""

from __future__ import annotations

import gc
import time

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

import ascend_cy

SHAPES = st.sampled_from([(4, 6), (1, 33), (64, 65), (7, 300), (3, 4, 5)])
NUMBERS = st.integers(-50, 50)


class Pair:
    """A device array, and what it must hold; views share the memory of both."""

    def __init__(self, device: ascend_cy.DeviceArray, host: np.ndarray) -> None:
        self.device, self.host = device, host


class Machine(RuleBasedStateMachine):
    pairs = Bundle("pairs")

    def __init__(self) -> None:
        super().__init__()
        self.streams = [ascend_cy.Stream(), ascend_cy.Stream(), ascend_cy.default_stream()]

    def stream(self, number: int) -> ascend_cy.Stream:
        return self.streams[number % len(self.streams)]

    @rule(target=pairs, shape=SHAPES, value=NUMBERS, on=NUMBERS)
    def full(self, shape, value, on):
        return Pair(ascend_cy.full(shape, value, stream=self.stream(on)), np.full(shape, value, "f4"))

    @rule(target=pairs, shape=SHAPES, value=NUMBERS, on=NUMBERS)
    def upload(self, shape, value, on):
        host = (np.arange(np.prod(shape), dtype="f4") + value).reshape(shape)
        return Pair(ascend_cy.asarray(host, stream=self.stream(on)), host)

    @rule(target=pairs, pair=pairs, on=NUMBERS)
    def copy(self, pair, on):
        return Pair(pair.device.copy(self.stream(on)), pair.host.copy())

    @rule(target=pairs, pair=pairs, start=st.integers(0, 3), step=st.sampled_from([1, 2, -1]))
    def view(self, pair, start, step):
        index = (Ellipsis, slice(None, None, step)) if start == 3 else slice(start, None, step)
        host = pair.host[index]
        if not host.size:
            return multiple()
        return Pair(pair.device[index], host)

    @rule(pair=pairs, value=NUMBERS, on=NUMBERS)
    def fill(self, pair, value, on):
        pair.device.fill(value, self.stream(on))
        pair.host[...] = value

    @rule(one=pairs, two=pairs, on=NUMBERS)
    def copy_within(self, one, two, on):
        if one.host.shape == two.host.shape:
            one.device.copy_from(two.device, self.stream(on))
            one.host[...] = two.host.copy()

    @rule(pair=pairs, on=NUMBERS)
    def copy_from_host(self, pair, on):
        host = np.random.default_rng(abs(on)).integers(0, 9, pair.host.shape).astype("f4")
        pair.device.copy_from(host, self.stream(on))
        pair.host[...] = host
        host[...] = -1

    @rule(pair=pairs, on=NUMBERS)
    def copy_from_pinned(self, pair, on):
        pinned = ascend_cy.empty_pinned(pair.host.shape)
        pinned[...] = on
        pair.device.copy_from(pinned, self.stream(on))
        pair.host[...] = on

    @rule(target=pairs, pair=pairs, on=NUMBERS)
    def layernorm(self, pair, on):
        return Pair(ascend_cy.layernorm(pair.device, stream=self.stream(on)), ascend_cy.layernorm(pair.host))

    @rule(pair=pairs, on=NUMBERS)
    def layernorm_in_place(self, pair, on):
        ascend_cy.layernorm(pair.device, out=pair.device, stream=self.stream(on))
        pair.host[...] = ascend_cy.layernorm(pair.host)

    @rule(one=pairs, two=pairs, on=NUMBERS)
    def layernorm_into(self, one, two, on):
        if one.host.shape == two.host.shape and not np.shares_memory(one.host, two.host):
            ascend_cy.layernorm(one.device, out=two.device, stream=self.stream(on))
            two.host[...] = ascend_cy.layernorm(one.host)

    @rule(pair=consumes(pairs))
    def drop(self, pair):
        del pair.device

    @rule(pair=consumes(pairs))
    def close(self, pair):
        pair.device.close()

    @rule(pair=pairs, on=NUMBERS)
    def read(self, pair, on):
        assert pair.device.to_numpy(stream=self.stream(on)).tobytes() == pair.host.tobytes()

    @rule(on=NUMBERS)
    def keep_busy(self, on):
        self.stream(on).add_callback(time.sleep, 0.001)

    @rule(on=NUMBERS)
    def replace_a_stream(self, on):
        self.streams[on % 2] = ascend_cy.Stream()

    @rule()
    def trim(self):
        ascend_cy.trim_memory()

    @invariant()
    def figures_agree(self):
        stats = ascend_cy.memory_stats()
        assert 0 <= stats["in_use"] <= stats["reserved"]
        assert ascend_cy.live_objects()["buffer_bytes"] <= stats["in_use"]

    def teardown(self):
        self.streams.clear()
        gc.collect()


TestMachine = Machine.TestCase
TestMachine.settings = settings(settings.get_profile("suite"), max_examples=60, stateful_step_count=40)
