# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pace: how fast the vehicle drives, relative to the training drive it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

STEP = 0.05
"""Between two paces, of the logarithm."""

SPREAD = 0.15
"""Of the paces a vehicle starts with, of the logarithm."""

CHANGE = 0.1
"""Chance per tick that the pace changes."""

_CHANGES = (
    (0, 1.0 - CHANGE),
    (-1, 0.4 * CHANGE),
    (1, 0.4 * CHANGE),
    (-2, 0.1 * CHANGE),
    (2, 0.1 * CHANGE),
)

UNSTEADINESS = 0.3
"""Standard deviation of the move in a tick, in ticks."""

FINENESS = 2
"""
Steps of the map in a tick.

A live tick falls between two training ticks as a rule; with two steps a tick the nearest is half
as far.
"""

LONGEST_MOVE = 3 * FINENESS
"""Steps in a tick."""


@dataclass(frozen=True)
class Paces:
    """
    The paces that a belief knows.

    Parameters
    ----------
    factors : (r,)
        Ticks of a training drive per tick, increasing, 1 in the middle.
    moves : (r, LONGEST_MOVE + 1)
        Chances to move by 0, 1, ... steps of the map in a tick.
    changes : (r, r)
        Chances to go over from one pace (row) to another.
    prior : (r,)
        Chances at the start.

    """

    factors: Floats
    moves: Floats
    changes: Floats
    prior: Floats


def make_paces(each_way: int) -> Paces:
    """Return 1 + 2 each_way paces, a factor of exp(STEP) apart."""
    logarithms = STEP * np.arange(-each_way, each_way + 1)
    factors = np.exp(logarithms)
    prior = np.exp(-0.5 * np.square(logarithms / SPREAD))
    changes = np.zeros((len(factors), len(factors)))
    for pace in range(len(factors)):
        for step, chance in _CHANGES:
            changes[pace, min(max(pace + step, 0), len(factors) - 1)] += chance
    moves = np.array([_moves(factor) for factor in factors])
    return Paces(factors, moves, changes, prior / prior.sum())


def _moves(factor: float) -> Floats:
    """Return the chances to move by 0, 1, ... steps: normal, tilted until the mean is right."""
    steps = np.arange(LONGEST_MOVE + 1)
    wanted = factor * FINENESS
    variance = (UNSTEADINESS * FINENESS) ** 2
    logarithms = -0.5 * np.square(steps - wanted) / variance
    for _ in range(100):
        chances = np.exp(logarithms - logarithms.max())
        chances /= chances.sum()
        logarithms += (wanted - chances @ steps) / variance * steps
    return np.asarray(chances)


def pace_shifts(speeds: Floats, passes: Ints, each_way: int) -> Ints:
    """
    Return by how many paces a hop to another pass changes the pace, so that the speed stays.

    Parameters
    ----------
    speeds : (N,)
        Of the training ticks, NaN where unknown.
    passes : (N, p) int64
        From ``find_passes``.
    each_way
        Paces on either side of 1.

    Returns
    -------
    (N, p) int64
        0 where a speed is not known or there is no pass.

    """
    with np.errstate(divide='ignore', invalid='ignore'):
        shifts = np.log(speeds[:, None] / speeds[passes]) / STEP
    shifts = np.where(np.isfinite(shifts) & (passes >= 0), shifts, 0.0)
    return np.clip(np.round(shifts), -each_way, each_way).astype(np.int64)
