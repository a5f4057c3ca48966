# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Wrong places, and how often positions come: what is done to them, and the rows of the matrix."""

from dataclasses import replace

from fault import with_options
import numpy as np
from numpy.random import Generator
from position_fault import ANY, Limits, of_positions, PositionFault, Streams
from worlds.shuttle import Line, SHUTTLE, shuttle

from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.typing import Bools, Floats, Ints

SHUTTLE_LEGS = 12
"""Legs of a shuttle that is trained on, or followed: two minutes."""


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
def on_a_line(stamps: Ints, places: Floats, _: Generator) -> Streams:
    """Measure one coordinate alone, as an encoder of a lift or a rail does."""
    places[:, 1] = 3.0
    return stamps, places


@of_positions
def unrolled(stamps: Ints, places: Floats, _: Generator) -> Streams:
    """Drive perfectly straight on."""
    steps = np.linalg.norm(np.diff(places, axis=0, prepend=places[:1]), axis=1)
    return stamps, np.stack([np.cumsum(steps), np.zeros(len(steps))], axis=1)


@with_options
def shuttling(recording: Recording, _: Generator) -> Recording:
    """Drive to and fro on a line instead, with another seed for each part of the clean drive."""
    world = replace(SHUTTLE, positions=replace(SHUTTLE.positions, white_m=0.0))
    begin = int(recording.imu.stamps[0] // 10**9)
    return shuttle(SHUTTLE_LEGS, Line(), world=world, seed=begin).recording


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
        # Two maps at the same time: no ellipse is small enough to be valid.
        trained=Limits(places=1.4, ellipse=1.4, valid=1.0, error=10.0),
        evaluated=Limits(error=15.0),
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
        trained=Limits(ellipse=1.3, error=2.5),
        evaluated=Limits(error=3.0),
    ),
    PositionFault(
        'positions at 1 Hz',
        at_rate(1.0),
        trained=Limits(places=1.2, ellipse=1.3, error=5.0),
        evaluated=Limits(error=5.0),
    ),
    PositionFault('positions at 100 Hz, with noise', at_rate(100.0, 0.005)),
    PositionFault(
        'throttled half-way, from 50 Hz to 2 Hz',
        throttled(25),
        trained=Limits(ellipse=1.3),
        evaluated=Limits(error=1.3),
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
        evaluated=None,
    ),
    PositionFault(
        'a loop seen from its side: positions on a line',
        on_a_line(),
        of_route=True,
        # A projection of the track, at whose ends the car seems to turn back.
        trained=ANY,
        evaluated=None,
    ),
    PositionFault(
        'straight on, without a lap',
        unrolled(),
        ('no_laps',),
        of_route=True,
        trained=ANY,
        evaluated=None,
    ),
    PositionFault(
        'a shuttle: there and back in reverse, on a perfectly straight line',
        shuttling(),
        of_route=True,
        # Of a line of 12 m there and 12 m back, at another speed than the track.
        trained=Limits(places=2.2, ellipse=3.0, valid=0.06, error=2.0),
        evaluated=None,
    ),
)
