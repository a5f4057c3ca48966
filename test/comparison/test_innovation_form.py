# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steady-state Kalman filters against closed forms and a filter that starts from nothing."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.comparison import linear_system as module
from two_manifold_ros.comparison.linear_system import (
    innovation_form,
    InnovationForm,
    prediction_covariance,
    settled_covariance,
    SLOWEST,
    stabilised,
)


def random_system(seed: int, k: int = 5, d: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, C and a joint noise covariance with correlated parts."""
    rng = np.random.default_rng(seed)
    transition = rng.normal(size=(k, k))
    transition *= 0.95 / np.abs(np.linalg.eigvals(transition)).max()
    root = rng.normal(size=(k + d, k + d))
    return transition, rng.normal(size=(d, k)), root @ root.T


def spectral_radius(matrix: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def test_scalar_system_as_by_hand() -> None:
    # P = a^2 P + q - (a P)^2 / (P + r) is a quadratic in P.
    a, q, r = 0.9, 0.3, 0.5
    half = (r * (1 - a**2) - q) / 2
    spread = -half + np.sqrt(half**2 + q * r)
    form = innovation_form(np.array([[a]]), np.array([[1.0]]), np.diag([q, r]))
    np.testing.assert_allclose(form.gain, [[a * spread / (spread + r)]], rtol=1e-10)
    np.testing.assert_allclose(form.innovation, [[spread + r]], rtol=1e-10)


@pytest.mark.parametrize('seed', range(5))
def test_gain_is_the_limit_of_a_filter_that_corrects_then_predicts(seed: int) -> None:
    transition, output, noise = random_system(seed)
    k = len(transition)
    q, s, r = noise[:k, :k], noise[:k, k:], noise[k:, k:]
    # Without correlation between the noises: the usual way to take S out.
    free = transition - s @ np.linalg.solve(r, output)
    rest = q - s @ np.linalg.solve(r, s.T)
    spread = np.eye(k)
    for _ in range(3000):
        information = np.linalg.inv(spread) + output.T @ np.linalg.solve(r, output)
        corrected = np.linalg.inv(information)
        spread = free @ corrected @ free.T + rest
    form = innovation_form(transition, output, noise)
    innovation = output @ spread @ output.T + r
    np.testing.assert_allclose(form.innovation, innovation, rtol=1e-8)
    wanted = (transition @ spread @ output.T + s) @ np.linalg.inv(innovation)
    np.testing.assert_allclose(form.gain, wanted, atol=1e-8)


@pytest.mark.parametrize('seed', range(5))
def test_own_recursion_settles_where_the_solver_says(seed: int) -> None:
    system = random_system(seed)
    np.testing.assert_allclose(
        settled_covariance(*system), prediction_covariance(*system), atol=1e-8
    )


def test_without_a_solution_the_recursion_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    system = random_system(0)
    wanted = innovation_form(*system)

    def refuse(*_: object, **__: object) -> None:
        msg = 'no solution'
        raise np.linalg.LinAlgError(msg)

    monkeypatch.setattr(module, 'solve_discrete_are', refuse)
    np.testing.assert_allclose(innovation_form(*system).gain, wanted.gain, atol=1e-8)


def test_a_solution_that_leaves_the_filter_unstable_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = transition, output, _ = random_system(1)
    wanted = innovation_form(*system)
    wrong = np.zeros((5, 5))
    gain, _ = module.kalman_gain(*system, wrong)
    assert spectral_radius(transition - gain @ output) > 1.0
    monkeypatch.setattr(module, 'solve_discrete_are', lambda *_, **__: wrong)
    np.testing.assert_allclose(innovation_form(*system).gain, wanted.gain, atol=1e-8)


def test_an_output_measured_twice_tells_nothing_more() -> None:
    transition, output, noise = random_system(3)
    once = innovation_form(transition, output, noise)
    again = [*range(5 + 2), *range(5, 5 + 2)]
    twice = innovation_form(transition, np.tile(output, (2, 1)), noise[np.ix_(again, again)])
    outputs = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_allclose(twice.filter(np.tile(outputs, 2)), once.filter(outputs), atol=1e-6)


@pytest.mark.parametrize('steps', [1, 3, 30])
def test_every_stage_of_the_recursion_makes_a_stable_filter(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    transition, output, noise = random_system(4)
    transition *= 0.9999 / 0.95
    monkeypatch.setattr(module, 'STEPS', steps)
    spread = settled_covariance(transition, output, noise)
    gain, _ = module.kalman_gain(transition, output, noise, spread)
    assert spectral_radius(transition - gain @ output) < 1.0


def test_filter_by_hand() -> None:
    form = InnovationForm(
        np.array([[0.5, 1.0], [0.0, 0.5]]),
        np.array([[1.0, 0.0]]),
        np.array([[0.25], [0.5]]),
        np.eye(1),
    )
    # e = 4: x = K e = (1, 2); then e = 3 - 1 = 2: x = A (1, 2) + K 2 = (2.5, 1) + (0.5, 1).
    np.testing.assert_allclose(form.filter(np.array([[4.0], [3.0]])), [[1.0, 2.0], [3.0, 2.0]])


def test_stable_stays_as_it_is() -> None:
    transition = random_system(1)[0]
    assert stabilised(transition) is transition


def test_only_what_is_unstable_is_pulled_in() -> None:
    turn = 1.2 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    diagonal = np.zeros((5, 5))
    diagonal[:2, :2] = turn
    diagonal[2:, 2:] = np.diag([0.7, -1.5, 0.2])
    basis = np.random.default_rng(0).normal(size=(5, 5))
    stable = stabilised(basis @ diagonal @ np.linalg.inv(basis))
    pair = SLOWEST * np.exp(np.array([0.3j, -0.3j]))
    wanted = np.sort_complex(np.array([*pair, 0.7, -SLOWEST, 0.2]))
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(stable)), wanted, atol=1e-8)


def test_equal_unstable_eigenvalues_are_pulled_in() -> None:
    jordan = np.eye(3) + np.eye(3, k=1)
    basis = np.random.default_rng(0).normal(size=(3, 3))
    assert spectral_radius(stabilised(basis @ jordan @ np.linalg.inv(basis))) < 1.0
