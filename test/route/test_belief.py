# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief against one that goes from cell to cell, and offsets against sums written out."""

from circuit import Circuit
from naive_route import NaiveBelief
import numpy as np
import pytest
from small_route import changed, interpret, leads_to, observations, PLACES, small_route

from two_manifold_ros.route.belief import RouteBelief, SensorOffsets
from two_manifold_ros.route.route import FREE, LIMITS, OFF, OFF_NEW, ON, ON_NEW, ROWS, SLOW, STANDS


def assert_same(belief: RouteBelief, naive: NaiveBelief, atol: float) -> None:
    chances = naive.assert_same(belief, atol)
    assert belief.elsewhere == pytest.approx(naive.elsewhere, abs=atol * PLACES)
    on = chances[:, :OFF].sum(axis=1)
    assert belief.shares.on_route == pytest.approx(on.sum(), abs=atol * PLACES)
    np.testing.assert_allclose(belief.weights, on / on.sum(), rtol=0.0, atol=10.0 * atol)


def assert_readable(belief: RouteBelief) -> None:
    means, covariances = belief.read()
    assert np.isfinite(means).all()
    np.testing.assert_array_equal(covariances, covariances.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(covariances) > 0.0).all()


def assert_consistent(belief: RouteBelief) -> None:
    """The estimate is the sums of the arrays, and they are probabilities."""
    chances = belief.chances
    assert chances.min() >= 0.0
    assert 1.0 - 2e-3 < chances.sum() + belief.elsewhere < 1.0 + 1e-9
    unlike = chances[:, FREE].sum() + belief.elsewhere
    wanted = chances[:, :OFF].sum(), chances[:, [ON, ON_NEW]].sum(), unlike
    assert belief.shares == pytest.approx(wanted, abs=1e-9)
    known = chances > 0.0
    assert min(belief.ratios[known].min(), belief.spreads[known].min()) >= 0.0
    assert belief.weights.min() >= 0.0
    assert belief.weights.sum() == pytest.approx(1.0)
    assert belief.state[0] == 1.0
    assert np.isfinite(belief.state).all()
    assert_readable(belief)


@pytest.mark.usefixtures('exact')
@pytest.mark.parametrize('seed', range(3))
def test_the_probabilities_of_all_cells(seed):
    """From the start on and over a gap."""
    route = small_route(seed=seed)
    belief, naive = RouteBelief(route), NaiveBelief(route, leads_to())
    assert_same(belief, naive, 1e-12)
    for tick, observation in enumerate(observations(60, seed)):
        if tick == 30:
            belief.skip(3)
            naive.skip(3)
            assert_same(belief, naive, 1e-9)
        evidence = belief.update(observation)
        logarithm = naive.update(observation)
        assert_same(belief, naive, 1e-9)
        assert np.log(evidence) == pytest.approx(logarithm - naive.largest, abs=1e-9)


@pytest.mark.usefixtures('exact')
def test_readings_against_sums_over_all_cells():
    """Positions ahead are those of a usual speed; a velocity is as large as the speed ratio is."""
    route = small_route()
    belief, naive, readout = RouteBelief(route), NaiveBelief(route, leads_to()), route.readout
    for observation in observations(20):
        belief.update(observation)
        naive.update(observation)
    chances, ratios, spreads = naive.table()[:, :, :OFF]
    weights = chances / chances.sum()
    total = weights.sum(axis=1)

    def mean_at(values: np.ndarray) -> np.ndarray:
        return (weights * values).sum(axis=1) / total

    bound = 3.0 * route.motion.ratio_spread
    apart = np.clip(ratios - 1.0, -bound, bound)
    apart[:, SLOW] = np.minimum(ratios[:, SLOW] - 1.0, bound)
    spreads = np.minimum(spreads, bound**2)
    apart[:, STANDS] = spreads[:, STANDS] = 0.0
    shares = np.ones_like(ratios)
    shares[:, [SLOW, FREE]], shares[:, STANDS] = ratios[:, [SLOW, FREE]], 0.0
    # A place has one speed ratio: the mean of its rows.
    ratio, speed = mean_at(apart), mean_at(shares)
    variance = mean_at(apart**2 + spreads) - ratio**2
    means, covariances = belief.read()
    for column in range(3):
        drifts = readout.drifts[:, column]
        ahead = readout.targets[:, column] + ratio[:, None] * drifts
        spread = readout.covariances[:, column]
        spread = spread + np.einsum('i,ik,il->ikl', variance, drifts, drifts)
        if column == 2:
            within = mean_at(shares**2) - speed**2
            spread = spread + np.einsum('i,ik,il->ikl', within, ahead, ahead)
            ahead = speed[:, None] * ahead
        mean = total @ ahead
        whole = np.einsum('i,ik,il->kl', total, ahead - mean, ahead - mean)
        whole += np.einsum('i,ikl->kl', total, spread)
        np.testing.assert_allclose(means[column], mean, atol=1e-9)
        np.testing.assert_allclose(covariances[column], readout.factors[column] * whole, atol=1e-9)
    np.testing.assert_allclose(belief.state, total @ readout.states, atol=1e-9)


@pytest.mark.parametrize(('spread', 'sharpness'), [(0.1, 0.1), (2.0, 0.3), (10.0, 1.0)])
def test_sums_are_one_and_evidence_is_a_share(spread, sharpness):
    """Also after observations far from everything."""
    belief = RouteBelief(small_route(spread=spread, sharpness=sharpness))
    assert_consistent(belief)
    for tick, observation in enumerate(3.0 * observations(80)):
        assert 0.0 < belief.update(observation) <= 1.0
        assert_consistent(belief)
        if tick % 20 == 10:
            belief.skip(tick)
            assert_consistent(belief)
    for size in (1e3, 1e8, 1e30):
        assert 0.0 < belief.update(np.full(2, size)) <= 1.0
        assert_consistent(belief)


@pytest.mark.parametrize('restart', ['what fits nothing at all', 'start'])
def test_it_starts_again_as_if_nothing_had_been_before(restart):
    """And says the same bits."""
    belief, fresh = RouteBelief(small_route()), RouteBelief(small_route())
    for observation in observations(30, seed=2):
        belief.update(observation)
    if restart == 'start':
        belief.start()
    else:
        assert belief.update(np.full(2, np.nan)) == 0.0
    np.testing.assert_array_equal(belief.chances, fresh.chances)
    assert belief.elsewhere == fresh.elsewhere
    for observation in observations(30):
        assert belief.update(observation) == fresh.update(observation) > 0.0
        np.testing.assert_array_equal(belief.chances, fresh.chances)
        np.testing.assert_array_equal(belief.ratios, fresh.ratios)
    for one, other in zip(belief.read(), fresh.read(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('mode', [OFF, OFF_NEW, None])
def test_readings_when_all_is_off_the_route(mode):
    """Nothing but where the route is: all of it."""
    belief, readout = RouteBelief(small_route()), small_route().readout
    belief.chances[:] = 0.0
    belief.elsewhere = float(mode is None)
    if mode is not None:
        belief.chances[:, mode] = 1.0 / PLACES
    assert_readable(belief)
    np.testing.assert_allclose(belief.weights, 1.0 / PLACES)
    means, covariances = belief.read()
    np.testing.assert_allclose(means, readout.targets.mean(axis=0), atol=1e-9)
    spread = np.cov(readout.targets[:, 0].T, bias=True) + readout.covariances[:, 0].mean(axis=0)
    np.testing.assert_allclose(covariances[0], spread, atol=1e-9)
    belief.update(np.zeros(2))
    assert_consistent(belief)


def test_readings_of_who_stands_at_a_place_without_any_spread():
    route = changed(small_route(), covariances=np.zeros((PLACES, 3, 2, 2)))
    belief = RouteBelief(route)
    belief.chances[:] = 0.0
    belief.chances[4, STANDS] = 1.0
    means, _ = belief.read()
    # No velocity.
    wanted = [*route.readout.targets[4, :-1], [0.0, 0.0]]
    np.testing.assert_allclose(means, wanted, atol=1e-12)
    assert_readable(belief)


def test_compiled_code_says_what_its_source_says(route, monkeypatch):
    """Tick by tick over a stop, a gap, a move and another road, with all that is dropped."""
    circuit = Circuit()
    # As if drives had stopped on a tenth of the way.
    stops = np.zeros((2, route.places))
    stops[:, 200:230] = [[0.1], [0.05]]
    route = changed(route, stops=stops)
    halt = circuit.halting(before=30, standing=10, after=10, seed=1).observations
    moved = circuit.drive(np.full(20, 0.1), seed=2, begin=0.6).observations

    def follow() -> list[np.ndarray]:
        belief, rows = RouteBelief(route), []
        for tick, observation in enumerate([*halt, *moved, *-halt[:20]]):
            if tick == 55:
                belief.skip(12)
            evidence = belief.update(observation)
            arrays = belief.shares, belief.chances, belief.state, *belief.read()
            rows.append(np.concatenate([[evidence], *(np.ravel(each) for each in arrays)]))
        return rows

    compiled = follow()
    interpret(monkeypatch)
    np.testing.assert_allclose(compiled, follow(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize('shifts', [(0.0, 0.0), (0.05, 0.0), (0.05, 0.1)])
def test_offsets_are_the_forgetting_mean_of_what_is_not_usual(shifts):
    """Beyond the usual shifts it is taken off; a blow counts no more than is usual."""
    here, rng = changed(small_route(), shifts=np.array(shifts)), np.random.default_rng(2)
    followed, mean, seen = SensorOffsets(here), np.zeros(2), 0
    usual, gained = here.likelihood.usual()
    gain = 1.0 / sum(1.0 / rate for rate in here.motion.rates)
    bound = 3.0 * here.motion.ratio_spread
    for tick in range(200):
        observation = 2.0 + rng.normal(size=2) * (1e6 if tick == 100 else 1.0)
        chances = rng.random((PLACES, ROWS)) * (rng.random((PLACES, 1)) > 0.3)
        chances[:, [ON, STANDS, OFF][tick // 67]] *= 20.0
        chances /= chances.sum()
        ratios = 1.0 + 0.5 * rng.normal(size=(PLACES, ROWS))
        active = np.flatnonzero(chances.sum(axis=1)).astype(np.uint32)
        followed.follow(observation, chances, ratios, active)
        weight = chances[:, ON].sum()
        within = np.clip(ratios[:, ON] - 1.0, -bound, bound)
        expected = chances[:, ON] @ (usual + within[:, None] * gained)
        apart = np.clip(observation - expected / weight, -LIMITS.farthest_off, LIMITS.farthest_off)
        # Who stands keeps what is known; off the route it is forgotten.
        away = 1.0 - weight - chances[:, STANDS].sum()
        mean += gain * (weight * (apart - mean) - away * mean)
        wanted = [
            value * (1.0 - (shift / value) ** 2) if abs(value) > shift > 0.0 else 0.0
            for value, shift in zip(mean, shifts, strict=True)
        ]
        np.testing.assert_allclose(followed.applied, wanted, atol=1e-12)
        seen += int(np.any(wanted))
    assert 50 * any(shifts) <= seen < 200
    followed.start()
    assert not followed.applied.any()
    followed.follow(observation, chances, ratios, active)
    assert np.abs(followed.applied).max() <= gain
