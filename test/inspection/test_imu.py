# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rates, jitter, gaps and wrong stamps of a stream; gravity, dead channels and stuck samples."""

import numpy as np
import pytest

from two_manifold_ros.inspection.streams import (
    advancing,
    measure_gravity,
    measure_timing,
    Stretch,
    stuck_stretches,
    summarise_channels,
)
from two_manifold_ros.recordings.recording import ImuStream, usual_gap_ns
from two_manifold_ros.ticks.segments import holes


def driving(gravity: tuple[float, float, float], strength: float) -> np.ndarray:
    """Return samples of a vehicle that turns both ways, in the unit of the arguments."""
    samples = np.random.default_rng(1).normal(scale=strength, size=(5000, 6))
    samples[:, :3] += gravity
    return samples


@pytest.mark.parametrize(
    ('gravity', 'strength', 'verdict', 'up_axis'),
    [
        ((0.0, 0.0, 9.8), 2.0, 'metres per second squared', '+z'),
        ((0.0, 0.0, -9.8), 2.0, 'metres per second squared', '-z'),
        ((9.6, 1.0, 0.3), 2.0, 'metres per second squared', '+x'),
        ((0.0, 0.1, 1.0), 0.2, 'g', '+z'),
        ((0.0, 0.0, 0.0), 2.0, 'removed', ''),
        ((0.0, 2.7, 0.0), 3.0, 'removed', ''),
        # Turning one way with 1 m/s^2 is not gravity in g: single samples are far from 1.
        ((0.0, 1.0, 0.0), 2.0, 'removed', ''),
        ((0.0, 0.0, 32.2), 5.0, 'unclear', ''),
    ],
)
def test_verdicts(gravity, strength, verdict, up_axis):
    measured = measure_gravity(driving(gravity, strength))
    assert (measured.verdict, measured.up_axis) == (verdict, up_axis)


@pytest.mark.parametrize('share', [0.0, 0.1, -0.3])
def test_gravity_is_there_without_turning_and_bends_are_not(share):
    """In banked curves gravity follows the gyroscope, too."""
    samples = driving((0.0, 0.0, 0.0), 0.01)
    rate = np.random.default_rng(2).normal(0.5, 0.2, size=len(samples))
    samples[:, 5] = rate
    samples[:, 2] += 1.0 + share * rate
    assert measure_gravity(samples).verdict == 'g'
    samples[:, :3] *= 9.81
    assert measure_gravity(samples).verdict == 'metres per second squared'
    # Bends to one side at 2 m/s, gravity taken out.
    samples[:, :3] = driving((0.0, 0.0, 0.0), 0.01)[:, :3]
    samples[:, 1] += 2.0 * rate
    assert measure_gravity(samples).verdict == 'removed'


STAMPS = 10**18 + np.arange(1000) * 10_000_000


def noise() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(1000, 6))


def test_a_constant_channel_is_dead_whatever_its_value():
    samples = noise()
    samples[:, 2] = 9.81
    samples[:, 4] = 0.0
    samples[7, 0] = np.nan
    channels = summarise_channels(samples)
    assert [channel.dead for channel in channels] == [False, False, True, False, True, False]
    assert (channels[2].name, channels[2].unit) == ('linear_acceleration.z', 'm/s^2')
    assert np.isclose(channels[2].mean, 9.81)
    assert channels[5].highest == np.delete(samples, 7, axis=0)[:, 5].max()


@pytest.mark.parametrize(
    ('same', 'period', 'found'),
    [
        ([(200, 351)], 1, (Stretch(2.0, 1.5),)),
        ([(0, 150), (850, 1000)], 1, (Stretch(0.0, 1.49), Stretch(8.5, 1.49))),
        ([(200, 280)], 1, ()),
        # A few samples of a slow sensor say nothing.
        ([(200, 208)], 20, ()),
    ],
)
def test_where_a_sensor_is_stuck(same, period, found):
    samples = noise()
    samples[:, 1] = 0.0
    for start, stop in same:
        samples[start:stop] = samples[start]
    assert stuck_stretches(ImuStream('/imu', '', period * STAMPS, samples, STAMPS)) == found


MS = 1_000_000
START = 1_700_000_000 * 10**9
EVEN = START + np.arange(300) * 20 * MS


@pytest.mark.parametrize(
    ('steps', 'gaps'),
    [
        # A gap is long in seconds and in intervals.
        ([10, 10, 10, 200, 10, 10, 300, 10], (Stretch(0.25, 0.3),)),
        ([100, 100, 100, 400, 100, 600, 100], (Stretch(0.8, 0.6),)),
        ([20] * 500 + [500] * 100, ()),
        ([20] * 500 + [500] * 100 + [3000, 500], (Stretch(60.0, 3.0),)),
        ([10] * 50 + [5000] + [10] * 50, (Stretch(0.5, 5.0),)),
    ],
)
def test_gaps(steps, gaps):
    stamps = START + np.cumsum(steps) * MS
    timing = measure_timing(stamps, START)
    assert timing.gaps == gaps
    # By the rule of training.
    assert timing.gap_s == usual_gap_ns(stamps) / 1e9
    if steps[0] == 10 and len(steps) > 50:
        assert timing.jitter_std_s == pytest.approx(0.0, abs=1e-12)


def test_gaps_of_what_is_interpolated_are_the_holes_of_training():
    steps = np.random.default_rng(0).exponential(400 * MS, size=200).astype(np.int64) + MS
    timing = measure_timing(START + np.append(0, np.cumsum(steps)), START, interpolated=True)
    assert len(timing.gaps) == np.count_nonzero(holes(steps)) > 0
    assert measure_timing(START + np.arange(1) * MS, START, interpolated=True).gaps == ()


def test_wrong_stamps_make_no_gap_and_are_counted():
    late = np.arange(300)
    late[::10] += 15
    assert measure_timing(EVEN[np.argsort(late, kind='stable')], START).gaps == ()
    zeros = EVEN.copy()
    zeros[1::2] = 0
    assert measure_timing(zeros, START).gap_s == 0.25
    stamps = np.append(START + np.array([0, 10, 10, 20, 15, 30, 30, 40]) * MS, [0, 0, -5])
    timing = measure_timing(stamps, START)
    assert (timing.duplicates, timing.backward, timing.zero) == (2, 1, 3)


def test_rate_and_jitter_of_a_stream():
    intervals = np.array([10] * 80 + [6] * 10 + [14] * 10) * MS
    stamps = START + np.cumsum(intervals)
    timing = measure_timing(stamps, START - 500 * MS)
    assert (timing.count, timing.start_s, timing.duration_s) == (100, 0.51, 0.99)
    assert timing.rate_hz == pytest.approx(100.0)
    assert timing.jitter_std_s == pytest.approx(intervals[1:].std() / 1e9)
    assert timing.jitter_p99_s == pytest.approx(0.004)
    assert (timing.gaps, timing.duplicates, timing.backward, timing.zero) == ((), 0, 0, 0)
    alone = measure_timing(stamps[:1], START)
    assert (alone.rate_hz, alone.duration_s) == (0.0, 0.0)
    assert alone.gap_s > 0
    stamps = np.array([0, 5, 5, 4, 6, 0, 7, 5, 8])
    assert stamps[advancing(stamps)].tolist() == [5, 6, 7, 8]
