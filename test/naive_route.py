# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter on a route as one dense transition matrix, and merging of passes step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Density, Route

Array = np.ndarray


class DenseBelief:
    """
    Bayes over all 2 (r + 2) P hypotheses with a matrix of all chances; drops nothing.

    Hypotheses are counted as ``index(off, row, place)``: rows are the paces, standing, unlike.
    """

    def __init__(self, route: Route, leads_to: Array) -> None:
        """Take the chances (P, P) to be at each place one step after another."""
        self.route = route
        self.places, self.paces = len(route.noise), len(route.log_paces)
        self.rows = self.paces + 2
        self.even = np.full(self.places, 1.0 / self.places)
        self.leads_to = leads_to
        self.start()

    def index(self, off: int, row: int, place: int) -> int:
        return (off * self.rows + row) * self.places + place

    def start(self) -> None:
        self.seen: list[Array] = []
        self.chances = np.zeros(2 * self.rows * self.places)
        for place in range(self.places):
            for row in range(self.paces):
                prior = self.route.pace_prior[row] * self.even[place]
                self.chances[self.index(0, row, place)] = 0.5 * prior
                self.chances[self.index(1, row, place)] = 0.25 * prior
            self.chances[self.index(1, self.rows - 1, place)] = 0.25 * self.even[place]
        self.transition = self.moving() @ self.exchanging()

    def moving(self) -> Array:
        """Chances to go from one hypothesis (rows) to another (columns) along the map."""
        steps = [np.linalg.matrix_power(self.leads_to, k) for k in range(self.moves().shape[1])]
        matrix = np.zeros((len(self.chances), len(self.chances)))
        for off in range(2):
            for row in range(self.rows):
                ways = sum(
                    chance * step for chance, step in zip(self.moves()[row], steps, strict=True)
                )
                for here in range(self.places):
                    for there in range(self.places):
                        matrix[self.index(off, row, here), self.index(off, row, there)] = ways[
                            here, there
                        ]
        return matrix

    def moves(self) -> Array:
        return self.route.moves

    def exchanging(self) -> Array:
        """Chances to go over from one hypothesis to another at a place, or to any place."""
        rates, prior = self.route.rates, self.route.pace_prior
        rest, unlike = self.rows - 2, self.rows - 1
        matrix = np.zeros((len(self.chances), len(self.chances)))
        for place in range(self.places):
            here = [[self.index(off, row, place) for row in range(self.rows)] for off in range(2)]
            for row in range(self.paces):
                on, off = here[0][row], here[1][row]
                for other in range(self.paces):
                    kept = self.route.pace_changes[row, other]
                    stays = 1.0 - rates.leave - rates.stop - rates.unlike
                    matrix[on, here[0][other]] += stays * kept
                    matrix[on, here[1][other]] += 0.5 * rates.leave * kept
                    matrix[off, here[0][other]] += rates.enter * kept
                    stays = 1.0 - rates.enter - rates.piece - rates.stop - rates.unlike
                    matrix[off, here[1][other]] += stays * kept
                matrix[on, here[1][unlike]] += 0.5 * rates.leave
                for begin, cell in ((on, here[0]), (off, here[1])):
                    matrix[begin, cell[rest]] += rates.stop
                    matrix[begin, cell[unlike]] += rates.unlike
                self._jump(matrix, off, rates.piece)
            for off in range(2):
                matrix[here[off][rest], here[off][rest]] += 1.0 - rates.go
                for row in range(self.paces):
                    matrix[here[off][rest], here[off][row]] += rates.go * prior[row]
            for row in range(self.paces):
                matrix[here[0][unlike], here[0][row]] += rates.unlike_ends * prior[row]
            matrix[here[0][unlike], here[0][unlike]] += 1.0 - rates.unlike_ends - rates.astray
            matrix[here[0][unlike], here[1][unlike]] += rates.astray
            matrix[here[1][unlike], here[1][unlike]] += 1.0 - rates.unlike_off_ends
            self._jump(matrix, here[1][unlike], rates.unlike_off_ends)
        return matrix

    def _jump(self, matrix: Array, begin: int, rate: float) -> None:
        for there in range(self.places):
            for row in range(self.paces):
                chance = rate * self.even[there] * self.route.pace_prior[row]
                matrix[begin, self.index(1, row, there)] += chance

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
        self.seen = []
        for _ in range(ticks):
            self.predict()

    def update(self, observation: Array) -> float:
        """Take an observation; return the logarithm of its predicted density, tempered."""
        self.seen.append(observation)
        self.predict()
        if len(self.seen) < self.route.settle:
            return 0.0
        logs = self.logs()
        joint = self.chances * np.exp(logs)
        self.chances = joint / joint.sum()
        return float(np.log(joint.sum()))

    def logs(self) -> Array:
        route, (means, observation) = self.route, self.features()
        seen = route.whitening @ np.concatenate([means, observation])
        first = len(self.seen) == route.settle
        weights = np.ones(len(seen))
        if not first:
            weights[: len(means)] = route.persistence
        sharpness = 0.5 * route.sharpness if first else route.sharpness
        logs = np.zeros(len(self.chances))
        for place in range(self.places):
            for row, pace in enumerate(route.log_paces):
                usual = route.means[place] + pace * route.slopes[place]
                square = np.sum(weights * (seen - usual) ** 2) / route.noise[place]
                value = -0.5 * weights.sum() * np.log(route.noise[place])
                value -= 0.5 * (route.tail + weights.sum()) * np.log(1.0 + square / route.tail)
                for off in range(2):
                    logs[self.index(off, row, place)] = sharpness * value
        driving = [self.index(0, row, i) for row in range(self.paces) for i in range(self.places)]
        least = logs[driving].max() - 20.0
        nothing = np.zeros(0)
        for row, given, alone in (
            (self.rows - 2, route.rest, route.rest_means),
            (self.rows - 1, route.other, route.other_means),
        ):
            told = log_density(given, observation, means)
            told += route.persistence * log_density(alone, means, nothing)
            for off in range(2):
                for place in range(self.places):
                    logs[self.index(off, row, place)] = least if first else sharpness * told
        return logs


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
