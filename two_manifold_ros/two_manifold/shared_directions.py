# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What two centred embeddings of the same hidden state share.

The noise of past and future windows is independent given the state, so it averages out of the
product between their embeddings, and its leading singular directions are the state's
(Boots & Gordon 2012, section 3 and Algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.signs import fix_signs

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

SMALLEST_RATIO = 1e-3
"""Directions with a smaller singular value, relative to the first, are left out."""

COUPLINGS = ('cross-covariance', 'gram-product', 'canonical')

CANONICAL_RIDGE = 1e-3
"""Of the covariances of canonical correlation, relative to their mean variance."""


@dataclass(frozen=True)
class SharedDirections:
    r"""
    Directions of the future embedding that the past predicts, and the regression onto them.

    Parameters
    ----------
    future_map : (m_F, r)
        State of a future window: ``z_F @ future_map``.
    past_map : (m_P, r)
        Spectral regression from the past: its implied weights are
        ``z_P @ past_map / n``, and
        :math:`(A^\top C)\,\text{past\_map} = I` with A the future map and C of eq. (3.1).
    singular_values : (r,)
        Largest first.

    """

    future_map: Floats
    past_map: Floats
    singular_values: Floats


def shared_directions(
    future: Floats, past: Floats, rank: int, coupling: str = 'cross-covariance'
) -> SharedDirections:
    """
    Couple two centred embeddings.

    Parameters
    ----------
    future : (n, m_F), past : (n, m_P)
        Centred coordinates; row i of both belongs to the same training tick.
    rank
        Directions wanted; fewer are returned where the spectrum falls below ``SMALLEST_RATIO``.
    coupling
        ``cross-covariance``: SVD of (3.1), the exact kernel SVD of section 3.2.2 of the paper.
        ``gram-product``: SVD of C_X C_Y, Algorithm 1 to the letter, in the form (4.5).
        ``canonical``: canonical correlation, which weighs every direction by how well it is
        predicted and not by how much varies along it.

    Raises
    ------
    InputError
        If the past predicts nothing of the future, or there is no coupling of that name.

    """
    if coupling not in COUPLINGS:
        msg = f'there is no coupling named {coupling!r}; choose one of {", ".join(COUPLINGS)}'
        raise InputError(msg)
    covariance = future.T @ past / len(future)
    if coupling == 'cross-covariance':
        directions, values, _ = np.linalg.svd(covariance, full_matrices=False)
    elif coupling == 'canonical':
        directions, values = _canonical(future, past)
    else:
        directions, values = _gram_product(future, past)
    if not values[0] > 0.0:
        msg = 'past and future windows share nothing; record while the vehicle drives'
        raise InputError(msg)
    keep = min(rank, int(np.count_nonzero(values > SMALLEST_RATIO * values[0])))
    future_map = fix_signs(directions[:, :keep])
    past_map = np.linalg.pinv(future_map.T @ covariance)
    if coupling == 'canonical':
        # The smallest regression again, but measured in whitened coordinates of the past.
        root = _ridged_root(past)
        whitened = np.linalg.solve(root, covariance.T @ future_map).T
        past_map = np.linalg.solve(root.T, np.linalg.pinv(whitened))
    return SharedDirections(future_map, past_map, values[:keep])


def _gram_product(future: Floats, past: Floats) -> tuple[Floats, Floats]:
    """Return the maps sqrt(n) R_F^{-1} U' and the singular values of C_X C_Y, eq. (4.5)."""
    future_triangle = np.asarray(np.linalg.qr(future, mode='r'))
    past_triangle = np.asarray(np.linalg.qr(past, mode='r'))
    core = future_triangle @ (future.T @ past) @ past_triangle.T
    left, values, _ = np.linalg.svd(core, full_matrices=False)
    return np.sqrt(len(future)) * np.linalg.solve(future_triangle, left), values


def _canonical(future: Floats, past: Floats) -> tuple[Floats, Floats]:
    """Return the maps onto the canonical variates of the future and their correlations."""
    future_root = _ridged_root(future)
    past_root = _ridged_root(past)
    half = np.linalg.solve(future_root, future.T @ past / len(future))
    left, values, _ = np.linalg.svd(np.linalg.solve(past_root, half.T).T, full_matrices=False)
    return np.linalg.solve(future_root.T, left), values


def _ridged_root(features: Floats) -> Floats:
    """Return the Cholesky factor of a ridged covariance; the identity where nothing varies."""
    covariance = features.T @ features / len(features)
    ridge = CANONICAL_RIDGE * float(np.trace(covariance)) / len(covariance) or 1.0
    root: Floats = np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))
    return root
