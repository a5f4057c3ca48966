# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Nearest neighbours of all windows of a long series among each other, nearly all of them.

The exact search takes four times as long for twice as many windows. This one compares sketches,
the leading principal components of windows, and of these few: windows are divided into lists by
the nearest of many centres, and only one window of ``STRIDE`` looks for others, in the lists
around its own. Windows a tick later are nearly the same pairs, so what it finds holds along the
diagonal for those beside it. Each pair found is compared exactly: distances have no error, only
a neighbour may be missing. How many are is measured on a sample.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import isqrt
import os
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided

from two_manifold_ros.compilation import subroutine, unlocked
from two_manifold_ros.ticks.neighbours import Found, keep, Neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats, Ints, Singles

LEAST = 500_000
"""
Windows from which on the search is approximate.

The exact one takes 22 s for 200,000 of 150 x 6 on two cores, and with the square of their number
2.5 minutes for so many. With a smaller number trainings that are quick anyway miss a few
neighbours; with a larger one they take longer, and memory for each thread.
"""

STRIDE = 10
"""
Consecutive windows for which the middle one looks.

Of 200,000 windows of 150 x 6 those found are as many with 5, which takes twice as long. It is to
be small beside the ticks of a window.
"""

SKETCH = 64
"""Principal components of a sketch. With half as many .4 % fewer neighbours are found."""

CANDIDATES = 30
"""
Pairs compared exactly for each neighbour that is asked for.

The more windows are alike, the more are needed: of 2,000,000 of 150 x 6, 98.6 % of the neighbours
are found with 10, 99.4 % with 20 and 99.7 % with 40. The comparison takes time in proportion.
"""

PROBED = 48
"""
Lists in which a window looks for others.

Of 2,000,000 windows with twice as many .06 % more neighbours are found, with four times as many
.15 %; the comparison of sketches takes time in proportion. Of 200,000, .2 % fewer with half.
"""

LEARNED = 8_000
"""Windows from which principal components are learned, several for each number of a window."""

PER_CENTRE, ROUNDS = 32, 6
"""
Sketches for each centre, and passes over them, by which centres are placed (k-means).

With fewer, lists are less even; with more, centres take longer, 20 s of 2,000,000 windows as it
is, and hardly move.
"""

TRIED = 300
"""
Windows of which the neighbours are found exactly as well, to measure what is missing.

The standard error of a share of .995 of 30 neighbours each is about .003; the comparison takes
the time of 300 products with all windows.
"""

ROWS = 4096
"""Windows that are laid out as rows at once, 30 MB of 150 x 6; it hardly changes the time."""

QUERIES = 64
"""
Windows that are compared with the same lists at once.

Distances take 25 MB where those lists hold 100,000; with more it is more memory for each thread.
"""


class Sketches(NamedTuple):
    """
    Sketches of all windows, list after list.

    Parameters
    ----------
    points : (n, SKETCH), norms : (n,)
        Sketches and their squared lengths.
    members : (n,)
        The windows that they are of.
    begins : (l + 1,)
        Where each list begins.
    nearest : (l, l)
        Lists from each on, nearest first.

    """

    points: Singles
    norms: Singles
    members: Ints
    begins: Ints
    nearest: Ints


class Queries(NamedTuple):
    """
    Runs of consecutive windows, of which the middle one looks for others.

    Parameters
    ----------
    first, size, middle : (q,)
        First window, number of windows, and the window that looks.
    begins : (l + 1,), order : (q,)
        Which of them look from each list.
    points : (q, SKETCH)
        Sketches of the middle ones.

    """

    first: Ints
    size: Ints
    middle: Ints
    begins: Ints
    order: Ints
    points: Singles


def near_windows(
    series: Floats, starts: Ints, width: int, count: int, threads: int | None = None
) -> Neighbours:
    """
    Return (n, count) nearest other windows of each, nearly all of them, and how many these are.

    See ``window_neighbours``; the same arguments give the same bytes, for any number of threads.
    """
    ticks = np.ascontiguousarray(series.T)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        sketches, queries = _arrange(ticks, starts, width, pool)
        found = _search(ticks, starts, width, count, sketches, queries, pool)
        del sketches, queries
        # Where hardly any window follows another one, a row can be left with too few.
        lacking = np.flatnonzero(np.isinf(found.squared[:, -1]))
        for begin in range(0, len(lacking), TRIED):
            some = lacking[begin : begin + TRIED]
            found.ticks[some], found.squared[some] = _exactly(
                ticks, starts, width, some, count, pool
            )
        rng = np.random.default_rng(1)
        some = np.sort(rng.choice(len(starts), min(TRIED, len(starts)), replace=False))
        farthest = _exactly(ticks, starts, width, some, count, pool)[1][:, -1:]
    share = float((found.squared[some] <= farthest + 1e-9 * (1.0 + farthest)).mean())
    note = (
        f'neighbours of {len(starts):,} windows by an approximate search that finds '
        f'{100.0 * share:.1f} % of them'
    )
    return Neighbours(found.ticks, found.squared, (note,))


def window_rows(ticks: NDArray[Any], width: int) -> NDArray[Any]:
    """Return a view (N - w + 1, w d) of all windows, tick after tick."""
    count, channels = ticks.shape
    step = ticks.itemsize
    shape = count - width + 1, width * channels
    return as_strided(ticks, shape, (channels * step, step), writeable=False)


def _arrange(
    ticks: Floats, starts: Ints, width: int, pool: ThreadPoolExecutor
) -> tuple[Sketches, Queries]:
    """Sketch all windows, divide them into lists, and choose those that look for others."""
    points = _sketch(ticks, starts, width, pool)
    centres = _place_centres(points)
    own = _assign(points, centres, pool)
    begins = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=len(centres)))])
    queries = _choose_queries(starts, points, own, len(centres))
    members = np.argsort(own, kind='stable')
    points = points[members]
    away = np.square(centres).sum(axis=1) - 2.0 * centres @ centres.T
    # Of two lists with the same centre one is empty.
    nearest = np.argsort(away, axis=1, kind='stable')
    return Sketches(points, np.square(points).sum(axis=1), members, begins, nearest), queries


def _sketch(ticks: Floats, starts: Ints, width: int, pool: ThreadPoolExecutor) -> Singles:
    """Return the leading principal components (n, SKETCH) of all windows."""
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(len(starts), min(LEARNED, len(starts)), replace=False))
    sample = window_rows(ticks, width)[starts[some]]
    mean = sample.mean(axis=0)
    sample -= mean
    leading = np.linalg.eigh(sample.T @ sample)[1][:, ::-1][:, :SKETCH]
    offset, directions = (mean @ leading).astype(np.float32), leading.astype(np.float32)
    rows = window_rows(ticks.astype(np.float32), width)
    points = np.empty((len(starts), directions.shape[1]), np.float32)

    def project(begin: int) -> None:
        part = slice(begin, begin + ROWS)
        points[part] = rows[starts[part]] @ directions - offset

    list(pool.map(project, range(0, len(starts), ROWS)))
    return points


def _place_centres(points: Singles) -> Singles:
    """Return about as many centres (l, SKETCH) as a list around each has sketches."""
    rng = np.random.default_rng(0)
    count = isqrt(len(points))
    sample = points[rng.choice(len(points), min(len(points), PER_CENTRE * count), replace=False)]
    centres: Singles = sample[:count].copy()
    for _ in range(ROUNDS):
        own = _assign(sample, centres, None)
        sizes = np.bincount(own, minlength=count)
        sums = np.stack([np.bincount(own, column, count) for column in sample.T], axis=1)
        held = sizes > 0
        centres[held] = sums[held] / sizes[held, None]
    return centres


def _assign(points: Singles, centres: Singles, pool: ThreadPoolExecutor | None) -> Ints:
    """Return the nearest centre (n,) of each sketch."""
    own = np.empty(len(points), np.int64)
    lengths = np.square(centres).sum(axis=1)

    def assign(begin: int) -> None:
        part = slice(begin, begin + ROWS)
        own[part] = np.argmin(lengths - 2.0 * points[part] @ centres.T, axis=1)

    list((pool.map if pool else map)(assign, range(0, len(points), ROWS)))
    return own


def _choose_queries(starts: Ints, points: Singles, own: Ints, lists: int) -> Queries:
    """Divide windows into runs of at most ``STRIDE`` that begin one tick apart."""
    every = np.arange(len(starts))
    joined = np.concatenate([[False], np.diff(starts) == 1])
    begun = np.maximum.accumulate(np.where(joined, 0, every))
    first = every[(every - begun) % STRIDE == 0]
    size = np.diff(np.append(first, len(starts)))
    middle = first + size // 2
    order = np.argsort(own[middle], kind='stable')
    begins = np.searchsorted(own[middle][order], np.arange(lists + 1))
    return Queries(first, size, middle, begins, order, points[middle])


def _search(
    ticks: Floats,
    starts: Ints,
    width: int,
    count: int,
    sketches: Sketches,
    queries: Queries,
    pool: ThreadPoolExecutor,
) -> Found:
    """Return the nearest windows among the candidates, by index and not by tick."""
    squared = np.full((len(starts), count), np.inf)
    found = Found(squared, np.zeros(squared.shape, np.int64), np.full(len(starts), np.inf))
    windows = np.full(len(ticks), -1)
    windows[starts] = np.arange(len(starts))
    sizes = np.diff(sketches.begins)
    wanted = CANDIDATES * count

    def look(own: int) -> None:
        chosen = queries.order[queries.begins[own] : queries.begins[own + 1]]
        if not len(chosen):
            return
        # Small lists all around are no reason to find too few.
        ranked = sketches.nearest[own]
        enough = int(np.searchsorted(np.cumsum(sizes[ranked]), 4 * wanted)) + 1
        picked = np.concatenate(
            [
                np.arange(sketches.begins[each], sketches.begins[each + 1])
                for each in ranked[: max(PROBED, enough)]
            ]
        )
        members, points = sketches.members[picked], sketches.points[picked].T
        norms, most = sketches.norms[picked], min(wanted, len(picked))
        for begin in range(0, len(chosen), QUERIES):
            some = chosen[begin : begin + QUERIES]
            away = norms - 2.0 * queries.points[some] @ points
            near = np.sort(members[np.argpartition(away, most - 1, axis=1)[:, :most]], axis=1)
            _compare(
                ticks.ravel(),
                ticks.shape[1],
                width,
                starts,
                windows,
                queries.first[some],
                queries.size[some],
                queries.middle[some],
                near,
                found,
            )

    list(pool.map(look, range(len(sizes))))
    return found


@unlocked
def _compare(
    flat: Floats,
    channels: int,
    width: int,
    starts: Ints,
    windows: Ints,
    first: Ints,
    size: Ints,
    middle: Ints,
    near: Ints,
    found: Found,
) -> None:
    """
    Compare runs of windows with those as far from their candidates as they are from the middle.

    ``flat`` (N d,) is the series tick after tick, ``windows`` (N,) the window that begins at each
    tick, or -1; ``near`` (q, m) are candidates of the middle ones.
    """
    last = len(flat) // channels - width
    for q in range(len(first)):
        own = starts[first[q]]
        for candidate in near[q]:
            other = starts[candidate] - (middle[q] - first[q])
            begin, end = max(0, -other), min(size[q], last - other + 1)
            if candidate == middle[q] or begin >= end:
                continue
            squared = _apart(flat, own + begin, other + begin, width, channels)
            for m in range(begin, end):
                if m > begin:
                    squared += _apart(
                        flat, own + m + width - 1, other + m + width - 1, 1, channels
                    )
                    squared -= _apart(flat, own + m - 1, other + m - 1, 1, channels)
                window = windows[other + m]
                if window >= 0:
                    keep(found, first[q] + m, max(squared, 0.0), window)


@subroutine
def _apart(flat: Floats, own: int, other: int, width: int, channels: int) -> float:
    """Return the squared distance of two pieces of the series, of ``width`` ticks each."""
    left = flat[own * channels : (own + width) * channels]
    right = flat[other * channels : (other + width) * channels]
    squared = 0.0
    for k in range(len(left)):
        difference = left[k] - right[k]
        squared += difference * difference
    return squared


def _exactly(
    ticks: Floats, starts: Ints, width: int, some: Ints, count: int, pool: ThreadPoolExecutor
) -> tuple[Ints, Floats]:
    """Return the nearest others of some windows and their squared distances, of all windows."""
    rows = window_rows(ticks, width)
    own = rows[starts[some]]

    def look(begin: int) -> tuple[Ints, Floats]:
        others = rows[starts[begin : begin + ROWS]]
        away = np.square(others).sum(axis=1) - 2.0 * own @ others.T
        inside = np.flatnonzero((some >= begin) & (some < begin + len(others)))
        away[inside, some[inside] - begin] = np.inf
        near = np.argpartition(away, min(count, len(others)) - 1, axis=1)[:, :count]
        return near + begin, np.take_along_axis(away, near, axis=1)

    parts = list(pool.map(look, range(0, len(starts), ROWS)))
    indices = np.concatenate([each for each, _ in parts], axis=1)
    away = np.concatenate([each for _, each in parts], axis=1)
    near = np.argpartition(away, count - 1, axis=1)[:, :count]
    indices = np.take_along_axis(indices, near, axis=1)
    squared = np.stack(
        [
            np.square(rows[starts[each]] - window).sum(axis=1)
            for each, window in zip(indices, own, strict=True)
        ]
    )
    order = np.lexsort((indices, squared), axis=1)
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(squared, order, axis=1)
