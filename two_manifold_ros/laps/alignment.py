# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Align laps with each other by their IMU: dynamic time warping to a template that is their mean.

The path of a drive around the template is the cheapest one: what is seen has to be like the
template, and speed, in shares of the mean lap's, costs where it changes. The template is the mean
of what was seen at each of its bins, and its bins are even in the time of the mean lap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d

from two_manifold_ros.compilation import compiled
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.circuit import LIKE_A_LAP

if TYPE_CHECKING:
    from two_manifold_ros.laps.series import Series
    from two_manifold_ros.typing import Floats, Ints


class Grid(NamedTuple):
    """
    How finely a lap is followed.

    Parameters
    ----------
    steps
        Of a mean lap; phases between them are interpolated.
    bins_a_step
        Bins of the template that the usual speed passes in a step.
    gears : (S,)
        Bins passed in a step, from standing to twice the usual speed.

    """

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


@compiled
def follow(  # noqa: C901, PLR0912, PLR0915 - one loop for numba
    seen: Floats, template: Floats, weights: Floats, low: Ints, width: int, gears: Ints,
    usual: float, change: float, halt: float, standing: float, unusual: float, unlike: float,
    score: Floats, before: Floats, back: Any, path: Ints,  # noqa: ANN401 - of bytes
) -> None:  # fmt: skip
    """
    Fill the path (T,) of the cheapest way around a ring of M bins, unwrapped.

    ``seen`` (T, d) may be NaN; allowed at t are ``width`` bins from ``low[t]`` on. Scratch:
    ``score`` and ``before`` (M, S), ``back`` (T, width, S) uint8.
    """
    count, dims = seen.shape
    bins, number = score.shape
    for m in range(bins):
        for g in range(number):
            before[m, g] = np.inf
    for t in range(count):
        for m in range(bins):
            for g in range(number):
                score[m, g] = np.inf
        known = np.isfinite(seen[t, 0])
        for k in range(width):
            m = (low[t] + k) % bins
            cost = 0.0
            if known:
                for c in range(dims):
                    away = seen[t, c] - template[m, c]
                    cost += weights[c] * away * away
                cost = min(cost, unlike)
            for g in range(number):
                if t == 0:
                    score[m, g] = cost
                    continue
                source = (m - gears[g] + bins) % bins
                best, chosen = before[source, g], g
                if g == 0:
                    for other in range(1, number):
                        found = before[source, other] + halt
                        if found < best:
                            best, chosen = found, other
                    # At rest nothing looks as where the others drive.
                    score[m, 0] = best + standing + min(cost, 0.4 * unlike if known else 0.0)
                else:
                    found = before[source, 0] + halt
                    if found < best:
                        best, chosen = found, 0
                    if g > 1:
                        found = before[source, g - 1] + change
                        if found < best:
                            best, chosen = found, g - 1
                    if g + 1 < number:
                        found = before[source, g + 1] + change
                        if found < best:
                            best, chosen = found, g + 1
                    ratio = gears[g] / usual - 1.0
                    score[m, g] = best + cost + unusual * ratio * ratio
                back[t, k, g] = chosen
        for m in range(bins):
            for g in range(number):
                before[m, g] = score[m, g]
    least, at, gear = np.inf, low[count - 1] % bins, 0
    for m in range(bins):
        for g in range(number):
            if before[m, g] < least:
                least, at, gear = before[m, g], m, g
    # Unwrapped from the end, and shifted to the allowed bins of the start.
    position = 0
    for i in range(count):
        t = count - 1 - i
        path[t] = position
        if t > 0:
            # Where no way leads through the allowed bins it is one of them anyhow.
            chosen = back[t, min((at - low[t]) % bins, width - 1), gear]
            position -= gears[gear]
            at = (at - gears[gear] + bins) % bins
            gear = chosen
    start = low[0] + (at - low[0] + bins * (1 + abs(low[0]) // bins)) % bins
    shift = start - path[0]
    for t in range(count):
        path[t] += shift


@dataclass(frozen=True)
class Template:
    """Mean lap: what is seen at each of M bins (M, d), and the variance of a step there (d,)."""

    means: Floats
    variances: Floats


def find_path(
    seen: Floats, template: Template, grid: Grid, low: Ints | None = None, width: int = 0
) -> Floats:
    """
    Return the bin of each step, unwrapped.

    ``width`` bins from ``low`` (T,) on are allowed, without it all.
    """
    bins, number = grid.bins, len(grid.gears)
    if low is None:
        low, width = np.zeros(len(seen), dtype=np.int64), bins
    path = np.zeros(len(seen), dtype=np.int64)
    weights = 0.5 * TEMPER / template.variances
    unlike = 0.5 * TEMPER * UNLIKE * seen.shape[1]
    follow(
        np.ascontiguousarray(seen), np.ascontiguousarray(template.means), weights, low,
        min(width, bins), grid.gears, float(grid.bins_a_step), CHANGE, HALT, STANDING,
        UNUSUAL, unlike,
        np.empty((bins, number)), np.empty((bins, number)),
        np.zeros((len(seen), min(width, bins), number), dtype=np.uint8), path,
    )  # fmt: skip
    return path.astype(np.float64)


def sums_at(rows: Floats, path: Floats, grid: Grid) -> Floats:
    """Return the sums of rows (n, d) around each bin, and of their weights: (M, d + 1)."""
    places = path % grid.bins
    below = np.floor(places).astype(np.int64)
    share = places - below
    indices = np.concatenate([below, below + 1]) % grid.bins
    weights = np.concatenate([1.0 - share, share])
    full = np.column_stack([rows, np.ones(len(rows))])
    sums = np.stack(
        [np.bincount(indices, weights * np.tile(c, 2), grid.bins) for c in full.T], axis=1
    )
    # As wide as a step, between whose middles nothing is known.
    smooth: Floats = gaussian_filter1d(sums, 0.5 * grid.bins_a_step, axis=0, mode='wrap')
    return smooth


def means_of(sums: Floats, grid: Grid) -> Floats:
    """Return the mean at each bin (M, d), that of all, zero, where nothing is known."""
    few = 0.02 / grid.bins_a_step  # a fiftieth of one pass
    means: Floats = sums[:, :-1] / (np.maximum(sums[:, -1:], 0.0) + few)
    return means


def mean_lap(seen: Floats, path: Floats, grid: Grid) -> Template:
    """Return the mean of what is seen at each bin, of steps (T, d) of which some are NaN."""
    known = np.isfinite(seen).all(axis=1)
    rows, path = seen[known], path[known]
    means = means_of(sums_at(rows, path, grid), grid)
    away = np.square(rows - means[np.floor(path).astype(np.int64) % grid.bins])
    # A channel without noise would be followed into every wobble.
    variances = np.clip(away.mean(axis=0), 0.03, None) if len(rows) else np.ones(seen.shape[1])
    return Template(means, variances)


def even_in_time(path: Floats, bins: int) -> Floats:
    """
    Return the path (T,) with bins that are even in the time of the mean lap.

    The mean lap is that of the whole laps whose time is like the usual one.
    """
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


def align_steps(seen: Floats, rough: Floats, slack: float, rounds: int = ROUNDS) -> Floats:
    """
    Return the phases (T,) of steps that know them roughly.

    Parameters
    ----------
    seen : (T, d)
        What is seen in each step, NaN where unknown; a mean lap has those of ``FINE``.
    rough : (T,)
        Laps since the origin, unwrapped and rising.
    slack
        By how much they may be wrong, laps.

    """
    bins = FINE.bins
    path = rough * bins
    width = int(np.ceil(2.0 * slack * bins)) + 1
    low = np.floor((rough - slack) * bins).astype(np.int64)
    for _ in range(rounds):
        found = find_path(seen, mean_lap(seen, path, FINE), FINE, low, width)
        path = even_in_time(found, bins)
    return path / bins


def phases_of(series: Series, at: Floats, rough: Floats, usual: float) -> tuple[Floats, Floats]:
    """
    Return times (n,), ticks, and the phases there, of a drive that knows them roughly.

    Parameters
    ----------
    series
        Of the drive.
    at, rough : (m,)
        Ticks, and the laps gone then, rising.
    usual
        Time of a lap, ticks.

    """
    middles, seen = series.averaged(usual / FINE.steps)
    slack = 0.05  # of a lap: as much as a few coarse phases
    return middles, align_steps(seen, np.interp(middles, at, rough), slack)


def align_marks(
    series: Series, marks: Floats, numbers: Floats | None = None, slack: float = 0.1
) -> Floats:
    """
    Return the phase of each tick, laps since the first mark: (T,).

    Parameters
    ----------
    series
        Of the drive.
    marks : (L + 1,)
        Ticks at which the line was crossed, fractional and increasing.
    numbers : (L + 1,), optional
        Laps gone at each mark; without them there is one between any two.
    slack
        By how much a place may be early or late in a lap, laps.

    Raises
    ------
    InputError
        If there are fewer than three marks, or they do not increase.

    """
    if len(marks) < 3 or not (np.diff(marks) > 0.0).all():
        msg = f'{len(marks)} marks are no laps: give three or more, with increasing times'
        raise InputError(msg)
    if numbers is None:
        numbers = np.arange(len(marks), dtype=np.float64)
    lasted = np.diff(marks) / np.diff(numbers)
    usual = float(np.median(lasted))
    middles, seen = series.averaged(usual / FINE.steps)
    rough = extended(middles, marks, numbers, usual)
    # A halt puts places off by as much as its lap is longer, at most half a lap.
    late = 1.0 - usual / float(lasted.max())
    phases = align_steps(seen, rough, min(slack + late, 0.5))
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
