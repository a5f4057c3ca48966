# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter on a route, one cell after another, and merging of passes step by step."""

import numpy as np
from scipy.stats import norm

from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.route import Density, Route, RouteLikelihood

Array = np.ndarray

ROWS = ('on', 'on new', 'slow', 'free motion', 'stands', 'off', 'off new')
JUMPED = ('on new', 'off', 'off new')
FASTEST, USUAL_RATIOS = 3.0, 3.0
SLOWEST, LEARNED_SLOPES = 0.45, 0.3

Cell = tuple[float, float, float]
"""Probability, and mean and variance of the speed ratio."""


def merged(cells: list[Cell]) -> Cell:
    """Return probability, mean and variance of a mixture."""
    chance = sum(each[0] for each in cells)
    if not chance > 0.0:
        return 0.0, 0.0, 0.0
    mean = sum(c * m for c, m, _ in cells) / chance
    square = sum(c * (v + m * m) for c, m, v in cells) / chance
    return chance, mean, max(square - mean * mean, 1e-6)


class NaiveBelief:
    """Bayes over all rows at all places, each with a Gaussian over the ratio; drops nothing."""

    def __init__(self, route: Route, leads_to: Array) -> None:
        """Take the chances (P, P) to be at each place one step after another."""
        self.motion, self.likelihood = route.motion, route.likelihood
        self.switching, self.places = route.switching, route.places
        steps = np.arange(self.motion.moves.shape[1])
        self.powers = [np.linalg.matrix_power(leads_to, step) for step in steps]
        self.variances = self.motion.moves @ steps**2 - (self.motion.moves @ steps) ** 2
        self.start()

    def start(self) -> None:
        self.seen: list[Array] = []
        self.moving, self.rolling, self.looks_still, self.unfound = 1.0, 1.0, 0.0, 1.0
        self.resting = self.pull_of(self.likelihood.rest_alone.offset)
        usual = self.motion.ratio_spread**2
        self.cells: dict[tuple[str, int], Cell] = {
            (row, place): (0.0, 1.0, usual) for row in ROWS for place in range(self.places)
        }
        for place in range(self.places):
            rolls, stands = self.switching.beginnings[:, place]
            self.cells['on new', place] = (0.6 * rolls, 1.0, usual)
            self.cells['stands', place] = (0.4 * stands, 0.0, 0.0)
            self.cells['off new', place] = (0.15 / self.places, 1.0, usual)
        self.elsewhere = 1.0 - sum(cell[0] for cell in self.cells.values())

    def pull_of(self, observation: Array) -> float:
        return float(self.motion.forward @ observation + self.motion.forward_offset)

    def between_rows(self, mean: float, of_rows: Array) -> Array:
        """Interpolate between the rows of the table of moves whose means are on either side."""
        row = min(mean * self.motion.moves_a_row, len(self.motion.moves) - 1 - 1e-9)
        low, high = int(row), row - int(row)
        return (1.0 - high) * of_rows[low] + high * of_rows[low + 1]

    def move(self, forward: float | None) -> None:
        """Move each cell by its speed ratio; who got farther than its mean was faster."""
        come: dict[tuple[str, int], list[Cell]] = {key: [] for key in self.cells}
        for (row, here), (chance, ratio, before) in self.cells.items():
            if row == 'stands':
                come[row, here].append((chance, 0.0, 0.0))
                continue
            change = self.change(forward, here, ratio)
            if row == 'free motion':
                after = min(ratio + change, self.motion.fastest[here])
                variance = before + self.motion.ratio_noise
            else:
                usual = np.clip(change, -self.motion.usual_change, self.motion.usual_change)
                # On a slow lap nothing draws it to the usual one.
                kept = 1.0 if row == 'slow' else self.motion.ratio_kept
                after = 1.0 + kept * (ratio - 1.0)
                after += self.motion.trust * usual + (change - usual)
                gained = self.motion.ratio_spread**2 * (1.0 - self.motion.ratio_kept**2)
                variance = kept**2 * before + gained
            after = min(max(after, 0.0), FASTEST)
            rate = self.motion.rates[here]
            mean = rate * (ratio + after) / 2.0
            within = max(self.between_rows(mean, self.variances), 1e-2)
            # The joint Gaussian of speed ratio and step, given the step.
            gain = rate * variance / (rate**2 * variance + within)
            left = variance - gain * rate * variance
            for step, part in enumerate(self.between_rows(mean, self.motion.moves)):
                for there, share in enumerate(self.powers[step][here]):
                    if share > 0.0:
                        updated = after + gain * (step - mean)
                        come[row, there].append((chance * part * share, updated, left))
        self.cells = {key: merged(cells) for key, cells in come.items()}
        self.cells = {key: (c, max(m, 0.0), v) for key, (c, m, v) in self.cells.items()}

    def change(self, forward: float | None, place: int, ratio: float) -> float:
        """Return by what the acceleration changes a speed ratio in a tick."""
        if forward is None:
            return 0.0
        at_rest = (1.0 - min(ratio**2, 1.0)) * self.resting
        pull = forward - ratio**2 * self.motion.pulls[place] - at_rest
        return float(pull * self.motion.tick_lengths[place])

    def fast_enough(self, ratio: float, variance: float) -> float:
        """Return how likely laps are driven at this speed ratio."""
        below = max(SLOWEST - ratio, 0.0)
        return float(np.exp(-0.5 * below**2 / (variance + self.motion.ratio_spread**2)))

    def settles(self, forward: float | None, place: int) -> float:
        """Return the probability that who is at rest stands: twice that of as hard a push."""
        if forward is None:
            return 1.0
        root = self.likelihood.rest_alone.root
        covariance = np.linalg.inv(root.T @ root)
        calm = np.sqrt(self.motion.forward @ covariance @ self.motion.forward)
        push = (forward - self.resting) / calm
        backwards = self.motion.tick_lengths[place] < 0.0
        return float(min(2.0 * norm.sf(-push if backwards else push), 1.0))

    def leads(self, row: str, other: str) -> float:
        """Return the probability of an exchange in a tick, as learned."""
        names = (*ROWS, 'elsewhere')
        return float(self.switching.exchanges[names.index(row), names.index(other)])

    def goes(self, row: str, other: str, place: int, cell: Cell, forward: float | None) -> float:
        """Return the probability to go over at a place, where what a cell knows counts too."""
        chance, (_, ratio, variance) = self.leads(row, other), cell
        usual = self.motion.ratio_spread**2
        if (row, other) in {('off', 'on'), ('off new', 'on new')}:
            return chance + self.unfound * max(self.switching.finds - chance, 0.0)
        if (row, other) == ('free motion', 'stands'):
            near = np.exp(-0.5 * ratio**2 / (variance + usual)) * self.settles(forward, place)
            rests = min(self.switching.halts * self.looks_still / chance, 1.0)
            return float(chance * (near + (1.0 - near) * rests))
        if (row, other) in {('free motion', 'on new'), ('slow', 'on new')}:
            apart = max(abs(ratio - 1.0) - 2.0 * self.motion.ratio_spread, 0.0)
            chance *= np.exp(-0.5 * apart**2 / (variance + usual))
        if (row, other) == ('free motion', 'slow'):
            chance *= self.fast_enough(ratio, variance)
        if (row, other) == ('free motion', 'on new'):
            change = self.change(forward, place, ratio) / max(self.motion.usual_change, 1e-6)
            chance *= np.exp(-0.5 * change**2)
        return chance

    def go_over(self, forward: float | None) -> None:
        usual = self.motion.ratio_spread**2
        come: dict[tuple[str, int], list[Cell]] = {key: [] for key in self.cells}
        lasts = self.rolling * (1.0 - self.leads('elsewhere', 'elsewhere'))
        elsewhere = self.elsewhere * (1.0 - lasts)
        jumps = self.elsewhere * self.rolling * self.switching.jumps[len(ROWS)]
        for (row, place), (chance, ratio, variance) in self.cells.items():
            stopping, going_on = self.switching.stops[:, place]
            to: list[tuple[str, Cell]] = []
            if row in {'on', 'on new'}:
                to.append(('stands', (stopping, 0.0, 0.0)))
            if row == 'stands':
                drives_on = 1.0 if forward is None else self.moving
                to.append(('on new', (drives_on * going_on, 1.0, usual)))
            for other in set(ROWS) - {row}:
                part, found = self.goes(row, other, place, (1.0, ratio, variance), forward), ratio
                spread = variance
                if 'stands' in {row, other}:
                    found = spread = 0.0
                to.append((other, (part, found, spread)))
            jumped = self.switching.jumps[ROWS.index(row)]
            jumped = jumped * (self.rolling if row == 'free motion' else 1.0)
            gone = self.leads(row, 'elsewhere')
            gone *= self.moving if row in {'slow', 'free motion'} else 1.0
            if row == 'slow':
                ends = self.leads('free motion', 'on new')
                gone += (1.0 - self.fast_enough(ratio, variance)) * ends
            stays = 1.0 - gone - jumped.sum() - sum(part for _, (part, *_) in to)
            for other, (part, *rest) in [*to, (row, (stays, ratio, variance))]:
                come[other, place].append((chance * part, *rest))
            elsewhere += chance * gone
            jumps = jumps + chance * jumped
        for row, chance in zip(JUMPED, jumps, strict=True):
            for place in range(self.places):
                come[row, place].append((chance / self.places, 1.0, usual))
        self.elsewhere = elsewhere
        self.cells = {key: merged(cells) for key, cells in come.items()}

    def features(self) -> tuple[Array, Array]:
        """Slow means before the last observation, and that; each mean starts at the first."""
        means = np.tile(self.seen[0], (len(self.likelihood.gains), 1))
        for observation in self.seen[:-1]:
            for mean, gain in zip(means, self.likelihood.gains, strict=True):
                mean[:] += gain * (observation - mean)
        return means.ravel(), self.seen[-1]

    def skip(self, ticks: int) -> None:
        """Predict; of who is settled only so many stay so as would not have settled meanwhile."""
        for _ in range(ticks):
            self.move(None)
            self.go_over(None)
        for settled, new in (('on', 'on new'), ('off', 'off new')):
            left = (1.0 - self.leads(new, settled)) ** ticks
            for place in range(self.places):
                whole, ratio, variance = self.cells[settled, place]
                fresh, *other = self.cells[new, place]
                came = (1.0 - left) * whole
                share = came / (fresh + came)
                mixed = (1.0 - share) * np.array(other) + share * np.array([ratio, variance])
                self.cells[settled, place] = (left * whole, ratio, variance)
                self.cells[new, place] = (fresh + came, *mixed)

    def update(self, observation: Array) -> float:
        """Take an observation; return the logarithm of its predicted density, tempered."""
        self.seen.append(observation)
        forward = self.pull_of(observation)
        self.move(forward)
        self.go_over(forward)
        logs, self.cells, (stands, moves, anything) = self.weighed()
        joint = {key: self.cells[key][0] * np.exp(log) for key, log in logs.items()}
        elsewhere = self.elsewhere * np.exp(self.likelihood.sharpness * anything)
        total = sum(joint.values()) + elsewhere
        self.cells = {key: (joint[key] / total, *cell[1:]) for key, cell in self.cells.items()}
        self.elsewhere = elsewhere / total
        self.largest = max(*logs.values(), self.likelihood.sharpness * anything)
        standing = sum(self.cells['stands', place][0] for place in range(self.places))
        self.resting += standing * self.likelihood.persistence * (forward - self.resting)
        self.moving = 1.0 / (1.0 + np.exp(stands - moves))
        started = self.rolling + self.switching.rolls * (1.0 - self.rolling)
        self.rolling = min(self.moving, started)
        found = sum(
            self.cells[row, place][0] for row in ('on', 'on new') for place in range(self.places)
        )
        self.unfound *= (1.0 - found) ** self.likelihood.persistence
        self.looks_still = 1.0 / (1.0 + np.exp(moves + self.switching.mistakable - stands))
        return float(np.log(total))

    def weighed(self) -> tuple[dict, dict[tuple[str, int], Cell], tuple[float, float, float]]:
        """Return log-likelihoods and updated cells, and log densities at no place."""
        stands, moves, lasting = self.placeless()
        anything, sharpness = max(stands, moves), self.likelihood.sharpness
        if len(self.seen) == 1:
            parts = np.exp(sharpness * np.array([moves, stands]))
            anything = np.log(self.switching.beginnings.sum(axis=1) @ parts) / sharpness
        logs, cells = {}, dict(self.cells)
        for (row, place), cell in self.cells.items():
            at = row, place
            if row in {'free motion', 'stands'}:
                logs[at] = sharpness * (stands if row == 'stands' else anything)
            elif row == 'slow':
                logs[at], cells[at] = self.seen_slow(place, cell)
            else:
                logs[at], cells[at] = self.seen_at(row, place, cell, lasting)
        return logs, cells, (stands, moves, anything)

    def sense(self, readings: list[Array], likelihood: RouteLikelihood, weight: float) -> float:
        """
        Mix the belief given the last reading of a sensor with the one without it.

        Each weighs as much as its share of the density of that reading, which is that of any road
        where the sensor is broken. Returns the probability that it is not.
        """
        own = self.likelihood, self.seen
        self.likelihood, self.seen = likelihood, readings
        logs, cells, (*_, anything) = self.weighed()
        self.likelihood, self.seen = own
        broken = np.exp(likelihood.sharpness * anything)
        joint = {key: cells[key][0] * np.exp(log) for key, log in logs.items()}
        sound = sum(joint.values()) + self.elsewhere * broken
        total = weight * sound + (1.0 - weight) * broken
        for key, before in self.cells.items():
            given = weight * joint[key] / total, *cells[key][1:]
            without = (1.0 - weight) * broken * before[0] / total, *before[1:]
            self.cells[key] = merged([given, without])
        self.elsewhere *= broken / total
        return float(weight * sound / total)

    def placeless(self) -> tuple[float, float, float]:
        """Log densities of who stands and of who moves, and of the slow means of any road."""
        (means, observation), nothing, of = self.features(), np.zeros(0), self.likelihood
        lasting = of.persistence * log_density(of.other_means, means, nothing)
        stands = log_density(of.rest_alone, observation, nothing) + lasting
        if len(self.seen) > 1:
            given = log_density(of.rest, observation, means)
            given += of.persistence * log_density(of.rest_means, means, nothing)
            stands = max(stands, given)
        moves = max(log_density(each, observation, means) for each in (of.slow, of.other))
        return stands, lasting + moves, lasting

    def seen_at(self, row: str, place: int, cell: Cell, lasting: float) -> tuple[float, Cell]:
        """Tempered log-likelihood with the speed ratio integrated out, and the cell given it."""
        (means, observation), of = self.features(), self.likelihood
        chance, ratio, variance = cell
        if row.endswith('new'):
            apart = of.new_whitening @ observation - of.new_means[place]
            slope, level = of.new_slopes[place], of.new_level + lasting
            weights = np.ones(len(apart))
        else:
            apart = of.whitening @ np.concatenate([means, observation]) - of.means[place]
            slope, level = of.slopes[place], 0.0
            # What lasts counts less.
            weights = np.repeat([of.persistence, 1.0], [len(means), len(observation)])
        bound = USUAL_RATIOS * self.motion.ratio_spread
        here = min(max(ratio - 1.0, -bound), bound)
        rest, slope = weights**0.5 * (apart - here * slope), weights**0.5 * slope
        log, updated = self.seen_with(rest, slope, weights.sum(), place, level, cell)
        return log, updated if here == ratio - 1.0 else (chance, ratio, variance)

    def seen_slow(self, place: int, cell: Cell) -> tuple[float, Cell]:
        """As `seen_at`, by a parabola through the reading at rest, in the channels themselves."""
        (means, observation), of = self.features(), self.likelihood
        whitening, kinds = of.whitening, 1 + len(of.gains)
        rest, exponents = (np.tile(each, kinds) for each in (of.rest_alone.offset, of.exponents))
        usual = np.linalg.solve(whitening, of.means[place])
        learned = np.linalg.solve(whitening, of.slopes[place])
        steep = (1.0 - LEARNED_SLOPES) * exponents * (usual - rest) + LEARNED_SLOPES * learned
        # Through the reading at rest, the usual one and its slope there.
        solved = np.linalg.solve([[1.0, 1.0], [1.0, 2.0]], np.array([usual - rest, steep]))
        expected = rest + solved[0] * cell[1] + solved[1] * cell[1] ** 2
        weights = np.repeat([of.persistence, 1.0], [len(means), len(observation)])
        slope = weights**0.5 * (whitening @ (solved[0] + 2.0 * solved[1] * cell[1]))
        apart = weights**0.5 * (whitening @ (np.concatenate([means, observation]) - expected))
        return self.seen_with(apart, slope, weights.sum(), place, 0.0, cell)

    def seen_with(
        self, rest: Array, slope: Array, count: float, place: int, level: float, cell: Cell
    ) -> tuple[float, Cell]:
        """Integrate the speed ratio out of a density, and update it as a Kalman filter."""
        chance, ratio, variance = cell
        of, noise = self.likelihood, self.likelihood.noise[place]
        # Of a Student-t density: the precision of the Gaussian that is as steep at this distance.
        steep = of.sharpness * (of.tail + count) / (of.tail * noise + rest @ rest)
        whole = np.eye(len(rest)) + steep * variance * np.outer(slope, slope)
        square = np.array([rest @ np.linalg.solve(whole, rest)])
        log = of.sharpness * (student(square, count, noise, of.tail) + level)
        log -= 0.5 * np.linalg.slogdet(whole)[1]
        gain = variance * steep * np.linalg.solve(whole, slope)
        ratio = min(max(ratio + gain @ rest, 0.0), FASTEST)
        return float(log), (chance, ratio, variance - gain @ slope * variance)

    def table(self) -> Array:
        """Return probabilities, means and variances as the belief has them: (3, P, 7)."""
        return np.array(
            [[self.cells[row, place] for row in ROWS] for place in range(self.places)]
        ).transpose(2, 0, 1)

    def assert_same(self, belief: RouteBelief, atol: float) -> Array:
        """Compare chances (P, 7) of a belief, and the speed ratios of what moves; return them."""
        chances, ratios, spreads = self.table()
        np.testing.assert_allclose(belief.chances, chances, rtol=0.0, atol=atol)
        moving = (chances > 1e-9) & (np.arange(len(ROWS)) != ROWS.index('stands'))
        np.testing.assert_allclose(belief.ratios[moving], ratios[moving], atol=1e-6)
        np.testing.assert_allclose(belief.spreads[moving], spreads[moving], atol=1e-6)
        return chances


def student(squares: Array, count: float, noise: float, tail: float) -> float:
    """Return the log density, up to a constant, of ``count`` values with these squares."""
    level = -0.5 * count * np.log(noise)
    return float(level - 0.5 * (tail + count) * np.log(1.0 + squares.sum() / (tail * noise)))


def log_density(density: Density, seen: Array, given: Array) -> float:
    apart = density.root @ (seen - density.slopes @ given - density.offset)
    power = 0.5 * (density.tail + len(seen))
    return float(density.level - power * np.log(1.0 + apart @ apart / density.tail))


def merged_greedily(nodes: Array, headings: Array, radius: float, same_pass: int) -> list[int]:
    """Return the place of each step: the best known one within the radius, else a new one."""
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
