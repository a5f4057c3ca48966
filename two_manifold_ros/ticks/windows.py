# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Windows of ticks, none of which crosses a seam of the series, and their nearest neighbours.

Two windows that begin ``k`` ticks apart differ from the next two as far apart by one tick that
enters and one that leaves:

    D(i, i + k) = D(i - 1, i - 1 + k) + ||x_{i+w-1} - x_{i+k+w-1}||^2 - ||x_{i-1} - x_{i+k-1}||^2,

mathematics (8.3). So distances are carried along diagonals, a band of them at once, which stays in
the cache of the processor. Each pair is visited once, for both of its windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import itertools
import os
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from two_manifold_ros.compilation import subroutine, unlocked
from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class WindowSet:
    """Windows of ``width`` ticks of a contiguous series (d, N), at increasing ``starts`` (n,)."""

    series: Floats
    starts: Ints
    width: int

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.starts)

    def rows(self, indices: Ints) -> Floats:
        """Return some windows as flat rows, tick after tick: (len(indices), w d)."""
        view = sliding_window_view(self.series, self.width, axis=1)
        picked = view[:, self.starts[indices]]
        return np.ascontiguousarray(picked.transpose(1, 2, 0)).reshape(
            len(indices), self.width * len(self.series)
        )

    def distances_to(self, others: Ints) -> Floats:
        """Return squared distances of all windows to some: (n, len(others))."""
        return self.distances_from(self.rows(others))

    def distances_from(self, right: Floats) -> Floats:
        """Return squared distances of all windows to (m, w d) rows: (n, m)."""
        result = np.empty((len(self), len(right)))
        right_norms = np.square(right).sum(axis=1)
        for begin in range(0, len(self), 1024):
            left = self.rows(np.arange(begin, min(begin + 1024, len(self))))
            block = np.square(left).sum(axis=1)[:, None] + right_norms - 2.0 * left @ right.T
            result[begin : begin + len(left)] = np.maximum(block, 0.0)
        return result

    def pair_distances(self, pairs: int, seed: int = 0) -> Floats:
        """Return the squared distances of randomly drawn pairs of different windows."""
        rng = np.random.default_rng(seed)
        first = rng.integers(0, len(self), pairs)
        second = (first + rng.integers(1, len(self), pairs)) % len(self)
        first, second = self.starts[first], self.starts[second]
        # Tick after tick a window is one piece of memory, which is copied ten times as fast.
        ticks = np.ascontiguousarray(self.series.T)
        shape = len(ticks) - self.width + 1, self.width * ticks.shape[1]
        windows = as_strided(ticks, shape, ticks.strides, writeable=False)
        result = np.empty(pairs)
        for begin in range(0, pairs, 1024):
            part = slice(begin, begin + 1024)
            apart = windows[first[part]] - windows[second[part]]
            result[part] = np.square(apart, out=apart).sum(axis=1)
        return result

    def neighbours(self, count: int, threads: int | None = None) -> tuple[Ints, Floats]:
        """Return indices and squared distances (n, count) of the nearest others, nearest first."""
        # Of equal ones the first come first, however many threads there are.
        series, starts, width = self.series, self.starts, self.width
        count = min(count, len(self) - 1)
        if count < 1:
            return np.empty((len(starts), 0), np.int64), np.empty((len(starts), 0))
        first, final = int(starts[0]), int(starts[-1])
        bands = range(1, final - first + 1, BAND)
        threads = max(min(threads or os.cpu_count() or 1, len(bands)), 1)

        def search(number: int) -> Found:
            squared = np.full((series.shape[1] - width + 1, count), np.inf)
            found = Found(squared, np.zeros(squared.shape, np.int64), np.full(len(squared), -1.0))
            found.farthest[starts] = np.inf
            apart = np.empty(BAND)
            # The first bands are the longest: each thread has as many long ones.
            for band in bands[number::threads]:
                _follow_band(series, width, band, first, final, apart, found)
            return found

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(search, range(threads)))
        squared = np.concatenate([each.squared[starts] for each in parts], axis=1)
        ticks = np.concatenate([each.ticks[starts] for each in parts], axis=1)
        del parts
        if threads > 1:
            order = np.lexsort((ticks, squared), axis=1)[:, :count]
            squared = np.take_along_axis(squared, order, axis=1)
            ticks = np.take_along_axis(ticks, order, axis=1)
        return np.searchsorted(starts, ticks), squared


def lay_end_to_end(segments: Sequence[Floats]) -> tuple[Floats, Ints]:
    """Join (T, d) segments into a contiguous series (d, N); where each starts, and N: (s + 1,)."""
    begins = np.concatenate([[0], np.cumsum([len(segment) for segment in segments])])
    return np.ascontiguousarray(np.concatenate(segments).T), begins.astype(np.int64)


@dataclass(frozen=True)
class TrainingTicks:
    """
    Training ticks (n,) and their windows.

    Tick t has its past window t-w..t-1, its future window t..t+w-1 and the shifted one t+1..t+w
    all inside its segment. ``futures`` has the last one's successor in each segment, too; ``own``
    and ``shifted`` (n,) are indices in it.
    """

    ticks: Ints
    pasts: WindowSet
    futures: WindowSet
    own: Ints
    shifted: Ints


def find_training_ticks(series: Floats, begins: Ints, width: int) -> TrainingTicks:
    """Collect the training ticks, with windows of ``width``, from ``lay_end_to_end``."""
    inner = [(begin + width, end - width) for begin, end in itertools.pairwise(begins.tolist())]
    inner = [(first, end) for first, end in inner if first < end]
    none = [np.empty(0, dtype=np.int64)]
    ticks = np.concatenate(none + [np.arange(*each, dtype=np.int64) for each in inner])
    futures = np.concatenate(none + [np.arange(a, b + 1, dtype=np.int64) for a, b in inner])
    own = np.searchsorted(futures, ticks)
    return TrainingTicks(
        ticks,
        WindowSet(series, ticks - width, width),
        WindowSet(series, futures, width),
        own,
        own + 1,
    )


BAND = 1024
"""Diagonals of a band, 8 kB of distances, which stay in the cache."""


class Found(NamedTuple):
    """
    Nearest windows found so far of each tick at which a window begins.

    Distances (N, k), ascending, infinite where none is found yet; the ``ticks`` (N, k) at which
    they begin; and the last of the distances (N,), -1 where no window begins.
    """

    squared: Floats
    ticks: Ints
    farthest: Floats


@unlocked
def _follow_band(
    series: Floats, width: int, band: int, first: int, last: int, apart: Floats, found: Found
) -> None:
    """Visit all pairs of windows from ``band`` to ``band`` + ``BAND`` ticks apart."""
    size = min(len(apart), last - first - band + 1)
    _begin(series, width, first, band, apart[:size])
    for i in range(first, last - band + 1):
        size = min(size, last - i - band + 1)
        if i > first:
            _move_on(series, width, i, band, apart[:size])
        if found.farthest[i] >= 0.0:
            _look(i, i + band, apart[:size], found)


@subroutine
def _begin(series: Floats, width: int, i: int, band: int, apart: Floats) -> None:
    """Fill the squared distances (size,) of the window at ``i`` to those from ``band`` on."""
    size = len(apart)
    for k in range(size):
        apart[k] = 0.0
    for c in range(series.shape[0]):
        for tick in range(i, i + width):
            own = series[c, tick]
            others = series[c, band + tick : band + tick + size]
            for k in range(size):
                difference = own - others[k]
                apart[k] += difference * difference


@subroutine
def _move_on(series: Floats, width: int, i: int, band: int, apart: Floats) -> None:
    """Carry the distances (size,) on from the windows that began a tick before ``i``."""
    size = len(apart)
    for c in range(series.shape[0]):
        newest, oldest = series[c, i + width - 1], series[c, i - 1]
        # Slices: numba's check for a negative index would cost three times as much.
        entered = series[c, i + band + width - 1 : i + band + width - 1 + size]
        left = series[c, i + band - 1 : i + band - 1 + size]
        for k in range(size):
            gained = newest - entered[k]
            lost = oldest - left[k]
            apart[k] += gained * gained - lost * lost


@subroutine
def _look(i: int, begin: int, apart: Floats, found: Found) -> None:
    """Keep the pairs of the window at ``i`` with those from ``begin`` on that are near."""
    own, others = found.farthest[i], found.farthest[begin : begin + len(apart)]
    # Hardly any is, and that is known of all of them at once.
    near = 0
    for k in range(len(apart)):
        near += apart[k] <= max(others[k], own)
    if not near:
        return
    for k in range(len(apart)):
        if others[k] >= 0.0 and apart[k] <= max(others[k], found.farthest[i]):
            squared = max(apart[k], 0.0)
            keep(found, i, squared, begin + k)
            keep(found, begin + k, squared, i)


@subroutine
def keep(found: Found, own: int, apart: float, tick: int) -> None:
    """Insert a window among the nearest ones of another one, unless all of them are nearer."""
    squared, ticks = found.squared[own], found.ticks[own]
    place = len(squared) - 1
    if apart > squared[place] or (apart == squared[place] and tick > ticks[place]):
        return
    while place > 0 and (
        apart < squared[place - 1] or (apart == squared[place - 1] and tick < ticks[place - 1])
    ):
        squared[place] = squared[place - 1]
        ticks[place] = ticks[place - 1]
        place -= 1
    squared[place] = apart
    ticks[place] = tick
    found.farthest[own] = squared[len(squared) - 1]
