# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief against a dense matrix of all hypotheses, and what holds of any belief."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from naive_route import DenseBelief
import numpy as np
import pytest
from small_route import leads_to, PLACES, small_route

from two_manifold_ros.route import belief as module
from two_manifold_ros.route import reading, steps
from two_manifold_ros.route.belief import OFF, OFF_NEW, ON, ON_NEW, RouteBelief, STANDING
from two_manifold_ros.route.motion import exchanges_for
from two_manifold_ros.route.route import ELSE, HYPOTHESES

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route

DROPPED = 2e-3
"""Probability that all dropped places may have had."""

KERNELS = {'predict': steps, 'fill_logs': steps, 'weigh': steps}
READINGS = {'mean_state': reading, 'sum_targets': reading}


def use(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    for name, home in (KERNELS | READINGS).items():
        monkeypatch.setattr(module, name, getattr(home, f'_{name}_{form}'))


@pytest.fixture(params=['loops', 'arrays'])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with the loops that are compiled, and with arrays, where there is no compiler."""
    use(monkeypatch, request.param)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with arrays that drop nothing and look at every pace."""
    use(monkeypatch, 'arrays')
    monkeypatch.setattr(steps, 'FAINT', 0.0)
    monkeypatch.setattr(steps, 'PACED', 0.0)
    monkeypatch.setattr(reading, 'LEAST_SHARE', 0.0)


def observations(ticks: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ticks, 2))


def both(route: Route) -> tuple[RouteBelief, DenseBelief]:
    return RouteBelief(route), DenseBelief(route, leads_to())


def assert_same(belief: RouteBelief, dense: DenseBelief, atol: float) -> None:
    cells, others = dense.tables()
    np.testing.assert_allclose(belief.cells, cells, rtol=0.0, atol=atol)
    np.testing.assert_allclose(belief.others, others, rtol=0.0, atol=atol)
    on = cells[:, [ON, ON_NEW]].sum(axis=(1, 2)) + others[:, 0].sum(axis=1)
    assert belief.on_route == pytest.approx(on.sum(), abs=atol * PLACES)
    assert belief.driving == pytest.approx(cells[:, :2].sum(), abs=atol * PLACES)
    np.testing.assert_allclose(belief.weights, on / on.sum(), rtol=0.0, atol=10.0 * atol)


def assert_consistent(belief: RouteBelief) -> None:
    """What is told is the sums of the arrays, and they are probabilities."""
    cells, others = belief.cells, belief.others
    for values in (cells, others):
        assert values.min() >= 0.0
        assert values.max() <= 1.0 + 1e-12
    total = cells.sum() + others.sum()
    assert 1.0 - DROPPED < total < 1.0 + 1e-9
    on = cells[:, [ON, ON_NEW]].sum()
    assert belief.on_route == pytest.approx(on + others[:, 0].sum(), abs=1e-9)
    assert belief.driving == pytest.approx(on, abs=1e-9)
    assert belief.standing == pytest.approx(others[:, :, STANDING].sum(), abs=1e-9)
    assert belief.unlike == pytest.approx(others[:, :, 1:].sum(), abs=1e-9)
    assert belief.weights.min() >= 0.0
    assert belief.weights.sum() == pytest.approx(1.0)
    assert belief.state[0] == 1.0
    assert np.isfinite(belief.state).all()
    assert_readable(belief)


def assert_readable(belief: RouteBelief) -> None:
    means, covariances = belief.read()
    assert np.isfinite(means).all()
    assert np.isfinite(covariances).all()
    np.testing.assert_array_equal(covariances, covariances.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(covariances) > 0.0).all()


@pytest.mark.usefixtures('exact')
@pytest.mark.parametrize('seed', range(3))
def test_the_probabilities_of_a_dense_matrix(seed: int) -> None:
    """From the start on and over a gap."""
    belief, dense = both(small_route(seed=seed))
    np.testing.assert_allclose(dense.transition.sum(axis=1), 1.0, atol=1e-12)
    assert dense.transition.min() >= 0.0
    assert_same(belief, dense, 1e-12)
    for tick, observation in enumerate(observations(60, seed)):
        if tick == 30:
            belief.skip(3)
            dense.skip(3)
            assert_same(belief, dense, 1e-9)
        belief.update(observation)
        logarithm = dense.update(observation)
        assert_same(belief, dense, 1e-9)
        assert belief.log_evidence == pytest.approx(logarithm, abs=1e-9)


@pytest.mark.usefixtures('exact')
def test_evidence_is_relative_to_the_likeliest_of_all() -> None:
    belief, dense = both(small_route(spread=2.0))
    for observation in 2.0 * observations(20):
        evidence = belief.update(observation)
        logarithm = dense.update(observation)
        assert np.log(evidence) == pytest.approx(logarithm - dense.logs().max(), abs=1e-9)


@pytest.mark.usefixtures('exact')
def test_readings_against_sums_over_all_hypotheses() -> None:
    route = small_route()
    belief, dense = both(route)
    for observation in observations(20):
        belief.update(observation)
        dense.update(observation)
    cells, others = dense.tables()
    on = np.concatenate([cells[:, ON] + cells[:, ON_NEW], others[:, 0]], axis=1)
    weights = on / on.sum()
    # Who stands or does anything unseen has the usual pace: it is not known to differ.
    paces = np.concatenate([route.log_paces, np.zeros(len(ELSE))])
    means, covariances = belief.read()
    for column in range(3):
        ahead = route.targets[:, column, None] + paces[:, None] * route.drifts[:, column, None]
        mean = np.einsum('ir,irk->k', weights, ahead)
        spread = np.einsum('ir,irk,irl->kl', weights, ahead - mean, ahead - mean)
        spread += np.einsum('ir,ikl->kl', weights, route.covariances[:, column])
        np.testing.assert_allclose(means[column], mean, atol=1e-9)
        np.testing.assert_allclose(covariances[column], route.factors[column] * spread, atol=1e-9)
    np.testing.assert_allclose(belief.state, weights.sum(axis=1) @ route.states, atol=1e-9)


@pytest.mark.usefixtures('kernels')
def test_what_is_dropped_is_not_missed() -> None:
    """A vehicle goes round, clearly seen, until most places are out of the question."""
    exchanges, jumps = exchanges_for(0.1, 5.0)
    route = replace(
        small_route(spread=12.0, sharpness=1.0),
        whitening=np.eye(6),
        new_whitening=np.eye(2),
        persistence=1e-3,
        exchanges=exchanges,
        jumps=jumps,
    )
    route = replace(route, new_means=route.means[:, -2:], new_slopes=route.slopes[:, -2:])
    belief, dense = both(route)
    least, place = PLACES, 0
    for noise in observations(60):
        place = (place + 1) % PLACES
        observation = route.means[place, -2:] + 0.1 * noise
        belief.update(observation)
        dense.update(observation)
        least = min(least, np.count_nonzero(belief.cells.any(axis=(1, 2))))
        assert_same(belief, dense, DROPPED)
        assert_consistent(belief)
    assert least < PLACES


@pytest.mark.usefixtures('kernels')
@pytest.mark.parametrize(('spread', 'sharpness'), [(0.1, 0.1), (2.0, 0.3), (10.0, 1.0)])
def test_sums_are_one_and_evidence_is_a_share(spread: float, sharpness: float) -> None:
    belief = RouteBelief(small_route(spread=spread, sharpness=sharpness))
    assert_consistent(belief)
    for tick, observation in enumerate(3.0 * observations(80)):
        assert 0.0 < belief.update(observation) <= 1.0
        assert_consistent(belief)
        if tick % 20 == 10:
            belief.skip(tick)
            assert_consistent(belief)


@pytest.mark.usefixtures('kernels')
def test_an_observation_far_from_everything_is_survived() -> None:
    belief = RouteBelief(small_route())
    for size in (1e3, 1e8, 1e30):
        assert 0.0 < belief.update(np.full(2, size)) <= 1.0
        assert_consistent(belief)


@pytest.mark.usefixtures('kernels')
def test_what_fits_nothing_at_all_starts_anew() -> None:
    """As if nothing had been before it."""
    belief, fresh = RouteBelief(small_route()), RouteBelief(small_route())
    for observation in observations(10):
        belief.update(observation)
    assert belief.update(np.full(2, np.nan)) == 0.0
    np.testing.assert_array_equal(belief.cells, fresh.cells)
    np.testing.assert_array_equal(belief.others, fresh.others)
    for observation in observations(10, seed=3):
        assert belief.update(observation) == fresh.update(observation) > 0.0
        np.testing.assert_array_equal(belief.cells, fresh.cells)


def test_drives_start_where_drives_began() -> None:
    """Rolling or standing; off the route nothing is known of it."""
    route = small_route()
    belief = RouteBelief(route)
    assert belief.weights.argmax() == route.beginnings.argmax()
    never = np.flatnonzero(route.beginnings == 0.0)
    standing = belief.others[:, 0, STANDING]
    rolling = belief.cells[:, ON_NEW].sum(axis=1)
    assert standing[never].sum() / standing.sum() == pytest.approx(0.1 * len(never) / PLACES)
    assert rolling[never].sum() / rolling.sum() == pytest.approx(0.5 * len(never) / PLACES)
    for begun in (standing, rolling):
        excess = begun - begun[never[0]]
        np.testing.assert_allclose(excess / excess.sum(), route.beginnings, atol=1e-12)
    assert np.ptp(belief.cells[:, OFF_NEW].sum(axis=1)) == pytest.approx(0.0, abs=1e-12)
    # Nobody has slow means of a road behind yet.
    assert not belief.cells[:, [ON, OFF]].any()
    assert belief.on_route == pytest.approx(0.5)
    assert_consistent(belief)


@pytest.mark.usefixtures('kernels')
def test_a_gap_makes_who_is_settled_new() -> None:
    """In so many ticks as means take to settle; for a second or two hardly anything is lost."""
    count = len(HYPOTHESES)
    exchanges, jumps = np.eye(count), np.zeros((count, 4))
    for settled, new in ((ON, ON_NEW), (OFF, OFF_NEW)):
        exchanges[new, [new, settled]] = 0.95, 0.05
    route = replace(small_route(), exchanges=exchanges, jumps=jumps)
    shares = []
    for ticks in (0, 1, 10, 200):
        belief = RouteBelief(route)
        for observation in observations(60):
            belief.update(observation)
        before = belief.cells.sum(axis=(0, 2))
        belief.skip(ticks)
        after = belief.cells.sum(axis=(0, 2))
        for settled, new in ((ON, ON_NEW), (OFF, OFF_NEW)):
            moved = (1.0 - 0.05) ** ticks
            both_before = before[settled] + before[new]
            assert after[settled] + after[new] == pytest.approx(both_before, abs=1e-6)
            # Who was new goes on settling in the meantime.
            wanted = (both_before - before[new] * moved) * moved
            assert after[settled] == pytest.approx(wanted, abs=1e-6)
        shares.append(after[[ON_NEW, OFF_NEW]].sum() / after.sum())
        assert_consistent(belief)
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert shares[-1] > 0.99


@pytest.mark.usefixtures('kernels')
@pytest.mark.parametrize('mode', [OFF, OFF_NEW, None])
def test_readings_when_all_is_off_the_route(mode: int | None) -> None:
    belief = RouteBelief(small_route())
    belief.cells[:] = 0.0
    belief.others[:] = 0.0
    if mode is None:
        belief.others[:, 1, -1] = 1.0 / PLACES
    else:
        belief.cells[:, mode] = small_route().pace_prior / PLACES
    assert_readable(belief)
    np.testing.assert_allclose(belief.weights, 1.0 / PLACES)
    # Nothing but where the route is: all of it.
    means, covariances = belief.read()
    targets = small_route().targets
    np.testing.assert_allclose(means, targets.mean(axis=0), atol=1e-9)
    spread = np.cov(targets[:, 0].T, bias=True) + small_route().covariances[:, 0].mean(axis=0)
    np.testing.assert_allclose(covariances[0], spread, atol=1e-9)
    belief.update(np.zeros(2))
    assert_consistent(belief)


def test_readings_at_one_place_without_any_spread() -> None:
    route = replace(small_route(), covariances=np.zeros((PLACES, 3, 2, 2)))
    belief = RouteBelief(route)
    belief.cells[:] = 0.0
    belief.others[:] = 0.0
    belief.others[4, 0, STANDING] = 1.0
    np.testing.assert_allclose(belief.read()[0], route.targets[4], atol=1e-12)
    assert_readable(belief)


def test_the_same_bits_twice() -> None:
    first, second = RouteBelief(small_route()), RouteBelief(small_route())
    for observation in observations(30, seed=2):
        second.update(observation)
    second.start()
    for observation in observations(30):
        assert first.update(observation) == second.update(observation)
    np.testing.assert_array_equal(first.cells, second.cells)
    np.testing.assert_array_equal(first.others, second.others)
    for one, other in zip(first.read(), second.read(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_readings_are_copies() -> None:
    belief = RouteBelief(small_route())
    means, covariances = belief.read()
    before = means.copy(), covariances.copy()
    for observation in observations(10):
        belief.update(observation)
    belief.read()
    np.testing.assert_array_equal(means, before[0])
    np.testing.assert_array_equal(covariances, before[1])
