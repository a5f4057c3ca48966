# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learners by name, and extensions that do not fit together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion
from two_manifold_ros.manifold.diffusion_map import DiffusionMap, Transition
from two_manifold_ros.manifold.isomap import Isomap
from two_manifold_ros.manifold.kernel_pca import (
    GaussianKernel,
    LinearKernel,
    MemberAffinity,
    PolynomialKernel,
)
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import Extension
from two_manifold_ros.manifold.local_metric import NeighboursInTime
from two_manifold_ros.manifold.locally_linear import LocallyLinear
from two_manifold_ros.manifold.selection import (
    check_extension,
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


OFFSET = np.array([0.5, -0.5])
RADII = np.array([2.0, 2.0, 5.0, 9.0])
NEAR = Extension(Transition(1.5, 2, RADII, np.ones(4)), np.arange(8.0).reshape(4, 2), OFFSET)


def near(**changed: object) -> dict[str, Any]:
    """Return the response of ``NEAR`` with something changed."""
    return {'response': replace(NEAR.response, **changed)}


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        (near(bandwidth=np.nan), 'bandwidth is nan, not a finite number'),
        (near(bandwidth='1.0'), "bandwidth is '1.0', not a finite number"),
        (near(bandwidth=1e200), 'bandwidth is 1e.200, not a finite number below'),
        (near(bandwidth=10**400), 'bandwidth is 10+, not a finite number below'),
        (near(neighbours=2.5), 'neighbours is 2.5, not a whole number'),
        (near(neighbours=2**40), 'neighbours is 1099511627776, not a whole number below'),
        (near(radii=np.array(1.0)), 'radii is a single number'),
        (near(neighbours=True), 'neighbours is True, not a whole number'),
        (near(bandwidth=0.0), 'bandwidth is 0.0, not a positive number'),
        ({'response': MemberAffinity(1.0, np.zeros(4))}, 'members holds float64 instead of int64'),
        ({'response': MemberAffinity(1.0, 3)}, 'members is no array'),
        ({'table': np.zeros((3, 2))}, r'table has the shape \(3, 2\) instead of \(4, 2\)'),
        ({'table': np.full((4, 2), np.nan)}, 'table holds numbers that are not finite'),
        ({'table': np.zeros((4, 2), dtype=np.float32)}, 'table holds float32 instead of'),
        ({'offset': np.zeros((2, 1))}, 'offset has the shape'),
        ({'offset': np.zeros(0)}, 'offset has the shape'),
    ],
)
def test_what_does_not_fit(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_extension(replace(NEAR, **changed), 4)
