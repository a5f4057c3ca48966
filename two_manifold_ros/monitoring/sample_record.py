# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the newest samples of each channel did: when they changed, how far, and how often not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.ticks.averaging import hold_until

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

LAST, INTEGRAL, LOW, HIGH, STEP, NOW = 0, 1, 2, 3, 4, 5
CHANGED, CHANGES, REPEATS, AT_LOW, AT_HIGH = 0, 1, 2, 3, 4

MOST = 1e6
"""Larger than any sensor says in any unit: what is above it counts as this."""


@compiled
def _news(sample: Floats, values: Floats) -> bool:
    """Read a sample, and return whether it differs from the one before."""
    largest = 0.0
    for c in range(sample.size):
        value = sample[c]
        values[NOW, c] = min(max(value, -MOST), MOST) if np.isfinite(value) else 0.0
        largest = max(largest, abs(values[NOW, c] - values[LAST, c]))
    return largest > 0.0


@compiled
def _take(
    stamps: Ints,
    samples: Floats,
    period: int,
    clock: Ints,
    values: Floats,
    counts: Ints,
    means: Floats,
    ends: Ints,
) -> int:
    ticks = 0
    for n in range(stamps.size):
        stamp = stamps[n]
        ticks += hold_until(
            clock, values[LAST], values[INTEGRAL], stamp, period, means[ticks:], ends[ticks:]
        )
        if not _news(samples[n], values):
            # The driver repeats itself, of which no single channel tells anything.
            continue
        for c in range(samples.shape[1]):
            value = values[NOW, c]
            step = abs(value - values[LAST, c])
            if step > 0.0:
                counts[CHANGED, c] = stamp
                counts[CHANGES, c] += 1
                values[LAST, c] = value
                values[STEP, c] = min(values[STEP, c], step)
                if value < values[LOW, c]:
                    values[LOW, c] = value
                    counts[AT_LOW, c] = 0
                elif value > values[HIGH, c]:
                    values[HIGH, c] = value
                    counts[AT_HIGH, c] = 0
            else:
                counts[REPEATS, c] += 1
                counts[AT_LOW, c] += value == values[LOW, c]
                counts[AT_HIGH, c] += value == values[HIGH, c]
    return ticks


class SampleRecord:
    """
    Record what some channels do, and average them over ticks.

    Parameters
    ----------
    channels
        How many.
    period_ns
        Length of a tick.
    most_ticks
        That the samples taken at once may end.

    Attributes
    ----------
    values : (6, c)
        The newest sample, its integral, and since the record was begun the lowest and the highest
        value and the smallest change; and room to read a sample.
    counts : (5, c) int64
        Stamp of the newest change, and since the record was begun the changes, and the samples
        that were the same as the one before while other channels changed: all of them, and those
        at the lowest and at the highest value.

    """

    def __init__(self, channels: int, period_ns: int, most_ticks: int) -> None:
        self._period = period_ns
        self._clock = np.zeros(2, dtype=np.int64)
        self._means = np.zeros((most_ticks, channels))
        self._ends = np.zeros(most_ticks, dtype=np.int64)
        self.values = np.zeros((6, channels))
        self.counts = np.zeros((5, channels), dtype=np.int64)

    def start(self, stamp: int, sample: Floats) -> None:
        """Forget everything and begin with this (c,) sample, and with it a tick."""
        self._clock[:] = stamp, stamp + self._period
        _news(sample, self.values)
        self.values[LAST] = self.values[NOW]
        self.values[INTEGRAL] = 0.0
        self.counts[CHANGED] = stamp
        self.begin()

    def begin(self) -> None:
        """Begin the record anew; what changed last is not forgotten."""
        self.values[LOW] = self.values[HIGH] = self.values[LAST]
        self.values[STEP] = np.inf
        self.counts[CHANGES:] = 0

    def take(self, stamps: Ints, samples: Floats) -> Floats:
        """
        Take the next samples.

        Parameters
        ----------
        stamps : (n,) int64
            Increasing, nanoseconds.
        samples : (n, c)
            What is no number counts as zero; of a channel that is used nothing may be such.

        Returns
        -------
        (m, c)
            Means of the ticks that ended, until the next call.

        """
        ticks = _take(
            stamps,
            samples,
            self._period,
            self._clock,
            self.values,
            self.counts,
            self._means,
            self._ends,
        )
        return self._means[:ticks]
