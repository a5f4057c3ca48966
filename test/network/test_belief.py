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
    FORK,
    leads_to,
    LEFT,
    PERIOD_S,
    RIGHT,
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


def test_a_place_that_is_given_is_where_the_vehicle_then_drives():
    belief, _ = both(0)
    chances = np.zeros(COUNT)
    chances[[3, 4]] = 0.5
    belief.place(chances)
    assert belief.chances.sum() + belief.elsewhere == pytest.approx(1.0)
    assert belief.elsewhere == pytest.approx(NetworkBelief.starts_elsewhere)
    assert belief.driving > 4.0 * belief.chances[:, STANDS].sum()
    belief.skip(2)
    assert belief.weights[3:FORK].sum() > 0.99


def drive(network: Network, places: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return observations and shakes of a vehicle that goes to the next of some places a tick."""
    turns = np.angle(np.exp(1j * np.diff(network.courses[places])))
    shaken = np.array([np.interp(1.5, network.speeds, column) for column in network.shakes.T])
    return [(turning_by(network, turn), shaken) for turn in turns]


def follow(belief: NetworkBelief, ticks: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Take ticks; return the evidence of each."""
    evidence = []
    for seen, shaken in ticks:
        belief.take(shaken)
        evidence.append(belief.update(seen))
        total = belief.chances.sum() + belief.elsewhere
        assert total == pytest.approx(1.0, abs=SUMS_TO_ONE)
    return evidence


def steady(network: Network) -> tuple[NetworkBelief, Network]:
    """Return a belief where all places are passed in a tick, and elsewhere turns are unlikely."""
    route = branching_route()
    motion = route.motion._replace(rates=np.ones(COUNT), ratio_spread=0.05)
    even = replace(network, usual_mps=np.full(COUNT, 1.5), chances=np.full(33, 0.05))
    return NetworkBelief(replace(route, motion=motion), even, PERIOD_S), even


TRUNK_AND_LEFT = [*range(3, LEFT + 5)]


@pytest.mark.parametrize(
    ('places', 'last'),
    [(TRUNK_AND_LEFT, LEFT + 4), ([*range(3, LEFT), *range(RIGHT, RIGHT + 5)], RIGHT + 4)],
)
def test_a_turn_at_a_fork_shows_the_road(places, last):
    belief, network = steady(branching_network())
    follow(belief, drive(network, places))
    assert belief.on_route > 0.95
    near = np.abs(np.arange(COUNT) - last) <= 1
    assert belief.weights[near].sum() > 0.9


def test_a_vehicle_that_turns_where_no_road_does_is_elsewhere_and_stays_there():
    belief, network = steady(branching_network())
    follow(belief, drive(network, TRUNK_AND_LEFT))
    # From the left branch, in the middle of its bend, straight on and to the right.
    shaken = drive(network, [3, 4])[0][1]
    away = [(turning_by(network, turn), shaken) for turn in [0.0, -0.3, -0.3, 0.0, 1.2, 1.2] * 2]
    evidence = follow(belief, away)
    assert min(evidence) > 0.0
    assert belief.elsewhere > 0.9


def test_a_vehicle_that_no_place_is_left_of_is_still_elsewhere_in_the_next_tick():
    belief, network = steady(branching_network())
    follow(belief, drive(network, TRUNK_AND_LEFT))
    # A turn of any road, but of none nearby: nothing but elsewhere is left at once.
    turn, shaken = turning_by(network, -1.5), drive(network, [3, 4])[0][1]
    assert min(follow(belief, [(turn, shaken)] * 4)) > 0.0
    assert belief.active == 0
    assert belief.elsewhere == pytest.approx(1.0)
    follow(belief, drive(network, [*range(LEFT - 3, LEFT + 10), *range(FORK + 1)]))
    assert belief.elsewhere == pytest.approx(1.0)


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


def test_the_same_ticks_give_the_same_bytes():
    one, other = both(2)[0], both(2)[0]
    ticks = [*zip(*random_input(branching_network(2), 2), strict=True)]
    for _ in range(2):
        assert follow(one, ticks) == follow(other, ticks)
        for name in ('chances', 'ratios', 'spreads', 'state'):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
        assert one.read()[0].tobytes() == other.read()[0].tobytes()
        other.start()
        one.start()


@pytest.mark.parametrize('angle', [0.7, 3.0, -40.0])
def test_a_map_that_is_turned_changes_nothing(angle):
    network = branching_network(3)
    turned = replace(network, courses=network.courses + angle)
    one, other = (NetworkBelief(branching_route(3), each, PERIOD_S) for each in (network, turned))
    ticks = [*zip(*random_input(network, 3), strict=True)]
    assert np.allclose(follow(one, ticks), follow(other, ticks), rtol=1e-9)
    assert np.allclose(one.chances, other.chances, rtol=1e-8, atol=1e-15)


def test_a_vehicle_that_drives_where_others_start_at_rest_is_elsewhere():
    belief, network = steady(branching_network())
    rests = np.zeros((2, COUNT))
    rests[1, 0] = 1.0
    route = branching_route()
    route = replace(route, switching=route.switching._replace(beginnings=rests))
    # At rest and at speed it shakes as differently as a cart, and no turn is rare.
    clear = replace(
        network,
        shakes=np.repeat([[-9.0], [-1.0], [1.0]], 2, axis=1),
        scales=np.full((3, 2), 0.1),
        chances=np.full(33, 0.9),
    )
    belief = NetworkBelief(route, clear, PERIOD_S)
    assert belief.chances[0, STANDS] == pytest.approx(1.0 - belief.starts_elsewhere)
    follow(belief, drive(clear, [*range(FORK)]))
    assert belief.elsewhere > 0.9
