# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate, clock, stamps and headers of live input."""

from __future__ import annotations

from collections import Counter
import math
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import pytest

from two_manifold_ros.interface.input_checks import (
    imu_complaints,
    InputMonitor,
    InputRate,
    RosClock,
)
from two_manifold_ros.interface.session import Arrivals

if TYPE_CHECKING:
    from two_manifold_ros.interface.snapshot import InputHealth

SECOND = 1_000_000_000
MODEL: Any = SimpleNamespace(imu_frame_id='imu_link', live_channels=('linear_acceleration.x',))


def health(
    monitor: InputMonitor, arrivals: Arrivals | None = None, now_ns: int = 0, **counts: int
) -> InputHealth:
    return monitor.health(Counter(counts), arrivals, 9.0, now_ns, {})


def test_what_was_rejected_since_the_last_that_was_used() -> None:
    monitor = InputMonitor('IMU', '/imu')
    health(monitor, received=5, used=3, malformed=2)
    found = health(monitor, received=9, used=3, malformed=5, zero_stamp=1)
    assert found.rejected == {'malformed': 3, 'zero_stamp': 1}


def test_another_session_counts_anew() -> None:
    monitor = InputMonitor('IMU', '/imu')
    health(monitor, received=90, used=3, malformed=87)
    assert health(monitor, received=30, malformed=30).rejected == {}
    assert health(monitor, received=31, malformed=31).rejected == {'malformed': 1}


def test_what_happened_in_the_last_second_is_told_once() -> None:
    monitor, arrivals = InputMonitor('IMU', '/imu'), Arrivals()
    arrivals.take(SECOND, 'imu', 0, used=True, broke=False)
    arrivals.take(31 * SECOND, 'base', SECOND // 10, used=True, broke=True)
    fresh = Counter(received=4, used=1, malformed=3)
    events = monitor.update(fresh, arrivals, 1.0, 31 * SECOND, simulated=False)
    assert list(events) == ['rejected malformed', 'stepped_ahead']
    found = health(monitor, arrivals, 32 * SECOND, received=4, used=1)
    assert (found.rejected_share, found.rejected_most) == (0.75, 'malformed')
    assert list(found.complaints) == ['frame_changed']
    assert found.stamp_age_s == 1.0
    assert monitor.distance(arrivals, 32 * SECOND) == ''
    assert 'behind the clock' in monitor.distance(arrivals, 42 * SECOND)
    assert monitor.distance(arrivals, 42 * SECOND) == ''
    assert monitor.update(Counter(), arrivals, 1.0, 31 * SECOND, simulated=True) == {}
    assert health(monitor, arrivals).clock == 'clock_stands'


def test_whole_intervals_are_counted() -> None:
    rate = InputRate()
    assert math.isnan(rate.measure(3, 0.9, 9 * SECOND // 10))
    assert rate.measure(4, 1.7, 17 * SECOND // 10) == 5.0


def test_after_silence_the_rate_is_unknown() -> None:
    rate = InputRate()
    rate.measure(5, 1.0, SECOND)
    assert math.isnan(rate.measure(0, 1.0, SECOND))
    assert math.isnan(rate.measure(5, 10.0, 10 * SECOND))
    assert rate.measure(5, 11.0, 11 * SECOND) == 5.0


@pytest.mark.parametrize(
    ('stamp_ns', 'rate_hz'), [(SECOND + SECOND // 10, 50.0), (1000 * SECOND, 5.0), (SECOND, 5.0)]
)
def test_slow_bags_and_jumping_stamps_do_not_make_it_slow(stamp_ns: int, rate_hz: float) -> None:
    rate = InputRate()
    rate.measure(5, 1.0, SECOND)
    assert rate.measure(5, 2.0, stamp_ns) == rate_hz


@pytest.mark.parametrize(
    ('simulated', 'times', 'trouble', 'stepped_s'),
    [
        (False, (100, 101), '', 0.0),
        (False, (100, 131), '', 30.0),
        (False, (100, 71), '', -30.0),
        (False, (100, 131, 132), '', 0.0),
        (True, (0, 0), 'no_clock', 0.0),
        (True, (0, 100), '', 0.0),
        (True, (100, 100), 'clock_stands', 0.0),
        (True, (100, 110), '', 0.0),
        (True, (100, 40), '', -60.0),
    ],
)
def test_trouble_and_steps_of_the_ros_clock(
    *, simulated: bool, times: tuple[int, ...], trouble: str, stepped_s: float
) -> None:
    clock = RosClock()
    for second, shown in enumerate(times):
        clock.read(shown * SECOND, float(second), simulated=simulated)
    assert (clock.trouble, clock.stepped_s) == (trouble, stepped_s)


@pytest.mark.parametrize(
    ('frame', 'covariance', 'causes'),
    [
        ('imu_link', 0.0, []),
        ('', 0.0, []),
        ('camera_imu', 0.0, ['frame']),
        ('imu_link', -1.0, ['linear_acceleration_not_measured']),
    ],
)
def test_what_does_not_fit_the_model(frame: str, covariance: float, causes: list[str]) -> None:
    # Only what the model needs has to be measured.
    covariances = {'linear_acceleration': covariance, 'angular_velocity': covariance}
    assert list(imu_complaints(frame, covariances, MODEL, '/imu')) == causes
