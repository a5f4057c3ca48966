# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The sign convention of eigenvectors."""

import numpy as np

from two_manifold_ros.manifold.affinity import fix_signs


def test_largest_entry_is_positive() -> None:
    vectors = np.array([[0.1, -3.0, 0.0], [-0.2, 2.0, 0.0]])
    expected = np.array([[-0.1, 3.0, 0.0], [0.2, -2.0, 0.0]])
    np.testing.assert_array_equal(fix_signs(vectors), expected)
    np.testing.assert_array_equal(fix_signs(-vectors), expected)
