# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion coordinates from a graph of affinities, however these were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import diags

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.walk_modes import walk_modes

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_matrix

    from two_manifold_ros.kernels.extension import Response
    from two_manifold_ros.typing import Floats


def embed_walk(
    graph: csr_matrix,
    dimension: int,
    density: float,
    respond: Callable[[Floats], Response],
    bandwidth: float,
    notes: tuple[str, ...],
) -> Embedding:
    r"""
    Embed by the eigenfunctions of a random walk, times their eigenvalues.

    Parameters
    ----------
    graph : (n, n)
        Symmetric affinities W, connected, of each point with itself too.
    dimension
        Coordinates kept, m.
    density
        :math:`\alpha`; a step has the probability
        :math:`q_i^{-\alpha} W_{ij} q_j^{-\alpha}` but for a factor, with the row sums q of W.
    respond
        From the (n,) factors :math:`q^{-\alpha}` to the probabilities of a step from a new point.
    bandwidth, notes
        To be told by the embedding.

    """
    factors = np.asarray(graph.sum(axis=1)).ravel() ** -density
    scaling = diags(factors)
    eigenvalues, functions = walk_modes(scaling @ graph @ scaling, dimension)
    mean = (functions * eigenvalues).mean(axis=0)
    return Embedding(
        functions * eigenvalues - mean,
        Extension(respond(factors), functions, -mean),
        eigenvalues,
        bandwidth,
        notes,
    )


def local_bandwidth(radii: Floats) -> float:
    """
    Return the root of half the median of (n,) squared distances to the last neighbours.

    Raises
    ------
    InputError
        If at least half of the points have no neighbours but copies.

    """
    bandwidth = float(np.sqrt(0.5 * np.median(radii)))
    if not bandwidth > 0.0:
        msg = (
            'most points have as many identical copies as there are neighbours; leave out the '
            'copies or ask for more neighbours'
        )
        raise InputError(msg)
    return bandwidth


def check_density(density: float) -> None:
    """
    Refuse an exponent of the density out of range.

    Raises
    ------
    InputError
        If it is not between 0 and 1.

    """
    if not 0.0 <= density <= 1.0:
        msg = f'density is {density}, but must be between 0 and 1'
        raise InputError(msg)
