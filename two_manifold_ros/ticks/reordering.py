# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sort samples that arrive a little out of order, at the price of as much latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.stamps import JUMP_BACK_NS

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

    Stamped = list[tuple[int, Floats]]

MOST_KEPT = 2048
"""Samples that are kept at the most, which those of half a second at 4 kHz are not."""


class Reordering:
    """
    Keep samples until none that is older can be expected any more.

    A sample is given out once another one is newer by the span. One that comes later than that
    is given out at once, out of order, and it is for others to refuse it. One that goes back by
    ``JUMP_BACK_NS`` is not late but the first of another time: all others are given out before it.
    Samples with the same stamp stay in the order of their arrival.

    Parameters
    ----------
    channels
        Values per sample.
    span_ns
        How late a sample may come, nanoseconds; less than ``JUMP_BACK_NS``.

    """

    def __init__(self, channels: int, span_ns: int) -> None:
        self._span = span_ns
        # Twice as many, so that they are moved to the front only now and then.
        self._stamps = np.zeros(2 * MOST_KEPT, dtype=np.int64)
        self._samples = np.zeros((2 * MOST_KEPT, channels))
        self._begin = self._end = 0

    def __len__(self) -> int:
        """Return how many samples are kept."""
        return self._end - self._begin

    def push(self, stamp: int, sample: Floats) -> Stamped:
        """
        Take a (c,) sample.

        Returns
        -------
        list of stamp and (c,) sample
            Those that need not wait any longer, the oldest first.

        """
        before = self.flush() if self._jumps_back(stamp) else []
        if self._end == len(self._stamps):
            self._move_to_front()
        self._insert(stamp, sample)
        kept = self._stamps[self._begin : self._end]
        count = int(np.searchsorted(kept, int(kept[-1]) - self._span, side='right'))
        return before + self._give(max(count, len(kept) - MOST_KEPT))

    def flush(self) -> Stamped:
        """Give out all that is kept, the oldest first."""
        return self._give(len(self))

    def _jumps_back(self, stamp: int) -> bool:
        return bool(len(self) and stamp <= int(self._stamps[self._end - 1]) - JUMP_BACK_NS)

    def _give(self, count: int) -> Stamped:
        begin = self._begin
        self._begin = begin + count
        stamps = self._stamps[begin : self._begin].tolist()
        return list(zip(stamps, self._samples[begin : self._begin].copy(), strict=True))

    def _insert(self, stamp: int, sample: Floats) -> None:
        end = self._end
        place = end
        if end > self._begin and stamp < self._stamps[end - 1]:
            kept = self._stamps[self._begin : end]
            place = self._begin + int(np.searchsorted(kept, stamp, side='right'))
            self._stamps[place + 1 : end + 1] = self._stamps[place:end].copy()
            self._samples[place + 1 : end + 1] = self._samples[place:end].copy()
        self._stamps[place] = stamp
        self._samples[place] = sample
        self._end = end + 1

    def _move_to_front(self) -> None:
        count = len(self)
        self._stamps[:count] = self._stamps[self._begin : self._end].copy()
        self._samples[:count] = self._samples[self._begin : self._end].copy()
        self._begin, self._end = 0, count
