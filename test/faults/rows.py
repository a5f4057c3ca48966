# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with stamps, the driver, values and the vehicle: rows of the fault matrix."""

from collections.abc import Callable

from fault import (
    ANY,
    FILLING,
    HealthyDrive,
    LOST,
    NO_DATA,
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

SECOND_NS = 1_000_000_000


def nothing(_: Stretch, __: HealthyDrive) -> Stretch:
    """Send nothing at all."""
    return []


@with_options
def later(stretch: Stretch, _: HealthyDrive, seconds: float) -> Stretch:
    """Let the clock be ahead, or behind where negative."""
    shift = round(seconds * SECOND_NS)
    return [each._replace(stamp_ns=each.stamp_ns + shift) for each in stretch]


@with_options
def set_back(stretch: Stretch, _: HealthyDrive, seconds: float) -> Stretch:
    """Let the clock be behind by less than a jump; until it has caught up nothing is used."""
    newest = stretch[0].stamp_ns - round(SECOND_NS / RATE_HZ)
    sent = []
    for each in stretch:
        stamp = each.stamp_ns - round(seconds * SECOND_NS)
        repeats = {newest: 'duplicate_stamp'}.get(stamp, '')
        refused = 'out_of_order' if stamp < newest else repeats
        sent.append(each._replace(stamp_ns=stamp, refused=refused))
    return sent


@with_options
def drifting(stretch: Stretch, _: HealthyDrive, share: float) -> Stretch:
    """Let the clock go faster or slower by a share, from where it was right."""
    begin = stretch[0].stamp_ns
    return [
        each._replace(stamp_ns=each.stamp_ns + round(share * (each.stamp_ns - begin)))
        for each in stretch
    ]


@with_options
def jittering(stretch: Stretch, _: HealthyDrive, share: float) -> Stretch:
    """Move stamps by up to a share of their distance, either way, without changing their order."""
    period = stretch[1].stamp_ns - stretch[0].stamp_ns
    shifts = np.random.default_rng(0).uniform(-share, share, len(stretch)) * period
    pairs = zip(stretch, shifts.astype(int).tolist(), strict=True)
    return [each._replace(stamp_ns=each.stamp_ns + shift) for each, shift in pairs]


def unstamped(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Leave the stamps zero."""
    return [each._replace(stamp_ns=0, refused='zero_stamp') for each in stretch]


@with_options
def lost(stretch: Stretch, _: HealthyDrive, share: float) -> Stretch:
    """Lose messages at random."""
    kept = np.random.default_rng(1).random(len(stretch)) >= share
    return [each for each, keep in zip(stretch, kept, strict=True) if keep]


@with_options
def doubled(stretch: Stretch, _: HealthyDrive, share: float) -> Stretch:
    """Send messages twice, at random."""
    twice = np.random.default_rng(2).random(len(stretch)) < share
    sent: Stretch = []
    for each, again in zip(stretch, twice, strict=True):
        sent += [each, each._replace(refused='duplicate_stamp')] if again else [each]
    return sent


@with_options
def disordered(stretch: Stretch, _: HealthyDrive, within_s: float, refused: str = '') -> Stretch:
    """Let messages overtake each other that are less than a span apart."""
    delays = np.random.default_rng(3).uniform(0.0, within_s * SECOND_NS, len(stretch))
    arrived = [each.at_ns + delay for each, delay in zip(stretch, delays, strict=True)]
    sent, newest = [], 0
    for index in np.argsort(arrived, kind='stable').tolist():
        late = stretch[index].stamp_ns < newest
        sent.append(stretch[index]._replace(refused=refused if late else ''))
        newest = max(newest, stretch[index].stamp_ns)
    return sent


@with_options
def at_rate(stretch: Stretch, _: HealthyDrive, rate_hz: float) -> Stretch:
    """Let the IMU send at another rate."""
    begin, end = stretch[0].stamp_ns, stretch[-1].stamp_ns
    stamps = range(begin, end, round(SECOND_NS / rate_hz))
    known = [each.stamp_ns for each in stretch]
    rows = np.searchsorted(known, stamps, side='right') - 1
    pairs = zip(rows.tolist(), stamps, strict=True)
    return [stretch[row]._replace(stamp_ns=stamp) for row, stamp in pairs]


@with_options
def one_wild(stretch: Stretch, _: HealthyDrive, seconds: float) -> Stretch:
    """Give a single message an impossible stamp."""
    stamp = stretch[0].stamp_ns + round(seconds * SECOND_NS)
    return [stretch[0]._replace(stamp_ns=stamp, refused='wild_stamp'), *stretch[1:]]


@with_options
def played_again(stretch: Stretch, drive: HealthyDrive, seconds: float) -> Stretch:
    """Start the bag again: the same messages as so long before, stamps and all."""
    begin_s = (stretch[0].taken_ns - drive.begin_ns) / SECOND_NS - seconds
    again = drive.between(begin_s, begin_s + len(stretch) / RATE_HZ)
    return [each._replace(at_ns=here.at_ns) for here, each in zip(stretch, again, strict=True)]


def clock_stopped(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Stop ``/clock``, not the IMU."""
    return [each._replace(clock_ns=None) for each in stretch]


def clock_back(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Let ``/clock`` go back by half a minute, not the IMU."""
    return [each._replace(clock_ns=-30 * SECOND_NS) for each in stretch]


def from_two(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Let a second driver, of an IMU that lies on a table, publish in between."""
    half = (stretch[1].stamp_ns - stretch[0].stamp_ns) // 2
    still = {'values': np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0]), 'taken_ns': None, 'source': 1}
    pairs = ((each, each._replace(stamp_ns=each.stamp_ns + half, **still)) for each in stretch)
    return [each for pair in pairs for each in pair]


AGAIN = 40
"""Ticks: the window, and as long again until a better status is believed."""

SOON = {'within_s': 1.0, 'recovers': 1, 'says': (TRACKING, '')}
STEADY = {'says': (TRACKING, ''), 'within_s': 0.0, 'recovers': 1}

STAMPS = (
    StreamFault(
        name='10 % of the messages twice', says=(TRACKING, 'duplicate_stamp'), within_s=6.0,
        recovers=1, seconds=6.0, change=doubled(0.1),
    ),
    StreamFault(
        name='disorder within 50 ms', says=(TRACKING, 'out_of_order'), words='reorder_s',
        within_s=6.0, recovers=1, seconds=6.0, change=disordered(0.05, refused='out_of_order'),
    ),
    StreamFault(
        name='disorder within 50 ms, with reorder_s', **STEADY, reorder_s=0.06,
        change=disordered(0.05),
    ),
    StreamFault(
        name='2 % of the messages lost at random', **STEADY, change=lost(0.02),
    ),
    StreamFault(
        name='jitter of the stamps by 45 % of their distance', **STEADY, change=jittering(0.45),
    ),
    StreamFault(
        name='IMU at double the rate of training', **STEADY, change=at_rate(100.0),
    ),
    StreamFault(
        name='IMU at half the rate of training', **STEADY, change=at_rate(25.0),
    ),
    StreamFault(
        name='IMU at half the rate of the ticks', says=(UNSURE, 'too_slow'),
        words='but the model needs 10 Hz', within_s=10.0, seconds=6.0, recovers=AGAIN, blind=2,
        change=at_rate(5.0),
    ),
    StreamFault(
        name='clock set ahead by 0.1 s', says=(UNSURE, 'unlikely'), within_s=1.0, recovers=20,
        blind=3, seconds=0.0, after=later(0.1),
    ),
    StreamFault(
        name='clock set ahead by 30 s (NTP)', says=(FILLING, 'stepped_ahead'),
        words='the stamps stepped ahead', within_s=0.5, recovers=AGAIN, seconds=0.0,
        after=later(30.0), counts={'gaps': 1, 'resets': 1},
    ),
    StreamFault(
        name='clock set back by 0.3 s', says=(UNSURE, 'stepped_back'), within_s=0.5,
        recovers=AGAIN, seconds=0.0, after=set_back(0.3), counts={'gaps': 1, 'resets': 0},
    ),
    StreamFault(
        name='clock set back by 30 s (NTP)', says=(FILLING, 'stepped_back'), within_s=0.5,
        recovers=AGAIN, seconds=0.0, after=later(-30.0), counts={'resets': 1},
    ),
    StreamFault(
        name='bag played in a loop', says=(FILLING, 'stepped_back'), within_s=0.5, recovers=AGAIN,
        seconds=0.0, after=played_again(5.0), counts={'resets': 1},
    ),
    StreamFault(
        name='one wild stamp', **SOON, counter='wild_stamp', change=one_wild(40_000_000.0),
    ),
    StreamFault(
        name='clock slower by 1 %', **STEADY, seconds=8.0, change=drifting(-0.01),
        after=later(-0.08),
    ),
    StreamFault(
        name='zero stamps', says=(REFUSED, 'zero_stamp'), words='use_receive_time', within_s=1.0,
        recovers=AGAIN, change=unstamped,
    ),
)  # fmt: skip

DEAD = {
    'timeout_s': 1.0,
    'says': (NO_DATA, 'silent'),
    'within_s': 2.0,
    'silent_s': 5.0,
    'change': nothing,
    'seconds': 1.0,
}
DRIVER = (
    StreamFault(
        name='driver dies and comes back after 1 s', **DEAD, recovers=40,
        counts={'gaps': 1, 'resets': 0},
    ),
    StreamFault(
        name='driver dies and comes back after 1 h', **DEAD, recovers=40, after=later(3599.0),
        counts={'gaps': 1, 'resets': 1},
    ),
    StreamFault(
        name='batches of 50 messages at once', says=(TRACKING, ''), within_s=0.0, recovers=1,
        batch=50,
    ),
    StreamFault(
        name='two publishers on the topic', says=(UNSURE, 'several_publishers'),
        words='stop all but one', within_s=4.0, recovers=40, blind=5, change=from_two,
    ),
    StreamFault(
        name='/clock stops (use_sim_time)', says=(TRACKING, 'clock_stands'), within_s=6.0,
        seconds=6.0, recovers=1, simulated=True, change=clock_stopped,
    ),
    StreamFault(
        name='/clock goes back by 30 s, stamps go on (use_sim_time)', says=(TRACKING, ''),
        within_s=0.0, recovers=1, simulated=True, change=clock_back,
    ),
    StreamFault(
        name='/clock and stamps go back by 30 s (use_sim_time)', says=(FILLING, 'stepped_back'),
        within_s=0.5, recovers=40, seconds=0.0, simulated=True, after=later(-30.0),
        counts={'resets': 1},
    ),
)  # fmt: skip


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

VEHICLE = (
    StreamFault(
        name='kidnapped: put down elsewhere in an instant', says=(LOST, ANY), within_s=WINDOW_S,
        recovers=40, blind=3, seconds=0.0, after=elsewhere(5.0),
    ),
    StreamFault(
        name='kidnapped: carried in the hand for 1.5 s, then put down elsewhere', says=(LOST, ANY),
        within_s=WINDOW_S, recovers=AFTER, blind=1, seconds=1.5, change=in_the_hand,
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
