# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The slow and fast system of Singer & Coifman 2008, section 1."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.slow_manifold import slowest


def test_the_indicator_of_a_point_is_no_coordinate():
    smooth = np.cos(np.linspace(0.0, np.pi, 200))
    indicator = np.full(200, -0.01)
    indicator[17] = 2.0
    np.testing.assert_array_equal(slowest(np.stack([smooth, indicator], axis=1)), smooth)
    np.testing.assert_array_equal(slowest(np.stack([indicator, smooth], axis=1)), smooth)
    # Few points far out are no indicator of one.
    indicator[18] = 2.0
    np.testing.assert_array_equal(slowest(np.stack([indicator, smooth], axis=1)), indicator)
