# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Windows of training ticks and their distances, against rows compared one by one."""

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end, WindowSet


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
@settings(derandomize=True, deadline=None)
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


def test_distances_to_some():
    windows = make_windows(list(range(2000)), 6)
    others = np.array([0, 5, 1999])
    rows = flat_rows(windows)
    expected = naive.squared_distances(rows, rows[others])
    np.testing.assert_allclose(windows.distances_to(others), expected, atol=1e-11)
    assert windows.distances_to(others).min() >= 0.0


def test_pairs_are_different_windows_of_the_set():
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
