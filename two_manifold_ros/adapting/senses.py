# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How samples become features: fixed once the stream has shown its scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.features.feature_map import FeatureMap
    from two_manifold_ros.ticks.channels import Channels
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Senses:
    """
    Scales and feature maps.

    Parameters
    ----------
    channels
        Mean, scale and range of the samples.
    observation_features
        Of a standardised observation (d,).
    window_features
        Of a window (w d,), the oldest observation first; the last feature is the constant 1.
    most_still : (d,)
        Most ticks in a row in which each live channel did not change.

    """

    channels: Channels
    observation_features: FeatureMap
    window_features: FeatureMap
    most_still: Ints

    def sense(self, values: Floats) -> tuple[Floats, Floats]:
        """
        Return a standardised observation (d,) and its features (p,).

        Parameters
        ----------
        values : (c,)
            Means of a tick in the units of the samples; what is out of range is taken as its end.

        """
        channels = self.channels
        near = np.clip(values, channels.mean - channels.limit, channels.mean + channels.limit)
        observation = channels.standardise(near)
        return observation, self.observation_features.transform(observation[None])[0]

    def believable(self, values: Floats) -> bool:
        """Return whether the (c,) means of a tick are within the range of the channels."""
        channels = self.channels
        far = np.abs(values - channels.mean)[channels.live]
        return bool((far <= channels.limit[channels.live]).all())
