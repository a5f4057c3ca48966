# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Windows of training ticks, distances and nearest neighbours, against rows one by one."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.ticks import windows as window_module
from two_manifold_ros.ticks.windows import (
    find_training_ticks,
    lay_end_to_end,
    WindowSet,
)


def numbered_segments(lengths: list[int]) -> list[np.ndarray]:
    """Give every observation of every segment two values that occur nowhere else."""
    begins = np.cumsum([0, *lengths])
    return [
        np.stack([np.arange(a, b), -1.0 - np.arange(a, b)], axis=1)
        for a, b in itertools.pairwise(begins)
    ]


@given(st.lists(st.integers(0, 25), min_size=1, max_size=6), st.integers(1, 8))
@example([17, 16, 17], 8)
@example([2, 3, 0, 3], 1)
def test_no_window_crosses_a_seam(lengths, width):
    segments = numbered_segments(lengths)
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


def make_windows(starts: list[int], width: int, seed: int = 0) -> WindowSet:
    length = max(starts) + width + 3
    series = np.random.default_rng(seed).normal(size=(3, length))
    return WindowSet(series, np.array(starts, dtype=np.int64), width)


def flat_rows(windows: WindowSet) -> np.ndarray:
    return np.array(
        [windows.series[:, start : start + windows.width].T.ravel() for start in windows.starts]
    )


def test_distances_to_some_and_pairs_are_of_different_windows_of_the_set():
    windows = make_windows(list(range(2000)), 6)
    others = np.array([0, 5, 1999])
    rows = flat_rows(windows)
    expected = naive.squared_distances(rows, rows[others])
    np.testing.assert_allclose(windows.distances_to(others), expected, atol=1e-11)
    assert windows.distances_to(others).min() >= 0.0
    windows = make_windows([0, 3, 4, 20], 5)
    rows = flat_rows(windows)
    expected = naive.squared_distances(rows, rows)[np.triu_indices(4, 1)]
    drawn = windows.pair_distances(3000)
    off = np.abs(drawn[:, None] - expected)
    assert off.min(axis=1).max() < 1e-12
    assert off.min(axis=0).max() < 1e-12, 'a pair is never drawn'
    shares = np.bincount(off.argmin(axis=1)) / len(drawn)
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


@given(increasing_starts, st.integers(1, 9), st.integers(1, 30), st.integers(0, 99))
def test_neighbours_are_those_of_all_distances(starts, width, count, seed):
    series = np.random.default_rng(seed).normal(size=(3, max(starts) + width + 3))
    windows = WindowSet(series, np.array(starts, dtype=np.int64), width)
    count = min(count, len(starts) - 1)
    rows = flat_rows(windows)
    expected, squared = nearest_of(naive.squared_distances(rows, rows), count)
    found = windows.neighbours(count)
    assert np.array_equal(found[0], expected)
    assert np.allclose(found[1], squared, atol=1e-10)


@pytest.mark.parametrize('band', [1, 7, 1024])
def test_of_equal_distances_the_first_window_is_nearer(band, monkeypatch):
    monkeypatch.setattr(window_module, 'BAND', band)
    # Numbers of which sums of squares are exact, so that many distances are equal.
    series = np.random.default_rng(0).integers(0, 3, (2, 400)).astype(np.float64)
    starts = np.concatenate([np.arange(150), np.arange(180, 390)])
    rows = flat_rows(WindowSet(series, starts, 4))
    expected = nearest_of(naive.squared_distances(rows, rows), 12)
    for threads in (1, 2, 3):
        found = WindowSet(series, starts, 4).neighbours(12, threads)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])


def test_the_result_is_the_same_bytes_with_any_number_of_threads():
    series = np.random.default_rng(1).normal(size=(6, 5000)).cumsum(axis=1)
    windows = WindowSet(series, np.arange(4900), 40)
    one, *others = (windows.neighbours(30, threads) for threads in (1, 2, 4))
    for other in others:
        assert one[0].tobytes() == other[0].tobytes()
        assert one[1].tobytes() == other[1].tobytes()
