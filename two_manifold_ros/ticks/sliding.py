# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The live window and its squared distances to all training windows.

The series is the training segments laid end to end, channel by channel. Windows that cross a
seam get distances like all others; whoever reads the distances passes over them. That keeps the
recursion free of special cases:

    D_t(j) = D_{t-1}(j - 1) + ||x_t - y_{j+w-1}||^2 - ||x_{t-w} - y_{j-1}||^2,   j >= 1,

with D_t(0) computed directly. Rounding cannot build up for ever, since every diagonal is born at
j = 0 and dies after as many steps as there are windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


@compiled
def _slide_loops(
    distances: Floats, series: Floats, stream: Floats, position: int, width: int
) -> None:
    last = distances.size - 1
    for j in range(last, 0, -1):
        distances[j] = distances[j - 1]
    moved = distances[1:]
    first = 0.0
    for c in range(series.shape[0]):
        newest = stream[c, position + width - 1]
        oldest = stream[c, position - 1]
        # Slices, because an index such as j - 1 might be negative for all that numba knows, and
        # the check for that keeps the loop from being vectorised: three times slower.
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


def _slide_arrays(
    distances: Floats, series: Floats, stream: Floats, position: int, width: int
) -> None:
    last = len(distances) - 1
    window = stream[:, position : position + width]
    gained = window[:, -1:] - series[:, width : width + last]
    lost = stream[:, position - 1, None] - series[:, :last]
    distances[1:] = distances[:-1] + (gained * gained - lost * lost).sum(axis=0)
    np.maximum(distances, 0.0, out=distances)
    distances[0] = np.square(window - series[:, :width]).sum()


slide = _slide_loops if HAVE_NUMBA else _slide_arrays
"""
Move the window on by one tick and update its distances in place.

Parameters
----------
distances : (N - w + 1,)
    Squared distances of the window one tick ago; updated.
series : (d, N)
    Training series, one row a channel.
stream : (d, L)
    The observations that the window slides over.
position
    First tick of the window in the stream, at least 1.
width
    Ticks in the window, w.

"""


def direct_distances(series: Floats, window: Floats) -> Floats:
    """
    Compute the squared distances of one window to every window of a series without recursion.

    Parameters
    ----------
    series : (d, N)
    window : (d, w)

    Returns
    -------
    (N - w + 1,)

    """
    width = window.shape[1]
    count = series.shape[1] - width + 1
    total = np.zeros(count)
    for i in range(width):
        total += np.square(series[:, i : i + count] - window[:, i : i + 1]).sum(axis=0)
    return total


def nearest(distances: Floats, count: int) -> Ints:
    """Return the indices of the smallest entries of (n,) distances, smallest first."""
    if count < len(distances):
        candidates = np.argpartition(distances, count - 1)[:count]
    else:
        candidates = np.arange(len(distances))
    order = np.lexsort((candidates, distances[candidates]))
    return candidates[order].astype(np.int64)


SLACK = 256
"""Ticks between two moves of the buffer's content to its front."""


@compiled
def _nearest_and_mean_loops(distances: Floats, starts: Ints) -> tuple[float, float]:
    smallest = np.inf
    total = 0.0
    for i in range(starts.size):
        distance = distances[starts[i]]
        smallest = min(smallest, distance)
        total += distance
    return smallest, total / starts.size


def _nearest_and_mean_arrays(distances: Floats, starts: Ints) -> tuple[float, float]:
    picked = distances[starts]
    return float(picked.min()), float(picked.mean())


_nearest_and_mean = _nearest_and_mean_loops if HAVE_NUMBA else _nearest_and_mean_arrays


class SlidingWindow:
    """
    The newest observations, compared with the training windows at O(N d) a tick.

    Parameters
    ----------
    series : (d, N)
        Training series, contiguous.
    starts : (n,) int64
        First tick of each training window.
    width
        Ticks in a window.

    """

    def __init__(self, series: Floats, starts: Ints, width: int) -> None:
        self._series = series
        self._starts = starts
        self._width = width
        self._stream = np.zeros((len(series), width + SLACK))
        self._distances = np.zeros(series.shape[1] - width + 1)
        self.count = 0
        self._end = 0

    @property
    def full(self) -> bool:
        """Whether a whole window was seen."""
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
        return _nearest_and_mean(self._distances, self._starts)

    def distances(self) -> Floats:
        """Return the squared distances to all training windows: (n,)."""
        picked: Floats = self._distances[self._starts]
        return picked
