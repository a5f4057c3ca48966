# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The eigenmap against dense eigenvectors of the normalised Laplacian."""

from collections.abc import Callable
from dataclasses import replace

import naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.affinity import NearAffinity
from two_manifold_ros.kernels.laplacian_eigenmap import (
    _leading,
    LaplacianEigenmap,
    SMALLEST_MODE,
)
from two_manifold_ros.windows.window_set import WindowSet

MakeWindows = Callable[..., WindowSet]
KAPPA = 8


def affinities_of(windows: WindowSet, bandwidth: float) -> np.ndarray:
    rows = windows.rows(np.arange(len(windows)))
    return naive.affinities(naive.squared_distances(rows, rows), KAPPA, bandwidth)


def test_coordinates_are_dense_eigenvectors(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = LaplacianEigenmap(10, KAPPA).fit(windows)
    weights = affinities_of(windows, embedding.bandwidth)
    eigenvalues, _, expected = naive.eigenmap(weights, 10)
    np.testing.assert_allclose(embedding.eigenvalues, eigenvalues, atol=1e-12)
    expected = expected - expected.mean(axis=0)
    signs = naive.align(embedding.coordinates, expected)
    np.testing.assert_allclose(embedding.coordinates, expected * signs, atol=1e-9)
    assert embedding.notes == ()


def test_inner_products_are_the_pseudo_inverse(make_windows: MakeWindows) -> None:
    windows = make_windows(count=40)
    embedding = LaplacianEigenmap(38, KAPPA).fit(windows)
    weights = affinities_of(windows, embedding.bandwidth)
    degrees = weights.sum(axis=1)
    laplacian = np.eye(40) - weights / np.sqrt(np.outer(degrees, degrees))
    # All but the last mode, whose share of the kernel is known.
    _, _, every = naive.eigenmap(weights, 39)
    middle = np.eye(40) - 1.0 / 40.0
    expected = 40.0 * np.linalg.pinv(laplacian) - np.outer(every[:, 38], every[:, 38])
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, middle @ expected @ middle, atol=1e-8)


def test_extension_reproduces_training_windows(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = LaplacianEigenmap(25, KAPPA).fit(windows)
    weights = affinities_of(windows, embedding.bandwidth)
    mu, vectors, coordinates = naive.eigenmap(weights, 25)
    assert mu[-1] < SMALLEST_MODE < mu[2]
    extended = mu > SMALLEST_MODE
    rows = windows.rows(np.arange(len(windows)))
    # A training window's row of W holds neighbours of the symmetrised graph, and not itself.
    whole = replace(embedding.extension, response=NearAffinity(embedding.bandwidth, len(windows)))
    degrees = weights.sum(axis=1)
    for i in (0, 33, 89):
        squared = naive.squared_distances(rows[i : i + 1], rows)[0]
        found = whole.transform(np.where(weights[i] > 0.0, squared, np.inf))
        np.testing.assert_allclose(
            found[extended], embedding.coordinates[i, extended], rtol=1e-13, atol=1e-11
        )
        quotient = weights[i] / np.sqrt(degrees[i] * degrees) @ vectors / mu  # (8.1)
        np.testing.assert_allclose(quotient, vectors[i], atol=1e-13)
        walk = weights[i] / degrees[i] @ (vectors / np.sqrt(degrees)[:, None]) / mu  # (8.2)
        np.testing.assert_allclose(walk, vectors[i] / np.sqrt(degrees[i]), atol=1e-13)
    assert not embedding.extension.table[:, ~extended].any()
    assert coordinates.shape == embedding.coordinates.shape


def test_extension_of_a_new_window(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = LaplacianEigenmap(4, KAPPA).fit(windows)
    weights = affinities_of(windows, embedding.bandwidth)
    mu, vectors, coordinates = naive.eigenmap(weights, 4)
    rows = windows.rows(np.arange(len(windows)))
    new = rows[50] + 0.2
    squared = naive.squared_distances(new[None], rows)[0]
    near = np.argsort(squared)[:KAPPA]
    w = np.exp(-squared[near] / (2.0 * embedding.bandwidth**2))
    scaled = w / np.sqrt(w.sum() * weights.sum(axis=1)[near])
    extended = scaled @ vectors[near] / mu * np.sqrt(len(rows) / (1.0 - mu))  # (8.1)
    expected = (extended - coordinates.mean(axis=0)) * naive.align(
        embedding.coordinates, coordinates
    )
    found = embedding.extension.transform(squared)
    np.testing.assert_allclose(found, expected, atol=1e-9)
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


def test_twice_the_same(make_windows: MakeWindows) -> None:
    first, second = (LaplacianEigenmap(10, KAPPA).fit(make_windows()) for _ in range(2))
    np.testing.assert_array_equal(first.coordinates, second.coordinates)
    np.testing.assert_array_equal(first.extension.table, second.extension.table)


def test_regular_graph_twice_the_same() -> None:
    # Every degree is equal, so a constant start would already be an eigenvector.
    apart = np.abs(np.arange(256)[:, None] - np.arange(256))
    ring = csr_matrix(np.isin(np.minimum(apart, 256 - apart), range(1, 6)).astype(float))
    first, second = (_leading(ring, np.full(256, 10.0), 9) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


def test_signs_are_fixed(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = LaplacianEigenmap(10, KAPPA).fit(windows)
    vectors = embedding.coordinates - embedding.extension.offset
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(10)] > 0.0).all()


@pytest.mark.parametrize(('dimension', 'neighbours'), [(29, 5), (5, 30)])
def test_too_few_windows(dimension: int, neighbours: int, make_windows: MakeWindows) -> None:
    with pytest.raises(InputError, match='30 points are too few'):
        LaplacianEigenmap(dimension, neighbours).fit(make_windows(count=30))


def test_identical_windows() -> None:
    with pytest.raises(InputError, match='identical'):
        LaplacianEigenmap(3, 5).fit(WindowSet(np.ones((2, 30)), np.arange(26), 5))
