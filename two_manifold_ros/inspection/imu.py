# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Channels, gravity and faults of the IMU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.timing import (
    findings_of,
    listed,
    measure_timing,
    some,
    Stretch,
)
from two_manifold_ros.model.head import BOUNDS
from two_manifold_ros.recordings.bag_topics import printable
from two_manifold_ros.recordings.recording import (
    acceleration_unit,
    AccelerationUnit,
    FASTEST_RATE,
    fastest_rate,
    IMU_CHANNELS,
    IMU_UNITS,
)
from two_manifold_ros.ticks.segments import absurd_values, usable_samples
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.inspection.timing import Finding, Timing
    from two_manifold_ros.recordings.recording import ImuStream
    from two_manifold_ros.typing import Floats


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
    """Summarise samples (N, 6) channel by channel; at least one sample is finite."""
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


def stuck_stretches(
    imu: ImuStream, least_s: float = 1.0, least_samples: int = 10
) -> tuple[Stretch, ...]:
    """Return where all channels stay the same for a second and ten samples or more."""
    stamps = imu.stamps
    same = (imu.samples[1:] == imu.samples[:-1]).all(axis=1)
    stretches = []
    for first, last in stretches_of(same):
        length = int(stamps[last] - stamps[first]) / 1e9
        if length >= least_s and last - first >= least_samples:
            stretches.append(Stretch(int(stamps[first] - imu.first_stamp) / 1e9, length))
    return tuple(stretches)


@dataclass(frozen=True)
class Gravity:
    """Gravity in the specific force; ``up_axis``, such as ``+z``, is empty without it."""

    mean_magnitude: float
    median_magnitude: float
    up_axis: str
    verdict: AccelerationUnit


def measure_gravity(samples: Floats) -> Gravity:
    """Find gravity in finite samples (N, 6), specific force before angular rate."""
    forces = samples[:, :3]
    vector = forces.mean(axis=0)
    axis = int(np.argmax(np.abs(vector)))
    verdict = acceleration_unit(samples)
    up_axis = ''
    if verdict in {'metres per second squared', 'g'}:
        up_axis = f'{"+" if vector[axis] > 0 else "-"}{"xyz"[axis]}'
    lengths = np.linalg.norm(forces, axis=1)
    return Gravity(float(np.linalg.norm(vector)), float(np.median(lengths)), up_axis, verdict)


@dataclass(frozen=True)
class ImuReport:
    """
    Measurements of one IMU stream.

    ``fastest_rate`` is the 99 % quantile of the magnitude of the angular rate; samples
    ``not_finite`` hold NaN or infinity, and ``absurd`` (6,) counts values of each channel far
    beyond all others, which nothing else is measured of; ``stuck`` is where no channel changes.
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
    """Measure an IMU stream; an ``InputError`` says that no sample is finite and possible."""
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
        fastest_rate=fastest_rate(samples),
        not_finite=int((~finite).sum()),
        absurd=tuple(absurd.sum(axis=0).tolist()),
        stuck=stuck_stretches(imu),
    )


def frame_sentence(topic: str, frame_id: str) -> str:
    """Return why no model can be in a frame of this name, empty if one can."""
    if frame_id.isprintable() and len(frame_id) <= BOUNDS.text:
        return ''
    return (
        f'The frame_id of {topic}, {printable(frame_id)}, is too long or holds characters that '
        'cannot be printed, so training refuses it: correct it in what publishes the topic.'
    )


WORDS = {
    'frame_unprintable': '{0}',
    'acceleration_in_g': 'The acceleration is {mean:.2f} on average, so it is probably in g, not '
    'in m/s^2: have the driver convert, {cure}.',
    'gravity_removed': 'The acceleration averages to {mean:.1f} m/s^2, not to 9.8, so gravity is '
    'probably taken out already: prefer the raw topic of the IMU (REP-145), {cure}.',
    'acceleration_unclear': 'The acceleration averages to {mean:.1f}, and gravity is 9.8 in m/s^2 '
    'and 1 in g: check unit and calibration of the accelerometer.',
    'imu_mounting': 'The axis {0} of the IMU points up: nothing to do as long as it stays mounted '
    'like this.',
    'dead_channels': '{dead} of 6 channels never change ({0}): they are left out of a model; '
    'check the driver if the sensor has them.',
    'imu_not_finite': '{0} NaN or infinite: they are left out; check the driver.',
    'imu_absurd': 'IMU values are far beyond all others, {0}: these samples are left out; look '
    'for a damaged file or a disturbed bus.',
    'imu_stuck': 'The IMU repeats one sample exactly, {0}: check the driver, and leave these '
    'parts out of training.',
    'gyroscope_too_fast': 'The angular rate reaches {0:.0f} rad/s, more than gyroscopes measure, '
    'so it is probably in deg/s: have the driver convert, {cure}.',
}


def imu_findings(imu: ImuReport) -> Iterator[Finding]:
    """Yield findings about the IMU."""
    verdict, axis = imu.gravity.verdict, imu.gravity.up_axis
    dead = [channel.name for channel in imu.channels if channel.dead]
    counts = zip(imu.absurd, imu.channels, strict=True)
    holds = {
        'frame_unprintable': frame_sentence(imu.topic, imu.frame_id),
        'acceleration_in_g': verdict == 'g',
        'gravity_removed': verdict == 'removed',
        'acceleration_unclear': verdict == 'unclear',
        'imu_mounting': verdict == 'metres per second squared' and axis != '+z' and axis,
        'dead_channels': ', '.join(dead),
        'imu_not_finite': some(imu.not_finite, 'IMU sample is', 'IMU samples are'),
        'imu_absurd': ', '.join(f'{count} in {each.name}' for count, each in counts if count),
        'imu_stuck': listed(imu.stuck),
        # Beyond the range of any usual gyroscope, 2000 deg/s.
        'gyroscope_too_fast': imu.fastest_rate > FASTEST_RATE and imu.fastest_rate,
    }
    cure = 'or keep it the same when the filter runs'
    mean = imu.gravity.mean_magnitude
    yield from findings_of(WORDS, holds, mean=mean, cure=cure, dead=len(dead))
