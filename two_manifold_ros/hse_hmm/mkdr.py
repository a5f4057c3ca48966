# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold kernel dimension reduction (Nilsson, Sha & Jordan 2007), and positions read with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.learner import fix_signs, RIDGE
from two_manifold_ros.typing import Bools, Floats, Ints


def onto_unit_trace(matrix: Floats) -> Floats:
    """Return the positive semidefinite matrix of trace one nearest to a symmetric (m, m) one."""
    values, vectors = np.linalg.eigh(matrix)
    # Eigenvalues become the nearest numbers that are not negative and sum to one.
    falling = values[::-1]
    lowered = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    level = lowered[np.flatnonzero(falling > lowered)[-1]]
    nearest: Floats = (vectors * np.maximum(values - level, 0.0)) @ vectors.T
    return nearest


class Contrast:
    r"""
    The objective of Nilsson, Sha & Jordan 2007, eq. 9, as in mathematics (11.2).

    .. math:: V(\Theta) = \epsilon \operatorname{tr}[Y Y^\top (M \Theta M^\top + \epsilon I)^{-1}]

    for centred ``eigenvectors`` M (n, m) whose columns have unit norm on average and centred
    ``responses`` Y (n, q) of norm one: the share of the responses that is left unexplained,
    penalty included. It is convex, other than the paper says. The matrix is inverted in an
    orthonormal basis of the columns of M: no system is larger than m x m. The ``penalty`` is
    :math:`n \epsilon` in both; ``regularised`` adds it to the response kernel too, as in the
    paper's experiments.
    """

    def __init__(
        self, eigenvectors: Floats, responses: Floats, penalty: float, *, regularised: bool = False
    ) -> None:
        if not penalty > 0.0:
            raise InputError(f'the penalty is {penalty} but has to be positive, for example 0.001')
        if not (np.isfinite(eigenvectors).all() and np.isfinite(responses).all()):
            msg = 'eigenvectors or responses are not finite; leave out points without a response'
            raise InputError(msg)
        vectors, _ = _centred(eigenvectors, 'eigenvectors')
        centred, size = _centred(responses, 'responses')
        basis, spread = np.linalg.qr(vectors * np.sqrt(vectors.shape[1]))
        self._eigenvectors = spread
        self._responses = basis.T @ centred
        self._unseen = max(0.0, 1.0 - float(np.sum(self._responses**2)))
        self._penalty = penalty
        # Of tr[K (M Theta M' + eps I)^-1], the units of the paper, in those of V.
        self.unit = size**2 / penalty
        if regularised:
            # The centred identity in the basis, and what there is of it outside.
            extra, seen = penalty / size**2, basis.T @ (basis - basis.mean(axis=0))
            self._responses = np.hstack([self._responses, np.sqrt(extra) * seen])
            self._unseen += extra * (len(vectors) - 1 - float(np.trace(seen)))

    def look(self, theta: Floats) -> tuple[float, Floats]:
        """Return the value at an (m, m) Theta and the gradient, shape (m, m)."""
        vectors = self._eigenvectors
        inner = vectors @ theta @ vectors.T + self._penalty * np.eye(len(vectors))
        weights = np.linalg.solve(inner, self._responses)
        value = self._penalty * float(np.sum(self._responses * weights)) + self._unseen
        pull = vectors.T @ weights
        return value, -self._penalty * (pull @ pull.T)


def _centred(columns: Floats, which: str) -> tuple[Floats, float]:
    """Return them with mean zero and Frobenius norm one, and the norm that they had."""
    centred = columns - columns.mean(axis=0)
    size = float(np.linalg.norm(centred))
    # Rounding is no variation.
    if not size > 1e-12 * np.linalg.norm(columns):
        msg = f'the {which} are the same at all {len(columns)} points; give ones that vary'
        raise InputError(msg)
    return centred / size, size


def response_features(gram: Floats) -> Floats:
    r"""Return Y (n, q) with :math:`Y Y^\top = H K H` of a response kernel K; refuse others."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not np.isfinite(gram).all():
        msg = f'the response kernel has the shape {gram.shape}; give finite (n, n) numbers'
        raise InputError(msg)
    rounding = 1e-9 * np.abs(gram).max()
    centred = gram - gram.mean(axis=0)
    centred = centred - centred.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(0.5 * (centred + centred.T))
    if np.abs(gram - gram.T).max() > rounding or values[0] < -rounding * len(gram):
        msg = 'the response kernel is not symmetric and positive semidefinite; choose another'
        raise InputError(msg)
    # Others are rounding.
    kept = values > 1e-12 * values[-1]
    features: Floats = vectors[:, kept] * np.sqrt(values[kept])
    return features


@dataclass(frozen=True)
class PredictiveDirections:
    r"""Directions in the space of an embedding whose projections predict the responses."""

    directions: Floats  # (m, r), orthonormal, leading first; points project with `@ directions`
    strengths: Floats  # (m,), eigenvalues of Theta, largest first; they sum to one
    theta: Floats  # (m, m), Phi' Phi, positive semidefinite with trace one
    objective: Floats  # (steps + 1,), the contrast before and after every step

    @property
    def rank(self) -> int:
        """Estimated dimension of the central subspace, that is the number of directions."""
        return len(self.directions.T)

    def predictive_eigenvectors(self, count: int) -> Ints:
        """Return the columns with the largest coefficients in the directions, largest first."""
        return np.argsort(-np.diag(self.theta), kind='stable')[:count]


def find_predictive_directions(
    eigenvectors: Floats,
    responses: Floats,
    *,
    penalty: float = RIDGE,
    tolerance: float = 1e-6,
    most_steps: int = 500,
    regularised: bool = False,
    literal: bool = False,
    rank: int | None = None,
) -> PredictiveDirections:
    """
    Find the directions by projected gradient descent from the identity.

    Steps are as long as the descent is sufficient, and Theta is projected to the nearest matrix
    that is allowed; if ``literal``, they are those of Algorithm 1 of Nilsson, Sha & Jordan 2007,
    which stops above the minimum. ``eigenvectors`` (n, m) are any embedding of the points where
    the ``responses`` (n, q) are known. It stops when the objective falls by less than
    ``tolerance``, relatively. ``rank`` is the number of directions; ``None`` counts those at least
    a hundredth as strong as the first. Raises ``InputError`` for what does not vary.
    """
    contrast = Contrast(eigenvectors, responses, penalty, regularised=regularised)
    count = eigenvectors.shape[1]
    if rank is not None and not 1 <= rank <= count:
        msg = f'{rank} directions are asked for of {count} coordinates; ask for 1 to {count}'
        raise InputError(msg)
    theta = np.eye(count) if literal else np.eye(count) / count
    value, gradient = contrast.look(theta)
    objective = [value]
    step = 1.0 / max(float(np.linalg.norm(gradient)), 1e-12)
    while len(objective) <= most_steps:
        before = value
        if literal:
            # As in eq. 11: no eigenvalue is negative, then the trace is one.
            values, vectors = np.linalg.eigh(theta - contrast.unit / len(objective) * gradient)
            clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
            theta = clipped / np.trace(clipped)
            value, gradient = contrast.look(theta)
        else:
            theta, value, gradient, step = _descend(contrast, theta, value, gradient, 2.0 * step)
        objective.append(value)
        if abs(before - value) <= tolerance * value:
            break
    values, vectors = np.linalg.eigh(theta)
    strengths = np.maximum(values[::-1], 0.0)
    if rank is None:
        rank = int(np.count_nonzero(strengths >= 1e-2 * strengths[0]))
    directions = fix_signs(vectors[:, ::-1][:, :rank])
    return PredictiveDirections(directions, strengths, theta, np.array(objective))


def _descend(
    contrast: Contrast, theta: Floats, value: float, gradient: Floats, step: float
) -> tuple[Floats, float, Floats, float]:
    """Return Theta, value and gradient after a step, halved until it descends enough, and that."""
    while step > 1e-12:
        found = onto_unit_trace(theta - step * gradient)
        moved = found - theta
        found_value, found_gradient = contrast.look(found)
        bound = value + float(np.sum(gradient * moved)) + float(np.sum(moved**2)) / (2.0 * step)
        if found_value <= bound:
            return found, found_value, found_gradient, step
        step /= 2.0
    return theta, value, gradient, step


def fit_position_map(
    coordinates: Floats, positions: Floats, penalty: float
) -> Callable[[Floats], Floats]:
    r"""
    Learn the positions (n, 2), metres, as a function of the ``coordinates`` (n, m) of points.

    It is the :math:`\Theta`-kernel ridge regression whose residual mathematics (11.2) minimises
    under the same penalty. Where either does not vary the map is their mean.
    """
    centre, offset = coordinates.mean(axis=0), positions.mean(axis=0)
    centred = coordinates - centre
    coefficients = np.zeros((len(centre), 2))

    def position_of(asked: Floats) -> Floats:
        places: Floats = (asked - centre) @ coefficients + offset
        return places

    for apart, middle in ((centred, centre), (positions - offset, offset)):
        # Less is rounding.
        if not np.abs(apart).max() > 1e-9 * (1.0 + np.abs(middle).max()):
            return position_of
    found = find_predictive_directions(
        centred, positions, penalty=penalty, tolerance=1e-3, most_steps=30
    )
    size = np.sqrt(np.square(centred).sum() / centred.shape[1])
    root = found.directions * np.sqrt(found.strengths[: found.rank]) / size
    reduced = centred @ root
    normal = reduced.T @ reduced + penalty * np.eye(found.rank)
    coefficients = root @ np.linalg.solve(normal, reduced.T @ (positions - offset))
    return position_of


def cross_validated(coordinates: Floats, positions: Floats, penalty: float) -> float:
    """Return the RMS error, metres, of `fit_position_map` on stretches left out in turn."""
    squares = []
    for kept, left_out in _folds(len(positions)):
        found = fit_position_map(coordinates[kept], positions[kept], penalty)
        errors = found(coordinates[left_out]) - positions[left_out]
        squares.append(np.square(errors).sum(axis=1))
    return float(np.sqrt(np.concatenate(squares).mean()))


def within_reach(known: Floats, asked: Floats) -> Bools:
    """Return which points (l, m) are near the known ones (n, m), which are in order of time."""
    # Only within twice the distance that 95 % of what is left out keeps does the error hold.
    nearest = [cKDTree(known[kept]).query(known[out])[0] for kept, out in _folds(len(known))]
    reach = 2.0 * np.quantile(np.concatenate(nearest), 0.95)
    inside: Bools = cKDTree(known).query(asked)[0] <= reach
    return inside


def _folds(count: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield kept and left-out rows of five stretches: neighbours would tell of each other."""
    every = np.arange(count)
    for left_out in np.array_split(every, 5):
        yield np.setdiff1d(every, left_out), left_out
