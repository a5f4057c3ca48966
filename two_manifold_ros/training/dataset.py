# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Recordings to training segments: ticks at one rate, scaled channels, no standstill.

The spectral filters learn on a clock that runs only while the vehicle drives; ours, and no part of
the papers. With stops left out one place has one window, however long the vehicle stood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import velocities
from two_manifold_ros.recordings.recording import median_interval_ns, Recording
from two_manifold_ros.ticks.rest import (
    longest_stuck,
    RestRule,
    ROUNDING,
    spreads_along,
    standing,
    usual_speed,
)
from two_manifold_ros.ticks.segments import (
    Channels,
    cut_segments,
    fit_channels,
    largest_believable,
    only_near_fixes,
    positions_at,
    Segment,
    unmeasured_axes,
)
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.training.settings import ObservingSettings, TrainingSettings


USUAL_RATE_HZ = 20.0
"""Enough for a vehicle whose laps last seconds; faster IMUs are averaged down to it."""

LEAST_WINDOW = 20
"""Ticks in a window where the rate is low: fewer do not show a bend."""

RARE_STEP = 0.5
"""
Step between positions, in spreads of all of them, above which straight lines cut too much: with a
position a second it is .7 to 1.7, with all of them .06 at most.
"""


@dataclass(frozen=True)
class Dataset:
    """Training segments, in the order recorded, each longer than two windows."""

    segments: tuple[Segment, ...]
    channels: Channels
    rate_hz: float
    period_ns: int
    window: int
    max_gap_ns: int  # longest step that is no gap
    counts: Counter[str]  # samples received, used and set aside by cause
    rest: RestRule | None = None  # of ticks that were left out, if the clock stops
    still: int = 0  # most ticks in a row that changed nothing before that
    velocity_noise: float = 0.0

    @property
    def period_s(self) -> float:
        """Length of a tick, s."""
        return self.period_ns * 1e-9

    @property
    def observations(self) -> list[Floats]:
        """Standardised observations of each segment: (T, d) each."""
        return [self.channels.standardise(segment.values) for segment in self.segments]

    @property
    def tracks(self) -> list[Floats]:
        """Positions of each segment, metres, NaN where unknown: (T, 2) each."""
        return [segment.positions for segment in self.segments]


def build_dataset(
    recordings: Sequence[Recording], settings: TrainingSettings, *, spreads: bool = False
) -> Dataset:
    """
    Cut recordings into training segments, with the ``spreads`` of samples within ticks if asked.

    Raises ``InputError`` if the IMU is too slow, nothing is long enough, or no position is known.
    """
    intervals = [median_interval_ns(recording.imu.stamps) for recording in recordings]
    if not any(intervals):
        first = f'{recordings[0].name}: topic {recordings[0].imu.topic}'
        msg = f'{first} has no two IMU samples with increasing stamps; check the driver'
        raise InputError(msg)
    interval = int(np.median([each for each in intervals if each]))
    native_hz = 1e9 / interval
    usual_hz = round(native_hz, 0 if native_hz >= 2.0 else 2)
    if native_hz > 1.5 * USUAL_RATE_HZ:
        usual_hz = USUAL_RATE_HZ
    rate_hz = settings.rate_hz or usual_hz
    if rate_hz > 1.25 * native_hz:
        raise InputError(
            f'the IMU of {recordings[0].name} runs at {native_hz:.1f} Hz, slower than the '
            f'{rate_hz:g} Hz asked for; choose a lower --rate'
        )
    period_ns = round(1e9 / rate_hz)
    max_gap_ns = longest_step_ns(interval, period_ns)
    # Three seconds: several bends of an indoor track.
    window = settings.window or max(LEAST_WINDOW, round(3.0 * rate_hz))
    missing = np.any([unmeasured_axes(each.imu.samples) for each in recordings], axis=0)
    if missing.any() and not missing.all():
        # An axis that one did not measure is zero in all of them.
        recordings = [
            replace(each, imu=replace(each.imu, samples=np.where(missing, 0.0, each.imu.samples)))
            for each in recordings
        ]
    largest = largest_believable([each.imu.samples for each in recordings])
    segments: list[Segment] = []
    counts: Counter[str] = Counter()
    for recording in recordings:
        found, counted = cut_segments(recording, period_ns, max_gap_ns, largest, spreads=spreads)
        if settings.imputes_positions:
            # The map of the route belief has the first and the last window too.
            margin = window if settings.method == 'route' else 0
            fixes = recording.positions
            found = [only_near_fixes(each, fixes, period_ns, margin) for each in found]
        late = [int(each.stamps[0] - found[0].stamps[0]) for each in found]
        # A drive begins within the first window of its recording.
        segments += [
            replace(each, begins=0 <= begun <= window * period_ns)
            for each, begun in zip(found, late, strict=True)
        ]
        counts += counted
    kept = tuple(segment for segment in segments if len(segment) > 2 * window)
    names = ', '.join(recording.name for recording in recordings)
    if not kept:
        longest_s = max((len(segment) for segment in segments), default=0) / rate_hz
        unused = counts['received'] - counts['used']
        aside = f' ({unused} of {counts["received"]} samples cannot be used)' if unused else ''
        needed = f'two windows of {window} ticks ({2 * window / rate_hz:.1f} s)'
        raise InputError(
            f'{names}: the longest stretch without a gap is {longest_s:.1f} s{aside}, but '
            f'training needs more than {needed}; record longer or shorten --window'
        )
    if not any_position(kept):
        msg = f'{names}: no position falls into the time of the IMU; check the stamps of both'
        raise InputError(msg)
    channels = fit_channels(kept, largest, recordings[0].imu.names)
    if settings.method == 'tpsr':
        channels = weighted_by_persistence(channels, kept)
    noise = velocity_noise(recordings, kept, period_ns)
    return Dataset(
        kept, channels, rate_hz, period_ns, window, max_gap_ns, counts, velocity_noise=noise
    )


def longest_step_ns(interval_ns: int, period_ns: int) -> int:
    """Return the longest step between samples that is no gap, ns, by the usual one and a tick."""
    return max(200_000_000, 3 * interval_ns, 2 * period_ns)


def velocity_noise(
    recordings: Sequence[Recording], segments: Sequence[Segment], period_ns: int
) -> float:
    """
    Estimate the noise of the positions in the velocities at ticks: the variance in an axis.

    Differences of high order leave noise and little of the way, which is smooth (Gasser et al.
    1986); the least of several orders counts. In m^2/s^2; zero if positions are too few.
    """
    orders = range(3, 7)
    differences: dict[int, list[Floats]] = {order: [np.empty((0, 2))] for order in orders}
    ticks = np.concatenate([segment.stamps for segment in segments])
    ends = np.cumsum([len(segment) for segment in segments])[:-1]
    generator = np.random.default_rng(0)
    drawn_m = 1e-3  # small enough for any two positions to be explained by some speed
    tracks: list[Floats] = []
    for stream in (each.positions for each in recordings if each.positions is not None):
        received = stream.positions[stream.usable]
        gaps = np.diff(stream.stamps[stream.usable])
        interval = np.median(gaps) if len(gaps) else 0.0
        even = (gaps > 0.5 * interval) & (gaps < 1.5 * interval)
        for order in orders:
            if len(even) >= order:
                regular = sliding_window_view(even, order).all(axis=1)
                differences[order].append(np.diff(received, n=order, axis=0)[regular])
        drawn = drawn_m * generator.standard_normal(stream.positions.shape)
        drawn[~stream.usable] = np.nan
        noisy = positions_at(replace(stream, positions=drawn), ticks) / drawn_m
        tracks += np.split(noisy, ends)
    drawn_velocities = [np.empty((0, 2)), *(velocities(each, period_ns * 1e-9) for each in tracks)]
    squares = [
        # The mean square of unit noise is the sum of the squared binomials.
        np.square(np.concatenate(each)).sum(axis=1) / math.comb(2 * order, order)
        for order, each in differences.items()
    ]
    shares = np.square(np.concatenate(drawn_velocities))
    shares = shares[np.isfinite(shares)]
    if not all(len(each) for each in (*squares, shares)):
        return 0.0
    # Of the squared length of a Gaussian in the plane the median is 2 ln 2 variances of an axis:
    # jumps of a receiver are no noise.
    variance = min(float(np.median(each)) for each in squares) / (2.0 * math.log(2.0))
    return variance * float(shares.mean())


def any_position(segments: Sequence[Segment]) -> bool:
    """Return whether the position is known at some tick."""
    return any(bool(np.isfinite(segment.positions).any()) for segment in segments)


def weighted_by_persistence(channels: Channels, segments: Sequence[Segment]) -> Channels:
    """Scale each channel by its correlation from one tick to the next; the rest is noise."""
    least = 0.02  # correlation below which a channel is left out
    scale = np.where(channels.live, channels.scale, 1.0)
    products, squares = np.zeros(len(scale)), np.zeros(len(scale))
    for each in segments:
        values = (each.values - channels.mean) / scale
        products += (values[1:] * values[:-1]).sum(axis=0)
        squares += np.square(values).sum(axis=0)
    lasting = products / np.maximum(squares, np.finfo(np.float64).tiny)
    live = channels.live & (lasting > least)
    if not live.any():
        return channels
    weighted = np.divide(scale, lasting, out=channels.scale.copy(), where=live)
    return replace(channels, scale=weighted, live=live)


def usual_step(recordings: Sequence[Recording]) -> float:
    """Return the step between two positions that half of the way exceeds, in spreads of all."""
    # In the order received, and weighted by the way: no wild stamp counts then.
    streams = [each.positions for each in recordings if each.positions is not None]
    places = [np.empty((0, 2)), *(each.positions[each.usable] for each in streams)]
    steps = [np.linalg.norm(np.diff(each, axis=0), axis=1) for each in places]
    every = np.sort(np.concatenate(steps))
    way_m = every.cumsum()
    if not len(every) or not way_m[-1]:
        return 0.0
    usual_m = every[np.searchsorted(way_m, 0.5 * way_m[-1])]
    return float(usual_m / np.sqrt(np.concatenate(places).var(axis=0).sum()))


def driving_dataset(recordings: Sequence[Recording], settings: ObservingSettings) -> Dataset:
    """Do as `build_dataset`, with ticks at rest left out if the settings' clock says so."""
    dataset = build_dataset(recordings, settings)
    if settings.clock != 'driving':
        return dataset
    observations, tracks, period_s = dataset.observations, dataset.tracks, dataset.period_s
    # Rest is what looks like it where positions show a standstill, if driving does not. Over a
    # second: of two ticks, one pair in twenty drives as evenly as a tram stands.
    ticks = max(math.ceil(1.0 / period_s), 3)
    rest, driving = [], []
    stands = standing(tracks, usual_speed(tracks, period_s), period_s)
    for seen, track, still in zip(observations, tracks, stands, strict=True):
        spreads = spreads_along(seen, ticks)
        rest.append(spreads[_throughout(still, ticks)])
        driving.append(spreads[_throughout(~still & np.isfinite(track).all(axis=1), ticks)])
    limit = rest_limit(np.sort(np.concatenate(rest)), np.sort(np.concatenate(driving)))
    if not limit > 0.0:
        return dataset
    rule = RestRule(ticks, limit)
    driven = []
    for segment, seen in zip(dataset.segments, observations, strict=True):
        kept = ~(spreads_along(seen, rule.ticks) < rule.limit)
        changed = {
            name: getattr(segment, name)[kept] for name in ('stamps', 'values', 'positions')
        }
        driven.append(replace(segment, **changed))
    segments = tuple(each for each in driven if len(each) > 2 * dataset.window)
    if not any_position(segments):
        # It hardly drives between two stops: only with them there is enough to learn from.
        return dataset
    most_still = max(longest_stuck(seen.T) for seen in observations)
    return replace(dataset, segments=segments, rest=rule, still=most_still)


def _throughout(flags: Bools, ticks: int) -> Bools:
    """Return where flags (T,) hold for so many ticks before and after, so that they are sure."""
    lasting = np.zeros(len(flags), dtype=np.bool_)
    width = 3 * ticks - 2
    if len(flags) >= width:
        inside = slice(2 * ticks - 2, len(flags) - ticks + 1)
        lasting[inside] = sliding_window_view(flags, width).all(axis=1)
    return lasting


def rest_limit(rest: Floats, driving: Floats) -> float:
    """Return the spread that parts sorted ones at rest (R,) from those of driving (D,)."""
    if not len(driving):
        return 0.0
    if not len(rest):
        return 0.5 * float(driving[0])
    every = np.sort(np.concatenate([rest, driving]))
    right = np.searchsorted(rest, every, side='right')
    gained = right - np.searchsorted(driving, every, side='right')
    best = int(np.argmax(gained))
    if gained[best] <= 0:
        return 0.0
    # Half way to the next that is seen, as ratios go.
    low, high = float(every[best]), float(every[min(best + 1, len(every) - 1)])
    # A sensor without noise differs by rounding at rest, or not at all.
    return math.sqrt(max(low, ROUNDING) * max(high, ROUNDING))
