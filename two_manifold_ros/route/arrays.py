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
    from two_manifold_ros.typing import Bools, Floats, Indices


class Cells(NamedTuple):
    """Probability, mean and variance of the speed ratio, of each row at each place: (P, 6)."""

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


class Ways(NamedTuple):
    """
    Moves of a vehicle in a tick, from a ``Route``.

    Parameters
    ----------
    begins, targets, steps, shares, moves, rates, pulls, fastest
        See ``Route``; targets, steps and shares are its ``targets_of``, ``steps_of`` and
        ``shares_of``.
    variances : (J,)
        Of the moves.

    """

    begins: Indices
    targets: Indices
    steps: Indices
    shares: Floats
    moves: Floats
    variances: Floats
    rates: Floats
    pulls: Floats
    fastest: Floats


class Dynamics(NamedTuple):
    """
    Changes of speed ratios in a tick.

    Parameters
    ----------
    moves_a_row, kept, trust, usual_change
        See ``Route``: ``moves_a_row``, ``ratio_kept``, ``trust`` and ``usual_change``.
    gained, free_gained
        Variance that a tick adds at the usual speed and in free motion.
    forward, resting
        Forward acceleration now, and what the sensor reads at rest, m/s^2.

    """

    moves_a_row: float
    kept: float
    gained: float
    free_gained: float
    trust: float
    usual_change: float
    forward: float
    resting: float


class Changes(NamedTuple):
    """Chances to change the hypothesis, see ``Route``."""

    exchanges: Floats
    jumps: Floats
    stops: Floats


class Usual(NamedTuple):
    """
    Usual features of a ``Route``, weighted, and what follows from them for a likelihood.

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


class Likelihood(NamedTuple):
    """
    Numbers of the densities of an observation.

    Parameters
    ----------
    tail, freedom
        Degrees of freedom, and the number of features that count for a settled vehicle.
    offset
        Log-likelihood added for a new vehicle.
    sharpness, spread
        See ``Route``: ``sharpness`` and ``ratio_spread``.
    stands, anything
        Tempered log-likelihoods of standing, and of doing anything.

    """

    tail: float
    freedom: float
    offset: float
    sharpness: float
    spread: float
    stands: float
    anything: float


class Scratch(NamedTuple):
    """Scratch arrays of a tick: moved (P, 6, 3), logs (P, 6), distances, restarts, sums."""

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
    carry : (3,)
        For the next tick: the forward acceleration that the sensor reads at rest, m/s^2, and the
        chances to halt and to move of `steps.switch`.
    totals : (7,)
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


class Numbers(NamedTuple):
    """Numbers of a ``Route``; ``gained`` is the variance that a tick adds at the usual speed."""

    moves_a_row: float
    ratio_spread: float
    ratio_kept: float
    gained: float
    ratio_noise: float
    trust: float
    usual_change: float
    forward_offset: float
    persistence: float
    new_level: float
    halts: float
    mistakable: float
    tail: float
    freedom: float
    sharpness: float


class Known(NamedTuple):
    """Arrays of a route in groups, the numbers, and the states (P, k)."""

    placeless: Placeless
    ways: Ways
    changes: Changes
    usual: Usual
    numbers: Numbers
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
    forward : (d,)
        The forward acceleration, linear in the observation.

    """

    gains: Floats
    means: Floats
    features: Floats
    whitening: Floats
    whitened: Floats
    new_whitening: Floats
    newest: Floats
    forward: Floats


def plain(group: Any) -> Any:  # noqa: ANN401 - any nested tuple of arrays
    """Return named tuples within each other as plain ones."""
    return tuple(map(plain, group)) if isinstance(group, tuple) else group
