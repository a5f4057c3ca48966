# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The eigenmap against dense eigenvectors of the Laplacian."""

from collections.abc import Callable

import naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.laplacian_eigenmap import (
    _normalised_modes,
    LaplacianEigenmap,
    SMALLEST_EIGENVALUE,
)
from two_manifold_ros.ticks.windows import WindowSet

MakeWindows = Callable[..., WindowSet]
KAPPA = 8


KINDS = {
    'default': {},
    'binary': {'weights': 'binary'},
    'unscaled': {'scaled': False},
    'plain': {'normalised': False},
    'plain binary unscaled': {'normalised': False, 'weights': 'binary', 'scaled': False},
}


def affinities_of(windows: WindowSet, bandwidth: float) -> np.ndarray:
    rows = windows.rows(np.arange(len(windows)))
    return naive.affinities(naive.squared_distances(rows, rows), KAPPA, bandwidth or np.inf)


def laplacian_of(weights: np.ndarray, learner: LaplacianEigenmap) -> np.ndarray:
    degrees = weights.sum(axis=1)
    if not learner.normalised:
        return np.diag(degrees) - weights
    return np.eye(len(weights)) - weights / np.sqrt(np.outer(degrees, degrees))


@pytest.mark.parametrize('kind', KINDS)
def test_coordinates_are_dense_eigenvectors(kind: str, make_windows: MakeWindows) -> None:
    windows = make_windows()
    learner = LaplacianEigenmap(10, KAPPA, **KINDS[kind])
    embedding = learner.fit(windows)
    laplacian = laplacian_of(affinities_of(windows, embedding.bandwidth), learner)
    values, vectors = np.linalg.eigh(laplacian)
    values, vectors = values[1:11], vectors[:, 1:11]
    np.testing.assert_allclose(embedding.eigenvalues, values, atol=1e-12)
    expected = np.sqrt(90.0) * vectors / np.sqrt(values if learner.scaled else 1.0)
    expected -= expected.mean(axis=0)
    signs = naive.align(embedding.coordinates, expected)
    np.testing.assert_allclose(embedding.coordinates, expected * signs, atol=1e-9)
    assert embedding.notes == ()


@pytest.mark.parametrize('normalised', [True, False])
def test_inner_products_are_the_pseudo_inverse(
    normalised: bool, make_windows: MakeWindows
) -> None:
    windows = make_windows(count=40)
    learner = LaplacianEigenmap(38, KAPPA, normalised)
    embedding = learner.fit(windows)
    laplacian = laplacian_of(affinities_of(windows, embedding.bandwidth), learner)
    # All but the last mode, whose share of the kernel is known.
    values, vectors = np.linalg.eigh(laplacian)
    last = np.outer(vectors[:, -1], vectors[:, -1]) / values[-1]
    middle = np.eye(40) - 1.0 / 40.0
    expected = 40.0 * middle @ (np.linalg.pinv(laplacian) - last) @ middle
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize('kind', KINDS)
def test_training_windows_get_their_own_rows(kind: str, make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = LaplacianEigenmap(20, KAPPA, **KINDS[kind]).fit(windows)
    rows = windows.rows(np.arange(len(windows)))
    squared = naive.squared_distances(rows, rows)
    found = np.array([embedding.extension.transform(row) for row in squared])
    np.testing.assert_allclose(found, embedding.coordinates, rtol=1e-9, atol=1e-9)


def test_new_windows_come_near_the_formula_of_nystrom(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = LaplacianEigenmap(4, KAPPA).fit(windows)
    weights = affinities_of(windows, embedding.bandwidth)
    mu, vectors, coordinates = naive.eigenmap(weights, 4)
    rows = windows.rows(np.arange(len(windows)))
    new = rows[50] + 0.2
    squared = naive.squared_distances(new[None], rows)[0]
    near = np.argsort(squared)[: KAPPA + 1]
    w = np.exp(-squared[near] / (2.0 * embedding.bandwidth**2))
    scaled = w / np.sqrt(w.sum() * weights.sum(axis=1)[near])
    extended = scaled @ vectors[near] / mu * np.sqrt(len(rows) / (1.0 - mu))  # (8.1)
    expected = (extended - coordinates.mean(axis=0)) * naive.align(
        embedding.coordinates, coordinates
    )
    found = embedding.extension.transform(squared)
    assert np.linalg.norm(found - expected) < 0.1 * np.linalg.norm(expected)
    assert embedding.extension.transform(squared + 1e6) is None


def test_pieces_are_joined_and_said(make_windows: MakeWindows) -> None:
    lap = make_windows(count=60, width=1)
    series = np.concatenate([lap.series, lap.series + 40.0], axis=1)
    embedding = LaplacianEigenmap(5, KAPPA).fit(WindowSet(series, np.arange(120), 1))
    (note,) = embedding.notes
    assert 'fell into 2 pieces' in note
    assert f'more than {KAPPA} neighbours' in note
    sides = np.sign(embedding.coordinates[:, 0])
    assert abs(sides[:60].sum()) == abs(sides[60:].sum()) == 60
    assert sides[0] != sides[-1]
    rows = series.T
    squared = naive.squared_distances(rows, rows)
    found = np.array([embedding.extension.transform(row) for row in squared])
    np.testing.assert_allclose(found, embedding.coordinates, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize('normalised', [True, False])
def test_pieces_that_hardly_hang_together(normalised: bool) -> None:
    # Five points have neighbours across the gap, of affinities so small that lambda is rounding.
    values = np.random.default_rng(0).uniform(size=65)
    values[60:] += 10.0
    windows = WindowSet(values[None], np.arange(65), 1)
    embedding = LaplacianEigenmap(3, KAPPA, normalised).fit(windows)
    assert embedding.notes == ()
    assert embedding.eigenvalues[0] >= SMALLEST_EIGENVALUE
    assert np.isfinite(embedding.coordinates).all()
    assert (np.diff(np.sign(embedding.coordinates[:, 0])) != 0).sum() == 1


def test_twice_the_same(make_windows: MakeWindows) -> None:
    first, second = (LaplacianEigenmap(10, KAPPA).fit(make_windows()) for _ in range(2))
    np.testing.assert_array_equal(first.coordinates, second.coordinates)
    np.testing.assert_array_equal(first.extension.table, second.extension.table)


def test_regular_graph_twice_the_same() -> None:
    # Every degree is equal, so a constant start would already be an eigenvector.
    apart = np.abs(np.arange(256)[:, None] - np.arange(256))
    ring = csr_matrix(np.isin(np.minimum(apart, 256 - apart), range(1, 6)).astype(float))
    first, second = (_normalised_modes(ring, np.full(256, 10.0), 9) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


@pytest.mark.parametrize('size', [10, 600], ids=['inverse', 'products'])
def test_a_graph_that_hardly_hangs_together_does_not_mix_its_halves(size: int) -> None:
    weights = np.kron(np.eye(2), np.ones((size, size)))
    weights[0, size] = weights[size, 0] = 1e-15
    _, vectors = _normalised_modes(csr_matrix(weights), weights.sum(axis=1), 2)
    halves = np.repeat([1.0, -1.0], size) / np.sqrt(2 * size)
    assert abs(vectors[:, 0] @ halves) == pytest.approx(1.0)


def test_signs_are_fixed(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = LaplacianEigenmap(10, KAPPA).fit(windows)
    vectors = embedding.coordinates - embedding.extension.offset
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(10)] > 0.0).all()


@pytest.mark.parametrize(('dimension', 'neighbours'), [(29, 5), (5, 30)])
def test_too_few_windows(dimension: int, neighbours: int, make_windows: MakeWindows) -> None:
    with pytest.raises(InputError, match='30 points are too few'):
        LaplacianEigenmap(dimension, neighbours).fit(make_windows(count=30))


@pytest.mark.parametrize('weights', ['heat', 'binary'])
def test_identical_windows(weights: str) -> None:
    with pytest.raises(InputError, match='identical'):
        LaplacianEigenmap(3, 5, weights=weights).fit(WindowSet(np.ones((2, 30)), np.arange(26), 5))


def test_no_such_weights() -> None:
    with pytest.raises(InputError, match="'cubic'; choose one of heat, binary"):
        LaplacianEigenmap(3, 5, weights='cubic')
