# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenmaps and kernel components against dense eigenvectors, and their modes at a new point."""

from dataclasses import replace

import naive
from noisy_lap import noisy_lap
import numpy as np
import pytest

from two_manifold_ros.manifold import kernel_pca
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap, LARGEST_GAIN, NearModes
from two_manifold_ros.manifold.learner import leading_modes, PointSet
from two_manifold_ros.ticks.windows import WindowSet

KAPPA = 8
KINDS = {
    'default': {},
    'binary': {'heat': False},
    'unscaled': {'scaled': False},
    'plain': {'normalised': False},
    'plain binary unscaled': {'normalised': False, 'heat': False, 'scaled': False},
}


@pytest.mark.parametrize('kind', KINDS)
def test_coordinates_are_dense_eigenvectors(kind):
    windows = noisy_lap()
    learner = LaplacianEigenmap(10, KAPPA, **KINDS[kind])
    embedding = learner.fit(windows)
    rows = windows.rows(np.arange(90))
    squared = naive.squared_distances(rows, rows)
    weights = naive.affinities(squared, KAPPA, embedding.bandwidth or np.inf)
    degrees = weights.sum(axis=1)
    laplacian = np.diag(degrees) - weights
    if learner.normalised:
        laplacian /= np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(laplacian)
    values, vectors = values[1:11], vectors[:, 1:11]
    np.testing.assert_allclose(embedding.eigenvalues, values, atol=1e-12)
    expected = np.sqrt(90.0) * vectors / np.sqrt(values if learner.scaled else 1.0)
    expected -= expected.mean(axis=0)
    naive.assert_same_to_signs(embedding.coordinates, expected, atol=1e-9)
    assert embedding.notes == ()


@pytest.mark.parametrize(('gap', 'precision'), [(0.0, 1e-9), (40.0, 1e-6)])
@pytest.mark.parametrize('kind', KINDS)
def test_training_windows_get_their_own_rows(kind, gap, precision):
    series = noisy_lap().series
    series[:, 47:] += gap
    windows = WindowSet(series, np.delete(np.arange(90), range(43, 47)), 5)
    embedding = LaplacianEigenmap(20, KAPPA, **KINDS[kind]).fit(windows)
    assert len(embedding.notes) == (gap > 0.0)
    rows = windows.rows(np.arange(len(windows)))
    squared = naive.squared_distances(rows, rows)
    found = np.array([embedding.extension.transform(row) for row in squared])
    np.testing.assert_allclose(found, embedding.coordinates, rtol=precision, atol=precision)


RADII = np.array([1.0, 1.0, 4.0, 4.0])
MODES = np.arange(8.0).reshape(4, 2)
BRIDGES = np.array([[0, 3], [3, 0]]), np.array([0.25, 0.25])
RESPONSE = NearModes(1.5, 2, 1, RADII, np.array([0.2, 0.5]), MODES, *BRIDGES)
PLAIN = replace(RESPONSE, normalised=0)
SQUARED = np.array([0.5, 2.0, 3.0, 6.0])
NEAR = np.exp(-SQUARED[:3] / (2.0 * 1.5**2))


def test_equations_for_the_normalised_and_the_plain_laplacian():
    degree = NEAR.sum() - 1.0
    modes = NEAR @ MODES[:3]
    expected = np.sqrt(degree) * modes / (np.array([0.8, 0.5]) * degree + 1.0)
    np.testing.assert_allclose(RESPONSE.weights(SQUARED), expected)
    np.testing.assert_allclose(PLAIN.weights(SQUARED), modes / (NEAR.sum() - [0.2, 0.5]))
    # What resembles nothing has none.
    assert RESPONSE.weights(SQUARED + 120.0) is not None
    for squared in (SQUARED + 140.0, np.full(4, 1e300), np.full(4, np.nan)):
        assert RESPONSE.weights(squared) is None
    # A bridge counts at its ends alone.
    without = replace(PLAIN, bridges=PLAIN.bridges[:0], bridge_weights=np.empty(0))
    at_end = np.array([0.0, 2.0, 3.0, 16.0])
    near = np.exp(-at_end[:3] / (2.0 * 1.5**2))
    expected = (near @ MODES[:3] + 0.25 * MODES[3]) / (near.sum() + 0.25 - [0.2, 0.5])
    np.testing.assert_allclose(PLAIN.weights(at_end), expected)
    for off in (at_end + 1e-6, at_end[[1, 0, 2, 3]]):
        np.testing.assert_array_equal(PLAIN.weights(off), without.weights(off))


@pytest.mark.parametrize('share', [-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0])
def test_a_mode_is_not_amplified_without_end(share):
    total = NEAR.sum()
    own = share * total / LARGEST_GAIN
    plain = replace(PLAIN, eigenvalues=np.array([0.2, total - own]))
    gain = plain.weights(SQUARED)[1] / (NEAR @ MODES[:3] / total)[1]
    expected = LARGEST_GAIN * (share if abs(share) < 1.0 else 1.0 / share)
    assert gain == pytest.approx(expected, abs=1e-9)


def centred(kernel: np.ndarray) -> np.ndarray:
    middle = np.eye(len(kernel)) - 1.0 / len(kernel)
    return middle @ kernel @ middle


@pytest.mark.parametrize('learner', [GaussianKernel, LinearKernel])
def test_all_components_are_the_centred_kernel(learner):
    """Those of small eigenvalues too, which rounding mixes with the constant."""
    points = np.random.default_rng(3).normal(size=(160, 2))
    squared = naive.squared_distances(points, points)
    embedding = learner(159).fit(PointSet(points))
    kernel = points @ points.T
    if learner is GaussianKernel:
        kernel = np.exp(squared / (-2.0 * embedding.bandwidth**2))
    found = embedding.coordinates @ embedding.coordinates.T
    wanted = centred(kernel)
    np.testing.assert_allclose(found, wanted, atol=1e-10 * np.abs(wanted).max())
    transformed = embedding.extension.transform(squared[7])
    np.testing.assert_allclose(transformed, embedding.coordinates[7], atol=1e-9)


def test_landmarks_stand_for_many_windows(monkeypatch):
    monkeypatch.setattr(kernel_pca, 'LANDMARKS', 31)
    windows = noisy_lap()
    embedding = GaussianKernel(12).fit(windows)
    members = embedding.extension.response.members
    assert len(members) == 31
    rows = windows.rows(np.arange(len(windows)))
    kernel = naive.gaussian(rows, rows, embedding.bandwidth)
    values, vectors = np.linalg.eigh(centred(kernel[np.ix_(members, members)]))
    inverse = (vectors[:, -12:] / values[-12:]) @ vectors[:, -12:].T
    nystrom = kernel[:, members] @ inverse @ kernel[members]
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, centred(nystrom), atol=1e-9)
    found = embedding.extension.transform(windows.distances_to(np.array([40]))[:, 0])
    np.testing.assert_allclose(found, embedding.coordinates[40], atol=1e-10)


def test_equal_blocks_keep_all_their_eigenvalues():
    # A solver that starts from a vector with the symmetry of the blocks sees only one of them.
    place = np.arange(40)
    block = np.exp(-((place[:, None] - place) ** 2) / 50.0)
    kernel = np.kron(np.eye(3), block)
    values, vectors = leading_modes(kernel, 8)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(kernel)[:-9:-1], rtol=1e-9)
    np.testing.assert_allclose(kernel @ vectors, vectors * values, atol=1e-9)
    # Those that are rounding are left out.
    factors = np.random.default_rng(0).normal(size=(30, 3))
    assert [each.shape for each in leading_modes(factors @ factors.T, 10)] == [(3,), (30, 3)]
