# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold learners by the names used on the command line and in model files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.anisotropic_diffusion import AnisotropicDiffusion
from two_manifold_ros.kernels.diffusion_map import DiffusionMap
from two_manifold_ros.kernels.gaussian import GaussianKernel
from two_manifold_ros.kernels.isomap import Isomap
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.kernels.linear import LinearKernel
from two_manifold_ros.kernels.locally_linear import LocallyLinear
from two_manifold_ros.kernels.metric_sources import NeighboursInTime
from two_manifold_ros.kernels.polynomial import PolynomialKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.kernels.learner import ManifoldLearner

_BESIDE_WINDOWS = NeighboursInTime(5, 2)
"""Of a car on its laps two variables are behind: where it is, and how fast. Of reaches of 3 to 20
windows and ranks 2 and 4, these erred least on the simulated slot cars with the seeds 5 to 7."""

_LEARNERS: dict[str, Callable[[int, int], ManifoldLearner]] = {
    'laplacian-eigenmap': LaplacianEigenmap,
    'laplacian-eigenmap-binary': partial(LaplacianEigenmap, weights='binary'),
    'laplacian-eigenmap-unscaled': partial(LaplacianEigenmap, scaled=False),
    'laplacian-eigenmap-plain': partial(LaplacianEigenmap, normalised=False),
    'gaussian': lambda dimension, _: GaussianKernel(dimension),
    'polynomial': lambda dimension, _: PolynomialKernel(dimension),
    'linear': lambda dimension, _: LinearKernel(dimension),
    'locally-linear': LocallyLinear,
    'isomap': Isomap,
    'diffusion-map': DiffusionMap,
    'diffusion-map-fokker-planck': partial(DiffusionMap, density=0.5),
    'diffusion-map-beltrami': partial(DiffusionMap, density=1.0),
    'anisotropic-diffusion': partial(AnisotropicDiffusion, metric=_BESIDE_WINDOWS),
}
KERNELS = tuple(_LEARNERS)

_LOCAL = ('locally-linear',)
"""Learners whose neighbours have to lie on a flat piece of the manifold: many never do."""


def make_learner(name: str, dimension: int, neighbours: int) -> ManifoldLearner:
    """
    Make a learner; those without a graph pass over the neighbours.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    if name in _LEARNERS:
        return _LEARNERS[name](dimension, neighbours)
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


def gains_by_neighbours(name: str) -> bool:
    """
    Return whether a learner may become better by more neighbours than usual.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    return has_neighbours(name) and name not in _LOCAL
