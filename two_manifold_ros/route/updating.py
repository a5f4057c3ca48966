# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What one tick does to a belief, as one compiled function.

Called one by one from Python, the steps cost as much for their calls as for what they do, and
between two ticks of a live stream all that has left the caches. Arrays come in groups of what
belongs together. These are plain tuples: of those the compiler knows the types at once.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.route.placeless import log_placeless, MOST_APART, Placeless
from two_manifold_ros.route.steps import STANDS
from two_manifold_ros.typing import Bools, Floats, Indices

if HAVE_NUMBA:
    from two_manifold_ros.route.passes import take_features, whiten
    from two_manifold_ros.route.reading import mean_state
    from two_manifold_ros.route.steps import go_over, measure, move, weigh
else:
    from two_manifold_ros.route.array_steps import (
        go_over,
        mean_state,
        measure,
        move,
        take_features,
        weigh,
        whiten,
    )

Tables: TypeAlias = tuple[Floats, Floats, Floats]
"""Of a belief: chances, paces and spreads (P, 6)."""

Found: TypeAlias = tuple[Indices, Bools, Indices]
"""
Places (P,): the first are those that have any probability; whether each is reached; and the first
of the last are those that are.
"""

Room: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats]
"""What moved (P, 6, 3), log-likelihoods (P, 6), distances (P,), what jumped (3,), sums (7,)."""

Ways: TypeAlias = tuple[Indices, Indices, Indices, Floats, Floats, Floats, Floats, Floats, Floats]
"""See ``steps.move``: begins, targets, steps, shares, moves, variances, rates, pulls and
fastest."""

Changes: TypeAlias = tuple[Floats, Floats, Floats]
"""See ``steps.go_over``: exchanges, jumps and stops."""

Looks: TypeAlias = tuple[
    Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats
]
"""
See ``steps.measure`` and ``steps.weigh``: means, slopes and squares, the same of who is new,
noise, levels, heights and columns.
"""

Sight: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]
"""
From an observation to what places look like.

Gains (m,), slow means (m, d) and features (f,) of a stream; the whitening of features (f, f) and
of the observation alone (d, d), with room for both; and the forward acceleration (d,).
"""

Scalars: TypeAlias = tuple[float, float, float, float, float]
"""
Forward acceleration of an observation of zeros, persistence, level of who is new, and ``halts``
and ``mistakable`` of ``Route``.
"""

LARGEST_PULL = 100.0
"""Forward acceleration, m/s^2, beyond which an observation tells none: no vehicle has that."""

FORWARD, RESTING, HALTS, MOVING = 1, 2, 9, 10
"""Entries of the motion of ``steps.move`` that change from tick to tick."""

OFFSET, SHARPNESS, STANDS_LOG, ANYTHING_LOG = 2, 3, 5, 6
"""Entries of the numbers of ``steps.measure``, all but the second changing as well."""


@compiled
def predict(
    tables: Tables, found: Found, room: Room, ways: Ways, tick_lengths: Floats, changes: Changes,
    motion: Floats, count: int, elsewhere: float,
) -> tuple[int, float]:  # fmt: skip
    """
    Move on by a tick.

    Parameters
    ----------
    tables, found, room
        Of the belief; changed.
    ways, changes
        Of the route.
    tick_lengths : (P,)
        See ``Route``; zeros where nothing tells that a pace changed.
    motion : (11,)
        See ``steps.move``.
    count, elsewhere
        Of the places that have any probability, and probability of being at none.

    Returns
    -------
    count, elsewhere
        Of the places that are reached, and as above.

    """
    chances, paces, spreads = tables
    active, reached, order = found
    moved, _, _, jumped, sums = room
    begins, targets, steps, shares, moves, variances, rates, pulls, fastest = ways
    exchanges, jumps, stops = changes
    count = move(
        chances, paces, spreads, active, count, begins, targets, steps, shares, moves, variances,
        rates, tick_lengths, pulls, fastest, motion, moved, reached, order,
    )  # fmt: skip
    elsewhere = go_over(
        chances, paces, spreads, moved, order, count, motion, exchanges, jumps, stops, elsewhere,
        jumped, sums,
    )  # fmt: skip
    return count, elsewhere


@compiled
def update(
    observation: Floats, first: bool, tables: Tables, found: Found, room: Room, sight: Sight,
    scalars: Scalars, placeless: Placeless, ways: Ways, tick_lengths: Floats, changes: Changes,
    looks: Looks, motion: Floats, numbers: Floats, count: int, elsewhere: float, resting: float,
    totals: Floats, states: Floats, state: Floats,
) -> tuple[float, float, int, float]:  # fmt: skip
    """
    Move on by a tick and take its observation.

    Parameters
    ----------
    observation : (d,)
        Of the tick.
    first
        Whether it is the first one of a drive.
    tables, found, room, tick_lengths, motion, count, elsewhere
        As for `predict`.
    sight, scalars, placeless, ways, changes, looks
        Of the route.
    numbers : (7,)
        See ``steps.measure``.
    resting
        What the sensor of the forward acceleration tells at rest, m/s^2.
    totals : (7,)
        Filled with the probabilities of ``HYPOTHESES``.
    states : (P, k), state : (k,)
        Of the places; their mean, filled.

    Returns
    -------
    evidence, shift
        Mean likelihood, and the logarithm of what it is a multiple of; 0 where nothing is left,
        which is then neither a belief nor a number.
    count, resting
        As above, after the tick.

    """
    gains, slow_means, features, whitening, whitened, new_whitening, newest, forward_of = sight
    forward_offset, persistence, new_level, halts, mistakable = scalars
    take_features(observation, gains, slow_means, features, first)
    forward = forward_offset
    for k in range(len(observation)):
        forward += forward_of[k] * observation[k]
    if not abs(forward) <= LARGEST_PULL:
        forward = resting
    motion[FORWARD], motion[RESTING] = forward, resting
    count, elsewhere = predict(
        tables, found, room, ways, tick_lengths, changes, motion, count, elsewhere
    )
    means = features[: len(features) - len(observation)]
    stands, anything, lasting, moves_by = log_placeless(
        placeless, observation, means, persistence, numbers[SHARPNESS], first
    )
    motion[MOVING] = 1.0 / (1.0 + math.exp(min(-moves_by, MOST_APART)))
    motion[HALTS] = halts / (1.0 + math.exp(min(moves_by + mistakable, MOST_APART)))
    numbers[OFFSET] = lasting + new_level
    numbers[STANDS_LOG], numbers[ANYTHING_LOG] = stands, anything
    whiten(whitening, features, whitened)
    whiten(new_whitening, observation, newest)
    chances, paces, spreads = tables
    active, reached, order = found
    _, logs, distances, jumped, _ = room
    usual, slopes, squares, new_means, new_slopes, new_squares, noise, levels = looks[:8]
    heights, columns = looks[8:]
    shift = measure(
        chances, paces, spreads, order, count, whitened, usual, slopes, squares, newest, new_means,
        new_slopes, new_squares, noise, levels, numbers, logs,
    )  # fmt: skip
    evidence, count = weigh(
        chances, paces, spreads, order, reached, count, jumped, newest, columns, noise, heights,
        numbers, logs, shift, elsewhere, distances, active, totals,
    )  # fmt: skip
    # As long as it stands, the sensor tells what it reads at rest on this day and slope.
    resting += totals[STANDS] * persistence * (forward - resting)
    mean_state(chances, active[:count], states, state)
    return evidence, shift, count, resting
