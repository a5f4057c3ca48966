# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the fault matrix: what happens to the vehicle."""

from __future__ import annotations

from changing_vehicle import backwards, elsewhere, in_the_hand, on_another_track, onwards
from fault import ANY, LOST, REFUSED, StreamFault
from rows_values import AFTER_LOOKS

WINDOW_S = 2.0

AFTER = 50
"""
Ticks until a vehicle that was put down elsewhere is tracked again.

The window leaves the hand behind (20), the novelty of the last windows does (20), and the
better status is believed (10).
"""

VEHICLE = (
    StreamFault(
        name='kidnapped: put down elsewhere in an instant', seen='',
        rule='lost or relocalised within a window, never a confident wrong position',
        says=(LOST, ANY), within_s=WINDOW_S, recovers=40, blind=3, seconds=0.0,
        after=elsewhere(5.0),
    ),
    StreamFault(
        name='kidnapped: carried in the hand for 1.5 s, then put down elsewhere', seen='',
        rule='lost or relocalised within a window, never a confident wrong position',
        says=(LOST, ANY), within_s=WINDOW_S, recovers=AFTER, blind=1, seconds=1.5,
        change=in_the_hand, after=elsewhere(5.0),
    ),
    StreamFault(
        name='driven the wrong way round', seen='',
        rule='named; nothing is published once it is known', says=(REFUSED, 'wrong_way'),
        within_s=10.0, recovers=AFTER_LOOKS, blind=5, seconds=12.0, change=backwards,
        after=onwards(24.0),
    ),
    StreamFault(
        name='driven on another track', seen='', rule='lost; nothing is published',
        says=(LOST, ANY), within_s=6.0, recovers=40, blind=12, seconds=10.0,
        change=on_another_track,
    ),
)  # fmt: skip
