# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""N4SID and its Kalman filter against known systems and a naive one."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_discrete_are
from small_trains import circle, train_of, wander

from two_manifold_ros.comparison import linear_system as module
from two_manifold_ros.comparison.linear_system import (
    decompose_hankel,
    find_directions,
    fit_readout,
    identify,
    innovation_form,
    InnovationForm,
    kalman_filter,
    needed_windows,
    SLOWEST,
    stabilised,
)
from two_manifold_ros.errors import InputError


def random_system(seed: int, k: int = 5, d: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, C and a joint noise covariance with correlated parts."""
    rng = np.random.default_rng(seed)
    transition = rng.normal(size=(k, k))
    transition *= 0.95 / np.abs(np.linalg.eigvals(transition)).max()
    root = rng.normal(size=(k + d, k + d))
    return transition, rng.normal(size=(d, k)), root @ root.T


def spectral_radius(matrix: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def test_without_a_solution_or_with_one_that_is_unstable_the_recursion_is_run(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        msg = 'no solution'
        raise np.linalg.LinAlgError(msg)

    system = transition, output, _ = random_system(1)
    wanted = innovation_form(*system)
    wrong = np.zeros((5, 5))
    gain, _ = module.kalman_gain(*system, wrong)
    assert spectral_radius(transition - gain @ output) > 1.0
    for solver in (refuse, lambda *_, **__: wrong):
        monkeypatch.setattr(module, 'solve_discrete_are', solver)
        np.testing.assert_allclose(innovation_form(*system).gain, wanted.gain, atol=1e-8)


def test_only_what_is_unstable_is_pulled_in():
    diagonal = block_diag(1.2 * turn_by(0.3), 0.7, -1.5, 0.2)
    basis = np.random.default_rng(0).normal(size=(5, 5))
    stable = stabilised(basis @ diagonal @ np.linalg.inv(basis))
    pair = SLOWEST * np.exp(np.array([0.3j, -0.3j]))
    wanted = np.sort_complex(np.array([*pair, 0.7, -SLOWEST, 0.2]))
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(stable)), wanted, atol=1e-8)
    # So are equal ones.
    jordan = np.eye(3) + np.eye(3, k=1)
    basis = np.random.default_rng(0).normal(size=(3, 3))
    assert spectral_radius(stabilised(basis @ jordan @ np.linalg.inv(basis))) < 1.0


def turn_by(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


weightings = pytest.mark.parametrize('weighting', ['unweighted', 'principal'])

A = block_diag(0.9 * turn_by(0.4), [[0.95, 0.0], [0.3, -0.8]])
C = np.array([[1.0, 0.0, 0.5, 0.3], [0.0, 1.0, -0.5, 1.0]])
Q = 0.2 * np.eye(4)
R = np.array([[0.5, 0.2], [0.2, 0.3]])


def simulate(ticks: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    outputs = np.empty((ticks, 2))
    state = np.zeros(4)
    measured = rng.multivariate_normal(np.zeros(2), R, ticks)
    pushed = rng.multivariate_normal(np.zeros(4), Q, ticks)
    for tick in range(ticks):
        outputs[tick] = C @ state + measured[tick]
        state = A @ state + pushed[tick]
    return outputs


def identified(
    segments: Sequence[np.ndarray], block_rows: int, order: int, weighting: str = 'unweighted'
) -> InnovationForm:
    hankel = decompose_hankel(segments, block_rows)
    return identify(hankel, find_directions(hankel, weighting), order)


def responses(form: InnovationForm, steps: int = 8) -> np.ndarray:
    """Return C A^j K, which no choice of the state's basis changes."""
    powers = [np.linalg.matrix_power(form.transition, step) for step in range(steps)]
    return np.array([form.output @ power @ form.gain for power in powers])


def eigenvalues(transition: np.ndarray) -> np.ndarray:
    return np.sort_complex(np.linalg.eigvals(transition))


def naive(
    segments: Sequence[np.ndarray], block_rows: int, order: int, weighting: str
) -> InnovationForm:
    """Write the Hankel matrices out and regress, one column a window."""
    i, d = block_rows, segments[0].shape[1]
    columns = [
        segment[begin : begin + 2 * i].ravel()
        for segment in segments
        for begin in range(len(segment) - 2 * i + 1)
    ]
    hankel = np.array(columns).T / np.sqrt(len(columns))

    def project(what: np.ndarray, on: np.ndarray) -> np.ndarray:
        return what @ on.T @ np.linalg.inv(on @ on.T) @ on

    past, future = hankel[: i * d], hankel[i * d :]
    predicted = project(future, past)
    weight = past.T if weighting == 'principal' else np.eye(len(columns))
    vectors, strengths, _ = np.linalg.svd(predicted @ weight, full_matrices=False)
    observability = vectors[:, :order] * np.sqrt(strengths[:order])
    before = np.linalg.pinv(observability) @ predicted
    later = project(hankel[(i + 1) * d :], hankel[: (i + 1) * d])
    after = np.linalg.pinv(observability[:-d]) @ later
    wanted = np.concatenate([after, future[:d]])
    system = wanted @ before.T @ np.linalg.inv(before @ before.T)
    system[:order] = stabilised(system[:order])
    residuals = wanted - system @ before
    return innovation_form(system[:order], system[order:], residuals @ residuals.T)


@weightings
def test_known_system_is_recovered(weighting):
    spread = solve_discrete_are(A.T, C.T, Q, R)
    innovation = C @ spread @ C.T + R
    gain = A @ spread @ C.T @ np.linalg.inv(innovation)
    form = identified([simulate(20_000)], 15, 4, weighting)
    np.testing.assert_allclose(eigenvalues(form.transition), eigenvalues(A), atol=0.02)
    np.testing.assert_allclose(form.innovation, innovation, rtol=0.03, atol=0.02)
    true = [C @ np.linalg.matrix_power(A, step) @ gain for step in range(8)]
    np.testing.assert_allclose(responses(form), true, atol=0.04)


@weightings
@pytest.mark.parametrize('order', [2, 4, 7])
def test_as_written_out(order, weighting):
    segments = [simulate(900, seed) for seed in range(2)] + [simulate(9), simulate(40, 5)]
    form = identified(segments, 5, order, weighting)
    wanted = naive(segments, 5, order, weighting)
    np.testing.assert_allclose(
        eigenvalues(form.transition), eigenvalues(wanted.transition), atol=1e-8
    )
    np.testing.assert_allclose(form.innovation, wanted.innovation, atol=1e-8)
    np.testing.assert_allclose(responses(form), responses(wanted), atol=1e-8)


def test_just_long_enough_and_too_short():
    enough = needed_windows(2, 5) + 9
    decompose_hankel([simulate(enough)], 5)
    with pytest.raises(InputError, match=r'needs 13 windows of 10 ticks .* has 12; record longer'):
        decompose_hankel([simulate(enough - 1)], 5)
    train = train_of(*(wander(seed, 11) for seed in range(3)), window=20)
    with pytest.raises(InputError, match=r'20 block rows of 6 channels .* record longer'):
        kalman_filter(train)


def test_readout_is_a_regression_on_states_of_full_windows_with_known_positions():
    first, second = circle(0, 80), circle(1, 60)
    first.positions[30:40] = np.nan
    train = train_of(first, second, window=6, horizons=(0, 3))
    seen = np.random.default_rng(5).normal(size=(6, 2))
    system = InnovationForm(0.98 * turn_by(0.2), seen, 0.1 * seen.T, np.eye(6))
    coefficients = fit_readout(system, train)
    for column, horizon in enumerate(train.horizons):
        rows, wanted = [], []
        for segment in (first, second):
            states = system.filter(train.dataset.channels.standardise(segment.values))
            for tick in range(6, len(segment) - horizon):
                if np.isfinite(segment.positions[tick + horizon]).all():
                    rows.append([1.0, *states[tick]])
                    wanted.append(segment.positions[tick + horizon])
        plain = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0].T
        np.testing.assert_allclose(coefficients[column], plain, rtol=0.01, atol=0.005)


def test_what_was_asked_for_is_taken_and_the_rest_chosen(monkeypatch):
    train = train_of(circle(0, 400), window=8)
    chosen = kalman_filter(train, 3, 9).chosen
    assert (chosen['states'], chosen['block_rows']) == (3, 9)
    assert kalman_filter(train, block_rows=9).chosen['states'] in {20, 40, 80, 160}
    assert kalman_filter(train, 3).chosen['block_rows'] in {4, 6, 8, 12, 16}
    # As many as their limit allows.
    monkeypatch.setattr(module, 'MOST_ROWS', 30)
    assert kalman_filter(train_of(circle(0, 400), window=10), 3).chosen['block_rows'] == 5


@pytest.mark.parametrize(
    ('given', 'segment', 'window', 'states', 'block_rows'),
    [
        # As many states as block rows can distinguish, at most.
        ({'states': 20, 'block_rows': 3}, circle(0, 400), 5, 12, 3),
        # As many block rows as there are windows for.
        ({'states': 5}, wander(0, 100), 16, 5, 8),
        # Too short once blocks are held out: the first candidate, of the whole.
        ({'block_rows': 12}, wander(0, 130), 12, 20, 12),
    ],
)
def test_settings_stay_within_what_the_data_supports(given, segment, window, states, block_rows):
    chosen = kalman_filter(train_of(segment, window=window), **given).chosen
    assert (chosen['states'], chosen['block_rows']) == (states, block_rows)
