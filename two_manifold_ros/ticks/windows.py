# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Windows of ticks, none of which crosses a seam of the series."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from two_manifold_ros.ticks.neighbours import window_neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def neighbours(self, count: int) -> tuple[Ints, Floats]:
        """Return the nearest others, see Samples."""
        return window_neighbours(self.series, self.starts, self.width, min(count, len(self) - 1))


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
    ranges = [
        np.arange(begin + width, end - width, dtype=np.int64)
        for begin, end in itertools.pairwise(begins.tolist())
    ]
    ranges = [ticks for ticks in ranges if len(ticks)]
    if not ranges:
        none = np.empty(0, dtype=np.int64)
        empty = WindowSet(series, none, width)
        return TrainingTicks(none, empty, empty, none, none)
    ticks = np.concatenate(ranges)
    futures = np.concatenate([np.append(part, part[-1] + 1) for part in ranges])
    own = np.searchsorted(futures, ticks)
    return TrainingTicks(
        ticks,
        WindowSet(series, ticks - width, width),
        WindowSet(series, futures, width),
        own,
        own + 1,
    )
