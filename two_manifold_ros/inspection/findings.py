# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All checks of a recording: the code of a finding, when it holds, and its words."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Literal, TYPE_CHECKING, TypeAlias

from two_manifold_ros.inspection.motion import Laps
from two_manifold_ros.inspection.positions import (
    FEWEST_LAPS,
    LAPS_NOT_COUNTED,
    left_out_sentence,
    scaled_sentence,
    WANTED_LAPS,
    YawAgreement,
)
from two_manifold_ros.inspection.streams import frame_sentence, listed
from two_manifold_ros.recordings.recording import FASTEST_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.inspection.streams import ImuReport, Timing

Severity: TypeAlias = Literal['info', 'warning']


@dataclass(frozen=True)
class Finding:
    """A stable code, and a sentence: ``cause: cure.`` or ``cause: effect; cure.`` for people."""

    severity: Severity
    code: str
    sentence: str

    @property
    def cause(self) -> str:
        """What was found, in small letters unless it begins with a name."""
        cause = self.sentence.rpartition(': ')[0]
        return cause[0].lower() + cause[1:] if cause[1].islower() else cause

    @property
    def cure(self) -> str:
        """What to do about it."""
        return self.sentence.rpartition(': ')[2].rpartition('; ')[2].rstrip('.')


INFO = frozenset({
    'imu_duplicates', 'position_duplicates', 'laps_not_counted', 'standing', 'offset_unknown',
})  # fmt: skip
"""Codes of findings that cannot spoil a model; the others are warnings."""

Row: TypeAlias = 'tuple[str, object, str]'
"""A code, what makes it a finding where it is true, and its sentence."""

FOLLOWS = 0.6
"""Correlation of yaw rate and course from which a gyroscope follows it."""

LARGE_SCALE = 2.0
"""Times the course rate, or its inverse, from which on a gyroscope is off."""

CONVERT = 'have the driver convert, or keep it the same when the filter runs.'

NO_POSITIONS = (
    'There are no positions, so a model can run on this recording but not learn from it: record a '
    'position topic, or name it with --position-topic, or for lap times alone train with --marks.'
)


def findings_of(
    imu: ImuReport, positions: PositionReport | None, least_lag_s: float
) -> Iterator[Finding]:
    """Yield all that holds of the streams of a recording; lags up to ``least_lag_s`` are none."""
    rows = _of_stamps('IMU', imu.timing, 'no window crosses one', 'left out') + _of_imu(imu)
    if positions is None:
        rows.append(('no_positions', True, NO_POSITIONS))
    else:
        rows += _of_stamps(
            'Position', positions.timing, 'they teach no position', 'put in order'
        ) + _of_positions(positions, least_lag_s)
    for code, holds, sentence in rows:
        if holds:
            yield Finding('info' if code in INFO else 'warning', code, sentence)


def _of_stamps(word: str, timing: Timing, in_gaps: str, late: str) -> list[Row]:
    """Return the rows about the stamps of a stream, with what training does with them."""
    prefix, of_all = word.lower(), f'of {timing.count}'
    parts = f', of which those with {timing.apart} messages are not measured here'
    return [
        (f'{prefix}_gaps', timing.gaps,
         (f'{word} messages have gaps, {len(timing.gaps)} in all, {listed(timing.gaps)}: '
         f'{in_gaps}; look for a slow disk or network if they are many.')),
        (f'{prefix}_backward', timing.backward,
         (f'{word} stamps go back in time, {timing.backward} {of_all}: late messages are {late}, '
         f'and a larger step back starts a new part{parts * bool(timing.apart)}; check that no '
         'clock was set and no bag looped while recording.')),
        (f'{prefix}_wild', timing.wild,
         (f'{word} stamps are far from all others, {timing.wild} {of_all}, and no later stamp '
         'follows them: these messages are left out; check what stamps them if there are many.')),
        (f'{prefix}_zero', timing.zero,
         (f'{word} stamps are zero or negative, {timing.zero} {of_all}: these messages are left '
         'out; have the driver stamp them, or try --use-receive-time.')),
        (f'{prefix}_duplicates', timing.duplicates,
         (f'{word} stamps repeat the one before, {timing.duplicates} {of_all}: the repetitions '
         'are left out; check the driver if there are many.')),
    ]  # fmt: skip


def _of_imu(imu: ImuReport) -> list[Row]:
    mean, verdict = imu.gravity.mean_magnitude, imu.gravity.verdict
    dead = [each.name for each in imu.channels if each.dead]
    absurd = ', '.join(
        f'{count} in {each.name}'
        for count, each in zip(imu.absurd, imu.channels, strict=True)
        if count
    )
    frame = frame_sentence(imu.topic, imu.frame_id)
    return [
        ('frame_unprintable', frame, frame),
        ('acceleration_in_g', verdict == 'g',
         (f'The acceleration is {mean:.2f} on average, so it is probably in g, not in m/s^2: '
         f'{CONVERT}')),
        ('gravity_removed', verdict == 'removed',
         (f'The acceleration averages to {mean:.1f} m/s^2, not to 9.8, so gravity is probably '
         'taken out already: prefer the raw topic of the IMU (REP-145), or keep it the same when '
         'the filter runs.')),
        ('acceleration_unclear', verdict == 'unclear',
         (f'The acceleration averages to {mean:.1f}, and gravity is 9.8 in m/s^2 and 1 in g: '
         'check unit and calibration of the accelerometer.')),
        ('dead_channels', dead,
         (f'Channels never change, {len(dead)} of 6 ({", ".join(dead)}): they are left out of a '
         'model; check the driver if the sensor has them.')),
        ('imu_not_finite', imu.not_finite,
         (f'IMU samples are NaN or infinite, {imu.not_finite} of {imu.timing.count}: they are '
         'left out; check the driver.')),
        ('imu_absurd', absurd,
         (f'IMU values are far beyond all others, {absurd}: these samples are left out; look for '
         'a damaged file or a disturbed bus.')),
        ('imu_stuck', imu.stuck,
         (f'The IMU repeats one sample exactly, {listed(imu.stuck)}: check the driver, and leave '
         'these parts out of training.')),
        # Beyond the range of any usual gyroscope, 2000 deg/s.
        ('gyroscope_too_fast', imu.fastest_rate > FASTEST_RATE,
         (f'The angular rate reaches {imu.fastest_rate:.0f} rad/s, more than gyroscopes measure, '
         f'so it is probably in deg/s: {CONVERT}')),
    ]  # fmt: skip


def _of_positions(positions: PositionReport, least_lag_s: float) -> list[Row]:
    timing, topic, lag = positions.timing, positions.topic, positions.lag
    jumps = [f'{each.distance_m:.2f} m at {each.at_s:.1f} s' for each in positions.jumps[:5]]
    laps = positions.laps or Laps(0.0, 0.0, 0.0, 0.0)
    yaw = positions.yaw or YawAgreement('', 0.0, 0.0)
    # The gyroscope reads so many times the course rate, where it follows the course.
    times = abs(yaw.slope) if abs(yaw.correlation) >= FOLLOWS else 1.0
    in_degrees = 1.0 / LARGE_SCALE < times / math.degrees(1.0) < LARGE_SCALE
    scaled = not (in_degrees or 1.0 / LARGE_SCALE < times < LARGE_SCALE)
    frame = frame_sentence(topic, positions.frame_id)
    rows: list[Row] = [
        ('position_frame_unprintable', frame, frame),
        ('positions_scaled', positions.scale, scaled_sentence(positions.scale or 1.0, topic)),
        ('offset_ambiguous', lag.ambiguous, lag.sentence),
        ('offset_unknown', lag.seconds is None and not lag.ambiguous,
         ('The time offset between IMU and positions is unknown, because neither gyroscope nor '
         'accelerometer follows the course: record straights and curves for more than ten '
         'seconds to measure it.')),
        ('time_offset', lag.exceeds(least_lag_s), lag.sentence),
    ]  # fmt: skip
    if not positions.coverage:
        return [
            *rows,
            ('clocks_differ', True,
             ('No position lies within the time of the IMU, the first comes '
             f'{timing.start_s:.1f} s after the first sample: set the clocks of both machines '
             '(NTP or PTP), or try --use-receive-time.')),
        ]  # fmt: skip
    return [
        *rows,
        ('positions_missing', positions.coverage < 0.95,
         (f'Positions cover {positions.coverage:.0%} of the time of the IMU: training '
         'learns no place in the rest; check what the camera or receiver did there.')),
        ('positions_not_finite', positions.not_finite,
         (f'Positions are NaN or infinite, {positions.not_finite} of {timing.count}: they are '
         f'left out; check what publishes {topic}.')),
        ('positions_absurd', positions.absurd,
         (f'Positions are further from the origin than anything on earth, {positions.absurd} of '
         f'{timing.count}: they are left out; check what publishes {topic}, or copy the '
         'recording again.')),
        ('positions_left_out', positions.left_out,
         left_out_sentence(positions.left_out, timing.count, topic)),
        ('position_jumps', positions.jumps,
         (f'Positions have jumps, {len(positions.jumps)} in all, such as {", ".join(jumps)}: '
         'check the camera or the localisation there, a model learns them as they are.')),
        ('no_laps', positions.laps is None,
         'The positions never close a lap: record several laps of one route.'),
        ('laps_not_counted', not laps.resolved, LAPS_NOT_COUNTED),
        ('few_laps', positions.laps and laps.resolved and laps.count < FEWEST_LAPS,
         (f'There are only {laps.count:.1f} laps: record {WANTED_LAPS}, so that some can be held '
         'out.')),
        ('standing', positions.standing > 0.2,
         (f'The vehicle stands for {positions.standing:.0%} of the time, which teaches little '
         'about the route: leave long stops out of the recording.')),
        ('gyroscope_in_degrees', in_degrees,
         (f'{yaw.channel} is {times:.0f} times the rate at which the course turns, so it is '
         f'probably in deg/s, not in rad/s: {CONVERT}')),
        ('gyroscope_scale', scaled,
         (f'{yaw.channel} is {times:.3g} times the rate at which the course turns: check the unit '
         'of the gyroscope (rad/s) and of the positions (m).')),
    ]  # fmt: skip
