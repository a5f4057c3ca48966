# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the reference says about driving."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.adapting.recent_ticks import RecentTicks
from two_manifold_ros.adapting.witness import Witness

RATE = 10.0


def circle(tick: float) -> np.ndarray:
    """Return a position on a course of radius 2 m at 1 m/s."""
    return 2.0 * np.array([np.cos(0.05 * tick), np.sin(0.05 * tick)])


@pytest.mark.parametrize(
    ('positions', 'weight'),
    [
        (circle, 1.0),
        (lambda tick: circle(1.5 * tick), 1.0),
        (lambda tick: circle(600.0) + 0.001 * tick, 0.0),
        (lambda tick: circle(5.0 * tick), 1.0 / 3.0),
        (lambda tick: 0.5 * circle(2.0 * tick), 1.0 / 3.0),
        (lambda _: np.full(2, np.nan), 1.0 / 3.0),
    ],
    ids=['drives on', 'drives faster', 'stands', 'far too fast', 'leaves the course', 'absent'],
)
def test_it_tells_driving_from_other_things(positions: object, weight: float) -> None:
    ticks, witness = RecentTicks(200, 1), Witness(RATE)
    for tick in range(630):
        well = tick < 600
        ticks.push(tick, np.zeros(1), good=well)
        ticks.place(tick, circle(tick) if well else positions(tick))  # type: ignore[operator]
        witness.look(ticks, tick, well=well)
    assert witness.usual_speed == pytest.approx(1.0, abs=0.02)
    assert witness.weight == pytest.approx(weight)
