# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scale the channels of the samples, and leave out those that carry nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats

LIMIT_FACTOR = 5.0
"""A sample further from the mean than this many times the largest in training is refused."""


NO_LIMIT = float(np.finfo(np.float64).max)
"""The limit of a channel that is left out."""


@dataclass(frozen=True)
class Channels:
    """
    Mean, scale and range of the c channels of a sample over the training ticks.

    Parameters
    ----------
    mean, scale : (c,)
        Per-channel mean of the ticks, and what counts as one: their standard deviation, of a TPSR
        over the share of it that lasts; in the units of the samples.
    limit : (c,)
        Largest believable distance of one sample from the mean, same units; a channel that is
        left out may be anything finite.
    live : (c,) bool
        Channels that vary; the others are left out.
    names : (c,)
        Of the channels, those of an IMU by default.

    """

    mean: Floats
    scale: Floats
    limit: Floats
    live: Bools
    names: tuple[str, ...] = IMU_CHANNELS

    @property
    def of_imu(self) -> bool:
        """Whether the samples are those of an IMU, in its units."""
        return self.names == IMU_CHANNELS

    @property
    def dead_names(self) -> tuple[str, ...]:
        """Names of the channels left out."""
        return tuple(name for name, live in zip(self.names, self.live, strict=True) if not live)

    @property
    def live_names(self) -> tuple[str, ...]:
        """Names of the channels used, in order."""
        return tuple(name for name, live in zip(self.names, self.live, strict=True) if live)

    def standardise(self, values: Floats) -> Floats:
        """Return the live channels of (T, c) values with mean 0 and variance 1: (T, d)."""
        live = self.live
        scaled: Floats = (values[..., live] - self.mean[live]) / self.scale[live]
        return scaled


def fit_channels(
    segments: Sequence[Segment], largest: Floats, names: tuple[str, ...] = IMU_CHANNELS
) -> Channels:
    """
    Measure the channels over training segments.

    Parameters
    ----------
    segments
        Training ticks.
    largest : (6,)
        Largest absolute sample of each channel in the recordings.
    names
        Of the channels.

    Raises
    ------
    InputError
        If no channel varies.

    """
    values = np.concatenate([segment.values for segment in segments])
    mean = values.mean(axis=0)
    scale = values.std(axis=0)
    live = scale > 1e-9 * np.maximum(1.0, np.abs(mean))
    if not live.any():
        msg = 'no channel varies during training; record while the vehicle drives'
        raise InputError(msg)
    limit = np.where(live, LIMIT_FACTOR * (largest + np.abs(mean)), NO_LIMIT)
    return Channels(mean, scale, limit, live, names)
