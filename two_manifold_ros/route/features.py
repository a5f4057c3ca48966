# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a tick looks like: slow means of the observations before it, then its own observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@compiled
def take_features(
    observation: Floats, gains: Floats, means: Floats, features: Floats, first: bool
) -> None:
    """
    Fill the features of an observation, then let the slow means take it.

    Parameters
    ----------
    observation : (d,)
        The newest.
    gains : (m,)
        Share of a new observation in each slow mean.
    means : (m, d)
        Of the observations before; updated.
    features : (d (1 + m),)
        Filled.
    first
        Whether there are none before: every mean starts at this one.

    """
    channels = len(observation)
    for m in range(len(gains)):
        for k in range(channels):
            mean = observation[k] if first else means[m, k]
            features[m * channels + k] = mean
            means[m, k] = mean + gains[m] * (observation[k] - mean)
    features[len(gains) * channels :] = observation


@compiled
def whiten(root: Floats, features: Floats, whitened: Floats) -> None:
    """Fill the product (f,) of the inverse root (f, f) of a covariance and features (f,)."""
    for i in range(len(whitened)):
        value = 0.0
        for k in range(len(features)):
            value += root[i, k] * features[k]
        whitened[i] = value


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
    gains, means, features : (m,), (m, d), (d (1 + m),)
        See `take_features`; the features are those of the newest observation.
    age
        Observations since the start.

    """

    def __init__(self, channels: int, gains: Floats) -> None:
        self.gains = gains
        self.means = np.zeros((len(gains), channels))
        self.features = np.zeros(channels * (1 + len(gains)))
        self.age = 0

    def start(self) -> None:
        """Forget everything: every mean starts at the next observation."""
        self.age = 0

    def push(self, observation: Floats) -> Floats:
        """Take one (d,) observation; return its (d (1 + m),) features, valid until the next."""
        take_features(observation, self.gains, self.means, self.features, self.age == 0)
        self.age += 1
        return self.features


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
