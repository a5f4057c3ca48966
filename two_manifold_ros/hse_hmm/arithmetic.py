# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The arithmetic of one filter step, compiled and in NumPy, with the same numbers.

Tables are passed transposed, (k, n), so that every inner loop runs along memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@compiled
def _gaussian_loops(
    observations: Floats, observation: Floats, bandwidth: float, factors: Floats
) -> None:
    # exp(-s) = (1 / exp(s / 4096))^4096 by a Taylor polynomial and twelve squarings, which the
    # compiler turns into vector code; a call of exp() per training tick would cost four times
    # more. Relative error below 1e-10; s is cut at 700, where exp(-s) is 1e-304.
    scale = 0.5 / (bandwidth * bandwidth)
    factors[:] = 0.0
    for c in range(observation.size):
        value = observation[c]
        for i in range(factors.size):
            difference = value - observations[c, i]
            factors[i] += difference * difference
    for i in range(factors.size):
        y = -min(factors[i] * scale, 700.0) / 4096.0
        e = 1.0 + y / 9.0
        e = 1.0 + y / 8.0 * e
        e = 1.0 + y / 7.0 * e
        e = 1.0 + y / 6.0 * e
        e = 1.0 + y / 5.0 * e
        e = 1.0 + y / 4.0 * e
        e = 1.0 + y / 3.0 * e
        e = 1.0 + y / 2.0 * e
        e = 1.0 + y * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        e = e * e
        factors[i] = e * e


def _gaussian_arrays(
    observations: Floats, observation: Floats, bandwidth: float, factors: Floats
) -> None:
    factors[:] = np.square(observations - observation[:, None]).sum(axis=0)
    np.minimum(factors * (0.5 / bandwidth**2), 700.0, out=factors)
    np.exp(-factors, out=factors)


gaussian_factors = _gaussian_loops if HAVE_NUMBA else _gaussian_arrays
"""
Evaluate the Gaussian kernel between one observation and many.

Parameters
----------
observations : (d, n)
    One row a channel.
observation : (d,)
bandwidth
factors : (n,)
    Filled.

"""


@compiled
def _implied_loops(table: Floats, state: Floats, weights: Floats) -> None:
    weights[:] = 0.0
    for j in range(state.size):
        coefficient = state[j]
        for i in range(weights.size):
            weights[i] += coefficient * table[j, i]


def _implied_arrays(table: Floats, state: Floats, weights: Floats) -> None:
    np.matmul(state, table, out=weights)


implied_weights = _implied_loops if HAVE_NUMBA else _implied_arrays
"""
Weights on the training ticks from a state, eq. (3.2).

Parameters
----------
table : (k, n)
    Transposed weight table.
state : (k,)
weights : (n,)
    Filled.

"""


@compiled
def _reweight_loops(weights: Floats, factors: Floats) -> tuple[float, float]:
    total = 0.0
    absolute = 0.0
    for i in range(weights.size):
        product = weights[i] * factors[i]
        weights[i] = product
        total += product
        absolute += abs(product)
    return total, absolute


def _reweight_arrays(weights: Floats, factors: Floats) -> tuple[float, float]:
    weights *= factors
    return float(weights.sum()), float(np.abs(weights).sum())


reweight = _reweight_loops if HAVE_NUMBA else _reweight_arrays
"""
Multiply weights by factors in place; return their sum and the sum of their magnitudes.

Parameters
----------
weights, factors : (n,)

"""


@compiled
def _next_state_loops(table: Floats, weights: Floats, state: Floats) -> None:
    for j in range(state.size):
        total = 0.0
        for i in range(weights.size):
            total += table[j, i] * weights[i]
        state[j] = total
    first = state[0]
    for j in range(state.size):
        state[j] /= first


def _next_state_arrays(table: Floats, weights: Floats, state: Floats) -> None:
    np.matmul(table, weights, out=state)
    state /= state[0]


next_state = _next_state_loops if HAVE_NUMBA else _next_state_arrays
"""
State one tick later from the weights now, normalised by its first coordinate, eq. (6.2).

Parameters
----------
table : (k, n)
    Transposed state table.
weights : (n,)
    Need not sum to one.
state : (k,)
    Filled.

"""
