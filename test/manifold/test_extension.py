# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinates of a point outside the training set."""

import numpy as np

from two_manifold_ros.manifold.learner import Extension

TABLE = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
OFFSET = np.array([0.5, -0.5])
SQUARED = np.array([2.0, 0.0, 4.0])


class Halves:
    """A response that knows nothing far away."""

    def weights(self, squared: np.ndarray) -> np.ndarray | None:
        return None if squared.min() > 9.0 else squared / 2.0


EXTENSION = Extension(Halves(), TABLE, OFFSET)


def test_weights_of_the_table() -> None:
    np.testing.assert_array_equal(EXTENSION.transform(SQUARED), [11.5, 9.5])


def test_resembling_nothing() -> None:
    assert EXTENSION.transform(SQUARED + 10.0) is None


def test_followed_by_a_linear_map() -> None:
    linear, offset = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]]), np.array([9.0, 8.0, 7.0])
    expected = EXTENSION.transform(SQUARED) @ linear + offset
    followed = EXTENSION.followed_by(linear, offset)
    np.testing.assert_allclose(followed.transform(SQUARED), expected)
