# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
For how long the observations have not changed at all.

A driver that repeats its last message looks like a parked vehicle, and so familiar where training
has one. But a sensor that works is never still to the last digit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

ROUNDING = 1e-9
"""In standard deviations: equal samples have means over ticks that differ by rounding only."""


@compiled
def _alike_loops(first: Floats, second: Floats) -> bool:
    largest = 0.0
    for i in range(first.size):
        largest = max(largest, abs(first[i] - second[i]))
    return largest <= ROUNDING


def _alike_arrays(first: Floats, second: Floats) -> bool:
    return bool((np.abs(first - second) <= ROUNDING).all())


alike = _alike_loops if HAVE_NUMBA else _alike_arrays
"""Return whether two observations (d,) are the same."""


class Stillness:
    """
    Count the observations in a row that are the same as the one before.

    Parameters
    ----------
    channels
        Numbers in an observation.

    """

    def __init__(self, channels: int) -> None:
        self._last = np.full(channels, np.inf)
        self._count = 0

    def clear(self) -> None:
        """Forget everything."""
        self._last[:] = np.inf
        self._count = 0

    def push(self, observation: Floats) -> int:
        """Take one (d,) observation; return how many in a row have changed nothing."""
        self._count = self._count + 1 if alike(observation, self._last) else 0
        self._last[:] = observation
        return self._count


def longest_stillness(series: Floats) -> int:
    """Return the most ticks in a row that changed nothing in a (d, N) series."""
    stillness = Stillness(len(series))
    return max(stillness.push(observation) for observation in np.ascontiguousarray(series.T))


def longest_runs(series: Floats) -> Ints:
    """Return the most ticks in a row that did not change each channel of a (d, N) series: (d,)."""
    same = np.abs(np.diff(series, axis=1)) <= ROUNDING
    edges = np.diff(np.pad(same.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    runs = np.zeros(len(series), dtype=np.int64)
    for channel, row in enumerate(edges):
        ends = np.flatnonzero(row)
        runs[channel] = (ends[1::2] - ends[::2]).max(initial=0)
    return runs
