# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the ROS clock goes as a clock should; knows nothing of ROS."""

from __future__ import annotations

from two_manifold_ros.outputs.node_causes import CLOCK_STANDS, NO_CLOCK

STEP_S = 0.5
"""A clock that goes wrong by more from one look to the next was set."""


class RosClock:
    """
    Watches the ROS clock beside one that is never set.

    Attributes
    ----------
    trouble
        Cause for which it does not go, see ``CLOCK_WORDS``; empty if it goes.
    stepped_s
        By how much it was set between the last two looks, seconds; 0 if it was not.

    """

    def __init__(self) -> None:
        self.trouble = ''
        self.stepped_s = 0.0
        self._before: tuple[int, float] | None = None

    def look(self, now_ns: int, steady_s: float, *, simulated: bool) -> None:
        """
        Look at it; once a second is enough.

        Parameters
        ----------
        now_ns
            What it shows.
        steady_s
            What the other one shows.
        simulated
            Whether it follows /clock, which may have any pace.

        """
        before, self._before = self._before, (now_ns, steady_s)
        self.trouble, self.stepped_s = '', 0.0
        if simulated and not now_ns:
            self.trouble = NO_CLOCK
            return
        if before is None or not before[0]:
            return
        passed_s, steady_passed_s = (now_ns - before[0]) / 1e9, steady_s - before[1]
        if simulated:
            self.trouble = '' if passed_s else CLOCK_STANDS
            self.stepped_s = min(passed_s, 0.0)
        elif abs(passed_s - steady_passed_s) > STEP_S:
            self.stepped_s = passed_s - steady_passed_s
