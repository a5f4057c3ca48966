# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Local metrics beside dense pseudo-inverses, and covariances of bursts."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.learner import PointSet, Samples
from two_manifold_ros.manifold.local_metric import (
    GivenCovariances,
    local_covariances,
    LocalMetric,
    NeighboursInTime,
)
from two_manifold_ros.ticks.windows import WindowSet

RNG = np.random.default_rng(0)
POINTS = PointSet(RNG.normal(size=(40, 3)))


def lengths(metric: LocalMetric, samples: Samples, index: int) -> np.ndarray:
    """Return squared lengths of differences to all points, as one sees them."""
    squared = samples.distances_to(np.arange(len(samples)))
    return np.square(metric.frame(index, squared)).sum(axis=1)


def expected(samples: Samples, covariance: np.ndarray, index: int, rank: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    inverse = (vectors[:, -rank:] / values[-rank:]) @ vectors[:, -rank:].T
    rows = samples.rows(np.arange(len(samples)))
    return np.einsum('ni,ij,nj->n', rows - rows[index], inverse, rows - rows[index])


@pytest.mark.parametrize('rank', [1, 2, 3])
def test_given_covariances(rank: int) -> None:
    factors = RNG.normal(size=(40, 3, 3))
    covariances = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(3)
    metric = GivenCovariances(covariances, rank).measure(POINTS)
    for index in (0, 17, 39):
        found = lengths(metric, POINTS, index)
        wanted = expected(POINTS, covariances[index], index, rank)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    squared = POINTS.distances_to(np.arange(40))
    some = np.array([3, 9])
    np.testing.assert_allclose(
        metric.frames(some, squared[:, 5]),
        [metric.frame(3, squared[:, 5]), metric.frame(9, squared[:, 5])],
    )


def test_points_in_a_plane_need_no_more_members_than_it() -> None:
    flat = PointSet(np.column_stack([POINTS.points[:, :2], np.zeros(40)]))
    metric = GivenCovariances(np.tile(np.diag([1.0, 4.0, 0.0]), (40, 1, 1)), 3).measure(flat)
    assert metric.members.shape == (40, 3)
    squared = np.square((flat.points - flat.points[7]) / [1.0, 2.0, 1.0]).sum(axis=1)
    np.testing.assert_allclose(lengths(metric, flat, 7), squared, atol=1e-9)


def test_no_variance_is_that_of_the_nearest() -> None:
    covariances = np.tile(np.eye(3), (40, 1, 1))
    covariances[4] = 0.0
    distances = POINTS.distances_to(np.array([4]))[:, 0]
    near = int(np.argsort(distances)[1])
    covariances[near] = 25.0 * np.eye(3)
    metric = GivenCovariances(covariances, 3).measure(POINTS)
    np.testing.assert_allclose(lengths(metric, POINTS, 4), distances / 25.0, atol=1e-9)


def windows_of_two_segments() -> WindowSet:
    series = RNG.normal(size=(2, 60)).cumsum(axis=1)
    starts = np.concatenate([np.arange(0, 26), np.arange(30, 56)])
    return WindowSet(series, starts, 5)


@pytest.mark.parametrize(('index', 'first', 'last'), [(10, 7, 13), (25, 22, 25), (26, 26, 29)])
def test_neighbours_in_time_end_at_a_seam(index: int, first: int, last: int) -> None:
    windows = windows_of_two_segments()
    metric = NeighboursInTime(3, 2).measure(windows)
    covariance = np.cov(windows.rows(np.arange(first, last + 1)).T, ddof=0)
    found = lengths(metric, windows, index)
    np.testing.assert_allclose(found, expected(windows, covariance, index, 2), atol=1e-9)


def test_other_points_follow_each_other() -> None:
    metric = NeighboursInTime(2, 3).measure(POINTS)
    wanted = expected(POINTS, np.cov(POINTS.points[6:11].T, ddof=0), 8, 3)
    np.testing.assert_allclose(lengths(metric, POINTS, 8), wanted, rtol=1e-6, atol=1e-9)


def test_more_rank_than_there_is() -> None:
    metric = NeighboursInTime(1, 5).measure(POINTS)
    assert metric.coefficients.shape == (40, 3, 5)
    assert not metric.coefficients[:, :, 2:].any()


def test_nothing_moves() -> None:
    with pytest.raises(InputError, match='no point moves'):
        NeighboursInTime(3, 2).measure(PointSet(np.ones((9, 2))))
    with pytest.raises(InputError, match='no point moves'):
        GivenCovariances(np.zeros((40, 3, 3)), 2).measure(POINTS)


def test_what_does_not_fit() -> None:
    with pytest.raises(InputError, match=r'instead of \(40, 3, 3\)'):
        GivenCovariances(np.ones((40, 2, 2)), 2).measure(POINTS)
    for source in (GivenCovariances(np.ones((40, 3, 3)), 0), NeighboursInTime(2, 0)):
        with pytest.raises(InputError, match='is 0, but must be at least 1'):
            source.measure(POINTS)


def test_one_step_is_second_moments_about_the_start() -> None:
    bursts = np.random.default_rng(0).normal(size=(3, 40, 2, 2))
    moved = bursts[:, :, 1] - bursts[:, :, 0]
    for found, each in zip(local_covariances(bursts, 0.5), moved, strict=True):
        np.testing.assert_allclose(found, sum(np.outer(row, row) for row in each) / 40 / 0.5)


def test_more_steps_see_less_of_a_wall() -> None:
    steps = np.random.default_rng(1).normal(scale=0.01**0.5, size=(1, 4000, 100, 1))
    walks = np.concatenate([np.zeros((1, 4000, 1, 1)), steps.cumsum(axis=2)], axis=2)
    bursts = np.abs(walks)  # a wall at the start, of which the variance is 1
    assert local_covariances(bursts, 1.0).item() == pytest.approx(1.0, abs=0.08)
    # Folding takes 2 / pi off the variance of a path's end.
    ends = bursts[:, :, -1] - bursts[:, :, -1].mean(axis=1, keepdims=True)
    assert np.square(ends).mean() == pytest.approx(1.0 - 2.0 / np.pi, abs=0.02)


@pytest.mark.parametrize('shape', [(3, 4, 2), (3, 4, 1, 2), (0, 4, 3, 2)])
def test_no_steps(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match='bursts have the shape'):
        local_covariances(np.zeros(shape), 0.1)


def test_no_time() -> None:
    with pytest.raises(InputError, match='give a positive time'):
        local_covariances(np.zeros((3, 4, 2, 2)), 0.0)
