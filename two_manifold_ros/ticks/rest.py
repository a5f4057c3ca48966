# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What stands still: axes at rest tick by tick, and stretches in which a vehicle stands."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np

from two_manifold_ros.compilation import compiled, shared
from two_manifold_ros.recordings.excursions import sustained_speed
from two_manifold_ros.typing import Bools, Floats, Ints


class RestRule(NamedTuple):
    """At rest are ``ticks`` ticks of a spread below ``limit`` standard deviations of channels."""

    ticks: int
    limit: float


@compiled
def _push(rows: Floats, observation: Floats, count: int) -> tuple[float, bool]:
    """Put a (d,) observation into a ring, ``count`` after the first; see `Rest.push`."""
    same = count > 0 and alike(observation, rows[(count - 1) % len(rows)])
    total = 0.0
    for channel in range(rows.shape[1]):
        rows[count % len(rows), channel] = observation[channel]
        mean = 0.0
        for tick in range(rows.shape[0]):
            mean += rows[tick, channel]
        mean /= rows.shape[0]
        for tick in range(rows.shape[0]):
            apart = rows[tick, channel] - mean
            total += apart * apart
    return (math.sqrt(total / rows.size) if count + 1 >= len(rows) else math.inf), same


class Rest:
    """Spread of the newest ``ticks`` of a stream, infinite at first, and how many are stuck."""

    def __init__(self, ticks: int, channels: int) -> None:
        self._rows = np.zeros((ticks, channels))
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._count = self._stuck = 0

    def push(self, observation: Floats) -> tuple[float, int]:
        """Return the spread with one more (d,) observation, and how many before are the same."""
        # As a row of another array it would be compiled for once more.
        spread, same = _push(self._rows, np.ascontiguousarray(observation), self._count)
        self._stuck = self._stuck + 1 if same else 0
        self._count += 1
        return spread, self._stuck


def spreads_along(observations: Floats, ticks: int) -> Floats:
    """Return the spread of each tick of (T, d) observations and those before it: (T,)."""
    rest = Rest(ticks, observations.shape[1])
    return np.array([rest.push(each)[0] for each in observations])


ROUNDING = 1e-9
"""In standard deviations: equal samples have means over ticks that differ by rounding only."""


@shared
def alike(first: Floats, second: Floats) -> bool:
    """Return whether two (d,) observations are the same."""
    for i in range(first.size):  # noqa: SIM110 - numba compiles no generator
        if not abs(first[i] - second[i]) <= ROUNDING:
            return False
    return True


def unchanged(series: Floats) -> Bools:
    """Return which channels of a (d, N) series do not change at a tick: (d, N - 1)."""
    return np.asarray(np.abs(np.diff(series, axis=1)) <= ROUNDING)


def longest_stuck(series: Floats) -> int:
    """Return the most ticks in a row that changed nothing in a (d, N) series."""
    stretches = stretches_of(np.asarray(unchanged(series).all(axis=0)))
    return max((end - begin for begin, end in stretches), default=0)


def longest_runs(series: Floats) -> Ints:
    """Return the most ticks in a row that did not change each channel of a (d, N) series: (d,)."""
    return np.array([longest_stuck(each[None]) for each in series], dtype=np.int64)


SLOW_SHARE = 0.1
"""Share of the mean speed below which a tick does not count for the usual speed: it stands."""

STANDS_S = (1.0, 2.0, 4.0)
"""Seconds in which a standing vehicle gets less far than one at ``SLOW_SHARE``."""


def usual_speed(tracks: Sequence[Floats], period_s: float) -> float:
    """Return the median speed where the vehicle moves, m/s; 0 if it never does."""
    speeds = [np.linalg.norm(np.diff(track, axis=0), axis=1) / period_s for track in tracks]
    known = [np.flatnonzero(np.isfinite(track).all(axis=1)) for track in tracks]
    fastest = [
        sustained_speed(here.astype(np.float64), track[here]) / period_s
        for here, track in zip(known, tracks, strict=True)
    ]
    most = max(fastest, default=0.0)
    if most > 0.0:
        # One leap of 100 km is faster than all driving together.
        speeds = [np.minimum(each, 2.0 * most) for each in speeds]
        stands = standing(tracks, most, period_s)
        if np.concatenate(stands).mean() > 0.5:
            # The median would be that of noise.
            speeds = [each[~still[1:]] for each, still in zip(speeds, stands, strict=True)]
    every = np.concatenate([*speeds, np.zeros(0)])
    every = every[np.isfinite(every)]
    moving = every[every > SLOW_SHARE * every.mean()] if len(every) else every
    return float(np.median(moving)) if len(moving) else 0.0


def standing(tracks: Sequence[Floats], usual_mps: float, period_s: float) -> list[Bools]:
    """
    Return at which ticks of each track a vehicle stands: (T,) each.

    Where it gets less far in one of `STANDS_S` than a vehicle at a tenth of the usual speed, and
    than a tenth of the route is wide.
    """
    known = np.concatenate([track[np.isfinite(track).all(axis=1)] for track in tracks])
    slow_mps = SLOW_SHARE * usual_mps
    most_m = SLOW_SHARE * float(np.linalg.norm(np.ptp(known, axis=0)))
    nearby, near = round(2.0 * STANDS_S[-1] / period_s), min(slow_mps * STANDS_S[0], most_m)
    found = []
    for track in tracks:
        still: Bools = np.zeros(len(track), dtype=np.bool_)
        briefly = still
        for seconds in STANDS_S:
            width = max(round(seconds / period_s), 2) + 1
            if len(track) < width:
                break
            widest = _running(np.maximum, track, width) - _running(np.minimum, track, width)
            extent = np.linalg.norm(widest, axis=1)
            # Where positions jump, or laps take a second or two, speed does not show standstill.
            stays = extent < min(slow_mps * (width - 1) * period_s, most_m)
            # Every tick of such a window.
            counts = np.cumsum(np.concatenate([stays, np.zeros(width, dtype=np.bool_)]))
            counts[width:] -= counts[:-width].copy()
            still = still | (counts[: len(track)] > 0)
            if seconds == STANDS_S[0]:
                briefly = still.copy()
        for begin, end in stretches_of(still):
            # The last metres before it stands, and the first after, are driven.
            here = track[begin:end]
            first = _ticks_to_come(here[:nearby], near)
            last = _ticks_to_come(here[::-1][:nearby], near)
            # But not where the shortest window shows it: it moved on by a little and stood again.
            still[begin : begin + first] = briefly[begin : begin + first]
            still[end - last : end] = briefly[end - last : end]
        found.append(still)
    return found


def _running(extreme: np.ufunc, track: Floats, width: int) -> Floats:
    """Return the maximum or the minimum in each window of a track (T, 2), by doubled windows."""
    found, span = track, 1
    while 2 * span < width:
        found = extreme(found[:-span], found[span:])
        span *= 2
    count = len(track) - width + 1
    return np.asarray(extreme(found[:count], found[width - span :]))


def _ticks_to_come(track: Floats, near: float) -> int:
    """Return the ticks until a vehicle is near where it is for most of a track (T, 2)."""
    apart = np.linalg.norm(track - np.median(track, axis=0), axis=1)
    return int(np.argmax(apart < near)) if (apart < near).any() else 0


def stretches_of(flags: Bools) -> list[tuple[int, int]]:
    """Return the start and end of each stretch of flags (T,)."""
    edges = np.flatnonzero(np.diff(np.pad(flags.astype(np.int8), 1)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def held_still(track: Floats, still: Bools) -> Floats:
    """Return a track (T, 2) that stays in one place where the vehicle stands."""
    track = track.copy()
    for begin, end in stretches_of(still):
        track[begin:end] = track[begin:end].mean(axis=0)
    return track
