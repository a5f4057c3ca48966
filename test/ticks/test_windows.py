# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Windows of training ticks, distances and nearest neighbours, against rows one by one."""

from hypothesis import example, given
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.ticks import windows as window_module
from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end, WindowSet


@given(st.lists(st.integers(0, 25), min_size=1, max_size=6), st.integers(1, 8))
@example([17, 16, 17], 8)
@example([2, 3, 0, 3], 1)
def test_no_window_crosses_a_seam(lengths, width):
    # Every observation has two values that occur nowhere else.
    values = np.arange(sum(lengths))
    segments = np.split(np.stack([values, -1.0 - values], axis=1), np.cumsum(lengths)[:-1])
    series, begins = lay_end_to_end(segments)
    found = find_training_ticks(series, begins, width)
    expected = list(naive.training_rows(segments, width))
    assert len(found.ticks) == len(found.pasts) == len(found.own) == len(expected)
    for i, (past, observation, own, shifted) in enumerate(expected):
        pick = np.array([i])
        np.testing.assert_array_equal(series[:, found.ticks[i]], observation)
        np.testing.assert_array_equal(found.pasts.rows(pick)[0], past.ravel())
        np.testing.assert_array_equal(found.futures.rows(found.own[pick])[0], own.ravel())
        np.testing.assert_array_equal(found.futures.rows(found.shifted[pick])[0], shifted.ravel())
    used = set(found.own) | set(found.shifted)
    assert used == set(range(len(found.futures))), 'a future window that is not used'


def flat_rows(windows: WindowSet) -> np.ndarray:
    series, width = windows.series, windows.width
    return np.array([series[:, start : start + width].T.ravel() for start in windows.starts])


def test_distances_to_some_and_pairs_are_of_different_windows_of_the_set():
    series = np.random.default_rng(0).normal(size=(3, 2010))
    windows, others = WindowSet(series, np.arange(2000), 6), np.array([0, 5, 1999])
    rows = flat_rows(windows)
    expected = naive.squared_distances(rows, rows[others])
    np.testing.assert_allclose(windows.distances_to(others), expected, atol=1e-11)
    assert windows.distances_to(others).min() >= 0.0
    windows = WindowSet(series, np.array([0, 3, 4, 20]), 5)
    rows = flat_rows(windows)
    expected = naive.squared_distances(rows, rows)[np.triu_indices(4, 1)]
    drawn = windows.pair_distances(3000)
    off = np.abs(drawn[:, None] - expected)
    assert off.min(axis=1).max() < 1e-12
    shares = np.bincount(off.argmin(axis=1), minlength=6) / len(drawn)
    assert shares == pytest.approx(1 / 6, abs=0.03)
    np.testing.assert_array_equal(drawn, windows.pair_distances(3000))


def nearest_of(distances: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest others of each, sorted by distance and then by index."""
    indices = []
    for index, row in enumerate(distances):
        others = [other for other in range(len(row)) if other != index]
        indices.append(sorted(others, key=lambda other: (row[other], other))[:count])
    found = np.array(indices, dtype=np.int64).reshape(len(distances), count)
    return found, np.take_along_axis(distances, found, axis=1)


increasing_starts = st.lists(st.integers(0, 60), min_size=1, max_size=25, unique=True).map(sorted)


@given(
    increasing_starts,
    st.integers(1, 9),
    st.integers(1, 30),
    st.sampled_from([1, 7, 1024]),
    st.integers(1, 3),
)
def test_neighbours_are_those_of_all_distances(starts, width, count, band, threads):
    """Of equal distances the first window is nearer."""
    # Numbers of which sums of squares are exact, so that many distances are equal.
    series = np.random.default_rng(width).integers(0, 3, (2, max(starts) + width))
    windows = WindowSet(series.astype(np.float64), np.array(starts, dtype=np.int64), width)
    count = min(count, len(starts) - 1)
    rows = flat_rows(windows)
    expected, squared = nearest_of(naive.squared_distances(rows, rows), count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_module, 'BAND', band)
        found = windows.neighbours(count, threads)
    assert np.array_equal(found[0], expected)
    assert np.array_equal(found[1], squared)
