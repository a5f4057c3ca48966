# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Independent variables from exact eigenfunctions of a square."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.independent_components import independent_pair, place_on_interval

SIDE = (np.arange(30) + 0.5) / 30
X = np.stack(np.meshgrid(SIDE, SIDE, indexing='ij'), axis=-1).reshape(-1, 2)


def functions_of_square() -> tuple[np.ndarray, np.ndarray]:
    """Return the first eigenfunctions of the square, of different scales, and eigenvalues."""
    first, second = np.cos(np.pi * X).T
    double = 2.0 * np.square([first, second]) - 1.0
    lines = np.array([1.0, 1.0, 2.0, 4.0, 4.0])
    return np.stack([first, second, first * second, *double], axis=1), np.exp(-0.1 * lines)


@pytest.mark.parametrize('angle', [0.0, 0.3, np.pi / 4, 1.1, 2.5])
def test_a_rotation_is_undone(angle: float) -> None:
    functions, eigenvalues = functions_of_square()
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    functions[:, :2] = 3.0 * functions[:, :2] @ turn
    functions[:, 2] *= -0.1
    pair = independent_pair(functions, eigenvalues)
    table = np.abs(np.corrcoef(pair.coordinates.T, np.cos(np.pi * X).T)[:2, 2:])
    np.testing.assert_allclose(np.sort(table, axis=1), [[0.0, 1.0], [0.0, 1.0]], atol=1e-9)
    np.testing.assert_allclose(pair.rotation.T @ pair.rotation, np.eye(2), atol=1e-12)
    assert pair.partner == 2
    assert pair.match == pytest.approx(1.0)


def test_the_product_may_come_later() -> None:
    functions, eigenvalues = functions_of_square()
    order = [0, 1, 3, 4, 2]  # of a long rectangle it does
    pair = independent_pair(functions[:, order], eigenvalues[order])
    assert pair.partner == 4
    assert pair.match == pytest.approx(1.0)


def test_places_on_an_interval() -> None:
    functions, eigenvalues = functions_of_square()
    places = place_on_interval(independent_pair(functions, eigenvalues).coordinates)
    errors = [np.abs(places - X).max(axis=0), np.abs(1.0 - places - X).max(axis=0)]
    assert np.min(errors, axis=0).max() < 0.02
    assert place_on_interval(np.array([-2.0, 2.0])).tolist() == [1.0, 0.0]


def test_too_few_or_constant() -> None:
    functions, eigenvalues = functions_of_square()
    with pytest.raises(InputError, match='at least three'):
        independent_pair(functions[:, :2], eigenvalues[:2])
    functions[:, 1] = 1.0
    with pytest.raises(InputError, match='leave the constant one out'):
        independent_pair(functions, eigenvalues)
