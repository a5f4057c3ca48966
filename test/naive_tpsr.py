# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Online TPSR as the paper writes it, rank one at a time; shares nothing with the package."""

import numpy as np

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
    if length_x > 1e-9 * np.linalg.norm(x):
        left = np.column_stack([left, outside_x / length_x])
    else:
        left = np.column_stack([left, np.zeros(len(x))])
    if length_y > 1e-9 * np.linalg.norm(y):
        right = np.column_stack([right, outside_y / length_y])
    else:
        right = np.column_stack([right, np.zeros(len(y))])
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
        inverse = np.linalg.inv(
            self.covariance + ridge * self.count * np.eye(len(self.covariance))
        )
        tensor, state = self.whole_tensor[:states, :, :states], start / (normaliser @ start)
        found = []
        for observation in observations:
            moved = np.einsum('aoc,o->ac', tensor, inverse @ observation) @ state
            state = moved / (normaliser @ moved)
            found.append(self.left[:, :states] @ state)
        return np.array(found)
