# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Locally linear embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, identity

from two_manifold_ros.kernels.bandwidth import require_scale
from two_manifold_ros.kernels.barycentric import Barycentric, pairs_within, usual_weights
from two_manifold_ros.kernels.bridges import find_bridges
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.smallest_modes import smallest_modes

if TYPE_CHECKING:
    from two_manifold_ros.kernels.bridges import Bridges
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Ints


@dataclass(frozen=True)
class LocallyLinear:
    r"""
    Coordinates in which every point is the same mixture of its neighbours as it is in space.

    With weights W, whose rows sum to one and minimise the errors of the mixtures,

    .. math:: M = (I - W)^\top (I - W) = \sum_r \lambda_r v_r v_r^\top, \qquad
              E = \sqrt n\,[v_1, \dots, v_m],

    the smallest eigenvalues first and without the constant mode: columns of unit variance.
    A new point is a mixture of its nearest training point and the neighbours of that; on top of
    copies, it gets the mean of their rows, which differ by about a thousandth of their spread.

    M is factored, which takes seconds for thousands of points along a curve or a sheet, and the
    longer the more dimensions they fill.

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    neighbours
        :math:`\kappa`.

    References
    ----------
    S. T. Roweis, L. K. Saul: Nonlinear dimensionality reduction by locally linear embedding.
    Science 290, 2000. L. K. Saul, S. T. Roweis: Think globally, fit locally. JMLR 4, 2003 (the
    mixture of a new point).

    """

    dimension: int
    neighbours: int

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points; the model keeps the distances within neighbourhoods, each pair once.

        Raises
        ------
        InputError
            If there are too few points, or most are identical.

        """
        require_scale(samples, self.dimension, self.neighbours)
        indices, _ = samples.neighbours(self.neighbours)
        bridges = find_bridges(samples, indices)
        count = len(samples)
        error = identity(count) - _mixtures(samples, indices, bridges)
        null = np.full(count, 1.0 / np.sqrt(count))
        eigenvalues, vectors = smallest_modes((error.T @ error).tocsc(), null, self.dimension)
        coordinates = np.sqrt(count) * vectors
        response = _response(samples, indices)
        extension = Extension(response, coordinates, np.zeros(self.dimension))
        return Embedding(coordinates, extension, eigenvalues, notes=bridges.notes)


def _mixtures(samples: Samples, indices: Ints, bridges: Bridges) -> csr_matrix:
    """Return W; a point at the end of a bridge is mixed of the other end too."""
    columns, weights = [], []
    for point, nearest in enumerate(indices):
        others = np.append(nearest, bridges.second[bridges.first == point])
        away = samples.rows(others) - samples.rows(np.array([point]))
        columns.append(others)
        weights.append(usual_weights(away @ away.T))
    count = len(indices)
    places = (
        np.repeat(np.arange(count), [len(each) for each in columns]),
        np.concatenate(columns),
    )
    return csr_matrix((np.concatenate(weights), places), shape=(count, count))


def _response(samples: Samples, indices: Ints) -> Barycentric:
    count = len(indices)
    neighbourhoods = np.column_stack([np.arange(count), indices])
    pairs, between = [], []
    for point, keys in pairs_within(neighbourhoods):
        away = samples.rows(keys % count) - samples.rows(np.array([point]))
        pairs.append(keys)
        between.append(np.einsum('ij,ij->i', away, away))
    return Barycentric(neighbourhoods, np.concatenate(pairs), np.concatenate(between))
