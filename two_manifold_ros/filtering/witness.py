# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether what was observed for a while is what the places believed in make expected."""

from __future__ import annotations

import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.route.route import LIMITS, SLOW, STANDS
from two_manifold_ros.typing import Floats, Indices

if TYPE_CHECKING:
    from two_manifold_ros.route.belief import RouteBelief
    from two_manifold_ros.route.route import Route

MEMORIES = 8.0
"""Memories of the observations that are looked back on: fewer show too few bends."""

REACH = 0.85
"""
Share of the correlation that the noise of the map leaves, below which another road is driven.
"""

STEADY = 0.4
"""
Spread of the logarithm of the speed ratio above which a lane is driven: a step to half of the
speed, of a slow lap, has .35 at most, one to .4 of it, of a lane, .46.
"""

UNSEEN = 0.1
"""Share of the variance along the route by which a straight, or a start, speaks for the route."""


@compiled
def compare(
    observation: Floats, chances: Floats, ratios: Floats, active: Indices, known: Any,  # noqa: ANN401
) -> float:  # fmt: skip
    """
    Return the correlation of what is observed, with the newest (d,), and what was expected.

    It is expected at places and speed ratios (P, 7), of which some are ``active``. ``known`` are
    the whitening (d, d) of an observation, the means and slopes (P, d) of the places, the
    ``gain`` of the newest, and the variance ``unseen``; ``expected`` (d,) is scratch. Updated are
    the ``middles`` (2, d + 1) of what is expected, with the logarithm of the speed ratio, and
    observed; and the ``moments`` (4,): variances of both, their covariance, that of the logarithm.
    """
    whitening, means, slopes, gain, unseen, expected, middles, moments = known
    expected[:] = 0.0
    total, stands, speed = 0.0, 0.0, 0.0
    for i in active:
        stands += chances[i, STANDS]
        for h in range(SLOW + 1):
            chance = chances[i, h]
            if chance > LIMITS.least_share:
                total += chance
                speed += chance * math.log(max(ratios[i, h], LIMITS.least_rate))
                apart = ratios[i, h] - 1.0
                for k in range(len(expected)):
                    expected[k] += chance * (means[i, k] + apart * slopes[i, k])
    # A standing vehicle meets no bends, and in a long stop even a small chance to move adds up.
    if total > stands:
        gain *= 1.0 - stands
        moments *= 1.0 - gain
        kept = gain * (1.0 - gain)
        apart = speed / total - middles[0, len(expected)]
        middles[0, len(expected)] += gain * apart
        moments[3] += kept * apart * apart
        for k in range(len(expected)):
            seen = -middles[1, k]
            for c in range(k + 1):
                seen += whitening[k, c] * observation[c]
            awaited = expected[k] / total - middles[0, k]
            middles[0, k] += gain * awaited
            middles[1, k] += gain * seen
            moments[0] += kept * awaited * awaited
            moments[1] += kept * seen * seen
            moments[2] += kept * awaited * seen
    alone = (moments[0] + unseen) * (moments[1] + unseen)
    # Where all places look alike nothing can disagree.
    return float((moments[2] + unseen) / math.sqrt(alone)) if alone > 0.0 else 1.0


class Witness:
    """
    Compares the observations of some bends with what a belief expects, whatever road that is.

    Off the trained route a belief that follows any speed finds a place for each observation, but
    none for those of a whole piece of road. It ``agrees`` where they correlate as the noise of the
    map lets them, and the speed ratio spreads by no more than ``steady``.
    """

    def __init__(self, route: Route, steady: float = STEADY) -> None:
        likelihood = route.likelihood
        means, channels = likelihood.new_means, likelihood.channels
        variance = float(means.var(axis=0).sum())
        noise = channels * float(likelihood.noise.mean())
        self._steady = steady
        self._least = REACH * math.sqrt(variance / (variance + noise))
        self._middles, self._moments = np.zeros((2, channels + 1)), np.zeros(4)
        self._known = (
            *map(np.ascontiguousarray, (likelihood.new_whitening, means, likelihood.new_slopes)),
            likelihood.persistence / MEMORIES, UNSEEN * variance, np.zeros(channels),
            self._middles, self._moments,
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        """Forget everything."""
        self._middles[:] = self._moments[:] = 0.0
        self.correlation, self.agrees = 1.0, True

    def follow(self, observation: Floats, belief: RouteBelief) -> None:
        """Take an observation (d,) and the belief after it."""
        self.correlation = compare(
            observation, belief.chances, belief.ratios, belief.support, self._known
        )
        self.agrees = self.correlation >= self._least and self._moments[3] <= self._steady**2
