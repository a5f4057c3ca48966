# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Detect rest: the newest ticks hardly differ, or do not differ at all.

A level would not do: what an IMU reads at rest changes with its bias, its mounting and the slope,
while what wheels and road shake is gone wherever the vehicle stands.

A driver that repeats its last message looks like a parked vehicle, and so familiar where training
has one. But a sensor that works is never still to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class RestRule:
    """
    What rest looks like.

    Parameters
    ----------
    ticks
        How many of the newest ticks are compared.
    limit
        Spread of them below which the vehicle is at rest, in standard deviations of the channels.

    """

    ticks: int
    limit: float


@compiled
def _spread_of(rows: Floats) -> float:
    total = 0.0
    for channel in range(rows.shape[1]):
        mean = 0.0
        for tick in range(rows.shape[0]):
            mean += rows[tick, channel]
        mean /= rows.shape[0]
        for tick in range(rows.shape[0]):
            apart = rows[tick, channel] - mean
            total += apart * apart
    return math.sqrt(total / rows.size)


class Spread:
    """
    The spread of the newest ticks, the same along a stream and over a whole recording.

    Parameters
    ----------
    ticks
        That are compared.
    channels
        Numbers in an observation, d.

    """

    def __init__(self, ticks: int, channels: int) -> None:
        self._rows = np.zeros((ticks, channels))
        self._count = 0

    def clear(self) -> None:
        """Forget everything."""
        self._count = 0

    def push(self, observation: Floats) -> float:
        """Take one (d,) observation; return the spread, infinite until enough were seen."""
        self._rows[self._count % len(self._rows)] = observation
        self._count += 1
        return _spread_of(self._rows) if self._count >= len(self._rows) else math.inf


def spreads_along(observations: Floats, ticks: int) -> Floats:
    """Return the spread of each tick of (T, d) observations and those before it: (T,)."""
    spread = Spread(ticks, observations.shape[1])
    return np.array([spread.push(each) for each in observations])


class Rest:
    """
    Say tick by tick whether the vehicle is at rest.

    Parameters
    ----------
    rule
        What rest looks like.
    channels
        Numbers in an observation, d.

    """

    def __init__(self, rule: RestRule, channels: int) -> None:
        self._limit = rule.limit
        self._spread = Spread(rule.ticks, channels)

    def clear(self) -> None:
        """Forget everything."""
        self._spread.clear()

    def push(self, observation: Floats) -> bool:
        """Take one (d,) standardised observation; return whether the vehicle is at rest."""
        return self._spread.push(observation) < self._limit


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
