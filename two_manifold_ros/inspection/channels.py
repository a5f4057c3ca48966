# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the six channels of the IMU hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.stretch import Stretch
from two_manifold_ros.recordings.recording import IMU_CHANNELS, IMU_UNITS

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import ImuStream
    from two_manifold_ros.typing import Floats

_STUCK_S = 1.0
_STUCK_SAMPLES = 10


@dataclass(frozen=True)
class ChannelSummary:
    """Statistics of the finite samples of one channel, in its unit; a dead one never varies."""

    name: str
    unit: str
    mean: float
    std: float
    lowest: float
    highest: float
    dead: bool


def summarise_channels(samples: Floats) -> tuple[ChannelSummary, ...]:
    """
    Return one summary per channel.

    Parameters
    ----------
    samples : (N, 6) float64
        In the order of ``IMU_CHANNELS``, at least one of them finite.

    """
    finite = samples[np.isfinite(samples).all(axis=1)]
    mean, std = finite.mean(axis=0), finite.std(axis=0)
    # The same rule by which training leaves a channel out.
    dead = std <= 1e-9 * np.maximum(1.0, np.abs(mean))
    columns = (mean, std, finite.min(axis=0), finite.max(axis=0), dead)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(
        ChannelSummary(name, unit, *row)
        for name, unit, row in zip(IMU_CHANNELS, IMU_UNITS, rows, strict=True)
    )


def stuck_stretches(imu: ImuStream) -> tuple[Stretch, ...]:
    """
    Return where all channels stay exactly the same for a second and ten samples or more.

    A coarse sensor repeats itself now and then, so one channel or a few samples say nothing.
    """
    stamps = imu.stamps
    same = (imu.samples[1:] == imu.samples[:-1]).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    stretches = []
    for first, last in edges.reshape(-1, 2).tolist():
        length = int(stamps[last] - stamps[first]) / 1e9
        if length >= _STUCK_S and last - first >= _STUCK_SAMPLES:
            stretches.append(Stretch(int(stamps[first] - imu.first_stamp) / 1e9, length))
    return tuple(stretches)
