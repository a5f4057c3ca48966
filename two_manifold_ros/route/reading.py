# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a belief on a route says: mean state, positions ahead and their covariances, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.readout.reading import FLOOR

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

LEAST_SHARE = 1e-5
"""Of the largest weight, below which a place moves no position."""


@compiled
def _weight_on_route(cells: Floats, others: Floats, i: int) -> float:
    weight = 0.0
    for k in range(others.shape[2]):
        weight += others[i, 0, k]
    for r in range(cells.shape[2]):
        weight += cells[i, 0, r] + cells[i, 1, r]
    return float(weight)


def _weights_on_route(cells: Floats, others: Floats, active: Ints) -> Floats:
    weights: Floats = cells[active, :2].sum(axis=(1, 2)) + others[active, 0].sum(axis=1)
    return weights


@compiled
def _mean_state_loops(
    cells: Floats, others: Floats, active: Ints, states: Floats, state: Floats
) -> None:
    state[:] = 0.0
    total = 0.0
    for i in active:
        weight = _weight_on_route(cells, others, i)
        if weight > LEAST_SHARE:
            total += weight
            for k in range(len(state)):
                state[k] += weight * states[i, k]
    for k in range(1, len(state)):
        state[k] = state[k] / total if total > 0.0 else 0.0
    state[0] = 1.0


def _mean_state_arrays(
    cells: Floats, others: Floats, active: Ints, states: Floats, state: Floats
) -> None:
    weights = _weights_on_route(cells, others, active)
    chosen = np.flatnonzero(weights > LEAST_SHARE)
    total = weights[chosen].sum()
    state[:] = weights[chosen] @ states[active[chosen]] / total if len(chosen) else 0.0
    state[0] = 1.0


mean_state = _mean_state_loops if HAVE_NUMBA else _mean_state_arrays
"""
Fill the mean state under a belief on the route.

Parameters
----------
cells : (P, 4, r), others : (P, 2, K)
    See ``RouteBelief``.
active : (a,) int64
    Places that have any probability.
states : (P, k)
    The constant first.
state : (k,)
    Filled.

"""


@compiled
def _sum_targets_loops(
    cells: Floats, others: Floats, active: Ints, log_paces: Floats, targets: Floats,
    drifts: Floats, covariances: Floats, means: Floats, sums: Floats,
) -> None:  # fmt: skip
    places, paces, count = len(cells), len(log_paces), targets.shape[1]
    means[:] = 0.0
    sums[:] = 0.0
    largest, total = 0.0, 0.0
    for i in active:
        largest = max(largest, _weight_on_route(cells, others, i))
    least = LEAST_SHARE * largest
    for i in active:
        weight, pace, square = _weight_on_route(cells, others, i), 0.0, 0.0
        if weight < least or not weight > 0.0:
            continue
        for r in range(paces):
            here = cells[i, 0, r] + cells[i, 1, r]
            pace += here * log_paces[r]
            square += here * log_paces[r] * log_paces[r]
        pace /= weight
        spread = max(square / weight - pace * pace, 0.0)
        total += weight
        for c in range(count):
            dx, dy = drifts[i, c, 0], drifts[i, c, 1]
            x, y = targets[i, c, 0] + pace * dx, targets[i, c, 1] + pace * dy
            means[c, 0] += weight * x
            means[c, 1] += weight * y
            sums[c, 0, 0] += weight * (x * x + spread * dx * dx + covariances[i, c, 0, 0])
            sums[c, 0, 1] += weight * (x * y + spread * dx * dy + covariances[i, c, 0, 1])
            sums[c, 1, 1] += weight * (y * y + spread * dy * dy + covariances[i, c, 1, 1])
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


def _sum_targets_arrays(
    cells: Floats, others: Floats, active: Ints, log_paces: Floats, targets: Floats,
    drifts: Floats, covariances: Floats, means: Floats, sums: Floats,
) -> None:  # fmt: skip
    weights = _weights_on_route(cells, others, active)
    largest = weights.max(initial=0.0)
    chosen = np.flatnonzero((weights >= LEAST_SHARE * largest) & (weights > 0.0))
    if len(chosen):
        shares, chosen = weights[chosen], active[chosen]
        driving = cells[chosen, :2].sum(axis=1)
        paces, squares = driving @ log_paces / shares, driving @ log_paces**2 / shares
    else:
        chosen = np.arange(len(cells))
        shares, paces, squares = (np.full(len(cells), value) for value in (1.0, 0.0, 0.0))
    shares = shares / shares.sum()
    spreads = np.maximum(squares - paces**2, 0.0)
    each = targets[chosen] + paces[:, None, None] * drifts[chosen]
    means[:] = np.tensordot(shares, each, 1)
    apart = each - means
    sums[:] = np.einsum('s,sci,scj->cij', shares, apart, apart)
    sums += np.einsum('s,sci,scj->cij', shares * spreads, drifts[chosen], drifts[chosen])
    sums += np.tensordot(shares, covariances[chosen], 1)
    # Products in another order differ by rounding, and a covariance is symmetric to the last bit.
    sums[:, 1, 0] = sums[:, 0, 1]
    for axis in range(2):
        sums[:, axis, axis] = np.maximum(sums[:, axis, axis], FLOOR)


sum_targets = _sum_targets_loops if HAVE_NUMBA else _sum_targets_arrays
"""
Fill mean and covariance of each target under a belief on the route.

Parameters
----------
cells, others, active
    As in ``mean_state``.
log_paces : (r,)
targets, drifts : (P, c, 2), covariances : (P, c, 2, 2)
    See ``Route``.
means : (c, 2), sums : (c, 2, 2)
    Filled.

"""
