# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiments with manifold kernel dimension reduction, their parts and the whole in small."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments import mkdr_torus
from two_manifold_ros.experiments.mkdr_images import (
    Poses,
    principal_coordinates,
    render,
    sample_poses,
)
from two_manifold_ros.experiments.mkdr_projection import multiple_correlation_of, project
from two_manifold_ros.experiments.mkdr_sphere import Globe, temperatures_on
from two_manifold_ros.experiments.mkdr_torus import grid_on_torus, noisy_on_torus, Shown
from two_manifold_ros.experiments.registry import experiments_named
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.typing import Floats


def test_a_torus_with_a_disk() -> None:
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


def test_a_temperature_on_the_globe() -> None:
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


def poses_of(turn: float = 0.0, lean: float = 0.0, shift: tuple[float, float] = (0, 0)) -> Poses:
    """Return the poses of one picture."""
    return Poses(np.array([turn]), np.array([lean]), np.array([shift], dtype=float))


def centre_of_white(picture: Floats) -> tuple[float, float]:
    """Return the mean row and column of what is bright."""
    rows, columns = np.nonzero(picture > 0.6)
    return float(rows.mean()), float(columns.mean())


def test_a_snowman_moves_as_told() -> None:
    (still,) = render(poses_of())
    assert still.shape == (110, 80)
    assert still.min() >= 0.0
    assert still.max() <= 1.0
    (shifted,) = render(poses_of(shift=(3, 5)))
    np.testing.assert_allclose(shifted[5:90, 10:70], still[10:95, 7:67])
    (leaning,) = render(poses_of(lean=10.0))
    assert centre_of_white(leaning)[1] > centre_of_white(still)[1] + 2.0
    noses = [render(poses_of(turn=turn))[0][31] for turn in (-45.0, 45.0)]
    assert noses[0][19:22].min() > 0.2
    assert noses[1][57:60].min() > 0.2
    assert max(still[31, 19:22].max(), still[31, 57:60].max()) < 0.2
    (behind,) = render(poses_of(turn=180.0))
    assert still[27, 33:37].min() < 0.1, 'an eye'
    assert behind[27, 33:37].min() > 0.6, 'none in the back of the head'


def test_poses_are_drawn_from_where_they_should() -> None:
    poses = sample_poses(2_000, seed=1)
    for values, most in ((poses.turn, 45.0), (poses.lean, 10.0), (poses.shift, 5.0)):
        assert 0.99 * most < np.abs(values).max() <= most
        assert values.mean() == pytest.approx(0.0, abs=0.1 * most)


def test_principal_coordinates_keep_distances() -> None:
    rows = np.random.default_rng(1).standard_normal((12, 40))
    rows[:, 10:] *= 1e-4
    found = principal_coordinates(rows)
    assert found.shape[1] <= 11
    distances = [np.linalg.norm(each[:1] - each, axis=1) for each in (rows, found)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=2e-2)


def test_what_a_projection_tells() -> None:
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((300, 4))
    responses = 7.0 - columns[:, 2] + 0.1 * rng.standard_normal(300)
    found = project(columns, responses, seed=0)
    assert np.corrcoef(found.values, responses)[0, 1] == pytest.approx(found.correlation)
    assert found.correlation > 0.98
    assert found.hidden_correlation > 0.98
    assert multiple_correlation_of(columns[:, :2], responses) < 0.3
    assert multiple_correlation_of(columns[:, 1:], responses) > 0.98
    noise = project(rng.standard_normal((50, 30)), rng.standard_normal(50), seed=0)
    assert noise.correlation > 0.6
    assert abs(noise.hidden_correlation) < 0.4


def test_a_response_whose_square_takes_another_direction() -> None:
    torus = grid_on_torus(14)
    eigenvectors = LaplacianEigenmap(20, 10, scaled=False).fit(PointSet(torus.points)).coordinates
    projection = project(eigenvectors, torus.responses, seed=0)
    claims = [
        mkdr_torus._claim_one_direction(
            '', [Shown(each, eigenvectors, projection)], mkdr_torus.QUICK
        )
        for each in (torus, replace(torus, responses=np.sin(torus.tube)))
    ]
    assert [claim.passed for claim in claims] == [True, False]
    assert claims[0].ours.endswith(' (rank 2)')


@pytest.mark.parametrize(
    ('name', 'count'), [('mkdr-torus', 6), ('mkdr-sphere', 3), ('mkdr-images', 3)]
)
def test_the_quick_form_of_each_passes(tmp_path: Path, name: str, count: int) -> None:
    (experiment,) = experiments_named(name)
    told: list[float] = []
    claims = experiment.run(tmp_path, lambda _, share: told.append(share), quick=True)
    assert [claim.what for claim in claims if not claim.passed] == []
    assert len(claims) == count
    assert (tmp_path / experiment.picture).read_bytes().startswith(b'\x89PNG')
    assert told == sorted(told)
