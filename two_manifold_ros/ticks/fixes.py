# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that were measured, without those in between."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.usable import usable_places

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import PositionStream
    from two_manifold_ros.ticks.segments import Segment


def only_near_fixes(
    segment: Segment, stream: PositionStream | None, reach_ns: int, margin: int = 0
) -> Segment:
    """
    Forget the positions of the ticks that are further than ``reach_ns`` from any measured one.

    Between positions that are a second apart, a straight line cuts the curves.

    Parameters
    ----------
    segment
        Whose positions are interpolated.
    stream
        What they were interpolated from.
    reach_ns
        Nanoseconds.
    margin
        So many ticks at either end keep their positions: nothing better will be known of them.

    """
    if stream is None:
        return segment
    fixes = np.sort(stream.stamps[usable_places(stream.positions)])
    if not len(fixes):
        return segment
    after = np.minimum(np.searchsorted(fixes, segment.stamps), len(fixes) - 1)
    before = np.maximum(after - 1, 0)
    distance = np.minimum(
        np.abs(fixes[after] - segment.stamps), np.abs(fixes[before] - segment.stamps)
    )
    kept = distance <= reach_ns
    kept[:margin] = kept[len(kept) - min(margin, len(kept)) :] = True
    positions = np.where(kept[:, None], segment.positions, np.nan)
    return replace(segment, positions=positions)
