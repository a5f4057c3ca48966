# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The state transition without an observation, and keeping it from growing (section 6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


def transition(weights: Floats, states: Floats) -> Floats:
    """
    Return the (k, k) matrix that moves a state on by one tick without an observation, eq. (6.3).

    Its first row is e_1, so the weights keep their sum.
    """
    matrix: Floats = states.T @ weights
    return matrix


def spectral_radius(matrix: Floats) -> float:
    """Return the largest modulus among the eigenvalues of A in [[1, 0], [c, A]]."""
    inner = matrix[1:, 1:]
    return float(np.abs(np.linalg.eigvals(inner)).max()) if inner.size else 0.0


def stabilised(weights: Floats, states: Floats) -> Floats:
    r"""
    Return the state table with the growing modes of its transition shrunk to modulus 1.

    With :math:`A = V \operatorname{diag}(\alpha) V^{-1}` the centred states are multiplied by
    :math:`S = V \operatorname{diag}(\min(1, 1/|\alpha|)) V^{-1}`, so that the transition becomes
    :math:`S A` and modes inside the unit circle stay as they are.
    """
    inner = transition(weights, states)[1:, 1:]
    if not inner.size:
        return states
    values, vectors = np.linalg.eig(inner)
    modulus = np.abs(values)
    if modulus.max() <= 1.0:
        return states
    shrink = 1.0 / np.maximum(modulus, 1.0)
    matrix = (vectors * shrink @ np.linalg.inv(vectors)).real
    return np.hstack([states[:, :1], states[:, 1:] @ matrix.T])
