# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Detect rest and stuck samples: the newest ticks hardly differ, or do not differ at all.

A level would not do: what an IMU reads at rest changes with its bias, its mounting and the slope.
A driver that repeats its last message looks like a parked vehicle; but a working sensor is never
still to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled, shared
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints


@dataclass(frozen=True)
class RestRule:
    """At rest are ``ticks`` ticks of a spread below ``limit`` standard deviations of channels."""

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


class Rest:
    """Detect tick by tick whether the vehicle is at rest, by the spread of the newest ticks."""

    def __init__(self, rule: RestRule, channels: int) -> None:
        self._limit = rule.limit
        self._rows = np.zeros((rule.ticks, channels))
        self._count = 0

    def clear(self) -> None:
        """Forget everything."""
        self._count = 0

    def spread(self, observation: Floats) -> float:
        """Take one (d,) observation; return the spread, infinite until enough were seen."""
        self._rows[self._count % len(self._rows)] = observation
        self._count += 1
        return _spread_of(self._rows) if self._count >= len(self._rows) else math.inf

    def push(self, observation: Floats) -> bool:
        """Take one (d,) standardised observation; return whether the vehicle is at rest."""
        return self.spread(observation) < self._limit


def spreads_along(observations: Floats, ticks: int) -> Floats:
    """Return the spread of each tick of (T, d) observations and those before it: (T,)."""
    rest = Rest(RestRule(ticks, math.inf), observations.shape[1])
    return np.array([rest.spread(each) for each in observations])


ROUNDING = 1e-9
"""In standard deviations: equal samples have means over ticks that differ by rounding only."""


@shared
def alike(first: Floats, second: Floats) -> bool:
    """Return whether two (d,) observations are the same."""
    for i in range(first.size):  # noqa: SIM110 - numba compiles no generator
        if not abs(first[i] - second[i]) <= ROUNDING:
            return False
    return True


class StuckTicks:
    """Count the (d,) observations in a row that are the same as the one before."""

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


def unchanged(series: Floats) -> Bools:
    """Return which channels of a (d, N) series do not change at a tick: (d, N - 1)."""
    return np.asarray(np.abs(np.diff(series, axis=1)) <= ROUNDING)


def longest_stuck(series: Floats) -> int:
    """Return the most ticks in a row that changed nothing in a (d, N) series."""
    return int(_longest(np.asarray(unchanged(series).all(axis=0, keepdims=True)))[0])


def longest_runs(series: Floats) -> Ints:
    """Return the most ticks in a row that did not change each channel of a (d, N) series: (d,)."""
    return _longest(unchanged(series))


def _longest(flags: Bools) -> Ints:
    lengths = [[end - begin for begin, end in stretches_of(each)] for each in flags]
    return np.array([max(each, default=0) for each in lengths], dtype=np.int64)
