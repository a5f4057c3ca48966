# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where a tick of the training leads to: the mean over passes, and what another pace changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.localisation.passes import Ground
    from two_manifold_ros.typing import Bools, Floats, Ints

LEAST_TOLD = 0.1
"""Likeness of the passes, summed, that tells a tick where it leads to."""


def averaged_targets(targets: Floats, ground: Ground, passes: Ints) -> Floats:
    """
    Replace where each tick led to by the mean over the passes that were driven as fast.

    One pass is one draw of what follows; the mean of several errs less. Displacements are
    averaged, so that the position itself stays that of the tick. The last ticks of a drive, of
    which nothing came any more, are told by the other passes what does.

    Parameters
    ----------
    targets : (N, H + 1, 2)
        From ``segment_targets``: positions at the horizons, then the velocity.
    ground
        Positions and velocities of the ticks.
    passes : (N, p) int64
        From ``find_passes``.

    Returns
    -------
    (N, H + 1, 2)
        The velocity as it was.

    """
    displacements = targets[:, :-1] - ground.positions[:, None]
    known: Bools = np.asarray(np.isfinite(displacements).all(axis=2))
    sums = np.where(known[..., None], displacements, 0.0)
    counts = known.astype(np.float64)
    alike = _likeness(ground.speeds, passes)
    values, present = sums.copy(), counts.copy()
    for column in range(passes.shape[1]):
        weights = alike[:, column, None]
        there = passes[:, column]
        sums += weights[..., None] * values[there]
        counts += weights * present[there]
    averaged: Floats = targets.copy()
    placed: Bools = np.asarray(np.isfinite(ground.positions).all(axis=1))
    told = (counts > LEAST_TOLD) & placed[:, None]
    means = sums / np.where(told, counts, 1.0)[..., None]
    averaged[:, :-1] = np.where(
        told[..., None], ground.positions[:, None] + means, targets[:, :-1]
    )
    return averaged


def _likeness(speeds: Floats, passes: Ints) -> Floats:
    """Return how alike the speeds of each tick and its passes are, 0 to 1: (N, p)."""
    differences: Floats = np.where(passes >= 0, speeds[passes] - speeds[:, None], np.nan)
    known = np.isfinite(differences)
    if not known.any():
        return np.zeros(passes.shape)
    scale = float(np.sqrt(np.mean(np.square(differences[known])))) or 1.0
    likeness = np.exp(-0.5 * np.square(differences / scale))
    return np.where(known, likeness, 0.0)


def pace_drift(targets: Floats, horizons: Sequence[int], period_s: float) -> Floats:
    """
    Return what each target gains per unit of pace above 1, which lasts.

    Parameters
    ----------
    targets : (N, H + 1, 2)
        Of one segment: positions at the horizons, then the velocity.
    horizons
        Ticks ahead.
    period_s
        Length of a tick.

    Returns
    -------
    (N, H + 1, 2)
        Metres, then m/s; 0 where it is not known.

    """
    velocity = targets[:, -1]
    drift = np.zeros_like(targets)
    drift[:, -1] = velocity
    for column, horizon in enumerate(horizons):
        if horizon < len(velocity):
            seconds = horizon * period_s
            drift[: len(velocity) - horizon, column] = velocity[horizon:] * seconds
    return np.where(np.isfinite(drift), drift, 0.0)
