# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was wrong with the input for a while is forgotten within a stated time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filter_runs import feed
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.state_machine import STEADY

if TYPE_CHECKING:
    from collections.abc import Callable

    from filter_runs import Stream

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import Model

    Fault = Callable[[Stream, Stream, Model], Stream]

WINDOW = 20
BEGIN, END = 100, 115

REFUSED_FOR = WINDOW + STEADY
"""Ticks after which samples that were refused are forgotten by the status: as after a gap."""

BELIEVED_FOR = 5 * WINDOW
"""Ticks after which nothing is left of wrong samples that were believed: memories and all."""

LEFT_M = 0.02
"""About what the position errs by anyway."""


def changed(part: Stream, change: Callable[[int, np.ndarray], np.ndarray]) -> Stream:
    return [(stamp, change(i, np.array(sample))) for i, (stamp, sample) in enumerate(part)]


REFUSED: dict[str, Fault] = {
    'no numbers': lambda part, *_: changed(part, lambda _, sample: sample * np.nan),
    'out of range': lambda part, *_: changed(part, lambda _, sample: sample * 1e9),
    'stamped with zero': lambda part, *_: [(0, sample) for _, sample in part],
    'nothing': lambda *_: [],
}

BELIEVED: dict[str, Fault] = {
    'from end to end': lambda part, _, model: changed(
        part,
        lambda i, __: (
            model.channels.mean + 0.99 * (-1.0) ** i * np.fmin(model.channels.limit, 1e3)
        ),
    ),
    'reversed': lambda part, *_: changed(part, lambda _, sample: sample * [1, 1, 1, -1, -1, -1]),
    'loud': lambda part, *_: changed(
        part, lambda i, sample: sample + 5.0 * np.random.default_rng(i).normal(size=6)
    ),
    'frozen': lambda part, *_: changed(part, lambda _, __: part[0][1]),
    'of another place': lambda part, all_of_it, _: changed(part, lambda i, _: all_of_it[i][1]),
    'played twice': lambda part, *_: [*part, *part],
}


def by_tick(estimates: list[Estimate]) -> dict[int, Estimate]:
    """Return estimates by tenths of a second; a gap may shift the grid a little."""
    return {round(each.stamp_ns / 1e8): each for each in estimates}


@pytest.mark.long
@pytest.mark.parametrize('kind', ['slot_car_model', 'spectral_model', 'tpsr_model'])
def test_a_fault_is_forgotten(kind: str, stream: Stream, request: pytest.FixtureRequest) -> None:
    model: Model = request.getfixturevalue(kind)
    usual = by_tick(feed(Filter(model), stream))
    end = round(stream[END][0] / 1e8)
    for faults, ticks in ((REFUSED, REFUSED_FOR), (BELIEVED, BELIEVED_FOR)):
        for name, fault in faults.items():
            part = fault(stream[BEGIN:END], stream, model)
            found = by_tick(feed(Filter(model), [*stream[:BEGIN], *part, *stream[END:]]))
            assert max(found) == max(usual)
            for tick in range(end + 1, max(usual) + 1):
                one, other = found[tick], usual[tick]
                assert np.isfinite(one.positions).all(), name
                if tick > end + ticks:
                    assert one.status is other.status, name
                if tick > end + BELIEVED_FOR:
                    assert np.abs(one.positions[0] - other.positions[0]).max() < LEFT_M, name
                    assert one.ellipse_m == pytest.approx(other.ellipse_m, rel=0.05), name
