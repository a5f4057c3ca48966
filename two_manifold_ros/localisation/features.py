# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a tick looks like: its observation, and slow means of the observations before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

MEMORIES_S = (0.2, 0.6, 2.0)
"""
Time constants of the slow means, seconds.

Single ticks are noisy; means calm them, and tell how the vehicle came here.
"""

PLACE_MEMORIES = 2
"""
Slow means, the quickest first, that tell the place.

A mean over 2 s tells the pace, but put a faster vehicle behind where it is: the mean is over
time, and the faster vehicle comes from farther away.
"""

SETTLED, SETTLED_PLACE = 2.0, (3.0, 4.0)
"""
Age of a slow mean, in its time constants, from which it counts; and of those that tell the place.

Before, it is mostly the noise of the first observation. Slow means differ so little from one pass
of a place to the next that a seventh of a first observation still leads astray.
"""


class FeatureStream:
    """
    The features of a live stream.

    Parameters
    ----------
    channels
        Of an observation, d.
    gains : (m,)
        Share of a new observation in each slow mean, from ``gains_for``.

    Attributes
    ----------
    features : (d (1 + m),)
        The newest observation, then its slow means, quickest first.
    settled
        How many of the features, from the first, hardly remember any more where they began.

    """

    def __init__(self, channels: int, gains: Floats) -> None:
        self._gains = gains[:, None]
        self._means = np.zeros((len(gains), channels))
        self._ages = np.zeros(len(gains))
        self._settle_at = np.full(len(gains), SETTLED)
        self._settle_at[:PLACE_MEMORIES] = SETTLED_PLACE[: len(gains)]
        self._begun = False
        self._channels = channels
        self.features = np.zeros(channels * (1 + len(gains)))
        self.settled = channels

    def start(self) -> None:
        """Forget everything: every mean begins at the next observation."""
        self._begun = False

    def push(self, observation: Floats) -> Floats:
        """Take one (d,) observation and return ``features``."""
        if not self._begun:
            self._means[:] = observation
            self._ages[:] = 0.0
            self._begun = True
        self._means *= 1.0 - self._gains
        self._means += self._gains * observation
        self._ages += self._gains[:, 0]
        self.settled = self._channels * (1 + int(np.count_nonzero(self._ages > self._settle_at)))
        self.features[: self._channels] = observation
        self.features[self._channels :] = self._means.ravel()
        return self.features


def gains_for(memories_s: tuple[float, ...], period_s: float) -> Floats:
    """Return the share of a new observation in a mean of each memory."""
    return -np.expm1(-period_s / np.array(memories_s))


def features_along(observations: Floats, gains: Floats) -> Floats:
    """
    Return the features of each tick of one segment.

    Parameters
    ----------
    observations : (T, d)
        Standardised.
    gains : (m,)
        From ``gains_for``.

    Returns
    -------
    (T, d (1 + m))
        The same numbers as a ``FeatureStream``.

    """
    stream = FeatureStream(observations.shape[1], gains)
    features = np.empty((len(observations), len(stream.features)))
    for row, observation in zip(features, observations, strict=True):
        row[:] = stream.push(observation)
    return features
