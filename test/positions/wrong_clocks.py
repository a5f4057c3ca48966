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


GAPS = ('imu_gaps', 'position_gaps')
# A stamp is a moment by which positions are compared with the truth, so those of a clock that was
# set are all wrong by it, and right for the IMU.
BY_STAMP: dict[str, Any] = {'wrong': math.inf, 'updater': None}
# The filter finds its place for a second time on two laps after the clock was set.
REFILLED = Limits(valid=0.15, error=2.0)

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
        trained=Limits(ellipse=1.4, error=20.0),
        evaluated=Limits(error=20.0, valid=0.1),
    ),
    PositionFault(
        'positions stamped an hour late throughout',
        stamped(slice(None), 3600.0),
        ('time_offset',),
        **BY_STAMP,
        evaluated=None,
        refused='no position falls into the time of the IMU',
    ),
    *(
        PositionFault(
            f'all clocks set {words} after a quarter (NTP)',
            clock_set(0.25, by_s),
            GAPS if by_s > 0.0 else ('imu_backward', 'position_backward'),
            **BY_STAMP,
            evaluated=REFILLED,
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
    ),
)

FRAMES = (
    PositionFault('every third position in another frame, 100 m away', mixed_frames(3, 100.0)),
    PositionFault('the first satellite fixes at 0, 0', fixes([(0.0, 0.0)] * 5)),
    PositionFault('the first satellite fix at latitude 123', fixes([(123.0, 11.0)])),
)

POSITION_FAULTS = (*PLACES, *CLOCKS, *FRAMES)
