# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Wrong stamps, frames and origins: what is done to positions, and the rows of the matrix."""

from dataclasses import replace
import math
from typing import Any

from fault import with_options
import numpy as np
from numpy.random import Generator
from position_fault import Limits, of_positions, PositionFault, Streams
from wrong_positions import PLACES

from two_manifold_ros.recordings.reading import MessageColumns
from two_manifold_ros.recordings.recording import GeodeticOrigin, Recording
from two_manifold_ros.recordings.satellite_fixes import east_north, positions_of_fixes
from two_manifold_ros.typing import Floats, Ints

DAY_S = 86_400.0
ORIGIN = GeodeticOrigin(48.0, 11.0, 0.0)


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


@with_options
def renamed(recording: Recording, _: Generator, **fields: object) -> Recording:
    """Name another frame, or another origin, of all positions."""
    positions = replace(recording.positions, **fields)
    return replace(recording, name='the faulty drive', positions=positions)


@with_options
def mixed_frames(recording: Recording, _: Generator, every: int, metres: float) -> Recording:
    """Read a topic on which every so many positions are in a frame that is metres away."""
    given = recording.positions
    rows = [
        (stamp, 'map', (x, y)) if index % every else (stamp, 'odom', (x + metres, y))
        for index, (stamp, (x, y)) in enumerate(
            zip(given.stamps.tolist(), given.positions.tolist(), strict=True)
        )
    ]
    decode: Any = rows.__getitem__
    collected = MessageColumns('bag', '/reference', given.msgtype, decode)
    for index, (stamp, _, _) in enumerate(rows):
        collected.add(stamp, index)  # in place of bytes
    positions, _ = collected.positions(given.stamps, None)
    return replace(recording, positions=positions)


@of_positions
def fixes(stamps: Ints, places: Floats, _: Generator, first: list[tuple[float, float]]) -> Streams:
    """Measure with a satellite receiver, whose first fixes are wrong: latitude, longitude."""
    measured = np.zeros((len(places), 4))
    measured[:, :2] = _fixes_at(places)
    measured[: len(first), :2] = np.reshape(first, (-1, 2))
    positions, _ = positions_of_fixes(measured, '/fix', '/fix in the drive', stamps, None)
    # In the frame of the clean drive, so that a clean model can be compared.
    here = positions.origin.latitude_deg, positions.origin.longitude_deg
    begin = east_north(*(np.array([each]) for each in (*here, 0.0)), ORIGIN)
    return positions.stamps, positions.positions + begin


def _fixes_at(places: Floats) -> Floats:
    """Return latitude and longitude (M, 2), degrees, of places in the plane of the origin."""
    degrees = np.tile([ORIGIN.latitude_deg, ORIGIN.longitude_deg], (len(places), 1))
    per_metre = np.array([1.0 / 111_000.0, 1.0 / (111_000.0 * np.cos(np.radians(48.0)))])
    for _ in range(10):
        missed = places - east_north(*degrees.T, np.zeros(len(places)), ORIGIN)
        degrees += missed[:, ::-1] * per_metre
    return degrees


WILD = 'left out, counted and reported; all others stay where they are'
PART = (
    'a gap: no window crosses it, the filter starts again, and laps and lag are measured on both '
    'sides'
)
BACK = 'a new part: both are learned, and the larger one is inspected'
GAPS = ('imu_gaps', 'position_gaps')
PLANES = 'refused: one sentence names both'
# A stamp is a moment by which positions are compared with the truth, so those of a clock that was
# set are all wrong by it, and right for the IMU.
BY_STAMP: dict[str, Any] = {'wrong': math.inf, 'updater': None}
# The filter finds its place for a second time on two laps after the clock was set.
REFILLED = Limits(valid=0.15, error=2.0)

CLOCKS = (
    *(
        PositionFault(name, WILD, change, ('position_wild',), wrong)
        for name, change, wrong in (
            ('one position stamped a day ahead', stamped(500, DAY_S), 1),
            ('one position stamped an hour back', stamped(500, -3600.0), 1),
            ('the first position stamped a day back', stamped(0, -DAY_S), 1),
            ('the last position stamped a day ahead', stamped(-1, DAY_S), 1),
            ('a few positions stamped up to a day ahead or back, each alone', wild(10), 10),
        )
    ),
    *(
        PositionFault(
            f'five positions in a row stamped {words} ahead',
            f'a part of its own{rule}',
            stamped(slice(500, 505), by_s),
            ('position_backward',),
            wrong=5,
            updater=5,
        )
        for words, by_s, rule in (
            ('a day', DAY_S, ', which no IMU sample is in'),
            ('20 s', 20.0, '; where another one says otherwise, neither is used'),
        )
    ),
    PositionFault(
        'every fiftieth position stamped 0',
        'left out, counted and reported',
        unstamped(slice(0, None, 50)),
        ('position_zero',),
        wrong=math.inf,
    ),
    PositionFault(
        'every tenth position delivered 0.3 s late, rightly stamped',
        'sorted by stamps',
        delivered_late(10, 15),
        ('position_backward',),
        right=0.11,
    ),
    *(
        PositionFault(
            f'all positions stamped 0.3 s {words}',
            'reported, and corrected where `position_lag` asks for it',
            stamped(slice(None), by_s),
            ('time_offset',),
            **BY_STAMP,
            trained=Limits(ellipse=1.4, error=20.0),
            evaluated=Limits(error=20.0, valid=0.1),
        )
        for words, by_s in (('late', 0.3), ('early', -0.3))
    ),
    PositionFault(
        'positions stamped an hour late throughout',
        'the IMU shows by which time; refused where `position_lag` leaves the positions',
        stamped(slice(None), 3600.0),
        ('time_offset',),
        **BY_STAMP,
        evaluated=None,
        refused='no position falls into the time of the IMU',
    ),
    *(
        PositionFault(
            f'all clocks set {words} after a quarter (NTP)',
            PART if by_s > 0.0 else BACK,
            clock_set(0.25, by_s),
            GAPS if by_s > 0.0 else ('imu_backward', 'position_backward'),
            **BY_STAMP,
            evaluated=REFILLED,
        )
        for words, by_s in (
            ('two seconds ahead', 2.0),
            ('twelve hours ahead', DAY_S / 2),
            ('a day ahead', DAY_S),
            ('from 1970 to now', 50 * 365 * DAY_S),
            ('two seconds back', -2.0),
            ('twelve hours back', -DAY_S / 2),
        )
    ),
    PositionFault(
        'the clock of the positions alone set a day ahead near the end',
        'no place is learned from then on, which is reported',
        clock_set(0.8, DAY_S, both=False),
        ('positions_missing', 'position_gaps'),
        **BY_STAMP,
    ),
    PositionFault(
        'a pause of two days, recorded on',
        PART,
        clock_set(0.5, 2 * DAY_S),
        GAPS,
        **BY_STAMP,
        evaluated=REFILLED,
    ),
)

FRAMES = (
    PositionFault(
        'every third position in another frame, 100 m away',
        'those in another frame than most are left out, counted and reported',
        mixed_frames(3, 100.0),
    ),
    PositionFault(
        'a second recording, or a score, in another frame',
        PLANES,
        renamed(frame_id='odom'),
        together=True,
        refused='different frames (map, odom)',
        unscored="in the frame 'odom', but the model gives them in 'map'",
    ),
    PositionFault(
        'a second recording, or a score, from a geodetic origin',
        PLANES,
        renamed(origin=ORIGIN),
        together=True,
        refused='metres from 48.0000000, 11.0000000 deg, but the positions of',
        unscored='metres from 48.0000000, 11.0000000 deg, but the model gives',
    ),
    PositionFault(
        'satellite fixes without a fault', 'the first is the origin of a plane', fixes([])
    ),
    PositionFault(
        'the first satellite fixes at 0, 0',
        'no fixes: left out, counted and reported; the origin is the first after them',
        fixes([(0.0, 0.0)] * 5),
    ),
    PositionFault(
        'the first satellite fix at latitude 123',
        'no fix: left out, counted and reported; the origin is the first after it',
        fixes([(123.0, 11.0)]),
    ),
)

POSITION_FAULTS = (*PLACES, *CLOCKS, *FRAMES)
"""All rows, in the order of the page."""
