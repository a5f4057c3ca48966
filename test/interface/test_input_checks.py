# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate, clock, stamps and headers of live input."""

from collections import Counter
import math
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.interface.assessment import InputHealth
from two_manifold_ros.interface.input_checks import imu_complaints, InputMonitor
from two_manifold_ros.interface.session import Arrivals

SECOND = 1_000_000_000
MODEL: Any = SimpleNamespace(imu_frame_id='imu_link', live_channels=('linear_acceleration.x',))


def health(
    monitor: InputMonitor, arrivals: Arrivals | None = None, now_ns: int = 0, **counts: int
) -> InputHealth:
    heard = InputHealth(unused_s=9.0)
    return monitor.health(heard, Counter(counts), arrivals or Arrivals(), now_ns, {})


def test_what_was_rejected_since_the_last_that_was_used() -> None:
    monitor = InputMonitor('IMU', '/imu')
    health(monitor, received=5, used=3, malformed=2)
    found = health(monitor, received=9, used=3, malformed=5, zero_stamp=1)
    assert found.rejected == {'malformed': 3, 'zero_stamp': 1}


def test_nothing_was_used_since_the_last_that_was_or_since_it_waits() -> None:
    monitor, arrivals = InputMonitor('IMU', '/imu'), Arrivals()
    assert health(monitor, arrivals).unused_s == 9.0
    arrivals.take(SECOND, 'imu', perf_counter_ns() - 2 * SECOND, used=True, broke=False)
    assert 2.0 <= health(monitor, arrivals).unused_s < 9.0


def test_another_session_counts_again() -> None:
    monitor = InputMonitor('IMU', '/imu')
    health(monitor, received=90, used=3, malformed=87)
    assert health(monitor, received=30, malformed=30).rejected == {}
    assert health(monitor, received=31, malformed=31).rejected == {'malformed': 1}


def test_what_happened_in_the_last_second_is_reported_once() -> None:
    monitor, arrivals = InputMonitor('IMU', '/imu'), Arrivals()
    arrivals.take(SECOND, 'imu', 0, used=True, broke=False)
    arrivals.take(31 * SECOND, 'base', SECOND // 10, used=True, broke=True)
    fresh = Counter(received=4, used=1, malformed=3)
    events = monitor.update(fresh, arrivals, 1.0, (31 * SECOND, 1.0), simulated=False)
    assert list(events) == ['rejected malformed', 'stepped_ahead']
    found = health(monitor, arrivals, 32 * SECOND, received=4, used=1)
    assert (found.rejected_share, found.rejected_most) == (0.75, 'malformed')
    assert list(found.complaints) == ['frame_changed']
    assert found.stamp_age_s == 1.0
    assert monitor.distance(arrivals, 32 * SECOND) == ''
    assert 'behind the clock' in monitor.distance(arrivals, 42 * SECOND)
    assert monitor.distance(arrivals, 42 * SECOND) == ''
    assert monitor.update(Counter(), arrivals, 1.0, (31 * SECOND, 2.0), simulated=True) == {}
    assert health(monitor, arrivals).clock == 'clock_stands'


def rate_hz(monitor: InputMonitor, used: int, arrived_s: float, stamp_ns: int) -> float:
    """Return the rate after a second in which the newest message came so."""
    arrivals = Arrivals()
    arrivals.newest_ns = stamp_ns
    monitor.update(Counter(used=used), arrivals, arrived_s, (0, 0.0), simulated=False)
    return health(monitor, arrivals).usable_rate_hz


def test_whole_intervals_are_counted() -> None:
    monitor = InputMonitor('IMU', '/imu')
    assert math.isnan(rate_hz(monitor, 3, 0.9, 9 * SECOND // 10))
    assert rate_hz(monitor, 4, 1.7, 17 * SECOND // 10) == 5.0


def test_after_silence_the_rate_is_unknown() -> None:
    monitor = InputMonitor('IMU', '/imu')
    rate_hz(monitor, 5, 1.0, SECOND)
    assert math.isnan(rate_hz(monitor, 0, 1.0, SECOND))
    assert math.isnan(rate_hz(monitor, 5, 10.0, 10 * SECOND))
    assert rate_hz(monitor, 5, 11.0, 11 * SECOND) == 5.0


@pytest.mark.parametrize(
    ('stamp_ns', 'rate'), [(SECOND + SECOND // 10, 50.0), (1000 * SECOND, 5.0), (SECOND, 5.0)]
)
def test_slow_bags_and_jumping_stamps_do_not_make_it_slow(stamp_ns: int, rate: float) -> None:
    monitor = InputMonitor('IMU', '/imu')
    rate_hz(monitor, 5, 1.0, SECOND)
    assert rate_hz(monitor, 5, 2.0, stamp_ns) == rate


@pytest.mark.parametrize(
    ('simulated', 'times', 'trouble', 'set_by'),
    [
        (False, (100, 101), '', ''),
        (False, (100, 101.4), '', ''),
        (False, (100, 131), '', 'ahead by 30 s'),
        (False, (100, 71), '', 'back by 30 s'),
        (False, (100, 131, 132), '', ''),
        (True, (0, 0), 'no_clock', ''),
        (True, (0, 100), '', ''),
        (True, (100, 100), 'clock_stands', ''),
        (True, (100, 110), '', ''),
        (True, (100, 40), '', 'back by 60 s'),
    ],
)
def test_trouble_and_steps_of_the_ros_clock(
    *, simulated: bool, times: tuple[float, ...], trouble: str, set_by: str
) -> None:
    monitor, events = InputMonitor('IMU', '/imu'), {}
    for second, shown in enumerate(times):
        clocks = round(shown * SECOND), float(second)
        events = monitor.update(Counter(), Arrivals(), 0.0, clocks, simulated=simulated)
    assert health(monitor).clock == trouble
    assert set_by in events.get('own_clock', '')
    assert bool(set_by) == ('own_clock' in events)


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
