# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernel principal components against the kernel matrices themselves."""

import naive
from noisy_lap import noisy_lap
import numpy as np
import pytest

from two_manifold_ros.manifold import kernel_pca
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel
from two_manifold_ros.manifold.learner import leading_modes, PointSet


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
