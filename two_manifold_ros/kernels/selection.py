# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold learners by the names used on the command line and in model files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.gaussian import GaussianKernel
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import ManifoldLearner

KERNELS = ('laplacian-eigenmap', 'gaussian')


def make_learner(name: str, dimension: int, neighbours: int) -> ManifoldLearner:
    """
    Make a learner.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    if name == 'laplacian-eigenmap':
        return LaplacianEigenmap(dimension, neighbours)
    if name == 'gaussian':
        return GaussianKernel(dimension)
    msg = f'there is no kernel named {name!r}; choose one of {", ".join(KERNELS)}'
    raise InputError(msg)


def has_neighbours(name: str) -> bool:
    """
    Return whether a learner works on a graph of nearest neighbours.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    return hasattr(make_learner(name, 2, 2), 'neighbours')
