# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From recordings to training segments: the rate, the window and the channels are settled here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NoReturn, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.channels import fit_channels
from two_manifold_ros.ticks.fixes import only_near_fixes
from two_manifold_ros.ticks.segments import cut_segments, median_interval_ns
from two_manifold_ros.ticks.usable import largest_believable, unmeasured_axes
from two_manifold_ros.training.lap_scales import weighted_by_persistence
from two_manifold_ros.training.settings import estimates_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.channels import Channels
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.settings import TrainingSettings

USUAL_RATE_HZ = 20.0
"""Enough for a vehicle whose laps last seconds; faster IMUs are averaged down to it."""

USUAL_WINDOW_S = 3.0
LEAST_WINDOW = 20

LEAST_GAP_NS = 200_000_000


@dataclass(frozen=True)
class Dataset:
    """
    Training segments and what was settled about them.

    Parameters
    ----------
    segments
        In the order recorded, each longer than two windows.
    channels
        Scaling of the IMU channels.
    rate_hz, period_ns, window, max_gap_ns
        Ticks per second, length of a tick, ticks in a window, longest step that is no gap.
    counts
        Samples received, used and set aside by cause.

    """

    segments: tuple[Segment, ...]
    channels: Channels
    rate_hz: float
    period_ns: int
    window: int
    max_gap_ns: int
    counts: Counter[str]


def build_dataset(recordings: Sequence[Recording], settings: TrainingSettings) -> Dataset:
    """
    Cut recordings into training segments.

    Raises
    ------
    InputError
        If the IMU is slower than the rate asked for, nothing is long enough, or no position is
        known at any tick.

    """
    interval = _interval(recordings)
    recordings = _measured_alike(recordings)
    largest = largest_believable([each.imu.samples for each in recordings])
    native_hz = 1e9 / interval
    rate_hz = settings.rate_hz or _usual_rate(native_hz)
    if rate_hz > 1.25 * native_hz:
        msg = (
            f'the IMU of {recordings[0].name} runs at {native_hz:.1f} Hz, slower than the '
            f'{rate_hz:g} Hz asked for; choose a lower --rate'
        )
        raise InputError(msg)
    period_ns = round(1e9 / rate_hz)
    max_gap_ns = max(LEAST_GAP_NS, 3 * interval, 2 * period_ns)
    window = settings.window or max(LEAST_WINDOW, round(USUAL_WINDOW_S * rate_hz))
    segments: list[Segment] = []
    counts: Counter[str] = Counter()
    for recording in recordings:
        found, counted = cut_segments(recording, period_ns, max_gap_ns, largest)
        if estimates_positions(settings):
            # The map of the route belief has the first and the last window too.
            margin = window if settings.method == 'route' else 0
            stream = recording.positions
            found = [only_near_fixes(each, stream, period_ns, margin) for each in found]
        segments += found
        counts += counted
    kept = tuple(segment for segment in segments if len(segment) > 2 * window)
    names = ', '.join(recording.name for recording in recordings)
    if not kept:
        longest = max((len(segment) for segment in segments), default=0)
        _refuse_length(names, longest / rate_hz, window, rate_hz, counts)
    if not any(np.isfinite(segment.positions).any() for segment in kept):
        msg = f'{names}: no position falls into the time of the IMU; check the stamps of both'
        raise InputError(msg)
    channels = fit_channels(kept, largest, recordings[0].imu.names)
    if settings.method == 'tpsr':
        channels = weighted_by_persistence(channels, kept)
    return Dataset(kept, channels, rate_hz, period_ns, window, max_gap_ns, counts)


def _interval(recordings: Sequence[Recording]) -> int:
    intervals = [median_interval_ns(recording.imu.stamps) for recording in recordings]
    known = [interval for interval in intervals if interval]
    if not known:
        msg = (
            f'{recordings[0].name}: topic {recordings[0].imu.topic} has no two IMU samples with '
            'increasing stamps; check the driver, or use receive times'
        )
        raise InputError(msg)
    return int(np.median(known))


def _usual_rate(native_hz: float) -> float:
    if native_hz > 1.5 * USUAL_RATE_HZ:
        return USUAL_RATE_HZ
    return float(round(native_hz)) if native_hz >= 2.0 else round(native_hz, 2)


def _measured_alike(recordings: Sequence[Recording]) -> list[Recording]:
    """Leave an axis that one recording did not measure out of all of them."""
    missing = np.any([unmeasured_axes(each.imu.samples) for each in recordings], axis=0)
    if not missing.any() or missing.all():
        return list(recordings)
    return [
        replace(each, imu=replace(each.imu, samples=np.where(missing, 0.0, each.imu.samples)))
        for each in recordings
    ]


def _refuse_length(
    names: str, longest_s: float, window: int, rate_hz: float, counts: Counter[str]
) -> NoReturn:
    unused = counts['received'] - counts['used']
    aside = f' ({unused} of {counts["received"]} samples cannot be used)' if unused else ''
    msg = (
        f'{names}: the longest stretch without a gap is {longest_s:.1f} s{aside}, but training '
        f'needs more than two windows of {window} ticks ({2 * window / rate_hz:.1f} s); record '
        'longer or shorten --window'
    )
    raise InputError(msg)
