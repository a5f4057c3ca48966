# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How many IMU messages a second there are to use."""

from __future__ import annotations

import math


class InputRate:
    """
    Rate from one look to the next, over whole intervals between messages.

    Measured both by the clock and by the stamps, of which the greater counts: a bag may be played
    slowly, and stamps may jump.
    """

    def __init__(self) -> None:
        self._arrived_s = math.nan
        self._stamp_ns = 0

    def look(self, used: int, arrived_s: float, stamp_ns: int) -> float:
        """
        Return the rate in Hz since the last look, NaN if one of the two looks found nothing.

        Parameters
        ----------
        used
            How many messages were used since the last look.
        arrived_s
            When the newest message arrived, by a clock that never goes back.
        stamp_ns
            Its stamp in nanoseconds.

        """
        known = used > 0 and not math.isnan(self._arrived_s)
        by_clock = arrived_s - self._arrived_s
        by_stamps = (stamp_ns - self._stamp_ns) / 1e9
        self._arrived_s, self._stamp_ns = (arrived_s if used else math.nan), stamp_ns
        if not known:
            return math.nan
        return max((used / each for each in (by_clock, by_stamps) if each > 0), default=math.inf)
