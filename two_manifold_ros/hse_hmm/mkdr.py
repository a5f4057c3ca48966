# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold kernel dimension reduction (Nilsson, Sha & Jordan 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import fix_signs

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


def onto_simplex(values: Floats) -> Floats:
    """
    Return the numbers nearest to the given ones that are not negative and sum to one.

    All are lowered by as much, and those that would be negative become zero.

    Parameters
    ----------
    values : (m,)
        In any order.

    """
    falling = np.sort(values)[::-1]
    lowered = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    level = lowered[np.flatnonzero(falling > lowered)[-1]]
    nearest: Floats = np.maximum(values - level, 0.0)
    return nearest


def onto_unit_trace(matrix: Floats) -> Floats:
    """Return the positive semidefinite matrix of trace one nearest to a symmetric (m, m) one."""
    values, vectors = np.linalg.eigh(matrix)
    nearest: Floats = (vectors * onto_simplex(values)) @ vectors.T
    return nearest


ROUNDING = 1e-12
"""What varies by less than this, relative to its size, does not vary."""


class Contrast:
    r"""
    Eq. (11.2) of the note, eq. (9) of Nilsson, Sha & Jordan 2007, times :math:`\epsilon`.

    .. math:: V(\Theta) = \epsilon \operatorname{tr}[Y Y^\top (M \Theta M^\top + \epsilon I)^{-1}]

    for centred eigenvectors whose columns have unit norm on average and centred responses with
    :math:`\operatorname{tr} Y Y^\top = 1`, so that the units of neither matter. It is the share
    of the responses that is left unexplained, penalty included: between 0 and 1. The columns of M
    span all that the matrix in brackets does not just scale, so that it is inverted in an
    orthonormal basis of them, which is the Woodbury identity: no system is larger than m x m.
    V is convex, other than the paper says: the trace of an inverse is, and what is inverted is
    linear in Theta.

    Parameters
    ----------
    eigenvectors : (n, m)
        M; need be neither centred nor orthogonal.
    responses : (n, q)
        Y; need not be centred.
    penalty
        :math:`\epsilon`, positive, which is :math:`n \epsilon` in both; beside the eigenvalues of
        Theta, which sum to one.

    Raises
    ------
    InputError
        If these do not fit together, are not finite or do not vary.

    """

    def __init__(self, eigenvectors: Floats, responses: Floats, penalty: float) -> None:
        if not penalty > 0.0:
            msg = f'the penalty is {penalty} but has to be positive, for example 0.001'
            raise InputError(msg)
        _check(eigenvectors, responses)
        vectors = _centred(eigenvectors, 'eigenvectors')
        centred = _centred(responses, 'responses')
        basis, spread = np.linalg.qr(vectors * np.sqrt(vectors.shape[1]))
        self._eigenvectors = spread
        self._responses = basis.T @ centred
        self._unseen = max(0.0, 1.0 - float(np.sum(self._responses**2)))
        self._penalty = penalty

    def look(self, theta: Floats) -> tuple[float, Floats]:
        """Return the value at an (m, m) Theta and the gradient, shape (m, m)."""
        vectors = self._eigenvectors
        inner = vectors @ theta @ vectors.T + self._penalty * np.eye(len(vectors))
        weights = np.linalg.solve(inner, self._responses)
        value = self._penalty * float(np.sum(self._responses * weights)) + self._unseen
        pull = vectors.T @ weights
        return value, -self._penalty * (pull @ pull.T)


def _centred(columns: Floats, which: str) -> Floats:
    """Return them with mean zero and Frobenius norm one."""
    centred = columns - columns.mean(axis=0)
    size = np.linalg.norm(centred)
    if not size > ROUNDING * np.linalg.norm(columns):
        msg = f'the {which} are the same at all {len(columns)} points; give ones that vary'
        raise InputError(msg)
    scaled: Floats = centred / size
    return scaled


def _check(eigenvectors: Floats, responses: Floats) -> None:
    if eigenvectors.ndim != 2 or responses.ndim != 2 or len(eigenvectors) != len(responses):
        msg = (
            f'eigenvectors {eigenvectors.shape} and responses {responses.shape} do not belong '
            'together; give matrices with a row for every point'
        )
        raise InputError(msg)
    if not (np.isfinite(eigenvectors).all() and np.isfinite(responses).all()):
        msg = 'eigenvectors or responses are not finite; leave out the points without a response'
        raise InputError(msg)


SMALLEST_STRENGTH = 1e-2
"""Directions that are weaker than this, relative to the first, do not count for the rank."""

GROWTH = 2.0
"""Of the step from one to the next; it is halved until the descent is sufficient."""

SMALLEST_STEP = 1e-12


@dataclass(frozen=True)
class PredictiveDirections:
    r"""
    Directions in the space of an embedding onto which to project what predicts the responses.

    Parameters
    ----------
    directions : (m, r)
        Orthonormal, leading first: points project as ``eigenvectors @ directions``.
    strengths : (m,)
        Eigenvalues of Theta, largest first; they sum to one.
    theta : (m, m)
        :math:`\Theta = \Phi^\top \Phi`, positive semidefinite with trace one.
    objective : (steps + 1,)
        Share of the responses left unexplained, penalty included, before and after every step.

    """

    directions: Floats
    strengths: Floats
    theta: Floats
    objective: Floats

    @property
    def rank(self) -> int:
        """Estimated dimension of the central subspace, that is the number of directions."""
        return len(self.directions.T)

    def predictive_eigenvectors(self, count: int) -> Ints:
        """Return the columns with the largest coefficients in the directions, largest first."""
        order: Ints = np.argsort(-np.diag(self.theta), kind='stable')[:count]
        return order


def find_predictive_directions(
    eigenvectors: Floats,
    responses: Floats,
    *,
    penalty: float = 1e-3,
    tolerance: float = 1e-6,
    most_steps: int = 500,
) -> PredictiveDirections:
    """
    Find the directions by projected gradient descent from the identity, Algorithm 1.

    Other than in the paper, whose rule stops above the minimum: steps are not ``1 / t`` but as
    long as the descent is sufficient, and Theta is projected to the nearest matrix that is
    allowed, where the paper clips eigenvalues and then scales. The kernel of the responses is
    linear and not regularised, so that there are at most as many directions as responses; give
    functions of a response as columns where it is more than linear in the eigenvectors.

    Parameters
    ----------
    eigenvectors : (n, m)
        Of a graph Laplacian, or any embedding, at the points where the responses are known; a
        column counts by how much it varies beside the others.
    responses : (n, q)
        Columns count by how much they vary.
    penalty
        See `Contrast`: the larger, the less directions follow eigenvectors that vary little.
    tolerance
        Stops when the objective falls by less than this, relatively.
    most_steps
        Stops then at the latest.

    Raises
    ------
    InputError
        If these do not fit together, are not finite or do not vary; see `Contrast`.

    """
    if most_steps < 1:
        msg = f'most_steps is {most_steps} but has to be at least 1'
        raise InputError(msg)
    contrast = Contrast(eigenvectors, responses, penalty)
    theta = np.eye(eigenvectors.shape[1]) / eigenvectors.shape[1]
    value, gradient = contrast.look(theta)
    objective = [value]
    step = 1.0 / max(float(np.linalg.norm(gradient)), SMALLEST_STEP)
    while len(objective) <= most_steps:
        before = value
        theta, value, gradient, step = _descend(contrast, theta, value, gradient, GROWTH * step)
        objective.append(value)
        if before - value <= tolerance * value:
            break
    return _directions_of(theta, np.array(objective))


def _descend(
    contrast: Contrast, theta: Floats, value: float, gradient: Floats, step: float
) -> tuple[Floats, float, Floats, float]:
    """Return Theta, value and gradient after a step that is short enough, and that step."""
    while step > SMALLEST_STEP:
        found = onto_unit_trace(theta - step * gradient)
        moved = found - theta
        found_value, found_gradient = contrast.look(found)
        bound = value + float(np.sum(gradient * moved)) + float(np.sum(moved**2)) / (2.0 * step)
        if found_value <= bound:
            return found, found_value, found_gradient, step
        step /= 2.0
    return theta, value, gradient, step


def _directions_of(theta: Floats, objective: Floats) -> PredictiveDirections:
    values, vectors = np.linalg.eigh(theta)
    strengths = np.maximum(values[::-1], 0.0)
    rank = int(np.count_nonzero(strengths >= SMALLEST_STRENGTH * strengths[0]))
    directions = fix_signs(vectors[:, ::-1][:, :rank])
    return PredictiveDirections(directions, strengths, theta, objective)
