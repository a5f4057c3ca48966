# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The car obeys its forces."""

import numpy as np
import pytest

from two_manifold_ros.simulation.slot_car import GRAVITY, Motion
from two_manifold_ros.simulation.track import Track


@pytest.fixture(scope='module')
def track() -> Track:
    return Track()


def moving(track: Track, distance: float, speed: float) -> Motion:
    motion = Motion(track)
    motion.distance, motion.speed = distance, speed
    return motion


def steepest(track: Track) -> tuple[float, float, float, float]:
    s = np.linspace(0.0, track.length, 5000)
    slope = track.frame(s)[:, 2, 0]
    return s[slope.argmax()], slope.max(), s[slope.argmin()], slope.min()


def test_motor_pulls_less_the_faster_it_turns(track: Track) -> None:
    pulls = [moving(track, 1.0, speed).acceleration(0.5) for speed in (0.5, 1.5, 2.5)]
    np.testing.assert_allclose(np.diff(pulls), -0.8, atol=0.1)


def test_throttle_pulls(track: Track) -> None:
    motion = moving(track, 1.0, 1.5)
    assert motion.acceleration(0.6) - motion.acceleration(0.5) == pytest.approx(0.4)


def test_slopes_brake_and_pull_by_gravity(track: Track) -> None:
    up, rise, down, fall = steepest(track)
    difference = moving(track, up, 0.1).acceleration(0.5) - moving(track, down, 0.1).acceleration(
        0.5
    )
    assert difference == pytest.approx(-GRAVITY * (rise - fall), rel=0.2)


def test_bends_brake(track: Track) -> None:
    s = np.linspace(0.0, track.length, 5000)
    bend = s[np.abs(track.turning(s)[:, 2]).argmax()]
    assert moving(track, bend, 2.0).acceleration(0.5) < moving(track, 1.0, 2.0).acceleration(0.5)


def test_rolling_resistance_and_air_drag_on_the_level(track: Track) -> None:
    standing, rolling = (moving(track, 1.0, speed).acceleration(0.5) for speed in (0.0, 2.0))
    assert standing == pytest.approx(4.0 * 0.5 - 0.04 * GRAVITY, abs=0.01)
    assert rolling == pytest.approx(standing - 0.8 * 2.0 - 0.015 * 4.0, abs=0.02)


def test_a_standing_car_never_rolls_back(track: Track) -> None:
    motion = moving(track, steepest(track)[0], 0.2)
    for _ in range(1000):
        motion.step(0.0, 1e-3)
    stopped = motion.distance
    motion.step(0.0, 1e-3)
    assert motion.speed == 0.0
    assert motion.distance == stopped
    assert motion.acceleration(0.0) == 0.0


def test_step_integrates_speed_and_distance(track: Track) -> None:
    motion = moving(track, 1.0, 1.0)
    expected = motion.acceleration(0.5)
    motion.step(0.5, 1e-3)
    assert motion.distance == pytest.approx(1.001)
    assert motion.speed == pytest.approx(1.0 + 1e-3 * expected)
