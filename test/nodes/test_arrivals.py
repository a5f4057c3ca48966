# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When messages came, beside what their stamps say."""

from __future__ import annotations

import pytest

from two_manifold_ros.interface.input_checks import Arrivals

MS = 1_000_000
PERIOD = 20 * MS
COUNT = 100


def fed(pace: float = 1.0) -> Arrivals:
    """Return the arrivals of two seconds of stamps at a pace beside the clock."""
    arrivals = Arrivals()
    for step in range(COUNT):
        arrived = round(step * PERIOD / pace)
        arrivals.take(10**12 + step * PERIOD, 'imu', arrived, used=True, broke=step == 0)
    return arrivals


@pytest.mark.parametrize(
    ('pace', 'by_stamps_s', 'by_clock_s', 'cause', 'seconds'),
    [
        (1.0, 5.0, 5.0, 'gap', 5.0),
        (1.0, 30.0, 0.02, 'stepped_ahead', 29.98),
        (1.0, -30.0, 0.02, 'stepped_back', 30.02),
        (1.0, 31.0, 1.0, 'stepped_ahead', 30.0),
        (1.0, -30.0, 5.0, 'stepped_back', 35.0),
        (1.0, 0.02, 0.32, 'stepped_back', 0.3),
        (10.0, 5.0, 0.5, 'gap', 5.0),
        (0.1, 5.0, 50.0, 'gap', 5.0),
        (0.1, 5.0, 5.0, 'stepped_ahead', 4.5),
    ],
)
def test_a_clock_that_was_set_is_told_from_a_driver_that_was_silent(
    pace: float, by_stamps_s: float, by_clock_s: float, cause: str, seconds: float
) -> None:
    arrivals = fed(pace)
    assert arrivals.interruption is None
    last = COUNT - 1
    stamp = 10**12 + last * PERIOD + round(by_stamps_s * 1e9)
    arrived = round(last * PERIOD / pace + by_clock_s * 1e9)
    arrivals.take(stamp, 'imu', arrived, used=True, broke=True)
    assert arrivals.interruption is not None
    assert arrivals.interruption.cause == cause
    assert arrivals.interruption.seconds == pytest.approx(seconds, abs=0.021)
    arrivals.take(stamp + PERIOD, 'imu', arrived + PERIOD, used=True, broke=False)
    assert arrivals.interruption.cause == cause
    arrivals.begin()
    assert arrivals.interruption is None


def test_batches_do_not_disturb_the_pace() -> None:
    arrivals = Arrivals()
    for step in range(500):
        arrived = (step // 50 + 1) * 50 * PERIOD
        arrivals.take(10**12 + step * PERIOD, 'imu', arrived, used=True, broke=False)
    stamp = 10**12 + 500 * PERIOD + 4 * 10**9
    arrivals.take(stamp, 'imu', 10 * 50 * PERIOD + 4 * 10**9, used=True, broke=True)
    assert arrivals.interruption is not None
    assert arrivals.interruption.cause == 'gap'


def test_messages_in_a_row_that_are_not_used_are_counted() -> None:
    arrivals = fed()
    good_ns = arrivals.good_ns
    arrivals.refuse()
    arrivals.take(1, 'imu', good_ns + PERIOD, used=False, broke=False)
    assert (arrivals.unused, arrivals.good_ns, arrivals.newest_ns) == (2, good_ns, 1)
    arrivals.take(10**13, 'imu', good_ns + 2 * PERIOD, used=True, broke=False)
    assert (arrivals.unused, arrivals.good_ns) == (0, good_ns + 2 * PERIOD)


def test_another_frame_than_at_first_is_seen() -> None:
    arrivals = fed()
    arrivals.take(10**13, 'base', 0, used=True, broke=False)
    arrivals.take(10**13, '', 0, used=True, broke=False)
    assert (arrivals.frame, arrivals.newest_frame) == ('imu', 'base')
    arrivals.begin()
    for frame in ('', 'base'):
        arrivals.take(10**13, frame, 0, used=True, broke=False)
    assert arrivals.frame == arrivals.newest_frame == 'base'
