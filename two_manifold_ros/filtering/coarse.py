# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A coarse belief about the place on many routes at once, so that not all need a filter that runs.

A Bayes filter over cells, each a piece of a route that takes ``SPAN_S`` at the usual speed. It
knows neither speed ratios nor standing nor roads that are on no map, so it only says how likely
routes are beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.model.model import RouteModel

SPAN_S = 0.2
"""Seconds of an observation, and of a cell at the usual speed, in whole ticks, at least one."""

STAYS, LEAPS, JUMPS, TAIL = 0.15, 0.1, 1e-3, 10.0
"""
Probabilities to be in the same cell in the next span, two cells on in place of one, and to go on
anywhere on any route, so that a change of the route is seen within seconds; and degrees of freedom
of the density of an observation in one dimension, a quotient with no power and no logarithm.
"""


@compiled
def _follow(
    observation: Floats, usual: Floats, begins: Ints, sources: Ints, shares: Floats, routes: Ints,
    chances: Floats, once: Floats, twice: Floats, totals: Floats, likeliest: Ints,
) -> bool:  # fmt: skip
    """
    Predict by a span and update with its whitened observation (d,); return whether all is finite.

    ``usual`` (N, d) are those of the cells; cells ``sources`` lead to cell j, from ``begins[j]``
    to ``begins[j + 1]``, with ``shares``; ``routes`` (N,) are theirs. Updated: ``chances`` (N,),
    the ``totals`` of routes (R,) and the ``likeliest`` cell of each (R,); ``once`` and ``twice``
    (N,) are scratch.
    """
    count = len(chances)
    for j in range(count):
        come = 0.0
        for way in range(begins[j], begins[j + 1]):
            come += shares[way] * chances[sources[way]]
        once[j] = come
    for j in range(count):
        come = 0.0
        for way in range(begins[j], begins[j + 1]):
            come += shares[way] * once[sources[way]]
        twice[j] = come
    onward = 1.0 - STAYS - LEAPS
    anywhere = JUMPS / count
    whole = 0.0
    for j in range(count):
        chance = STAYS * chances[j] + onward * once[j] + LEAPS * twice[j]
        square = 0.0
        for k in range(len(observation)):
            apart = observation[k] - usual[j, k]
            square += apart * apart
        chances[j] = ((1.0 - JUMPS) * chance + anywhere) / (1.0 + square / TAIL)
        whole += chances[j]
    if not whole > 0.0:
        return False
    totals[:] = 0.0
    last = -1
    for j in range(count):
        chances[j] /= whole
        route = routes[j]
        totals[route] += chances[j]
        if route != last or chances[j] > chances[likeliest[route]]:
            likeliest[route] = j
        last = route
    return True


class CoarseBelief:
    """
    Belief about the cell of one of many routes.

    ``shares`` (R,) are the probabilities of each route if one of them is driven, all alike at the
    start; ``span_s`` are the seconds of an observation, and of a cell at the usual speed.
    """

    def __init__(self, models: Sequence[RouteModel]) -> None:
        # Of slow sensors a tick.
        self._span = max(round(SPAN_S * models[0].rate_hz), 1)
        self.span_s = 1e-9 * self._span * models[0].period_ns
        live = np.logical_and.reduce([each.channels.live for each in models])
        self._live = np.flatnonzero(live)
        # One density for all, so that those of routes are compared with each other.
        expected = [_expected(each, live) for each in models]
        spread = np.mean([each for _, each in expected], axis=0)
        self._whitening = np.linalg.inv(np.linalg.cholesky(spread))
        usual, positions, routes, ways = [], [], [], []
        self._cells: list[Ints] = []
        before = 0
        for number, each in enumerate(models):
            cells, own = _cut(each, self.span_s)
            self._cells.append(before + cells)
            places = np.bincount(cells)
            sums = np.zeros((len(places), len(self._live)))
            np.add.at(sums, cells, expected[number][0])
            usual.append(sums / places[:, None] @ self._whitening.T)
            first = np.unique(cells, return_index=True)[1]
            positions.append(each.route.readout.targets[first, 0])
            routes += [number] * len(places)
            ways += [(before + to, before + here, share) for (here, to), share in own.items()]
            before += len(places)
        to, here, share = np.array(sorted(ways), dtype=np.float64).reshape(-1, 3).T
        self._known = (
            np.ascontiguousarray(np.concatenate(usual)),
            np.searchsorted(to, np.arange(before + 1)).astype(np.int64),
            here.astype(np.int64),
            np.ascontiguousarray(share),
            np.array(routes, dtype=np.int64),
        )
        self._positions = np.concatenate(positions)
        self._chances, self._once, self._twice = np.zeros((3, before))
        self.shares = np.zeros(len(models))
        self._likeliest = np.zeros(len(models), dtype=np.int64)
        self._sum = np.zeros(len(self._live))
        self.start()

    def start(self) -> None:
        """Start anywhere on any route, each as likely as the others."""
        routes = self._known[-1]
        self.shares[:] = 1.0 / len(self.shares)
        self._chances[:] = (self.shares / np.bincount(routes))[routes]
        self._likeliest[:] = np.unique(routes, return_index=True)[1]
        self._sum[:], self._count = 0.0, 0

    @property
    def positions(self) -> Floats:
        """Where the vehicle is on each route if it is there, (R, 2) metres."""
        return self._positions[self._likeliest]

    def places(self, route: int) -> Floats:
        """Return the chances of the places of a route (P,), which sum to one."""
        cells = self._cells[route]
        chances = self._chances[cells] / np.bincount(cells)[cells]
        return np.asarray(chances / chances.sum())

    def weigh(self, likelihoods: Sequence[Floats]) -> None:
        """Take a position fix by its likelihoods (P,) at the places of each route."""
        cells, likely = np.concatenate(self._cells), np.concatenate(likelihoods)
        chances, routes = self._chances, self._known[-1]
        chances *= np.bincount(cells, likely) / np.bincount(cells)
        chances /= chances.sum()
        self.shares[:] = np.bincount(routes, chances)
        # Of each route the likeliest cell is the last one in this order.
        order = np.argsort(chances, kind='stable')
        self._likeliest[routes[order]] = order

    def push(self, values: Floats) -> bool:
        """Take the (c,) means of a tick; return whether that ended a span."""
        self._sum += values[self._live]
        self._count += 1
        if self._count < self._span:
            return False
        finite = _follow(
            self._whitening @ (self._sum / self._count), *self._known, self._chances, self._once,
            self._twice, self.shares, self._likeliest,
        )  # fmt: skip
        # Nothing is as far off as a number whose square is infinite.
        if not finite:
            self.start()
        self._sum[:], self._count = 0.0, 0
        return True


def _expected(model: RouteModel, live: Bools) -> tuple[Floats, Floats]:
    """Return usual observations (P, d) in the units of the samples, and a covariance (d, d)."""
    likelihood, channels = model.route.likelihood, model.channels
    root = np.linalg.inv(likelihood.new_whitening)
    own, scale = live[channels.live], channels.scale[channels.live]
    usual = likelihood.new_means @ root.T * scale + channels.mean[channels.live]
    slopes = likelihood.new_slopes @ root.T * model.route.motion.ratio_spread
    covariance = np.median(likelihood.noise) * root @ root.T + slopes.T @ slopes / len(slopes)
    spread = covariance * np.outer(scale, scale)
    return usual[:, own], spread[np.ix_(own, own)]


def _cut(model: RouteModel, span_s: float) -> tuple[Ints, dict[tuple[int, int], float]]:
    """Return the cell of each place (P,), along the way of most drives, and shares between two."""
    begins, targets, steps, shares = model.route.geometry
    onward: list[dict[int, float]] = [{} for _ in range(model.route.places)]
    here = np.repeat(np.arange(len(onward)), np.diff(begins))
    one = steps == 1
    for place, target, share in zip(here[one], targets[one], shares[one], strict=True):
        onward[place][int(target)] = float(share)
    seconds = (1e-9 * model.period_ns / model.route.motion.rates).tolist()
    cells, count = [-1] * len(onward), 0
    for first in range(len(onward)):
        place, passed_s = first, 0.0
        while cells[place] < 0:
            if passed_s >= span_s:
                count, passed_s = count + 1, 0.0
            cells[place] = count
            passed_s += seconds[place]
            place = max(onward[place], key=lambda each: onward[place][each], default=place)
        # What comes from elsewhere is a cell of its own.
        count += passed_s > 0.0
    ways: dict[tuple[int, int], float] = {}
    for place, to in enumerate(onward):
        for target, share in to.items():
            way = cells[place], cells[target]
            if way[0] != way[1]:
                ways[way] = ways.get(way, 0.0) + share
    whole = np.bincount([a for a, _ in ways], list(ways.values()), minlength=count)
    return np.array(cells), {way: share / whole[way[0]] for way, share in ways.items()}
