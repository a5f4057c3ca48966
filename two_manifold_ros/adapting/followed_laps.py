# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps that a filter followed while no references came: what it told of them is learned from."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.status import Status

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate

SURE_LAPS = 1.0
"""
Laps without a break that a filter has to be tracking before what it tells is learned from.

One that is lost now and then is rarely sure for a lap, and a model of what it told is worse:
without this condition ipz10 with twice the noise errs by 1.06 m instead of .23 m, and the figure
of eight with a mounting turned by five degrees by 18 m instead of 11 m.
"""

GROWTH = 2.0
"""
Times as many followed laps after which a model is trained again, from the first one on.

All trainings together take twice as long as the last one.
"""


class Told(NamedTuple):
    """
    A position that a filter told.

    Parameters
    ----------
    stamp_ns
        Of the tick.
    x, y
        Metres.

    """

    stamp_ns: int
    x: float
    y: float


class FollowedLaps:
    """Collect positions that a filter tells without references, where it is sure for a lap."""

    def __init__(self) -> None:
        self._counted_ns = self._learned_ns = 0
        self._run: list[Told] = []
        self._sure = False
        self._newest_ns: int | None = None

    @property
    def seconds(self) -> float:
        """How long the laps lasted that count, since references ended."""
        return self._counted_ns * 1e-9

    def clear(self) -> None:
        """Begin anew: references have come, or what is told comes from another model."""
        self.__init__()  # type: ignore[misc]

    def stop(self) -> None:
        """End a run of sure positions: what comes has to be sure for a lap again."""
        self._run.clear()
        self._sure = False
        self._newest_ns = None

    def take(self, estimate: Estimate, lap_s: float) -> list[Told]:
        """
        Take what the filter told.

        Parameters
        ----------
        estimate
            Of the newest tick.
        lap_s
            How long a lap takes.

        Returns
        -------
        list of Told
            That count from now on, oldest first: all of a run once it has lasted for a lap.

        """
        if estimate.status is not Status.TRACKING or not lap_s > 0.0:
            self.stop()
            return []
        self._run.append(Told(estimate.stamp_ns, *estimate.positions[0].tolist()))
        run = self._run
        if not self._sure and (run[-1].stamp_ns - run[0].stamp_ns) * 1e-9 < SURE_LAPS * lap_s:
            return []
        begin_ns = run[0].stamp_ns if self._newest_ns is None else self._newest_ns
        self._counted_ns += run[-1].stamp_ns - begin_ns
        self._sure, self._newest_ns, self._run = True, run[-1].stamp_ns, []
        return run

    def is_due(self, lap_s: float) -> bool:
        """Return whether so much more counts now that it is worth a training."""
        least_ns = max(GROWTH * self._learned_ns, 1e9 * SURE_LAPS * lap_s)
        return self._counted_ns >= least_ns

    def learned(self) -> None:
        """Note that a training has begun from all that counts."""
        self._learned_ns = self._counted_ns
