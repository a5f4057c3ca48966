# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ellipses of the baselines, measured over the training positions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.evaluation.baselines import (
    LEAST_VARIANCE,
    mean_covariance,
    previous_covariance,
)

NOWHERE = np.full((1, 2), np.nan)
TRACK = np.random.default_rng(0).normal(size=(50, 2)).cumsum(axis=0)


def model_of(*segments: np.ndarray) -> Any:  # noqa: ANN401 - what a baseline needs of a model
    parts = [part for segment in segments for part in (segment, NOWHERE)]
    known = np.concatenate(segments)
    return SimpleNamespace(
        track=np.concatenate(parts[:-1]), mean_position=np.nanmean(known, axis=0)
    )


def test_the_spread_around_the_mean() -> None:
    found = mean_covariance(model_of(TRACK[:20], TRACK[20:]))
    np.testing.assert_allclose(found, np.cov(TRACK.T, bias=True) + LEAST_VARIANCE * np.eye(2))


@pytest.mark.parametrize('horizon', [1, 7, 19])
def test_the_displacement_over_a_horizon_never_crosses_a_seam(horizon: int) -> None:
    first, second = TRACK[:20], TRACK[20:] + 1000.0
    moves = np.concatenate([part[horizon:] - part[:-horizon] for part in (first, second)])
    wanted = moves.T @ moves / len(moves) + LEAST_VARIANCE * np.eye(2)
    np.testing.assert_allclose(previous_covariance(model_of(first, second), horizon), wanted)


def test_horizon_0_moves_nothing() -> None:
    found = previous_covariance(model_of(TRACK[:20], TRACK[20:]), 0)
    np.testing.assert_array_equal(found, LEAST_VARIANCE * np.eye(2))


def test_a_horizon_beyond_every_segment_knows_no_more_than_the_mean() -> None:
    model = model_of(TRACK[:20], TRACK[20:])
    np.testing.assert_array_equal(previous_covariance(model, 30), mean_covariance(model))
    np.testing.assert_array_equal(previous_covariance(model, 99), mean_covariance(model))
