# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The snowman, and distances between its pictures."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.mkdr_images import (
    principal_coordinates,
)


def test_principal_coordinates_keep_distances():
    rows = np.random.default_rng(1).standard_normal((12, 40))
    rows[:, 10:] *= 1e-4
    found = principal_coordinates(rows)
    assert found.shape[1] <= 11
    distances = [np.linalg.norm(each[:1] - each, axis=1) for each in (rows, found)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=2e-2)
