# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The IMU of a drive as one even series of standardised observations, without positions."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.motion import LONGEST_HOLE_S
from two_manifold_ros.recordings.recording import median_interval_ns
from two_manifold_ros.ticks.segments import cut_segments, fit_channels, largest_believable
from two_manifold_ros.training.dataset import longest_step_ns, USUAL_RATE_HZ

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats, Ints

LARGEST = 3.5
"""Spreads of a channel beyond which a step counts as one there, as in a crash."""


@dataclass(frozen=True)
class Series:
    """Even ticks of a drive: their ends, ns, and standardised observations (T, d), NaN in gaps."""

    stamps: Ints
    values: Floats
    period_s: float

    def averaged(self, ticks: float) -> tuple[Floats, Floats]:
        """
        Average over steps of so many ticks, at least one; return their middles (n,) and values.

        Values (n, d) have mean 0 and variance 1, and are NaN where less than half of a step is
        known.
        """
        count = max(int(len(self.values) / ticks), 1)
        edges = np.arange(float(count + 1)) * np.float64(ticks)
        middles: Floats = edges[:-1] + np.float64(0.5 * ticks)
        known: Bools = np.asarray(np.isfinite(self.values).all(axis=1))
        filled = np.where(known[:, None], self.values, 0.0)
        sums = np.column_stack([filled, known]).cumsum(axis=0)
        sums = np.concatenate([np.zeros((1, sums.shape[1])), sums])
        at = np.arange(len(sums))
        steps = np.diff(np.stack([np.interp(edges, at, each) for each in sums.T], axis=1), axis=0)
        enough = steps[:, -1] >= 0.5 * ticks
        means = np.full((count, self.values.shape[1]), np.nan)
        means[enough] = steps[enough, :-1] / steps[enough, -1:]
        if not enough.any():
            return middles, means
        # A crash is not to set the scale, nor to count for more than a bend.
        low, high = np.nanquantile(means, np.array([0.01, 0.99]), axis=0).reshape(2, -1)
        usual = np.clip(means, low, high)
        spread = np.nanstd(usual, axis=0)
        means = (means - np.nanmean(usual, axis=0)) / np.where(spread > 1e-9, spread, 1.0)
        means = np.clip(means, -LARGEST, LARGEST)
        return middles, means


def drive_series(recording: Recording) -> Series:
    """Return the ticks of a recording, of which positions are not looked at."""
    imu = recording.imu
    interval = median_interval_ns(imu.stamps)
    if not interval:
        msg = (
            f'{recording.name}: topic {imu.topic} has no two IMU samples with increasing stamps; '
            'check the driver, or use receive times'
        )
        raise InputError(msg)
    period = max(round(1e9 / USUAL_RATE_HZ), interval)
    gap = longest_step_ns(interval, period)
    largest = largest_believable([imu.samples])
    segments, _ = cut_segments(recording, period, gap, largest)
    if not segments:
        msg = f'{recording.name}: topic {imu.topic} has no tick without a gap; record longer'
        raise InputError(msg)
    channels = fit_channels(segments, largest, imu.names)
    stamps = [segments[0].stamps]
    values = [channels.standardise(segments[0].values)]
    for before, after in itertools.pairwise(segments):
        silent = int(after.stamps[0] - before.stamps[-1]) // period - 1
        # Where the clock was set back the time that passed is unknown: one tick.
        silent = int(np.clip(silent, 1, round(LONGEST_HOLE_S * 1e9 / period)))
        stamps += [before.stamps[-1] + period * np.arange(1, silent + 1), after.stamps]
        seen = channels.standardise(after.values)
        values += [np.full((silent, seen.shape[1]), np.nan), seen]
    return Series(np.concatenate(stamps), np.concatenate(values), period * 1e-9)
