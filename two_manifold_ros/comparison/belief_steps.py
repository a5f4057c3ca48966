# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The two steps of a histogram filter over training ticks: move, then weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

LEAST_LOGARITHM = -100.0
"""Of a likelihood, relative to the largest: no weight, nor its fourth power, is ever zero, so a
mean over ticks of little weight is still a mean."""


@compiled
def _move_loops(
    weights: Floats, ages: Ints, stay: float, skip: float, jump: float, moved: Floats
) -> None:
    step = 1.0 - stay - skip
    kept = 0.0
    for i in range(weights.size):
        value = stay * weights[i]
        if ages[i] > 0:
            value += step * weights[i - 1]
        if ages[i] > 1:
            value += skip * weights[i - 2]
        moved[i] = (1.0 - jump) * value
        kept += moved[i]
    anywhere = (1.0 - kept) / weights.size
    for i in range(weights.size):
        moved[i] += anywhere


def _move_arrays(
    weights: Floats, ages: Ints, stay: float, skip: float, jump: float, moved: Floats
) -> None:
    step = 1.0 - stay - skip
    moved[:] = stay * weights
    moved[1:] += np.where(ages[1:] > 0, step * weights[:-1], 0.0)
    moved[2:] += np.where(ages[2:] > 1, skip * weights[:-2], 0.0)
    moved *= 1.0 - jump
    moved += (1.0 - moved.sum()) / len(weights)


move = _move_loops if HAVE_NUMBA else _move_arrays
"""
Move weights along their stretches of the recording by 0, 1 or 2 ticks.

Parameters
----------
weights : (n,)
    Sum to one.
ages : (n,) int64
    How many ticks of the same stretch come before each.
stay, skip
    Probabilities of 0 and of 2 ticks; that of 1 is the rest.
jump
    Probability of going anywhere. What leaves the end of a stretch goes anywhere too.
moved : (n,)
    Filled; sums to one, and no entry is below ``jump / n``.

"""


@compiled
def _weigh_loops(weights: Floats, distances: Floats, temperature: float) -> None:
    nearest = np.inf
    for i in range(distances.size):
        nearest = min(nearest, distances[i])
    total = 0.0
    for i in range(weights.size):
        logarithm = (nearest - distances[i]) / (2.0 * temperature)
        weights[i] *= np.exp(max(logarithm, LEAST_LOGARITHM))
        total += weights[i]
    for i in range(weights.size):
        weights[i] /= total


def _weigh_arrays(weights: Floats, distances: Floats, temperature: float) -> None:
    logarithms = (distances.min() - distances) / (2.0 * temperature)
    weights *= np.exp(np.maximum(logarithms, LEAST_LOGARITHM))
    weights /= weights.sum()


weigh = _weigh_loops if HAVE_NUMBA else _weigh_arrays
"""
Multiply weights by exp(-D / (2 T)), relative to the nearest tick, and let them sum to one.

Parameters
----------
weights : (n,)
    Positive; updated.
distances : (n,)
    Squared distances D of the live window to the training windows.
temperature
    T, in the units of the distances.

"""
