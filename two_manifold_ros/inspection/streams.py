# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stamps of streams, and channels and gravity of an IMU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import printable
from two_manifold_ros.recordings.recording import (
    acceleration_unit,
    AccelerationUnit,
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
    from collections.abc import Sequence

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
