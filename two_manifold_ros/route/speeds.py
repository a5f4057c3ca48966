# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learn how fast a vehicle is: usual speeds of the places, and what an observation tells of them.

The forward acceleration is a line in the observation, whichever way the sensor is mounted: drives
with positions tell their accelerations. With it the belief knows how far a vehicle gets that pulls
away from a standstill or brakes where nobody did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Floats, Ints

LAGS = (2, 4, 8, 16)
"""
Ticks each way over which an acceleration is measured.

The one that observations explain best is taken: positions are too noisy over a short one, and
accelerations last too short for a long one.
"""

RIDGE = 1e-3
"""Of the regression, in variances of the channels, which are one: two may be the same."""

ALONG = 4
"""Places before and behind over which usual speeds are averaged: a short step is noisy."""

SLOWEST, FEWEST, MOST = 0.1, 0.1, 3.5
"""
Usual speed of a place over that of the route at least, and places in a tick there.

Where vehicles stop it would be nought, and any pace endless.
"""


@dataclass(frozen=True)
class Forward:
    """
    The forward acceleration as a line in the observation.

    Parameters
    ----------
    weights : (d,), offset
        m/s^2 per standard deviation, and m/s^2.
    explained
        Share of the variance of accelerations that it explains.

    """

    weights: Floats
    offset: float
    explained: float


def learn_forward(
    observations: Sequence[Floats], tracks: Sequence[Floats], period_s: float
) -> Forward:
    """
    Regress the accelerations of the training on the observations.

    Parameters
    ----------
    observations, tracks
        Of each segment (T, d), standardised, and (T, 2), metres, NaN where unknown.
    period_s
        Length of a tick.

    Returns
    -------
    Forward
        Nought everywhere if positions tell no acceleration.

    """
    best = Forward(np.zeros(observations[0].shape[1]), 0.0, 0.0)
    for lag in LAGS:
        parts = [
            _accelerations(seen, track, lag, period_s)
            for seen, track in zip(observations, tracks, strict=True)
            if len(seen) > 4 * lag
        ]
        if not parts:
            continue
        design = np.concatenate([part[0] for part in parts])
        wanted = np.concatenate([part[1] for part in parts])
        if len(wanted) <= design.shape[1] or not wanted.var() > 0.0:
            continue
        normal = design.T @ design + RIDGE * len(design) * np.eye(design.shape[1])
        line = np.linalg.solve(normal, design.T @ wanted)
        explained = float(1.0 - np.var(wanted - design @ line) / wanted.var())
        if explained > best.explained:
            best = Forward(line[:-1], float(line[-1]), explained)
    return best


def _accelerations(
    seen: Floats, track: Floats, lag: int, period_s: float
) -> tuple[Floats, Floats]:
    """Return the mean observations and a one (n, d + 1), and the accelerations (n,) around it."""
    half = max(lag // 2, 1)
    speeds = np.full(len(track), np.nan)
    moved = np.linalg.norm(track[2 * half :] - track[: -2 * half], axis=1)
    speeds[half:-half] = moved / (2 * half * period_s)
    gained = (speeds[2 * lag :] - speeds[: -2 * lag]) / (2 * lag * period_s)
    sums = np.cumsum(np.vstack([np.zeros(seen.shape[1]), seen]), axis=0)
    width = 2 * lag + 1
    means = (sums[width:] - sums[:-width]) / width
    known = np.isfinite(gained)
    return np.column_stack([means[known], np.ones(known.sum())]), gained[known]


def usual_speeds(
    places: Places, stays: Floats, after: Ints, period_s: float
) -> tuple[Floats, Floats]:
    """
    Return how fast vehicles usually are at each place.

    Parameters
    ----------
    places
        Of the route.
    stays : (P,)
        Ticks that a vehicle usually takes from a place to the next.
    after : (P,) int64
        Place that most drives went on to, see `main_ways`.
    period_s
        Length of a tick.

    Returns
    -------
    rates, tick_lengths : (P,)
        Places in a tick, and ticks in seconds over the speed in m/s.

    """
    rates = np.clip(1.0 / stays, FEWEST, MOST)
    metres = np.linalg.norm(places.positions[after] - places.positions, axis=1)
    # A place that leads to itself is the end of a drive.
    weights = (metres > 0.0).astype(np.float64)
    near = np.column_stack([weights, weights * metres * rates])
    ahead = behind = np.arange(len(places))
    before = np.arange(len(places))
    goes_on = after != before
    before[after[goes_on]] = before[goes_on].copy()
    sums = near.copy()
    for _ in range(ALONG):
        ahead, behind = after[ahead], before[behind]
        sums += near[ahead] + near[behind]
    speeds = sums[:, 1] / np.maximum(sums[:, 0], 1.0) / period_s
    return rates, period_s / np.maximum(speeds, SLOWEST * places.usual_mps)
