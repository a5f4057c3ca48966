# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compare the gyroscope with the course of the positions."""

from __future__ import annotations

from dataclasses import dataclass
from math import degrees
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.findings import info, warning
from two_manifold_ros.recordings.recording import IMU_CHANNELS

if TYPE_CHECKING:
    from two_manifold_ros.inspection.findings import Finding
    from two_manifold_ros.inspection.lag import Witness
    from two_manifold_ros.inspection.motion import Together


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


_TOLERANCE = 2.0
_TELLING = 0.6
_DEGREES = degrees(1.0)


def yaw_findings(yaw: YawAgreement | None) -> list[Finding]:
    """Return what is to be said about unit and sign of the gyroscope."""
    if yaw is None or abs(yaw.correlation) < _TELLING:
        quality = 'they cannot be compared'
        if yaw is not None:
            quality = f'their correlation is only {abs(yaw.correlation):.2f}'
        return [
            info(
                'gyroscope_unclear',
                f'The unit of the gyroscope cannot be told from course and yaw rate ({quality}): '
                f'record straights and curves at a steady speed if you want to know.',
            ),
        ]
    return _slope_findings(yaw.channel, yaw.slope)


def _slope_findings(channel: str, slope: float) -> list[Finding]:
    findings = []
    size = abs(slope)
    if _near(size, _DEGREES):
        findings.append(
            warning(
                'gyroscope_in_degrees',
                f'{channel} is {size:.0f} times the rate at which the course turns, so it is '
                f'probably in deg/s, not in rad/s: have the driver convert, or keep it the same '
                f'when the filter runs.',
            ),
        )
    elif not _near(size, 1.0):
        findings.append(
            warning(
                'gyroscope_scale',
                f'{channel} is {size:.3g} times the rate at which the course turns: check the '
                f'unit of the gyroscope (rad/s) and of the positions (m).',
            ),
        )
    if slope < 0:
        findings.append(
            info(
                'yaw_reversed',
                f'{channel} turns against the course, so the IMU is upside down or the frame of '
                f'the positions is left-handed: nothing to do as long as both stay so.',
            ),
        )
    return findings


def _near(size: float, unit: float) -> bool:
    return unit / _TOLERANCE < size < unit * _TOLERANCE
