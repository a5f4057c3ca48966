# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The maps and bursts of Singer & Coifman, and how results are scored."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.independent_components import (
    agreement,
    best_mixture,
    Bursts,
    covariances_of_bursts,
    lines_of,
    mushroom,
    place_error,
    worst_line,
)
from two_manifold_ros.manifold.independent_components import local_covariances

X = np.random.default_rng(0).random((300, 2))


def test_bursts_show_the_jacobian():
    inside = np.array([[0.5, 0.5], [0.3, 0.7]])
    found = covariances_of_bursts(
        inside, Bursts(4000, 2, 1e-4), mushroom, local_covariances, np.random.default_rng(0)
    )
    for covariance, (first, second) in zip(found, inside, strict=True):
        jacobian = np.array([[1.0, 3.0 * second**2], [-3.0 * first**2, 1.0]])
        np.testing.assert_allclose(covariance, jacobian @ jacobian.T, rtol=0.15, atol=0.05)


def test_scores():
    cosines = np.cos(np.pi * X)
    turned = cosines @ np.array([[0.8, -0.6], [0.6, 0.8]])
    assert agreement(-cosines[:, ::-1], X) == pytest.approx(1.0)
    assert agreement(turned, X) < 0.9
    assert best_mixture(turned, X) == pytest.approx(1.0)
    assert best_mixture(np.stack([cosines[:, 0], X[:, 0]], axis=1), X) < 0.2
    # Of mean square one, as what is found.
    assert place_error(np.sqrt(2.0) * np.stack([-cosines[:, 1], cosines[:, 0]], axis=1), X) < 1e-9
    assert place_error(np.sqrt(2.0) * turned, X) > 0.15
    lines = lines_of(np.exp(-0.005 * np.pi**2 / 2.0 * np.array([1, 1, 2, 4, 4, 5, 5.5])), 0.005)
    assert worst_line(lines) == pytest.approx(0.5)
