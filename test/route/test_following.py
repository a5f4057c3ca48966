# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A vehicle on a simulated circuit is followed, kept while it stands, lost and found."""

from circuit import Circuit, Drive, LAP_TICKS
import numpy as np
import pytest

from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.route import OFF, Route

TICK_M = 2.0 * np.pi * 20.0 / LAP_TICKS
"""Nearly: what is driven in a tick."""


def followed(belief: RouteBelief, drive: Drive) -> np.ndarray:
    """Return the distances of the position read to the true one, metres."""
    missed = []
    for observation, position in zip(drive.observations, drive.track, strict=True):
        assert 0.0 < belief.update(observation) <= 1.0
        missed.append(np.linalg.norm(belief.read()[0][0] - position))
    return np.array(missed)


def lap(seed: int, begin: float = 0.0, ticks: int = 200) -> Drive:
    return Circuit().drive(np.zeros(ticks), seed=seed, begin=begin)


@pytest.fixture
def settled(route: Route) -> RouteBelief:
    """Return a belief that has followed a vehicle to a quarter of its second lap."""
    belief = RouteBelief(route)
    missed = followed(belief, lap(seed=20))
    assert np.median(missed[60:]) < 0.5 * TICK_M
    assert belief.shares.on_route > 0.9
    return belief


@pytest.mark.parametrize('begin', [0.0, 0.4, 0.6, 0.8])
def test_a_vehicle_put_down_elsewhere_is_found_there(begin, settled):
    """Within half a lap, which is a few of the bends of the circuit."""
    missed = followed(settled, lap(seed=8, begin=begin))
    assert missed[0] > 5.0 * TICK_M
    assert missed[80:].max() < 4.0 * TICK_M
    assert settled.shares.on_route > 0.8
    # And so is a start anywhere.
    settled.start()
    assert followed(settled, lap(seed=14, begin=begin))[60:].max() < 4.0 * TICK_M


@pytest.mark.parametrize('kind', ['another', 'reversed', 'mirrored'])
def test_another_road_is_off_the_route(kind, route, settled):
    """From the start and after a lap; and the route is known again on return."""
    seen = {
        'another': Circuit(seed=4).drive(np.zeros(4 * LAP_TICKS), seed=11).observations,
        'reversed': lap(seed=11, ticks=4 * LAP_TICKS).observations[::-1],
        'mirrored': -lap(seed=11, ticks=4 * LAP_TICKS).observations,
    }
    for belief in (RouteBelief(route), settled):
        on = []
        for observation in seen[kind]:
            assert 0.0 < belief.update(observation) <= 1.0
            on.append(belief.shares.on_route)
        assert np.median(on[LAP_TICKS:]) < 0.2
    rows = settled.chances.sum(axis=0)
    assert rows[OFF:].sum() + settled.elsewhere > 0.5
    missed = followed(settled, lap(seed=12, ticks=3 * LAP_TICKS))
    assert settled.shares.on_route > 0.9
    assert missed[-LAP_TICKS:].max() < 4.0 * TICK_M
