# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinates of a point outside the training set."""

import numpy as np
import pytest

from two_manifold_ros.kernels.affinity import MemberAffinity, NearAffinity
from two_manifold_ros.kernels.extension import Extension, Response

TABLE = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
OFFSET = np.array([0.5, -0.5])
SQUARED = np.array([2.0, 0.0, 4.0])


def test_weights_of_the_table() -> None:
    weights = np.exp(-SQUARED / (2.0 * 1.5**2))
    extension = Extension(MemberAffinity(1.5, np.arange(3)), TABLE, OFFSET)
    np.testing.assert_allclose(extension.transform(SQUARED), weights @ TABLE + OFFSET)


def test_resembling_nothing() -> None:
    extension = Extension(NearAffinity(1.5, 2), TABLE, OFFSET)
    assert extension.transform(SQUARED) is not None
    assert extension.transform(SQUARED + 1e3) is None


@pytest.mark.parametrize(
    'response', [MemberAffinity(1.5, np.arange(3)), NearAffinity(1.5, 2)], ids=['all', 'near']
)
def test_followed_by_a_linear_map(response: Response) -> None:
    extension = Extension(response, TABLE, OFFSET)
    linear, offset = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]]), np.array([9.0, 8.0, 7.0])
    expected = extension.transform(SQUARED) @ linear + offset
    followed = extension.followed_by(linear, offset)
    np.testing.assert_allclose(followed.transform(SQUARED), expected)
