# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The map of a route, the hypotheses about a vehicle on it, and the limits of the belief.

Groups of the map that are named tuples are taken by compiled code as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

PLACED = ('on', 'on new', 'slow', 'free motion', 'stands', 'off', 'off new')
"""
Hypotheses with a place, the rows of a belief.

The vehicle drives on the route, settled (the slow means of the observations are those of the road
behind) or new there; drives a slow lap on it; drives on it in free motion; stands on it; or drives
off it on a road made of the same pieces, settled or new.
"""

HYPOTHESES = (*PLACED, 'elsewhere')
"""All hypotheses; elsewhere, on no known road, there is no place."""

JUMPED = ('on new', 'off', 'off new')
"""Hypotheses that may start at any place from one tick to the next (uniform restart)."""

ROWS = len(PLACED)
ON, ON_NEW, SLOW, FREE, STANDS, OFF, OFF_NEW = range(ROWS)

SETTLED = 2.0
"""Time constants after which a slow mean hardly remembers where it started: 14 % of it."""


class Limits(NamedTuple):
    """
    Cut-offs of the belief and of the map; the compiled steps read them as constants.

    Parameters
    ----------
    faint
        Probability of a place below which it is dropped, at most. A fifth of it changes no error;
        with ten times as much a moved vehicle is found on half of the occasions only.
    nothing
        Probability below which a row is not propagated.
    least_move
        Probability of a move below which it is left out.
    farthest
        Squared whitened distance at which the likelihood is cut off.
    fastest
        Largest speed ratio.
    slowest
        Speed ratio below which no lap is a slow one but the vehicle is elsewhere. The slow laps of
        the simulated worlds have .5 of the usual limits, or more.
    surely_fast
        Times the mean speed of the route that a vehicle has to be as fast as before it is taken to
        drive a slow lap: no lane beside the route is driven that fast. With .7 and .9 laps at half
        of the speed are published on 71 and 65 % (53) of five worlds, and their pit lanes on 22
        and 6 % (1); with 1.2 on 44 and 1 %.
    learned_slopes
        Share of the learned slopes in how an observation depends on the speed ratio of a slow lap;
        the rest is physics. From .15 to .5 the log-likelihoods of slow laps differ by less than a
        tenth.
    least_variance, least_step_variance, least_change
        Of a speed ratio, of a move in places, and of the usual changes of a speed ratio in a tick:
        all are divided by.
    usual_ratios
        Standard deviations of the usual speed ratios within which a place's features are linear in
        the speed ratio.
    farthest_off
        Residual of a channel, standard deviations, at which it is clipped before it enters the
        sensor offsets: braking lasts a second and is no offset. With 3 a vehicle that stands for a
        minute in a test is put half a metre farther; with 0.5 half of the improvement on the
        figure of eight is lost.
    least_share
        Share of the largest probability of a place below which it moves no read position.
    largest_pull
        Forward acceleration, m/s^2, beyond which the sensor is not believed.
    most_apart
        Difference of two log-likelihoods beyond which the smaller one is nothing.
    rows_a_place
        Rows of the table of moves to one place more in the mean; those between are interpolated.
    least_way
        Share of a combination of forks below which it is left out; with .01 no error tried
        changes by more than 5 %.
    least_rate, largest_rate
        Places per tick: a vehicle that stops in a place would have none, and any speed ratio.
    least_spread
        Of a density, in standard deviations squared, so that a channel that never moved has one.

    """

    faint: float = 1e-6
    nothing: float = 1e-12
    least_move: float = 1e-5
    farthest: float = 1e4
    fastest: float = 3.0
    slowest: float = 0.45
    surely_fast: float = 1.1
    learned_slopes: float = 0.3
    least_variance: float = 1e-6
    least_step_variance: float = 1e-2
    least_change: float = 1e-6
    usual_ratios: float = 3.0
    farthest_off: float = 1.0
    least_share: float = 1e-5
    largest_pull: float = 100.0
    most_apart: float = 100.0
    rows_a_place: int = 8
    least_way: float = 1e-4
    least_rate: float = 0.1
    largest_rate: float = 3.5
    least_spread: float = 1e-4


LIMITS = Limits()


@dataclass(frozen=True)
class Density:
    """
    A Student-t density of observations that does not depend on the place.

    Parameters
    ----------
    slopes : (d, m), offset : (d,)
        The expected observation is linear in the slow means; zero slopes for a constant.
    root : (d, d)
        Inverse Cholesky factor of the covariance, lower triangular.
    level
        Log-density at the centre, less that of the route's own density at the usual noise.
    tail
        Degrees of freedom.

    """

    slopes: Floats
    offset: Floats
    root: Floats
    level: float
    tail: float


class RouteGeometry(NamedTuple):
    """
    Where each of the P places leads.

    Parameters
    ----------
    begins : (P + 1,), targets_of, steps_of : (L,) int64, shares_of : (L,)
        Ways of place i, ``begins[i]`` to ``begins[i + 1]``: where each leads in how many steps,
        and the share of the drives that went there.

    """

    begins: Ints
    targets_of: Ints
    steps_of: Ints
    shares_of: Floats


class RouteMotion(NamedTuple):
    """
    How fast vehicles are. The *speed ratio* is the speed over the usual one of the place.

    Parameters
    ----------
    moves : (J, M + 1), moves_a_row
        Probabilities to move by 0 to M places in a tick, the mean growing from row to row; and
        how many rows belong to one place more.
    rates, tick_lengths, pulls : (P,)
        Places per tick at the usual speed; length of a tick over the usual speed, s^2/m, negative
        where the vehicle drives in reverse; and the usual forward acceleration, m/s^2.
    ratio_spread, ratio_kept, ratio_noise
        Standard deviation of the usual speed ratios; what a tick leaves of a speed ratio's
        difference from one; and the variance that free motion gains in a tick.
    forward : (d,), forward_offset
        Forward acceleration, linear in the observation, m/s^2.
    trust, usual_change
        Share of the change of a speed ratio in a tick, computed from the acceleration, that
        positions bear out; and the largest change to which it applies: what is beyond counts in
        full.
    fastest : (P,)
        Largest speed ratio in free motion.

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

    Parameters
    ----------
    gains : (m,)
        Share of a new observation in each kind of slow mean.
    whitening : (f, f)
        Lower triangular, multiplied to the left of features. The last d whitened features are
        those of the observation given its slow means.
    means, slopes : (P, f)
        Usual whitened features of a place, and what they gain per unit of log-ratio.
    new_whitening : (d, d), new_means, new_slopes : (P, d)
        The same of the observation alone, regardless of its slow means.
    new_level
        Log-density at the centre of the observation alone, less that given its slow means.
    noise : (P,)
        Variance of the features at a place over the usual one.
    sharpness, persistence
        Exponent of the likelihood, and the weight in it of the slow means.
    tail
        Degrees of freedom of the likelihood at a place.
    rest, other
        Densities of an observation given its slow means, standing and on any road.
    rest_alone
        Density of an observation of a standing vehicle, regardless of its slow means.
    rest_means, other_means
        Densities of the slow means, standing and on any road.
    slow
        Density of an observation at a low speed on any road.
    shifts : (d,)
        Standard deviation of a channel's offset from one day to another; 0 where unknown.
    exponents : (d,)
        Power of the speed ratio with which a channel grows from its reading at rest; 0 where
        unknown.

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


class RouteSwitching(NamedTuple):
    """
    Probabilities of the hypotheses at a start, and to switch between them per tick.

    Parameters
    ----------
    exchanges : (8, 8), jumps : (8, 3)
        Probabilities per tick to switch between ``HYPOTHESES`` at the same place, and to each of
        ``JUMPED`` at any place; each row of both sums to one. Those from free motion to
        the usual speed and to a standstill hold for a vehicle at just that speed ratio.
    beginnings : (2, P)
        Probabilities that a drive starts at each place, rolling and standing; all sum to one.
    stops : (2, P)
        Probabilities per tick that a vehicle stops at each place, and that one standing there
        drives on, as in training.
    halts, rolls, finds
        Probabilities per tick that a vehicle in free motion which looks like standing does
        stand, that one which pulled away has its usual speed, and that one which has not driven as
        usual since the belief started is on the route where it drives as on it.
    mistakable
        The log-likelihood ratio of standing over driving that a hundredth of the driving of the
        training exceeds, which is thus no sign of standing.

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

    Parameters
    ----------
    targets, drifts : (P, H + 1, 2)
        Positions at the horizons and the velocity, metres and m/s, and what they gain per unit of
        log-ratio.
    covariances : (P, H + 1, 2, 2)
        Of the visits around them.
    factors : (H + 1,)
        Calibration of the covariances.
    states : (P, k)
        Mean two-manifold state at each place, the constant first.

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
