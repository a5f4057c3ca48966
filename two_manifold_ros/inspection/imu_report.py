# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was measured of the IMU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.channels import stuck_stretches, summarise_channels
from two_manifold_ros.inspection.gravity import measure_gravity
from two_manifold_ros.inspection.timing import measure_timing
from two_manifold_ros.ticks.usable import absurd_values, usable_samples

if TYPE_CHECKING:
    from two_manifold_ros.inspection.channels import ChannelSummary
    from two_manifold_ros.inspection.gravity import Gravity
    from two_manifold_ros.inspection.stretch import Stretch
    from two_manifold_ros.inspection.timing import Timing
    from two_manifold_ros.recordings.recording import ImuStream


@dataclass(frozen=True)
class ImuReport:
    """
    Measurements of one IMU stream.

    Parameters
    ----------
    topic, frame_id
        Where it came from.
    timing
        Of its stamps.
    channels
        One summary per channel.
    gravity
        As the accelerometer shows it.
    fastest_rate
        99 % quantile of the magnitude of the angular rate, in the unit of the recording.
    not_finite
        Samples with NaN or infinity.
    absurd : (6,)
        Values of each channel far beyond all others, which nothing else is measured of.
    stuck
        Where no channel changes.

    """

    topic: str
    frame_id: str
    timing: Timing
    channels: tuple[ChannelSummary, ...]
    gravity: Gravity
    fastest_rate: float
    not_finite: int
    absurd: tuple[int, ...]
    stuck: tuple[Stretch, ...]


def measure_imu(imu: ImuStream, name: str) -> ImuReport:
    """
    Measure an IMU stream of the recording of that name.

    Raises
    ------
    InputError
        If no sample is finite and possible.

    """
    finite, cleaned = usable_samples(imu.samples)
    absurd = absurd_values(cleaned, finite)
    good = finite & ~absurd.any(axis=1)
    if not good.any():
        kind = 'possible' if finite.any() else 'finite'
        msg = (
            f'{imu.topic} in {name} has no {kind} sample among {len(imu.samples)}: check the IMU '
            f'driver and record again.'
        )
        raise InputError(msg)
    samples = cleaned[good]
    return ImuReport(
        topic=imu.topic,
        frame_id=imu.frame_id,
        timing=measure_timing(imu.stamps, imu.first_stamp),
        channels=summarise_channels(samples),
        gravity=measure_gravity(samples),
        fastest_rate=float(np.quantile(np.linalg.norm(samples[:, 3:], axis=1), 0.99)),
        not_finite=int((~finite).sum()),
        absurd=tuple(absurd.sum(axis=0).tolist()),
        stuck=stuck_stretches(imu),
    )
