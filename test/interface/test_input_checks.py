# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate, clock, stamps and headers of live input."""

from collections import Counter
from dataclasses import replace
import math
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface import input_checks
from two_manifold_ros.interface.assessment import (
    assess,
    Health,
    InputLimits,
    Level,
    REJECTIONS,
)
from two_manifold_ros.interface.input_checks import (
    imu_complaints,
    InputMonitor,
    trained_beside,
)
from two_manifold_ros.interface.session import Arrivals

NAN = math.nan
SECOND = 1_000_000_000
MODEL: Any = SimpleNamespace(imu_frame_id='imu_link', live_channels=('linear_acceleration.x',))


def health(
    monitor: InputMonitor, arrivals: Arrivals | None = None, now_ns: int = 0, **counts: int
) -> Health:
    heard = Health(unused_s=9.0, silence_s=1.1)
    return monitor.health(heard, Counter(counts), arrivals or Arrivals(), now_ns, {})


@pytest.fixture
def monitor() -> InputMonitor:
    return InputMonitor('IMU', '/imu')


@pytest.mark.parametrize(
    ('counts', 'rejected'),
    [
        ([(5, 3, 2, 0), (9, 3, 5, 1)], {'malformed': 3, 'zero_stamp': 1}),
        # Another session counts again.
        ([(90, 3, 87, 0), (30, 0, 30, 0)], {}),
        ([(90, 3, 87, 0), (30, 0, 30, 0), (31, 0, 31, 0)], {'malformed': 1}),
    ],
)
def test_what_was_rejected_since_the_last_that_was_used(counts, rejected, monitor):
    names = 'received', 'used', 'malformed', 'zero_stamp'
    found = [health(monitor, **dict(zip(names, each, strict=True))) for each in counts]
    assert found[-1].rejected == rejected


def test_what_happened_in_the_last_second_is_reported_once(monitor):
    arrivals = Arrivals()
    assert health(monitor, arrivals).unused_s == 9.0
    arrivals.take(SECOND, 'imu', perf_counter_ns() - 2 * SECOND, used=True, broke=False)
    assert 2.0 <= health(monitor, arrivals).unused_s < 9.0
    arrivals.take(31 * SECOND, 'base', SECOND // 10, used=True, broke=True)
    fresh = Counter(received=4, used=1, malformed=3)
    events = monitor.update(fresh, fresh, arrivals, 1.0, 31 * SECOND, simulated=False)
    assert list(events) == ['rejected malformed', 'stepped_ahead']
    found = health(monitor, arrivals, 32 * SECOND, received=4, used=1)
    assert (found.rejected_share, found.rejected_most) == (0.75, 'malformed')
    assert list(found.complaints) == ['frame_changed']
    assert found.stamp_age_s == 1.0
    assert monitor.update(Counter(), Counter(), arrivals, 1.0, 31 * SECOND, simulated=True) == {}
    assert health(monitor, arrivals).clock == 'clock_stands'


@pytest.mark.parametrize('ahead_s', [-3e7, 0.99, 1.01, 3e8])
@pytest.mark.parametrize('simulated', [False, True])
@pytest.mark.parametrize('used', [False, True])
def test_stamps_ahead_of_the_clock_are_a_cause(used, simulated, ahead_s, monitor):
    """What tf2 does not find at its own time, unless a bag is played with its clock."""
    now_ns = 10**18
    arrivals = Arrivals()
    arrivals.take(now_ns + round(ahead_s * 1e9), 'imu', 0, used=used, broke=False)
    monitor.update(Counter(used=1), Counter(), arrivals, 0.0, now_ns, simulated=simulated)
    heard = monitor.health(Health(), Counter(used=1), arrivals, now_ns, {})
    found = assess(replace(heard, status=Status.TRACKING, cause='', why='tracking'))
    is_warned = ahead_s > InputLimits.most_ahead_s and used and not simulated
    assert found.cause == ('stamps_ahead' if is_warned else '')
    assert found[:2] == (Level.WARN if is_warned else Level.OK, Status.TRACKING)


@pytest.mark.parametrize('cause', REJECTIONS)
def test_sentences_state_the_counts_of_the_diagnostics(cause, monitor):
    """Of the session, however many of them are of the last second."""
    counts = Counter({'received': 7, cause: 7})
    events = monitor.update(Counter({cause: 1}), counts, Arrivals(), 0.0, 1, simulated=False)
    assert f'{cause} (7):' in events[f'rejected {cause}']


@pytest.mark.parametrize(
    'seconds',
    [
        # Whole intervals are counted.
        [(3, 0.9, 0.9, NAN), (4, 1.7, 1.7, 5.0)],
        # After silence the rate is unknown.
        [(5, 1, 1, NAN), (0, 1, 1, NAN), (5, 10, 10, NAN), (5, 11, 11, 5.0)],
        # Slow bags and jumping stamps do not make it slow.
        [(5, 1, 1, NAN), (5, 2, 1.1, 50.0)],
        [(5, 1, 1, NAN), (5, 2, 1e3, 5.0)],
        [(5, 1, 1, NAN), (5, 2, 1, 5.0)],
    ],
)
def test_the_rate_of_usable_messages(seconds, monitor):
    """After each second of so many, the newest of which arrived and is stamped then."""
    for used, arrived_s, stamp_s, rate_hz in seconds:
        arrivals = Arrivals()
        arrivals.newest_ns = round(stamp_s * SECOND)
        monitor.update(Counter(used=used), Counter(), arrivals, arrived_s, 0, simulated=False)
        found = health(monitor, arrivals).usable_rate_hz
        assert found == pytest.approx(rate_hz, abs=0.0, nan_ok=True)


@pytest.mark.parametrize(
    ('simulated', 'times', 'trouble'),
    [
        (False, (100, 100), ''),
        (True, (0, 0), 'no_clock'),
        (True, (0, 100), ''),
        (True, (100, 100), 'clock_stands'),
        (True, (100, 40), ''),
    ],
)
def test_trouble_of_the_ros_clock_also_before_a_second_is_over(
    simulated, times, trouble, monitor, monkeypatch
):
    now_ns = [10**9]
    monkeypatch.setattr(input_checks, 'perf_counter_ns', lambda: now_ns[0])
    for now_s in times:
        monitor.update(Counter(), Counter(), Arrivals(), 0.0, now_s * SECOND, simulated=simulated)
    assert health(monitor).clock == trouble
    monitor.update(Counter(), Counter(), Arrivals(), 0.0, 7, simulated=simulated)
    assert health(monitor, now_ns=8 + simulated).clock == ''
    now_ns[0] += 950_000_000
    assert health(monitor, now_ns=8 + simulated).clock == ('clock_stands' if simulated else '')
    assert health(monitor, now_ns=20).clock == ''


def test_what_does_not_fit_the_model_and_the_topic_of_the_training_beside_another_one():
    # Only what the model needs has to be measured.
    for frame, covariance, causes in (
        ('imu_link', 0.0, []),
        ('', 0.0, []),
        ('camera_imu', 0.0, ['frame']),
        ('imu_link', -1.0, ['linear_acceleration_not_measured']),
    ):
        covariances = {'linear_acceleration': covariance, 'angular_velocity': covariance}
        assert list(imu_complaints(frame, covariances, MODEL, '/imu')) == causes
    model: Any = SimpleNamespace(imu_frame_id='', imu_topic='/imu/data_raw', live_channels=())
    assert imu_complaints('', {}, model, '/imu/data') == {}
    # The topic of the training is missed if it is published too.
    ((cause, words),) = imu_complaints('', {}, model, '/imu/data', '/imu/data_raw').items()
    assert (cause, '/imu/data_raw' in words) == ('other_topic', True)
    for trained, topic, beside in (
        ('/imu/data_raw', '/imu/data', '/imu/data_raw'),
        ('/imu/data_raw', '/car1/imu/data', '/car1/imu/data_raw'),
        # The same topic of another robot.
        ('/car1/imu', '/car2/imu', ''),
        ('/imu/data_raw', '/imu/data_raw', ''),
        ('', '/imu', ''),
    ):
        assert trained_beside(trained, topic) == beside
