# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions from coordinates, against kernel ridge regression with an n x n matrix."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions
from two_manifold_ros.hse_hmm.mkdr_readout import (
    cross_validated,
    fit_position_map,
    FOLDS,
    MOST_STEPS,
    REACH,
    TOLERANCE,
    USUAL_SHARE,
    within_reach,
)

PENALTY = 1e-2
RNG = np.random.default_rng(0)
COORDINATES = RNG.normal(size=(40, 6)) * [5.0, 3.0, 2.0, 1.0, 0.5, 0.2] + 7.0
POSITIONS = COORDINATES[:, [1, 3]] @ [[0.2, 0.1], [-0.4, 1.0]] + [300.0, -20.0]
POSITIONS = POSITIONS + 0.05 * RNG.normal(size=POSITIONS.shape)


def kernel_regression(known: np.ndarray, wanted: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Predict with the Gram matrix of what the directions leave of the coordinates."""
    mean = known.mean(axis=0)
    found = find_predictive_directions(
        known - mean, wanted, penalty=PENALTY, tolerance=TOLERANCE, most_steps=MOST_STEPS
    )
    strengths = found.strengths[: found.rank]
    theta = found.directions @ np.diag(strengths) @ found.directions.T
    theta = theta * known.shape[1] / np.linalg.norm(known - mean) ** 2
    gram = (known - mean) @ theta @ (known - mean).T
    weights = np.linalg.solve(gram + PENALTY * np.eye(len(known)), wanted - wanted.mean(axis=0))
    predicted = (asked - mean) @ theta @ (known - mean).T @ weights
    return np.asarray(predicted + wanted.mean(axis=0))


def test_positions_are_those_of_kernel_ridge_regression() -> None:
    found = fit_position_map(COORDINATES[:30], POSITIONS[:30], PENALTY)
    expected = kernel_regression(COORDINATES[:30], POSITIONS[:30], COORDINATES)
    np.testing.assert_allclose(found.positions(COORDINATES), expected, atol=1e-9)
    assert np.abs(expected[30:] - POSITIONS[30:]).max() < 0.3


@pytest.mark.parametrize('factor', [1e-3, 1e3])
def test_units_of_the_coordinates_do_not_matter(factor: float) -> None:
    expected = fit_position_map(COORDINATES, POSITIONS, PENALTY).positions(COORDINATES)
    found = fit_position_map(factor * COORDINATES, POSITIONS, PENALTY)
    np.testing.assert_allclose(found.positions(factor * COORDINATES), expected, atol=1e-6)


def test_error_on_stretches_left_out() -> None:
    squares = []
    for part in range(FOLDS):
        out = np.arange(40 // FOLDS * part, 40 // FOLDS * (part + 1))
        kept = np.setdiff1d(np.arange(40), out)
        expected = kernel_regression(COORDINATES[kept], POSITIONS[kept], COORDINATES[out])
        squares.append(((expected - POSITIONS[out]) ** 2).sum(axis=1))
    error_m = cross_validated(COORDINATES, POSITIONS, PENALTY)
    assert error_m == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-9)


def test_reach_is_that_of_what_is_left_out() -> None:
    nearest = []
    for index in range(40):
        part = index // (40 // FOLDS)
        kept = [other for other in range(40) if other // (40 // FOLDS) != part]
        nearest.append(min(np.linalg.norm(COORDINATES[kept] - COORDINATES[index], axis=1)))
    reach = REACH * np.quantile(nearest, USUAL_SHARE)
    away = np.array([[reach * 0.999], [reach * 1.001]]) * [[1.0, 0, 0, 0, 0, 0]]
    outermost = COORDINATES[np.argmax(COORDINATES[:, 0])]
    assert within_reach(COORDINATES, outermost + away).tolist() == [True, False]


@pytest.mark.parametrize('same', ['coordinates', 'positions'])
def test_what_does_not_vary_gives_the_mean(same: str) -> None:
    coordinates = np.full_like(COORDINATES, 0.1) if same == 'coordinates' else COORDINATES
    positions = np.full_like(POSITIONS, 1e5 / 3.0) if same == 'positions' else POSITIONS
    found = fit_position_map(coordinates, positions, PENALTY)
    mean = np.broadcast_to(positions.mean(axis=0), positions.shape)
    np.testing.assert_allclose(found.positions(COORDINATES), mean, rtol=1e-12)
