# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watch the input of a filter: whether it is what the model was trained for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.filtering.mistake_search import MistakeSearch
from two_manifold_ros.filtering.status import Finding
from two_manifold_ros.model.head import TrainedModel
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.route_model import RouteModel
from two_manifold_ros.ticks.averaging import hold_until
from two_manifold_ros.ticks.rest import longest_runs, ROUNDING
from two_manifold_ros.ticks.segments import LIMIT_FACTOR
from two_manifold_ros.ticks.stamps import JUMP_BACK_NS

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Bools, Floats, Ints


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


STILL_S = 1.0
"""Longer than twice the longest of training by this, a channel that never changes is stuck."""

STILL_TICKS = 10

RECORD_NS = 2_000_000_000
"""Over which extremes and steps are judged."""

CUT_OFF_REPEATS = 5
CUT_OFF_SHARE = 0.7
"""Of all samples that are like the one before, those at an extreme where a sensor is cut off."""

REACHED_SHARE = 0.95
"""Of the largest value of training, below which an extreme is news."""

COARSE_SHARE, COARSE_SPAN = 0.3, 0.05
"""
Smallest change over the scale of training, and over how far the channel reaches, above which it
has become coarse.
"""

LEAST_CHANGES = 10

REPEATING_SHARE = 0.005
"""Of the ticks of training that are like the one before: above it the sensor always was coarse."""

COARSE_PATIENCE = 5
"""Times as long such a channel may stay the same: it does whenever the vehicle stands."""


class SensorFaults:
    """
    Judge records of samples.

    Parameters
    ----------
    model
        What was learned; of one that does not keep its training series, and of other samples
        than those of an IMU, only whether all channels are stuck is judged.

    """

    def __init__(self, model: ModelHead) -> None:
        channels = model.channels
        live = np.flatnonzero(channels.live)
        self._live = live
        self._names = channels.live_names
        self._scale = channels.scale[live]
        self._largest = channels.limit[live] / LIMIT_FACTOR - np.abs(channels.mean[live])
        self._all_still_ns = _patience(model, _longest_stillness(model))
        self._single = isinstance(model, TrainedModel) and channels.of_imu
        series = model.series if isinstance(model, TrainedModel) else np.zeros((len(live), 1))
        same = np.abs(np.diff(series, axis=1)) <= ROUNDING
        self._fine = same.sum(axis=1) <= REPEATING_SHARE * same.shape[1]
        # A route keeps but a part of its series.
        runs = model.still if isinstance(model, RouteModel) else longest_runs(series)
        self._still_ns = _patience(model, runs)
        self._still_ns[~self._fine] *= COARSE_PATIENCE

    def stuck(self, record: SampleRecord, now: int) -> Finding | None:
        """Return what has not changed for too long at the stamp of the newest sample, ns."""
        still = now - record.counts[CHANGED, self._live]
        if still.min() > self._all_still_ns:
            return Finding(
                'stuck',
                f'no channel has changed at all for {still.min() * 1e-9:.1f} s: the driver '
                f'repeats itself, start it anew',
                refuses=True,
            )
        if not self._single or not (still > self._still_ns).any():
            return None
        return self._dead(np.flatnonzero(still > self._still_ns), still, record)

    def _dead(self, which: Ints, still: Ints, record: SampleRecord) -> Finding:
        shown = ', '.join(
            f'{self._names[c]} at {record.values[LAST, self._live[c]]:.3g}' for c in which
        )
        return Finding(
            'channel_stuck',
            f'{shown} has not changed for {still[which].min() * 1e-9:.1f} s while other channels '
            f'do: look at the sensor and its driver',
            refuses=False,
        )

    def worn(self, record: SampleRecord) -> Finding | None:
        """Return what is cut off or coarse in a whole record."""
        if not self._single:
            return None
        values, counts = record.values[:, self._live], record.counts[:, self._live]
        judged = self._fine & (counts[CHANGES] >= LEAST_CHANGES)
        return self._cut_off(values, counts, judged) or self._coarse(values, judged)

    def _cut_off(self, values: Floats, counts: Ints, judged: Bools) -> Finding | None:
        judged = judged & (counts[AT_LOW] + counts[AT_HIGH] >= CUT_OFF_SHARE * counts[REPEATS])
        for row, extreme in ((AT_LOW, LOW), (AT_HIGH, HIGH)):
            news = np.abs(values[extreme]) < REACHED_SHARE * self._largest
            for c in np.flatnonzero(judged & news & (counts[row] >= CUT_OFF_REPEATS)):
                return Finding(
                    'cut_off',
                    f'{self._names[c]} is cut off at {values[extreme, c]:.3g}, training reached '
                    f'{self._largest[c]:.3g}: choose a larger range of the sensor',
                    refuses=False,
                )
        return None

    def _coarse(self, values: Floats, judged: Bools) -> Finding | None:
        least = np.maximum(COARSE_SHARE * self._scale, COARSE_SPAN * (values[HIGH] - values[LOW]))
        for c in np.flatnonzero(judged & (values[STEP] > least)):
            return Finding(
                'coarse',
                f'{self._names[c]} changes by steps of {values[STEP, c]:.3g}, coarser than in '
                f'training: look at resolution and range of the sensor',
                refuses=False,
            )
        return None


def _patience(model: ModelHead, ticks: Ints | int) -> Ints:
    """Return for how long nothing may change, ns, if in training it was so many ticks."""
    least = max(round(STILL_S * 1e9), STILL_TICKS * model.period_ns)
    return np.asarray(least + 2 * ticks * model.period_ns, dtype=np.int64)


def _longest_stillness(model: ModelHead) -> int:
    if isinstance(model, Model):
        return model.familiarity.still
    return model.most_still if isinstance(model, RouteModel) else 0


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
