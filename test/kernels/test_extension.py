# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinates of a window outside the training set."""

import numpy as np
import pytest

from two_manifold_ros.kernels.extension import Extension

MEMBERS = np.array([0, 2, 3])
TABLE = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
OFFSET = np.array([0.5, -0.5])
SQUARED = np.array([2.0, 0.0, 4.0, 9.0])
AFFINITY = np.exp(-SQUARED[MEMBERS] / (2.0 * 1.5**2))


def test_all_members_count() -> None:
    extension = Extension(1.5, 0, MEMBERS, TABLE, OFFSET)
    np.testing.assert_allclose(extension.transform(SQUARED), AFFINITY @ TABLE + OFFSET)


def test_only_the_nearest_count() -> None:
    extension = Extension(1.5, 2, MEMBERS, TABLE, OFFSET)
    expected = AFFINITY[:2] / np.sqrt(AFFINITY[:2].sum()) @ TABLE[:2] + OFFSET
    np.testing.assert_allclose(extension.transform(SQUARED), expected)


def test_resembling_nothing() -> None:
    extension = Extension(1.5, 2, MEMBERS, TABLE, OFFSET)
    assert extension.transform(SQUARED + 120.0) is not None
    assert extension.transform(SQUARED + 130.0) is None
    assert extension.transform(np.full(4, 1e300)) is None
    assert extension.transform(np.full(4, np.nan)) is None


@pytest.mark.parametrize('neighbours', [0, 2])
def test_followed_by_a_linear_map(neighbours: int) -> None:
    extension = Extension(1.5, neighbours, MEMBERS, TABLE, OFFSET)
    linear, offset = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]]), np.array([9.0, 8.0, 7.0])
    expected = extension.transform(SQUARED) @ linear + offset
    followed = extension.followed_by(linear, offset)
    np.testing.assert_allclose(followed.transform(SQUARED), expected)
