# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watch the input of a filter: whether it is what the model was trained for, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.head import TrainedModel
from two_manifold_ros.monitoring.mistake_search import MistakeSearch
from two_manifold_ros.monitoring.sample_record import MOST, SampleRecord
from two_manifold_ros.monitoring.sensor_faults import RECORD_NS, SensorFaults
from two_manifold_ros.ticks.stamps import JUMP_BACK_NS

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.monitoring.finding import Finding
    from two_manifold_ros.typing import Floats

LOOK_NS = 250_000_000
"""Between two looks at the newest samples."""

AT_ONCE = 256
"""Samples that are looked at together at most."""

MOST_VALUES = 65_536
"""The same, for samples of many channels, such as images."""


class InputWatch:
    """
    Hold samples against those of training.

    It sees nothing but stamps and samples, so the same stream gives the same findings.

    Parameters
    ----------
    model
        Whose training; of a TPSR only what needs no training series is found.

    """

    def __init__(self, model: ModelHead) -> None:
        channels = len(model.channels.mean)
        at_once = min(AT_ONCE, 1 + MOST_VALUES // channels)
        most_ticks = (LOOK_NS + model.max_gap_ns) // model.period_ns + 2
        self._max_gap = model.max_gap_ns
        self._live = model.channels.live
        self._record = SampleRecord(channels, model.period_ns, most_ticks)
        self._faults = SensorFaults(model)
        self._search = MistakeSearch(model) if isinstance(model, TrainedModel) else None
        self._stamps = np.zeros(at_once, dtype=np.int64)
        self._samples = np.zeros((at_once, channels))
        self._count = 0
        self.clear()

    @property
    def finding(self) -> Finding | None:
        """The gravest thing that is wrong at present."""
        if self._stuck is not None and self._stuck.refuses:
            return self._stuck
        mistake = None if self._search is None else self._search.finding
        # A channel that stands still may be one that another mounting leaves without work.
        return mistake or self._stuck or self._worn

    def clear(self) -> None:
        """Forget the stream and what was found in it."""
        self._newest: int | None = None
        self._recorded = self._due = 0
        self._forget_faults()
        if self._search is not None:
            self._search.clear()

    def goes_on(self, stamp_ns: int) -> bool:
        """Whether a sample with this stamp belongs to the stream, with no gap nor jump back."""
        newest = self._newest
        return newest is not None and -JUMP_BACK_NS < stamp_ns - newest <= self._max_gap

    def sample(self, stamp_ns: int, sample: Floats) -> None:
        """Take one (c,) sample, finite in every channel that the model uses."""
        newest = self._newest
        if newest is None or not self.goes_on(stamp_ns):
            self._begin(stamp_ns, sample)
            return
        if stamp_ns <= newest:
            return
        self._newest = stamp_ns
        count = self._count
        self._stamps[count] = stamp_ns
        self._samples[count] = sample
        self._count = count + 1
        if stamp_ns >= self._due or self._count == len(self._stamps):
            self._look()

    def sample_out_of_range(self, stamp_ns: int, sample: Floats) -> None:
        """Take one that cannot be filtered: it may be of another unit, if it is not absurd."""
        if np.abs(sample[self._live]).max() < MOST:
            self.sample(stamp_ns, sample)

    def _begin(self, stamp: int, sample: Floats) -> None:
        """Begin anew: at the first sample, after a gap or a jump back."""
        self._newest = self._recorded = stamp
        self._due = stamp + LOOK_NS
        self._record.start(stamp, sample)
        self._forget_faults()
        if self._search is not None:
            self._search.pause()

    def _forget_faults(self) -> None:
        self._count = 0
        self._stuck: Finding | None = None
        self._worn: Finding | None = None

    def _look(self) -> None:
        count, self._count = self._count, 0
        now = int(self._stamps[count - 1])
        means = self._record.take(self._stamps[:count], self._samples[:count])
        self._due = now + LOOK_NS
        self._stuck = self._faults.stuck(self._record, now)
        if now - self._recorded >= RECORD_NS:
            self._worn = self._faults.worn(self._record)
            self._record.begin()
            self._recorded = now
        if self._search is not None:
            for each in means:
                self._search.push(each)
