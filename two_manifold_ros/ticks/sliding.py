# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The live window and its squared distances to all training windows.

The series is the training segments end to end, channel by channel. Windows that cross a seam get
distances like all others, which readers skip; that keeps the recursion free of special cases:

    D_t(j) = D_{t-1}(j - 1) + ||x_t - y_{j+w-1}||^2 - ||x_{t-w} - y_{j-1}||^2,   j >= 1,

with D_t(0) computed directly. Rounding cannot build up for ever, since every diagonal is born at
j = 0 and dies after as many steps as there are windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.ticks.windows import move_on

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


@compiled
def slide(distances: Floats, series: Floats, stream: Floats, position: int, width: int) -> None:
    """
    Move the window on by one tick and update its (N - w + 1,) squared distances in place.

    The window of ``width`` w starts at ``position``, at least 1, of the ``stream`` (d, L).
    """
    last = distances.size - 1
    for j in range(last, 0, -1):
        distances[j] = distances[j - 1]
    moved = distances[1:]
    move_on(moved, stream, position, series, 1, width)
    first = 0.0
    for c in range(series.shape[0]):
        now = stream[c, position : position + width]
        begin = series[c, :width]
        for i in range(width):
            difference = now[i] - begin[i]
            first += difference * difference
    for j in range(last):
        moved[j] = max(moved[j], 0.0)
    distances[0] = first


def direct_distances(series: Floats, window: Floats) -> Floats:
    """Return the (N - w + 1,) squared distances of a (d, w) window to all of a (d, N) series."""
    width = window.shape[1]
    count = series.shape[1] - width + 1
    total = np.zeros(count)
    for i in range(width):
        total += np.square(series[:, i : i + count] - window[:, i : i + 1]).sum(axis=0)
    return total


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
    """
    The newest observations, compared with the training windows at O(N d) a tick.

    ``starts`` (n,) are the first ticks of the training windows in a contiguous ``series`` (d, N),
    and ``slack`` the ticks between two moves of the buffer's content to its front.
    """

    def __init__(self, series: Floats, starts: Ints, width: int, slack: int = 256) -> None:
        self._series = series
        self._starts = starts
        self._width = width
        self._stream = np.zeros((len(series), width + slack))
        self._distances = np.zeros(series.shape[1] - width + 1)
        self.count = 0
        self._end = 0

    @property
    def full(self) -> bool:
        """True if a whole window has been seen."""
        return self.count >= self._width

    def clear(self) -> None:
        """Forget everything, as after a gap."""
        self.count = 0
        self._end = 0

    def push(self, observation: Floats) -> None:
        """Append one (d,) observation."""
        width = self._width
        if self._end == self._stream.shape[1]:
            self._stream[:, :width] = self._stream[:, self._end - width :]
            self._end = width
        self._stream[:, self._end] = observation
        self._end += 1
        self.count += 1
        if self.count > width:
            slide(self._distances, self._series, self._stream, self._end - width, width)
        elif self.count == width:
            self._distances[:] = direct_distances(self._series, self._stream[:, :width])

    def nearest_and_mean(self) -> tuple[float, float]:
        """Return the smallest and the mean squared distance to the training windows, or NaN."""
        if not self.full:
            return float('nan'), float('nan')
        return nearest_and_mean(self._distances, self._starts)

    def distances(self) -> Floats:
        """Return the squared distances to all training windows: (n,)."""
        picked: Floats = self._distances[self._starts]
        return picked
