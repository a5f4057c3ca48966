# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Points, affinities, the neighbour graph with its bridges, landmarks, and modes."""

from hypothesis import given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from two_manifold_ros.manifold import learner as module
from two_manifold_ros.ticks.windows import WindowSet


def test_affinities_and_a_connected_graph_is_left_alone():
    windows = WindowSet(np.random.default_rng(0).normal(size=(2, 54)), np.arange(50), 5)
    rows = windows.rows(np.arange(50))
    graph = module.affinity_graph(*windows.neighbours(6), 1.7)
    expected = naive.affinities(naive.squared_distances(rows, rows), 6, 1.7)
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-13)
    joined, notes = module.connect(graph, windows, 1.7, 6)
    assert not notes
    assert (joined != graph).nnz == 0


@pytest.mark.parametrize('probes', [200, 5])
def test_pieces_are_joined(probes):
    """Windows of one tick in clusters of 12 along a line."""
    rng = np.random.default_rng(0)
    values = np.concatenate([at + rng.uniform(-1.0, 1.0, 12) for at in (0.0, 10.0, 25.0, 60.0)])
    windows = WindowSet(values[None], np.arange(48), 1)
    graph = module.affinity_graph(*windows.neighbours(4), 2.0)
    joined, (note,) = module.connect(graph, windows, 2.0, 4, probes)
    assert 'fell into 4 pieces' in note
    assert connected_components(joined, directed=False)[0] == 1
    assert (joined != joined.T).nnz == 0
    added = (joined - graph).tocoo()
    # Each edge goes to the neighbouring cluster, and far ones weigh enough to be felt.
    assert (np.abs(added.row // 12 - added.col // 12) == 1).all()
    assert added.data.min() == pytest.approx(1e-3)
    # They are joined where they are nearest.
    points = module.PointSet(np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])[:, None])
    graph = module.affinity_graph(*points.neighbours(2), 5.0)
    joined, (note,) = module.connect(graph, points, 5.0, 2)
    bridges = np.zeros((6, 6))
    bridges[[2, 3], [3, 2]] = np.exp(-49.0 / 50.0)
    np.testing.assert_allclose((joined - graph).toarray(), bridges)
    assert 'fell into 2 pieces' in note
    assert 'more than 2 neighbours' in note


def laplacian_of(weights: np.ndarray) -> csc_matrix:
    return csc_matrix(np.diag(weights.sum(axis=1)) - weights)


@pytest.mark.parametrize('modes', [5, 28])
def test_dense_eigenvectors(modes):
    weights = np.random.default_rng(0).uniform(size=(30, 30))
    matrix = laplacian_of(weights + weights.T)
    values, vectors = np.linalg.eigh(matrix.toarray())
    found, columns = module.smallest_modes(matrix, np.full(30, 30**-0.5), modes)
    np.testing.assert_allclose(found, values[1 : modes + 1], rtol=1e-11)
    naive.assert_same_to_signs(columns, vectors[:, 1 : modes + 1], atol=1e-9)
    assert (columns[np.abs(columns).argmax(axis=0), np.arange(modes)] > 0.0).all()
    # Of two rings a second zero is reported apart from the known one.
    away = np.abs(np.arange(40)[:, None] - np.arange(40))
    apart = np.kron(np.eye(2), np.isin(away, (1, 39)).astype(float))
    found, columns = module.smallest_modes(laplacian_of(apart), np.full(80, 80**-0.5), 3)
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(np.abs(columns[:, 0]), 80**-0.5, rtol=1e-6)


@pytest.mark.parametrize('few', [0, 1000], ids=['products', 'inverse'])
@pytest.mark.parametrize('modes', [4, 28])
def test_dense_eigenvectors_of_a_walk(modes, few):
    weights = np.random.default_rng(0).uniform(size=(30, 30))
    weights += weights.T
    degrees = weights.sum(axis=1)
    values, vectors = np.linalg.eigh(weights / np.sqrt(np.outer(degrees, degrees)))
    values, vectors = values[::-1][1 : modes + 1], vectors[:, ::-1][:, 1 : modes + 1]
    found, functions = module.walk_modes(csr_matrix(weights), modes, few)
    np.testing.assert_allclose(found, values, atol=1e-12)
    expected = vectors * np.sqrt(degrees.sum() / degrees)[:, None]
    naive.assert_same_to_signs(functions, expected, atol=1e-9)
    np.testing.assert_allclose(degrees @ np.square(functions) / degrees.sum(), 1.0)


def test_points_along_a_thread(monkeypatch):
    # Products alone would need thousands of restarts.
    tried, real = [], module.smallest_modes
    monkeypatch.setattr(module, 'smallest_modes', lambda *given: tried.append(1) or real(*given))
    weights = np.eye(801) + np.eye(801, k=1) + np.eye(801, k=-1)
    found, functions = module.walk_modes(csr_matrix(weights), 2, few=0)
    assert tried
    walk = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(walk @ functions, functions * found, atol=1e-9)
    assert 1.0 - found[1] == pytest.approx(4.0 * (1.0 - found[0]), rel=1e-2)


@pytest.mark.parametrize('size', [10, 600], ids=['inverse', 'products'])
def test_a_graph_that_hardly_hangs_together_does_not_mix_its_halves(size):
    weights = np.kron(np.eye(2), np.ones((size, size)))
    weights[0, size] = weights[size, 0] = 1e-15
    _, functions = module.walk_modes(csr_matrix(weights), 2)
    halves = np.repeat([1.0, -1.0], size)
    assert abs(functions[:, 0] @ halves) / (2 * size) == pytest.approx(1.0)


POINTS = np.random.default_rng(0).normal(size=(40, 2))
BETWEEN = naive.squared_distances(POINTS, POINTS)
RADII = module.PointSet(POINTS).neighbours(5)[1][:, -1]


def test_rows_of_the_graph_and_oneself():
    graph = naive.affinities(BETWEEN, 5, 1.0) > 0.0
    for i in range(40):
        # As distances are when they come from a recursion.
        near = module.near_points(BETWEEN[i] * (1.0 + 1e-12), 5, RADII)
        np.testing.assert_array_equal(near, np.flatnonzero(graph[i] | (np.arange(40) == i)))
    # And of a new point.
    squared = np.square(POINTS - [0.3, -0.2]).sum(axis=1)
    expected = set(np.argsort(squared)[:6]) | set(np.flatnonzero(squared <= RADII))
    assert len(expected) > 6
    assert set(module.near_points(squared, 5, RADII)) == expected


@given(st.integers(2, 25), st.integers(1, 4), st.integers(1, 12), st.integers(0, 999))
@settings(max_examples=50)
def test_neighbours_of_every_point(n, width, count, seed):
    # Small whole numbers make many ties and duplicates.
    points = np.random.default_rng(seed).integers(-1, 2, size=(n, width)).astype(float)
    expected = naive.squared_distances(points, points)
    indices, squared = module.PointSet(points).neighbours(count)
    assert indices.shape == squared.shape == (n, min(count, n - 1))
    for i in range(n):
        np.testing.assert_array_equal(squared[i], np.sort(np.delete(expected[i], i))[:count])
        np.testing.assert_array_equal(expected[i, indices[i]], squared[i])
        assert i not in indices[i]
        assert len(set(indices[i].tolist())) == len(indices[i])


def test_many_points_are_spread():
    spread = module.spread_landmarks(90, 31)
    assert len(spread) == 31
    assert spread[[0, -1]].tolist() == [0, 89]
    # Of 29 stretches of three points each, or four in one or the other.
    assert np.diff(spread).min() >= 1
    assert np.diff(spread).max() <= 7
    assert np.bincount((spread - 1) % 3).min() > 3, 'all at the same place of a stretch'
    np.testing.assert_array_equal(spread, module.spread_landmarks(90, 31))
