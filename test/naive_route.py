# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter on a route as one dense transition matrix, and merging of passes step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Density, Route

Array = np.ndarray

DRIVING = ('on', 'on new', 'off', 'off new')
DOES = ('stands', 'creeps', 'slow', 'unlike')
ELSE = tuple(f'{what} {side}' for side in ('on', 'off') for what in DOES)


class DenseBelief:
    """
    Bayes over all (4 r + 8) P hypotheses with a matrix of all chances; drops nothing.

    Rows of hypotheses are the paces of each way of driving, in this order, then whatever else a
    vehicle does, each at every place.
    """

    def __init__(self, route: Route, leads_to: Array) -> None:
        """Take the chances (P, P) to be at each place one step after another."""
        self.route = route
        self.places, self.paces = len(route.noise), len(route.log_paces)
        self.rows = {
            mode: list(range(self.paces * i, self.paces * (i + 1)))
            for i, mode in enumerate(DRIVING)
        }
        self.rows |= {mode: [4 * self.paces + i] for i, mode in enumerate(ELSE)}
        self.size = (4 * self.paces + len(ELSE)) * self.places
        self.leads_to = leads_to
        self.transition = self.moving() @ self.exchanging()
        self.start()

    def index(self, row: int, place: int) -> int:
        return row * self.places + place

    def start(self) -> None:
        """Half of the rolling and nine of ten standing vehicles are where a drive began."""
        self.seen: list[Array] = []
        self.chances = np.zeros(self.size)
        for place in range(self.places):
            begun, even = self.route.beginnings[place], 1.0 / self.places
            shares = {
                'on new': (0.5 * begun + 0.5 * even) * 3.0 / 8.0,
                'stands on': (0.9 * begun + 0.1 * even) / 8.0,
                'off new': even / 6.0,
                'stands off': even / 6.0,
                'unlike off': even / 6.0,
            }
            for mode, share in shares.items():
                for row, part in zip(self.rows[mode], self.fresh(mode), strict=True):
                    self.chances[self.index(row, place)] = share * part

    def fresh(self, mode: str) -> Array:
        """Return the chances of the rows of who just came to this."""
        return self.route.pace_prior if mode in DRIVING else np.ones(1)

    def moving(self) -> Array:
        """Chances to go from one hypothesis (rows) to another (columns) along the map."""
        moves = self.route.moves
        steps = [np.linalg.matrix_power(self.leads_to, k) for k in range(moves.shape[1])]
        matrix = np.zeros((self.size, self.size))
        for mode, rows in self.rows.items():
            if mode in DRIVING:
                kinds = list(range(self.paces))
            else:
                kinds = [self.paces + DOES.index(mode.split()[0])]
            for row, kind in zip(rows, kinds, strict=True):
                ways = sum(chance * step for chance, step in zip(moves[kind], steps, strict=True))
                for here in range(self.places):
                    for there in range(self.places):
                        matrix[self.index(row, here), self.index(row, there)] = ways[here, there]
        return matrix

    def exchanges(self) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
        """Chances to go over to another hypothesis where one is, and to one at any place."""
        modes = (*DRIVING, *ELSE)
        here = {
            (mode, other): float(self.route.exchanges[i, j])
            for i, mode in enumerate(modes)
            for j, other in enumerate(modes)
            if i != j
        }
        anywhere = {
            (mode, other): float(self.route.jumps[i, j])
            for i, mode in enumerate(modes)
            for j, other in enumerate(DRIVING)
        }
        return here, anywhere

    def exchanging(self) -> Array:
        here, anywhere = self.exchanges()
        matrix = np.zeros((self.size, self.size))
        for mode in self.rows:
            gone = sum(chance for (a, _), chance in here.items() if a == mode)
            gone += sum(chance for (a, _), chance in anywhere.items() if a == mode)
            self._go_over(matrix, mode, mode, 1.0 - gone)
        for (mode, other), chance in here.items():
            self._go_over(matrix, mode, other, chance)
        for (mode, other), chance in anywhere.items():
            for row in self.rows[mode]:
                for place in range(self.places):
                    for there in range(self.places):
                        for to, part in zip(self.rows[other], self.fresh(other), strict=True):
                            matrix[self.index(row, place), self.index(to, there)] += (
                                chance * part / self.places
                            )
        return matrix

    def _go_over(self, matrix: Array, mode: str, other: str, chance: float) -> None:
        """Who drives and goes on driving keeps the pace, but for what it changes in a tick."""
        for pace, row in enumerate(self.rows[mode]):
            both = mode in DRIVING and other in DRIVING
            parts = self.route.pace_changes[pace] if both else self.fresh(other)
            for place in range(self.places):
                for to, part in zip(self.rows[other], parts, strict=True):
                    matrix[self.index(row, place), self.index(to, place)] += chance * part

    def features(self) -> tuple[Array, Array]:
        """Slow means before the last observation, and that; each mean starts at the first."""
        means = np.tile(self.seen[0], (len(self.route.gains), 1))
        for observation in self.seen[:-1]:
            for mean, gain in zip(means, self.route.gains, strict=True):
                mean[:] += gain * (observation - mean)
        return means.ravel(), self.seen[-1]

    def predict(self) -> None:
        self.chances = self.chances @ self.transition

    def skip(self, ticks: int) -> None:
        """Predict; of who is settled only so many stay so as would not have settled meanwhile."""
        for _ in range(ticks):
            self.predict()
        table = self.chances.reshape(-1, self.places)
        for _ in range(ticks):
            for i, side in ((0, 'on'), (2, 'off')):
                lost = self.route.exchanges[i + 1, i] * table[self.rows[side]]
                table[self.rows[side]] -= lost
                table[self.rows[f'{side} new']] += lost

    def update(self, observation: Array) -> float:
        """Take an observation; return the logarithm of its predicted density, tempered."""
        self.seen.append(observation)
        self.predict()
        joint = self.chances * np.exp(self.logs())
        self.chances = joint / joint.sum()
        return float(np.log(joint.sum()))

    def logs(self) -> Array:
        """Tempered log-likelihoods of all hypotheses."""
        route, (means, observation) = self.route, self.features()
        nothing, weight = np.zeros(0), route.persistence
        seen = route.whitening @ np.concatenate([means, observation])
        newest = route.new_whitening @ observation
        # What lasts counts less, and who is new is told by the observation alone.
        weights = np.array([weight] * len(means) + [1.0] * len(observation))
        any_means = weight * log_density(route.other_means, means, nothing)
        table = np.zeros((4 * self.paces + len(ELSE), self.places))
        for place in range(self.places):
            noise = route.noise[place]
            for row, pace in enumerate(route.log_paces):
                usual = route.means[place] + pace * route.slopes[place]
                known = student(weights * (seen - usual) ** 2, weights.sum(), noise, route.tail)
                usual = route.new_means[place] + pace * route.new_slopes[place]
                new = student((newest - usual) ** 2, len(newest), noise, route.tail)
                new += route.new_level + any_means
                for mode in ('on', 'off'):
                    table[self.rows[mode][row], place] = known
                    table[self.rows[f'{mode} new'][row], place] = new
        stands = log_density(route.rest, observation, means)
        stands += weight * log_density(route.rest_means, means, nothing)
        for side in ('on', 'off'):
            table[self.rows[f'stands {side}']] = stands
            for what, density in (
                ('creeps', route.slow),
                ('slow', route.slow),
                ('unlike', route.other),
            ):
                table[self.rows[f'{what} {side}']] = any_means + log_density(
                    density, observation, means
                )
        return route.sharpness * table.ravel()

    def tables(self) -> tuple[Array, Array]:
        """Return the probabilities as the belief has them: (P, 4, r) and (P, 2, 4)."""
        table = self.chances.reshape(-1, self.places)
        cells = table[: 4 * self.paces].reshape(4, self.paces, self.places)
        others = table[4 * self.paces :].reshape(2, len(DOES), self.places)
        return cells.transpose(2, 0, 1), others.transpose(2, 0, 1)


def student(squares: Array, count: float, noise: float, tail: float) -> float:
    """Return the log density, up to a constant, of ``count`` values with these squares."""
    level = -0.5 * count * np.log(noise)
    return float(level - 0.5 * (tail + count) * np.log(1.0 + squares.sum() / (tail * noise)))


def log_density(density: Density, seen: Array, given: Array) -> float:
    apart = density.root @ (seen - density.slopes @ given - density.offset)
    power = 0.5 * (density.tail + len(seen))
    return float(density.level - power * np.log(1.0 + apart @ apart / density.tail))


def merged_greedily(nodes: Array, headings: Array, radius: float, same_pass: int) -> list[int]:
    """
    Return the place of each step: the best known one within the radius, else a new one.

    Of steps of length one, far from any known place or as near to it as the radius; no place is
    looked for along the map, so this is the whole truth only where all places are found nearby.
    """
    opened: list[int] = []
    visited = []
    for i in range(len(nodes)):
        best, least = -1, np.inf
        for place, first in enumerate(opened):
            away = nodes[i] - nodes[first]
            along = abs(away @ headings[first])
            across = abs(away[0] * headings[first][1] - away[1] * headings[first][0])
            alike = headings[i] @ headings[first] > 0.5
            near = across <= radius and along <= 0.75
            if i - first > same_pass and alike and near and along + across < least:
                best, least = place, along + across
        if best < 0:
            best = len(opened)
            opened.append(i)
        visited.append(best)
    return visited
