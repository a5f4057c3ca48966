# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Whether a vehicle is at rest, by how little the newest ticks differ from each other.

A level would not do: what an IMU reads at rest changes with its bias, its mounting and the slope,
while what wheels and road shake is gone wherever the vehicle stands.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


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
