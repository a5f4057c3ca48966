# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion maps beside a dense computation, steps from a new point, independent variables."""

import naive
from noisy_lap import noisy_lap
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.diffusion_map import (
    DiffusionMap,
    independent_pair,
    place_on_interval,
    Transition,
)
from two_manifold_ros.manifold.learner import PointSet

KAPPA = 8


@pytest.mark.parametrize('density', [0.0, 0.5, 1.0])
def test_dense_eigenvectors(density):
    windows = noisy_lap()
    embedding = DiffusionMap(6, KAPPA, density).fit(windows)
    rows = windows.rows(np.arange(len(windows)))
    squared = naive.squared_distances(rows, rows)
    last = np.sort(squared, axis=1)[:, KAPPA]
    assert embedding.bandwidth == pytest.approx(np.sqrt(np.median(last) / 2.0))
    weights = naive.affinities(squared, KAPPA, embedding.bandwidth)
    np.fill_diagonal(weights, 1.0)
    values, expected = naive.diffusion_map(weights, density, 6)
    np.testing.assert_allclose(embedding.eigenvalues, values, rtol=1e-9)
    naive.assert_same_to_signs(embedding.coordinates, expected, atol=1e-8)


def test_new_point_gets_the_mean_over_a_step():
    windows = noisy_lap()
    embedding = DiffusionMap(3, KAPPA, 1.0).fit(windows)
    rows = windows.rows(np.arange(len(windows)))
    squared = np.square(rows - rows[50] - 0.1).sum(axis=1)
    found = embedding.extension.transform(squared)
    functions = (embedding.coordinates - embedding.extension.offset) / embedding.eigenvalues
    step = embedding.extension.response.weights(squared)
    np.testing.assert_allclose(found, step @ functions + embedding.extension.offset)


def unevenness(density: float) -> float:
    """Return how unequal the radii are of a circle whose points are crowded on one side."""
    share = 2.0 * np.pi * (np.arange(300) + 0.5) / 300.0
    angles = share.copy()
    for _ in range(60):  # its density is (1 + .7 cos) / 2 pi
        angles -= (angles + 0.7 * np.sin(angles) - share) / (1.0 + 0.7 * np.cos(angles))
    circle = PointSet(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    embedding = DiffusionMap(2, 20, density).fit(circle)
    # Eigenfunctions of the circle are its coordinates, which are centred over the circle.
    radii = np.linalg.norm(embedding.coordinates - embedding.extension.offset, axis=1)
    return radii.std() / radii.mean()


def test_only_laplace_beltrami_passes_over_the_density():
    graph, potential, beltrami = (unevenness(density) for density in (0.0, 0.5, 1.0))
    assert beltrami < 0.06
    assert graph > potential > 3.0 * beltrami


SQUARED = np.array([4.0, 1.0, 25.0, 9.0])
RESPONSE = Transition(2.0, 1, np.array([0.0, 0.0, 0.0, 9.0 - 1e-12]), np.array([1.0, 2.0, 1.0, 3]))


def test_steps_to_the_nearest_and_to_those_it_is_near_to():
    # The two nearest, since a training point would be one of them, and the last by its radius.
    expected = np.exp(-SQUARED / 8.0) * [1.0, 2.0, 0.0, 3.0]
    np.testing.assert_allclose(RESPONSE.weights(SQUARED), expected / expected.sum())
    assert RESPONSE.check(4) == 4
    # And to none that are out of reach.
    assert RESPONSE.weights(SQUARED + 200.0) is not None
    assert RESPONSE.weights(SQUARED + 240.0) is None
    assert RESPONSE.weights(np.full(4, np.nan)) is None


SIDE = (np.arange(30) + 0.5) / 30
X = np.stack(np.meshgrid(SIDE, SIDE, indexing='ij'), axis=-1).reshape(-1, 2)


def functions_of_square() -> tuple[np.ndarray, np.ndarray]:
    """Return the first eigenfunctions of the square, of different scales, and eigenvalues."""
    first, second = np.cos(np.pi * X).T
    double = 2.0 * np.square([first, second]) - 1.0
    lines = np.array([1.0, 1.0, 2.0, 4.0, 4.0])
    return np.stack([first, second, first * second, *double], axis=1), np.exp(-0.1 * lines)


@pytest.mark.parametrize('angle', [0.0, 0.3, np.pi / 4, 1.1, 2.5])
def test_a_rotation_is_undone(angle):
    functions, eigenvalues = functions_of_square()
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    functions[:, :2] = 3.0 * functions[:, :2] @ turn
    functions[:, 2] *= -0.1
    for order in ([0, 1, 2, 3, 4], [0, 1, 3, 4, 2]):  # the product comes later in a rectangle
        pair = independent_pair(functions[:, order], eigenvalues[order])
        table = np.abs(np.corrcoef(pair.T, np.cos(np.pi * X).T)[:2, 2:])
        np.testing.assert_allclose(np.sort(table, axis=1), [[0.0, 1.0], [0.0, 1.0]], atol=1e-9)
        np.testing.assert_allclose(np.square(pair).mean(axis=0), 1.0)


def test_places_on_an_interval():
    functions, eigenvalues = functions_of_square()
    places = place_on_interval(independent_pair(functions, eigenvalues))
    errors = [np.abs(places - X).max(axis=0), np.abs(1.0 - places - X).max(axis=0)]
    assert np.min(errors, axis=0).max() < 0.02
    assert place_on_interval(np.array([-2.0, 2.0])).tolist() == [1.0, 0.0]


def test_too_few_or_constant():
    functions, eigenvalues = functions_of_square()
    with pytest.raises(InputError, match='at least three'):
        independent_pair(functions[:, :2], eigenvalues[:2])
    functions[:, 1] = 1.0
    with pytest.raises(InputError, match='leave the constant one out'):
        independent_pair(functions, eigenvalues)
