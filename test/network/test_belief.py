# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief on a network against Bayes' rule in loops, and what it does as a whole."""

from dataclasses import replace

from naive_network import FAINT, NaiveNetworkBelief
import numpy as np
import pytest
from small_network import (
    branching_network,
    branching_route,
    COUNT,
    leads_to,
    PERIOD_S,
    TURN,
    turning_by,
)

from two_manifold_ros.network.belief import NetworkBelief
from two_manifold_ros.network.network import Network
from two_manifold_ros.route.route import ON, SLOW, STANDS

SUMS_TO_ONE = COUNT * FAINT
"""What is dropped in a tick at most."""


def both(seed: int) -> tuple[NetworkBelief, NaiveNetworkBelief]:
    route, network = branching_route(seed), branching_network(seed)
    naive = NaiveNetworkBelief(route, network, leads_to(), PERIOD_S)
    return NetworkBelief(route, network, PERIOD_S), naive


def assert_same(belief: NetworkBelief, naive: NaiveNetworkBelief) -> None:
    expected = naive.chances()
    found = belief.chances[:, [ON, SLOW, STANDS]]
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-15)
    assert belief.elsewhere == pytest.approx(naive.elsewhere, rel=1e-9, abs=1e-12)
    others = [row for row in range(found.shape[1]) if row not in {ON, SLOW, STANDS}]
    assert not belief.chances[:, others].any()
    assert set(belief.support) == set(np.flatnonzero(expected.any(axis=1)))
    total = belief.chances.sum() + belief.elsewhere
    assert total == pytest.approx(1.0, abs=SUMS_TO_ONE)


def random_input(network: Network, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return observations and shakes (40, 2) as of any roads, or of none."""
    rng = np.random.default_rng([seed, 1])
    turns = rng.choice([0.0, 0.0, 0.4 * TURN, -0.4 * TURN, 0.2], 40) + 0.1 * rng.normal(size=40)
    seen = np.array([turning_by(network, turn) for turn in turns])
    at = rng.choice(len(network.speeds), 40)
    return seen, network.shakes[at] + network.scales[at] * rng.normal(size=seen.shape)


@pytest.mark.parametrize('seed', range(4))
def test_ticks_are_those_of_bayes_rule(seed):
    belief, naive = both(seed)
    assert_same(belief, naive)
    for seen, shaken in zip(*random_input(branching_network(seed), seed), strict=True):
        belief.take(shaken)
        assert belief.update(seen) == pytest.approx(naive.tick(seen, shaken), rel=1e-9)
        assert_same(belief, naive)


def test_ticks_without_observations_are_those_of_bayes_rule():
    belief, naive = both(0)
    observations, shakes = random_input(branching_network(0), 0)
    for row, ticks in enumerate((0, 5, 1, 9, 0, 20)):
        seen, shaken = observations[row], shakes[row]
        belief.take(shaken)
        belief.update(seen)
        naive.tick(seen, shaken)
        belief.skip(ticks)
        for _ in range(ticks):
            naive.tick(None, shaken)
        assert_same(belief, naive)


def follow(belief: NetworkBelief, ticks: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Take ticks; return the evidence of each."""
    evidence = []
    for seen, shaken in ticks:
        belief.take(shaken)
        evidence.append(belief.update(seen))
        total = belief.chances.sum() + belief.elsewhere
        assert total == pytest.approx(1.0, abs=SUMS_TO_ONE)
    return evidence


def test_a_start_is_elsewhere_with_a_tenth_whatever_kind_of_start_was_seen():
    for kind in (0, 1):
        route = branching_route()
        beginnings = np.full((2, COUNT), 0.5 / COUNT)
        beginnings[kind, 3] += 0.4
        switching = route.switching._replace(beginnings=beginnings / beginnings.sum())
        belief = NetworkBelief(replace(route, switching=switching), branching_network(), PERIOD_S)
        assert belief.elsewhere == pytest.approx(belief.starts_elsewhere)
        assert belief.weights[3] == pytest.approx(1.0)


def test_what_nothing_explains_is_elsewhere_until_a_start():
    belief, fresh = both(1)[0], both(1)[0]
    ticks = [*zip(*random_input(branching_network(1), 1), strict=True)]
    follow(belief, ticks[:5])
    # No speed shakes so much: as a number it overflows.
    belief.take(np.full(2, 1e200))
    assert belief.update(ticks[5][0]) == 0.0
    assert belief.elsewhere == 1.0
    follow(belief, ticks)
    assert belief.elsewhere == 1.0
    belief.start()
    assert np.array_equal(belief.chances, fresh.chances)
    assert follow(belief, ticks) == follow(fresh, ticks)
    assert belief.chances.tobytes() == fresh.chances.tobytes()
