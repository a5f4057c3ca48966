# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The neighbour graph, and how its pieces are joined."""

from collections.abc import Callable

import naive
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from two_manifold_ros.manifold import graph as module
from two_manifold_ros.manifold.graph import affinity_graph, connect
from two_manifold_ros.ticks.windows import WindowSet


def scattered(centres: list[float], each: int = 12) -> WindowSet:
    """Windows of one tick in clusters along a line, each with as many members."""
    rng = np.random.default_rng(0)
    values = np.concatenate([centre + rng.uniform(-1.0, 1.0, each) for centre in centres])
    return WindowSet(values[None], np.arange(len(values)), 1)


def test_affinities(make_windows: Callable[..., WindowSet]) -> None:
    windows = make_windows(count=50)
    rows = windows.rows(np.arange(50))
    graph = affinity_graph(*windows.neighbours(6), 1.7)
    expected = naive.affinities(naive.squared_distances(rows, rows), 6, 1.7)
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-13)


def test_connected_graph_is_left_alone(make_windows: Callable[..., WindowSet]) -> None:
    windows = make_windows(count=50)
    graph = affinity_graph(*windows.neighbours(6), 1.7)
    joined, components = connect(graph, windows, 1.7)
    assert components == 1
    assert (joined != graph).nnz == 0


@pytest.mark.parametrize('probes', [200, 5])
def test_pieces_are_joined(probes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'PROBES', probes)
    windows = scattered([0.0, 10.0, 25.0, 60.0])
    graph = affinity_graph(*windows.neighbours(4), 2.0)
    joined, components = connect(graph, windows, 2.0)
    assert components == 4
    assert connected_components(joined, directed=False)[0] == 1
    assert (joined != joined.T).nnz == 0
    added = (joined - graph).tocoo()
    # Each edge goes to the neighbouring cluster, and far ones weigh enough to be felt.
    assert (np.abs(added.row // 12 - added.col // 12) == 1).all()
    assert added.data.min() == pytest.approx(1e-3)


def test_bridge_is_the_shortest() -> None:
    windows = scattered([0.0, 10.0])
    graph = affinity_graph(*windows.neighbours(4), 5.0)
    joined, _ = connect(graph, windows, 5.0)
    added = (joined - graph).tocoo()
    values = windows.series[0]
    gap = values[12:].min() - values[:12].max()
    assert set(zip(added.row, added.col, strict=True)) == {
        (int(values[:12].argmax()), 12 + int(values[12:].argmin())),
        (12 + int(values[12:].argmin()), int(values[:12].argmax())),
    }
    np.testing.assert_allclose(added.data, np.exp(-(gap**2) / 50.0), rtol=1e-9)


def test_window_far_from_all_others_is_joined() -> None:
    # Its affinities underflow to zero, which would leave a row without any weight.
    values = np.append(np.random.default_rng(0).uniform(size=20), 1e6)
    windows = WindowSet(values[None], np.arange(21), 1)
    graph = affinity_graph(*windows.neighbours(4), 0.5)
    joined, components = connect(graph, windows, 0.5)
    assert components == 2
    assert joined.sum(axis=1).min() > 0.0
