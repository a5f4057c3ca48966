# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions of a recording: coverage, jumps, laps, lag, and the gyroscope against their course."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import estimate_lag, FURTHEST_S, gyroscope_lag, Lag, SHOWN
from two_manifold_ros.inspection.motion import (
    count_laps,
    is_jump,
    Laps,
    Motion,
    put_together,
    sound_samples,
    usable_positions,
)
from two_manifold_ros.inspection.streams import advancing, measure_timing, Timing
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.excursions import usable_places
from two_manifold_ros.recordings.recording import (
    acceleration_unit,
    GRAVITY,
    IMU_CHANNELS,
    Recording,
)
from two_manifold_ros.ticks.segments import holes

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import ImuStream, PositionStream


FEWEST_LAPS = 3
"""Fewer leave no lap to choose settings on beside those to learn from."""

WANTED_LAPS = 'at least five laps, better ten'
"""What is asked for if there are fewer: with five, each part that is left out is about a lap."""

LEAST_DRIVES = 3
"""Recordings that show where drives begin, at least: two others where one is left out."""

DEGREE_M = 111_195.0
"""Length of a degree of latitude, metres."""

MISSCALED = 2.5
"""Times, or one over it, by which positions in metres may seem off: with 3, feet would pass."""

LAPS_NOT_COUNTED = (
    f'Laps are not counted, since positions are too rare for it: drive {WANTED_LAPS}.'
)


@dataclass(frozen=True)
class YawAgreement:
    """The axis that follows the course best; its slope is 57.3 for deg/s, negative upside down."""

    channel: str
    correlation: float
    slope: float


def compare_yaw(motion: Motion) -> YawAgreement | None:
    """Compare the axis that explains the course best with it; ``None`` if nothing turns."""
    gyroscope = gyroscope_lag(motion)
    if not gyroscope.explained > 0:
        return None
    late = round(gyroscope.lag_s / motion.step_s)
    count = len(motion.imu) - abs(late)
    yaw = motion.imu[max(0, -late) :][:count, IMU_CHANNELS.index(gyroscope.name)]
    course_rate = motion.course_rate[max(0, late) :][:count]
    known = np.isfinite(yaw) & np.isfinite(course_rate)
    (varied, shared), (_, turned) = np.cov(yaw[known], course_rate[known]).tolist()
    # The course regressed on the gyroscope and inverted: the noise is in the positions.
    return YawAgreement(gyroscope.name, shared / (varied * turned) ** 0.5, varied / shared)


def scaled_sentence(times: float, topic: str) -> str:
    """Say that positions are so many times as large as in metres, what shows it, and the cure."""
    off = float(f'{max(times, 1.0 / times):.3g}')
    return (
        f'Positions on {topic} are not in metres (speed times rate of turn is about {off:,g} '
        f'times {"larger" if times > 1.0 else "smaller"} than the acceleration to the side '
        'that the IMU measures, taken in m/s^2): have their publisher convert to metres.'
    )


def scale_of(positions: PositionStream, imu: ImuStream) -> float | None:
    """
    Return how many times as large as in metres positions are; ``None`` if nothing shows that.

    Speed times rate of turn is the acceleration to the side, which the accelerometer measures in
    a unit that gravity shows. An IMU that removes gravity may measure in m/s^2, g, or mg.
    """
    known = usable_places(positions.positions)
    if not imu.of_imu or positions.frame_id == LAP_FRAME or not known.any():
        return None
    _, samples = sound_samples(imu)
    if not len(samples):
        return None
    verdict = acceleration_unit(samples)
    if verdict == 'unclear':
        return None
    right_at = [1.0, GRAVITY, GRAVITY / 1000.0] if verdict == 'removed' else [1.0]
    motion, size = put_together(positions, imu), GRAVITY if verdict == 'g' else 1.0
    found = _times(motion) if motion else None
    if found is None:
        # In a large unit a drive looks like a parked vehicle; and a lag hides what it shows.
        middle = np.median(positions.positions[known], axis=0)
        larger = replace(positions, positions=(positions.positions - middle) * DEGREE_M)
        lag = estimate_lag(Recording('', imu, larger))
        if lag.seconds is not None:
            larger = replace(larger, stamps=larger.stamps - round(1e9 * lag.seconds))
        motion, size = put_together(larger, imu), size * DEGREE_M
        found = _times(motion) if motion else None
    if motion is None or found is None:
        return None
    least, most = (each / size for each in found)
    # Smoothing over longer, s, cuts bends: positions may seem as much smaller.
    sharp = min(1.0, 1.2 / (motion.window * motion.step_s))
    if any(least <= MISSCALED * each and most >= sharp / MISSCALED * each for each in right_at):
        return None
    return math.sqrt(least * most)


def _times(motion: Motion) -> tuple[float, float] | None:
    """Return bounds of speed times rate of turn over the acceleration aside, or ``None``."""
    aside = motion.lateral
    known = np.isfinite(aside) & np.isfinite(motion.imu[:, :3]).all(axis=1)
    # Seconds of known motion that show a unit, as those that show a lag.
    if known.sum() * motion.step_s < 10.0:
        return None
    forces = motion.imu[known, :3] - motion.imu[known, :3].mean(axis=0)
    turned = aside[known] - aside[known].mean()
    # An axis that is next to constant would get a large weight for next to nothing.
    weights = np.linalg.lstsq(forces, turned, rcond=0.1)[0]
    whole = float(turned @ turned)
    explained = float(turned @ (forces @ weights)) / whole if whole else 0.0
    if explained < SHOWN:
        return None
    # The regression of one on the other, and its inverse.
    times = float(np.linalg.norm(weights))
    return times, times / explained


def check_units(recordings: Sequence[Recording]) -> None:
    """Refuse recordings whose positions are surely not in metres."""
    for each in recordings:
        if each.positions and (times := scale_of(each.positions, each.imu)):
            raise InputError(f'{each.name}: {scaled_sentence(times, each.positions.topic)}')


@dataclass(frozen=True)
class Jump:
    """A leap: seconds from the first IMU stamp, and metres."""

    at_s: float
    distance_m: float


@dataclass(frozen=True)
class PositionReport:
    """Measurements of one stream of positions, some of them against the IMU."""

    topic: str
    frame_id: str
    msgtype: str
    timing: Timing
    not_finite: int  # left out, as the next two
    absurd: int  # nowhere on earth
    left_out: int  # where no speed of the drive leads
    coverage: float  # share of the IMU's time with positions
    extent_m: tuple[float, float]  # box around all positions
    standing: float  # share of the known time in which it hardly moves
    jumps: tuple[Jump, ...]
    laps: Laps | None
    yaw: YawAgreement | None
    lag: Lag
    scale: float | None = None  # see `scale_of`; all else is in metres then


def measure_positions(positions: PositionStream, imu: ImuStream) -> PositionReport:
    """Measure positions against the IMU of one recording, each with at least one message."""
    scale = scale_of(positions, imu)
    if scale is not None:
        positions = replace(positions, positions=positions.positions / scale)
    origin_ns = imu.first_stamp
    finite = np.isfinite(positions.positions).all(axis=1)
    timing = measure_timing(positions.stamps, origin_ns, interpolated=True)
    imu_seconds = (imu.stamps[advancing(imu.stamps)] - origin_ns) / 1e9
    motion = put_together(positions, imu)
    lag = estimate_lag(Recording('', imu, positions), motion)
    if lag.exceeds(FURTHEST_S):
        # At the clock of the IMU all else is right.
        off_ns = round(1e9 * (lag.seconds or 0.0))
        positions = replace(positions, stamps=positions.stamps - off_ns)
        motion = put_together(positions, imu)
    seconds, points = usable_positions(positions, imu)
    # Across holes, before the first and after the last position training knows no place.
    steps = np.round(np.diff(seconds) * 1e9).astype(np.int64)
    after = np.searchsorted(seconds, imu_seconds)
    inside = (after > 0) & (after < len(seconds))
    covered = ~holes(steps)[after[inside] - 1] if len(steps) else inside[inside]
    leaps = is_jump(seconds, points, timing.gap_s)
    distances = np.linalg.norm(np.diff(points, axis=0), axis=1)
    width, height = np.ptp(points, axis=0).tolist() if len(points) else (0.0, 0.0)
    return PositionReport(
        topic=positions.topic,
        frame_id=positions.frame_id,
        msgtype=positions.msgtype,
        timing=timing,
        not_finite=int((~finite).sum()),
        absurd=int((finite & ~usable_places(positions.positions)).sum()),
        coverage=float(covered.sum()) / len(imu_seconds),
        extent_m=(width, height),
        standing=1 - float(motion.moving.sum() / motion.known.sum()) if motion else 1.0,
        left_out=int(positions.left_out.sum()),
        jumps=tuple(map(Jump, seconds[1:][leaps].tolist(), distances[leaps].tolist())),
        laps=count_laps(motion) if motion else None,
        yaw=compare_yaw(motion) if motion and imu.of_imu else None,
        lag=lag,
        scale=scale,
    )


def left_out_sentence(count: int, of: int, topic: str) -> str:
    """Say that positions are left out since no speed of the drive explains them."""
    return (
        f'Positions on {topic} are left out, {count} of {of}, since no speed of the drive leads '
        f'there and back: check the receiver or the localisation.'
    )
