# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the matrix of position faults: wrong places, and how often positions come."""

from __future__ import annotations

from position_changes import doubled, missing
from position_fault import PositionFault

PLACES = (
    PositionFault(
        name='a fifth of the positions twice',
        rule='the second one is not used',
        change=doubled,
    ),
    PositionFault(
        name='a third of the positions missing',
        rule='interpolated over holes of up to three usual intervals',
        change=missing(0.33),
    ),
)
