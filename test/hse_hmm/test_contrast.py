# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The contrast of manifold kernel dimension reduction against n x n matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.mkdr import Contrast

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

PENALTY = 0.02


def naive_value(eigenvectors: Floats, responses: Floats, theta: Floats) -> float:
    """Return eq. (9) of the paper as it stands, of eigenvectors and responses scaled to size."""
    count, width = eigenvectors.shape
    centring = np.eye(count) - 1.0 / count
    gram = centring @ eigenvectors @ theta @ eigenvectors.T @ centring
    gram *= width / np.trace(centring @ eigenvectors @ eigenvectors.T @ centring)
    kernel = centring @ responses @ responses.T @ centring
    kernel /= np.trace(kernel)
    inverse = np.linalg.inv(gram + PENALTY * np.eye(count))
    return float(PENALTY * np.trace(kernel @ inverse))


@pytest.mark.parametrize('count', [25, 5])
def test_value_and_gradient(count: int) -> None:
    """Also with fewer points than eigenvectors."""
    rng = np.random.default_rng(1)
    eigenvectors = 3.0 + 2.0 * rng.standard_normal((count, 7))
    responses = rng.standard_normal((count, 2))
    root = rng.standard_normal((7, 4))
    theta = root @ root.T / np.sum(root**2)
    value, gradient = Contrast(eigenvectors, responses, PENALTY).look(theta)
    assert value == pytest.approx(naive_value(eigenvectors, responses, theta), rel=1e-9)
    for _ in range(3):
        way = rng.standard_normal((7, 7))
        way = 1e-6 * (way + way.T)
        ahead, behind = (
            naive_value(eigenvectors, responses, theta + sign * way) for sign in (1.0, -1.0)
        )
        assert float(np.sum(gradient * way)) == pytest.approx((ahead - behind) / 2, rel=1e-5)


def test_units_rotations_and_shifts_of_the_responses_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    eigenvectors = rng.standard_normal((30, 4))
    responses = rng.standard_normal((30, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    value, gradient = Contrast(eigenvectors, responses, PENALTY).look(np.eye(4) / 4.0)
    other = Contrast(1e3 * eigenvectors - 5.0, 1e-3 * responses @ turn + 1.0, PENALTY)
    again, slope = other.look(np.eye(4) / 4.0)
    assert again == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(slope, gradient, rtol=1e-7, atol=1e-12)


def test_what_cannot_be_used() -> None:
    rng = np.random.default_rng(3)
    vectors, responses = rng.standard_normal((9, 3)), rng.standard_normal((9, 1))
    for given, told in (
        ((vectors, responses, 0.0), 'penalty'),
        ((vectors, responses[:8], 1.0), 'row for every point'),
        ((vectors, responses[:, 0], 1.0), 'row for every point'),
        ((vectors, np.full((9, 1), 0.1), 1.0), 'responses are the same'),
        ((np.full((9, 3), 0.1), responses, 1.0), 'eigenvectors are the same'),
        ((vectors, np.where(responses > 0.0, responses, np.nan), 1.0), 'not finite'),
    ):
        with pytest.raises(InputError, match=told):
            Contrast(*given)
