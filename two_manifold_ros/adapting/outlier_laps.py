# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Leave out stretches of a drive that agree with no other lap, until a second lap is like them.

A sensor that is stuck or lifted off, positions that are wrong, another road without positions: a
lap of that looks like no other one. Laps of a road that was rebuilt, or of a sensor that was
turned, look like each other as soon as there are two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.recordings.recording import median_interval_ns
from two_manifold_ros.ticks.rest import ROUNDING
from two_manifold_ros.ticks.segments import positions_at, usable_samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats, Ints

LAP_TICKS = 200.0
"""
Ticks in a lap. With half as many, positions of the kart that are 5 m off are found no more: two
laps are as far apart because of their ticks.
"""

WINDOW_LAPS = 0.12
"""
Laps in a window.

Longer ones drift apart where one of two laps is quicker; of shorter ones many look alike anywhere.
"""

STEPS = 6
"""
Windows in the length of one that are judged; each is held against those at all ticks.

The cost grows with it, and where a stretch starts and ends is known to a sixth of a window.
"""

LEAST_WINDOW = 4
"""Ticks in a window, below which the sensor is too slow for the lap."""

MOST_TICKS = 6_000
"""In all drives; where they last longer, as without positions they may, ticks are longer."""

OTHER_LAPS = 0.9
"""
Laps from one window to another from which on it is of another lap.

Laps vary by a tenth; at .5 the other half of a figure of eight would be another lap.
"""

UNLIKE = 1.9
"""
Unlikeness of a window to the most similar one of another lap, over what is usual, above which it
agrees with none.

On poisoned and clean laps of slot_car, rc_car, kart and figure_eight hardly anything depends on it
from 1.7 to 2.3, whichever of the four is left out. At half of it a third of all clean laps is left
out, and now 4 % of the slot car's and of figure_eight and nothing of the others; at twice as much
other roads and lifted sensors mostly count.
"""

LEAST_LAPS = 0.25
"""
Laps that have to disagree, and over which the unlikeness is a median.

A skid, or a bend taken wide, is shorter and is learned; what is wrong for less spoils less.
"""

MOST_LAPS = 1.25
"""
Laps with positions from which on what disagrees is a second lap: then it counts.

A quarter more than one, so that what is wrong for just a lap does not count; what has changed for
good is learned as much later.
"""

LEAST_KNOWN_LAPS = 3.0
"""Laps with positions that are needed: where two disagree, either may be the wrong one."""

FARTHEST = 4.0
"""
Spreads from the median beyond which a sample is no farther away.

So one blow does not make a window unlike all others; a normal sensor is beyond it once in 16,000.
"""

BLOCK = 256
"""Windows that are compared with all others at once, to bound the memory."""


@dataclass(frozen=True)
class _Ticks:
    """
    Drives in one row, with an empty window after each.

    Parameters
    ----------
    stamps, drives : (T,) int64
        Middle of each tick, ns, and which drive it is of.
    values : (T, c), places : (T, 2)
        Mean of the samples and position, metres; NaN where unknown.
    period_ns
        Length of a tick.
    per_lap
        Ticks in a lap.

    """

    stamps: Ints
    drives: Ints
    values: Floats
    places: Floats
    period_ns: int
    per_lap: float

    @property
    def window(self) -> int:
        """Ticks in a window."""
        return round(WINDOW_LAPS * self.per_lap)

    @property
    def laps(self) -> Floats:
        """Time of each tick in laps, with drives far apart: (T,)."""
        since = (self.stamps - self.stamps.min()) / (self.period_ns * self.per_lap)
        laps: Floats = since + self.drives * (since.max() + 2.0)
        return laps


def without_outliers(recordings: Sequence[Recording], lap_s: float) -> list[Recording]:
    """
    Return recordings of one route without the samples of stretches that agree with no other lap.

    Their positions stay: laps are counted by them. Where the time of a lap is NaN, all counts.
    """
    counting = []
    stretches = find_outliers(recordings, lap_s)
    for index, each in enumerate(recordings):
        kept = np.ones(len(each.imu.stamps), dtype=np.bool_)
        for drive, begin_ns, end_ns in stretches:
            if drive == index:
                kept &= (each.imu.stamps < begin_ns) | (each.imu.stamps >= end_ns)
        counting.append(replace(each, imu=each.imu.select(kept)))
    return counting


def find_outliers(recordings: Sequence[Recording], lap_s: float) -> list[tuple[int, int, int]]:
    """
    Return which stretches agree with no other lap: the recording, start and end in ns.

    Every window of some ticks is held against all windows of other laps, by what the sensor felt
    and by where the vehicle was, each over what is usual among the windows nearest in position.
    Where a drive starts there is no lap before that it could disagree with.
    """
    ticks = _lay_out(recordings, lap_s) if lap_s > 0.0 else None
    if ticks is None:
        return []
    known = _finite(ticks.places)
    if known.sum() < LEAST_KNOWN_LAPS * ticks.per_lap or ticks.window < LEAST_WINDOW:
        return []
    middles, unlike = _unlikeness(ticks)
    if not len(middles):
        return []
    doubtful = _nearest(middles, _lasting(middles, unlike, ticks) > UNLIKE, ticks)
    edges = np.flatnonzero(np.diff(doubtful.astype(np.int8), prepend=0, append=0))
    half_ns = ticks.period_ns // 2
    found = []
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        drive = int(ticks.drives[begin])
        begins = begin - int(np.searchsorted(ticks.drives, drive)) < ticks.window
        lasts = end - begin >= LEAST_LAPS * ticks.per_lap
        again = known[begin:end].sum() > MOST_LAPS * ticks.per_lap
        if lasts and not begins and not again:
            first_ns, last_ns = ticks.stamps[[begin, end - 1]].tolist()
            found.append((drive, first_ns - half_ns, last_ns + half_ns))
    return found


def _lay_out(recordings: Sequence[Recording], lap_s: float) -> _Ticks | None:
    """Return the ticks of recordings of more than one sample, ``None`` if there is none."""
    driven = {index: each for index, each in enumerate(recordings) if len(each.imu.stamps) > 1}
    if not driven:
        return None
    whole_ns = sum(int(np.ptp(each.imu.stamps)) for each in driven.values())
    interval_ns = max(median_interval_ns(each.imu.stamps) for each in driven.values())
    # In ticks of less than two samples there is often none.
    period_ns = max(round(1e9 * lap_s / LAP_TICKS), 2 * interval_ns, whole_ns // MOST_TICKS)
    per_lap = 1e9 * lap_s / period_ns
    apart = math.ceil(WINDOW_LAPS * per_lap)
    parts = []
    for index, each in driven.items():
        usable, samples = usable_samples(each.imu.samples)
        begin_ns = int(each.imu.stamps.min())
        here = (each.imu.stamps - begin_ns) // period_ns
        count = int(here.max()) + 1 + apart
        numbers = np.bincount(here[usable], minlength=count)
        sums = [np.bincount(here[usable], column, count) for column in samples[usable].T]
        means = np.stack(sums, axis=1) / np.maximum(numbers, 1)[:, None]
        middles = begin_ns + np.arange(count) * period_ns + period_ns // 2
        places = positions_at(each.positions, middles)
        places[count - apart :] = np.nan
        values = np.where(numbers[:, None] > 0, means, np.nan)
        parts.append((middles, np.full(count, index), values, places))
    stamps, drives, values, places = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _Ticks(stamps, drives, values, places, period_ns, per_lap)


def _unlikeness(ticks: _Ticks) -> tuple[Ints, Floats]:
    """Return the middles of windows, and how unlike the most similar other one is: (W,) each."""
    window, still = ticks.window, _still(ticks.values)
    felt = _in_windows(_scaled(ticks.values, ~still), window)
    known, valid = _finite(ticks.places), _finite(felt)
    felt[~valid] = 0.0
    felt_squares = (felt**2).sum(axis=1)
    # Of positions only the ticks count at which both are known.
    centred = np.where(known[:, None], ticks.places - np.nanmean(ticks.places, axis=0), 0.0)
    x, y = (_in_windows(column[:, None], window) for column in centred.T)
    present = _in_windows(known[:, None].astype(np.float64), window)
    squares = x**2 + y**2
    placed = present.sum(axis=1) >= window / 2
    laps = ticks.laps[: len(felt)]
    windows = np.flatnonzero(valid)
    windows = windows[windows % max(window // STEPS, 1) == 0]
    pairs, nearest = [], []
    for rows in np.split(windows, np.arange(BLOCK, len(windows), BLOCK)):
        # Compare windows with positions only with each other; those without have no distance.
        other = valid & placed & (np.abs(laps[rows, None] - laps) >= OTHER_LAPS)
        apart = felt_squares[rows, None] + felt_squares - 2.0 * felt[rows] @ felt.T
        apart = np.sqrt(np.maximum(apart, 0.0) / window)
        both = present[rows] @ present.T
        far = squares[rows] @ present.T + present[rows] @ squares.T
        far -= 2.0 * (x[rows] @ x.T + y[rows] @ y.T)
        far = np.sqrt(np.maximum(far, 0.0) / np.maximum(both, 1.0))
        far = np.where(placed[rows, None], np.where(both >= window / 2, far, np.inf), 0.0)
        apart[~other] = far[~other] = np.inf
        pairs.append((apart, far))
        best = np.argmin(far, axis=1)[:, None]
        here = [np.take_along_axis(each, best, axis=1)[:, 0] for each in (apart, far)]
        nearest.append(np.where(placed[rows], np.stack(here), np.nan))
    usual = np.concatenate(nearest, axis=1)
    moved = np.linalg.norm(ticks.places[windows + window - 1] - ticks.places[windows], axis=1)
    if not np.isfinite(moved).any():
        return windows[:0], np.zeros(0)
    # Standstill windows are more similar; leave them out of the scale.
    drives = np.isfinite(usual).all(axis=0) & (moved >= 0.5 * np.nanmedian(moved))
    if not drives.any():
        return windows[:0], np.zeros(0)
    usual_apart, usual_far = np.median(usual[:, drives], axis=1).tolist()
    usual_apart = max(usual_apart, ROUNDING)
    # What two laps may be off by because of their ticks is no difference.
    step = float(np.nanmedian(np.linalg.norm(np.diff(ticks.places, axis=0), axis=1)))
    usual_far = max(usual_far, 0.5 * step, ROUNDING)
    unlike = [np.maximum(a / usual_apart, f / usual_far).min(axis=1) for a, f in pairs]
    # A sensor that works is never still to the last digit, unless the vehicle is parked.
    stuck = _in_windows(still[:, None].astype(np.float64), window)[windows].all(axis=1)
    stuck &= ~(moved <= usual_far)
    return windows + window // 2, np.where(stuck, np.inf, np.concatenate(unlike))


def _still(values: Floats) -> Bools:
    """Return at which ticks (T,) all values (T, c) are those of the tick before."""
    rounding = ROUNDING * np.nanmax(np.abs(values), axis=0, initial=0.0)
    return np.append(False, (np.abs(np.diff(values, axis=0)) <= rounding).all(axis=1))


def _scaled(values: Floats, working: Bools) -> Floats:
    """Return values (T, c) in spreads of their channel, noisy ones as less, as in a TPSR."""
    seen = working & _finite(values)
    if not seen.any():
        return np.full(values.shape, np.nan)
    low, middle, high = np.quantile(values[seen], [0.16, 0.5, 0.84], axis=0)
    spread = 0.5 * (high - low)
    live = spread > 0.0
    scaled = np.clip((values[:, live] - middle[live]) / spread[live], -FARTHEST, FARTHEST)
    both = np.flatnonzero(seen[1:] & seen[:-1])
    # Each counts as much as it is like that of the tick before.
    variances = np.mean(scaled[seen] ** 2, axis=0)
    alike = np.sum(scaled[both + 1] * scaled[both], axis=0) / max(len(both), 1) / variances
    return np.asarray(scaled * np.sqrt(np.clip(alike, 0.0, 1.0)))


def _lasting(middles: Ints, unlike: Floats, ticks: _Ticks) -> Floats:
    """Return the median of the unlikeness (W,) of the windows around each."""
    around = int(0.5 * LEAST_LAPS * ticks.per_lap)
    spread_out = np.full(len(ticks.stamps) + 2 * around, np.nan)
    spread_out[middles + around] = unlike
    return np.asarray(
        [np.nanmedian(spread_out[each : each + 2 * around + 1]) for each in middles.tolist()]
    )


def _nearest(middles: Ints, flags: Bools, ticks: _Ticks) -> Bools:
    """Return for each of some ticks the flag (W,) of the nearest window that it is in."""
    every = np.arange(len(ticks.stamps))
    after = np.minimum(np.searchsorted(middles, every), len(middles) - 1)
    before = np.maximum(after - 1, 0)
    closer = np.where(every - middles[before] < middles[after] - every, before, after)
    found: Bools = flags[closer]
    found[np.abs(middles[closer] - every) > ticks.window // 2] = False
    return found


def _finite(rows: Floats) -> Bools:
    return np.asarray(np.isfinite(rows).all(axis=1))


def _in_windows(rows: Floats, window: int) -> Floats:
    """Return the windows (T - w + 1, w c) of rows (T, c)."""
    windows = sliding_window_view(rows, window, axis=0)
    return windows.reshape(len(windows), -1)
