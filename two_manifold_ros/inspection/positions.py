# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions of a recording: coverage, jumps, laps, lag, and the gyroscope against their course."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import acos, degrees
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.imu import frame_sentence, measure_gravity
from two_manifold_ros.inspection.lag import (
    FURTHEST_S,
    gyroscope_lag,
    lag_between,
    lag_findings,
    SHOWN,
)
from two_manifold_ros.inspection.motion import (
    count_laps,
    find_jumps,
    put_together,
    usable_positions,
)
from two_manifold_ros.inspection.timing import advancing, info, measure_timing, Stretch, warning
from two_manifold_ros.recordings.excursions import usable_places
from two_manifold_ros.recordings.recording import GRAVITY, IMU_CHANNELS
from two_manifold_ros.ticks.segments import holes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from two_manifold_ros.inspection.lag import Lag, SensorLag
    from two_manifold_ros.inspection.motion import Jump, Laps, Together
    from two_manifold_ros.inspection.timing import Finding, Timing
    from two_manifold_ros.recordings.recording import ImuStream, PositionStream
    from two_manifold_ros.typing import Bools, Floats


FEWEST_LAPS = 3
"""Fewer leave no lap to choose settings on beside those to learn from."""

WANTED_LAPS = 'at least five laps, better ten'
"""What who drives fewer is asked for: with five, each part that is left out is about a lap."""

UNITS_M = {0.001: 'millimetres', 0.01: 'centimetres'}
"""Units of cameras and plans beside metres. A unit is known within a factor of 2.5, which is more
than slopes, slip and noise change the measured acceleration by, and less than half way to another
unit."""

FOLLOWS = 0.6
"""Correlation of yaw rate and course from which a gyroscope follows it."""

LARGE_SCALE = 2.0
"""
Times the course rate, or its inverse, from which on a gyroscope is off by more than its method.

The course is smoothed by the fit of positions, and bends of few positions turn less in it.
"""

LAPS_NOT_COUNTED = (
    f'Laps are not counted, since positions are too rare for it: drive {WANTED_LAPS}.'
)


@dataclass(frozen=True)
class YawAgreement:
    """
    The gyroscope axis that follows the course best, at the lag at which it does.

    The correlation is with the course rate. The slope is gyroscope over course rate: 1 where all
    is well, 57.3 for deg/s, negative for an IMU that is upside down.
    """

    channel: str
    correlation: float
    slope: float


def compare_yaw(both: Together, gyroscope: SensorLag) -> YawAgreement | None:
    """
    Compare the gyroscope axis that explains the course best with the course rate, at its lag.

    Return ``None`` if the streams do not overlap or nothing turns.
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


def unit_of(both: Together, samples: Floats) -> float | None:
    """
    Return the unit of the positions as a share of a metre, if it is surely one of ``UNITS_M``.

    Speed times rate of turn is the acceleration to the side, which the accelerometer measures in
    a unit that gravity shows.
    """
    motion = both.motion
    aside = motion.lateral
    known = np.isfinite(aside) & np.isfinite(both.imu[:, :3]).all(axis=1)
    finite = samples[np.isfinite(samples).all(axis=1)]
    if known.sum() < motion.window or not len(finite):
        return None
    forces = both.imu[known, :3] - both.imu[known, :3].mean(axis=0)
    if measure_gravity(finite).verdict == 'g':
        forces = forces * GRAVITY
    turned = aside[known] - aside[known].mean()
    weights = np.linalg.lstsq(forces, turned, rcond=1e-3)[0]
    whole = float(turned @ turned)
    if not whole or float(turned @ (forces @ weights)) < SHOWN * whole:
        return None
    size = float(np.linalg.norm(weights))
    return next((unit for unit in UNITS_M if 0.4 < size * unit < 2.5), None)


SENSORS = ('linear_acceleration', 'angular_velocity')
"""Fields of an Imu."""

UNLIKE = 0.5
"""
Difference of two answers to bends, over the larger: a factor of two, or 30 degrees of mounting.

Of one car on one floor it is up to a third where it slides.
"""


def answers_to_bends(both: Together, lag: Lag) -> dict[str, tuple[float, ...]]:
    """
    Return what accelerations and rates (3,) gain per unit that the course says, if they follow it.

    Along the axis to the left and up they are 1 in SI; unit, sign and mounting of an IMU show.
    """
    motion = both.motion
    late = round((lag.seconds or 0.0) / motion.step_s) if not lag.exceeds(FURTHEST_S) else 0
    count = len(motion.seconds) - abs(late)
    imu = both.imu[max(0, -late) :][:count]
    courses = motion.lateral, motion.course_rate
    answers = {}
    for name, seen, course in zip(SENSORS, np.split(imu, 2, axis=1), courses, strict=True):
        turns = course[max(0, late) :][:count]
        known = np.isfinite(turns) & np.isfinite(seen).all(axis=1)
        if known.sum() < motion.window:
            continue
        turned, moved = (each[known] - each[known].mean(axis=0) for each in (turns, seen))
        whole = float(turned @ turned)
        explained = float(turned @ (moved @ np.linalg.lstsq(moved, turned, rcond=1e-3)[0]))
        if whole and explained >= SHOWN * whole:
            answers[name] = tuple((moved.T @ turned / whole).tolist())
    return answers


def unlike_sentences(names: Sequence[str], reports: Sequence[PositionReport]) -> Iterator[str]:
    """Yield a sentence for each recording whose sensors answer bends unlike those of most."""
    for sensor in SENSORS:
        known = [
            (name, each.answers[sensor])
            for name, each in zip(names, reports, strict=True)
            if sensor in each.answers
        ]
        answers = np.array([answer for _, answer in known]).reshape(-1, 3)
        sizes = np.linalg.norm(answers, axis=1)
        apart = np.linalg.norm(answers[:, None] - answers, axis=2)
        alike = apart <= UNLIKE * np.maximum(sizes[:, None], sizes)
        usual = int(np.argmax(alike.sum(axis=1))) if known else 0
        for number in np.flatnonzero(~alike[usual]) if known else ():
            name, first = known[number][0], known[usual][0]
            size = sizes[number] / sizes[usual]
            cosine = answers[number] @ answers[usual] / (sizes[number] * sizes[usual])
            angle = acos(np.clip(cosine, -1.0, 1.0))
            yield (
                f'{name}: in bends the {sensor} is {size:.2g} times as large as in {first}, and '
                f'turned by {degrees(angle):.0f} degrees: units, signs or mounting differ, or the '
                'vehicle drove in reverse; give all bags of a model the same units, signs and '
                'mounting, or train without this bag.'
            )


def scale_sentence(topic: str, unit_m: float) -> str:
    """Say that positions are in another unit than metres."""
    return (
        f'Positions on {topic} are probably in {UNITS_M[unit_m]}, not in metres: speed times rate '
        f'of turn is about {1 / unit_m:.0f} times the acceleration to the side that the IMU '
        f'measures; have what publishes them convert to metres.'
    )


@dataclass(frozen=True)
class PositionReport:
    """
    Measurements of one stream of positions, some of them against the IMU.

    Parameters
    ----------
    not_finite, absurd, left_out
        Positions with NaN or infinity, those that are finite but nowhere on earth, and those that
        no speed of the drive explains: all three are left out.
    coverage
        Share of the IMU's time for which there are positions, in [0, 1].
    longest_hole
        The longest stretch of that time for which there are none; ``None`` if there is no hole.
    extent_m
        Width and height of the box around all positions.
    standing
        Share of the known time at which the vehicle hardly moves, in [0, 1].
    jumps, laps
        Leaps, and laps if one was closed.
    yaw
        The gyroscope against the course; ``None`` if that cannot be compared.
    lag
        By how much the positions lag the IMU.
    unit_m
        Unit that the positions surely are in, as a share of a metre; ``None`` for metres.
    answers
        How the sensors answer bends, see `answers_to_bends`.

    """

    topic: str
    frame_id: str
    msgtype: str
    timing: Timing
    not_finite: int
    absurd: int
    left_out: int
    coverage: float
    longest_hole: Stretch | None
    extent_m: tuple[float, float]
    standing: float
    jumps: tuple[Jump, ...]
    laps: Laps | None
    yaw: YawAgreement | None
    lag: Lag
    unit_m: float | None = None
    answers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def measure_positions(positions: PositionStream, imu: ImuStream) -> PositionReport:
    """Measure positions against the IMU of one recording, each with at least one message."""
    origin_ns = imu.first_stamp
    finite = np.isfinite(positions.positions).all(axis=1)
    timing = measure_timing(positions.stamps, origin_ns, interpolated=True)
    imu_seconds = (imu.stamps[advancing(imu.stamps)] - origin_ns) / 1e9
    both = put_together(positions, imu)
    gyroscope = gyroscope_lag(both) if both and imu.of_imu else None
    lag = lag_between(positions, imu, both, gyroscope)
    if lag.exceeds(FURTHEST_S):
        # At the clock of the IMU all else is right.
        off_ns = round(1e9 * (lag.seconds or 0.0))
        positions = replace(positions, stamps=positions.stamps - off_ns)
        both = put_together(positions, imu)
        gyroscope = gyroscope_lag(both) if both else None
    seconds, points = usable_positions(positions, imu)
    motion = both.motion if both else None
    return PositionReport(
        topic=positions.topic,
        frame_id=positions.frame_id,
        msgtype=positions.msgtype,
        timing=timing,
        not_finite=int((~finite).sum()),
        absurd=int((finite & ~usable_places(positions.positions)).sum()),
        coverage=_coverage(seconds, imu_seconds),
        longest_hole=_longest_hole(seconds, imu_seconds, timing.gap_s),
        extent_m=_extent(points),
        standing=1 - float(motion.moving.sum() / motion.known.sum()) if motion else 1.0,
        left_out=int(positions.left_out.sum()),
        jumps=find_jumps(seconds, points, timing.gap_s),
        laps=count_laps(motion) if motion else None,
        yaw=compare_yaw(both, gyroscope) if both and gyroscope else None,
        lag=lag,
        unit_m=unit_of(both, imu.samples) if both and imu.of_imu else None,
        answers=answers_to_bends(both, lag) if both and imu.of_imu else {},
    )


def _holes(seconds: Floats) -> Bools:
    """Return across which steps (M - 1,) between increasing seconds training knows no place."""
    steps = np.round(np.diff(seconds) * 1e9).astype(np.int64)
    return holes(steps) if len(steps) else np.zeros(0, dtype=np.bool_)


def _coverage(seconds: Floats, imu_seconds: Floats) -> float:
    """Return the share of IMU samples that lie between two positions with no hole between."""
    after = np.searchsorted(seconds, imu_seconds)
    inside = (after > 0) & (after < len(seconds))
    covered = ~_holes(seconds)[after[inside] - 1]
    return float(covered.sum()) / len(imu_seconds)


def _longest_hole(seconds: Floats, imu_seconds: Floats, gap_s: float) -> Stretch | None:
    """Return the longest stretch without positions from the first IMU sample to the last."""
    first, last = imu_seconds[0], imu_seconds[-1]
    known = seconds[(seconds > first) & (seconds < last)]
    edges = np.concatenate([[first], known, [last]])
    steps = np.diff(edges)
    # Before the first position and after the last one nothing is interpolated.
    empty = steps > gap_s
    empty[1:-1] = _holes(known)
    longest = int(np.argmax(np.where(empty, steps, 0.0)))
    if not empty[longest]:
        return None
    return Stretch(float(edges[longest]), float(steps[longest]))


def _extent(points: Floats) -> tuple[float, float]:
    if not len(points):
        return 0.0, 0.0
    width, height = np.ptp(points, axis=0).tolist()
    return width, height


def position_findings(positions: PositionReport, half_tick_s: float) -> Iterator[Finding]:
    """Yield findings about the positions; a lag counts from half a tick on."""
    if sentence := frame_sentence(positions.topic, positions.frame_id):
        yield warning('position_frame_unprintable', sentence)
    if positions.unit_m is not None:
        yield warning('positions_scaled', scale_sentence(positions.topic, positions.unit_m))
    if not positions.coverage:
        yield warning(
            'clocks_differ',
            f'No position lies within the time of the IMU, the first comes '
            f'{positions.timing.start_s:.1f} s after the first sample: set the clocks of '
            f'both machines (NTP or PTP), or try --use-receive-time.',
        )
        yield from lag_findings(positions.lag, half_tick_s)
        return
    if positions.coverage < 0.95:
        hole = positions.longest_hole
        yield warning(
            'positions_missing',
            f'Positions cover {positions.coverage:.0%} of the time of the IMU'
            f'{f", the longest hole is {hole}" if hole else ""}: training learns no place in the '
            f'rest; check what the camera or receiver did there.',
        )
    if positions.not_finite:
        yield warning(
            'positions_not_finite',
            f'{positions.not_finite} positions are NaN or infinite: they are left out; check '
            f'what publishes {positions.topic}.',
        )
    if positions.absurd:
        yield warning(
            'positions_absurd',
            f'{positions.absurd} positions are further from the origin than anything on '
            f'earth: they are left out; check what publishes {positions.topic}, or copy the '
            f'recording again.',
        )
    if positions.left_out:
        yield warning(
            'positions_left_out',
            left_out_sentence(positions.left_out, positions.timing.count, positions.topic),
        )
    jumps, most = positions.jumps, 5
    if jumps:
        named = ', '.join(f'{each.distance_m:.2f} m at {each.at_s:.1f} s' for each in jumps[:most])
        more = f' and {len(jumps) - most} more' if len(jumps) > most else ''
        yield warning(
            'position_jumps',
            f'Positions jump {len(jumps)} time(s), {named}{more}: check the camera or the '
            f'localisation there, a model learns them as they are.',
        )
    yield from _lap_findings(positions.laps)
    if positions.standing > 0.2:
        yield info(
            'standing',
            f'The vehicle stands for {positions.standing:.0%} of the time, which teaches '
            f'little about the route: leave long stops out of the recording.',
        )
    yield from lag_findings(positions.lag, half_tick_s)
    yield from yaw_findings(positions.yaw)


def _lap_findings(laps: Laps | None) -> Iterator[Finding]:
    if laps is None:
        yield warning(
            'no_laps', 'The positions never close a lap: record several laps of one route.'
        )
    elif not laps.resolved:
        yield info('laps_not_counted', LAPS_NOT_COUNTED)
    elif laps.count < FEWEST_LAPS:
        yield warning(
            'few_laps',
            f'There are only {laps.count:.1f} laps: record {WANTED_LAPS}, '
            f'so that some can be held out.',
        )


def left_out_sentence(count: int, of: int, topic: str) -> str:
    """Say that positions are left out since no speed of the drive explains them."""
    return (
        f'{count} of {of} positions on {topic} are left out, since no speed of the drive leads '
        f'there and back: check the receiver or the localisation.'
    )


def yaw_findings(yaw: YawAgreement | None) -> Iterator[Finding]:
    """Yield findings about unit and sign of the gyroscope."""
    if yaw is None or abs(yaw.correlation) < FOLLOWS:
        quality = 'they cannot be compared'
        if yaw is not None:
            quality = f'their correlation is only {abs(yaw.correlation):.2f}'
        yield info(
            'gyroscope_unclear',
            f'Course and yaw rate do not show the unit of the gyroscope ({quality}): '
            f'record straights and curves at a steady speed if you want to know.',
        )
        return
    size = abs(yaw.slope)
    if degrees(1.0) / LARGE_SCALE < size < degrees(1.0) * LARGE_SCALE:
        yield warning(
            'gyroscope_in_degrees',
            f'{yaw.channel} is {size:.0f} times the rate at which the course turns, so it is '
            f'probably in deg/s, not in rad/s: have the driver convert, or keep it the same '
            f'when the filter runs.',
        )
    elif not 1.0 / LARGE_SCALE < size < LARGE_SCALE:
        yield warning(
            'gyroscope_scale',
            f'{yaw.channel} is {size:.3g} times the rate at which the course turns: check the '
            f'unit of the gyroscope (rad/s) and of the positions (m).',
        )
    if yaw.slope < 0:
        yield info(
            'yaw_reversed',
            f'{yaw.channel} turns against the course, so the IMU is upside down or the frame of '
            f'the positions is left-handed: nothing to do as long as both stay so.',
        )
