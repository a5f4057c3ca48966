# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The newest observations as one point."""

import numpy as np

from two_manifold_ros.filtering.tracker import RecentWindow


def test_the_newest_observations_oldest_first() -> None:
    observations = np.arange(60.0).reshape(20, 3)
    window = RecentWindow(4, 3)
    for tick, observation in enumerate(observations):
        window.push(observation)
        assert window.count == tick + 1
        assert window.full == (tick >= 3)
        if window.full:
            np.testing.assert_array_equal(window.point, observations[tick - 3 : tick + 1].ravel())


def test_after_a_gap_it_fills_anew() -> None:
    window = RecentWindow(2, 1)
    for value in (1.0, 2.0, 3.0):
        window.push(np.array([value]))
    window.clear()
    assert window.count == 0
    assert not window.full
    window.push(np.array([7.0]))
    window.push(np.array([8.0]))
    np.testing.assert_array_equal(window.point, [7.0, 8.0])
