# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learn the read-out anew from the last minute of ticks, as the present parameters see it.

While the dynamics are young, the states of a lap ago were those of a worse model; least squares
over them lag behind by laps. Filtering the same ticks once more mends that. It is done a few
ticks at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.readout_sums import pair_up, reach
from two_manifold_ros.filtering.step import REJECTED_BEFORE_RESTART
from two_manifold_ros.tpsr.belief import TpsrBelief

if TYPE_CHECKING:
    from two_manifold_ros.adapting.position_learning import PositionLearning
    from two_manifold_ros.adapting.readout_sums import ReadoutSums
    from two_manifold_ros.adapting.recent_ticks import RecentTicks
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats


class Rehearsal:
    """
    Filter remembered ticks once more.

    Parameters
    ----------
    tpsr
        The parameters to do it with.
    first
        Number of the first tick.
    settling
        Ticks after which a belief that was started is followed by a read-out, and after which
        one that saw nothing is started anew.
    sums
        Empty ones, to be filled.
    matrix : (k + 1, k + 1)
        From the states of the parameters to the present ones; moves with them.

    """

    def __init__(self, tpsr: Tpsr, first: int, settling: int, sums: ReadoutSums) -> None:
        self.tpsr = tpsr
        self.next = first
        self.settling = settling
        self.sums = sums
        self.belief = TpsrBelief(tpsr)
        self.rejected = 0
        self.settled = 0
        self.missed = 0
        self.rows = np.full((0, sums.gram.shape[1]), np.nan)
        self.matrix = np.eye(sums.gram.shape[1])

    def run(self, ticks: RecentTicks, learning: PositionLearning, count: int) -> bool:
        """Go on by some ticks; return whether all up to those that were learned are done."""
        back = reach(learning.horizons)
        stop = min(self.next + count, learning.done + 1)
        if stop > self.next:
            there, features, _, good = ticks.part(self.next, stop)
            added = [self._step(*each) for each in zip(there, features, good, strict=True)]
            if not len(self.rows):
                self.rows = np.full((back, self.sums.gram.shape[1]), np.nan)
            rows = np.vstack([self.rows, *added])
            _, _, positions, sound = ticks.part(self.next - back, stop)
            positions[~sound] = np.nan
            self.sums.add(
                *pair_up(rows, positions - learning.origin, learning.horizons, learning.period_s)
            )
            self.rows = rows[-back:]
            self.next = stop
        return self.next > learning.done

    def move(self, matrix: Floats) -> None:
        """Hear that the present states have moved."""
        self.matrix = matrix @ self.matrix

    def result(self) -> ReadoutSums:
        """Return the sums for the present states."""
        self.sums.move(self.matrix)
        return self.sums

    def _step(self, there: bool, features: Floats, good: bool) -> Floats:
        self.missed = 0 if there else self.missed + 1
        if there:
            self.belief.update(features)
            self.rejected = 0 if self.belief.accepted else self.rejected + 1
        elif self.missed <= self.settling:
            self.belief.skip(1)
        if self.rejected >= REJECTED_BEFORE_RESTART or self.missed > self.settling:
            self.belief.start()
            self.rejected = self.settled = 0
        self.settled += 1
        row: Floats = np.zeros(self.sums.gram.shape[1])
        row[: self.tpsr.states] = self.belief.state
        row[-1] = 1.0
        return row if good and self.settled > self.settling else np.full_like(row, np.nan)
