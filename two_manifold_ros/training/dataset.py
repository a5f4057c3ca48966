# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From recordings to training segments: rate, window and channels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NoReturn, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.motion import count_laps, put_together
from two_manifold_ros.ticks.segments import (
    cut_segments,
    fit_channels,
    largest_believable,
    median_interval_ns,
    only_near_fixes,
    unmeasured_axes,
    usable_places,
)
from two_manifold_ros.training.settings import estimates_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Channels, Segment
    from two_manifold_ros.training.settings import TrainingSettings


TICKS_A_LAP = 80.0
"""
Ticks in a lap. Fewer blur bends; with more the windows nearest to one are its own neighbours.

Nearest windows on the kart err by 68 m at 5 Hz and 6 s, and by 6.8 m at 2.5 Hz and 24 s.
"""

WINDOW_LAPS = 0.5
"""Laps in a window: half a lap is known from any other half, also on a figure of eight."""

WINDOWS_A_DRIVE = 8.0
"""
Windows in all drives, so that of two laps places are left that are met twice with whole windows.

Learned live the slot car is then known after three laps instead of four.
"""

SLOWEST_HZ, FASTEST_HZ = 1.0, 20.0
"""
Bounds of the rate: a position each second is wanted at least, and 20 are enough anywhere. A sensor
that is slower gives the rate.
"""

LEAST_LAP_WINDOW = 10
"""Ticks in a window: on laps so short that 20 Hz have fewer, bends would not be seen whole."""

LEAST_PERSISTENCE = 0.02
"""Correlation from tick to tick below which a channel is noise and left out."""


def with_lap_scales(
    recordings: Sequence[Recording], settings: TrainingSettings
) -> TrainingSettings:
    """
    Return settings of a TPSR with rate and window that suit the laps; of another method as given.

    Raises
    ------
    InputError
        If one of both has to be chosen, and no place was met twice.

    """
    if settings.method != 'tpsr' or (settings.rate_hz and settings.window):
        return settings
    found = [_lap_s(each) for each in recordings]
    known = [lap_s for lap_s in found if lap_s is not None]
    if not known:
        msg = 'no place of the route was met twice: drive more laps, at least three of one route'
        raise InputError(msg)
    lap_s = float(np.median(known))
    intervals = [median_interval_ns(each.imu.stamps) for each in recordings]
    native_hz = 1e9 / max(*intervals, 1)
    wanted_hz = float(np.clip(TICKS_A_LAP / lap_s, SLOWEST_HZ, FASTEST_HZ))
    rate_hz = settings.rate_hz or min(wanted_hz, native_hz)
    stamps = [each.imu.stamps[[0, -1]] for each in recordings]
    driven_s = sum(int(last - first) for first, last in stamps) * 1e-9
    window_s = min(WINDOW_LAPS * lap_s, driven_s / WINDOWS_A_DRIVE)
    window = settings.window or max(round(window_s * rate_hz), LEAST_LAP_WINDOW)
    return replace(settings, rate_hz=rate_hz, window=window)


def weighted_by_persistence(channels: Channels, segments: Sequence[Segment]) -> Channels:
    """
    Return channels scaled so that each counts by its correlation from one tick to the next.

    What does not last to the next tick is noise: on the simulated kart the RMSE falls from 22 m
    to 6.5 m by it.

    Parameters
    ----------
    channels
        Of the segments.
    segments
        Training ticks.

    """
    scale = np.where(channels.live, channels.scale, 1.0)
    products, squares = np.zeros(len(scale)), np.zeros(len(scale))
    for each in segments:
        values = (each.values - channels.mean) / scale
        products += (values[1:] * values[:-1]).sum(axis=0)
        squares += np.square(values).sum(axis=0)
    lasting = products / np.maximum(squares, np.finfo(np.float64).tiny)
    live = channels.live & (lasting > LEAST_PERSISTENCE)
    if not live.any():
        return channels
    weighted = np.divide(scale, lasting, out=channels.scale.copy(), where=live)
    return replace(channels, scale=weighted, live=live)


def _lap_s(recording: Recording) -> float | None:
    together = put_together(recording.positions, recording.imu) if recording.positions else None
    laps = count_laps(together.motion) if together is not None else None
    return None if laps is None else laps.time_s


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


FEW = 0.25
"""Share of ticks with a position below which a straight line between them cuts curves."""


def share_seen(recordings: Sequence[Recording], rate_hz: float | None = None) -> float:
    """Return the share of the ticks within which a position was measured; the IMU has them all."""
    tick_ns = round(1e9 / (rate_hz or USUAL_RATE_HZ))
    seen, count = 0, 0
    for recording in recordings:
        if recording.positions is not None:
            usable = usable_places(recording.positions.positions)
            seen += len(np.unique(recording.positions.stamps[usable] // tick_ns))
        count += len(np.unique(recording.imu.stamps // tick_ns))
    return seen / count if count else 0.0
