# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stamps, the way of messages, and the driver that sends them: faults, and rows of the matrix."""

from fault import (
    FILLING,
    HealthyDrive,
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


AFTER = 40
"""Ticks: the window, and as long again until a better status is believed."""

STEADY = {'says': (TRACKING, ''), 'within_s': 0.0, 'recovers': 1}
COUNTED = {'says': (TRACKING, ''), 'within_s': 1.0, 'recovers': 1}

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
        words='but the model needs 10 Hz', within_s=10.0, seconds=6.0, recovers=AFTER, blind=2,
        change=at_rate(5.0),
    ),
    StreamFault(
        name='clock set ahead by 0.1 s', says=(UNSURE, 'unlikely'), within_s=1.0, recovers=20,
        blind=3, seconds=0.0, after=later(0.1),
    ),
    StreamFault(
        name='clock set ahead by 30 s (NTP)', says=(FILLING, 'stepped_ahead'),
        words='the stamps stepped ahead', within_s=0.5, recovers=AFTER, seconds=0.0,
        after=later(30.0), counts={'gaps': 1, 'resets': 1},
    ),
    StreamFault(
        name='clock set back by 0.3 s', says=(UNSURE, 'stepped_back'), within_s=0.5,
        recovers=AFTER, seconds=0.0, after=set_back(0.3), counts={'gaps': 1, 'resets': 0},
    ),
    StreamFault(
        name='clock set back by 30 s (NTP)', says=(FILLING, 'stepped_back'), within_s=0.5,
        recovers=AFTER, seconds=0.0, after=later(-30.0), counts={'resets': 1},
    ),
    StreamFault(
        name='bag played in a loop', says=(FILLING, 'stepped_back'), within_s=0.5, recovers=AFTER,
        seconds=0.0, after=played_again(5.0), counts={'resets': 1},
    ),
    StreamFault(
        name='one wild stamp', **COUNTED, counter='wild_stamp', change=one_wild(40_000_000.0),
    ),
    StreamFault(
        name='clock slower by 1 %', **STEADY, seconds=8.0, change=drifting(-0.01),
        after=later(-0.08),
    ),
    StreamFault(
        name='zero stamps', says=(REFUSED, 'zero_stamp'), words='use_receive_time', within_s=1.0,
        recovers=AFTER, change=unstamped,
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
