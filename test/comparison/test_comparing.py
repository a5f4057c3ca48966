# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All methods by one plan: splits, hidden positions, scores on the same ticks, and failures."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from other_recordings import without_imu
import pytest

from two_manifold_ros.comparison import comparing
from two_manifold_ros.comparison.rivals import METHODS
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Floats

SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def ellipse_plan(drive: Callable[..., Recording]) -> comparing.Plan:
    """Return 105.6 s to learn from and 14.4 s to follow at 10 Hz, horizons 0, 5 and 20."""
    return comparing.plan_share(drive(120.0), SETTINGS, 0.12)


def predicting(
    name: str, predict: Callable[[Segment], np.ndarray], *, sees: bool = False
) -> comparing.Method:
    """Return a method with these predictions; if it sees positions, the IMU is its state."""

    def follow(segment: Segment) -> comparing.Predictions:
        found = np.broadcast_to(predict(segment), (len(segment), 3, 2))
        return comparing.Predictions(found, segment.values.copy() if sees else None)

    return comparing.Method(
        name, f'the {name}', lambda _: comparing.Fitted(follow, {'b': 1, 'a': (2, 3)}), sees
    )


def seen(segment: Segment) -> np.ndarray:
    """Return the positions that a method sees of the segment: none unless it is given them."""
    return segment.positions[:, None]


def failing(error: BaseException) -> comparing.Method:
    def fit(_: comparing.TrainSplit) -> comparing.Fitted:
        raise error

    return comparing.Method('broken', 'the broken', fit)


def alone(plan: comparing.Plan, method: comparing.Method) -> comparing.Result:
    (result,) = comparing.compare(plan, [method]).results
    return result


def noise(plan: comparing.Plan, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=plan.tests[0].truth.shape)


def test_positions_are_hidden_unless_the_method_is_reported(ellipse_plan):
    hidden = alone(ellipse_plan, predicting('hidden', seen))
    assert hidden.scores == alone(ellipse_plan, METHODS['mean']).scores
    assert hidden.missing > 80
    assert hidden.linear is None
    seeing = alone(ellipse_plan, predicting('seeing', seen, sees=True))
    assert seeing.scores[0].all.rmse_m == 0.0
    assert list(seeing.chosen.items()) == [('a', [2, 3]), ('b', 1)]
    here = alone(ellipse_plan, predicting('here', lambda _: np.array([3.0, 4.0]), sees=True))
    assert (here.linear[0][19:] == [3.0, 4.0]).all()
    assert np.isnan(here.linear[0][:19]).all()


def test_a_linear_map_is_found_whatever_the_units_of_the_states():
    """A constant coordinate and unknown numbers do no harm."""
    random = np.random.default_rng(1)
    varied = random.normal(size=(400, 4)) * [1.0, 1e-6, 1e5, 1.0] + [0.0, 1.0, 0.0, 3.0]
    truth = varied @ [[1.0, 2.0], [1e6, 0.0], [1e-5, -1e-5], [0.5, 0.0]] + [10.0, -20.0]
    states, positions = np.column_stack([np.ones(400), varied]), truth.copy()
    states[5] = positions[9] = np.nan
    read = comparing.linear_reading(states, positions)(states)
    assert np.isnan(read[5]).all()
    np.testing.assert_allclose(np.delete(read, 5, 0), np.delete(truth, 5, 0), atol=0.02)
    # Nothing known is no track.
    assert comparing.linear_reading(varied, np.full_like(truth, np.nan)) is None
    assert comparing.linear_reading(np.full_like(varied, np.nan), truth) is None


@pytest.mark.parametrize(
    ('error', 'reason'),
    [
        (InputError('too short: record longer'), 'too short: record longer'),
        (ValueError('a\nbug'), 'ValueError in line '),
        (
            ImportError('libgomp.so.1: cannot open\nshared object file', name='sklearn'),
            'a Python package that it needs cannot be loaded (libgomp.so.1: cannot open shared',
        ),
    ],
)
def test_failures_have_a_reason_and_cost_the_others_nothing(error, reason, ellipse_plan):
    """The results are in order, and the progress tells."""
    mine, reported = predicting('full', lambda _: noise(ellipse_plan, 2)), []
    methods = [mine, failing(error), METHODS['mean']]
    comparison = comparing.compare(ellipse_plan, methods, lambda *each: reported.append(each))
    names = [each.name for each in methods]
    assert [result.name for result in comparison.results] == names
    running = [(f'running {name}', at / 3) for at, name in enumerate(names)]
    assert reported == [*running, ('scoring', 1.0)]
    fine, failed, usual = comparison.results
    assert comparison.succeeded == (fine, usual)
    assert failed.failure.startswith(reason)
    assert '\n' not in failed.failure
    assert (' of test_comparing.py: ' in failed.failure) == (' in line ' in reason)
    assert failed.scores is None
    assert fine.scores == alone(ellipse_plan, mine).scores
    # An interrupt ends all.
    with pytest.raises(KeyboardInterrupt):
        comparing.compare(ellipse_plan, [failing(KeyboardInterrupt())])


def test_against_a_naive_computation(ellipse_plan):
    """Every tick counts for all; where one has no position the mean training position does."""
    one, other = noise(ellipse_plan, 1), noise(ellipse_plan, 2)
    one[30:33] = np.nan
    one[40, 1] = np.inf
    one[41, 2] = 1e200
    methods = [predicting('one', lambda _: one), predicting('other', lambda _: other)]
    comparison = comparing.compare(ellipse_plan, methods)
    (test,) = ellipse_plan.tests
    learned = np.concatenate([each.positions for each in ellipse_plan.train.dataset.segments])
    mean = np.nanmean(learned, axis=0)
    for column in range(3):
        for published, result in zip((one, other), comparison.results, strict=True):
            away = []
            for tick in range(19, len(test)):
                true, place = test.truth[tick, column], published[tick, column]
                if np.isfinite(true).all():
                    away.append((place if (np.abs(place) < 1e9).all() else mean) - true)
            assert comparison.scored[column] == len(away) > 80
            scores = result.to_json()['scores'][column]
            errors = np.linalg.norm(away, axis=1)
            along_m, cross_m = scores['along_rmse_m'], scores['cross_rmse_m']
            assert scores['rmse_m'] == pytest.approx(np.sqrt(np.mean(np.square(errors))))
            assert scores['p95_m'] == pytest.approx(np.percentile(errors, 95))
            assert np.hypot(along_m, cross_m) == pytest.approx(scores['rmse_m'])
            assert scores['published_share'] is scores['published_rmse_m'] is None
    (note,) = comparison.notes
    assert note == (
        f'the one has no usable position at 5 of {len(test) - 19} ticks, for which the '
        'mean training position counts'
    )


def test_what_was_learned_from_and_followed(ellipse_plan):
    (test,) = ellipse_plan.tests
    truth = test.truth.copy()
    truth[:, 2] = np.nan
    test = replace(test, truth=truth)
    plan = ellipse_plan._replace(tests=(test, test))
    comparison = comparing.compare(plan, [predicting('one', lambda _: noise(plan, 1))])
    assert comparison.scored[0] == 2 * np.isfinite(test.truth[19:, 0, 0]).sum()
    content = comparison.to_json()
    assert content['learned'] == [{'recording': 'ellipse', 'seconds': pytest.approx(105.59)}]
    assert content['followed'] == [{'recording': 'ellipse', 'seconds': pytest.approx(28.6)}]
    for track in comparison.tracks:
        assert np.isnan(track[:19]).all()
        np.testing.assert_array_equal(track[19:], test.truth[19:, 0])
    # A horizon without truth has no scores.
    first, _, last = content['methods'][0]['scores']
    assert last == dict.fromkeys(first)


@pytest.fixture(scope='session')
def train(drive: Callable[..., Recording]) -> comparing.TrainSplit:
    learned = drive(30.0)
    return comparing.TrainSplit((learned,), build_dataset([learned], SETTINGS), SETTINGS)


def test_a_missing_prediction_counts_with_the_spread_and_an_unknown_truth_does_not(train):
    (segment,) = train.dataset.segments
    spread_m = float(np.sqrt(np.nanvar(train.positions, axis=0).sum()))

    def error_m(wrong: slice, away_m: float, unknown: slice) -> float:
        def predict(_: Segment) -> Floats:
            found = train.targets_of(segment)
            found[wrong, :, 0] += away_m
            return found

        places = segment.positions.copy()
        places[unknown] = np.nan
        seen = replace(segment, positions=places)
        fitted = comparing.Fitted(lambda each: comparing.Predictions(predict(each)), {})
        return comparing.held_out_error(fitted, [seen], train)

    everywhere, none = slice(None), slice(0)
    assert error_m(everywhere, 0.3, none) == pytest.approx(0.3)
    assert error_m(everywhere, np.nan, none) == pytest.approx(spread_m)
    # The first window does not count, nor does where the truth is unknown.
    assert error_m(slice(20), 9.0, none) == 0.0
    assert error_m(slice(100, 120), np.nan, slice(90, 150)) == 0.0
    assert error_m(everywhere, 0.3, everywhere) == spread_m


def test_the_last_share_or_bags_one_by_one_are_followed(train, drive):
    # A gap makes two segments; the camera saw what the IMU missed.
    first, second = comparing.cut_tests(without_imu(drive(20.0), 8.0, 9.0), train)
    assert (len(first), len(second)) == (79, 109)
    assert second.scored.tolist() == 19 * [False] + 90 * [True]
    assert np.isfinite(first.truth[-1]).all()
    plan = comparing.plan_share(drive(48.0), SETTINGS, 0.25)
    (learned,) = plan.train.recordings
    (test,) = plan.tests
    whole_ns = 48.0e9 - 1e7
    cut = drive(48.0).imu.stamps[0] + round(0.75 * whole_ns)
    assert learned.imu.stamps[-1] < cut <= test.stamps[0] - 100_000_000
    assert learned.positions.stamps[-1] < cut
    assert len(test) == round(0.25 * 480) - 1
    for share, end_s, words in ((np.nan, 48.0, 'between 0 and 1'), (0.25, 0.01, 'no two IMU sam')):
        with pytest.raises(InputError, match=words):
            comparing.plan_share(drive(48.0).between(0, end_s), SETTINGS, share)
    lengths_s = {'a': 20.0, 'b': 24.0, 'c': 16.0, 'd': 12.0}
    drives = [replace(drive(seconds), name=name) for name, seconds in lengths_s.items()]
    learned, followed = drives[:2], drives[2:]
    plan = comparing.plan_bags(learned, followed, SETTINGS)
    assert [each.name for each in plan.train.recordings] == ['a', 'b']
    assert [(test.recording, len(test)) for test in plan.tests] == [('c', 159), ('d', 119)]
    with pytest.raises(InputError, match='a: learned from and followed'):
        comparing.plan_bags(learned, learned[:1], SETTINGS)
