# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learners by name."""

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.isomap import Isomap
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel, PolynomialKernel
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.local_metric import NeighboursInTime
from two_manifold_ros.manifold.locally_linear import LocallyLinear
from two_manifold_ros.manifold.selection import (
    gains_by_neighbours,
    has_neighbours,
    KERNELS,
    make_learner,
)

LEARNERS = {
    'laplacian-eigenmap': LaplacianEigenmap(7, 11),
    'laplacian-eigenmap-binary': LaplacianEigenmap(7, 11, weights='binary'),
    'laplacian-eigenmap-unscaled': LaplacianEigenmap(7, 11, scaled=False),
    'laplacian-eigenmap-plain': LaplacianEigenmap(7, 11, normalised=False),
    'gaussian': GaussianKernel(7),
    'polynomial': PolynomialKernel(7),
    'linear': LinearKernel(7),
    'locally-linear': LocallyLinear(7, 11),
    'isomap': Isomap(7, 11),
    'diffusion-map': DiffusionMap(7, 11),
    'diffusion-map-fokker-planck': DiffusionMap(7, 11, density=0.5),
    'diffusion-map-beltrami': DiffusionMap(7, 11, density=1.0),
    'anisotropic-diffusion': AnisotropicDiffusion(7, 11, NeighboursInTime(5, 2)),
}


def test_every_name_makes_its_learner() -> None:
    assert {name: make_learner(name, 7, 11) for name in KERNELS} == LEARNERS


def test_which_have_a_graph() -> None:
    without = [name for name in KERNELS if not has_neighbours(name)]
    assert without == ['gaussian', 'polynomial', 'linear']
    unmoved = [name for name in KERNELS if not gains_by_neighbours(name)]
    assert unmoved == [*without, 'locally-linear']


def test_unknown_name() -> None:
    with pytest.raises(InputError, match=r"'cubic'.*laplacian-eigenmap, .*, gaussian"):
        make_learner('cubic', 7, 11)
