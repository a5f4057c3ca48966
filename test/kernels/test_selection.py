# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learners by name."""

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.gaussian import GaussianKernel
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.kernels.selection import KERNELS, make_learner


def test_every_name_makes_its_learner() -> None:
    made = [make_learner(name, 7, 11) for name in KERNELS]
    assert made == [LaplacianEigenmap(7, 11), GaussianKernel(7)]


def test_unknown_name() -> None:
    with pytest.raises(InputError, match=r"'cubic'.*laplacian-eigenmap, gaussian"):
        make_learner('cubic', 7, 11)
