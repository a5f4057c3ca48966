# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion maps beside a dense computation, and steps from a new point."""

import naive
from noisy_lap import noisy_lap
import numpy as np
import pytest

from two_manifold_ros.manifold.diffusion_map import DiffusionMap, Transition

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
