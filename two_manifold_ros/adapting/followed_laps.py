# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps that a filter followed while no references came: what it told of them is learned from."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

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
    """
    Collect positions that a filter tells without references, where it is sure for a lap.

    Ticks at which the vehicle may stand, because its velocity is no larger than its spread,
    neither count nor end anything: who is parked for hours is not to be learned for hours.
    """

    def __init__(self) -> None:
        self._counted_ns = self._learned_ns = 0
        # Since the filter was last unsure: how long it drove, and what does not count yet.
        self._run_ns = 0
        self._run: list[Told] = []
        self._newest_ns: int | None = None

    @property
    def seconds(self) -> float:
        """How long was driven on laps that count, since references ended."""
        return self._counted_ns * 1e-9

    def stop(self) -> None:
        """End a run of sure positions: what comes has to be sure for a lap again."""
        self._run.clear()
        self._run_ns = 0
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
        stamp_ns, velocity = estimate.stamp_ns, estimate.velocity
        step_ns = 0 if self._newest_ns is None else stamp_ns - self._newest_ns
        self._newest_ns = stamp_ns
        if not velocity @ velocity > np.trace(estimate.velocity_covariance):
            return []
        self._run.append(Told(stamp_ns, *estimate.positions[0].tolist()))
        was_sure = self._is_sure(lap_s)
        self._run_ns += step_ns
        if not self._is_sure(lap_s):
            return []
        self._counted_ns += step_ns if was_sure else self._run_ns
        counting, self._run = self._run, []
        return counting

    def is_due(self, lap_s: float) -> bool:
        """Return whether so much more counts now that it is worth a training."""
        least_ns = max(GROWTH * self._learned_ns, 1e9 * SURE_LAPS * lap_s)
        return self._counted_ns >= least_ns

    def _is_sure(self, lap_s: float) -> bool:
        return self._run_ns * 1e-9 >= SURE_LAPS * lap_s

    def learned(self) -> None:
        """Note that a training has begun from all that counts."""
        self._learned_ns = self._counted_ns
