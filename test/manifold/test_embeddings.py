# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion maps, eigenmaps and kernel components beside dense computations, and what is none."""

from collections.abc import Callable
from dataclasses import replace

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold import kernel_pca
from two_manifold_ros.manifold.diffusion_map import (
    AnisotropicDiffusion,
    DiffusionMap,
    GivenCovariances,
    LocalMetric,
    NeighboursInTime,
    power_mean,
    Transition,
)
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap, LARGEST_GAIN, NearModes
from two_manifold_ros.manifold.learner import (
    Embedding,
    leading_modes,
    median_distance,
    PointSet,
    Samples,
)
from two_manifold_ros.manifold.selection import check_extension, FitTransform, make_learner
from two_manifold_ros.ticks.windows import WindowSet


def noisy_lap(count: int = 90, width: int = 5) -> WindowSet:
    angles = np.arange(count + width - 1) * 2.0 * np.pi / 30.0
    series = np.stack([np.cos(angles), np.sin(angles)])
    series += 0.3 * np.random.default_rng(0).normal(size=series.shape)
    return WindowSet(series, np.arange(count), width)


RNG = np.random.default_rng(0)
X = RNG.uniform(size=(70, 2))
BENT = np.stack([X[:, 0] + X[:, 1] ** 3, X[:, 1] - X[:, 0] ** 3], axis=1)
JACOBIANS = np.array([[[1.0, 3.0 * y**2], [-3.0 * x**2, 1.0]] for x, y in X])
COVARIANCES = JACOBIANS @ JACOBIANS.transpose(0, 2, 1)
KAPPA = 9


def fitted(**changes: object) -> Embedding:
    learner = AnisotropicDiffusion(4, KAPPA, GivenCovariances(COVARIANCES, 2))
    return replace(learner, **changes).fit(PointSet(BENT))


def assert_is_dense(
    found: Embedding, squared: np.ndarray, near: int, density: float, dimension: int
) -> None:
    last = np.sort(squared, axis=1)[:, near]
    assert found.bandwidth == pytest.approx(np.sqrt(np.median(last) / 2.0))
    weights = naive.affinities(squared, near, found.bandwidth)
    np.fill_diagonal(weights, 1.0)
    values, expected = naive.diffusion_map(weights, density, dimension)
    np.testing.assert_allclose(found.eigenvalues, values, rtol=1e-9)
    naive.assert_same_to_signs(found.coordinates, expected, atol=1e-8)


@pytest.mark.parametrize(('density', 'power'), [(0.0, 1.0), (0.5, 0.0), (1.0, 0.5)])
def test_dense_eigenvectors(density, power):
    # Squared lengths of differences as the point of the row sees them.
    apart = BENT[:, None] - BENT
    seen = np.einsum('ijk,ikl,ijl->ij', apart, np.linalg.inv(COVARIANCES), apart)
    squared = power_mean(seen, seen.T, power)
    assert_is_dense(fitted(density=density, power=power), squared, KAPPA, density, 4)
    windows = noisy_lap()
    rows = windows.rows(np.arange(len(windows)))
    isotropic = DiffusionMap(6, 8, density).fit(windows)
    assert_is_dense(isotropic, naive.squared_distances(rows, rows), 8, density, 6)


def test_a_new_point_takes_the_covariance_of_the_nearest():
    embedding = fitted(density=0.5)
    new = BENT[20] + [0.004, -0.003]
    squared = np.square(BENT - new).sum(axis=1)
    assert squared.argmin() == 20
    response = embedding.extension.response
    found = response.weights(squared)
    inverses = np.linalg.inv(COVARIANCES)
    away = np.einsum('ij,jk,ik->i', BENT - new, inverses[20], BENT - new)
    back = np.einsum('ij,ijk,ik->i', BENT - new, inverses, BENT - new)
    near = np.exp(-(away + back) / (4.0 * embedding.bandwidth**2)) * response.factors
    near[np.setdiff1d(np.arange(70), np.flatnonzero(found))] = 0.0
    np.testing.assert_allclose(found, near / near.sum(), atol=1e-12)
    assert response.weights(squared + 1e6) is None, 'across all directions'
    assert response.weights(100.0 * squared + 10.0) is None, 'along them'


POINTS = PointSet(np.random.default_rng(0).normal(size=(40, 3)))


def assert_lengths(
    metric: LocalMetric, samples: Samples, covariance: np.ndarray, index: int, rank: int
) -> None:
    """Squared lengths of differences to all points are as one sees them."""
    squared = samples.distances_to(np.arange(len(samples)))
    found = np.square(metric.frame(index, squared)).sum(axis=1)
    values, vectors = np.linalg.eigh(covariance)
    inverse = (vectors[:, -rank:] / values[-rank:]) @ vectors[:, -rank:].T
    rows = samples.rows(np.arange(len(samples)))
    expected = np.einsum('ni,ij,nj->n', rows - rows[index], inverse, rows - rows[index])
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize('rank', [1, 2, 3])
def test_given_covariances(rank):
    factors = RNG.normal(size=(40, 3, 3))
    covariances = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(3)
    metric = GivenCovariances(covariances, rank).measure(POINTS)
    for index in (0, 17, 39):
        assert_lengths(metric, POINTS, covariances[index], index, rank)
    # No variance is that of the nearest.
    covariances = np.tile(np.eye(3), (40, 1, 1))
    covariances[4] = 0.0
    distances = POINTS.distances_to(np.array([4]))[:, 0]
    near = int(np.argsort(distances)[1])
    covariances[near] = 25.0 * np.eye(3)
    metric = GivenCovariances(covariances, 3).measure(POINTS)
    assert_lengths(metric, POINTS, covariances[near], 4, 3)


@pytest.mark.parametrize(('index', 'first', 'last'), [(10, 7, 13), (25, 22, 25), (26, 26, 29)])
def test_neighbours_in_time_end_at_a_seam(index, first, last):
    starts = np.concatenate([np.arange(0, 26), np.arange(30, 56)])
    windows = WindowSet(RNG.normal(size=(2, 60)).cumsum(axis=1), starts, 5)
    metric = NeighboursInTime(3, 2).measure(windows)
    covariance = np.cov(windows.rows(np.arange(first, last + 1)).T, ddof=0)
    assert_lengths(metric, windows, covariance, index, 2)


def test_other_points_follow_each_other():
    metric = NeighboursInTime(2, 3).measure(POINTS)
    assert_lengths(metric, POINTS, np.cov(POINTS.points[6:11].T, ddof=0), 8, 3)
    # More rank than there is.
    metric = NeighboursInTime(1, 5).measure(POINTS)
    assert metric.coefficients.shape == (40, 3, 5)
    assert not metric.coefficients[:, :, 2:].any()


@pytest.mark.parametrize(
    ('source', 'points', 'words'),
    [
        (NeighboursInTime(3, 2), PointSet(np.ones((9, 2))), 'no point moves'),
        (GivenCovariances(np.zeros((40, 3, 3)), 2), POINTS, 'no point moves'),
        (GivenCovariances(np.ones((40, 2, 2)), 2), POINTS, r'instead of \(40, 3, 3\)'),
    ],
)
def test_what_does_not_move_or_fit(source, points, words):
    with pytest.raises(InputError, match=words):
        source.measure(points)


def test_steps_to_the_nearest_and_to_those_it_is_near_to():
    squared = np.array([4.0, 1.0, 25.0, 9.0])
    near = Transition(2.0, 1, np.array([0.0, 0.0, 0.0, 9.0 - 1e-12]), np.array([1.0, 2.0, 1.0, 3]))
    # The two nearest, since a training point would be one of them, and the last by its radius.
    expected = np.exp(-squared / 8.0) * [1.0, 2.0, 0.0, 3.0]
    np.testing.assert_allclose(near.weights(squared), expected / expected.sum())
    # And to none that are out of reach.
    assert near.weights(squared + 200.0) is not None
    assert near.weights(squared + 240.0) is None


NEIGHBOURS = 8
KINDS = {
    'default': {},
    'binary': {'heat': False},
    'unscaled, narrow': {'scaled': False, 'width': 0.3},
    'plain': {'normalised': False},
    'plain binary unscaled': {'normalised': False, 'heat': False, 'scaled': False},
}


@pytest.mark.parametrize('kind', KINDS)
def test_coordinates_are_dense_eigenvectors(kind):
    windows = noisy_lap()
    learner = LaplacianEigenmap(10, NEIGHBOURS, **KINDS[kind])
    embedding = learner.fit(windows)
    rows = windows.rows(np.arange(90))
    squared = naive.squared_distances(rows, rows)
    weights = naive.affinities(squared, NEIGHBOURS, embedding.bandwidth or np.inf)
    degrees = weights.sum(axis=1)
    laplacian = np.diag(degrees) - weights
    if learner.normalised:
        laplacian /= np.sqrt(np.outer(degrees, degrees))
    bandwidth = learner.heat * learner.width * median_distance(windows)
    assert embedding.bandwidth == pytest.approx(bandwidth)
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
    embedding = LaplacianEigenmap(20, NEIGHBOURS, **KINDS[kind]).fit(windows)
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


COPIES = PointSet(np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], 10, axis=0))


def anisotropic(points: PointSet, **changes: float) -> object:
    source = GivenCovariances(np.tile(np.eye(2), (len(points), 1, 1)), 2)
    return AnisotropicDiffusion(2, 9, source, **changes).fit(points)


@pytest.mark.parametrize(
    ('make', 'words'),
    [
        (lambda: DiffusionMap(2, 5, 1.5), r'density is 1\.5, but must be between 0 and 1'),
        (lambda: DiffusionMap(2, 9).fit(COPIES), 'as many identical copies'),
        (lambda: anisotropic(COPIES, density=1.5), r'density is 1\.5'),
        (lambda: anisotropic(COPIES, power=-1.0), r'power is -1\.0'),
        (lambda: anisotropic(COPIES, epsilon=0.0), r'epsilon is 0\.0'),
        (lambda: AnisotropicDiffusion(2, 9, GivenCovariances(np.eye(2)[None], 0)), 'rank is 0'),
        (lambda: anisotropic(COPIES), 'identical'),
    ],
)
def test_what_makes_no_learner_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


CLUSTER = np.random.default_rng(0).normal(size=(20, 3))
CLUSTERS = PointSet(np.concatenate([CLUSTER, CLUSTER + 50.0]))


@pytest.mark.parametrize(
    ('name', 'field', 'spoil', 'words'),
    [
        ('gaussian', 'bandwidth', lambda _: 0.0, 'bandwidth holds 0'),
        ('diffusion-map', 'neighbours', lambda _: 40, 'neighbours holds 40'),
        ('diffusion-map', 'radii', lambda old: -old, 'radii holds -'),
        ('diffusion-map', 'factors', lambda old: 0.0 * old, 'factors holds 0'),
        ('anisotropic-diffusion', 'begins', lambda old: 0 * old, 'begins do not divide'),
        ('anisotropic-diffusion', 'power', lambda _: 1.5, 'power holds 1.5'),
    ],
)
def test_responses_that_do_not_fit(name, field, spoil, words):
    extension = make_learner(name, 3, 5).fit(CLUSTERS).extension
    check_extension(extension, 40)
    response = extension.response
    spoiled = replace(response, **{field: spoil(getattr(response, field))})
    with pytest.raises(ValueError, match=words):
        check_extension(replace(extension, response=spoiled), 40)


def made_by(result: Callable[[np.ndarray], object]) -> Embedding:
    """Embed with an object whose ``fit_transform`` returns this of the points."""
    made = type('Made', (), {'fit_transform': lambda _, x: result(x)})()
    return FitTransform(made).fit(CLUSTERS)


def test_whatever_has_fit_transform_is_a_learner():
    embedding = made_by(lambda x: (x[:, :2] / 2.0 + 7.0).tolist())
    wanted = (CLUSTERS.points - CLUSTERS.points.mean(axis=0))[:, :2] / 2.0
    np.testing.assert_allclose(embedding.coordinates, wanted, atol=1e-12)
    np.testing.assert_allclose(embedding.eigenvalues, np.square(wanted).sum(axis=0))
    check_extension(embedding.extension, 40)
    for result, words in (
        (lambda x: x[1:], r'Made made the shape \(39, 3\) of 40 points'),
        (lambda x: x[:, 0], r'shape \(40,\)'),
        (lambda x: x[:, :0], r'shape \(40, 0\)'),
        (lambda x: x * np.inf, 'not finite'),
        (lambda _: [['a']] * 40, 'Made cannot embed the points: could not convert'),
    ):
        with pytest.raises(InputError, match=words):
            made_by(result)
