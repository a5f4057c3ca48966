# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learning the read-out anew: the same as filtering all remembered ticks and solving at once."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.adapting.position_learning import PositionLearning
from two_manifold_ros.adapting.readout_sums import pair_up, ReadoutSums
from two_manifold_ros.adapting.recent_ticks import RecentTicks
from two_manifold_ros.adapting.rehearsal import Rehearsal
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.parameters import Tpsr

TICKS, SETTLING, MEMORY = 60, 5, 30.0
HORIZONS = (0, 3)


def make_tpsr() -> Tpsr:
    """Return a small stable filter: a rotation that the observation pushes about."""
    rng = np.random.default_rng(1)
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.9, -0.3], [0.0, 0.3, 0.9]])
    operators = 0.05 * rng.normal(size=(2, 3, 3))
    operators[0] += turn
    return Tpsr(
        start=np.array([1.0, 0.0, 0.0]),
        normaliser=np.array([1.0, 0.0, 0.0]),
        operators=operators,
        inverse=np.eye(2),
        transition=turn,
        bound=10.0,
    )


@pytest.mark.parametrize('pace', [1, 7, 100])
def test_it_is_what_filtering_all_at_once_would_give(pace: int) -> None:
    rng = np.random.default_rng(2)
    tpsr, ticks = make_tpsr(), RecentTicks(80, 2)
    for tick in range(TICKS):
        ticks.push(tick, np.array([1.0, rng.normal()]), good=tick != 40)
        if tick % 9:
            ticks.place(tick, rng.normal(size=2))
    learning = PositionLearning(HORIZONS, 3, 0.1, MEMORY)
    learning.origin, learning.done = np.array([1.0, 2.0]), TICKS - 1
    rehearsal = Rehearsal(tpsr, 4, SETTLING, ReadoutSums(3, 4, MEMORY))
    matrix = rng.normal(size=(4, 4))
    rehearsal.move(matrix)
    while not rehearsal.run(ticks, learning, pace):
        pass
    result = rehearsal.result()

    belief = TpsrBelief(tpsr)
    _, features, positions, good = ticks.part(1, TICKS)
    rows = np.full((TICKS - 1, 4), np.nan)
    for index in range(3, TICKS - 1):
        belief.update(features[index])
        if index >= 3 + SETTLING and good[index]:
            rows[index] = matrix @ np.append(belief.state, 1.0)
    positions[~good] = np.nan
    expected = ReadoutSums(3, 4, MEMORY)
    expected.add(*pair_up(rows, positions - learning.origin, HORIZONS, 0.1))
    np.testing.assert_allclose(result.gram, expected.gram, atol=1e-9)
    np.testing.assert_allclose(result.cross, expected.cross, atol=1e-9)


def test_a_long_hole_starts_the_belief_anew() -> None:
    tpsr, ticks = make_tpsr(), RecentTicks(80, 2)
    for tick in [*range(20), *range(40, 60)]:
        ticks.push(tick, np.array([1.0, 0.5]), good=True)
    learning = PositionLearning(HORIZONS, 3, 0.1, MEMORY)
    learning.origin, learning.done = np.zeros(2), 59
    rehearsal = Rehearsal(tpsr, 0, SETTLING, ReadoutSums(3, 4, MEMORY))
    rehearsal.run(ticks, learning, 100)
    belief = TpsrBelief(tpsr)
    for _ in range(20):
        belief.update(np.array([1.0, 0.5]))
    np.testing.assert_array_equal(rehearsal.rows[-1, :3], belief.state)
    assert np.isfinite(rehearsal.rows[-1]).all()
