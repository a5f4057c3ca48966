# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The camera."""

import numpy as np
import pytest

from two_manifold_ros.simulation.slot_car import Camera, SlotCarSettings


def test_noise_is_five_millimetres_and_scales() -> None:
    seen = Camera(SlotCarSettings()).see(np.zeros((20_000, 3)))
    assert seen.std() == pytest.approx(0.005, rel=0.02)
    twice = Camera(SlotCarSettings(noise=2.0)).see(np.zeros((20_000, 3)))
    np.testing.assert_array_equal(twice, 2.0 * seen)


def test_one_by_one_is_the_same_as_at_once() -> None:
    places = np.arange(9.0).reshape(3, 3)
    camera = Camera(SlotCarSettings())
    one_by_one = [camera.see(place) for place in places]
    np.testing.assert_array_equal(one_by_one, Camera(SlotCarSettings()).see(places))
