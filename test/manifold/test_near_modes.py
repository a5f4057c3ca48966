# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The modes of a Laplacian at a new point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap, LARGEST_GAIN, NearModes
from two_manifold_ros.manifold.learner import PointSet

RADII = np.array([1.0, 1.0, 4.0, 4.0])
RESPONSE = NearModes(
    1.5,
    2,
    1,
    RADII,
    np.array([0.2, 0.5]),
    np.arange(8.0).reshape(4, 2),
    np.array([[0, 3], [3, 0]]),
    np.array([0.25, 0.25]),
)
SQUARED = np.array([0.5, 2.0, 3.0, 6.0])
NEAR = np.exp(-SQUARED[:3] / (2.0 * 1.5**2))


def test_equation_for_the_normalised_laplacian() -> None:
    degree = NEAR.sum() - 1.0
    expected = (
        np.sqrt(degree) * (NEAR @ RESPONSE.modes[:3]) / (np.array([0.8, 0.5]) * degree + 1.0)
    )
    np.testing.assert_allclose(RESPONSE.weights(SQUARED), expected)


def test_equation_for_the_plain_laplacian() -> None:
    plain = replace(RESPONSE, normalised=0)
    expected = (NEAR @ RESPONSE.modes[:3]) / (NEAR.sum() - [0.2, 0.5])
    np.testing.assert_allclose(plain.weights(SQUARED), expected)


def test_a_bridge_counts_at_its_ends_alone() -> None:
    plain = replace(RESPONSE, normalised=0)
    without = replace(plain, bridges=plain.bridges[:0], bridge_weights=np.empty(0))
    at_end = np.array([0.0, 2.0, 3.0, 16.0])
    near = np.exp(-at_end[:3] / (2.0 * 1.5**2))
    expected = (near @ plain.modes[:3] + 0.25 * plain.modes[3]) / (near.sum() + 0.25 - [0.2, 0.5])
    np.testing.assert_allclose(plain.weights(at_end), expected)
    np.testing.assert_array_equal(plain.weights(at_end + 1e-6), without.weights(at_end + 1e-6))
    other = np.array([2.0, 0.0, 3.0, 16.0])
    np.testing.assert_array_equal(plain.weights(other), without.weights(other))


@pytest.mark.parametrize('share', [-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0])
def test_a_mode_is_not_amplified_without_end(share: float) -> None:
    total = NEAR.sum()
    own = share * total / LARGEST_GAIN
    plain = replace(RESPONSE, normalised=0, eigenvalues=np.array([0.2, total - own]))
    gain = plain.weights(SQUARED)[1] / (NEAR @ RESPONSE.modes[:3] / total)[1]
    expected = LARGEST_GAIN * (share if abs(share) < 1.0 else 1.0 / share)
    assert gain == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize('normalised', [True, False])
def test_rough_modes_of_few_points_are_not_blown_up(normalised: bool) -> None:
    points = PointSet(np.random.default_rng(0).normal(size=(60, 2)))
    embedding = LaplacianEigenmap(50, 8, normalised=normalised).fit(points)
    squared = points.distances_from(points.points).T
    found = np.array([embedding.extension.transform(row) for row in squared])
    errors = np.square(found - embedding.coordinates).sum(axis=1)
    assert (errors < 1.001 * np.square(embedding.coordinates).sum(axis=1)).all()


def test_coordinates_do_not_jump_at_a_training_point() -> None:
    points = PointSet(np.random.default_rng(0).normal(size=(60, 2)))
    embedding = LaplacianEigenmap(6, 8).fit(points)
    beside = points.points[7] + 1e-9
    found = embedding.extension.transform(points.distances_from(beside[None])[:, 0])
    np.testing.assert_allclose(found, embedding.coordinates[7], atol=1e-6)


def test_resembling_nothing() -> None:
    assert RESPONSE.weights(SQUARED + 120.0) is not None
    assert RESPONSE.weights(SQUARED + 140.0) is None
    assert RESPONSE.weights(np.full(4, 1e300)) is None
    assert RESPONSE.weights(np.full(4, np.nan)) is None


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        ({'bandwidth': -1.0}, 'bandwidth is -1.0'),
        ({'neighbours': 4}, 'neighbours is 4'),
        ({'normalised': 2}, 'normalised is 2'),
        ({'radii': RADII[1:]}, 'radii are not'),
        ({'modes': np.ones((3, 2))}, 'modes has the shape'),
        ({'eigenvalues': np.ones((2, 1))}, 'eigenvalues has the shape'),
        ({'bridges': np.array([[0, 3]])}, 'bridges has the shape'),
        ({'bridge_weights': np.ones((2, 1))}, 'bridge_weights has the shape'),
        ({'bridges': np.array([[0, 4], [4, 0]])}, 'bridges lie outside'),
    ],
    ids=str,
)
def test_what_does_not_fit(changed: dict[str, Any], words: str) -> None:
    assert RESPONSE.check(4) == 2
    with pytest.raises(ValueError, match=words):
        replace(RESPONSE, **changed).check(4)
