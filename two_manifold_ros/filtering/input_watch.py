# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watch the input of a filter: stuck samples, worn sensors and misconfigurations of the IMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.hypothesis_search import HypothesisSearch
from two_manifold_ros.filtering.status import Finding
from two_manifold_ros.ticks.rest import unchanged
from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, TickAverager
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.model.model import TrainedModel

NEVER_NS = -(2**63)
"""The stamp of the newest sample where there is none."""

LARGEST_VALUE = 1e6
"""Larger than any sensor says in any unit: what is above it counts as this."""


class InputWatch:
    """
    Compare samples with those of training; the ``finding`` is the gravest thing that is wrong.

    It sees nothing but stamps and samples, so the same stream gives the same findings. If the
    model is not of an IMU, only the rate and whether all channels are stuck are judged.

    It looks at the newest samples each ``look_ns``, and judges worn sensors and the rate over
    ``record_ns``. Samples are refused below ``refused_rate_share`` of the rate of the model, half,
    less what is lost or counted in two seconds: ticks without a sample of their own repeat the one
    before, which the model takes for another observation, so ellipses get too small.
    """

    look_ns = 250_000_000
    record_ns = 8 * look_ns
    refused_rate_share = 0.49

    def __init__(self, model: TrainedModel) -> None:
        channels, count = model.channels, len(model.channels.mean)
        # Samples that are looked at together at most: fewer of many channels.
        at_once = min(256, 1 + 65_536 // count)
        self._max_gap, self._rate_hz = model.max_gap_ns, model.rate_hz
        self._averager = TickAverager(count, model.period_ns, self.look_ns + model.max_gap_ns)
        # When each channel changed last, and the samples of the record behind the one before.
        self._changed = np.zeros(count, dtype=np.int64)
        self._record = [np.zeros((1, count))]
        self._search = HypothesisSearch(model)
        self._stamps = np.zeros(at_once, dtype=np.int64)
        self._samples = np.zeros((at_once, count))
        self._live = live = np.flatnonzero(channels.live)
        self._names, self._scale = channels.live_names, channels.scale[live]
        self._largest = channels.largest[live]
        runs, most_still = model.stillness
        # The longest time without a change: twice as long as in training, plus a second.
        least_ns = max(10**9, 10 * model.period_ns)
        self._all_still_ns = least_ns + 2 * most_still * model.period_ns
        self._single = channels.of_imu
        # A channel that repeats itself in more of the ticks of training was coarse then already.
        self._fine = unchanged(model.series).sum(axis=1) <= 0.005 * (model.series.shape[1] - 1)
        self._still_ns = least_ns + 2 * runs * model.period_ns
        # Such a channel stays the same whenever the vehicle stands.
        self._still_ns[~self._fine] *= 5
        self.clear()

    def clear(self) -> None:
        """Forget the stream and all findings."""
        self.newest_ns = NEVER_NS
        self._recorded = self._due = 0
        self._search.clear()
        self._forget_faults()

    def _forget_faults(self) -> None:
        self._count = self._counted = 0
        self._slow: Finding | None = None
        self._worn: Finding | None = None
        self.finding = self._search.finding

    def goes_on(self, stamp_ns: int) -> bool:
        """Return whether a sample with this stamp follows without a gap or a jump back."""
        return -JUMP_BACK_NS < stamp_ns - self.newest_ns <= self._max_gap

    def sample(self, stamp_ns: int, sample: Floats) -> None:
        """Take one (c,) sample, finite in every channel that the model uses."""
        if not self.goes_on(stamp_ns):
            # The first one, or one after a gap or a jump back: with it a tick starts.
            self.newest_ns = self._recorded = stamp_ns
            self._due = stamp_ns + self.look_ns
            self._record = [_cleaned(sample[None])]
            self._averager.start(stamp_ns, self._record[0][0])
            self._changed[:] = stamp_ns
            self._search.pause()
            self._forget_faults()
        elif stamp_ns > self.newest_ns:
            self.newest_ns = stamp_ns
            self._stamps[self._count] = stamp_ns
            self._samples[self._count] = sample
            self._count += 1
            if stamp_ns >= self._due or self._count == len(self._stamps):
                self._look()

    def sample_out_of_range(self, stamp_ns: int, sample: Floats) -> None:
        """Take one that cannot be filtered: it may be of another unit, if it is not absurd."""
        if np.abs(sample[self._live]).max() < LARGEST_VALUE:
            self.sample(stamp_ns, sample)

    def _look(self) -> None:
        """Look at the samples that came since the last look."""
        count, self._count = self._count, 0
        stamps, seen = self._stamps[:count], _cleaned(self._samples[:count])
        now = int(stamps[-1])
        self._counted += count
        changes = np.diff(np.concatenate([self._record[-1][-1:], seen]), axis=0) != 0.0
        newest = stamps[count - 1 - np.argmax(changes[::-1], axis=0)]
        self._changed = np.where(changes.any(axis=0), newest, self._changed)
        self._record = [*self._record, seen] if self._single else [seen]
        self._due = now + self.look_ns
        if now - self._recorded >= self.record_ns:
            rate_hz = 1e9 * self._counted / (now - self._recorded)
            words = (
                f'samples come at only {rate_hz:.1f} Hz, but the model needs {self._rate_hz:g} '
                'Hz, and below half of it ellipses would be too small: set the driver to a higher '
                'rate'
            )
            slow = rate_hz < self.refused_rate_share * self._rate_hz
            self._slow = Finding('too_slow', words, refuses=True) if slow else None
            self._worn = self._find_worn() if self._single else None
            self._record = [seen[-1:]]
            self._recorded, self._counted = now, 0
        for means in self._averager.take(stamps, seen)[1]:
            self._search.push(means)
        stuck = self._find_stuck(now)
        refusal = stuck if stuck is not None and stuck.refuses else self._slow
        # A channel that stands still may be one that another mounting leaves without work.
        self.finding = refusal or self._search.finding or stuck or self._worn

    def _find_stuck(self, now: int) -> Finding | None:
        """Return a finding on channels without a change at the stamp of the newest sample, ns."""
        still = now - self._changed[self._live]
        if still.min() > self._all_still_ns:
            words = (
                f'no channel has changed at all for {still.min() * 1e-9:.1f} s: the driver '
                f'repeats the same sample; restart it'
            )
            return Finding('stuck', words, refuses=True)
        which = np.flatnonzero(still > self._still_ns)
        if not self._single or not which.size:
            return None
        last = self._record[-1][-1][self._live]
        shown = ', '.join(f'{self._names[c]} at {last[c]:.3g}' for c in which)
        words = (
            f'{shown} has not changed for {still[which].min() * 1e-9:.1f} s while other channels '
            f'do: look at the sensor and its driver'
        )
        return Finding('channel_stuck', words, refuses=False)

    def _find_worn(self) -> Finding | None:
        """
        Return a finding on a channel that is cut off or coarse in a whole record.

        It repeats an extreme that is less than training reached; or its smallest change is large
        beside training and its own range.
        """
        rows = np.concatenate(self._record)[:, self._live]
        low, high = rows.min(axis=0), rows.max(axis=0)
        steps = np.abs(np.diff(rows, axis=0))
        changes = steps > 0.0
        step = np.where(changes, steps, np.inf).min(axis=0)
        # A driver that repeats a whole sample is no fault of a single channel.
        repeats = ~changes & changes.any(axis=1, keepdims=True)
        at_low, at_high = ((repeats & (rows[1:] == each)).sum(axis=0) for each in (low, high))
        judged = self._fine & (changes.sum(axis=0) >= 10)
        cut = judged & (at_low + at_high >= 0.7 * repeats.sum(axis=0))
        for times, extreme in ((at_low, low), (at_high, high)):
            news = np.abs(extreme) < 0.95 * self._largest
            for c in np.flatnonzero(cut & news & (times >= 5)):
                words = (
                    f'{self._names[c]} is cut off at {extreme[c]:.3g}, training reached '
                    f'{self._largest[c]:.3g}: choose a larger range of the sensor'
                )
                return Finding('cut_off', words, refuses=False)
        coarse = judged & (step > np.maximum(0.3 * self._scale, 0.05 * (high - low)))
        for c in np.flatnonzero(coarse):
            words = (
                f'{self._names[c]} changes by steps of {step[c]:.3g}, coarser than in '
                f'training: look at resolution and range of the sensor'
            )
            return Finding('coarse', words, refuses=False)
        return None


def _cleaned(samples: Floats) -> Floats:
    """Return samples to reckon with: what is not finite counts as zero."""
    bounded = np.clip(samples, -LARGEST_VALUE, LARGEST_VALUE)
    return np.where(np.isfinite(samples), bounded, 0.0)
