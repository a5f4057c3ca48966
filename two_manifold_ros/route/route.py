# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The map of a route: what is usual at each place, and how a belief moves along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

PLACED = ('on', 'on new', 'own pace', 'stands', 'off', 'off new')
"""
What a vehicle does at a place: drives on the route, settled or new there, at its own pace there,
or stands there; drives a road of the same pieces off it, settled or new.
"""

HYPOTHESES = (*PLACED, 'elsewhere')
"""All that it does; off the route on no road that is known, it is at no place."""

JUMPED = ('on new', 'off', 'off new')
"""What it may do at any place from one tick to the next."""


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
    moves : (J, M + 1), moves_a_row
        Chances to move by so many places in a tick, each row farther in the mean than the one
        before; and how many rows belong to a place more.
    pace_spread, pace_kept, pace_noise
        Standard deviation of the pace, which is the speed over the usual one of the place; what is
        left of its difference from one after a tick; and the variance that a pace of its own gains
        in a tick.
    trust, usual_change
        Share of the change of pace in a tick that the acceleration tells which is borne out by the
        positions, and the largest change for which it is taken: beyond it all is.
    fastest : (P,)
        Largest pace of its own.
    halts, mistakable
        Chance per tick that a vehicle at a pace of its own which looks like standing does stand;
        and the logarithm by which a hundredth of the driving of the training looks more like
        standing than like driving, which is no sign of it.
    rates, tick_lengths, pulls : (P,)
        Places in a tick at the usual pace, ticks in seconds over the usual speed in m/s, and the
        usual forward acceleration, m/s^2.
    forward : (d,), forward_offset
        Forward acceleration, linear in the observation, m/s^2.
    sharpness, persistence
        Exponent of the likelihood of an observation, and weight in it of what lasts: of the
        slow means beside the observation.
    tail
        Degrees of freedom of that likelihood.
    rest, other
        Densities of an observation given its slow means, standing and on any road.
    rest_alone
        Density of an observation of a standing vehicle, whatever its slow means.
    rest_means, other_means
        Densities of the slow means, standing and on any road.
    slow
        Density of an observation at a low pace, wherever that is.
    exchanges : (7, 7), jumps : (7, 3)
        Chances per tick to go over from one of ``HYPOTHESES`` to another at the same place, and to
        one of ``JUMPED`` at any place; together they sum to one. Of who drives at a pace of its
        own, those to the usual pace and to a standstill are for one whose pace is just that.
    targets, drifts : (P, H + 1, 2)
        Positions at the horizons and the velocity, metres and m/s, and what they gain per unit
        of log-pace.
    covariances : (P, H + 1, 2, 2)
        Of the passes around them.
    factors : (H + 1,)
        Calibration of the covariances.
    states : (P, k)
        Mean two-manifold state at each place, the constant first.
    beginnings : (2, P)
        Chances that a drive begins at each place, rolling and standing; all sum to one.
    shifts : (d,)
        What an observation may be off from one day to another, standard deviation; 0 where nothing
        is known of that.
    stops : (2, P)
        Chances per tick that a vehicle which drives as usual stops at each place, as drives of the
        training did on their way, and that one which stands there drives on.

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
    moves: Floats
    moves_a_row: float
    pace_spread: float
    pace_kept: float
    pace_noise: float
    trust: float
    usual_change: float
    fastest: Floats
    halts: float
    mistakable: float
    rates: Floats
    tick_lengths: Floats
    pulls: Floats
    forward: Floats
    forward_offset: float
    sharpness: float
    persistence: float
    tail: float
    rest: Density
    rest_alone: Density
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
    shifts: Floats
    stops: Floats
