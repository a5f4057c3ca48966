# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of the live window: the recursion, mathematics (8.3), against direct ones."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.names import NOVEL
from two_manifold_ros.ticks import sliding


def test_rounding_makes_no_distance_negative():
    # Large differences come in and go out again, and what is left of their sum is rounding.
    rng = np.random.default_rng(2)
    series, stream = np.ones((2, 120)), np.ones((2, 120))
    series[:, :60] = 1e3 * rng.normal(size=(2, 60))
    stream[:, :60] = 1e3 * rng.normal(size=(2, 60))
    window = sliding.SlidingWindow(series, np.arange(111), 10)
    for seen in stream.T:
        window.push(seen)
        assert not window.full or window.distances().min() >= 0.0
    np.testing.assert_allclose(window.distances()[60:], 0.0, atol=1e-6)


SERIES = np.random.default_rng(0).normal(size=(2, 40))
STARTS = np.array([0, 1, 2, 9, 10, 20])


def check(window: sliding.SlidingWindow, width: int, seen: list[np.ndarray]) -> None:
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
    window, seen = sliding.SlidingWindow(SERIES, STARTS, width), []
    for act in acts:
        if act == 'clear':
            window.clear()
            seen = []
        else:
            seen.append(rng.normal(size=2))
            window.push(seen[-1])
        check(window, width, seen)


ANCHORS = sliding.NoveltyAnchors(squared=10.0, own=-2.0, other=-1.0, still=5)


def pushed(novelty: sliding.NoveltyScore, contrasts: list[float]) -> list[float]:
    """Push windows near enough for nothing but their contrast to count."""
    return [novelty.push(1e-3, 1e-3 / math.exp(value), 0) for value in contrasts]


def test_one_is_the_own_route_and_two_another_by_the_mean_logarithm_of_the_last_windows():
    """Before there are enough, of what there is."""
    assert sliding.contrast(1.0, math.e**3) == -3.0
    assert sliding.contrast(5.0, 5.0) == sliding.contrast(0.0, 0.0) == 0.0
    # What is there twice.
    assert sliding.contrast(0.0, 4.0) == math.log(sliding.SMALLEST_RATIO)
    one = sliding.NoveltyScore(ANCHORS, 1)
    assert pushed(one, [-2.0, -1.0, -3.0]) == pytest.approx([1.0, 2.0, 0.5])
    values = np.random.default_rng(0).uniform(-4.0, 0.0, 50).tolist()
    means = [np.mean(values[max(i - 6, 0) : i + 1]) for i in range(50)]
    wanted = [2.0 ** (mean + 2.0) for mean in means]
    assert pushed(sliding.NoveltyScore(ANCHORS, 7), values) == pytest.approx(wanted, rel=1e-12)
    # After a full round of ones alike, the mean is theirs to the last bit but one or two.
    novelty = sliding.NoveltyScore(ANCHORS, 50)
    sizes = np.random.default_rng(1).uniform(-6.0, 0.9, 50 * 1_200)
    pushed(novelty, (-(10.0**sizes)).tolist())
    assert pushed(novelty, [-2.0] * 50)[-1] == pytest.approx(1.0, abs=1e-15)
    # Routes that are hardly reported apart do not make it jump.
    for other in (-1.95, -2.0, -2.5):
        novelty = sliding.NoveltyScore(sliding.NoveltyAnchors(10.0, -2.0, other, 0), 1)
        assert pushed(novelty, [-2.0 + sliding.contrast_gap(-2.0, other)]) == pytest.approx([2.0])


def test_what_has_no_distance_leaves_no_trace_and_clearing_none_of_anything():
    novelty, other = sliding.NoveltyScore(ANCHORS, 4), sliding.NoveltyScore(ANCHORS, 4)
    values = [-2.0, -1.5, -1.0, -2.5, -0.5]
    wanted = pushed(other, values)
    assert pushed(novelty, values[:2]) == wanted[:2]
    assert math.isnan(novelty.push(math.nan, math.nan, 0))
    assert pushed(novelty, values[2:]) == wanted[2:]
    novelty.clear()
    assert pushed(novelty, values) == wanted


def test_a_window_far_from_all_is_refused_whatever_its_contrast():
    novelty = sliding.NoveltyScore(ANCHORS, 1)
    just = 10.0 * ANCHORS.squared
    assert novelty.push(just, 1e9, 0) == pytest.approx(NOVEL)
    assert novelty.push(3.0 * just, 1e9, 0) == pytest.approx(3.0 * NOVEL)
    # And so is a sensor that is still for a window longer than ever in training.
    novelty = sliding.NoveltyScore(ANCHORS, 20)
    found = [novelty.push(0.0, 1.0, still) for still in (0, 20, 25, 50)]
    assert max(found[:2]) < NOVEL
    assert found[2:] == pytest.approx([NOVEL, 2.0 * NOVEL])
