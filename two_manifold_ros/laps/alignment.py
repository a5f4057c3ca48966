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
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d

from two_manifold_ros.compilation import compiled
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.laps.series import Series
    from two_manifold_ros.typing import Bools, Floats, Ints

STEPS = 100
"""Steps of a mean lap at which it is followed; phases between them are interpolated."""

BINS_A_STEP = 8
"""Bins of the template that the usual speed passes in a step: speed is known to an eighth."""

GEARS = np.array([0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16])
"""Bins passed in a step, from standing to twice the usual speed."""

CHANGE, HALT, STANDING, UNUSUAL = 0.7, 6.0, 0.3, 1.5
"""
Costs, in log-likelihood: of a change to the next gear, of a halt or start, of each step at rest,
and of a step at another speed, by the square of its difference from the usual in shares of it.
"""

TEMPER = 0.5
"""Weight of a step's log-likelihood: neighbours share half of their noise."""

UNLIKE = 5.0
"""Mean square of what is seen, in variances at the place, that counts at most: as in a crash."""

ROUNDS = 5
"""Times that the template is made of the aligned laps; later ones change little."""

LIKE_USUAL = 0.25
"""Difference of a lap's time from the usual one up to which it makes the mean lap's time."""


@compiled
def follow(  # noqa: C901, PLR0912, PLR0913 - one loop for numba
    seen, template, weights, low, width, gears, usual, change, halt, standing, unusual, unlike,
    score, before, back, path,
):  # fmt: skip  # type: ignore[no-untyped-def]
    """
    Fill the path (T,) of the cheapest way around a ring of M bins, unwrapped.

    ``seen`` (T, d) may be NaN; allowed at t are ``width`` bins from ``low[t]`` on. Scratch:
    ``score`` and ``before`` (M, S), ``back`` (T, M, S) uint8.
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
                back[t, m, g] = chosen
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
            chosen = back[t, at, gear]
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


@dataclass(frozen=True)
class Aligned:
    """
    A drive aligned with itself.

    Parameters
    ----------
    template
        Mean lap.
    path : (T,) int64
        Bin of each step, unwrapped.
    step_ticks
        Ticks in a step.

    """

    template: Template
    path: Ints
    step_ticks: float

    @property
    def phases(self) -> Floats:
        """Laps since the origin at each step (T,)."""
        phases: Floats = self.path / len(self.template.means)
        return phases


def find_path(seen: Floats, template: Template, low: Ints, width: int) -> Ints:
    """Return the bin of each step, unwrapped, for allowed bins from ``low`` (T,) on."""
    bins, number = len(template.means), len(GEARS)
    path = np.zeros(len(seen), dtype=np.int64)
    weights = 0.5 * TEMPER / template.variances
    unlike = 0.5 * TEMPER * UNLIKE * seen.shape[1]
    follow(
        np.ascontiguousarray(seen), np.ascontiguousarray(template.means), weights, low,
        min(width, bins), GEARS, float(BINS_A_STEP), CHANGE, HALT, STANDING, UNUSUAL, unlike,
        np.empty((bins, number)), np.empty((bins, number)),
        np.zeros((len(seen), bins, number), dtype=np.uint8), path,
    )  # fmt: skip
    return path


def mean_lap(seen: Floats, path: Floats, bins: int, left_out: Bools | None = None) -> Template:
    """Return the mean of what is seen at each bin; steps left out (T,) do not count."""
    known = np.isfinite(seen).all(axis=1)
    if left_out is not None:
        known &= ~left_out
    places, rows = path[known] % bins, seen[known]
    below = np.floor(places).astype(np.int64)
    share = places - below
    sums = np.zeros((bins, seen.shape[1] + 1))
    full = np.column_stack([rows, np.ones(len(rows))])
    np.add.at(sums, below % bins, (1.0 - share)[:, None] * full)
    np.add.at(sums, (below + 1) % bins, share[:, None] * full)
    # As wide as a step, between whose middles nothing is known.
    sums = gaussian_filter1d(sums, 0.5 * BINS_A_STEP, axis=0, mode='wrap')
    few = 0.02 / BINS_A_STEP  # a fiftieth of one pass, below which the mean of all counts
    means = sums[:, :-1] / (sums[:, -1:] + few)
    away = np.square(rows - means[below % bins])
    # Half of it, where no step is like its place, so that a bad lap does not count.
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
    usual = np.abs(lasted / np.median(lasted) - 1.0) <= LIKE_USUAL
    shares = ((laps - laps[:, :1]) / lasted[:, None])[usual].mean(axis=0)
    lap, inside = np.divmod(path, bins)
    even: Floats = bins * (lap + np.interp(inside, np.arange(bins + 1), shares))
    return even


def align_steps(seen: Floats, rough: Floats, slack: Floats, rounds: int = ROUNDS) -> Aligned:
    """
    Align steps (T, d) that know their laps roughly.

    Parameters
    ----------
    seen
        What is seen in each step, NaN where unknown; a mean lap has ``STEPS`` of them.
    rough : (T,)
        Laps since the origin, unwrapped and rising.
    slack : (T,)
        By how much they may be wrong, laps.

    """
    bins = STEPS * BINS_A_STEP
    path = rough * bins
    width = int(np.ceil(2.0 * slack.max() * bins)) + 1
    for _ in range(rounds):
        template = mean_lap(seen, path, bins)
        low = np.floor((rough - slack.max()) * bins).astype(np.int64)
        found = find_path(seen, template, low, width).astype(np.float64)
        path = even_in_time(found, bins)
    return Aligned(mean_lap(seen, path, bins), path, 1.0)


def align_marks(series: Series, marks: Floats, slack: float = 0.1) -> Floats:
    """
    Return the phase of each tick, laps since the first mark: (T,).

    Parameters
    ----------
    series
        Of the drive.
    marks : (L + 1,)
        Ticks at which the line was crossed, fractional and increasing.
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
    usual = float(np.median(np.diff(marks)))
    middles, seen = series.averaged(usual / STEPS)
    numbers = np.arange(len(marks), dtype=np.float64)
    rough = extended(middles, marks, numbers, usual)
    aligned = align_steps(seen, rough, np.full(len(rough), slack))
    phases = aligned.phases
    # The line is where it was crossed.
    offset = np.median(np.interp(marks, middles, phases) - numbers)
    return extended(np.arange(len(series.stamps)) + 0.5, middles, phases - offset, usual)


def extended(at: Floats, known: Floats, phases: Floats, usual: float) -> Floats:
    """Interpolate phases, and extend them at the usual time of a lap."""
    inside = np.interp(at, known, phases)
    before, after = np.minimum(at - known[0], 0.0), np.maximum(at - known[-1], 0.0)
    rising: Floats = inside + (before + after) / usual
    return rising
