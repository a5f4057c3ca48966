# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What to do with a stamp: the same rule for live streams and recordings."""

from __future__ import annotations

from enum import Enum

JUMP_BACK_NS = 500_000_000
"""
A stamp older than the newest by less than this is one message out of order; by more, the clock
or the bag jumped back and everything starts anew.
"""


class Verdict(Enum):
    """What one stamp means for the stream; the values are names of counters."""

    ACCEPT = 'accepted'
    START = 'starts'
    GAP = 'gaps'
    JUMP_BACK = 'jumps_back'
    DUPLICATE = 'duplicate_stamp'
    OUT_OF_ORDER = 'out_of_order'
    ZERO = 'zero_stamp'
    WILD = 'wild_stamp'


class StampRule:
    """
    Judge stamps one after the other against the newest accepted one.

    Parameters
    ----------
    max_gap_ns
        A longer step forward is a gap.

    """

    def __init__(self, max_gap_ns: int) -> None:
        self._max_gap = max_gap_ns
        self._newest: int | None = None

    def forget(self) -> None:
        """Treat the next stamp as the first."""
        self._newest = None

    def judge(self, stamp: int) -> Verdict:
        """Judge a stamp; accepted stamps, gaps and jumps back become the newest."""
        if stamp <= 0:
            return Verdict.ZERO
        newest = self._newest
        if newest is None:
            self._newest = stamp
            return Verdict.START
        step = stamp - newest
        if step == 0:
            return Verdict.DUPLICATE
        if -JUMP_BACK_NS < step < 0:
            return Verdict.OUT_OF_ORDER
        self._newest = stamp
        if step < 0:
            return Verdict.JUMP_BACK
        return Verdict.GAP if step > self._max_gap else Verdict.ACCEPT
