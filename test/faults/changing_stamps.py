# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of stamps and of the way of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from healthy_drive import RATE_HZ
import numpy as np

if TYPE_CHECKING:
    from fault import Change, Stretch
    from healthy_drive import HealthyDrive

SECOND_NS = 1_000_000_000


def nothing(_: Stretch, __: HealthyDrive) -> Stretch:
    """Send nothing at all."""
    return []


def later(seconds: float) -> Change:
    """Let the clock be ahead, or behind where negative."""
    shift = round(seconds * SECOND_NS)

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        return [each._replace(stamp_ns=each.stamp_ns + shift) for each in stretch]

    return apply


def set_back(seconds: float) -> Change:
    """Let the clock be behind by less than a jump; until it has caught up nothing is used."""
    shift = round(seconds * SECOND_NS)

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        newest = stretch[0].stamp_ns - round(SECOND_NS / RATE_HZ)
        sent = []
        for each in stretch:
            stamp = each.stamp_ns - shift
            repeats = {newest: 'duplicate_stamp'}.get(stamp, '')
            refused = 'out_of_order' if stamp < newest else repeats
            sent.append(each._replace(stamp_ns=stamp, refused=refused))
        return sent

    return apply


def drifting(share: float) -> Change:
    """Let the clock go faster or slower by a share, from where it was right."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        begin = stretch[0].stamp_ns
        return [
            each._replace(stamp_ns=each.stamp_ns + round(share * (each.stamp_ns - begin)))
            for each in stretch
        ]

    return apply


def jittering(share: float) -> Change:
    """Move stamps by up to a share of their distance, either way, without changing their order."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        period = stretch[1].stamp_ns - stretch[0].stamp_ns
        shifts = np.random.default_rng(0).uniform(-share, share, len(stretch)) * period
        pairs = zip(stretch, shifts.astype(int).tolist(), strict=True)
        return [each._replace(stamp_ns=each.stamp_ns + shift) for each, shift in pairs]

    return apply


def unstamped(refused: str = 'zero_stamp') -> Change:
    """Leave the stamps zero."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        return [each._replace(stamp_ns=0, refused=refused) for each in stretch]

    return apply


def lost(share: float) -> Change:
    """Lose messages at random."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        kept = np.random.default_rng(1).random(len(stretch)) >= share
        return [each for each, keep in zip(stretch, kept, strict=True) if keep]

    return apply


def doubled(share: float) -> Change:
    """Send messages twice, at random."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        twice = np.random.default_rng(2).random(len(stretch)) < share
        sent: Stretch = []
        for each, again in zip(stretch, twice, strict=True):
            sent.append(each)
            if again:
                sent.append(each._replace(refused='duplicate_stamp'))
        return sent

    return apply


def disordered(within_s: float, *, refused: str = '') -> Change:
    """Let messages overtake each other that are less than a span apart."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        delays = np.random.default_rng(3).uniform(0.0, within_s * SECOND_NS, len(stretch))
        arrived = [each.at_ns + delay for each, delay in zip(stretch, delays, strict=True)]
        sent, newest = [], 0
        for index in np.argsort(arrived, kind='stable').tolist():
            late = stretch[index].stamp_ns < newest
            sent.append(stretch[index]._replace(refused=refused if late else ''))
            newest = max(newest, stretch[index].stamp_ns)
        return sent

    return apply


def at_rate(rate_hz: float) -> Change:
    """Let the IMU send at another rate."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        begin, end = stretch[0].stamp_ns, stretch[-1].stamp_ns
        stamps = range(begin, end, round(SECOND_NS / rate_hz))
        known = [each.stamp_ns for each in stretch]
        rows = np.searchsorted(known, stamps, side='right') - 1
        return [
            stretch[row]._replace(stamp_ns=stamp)
            for row, stamp in zip(rows.tolist(), stamps, strict=True)
        ]

    return apply


def one_wild(seconds: float) -> Change:
    """Give a single message an impossible stamp."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        stamp = stretch[0].stamp_ns + round(seconds * SECOND_NS)
        return [stretch[0]._replace(stamp_ns=stamp, refused='wild_stamp'), *stretch[1:]]

    return apply


def played_again(seconds: float) -> Change:
    """Start the bag again: the same messages as so long before, stamps and all."""

    def apply(stretch: Stretch, drive: HealthyDrive) -> Stretch:
        begin_s = (stretch[0].taken_ns - drive.begin_ns) / SECOND_NS - seconds
        again = drive.between(begin_s, begin_s + len(stretch) / RATE_HZ)
        return [each._replace(at_ns=here.at_ns) for here, each in zip(stretch, again, strict=True)]

    return apply


def clock_stopped(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Stop ``/clock``, not the IMU."""
    return [each._replace(clock_ns=None) for each in stretch]


def clock_back(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Let ``/clock`` go back by half a minute, not the IMU."""
    return [each._replace(clock_ns=-30 * SECOND_NS) for each in stretch]


def from_two(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Let a second driver, of an IMU that lies on a table, publish in between."""
    half = (stretch[1].stamp_ns - stretch[0].stamp_ns) // 2
    still = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    pairs = [
        (
            each,
            each._replace(stamp_ns=each.stamp_ns + half, values=still, taken_ns=None, source=1),
        )
        for each in stretch
    ]
    return [each for pair in pairs for each in pair]
