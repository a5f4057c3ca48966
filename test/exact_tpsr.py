# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The TPSR of the papers on few features, which ours must equal, and streams to learn from."""

from collections.abc import Iterator

import numpy as np

from two_manifold_ros.tpsr.learner import Triples
from two_manifold_ros.tpsr.parameters import make_parameters, Tpsr, TpsrBelief
from two_manifold_ros.typing import Floats


def learn_by_tensor(triples: Triples, constant: Floats, states: int, ridge: float) -> Tpsr:
    """
    Learn with the third moments of all features, Boots & Gordon 2011, eq. 5: for few features.

    Parameters and result are those of `learn`, and so are the numbers, to rounding.
    """
    weighted = triples.tests * triples.importance[:, None]
    covariance = weighted.T @ triples.histories
    left = np.linalg.svd(covariance)[0][:, :states].T
    slices = np.hstack([triples.observations, np.ones((len(triples), 1))])
    samples = triples.importance, triples.next_tests, slices, triples.histories
    moments = np.einsum('n,nt,no,nh->oth', *samples, optimize=True)
    pseudo_inverse = np.linalg.pinv(left @ covariance)
    operators = left @ moments @ pseudo_inverse
    start = left @ covariance @ constant
    normaliser = triples.importance @ triples.histories @ pseudo_inverse
    weight = triples.importance.sum()
    present = triples.observations.T @ np.diag(triples.importance) @ triples.observations
    inverse = np.linalg.inv(present + ridge * weight * np.eye(len(present)))
    square = np.square(triples.tests).sum(axis=1).max()
    return make_parameters(start, normaliser, operators, inverse, weight, square)


Array = np.ndarray


def brand(
    left: Array, values: Array, right: Array, x: Array, y: Array, rank: int
) -> tuple[Array, Array, Array]:
    """
    Add the outer product of x and y to U S V' (Boots & Gordon 2011, eq. 8c-e and 9).

    U and V have columns here.
    """
    inside_x, inside_y = left.T @ x, right.T @ y
    outside_x, outside_y = x - left @ inside_x, y - right @ inside_y
    outside_x -= left @ (left.T @ outside_x)
    outside_y -= right @ (right.T @ outside_y)
    length_x, length_y = np.linalg.norm(outside_x), np.linalg.norm(outside_y)
    core = np.zeros((len(values) + 1, len(values) + 1))
    core[:-1, :-1] = np.diag(values)
    core += np.outer(np.append(inside_x, length_x), np.append(inside_y, length_y))
    turn_left, new_values, turn_right = np.linalg.svd(core)
    # What lies inside, to rounding, adds no direction.
    new_x = outside_x / length_x if length_x > 1e-9 * np.linalg.norm(x) else 0.0 * x
    new_y = outside_y / length_y if length_y > 1e-9 * np.linalg.norm(y) else 0.0 * y
    left, right = np.column_stack([left, new_x]), np.column_stack([right, new_y])
    rank = min(rank, int(np.sum(new_values > 1e-12 * new_values[0])))
    return left @ turn_left[:, :rank], new_values[:rank], right @ turn_right[:rank].T


class NaiveOnline:
    """
    Boots & Gordon 2011, eq. 8a-f, with one sample per batch.

    The tensor has the factor 1 / S, as in the paper. It takes a sample when the next one is in
    the bases (mathematics, section 10), and ``whole_tensor`` has the last one as well.
    """

    def __init__(self, tests: int, histories: int, observations: int, rank: int) -> None:
        self.rank = rank
        self.left, self.values = np.zeros((tests, 0)), np.zeros(0)
        self.right = np.zeros((histories, 0))
        self.tensor = np.zeros((0, observations, 0))
        self.waiting = np.zeros(tests), np.zeros(observations), np.zeros(0)
        self.covariance = np.zeros((observations, observations))
        self.mean = np.zeros(histories)
        self.count = 0.0

    def add(
        self,
        test: Array,
        next_test: Array,
        history: Array,
        observation: Array,
        weight: float = 1.0,
        decay: float = 1.0,
    ) -> None:
        left, values, right = self.left, decay * self.values, self.right
        self.left, self.values, self.right = brand(
            left, values, right, weight * test, history, self.rank
        )
        self.tensor = np.einsum(
            'ai,iok,ck->aoc',
            self.left.T @ left,
            self.tensor,
            (self.right.T @ right * values) / self.values[:, None],
        )
        before, observed, coordinates = self.waiting
        self.waiting = decay * before, observed, self.right.T @ right @ coordinates
        self.tensor = self.whole_tensor
        self.waiting = weight * next_test, observation, self.right.T @ history
        self.covariance = decay * self.covariance + weight * np.outer(observation, observation)
        self.mean = decay * self.mean + weight * history
        self.count = decay * self.count + weight

    @property
    def whole_tensor(self) -> Array:
        next_test, observation, coordinates = self.waiting
        return self.tensor + np.einsum(
            'a,o,c->aoc', self.left.T @ next_test, observation, coordinates / self.values
        )

    def filtered(self, constant: Array, observations: Array, ridge: float, states: int) -> Array:
        """Leading states after each observation (Boots & Gordon 2011, eq. 2 and 7a-c)."""
        values, right = self.values[:states], self.right[:, :states]
        start, normaliser = values * (right.T @ constant), (right.T @ self.mean) / values
        scaled = ridge * self.count * np.eye(len(self.covariance))
        inverse = np.linalg.inv(self.covariance + scaled)
        tensor, state = self.whole_tensor[:states, :, :states], start / (normaliser @ start)
        found = []
        for observation in observations:
            moved = np.einsum('aoc,o->ac', tensor, inverse @ observation) @ state
            state = moved / (normaliser @ moved)
            found.append(self.left[:, :states] @ state)
        return np.array(found)


def wandering(samples: int, size: int = 8, observations: int = 5, seed: int = 0) -> Triples:
    """Smooth features of a wandering point; the last history feature is the constant."""
    rng = np.random.default_rng(seed)
    steps = 0.3 * rng.normal(size=(samples + 3, 3))
    points = np.zeros_like(steps)
    for tick in range(1, len(points)):
        points[tick] = 0.9 * points[tick - 1] + steps[tick]
    features = np.random.default_rng(99)
    windows, present = (
        np.cos(points @ features.normal(size=(3, count)) + features.uniform(0, 6, count))
        for count in (size, observations)
    )
    windows[:, -1] = present[:, -1] = 1.0
    return Triples(
        tests=windows[1 : samples + 1],
        next_tests=windows[2 : samples + 2],
        histories=windows[:samples],
        observations=present[1 : samples + 1],
        importance=rng.uniform(0.5, 2.0, samples),
    )


def unit(size: int) -> np.ndarray:
    """Return the constant as written in the histories of these streams."""
    return np.eye(size)[-1]


def part(triples: Triples, begin: int, end: int) -> Triples:
    return Triples(*(array[begin:end] for array in vars(triples).values()))


def rows_of(triples: Triples) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield test, next test, history, observation and importance of each sample."""
    return zip(*vars(triples).values(), strict=True)


def evidences(tpsr: Tpsr, observations: np.ndarray) -> list[float]:
    """Return how well each observation was predicted."""
    belief = TpsrBelief(tpsr)
    return [belief.update(row) for row in observations]
