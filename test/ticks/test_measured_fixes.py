# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that were measured are told from those in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.recordings.recording import PositionStream
from two_manifold_ros.ticks.segments import only_near_fixes, Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

STAMPS = 10**18 + 10 * np.arange(12)
SEGMENT = Segment(STAMPS, np.zeros((12, 6)), np.arange(24.0).reshape(12, 2))


def stream(*stamps: int, lost: tuple[int, ...] = ()) -> PositionStream:
    places = np.zeros((len(stamps), 2))
    places[list(lost), 1] = np.nan
    return PositionStream('/p', 'map', 'T', 10**18 + np.array(stamps, dtype=np.int64), places)


@pytest.mark.parametrize(
    ('fixes', 'reach', 'kept'),
    [
        (stream(52), 10, [5, 6]),
        (stream(50), 10, [4, 5, 6]),
        (stream(52), 1, []),
        (stream(-500, 104, 3), 5, [0, 10]),
        (stream(20, 80, lost=(0,)), 5, [8]),
    ],
)
def test_only_ticks_near_a_fix_keep_their_position(
    fixes: PositionStream, reach: int, kept: list[int]
) -> None:
    found = only_near_fixes(SEGMENT, fixes, reach)
    assert np.flatnonzero(np.isfinite(found.positions).all(axis=1)).tolist() == kept
    np.testing.assert_array_equal(found.positions[kept], SEGMENT.positions[kept])
    assert found.stamps is SEGMENT.stamps
    assert found.values is SEGMENT.values


@pytest.mark.parametrize('fixes', [stream(20, lost=(0,)), stream(), None])
def test_without_a_fix_there_is_nothing_to_forget(fixes: PositionStream | None) -> None:
    assert only_near_fixes(SEGMENT, fixes, 5) is SEGMENT


@pytest.mark.parametrize(('margin', 'kept'), [(0, [5]), (2, [0, 1, 5, 10, 11]), (99, range(12))])
def test_the_ends_keep_their_positions(margin: int, kept: Sequence[int]) -> None:
    found = only_near_fixes(SEGMENT, stream(50), 5, margin)
    assert np.flatnonzero(np.isfinite(found.positions).all(axis=1)).tolist() == list(kept)
