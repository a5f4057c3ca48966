# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the matrix of position faults: wrong stamps, frames and origins."""

from __future__ import annotations

import math

from clock_changes import (
    clock_set,
    DAY_S,
    delivered_late,
    fixes,
    mixed_frames,
    ORIGIN,
    renamed,
    stamped,
    unstamped,
    wild,
)
from position_fault import Limits, PositionFault

WILD = 'left out, counted and reported; all others stay where they are'
PART = (
    'a gap: no window crosses it, the filter starts again, and laps and lag are measured on both '
    'sides'
)
BACK = 'a new part: both are learned, and the larger one is inspected'
PLANES = 'refused: one sentence names both'
# A stamp is a moment by which positions are compared with the truth, so those of a clock that was
# set are all wrong by it, and right for the IMU.
BY_STAMP = math.inf
# The filter finds its place for a second time on two laps after the clock was set.
REFILLED = Limits(valid=0.15, error=2.0)

CLOCKS = (
    PositionFault(
        name='one position stamped a day ahead',
        rule=WILD,
        change=stamped(500, DAY_S),
        says=('position_wild',),
        wrong=1,
    ),
    PositionFault(
        name='one position stamped an hour back',
        rule=WILD,
        change=stamped(500, -3600.0),
        says=('position_wild',),
        wrong=1,
    ),
    PositionFault(
        name='the first position stamped a day back',
        rule=WILD,
        change=stamped(0, -DAY_S),
        says=('position_wild',),
        wrong=1,
    ),
    PositionFault(
        name='the last position stamped a day ahead',
        rule=WILD,
        change=stamped(-1, DAY_S),
        says=('position_wild',),
        wrong=1,
    ),
    PositionFault(
        name='a few positions stamped up to a day ahead or back, each alone',
        rule=WILD,
        change=wild(10),
        says=('position_wild',),
        wrong=10,
    ),
    PositionFault(
        name='five positions in a row stamped a day ahead',
        rule='a part of its own, which no IMU sample is in',
        change=stamped(slice(500, 505), DAY_S),
        says=('position_backward',),
        wrong=5,
        updater=5,
    ),
    PositionFault(
        name='five positions in a row stamped 20 s ahead',
        rule='a part of its own; where another one says otherwise, neither is used',
        change=stamped(slice(500, 505), 20.0),
        says=('position_backward',),
        wrong=5,
        updater=5,
    ),
    PositionFault(
        name='every fiftieth position stamped 0',
        rule='left out, counted and reported',
        change=unstamped(slice(0, None, 50)),
        says=('position_zero',),
        wrong=BY_STAMP,
    ),
    PositionFault(
        name='every tenth position delivered 0.3 s late, rightly stamped',
        rule='sorted by stamps',
        change=delivered_late(10, 15),
        says=('position_backward',),
        right=0.11,
    ),
    PositionFault(
        name='all positions stamped 0.3 s late',
        rule='reported, and corrected where `position_lag` asks for it',
        change=stamped(slice(None), 0.3),
        says=('time_offset',),
        wrong=BY_STAMP,
        updater=None,
        trained=Limits(ellipse=1.4, error=20.0),
        evaluated=Limits(error=20.0, valid=0.1),
    ),
    PositionFault(
        name='all positions stamped 0.3 s early',
        rule='reported, and corrected where `position_lag` asks for it',
        change=stamped(slice(None), -0.3),
        says=('time_offset',),
        wrong=BY_STAMP,
        updater=None,
        trained=Limits(ellipse=1.4, error=20.0),
        evaluated=Limits(error=20.0, valid=0.1),
    ),
    PositionFault(
        name='positions stamped an hour late throughout',
        rule='refused: no position falls into the time of the IMU',
        change=stamped(slice(None), 3600.0),
        says=('clocks_differ',),
        wrong=BY_STAMP,
        updater=None,
        evaluated=None,
        refused='no position falls into the time of the IMU',
    ),
    *(
        PositionFault(
            name=f'all clocks set {words} after a quarter (NTP)',
            rule=PART,
            change=clock_set(0.25, by_s),
            says=('imu_gaps', 'position_gaps'),
            wrong=BY_STAMP,
            updater=None,
            evaluated=REFILLED,
        )
        for words, by_s in (
            ('two seconds ahead', 2.0),
            ('twelve hours ahead', DAY_S / 2),
            ('a day ahead', DAY_S),
            ('from 1970 to now', 50 * 365 * DAY_S),
        )
    ),
    *(
        PositionFault(
            name=f'all clocks set {words} after a quarter (NTP)',
            rule=BACK,
            change=clock_set(0.25, by_s),
            says=('imu_backward', 'position_backward'),
            wrong=BY_STAMP,
            updater=None,
            evaluated=REFILLED,
        )
        for words, by_s in (('two seconds back', -2.0), ('twelve hours back', -DAY_S / 2))
    ),
    PositionFault(
        name='the clock of the positions alone set a day ahead near the end',
        rule='no place is learned from then on, which is reported',
        change=clock_set(0.8, DAY_S, both=False),
        says=('positions_missing', 'position_gaps'),
        wrong=BY_STAMP,
        updater=None,
    ),
    PositionFault(
        name='a pause of two days, recorded on',
        rule=PART,
        change=clock_set(0.5, 2 * DAY_S),
        says=('imu_gaps', 'position_gaps'),
        wrong=BY_STAMP,
        updater=None,
        evaluated=REFILLED,
    ),
)

FRAMES = (
    PositionFault(
        name='every third position in another frame, 100 m away',
        rule='those in another frame than most are left out, counted and reported',
        change=mixed_frames(3, 100.0),
    ),
    PositionFault(
        name='a second recording, or a score, in another frame',
        rule=PLANES,
        change=renamed(frame_id='odom'),
        together=True,
        refused='different frames (map, odom)',
        unscored="in the frame 'odom', but the model gives them in 'map'",
    ),
    PositionFault(
        name='a second recording, or a score, from a geodetic origin',
        rule=PLANES,
        change=renamed(origin=ORIGIN),
        together=True,
        refused='metres from 48.0000000, 11.0000000 deg, but those of',
        unscored='metres from 48.0000000, 11.0000000 deg, but the model gives',
    ),
    PositionFault(
        name='satellite fixes without a fault',
        rule='the first is the origin of a plane',
        change=fixes([]),
    ),
    PositionFault(
        name='the first satellite fixes at 0, 0',
        rule='no fixes: left out, counted and reported; the origin is the first after them',
        change=fixes([(0.0, 0.0)] * 5),
    ),
    PositionFault(
        name='the first satellite fix at latitude 123',
        rule='no fix: left out, counted and reported; the origin is the first after it',
        change=fixes([(123.0, 11.0)]),
    ),
)
