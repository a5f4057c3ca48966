# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The map of a route: what is usual at each place, and how a belief moves along it."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

DRIVING = ('on', 'on new', 'off', 'off new')
"""Ways of driving: on the route or off it, settled or new there."""

ELSE = ('stands', 'creeps', 'slow', 'unlike')
"""What else a vehicle does, on the route or off it."""

HYPOTHESES = (*DRIVING, *(f'{what} {side}' for side in ('on', 'off') for what in ELSE))


@compiled
def _squared_distance_loops(
    slopes: Floats, offset: Floats, root: Floats, observation: Floats, features: Floats
) -> float:
    count = len(offset)
    apart = np.empty(count)
    square = 0.0
    for i in range(count):
        value = observation[i] - offset[i]
        for k in range(len(features)):
            value -= slopes[i, k] * features[k]
        apart[i] = value
        whitened = 0.0
        for k in range(i + 1):
            whitened += root[i, k] * apart[k]
        square += whitened * whitened
    return square


def _squared_distance_arrays(
    slopes: Floats, offset: Floats, root: Floats, observation: Floats, features: Floats
) -> float:
    whitened = np.tril(root) @ (observation - offset - slopes @ features)
    return float(whitened @ whitened)


squared_distance = _squared_distance_loops if HAVE_NUMBA else _squared_distance_arrays
"""
Return the squared distance of an observation to what is expected, by the root of a density.

Parameters
----------
slopes : (d, m), offset : (d,), root : (d, d)
    See ``Density``; the root is lower triangular.
observation : (d,), features : (m,)

"""


@dataclass(frozen=True)
class Density:
    """
    A Student-t density of observations that does not know the place.

    Parameters
    ----------
    slopes : (d, m), offset : (d,)
        The expected observation is linear in the slow means; zero slopes for a constant.
    root : (d, d)
        Inverse of the Cholesky root of the covariance around it, lower triangular.
    level
        Logarithm of the density at its centre, less that of the route's own at usual noise.
    tail
        Degrees of freedom.

    """

    slopes: Floats
    offset: Floats
    root: Floats
    level: float
    tail: float

    def log_density(self, observation: Floats, features: Floats) -> float:
        """Return the logarithm at an observation (d,) after slow means (m,)."""
        square = squared_distance(self.slopes, self.offset, self.root, observation, features)
        freedom = self.tail + len(self.offset)
        return self.level - 0.5 * freedom * math.log1p(square / self.tail)


@dataclass(frozen=True)
class Route:
    """
    The places of a route.

    Parameters
    ----------
    channels
        Of an observation, d.
    gains : (m,)
        Of the slow means among the features.
    whitening : (f, f)
        Lower triangular; multiplied to the left of features. The last d whitened features are
        those of the observation given its slow means.
    means, slopes : (P, f)
        Whitened features that are usual at a place, and what they gain per unit of log-pace.
    new_whitening : (d, d), new_means, new_slopes : (P, d)
        The same of the observation alone, whatever the slow means.
    new_level
        Logarithm of the density of the observation alone at its centre, less that of the
        observation given its slow means.
    noise : (P,)
        Variance of the features at a place over the usual one.
    begins : (P + 1,), targets_of, steps_of : (L,) int64, shares_of : (L,)
        Where each place leads, see ``move``.
    log_paces : (r,)
        Logarithms of the speed over the usual one of the place.
    moves : (r + K, M + 1), pace_changes : (r, r), pace_prior : (r,)
        Chances to move by so many places in a tick (at each pace, and whatever else a vehicle
        does), to change the pace, and of each pace.
    sharpness, persistence
        Exponent of the likelihood of an observation, and weight in it of what lasts: of the
        slow means beside the observation.
    tail
        Degrees of freedom of that likelihood.
    rest, other
        Densities of an observation given its slow means, standing and on any road.
    rest_means, other_means
        Densities of the slow means, standing and on any road.
    slow
        Density of an observation at a low pace, wherever that is.
    exchanges : (4 + 2 K, 4 + 2 K), jumps : (4 + 2 K, 4)
        Chances per tick to go over from one hypothesis to another at the same place, and to
        driving at any place, see `motion.HYPOTHESES`; together they sum to one.
    targets, drifts : (P, H + 1, 2)
        Positions at the horizons and the velocity, metres and m/s, and what they gain per unit
        of log-pace.
    covariances : (P, H + 1, 2, 2)
        Of the passes around them.
    factors : (H + 1,)
        Calibration of the covariances.
    states : (P, k)
        Mean two-manifold state at each place, the constant first.
    beginnings : (P,)
        Share of the drives that began at each place.

    """

    channels: int
    gains: Floats
    whitening: Floats
    means: Floats
    slopes: Floats
    new_whitening: Floats
    new_means: Floats
    new_slopes: Floats
    new_level: float
    noise: Floats
    begins: Ints
    targets_of: Ints
    steps_of: Ints
    shares_of: Floats
    log_paces: Floats
    moves: Floats
    pace_changes: Floats
    pace_prior: Floats
    sharpness: float
    persistence: float
    tail: float
    rest: Density
    rest_means: Density
    other: Density
    other_means: Density
    slow: Density
    exchanges: Floats
    jumps: Floats
    targets: Floats
    drifts: Floats
    covariances: Floats
    factors: Floats
    states: Floats
    beginnings: Floats
