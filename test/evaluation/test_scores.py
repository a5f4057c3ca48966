# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores against a plain computation, and coverage against a known Gaussian."""

from __future__ import annotations

import math

import numpy as np
import pytest

from two_manifold_ros.evaluation.scores import Score, score


def test_against_numbers_worked_out_by_hand() -> None:
    errors = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -1.0], [np.nan, 2.0], [np.nan, np.nan]])
    found = score(errors, np.tile(np.eye(2), (5, 1, 1)))
    assert found.n == 3
    assert found.rmse_m == pytest.approx(math.sqrt((25.0 + 0.0 + 1.0) / 3.0))
    assert found.median_m == pytest.approx(1.0)
    assert found.coverage68 == pytest.approx(2.0 / 3.0)
    assert found.coverage95 == pytest.approx(2.0 / 3.0)


@pytest.mark.parametrize('scale', [0.5, 1.0, 2.0])
def test_ellipses_hold_their_share_of_a_gaussian(scale: float) -> None:
    """An ellipse drawn too small or too large shows; tilt and length of the axes do not matter."""
    covariance = np.array([[4.0, 1.5], [1.5, 0.7]])
    errors = np.random.default_rng(0).multivariate_normal(np.zeros(2), covariance, size=40_000)
    found = score(errors, np.broadcast_to(scale * covariance, (40_000, 2, 2)))
    assert found.coverage68 == pytest.approx(1.0 - 0.32**scale, abs=0.01)
    assert found.coverage95 == pytest.approx(1.0 - 0.05**scale, abs=0.01)


@pytest.mark.parametrize('count', [0, 3])
def test_nothing_known_is_no_number(count: int) -> None:
    found = score(np.full((count, 2), np.nan), np.tile(np.eye(2), (count, 1, 1)))
    assert found == Score(None, None, None, None, 0)
