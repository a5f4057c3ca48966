# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The slow and fast system of Singer & Coifman 2008, section 1."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.slow_manifold import slowest, SlowSettings, SlowSystem


def test_the_fast_variable_is_fast():
    system, settings = SlowSystem(), SlowSettings(recordings=500, points=1, way=300)
    recorded = system.record(settings, np.random.default_rng(0))
    assert recorded.points.shape == (500, 2)
    np.testing.assert_allclose(np.linalg.norm(recorded.points, axis=1), 1.0 + recorded.slow)
    angles = np.unwrap(np.arctan2(*recorded.stretches.transpose(2, 0, 1)[::-1]))
    noises = np.square(np.diff(angles)).sum(axis=1) / (2 * system.half * system.step)
    assert noises.mean() == pytest.approx(2.0 * system.spread**2 / system.fast_time, rel=0.05)
    around = recorded.fast - system.spread * np.sin(2.0 * np.pi * recorded.slow)
    assert around.std() == pytest.approx(system.spread, rel=0.2)


def test_the_indicator_of_a_point_is_no_coordinate():
    smooth = np.cos(np.linspace(0.0, np.pi, 200))
    indicator = np.full(200, -0.01)
    indicator[17] = 2.0
    np.testing.assert_array_equal(slowest(np.stack([smooth, indicator], axis=1)), smooth)
    np.testing.assert_array_equal(slowest(np.stack([indicator, smooth], axis=1)), smooth)
    # Few points far out are no indicator of one.
    indicator[18] = 2.0
    np.testing.assert_array_equal(slowest(np.stack([indicator, smooth], axis=1)), indicator)
