# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is learned from the reference: the read-out, by and by and now and then anew."""

from __future__ import annotations

from collections import deque
import math
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.position_learning import PositionLearning
from two_manifold_ros.adapting.quarantine import WITHOUT_WITNESS
from two_manifold_ros.adapting.readout_sums import reach, ReadoutSums
from two_manifold_ros.adapting.recent_ticks import RecentTicks
from two_manifold_ros.adapting.rehearsal import Rehearsal
from two_manifold_ros.adapting.witness import Witness

if TYPE_CHECKING:
    from two_manifold_ros.adapting.settings import AdaptingSettings
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats

REHEARSED_PER_TICK = 24
"""Ticks of the past that are filtered once more in a tick, while the read-out is learned anew."""

OLDER = 1.05
"""
Factor by which knowledge ages until the read-out is learned anew from the remembered ticks.

At 1.25 and a third of the pace the slot car needs a lap or two longer after a change.
"""

LATEST_S = 20.0
"""Seconds after which it is learned anew however old the knowledge is."""


FADED = 0.01
"""
Weight that is left to what was learned before a change, where it does not hold any more.

Directions of the old world take up states until the new one outweighs them: with a twentieth of
the weight that takes a lap longer. With nothing left, there would be no state to go on from.
"""

WORTHWHILE = 0.5
"""
Share of what the read-out knows that has to be among the remembered ticks.

After a long stand or without a reference they hold next to nothing.
"""

BROKEN = 7.0
"""
Error over the usual one, times what lies outside of the learned directions over the usual, above
which what was learned does not hold any more.

For the slot car the product is 2 to 6 with more speed or twice the noise, and 9 to 30 with the
sign of a channel reversed; either factor alone may be the same for both.
"""

UNKNOWN_STRAIN = 2.5
"""What the first factor is taken to be where no reference tells it."""

STRAINED_S = 8.0
"""Seconds over which that is judged."""


class Locating:
    """
    The read-out of positions, and the remembered ticks behind it.

    Parameters
    ----------
    settings
        Horizons, memory and rate.

    Attributes
    ----------
    ticks
        The remembered ones.
    learning
        The read-out.
    witness
        What the reference says about driving.
    since
        Number of the first tick of what is usual now.
    rehearsals
        How often the read-out was learned anew.

    """

    def __init__(self, settings: AdaptingSettings) -> None:
        memory = settings.ticks(settings.reference_memory_s)
        self._settings = settings
        self._latest = settings.ticks(LATEST_S)
        self.ticks = RecentTicks(memory, settings.observation_features)
        self.learning = PositionLearning(
            settings.horizons, settings.states, 1.0 / settings.rate_hz, memory
        )
        self.witness = Witness(settings.rate_hz)
        self.since = 0
        self.due = 0
        self.rehearsals = 0
        self._rehearsal: Rehearsal | None = None
        self._strain: deque[float] = deque(maxlen=settings.ticks(STRAINED_S))

    def know(self, number: int, position: Floats, *, well: bool) -> None:
        """Take the (2,) position at the end of a tick; ``well`` if the stream is as usual."""
        if self.ticks.place(number, position):
            self.witness.look(self.ticks, number, well=well)
            self._strain.append(math.nan if well else self.learning.strain(number, position))

    @property
    def strain(self) -> float:
        """How much more the read-out errs lately than it did."""
        found = [each for each in self._strain if math.isfinite(each)]
        if not found or 2 * len(found) < len(self._strain):
            return UNKNOWN_STRAIN
        return math.sqrt(fmean(found))

    def seam(self) -> None:
        """Do not go on with what belongs to one stretch."""
        self._rehearsal = None
        self._strain.clear()

    def forget(self) -> None:
        """Forget the stream, but nothing that was learned."""
        self.seam()
        self.learning.forget()
        self.witness.weight = 1.0 / WITHOUT_WITNESS

    def retract(self, first: int) -> None:
        """Do not learn from the ticks from a number on."""
        self.ticks.judge(first, good=False)

    def accept(self, first: int, *, anew: bool) -> None:
        """Take the ticks from a number on as good, and those before as of little worth."""
        self.ticks.judge(first, good=True)
        self.due = first
        self._rehearsal = None
        if anew:
            self.since = first
            self.learning.sums.fade(FADED)

    def move(self, matrix: Floats) -> None:
        """Go over to states that are a (k + 1, k + 1) matrix times the old ones."""
        self.learning.move(matrix)
        if self._rehearsal is not None:
            self._rehearsal.move(matrix)

    def learn(self, until: int) -> None:
        """Learn from the references up to a tick, and go on with a rehearsal."""
        self.learning.learn(self.ticks, until)
        rehearsal = self._rehearsal
        if rehearsal is None or not rehearsal.run(self.ticks, self.learning, REHEARSED_PER_TICK):
            return
        self.learning.adopt(rehearsal.result())
        self._rehearsal = None
        self.rehearsals += 1

    def consider(self, tpsr: Tpsr) -> None:
        """Begin a rehearsal with new parameters, if one is due."""
        newest = self.ticks.newest
        if self._rehearsal is not None or newest < self.due or np.isnan(self.learning.origin[0]):
            return
        age = newest - self.since
        self.due = newest + min(round((OLDER - 1.0) * age), self._latest)
        sums = self.learning.sums
        first = max(self.since, newest - len(self.ticks) + reach(self._settings.horizons))
        _, _, positions, good = self.ticks.part(first, newest + 1)
        useful = np.count_nonzero(good & np.isfinite(positions[:, 0]))
        if useful < WORTHWHILE * sums.gram[0, -1, -1]:
            return
        self._rehearsal = Rehearsal(
            tpsr,
            first,
            self._settings.window // 2,
            ReadoutSums(len(sums.gram), sums.gram.shape[1], sums.memory),
        )
