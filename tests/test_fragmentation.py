# SPDX-License-Identifier: Apache-2.0
"""What the pool reserves and nobody asked for, on traces like those of training and of serving."""

from __future__ import annotations

from pathlib import Path

import embedded
import pytest
from toolbox import Toolbox

HERE = Path(__file__).resolve().parent
TRACES = sorted((HERE / "traces").glob("*.txt"))
MOST = 0.15


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """By trace: the peak; ours at the peak and at the most reserved, device calls; the same of the naive pool; allocations."""
    embedded.require()
    toolbox = Toolbox(tmp_path_factory.mktemp("fragmentation"))
    result = toolbox.run("fragmentation", *map(str, TRACES), env=toolbox.environment("cpu"), timeout=300)
    assert result.returncode == 0, result.stderr
    print(result.stdout)
    rows = [line.split("; ") for line in result.stdout.splitlines()[1:]]
    return {Path(row[0]).stem: [float(figure) for figure in row[1:]] for row in rows}


def test_there_are_traces_of_both_kinds(figures):
    assert len(TRACES) == 3
    assert {path.stem for path in TRACES} == {"training", "training-ragged", "serving"} <= set(figures)
    assert len(figures) == 15


def test_little_is_reserved_for_nobody(figures):
    """At the peak of what is asked for, and of what is reserved then and at any other time."""
    for name, (peak, at_the_peak, at_the_most, *_) in figures.items():
        assert peak > 10, name
        assert 0 <= at_the_peak <= at_the_most < MOST, name


def test_a_pool_that_takes_the_first_block_wastes_more(figures):
    wasted = {name: (row[1], row[4]) for name, row in figures.items()}
    assert all(ours < naive for ours, naive in wasted.values()), wasted
    assert sum(naive for _, naive in wasted.values()) > 3 * sum(ours for ours, _ in wasted.values())


def test_the_device_is_seldom_asked(figures):
    """Little is not had by giving every block back at once: one allocation of ten asks the device, at the most."""
    for name, row in figures.items():
        device_calls, allocations = row[3], row[-1]
        assert device_calls < allocations / 10, name
