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
    Places (P,) with any probability.

    The first ``count`` of ``active`` are these, before a prediction and after an update; in
    between ``reached`` says which a prediction reaches, the first ``count`` of ``order``.
    """

    active: Indices
    reached: Bools
    order: Indices


class Usual(NamedTuple):
    """
    Likelihood of an observation at each place: usual features, weighted, and what follows of them.

    Parameters
    ----------
    means, slopes : (P, f), squares : (P,)
        Features at the usual speed, what they gain by the speed ratio, and its squared norms.
    new_means, new_slopes : (P, d), new_squares : (P,), columns : (d, P)
        The same of the observation alone; the new means transposed.
    noise, levels, heights : (P,)
        The noise, minus half its logarithm, and the height of the densities of a new vehicle: one
        over the noise to the power with which it enters.
    bends : (P, d), at_rest : (d,)
        Half the second derivatives of the new means by the speed ratio, on a slow lap; and the
        whitened observation of a standing vehicle.
    slow_from : (P,)
        Speed ratio from which on a vehicle may drive a slow lap.
    tail, sharpness, persistence, new_level
        See ``RouteLikelihood``.
    freedom, calm
        Number of features that count for a settled vehicle; spread of the forward acceleration
        that a standing vehicle reads, m/s^2.

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


class Stack(NamedTuple):
    """
    Several densities of the same thing, see ``Density``: n of d channels, given m slow means.

    ``apart`` (d,) and ``logs`` (n,) are scratch for differences, and the log-densities.
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

    ``given``: of an observation at rest alone, at rest, other, slow. ``of_means``: of the slow
    means at rest, other. ``starts`` (2,): chances that drives of the training started rolling and
    standing.
    """

    given: Stack
    of_means: Stack
    starts: Floats


class Known(NamedTuple):
    """
    Groups of the ``Route``, the indices of the first unsigned, and what follows of them.

    ``variances`` (J,) are those of the moves, ``gained`` is the variance of a speed ratio that a
    tick adds at the usual speed, and ``states`` (P, k) are the mean states.
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


def plain(group: Any) -> Any:  # noqa: ANN401 - any nested tuple of arrays
    """Return named tuples within each other as plain ones."""
    return tuple(map(plain, group)) if isinstance(group, tuple) else group
