# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When messages came, beside what their stamps say; knows nothing of ROS."""

from __future__ import annotations

from two_manifold_ros.filtering.causes import GAP
from two_manifold_ros.outputs.facts import Interruption
from two_manifold_ros.outputs.node_causes import STEPPED_AHEAD, STEPPED_BACK

_LEAST_NS, _MOST_NS = 100_000_000, 1_000_000_000
"""Time over which the pace of the stamps is taken."""


class Arrivals:
    """
    What arrival times and headers of messages tell that the filter cannot know.

    Attributes
    ----------
    newest_ns
        Stamp of the newest message that could be decoded.
    good_ns
        When the newest message came that was used, by the clock of `take`; 0 before the first.
    unused
        Messages in a row that were not used.
    frame, newest_frame
        Frames of the first and of the newest message that name one.
    interruption
        Why the filter began anew or coasted the last time, if it did.

    """

    def __init__(self) -> None:
        self.newest_ns = 0
        self.good_ns = 0
        self.unused = 0
        self.begin()

    def begin(self) -> None:
        """Begin with the next message, whatever came before."""
        self.frame = self.newest_frame = ''
        self.interruption: Interruption | None = None
        self._pace = 1.0
        self._anchor: tuple[int, int] | None = None
        self._last: tuple[int, int] | None = None

    def refuse(self) -> None:
        """Take notice of a message that could not be decoded."""
        self.unused += 1

    def take(self, stamp_ns: int, frame: str, arrived_ns: int, *, used: bool, broke: bool) -> None:
        """
        Take notice of a message.

        Parameters
        ----------
        stamp_ns, frame
            Out of its header.
        arrived_ns
            When it came, by a clock that is never set.
        used
            Whether the filter took it.
        broke
            Whether the filter began anew or coasted because of its stamp.

        """
        self.newest_ns = stamp_ns
        # A message without a frame says nothing about its axes.
        self.newest_frame = frame or self.newest_frame
        self.frame = self.frame or frame
        if not used:
            self.unused += 1
            return
        self.unused = 0
        self.good_ns = arrived_ns
        here = stamp_ns, arrived_ns
        if broke and self._last is not None:
            self._take_pace(self._last, _LEAST_NS)
            self.interruption = self._judge(stamp_ns - self._last[0], arrived_ns - self._last[1])
            self._anchor = here
        self._take_pace(here, _MOST_NS)
        self._last = here

    def _judge(self, by_stamps_ns: int, by_clock_ns: int) -> Interruption:
        # A recording that is played ten times as fast has holes that pass ten times as fast.
        passed_ns = self._pace * by_clock_ns
        if 0.5 * passed_ns < by_stamps_ns < 2.0 * passed_ns:
            return Interruption(GAP, by_stamps_ns / 1e9)
        cause = STEPPED_AHEAD if by_stamps_ns > passed_ns else STEPPED_BACK
        return Interruption(cause, abs(by_stamps_ns - passed_ns) / 1e9)

    def _take_pace(self, here: tuple[int, int], least_ns: int) -> None:
        """Take the pace since the anchor if that is long enough ago, and begin anew."""
        if self._anchor is None:
            self._anchor = here
        by_clock_ns = here[1] - self._anchor[1]
        if by_clock_ns >= least_ns:
            self._pace = max((here[0] - self._anchor[0]) / by_clock_ns, 0.0)
            self._anchor = here
