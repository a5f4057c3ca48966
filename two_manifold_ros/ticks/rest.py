# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Detect rest and stuck samples: the newest ticks hardly differ, or do not differ at all.

A driver that repeats its last message looks like a parked vehicle; but a working sensor is never
still to the last digit.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled, shared
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints


class RestRule(NamedTuple):
    """At rest are ``ticks`` ticks of a spread below ``limit`` standard deviations of channels."""

    ticks: int
    limit: float


@compiled
def _push(rows: Floats, observation: Floats, count: int) -> tuple[float, bool]:
    """Put a (d,) observation into a ring, ``count`` after the first; see `Rest.push`."""
    same = count > 0 and alike(observation, rows[(count - 1) % len(rows)])
    total = 0.0
    for channel in range(rows.shape[1]):
        rows[count % len(rows), channel] = observation[channel]
        mean = 0.0
        for tick in range(rows.shape[0]):
            mean += rows[tick, channel]
        mean /= rows.shape[0]
        for tick in range(rows.shape[0]):
            apart = rows[tick, channel] - mean
            total += apart * apart
    return (math.sqrt(total / rows.size) if count + 1 >= len(rows) else math.inf), same


class Rest:
    """Spread of the newest ``ticks`` of a stream, infinite at first, and how many are stuck."""

    def __init__(self, ticks: int, channels: int) -> None:
        self._rows = np.zeros((ticks, channels))
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._count = self._stuck = 0

    def push(self, observation: Floats) -> tuple[float, int]:
        """Return the spread with one more (d,) observation, and how many before are the same."""
        # As a row of another array it would be compiled for once more.
        spread, same = _push(self._rows, np.ascontiguousarray(observation), self._count)
        self._stuck = self._stuck + 1 if same else 0
        self._count += 1
        return spread, self._stuck


def spreads_along(observations: Floats, ticks: int) -> Floats:
    """Return the spread of each tick of (T, d) observations and those before it: (T,)."""
    rest = Rest(ticks, observations.shape[1])
    return np.array([rest.push(each)[0] for each in observations])


ROUNDING = 1e-9
"""In standard deviations: equal samples have means over ticks that differ by rounding only."""


@shared
def alike(first: Floats, second: Floats) -> bool:
    """Return whether two (d,) observations are the same."""
    for i in range(first.size):  # noqa: SIM110 - numba compiles no generator
        if not abs(first[i] - second[i]) <= ROUNDING:
            return False
    return True


def unchanged(series: Floats) -> Bools:
    """Return which channels of a (d, N) series do not change at a tick: (d, N - 1)."""
    return np.asarray(np.abs(np.diff(series, axis=1)) <= ROUNDING)


def longest_stuck(series: Floats) -> int:
    """Return the most ticks in a row that changed nothing in a (d, N) series."""
    stretches = stretches_of(np.asarray(unchanged(series).all(axis=0)))
    return max((end - begin for begin, end in stretches), default=0)


def longest_runs(series: Floats) -> Ints:
    """Return the most ticks in a row that did not change each channel of a (d, N) series: (d,)."""
    return np.array([longest_stuck(each[None]) for each in series], dtype=np.int64)
