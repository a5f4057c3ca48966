# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inner products told from distances."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import naive
import numpy as np
import pytest

from two_manifold_ros.manifold.affinity import InnerProduct, spreads_of

POINTS = np.random.default_rng(0).normal(size=(12, 3)) + 50.0
SQUARED = naive.squared_distances(POINTS, POINTS)
MEMBERS = np.array([0, 3, 4, 7, 11])
RESPONSE = InnerProduct(MEMBERS, spreads_of(SQUARED[np.ix_(MEMBERS, MEMBERS)]), 2.5, 1.5, 3)


def test_powers_of_inner_products_about_the_mean_of_the_members() -> None:
    away = POINTS - POINTS[MEMBERS].mean(axis=0)
    new = np.array([49.0, 51.0, 50.5]) - POINTS[MEMBERS].mean(axis=0)
    expected = (away[MEMBERS] @ new / 2.5 + 1.5) ** 3
    squared = np.square(away - new).sum(axis=1)
    np.testing.assert_allclose(RESPONSE.weights(squared), expected, rtol=1e-9)
    expected = (away @ away[MEMBERS].T / 2.5 + 1.5) ** 3
    np.testing.assert_allclose(RESPONSE.kernel(SQUARED[:, MEMBERS]), expected, atol=1e-9)


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        ({'members': np.array([0, 3, 4, 7, 12])}, 'members lie outside'),
        ({'spreads': np.ones(4)}, 'spreads has the shape'),
        ({'scale': 0.0}, 'scale is 0.0'),
        ({'degree': 0}, 'degree is 0'),
    ],
    ids=str,
)
def test_what_does_not_fit(changed: dict[str, Any], words: str) -> None:
    assert RESPONSE.check(12) == 5
    with pytest.raises(ValueError, match=words):
        replace(RESPONSE, **changed).check(12)
