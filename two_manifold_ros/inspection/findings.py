# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All checks of a recording as tables: the code of a finding, when it holds, and its words."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any, Literal, TYPE_CHECKING, TypeAlias

from two_manifold_ros.inspection.lag import ambiguous_sentence, late_sentence
from two_manifold_ros.inspection.positions import (
    FEWEST_LAPS,
    LAPS_NOT_COUNTED,
    left_out_sentence,
    PositionReport,
    WANTED_LAPS,
    YawAgreement,
)
from two_manifold_ros.inspection.streams import counted, frame_sentence, ImuReport, listed
from two_manifold_ros.recordings.recording import FASTEST_RATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    'duplicates', 'uneven', 'imu_mounting', 'laps_not_counted', 'standing', 'gyroscope_unclear',
    'yaw_reversed', 'offset_unknown',
})  # fmt: skip
"""Codes, or their ends, of findings that cannot spoil a model; the others are warnings."""

Checks: TypeAlias = 'tuple[tuple[str, Callable[[Any], object], str], ...]'
"""Rows: a code; what is found in a report, nothing if all is well; words, in which ``{0}`` is what
was found and ``{r}`` the report."""

CONVERT = 'have the driver convert, or keep it the same when the filter runs.'


def _times(count: int, one: str, several: str) -> str:
    """Return the words for one or for several, and nothing for none."""
    return (one if count == 1 else several) if count else ''


STAMPS: Checks = (
    ('gaps', lambda r: _times(len(r.gaps), '1 gap', f'{len(r.gaps)} gaps'),
     ('{word} messages have {0}, {gaps}: {in_gaps}; look for a slow disk or network if they are '
     'many.')),
    ('backward', lambda r: _times(r.backward, 'stamp goes', 'stamps go'),
     ('{r.backward} {word} {0} back in time: late messages are {late}, and a larger step back '
     'starts a new part{parts}; check that no clock was set and no bag looped while recording.')),
    ('wild', lambda r: _times(r.wild, 'stamp is', 'stamps are'),
     ('{r.wild} {word} {0} far from all others, and no later stamp follows them: these messages '
     'are left out; check what stamps them if there are many.')),
    ('zero', lambda r: _times(r.zero, 'stamp is', 'stamps are'),
     ('{r.zero} {word} {0} zero or negative: these messages are left out; have the driver stamp '
     'them, or try --use-receive-time.')),
    ('duplicates', lambda r: _times(r.duplicates, 'stamp repeats', 'stamps repeat'),
     ('{r.duplicates} {word} {0} the one before: the repetitions are left out; check the driver '
     'if there are many.')),
    ('uneven', lambda r: r.jitter_p99_s * r.rate_hz > 0.5 and 1e3 * r.jitter_p99_s,
     ('{word} stamps are uneven, 1 % of the intervals are off by more than {0:.0f} ms: averaging '
     'over ticks deals with it; stamp in the driver rather than on arrival if you can.')),
)  # fmt: skip
"""Of the stamps of a stream, a `Timing`; the codes get the name of the stream in front."""

IMU: Checks = (
    ('frame_unprintable', lambda r: frame_sentence(r.topic, r.frame_id), '{0}'),
    ('acceleration_in_g', lambda r: r.gravity.verdict == 'g',
     ('The acceleration is {r.gravity.mean_magnitude:.2f} on average, so it is probably in g, not '
     f'in m/s^2: {CONVERT}')),
    ('gravity_removed', lambda r: r.gravity.verdict == 'removed',
     ('The acceleration averages to {r.gravity.mean_magnitude:.1f} m/s^2, not to 9.8, so gravity '
     'is probably taken out already: prefer the raw topic of the IMU (REP-145), or keep it the '
     'same when the filter runs.')),
    ('acceleration_unclear', lambda r: r.gravity.verdict == 'unclear',
     ('The acceleration averages to {r.gravity.mean_magnitude:.1f}, and gravity is 9.8 in m/s^2 '
     'and 1 in g: check unit and calibration of the accelerometer.')),
    ('imu_mounting',
     lambda r: r.gravity.verdict == 'metres per second squared' and r.gravity.up_axis != '+z',
     ('The axis {r.gravity.up_axis} of the IMU points up: nothing to do as long as it stays '
     'mounted like this.')),
    ('dead_channels',
     lambda r: (dead := [each.name for each in r.channels if each.dead])
     and f'{len(dead)} of 6 channels never change ({", ".join(dead)})',
     '{0}: they are left out of a model; check the driver if the sensor has them.'),
    ('imu_not_finite', lambda r: _times(r.not_finite, 'sample is', 'samples are'),
     '{r.not_finite} IMU {0} NaN or infinite: they are left out; check the driver.'),
    ('imu_absurd',
     lambda r: ', '.join(
         f'{count} in {each.name}' for count, each in zip(r.absurd, r.channels, strict=True)
         if count
     ),
     ('IMU values are far beyond all others, {0}: these samples are left out; look for a damaged '
     'file or a disturbed bus.')),
    ('imu_stuck', lambda r: listed(r.stuck),
     ('The IMU repeats one sample exactly, {0}: check the driver, and leave these parts out of '
     'training.')),
    # Beyond the range of any usual gyroscope, 2000 deg/s.
    ('gyroscope_too_fast', lambda r: r.fastest_rate > FASTEST_RATE,
     ('The angular rate reaches {r.fastest_rate:.0f} rad/s, more than gyroscopes measure, so it '
     f'is probably in deg/s: {CONVERT}')),
)  # fmt: skip
"""Of an `ImuReport`."""

POSITIONS: Checks = (
    ('position_frame_unprintable', lambda r: frame_sentence(r.topic, r.frame_id), '{0}'),
    ('positions_scaled', lambda r: r.scale and r.scale.sentence(r.topic), '{0}'),
    ('clocks_differ', lambda r: not r.coverage,
     ('No position lies within the time of the IMU, the first comes {r.timing.start_s:.1f} s '
     'after the first sample: set the clocks of both machines (NTP or PTP), or try '
     '--use-receive-time.')),
)  # fmt: skip
"""Of any `PositionReport`."""

COVERED: Checks = (
    ('positions_missing',
     lambda r: r.coverage < 0.95
     and f'Positions cover {r.coverage:.0%} of the time of the IMU'
     + (f', the longest hole is {r.longest_hole}' if r.longest_hole else ''),
     '{0}: training learns no place in the rest; check what the camera or receiver did there.'),
    ('positions_not_finite', lambda r: _times(r.not_finite, 'position is', 'positions are'),
     '{r.not_finite} {0} NaN or infinite: they are left out; check what publishes {r.topic}.'),
    ('positions_absurd', lambda r: _times(r.absurd, 'position is', 'positions are'),
     ('{r.absurd} {0} further from the origin than anything on earth: they are left out; check '
     'what publishes {r.topic}, or copy the recording again.')),
    ('positions_left_out',
     lambda r: r.left_out and left_out_sentence(r.left_out, r.timing.count, r.topic), '{0}'),
    ('position_jumps',
     lambda r: r.jumps and f'{counted(len(r.jumps), "jump", "jumps")}, '
     + ', '.join(f'{each.distance_m:.2f} m at {each.at_s:.1f} s' for each in r.jumps[:5])
     + (f' and {len(r.jumps) - 5} more' if len(r.jumps) > 5 else ''),
     ('Positions have {0}: check the camera or the localisation there, a model learns them as '
     'they are.')),
    ('no_laps', lambda r: r.laps is None,
     'The positions never close a lap: record several laps of one route.'),
    ('laps_not_counted', lambda r: r.laps and not r.laps.resolved, LAPS_NOT_COUNTED),
    ('few_laps', lambda r: r.laps and r.laps.resolved and r.laps.count < FEWEST_LAPS,
     ('There are only {r.laps.count:.1f} laps: '
     f'record {WANTED_LAPS}, so that some can be held out.')),
    ('standing', lambda r: r.standing > 0.2,
     ('The vehicle stands for {r.standing:.0%} of the time, which teaches little about the route: '
     'leave long stops out of the recording.')),
)  # fmt: skip
"""Of one with positions in the time of the IMU."""

LAG: Checks = (
    ('offset_ambiguous', lambda r: r.ambiguous and ambiguous_sentence(r), '{0}'),
    ('offset_unknown', lambda r: r.seconds is None and not r.ambiguous,
     ('The time offset between IMU and positions is unknown, because neither gyroscope nor '
     'accelerometer follows the course: record straights and curves for more than ten seconds to '
     'measure it.')),
)  # fmt: skip
"""Of a `Lag`."""

GYROSCOPE: Checks = (
    ('gyroscope_unclear',
     lambda r: not r.follows
     and (f'their correlation is only {abs(r.correlation):.2f}' if r.channel
          else 'they cannot be compared'),
     ('Course and yaw rate do not show the unit of the gyroscope ({0}): record straights and '
     'curves at a steady speed if you want to know.')),
    ('gyroscope_in_degrees', lambda r: r.seems(math.degrees(1.0)) and abs(r.slope),
     ('{r.channel} is {0:.0f} times the rate at which the course turns, so it is probably in '
     f'deg/s, not in rad/s: {CONVERT}')),
    ('gyroscope_scale',
     lambda r: r.follows and not r.seems(1.0) and not r.seems(math.degrees(1.0)) and abs(r.slope),
     ('{r.channel} is {0:.3g} times the rate at which the course turns: check the unit of the '
     'gyroscope (rad/s) and of the positions (m).')),
    ('yaw_reversed', lambda r: r.follows and r.slope < 0,
     ('{r.channel} turns against the course, so the IMU is upside down or the frame of the '
     'positions is left-handed: nothing to do as long as both stay so.')),
)  # fmt: skip
"""Of a `YawAgreement`."""

NO_POSITIONS = (
    'There are no positions, so a model can run on this recording but not learn from it: record a '
    'position topic, or name it with --position-topic, or for lap times alone train with --marks.'
)


def findings_of(
    imu: ImuReport, positions: PositionReport | None, least_lag_s: float
) -> Iterator[Finding]:
    """Yield all that holds of the streams of a recording; lags up to ``least_lag_s`` are none."""
    yield from _stamps('IMU', imu, in_gaps='no window crosses one', late='left out')
    yield from _held(IMU, imu)
    if positions is None:
        yield Finding('warning', 'no_positions', NO_POSITIONS)
        return
    lag, yaw = positions.lag, positions.yaw or YawAgreement('', 0.0, 0.0)
    yield from _stamps('Position', positions, 'they teach no position', 'put in order')
    yield from _held(POSITIONS, positions)
    if positions.coverage:
        yield from _held(COVERED, positions)
    yield from _held(LAG, lag)
    if lag.exceeds(least_lag_s):
        yield Finding('warning', 'time_offset', late_sentence(lag))
    if positions.coverage:
        yield from _held(GYROSCOPE, yaw)


def _stamps(
    word: str, report: ImuReport | PositionReport, in_gaps: str, late: str
) -> Iterator[Finding]:
    """Yield findings about the stamps of a stream, and what training does with them."""
    timing = report.timing
    parts = f', of which those with {timing.apart} messages are not measured here'
    yield from _held(
        STAMPS, timing, f'{word.lower()}_', word=word, gaps=listed(timing.gaps),
        in_gaps=in_gaps, late=late, parts=parts if timing.apart else '',
    )  # fmt: skip


def _held(checks: Checks, report: object, prefix: str = '', **words: str) -> Iterator[Finding]:
    """Yield a finding for each check of a table that holds."""
    for code, holds, sentence in checks:
        if found := holds(report):
            severity: Severity = 'info' if code in INFO else 'warning'
            yield Finding(severity, prefix + code, sentence.format(found, r=report, **words))
