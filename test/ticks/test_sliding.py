# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of the live window: the recursion, mathematics (8.3), against direct ones."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.ticks.sliding import direct_distances, slide, SlidingWindow


def test_rounding_makes_no_distance_negative():
    # Large differences come in and go out again, and what is left of their sum is rounding.
    rng = np.random.default_rng(2)
    series, stream = np.ones((2, 120)), np.ones((2, 120))
    series[:, :60] = 1e3 * rng.normal(size=(2, 60))
    stream[:, :60] = 1e3 * rng.normal(size=(2, 60))
    found = direct_distances(series, stream[:, :10])
    for position in range(1, 111):
        slide(found, series, stream, position, 10)
        assert found.min() >= 0.0
    np.testing.assert_allclose(found[60:], 0.0, atol=1e-6)


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


def follow(acts: Iterable[str], width: int) -> None:
    """Push and clear, and compare after each act."""
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


@given(st.integers(1, 9), st.lists(st.sampled_from(['push'] * 9 + ['clear']), max_size=60))
def test_pushing_and_clearing(width, acts):
    follow(acts, width)


@pytest.mark.parametrize('cleared_at', [0, 255, 256, 257, 300])
def test_streams_longer_than_the_buffer(cleared_at):
    follow(['push'] * cleared_at + ['clear'] + ['push'] * 4 * 256, 7)
