# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors that repeat themselves, are cut off at their range, or have become coarse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.head import TrainedModel
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.route_model import RouteModel
from two_manifold_ros.monitoring.finding import Finding
from two_manifold_ros.monitoring.sample_record import (
    AT_HIGH,
    AT_LOW,
    CHANGED,
    CHANGES,
    HIGH,
    LAST,
    LOW,
    REPEATS,
    STEP,
)
from two_manifold_ros.ticks.channels import LIMIT_FACTOR
from two_manifold_ros.windows.stillness import longest_runs, ROUNDING

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.monitoring.sample_record import SampleRecord
    from two_manifold_ros.typing import Bools, Floats, Ints

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
