# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Singular value decompositions between two embeddings of the same hidden state.

The noise of the two is independent given the state, so it averages out of the product between
them, and its leading singular directions are the state's (Boots & Gordon 2012, section 3). The
variants whiten one or both of the two first (footnote 2 there).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import fix_signs, RIDGE
from two_manifold_ros.names import COUPLINGS

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


SMALLEST_RATIO = 1e-3
"""Directions with a smaller singular value, relative to the first, are left out."""


class Coupled(NamedTuple):
    """The directions of two embeddings that go with each other."""

    # (m_X, r), column i of one belongs to column i of the other; the largest entry of each column
    # of the first is positive.
    first_map: Floats
    second_map: Floats  # (m_Y, r)
    singular_values: Floats  # (r,), largest first


def couple(first: Floats, second: Floats, coupling: str) -> Coupled:
    """
    Couple centred embeddings (n, m_X) and (n, m_Y), row i of both being the same sample.

    ``cross-covariance`` is the SVD of mathematics (3.1), Boots & Gordon 2012, section 3.2.2;
    ``gram-product`` the SVD of C_X C_Y as in Algorithm 1 there, mathematics (4.5); ``canonical``
    weighs a direction by how well it is predicted; ``reduced-rank`` by how much of the first the
    second predicts along it. There are min(m_X, m_Y) directions. Raises ``InputError`` if there is
    no coupling of that name.
    """
    if coupling == 'cross-covariance':
        product = first.T @ second / len(first)
        first_map, values, right = np.linalg.svd(product, full_matrices=False)
        second_map = right.T
    elif coupling == 'gram-product':
        first_map, values, second_map = _gram_product(first, second)
    elif coupling == 'canonical':
        first_map, values, second_map = _whitened(first, second, _ridged_root(first))
    elif coupling == 'reduced-rank':
        first_map, values, second_map = _whitened(first, second, np.eye(first.shape[1]))
    else:
        msg = f'there is no coupling named {coupling!r}; choose one of {", ".join(COUPLINGS)}'
        raise InputError(msg)
    fixed = fix_signs(first_map)
    return Coupled(fixed, second_map * np.sign((fixed * first_map).sum(axis=0)), values)


def _gram_product(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Return both maps sqrt(n) R^{-1} U' and the singular values of C_X C_Y, mathematics (4.5)."""
    triangles = [np.asarray(np.linalg.qr(each, mode='r')) for each in (first, second)]
    core = triangles[0] @ (first.T @ second) @ triangles[1].T
    left, values, right = np.linalg.svd(core, full_matrices=False)
    # The pseudo-inverse, because columns that are constant or repeated leave no inverse.
    inverses = [np.sqrt(len(first)) * np.linalg.pinv(triangle) for triangle in triangles]
    return inverses[0] @ left, values, inverses[1] @ right.T


def _whitened(first: Floats, second: Floats, root: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the maps of an SVD for which the second is whitened and the first as by its root."""
    second_root = _ridged_root(second)
    half = np.linalg.solve(root, first.T @ second / len(first))
    left, values, right = np.linalg.svd(
        np.linalg.solve(second_root, half.T).T, full_matrices=False
    )
    return np.linalg.solve(root.T, left), values, np.linalg.solve(second_root.T, right.T)


def _ridged_root(features: Floats) -> Floats:
    """Return the Cholesky factor of a ridged covariance; the identity where nothing varies."""
    covariance = features.T @ features / len(features)
    ridge = RIDGE * float(np.trace(covariance)) / len(covariance) or 1.0
    return np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))


@dataclass(frozen=True)
class SharedDirections:
    r"""Directions of the future embedding that the past predicts, and the regression onto them."""

    future_map: Floats  # (m_F, r), state of a future window: `z_F @ future_map`
    # (m_P, r), spectral regression from the past: its implied weights are `z_P @ past_map / n`,
    # and (A' C) past_map = I with A the future map and C of mathematics (3.1).
    past_map: Floats
    singular_values: Floats  # (r,), largest first


def shared_directions(
    future: Floats,
    past: Floats,
    rank: int,
    coupling: str = 'cross-covariance',
) -> SharedDirections:
    """
    Couple centred coordinates (n, m_F) and (n, m_P) of future and past windows of the same ticks.

    There are ``rank`` directions, fewer if the spectrum falls below `SMALLEST_RATIO`. Raises
    ``InputError`` if the past predicts nothing of the future, or there is no such coupling.
    """
    future_map, past_map, values = couple(future, past, coupling)
    if not values[0] > 0.0:
        msg = 'past and future windows share nothing; record while the vehicle drives'
        raise InputError(msg)
    # Those of a product of Gram matrices are of the order of squares.
    least = SMALLEST_RATIO ** (2 if coupling == 'gram-product' else 1)
    keep = min(rank, int(np.count_nonzero(values > least * values[0])))
    future_map, values = future_map[:, :keep], values[:keep]
    if coupling == 'gram-product':
        # Its directions of the past belong to another product; the smallest regression does it.
        past_map = np.linalg.pinv(future_map.T @ future.T @ past / len(future))
    else:
        past_map = past_map[:, :keep] / values
    return SharedDirections(future_map, past_map, values)
