# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The torus, the globe, and how a projection is found and judged."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.mkdr import (
    claim_one_direction,
    eigenvectors_of,
    Globe,
    grid_on_torus,
    multiple_correlation,
    noisy_on_torus,
    project,
    temperatures_on,
)


def test_a_torus_with_a_disk():
    torus = grid_on_torus(20)
    x, y, z = torus.points[:, :3].T
    np.testing.assert_allclose((np.hypot(x, y) - 2.0) ** 2 + z**2, 1.0)
    assert not torus.points[:, 3:].any()
    away = np.hypot(torus.tube - np.pi, torus.axis - np.pi)
    assert torus.responses[away < 0.5 * np.pi].min() > 0.99
    assert torus.responses[away > 0.7 * np.pi].max() < 0.01
    noisy = noisy_on_torus(400, seed=1)
    assert noisy.points[:, 3:].std() == pytest.approx(0.1, rel=0.05)
    assert np.array_equal(noisy.points, noisy_on_torus(400, seed=1).points)
    assert not np.array_equal(noisy.points, noisy_on_torus(400, seed=2).points)


def test_a_temperature_on_the_globe():
    globe = Globe.of(44, 72)
    points = globe.points
    assert points.shape == (3_168, 3)
    np.testing.assert_allclose(np.sum(points**2, axis=1), 1.0)
    np.testing.assert_allclose(np.degrees(np.arcsin(points[::72, 2])), globe.latitudes)
    degrees = temperatures_on(globe, seed=1).reshape(44, 72)
    assert degrees[20:24].mean() > degrees[[0, -1]].mean() + 15.0
    north = np.abs(globe.latitudes - 72.0) < 3.0
    ice = np.abs(globe.longitudes + 41.0) < 6.0
    assert degrees[np.ix_(north, ice)].mean() < degrees[north].mean() - 5.0
    assert np.array_equal(degrees.ravel(), temperatures_on(globe, seed=1))


def test_a_projection_rises_with_the_response_and_hides_some():
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((300, 4))
    responses = 7.0 - columns[:, 2] + 0.1 * rng.standard_normal(300)
    found = project(columns, responses, seed=0)
    assert np.corrcoef(found.values, responses)[0, 1] == pytest.approx(found.correlation)
    assert found.correlation > 0.98
    assert found.hidden_correlation > 0.98
    assert multiple_correlation(columns[:, :2], responses) < 0.3
    assert multiple_correlation(columns[:, 1:], responses) > 0.98
    noise = project(rng.standard_normal((50, 30)), rng.standard_normal(50), seed=0)
    assert noise.correlation > 0.6
    assert abs(noise.hidden_correlation) < 0.4


def test_a_response_whose_square_takes_another_direction():
    torus = grid_on_torus(14)
    eigenvectors = eigenvectors_of(torus.points, 20, 10)
    claims = [
        claim_one_direction('', [project(eigenvectors, responses, seed=0)], 0.9)
        for responses in (torus.responses, np.sin(torus.tube))
    ]
    assert [claim.passed for claim in claims] == [True, False]
    assert claims[0].ours.endswith(' (rank 2)')
