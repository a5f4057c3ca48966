# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief: Bayes' rule over (tick, pace), whatever is observed."""

from dataclasses import replace

from circle_route import felt_at, make_route
from hypothesis import example, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.localisation import belief as module
from two_manifold_ros.localisation.belief import JUMP, PACE_WEIGHT, RouteBelief, SMALLEST_SUPPORT
from two_manifold_ros.localisation.features import FeatureStream
from two_manifold_ros.localisation.route import Route

ROUTE = make_route([40, 44, 38], segments=2, each_way=1, signs=True)
STEPS = len(ROUTE.since_begin)
DRIVE = felt_at(0.3 + np.arange(120) / 41.0, seed=9)
FAR = np.array([1e4, -1e4, 1e4])
OBSERVATIONS = st.lists(
    st.lists(st.floats(-1e100, 1e100), min_size=3, max_size=3), min_size=1, max_size=8
)


class NaiveBelief:
    """The same filter as one big table of chances to go from (pace, tick) to (pace, tick)."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.stream = FeatureStream(3, route.gains)
        rows, ticks = len(route.paces.factors), len(route.since_begin)
        moves = np.zeros((rows, ticks, rows, ticks))
        for pace in range(rows):
            for tick in range(ticks):
                for step, chance in enumerate(route.paces.moves[pace]):
                    if tick + step < ticks and route.since_begin[tick + step] >= step:
                        changed = chance * route.paces.changes[pace]
                        moves[pace, tick, :, tick + step] += changed
        hops = np.zeros((rows, ticks, rows, ticks))
        for pace in range(rows):
            for tick in range(ticks):
                there = route.passes[tick][route.passes[tick] >= 0]
                hops[pace, tick, pace, tick] = 1.0 - route.hop if len(there) else 1.0
                for other, shift in zip(there, route.shifts[tick], strict=False):
                    after = min(max(pace + shift, 0), rows - 1)
                    hops[pace, tick, after, other] += route.hop / len(there)
        shape = (rows * ticks, rows * ticks)
        self.transition = moves.reshape(shape) @ hops.reshape(shape)
        self.anywhere = np.repeat(route.paces.prior, ticks) / ticks
        self.belief = self.anywhere
        self.pace = 1.0

    def update(self, observation: np.ndarray) -> float:
        live = self.stream.push(observation)
        settled = self.stream.settled == len(live)
        predicted = self.predict(self.likelihoods_of_paces(live) if settled else 1.0)
        likelihoods = self.likelihoods(live)
        joint = predicted * np.tile(likelihoods, len(self.route.paces.factors))
        self.belief = joint / joint.sum()
        self.average_pace()
        return joint.sum() / likelihoods.max()

    def likelihoods(self, live: np.ndarray) -> np.ndarray:
        # The metric between those features alone that have settled.
        settled = min(self.stream.settled, len(self.route.features))
        whitening = self.route.whitening
        covariance = np.linalg.inv(whitening @ whitening.T)[:settled, :settled]
        training = (self.route.features.T @ np.linalg.inv(whitening))[:, :settled]
        differences = training - live[:settled]
        squared = [row @ np.linalg.solve(covariance, row) for row in differences]
        return np.exp(-np.array(squared) / (2.0 * self.route.bandwidth**2))

    def likelihoods_of_paces(self, live: np.ndarray) -> np.ndarray:
        signs, logarithms = self.route.signs, np.log(self.route.paces.factors)
        expected = live @ signs.slopes + signs.offsets
        expected = np.clip(expected, logarithms[0], logarithms[-1])
        squared = (logarithms[:, None] - expected) ** 2
        return np.exp(-0.5 * PACE_WEIGHT * squared / signs.spread**2).ravel()

    def predict(self, likelihoods_of_paces: np.ndarray | float = 1.0) -> np.ndarray:
        moved = self.belief @ self.transition * likelihoods_of_paces
        self.belief = (1.0 - JUMP) * moved / moved.sum() + JUMP * self.anywhere
        return self.belief

    def average_pace(self) -> None:
        now = self.route.paces.factors @ self.table.sum(axis=1)
        self.pace += self.route.gains.min() * (now - self.pace)

    @property
    def table(self) -> np.ndarray:
        return self.belief.reshape(len(self.route.paces.factors), -1)


def assert_same(belief: RouteBelief, naive: NaiveBelief) -> None:
    weights = naive.table.sum(axis=0)
    # Chances that are too faint to hop, and weights too slight for the state, are left out.
    np.testing.assert_allclose(belief.weights, weights, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(belief.state, weights @ ROUTE.states, atol=1e-4)
    assert belief.pace == pytest.approx(naive.pace, rel=1e-5)


def followed(belief: RouteBelief, observations: np.ndarray) -> list[np.ndarray]:
    rows = []
    for observation in observations:
        evidence = belief.update(observation)
        rows.append(np.concatenate([belief.weights, belief.state, [belief.pace, evidence]]))
    return rows


def assert_is_a_belief(belief: RouteBelief) -> None:
    assert belief.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert belief.weights.min() >= 0.0
    assert np.isfinite(belief.state).all()
    assert belief.state[0] == pytest.approx(1.0, abs=1e-12)
    assert np.abs(belief.state).max() <= 1.0 + 1e-9
    assert ROUTE.paces.factors[0] - 1e-9 <= belief.pace <= ROUTE.paces.factors[-1] + 1e-9


def test_against_one_big_table() -> None:
    belief, naive = RouteBelief(ROUTE), NaiveBelief(ROUTE)
    assert_same(belief, naive)
    assert ROUTE.signs is not None
    for step, observation in enumerate(DRIVE):
        if step == 20:
            belief.skip(3)
            naive.stream.start()
            for _ in range(3):
                naive.predict()
                naive.average_pace()
            assert_same(belief, naive)
        expected = naive.update(observation)
        assert belief.update(observation) == pytest.approx(expected, rel=1e-4)
        assert_same(belief, naive)


def test_it_begins_anywhere() -> None:
    belief = RouteBelief(ROUTE)
    np.testing.assert_allclose(belief.weights, 1.0 / STEPS)
    np.testing.assert_allclose(belief.state, ROUTE.states.mean(axis=0), atol=1e-12)
    assert belief.pace == 1.0
    assert belief.accepted


@given(OBSERVATIONS, st.booleans())
@example([[0.0, 0.0, 0.0]] * 8, False)
@example([[1e100, -1e100, 1e100], [-1e100, 1e100, -1e100]] * 4, True)
@settings(max_examples=60)
def test_whatever_is_observed(observations: list[list[float]], known: bool) -> None:
    belief = RouteBelief(ROUTE)
    if known:
        followed(belief, DRIVE[:20])
    for observation in observations:
        evidence = belief.update(np.array(observation))
        assert (0.0 < evidence <= 1.0) if belief.accepted else evidence == 0.0
        assert_is_a_belief(belief)


@pytest.mark.filterwarnings('ignore:(overflow|invalid value) encountered')
@pytest.mark.parametrize('start_again', [False, True])
def test_the_largest_numbers(start_again: bool) -> None:
    belief, largest = RouteBelief(ROUTE), np.finfo(np.float64).max
    for observation in (largest, -largest, largest):
        assert belief.update(np.full(3, observation)) == 0.0
        assert not belief.accepted
        assert_is_a_belief(belief)
    # The slow means forget an outlier like everything else, if slowly; a start is quicker.
    if start_again:
        belief.start()
    for observation in np.tile(DRIVE[:1], (1 if start_again else 10_000, 1)):
        belief.update(observation)
    assert belief.accepted


def test_a_constant_observation_for_long() -> None:
    belief = RouteBelief(ROUTE)
    for _ in range(2000):
        belief.update(DRIVE[0])
    assert_is_a_belief(belief)


def test_likelihoods_that_are_all_the_same() -> None:
    belief = RouteBelief(replace(ROUTE, sharpness=1e-30))
    for observation in DRIVE:
        assert belief.update(observation) <= 1.0
        assert belief.update(observation) == pytest.approx(1.0)


def test_what_resembles_nothing_is_passed_over() -> None:
    belief, other = RouteBelief(ROUTE), RouteBelief(ROUTE)
    followed(belief, DRIVE[:20])
    followed(other, DRIVE[:20])
    assert belief.update(FAR) == 0.0
    assert not belief.accepted
    other.skip(1)
    np.testing.assert_array_equal(belief.weights, other.weights)
    assert belief.pace == other.pace
    belief.start()
    assert belief.accepted


@pytest.mark.parametrize(('factor', 'accepted'), [(0.9, True), (1.1, False)])
def test_where_resemblance_ends(factor: float, accepted: bool) -> None:
    # A single tick in training: the exponent is the squared distance by the bandwidth.
    route = make_route([40, 40])
    one = replace(
        route,
        features=np.zeros((9, 1)),
        whitening=np.eye(9),
        since_begin=np.zeros(1, dtype=np.int64),
        passes=np.full((1, 5), -1),
        shifts=np.zeros((1, 5), dtype=np.int64),
        states=np.ones((1, 3)),
    )
    squared = -factor * np.log(SMALLEST_SUPPORT) * 2.0 * one.bandwidth**2
    belief = RouteBelief(one)
    # Only the observation is compared: the slow means have not settled.
    belief.update(np.full(3, np.sqrt(squared / 3.0)))
    assert belief.accepted == accepted


def test_skipping_is_so_many_advances() -> None:
    several, one_by_one, never = RouteBelief(ROUTE), RouteBelief(ROUTE), RouteBelief(ROUTE)
    for belief in (several, one_by_one, never):
        followed(belief, DRIVE[:20])
    several.skip(7)
    for _ in range(7):
        one_by_one.skip(1)
    never.skip(0)
    np.testing.assert_array_equal(several.weights, one_by_one.weights)
    np.testing.assert_array_equal(several.state, one_by_one.state)
    assert several.pace == one_by_one.pace
    assert np.abs(several.weights - never.weights).max() > 0.01


def test_after_a_skip_the_slow_means_begin_anew() -> None:
    calm, shaken = RouteBelief(ROUTE), RouteBelief(ROUTE)
    shaken.update(FAR)
    calm.skip(1)
    shaken.skip(1)
    calm.skip(1)
    for a, b in zip(followed(calm, DRIVE), followed(shaken, DRIVE), strict=True):
        np.testing.assert_array_equal(a, b)


def test_start_forgets() -> None:
    used, fresh = RouteBelief(ROUTE), RouteBelief(ROUTE)
    followed(used, DRIVE[::-1])
    used.update(FAR)
    used.start()
    np.testing.assert_array_equal(used.weights, fresh.weights)
    for a, b in zip(followed(used, DRIVE), followed(fresh, DRIVE), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_same_inputs_give_the_same_bits() -> None:
    first, second = followed(RouteBelief(ROUTE), DRIVE), followed(RouteBelief(ROUTE), DRIVE)
    np.testing.assert_array_equal(first, second)


def test_the_observation_is_left_alone() -> None:
    observation = DRIVE[0].copy()
    features = ROUTE.features.copy()
    RouteBelief(ROUTE).update(observation)
    np.testing.assert_array_equal(observation, DRIVE[0])
    np.testing.assert_array_equal(ROUTE.features, features)


def test_no_chance_crosses_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'JUMP', 0.0)
    alone = replace(ROUTE, passes=np.full_like(ROUTE.passes, -1))
    belief = RouteBelief(alone)
    belief._belief[:] = 0.0
    belief._belief[:, STEPS // 2 - 43] = 1.0
    for _ in range(21):
        belief.skip(1)
        assert belief.weights[STEPS // 2 :].max() == 0.0
    assert belief.weights[STEPS // 2 - 1] > 0.0
