# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the gyroscope and the course of the positions tell the same story."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from two_manifold_ros.inspection.lag_witness import Witness
    from two_manifold_ros.inspection.together import Together


@dataclass(frozen=True)
class YawAgreement:
    """
    The gyroscope axis that follows the course best, at the lag at which it does.

    Parameters
    ----------
    channel
        Its name.
    correlation
        With the course rate.
    slope
        Gyroscope over course rate: 1 where all is well, 57.3 for deg/s, negative for an IMU that
        is upside down.

    """

    channel: str
    correlation: float
    slope: float


def compare_yaw(both: Together, gyroscope: Witness) -> YawAgreement | None:
    """
    Compare a gyroscope axis with the course rate.

    Parameters
    ----------
    both
        Motion and IMU.
    gyroscope
        The axis that explains the course best, and its lag.

    Returns
    -------
    Nothing if the streams do not overlap or nothing turns.

    """
    if not gyroscope.explained > 0:
        return None
    motion = both.motion
    lag = round(gyroscope.lag_s / motion.step_s)
    count = len(motion.seconds) - abs(lag)
    yaw = both.imu[max(0, -lag) :][:count, IMU_CHANNELS.index(gyroscope.name)]
    course_rate = motion.course_rate[max(0, lag) :][:count]
    known = np.isfinite(yaw) & np.isfinite(course_rate)
    (varied, shared), (_, turned) = np.cov(yaw[known], course_rate[known]).tolist()
    # The course regressed on the gyroscope and inverted: the noise is in the positions.
    return YawAgreement(gyroscope.name, shared / (varied * turned) ** 0.5, varied / shared)
