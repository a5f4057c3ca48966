# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions of a recording: coverage, jumps, laps, lag, and the gyroscope against their course."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import (
    FURTHEST_S,
    gyroscope_lag,
    Lag,
    lag_between,
    SensorLag,
    SHOWN,
)
from two_manifold_ros.inspection.motion import (
    count_laps,
    find_jumps,
    Jump,
    Laps,
    put_together,
    sound_samples,
    Together,
    usable_positions,
)
from two_manifold_ros.inspection.streams import (
    advancing,
    measure_gravity,
    measure_timing,
    Stretch,
    Timing,
)
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.excursions import usable_places
from two_manifold_ros.recordings.recording import GRAVITY, IMU_CHANNELS
from two_manifold_ros.ticks.segments import holes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
    from two_manifold_ros.typing import Bools, Floats


FEWEST_LAPS = 3
"""Fewer leave no lap to choose settings on beside those to learn from."""

WANTED_LAPS = 'at least five laps, better ten'
"""What is asked for if there are fewer: with five, each part that is left out is about a lap."""

LEAST_DRIVES = 3
"""Recordings that show where drives begin, at least: two others where one is left out."""

DEGREE_M = 111_195.0
"""Length of a degree of latitude, metres."""

UNITS_M = {
    'degrees': DEGREE_M,
    'kilometres': 1000.0,
    'feet': 0.3048,
    'decimetres': 0.1,
    'inches': 0.0254,
    'centimetres': 0.01,
    'millimetres': 0.001,
}
"""Units of receivers, maps, cameras and plans beside metres."""

MISSCALED = 2.5
"""Times, or one over it, by which positions in metres may seem off. The bounds of `_times` on
recordings are .59 and 1.74 where the IMU measures in m/s^2, and .29 and 1.21 times g where it
removes gravity and measures in g; with 3, positions in feet would pass."""

NAMED = 2.0
"""The same for a unit that is named: with 2.5, inches that seem large would be centimetres too."""

SHARP_S = 1.2
"""Smoothing from which on bends are cut, s: positions may seem as much smaller as it is longer."""

SHOWING_S = 10.0
"""Seconds of known motion that show a unit, as those that show a lag."""

LARGE_SCALE = 2.0
"""Times the course rate, or its inverse, from which on a gyroscope is off."""

FOLLOWS = 0.6
"""Correlation of yaw rate and course from which a gyroscope follows it."""

LAPS_NOT_COUNTED = (
    f'Laps are not counted, since positions are too rare for it: drive {WANTED_LAPS}.'
)


@dataclass(frozen=True)
class YawAgreement:
    """The axis that follows the course best; its slope is 57.3 for deg/s, negative upside down."""

    channel: str
    correlation: float
    slope: float

    @property
    def follows(self) -> bool:
        """Whether the gyroscope follows the course."""
        return abs(self.correlation) >= FOLLOWS

    def seems(self, times: float) -> bool:
        """Return whether the gyroscope follows and reads so many times the course rate."""
        return self.follows and 1.0 / LARGE_SCALE < abs(self.slope) / times < LARGE_SCALE


def compare_yaw(both: Together, gyroscope: SensorLag) -> YawAgreement | None:
    """Compare the axis that explains the course best with it; ``None`` if nothing turns."""
    if not gyroscope.explained > 0:
        return None
    imu, in_step = _in_step(both, gyroscope.lag_s)
    yaw, course_rate = imu[:, IMU_CHANNELS.index(gyroscope.name)], both.motion.course_rate[in_step]
    known = np.isfinite(yaw) & np.isfinite(course_rate)
    (varied, shared), (_, turned) = np.cov(yaw[known], course_rate[known]).tolist()
    # The course regressed on the gyroscope and inverted: the noise is in the positions.
    return YawAgreement(gyroscope.name, shared / (varied * turned) ** 0.5, varied / shared)


def _in_step(both: Together, lag_s: float) -> tuple[Floats, slice]:
    """Return the IMU (n, 6), and the points of the motion that are so many seconds later."""
    late = round(lag_s / both.motion.step_s)
    count = len(both.imu) - abs(late)
    return both.imu[max(0, -late) :][:count], slice(max(0, late), max(0, late) + count)


@dataclass(frozen=True)
class Scale:
    """Unit of positions that are surely not in metres, with the known units that fit."""

    times: float
    unit_m: float
    names: tuple[str, ...]

    def sentence(self, topic: str) -> str:
        """Say what the unit is, what shows it, and the cure."""
        unit = f'probably in {" or ".join(self.names)}, not in metres' if self.names else ''
        off = max(self.times, 1.0 / self.times)
        return (
            f'Positions on {topic} are {unit or "not in metres"} (speed times rate of turn is '
            f'about {float(f"{off:.3g}"):,g} times {"larger" if self.times > 1.0 else "smaller"} '
            f'than the acceleration to the side that the IMU measures, taken in m/s^2): have '
            f'their publisher convert to metres.'
        )


def scale_of(positions: PositionStream, imu: ImuStream) -> Scale | None:
    """
    Return the unit of positions if it is surely another than metres.

    Speed times rate of turn is the acceleration to the side, which the accelerometer measures in
    a unit that gravity shows. An IMU that removes gravity may measure in m/s^2, g, or mg.
    """
    known = usable_places(positions.positions)
    if not imu.of_imu or positions.frame_id == LAP_FRAME or not known.any():
        return None
    _, samples = sound_samples(imu)
    if not len(samples):
        return None
    verdict = measure_gravity(samples).verdict
    if verdict == 'unclear':
        return None
    right_at = [1.0, GRAVITY, GRAVITY / 1000.0] if verdict == 'removed' else [1.0]
    both, size = put_together(positions, imu), GRAVITY if verdict == 'g' else 1.0
    found = _times(both) if both else None
    if found is None:
        # In a large unit a drive looks like a parked vehicle; and a lag hides what it shows.
        middle = np.median(positions.positions[known], axis=0)
        larger = replace(positions, positions=(positions.positions - middle) * DEGREE_M)
        lag = lag_between(larger, imu)
        if lag.seconds is not None:
            larger = replace(larger, stamps=larger.stamps - round(1e9 * lag.seconds))
        both, size = put_together(larger, imu), size * DEGREE_M
        found = _times(both) if both else None
    if both is None or found is None:
        return None
    least, most = (each / size for each in found)
    sharp = min(1.0, SHARP_S / (both.motion.window * both.motion.step_s))
    if any(least <= MISSCALED * each and most >= sharp / MISSCALED * each for each in right_at):
        return None
    times = math.sqrt(least * most)
    names = [
        name
        for name, unit_m in UNITS_M.items()
        if least * unit_m <= NAMED and most * unit_m >= sharp / NAMED
    ]
    names.sort(key=lambda name: abs(math.log(times * UNITS_M[name])))
    return Scale(times, UNITS_M[names[0]] if names else 1.0 / times, tuple(names))


def _times(both: Together) -> tuple[float, float] | None:
    """
    Return bounds of speed times rate of turn over the acceleration to the side.

    They are the regression of one on the other and its inverse: noise of the IMU alone, or of the
    positions alone, would give the true one. ``None`` where the IMU does not explain the motion.
    """
    motion = both.motion
    aside = motion.lateral
    known = np.isfinite(aside) & np.isfinite(both.imu[:, :3]).all(axis=1)
    if known.sum() * motion.step_s < SHOWING_S:
        return None
    forces = both.imu[known, :3] - both.imu[known, :3].mean(axis=0)
    turned = aside[known] - aside[known].mean()
    # An axis that is next to constant would get a large weight for next to nothing.
    weights = np.linalg.lstsq(forces, turned, rcond=0.1)[0]
    whole = float(turned @ turned)
    explained = float(turned @ (forces @ weights)) / whole if whole else 0.0
    if explained < SHOWN:
        return None
    times = float(np.linalg.norm(weights))
    return times, times / explained


SENSORS = ('linear_acceleration', 'angular_velocity')
"""Fields of an Imu."""

UNLIKE = 0.5
"""Difference of two answers to bends, over the larger; it is up to a third where a car slides."""


def answers_to_bends(both: Together, lag: Lag) -> dict[str, tuple[float, ...]]:
    """Return what accelerations and rates (3,) gain per unit that the course says, by sensor."""
    motion, lag_s = both.motion, 0.0 if lag.exceeds(FURTHEST_S) else lag.seconds or 0.0
    imu, in_step = _in_step(both, lag_s)
    courses = motion.lateral[in_step], motion.course_rate[in_step]
    answers = {}
    for name, seen, turns in zip(SENSORS, np.split(imu, 2, axis=1), courses, strict=True):
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
    """Yield a sentence for each recording whose sensors answer bends unlike most others."""
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
            angle = math.degrees(math.acos(np.clip(cosine, -1.0, 1.0)))
            yield (
                f'{name}: in bends the {sensor} is {size:.2g} times as large as in {first}, and '
                f'turned by {angle:.0f} degrees: units, signs or mounting differ, or the '
                'vehicle drove in reverse; give all bags of a model the same units, signs and '
                'mounting, or train without this bag.'
            )


def check_units(recordings: Sequence[Recording]) -> None:
    """Refuse recordings whose positions are surely not in metres."""
    for each in recordings:
        scale = None if each.positions is None else scale_of(each.positions, each.imu)
        if scale is not None and each.positions is not None:
            msg = f'{each.name}: {scale.sentence(each.positions.topic)}'
            raise InputError(msg)


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
    longest_hole: Stretch | None  # in that time
    extent_m: tuple[float, float]  # box around all positions
    standing: float  # share of the known time in which it hardly moves
    jumps: tuple[Jump, ...]
    laps: Laps | None
    yaw: YawAgreement | None
    lag: Lag
    scale: Scale | None = None  # all else is in metres then
    answers: Mapping[str, tuple[float, ...]] = field(
        default_factory=dict
    )  # see `answers_to_bends`


def measure_positions(positions: PositionStream, imu: ImuStream) -> PositionReport:
    """Measure positions against the IMU of one recording, each with at least one message."""
    scale = scale_of(positions, imu)
    if scale is not None:
        positions = replace(positions, positions=positions.positions * scale.unit_m)
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
    width, height = np.ptp(points, axis=0).tolist() if len(points) else (0.0, 0.0)
    return PositionReport(
        topic=positions.topic,
        frame_id=positions.frame_id,
        msgtype=positions.msgtype,
        timing=timing,
        not_finite=int((~finite).sum()),
        absurd=int((finite & ~usable_places(positions.positions)).sum()),
        coverage=_coverage(seconds, imu_seconds),
        longest_hole=_longest_hole(seconds, imu_seconds, timing.gap_s),
        extent_m=(width, height),
        standing=1 - float(motion.moving.sum() / motion.known.sum()) if motion else 1.0,
        left_out=int(positions.left_out.sum()),
        jumps=find_jumps(seconds, points, timing.gap_s),
        laps=count_laps(motion) if motion else None,
        yaw=compare_yaw(both, gyroscope) if both and gyroscope else None,
        lag=lag,
        scale=scale,
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


def left_out_sentence(count: int, of: int, topic: str) -> str:
    """Say that positions are left out since no speed of the drive explains them."""
    return (
        f'{count} of {of} positions on {topic} are left out, since no speed of the drive leads '
        f'there and back: check the receiver or the localisation.'
    )
