# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of the live window: the recursion, mathematics (8.3), against direct ones."""

from hypothesis import given
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.ticks.sliding import SlidingWindow


def test_rounding_makes_no_distance_negative():
    # Large differences come in and go out again, and what is left of their sum is rounding.
    rng = np.random.default_rng(2)
    series, stream = np.ones((2, 120)), np.ones((2, 120))
    series[:, :60] = 1e3 * rng.normal(size=(2, 60))
    stream[:, :60] = 1e3 * rng.normal(size=(2, 60))
    window = SlidingWindow(series, np.arange(111), 10)
    for seen in stream.T:
        window.push(seen)
        assert not window.full or window.distances().min() >= 0.0
    np.testing.assert_allclose(window.distances()[60:], 0.0, atol=1e-6)


SERIES = np.random.default_rng(0).normal(size=(2, 40))
STARTS = np.array([0, 1, 2, 9, 10, 20])


def check(window: SlidingWindow, width: int, seen: list[np.ndarray]) -> None:
    """Compare with all that was seen since the window was last cleared."""
    assert window.count == len(seen)
    assert window.full == (len(seen) >= width)
    if len(seen) < width:
        assert np.isnan(window.nearest_and_mean()).all()
        return
    expected = naive.window_distances(SERIES, np.array(seen[-width:]).T)[STARTS]
    np.testing.assert_allclose(window.distances(), expected, rtol=1e-9, atol=1e-10)
    wanted = (expected.min(), expected.mean())
    assert window.nearest_and_mean() == pytest.approx(wanted, rel=1e-9, abs=1e-10)


@given(st.integers(1, 9), st.lists(st.sampled_from(['push'] * 9 + ['clear']), max_size=60))
def test_pushing_and_clearing(width, acts):
    rng = np.random.default_rng(1)
    window, seen = SlidingWindow(SERIES, STARTS, width), []
    for act in acts:
        if act == 'clear':
            window.clear()
            seen = []
        else:
            seen.append(rng.normal(size=2))
            window.push(seen[-1])
        check(window, width, seen)
