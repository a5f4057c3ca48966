# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stamps of streams, channels and gravity of an IMU, and the type of a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import printable
from two_manifold_ros.recordings.recording import (
    acceleration_unit,
    AccelerationUnit,
    FASTEST_RATE,
    fastest_rate,
    IMU_CHANNELS,
    IMU_UNITS,
    ImuStream,
    usual_gap_ns,
)
from two_manifold_ros.rules import BOUNDS
from two_manifold_ros.ticks.segments import absurd_values, holes, usable_samples
from two_manifold_ros.ticks.stamps import judge_stamps
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints


@dataclass(frozen=True)
class Stretch:
    """A stretch of time: its start, seconds from the first IMU stamp, and its length."""

    start_s: float
    length_s: float

    def __str__(self) -> str:
        return f'{self.length_s:.2f} s from {self.start_s:.1f} s on'


def listed(stretches: Sequence[Stretch], most: int = 5) -> str:
    """Return the longest few as words, in the order of time."""
    longest = sorted(stretches, key=lambda stretch: -stretch.length_s)[:most]
    text = ', '.join(str(each) for each in sorted(longest, key=lambda each: each.start_s))
    more = len(stretches) - len(longest)
    return f'{text} and {more} shorter' if more else text


def counted(count: int, one: str, several: str) -> str:
    """Return a count with the words for one or for several."""
    return f'{count} {one if count == 1 else several}'


def some(count: int, one: str, several: str) -> str:
    """Return `counted`, and nothing for none."""
    return counted(count, one, several) if count else ''


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


def findings_of(
    words: Mapping[str, str], holds: Mapping[str, object], prefix: str = '', **numbers: object
) -> Iterator[Finding]:
    """Yield findings for codes that hold, ``{0}`` in their sentences; codes get the prefix."""
    for code, found in holds.items():
        if found:
            severity: Severity = 'info' if code in INFO else 'warning'
            yield Finding(severity, prefix + code, words[code].format(found, **numbers))


@dataclass(frozen=True)
class Timing:
    """Rate, jitter and faults of the stamps of one stream."""

    count: int
    start_s: float  # of the stamps that count, from the first IMU stamp on
    duration_s: float
    rate_hz: float  # one over the median interval, 0 without one
    jitter_std_s: float  # of the intervals, gaps left out
    jitter_p99_s: float  # of their distance from the median
    gaps: tuple[Stretch, ...]  # above ``gap_s``, or `holes` of what training interpolates
    gap_s: float  # see `usual_gap_ns`, which training judges by as well
    duplicates: int  # equal to the one before
    backward: int  # less than the one before
    zero: int  # zero or negative
    wild: int = 0  # from which no other goes on; none of the three
    apart: int = 0  # of parts at the same time as others, which hold more


def measure_timing(stamps: Ints, origin_ns: int, *, interpolated: bool = False) -> Timing:
    """Measure stamps (N,) from an origin on; `holes` are the gaps of what is ``interpolated``."""
    gap_ns = usual_gap_ns(stamps)
    judged = judge_stamps(stamps, gap_ns)
    course = judged.main_course()
    # Late stamps and copies say how even the stream is, those of other times do not.
    wild = np.append(judged.kept[: judged.first_is_alone], judged.wild)
    present = stamps > 0
    present[wild] = False
    present[judged.kept] = course[judged.kept]
    used = stamps[present]
    # A zero stamp is no step, back to zero and forth again.
    steps = np.diff(np.delete(stamps, np.append(wild, np.flatnonzero(stamps <= 0))))
    earliest, latest = (used.min(), used.max()) if len(used) else (origin_ns, origin_ns)
    intervals = np.diff(used)
    intervals = intervals[intervals > 0] / 1e9
    median = float(np.median(intervals)) if len(intervals) else 0.0
    regular = intervals[intervals <= gap_ns / 1e9]
    # From a late stamp to the next one it is as long as it was late, and nothing is missing.
    ordered = stamps[course]
    later = np.diff(ordered)
    is_gap = holes(later) if interpolated and len(later) else later > gap_ns
    starts, lengths = (ordered[:-1][is_gap] - origin_ns) / 1e9, later[is_gap] / 1e9
    return Timing(
        count=len(stamps),
        start_s=float(earliest - origin_ns) / 1e9,
        duration_s=float(latest - earliest) / 1e9,
        rate_hz=1 / median if median else 0.0,
        jitter_std_s=float(regular.std()) if len(regular) else 0.0,
        jitter_p99_s=float(np.quantile(abs(regular - median), 0.99)) if len(regular) else 0.0,
        gaps=tuple(map(Stretch, starts.tolist(), lengths.tolist())),
        gap_s=gap_ns / 1e9,
        duplicates=int((steps == 0).sum()),
        backward=int((steps < 0).sum()),
        zero=int((stamps <= 0).sum()),
        wild=len(wild),
        apart=len(judged.kept) + len(judged.wild) - len(wild) - int(course.sum()),
    )


def advancing(stamps: Ints, counted: Bools | None = None) -> Bools:
    """Return a mask (N,) of the stamps that are later than all before them, wild ones left out."""
    return judge_stamps(stamps, usual_gap_ns(stamps)).main_course(counted)


STAMP_WORDS = {
    'gaps': '{word} messages have {0}, {gaps}: {in_gaps}; look for a slow disk or network if they '
    'are many.',
    'backward': '{0} back in time: late messages are {late}, and a larger step back starts a new '
    'part{parts}; check that no clock was set and no bag looped while recording.',
    'wild': '{0} far from all others, and no later stamp follows them: these messages are left '
    'out; check what stamps them if there are many.',
    'zero': '{0} zero or negative: these messages are left out; have the driver stamp them, or '
    'try --use-receive-time.',
    'duplicates': '{0} the one before: the repetitions are left out; check the driver if there '
    'are many.',
    'uneven': '{word} stamps are uneven, 1 % of the intervals are off by more than {0:.0f} ms: '
    'averaging over ticks deals with it; stamp in the driver rather than on arrival if you can.',
}


def timing_findings(word: str, timing: Timing, in_gaps: str, late: str) -> Iterator[Finding]:
    """Yield findings about the stamps of a stream by its word, and what training does to them."""
    stamp, stamps = f'{word} stamp', f'{word} stamps'
    parts = f', of which those with {timing.apart} messages are not measured here'
    holds = {
        'gaps': some(len(timing.gaps), 'gap', 'gaps'),
        'backward': some(timing.backward, f'{stamp} goes', f'{stamps} go'),
        'wild': some(timing.wild, f'{stamp} is', f'{stamps} are'),
        'zero': some(timing.zero, f'{stamp} is', f'{stamps} are'),
        'duplicates': some(timing.duplicates, f'{stamp} repeats', f'{stamps} repeat'),
        'uneven': timing.jitter_p99_s * timing.rate_hz > 0.5 and 1e3 * timing.jitter_p99_s,
    }
    yield from findings_of(
        STAMP_WORDS, holds, f'{word.lower()}_', word=word, gaps=listed(timing.gaps),
        in_gaps=in_gaps, late=late, parts=parts if timing.apart else '',
    )  # fmt: skip


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
    """Measurements of one IMU stream."""

    topic: str
    frame_id: str
    timing: Timing
    channels: tuple[ChannelSummary, ...]
    gravity: Gravity
    fastest_rate: float  # 99 % quantile of the magnitude of the angular rate
    not_finite: int  # samples with NaN or infinity
    absurd: tuple[int, ...]  # (6,), values far beyond all others, which nothing is measured of
    stuck: tuple[Stretch, ...]  # where no channel changes


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


IMU_WORDS = {
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
    yield from findings_of(IMU_WORDS, holds, mean=mean, cure=cure, dead=len(dead))
