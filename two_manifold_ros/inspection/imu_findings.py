# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the measurements of the IMU mean for the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.inspection.finding import info, warning
from two_manifold_ros.inspection.stretch import listed

if TYPE_CHECKING:
    from two_manifold_ros.inspection.finding import Finding
    from two_manifold_ros.inspection.imu_report import ImuReport

# Faster than the range of any usual gyroscope, 2000 deg/s.
_FASTEST_RAD_S = 35.0
_SAME_LIVE = 'have the driver convert, or keep it the same when the filter runs'


def imu_findings(imu: ImuReport) -> list[Finding]:
    """Return what is to be said about the IMU."""
    findings = _gravity_findings(imu)
    dead = [channel.name for channel in imu.channels if channel.dead]
    if dead:
        findings.append(
            warning(
                'dead_channels',
                f'{len(dead)} of 6 channels never change ({", ".join(dead)}): they are left out '
                f'of a model; check the driver if the sensor has them.',
            ),
        )
    if imu.not_finite:
        findings.append(
            warning(
                'imu_not_finite',
                f'{imu.not_finite} IMU samples are NaN or infinite: they are left out; check the '
                f'driver.',
            ),
        )
    if any(imu.absurd):
        findings.append(_absurd(imu))
    if imu.stuck:
        findings.append(
            warning(
                'imu_stuck',
                f'The IMU repeats one sample exactly, {listed(imu.stuck)}: check the driver, and '
                f'leave these parts out of training.',
            ),
        )
    if imu.fastest_rate > _FASTEST_RAD_S:
        findings.append(
            warning(
                'gyroscope_too_fast',
                f'The angular rate reaches {imu.fastest_rate:.0f} rad/s, more than gyroscopes '
                f'measure, so it is probably in deg/s: {_SAME_LIVE}.',
            ),
        )
    return findings


def _absurd(imu: ImuReport) -> Finding:
    places = ', '.join(
        f'{count} in {channel.name}'
        for channel, count in zip(imu.channels, imu.absurd, strict=True)
        if count
    )
    return warning(
        'imu_absurd',
        f'IMU values are far beyond all others, {places}: these samples are left out; look for a '
        f'damaged file or a disturbed bus.',
    )


def _gravity_findings(imu: ImuReport) -> list[Finding]:
    gravity = imu.gravity
    if gravity.verdict == 'g':
        return [
            warning(
                'acceleration_in_g',
                f'The acceleration is {gravity.mean_magnitude:.2f} on average, so it is probably '
                f'in g, not in m/s^2: {_SAME_LIVE}.',
            ),
        ]
    if gravity.verdict == 'removed':
        return [
            warning(
                'gravity_removed',
                f'The acceleration averages to {gravity.mean_magnitude:.1f} m/s^2, not to 9.8, '
                f'so gravity is probably taken out already: prefer the raw topic of the IMU '
                f'(REP-145), or keep it the same when the filter runs.',
            ),
        ]
    if gravity.verdict == 'unclear':
        return [
            warning(
                'acceleration_unclear',
                f'The acceleration averages to {gravity.mean_magnitude:.1f}, which is gravity '
                f'neither in m/s^2 nor in g: check unit and calibration of the accelerometer.',
            ),
        ]
    if gravity.up_axis != '+z':
        return [
            info(
                'imu_mounting',
                f'The axis {gravity.up_axis} of the IMU points up: nothing to do as long as it '
                f'stays mounted like this.',
            ),
        ]
    return []
