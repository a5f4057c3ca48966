# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which points stand for all."""

import numpy as np

from two_manifold_ros.kernels.landmarks import spread_landmarks


def test_few_points_are_all_landmarks() -> None:
    np.testing.assert_array_equal(spread_landmarks(7, 7), np.arange(7))
    np.testing.assert_array_equal(spread_landmarks(7, 100), np.arange(7))


def test_many_points_are_spread() -> None:
    spread = spread_landmarks(90, 31)
    assert len(spread) == 31
    assert spread[[0, -1]].tolist() == [0, 89]
    assert np.ptp(np.diff(spread)) <= 1
