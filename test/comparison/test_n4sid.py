# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""N4SID against a known system, a naive implementation and another library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nfoursid.nfoursid import NFourSID
import numpy as np
import pandas as pd
import pytest
from scipy.linalg import solve_discrete_are

from two_manifold_ros.comparison import linear_system
from two_manifold_ros.comparison.linear_system import (
    count_windows,
    decompose_hankel,
    find_directions,
    identify,
    innovation_form,
    needed_windows,
    stabilised,
    WEIGHTINGS,
)
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.linear_system import InnovationForm

A = np.array(
    [
        [0.9 * np.cos(0.4), -0.9 * np.sin(0.4), 0.0, 0.0],
        [0.9 * np.sin(0.4), 0.9 * np.cos(0.4), 0.0, 0.0],
        [0.0, 0.0, 0.95, 0.0],
        [0.0, 0.0, 0.3, -0.8],
    ]
)
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
    return identify(find_directions(decompose_hankel(segments, block_rows), weighting), order)


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
    told = project(future, past)
    weight = past.T if weighting == 'principal' else np.eye(len(columns))
    vectors, strengths, _ = np.linalg.svd(told @ weight, full_matrices=False)
    observability = vectors[:, :order] * np.sqrt(strengths[:order])
    before = np.linalg.pinv(observability) @ told
    told_later = project(hankel[(i + 1) * d :], hankel[: (i + 1) * d])
    after = np.linalg.pinv(observability[:-d]) @ told_later
    wanted = np.concatenate([after, future[:d]])
    system = wanted @ before.T @ np.linalg.inv(before @ before.T)
    system[:order] = stabilised(system[:order])
    residuals = wanted - system @ before
    return innovation_form(system[:order], system[order:], residuals @ residuals.T)


@pytest.fixture(scope='module')
def outputs() -> np.ndarray:
    return simulate(20_000)


@pytest.mark.parametrize('weighting', WEIGHTINGS)
def test_known_system_is_recovered(outputs: np.ndarray, weighting: str) -> None:
    spread = solve_discrete_are(A.T, C.T, Q, R)
    innovation = C @ spread @ C.T + R
    gain = A @ spread @ C.T @ np.linalg.inv(innovation)
    form = identified([outputs], 15, 4, weighting)
    np.testing.assert_allclose(eigenvalues(form.transition), eigenvalues(A), atol=0.02)
    np.testing.assert_allclose(form.innovation, innovation, rtol=0.03, atol=0.02)
    true = [C @ np.linalg.matrix_power(A, step) @ gain for step in range(8)]
    np.testing.assert_allclose(responses(form), true, atol=0.04)


def test_predicts_nearly_as_well_as_with_the_true_system(outputs: np.ndarray) -> None:
    form = identified([outputs], 15, 4)
    true = innovation_form(A, C, np.block([[Q, np.zeros((4, 2))], [np.zeros((2, 4)), R]]))
    fresh = simulate(5000, seed=1)

    def error(of: InnovationForm) -> float:
        return float(np.square(fresh[1:] - of.filter(fresh)[:-1] @ of.output.T).mean())

    assert error(form) < 1.01 * error(true)


@pytest.mark.parametrize('weighting', WEIGHTINGS)
@pytest.mark.parametrize('order', [2, 4, 7])
def test_as_written_out(order: int, weighting: str) -> None:
    segments = [simulate(900, seed) for seed in range(2)] + [simulate(9), simulate(40, 5)]
    form = identified(segments, 5, order, weighting)
    wanted = naive(segments, 5, order, weighting)
    np.testing.assert_allclose(
        eigenvalues(form.transition), eigenvalues(wanted.transition), atol=1e-8
    )
    np.testing.assert_allclose(form.innovation, wanted.innovation, atol=1e-8)
    np.testing.assert_allclose(responses(form), responses(wanted), atol=1e-8)


def test_as_another_library_says() -> None:
    measured = simulate(1500)
    frame = pd.DataFrame(measured, columns=['first', 'second'])
    other = NFourSID(frame, output_columns=['first', 'second'], num_block_rows=20)
    other.subspace_identification()
    system, noise = other.system_identification(rank=4)
    directions = find_directions(decompose_hankel([measured], 20), 'unweighted')
    theirs = np.diag(other.R32_decomposition.eigenvalues) / np.sqrt(count_windows([measured], 20))
    np.testing.assert_allclose(directions.strengths, theirs, atol=1e-10)
    # It regresses the states of successive windows; here the later one has seen a tick more.
    form = identify(directions, 4)
    np.testing.assert_allclose(eigenvalues(form.transition), eigenvalues(system.a), atol=0.01)
    # Its covariance has the noise of the outputs first.
    order = [*range(2, 6), *range(2)]
    their_form = innovation_form(system.a, system.c, noise[np.ix_(order, order)])
    np.testing.assert_allclose(form.innovation, their_form.innovation, atol=0.02)
    told = form.filter(measured) @ form.output.T
    told_by_other = their_form.filter(measured) @ their_form.output.T
    assert np.std(told - told_by_other) < 0.02 * np.std(told)


def test_columns_may_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    segments = [simulate(300), simulate(100, 1)]
    whole = decompose_hankel(segments, 4).factor
    monkeypatch.setattr(linear_system, 'CHUNK', 7)
    factor = decompose_hankel(segments, 4).factor
    np.testing.assert_allclose(factor @ factor.T, whole @ whole.T, atol=1e-12)


def test_windows_are_counted_without_crossing_seams() -> None:
    segments = [np.zeros((10, 3)), np.zeros((5, 3)), np.zeros((6, 3))]
    assert count_windows(segments, 3) == 5 + 0 + 1


def test_just_long_enough_and_too_short() -> None:
    enough = needed_windows(2, 5) + 9
    decompose_hankel([simulate(enough)], 5)
    with pytest.raises(InputError, match=r'needs 13 windows of 10 ticks .* has 12; record longer'):
        decompose_hankel([simulate(enough - 1)], 5)


def test_no_more_states_than_the_data_has() -> None:
    ticks = np.arange(600)
    waves = np.stack([np.sin(0.1 * ticks), np.cos(0.23 * ticks)], axis=1)
    form = identified([waves], 10, 20)
    assert form.transition.shape == (4, 4)
    turns = np.sort(np.abs(np.angle(np.linalg.eigvals(form.transition))))
    np.testing.assert_allclose(turns, [0.1, 0.1, 0.23, 0.23], atol=1e-6)


def test_no_more_states_than_block_rows_can_tell_apart() -> None:
    assert len(identified([simulate(300)], 3, 20).transition) == 4


def test_a_channel_that_is_there_twice_does_no_harm() -> None:
    measured = simulate(3000)
    once = identified([measured], 6, 4)
    twice = identified([np.tile(measured, 2)], 6, 4)
    told = once.filter(measured) @ once.output.T
    again = (twice.filter(np.tile(measured, 2)) @ twice.output.T)[:, :2]
    np.testing.assert_allclose(again, told, atol=0.05)
