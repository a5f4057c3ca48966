# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a belief on a route says: mean state, positions ahead and their covariances, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.hse_hmm.readout import FLOOR
from two_manifold_ros.route.steps import OFF, OWN_PACE, STANDS, USUAL_PACES

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Indices

LEAST_SHARE = 1e-5
"""Of the largest weight, below which a place moves no position."""


@compiled
def mean_state(chances: Floats, active: Indices, states: Floats, state: Floats) -> None:
    """
    Fill the mean state under a belief on the route.

    Parameters
    ----------
    chances : (P, 6)
        Probabilities of the rows of ``PLACED`` at each place; the first four are on the route.
    active : (a,) uint32
        Places that have any probability.
    states : (P, k)
        The constant first.
    state : (k,)
        Filled.

    """
    state[:] = 0.0
    total = 0.0
    for i in active:
        weight = 0.0
        for h in range(OFF):
            weight += chances[i, h]
        if weight > LEAST_SHARE:
            total += weight
            for k in range(len(state)):
                state[k] += weight * states[i, k]
    for k in range(1, len(state)):
        state[k] = state[k] / total if total > 0.0 else 0.0
    state[0] = 1.0


@compiled
def sum_targets(  # noqa: C901, PLR0915 - one loop for numba
    chances: Floats, paces: Floats, spreads: Floats, active: Indices, spread: float,
    targets: Floats, drifts: Floats, covariances: Floats, means: Floats, sums: Floats,
) -> None:  # fmt: skip
    """
    Fill means and covariances of positions ahead, and of the velocity, under a belief.

    Where nothing is left of the route all of its places count alike.

    Parameters
    ----------
    chances, paces, spreads : (P, 6)
        Of the rows of ``PLACED``: probabilities, and mean and variance of the pace.
    active : (a,) uint32
        Places that have any probability.
    spread
        Of the usual paces; positions ahead are those of a usual pace.
    targets, drifts : (P, H + 1, 2), covariances : (P, H + 1, 2, 2)
        See ``Route``.
    means : (H + 1, 2), sums : (H + 1, 2, 2)
        Filled.

    """
    places, count = len(chances), targets.shape[1]
    bound = USUAL_PACES * spread
    means[:] = 0.0
    sums[:] = 0.0
    largest, total = 0.0, 0.0
    for i in active:
        weight = 0.0
        for h in range(OFF):
            weight += chances[i, h]
        largest = max(largest, weight)
    for i in active:
        weight, pace, square, speed, speeds = 0.0, 0.0, 0.0, 0.0, 0.0
        for h in range(OFF):
            weight += chances[i, h]
        if weight < LEAST_SHARE * largest or not weight > 0.0:
            continue
        for h in range(OFF):
            here = 0.0 if h == STANDS else min(max(paces[i, h] - 1.0, -bound), bound)
            own = 0.0 if h == STANDS else min(spreads[i, h], bound * bound)
            pace += chances[i, h] * here
            square += chances[i, h] * (here * here + own)
            # Who is at a pace of its own, or stands, is as fast as that.
            share = paces[i, h] if h in (OWN_PACE, STANDS) else 1.0
            speed += chances[i, h] * share
            speeds += chances[i, h] * share * share
        pace /= weight
        speed /= weight
        within = max(square / weight - pace * pace, 0.0)
        speeds = max(speeds / weight - speed * speed, 0.0)
        total += weight
        for c in range(count):
            dx, dy = drifts[i, c, 0], drifts[i, c, 1]
            x, y = targets[i, c, 0] + pace * dx, targets[i, c, 1] + pace * dy
            a, b, d = covariances[i, c, 0, 0], covariances[i, c, 0, 1], covariances[i, c, 1, 1]
            if c == count - 1:
                a, b, d = a + speeds * x * x, b + speeds * x * y, d + speeds * y * y
                x, y = speed * x, speed * y
            means[c, 0] += weight * x
            means[c, 1] += weight * y
            sums[c, 0, 0] += weight * (x * x + within * dx * dx + a)
            sums[c, 0, 1] += weight * (x * y + within * dx * dy + b)
            sums[c, 1, 1] += weight * (y * y + within * dy * dy + d)
    if not total > 0.0:
        # Sure to be off the route: what is known of the route is all there is.
        for i in range(places):
            for c in range(count):
                x, y = targets[i, c, 0], targets[i, c, 1]
                means[c, 0] += x
                means[c, 1] += y
                sums[c, 0, 0] += x * x + covariances[i, c, 0, 0]
                sums[c, 0, 1] += x * y + covariances[i, c, 0, 1]
                sums[c, 1, 1] += y * y + covariances[i, c, 1, 1]
        total = float(places)
    for c in range(count):
        x, y = means[c, 0] / total, means[c, 1] / total
        means[c, 0] = x
        means[c, 1] = y
        sums[c, 0, 0] = max(sums[c, 0, 0] / total - x * x, FLOOR)
        sums[c, 1, 1] = max(sums[c, 1, 1] / total - y * y, FLOOR)
        sums[c, 0, 1] = sums[c, 0, 1] / total - x * y
        sums[c, 1, 0] = sums[c, 0, 1]
