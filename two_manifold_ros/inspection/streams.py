# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stamps of streams, and channels and gravity of an IMU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from two_manifold_ros.ticks.rest import stretches_of
from two_manifold_ros.ticks.segments import absurd_values, holes, usable_samples
from two_manifold_ros.ticks.stamps import judge_stamps
from two_manifold_ros.typing import Bools, Ints


@dataclass(frozen=True)
class Stretch:
    """A stretch of time: its start, seconds from the first IMU stamp, and its length."""

    start_s: float
    length_s: float

    def __str__(self) -> str:
        return f'{self.length_s:.2f} s from {self.start_s:.1f} s on'


def listed(stretches: Sequence[Stretch]) -> str:
    """Return the longest few as words."""
    text = ', '.join(map(str, sorted(stretches, key=lambda each: -each.length_s)[:5]))
    return f'{text} and {len(stretches) - 5} more' if len(stretches) > 5 else text


@dataclass(frozen=True)
class Timing:
    """Rate, jitter and faults of the stamps of one stream."""

    count: int
    start_s: float  # of the stamps that count, from the first IMU stamp on
    duration_s: float
    rate_hz: float  # one over the median interval, 0 without one
    jitter_std_s: float  # of the intervals, gaps left out
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


@dataclass(frozen=True)
class Gravity:
    """Gravity in the specific force."""

    mean_magnitude: float
    verdict: AccelerationUnit


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


STUCK_NS, STUCK_SAMPLES = 10**9, 10
"""Time and samples from which on a sensor that repeats one sample is stuck."""


def measure_imu(imu: ImuStream, name: str) -> ImuReport:
    """Measure an IMU stream; an ``InputError`` says that no sample is finite and possible."""
    finite, cleaned = usable_samples(imu.samples)
    absurd = absurd_values(cleaned, finite)
    good = finite & ~absurd.any(axis=1)
    if not good.any():
        kind = 'possible' if finite.any() else 'finite'
        raise InputError(
            f'{imu.topic} in {name} has no {kind} sample among {len(imu.samples)}: check the IMU '
            f'driver and record again.'
        )
    samples = cleaned[good]
    mean, std = samples.mean(axis=0), samples.std(axis=0)
    # The same rule by which training leaves a channel out.
    dead = std <= 1e-9 * np.maximum(1.0, np.abs(mean))
    columns = (mean, std, samples.min(axis=0), samples.max(axis=0), dead)
    values = (column.tolist() for column in columns)
    origin_ns = imu.first_stamp
    stuck = [
        Stretch((begin - origin_ns) / 1e9, (end - begin) / 1e9)
        for first, last in stretches_of((imu.samples[1:] == imu.samples[:-1]).all(axis=1))
        for begin, end in [imu.stamps[[first, last]].tolist()]
        if end - begin >= STUCK_NS and last - first >= STUCK_SAMPLES
    ]
    return ImuReport(
        topic=imu.topic,
        frame_id=imu.frame_id,
        timing=measure_timing(imu.stamps, origin_ns),
        channels=tuple(map(ChannelSummary, IMU_CHANNELS, IMU_UNITS, *values)),
        gravity=Gravity(float(np.linalg.norm(mean[:3])), acceleration_unit(samples)),
        fastest_rate=fastest_rate(samples),
        not_finite=int((~finite).sum()),
        absurd=tuple(absurd.sum(axis=0).tolist()),
        stuck=tuple(stuck),
    )


def frame_sentence(topic: str, frame_id: str) -> str:
    """Return why no model can be in a frame of this name, empty if one can."""
    if frame_id.isprintable() and len(frame_id) <= BOUNDS.text:
        return ''
    return (
        f'The frame_id of {topic}, {printable(frame_id)}, is too long or holds characters that '
        'cannot be printed, so training refuses it: correct it in what publishes the topic.'
    )
