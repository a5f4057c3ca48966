# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions read from a state, by least squares that go on while a reference is there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.readout_sums import doubt, pair_up, reach, ReadoutSums

if TYPE_CHECKING:
    from two_manifold_ros.adapting.recent_ticks import RecentTicks
    from two_manifold_ros.typing import Bools, Floats

LATE_S = 2.0
"""How much later than a tick its reference may come."""

LEARN_EVERY = 16
"""Ticks that are learned together, and after which the sums are solved."""

ENOUGH = 60
"""Errors of a horizon before its covariance means anything."""

ERROR_MEMORY = 0.25
"""Of the errors, in memories of the read-out."""


class PositionLearning:
    """
    A linear read-out for each horizon and one for the velocity.

    Errors are those of what was told before the truth was known, so the covariances are honest;
    each is held against the doubt about the coefficients at that time, and told with the present
    one.

    Parameters
    ----------
    horizons
        Ticks ahead, 0 first.
    states
        Dimension of the state, k.
    period_s
        Length of a tick.
    memory
        Ticks with a reference after which an old one counts only 1/e.

    Attributes
    ----------
    sums
        Of the least squares.
    done
        Number of the newest tick of which the reference was used, or was found missing.
    origin : (2,)
        The first reference position; NaN before it.

    """

    def __init__(
        self, horizons: tuple[int, ...], states: int, period_s: float, memory: float
    ) -> None:
        columns = len(horizons) + 1
        self.horizons = horizons
        self.period_s = period_s
        self.sums = ReadoutSums(columns, states + 1, memory)
        self.readout = self.sums.solve()
        self.done = -1
        self.origin = np.full(2, np.nan)
        self.errors = np.zeros((columns, 2, 2))
        self.counts = np.zeros(columns, dtype=np.int64)
        room = reach(horizons) + round(LATE_S / period_s) + 4 * LEARN_EVERY
        self.numbers = np.full(room, -1, dtype=np.int64)
        self.states = np.zeros((room, states + 1))
        self.told = np.zeros((room, columns, 2))
        self.doubts = np.ones((room, columns))
        self.newest = -1

    @property
    def ready(self) -> bool:
        """Whether every horizon has shown how much it errs."""
        return bool((self.counts >= ENOUGH).all())

    def forget(self) -> None:
        """Forget the stream, but nothing that was learned."""
        self.numbers[:] = -1
        self.told[:] = 0.0
        self.states[:] = 0.0
        self.doubts[:] = 1.0
        self.newest = -1

    def follow(self, number: int, state: Floats) -> None:
        """Take the state (k or less,) after a tick, and tell what is ahead."""
        index = number % len(self.numbers)
        row = self.states[index]
        row[:] = 0.0
        row[: len(state)] = state
        row[-1] = 1.0
        self.numbers[index] = self.newest = number
        self.told[index] = self.readout.coefficients @ row
        self.doubts[index] = 1.0 + doubt(self.readout, row)

    def read(self) -> tuple[Floats, Floats]:
        """
        Return means (H + 1, 2) and covariances (H + 1, 2, 2) after the newest tick.

        They mean nothing before ``ready``.
        """
        index = self.newest % len(self.numbers)
        means = self.told[index].copy()
        means[:-1] += self.origin
        return means, self.errors * self.doubts[index][:, None, None]

    def strain(self, number: int, position: Floats) -> float:
        """Return the squared error at horizon 0 of a tick, over the usual one; NaN if unknown."""
        index = number % len(self.numbers)
        if self.numbers[index] != number or not self.ready:
            return math.nan
        error = position - self.origin - self.told[index, 0]
        return float(error @ error) / float(np.trace(self.errors[0]))

    def learn(self, ticks: RecentTicks, until: int) -> None:
        """Use the references up to a tick, if there are enough of them to be worth it."""
        if until - self.done < LEARN_EVERY:
            return
        back = reach(self.horizons)
        first = max(self.done + 1, until - 3 * LEARN_EVERY)
        self.done = until
        _, _, positions, good = ticks.part(first - back, until + 1)
        positions[~good] = np.nan
        if np.isnan(positions).all():
            return
        if np.isnan(self.origin[0]):
            self.origin = positions[np.isfinite(positions[:, 0])][0].copy()
        there, own = self._kept(first - back, until + 1)
        own[~(good & there)] = np.nan
        states, targets = pair_up(own, positions - self.origin, self.horizons, self.period_s)
        self._count_errors(first, targets)
        self.sums.add(states, targets)
        self.readout = self.sums.solve()

    def move(self, matrix: Floats) -> None:
        """Go over to states that are a (k + 1, k + 1) matrix times the old ones."""
        self.sums.move(matrix)
        self.states = self.states @ matrix.T
        self.readout = self.sums.solve()

    def adopt(self, sums: ReadoutSums) -> None:
        """Go on with sums that were made anew from the same ticks up to ``done``."""
        self.sums = sums
        self.readout = sums.solve()

    def _kept(self, first: int, stop: int) -> tuple[Bools, Floats]:
        wanted = np.arange(first, stop)
        index = wanted % len(self.numbers)
        there: Bools = self.numbers[index] == wanted
        return there, self.states[index]

    def _count_errors(self, first: int, targets: Floats) -> None:
        most = max(1.0, ERROR_MEMORY * self.sums.memory)
        delays = np.array([*self.horizons, 1])
        columns = np.arange(len(delays))
        for number, target in enumerate(targets, start=first):
            index = (number - delays) % len(self.numbers)
            error = target - self.told[index, columns]
            known = (self.numbers[index] == number - delays) & np.isfinite(error).all(axis=1)
            self.counts[known] += 1
            gain = known / np.minimum(np.maximum(self.counts, 1), most)
            square = error[:, :, None] * error[:, None, :]
            square /= self.doubts[index, columns][:, None, None]
            step = np.where(known[:, None, None], square - self.errors, 0.0)
            self.errors += gain[:, None, None] * step
