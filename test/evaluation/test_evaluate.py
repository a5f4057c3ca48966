# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An evaluation compares each prediction with the position at exactly its own stamp."""

from __future__ import annotations

from dataclasses import replace
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import compare, evaluate, Evaluation
from two_manifold_ros.evaluation.scores import travel_directions
from two_manifold_ros.filtering import filter as filter_module
from two_manifold_ros.filtering.state_machine import EllipseLimits
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.recordings.recording import Recording

SPEED = 3.0
SUMMARY_KEYS = {'rmse_m', 'median_m', 'p95_m', 'p99_m', 'coverage68', 'coverage95', 'n'}
SCORE_KEYS = SUMMARY_KEYS | {'all', 'told_share', 'along_rmse_m', 'cross_rmse_m'}


@pytest.fixture(scope='session')
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[1]


@pytest.fixture(scope='session')
def evaluation(slot_car_model: RouteModel, laps: Recording) -> Evaluation:
    return evaluate(slot_car_model, [laps])


def on_a_line(recording: Recording, shift_s: float = 0.0) -> Recording:
    """Replace the positions by ones that move at constant speed along x."""
    assert recording.positions is not None
    elapsed = (recording.positions.stamps - recording.imu.stamps[0]) * 1e-9 + shift_s
    line = np.stack([SPEED * elapsed, np.zeros(len(elapsed))], axis=1)
    return replace(recording, positions=replace(recording.positions, positions=line))


def test_the_truth_of_a_horizon_is_where_it_is_that_many_ticks_later(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    """On a line at constant speed, a tick too many or too few is 0.3 m."""
    found = evaluate(slot_car_model, [on_a_line(laps)])
    stamps, truth = found.runs[0].stamps, found.truths[0]
    for index, horizon in enumerate(slot_car_model.horizons):
        elapsed = (stamps - laps.imu.stamps[0]) * 1e-9 + 0.1 * horizon
        known = np.isfinite(truth[:, index, 0])
        assert np.count_nonzero(~known) == horizon
        np.testing.assert_allclose(truth[known, index, 0], SPEED * elapsed[known], atol=1e-6)


def test_the_previous_baseline_is_behind_by_the_horizon(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    for each in evaluate(slot_car_model, [on_a_line(laps)]).scores:
        assert each.previous.rmse_m == pytest.approx(SPEED * 0.1 * each.horizon, abs=1e-6)
        assert each.previous.median_m == pytest.approx(SPEED * 0.1 * each.horizon, abs=1e-6)


def test_predictions_are_for_their_own_tick(
    slot_car_model: RouteModel, laps: Recording, evaluation: Evaluation
) -> None:
    """At every horizon, the truth a tick before or after fits worse."""
    run = evaluation.runs[0]

    def error(index: int, ticks: int) -> float:
        moved = run.stamps + ticks * slot_car_model.period_ns
        distances = np.linalg.norm(
            run.positions[:, index] - positions_at(laps.positions, moved), axis=1
        )
        return float(np.sqrt(np.nanmean(np.square(distances))))

    for index, horizon in enumerate(slot_car_model.horizons):
        right = error(index, horizon)
        assert evaluation.scores[index].model.all.rmse_m == pytest.approx(right, rel=1e-12)
        assert right < 0.95 * min(error(index, horizon - 1), error(index, horizon + 1))


def test_scores_are_over_all_recordings(slot_car_model: RouteModel, laps: Recording) -> None:
    """Two recordings together: the mean of the squares, each counted by its length."""
    parts = [laps.between(0, 20), laps.between(20, 36)]
    alone = [evaluate(slot_car_model, [part]).scores for part in parts]
    both = evaluate(slot_car_model, parts).scores
    for index, each in enumerate(both):
        counts = [scores[index].model.n for scores in alone]
        squares = [np.square(scores[index].model.rmse_m) for scores in alone]
        assert each.model.n == sum(counts)
        assert each.model.rmse_m == pytest.approx(np.sqrt(np.average(squares, weights=counts)))


def test_the_mean_baseline_is_the_mean_of_training(
    slot_car_model: RouteModel, evaluation: Evaluation
) -> None:
    truth = evaluation.truths[0][:, 0]
    distances = np.linalg.norm(truth - slot_car_model.mean_position, axis=1)
    rmse = np.sqrt(np.nanmean(np.square(distances)))
    assert evaluation.scores[0].mean.rmse_m == pytest.approx(rmse)


def test_the_model_is_far_ahead_and_its_ellipses_honest(evaluation: Evaluation) -> None:
    for each in evaluation.scores:
        assert each.model.rmse_m is not None
        assert each.mean.rmse_m is not None
        assert each.model.rmse_m < 0.2 * each.mean.rmse_m
        assert each.model.coverage68 is not None
        assert each.model.coverage95 is not None
        assert 0.5 < each.model.coverage68 < 0.97
        assert each.model.coverage95 > 0.85


def test_a_cold_start_for_every_recording(slot_car_model: RouteModel, laps: Recording) -> None:
    parts = [laps.between(0, 10), laps.between(10, 20)]
    both = evaluate(slot_car_model, parts).runs
    for part, run in zip(parts, both, strict=True):
        alone = evaluate(slot_car_model, [part]).runs[0]
        assert run.positions.tobytes() == alone.positions.tobytes()
        warm = slot_car_model.window * slot_car_model.period_ns
        assert run.stamps[0] == part.imu.stamps[0] + warm


def test_the_keys_of_the_json(evaluation: Evaluation, laps: Recording) -> None:
    content = evaluation.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert set(content) == {
        'horizons', 'ticks', 'ticks_after_first_window', 'valid_ticks', 'withheld',
        'seconds_per_tick_p50', 'seconds_per_tick_p99', 'samples',
    }  # fmt: skip
    assert list(content['horizons']) == ['0', '5', '20']
    for each in content['horizons'].values():
        assert set(each) == SCORE_KEYS | {'mean', 'previous'}
        assert set(each['mean']) == set(each['previous']) == SCORE_KEYS
        assert set(each['all']) == set(each['mean']['all']) == SUMMARY_KEYS
    assert content['ticks'] == len(laps.imu.stamps) - 1
    assert content['ticks_after_first_window'] == content['ticks'] - 19
    assert content['valid_ticks'] == content['ticks'] - 19
    assert content['withheld'] == {}
    assert 0.0 < content['seconds_per_tick_p50'] <= content['seconds_per_tick_p99']
    assert content['samples']['received'] == len(laps.imu.stamps)


def test_a_horizon_without_truth_has_no_numbers(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    content = evaluate(slot_car_model, [laps.between(0, 3)]).to_json()['horizons']
    assert content['0']['n'] > 0
    nothing = dict.fromkeys(SUMMARY_KEYS) | {'n': 0}
    unscored = dict.fromkeys(SCORE_KEYS) | nothing | {'all': nothing}
    assert content['20'] == unscored | {'mean': unscored, 'previous': unscored}


def strange(recording: Recording) -> Recording:
    """Turn the IMU over and give its accelerations in g."""
    samples = recording.imu.samples * [-0.1, 0.1, -0.1, 1.0, -1.0, -1.0]
    return replace(recording, imu=replace(recording.imu, samples=samples))


def strange_for_a_while(recording: Recording) -> Recording:
    """Do that from 10 s on, for 8 s."""
    elapsed = (recording.imu.stamps - recording.imu.stamps[0]) * 1e-9
    spoilt = ((elapsed > 10.0) & (elapsed < 18.0))[:, None]
    samples = np.where(spoilt, strange(recording).imu.samples, recording.imu.samples)
    return replace(recording, imu=replace(recording.imu, samples=samples))


@pytest.fixture(scope='session')
def withheld(slot_car_model: RouteModel, laps: Recording) -> Evaluation:
    """Return the evaluation of a drive that is refused on the way."""
    return evaluate(slot_car_model, [strange_for_a_while(laps)])


def test_every_number_by_plain_loops(
    slot_car_model: RouteModel, laps: Recording, withheld: Evaluation
) -> None:
    (run,) = withheld.runs
    assert 20 < np.count_nonzero(~run.told) < len(run.told) - 100
    for index, horizon in enumerate(slot_car_model.horizons):
        told, every, along, cross = [], [], [], []
        later = run.stamps + horizon * slot_car_model.period_ns
        truths = positions_at(laps.positions, later)
        directions = travel_directions(laps.positions, later)
        for tick, (truth, direction) in enumerate(zip(truths, directions, strict=True)):
            if np.isnan(truth).any():
                continue
            east, north = run.positions[tick, index] - truth
            every.append(np.hypot(east, north))
            along.append(east * direction[0] + north * direction[1])
            cross.append(north * direction[0] - east * direction[1])
            if run.told[tick]:
                told.append(every[-1])
        found = withheld.scores[index].model
        assert (found.n, found.all.n) == (len(told), len(every))
        assert found.told_share == pytest.approx(len(told) / len(every))
        for summary, distances in ((found, told), (found.all, every)):
            assert summary.rmse_m == pytest.approx(np.sqrt(np.mean(np.square(distances))))
            assert summary.median_m == pytest.approx(np.median(distances))
            assert summary.p95_m == pytest.approx(np.quantile(distances, 0.95))
            assert summary.p99_m == pytest.approx(np.quantile(distances, 0.99))
        assert found.along_rmse_m == pytest.approx(np.sqrt(np.mean(np.square(along))))
        assert found.cross_rmse_m == pytest.approx(np.sqrt(np.mean(np.square(cross))))
        assert found.all.rmse_m == pytest.approx(
            np.hypot(found.along_rmse_m or 0.0, found.cross_rmse_m or 0.0)
        )


def test_withholding_does_not_flatter(withheld: Evaluation) -> None:
    """Where the IMU was turned over the filter is wrong; what it withheld there counts."""
    now = withheld.scores[0].model
    assert now.rmse_m is not None
    assert now.all.rmse_m is not None
    assert now.all.rmse_m > 2.0 * now.rmse_m


@pytest.mark.parametrize('seed', range(5))
def test_withholding_never_changes_the_numbers_over_all(
    seed: int, slot_car_model: RouteModel, laps: Recording, withheld: Evaluation
) -> None:
    (run,) = withheld.runs
    told = np.random.default_rng(seed).random(len(run.told)) < seed / 4
    other = compare(slot_car_model, [strange_for_a_while(laps)], [replace(run, told=told)])
    for one, another in zip(withheld.scores, other.scores, strict=True):
        for name in ('model', 'mean', 'previous'):
            mine, its = getattr(one, name), getattr(another, name)
            assert its.all == mine.all
            assert (its.along_rmse_m, its.cross_rmse_m) == (mine.along_rmse_m, mine.cross_rmse_m)
    assert other.told == np.count_nonzero(told)


def test_along_and_cross_tell_ahead_from_beside(
    slot_car_model: RouteModel, laps: Recording, evaluation: Evaluation
) -> None:
    """On a line to the east, 0.5 m ahead and 0.2 m beside are what they are."""
    east = on_a_line(laps)
    (run,) = evaluation.runs
    truth = np.stack(
        [
            positions_at(east.positions, run.stamps + horizon * slot_car_model.period_ns)
            for horizon in slot_car_model.horizons
        ],
        axis=1,
    )
    offset = np.array([0.5, -0.2])
    beyond = np.where(np.isfinite(truth), truth, 0.0) + offset
    for each in compare(slot_car_model, [east], [replace(run, positions=beyond)]).scores:
        assert each.model.along_rmse_m == pytest.approx(0.5)
        assert each.model.cross_rmse_m == pytest.approx(0.2)


def refusal(model: Model, recording: Recording) -> str:
    with pytest.raises(InputError) as caught:
        evaluate(model, [recording])
    assert str(caught.value).startswith(recording.name)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_too_short_to_compare_is_refused(slot_car_model: RouteModel, laps: Recording) -> None:
    message = refusal(slot_car_model, laps.between(0, 1.5))
    assert (
        'no estimate has a true position to compare with; give more than one window of 2.0 s'
        in (message)
    )


def test_a_single_sample_is_refused(slot_car_model: RouteModel, laps: Recording) -> None:
    message = refusal(slot_car_model, laps.between(0, 0.05))
    assert 'there are no two IMU samples to filter; give a longer part' in message


def test_positions_of_another_time_are_refused(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    assert laps.positions is not None
    later = replace(laps.positions, stamps=laps.positions.stamps + 10**12)
    message = refusal(slot_car_model, replace(laps, positions=later))
    assert 'no estimate has a true position' in message


def test_a_drive_that_is_refused_throughout_is_scored_and_explained(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    found = evaluate(slot_car_model, [strange(laps)])
    assert found.told == 0
    assert found.ticks == len(laps.imu.stamps) - 1 - 19
    for each in found.scores:
        assert (each.model.n, each.model.rmse_m, each.model.told_share) == (0, None, 0.0)
        assert each.model.all.n == found.ticks - each.horizon
        assert each.model.all.rmse_m is not None
        assert each.mean.all.rmse_m is not None
        assert each.model.all.rmse_m > 0.5 * each.mean.all.rmse_m
    content = found.to_json()
    assert content['valid_ticks'] == 0
    assert sum(content['withheld'].values()) == found.ticks
    (cause, count), *_ = found.withheld.most_common()
    words = found.describe_withheld()
    assert f'{found.ticks} of the {found.ticks} ticks after the first window' in words
    assert f'({count} of them, {count / found.ticks:.0%})' in words
    assert found.runs[0].reasons[cause] in words
    assert json.dumps(content, allow_nan=False)


def test_a_drive_on_which_it_never_knew_where_it_was_is_explained_as_that(
    slot_car_model: RouteModel, laps: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_module, 'limits_of', lambda _: EllipseLimits(1e-6, 1e-6))
    found = evaluate(slot_car_model, [laps])
    assert found.told == 0
    assert 'most often' in found.describe_withheld()
    assert '"localising: the 95 % ellipse still reaches' in found.describe_withheld()


def test_nothing_withheld_needs_no_words(evaluation: Evaluation) -> None:
    assert evaluation.told == evaluation.ticks
    assert evaluation.describe_withheld() == ''


def test_a_recording_that_is_refused_counts_beside_one_that_is_not(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    found = evaluate(slot_car_model, [strange(laps), laps])
    assert [bool(run.told.any()) for run in found.runs] == [False, True]
    alone = evaluate(slot_car_model, [laps]).scores[0].model
    both = found.scores[0].model
    assert both.n == alone.n
    assert both.rmse_m == pytest.approx(alone.rmse_m)
    assert both.all.n == 2 * alone.all.n
    assert both.told_share == pytest.approx(0.5)
