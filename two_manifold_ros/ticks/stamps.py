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
        A longer step forward is a gap. So is it where for longer than this nothing but older
        stamps came, which the next one goes on from: a clock was set back by that, and during
        that nothing was used.

    Attributes
    ----------
    aside_ns
        Time that passed before the newest stamp and that the accepted ones do not show.

    """

    def __init__(self, max_gap_ns: int) -> None:
        self._max_gap = max_gap_ns
        self.forget()

    def forget(self) -> None:
        """Treat the next stamp as the first."""
        self._newest: int | None = None
        self._refused: tuple[int, int] | None = None
        self.aside_ns = 0

    def judge(self, stamp: int) -> Verdict:
        """Judge a stamp; accepted stamps, gaps and jumps back become the newest."""
        if stamp <= 0:
            return Verdict.ZERO
        newest = self._newest
        if newest is None:
            self._newest = stamp
            return Verdict.START
        step = stamp - newest
        if -JUMP_BACK_NS < step <= 0:
            begin, end = self._refused or (stamp, stamp)
            self._refused = begin, max(end, stamp)
            return Verdict.OUT_OF_ORDER if step else Verdict.DUPLICATE
        self.aside_ns = self._set_aside(stamp)
        self._newest, self._refused = stamp, None
        if step < 0:
            return Verdict.JUMP_BACK
        return Verdict.GAP if step > self._max_gap or self.aside_ns else Verdict.ACCEPT

    def _set_aside(self, stamp: int) -> int:
        """Return for how long older stamps came that this one goes on from; 0 if not for long."""
        begin, end = self._refused or (stamp, stamp)
        if end - begin <= self._max_gap or not 0 < stamp - end <= self._max_gap:
            return 0
        return stamp - begin
