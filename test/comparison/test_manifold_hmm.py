# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter of this package among the compared methods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.manifold_hmm import (
    default,
    FittedModel,
    gaussian_hmm,
    manifold_hmm,
    ManifoldHmm,
    paper_hmm,
)
from two_manifold_ros.comparison.protocol import plan_bags
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording

SETTINGS = TrainingSettings(window=20, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def slot_car_plan(slot_car_laps: tuple[Recording, Recording]) -> Plan:
    """Return a plan with the recordings and the settings of `slot_car_model`."""
    learned, followed = slot_car_laps
    return plan_bags([learned], [replace(followed, name='the rest')], SETTINGS)


@pytest.fixture(scope='module')
def lesson(slot_car_laps: tuple[Recording, Recording]) -> Lesson:
    """Return a lesson of half the laps."""
    half = slot_car_laps[0].between(None, 75.0)
    return plan_bags([half], [replace(slot_car_laps[1], name='the rest')], SETTINGS).lesson


@pytest.fixture(scope='module')
def usual(slot_car_plan: Plan) -> FittedModel:
    """Return what the default method learns."""
    return default().fit(slot_car_plan.lesson)


def test_the_scores_are_those_of_evaluate(
    slot_car_plan: Plan,
    slot_car_model: Model,
    slot_car_laps: tuple[Recording, Recording],
    usual: FittedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ManifoldHmm, 'fit', lambda *_: usual)
    (result,) = compare(slot_car_plan, [default()]).results
    wanted = evaluate(slot_car_model, [slot_car_laps[1]]).scores
    assert result.scores is not None
    for mine, its in zip(result.scores, wanted, strict=True):
        assert mine.rmse_m == pytest.approx(its.model.rmse_m, rel=1e-12)
        assert mine.median_m == pytest.approx(its.model.median_m, rel=1e-12)
    assert result.chosen is not None
    assert result.chosen['states'] == slot_car_model.states
    assert result.chosen['neighbours'] == slot_car_model.summary['neighbours']


def test_it_is_causal_and_starts_at_the_first_tick(
    slot_car_plan: Plan, slot_car_model: Model
) -> None:
    fitted = FittedModel(slot_car_model)
    (exam,) = slot_car_plan.exams
    whole = fitted.follow(exam.segment)
    part = fitted.follow(exam.segment.part(0, 50))
    assert np.isfinite(whole.positions).all()
    np.testing.assert_array_equal(whole.positions[:50], part.positions)
    assert whole.states is not None
    assert part.states is not None
    assert whole.states.shape == (len(exam.segment), slot_car_model.states)
    np.testing.assert_array_equal(whole.states[:50], part.states)
    assert len(np.unique(whole.states[:, 1])) == len(exam.segment)


@pytest.mark.parametrize(
    ('method', 'filtering', 'kernel', 'readout', 'coupling'),
    [
        (default(), 'route', 'laplacian-eigenmap', None, 'cross-covariance'),
        (manifold_hmm(), 'spectral', 'laplacian-eigenmap', 'sharpened', 'cross-covariance'),
        (gaussian_hmm(), 'spectral', 'gaussian', 'sharpened', 'cross-covariance'),
        (paper_hmm(), 'spectral', 'laplacian-eigenmap', 'ridge', 'gram-product'),
    ],
)
def test_each_is_trained_with_its_changes(
    method: ManifoldHmm,
    filtering: str,
    kernel: str,
    readout: str | None,
    coupling: str,
    lesson: Lesson,
    usual: FittedModel,
) -> None:
    model = (usual if method == default() else method.fit(lesson))._model
    assert model.kernel == kernel
    assert model.summary['method'] == filtering
    assert (model.route is not None) == (filtering == 'route')
    assert model.summary['readout'] == readout
    assert model.summary['coupling'] == coupling
    assert model.horizons == (0, 5, 20)
    assert model.window == 20
    if method.name == 'paper':
        assert (model.states, model.summary['neighbours']) == (20, 50)


def test_without_validation_it_says_what_it_has(
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    short = TrainingSettings(rate_hz=10.0, window=50, states=5, horizons=(0,))
    model = train_model([slot_car_laps[0].between(0.0, 17.0)], short)
    assert model.summary['validation'] is None
    chosen = FittedModel(model).chosen
    assert chosen == model.summary['chosen']
    assert chosen['states'] == 5
