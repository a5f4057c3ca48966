# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The constant among the features."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.random_features import fourier_features


def test_the_constant_is_the_last_feature() -> None:
    others = fourier_features(3, 6, 1.0, seed=0)
    made = WithConstant(others)
    points = np.random.default_rng(0).normal(size=(4, 3))
    features = made.transform(points)
    np.testing.assert_array_equal(features[:, :6], others.transform(points))
    np.testing.assert_array_equal(features @ np.eye(7)[-1], np.ones(4))
    assert (made.inputs, made.size) == (3, 7)


def test_points_that_the_map_refuses() -> None:
    with pytest.raises(InputError, match='do not fit'):
        WithConstant(fourier_features(3, 6, 1.0, seed=0)).transform(np.zeros((1, 2)))
