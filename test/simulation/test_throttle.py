# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The throttle wanders as much and as slowly as it says."""

import numpy as np
import pytest

from two_manifold_ros.simulation.slot_car import MEAN_THROTTLE, SlotCarSettings, Throttle


def values(count: int, step_s: float = 0.1, **choices: float) -> np.ndarray:
    return np.array(Throttle(SlotCarSettings(**choices), step_s).take(count))


def test_no_wander_is_constant() -> None:
    np.testing.assert_array_equal(values(100, speed_wander=0.0), MEAN_THROTTLE)


def test_wander_has_the_stated_spread_and_memory() -> None:
    relative = values(400_000) / MEAN_THROTTLE - 1.0
    assert relative.std() == pytest.approx(np.hypot(0.06, 0.025), rel=0.1)
    lag = np.corrcoef(relative[:-30], relative[30:])[0, 1]
    expected = (0.06**2 * np.exp(-1.0) + 0.025**2 * np.exp(-0.05)) / (0.06**2 + 0.025**2)
    assert lag == pytest.approx(expected, abs=0.05)


def test_wander_scales_until_it_hits_the_stops() -> None:
    small = values(1000, speed_wander=0.5) - MEAN_THROTTLE
    np.testing.assert_allclose(values(1000) - MEAN_THROTTLE, 2.0 * small, atol=0.02)
    wild = values(100_000, speed_wander=5.0)
    assert wild.min() >= 0.0
    assert wild.max() <= 1.0


def test_pieces_join_without_a_seam() -> None:
    throttle = Throttle(SlotCarSettings(), 0.1)
    assert throttle.take(7) + throttle.take(5) == values(12).tolist()
