# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Responses by affinity."""

import numpy as np
import pytest

from two_manifold_ros.kernels.affinity import MemberAffinity, NearAffinity
from two_manifold_ros.kernels.extension import Response

SQUARED = np.array([2.0, 0.0, 4.0, 9.0])
AFFINITY = np.exp(-SQUARED / (2.0 * 1.5**2))


def test_members_count() -> None:
    response = MemberAffinity(1.5, np.array([0, 2, 3]))
    np.testing.assert_allclose(response.weights(SQUARED), AFFINITY[[0, 2, 3]])
    assert response.check(4) == 3


def test_the_nearest_count() -> None:
    response = NearAffinity(1.5, 2)
    expected = np.array([AFFINITY[0], AFFINITY[1], 0.0, 0.0]) / np.sqrt(AFFINITY[:2].sum())
    np.testing.assert_allclose(response.weights(SQUARED), expected)
    assert response.check(4) == 4


def test_resembling_nothing() -> None:
    response = NearAffinity(1.5, 2)
    assert response.weights(SQUARED + 120.0) is not None
    assert response.weights(SQUARED + 130.0) is None
    assert response.weights(np.full(4, 1e300)) is None
    assert response.weights(np.full(4, np.nan)) is None


@pytest.mark.parametrize(
    ('response', 'words'),
    [
        (MemberAffinity(0.0, np.arange(3)), 'bandwidth is 0.0'),
        (MemberAffinity(1.0, np.array([0, 4])), 'members lie outside'),
        (MemberAffinity(1.0, np.array([-1, 2])), 'members lie outside'),
        (MemberAffinity(1.0, np.array([], dtype=np.int64)), 'members has the shape'),
        (MemberAffinity(1.0, np.zeros((2, 2), dtype=np.int64)), 'members has the shape'),
        (NearAffinity(-1.0, 3), 'bandwidth is -1.0'),
        (NearAffinity(1.0, 0), 'neighbours is 0'),
    ],
)
def test_what_does_not_fit(response: Response, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        response.check(4)
