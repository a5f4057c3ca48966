# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the reference says about whether the vehicle drives its course."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.quarantine import WITHOUT_WITNESS

if TYPE_CHECKING:
    from two_manifold_ros.adapting.recent_ticks import RecentTicks

SLOWEST, FASTEST = 0.3, 2.5
"""Of the usual speed: outside of these nothing is driving as it did."""

OFF_COURSE = 0.15
"""Distance from every remembered position, in their spread, that is another course."""

MEMORY_S = 30.0


class Witness:
    """
    Follow the reference by ticks.

    Parameters
    ----------
    rate_hz
        Ticks per second.

    Attributes
    ----------
    usual_speed
        Mean speed while all was well, m/s; 0 before that.
    weight
        What a tick counts for a suspicion to be confirmed: 1 while the reference moves on at a
        usual speed and along the known course, 0 while it does not move, else one in
        ``WITHOUT_WITNESS``.

    """

    def __init__(self, rate_hz: float) -> None:
        self._rate_hz = rate_hz
        self._second = max(1, round(rate_hz))
        self.usual_speed = 0.0
        self.seen = 0
        self.weight = 1.0 / WITHOUT_WITNESS

    def look(self, ticks: RecentTicks, newest: int, *, well: bool) -> None:
        """
        Look at the positions of the last second.

        Parameters
        ----------
        ticks
            With the positions.
        newest
            Number of the newest tick of which the position should be known by now.
        well
            Whether what is seen is the usual.

        """
        _, _, positions, _ = ticks.part(newest - self._second, newest + 1)
        known = np.flatnonzero(np.isfinite(positions[:, 0]))
        self.weight = 1.0 / WITHOUT_WITNESS
        if len(known) < 2 or 2 * (known[-1] - known[0]) < self._second:
            return
        way = math.dist(positions[known[-1]], positions[known[0]])
        speed = way * self._rate_hz / float(known[-1] - known[0])
        if well:
            self.seen += 1
            memory = MEMORY_S * self._rate_hz
            self.usual_speed += (speed - self.usual_speed) / min(self.seen, memory)
        elif self.seen and speed < SLOWEST * self.usual_speed:
            self.weight = 0.0
        elif self.seen and speed <= FASTEST * self.usual_speed:
            self.weight = 1.0 if _on_course(ticks, newest) else self.weight


def _on_course(ticks: RecentTicks, newest: int) -> bool:
    here = ticks.positions[newest % len(ticks)]
    course = ticks.positions[ticks.good & np.isfinite(ticks.positions).all(axis=1)]
    if not len(course) or not np.isfinite(here).all():
        return False
    apart = np.linalg.norm(course - here, axis=1).min()
    spread = float(np.sqrt(course.var(axis=0).sum()))
    return bool(apart <= OFF_COURSE * spread)
