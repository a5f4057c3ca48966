# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the fault matrix: what happens to the vehicle."""

from __future__ import annotations

from changing_vehicle import backwards, elsewhere, on_another_track, onwards
from fault import LOST, StreamFault, UNSURE

WINDOW_S = 2.0

VEHICLE = (
    StreamFault(
        name='kidnapped: lifted off and put down elsewhere',
        seen='issue',
        rule='lost or relocalised within a window, never a confident wrong position',
        says=(UNSURE, 'doubted'),
        within_s=WINDOW_S,
        recovers=40,
        seconds=0.0,
        after=elsewhere(5.0),
    ),
    StreamFault(
        name='driven the wrong way round',
        seen='issue',
        rule='named; nothing is published once it is known',
        says=('refused input', 'wrong_way'),
        within_s=10.0,
        recovers=40,
        seconds=12.0,
        change=backwards,
        after=onwards(24.0),
    ),
    StreamFault(
        name='driven on another track',
        seen='issue',
        rule='lost; nothing is published',
        says=(LOST, 'unfamiliar'),
        within_s=6.0,
        recovers=40,
        seconds=10.0,
        change=on_another_track,
    ),
)
