# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measure the six channels of the IMU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.findings import info, listed, Stretch, warning
from two_manifold_ros.inspection.timing import measure_timing
from two_manifold_ros.recordings.recording import IMU_CHANNELS, IMU_UNITS
from two_manifold_ros.ticks.segments import absurd_values, usable_samples

if TYPE_CHECKING:
    from two_manifold_ros.inspection.findings import Finding
    from two_manifold_ros.inspection.timing import Timing
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


Verdict: TypeAlias = Literal['metres per second squared', 'g', 'removed', 'unclear']

_STANDARD = 9.80665
_SHARE = 0.2
_FOLLOWS = 0.7


@dataclass(frozen=True)
class Gravity:
    """
    Gravity in the specific force.

    Parameters
    ----------
    mean_magnitude
        Length of the mean vector, in the unit of the recording: 9.8 where all is well.
    median_magnitude
        Median length of the vectors.
    up_axis
        Axis of the IMU that points up, such as ``+z``; empty where gravity is not in it.
    verdict
        What the numbers look like.

    """

    mean_magnitude: float
    median_magnitude: float
    up_axis: str
    verdict: Verdict


def measure_gravity(samples: Floats) -> Gravity:
    """
    Judge specific forces.

    On average over laps the vehicle does not accelerate upwards, so the mean is about gravity,
    and single vectors are not far from it. About 1 can also be the mean of turning one way with
    gravity taken out, but then that axis follows the gyroscope.

    Parameters
    ----------
    samples : (N, 6) float64
        Specific force, then angular rate; finite.

    """
    forces = samples[:, :3]
    mean = forces.mean(axis=0)
    axis = int(np.argmax(np.abs(mean)))
    mean_magnitude = float(np.linalg.norm(mean))
    median_magnitude = float(np.median(np.linalg.norm(forces, axis=1)))
    verdict = _verdict(mean_magnitude, median_magnitude)
    if verdict == 'g' and _follows(forces[:, axis], samples[:, 3:]):
        verdict = 'removed'
    up_axis = ''
    if verdict in {'metres per second squared', 'g'}:
        up_axis = f'{"+" if mean[axis] > 0 else "-"}{"xyz"[axis]}'
    return Gravity(mean_magnitude, median_magnitude, up_axis, verdict)


def _verdict(mean: float, median: float) -> Verdict:
    def near(value: float, unit: float) -> bool:
        return abs(value - unit) < _SHARE * unit

    if near(mean, _STANDARD):
        return 'metres per second squared'
    if near(mean, 1.0) and near(median, 1.0):
        return 'g'
    return 'removed' if mean < (1 - _SHARE) * _STANDARD else 'unclear'


def _follows(force: Floats, rates: Floats) -> bool:
    """Return whether one axis of the accelerometer is correlated with one of the gyroscope."""
    force, rates = force - force.mean(), rates - rates.mean(axis=0)
    scale = np.linalg.norm(force) * np.linalg.norm(rates, axis=0)
    correlations = np.abs(force @ rates) / np.where(scale > 0, scale, 1.0)
    return bool(correlations.max() > _FOLLOWS)


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
