# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Belief over where the vehicle is: on the route at a place and a pace, or elsewhere.

A Bayes filter over six hypotheses: driving, standing or doing something that training never saw,
each of them on the route or off it. Driving off the route means a road made of the same pieces in
another order: any place may follow any other. On the route that predicts worse than the route
itself, by the pieces that do not end; on another road, or after the vehicle was moved, it predicts
better. Only the likelihood of the observations decides between the hypotheses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.route.features import FeatureStream
from two_manifold_ros.route.route import mean_state, sum_targets

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Floats, Ints

FAINT = 1e-7
"""
Probability of a place below which it does not move on, and of a cell below which it is dropped.

What jumps to a place in a tick lies below; where it fits it grows beyond at the next observation.
"""

ACTIVE = 1e-6
"""Probability of a place below which all paces share the likelihood of the usual one."""

FARTHEST = 1e4
"""Squared whitened distance beyond which an observation fits no worse."""

ON, OFF = 0, 1
"""Rows of the hypotheses: on the route and off it."""

DRIVING, STANDING, UNLIKE = 0, 1, 2


class RouteBelief:
    """
    Belief about the place on the route, the pace, and whether the vehicle is on the route at all.

    Parameters
    ----------
    route
        The map.

    Attributes
    ----------
    cells : (P, 2, r + 2)
        Probabilities at each place, on the route and off it, of driving at each pace, of standing,
        and of doing what training never saw.
    log_evidence
        Logarithm of the predicted density of the last observation; 0 while slow means settle.
    state : (k,)
        Mean two-manifold state under the belief on the route, the constant first.

    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._stream = FeatureStream(route.channels, route.gains)
        paces, places = len(route.log_paces), len(route.noise)
        self.cells = np.zeros((places, 2, paces + 2))
        self._moved = np.zeros_like(self.cells)
        self._logs = np.zeros((places, paces))
        self._totals = np.zeros(places)
        self._rates = route.rates.as_array()
        self._steps = np.ascontiguousarray(route.moves.T)
        hidden = route.means.shape[1] - route.channels
        weights = np.concatenate([np.full(hidden, route.persistence), np.ones(route.channels)])
        self._scale = np.sqrt(weights)
        self._means = np.ascontiguousarray(route.means * self._scale)
        self._slopes = np.ascontiguousarray(route.slopes * self._scale)
        self._squares = np.square(self._slopes).sum(axis=1)
        self._all_squares = np.square(route.slopes).sum(axis=1)
        self._freedom = float(weights.sum())
        self._levels = -0.5 * np.log(route.noise)
        self._even = np.full(places, 1.0 / places)
        count = route.targets.shape[1]
        self._sums = np.zeros((count, 2)), np.zeros((count, 2, 2))
        self.log_evidence = 0.0
        self.state = np.zeros(route.states.shape[1])
        self.start()

    def start(self) -> None:
        """Start anywhere, on the route as likely as not."""
        self._stream.start()
        paces = len(self._route.log_paces)
        prior, even = self._route.pace_prior, self._even[:, None]
        self.cells[:] = 0.0
        self.cells[:, ON, :paces] = 0.5 * prior * even
        self.cells[:, OFF, :paces] = 0.25 * prior * even
        self.cells[:, OFF, paces + 1] = 0.25 * self._even
        np.sum(self.cells, axis=(1, 2), out=self._totals)
        self.log_evidence = 0.0
        self._tell_state()

    def hide(self, begin: int, end: int) -> None:
        """Start anywhere but at the places from begin to end."""
        even = np.ones(len(self._even))
        even[begin:end] = 0.0
        self._even = even / even.sum()
        self.start()

    @property
    def on_route(self) -> float:
        """Probability that the vehicle is on the route."""
        return float(self.cells[:, ON].sum())

    @property
    def driving(self) -> float:
        """Probability that the vehicle drives on the route as in training."""
        return float(self.cells[:, ON, :-2].sum())

    @property
    def unlike(self) -> float:
        """Probability of something that training never saw."""
        return float(self.cells[:, :, -1].sum())

    @property
    def standing(self) -> float:
        """Probability that the vehicle stands."""
        return float(self.cells[:, :, -2].sum())

    @property
    def weights(self) -> Floats:
        """Probabilities of the places, given that the vehicle is on the route: (P,)."""
        weights: Floats = self.cells[:, ON].sum(axis=1)
        total = float(weights.sum())
        return np.divide(weights, total) if total > 0.0 else self._even.copy()

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        route = self._route
        means, covariances = self._sums
        sum_targets(
            self.cells, route.log_paces, route.targets, route.drifts, route.covariances,
            means, covariances,
        )  # fmt: skip
        return means.copy(), covariances * route.factors[:, None, None]

    def update(self, observation: Floats) -> float:
        """
        Take one (d,) observation.

        Returns
        -------
        float
            Evidence in (0, 1]: mean likelihood under the belief before it, relative to the largest
            of all hypotheses; 1 while slow means settle.

        """
        route = self._route
        features = self._stream.push(observation)
        self._predict()
        if self._stream.age < route.settle:
            self.log_evidence = 0.0
            self._tell_state()
            return 1.0
        whitened = route.whitening @ features
        if self._stream.age == route.settle:
            # All that was seen until now, at once.
            largest = fill_logs(
                whitened, route.means, route.slopes, self._all_squares, route.noise,
                self._levels,
                route.log_paces, self._totals, route.tail, float(len(whitened)),
                0.5 * route.sharpness, self._logs,
            )  # fmt: skip
            rest = unlike = largest - 20.0
        else:
            largest = fill_logs(
                whitened * self._scale, self._means, self._slopes, self._squares, route.noise,
                self._levels, route.log_paces, self._totals, route.tail, self._freedom,
                route.sharpness, self._logs,
            )  # fmt: skip
            means, nothing = features[: -route.channels], features[:0]
            rest = route.sharpness * (
                route.rest.log_density(observation, means)
                + route.persistence * route.rest_means.log_density(means, nothing)
            )
            unlike = route.sharpness * (
                route.other.log_density(observation, means)
                + route.persistence * route.other_means.log_density(means, nothing)
            )
        shift = max(largest, rest, unlike)
        evidence = weigh(
            self.cells, self._totals, self._logs, shift, math.exp(rest - shift),
            math.exp(unlike - shift),
        )  # fmt: skip
        if not evidence > 0.0:
            self.start()
            return 0.0
        self.log_evidence = math.log(evidence) + shift
        self._tell_state()
        return min(evidence, 1.0)

    def skip(self, ticks: int) -> None:
        """Predict some ticks without observations."""
        self._stream.start()
        for _ in range(ticks):
            self._predict()

    def _tell_state(self) -> None:
        mean_state(self.cells, self._route.states, self.state)

    def _predict(self) -> None:
        route = self._route
        move(
            self.cells, self._totals, route.begins, route.targets_of, route.steps_of,
            route.shares_of, self._steps, self._moved,
        )  # fmt: skip
        exchange(
            self._moved, route.pace_changes, route.pace_prior, self._even, self._rates,
            self.cells, self._totals,
        )  # fmt: skip


@compiled
def _move_loops(
    cells: Floats, totals: Floats, begins: Ints, targets: Ints, steps: Ints, shares: Floats,
    moves: Floats, moved: Floats,
) -> None:  # fmt: skip
    places, modes, rows = cells.shape
    moved[:] = 0.0
    for i in range(places):
        if totals[i] > FAINT:
            for way in range(begins[i], begins[i + 1]):
                target, step, share = targets[way], steps[way], shares[way]
                for m in range(modes):
                    for r in range(rows):
                        moved[target, m, r] += cells[i, m, r] * moves[step, r] * share


def _move_arrays(
    cells: Floats, totals: Floats, begins: Ints, targets: Ints, steps: Ints, shares: Floats,
    moves: Floats, moved: Floats,
) -> None:  # fmt: skip
    moved[:] = 0.0
    sources = np.repeat(np.arange(len(cells)), np.diff(begins))
    ways = np.flatnonzero(totals[sources] > FAINT)
    flows = cells[sources[ways]] * (moves[steps[ways]] * shares[ways, None])[:, None, :]
    np.add.at(moved, targets[ways], flows)


move = _move_loops if HAVE_NUMBA else _move_arrays
"""
Move every probability along the map, each row at its pace.

Parameters
----------
cells, moved : (P, 2, r + 2)
    Before and after; ``moved`` is filled.
totals : (P,)
    Probability of each place; those below ``FAINT`` do not move on.
begins : (P + 1,) int64, targets, steps : (L,) int64, shares : (L,)
    Of place i the ways ``begins[i]`` to ``begins[i + 1]``: where each leads in how many steps,
    and which share of the drives went there.
moves : (M + 1, r + 2)
    Chances to move by 0 to M steps in a tick: at each pace, standing, and unlike in training.

"""


@compiled
def _exchange_loops(  # noqa: C901 - one loop for numba
    moved: Floats, changes: Floats, prior: Floats, even: Floats, rates: Floats, cells: Floats,
    totals: Floats,
) -> None:  # fmt: skip
    leave, enter, piece, stop, go = rates[0], rates[1], rates[2], rates[3], rates[4]
    odd, odd_ends, odd_off_ends, astray = rates[5], rates[6], rates[7], rates[8]
    paces = len(prior)
    places = moved.shape[0]
    drive_off, odd_off = 0.0, 0.0
    for i in range(places):
        for r in range(paces):
            drive_off += moved[i, 1, r]
        odd_off += moved[i, 1, paces + 1]
    jumped = piece * drive_off + odd_off_ends * odd_off
    for i in range(places):
        on, off = 0.0, 0.0
        for r in range(paces):
            on += moved[i, 0, r]
            off += moved[i, 1, r]
        rest_on, rest_off = moved[i, 0, paces], moved[i, 1, paces]
        odd_on, gone = moved[i, 0, paces + 1], moved[i, 1, paces + 1]
        start_on = go * rest_on + odd_ends * odd_on
        start_off = go * rest_off + jumped * even[i]
        if on + off + rest_on + rest_off + odd_on + gone == 0.0:
            # Nothing moved here: all there is came by a jump.
            for r in range(paces):
                cells[i, 0, r] = 0.0
                cells[i, 1, r] = prior[r] * start_off
            for m in range(2):
                cells[i, m, paces] = 0.0
                cells[i, m, paces + 1] = 0.0
            totals[i] = start_off
            continue
        total = 0.0
        for r in range(paces):
            kept_on, kept_off = 0.0, 0.0
            if on + off > 0.0:
                for q in range(max(r - 1, 0), min(r + 2, paces)):
                    kept_on += moved[i, 0, q] * changes[q, r]
                    kept_off += moved[i, 1, q] * changes[q, r]
            driving = (1.0 - leave - stop - odd) * kept_on + enter * kept_off + prior[r] * start_on
            apart = (
                (1.0 - enter - piece - stop - odd) * kept_off
                + 0.5 * leave * kept_on
                + prior[r] * start_off
            )
            cells[i, 0, r] = driving
            cells[i, 1, r] = apart
            total += driving + apart
        cells[i, 0, paces] = (1.0 - go) * rest_on + stop * on
        cells[i, 1, paces] = (1.0 - go) * rest_off + stop * off
        cells[i, 0, paces + 1] = (1.0 - odd_ends - astray) * odd_on + odd * on
        cells[i, 1, paces + 1] = (
            (1.0 - odd_off_ends) * gone + odd * off + astray * odd_on + 0.5 * leave * on
        )
        for m in range(2):
            total += cells[i, m, paces] + cells[i, m, paces + 1]
        totals[i] = total


def _exchange_arrays(
    moved: Floats, changes: Floats, prior: Floats, even: Floats, rates: Floats, cells: Floats,
    totals: Floats,
) -> None:  # fmt: skip
    leave, enter, piece, stop, go, odd, odd_ends, odd_off_ends, astray = rates
    paces = len(prior)
    on, off = moved[:, 0, :paces].sum(axis=1), moved[:, 1, :paces].sum(axis=1)
    rest_on, rest_off = moved[:, 0, paces], moved[:, 1, paces]
    odd_on, gone = moved[:, 0, paces + 1], moved[:, 1, paces + 1]
    jumped = piece * off.sum() + odd_off_ends * gone.sum()
    start_on = go * rest_on + odd_ends * odd_on
    start_off = go * rest_off + jumped * even
    kept_on, kept_off = moved[:, 0, :paces] @ changes, moved[:, 1, :paces] @ changes
    cells[:, 0, :paces] = (1.0 - leave - stop - odd) * kept_on + enter * kept_off
    cells[:, 0, :paces] += start_on[:, None] * prior
    cells[:, 1, :paces] = (1.0 - enter - piece - stop - odd) * kept_off + 0.5 * leave * kept_on
    cells[:, 1, :paces] += start_off[:, None] * prior
    cells[:, 0, paces] = (1.0 - go) * rest_on + stop * on
    cells[:, 1, paces] = (1.0 - go) * rest_off + stop * off
    cells[:, 0, paces + 1] = (1.0 - odd_ends - astray) * odd_on + odd * on
    cells[:, 1, paces + 1] = (1.0 - odd_off_ends) * gone + odd * off
    cells[:, 1, paces + 1] += astray * odd_on + 0.5 * leave * on
    np.sum(cells, axis=(1, 2), out=totals)


exchange = _exchange_loops if HAVE_NUMBA else _exchange_arrays
"""
Go over between paces and between hypotheses.

Parameters
----------
moved, cells : (P, 2, r + 2)
    Before and after; ``cells`` is filled.
changes : (r, r), prior : (r,)
    Chances to go over to the next slower or faster pace, and paces of who starts to drive.
even : (P,)
    Places after a jump.
rates : (9,)
    From ``Rates.as_array``.
totals : (P,)
    Filled with the probability of each place.

"""


@compiled
def _fill_logs_loops(
    whitened: Floats, means: Floats, slopes: Floats, squares: Floats, noise: Floats,
    levels: Floats,
    log_paces: Floats, totals: Floats, tail: float, freedom: float, sharpness: float,
    logs: Floats,
) -> float:  # fmt: skip
    places, features = means.shape
    largest = -1e300
    power = 0.5 * (tail + freedom)
    for i in range(places):
        square, product = 0.0, 0.0
        for k in range(features):
            difference = whitened[k] - means[i, k]
            square += difference * difference
            product += difference * slopes[i, k]
        level = freedom * levels[i]
        inverse = 1.0 / (tail * noise[i])
        if totals[i] < ACTIVE:
            value = level - power * math.log(1.0 + min(square, FARTHEST) * inverse)
            logs[i, 0] = sharpness * value
            largest = max(largest, logs[i, 0])
        else:
            for r in range(len(log_paces)):
                pace = log_paces[r]
                here = max(square - 2.0 * pace * product + pace * pace * squares[i], 0.0)
                value = level - power * math.log(1.0 + min(here, FARTHEST) * inverse)
                logs[i, r] = sharpness * value
                largest = max(largest, logs[i, r])
    return largest


def _fill_logs_arrays(
    whitened: Floats, means: Floats, slopes: Floats, squares: Floats, noise: Floats,
    levels: Floats,
    log_paces: Floats, totals: Floats, tail: float, freedom: float, sharpness: float,
    logs: Floats,
) -> float:  # fmt: skip
    differences = whitened - means
    square = np.square(differences).sum(axis=1)[:, None]
    product = (differences * slopes).sum(axis=1)[:, None]
    here = np.maximum(square - 2.0 * log_paces * product + log_paces**2 * squares[:, None], 0.0)
    here = np.where(totals[:, None] < ACTIVE, square, here)
    inverse = 1.0 / (tail * noise[:, None])
    logs[:] = np.log(1.0 + np.minimum(here, FARTHEST) * inverse)
    logs *= -0.5 * (tail + freedom)
    logs += freedom * levels[:, None]
    logs *= sharpness
    return float(logs.max())


fill_logs = _fill_logs_loops if HAVE_NUMBA else _fill_logs_arrays
"""
Fill the tempered log-likelihoods of an observation at each place and pace.

A Student-t density of the whitened difference to what is usual at the place and pace.

Parameters
----------
whitened : (f,)
    Features of the tick.
means, slopes : (P, f), squares : (P,)
    Usual features, what they gain per unit of log-pace, and the squared norm of the latter.
noise, levels : (P,)
    Variance at each place over the usual one, and minus half its logarithm.
log_paces : (r,)
totals : (P,)
    Probability of each place; below ``ACTIVE`` only the first column is filled, with the
    likelihood at the usual pace.
tail, freedom, sharpness
    Degrees of freedom of the density, number of features that count, and its exponent.
logs : (P, r)

Returns
-------
float
    The largest.

"""


@compiled
def _weigh_loops(  # noqa: C901, PLR0912 - one loop for numba
    cells: Floats, totals: Floats, logs: Floats, shift: float, standing: float, unlike: float
) -> float:
    places, modes, rows = cells.shape
    paces = rows - 2
    evidence = 0.0
    for i in range(places):
        total = 0.0
        if totals[i] < ACTIVE:
            factor = math.exp(logs[i, 0] - shift)
            for m in range(modes):
                for r in range(paces):
                    cells[i, m, r] *= factor
        else:
            for r in range(paces):
                factor = math.exp(logs[i, r] - shift)
                for m in range(modes):
                    cells[i, m, r] *= factor
        for m in range(modes):
            cells[i, m, paces] *= standing
            cells[i, m, paces + 1] *= unlike
            for r in range(rows):
                total += cells[i, m, r]
        totals[i] = total
        evidence += total
    if evidence > 0.0:
        inverse = 1.0 / evidence
        for i in range(places):
            totals[i] *= inverse
            for m in range(modes):
                for r in range(rows):
                    cells[i, m, r] *= inverse
    return evidence


def _weigh_arrays(
    cells: Floats, totals: Floats, logs: Floats, shift: float, standing: float, unlike: float
) -> float:
    cells[:, :, :-2] *= np.exp(logs - shift)[:, None, :]
    cells[:, :, -2] *= standing
    cells[:, :, -1] *= unlike
    evidence = float(cells.sum())
    if evidence > 0.0:
        cells /= evidence
    np.sum(cells, axis=(1, 2), out=totals)
    return evidence


weigh = _weigh_loops if HAVE_NUMBA else _weigh_arrays
"""
Multiply every probability by its likelihood and normalise.

Parameters
----------
cells : (P, 2, r + 2)
    Changed in place; sums to one afterwards.
totals : (P,)
    Probability of each place before, and filled with that after.
logs : (P, r)
    From ``fill_logs``.
shift
    Taken from each of them.
standing, unlike
    Likelihoods of the other hypotheses, at any place.

Returns
-------
float
    Mean likelihood, the shift left out; 0 where nothing is left.

"""
