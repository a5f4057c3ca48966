# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours against a full sort, with many ties."""

from hypothesis import given, settings
from hypothesis import strategies as st
import naive
import numpy as np

from two_manifold_ros.windows.neighbours import nearest, nearest_neighbours
from two_manifold_ros.windows.window_set import WindowSet


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 40))
@settings(derandomize=True, deadline=None)
def test_nearest_is_the_front_of_a_full_sort(values: list[int], count: int) -> None:
    distances = np.array(values, dtype=float)
    found = nearest(distances, count)
    np.testing.assert_array_equal(distances[found], np.sort(distances)[:count])
    assert len(set(found.tolist())) == len(found) == min(count, len(values))
    ordered = sorted(found.tolist(), key=lambda i: (values[i], i))
    assert found.tolist() == ordered, 'equal distances come in the order of their indices'


@given(st.integers(2, 40), st.integers(1, 5), st.integers(1, 12), st.integers(0, 999))
@settings(derandomize=True, deadline=None)
def test_neighbours_of_every_window(n: int, width: int, count: int, seed: int) -> None:
    # Small whole numbers make many ties and no rounding.
    series = np.random.default_rng(seed).integers(-1, 2, size=(2, n + width - 1)).astype(float)
    windows = WindowSet(series, np.arange(n), width)
    rows = windows.rows(np.arange(n))
    expected = naive.squared_distances(rows, rows)
    indices, squared = nearest_neighbours(windows, count)
    assert indices.shape == squared.shape == (n, min(count, n - 1))
    for i in range(n):
        others = np.delete(expected[i], i)
        np.testing.assert_array_equal(squared[i], np.sort(others)[:count])
        np.testing.assert_array_equal(expected[i, indices[i]], squared[i])
        assert i not in indices[i]
        assert len(set(indices[i].tolist())) == len(indices[i])
