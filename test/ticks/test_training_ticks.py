# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training ticks and their windows, whatever the lengths of the segments."""

import itertools

from hypothesis import example, given, settings
from hypothesis import strategies as st
import naive
import numpy as np

from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end


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
def test_no_window_crosses_a_seam(lengths: list[int], width: int) -> None:
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
    assert used == set(range(len(found.futures))), 'a future window that nobody needs'


def test_series_is_laid_out_for_the_distance_loops() -> None:
    segments = numbered_segments([3, 0, 4])
    series, begins = lay_end_to_end(segments)
    assert series.flags.c_contiguous
    np.testing.assert_array_equal(series, np.concatenate(segments).T)
    np.testing.assert_array_equal(begins, [0, 3, 3, 7])
