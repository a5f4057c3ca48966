# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian affinity, and the response by it."""

import numpy as np
import pytest

from two_manifold_ros.manifold.affinity import affinity, check_neighbours, MemberAffinity
from two_manifold_ros.manifold.learner import Response

SQUARED = np.array([2.0, 0.0, 4.0, 9.0])
AFFINITY = np.exp(-SQUARED / (2.0 * 1.5**2))


def test_members_count() -> None:
    response = MemberAffinity(1.5, np.array([0, 2, 3]))
    np.testing.assert_allclose(response.weights(SQUARED), AFFINITY[[0, 2, 3]])
    assert response.check(4) == 3


def test_no_bandwidth_makes_all_alike() -> None:
    np.testing.assert_array_equal(affinity(SQUARED, 0.0), np.ones(4))


@pytest.mark.parametrize(
    ('response', 'words'),
    [
        (MemberAffinity(0.0, np.arange(3)), 'bandwidth is 0.0'),
        (MemberAffinity(1.0, np.array([0, 4])), 'members lie outside'),
        (MemberAffinity(1.0, np.array([-1, 2])), 'members lie outside'),
        (MemberAffinity(1.0, np.array([], dtype=np.int64)), 'members has the shape'),
        (MemberAffinity(1.0, np.zeros((2, 2), dtype=np.int64)), 'members has the shape'),
    ],
)
def test_what_does_not_fit(response: Response, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        response.check(4)


def test_no_neighbours() -> None:
    check_neighbours(1)
    with pytest.raises(ValueError, match='neighbours is 0'):
        check_neighbours(0)
