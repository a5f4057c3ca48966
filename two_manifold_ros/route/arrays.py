# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Arrays that the compiled steps of a belief take, in groups with names.

Python hands them over as plain tuples, see `plain`: the compiler knows the types of these at once,
where those of named ones cost a third of a tick. Compiled code gives them their names again.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.route.route import RouteGeometry, RouteMotion, RouteSwitching
    from two_manifold_ros.typing import Bools, Floats, Indices


class Cells(NamedTuple):
    """Probability, mean and variance of the speed ratio, of each row at each place: (P, 7)."""

    chances: Floats
    ratios: Floats
    spreads: Floats


class Reach(NamedTuple):
    """
    Places with any probability: (P,) each.

    Parameters
    ----------
    active
        The first ``count`` are these places, before a prediction and after an update.
    reached
        Whether a prediction reaches a place.
    order
        The first ``count`` are the places reached, between a prediction and an update.

    """

    active: Indices
    reached: Bools
    order: Indices


class Usual(NamedTuple):
    """
    Likelihood of an observation at each place: usual features, weighted, and what follows of them.

    Parameters
    ----------
    means, slopes : (P, f)
        Features at the usual speed, and what they gain by the speed ratio.
    squares : (P,)
        Squared norms of the slopes.
    new_means, new_slopes : (P, d), new_squares : (P,)
        The same of the observation alone.
    noise, levels, heights : (P,)
        The noise, minus half its logarithm, and the height of the densities of a new vehicle: one
        over the noise to the power with which it enters.
    columns : (d, P)
        The new means transposed.
    bends : (P, d), at_rest : (d,)
        Half the second derivatives of the new means by the speed ratio, on a slow lap; and the
        whitened observation of a standing vehicle.
    slow_from : (P,)
        Speed ratio from which on a vehicle may drive a slow lap.
    tail, sharpness, persistence, new_level
        See ``RouteLikelihood``.
    freedom
        Number of features that count for a settled vehicle.
    calm
        Spread of the forward acceleration that a standing vehicle reads, m/s^2.

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

    Parameters
    ----------
    carry : (5,)
        For the next tick: the forward acceleration that the sensor reads at rest, m/s^2, and the
        chances to halt, to move and to roll and the weight ``unfound`` of `steps.switch`.
    totals : (8,)
        Probabilities of ``HYPOTHESES``.
    state : (k,)
        Mean state.

    """

    cells: Cells
    reach: Reach
    scratch: Scratch
    carry: Floats
    totals: Floats
    state: Floats


class Stack(NamedTuple):
    """
    Several densities of the same thing.

    Parameters
    ----------
    slopes, offsets, roots : (n, d, m), (n, d), (n, d, d)
    levels, tails : (n,)
        See ``Density``.
    apart, logs : (d,), (n,)
        Scratch for differences, and the log-densities.

    """

    slopes: Floats
    offsets: Floats
    roots: Floats
    levels: Floats
    tails: Floats
    apart: Floats
    logs: Floats


class Placeless(NamedTuple):
    """
    Densities and chances that do not depend on the place.

    Parameters
    ----------
    given
        Densities of an observation: at rest alone, at rest, other, slow.
    of_means
        Densities of the slow means: at rest, other.
    starts : (2,)
        Chances that drives of the training started rolling and standing.

    """

    given: Stack
    of_means: Stack
    starts: Floats


class Known(NamedTuple):
    """
    What is known of a route.

    Parameters
    ----------
    geometry, motion, switching
        Groups of the ``Route``, the indices of the first unsigned.
    variances : (J,)
        Of the moves.
    gained
        Variance of a speed ratio that a tick adds at the usual speed.
    states : (P, k)
        Mean states.

    """

    placeless: Placeless
    geometry: RouteGeometry
    motion: RouteMotion
    switching: RouteSwitching
    usual: Usual
    variances: Floats
    gained: float
    states: Floats


class Features(NamedTuple):
    """
    From an observation to features.

    Parameters
    ----------
    gains, means, features : (m,), (m, d), (f,)
        Shares of an observation in the slow means, these, and the features of a stream.
    whitening, whitened : (f, f), (f,)
        The whitening of features, and its result.
    new_whitening, newest : (d, d), (d,)
        The same of the observation alone.

    """

    gains: Floats
    means: Floats
    features: Floats
    whitening: Floats
    whitened: Floats
    new_whitening: Floats
    newest: Floats


def plain(group: Any) -> Any:  # noqa: ANN401 - any nested tuple of arrays
    """Return named tuples within each other as plain ones."""
    return tuple(map(plain, group)) if isinstance(group, tuple) else group
