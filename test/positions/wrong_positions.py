# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the matrix of position faults: wrong places, and how often positions come."""

from __future__ import annotations

from position_changes import (
    at_rate,
    bursts,
    doubled,
    first_and_last,
    glitch,
    glitches,
    missing,
    moved_for_good,
    on_a_line,
    parked_first,
    repeated,
    scattered,
    shuttling,
    throttled,
    unrolled,
    wandering,
)
from position_fault import ANY, Limits, PositionFault
from worlds.shuttle import Line

LEFT_OUT = 'left out, counted and reported'
LEFT = ('positions_left_out',)
HOLES = 'interpolated over holes of up to three usual intervals'

PLACES = (
    *(
        PositionFault(
            name=f'one position off by {metres:g} m',
            rule=LEFT_OUT,
            change=glitch(metres),
            says=LEFT,
            updater=0,
        )
        for metres in (1.0, 50.0, 1e3, 1e5)
    ),
    PositionFault(
        name='2 % of the positions off by 1 m to 100 km, each alone',
        rule=LEFT_OUT,
        change=glitches(24, 1.0, 1e5),
        says=LEFT,
        updater=0,
    ),
    PositionFault(
        name='the first and the last five positions off by 100 m',
        rule=LEFT_OUT,
        change=first_and_last(100.0),
        says=LEFT,
        # Nobody knows better until the sixth.
        updater=5,
    ),
    PositionFault(
        name='three bursts of 0.4 s off by 1 m to 10 m',
        rule=LEFT_OUT,
        change=bursts(3, 0.4, 1.0, 10.0),
        says=LEFT,
    ),
    PositionFault(
        name='one burst of 3 s off by 100 m',
        rule=LEFT_OUT,
        change=bursts(1, 3.0, 100.0, 100.0),
        says=LEFT,
        # Of the reference it is known for a second only that it was moved.
        updater=100,
    ),
    PositionFault(
        name='one second of positions scattered by 30 m',
        rule=LEFT_OUT,
        change=scattered(1, 1.0, 30.0),
        says=LEFT,
        updater=0,
    ),
    PositionFault(
        name='localisation moved for good by 1 m',
        rule='used, and reported: either part may be right',
        change=moved_for_good(1.0),
        says=('position_jumps',),
        updater=1419,
        wrong=1419,
        # Two maps at the same time: no ellipse is small enough to be valid.
        trained=Limits(places=1.4, ellipse=1.4, valid=1.0, error=10.0),
        evaluated=Limits(error=15.0),
    ),
    PositionFault(
        name='localisation moved for good by 100 km',
        rule='the shorter part is left out: no time of the drive is enough for the way',
        change=moved_for_good(1e5),
        says=(*LEFT, 'positions_missing'),
        updater=1419,
        trained=Limits(ellipse=1.2),
    ),
    PositionFault(
        name='a receiver that wanders by 0.3 m within 20 s',
        rule='used: every step can be driven; `inspect` prints how far apart the laps are, and '
        'the calibrated ellipses are as large as the errors',
        change=wandering(0.3, 20.0),
        wrong=200,
        updater=200,
        trained=Limits(ellipse=1.4, error=5.0),
        evaluated=Limits(error=5.0),
    ),
    PositionFault(
        name='a fifth of the positions twice',
        rule='the second one is not used',
        change=doubled,
        says=('position_duplicates',),
    ),
    PositionFault(
        name='a third of the positions missing',
        rule=HOLES,
        change=missing(0.33),
        says=('position_uneven',),
        updater=0,
    ),
    PositionFault(
        name='95 % of the positions missing',
        rule=f'{HOLES}; straight lines between them cut the bends',
        change=missing(0.95),
        says=('position_gaps', 'positions_missing'),
        trained=Limits(ellipse=1.3, error=2.5),
        evaluated=Limits(error=3.0),
        updater=0,
    ),
    PositionFault(
        name='positions at 1 Hz',
        rule='interpolated; straight lines between them cut the bends',
        change=at_rate(1.0),
        trained=Limits(places=1.2, ellipse=1.3, error=5.0),
        evaluated=Limits(error=5.0),
        updater=0,
    ),
    PositionFault(
        name='positions at 5 Hz',
        rule='interpolated',
        change=at_rate(5.0),
        trained=Limits(ellipse=1.3),
        updater=0,
    ),
    PositionFault(
        name='positions at 100 Hz, with noise',
        rule='interpolated',
        change=at_rate(100.0, 0.005),
        updater=0,
    ),
    PositionFault(
        name='throttled half-way, from 50 Hz to 2 Hz',
        rule='holes are measured by the intervals around them, so that both halves count',
        change=throttled(25),
        trained=Limits(ellipse=1.3),
        evaluated=Limits(error=1.3),
        updater=0,
    ),
    PositionFault(
        name='positions at 10 Hz, each given five times',
        rule='what is given again is no position of its own, nor a stop',
        change=repeated(5),
        # Each is given for 0.1 s, so that they are late by half of that.
        says=('time_offset',),
        updater=0,
    ),
    PositionFault(
        name='parked for five minutes first',
        rule='speeds are those of driving, and so are the parts that are left out in turn',
        change=parked_first(300.0, 0.005),
        says=('standing',),
        evaluated=None,
        updater=0,
    ),
    PositionFault(
        name='a loop seen from its side: positions on a line',
        rule='learned, with a variance across the line that is not zero; passes on top of each'
        ' other are the same places, so that estimates are withheld (`off_route`) or wrong where'
        ' they part',
        change=on_a_line,
        of_route=True,
        # A projection of the track, at whose ends the car seems to turn back.
        trained=ANY,
        evaluated=None,
    ),
    PositionFault(
        name='straight on, without a lap',
        rule='learned, and reported: of a place that is met once nothing can be validated',
        change=unrolled,
        says=('no_laps',),
        of_route=True,
        trained=ANY,
        evaluated=None,
    ),
    *(
        PositionFault(
            name=f'a shuttle: there and back in reverse, {what}',
            rule='learned: each direction has places of its own, and they lead to each other at'
            ' the ends; withheld until it is found, a few seconds after it drives off',
            change=shuttling(line, white_m),
            of_route=True,
            # Of a line of 12 m there and 12 m back, at another speed than the track.
            trained=Limits(places=2.2, ellipse=3.0, valid=0.06, error=2.0),
            evaluated=None,
        )
        for what, line, white_m in (
            ('on a perfectly straight line', Line(), 0.0),
            ('on a straight line, with noise of 1 cm', Line(), 0.01),
            ('on a bend', Line(sagitta_m=1.0), 0.0),
        )
    ),
)
