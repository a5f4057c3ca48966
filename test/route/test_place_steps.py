# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Loops that are compiled and arrays say the same, on random numbers and on real beliefs."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from circuit import Circuit
import numpy as np
import pytest
from small_route import CHANNELS, PLACES, small_route

from two_manifold_ros.route import belief as module
from two_manifold_ros.route import reading, steps
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.route import ELSE
from two_manifold_ros.route.steps import FAINTLY, PLAINLY

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from two_manifold_ros.route.route import Route

PACES, KINDS = 3, len(ELSE)
FORMS = ('loops', 'arrays')
SEEDS = range(6)


def form_of(home: ModuleType, name: str, form: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(home, f'_{name}_{form}')
    return found


def some_belief(rng: np.random.Generator, known: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return cells, others and the active places: so many, some hardly likely."""
    active = rng.permutation(PLACES)[:known].astype(np.int64)
    cells, others = np.zeros((PLACES, 4, PACES)), np.zeros((PLACES, 2, KINDS))
    sizes = 10.0 ** rng.uniform(-7.0, 0.0, (known, 1, 1))
    cells[active] = sizes * rng.random((known, 4, PACES))
    others[active] = sizes * rng.random((known, 2, KINDS))
    total = cells.sum() + others.sum()
    return cells / total, others / total, active


def predicted(form: str, rng: np.random.Generator, known: int) -> dict[str, np.ndarray]:
    route = small_route()
    cells, others, active = some_belief(rng, known)
    reached, order = np.zeros(PLACES, dtype=np.int64), np.zeros(PLACES, dtype=np.int64)
    jumped = np.zeros(4)
    # Whatever was in them before does not matter.
    moved, moved_others = rng.random(cells.shape), rng.random(others.shape)
    count = form_of(steps, 'predict', form)(
        cells, others, active, known, route.begins, route.targets_of, route.steps_of,
        route.shares_of, np.ascontiguousarray(route.moves.T), route.pace_changes,
        route.pace_prior, route.exchanges, route.jumps, moved, moved_others, reached, order,
        jumped, rng.random(len(route.jumps)),
    )  # fmt: skip
    assert isinstance(count, int)
    return {
        'cells': cells,
        'others': others,
        'reached': reached,
        'jumped': jumped,
        'order': np.sort(order[:count]),
    }


def assert_alike(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    for name, value in first.items():
        np.testing.assert_allclose(value, second[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('known', [1, 3, PLACES])
def test_predictions(seed: int, known: int) -> None:
    loops, arrays = (predicted(form, np.random.default_rng(seed), known) for form in FORMS)
    assert_alike(loops, arrays)
    np.testing.assert_array_equal(arrays['order'], np.flatnonzero(arrays['reached']))
    kinds = {FAINTLY, PLAINLY, 0} if known < PLACES else {FAINTLY, PLAINLY}
    assert set(arrays['reached'].tolist()) <= kinds


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('known', [1, 3, PLACES])
def test_predictions_lose_nothing(form: str, known: int) -> None:
    """But for what jumped to places that are not reached, which is told."""
    found = predicted(form, np.random.default_rng(1), known)
    lost = (PLACES - len(found['order'])) * found['jumped'].sum()
    total = found['cells'].sum() + found['others'].sum()
    assert total + lost == pytest.approx(1.0, abs=1e-12)


def likelihoods(form: str, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    route = small_route(spread=10.0 ** (seed - 2))
    reached = rng.integers(0, 3, PLACES)
    logs = np.full((PLACES, 2, PACES), np.nan)
    features = route.means.shape[1]
    numbers = np.array([route.tail, 3.6, -1.3, route.sharpness])
    largest = form_of(steps, 'fill_logs', form)(
        rng.normal(size=features), route.means, route.slopes,
        np.square(route.slopes).sum(axis=1), rng.normal(size=CHANNELS), route.new_means,
        route.new_slopes, np.square(route.new_slopes).sum(axis=1), route.noise,
        -0.5 * np.log(route.noise), route.log_paces, reached, numbers, logs,
    )  # fmt: skip
    assert isinstance(largest, float)
    return logs, reached, largest


@pytest.mark.parametrize('seed', SEEDS)
def test_likelihoods(seed: int) -> None:
    """Where they are told: at all paces, at the usual one, or of who is new."""
    (loops, reached, most), (arrays, _, largest) = (likelihoods(form, seed) for form in FORMS)
    plain = reached == PLAINLY
    np.testing.assert_allclose(loops[plain], arrays[plain], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        loops[reached > 0, :, 0], arrays[reached > 0, :, 0], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(loops[:, 1, 0], arrays[:, 1, 0], rtol=1e-9, atol=1e-9)
    assert most == pytest.approx(largest, abs=1e-9)
    told = np.concatenate([arrays[plain].ravel(), arrays[reached > 0, 0, 0], arrays[:, 1, 0]])
    assert np.isfinite(told).all()
    # At the usual pace too, where no pace is told apart; the shift only has to be near.
    assert told.max() - 1e-9 <= largest


def weighed(form: str, seed: int, known: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    cells, others, active = some_belief(rng, known)
    reached = np.zeros(PLACES, dtype=np.int64)
    reached[active] = rng.integers(1, 3, known)
    logs = rng.normal(size=(PLACES, 2, PACES)) - 3.0
    # Where a place is reached faintly all paces share what is told of the first.
    shared = reached != PLAINLY
    logs[shared] = logs[shared][:, :, :1]
    order, totals = np.zeros(PLACES, dtype=np.int64), np.zeros((3, 2))
    order[:known] = active
    jumped = np.array([1e-7, 2e-7, 4e-6, 6e-6]) * (seed + 1)
    evidence, count = form_of(steps, 'weigh', form)(
        cells, others, order, reached, known, jumped, small_route().pace_prior, logs.copy(), 0.5,
        np.array([0.02, 0.01, 0.03, 0.02]), active := np.zeros(PLACES, dtype=np.int64), totals,
    )  # fmt: skip
    return {
        'cells': cells,
        'others': others,
        'reached': reached,
        'evidence': np.array(evidence),
        'active': active[:count],
        'totals': totals,
    }


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('known', [1, 4, PLACES])
def test_weights(seed: int, known: int) -> None:
    loops, arrays = (weighed(form, seed, known) for form in FORMS)
    assert_alike(loops, arrays)
    assert not arrays['reached'].any()
    whole = arrays['cells'].sum(axis=(1, 2)) + arrays['others'].sum(axis=(1, 2))
    np.testing.assert_array_equal(arrays['active'], np.flatnonzero(whole))
    assert arrays['totals'].sum() == pytest.approx(whole.sum())
    assert whole.sum() == pytest.approx(1.0, abs=PLACES * steps.FAINT)


def test_weights_drop_and_find_places() -> None:
    """Over all random cases both happens, else nothing were compared."""
    counts = [
        (known, len(weighed('arrays', seed, known)['active']))
        for seed in SEEDS
        for known in (1, 4, PLACES)
    ]
    assert any(after < before for before, after in counts)
    assert any(after > before for before, after in counts)


@pytest.mark.parametrize('form', FORMS)
def test_what_is_impossible_has_no_weight(form: str) -> None:
    cells, others, active = some_belief(np.random.default_rng(0), PLACES)
    reached = np.full(PLACES, PLAINLY)
    evidence, _ = form_of(steps, 'weigh', form)(
        cells, others, active, reached, PLACES, np.full(4, 1e-5), small_route().pace_prior,
        np.full((PLACES, 2, PACES), -2000.0), 0.0, np.zeros(KINDS), active.copy(),
        np.zeros((3, 2)),
    )  # fmt: skip
    assert evidence == 0.0


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('known', [1, 4, PLACES])
def test_readings(seed: int, known: int) -> None:
    route = small_route()
    cells, others, active = some_belief(np.random.default_rng(seed), known)
    found = []
    for form in FORMS:
        state, means, sums = np.empty(4), np.empty((3, 2)), np.empty((3, 2, 2))
        form_of(reading, 'mean_state', form)(cells, others, active, route.states, state)
        form_of(reading, 'sum_targets', form)(
            cells, others, active, route.log_paces, route.targets, route.drifts,
            route.covariances, means, sums,
        )  # fmt: skip
        found.append({'state': state, 'means': means, 'sums': sums})
    assert_alike(*found)


def use(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    for name in ('predict', 'fill_logs', 'weigh'):
        monkeypatch.setattr(module, name, form_of(steps, name, form))
    for name in ('mean_state', 'sum_targets'):
        monkeypatch.setattr(module, name, form_of(reading, name, form))


@pytest.mark.long
def test_beliefs_that_drive_stop_and_are_moved(
    route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tick by tick, with all that is dropped and found again."""
    circuit = Circuit()
    drives = [
        circuit.drive(np.concatenate([np.zeros(60), np.full(20, -np.inf), np.zeros(20)]), seed=1),
        circuit.drive(np.full(60, 0.1), seed=2, begin=0.6),
    ]
    seen = np.concatenate([each.observations for each in drives])
    seen = np.concatenate([seen, -seen[:60]])
    told: list[list[np.ndarray]] = []
    counts = []
    for form in FORMS:
        use(monkeypatch, form)
        belief = RouteBelief(route)
        rows = []
        for tick, observation in enumerate(seen):
            if tick == 110:
                belief.skip(12)
            evidence = belief.update(observation)
            counts.append(belief._count)
            means, covariances = belief.read()
            told_now = [evidence, belief.log_evidence, belief.on_route, belief.unlike]
            arrays = belief.cells, belief.others, belief.state, means, covariances
            rows.append(np.concatenate([told_now, *(each.ravel() for each in arrays)]))
        told.append(rows)
    np.testing.assert_allclose(told[0], told[1], rtol=1e-9, atol=1e-9)
    assert min(counts) < 0.2 * len(route.noise)
