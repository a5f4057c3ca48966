# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Find the loop that a vehicle drives in its IMU alone.

Candidates are the lags at which windows of the drive look alike most often. The drive is aligned
with itself at each, and the one counts by which a lap predicts best what others hold: parts that
are left out of the alignment, by a mean lap to which their own lap does not belong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.distance import cdist

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.alignment import (
    align_steps,
    COARSE,
    even_in_time,
    extended,
    find_path,
    FINE,
    mean_lap,
    means_of,
    sums_at,
    Template,
)
from two_manifold_ros.laps.series import drive_series, Series

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

POINTS = 1_200
"""Steps whose windows are compared with each other at once."""

LEAST_LAPS = 1.8
"""Laps below which nothing has been driven twice, but for a rest."""


MOST_STEPS = 30 * COARSE.steps
"""Steps of a drive that candidates are judged by: thirty laps bound the time it takes."""

STARTS = 3
"""Stretches of the drive that the mean lap is begun with: one of them may be no usual lap."""

SLACK = 0.08
"""Laps by which the fine path may leave the coarse one: chosen, not measured."""


@dataclass(frozen=True)
class Loop:
    """
    The loop of a drive.

    Parameters
    ----------
    lap_s
        Usual time of a lap, s.
    laps
        Laps of the drive.
    boundaries : (L,) int64
        When the line was crossed, ns, at which times of laps differ least.
    confidence
        From 0 to 1: how much of what is seen the loop explains where it was left out.
    stamps : (T,) int64, phases : (T,)
        Ticks, ns, and laps since the line was crossed first, rising.

    """

    lap_s: float
    laps: float
    boundaries: Ints
    confidence: float
    stamps: Ints
    phases: Floats


class Candidate(NamedTuple):
    """
    A loop that was tried.

    Parameters
    ----------
    ticks, step_ticks
        Of a lap, and of a step of the template.
    template
        Mean lap.
    gains : (b,), explained
        Of blocks that were left out, in shares of what is seen, and their mean.
    uneven
        By how much what is driven in the time of a lap differs from one, laps, in the median.

    """

    ticks: float
    step_ticks: float
    template: Template
    gains: Floats
    explained: float
    uneven: float


def lag_strengths(series: Series) -> tuple[Floats, Floats]:
    """
    Return lags (n,), ticks, evenly in their logarithm, and how often windows look alike there.

    Windows of several lengths are compared in steps of several lengths, because the lap is
    unknown by a factor of hundreds.
    """
    total = len(series.values)
    grid = np.geomspace(20.0, 0.6 * total, 600)
    spacing = float(np.log(grid[1] / grid[0]))
    strengths = np.zeros(len(grid))
    step = max(total / POINTS, 1.0)
    while True:
        _, seen = series.averaged(step)
        seen = seen[:POINTS]
        found = np.zeros(len(grid))
        for width in (6, 12, 24, 48):
            if 3 * width < len(seen):
                lags, votes = _alike(seen, width)
                places = np.log(lags * step / grid[0]) / spacing
                inside = (places >= 0) & (places <= len(grid) - 1)
                np.add.at(found, places[inside].round().astype(np.int64), votes[inside])
                strengths = np.maximum(strengths, _over_chance(found, grid, step, len(seen)))
        if step <= 1.0 or step * POINTS < 200:
            break
        step = max(step / 4.0, 1.0)
    return grid, strengths


def _over_chance(found: Floats, grid: Floats, step: float, count: int) -> Floats:
    """Return votes over those that lags would get by chance, which grow with their number."""
    smooth = gaussian_filter1d(found, 2.0)
    pairs = np.maximum(count - grid / step, 0.0) * grid
    chance = pairs / max(pairs.sum(), 1e-9) * found.sum()
    over: Floats = np.where(pairs > 0.0, smooth / np.sqrt(chance + 0.02 * found.sum() + 1e-9), 0.0)
    return over


def _alike(seen: Floats, width: int) -> tuple[Floats, Floats]:
    """Return lags, in steps, at which windows (of rows of ``seen``) are most alike, and votes."""
    filled = np.where(np.isfinite(seen), seen, 0.0)
    lasting = (filled[1:] * filled[:-1]).mean(axis=0).clip(0.0)
    apart = cdist(filled * lasting, filled * lasting, 'sqeuclidean')
    count = len(seen) - width
    lags, votes = [], []
    # Of each diagonal the sums over windows, put at the start of the first.
    table = np.full((count, len(seen)), np.inf)
    for lag in range(width, count):
        sums = np.concatenate([[0.0], np.cumsum(np.diagonal(apart, lag))])
        windows = (sums[width:] - sums[:-width])[:count]
        table[np.arange(len(windows)), lag] = windows
    for row in table:
        finite = np.flatnonzero(np.isfinite(row))
        if len(finite) < 3:
            continue
        values = row[finite[0] : finite[-1] + 1]
        low = np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:])) + 1
        best = low[np.argsort(values[low])[:3]]
        usual = np.median(values)
        lags.append(best + finite[0])
        votes.append(np.clip(1.0 - values[best] / max(usual, 1e-9), 0.0, None) ** 2)
    if not lags:
        return np.empty(0), np.empty(0)
    return np.concatenate(lags).astype(np.float64), np.concatenate(votes)


def candidate_lags(series: Series, most: int = 8) -> list[float]:
    """Return the lags, ticks, that are tried: the strongest, and their halves and thirds."""
    grid, strengths = lag_strengths(series)
    peaks = (
        np.flatnonzero((strengths[1:-1] > strengths[:-2]) & (strengths[1:-1] >= strengths[2:])) + 1
    )
    order = peaks[np.argsort(strengths[peaks])[::-1]]
    found = [float(grid[each]) for each in order[:most]]
    found += [each / share for each in found[:2] for share in (2.0, 3.0)]
    found += [2.0 * found[0]] if found else []
    shortest, longest = max(20.0, len(series.values) / 200.0), len(series.values) / LEAST_LAPS
    kept: list[float] = []
    for each in found:
        new = all(abs(np.log(each / other)) > 0.04 for other in kept)
        if shortest <= each <= longest and new:
            kept.append(each)
    return kept


def try_lag(series: Series, ticks: float) -> Candidate:
    """Align a drive with itself at a lag of so many ticks, and measure what that explains."""
    for _ in range(2):
        middles, seen = series.averaged(ticks / COARSE.steps)
        middles, seen = middles[:MOST_STEPS], seen[:MOST_STEPS]
        starts = np.linspace(0, len(seen) - COARSE.steps, STARTS + 1)[:-1]
        path = min((_from_start(seen, at) for at in starts), key=lambda each: _misfit(seen, each))
        for _ in range(3):
            found = find_path(seen, mean_lap(seen, path, COARSE), COARSE)
            path = even_in_time(found, COARSE.bins)
        lasted = usual_lap(middles, path / COARSE.bins)
        if abs(np.log(lasted / ticks)) < 0.02:
            break
        ticks = lasted
    template = mean_lap(seen, path, COARSE)
    gains = _held_out(seen, path, template)
    driven = path[COARSE.steps :] - path[: -COARSE.steps]
    uneven = float(np.median(np.abs(driven / COARSE.bins - 1.0)))
    return Candidate(lasted, ticks / COARSE.steps, template, gains, float(gains.mean()), uneven)


def usual_lap(times: Floats, phases: Floats) -> float:
    """Return the median time between equal phases a lap apart, of rising phases."""
    rising = phases + 1e-9 * np.arange(len(phases))
    if rising[-1] - rising[0] <= 1.05:
        return float((times[-1] - times[0]) / max(rising[-1] - rising[0], 1e-3))
    at = np.arange(rising[0], rising[-1] - 1.0, 0.02)
    return float(np.median(np.interp(at + 1.0, rising, times) - np.interp(at, rising, times)))


def _from_start(seen: Floats, start: float) -> Floats:
    """Return the path around a template that is one stretch of the drive."""
    first = int(start)
    own = seen[first : first + COARSE.steps]
    path = np.arange(len(own)) * float(COARSE.bins_a_step)
    means = mean_lap(own, path, COARSE).means
    return find_path(seen, Template(means, np.full(seen.shape[1], 0.5)), COARSE)


def _misfit(seen: Floats, path: Floats) -> float:
    return float(np.log(mean_lap(seen, path, COARSE).variances).sum())


def _held_out(seen: Floats, path: Floats, template: Template) -> Floats:
    """
    Return by how much blocks (b,) are predicted better than by the mean, in shares of the usual.

    Every other half lap is left out of what the path follows, which passes it at an even speed,
    and the mean lap is that of all other laps.
    """
    # A loop that is none is followed from bend to bend, and not over half of it.
    numbers = np.arange(len(seen)) // (COARSE.steps // 2)
    weights = np.clip(1.0 - template.variances, 0.0, None)
    known = np.isfinite(seen).all(axis=1)
    laps = np.floor((path - path[0]) / COARSE.bins).astype(np.int64)
    every = sums_at(seen[known], path[known], COARSE)
    passed = np.zeros(len(seen), dtype=np.int64)
    for part in range(2):
        hidden = numbers % 2 == part
        masked = np.where(hidden[:, None], np.nan, seen)
        found = find_path(masked, template, COARSE).astype(np.int64) % COARSE.bins
        passed[hidden] = found[hidden]
    usual = float(np.square(seen[known]).mean(axis=0) @ weights) or 1.0
    error, chance = np.zeros(len(seen)), np.zeros(len(seen))
    for lap in np.unique(laps[known]).tolist():
        own = np.flatnonzero((laps == lap) & known)
        means = means_of(every - sums_at(seen[own], path[own], COARSE), COARSE)
        away = np.square(seen[own] - means[passed[own]]) @ weights
        squares = np.square(seen[own]) @ weights
        # Bounded, so that one crash decides nothing.
        error[own], chance[own] = away / (usual + away), squares / (usual + squares)
    gains: Floats = np.bincount(numbers, chance - error)
    return gains / max(float(np.bincount(numbers, chance).mean()), 1e-9)


LEAST_EXPLAINED = 0.2
"""Share of what is seen that a loop has to explain; chosen on one seed of the worlds."""

MOST_UNEVEN = 0.05
"""
Laps by which a loop may be uneven.

The bends of one lap, taken for laps, explain .3 at most and are uneven by .09 and more where they
explain a fifth. Pauses do not count in a median.
"""

UNEVEN_EXPLAINED = 0.33
"""Share that a loop has to explain whose laps are less even, as after crashes."""

ALMOST = 0.08
"""
Share by which a shorter loop may explain less and still counts.

Twice a loop is one too, and explains as much but for chance. Chosen on an RC car, whose half loop
explains a tenth less, and a real one, whose double explains .07 more; an oval is still halved.
"""


def try_lags(series: Series) -> list[Candidate]:
    """Return the candidates, none of which is another one's loop."""
    tried: list[Candidate] = []
    for ticks in candidate_lags(series):
        if any(abs(np.log(ticks / each.ticks)) < 0.03 for each in tried):
            continue
        found = try_lag(series, ticks)
        whole = len(series.values) >= LEAST_LAPS * found.ticks and len(found.gains) > 3
        if whole:
            tried.append(found)
    return tried


def find_loop(recording: Recording) -> Loop:
    """
    Find the loop that a vehicle drives, in its IMU alone.

    Raises
    ------
    InputError
        If nothing repeats, with how little does.

    """
    series = drive_series(recording)
    known_s = float(np.isfinite(series.values).all(axis=1).sum()) * series.period_s
    tried = try_lags(series)
    best = max(tried, key=lambda each: each.explained, default=None)
    if best is None or best.explained < LEAST_EXPLAINED:
        share = f', the best loop explains {max(best.explained, 0.0):.0%} of it' if best else ''
        msg = (
            f'{recording.name}: nothing repeats in the {known_s:.0f} s of {recording.imu.topic}'
            f'{share}; drive one route three times or more, the same way round'
        )
        raise InputError(msg)
    enough = best.explained - ALMOST
    alike = [each for each in tried if each.explained >= max(enough, LEAST_EXPLAINED)]
    shortest = min(each.ticks for each in alike)
    # Several lags lead to one loop, and not all of them all the way.
    chosen = max(
        (each for each in alike if each.ticks < 1.03 * shortest), key=lambda each: each.explained
    )
    if chosen.uneven > MOST_UNEVEN and chosen.explained < UNEVEN_EXPLAINED:
        msg = (
            f'{recording.name}: nothing repeats surely, the best loop of {recording.imu.topic} '
            f'explains {chosen.explained:.0%} and its laps differ by {chosen.uneven:.0%}; drive '
            'one route three times or more, at an even speed'
        )
        raise InputError(msg)
    return _loop_of(series, chosen)


def _loop_of(series: Series, chosen: Candidate) -> Loop:
    """Put the line where times of laps differ least."""
    middles, seen = series.averaged(chosen.step_ticks)
    rough = find_path(seen, chosen.template, COARSE) / COARSE.bins
    middles, rough, seen = _finely(series, chosen, middles, rough)
    own = align_steps(seen, rough, SLACK)
    rising = own + 1e-9 * np.arange(len(own))
    spreads = []
    offsets = np.arange(0.0, 1.0, 0.05)
    for offset in offsets:
        laps = np.arange(np.ceil(own[0] - offset), np.floor(own[-1] - offset) + 1.0) + offset
        times = np.diff(np.interp(laps, rising, middles))
        spreads.append(np.median(np.abs(times - np.median(times))) if len(times) > 1 else np.inf)
    line = offsets[int(np.argmin(spreads))]
    first = np.ceil(own[0] - line) + line
    phases = extended(np.arange(len(series.stamps)) + 0.5, middles, own - first, chosen.ticks)
    crossed = np.arange(0.0, np.floor(phases[-1]) + 1.0)
    at = np.interp(crossed, phases + 1e-9 * np.arange(len(phases)), np.arange(len(phases)))
    boundaries = np.interp(at, np.arange(len(phases)), (series.stamps - series.stamps[0]))
    return Loop(
        lap_s=usual_lap(middles, own) * series.period_s,
        laps=float(phases[-1] - phases[0]),
        boundaries=boundaries.round().astype(np.int64) + series.stamps[0],
        confidence=float(np.clip(chosen.explained, 0.0, 1.0)),
        stamps=series.stamps,
        phases=phases,
    )


def _finely(
    series: Series, chosen: Candidate, middles: Floats, rough: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return middles (n,) and rough phases (n,) of fine steps, and what is seen there."""
    fine, seen = series.averaged(chosen.ticks / FINE.steps)
    return fine, extended(fine, middles, rough, chosen.ticks), seen


def phases(recording: Recording) -> tuple[Ints, Floats]:
    """Return stamps of ticks (T,), ns, and laps since the line was crossed first (T,)."""
    loop = find_loop(recording)
    return loop.stamps, loop.phases
