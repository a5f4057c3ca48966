# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inspect a `Recording` for defects before training: all findings, when they hold, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
import math
from typing import Any, Literal, NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import spread
from two_manifold_ros.inspection.lag import late_sentences
from two_manifold_ros.inspection.motion import Laps, put_together, way_driven
from two_manifold_ros.inspection.positions import (
    FEWEST_LAPS,
    LAPS_NOT_COUNTED,
    left_out_sentence,
    measure_positions,
    PositionReport,
    scaled_sentence,
    WANTED_LAPS,
    YawAgreement,
)
from two_manifold_ros.inspection.streams import frame_sentence, ImuReport, listed, measure_imu
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.recordings.recording import FASTEST_RATE, median_interval_ns, Recording
from two_manifold_ros.route.merging import SAME_WAY
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from two_manifold_ros.inspection.streams import Timing


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


@dataclass(frozen=True)
class Report:
    """Measurements of one recording, findings with warnings first, and notes of reading it."""

    name: str
    imu: ImuReport
    positions: PositionReport | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts, lists and numbers named like the fields; not finite is ``None``."""
        return {key: _plain(value) for key, value in asdict(self).items()}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def inspect_bags(
    paths: Sequence[str],
    options: ReadingOptions,
    client: Any = None,  # noqa: ANN401 - of an extra
    done: Callable[[float], None] = lambda _: None,
) -> tuple[list[Report], dict[str, str]]:
    """Read bags and inspect them, see `fleet.spread`; also why others cannot be read, by path."""
    found = spread(partial(_inspected, options), paths, client, done)
    pairs = zip(paths, found, strict=True)
    unread = {path: each for path, each in pairs if isinstance(each, str)}
    return [each for each in found if isinstance(each, Report)], unread


def _inspected(options: ReadingOptions, path: str) -> Report | str:
    try:
        return inspect_recording(read_recording(path, options))
    except InputError as error:
        # Returned as it is, it would end the work on all bags.
        return str(error)


def inspect_recording(recording: Recording) -> Report:
    """Measure a recording and list its faults; raise ``InputError`` if no sample is finite."""
    if not len(recording.imu.stamps):
        msg = f'{recording.name} has no IMU samples in this stretch: choose a longer one.'
        raise InputError(msg)
    imu = measure_imu(recording.imu, recording.name)
    positions = None
    if recording.positions is not None and len(recording.positions.stamps):
        positions = measure_positions(recording.positions, recording.imu)
    findings = list(findings_of(imu, positions, _half_tick_s(imu.timing.rate_hz)))
    if any(finding.code == 'gyroscope_in_degrees' for finding in findings):
        # The course shows the same with more certainty.
        findings = [each for each in findings if each.code != 'gyroscope_too_fast']
    findings.sort(key=lambda finding: finding.severity != 'warning')
    return Report(recording.name, imu, positions, tuple(findings), recording.notes)


def training_warnings(reports: Sequence[Report], rate_hz: float | None = None) -> Iterator[str]:
    """Yield sentences to know before training a model of this rate on recordings of one setup."""
    for name, finding, count in folded_warnings(reports):
        # These count for all recordings together: the lag below, laps in the model's notes.
        if finding.code not in {'time_offset', 'no_laps', 'few_laps'}:
            others = f' and {count - 1} more' if count > 1 else ''
            yield f'{name}{others}: {finding.sentence}'
    located = [(report, report.positions) for report in reports if report.positions is not None]
    slowest = min((report.imu.timing.rate_hz for report in reports), default=0.0)
    yield from late_sentences(
        [report.name for report, _ in located],
        [positions.lag for _, positions in located],
        0.5 / rate_hz if rate_hz else _half_tick_s(slowest),
    )


def folded_warnings(reports: Sequence[Report]) -> list[tuple[str, Finding, int]]:
    """Return of each kind of warning the first report, its finding, and the count of reports."""
    folded: dict[str, tuple[str, Finding, int]] = {}
    for report in reports:
        for each in report.findings:
            if each.severity == 'warning':
                name, finding, count = folded.get(each.code, (report.name, each, 0))
                folded[each.code] = name, finding, count + 1
    return list(folded.values())


def _half_tick_s(imu_rate_hz: float) -> float:
    """Return half a tick of the usual 20 Hz or of a slower IMU, below which no lag shows."""
    return max(0.025, 0.5 / imu_rate_hz) if imu_rate_hz else 0.025


def describe(report: Report) -> Iterator[str | Table]:
    """Yield streams, channels, gaps and laps of a recording; its findings are left to others."""
    positions = report.positions
    named = [('IMU', report.imu.topic, report.imu.timing)]
    named += [] if positions is None else [('position', positions.topic, positions.timing)]
    timings = [timing for _, _, timing in named]
    rows = {
        'messages': [f'{each.count}' for each in timings],
        'first, s after the first IMU stamp': [f'{each.start_s:.2f}' for each in timings],
        'duration, s': [f'{each.duration_s:.2f}' for each in timings],
        'rate, Hz (median)': [f'{each.rate_hz:.2f}' for each in timings],
        'interval deviation, ms (std)': [f'{1e3 * each.jitter_std_s:.2f}' for each in timings],
        'gaps': [f'{len(each.gaps)}' for each in timings],
        'duplicate, backward, zero, wild stamps': [
            f'{each.duplicates}, {each.backward}, {each.zero}, {each.wild}' for each in timings
        ],
    }
    header = ['', *(f'{word}\n{topic}' for word, topic, _ in named)]
    yield Table(report.name, header, [[name, *cells] for name, cells in rows.items()])
    yield Table(
        '',
        ['channel', 'unit', 'mean', 'std', 'lowest', 'highest', ''],
        [
            [
                each.name,
                each.unit,
                *(f'{value:.3f}' for value in (each.mean, each.std, each.lowest, each.highest)),
                'dead' if each.dead else '',
            ]
            for each in report.imu.channels
        ],
    )
    for word, _, timing in named:
        if timing.gaps:
            yield f'{word} gaps: {listed(timing.gaps)}'
    if positions is None:
        return
    width, height = positions.extent_m
    msgtype = positions.msgtype.replace('/msg/', '/')
    yield f'positions: {msgtype} in frame {positions.frame_id!r}'
    yield f'covered: {width:.1f} m x {height:.1f} m, {positions.coverage:.0%} of the IMU time'
    laps = positions.laps
    if laps is not None and laps.resolved:
        yield (
            f'laps: {laps.count:.1f} of {laps.time_s:.2f} s and {laps.length_m:.1f} m, one '
            f'{laps.apart_m:.2f} m beside the next'
        )
    known = positions.lag.seconds is not None
    yield f'time offset: position stamps {positions.lag}' if known else 'time offset: unknown'


def describe_all(reports: Sequence[Report]) -> Iterator[str | Table]:
    """Yield a line for each of many reports, then each kind of warning with its first sentence."""
    rows = []
    for each in reports:
        timing, positions = each.imu.timing, each.positions
        laps = None if positions is None else positions.laps
        warnings = dict.fromkeys(one.code for one in each.findings if one.severity == 'warning')
        rows.append(
            [
                each.name,
                f'{timing.duration_s / 60.0:.1f}',
                f'{timing.rate_hz:.0f}',
                '-' if positions is None else f'{positions.timing.rate_hz:.1f}',
                f'{len(timing.gaps)}',
                f'{laps.count:.1f}' if laps is not None and laps.resolved else '-',
                ', '.join(warnings),
            ]
        )
    yield Table('', ['bag', 'min', 'IMU Hz', 'position Hz', 'gaps', 'laps', 'warnings'], rows)
    for name, finding, count in sorted(folded_warnings(reports), key=lambda each: -each[2]):
        yield f'{finding.code}: {count} of {len(reports)} bags; {name}: {finding.sentence}'
    minutes = sum(each.imu.timing.duration_s for each in reports) / 60.0
    yield f'{len(reports)} bags of {minutes:.1f} min; two-manifold inspect BAG has all of one'


USEFUL = 0.5
"""Share of the mean position's error that parts left out have to be followed with."""

LEAST_PUBLISHED = 0.1
"""Share of ticks of parts left out that a filter has to publish; 39 % and more can be located."""

POINTS = 1_000
"""Points of all drives that are compared with another pass."""

STEPS = 100
"""Steps of a lap at which the middles of laps are compared."""

LAP_SAMPLES = 80
"""IMU samples in a lap below which bends are blurred; as many ticks as a TPSR takes in a lap."""


class Repetition(NamedTuple):
    """How much of the drives repeats, measured where positions show the motion."""

    met: float = 1.0  # share of the points that another pass comes near
    apart_m: float = 0.0  # spread of the mean position of a lap over all laps, 0 where none closes
    explained: float = 1.0  # share of the variance of the clearest channel that the place explains


UNKNOWN = Repetition()
"""Where positions do not show the motion: nothing is held against the drives."""


def likely_reason(
    recordings: Sequence[Recording],
    drives: Sequence[PositionReport],
    repetition: Repetition,
    mean_m: float,
) -> tuple[str, str, str]:
    """Return the likely reason, a code, its cause in words, and the cure."""
    closed = [each.laps for each in drives if each.laps is not None]
    known = [each for each in closed if each.resolved]
    counted = len(known) == len(closed) and repetition is not UNKNOWN
    count, lap_s = sum(e.count for e in known), min((e.time_s for e in known), default=math.inf)
    late = max((each.lag for each in drives), key=lambda lag: abs(lag.seconds or 0.0))
    way_m = abs(late.seconds or 0.0) * max((e.length_m / e.time_s for e in known), default=0.0)
    imu = recordings[0].imu
    samples = lap_s * 1e9 / max(median_interval_ns(imu.stamps), 1)
    # Five are wanted; the ends that are cut off are no reason.
    few = counted and count < 4.5
    covered = sum(each.coverage for each in drives) / len(recordings)
    rows = (
        (covered < 0.5 and (repetition.met < 0.5 or few), 'positions_missing',
         f'positions cover only {covered:.0%} of the time',
         'find out why the others are missing, and record again'),
        (repetition.met < 0.5, 'nothing_repeats',
         f'nothing repeats, only {repetition.met:.0%} of the way is driven twice',
         f'drive {WANTED_LAPS}, of each route'),
        (repetition.apart_m >= USEFUL * mean_m, 'laps_apart',
         (f'nothing repeats, laps lie {repetition.apart_m:.3g} m apart sideways, so positions '
         'drift or routes differ'),
         'drive the same route on each lap, with positions in a frame that stays'),
        (late.exceeds(0.0) and way_m >= USEFUL * mean_m, 'positions_late',
         f'the stamps of the positions are {late}, in which the vehicle drives {way_m:.3g} m',
         'leave --position-lag (position_lag of the trainer node) at auto, or set the clocks'),
        (repetition.explained < 0.5, 'imu_shows_no_place',
         f'the place explains {repetition.explained:.0%} of what {imu.topic} measures',
         ('check that this IMU is on the vehicle, its axes are alive and the clocks agree, and '
         f'drive {WANTED_LAPS}, alike, on a route with bends, stops or ramps')),
        (few, 'few_laps', f'there are {count:.1f} laps', f'drive {WANTED_LAPS}, of each route'),
        (samples < LAP_SAMPLES, 'imu_slow',
         (f'{imu.topic} has {samples:.0f} samples in a lap of {lap_s:.3g} s, too few to see its '
         'bends'),
         f'publish at {LAP_SAMPLES / lap_s:.0f} Hz or faster, or try another --method'),
        (True, 'unknown', 'no single reason was found',
         ('look at the warnings, leave out settings that were given, drive '
         f'{WANTED_LAPS}, of each route, at the speeds of use, or distinguish places that look '
         'alike by a stop or a ramp')),
    )  # fmt: skip
    return next(row[1:] for row in rows if row[0])


def measure_repetition(
    recordings: Sequence[Recording], drives: Sequence[PositionReport]
) -> Repetition:
    """Measure how much of the drives repeats; ``UNKNOWN`` if positions hide it."""
    points, middles, driven_m = [], [], 0.0
    for recording, drive in zip(recordings, drives, strict=True):
        motion = put_together(recording.positions, recording.imu) if recording.positions else None
        if motion is None or not (drive.laps is None or drive.laps.resolved):
            continue
        way = way_driven(motion)
        moving = np.column_stack([motion.positions, motion.velocities, motion.course_rate])
        rows = np.column_stack([driven_m + way, moving, motion.imu])
        rows = rows[motion.moving & np.isfinite(motion.imu).all(axis=1)]
        points.append(rows)
        # Passes of two recordings are not beside each other on one way.
        driven_m += 10.0 * way[-1]
        if drive.laps is not None and len(rows):
            places = np.arange(rows[0, 0], rows[-1, 0], drive.laps.length_m / STEPS)
            along = np.stack([np.interp(places, rows[:, 0], each) for each in rows[:, 1:3].T], 1)
            summed = np.cumsum(along, axis=0)
            middles.append((summed[STEPS:] - summed[:-STEPS]) / STEPS)
    if not sum(map(len, points)):
        return UNKNOWN
    every = np.concatenate(points)
    every = every[np.linspace(0, len(every) - 1, min(len(every), POINTS)).astype(np.int64)]
    # The nearest point of another pass the same way, within a tenth of the extent.
    places, headings = every[:, 1:3], every[:, 3:5]
    headings = headings / np.linalg.norm(headings, axis=1, keepdims=True)
    width = 0.1 * float(np.linalg.norm(np.ptp(places, axis=0)))
    apart = cdist(places, places)
    same_pass = np.abs(every[:, :1] - every[:, 0]) <= 4.0 * width
    apart[same_pass | (headings @ headings.T < SAME_WAY)] = np.inf
    near = apart.min(axis=1) <= width
    explained = 0.0
    if near.any():
        pair = np.stack([every[near, 6:], every[apart.argmin(axis=1)[near], 6:]])
        pair = pair - pair.mean(axis=(0, 1))
        variances = np.square(pair).mean(axis=(0, 1))
        # A dead channel has rounding.
        variances = np.where(variances > 1e-18, variances, np.inf)
        explained = float((pair.prod(axis=0).mean(axis=0) / variances).max())
    laps = np.concatenate([np.zeros((0, 2)), *middles])
    apart_m = float(np.sqrt(laps.var(axis=0).sum())) if len(laps) else 0.0
    return Repetition(float(near.mean()), apart_m, explained)
