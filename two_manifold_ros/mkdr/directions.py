# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The directions of an embedding that predict responses (Nilsson, Sha & Jordan 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.signs import fix_signs
from two_manifold_ros.mkdr.contrast import Contrast
from two_manifold_ros.mkdr.simplex import onto_unit_trace

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

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
