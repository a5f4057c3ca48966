# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether what was observed for a while is what the places believed in make expected."""

from __future__ import annotations

import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.route.route import LIMITS, SLOW, STANDS

if TYPE_CHECKING:
    from two_manifold_ros.route.belief import RouteBelief
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Floats, Indices

MEMORIES = 8.0
"""Memories of the observations that are looked back on: fewer show too few bends."""

REACH = 0.85
"""
Share of the correlation that the noise of the map leaves, below which another road is driven.
"""

UNSEEN = 0.1
"""Share of the variance along the route by which a straight, or a start, speaks for the route."""


@compiled
def compare(
    observation: Floats, chances: Floats, ratios: Floats, active: Indices, known: Any,  # noqa: ANN401
) -> float:  # fmt: skip
    """
    Return how well observations and what was expected correlate, with the newest (d,).

    It is expected at places and speed ratios (P, 7). ``known`` are the whitening (d, d), means and
    slopes (P, d) of a place, the ``gain`` of the newest, the variance ``unseen``; and updated, the
    ``middles`` (2, d) of what is expected and observed, and their second ``moments`` (3,).
    """
    whitening, means, slopes, gain, unseen, middles, moments = known
    total, stands = 0.0, 0.0
    for i in active:
        stands += chances[i, STANDS]
        for h in range(SLOW + 1):
            total += chances[i, h]
    if total > LIMITS.least_share:
        gain *= 1.0 - stands
        moments *= 1.0 - gain
        kept = gain * (1.0 - gain)
        for k in range(len(observation)):
            expected, seen = 0.0, 0.0
            for c in range(k + 1):
                seen += whitening[k, c] * observation[c]
            for i in active:
                for h in range(SLOW + 1):
                    if chances[i, h] > LIMITS.faint:
                        at = means[i, k] + (ratios[i, h] - 1.0) * slopes[i, k]
                        expected += chances[i, h] / total * at
            expected -= middles[0, k]
            seen -= middles[1, k]
            middles[0, k] += gain * expected
            middles[1, k] += gain * seen
            moments[0] += kept * expected * expected
            moments[1] += kept * seen * seen
            moments[2] += kept * expected * seen
    alone = (moments[0] + unseen) * (moments[1] + unseen)
    return (moments[2] + unseen) / math.sqrt(alone)


class Witness:
    """
    Compares the observations of some bends with what a belief expects, whatever road that is.

    Off the trained route a belief that follows any speed finds a place for each observation, but
    none for those of a whole piece of road.
    """

    def __init__(self, route: Route) -> None:
        likelihood = route.likelihood
        means = likelihood.new_means
        variance = float(means.var(axis=0).sum())
        noise = likelihood.channels * float(likelihood.noise.mean())
        self._least = REACH * math.sqrt(variance / (variance + noise))
        self._middles, self._moments = np.zeros((2, means.shape[1])), np.zeros(3)
        self._known = (
            np.ascontiguousarray(likelihood.new_whitening), np.ascontiguousarray(means),
            np.ascontiguousarray(likelihood.new_slopes), likelihood.persistence / MEMORIES,
            UNSEEN * variance, self._middles, self._moments,
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        """Forget everything."""
        self._middles[:] = self._moments[:] = 0.0
        self.agrees = True

    def follow(self, observation: Floats, belief: RouteBelief) -> None:
        """Take an observation (d,) and the belief after it."""
        agreement = compare(
            observation, belief.chances, belief.ratios, belief.support, self._known
        )
        self.agrees = agreement >= self._least
        self.agreement = agreement
