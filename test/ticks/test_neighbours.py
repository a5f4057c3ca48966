# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest windows by diagonals against all distances, one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.ticks import neighbours
from two_manifold_ros.ticks.neighbours import window_neighbours
from two_manifold_ros.ticks.windows import WindowSet


def rows_of(series: np.ndarray, starts: np.ndarray, width: int) -> np.ndarray:
    return np.array([series[:, start : start + width].T.ravel() for start in starts])


def nearest_of(distances: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest others of each, sorted by distance and then by index."""
    indices = []
    for index, row in enumerate(distances):
        others = [other for other in range(len(row)) if other != index]
        indices.append(sorted(others, key=lambda other: (row[other], other))[:count])
    found = np.array(indices, dtype=np.int64).reshape(len(distances), count)
    return found, np.take_along_axis(distances, found, axis=1)


increasing_starts = st.lists(st.integers(0, 60), min_size=1, max_size=25, unique=True).map(sorted)


@given(increasing_starts, st.integers(1, 9), st.integers(1, 30), st.integers(0, 99))
@settings(derandomize=True, deadline=None)
def test_neighbours_are_those_of_all_distances(starts, width, count, seed):
    series = np.random.default_rng(seed).normal(size=(3, max(starts) + width + 3))
    windows = WindowSet(series, np.array(starts, dtype=np.int64), width)
    count = min(count, len(starts) - 1)
    rows = rows_of(series, windows.starts, width)
    expected, squared = nearest_of(naive.squared_distances(rows, rows), count)
    found = windows.neighbours(count)
    assert np.array_equal(found[0], expected)
    assert np.allclose(found[1], squared, atol=1e-10)


@pytest.mark.parametrize('band', [1, 7, 1024])
def test_of_equal_distances_the_first_window_is_nearer(band, monkeypatch):
    monkeypatch.setattr(neighbours, 'BAND', band)
    # Numbers of which sums of squares are exact, so that many distances are equal.
    series = np.random.default_rng(0).integers(0, 3, (2, 400)).astype(np.float64)
    starts = np.concatenate([np.arange(150), np.arange(180, 390)])
    rows = rows_of(series, starts, 4)
    expected = nearest_of(naive.squared_distances(rows, rows), 12)
    for threads in (1, 2, 3):
        found = window_neighbours(series, starts, 4, 12, threads)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])


def test_the_result_is_the_same_bytes_with_any_number_of_threads():
    series = np.random.default_rng(1).normal(size=(6, 5000)).cumsum(axis=1)
    starts = np.arange(4900)
    one, *others = (window_neighbours(series, starts, 40, 30, threads) for threads in (1, 2, 4))
    for other in others:
        assert one[0].tobytes() == other[0].tobytes()
        assert one[1].tobytes() == other[1].tobytes()
