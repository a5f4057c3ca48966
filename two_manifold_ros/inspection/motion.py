# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimate the motion of the vehicle from its positions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.streams import advancing, measure_timing
from two_manifold_ros.recordings.excursions import unexplained_steps
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.ticks.segments import absurd_values, usable_samples
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording


def is_jump(seconds: Floats, positions: Floats, gap_s: float) -> Bools:
    """Return which steps (M - 1,) no speed explains, nor a gap: see `unexplained_steps`."""
    return unexplained_steps(seconds, positions) & (np.diff(seconds) <= gap_s)


SMOOTHING_S = 0.6
"""Seconds over which a cubic is fitted to positions: half lets noise in, twice cuts bends."""

LONGEST_HOLE_S = 600.0
"""What counts of a hole, s, so that the number of messages bounds all work, and no clock."""


@dataclass(frozen=True)
class Motion:
    """Smoothed motion on an even grid of time, which leaps over what lies deep in a long hole."""

    seconds: Floats  # (G,), from the first IMU stamp
    step_s: float
    window: int  # points of the grid that a cubic was fitted over
    positions: Floats  # (G, 2), metres
    velocities: Floats  # (G, 2), m/s
    speed: Floats  # (G,), m/s
    course_rate: Floats  # (G,), rad/s, left positive, NaN where unknown or slow
    lateral: Floats  # (G,), acceleration to the left, m/s^2; NaN as the course rate
    known: Bools  # (G,), away from gaps and jumps
    moving: Bools  # (G,), known and not slow
    imu: Floats  # (G, 6), as smooth, NaN where it is silent


def measure_motion(
    seconds: Floats, positions: Floats, gap_s: float, smoothing_s: float = SMOOTHING_S
) -> Motion | None:
    """Return the motion, smoother where positions are rare; ``None`` if they never move."""
    # A cubic needs five intervals; twelve steps of the grid follow it.
    intervals = np.diff(seconds)
    if len(intervals) < 2 * 5 - 1:
        return None
    left_out = np.maximum(intervals - max(LONGEST_HOLE_S, 2.0 * gap_s), 0.0)
    leaps = np.concatenate([[0.0], np.cumsum(left_out)])
    seconds = seconds - leaps
    joined = intervals[intervals <= gap_s]
    # The mean interval at a random time: where they are uneven, the long ones count.
    interval = float(np.square(joined).sum() / joined.sum()) if len(joined) else gap_s
    step = min(smoothing_s / 12, interval)
    window = 2 * round(max(smoothing_s, 5 * interval) / step / 2) + 1
    grid = np.arange(seconds[0], seconds[-1], step)
    if len(grid) <= window:
        return None
    even = np.stack([np.interp(grid, seconds, axis) for axis in positions.T], axis=1)
    smooth, velocity, acceleration = (_smoothed(even, window, order, step) for order in range(3))
    # A cubic that spans a break is meaningless: no gap and no jump may be near.
    broken = (intervals > gap_s) | is_jump(seconds, positions, gap_s)
    after = np.searchsorted(seconds, grid, side='right') - 1
    breaks = np.append(0, np.cumsum(broken[np.minimum(after, len(broken) - 1)]))
    middle, reach = np.arange(len(grid)), window // 2
    last, first = np.minimum(middle + reach + 1, len(grid)), np.maximum(middle - reach, 0)
    known: Bools = breaks[last] == breaks[first]
    speed: Floats = np.linalg.norm(velocity, axis=1)
    # A fifth of the usual speed of the faster half is slow, and so is a crawl.
    usual = float(np.quantile(speed[known], 0.75)) if known.any() else 0.0
    moving = known & (speed > max(0.2 * usual, 0.01))
    if not moving.any():
        return None
    turning = velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0]
    rate = np.full(len(grid), np.nan)
    rate[moving] = turning[moving] / speed[moving] ** 2
    silent = np.full((len(grid), len(IMU_CHANNELS)), np.nan)
    return Motion(
        grid + leaps[after], step, window, smooth, velocity, speed, rate, speed * rate, known,
        moving, silent,
    )  # fmt: skip


def on_grid(motion: Motion, seconds: Floats, values: Floats) -> Floats:
    """Average values (N, k) at increasing seconds (N,), and smooth them as the motion: (G, k)."""
    if len(seconds) < 2:
        return np.full((len(motion.seconds), values.shape[1]), np.nan)
    areas = np.diff(seconds)[:, None] * (values[1:] + values[:-1]) / 2.0
    summed = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(areas, axis=0)])
    edges = np.append(motion.seconds, motion.seconds[-1] + motion.step_s) - motion.step_s / 2
    sums = np.stack([np.interp(edges, seconds, column) for column in summed.T], axis=1)
    widths = np.diff(edges)
    widths = np.where(widths > 1.5 * motion.step_s, widths, motion.step_s)
    smooth = _smoothed(np.diff(sums, axis=0) / widths[:, None], motion.window)
    # Near the ends of the stream the cubic reaches beyond it.
    margin = motion.window * motion.step_s / 2
    inside = (motion.seconds > seconds[0] + margin) & (motion.seconds < seconds[-1] - margin)
    smooth[~inside] = np.nan
    return smooth


def _smoothed(values: Floats, window: int, derivative: int = 0, step: float = 1.0) -> Floats:
    """Fit cubics over a window of points and return them, or a derivative, at its middle."""
    # Loading it takes half a second, for which most commands would wait in vain.
    from scipy.signal import savgol_filter  # noqa: PLC0415

    smooth: Floats = savgol_filter(values, window, 3, deriv=derivative, delta=step, axis=0)
    return smooth


@dataclass(frozen=True)
class Laps:
    """The laps of a recording, medians over the whole laps between gaps, or with short ones."""

    count: float  # distance driven over the length of a lap
    time_s: float
    length_m: float
    apart_m: float  # of a lap and the next one at the same place
    resolved: bool = True  # else positions are too rare to believe the rest


LONGEST_SMOOTHING, GATES = 0.25, 16
"""Share of a lap over which positions may be smoothed if laps are counted, as .3 is too much, and
places at which laps are measured: a quarter as many may all lie where nothing was seen."""


def count_laps(motion: Motion) -> Laps | None:
    """Return the laps between passages of gates, one way; ``None`` if no place is met twice."""
    way = way_driven(motion)
    if way[-1] == 0:
        return None
    gates = np.searchsorted(way, (np.arange(GATES) + 0.5) / GATES * way[-1]).tolist()
    # A tenth of the route's extent.
    width = 0.1 * float(np.linalg.norm(np.ptp(motion.positions[motion.known], axis=0)))
    steps = np.rint(np.diff(motion.seconds, prepend=0.0) / motion.step_s)
    passed, unknown = np.cumsum(steps), np.cumsum(np.where(motion.known, 0.0, steps))
    found = []
    for gate in gates:
        forward = motion.velocities[gate] / np.linalg.norm(motion.velocities[gate])
        away = motion.positions - motion.positions[gate]
        left = np.array([-forward[1], forward[0]])
        along, aside = away @ forward, np.abs(away @ left)
        passing = (along[:-1] < 0) & (along[1:] >= 0) & (aside[1:] < width) & motion.moving[1:]
        passages: list[int] = []
        for point in (np.flatnonzero(passing) + 1).tolist():
            if not passages or way[point] - way[passages[-1]] > 4 * width:
                passages.append(point)
        left_m = motion.positions[passages] @ left
        timed = np.stack([motion.seconds, way, passed, unknown], axis=1)[passages]
        took = np.diff(timed, axis=0)
        shares = took[:, 3] / np.maximum(took[:, 2], 1)
        found.append((took[:, :2], shares, np.abs(np.diff(left_m))))
    laps, gaps, apart = (np.concatenate(each) for each in zip(*found, strict=True))
    # No way is counted over a gap, so the length is a bit short then, and the time is not.
    chosen = gaps == 0.0
    if not chosen.any():
        # In a gap of half a lap and more the vehicle may have come by without being seen.
        chosen = gaps < 1 / 2
    if not chosen.any():
        return None
    time_s, length_m = np.median(laps[chosen], axis=0).tolist()
    resolved = motion.window * motion.step_s <= LONGEST_SMOOTHING * time_s
    apart_m = float(np.median(apart[chosen]))
    return Laps(float(way[-1]) / length_m, time_s, length_m, apart_m, resolved)


def laps_of(recording: Recording) -> Laps | None:
    """Return the laps of a recording; ``None`` if its positions never come by a place twice."""
    motion = put_together(recording.positions, recording.imu) if recording.positions else None
    return None if motion is None else count_laps(motion)


def way_driven(motion: Motion) -> Floats:
    """Return how far the vehicle has driven at each point of the grid (G,), metres."""
    steps = np.linalg.norm(np.diff(motion.positions, axis=0), axis=1)
    # What happens while standing is noise, not way.
    both_moving = motion.moving[1:] & motion.moving[:-1]
    way: Floats = np.concatenate([[0.0], np.cumsum(np.where(both_moving, steps, 0.0))])
    return way


def put_together(
    positions: PositionStream, imu: ImuStream, smoothing_s: float = SMOOTHING_S
) -> Motion | None:
    """Return the motion with its IMU, or ``None`` if positions are too few or never move."""
    seconds, points = usable_positions(positions, imu)
    gap_s = measure_timing(positions.stamps, imu.first_stamp).gap_s
    motion = measure_motion(seconds, points, gap_s, smoothing_s)
    return motion and replace(motion, imu=on_grid(motion, *sound_samples(imu)))


def sound_samples(imu: ImuStream) -> tuple[Floats, Floats]:
    """Return increasing seconds (N,) from the first IMU stamp on, and usable samples (N, 6)."""
    usable, samples = usable_samples(imu.samples)
    usable &= ~absurd_values(samples, usable).any(axis=1)
    good = advancing(imu.stamps) & usable
    return (imu.stamps[good] - imu.first_stamp) / 1e9, samples[good]


def usable_positions(positions: PositionStream, imu: ImuStream) -> tuple[Floats, Floats]:
    """Return increasing seconds (M,) from the first IMU stamp on, and usable positions (M, 2)."""
    stamps = positions.stamps
    usable = positions.usable
    measured = imu.stamps[advancing(imu.stamps)]
    if len(measured):
        usable = usable & advancing(stamps, (stamps >= measured[0]) & (stamps <= measured[-1]))
    return (stamps[usable] - imu.first_stamp) / 1e9, positions.positions[usable]
