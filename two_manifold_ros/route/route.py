# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The map of a route, the hypotheses about a vehicle on it, and the limits of the belief.

Groups of the map that are named tuples are taken by compiled code as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from two_manifold_ros.typing import Floats, Ints

PLACED = ('on', 'on new', 'slow', 'free motion', 'stands', 'off', 'off new')
"""Hypotheses with a place, the rows of a belief, see `belief`; settled, or new there."""

HYPOTHESES = (*PLACED, 'elsewhere')
"""All hypotheses; elsewhere, on no known road, there is no place."""

JUMPED = ('on new', 'off', 'off new')
"""Hypotheses that may start at any place from one tick to the next (uniform restart)."""

ROWS = len(PLACED)
ON, ON_NEW, SLOW, FREE, STANDS, OFF, OFF_NEW = range(ROWS)

SETTLED = 2.0
"""Time constants after which a slow mean remembers 14 % of where it started."""

MEMORIES = (0.5, 1.5)
"""Time constants of the slow means, in memories of the observations, see `visits.memory_of`."""

PLACES_ALONG = 4
"""Places before and behind over which usual speeds are averaged: a short step is noisy."""


class Limits(NamedTuple):
    """Cut-offs of the belief and of the map; the compiled steps read them as constants."""

    # Probabilities: of a place below which it is dropped, at most; of a row below which it is not
    # propagated; of a move, a combination of forks and a way below which they are left out; and
    # share of the largest probability of a place below which it moves no read position.
    faint: float = 1e-6
    nothing: float = 1e-12
    least_move: float = 1e-5
    least_way: float = 1e-4
    least_share: float = 1e-5
    # Squared whitened distance at which the likelihood is cut off; difference of log-likelihoods
    # beyond which the smaller is nothing.
    farthest: float = 1e4
    most_apart: float = 100.0
    # Speed ratios: the largest; and the one below which no lap is a slow one.
    fastest: float = 3.0
    slowest: float = 0.45
    # Share of the learned slopes in how an observation depends on the speed ratio of a slow lap;
    # the rest is physics.
    learned_slopes: float = 0.3
    # Of a speed ratio, of a move in places, and of the usual changes of a speed ratio in a tick:
    # all are divided by.
    least_variance: float = 1e-6
    least_step_variance: float = 1e-2
    least_change: float = 1e-6
    # Standard deviations of the usual speed ratios within which features are linear in them.
    usual_ratios: float = 3.0
    # Residual of a channel at which it is clipped before it enters the sensor offsets.
    farthest_off: float = 1.0
    # Forward acceleration, m/s^2, beyond which the sensor is not believed.
    largest_pull: float = 100.0
    # Rows of the table of moves to one place more in the mean.
    rows_a_place: int = 8
    # Places per tick: a vehicle that stops in a place would have none.
    least_rate: float = 0.1
    largest_rate: float = 3.5
    # Of a density, in standard deviations squared, so that a channel that never moved has one.
    least_spread: float = 1e-4


LIMITS = Limits()


class Density(NamedTuple):
    """
    A Student-t density of observations that does not depend on the place.

    The expected observation is ``offset`` (d,) plus ``slopes`` (d, m) times the slow means;
    ``root`` (d, d) is the inverse Cholesky factor of the covariance, lower triangular; ``level``
    is the log-density at the centre, less that of the route's own density at the usual noise;
    ``tail`` are the degrees of freedom.
    """

    slopes: Floats
    offset: Floats
    root: Floats
    level: float
    tail: float


class RouteGeometry(NamedTuple):
    """
    Where each of the P places leads: ways ``begins[i]`` to ``begins[i + 1]`` are those of place i.

    Of each way (L,): where it leads, in how many steps, and the share of the drives that did.
    """

    begins: Ints
    targets_of: Ints
    steps_of: Ints
    shares_of: Floats


class RouteMotion(NamedTuple):
    """
    How fast vehicles are. The *speed ratio* is the speed over the usual one of the place.

    Row j of ``moves`` (J, M + 1) are the probabilities to move by 0 to M places in a tick, of the
    mean j / ``moves_a_row``. At each place (P,): ``rates``, places per tick at the usual speed;
    ``tick_lengths``, the tick over the usual speed, s^2/m, negative in reverse; ``pulls``, the
    usual forward acceleration, m/s^2; ``fastest``, the largest speed ratio in free motion.
    ``ratio_spread`` is the standard deviation of the usual speed ratios, ``ratio_kept`` the part
    of a speed ratio's difference from one that a tick leaves, ``ratio_noise`` the variance that
    free motion gains in a tick. The forward acceleration, m/s^2, is ``forward`` (d,) times the
    observation plus ``forward_offset``; ``trust`` is the share of the change of a speed ratio
    computed from it that positions bear out, up to the change ``usual_change`` in a tick.
    """

    moves: Floats
    moves_a_row: float
    rates: Floats
    tick_lengths: Floats
    pulls: Floats
    ratio_spread: float
    ratio_kept: float
    ratio_noise: float
    forward: Floats
    forward_offset: float
    trust: float
    usual_change: float
    fastest: Floats


@dataclass(frozen=True)
class RouteLikelihood:
    """
    Density of an observation of d channels, from m slow means of each: f = d + d m features.

    ``gains`` (m,) are the shares of a new observation in each kind of slow mean. ``whitening`` (f,
    f), lower triangular, is multiplied to the left of features, the last d of which are then those
    of the observation given its slow means; ``means`` and ``slopes`` (P, f) are the usual whitened
    features of a place, and what they gain per unit of log-ratio. ``new_whitening`` (d, d),
    ``new_means`` and ``new_slopes`` (P, d) are the same of the observation alone, and
    ``new_level`` its log-density at the centre less that given its slow means. ``noise`` (P,) is
    the variance of the features at a place over the usual one. ``sharpness`` is the exponent of
    the likelihood, ``persistence`` the weight in it of the slow means, ``tail`` its degrees of
    freedom.

    ``rest``, ``other`` and ``slow`` are densities of an observation given its slow means:
    standing, on any road and at a low speed. ``rest_alone`` is of standing regardless of the slow
    means; ``rest_means`` and ``other_means`` are of these. ``shifts`` and ``exponents`` (d,):
    standard deviation of a channel's offset from one day to another, and power of the speed ratio
    with which it grows from its reading at rest; 0 where unknown.
    """

    gains: Floats
    whitening: Floats
    means: Floats
    slopes: Floats
    new_whitening: Floats
    new_means: Floats
    new_slopes: Floats
    new_level: float
    noise: Floats
    sharpness: float
    persistence: float
    tail: float
    rest: Density
    rest_alone: Density
    rest_means: Density
    other: Density
    other_means: Density
    slow: Density
    shifts: Floats
    exponents: Floats

    @property
    def channels(self) -> int:
        """Channels of an observation, d."""
        return int(self.new_means.shape[1])

    def usual(self) -> tuple[Floats, Floats]:
        """Return usual observations (P, d), not whitened, and what they gain per log-ratio."""
        # Whitened by a lower triangle, they come back by its inverse.
        root = np.linalg.inv(self.new_whitening).T
        return self.new_means @ root, self.new_slopes @ root


class RouteSwitching(NamedTuple):
    """
    Probabilities of the hypotheses at a start, and to switch between them per tick.

    ``exchanges`` (8, 8) are between ``HYPOTHESES`` at the same place, ``jumps`` (8, 3) to each of
    ``JUMPED`` at any place; each row of both sums to one. Those from free motion hold for a
    vehicle at just that speed ratio. ``beginnings`` (2, P): that a drive starts at each place,
    rolling and standing; all sum to one. ``stops`` (2, P): that a vehicle stops at each place, and
    that one standing there drives on, as in training. ``halts``: that a vehicle in free motion
    which looks like standing does stand; ``rolls``: that one which pulled away has its usual
    speed; ``finds``: that one which has not driven as usual since the start is on the route where
    it drives as on it. ``mistakable`` is the log-likelihood ratio of standing over driving that a
    hundredth of the driving of the training exceeds, and that is thus no sign of standing.
    """

    exchanges: Floats
    jumps: Floats
    beginnings: Floats
    stops: Floats
    halts: float
    rolls: float
    finds: float
    mistakable: float


@dataclass(frozen=True)
class RouteReadout:
    """
    From a belief on the places to positions at H + 1 horizons, and to the state.

    ``targets`` and ``drifts`` (P, H + 1, 2) are positions at the horizons and the velocity, metres
    and m/s, and what they gain per unit of log-ratio; ``covariances`` (P, H + 1, 2, 2) those of
    the visits around them, which ``factors`` (H + 1,) calibrate; ``states`` (P, k) the mean
    two-manifold states, the constant first.
    """

    targets: Floats
    drifts: Floats
    covariances: Floats
    factors: Floats
    states: Floats


@dataclass(frozen=True)
class Route:
    """The map of a route, of P places, as a Bayes filter takes it."""

    geometry: RouteGeometry
    motion: RouteMotion
    likelihood: RouteLikelihood
    switching: RouteSwitching
    readout: RouteReadout

    @property
    def places(self) -> int:
        """Number of places, P."""
        return len(self.motion.rates)
