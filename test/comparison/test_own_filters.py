# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filters of this package among the compared methods, and all methods by name."""

from dataclasses import asdict, replace

import numpy as np
from other_recordings import multiplied_imu, without_imu
import pytest

from two_manifold_ros.comparison import own_filters
from two_manifold_ros.comparison.comparing import compare, grade, Trial
from two_manifold_ros.comparison.hidden_markov import HiddenMarkov
from two_manifold_ros.comparison.linear_system import KalmanFilter
from two_manifold_ros.comparison.method import TrainSplit
from two_manifold_ros.comparison.outcome import Result
from two_manifold_ros.comparison.own_filters import EVERY, FittedModel, ManifoldHmm, methods_named
from two_manifold_ros.comparison.protocol import Plan, plan_bags, SLOT_CAR
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate, Evaluation
from two_manifold_ros.names import KERNELS
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


@pytest.mark.parametrize('name', EVERY)
def test_every_name_is_that_of_a_method(name):
    (method,) = methods_named([name])
    assert method.name == name
    assert method.title
    assert method.sees_positions == (name in {'previous', 'imu-only'})


def test_the_kernels_in_one_word_and_the_opponents_of_the_paper_on_its_slot_car():
    opponents = [KalmanFilter(states=20, block_rows=150), HiddenMarkov(states=(20,))]
    assert methods_named(['kalman', 'hmm'], SLOT_CAR) == opponents
    methods = methods_named(['kernels', 'manifold', 'mean'])
    assert [method.name for method in methods[:3]] == ['mean', 'gaussian', 'manifold']
    changes = [method.changes for method in methods[1:] if isinstance(method, ManifoldHmm)]
    assert sorted(each['kernel'] for each in changes) == sorted(KERNELS)
    assert {each['method'] for each in changes} == {'spectral'}


@pytest.mark.parametrize('names', [['mean', 'magic'], [''], []])
def test_an_unknown_name_is_refused(names):
    with pytest.raises(InputError, match=r'there is no method .*; choose from mean,previous,'):
        methods_named(names)


SETTINGS = TrainingSettings(window=20, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def slot_car_plan(slot_car_laps: tuple[Recording, Recording]) -> Plan:
    """Return a plan with the recordings and the settings of `slot_car_model`."""
    learned, followed = slot_car_laps
    return plan_bags([learned], [replace(followed, name='the rest')], SETTINGS)


@pytest.fixture(scope='module')
def train(slot_car_laps: tuple[Recording, Recording]) -> TrainSplit:
    """Return a train of half the laps."""
    half = slot_car_laps[0].between(None, 75.0)
    return plan_bags([half], [replace(slot_car_laps[1], name='the rest')], SETTINGS).train


def check_alike(result: Result, wanted: Evaluation) -> None:
    """The numbers of a comparison are those of an evaluation."""
    for mine, its in zip(result.scores, wanted.scores, strict=True):
        unlike = {'coverage68': None, 'coverage95': None}
        assert asdict(mine) == pytest.approx(
            asdict(its.model) | unlike | {'all': pytest.approx(asdict(its.model.all) | unlike)}
        )


def test_the_scores_are_those_of_evaluate(
    slot_car_plan, slot_car_model, slot_car_laps, monkeypatch
):
    monkeypatch.setattr(ManifoldHmm, 'fit', lambda *_: FittedModel(slot_car_model))
    (result,) = compare(slot_car_plan, methods_named(['default'])).results
    check_alike(result, evaluate(slot_car_model, [slot_car_laps[1]]))
    assert result.chosen['states'] == slot_car_model.states
    assert result.chosen['neighbours'] == slot_car_model.summary['neighbours']


def test_where_ticks_are_withheld_they_are_still_those_of_evaluate(slot_car_model, slot_car_laps):
    """The IMU is turned over on the way; what is wrong with it shows in the samples only."""
    followed = replace(slot_car_laps[1], name='the rest')
    spoilt = multiplied_imu(followed, 10.0, 18.0)
    plan = plan_bags([slot_car_laps[0]], [spoilt], SETTINGS)
    wanted = evaluate(slot_car_model, [spoilt])
    assert 0.5 < wanted.published / wanted.ticks < 0.95
    (test,) = plan.tests
    predicted = FittedModel(slot_car_model).predict(test.segment)
    trial = Trial((predicted.positions,), None, {}, (predicted.valid,))
    (result,) = grade(plan, methods_named(['default']), {'default': trial}).results
    check_alike(result, wanted)


def test_it_goes_on_over_a_gap_as_on_the_vehicle(slot_car_model, slot_car_laps):
    parted = without_imu(slot_car_laps[1].between(0, 20), 8.0, 9.0)
    plan = plan_bags([slot_car_laps[0]], [replace(parted, name='the rest')], SETTINGS)
    fitted = FittedModel(slot_car_model)
    (run,) = evaluate(slot_car_model, [parted]).runs
    for test in plan.tests:
        predicted = fitted.predict(test.segment)
        rows = np.searchsorted(run.stamps, test.segment.stamps[test.scored])
        assert predicted.positions[test.scored].tobytes() == run.positions[rows].tobytes()
        assert predicted.valid[test.scored].tolist() == run.published[rows].tolist()
    assert len(plan.tests) == 2


def test_a_tick_that_the_filter_never_saw_has_no_position(slot_car_plan, slot_car_model):
    (test,) = slot_car_plan.tests
    segment, stamps = test.segment, test.segment.stamps.copy()
    stamps[7] += 1
    predicted = FittedModel(slot_car_model).predict(replace(segment, stamps=stamps))
    assert not predicted.valid[7]
    assert np.isnan(predicted.positions[7]).all()
    assert np.isfinite(np.delete(predicted.positions, 7, axis=0)).all()


def test_it_is_causal_and_starts_at_the_first_tick(slot_car_plan, slot_car_model):
    fitted = FittedModel(slot_car_model)
    (test,) = slot_car_plan.tests
    whole = fitted.predict(test.segment)
    first = test.segment.part(0, 50)
    # Of ticks alone nothing is withheld.
    part = fitted.predict(Segment(first.stamps, first.values, first.positions))
    assert part.valid is None
    assert np.isfinite(whole.positions).all()
    np.testing.assert_array_equal(whole.positions[:50], part.positions)
    assert whole.states.shape == (len(test.segment), slot_car_model.states)
    np.testing.assert_array_equal(whole.states[:50], part.states)
    assert len(np.unique(whole.states[:, 1])) == len(test.segment)


@pytest.mark.parametrize(('name', 'changes'), [('default', {}), ('tpsr', {'method': 'tpsr'})])
def test_each_is_trained_as_asked(name, changes, train, slot_car_model, monkeypatch):
    given: list[object] = []
    monkeypatch.setattr(
        own_filters, 'train_model', lambda *each: given.extend(each) or slot_car_model
    )
    fitted = methods_named([name])[0].fit(train)
    assert fitted.model is slot_car_model
    same = {'method': 'route', 'rate_hz': train.dataset.rate_hz}
    asked = SETTINGS.with_method(**{**same, **changes})
    assert given == [train.recordings, asked]


@pytest.mark.parametrize(
    ('method', 'kernel', 'readout', 'coupling'),
    [
        ('manifold', 'laplacian-eigenmap', 'sharpened', 'cross-covariance'),
        ('gaussian', 'gaussian', 'sharpened', 'cross-covariance'),
        ('paper', 'laplacian-eigenmap', 'ridge', 'gram-product'),
        ('paper-gaussian', 'gaussian', 'ridge', 'gram-product'),
    ],
)
def test_each_is_trained_with_its_changes(method, kernel, readout, coupling, train):
    model = methods_named([method])[0].fit(train).model
    chosen = [model.summary[name] for name in ('method', 'readout', 'coupling')]
    assert (model.kernel, *chosen) == (kernel, 'spectral', readout, coupling)
    assert (model.horizons, model.window) == ((0, 5, 20), 20)
    if method.startswith('paper'):
        assert (model.states, model.guarded) == (21, False)
        assert model.summary['chosen']['ridge'] == 1e-4
    if method == 'paper':
        assert model.summary['neighbours'] == 50


def test_without_validation_it_says_what_it_has(slot_car_laps):
    short = TrainingSettings(rate_hz=10.0, window=50, states=5, horizons=(0,))
    model = train_model([slot_car_laps[0].between(0.0, 17.0)], short)
    assert model.summary['validation'] is None
    assert FittedModel(model).chosen == model.summary['chosen']
    assert model.summary['chosen']['states'] == 5
