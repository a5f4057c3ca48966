# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold kernel dimension reduction, and positions read with it."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm import mkdr
from two_manifold_ros.typing import Floats


@pytest.mark.parametrize('seed', range(5))
def test_nothing_allowed_is_nearer(seed):
    """Seen from the nearest point of a convex set, no corner lies on the side of the given one."""
    values = 2.0 * np.random.default_rng(seed).standard_normal(6)
    turn = np.linalg.qr(np.random.default_rng(seed + 7).standard_normal((6, 6)))[0]
    found = np.diag(turn.T @ mkdr.onto_unit_trace((turn * values) @ turn.T) @ turn)
    assert found.min() >= -1e-12
    assert found.sum() == pytest.approx(1.0)
    away = values - found
    assert max(away) <= away @ found + 1e-9
    # What is allowed stays.
    again = mkdr.onto_unit_trace((turn * found) @ turn.T)
    np.testing.assert_allclose(again, (turn * found) @ turn.T, atol=1e-12)


PENALTY = 0.02


def naive_value(eigenvectors: Floats, responses: Floats, theta: Floats) -> float:
    """Return Nilsson, Sha & Jordan 2007, eq. 9, of eigenvectors and responses scaled to size."""
    count, width = eigenvectors.shape
    centring = np.eye(count) - 1.0 / count
    gram = centring @ eigenvectors @ theta @ eigenvectors.T @ centring
    gram *= width / np.trace(centring @ eigenvectors @ eigenvectors.T @ centring)
    kernel = centring @ responses @ responses.T @ centring
    kernel /= np.trace(kernel)
    inverse = np.linalg.inv(gram + PENALTY * np.eye(count))
    return float(PENALTY * np.trace(kernel @ inverse))


@pytest.mark.parametrize('count', [25, 5])
def test_value_and_gradient(count):
    """Also with fewer points than eigenvectors."""
    rng = np.random.default_rng(1)
    eigenvectors = 3.0 + 2.0 * rng.standard_normal((count, 7))
    responses = rng.standard_normal((count, 2))
    root = rng.standard_normal((7, 4))
    theta = root @ root.T / np.sum(root**2)
    value, gradient = mkdr.Contrast(eigenvectors, responses, PENALTY).look(theta)
    assert value == pytest.approx(naive_value(eigenvectors, responses, theta), rel=1e-9)
    for _ in range(3):
        way = rng.standard_normal((7, 7))
        way = 1e-6 * (way + way.T)
        ahead, behind = (naive_value(eigenvectors, responses, theta + d) for d in (way, -way))
        assert float(np.sum(gradient * way)) == pytest.approx((ahead - behind) / 2, rel=1e-5)


def naive_algorithm_1(
    eigenvectors: Floats, kernel: Floats, penalty: float, tolerance: float, most: int
) -> tuple[Floats, list[float]]:
    """Return Omega and the values V(t) of Algorithm 1 of Nilsson, Sha & Jordan 2007."""
    count, width = eigenvectors.shape
    centring = np.eye(count) - 1.0 / count
    kernel = centring @ kernel @ centring
    omega = np.eye(width)

    def inverse() -> Floats:
        return np.linalg.inv(eigenvectors @ omega @ eigenvectors.T + penalty * np.eye(count))

    values = [np.trace(kernel @ inverse())]
    for t in range(1, most + 1):
        inside = inverse()
        omega = omega + (1.0 / t) * eigenvectors.T @ inside @ kernel @ inside @ eigenvectors
        sizes, vectors = np.linalg.eigh(omega)
        omega = vectors @ np.diag(np.maximum(sizes, 0.0)) @ vectors.T
        omega = omega / np.trace(omega)
        values.append(np.trace(kernel @ inverse()))
        if abs(values[-1] - values[-2]) <= tolerance * values[-1]:
            break
    return omega, values


@pytest.mark.parametrize('regularised', [False, True])
@pytest.mark.parametrize('unit', [1.0, 0.01])
def test_algorithm_1_as_printed(regularised, unit):
    """Its steps of 1/t overshoot where responses are large beside the penalty."""
    rng = np.random.default_rng(6)
    raw = rng.standard_normal((40, 6))
    # Orthonormal and centred, as eigenvectors of a graph are.
    eigenvectors = np.linalg.qr(raw - raw.mean(axis=0))[0]
    responses = eigenvectors[:, [1, 4]] @ np.diag([3.0, 1.0]) + 0.05 * rng.standard_normal((40, 2))
    responses = unit * responses
    kernel = responses @ responses.T + regularised * PENALTY * np.eye(40)
    omega, values = naive_algorithm_1(eigenvectors, kernel, PENALTY, 1e-3, 5)
    found = mkdr.find_predictive_directions(
        eigenvectors, responses, penalty=PENALTY, tolerance=1e-3, most_steps=5,
        regularised=regularised, literal=True,
    )  # fmt: skip
    np.testing.assert_allclose(found.theta, omega, atol=1e-9)
    size = np.sum((responses - responses.mean(axis=0)) ** 2)
    np.testing.assert_allclose(found.objective * size / PENALTY, values, rtol=1e-9)
    # The first step is from another trace.
    assert (max(np.diff(values[1:])) > 0.0) == (unit == 1.0)
    best = mkdr.find_predictive_directions(
        eigenvectors, responses, penalty=PENALTY, regularised=regularised
    )
    assert best.objective[-1] <= found.objective[-1] * (1.0 + 1e-6)


def test_features_of_a_response_kernel_have_its_centred_matrix_and_what_cannot_be_used():
    responses = np.random.default_rng(8).standard_normal((12, 2))
    kernel = np.exp(-np.array([[np.sum((a - b) ** 2) for b in responses] for a in responses]))
    features = mkdr.response_features(kernel)
    centring = np.eye(12) - 1.0 / 12
    np.testing.assert_allclose(features @ features.T, centring @ kernel @ centring, atol=1e-12)
    assert mkdr.response_features(responses @ responses.T).shape == (12, 2)
    same, spoilt = np.full((12, 2), 0.1), np.where(responses > 0.0, responses, np.nan)
    for make, given, words in (
        (mkdr.response_features, (kernel[:5],), 'finite'),
        (mkdr.response_features, (np.where(kernel < 1.0, kernel, np.nan),), 'finite'),
        (mkdr.response_features, (kernel + np.triu(kernel),), 'not symmetric'),
        (mkdr.response_features, (-kernel,), 'positive semidefinite'),
        (mkdr.Contrast, (features, responses, 0.0), 'penalty'),
        (mkdr.Contrast, (features, same, 1.0), 'responses are the same'),
        (mkdr.Contrast, (same, responses, 1.0), 'eigenvectors are the same'),
        (mkdr.Contrast, (features, spoilt, 1.0), 'not finite'),
    ):
        with pytest.raises(InputError, match=words):
            make(*given)


def test_planted_directions_are_found():
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((400, 8))
    planted = np.zeros((8, 3))
    planted[[2, 5], 0] = -0.8, 0.6
    planted[7, 1] = 0.5
    planted[1, 2] = 0.1
    responses = 40.0 * (vectors @ planted + 0.01 * rng.standard_normal((400, 3)))
    found = mkdr.find_predictive_directions(vectors, responses)
    assert found.rank == 3
    assert found.directions[:, 0] @ planted[:, 0] < -0.99, 'the largest entry is positive'
    assert found.directions[7, 1] > 0.99
    assert found.directions[1, 2] > 0.99
    assert found.predictive_eigenvectors(3).tolist() == [2, 7, 5]
    np.testing.assert_allclose(found.strengths[:3] * 1.6, [1.0, 0.5, 0.1], atol=0.05)
    responses[:, 2] *= 0.01
    assert mkdr.find_predictive_directions(vectors, responses).rank == 2


PENALTY_MAP = 1e-2
RNG = np.random.default_rng(0)
COORDINATES = RNG.normal(size=(40, 6)) * [5.0, 3.0, 2.0, 1.0, 0.5, 0.2] + 7.0
POSITIONS = COORDINATES[:, [1, 3]] @ [[0.2, 0.1], [-0.4, 1.0]] + [300.0, -20.0]
POSITIONS = POSITIONS + 0.05 * RNG.normal(size=POSITIONS.shape)


def kernel_regression(known: np.ndarray, wanted: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Predict with the Gram matrix of what the directions leave of the coordinates."""
    mean = known.mean(axis=0)
    found = mkdr.find_predictive_directions(
        known - mean, wanted, penalty=PENALTY_MAP, tolerance=1e-3, most_steps=30
    )
    strengths = found.strengths[: found.rank]
    theta = found.directions @ np.diag(strengths) @ found.directions.T
    theta = theta * known.shape[1] / np.linalg.norm(known - mean) ** 2
    gram = (known - mean) @ theta @ (known - mean).T
    ridge = PENALTY_MAP * np.eye(len(known))
    weights = np.linalg.solve(gram + ridge, wanted - wanted.mean(axis=0))
    predicted = (asked - mean) @ theta @ (known - mean).T @ weights
    return np.asarray(predicted + wanted.mean(axis=0))


def test_positions_are_those_of_kernel_ridge_regression():
    found = mkdr.fit_position_map(COORDINATES[:30], POSITIONS[:30], PENALTY_MAP)
    expected = kernel_regression(COORDINATES[:30], POSITIONS[:30], COORDINATES)
    np.testing.assert_allclose(found(COORDINATES), expected, atol=1e-9)
    assert np.abs(expected[30:] - POSITIONS[30:]).max() < 0.3
    # And so is the error on stretches that are left out.
    squares = []
    for part in range(5):
        out = np.arange(8 * part, 8 * (part + 1))
        kept = np.setdiff1d(np.arange(40), out)
        expected = kernel_regression(COORDINATES[kept], POSITIONS[kept], COORDINATES[out])
        squares.append(((expected - POSITIONS[out]) ** 2).sum(axis=1))
    error_m = mkdr.cross_validated(COORDINATES, POSITIONS, PENALTY_MAP)
    assert error_m == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-9)


def test_reach_is_that_of_what_is_left_out():
    nearest = []
    for index in range(40):
        part = index // 8
        kept = [other for other in range(40) if other // 8 != part]
        nearest.append(min(np.linalg.norm(COORDINATES[kept] - COORDINATES[index], axis=1)))
    reach = 2.0 * np.quantile(nearest, 0.95)
    away = np.array([[reach * 0.999], [reach * 1.001]]) * [[1.0, 0, 0, 0, 0, 0]]
    outermost = COORDINATES[np.argmax(COORDINATES[:, 0])]
    assert mkdr.within_reach(COORDINATES, outermost + away).tolist() == [True, False]


@pytest.mark.parametrize('same', ['coordinates', 'positions'])
def test_what_does_not_vary_gives_the_mean(same):
    coordinates = np.full_like(COORDINATES, 0.1) if same == 'coordinates' else COORDINATES
    positions = np.full_like(POSITIONS, 1e5 / 3.0) if same == 'positions' else POSITIONS
    found = mkdr.fit_position_map(coordinates, positions, PENALTY_MAP)
    mean = np.broadcast_to(positions.mean(axis=0), positions.shape)
    np.testing.assert_allclose(found(COORDINATES), mean, rtol=1e-12)
