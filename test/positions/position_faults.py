# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of the positions of a drive: what is done to them, and what has to hold after it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
import math
from typing import Any, TypeAlias

from fault import with_options
import numpy as np
from numpy.random import Generator

from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.typing import Bools, Floats, Ints

Change: TypeAlias = Callable[[Recording, Generator], Recording]
Streams: TypeAlias = tuple[Ints, Floats]

DAY_S = 86_400.0


@dataclass(frozen=True)
class PositionFault:
    """A fault of the positions of a drive, and what has to hold."""

    name: str  # what goes wrong
    # Makes the faulty drive of the clean one; the generator has a seed of its own.
    change: Change
    # Codes of findings of `inspect` that it has to give beside those of the clean drive, and of
    # nothing else may it warn; those that are warnings are what `train` prints as well.
    says: tuple[str, ...] = ()
    # Wrong positions that may stay in the drive; infinite where all are by their stamps.
    wrong: float = 0
    right: float = 0.0  # largest share of right positions that may be left out
    # Wrong positions that an updater may use; of right ones it may refuse one in fifty, or the
    # share `right`. None where not tried.
    updater: int | None = 0
    # Whether a training gets other places than of the clean drive, or too few; otherwise it learns
    # the same.
    reaches: bool = False
    refused: str = ''  # part of the sentence by which training refuses; empty where it trains


def of_positions(function: Callable[..., Streams]) -> Callable[..., Change]:
    """Let a function change copies of stamps (M,) and places (M, 2) of the positions alone."""

    @with_options
    def change(recording: Recording, rng: Generator, *options: Any) -> Recording:  # noqa: ANN401
        positions = recording.positions
        streams = positions.stamps.copy(), positions.positions.copy()
        stamps, places = function(*streams, rng, *options)
        return replace(recording, positions=replace(positions, stamps=stamps, positions=places))

    return change


def moves(rng: Generator, count: int, nearest_m: float, farthest_m: float) -> Floats:
    """Return moves (count, 2) in any direction, their lengths even on a logarithmic scale."""
    metres = np.exp(rng.uniform(np.log(nearest_m), np.log(farthest_m), count))
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    return metres[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


@of_positions
def glitches(
    stamps: Ints, places: Floats, rng: Generator, count: int, nearest_m: float, farthest_m: float
) -> Streams:
    """Move single positions any way by distances that are even on a logarithmic scale."""
    # Never two in a row.
    chosen = 2 * rng.choice(len(places) // 2, count, replace=False)
    places[chosen] += moves(rng, count, nearest_m, farthest_m)
    return stamps, places


@of_positions
def doubled(stamps: Ints, places: Floats, rng: Generator) -> Streams:
    """Give a fifth of the positions twice."""
    times = 1 + (rng.random(len(places)) < 0.2)
    return np.repeat(stamps, times), np.repeat(places, times, axis=0)


@of_positions
def missing(stamps: Ints, places: Floats, rng: Generator, share: float) -> Streams:
    """Lose a share of the positions at random."""
    kept = rng.random(len(stamps)) >= share
    return stamps[kept], places[kept]


@of_positions
def first_and_last(stamps: Ints, places: Floats, _: Generator, metres: float) -> Streams:
    """Move the first positions and the last."""
    places[:5] += [metres, 0.0]
    places[-5:] += [0.0, metres]
    return stamps, places


@of_positions
def bursts(
    stamps: Ints,
    places: Floats,
    rng: Generator,
    count: int,
    seconds: float,
    nearest_m: float,
    farthest_m: float,
) -> Streams:
    """Move all positions of some stretches of time, each by one distance."""
    parts = _parts(stamps, rng, count, seconds)
    for during, move in zip(parts, moves(rng, count, nearest_m, farthest_m), strict=True):
        places[during] += move
    return stamps, places


def _parts(stamps: Ints, rng: Generator, count: int, seconds: float) -> list[Bools]:
    """Return which positions are in stretches of time, at least half of an equal part apart."""
    part = np.ptp(stamps) / count
    begins = [int(stamps[0] + (i + rng.uniform(0.1, 0.6)) * part) for i in range(count)]
    return [(stamps >= each) & (stamps < each + round(1e9 * seconds)) for each in begins]


@of_positions
def moved_for_good(stamps: Ints, places: Floats, _: Generator, metres: float) -> Streams:
    """Move the localisation half-way, for the rest of the drive."""
    places[3 * len(places) // 5 :] += [metres, 0.0]
    return stamps, places


@of_positions
def at_rate(
    stamps: Ints, places: Floats, rng: Generator, rate_hz: float, noise_m: float = 0.0
) -> Streams:
    """Give positions at another rate."""
    asked = np.arange(stamps[0], stamps[-1], round(1e9 / rate_hz))
    between = [np.interp(asked - stamps[0], stamps - stamps[0], axis) for axis in places.T]
    return asked, np.stack(between, axis=1) + rng.normal(scale=noise_m, size=(len(asked), 2))


@of_positions
def throttled(stamps: Ints, places: Floats, _: Generator, every: int) -> Streams:
    """Give only every so many positions in the second half."""
    rows = np.arange(len(stamps))
    kept = (rows < len(rows) // 2) | (rows % every == 0)
    return stamps[kept], places[kept]


@of_positions
def repeated(stamps: Ints, places: Floats, _: Generator, every: int) -> Streams:
    """Repeat every so many positions with new stamps until the next one, as after a bridge."""
    return stamps, places[np.arange(len(places)) // every * every]


@with_options
def parked_first(
    recording: Recording, rng: Generator, seconds: float, noise_m: float
) -> Recording:
    """Record for some time before the vehicle drives."""
    imu, positions = recording.imu, recording.positions
    earlier, sooner = (
        each[0] - np.arange(round(1e9 * seconds), 0, -int(np.median(np.diff(each))))
        for each in (imu.stamps, positions.stamps)
    )
    rest = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    still = rest + rng.normal(scale=0.02, size=(len(earlier), 6))
    every = np.concatenate([earlier, imu.stamps])
    samples = np.concatenate([still, imu.samples])
    there = positions.positions[0] + rng.normal(scale=noise_m, size=(len(sooner), 2))
    return replace(
        recording,
        imu=replace(imu, stamps=every, receive_stamps=every, samples=samples),
        positions=replace(
            positions,
            stamps=np.concatenate([sooner, positions.stamps]),
            positions=np.concatenate([there, positions.positions]),
        ),
    )


@of_positions
def stamped(
    stamps: Ints, places: Floats, _: Generator, where: slice | int, by_s: float
) -> Streams:
    """Stamp some positions later."""
    stamps[where] += round(1e9 * by_s)
    return stamps, places


@of_positions
def unstamped(stamps: Ints, places: Floats, _: Generator, where: slice) -> Streams:
    """Stamp some positions with zero."""
    stamps[where] = 0
    return stamps, places


@of_positions
def wild(stamps: Ints, places: Floats, rng: Generator, count: int) -> Streams:
    """Stamp single positions with any time within a day before or after."""
    # Never two in a row.
    chosen = 2 * rng.choice(len(stamps) // 2, count, replace=False)
    off_s = np.exp(rng.uniform(np.log(1.0), np.log(DAY_S), count))
    stamps[chosen] += np.round(1e9 * off_s * rng.choice([-1.0, 1.0], count)).astype(np.int64)
    return stamps, places


@of_positions
def delivered_late(stamps: Ints, places: Floats, _: Generator, every: int, by: int) -> Streams:
    """Deliver every so many positions after others that came later, with the right stamps."""
    rows = np.arange(len(stamps))
    order = np.argsort(np.where(rows % every == 0, rows + by + 0.5, rows), kind='stable')
    return stamps[order], places[order]


@with_options
def clock_set(
    recording: Recording, _: Generator, share: float, by_s: float, *, both: bool = True
) -> Recording:
    """Set the clock after a share of the drive: of all, or of the positions alone."""
    imu, positions = recording.imu, recording.positions
    at, by = positions.stamps[int(share * len(positions.stamps))], round(1e9 * by_s)
    moved, later = (
        np.where(each >= at, each + by, each) for each in (imu.stamps, positions.stamps)
    )
    if both:
        imu = replace(imu, stamps=moved, receive_stamps=moved)
    return replace(recording, imu=imu, positions=replace(positions, stamps=later))


LEFT = ('positions_left_out',)

PLACES = (
    *(
        PositionFault(name, change, LEFT, updater=updater)
        for name, change, updater in (
            ('2 % of the positions off by 1 m to 100 km, each alone', glitches(24, 1.0, 1e5), 0),
            # Nobody knows better until the sixth.
            ('the first and the last five positions off by 100 m', first_and_last(100.0), 5),
            # Of the reference it is known for a second only that it was moved.
            ('one burst of 3 s off by 100 m', bursts(1, 3.0, 100.0, 100.0), 100),
        )
    ),
    PositionFault(
        'localisation moved for good by 1 m',
        moved_for_good(1.0),
        ('position_jumps',),
        updater=1419,
        wrong=1419,
        reaches=True,
    ),
    PositionFault(
        'a fifth of the positions twice',
        doubled(),
        ('position_duplicates',),
    ),
    PositionFault('a third of the positions missing', missing(0.33), ('position_uneven',)),
    PositionFault(
        '95 % of the positions missing',
        missing(0.95),
        ('position_gaps', 'positions_missing'),
        reaches=True,
    ),
    PositionFault(
        'positions at 1 Hz',
        at_rate(1.0),
        reaches=True,
    ),
    PositionFault('positions at 100 Hz, with noise', at_rate(100.0, 0.005)),
    PositionFault(
        'throttled half-way, from 50 Hz to 2 Hz',
        throttled(25),
        reaches=True,
    ),
    PositionFault(
        'positions at 10 Hz, each given five times',
        repeated(5),
        # Each is given for 0.1 s, so that they are late by half of that.
        ('time_offset',),
    ),
    PositionFault(
        'parked for five minutes first',
        parked_first(300.0, 0.005),
        ('standing',),
    ),
)

GAPS = ('imu_gaps', 'position_gaps')
# A stamp is a moment by which positions are compared with the truth, so those of a clock that was
# set are all wrong by it, and right for the IMU.
BY_STAMP: dict[str, Any] = {'wrong': math.inf, 'updater': None}

CLOCKS = (
    PositionFault(
        'the first position stamped a day back', stamped(0, -DAY_S), ('position_wild',), wrong=1
    ),
    PositionFault(
        'a few positions stamped up to a day ahead or back, each alone',
        wild(10),
        ('position_wild',),
        wrong=10,
    ),
    *(
        PositionFault(
            f'five positions in a row stamped {words} ahead',
            stamped(slice(500, 505), by_s),
            ('position_backward',),
            wrong=5,
            updater=5,
        )
        for words, by_s in (('a day', DAY_S), ('20 s', 20.0))
    ),
    PositionFault(
        'every fiftieth position stamped 0',
        unstamped(slice(0, None, 50)),
        ('position_zero',),
        wrong=math.inf,
    ),
    PositionFault(
        'every tenth position delivered 0.3 s late, rightly stamped',
        delivered_late(10, 15),
        ('position_backward',),
        right=0.11,
    ),
    PositionFault(
        'all positions stamped 0.3 s late',
        stamped(slice(None), 0.3),
        ('time_offset',),
        **BY_STAMP,
        reaches=True,
    ),
    PositionFault(
        'positions stamped an hour late throughout',
        stamped(slice(None), 3600.0),
        ('time_offset',),
        **BY_STAMP,
        refused='no position falls into the time of the IMU',
    ),
    *(
        PositionFault(
            f'all clocks set {words} after a quarter (NTP)',
            clock_set(0.25, by_s),
            GAPS if by_s > 0.0 else ('imu_backward', 'position_backward'),
            **BY_STAMP,
        )
        for words, by_s in (
            ('two seconds ahead', 2.0),
            ('twelve hours ahead', DAY_S / 2),
            ('two seconds back', -2.0),
        )
    ),
    PositionFault(
        'the clock of the positions alone set a day ahead near the end',
        clock_set(0.8, DAY_S, both=False),
        ('positions_missing', 'position_gaps'),
        **BY_STAMP,
        reaches=True,
    ),
)

POSITION_FAULTS = (*PLACES, *CLOCKS)
