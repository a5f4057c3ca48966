# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Arrays that the compiled steps of a belief take, in groups with names, and how a map fills them.

Python hands them over as plain tuples, see `plain`: the compiler knows the types of these at once,
where those of named ones cost a third of a tick. Compiled code gives them their names again.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.route import (
    Density,
    LIMITS,
    Route,
    RouteGeometry,
    RouteLikelihood,
    RouteMotion,
    RouteSwitching,
)

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Indices


class Cells(NamedTuple):
    """Probability, mean and variance of the speed ratio, of each row at each place: (P, 7)."""

    chances: Floats
    ratios: Floats
    spreads: Floats


class Reach(NamedTuple):
    """
    Places (P,) with any probability.

    The first ``count`` of ``active`` are these, before a prediction and after an update; in
    between ``reached`` says which a prediction reaches, the first ``count`` of ``order``.
    """

    active: Indices
    reached: Bools
    order: Indices


class Scratch(NamedTuple):
    """Scratch arrays of a tick: moved (P, 7, 3), logs (P, 7), distances, restarts, sums."""

    moved: Floats
    logs: Floats
    distances: Floats
    jumped: Floats
    sums: Floats


class Buffers(NamedTuple):
    """
    Arrays of a belief, all changed by a tick.

    ``carry`` (5,) is for the next tick: the forward acceleration that the sensor reads at rest,
    m/s^2, the chances to halt, to move and to roll, and the weight ``unfound`` of `steps.switch`.
    ``totals`` (8,) are the probabilities of ``HYPOTHESES``, ``state`` (k,) is the mean state.
    """

    cells: Cells
    reach: Reach
    scratch: Scratch
    carry: Floats
    totals: Floats
    state: Floats


class Usual(NamedTuple):
    """
    Likelihood of an observation at each place: usual features, weighted, and what follows of them.

    ``means`` and ``slopes`` (P, f) are features at the usual speed and what they gain by the speed
    ratio, ``squares`` (P,) the squared norms of the slopes; ``new_...`` the same of the
    observation alone, and ``columns`` (d, P) its means transposed. ``levels`` are minus half the
    logarithm of the ``noise`` (P,); ``heights`` (P,) those of the densities of a new vehicle: one
    over the noise to the power with which it enters.

    On a slow lap ``bends`` (P, d) are half the second derivatives of the new means by the speed
    ratio, ``at_rest`` (d,) the whitened observation of a standing vehicle, and ``slow_from`` (P,)
    the speed ratio from which on a vehicle may drive one. ``freedom`` is the number of features
    that count for a settled vehicle, ``calm`` the spread of the forward acceleration that a
    standing vehicle reads, m/s^2.
    """

    means: Floats
    slopes: Floats
    squares: Floats
    new_means: Floats
    new_slopes: Floats
    new_squares: Floats
    noise: Floats
    levels: Floats
    heights: Floats
    columns: Floats
    bends: Floats
    at_rest: Floats
    slow_from: Floats
    tail: float
    sharpness: float
    persistence: float
    new_level: float
    freedom: float
    calm: float


class Placeless(NamedTuple):
    """
    Densities of a ``RouteLikelihood``, and what else does not depend on the place.

    ``starts`` (2,) are the chances that drives of the training started rolling and standing,
    ``apart`` (f,) is scratch.
    """

    rest: Density
    rest_alone: Density
    rest_means: Density
    other: Density
    other_means: Density
    slow: Density
    starts: Floats
    apart: Floats


class Features(NamedTuple):
    """
    From an observation to features (f,).

    ``gains`` (m,) are its shares in the slow ``means`` (m, d); ``features`` (f,) those of a
    stream, ``whitened`` by ``whitening`` (f, f), and ``newest`` (d,) the observation alone by its
    own.
    """

    gains: Floats
    means: Floats
    features: Floats
    whitening: Floats
    whitened: Floats
    new_whitening: Floats
    newest: Floats


class Prepared(NamedTuple):
    """A ``RouteLikelihood`` laid out, and the stream that it looks at."""

    placeless: Placeless
    usual: Usual
    stream: Features


class Known(NamedTuple):
    """
    Groups of the ``Route``, the indices of the geometry unsigned, and what follows of them.

    ``variances`` (J,) are those of the moves, ``gained`` is the variance of a speed ratio that a
    tick adds at the usual speed, and ``states`` (P, k) are the mean states.
    """

    likelihood: Prepared
    geometry: RouteGeometry
    motion: RouteMotion
    switching: RouteSwitching
    variances: Floats
    gained: float
    states: Floats


def plain(group: Any) -> Any:  # noqa: ANN401 - any nested tuple of arrays
    """Return named tuples within each other as plain ones."""
    return tuple(map(plain, group)) if isinstance(group, tuple) else group


def prepared(
    likelihood: RouteLikelihood, motion: RouteMotion, starts: Floats, calm: float
) -> Prepared:
    """Lay out a likelihood; ``starts`` as in `Placeless`, ``calm`` as in `Usual`."""
    channels, tail = likelihood.channels, likelihood.tail
    hidden = likelihood.means.shape[1] - channels
    weights = np.concatenate([np.full(hidden, likelihood.persistence), np.ones(channels)])
    scale = np.sqrt(weights)
    # Seconds a metre, up to a factor; their mean over places is that of a lap.
    slowness = np.abs(motion.tick_lengths)
    slopes = np.ascontiguousarray(likelihood.slopes * scale)
    return Prepared(
        Placeless(
            likelihood.rest,
            likelihood.rest_alone,
            likelihood.rest_means,
            likelihood.other,
            likelihood.other_means,
            likelihood.slow,
            starts,
            apart=np.zeros(len(scale)),
        ),
        Usual(
            means=np.ascontiguousarray(likelihood.means * scale),
            slopes=slopes,
            squares=np.square(slopes).sum(axis=1),
            new_means=np.ascontiguousarray(likelihood.new_means),
            new_slopes=np.ascontiguousarray(likelihood.new_slopes),
            new_squares=np.square(likelihood.new_slopes).sum(axis=1),
            noise=likelihood.noise,
            levels=-0.5 * np.log(likelihood.noise),
            heights=likelihood.noise ** (-channels / (tail + channels)),
            columns=np.ascontiguousarray(likelihood.new_means.T),
            bends=_bends(likelihood),
            at_rest=likelihood.new_whitening @ likelihood.rest_alone.offset,
            slow_from=np.maximum(LIMITS.slowest, LIMITS.surely_fast * slowness / slowness.mean()),
            tail=tail,
            sharpness=float(likelihood.sharpness),
            persistence=float(likelihood.persistence),
            new_level=likelihood.new_level,
            freedom=float(weights.sum()),
            calm=calm,
        ),
        Features(
            gains=likelihood.gains,
            means=np.zeros((len(likelihood.gains), channels)),
            features=np.zeros(len(scale)),
            whitening=np.ascontiguousarray(likelihood.whitening * scale[:, None]),
            whitened=np.zeros(len(scale)),
            new_whitening=np.ascontiguousarray(likelihood.new_whitening),
            newest=np.zeros(channels),
        ),
    )


def known_of(route: Route) -> Known:
    """Lay out a route for the compiled steps."""
    motion, likelihood = route.motion, route.likelihood
    moves = motion.moves
    steps = np.arange(float(moves.shape[1]))
    resting = np.linalg.solve(likelihood.rest_alone.root.T, motion.forward)
    calm = max(float(np.linalg.norm(resting)), 1e-9)
    return Known(
        likelihood=prepared(likelihood, motion, route.switching.beginnings.sum(axis=1), calm),
        geometry=unsigned(route.geometry),
        motion=motion,
        switching=route.switching,
        variances=moves @ steps**2 - (moves @ steps) ** 2,
        gained=motion.ratio_spread**2 * (1.0 - motion.ratio_kept**2),
        states=route.readout.states,
    )


def unsigned(geometry: RouteGeometry) -> Any:  # noqa: ANN401 - which no index of a map is
    """Return indices as compiled code takes them fastest: it need not look for negative ones."""
    return RouteGeometry._make(
        each.astype(np.uint32) if each.dtype.kind == 'i' else each for each in geometry
    )


def _bends(likelihood: RouteLikelihood) -> Floats:
    """
    Return half the second derivatives (P, d) of whitened observations by the speed ratio.

    An observation is a parabola in it: through that of standing, and at the usual speed through
    the usual one with a slope that is a mixture of physics and what was learned.
    """
    means, slopes = likelihood.usual()
    moving, exponents = means - likelihood.rest_alone.offset, likelihood.exponents
    # Rates of turning grow with the speed, accelerations with its square. Learned slopes alone,
    # from laps at much the same speed, are noise that is extrapolated.
    share = np.where(exponents > 0.0, LIMITS.learned_slopes, 1.0)
    slopes = exponents * moving + share * (slopes - exponents * moving)
    return np.ascontiguousarray((slopes - moving) @ likelihood.new_whitening.T)
