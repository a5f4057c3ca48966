# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The newest rows of a stream, their distances to the windows of training, and their novelty."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.names import NOVEL
from two_manifold_ros.typing import Floats, Ints


class NewestRows:
    """The newest ``most`` rows (c,), ``twice`` in a ring: in one piece, in order up to ``end``."""

    def __init__(self, most: int, channels: int) -> None:
        self.twice, self._most = np.zeros((channels, 2 * most)), most
        self.count, self.end = 0, most

    def push(self, row: Floats) -> None:
        """Append one row."""
        place = self.count % self._most
        self.twice[:, place] = self.twice[:, place + self._most] = row
        self.count += 1
        self.end = self.count % self._most + self._most

    def newest(self, rows: int) -> Floats:
        """Return so many rows (rows, c), the newest one last."""
        return np.ascontiguousarray(self.twice[:, self.end - rows : self.end].T)


@compiled
def slide(distances: Floats, series: Floats, stream: Floats, position: int, width: int) -> None:
    """Move a window of ``width`` on to ``position`` of a stream, and its distances in place."""
    last = distances.size - 1
    for j in range(last, 0, -1):
        distances[j] = distances[j - 1]
    moved = distances[1:]
    first = 0.0
    for c in range(series.shape[0]):
        newest = stream[c, position + width - 1]
        oldest = stream[c, position - 1]
        # Slices: numba's check for a negative index such as j - 1 would cost three times as much.
        entered = series[c, width : width + last]
        left = series[c, :last]
        for j in range(last):
            gained = newest - entered[j]
            lost = oldest - left[j]
            moved[j] += gained * gained - lost * lost
        now = stream[c, position : position + width]
        begin = series[c, :width]
        for i in range(width):
            difference = now[i] - begin[i]
            first += difference * difference
    for j in range(last):
        moved[j] = max(moved[j], 0.0)
    distances[0] = first


@compiled
def nearest_and_mean(distances: Floats, starts: Ints) -> tuple[float, float]:
    """Return the smallest and the mean of some distances."""
    smallest = np.inf
    total = 0.0
    for i in range(starts.size):
        distance = distances[starts[i]]
        smallest = min(smallest, distance)
        total += distance
    return smallest, total / starts.size


class SlidingWindow:
    """The newest observations, at O(N d) a tick beside windows of a series by their ``starts``."""

    def __init__(self, series: Floats, starts: Ints, width: int) -> None:
        self._series, self._starts, self._width = series, starts, width
        self._recent = NewestRows(width + 1, len(series))
        self._distances = np.zeros(series.shape[1] - width + 1)

    @property
    def count(self) -> int:
        """Observations since the last gap."""
        return self._recent.count

    @property
    def full(self) -> bool:
        """True if a whole window has been seen."""
        return self.count >= self._width

    def clear(self) -> None:
        """Forget everything, as after a gap."""
        self._recent.count = 0

    def push(self, observation: Floats) -> None:
        """Append one (d,) observation."""
        recent, series, width = self._recent, self._series, self._width
        recent.push(observation)
        if recent.count > width:
            slide(self._distances, series, recent.twice, recent.end - width, width)
        elif recent.count == width:
            self._distances[:] = 0.0
            for i, seen in enumerate(recent.newest(width)):
                ticks = series[:, i : i + len(self._distances)]
                self._distances += np.square(ticks - seen[:, None]).sum(axis=0)

    def nearest_and_mean(self) -> tuple[float, float]:
        """Return the smallest and the mean squared distance to the training windows, or NaN."""
        if not self.full:
            return float('nan'), float('nan')
        return nearest_and_mean(self._distances, self._starts)

    def distances(self) -> Floats:
        """Return the squared distances to all training windows: (n,)."""
        picked: Floats = self._distances[self._starts]
        return picked


SMALLEST_RATIO = 1e-4
"""Of two distances: a window that is there twice would have a contrast of minus infinity."""


@dataclass(frozen=True)
class NoveltyAnchors:
    """
    Typical values of training, with which the newest windows are compared.

    Of an unseen window: ``squared`` distance to the nearest training window, and contrast on the
    ``own`` route and on an ``other`` one with the same bends. ``still`` are the most ticks in a
    row in which no channel changed at all.
    """

    squared: float
    own: float
    other: float
    still: int


def contrast_gap(own: float, other: float) -> float:
    """Return the difference of two contrasts, at least 0.2: below, training hardly sees any."""
    return max(other - own, 0.2)


def contrast(nearest: float, mean: float) -> float:
    """Return the contrast of a window from its squared distances, at most 0."""
    # Not above 0 where all training windows are the same and both distances are.
    return math.log(max(nearest / mean, SMALLEST_RATIO)) if mean > 0.0 else 0.0


class NoveltyScore:
    """
    Novelty along a stream: 1 is typical for the trained route, 2 for another one.

    The contrast is averaged over ``width`` ticks. A window ``far`` times the typical squared
    distance away is refused whatever its contrast, as in other units, without gravity or stuck.
    """

    far = 10.0

    def __init__(self, anchors: NoveltyAnchors, width: int) -> None:
        self._anchors = anchors
        self._most_still = anchors.still + width
        self._recent = np.zeros(width)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._recent[:] = 0.0
        self._sum = 0.0
        self._count = 0

    def push(self, nearest: float, mean: float, still: int) -> float:
        """Return the novelty with the newest distances, NaN as they are, and ticks of rest."""
        if math.isnan(nearest):
            return math.nan
        anchors, recent, newest = self._anchors, self._recent, contrast(nearest, mean)
        place = self._count % len(recent)
        self._sum += newest - float(recent[place])
        recent[place] = newest
        self._count += 1
        if self._count % len(recent) == 0:
            # So that rounding cannot build up for ever.
            self._sum = float(recent.sum())
        average = self._sum / min(self._count, len(recent))
        above = (average - anchors.own) / contrast_gap(anchors.own, anchors.other)
        return max(
            math.pow(2.0, above),
            NOVEL * nearest / (self.far * anchors.squared),
            self.frozen(still),
        )

    def frozen(self, still: int) -> float:
        """Return the novelty of so many ticks in a row in which no channel changed."""
        return NOVEL * still / self._most_still
