# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A drive as one even series of its IMU, and its laps aligned with each other.

Dynamic time warping aligns laps to a template that is their mean. The path of a drive around it is
the cheapest one: what is seen has to be like the template, and speed, in shares of the mean lap's,
costs where it changes. The template is the mean of what was seen at each of its bins, and its bins
are even in the time of the mean lap.
"""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from two_manifold_ros.compilation import allocating
from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.motion import LONGEST_HOLE_S
from two_manifold_ros.model.circuit import LIKE_A_LAP
from two_manifold_ros.recordings.recording import median_interval_ns, Recording
from two_manifold_ros.ticks.segments import cut_segments, fit_channels, largest_believable
from two_manifold_ros.training.dataset import longest_step_ns, USUAL_RATE_HZ
from two_manifold_ros.typing import Bools, Floats, Ints

LARGEST = 3.5
"""Spreads of a channel beyond which a step counts as one there, as in a crash."""


@dataclass(frozen=True)
class Series:
    """Even ticks of a drive: their ends, ns, and standardised observations (T, d), NaN in gaps."""

    stamps: Ints
    values: Floats
    period_s: float

    def averaged(self, ticks: float) -> tuple[Floats, Floats]:
        """
        Average over steps of so many ticks, at least one; return their middles (n,) and values.

        Values (n, d) have mean 0 and variance 1, and are NaN where less than half of a step is
        known.
        """
        count = max(int(len(self.values) / ticks), 1)
        edges = np.arange(float(count + 1)) * np.float64(ticks)
        middles: Floats = edges[:-1] + np.float64(0.5 * ticks)
        known: Bools = np.asarray(np.isfinite(self.values).all(axis=1))
        filled = np.where(known[:, None], self.values, 0.0)
        sums = np.column_stack([filled, known]).cumsum(axis=0)
        sums = np.concatenate([np.zeros((1, sums.shape[1])), sums])
        at = np.arange(len(sums))
        steps = np.diff(np.stack([np.interp(edges, at, each) for each in sums.T], axis=1), axis=0)
        enough = steps[:, -1] >= 0.5 * ticks
        means = np.full((count, self.values.shape[1]), np.nan)
        means[enough] = steps[enough, :-1] / steps[enough, -1:]
        if not enough.any():
            return middles, means
        # A crash is not to set the scale, nor to count for more than a bend.
        low, high = np.nanquantile(means, np.array([0.01, 0.99]), axis=0).reshape(2, -1)
        usual = np.clip(means, low, high)
        spread = np.nanstd(usual, axis=0)
        means = (means - np.nanmean(usual, axis=0)) / np.where(spread > 1e-9, spread, 1.0)
        means = np.clip(means, -LARGEST, LARGEST)
        return middles, means


def drive_series(recording: Recording) -> Series:
    """Return the ticks of a recording, of which positions are not looked at."""
    imu = recording.imu
    interval = median_interval_ns(imu.stamps)
    if not interval:
        raise InputError(
            f'{recording.name}: topic {imu.topic} has no two IMU samples with increasing stamps; '
            'check the driver, or use receive times'
        )
    period = max(round(1e9 / USUAL_RATE_HZ), interval)
    gap = longest_step_ns(interval, period)
    largest = largest_believable([imu.samples])
    segments, _ = cut_segments(recording, period, gap, largest)
    if not segments:
        msg = f'{recording.name}: topic {imu.topic} has no tick without a gap; record longer'
        raise InputError(msg)
    channels = fit_channels(segments, largest, imu.names)
    stamps = [segments[0].stamps]
    values = [channels.standardise(segments[0].values)]
    for before, after in itertools.pairwise(segments):
        silent = int(after.stamps[0] - before.stamps[-1]) // period - 1
        # Where the clock was set back the time that passed is unknown: one tick.
        silent = int(np.clip(silent, 1, round(LONGEST_HOLE_S * 1e9 / period)))
        stamps += [before.stamps[-1] + period * np.arange(1, silent + 1), after.stamps]
        seen = channels.standardise(after.values)
        values += [np.full((silent, seen.shape[1]), np.nan), seen]
    return Series(np.concatenate(stamps), np.concatenate(values), period * 1e-9)


class Grid(NamedTuple):
    """Steps of a lap, bins of the template in each, and bins passed in a step by gear (S,)."""

    steps: int
    bins_a_step: int
    gears: Ints

    @property
    def bins(self) -> int:
        """Bins of the template."""
        return self.steps * self.bins_a_step


FINE = Grid(100, 8, np.array([0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16]))
"""For phases: a bin is an eighth of the per cent that is aimed at."""

CHANGE, HALT, STANDING, UNUSUAL = 0.7, 6.0, 0.3, 1.5
"""
Costs, in log-likelihood: of a change to the next gear, of a halt or start, of each step at rest,
and of a step at another speed, by the square of its difference from the usual in shares of it.
"""

TEMPER = 0.5
"""Weight of a step's log-likelihood: chosen, not measured."""

UNLIKE = 5.0
"""Mean square of what is seen, in variances at the place, that counts at most: as in a crash."""

ROUNDS = 5
"""Times that the template is made of the aligned laps; later ones change little."""


@allocating
def most_likely_way(  # noqa: C901, PLR0912 - one loop for numba
    seen: Floats, means: Floats, weights: Floats, low: Ints, width: int, moves: Floats,
    gears: Floats,
) -> Ints:  # fmt: skip
    """
    Return the most likely way (T,) around a ring of M bins, unwrapped (Viterbi).

    Parameters
    ----------
    seen : (T, d), means : (M, d), weights : (d,)
        What is seen, NaN where unknown; what is usual in each bin; and what a squared difference
        costs.
    low : (T,), width
        So many bins from ``low`` on are allowed in a step.
    moves : (K, 4)
        Gear after a step, gear before, bins passed, and cost; in the order of the first. Of moves
        that cost the same the earlier one is taken.
    gears : (S, 2)
        Cost of a step in each gear, and the most that what is seen costs there.

    """
    count, dims = seen.shape
    bins, number = len(means), len(gears)
    after, start = moves[:, 0].astype(np.int64), moves[:, 1].astype(np.int64)
    passed, costs = moves[:, 2].astype(np.int64), moves[:, 3]
    first = np.searchsorted(after, np.arange(number))
    before, score = np.full((bins, number), np.inf), np.full((bins, number), np.inf)
    back = np.zeros((count, width, number), dtype=np.uint8)
    for t in range(count):
        score[:] = np.inf
        for k in range(width):
            m = (low[t] + k) % bins
            cost = 0.0
            if np.isfinite(seen[t, 0]):
                for c in range(dims):
                    away = seen[t, c] - means[m, c]
                    cost += weights[c] * away * away
            if t == 0:
                score[m] = min(cost, gears[number - 1, 1])
                continue
            for g in range(number):
                back[t, k, g] = first[g]
            for j in range(len(moves)):
                source = m - passed[j]
                if source < 0:
                    source += bins
                found = before[source, start[j]] + costs[j]
                if found < score[m, after[j]]:
                    score[m, after[j]] = found
                    back[t, k, after[j]] = j
            for g in range(number):
                score[m, g] += min(cost, gears[g, 1]) + gears[g, 0]
        before, score = score, before
    least, at, gear = np.inf, low[count - 1] % bins, 0
    for m in range(bins):
        for g in range(number):
            if before[m, g] < least:
                least, at, gear = before[m, g], m, g
    # Unwrapped from the end, and shifted to the allowed bins of the start.
    way = np.zeros(count, dtype=np.int64)
    position = 0
    for i in range(count):
        t = count - 1 - i
        way[t] = position
        if t > 0:
            # Where no way leads through the allowed bins it is one of them anyhow.
            j = back[t, min((at - low[t]) % bins, width - 1), gear]
            position -= passed[j]
            at = (at - passed[j] + bins) % bins
            gear = start[j]
    way += low[0] + (at - low[0]) % bins - way[0]
    return way


def find_path(
    seen: Floats, means: Floats, variances: Floats, low: Ints, width: int, grid: Grid = FINE
) -> Floats:
    """Return the bin of each step (T,), unwrapped, by a template with ``variances`` (d,)."""
    unlike = 0.5 * TEMPER * UNLIKE * seen.shape[1]
    ratios = grid.gears / grid.bins_a_step - 1.0
    gears = np.column_stack([UNUSUAL * np.square(ratios), np.full(len(ratios), unlike)])
    # At rest nothing looks as where the others drive.
    gears[0] = STANDING, 0.4 * unlike
    # A step may be in the same gear as the last one, in the next ones, or a halt.
    moves, count = [], len(ratios)
    for gear, passed in enumerate(grid.gears.tolist()):
        beside = [each for each in (gear - 1, gear + 1) if 0 < each < count]
        others = [0, *beside] if gear else range(1, count)
        moves.append((gear, gear, passed, 0.0))
        moves += [(gear, each, passed, CHANGE if gear and each else HALT) for each in others]
    way = most_likely_way(
        np.ascontiguousarray(seen), np.ascontiguousarray(means), 0.5 * TEMPER / variances, low,
        min(width, grid.bins), np.array(moves, dtype=np.float64), gears,
    )  # fmt: skip
    return way.astype(np.float64)


def mean_lap(seen: Floats, path: Floats) -> tuple[Floats, Floats]:
    """Return the mean at each bin (M, d) and the variances (d,) of steps (T, d), NaN unknown."""
    known = np.isfinite(seen).all(axis=1)
    rows, path = seen[known], path[known]
    places = path % FINE.bins
    below = np.floor(places).astype(np.int64)
    share = places - below
    indices = np.concatenate([below, below + 1]) % FINE.bins
    weights = np.concatenate([1.0 - share, share])
    full = np.column_stack([rows, np.ones(len(rows))])
    sums = np.stack(
        [np.bincount(indices, weights * np.tile(c, 2), FINE.bins) for c in full.T], axis=1
    )
    # As wide as a step, between whose middles nothing is known.
    sums = gaussian_filter1d(sums, 0.5 * FINE.bins_a_step, axis=0, mode='wrap')
    few = 0.02 / FINE.bins_a_step  # a fiftieth of one pass: the mean of all, zero, where fewer are
    means = sums[:, :-1] / (np.maximum(sums[:, -1:], 0.0) + few)
    away = np.square(rows - means[np.floor(path).astype(np.int64) % FINE.bins])
    # A channel without noise would be followed into every wobble.
    variances = np.clip(away.mean(axis=0), 0.03, None) if len(rows) else np.ones(seen.shape[1])
    return means, variances


def even_in_time(path: Floats, bins: int) -> Floats:
    """Return the path (T,) with bins that are even in the time of the mean of the usual laps."""
    first, last = int(np.ceil(path[0] / bins)), int(np.floor(path[-1] / bins))
    if last - first < 1:
        return path
    rising = path + 1e-9 * np.arange(len(path))
    edges = np.arange(first * bins, last * bins + 1)
    times = np.interp(edges, rising, np.arange(len(path)))
    laps = np.stack([times[k * bins : (k + 1) * bins + 1] for k in range(last - first)])
    lasted = laps[:, -1] - laps[:, 0]
    middle = np.sort(lasted)[len(lasted) // 2]
    usual = np.abs(lasted / middle - 1.0) <= LIKE_A_LAP
    shares = ((laps - laps[:, :1]) / lasted[:, None])[usual].mean(axis=0)
    lap, inside = np.divmod(path, bins)
    even: Floats = bins * (lap + np.interp(inside, np.arange(bins + 1), shares))
    return even


def align_steps(seen: Floats, rough: Floats, slack: float) -> Floats:
    """Return the phases (T,) of steps (T, d) that know them roughly, up to the slack, laps."""
    bins = FINE.bins
    path = rough * bins
    width = int(np.ceil(2.0 * slack * bins)) + 1
    low = np.floor((rough - slack) * bins).astype(np.int64)
    for _ in range(ROUNDS):
        found = find_path(seen, *mean_lap(seen, path), low, width)
        path = even_in_time(found, bins)
    return path / bins


def align_marks(series: Series, marks: Floats, numbers: Floats) -> Floats:
    """Return the phase of each tick (T,), laps, by three or more marks and the laps gone there."""
    lasted = np.diff(marks) / np.diff(numbers)
    usual = float(np.median(lasted))
    middles, seen = series.averaged(usual / FINE.steps)
    rough = extended(middles, marks, numbers, usual)
    # A halt puts places off by as much as its lap is longer, at most half a lap.
    late = 1.0 - usual / float(lasted.max())
    phases = align_steps(seen, rough, min(0.1 + late, 0.5))
    # The line is where it was crossed.
    offset = np.median(np.interp(marks, middles, phases) - numbers)
    ticks = np.arange(float(len(series.stamps))) + np.float64(0.5)
    return extended(ticks, middles, phases - offset, usual)


def extended(at: Floats, known: Floats, phases: Floats, usual: float) -> Floats:
    """Interpolate phases, and extend them at the usual time of a lap."""
    inside = np.interp(at, known, phases)
    before, after = np.minimum(at - known[0], 0.0), np.maximum(at - known[-1], 0.0)
    rising: Floats = inside + (before + after) / usual
    return rising
