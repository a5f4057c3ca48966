# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether what is observed fits the place where the vehicle is believed to be.

The *surprise* of an observation is minus the logarithm of its likelihood where the vehicle was
expected, over what is usual on laps that were not trained on: 1 is usual. A single tick may
surprise; means over several memories tell a vehicle that was put down elsewhere after some tenths
of a second, and one on another route after some seconds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

USUAL_SHARE = 0.7
"""Of the sharpness that is the usual surprise where no lap could be left out to measure it."""

LIMITS = (3.3, 2.3, 1.8)
"""
Means over the memories of the features, the quickest first, above which there is doubt.

Held-out drives of two slot cars and two real cars stay below for 99 % of the time.
"""

STILL = 2.6
"""Quickest mean above which a vehicle in doubt still goes on to surprise."""

CALM = 1.8
"""Means below which doubt ends, over a time as long as the second memory."""

MOST = 8.0
"""Of one observation: a spike of a sensor must not outweigh a second of usual ones."""

LEAST_LIKELIHOOD = 1e-300


class Surprise:
    """
    Surprise along a stream.

    Parameters
    ----------
    usual
        Minus the logarithm of the likelihood of a usual observation.
    gains : (m,)
        Share of a new observation in each mean, the quickest first, at least one; those without a
        limit are passed over.

    Attributes
    ----------
    newest
        Of the last observation, at most ``MOST``.
    means
        Over each memory, the quickest first.
    recent
        Quickest mean.
    doubted
        Whether the vehicle is probably not where it is believed to be, or was not until lately.

    """

    def __init__(self, usual: float, gains: Floats) -> None:
        self._usual = usual
        self._gains = gains.tolist()[: len(LIMITS)]
        self._rest = self._gains[min(1, len(self._gains) - 1)]
        self.clear()

    def clear(self) -> None:
        """Forget everything, as after a gap."""
        self.means = [0.0] * len(self._gains)
        self._count = 0
        self.newest = 0.0
        self.doubted = False

    @property
    def recent(self) -> float:
        """Mean over the quickest memory."""
        return self.means[0]

    def of(self, likelihood: float, share: float) -> float:
        """
        Return the surprise of an observation.

        Parameters
        ----------
        likelihood
            Relative to one that fits exactly, 0 to 1.
        share
            Of the features that were compared: fewer of them surprise less.

        """
        return -math.log(max(likelihood, LEAST_LIKELIHOOD)) / (self._usual * share)

    def push(self, likelihood: float, share: float) -> None:
        """Take the likelihood of an observation where the vehicle was expected, see ``of``."""
        self.newest = min(self.of(likelihood, share), MOST)
        self._count += 1
        # Plain means until the memories are full, so that the first one weighs no more than any.
        for index, gain in enumerate(self._gains):
            mean = self.means[index]
            self.means[index] = mean + max(gain, 1.0 / self._count) * (self.newest - mean)
        self._judge()

    def _judge(self) -> None:
        if not self.doubted:
            self.doubted = any(
                mean > limit and self._count * gain >= 0.5
                for mean, limit, gain in zip(self.means, LIMITS, self._gains, strict=False)
            )
        elif self.recent > STILL:
            # What comes after the last outburst shows whether the place was found.
            self._count = 0
        elif self._count * self._rest >= 1.0 and max(self.means) < CALM:
            self.doubted = False
