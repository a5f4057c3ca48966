# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The live window and its distances to all training windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.windows.distances import direct_distances, slide

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

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
