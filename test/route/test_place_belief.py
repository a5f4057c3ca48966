# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief against a dense matrix, and that it keeps, loses and finds the place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from circuit import Circuit, Drive, LAP_TICKS, PERIOD_S
from naive_route import DenseBelief
import numpy as np
import pytest
from small_route import leads_to, PLACES, small_route

from two_manifold_ros.route import belief as module
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.route import Rates

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route

KERNELS = ('move', 'exchange', 'fill_logs', 'weigh')


@pytest.fixture(params=['loops', 'arrays'])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with the loops that are compiled, and with arrays, where there is no compiler."""
    for name in KERNELS:
        monkeypatch.setattr(module, name, getattr(module, f'_{name}_{request.param}'))


def observations(ticks: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ticks, 2))


def assert_same(belief: RouteBelief, dense: DenseBelief, atol: float) -> None:
    cells = dense.chances.reshape(2, dense.rows, dense.places)
    on = cells[0].sum(axis=0)
    assert belief.on_route == pytest.approx(on.sum(), abs=atol)
    assert belief.standing == pytest.approx(cells[:, -2].sum(), abs=atol)
    assert belief.unlike == pytest.approx(cells[:, -1].sum(), abs=atol)
    assert belief.driving == pytest.approx(cells[0, :-2].sum(), abs=atol)
    np.testing.assert_allclose(belief.weights, on / on.sum(), rtol=0.0, atol=atol)


@pytest.mark.usefixtures('kernels')
def test_the_probabilities_of_a_dense_matrix() -> None:
    """Over starting, settling and a gap; no place becomes so unlikely that it is dropped."""
    route = small_route()
    belief, dense = RouteBelief(route), DenseBelief(route, leads_to())
    np.testing.assert_allclose(dense.transition.sum(axis=1), 1.0, atol=1e-12)
    assert_same(belief, dense, 1e-12)
    for tick, observation in enumerate(observations(60)):
        if tick == 30:
            belief.skip(3)
            dense.skip(3)
            assert_same(belief, dense, 1e-10)
        belief.update(observation)
        logarithm = dense.update(observation)
        assert dense.chances.reshape(-1, PLACES).sum(axis=0).min() > module.ACTIVE
        assert_same(belief, dense, 1e-9)
        assert belief.log_evidence == pytest.approx(logarithm, abs=1e-9)


@pytest.mark.usefixtures('kernels')
def test_what_is_dropped_is_not_missed() -> None:
    """A vehicle goes round, clearly seen, until most places are out of the question."""
    route = replace(
        small_route(spread=15.0, sharpness=1.0),
        whitening=np.eye(6),
        persistence=1e-3,
        rates=Rates(1e-6, 1e-3, 1e-2, 1e-6, 0.2, 1e-8, 0.3, 0.1, 0.01),
    )
    belief, dense = RouteBelief(route), DenseBelief(route, leads_to())
    least, place = 1.0, 0
    for noise in observations(60):
        place = (place + 1) % PLACES
        observation = route.means[place, -2:] + 0.1 * noise
        belief.update(observation)
        dense.update(observation)
        least = min(least, dense.chances.reshape(-1, PLACES).sum(axis=0).min())
        assert_same(belief, dense, 1e-4)
    assert least < module.FAINT


def test_readings_against_sums_over_all_hypotheses() -> None:
    route = small_route()
    belief, dense = RouteBelief(route), DenseBelief(route, leads_to())
    for observation in observations(20):
        belief.update(observation)
        dense.update(observation)
    on = dense.chances.reshape(2, dense.rows, PLACES)[0]
    paces = np.concatenate([route.log_paces, [0.0, 0.0]])
    means, covariances = belief.read()
    weights = on / on.sum()
    for column in range(3):
        values = route.targets[:, column] + paces[:, None, None] * route.drifts[:, column]
        mean = np.einsum('ri,rik->k', weights, values)
        spread = np.einsum('ri,rik,ril->kl', weights, values - mean, values - mean)
        spread += np.einsum('ri,ikl->kl', weights, route.covariances[:, column])
        np.testing.assert_allclose(means[column], mean, atol=1e-9)
        np.testing.assert_allclose(
            covariances[column], route.factors[column] * spread, rtol=1e-6, atol=1e-3
        )
    np.testing.assert_allclose(belief.state, weights.sum(axis=0) @ route.states, atol=1e-9)


def test_evidence_is_a_share_and_the_sums_are_one() -> None:
    belief = RouteBelief(small_route(spread=2.0))
    for observation in 3.0 * observations(100):
        assert 0.0 < belief.update(observation) <= 1.0
        assert belief.cells.sum() == pytest.approx(1.0)
        assert belief.cells.min() >= 0.0
        assert belief.weights.sum() == pytest.approx(1.0)
        assert belief.state[0] == 1.0
        means, covariances = belief.read()
        assert np.isfinite(means).all()
        assert (np.linalg.eigvalsh(covariances) > 0.0).all()


def test_what_fits_nothing_at_all_starts_anew() -> None:
    belief = RouteBelief(small_route())
    for observation in observations(10):
        belief.update(observation)
    assert belief.update(np.full(2, np.nan)) == 0.0
    assert_same(belief, DenseBelief(small_route(), leads_to()), 1e-12)


def test_the_same_bits_twice() -> None:
    first, second = RouteBelief(small_route()), RouteBelief(small_route())
    for observation in observations(30, seed=2):
        second.update(observation)
    second.start()
    for observation in observations(30):
        assert first.update(observation) == second.update(observation)
    np.testing.assert_array_equal(first.cells, second.cells)
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


def test_what_is_hidden_has_no_weight() -> None:
    belief = RouteBelief(small_route())
    belief.hide(2, 5)
    assert (belief.weights[2:5] == 0.0).all()
    np.testing.assert_allclose(np.delete(belief.weights, [2, 3, 4]), 1.0 / 6.0)
    assert belief.cells.sum() == pytest.approx(1.0)


def followed(belief: RouteBelief, drive: Drive) -> np.ndarray:
    """Return the distances of the position read to the true one, metres."""
    missed = []
    for observation, position in zip(drive.observations, drive.track, strict=True):
        belief.update(observation)
        missed.append(np.linalg.norm(belief.read()[0][0] - position))
    return np.array(missed)


METRE_A_TICK = 2.0 * np.pi * 20.0 / LAP_TICKS
"""Nearly: what is driven in a tick."""


@pytest.mark.parametrize('pace', [-0.15, 0.0, 0.15])
def test_a_lap_is_followed_to_a_tick_at_any_pace(pace: float, route: Route) -> None:
    drive = Circuit().drive(np.full(2 * LAP_TICKS, pace), seed=5, begin=0.3)
    belief = RouteBelief(route)
    missed = followed(belief, drive)
    assert np.median(missed[60:]) < 0.5 * METRE_A_TICK
    assert missed[60:].max() < 4.0 * METRE_A_TICK
    assert belief.on_route > 0.95


def test_standing_for_a_minute_keeps_the_place(route: Route) -> None:
    minute = round(60.0 / PERIOD_S)
    paces = np.concatenate([np.zeros(200), np.full(minute, -np.inf), np.zeros(100)])
    drive = Circuit().drive(paces, seed=6)
    belief = RouteBelief(route)
    driven = slice(0, 200)
    standing = slice(200, 200 + minute)
    before = followed(belief, _part(drive, driven))
    during = followed(belief, _part(drive, standing))
    assert belief.standing > 0.9
    after = followed(belief, _part(drive, slice(200 + minute, None)))
    assert before[-50:].max() < 4.0 * METRE_A_TICK
    assert during.max() < 8.0 * METRE_A_TICK
    assert after[30:].max() < 4.0 * METRE_A_TICK
    assert belief.standing < 0.1


def _part(drive: Drive, ticks: slice) -> Drive:
    return Drive(*(value[ticks] for value in vars(drive).values()))


def test_a_moved_vehicle_is_found_again(route: Route) -> None:
    belief = RouteBelief(route)
    followed(belief, Circuit().drive(np.zeros(200), seed=7))
    missed = followed(belief, Circuit().drive(np.zeros(200), seed=8, begin=0.6))
    assert missed[0] > 10.0 * METRE_A_TICK
    assert missed[80:].max() < 4.0 * METRE_A_TICK


def test_a_gap_is_bridged(route: Route) -> None:
    """Nothing is seen for a second; the belief moves on meanwhile."""
    drive = Circuit().drive(np.zeros(260), seed=9)
    belief = RouteBelief(route)
    followed(belief, _part(drive, slice(0, 200)))
    belief.skip(10)
    missed = followed(belief, _part(drive, slice(210, None)))
    assert missed[0] < 3.0 * METRE_A_TICK
    assert missed.max() < 5.0 * METRE_A_TICK


def test_another_route_is_off_the_route(route: Route) -> None:
    belief = RouteBelief(route)
    followed(belief, Circuit().drive(np.zeros(200), seed=10))
    assert belief.on_route > 0.9
    followed(belief, Circuit(seed=4).drive(np.zeros(3 * LAP_TICKS), seed=11))
    assert belief.on_route < 0.5
    followed(belief, Circuit().drive(np.zeros(3 * LAP_TICKS), seed=12))
    assert belief.on_route > 0.9


def test_a_hidden_part_is_not_believed_in(route: Route) -> None:
    belief = RouteBelief(route)
    count = len(route.noise)
    belief.hide(0, count // 2)
    assert (belief.weights[: count // 2] == 0.0).all()
    others = Circuit().drive(np.zeros(60), seed=13, begin=0.6)
    assert followed(belief, others)[40:].max() < 4.0 * METRE_A_TICK
