# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a tick looks like: slow means of the observations before it, then its own observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class FeatureStream:
    """
    The features of a live stream.

    Parameters
    ----------
    channels
        Of an observation, d.
    gains : (m,)
        Share of a new observation in each slow mean.

    Attributes
    ----------
    age
        Observations since the start.

    """

    def __init__(self, channels: int, gains: Floats) -> None:
        self._gains = gains[:, None]
        self._means = np.zeros((len(gains), channels))
        self._features = np.zeros(channels * (1 + len(gains)))
        self._begin = self._means.size
        self.age = 0

    def start(self) -> None:
        """Forget everything: every mean starts at the next observation."""
        self.age = 0

    def push(self, observation: Floats) -> Floats:
        """Take one (d,) observation; return its (d (1 + m),) features, valid until the next."""
        if not self.age:
            self._means[:] = observation
        self.age += 1
        self._features[: self._begin] = self._means.ravel()
        self._features[self._begin :] = observation
        self._means += self._gains * (observation - self._means)
        return self._features


def gains_for(memories_s: tuple[float, ...], period_s: float) -> Floats:
    """Return the share of a new observation in a mean of each memory."""
    return -np.expm1(-period_s / np.array(memories_s))


def features_along(observations: Floats, gains: Floats) -> Floats:
    """Return the features (T, d (1 + m)) of each tick of one segment (T, d), as of a stream."""
    stream = FeatureStream(observations.shape[1], gains)
    features = np.empty((len(observations), observations.shape[1] * (1 + len(gains))))
    for row, observation in zip(features, observations, strict=True):
        row[:] = stream.push(observation)
    return features
