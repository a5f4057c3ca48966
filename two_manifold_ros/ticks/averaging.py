# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Average samples over ticks by a zero-order hold.

A sample is held until the next one arrives, and a tick is the mean of what was held during it.
The same compiled function serves the live stream and whole recordings: both give the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


@compiled
def hold_until(
    clock: Ints,
    held: Floats,
    integral: Floats,
    stamp: int,
    period: int,
    means: Floats,
    ends: Ints,
) -> int:
    """
    Integrate the held sample up to a stamp and emit the ticks that end on the way.

    Parameters
    ----------
    clock : (2,) int64
        Time integrated up to and end of the running tick, ns; updated.
    held, integral : (c,)
        The sample in force, and its integral since the running tick began; the latter updated.
    stamp, period
        Nanoseconds.
    means : (>= ended, c), ends : (>= ended,) int64
        Filled with the means of the finished ticks and their end stamps.

    Returns
    -------
    int
        Number of ticks that ended.

    """
    count = 0
    now = clock[0]
    end = clock[1]
    while stamp >= end:
        for c in range(held.size):
            means[count, c] = (integral[c] + held[c] * float(end - now)) / float(period)
            integral[c] = 0.0
        ends[count] = end
        count += 1
        now = end
        end += period
    for c in range(held.size):
        integral[c] += held[c] * float(stamp - now)
    clock[0] = stamp
    clock[1] = end
    return count


@compiled
def _average_all(stamps: Ints, samples: Floats, period: int, means: Floats, ends: Ints) -> None:
    clock = np.empty(2, dtype=np.int64)
    clock[0] = stamps[0]
    clock[1] = stamps[0] + period
    held = samples[0].copy()
    integral = np.zeros_like(held)
    count = 0
    for i in range(1, stamps.size):
        count += hold_until(clock, held, integral, stamps[i], period, means[count:], ends[count:])
        # One by one: numba takes two seconds longer to compile the assignment of a row.
        for c in range(held.size):
            held[c] = samples[i, c]


def average_ticks(stamps: Ints, samples: Floats, period_ns: int) -> tuple[Ints, Floats]:
    """
    Average one stretch without gaps over ticks.

    Parameters
    ----------
    stamps : (N,) int64
        Strictly increasing, ns. The first tick begins at the first stamp.
    samples : (N, c)
        Finite.

    Returns
    -------
    ends : (T,) int64, means : (T, c)
        End, ns, and mean of each tick.

    """
    count = int((stamps[-1] - stamps[0]) // period_ns) if len(stamps) else 0
    means = np.empty((count, samples.shape[1]))
    ends = np.empty(count, dtype=np.int64)
    if count:
        _average_all(stamps, np.ascontiguousarray(samples), period_ns, means, ends)
    return ends, means


class TickAverager:
    """
    Average a live stream of (c,) samples over ticks.

    ``max_gap_ns``, the longest step between samples, bounds the ticks that one sample can end.
    """

    def __init__(self, channels: int, period_ns: int, max_gap_ns: int) -> None:
        self._period = period_ns
        self._clock = np.zeros(2, dtype=np.int64)
        self._held = np.zeros(channels)
        self._integral = np.zeros(channels)
        most = max_gap_ns // period_ns + 2
        self._means = np.zeros((most, channels))
        self._ends = np.zeros(most, dtype=np.int64)

    @property
    def tick_began(self) -> int:
        """Stamp at which the running tick began, ns."""
        return int(self._clock[1]) - self._period

    def start(self, stamp: int, sample: Floats) -> None:
        """Restart the grid of ticks at this sample."""
        self._clock[0] = stamp
        self._clock[1] = stamp + self._period
        self._integral[:] = 0.0
        self._held[:] = sample

    def push(self, stamp: int, sample: Floats) -> tuple[int, Ints, Floats]:
        """
        Take the next sample.

        Returns
        -------
        count, ends : (>= count,) int64, means : (>= count, c)
            Number of ticks that ended, and buffers that hold them until the next call.

        """
        count = hold_until(
            self._clock, self._held, self._integral, stamp, self._period, self._means, self._ends
        )
        self._held[:] = sample
        return count, self._ends, self._means
