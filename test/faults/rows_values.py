# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an IMU measures, and what happens to its vehicle: faults, and rows of the matrix."""

from collections.abc import Callable

from fault import (
    ANY,
    HealthyDrive,
    LOST,
    RATE_HZ,
    REFUSED,
    StreamFault,
    Stretch,
    TRACKING,
    UNSURE,
    with_options,
)
import numpy as np

from two_manifold_ros.simulation.slot_car import ImuNoise, true_imu
from two_manifold_ros.simulation.track import Track

GRAVITY = 9.80665
FORCE, RATE = slice(0, 3), slice(3, 6)
X, Y, YAW = 0, 1, 5


@with_options
def values_by(
    stretch: Stretch, _: HealthyDrive, change: Callable[[np.ndarray], np.ndarray]
) -> Stretch:
    """Change the values of every sample."""
    return [each._replace(values=change(each.values.copy())) for each in stretch]


@with_options
def scaled(stretch: Stretch, _: HealthyDrive, channels: slice | int, factor: float) -> Stretch:
    """Give wrong units, or a wrong sign."""
    factors = np.ones(6)
    factors[channels] = factor
    return [each._replace(values=each.values * factors) for each in stretch]


@with_options
def set_to(
    stretch: Stretch,
    _: HealthyDrive,
    channels: slice | int,
    value: float,
    refused: str = '',
    every: int = 1,
) -> Stretch:
    """Put a number in the place of what was measured, in each so-manieth message."""
    changed = list(stretch)
    for index in range(0, len(stretch), every):
        values = stretch[index].values.copy()
        values[channels] = value
        changed[index] = stretch[index]._replace(values=values, refused=refused)
    return changed


@with_options
def clipped(stretch: Stretch, _: HealthyDrive, channel: int, at: float) -> Stretch:
    """Let a channel saturate."""
    most = np.full(6, np.inf)
    most[channel] = at
    return [each._replace(values=np.clip(each.values, -most, most)) for each in stretch]


def frozen(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Repeat the first values, with stamps that go on."""
    return [each._replace(values=stretch[0].values) for each in stretch]


@with_options
def garbled(stretch: Stretch, _: HealthyDrive, every: int = 1) -> Stretch:
    """Send bytes that are no message."""
    return [
        each if index % every else each._replace(raw=GARBAGE, refused='malformed')
        for index, each in enumerate(stretch)
    ]


@with_options
def framed(stretch: Stretch, _: HealthyDrive, name: str) -> Stretch:
    """Name another frame in every header."""
    return [each._replace(frame=name) for each in stretch]


WITHOUT_GRAVITY = values_by(lambda values: values - [0.0, 0.0, GRAVITY, 0.0, 0.0, 0.0])
HALF_ROUND = values_by(lambda values: values * [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
"""What an IMU that is mounted half round about z measures."""

UPSIDE_DOWN = values_by(lambda values: values * [1.0, -1.0, -1.0, 1.0, -1.0, -1.0])
"""What axes x forward, y right, z down (NED) measure."""

COARSE = values_by(lambda values: np.round(values / 0.5) * 0.5)

WITHIN_S = 10.0
"""Of driving, until wrong units, axes or signs are named."""

AFTER = 50
"""Ticks until an input that has become right again is believed: two windows."""

AFTER_LOOKS = 60
"""
The same where it was named what was wrong.

The window leaves it behind (20), four looks at it, five ticks apart, agree that it is good (20),
and the better status is believed (10); a look or two may find even a healthy window novel.
"""

SOON = {'within_s': 1.0, 'recovers': 1, 'says': (TRACKING, '')}
NAMED = {'within_s': WITHIN_S, 'recovers': AFTER_LOOKS, 'seconds': WITHIN_S}
SENSED = {**NAMED, 'recovers': AFTER}
ALL = {'within_s': 1.0, 'recovers': AFTER}
GARBAGE = b'\x00\x01\x00\x00' + b'\xff' * 60

SINGLE = (
    StreamFault(
        name='NaN now and then', **SOON, counter='non_finite',
        change=set_to(X, np.nan, refused='non_finite', every=10),
    ),
    StreamFault(
        name='giant values now and then', **SOON, counter='out_of_range',
        change=set_to(Y, 1e30, refused='out_of_range', every=10),
    ),
    StreamFault(
        name='malformed bytes now and then', **SOON, counter='malformed', change=garbled(every=10),
    ),
    StreamFault(
        name='nothing but NaN', says=(REFUSED, 'non_finite'), **ALL,
        change=set_to(slice(None), np.nan, refused='non_finite'),
    ),
    StreamFault(
        name='nothing but malformed bytes', says=(REFUSED, 'malformed'), **ALL, change=garbled(),
    ),
)  # fmt: skip

UNITS_AND_AXES = (
    StreamFault(
        name='acceleration in g', says=(REFUSED, 'accelerations_in_g'), words='g, not m/s^2',
        **NAMED, change=scaled(FORCE, 1.0 / GRAVITY),
    ),
    StreamFault(
        name='angular rate in deg/s', says=(REFUSED, 'rates_in_degrees'), words='deg/s, not rad/s',
        **NAMED, may_count=('out_of_range',), change=scaled(RATE, 180.0 / np.pi),
    ),
    StreamFault(
        name='gyroscope with the wrong sign', says=(REFUSED, 'sign_of_rates'), **NAMED,
        change=scaled(RATE, -1.0),
    ),
    StreamFault(
        name='gravity removed', says=(REFUSED, 'gravity_removed'), words='gravity', **NAMED,
        change=WITHOUT_GRAVITY,
    ),
    StreamFault(
        name='axes forward, right, down (NED)', says=(REFUSED, 'turned_about_x'), **NAMED,
        change=UPSIDE_DOWN,
    ),
    StreamFault(
        # For half a second it may be another place of the route.
        name='IMU turned half round', says=(REFUSED, 'turned_about_z'),
        **NAMED | {'blind': 6}, change=HALF_ROUND,
    ),
    StreamFault(
        name='wrong frame_id', says=(UNSURE, 'frame_changed'), words="'gps'", within_s=2.0,
        recovers=20, change=framed('gps'),
    ),
)  # fmt: skip

SENSOR = (
    StreamFault(
        name='one channel dead', says=(UNSURE, 'channel_stuck'), **SENSED, change=set_to(YAW, 0.0),
    ),
    StreamFault(
        name='stuck: the same values again and again', says=(REFUSED, 'stuck'), **SENSED,
        change=frozen,
    ),
    StreamFault(
        name='saturated', says=(UNSURE, 'cut_off'), **SENSED, change=clipped(YAW, 1.5),
    ),
    StreamFault(
        name='quantised coarsely', says=(UNSURE, 'coarse'), **SENSED, change=COARSE,
    ),
)  # fmt: skip

VALUES = (*SINGLE, *UNITS_AND_AXES, *SENSOR)


OVAL = np.array(
    [
        (1.9 * np.cos(angle), 1.2 * np.sin(angle) + 0.3 * np.cos(3 * angle), 0.0, 0.0)
        for angle in np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    ]
)
"""Control points of another track, as long as that of the model and with as tight bends."""


@with_options
def elsewhere(stretch: Stretch, drive: HealthyDrive, seconds: float) -> Stretch:
    """Lift the car off and put it down where it would have been later, driving."""
    begin_s = (stretch[0].taken_ns - drive.begin_ns) / 1e9 + seconds
    there = drive.between(begin_s, begin_s + len(stretch) / RATE_HZ)
    return [
        here._replace(taken_ns=other.taken_ns, values=other.values)
        for here, other in zip(stretch, there, strict=True)
    ]


def in_the_hand(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Carry the car: tilted, turned and shaken."""
    random = np.random.default_rng(4)
    time = np.arange(len(stretch)) / RATE_HZ
    tilt = np.minimum(time, 1.0)
    values = random.normal(scale=[1.0, 1.0, 1.0, 0.5, 0.5, 0.5], size=(len(stretch), 6))
    values[:, 1] += 9.81 * np.sin(tilt)
    values[:, 2] += 9.81 * np.cos(tilt)
    values[:, 3] += tilt < 1.0
    rows = zip(stretch, values, strict=True)
    return [each._replace(taken_ns=None, values=row) for each, row in rows]


def backwards(stretch: Stretch, drive: HealthyDrive) -> Stretch:
    """
    Turn the car round and let it drive back the way it came, as quickly.

    Turned round in time forces stay and rates turn; turned round in space x and y turn.
    """
    end = (stretch[0].taken_ns - drive.begin_ns) / 1e9
    before = drive.between(end - len(stretch) / RATE_HZ, end)[::-1]
    signs = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    return [
        here._replace(taken_ns=there.taken_ns, values=there.values * signs)
        for here, there in zip(stretch, before, strict=True)
    ]


def on_another_track(stretch: Stretch, drive: HealthyDrive) -> Stretch:
    """Put the car on another track and let it drive there as quickly."""
    run = drive.run
    rows = np.searchsorted(run.stamps_ns, [each.taken_ns for each in stretch])
    speed = run.speeds
    pull = np.gradient(speed, (run.stamps_ns - run.stamps_ns[0]) / 1e9)
    felt = true_imu(Track(OVAL), run.distances[rows], speed[rows], pull[rows])
    noisy = ImuNoise(run.settings).disturb(felt, speed[rows])
    return [
        each._replace(taken_ns=None, values=values)
        for each, values in zip(stretch, noisy, strict=True)
    ]


WINDOW_S = 2.0

AFTER_THE_HAND = 50
"""
Ticks until a vehicle that was put down elsewhere is tracked again.

The window leaves the hand behind (20), the novelty of the last windows does (20), and the
better status is believed (10).
"""

VEHICLE = (
    StreamFault(
        name='kidnapped: put down elsewhere in an instant', says=(LOST, ANY), within_s=WINDOW_S,
        recovers=40, blind=3, seconds=0.0, after=elsewhere(5.0),
    ),
    StreamFault(
        name='kidnapped: carried in the hand for 1.5 s, then put down elsewhere', says=(LOST, ANY),
        within_s=WINDOW_S, recovers=AFTER_THE_HAND, blind=1, seconds=1.5, change=in_the_hand,
        after=elsewhere(5.0),
    ),
    StreamFault(
        name='driven the wrong way round',
        says=(REFUSED, 'wrong_way'),
        within_s=10.0, recovers=AFTER_LOOKS, blind=5, seconds=12.0, change=backwards,
        # On from where it was so long before this stretch.
        after=elsewhere(-24.0),
    ),
    StreamFault(
        name='driven on another track', says=(LOST, ANY), within_s=6.0, recovers=40, blind=12,
        seconds=10.0, change=on_another_track,
    ),
)  # fmt: skip
