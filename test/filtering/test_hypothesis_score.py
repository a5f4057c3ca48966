# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scores against distances that are computed one by one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.filtering.hypothesis_score import HypothesisScorer, PARTS
from two_manifold_ros.filtering.misconfigurations import known_misconfigurations

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model, RouteModel
    from two_manifold_ros.recordings.recording import Recording


@pytest.fixture(scope='module')
def window(slot_car_laps: tuple[Recording, Recording]) -> np.ndarray:
    """Return 20 ticks that were not trained on, with the sign of a channel reversed."""
    return slot_car_laps[1].imu.samples[240:260] * [1, -1, 1, 1, 1, 1]


def one_by_one(model: Model, rows: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the mean squared distance to the training windows."""
    seen = model.channels.standardise(rows).T
    found = [
        float(np.sum((model.series[:, start : start + model.window] - seen) ** 2))
        for start in model.starts
    ]
    return min(found), sum(found) / len(found)


def test_it_is_the_distance_to_the_training_with_each_mistake_undone(
    slot_car_model: RouteModel, window: np.ndarray
) -> None:
    mistakes = known_misconfigurations(slot_car_model.channels)
    # As many parts as ticks in the window, so nothing is smoothed.
    assert slot_car_model.window == PARTS
    found = HypothesisScorer(slot_car_model, mistakes).score_all(window)
    plain, _ = one_by_one(slot_car_model, window)
    contrasts = []
    for index, mistake in enumerate(mistakes, start=1):
        rows = window[:, list(mistake.sources)] * mistake.factors + mistake.offsets
        nearest, mean = one_by_one(slot_car_model, rows[::-1] if mistake.backwards else rows)
        wanted = found.distance[0] + math.log(nearest / plain)
        assert found.distance[index] == pytest.approx(wanted)
        contrasts.append(math.log(nearest / mean))
    np.testing.assert_allclose(
        np.polyfit(contrasts, found.novelty[1:], 1, full=True)[1], 0.0, atol=1e-12
    )
    best = int(np.argmin(np.where(found.driving, found.distance, np.inf)))
    assert mistakes[best - 1].cause == 'sign_of_ay'


def test_the_plain_look_says_the_same(slot_car_model: RouteModel, window: np.ndarray) -> None:
    compare = HypothesisScorer(slot_car_model, known_misconfigurations(slot_car_model.channels))
    plain, tried = compare.score_plain(window), compare.score_all(window)
    assert plain.distance == pytest.approx(tried.distance[:1])
    assert plain.novelty == pytest.approx(tried.novelty[:1])
    assert plain.driving == tried.driving[:1]


def test_a_vehicle_that_stands_does_not_drive(
    slot_car_model: RouteModel, window: np.ndarray
) -> None:
    compare = HypothesisScorer(slot_car_model, known_misconfigurations(slot_car_model.channels))
    standing = np.broadcast_to(window.mean(axis=0), window.shape)
    assert compare.score_all(window).driving[0]
    assert not compare.score_all(standing).driving.any()
