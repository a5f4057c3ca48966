# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The live window against a list of observations that is compared afresh."""

from hypothesis import given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.ticks import sliding as module
from two_manifold_ros.ticks.sliding import SlidingWindow

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
@settings(derandomize=True, deadline=None)
def test_pushing_and_clearing(width: int, acts: list[str]) -> None:
    rng = np.random.default_rng(len(acts))
    window, seen = SlidingWindow(SERIES, STARTS, width), []
    for act in acts:
        if act == 'clear':
            window.clear()
            seen = []
        else:
            seen.append(rng.normal(size=2))
            window.push(seen[-1])
        check(window, width, seen)


@pytest.mark.parametrize('cleared_at', [0, 255, 256, 257, 300])
def test_streams_longer_than_the_buffer(cleared_at: int) -> None:
    width = 7
    rng = np.random.default_rng(1)
    window, seen = SlidingWindow(SERIES, STARTS, width), []
    for tick in range(cleared_at + 4 * module.SLACK):
        if tick == cleared_at:
            window.clear()
            seen = []
        seen.append(rng.normal(size=2))
        window.push(seen[-1])
        check(window, width, seen)


def test_window_longer_than_the_slack_of_its_buffer() -> None:
    width = 2 * module.SLACK + 3
    rng = np.random.default_rng(2)
    series, starts = rng.normal(size=(2, width + 20)), np.array([0, 4, 20])
    stream = rng.normal(size=(3 * width, 2))
    window = SlidingWindow(series, starts, width)
    for tick, observation in enumerate(stream):
        window.push(observation)
        if tick >= width - 1 and tick % 50 == 0:
            newest = stream[tick - width + 1 : tick + 1].T
            expected = naive.window_distances(series, newest)[starts]
            np.testing.assert_allclose(window.distances(), expected, rtol=1e-9)


def test_observation_is_copied() -> None:
    window, observation = SlidingWindow(SERIES, STARTS, 2), np.ones(2)
    window.push(observation)
    observation[:] = 9.0
    window.push(np.zeros(2))
    check(window, 2, [np.ones(2), np.zeros(2)])


def test_compiled_and_numpy_forms_agree() -> None:
    distances = np.random.default_rng(4).normal(size=50)
    wanted = module._nearest_and_mean_arrays(distances, STARTS)
    assert module._nearest_and_mean_loops(distances, STARTS) == pytest.approx(wanted, rel=1e-12)
